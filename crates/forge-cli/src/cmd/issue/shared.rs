use clap::Args;
use forge::workflow::{Workflow, WorkflowValue, check_size, with_setup};
use forge_core::{
    Action, Arg, Call, Capability, Error, Hint, Op, Outcome, Param, PrId, PrKey, Repo, Result,
    Step, Warning,
    model::{
        BoardId, ClosingPull, EditIssue, Issue, IssueFields, IssueId, IssueState, Link, LinkState,
        RelatedIssue, Subject,
    },
    text,
};
use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use crate::{
    cmd::{
        Ctx,
        pr::{
            merged_issues::warning_of,
            shared::{has, names, repo_name},
        },
    },
    ui::json::{Selection, ShownIssue},
};

/// `--estimate` and `--priority`
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueArgs {
    /// The estimate, such as M; "" for none
    #[arg(long, value_name = "value")]
    pub estimate: Option<String>,
    /// The priority, such as P1; "" for none
    #[arg(long, value_name = "value")]
    pub priority: Option<String>,
}

impl ValueArgs {
    /// Returns true if a value is set or cleared.
    pub(super) fn is_given(&self) -> bool {
        self.estimate.is_some() || self.priority.is_some()
    }

    /// If a value was given, adds a hint to the error: how to create the missing field or label.
    pub(super) fn with_setup(&self, e: Error) -> Error {
        match self.is_given() {
            true => with_setup(e),
            false => e,
        }
    }

    /// Adds estimate and priority to `edit`, in the form in which the workflow stores them. `issue`
    /// is the edited issue, if it already exists.
    ///
    /// # Errors
    /// `invalid_input` (field `estimate` or `priority`) for a value that the workflow does not
    /// define.
    pub(super) fn put(
        &self,
        workflow: &Workflow,
        issue: Option<&Issue>,
        edit: &mut EditIssue,
    ) -> Result<()> {
        let (store, definition) = (workflow.store(), workflow.definition());
        let given = [
            (WorkflowValue::Estimate, &self.estimate),
            (WorkflowValue::Priority, &self.priority),
        ];
        for (size, value) in given {
            let Some(value) = value.as_ref().map(|value| value.trim()) else {
                continue;
            };
            let value = match value {
                "" => None,
                value => Some(check_size(definition, size, value)?),
            };
            store.put_size(definition, issue, size, value, edit);
        }
        Ok(())
    }
}

/// Returns the configured board (a GitHub project), if the forge uses boards.
///
/// # Errors
///
/// `invalid_input` for an invalid board.
pub(super) fn board(ctx: &Ctx, repo: &Repo) -> Result<Option<BoardId>> {
    let board = ctx.config()?.workflow_board();
    let board = board.filter(|_| has(repo, Capability::IssueBoard));
    board.map(|board| board.parse()).transpose()
}

/// An issue that a selector names, with the issue's repository.
pub(crate) struct SelectedIssue {
    pub repo: Repo,
    pub id: IssueId,
}

/// Resolves a selector: a number, or a locator (such as a URL) that contains a repository.
///
/// # Errors
///
/// `invalid_input` for an invalid selector.
pub(crate) async fn select(ctx: &Ctx, flag: Option<&str>, selector: &str) -> Result<SelectedIssue> {
    let repo = match number(selector) {
        Some(_) => ctx.repo(flag).await?,
        None => return located(ctx, selector).await,
    };
    let id = related(ctx, &repo, selector).await?;
    Ok(SelectedIssue { repo, id })
}

/// Resolves several selectors in one repository.
///
/// # Errors
/// The errors of [`select`]; `invalid_input` for an issue of another repository.
pub(super) async fn select_all(
    ctx: &Ctx,
    flag: Option<&str>,
    selectors: &[String],
) -> Result<(Repo, Vec<IssueId>)> {
    let mut all: Vec<IssueId> = Vec::with_capacity(selectors.len());
    let (mut repo, mut base): (Option<Repo>, Option<Repo>) = (None, None);
    for selector in selectors {
        let selected = match (number(selector), &base) {
            (Some(number), Some(repo)) => SelectedIssue {
                repo: repo.clone(),
                id: repo.issue_id(number),
            },
            _ => select(ctx, flag, selector).await?,
        };
        if number(selector).is_some() {
            base = Some(selected.repo.clone());
        }
        let first = repo.get_or_insert_with(|| selected.repo.clone());
        if first.id().comparison_key() != selected.id.repo.comparison_key() {
            let message = format!(
                "{} is in another repository than {}",
                selected.id,
                first.id()
            );
            return Err(Error::invalid("issue", message)
                .with_hint("name issues of one repository at a time"));
        }
        if !all.contains(&selected.id) {
            all.push(selected.id);
        }
    }
    let repo = repo.ok_or_else(|| Error::invalid("issue", "no issue was named"))?;
    Ok((repo, all))
}

