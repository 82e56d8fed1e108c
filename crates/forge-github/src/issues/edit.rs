//! Edits issues: one query reads up to a hundred issues, and one GraphQL document changes up to
//! twenty of them. GitHub runs the mutations of a document in order, and each mutation succeeds or
//! fails on its own.

use std::sync::Arc;

use forge_core::{
    Error, ErrorKind, Outcome, Result, Retry, Warning,
    model::{BoardId, EditIssue, Issue, IssueFields, IssueId},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    plan::{EditPart, EditPlan, PlanNames, value_input},
    prepare::{EditedIssue, IndexedEdit},
    related::copy,
    state::find_own_comment_since,
    version::{self, ReadParts},
};
use crate::{
    GitHub,
    api::{GqlAnswer, TokenChoice},
    boards::Board,
    caps::LIMITS,
    error::{ambiguous, partial_failure},
    gql::{
        mutation::{ADD_TO_PROJECT, Batch},
        types as wire,
    },
    mutate::{Payloads, failed, lost_answer_warning},
    pulls::same_text,
};

/// How many issues one document changes.
const MAX_ISSUES_PER_WRITE: usize = 20;
/// How many issues one query reads. GitHub allows 500,000 nodes in a query, and an issue takes at
/// most 1,000.
const MAX_ISSUES_PER_READ: usize = 100;

/// The payload of a mutation that changes an issue. Each mutation has its own name for the issue.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EditPayload {
    issue: Option<wire::Issue>,
    sub_issue: Option<wire::Issue>,
    labelable: Option<wire::Issue>,
    assignable: Option<wire::Issue>,
    subject: Option<wire::Issue>,
    project_v2_item: Option<ItemPayload>,
    item: Option<wire::Id>,
}

#[derive(Deserialize)]
struct ItemPayload {
    content: Option<wire::Issue>,
}

impl EditPayload {
    fn into_issue(self) -> Option<wire::Issue> {
        self.issue
            .or(self.sub_issue)
            .or(self.labelable)
            .or(self.assignable)
            .or(self.subject)
            .or(self.project_v2_item.and_then(|item| item.content))
            .filter(|issue| issue.number > 0)
    }
}

struct RunningEdit<'a> {
    edit: IndexedEdit<'a>,
    before: EditedIssue,
    plan: EditPlan,
    done: Vec<String>,
    /// The issue as the latest answer of a mutation shows it.
    now: Option<wire::Issue>,
    /// The issue as read again after GitHub's answer was lost. Set if the whole edit turned out to
    /// have happened.
    settled: Option<Issue>,
    refused: Option<Error>,
    /// An ambiguous failure: the write may have happened.
    lost: Option<Error>,
    /// Board values that GitHub refused, by index in the plan. Their cached ids may be outdated, so
    /// the values are sent once more with current ids.
    stale: Vec<(usize, Error)>,
    /// Board values that are sent once more, by index in the plan.
    resent: Vec<usize>,
}

impl GitHub {
    pub(super) async fn change_issue(
        &self,
        id: &IssueId,
        edit: &EditIssue,
    ) -> Result<Outcome<Issue>> {
        let edits = [(id.clone(), edit.clone())];
        let mut results = self.change_issues(&edits).await?;
        results.pop().unwrap_or_else(|| Err(no_result()))
    }

    pub(super) async fn change_issues(
        &self,
        edits: &[(IssueId, EditIssue)],
    ) -> Result<Vec<Result<Outcome<Issue>>>> {
        let mut results: Vec<Option<Result<Outcome<Issue>>>> = Vec::new();
        let mut valid = Vec::new();
        for (at, (id, edit)) in edits.iter().enumerate() {
            results.push(match check(edit) {
                Ok(()) => {
                    valid.push(IndexedEdit { at, id, edit });
                    None
                }
                Err(error) => Some(Err(error)),
            });
        }
        let mut running = Vec::new();
        for chunk in valid.chunks(MAX_ISSUES_PER_READ) {
            let prepared = match self.prepare_edits(chunk).await {
                Ok(prepared) => prepared,
                // Nothing has been written yet, so the whole call fails.
                Err(error) if running.is_empty() && results.iter().all(Option::is_none) => {
                    return Err(error);
                }
                Err(error) => {
                    let failed = chunk.iter().map(|e| (e.at, Err(copy(&error))));
                    store_results(&mut results, failed);
                    continue;
                }
            };
            for (edit, before) in chunk.iter().zip(prepared.issues) {
                match before.and_then(|before| start(*edit, before, &prepared.names)) {
                    Ok(StartedEdit::Unchanged(outcome)) => {
                        store_results(&mut results, [(edit.at, Ok(*outcome))]);
                    }
                    Ok(StartedEdit::Running(edit)) => running.push(*edit),
                    Err(error) => store_results(&mut results, [(edit.at, Err(error))]),
                }
            }
        }
        let done = self.run_edits(running).await;
        store_results(&mut results, done);
        let results = results.into_iter();
        Ok(results
            .map(|r| r.unwrap_or_else(|| Err(no_result())))
            .collect())
    }

