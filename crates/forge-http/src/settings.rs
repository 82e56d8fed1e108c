use std::{sync::Arc, time::Duration};

use forge_core::Result;

use crate::{Lookup, Proxies, RetryPolicy, Roots, SystemLookup, WritePace};

/// The environment variables that [`Settings::from_env`] asks for; each also in lower case where
/// it names a proxy.
pub const ENV: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "FORGE_CA_BUNDLE",
    "REQUEST_METHOD",
];

/// How the transport behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `User-Agent`.
    pub user_agent: String,
    /// What is trusted.
    pub roots: Roots,
    /// Which proxies are used.
    pub proxies: Proxies,
    /// Who knows the addresses of hosts.
    pub lookup: Arc<dyn Lookup>,
    /// What is repeated.
    pub retry: RetryPolicy,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a server may be silent, before the answer or within it.
    pub idle_timeout: Duration,
    /// The longest body that is held in memory, in bytes, after decompression.
    pub body_max: usize,
    /// How many requests one host gets at once.
    pub in_flight: usize,
    /// How fast writes to one host follow each other; `None` for as fast as it answers.
    pub write_pace: Option<WritePace>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            user_agent: concat!("forge/", env!("CARGO_PKG_VERSION")).to_owned(),
            roots: Roots::default(),
            proxies: Proxies::default(),
            lookup: Arc::new(SystemLookup),
            retry: RetryPolicy::default(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            body_max: 32 * 1024 * 1024,
            in_flight: 4,
            write_pace: None,
        }
    }
}

impl Settings {
    /// The defaults with what the environment says, read with `get` by the names of [`ENV`].
    /// `system_roots` trusts the system's certificate store instead of the bundled list.
    ///
    /// # Errors
    /// As [`Proxies::from_env`].
    pub fn from_env(get: &dyn Fn(&str) -> Option<String>, system_roots: bool) -> Result<Self> {
        Ok(Self {
            roots: Roots::from_env(get, system_roots),
            proxies: Proxies::from_env(get)?,
            ..Self::default()
        })
    }
}
