//! Resolves check suites, check runs, commit statuses, and their combined state.

use std::collections::BTreeMap;

use super::{common, rules};
use crate::{
    graphql::{Args, Connection, Ctx, Node, Resolved, Val},
    state::Id,
};

/// A check run or a status on a commit.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) node: Node,
    /// Name that branch protection uses for the check run or status.
    pub(crate) name: String,
    /// State of the check run (`CheckRunState`) or of the status (`StatusState`).
    pub(crate) state: String,
    /// Slug of the app that reported the check run; `None` for a status.
    pub(crate) app: Option<String>,
}

impl Context {
    /// Returns true if this check run or status does not prevent a merge.
    pub(crate) fn passes(&self) -> bool {
        matches!(self.state.as_str(), "SUCCESS" | "NEUTRAL" | "SKIPPED")
    }

    fn fails(&self) -> bool {
        matches!(
            self.state.as_str(),
            "FAILURE" | "ERROR" | "TIMED_OUT" | "CANCELLED" | "ACTION_REQUIRED" | "STARTUP_FAILURE"
        )
    }
}

/// Returns the check runs and statuses on a commit: the newest run of each name in a suite, and the
/// newest status of each name.
pub(crate) fn contexts(ctx: &Ctx<'_>, repo: Id, oid: &str) -> Vec<Context> {
    let state = ctx.state();
    let mut runs = BTreeMap::new();
    for run in state.runs.values() {
        let in_commit = state
            .suites
            .get(&run.suite)
            .is_some_and(|suite| suite.repo == repo && suite.commit == oid);
        if in_commit {
            runs.insert((run.suite, run.name.clone()), run);
        }
    }
    let mut statuses = BTreeMap::new();
    for status in state.statuses.values() {
        if status.repo == repo && status.commit == oid {
            statuses.insert(status.context.clone(), status);
        }
    }
    let mut runs: Vec<_> = runs.into_values().collect();
    runs.sort_by_key(|run| run.id);
    let runs = runs.into_iter().map(|run| Context {
        node: Node::Run(run.id),
        name: run.name.clone(),
        state: run_state(run),
        app: state.suites.get(&run.suite).map(|suite| suite.app.clone()),
    });
    let mut statuses: Vec<_> = statuses.into_values().collect();
    statuses.sort_by_key(|status| status.id);
    runs.chain(statuses.into_iter().map(|status| Context {
        node: Node::Status(status.id),
        name: status.context.clone(),
        state: status.state.clone(),
        app: None,
    }))
    .collect()
}

fn run_state(run: &crate::state::CheckRun) -> String {
    match &run.conclusion {
        Some(conclusion) if run.status == "COMPLETED" => conclusion.clone(),
        _ => run.status.clone(),
    }
}

/// Returns the combined state of all check runs and statuses on a commit.
pub(crate) fn rollup_state(contexts: &[Context]) -> &'static str {
    if contexts.iter().any(|it| it.state == "ERROR") {
        "ERROR"
    } else if contexts.iter().any(Context::fails) {
        "FAILURE"
    } else if contexts.iter().all(Context::passes) {
        "SUCCESS"
    } else {
        "PENDING"
    }
}

/// Resolves the fields of a commit or a pull request that are about checks.
pub(super) fn of_commit(ctx: &Ctx<'_>, repo: Id, oid: &str, name: &str, args: &Args) -> Val {
    let contexts = contexts(ctx, repo, oid);
    match name {
        "statusCheckRollup" if contexts.is_empty() => Val::NULL,
        "statusCheckRollup" => Node::Rollup(repo, oid.to_owned()).into(),
        "status" => {
            let any = contexts.iter().any(|it| matches!(it.node, Node::Status(_)));
            Val::option(any.then(|| Node::CommitStatus(repo, oid.to_owned())))
        }
        _ => {
            let app = args
                .object("filterBy")
                .and_then(|filter| filter.string("checkName"));
            let state = ctx.state();
            let suites = state.suites.values().filter(|suite| {
                suite.repo == repo
                    && suite.commit == oid
                    && app.as_ref().is_none_or(|name| {
                        let mut runs = state.runs.values();
                        runs.any(|run| run.suite == suite.id && run.name == *name)
                    })
            });
            Val::connection(suites.map(|suite| Node::Suite(suite.id)))
        }
    }
}

pub(super) fn rollup_field(ctx: &Ctx<'_>, repo: Id, oid: &str, name: &str) -> Resolved {
    let all = contexts(ctx, repo, oid);
    Ok(Some(match name {
        "state" => rollup_state(&all).into(),
        "commit" => Node::Commit(repo, oid.to_owned()).into(),
        "contexts" => context_connection(&all),
        _ => return Ok(None),
    }))
}

