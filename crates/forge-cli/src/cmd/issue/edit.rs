//! `forge issue edit`.

use clap::Args;
use forge_core::{
    Error, Outcome, Repo, Result,
    model::{EditIssue, Issue, IssueFields, IssueId, SetChange},
};

use super::shared::{ValueArgs, all_related, name, related, select_all};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::{
        Ctx,
        pr::{
            attach::{AttachArgs, AttachedText, Files},
            body,
            shared::{names, non_empty},
        },
    },
    exit::Exit,
};

/// `forge issue edit`
#[derive(Args, Debug, Default)]
pub struct IssueEditArgs {
    /// Numbers or URLs
    #[arg(value_name = "issue", required = true)]
    pub selector: Vec<String>,
    /// Assign people by login; "@me" assigns yourself
    #[arg(long, value_name = "login", value_delimiter = ',')]
    pub add_assignee: Vec<String>,
    /// Add issues that block this one, by number or URL
    #[arg(long, value_name = "issue", value_delimiter = ',')]
    pub add_blocked_by: Vec<String>,
    /// Add issues that this one blocks, by number or URL
    #[arg(long, value_name = "issue", value_delimiter = ',')]
    pub add_blocking: Vec<String>,
    /// Add labels by name
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub add_label: Vec<String>,
    /// Add the issue to projects, by title
    #[arg(long, value_name = "title", value_delimiter = ',')]
    pub add_project: Vec<String>,
    /// Add sub-issues, by number or URL
    #[arg(long, value_name = "issue", value_delimiter = ',')]
    pub add_sub_issue: Vec<String>,
    /// The files.
    #[command(flatten)]
    pub attach: AttachArgs,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Refuse unless the issue is at this version, as `--json version` shows it
    #[arg(long, value_name = "version")]
    pub expected_version: Option<String>,
    /// Set the milestone, by name
    #[arg(short, long, value_name = "name", conflicts_with = "remove_milestone")]
    pub milestone: Option<String>,
    /// Set the parent issue, by number or URL
    #[arg(long, value_name = "issue", conflicts_with = "remove_parent")]
    pub parent: Option<String>,
    /// Remove assignees; "@me" removes yourself
    #[arg(long, value_name = "login", value_delimiter = ',')]
    pub remove_assignee: Vec<String>,
    /// Remove issues that block this one
    #[arg(long, value_name = "issue", value_delimiter = ',')]
    pub remove_blocked_by: Vec<String>,
    /// Remove issues that this one blocks
    #[arg(long, value_name = "issue", value_delimiter = ',')]
    pub remove_blocking: Vec<String>,
    /// Remove labels
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub remove_label: Vec<String>,
    /// Remove the milestone
    #[arg(long)]
    pub remove_milestone: bool,
    /// Remove the parent issue
    #[arg(long)]
    pub remove_parent: bool,
    /// Remove the issue from projects, by title
    #[arg(long, value_name = "title", value_delimiter = ',')]
    pub remove_project: Vec<String>,
    /// Remove sub-issues
    #[arg(long, value_name = "issue", value_delimiter = ',')]
    pub remove_sub_issue: Vec<String>,
    /// Remove the type
    #[arg(long)]
    pub remove_type: bool,
    /// The new title
    #[arg(short, long, value_name = "text")]
    pub title: Option<String>,
    /// Set the type, by name
    #[arg(long = "type", value_name = "name", conflicts_with = "remove_type")]
    pub issue_type: Option<String>,
    /// Estimate and priority.
    #[command(flatten)]
    pub values: ValueArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

impl IssueEditArgs {
    /// Returns true if the user passed a flag for a change. A flag with an empty list also counts,
    /// although it changes nothing.
    fn names_a_change(&self) -> bool {
        let listed = [
            &self.add_assignee,
            &self.add_blocked_by,
            &self.add_blocking,
            &self.add_label,
            &self.add_project,
            &self.add_sub_issue,
            &self.attach.attach,
            &self.remove_assignee,
            &self.remove_blocked_by,
            &self.remove_blocking,
            &self.remove_label,
            &self.remove_project,
            &self.remove_sub_issue,
        ];
        let texts = [
            &self.title,
            &self.body.body,
            &self.body.body_file,
            &self.milestone,
            &self.issue_type,
            &self.parent,
            &self.values.estimate,
            &self.values.priority,
        ];
        self.remove_parent
            || self.remove_milestone
            || self.remove_type
            || listed.iter().any(|list| !list.is_empty())
            || texts.iter().any(|text| text.is_some())
    }

