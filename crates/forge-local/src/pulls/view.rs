//! Converts stored pull requests to the domain model.

use forge_core::{
    PrKey, Result, Warning,
    call::charge,
    model::{Actor, Label, PrFields, PullRequest, Review},
};
use forge_git::CatFile;

use crate::{
    Local,
    labels::{LabelSet, weight_of_label},
    store::{LabelRef, LatestReview, STORED_PULLS, Snapshot, StoredPull},
};

/// Memory of a pull request or issue in a result in addition to its texts, in bytes.
pub(crate) const BYTES_PER_ROW: usize = 2048;
/// Memory of a label, an account or a review in addition to its texts, in bytes.
pub(crate) const BYTES_PER_ITEM: usize = 256;
/// Maximum memory of the labels of one pull request or issue, in bytes. Thousands of its labels may
/// be the same one, with a description of megabytes.
const MAX_LABELS_WEIGHT: usize = 2 * 1024 * 1024;

/// The colour of a label whose definition cannot be read.
const NO_COLOR: &str = "ededed";

impl Local {
    pub(crate) async fn view_pull(&self, number: u64, fields: PrFields) -> Result<PullRequest> {
        let mut cat = self.store.cat();
        let pull = self.store.read(&mut cat, number).await?;
        let missing_merge = self.missing_merge_warning(&mut cat, &pull).await;
        let mut view = self.present(&mut cat, pull, fields).await?;
        let warning = missing_merge.unwrap_or_else(|e| Some(warning_of(&e)));
        view.warnings.extend(warning);
        Ok(view)
    }

    /// Converts `pull`, with the optional parts (such as reviews) that `fields` selects.
    pub(crate) async fn present(
        &self,
        cat: &mut CatFile,
        pull: StoredPull,
        fields: PrFields,
    ) -> Result<PullRequest> {
        let book = match pull.snapshot.labels.is_empty() {
            true => Ok(None),
            false => self.store.labels(cat).await.map(|l| Some(l.book)),
        };
        self.present_with(cat, pull, fields, &book).await
    }

    /// Like [`Local::present`], for a caller that has already read the labels. `book` has the
    /// labels of the repository, or the error if they could not be read.
    pub(crate) async fn present_with(
        &self,
        cat: &mut CatFile,
        pull: StoredPull,
        fields: PrFields,
        book: &Result<Option<LabelSet>>,
    ) -> Result<PullRequest> {
        let weight = weight_of_row(&pull.snapshot) + charged_labels(&pull.snapshot.labels, book);
        charge(STORED_PULLS, weight)?.keep();
        let mut view = self.header(&pull, book);
        self.add_sections(cat, &pull, fields, &mut view).await?;
        Ok(view)
    }

    fn header(&self, pull: &StoredPull, book: &Result<Option<LabelSet>>) -> PullRequest {
        let s = &pull.snapshot;
        let id = self.pr(pull.number);
        let (labels, warning) = shown_labels(&s.labels, book);
        let warnings = warning.into_iter().collect();
        let reviews = s.review_counts();
        let url = id.to_string();
        let mut shown = PullRequest::new(id, &s.title, s.author.clone(), s.created_at);
        shown.url = url;
        shown.number = Some(pull.number);
        shown.description = s.description.clone();
        shown.state = s.state;
        shown.draft = s.draft;
        shown.base_branch = s.base_branch.clone();
        shown.base_oid = pull.base_oid.clone();
        shown.head_branch = s.head_branch.clone();
        shown.head_oid = pull.head_oid.clone();
        shown.head_ref = Some(format!("refs/heads/{}", s.head_branch));
        shown.updated_at = s.updated_at;
        shown.closed_at = s.closed_at;
        shown.merged_at = s.merged_at;
        shown.merged_by = s.merged_by.clone();
        shown.merge_commit = s.merge_commit.clone();
        shown.labels = labels;
        shown.assignees = s.assignees.iter().map(Actor::new).collect();
        shown.approvals = reviews.approved;
        shown.changes_requested = reviews.changes_requested;
        shown.pending_reviewers = s.pending_reviewers.clone();
        shown.review_decision = reviews.decision();
        shown.latest_reviews = s.counted_reviews().map(latest).collect();
        shown.author_review = s.author_review().map(latest);
        shown.comments_count = s.comments;
        shown.version = pull.tip.clone();
        shown.warnings = warnings;
        shown
    }

