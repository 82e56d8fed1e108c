//! Merging: one query for state and head, one mutation at that head.

use std::time::Duration;

use forge_core::{
    Error, ErrorKind, Outcome, PrId, Precondition, Result, Retry, Step, Warning,
    model::{
        Merge, MergeMethod, MergeReq, MergeState, Mergeability, PrFields, PrState, PullRequest,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitHub,
    gql::{
        Document,
        mutation::{Batch, ENABLE_AUTO_MERGE, MERGE_PULL},
        types as wire,
    },
    map,
    mutate::{PullPayload, failed, last_pull, or_read_back},
    pr_variables, repos,
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
            let (pull, _) = self
                .lookup(pr, "...PullRow mergeable mergeStateStatus")
                .await?;
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
        let mut prepared = self.prepare_merge(pr).await?;
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
        let Ready { repo, pull } = prepared;
        if pull.state == "MERGED" {
            return self.already_merged(pr, pull);
        }
        if pull.state != "OPEN" {
            return Err(not_open(pr, &pull.state));
        }
        if pull.is_in_merge_queue {
            return self.queued_before(pr, pull);
        }
        let head = pull.head_ref_oid.clone().unwrap_or_default();
        check_head(pr, req, &head)?;
        let method = choose(pr, req, &repo)?;
        let auto = if req.auto || pull.is_merge_queue_enabled && !req.admin {
            // GitHub refuses to wait for what could be merged now, unless a queue does the merging.
            pull.is_merge_queue_enabled
                || !matches!(
                    pull.merge_state_status.as_deref(),
                    Some("CLEAN" | "HAS_HOOKS" | "UNSTABLE")
                )
        } else {
            check_mergeable(pr, req, &pull)?;
            false
        };
        if pull.mergeable.as_deref() == Some("UNKNOWN") {
            warnings.push(Warning::new(format!(
                "{} had not worked out whether {pr} can be merged; it was tried",
                self.info.host
            )));
        }
        let mutation = if auto { ENABLE_AUTO_MERGE } else { MERGE_PULL };
        let mut input = json!({
            "pullRequestId": pull.id,
            "mergeMethod": method.as_str().to_uppercase(),
            "expectedHeadOid": head,
        });
        if let Value::Object(map) = &mut input {
            let mut set = |key: &str, value: &Option<String>| {
                value.as_ref().map(|v| map.insert(key.to_owned(), json!(v)));
            };
            set("commitHeadline", &req.subject);
            set("commitBody", &req.body);
            set("authorEmail", &req.author_email);
        }
        let batch = Batch::of("merge", mutation, input);
        let written = self.merged(pr, &batch, &head).await;
        let (after, warning) = or_read_back(written, || async {
            if auto {
                return Ok(None);
            }
            let now = self.fetch(pr, PrFields::NONE).await?;
            Ok((now.state == PrState::Merged).then_some(now))
        })
        .await?;
        warnings.extend(warning);
        let mut steps = vec![Step {
            name: if auto { "ask to merge later" } else { "merge" }.to_owned(),
            done: true,
        }];
        let merged = after.state == PrState::Merged;
        let mut branch_deleted = false;
        if req.delete_branch && merged {
            if pull.is_cross_repository {
                warnings.push(Warning::new(format!(
                    "the head branch of {pr} is in a fork, and was kept"
                )));
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
            branch_deleted,
        };
        Ok(Outcome {
            steps,
            warnings,
            ..Outcome::immediate(value)
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
            }) => Ok(Ready { repo, pull }),
            _ => Err(self.not_found(pr, &answer)),
        }
    }

    fn already_merged(&self, pr: &PrId, pull: wire::Pull) -> Result<Outcome<Merge>> {
        let pull_request = self.domain(&pr.repo, pull, PrFields::NONE, vec![])?;
        let value = Merge {
            commit: pull_request.merge_commit.clone(),
            pull_request,
            method: None,
            already_merged: true,
            queued: false,
            branch_deleted: false,
        };
        let warning = Warning::new(format!("{pr} was merged before; nothing was changed"));
        Ok(Outcome::immediate(value).with_warning(warning))
    }

    fn queued_before(&self, pr: &PrId, pull: wire::Pull) -> Result<Outcome<Merge>> {
        let pull_request = self.domain(&pr.repo, pull, PrFields::NONE, vec![])?;
        let value = Merge {
            pull_request,
            commit: None,
            method: None,
            already_merged: false,
            queued: true,
            branch_deleted: false,
        };
        let warning = Warning::new(format!(
            "{pr} is in the merge queue already; nothing was changed"
        ));
        Ok(Outcome::immediate(value).with_warning(warning))
    }

    async fn merged(&self, pr: &PrId, batch: &Batch, head: &str) -> Result<PullRequest> {
        let mut answer = self.send::<PullPayload>(batch).await?;
        if let Some(e) = failed(&answer, "merge") {
            let error = self.api.error(&answer, e);
            return Err(match error.kind() {
                ErrorKind::Conflict { .. }
                    if error.message().contains("Head branch was modified") =>
                {
                    let actual = self
                        .lookup(pr, "...PullRow")
                        .await
                        .ok()
                        .and_then(|(p, _)| p.head_ref_oid);
                    moved(pr, head, &actual.unwrap_or_default())
                }
                _ => error,
            });
        }
        match last_pull(batch, answer.data.take()) {
            Some(pull) => self.domain(&pr.repo, pull, PrFields::NONE, vec![]),
            None => Err(self.api.first_error(&answer).with_retry(Retry::Ambiguous)),
        }
    }
}

struct Ready {
    repo: wire::Repo,
    pull: wire::Pull,
}

fn not_open(pr: &PrId, state: &str) -> Error {
    if state == "MERGED" {
        return Error::precondition(Precondition::Merged, format!("{pr} is merged"))
            .with_hint("there is nothing left to do");
    }
    Error::precondition(Precondition::Closed, format!("{pr} is closed"))
        .with_hint("reopen it first with 'forge pr reopen'")
}

fn moved(pr: &PrId, expected: &str, actual: &str) -> Error {
    Error::new(
        ErrorKind::Conflict {
            expected: expected.to_owned(),
            actual: actual.to_owned(),
        },
        format!("the head of {pr} is {actual}, not {expected}"),
    )
    .with_hint("look at what was pushed, then merge again")
}

fn check_head(pr: &PrId, req: &MergeReq, head: &str) -> Result<()> {
    match &req.expected_head {
        Some(expected) if expected.len() < 7 => Err(Error::invalid(
            "expected_head",
            format!("'{expected}' is too short for a commit"),
        )
        .with_hint("give at least seven digits")),
        Some(expected) if !head.starts_with(&expected.to_ascii_lowercase()) => {
            Err(moved(pr, expected, head))
        }
        _ => Ok(()),
    }
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

/// What GitHub says of the merge already. Somebody with the right to overrule a rule would overrule
/// it by merging, so that must be asked for.
fn check_mergeable(pr: &PrId, req: &MergeReq, pull: &wire::Pull) -> Result<()> {
    let rule = |what: &str, hint: &str| {
        Err(
            Error::precondition(Precondition::Rule, format!("{pr} cannot be merged: {what}"))
                .with_hint(hint),
        )
    };
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
