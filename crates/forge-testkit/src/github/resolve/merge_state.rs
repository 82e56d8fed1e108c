//! GitHub's lazy merge state: `UNKNOWN` to the request that asks first, known later.

use super::{Context, contexts, decision};
use crate::github::{
    git,
    graphql::{Ctx, Fail},
    state::{Id, Lazy, Permission, Pull, PullState},
};

/// Both merge fields of a pull request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeState {
    pub(crate) mergeable: &'static str,
    pub(crate) status: &'static str,
}

const UNKNOWN: MergeState = MergeState {
    mergeable: "UNKNOWN",
    status: "UNKNOWN",
};

/// The merge state as the request sees it.
pub(crate) fn of(ctx: &Ctx<'_>, id: Id) -> Result<MergeState, Fail> {
    let pull = {
        let mut state = ctx.state();
        let lag = state.lag;
        let Some(pull) = state.pulls.get_mut(&id) else {
            return Ok(UNKNOWN);
        };
        if pull.state == PullState::Merged {
            return Ok(UNKNOWN);
        }
        match pull.lazy {
            Lazy::Known => {}
            Lazy::Stale { reads, request } if reads >= lag && request != ctx.request => {
                pull.lazy = Lazy::Known;
            }
            Lazy::Stale { .. } if lag == 0 => pull.lazy = Lazy::Known,
            Lazy::Stale { request, .. } if request == ctx.request => return Ok(UNKNOWN),
            Lazy::Stale { reads, .. } => {
                pull.lazy = Lazy::Stale {
                    reads: reads + 1,
                    request: ctx.request,
                };
                return Ok(UNKNOWN);
            }
        }
        pull.clone()
    };
    compute(ctx, &pull)
}

/// The merge state as it is, whoever has read it.
pub(crate) fn compute(ctx: &Ctx<'_>, pull: &Pull) -> Result<MergeState, Fail> {
    let repo = ctx.repo(pull.repo)?;
    let tree = git::merge_tree(&repo.git_dir, &pull.base_oid, &pull.head_oid)?;
    if tree.is_none() {
        return Ok(MergeState {
            mergeable: "CONFLICTING",
            status: "DIRTY",
        });
    }
    let status = if pull.draft {
        "DRAFT"
    } else if blocked(ctx, pull) {
        "BLOCKED"
    } else if behind(ctx, pull, &repo.git_dir) {
        "BEHIND"
    } else if contexts(ctx, pull.repo, &pull.head_oid)
        .iter()
        .any(|context| !context.passes())
    {
        "UNSTABLE"
    } else {
        "CLEAN"
    };
    Ok(MergeState {
        mergeable: "MERGEABLE",
        status,
    })
}

fn blocked(ctx: &Ctx<'_>, pull: &Pull) -> bool {
    let contexts = contexts(ctx, pull.repo, &pull.head_oid);
    missing(ctx, pull, &contexts).is_some()
}

/// What branch protection still wants before a merge, in GitHub's words.
pub(crate) fn missing(ctx: &Ctx<'_>, pull: &Pull, contexts: &[Context]) -> Option<String> {
    let state = ctx.state();
    let rule = state.protection(pull.repo, &pull.base_branch)?;
    if rule.approvals > 0 && decision(&state, pull) != Some("APPROVED") {
        let count = rule.approvals;
        return Some(match (decision(&state, pull), count) {
            (Some("CHANGES_REQUESTED"), _) => "Changes have been requested.".to_owned(),
            (_, 1) => {
                "At least 1 approving review is required by reviewers with write access.".to_owned()
            }
            _ => format!(
                "At least {count} approving reviews are required by reviewers with write access."
            ),
        });
    }
    let unmet: Vec<&str> = rule
        .checks
        .iter()
        .filter(|name| {
            !contexts
                .iter()
                .any(|context| context.name == **name && context.passes())
        })
        .map(String::as_str)
        .collect();
    match unmet.as_slice() {
        [] => {}
        [one] => return Some(format!("Required status check \"{one}\" is expected.")),
        many => {
            return Some(format!(
                "{} of {} required status checks are expected.",
                many.len(),
                rule.checks.len()
            ));
        }
    }
    let open = state
        .threads
        .values()
        .any(|thread| thread.pull == pull.id && thread.resolved_by.is_none());
    (rule.conversations && open).then(|| {
        "A conversation must be resolved before this pull request can be merged.".to_owned()
    })
}

fn behind(ctx: &Ctx<'_>, pull: &Pull, dir: &std::path::Path) -> bool {
    let strict = ctx
        .state()
        .protection(pull.repo, &pull.base_branch)
        .is_some_and(|rule| rule.strict);
    strict && !git::is_ancestor(dir, &pull.base_oid, &pull.head_oid)
}

/// Whether the viewer may merge past the rules.
pub(crate) fn may_bypass(ctx: &Ctx<'_>, pull: &Pull) -> bool {
    let enforced = ctx
        .state()
        .protection(pull.repo, &pull.base_branch)
        .is_some_and(|rule| rule.enforce_admins);
    !enforced && ctx.permission(pull.repo) == Some(Permission::Admin)
}
