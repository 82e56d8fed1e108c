//! The audit trail of an issue: comments that a person and a program can read, and what follows from
//! them.
//!
//! An entry is a comment of three lines: a sentence, an empty line, and the entry as JSON in an HTML
//! comment. A comment with more than that, such as one that quotes an entry, is none. Who holds an issue is a pure function of the entries in their order, so all readers agree on it.

use std::collections::BTreeSet;

use forge_core::{
    Timestamp,
    model::{Comment, Issue},
    text::one_line,
};
use serde::{Deserialize, Serialize};

/// What the last line of an entry begins with.
const MARK: &str = "<!-- forge-workflow: ";
const MARK_END: &str = " -->";
/// What the sentence of an entry begins with; a quotation or a block of code does not.
const SENTENCES: [&str; 2] = ["**", "Claimed by **"];
/// The longest lease, in seconds: an entry that names a longer one holds for this long.
pub(crate) const MAX_LEASE_S: u64 = 7 * 24 * 3600;
/// 9999-12-31T23:59:59Z, after which RFC 3339 has no instant.
const LAST_INSTANT: i64 = 253_402_300_799;
/// Roles whose entries count. A stranger may comment on an issue, and claim nothing by it.
const TRUSTED: [&str; 3] = ["OWNER", "MEMBER", "COLLABORATOR"];
/// What GitHub's REST API appends to the login of an app, and GraphQL does not.
const APP_SUFFIX: &str = "[bot]";

/// The merge that moved an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeRef {
    /// The locator of the pull request.
    pub pull: String,
    /// The merge commit; empty where the forge does not name it.
    #[serde(default)]
    pub commit: String,
}

impl MergeRef {
    /// Whether both are one merge. Where both name the merge commit, the repository's name is no
    /// difference: it has several spellings, and may be changed.
    fn is_same(&self, other: &Self) -> bool {
        let key = |pull: &str| pull.rsplit('#').next().unwrap_or_default().to_owned();
        match self.commit.is_empty() || other.commit.is_empty() {
            true => self.pull.to_lowercase() == other.pull.to_lowercase(),
            false => self.commit == other.commit && key(&self.pull) == key(&other.pull),
        }
    }
}

/// A claim that had expired when another one took its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    /// Its id.
    pub claim: String,
    /// When it was last renewed, as the one who took its place read it.
    pub renewed_at: Timestamp,
}

/// What happened to an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It went from one state to another.
    Moved {
        /// The state before; `None` without one.
        from: Option<String>,
        /// The state after.
        to: String,
        /// Who moved it, as a command of the workflow.
        command: String,
        /// What was asked for, where that was an intent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intent: Option<String>,
        /// The claim that ends with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ends: Option<String>,
        /// The merge that moved it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merge: Option<MergeRef>,
    },
    /// Somebody took it.
    Claimed {
        /// Who.
        holder: String,
        /// For how long without being renewed, in seconds.
        lease_s: u64,
        /// The command of the workflow.
        command: String,
        /// The state before; `None` without one.
        from: Option<String>,
        /// When it was renewed before the last time, which the forge knows. The last renewal counts
        /// if the lease was running by then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        renewed: Option<Timestamp>,
        /// When it was renewed the last time, by the clock of its holder. Counts where the forge does
        /// not say when a comment was changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        renewing: Option<Timestamp>,
        /// The claim whose lease was over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over: Option<Expired>,
        /// The claim that was taken away from somebody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forced: Option<String>,
    },
}

