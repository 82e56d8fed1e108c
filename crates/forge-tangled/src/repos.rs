//! Reads the viewer (the logged-in account) and facts about a repository.

use async_trait::async_trait;
use forge_core::{
    AtUri, Capability, Error, ForgeKind, Hint, IndexLimit, Noun, Outcome, Page, PageReq, RepoId,
    RepoPath, Repos, Result, Support, Warning,
    model::{
        Actor, Branch, Examined, MergeMethod, PathContent, Permission, PushEdits, PushedCommit,
        RepoInfo,
    },
    text::one_line,
};

use crate::{
    Era, Tangled, caps, knot::MAX_BRANCHES, page, repository::TangledRepository, ticket_writes,
    xrpc_error,
};

const ONLY_READ: &str = "this repository has no DID: it uses tangled's protocol of 2025, and no \
                         service shows the records that forge writes for it";
static GIVE_A_DID: Hint = Hint::new(
    "have the owner open the repository on the web after its knot was updated, which gives the \
     repository a DID",
);

/// Returns the capabilities that a repository of the protocol of 2025 lacks: all writes.
fn read_only_capabilities() -> Vec<(Capability, Support)> {
    let no = Support::No {
        why: ONLY_READ,
        instead: &GIVE_A_DID,
    };
    let writes = Capability::ALL.iter().filter(|c| !c.reads());
    writes.map(|c| (*c, no)).collect()
}

impl Tangled {
    /// Refuses to write to a repository with an older or newer protocol than that of 2026. No
    /// service would show a record of the wrong protocol.
    pub(crate) fn require_2026(
        &self,
        repository: &TangledRepository,
        what: Capability,
    ) -> Result<()> {
        match repository.era {
            Era::Sh2026 => Ok(()),
            Era::Sh2025 => Err(Error::unsupported(what, ONLY_READ, &GIVE_A_DID)),
            Era::Org10 => Err(Error::unsupported(
                what,
                "how to do this on Tangled 1.0 is not known: only parts of its protocol are \
                 published",
                "do it on the web",
            )),
        }
    }

    /// Returns all ids of a repository except its canonical id.
    fn aliases(&self, repository: &TangledRepository) -> Vec<RepoId> {
        let at = |host: &str, path| RepoId {
            kind: ForgeKind::TANGLED,
            host: host.to_owned(),
            path,
        };
        let host = &repository.id.host;
        let by_owner = RepoPath::Named {
            owner: repository.owner.did.clone(),
            name: repository.name.clone(),
        };
        let mut ids = vec![at(host, by_owner)];
        if let Some(did) = &repository.did {
            ids.push(at(host, RepoPath::Did(did.clone())));
            ids.push(at("", RepoPath::Did(did.clone())));
        }
        let record = AtUri::parse(&repository.record.uri);
        ids.extend(record.map(|uri| at("", RepoPath::Record(uri))));
        ids.retain(|id| *id != repository.id);
        ids
    }
}

#[async_trait]
impl Repos for Tangled {
    async fn viewer(&self, _repo: &RepoId) -> Result<Actor> {
        let viewer = self.session.viewer().await?;
        let mut actor = Actor::new(viewer.identity.name());
        actor.id.clone_from(&viewer.identity.did);
        Ok(actor)
    }

    async fn index_limits(&self, repo: &RepoId) -> Result<Vec<IndexLimit>> {
        let limits = self.settings.index_limits();
        if limits.is_empty() {
            return Ok(limits);
        }
        // Records of Tangled 1.0 need no index, and no record of 2025 is written.
        match self.repository(repo).await?.era {
            Era::Sh2026 => Ok(limits),
            Era::Org10 | Era::Sh2025 => Ok(Vec::new()),
        }
    }

    async fn fork(&self, _: &RepoId) -> Result<Outcome<RepoId>> {
        Err(caps::refusal(Capability::RepoFork))
    }

