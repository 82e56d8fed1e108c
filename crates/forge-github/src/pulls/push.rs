//! Commits file edits to an existing branch.

use forge_core::{
    Error, Outcome, Precondition, RepoId, Result, check_expected_head,
    model::{PushEdits, PushedCommit},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{edits, head_branch::shown};
use crate::{
    GitHub,
    api::Answer,
    error::no_repository,
    gql::{Document, lookups::Lookups, mutation::CREATE_COMMIT},
    owner_and_name, repo_variables,
};

#[derive(Deserialize)]
struct Prepared {
    repository: Option<PreparedRepo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreparedRepo {
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
        let mut lookups = Lookups::default();
        lookups.files(Some(&req.branch), edits::looked_at(&req.edits));
        let mut document = Document::query("PushPrepare");
        let mut variables = repo_variables(repo)?;
        lookups.add_to(&mut document, &mut variables);
        let mut answer: Answer<Prepared> =
            self.api.query(&document.text(), &variables.into()).await?;
        answer.errors.retain(|e| !lookups.expects(e));
        let found = self.api.whole(answer)?.repository;
        let found = found.ok_or_else(|| no_repository(repo))?;
        if found.is_archived {
            let why = format!("{repo} is archived");
            return Err(Error::precondition(Precondition::Rule, why)
                .with_hint("ask an admin to unarchive it"));
        }
        let branch = shown(&req.branch);
        let Some(tip) = edits::tip(&found.rest) else {
            let why = format!("there is no branch {branch} in {repo}");
            return Err(Error::no_branch("branch", why)
                .with_hint("name a branch that is there: a new one is made with a pull request"));
        };
        let place = format!("branch {branch} of {repo}");
        check_expected_head(&place, Some(&req.expected_head), Some(&tip))?;
        let edited = edits::changes(&found.rest, &req.edits, &req.branch)?;
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
        let made: CommitPayload = self.send_one(CREATE_COMMIT, input).await?;
        Ok(Outcome::immediate(PushedCommit {
            branch: req.branch.clone(),
            oid: made.commit.map_or_else(String::new, |commit| commit.oid),
        }))
    }
}
