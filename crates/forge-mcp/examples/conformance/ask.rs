//! Tools that ask the client during a call (2025-11-25).

use forge_mcp::Route;
use rmcp::{
    RoleServer,
    model::{CreateMessageRequestParams, ElicitRequestParams, ElicitationSchema, SamplingMessage},
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::tools::{plain, text, with};

fn argument(params: &rmcp::model::CallToolRequestParams, name: &str) -> String {
    let value = params.arguments.as_ref().and_then(|a| a.get(name));
    value.and_then(Value::as_str).unwrap_or("Hello").to_owned()
}

async fn ask(ctx: &RequestContext<RoleServer>, message: String, schema: Value) -> String {
    let schema: ElicitationSchema = serde_json::from_value(schema).unwrap();
    let form = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: schema,
    };
    match ctx.peer.create_elicitation(form).await {
        Ok(said) => {
            let said = serde_json::to_value(said).unwrap();
            format!(
                "action={}, content={}",
                said["action"].as_str().unwrap_or_default(),
                said["content"]
            )
        }
        Err(e) => format!("error: {e}"),
    }
}

pub fn all() -> Vec<Route> {
    vec![
        with("test_sampling", one("prompt"), |params, ctx| async move {
            let message = SamplingMessage::user_text(argument(&params, "prompt"));
            let request = CreateMessageRequestParams::new(vec![message], 100);
            match ctx.peer.create_message(request).await {
                Ok(said) => {
                    let first = said
                        .message
                        .content
                        .first()
                        .and_then(|c| c.as_text().map(|t| t.text.clone()));
                    text(format!("LLM response: {}", first.unwrap_or_default()))
                }
                Err(e) => text(format!("Sampling error: {e}")),
            }
        }),
        with(
            "test_elicitation",
            one("message"),
            |params, ctx| async move {
                let fields = json!({
                    "type": "object",
                    "properties": {
                        "username": {"type": "string", "description": "User's response"},
                        "email": {"type": "string", "description": "User's email address"}
                    },
                    "required": ["username", "email"]
                });
                let said = ask(&ctx, argument(&params, "message"), fields).await;
                text(format!("User response: {said}"))
            },
        ),
        plain("test_elicitation_sep1034_defaults", |_, ctx| async move {
            let fields = json!({"type": "object", "properties": {
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "default": true}
            }});
            let said = ask(&ctx, "Please provide values".to_owned(), fields).await;
            text(format!("Elicitation completed: {said}"))
        }),
        plain("test_elicitation_sep1330_enums", |_, ctx| async move {
            let titled = |n: &str| {
                json!([
                    {"const": "value1", "title": format!("First {n}")},
                    {"const": "value2", "title": format!("Second {n}")},
                    {"const": "value3", "title": format!("Third {n}")}
                ])
            };
            let plain = json!(["option1", "option2", "option3"]);
            let fields = json!({"type": "object", "properties": {
                "untitledSingle": {"type": "string", "enum": plain},
                "titledSingle": {"type": "string", "oneOf": titled("Option")},
                "legacyEnum": {
                    "type": "string", "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"]
                },
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
                "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}}
            }});
            let said = ask(&ctx, "Test enums".to_owned(), fields).await;
            text(format!("Enum elicitation completed: {said}"))
        }),
    ]
}

fn one(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}
