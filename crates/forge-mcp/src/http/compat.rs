//! Adjustments for HTTP clients where rmcp is too strict or gives too little information.

use http::{HeaderMap, HeaderValue, Method, header};
use rmcp::{RoleServer, service::TxJsonRpcMessage};

use crate::server::message;

/// The media type of messages.
pub(super) const JSON: &str = "application/json";

/// The media type of event streams.
pub(super) const EVENTS: &str = "text/event-stream";

/// Adds the required media types as the `Accept` header if the request has none. Also replaces an
/// `Accept` header that covers all required types with wildcards.
pub(super) fn widen_accept(method: &Method, headers: &mut HeaderMap) {
    let types: &[&str] = match *method {
        Method::POST => &[JSON, EVENTS],
        Method::GET => &[EVENTS],
        _ => return,
    };
    let sent = headers.get_all(header::ACCEPT).iter();
    let sent: Vec<String> = sent
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.trim().to_ascii_lowercase())
        .collect();
    if (sent.is_empty() || types.iter().all(|of| covers(&sent, of)))
        && let Ok(all) = HeaderValue::from_str(&types.join(", "))
    {
        headers.insert(header::ACCEPT, all);
    }
}

/// Returns true if the media ranges include a type. The most specific range decides (RFC 9110,
/// 12.5.1).
fn covers(sent: &[String], wanted: &str) -> bool {
    let main = wanted.split('/').next().unwrap_or_default();
    let ranges = [wanted.to_owned(), format!("{main}/*"), "*/*".to_owned()];
    let quality = |range: &String| {
        let mut sent = sent.iter().map(|sent| sent.split(';'));
        let mut parameters = sent.find_map(|mut parts| {
            let name = parts.next().unwrap_or_default().trim();
            (name == range.as_str()).then_some(parts)
        })?;
        let q = parameters.find_map(|parameter| parameter.trim().strip_prefix("q="));
        Some(q.and_then(|q| q.trim().parse::<f32>().ok()).unwrap_or(1.0))
    };
    ranges.iter().find_map(quality).is_some_and(|q| q > 0.0)
}

/// Returns the error response for an invalid message. The flag is true if the message contains a
/// request id. With the id in the response, the client can match the response to its request.
pub(super) fn refusal(headers: &HeaderMap, body: &[u8]) -> Option<(bool, Vec<u8>)> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    // Other media types are left to rmcp, which refuses them.
    if !kind.trim_start().to_ascii_lowercase().starts_with(JSON) {
        return None;
    }
    let (error, id) = message::refusal(body)?;
    let is_answer = id.is_some();
    let answer = TxJsonRpcMessage::<RoleServer>::error(error, id);
    Some((is_answer, serde_json::to_vec(&answer).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_wildcard_becomes_both_media_types() {
        let both = "application/json, text/event-stream";
        for (sent, is) in [
            (None, both),
            (Some("*/*"), both),
            (Some("*/*;q=0.8"), both),
            (Some("application/*, text/*"), both),
            (Some("application/json, */*;q=0.1"), both),
            (Some("Application/JSON,text/event-stream"), both),
            (Some("application/json"), "application/json"),
            (Some("text/html"), "text/html"),
            (Some("*/*;q=0"), "*/*;q=0"),
            (
                Some("*/*, text/event-stream;q=0"),
                "*/*, text/event-stream;q=0",
            ),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(sent) = sent {
                headers.insert(header::ACCEPT, HeaderValue::from_static(sent));
            }
            widen_accept(&Method::POST, &mut headers);
            assert_eq!(headers[header::ACCEPT], is, "{sent:?}");
        }
    }
}
