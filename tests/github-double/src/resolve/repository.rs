//! Resolves repositories and branch protection.

use super::common;
use crate::{
    git,
    graphql::{Args, Connection, Ctx, Fail, Node, Resolved, Val, account_node},
    state::{AccountKind, Enforcement, Id, Permission, PullState, Repo, Ruleset},
};

pub(super) fn field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let repo = ctx.repo(id)?;
    if let Some(value) = settings(ctx, &repo, name) {
        return Ok(Some(value));
    }
    if let Some(value) = people(ctx, &repo, name, args)? {
        return Ok(Some(value));
    }
    Ok(Some(match name {
        "pullRequest" | "issue" | "issueOrPullRequest" => by_number(ctx, id, name, args)?,
        "pullRequests" => pulls(ctx, args, |pull_repo, _| pull_repo == id),
        "issues" => super::issue::list(ctx, args, |issue| issue.repo == id),
        "issueTypes" => super::issue::issue_types(ctx, repo.owner),
        "label" => {
            let wanted = args.str("name").unwrap_or_default();
            let state = ctx.state();
            let found = state
                .labels
                .values()
                .find(|label| label.repo == id && label.name.eq_ignore_ascii_case(wanted));
            Val::option(found.map(|label| Node::Label(label.id)))
        }
        "labels" => super::label::list(ctx, id, args),
        "milestone" => {
            let number = args.int("number").unwrap_or_default();
            let state = ctx.state();
            let found = state
                .milestones
                .values()
                .find(|it| it.repo == id && i64::try_from(it.number) == Ok(number));
            Val::option(found.map(|it| Node::Milestone(it.id)))
        }
        "milestones" => super::label::milestones(ctx, id, args),
        "ref" => {
            let name = args.str("qualifiedName").unwrap_or_default();
            super::commit::find_ref(&repo, name)
                .map_or(Val::NULL, |full| Node::Ref(id, full).into())
        }
        "refs" => super::commit::refs(&repo, args)?,
        "object" => {
            let expression = args
                .str("oid")
                .or(args.str("expression"))
                .unwrap_or_default();
            super::commit::object(&repo, expression)
        }
        "defaultBranchRef" => match git::branch(&repo.git_dir, &repo.default_branch) {
            Some(_) => Node::Ref(id, format!("refs/heads/{}", repo.default_branch)).into(),
            None => Val::NULL,
        },
        "isEmpty" => git::branch(&repo.git_dir, &repo.default_branch)
            .is_none()
            .into(),
        "forks" => {
            let forks: Vec<Id> = {
                let state = ctx.state();
                let forks = state.repos.values().filter(|it| it.parent == Some(id));
                forks.map(|it| it.id).collect()
            };
            Val::connection(
                forks
                    .into_iter()
                    .filter(|it| ctx.may_see(*it))
                    .map(Node::Repo),
            )
        }
        "branchProtectionRules" => Val::connection(
            repo.protections
                .keys()
                .map(|branch| Node::Protection(id, branch.clone())),
        ),
        "rulesets" => {
            let parents = args.bool("includeParents").unwrap_or(true);
            let shown = repo.rulesets.iter().filter(|it| parents || !it.of_org);
            Val::Connection(Connection {
                nodes: shown.map(|it| ruleset(&repo, it)).collect(),
                ..Connection::default()
            })
        }
        "ruleset" => {
            let id = args.int("databaseId").and_then(|id| Id::try_from(id).ok());
            let found = repo.rulesets.iter().find(|it| Some(it.id) == id);
            Val::option(found.map(|it| ruleset(&repo, it)))
        }
        "pullRequestTemplates" => templates(&repo),
        "projectsV2" | "projectV2" | "recentProjects" => {
            ctx.check_scope(name, super::project::SCOPES)?;
            return super::project::of_owner(ctx, repo.owner, name, args);
        }
        _ => return Ok(None),
    }))
}

