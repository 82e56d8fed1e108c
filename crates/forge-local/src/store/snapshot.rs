//! `pull.json`: the state of a pull request after its last event.

use forge_core::{
    Error, ErrorKind, Result, Timestamp,
    model::{Actor, MergeMethod, PrState, ReviewCounts, ReviewState, Reviewer, fold_review},
    pull_filter::same_login,
};
use forge_git::refname_problem;
use serde::{Deserialize, Serialize};

use super::{FORMAT, PULL_FORMAT, Unreadable, check_room, event::MergeIntent, refs};

/// The state of a pull request, as stored in `pull.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub format: u32,
    pub number: u64,
    pub title: String,
    pub description: String,
    pub author: Actor,
    pub state: PrState,
    pub draft: bool,
    pub base_branch: String,
    /// The tip of the base branch at the last event. After a merge, the tip before the merge.
    pub base_oid: Option<String>,
    pub head_branch: String,
    /// The head commit at the last event.
    pub head_oid: Option<String>,
    /// The merge base when the pull request was closed or merged.
    pub merge_base: Option<String>,
    /// The number of the pull request that this one is stacked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<u64>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub merged_at: Option<Timestamp>,
    pub merged_by: Option<Actor>,
    pub merge_commit: Option<String>,
    pub merge_method: Option<MergeMethod>,
    /// A merge that was started but not recorded as done.
    pub intent: Option<MergeIntent>,
    pub labels: Vec<LabelRef>,
    pub assignees: Vec<String>,
    pub pending_reviewers: Vec<Reviewer>,
    /// The latest approval or change request of each reviewer, even if dismissed. If a reviewer
    /// gave neither, the latest review that only comments. Sorted by time. Also contains the review
    /// of the pull request's author, which does not count.
    pub latest_reviews: Vec<LatestReview>,
    /// The number of comments outside of threads.
    pub comments: u64,
    /// Number of events in the chain of this pull request.
    pub events: u64,
    /// The issues that the description closes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closes: Vec<NamedIssue>,
}

/// An issue whose number a description has, as it was when the description was written. Another
/// clone may have given the same number to another issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamedIssue {
    pub number: u64,
    /// The commit of the issue's first event. `None` if there was no issue with this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<String>,
}

/// A label on a pull request. The id identifies the label, because another label may get the same
/// name later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabelRef {
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LatestReview {
    pub id: String,
    pub author: Actor,
    pub state: ReviewState,
    pub body: String,
    pub submitted_at: Timestamp,
    pub commit: Option<String>,
}

impl Snapshot {
    /// Creates the state of a new pull request. The caller sets the other fields.
    pub fn new(number: u64, author: Actor, at: Timestamp) -> Self {
        Self {
            format: FORMAT,
            number,
            title: String::new(),
            description: String::new(),
            author,
            state: PrState::Open,
            draft: false,
            base_branch: String::new(),
            base_oid: None,
            head_branch: String::new(),
            head_oid: None,
            merge_base: None,
            depends_on: None,
            created_at: at,
            updated_at: at,
            closed_at: None,
            merged_at: None,
            merged_by: None,
            merge_commit: None,
            merge_method: None,
            intent: None,
            labels: Vec::new(),
            assignees: Vec::new(),
            pending_reviewers: Vec::new(),
            latest_reviews: Vec::new(),
            comments: 0,
            events: 0,
            closes: Vec::new(),
        }
    }

    /// Returns the lowest format version that has all fields in use, so that older versions of
    /// forge can read the pull request.
    pub fn lowest_format(&self) -> u32 {
        if self.closes.is_empty() {
            FORMAT
        } else {
            PULL_FORMAT
        }
    }

