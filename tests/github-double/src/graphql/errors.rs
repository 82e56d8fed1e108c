//! Formats GraphQL errors as GitHub does.

use apollo_compiler::{
    ExecutableDocument, Schema,
    resolvers::FieldError,
    response::{GraphQLError, JsonMap, JsonValue, ResponseDataPathSegment},
    validation::Valid,
};
use serde_json::{Value, json};

use super::value::Fail;

/// Separates an error's type from its message. The executor transports only messages.
const SEPARATOR: char = '\u{1}';

/// Wraps an error so that the executor transports it.
pub(crate) fn raise(fail: Fail) -> FieldError {
    FieldError {
        message: format!(
            "{}{SEPARATOR}{}",
            fail.kind.unwrap_or_default(),
            fail.message
        ),
    }
}

/// Formats the error of a field as GitHub does, with the keys in GitHub's order.
pub(crate) fn field(error: &GraphQLError) -> JsonValue {
    let path: Vec<Value> = error
        .path
        .iter()
        .map(|segment| match segment {
            ResponseDataPathSegment::Field(name) => json!(name.as_str()),
            ResponseDataPathSegment::ListIndex(index) => json!(index),
        })
        .collect();
    let message = error
        .message
        .strip_prefix("resolver error: ")
        .unwrap_or(&error.message);
    let (kind, message) = message.split_once(SEPARATOR).unwrap_or(("", message));
    let mut value = JsonMap::new();
    if !kind.is_empty() {
        value.insert("type", kind.into());
    }
    value.insert("path", json!(path).into());
    if message.contains("SAML enforcement") {
        value.insert("extensions", json!({ "saml_failure": true }).into());
    }
    value.insert("locations", locations(error));
    value.insert("message", message.into());
    JsonValue::Object(value)
}

fn locations(error: &GraphQLError) -> JsonValue {
    let places = error.locations.iter().map(|at| {
        let mut place = JsonMap::new();
        place.insert("line", at.line.into());
        place.insert("column", at.column.into());
        JsonValue::Object(place)
    });
    JsonValue::Array(places.collect())
}

/// Returns an answer with one error and no data.
pub(crate) fn plain(message: &str) -> Value {
    json!({ "errors": [{ "message": message }] })
}

/// Parses and validates a document.
///
/// GitHub accepts two fields of different types under one response name if the types differ only in
/// nullability (gh's `reviewRequests`) or are both enumerations (the `state` in gh's
/// `issueOrPullRequest`). The GraphQL specification forbids this, so the double ignores that
/// violation.
pub(crate) fn validated(
    schema: &Valid<Schema>,
    query: &str,
) -> Result<Valid<ExecutableDocument>, Value> {
    let problem = match ExecutableDocument::parse_and_validate(schema, query, "request.graphql") {
        Ok(document) => return Ok(document),
        Err(problem) => problem,
    };
    let mut errors = Vec::new();
    for diagnostic in problem.errors.iter() {
        let standard = diagnostic.unstable_to_json_compat();
        if github_accepts_both(schema, &standard.message) {
            continue;
        }
        errors.push(as_github_error(&standard));
    }
    if errors.is_empty() {
        return Ok(Valid::assume_valid(problem.partial));
    }
    Err(json!({ "errors": errors }))
}

/// Returns true if GitHub accepts the two conflicting types that a validation message names.
fn github_accepts_both(schema: &Schema, message: &str) -> bool {
    let is_enum = |name: &str| schema.get_enum(name).is_some();
    message
        .split_once("conflicting types \"")
        .and_then(|(_, rest)| rest.split_once("\"."))
        .and_then(|(types, _)| types.split_once(" and \""))
        .is_some_and(|(one, other)| {
            let (one, other) = (one.replace('!', ""), other.replace('!', ""));
            one == other || is_enum(&one) && is_enum(&other)
        })
}

/// Rewrites a message of the validator to GitHub's wording.
fn as_github_error(error: &GraphQLError) -> Value {
    let quoted: Vec<&str> = error.message.split('"').skip(1).step_by(2).collect();
    let locations = locations(error);
    match (quoted.as_slice(), error.message.as_str()) {
        ([field, on, ..], text) if text.starts_with("Cannot query field") => json!({
            "path": [],
            "extensions": { "code": "undefinedField", "typeName": on, "fieldName": field },
            "locations": locations,
            "message": format!("Field '{field}' doesn't exist on type '{on}'"),
        }),
        ([argument, coordinate, ..], text) if text.starts_with("Unknown argument") => json!({
            "path": [],
            "extensions": { "code": "argumentNotAccepted", "argumentName": argument },
            "locations": locations,
            "message": format!(
                "Field '{}' doesn't accept argument '{argument}'",
                coordinate.rsplit('.').next().unwrap_or(coordinate)
            ),
        }),
        ([name], text) if text.starts_with("Unknown type") => json!({
            "path": [],
            "extensions": { "code": "undefinedType", "typeName": name },
            "locations": locations,
            "message": format!("No such type {name}, so it can't be a fragment condition"),
        }),
        _ => json!({ "path": [], "locations": locations, "message": error.message }),
    }
}
