//! XRPC errors, and input checks as in the reference implementation.

use forge_double_wire::Reply;
use serde_json::{Map, Value, json};

use super::host::Incoming;

/// The error that an XRPC method returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    pub(crate) error: String,
    pub(crate) message: String,
}

pub(crate) type Answer = Result<Value, Failure>;

impl Failure {
    pub(crate) fn new(status: u16, error: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            error: error.to_owned(),
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "InvalidRequest", message)
    }

    /// Returns an internal error, as in the reference implementation.
    pub(crate) fn internal() -> Self {
        Self::new(500, "InternalServerError", "Internal Server Error")
    }

    pub(crate) fn reply(&self) -> Reply {
        Reply::json(
            self.status,
            &json!({ "error": self.error, "message": self.message }),
        )
    }
}

/// Converts the result of a method to an answer with JSON or an empty body.
pub(crate) fn reply(answer: Answer) -> Reply {
    match answer {
        Ok(Value::Null) => Reply {
            status: 200,
            ..Reply::default()
        },
        Ok(value) => Reply::json(200, &value),
        Err(failure) => failure.reply(),
    }
}

/// The JSON body of a procedure.
pub(crate) struct Input(Map<String, Value>);

impl Input {
    /// Reads the JSON object in the body of a request.
    pub(crate) fn read(request: &Incoming) -> Result<Self, Failure> {
        let kind = request.header("content-type");
        if !kind.starts_with("application/json") {
            return Err(Failure::invalid(if kind.is_empty() {
                "Request encoding (Content-Type) required but not provided".to_owned()
            } else {
                format!("Wrong request encoding (Content-Type): {kind}")
            }));
        }
        match serde_json::from_slice(&request.body) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(other) => Err(Failure::invalid(format!(
                "Expected object value type (got {}) at $",
                shown(&other)
            ))),
            Err(error) => Err(Failure::new(400, "SyntaxError", error.to_string())),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns a field that must be present.
    pub(crate) fn need(&self, name: &str) -> Result<&Value, Failure> {
        self.0
            .get(name)
            .ok_or_else(|| Failure::invalid(format!("Missing required key \"{name}\" at $")))
    }

    /// Returns a string that must be present.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Failure> {
        let value = self.need(name)?;
        value.as_str().ok_or_else(|| {
            let got = shown(value);
            Failure::invalid(format!(
                "Expected string value type (got {got}) at $.{name}"
            ))
        })
    }

    /// Returns a string that may be missing.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<&str>, Failure> {
        match self.0.get(name) {
            None => Ok(None),
            Some(_) => self.text(name).map(Some),
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
        Value::String(text) => format!("\"{text}\""),
        other => other.to_string(),
    }
}

pub(crate) fn is_nsid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() >= 3
        && text.len() <= 317
        && parts.iter().all(|part| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        })
}

pub(crate) fn is_record_key(text: &str) -> bool {
    (1..=512).contains(&text.len())
        && !matches!(text, "." | "..")
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-_:~".contains(c))
}
