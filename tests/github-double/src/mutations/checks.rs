//! Mutations of check suites and check runs.

use super::{Payload, repo_target, target};
use crate::{
    graphql::{Args, Ctx, Fail, Node},
    state::{CheckRun, CheckSuite, Id, Permission},
};

fn new_suite(ctx: &Ctx<'_>, repo: Id, commit: &str) -> Id {
    let mut state = ctx.state();
    let id = state.next_id();
    let created_at = state.tick();
    let app = state.login(ctx.viewer).to_owned();
    state.suites.insert(
        id,
        CheckSuite {
            id,
            repo,
            commit: commit.to_owned(),
            app,
            workflow: None,
            event: None,
            created_at,
        },
    );
    id
}

pub(super) fn create_suite(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let repo = repo_target(ctx, input, "repositoryId")?;
    ctx.require(repo, Permission::Write, "CreateCheckSuite")?;
    let id = new_suite(ctx, repo, input.str("headSha").unwrap_or_default());
    Ok(vec![("checkSuite", Node::Suite(id).into())])
}

pub(super) fn create_run(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let repo = repo_target(ctx, input, "repositoryId")?;
    ctx.require(repo, Permission::Write, "CreateCheckRun")?;
    let suite = new_suite(ctx, repo, input.str("headSha").unwrap_or_default());
    let id = {
        let mut state = ctx.state();
        let id = state.next_id();
        state.runs.insert(
            id,
            CheckRun {
                id,
                suite,
                name: input.string("name").unwrap_or_default(),
                status: "QUEUED".to_owned(),
                conclusion: None,
                started_at: None,
                completed_at: None,
                details_url: None,
                title: None,
                summary: None,
                annotations: Vec::new(),
                steps: Vec::new(),
            },
        );
        id
    };
    apply(ctx, id, input);
    Ok(vec![("checkRun", Node::Run(id).into())])
}

fn apply(ctx: &Ctx<'_>, id: Id, input: &Args) {
    let mut state = ctx.state();
    let now = state.tick();
    let Some(run) = state.runs.get_mut(&id) else {
        return;
    };
    if let Some(name) = input.string("name") {
        run.name = name;
    }
    if let Some(status) = input.string("status") {
        run.status = status;
    }
    if let Some(conclusion) = input.string("conclusion") {
        run.conclusion = Some(conclusion);
        "COMPLETED".clone_into(&mut run.status);
        run.completed_at = input.string("completedAt").or(Some(now.clone()));
    }
    if run.started_at.is_none() {
        run.started_at = input.string("startedAt").or(Some(now));
    }
    if let Some(url) = input.string("detailsUrl") {
        run.details_url = Some(url);
    }
    if let Some(output) = input.object("output") {
        run.title = output.string("title");
        run.summary = output.string("summary");
    }
}

pub(super) fn update_run(ctx: &Ctx<'_>, input: &Args) -> Payload {
    let repo = repo_target(ctx, input, "repositoryId")?;
    ctx.require(repo, Permission::Write, "UpdateCheckRun")?;
    let Node::Run(id) = target(ctx, input, "checkRunId")? else {
        return Err(Fail::not_found("Could not resolve to a CheckRun."));
    };
    apply(ctx, id, input);
    Ok(vec![("checkRun", Node::Run(id).into())])
}
