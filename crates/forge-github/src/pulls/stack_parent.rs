//! Opens a pull request on top of another one: based on its head branch, and in the same stack. A
//! stack is a chain of pull requests, each based on the head branch of the one below.
//!
//! Stacks are a public preview. GraphQL can read but not create stacks;
//! docs.github.com/en/rest/pulls/stacks documents the routes, bodies and answers. A stack contains
//! pull requests of one repository. The routes answer 404 if stacks are not enabled, 400 on
//! Enterprise Servers older than the API version, and 403 to tokens without permission. In these
//! cases the pull request is opened without a stack.

use forge_core::{
    Action, Arg, Error, ErrorKind, Hint, Noun, Op, Outcome, Param, PrId, Precondition, RepoId,
    Result, Step, Warning,
    model::{CreatePull, PullRequest},
};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::{
    head_branch::{fork, quote_branch},
    repo_route,
    stack::VERSION,
};
use crate::{
    GitHub, api::JSON, error, gql::types as wire, mutate::or_read_back, number, owner_and_name,
};

/// Repeats the failed call without `depends_on`.
const ALONE: Action = Action::again(&[(Param::DependsOn, Arg::Omit)]);

/// The pull request below the new one.
pub(super) struct StackParent {
    pub id: PrId,
    number: u64,
    /// The head branch of the lower pull request, which is the base of the new one.
    pub branch: String,
}

/// Where the lower pull request stands in its stack.
pub(super) enum StackPosition {
    /// The pull request is in no stack.
    Alone,
    /// The pull request is the top of the stack with this number.
    Top(u64),
    /// Stacks are not available. The text tells the reason.
    NoStacks(String),
}

/// A stack of pull requests, listed from bottom to top.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Stack {
    number: u64,
    pull_requests: Vec<StackMember>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StackMember {
    number: u64,
    /// `open` or `closed`; a merged pull request is `closed`.
    state: String,
}

impl Stack {
    fn contains(&self, number: u64) -> bool {
        self.pull_requests.iter().any(|it| it.number == number)
    }

    /// Returns the next open pull request above `number`. Closed pull requests are skipped.
    fn find_above(&self, number: u64) -> Option<u64> {
        let from = self.pull_requests.iter();
        let mut above = from.skip_while(|it| it.number != number).skip(1);
        above.find(|it| it.state != "closed").map(|it| it.number)
    }
}

/// Returns the number of the pull request to build on. Fails if that pull request cannot be in one
/// stack with the new one.
pub(super) fn parent_number(repo: &RepoId, req: &CreatePull) -> Result<Option<u64>> {
    let Some(below) = &req.depends_on else {
        return Ok(None);
    };
    if below.repo.comparison_key() != repo.comparison_key() {
        return Err(Error::invalid(
            "depends_on",
            format!("{below} is not in {repo}: a stack on GitHub stays in one repository"),
        )
        .with_hint(
            Hint::new("name a pull request of the same repository")
                .with_action(Action::again(&[(Param::DependsOn, Arg::Choose)])),
        ));
    }
    if let Some((owner, name)) = fork(repo, req) {
        return Err(Error::invalid(
            "head",
            format!(
                "the head branch is in {owner}/{name}: a stack on GitHub stays in one repository"
            ),
        )
        .with_hint(
            Hint::from(format!("push the branch to {repo}, or open it on its own"))
                .with_action(ALONE),
        ));
    }
    number(below).map(Some)
}

impl StackParent {
    /// Checks that a new pull request can build on `id`. `found` is what GitHub returned for `id`.
    pub fn of(id: &PrId, found: Option<wire::Pull>) -> Result<Self> {
        let found = found.ok_or_else(|| error::missing(id))?;
        let (why, is) = match found.state.as_str() {
            "OPEN" if found.is_cross_repository => {
                return Err(Error::invalid(
                    "depends_on",
                    format!(
                        "the branch of {id} is in a fork: a stack on GitHub stays in one repository"
                    ),
                )
                .with_hint(
                    Hint::new("open it alone, and name the lower pull request in its description")
                        .with_action(ALONE),
                ));
            }
            "OPEN" => {
                return Ok(Self {
                    id: id.clone(),
                    number: number(id)?,
                    branch: found.head_ref_name,
                });
            }
            "MERGED" => (Precondition::Merged, "merged"),
            _ => (Precondition::Closed, "closed"),
        };
        Err(Error::precondition(why, format!("{id} is {is}"))
            .with_hint(Hint::new("open the pull request without a dependency").with_action(ALONE)))
    }

    /// Returns the error for a requested base branch that is not the lower pull request's head
    /// branch.
    pub fn other_base_error(&self, base: &str) -> Error {
        Error::invalid(
            "base",
            format!(
                "a pull request on top of {} must have the base branch {}, not {}",
                self.id,
                quote_branch(&self.branch),
                quote_branch(base)
            ),
        )
        .with_hint(
            Hint::new("leave the base branch out, or open the pull request without a dependency")
                .with_action(Action::again(&[(Param::Base, Arg::Omit)])),
        )
    }

