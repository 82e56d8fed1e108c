//! Faults that a host injects into chosen requests.

use std::time::Duration;

use forge_double_wire::Reply;
use serde_json::json;

/// Effect of a fault on a request.
#[derive(Debug, Clone)]
pub enum Action {
    /// Only delays the answer.
    Pass,
    /// Sends this answer instead of the correct one.
    Answer {
        /// HTTP status of the answer.
        status: u16,
        /// Headers of the answer.
        headers: Vec<(String, String)>,
        /// Body of the answer.
        body: String,
    },
    /// Sends the correct answer, but stops after this many bytes of the body.
    Truncate(usize),
    /// Sends the correct answer, with a first byte that makes the JSON body invalid.
    Malformed,
    /// Resets the connection without an answer.
    Reset,
}

/// A fault, and the requests on which it acts. By default it acts once, on the next request.
#[derive(Debug, Clone)]
pub struct Fault {
    path: Option<String>,
    text: Option<String>,
    skip: u32,
    times: Option<u32>,
    committed: bool,
    next: Option<Box<Self>>,
    pub(super) delay: Duration,
    pub(super) action: Action,
}

impl Fault {
    /// Creates a fault for the next request.
    #[must_use]
    pub fn new(action: Action) -> Self {
        Self {
            path: None,
            text: None,
            skip: 0,
            times: Some(1),
            committed: false,
            next: None,
            delay: Duration::ZERO,
            action,
        }
    }

    /// Creates a fault that only delays.
    #[must_use]
    pub fn delayed(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::new(Action::Pass)
        }
    }

    /// Creates a fault that resets the connection without an answer.
    #[must_use]
    pub fn reset() -> Self {
        Self::new(Action::Reset)
    }

    /// Creates a fault that answers with an XRPC error.
    #[must_use]
    pub fn error(status: u16, error: &str, message: &str) -> Self {
        let body = json!({ "error": error, "message": message }).to_string();
        Self::answer(
            status,
            &[("content-type", "application/json; charset=utf-8")],
            body,
        )
    }

    /// Creates a fault that answers with the page of a gateway, which is not JSON.
    #[must_use]
    pub fn gateway(status: u16) -> Self {
        let body = format!("<html><head><title>{status}</title></head></html>");
        Self::answer(status, &[("content-type", "text/html")], body)
    }

    /// Creates a fault that answers 429 as a PDS and the public index do, with the seconds until
    /// the next attempt.
    #[must_use]
    pub fn rate_limited(seconds: u64) -> Self {
        let reset = chrono::Utc::now().timestamp() + i64::try_from(seconds).unwrap_or(0);
        let body = json!({ "error": "RateLimitExceeded", "message": "Rate Limit Exceeded" });
        Self::answer(
            429,
            &[
                ("content-type", "application/json; charset=utf-8"),
                ("retry-after", &seconds.to_string()),
                ("ratelimit-limit", "30"),
                ("ratelimit-remaining", "0"),
                ("ratelimit-reset", &reset.to_string()),
                ("ratelimit-policy", "30;w=300"),
            ],
            body.to_string(),
        )
    }

    /// Creates a fault that answers with the given answer.
    #[must_use]
    pub fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<String>) -> Self {
        Self::new(Action::Answer {
            status,
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: body.into(),
        })
    }

    /// Restricts the fault to one XRPC method.
    #[must_use]
    pub fn on(mut self, nsid: &str) -> Self {
        self.path = Some(format!("/xrpc/{nsid}"));
        self
    }

    /// Restricts the fault to requests whose path begins with `path`.
    #[must_use]
    pub fn on_path(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// Restricts the fault to requests that contain this text in the query or the body.
    #[must_use]
    pub fn about(mut self, text: &str) -> Self {
        self.text = Some(text.to_owned());
        self
    }

    /// Executes the request before the fault hides its answer.
    #[must_use]
    pub fn committed(mut self) -> Self {
        self.committed = true;
        self
    }

    /// Lets `skip` matching requests pass first.
    #[must_use]
    pub fn skip(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    /// Sets how often the fault acts.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Adds a fault that acts once this one has acted as often as planned.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        self.next = Some(Box::new(next));
        self
    }

    /// Makes the fault act on every matching request.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.times = None;
        self
    }

    /// Returns true if the host executes the request although the fault hides the answer.
    pub(super) fn executes_request(&self) -> bool {
        self.committed || !matches!(self.action, Action::Answer { .. } | Action::Reset)
    }

    fn fits(&self, it: &Subject<'_>) -> bool {
        let path = |path: &String| {
            if path.starts_with("/xrpc/") {
                path == it.path
            } else {
                it.path.starts_with(path.as_str())
            }
        };
        let text = |text: &String| {
            it.query.contains(text.as_str()) || String::from_utf8_lossy(it.body).contains(text)
        };
        self.path.as_ref().is_none_or(path) && self.text.as_ref().is_none_or(text)
    }
}

