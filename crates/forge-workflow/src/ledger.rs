//! Storage of audit trails: reading a trail and appending entries to it.
//!
//! An entry of a trail records that an issue moved to another state, or that somebody claimed it.

use std::fmt;

use async_trait::async_trait;
use forge_core::{
    Capability, Error, ErrorKind, Ingestion, Outcome, Precondition, Repo, Result, Retry, Warning,
    model::{BoardId, Comment, EditIssue, Issue, IssueFields, IssueId},
    text::one_line,
};
use serde::Serialize;

use crate::{Trail, TrailEntry, definition::default_bots, member::short, trail::is_trusted};

/// Guarantee that a ledger gives for claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimGuarantee {
    /// An issue has at most one holder at any time, because an entry is written only if the trail
    /// has not changed since it was read.
    Exclusive,
    /// An issue has at most one holder once the claimant has read the trail back, because the
    /// server's order of the entries decides.
    Ordered,
    /// There is no guarantee, because the order of entries depends on timestamps that their authors
    /// write. Concurrent claims lead to a warning.
    Advisory,
}

/// An issue with its trail at the time of reading.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IssueTrail {
    /// The issue, with its comments.
    pub issue: Issue,
    /// The trail in the comments.
    pub trail: Trail,
}

impl IssueTrail {
    /// Combines the issue with the trail that was read with it.
    #[must_use]
    pub fn new(issue: Issue, trail: Trail) -> Self {
        Self { issue, trail }
    }
}

/// Result of appending an entry.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one is made for a write, and moved once"
)]
pub enum TrailSwap {
    /// The entry and the edit of the issue are written.
    Written(Outcome<Issue>),
    /// The trail has changed since it was read, so nothing was written.
    Stale,
}

/// Storage of the audit trails of issues.
///
/// A write is a compare-and-swap: it succeeds only if the trail has not changed since it was read.
/// A write adds an entry together with an edit of the issue, or replaces the entry of a claim to
/// renew its lease. If two claims are written at the same time, the writer of the losing entry
/// deletes it, and nobody else does.
#[async_trait]
pub trait Ledger: fmt::Debug + Send + Sync {
    /// Returns the guarantee that the ledger gives for claims.
    fn promise(&self) -> ClaimGuarantee;

    /// Reads the issue with its trail.
    ///
    /// # Errors
    ///
    /// Fails with `not_found`.
    async fn read(&self, issue: &IssueId) -> Result<IssueTrail>;

    /// Writes `entry` and `edit` if the trail has not changed since `sheet` was read.
    ///
    /// On a forge without compare-and-swap, the entry is always written. The readers of the trail
    /// then decide which of two conflicting entries counts; see [`ClaimGuarantee`].
    ///
    /// # Errors
    ///
    /// Fails as the edit does. If the forge's answer is lost, the trail is read back to see whether
    /// the write was done.
    async fn swap(
        &self,
        sheet: &IssueTrail,
        edit: EditIssue,
        entry: &TrailEntry,
    ) -> Result<TrailSwap>;

    /// Writes several entries, each as [`Ledger::swap`] does. If one fails, the others are still
    /// written.
    ///
    /// # Errors
    ///
    /// Fails if no entry can be sent.
    async fn swap_all(
        &self,
        writes: &[(IssueTrail, EditIssue, TrailEntry)],
    ) -> Result<Vec<Result<TrailSwap>>> {
        let mut written = Vec::new();
        for (sheet, edit, entry) in writes {
            written.push(self.swap(sheet, edit.clone(), entry).await);
        }
        Ok(written)
    }

    /// Returns the trail of an issue that came from a list of issues. Returns `None` if the list
    /// does not have the whole trail, so that [`Ledger::read`] is needed.
    fn sheet_of(&self, _: &Issue) -> Option<IssueTrail> {
        None
    }

    /// Replaces the entry of a claim with `entry`, which renews the lease.
    ///
    /// # Errors
    ///
    /// Fails as [`Ledger::swap`] does.
    async fn renew(
        &self,
        sheet: &IssueTrail,
        comment: &str,
        entry: &TrailEntry,
    ) -> Result<TrailSwap>;

