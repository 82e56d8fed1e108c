//! Merging: one query for state and head, one mutation at that head.

use std::time::Duration;

use forge_core::{
    Error, ErrorKind, Outcome, PrId, Precondition, Result, Retry, Step, Warning,
    check_expected_head, head_moved,
    model::{
        Merge, MergeMethod, MergeReq, MergeState, Mergeability, PrFields, PrState, PullRequest,
    },
    text::one_line,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::stack;
use crate::{
    GitHub,
    gql::{
        Document,
        mutation::{Batch, ENABLE_AUTO_MERGE, ENQUEUE, MERGE_PULL, Mutation},
        selections, types as wire,
    },
    map,
    mutate::{PullPayload, failed, last_pull, or_read_back},
    pr_variables,
    pulls::{state::kept_in_fork, view},
    repos,
};

/// GitHub works out whether a merge is possible after it was asked; these are the pauses before it
/// is asked again.
const PAUSES: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

#[derive(Deserialize)]
struct PreparedOf {
    repository: Option<Prepared>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prepared {
    #[serde(flatten)]
    repo: wire::Repo,
    pull_request: Option<wire::Pull>,
}

impl GitHub {
    pub(super) async fn pull_mergeability(&self, pr: &PrId) -> Result<Mergeability> {
        for pause in PAUSES.iter().map(Some).chain([None]) {
            let (pull, _) = self.lookup(pr, selections::MERGEABILITY).await?;
            if pull.state != "OPEN" {
                return Err(not_open(pr, &pull.state));
            }
            let found = map::mergeability(&pull);
            match pause {
                Some(pause) if found.state == MergeState::Unknown => {
                    self.api.http.settings().retry.wait(*pause).await;
                }
                _ => return Ok(found),
            }
        }
        Err(Error::new(
            ErrorKind::Internal,
            "the pauses ended without an answer",
        ))
    }

    pub(super) async fn merge_pull(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>> {
        let mut prepared = match self.merge_known(pr) {
            Some(found) => found,
            None => self.prepare_merge(pr).await?,
        };
        let mut warnings = Vec::new();
        for pause in PAUSES {
            if prepared.pull.state != "OPEN"
                || prepared.pull.mergeable.as_deref() != Some("UNKNOWN")
            {
                break;
            }
            self.api.http.settings().retry.wait(pause).await;
            prepared = self.prepare_merge(pr).await?;
        }
        let Ready {
            repo,
            mut pull,
            mut unread,
        } = prepared;
        unread.extend(self.complete(&mut pull).await);
        if pull.state == "MERGED" {
            return self.already_merged(pr, req, pull, unread).await;
        }
        req.may_merge(pr)?;
        if pull.state != "OPEN" {
            return Err(not_open(pr, &pull.state));
        }
        if pull.is_in_merge_queue {
            return self.queued_before(pr, pull, unread);
        }
        check_expected_head(
            pr,
            req.expected_head.as_deref(),
            pull.head_ref_oid.as_deref(),
        )?;
        let head = pull.head_ref_oid.clone().unwrap_or_default();
        let method = choose(pr, req, &repo)?;
        let way = way(pr, req, &pull)?;
        if pull.mergeable.as_deref() == Some("UNKNOWN") {
            warnings.push(Warning::new(format!(
                "{} had not worked out whether {pr} can be merged; it was tried",
                self.info.host
            )));
        }
        if way == Way::Queue
            && (req.method.is_some() || req.subject.is_some() || req.body.is_some())
        {
            warnings.push(Warning::new(format!(
                "the merge queue of {} decides how it merges, and with which message",
                pull.base_ref_name
            )));
        }
        let before = self.domain(&pr.repo, pull.clone(), PrFields::NONE, unread)?;
        let ask = Ask {
            pr,
            req,
            pull: &pull,
            before: &before,
            method,
            head: &head,
        };
        let (done, warning) = self.ask(&ask, way).await?;
        let (way, after, queue_position) = (done.way, done.pull, done.position);
        warnings.extend(warning);
        let merged = after.state == PrState::Merged;
        let mut steps = vec![Step {
            name: match way {
                Way::Now => "merge",
                Way::Auto => "ask to merge later",
                Way::Queue => "put it into the merge queue",
            }
            .to_owned(),
            // What is merged at once, and is not merged yet, is under way.
            done: merged || way != Way::Now,
        }];
        let mut branch_deleted = false;
        if req.delete_branch && merged {
            if pull.is_cross_repository {
                warnings.push(kept_in_fork(pr));
            } else {
                branch_deleted = self.delete_head(pr, &pull, &mut steps, &mut warnings).await;
            }
        } else if req.delete_branch {
            warnings.push(
                Warning::new("the head branch is kept until the merge has happened").with_hint(
                    "delete it afterwards, or let the repository delete merged branches itself",
                ),
            );
        }
        let value = Merge {
            commit: after.merge_commit.clone(),
            pull_request: after,
            method: Some(method),
            already_merged: false,
            queued: !merged,
            queue_position,
            branch_deleted,
        };
        Ok(Outcome {
            steps,
            warnings,
            ..Outcome::immediate(value)
        })
    }

    /// What the search for it has read already.
    fn merge_known(&self, pr: &PrId) -> Option<Ready> {
        let mut pull = self.known.take(pr, PrFields::TO_MERGE)?;
        Some(Ready {
            repo: pull.base_repository.take()?,
            pull,
            unread: vec![],
        })
    }

    async fn prepare_merge(&self, pr: &PrId) -> Result<Ready> {
        let text = Document::query("MergePrepare").text();
        let mut answer = self
            .api
            .query::<PreparedOf>(&text, &pr_variables(pr)?.into())
            .await?;
        match answer.data.take().and_then(|d| d.repository) {
            Some(Prepared {
                repo,
                pull_request: Some(pull),
            }) => {
                let unread = self
                    .api
                    .warnings(&answer, |e| (view::title(e, 2), view::model_field(e, 2)));
                Ok(Ready { repo, pull, unread })
            }
            _ => Err(self.not_found(pr, &answer)),
        }
    }

    /// One that was merged before. gh leaves its branch, also with `-d`: it goes where only that is
    /// asked for.
    async fn already_merged(
        &self,
        pr: &PrId,
        req: &MergeReq,
        pull: wire::Pull,
        unread: Vec<Warning>,
    ) -> Result<Outcome<Merge>> {
        let pull_request = self.domain(&pr.repo, pull.clone(), PrFields::NONE, unread)?;
        let mut value = Merge {
            commit: pull_request.merge_commit.clone(),
            pull_request,
            method: None,
            already_merged: true,
            queued: false,
            queue_position: None,
            branch_deleted: false,
        };
        let (mut steps, mut warnings) = (Vec::new(), Vec::new());
        if req.only_left_over && req.delete_branch {
            value.branch_deleted = self
                .delete_left_head(pr, &value.pull_request, &pull, &mut steps, &mut warnings)
                .await;
        }
        let mut outcome = if value.branch_deleted {
            Outcome::immediate(value)
        } else {
            let warning = Warning::new(format!("{pr} was merged before; nothing was changed"));
            Outcome::unchanged(value, warning)
        };
        outcome.steps = steps;
        outcome.warnings.append(&mut warnings);
        Ok(outcome)
    }

    fn queued_before(
        &self,
        pr: &PrId,
        pull: wire::Pull,
        unread: Vec<Warning>,
    ) -> Result<Outcome<Merge>> {
        let pull_request = self.domain(&pr.repo, pull, PrFields::NONE, unread)?;
        let value = Merge {
            pull_request,
            commit: None,
            method: None,
            already_merged: false,
            queued: true,
            queue_position: None,
            branch_deleted: false,
        };
        let warning = Warning::new(format!(
            "{pr} is in the merge queue already; nothing was changed"
        ));
        Ok(Outcome::immediate(value).with_warning(warning))
    }

    /// Asks for the merge: in one request, unless the queue cannot take it yet and it may wait, or
    /// it is a part of a stack. The second value is a warning about what came of it.
    async fn ask(&self, ask: &Ask<'_>, way: Way) -> Result<(Done, Option<Warning>)> {
        let written = match self.merged(ask, way).await {
            Err(error) if stack::is_stacked(&error) => return self.merge_stacked(ask).await,
            Err(error) if way == Way::Queue && ask.req.auto && is_unmet(&error) => {
                self.merged(ask, Way::Auto).await
            }
            Err(error) if way == Way::Queue && is_unmet(&error) => {
                Err(error.with_hint("--auto puts it into the queue as soon as the rules are met"))
            }
            written => written,
        };
        or_read_back(written, || async { self.merge_read_back(ask.pr).await }).await
    }

    /// What has come of a merge whose answer was lost.
    pub(super) async fn merge_read_back(&self, pr: &PrId) -> Result<Option<Done>> {
        let (now, unread) = self.lookup(pr, selections::AFTER_MERGE).await?;
        let (queued, waits) = (now.is_in_merge_queue, now.auto_merge_request.is_some());
        let pull = self.domain(&pr.repo, now, PrFields::NONE, unread)?;
        let way = match pull.state {
            PrState::Merged => Some(Way::Now),
            _ if queued => Some(Way::Queue),
            _ if waits => Some(Way::Auto),
            _ => None,
        };
        Ok(way.map(|way| Done {
            way,
            pull,
            position: None,
        }))
    }

    async fn merged(&self, ask: &Ask<'_>, way: Way) -> Result<Done> {
        let batch = Batch::of("merge", way.mutation(), ask.input(way));
        let (pr, head) = (ask.pr, ask.head);
        let mut answer = self.send::<PullPayload>(&batch).await?;
        if let Some(e) = failed(&answer, "merge") {
            let error = self.api.error(&answer, e);
            return Err(match error.kind() {
                ErrorKind::Conflict { .. }
                    if error.message().contains("Head branch was modified") =>
                {
                    let actual = self
                        .lookup(pr, selections::ROW)
                        .await
                        .ok()
                        .and_then(|(p, _)| p.head_ref_oid);
                    head_moved(pr, head, &actual.unwrap_or_default())
                }
                _ => error,
            });
        }
        let entry = answer.data.as_ref().and_then(|d| d.get("merge")?.as_ref());
        let position = entry.and_then(|p| p.merge_queue_entry.as_ref()?.position);
        let unread = self.unread(&answer);
        match last_pull(&batch, answer.data.take()) {
            Some(pull) => {
                let now = self.domain(&pr.repo, pull, PrFields::NONE, unread)?;
                Ok(Done {
                    way,
                    pull: map::after_change(ask.before.clone(), now),
                    position,
                })
            }
            None => Err(self.api.first_error(&answer).with_retry(Retry::Ambiguous)),
        }
    }
}

/// How a merge is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// At once.
    Now,
    /// As soon as the rules are met.
    Auto,
    /// Through the merge queue of the base branch.
    Queue,
}

impl Way {
    fn mutation(self) -> Mutation {
        match self {
            Self::Now => MERGE_PULL,
            Self::Auto => ENABLE_AUTO_MERGE,
            Self::Queue => ENQUEUE,
        }
    }
}

/// What is asked for, and of what.
pub(super) struct Ask<'a> {
    pub pr: &'a PrId,
    pub req: &'a MergeReq,
    pub pull: &'a wire::Pull,
    /// The same, in the domain.
    pub before: &'a PullRequest,
    pub method: MergeMethod,
    pub head: &'a str,
}

impl Ask<'_> {
    fn input(&self, way: Way) -> Value {
        let mut input = Map::from_iter([
            ("pullRequestId".to_owned(), json!(self.pull.id)),
            ("expectedHeadOid".to_owned(), json!(self.head)),
        ]);
        if way == Way::Queue {
            return Value::Object(input);
        }
        let method = self.method.as_str().to_uppercase();
        input.insert("mergeMethod".to_owned(), json!(method));
        for (key, value) in [
            ("commitHeadline", &self.req.subject),
            ("commitBody", &self.req.body),
            ("authorEmail", &self.req.author_email),
        ] {
            if let Some(value) = value {
                input.insert(key.to_owned(), json!(value));
            }
        }
        Value::Object(input)
    }
}

