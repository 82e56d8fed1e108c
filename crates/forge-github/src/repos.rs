//! Repositories and the viewer.

use std::borrow::Cow;

use async_trait::async_trait;
use forge_core::{
    Action, Arg, Call, Capability, Cursor, Error, Hint, IndexLimit, Noun, Op, Outcome, Page,
    PageReq, Param, RepoId, RepoPath, Repos, Result, Support,
    model::{
        Actor, Branch, Examined, MergeMethod, PathContent, Permission, PushEdits, PushedCommit,
        RepoInfo,
    },
};
use http::{Method, StatusCode};
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use serde_json::json;

use crate::{
    GitHub,
    api::JSON,
    error,
    gql::{
        GqlDocument,
        types::{self as wire, Nodes},
    },
    map,
    paged::MAX_PAGE_SIZE,
    pulls::{SEGMENT, repo_route},
    repo_variables,
};

#[derive(Deserialize)]
struct ViewerOf {
    viewer: Option<wire::Account>,
}

#[derive(Deserialize)]
struct RepoOf {
    repository: Option<wire::Repo>,
}

#[derive(Deserialize)]
struct BranchesOf {
    repository: Option<RepoRefs>,
}

#[derive(Deserialize)]
struct RepoRefs {
    refs: Option<Nodes<Ref>>,
}

#[derive(Deserialize)]
struct Ref {
    name: String,
    target: Option<TargetCommit>,
}

#[derive(Deserialize)]
struct TargetCommit {
    oid: String,
}

/// A branch in GitHub's REST API.
#[derive(Deserialize)]
struct ProtectedBranch {
    protected: bool,
}

/// A fork in GitHub's REST API.
#[derive(Deserialize)]
struct ForkedRepo {
    name: String,
    owner: ForkOwner,
}

#[derive(Deserialize)]
struct ForkOwner {
    login: String,
}

/// The prefix of branch cursors.
const BRANCHES: &str = "github-branches";

#[async_trait]
impl Repos for GitHub {
    async fn viewer(&self, _: &RepoId) -> Result<Actor> {
        let text = GqlDocument::query("Viewer").text();
        let answer = self
            .api
            .query::<ViewerOf>(&text, &serde_json::json!({}))
            .await?;
        Ok(map::actor(self.api.require_complete(answer)?.viewer))
    }

    /// Forks a repository. GitHub's answer does not distinguish a new fork from an existing one
    /// (docs.github.com/en/rest/repos/forks).
    async fn fork(&self, repo: &RepoId) -> Result<Outcome<RepoId>> {
        let path = format!("{}/forks", repo_route(repo)?);
        let body = json!({});
        let answer = self
            .api
            .rest(Method::POST, &path, JSON, Some(&body))
            .await?;
        let (status, headers, bytes) = answer;
        let about = self.api.error_context(true);
        if !status.is_success() {
            return Err(error::from_http(about, status, &headers, &bytes));
        }
        let made: ForkedRepo = serde_json::from_slice(&bytes).map_err(|e| {
            let what = format!("the answer of {} to a fork", self.info.host);
            about.misread(&what, &e)
        })?;
        let path = RepoPath::Named {
            owner: made.owner.login,
            name: made.name,
        };
        Ok(Outcome::immediate(RepoId {
            path,
            ..repo.clone()
        }))
    }

    async fn repo(&self, repo: &RepoId) -> Result<RepoInfo> {
        let text = GqlDocument::query("Repository").text();
        let answer = self
            .api
            .query::<RepoOf>(&text, &repo_variables(repo)?.into())
            .await?;
        let lacking = self.api.missing_scopes(&answer);
        let found = self.api.require_complete(answer)?.repository;
        let found = found.ok_or_else(|| missing_repo_error(repo))?;
        Ok(info(&self.info.host, found, lacking))
    }

    async fn index_limits(&self, _: &RepoId) -> Result<Vec<IndexLimit>> {
        Ok(Vec::new())
    }

    async fn branches(&self, repo: &RepoId, page: PageReq) -> Result<Page<Branch>> {
        let key = repo.comparison_key();
        let cursor = page.position(BRANCHES, &key)?;
        let mut variables = repo_variables(repo)?;
        variables.insert("first".into(), json!(page.limit.clamp(1, MAX_PAGE_SIZE)));
        variables.insert("after".into(), json!(cursor));
        let text = GqlDocument::query("Branches").text();
        let answer = self
            .api
            .query::<BranchesOf>(&text, &variables.into())
            .await?;
        let found = self.api.require_complete(answer)?.repository;
        let refs = found
            .ok_or_else(|| missing_repo_error(repo))?
            .refs
            .unwrap_or_default();
        let next = refs.next().map(|end| Cursor::new(BRANCHES, &key, &end));
        let total = refs.total_count;
        let items = refs.into_vec().into_iter().filter_map(|r| {
            let oid = r.target?.oid;
            Some(Branch::new(r.name, oid))
        });
        let mut result = Page::new(items.collect());
        result.next = next;
        result.total = total;
        Ok(result)
    }

