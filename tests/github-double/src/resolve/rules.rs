//! Finds the unmet rules of a pull request's base branch, from branch protection, rulesets and
//! `CODEOWNERS`.

use std::collections::BTreeSet;

use super::{Context, review};
use crate::{
    git,
    graphql::Ctx,
    patterns,
    state::{Id, Permission, Pull, Repo, Reviewer, Source, State, Wanted},
};

/// An unmet rule, with the message that GitHub sends for it.
struct Unmet {
    source: Source,
    message: String,
}

/// Returns the rules that a merge would violate. `method` is the merge method; `None` means any
/// method that the repository allows.
fn unmet(ctx: &Ctx<'_>, pull: &Pull, contexts: &[Context], method: Option<&str>) -> Vec<Unmet> {
    let Ok(repo) = ctx.repo(pull.repo) else {
        return Vec::new();
    };
    let state = ctx.state();
    let mut found = Vec::new();
    for wanted in state.wanted(pull.repo, &pull.base_branch) {
        let mut messages: Vec<String> = Vec::new();
        messages.extend(reviews_missing(&state, pull, &wanted));
        messages.extend(checks_missing(&wanted, contexts));
        let mut threads = state.threads.values();
        let is_open = |it: &crate::state::Thread| it.pull == pull.id && it.resolved_by.is_none();
        if wanted.conversations && threads.any(is_open) {
            let text = "A conversation must be resolved before this pull request can be merged.";
            messages.push(text.to_owned());
        }
        messages.extend(commits_refused(&state, &repo, pull, &wanted));
        messages.extend(method_refused(&repo, &wanted, method));
        for environment in &wanted.deployments {
            let deployed = (environment.clone(), pull.head_oid.clone());
            if !state.deployed.contains(&deployed) {
                messages.push(format!(
                    "Missing successful active {environment} deployment."
                ));
            }
        }
        messages.extend(wanted.closed.map(str::to_owned));
        if wanted
            .pushers
            .as_ref()
            .is_some_and(|all| !all.contains(&ctx.viewer))
        {
            messages.push("You're not authorized to push to this branch.".to_owned());
        }
        let source = wanted.source;
        found.extend(
            messages
                .into_iter()
                .map(|message| Unmet { source, message }),
        );
    }
    found
}

fn reviews_missing(state: &State, pull: &Pull, wanted: &Wanted) -> Option<String> {
    let verdicts = review::verdicts(state, pull);
    if wanted.reviews() && verdicts.against > 0 {
        return Some("Changes have been requested.".to_owned());
    }
    let given = verdicts.approvers.len();
    if given < wanted.approvals as usize {
        return Some(match wanted.approvals {
            1 => {
                "At least 1 approving review is required by reviewers with write access.".to_owned()
            }
            count => format!(
                "At least {count} approving reviews are required by reviewers with write access."
            ),
        });
    }
    if wanted.code_owners {
        let approves = |owner: &Reviewer| match owner {
            Reviewer::Account(id) => verdicts.approvers.contains_key(id),
            Reviewer::Team(id) => {
                let members = state.teams.get(id).map(|team| &team.members);
                members.is_some_and(|all| all.iter().any(|it| verdicts.approvers.contains_key(it)))
            }
        };
        let mut owners = owned_by(state, pull);
        owners.retain(|owners| !owners.is_empty() && !owners.iter().any(approves));
        if let Some(owners) = owners.first() {
            let names: Vec<String> = owners.iter().map(|it| handle(state, *it)).collect();
            let names = names.join(" and/or ");
            return Some(format!("Waiting on code owner review from {names}."));
        }
    }
    let of_others = |(id, commit): (&Id, &String)| *id != pull.pusher && *commit == pull.head_oid;
    (wanted.last_push && !verdicts.approvers.iter().any(of_others))
        .then(|| "New changes require approval from someone other than the last pusher.".to_owned())
}

/// Returns two flags: whether the rules require a review, and whether all required reviews exist.
pub(super) fn review_state(state: &State, pull: &Pull) -> (bool, bool) {
    let wanted = state.wanted(pull.repo, &pull.base_branch);
    let missing = wanted
        .iter()
        .any(|it| reviews_missing(state, pull, it).is_some());
    let wants = |it: &Wanted| it.approvals > 0 || it.last_push;
    (wanted.iter().any(wants) || missing, !missing)
}

