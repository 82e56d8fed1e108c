//! Pull requests on tangled, which stores them as atproto records.
//!
//! A pull request is a record in its author's account. Other accounts store their comments and
//! states as records of their own. Reads therefore query these accounts and an index, a service
//! that collects the records of all accounts. Writes go to the PDS (account server) of the viewer,
//! the logged-in account, and report whether the index shows the record. Merges go to the
//! repository's knot (git server). Tangled changed its protocol twice in 2026, so the version is
//! determined for each repository, see [`Era`].
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use forge_tangled::{FixedLogin, Tangled, TangledSettings};
//! # fn main() -> forge_core::Result<()> {
//! let http = forge_http::Http::new(forge_http::HttpSettings::default())?;
//! let forge = Tangled::new(TangledSettings::usual()?, http, Arc::new(FixedLogin(None)));
//! let client = forge_core::Client::new(Arc::new(forge), forge_core::Policy::default());
//! # drop(client); Ok(())
//! # }
//! ```

use std::{fmt, num::NonZeroUsize, sync::Arc};

use forge_core::{
    AtUri, Capabilities, Forge, ForgeInfo, ForgeKind, PrId, PrKey, RepoId, RepoPath, Result,
    WebPage,
};
use forge_http::Http;

mod address_policy;
mod applied;
mod attachments;
mod blocking;
mod cache;
mod caps;
mod checks;
mod cid;
mod comments;
mod declaration;
mod dialect;
mod drafts;
mod examine;
mod field_rename;
mod hints;
mod identity;
mod index_pager;
mod inferred_names;
mod ingest;
mod ingest_rules;
mod ingested_collections;
mod ingestion_report;
mod issues;
mod json_field;
mod knot;
mod knot_records;
mod label_definitions;
mod labels;
pub mod lexicon;
mod links;
mod malformed;
mod named_accounts;
mod origin;
mod page;
mod page_trail;
mod part_window;
mod patch;
mod patch_form;
mod pulls;
mod read_limits;
mod records;
mod related_records;
mod remote_refs;
mod repos;
mod repository;
mod session;
mod settings;
mod sources;
mod ticket_comments;
mod ticket_labels;
mod ticket_merge;
mod ticket_writes;
mod tickets;
mod tid;
mod verdicts;
mod write;
mod xrpc;
mod xrpc_error;

pub use caps::CAPABILITIES;
pub use dialect::{
    Answers, Audience, Dialect, Dialects, Era, Fields, IndexFields, IndexMethods, Inputs,
    KnotAnswers, KnotFields, KnotMethods, ManifestFields, Methods, ShFields, SpindleAnswers,
    SpindleFields, SpindleMethods, WebNames,
};
pub use drafts::DraftMarker;
pub use identity::{AccountIdentity, DidDocument};
pub use ingested_collections::{INDEX_DATES, IngestedCollections, Ingests};
pub use ingestion_report::{IndexShows, IngestionReport};
pub use origin::{Origin, Reach};
pub use read_limits::ReadLimits;
pub use session::{FixedLogin, LoginSource, PdsLogin, PinnedAccount, forget_sessions};
pub use settings::{StateSetter, TangledSettings};

use cache::Cache;

/// The tangled backend for one account.
pub struct Tangled {
    http: Http,
    settings: Arc<TangledSettings>,
    identities: Arc<identity::Identities>,
    session: session::Session,
    repositories: Cache<Arc<repository::TangledRepository>>,
    collaborators: Cache<sources::Pushers>,
    definitions: Cache<Arc<labels::Definitions>>,
    patches: Cache<Arc<patch::Patch>>,
    listed: pulls::unindexed_lists::ListCache<pulls::PullRow>,
    listed_issues: pulls::unindexed_lists::ListCache<issues::IssueRow>,
    info: ForgeInfo,
}

impl Tangled {
    /// Returns the field names of records in the protocols of 2025 and 2026.
    pub(crate) fn fields(&self) -> &ShFields {
        &self.settings.dialects.sh_fields
    }