fn settings(ctx: &Ctx<'_>, repo: &Repo, name: &str) -> Option<Val> {
    let url = || ctx.repo_url(repo.id);
    let permission = || ctx.permission(repo.id);
    Some(match name {
        "databaseId" => repo.id.into(),
        "name" => (&repo.name).into(),
        "nameWithOwner" => ctx.state().full_name(repo.id).into(),
        "owner" => common::actor(ctx, repo.owner),
        "description" => Val::option(repo.description.as_ref()),
        "url" => url().into(),
        "sshUrl" => {
            let host = ctx.web.split_once("://").map_or("", |(_, host)| host);
            format!("git@{host}:{}.git", ctx.state().full_name(repo.id)).into()
        }
        "projectsUrl" => format!("{}/projects", url()).into(),
        "isPrivate" => repo.private.into(),
        "visibility" => if repo.private { "PRIVATE" } else { "PUBLIC" }.into(),
        "isArchived" => repo.archived.into(),
        "archivedAt" => Val::NULL,
        "isFork" => repo.parent.is_some().into(),
        "isInOrganization" => (ctx.state().accounts.get(&repo.owner))
            .is_some_and(|owner| owner.kind == AccountKind::Organization)
            .into(),
        "parent" => Val::option(repo.parent.filter(|it| ctx.may_see(*it)).map(Node::Repo)),
        "forkCount" => {
            let state = ctx.state();
            let forks = state.repos.values().filter(|it| it.parent == Some(repo.id));
            forks.count().into()
        }
        "createdAt" => (&repo.created_at).into(),
        "updatedAt" | "pushedAt" => (&repo.pushed_at).into(),
        "mergeCommitAllowed" => repo.allow_merge.into(),
        "squashMergeAllowed" => repo.allow_squash.into(),
        "rebaseMergeAllowed" => repo.allow_rebase.into(),
        "autoMergeAllowed" => repo.allow_auto_merge.into(),
        "deleteBranchOnMerge" => repo.delete_branch_on_merge.into(),
        "mergeCommitTitle" => "MERGE_MESSAGE".into(),
        "mergeCommitMessage" => "PR_TITLE".into(),
        "squashMergeCommitTitle" => "COMMIT_OR_PR_TITLE".into(),
        "squashMergeCommitMessage" => "COMMIT_MESSAGES".into(),
        "viewerDefaultMergeMethod" => if repo.allow_merge {
            "MERGE"
        } else if repo.allow_squash {
            "SQUASH"
        } else {
            "REBASE"
        }
        .into(),
        "hasIssuesEnabled" | "hasProjectsEnabled" | "hasPullRequestsEnabled" | "forkingAllowed" => {
            true.into()
        }
        "viewerPermission" => Val::option(permission().map(Permission::name)),
        "viewerCanAdminister" => (permission() == Some(Permission::Admin)).into(),
        "viewerCanSubscribe" => true.into(),
        _ => return None,
    })
}

fn people(ctx: &Ctx<'_>, repo: &Repo, name: &str, args: &Args) -> Resolved {
    let wanted = args.str("query").unwrap_or_default().to_lowercase();
    let matches = |id: &Id| {
        let state = ctx.state();
        let account = state.accounts.get(id);
        account.is_some_and(|account| {
            account.login.to_lowercase().contains(&wanted)
                || account
                    .name
                    .as_ref()
                    .is_some_and(|name| name.to_lowercase().contains(&wanted))
        })
    };
    Ok(Some(match name {
        "assignableUsers" | "mentionableUsers" => {
            let ids: Vec<Id> = assignable(ctx, repo).into_iter().filter(matches).collect();
            common::actors(ctx, &ids)
        }
        "suggestedActors" => {
            let mut ids = assignable(ctx, repo);
            // Copilot can be assigned to issues if it is enabled.
            let copilot = ctx.state().account(COPILOT).map(|bot| bot.id);
            ids.extend(copilot);
            common::actors(ctx, &ids)
        }
        "collaborators" => {
            if ctx.permission(repo.id) < Some(Permission::Write) {
                return Err(Fail::forbidden(
                    "You do not have permission to view repository collaborators.",
                ));
            }
            let login = args.str("login");
            let ids: Vec<Id> = assignable(ctx, repo)
                .into_iter()
                .filter(matches)
                .filter(|id| login.is_none_or(|login| ctx.state().login(*id) == login))
                .collect();
            let state = ctx.state();
            Val::Connection(Connection {
                edges: ids
                    .iter()
                    .map(|id| {
                        let permission = state.permission(*id, repo).map(Permission::name);
                        vec![("permission", Val::from(permission.unwrap_or("READ")))]
                    })
                    .collect(),
                nodes: ids
                    .iter()
                    .map(|id| account_node(&state, *id).into())
                    .collect(),
                ..Connection::default()
            })
        }
        _ => return Ok(None),
    }))
}

