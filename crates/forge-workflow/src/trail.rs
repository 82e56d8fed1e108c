//! The audit trail of an issue: entries in comments, and the claim and the moves that result from
//! them.
//!
//! An entry is a comment of three lines: a sentence, an empty line, and the entry as JSON in an
//! HTML comment. A longer comment, such as a quotation, is not an entry. Who holds the issue
//! follows only from the ordered entries, so all readers agree on the holder.

use std::collections::{BTreeMap, btree_map};

use forge_core::{
    PrId, PrKey, RepoPath, Timestamp,
    model::{Comment, Issue},
    text::one_line,
};
use serde::{Deserialize, Serialize};

/// Prefix of the last line of an entry.
const MARK: &str = "<!-- forge-workflow: ";
const MARK_END: &str = " -->";
/// Prefixes of the first line of an entry. Quotations and code blocks begin differently.
const SENTENCES: [&str; 2] = ["**", "Claimed by **"];
/// Maximum lease, in seconds. A longer lease in an entry is shortened.
pub(crate) const MAX_LEASE_S: u64 = 7 * 24 * 3600;
/// The last instant of RFC 3339, 9999-12-31T23:59:59Z, in seconds since the epoch.
const LAST_INSTANT: i64 = 253_402_300_799;
/// Roles of authors whose entries are trusted. Anybody may comment, so entries of other authors are
/// ignored.
const TRUSTED: [&str; 3] = ["OWNER", "MEMBER", "COLLABORATOR"];
/// GitHub's REST API appends this suffix to the login of an app, GraphQL does not.
const APP_SUFFIX: &str = "[bot]";

/// Reference to the merge that moved an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MergeRef {
    /// The locator of the pull request. In a git repository `#7`: the path of a clone means
    /// nothing in another one, and is nobody else's business.
    pub pull: String,
    /// The merge commit; empty if the forge does not report it.
    #[serde(default)]
    pub commit: String,
}

impl MergeRef {
    /// Refers to the merge of `pull` as `commit`, which is empty if it is not known.
    pub(crate) fn new(pull: &PrId, commit: &str) -> Self {
        let pull = match (&pull.repo.path, &pull.key) {
            (RepoPath::Dir(_), PrKey::Number(number)) => format!("#{number}"),
            _ => pull.to_string(),
        };
        Self {
            pull,
            commit: commit.to_owned(),
        }
    }

    /// Returns true if both refer to the same merge. If both have the merge commit, the name of the
    /// repository may differ, because a repository has several spellings and can be renamed.
    fn is_same(&self, other: &Self) -> bool {
        let key = |pull: &str| pull.rsplit('#').next().unwrap_or_default().to_owned();
        match self.commit.is_empty() || other.commit.is_empty() {
            true => self.pull.to_lowercase() == other.pull.to_lowercase(),
            false => self.commit == other.commit && key(&self.pull) == key(&other.pull),
        }
    }
}

/// An expired claim that a new claim replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExpiredClaim {
    /// The id of the expired claim.
    pub claim: String,
    /// The time of the last renewal, as the new holder read it.
    pub renewed_at: Timestamp,
}

/// Event in the trail of an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrailEvent {
    /// The issue moved to another state.
    Moved {
        /// The state before; `None` if the issue had no state.
        from: Option<String>,
        /// The state after.
        to: String,
        /// The command of the workflow that moved the issue.
        command: String,
        /// The intent, if the caller named one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intent: Option<String>,
        /// The id of the claim that ended with the move.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ends: Option<String>,
        /// The merge that caused the move.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merge: Option<MergeRef>,
    },
    /// A holder claimed the issue.
    Claimed {
        /// The holder.
        holder: String,
        /// The lease, in seconds.
        lease_s: u64,
        /// The command of the workflow.
        command: String,
        /// The state before; `None` if the issue had no state.
        from: Option<String>,
        /// The time of the renewal before the last one, by the clock of the forge. The last renewal
        /// counts only if the lease that began at this time had not ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        renewed: Option<Timestamp>,
        /// The last renewal, by the clock of the holder. Used if the forge does not report when a
        /// comment was changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        renewing: Option<Timestamp>,
        /// The expired claim that this claim replaces.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<ExpiredClaim>,
        /// The id of the claim that this claim replaced by force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forced: Option<String>,
    },
}

/// An entry of the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrailEntry {
    /// An id that the writer chooses. If the forge's answer is lost, the writer finds the entry by
    /// this id. The id of a [`TrailEvent::Claimed`] entry is also the id of the claim.
    pub id: String,
    /// The reason for the move or claim, as one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What happened: a move or a claim.
    #[serde(flatten)]
    pub event: TrailEvent,
}

