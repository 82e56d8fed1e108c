//! Handle resolution: a name server, and the handles' own hosts.

mod dns;
mod hosts;

pub use dns::{DnsDouble, DnsMood};
pub use hosts::{HandleHosts, Page};
