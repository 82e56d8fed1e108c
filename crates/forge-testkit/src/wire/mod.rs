//! Common parts of the doubles: outgoing answers, git over HTTP, and the length of a chain of
//! requests.

pub(crate) mod cgi;
mod chain;
mod reply;

pub(crate) use chain::longest_chain;
pub(crate) use reply::{Parts, Reply};