    async fn repo(&self, repo: &RepoId) -> Result<RepoInfo> {
        let repository = self.repository(repo).await?;
        let default_branch = self.default_branch(&repository).await?.map(|b| b.name);
        let mut warnings: Vec<Warning> = repository.doubt().into_iter().collect();
        let permission = match self.session.viewer_if_any().await? {
            Some(viewer) if viewer.identity.did == repository.owner.did => Permission::Admin,
            Some(viewer) => {
                let writers = self.writers(&repository).await;
                if writers.may_write(&viewer.identity.did) {
                    Permission::Write
                } else {
                    // If not all accounts with push access could be read, the viewer may have
                    // write permission: `doubt` says so.
                    warnings.extend(writers.doubt);
                    Permission::Read
                }
            }
            None => Permission::Read,
        };
        let url = format!(
            "{}/{}/{}",
            self.settings.web,
            repository.owner.name(),
            repository.name
        );
        let mut info = RepoInfo::new(repository.id.clone(), url);
        info.aliases = self.aliases(&repository);
        info.default_branch = default_branch;
        info.description = repository
            .record
            .text(&self.fields().repo_description)
            .map(str::to_owned);
        info.permission = permission;
        info.merge_methods = vec![MergeMethod::Rebase];
        info.overrides = match repository.era {
            Era::Org10 => ticket_writes::overrides(self.settings.capabilities()),
            Era::Sh2025 => read_only_capabilities(),
            Era::Sh2026 => Vec::new(),
        };
        info.warnings = warnings;
        Ok(info)
    }

    async fn branches(&self, repo: &RepoId, page: PageReq) -> Result<Page<Branch>> {
        let repository = self.repository(repo).await?;
        let mut all: Vec<Branch> = self.all_branches(&repository).await?;
        let cut = repository.era != Era::Org10 && all.len() >= MAX_BRANCHES;
        all.sort_by(|a, b| a.name.cmp(&b.name));
        let mut page = page::of("tangled-branches", repository.target(), all, &page)?;
        page.warnings.extend(repository.doubt());
        page.warnings.extend(cut.then(|| {
            let host = repository.knot().host();
            Warning::new(format!(
                "the knot {host} has {MAX_BRANCHES} branches or more; only these were read"
            ))
        }));
        Ok(page)
    }

    async fn push_edits(&self, _: &RepoId, _: &PushEdits) -> Result<Outcome<PushedCommit>> {
        Err(caps::refusal(Capability::BranchPush))
    }

    async fn branch_is_protected(&self, _: &RepoId, _: &str) -> Result<bool> {
        Ok(false)
    }

    async fn repo_file(
        &self,
        repo: &RepoId,
        path: &str,
        at: Option<&str>,
    ) -> Result<Option<PathContent>> {
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        let is_path = path.is_empty() || path.split('/').all(is_plain);
        if !is_path || path.contains('\0') {
            let message = format!("'{}' is no path of a file", one_line(path));
            return Err(Error::invalid("path", message)
                .with_hint("write it from the root of the repository, such as docs/a.md"));
        }
        let repository = self.repository(repo).await?;
        if repository.era == Era::Org10 {
            self.require_2026(&repository, Capability::RepoFile)?;
        }
        let at = match at {
            Some(at) => at.to_owned(),
            None => match self.default_branch(&repository).await? {
                Some(branch) => branch.hash,
                None => return Ok(None),
            },
        };
        let found = self.path_content(&repository, &at, path).await;
        found.map_err(|e| match xrpc_error::name(&e) {
            Some("RefNotFound") => {
                let message = format!("there is no '{}' in {}", one_line(&at), repository.id);
                Error::not_found(Noun::Commit, message)
                    .with_hint("name a branch, a tag or a commit")
                    .with_source(e)
            }
            _ => e,
        })
    }

    async fn examine(&self, repo: &RepoId, live: bool) -> Vec<Examined> {
        self.examine_services(repo, live).await
    }
}
