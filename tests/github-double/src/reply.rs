//! Answers with GitHub's messages.

use serde_json::json;

pub(crate) use forge_double_wire::{Parts, Reply};

pub(crate) fn not_found() -> Reply {
    message(404, "Not Found")
}

/// Returns GitHub's JSON for a REST error.
pub(crate) fn message(status: u16, message: &str) -> Reply {
    Reply::json(
        status,
        &json!({
            "message": message,
            "documentation_url": "https://docs.github.com/rest",
            "status": status.to_string(),
        }),
    )
}