/// An entry of the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Chosen by the writer, so that an entry whose answer was lost is found again. The id of a claim.
    pub id: String,
    /// Why; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl Entry {
    /// An entry with a new id.
    #[must_use]
    pub fn new(event: Event, reason: Option<&str>) -> Self {
        Self {
            id: new_id(),
            reason: reason.map(|r| one_line(r.trim()).into_owned()),
            event,
        }
    }

    /// The comment that keeps the entry.
    #[must_use]
    pub fn to_comment(&self) -> String {
        let said = match &self.event {
            Event::Moved {
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
            Event::Claimed {
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

    /// The entry that a comment keeps.
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

/// Text of a name or a reason, which names nobody and is no markup.
fn plain(text: &str) -> String {
    let line = one_line(text);
    line.chars()
        .filter(|c| !matches!(c, '*' | '<' | '>' | '@' | '`' | '[' | ']'))
        .collect()
}

/// 64 random bits.
fn new_id() -> String {
    let mut bytes = [0_u8; 8];
    // Without randomness of the system the time tells entries apart.
    if getrandom::fill(&mut bytes).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        bytes = now.map_or(0, |d| d.as_nanos() as u64).to_be_bytes();
    }
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A claim on an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// What its holder shows to prove it.
    pub id: String,
    /// Who holds it.
    pub holder: String,
    /// The command of the workflow.
    pub command: String,
    /// The state before it; `None` without one.
    pub from: Option<String>,
    /// When it was made.
    pub since: Timestamp,
    /// When it was last renewed.
    pub renewed_at: Timestamp,
    /// For how long without being renewed, in seconds.
    pub lease_s: u64,
    /// The key of its comment.
    #[serde(skip)]
    pub comment: String,
    /// Whether its comment was changed after the lease, which renews nothing.
    #[serde(skip)]
    pub is_late: bool,
}

impl Claim {
    /// The claim that `entry` makes, written at `at`; `None` for another entry.
    #[must_use]
    pub fn made_by(entry: &Entry, at: Timestamp) -> Option<Self> {
        let Event::Claimed {
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

    /// When somebody else may take it.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        expiry(self.renewed_at, self.lease_s)
    }

    /// Whether the lease is over at `now`.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at()
    }

    /// Counts a renewal at `at`, unless the lease was over. By that alone a claim and a renewal of the
    /// same second have an order, and no later renewal changes who held an issue before.
    fn renew(&mut self, at: Timestamp) {
        match at < self.expires_at() {
            true => self.renewed_at = self.renewed_at.max(at),
            false => self.is_late = true,
        }
    }
}

/// The end of a lease. No entry makes it longer than [`MAX_LEASE_S`], or lets it wrap.
fn expiry(renewed_at: Timestamp, lease_s: u64) -> Timestamp {
    let lease = i64::try_from(lease_s.min(MAX_LEASE_S)).unwrap_or_default();
    let end = renewed_at.unix().saturating_add(lease);
    Timestamp::from_unix(end.min(LAST_INSTANT)).max(renewed_at)
}

/// What the entries of an issue come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// The claim that holds, expired or not.
    pub claim: Option<Claim>,
    /// Claims that came while another one held.
    pub lost: Vec<Claim>,
    /// The moves, oldest first.
    pub moves: Vec<Entry>,
    /// The ids of all entries that count.
    pub ids: BTreeSet<String>,
}

impl Trail {
    /// The trail in the comments of `issue`, which has them in the forge's order. The entries of
    /// `bots` count as those of the team do.
    #[must_use]
    pub fn of(issue: &Issue, bots: &[String]) -> Self {
        let mut trail = Self::default();
        let comments = issue.comments.iter().flatten();
        for comment in comments.filter(|c| is_trusted(c, bots)) {
            if let Some(entry) = Entry::parse(&comment.body) {
                trail.add(comment, entry);
            }
        }
        trail
    }

    /// The move that a merge made, if it was made.
    #[must_use]
    pub fn moved_by(&self, merge: &MergeRef) -> Option<&Entry> {
        let is = |entry: &&Entry| matches!(&entry.event, Event::Moved { merge: Some(of), .. } if of.is_same(merge));
        self.moves.iter().find(is)
    }

    fn add(&mut self, comment: &Comment, entry: Entry) {
        // An id names one entry: who repeats another's takes nothing over.
        if !self.ids.insert(entry.id.clone()) {
            return;
        }
        let made = Claim::made_by(&entry, comment.created_at);
        let (
            Some(mut claim),
            Event::Claimed {
                over,
                forced,
                renewed,
                renewing,
                ..
            },
        ) = (made, &entry.event)
        else {
            if let Event::Moved {
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

/// Whether the author of a comment may move issues. Who the forge gives no role writes into a git
/// repository, which everybody who can may do.
///
/// A viewer without a role is a stranger to every other reader, and so to this one. An app has no
/// role, and may repeat the text of a stranger: it counts where the workflow names it.
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