    /// Deletes an entry that lost a race. Succeeds if the entry no longer exists.
    async fn withdraw(&self, sheet: &IssueTrail, entry: &TrailEntry) -> Result<()>;
}

/// A ledger in the comments of a forge's issues.
#[derive(Debug)]
pub struct CommentLedger {
    repo: Repo,
    board: Option<BoardId>,
    bots: Vec<String>,
}

impl CommentLedger {
    /// Creates a ledger in the comments of the issues of `repo`. Reads issues with the fields of
    /// `board`.
    #[must_use]
    pub fn new(repo: Repo, board: Option<BoardId>) -> Self {
        Self {
            repo,
            board,
            bots: default_bots(),
        }
    }

    /// Sets the logins of the apps whose entries are trusted.
    #[must_use]
    pub fn with_bots(mut self, bots: Vec<String>) -> Self {
        self.bots = bots;
        self
    }

    fn has(&self, capability: Capability) -> bool {
        self.repo.supports(capability)
    }

    /// Refuses to write if an earlier entry by the authenticated account is not trusted. A new
    /// entry would not be trusted either, so the same move would be made again and again.
    fn check_writer_is_trusted(&self, issue: &Issue) -> Result<()> {
        let mut comments = issue.comments.iter().flatten();
        let is_untrusted = |c: &&Comment| {
            c.viewer_did_author
                && !is_trusted(c, &self.bots)
                && TrailEntry::parse(&c.body).is_some()
        };
        comments.find(is_untrusted).map_or(Ok(()), |comment| {
            Err(untrusted_writer_error(issue, comment))
        })
    }

    /// Finishes a write that failed in part or whose answer was lost.
    ///
    /// Reads the issue again. If the entry was written but the edit of the issue was not, deletes
    /// the entry, because the trail must not record a move that did not happen.
    async fn finish_interrupted_write(
        &self,
        sheet: &IssueTrail,
        edit: &EditIssue,
        entry: &TrailEntry,
        error: Error,
    ) -> Result<TrailSwap> {
        let Ok(now) = self.read(&sheet.issue.id).await else {
            return Err(error);
        };
        match (
            now.trail.ids.contains_key(&entry.id),
            is_done(&now.issue, edit),
        ) {
            (true, true) => {
                let why =
                    "the answer to the write was lost, but a read shows that the write succeeded";
                let outcome = Outcome::immediate(now.issue).with_warning(Warning::new(why));
                Ok(TrailSwap::Written(outcome))
            }
            (true, false) => {
                match self.withdraw(&now, entry).await {
                    Ok(()) => Err(error),
                    Err(_) => Err(error
                        .with_context("audit", "the entry of the trail could not be withdrawn")),
                }
            }
            (false, _) => Err(error),
        }
    }
}

/// Refuses an issue whose comments, or the roles of their authors, could not all be read, because
/// an unread comment may be a claim, or the entry of a move that a merge caused.
fn check_complete(issue: &Issue, promise: ClaimGuarantee) -> Result<()> {
    let mut warnings = issue.warnings.iter();
    let cut = warnings.find(|warning| warning.section == Some("comments"));
    if issue.comments.is_none() || cut.is_some() {
        let why = "its comments could not be read in full";
        let recovery = cut.and_then(|warning| Some((&warning.message, warning.hint.as_ref()?)));
        return Err(match recovery {
            Some((reason, hint)) => {
                unknown_holder_error(issue, &format!("{why}: {reason}")).with_hint(hint)
            }
            None => unknown_holder_error(issue, why),
        });
    }
    // A git repository, which promises `Exclusive`, has no roles. On any other forge, a missing
    // role means that the role could not be read.
    let without_role = (issue.comments.iter().flatten()).find(|c| {
        let unknown = c.author_association.is_none() && !c.author.bot;
        unknown && TrailEntry::parse(&c.body).is_some()
    });
    match without_role.filter(|_| promise != ClaimGuarantee::Exclusive) {
        Some(comment) => {
            let login = one_line(&comment.author.login);
            let why = format!("the role of {login}, who wrote an entry, could not be read");
            Err(unknown_holder_error(issue, &why))
        }
        None => Ok(()),
    }
}

