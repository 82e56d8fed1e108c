use std::collections::BTreeMap;

use super::{ForgeKind, ParseLocatorError, RecordKind, atproto, authority};

pub(super) const GITHUB: &str = "github.com";
/// The host of tangled's public appview (its web server).
pub(super) const TANGLED: &str = "tangled.org";

/// Maps hosts to kinds of forges, and defines the default host for `owner/repo`.
///
/// These hosts are built in:
///
/// - `github.com`, also as `www.github.com` and `ssh.github.com`,
/// - `<tenant>.ghe.com` (GitHub Enterprise Cloud with data residency),
/// - `tangled.org`, also under its former name `tangled.sh`.
///
/// The port is part of a host, so `github.com:8443` is another host than `github.com`. The
/// credentials for one of them must not reach the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    kinds: BTreeMap<String, ForgeKind>,
    /// Aliases with their hosts. For example, a knot (a git server of tangled) is an alias of the
    /// tangled host that displays its repositories.
    aliases: BTreeMap<String, String>,
    /// Additional atproto collections, for forges that renamed the usual collections.
    collections: BTreeMap<String, RecordKind>,
    default_host: String,
}

impl Default for Hosts {
    fn default() -> Self {
        Self::builtin()
    }
}

impl Hosts {
    /// Returns the built-in hosts. The default host is `github.com`.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            kinds: BTreeMap::from([
                (GITHUB.to_owned(), ForgeKind::GITHUB),
                (TANGLED.to_owned(), ForgeKind::TANGLED),
            ]),
            aliases: BTreeMap::new(),
            collections: BTreeMap::new(),
            default_host: GITHUB.to_owned(),
        }
    }

    /// Adds a host, `name` or `name:port`. Replaces an earlier entry for the same host.
    ///
    /// Built-in hosts keep their kind, so that a canonical locator means the same repository in
    /// every configuration. [`ForgeKind::LOCAL`] has no hosts and is ignored. The host is not
    /// checked: pass a configured host through [`Self::normalise`] first.
    #[must_use]
    pub fn with(mut self, host: &str, kind: ForgeKind) -> Self {
        if builtin(host).is_none() && kind != ForgeKind::LOCAL {
            self.kinds.insert(host.to_ascii_lowercase(), kind);
        }
        self
    }

    /// Makes `alias` another name of `host`. For example, a knot (a git server) is an alias of the
    /// tangled host whose repositories it stores. Ignored if `alias` is a built-in host or `host`
    /// is unknown.
    #[must_use]
    pub fn with_alias(mut self, alias: &str, host: &str) -> Self {
        if builtin(alias).is_none()
            && let Some((host, _)) = self.lookup(host)
        {
            self.aliases.insert(alias.to_ascii_lowercase(), host);
        }
        self
    }

    /// Accepts at-uris of an additional collection, for a forge that renamed its collections. The
    /// usual collections keep their kinds, so that a canonical locator means the same object in
    /// every configuration.
    #[must_use]
    pub fn with_collection(mut self, collection: &str, records: RecordKind) -> Self {
        if atproto::known_record_kind(collection).is_none() {
            self.collections.insert(collection.to_owned(), records);
        }
        self
    }

    /// Returns the kind of the records in an atproto collection, or `None` if no locator can name
    /// such records.
    #[must_use]
    pub fn records_of(&self, collection: &str) -> Option<RecordKind> {
        let known = || self.collections.get(collection).copied();
        atproto::known_record_kind(collection).or_else(known)
    }

    /// Sets the host for `owner/repo`. An unknown host is added as a GitHub host, like gh's
    /// `GH_HOST`.
    #[must_use]
    pub fn with_default_host(mut self, host: &str) -> Self {
        if let Some((host, _)) = self.lookup(host) {
            self.default_host = host;
            self
        } else {
            self.default_host = host.to_ascii_lowercase();
            self.with(host, ForgeKind::GITHUB)
        }
    }

    /// Returns the kind of the forge at `host` (`name` or `name:port`, in any case), if known.
    #[must_use]
    pub fn kind_of(&self, host: &str) -> Option<ForgeKind> {
        self.lookup(host).map(|(_, kind)| kind)
    }

    /// Returns the host that `owner/repo` refers to.
    #[must_use]
    pub fn default_host(&self) -> &str {
        &self.default_host
    }

    /// Iterates over the known hosts, sorted by name. Leaves out aliases and the hosts
    /// `<tenant>.ghe.com`.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ForgeKind)> {
        self.kinds.iter().map(|(host, kind)| (host.as_str(), kind))
    }

    /// Converts `host` to lower case and checks that a locator can name it.
    ///
    /// # Errors
    ///
    /// [`ParseLocatorError::InvalidHost`] for non-ASCII text or a malformed port.
    pub fn normalise(host: &str) -> Result<String, ParseLocatorError> {
        Ok(authority::host(host)?.to_string())
    }

    /// Returns the canonical name and the kind of a host.
    pub(super) fn lookup(&self, host: &str) -> Option<(String, ForgeKind)> {
        if let Some((host, kind)) = builtin(host) {
            return Some((host, kind));
        }
        let host = host.to_ascii_lowercase();
        if let Some(known) = self.aliases.get(&host).filter(|known| **known != host) {
            let kind = builtin(known).map(|(_, kind)| kind);
            let kind = kind.or_else(|| self.kinds.get(known).cloned())?;
            return Some((known.clone(), kind));
        }
        let kind = self.kinds.get(&host)?.clone();
        Some((host, kind))
    }

    /// Returns true if a host of this kind is known. Only then can the kind be the prefix of a
    /// locator.
    pub(super) fn has_kind(&self, kind: &ForgeKind) -> bool {
        self.kinds.values().any(|k| k == kind)
    }

    /// Returns the host for a tangled repository that is written without a host.
    pub(super) fn tangled_host(&self) -> &str {
        if self.kind_of(&self.default_host) == Some(ForgeKind::TANGLED) {
            &self.default_host
        } else {
            TANGLED
        }
    }
}

/// Returns canonical name and kind of a built-in host or one of its aliases.
pub(super) fn builtin(host: &str) -> Option<(String, ForgeKind)> {
    let host = host.to_ascii_lowercase();
    match host.as_str() {
        GITHUB | "www.github.com" | "ssh.github.com" => {
            Some((GITHUB.to_owned(), ForgeKind::GITHUB))
        }
        TANGLED | "tangled.sh" => Some((TANGLED.to_owned(), ForgeKind::TANGLED)),
        _ => {
            // Only one label may precede the suffix: `api.tenant.ghe.com` does not serve
            // repositories.
            let tenant = host.strip_suffix(".ghe.com")?;
            let ok = !tenant.is_empty()
                && tenant
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-');
            ok.then_some((host, ForgeKind::GITHUB))
        }
    }
}
