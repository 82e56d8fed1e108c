use std::{sync::Arc, time::Duration};

use forge_core::Result;

use crate::{Lookup, Proxies, RetryPolicy, Roots, SystemLookup, WritePace};

/// Environment variables that [`HttpSettings::from_env`] reads. Proxy variables are also read in
/// lower case.
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

/// Settings of the transport.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Value of the `User-Agent` header.
    pub user_agent: String,
    /// Trusted certificate authorities.
    pub roots: Roots,
    /// Proxies.
    pub proxies: Proxies,
    /// Resolver of host names.
    pub lookup: Arc<dyn Lookup>,
    /// Retry policy.
    pub retry: RetryPolicy,
    /// Maximum time for making a connection.
    pub connect_timeout: Duration,
    /// Maximum time for which a server may send nothing, before or during a response.
    pub idle_timeout: Duration,
    /// Maximum size of a body in memory after decompression, in bytes.
    pub body_max: usize,
    /// Maximum number of concurrent requests to a host.
    pub in_flight: usize,
    /// Rate of writes to one host; `None` for no limit.
    pub write_pace: Option<WritePace>,
}

impl Default for HttpSettings {
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

impl HttpSettings {
    /// Returns the default settings, changed by the environment variables in [`ENV`], which `get`
    /// reads. With `system_roots`, the certificate store of the system is trusted instead of the
    /// bundled list.
    ///
    /// # Errors
    /// The errors of [`Proxies::from_env`].
    pub fn from_env(get: &dyn Fn(&str) -> Option<String>, system_roots: bool) -> Result<Self> {
        Ok(Self {
            roots: Roots::from_env(get, system_roots),
            proxies: Proxies::from_env(get)?,
            ..Self::default()
        })
    }
}
