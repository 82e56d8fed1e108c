//! Waits for a change of a pull request by polling.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use forge_core::{
    Capability, Error, ErrorKind, Noun, PrId, Repo, Result, Support, Timestamp, fingerprint,
    model::{
        BaseRule, CheckStatus, PrFields, PrState, PullRequest, ReviewCounts, ReviewState,
        RuleSource, UnreadRules,
    },
    pull_filter::same_login,
    suggest,
};
use futures::future::BoxFuture;
use serde::Serialize;
use tokio::time::sleep;

use crate::{
    ClearedBy, ContextSettings, Pace, Pacer, Readiness, Requirement, RequirementStatus,
    VERDICT_FIELDS,
    preflight::{base_rules, dependency, rules_of},
    readiness::lacks_required_check,
};

/// Maximum number of reviews that a watch compares between two polls. The newest reviews are kept.
const MAX_REVIEWS: usize = 100;

/// Condition that ends a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WatchUntil {
    /// The checks have finished.
    Checks,
    /// An account other than the author has reviewed.
    Review,
    /// The state (open, draft, closed or merged) has changed.
    State,
    /// The merge verdict (whether the pull request can be merged) has changed.
    Verdict,
}

impl WatchUntil {
    /// Every condition.
    pub const ALL: [Self; 4] = [Self::Checks, Self::Review, Self::State, Self::Verdict];

    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Review => "review",
            Self::State => "state",
            Self::Verdict => "verdict",
        }
    }

    /// Returns, for the documentation, when the condition ends the watch and when this is a
    /// failure.
    #[must_use]
    pub const fn meaning(self) -> [&'static str; 2] {
        match self {
            Self::Checks => [
                "at least one check has reported, none is pending, and none that the base branch \
                 requires is missing",
                "a check failed, even if a required one is missing; a cancelled check alone is not \
                 a failure",
            ],
            Self::Review => [
                "an account other than the author submitted a review, with or without an opinion",
                "the review requests changes",
            ],
            Self::State => [
                "the pull request was closed, merged, reopened, made a draft or made ready",
                "the pull request was closed without a merge",
            ],
            Self::Verdict => [
                "the pull request is ready to merge (also at the start), a requirement became \
                 unmet that people must clear, or `readyToMerge` became `null` and only people \
                 can clear the unknown requirements",
                "the pull request is not ready to merge",
            ],
        }
    }

    /// Parses a name.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` (field `until`) for an unknown name; the error lists the known
    /// names.
    pub fn parse(name: &str) -> Result<Self> {
        let wanted = name.trim();
        let found = Self::ALL.into_iter().find(|until| until.name() == wanted);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let known = suggest::hint(wanted, names, "conditions");
            Error::invalid("until", format!("unknown condition '{wanted}'")).with_hint(known)
        })
    }

    /// Returns the capability that a forge needs for the condition.
    const fn capability(self) -> Option<Capability> {
        match self {
            Self::Checks => Some(Capability::Checks),
            Self::Review => Some(Capability::ReviewVerdict),
            Self::State | Self::Verdict => None,
        }
    }
}

/// Request for a watch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WatchReq {
    /// The conditions. The first one that is met ends the watch.
    pub until: BTreeSet<WatchUntil>,
    /// Interval and timeout.
    pub pace: Pace,
    /// The state at the start of an earlier watch. A change since then ends the new watch at once.
    /// If the verdict was "ready" at that time, a watch for the verdict ends when the pull request
    /// is no longer ready.
    pub since: Option<WatchBaseline>,
    /// Settings for the merge verdict.
    pub settings: ContextSettings,
}

impl WatchReq {
    /// Creates a request that starts from the current state.
    #[must_use]
    pub fn new(until: BTreeSet<WatchUntil>, pace: Pace, settings: ContextSettings) -> Self {
        Self {
            until,
            pace,
            since: None,
            settings,
        }
    }

