//! Submits reviews.

use std::borrow::Cow;

use forge_core::{
    Action, Arg, Error, ErrorKind, Hint, Outcome, Param, Precondition, Result, check_expected_head,
    model::{FileChange, FileStatus, NewReview, NewThread, Review, ReviewState, Side, Verdict},
    text,
};
use forge_git::CatFile;

use super::{
    conversation::{fold, review_id},
    hunks::{LinePosition, find_hunk},
};
use crate::{
    Local,
    caps::LIMITS,
    diff::{DiffRange, diff_args},
    ident::{CommitIdentity, identity},
    store::{
        AppendOutcome, LatestReview, Log, LogEntry, LoggedEvent, NewEvent, OpenedThread, PullEvent,
        StoredPull, WriteRetry,
    },
    validate::CHOOSE_BODY,
};

/// Hint for authors who try to approve their own pull request, or to request changes on it.
static COMMENT_INSTEAD: Hint = Hint::fixed(
    "ask somebody else for a review, or leave a comment instead",
    Action::again(&[(Param::Verdict, Arg::Set(Cow::Borrowed("comment")))]),
);

impl Local {
    pub(super) async fn add_review(
        &self,
        number: u64,
        review: &NewReview,
    ) -> Result<Outcome<Review>> {
        check_texts(review)?;
        let by = identity(self.user_git()).await?;
        let state = match review.verdict {
            Verdict::Approve => ReviewState::Approved,
            Verdict::RequestChanges => ReviewState::ChangesRequested,
            Verdict::Comment => ReviewState::Commented,
        };
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            if by.is(&pull.snapshot.author.login) && review.verdict != Verdict::Comment {
                let verb = match review.verdict {
                    Verdict::Approve => "approve",
                    _ => "request changes on",
                };
                return Err(Error::precondition(
                    Precondition::Rule,
                    format!("you opened #{number}, and nobody can {verb} their own pull request"),
                )
                .with_hint(&COMMENT_INSTEAD));
            }
            check_expected_head(
                &format_args!("#{number}"),
                review.expected_head.as_deref(),
                Some(pull.head()?),
            )?;
            let threads = self.place(&mut cat, &pull, &review.threads).await?;
            let mut snapshot = pull.snapshot.clone();
            snapshot.add_review(LatestReview {
                id: review_id(pull.snapshot.events + 1),
                author: by.actor.clone(),
                state,
                body: review.body.clone(),
                submitted_at: by.at,
                commit: pull.head_oid.clone(),
            });
            let event = PullEvent::Reviewed {
                state,
                body: review.body.clone(),
                threads,
            };
            let submitted = self.review_of(&pull, &by, event.clone())?;
            match self
                .store
                .append(&mut cat, &pull, &by, NewEvent::new(event, snapshot))
                .await?
            {
                AppendOutcome::Done(_) => {
                    let state = pull.snapshot.state;
                    let late = review.late_verdict_warning(&format_args!("#{number}"), state);
                    let mut outcome = Outcome::immediate(submitted);
                    outcome.warnings.extend(late);
                    return Ok(outcome);
                }
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    /// Returns the review that `event` adds to `pull`, built from the written data. If it were read
    /// back from git, this read could fail, and a stored review would be reported as failed.
    fn review_of(
        &self,
        pull: &StoredPull,
        by: &CommitIdentity,
        event: PullEvent,
    ) -> Result<Review> {
        let entry = LogEntry {
            seq: pull.snapshot.events + 1,
            at: by.at,
            actor: by.actor.clone(),
            head: pull.head_oid.clone(),
            event,
        };
        let oid = String::new();
        let log = Log::of(vec![LoggedEvent { oid, entry }]);
        let url = self.pr(pull.number).to_string();
        let mut all = fold(&log, &url, Some(&by.actor.login));
        all.reviews
            .pop()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "the event adds no review"))
    }