/// What came of it.
pub(super) struct Done {
    pub way: Way,
    pub pull: PullRequest,
    pub position: Option<u64>,
}

/// How to merge this one; an error where it is known to be refused.
fn way(pr: &PrId, req: &MergeReq, pull: &wire::Pull) -> Result<Way> {
    if pull.is_merge_queue_enabled && !req.admin {
        // With a queue GitHub says BLOCKED of what the queue would take.
        check_ready(pr, pull)?;
        return Ok(Way::Queue);
    }
    // GitHub refuses to wait for what could be merged now.
    let clean = matches!(
        pull.merge_state_status.as_deref(),
        Some("CLEAN" | "HAS_HOOKS" | "UNSTABLE")
    );
    if req.auto {
        return Ok(if clean { Way::Now } else { Way::Auto });
    }
    check_mergeable(pr, req, pull)?;
    Ok(Way::Now)
}

/// Whether a refusal is for something that may be met later.
fn is_unmet(error: &Error) -> bool {
    error.retry() == Retry::Never
        && !matches!(
            error.kind(),
            ErrorKind::PermissionDenied { .. }
                | ErrorKind::Unauthenticated { .. }
                | ErrorKind::NotFound { .. }
                | ErrorKind::Conflict { .. }
        )
}

struct Ready {
    repo: wire::Repo,
    pull: wire::Pull,
    /// What could not be read of it.
    unread: Vec<Warning>,
}