    /// Returns the fields that each poll reads, which depend on the conditions.
    fn fields(&self) -> PrFields {
        let has = |until| self.until.contains(&until);
        let only_for = |until: WatchUntil, fields: PrFields| match has(until) {
            true => fields,
            false => PrFields::NONE,
        };
        let checks = only_for(WatchUntil::Checks, PrFields::CHECKS | PrFields::RULES);
        // The newest reviews are read in addition to `latest_reviews`. If a reviewer has approved
        // or requested changes, that field lacks a later review that only comments.
        let newest = PrFields::REVIEWS | PrFields::NEWEST | PrFields::NO_REVIEW_COMMENTS;
        let reviews = only_for(WatchUntil::Review, newest);
        if has(WatchUntil::Verdict) {
            return VERDICT_FIELDS | PrFields::NO_DESCRIPTION | reviews;
        }
        if has(WatchUntil::Review) {
            return checks
                | reviews
                | PrFields::NO_DESCRIPTION
                | PrFields::NO_LABELS
                | PrFields::NO_ASSIGNEES
                | PrFields::NO_MILESTONE
                | PrFields::NO_REVIEW_REQUESTS;
        }
        checks | PrFields::ROW
    }
}

/// The state at the start of a watch. A caller can store its text form to resume the watch later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchBaseline {
    state: PrState,
    draft: bool,
    /// Fingerprints of the review ids.
    reviews: BTreeSet<u64>,
    /// The names of the unmet rules.
    unmet: BTreeSet<String>,
    /// True if the merge verdict was "ready"; `None` if the verdict is unknown or not watched.
    ready: Option<bool>,
}

impl WatchBaseline {
    fn of(seen: &WatchSeen) -> Self {
        let unmet = seen.readiness.iter().flat_map(Readiness::unmet);
        Self {
            state: seen.state,
            draft: seen.draft,
            reviews: seen
                .reviews
                .keys()
                .map(|id| review_fingerprint(id))
                .collect(),
            unmet: unmet.map(|r| r.rule.name().to_owned()).collect(),
            ready: seen.readiness.as_ref().and_then(|r| r.ready_to_merge),
        }
    }

    /// Formats as text without blanks and quotes.
    #[must_use]
    pub fn to_text(&self) -> String {
        let reviews: Vec<String> = self.reviews.iter().map(|r| format!("{r:x}")).collect();
        let unmet: Vec<&str> = self.unmet.iter().map(String::as_str).collect();
        let (reviews, unmet) = (reviews.join("-"), unmet.join("-"));
        let state = state_name(self.state, self.draft);
        format!("{state}.{reviews}.{unmet}.{}", ready_name(self.ready))
    }

    /// Parses the text form; returns `None` if it is invalid.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (state, draft) = match parts.next()? {
            "open" => (PrState::Open, false),
            "draft" => (PrState::Open, true),
            "closed" => (PrState::Closed, false),
            "merged" => (PrState::Merged, false),
            _ => return None,
        };
        let mut list = || Some(parts.next()?.split('-').filter(|part| !part.is_empty()));
        let reviews = list()?.map(|hex| u64::from_str_radix(hex, 16).ok());
        let reviews = reviews.collect::<Option<_>>()?;
        let unmet = list()?.map(str::to_owned).collect();
        let ready = match parts.next()? {
            "yes" => Some(true),
            "no" => Some(false),
            "unknown" => None,
            _ => return None,
        };
        Some(Self {
            state,
            draft,
            reviews,
            unmet,
            ready,
        })
    }
}

/// Returns a fingerprint of a review's id. The fingerprint is short, because a client repeats the
/// text form of the baseline in each call.
fn review_fingerprint(id: &str) -> u64 {
    fingerprint(&id) >> 32
}

/// State of a pull request at one poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchSeen {
    /// The head commit.
    pub head_sha: Option<String>,
    /// The state.
    pub state: PrState,
    /// True if the pull request is a draft.
    pub draft: bool,
    /// The status of each check by its name, if checks are watched and can be read. If several
    /// checks have the same name, the worst status is kept.
    pub checks: Option<BTreeMap<String, CheckStatus>>,
    /// The status of each check, including checks of the same name.
    statuses: Vec<CheckStatus>,
    /// True if some checks could not be read.
    pub checks_cut: bool,
    /// True if a check that the base branch requires has not reported.
    lacks_check: bool,
    /// True if a section of the pull request or the rulesets could not be read.
    is_unread: bool,
    /// Reviews by accounts other than the author: by id, each with its author and its state. These
    /// are the newest hundred if reviews are watched, otherwise at most the latest one of each
    /// reviewer.
    pub reviews: BTreeMap<String, (String, ReviewState)>,
    /// How many reviewers approve or request changes, by the latest review of each.
    opinions: ReviewCounts,
    /// The merge verdict, if it is watched.
    pub readiness: Option<Readiness>,
}

