//! Progress events while a bundle is gathered.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use forge_core::{Observer, Op, PrId, Quota, Result, SentRequest};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::{ContextReq, PullContext};

/// A progress event. Events contain no credentials, because they show only the endpoint of a
/// request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextEvent {
    /// The gathering begins.
    Start {
        /// The pull request: its number, or the at-uri of its record. If the pull request was not
        /// found, the text that the caller gave.
        pr_identifier: String,
        /// The repository of the pull request. If the pull request was not found, the text that the
        /// caller gave, or nothing.
        repo: String,
        /// The requested sections.
        include: Vec<&'static str>,
    },
    /// A request was answered or failed.
    Fetch {
        /// The kind of the forge.
        forge: String,
        /// Method, host and path.
        endpoint: String,
        /// Duration in milliseconds.
        duration_ms: u64,
    },
    /// A ticket was requested.
    JiraFetch {
        /// The ticket's key.
        issue_key: String,
        /// Duration in milliseconds.
        duration_ms: u64,
    },
    /// The bundle is complete.
    Complete {
        /// The pull request, as in [`Self::Start`].
        pr_number: String,
        /// The requested sections, except those that could not be read.
        sections_fetched: Vec<&'static str>,
    },
    /// The bundle could not be gathered.
    Error {
        /// The stable code of the error.
        error_type: &'static str,
        /// The failure and its reason.
        message: String,
    },
}

impl ContextEvent {
    /// Returns the stable name, such as `tool:pr_context:github_fetch`.
    #[must_use]
    pub fn name(&self) -> String {
        let last = match self {
            Self::Start { .. } => "start",
            Self::Fetch { forge, .. } => return format!("tool:pr_context:{forge}_fetch"),
            Self::JiraFetch { .. } => "jira_fetch",
            Self::Complete { .. } => "complete",
            Self::Error { .. } => "error",
        };
        format!("tool:pr_context:{last}")
    }
}

/// Serializes as one object: the name of the event as `event`, and the fields of the variant.
impl Serialize for ContextEvent {
    fn serialize<S: Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(None)?;
        map.serialize_entry("event", &self.name())?;
        match self {
            Self::Start {
                pr_identifier,
                repo,
                include,
            } => {
                map.serialize_entry("pr_identifier", pr_identifier)?;
                map.serialize_entry("repo", repo)?;
                map.serialize_entry("include", include)?;
            }
            Self::Fetch {
                endpoint,
                duration_ms,
                ..
            } => {
                map.serialize_entry("endpoint", endpoint)?;
                map.serialize_entry("duration_ms", duration_ms)?;
            }
            Self::JiraFetch {
                issue_key,
                duration_ms,
            } => {
                map.serialize_entry("issue_key", issue_key)?;
                map.serialize_entry("duration_ms", duration_ms)?;
            }
            Self::Complete {
                pr_number,
                sections_fetched,
            } => {
                map.serialize_entry("pr_number", pr_number)?;
                map.serialize_entry("sections_fetched", sections_fetched)?;
            }
            Self::Error {
                error_type,
                message,
            } => {
                map.serialize_entry("error_type", error_type)?;
                map.serialize_entry("message", message)?;
            }
        }
        map.end()
    }
}

pub(crate) fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// Receiver of progress events; empty by default.
#[derive(Clone, Default)]
pub struct ContextObserver(Option<Arc<Listener>>);

type Listener = dyn Fn(&ContextEvent) + Send + Sync;

impl ContextObserver {
    /// Reports events to `listener`, which must not block.
    pub fn new(listener: impl Fn(&ContextEvent) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub(crate) fn emit(&self, event: &ContextEvent) {
        if let Some(listener) = &self.0 {
            listener(event);
        }
    }
}

impl fmt::Debug for ContextObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_told = self.0.is_some();
        f.debug_tuple("ContextObserver").field(&is_told).finish()
    }
}

