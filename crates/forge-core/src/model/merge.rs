use std::fmt::Display;

use serde::{Deserialize, Serialize};

use super::{Actor, BaseRules, LocalClone, PullRequest, ReviewState};
use crate::{Error, PrKey, Precondition, Result, Timestamp, Warning};

/// Method of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMethod {
    /// A merge commit with two parents.
    Merge,
    /// A single commit with all changes of the pull request.
    Squash,
    /// A copy of each commit, on top of the base.
    Rebase,
}

impl MergeMethod {
    /// Returns `merge`, `squash` or `rebase`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

/// Result of a trial merge of head and base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeState {
    /// The merge has no conflicts.
    Mergeable,
    /// The merge has conflicts.
    Conflicting,
    /// The forge has not computed the state yet. Read the pull request again later.
    Unknown,
}

/// Result of checking whether a pull request can be merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mergeability {
    /// Result of the trial merge of head and base.
    pub state: MergeState,
    /// Status in the forge's words, upper case as on GitHub: `CLEAN`, `DIRTY`, `DRAFT`, `BLOCKED`,
    /// `BEHIND`, `UNSTABLE`, `HAS_HOOKS`, `UNKNOWN`.
    pub status: String,
    /// Conflicting paths, if the forge names them.
    pub conflicts: Vec<String>,
    /// The head commit that was checked, hex.
    pub head_oid: String,
    /// The base commit that was checked, hex.
    pub base_oid: String,
}

impl Mergeability {
    /// Builds a result without conflicting paths and commit ids.
    pub fn new(state: MergeState, status: impl Into<String>) -> Self {
        Self {
            state,
            status: status.into(),
            conflicts: Vec::new(),
            head_oid: String::new(),
            base_oid: String::new(),
        }
    }
}

/// An automatic merge, which the forge makes once the requirements are met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AutoMerge {
    /// Merge method.
    pub method: MergeMethod,
    /// Account that enabled the automatic merge.
    pub enabled_by: Actor,
    /// Time when the automatic merge was enabled, if known.
    pub enabled_at: Option<Timestamp>,
    /// First line of the commit message, if given.
    pub subject: Option<String>,
    /// Rest of the commit message, if given.
    pub body: Option<String>,
    /// E-mail address of the commit's author, if given.
    pub author_email: Option<String>,
}

impl AutoMerge {
    /// Builds an automatic merge whose commit message the forge chooses.
    #[must_use]
    pub fn new(method: MergeMethod, enabled_by: Actor) -> Self {
        Self {
            method,
            enabled_by,
            enabled_at: None,
            subject: None,
            body: None,
            author_email: None,
        }
    }
}

/// A request to merge a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeReq {
    /// Method; `None` for the repository's default.
    pub method: Option<MergeMethod>,
    /// Refuse the merge unless [`head_id`](crate::model::PullRequest::head_id) has this value.
    pub expected_head: Option<String>,
    /// Refuse the merge unless this is the base branch.
    pub expected_base: Option<String>,
    /// Refuse the merge unless the pull request has this
    /// [`version`](crate::model::PullRequest::version). Used on forges where the title and message
    /// of the merge come from the pull request's record (its atproto document).
    pub expected_version: Option<String>,
    /// First line of the commit message, for merge and squash.
    pub subject: Option<String>,
    /// Rest of the commit message, for merge and squash.
    pub body: Option<String>,
    /// E-mail address of the merge or squash commit's author.
    pub author_email: Option<String>,
    /// Delete the head branch after the merge.
    pub delete_branch: bool,
    /// Let the forge merge once the requirements are met.
    pub auto: bool,
    /// Merge even if requirements are unmet.
    pub admin: bool,
    /// Only finish an earlier merge, and merge nothing new. This writes the atproto record that is
    /// missing for that merge, and deletes the head branch if `delete_branch` is set. For callers
    /// who confirmed only these steps.
    pub only_left_over: bool,
    /// Leave the files unchanged in work trees that have the base branch checked out. Only for
    /// forges that are git repositories on this machine.
    pub leave_checkout: bool,
    /// Do not wait for the forge to compute mergeability, because the caller has already waited.
    pub skip_wait: bool,
    /// A clone on this machine, for forges where a merge is a push.
    pub clone: Option<LocalClone>,
}

