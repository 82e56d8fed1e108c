//! Resolves the name of a repository to owner, record, DID, knot and protocol version.

use forge_core::{
    Error, ErrorKind, ForgeKind, Noun, RepoId, RepoPath, Result, Warning, suggest, text::one_line,
};
use forge_http::is_private_address;
use futures::future;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::{
    Dialects, Era, KnotAnswers, Origin, ShFields, Tangled,
    field_rename::{Answer, AnswerField},
    identity::AccountIdentity,
    records::{self, Listing, Record},
    xrpc::Xrpc,
    xrpc_error,
};

/// Maximum number of repository records that are read of an account.
pub(crate) const MAX_REPOS: usize = 2000;
/// Recovery if the owner of a repository could not be determined.
const AGAIN: &str = "try again later, or look for its owner on the web";
/// As [`AGAIN`], for a repository of Tangled 1.0, whose manifest may use unknown names.
const NAME_MANIFEST: &str = "try again later, or look for its owner on the web; where its manifest \
                             has other names, set `dialect.manifest_owner` and \
                             `dialect.manifest_name` in the configuration of the host";

#[derive(Clone, Debug)]
pub(crate) struct TangledRepository {
    pub id: RepoId,
    pub era: Era,
    pub owner: AccountIdentity,
    pub name: String,
    /// The owner's record of the repository: `sh.tangled.repo`, or the declaration of Tangled 1.0.
    pub record: Record,
    /// The repository's own DID; `None` in the protocol of 2025.
    pub did: Option<String>,
    /// The knot that the repository's record names; in Tangled 1.0, the knot of the repository's
    /// identity.
    recorded_knot: Origin,
    /// Set if the repository's own identity names another knot.
    moved_to: OnceCell<Origin>,
    /// Warning if nothing confirms the owner's Tangled 1.0 declaration, which says who owns the
    /// repository.
    declared_alone: Option<Warning>,
    /// Set once the knot has confirmed the owner, or has proved that it is too old to do so.
    confirmed: OnceCell<()>,
    /// Warning if the knot could not be asked for the owner.
    unconfirmed: OnceCell<Warning>,
}

/// Reason why a knot has not confirmed the owner of a repository.
enum Unconfirmed {
    /// The knot must not be contacted, or it names another owner.
    Refused(Error),
    /// The knot does not know the method that names an owner.
    Unknown(Error),
    /// The knot does not answer.
    Silent(Error),
    /// The repository's own identity does not name its knot.
    Unplaced(Error),
}

impl Unconfirmed {
    /// Returns a warning for a caller that only reads, and the cause of the warning.
    ///
    /// # Errors
    ///
    /// If the knot refused to confirm the owner.
    fn doubt(self, repository: &TangledRepository) -> Result<(Warning, Error)> {
        let (what, why) = match self {
            Self::Refused(e) => return Err(e),
            Self::Unknown(e) | Self::Silent(e) => {
                let host = repository.knot().host();
                (format!("its knot {host} does not name its owner"), e)
            }
            Self::Unplaced(e) => {
                let what = "its own identity does not say on which knot it is";
                (what.to_owned(), e)
            }
        };
        let told = Warning::new(format!(
            "only the account's own record says that {} belongs to {}: {what} ({})",
            repository.target(),
            repository.owner.name(),
            why.message()
        ));
        Ok((told.with_hint(AGAIN), why))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    owner_did: String,
    rkey: String,
}

/// A knot's answer about its version.
#[derive(Debug, Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    capabilities: Option<Vec<String>>,
}

/// Capability of a knot that accepts the DIDs of repositories.
const TAKES_DIDS: &str = "repo-did-input";
/// The capability of a knot that lists collaborators.
pub(crate) const LISTS_COLLABORATORS: &str = "knot-acl";

impl Version {
    fn is_without(&self, capability: &str) -> bool {
        let mut all = self.capabilities.iter().flatten();
        !self.version.trim().is_empty() && all.all(|it| it != capability)
    }
}

impl Answer for Described {
    type Names = KnotAnswers;

    fn fields(names: &KnotAnswers) -> Vec<AnswerField<'_>> {
        AnswerField::from_names([&names.owner, &names.rkey])
    }
}