/// Observes the requests while one bundle is gathered. Reports each request, and stores the lowest
/// number of requests that the rate limit has left.
pub(crate) struct GatherObserver {
    forge: String,
    events: ContextObserver,
    buffer: u64,
    /// The observer that the client had before. Each event is passed on to it.
    inner: Option<Arc<dyn Observer>>,
    lowest: Mutex<Option<Quota>>,
}

impl GatherObserver {
    pub fn new(pr: &PrId, req: &ContextReq, inner: Option<Arc<dyn Observer>>) -> Self {
        Self {
            forge: pr.repo.kind.to_string(),
            events: req.observer.clone(),
            buffer: req.settings.rate_limit_buffer,
            inner,
            lowest: Mutex::default(),
        }
    }

    /// Returns the rate limit if fewer requests remain than the settings reserve.
    pub fn reserve(&self) -> Option<Quota> {
        let lowest = *self.lowest.lock().unwrap_or_else(PoisonError::into_inner);
        lowest.filter(|quota| quota.remaining < self.buffer)
    }

    pub fn started(&self, pr: &PrId, req: &ContextReq) {
        self.events.emit(&ContextEvent::Start {
            pr_identifier: pr.key.to_string(),
            repo: pr.repo.to_string(),
            include: req.include.iter().map(|s| s.name()).collect(),
        });
    }

    pub fn ended(&self, pr: &PrId, req: &ContextReq, found: &Result<PullContext>) {
        self.events.emit(&match found {
            Ok(found) => {
                let failed: Vec<&str> = found.errors.iter().map(|e| e.section).collect();
                let names = req.include.iter().map(|s| s.name());
                ContextEvent::Complete {
                    pr_number: pr.key.to_string(),
                    sections_fetched: names.filter(|name| !failed.contains(name)).collect(),
                }
            }
            Err(e) => ContextEvent::Error {
                error_type: e.code(),
                message: e.message().to_owned(),
            },
        });
    }
}

impl Observer for GatherObserver {
    fn started(&self, op: Op, target: &str) {
        if let Some(inner) = &self.inner {
            inner.started(op, target);
        }
    }

    fn finished(&self, op: Op, target: &str, took: Duration, error: Option<&'static str>) {
        if let Some(inner) = &self.inner {
            inner.finished(op, target, took, error);
        }
    }

    fn rate_limited(&self, host: &str, wait: Duration) {
        if let Some(inner) = &self.inner {
            inner.rate_limited(host, wait);
        }
    }

    fn requested(&self, request: &SentRequest<'_>) {
        if let Some(inner) = &self.inner {
            inner.requested(request);
        }
        // A rate limit with a maximum of at most `buffer` requests is ignored, because it would
        // always count as exhausted.
        let quota = request.quota.filter(|quota| quota.limit > self.buffer);
        if let Some(quota) = quota {
            let mut lowest = self.lowest.lock().unwrap_or_else(PoisonError::into_inner);
            if lowest.is_none_or(|known| quota.remaining < known.remaining) {
                *lowest = Some(quota);
            }
        }
        let SentRequest {
            method, host, path, ..
        } = request;
        self.events.emit(&ContextEvent::Fetch {
            forge: self.forge.clone(),
            endpoint: format!("{method} {host}{path}"),
            duration_ms: milliseconds(request.took),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_002_15_events_have_the_required_fields() {
        let json = |event: &ContextEvent| serde_json::to_value(event).unwrap();
        let fetch = ContextEvent::Fetch {
            forge: "github".to_owned(),
            endpoint: "POST api.github.com/graphql".to_owned(),
            duration_ms: 7,
        };
        assert_eq!(
            json(&fetch),
            serde_json::json!({
                "event": "tool:pr_context:github_fetch",
                "endpoint": "POST api.github.com/graphql",
                "duration_ms": 7,
            })
        );
        let ticket = ContextEvent::JiraFetch {
            issue_key: "PROJ-1".to_owned(),
            duration_ms: 3,
        };
        assert_eq!(json(&ticket)["event"], "tool:pr_context:jira_fetch");
        assert_eq!(json(&ticket)["issue_key"], "PROJ-1");
    }
}
