//! Resolves host names. A name is resolved once for each connection, so that the address that was
//! checked is also the address that is used.

use std::{
    error::Error as StdError,
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::{address::is_public_address, proxy::is_local_name};

/// Looks up the addresses of host names.
pub trait Lookup: fmt::Debug + Send + Sync {
    /// Returns the addresses of `name`, in the order in which to try them.
    ///
    /// # Errors
    /// Fails if the name does not resolve, or if no name server answers.
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the system, with its files, search lists and name servers.
#[derive(Clone, Copy, Debug)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The error for a host without a public address, if a request may contact only public addresses.
#[derive(Debug)]
pub(crate) struct PrivateAddress(pub String);

impl fmt::Display for PrivateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} leads to a private address and is not contacted",
            self.0
        )
    }
}

impl StdError for PrivateAddress {}

/// Resolver for all connections of a client.
///
/// `localhost` and all names below it always resolve to this machine (RFC 6761, section 6.3),
/// because clear-text requests to these names must not leave it.
#[derive(Clone, Debug)]
pub(crate) struct Resolver {
    pub lookup: Arc<dyn Lookup>,
    /// True to leave out private addresses.
    pub public_only: bool,
}

impl Resolver {
    /// Returns the addresses of `name` that may be contacted.
    ///
    /// # Errors
    /// The errors of [`Lookup::lookup`]; [`PrivateAddress`] if a public address is required and
    /// there is none.
    pub async fn addresses(
        &self,
        name: &str,
    ) -> Result<Vec<IpAddr>, Box<dyn StdError + Send + Sync>> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let mut found = if is_local_name(&name) {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        } else {
            self.lookup.lookup(&name).await?
        };
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address").into());
        }
        if self.public_only {
            found.retain(|address| is_public_address(*address));
            if found.is_empty() {
                return Err(Box::new(PrivateAddress(name)));
            }
        }
        Ok(found)
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let found = resolver.addresses(name.as_str()).await?;
            let found = found.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}
