//! Finds the open pull requests whose base is a head branch, and gives them another base. GitHub
//! closes them if the branch is deleted.

use forge_core::{
    Action, Error, Hint, Op, Param, PrId, PrKey, Precondition, Result, Step, Warning,
    text::one_line,
};
use serde::Deserialize;
use serde_json::json;

use super::head_branch::quote_branch;
use crate::{
    GitHub, error,
    gql::{
        GqlDocument,
        mutation::{Batch, UPDATE_PULL},
        types::{self as wire, Nodes},
    },
    mutate::{PullPayload, failed},
    repo_variables,
};

/// The model's field for the open pull requests that are based on the head branch.
pub(super) const DEPENDENTS: &str = "dependents";

#[derive(Deserialize)]
struct DependentsOf {
    repository: Option<OpenPullsOf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenPullsOf {
    #[serde(default)]
    pull_requests: Option<Nodes<wire::OpenPull>>,
}

impl GitHub {
    /// Returns the open pull requests of the repository whose base is `branch`. `read` has the open
    /// pull requests of an answer. A further request follows only if that list is not complete.
    pub(super) async fn dependents_of(
        &self,
        pr: &PrId,
        branch: &str,
        read: Option<&wire::Repo>,
    ) -> Result<Vec<wire::OpenPull>> {
        let list = read.and_then(|repo| repo.open_pulls.as_ref());
        let complete = list.filter(|list| !list.has_gaps() && list.next().is_none());
        let all = match complete {
            Some(list) => list.clone(),
            None => self.read_dependents(pr, branch).await?,
        };
        let mut found = all.into_vec();
        found.retain(|pull| pull.base_ref_name == branch);
        Ok(found)
    }

    /// Returns the open pull requests that are based on the head branch of `pull`, for a view. If
    /// they cannot be read, adds a warning and returns `None`.
    pub(super) async fn dependents_for_view(
        &self,
        pr: &PrId,
        pull: &wire::Pull,
        warnings: &mut Vec<Warning>,
    ) -> Option<Vec<PrKey>> {
        // A branch of a fork is no base branch here.
        if pull.is_cross_repository {
            return Some(Vec::new());
        }
        let (branch, repo) = (&pull.head_ref_name, pull.base_repository.as_ref());
        match self.dependents_of(pr, branch, repo).await {
            Ok(found) => {
                let numbers = found.iter().map(|pull| PrKey::Number(pull.number));
                Some(numbers.collect())
            }
            Err(e) => {
                let message = format!(
                    "the pull requests that are based on its branch could not be read: {}",
                    e.message()
                );
                warnings.push(error::warning(message, &e).of_section(DEPENDENTS));
                None
            }
        }
    }

    async fn read_dependents(&self, pr: &PrId, branch: &str) -> Result<Nodes<wire::OpenPull>> {
        let mut variables = repo_variables(&pr.repo)?;
        variables.insert("base".into(), json!(branch));
        let text = GqlDocument::query("Dependents").text();
        let answer = self
            .api
            .query::<DependentsOf>(&text, &variables.into())
            .await?;
        let found = self.api.require_complete(answer)?.repository;
        let list = found.ok_or_else(|| error::no_repository(&pr.repo))?;
        let list = list.pull_requests.unwrap_or_default();
        if list.has_gaps() || list.next().is_some() {
            let shown = quote_branch(branch);
            let message = format!("more pull requests have the base {shown} than could be read");
            return Err(Error::precondition(Precondition::Rule, message)
                .with_hint("give them another base branch first"));
        }
        Ok(list)
    }

    /// Gives `dependents` the base branch `base`, in one request. Returns the numbers of those that
    /// did not get it.
    pub(super) async fn retarget(
        &self,
        dependents: &[wire::OpenPull],
        base: &str,
        steps: &mut Vec<Step>,
        warnings: &mut Vec<Warning>,
    ) -> Vec<u64> {
        let alias_of = |n: usize| format!("d{n}");
        let mut batch = Batch::default();
        for (n, pull) in dependents.iter().enumerate() {
            let input = json!({ "pullRequestId": pull.id, "baseRefName": base });
            batch.push(&alias_of(n), UPDATE_PULL, input);
        }
        let answer = self.send::<PullPayload>(&batch).await;
        let shown = one_line(base);
        let mut kept = Vec::new();
        for (n, pull) in dependents.iter().enumerate() {
            let number = pull.number;
            let error = match &answer {
                Ok(answer) => failed(answer, &alias_of(n)).map(|e| self.api.error(answer, e)),
                Err(e) => Some(Error::new(e.kind().clone(), e.message())),
            };
            let name = format!("give #{number} the base branch '{shown}'");
            steps.push(Step::new(name.clone(), error.is_none()));
            let Some(error) = error else { continue };
            let message = format!(
                "#{number} did not get the base branch '{shown}': {}",
                error.message()
            );
            let action = Action::op(Op::PrEdit).on(number).with(Param::Base, base);
            warnings.push(Warning::new(message).with_hint(Hint::from(name).with_action(action)));
            kept.push(number);
        }
        kept
    }
}

/// Returns the refusal to delete a head branch that is the base of other pull requests.
pub(super) fn would_close(pr: &PrId, numbers: &[u64]) -> Error {
    let message = format!(
        "deleting the head branch of {pr} would close {}, which {} it as base branch",
        list_of(numbers),
        if numbers.len() == 1 { "has" } else { "have" },
    );
    let first = numbers.first().copied().unwrap_or_default();
    let action = Action::op(Op::PrEdit).on(first).choose(Param::Base);
    Error::precondition(Precondition::Rule, message).with_hint(
        Hint::new("keep the branch, or give them another base branch first").with_action(action),
    )
}

/// Returns the warning for a head branch that is kept because of `why`.
pub(super) fn branch_kept(error: &Error) -> Warning {
    error::warning(
        format!("the head branch was kept: {}", error.message()),
        error,
    )
}

/// Lists numbers as a sentence does: `#8, #9 and #10`.
fn list_of(numbers: &[u64]) -> String {
    let names: Vec<String> = numbers.iter().map(|number| format!("#{number}")).collect();
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}