/// Resolves an issue related to an issue of `repo`: a number in the same repository, or a locator.
///
/// # Errors
/// The errors of [`select`].
pub(super) async fn related(ctx: &Ctx, repo: &Repo, selector: &str) -> Result<IssueId> {
    match number(selector) {
        Some(number) => Ok(repo.issue_id(number)),
        None => Ok(located(ctx, selector).await?.id),
    }
}

/// Resolves each entry of a comma-separated list, as [`related`] does.
///
/// # Errors
///
/// The errors of [`select`].
pub(crate) async fn all_related(ctx: &Ctx, repo: &Repo, listed: &[String]) -> Result<Vec<IssueId>> {
    let mut all = Vec::new();
    for name in names(listed) {
        all.push(related(ctx, repo, &name).await?);
    }
    Ok(all)
}

fn number(selector: &str) -> Option<u64> {
    let selector = selector.trim();
    selector.strip_prefix('#').unwrap_or(selector).parse().ok()
}

async fn located(ctx: &Ctx, selector: &str) -> Result<SelectedIssue> {
    let selector = selector.trim();
    if !selector.contains(['/', '#', ':']) {
        let shown = text::one_line(selector);
        let message = format!("invalid issue format: \"{shown}\"");
        return Err(Error::invalid("issue", message).with_hint("pass its number or its URL"));
    }
    let forges = ctx.forges()?;
    let opened = forges.open_issue(selector, ctx.policy()?).await;
    let (repo, key) = opened.map_err(|e| instead(ctx, selector, e))?;
    let id = IssueId {
        repo: repo.id().clone(),
        key,
    };
    Ok(SelectedIssue { repo, id })
}

/// If the selector is the URL of a pull request, suggests the matching `forge pr` command in the
/// error.
fn instead(ctx: &Ctx, selector: &str, e: Error) -> Error {
    let views = |hint: &Hint| {
        let action = hint.action();
        action.is_some_and(|a| a.call() == Call::Op(Op::PrView) && a.target().is_none())
    };
    if !e.hint().is_some_and(views) {
        return e;
    }
    let named = &ctx.ui.named().path;
    let (op, text) = match named.last().map(String::as_str) {
        Some("close") => (Op::PrClose, "close the pull request"),
        Some("reopen") => (Op::PrReopen, "reopen the pull request"),
        Some("comment") => (Op::Comment, "comment on the pull request"),
        Some("history") => (Op::PrHistory, "see its history"),
        _ => (Op::PrView, "view the pull request"),
    };
    e.with_hint(Hint::new(text).with_action(Action::op(op).on(selector)))
}

/// Returns the optional parts of an issue that `issue view` shows.
///
/// # Errors
/// The errors of [`board`].
pub(super) fn shown_sections(ctx: &Ctx, repo: &Repo, comments: bool) -> Result<IssueFields> {
    let mut fields = IssueFields::NONE;
    fields.comments = comments;
    fields.relations = has(repo, Capability::IssueRelations);
    fields.board = board(ctx, repo)?;
    Ok(fields)
}

/// Returns the optional parts of an issue that the selected JSON fields need.
///
/// # Errors
/// The errors of [`board`].
pub(super) fn selected_sections(
    ctx: &Ctx,
    repo: &Repo,
    selection: &Selection<ShownIssue, IssueFields>,
) -> Result<IssueFields> {
    let mut fields = selection.issue_sections(board(ctx, repo)?);
    // A forge with issue types returns a summary of the sub-issues. Other forges do not, so the
    // relations are read and counted.
    let has_summary = has(repo, Capability::IssueTypes);
    fields.relations |= !has_summary && selection.shows(&["subIssuesSummary"]);
    Ok(fields)
}

/// Adds the selected values that the forge does not store in the issue: estimate, priority, and the
/// pull requests that close the issue.
///
/// # Errors
///
/// `config` for an unusable workflow.
pub(super) async fn with_values(
    ctx: &Ctx,
    repo: &Repo,
    mut issues: Vec<Issue>,
    selection: &Selection<ShownIssue, IssueFields>,
) -> Result<Vec<ShownIssue>> {
    if selection.shows(&["closedByPullRequestsReferences"]) {
        issues = with_closing_pulls(ctx, repo, issues).await;
    }
    let workflow = match selection.shows(&["estimate", "priority"]) {
        true => Some(ctx.forges()?.workflow(repo).await?),
        false => None,
    };
    let shown = issues.into_iter().map(|issue| {
        let value = |size| {
            let workflow = workflow.as_ref()?;
            let store = workflow.store();
            store.size(workflow.definition(), &issue, size)
        };
        ShownIssue {
            estimate: value(WorkflowValue::Estimate),
            priority: value(WorkflowValue::Priority),
            issue,
        }
    });
    Ok(shown.collect())
}

