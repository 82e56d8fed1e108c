//! Answers bytes that are not a valid JSON-RPC message. rmcp drops some of these bytes silently and
//! answers others without a request id, so the client would wait for ever.

use forge_core::call::weight_of_json;
use rmcp::{
    ErrorData, RoleServer,
    model::{ErrorCode, InitializeRequestParams, RequestId},
    service::TxJsonRpcMessage,
};
use serde::Deserialize as _;
use serde_json::Value;

/// Maximum memory of a parsed message in addition to its text, in bytes. The peak is higher,
/// because several copies are in memory at once: the values in which rmcp buffers the message, and
/// the arguments made from them.
pub(crate) const MAX_VALUES_WEIGHT: usize = 8 * 1024 * 1024;

/// Maximum length of a request id and of a progress token, in bytes. Both are copied several times,
/// and kept while the request is handled.
const MAX_ID_BYTES: usize = 256;

/// Maximum number of messages in a batch.
const MAX_BATCH: usize = 64;

/// Returns the error for invalid bytes, with the request id if the bytes contain one. Bytes that
/// would take too much memory are refused without being parsed.
pub(crate) fn refusal(bytes: &[u8]) -> Option<(ErrorData, Option<RequestId>)> {
    if weight_of_json(bytes) - bytes.len() > MAX_VALUES_WEIGHT {
        let why = "the message has too many values: send less";
        return Some((ErrorData::new(ErrorCode::INVALID_REQUEST, why, None), None));
    }
    let message = match serde_json::from_slice::<Value>(bytes) {
        Ok(message) => message,
        Err(e) => {
            let why = format!("no JSON at line {}, column {}", e.line(), e.column());
            let id = id_despite_surrogates(bytes);
            return Some((ErrorData::parse_error(why, None), id));
        }
    };
    let sent_id = message.get("id");
    // rmcp takes whole numbers only. The id `2.0` of a response belongs to a request of the server.
    let is_float = sent_id.is_some_and(Value::is_f64);
    let id = sent_id.and_then(request_id);
    let id = id.filter(|_| !is_float || message.get("method").is_some());
    let is_valid = id.is_some() && !is_float;
    let error = match message_fault(&message, is_valid)? {
        Fault::Request(why) => ErrorData::new(ErrorCode::INVALID_REQUEST, why, None),
        Fault::Params(why) => ErrorData::invalid_params(why, None),
    };
    Some((error, id))
}

/// Returns the id of a message that is invalid only because of unpaired surrogates (`\ud83d` without
/// its second half). JavaScript clients send them when they cut a text.
fn id_despite_surrogates(bytes: &[u8]) -> Option<RequestId> {
    let text = str::from_utf8(bytes).ok()?;
    let mut plain = String::with_capacity(text.len());
    let mut unread = text;
    // A backslash always takes the character after it, so that `\\ud83d` is no surrogate.
    while let Some(at) = unread.find('\\') {
        let (before, escape) = unread.split_at(at);
        plain.push_str(before);
        let is_surrogate = matches!(
            escape.as_bytes(),
            [
                b'\\',
                b'u',
                b'd' | b'D',
                b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F',
                ..,
            ]
        );
        let length = if is_surrogate {
            6
        } else {
            1 + escape.chars().nth(1)?.len_utf8()
        };
        plain.push_str(if is_surrogate {
            "?"
        } else {
            escape.get(..length)?
        });
        unread = escape.get(length..)?;
    }
    plain.push_str(unread);
    let message: Value = serde_json::from_str(&plain).ok()?;
    // The id of a response belongs to a request of the server.
    message.get("method")?;
    request_id(message.get("id")?)
}

/// Splits a batch (protocol version 2025-03-26) into its messages; `None` if the bytes are none, or
/// one that [`refusal`] refuses.
pub(crate) fn split_batch(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let is_list = bytes.trim_ascii_start().starts_with(b"[");
    if !is_list || weight_of_json(bytes) - bytes.len() > MAX_VALUES_WEIGHT {
        return None;
    }
    let messages: Vec<Value> = serde_json::from_slice(bytes).ok()?;
    if batch_fault(&messages).is_some() {
        return None;
    }
    let messages = messages.iter().map(serde_json::to_vec);
    messages.collect::<Result<_, _>>().ok()
}

