//! What is checked before anything is written.

use forge_core::{Error, Result, model::Reviewer, text};
use forge_git::{CatFile, refname_problem};

use crate::{Local, caps::LIMITS, store::branch_ref};

/// A title: one line, not blank, not too long; without space around it.
pub(crate) fn title(title: &str) -> Result<String> {
    let trimmed = title.trim();
    if trimmed.is_empty() {
        return Err(Error::invalid("title", "the title is empty").with_hint("give it a title"));
    }
    if trimmed.contains(['\n', '\r']) {
        return Err(Error::invalid("title", "the title has more than one line")
            .with_hint("put all but the first line into the description"));
    }
    let length = trimmed.chars().count();
    if length > LIMITS.title_max {
        let most = LIMITS.title_max;
        return Err(Error::invalid(
            "title",
            format!("the title has {length} characters, and {most} is the most"),
        )
        .with_hint("shorten it, and put the rest into the description"));
    }
    Ok(trimmed.to_owned())
}

/// A body that may be empty, but not too long.
pub(crate) fn body_size(field: &'static str, body: &str) -> Result<()> {
    let length = body.chars().count();
    let most = LIMITS.body_max;
    if length <= most {
        return Ok(());
    }
    Err(Error::invalid(
        field,
        format!("the {field} has {length} characters, and {most} is the most"),
    )
    .with_hint("shorten it, or commit the long part as a file and name that"))
}

/// A body that must say something.
pub(crate) fn body(body: &str) -> Result<()> {
    if body.trim().is_empty() {
        return Err(Error::invalid("body", "the body is empty").with_hint("write something"));
    }
    body_size("body", body)
}

/// A login that somebody typed.
pub(crate) fn login(field: &'static str, login: &str) -> Result<()> {
    let bad = login.is_empty()
        || login.chars().count() > 100
        || login.starts_with('@')
        || login
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || c == ',');
    if bad {
        let shown = text::one_line(login).into_owned();
        return Err(Error::invalid(field, format!("'{shown}' is no login"))
            .with_hint("a login here is the part of a git e-mail address before the @"));
    }
    Ok(())
}

/// Reviewers: people alone, because a repository knows no teams.
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
    /// The tip of `branch`, which must exist.
    pub(crate) async fn branch_tip(
        &self,
        cat: &mut CatFile,
        field: &'static str,
        branch: &str,
    ) -> Result<String> {
        let shown = text::one_line(branch).into_owned();
        if let Some(problem) = refname_problem(&branch_ref(branch)) {
            return Err(
                Error::invalid(field, format!("'{shown}' is no branch name: {problem}"))
                    .with_hint("git branch --list shows the branches"),
            );
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
        let message = if list.is_empty() {
            format!(
                "the {field} branch '{shown}' does not exist: the repository has no commits yet"
            )
        } else {
            format!(
                "the {field} branch '{shown}' does not exist in {}",
                self.url()
            )
        };
        Err(
            Error::no_branch(field, message).with_hint(forge_core::near::hint(
                branch,
                list.lines(),
                "branches",
            )),
        )
    }
}
