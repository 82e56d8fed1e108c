//! Tools that return without asking; some report progress or logs first.

use std::{future::Future, sync::Arc, time::Duration};

use forge_mcp::Route;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        AudioContent, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
        ContentBlock, JsonObject, LoggingLevel, LoggingMessageNotificationParam,
        ProgressNotificationParam, ResourceContents, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::Sinks;

/// An image of one pixel.
pub const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// A sound of zero length.
const AUDIO: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

type Answer = Result<CallToolResponse, ErrorData>;

pub fn object(value: Value) -> JsonObject {
    value.as_object().cloned().unwrap()
}

pub fn text(text: impl Into<String>) -> Answer {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

/// Returns a tool without arguments.
pub fn plain<F, Fut>(name: &'static str, run: F) -> Route
where
    F: Fn(CallToolRequestParams, RequestContext<RoleServer>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    with(name, json!({"type": "object", "properties": {}}), run)
}

pub fn with<F, Fut>(name: &'static str, schema: Value, run: F) -> Route
where
    F: Fn(CallToolRequestParams, RequestContext<RoleServer>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    Route::raw(
        Tool::new(name, format!("Fixture {name}"), object(schema)),
        run,
    )
}

fn fixed(
    name: &'static str,
    content: impl Fn() -> CallToolResult + Send + Sync + 'static,
) -> Route {
    plain(name, move |_, _| {
        let content = content();
        async move { Ok(content.into()) }
    })
}

fn embedded(uri: &str, mime: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime))
}

pub fn all(sinks: &Sinks) -> Vec<Route> {
    let image = || ContentBlock::image(IMAGE, "image/png");
    let mut all = vec![
        fixed("test_simple_text", || {
            CallToolResult::success(vec![ContentBlock::text(
                "This is a simple text response for testing.",
            )])
        }),
        fixed("test_image_content", move || {
            CallToolResult::success(vec![image()])
        }),
        fixed("test_audio_content", || {
            CallToolResult::success(vec![ContentBlock::Audio(AudioContent::new(
                AUDIO,
                "audio/wav",
            ))])
        }),
        fixed("test_embedded_resource", || {
            let it = embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            );
            CallToolResult::success(vec![it])
        }),
        fixed("test_multiple_content_types", move || {
            let data = embedded(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            );
            CallToolResult::success(vec![
                ContentBlock::text("Multiple content types test:"),
                image(),
                data,
            ])
        }),
        fixed("test_error_handling", || {
            CallToolResult::error(vec![ContentBlock::text(
                "This tool intentionally returns an error for testing",
            )])
        }),
        plain("test_tool_with_progress", |_, ctx| progress(ctx)),
        plain("test_tool_with_logging", |_, ctx| logging(ctx)),
        plain("test_logging_tool", |_, ctx| requested_logging(ctx)),
        plain("test_reconnection", |_, _| async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            text("Reconnection test completed")
        }),
        plain("test_missing_capability", |_, ctx| async move {
            if ctx
                .client_capabilities()
                .is_some_and(|c| c.sampling.is_some())
            {
                return text("Required capability declared");
            }
            let wanted = ClientCapabilities::builder().enable_sampling().build();
            Err(ErrorData::missing_required_client_capability(wanted))
        }),
        with(
            "test_custom_header",
            json!({
                "type": "object",
                "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
                "required": ["value"]
            }),
            |params, _| async move {
                let value = params
                    .arguments
                    .as_ref()
                    .and_then(|a| a.get("value"))
                    .and_then(Value::as_str);
                text(value.unwrap_or_default())
            },
        ),
        with("json_schema_2020_12_tool", wide_schema(), |_, _| async {
            text("Hello!")
        }),
    ];
    for (name, of_tools) in [
        ("test_trigger_tool_change", true),
        ("test_trigger_prompt_change", false),
    ] {
        let sinks = Arc::clone(sinks);
        all.push(plain(name, move |_, _| {
            let sinks = Arc::clone(&sinks);
            async move {
                for sink in sinks.lock().await.iter() {
                    if of_tools {
                        let _ = sink.notify_tool_list_changed().await;
                    } else {
                        let _ = sink.notify_prompt_list_changed().await;
                    }
                }
                text("Change triggered")
            }
        }));
    }
    all
}

async fn progress(ctx: RequestContext<RoleServer>) -> Answer {
    for (done, message) in [(0.0, "Starting"), (50.0, "Halfway"), (100.0, "Complete")] {
        if let Some(token) = ctx.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, done)
                .with_total(100.0)
                .with_message(message);
            let _ = ctx.peer.notify_progress(told).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    text("Progress test completed")
}

async fn logging(ctx: RequestContext<RoleServer>) -> Answer {
    for message in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        let told = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
        let _ = ctx.peer.notify_logging_message(told).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    text("Logging test completed")
}

async fn requested_logging(ctx: RequestContext<RoleServer>) -> Answer {
    if let Some(level) = ctx.meta.log_level() {
        let told = LoggingMessageNotificationParam::new(level, json!("it was asked for"));
        let _ = ctx.peer.notify_logging_message(told).await;
    }
    text("Logging tool completed")
}

fn wide_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "address", "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
        }},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
        "if": {"required": ["address"]},
        "then": {"properties": {"address": {"required": ["street"]}}},
        "else": {"required": ["name"]},
        "additionalProperties": false
    })
}