impl TrailEntry {
    /// Creates an entry with a new id.
    #[must_use]
    pub fn new(event: TrailEvent, reason: Option<&str>) -> Self {
        Self {
            id: new_id(),
            reason: reason.map(|r| one_line(r.trim()).into_owned()),
            event,
        }
    }

    /// Formats the entry as a comment.
    #[must_use]
    pub fn to_comment(&self) -> String {
        let said = match &self.event {
            TrailEvent::Moved {
                from,
                to,
                command,
                merge,
                ..
            } => {
                let by = match merge {
                    Some(merge) => format!("the merge of {}", plain(&merge.pull)),
                    None => plain(command),
                };
                let from = from.as_deref().unwrap_or("no state");
                format!("**{}** → **{}** by {by}", plain(from), plain(to))
            }
            TrailEvent::Claimed {
                holder,
                lease_s,
                command,
                ..
            } => {
                let minutes = lease_s.div_ceil(60);
                format!(
                    "Claimed by **{}** for {}, {minutes} min after the last renewal",
                    plain(holder),
                    plain(command)
                )
            }
        };
        let why = self
            .reason
            .as_deref()
            .map_or(String::new(), |why| format!(": {}", plain(why)));
        // A `>` could end the HTML comment.
        let json = serde_json::to_string(self)
            .unwrap_or_default()
            .replace('>', "\\u003e");
        format!("{said}{why}\n\n{MARK}{json}{MARK_END}")
    }

    /// Parses the entry in a comment; `None` if the comment is not an entry.
    #[must_use]
    pub fn parse(body: &str) -> Option<Self> {
        let mut lines = body.trim_end().lines();
        let (sentence, empty, entry) = (lines.next()?, lines.next()?, lines.next()?);
        let is_entry = SENTENCES.iter().any(|start| sentence.starts_with(start));
        if !is_entry || !empty.is_empty() || lines.next().is_some() {
            return None;
        }
        let json = entry.strip_prefix(MARK)?.strip_suffix(MARK_END)?;
        serde_json::from_str(json).ok()
    }
}

/// Escapes a name or reason, so that it contains neither mentions nor markup.
fn plain(text: &str) -> String {
    let line = one_line(text);
    line.chars()
        .filter(|c| !matches!(c, '*' | '<' | '>' | '@' | '`' | '[' | ']'))
        .collect()
}

/// Returns 64 random bits as text.
fn new_id() -> String {
    let mut bytes = [0_u8; 8];
    // If the system provides no randomness, the time makes the id unique.
    if getrandom::fill(&mut bytes).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        bytes = now.map_or(0, |d| d.as_nanos() as u64).to_be_bytes();
    }
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A claim on an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Claim {
    /// The id, which the holder has to pass to later calls.
    pub id: String,
    /// The holder.
    pub holder: String,
    /// The command of the workflow.
    pub command: String,
    /// The state before the claim; `None` if the issue had no state.
    pub from: Option<String>,
    /// The time of the claim.
    pub since: Timestamp,
    /// The time of the last renewal.
    pub renewed_at: Timestamp,
    /// The lease, in seconds.
    pub lease_s: u64,
    /// The key of the comment that contains the claim.
    #[serde(skip)]
    pub comment: String,
    /// True if the comment was changed after the lease had expired. Such a change does not renew
    /// the lease.
    #[serde(skip)]
    pub is_late: bool,
}

impl Claim {
    /// Returns the claim that `entry` makes at the time `at`. Returns `None` if `entry` is not a
    /// claim.
    #[must_use]
    pub fn made_by(entry: &TrailEntry, at: Timestamp) -> Option<Self> {
        let TrailEvent::Claimed {
            holder,
            lease_s,
            command,
            from,
            ..
        } = &entry.event
        else {
            return None;
        };
        Some(Self {
            id: entry.id.clone(),
            holder: holder.clone(),
            command: command.clone(),
            from: from.clone(),
            since: at,
            renewed_at: at,
            lease_s: *lease_s,
            comment: String::new(),
            is_late: false,
        })
    }

    /// Returns the time after which other holders may claim the issue.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        expiry(self.renewed_at, self.lease_s)
    }

    /// Returns true if the lease has expired at `now`.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at()
    }

    /// Renews the lease at the time `at`, unless the lease had expired by then.
    ///
    /// Because a late renewal has no effect, a renewal and another claim in the same second have a
    /// clear order, and a renewal never changes who held the issue in the past.
    fn renew(&mut self, at: Timestamp) {
        match at < self.expires_at() {
            true => self.renewed_at = self.renewed_at.max(at),
            false => self.is_late = true,
        }
    }
}

