//! Edits a pull request: one query for ids, one document of mutations.

use forge_core::{
    Action, Error, Hint, Op, Outcome, PrId, Result, Retry, Warning, check_version,
    model::{EditPull, PrFields, PullRequest, Reviewer},
};
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::head_branch::quote_branch;
use crate::{
    GitHub,
    api::GqlAnswer,
    caps::LIMITS,
    decorate::{self, add_reviewers, unique},
    error::{self, GqlError, partial_failure},
    gql::{
        GqlDocument,
        lookups::{self, Lookups, ResolvedIds},
        mutation::{
            ADD_ASSIGNEES, ADD_LABELS, ADD_TO_PROJECT, Batch, REMOVE_ASSIGNEES,
            REMOVE_FROM_PROJECT, REMOVE_LABELS, UPDATE_PULL,
        },
        types as wire,
    },
    hints::CHOOSE_BASE,
    map,
    mutate::{PullPayload, failed, last_pull, or_read_back},
    number, owner_and_name, pr_variables,
    pulls::view,
};

#[derive(Deserialize)]
struct PreparedEdit {
    repository: Option<PreparedEditRepo>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreparedEditRepo {
    pull_request: Option<wire::Pull>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

struct PullEditPlan {
    pull: PullRequest,
    found: ResolvedIds,
    me: String,
}

impl GitHub {
    pub(super) async fn edit_pull(
        &self,
        pr: &PrId,
        edit: &EditPull,
    ) -> Result<Outcome<PullRequest>> {
        if let Some(title) = &edit.title {
            LIMITS.check_title(title)?;
        }
        if let Some(description) = &edit.description {
            LIMITS.check_text("description", description)?;
        }
        LIMITS.check_label_count(edit.labels.add.len())?;
        let plan = self.prepare_edit(pr, edit).await?;
        let expected = edit.expected_version.as_deref();
        let view = Action::op(Op::PrView).on(&pr.key);
        check_version(pr, expected, &plan.pull.version, view)?;
        let batch = batch(edit, &plan);
        let leaving = find_removed_reviewers(edit, &plan.pull.pending_reviewers);
        if batch.is_empty() && leaving.is_empty() {
            let warning =
                Warning::new(format!("{pr} is already as requested; nothing was changed"));
            return Ok(Outcome::unchanged(plan.pull, warning));
        }
        let written = self.apply(&plan.pull, &batch, &leaving).await;
        let (pull, warning) = or_read_back(written, || async {
            let seen = match edit.projects.is_empty() {
                true => PrFields::NONE,
                false => PrFields::PROJECTS,
            };
            let now = self.fetch(pr, seen).await?;
            Ok(is_done(edit, &now, &plan.me).then_some(now))
        })
        .await?;
        let mut outcome = Outcome::immediate(pull);
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    async fn prepare_edit(&self, pr: &PrId, edit: &EditPull) -> Result<PullEditPlan> {
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
        lookups.projects(&edit.projects.add);
        lookups.known_projects(&edit.projects.remove);
        if lookups.is_empty()
            && let Some(pull) = self.known.take(pr, PrFields::TO_CHANGE)
        {
            self.knows_teams(edit, &pull)?;
            return Ok(PullEditPlan {
                pull: self.domain(&pr.repo, pull, PrFields::NONE, vec![])?,
                found: ResolvedIds::default(),
                me: String::new(),
            });
        }
        let mut document = GqlDocument::query("EditPrepare");
        let mut variables = pr_variables(pr)?;
        lookups.add_to(&mut document, &mut variables);
        lookups.add_pull_to(&mut document);
        let mut answer: GqlAnswer<PreparedEdit> =
            self.api.query(&document.text(), &variables.into()).await?;
        answer.errors.retain(|e| !lookups.expects(e));
        if !edit.projects.is_empty() {
            self.api.may_change_boards(&answer)?;
        }
        let Some(PreparedEdit {
            repository:
                Some(PreparedEditRepo {
                    pull_request: Some(mut pull),
                    rest: repo,
                }),
            rest,
        }) = answer.data.take()
        else {
            return Err(self.not_found(pr, &answer));
        };
        if let Some(e) = answer.errors.iter().find(|e| !is_spare(edit, e)) {
            return Err(self.api.error(&answer, e));
        }
        let mut unread = self
            .api
            .warnings(&answer, |e| (view::title(e, 2), view::model_field(e, 2)));
        self.knows_teams(edit, &pull)?;
        unread.extend(self.complete(&mut pull).await);
        let pull = self.domain(&pr.repo, pull, PrFields::NONE, unread)?;
        if let Some(base) = &edit.base {
            if !lookups::branch_exists(&repo, "newBase") {
                return Err(Error::invalid(
                    "base",
                    format!("there is no branch {} in {}", quote_branch(base), pr.repo),
                )
                .with_hint(
                    Hint::new("push it first, or name another base branch")
                        .with_action(CHOOSE_BASE),
                ));
            }
            if *base == pull.head_branch && !pull.is_cross_repository() {
                return Err(Error::invalid(
                    "base",
                    format!("{} is the head of {pr}", quote_branch(base)),
                )
                .with_hint(Hint::new("name another base branch").with_action(CHOOSE_BASE)));
            }
        }
        let found = lookups.resolve(&rest, &repo)?;
        for title in &edit.projects.remove {
            if !decorate::is_on_board(&pull, title) {
                found.board(title)?;
            }
        }
        let me = rest
            .get("me")
            .and_then(|m| m.get("login"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        Ok(PullEditPlan {
            pull,
            found,
            me: me.to_owned(),
        })
    }

    /// Refuses to withdraw a review request from a team if the token cannot read the names of
    /// teams.
    fn knows_teams(&self, edit: &EditPull, pull: &wire::Pull) -> Result<()> {
        let teams_leave = edit.reviewers.remove.iter().any(is_team);
        let mut asked = pull.review_requests.nodes.iter().flatten().flatten();
        if teams_leave
            && asked.any(|r| {
                r.requested_reviewer
                    .as_ref()
                    .is_some_and(map::is_unnamed_team)
            })
        {
            return Err(error::no_teams(self.api.error_context(false)));
        }
        Ok(())
    }

    /// Sends the changes. `before` is the pull request before the changes.
    async fn apply(
        &self,
        before: &PullRequest,
        batch: &Batch,
        leaving: &[&Reviewer],
    ) -> Result<PullRequest> {
        let pull = match batch.is_empty() {
            true => before.clone(),
            false => self.write(before, batch).await?,
        };
        if leaving.is_empty() {
            return Ok(pull);
        }
        match self.withdraw(&before.id, leaving).await {
            Ok(()) => Ok(map::without_reviewers(pull, leaving)),
            Err(error) if batch.is_empty() => Err(error),
            Err(error) => {
                let done: Vec<&str> = batch.aliases().collect();
                let error = error.with_context("failed", "reviewers to remove");
                Err(partial_failure(error, &done))
            }
        }
    }

    /// Withdraws review requests by REST. The GraphQL mutations replace the complete set of
    /// reviewers, so they would also remove reviewers that somebody added in the meantime.
    async fn withdraw(&self, pr: &PrId, reviewers: &[&Reviewer]) -> Result<()> {
        let (owner, name) = owner_and_name(&pr.repo)?;
        let number = number(pr)?;
        let (mut people, mut teams) = (vec![], vec![]);
        for reviewer in reviewers {
            match reviewer {
                Reviewer::User { login, .. } => people.push(login.clone()),
                Reviewer::Bot { .. } => people.extend(decorate::bot_login(reviewer)),
                Reviewer::Team { slug, .. } => {
                    let short = slug.rsplit('/').next().unwrap_or(slug);
                    teams.push(short.to_owned());
                }
            }
        }
        let path = format!("/repos/{owner}/{name}/pulls/{number}/requested_reviewers");
        let body = json!({ "reviewers": people, "team_reviewers": teams });
        let accept = "application/vnd.github+json";
        let (status, headers, bytes) = self
            .api
            .rest(Method::DELETE, &path, accept, Some(&body))
            .await?;
        if status.is_success() {
            return Ok(());
        }
        Err(error::from_http(
            self.api.error_context(true),
            status,
            &headers,
            &bytes,
        ))
    }

    async fn write(&self, before: &PullRequest, batch: &Batch) -> Result<PullRequest> {
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
                false => partial_failure(error, &done),
            });
        }
        let unread = self.unread(&answer);
        match last_pull(batch, answer.data.take()) {
            Some(pull) => {
                self.check_number(&before.id, number(&before.id)?, pull.number)
                    .map_err(error::ambiguous)?;
                let now = self.domain(&before.id.repo, pull, PrFields::NONE, unread)?;
                Ok(map::after_edit(before.clone(), now))
            }
            // Mutations on boards return no pull request, and leave the pull request unchanged.
            None if answer.errors.is_empty()
                && batch.is_of(&[ADD_TO_PROJECT, REMOVE_FROM_PROJECT]) =>
            {
                Ok(before.clone())
            }
            None => Err(self.api.first_error(&answer).with_retry(Retry::Ambiguous)),
        }
    }
}

/// Returns whether an error concerns only parts of the pull request that the edit does not use.
fn is_spare(edit: &EditPull, e: &GqlError) -> bool {
    let names = e.names();
    let needed = match view::model_field(e, 2) {
        Some("labels") => !edit.labels.remove.is_empty(),
        Some(view::REVIEWERS) => !edit.reviewers.remove.is_empty(),
        Some("projects") => true,
        _ => false,
    };
    names.get(1) == Some(&"pullRequest") && names.len() > 2 && !needed
}

fn is_team(reviewer: &Reviewer) -> bool {
    matches!(reviewer, Reviewer::Team { .. })
}

fn batch(edit: &EditPull, plan: &PullEditPlan) -> Batch {
    let id = plan.pull.node_id.as_str();
    let mut batch = Batch::default();
    let mut fields = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(key.to_owned(), value);
        }
    };
    set("title", edit.title.as_ref().map(|t| json!(t.trim())));
    // An equal description is not sent, so that a repeated edit is reported as unchanged.
    let description = edit.description.as_ref();
    let description = description.filter(|d| **d != plan.pull.description);
    set("body", description.map(|d| json!(d)));
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
    // GitHub refuses to remove a label that the pull request does not have, so such a label is
    // skipped.
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
    add_reviewers(&mut batch, id, &plan.found, &edit.reviewers.add);
    boards(edit, plan, &mut batch);
    batch
}

