//! Records the requests that a host receives, without tokens.

use std::time::Instant;

use forge_double_wire::longest_chain;

use super::{Host, Incoming};

/// A request that the host has answered.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// Number of the request, counted from 1.
    pub index: u64,
    /// HTTP method of the request, such as `POST`.
    pub verb: String,
    /// Path of the request, without the query.
    pub path: String,
    /// Query string of the request, as sent.
    pub query: String,
    /// `User-Agent` header of the request.
    pub agent: String,
    /// Body of the request, as text.
    pub body: String,
    /// HTTP status of the answer; 0 if the connection was reset.
    pub status: u16,
    /// Length of the answer's body, in bytes.
    pub response_bytes: usize,
    /// True if a fault acted on the request.
    pub faulted: bool,
    /// True if the request was executed.
    pub executed: bool,
    /// Times at which the request arrived and its answer was ready.
    pub work: Option<(Instant, Instant)>,
}

impl Recorded {
    pub(super) fn of(index: u64, incoming: &Incoming) -> Self {
        // Only requests about sessions contain secrets in their bodies, so only these bodies are
        // hidden.
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

    /// Returns the length of the longest chain of requests in which each request arrives after the
    /// answer to the one before. If every request takes the time `t`, the chain takes this number
    /// times `t`.
    #[must_use]
    pub fn longest_chain(hosts: &[&Host]) -> usize {
        let all = hosts.iter().flat_map(|host| host.requests());
        longest_chain(all.filter_map(|it| it.work).collect())
    }

    /// Returns the XRPC method that the request called.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.path.strip_prefix("/xrpc/")
    }
}