    /// Reads the flag `protected`, which every reader of the repository sees
    /// (docs.github.com/en/rest/branches/branches#get-a-branch).
    async fn branch_is_protected(&self, repo: &RepoId, branch: &str) -> Result<bool> {
        let branch = utf8_percent_encode(branch, SEGMENT);
        let path = format!("{}/branches/{branch}", repo_route(repo)?);
        let (status, headers, bytes) = self.api.rest(Method::GET, &path, JSON, None).await?;
        let about = self.api.error_context(false);
        if status == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        if !status.is_success() {
            return Err(error::from_http(about, status, &headers, &bytes));
        }
        let found: ProtectedBranch = serde_json::from_slice(&bytes)
            .map_err(|e| about.misread("the protection of the branch", &e))?;
        Ok(found.protected)
    }

    async fn repo_file(
        &self,
        repo: &RepoId,
        path: &str,
        at: Option<&str>,
    ) -> Result<Option<PathContent>> {
        self.file_at(repo, path, at).await
    }

    async fn push_edits(&self, repo: &RepoId, req: &PushEdits) -> Result<Outcome<PushedCommit>> {
        self.commit_on_branch(repo, req).await
    }

    async fn examine(&self, repo: &RepoId, live: bool) -> Vec<Examined> {
        self.examine_host(repo, live).await
    }
}

fn missing_repo_error(repo: &RepoId) -> Error {
    Error::not_found(Noun::Repo, format!("there is no repository {repo}"))
        .with_hint("check the name, and whether the account may see it")
}

pub(crate) fn method(word: Option<&str>) -> Option<MergeMethod> {
    match word? {
        "MERGE" => Some(MergeMethod::Merge),
        "SQUASH" => Some(MergeMethod::Squash),
        "REBASE" => Some(MergeMethod::Rebase),
        _ => None,
    }
}

/// Returns the merge methods that a repository allows, with its default first.
pub(crate) fn methods(repo: &wire::Repo) -> Vec<MergeMethod> {
    let mut allowed: Vec<MergeMethod> = [
        (MergeMethod::Merge, repo.merge_commit_allowed),
        (MergeMethod::Squash, repo.squash_merge_allowed),
        (MergeMethod::Rebase, repo.rebase_merge_allowed),
    ]
    .into_iter()
    .filter_map(|(m, allowed)| allowed.then_some(m))
    .collect();
    let default = method(repo.viewer_default_merge_method.as_deref());
    allowed.sort_by_key(|m| Some(*m) != default);
    allowed
}

static OTHER_METHOD: Hint = Hint::fixed(
    "use another merge method",
    Action::again(&[(Param::Method, Arg::Choose)]),
);
static MERGE_LATER: Hint = Hint::fixed(
    "wait for the checks, then merge",
    Action::fixed(
        Call::Op(Op::Checks),
        &[(Param::WaitFor, Arg::Set(Cow::Borrowed("checks")))],
    ),
);
static UNARCHIVE: Hint = Hint::new("ask an admin to unarchive it");

fn info(host: &str, repo: wire::Repo, missing_scopes: Vec<String>) -> RepoInfo {
    let merge_methods = methods(&repo);
    let default = method(repo.viewer_default_merge_method.as_deref());
    let no = |why, instead| Support::No { why, instead };
    let mut overrides = Vec::new();
    for (method, capability) in [
        (MergeMethod::Merge, Capability::MergeCommit),
        (MergeMethod::Squash, Capability::MergeSquash),
        (MergeMethod::Rebase, Capability::MergeRebase),
    ] {
        if !merge_methods.contains(&method) {
            let support = no("the repository does not allow this method", &OTHER_METHOD);
            overrides.push((capability, support));
        }
    }
    if !repo.auto_merge_allowed {
        let support = no("the repository does not allow auto-merge", &MERGE_LATER);
        overrides.push((Capability::MergeAuto, support));
    }
    if repo.is_archived {
        overrides.clear();
        let writes = Capability::ALL.iter().filter(|c| !c.reads());
        overrides.extend(writes.map(|c| (*c, no("the repository is archived", &UNARCHIVE))));
    }
    let name = wire::RepoName {
        name: repo.name,
        owner: repo.owner,
        ..wire::RepoName::default()
    };
    let mut info = RepoInfo::new(map::repo_id(host, &name), repo.url);
    info.default_branch = repo.default_branch_ref.map(|r| r.name);
    info.description = repo.description.filter(|d| !d.is_empty());
    info.archived = repo.is_archived;
    info.parent = repo.parent.map(|p| map::repo_id(host, &p));
    info.permission = match repo.viewer_permission.as_deref() {
        Some("ADMIN") => Permission::Admin,
        Some("MAINTAIN" | "WRITE") => Permission::Write,
        Some("TRIAGE") => Permission::Triage,
        _ => Permission::Read,
    };
    info.default_merge_method = default.filter(|m| merge_methods.contains(m));
    info.merge_methods = merge_methods;
    info.missing_scopes = missing_scopes;
    info.overrides = overrides;
    info
}