    /// Returns true if the edit also changes related issues (blocked issues or sub-issues).
    fn changes_others(&self) -> bool {
        let lists = [
            &self.add_blocking,
            &self.add_sub_issue,
            &self.remove_blocking,
            &self.remove_sub_issue,
        ];
        lists.iter().any(|list| !names(list).is_empty())
    }
}

/// The edits of one command, per issue.
#[derive(Default)]
struct EditBatch(Vec<(IssueId, EditIssue)>);

impl EditBatch {
    fn of(&mut self, id: &IssueId, change: impl FnOnce(&mut EditIssue)) {
        match self.0.iter_mut().find(|(of, _)| of == id) {
            Some((_, edit)) => change(edit),
            None => {
                let mut edit = EditIssue::default();
                change(&mut edit);
                self.0.push((id.clone(), edit));
            }
        }
    }
}

/// Applies the same changes to each named issue.
///
/// # Errors
///
/// Fails if no change is given, or the forge refuses the change.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueEditArgs) -> Result<Exit> {
    if !args.names_a_change() {
        let hint = "pass --title, --body, --body-file, --add-label or another flag of \
                    `forge issue edit --help`";
        return Err(Error::invalid("title", "no change was given").with_hint(hint));
    }
    let (repo, ids) = select_all(ctx, repo, &args.selector).await?;
    if ids.len() > 1 && args.expected_version.is_some() {
        return Err(Error::invalid(
            "expected_version",
            "--expected-version works with one issue, and several are named",
        )
        .with_hint("edit them one by one"));
    }
    if ids.len() > 1 && !names(&args.add_sub_issue).is_empty() {
        return Err(Error::invalid(
            "add_sub_issue",
            "cannot add a sub-issue to several issues: an issue has only one parent",
        )
        .with_hint("add the sub-issues to one issue"));
    }
    let files = Files::read(ctx, &args.attach, &repo, args.body.body_file.as_deref())?;
    let mut batch = EditBatch::default();
    let edit = edit_of(ctx, &repo, args).await?;
    for id in &ids {
        batch.of(id, |of| of.clone_from(&edit));
    }
    if args.values.is_given() {
        put_values(ctx, &repo, &args.values, &ids, &mut batch).await?;
    }
    if args.changes_others() {
        add_others(ctx, &repo, args, &ids, &mut batch).await?;
    }
    let attached = attach(&repo, files, &ids, &edit, &mut batch).await?;
    let explain = |e| args.values.with_setup(e);
    let mut written = match batch.0.as_slice() {
        [(id, edit)] => vec![Ok(repo.edit_issue(id, edit).await.map_err(explain)?)],
        edits => {
            let written = repo.edit_issues(edits).await?.into_iter();
            written.map(|one| one.map_err(explain)).collect()
        }
    };
    if args.changes_others() {
        for ((_, edit), written) in batch.0.iter().zip(&mut written) {
            // The named issue has no change of its own, so its warning "already as requested" would
            // be wrong.
            if let Ok(outcome) = written
                && is_empty(edit)
            {
                outcome.warnings.clear();
            }
        }
    }
    let done = report(ctx, &batch, &ids, written)?;
    let uploaded = attached.report(ctx);
    Ok(match done {
        Exit::Ok => uploaded,
        failed => failed,
    })
}

/// Uploads the files and adds them to the new text. Without a new text, adds them to the current
/// text, as gh does.
async fn attach(
    repo: &Repo,
    files: Files,
    ids: &[IssueId],
    edit: &EditIssue,
    batch: &mut EditBatch,
) -> Result<AttachedText> {
    if files.is_empty() {
        return files.upload(repo, String::new()).await;
    }
    let (body, version) = match (&edit.body, ids) {
        (Some(body), _) => (body.clone(), None),
        (None, [id]) => {
            let issue = repo.issue(id, &IssueFields::NONE).await?;
            (issue.body, Some(issue.version))
        }
        _ => {
            let message = "--attach works with one issue, and several are named";
            return Err(Error::invalid("attach", message)
                .with_hint("edit them one by one, or pass the whole text with --body"));
        }
    };
    let attached = files.upload(repo, body).await?;
    for id in ids {
        batch.of(id, |edit| {
            edit.body = Some(attached.text.clone());
            edit.expected_version = edit.expected_version.take().or(version.clone());
        });
    }
    Ok(attached)
}

