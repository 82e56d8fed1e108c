//! `forge pr comment`.

use clap::Args;
use forge::SelectedPull;
use forge_core::{
    Action, Error, Hint, Noun, Op, Result, WebPage,
    model::{Comment, CommentId, PrFields, ThreadFilter},
    text,
};

use super::{
    attach::{self, Files},
    body,
    shared::pull_name,
    thread,
};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::{pages, pr::attach::AttachArgs},
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::{browser, editor, prompt},
};

/// On GitHub, the start of a URL fragment such as `#issuecomment-12`, which names a comment on the
/// conversation.
const CONVERSATION: &str = "issuecomment-";
/// The start of the URL fragment for a comment on lines of the diff.
const ON_LINES: &str = "discussion_r";

/// `forge pr comment`
#[derive(Args, Debug, Default)]
pub struct CommentArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// The files.
    #[command(flatten)]
    pub attach: AttachArgs,
    /// With --edit-last: comment if you have not commented yet
    #[arg(long, requires = "edit_last")]
    pub create_if_none: bool,
    /// Delete the comment with this id or URL, as "view --json comments" prints them
    #[arg(
        long,
        value_name = "id",
        conflicts_with_all = [
            "delete_last", "edit", "edit_last", "reply_to", "body", "body_file", "editor", "web",
        ]
    )]
    pub delete: Option<String>,
    /// Delete your last comment
    #[arg(long, conflicts_with_all = ["edit_last", "body", "body_file", "editor", "web"])]
    pub delete_last: bool,
    /// Replace the comment with this id or URL, as "view --json comments" prints them
    #[arg(
        long,
        value_name = "id",
        conflicts_with_all = ["delete_last", "edit_last", "reply_to", "web"]
    )]
    pub edit: Option<String>,
    /// Replace your last comment
    #[arg(long)]
    pub edit_last: bool,
    /// Write the text in an editor
    #[arg(short, long)]
    pub editor: bool,
    /// Answer the comment or the review thread with this id, as "thread list" prints it
    #[arg(
        long,
        value_name = "id",
        conflicts_with_all = ["delete_last", "edit_last", "web"]
    )]
    pub reply_to: Option<String>,
    /// Comment in the browser instead
    #[arg(short, long)]
    pub web: bool,
    /// With --delete and --delete-last: do not ask
    #[arg(long)]
    pub yes: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

impl CommentArgs {
    fn deletes(&self) -> bool {
        self.delete.is_some() || self.delete_last
    }

    /// Returns true if a flag sets the text, so that the user does not have to enter it.
    fn has_text(&self) -> bool {
        self.body.body.is_some() || self.body.body_file.is_some()
    }
}

/// Adds, edits or deletes a comment.
///
/// # Errors
///
/// Fails if there is no text, or the forge refuses the change. Nothing is changed then.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &CommentArgs) -> Result<Exit> {
    check(ctx, args)?;
    let named = args.selector.as_deref();
    let fields = PrFields::TO_CHANGE;
    let mut selected = select::pull(ctx, repo, named, Unnamed::NotWithRepo, fields).await?;
    if args.web {
        let url = selected.view(PrFields::NONE).await?.url;
        let page = selected
            .repo
            .web_page(&WebPage::NewComment(&url))
            .unwrap_or(url);
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &page)?;
        return Ok(Exit::Ok);
    }
    let files = Files::read(
        ctx,
        &args.attach,
        &selected.repo,
        args.body.body_file.as_deref(),
    )?;
    if args.deletes() {
        return delete(ctx, &selected, args).await;
    }
    // The current text is needed, because the editor starts with it, and because files without a
    // text are appended to it.
    let edited = match &args.edit {
        Some(key) if args.has_text() && !is_url_part(key) => Some((key.clone(), String::new())),
        Some(key) => Some(comment_of(&selected, key).await?),
        None if args.edit_last => find_own_last_comment(&selected)
            .await?
            .map(|c| (c.id, c.body)),
        None => None,
    };
    if args.edit_last && edited.is_none() && !args.create_if_none {
        return Err(no_comment());
    }
    let answered = match &args.reply_to {
        // Only a comment on the conversation is looked up here. The forge itself finds a comment on
        // lines by its URL.
        Some(key) if key.contains(CONVERSATION) => Some(comment_of(&selected, key).await?.0),
        other => other.clone(),
    };
    let before = edited.as_ref().map_or("", |(_, body)| body.as_str());
    let text = match body::read(&args.body, &selected.repo)? {
        Some(text) => text,
        // As in gh, files without a text are appended to the current text.
        None if !files.is_empty() && !args.editor => before.to_owned(),
        None => write_text(ctx, before, args.editor)?,
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
    let of = |key: String| CommentId {
        pr: selected.id.clone(),
        key,
    };
    let written = match edited {
        Some((key, _)) => repo.edit_comment(&of(key), &attached.text).await?,
        None => {
            let answered = answered.map(of);
            repo.comment(&selected.id, &attached.text, answered.as_ref())
                .await?
        }
    };
    print(ctx, &ctx.ui.outcome(written)?)?;
    Ok(attached.report(ctx))
}

/// Returns true if the user is asked for the text, because no flag sets it.
fn asks(args: &CommentArgs) -> bool {
    let given = args.body.body.is_some() || args.body.body_file.is_some();
    !given && !args.editor && args.attach.attach.is_empty()
}

