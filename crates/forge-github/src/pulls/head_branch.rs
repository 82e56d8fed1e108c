//! Finds the repository of a pull request's head branch, and deletes the branch.

use forge_core::{
    DeletedBranch, Error, PrId, RepoId, Result, Step, Warning,
    model::{CreatePull, PrState, PullRequest},
    text::one_line,
};
use serde_json::{Value, json};

use super::dependents::{branch_kept, would_close};
use crate::{
    GitHub,
    gql::{mutation::DELETE_REF, selections, types as wire},
    mutate::or_read_back,
    owner_and_name,
};

/// Returns owner and name of the head's repository, if it is not `repo`.
pub(super) fn fork<'a>(repo: &'a RepoId, req: &'a CreatePull) -> Option<(&'a str, &'a str)> {
    let (owner, name) = owner_and_name(repo).ok()?;
    let head_owner = req.head.owner.as_deref()?;
    let head_name = req.head.repo.as_deref().unwrap_or(name);
    let same = head_owner.eq_ignore_ascii_case(owner) && head_name.eq_ignore_ascii_case(name);
    (!same).then_some((head_owner, head_name))
}

/// Quotes a branch name for a message, since the name may contain any character.
pub(super) fn quote_branch(branch: &str) -> String {
    format!("'{}'", one_line(branch))
}

impl GitHub {
    /// Like [`Self::delete_head`], for a closed pull request. Keeps a branch that has moved or is
    /// in a fork.
    pub(super) async fn delete_left_head(
        &self,
        pr: &PrId,
        pull: &PullRequest,
        before: &wire::Pull,
        steps: &mut Vec<Step>,
        warnings: &mut Vec<Warning>,
    ) -> bool {
        if let Some(kept) = branch_kept_warning(pr, pull, before) {
            warnings.push(kept);
            return false;
        }
        let into = match pull.state {
            PrState::Merged => Some(pull.base_branch.as_str()),
            _ => None,
        };
        self.delete_head_of(pr, before, (&pull.head_branch, into), steps, warnings)
            .await
    }

    /// Fails if the deletion of the head branch would close other pull requests.
    pub(super) async fn refuse_to_close_dependents(
        &self,
        pr: &PrId,
        branch: &str,
        before: &wire::Pull,
    ) -> Result<()> {
        let repo = before.base_repository.as_ref();
        let dependents = self.dependents_of(pr, branch, repo).await?;
        let numbers: Vec<u64> = dependents.iter().map(|pull| pull.number).collect();
        if numbers.is_empty() {
            Ok(())
        } else {
            Err(would_close(pr, &numbers))
        }
    }

    /// Deletes a head branch on which no open pull request is based. Pull requests that have it as
    /// base get the base branch `into` of the merged pull request first. Without `into`, or if one
    /// of them does not get it, the branch is kept.
    pub(super) async fn delete_head_of(
        &self,
        pr: &PrId,
        before: &wire::Pull,
        (branch, into): (&str, Option<&str>),
        steps: &mut Vec<Step>,
        warnings: &mut Vec<Warning>,
    ) -> bool {
        let repo = before.base_repository.as_ref();
        let dependents = match before.head_ref {
            Some(_) => self.dependents_of(pr, branch, repo).await,
            None => Ok(vec![]),
        };
        let kept = match (dependents, into) {
            (Err(e), _) => Some(e),
            (Ok(dependents), _) if dependents.is_empty() => None,
            (Ok(dependents), Some(into)) => {
                let kept = self.retarget(&dependents, into, steps, warnings).await;
                (!kept.is_empty()).then(|| would_close(pr, &kept))
            }
            (Ok(dependents), None) => {
                let numbers: Vec<u64> = dependents.iter().map(|pull| pull.number).collect();
                Some(would_close(pr, &numbers))
            }
        };
        if let Some(error) = kept {
            steps.push(Step::delete_head_branch(None));
            warnings.push(branch_kept(&error));
            return false;
        }
        self.delete_head(pr, before, branch, steps, warnings).await
    }

