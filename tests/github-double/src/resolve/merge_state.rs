//! Computes the merge state lazily, as GitHub does: the first request reads `UNKNOWN`, and a later
//! one reads the state.

use super::{contexts, rules};
use crate::{
    git,
    graphql::{Ctx, Fail},
    state::{Id, Lazy, Pull, PullState},
};

/// The fields `mergeable` and `mergeStateStatus` of a pull request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeState {
    pub(crate) mergeable: &'static str,
    pub(crate) status: &'static str,
}

const UNKNOWN: MergeState = MergeState {
    mergeable: "UNKNOWN",
    status: "UNKNOWN",
};

/// Returns the merge state as the current request sees it.
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

/// Computes the current merge state, even if requests still read `UNKNOWN`.
pub(crate) fn compute(ctx: &Ctx<'_>, pull: &Pull) -> Result<MergeState, Fail> {
    let repo = ctx.repo(pull.repo)?;
    let tree = git::merge_tree(&repo.git_dir, &pull.base_oid, &pull.head_oid)?;
    if tree.is_none() {
        return Ok(MergeState {
            mergeable: "CONFLICTING",
            status: "DIRTY",
        });
    }
    let contexts = contexts(ctx, pull.repo, &pull.head_oid);
    let status = if pull.draft {
        "DRAFT"
    } else if rules::is_blocked(ctx, pull, &contexts) {
        "BLOCKED"
    } else if rules::is_behind(ctx, pull).is_some() {
        "BEHIND"
    } else if contexts.iter().any(|context| !context.passes()) {
        "UNSTABLE"
    } else {
        "CLEAN"
    };
    Ok(MergeState {
        mergeable: "MERGEABLE",
        status,
    })
}
