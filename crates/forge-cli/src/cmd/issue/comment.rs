//! `forge issue comment`.

use clap::Args;
use forge_core::{
    Action, Error, Hint, Noun, Op, Param, Result, WebPage,
    model::{Comment, IssueFields},
};

use super::shared::{SelectedIssue, select};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::{
        Ctx,
        pr::{
            attach::{self, AttachArgs, Files},
            body,
            comment::{is_named, is_url_part, print, write_text},
        },
    },
    exit::Exit,
    ui::{browser, prompt},
};

/// `forge issue comment`
#[derive(Args, Debug, Default)]
pub struct IssueCommentArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// The files.
    #[command(flatten)]
    pub attach: AttachArgs,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// With --edit-last: comment if you have not commented yet
    #[arg(long, requires = "edit_last")]
    pub create_if_none: bool,
    /// Delete the comment with this id or URL, as "view --json comments" prints them
    #[arg(long, value_name = "id", conflicts_with_all = ["body", "body_file", "editor", "web"])]
    pub delete: Option<String>,
    /// Delete your last comment
    #[arg(long, conflicts_with_all = ["delete", "body", "body_file", "editor", "web"])]
    pub delete_last: bool,
    /// Replace the comment with this id or URL, as "view --json comments" prints them
    #[arg(long, value_name = "id", conflicts_with_all = ["delete", "delete_last", "web"])]
    pub edit: Option<String>,
    /// Replace your last comment
    #[arg(long, conflicts_with_all = ["edit", "delete", "delete_last", "web"])]
    pub edit_last: bool,
    /// Write the text in an editor
    #[arg(short, long, conflicts_with_all = ["body", "body_file"])]
    pub editor: bool,
    /// Comment in the browser instead
    #[arg(short, long, conflicts_with_all = ["body", "body_file", "editor"])]
    pub web: bool,
    /// With --delete and --delete-last: do not ask
    #[arg(long)]
    pub yes: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

impl IssueCommentArgs {
    fn deletes(&self) -> bool {
        self.delete.is_some() || self.delete_last
    }
}

/// Adds, edits or deletes a comment.
///
/// # Errors
///
/// Fails if there is no text, or the forge refuses the change. Nothing is changed then.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueCommentArgs) -> Result<Exit> {
    check(ctx, args)?;
    let selected = select(ctx, repo, &args.selector).await?;
    if args.web {
        let issue = selected
            .repo
            .issue(&selected.id, &IssueFields::NONE)
            .await?;
        let page = selected.repo.web_page(&WebPage::NewComment(&issue.url));
        let page = page.unwrap_or(issue.url);
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &page)?;
        return Ok(Exit::Ok);
    }
    let body_file = args.body.body_file.as_deref();
    let files = Files::read(ctx, &args.attach, &selected.repo, body_file)?;
    let has_text = args.body.body.is_some() || args.body.body_file.is_some();
    let before = match args.edit.as_ref().or(args.delete.as_ref()) {
        // The current text is needed, because the editor starts with it.
        Some(id) if is_url_part(id) || (args.edit.is_some() && !has_text) => Some(
            comment_of(&selected, |c| is_named(c, id))
                .await?
                .ok_or_else(|| unknown(id))?,
        ),
        _ if args.edit_last || args.delete_last => {
            let own = comment_of(&selected, |c| c.viewer_did_author).await?;
            if own.is_none() && !args.create_if_none {
                return Err(no_own_comment_error());
            }
            own
        }
        _ => None,
    };
    let found = before.as_ref().map(|comment| comment.id.clone());
    if args.deletes() {
        let id = found
            .or_else(|| args.delete.clone())
            .ok_or_else(no_own_comment_error)?;
        return delete(ctx, &selected, args, &id).await;
    }
    let text = match body::read(&args.body, &selected.repo)? {
        Some(text) => text,
        // As in gh, files without a text are appended to the current text.
        None if !files.is_empty() && !args.editor => {
            before.as_ref().map(|c| c.body.clone()).unwrap_or_default()
        }
        None => {
            let before = before.as_ref().map_or("", |c| c.body.as_str());
            write_text(ctx, before, args.editor)?
        }
    };
    if text.trim().is_empty() && files.is_empty() {
        return Err(Error::invalid("body", "the comment is empty")
            .with_hint("pass a text with --body or --body-file"));
    }
    if asks(args) {
        prompt::submit()?;
    }
    let repo = &selected.repo;
    let attached = files.upload(repo, text).await?;
    let text = &attached.text;
    let written = match found.or_else(|| args.edit.clone()) {
        Some(id) => {
            repo.edit_issue_comment(&selected.id, &id, text, None)
                .await?
        }
        None => repo.create_issue_comment(&selected.id, text).await?,
    };
    print(ctx, &ctx.ui.outcome(written)?)?;
    Ok(attached.report(ctx))
}

