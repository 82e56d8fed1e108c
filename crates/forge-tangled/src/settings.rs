use std::{net::SocketAddr, path::PathBuf, time::Duration};

use forge_core::{Capabilities, IndexLimit, Result};

use crate::{Dialects, DraftMarker, IngestedCollections, Origin, Reach, ReadLimits, caps};

/// An account that may set the state of all pull requests and issues that an index serves. It has no
/// other right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSetter {
    /// The DID of the account.
    pub account: String,
    /// The index whose rule it is.
    pub index: Origin,
}

/// The DID of tangled.org, Tangled's own account (tangled's ingester).
const TANGLED_ACCOUNT: &str = "did:plc:wshs7t2adsemcrrd4snkeqli";

/// The addresses of tangled's services, and options for their use.
#[derive(Clone, Debug)]
pub struct TangledSettings {
    /// The host in the names of repositories: `tangled.org`.
    pub host: String,
    /// Address of tangled's web pages.
    pub web: Origin,
    /// The index, which collects the records of all accounts (tangled's own: "bobbin").
    pub index: Origin,
    /// An index of backlinks (which records link to a record), queried if [`Self::index`] does not
    /// answer.
    pub backlinks: Option<Origin>,
    /// The directory of `did:plc` identities.
    pub plc: Origin,
    /// Service that resolves handles, instead of DNS and the handles' own hosts. This is for
    /// services on this machine, whose handles no other service knows.
    pub handles: Option<Origin>,
    /// The name server for handles, instead of the system's name server.
    pub dns: Option<SocketAddr>,
    /// The viewer's personal data server, instead of the server that the identity names.
    pub pds: Option<Origin>,
    /// The services that a stranger's document may name.
    pub reach: Reach,
    /// The directory for sessions; without it, a session ends with the process.
    pub sessions: Option<PathBuf>,
    /// How long a write waits until the index shows its record. With zero, it does not wait.
    pub wait: Duration,
    /// The first pause between two polls of the index; each later pause is twice as long as the one
    /// before.
    pub poll: Duration,
    /// Lifetime of cached facts: identities, repositories, declarations, collaborators and labels.
    /// A change is seen only after this time.
    pub kept: Duration,
    /// How long a command waits for the names of all its accounts together. Without its name, an
    /// account is shown by its DID.
    pub name_wait: Duration,
    /// How long a list or a view waits for an answer of another account's server, before it goes on
    /// without that account.
    pub account_wait: Duration,
    /// Limits for data of other accounts that is read and kept.
    pub read_limits: ReadLimits,
    /// Known states of the collections at this index.
    pub ingested: IngestedCollections,
    /// An account whose states count as well. It has no effect with another index than its own.
    pub state_setter: Option<StateSetter>,
    /// Marker at the start of the title of a draft; without a marker there are no drafts.
    pub draft_marker: Option<DraftMarker>,
    /// True if reviews with a verdict are comments whose first line states the verdict. Otherwise
    /// there are no verdicts.
    pub verdict_comments: bool,
    /// The names of the protocol.
    pub dialects: Dialects,
}

impl TangledSettings {
    /// Returns the settings for the public services.
    ///
    /// # Errors
    /// `config` if a built-in address is invalid.
    pub fn usual() -> Result<Self> {
        let index = Origin::configured("https://api.tangled.org")?;
        Ok(Self {
            host: "tangled.org".to_owned(),
            web: Origin::configured("https://tangled.org")?,
            state_setter: Some(StateSetter {
                account: TANGLED_ACCOUNT.to_owned(),
                index: index.clone(),
            }),
            index,
            backlinks: Some(Origin::configured("https://constellation.microcosm.blue")?),
            plc: Origin::configured("https://plc.directory")?,
            handles: None,
            dns: None,
            pds: None,
            reach: Reach::Public,
            sessions: None,
            wait: Duration::from_secs(10),
            poll: Duration::from_millis(250),
            kept: Duration::from_secs(300),
            name_wait: Duration::from_secs(2),
            account_wait: Duration::from_secs(5),
            read_limits: ReadLimits::default(),
            ingested: IngestedCollections::default(),
            draft_marker: None,
            verdict_comments: false,
            dialects: Dialects::default(),
        })
    }
}

impl TangledSettings {
    /// Capabilities of tangled with these settings.
    #[must_use]
    pub fn capabilities(&self) -> &'static Capabilities {
        caps::with(self.draft_marker.is_some(), self.verdict_comments)
    }

    /// Returns the collections that the index may not ingest.
    pub(crate) fn index_limits(&self) -> Vec<IndexLimit> {
        self.ingested.limits(self.index.host(), &self.dialects)
    }

    /// Returns the account whose states count for this index as well.
    pub(crate) fn state_setter(&self) -> Option<&str> {
        let setter = self.state_setter.as_ref();
        let setter = setter.filter(|setter| setter.index == self.index);
        setter.map(|setter| setter.account.as_str())
    }
}