/// Adds the pull requests that close the issues. If the forge does not list them in the issue,
/// reads the issue's links. Links that could not be read become warnings.
async fn with_closing_pulls(ctx: &Ctx, repo: &Repo, issues: Vec<Issue>) -> Vec<Issue> {
    let at_once = repo.concurrency().get();
    let read = issues.into_iter().map(|mut issue| async move {
        if issue.closing_pulls.is_some() {
            return (issue, Vec::new());
        }
        let warnings = match repo.links(&Subject::Issue(issue.id.clone())).await {
            Ok(links) => {
                issue.closing_pulls = Some(closing_pulls(&issue.id, links.closed_by));
                links.warnings
            }
            Err(e) => vec![warning_of(
                &e,
                "cannot read the pull requests that close the issue",
            )],
        };
        (issue, warnings)
    });
    let read: Vec<(Issue, Vec<Warning>)> = stream::iter(read).buffered(at_once).collect().await;
    let rows = read.iter();
    let rows = rows.map(|(issue, warnings)| (issue.id.key.to_string(), warnings.as_slice()));
    for warning in Warning::of_rows(rows, &[]) {
        ctx.ui.warning(&warning);
    }
    read.into_iter().map(|(issue, _)| issue).collect()
}

/// Returns the pull requests that close an issue. Like gh, this leaves out pull requests that were
/// closed without a merge.
fn closing_pulls(id: &IssueId, closed_by: Vec<Link>) -> Vec<ClosingPull> {
    let open_or_merged = |link: &Link| link.state != Some(LinkState::Closed);
    let pulls = closed_by.into_iter().filter(open_or_merged).map(|link| {
        let pull = PrId {
            repo: link.repo.unwrap_or_else(|| id.repo.clone()),
            key: link.key,
        };
        let locator = pull.to_string();
        ClosingPull::new(pull, locator)
    });
    pulls.collect()
}

/// Formats a related issue: `#7 Its title`, marked if closed.
pub(super) fn relation(to: &RelatedIssue, of: &IssueId) -> String {
    let name = match &to.id.key {
        PrKey::Number(number) if to.id.repo == of.repo => format!("#{number}"),
        _ => name(&to.id),
    };
    let closed = match to.state {
        IssueState::Open => "",
        IssueState::Closed => " (closed)",
    };
    format!("{name} {}{closed}", text::one_line(&to.title))
}

/// Returns an issue's name: `owner/name#7`, or the full locator where issues and pull requests have
/// separate numbers.
pub(super) fn name(id: &IssueId) -> String {
    match &id.key {
        PrKey::Number(number) if !id.repo.numbers_issues_apart() => {
            format!("{}#{number}", repo_name(&id.repo))
        }
        _ => id.to_string(),
    }
}

/// Adds the comment that the forge skipped because the issue already had the requested state.
pub(super) async fn add_skipped_comment(repo: &Repo, outcome: &mut Outcome<Issue>) -> Result<()> {
    let mut warnings = outcome.warnings.iter().enumerate();
    let Some((at, body)) = warnings.find_map(|(at, w)| Some((at, skipped_comment(w)?))) else {
        return Ok(());
    };
    let made = repo.create_issue_comment(&outcome.value.id, &body).await?;
    outcome.warnings.remove(at);
    outcome.warnings.extend(made.warnings);
    outcome.ingestion = outcome.ingestion.clone().combine(made.ingestion);
    outcome.steps.push(Step::new("comment", true));
    Ok(())
}

/// Returns the comment's text if the hint of `warning` suggests to add a comment.
fn skipped_comment(warning: &Warning) -> Option<String> {
    let action = warning.hint.as_ref()?.action()?;
    let mut args = action.args().iter();
    let (_, body) = args.find(|(param, _)| *param == Param::Body)?;
    match (action.call(), body) {
        (Call::Op(Op::IssueComment), Arg::Set(body)) => Some(body.clone().into_owned()),
        _ => None,
    }
}

/// Returns an issue's name with its title: `owner/name#7 (its title)`.
pub(super) fn with_title(issue: &Issue) -> String {
    format!("{} ({})", name(&issue.id), text::one_line(&issue.title))
}

/// Returns the state as gh prints it: `OPEN` or `CLOSED`.
pub(super) fn state_word(state: IssueState) -> &'static str {
    match state {
        IssueState::Open => "OPEN",
        IssueState::Closed => "CLOSED",
    }
}

/// Returns the names of the labels, sorted.
pub(super) fn label_names(issue: &Issue) -> Vec<String> {
    let mut names: Vec<String> = issue.labels.iter().map(|l| l.name.clone()).collect();
    names.sort_by_key(|name| name.to_lowercase());
    names
}
