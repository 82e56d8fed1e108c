//! Code that all doubles share: HTTP answers, git over HTTP, and the length of request chains.

pub mod cgi;
mod chain;
mod reply;

pub use chain::longest_chain;
pub use reply::{Parts, Reply};
