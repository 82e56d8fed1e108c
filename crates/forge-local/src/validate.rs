//! Checks that run before any write.

use forge_core::{Action, Arg, Error, Hint, Param, Result, model::Reviewer, suggest, text};
use forge_git::{CatFile, refname_problem};

use crate::{Local, store::branch_ref};

/// Recovery: repeat the failed call with another body.
pub(crate) const CHOOSE_BODY: Action = Action::again(&[(Param::Body, Arg::Choose)]);

/// Checks a login from user input.
pub(crate) fn login(field: &'static str, login: &str) -> Result<()> {
    let bad = login.is_empty()
        || login.chars().count() > 100
        || login.starts_with('@')
        || login
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || c == ',');
    if bad {
        let shown = text::one_line(login).into_owned();
        return Err(Error::invalid(field, format!("'{shown}' is not a login"))
            .with_hint("a login here is the part of a git e-mail address before the @"));
    }
    Ok(())
}

/// Checks reviewers. Only people are accepted, because a git repository has no teams.
pub(crate) fn reviewers(list: &[Reviewer]) -> Result<()> {
    for reviewer in list {
        match reviewer {
            Reviewer::User { login: name, .. } | Reviewer::Bot { login: name } => {
                login("reviewers", name)?
            }
            Reviewer::Team { .. } => {
                return Err(Local::unsupported(forge_core::Capability::PrReviewersTeam));
            }
        }
    }
    Ok(())
}

impl Local {
    /// Returns the tip of `branch`. Fails if the branch does not exist.
    pub(crate) async fn branch_tip(
        &self,
        cat: &mut CatFile,
        field: &'static str,
        branch: &str,
    ) -> Result<String> {
        let shown = text::one_line(branch).into_owned();
        if let Some(problem) = refname_problem(&branch_ref(branch)) {
            return Err(Error::invalid(
                field,
                format!("'{shown}' is not a branch name: {problem}"),
            )
            .with_hint("see the branches with `git branch --list`"));
        }
        if let Some(info) = cat.info(&branch_ref(branch)).await? {
            return Ok(info.oid);
        }
        let list = self
            .git()
            .run_ok([
                "for-each-ref",
                "--format=%(refname:lstrip=2)",
                "refs/heads/",
            ])
            .await?;
        let list = String::from_utf8_lossy(&list).into_owned();
        let role = match field {
            "branch" => "branch".to_owned(),
            role => format!("{role} branch"),
        };
        let message = if list.is_empty() {
            format!("the {role} '{shown}' does not exist: the repository has no commits yet")
        } else {
            format!("the {role} '{shown}' does not exist in {}", self.url())
        };
        let hint = suggest::hint(branch, list.lines(), "branches");
        let corrected = suggest::corrected(&[Param::Base, Param::Head], branch, list.lines());
        Err(Error::no_branch(field, message).with_hint(Hint::from(hint).with_any_action(corrected)))
    }
}