/// Returns the error answer to a message of a batch that could not be handled.
pub(crate) fn error_answer(message: &[u8], why: String) -> Vec<u8> {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    let id = message.get("id").and_then(request_id);
    let id = id.filter(|_| message.get("method").is_some());
    let error = ErrorData::new(ErrorCode::INVALID_REQUEST, why, None);
    let answer = TxJsonRpcMessage::<RoleServer>::error(error, id);
    serde_json::to_vec(&answer).unwrap_or_default()
}

fn batch_fault(messages: &[Value]) -> Option<Fault> {
    if messages.is_empty() || messages.len() > MAX_BATCH {
        let why = "a batch has from 1 to 64 messages: send fewer at once";
        return Some(Fault::Request(why));
    }
    if messages.iter().any(|m| m["method"] == "initialize") {
        return Some(Fault::Request("initialize has to be sent alone"));
    }
    let ids = || messages.iter().filter_map(|message| message.get("id"));
    let is_repeated = |id: &Value| ids().filter(|other| *other == id).count() > 1;
    let why = "the messages of a batch need different ids";
    ids().any(is_repeated).then_some(Fault::Request(why))
}

enum Fault {
    Request(&'static str),
    Params(&'static str),
}

fn message_fault(message: &Value, has_valid_id: bool) -> Option<Fault> {
    if let Value::Array(messages) = message
        && let Some(fault) = batch_fault(messages)
    {
        return Some(fault);
    }
    if !message.is_object() {
        return Some(Fault::Request("a message must be a JSON object"));
    }
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some(Fault::Request("jsonrpc has to be \"2.0\""));
    }
    if message.get("id").is_some() && !has_valid_id {
        return Some(Fault::Request(
            "id has to be a whole number, or a text of at most 256 bytes",
        ));
    }
    let Some(method) = message.get("method") else {
        let is_object = |name| message.get(name).is_some_and(Value::is_object);
        return match is_object("result") || is_object("error") {
            true => None,
            false => Some(Fault::Request(
                "a message has a method, a result or an error",
            )),
        };
    };
    let Some(method) = method.as_str() else {
        return Some(Fault::Request("method has to be a text"));
    };
    let params = message.get("params").filter(|params| !params.is_null());
    if params.is_some_and(|params| !params.is_object()) {
        return Some(Fault::Params("params have to be an object"));
    }
    let param = |name| params.and_then(|params| params.get(name));
    if param("_meta").is_some_and(|meta| !meta.is_object() && !meta.is_null()) {
        return Some(Fault::Params("_meta has to be an object"));
    }
    let token = param("_meta").and_then(|meta| meta.get("progressToken")?.as_str());
    if token.is_some_and(|token| token.len() > MAX_ID_BYTES) {
        return Some(Fault::Params("progressToken has at most 256 bytes"));
    }
    let is_cursor = |cursor: &&Value| !cursor.is_null() && cursor.as_str() != Some("");
    if method.ends_with("/list") && param("cursor").filter(is_cursor).is_some() {
        let why = "there is no page with this cursor: the list has one page; leave cursor out";
        return Some(Fault::Params(why));
    }
    let arguments = param("arguments");
    if method == "tools/call" && arguments.is_some_and(|a| !a.is_object() && !a.is_null()) {
        return Some(Fault::Params("arguments have to be an object"));
    }
    let hello = || InitializeRequestParams::deserialize(params?).ok();
    // A request that names its protocol version in `_meta` needs no handshake. For such a request,
    // `initialize` is an unknown method.
    let names_version = params
        .and_then(|params| params.get("_meta")?.as_object())
        .is_some_and(|meta| meta.contains_key("io.modelcontextprotocol/protocolVersion"));
    if method == "initialize" && !names_version && hello().is_none() {
        return Some(Fault::Params(
            "initialize takes protocolVersion, capabilities and clientInfo",
        ));
    }
    None
}

fn request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::String(text) if text.len() <= MAX_ID_BYTES => {
            Some(RequestId::String(text.as_str().into()))
        }
        Value::Number(number) => match number.as_i64() {
            Some(id) => Some(RequestId::Number(id)),
            // `2.0` is no valid id, but the client can match the error to `2`.
            None => whole_number(number.as_f64()?).map(RequestId::Number),
        },
        _ => None,
    }
}