fn unknown_holder_error(issue: &Issue, why: &str) -> Error {
    let message = format!("cannot tell who holds {}: {why}", short(&issue.id));
    Error::new(ErrorKind::Protocol, message)
        .with_hint("try again")
        .with_retry(Retry::Transient)
}

/// Returns the error for a writer whose entries are not trusted.
pub(crate) fn untrusted_writer_error(issue: &Issue, comment: &Comment) -> Error {
    let author = &comment.author;
    let (why, hint) = match author.bot {
        true => (
            "the workflow does not name the app",
            "name the login of the app in `bots` of the workflow's definition",
        ),
        false => (
            "the account has no role in the repository",
            "ask for a role in the repository, or use the account of a member",
        ),
    };
    let message = format!(
        "audit entries of {} on {} do not count: {why}",
        one_line(&author.login),
        short(&issue.id)
    );
    Error::precondition(Precondition::Rule, message).with_hint(hint)
}

/// Returns true if a write failed and the error says that part of it may have been done.
pub(crate) fn is_partial(error: &Error) -> bool {
    let mut context = error.context().iter();
    error.retry() == Retry::Ambiguous || context.any(|(key, _)| *key == "done")
}

/// Returns true if a failed write may have changed something on the forge. Returns false for an
/// error that refuses the whole write.
pub(crate) fn was_sent(error: &Error) -> bool {
    is_partial(error)
        || !matches!(
            error.kind(),
            ErrorKind::InvalidInput { .. }
                | ErrorKind::NotFound { .. }
                | ErrorKind::Unauthenticated { .. }
                | ErrorKind::Unsupported { .. }
                | ErrorKind::Conflict { .. }
        )
}

/// Returns true if the issue already has the fields, labels and state that `edit` sets.
pub(crate) fn is_done(issue: &Issue, edit: &EditIssue) -> bool {
    let is = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
    let has = |name: &String| issue.labels.iter().any(|label| is(&label.name, name));
    // A board may spell names with other capitals.
    let value_of = |field: &String| issue.values.iter().find(|(name, _)| is(name, field));
    edit.values
        .iter()
        .all(|(field, value)| match (value_of(field), value) {
            (Some((_, found)), Some(value)) => is(found, value),
            (found, value) => found.is_none() && value.is_none(),
        })
        && edit.labels.add.iter().all(has)
        && !edit.labels.remove.iter().any(has)
        && edit.state.is_none_or(|state| state == issue.state)
}

#[async_trait]
impl Ledger for CommentLedger {
    fn promise(&self) -> ClaimGuarantee {
        match (
            self.has(Capability::IssueSwap),
            self.has(Capability::IssueCommentOrder),
        ) {
            (true, _) => ClaimGuarantee::Exclusive,
            (false, true) => ClaimGuarantee::Ordered,
            (false, false) => ClaimGuarantee::Advisory,
        }
    }