impl Answer for Version {
    type Names = KnotAnswers;

    fn fields(names: &KnotAnswers) -> Vec<AnswerField<'_>> {
        AnswerField::from_names([&names.version, &names.capabilities])
    }
}

impl TangledRepository {
    /// Returns the value with which pull requests name the repository as their target: the DID or,
    /// in the protocol of 2025, the at-uri.
    pub fn target(&self) -> &str {
        self.did.as_deref().unwrap_or(&self.record.uri)
    }

    /// Returns the warning for a repository whose owner is known only from the owner's own record.
    pub fn doubt(&self) -> Option<Warning> {
        let told = self.declared_alone.as_ref().or(self.unconfirmed.get());
        told.filter(|_| !self.confirmed.initialized()).cloned()
    }

    /// Returns the knot: that of the repository's identity if known, otherwise that of its record.
    pub fn knot(&self) -> &Origin {
        self.moved_to.get().unwrap_or(&self.recorded_knot)
    }

    /// Returns the value of the parameter `repo` in the knot's queries.
    pub fn knot_name(&self) -> String {
        self.did
            .clone()
            .unwrap_or_else(|| format!("{}/{}", self.owner.did, self.name))
    }

    /// Returns true if a record's target is this repository: its DID or the at-uri of its record.
    pub fn is_target(&self, target: &str) -> bool {
        target == self.target() || target == self.record.uri
    }
}

impl Tangled {
    /// Returns the repository of an id. The lookup is cached for [`crate::TangledSettings::kept`].
    pub(crate) async fn repository(
        &self,
        id: &RepoId,
    ) -> Result<std::sync::Arc<TangledRepository>> {
        let found = self.claimed_repository(id).await?;
        self.confirm_owner(&found).await?;
        Ok(found)
    }

    /// As [`Self::repository`], but without the knot's confirmation of the owner. This is for a
    /// caller that reads other data while the knot is asked. The caller must return nothing unless
    /// [`Self::confirm_owner`] succeeds.
    pub(crate) async fn claimed_repository(
        &self,
        id: &RepoId,
    ) -> Result<std::sync::Arc<TangledRepository>> {
        let cell = self.repositories.cell(&id.comparison_key());
        let found = cell.get_or_try_init(|| async {
            Ok::<_, Error>(std::sync::Arc::new(self.find_repository(id).await?))
        });
        found.await.cloned()
    }

    async fn find_repository(&self, id: &RepoId) -> Result<TangledRepository> {
        if id.kind != ForgeKind::TANGLED {
            return Err(Error::invalid("repo", format!("{id} is not on tangled")));
        }
        match &id.path {
            RepoPath::Named { owner, name } => self.by_name(owner, name).await,
            RepoPath::Did(did) => self.by_did(did).await,
            RepoPath::Record(uri) => self.by_name(&uri.authority, &uri.rkey).await,
            RepoPath::Dir(_) => Err(Error::invalid("repo", format!("{id} is a directory"))),
        }
    }

    async fn by_name(&self, owner: &str, name: &str) -> Result<TangledRepository> {
        let owner = self.identities.account(owner).await?;
        let pds = self.identities.pds(&owner.did).await?;
        let slug = name.to_lowercase();
        let names = &self.settings.dialects;
        let (declarations, record) = future::try_join(
            records::all(&pds, &owner.did, &names.org.repo, MAX_REPOS),
            self.sh_record(&pds, &owner, name, &slug),
        )
        .await?;
        let declaration = self.declaration_among(&owner, declarations, name, record.as_ref())?;
        if let Some(declaration) = declaration {
            return self.declared(owner, declaration).await;
        }
        match record {
            Some(record) => self.of_sh_record(owner, record),
            None => Err(self.no_repository(&pds, &owner, name).await),
        }
    }

