//! The part of GitHub's public GraphQL schema that the double covers.
//!
//! The schema is reduced by type, not by field: a covered type has all of its fields on GitHub
//! whose types are also covered. A query that uses only covered types is therefore valid on the
//! double exactly if it is valid on GitHub.

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

/// Parses the schema once per process. `Err` describes the error in the SDL.
pub(crate) fn parsed() -> Result<&'static Parsed, &'static str> {
    static PARSED: OnceLock<Result<Parsed, String>> = OnceLock::new();
    PARSED
        .get_or_init(|| {
            let schema = Schema::parse_and_validate(SDL, "github.graphql")
                .map_err(|problem| problem.errors.to_string())?;
            let implementers = schema.implementers_map();
            Ok(Parsed {
                schema,
                implementers,
            })
        })
        .as_ref()
        .map_err(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_schema_is_valid_and_has_covered_types() {
        let parsed = parsed().unwrap();
        for name in covered_types() {
            assert!(
                parsed.schema.types.contains_key(name),
                "{name} is covered but not in the stored schema"
            );
        }
    }
}