impl MergeReq {
    /// Makes [`Self::subject`] one line, and returns a warning if lines were moved to the body. A
    /// blank subject counts as none.
    pub fn split_subject(&mut self) -> Option<Warning> {
        let subject = self
            .subject
            .take()
            .filter(|subject| !subject.trim().is_empty())?;
        let Some((line, rest)) = subject.trim().split_once(['\n', '\r']) else {
            self.subject = Some(subject.trim().to_owned());
            return None;
        };
        self.subject = Some(line.trim_end().to_owned());
        let (body, place) = match self.body.take() {
            Some(body) => (body, "begin the body"),
            None => (
                String::new(),
                "are the body, in place of the usual one with its commits and co-authors",
            ),
        };
        self.body = Some(format!("{}\n\n{body}", rest.trim()).trim_end().to_owned());
        Some(Warning::new(format!(
            "the subject has several lines: all after the first {place}"
        )))
    }

    /// Checks that this request may merge `pr`, which is not merged yet.
    ///
    /// # Errors
    /// `precondition_failed` if [`Self::only_left_over`] is set.
    pub fn may_merge(&self, pr: &impl Display) -> Result<()> {
        if !self.only_left_over {
            return Ok(());
        }
        Err(Error::precondition(
            Precondition::Open,
            format!("cannot finish the earlier merge of {pr}: the pull request is not merged"),
        )
        .with_hint("check whether somebody has reopened the pull request"))
    }
}

/// Facts outside of the requirements that a decision about a merge depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeFacts {
    /// The open pull requests whose base is the head branch; `None` if they were not read.
    pub dependents: Option<Vec<PrKey>>,
    /// The open pull request whose head branch is the base branch, if there is one.
    pub base_is_head_of: Option<PrKey>,
    /// The merged pull request whose head branch is the base branch, if there is one.
    pub base_is_merged_by: Option<PrKey>,
    /// Logins of the reviewers whose latest opinion requests changes.
    pub changes_requested_by: Vec<String>,
    /// True if the base branch has a merge queue; `None` if this is not known.
    pub has_queue: Option<bool>,
}

impl MergeFacts {
    /// Collects the facts from a pull request. Those of sections that were not read are unknown.
    #[must_use]
    pub fn of(pull: &PullRequest) -> Self {
        let against = pull.latest_reviews.iter();
        let against = against.filter(|review| review.state == ReviewState::ChangesRequested);
        Self {
            dependents: pull.dependents.clone(),
            base_is_head_of: pull.depends_on.clone(),
            base_is_merged_by: pull.merged_base.clone(),
            changes_requested_by: against.map(|review| review.author.login.clone()).collect(),
            has_queue: pull.base_rules.as_ref().and_then(BaseRules::has_queue),
        }
    }

    /// Returns sentences about the facts that no requirement names, without a full stop. The
    /// sentences have no text of others. `deletes` is true if the head branch is deleted.
    #[must_use]
    pub fn in_words(&self, deletes: bool) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(lower) = &self.base_is_merged_by {
            let base = format!("The base branch is the head of #{lower}, which is merged already");
            sentences.push(base);
        }
        if let Some(names) = self.dependents.as_deref().and_then(names_of) {
            let (are, get) = if self.dependents.iter().flatten().count() == 1 {
                ("is", "gets")
            } else {
                ("are", "get")
            };
            let then = if deletes {
                format!(", and {get} its base branch before the branch is deleted")
            } else {
                String::new()
            };
            sentences.push(format!("{names} {are} based on its branch{then}"));
        }
        if self.has_queue == Some(true) {
            let queue = "The merge queue of the base branch merges it, and chooses the method";
            sentences.push(queue.to_owned());
        }
        sentences
    }
}

/// Maximum number of pull requests that a sentence names.
const MAX_NAMES: usize = 20;

/// Returns names of pull requests as a sentence has them: `#8, #9 and #10`; `None` without any.
fn names_of(keys: &[PrKey]) -> Option<String> {
    let first = keys.iter().take(MAX_NAMES);
    let mut names: Vec<String> = first.map(|key| format!("#{key}")).collect();
    let more = keys.len().saturating_sub(MAX_NAMES);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    Some(match names.split_last()? {
        (last, []) => last.clone(),
        (last, others) => format!("{} and {last}", others.join(", ")),
    })
}

