//! Tools whose result contains questions for the client (2026-07-28).

use std::sync::LazyLock;

use forge_mcp::Route;
use rmcp::{
    ErrorData,
    model::{
        CallToolRequestParams, CallToolResponse, CreateMessageRequest, CreateMessageRequestParams,
        ElicitRequest, ElicitRequestParams, InputRequest, InputRequests, InputRequiredResult,
        ListRootsRequest, RequestStateCodec, SamplingMessage,
    },
};
use serde_json::{Value, json};

use crate::tools::{plain, text};

static SEALS: LazyLock<RequestStateCodec> =
    LazyLock::new(|| RequestStateCodec::try_new(*b"only for the conformance suite, 32+").unwrap());

pub fn form(message: &str, field: &str, kind: &str) -> InputRequest {
    let schema =
        json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    InputRequest::Elicitation(ElicitRequest::new(
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: message.to_owned(),
            requested_schema: serde_json::from_value(schema).unwrap(),
        },
    ))
}

fn sampling(prompt: &str) -> InputRequest {
    let message = SamplingMessage::user_text(prompt);
    InputRequest::CreateMessage(CreateMessageRequest::new(CreateMessageRequestParams::new(
        vec![message],
        100,
    )))
}

fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}

fn questions<const N: usize>(of: [(&str, InputRequest); N]) -> InputRequests {
    of.into_iter()
        .map(|(key, request)| (key.to_owned(), request))
        .collect()
}

fn answered<'a>(params: &'a CallToolRequestParams, key: &str) -> Option<&'a Value> {
    params
        .input_responses
        .as_ref()?
        .get(key)
        .filter(|v| v.is_object())
}

fn seal(state: &Value) -> Result<String, ErrorData> {
    SEALS
        .seal_json(state)
        .map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

fn open(state: &str) -> Result<Value, ErrorData> {
    SEALS
        .open_json(state)
        .map_err(|_| ErrorData::invalid_params("requestState failed integrity verification", None))
}

fn sealed(params: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    match &params.request_state {
        None => {
            let ask = questions([("confirm", form("Please confirm", "ok", "boolean"))]);
            Ok(InputRequiredResult::new(Some(ask), Some(seal(&json!({"stage": 1}))?)).into())
        }
        Some(state) => {
            open(state)?;
            text("Confirmed: state-ok")
        }
    }
}

fn several(params: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    if let Some(state) = &params.request_state {
        open(state)?;
    }
    let keys = ["user_name", "greeting", "client_roots"];
    if params.request_state.is_some() && keys.iter().all(|k| answered(params, k).is_some()) {
        return text("All inputs received");
    }
    let ask = questions([
        ("user_name", form("What is your name?", "name", "string")),
        ("greeting", sampling("Generate a greeting")),
        ("client_roots", roots()),
    ]);
    Ok(InputRequiredResult::new(Some(ask), Some(seal(&json!({"stage": 1}))?)).into())
}

fn rounds(params: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    let round = match &params.request_state {
        None => 0,
        Some(state) => open(state)?["round"].as_i64().unwrap_or(0),
    };
    let ask = match round {
        0 => questions([("step1", form("What is your name?", "name", "string"))]),
        1 => questions([(
            "step2",
            form("What is your favorite color?", "color", "string"),
        )]),
        _ => return text("Multi-round flow complete"),
    };
    Ok(InputRequiredResult::new(Some(ask), Some(seal(&json!({"round": round + 1}))?)).into())
}

fn once(
    key: &'static str,
    question: fn() -> InputRequest,
    said: fn(&Value) -> String,
) -> impl Fn(CallToolRequestParams) -> Result<CallToolResponse, ErrorData> + Send + Sync {
    move |params| match answered(&params, key) {
        Some(answer) => text(said(answer)),
        None => Ok(InputRequiredResult::from_input_requests(questions([(key, question())])).into()),
    }
}

fn route(
    name: &'static str,
    run: impl Fn(CallToolRequestParams) -> Result<CallToolResponse, ErrorData> + Send + Sync + 'static,
) -> Route {
    plain(name, move |params, _| {
        let answer = run(params);
        async move { answer }
    })
}

pub fn all() -> Vec<Route> {
    vec![
        route(
            "test_input_required_result_elicitation",
            once(
                "user_name",
                || form("What is your name?", "name", "string"),
                |a| {
                    format!(
                        "Hello, {}!",
                        a["content"]["name"].as_str().unwrap_or_default()
                    )
                },
            ),
        ),
        route(
            "test_input_required_result_sampling",
            once(
                "capital_question",
                || sampling("What is the capital of France?"),
                |a| {
                    format!(
                        "Sampling response: {}",
                        a["content"]["text"].as_str().unwrap_or_default()
                    )
                },
            ),
        ),
        route(
            "test_input_required_result_list_roots",
            once("client_roots", roots, |a| {
                format!("Client roots: {}", a["roots"])
            }),
        ),
        route("test_input_required_result_request_state", |p| sealed(&p)),
        route("test_input_required_result_tampered_state", |p| sealed(&p)),
        route("test_input_required_result_multiple_inputs", |p| {
            several(&p)
        }),
        route("test_input_required_result_multi_round", |p| rounds(&p)),
        plain(
            "test_input_required_result_capabilities",
            |params, ctx| async move {
                if params.input_responses.is_some() {
                    return text("Capability-aware flow complete");
                }
                let can = ctx.client_capabilities().unwrap_or_default();
                let mut ask = InputRequests::new();
                if can.elicitation.is_some() {
                    ask.insert(
                        "user_name".to_owned(),
                        form("What is your name?", "name", "string"),
                    );
                }
                if can.sampling.is_some() {
                    ask.insert("greeting".to_owned(), sampling("Generate a greeting"));
                }
                if can.roots.is_some() {
                    ask.insert("client_roots".to_owned(), roots());
                }
                if ask.is_empty() {
                    return text("The client can do none of it");
                }
                Ok(InputRequiredResult::from_input_requests(ask).into())
            },
        ),
        route("test_streaming_elicitation", |_| {
            let ask = questions([(
                "streaming_elicitation",
                form("Provide a value", "value", "string"),
            )]);
            Ok(InputRequiredResult::from_input_requests(ask).into())
        }),
    ]
}