pub(super) fn not_open(pr: &PrId, state: &str) -> Error {
    if state == "MERGED" {
        return Error::precondition(Precondition::Merged, format!("{pr} is merged"))
            .with_hint("there is nothing left to do");
    }
    Error::precondition(Precondition::Closed, format!("{pr} is closed"))
        .with_hint("reopen it first with 'forge pr reopen'")
}

/// Why the branch of one that is not open any more is not to go: it is a fork's, or has gone on.
pub(super) fn kept(pr: &PrId, pull: &PullRequest, wire: &wire::Pull) -> Option<Warning> {
    if wire.is_cross_repository {
        return Some(kept_in_fork(pr));
    }
    let tip = wire.head_ref.as_ref()?.target.as_ref().map(|tip| &tip.oid);
    if tip.is_some() && tip == pull.head_oid.as_ref() {
        return None;
    }
    let tip = tip.map_or("a commit that was not read", String::as_str);
    let name = one_line(&pull.head_branch);
    Some(
        Warning::new(format!(
            "the branch '{name}' was not deleted: it is at {tip} now, and has gone on since"
        ))
        .with_hint("if its commits are not needed, delete it with git"),
    )
}

/// The method that was asked for, or the repository's own.
fn choose(pr: &PrId, req: &MergeReq, repo: &wire::Repo) -> Result<MergeMethod> {
    let allowed = repos::methods(repo);
    let names: Vec<&str> = allowed.iter().map(|m| m.as_str()).collect();
    match (req.method, allowed.first()) {
        (Some(method), _) if allowed.contains(&method) => Ok(method),
        (Some(method), Some(_)) => Err(Error::precondition(
            Precondition::Rule,
            format!(
                "{} does not allow the method '{}'",
                pr.repo,
                method.as_str()
            ),
        )
        .with_hint(format!("allowed here: {}", names.join(", ")))),
        (None, Some(first)) => Ok(*first),
        // A token that may not see the settings sees none allowed: let GitHub decide.
        (wanted, None) => Ok(wanted.unwrap_or(MergeMethod::Merge)),
    }
}

