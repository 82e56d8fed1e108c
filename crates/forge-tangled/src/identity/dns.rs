//! Looks up DNS TXT records, because the standard library cannot.

use std::{net::SocketAddr, time::Duration};

use forge_core::{Error, ErrorKind};
use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ProtocolConfig, ResolverConfig, ResolverOpts},
    net::runtime::TokioRuntimeProvider,
    proto::rr::{RData, RecordType},
    system_conf::read_system_conf,
};

use crate::blocking;

/// Maximum duration of one attempt.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Number of attempts after the first one.
const RETRIES: usize = 1;

/// Returns the texts of the TXT records of `name`.
///
/// The lookup uses `server`, or else the system's name servers. The result is `None` if no name
/// server gave a complete answer, and empty if the name has no TXT records.
pub(super) async fn txt(name: &str, server: Option<SocketAddr>) -> Option<Vec<String>> {
    let (config, mut options) = match server {
        Some(server) => (single_server_config(server), ResolverOpts::default()),
        None => {
            let read = || {
                read_system_conf().map_err(|e| {
                    let message = "the system's name servers are not known";
                    Error::new(ErrorKind::Network, message).with_source(e)
                })
            };
            blocking::run(read).await.ok()?
        }
    };
    options.timeout = TIMEOUT;
    options.attempts = RETRIES;
    let provider = TokioRuntimeProvider::default();
    let builder = TokioResolver::builder_with_config(config, provider).with_options(options);
    // The trailing dot makes the name absolute, so the system's search domains are not tried.
    let lookup = builder.build().ok()?;
    let found = match lookup.lookup(format!("{name}."), RecordType::TXT).await {
        Ok(found) => found,
        Err(e) => return e.is_no_records_found().then(Vec::new),
    };
    let texts = found
        .answers()
        .iter()
        .filter_map(|record| match &record.data {
            RData::TXT(txt) => Some(String::from_utf8_lossy(&txt.txt_data.concat()).into_owned()),
            _ => None,
        });
    Some(texts.collect())
}

fn single_server_config(server: SocketAddr) -> ResolverConfig {
    let connections = [ProtocolConfig::Udp, ProtocolConfig::Tcp].map(|protocol| {
        let mut connection = ConnectionConfig::new(protocol);
        connection.port = server.port();
        connection
    });
    let server = NameServerConfig::new(server.ip(), true, connections.to_vec());
    ResolverConfig::from_name_servers(vec![server])
}