    /// Finds the owner's Tangled 1.0 declaration that has this name, or that declares the
    /// repository of the record `older`.
    ///
    /// # Errors
    /// `protocol` if the owner has more declarations than are read, and none of these matches.
    pub(crate) fn declaration_among(
        &self,
        owner: &AccountIdentity,
        declarations: Listing,
        name: &str,
        older: Option<&Record>,
    ) -> Result<Option<Record>> {
        let (count, is_cut) = (declarations.records.len(), declarations.is_cut);
        let (names, slug) = (&self.settings.dialects, name.to_lowercase());
        let found = declaration_of(declarations.records, names, &slug, older);
        if found.is_none() && is_cut {
            return Err(Error::new(
                ErrorKind::Protocol,
                format!(
                    "{} has {count} repositories of Tangled 1.0 or more, and '{}' is not among \
                     the newest: its protocol is unknown",
                    owner.name(),
                    one_line(name)
                ),
            ));
        }
        Ok(found)
    }

    /// Finds the `sh.tangled.repo` record. Newer records have the name as their key; older records
    /// have a TID as their key, and the name in a field.
    async fn sh_record(
        &self,
        pds: &Xrpc,
        owner: &AccountIdentity,
        name: &str,
        slug: &str,
    ) -> Result<Option<Record>> {
        let collection = &self.settings.dialects.sh.repo;
        if let Some(found) = records::find(pds, &owner.did, collection, slug).await? {
            return Ok(Some(found));
        }
        let all = records::all(pds, &owner.did, collection, MAX_REPOS).await?;
        Ok(all.records.into_iter().find(|r| {
            r.text(&self.fields().repo_name)
                .is_some_and(|n| n.eq_ignore_ascii_case(name))
                || r.rkey() == name
        }))
    }