/// Whether it is open for merging at all.
fn check_ready(pr: &PrId, pull: &wire::Pull) -> Result<()> {
    if pull.is_draft {
        return Err(
            Error::precondition(Precondition::Draft, format!("{pr} is a draft"))
                .with_hint("make it ready with 'forge pr ready'"),
        );
    }
    if pull.mergeable.as_deref() == Some("CONFLICTING") {
        return Err(Error::precondition(
            Precondition::Conflicts(vec![]),
            format!("{pr} conflicts with {}", pull.base_ref_name),
        )
        .with_hint("merge the base branch into the head, solve the conflicts and push"));
    }
    Ok(())
}

/// What GitHub says of the merge already. Somebody with the right to overrule a rule would overrule
/// it by merging, so that must be asked for.
fn check_mergeable(pr: &PrId, req: &MergeReq, pull: &wire::Pull) -> Result<()> {
    check_ready(pr, pull)?;
    let rule = |what: &str, hint: &str| {
        Err(
            Error::precondition(Precondition::Rule, format!("{pr} cannot be merged: {what}"))
                .with_hint(hint),
        )
    };
    match pull.merge_state_status.as_deref() {
        Some("BLOCKED") if !req.admin => rule(
            "the rules of the base branch are not met",
            "look at 'forge pr checks' and the reviews; --auto merges when they are met, --admin despite them",
        ),
        Some("BEHIND") if !req.admin => rule(
            "its head is behind the base branch, which must be merged into it first",
            "update the branch, or merge with --admin despite the rule",
        ),
        _ => Ok(()),
    }
}