/// Returns a number without a fraction as an integer, if a client has the same number.
fn whole_number(number: f64) -> Option<i64> {
    if number.abs() > 9_007_199_254_740_991.0 {
        return None;
    }
    format!("{number:.0}")
        .parse()
        .ok()
        .filter(|_| number.fract() == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In memory, these empty-keyed objects take a hundred times the length of their text, and the
    /// nested lists take sixty times the length of theirs.
    #[test]
    fn message_of_many_small_values_is_not_parsed() {
        let deep = format!("{}{},", "[".repeat(100), "]".repeat(100));
        for value in ["{\"\":0},", deep.as_str()] {
            let message = |length: usize| {
                let many = value.repeat(length / value.len());
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"p":[{many}0]}}}}"#)
            };
            assert!(refusal(message(1_000).as_bytes()).is_none());
            let (error, id) = refusal(message(500_000).as_bytes()).unwrap();
            assert_eq!((error.code.0, id), (-32600, None));
            assert!(error.message.contains("too many values"), "{error:?}");
        }
        let text = "x".repeat(15 << 20);
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"p":"{text}"}}}}"#);
        assert!(refusal(text.as_bytes()).is_none());
    }

    /// Without the limit, ids of 16 MB took more memory than the server may use.
    #[test]
    fn overlong_id_or_progress_token_is_refused() {
        for (length, refused) in [(MAX_ID_BYTES, false), (MAX_ID_BYTES + 1, true)] {
            let text = "x".repeat(length);
            let token = format!(r#""params":{{"_meta":{{"progressToken":"{text}"}}}}"#);
            for (message, wanted) in [
                (
                    format!(r#"{{"jsonrpc":"2.0","id":"{text}","method":"ping"}}"#),
                    (-32600, None),
                ),
                (
                    format!(r#"{{"jsonrpc":"2.0","id":"{text}","result":{{}}}}"#),
                    (-32600, None),
                ),
                (
                    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping",{token}}}"#),
                    (-32602, Some(RequestId::Number(7))),
                ),
            ] {
                let got = refusal(message.as_bytes()).map(|(error, id)| (error.code.0, id));
                assert_eq!(got, refused.then_some(wanted), "{message}");
            }
        }
    }

    #[test]
    fn invalid_messages_are_answered_with_their_id() {
        let code = |text: &str| refusal(text.as_bytes()).map(|(error, id)| (error.code.0, id));
        for good in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":7}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#,
        ] {
            assert_eq!(code(good), None, "{good}");
        }
        let id = Some(RequestId::Number(7));
        for (bad, wanted) in [
            ("{", (-32700, None)),
            ("[]", (-32600, None)),
            ("7", (-32600, None)),
            (
                r#"{"jsonrpc":"1.0","id":7,"method":"m"}"#,
                (-32600, id.clone()),
            ),
            (r#"{"jsonrpc":"2.0","id":7}"#, (-32600, id.clone())),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":1}"#,
                (-32600, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":1}"#,
                (-32600, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
                (-32600, None),
            ),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, (-32600, None)),
            (
                r#"{"jsonrpc":"2.0","id":7.0,"method":"m"}"#,
                (-32600, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"text":"cut \ud83d"}}"#,
                (-32700, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":9007199254740993.0,"method":"m"}"#,
                (-32600, None),
            ),
            (r#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#, (-32600, None)),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"text":"\ud83d"}}"#,
                (-32700, None),
            ),
            (
                r#"[{"jsonrpc":"2.0","id":7,"method":"m"},{"jsonrpc":"2.0","id":7,"method":"m"}]"#,
                (-32600, None),
            ),
            (
                r#"[{"jsonrpc":"2.0","id":7,"method":"initialize"}]"#,
                (-32600, None),
            ),
            (
                r#"{"id":7,"a":"\\\uDC00 \\ud83d","jsonrpc":"2.0","method":"m"}"#,
                (-32700, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[]}"#,
                (-32602, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":[]}}"#,
                (-32602, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}"#,
                (-32602, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":7}}"#,
                (-32602, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"prompts/list","params":{"cursor":"x"}}"#,
                (-32602, id.clone()),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"initialize"}"#,
                (-32602, id.clone()),
            ),
        ] {
            assert_eq!(code(bad), Some(wanted), "{bad}");
        }
    }
}