    /// Creates the backend from `settings`, without a request or a login.
    #[must_use]
    pub fn new(settings: TangledSettings, http: Http, logins: Arc<dyn LoginSource>) -> Self {
        let settings = Arc::new(settings);
        let identities = Arc::new(identity::Identities::new(
            http.clone(),
            Arc::clone(&settings),
        ));
        let session = session::Session::new(
            http.clone(),
            Arc::clone(&settings),
            Arc::clone(&identities),
            logins,
        );
        let info = ForgeInfo::new(ForgeKind::TANGLED, &settings.host);
        let (kept, most) = (settings.kept, settings.read_limits.cache);
        Self {
            http,
            settings,
            identities,
            session,
            repositories: Cache::weighed(kept, most, |it: &Arc<repository::TangledRepository>| {
                it.record.weight()
            })
            .retrying(|it| it.doubt().is_some()),
            collaborators: Cache::weighed(kept, most, sources::Pushers::weight)
                .retrying(|it| it.doubt.is_some()),
            definitions: Cache::weighed(kept, most, |it: &Arc<labels::Definitions>| it.weight())
                .retrying(|it| it.has_failed()),
            patches: Cache::weighed(kept, most, |it| it.weight()),
            listed: pulls::unindexed_lists::ListCache::default(),
            listed_issues: pulls::unindexed_lists::ListCache::default(),
            info,
        }
    }

    /// Looks up the DID and the server to which a login of `account` is pinned. `account` is a
    /// handle or a DID. Sends nothing to the account's server.
    ///
    /// # Errors
    /// `invalid_input` if `account` is neither a handle nor a DID; `not_found` if no account has
    /// this name, or if the account's identity does not list the handle; `network` if the lookup
    /// fails.
    pub async fn pin_login(&self, account: &str) -> Result<PinnedAccount> {
        self.session.pin(account).await
    }

    /// Returns the version of the protocol that a repository uses.
    ///
    /// # Errors
    /// As [`forge_core::Repos::repo`].
    pub async fn era(&self, repo: &RepoId) -> Result<Era> {
        Ok(self.repository(repo).await?.era)
    }

    /// Returns the id of a pull request from the at-uri of its record.
    ///
    /// # Errors
    /// `not_found` if there is no such record; `protocol` for a record that is not a pull request.
    pub async fn pull_of_record(&self, uri: &AtUri) -> Result<PrId> {
        let uri = self.with_did(uri.clone()).await?;
        let pds = self.identities.pds(&uri.authority).await?;
        let path = if uri.collection == self.settings.dialects.org.pull {
            // A pull request of Tangled 1.0 is in the account of its repository.
            RepoPath::Did(uri.authority.clone())
        } else {
            let record = records::get_uri(&pds, &uri).await.map_err(|e| {
                if xrpc_error::is_missing_record(&e) {
                    pulls::view::missing_pull_error(&uri)
                } else {
                    e
                }
            })?;
            let pull = pulls::record::TangledPull::parse(record, self.fields())?;
            match AtUri::parse(&pull.target) {
                Ok(uri) => RepoPath::Record(uri),
                Err(_) => RepoPath::Did(pull.target.clone()),
            }
        };
        let id = RepoId {
            kind: ForgeKind::TANGLED,
            host: self.settings.host.clone(),
            path,
        };
        Ok(PrId {
            repo: self.repository(&id).await?.id.clone(),
            key: PrKey::Record(uri.to_string()),
        })
    }
}

impl fmt::Debug for Tangled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tangled")
            .field("host", &self.info.host)
            .finish_non_exhaustive()
    }
}

impl Forge for Tangled {
    fn info(&self) -> &ForgeInfo {
        &self.info
    }

    fn capabilities(&self) -> &'static Capabilities {
        self.settings.capabilities()
    }

    fn concurrency(&self) -> NonZeroUsize {
        NonZeroUsize::new(sources::IN_FLIGHT).unwrap_or(NonZeroUsize::MIN)
    }

    fn web_page(&self, _: &RepoId, _: &WebPage<'_>) -> Option<String> {
        None
    }
}
