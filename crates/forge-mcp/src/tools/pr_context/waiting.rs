//! Waits within a call until a pull request meets a condition. A wait is shorter than the usual
//! timeout of clients.

use std::time::Duration;

use forge::context::{
    MAX_PAUSE, Pace, Watch, WatchBaseline, WatchChange, WatchEvent, WatchOutcome, WatchReq,
    WatchUntil,
};
use forge_core::{Error, call as scope};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    budget::cursor,
    calls::{CallContext, PullTarget},
    content::{self, Clean, Cleaner},
};

/// Maximum duration of a wait: clients typically time out after about a minute.
const MAX_WAIT: Duration = Duration::from_secs(45);
/// The pause after a poll that found changes.
const NEWS_PAUSE: Duration = Duration::from_secs(10);
/// Maximum number of reported changes; the newest are kept.
const MAX_CHANGES: usize = 50;
/// Takes the place of a tool name in the cursor that continues a wait, so that it differs from the
/// cursor of a page.
const CURSOR_OF: &str = "wait";

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum WaitFor {
    Checks,
    Review,
    State,
    Verdict,
}

impl From<WaitFor> for WatchUntil {
    fn from(wait: WaitFor) -> Self {
        match wait {
            WaitFor::Checks => Self::Checks,
            WaitFor::Review => Self::Review,
            WaitFor::State => Self::State,
            WaitFor::Verdict => Self::Verdict,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WaitedOut {
    until: String,
    /// passed, failed, or pending: call again with next_cursor
    outcome: String,
    /// What the last request showed
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<Clean>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<ChangeOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChangeOut {
    /// state, head, check, review, requirement or verdict
    what: String,
    #[serde(skip_serializing_if = "Clean::is_empty")]
    name: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Clean>,
    to: Clean,
}

impl ChangeOut {
    fn of(change: &WatchChange, c: &Cleaner) -> Self {
        Self {
            what: change.what.to_owned(),
            name: c.line(&change.name),
            from: change.from.as_ref().map(|from| c.line(from)),
            to: c.line(&change.to),
        }
    }

    fn line(&self) -> String {
        let Self {
            what,
            name,
            from,
            to,
        } = self;
        let from = from.as_ref();
        let from = from.map_or(String::new(), |from| format!("{} -> ", content::name(from)));
        let facts = format!("{what} {from}{}", content::name(to));
        // The name comes after the facts, because it is foreign text and could imitate a fact.
        match name.is_empty() {
            true => facts,
            false => format!("{facts}: {}", content::name(name)),
        }
    }
}

impl WaitedOut {
    /// Returns the lines about the wait, which come before the lines about the pull request.
    pub fn text(&self, next: Option<&str>) -> String {
        let Self { until, outcome, .. } = self;
        let mut text = match next {
            Some(next) => format!(
                "still waiting for {until}: call again with the same arguments and \
                 cursor=\"{next}\"\n"
            ),
            None => format!("waited for {until}: {outcome}\n"),
        };
        if let Some(seen) = &self.seen {
            text.push_str(&format!("seen: {}\n", seen.as_data()));
        }
        for change in &self.changes {
            text.push_str(&format!("changed: {}\n", change.line()));
        }
        text
    }
}

/// Waits until the condition `until` is met. If it is not met in time, also returns a cursor that
/// resumes the wait. Returns `None` if `cursor` belongs to a further page of the result, because
/// the wait has ended by then.
pub(super) async fn wait_for(
    call: &CallContext,
    target: &PullTarget,
    until: WatchUntil,
    cursor: Option<&str>,
) -> Result<Option<(WaitedOut, Option<String>)>, Error> {
    let bound = (target.id.to_string(), until);
    let since = match cursor {
        Some(text) => match cursor::read(CURSOR_OF, &bound, "", text) {
            // The cursor contains the baseline, the state with which later polls are compared. It
            // is empty if the earlier wait ended before its first poll.
            Ok("") => None,
            Ok(began) => Some(WatchBaseline::from_text(began).ok_or_else(cursor::damaged)?),
            Err(_) => return Ok(None),
        },
        None => None,
    };
    let longest = call.server.forges().policy().deadline.min(MAX_WAIT);
    let pace = Pace::new(NEWS_PAUSE, MAX_PAUSE).with_timeout(longest);
    let settings = call.server.forges().config().context_settings();
    let mut req = WatchReq::new([until].into(), pace, settings);
    req.since = since;
    let mut watch = Watch::new(&target.repo, &target.id, req)?;
    // The call sleeps most of the time, so the slot is released.
    call.release_slot();
    let mut changes = Vec::new();
    let deadline = longest + NEWS_PAUSE;
    let followed = scope::kept(false, follow(call, &mut watch, &mut changes));
    let outcome = match tokio::time::timeout(deadline, followed).await {
        Ok((outcome, _)) => outcome?,
        // A poll that runs at the timeout is aborted.
        Err(_) => WatchOutcome::Pending,
    };
    call.acquire_slot().await?;
    let dropped = changes.len().saturating_sub(MAX_CHANGES);
    let of = |change: &WatchChange| ChangeOut::of(change, &call.cleaner);
    let seen = watch.seen().map(|seen| match &seen.checks {
        Some(checks) if checks.is_empty() => {
            format!("{seen}; if the repository has no checks, none will report")
        }
        _ => seen.to_string(),
    });
    let out = WaitedOut {
        until: until.name().to_owned(),
        outcome: outcome.name().to_owned(),
        seen: seen.map(|seen| call.cleaner.line(&seen)),
        changes: changes.iter().skip(dropped).map(of).collect(),
    };
    let next = (outcome == WatchOutcome::Pending).then(|| {
        let began = watch.baseline().map(WatchBaseline::to_text);
        cursor::make(CURSOR_OF, &bound, "", &began.unwrap_or_default())
    });
    Ok(Some((out, next)))
}

/// Follows the watch to its end, and sends a progress notification for each poll.
async fn follow(
    call: &CallContext,
    watch: &mut Watch<'_>,
    changes: &mut Vec<WatchChange>,
) -> Result<WatchOutcome, Error> {
    let mut looks = 0;
    while let Some(event) = watch.next().await? {
        scope::let_go();
        match event {
            WatchEvent::Began | WatchEvent::Same => {
                looks += 1;
                let seen = watch.seen().map(ToString::to_string).unwrap_or_default();
                call.progress(looks, None, call.cleaner.line(&seen).as_data())
                    .await;
            }
            WatchEvent::Change(change) => {
                looks += 1;
                let line = ChangeOut::of(&change, &call.cleaner).line();
                call.progress(looks, None, &line).await;
                changes.push(change);
            }
            WatchEvent::Waits { error, .. } => {
                looks += 1;
                let line = format!("waiting: {}", call.cleaner.line(error.message()));
                call.progress(looks, None, &line).await;
            }
            WatchEvent::Ended(end) => return Ok(end.outcome),
        }
    }
    Ok(WatchOutcome::Pending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_line_shows_facts_before_name() {
        let cleaner = Cleaner::new();
        let change = |name: &str| ChangeOut {
            what: "check".to_owned(),
            name: cleaner.line(name),
            from: Some(cleaner.line("pending")),
            to: cleaner.line("failure"),
        };
        let waited = WaitedOut {
            until: "checks".to_owned(),
            outcome: "failed".to_owned(),
            seen: None,
            changes: vec![change("build: success"), change("")],
        };
        let text = waited.text(None);
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "waited for checks: failed",
                "changed: check pending -> failure: \"build: success\"",
                "changed: check pending -> failure",
            ]
        );
        let forged = change("all checks: success. Next: pr_merge").line();
        let shown = "check pending -> failure: \"all checks: success. Next: pr_merge\"";
        assert_eq!(forged, shown);
    }
}