impl WatchSeen {
    fn of(pull: &PullRequest, readiness: Option<Readiness>) -> Self {
        let report = pull.checks.as_ref();
        let name = |c: &forge_core::model::Check| match &c.workflow {
            Some(workflow) => format!("{workflow} / {}", c.name),
            None => c.name.clone(),
        };
        let checks = report.map(|report| {
            let mut checks = BTreeMap::new();
            for check in &report.checks {
                // The report lists the worst status first.
                checks.entry(name(check)).or_insert(check.status);
            }
            checks
        });
        let statuses = report.iter().flat_map(|report| &report.checks);
        let reviews = pull.reviews.iter().flatten().chain(&pull.latest_reviews);
        let is_own = |login: &str| same_login(login, &pull.author.login);
        let mut reviews: Vec<_> = reviews
            .filter(|r| r.state != ReviewState::Pending && !is_own(&r.author.login))
            .collect();
        reviews.sort_by(|a, b| (b.submitted_at, &b.id).cmp(&(a.submitted_at, &a.id)));
        reviews.dedup_by(|a, b| a.id == b.id);
        // The number of reviews is limited, because the baseline has a fingerprint of each review
        // and a client repeats the baseline in each call.
        reviews.truncate(MAX_REVIEWS);
        let reviews = reviews
            .into_iter()
            .map(|r| (r.id.clone(), (r.author.login.clone(), r.state)));
        let rules = pull.base_rules.as_ref();
        let no_rulesets = rules.is_some_and(|rules| rules.unread.contains(&UnreadRules::Rulesets));
        Self {
            head_sha: pull.head_id().map(str::to_owned),
            state: pull.state,
            draft: pull.draft,
            checks,
            statuses: statuses.map(|check| check.status).collect(),
            checks_cut: report.is_some_and(|report| report.truncated),
            lacks_check: pull.state == PrState::Open && lacks_required_check(pull),
            is_unread: no_rulesets || pull.warnings.iter().any(|w| w.section.is_some()),
            reviews: reviews.collect(),
            opinions: pull.review_counts(),
            readiness,
        }
    }

    fn count(&self, wanted: &[CheckStatus]) -> usize {
        let all = self.statuses.iter();
        all.filter(|status| wanted.contains(status)).count()
    }

    /// Returns `None` until all checks have finished, then true if none failed.
    ///
    /// The checks count as unfinished if no check has reported yet. They also count as unfinished
    /// if none has failed, but a check that the base branch requires has not reported.
    fn checks_ended(&self) -> Option<bool> {
        let checks = self.checks.as_ref()?;
        let is_over = !checks.is_empty() && self.count(&[CheckStatus::Pending]) == 0;
        let is_well = self.count(&[CheckStatus::Failure]) == 0;
        let is_missing = is_well && self.lacks_check;
        (is_over && !self.checks_cut && !is_missing).then_some(is_well)
    }

    /// Returns `None` until there is a new review, then true if no new review requests changes.
    fn reviewed_since(&self, since: &WatchBaseline) -> Option<bool> {
        let mut new = self
            .reviews
            .iter()
            .filter(|(id, _)| !since.reviews.contains(&review_fingerprint(id)))
            .map(|(_, (_, state))| *state)
            .peekable();
        new.peek()?;
        Some(new.all(|state| state != ReviewState::ChangesRequested))
    }

