//! The repository and the viewer.

use async_trait::async_trait;
use forge_core::{
    Capability, IndexLimit, Outcome, Page, PageReq, RepoId, Repos, Result,
    call::charge,
    model::{
        Actor, Branch, Examined, MergeMethod, PathContent, Permission, PushEdits, PushedCommit,
        RepoInfo,
    },
};
use forge_git::{blocking, state_file};

use crate::{Local, ident::identity, paging, repository::LocalRepository, store::branch_ref};

/// Memory of a branch in a list in addition to its name and commit, in bytes.
const BYTES_PER_BRANCH: usize = 128;
/// Common names of the main branch, used if no configuration names the main branch.
const USUAL: [&str; 3] = ["main", "master", "trunk"];

/// Reason why a branch is taken for the default branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultSource {
    /// This repository names the branch.
    Configured,
    /// A guess. Anybody can push a branch with a usual name, and `init.defaultBranch` names the
    /// branch of new repositories, not of this one.
    UsualName,
    /// A guess, because the branch is checked out. The branch may be the head of a pull request.
    CheckedOut,
}

#[async_trait]
impl Repos for Local {
    async fn viewer(&self, repo: &RepoId) -> Result<Actor> {
        self.check(repo)?;
        Ok(identity(self.user_git()).await?.actor)
    }

    async fn fork(&self, _: &RepoId) -> Result<Outcome<RepoId>> {
        Err(Self::unsupported(Capability::RepoFork))
    }

    async fn repo(&self, repo: &RepoId) -> Result<RepoInfo> {
        self.check(repo)?;
        let mut info = RepoInfo::new(self.id().clone(), self.url());
        if let Some((branch, source)) = self.find_default_branch().await? {
            info.default_branch = Some(branch);
            info.default_is_guessed = source != DefaultSource::Configured;
            info.default_is_checked_out = source == DefaultSource::CheckedOut;
        }
        let repository = self.repository.clone();
        info.description = blocking(move || Ok(description(&repository))).await?;
        info.permission = Permission::Admin;
        info.merge_methods = vec![MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase];
        Ok(info)
    }

    async fn index_limits(&self, _: &RepoId) -> Result<Vec<IndexLimit>> {
        Ok(Vec::new())
    }

    async fn branches(&self, repo: &RepoId, page: PageReq) -> Result<Page<Branch>> {
        self.check(repo)?;
        let format = "--format=%(objectname) %(refname:lstrip=2)";
        let list = self.git().run_ok(["for-each-ref", format, "refs/heads/"]);
        let list = String::from_utf8_lossy(&list.await?).into_owned();
        let lines = list.lines().count();
        let _memory = charge("the branches", 2 * list.len() + BYTES_PER_BRANCH * lines)?;
        let lines = list.lines().filter_map(|line| line.split_once(' '));
        let all = lines.map(|(oid, name)| Branch::new(name, oid));
        paging::slice(all.collect(), &page, &"branches")
    }

    async fn branch_is_protected(&self, repo: &RepoId, _: &str) -> Result<bool> {
        self.check(repo)?;
        Ok(false)
    }

    async fn repo_file(
        &self,
        repo: &RepoId,
        path: &str,
        at: Option<&str>,
    ) -> Result<Option<PathContent>> {
        self.check(repo)?;
        self.read_repo_file(path, at).await
    }

    async fn push_edits(&self, repo: &RepoId, req: &PushEdits) -> Result<Outcome<PushedCommit>> {
        self.check(repo)?;
        self.commit_on_branch(req).await
    }

    /// Returns an empty list, because a plain git repository uses no services that can be examined.
    async fn examine(&self, _: &RepoId, _: bool) -> Vec<Examined> {
        Vec::new()
    }
}

impl Local {
    /// Returns the default base branch: the first branch in this list that exists.
    /// 1. `forge.defaultBranch`
    /// 2. `HEAD` of a bare repository
    /// 3. the branch of `origin/HEAD`
    /// 4. `init.defaultBranch`
    /// 5. a common name such as `main`
    /// 6. `HEAD` of a work tree; it comes last, because it is only the branch of the current work
    pub(crate) async fn default_branch(&self) -> Result<Option<String>> {
        let found = self.find_default_branch().await?;
        Ok(found.map(|(branch, _)| branch))
    }

    /// Returns the default branch, and the reason why it is taken for the default branch.
    pub(crate) async fn find_default_branch(&self) -> Result<Option<(String, DefaultSource)>> {
        let git = self.git();
        let (head, origin, config) = tokio::join!(
            git.run(["symbolic-ref", "--quiet", "HEAD"]),
            git.run(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]),
            git.read_config(
                &[],
                r"^(core\.bare|forge\.defaultbranch|init\.defaultbranch)$"
            )
        );
        let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        let head = line(head?.stdout)
            .strip_prefix("refs/heads/")
            .map(str::to_owned);
        let origin = line(origin?.stdout)
            .strip_prefix("refs/remotes/origin/")
            .map(str::to_owned);
        let config = config?;
        let setting = |key: &str| {
            config
                .split(|b| *b == 0)
                .filter_map(|entry| std::str::from_utf8(entry).ok()?.split_once('\n'))
                .filter(|(k, _)| *k == key)
                .map(|(_, v)| v.to_owned())
                .next_back()
        };
        let bare = setting("core.bare").is_some_and(|v| v == "true");
        let configured = [
            setting("forge.defaultbranch"),
            head.clone().filter(|_| bare),
            origin,
        ];
        let configured = configured.map(|branch| (branch, DefaultSource::Configured));
        let usual = [setting("init.defaultbranch")]
            .into_iter()
            .chain(USUAL.map(|branch| Some(branch.to_owned())))
            .map(|branch| (branch, DefaultSource::UsualName));
        let candidates: Vec<(String, DefaultSource)> = configured
            .into_iter()
            .chain(usual)
            .chain([(head, DefaultSource::CheckedOut)])
            .filter_map(|(branch, source)| Some((branch?, source)))
            .collect();
        let names: Vec<String> = candidates.iter().map(|(c, _)| branch_ref(c)).collect();
        let found = self.store.cat().info_many(&names).await?;
        Ok(candidates
            .into_iter()
            .zip(found)
            .find(|(_, i)| i.is_some())
            .map(|(c, _)| c))
    }
}

/// Returns the text of the `description` file, unless it is git's template.
fn description(repository: &LocalRepository) -> Option<String> {
    let file = repository.common_dir.join("description");
    let text = state_file(&file)?;
    let text = std::str::from_utf8(&text).ok()?.trim();
    let ours = !text.is_empty() && !text.starts_with("Unnamed repository;");
    ours.then(|| text.to_owned())
}