/// Returns the changes that apply to all given issues.
async fn edit_of(ctx: &Ctx, repo: &Repo, args: &IssueEditArgs) -> Result<EditIssue> {
    let parent = match non_empty(args.parent.as_ref()) {
        Some(parent) => Some(Some(related(ctx, repo, &parent).await?)),
        None => args.remove_parent.then_some(None),
    };
    let mut edit = EditIssue::default();
    edit.title = args.title.clone();
    edit.body = body::read(&args.body, repo)?;
    edit.labels = SetChange {
        add: names(&args.add_label),
        remove: names(&args.remove_label),
    };
    edit.assignees = SetChange {
        add: names(&args.add_assignee),
        remove: names(&args.remove_assignee),
    };
    edit.milestone = non_empty(args.milestone.as_ref())
        .map(Some)
        .or(args.remove_milestone.then_some(None));
    edit.issue_type = non_empty(args.issue_type.as_ref())
        .map(Some)
        .or(args.remove_type.then_some(None));
    edit.projects = SetChange {
        add: names(&args.add_project),
        remove: names(&args.remove_project),
    };
    edit.parent = parent;
    edit.blocked_by = SetChange {
        add: all_related(ctx, repo, &args.add_blocked_by).await?,
        remove: all_related(ctx, repo, &args.remove_blocked_by).await?,
    };
    edit.expected_version = args.expected_version.clone();
    Ok(edit)
}

/// Adds estimate and priority to the edits. If no board (a GitHub project) stores these values,
/// reads each issue first, because the edit depends on the issue: an old label may have to be
/// removed, or the issue may spell a field's name in another way.
async fn put_values(
    ctx: &Ctx,
    repo: &Repo,
    values: &ValueArgs,
    ids: &[IssueId],
    batch: &mut EditBatch,
) -> Result<()> {
    let workflow = ctx.forges()?.workflow(repo).await?;
    for id in ids {
        let issue = match workflow.store().board().is_none() {
            true => Some(repo.issue(id, &IssueFields::NONE).await?),
            false => None,
        };
        let mut put = Ok(());
        batch.of(id, |edit| put = values.put(&workflow, issue.as_ref(), edit));
        put?;
    }
    Ok(())
}

/// Adds the edits of related issues: of sub-issues and blocked issues.
async fn add_others(
    ctx: &Ctx,
    repo: &Repo,
    args: &IssueEditArgs,
    ids: &[IssueId],
    batch: &mut EditBatch,
) -> Result<()> {
    for part in all_related(ctx, repo, &args.add_sub_issue).await? {
        let parent = ids.first().cloned();
        batch.of(&part, |edit| edit.parent = Some(parent));
    }
    for part in all_related(ctx, repo, &args.remove_sub_issue).await? {
        // A sub-issue that has another parent keeps that parent.
        let fields = IssueFields::RELATIONS;
        let found = repo.issue(&part, &fields).await?;
        let parent = found.relations.as_ref().and_then(|r| r.parent.as_ref());
        if !parent.is_some_and(|parent| ids.contains(&parent.id)) {
            let message = match parent {
                Some(parent) => format!("{} is a sub-issue of {}", name(&part), name(&parent.id)),
                None => format!("{} is not a sub-issue", name(&part)),
            };
            return Err(Error::invalid("remove_sub_issue", message)
                .with_hint("name a sub-issue of the edited issue"));
        }
        batch.of(&part, |edit| {
            edit.parent = Some(None);
            edit.expected_version.get_or_insert(found.version);
        });
    }
    for other in all_related(ctx, repo, &args.add_blocking).await? {
        batch.of(&other, |edit| edit.blocked_by.add.extend_from_slice(ids));
    }
    for other in all_related(ctx, repo, &args.remove_blocking).await? {
        batch.of(&other, |edit| edit.blocked_by.remove.extend_from_slice(ids));
    }
    Ok(())
}

fn is_empty(edit: &EditIssue) -> bool {
    let mut changes = edit.clone();
    changes.expected_version = None;
    changes == EditIssue::default()
}

/// Prints the URLs of the issues, and the failures.
fn report(
    ctx: &Ctx,
    batch: &EditBatch,
    named: &[IssueId],
    written: Vec<Result<Outcome<Issue>>>,
) -> Result<Exit> {
    let (mut failed, mut ignored) = (Vec::new(), Vec::new());
    for ((id, _), written) in batch.0.iter().zip(written) {
        let is_stored = written.is_ok();
        match written.and_then(|outcome| ctx.ui.outcome(outcome)) {
            Ok(issue) if named.contains(id) => ctx.ui.url(&issue.url)?,
            Ok(_) => {}
            Err(e) => {
                ctx.ui.error(&e);
                let names = if is_stored { &mut ignored } else { &mut failed };
                names.push(name(id));
            }
        }
    }
    for (what, names) in [
        ("not changed", &failed),
        ("changed without effect", &ignored),
    ] {
        if !names.is_empty() {
            ctx.ui.note(&format!("{what}: {}", names.join(", ")));
        }
    }
    if failed.is_empty() && ignored.is_empty() {
        return Ok(Exit::Ok);
    }
    Ok(Exit::Failure)
}
