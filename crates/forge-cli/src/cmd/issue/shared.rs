use forge_core::{
    Error, PrKey, Repo, Result,
    model::{Issue, IssueId, IssueState},
    text,
};

use crate::cmd::{Ctx, pr::shared::repo_name};

/// An issue that a selector names, and its repository.
pub(super) struct SelectedIssue {
    pub repo: Repo,
    pub id: IssueId,
}

/// The issue of a number, or of a locator, which brings its own repository.
///
/// # Errors
/// `invalid_input` for what names no issue.
pub(super) async fn select(ctx: &Ctx, flag: Option<&str>, selector: &str) -> Result<SelectedIssue> {
    let selector = selector.trim();
    let digits = selector.strip_prefix('#').unwrap_or(selector);
    let (repo, key) = match digits.parse() {
        Ok(number) => (ctx.repo(flag).await?, PrKey::Number(number)),
        Err(_) if !selector.contains(['/', '#', ':']) => {
            let shown = text::one_line(selector);
            let message = format!("invalid issue format: \"{shown}\"");
            return Err(Error::invalid("issue", message).with_hint("pass its number or its URL"));
        }
        Err(_) => {
            let forges = ctx.forges()?;
            forges.open_issue(selector, ctx.policy()?).await?
        }
    };
    let id = IssueId {
        repo: repo.id().clone(),
        key,
    };
    Ok(SelectedIssue { repo, id })
}

/// `owner/name#7 (its title)`.
pub(super) fn with_title(issue: &Issue) -> String {
    let repo = repo_name(&issue.id.repo);
    let name = match &issue.id.key {
        PrKey::Number(number) => format!("{repo}#{number}"),
        PrKey::Record(uri) => uri.clone(),
    };
    format!("{name} ({})", text::one_line(&issue.title))
}

/// `OPEN` or `CLOSED`.
pub(super) fn state_word(state: IssueState) -> &'static str {
    match state {
        IssueState::Open => "OPEN",
        IssueState::Closed => "CLOSED",
    }
}

/// The names of its labels, sorted.
pub(super) fn label_names(issue: &Issue) -> Vec<String> {
    let mut names: Vec<String> = issue.labels.iter().map(|l| l.name.clone()).collect();
    names.sort_by_key(|name| name.to_lowercase());
    names
}