/// Opens the editor with the text `before`. Unless `at_once` is true, waits for a key press first.
pub(crate) fn write_text(ctx: &Ctx, before: &str, at_once: bool) -> Result<String> {
    if !at_once {
        prompt::press_enter("- Press Enter to draft your comment in the editor...")?;
    }
    editor::edit(ctx.config()?.editor().as_deref(), before)
}

/// Prints the comment's URL, or its id if it has no URL.
pub(crate) fn print(ctx: &Ctx, comment: &Comment) -> Result<()> {
    ctx.ui.url(if comment.url.is_empty() {
        &comment.id
    } else {
        &comment.url
    })
}

fn check(ctx: &Ctx, args: &CommentArgs) -> Result<()> {
    let inputs = [args.has_text(), args.editor, args.web]
        .into_iter()
        .filter(|g| *g)
        .count();
    if inputs > 1 {
        return Err(Error::invalid(
            "body",
            "specify only one of `--body`, `--body-file`, `--editor`, or `--web`",
        ));
    }
    if args.yes && !args.deletes() {
        return Err(Error::invalid(
            "yes",
            "`--yes` should only be used with `--delete-last`",
        ));
    }
    let files = !args.attach.attach.is_empty();
    for (flag, given) in [
        ("--web", args.web),
        ("--delete", args.delete.is_some()),
        ("--delete-last", args.delete_last),
    ] {
        if files && given {
            return Err(attach::attach_conflict_error(flag));
        }
    }
    if inputs == 0 && !files && !args.deletes() && !ctx.ui.can_prompt() {
        return Err(
            Error::invalid("body", "flags required when not running interactively")
                .with_hint("pass the text with --body or --body-file"),
        );
    }
    if args.deletes() && !args.yes && !ctx.ui.can_prompt() {
        return Err(Error::invalid(
            "yes",
            "should provide `--yes` to confirm deletion in non-interactive mode",
        ));
    }
    Ok(())
}

fn no_comment() -> Error {
    Error::not_found(Noun::Comment, "no comments found for current user").with_hint(see_comments())
}

fn see_comments() -> Hint {
    Hint::new("see the comments").with_action(Action::op(Op::CommentList))
}

async fn delete(ctx: &Ctx, selected: &SelectedPull, args: &CommentArgs) -> Result<Exit> {
    let (key, question) = match &args.delete {
        Some(key) => {
            let question = format!("Delete comment {}?", text::one_line(key));
            let id = match is_url_part(key) {
                true => comment_of(selected, key).await?.0,
                false => key.clone(),
            };
            (id, question)
        }
        None => {
            let last = find_own_last_comment(selected)
                .await?
                .ok_or_else(no_comment)?;
            (last.id, "Delete your last comment?".to_owned())
        }
    };
    if !args.yes && !prompt::confirm(&question)? {
        return Err(prompt::cancelled());
    }
    let id = CommentId {
        pr: selected.id.clone(),
        key,
    };
    ctx.ui.removed(selected.repo.delete_comment(&id).await?)?;
    ctx.ui.note("Comment deleted");
    Ok(Exit::Ok)
}

/// Returns true if `key` may be the URL of a comment, the fragment of the URL, or the number in the
/// fragment. The caller then searches the comments, because the forge finds a comment only by its
/// id.
pub(crate) fn is_url_part(key: &str) -> bool {
    [CONVERSATION, ON_LINES]
        .iter()
        .any(|prefix| key.contains(prefix))
        || key.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true if `key` is the comment's id or URL, the fragment of the URL, or the number in the
/// fragment.
pub(crate) fn is_named(comment: &Comment, key: &str) -> bool {
    let fragment = comment.url.rsplit_once('#').map_or("", |(_, end)| end);
    let name = key.rsplit_once('#').map_or(key, |(_, end)| end);
    let mut prefixes = [CONVERSATION, ON_LINES].into_iter();
    let number = prefixes.find_map(|prefix| fragment.strip_prefix(prefix));
    comment.id == key || number.is_some_and(|number| name == fragment || name == number)
}

/// Finds a comment, also in review threads, and returns its id and text.
async fn comment_of(selected: &SelectedPull, key: &str) -> Result<(String, String)> {
    let threads = thread::read(selected, ThreadFilter::All).await?;
    let in_threads = threads.into_iter().flat_map(|t| t.comments);
    let comments = all_comments(selected).await?;
    let all = comments.into_iter().chain(in_threads);
    let mut found = all.filter(|comment| is_named(comment, key));
    match (found.next(), found.next()) {
        // Refuses an ambiguous number: on GitHub, a comment on the conversation and one on lines
        // may have the same number.
        (Some(one), other) if other.as_ref().is_none_or(|other| other.id == one.id) => {
            Ok((one.id, one.body))
        }
        _ => {
            let shown = text::one_line(key);
            let message = format!("{} has no comment '{shown}'", pull_name(&selected.id));
            Err(Error::not_found(Noun::Comment, message).with_hint(see_comments()))
        }
    }
}

async fn find_own_last_comment(selected: &SelectedPull) -> Result<Option<Comment>> {
    let comments = all_comments(selected).await?;
    Ok(comments.into_iter().rfind(|c| c.viewer_did_author))
}

async fn all_comments(selected: &SelectedPull) -> Result<Vec<Comment>> {
    let SelectedPull { repo, id, .. } = selected;
    pages::all(repo, async |page| repo.comments(id, page).await).await
}