/// Result of a merge request.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Merge {
    /// The pull request after the merge.
    pub pull_request: PullRequest,
    /// The commit of the base branch that resulted from the merge, hex.
    pub commit: Option<String>,
    /// The merge method that was used.
    pub method: Option<MergeMethod>,
    /// True if the pull request was already merged, so that this call merged nothing.
    pub already_merged: bool,
    /// True if the forge merges later, automatically or through a queue.
    pub queued: bool,
    /// Position in the merge queue, from 1, if the pull request entered one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u64>,
    /// True if the head branch was deleted.
    pub branch_deleted: bool,
}

impl Merge {
    /// Returns the result of merging `pull_request` in this call, without commit and method.
    #[must_use]
    pub fn of(pull_request: PullRequest) -> Self {
        Self {
            pull_request,
            commit: None,
            method: None,
            already_merged: false,
            queued: false,
            queue_position: None,
            branch_deleted: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        PrId, RepoId,
        model::{BaseRule, BaseRuleKind, RuleSource, UnreadRules},
    };

    fn pull() -> PullRequest {
        let id = PrId::number(RepoId::local("/r"), 7);
        PullRequest::new(id, "Work", Actor::new("ada"), Timestamp::from_unix(0))
    }

    #[test]
    fn subject_of_several_lines_is_split() {
        for (subject, body, wanted, wanted_body) in [
            ("A", Some("B"), Some("A"), Some("B")),
            (" A ", None, Some("A"), None),
            (" \n", Some("B"), None, Some("B")),
            ("", None, None, None),
            ("A\nB", None, Some("A"), Some("B")),
            ("A\r\n\r\nB\nC\n", Some("D"), Some("A"), Some("B\nC\n\nD")),
            ("\nA\rB", Some(""), Some("A"), Some("B")),
        ] {
            let mut req = MergeReq {
                subject: Some(subject.to_owned()),
                body: body.map(str::to_owned),
                ..MergeReq::default()
            };
            let warning = req.split_subject();
            assert_eq!(warning.is_some(), subject.trim().contains(['\n', '\r']));
            assert_eq!(req.subject.as_deref(), wanted, "{subject:?}");
            assert_eq!(req.body.as_deref(), wanted_body, "{subject:?}");
        }
    }

    #[test]
    fn question_names_dependents_and_their_new_base() {
        let words = |numbers: Option<&[u64]>, deletes| {
            let mut pull = pull();
            pull.dependents = numbers.map(|all| all.iter().copied().map(PrKey::Number).collect());
            MergeFacts::of(&pull).in_words(deletes)
        };
        let then = "its base branch before the branch is deleted";
        for (numbers, deletes, wanted) in [
            (&[8][..], false, "#8 is based on its branch".to_owned()),
            (
                &[8][..],
                true,
                format!("#8 is based on its branch, and gets {then}"),
            ),
            (
                &[8, 9][..],
                true,
                format!("#8 and #9 are based on its branch, and get {then}"),
            ),
            (
                &[8, 9, 10][..],
                false,
                "#8, #9 and #10 are based on its branch".to_owned(),
            ),
        ] {
            assert_eq!(words(Some(numbers), deletes), [wanted]);
        }
        for none in [None, Some(&[][..])] {
            assert!(words(none, true).is_empty());
        }
    }

    #[test]
    fn merged_base_is_named() {
        let mut pull = pull();
        pull.merged_base = Some(PrKey::Number(5));
        let named = ["The base branch is the head of #5, which is merged already"];
        assert_eq!(MergeFacts::of(&pull).in_words(false), named);
    }

    #[test]
    fn unread_queue_is_unknown() {
        let has_queue = |rules: Option<BaseRules>| {
            let mut pull = pull();
            pull.base_rules = rules;
            let facts = MergeFacts::of(&pull);
            assert_eq!(
                facts.in_words(true).len(),
                usize::from(facts.has_queue == Some(true))
            );
            facts.has_queue
        };
        let mut rules = BaseRules::default();
        assert_eq!(has_queue(None), None);
        assert_eq!(has_queue(Some(rules.clone())), Some(false));
        rules.unread = vec![UnreadRules::Queue];
        assert_eq!(has_queue(Some(rules.clone())), None);
        rules.rules = vec![BaseRule {
            wants: BaseRuleKind::MergeQueue,
            source: RuleSource::MergeQueue,
        }];
        assert_eq!(has_queue(Some(rules)), Some(true));
    }
}
