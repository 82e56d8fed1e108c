//! Resolvers of the GraphQL types, one file per family.

mod account;
mod check;
mod commit;
pub(crate) mod common;
mod issue;
mod label;
pub(crate) mod merge_state;
mod project;
mod pull_request;
mod query;
mod repository;
mod review;
mod rules;
pub(crate) mod thread_lines;

pub(crate) use check::{Context, contexts, rollup_state};
pub(crate) use commit::mail;
pub(crate) use pull_request::{closing_issues, decision, get as get_pull, queue_entry, summary};
pub(crate) use query::repo_of;
pub(crate) use rules::{Attempt, not_allowed, owned_by, queue_method, refusal};

use super::{
    graphql::{Args, Ctx, Node, Resolved, Val, node_id},
    mutations,
};

/// Returns the name of the GraphQL type of an object.
pub(crate) fn type_name(ctx: &Ctx<'_>, node: &Node) -> &'static str {
    match node {
        Node::Query => "Query",
        Node::Mutation => "Mutation",
        Node::User(_) => "User",
        Node::Organization(_) => "Organization",
        Node::Bot(_) => "Bot",
        Node::Team(_) => "Team",
        Node::Repo(_) => "Repository",
        Node::Ref(..) => "Ref",
        Node::Commit(..) => "Commit",
        Node::Tree(..) => "Tree",
        Node::Blob(..) => "Blob",
        Node::Pull(_) => "PullRequest",
        Node::PullCommit(..) => "PullRequestCommit",
        Node::Issue(_) => "Issue",
        Node::Label(_) => "Label",
        Node::Milestone(_) => "Milestone",
        Node::Comment(_) => "IssueComment",
        Node::Reaction(..) => "Reaction",
        Node::Review(_) => "PullRequestReview",
        Node::Thread(_) => "PullRequestReviewThread",
        Node::ReviewComment(_) => "PullRequestReviewComment",
        Node::ReviewRequest(..) => "ReviewRequest",
        Node::Suite(_) => "CheckSuite",
        Node::Run(_) => "CheckRun",
        Node::Status(_) => "StatusContext",
        Node::Rollup(..) => "StatusCheckRollup",
        Node::CommitStatus(..) => "Status",
        Node::WorkflowRun(_) => "WorkflowRun",
        Node::Workflow(_) => "Workflow",
        Node::App(_) => "App",
        Node::Project(_) => "ProjectV2",
        Node::Item(_) => "ProjectV2Item",
        Node::Field(id) => project::field_type(&ctx.state(), *id),
        Node::Protection(..) => "BranchProtectionRule",
    }
}

/// Resolves a field. Returns `None` if the double has no data for the field.
pub(crate) fn field(ctx: &Ctx<'_>, node: &Node, name: &str, args: &Args) -> Resolved {
    if name == "id" {
        return Ok(Some(node_id(node).into()));
    }
    if let Some(value) = by_family(ctx, node, name, args)? {
        return Ok(Some(value));
    }
    derived(ctx, node, name, args)
}

fn by_family(ctx: &Ctx<'_>, node: &Node, name: &str, args: &Args) -> Resolved {
    match node {
        Node::Query => query::field(ctx, name, args),
        Node::Mutation => mutations::run(ctx, name, args),
        Node::User(id) | Node::Organization(id) | Node::Bot(id) => {
            account::field(ctx, *id, name, args)
        }
        Node::Team(id) => account::team_field(ctx, *id, name, args),
        Node::Repo(id) => repository::field(ctx, *id, name, args),
        Node::Protection(repo, branch) => repository::protection_field(ctx, *repo, branch, name),
        Node::Ref(repo, full) => commit::ref_field(ctx, *repo, full, name, args),
        Node::Commit(repo, oid) => commit::field(ctx, *repo, oid, name, args),
        Node::Tree(repo, oid) | Node::Blob(repo, oid) => {
            commit::object_field(ctx, *repo, oid, name)
        }
        Node::Pull(id) => pull_request::field(ctx, *id, name, args),
        Node::PullCommit(id, oid) => pull_request::commit_field(ctx, *id, oid, name),
        Node::ReviewRequest(id, index) => pull_request::request_field(ctx, *id, *index, name),
        Node::Issue(id) => issue::field(ctx, *id, name, args),
        Node::Label(id) => label::field(ctx, *id, name, args),
        Node::Milestone(id) => label::milestone_field(ctx, *id, name, args),
        Node::Comment(id) => issue::comment_field(ctx, *id, name, args),
        Node::Reaction(subject, id) => issue::reaction_field(ctx, *subject, *id, name),
        Node::Review(id) => review::field(ctx, *id, name, args),
        Node::Thread(id) => review::thread_field(ctx, *id, name, args),
        Node::ReviewComment(id) => review::comment_field(ctx, *id, name, args),
        Node::Suite(id) => check::suite_field(ctx, *id, name, args),
        Node::WorkflowRun(id) => check::workflow_run_field(ctx, *id, name),
        Node::Workflow(id) => check::workflow_field(ctx, *id, name),
        Node::App(slug) => Ok(check::app_field(ctx, slug, name)),
        Node::Run(id) => check::run_field(ctx, *id, name, args),
        Node::Status(id) => check::status_field(ctx, *id, name, args),
        Node::Rollup(repo, oid) => check::rollup_field(ctx, *repo, oid, name),
        Node::CommitStatus(repo, oid) => check::commit_status_field(ctx, *repo, oid, name, args),
        Node::Project(id) => project::field(ctx, *id, name, args),
        Node::Item(id) => project::item_field(ctx, *id, name, args),
        Node::Field(id) => project::field_field(ctx, *id, name, args),
    }
}

/// Resolves a field from another field of the same object.
fn derived(ctx: &Ctx<'_>, node: &Node, name: &str, args: &Args) -> Resolved {
    let of = |source: &str| by_family(ctx, node, source, args);
    let text = |value: Option<Val>| match value {
        Some(Val::Json(serde_json::Value::String(text))) => Some(text),
        _ => None,
    };
    if name == "resourcePath" {
        let url = text(of("url")?);
        return Ok(url.map(|url| url.strip_prefix(&ctx.web).unwrap_or(&url).to_owned().into()));
    }
    if let Some(source) = name.strip_suffix("ResourcePath") {
        let url = text(of(&format!("{source}Url"))?);
        return Ok(url.map(|url| url.strip_prefix(&ctx.web).unwrap_or(&url).to_owned().into()));
    }
    if let Some(source) = name.strip_suffix("HTML") {
        let source = if source == "shortDescription" {
            "description"
        } else {
            source
        };
        return Ok(text(of(source)?).map(|text| common::html(&text).into()));
    }
    match name {
        "bodyText" => of("body"),
        "permalink" => of("url"),
        "publishedAt" => of("createdAt"),
        "fullDatabaseId" => Ok(of("databaseId")?.map(|value| match value {
            Val::Json(number) => Val::Json(number.to_string().into()),
            other => other,
        })),
        _ => Ok(None),
    }
}
