//! Faults that the double injects into chosen requests.

use std::time::Duration;

use serde_json::{Value, json};

/// Selects the requests on which a fault acts. A request must match every part that is set.
#[derive(Debug, Clone, Default)]
pub struct Matcher {
    /// HTTP method of the request, such as `POST`.
    pub method: Option<String>,
    /// Start of the request's path.
    pub path: Option<String>,
    /// Name of the GraphQL operation, or of a top-level field in it.
    pub operation: Option<String>,
    /// True for GraphQL mutations, false for queries.
    pub mutation: Option<bool>,
    /// Text that the request's body contains.
    pub body: Option<String>,
}

/// The parts of a request that a [`Matcher`] compares.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) operation: Option<&'a str>,
    pub(crate) fields: &'a [String],
    pub(crate) mutation: bool,
    pub(crate) body: &'a [u8],
}

impl Matcher {
    fn fits(&self, it: &Subject<'_>) -> bool {
        let operation =
            |wanted: &String| it.operation == Some(wanted.as_str()) || it.fields.contains(wanted);
        self.method
            .as_deref()
            .is_none_or(|method| method == it.method)
            && self
                .path
                .as_deref()
                .is_none_or(|path| it.path.starts_with(path))
            && self.operation.as_ref().is_none_or(operation)
            && self.mutation.is_none_or(|mutation| mutation == it.mutation)
            && self
                .body
                .as_deref()
                .is_none_or(|text| String::from_utf8_lossy(it.body).contains(text))
    }
}

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
    /// Sends the correct answer with these headers added or replaced.
    Headers(Vec<(String, String)>),
    /// Sends the correct answer, but stops after this many bytes of the body.
    Truncate(usize),
    /// Sends the correct answer, with a first byte that makes the JSON body invalid.
    Malformed,
    /// Resets the connection without an answer.
    Reset,
}

/// A fault, and the requests on which it acts.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Requests on which the fault acts.
    pub on: Matcher,
    /// Number of matching requests that pass before the fault acts.
    pub skip: u32,
    /// Number of times that the fault acts; `None` means always.
    pub times: Option<u32>,
    /// Delay before the fault acts.
    pub delay: Duration,
    /// True if the request is executed before the fault hides its answer.
    pub committed: bool,
    /// Effect on the request.
    pub action: Action,
}

impl Fault {
    /// Creates a fault for the next request.
    pub fn new(action: Action) -> Self {
        Self {
            on: Matcher::default(),
            skip: 0,
            times: Some(1),
            delay: Duration::ZERO,
            committed: false,
            action,
        }
    }

    /// Creates a fault that only delays.
    pub fn delayed(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::new(Action::Pass)
        }
    }

    /// Creates a fault that answers with a status, and with the page or JSON that GitHub sends for
    /// it.
    pub fn status(status: u16) -> Self {
        let body = match status {
            502 => "<html><head><title>502 Bad Gateway</title></head></html>".to_owned(),
            503 => json!({ "message": "No server is currently available to service your request. Sorry about that. Please try refreshing and contact us if the problem persists." }).to_string(),
            504 => json!({ "message": "We couldn't respond to your request in time. Sorry about that. Please try refreshing and contact us if the problem persists." }).to_string(),
            401 => json!({ "message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401" }).to_string(),
            _ => json!({ "message": "Server Error", "status": status.to_string() }).to_string(),
        };
        let kind = if status == 502 {
            "text/html"
        } else {
            "application/json; charset=utf-8"
        };
        Self::answer(status, &[("content-type", kind)], body)
    }

    /// Creates a fault that sends the given answer.
    pub fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<String>) -> Self {
        Self::new(Action::Answer {
            status,
            headers: owned(headers),
            body: body.into(),
        })
    }

    /// Creates a fault that reports the primary rate limit in GraphQL's form: status 200, and an
    /// error of type `kind`, which is `RATE_LIMITED` or `RATE_LIMIT`.
    pub fn rate_limited(kind: &str) -> Self {
        let body = json!({ "errors": [{
            "type": kind,
            "code": "graphql_rate_limit",
            "message": "API rate limit already exceeded for user ID 1."
        }]});
        let reset = super::server::reset_at().0.to_string();
        Self::answer(
            200,
            &[
                ("content-type", "application/json; charset=utf-8"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", &reset),
            ],
            body.to_string(),
        )
    }

    /// Creates a fault that reports the primary rate limit in REST's form: status 403, and no
    /// requests left until `reset`, in seconds since the epoch.
    pub fn exhausted(reset: i64) -> Self {
        let body = json!({
            "message": "API rate limit exceeded for user ID 1.",
            "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api",
            "status": "403"
        });
        Self::answer(
            403,
            &[
                ("content-type", "application/json; charset=utf-8"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", &reset.to_string()),
            ],
            body.to_string(),
        )
    }

    /// Creates a fault that reports the secondary rate limit: status 403 or 429, and optionally the
    /// seconds to wait.
    pub fn secondary(status: u16, retry_after: Option<u64>) -> Self {
        let body = json!({
            "documentation_url": "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits",
            "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
            "status": status.to_string()
        });
        let mut headers = vec![("content-type", "application/json; charset=utf-8")];
        let seconds = retry_after.map(|it| it.to_string());
        if let Some(seconds) = &seconds {
            headers.push(("retry-after", seconds));
        }
        Self::answer(status, &headers, body.to_string())
    }

    /// Creates a fault that demands single sign-on: the user must first authorise the token at
    /// `url`.
    pub fn sso(url: &str) -> Self {
        let body = json!({
            "message": "Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization.",
            "documentation_url": "https://docs.github.com/articles/authenticating-to-a-github-organization-with-saml-single-sign-on/",
            "status": "403"
        });
        Self::answer(
            403,
            &[
                ("content-type", "application/json; charset=utf-8"),
                ("x-github-sso", &format!("required; url={url}")),
            ],
            body.to_string(),
        )
    }

    /// Restricts the fault to GraphQL requests with this operation name or with a top-level field
    /// of this name.
    #[must_use]
    pub fn on_operation(mut self, name: &str) -> Self {
        self.on.operation = Some(name.to_owned());
        self
    }

    /// Restricts the fault to requests whose path begins with `path`.
    #[must_use]
    pub fn on_path(mut self, path: &str) -> Self {
        self.on.path = Some(path.to_owned());
        self
    }

    /// Restricts the fault to GraphQL mutations.
    #[must_use]
    pub fn on_mutations(mut self) -> Self {
        self.on.mutation = Some(true);
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

    /// Makes the fault act on every matching request.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.times = None;
        self
    }

    /// Reads a fault from the JSON of the control interface.
    ///
    /// Fields: `operation`, `path`, `method`, `mutation`, `body`, `skip`, `times` (0 means always),
    /// `delay_ms`, `committed`, and one of: `status` with `headers` and `answer`; `truncate`;
    /// `malformed`; `reset`.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let flag = |name: &str| value.get(name).and_then(Value::as_bool);
        let headers: Vec<(String, String)> = value
            .get("headers")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect();
        let mut fault = if let Some(status) = number("status") {
            let mut fault = Self::status(u16::try_from(status).ok()?);
            if let Action::Answer {
                headers: all, body, ..
            } = &mut fault.action
            {
                all.extend(headers);
                if let Some(answer) = text("answer") {
                    *body = answer;
                }
            }
            fault
        } else if let Some(keep) = number("truncate") {
            Self::new(Action::Truncate(usize::try_from(keep).ok()?))
        } else if flag("malformed") == Some(true) {
            Self::new(Action::Malformed)
        } else if flag("reset") == Some(true) {
            Self::new(Action::Reset)
        } else if !headers.is_empty() {
            Self::new(Action::Headers(headers))
        } else {
            Self::new(Action::Pass)
        };
        fault.on = Matcher {
            method: text("method"),
            path: text("path"),
            operation: text("operation"),
            mutation: flag("mutation"),
            body: text("body"),
        };
        fault.skip = u32::try_from(number("skip").unwrap_or(0)).ok()?;
        fault.times = match number("times") {
            None => Some(1),
            Some(0) => None,
            Some(times) => Some(u32::try_from(times).ok()?),
        };
        fault.delay = Duration::from_millis(number("delay_ms").unwrap_or(0));
        fault.committed = flag("committed").unwrap_or(false);
        Some(fault)
    }
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// The faults that can still act.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    faults: Vec<Fault>,
}