    /// Adds the optional parts that are expensive to read. If one cannot be read, adds a warning.
    async fn add_sections(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        fields: PrFields,
        view: &mut PullRequest,
    ) -> Result<()> {
        let wants = |f| fields.contains(f);
        let mut warnings = Vec::new();
        let mut keep = |e: forge_core::Error| warnings.push(warning_of(&e));
        match self.open_below(cat, pull).await {
            Ok(below) => view.depends_on = below.map(|below| PrKey::Number(below.number)),
            Err(e) => keep(e),
        }
        if wants(PrFields::DEPENDENTS) {
            match self.read_dependents(cat, pull).await {
                (found, None) => {
                    view.dependents = Some(found.into_iter().map(PrKey::Number).collect());
                }
                (_, Some(e)) => {
                    let unread = warning_of(&e).of_section("dependents");
                    view.warnings.push(unread);
                }
            }
        }
        if wants(PrFields::STATS) || wants(PrFields::FILES) {
            match self.changed_files(pull).await {
                Ok(changed) => {
                    let files = changed.files;
                    let sum = |n: fn(&forge_core::model::FileChange) -> Option<u64>| {
                        Some(files.iter().filter_map(n).sum::<u64>())
                    };
                    view.additions = sum(|f| f.additions);
                    view.deletions = sum(|f| f.deletions);
                    view.changed_files = Some(files.len() as u64);
                    view.files = wants(PrFields::FILES).then(|| files.keep());
                    view.warnings.extend(changed.warning);
                }
                Err(e) => keep(e),
            }
        }
        if wants(PrFields::COMMITS) {
            match self.all_commits(cat, pull).await {
                Ok(commits) => view.commits = Some(commits),
                Err(e) => keep(e),
            }
        }
        if wants(PrFields::MERGEABILITY) && pull.is_open() {
            match self.mergeability_of(pull).await {
                Ok((mergeability, old_head)) => {
                    view.mergeability = Some(mergeability);
                    view.warnings.extend(old_head.as_ref().map(warning_of));
                }
                Err(e) => {
                    let unread = warning_of(&e).of_section("mergeability");
                    view.warnings.push(unread);
                }
            }
        }
        if wants(PrFields::LINKED_ISSUES) {
            match self.linked_issues(cat, pull).await {
                Ok((linked, unread)) => {
                    view.linked_issues = Some(linked);
                    view.warnings.extend(unread);
                }
                Err(e) => {
                    let unread = warning_of(&e).of_section("linked_issues");
                    view.warnings.push(unread);
                }
            }
        }
        let talk = [PrFields::COMMENTS, PrFields::REVIEWS, PrFields::THREADS];
        if talk.into_iter().any(wants) {
            match self.conversation(cat, pull, None).await {
                Ok(conversation) => {
                    view.comments = wants(PrFields::COMMENTS).then_some(conversation.comments);
                    view.reviews = wants(PrFields::REVIEWS).then_some(conversation.reviews);
                    view.threads = wants(PrFields::THREADS).then_some(conversation.threads);
                }
                Err(e) => keep(e),
            }
        }
        view.warnings.append(&mut warnings);
        Ok(())
    }
}

/// Returns labels as currently defined, sorted by name, and a warning if the definitions are
/// unreadable.
pub(crate) fn shown_labels(
    labels: &[LabelRef],
    book: &Result<Option<LabelSet>>,
) -> (Vec<Label>, Option<Warning>) {
    let unknown = |l: &LabelRef| Label::new(&l.name, NO_COLOR);
    let (mut shown, warning): (Vec<Label>, _) = match book {
        Ok(Some(_)) if weight_of_labels(labels, book) > MAX_LABELS_WEIGHT => {
            let most = MAX_LABELS_WEIGHT >> 20;
            let warning = Warning::new(format!(
                "the colors and descriptions of {} labels are not shown, because they take more \
                 than {most} MiB",
                labels.len()
            ));
            (labels.iter().map(unknown).collect(), Some(warning))
        }
        Ok(Some(book)) => {
            let current = labels.iter().filter_map(|l| book.current(l).cloned());
            (current.collect(), None)
        }
        Ok(None) => (Vec::new(), None),
        Err(e) => (labels.iter().map(unknown).collect(), Some(warning_of(e))),
    };
    shown.sort_by_key(|l| l.name.to_lowercase());
    (shown, warning)
}

/// Returns the memory of a pull request in a result, in bytes, without its labels and optional
/// parts.
fn weight_of_row(s: &Snapshot) -> usize {
    let reviews = s.latest_reviews.iter().map(|r| r.body.len());
    let assignees = s.assignees.iter().map(String::len);
    let reviewers = s.pending_reviewers.iter().map(|r| r.handle().len());
    let items = reviews.chain(assignees).chain(reviewers);
    let items: usize = items.map(|text| 2 * text + BYTES_PER_ITEM).sum();
    let branches = s.base_branch.len() + s.head_branch.len();
    BYTES_PER_ROW + 2 * (s.title.len() + s.description.len() + branches) + items
}

/// Returns the memory that the labels of a pull request or issue take in a result, in bytes.
fn weight_of_labels(labels: &[LabelRef], book: &Result<Option<LabelSet>>) -> usize {
    let known = book.as_ref().ok().and_then(Option::as_ref);
    let weight = |label: &LabelRef| match known.and_then(|book| book.current(label)) {
        Some(label) => weight_of_label(label),
        None => 2 * label.name.len() + BYTES_PER_ITEM,
    };
    let total = labels.iter().map(weight);
    total.fold(0, usize::saturating_add)
}

/// Like [`weight_of_labels`], for the labels that [`shown_labels`] returns.
pub(crate) fn charged_labels(labels: &[LabelRef], book: &Result<Option<LabelSet>>) -> usize {
    match weight_of_labels(labels, book) {
        weight @ 0..=MAX_LABELS_WEIGHT => weight,
        _ => weight_of_labels(labels, &Ok(None)),
    }
}

/// Converts an error to a warning.
pub(crate) fn warning_of(e: &forge_core::Error) -> Warning {
    let warning = Warning::new(e.message());
    match e.hint() {
        Some(hint) => warning.with_hint(hint),
        None => warning,
    }
}

fn latest(review: &LatestReview) -> Review {
    let author = review.author.clone();
    let mut latest = Review::new(&review.id, author, review.state, review.submitted_at);
    latest.body = (!review.body.is_empty()).then(|| review.body.clone());
    latest.commit.clone_from(&review.commit);
    latest
}
