//! The details of an ingestion verdict in a result.
//!
//! On tangled, a write stores a record first. Ingestion is the later step by which the appview, the
//! index of records, makes the record visible to others.

use std::time::Duration;

use forge_core::Ingestion;
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use crate::content::{Clean, Cleaner, name};

/// Details of the ingestion state.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct IngestionDetail {
    /// The index that shows the write
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Clean>,
    /// Time until the index showed the write
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
    /// at-uri of the record
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<Clean>,
    /// How long the call waited in vain
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// A rule of another version of the index that the record breaks
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Clean>,
    /// What to do instead of waiting
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<Clean>,
    /// Why the index drops the record
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Clean>,
}

impl IngestionDetail {
    /// Returns the details of an ingestion verdict; the verdict `immediate` has none.
    pub fn of(ingestion: &Ingestion, cleaner: &Cleaner) -> Option<Self> {
        let line = |text: &str| Some(cleaner.line(text));
        let millis = |time: &Duration| Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        Some(match ingestion {
            Ingestion::Immediate => return None,
            Ingestion::Confirmed { by, after } => Self {
                by: line(by),
                after_ms: millis(after),
                ..Self::default()
            },
            Ingestion::Pending { uri, waited, doubt } => Self {
                uri: uri.as_deref().and_then(line),
                waited_ms: millis(waited),
                doubt: doubt.as_deref().and_then(line),
                ..Self::default()
            },
            Ingestion::PdsOnly { instead } => Self {
                instead: line(instead),
                ..Self::default()
            },
            Ingestion::Ineffective { uri, reason } => Self {
                uri: line(uri),
                reason: line(reason),
                ..Self::default()
            },
        })
    }

    /// Returns the line with the ingestion verdict. If waiting does not help, the line also says
    /// what to do.
    pub fn text(&self, word: &str) -> String {
        let mut text = format!("visible to others: {word}");
        match (&self.uri, &self.reason) {
            (Some(uri), Some(reason)) => text.push_str(&format!(
                " (stored, but the index ignores it: {reason}: {})",
                name(uri)
            )),
            (Some(uri), None) => {
                text.push_str(&format!(
                    " (stored, and nothing shows it yet: {})",
                    name(uri)
                ));
            }
            (None, None) if self.waited_ms.is_some() => {
                text.push_str(" (it is not known whether a record was written)");
            }
            _ => {}
        }
        text.push('\n');
        if let Some(doubt) = &self.doubt {
            text.push_str(&format!("Doubt: {doubt}\n"));
        }
        if let Some(instead) = &self.instead {
            text.push_str(&format!(
                "It is stored, and this index does not show such records. Recovery: {instead}\n"
            ));
        }
        text
    }
}
