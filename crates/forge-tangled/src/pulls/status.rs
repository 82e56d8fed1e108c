//! Computes the state of a pull request or an issue from its status records.
//!
//! Every account can write a status record about a pull request or an issue. Only the records of
//! the author, of the repository's owner, of its collaborators and, for the index of tangled.org,
//! of Tangled's own account count (tangled's ingester, `authorizeStateRecord`). The newest of these records decides. Among records of the same time,
//! the one with the greater at-uri decides (`stateWinner`).

use std::{borrow::Cow, collections::BTreeSet};

use forge_core::{
    Error, ErrorKind, Timestamp, Warning,
    model::PrState,
    text::{one_line, truncate_chars},
};

use crate::{Dialects, records::Record, repository::TangledRepository, tid};

/// Maximum number of seconds by which the clock of an author may be ahead.
const MAX_SKEW: i64 = 300;
/// Maximum length of an unknown state word in a warning, in characters.
const WORD_MAX: usize = 60;

/// The role that lets an account set the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authority {
    Author,
    Owner,
    Collaborator,
    /// Tangled's own account, which may set states and nothing else.
    Tangled,
}

impl Authority {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Author => "author",
            Self::Owner => "owner",
            Self::Collaborator => "collaborator",
            Self::Tangled => "Tangled's own account",
        }
    }
}

/// A parsed status record.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub uri: String,
    pub author: String,
    /// `None` for an unknown token. Such a status decides nothing.
    pub state: Option<PrState>,
    /// The text of the record that names the state, unchanged.
    pub token: String,
    /// Time of the status: the claimed date, unless that is in the future.
    pub at: Timestamp,
    /// The creation date in the record, which its author can choose freely.
    pub claimed: Timestamp,
    pub authority: Option<Authority>,
}

impl Status {
    /// Returns true for a state that was written later, with the record key of its subject. The
    /// time of the change is unknown.
    ///
    /// The creation date of such a state tells nothing: recorded ones have the time of the subject,
    /// a time 5 seconds after it, and a date that the subject had before it was edited.
    pub fn is_backfilled(&self, subject: &Record) -> bool {
        self.uri.rsplit('/').next() == Some(subject.rkey())
    }
}

/// Accounts that may set the state and the labels of a repository's pull requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers {
    pub owner: String,
    pub collaborators: BTreeSet<String>,
    /// Warning if the list of collaborators may be incomplete.
    pub doubt: Option<Warning>,
    /// At-uris of states that Tangled's own account has set, as its own server has confirmed.
    pub confirmed_states: BTreeSet<String>,
}

impl Writers {
    pub fn of(repository: &TangledRepository, collaborators: &BTreeSet<String>) -> Self {
        Self {
            owner: repository.owner.did.clone(),
            collaborators: collaborators.clone(),
            ..Self::default()
        }
    }

    /// Returns the permission error with the message `told`. If the list of writers may be
    /// incomplete, the message also says why.
    pub fn refusal(&self, mut told: String) -> Error {
        if let Some(doubt) = &self.doubt {
            told = format!("{told}; {}", doubt.message);
        }
        let missing = vec!["repo:push".to_owned()];
        let sso_url = None;
        Error::new(ErrorKind::PermissionDenied { missing, sso_url }, told)
    }

    /// Returns true if an account may push, label and merge.
    pub fn may_write(&self, did: &str) -> bool {
        self.owner == did || self.collaborators.contains(did)
    }

    /// Returns whether an account may push; `None` if the list of collaborators may lack it.
    pub fn may_push(&self, did: &str) -> Option<bool> {
        if self.may_write(did) {
            Some(true)
        } else {
            self.doubt.is_none().then_some(false)
        }
    }

    /// Returns the role of an account in the repository, in GitHub's words; `None` if it is
    /// unknown.
    pub fn association(&self, did: &str) -> Option<&'static str> {
        if self.owner == did {
            Some("OWNER")
        } else if self.collaborators.contains(did) {
            Some("COLLABORATOR")
        } else {
            self.doubt.is_none().then_some("NONE")
        }
    }

    /// Returns the role that lets the author of a state record set the state.
    fn state_authority(&self, record: &Record, subject_author: &str) -> Option<Authority> {
        let role = self.authority(record.author(), subject_author);
        let is_confirmed = self.confirmed_states.contains(&record.uri);
        role.or(is_confirmed.then_some(Authority::Tangled))
    }

    pub fn authority(&self, did: &str, pull_author: &str) -> Option<Authority> {
        if self.owner == did {
            Some(Authority::Owner)
        } else if did == pull_author {
            Some(Authority::Author)
        } else if self.collaborators.contains(did) {
            Some(Authority::Collaborator)
        } else {
            None
        }
    }
}

