//! Implements GitHub's pagination.

use apollo_compiler::{
    Name, Schema,
    executable::{Field, Selection, SelectionSet},
    resolvers::ResolveInfo,
    schema::ExtendedType,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::value::{Args, Connection, Fail, Val};

/// Maximum number of records in a page.
const MAX_PAGE_SIZE: i64 = 100;

/// Returns the requested page of a connection as a record of type `type_name`.
///
/// Fails as GitHub does if `first` and `last` are missing or too large, or if a cursor is invalid.
pub(crate) fn cut(
    connection: Connection,
    args: &Args,
    type_name: &Name,
    info: &ResolveInfo<'_>,
) -> Result<Val, Fail> {
    let field = info.field_name();
    let total = connection.nodes.len();
    let bounded = args.has("first") || args.has("last");
    if !bounded && wants_records(info) {
        return Err(Fail::new(
            "MISSING_PAGINATION_BOUNDARIES",
            format!(
                "You must provide a `first` or `last` value to properly paginate the `{field}` connection."
            ),
        ));
    }
    let window = window(total, args, field)?;
    let edge_type = edge_type(info.schema(), type_name);
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    let mut extra = connection.edges.into_iter();
    for (index, node) in connection.nodes.into_iter().enumerate() {
        let more = extra.next();
        if index < window.start || index >= window.end {
            continue;
        }
        if let Some(edge_type) = &edge_type {
            let mut fields = vec![("cursor", Val::from(cursor(index))), ("node", node.clone())];
            fields.extend(more.into_iter().flatten());
            edges.push(Val::record(edge_type, fields));
        }
        nodes.push(node);
    }
    let at = |index: usize| {
        if nodes.is_empty() {
            Val::NULL
        } else {
            cursor(index).into()
        }
    };
    let page = Val::record(
        "PageInfo",
        vec![
            ("hasNextPage", (window.end < total).into()),
            (
                "hasPreviousPage",
                (window.start > 0 && window.start < total).into(),
            ),
            ("startCursor", at(window.start)),
            ("endCursor", at(window.end.saturating_sub(1))),
        ],
    );
    let mut fields = vec![
        ("nodes", Val::List(nodes)),
        ("edges", Val::List(edges)),
        ("pageInfo", page),
        ("totalCount", connection.total.unwrap_or(total).into()),
    ];
    fields.extend(connection.extra);
    Ok(Val::record(type_name, fields))
}

/// The range of a page's records, from `start` to before `end`.
#[derive(Debug, PartialEq, Eq)]
struct Window {
    start: usize,
    end: usize,
}

fn window(total: usize, args: &Args, field: &str) -> Result<Window, Fail> {
    let mut start = 0;
    let mut end = total;
    if let Some(after) = args.str("after").filter(|text| !text.is_empty()) {
        start = position(after)?.saturating_add(1).min(total);
    }
    if let Some(before) = args.str("before").filter(|text| !text.is_empty()) {
        end = position(before)?.min(total);
    }
    end = end.max(start);
    if let Some(first) = amount(args, "first", field)? {
        end = end.min(start.saturating_add(first));
    }
    if let Some(last) = amount(args, "last", field)? {
        start = start.max(end.saturating_sub(last));
    }
    Ok(Window { start, end })
}

fn amount(args: &Args, name: &str, field: &str) -> Result<Option<usize>, Fail> {
    let Some(wanted) = args.int(name) else {
        return Ok(None);
    };
    if wanted > MAX_PAGE_SIZE {
        return Err(Fail::new(
            "EXCESSIVE_PAGINATION",
            format!(
                "Requesting {wanted} records on the `{field}` connection exceeds the `{name}` limit of {MAX_PAGE_SIZE} records."
            ),
        ));
    }
    usize::try_from(wanted).map(Some).map_err(|_| {
        Fail::new(
            "INVALID_PAGINATION_BOUNDARIES",
            format!("`{name}` on the `{field}` connection cannot be less than zero."),
        )
    })
}

/// What GitHub's cursors begin with: a name, and the head of a list with one 32-bit number
/// (github.com, February 2026).
const CURSOR: &[u8] = b"cursor:v2:\x91\xce";

fn cursor(index: usize) -> String {
    let number = u32::try_from(index).unwrap_or(u32::MAX);
    STANDARD.encode([CURSOR, &number.to_be_bytes()].concat())
}

fn position(cursor: &str) -> Result<usize, Fail> {
    let number = || {
        let bytes = STANDARD.decode(cursor).ok()?;
        let number = bytes.strip_prefix(CURSOR)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(number)).ok()
    };
    number().ok_or_else(|| {
        Fail::new(
            "INVALID_CURSOR_ARGUMENTS",
            format!("`{cursor}` does not appear to be a valid cursor."),
        )
    })
}

