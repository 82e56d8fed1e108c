use std::time::Duration;

use forge_core::{
    Error, Precondition, Warning,
    model::{CheckRollup, MergeMethod, MergeReq, MergeState, PrFields, PrState, PullRequest},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use super::{
    agreed::{Said, agreed, same_head},
    written,
};
use crate::{
    output::{WarningOut, Written, checks_word},
    server::{Answer, Call, Effect, Spec, Stop, Target, Tool},
};

pub(super) struct PrMerge;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    number: String,
    /// Default: configured, else the repository's
    method: Option<Method>,
    /// Refuse if the head is another
    expected_head: Option<String>,
    /// First line of the commit message
    subject: Option<String>,
    /// The rest of it
    body: Option<String>,
    #[serde(default)]
    delete_branch: bool,
    /// Merge later, when all requirements are met
    #[serde(default)]
    auto: bool,
    /// Refuse unless the checks passed
    #[serde(default)]
    require_checks: bool,
    /// Only for clients that cannot ask
    confirm: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Method {
    Merge,
    Squash,
    Rebase,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Out {
    #[serde(flatten)]
    written: Written,
    merged: bool,
    already_merged: bool,
    /// It merges by itself later
    queued: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    branch_deleted: bool,
}

impl Tool for PrMerge {
    const SPEC: Spec = Spec {
        name: "pr_merge",
        title: "Merge a pull request",
        description: "Merges after the user agreed. Failing checks are a warning, conflicts and a \
                      moved head stop it. Merges nothing twice. Recovery: pr_view.",
        effect: Effect::Destroy,
    };
    type Args = Args;
    type Out = Out;

    async fn run(call: &Call, args: Args) -> Result<Answer<Out>, Stop> {
        let target = call.pull(args.repo.as_deref(), &args.number).await?;
        let pull = settled(call, &target).await?;
        let said = Said {
            head: args.expected_head.as_deref(),
            confirm: args.confirm.as_deref(),
        };
        if pull.state != PrState::Merged {
            same_head(said.head, pull.head_oid.as_deref())?;
        }
        let mut warnings = Vec::new();
        let method = method(call, &target, args.method).await?;
        if pull.state == PrState::Open {
            ready(&target, &pull, &args, &mut warnings)?;
            let question = question(call, &target, &pull, &args, method, &warnings);
            agreed(call, &target, &pull, &said, &question).await?;
        }
        let req = MergeReq {
            method,
            // What was looked at and agreed to is what is merged.
            expected_head: pull
                .head_oid
                .clone()
                .filter(|_| pull.state == PrState::Open),
            subject: args.subject,
            body: args.body,
            delete_branch: args.delete_branch,
            auto: args.auto,
            clone: call.server.clone_of(&target.repo).await,
            ..MergeReq::default()
        };
        let outcome = target.repo.merge(&target.id, &req).await?;
        let merge = &outcome.value;
        let did = match merge {
            m if m.already_merged => "was merged before",
            m if m.queued => "will be merged when its requirements are met",
            _ => "merged",
        };
        let mut out = written::of(call, &target.id, did, &outcome);
        out.state = crate::output::state_word(&merge.pull_request).to_owned();
        out.url = Some(call.cleaner.line(&merge.pull_request.url));
        out.id = merge.commit.clone();
        out.unchanged |= merge.already_merged;
        let mut all = WarningOut::all(&warnings, &call.cleaner);
        all.append(&mut out.warnings);
        out.warnings = all;
        let answer = written::answer(out);
        Ok(Answer {
            text: answer.text,
            data: Out {
                merged: !merge.queued,
                already_merged: merge.already_merged,
                queued: merge.queued,
                method: merge.method.or(method).map(|m| m.as_str().to_owned()),
                commit: merge.commit.clone(),
                branch_deleted: merge.branch_deleted,
                written: answer.data,
            },
        })
    }
}

/// The pull request once the forge knows whether it can be merged, or after seven seconds.
async fn settled(call: &Call, target: &Target) -> Result<PullRequest, Error> {
    let fields = PrFields::MERGEABILITY | PrFields::CHECKS;
    let mut pull = target.repo.view(&target.id, fields).await?;
    for (n, wait) in [1, 2, 4].into_iter().enumerate() {
        let unknown = pull
            .mergeability
            .as_ref()
            .is_some_and(|m| m.state == MergeState::Unknown);
        if !unknown || pull.state != PrState::Open {
            break;
        }
        let done = u32::try_from(n + 1).unwrap_or(1);
        call.progress(
            done,
            Some(3),
            "the forge works out whether it can be merged",
        )
        .await;
        tokio::time::sleep(Duration::from_secs(wait)).await;
        pull = target.repo.view(&target.id, fields).await?;
    }
    Ok(pull)
}

/// The method: named, configured, or squash where the repository allows it, else its first.
async fn method(
    call: &Call,
    target: &Target,
    named: Option<Method>,
) -> Result<Option<MergeMethod>, Error> {
    let named = named.map(|m| match m {
        Method::Merge => MergeMethod::Merge,
        Method::Squash => MergeMethod::Squash,
        Method::Rebase => MergeMethod::Rebase,
    });
    if let Some(method) = named.or_else(|| call.server.forges().config().merge_method()) {
        return Ok(Some(method));
    }
    let allowed = target.repo.info().await?.merge_methods;
    Ok(match allowed.contains(&MergeMethod::Squash) {
        true => Some(MergeMethod::Squash),
        false => allowed.first().copied(),
    })
}

fn ready(
    target: &Target,
    pull: &PullRequest,
    args: &Args,
    warnings: &mut Vec<Warning>,
) -> Result<(), Error> {
    if pull.draft {
        return Err(
            Error::precondition(Precondition::Draft, format!("{} is a draft", target.id))
                .with_hint("pr_edit with draft=false makes it ready"),
        );
    }
    match pull.mergeability.as_ref().map(|m| (m.state, &m.conflicts)) {
        Some((MergeState::Conflicting, files)) => {
            let named = if files.is_empty() {
                String::new()
            } else {
                format!(" in {}", files.join(", "))
            };
            return Err(Error::precondition(
                Precondition::Conflicts(files.clone()),
                format!(
                    "cannot merge {}: it has conflicts with {}{named}",
                    target.id, pull.base_branch
                ),
            )
            .with_hint("merge the base branch into the head branch and push, then try again"));
        }
        Some((MergeState::Unknown, _)) => warnings.push(Warning::new(
            "the forge has not worked out whether it can be merged; it decides when it tries",
        )),
        _ => {}
    }
    if let Some(checks) = &pull.checks
        && matches!(checks.overall, CheckRollup::Failure | CheckRollup::Pending)
    {
        let message = format!("checks: {}", checks_word(checks));
        if args.require_checks {
            return Err(Error::precondition(
                Precondition::Rule,
                format!("cannot merge {}: {message}", target.id),
            )
            .with_hint("pr_checks has the details"));
        }
        warnings.push(Warning::new(message));
    }
    if pull.changes_requested > 0 {
        warnings.push(Warning::new(format!(
            "{} reviewers request changes",
            pull.changes_requested
        )));
    }
    Ok(())
}

fn question(
    call: &Call,
    target: &Target,
    pull: &PullRequest,
    args: &Args,
    method: Option<MergeMethod>,
    warnings: &[Warning],
) -> String {
    let how = method.map_or("the default method", MergeMethod::as_str);
    let when = if args.auto {
        " once its requirements are met"
    } else {
        ""
    };
    let delete = if args.delete_branch {
        " and delete its branch"
    } else {
        ""
    };
    let mut question = format!(
        "Merge {} \"{}\" by @{} into {} by {how}{when}{delete}? Head {}.",
        target.id,
        call.cleaner.line(&pull.title),
        call.cleaner.line(&pull.author.login),
        call.cleaner.line(&pull.base_branch),
        pull.head_oid
            .as_deref()
            .map_or("unknown", |h| h.get(..12).unwrap_or(h)),
    );
    for warning in warnings {
        question.push_str(&format!(" Warning: {}.", warning.message));
    }
    question
}