    async fn read(&self, issue: &IssueId) -> Result<IssueTrail> {
        let mut fields = IssueFields::COMMENTS;
        fields.relations = self.has(Capability::IssueRelations);
        fields.board = self.board.clone();
        let mut issue = self.repo.issue(issue, &fields).await?;
        if self.promise() == ClaimGuarantee::Advisory {
            let comments = issue.comments.iter_mut();
            comments
                .for_each(|c| c.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id))));
        }
        check_complete(&issue, self.promise())?;
        let trail = Trail::of(&issue, &self.bots);
        Ok(IssueTrail { issue, trail })
    }

    async fn swap(
        &self,
        sheet: &IssueTrail,
        mut edit: EditIssue,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        self.check_writer_is_trusted(&sheet.issue)?;
        let exclusive = self.promise() == ClaimGuarantee::Exclusive;
        edit.comment = Some(entry.to_comment());
        edit.expected_version = exclusive.then(|| sheet.issue.version.clone());
        edit.board.clone_from(&self.board);
        match self.repo.edit_issue(&sheet.issue.id, &edit).await {
            Ok(outcome) => Ok(TrailSwap::Written(outcome)),
            Err(e) if exclusive && matches!(e.kind(), ErrorKind::Conflict { .. }) => {
                Ok(TrailSwap::Stale)
            }
            Err(e) if was_sent(&e) => self.finish_interrupted_write(sheet, &edit, entry, e).await,
            Err(e) => Err(e),
        }
    }

    async fn swap_all(
        &self,
        writes: &[(IssueTrail, EditIssue, TrailEntry)],
    ) -> Result<Vec<Result<TrailSwap>>> {
        let edits: Vec<(IssueId, EditIssue)> = writes
            .iter()
            .map(|(sheet, edit, entry)| {
                let version = Some(sheet.issue.version.clone());
                let mut edit = edit.clone();
                edit.comment = Some(entry.to_comment());
                edit.expected_version = version.filter(|v| !v.is_empty());
                edit.board.clone_from(&self.board);
                (sheet.issue.id.clone(), edit)
            })
            .collect();
        let results = self.repo.edit_issues(&edits).await?;
        let mut written = Vec::new();
        for (((sheet, _, entry), (_, edit)), result) in writes.iter().zip(&edits).zip(results) {
            written.push(match result {
                Ok(outcome) => Ok(TrailSwap::Written(outcome)),
                Err(e) if is_partial(&e) => {
                    self.finish_interrupted_write(sheet, edit, entry, e).await
                }
                Err(e) => Err(e),
            });
        }
        Ok(written)
    }

    fn sheet_of(&self, issue: &Issue) -> Option<IssueTrail> {
        let promise = self.promise();
        let is_whole = issue.comments_count == 0 || check_complete(issue, promise).is_ok();
        // On an advisory ledger (tangled) the number of comments comes from an index that may lag,
        // so the trail is read separately.
        (is_whole && promise != ClaimGuarantee::Advisory).then(|| IssueTrail {
            issue: issue.clone(),
            trail: Trail::of(issue, &self.bots),
        })
    }

    async fn renew(
        &self,
        sheet: &IssueTrail,
        comment: &str,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        let exclusive = self.promise() == ClaimGuarantee::Exclusive;
        let version = exclusive.then_some(sheet.issue.version.as_str());
        let id = &sheet.issue.id;
        let written = self
            .repo
            .edit_issue_comment(id, comment, &entry.to_comment(), version)
            .await;
        match written {
            Ok(outcome) => Ok(TrailSwap::Written(outcome.map(|_| sheet.issue.clone()))),
            Err(e) if exclusive && matches!(e.kind(), ErrorKind::Conflict { .. }) => {
                Ok(TrailSwap::Stale)
            }
            Err(e) if e.retry() == Retry::Ambiguous => {
                let Ok(now) = self.read(id).await else {
                    return Err(e);
                };
                let mut comments = now.issue.comments.iter().flatten();
                let renewed = comments
                    .any(|c| c.id == comment && TrailEntry::parse(&c.body).as_ref() == Some(entry));
                match renewed {
                    true => Ok(TrailSwap::Written(Outcome::immediate(now.issue))),
                    false => Err(e),
                }
            }
            Err(e) => Err(e),
        }
    }

    async fn withdraw(&self, sheet: &IssueTrail, entry: &TrailEntry) -> Result<()> {
        // A comment of another author may repeat the id of the entry. That comment must stay.
        let mine = |c: &&Comment| {
            c.viewer_did_author && TrailEntry::parse(&c.body).is_some_and(|e| e.id == entry.id)
        };
        let found = sheet.issue.comments.iter().flatten().find(mine);
        match found {
            Some(comment) => {
                let id = &sheet.issue.id;
                self.repo
                    .delete_issue_comment(id, &comment.id)
                    .await
                    .map(|_| ())
            }
            None => Ok(()),
        }
    }
}

/// Returns true if the forge shows the result of a write now, or may show it later. A move has no
/// effect if the forge never adds its record to the index.
#[must_use]
pub fn took_effect(ingestion: &Ingestion) -> bool {
    !matches!(
        ingestion,
        Ingestion::PdsOnly { .. } | Ingestion::Ineffective { .. }
    )
}

#[cfg(test)]
mod tests;
