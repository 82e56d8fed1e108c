//! Prompts and resources.

use rmcp::{
    ErrorData,
    model::{
        ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
        InputRequiredResult, Prompt, PromptArgument, PromptMessage, ReadResourceResult, Resource,
        ResourceContents, ResourceTemplate, Role,
    },
};
use serde_json::Value;

use crate::{asked::form, tools::IMAGE};

pub fn prompts() -> Vec<Prompt> {
    let names = [
        "test_simple_prompt",
        "test_prompt_with_embedded_resource",
        "test_prompt_with_image",
        "test_input_required_result_prompt",
    ];
    let mut all: Vec<Prompt> = names
        .map(|n| Prompt::new(n, Some(format!("Fixture {n}")), None))
        .into();
    let argument = |name: &str| PromptArgument::new(name).with_required(true);
    let arguments = vec![argument("arg1"), argument("arg2")];
    all.push(Prompt::new(
        "test_prompt_with_arguments",
        Some("Fixture".to_owned()),
        Some(arguments),
    ));
    all
}

pub fn prompt(params: &GetPromptRequestParams) -> Option<Result<GetPromptResponse, ErrorData>> {
    let said = |text: String| PromptMessage::new_text(Role::User, text);
    let argument = |name: &str| {
        let value = params
            .arguments
            .as_ref()
            .and_then(|a| a.get(name))
            .and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let messages = match params.name.as_str() {
        "test_simple_prompt" => vec![said("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => vec![said(format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2")
        ))],
        "test_prompt_with_embedded_resource" => {
            // The conformance suite passes this argument.
            let named = argument("resourceUri");
            let uri = if named.is_empty() {
                "test://static-text".to_owned()
            } else {
                named
            };
            let contents = ResourceContents::text("Embedded resource content for testing.", uri);
            let block = ContentBlock::resource(contents.with_mime_type("text/plain"));
            vec![
                PromptMessage::new(Role::User, block),
                said("Please process it.".to_owned()),
            ]
        }
        "test_prompt_with_image" => vec![
            PromptMessage::new(Role::User, ContentBlock::image(IMAGE, "image/png")),
            said("Please analyze it.".to_owned()),
        ],
        "test_input_required_result_prompt" => {
            let answer = params
                .input_responses
                .as_ref()
                .and_then(|r| r.get("user_context"));
            match answer.filter(|a| a.is_object()) {
                Some(a) => vec![said(format!("Context: {}", a["content"]["context"]))],
                None => {
                    let ask = form("What context should the prompt use?", "context", "string");
                    let ask = [("user_context".to_owned(), ask)].into();
                    return Some(Ok(InputRequiredResult::from_input_requests(ask).into()));
                }
            }
        }
        _ => return None,
    };
    Some(Ok(GetPromptResult::new(messages).into()))
}

pub fn resources() -> Vec<Resource> {
    vec![
        Resource::new("test://static-text", "static-text").with_mime_type("text/plain"),
        Resource::new("test://static-binary", "static-binary").with_mime_type("image/png"),
    ]
}

pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "template")
            .with_mime_type("application/json"),
    ]
}

pub fn read(uri: &str) -> Option<Result<ReadResourceResult, ErrorData>> {
    let contents = match uri {
        "test://static-text" => {
            ResourceContents::text("This is the content of the static text resource.", uri)
                .with_mime_type("text/plain")
        }
        "test://static-binary" => ResourceContents::blob(IMAGE, uri).with_mime_type("image/png"),
        _ => {
            let id = uri
                .strip_prefix("test://template/")?
                .strip_suffix("/data")?;
            let text = format!(r#"{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}"#);
            ResourceContents::text(text, uri).with_mime_type("application/json")
        }
    };
    Some(Ok(ReadResourceResult::new(vec![contents])))
}