    /// Adds to each thread the diff hunk that contains its lines. Refuses lines outside of the
    /// diff.
    async fn place(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        threads: &[NewThread],
    ) -> Result<Vec<OpenedThread>> {
        if threads.is_empty() {
            return Ok(Vec::new());
        }
        let files = self.changed_files(pull).await?.files;
        let range = self.range(pull).await?;
        let mut placed = Vec::with_capacity(threads.len());
        for thread in threads {
            let file = files
                .iter()
                .find(|f| name_on(f, thread.side) == Some(&thread.path));
            let file = file.ok_or_else(|| {
                let shown = text::one_line(&thread.path).into_owned();
                let (side, other) = match thread.side {
                    Side::Left => ("left", Side::Right),
                    Side::Right => ("right", Side::Left),
                };
                let mut there = files.iter().filter_map(|f| name_on(f, other));
                if there.any(|name| *name == thread.path) {
                    return Error::invalid(
                        "side",
                        format!("'{shown}' has no {side} side in #{}", pull.number),
                    )
                    .with_hint("comment on its other side");
                }
                let known = files.iter().filter_map(|f| name_on(f, thread.side));
                Error::invalid(
                    "path",
                    format!("#{} does not change '{shown}'", pull.number),
                )
                .with_hint(forge_core::suggest::hint(
                    &thread.path,
                    known.map(String::as_str),
                    "changed files",
                ))
            })?;
            let hunk = match thread.line {
                Some(line) => Some(self.hunk(&range, file, thread, line).await?),
                None => None,
            };
            let side = match thread.side {
                Side::Left => range.base.as_str(),
                Side::Right => pull.head()?,
            };
            let blob = cat.info(&format!("{side}:{}", thread.path)).await?;
            placed.push(OpenedThread {
                path: thread.path.clone(),
                line: thread.line,
                start_line: thread.start_line.filter(|s| Some(*s) != thread.line),
                side: thread.side,
                body: thread.body.clone(),
                hunk,
                blob: blob.map(|i| i.oid),
            });
        }
        Ok(placed)
    }

    /// Returns the hunk of `file` that contains the lines of `thread`.
    async fn hunk(
        &self,
        range: &DiffRange,
        file: &FileChange,
        thread: &NewThread,
        line: u64,
    ) -> Result<String> {
        let mut args = diff_args(&["-p", "-U3"], range);
        args.push("--");
        args.extend(file.previous_path.as_deref());
        args.push(&file.path);
        let mut diff = self.git_for_diffs().stream(args)?;
        let place = LinePosition {
            line,
            start: thread.start_line,
            side: thread.side,
        };
        let ranges = match find_hunk(&mut diff, &place).await? {
            Ok(hunk) => return Ok(hunk),
            Err(ranges) => ranges,
        };
        let side = match thread.side {
            Side::Left => "left",
            Side::Right => "right",
        };
        let path = text::one_line(&thread.path).into_owned();
        let lines = match thread.start_line {
            Some(start) if start != line => format!("lines {start} to {line}"),
            _ => format!("line {line}"),
        };
        Err(Error::invalid(
            "line",
            format!(
                "{lines} of '{path}' on the {side} side is not within a single hunk of the diff"
            ),
        )
        .with_hint(match ranges.is_empty() {
            true => format!("'{path}' has no lines on that side of the diff"),
            false => format!(
                "the lines of its hunks on that side are {}",
                ranges.join(", ")
            ),
        }))
    }
}

/// Returns the path that `file` has on `side` of the diff, if the file exists on that side.
fn name_on(file: &FileChange, side: Side) -> Option<&String> {
    match (side, file.status) {
        (Side::Left, FileStatus::Added) | (Side::Right, FileStatus::Deleted) => None,
        (Side::Left, _) => Some(file.previous_path.as_ref().unwrap_or(&file.path)),
        (Side::Right, _) => Some(&file.path),
    }
}

fn check_texts(review: &NewReview) -> Result<()> {
    LIMITS.check_text("body", &review.body)?;
    let empty = review.body.trim().is_empty();
    match review.verdict {
        Verdict::Approve => {}
        Verdict::RequestChanges if empty => {
            return Err(Error::invalid("body", "requesting changes needs a body")
                .with_hint(Hint::new("say what should change").with_action(CHOOSE_BODY)));
        }
        Verdict::Comment if empty && review.threads.is_empty() => {
            return Err(Error::invalid("body", "the review is empty").with_hint(
                Hint::new("give it a body, or comments on lines").with_action(CHOOSE_BODY),
            ));
        }
        _ => {}
    }
    for thread in &review.threads {
        LIMITS.check_comment("body", &thread.body)?;
        thread.check_lines()?;
    }
    Ok(())
}
