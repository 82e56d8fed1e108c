use std::collections::BTreeMap;

use super::{ForgeKind, ParseLocatorError, RecordKind, atproto, authority};

/// GitHub's own host.
pub(super) const GITHUB: &str = "github.com";
/// Tangled's own appview.
pub(super) const TANGLED: &str = "tangled.org";

/// Which host runs which forge, and which host `owner/repo` means.
///
/// Built in are `github.com` (also as `www.github.com` and `ssh.github.com`), `<tenant>.ghe.com`
/// (GitHub Enterprise Cloud with data residency) and `tangled.org` (also under its old name
/// `tangled.sh`). A host is matched as a whole, with its port: `github.com:8443` is not
/// `github.com`, and credentials for the one must not reach the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    kinds: BTreeMap<String, ForgeKind>,
    /// Hosts that stand for another one: the knots of a tangled host.
    aliases: BTreeMap<String, String>,
    /// Collections of atproto that were renamed, beside the usual ones.
    collections: BTreeMap<String, RecordKind>,
    default_host: String,
}

impl Default for Hosts {
    fn default() -> Self {
        Self::builtin()
    }
}

impl Hosts {
    /// The hosts that everybody has; the default host is `github.com`.
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

    /// Adds a host, `name` or `name:port`; the last word on a host counts.
    ///
    /// The built-in hosts keep their kind, so that a canonical locator means the same repository
    /// under every configuration. [`ForgeKind::LOCAL`] has no hosts and is ignored. The host is
    /// taken as it is; check a host from a configuration with [`Self::normalise`] first.
    #[must_use]
    pub fn with(mut self, host: &str, kind: ForgeKind) -> Self {
        if builtin(host).is_none() && kind != ForgeKind::LOCAL {
            self.kinds.insert(host.to_ascii_lowercase(), kind);
        }
        self
    }

    /// Makes `alias` another name of `host`, as a knot is one of the tangled host whose repositories
    /// it serves. A built-in host is nobody's alias, and an unknown `host` has none.
    #[must_use]
    pub fn with_alias(mut self, alias: &str, host: &str) -> Self {
        if builtin(alias).is_none()
            && let Some((host, _)) = self.lookup(host)
        {
            self.aliases.insert(alias.to_ascii_lowercase(), host);
        }
        self
    }

    /// Has at-uris of another collection name records: a forge may have renamed its own. The usual
    /// ones keep their meaning, so that a canonical locator means the same under every
    /// configuration.
    #[must_use]
    pub fn with_collection(mut self, collection: &str, records: RecordKind) -> Self {
        if atproto::usual(collection).is_none() {
            self.collections.insert(collection.to_owned(), records);
        }
        self
    }

    /// What the records of a collection of atproto are, where a locator can name them.
    #[must_use]
    pub fn records_of(&self, collection: &str) -> Option<RecordKind> {
        let known = || self.collections.get(collection).copied();
        atproto::usual(collection).or_else(known)
    }

    /// Makes `host` the one that `owner/repo` means. An unknown host becomes a GitHub host, as
    /// it does for gh's `GH_HOST`.
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

    /// The forge at `host` (`name` or `name:port`, in any case), where it is known.
    #[must_use]
    pub fn kind_of(&self, host: &str) -> Option<ForgeKind> {
        self.lookup(host).map(|(_, kind)| kind)
    }

    /// The host that `owner/repo` means.
    #[must_use]
    pub fn default_host(&self) -> &str {
        &self.default_host
    }

    /// The hosts that are known by name, in order; `<tenant>.ghe.com` and aliases are not listed.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ForgeKind)> {
        self.kinds.iter().map(|(host, kind)| (host.as_str(), kind))
    }

    /// `host` in lower case, where it is a host that a locator can name.
    ///
    /// # Errors
    ///
    /// [`ParseLocatorError::InvalidHost`], when it is not plain ASCII or has a broken port.
    pub fn normalise(host: &str) -> Result<String, ParseLocatorError> {
        Ok(authority::host(host)?.to_string())
    }

    /// The canonical name and the kind of a host.
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

    /// Whether some host has this kind, so that its word works as a prefix.
    pub(super) fn has_kind(&self, kind: &ForgeKind) -> bool {
        self.kinds.values().any(|k| k == kind)
    }

    /// The host of a tangled repository that was written without one.
    pub(super) fn tangled_host(&self) -> &str {
        if self.kind_of(&self.default_host) == Some(ForgeKind::TANGLED) {
            &self.default_host
        } else {
            TANGLED
        }
    }
}

/// The built-in hosts and their aliases, under the name that they have in a [`super::RepoId`].
pub(super) fn builtin(host: &str) -> Option<(String, ForgeKind)> {
    let host = host.to_ascii_lowercase();
    match host.as_str() {
        GITHUB | "www.github.com" | "ssh.github.com" => {
            Some((GITHUB.to_owned(), ForgeKind::GITHUB))
        }
        TANGLED | "tangled.sh" => Some((TANGLED.to_owned(), ForgeKind::TANGLED)),
        _ => {
            // Exactly one label: `api.tenant.ghe.com` is not where the tenant's repositories are.
            let tenant = host.strip_suffix(".ghe.com")?;
            let ok = !tenant.is_empty()
                && tenant
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-');
            ok.then_some((host, ForgeKind::GITHUB))
        }
    }
}
