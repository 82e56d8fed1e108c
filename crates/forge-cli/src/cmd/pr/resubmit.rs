//! `forge pr resubmit`.

use clap::Args;
use forge_core::{
    Outcome, Result,
    model::{PrFields, PullRequest, Resubmit},
};

use super::{patch_source, shared::pull_name};
use crate::{
    args::{output::JsonArgs, wait::WaitArgs},
    ctx::Ctx,
    exit::Exit,
    select::{self, Unnamed},
    ui::json::{self, Json, JsonField, Selection},
};

/// `forge pr resubmit`
#[derive(Args, Debug, Default)]
pub struct ResubmitArgs {
    /// Number, URL, at-uri or branch [default: the pull request of the current branch]
    #[arg(value_name = "pull request")]
    pub selector: Option<String>,
    /// Leave a comment on the new round
    #[arg(short, long, value_name = "text")]
    pub comment: Option<String>,
    /// Take the changes from this branch of your clone, not from the head branch on the forge
    #[arg(short = 'H', long, value_name = "branch", conflicts_with = "patch")]
    pub head: Option<String>,
    /// Take the changes from a file, as git format-patch writes it ("-" for standard input)
    #[arg(long, value_name = "file")]
    pub patch: Option<String>,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
    /// How long to wait.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Submits a new round, which is a new version of the pull request's changes.
///
/// # Errors
///
/// Fails if there are no new changes, or the forge has no rounds. Nothing is changed then.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ResubmitArgs) -> Result<Exit> {
    let flags = args.json.or_all(FIELDS.iter().map(|f| f.name));
    let selection = Selection::from_args(&flags, FIELDS)?;
    let named = args.selector.as_deref();
    let mut selected = select::pull(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await?;
    let patch = match (&args.patch, &args.head) {
        (Some(file), _) => Some(patch_source::read(file)?),
        (None, Some(branch)) => {
            let pull = selected.view(PrFields::NONE).await?;
            let on = (pull.base_branch.as_str(), pull.depends_on.as_ref());
            Some(patch_source::of_branch(ctx, &selected.repo, on, branch).await?)
        }
        (None, None) => None,
    };
    let mut req = Resubmit::default();
    req.patch = patch;
    req.head = args.head.clone();
    req.comment = args.comment.clone();
    let outcome = selected.repo.resubmit(&selected.id, &req).await?;
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.object(&outcome))?;
        ctx.ui.outcome(outcome)?;
        return Ok(Exit::Ok);
    }
    let already = outcome.already;
    let pull = ctx.ui.outcome(outcome)?;
    if !already {
        let newest = pull.rounds.unwrap_or_default().saturating_sub(1);
        let name = pull_name(&pull.id);
        ctx.ui
            .success(&format!("Submitted round {newest} of pull request {name}"));
    }
    ctx.ui.url(&pull.url)?;
    Ok(Exit::Ok)
}

/// The fields of `--json`: some fields of the pull request, and whether the forge's index (on
/// tangled: the appview) shows the new round.
const FIELDS: &[JsonField<Outcome<PullRequest>>] = &[
    JsonField {
        name: "headRefOid",
        needs: (),
        get: |o| Json::maybe(o.value.head_oid.as_ref(), |oid| Json::text(oid)),
    },
    JsonField {
        name: "ingestion",
        needs: (),
        get: |o| json::ingestion(&o.ingestion),
    },
    JsonField {
        name: "rounds",
        needs: (),
        get: |o| Json::maybe(o.value.rounds.as_ref(), |n| Json::Number(*n as u64)),
    },
    JsonField {
        name: "unchanged",
        needs: (),
        get: |o| Json::Bool(o.unchanged),
    },
    JsonField {
        name: "url",
        needs: (),
        get: |o| Json::text(&o.value.url),
    },
];
