//! What the doubles share: answers on their way out, and git over HTTP.

pub(crate) mod cgi;
mod reply;

pub(crate) use reply::{Parts, Reply};