fn context_connection(all: &[Context]) -> Val {
    let is_run = |context: &&Context| matches!(context.node, Node::Run(_));
    let counts = |type_name: &str, contexts: Vec<&Context>| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for context in contexts {
            *counts.entry(&context.state).or_default() += 1;
        }
        let records = counts.into_iter().map(|(state, count)| {
            Val::record(
                type_name,
                vec![("state", state.into()), ("count", count.into())],
            )
        });
        Val::List(records.collect())
    };
    let runs: Vec<&Context> = all.iter().filter(is_run).collect();
    let statuses: Vec<&Context> = all.iter().filter(|it| !is_run(it)).collect();
    Val::Connection(Connection {
        nodes: all.iter().map(|it| it.node.clone().into()).collect(),
        extra: vec![
            ("checkRunCount", runs.len().into()),
            ("statusContextCount", statuses.len().into()),
            ("checkRunCountsByState", counts("CheckRunStateCount", runs)),
            (
                "statusContextCountsByState",
                counts("StatusContextStateCount", statuses),
            ),
        ],
        ..Connection::default()
    })
}

pub(super) fn commit_status_field(
    ctx: &Ctx<'_>,
    repo: Id,
    oid: &str,
    name: &str,
    args: &Args,
) -> Resolved {
    let all = contexts(ctx, repo, oid);
    let statuses: Vec<Context> = all
        .iter()
        .filter(|it| matches!(it.node, Node::Status(_)))
        .cloned()
        .collect();
    Ok(Some(match name {
        "state" => rollup_state(&statuses).into(),
        "commit" => Node::Commit(repo, oid.to_owned()).into(),
        "contexts" => Val::List(statuses.into_iter().map(|it| it.node.into()).collect()),
        "combinedContexts" => context_connection(&all),
        "context" => {
            let wanted = args.str("name").unwrap_or_default();
            let found = statuses.into_iter().find(|it| it.name == wanted);
            Val::option(found.map(|it| it.node))
        }
        _ => return Ok(None),
    }))
}

/// Returns true if a rule requires this check run or status on a pull request.
fn is_required(ctx: &Ctx<'_>, repo: Id, (name, app): (&str, Option<&str>), args: &Args) -> bool {
    let state = ctx.state();
    let by_number = args
        .int("pullRequestNumber")
        .and_then(|number| u64::try_from(number).ok())
        .and_then(|number| state.pull(repo, number));
    let by_id =
        args.str("pullRequestId")
            .and_then(|id| match crate::graphql::find(&state, id).ok()? {
                Node::Pull(id) => state.pulls.get(&id),
                _ => None,
            });
    let pull = by_number.or(by_id);
    pull.is_some_and(|pull| rules::is_check_required(&state, pull, name, app))
}

fn records(nodes: impl Iterator<Item = Val>) -> Val {
    Val::Connection(Connection {
        nodes: nodes.collect(),
        ..Connection::default()
    })
}

fn annotation((level, path, line, message): &(&'static str, String, u64, String)) -> Val {
    let point = || Val::record("CheckAnnotationPosition", vec![("line", (*line).into())]);
    let span = vec![("start", point()), ("end", point())];
    let fields = vec![
        ("annotationLevel", (*level).into()),
        ("path", path.as_str().into()),
        ("location", Val::record("CheckAnnotationSpan", span)),
        ("message", message.as_str().into()),
    ];
    Val::record("CheckAnnotation", fields)
}

pub(super) fn run_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(run) = ctx.state().runs.get(&id).cloned() else {
        return Err(common::gone("CheckRun"));
    };
    let suite = ctx.state().suites.get(&run.suite).cloned();
    let Some(suite) = suite else {
        return Err(common::gone("CheckSuite"));
    };
    Ok(Some(match name {
        "name" => run.name.into(),
        "status" => run.status.into(),
        "conclusion" => Val::option(run.conclusion),
        "startedAt" => Val::option(run.started_at),
        "completedAt" => Val::option(run.completed_at),
        "detailsUrl" => Val::option(run.details_url),
        "title" => Val::option(run.title),
        "summary" => Val::option(run.summary),
        "databaseId" => id.into(),
        "url" => format!("{}/runs/{id}", ctx.repo_url(suite.repo)).into(),
        "annotations" => records(run.annotations.iter().map(annotation)),
        "steps" => {
            let steps = run
                .steps
                .iter()
                .enumerate()
                .map(|(number, (name, conclusion))| {
                    let fields = vec![
                        ("name", name.as_str().into()),
                        ("number", (number + 1).into()),
                        ("conclusion", (*conclusion).into()),
                        ("status", "COMPLETED".into()),
                    ];
                    Val::record("CheckStep", fields)
                });
            records(steps)
        }
        "checkSuite" => Node::Suite(run.suite).into(),
        "repository" => Node::Repo(suite.repo).into(),
        "isRequired" => is_required(ctx, suite.repo, (&run.name, Some(&suite.app)), args).into(),
        _ => return Ok(None),
    }))
}

