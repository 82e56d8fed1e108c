//! Opens pull requests.

use std::sync::Arc;

use forge_core::{
    Action, Arg, Capability, Error, ErrorKind, Hint, Op, Outcome, Param, Precondition, Result,
    model::{
        CreatePull, FileEdit, HeadMatches, PrFields, PrState, PullRequest, Reviewer, StateFilter,
    },
    text,
};
use forge_git::CatFile;

use super::{edits::CommitTarget, list::ScanStep};
use crate::{
    Local,
    caps::LIMITS,
    ident::{CommitIdentity, identity},
    labels::LabelSet,
    store::{
        AppendOutcome, LabelRef, PullEvent, RefChange, Snapshot, StoredPull, WriteRetry,
        branch_ref, same_login,
    },
    validate,
};

/// Recovery: repeat the failed call with another base branch.
const CHOOSE_BASE: Action = Action::again(&[(Param::Base, Arg::Choose)]);

impl Local {
    pub(crate) async fn create_pull(&self, req: &CreatePull) -> Result<Outcome<PullRequest>> {
        self.open_pull(req, None).await
    }

    /// Opens a pull request. If `commit` is set, also creates the head branch at this commit, which
    /// is on top of the base branch.
    pub(super) async fn open_pull(
        &self,
        req: &CreatePull,
        commit: Option<String>,
    ) -> Result<Outcome<PullRequest>> {
        if req.milestone.is_some() {
            return Err(Self::unsupported(Capability::PrMilestone));
        }
        if req.head.owner.is_some() {
            return Err(Self::unsupported(Capability::PrCreateCrossRepository));
        }
        req.check_edits()?;
        let title = LIMITS.check_title(&req.title)?;
        LIMITS.check_text("description", &req.description)?;
        validate::reviewers(&req.reviewers)?;
        let mut cat = self.store.cat();
        let below = self.below(&mut cat, req).await?;
        let base = match (&below, &req.base) {
            (Some(below), _) => below.snapshot.head_branch.clone(),
            (None, Some(base)) => base.clone(),
            (None, None) => self.default_branch().await?.ok_or_else(|| {
                Error::invalid(
                    "base",
                    "there is no base branch: the repository has no commits yet",
                )
                .with_hint(
                    Hint::new("commit something first, or name the base branch")
                        .with_action(CHOOSE_BASE),
                )
            })?,
        };
        let made = commit.is_some() || !req.edits.is_empty() || req.patch.is_some();
        let head = match req.head.branch.as_str() {
            "" if made => FileEdit::branch_name(title),
            head => head.to_owned(),
        };
        let base_oid = self.branch_tip(&mut cat, "base", &base).await?;
        let by = identity(self.user_git()).await?;
        let head_oid = if made {
            self.check_new_branch(&mut cat, &head).await?;
            String::new()
        } else {
            let head_oid = self.branch_tip(&mut cat, "head", &head).await?;
            self.check_branches(&head, &head_oid, &base, &base_oid)
                .await?;
            head_oid
        };
        let book = self.store.labels(&mut cat).await?.book;

        let mut snapshot = Snapshot::new(0, by.actor.clone(), by.at);
        snapshot.title = title.to_owned();
        snapshot.description.clone_from(&req.description);
        snapshot.closes = self.bind_issues(&mut cat, &req.description).await?;
        snapshot.draft = req.draft;
        snapshot.base_branch = base;
        snapshot.base_oid = Some(base_oid.clone());
        snapshot.head_branch = head;
        snapshot.depends_on = below.map(|below| below.number);
        snapshot.labels = resolve_labels(&book, &req.labels)?;
        LIMITS.check_label_count(snapshot.labels.len())?;
        snapshot.assignees = resolve_logins("assignees", &req.assignees, &by)?;
        snapshot.pending_reviewers = resolve_reviewers(&req.reviewers, &by, &by.actor.login)?;

        let onto = CommitTarget {
            branch: &snapshot.base_branch,
            oid: &base_oid,
        };
        let title = &snapshot.title;
        let mut left_out = None;
        let head_oid = match (commit, &req.patch) {
            (Some(commit), _) => commit,
            (None, Some(patch)) => self.commit_patch(onto, patch, title, &by).await?,
            (None, None) if made => {
                let (commit, unchanged) = self.commit_edits(onto, &req.edits, title, &by).await?;
                left_out = unchanged;
                commit
            }
            (None, None) => head_oid,
        };
        snapshot.head_oid = Some(head_oid.clone());
        // The same transaction creates the branch and the pull request.
        let branch = made.then(|| RefChange::Create {
            name: branch_ref(&snapshot.head_branch),
            new: head_oid.clone(),
        });

        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            if made {
                self.check_new_branch(&mut cat, &snapshot.head_branch)
                    .await?;
            }
            self.check_no_duplicate(&mut cat, &snapshot, None).await?;
            snapshot.number = self.next_number(&mut cat).await?;
            let pull = StoredPull {
                number: snapshot.number,
                tip: String::new(),
                snapshot: snapshot.clone(),
                head_oid: Some(head_oid.clone()),
                base_oid: Some(base_oid.clone()),
                head_exists: true,
                base_exists: true,
                unrecorded_merge: None,
                charge: Arc::default(),
            };
            let event = PullEvent::Opened {
                title: snapshot.title.clone(),
                description: snapshot.description.clone(),
                base_branch: snapshot.base_branch.clone(),
                head_branch: snapshot.head_branch.clone(),
                draft: snapshot.draft,
            };
            let before = branch.clone().into_iter().collect();
            match self.store.open(&mut cat, pull, &by, event, before).await? {
                AppendOutcome::Done(pull) => {
                    let shown = self.present(&mut cat, *pull, PrFields::NONE).await?;
                    let mut outcome = Outcome::immediate(shown);
                    outcome.warnings.extend(left_out);
                    return Ok(outcome);
                }
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    /// Checks that head and base exist, differ, and have a common history.
    pub(crate) async fn check_branches(
        &self,
        head: &str,
        head_oid: &str,
        base: &str,
        base_oid: &str,
    ) -> Result<()> {
        let (head, base) = (text::one_line(head), text::one_line(base));
        if head == base {
            return Err(
                Error::invalid("head", format!("head and base are both '{head}'")).with_hint(
                    Hint::new("commit on a new branch, or choose another base")
                        .with_action(CHOOSE_BASE),
                ),
            );
        }
        let not_base = format!("^{base_oid}");
        let git = self.git();
        let (ahead, common) = tokio::join!(
            git.run_ok([
                "rev-list",
                "-n",
                "1",
                "--end-of-options",
                head_oid,
                &not_base
            ]),
            git.run(["merge-base", "--", base_oid, head_oid])
        );
        if ahead?.is_empty() {
            return Err(Error::precondition(
                Precondition::NothingToMerge,
                format!("'{head}' has no commit that '{base}' lacks, so there is nothing to merge"),
            )
            .with_hint("commit on the head branch first"));
        }
        if common?.status != 0 {
            let hint = if self.store.common_dir.join("shallow").exists() {
                Hint::new(
                    "this clone is shallow and may lack the common history: git fetch --unshallow",
                )
            } else {
                Hint::new("choose the branch from which the head branch was created")
                    .with_action(CHOOSE_BASE)
            };
            return Err(
                Error::invalid("head", format!("'{head}' and '{base}' share no history"))
                    .with_hint(hint),
            );
        }
        Ok(())
    }

    /// Fails if another open pull request has the same head and base. Ignores the pull request
    /// `except`.
    pub(crate) async fn check_no_duplicate(
        &self,
        cat: &mut CatFile,
        snapshot: &Snapshot,
        except: Option<u64>,
    ) -> Result<()> {
        let twin = |s: &Snapshot| {
            s.head_branch == snapshot.head_branch && s.base_branch == snapshot.base_branch
        };
        let other = |s: &Snapshot| Some(s.number) != except && twin(s);
        let mut twins = Vec::new();
        let open = |s: &Snapshot| s.state == PrState::Open && other(s);
        self.scan(cat, StateFilter::Open, open, |pull| {
            twins.push(pull);
            ScanStep::Continue
        })
        .await?;
        let mut unproven = HeadMatches::default();
        let twins = self.keep_proven(cat, twins, &mut unproven).await;
        let Some(twin) = twins.into_iter().next() else {
            return Ok(());
        };
        let url = self.pr(twin.number).to_string();
        Err(Error::new(
            ErrorKind::AlreadyExists {
                existing: Some(url.clone()),
            },
            format!(
                "pull request #{} from '{}' into '{}' is open already: {url}",
                twin.number,
                text::one_line(&snapshot.head_branch),
                text::one_line(&snapshot.base_branch)
            ),
        )
        .with_hint(
            Hint::from(format!("look at #{}", twin.number))
                .with_action(Action::op(Op::PrView).on(twin.number)),
        ))
    }

    /// Returns the number after the highest existing one.
    async fn next_number(&self, cat: &mut CatFile) -> Result<u64> {
        let mut number = self.store.index(cat).await?.index.highest + 1;
        // A number whose ref is damaged is not used again.
        while self.store.loose_ref_exists(number) {
            number += 1;
        }
        Ok(number)
    }
}

/// Resolves label names, without duplicates.
pub(crate) fn resolve_labels(book: &LabelSet, names: &[String]) -> Result<Vec<LabelRef>> {
    let mut labels: Vec<LabelRef> = Vec::new();
    for name in names {
        let label = book.resolve(name)?;
        if !labels.iter().any(|l| l.id == label.id) {
            labels.push(label);
        }
    }
    Ok(labels)
}

/// Replaces `@me` in logins, and removes duplicates.
pub(crate) fn resolve_logins(
    field: &'static str,
    logins: &[String],
    by: &CommitIdentity,
) -> Result<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    for login in logins {
        let login = by.resolve(login);
        validate::login(field, &login)?;
        if !all.iter().any(|l| same_login(l, &login)) {
            all.push(login);
        }
    }
    Ok(all)
}

/// Removes duplicate reviewers; refuses the author.
pub(crate) fn resolve_reviewers(
    list: &[Reviewer],
    by: &CommitIdentity,
    author: &str,
) -> Result<Vec<Reviewer>> {
    let logins: Vec<String> = list.iter().map(|r| r.handle().to_owned()).collect();
    let logins = resolve_logins("reviewers", &logins, by)?;
    if logins.iter().any(|l| same_login(l, author)) {
        let shown = text::one_line(author).into_owned();
        return Err(Error::invalid(
            "reviewers",
            format!("'{shown}' opened the pull request and cannot review it"),
        )
        .with_hint("ask somebody else"));
    }
    Ok(logins.into_iter().map(Reviewer::user).collect())
}