/// The field names and state words of a kind of status record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    /// Name of the field with the at-uri of the pull request or issue.
    pub subject: &'a str,
    /// Name of the field with the state.
    pub state: &'a str,
    /// Name of the field with the creation time.
    pub at: &'a str,
    /// The words for the states in the field `state`, in this order: open, closed, merged. Issues
    /// have no merged.
    pub tokens: &'a [Cow<'static, str>],
    /// The index's words for the same states. The index is the service that lists all records.
    pub indexed: [&'a str; 3],
}

impl<'a> Words<'a> {
    /// Returns the names for the statuses of pull requests.
    pub fn of_pulls(names: &'a Dialects) -> Self {
        Self {
            subject: &names.sh_fields.status_pull,
            state: &names.sh_fields.status,
            at: &names.sh_fields.created_at,
            tokens: &names.sh.states,
            indexed: indexed(names),
        }
    }

    /// Returns the names for the states of issues.
    pub fn of_issues(names: &'a Dialects) -> Self {
        Self {
            subject: &names.sh_fields.state_issue,
            state: &names.sh_fields.state,
            at: &names.sh_fields.created_at,
            tokens: &names.sh.issue_states,
            indexed: indexed(names),
        }
    }

    /// Returns the state that the text `token` of a record names.
    ///
    /// The text is the full token, its last part, or the word of tangled's index for the state.
    pub fn state_of(&self, token: &str) -> Option<PrState> {
        let states = [PrState::Open, PrState::Closed, PrState::Merged];
        let mut known = states.into_iter().zip(self.indexed).zip(self.tokens);
        let found = known.find(|((_, word), full)| {
            token == *word || token == **full || full.rsplit('.').next() == Some(token)
        });
        found.map(|((state, _), _)| state)
    }

    /// Returns why a record is not a valid status, apart from its subject.
    pub fn broken(&self, record: &Record) -> Option<&'static str> {
        if record.text(self.state).is_none() {
            return Some("it names no status");
        }
        let Some(claimed) = record.created_at(self.at) else {
            return Some("it has no creation time, and its record key contains none");
        };
        let no_time = made_at(record, claimed, Timestamp::now()).is_none();
        no_time.then_some(
            "its creation time is in the future, and its record key contains no usable time",
        )
    }
}

/// Returns the time of a status: the claimed time, unless that is in the future.
///
/// The time in the record key replaces a time in the future. Otherwise a status dated at the end of
/// time would decide forever. If the key has no usable time, the status does not count (`None`).
fn made_at(record: &Record, claimed: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let latest = Timestamp::from_unix(now.unix().saturating_add(MAX_SKEW));
    if claimed <= latest {
        return Some(claimed);
    }
    tid::time(record.rkey()).filter(|made| *made <= latest)
}

fn indexed(names: &Dialects) -> [&str; 3] {
    let of = &names.inputs.index;
    [&of.state_open, &of.state_closed, &of.state_merged]
}

/// Reads the statuses of a pull request, as [`read_as`] does.
pub(crate) fn read(
    records: Vec<Record>,
    pull_uri: &str,
    pull_author: &str,
    writers: &Writers,
    names: &Dialects,
) -> Vec<Status> {
    let words = Words::of_pulls(names);
    read_as(words, records, pull_uri, pull_author, writers)
}

/// Returns the status records about `subject`, oldest first, each with the role of its author.
///
/// Records about other subjects are left out.
pub(crate) fn read_as(
    words: Words<'_>,
    records: Vec<Record>,
    subject: &str,
    author: &str,
    writers: &Writers,
) -> Vec<Status> {
    let now = Timestamp::now();
    read_at(words, records, (subject, author), writers, now)
}

fn read_at(
    words: Words<'_>,
    records: Vec<Record>,
    (subject, author): (&str, &str),
    writers: &Writers,
    now: Timestamp,
) -> Vec<Status> {
    let mut statuses: Vec<Status> = records
        .into_iter()
        .filter(|r| r.text(words.subject) == Some(subject))
        .filter_map(|r| {
            let token = r.text(words.state)?.to_owned();
            let claimed = r.created_at(words.at)?;
            Some(Status {
                state: words.state_of(&token),
                token,
                at: made_at(&r, claimed, now)?,
                claimed,
                authority: writers.state_authority(&r, author),
                author: r.author().to_owned(),
                uri: r.uri,
            })
        })
        .collect();
    statuses.sort_by(|a, b| (a.at, a.claimed, &a.uri).cmp(&(b.at, b.claimed, &b.uri)));
    statuses.dedup_by(|a, b| a.uri == b.uri);
    statuses
}