    /// Returns the name of a repository from its `sh.tangled.repo` record. Newer records have the
    /// name as their key.
    pub(crate) fn named<'a>(&self, record: &'a Record) -> &'a str {
        let name = record.text(&self.fields().repo_name);
        name.unwrap_or(record.rkey())
    }

    async fn no_repository(&self, pds: &Xrpc, owner: &AccountIdentity, name: &str) -> Error {
        let error = Error::not_found(
            Noun::Repo,
            format!(
                "{} has no repository '{}' on tangled",
                owner.name(),
                one_line(name)
            ),
        );
        let collection = &self.settings.dialects.sh.repo;
        let all = records::all(pds, &owner.did, collection, MAX_REPOS).await;
        let all = all.map(|all| all.records).unwrap_or_default();
        let names = all.iter().map(|r| self.named(r));
        error.with_hint(suggest::hint(name, names, "repositories"))
    }

    fn of_sh_record(&self, owner: AccountIdentity, record: Record) -> Result<TangledRepository> {
        let broken = |what: &str| {
            Error::new(
                ErrorKind::Protocol,
                format!("the record of this repository {what}: {}", record.uri),
            )
        };
        let host = record
            .text(&self.fields().repo_knot)
            .ok_or_else(|| broken("names no knot"))?;
        let knot = Origin::of_host(host, self.settings.reach)?;
        let did = did_of_record(&record, self.fields()).map(str::to_owned);
        let name = self.named(&record).to_owned();
        Ok(TangledRepository {
            id: self.canonical(&owner, &name),
            era: if did.is_some() {
                Era::Sh2026
            } else {
                Era::Sh2025
            },
            owner,
            name,
            record,
            did,
            recorded_knot: knot,
            moved_to: OnceCell::new(),
            declared_alone: None,
            confirmed: OnceCell::new(),
            unconfirmed: OnceCell::new(),
        })
    }

    /// Confirms the owner of a repository. Anybody can write a record that claims a repository, but
    /// the knot in the repository's own DID document knows the owner. If the knot cannot be asked,
    /// reading continues, and [`TangledRepository::doubt`] has the warning.
    pub(crate) async fn confirm_owner(&self, repository: &TangledRepository) -> Result<()> {
        // Returns early, so that not every call waits for a silent knot.
        if repository.unconfirmed.initialized() {
            return Ok(());
        }
        if let Err(why) = self.ask_owner(repository).await {
            let (told, _) = why.doubt(repository)?;
            // A concurrent call has set the same warning.
            let _ = repository.unconfirmed.set(told);
        }
        Ok(())
    }

    /// As [`Self::confirm_owner`], for a write: an unconfirmed owner is an error.
    pub(crate) async fn owner_confirmed(&self, repository: &TangledRepository) -> Result<()> {
        if repository.declared_alone.is_some() && !repository.confirmed.initialized() {
            return self.declaration_confirmed(repository).await;
        }
        let Err(why) = self.ask_owner(repository).await else {
            return Ok(());
        };
        let (told, e) = why.doubt(repository)?;
        let error = Error::new(
            e.kind().clone(),
            format!("{}; nothing was written", told.message),
        );
        Err(error.with_retry(e.retry()).with_hint(AGAIN).with_source(e))
    }

    /// Checks again, before a write, a declaration that was unconfirmed when it was found. It is an
    /// error if the declaration is still unconfirmed.
    async fn declaration_confirmed(&self, repository: &TangledRepository) -> Result<()> {
        let (owner, did) = (&repository.owner, repository.target());
        let doubt = self.doubt_of_declaration(owner, did, repository.knot());
        let Some(why) = doubt.await? else {
            // A concurrent call has set the same result.
            let _ = repository.confirmed.set(());
            return Ok(());
        };
        let told = declared_alone(owner, did, why.message());
        let message = format!("{}; nothing was written", told.message);
        let error = Error::new(why.kind().clone(), message).with_retry(why.retry());
        Err(error.with_hint(NAME_MANIFEST).with_source(why))
    }

    /// Asks the knot for the owner. A declaration of Tangled 1.0 was already checked when it was
    /// found.
    async fn ask_owner(&self, repository: &TangledRepository) -> Result<(), Unconfirmed> {
        let did = match (&repository.did, repository.era) {
            (Some(did), Era::Sh2026) => did.as_str(),
            _ => return Ok(()),
        };
        let owner = &repository.owner;
        let asked = repository.confirmed.get_or_try_init(|| async {
            // Most repositories are on the knot of their record, so that knot is asked without
            // waiting for the DID document.
            let (named, said) = future::join(
                self.identities.knot(did),
                self.ask_knot(&repository.recorded_knot, owner, did),
            )
            .await;
            let knot = match (named, said) {
                (Ok(knot), said) if knot == repository.recorded_knot => {
                    return match said {
                        Err(Unconfirmed::Unknown(_))
                            if self.is_knot_without(&knot, TAKES_DIDS).await =>
                        {
                            Ok(())
                        }
                        said => said,
                    };
                }
                (Ok(knot), _) => knot,
                (Err(_), Err(Unconfirmed::Refused(e))) => return Err(Unconfirmed::Refused(e)),
                (Err(e), _) => return Err(Unconfirmed::Unplaced(e)),
            };
            // The record names another knot than the repository's own identity. Either the
            // repository moved, or the record's author tries to choose the knot that decides.
            let _ = repository.moved_to.set(knot.clone());
            self.ask_knot(&knot, owner, did).await
        });
        asked.await.copied()
    }

    /// Asks a knot whether `owner` owns a repository.
    async fn ask_knot(
        &self,
        knot: &Origin,
        owner: &AccountIdentity,
        did: &str,
    ) -> Result<(), Unconfirmed> {
        let service = self.identities.service(knot.clone()).await;
        let service = service.map_err(Unconfirmed::Refused)?;
        let service = service.patient(self.settings.account_wait);
        match self.ask_whose(&service, did).await {
            Ok(said) if said.owner_did != owner.did => Err(Unconfirmed::Refused(claimed(
                owner,
                did,
                &said.owner_did,
                knot,
            ))),
            Ok(_) => Ok(()),
            Err(e) if xrpc_error::name(&e) == Some("RepoNotFound") => {
                Err(Unconfirmed::Refused(not_there(owner, did, knot)))
            }
            Err(e) if xrpc_error::is_unknown_method(&e) => Err(Unconfirmed::Unknown(e)),
            Err(e) if is_private_address(&e) => Err(Unconfirmed::Refused(e)),
            Err(e) => Err(Unconfirmed::Silent(e)),
        }
    }

    /// Returns true if a knot proves that it is too old for a method. The caller then trusts the
    /// owner's records instead of the knot. The proof is an answer about the knot's version that
    /// lacks `capability`. For the method that names a repository's owner, this is
    /// `repo-did-input`, which knots have since August 2026. An unknown method alone proves
    /// nothing: a proxy, or a page at the knot's address, does not know the method either.
    pub(crate) async fn is_knot_without(&self, knot: &Origin, capability: &str) -> bool {
        let asked = async {
            let knot = self.identities.service(knot.clone()).await?;
            let knot = knot.patient(self.settings.account_wait);
            let names = &self.settings.dialects;
            let method = &names.methods.knot.version;
            knot.ask::<Version>(method, &[], &names.answers.knot).await
        };
        asked.await.is_ok_and(|it| it.is_without(capability))
    }

    async fn declared(&self, owner: AccountIdentity, record: Record) -> Result<TangledRepository> {
        let declared = &self.settings.dialects.fields.declared;
        let did = record.text(declared).map(str::to_owned).ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                format!("this declaration names no repository: {}", record.uri),
            )
        })?;
        let account = self.identities.of_did(&did).await?;
        let knot = account.document.knot(self.settings.reach)?;
        let doubt = self.doubt_of_declaration(&owner, &did, &knot).await?;
        let doubt = doubt.map(|why| declared_alone(&owner, &did, why.message()));
        let name = record.rkey().to_owned();
        Ok(TangledRepository {
            id: self.canonical(&owner, &name),
            era: Era::Org10,
            owner,
            name,
            record,
            declared_alone: doubt,
            did: Some(did),
            recorded_knot: knot,
            moved_to: OnceCell::new(),
            confirmed: OnceCell::new(),
            unconfirmed: OnceCell::new(),
        })
    }

    /// Returns the reason to doubt a declaration; `None` if the repository's own manifest confirms
    /// the owner. The manifest is needed because anybody can declare a repository. The manifest's
    /// field names are known only from descriptions, so an unreadable manifest gives a warning, and
    /// stops writes.
    ///
    /// # Errors
    ///
    /// `not_found` if the manifest names another owner.
    async fn doubt_of_declaration(
        &self,
        owner: &AccountIdentity,
        did: &str,
        knot: &Origin,
    ) -> Result<Option<Error>> {
        let service = self.identities.service(knot.clone()).await?;
        let unclear = |why: String| Error::new(ErrorKind::Protocol, why);
        Ok(match self.manifest(&service, did).await {
            Ok((said, _)) if said == owner.did || said == owner.name() => None,
            Ok((said, _)) if said.starts_with("did:") => {
                return Err(claimed(owner, did, &said, knot));
            }
            Ok((said, _)) => Some(unclear(format!("the manifest names '{}'", one_line(&said)))),
            Err(e) if e.is_not_found() => {
                Some(unclear("the repository has no manifest".to_owned()))
            }
            Err(e) => Some(e),
        })
    }

    async fn by_did(&self, did: &str) -> Result<TangledRepository> {
        let account = self.identities.of_did(did).await?;
        let knot = account.document.knot(self.settings.reach)?;
        let xrpc = self.identities.service(knot).await?;
        // A document with an account server may be that of a repository of Tangled 1.0, which has
        // an account on its knot. The manifest is therefore read first. In the protocol of 2026,
        // the document may name the knot in the same way, so the knot is asked next.
        let (owner, name) = match account.document.pds(self.settings.reach) {
            Ok(_) => match self.manifest(&xrpc, did).await {
                Ok(said) => said,
                Err(e) => self.read_owner_and_name(&xrpc, did).await.map_err(|_| e)?,
            },
            Err(_) => match self.read_owner_and_name(&xrpc, did).await {
                Ok(said) => said,
                Err(_) => self.manifest(&xrpc, did).await?,
            },
        };
        let found = self.by_name(&owner, &name).await?;
        if found.did.as_deref() != Some(did) {
            return Err(Error::not_found(
                Noun::Repo,
                format!(
                    "{} does not say that {did} is its repository {name}",
                    found.owner.name()
                ),
            ));
        }
        Ok(found)
    }

    /// Reads the owner and name of a repository from a knot with the protocol of 2026.
    async fn read_owner_and_name(&self, knot: &Xrpc, did: &str) -> Result<(String, String)> {
        let said = self.ask_whose(knot, did).await?;
        Ok((said.owner_did, said.rkey))
    }

    async fn ask_whose(&self, knot: &Xrpc, did: &str) -> Result<Described> {
        let names = &self.settings.dialects;
        let method = &names.methods.knot.describe_repo;
        let params = [(&*names.inputs.knot.repo_did, did)];
        knot.ask(method, &params, &names.answers.knot).await
    }

    /// Reads owner and name from the manifest of Tangled 1.0. Its field names are known only from
    /// prose, so two likely names are accepted for each field, at the top or in a nested object.
    async fn manifest(&self, knot: &Xrpc, did: &str) -> Result<(String, String)> {
        let record = records::find(knot, did, &self.settings.dialects.org.manifest, "self").await?;
        let value = record.map(|r| r.value).unwrap_or_default();
        let fields = &self.settings.dialects.manifest;
        let text = |name: &str| {
            let nested = |outer: &str| value.get(outer).and_then(|o| o.get(name));
            let found = value.get(name).filter(|v| v.is_string());
            let found = found
                .or_else(|| nested(&fields.in_owner))
                .or_else(|| nested(&fields.in_repo));
            found.and_then(Value::as_str).map(str::to_owned)
        };
        let owner = text(&fields.owner).or_else(|| text(&fields.did));
        let name = text(&fields.name).or_else(|| text(&fields.slug));
        owner.zip(name).ok_or_else(|| {
            Error::not_found(Noun::Repo, format!("{did} is not a repository on tangled"))
                .with_hint("name the repository as handle/name")
        })
    }

    pub(crate) fn canonical(&self, owner: &AccountIdentity, name: &str) -> RepoId {
        RepoId {
            kind: ForgeKind::TANGLED,
            host: self.settings.host.clone(),
            path: RepoPath::Named {
                owner: owner.name().to_owned(),
                name: name.to_owned(),
            },
        }
    }
}