/// Adds one mutation for each board, so that a failure does not affect other boards.
fn boards(edit: &EditPull, plan: &PullEditPlan, batch: &mut Batch) {
    let id = plan.pull.node_id.as_str();
    let add = edit.projects.add.iter();
    let new = add.filter(|title| !decorate::is_on_board(&plan.pull, title));
    let ids = unique(
        new.filter_map(|title| plan.found.board(title).ok())
            .collect(),
    );
    for (i, board) in ids.into_iter().enumerate() {
        let input = json!({ "projectId": board, "contentId": id });
        batch.push(&format!("project{i}"), ADD_TO_PROJECT, input);
    }
    let items = plan.pull.projects.iter().flatten().filter(|item| {
        let title = item.title.to_lowercase();
        edit.projects
            .remove
            .iter()
            .any(|t| t.to_lowercase() == title)
    });
    for (i, item) in items.enumerate() {
        let input = json!({ "projectId": item.project_id, "itemId": item.id });
        batch.push(&format!("unproject{i}"), REMOVE_FROM_PROJECT, input);
    }
}

/// Returns those of the requested reviewers `asked` that the edit removes.
fn find_removed_reviewers<'a>(edit: &EditPull, asked: &'a [Reviewer]) -> Vec<&'a Reviewer> {
    let named = |a: &Reviewer| {
        edit.reviewers.remove.iter().any(|r| {
            let wanted = lookups::bot(r).unwrap_or(r.handle());
            wanted
                .trim_start_matches('@')
                .eq_ignore_ascii_case(a.handle())
        })
    };
    asked.iter().filter(|a| named(a)).collect()
}

/// Returns whether a pull request shows all changes of an edit.
fn is_done(edit: &EditPull, now: &PullRequest, me: &str) -> bool {
    let same = |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|w| w == has);
    edit.title.as_ref().is_none_or(|t| t.trim() == now.title)
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
        && edit
            .projects
            .add
            .iter()
            .all(|t| decorate::is_on_board(now, t))
        && !edit
            .projects
            .remove
            .iter()
            .any(|t| decorate::is_on_board(now, t))
        && edit.milestone.as_ref().is_none_or(|wanted| {
            wanted.as_deref().map(str::to_lowercase)
                == now.milestone.as_ref().map(|m| m.title.to_lowercase())
        })
}
