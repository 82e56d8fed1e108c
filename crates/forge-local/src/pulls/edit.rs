//! Edits pull requests.

use forge_core::{
    Action, Capability, Error, Hint, Op, Outcome, Param, Result, check_version,
    model::{EditPull, PullRequest, Reviewer, SetChange},
    suggest, text,
};
use forge_git::CatFile;

use super::{
    create::{resolve_labels, resolve_logins, resolve_reviewers},
    state::require_open,
};
use crate::{
    Local,
    caps::LIMITS,
    ident::{CommitIdentity, identity},
    labels::LabelSet,
    store::{
        AppendOutcome, Edited, LabelRef, NewEvent, PullEvent, Snapshot, StoredPull, WriteRetry,
        same_login,
    },
    validate,
};

impl Local {
    pub(crate) async fn edit_pull(
        &self,
        number: u64,
        edit: &EditPull,
    ) -> Result<Outcome<PullRequest>> {
        if edit.milestone.is_some() {
            return Err(Self::unsupported(Capability::PrMilestone));
        }
        if let Some(title) = &edit.title {
            LIMITS.check_title(title)?;
        }
        if let Some(description) = &edit.description {
            LIMITS.check_text("description", description)?;
        }
        validate::reviewers(&edit.reviewers.add)?;
        validate::reviewers(&edit.reviewers.remove)?;
        let by = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let pull = self
                .store
                .read_to_write(&mut cat, number, &mut attempts)
                .await?;
            let expected = edit.expected_version.as_deref();
            let view = Action::op(Op::PrView).on(number);
            check_version(&self.pr(number), expected, &pull.tip, view)?;
            // The parts are boxed, because a merge edits what is based on the merged branch.
            let applied = self.apply(&mut cat, &pull, edit, &by);
            let (snapshot, edited) = Box::pin(applied).await?;
            if edited == Edited::default() {
                return Box::pin(self.unchanged(&mut cat, pull, "so already")).await;
            }
            let draft = NewEvent::new(PullEvent::Edited(Box::new(edited)), snapshot);
            match self.store.append(&mut cat, &pull, &by, draft).await? {
                AppendOutcome::Done(_) => {
                    return Box::pin(self.after_write(&mut cat, number)).await;
                }
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    /// Returns the pull request after `edit`, and the event that records the changes.
    async fn apply(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        edit: &EditPull,
        by: &CommitIdentity,
    ) -> Result<(Snapshot, Edited)> {
        let mut s = pull.snapshot.clone();
        let mut edited = Edited::default();
        if let Some(title) = edit
            .title
            .as_deref()
            .map(|t| LIMITS.check_title(t))
            .transpose()?
            && title != s.title
        {
            title.clone_into(&mut s.title);
            edited.title = Some(title.to_owned());
        }
        if let Some(description) = &edit.description {
            // The same text can mean other issues than before.
            let closes = self.bind_issues(cat, description).await?;
            if *description != s.description || closes != s.closes {
                s.description.clone_from(description);
                s.closes = closes;
                edited.description = Some(description.clone());
            }
        }
        if let Some(base) = edit.base.as_ref().filter(|b| **b != s.base_branch) {
            require_open(pull, "only the base of an open pull request can be changed")?;
            let base_oid = self.branch_tip(cat, "base", base).await?;
            self.check_branches(&s.head_branch, pull.head()?, base, &base_oid)
                .await?;
            s.base_branch.clone_from(base);
            Box::pin(self.check_no_duplicate(cat, &s, Some(pull.number))).await?;
            edited.base_branch = Some(base.clone());
        }
        if !edit.labels.is_empty() {
            let book = self.store.labels(cat).await?.book;
            (edited.labels_added, edited.labels_removed) =
                change_labels(&mut s.labels, &edit.labels, &book)?;
        }
        (edited.assignees_added, edited.assignees_removed) =
            change_assignees(&mut s.assignees, &edit.assignees, by)?;
        let author = s.author.login.clone();
        for reviewer in resolve_reviewers(&edit.reviewers.add, by, &author)? {
            if !s
                .pending_reviewers
                .iter()
                .any(|r| is_same_reviewer(r, &reviewer))
            {
                s.pending_reviewers.push(reviewer.clone());
                edited.reviewers_added.push(reviewer);
            }
        }
        let removed: Vec<String> = edit
            .reviewers
            .remove
            .iter()
            .map(|r| r.handle().to_owned())
            .collect();
        for login in resolve_logins("reviewers", &removed, by)? {
            let at = s
                .pending_reviewers
                .iter()
                .position(|r| same_login(r.handle(), &login));
            if let Some(at) = at {
                edited
                    .reviewers_removed
                    .push(s.pending_reviewers.remove(at));
            }
        }
        Ok((s, edited))
    }
}

fn is_same_reviewer(a: &Reviewer, b: &Reviewer) -> bool {
    same_login(a.handle(), b.handle())
}

/// Changes `assignees`. Returns the logins that were added and removed.
///
/// # Errors
/// `invalid_input` for an invalid login.
pub(crate) fn change_assignees(
    assignees: &mut Vec<String>,
    change: &SetChange<String>,
    by: &CommitIdentity,
) -> Result<(Vec<String>, Vec<String>)> {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for login in resolve_logins("assignees", &change.add, by)? {
        if !assignees.iter().any(|a| same_login(a, &login)) {
            assignees.push(login.clone());
            added.push(login);
        }
    }
    for login in resolve_logins("assignees", &change.remove, by)? {
        if let Some(at) = assignees.iter().position(|a| same_login(a, &login)) {
            removed.push(assignees.remove(at));
        }
    }
    Ok((added, removed))
}

/// Changes `labels`. Returns the names that were added and removed.
///
/// # Errors
/// `invalid_input` for an unknown label, and for too many labels.
pub(crate) fn change_labels(
    labels: &mut Vec<LabelRef>,
    change: &SetChange<String>,
    book: &LabelSet,
) -> Result<(Vec<String>, Vec<String>)> {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    // Labels that this repository does not define stay, because another clone may define them.
    let is_defined = |l: &&LabelRef| book.current(l).is_some();
    let before = labels.iter().filter(is_defined);
    let before: Vec<String> = before.map(|l| l.name.clone()).collect();
    for label in resolve_labels(book, &change.add)? {
        if !labels.iter().any(|l| l.id == label.id) {
            added.push(label.name.clone());
            labels.push(label);
        }
    }
    for name in &change.remove {
        let wanted = book.resolve(name).map_err(|_| {
            let on_it = || before.iter().map(String::as_str);
            let shown = text::one_line(name).into_owned();
            let hint = suggest::hint(name, on_it(), "labels on it");
            let corrected = suggest::corrected(&[Param::RemoveLabel], name, on_it());
            Error::invalid("labels", format!("no label is called '{shown}'"))
                .with_hint(Hint::from(hint).with_any_action(corrected))
        })?;
        if let Some(at) = labels.iter().position(|l| l.id == wanted.id) {
            removed.push(labels.remove(at).name);
        }
    }
    LIMITS.check_label_count(labels.iter().filter(is_defined).count())?;
    Ok((added, removed))
}
