//! `forge pr thread`.

use clap::{Args, Subcommand};
use forge::SelectedPull;
use forge_core::{
    Action, Error, Hint, Noun, Op, Result,
    model::{CommentId, PrFields, Thread, ThreadFilter, ThreadId},
    text,
};

use super::{body, comment, shared::pull_name};
use crate::{
    args::{
        output::{BodyArgs, JsonArgs},
        wait::WaitArgs,
    },
    cmd::pages,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::{
        json::{Json, Selection, THREAD_FIELDS},
        prompt,
    },
};

/// `forge pr thread`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct ThreadArgs {
    /// The command.
    #[command(subcommand)]
    pub command: ThreadCommand,
}

/// The commands on review threads.
#[derive(Debug, Subcommand)]
pub enum ThreadCommand {
    /// List the threads of a pull request
    #[command(alias = "ls")]
    List(ThreadListArgs),
    /// Resolve threads
    Resolve(ThreadResolveArgs),
    /// Unresolve threads
    Unresolve(ThreadResolveArgs),
    /// Answer in a thread
    Reply(ThreadReplyArgs),
}

impl ThreadCommand {
    /// Returns `--wait` and `--no-wait`; `None` for a command that only reads.
    #[must_use]
    pub fn wait(&self) -> Option<&WaitArgs> {
        match self {
            Self::List(_) => None,
            Self::Resolve(args) | Self::Unresolve(args) => Some(&args.wait),
            Self::Reply(args) => Some(&args.wait),
        }
    }
}

/// `forge pr thread list`
#[derive(Args, Debug)]
#[command(mut_arg("json", JsonArgs::of_gh))]
pub struct ThreadListArgs {
    /// Number, URL or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Only unresolved threads
    #[arg(long, conflicts_with = "resolved")]
    pub unresolved: bool,
    /// Only resolved threads
    #[arg(long)]
    pub resolved: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge pr thread resolve` and `unresolve`
#[derive(Args, Debug)]
pub struct ThreadResolveArgs {
    /// Number, URL or branch; "." is the pull request of the current branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// The ids of the threads, as "thread list" prints them, or URLs of comments in them
    #[arg(value_name = "thread", required = true)]
    pub threads: Vec<String>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge pr thread reply`
#[derive(Args, Debug)]
pub struct ThreadReplyArgs {
    /// Number, URL or branch; "." is the pull request of the current branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// The id of the thread, as "thread list" prints it, or the URL of a comment in it
    #[arg(value_name = "thread")]
    pub thread: String,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Runs a command on review threads.
///
/// # Errors
///
/// Fails if a thread does not exist, or the forge refuses the change.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: ThreadArgs) -> Result<Exit> {
    match args.command {
        ThreadCommand::List(args) => list(ctx, repo, &args).await,
        ThreadCommand::Resolve(args) => resolve(ctx, repo, &args, true).await,
        ThreadCommand::Unresolve(args) => resolve(ctx, repo, &args, false).await,
        ThreadCommand::Reply(args) => reply(ctx, repo, &args).await,
    }
}

async fn select(ctx: &Ctx, repo: Option<&str>, selector: Option<&str>) -> Result<SelectedPull> {
    select::pull(ctx, repo, selector, Unnamed::NotWithRepo, PrFields::NONE).await
}

/// Reads all threads that match the filter.
///
/// # Errors
///
/// Fails if a page cannot be read.
pub(super) async fn read(selected: &SelectedPull, filter: ThreadFilter) -> Result<Vec<Thread>> {
    let SelectedPull { repo, id, .. } = selected;
    pages::all(repo, async |page| repo.threads(id, filter, page).await).await
}

async fn list(ctx: &Ctx, repo: Option<&str>, args: &ThreadListArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json, THREAD_FIELDS)?;
    let selected = select(ctx, repo, args.selector.as_deref()).await?;
    let filter = match (args.resolved, args.unresolved) {
        (true, _) => ThreadFilter::Resolved,
        (_, true) => ThreadFilter::Unresolved,
        _ => ThreadFilter::All,
    };
    let threads = read(&selected, filter).await?;
    if let Some(selection) = selection {
        let all: Json = selection.array(&threads);
        selection.print(&ctx.ui, &all)?;
    } else if ctx.ui.is_tty() {
        if threads.is_empty() {
            ctx.ui
                .note(&format!("no review threads on {}", pull_name(&selected.id)));
        }
        let shown: String = threads.iter().map(|t| render_thread(ctx, t)).collect();
        ctx.ui.page(&shown)?;
    } else {
        for thread in &threads {
            ctx.ui.line(&row(thread))?;
        }
    }
    Ok(Exit::Ok)
}