    /// Returns `None` until the verdict has changed, then true if the new verdict is "ready".
    /// `is_first` is true if `since` was taken from this poll; in this case, a watch of a ready
    /// pull request ends at once.
    fn verdict_changed_since(&self, since: &WatchBaseline, is_first: bool) -> Option<bool> {
        let readiness = self.readiness.as_ref()?;
        let has_clearer = |r: &Requirement, wanted: &[ClearedBy]| {
            let mut all = r.cleared_by.iter();
            all.any(|by| wanted.contains(&by.who))
        };
        match (since.ready, readiness.ready_to_merge) {
            (Some(true), Some(true)) => is_first.then_some(true),
            (_, Some(true)) => Some(true),
            // After a merge, the pull request is no longer ready, but that is not a failure. The
            // merge ends the watch anyway.
            (Some(true), Some(false)) => (self.state != PrState::Merged).then_some(false),
            // After a push the verdict may be unknown for a while: the forge computes the
            // mergeability, and checks register. Such an unknown verdict does not end the watch. An
            // unknown requirement that nobody can clear is one that could not be read, so the watch
            // continues.
            (Some(_), None) => {
                let by_itself = [ClearedBy::Ci, ClearedBy::Time];
                let all = readiness.requirements.iter();
                let mut unknown = all.filter(|r| r.status == RequirementStatus::Unknown);
                let may_clear =
                    unknown.any(|r| r.cleared_by.is_empty() || has_clearer(r, &by_itself));
                (!self.is_unread && !may_clear).then_some(false)
            }
            // A requirement that CI or time clears does not end the watch, because it may still
            // become met.
            (None, None) | (None | Some(false), Some(false)) => {
                let by_people = [ClearedBy::Author, ClearedBy::Reviewer, ClearedBy::Admin];
                let mut new = readiness
                    .unmet()
                    .filter(|r| !since.unmet.contains(r.rule.name()));
                new.any(|r| has_clearer(r, &by_people)).then_some(false)
            }
        }
    }

    /// Returns how the watch ended, or `None` if it continues.
    fn ended(
        &self,
        until: &BTreeSet<WatchUntil>,
        since: &WatchBaseline,
        is_first: bool,
    ) -> Option<WatchEnd> {
        let happened = until.iter().filter_map(|until| {
            let is_well = match until {
                WatchUntil::Checks => self.checks_ended()?,
                WatchUntil::Review => self.reviewed_since(since)?,
                WatchUntil::State => {
                    let is_same = (self.state, self.draft) == (since.state, since.draft);
                    (!is_same).then_some(self.state != PrState::Closed)?
                }
                WatchUntil::Verdict => self.verdict_changed_since(since, is_first)?,
            };
            Some((*until, is_well))
        });
        let happened: Vec<(WatchUntil, bool)> = happened.collect();
        if let Some((first, _)) = happened.first() {
            let is_well = happened.iter().all(|(_, is_well)| *is_well);
            return Some(WatchEnd::new(is_well, Some(*first)));
        }
        // After the pull request was merged or closed, nothing changes any more except running
        // checks.
        let runs = until.contains(&WatchUntil::Checks) && self.count(&[CheckStatus::Pending]) > 0;
        // A closed pull request can be reopened, so a watch for only the state continues.
        let is_over = match self.state {
            PrState::Open => false,
            PrState::Closed => *until != [WatchUntil::State].into(),
            PrState::Merged => true,
        };
        (is_over && !runs).then(|| WatchEnd::new(self.state == PrState::Merged, None))
    }

    /// Returns the differences from an earlier poll.
    fn changes(&self, before: &Self) -> Vec<WatchChange> {
        let mut changes = Vec::new();
        let mut add = |what, name: &str, from: Option<String>, to: String| {
            if from.as_ref() != Some(&to) {
                let name = name.to_owned();
                changes.push(WatchChange {
                    what,
                    name,
                    from,
                    to,
                });
            }
        };
        let state = |seen: &Self| state_name(seen.state, seen.draft).to_owned();
        add("state", "", Some(state(before)), state(self));
        add("head", "", Some(before.short_head()), self.short_head());
        let old = |name| before.checks.as_ref()?.get(name).copied();
        for (name, status) in self.checks.iter().flatten() {
            let from = old(name).map(|status| check_name(status).to_owned());
            add("check", name, from, check_name(*status).to_owned());
        }
        for (id, (author, state)) in &self.reviews {
            let from = before.reviews.get(id);
            let from = from.map(|(_, state)| review_name(*state).to_owned());
            add("review", author, from, review_name(*state).to_owned());
        }
        let (Some(old), Some(new)) = (&before.readiness, &self.readiness) else {
            return changes;
        };
        for requirement in &new.requirements {
            let mut all = old.requirements.iter();
            let from = all.find(|r| r.rule == requirement.rule);
            let from = from.map(|r| r.status.name().to_owned());
            let (name, to) = (requirement.rule.name(), requirement.status.name());
            add("requirement", name, from, to.to_owned());
        }
        let ready = |r: &Readiness| ready_name(r.ready_to_merge).to_owned();
        add("verdict", "ready_to_merge", Some(ready(old)), ready(new));
        changes
    }

