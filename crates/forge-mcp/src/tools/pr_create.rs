use forge_core::{
    Error, PrSelector, locator,
    model::{CreatePull, HeadRef, Reviewer},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::written;
use crate::{
    output::Written,
    server::{Answer, Call, Effect, Spec, Stop, Tool},
};

pub(super) struct PrCreate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    repo: Option<String>,
    title: String,
    /// Branch with the changes, or owner:branch
    #[serde(default)]
    head: String,
    /// git format-patch text instead of head, where the forge takes patches
    patch: Option<String>,
    /// Default: the default branch
    base: Option<String>,
    /// Markdown
    body: Option<String>,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    labels: Vec<String>,
    /// Logins, or org/team
    #[serde(default)]
    reviewers: Vec<String>,
    #[serde(default)]
    assignees: Vec<String>,
}

impl Tool for PrCreate {
    const SPEC: Spec = Spec {
        name: "pr_create",
        title: "Open a pull request",
        description: "Opens a pull request from a branch that the forge has, or a patch. Pushes \
                      nothing: push the branch first. More commits later: push, or pr_resubmit.",
        effect: Effect::Add,
    };
    type Args = Args;
    type Out = Written;

    async fn run(call: &Call, args: Args) -> Result<Answer<Written>, Stop> {
        let repo = call.repo(args.repo.as_deref()).await?;
        let config = call.server.forges().config();
        if args.head.is_empty() && args.patch.is_none() {
            return Err(Error::invalid("head", "neither head nor patch is given")
                .with_hint("pass the branch that has the changes as head")
                .into());
        }
        let hosts = call.server.forges().hosts();
        let head = match args.head.as_str() {
            "" => HeadRef::branch(""),
            named => match locator::parse_selector(named, hosts).map_err(Error::from)? {
                PrSelector::Branch { owner, branch } => HeadRef {
                    owner,
                    ..HeadRef::branch(branch)
                },
                // A branch can be called 7.
                _ => HeadRef::branch(named),
            },
        };
        let req = CreatePull {
            description: args.body.unwrap_or_default(),
            base: args.base.or_else(|| config.pr_base()),
            head,
            draft: args.draft,
            patch: args.patch.map(String::into_bytes),
            labels: args.labels,
            assignees: args.assignees,
            reviewers: args.reviewers.iter().map(|r| Reviewer::parse(r)).collect(),
            ..CreatePull::new("", args.title)
        };
        let outcome = repo.create(&req).await?;
        Ok(written::of_pull(call, "opened", &outcome))
    }
}