/// Returns why a record about a pull request is not a valid status.
pub(crate) fn broken(record: &Record, names: &Dialects) -> Option<&'static str> {
    Words::of_pulls(names).broken(record)
}

/// Returns the status that decides the state: the newest one with a known state, by an account that
/// may set the state.
///
/// Without such a status, a pull request is open.
pub(crate) fn winner(statuses: &[Status]) -> Option<&Status> {
    let counts = |s: &&Status| s.authority.is_some() && s.state.is_some();
    statuses.iter().rev().find(counts)
}

/// Returns the newest claimed date of the statuses by accounts that may set the state. tangled
/// orders statuses by these dates.
pub(crate) fn newest_claim(statuses: &[Status]) -> Option<Timestamp> {
    let count = |s: &&Status| s.authority.is_some() && s.state.is_some();
    statuses.iter().filter(count).map(|s| s.claimed).max()
}

/// Returns warnings about the statuses that count: the newest has an unknown token, or one is dated
/// in the future.
pub(crate) fn doubts(statuses: &[Status]) -> Vec<Warning> {
    let dated = statuses
        .iter()
        .filter(|s| s.authority.is_some() && s.claimed != s.at)
        .max_by_key(|s| s.claimed);
    let future = dated.map(|s| {
        Warning::new(format!(
            "the status {} has a creation time in the future ({}): forge uses the time in its \
             record key, {}, but the web page may use the creation time and show another state",
            s.uri, s.claimed, s.at
        ))
        .with_hint("ask its author to delete it")
    });
    unknown_status_warning(statuses)
        .into_iter()
        .chain(future)
        .collect()
}

/// Returns a warning if the newest status has an unknown token.
///
/// Only statuses of accounts that may set the state count.
fn unknown_status_warning(statuses: &[Status]) -> Option<Warning> {
    let newest = statuses.iter().rev().find(|s| s.authority.is_some())?;
    newest.state.is_none().then(|| {
        Warning::new(format!(
            "the newest status, {}, is '{}', which forge does not know; the state comes from the \
             earlier ones",
            newest.uri,
            shown(&newest.token)
        ))
    })
}