/// The parts of a request that faults compare.
pub(super) struct Subject<'a> {
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) body: &'a [u8],
}

/// The faults that can still act.
#[derive(Debug, Default)]
pub(super) struct Plan(Vec<Fault>);

impl Plan {
    pub(super) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the number of faults that have not acted as often as planned.
    pub(super) fn left(&self) -> usize {
        self.0.iter().filter(|it| it.times.is_some()).count()
    }

    /// Takes the fault for a request: the first that matches and has let enough requests pass.
    pub(super) fn take(&mut self, subject: &Subject<'_>) -> Option<Fault> {
        for (index, fault) in self.0.iter_mut().enumerate() {
            if !fault.fits(subject) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            if let Some(times) = &mut fault.times {
                *times = times.saturating_sub(1);
            }
            let hit = fault.clone();
            if hit.times == Some(0) {
                match fault.next.take() {
                    Some(next) => *fault = *next,
                    None => drop(self.0.remove(index)),
                }
            }
            return Some(hit);
        }
        None
    }
}

/// Applies a fault to an answer. `None` means that the connection is reset. The number is the
/// length to which the body is cut.
pub(super) fn apply_fault(
    mut reply: Reply,
    action: Option<Action>,
) -> Option<(Reply, Option<usize>)> {
    match action {
        None | Some(Action::Pass) => Some((reply, None)),
        Some(Action::Reset) => None,
        Some(Action::Truncate(keep)) => Some((reply, Some(keep))),
        Some(Action::Malformed) => {
            reply.body.splice(0..reply.body.len().min(1), *b"<");
            Some((reply, None))
        }
        Some(Action::Answer {
            status,
            headers,
            body,
        }) => Some((
            Reply {
                status,
                headers,
                body: body.into_bytes(),
            },
            None,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject<'a>(path: &'a str, query: &'a str) -> Subject<'a> {
        Subject {
            path,
            query,
            body: b"",
        }
    }

    #[test]
    fn fault_acts_on_matching_requests_and_counts() {
        let mut plan = Plan::default();
        plan.add(Fault::reset().on("a.b.c").skip(1).times(2));
        let hits: Vec<bool> = ["a.b.c", "a.b.cd", "a.b.c", "a.b.c", "a.b.c"]
            .iter()
            .map(|nsid| plan.take(&subject(&format!("/xrpc/{nsid}"), "")).is_some())
            .collect();
        assert_eq!(hits, [false, false, true, true, false]);
        assert_eq!(plan.left(), 0);
    }

    #[test]
    fn next_fault_acts_after_the_first() {
        let mut plan = Plan::default();
        let behind = Fault::gateway(503).times(2);
        plan.add(Fault::reset().on("a.b.c").then(behind));
        let hits: Vec<bool> = ["x", "a.b.c", "x", "a.b.c", "x"]
            .iter()
            .map(|nsid| plan.take(&subject(&format!("/xrpc/{nsid}"), "")).is_some())
            .collect();
        assert_eq!(hits, [false, true, true, true, false]);
        assert_eq!(plan.left(), 0);
    }

    #[test]
    fn fault_matches_request_content() {
        let mut plan = Plan::default();
        plan.add(Fault::gateway(502).about("rkey=7").always());
        assert!(plan.take(&subject("/x", "rkey=8")).is_none());
        assert!(plan.take(&subject("/x", "rkey=7")).is_some());
        plan.clear();
        assert!(plan.take(&subject("/x", "rkey=7")).is_none());
    }
}