fn edge_type(schema: &Schema, connection: &Name) -> Option<String> {
    let ExtendedType::Object(connection) = schema.types.get(connection)? else {
        return None;
    };
    let edges = connection.fields.get("edges")?;
    Some(edges.ty.inner_named_type().to_string())
}

/// Returns true if the query requests nodes, edges or the page info, and not only a count.
fn wants_records(info: &ResolveInfo<'_>) -> bool {
    let document = info.document();
    let wants = |field: &Field| matches!(field.name.as_str(), "nodes" | "edges" | "pageInfo");
    let mut queue: Vec<&SelectionSet> = info
        .field_selections()
        .iter()
        .map(|field| &field.selection_set)
        .collect();
    while let Some(set) = queue.pop() {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) if wants(field) => return true,
                Selection::Field(_) => {}
                Selection::InlineFragment(fragment) => queue.push(&fragment.selection_set),
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = document.fragments.get(&spread.fragment_name) {
                        queue.push(&fragment.selection_set);
                    }
                }
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(value: serde_json::Value) -> Args {
        Args(value.as_object().unwrap().clone())
    }

    fn bounds(total: usize, value: serde_json::Value) -> (usize, usize) {
        let window = window(total, &args(value), "labels").unwrap();
        (window.start, window.end)
    }

    #[test]
    fn pages_are_cut_from_both_ends() {
        assert_eq!(bounds(250, json!({"first": 100})), (0, 100));
        let after = cursor(99);
        assert_eq!(
            bounds(250, json!({"first": 100, "after": after})),
            (100, 200)
        );
        let after = cursor(199);
        assert_eq!(
            bounds(250, json!({"first": 100, "after": after})),
            (200, 250)
        );
        let after = cursor(249);
        assert_eq!(
            bounds(250, json!({"first": 100, "after": after})),
            (250, 250)
        );
        assert_eq!(bounds(250, json!({"last": 1})), (249, 250));
        let before = cursor(10);
        assert_eq!(bounds(250, json!({"last": 3, "before": before})), (7, 10));
        assert_eq!(bounds(0, json!({"first": 5})), (0, 0));
        assert_eq!(bounds(3, json!({"first": 5, "after": ""})), (0, 3));
    }

    #[test]
    fn page_of_more_than_a_hundred_is_refused() {
        let error = window(1, &args(json!({"first": 101})), "labels").unwrap_err();
        assert_eq!(error.kind, Some("EXCESSIVE_PAGINATION"));
        assert_eq!(
            error.message,
            "Requesting 101 records on the `labels` connection exceeds the `first` limit of 100 records."
        );
    }

    #[test]
    fn invalid_cursor_is_refused() {
        for broken in ["nonsense", "Y3Vyc29yOjE=", "%"] {
            let error = window(9, &args(json!({"first": 1, "after": broken})), "x").unwrap_err();
            assert_eq!(error.kind, Some("INVALID_CURSOR_ARGUMENTS"), "{broken}");
        }
    }
}