    /// Returns the first characters of the head commit's id. A host can send any text as the id.
    /// Text that is not an id is shown as `unknown`, because the id is printed without quotes.
    fn short_head(&self) -> String {
        let is_id = |head: &&str| head.bytes().all(|b| b.is_ascii_alphanumeric());
        let head = self.head_sha.as_deref().filter(is_id).unwrap_or("unknown");
        // On Tangled, the head can be the CID of a patch. All these CIDs share their first seven
        // characters.
        let length = if head.starts_with("bafkrei") { 14 } else { 7 };
        head.get(..length).unwrap_or(head).to_owned()
    }
}

/// Formats the state as one line.
impl fmt::Display for WatchSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = state_name(self.state, self.draft);
        write!(f, "{state} at {}", self.short_head())?;
        match &self.checks {
            Some(checks) if checks.is_empty() => f.write_str(", no check has reported yet")?,
            Some(_) => write!(
                f,
                ", checks: {} passed, {} failed, {} pending",
                self.count(&[CheckStatus::Success, CheckStatus::Skipped]),
                self.count(&[CheckStatus::Failure, CheckStatus::Cancelled]),
                self.count(&[CheckStatus::Pending]),
            )?,
            None => {}
        }
        if self.lacks_check {
            f.write_str(", a required check is missing")?;
        }
        let ReviewCounts {
            approved,
            changes_requested,
            total,
            ..
        } = self.opinions;
        if total > 0 {
            write!(
                f,
                ", reviews: {approved} approved, {changes_requested} requested changes"
            )?;
        }
        match &self.readiness {
            Some(r) => write!(f, ", ready to merge: {}", ready_name(r.ready_to_merge)),
            None => Ok(()),
        }
    }
}

const fn state_name(state: PrState, draft: bool) -> &'static str {
    match (state, draft) {
        (PrState::Open, true) => "draft",
        (PrState::Open, false) => "open",
        (PrState::Closed, _) => "closed",
        (PrState::Merged, _) => "merged",
    }
}

const fn check_name(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Success => "success",
        CheckStatus::Failure => "failure",
        CheckStatus::Pending => "pending",
        CheckStatus::Skipped => "skipped",
        CheckStatus::Cancelled => "cancelled",
    }
}

const fn review_name(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Approved => "approved",
        ReviewState::ChangesRequested => "changes_requested",
        ReviewState::Dismissed => "dismissed",
        _ => "commented",
    }
}

const fn ready_name(ready: Option<bool>) -> &'static str {
    match ready {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    }
}

/// A difference between two polls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WatchChange {
    /// `state`, `head`, `check`, `review`, `requirement` or `verdict`.
    pub what: &'static str,
    /// The name of the check, reviewer or rule. For the verdict `ready_to_merge`; otherwise empty.
    pub name: String,
    /// The old value; `None` if the earlier poll had no such value.
    pub from: Option<String>,
    /// The new value.
    pub to: String,
}

/// How a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchOutcome {
    /// A condition was met with a good result.
    Passed,
    /// A condition was met with a bad result.
    Failed,
    /// No condition was met before the watch ended.
    Pending,
}

impl WatchOutcome {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Pending => "pending",
        }
    }
}

/// The end of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WatchEnd {
    /// The outcome.
    pub outcome: WatchOutcome,
    /// The condition that was met. `None` at the deadline, or if the pull request was closed or
    /// merged first.
    pub by: Option<WatchUntil>,
}

impl WatchEnd {
    const fn new(is_well: bool, by: Option<WatchUntil>) -> Self {
        let outcome = match is_well {
            true => WatchOutcome::Passed,
            false => WatchOutcome::Failed,
        };
        Self { outcome, by }
    }
}