/// Shortens an unknown state word for a warning.
pub(super) fn shown(word: &str) -> String {
    let (start, more) = truncate_chars(word, WORD_MAX);
    let rest = if more > 0 { "…" } else { "" };
    format!("{}{rest}", one_line(&start))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PULL: &str = "at://did:plc:author/sh.tangled.repo.pull/3mkuuamwfj322";

    fn record(author: &str, key: &str, state: &str, at: Option<&str>) -> Record {
        let mut value =
            json!({"pull": PULL, "status": format!("sh.tangled.repo.pull.status.{state}")});
        if let Some(at) = at {
            value["createdAt"] = json!(at);
        }
        Record {
            uri: format!("at://did:plc:{author}/sh.tangled.repo.pull.status/{key}"),
            cid: Some("c".into()),
            value,
        }
    }

    fn statuses(records: Vec<Record>) -> Vec<Status> {
        statuses_at(records, "2026-12-01T00:00:00Z")
    }

    fn statuses_at(records: Vec<Record>, now: &str) -> Vec<Status> {
        let writers = Writers {
            owner: "did:plc:owner".into(),
            collaborators: BTreeSet::from(["did:plc:collab".to_owned()]),
            ..Writers::default()
        };
        let dialects = Dialects::default();
        let of = (PULL, "did:plc:author");
        let words = Words::of_pulls(&dialects);
        read_at(words, records, of, &writers, now.parse().unwrap())
    }

    fn decide(records: Vec<Record>) -> Option<(PrState, String)> {
        let all = statuses(records);
        winner(&all).map(|s| (s.state.unwrap(), s.authority.unwrap().word().to_owned()))
    }

    #[test]
    fn newest_status_of_permitted_account_decides() {
        let at = Some;
        let closed = |by: &str| Some((PrState::Closed, by.to_owned()));
        assert_eq!(decide(vec![]), None);
        // A stranger's status does not count, even if it is the newest.
        let records = vec![
            record("owner", "b", "closed", at("2026-06-01T00:00:00Z")),
            record("stranger", "c", "merged", at("2026-07-01T00:00:00Z")),
            record("author", "a", "open", at("2026-05-01T00:00:00Z")),
        ];
        assert_eq!(decide(records), closed("owner"));
        // Times are compared as instants, not as texts.
        let records = vec![
            record("author", "a", "open", at("2026-06-01T02:00:00+03:00")),
            record("collab", "b", "closed", at("2026-06-01T00:00:00Z")),
        ];
        assert_eq!(decide(records), closed("collaborator"));
        // Without a claimed time, the time in the record key counts. Among equal times, the at-uri
        // decides.
        let records = vec![
            record("author", "3mm2gfugldv22", "closed", None),
            record("author", "3mkuuamwfj322", "open", None),
        ];
        assert_eq!(decide(records), closed("author"));
        let records = vec![
            record("author", "z", "closed", at("2026-06-01T00:00:00Z")),
            record("author", "a", "open", at("2026-06-01T00:00:00Z")),
        ];
        assert_eq!(decide(records), closed("author"));
        // An unknown status, and a record about another subject, change nothing.
        let mut other = record("owner", "o", "merged", at("2026-09-01T00:00:00Z"));
        other.value["pull"] = json!("at://did:plc:author/sh.tangled.repo.pull/other");
        let records = vec![
            record("author", "a", "closed", at("2026-06-01T00:00:00Z")),
            record("author", "b", "approved", at("2026-08-01T00:00:00Z")),
            other,
        ];
        assert_eq!(decide(records), closed("author"));
    }

    #[test]
    fn status_dated_in_future_counts_by_record_key() {
        let end = Some("9999-12-31T23:59:59.999Z");
        // The time in this status's record key is 2026-05-02.
        let future = record("collab", "3mkuuamwfj322", "closed", end);
        let opened = record(
            "author",
            "3mkuuamwfj222",
            "open",
            Some("2026-05-01T00:00:00Z"),
        );
        let reopened = record("author", "b", "open", Some("2026-05-03T00:00:00Z"));
        let decided = |records: &[&Record], now| {
            let records = records.iter().map(|r| (*r).clone()).collect();
            let all = statuses_at(records, now);
            let state = winner(&all).and_then(|s| s.state);
            (state, doubts(&all).len())
        };
        let (now, years_later) = ("2026-12-01T00:00:00Z", "2036-12-01T00:00:00Z");
        for now in [now, years_later] {
            let closed = (Some(PrState::Closed), 1);
            assert_eq!(decided(&[&opened, &future], now), closed, "{now}");
            let open = (Some(PrState::Open), 1);
            assert_eq!(decided(&[&opened, &future, &reopened], now), open, "{now}");
        }
        // A clock that is only a little ahead causes no warning.
        let ahead = record("collab", "x", "closed", Some("2026-12-01T00:04:00Z"));
        assert_eq!(decided(&[&opened, &ahead], now), (Some(PrState::Closed), 0));
        // Neither the date nor the key is a valid time.
        for key in ["x", "zzzzzzzzzzzzz"] {
            let odd = record("collab", key, "closed", end);
            assert_eq!(decided(&[&opened, &odd], now), (Some(PrState::Open), 0));
            assert!(broken(&odd, &Dialects::default()).is_some(), "{key}");
        }
        // A stranger's status does not count and gives no warning.
        let stranger = record("stranger", "3mkuuamwfj322", "closed", end);
        assert_eq!(
            decided(&[&opened, &stranger], now),
            (Some(PrState::Open), 0)
        );
        // tangled uses the claimed dates, so the next status must be dated after the newest of
        // them.
        let all = statuses(vec![opened, future]);
        assert_eq!(newest_claim(&all), end.map(|at| at.parse().unwrap()));
    }

    #[test]
    fn unknown_newest_status_is_a_warning() {
        let at = |month: u8| format!("2026-{month:02}-01T00:00:00Z");
        let of = |by: &str, state: &str, month| record(by, "a", state, Some(&at(month)));
        let long = "x".repeat(900);
        let told = |records| unknown_status_warning(&statuses(records)).map(|w| w.message);
        let known = of("owner", "closed", 7);
        assert_eq!(told(vec![known.clone(), of("author", "parked", 6)]), None);
        assert_eq!(told(vec![known.clone(), of("stranger", "parked", 8)]), None);
        let text = told(vec![known.clone(), of("author", "parked", 8)]).unwrap();
        assert!(
            text.contains("status.parked', which forge does not know"),
            "{text}"
        );
        let text = told(vec![known, of("author", &long, 8)]).unwrap();
        assert!(text.contains("x…'") && text.len() < 300, "{text}");
    }
}
