//! The rules of a branch. Everybody with read access sees the rulesets, but only administrators see
//! the branch protection.

use serde_json::{Value, json};

use super::query;
use crate::{
    git,
    graphql::Ctx,
    reply::{self, Reply},
    server::Incoming,
    state::{Bypass, Enforcement, Permission, Protection, Repo, Ruleset, Source},
};

/// Answers with a page of the rules for a branch name. The branch need not exist.
pub(super) fn of_branch(ctx: &Ctx<'_>, request: &Incoming, repo: &Repo, branch: &str) -> Reply {
    let in_force = repo.rulesets.iter().filter(|it| it.applies(repo, branch));
    let rows = in_force.flat_map(|ruleset| {
        ruleset.rules.iter().map(|rule| {
            let mut row = json!({
                "type": rule.kind,
                "ruleset_source_type": source_type(ruleset),
                "ruleset_source": source(ctx, repo, ruleset),
                "ruleset_id": ruleset.id,
            });
            if !rule.parameters.is_null() {
                row["parameters"] = rule.parameters.clone();
            }
            row
        })
    });
    let rows: Vec<Value> = rows.collect();
    let number_of = |name: &str, otherwise: usize| {
        let given = query(request, name).and_then(|text| text.parse().ok());
        given.unwrap_or(otherwise).max(1)
    };
    let (size, page) = (number_of("per_page", 30).min(100), number_of("page", 1));
    let last = rows.len().div_ceil(size).max(1);
    let shown = rows.into_iter().skip((page - 1) * size).take(size);
    let mut reply = Reply::json(200, &Value::Array(shown.collect()));
    if page < last {
        let link = |page: usize, rel: &str| {
            let api = ctx.web.replacen("://", "://api.", 1);
            let name = ctx.state().full_name(repo.id);
            format!(
                "<{api}/repos/{name}/rules/branches/{branch}?per_page={size}&page={page}>; rel=\"{rel}\""
            )
        };
        let links = format!("{}, {}", link(page + 1, "next"), link(last, "last"));
        reply.set("link", links);
    }
    reply
}

fn source_type(ruleset: &Ruleset) -> &'static str {
    match ruleset.of_org {
        true => "Organization",
        false => "Repository",
    }
}

fn source(ctx: &Ctx<'_>, repo: &Repo, ruleset: &Ruleset) -> String {
    let state = ctx.state();
    match ruleset.of_org {
        true => state.login(repo.owner).to_owned(),
        false => state.full_name(repo.id),
    }
}

/// Answers with one ruleset, or with a list of all rulesets without their rules.
pub(super) fn rulesets(ctx: &Ctx<'_>, repo: &Repo, id: Option<&str>) -> Reply {
    let short = |ruleset: &Ruleset| {
        json!({
            "id": ruleset.id,
            "name": ruleset.name,
            "target": "branch",
            "source_type": source_type(ruleset),
            "source": source(ctx, repo, ruleset),
            "enforcement": match ruleset.enforcement {
                Enforcement::Active => "active",
                Enforcement::Evaluate => "evaluate",
                Enforcement::Disabled => "disabled",
            },
        })
    };
    let Some(id) = id else {
        let all = repo.rulesets.iter().map(short);
        return Reply::json(200, &Value::Array(all.collect()));
    };
    let mut all = repo.rulesets.iter();
    let Some(ruleset) = all.find(|it| it.id.to_string() == id) else {
        return reply::not_found();
    };
    let mut shown = short(ruleset);
    let (include, exclude) = (&ruleset.include, &ruleset.exclude);
    shown["conditions"] = json!({ "ref_name": { "include": include, "exclude": exclude } });
    let rules = ruleset.rules.iter();
    let rules = rules.map(|it| json!({ "type": it.kind, "parameters": it.parameters }));
    shown["rules"] = rules.collect();
    if ctx.permission(repo.id) == Some(Permission::Admin) {
        shown["bypass_actors"] = ruleset.bypass.iter().map(actor).collect();
    }
    let branch = &repo.default_branch;
    let of = Source::Ruleset(ruleset.id);
    let bypasses = ctx.state().may_bypass(ctx.viewer, repo, branch, of);
    shown["current_user_can_bypass"] = json!(if bypasses { "always" } else { "never" });
    Reply::json(200, &shown)
}

fn actor(bypass: &Bypass) -> Value {
    let (id, kind) = match bypass {
        Bypass::Role(Permission::Maintain) => (2, "RepositoryRole"),
        Bypass::Role(Permission::Admin) => (5, "RepositoryRole"),
        Bypass::Role(_) => (4, "RepositoryRole"),
        Bypass::Team(id) => (*id, "Team"),
        Bypass::User(id) => (*id, "User"),
    };
    json!({ "actor_id": id, "actor_type": kind, "bypass_mode": "always" })
}

/// Answers with a branch. Everybody with read access learns whether it is protected.
pub(super) fn branch(repo: &Repo, branch: &str) -> Reply {
    let refname = format!("refs/heads/{branch}");
    if git::commit_of(&repo.git_dir, &refname).is_none() {
        return reply::message(404, "Branch not found");
    }
    let mut in_force = repo.rulesets.iter().filter(|it| it.applies(repo, branch));
    let protected = repo.protections.contains_key(branch) || in_force.next().is_some();
    Reply::json(200, &json!({ "name": branch, "protected": protected }))
}

/// Answers with the protection of a branch. Only administrators may learn whether a branch is
/// protected.
pub(super) fn protection(ctx: &Ctx<'_>, repo: &Repo, branch: &str) -> Reply {
    if ctx.permission(repo.id) < Some(Permission::Admin) {
        return reply::not_found();
    }
    match repo.protections.get(branch) {
        Some(rule) => Reply::json(200, &of_protection(ctx, rule)),
        None => reply::message(404, "Branch not protected"),
    }
}

fn of_protection(ctx: &Ctx<'_>, rule: &Protection) -> Value {
    let enabled = |value: bool| json!({ "enabled": value });
    let mut shown = json!({
        "enforce_admins": enabled(rule.enforce_admins),
        "required_linear_history": enabled(rule.linear),
        "required_conversation_resolution": enabled(rule.conversations),
        "required_signatures": enabled(rule.signatures),
        "lock_branch": enabled(rule.locked),
        "allow_force_pushes": enabled(false),
        "allow_deletions": enabled(false),
        "block_creations": enabled(false),
    });
    if rule.strict || !rule.checks.is_empty() {
        let checks = rule.checks.iter();
        let checks = checks.map(|name| json!({ "context": name, "app_id": rule.apps.get(name) }));
        shown["required_status_checks"] = json!({
            "strict": rule.strict,
            "contexts": rule.checks,
            "checks": checks.collect::<Vec<_>>(),
        });
    }
    if rule.approvals > 0 || rule.code_owners || rule.last_push || rule.dismiss_stale {
        shown["required_pull_request_reviews"] = json!({
            "required_approving_review_count": rule.approvals,
            "require_code_owner_reviews": rule.code_owners,
            "require_last_push_approval": rule.last_push,
            "dismiss_stale_reviews": rule.dismiss_stale,
        });
    }
    if let Some(pushers) = &rule.pushers {
        let users = pushers.iter().map(|id| super::account(ctx, *id));
        let users: Vec<Value> = users.collect();
        shown["restrictions"] = json!({ "users": users, "teams": [], "apps": [] });
    }
    shown
}
