//! Computes the nodes and rate-limit points of a document, which GitHub limits before execution.

use apollo_compiler::{
    ExecutableDocument,
    executable::{Operation, Selection, SelectionSet},
    response::{JsonMap, JsonValue},
};
use serde_json::{Value, json};

/// Maximum number of nodes that a document may request.
const MAX_NODES: u64 = 500_000;

/// Cost that GitHub computes for a document.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// Maximum number of nodes that the document can return.
    pub(crate) nodes: u64,
    /// Points that the document takes from the rate limit.
    pub(crate) points: u64,
}

/// Measures an operation. `Err` is GitHub's answer to an operation that is too large.
pub(crate) fn measure(
    document: &ExecutableDocument,
    operation: &Operation,
    variables: &JsonMap,
) -> Result<Cost, Value> {
    let mut walk = Walk {
        document,
        variables,
        nodes: 0,
        requests: 0,
        excess: None,
    };
    walk.set(&operation.selection_set, 1, 0);
    if let Some(field) = walk.excess {
        return Err(json!({ "errors": [{
            "type": "MAX_NODE_LIMIT_EXCEEDED",
            "message": format!(
                "By the time this query traverses to the {field} connection, it is requesting up to {} possible nodes which exceeds the maximum limit of {MAX_NODES}.",
                walk.nodes
            ),
        }]}));
    }
    Ok(Cost {
        nodes: walk.nodes,
        points: ((walk.requests + 50) / 100).max(1),
    })
}

struct Walk<'a> {
    document: &'a ExecutableDocument,
    variables: &'a JsonMap,
    nodes: u64,
    requests: u64,
    excess: Option<String>,
}

/// Maximum depth of the traversal. Validation already refuses documents with fragment cycles.
const MAX_DEPTH: usize = 64;

impl Walk<'_> {
    fn set(&mut self, set: &SelectionSet, times: u64, depth: usize) {
        if depth > MAX_DEPTH || self.excess.is_some() {
            return;
        }
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    let page = self.page(field);
                    let inner = match page {
                        Some(page) => {
                            self.requests = self.requests.saturating_add(times);
                            self.nodes = self.nodes.saturating_add(times.saturating_mul(page));
                            if self.nodes > MAX_NODES && self.excess.is_none() {
                                self.excess = Some(field.name.to_string());
                            }
                            times.saturating_mul(page)
                        }
                        None => times,
                    };
                    self.set(&field.selection_set, inner, depth + 1);
                }
                Selection::InlineFragment(fragment) => {
                    self.set(&fragment.selection_set, times, depth + 1);
                }
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = self.document.fragments.get(&spread.fragment_name) {
                        let fragment = fragment.clone();
                        self.set(&fragment.selection_set, times, depth + 1);
                    }
                }
            }
        }
    }

    fn page(&self, field: &apollo_compiler::executable::Field) -> Option<u64> {
        ["first", "last"].iter().find_map(|name| {
            let value = field.specified_argument_by_name(name)?;
            let number = match value.as_variable() {
                Some(variable) => self
                    .variables
                    .get(variable.as_str())
                    .and_then(JsonValue::as_i64),
                None => value.to_i32().map(i64::from),
            };
            number.and_then(|number| u64::try_from(number).ok())
        })
    }
}
