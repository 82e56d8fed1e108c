//! Opens a pull request in up to three steps:
//!
//! - One query verifies the request.
//! - One document commits the file edits, if any, and opens the pull request.
//! - Another document adds labels, people, milestone and boards.
//!
//! If the pull request builds on another one, the two form a stack. The stack is read before the
//! pull request is opened, and updated afterwards.

use std::fmt;

use forge_core::{
    Action, Error, ErrorKind, Hint, Op, Outcome, PageReq, Param, Precondition, RepoId, Result,
    Retry, Step, Warning,
    model::{CreatePull, PrFields, PullQuery, PullRequest, StateFilter},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    edits::{self, CheckedEdits},
    find::is_head,
    head_branch::{fork, quote_branch},
    stack_parent::{self, StackParent},
};
use crate::{
    GitHub,
    api::GqlAnswer,
    caps::LIMITS,
    decorate::Decoration,
    error::no_repository,
    gql::{
        GqlDocument,
        lookups::{self, Lookups, ResolvedIds},
        mutation::{Batch, CREATE_PULL},
        types::{self as wire, Nodes},
    },
    hints::CHOOSE_HEAD,
    map,
    mutate::{Payloads, PullPayload, failed, last_pull, or_read_back},
    owner_and_name, repo_variables,
};