/// Returns the repository's DID from its `sh.tangled.repo` record. An empty text counts as missing,
/// as in tangled's index.
fn did_of_record<'a>(record: &'a Record, fields: &ShFields) -> Option<&'a str> {
    let did = record.text(&fields.repo_did);
    did.filter(|did| !did.is_empty())
}

/// Finds the declaration that has the name `slug`, or that declares the repository of the record
/// `older`. A declared repository uses Tangled 1.0, by whichever of its names it is requested.
fn declaration_of(
    declarations: Vec<Record>,
    names: &Dialects,
    slug: &str,
    older: Option<&Record>,
) -> Option<Record> {
    let fields = &names.sh_fields;
    let did = older.and_then(|r| did_of_record(r, fields));
    // In the protocol of 2025, only the name identifies a repository.
    let name = older
        .filter(|_| did.is_none())
        .and_then(|r| r.text(&fields.repo_name))
        .map(str::to_lowercase);
    let (mut named, mut same) = (None, None);
    for declaration in declarations {
        let declares_it = did.is_some() && declaration.text(&names.fields.declared) == did;
        if declaration.rkey() == slug {
            named = Some(declaration);
        } else if declares_it || Some(declaration.rkey()) == name.as_deref() {
            same = Some(declaration);
        }
    }
    named.or(same)
}