/// Event of a watch.
#[derive(Debug)]
pub enum WatchEvent {
    /// The first poll was made.
    Began,
    /// A later poll found no change.
    Same,
    /// A change that a later poll found.
    Change(WatchChange),
    /// A poll failed and will be repeated.
    Waits {
        /// The error of the failed poll.
        error: Error,
        /// The time of the next poll; `None` if it would be after the deadline.
        again: Option<Timestamp>,
    },
    /// The watch ended.
    Ended(WatchEnd),
}

/// Result of a poll: the pull request, and the verdict if watched.
type PollResult = (PullRequest, Option<Readiness>);

/// Computes the merge verdict after each poll. Reading the rulesets of the base branch takes
/// another request, so the verdict is first computed with the cached rulesets. They are read again
/// only if no requirement is unmet.
struct PollJudge<'a> {
    repo: &'a Repo,
    settings: ContextSettings,
    /// The base branch, and the rules of its rulesets.
    rulesets: Mutex<Option<(String, Vec<BaseRule>)>>,
}

impl PollJudge<'_> {
    async fn verdict(&self, pull: PullRequest) -> PollResult {
        let below = dependency(self.repo, &pull).await;
        let forge = rules_of(self.repo, &self.settings);
        let judge =
            |pull: &PullRequest| Readiness::of(pull, forge, below.as_ref(), Timestamp::now());
        if let Some(pull) = self.with_cached_rulesets(&pull) {
            let verdict = judge(&pull);
            if verdict.ready_to_merge == Some(false) {
                return (pull, Some(verdict));
            }
        }
        let pull = self.with_rulesets(pull).await;
        let verdict = judge(&pull);
        (pull, Some(verdict))
    }

    /// Adds the rulesets to `pull` once all reported checks have finished, because a ruleset can
    /// require a check that has not reported.
    async fn checks(&self, pull: PullRequest) -> PullRequest {
        let ended = |pull: &PullRequest| WatchSeen::of(pull, None).checks_ended();
        if ended(&pull) != Some(true) {
            return pull;
        }
        match self.with_cached_rulesets(&pull) {
            Some(judged) if ended(&judged).is_none() => judged,
            _ => self.with_rulesets(pull).await,
        }
    }

    /// Returns `pull` with the cached rules, if the cache has the rules of its base branch.
    fn with_cached_rulesets(&self, pull: &PullRequest) -> Option<PullRequest> {
        let cached = self.rulesets.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, rules) = cached
            .as_ref()
            .filter(|(base, _)| *base == pull.base_branch)?;
        let mut pull = pull.clone();
        pull.base_rules.as_mut()?.rules.extend_from_slice(rules);
        Some(pull)
    }

    /// Reads the rules of the base branch, and caches those that come from rulesets.
    async fn with_rulesets(&self, mut pull: PullRequest) -> PullRequest {
        let rules = base_rules(self.repo, &pull).await;
        let read = rules
            .as_ref()
            .filter(|rules| !rules.unread.contains(&UnreadRules::Rulesets));
        let read = read.map(|rules| {
            let is_kept = |rule: &&BaseRule| matches!(rule.source, RuleSource::Ruleset { .. });
            let kept = rules.rules.iter().filter(is_kept).cloned().collect();
            (pull.base_branch.clone(), kept)
        });
        *self.rulesets.lock().unwrap_or_else(PoisonError::into_inner) = read;
        pull.base_rules = rules.or(pull.base_rules);
        pull
    }
}