/// Login of GitHub's bot that works on the issues assigned to it.
const COPILOT: &str = "copilot-swe-agent";

pub(super) fn assignable(ctx: &Ctx<'_>, repo: &Repo) -> Vec<Id> {
    let state = ctx.state();
    let mut ids: Vec<Id> = state
        .accounts
        .values()
        .filter(|account| account.kind == AccountKind::User)
        .filter(|account| {
            account.id == repo.owner
                || repo.collaborators.contains_key(&account.id)
                || state
                    .accounts
                    .get(&repo.owner)
                    .is_some_and(|owner| owner.members.contains_key(&account.id))
        })
        .map(|account| account.id)
        .collect();
    ids.sort_by_key(|id| state.login(*id).to_lowercase());
    ids
}

fn by_number(ctx: &Ctx<'_>, repo: Id, name: &str, args: &Args) -> Result<Val, Fail> {
    let number = args.int("number").unwrap_or_default();
    let wanted = u64::try_from(number).unwrap_or(0);
    let state = ctx.state();
    let pull = state.pull(repo, wanted).map(|pull| Node::Pull(pull.id));
    let issue = state.issue(repo, wanted).map(|issue| Node::Issue(issue.id));
    let (found, what) = match name {
        "pullRequest" => (pull, "a PullRequest"),
        "issue" => (issue, "an Issue"),
        _ => (pull.or(issue), "an issue or pull request"),
    };
    found.map(Val::Object).ok_or_else(|| {
        Fail::not_found(format!(
            "Could not resolve to {what} with the number of {number}."
        ))
    })
}

/// Returns the pull requests that the arguments of a `pullRequests` field select.
///
/// `of` returns true if a pull request, given by its repository and its object number, belongs to
/// the parent object.
pub(super) fn pulls(ctx: &Ctx<'_>, args: &Args, of: impl Fn(Id, Id) -> bool) -> Val {
    let states = args.strings("states").filter(|states| !states.is_empty());
    let labels = args.strings("labels");
    let state = ctx.state();
    let mut pulls: Vec<_> = state
        .pulls
        .values()
        .filter(|pull| of(pull.repo, pull.id))
        .filter(|pull| {
            states
                .as_ref()
                .is_none_or(|states| states.iter().any(|it| it == pull.state.name()))
        })
        .filter(|pull| {
            args.str("baseRefName")
                .is_none_or(|base| base == pull.base_branch)
        })
        .filter(|pull| {
            args.str("headRefName")
                .is_none_or(|head| head == pull.head_branch)
        })
        .filter(|pull| {
            labels.as_ref().is_none_or(|labels| {
                pull.labels
                    .iter()
                    .filter_map(|id| state.labels.get(id))
                    .any(|label| labels.iter().any(|it| it.eq_ignore_ascii_case(&label.name)))
            })
        })
        .collect();
    common::sort_by(&mut pulls, args, |pull, field| match field {
        "UPDATED_AT" => format!("{}{}", pull.updated_at, common::sortable(pull.id)),
        "COMMENTS" => {
            let comments = state.comments.values().filter(|it| it.subject == pull.id);
            common::sortable(u64::try_from(comments.count()).unwrap_or(0))
        }
        _ => format!("{}{}", pull.created_at, common::sortable(pull.id)),
    });
    Val::connection(pulls.into_iter().map(|pull| Node::Pull(pull.id)))
}

fn ruleset(repo: &Repo, ruleset: &Ruleset) -> Val {
    let enforcement = match ruleset.enforcement {
        Enforcement::Active => "ACTIVE",
        Enforcement::Evaluate => "EVALUATE",
        Enforcement::Disabled => "DISABLED",
    };
    let source = match ruleset.of_org {
        true => Node::Organization(repo.owner),
        false => Node::Repo(repo.id),
    };
    Val::record(
        "RepositoryRuleset",
        vec![
            ("id", format!("RRS_{}", ruleset.id).into()),
            ("databaseId", ruleset.id.into()),
            ("name", (&ruleset.name).into()),
            ("enforcement", enforcement.into()),
            ("target", "BRANCH".into()),
            ("source", source.into()),
        ],
    )
}