fn state(t: &Thread) -> &'static str {
    if t.pending {
        return "pending";
    }
    match (t.resolved, t.outdated) {
        (true, _) => "resolved",
        (false, true) => "outdated",
        (false, false) => "open",
    }
}

/// Formats a thread for a pipe: id, state, lines, author, number of comments and first line,
/// separated by tabs.
fn row(t: &Thread) -> String {
    let first = t.comments.first();
    let author = first.map_or("", |c| c.author.login.as_str());
    let line = first.and_then(|c| c.body.lines().next()).unwrap_or("");
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}",
        text::one_line(&t.id),
        state(t),
        text::one_line(&t.place()),
        text::one_line(author),
        t.comments.len(),
        text::one_line(line)
    )
}

fn render_thread(ctx: &Ctx, t: &Thread) -> String {
    let c = ctx.ui.palette();
    let state = match state(t) {
        "resolved" => c.green("resolved"),
        "outdated" => c.yellow("outdated"),
        open => c.bold(open),
    };
    let mut out = format!(
        "{} {state} {}\n",
        c.cyan(&text::one_line(&t.place())),
        c.gray(&text::one_line(&t.id))
    );
    for comment in &t.comments {
        let who = text::one_line(&comment.author.login);
        out.push_str(&format!(
            "  {} • {}\n",
            c.bold(&who),
            ctx.ui.ago(comment.created_at)
        ));
        let body = crate::ui::markdown::render(&comment.body, ctx.ui.width().saturating_sub(6), c);
        out.extend(
            body.lines()
                .map(|l| format!("    {l}").trim_end().to_owned() + "\n"),
        );
    }
    out + "\n"
}

/// Returns true if `key` is the id of the thread, or names one of its comments.
fn is_named(thread: &Thread, key: &str) -> bool {
    let mut comments = thread.comments.iter();
    thread.id == key || comments.any(|comment| comment::is_named(comment, key))
}

async fn resolve(
    ctx: &Ctx,
    repo: Option<&str>,
    args: &ThreadResolveArgs,
    resolved: bool,
) -> Result<Exit> {
    let selected = select(ctx, repo, Some(&args.selector)).await?;
    // An argument may be the URL of a comment in a thread. Only then all threads have to be read,
    // to find the thread of the comment.
    let threads = match args.threads.iter().any(|key| comment::is_url_part(key)) {
        true => read(&selected, ThreadFilter::All).await?,
        false => Vec::new(),
    };
    for key in &args.threads {
        let named = threads.iter().find(|thread| is_named(thread, key));
        let id = ThreadId {
            pr: selected.id.clone(),
            key: named.map_or(key, |thread| &thread.id).clone(),
        };
        let outcome = selected.repo.resolve_thread(&id, resolved).await?;
        if outcome.already {
            let state = if resolved { "already" } else { "not" };
            let line = format!("Thread {} is {state} resolved", outcome.value.id);
            ctx.ui.report_unchanged(outcome, &line)?;
            continue;
        }
        let thread = ctx.ui.outcome(outcome)?;
        let what = if resolved { "Resolved" } else { "Unresolved" };
        ctx.ui.success(&format!(
            "{what} thread {} on {}",
            thread.id,
            thread.place()
        ));
    }
    Ok(Exit::Ok)
}

async fn reply(ctx: &Ctx, repo: Option<&str>, args: &ThreadReplyArgs) -> Result<Exit> {
    let selected = select(ctx, repo, Some(&args.selector)).await?;
    let threads = read(&selected, ThreadFilter::All).await?;
    let Some(last) = threads
        .iter()
        .find(|thread| is_named(thread, &args.thread))
        .and_then(|t| t.comments.last())
    else {
        return Err(Error::not_found(
            Noun::Thread,
            format!(
                "{} has no review thread '{}'",
                pull_name(&selected.id),
                args.thread
            ),
        )
        .with_hint(Hint::new("see the threads").with_action(Action::op(Op::ThreadList))));
    };
    let text = match body::read(&args.body, &selected.repo)? {
        Some(text) => text,
        None if ctx.ui.can_prompt() => {
            let text = comment::write_text(ctx, "", false)?;
            if text.trim().is_empty() {
                return Err(Error::invalid("body", "the comment is empty")
                    .with_hint("pass a text with --body or --body-file"));
            }
            prompt::submit()?;
            text
        }
        None => {
            return Err(Error::invalid(
                "body",
                "--body or --body-file required when not running interactively",
            ));
        }
    };
    let to = CommentId {
        pr: selected.id.clone(),
        key: last.id.clone(),
    };
    let written = selected
        .repo
        .comment(&selected.id, &text, Some(&to))
        .await?;
    comment::print(ctx, &ctx.ui.outcome(written)?)?;
    Ok(Exit::Ok)
}
