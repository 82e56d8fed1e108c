//! The part of GitHub's public GraphQL schema that the double covers.
//!
//! The schema is reduced by type, not by field: a covered type has all of its fields on GitHub
//! whose types are also covered. A query that uses only covered types is therefore valid on the
//! double exactly if it is valid on GitHub.

mod older;
mod reduce;

use std::sync::OnceLock;

use apollo_compiler::{Schema, schema::Implementers, validation::Valid};

pub use reduce::{ReduceError, covered_types, reduce};

/// The reduced schema as GraphQL SDL.
pub const SDL: &str = include_str!("../../../../crates/forge-github/schema/github.graphql");

/// The parsed schema, with the types that implement each interface.
pub(crate) struct Parsed {
    pub(crate) schema: Valid<Schema>,
    pub(crate) implementers:
        apollo_compiler::collections::HashMap<apollo_compiler::Name, Implementers>,
}

/// Parses the schema once per process, with or without the relations between issues. `Err`
/// describes the error in the SDL.
pub(crate) fn parsed(relations: bool) -> Result<&'static Parsed, &'static str> {
    static WHOLE: OnceLock<Result<Parsed, String>> = OnceLock::new();
    static OLDER: OnceLock<Result<Parsed, String>> = OnceLock::new();
    let parsed = match relations {
        true => WHOLE.get_or_init(|| parse(SDL)),
        false => OLDER.get_or_init(|| parse(&older::without_relations(SDL)?)),
    };
    parsed.as_ref().map_err(String::as_str)
}

fn parse(sdl: &str) -> Result<Parsed, String> {
    let schema = Schema::parse_and_validate(sdl, "github.graphql")
        .map_err(|problem| problem.errors.to_string())?;
    let implementers = schema.implementers_map();
    Ok(Parsed {
        schema,
        implementers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_schema_is_valid_and_has_covered_types() {
        let parsed = parsed(true).unwrap();
        for name in covered_types() {
            assert!(
                parsed.schema.types.contains_key(name),
                "{name} is covered but not in the stored schema"
            );
        }
    }

    #[test]
    fn older_schema_is_valid_without_relations() {
        let parsed = parsed(false).unwrap();
        assert!(!parsed.schema.types.contains_key("BlockedByAddedEvent"));
        let issue = parsed.schema.get_object("Issue").unwrap();
        assert!(!issue.fields.contains_key("subIssues"));
        assert!(issue.fields.contains_key("timelineItems"));
    }
}