#[derive(Deserialize)]
struct PreparedPull {
    viewer: Option<wire::Login>,
    repository: Option<PreparedPullRepo>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreparedPullRepo {
    id: String,
    #[serde(default)]
    is_archived: bool,
    #[serde(default)]
    default_branch_ref: Option<DefaultBranchName>,
    #[serde(default)]
    existing: Nodes<wire::Pull>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct DefaultBranchName {
    name: String,
}

/// The results of the checks before any write.
struct PullCreatePlan {
    repo_id: String,
    viewer: String,
    base: String,
    /// The id of the repository with the head branch, if the owner alone does not identify the
    /// repository.
    head_repo_id: Option<String>,
    found: ResolvedIds,
    /// The edits to commit to a new branch.
    edited: Option<CheckedEdits>,
    /// The pull request that the new one builds on.
    below: Option<StackParent>,
}

fn check_limits(req: &CreatePull) -> Result<()> {
    LIMITS.check_title(&req.title)?;
    LIMITS.check_text("description", &req.description)?;
    LIMITS.check_label_count(req.labels.len())?;
    req.check_edits()
}

impl GitHub {
    pub(super) async fn create_pull(
        &self,
        repo: &RepoId,
        req: &CreatePull,
    ) -> Result<Outcome<PullRequest>> {
        check_limits(req)?;
        let named;
        let req = if req.edits.is_empty() {
            req
        } else {
            named = edits::with_branch(req)?;
            &named
        };
        let plan = self.prepare_create(repo, req, false).await?;
        let place = match &plan.below {
            Some(below) => Some(self.position_of(below).await?),
            None => None,
        };
        let written = self.open_pull(repo, req, &plan).await;
        let written = match written {
            Err(e) if matches!(e.kind(), ErrorKind::AlreadyExists { existing: None }) => {
                let other = self.opened(repo, req, &plan.base).await.ok().flatten();
                Err(other.map_or(e, |pull| {
                    duplicate_error(&pull.id.key, &pull.url, req, &plan.base)
                }))
            }
            written => written,
        };
        let written = or_read_back(written, || async {
            // The first query found no pull request for these branches, so a matching one by the
            // viewer is new.
            let found = self.opened(repo, req, &plan.base).await?;
            Ok(found.filter(|p| p.author.login.eq_ignore_ascii_case(&plan.viewer)))
        })
        .await;
        let (pull, warning) = match written {
            Err(e) if e.retry() == Retry::Ambiguous && plan.edited.is_some() => {
                return Err(self.look_for_branch(repo, req, e).await);
            }
            written => written?,
        };
        let mut outcome = Outcome::immediate(pull);
        outcome.warnings.extend(warning);
        let edited = plan.edited.as_ref();
        let left_out = edited.and_then(|edited| edited.left_out.clone());
        outcome.warnings.extend(left_out);
        if let (Some(below), Some(place)) = (&plan.below, place) {
            self.add_to_stack(below, place, &mut outcome).await;
        }
        self.decorate(req, &plan, &mut outcome).await;
        outcome.value.depends_on = plan.below.map(|below| below.id.key);
        Ok(outcome)
    }

    /// Checks a request whose head branch may be missing, in one query.
    pub(super) async fn check_create_pull(&self, repo: &RepoId, req: &CreatePull) -> Result<()> {
        check_limits(req)?;
        self.prepare_create(repo, req, true).await.map(drop)
    }

    /// Checks the request. The head branch may be missing if `before_push` is true.
    async fn prepare_create(
        &self,
        repo: &RepoId,
        req: &CreatePull,
        before_push: bool,
    ) -> Result<PullCreatePlan> {
        let (owner, name) = owner_and_name(repo)?;
        let fork = fork(repo, req);
        let mut lookups = Lookups::default();
        if let Some(number) = stack_parent::parent_number(repo, req)? {
            lookups.below(number);
        }
        lookups.labels(&req.labels);
        lookups.assignees(&req.assignees);
        lookups.reviewers(&req.reviewers);
        if let Some(title) = &req.milestone {
            lookups.milestone(title);
        }
        lookups.projects(&req.projects);
        if let Some(base) = &req.base {
            lookups.branch("baseRef", base);
        }
        if !req.edits.is_empty() {
            lookups.files(req.base.as_deref(), edits::paths_to_check(&req.edits));
        }
        match fork {
            Some((owner, name)) => lookups.fork(owner, name, &req.head.branch),
            None => lookups.branch("headRef", &req.head.branch),
        }
        let mut document = GqlDocument::query("CreatePrepare");
        let mut variables = repo_variables(repo)?;
        variables.insert("head".into(), json!(req.head.branch));
        lookups.add_to(&mut document, &mut variables);
        let mut answer: GqlAnswer<PreparedPull> =
            self.api.query(&document.text(), &variables.into()).await?;
        answer.errors.retain(|e| !lookups.expects(e));
        if !req.projects.is_empty() {
            self.api.may_change_boards(&answer)?;
        }
        let prepared = self.api.require_complete(answer)?;
        let found = prepared.repository.ok_or_else(|| no_repository(repo))?;
        if found.is_archived {
            return Err(
                Error::precondition(Precondition::Rule, format!("{repo} is archived"))
                    .with_hint("ask an admin to unarchive it"),
            );
        }
        let below = match &req.depends_on {
            Some(id) => Some(StackParent::of(id, lookups::below(&found.rest))?),
            None => None,
        };
        let base = match (&req.base, &below, found.default_branch_ref) {
            (None, Some(below), _) => below.branch.clone(),
            (Some(base), Some(below), _) if *base != below.branch => {
                return Err(below.other_base_error(base));
            }
            (Some(base), ..) if lookups::branch_exists(&found.rest, "baseRef") => base.clone(),
            (Some(base), _, default) => {
                let hint = default.map_or(Hint::new("push it first"), |d| {
                    let text = format!(
                        "name a branch that exists, such as the default '{}'",
                        d.name
                    );
                    Hint::from(text).with_action(Action::again(&[]).with(Param::Base, d.name))
                });
                return Err(Error::invalid(
                    "base",
                    format!("there is no branch {} in {repo}", quote_branch(base)),
                )
                .with_hint(hint));
            }
            (None, None, Some(default)) => default.name,
            (None, None, None) => {
                return Err(Error::invalid(
                    "base",
                    format!("{repo} is empty: it has no branch to change"),
                )
                .with_hint("push a first commit to it"));
            }
        };
        if fork.is_none() && req.head.branch == base {
            return Err(Error::invalid(
                "head",
                format!("head and base are both {}", quote_branch(&base)),
            )
            .with_hint(
                Hint::new("commit on a new branch, and name the new branch")
                    .with_action(CHOOSE_HEAD),
            ));
        }
        let edited = edits::check(&found.rest, req, &base)?;
        let pushed = match fork {
            _ if edited.is_some() || before_push => true,
            // If the request has only the owner, the fork may have another name than the one looked
            // up. GitHub finds such a fork itself, so its branch counts as pushed.
            Some(_) => {
                lookups::fork_branch_exists(&prepared.rest).unwrap_or(req.head.repo.is_none())
            }
            None => lookups::branch_exists(&found.rest, "headRef"),
        };
        if !pushed {
            let place = fork.map_or_else(|| repo.to_string(), |(o, n)| format!("{o}/{n}"));
            return Err(Error::no_branch(
                "head",
                format!(
                    "there is no branch {} in {place}",
                    quote_branch(&req.head.branch)
                ),
            )
            .with_hint("push it first with `git push -u <remote> <branch>`"));
        }
        let (head_owner, head_name) = fork.unwrap_or((owner, name));
        let same = found.existing.into_vec().into_iter().find(|p| {
            let of = p
                .head_repository_owner
                .as_ref()
                .map_or("", |o| o.login.as_str());
            // The name of the head repository matters only if the same owner also has the base
            // repository. A deleted fork has no name.
            let is_same = match &p.head_repository {
                _ if !head_owner.eq_ignore_ascii_case(owner) => true,
                Some(head) => head.name.eq_ignore_ascii_case(head_name),
                None => !p.is_cross_repository && head_name.eq_ignore_ascii_case(name),
            };
            p.base_ref_name == base && of.eq_ignore_ascii_case(head_owner) && is_same
        });
        if let Some(other) = same {
            return Err(duplicate_error(&other.number, &other.url, req, &base));
        }
        Ok(PullCreatePlan {
            head_repo_id: lookups::fork_id(&prepared.rest)
                .filter(|_| req.head.repo.is_some())
                .map(str::to_owned),
            found: lookups.resolve(&prepared.rest, &found.rest)?,
            repo_id: found.id,
            viewer: prepared.viewer.map(|v| v.login).unwrap_or_default(),
            base,
            edited,
            below,
        })
    }

    async fn open_pull(
        &self,
        repo: &RepoId,
        req: &CreatePull,
        plan: &PullCreatePlan,
    ) -> Result<PullRequest> {
        let head = match fork(repo, req) {
            Some((owner, _)) if plan.head_repo_id.is_none() => {
                format!("{owner}:{}", req.head.branch)
            }
            _ => req.head.branch.clone(),
        };
        let mut input = json!({
            "repositoryId": plan.repo_id,
            "baseRefName": plan.base,
            "headRefName": head,
            "title": req.title.trim(),
            "body": req.description,
            "draft": req.draft,
        });
        if let (Value::Object(map), true) = (&mut input, fork(repo, req).is_some()) {
            map.insert(
                "maintainerCanModify".into(),
                json!(req.maintainer_can_modify),
            );
            if let Some(id) = &plan.head_repo_id {
                map.insert("headRepositoryId".into(), json!(id));
            }
        }
        let mut batch = Batch::default();
        if let Some(edited) = &plan.edited {
            edited.add_to(&mut batch, repo, &plan.repo_id, req)?;
        }
        batch.push("create", CREATE_PULL, input);
        let mut answer: GqlAnswer<Payloads<PullPayload>> = self.send(&batch).await?;
        if failed(&answer, "create").is_some() {
            return Err(self.delete_unopened_branch(&answer, req).await);
        }
        let unread = self.unread(&answer);
        match last_pull(&batch, answer.data.take()) {
            Some(pull) => self.domain(repo, pull, PrFields::NONE, unread),
            None => Err(self.api.first_error(&answer).with_retry(Retry::Ambiguous)),
        }
    }

    /// Returns the open pull request from the requested head branch into `base`.
    async fn opened(
        &self,
        repo: &RepoId,
        req: &CreatePull,
        base: &str,
    ) -> Result<Option<PullRequest>> {
        let mut query = PullQuery::default();
        query.state = StateFilter::Open;
        query.head = Some(req.head.branch.clone());
        query.base = Some(base.to_owned());
        let page = self.list_pulls(repo, &query, PageReq::first(30)).await?;
        Ok(page.items.into_iter().find(|p| is_head(repo, p, &req.head)))
    }

    /// Adds labels, people, milestone and projects to a new pull request. A failure becomes a
    /// warning, because the pull request is already open. The hint of the warning shows how to add
    /// what is missing.
    async fn decorate(
        &self,
        req: &CreatePull,
        plan: &PullCreatePlan,
        outcome: &mut Outcome<PullRequest>,
    ) {
        let wanted = Decoration {
            labels: &req.labels,
            assignees: &req.assignees,
            reviewers: &req.reviewers,
            milestone: req.milestone.as_deref(),
            projects: &req.projects,
        };
        let batch = wanted.batch(&outcome.value.node_id, &plan.found);
        if batch.is_empty() {
            return;
        }
        if outcome.steps.is_empty() {
            outcome.steps.push(Step::new("open the pull request", true));
        }
        let repo = outcome.value.id.repo.clone();
        let mut failures: Vec<(String, Error)> = Vec::new();
        match self.send::<PullPayload>(&batch).await {
            Ok(mut answer) => {
                for alias in batch.aliases() {
                    if let Some(e) = failed(&answer, alias) {
                        failures.push((alias.to_owned(), self.api.error(&answer, e)));
                    }
                }
                let unread = self.unread(&answer);
                if let Some(pull) = last_pull(&batch, answer.data.take())
                    && let Ok(pull) = self.domain(&repo, pull, PrFields::NONE, unread)
                    && pull.id == outcome.value.id
                {
                    outcome.value = map::after_edit(outcome.value.clone(), pull);
                }
            }
            Err(error) => {
                let lost = error.retry() == Retry::Ambiguous;
                let seen = match req.projects.is_empty() {
                    true => PrFields::NONE,
                    false => PrFields::PROJECTS,
                };
                if lost && let Ok(pull) = self.fetch(&outcome.value.id, seen).await {
                    outcome.value = pull;
                }
                let message = error.message().to_owned();
                for alias in batch.aliases() {
                    if !(lost && wanted.is_on(alias, &outcome.value, &plan.viewer)) {
                        failures.push((
                            alias.to_owned(),
                            Error::new(error.kind().clone(), message.clone()),
                        ));
                    }
                }
            }
        }
        for alias in batch.aliases() {
            let failure = failures.iter().find(|(a, _)| a == alias);
            let name = format!("set the {}", wanted.title(alias));
            outcome.steps.push(Step::new(name, failure.is_none()));
            if let Some((_, error)) = failure {
                let title = wanted.title(alias);
                let message = format!("the {title} could not be set: {}", error.message());
                let again = || {
                    Hint::from(format!("set the {title} again"))
                        .with_action(wanted.action(alias, &outcome.value))
                };
                // GitHub would refuse the same names again, so the hint of the refusal is kept.
                let refused = error.hint().filter(|_| error.code() == "invalid_input");
                let hint = refused.cloned().unwrap_or_else(again);
                outcome.warnings.push(Warning::new(message).with_hint(hint));
            }
        }
    }
}

fn duplicate_error(key: &dyn fmt::Display, url: &str, req: &CreatePull, base: &str) -> Error {
    Error::new(
        ErrorKind::AlreadyExists {
            existing: Some(url.to_owned()),
        },
        format!(
            "a pull request from {} into {} is open already: {url}",
            quote_branch(&req.head.branch),
            quote_branch(base)
        ),
    )
    .with_hint(
        Hint::from(format!("change #{key}, or push to its branch"))
            .with_action(Action::op(Op::PrEdit).on(key)),
    )
}