pub(super) fn status_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(status) = ctx.state().statuses.get(&id).cloned() else {
        return Err(common::gone("StatusContext"));
    };
    Ok(Some(match name {
        "context" => status.context.into(),
        "state" => status.state.into(),
        "description" => Val::option(status.description),
        "targetUrl" => Val::option(status.target_url),
        "createdAt" => status.created_at.into(),
        "creator" => common::actor(ctx, status.creator),
        "commit" => Node::Commit(status.repo, status.commit).into(),
        "isRequired" => is_required(ctx, status.repo, (&status.context, None), args).into(),
        _ => return Ok(None),
    }))
}

pub(super) fn suite_field(ctx: &Ctx<'_>, id: Id, name: &str, args: &Args) -> Resolved {
    let Some(suite) = ctx.state().suites.get(&id).cloned() else {
        return Err(common::gone("CheckSuite"));
    };
    let runs = || {
        let state = ctx.state();
        let wanted = args
            .object("filterBy")
            .and_then(|filter| filter.string("checkName"));
        let runs = state.runs.values().filter(|run| run.suite == id);
        runs.filter(|run| wanted.as_ref().is_none_or(|name| *name == run.name))
            .cloned()
            .collect::<Vec<_>>()
    };
    let done = || runs().iter().all(|run| run.status == "COMPLETED");
    Ok(Some(match name {
        "app" => Node::App(suite.app).into(),
        "commit" => Node::Commit(suite.repo, suite.commit).into(),
        "repository" => Node::Repo(suite.repo).into(),
        "databaseId" => id.into(),
        "createdAt" | "updatedAt" => suite.created_at.into(),
        "url" => format!("{}/suites/{id}", ctx.repo_url(suite.repo)).into(),
        "checkRuns" => Val::connection(runs().into_iter().map(|run| Node::Run(run.id))),
        "workflowRun" => Val::option(suite.workflow.is_some().then_some(Node::WorkflowRun(id))),
        "status" => if done() { "COMPLETED" } else { "IN_PROGRESS" }.into(),
        "conclusion" if done() => {
            let failed = runs()
                .iter()
                .any(|run| run.conclusion.as_deref().is_some_and(|it| it == "FAILURE"));
            if failed { "FAILURE" } else { "SUCCESS" }.into()
        }
        "conclusion" => Val::NULL,
        _ => return Ok(None),
    }))
}

pub(super) fn workflow_run_field(ctx: &Ctx<'_>, id: Id, name: &str) -> Resolved {
    let Some(suite) = ctx.state().suites.get(&id).cloned() else {
        return Err(common::gone("WorkflowRun"));
    };
    Ok(Some(match name {
        "event" => suite.event.unwrap_or_else(|| "push".to_owned()).into(),
        "workflow" => Node::Workflow(id).into(),
        "checkSuite" => Node::Suite(id).into(),
        "databaseId" => id.into(),
        "runNumber" => 1_u64.into(),
        "createdAt" | "updatedAt" => suite.created_at.into(),
        "url" => format!("{}/actions/runs/{id}", ctx.repo_url(suite.repo)).into(),
        _ => return Ok(None),
    }))
}

pub(super) fn workflow_field(ctx: &Ctx<'_>, id: Id, name: &str) -> Resolved {
    let Some(suite) = ctx.state().suites.get(&id).cloned() else {
        return Err(common::gone("Workflow"));
    };
    Ok(Some(match name {
        "name" => suite.workflow.unwrap_or_default().into(),
        "databaseId" => id.into(),
        "state" => "ACTIVE".into(),
        "createdAt" | "updatedAt" => suite.created_at.into(),
        "url" => format!("{}/actions", ctx.repo_url(suite.repo)).into(),
        _ => return Ok(None),
    }))
}

pub(super) fn app_field(ctx: &Ctx<'_>, slug: &str, name: &str) -> Option<Val> {
    Some(match name {
        "name" | "slug" => slug.into(),
        "databaseId" => rules::app_id(slug).into(),
        "url" => format!("{}/apps/{slug}", ctx.web).into(),
        _ => return None,
    })
}
