//! Common parts of the doubles: outgoing answers, git over HTTP, and the length of request chains.

pub mod cgi;
mod chain;
mod reply;

pub use chain::longest_chain;
pub use reply::{Parts, Reply};
