//! Commits file edits to an existing branch.

use forge_core::{
    Error, ErrorKind, Outcome, Precondition, RepoId, Result, Retry, check_expected_head,
    is_full_oid,
    model::{PushEdits, PushedCommit},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{edits, head_branch::quote_branch};
use crate::{
    GitHub,
    api::GqlAnswer,
    error::{ambiguous, no_repository},
    gql::{GqlDocument, lookups::Lookups, mutation::CREATE_COMMIT},
    owner_and_name, repo_variables,
};

#[derive(Deserialize)]
struct PreparedPush {
    repository: Option<PreparedPushRepo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreparedPushRepo {
    #[serde(default)]
    is_archived: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct CommitPayload {
    commit: Option<Oid>,
}

#[derive(Deserialize)]
struct Oid {
    oid: String,
}

impl GitHub {
    pub(crate) async fn commit_on_branch(
        &self,
        repo: &RepoId,
        req: &PushEdits,
    ) -> Result<Outcome<PushedCommit>> {
        req.check()?;
        let found = self.prepare_push(repo, req).await?;
        if found.is_archived {
            let why = format!("{repo} is archived");
            return Err(Error::precondition(Precondition::Rule, why)
                .with_hint("ask an admin to unarchive it"));
        }
        let branch = quote_branch(&req.branch);
        let Some(tip) = edits::tip(&found.rest) else {
            let why = format!("there is no branch {branch} in {repo}");
            return Err(Error::no_branch("branch", why).with_hint(
                "name an existing branch; to create a branch, open a pull request with edits",
            ));
        };
        let place = format!("branch {branch} of {repo}");
        check_expected_head(&place, Some(&req.expected_head), Some(&tip))?;
        let mut edited = edits::changes(&found.rest, &req.edits, &req.branch)?;
        let left_out = edited.left_out.take();
        let (owner, name) = owner_and_name(repo)?;
        let (headline, body) = req.parts();
        let input = json!({
            "branch": {
                "repositoryNameWithOwner": format!("{owner}/{name}"),
                "branchName": req.branch,
            },
            "expectedHeadOid": tip,
            "message": { "headline": headline, "body": body },
            "fileChanges": edited.into_changes(),
        });
        match self.send_commit(input).await {
            Ok(oid) => {
                let mut outcome = Outcome::immediate(PushedCommit::new(&req.branch, oid));
                outcome.warnings.extend(left_out);
                Ok(outcome)
            }
            Err(error) if error.retry() == Retry::Ambiguous => {
                Err(self.add_branch_tip(repo, req, &tip, error).await)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the branch and the files that the edits name.
    async fn prepare_push(&self, repo: &RepoId, req: &PushEdits) -> Result<PreparedPushRepo> {
        let mut lookups = Lookups::default();
        lookups.files(Some(&req.branch), edits::paths_to_check(&req.edits));
        let mut document = GqlDocument::query("PushPrepare");
        let mut variables = repo_variables(repo)?;
        lookups.add_to(&mut document, &mut variables);
        let mut answer: GqlAnswer<PreparedPush> =
            self.api.query(&document.text(), &variables.into()).await?;
        answer.errors.retain(|e| !lookups.expects(e));
        let found = self.api.require_complete(answer)?.repository;
        found.ok_or_else(|| no_repository(repo))
    }

    async fn send_commit(&self, input: Value) -> Result<String> {
        let made: CommitPayload = self.send_one(CREATE_COMMIT, input).await?;
        let oid = made
            .commit
            .map(|commit| commit.oid)
            .filter(|oid| is_full_oid(oid));
        oid.ok_or_else(|| {
            let why = format!("{} named no commit after the push", self.info.host);
            ambiguous(Error::new(ErrorKind::Protocol, why))
        })
    }

    /// Adds the branch's tip to the error of a push whose answer was lost or contains no commit.
    /// The tip may be someone else's commit, so the push is not reported as a success.
    async fn add_branch_tip(
        &self,
        repo: &RepoId,
        req: &PushEdits,
        before: &str,
        error: Error,
    ) -> Error {
        let Ok(found) = self.prepare_push(repo, req).await else {
            return error;
        };
        match edits::tip(&found.rest) {
            Some(tip) if tip == before => {
                error.with_hint("try again: GitHub shows no trace of the write")
            }
            Some(tip) if is_full_oid(&tip) => {
                let branch = quote_branch(&req.branch);
                error.with_hint(format!(
                    "branch {branch} is now at commit {tip}: check whether that commit has your \
                     change before you try again"
                ))
            }
            _ => error,
        }
    }
}