    /// Returns the error for a lower pull request that already has another pull request on top.
    fn occupied_error(&self, web: &str, above: u64) -> Result<Error> {
        let (owner, name) = owner_and_name(&self.id.repo)?;
        let url = format!("{web}/{owner}/{name}/pull/{above}");
        let error = Error::new(
            ErrorKind::AlreadyExists {
                existing: Some(url.clone()),
            },
            format!(
                "another pull request is on top of {} already: {url}",
                self.id
            ),
        );
        let build_on = Action::again(&[]).with(Param::DependsOn, above.to_string());
        Ok(error.with_hint(
            Hint::new("build on the other pull request, because a stack is a chain")
                .with_action(build_on),
        ))
    }
}

impl GitHub {
    /// Returns the position of the lower pull request in its stack. Fails if another pull request
    /// is on top of it.
    pub(super) async fn position_of(&self, below: &StackParent) -> Result<StackPosition> {
        let stacks = match self.stacks_of(&below.id.repo, below.number).await {
            Err(error) if is_without_stacks(&error) => {
                return Ok(StackPosition::NoStacks(error.message().to_owned()));
            }
            stacks => stacks?,
        };
        let Some(stack) = stacks.into_iter().find(|it| it.contains(below.number)) else {
            return Ok(StackPosition::Alone);
        };
        match stack.find_above(below.number) {
            Some(above) => Err(below.occupied_error(&self.api.endpoint.web, above)?),
            None => Ok(StackPosition::Top(stack.number)),
        }
    }

    /// Adds the new pull request to a stack with the lower one. Failures become warnings, because
    /// the pull request is open with the right base branch and must not be opened again.
    pub(super) async fn add_to_stack(
        &self,
        below: &StackParent,
        place: StackPosition,
        outcome: &mut Outcome<PullRequest>,
    ) {
        let pull = outcome.value.id.clone();
        let done = match self.stacked(below, &place, &pull).await {
            Ok(warning) => {
                outcome.warnings.extend(warning);
                true
            }
            Err(error) => {
                let message = format!(
                    "the pull request has the right base branch to build on {}, but was not added \
                     to a stack on GitHub: {}",
                    below.id,
                    error.message()
                );
                outcome.warnings.push(
                    Warning::new(message).with_hint(match place {
                        StackPosition::NoStacks(_) => Hint::from(format!(
                            "after {0} is merged, set the base branch of this pull request to the \
                             base branch of {0}; GitHub does this itself if the merged branch is \
                             deleted",
                            below.id
                        ))
                        .with_action(Action::op(Op::PrEdit).on(&pull.key).choose(Param::Base)),
                        StackPosition::Alone | StackPosition::Top(_) => Hint::new(
                            "add both pull requests to a stack on GitHub's page; the base branch \
                             is already right",
                        ),
                    }),
                );
                false
            }
        };
        outcome.steps.push(Step::new("open the pull request", true));
        let name = format!("put it into a stack with {}", below.id);
        outcome.steps.push(Step::new(name, done));
    }

    async fn stacked(
        &self,
        below: &StackParent,
        place: &StackPosition,
        pull: &PrId,
    ) -> Result<Option<Warning>> {
        let top = number(pull)?;
        let stacks = format!("{}/stacks", repo_route(&pull.repo)?);
        let (path, numbers) = match place {
            StackPosition::Alone => (stacks, vec![below.number, top]),
            StackPosition::Top(stack) => (format!("{stacks}/{stack}/add"), vec![top]),
            StackPosition::NoStacks(why) => {
                return Err(Error::precondition(Precondition::Rule, why));
            }
        };
        let body = json!({ "pull_requests": numbers });
        let answer = self
            .api
            .rest_versioned(VERSION, Method::POST, &path, JSON, Some(&body))
            .await;
        let written = answer.and_then(|(status, headers, bytes)| match status.is_success() {
            true => Ok(()),
            false => Err(error::from_http(
                self.api.error_context(true),
                status,
                &headers,
                &bytes,
            )),
        });
        let ((), warning) = or_read_back(written, || async {
            let stacks = self.stacks_of(&pull.repo, top).await?;
            let is_there = stacks
                .iter()
                .any(|it| it.find_above(below.number) == Some(top));
            Ok(is_there.then_some(()))
        })
        .await?;
        Ok(warning)
    }

    /// Returns the stacks that contain a pull request; GitHub returns at most one.
    async fn stacks_of(&self, repo: &RepoId, number: u64) -> Result<Vec<Stack>> {
        let path = format!("{}/stacks?pull_request={number}", repo_route(repo)?);
        let (status, headers, bytes) = self
            .api
            .rest_versioned(VERSION, Method::GET, &path, JSON, None)
            .await?;
        if status == StatusCode::NOT_FOUND {
            let why = format!("stacks are not enabled in {repo}");
            return Err(Error::not_found(Noun::Other, why));
        }
        if !status.is_success() {
            let about = self.api.error_context(false);
            return Err(error::from_http(about, status, &headers, &bytes));
        }
        serde_json::from_slice(&bytes).map_err(|e| {
            let what = format!("the answer of {} about stacks", self.info.host);
            self.api.error_context(false).misread(&what, &e)
        })
    }
}

/// Returns whether an error means that stacks are not available in this repository, on this host or
/// to this token.
fn is_without_stacks(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound { .. }
            | ErrorKind::PermissionDenied { .. }
            | ErrorKind::Upstream { status: 400, .. }
    )
}
