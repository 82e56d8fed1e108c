//! Checks a classic token's scopes before execution, and refuses the whole document if a scope is
//! missing.
//!
//! Every field of a team needs a scope, even if the answer would contain no team. In cli/cli#812
//! (`name`) and raycast/extensions#3881 (`id`), GitHub returned an error for each field and no
//! data. A fine-grained token has no scopes, so the field fails only if the answer contains a team.

use std::collections::BTreeSet;

use apollo_compiler::{
    ExecutableDocument,
    executable::{Field, Operation, Selection, SelectionSet},
};
use serde_json::{Value, json};

use super::Ctx;

/// Scopes that permit reading teams. A token needs one of them.
pub(crate) const TEAM: &[&str] = &["read:org", "read:discussion", "write:org", "admin:org"];

/// Returns GitHub's answer to a token that lacks a scope for some field of the operation.
pub(crate) fn check(
    ctx: &Ctx<'_>,
    document: &ExecutableDocument,
    operation: &Operation,
) -> Result<(), Value> {
    if ctx.token.has_scope(TEAM) {
        return Ok(());
    }
    let mut walk = Walk {
        document,
        seen: BTreeSet::new(),
        found: Vec::new(),
    };
    walk.set(&operation.selection_set);
    let errors: Vec<Value> = walk
        .found
        .into_iter()
        .filter_map(|field| {
            let fail = ctx.check_scope(field.name.as_str(), TEAM).err()?;
            let at = field.name.line_column_range(&document.sources);
            let at = at.map(|at| json!({ "line": at.start.line, "column": at.start.column }));
            Some(json!({
                "type": fail.kind,
                "locations": Vec::from_iter(at),
                "message": fail.message,
            }))
        })
        .collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(json!({ "errors": errors })),
    }
}

struct Walk<'a> {
    document: &'a ExecutableDocument,
    seen: BTreeSet<&'a str>,
    found: Vec<&'a Field>,
}

impl<'a> Walk<'a> {
    fn set(&mut self, set: &'a SelectionSet) {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    if set.ty == "Team" && field.name != "__typename" {
                        self.found.push(field);
                    }
                    self.set(&field.selection_set);
                }
                Selection::InlineFragment(fragment) => self.set(&fragment.selection_set),
                Selection::FragmentSpread(spread) => {
                    let name = spread.fragment_name.as_str();
                    if self.seen.insert(name)
                        && let Some(fragment) = self.document.fragments.get(&spread.fragment_name)
                    {
                        self.set(&fragment.selection_set);
                    }
                }
            }
        }
    }
}