/// A running watch.
pub struct Watch<'a> {
    poll: Box<dyn FnMut() -> BoxFuture<'a, Result<PollResult>> + Send + 'a>,
    until: BTreeSet<WatchUntil>,
    since: Option<WatchBaseline>,
    pacer: Pacer,
    pause: Option<Duration>,
    events: VecDeque<WatchEvent>,
    seen: Option<WatchSeen>,
    is_over: bool,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("until", &self.until)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl<'a> Watch<'a> {
    /// Creates a watch of `pr` without reading anything yet.
    ///
    /// # Errors
    ///
    /// Fails with `unsupported` if the forge lacks a capability that one of the conditions needs.
    pub fn new(repo: &'a Repo, pr: &'a PrId, req: WatchReq) -> Result<Self> {
        for capability in req.until.iter().filter_map(|until| until.capability()) {
            if let Support::No { why, instead } = repo.support(capability) {
                return Err(Error::unsupported(capability, why, instead));
            }
        }
        let fields = req.fields();
        let judges = req.until.contains(&WatchUntil::Verdict);
        let has_checks = req.until.contains(&WatchUntil::Checks);
        let judge = Arc::new(PollJudge {
            repo,
            settings: req.settings.clone(),
            rulesets: Mutex::default(),
        });
        let poll = move || -> BoxFuture<'a, Result<PollResult>> {
            let judge = Arc::clone(&judge);
            Box::pin(async move {
                let pull = repo.pull(pr, fields).await?;
                Ok(match judges {
                    true => judge.verdict(pull).await,
                    false if has_checks => (judge.checks(pull).await, None),
                    false => (pull, None),
                })
            })
        };
        Ok(Self::over(Box::new(poll), req))
    }

    fn over(
        poll: Box<dyn FnMut() -> BoxFuture<'a, Result<PollResult>> + Send + 'a>,
        req: WatchReq,
    ) -> Self {
        Self {
            poll,
            until: req.until,
            since: req.since,
            pacer: Pacer::new(req.pace),
            pause: None,
            events: VecDeque::new(),
            seen: None,
            is_over: false,
        }
    }

    /// Returns the state at the last poll.
    #[must_use]
    pub fn seen(&self) -> Option<&WatchSeen> {
        self.seen.as_ref()
    }

    /// Returns the start of the watch, from which a later watch can resume.
    #[must_use]
    pub fn baseline(&self) -> Option<&WatchBaseline> {
        self.since.as_ref()
    }

    /// Polls until there is an event, and returns it. Returns `None` after the end of the watch.
    ///
    /// # Errors
    ///
    /// Fails as [`Repo::pull`] does if a retry cannot help, or after three retries. Fails with
    /// `not_found` if no checks run in this repository.
    pub async fn next(&mut self) -> Result<Option<WatchEvent>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            if let Some(pause) = self.pause.take() {
                sleep(pause).await;
            }
            let pause = match (self.poll)().await {
                Ok((pull, readiness)) => self.take(&pull, readiness)?,
                Err(error) => {
                    let (error, pause) = self.pacer.after_failure(error)?;
                    let again = pause.and_then(|pause| i64::try_from(pause.as_secs()).ok());
                    let again = again.map(|wait| Timestamp::now().unix().saturating_add(wait));
                    let again = again.map(Timestamp::from_unix);
                    self.events.push_back(WatchEvent::Waits { error, again });
                    pause
                }
            };
            self.pause = pause;
            if pause.is_none() && !self.is_over {
                self.end(WatchEnd {
                    outcome: WatchOutcome::Pending,
                    by: None,
                });
            }
        }
    }

    /// Processes the result of a poll. Returns the pause before the next poll, or `None` at the end
    /// of the watch.
    fn take(
        &mut self,
        pull: &PullRequest,
        readiness: Option<Readiness>,
    ) -> Result<Option<Duration>> {
        let unread = pull.warnings.iter().any(|w| w.section == Some("checks"));
        if self.until == [WatchUntil::Checks].into() && pull.checks.is_none() && !unread {
            let why = "no checks run in this repository";
            return Err(Error::new(ErrorKind::NotFound { what: Noun::Other }, why)
                .with_hint("wait for something else: a review, the state or the verdict"));
        }
        let now = WatchSeen::of(pull, readiness);
        let changes = match &self.seen {
            Some(before) => now.changes(before),
            None => Vec::new(),
        };
        let is_first = self.since.is_none();
        let since = self.since.get_or_insert_with(|| WatchBaseline::of(&now));
        let end = now.ended(&self.until, since, is_first);
        let pause = self.pacer.after_look(!changes.is_empty());
        let quiet = match self.seen {
            Some(_) => WatchEvent::Same,
            None => WatchEvent::Began,
        };
        match changes.is_empty() {
            true => self.events.push_back(quiet),
            false => self
                .events
                .extend(changes.into_iter().map(WatchEvent::Change)),
        }
        self.seen = Some(now);
        match end {
            Some(end) => {
                self.end(end);
                Ok(None)
            }
            None => Ok(pause),
        }
    }

    fn end(&mut self, end: WatchEnd) {
        self.is_over = true;
        self.events.push_back(WatchEvent::Ended(end));
    }
}

#[cfg(test)]
mod tests;
