//! Changes to a pull request, of any mix: one query for ids, one document of mutations.

use forge_core::{
    Error, ErrorKind, Outcome, PrId, Result, Retry, Warning,
    model::{EditPull, PrFields, PullRequest},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::create::shown;
use crate::{
    GitHub,
    api::Answer,
    decorate::{self, add_reviewers, unique},
    gql::{
        Document,
        lookups::{self, Found, Lookups},
        mutation::{
            ADD_ASSIGNEES, ADD_LABELS, Batch, REMOVE_ASSIGNEES, REMOVE_LABELS, REQUEST_REVIEWS,
            UPDATE_PULL,
        },
        types as wire,
    },
    mutate::{PullPayload, failed, last_pull, or_read_back},
    pr_variables, validate,
};

#[derive(Deserialize)]
struct Prepared {
    repository: Option<PreparedRepo>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreparedRepo {
    pull_request: Option<wire::Pull>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// Who is asked for a review now, by id and handle.
struct Asked {
    kind: String,
    id: String,
    handle: String,
}

struct Plan {
    pull: PullRequest,
    asked: Vec<Asked>,
    found: Found,
    me: String,
}

impl GitHub {
    pub(super) async fn edit_pull(
        &self,
        pr: &PrId,
        edit: &EditPull,
    ) -> Result<Outcome<PullRequest>> {
        if let Some(title) = &edit.title {
            validate::title(title)?;
        }
        if let Some(description) = &edit.description {
            validate::body("description", description)?;
        }
        validate::labels(&edit.labels.add)?;
        let plan = self.prepare_edit(pr, edit).await?;
        if let Some(expected) = edit
            .expected_version
            .as_ref()
            .filter(|v| **v != plan.pull.version)
        {
            return Err(Error::new(
                ErrorKind::Conflict {
                    expected: expected.clone(),
                    actual: plan.pull.version.clone(),
                },
                format!("{pr} was changed by somebody else in the meantime"),
            )
            .with_hint("look at it again, then repeat the change if it is still wanted"));
        }
        let batch = batch(edit, &plan);
        if batch.is_empty() {
            let warning = Warning::new(format!("{pr} is like that already; nothing was changed"));
            return Ok(Outcome::immediate(plan.pull).with_warning(warning));
        }
        let written = self.apply(pr, &batch).await;
        let (pull, warning) = or_read_back(written, || async {
            let now = self.fetch(pr, PrFields::NONE).await?;
            Ok(is_done(edit, &now, &plan.me).then_some(now))
        })
        .await?;
        let mut outcome = Outcome::immediate(pull);
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    async fn prepare_edit(&self, pr: &PrId, edit: &EditPull) -> Result<Plan> {
        let mut lookups = Lookups::default();
        lookups.labels(&edit.labels.add);
        lookups.assignees(&edit.assignees.add);
        lookups.assignees(&edit.assignees.remove);
        lookups.reviewers(&edit.reviewers.add);
        if let Some(Some(title)) = &edit.milestone {
            lookups.milestone(title);
        }
        if let Some(base) = &edit.base {
            lookups.branch("newBase", base);
        }
        let mut document = Document::query("EditPrepare");
        let mut variables = pr_variables(pr)?;
        lookups.add_to(&mut document, &mut variables);
        let mut answer: Answer<Prepared> =
            self.api.query(&document.text(), &variables.into()).await?;
        answer.errors.retain(|e| !lookups.expects(e));
        let Some(Prepared {
            repository:
                Some(PreparedRepo {
                    pull_request: Some(mut pull),
                    rest: repo,
                }),
            rest,
        }) = answer.data.take()
        else {
            return Err(self.not_found(pr, &answer));
        };
        if !answer.errors.is_empty() {
            return Err(self.api.first_error(&answer));
        }
        let asked = pull.review_requests.nodes.iter_mut().flatten().flatten();
        let asked = asked
            .filter_map(|r| r.requested_reviewer.as_ref())
            .map(|r| Asked {
                kind: r.kind.clone(),
                id: r.id.clone(),
                handle: if r.kind == "Team" {
                    r.combined_slug.clone()
                } else {
                    r.login.clone()
                },
            });
        let asked = asked.collect();
        let pull = self.domain(&pr.repo, pull, PrFields::NONE, vec![])?;
        if let Some(base) = &edit.base {
            if !lookups::branch_exists(&repo, "newBase") {
                return Err(Error::invalid(
                    "base",
                    format!("there is no branch {} in {}", shown(base), pr.repo),
                )
                .with_hint("push it first, or name another with --base"));
            }
            if *base == pull.head_branch && pull.head_repo.is_none() {
                return Err(
                    Error::invalid("base", format!("{} is the head of {pr}", shown(base)))
                        .with_hint("name another branch with --base"),
                );
            }
        }
        let found = lookups.resolve(&rest, &repo)?;
        let me = rest
            .get("me")
            .and_then(|m| m.get("login"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        Ok(Plan {
            pull,
            asked,
            found,
            me: me.to_owned(),
        })
    }

    async fn apply(&self, pr: &PrId, batch: &Batch) -> Result<PullRequest> {
        let mut answer = self.send::<PullPayload>(batch).await?;
        let errors: Vec<&str> = batch
            .aliases()
            .filter(|a| failed(&answer, a).is_some())
            .collect();
        if let Some(first) = errors.first().and_then(|a| failed(&answer, a)) {
            let error = self.api.error(&answer, first);
            let done: Vec<&str> = batch.aliases().filter(|a| !errors.contains(a)).collect();
            let error = error.with_context("failed", errors.join(", "));
            return Err(match done.is_empty() {
                true => error,
                false => {
                    let hint = error.hint().unwrap_or("try that part again").to_owned();
                    error
                        .with_context("done", done.join(", "))
                        .with_hint(format!("{hint}; done already: {}", done.join(", ")))
                }
            });
        }
        match last_pull(batch, answer.data.take()) {
            Some(pull) => self.domain(&pr.repo, pull, PrFields::NONE, vec![]),
            None => Err(self.api.first_error(&answer).with_retry(Retry::Ambiguous)),
        }
    }
}

fn batch(edit: &EditPull, plan: &Plan) -> Batch {
    let id = plan.pull.node_id.as_str();
    let mut batch = Batch::default();
    let mut fields = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(key.to_owned(), value);
        }
    };
    set("title", edit.title.as_ref().map(|t| json!(t)));
    set("body", edit.description.as_ref().map(|d| json!(d)));
    set("baseRefName", edit.base.as_ref().map(|b| json!(b)));
    set(
        "milestoneId",
        edit.milestone.as_ref().map(|_| json!(plan.found.milestone)),
    );
    if !fields.is_empty() {
        fields.insert("pullRequestId".to_owned(), json!(id));
        batch.push("fields", UPDATE_PULL, Value::Object(fields));
    }
    let add = unique(plan.found.label_ids(&edit.labels.add));
    if !add.is_empty() {
        batch.push(
            "labels",
            ADD_LABELS,
            json!({ "labelableId": id, "labelIds": add }),
        );
    }
    // GitHub refuses to take off a label that is not on it; that one is off already.
    let off = plan.pull.labels.iter().filter(|l| {
        edit.labels
            .remove
            .iter()
            .any(|n| n.to_lowercase() == l.name.to_lowercase())
    });
    let off: Vec<&str> = off.map(|l| l.id.as_str()).collect();
    if !off.is_empty() {
        batch.push(
            "unlabel",
            REMOVE_LABELS,
            json!({ "labelableId": id, "labelIds": off }),
        );
    }
    let add = unique(plan.found.user_ids(&edit.assignees.add));
    if !add.is_empty() {
        batch.push(
            "assignees",
            ADD_ASSIGNEES,
            json!({ "assignableId": id, "assigneeIds": add }),
        );
    }
    let off = unique(plan.found.user_ids(&edit.assignees.remove));
    if !off.is_empty() {
        batch.push(
            "unassign",
            REMOVE_ASSIGNEES,
            json!({ "assignableId": id, "assigneeIds": off }),
        );
    }
    if let Some(input) = reviewers(edit, plan) {
        batch.push("reviewers", REQUEST_REVIEWS, input);
    }
    batch
}

/// Adding leaves the others alone. Taking somebody off has no mutation of its own: the set is
/// written as it was read a moment ago, without them.
fn reviewers(edit: &EditPull, plan: &Plan) -> Option<Value> {
    let id = plan.pull.node_id.as_str();
    let leaves = |a: &Asked| {
        edit.reviewers.remove.iter().any(|r| {
            r.handle()
                .trim_start_matches('@')
                .eq_ignore_ascii_case(&a.handle)
        })
    };
    if !plan.asked.iter().any(leaves) {
        return (!edit.reviewers.add.is_empty())
            .then(|| add_reviewers(id, &plan.found, &edit.reviewers.add));
    }
    let (mut users, mut teams) = plan.found.reviewer_ids(&edit.reviewers.add);
    let mut bots = Vec::new();
    for asked in plan.asked.iter().filter(|a| !leaves(a)) {
        match asked.kind.as_str() {
            "Team" => teams.push(&asked.id),
            "Bot" => bots.push(asked.id.as_str()),
            _ => users.push(&asked.id),
        }
    }
    Some(json!({
        "pullRequestId": id,
        "userIds": unique(users),
        "teamIds": unique(teams),
        "botIds": unique(bots),
        "union": false,
    }))
}

/// Whether a pull request has everything that an edit asked for.
fn is_done(edit: &EditPull, now: &PullRequest, me: &str) -> bool {
    let same = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|w| w == has);
    same(&edit.title, &now.title)
        && same(&edit.description, &now.description)
        && same(&edit.base, &now.base_branch)
        && edit.labels.add.iter().all(|n| decorate::has_label(now, n))
        && !edit
            .labels
            .remove
            .iter()
            .any(|n| decorate::has_label(now, n))
        && edit
            .assignees
            .add
            .iter()
            .all(|l| decorate::has_assignee(now, l, me))
        && !edit
            .assignees
            .remove
            .iter()
            .any(|l| decorate::has_assignee(now, l, me))
        && edit
            .reviewers
            .add
            .iter()
            .all(|r| decorate::has_reviewer(now, r))
        && !edit
            .reviewers
            .remove
            .iter()
            .any(|r| decorate::has_reviewer(now, r))
        && edit.milestone.as_ref().is_none_or(|wanted| {
            wanted.as_deref().map(str::to_lowercase)
                == now.milestone.as_ref().map(|m| m.title.to_lowercase())
        })
}
