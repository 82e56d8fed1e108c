//! `forge issue comment`.

use clap::Args;
use forge_core::{Error, Result};

use super::shared::select;
use crate::{
    args::{output::BodyArgs, wait::WaitArgs},
    cmd::{
        Ctx,
        pr::{body, comment::print},
    },
    exit::Exit,
    ui::editor,
};

/// `forge issue comment`
#[derive(Args, Debug, Default)]
pub struct IssueCommentArgs {
    /// Number or URL
    #[arg(value_name = "issue")]
    pub selector: String,
    /// The text.
    #[command(flatten)]
    pub body: BodyArgs,
    /// Write the text in an editor
    #[arg(short, long, conflicts_with_all = ["body", "body_file"])]
    pub editor: bool,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Runs it.
///
/// # Errors
/// When there is no text, or the forge refuses it; then nothing is changed.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueCommentArgs) -> Result<Exit> {
    let given = args.body.body.is_some() || args.body.body_file.is_some();
    if !given && !ctx.ui.can_prompt() {
        return Err(
            Error::invalid("body", "flags required when not running interactively")
                .with_hint("pass the text with --body or --body-file"),
        );
    }
    let selected = select(ctx, repo, &args.selector).await?;
    let text = match body::read(&args.body, &selected.repo)? {
        Some(text) => text,
        None => editor::edit(ctx.config()?.editor().as_deref(), "")?,
    };
    if text.trim().is_empty() {
        return Err(Error::invalid("body", "the comment is empty")
            .with_hint("pass a text with --body or --body-file"));
    }
    let made = selected.repo.comment_issue(&selected.id, &text).await?;
    print(ctx, &ctx.ui.outcome(made)?)?;
    Ok(Exit::Ok)
}
