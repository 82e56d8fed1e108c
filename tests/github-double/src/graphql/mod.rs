//! Executes GraphQL documents over the reduced schema with the resolvers of the double.

mod analysis;
mod context;
mod defaults;
mod errors;
mod ids;
mod object;
mod page;
mod scopes;
mod value;

use apollo_compiler::{
    ExecutableDocument,
    executable::Selection,
    request::coerce_variable_values,
    resolvers::Execution,
    response::{JsonMap, JsonValue},
    validation::Valid,
};
use serde_json::{Map, Value};

pub(crate) use context::Ctx;
pub(crate) use ids::{account_node, find, node_id};
pub(crate) use scopes::TEAM as TEAM_SCOPES;
pub(crate) use value::{Args, Connection, Fail, Node, Resolved, Val};

use super::schema;

#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) query: String,
    pub(crate) operation: Option<String>,
    pub(crate) variables: Map<String, Value>,
}

impl Request {
    /// Parses the body of a request. Returns `None` if the body is not a GraphQL request.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(body).ok()?;
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            query: text("query")?,
            operation: text("operationName").filter(|name| !name.is_empty()),
            variables: value
                .get("variables")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        })
    }
}

/// Outline of a document, which the double determines without executing it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Outline {
    pub(crate) name: Option<String>,
    pub(crate) mutation: bool,
    /// Names of the operation's top-level fields.
    pub(crate) fields: Vec<String>,
}

/// Returns the outline of a request. The outline is empty if the document is invalid.
pub(crate) fn outline(request: &Request) -> Outline {
    let Ok(document) = apollo_compiler::ast::Document::parse(&request.query, "request.graphql")
    else {
        return Outline::default();
    };
    for definition in &document.definitions {
        let apollo_compiler::ast::Definition::OperationDefinition(operation) = definition else {
            continue;
        };
        let name = operation.name.as_ref().map(ToString::to_string);
        if request.operation.is_some() && request.operation != name {
            continue;
        }
        return Outline {
            name,
            mutation: operation.operation_type == apollo_compiler::ast::OperationType::Mutation,
            fields: operation
                .selection_set
                .iter()
                .filter_map(|selection| selection.as_field())
                .map(|field| field.name.to_string())
                .collect(),
        };
    }
    Outline::default()
}

/// Executes a request. The answer has the fields in the order of the document, as GitHub's does.
pub(crate) fn execute(ctx: &Ctx<'_>, request: &Request) -> JsonValue {
    answer(ctx, request).unwrap_or_else(JsonValue::from)
}

/// Returns the answer to a request. `Err` is the answer to one that is not executed.
fn answer(ctx: &Ctx<'_>, request: &Request) -> Result<JsonValue, Value> {
    let relations = !ctx.state().lacks_issue_relations;
    let parsed = match schema::parsed(relations) {
        Ok(parsed) => parsed,
        Err(problem) => {
            let problem = format!("the double's schema is broken: {problem}");
            return Err(errors::plain(&problem));
        }
    };
    let document = errors::validated(&parsed.schema, &request.query)?;
    let operation = match document.operations.get(request.operation.as_deref()) {
        Ok(operation) => operation.clone(),
        Err(problem) => return Err(errors::plain(&problem.message().to_string())),
    };
    let raw: JsonMap = request
        .variables
        .iter()
        .map(|(name, value)| (name.as_str().into(), value.clone().into()))
        .collect();
    let variables = match coerce_variable_values(&parsed.schema, &operation, &raw) {
        Ok(variables) => variables,
        Err(problem) => return Err(errors::plain(&problem.message().to_string())),
    };
    scopes::check(ctx, &document, &operation)?;
    let cost = analysis::measure(&document, &operation, &variables)?;
    ctx.charge(&cost);
    run(ctx, &document, &operation, &variables, parsed)
}

fn run(
    ctx: &Ctx<'_>,
    document: &Valid<ExecutableDocument>,
    operation: &apollo_compiler::executable::Operation,
    variables: &Valid<JsonMap>,
    parsed: &schema::Parsed,
) -> Result<JsonValue, Value> {
    let root = object::Object::root(ctx, operation.is_mutation());
    let response = Execution::new(&parsed.schema, document)
        .implementers_map(&parsed.implementers)
        .operation(operation)
        .coerced_variable_values(variables)
        .enable_schema_introspection(true)
        .execute_sync(&root);
    match response {
        Ok(response) => {
            let mut data = response.data.map_or(JsonValue::Null, JsonValue::Object);
            hide_fields(ctx, &mut data);
            let errors: Vec<JsonValue> = response.errors.iter().map(errors::field).collect();
            restore_payloads(operation, &mut data, &errors);
            let mut answer = JsonMap::new();
            answer.insert("data", data);
            if !errors.is_empty() {
                answer.insert("errors", JsonValue::Array(errors));
            }
            Ok(JsonValue::Object(answer))
        }
        Err(problem) => Err(errors::plain(&problem.message().to_string())),
    }
}

/// Mutations whose payload GitHub keeps, with a null object, if it refuses the input.
const PAYLOAD_IS_KEPT: &[&str] = &["createLabel", "createPullRequest"];

/// Gives refused mutations the payload that GitHub sends: an object whose fields are null.
fn restore_payloads(
    operation: &apollo_compiler::executable::Operation,
    data: &mut JsonValue,
    errors: &[JsonValue],
) {
    for selection in &operation.selection_set.selections {
        let Selection::Field(field) = selection else {
            continue;
        };
        let key = field.response_key().as_str();
        let is_refused = errors.iter().any(|error| {
            // GitHub keeps no payload of a write in an archived repository.
            let message = error.get("message").and_then(JsonValue::as_str);
            if message.is_some_and(|it| it.starts_with("Repository was archived")) {
                return false;
            }
            let path = error.get("path").and_then(JsonValue::as_array);
            path.is_some_and(|path| matches!(path.as_slice(), [one] if one.as_str() == Some(key)))
                && error.get("type").and_then(JsonValue::as_str) == Some("UNPROCESSABLE")
        });
        if !is_refused || !PAYLOAD_IS_KEPT.contains(&field.name.as_str()) {
            continue;
        }
        let inner = field.selection_set.selections.iter();
        let keys = inner.filter_map(|selection| match selection {
            Selection::Field(field) => Some(field.response_key().to_string()),
            _ => None,
        });
        let payload: JsonMap = keys.map(|key| (key.into(), JsonValue::Null)).collect();
        if let Some(data) = data.as_object_mut() {
            data.insert(key, JsonValue::Object(payload));
        }
    }
}

/// Removes hidden fields from the answers to `__type` queries.
fn hide_fields(ctx: &Ctx<'_>, data: &mut JsonValue) {
    let state = ctx.state();
    let hidden = &state.hidden_fields;
    if hidden.is_empty() {
        return;
    }
    let roots = data
        .as_object_mut()
        .into_iter()
        .flat_map(JsonMap::values_mut);
    for root in roots {
        let on = root
            .get("name")
            .and_then(JsonValue::as_str)
            .unwrap_or_default();
        let on = on.to_owned();
        if let Some(fields) = root.get_mut("fields").and_then(JsonValue::as_array_mut) {
            fields.retain(|field| {
                let name = field
                    .get("name")
                    .and_then(JsonValue::as_str)
                    .unwrap_or_default();
                !hidden.contains(&(on.clone(), name.to_owned()))
            });
        }
    }
}