/// Returns the end of a lease, at most [`MAX_LEASE_S`] after the renewal. Does not overflow.
fn expiry(renewed_at: Timestamp, lease_s: u64) -> Timestamp {
    let lease = i64::try_from(lease_s.min(MAX_LEASE_S)).unwrap_or_default();
    let end = renewed_at.unix().saturating_add(lease);
    Timestamp::from_unix(end.min(LAST_INSTANT)).max(renewed_at)
}

/// The claim and the moves that result from the entries of an issue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trail {
    /// The current claim, expired or not.
    pub claim: Option<Claim>,
    /// Claims made while another claim was current.
    pub lost: Vec<Claim>,
    /// The moves, oldest first.
    pub moves: Vec<TrailEntry>,
    /// The ids of all valid entries, with their positions in the trail.
    pub ids: BTreeMap<String, usize>,
}

impl Trail {
    /// Reads the trail from the comments of `issue`, in the order of the forge. The entries of
    /// `bots` are trusted like those of team members.
    #[must_use]
    pub fn of(issue: &Issue, bots: &[String]) -> Self {
        let mut trail = Self::default();
        let comments = issue.comments.iter().flatten();
        for comment in comments.filter(|c| is_trusted(c, bots)) {
            if let Some(entry) = TrailEntry::parse(&comment.body) {
                trail.add(comment, entry);
            }
        }
        trail
    }

    /// Returns the move that the merge caused, if the trail has it.
    #[must_use]
    pub fn moved_by(&self, merge: &MergeRef) -> Option<&TrailEntry> {
        let is = |entry: &&TrailEntry| matches!(&entry.event, TrailEvent::Moved { merge: Some(of), .. } if of.is_same(merge));
        self.moves.iter().find(is)
    }

    /// Returns true if the valid entry `first` comes before the valid entry `second`.
    #[must_use]
    pub fn is_before(&self, first: &str, second: &str) -> bool {
        matches!((self.ids.get(first), self.ids.get(second)), (Some(a), Some(b)) if a < b)
    }

    fn add(&mut self, comment: &Comment, entry: TrailEntry) {
        let position = self.ids.len();
        // Of entries with the same id only the first is valid. A repetition has no effect.
        let btree_map::Entry::Vacant(id) = self.ids.entry(entry.id.clone()) else {
            return;
        };
        id.insert(position);
        let made = Claim::made_by(&entry, comment.created_at);
        let (
            Some(mut claim),
            TrailEvent::Claimed {
                over,
                forced,
                renewed,
                renewing,
                ..
            },
        ) = (made, &entry.event)
        else {
            if let TrailEvent::Moved {
                ends: Some(ends), ..
            } = &entry.event
                && self.claim.as_ref().is_some_and(|claim| claim.id == *ends)
            {
                self.claim = None;
            }
            self.moves.push(entry);
            return;
        };
        claim.comment.clone_from(&comment.id);
        let changed = comment.updated_at.or(*renewing);
        if let Some(changed) = changed.filter(|at| *at > claim.since) {
            claim.renewed_at = renewed.map_or(claim.since, |at| at.clamp(claim.since, changed));
            claim.renew(changed);
        }
        let takes = match &self.claim {
            None => true,
            Some(held) if forced.as_ref() == Some(&held.id) => true,
            Some(held) => over
                .as_ref()
                .is_some_and(|over| over.claim == held.id && held.is_expired(claim.since)),
        };
        match takes {
            true => self.claim = Some(claim),
            false => self.lost.push(claim),
        }
    }
}

/// Returns true if the author of a comment may move issues. A comment without an author role comes
/// from a git repository, where everybody with write access may move issues.
///
/// The viewer's own comments get no exception: if the viewer has no role, other readers ignore the
/// entry anyway. An app has no role, and its comments may repeat the text of a stranger. An app is
/// therefore trusted only if `bots` names it.
pub(crate) fn is_trusted(comment: &Comment, bots: &[String]) -> bool {
    let role = comment.author_association.as_deref();
    match comment.author.bot {
        true => {
            let bare = |login: &str| login.trim_end_matches(APP_SUFFIX).to_lowercase();
            let login = bare(&comment.author.login);
            bots.iter().any(|bot| bare(bot) == login)
        }
        false => role.is_none_or(|role| TRUSTED.contains(&role)),
    }
}

#[cfg(test)]
pub(crate) mod tests;