impl Plan {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    pub(crate) fn clear(&mut self) {
        self.faults.clear();
    }

    /// Returns the number of faults that have not acted as often as planned.
    pub(crate) fn left(&self) -> usize {
        self.faults.iter().filter(|it| it.times.is_some()).count()
    }

    /// Takes the fault for a request: the first that matches and has let enough requests pass.
    pub(crate) fn take(&mut self, subject: &Subject<'_>) -> Option<Fault> {
        let mut hit = None;
        for (index, fault) in self.faults.iter_mut().enumerate() {
            if !fault.on.fits(subject) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            if let Some(times) = &mut fault.times {
                *times = times.saturating_sub(1);
            }
            hit = Some((index, fault.clone()));
            break;
        }
        let (index, fault) = hit?;
        if fault.times == Some(0) {
            self.faults.remove(index);
        }
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query<'a>(operation: &'a str, mutation: bool) -> Subject<'a> {
        Subject {
            method: "POST",
            path: "/graphql",
            operation: Some(operation),
            mutation,
            ..Subject::default()
        }
    }

    #[test]
    fn fault_acts_on_matching_requests_and_counts() {
        let mut plan = Plan::default();
        plan.add(Fault::status(502).on_operation("Create").skip(1).times(2));
        let hits: Vec<bool> = ["Create", "Other", "Create", "Create", "Create"]
            .iter()
            .map(|name| plan.take(&query(name, true)).is_some())
            .collect();
        assert_eq!(hits, [false, false, true, true, false]);
        assert_eq!(plan.left(), 0);
    }

    #[test]
    fn first_matching_fault_acts() {
        let mut plan = Plan::default();
        plan.add(Fault::status(500).on_mutations());
        plan.add(Fault::status(503).always());
        let status = |fault: Option<Fault>| match fault.map(|fault| fault.action) {
            Some(Action::Answer { status, .. }) => status,
            _ => 0,
        };
        assert_eq!(status(plan.take(&query("q", false))), 503);
        assert_eq!(status(plan.take(&query("m", true))), 500);
        assert_eq!(status(plan.take(&query("m", true))), 503);
        assert_eq!(plan.left(), 0);
    }

    #[test]
    fn fault_is_read_from_json() {
        let value = json!({
            "operation": "X", "status": 502, "committed": true, "times": 0, "skip": 2
        });
        let fault = Fault::from_json(&value).unwrap();
        assert_eq!(fault.times, None);
        assert_eq!(fault.skip, 2);
        assert!(fault.committed);
        assert_eq!(fault.on.operation.as_deref(), Some("X"));
        assert!(matches!(fault.action, Action::Answer { status: 502, .. }));
        let value = json!({ "truncate": 10 });
        let fault = Fault::from_json(&value).unwrap();
        assert!(matches!(fault.action, Action::Truncate(10)));
    }
}
