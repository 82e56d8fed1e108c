//! `forge pr comment`.

use clap::Args;
use forge::SelectedPull;
use forge_core::{
    Action, Error, Hint, Noun, Op, PageReq, Repo, Result, WebPage,
    model::{Comment, CommentId, PrFields},
};

use super::{
    attach::{self, Files},
    body,
};
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::pr::attach::AttachArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::{browser, editor, prompt},
};

/// `forge pr comment`
#[derive(Args, Debug, Default)]
pub struct CommentArgs {
    /// Number, URL or branch [default: that of the current branch]
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
    /// Delete your last comment
    #[arg(long, conflicts_with_all = ["edit_last", "body", "body_file", "editor", "web"])]
    pub delete_last: bool,
    /// Replace your last comment
    #[arg(long)]
    pub edit_last: bool,
    /// Write the text in an editor
    #[arg(short, long)]
    pub editor: bool,
    /// Comment in the browser instead
    #[arg(short, long)]
    pub web: bool,
    /// With --delete-last: do not ask
    #[arg(long, requires = "delete_last")]
    pub yes: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Runs it.
///
/// # Errors
/// When there is no text, or the forge refuses it; then nothing is changed.
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
    if args.delete_last {
        return delete_last(ctx, &selected, args.yes).await;
    }
    let last = match args.edit_last {
        true => own_last(&selected).await?,
        false => None,
    };
    if args.edit_last && last.is_none() && !args.create_if_none {
        return Err(no_comment());
    }
    let before = last.as_ref().map_or("", |c| c.body.as_str());
    let text = match body::read(&args.body, &selected.repo)? {
        Some(text) => text,
        // As for gh, files alone are added to what is there.
        None if !files.is_empty() && !args.editor => before.to_owned(),
        None => {
            if !args.editor {
                prompt::press_enter("- Press Enter to draft your comment in the editor...")?;
            }
            editor::edit(ctx.config()?.editor().as_deref(), before)?
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
    let written = match last {
        Some(last) => {
            let id = CommentId {
                pr: selected.id.clone(),
                key: last.id,
            };
            repo.edit_comment(&id, &attached.text).await?
        }
        None => repo.comment(&selected.id, &attached.text, None).await?,
    };
    print(ctx, &ctx.ui.outcome(written)?)?;
    Ok(attached.report(ctx))
}

/// Nothing says what the comment is: the text is asked for.
fn asks(args: &CommentArgs) -> bool {
    let given = args.body.body.is_some() || args.body.body_file.is_some();
    !given && !args.editor && args.attach.attach.is_empty()
}

/// Its page, or its id where it has none.
pub(crate) fn print(ctx: &Ctx, comment: &Comment) -> Result<()> {
    ctx.ui.url(if comment.url.is_empty() {
        &comment.id
    } else {
        &comment.url
    })
}

fn check(ctx: &Ctx, args: &CommentArgs) -> Result<()> {
    let given = args.body.body.is_some() || args.body.body_file.is_some();
    let inputs = [given, args.editor, args.web]
        .into_iter()
        .filter(|g| *g)
        .count();
    if inputs > 1 {
        return Err(Error::invalid(
            "body",
            "specify only one of `--body`, `--body-file`, `--editor`, or `--web`",
        ));
    }
    // clap drops what a flag requires where another one that is given excludes that.
    if args.yes && !args.delete_last {
        return Err(Error::invalid(
            "yes",
            "`--yes` should only be used with `--delete-last`",
        ));
    }
    let files = !args.attach.attach.is_empty();
    for (flag, given) in [("--web", args.web), ("--delete-last", args.delete_last)] {
        if files && given {
            return Err(attach::not_with(flag));
        }
    }
    if inputs == 0 && !files && !args.delete_last && !ctx.ui.can_prompt() {
        return Err(
            Error::invalid("body", "flags required when not running interactively")
                .with_hint("pass the text with --body or --body-file"),
        );
    }
    if args.delete_last && !args.yes && !ctx.ui.can_prompt() {
        return Err(Error::invalid(
            "yes",
            "should provide `--yes` to confirm deletion in non-interactive mode",
        ));
    }
    Ok(())
}

fn no_comment() -> Error {
    Error::not_found(Noun::Comment, "no comments found for current user")
        .with_hint(Hint::new("see the comments").with_action(Action::op(Op::CommentList)))
}

async fn delete_last(ctx: &Ctx, selected: &SelectedPull, yes: bool) -> Result<Exit> {
    let last = own_last(selected).await?.ok_or_else(no_comment)?;
    if !yes && !prompt::confirm("Delete your last comment?")? {
        return Err(prompt::cancelled());
    }
    let id = CommentId {
        pr: selected.id.clone(),
        key: last.id,
    };
    ctx.ui.removed(selected.repo.delete_comment(&id).await?)?;
    ctx.ui.note("Comment deleted");
    Ok(Exit::Ok)
}

async fn own_last(selected: &SelectedPull) -> Result<Option<Comment>> {
    let repo: &Repo = &selected.repo;
    let page_max = repo.client().forge().capabilities().limits.page_max;
    let mut last = None;
    let mut request = PageReq::first(page_max);
    loop {
        let page = repo.comments(&selected.id, request).await?;
        last = page
            .items
            .into_iter()
            .rfind(|c| c.viewer_did_author)
            .or(last);
        match page.next {
            Some(next) => request = PageReq::after(next, page_max),
            None => return Ok(last),
        }
    }
}
