//! Builds portable schemas, which every provider accepts.
//!
//! A derived schema is correct but not portable. The strict mode of the MCP Inspector (`--strict`)
//! warns about `$schema`, Rust's integer formats, unions with `null`, and `default: null`. Some
//! providers refuse such schemas, and each of these additions costs tokens.

use std::sync::Arc;

use rmcp::{
    model::JsonObject,
    schemars::{JsonSchema, generate::SchemaSettings},
};
use serde_json::{Value, json};

use super::failure::ErrorOut;

/// Returns the schema of a tool's arguments.
pub(super) fn of_input<T: JsonSchema>() -> Arc<JsonObject> {
    let mut schema = generated::<T>(false);
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema.insert("additionalProperties".to_owned(), json!(false));
    Arc::new(schema)
}

/// Returns the schema of a tool's result. Clients validate the results of failed calls with the
/// same schema, and these results have only the field `error`. The other fields are therefore
/// required only if `error` is absent. If every field is optional, the schema requires at least one
/// field other than `warnings`.
pub(super) fn of_output<T: JsonSchema>() -> Arc<JsonObject> {
    let mut schema = generated::<T>(true);
    let required = schema.remove("required");
    let error = Value::Object(generated::<ErrorOut>(true));
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let mut either: Vec<Value> = match required {
            Some(required) => vec![json!({"required": required})],
            None => (properties.keys().filter(|name| *name != "warnings"))
                .map(|name| json!({"required": [name]}))
                .collect(),
        };
        either.push(json!({"required": ["error"]}));
        properties.insert("error".to_owned(), error);
        schema.insert("anyOf".to_owned(), Value::Array(either));
    }
    Arc::new(schema)
}

fn generated<T: JsonSchema>(written: bool) -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    // A field that is skipped when empty differs between the two kinds of schema: it is required in
    // an input schema, but optional in an output schema.
    let settings = if written {
        settings.for_serialize()
    } else {
        settings
    };
    let schema = settings.into_generator().into_root_schema_for::<T>();
    match slim(schema.to_value()) {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema.remove("description");
            schema
        }
        _ => JsonObject::new(),
    }
}

fn slim(value: Value) -> Value {
    match value {
        Value::Object(mut object) => {
            if object
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|f| f.starts_with("uint") || f.starts_with("int") || f == "double")
            {
                object.remove("format");
                // `minimum: 0` comes from an unsigned Rust type and does not help a model.
                if object.get("minimum") == Some(&json!(0)) {
                    object.remove("minimum");
                }
            }
            if object
                .get("default")
                .is_some_and(|d| d.is_null() || d == &json!([]) || d == &json!(false))
            {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get("type") {
                let types: Vec<Value> = types.iter().filter(|t| *t != "null").cloned().collect();
                if let [one] = types.as_slice() {
                    object.insert("type".to_owned(), one.clone());
                }
            }
            // The schema of an optional enum or struct is `anyOf` with null, or an enum that
            // includes null.
            if let Some(Value::Array(any)) = object.get("anyOf") {
                let mut any: Vec<Value> = any
                    .iter()
                    .filter(|a| **a != json!({"type": "null"}))
                    .cloned()
                    .collect();
                if any.len() == 1
                    && let Some(Value::Object(one)) = any.pop()
                {
                    object.remove("anyOf");
                    for (key, value) in one {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("enum") {
                choices.retain(|c| !c.is_null());
            }
            Value::Object(object.into_iter().map(|(k, v)| (k, slim(v))).collect())
        }
        Value::Array(items) => items.into_iter().map(slim).collect(),
        other => other,
    }
}