    /// Deletes the head branch in a separate request after the change. In one document, GitHub
    /// would delete the branch even if the change failed.
    pub(super) async fn delete_head(
        &self,
        pr: &PrId,
        before: &wire::Pull,
        branch: &str,
        steps: &mut Vec<Step>,
        warnings: &mut Vec<Warning>,
    ) -> bool {
        let Some(head) = &before.head_ref else {
            warnings.push(Warning::new(format!(
                "the head branch of {pr} is gone already"
            )));
            return false;
        };
        let written = self
            .send_one::<Value>(DELETE_REF, json!({ "refId": head.id }))
            .await
            .map(drop);
        let gone = |e: &Error| e.is_not_found();
        let written = match written {
            Err(e) if gone(&e) => Ok(()),
            other => other,
        };
        let done = or_read_back(written, || async {
            let (now, _) = self.lookup(pr, selections::HEAD_BRANCH).await?;
            Ok(now.head_ref.is_none().then_some(()))
        })
        .await;
        let tip = head.target.as_ref().and_then(|tip| tip.oid.0.clone());
        let tip = tip.or_else(|| before.head_ref_oid.0.clone());
        let deleted = done
            .is_ok()
            .then(|| DeletedBranch::new(branch, tip.unwrap_or_default()));
        steps.push(Step::delete_head_branch(deleted));
        match done {
            Ok(_) => true,
            Err(e) => {
                let warning = Warning::new(format!(
                    "the head branch could not be deleted: {}",
                    e.message()
                ));
                warnings.push(
                    warning.with_hint("delete it with `git push <remote> --delete <branch>`"),
                );
                false
            }
        }
    }
}

/// Returns the warning for a closed pull request whose branch is kept because it is in a fork or
/// has moved.
fn branch_kept_warning(pr: &PrId, pull: &PullRequest, wire: &wire::Pull) -> Option<Warning> {
    if wire.is_cross_repository {
        return Some(kept_in_fork(pr, wire));
    }
    let tip = wire.head_ref.as_ref()?.target.as_ref();
    let tip = tip.and_then(|tip| tip.oid.0.as_ref());
    if tip.is_some() && tip == pull.head_oid.as_ref() {
        return None;
    }
    Some(head_moved_warning(
        &pull.head_branch,
        tip.map(String::as_str),
    ))
}

/// Returns the warning for a branch that is kept because it moved to `tip`.
pub(super) fn head_moved_warning(branch: &str, tip: Option<&str>) -> Warning {
    let tip = tip.unwrap_or("a commit that was not read");
    Warning::new(format!(
        "the branch {} was not deleted: it has moved to {tip}",
        quote_branch(branch)
    ))
    .with_hint("delete it with git if its commits are not needed")
}

/// Returns the warning for a branch that is kept because it is in someone else's repository. GitHub
/// names no repository if it is deleted, or if the viewer cannot see it.
pub(super) fn kept_in_fork(pr: &PrId, pull: &wire::Pull) -> Warning {
    Warning::new(if pull.head_repository.is_none() {
        format!("no branch was deleted: the fork with the head branch of {pr} is gone, or hidden")
    } else {
        format!("the head branch of {pr} is in a fork, and was kept")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_fork_keeps_no_branch() {
        let pr = PrId::number(RepoId::local("/r"), 7);
        let told = |repository: Value| {
            let pull = json!({ "isCrossRepository": true, "headRepository": repository });
            let pull: wire::Pull = serde_json::from_value(pull).unwrap();
            kept_in_fork(&pr, &pull).message
        };
        let fork = json!({ "id": "R_fork", "name": "tools", "owner": { "login": "grace" } });
        assert!(told(fork).ends_with("is in a fork, and was kept"));
        assert!(told(Value::Null).starts_with("no branch was deleted: the fork"));
    }
}
