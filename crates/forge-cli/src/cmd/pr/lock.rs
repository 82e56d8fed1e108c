//! `forge pr lock` and `forge pr unlock`.

use clap::{Args, ValueEnum};
use forge_core::{
    Capability, Result,
    model::{Lock, LockReason, PrFields},
};

use super::shared::{pull_with_title, require};
use crate::{
    args::wait::WaitArgs,
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::prompt,
};

/// `forge pr lock`
#[derive(Args, Debug)]
pub struct LockArgs {
    /// Number, URL or branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// The reason
    #[arg(short, long, value_name = "reason")]
    pub reason: Option<LockReasonArg>,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `forge pr unlock`
#[derive(Args, Debug)]
pub struct UnlockArgs {
    /// Number, URL or branch
    #[arg(value_name = "pull request")]
    pub selector: String,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// `--reason`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum LockReasonArg {
    /// Off the subject
    OffTopic,
    /// Settled
    Resolved,
    /// Spam
    Spam,
    /// Too heated
    TooHeated,
}

impl From<LockReasonArg> for LockReason {
    fn from(reason: LockReasonArg) -> Self {
        match reason {
            LockReasonArg::OffTopic => Self::OffTopic,
            LockReasonArg::Resolved => Self::Resolved,
            LockReasonArg::Spam => Self::Spam,
            LockReasonArg::TooHeated => Self::TooHeated,
        }
    }
}

/// Runs `forge pr lock`.
///
/// # Errors
///
/// Fails if the forge has no locks, or the user may not lock the pull request.
pub async fn lock(ctx: &Ctx, repo: Option<&str>, args: &LockArgs) -> Result<Exit> {
    set(ctx, repo, &args.selector, || {
        let reason = match args.reason {
            None if ctx.ui.can_prompt() => ask_reason()?,
            named => named.map(LockReason::from),
        };
        Ok(Lock::Locked(reason))
    })
    .await
}

/// Runs `forge pr unlock`.
///
/// # Errors
/// The errors of [`lock`].
pub async fn unlock(ctx: &Ctx, repo: Option<&str>, args: &UnlockArgs) -> Result<Exit> {
    set(ctx, repo, &args.selector, || Ok(Lock::Unlocked)).await
}

async fn set(
    ctx: &Ctx,
    repo: Option<&str>,
    named: &str,
    wanted: impl FnOnce() -> Result<Lock>,
) -> Result<Exit> {
    let none = PrFields::NONE;
    let selected = select::pull(ctx, repo, Some(named), Unnamed::NotWithRepo, none).await?;
    // The capability is checked before any question.
    require(&selected.repo, Capability::PrLock)?;
    let lock = wanted()?;
    let outcome = selected.repo.set_lock(&selected.id, lock).await?;
    let name = pull_with_title(&outcome.value);
    if outcome.already {
        let is = match lock {
            Lock::Locked(_) => "locked",
            Lock::Unlocked => "unlocked",
        };
        let line = format!("Pull request {name} is already {is}");
        ctx.ui.report_unchanged(outcome, &line)?;
        return Ok(Exit::Ok);
    }
    ctx.ui.outcome(outcome)?;
    if ctx.ui.is_tty() {
        let done = match lock {
            Lock::Locked(Some(reason)) => {
                format!("Locked as {}", reason.name().to_ascii_uppercase())
            }
            Lock::Locked(None) => "Locked".to_owned(),
            Lock::Unlocked => "Unlocked".to_owned(),
        };
        ctx.ui.success(&format!("{done}: Pull request {name}"));
    }
    Ok(Exit::Ok)
}

fn ask_reason() -> Result<Option<LockReason>> {
    let items = ["None", "Off topic", "Resolved", "Spam", "Too heated"];
    let chosen = prompt::choose("Lock reason?", &items)?;
    Ok(chosen
        .checked_sub(1)
        .and_then(|at| LockReason::ALL.get(at))
        .copied())
}