fn checks_missing(wanted: &Wanted, contexts: &[Context]) -> Option<String> {
    // GitHub's documentation: "If a check and a status have the same name, both are required."
    let passes = |(name, app): &&(String, Option<u64>)| {
        let is_it = |it: &&Context| {
            it.name == *name && app.is_none_or(|app| it.app.as_deref().map(app_id) == Some(app))
        };
        let mut reported = contexts.iter().filter(is_it).peekable();
        reported.peek().is_some() && reported.all(Context::passes)
    };
    let missing: Vec<_> = wanted.checks.iter().filter(|it| !passes(it)).collect();
    match missing.as_slice() {
        [] => None,
        [(name, _)] => Some(format!("Required status check \"{name}\" is expected.")),
        many => Some(format!(
            "{} of {} required status checks are expected.",
            many.len(),
            wanted.checks.len()
        )),
    }
}

pub(super) fn is_check_required(state: &State, pull: &Pull, name: &str, app: Option<&str>) -> bool {
    let wanted = state.wanted(pull.repo, &pull.base_branch);
    let mut checks = wanted.iter().flat_map(|it| &it.checks);
    checks.any(|(wanted, of)| wanted == name && of.is_none_or(|of| app.map(app_id) == Some(of)))
}

/// Returns the number of an app. GitHub Actions has the number that it has on github.com.
pub(super) fn app_id(slug: &str) -> u64 {
    match slug {
        "github-actions" => 15_368,
        _ => 100_000 + slug.bytes().map(u64::from).sum::<u64>(),
    }
}

fn commits_refused(state: &State, repo: &Repo, pull: &Pull, wanted: &Wanted) -> Option<String> {
    if !wanted.signatures && wanted.message.is_none() {
        return None;
    }
    let range = format!("{}..{}", pull.base_oid, pull.head_oid);
    let commits = git::commits(&repo.git_dir, &range).unwrap_or_default();
    if wanted.signatures && commits.iter().any(|it| !state.signed.contains(&it.oid)) {
        return Some("Commits must have verified signatures.".to_owned());
    }
    let begin = wanted.message.as_ref()?;
    let matches = commits.iter().all(|it| it.message.starts_with(begin));
    (!matches).then(|| format!("Commit message must start with a matching pattern: {begin}"))
}

fn method_refused(repo: &Repo, wanted: &Wanted, method: Option<&str>) -> Option<String> {
    let allowed = |method: &str| {
        let mut methods = wanted.methods.iter().flatten();
        wanted.methods.is_none() || methods.any(|it| it == method)
    };
    let passes = |method: &str| allowed(method) && !(wanted.linear && method == "MERGE");
    let has_one = repo.methods().any(passes);
    if method.map_or(has_one, passes) {
        return None;
    }
    Some(match method {
        Some(method) if !allowed(method) => not_allowed(method),
        _ => "This branch must not contain merge commits.".to_owned(),
    })
}

/// Returns the message that GitHub sends for a disabled merge method.
pub(crate) fn not_allowed(method: &str) -> String {
    let what = match method {
        "SQUASH" => "Squash merges",
        "REBASE" => "Rebase merges",
        _ => "Merge commits",
    };
    format!("{what} are not allowed on this repository.")
}

/// Returns true if the rules block a merge, even for an account that may bypass them.
pub(super) fn is_blocked(ctx: &Ctx<'_>, pull: &Pull, contexts: &[Context]) -> bool {
    !unmet(ctx, pull, contexts, None).is_empty()
}

/// Returns the source of the rule that requires the head to contain the base branch, if the head
/// does not.
pub(super) fn is_behind(ctx: &Ctx<'_>, pull: &Pull) -> Option<Source> {
    let wanted = ctx.state().wanted(pull.repo, &pull.base_branch);
    let strict = wanted.iter().find(|it| it.strict)?.source;
    let dir = ctx.repo(pull.repo).ok()?.git_dir;
    (!git::is_ancestor(&dir, &pull.base_oid, &pull.head_oid)).then_some(strict)
}

/// Circumstances of a merge that the rules may refuse.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// The merge method, if it is known.
    pub(crate) method: Option<&'a str>,
    /// True to ignore the rules that the viewer may bypass.
    pub(crate) bypass: bool,
    /// True if the merge queue merges. The queue itself updates the head from the base.
    pub(crate) queue: bool,
}