fn templates(repo: &Repo) -> Val {
    let mut found = Vec::new();
    for path in [
        "PULL_REQUEST_TEMPLATE.md",
        ".github/PULL_REQUEST_TEMPLATE.md",
        "docs/PULL_REQUEST_TEMPLATE.md",
    ] {
        let object = format!("refs/heads/{}:{path}", repo.default_branch);
        if let Ok(body) = git::run(&repo.git_dir, &["cat-file", "blob", &object]) {
            let body = String::from_utf8_lossy(&body).into_owned();
            found.push(Val::record(
                "PullRequestTemplate",
                vec![
                    ("filename", path.into()),
                    ("body", body.into()),
                    ("repository", Node::Repo(repo.id).into()),
                ],
            ));
        }
    }
    Val::List(found)
}

pub(super) fn protection_field(ctx: &Ctx<'_>, repo: Id, branch: &str, name: &str) -> Resolved {
    let Some(rule) = ctx.state().protection(repo, branch).cloned() else {
        return Err(common::gone("BranchProtectionRule"));
    };
    Ok(Some(match name {
        "pattern" => branch.into(),
        "repository" => Node::Repo(repo).into(),
        "requiresApprovingReviews" => (rule.approvals > 0).into(),
        "requiredApprovingReviewCount" => {
            Val::option((rule.approvals > 0).then_some(rule.approvals))
        }
        "requiresStatusChecks" => (!rule.checks.is_empty()).into(),
        "requiredStatusCheckContexts" => common::texts(&rule.checks),
        "requiredStatusChecks" => {
            let of_app = |id: &Id| Val::record("App", vec![("databaseId", (*id).into())]);
            let checks = rule.checks.iter().map(|name| {
                let app = Val::option(rule.apps.get(name).map(of_app));
                let shown = vec![("context", name.into()), ("app", app)];
                Val::record("RequiredStatusCheckDescription", shown)
            });
            Val::List(checks.collect())
        }
        "requiresStrictStatusChecks" => rule.strict.into(),
        "requiresConversationResolution" => rule.conversations.into(),
        "isAdminEnforced" => rule.enforce_admins.into(),
        "requiresCodeOwnerReviews" => rule.code_owners.into(),
        "dismissesStaleReviews" => rule.dismiss_stale.into(),
        "requireLastPushApproval" => rule.last_push.into(),
        "requiresLinearHistory" => rule.linear.into(),
        "requiresCommitSignatures" => rule.signatures.into(),
        "requiresDeployments" => (!rule.deployments.is_empty()).into(),
        "requiredDeploymentEnvironments" => common::texts(&rule.deployments),
        "lockBranch" => rule.locked.into(),
        "restrictsPushes" => rule.pushers.is_some().into(),
        _ => return Ok(None),
    }))
}

/// Returns the rules of a protected branch as an account that pushes sees them.
pub(super) fn update_rule(ctx: &Ctx<'_>, repo: Id, branch: &str) -> Val {
    let Some(rule) = ctx.state().protection(repo, branch).cloned() else {
        return Val::NULL;
    };
    let permission = ctx.permission(repo);
    let writes = permission >= Some(Permission::Write);
    let bypasses = !rule.enforce_admins && permission == Some(Permission::Admin);
    let pushers = rule.pushers.as_ref();
    let is_listed = !rule.locked && pushers.is_none_or(|all| all.contains(&ctx.viewer));
    Val::record(
        "RefUpdateRule",
        vec![
            ("pattern", branch.into()),
            (
                "requiredApprovingReviewCount",
                Val::option((rule.approvals > 0).then_some(rule.approvals)),
            ),
            ("requiredStatusCheckContexts", common::texts(&rule.checks)),
            ("requiresConversationResolution", rule.conversations.into()),
            ("requiresCodeOwnerReviews", rule.code_owners.into()),
            ("requiresLinearHistory", rule.linear.into()),
            ("requiresSignatures", rule.signatures.into()),
            ("allowsDeletions", false.into()),
            ("allowsForcePushes", false.into()),
            ("blocksCreations", false.into()),
            ("viewerAllowedToDismissReviews", writes.into()),
            ("viewerCanPush", (writes && (is_listed || bypasses)).into()),
        ],
    )
}

/// Returns the numbers of open and closed pull requests of a milestone.
pub(super) fn open_pulls(ctx: &Ctx<'_>, milestone: Id) -> (usize, usize) {
    let state = ctx.state();
    let mut counts = (0, 0);
    for pull in state
        .pulls
        .values()
        .filter(|it| it.milestone == Some(milestone))
    {
        match pull.state {
            PullState::Open => counts.0 += 1,
            _ => counts.1 += 1,
        }
    }
    counts
}
