//! The ingestion of a write as JSON: whether the forge's index (on tangled: the appview) shows the
//! written record.

use std::time::Duration;

use forge_core::Ingestion;

use super::Json;

/// Returns the state of an ingestion, such as `pending`, with its details.
pub(crate) fn ingestion(ingestion: &Ingestion) -> Json {
    let millis = |d: &Duration| Json::Number(u64::try_from(d.as_millis()).unwrap_or(u64::MAX));
    let mut members = vec![("state", Json::text(ingestion.word()))];
    match ingestion {
        Ingestion::Immediate => {}
        Ingestion::Confirmed { by, after } => {
            members.push(("by", Json::text(by)));
            members.push(("afterMs", millis(after)));
        }
        Ingestion::Pending { waited, doubt, .. } => {
            members.push(("waitedMs", millis(waited)));
            members.extend(doubt.as_ref().map(|doubt| ("doubt", Json::text(doubt))));
        }
        Ingestion::PdsOnly { instead } => members.push(("instead", Json::text(instead))),
        Ingestion::Ineffective { reason, .. } => members.push(("reason", Json::text(reason))),
    }
    Json::Object(members)
}
