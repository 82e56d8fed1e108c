//! Records of requests that a host has received. Tokens are not among it.

use std::time::Instant;

use forge_double_wire::longest_chain;

use super::{Host, Incoming};

/// A request that was answered.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// Number of the request, from 1.
    pub index: u64,
    /// Verb, like `POST`.
    pub verb: String,
    /// Path without the query.
    pub path: String,
    /// Query, as it was sent.
    pub query: String,
    /// `User-Agent`.
    pub agent: String,
    /// Body, as text.
    pub body: String,
    /// HTTP status of the answer; 0 when the connection was reset.
    pub status: u16,
    /// Bytes of the answer's body.
    pub response_bytes: usize,
    /// True if a fault acted on the request.
    pub faulted: bool,
    /// True if the request was carried out.
    pub executed: bool,
    /// When it arrived, and when its answer was ready.
    pub work: Option<(Instant, Instant)>,
}

impl Recorded {
    pub(super) fn of(index: u64, incoming: &Incoming) -> Self {
        // Only session requests have secrets in their bodies.
        let secret = incoming.path.contains("com.atproto.server.");
        Self {
            index,
            verb: incoming.method.clone(),
            path: incoming.path.clone(),
            query: incoming.query.clone(),
            agent: incoming.header("user-agent").to_owned(),
            body: if secret {
                String::new()
            } else {
                String::from_utf8_lossy(&incoming.body).into_owned()
            },
            ..Self::default()
        }
    }

    /// Length of the longest chain of requests, each of which arrived after the answer to the one
    /// before. If every request takes the same time, the total is this many times that.
    #[must_use]
    pub fn longest_chain(hosts: &[&Host]) -> usize {
        let all = hosts.iter().flat_map(|host| host.requests());
        longest_chain(all.filter_map(|it| it.work).collect())
    }

    /// The XRPC method that was called.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.path.strip_prefix("/xrpc/")
    }
}