/// Returns the warning for a declaration that no manifest confirms.
fn declared_alone(owner: &AccountIdentity, did: &str, why: &str) -> Warning {
    Warning::new(format!(
        "only the declaration says that {} owns {did}: the repository's own manifest does not \
         confirm it ({why})",
        owner.name()
    ))
    .with_hint("check on the web who owns the repository")
}

fn claimed(owner: &AccountIdentity, did: &str, whose: &str, knot: &Origin) -> Error {
    Error::not_found(
        Noun::Repo,
        format!(
            "{} claims the repository {did}, which belongs to {} on its knot {}",
            owner.name(),
            one_line(whose),
            knot.host()
        ),
    )
}

fn not_there(owner: &AccountIdentity, did: &str, knot: &Origin) -> Error {
    Error::not_found(
        Noun::Repo,
        format!(
            "{} claims the repository {did}, which its knot {} does not have",
            owner.name(),
            knot.host()
        ),
    )
    .with_hint("check on the web whether the repository exists: it may have been deleted or moved")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field_rename::tests::{assert_reads_configured_names, other_names};

    #[test]
    fn repository_owner_is_read_by_configured_names() {
        let described = json!({ "ownerDid": "did:plc:a", "rkey": "r" });
        assert_reads_configured_names::<Described>(&other_names().knot, &described);
    }
}
