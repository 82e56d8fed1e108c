//! Records the requests that the double receives, without tokens.

use std::time::Instant;

/// A request that the double has answered.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// Number of the request, counted from 1.
    pub index: u64,
    /// HTTP method of the request.
    pub method: String,
    /// Path of the request, without the query.
    pub path: String,
    /// Host to which the request was addressed.
    pub host: String,
    /// `User-Agent` header of the request.
    pub agent: String,
    /// Name of the GraphQL operation; `None` for other requests.
    pub operation: Option<String>,
    /// Names of the GraphQL operation's top-level fields.
    pub fields: Vec<String>,
    /// True for a GraphQL mutation.
    pub mutation: bool,
    /// The GraphQL document; `None` for other requests.
    pub document: Option<String>,
    /// The variables of the GraphQL document, as JSON.
    pub variables: Option<String>,
    /// True for a request in git's smart HTTP protocol.
    pub git: bool,
    /// Length of the request's body, in bytes.
    pub request_bytes: usize,
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

/// Numbers of requests since the counters were last reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of GraphQL and REST requests.
    pub api: usize,
    /// Number of GraphQL queries.
    pub queries: usize,
    /// Number of GraphQL mutations.
    pub mutations: usize,
    /// Number of REST requests.
    pub rest: usize,
    /// Number of git requests.
    pub git: usize,
}

impl Counts {
    pub(crate) fn of(requests: &[Recorded]) -> Self {
        let mut counts = Self::default();
        for request in requests {
            if request.git {
                counts.git += 1;
                continue;
            }
            counts.api += 1;
            if !request.path.ends_with("/graphql") {
                counts.rest += 1;
            } else if request.mutation {
                counts.mutations += 1;
            } else {
                counts.queries += 1;
            }
        }
        counts
    }
}
