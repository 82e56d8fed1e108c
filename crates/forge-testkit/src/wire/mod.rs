//! What the doubles share: answers on their way out, git over HTTP, and how long a chain of requests
//! is.

pub(crate) mod cgi;
mod chain;
mod reply;

pub(crate) use chain::longest_chain;
pub(crate) use reply::{Parts, Reply};