/// Returns true if the user is asked for the text, because no flag sets it.
fn asks(args: &IssueCommentArgs) -> bool {
    let given = args.body.body.is_some() || args.body.body_file.is_some();
    !given && !args.editor && args.attach.attach.is_empty()
}

fn check(ctx: &Ctx, args: &IssueCommentArgs) -> Result<()> {
    let given = args.body.body.is_some() || args.body.body_file.is_some();
    if args.yes && !args.deletes() {
        return Err(Error::invalid(
            "yes",
            "`--yes` should only be used with `--delete-last` or `--delete`",
        )
        .with_hint("omit `--yes`"));
    }
    let files = !args.attach.attach.is_empty();
    for (flag, is_set) in [
        ("--web", args.web),
        ("--delete", args.delete.is_some()),
        ("--delete-last", args.delete_last),
    ] {
        if files && is_set {
            return Err(attach::attach_conflict_error(flag));
        }
    }
    if !given && !files && !args.deletes() && !args.web && !ctx.ui.can_prompt() {
        return Err(
            Error::invalid("body", "flags required when not running interactively")
                .with_hint("pass the text with --body or --body-file"),
        );
    }
    if args.deletes() && !args.yes && !ctx.ui.can_prompt() {
        return Err(Error::invalid(
            "yes",
            "should provide `--yes` to confirm deletion in non-interactive mode",
        )
        .with_hint("pass --yes to delete it without being asked"));
    }
    Ok(())
}

async fn delete(
    ctx: &Ctx,
    selected: &SelectedIssue,
    args: &IssueCommentArgs,
    id: &str,
) -> Result<Exit> {
    let question = match args.delete_last {
        true => "Delete your last comment?".to_owned(),
        false => format!("Delete comment {}?", forge_core::text::one_line(id)),
    };
    if !args.yes && !prompt::confirm(&question)? {
        return Err(prompt::cancelled());
    }
    let gone = selected.repo.delete_issue_comment(&selected.id, id).await?;
    ctx.ui.removed(gone)?;
    ctx.ui.note("Comment deleted");
    Ok(Exit::Ok)
}

/// Finds the last comment for which `is` returns true.
async fn comment_of(
    selected: &SelectedIssue,
    is: impl Fn(&Comment) -> bool,
) -> Result<Option<Comment>> {
    let fields = IssueFields::COMMENTS;
    let issue = selected.repo.issue(&selected.id, &fields).await?;
    let comments = issue.comments.unwrap_or_default();
    Ok(comments.into_iter().rfind(|comment| is(comment)))
}

fn no_own_comment_error() -> Error {
    Error::not_found(Noun::Comment, "no comments found for current user").with_hint(see_comments())
}

fn unknown(id: &str) -> Error {
    let shown = forge_core::text::one_line(id);
    let message = format!("there is no comment '{shown}' on the issue");
    Error::not_found(Noun::Comment, message).with_hint(see_comments())
}

fn see_comments() -> Hint {
    let view = Action::op(Op::IssueView).with(Param::Include, "comments");
    Hint::new("see the comments").with_action(view)
}