/// Returns GitHub's message on why the rules refuse a merge, or `None` if they allow it.
pub(crate) fn refusal(ctx: &Ctx<'_>, pull: &Pull, how: Attempt<'_>) -> Option<String> {
    let contexts = super::contexts(ctx, pull.repo, &pull.head_oid);
    let mut found = unmet(ctx, pull, &contexts, how.method);
    if !how.queue {
        found.extend(queue_required(ctx, pull).map(|source| Unmet {
            source,
            message: "Changes must be made through the merge queue".to_owned(),
        }));
        found.extend(is_behind(ctx, pull).map(|source| Unmet {
            source,
            message: "Head branch is out of date with the base branch.".to_owned(),
        }));
    }
    if how.bypass {
        found.retain(|it| !bypasses(ctx, pull, it.source));
    }
    let first = found.first()?;
    if first.source == Source::Protection {
        return Some(first.message.clone());
    }
    let of_rulesets = found.iter().filter(|it| it.source != Source::Protection);
    let messages: Vec<&str> = of_rulesets.map(|it| it.message.as_str()).collect();
    Some(format!(
        "Repository rule violations found\n\n{}\n\n",
        messages.join("\n\n")
    ))
}

fn bypasses(ctx: &Ctx<'_>, pull: &Pull, of: Source) -> bool {
    let Ok(repo) = ctx.repo(pull.repo) else {
        return false;
    };
    let state = ctx.state();
    state.may_bypass(ctx.viewer, &repo, &pull.base_branch, of)
}

/// Returns true if the viewer may bypass every rule of the base branch.
pub(super) fn may_bypass(ctx: &Ctx<'_>, pull: &Pull) -> bool {
    let wanted = ctx.state().wanted(pull.repo, &pull.base_branch);
    if wanted.is_empty() {
        return ctx.permission(pull.repo) == Some(Permission::Admin);
    }
    wanted.iter().all(|it| bypasses(ctx, pull, it.source))
}

/// Returns the source of the rule that requires a merge queue, if the base branch has such a rule.
fn queue_required(ctx: &Ctx<'_>, pull: &Pull) -> Option<Source> {
    let wanted = ctx.state().wanted(pull.repo, &pull.base_branch);
    wanted
        .iter()
        .find(|it| it.queue.is_some())
        .map(|it| it.source)
}

/// Returns the merge method of the base branch's queue, if the branch has a queue.
pub(crate) fn queue_method(state: &State, pull: &Pull) -> Option<String> {
    let wanted = state.wanted(pull.repo, &pull.base_branch);
    wanted.into_iter().find_map(|it| it.queue)
}

/// Returns the owners with write access for each changed file. The list is empty if the base branch
/// has no `CODEOWNERS`.
pub(crate) fn owned_by(state: &State, pull: &Pull) -> Vec<Vec<Reviewer>> {
    let Some(repo) = state.repos.get(&pull.repo) else {
        return Vec::new();
    };
    let places = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
    let read = |path: &str| {
        let object = format!("{}:{path}", pull.base_oid);
        git::run(&repo.git_dir, &["cat-file", "blob", &object]).ok()
    };
    let Some(file) = places.into_iter().find_map(read) else {
        return Vec::new();
    };
    let file = String::from_utf8_lossy(&file);
    let changed = git::summary(&repo.git_dir, &pull.base_oid, &pull.head_oid);
    let changed = changed.map(|it| it.files).unwrap_or_default();
    let owners = |path: &str| {
        let names = patterns::owners(&file, path).into_iter();
        names.filter_map(|name| owner(state, repo, name)).collect()
    };
    let owners: BTreeSet<Vec<Reviewer>> = changed.iter().map(|it| owners(&it.path)).collect();
    owners.into_iter().collect()
}

/// Returns the account or team that a line of `CODEOWNERS` names. An account without write access
/// is never an owner.
fn owner(state: &State, repo: &Repo, name: &str) -> Option<Reviewer> {
    let name = name.strip_prefix('@')?;
    if let Some((org, slug)) = name.split_once('/') {
        let mut teams = state.teams.values();
        let team = teams.find(|team| team.slug == slug && state.login(team.org) == org)?;
        return Some(Reviewer::Team(team.id));
    }
    let account = state.account(name)?.id;
    let writes = state.permission(account, repo) >= Some(Permission::Write);
    writes.then_some(Reviewer::Account(account))
}

fn handle(state: &State, reviewer: Reviewer) -> String {
    match reviewer {
        Reviewer::Account(id) => state.login(id).to_owned(),
        Reviewer::Team(id) => state.teams.get(&id).map_or_else(String::new, |team| {
            format!("{}/{}", state.login(team.org), team.slug)
        }),
    }
}