    async fn run_edits<'a>(
        &self,
        mut running: Vec<RunningEdit<'a>>,
    ) -> Vec<(usize, Result<Outcome<Issue>>)> {
        let mut stopped: Option<Error> = None;
        for chunk in running.chunks_mut(MAX_ISSUES_PER_WRITE) {
            match &stopped {
                // GitHub refused a whole document. The refusal also applies to the remaining
                // chunks.
                Some(error) => chunk.iter_mut().for_each(|e| e.refused = Some(copy(error))),
                None => stopped = self.run_chunk(chunk).await,
            }
        }
        running
            .into_iter()
            .map(|e| (e.edit.at, self.end(e)))
            .collect()
    }

    /// Changes the issues of a chunk. Returns the error if GitHub refused a whole document.
    async fn run_chunk(&self, chunk: &mut [RunningEdit<'_>]) -> Option<Error> {
        let mut stopped = self.add_items(chunk).await;
        // A separate board token needs a document of its own. The board values are written first,
        // because a comment of the edit may report the completed changes.
        let passes: &[Option<TokenChoice>] = match self.api.has_board_token() {
            true => &[Some(TokenChoice::Board), Some(TokenChoice::Account)],
            false => &[None],
        };
        for access in passes {
            if stopped.is_none() {
                stopped = self.run_pass(chunk, *access).await;
            }
            if stopped.is_none() {
                stopped = self.resend_values(chunk).await;
            }
        }
        self.read_back(chunk).await;
        stopped
    }

    async fn add_items(&self, chunk: &mut [RunningEdit<'_>]) -> Option<Error> {
        let mut batch = Batch::default();
        for (n, edit) in chunk.iter().enumerate() {
            if let Some(board) = &edit.plan.add_to {
                let node = &edit.before.found.issue.node_id;
                let input = json!({ "projectId": board, "contentId": node });
                batch.push(&format!("e{n}_item"), ADD_TO_PROJECT, input);
            }
        }
        if batch.is_empty() {
            return None;
        }
        let sent = self
            .send_as::<EditPayload>(TokenChoice::Board, &batch)
            .await;
        let mut answer = match sent {
            Ok(answer) => answer,
            Err(error) => return self.fail(chunk, error, |e| e.plan.add_to.is_some()),
        };
        for (n, edit) in chunk.iter_mut().enumerate() {
            let alias = format!("e{n}_item");
            if edit.plan.add_to.is_none() {
                continue;
            }
            if let Some(error) = failed(&answer, &alias) {
                edit.refused = Some(self.api.error(&answer, error));
                continue;
            }
            let payload = answer
                .data
                .as_mut()
                .and_then(|d| d.remove(&alias).flatten());
            match payload.and_then(|p| p.item) {
                Some(item) => {
                    edit.plan.item = Some(item.id);
                    edit.done.push("adding it to the board".to_owned());
                }
                None => edit.lost = Some(self.unanswered()),
            }
        }
        None
    }

    /// Sends the mutations that use the token `access`, or all mutations if `access` is `None`.
    async fn run_pass(
        &self,
        chunk: &mut [RunningEdit<'_>],
        access: Option<TokenChoice>,
    ) -> Option<Error> {
        let mut batch = Batch::default();
        let is_in = |part: &EditPart| access.is_none_or(|access| part.access == access);
        for (n, edit) in chunk.iter().enumerate().filter(|(_, e)| e.is_running()) {
            for (k, part) in edit.plan.parts.iter().enumerate().filter(|(_, p)| is_in(p)) {
                batch.push(&alias(n, k), part.mutation, edit.input(part));
            }
        }
        if batch.is_empty() {
            return None;
        }
        let access = access.unwrap_or_default();
        let mut answer = match self.send_as::<EditPayload>(access, &batch).await {
            Ok(answer) => answer,
            Err(error) => {
                return self.fail(chunk, error, |e| {
                    e.is_running() && e.plan.parts.iter().any(is_in)
                });
            }
        };
        for (n, edit) in chunk.iter_mut().enumerate().filter(|(_, e)| e.is_running()) {
            for k in 0..edit.plan.parts.len() {
                if edit.plan.parts.get(k).is_some_and(is_in) {
                    self.record_result(edit, &alias(n, k), k, &mut answer);
                }
            }
        }
        None
    }

    /// Sends refused board values once more, with the current ids of their board. An option that
    /// was deleted and created again has a new id.
    ///
    /// A refused mutation has written nothing, and other mutations of the edit are not repeated.
    /// Returns the error if GitHub refused the whole document.
    async fn resend_values(&self, chunk: &mut [RunningEdit<'_>]) -> Option<Error> {
        let mut batch = Batch::default();
        for (n, edit) in chunk.iter_mut().enumerate() {
            let wanted = edit.edit.edit;
            for (k, refusal) in std::mem::take(&mut edit.stale) {
                let board = match &wanted.board {
                    Some(id) if edit.is_running() && is_about_ids(&refusal) => {
                        self.current_board(id).await.ok().map(|board| (id, board))
                    }
                    _ => None,
                };
                let differs = board.is_some_and(|(id, board)| edit.refresh_ids(k, id, &board));
                match edit.plan.parts.get(k).filter(|_| differs) {
                    Some(part) => {
                        batch.push(&alias(n, k), part.mutation, edit.input(part));
                        edit.resent.push(k);
                    }
                    None => edit.refuse(refusal),
                }
            }
        }
        if batch.is_empty() {
            return None;
        }
        let sent = self
            .send_as::<EditPayload>(TokenChoice::Board, &batch)
            .await;
        let mut answer = match sent {
            Ok(answer) => answer,
            Err(error) => return self.fail(chunk, error, |e| !e.resent.is_empty()),
        };
        for (n, edit) in chunk.iter_mut().enumerate() {
            for k in std::mem::take(&mut edit.resent) {
                self.record_result(edit, &alias(n, k), k, &mut answer);
            }
            for (_, refusal) in std::mem::take(&mut edit.stale) {
                edit.refuse(refusal);
            }
        }
        None
    }

    /// Returns the cached board. Reads the board if the cache lacks it.
    async fn current_board(&self, id: &BoardId) -> Result<Arc<Board>> {
        match self.boards.get(id) {
            Some(board) => Ok(board),
            None => self.read_board(id).await,
        }
    }

    /// Records the result of one mutation.
    fn record_result(
        &self,
        edit: &mut RunningEdit<'_>,
        alias: &str,
        k: usize,
        answer: &mut GqlAnswer<Payloads<EditPayload>>,
    ) {
        let Some(part) = edit.plan.parts.get(k) else {
            return;
        };
        if let Some(error) = failed(answer, alias) {
            if part.on_board
                && let Some(board) = &edit.edit.edit.board
            {
                // The cached option ids may be outdated, so the board must be read again.
                self.boards.forget(board);
            }
            let on_board = part.on_board;
            let error = self.api.error(answer, error);
            match error.retry() {
                Retry::Ambiguous => edit.lost = Some(error),
                _ if on_board => edit.stale.push((k, error)),
                _ => edit.refuse(error),
            }
            return;
        }
        match answer.data.as_mut().and_then(|d| d.remove(alias).flatten()) {
            Some(payload) => {
                let now = payload.into_issue();
                let told = now.as_ref().map(|now| self.check_issue(edit.edit.id, now));
                if let Some(Err(error)) = told {
                    edit.lost = Some(ambiguous(error));
                    return;
                }
                edit.done.push(part.title.clone());
                if now.is_some() {
                    edit.now = now;
                }
            }
            None => edit.lost = Some(self.unanswered()),
        }
    }

    /// Handles the failure of a whole document. Returns the error if GitHub refused the document,
    /// because GitHub would also refuse the remaining documents.
    fn fail(
        &self,
        chunk: &mut [RunningEdit<'_>],
        error: Error,
        concerns: impl Fn(&RunningEdit<'_>) -> bool,
    ) -> Option<Error> {
        let is_lost = error.retry() == Retry::Ambiguous;
        for edit in chunk.iter_mut() {
            if concerns(edit) {
                match is_lost {
                    true => edit.lost = Some(copy(&error)),
                    false => edit.refused = Some(copy(&error)),
                }
            }
        }
        (!is_lost).then_some(error)
    }

    fn unanswered(&self) -> Error {
        ambiguous(Error::new(
            ErrorKind::Protocol,
            format!("{} sent no answer to a part of the edit", self.info.host),
        ))
    }

    /// If GitHub's answer for an issue was lost, reads the issue again, to find out which changes
    /// happened.
    async fn read_back(&self, chunk: &mut [RunningEdit<'_>]) {
        let lost: Vec<IndexedEdit<'_>> = chunk
            .iter()
            .filter(|e| e.lost.is_some())
            .map(|e| e.edit)
            .collect();
        if lost.is_empty() {
            return;
        }
        let Ok(prepared) = self.prepare_edits(&lost).await else {
            return;
        };
        let lost = chunk.iter_mut().filter(|e| e.lost.is_some());
        for (edit, now) in lost.zip(prepared.issues) {
            let Ok(now) = now else { continue };
            let Ok(left) = now.found.plan(edit.edit.edit, &prepared.names) else {
                continue;
            };
            edit.resolve_lost_answer(left, now, self.api.has_board_token());
        }
    }

    fn end(&self, edit: RunningEdit<'_>) -> Result<Outcome<Issue>> {
        let done: Vec<&str> = edit.done.iter().map(String::as_str).collect();
        let told = |error: Error| match done.is_empty() {
            true => error,
            false => partial_failure(error, &done),
        };
        if let Some(error) = edit.refused {
            return Err(told(error));
        }
        if let Some(error) = edit.lost {
            let Some(issue) = edit.settled else {
                return Err(told(error));
            };
            return Ok(Outcome::immediate(issue).with_warning(lost_answer_warning(&error)));
        }
        let before = edit.before.found.issue;
        let mut issue = match edit.now {
            Some(now) => self.issue_with(&before.id.repo, now, &IssueFields::NONE)?,
            None => before,
        };
        issue.values = edit.plan.values;
        issue.relations = edit.plan.relations;
        let parts = ReadParts {
            values: edit.edit.edit.board.is_some(),
            ..ReadParts::BODY
        };
        issue.version = version::of(&issue, parts);
        Ok(Outcome::immediate(issue))
    }

    /// Makes the remaining changes to a new issue without another query. Returns the names of the
    /// changes that succeeded, and the issue or the error of the failed changes.
    pub(super) async fn finish_issue<'a>(
        &'a self,
        id: &'a IssueId,
        edit: &'a EditIssue,
        before: EditedIssue,
        names: &'a PlanNames,
    ) -> (Vec<String>, Result<Outcome<Issue>>) {
        let edit = IndexedEdit { at: 0, id, edit };
        let mut running = match start(edit, before, names) {
            Ok(StartedEdit::Running(running)) => [*running],
            Ok(StartedEdit::Unchanged(outcome)) => return (vec![], Ok(*outcome)),
            Err(error) => return (vec![], Err(error)),
        };
        self.run_chunk(&mut running).await;
        let [running] = running;
        (running.done.clone(), self.end(running))
    }
}

enum StartedEdit<'a> {
    Unchanged(Box<Outcome<Issue>>),
    Running(Box<RunningEdit<'a>>),
}

/// Checks the version and plans the edit.
fn start<'a>(
    edit: IndexedEdit<'a>,
    before: EditedIssue,
    names: &PlanNames,
) -> Result<StartedEdit<'a>> {
    version::check(&before.found.issue, edit.edit.expected_version.as_deref())?;
    let plan = before.found.plan(edit.edit, names)?;
    if plan.parts.is_empty() {
        let warning = Warning::new(format!(
            "{} is already as requested; nothing was changed",
            edit.id
        ));
        let outcome = Outcome::unchanged(before.found.issue, warning);
        return Ok(StartedEdit::Unchanged(Box::new(outcome)));
    }
    Ok(StartedEdit::Running(Box::new(RunningEdit {
        edit,
        before,
        plan,
        done: Vec::new(),
        now: None,
        settled: None,
        refused: None,
        lost: None,
        stale: Vec::new(),
        resent: Vec::new(),
    })))
}

impl RunningEdit<'_> {
    fn is_running(&self) -> bool {
        self.refused.is_none() && self.lost.is_none()
    }

    /// Records a refusal. Only the first refusal is reported.
    fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    /// Returns the input of a part, with the id of the board item if the part needs it.
    fn input(&self, part: &EditPart) -> Value {
        let mut input = part.input.clone();
        if let (true, Some(map)) = (part.on_board, input.as_object_mut()) {
            map.insert("itemId".to_owned(), json!(self.plan.item));
        }
        input
    }

    /// Puts the ids of `board` into the input that sets a board value. Returns whether they differ
    /// from the ids that were sent.
    fn refresh_ids(&mut self, k: usize, id: &BoardId, board: &Board) -> bool {
        let Some(part) = self.plan.parts.get_mut(k) else {
            return false;
        };
        let value = self.plan.values.get(&part.title).map(String::as_str);
        let Ok(ids) = board.ids(id, &part.title, value) else {
            return false;
        };
        let input = value_input(board, &ids);
        let differs = input != part.input;
        part.input = input;
        differs
    }

    /// Decides which changes happened after GitHub's answer was lost. `now` is the issue read
    /// again, and `left` contains the changes that the issue still lacks.
    fn resolve_lost_answer(&mut self, left: EditPlan, now: EditedIssue, other_token: bool) {
        let body = self.edit.edit.comment.as_deref();
        let comment_made = body.is_none_or(|body| {
            let newest = self.before.newest.as_deref();
            // A board token may belong to another account. The comment then does not look like the
            // viewer's own, so only its text is compared.
            match other_token {
                false => find_own_comment_since(now.recent, newest, body).is_some(),
                true => now
                    .recent
                    .iter()
                    .rev()
                    .take_while(|c| Some(c.id.as_str()) != newest)
                    .any(|c| same_text(&c.body, body)),
            }
        });
        let is_left = |part: &EditPart| match part.title.as_str() {
            "comment" => !comment_made,
            title => left.parts.iter().any(|p| p.title == title),
        };
        let (left, done): (Vec<_>, Vec<_>) = self.plan.parts.iter().partition(|p| is_left(p));
        if left.is_empty() {
            self.refused = None;
            self.settled = Some(now.found.issue);
            return;
        }
        self.done = done.iter().map(|p| p.title.clone()).collect();
        self.lost = self.lost.take().map(|error| match done.is_empty() {
            true => error.with_hint("try again: GitHub shows no trace of the write"),
            false => error,
        });
    }
}

/// Returns whether a refusal may be about an unknown id.
fn is_about_ids(refusal: &Error) -> bool {
    matches!(
        refusal.kind(),
        ErrorKind::NotFound { .. } | ErrorKind::InvalidInput { .. } | ErrorKind::Precondition(_)
    )
}

fn alias(n: usize, k: usize) -> String {
    format!("e{n}_{k}")
}

fn store_results(
    results: &mut [Option<Result<Outcome<Issue>>>],
    done: impl IntoIterator<Item = (usize, Result<Outcome<Issue>>)>,
) {
    for (at, result) in done {
        if let Some(slot) = results.get_mut(at) {
            *slot = Some(result);
        }
    }
}

fn no_result() -> Error {
    Error::new(ErrorKind::Internal, "an edit ended without a result")
}

/// Refuses invalid edits before any request.
fn check(edit: &EditIssue) -> Result<()> {
    if let Some(title) = &edit.title {
        LIMITS.check_title(title)?;
    }
    if let Some(body) = &edit.body {
        LIMITS.check_text("body", body)?;
    }
    if let Some(comment) = &edit.comment {
        LIMITS.check_comment("comment", comment)?;
    }
    LIMITS.check_label_count(edit.labels.add.len())?;
    needs_board(edit.values.is_empty(), edit.board.is_some())
}

/// Refuses an edit of field values that names no board, because on GitHub the fields of an issue
/// belong to a board.
pub(super) fn needs_board(no_values: bool, board: bool) -> Result<()> {
    match no_values || board {
        true => Ok(()),
        false => Err(Error::invalid(
            "board",
            "on GitHub, values of issues belong to a board, and no board is named",
        )
        .with_hint("name the board as OWNER/NUMBER, such as octo/5")),
    }
}