    /// Encodes the content of the blob, indented for `git show` and `git diff`.
    ///
    /// # Errors
    /// `invalid_input` if the blob would be too large to read.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|e| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode a snapshot: {e}"),
            )
            .with_source(e)
        })?;
        bytes.push(b'\n');
        check_room(&bytes)?;
        Ok(bytes)
    }

    /// Parses the blob of pull request `number`.
    pub fn decode(data: &[u8], number: u64) -> Result<Self, Unreadable> {
        Unreadable::check_weight("pull.json", data)?;
        Unreadable::check_format("pull.json", data, PULL_FORMAT)?;
        let snapshot: Self = serde_json::from_slice(data).map_err(|e| format!("pull.json: {e}"))?;
        if snapshot.number != number {
            return Err(format!("pull.json says that it is #{}", snapshot.number).into());
        }
        refs::check_counts("pull.json", snapshot.comments, snapshot.events)?;
        snapshot.check()?;
        Ok(snapshot)
    }

    /// Refuses values that git would misread as options or as revision expressions, because anyone
    /// may have written the stored data.
    fn check(&self) -> Result<(), String> {
        let intent = self.intent.iter();
        let intended = intent.flat_map(|i| {
            [
                Some(&i.result),
                Some(&i.onto),
                Some(&i.merged_head),
                i.merge_base.as_ref(),
            ]
        });
        let own = [
            &self.base_oid,
            &self.head_oid,
            &self.merge_base,
            &self.merge_commit,
        ];
        for oid in own
            .map(Option::as_ref)
            .into_iter()
            .chain(intended)
            .flatten()
        {
            let hex = oid.bytes().all(|b| b.is_ascii_hexdigit());
            if !hex || !matches!(oid.len(), 40 | 64) {
                return Err(format!("'{oid}' in pull.json is not a commit id"));
            }
        }
        let intended = self.intent.iter().map(|i| &i.base_branch);
        for branch in [&self.base_branch, &self.head_branch]
            .into_iter()
            .chain(intended)
        {
            if let Some(problem) = refname_problem(&refs::branch(branch)) {
                return Err(format!(
                    "'{branch}' in pull.json is not a branch name: {problem}"
                ));
            }
        }
        Ok(())
    }

    /// Adds a review.
    pub fn add_review(&mut self, review: LatestReview) {
        let author = review.author.login.clone();
        self.pending_reviewers
            .retain(|r| !same_login(r.handle(), &author));
        let is_same =
            |a: &LatestReview, b: &LatestReview| same_login(&a.author.login, &b.author.login);
        fold_review(&mut self.latest_reviews, review, |r| r.state, is_same);
    }

    /// Dismisses a review if it is the latest review of its author.
    pub fn dismiss_review(&mut self, id: &str) {
        if let Some(review) = self.latest_reviews.iter_mut().find(|r| r.id == id) {
            review.state = ReviewState::Dismissed;
        }
    }

    /// Counts the approvals and change requests. In this backend, reviews are never required.
    pub fn review_counts(&self) -> ReviewCounts {
        ReviewCounts::of(self.counted_reviews().map(|r| r.state))
    }

    /// Returns the latest reviews without the review of the pull request's author.
    pub fn counted_reviews(&self) -> impl Iterator<Item = &LatestReview> {
        let reviews = self.latest_reviews.iter();
        reviews.filter(|review| !self.is_by_author(review))
    }

    /// Returns the latest review by the author of the pull request.
    pub fn author_review(&self) -> Option<&LatestReview> {
        self.latest_reviews.iter().find(|r| self.is_by_author(r))
    }

    fn is_by_author(&self, review: &LatestReview) -> bool {
        same_login(&review.author.login, &self.author.login)
    }

    /// Makes a closed pull request open again, or a merged one whose merge was undone.
    pub fn reopen(&mut self) {
        self.state = PrState::Open;
        self.closed_at = None;
        self.merge_base = None;
        self.merged_at = None;
        self.merged_by = None;
        self.merge_commit = None;
        self.merge_method = None;
    }

    /// Records that the merge announced by `intent` is done.
    pub fn finish_merge(&mut self, intent: &MergeIntent) {
        self.state = PrState::Merged;
        self.base_branch.clone_from(&intent.base_branch);
        self.base_oid = Some(intent.onto.clone());
        self.head_oid = Some(intent.merged_head.clone());
        self.merge_base.clone_from(&intent.merge_base);
        self.merge_commit = Some(intent.result.clone());
        self.merge_method = Some(intent.method);
        self.merged_by = Some(intent.by.clone());
        self.merged_at = Some(intent.started_at);
        self.closed_at = Some(intent.started_at);
        self.updated_at = self.updated_at.max(intent.started_at);
        self.intent = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(login: &str, state: ReviewState) -> LatestReview {
        LatestReview {
            id: "r1".into(),
            author: Actor::new(login),
            state,
            body: String::new(),
            submitted_at: Timestamp::from_unix(0),
            commit: None,
        }
    }

    #[test]
    fn reviews_count_once_per_login_excluding_author() {
        use ReviewState::{Approved, ChangesRequested, Commented};
        let mut s = Snapshot::new(1, Actor::new("author"), Timestamp::from_unix(0));
        s.pending_reviewers = vec![Reviewer::parse("Bob")];
        s.add_review(review("bob", Commented));
        assert!(s.pending_reviewers.is_empty());
        s.add_review(review("bob", Approved));
        s.add_review(review("Bob", Commented));
        s.add_review(review("author", Approved));
        let counts = s.review_counts();
        assert_eq!((counts.approved, counts.total), (1, 1));
        s.add_review(review("carol", ChangesRequested));
        let counts = s.review_counts();
        assert_eq!((counts.changes_requested, counts.total), (1, 2));
    }

    #[test]
    fn oversized_pull_snapshot_is_not_written() {
        let mut s = Snapshot::new(1, Actor::new("author"), Timestamp::from_unix(0));
        let long = |n: usize| {
            let mut written = review(&format!("reviewer{n}"), ReviewState::Commented);
            written.body = "x".repeat(65_536);
            written
        };
        s.latest_reviews = (0..30).map(long).collect();
        assert!(s.encode().is_ok());
        s.latest_reviews.extend((30..40).map(long));
        let e = s.encode().unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{e:?}");
    }

    #[test]
    fn pull_snapshots_round_trip_and_mismatches_are_refused() {
        let mut s = Snapshot::new(7, Actor::new("a"), Timestamp::from_unix(9));
        s.base_branch = "main".into();
        s.head_branch = "topic".into();
        let bytes = s.encode().unwrap();
        assert_eq!(Snapshot::decode(&bytes, 7).unwrap(), s);
        let other = Snapshot::decode(&bytes, 8).unwrap_err();
        assert!(matches!(other, Unreadable::Damaged(why) if why.contains("#7")));
        let newer = String::from_utf8(bytes)
            .unwrap()
            .replace("\"format\": 1", "\"format\": 3");
        let newer = Snapshot::decode(newer.as_bytes(), 7).unwrap_err();
        assert!(
            matches!(
                newer,
                Unreadable::Newer {
                    found: 3,
                    newest: 2
                }
            ),
            "{newer:?}"
        );
        assert!(Snapshot::decode(b"{", 7).is_err());
        for (field, value) in [("topic", "a..b"), ("topic", "a b"), ("main", "")] {
            let bad = s.encode().unwrap();
            let bad = String::from_utf8(bad)
                .unwrap()
                .replace(&format!("\"{field}\""), &format!("\"{value}\""));
            assert!(Snapshot::decode(bad.as_bytes(), 7).is_err(), "{value}");
        }
        for count in ["comments", "events"] {
            let bad = String::from_utf8(s.encode().unwrap()).unwrap();
            let bad = bad.replace(
                &format!("\"{count}\": 0"),
                &format!("\"{count}\": {}", u64::MAX),
            );
            let refused = Snapshot::decode(bad.as_bytes(), 7).unwrap_err();
            assert!(
                matches!(refused, Unreadable::Damaged(why) if why.contains("impossible count"))
            );
        }
        s.head_oid = Some("--output=x".into());
        assert!(Snapshot::decode(&s.encode().unwrap(), 7).is_err());
    }
}
