//! Servers that resolve handles: a name server, and the hosts of the handles.

mod dns;
mod hosts;

pub use dns::{DnsDouble, DnsMood};
pub use hosts::{HandleHosts, Page};
