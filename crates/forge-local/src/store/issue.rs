//! Issues. Each ref below `refs/forge/issues/` is a chain of events, with the state after the last
//! event in `issue.json`.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use forge_core::{
    Action, Arg, Call, Error, Hint, Noun, Op, Param, Result, Timestamp,
    call::{Charge, Charged, charge, is_about_memory, weight_of_json},
    model::{Actor, IssueReason, IssueState},
    text,
};
use forge_git::{CatFile, ObjectLookup};
use serde::{Deserialize, Serialize};

use super::{
    EventStore, FORMAT, ISSUE_FORMAT, IssueEvent, LabelRef, LogEntry, RefChange, RefConflict,
    Unreadable, check_room, format::MAX_RECORD_WEIGHT, log::LoggedEvent, refs,
    write::encoding_error,
};
use crate::ident::CommitIdentity;

/// Number of issues that are read at once.
const BATCH_SIZE: usize = 64;

/// What stored issues are called in an error about memory.
pub(crate) const STORED_ISSUES: &str = "the issues";

/// Hint for a number that belongs to no issue.
static LIST_ISSUES: Hint = Hint::fixed(
    "list the issues",
    Action::fixed(
        Call::Op(Op::IssueList),
        &[(Param::State, Arg::Set(Cow::Borrowed("all")))],
    ),
);

/// The state of an issue, as stored in `issue.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct IssueSnapshot {
    pub format: u32,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: Actor,
    pub state: IssueState,
    pub state_reason: Option<IssueReason>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub labels: Vec<LabelRef>,
    pub assignees: Vec<String>,
    pub comments: u64,
    /// Number of events in the chain of this issue.
    pub events: u64,
    /// Values of custom fields, by the name of the field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<u64>,
    /// True if the issue was deleted, and this is the tombstone that keeps its number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

impl IssueSnapshot {
    /// Creates the state of a new issue. The caller sets the other fields.
    pub fn new(author: Actor, at: Timestamp) -> Self {
        Self {
            format: FORMAT,
            number: 0,
            title: String::new(),
            body: String::new(),
            author,
            state: IssueState::Open,
            state_reason: None,
            created_at: at,
            updated_at: at,
            closed_at: None,
            labels: Vec::new(),
            assignees: Vec::new(),
            comments: 0,
            events: 0,
            values: BTreeMap::new(),
            parent: None,
            blocked_by: Vec::new(),
            deleted: false,
        }
    }

    /// Creates the tombstone of issue `number`, which `by` deleted.
    pub fn tombstone(number: u64, by: &CommitIdentity) -> Self {
        Self {
            number,
            state: IssueState::Closed,
            closed_at: Some(by.at),
            deleted: true,
            ..Self::new(by.actor.clone(), by.at)
        }
    }

    /// Returns the lowest format version that supports all fields in use, so that older versions of
    /// forge can read the issue.
    fn lowest_format(&self) -> u32 {
        let plain = self.values.is_empty()
            && self.parent.is_none()
            && self.blocked_by.is_empty()
            && !self.deleted;
        if plain { FORMAT } else { ISSUE_FORMAT }
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self).map_err(encoding_error)?;
        bytes.push(b'\n');
        check_room(&bytes)?;
        Ok(bytes)
    }

    /// Parses the blob of issue `number`.
    fn decode(data: &[u8], number: u64) -> Result<Self, Unreadable> {
        Unreadable::check_weight("issue.json", data)?;
        Unreadable::check_format("issue.json", data, ISSUE_FORMAT)?;
        let snapshot: Self =
            serde_json::from_slice(data).map_err(|e| format!("issue.json: {e}"))?;
        if snapshot.number != number {
            return Err(format!("issue.json says that it is #{}", snapshot.number).into());
        }
        refs::check_counts("issue.json", snapshot.comments, snapshot.events)?;
        Ok(snapshot)
    }
}

/// An issue with its current state.
#[derive(Clone, Debug)]
pub(crate) struct StoredIssue {
    /// The commit of the last event.
    pub tip: String,
    pub snapshot: IssueSnapshot,
    /// The memory of the issue.
    #[expect(dead_code, reason = "counts the memory until it is dropped")]
    pub charge: Arc<Charge>,
}

impl StoredIssue {
    pub fn number(&self) -> u64 {
        self.snapshot.number
    }
}

impl EventStore {
    /// Returns the numbers of all issues, in descending order.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn issue_numbers(&self) -> Result<Vec<u64>> {
        let names = self
            .git
            .run_ok(["for-each-ref", "--format=%(refname)", refs::ISSUES])
            .await?;
        let names = String::from_utf8_lossy(&names).into_owned();
        let mut numbers: Vec<u64> = names
            .lines()
            .filter_map(|name| refs::number(name, refs::ISSUES))
            .collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Ok(numbers)
    }

    /// Returns the number after the highest existing one.
    ///
    /// # Errors
    /// The errors of [`Self::issue_numbers`].
    pub async fn next_issue(&self) -> Result<u64> {
        let mut number = self.issue_numbers().await?.first().copied().unwrap_or(0) + 1;
        // A number whose ref is damaged is not used again.
        while self.common_dir.join(refs::issue(number)).is_file() {
            number += 1;
        }
        Ok(number)
    }

    /// Reads issue `number`.
    ///
    /// # Errors
    /// `not_found` for a missing or deleted issue; `protocol` for a damaged issue.
    pub async fn read_issue(&self, cat: &mut CatFile, number: u64) -> Result<StoredIssue> {
        let found = self.read_stored(cat, &[number]).await?.pop().flatten();
        self.require_issue(number, found)
    }

    /// Returns the issue in a result of [`Self::read_stored`], or an error if it is missing or
    /// deleted.
    ///
    /// # Errors
    /// The errors of [`Self::read_issue`].
    pub fn require_issue(
        &self,
        number: u64,
        found: Option<Result<StoredIssue>>,
    ) -> Result<StoredIssue> {
        let why = match found {
            Some(Ok(issue)) if issue.snapshot.deleted => {
                let tombstone = &issue.snapshot;
                let by = text::one_line(&tombstone.author.login);
                format!(
                    "issue #{number} of {} was deleted by {by} at {}",
                    self.url, tombstone.updated_at
                )
            }
            Some(read) => return read,
            None => format!("issue #{number} was not found in {}", self.url),
        };
        Err(Error::not_found(Noun::Issue, why).with_hint(&LIST_ISSUES))
    }

    /// Reads the issues `numbers`, in order. An entry is `None` for an issue that is missing or
    /// deleted.
    ///
    /// # Errors
    /// The errors of [`Self::read_stored`].
    pub async fn read_issues(
        &self,
        cat: &mut CatFile,
        numbers: &[u64],
    ) -> Result<Vec<Option<Result<StoredIssue>>>> {
        let mut all = self.read_stored(cat, numbers).await?;
        for read in &mut all {
            read.take_if(|r| matches!(r, Ok(issue) if issue.snapshot.deleted));
        }
        Ok(all)
    }

    /// Reads the issues `numbers`, in order, including tombstones. An entry is `None` for a missing
    /// issue.
    ///
    /// # Errors
    /// `git` if git cannot be run; `protocol` if the call holds too much in memory. The errors of
    /// single issues are in the list.
    pub async fn read_stored(
        &self,
        cat: &mut CatFile,
        numbers: &[u64],
    ) -> Result<Vec<Option<Result<StoredIssue>>>> {
        let mut all = Vec::with_capacity(numbers.len());
        for chunk in numbers.chunks(BATCH_SIZE) {
            let names: Vec<_> = chunk.iter().map(|n| refs::issue(*n)).collect();
            let tips = cat.info_many(&names).await?;
            let files: Vec<_> = tips
                .iter()
                .map(|tip| match tip {
                    Some(tip) => format!("{}:{}", tip.oid, refs::ISSUE_FILE),
                    None => String::new(),
                })
                .collect();
            let mut rows = chunk.iter().zip(tips);
            let read = |file| match rows.next() {
                Some((number, None)) if self.common_dir.join(refs::issue(*number)).is_file() => {
                    let gone = "the object that its ref names is gone";
                    Ok(Some(Err(broken(*number, gone))))
                }
                Some((number, Some(tip))) => match decode(*number, tip.oid, file) {
                    Err(e) if is_about_memory(&e) => Err(e),
                    read => Ok(Some(read)),
                },
                Some((_, None)) | None => Ok(None),
            };
            for read in cat.get_each(&files, MAX_RECORD_WEIGHT, read).await? {
                all.push(read?);
            }
        }
        Ok(all)
    }

    /// Returns the commits of the first events of issues, which identify them in all clones. An
    /// entry is `None` if the commit is missing.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn first_events(
        &self,
        cat: &mut CatFile,
        issues: &[&StoredIssue],
    ) -> Result<Vec<Option<String>>> {
        let name = |issue: &&StoredIssue| match issue.snapshot.events.checked_sub(1) {
            Some(back) => format!("{}~{back}", issue.tip),
            None => String::new(),
        };
        let names: Vec<String> = issues.iter().map(name).collect();
        let found = cat.info_many(&names).await?;
        Ok(found.into_iter().map(|info| Some(info?.oid)).collect())
    }

    /// Reads the events of `issue`, oldest first.
    ///
    /// # Errors
    /// `protocol` if an event is damaged or missing, or if the events take too much memory.
    pub async fn issue_log(
        &self,
        cat: &mut CatFile,
        issue: &StoredIssue,
    ) -> Result<Charged<Vec<LoggedEvent<IssueEvent>>>> {
        let number = issue.number();
        let what = format!("the events of issue #{number}");
        let events = self
            .events(cat, &issue.tip, &what, |why| broken(number, why))
            .await?;
        self.check_event_count(events.len() as u64, issue.snapshot.events)
            .map_err(|why| broken(number, why))?;
        Ok(events)
    }

    /// Writes an event of an issue. If `before` is `None`, this is the first event of the issue. A
    /// deletion starts a new chain with only this event. The write fails if a ref in `unmoved` has
    /// changed. The inner `Err` means that another writer was faster.
    ///
    /// # Errors
    /// `git` if git cannot write; `protocol` if events of the issue are missing.
    pub async fn write_issue(
        &self,
        before: Option<&StoredIssue>,
        mut snapshot: IssueSnapshot,
        by: &CommitIdentity,
        event: IssueEvent,
        unmoved: Vec<RefChange>,
    ) -> Result<Result<StoredIssue, RefConflict>> {
        if let Some(before) = before {
            let whole = self
                .check_chain(&before.tip, before.snapshot.events)
                .await?;
            whole.map_err(|why| broken(before.number(), why))?;
        }
        snapshot.events += 1;
        snapshot.updated_at = by.at;
        snapshot.format = snapshot.lowest_format();
        let parent = match before {
            // A deletion starts a new chain, so that no commit keeps the deleted text.
            Some(before) if event != IssueEvent::Deleted => before.tip.clone(),
            _ => self.put_root().await?,
        };
        let entry = LogEntry {
            seq: snapshot.events,
            at: by.at,
            actor: by.actor.clone(),
            head: None,
            event,
        };
        let message = entry.message().map_err(encoding_error)?;
        let tree = self.put_file(refs::ISSUE_FILE, &snapshot.encode()?).await?;
        let tip = self.put_event(&tree, &[parent], by, &message).await?;
        let (name, new) = (refs::issue(snapshot.number), tip.clone());
        let change = match before {
            Some(before) => RefChange::Update {
                name,
                new,
                old: before.tip.clone(),
            },
            None => RefChange::Create { name, new },
        };
        let line = message.lines().next().unwrap_or("");
        let reason = format!("forge: issue #{} {line}", snapshot.number);
        let changes: Vec<_> = unmoved.into_iter().chain([change]).collect();
        Ok(match self.update_refs(&reason, &changes).await? {
            Some(lost) => Err(lost),
            None => Ok(StoredIssue {
                tip,
                snapshot,
                charge: Arc::default(),
            }),
        })
    }
}

fn decode(number: u64, tip: String, file: ObjectLookup) -> Result<StoredIssue> {
    let object = match file {
        ObjectLookup::Object(object) if object.kind == "blob" => object,
        ObjectLookup::Object(_) => return Err(broken(number, "issue.json is not a file")),
        ObjectLookup::Missing => return Err(broken(number, Unreadable::Missing("issue.json"))),
        ObjectLookup::Unreadable(e) => return Err(broken(number, e)),
    };
    match IssueSnapshot::decode(&object.data, number) {
        Ok(snapshot) => Ok(StoredIssue {
            tip,
            snapshot,
            charge: Arc::new(charge(STORED_ISSUES, weight_of_json(&object.data))?),
        }),
        Err(why) => Err(broken(number, why)),
    }
}

/// Returns the error for an issue that exists but cannot be read.
fn broken(number: u64, why: impl Into<Unreadable>) -> Error {
    let what = format!("issue #{number}");
    why.into()
        .into_error(&what, &refs::issue(number), "deletes the issue")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_snapshots_round_trip_and_mismatches_are_refused() {
        let mut s = IssueSnapshot::new(Actor::new("a"), Timestamp::from_unix(9));
        s.number = 7;
        let bytes = s.encode().unwrap();
        assert_eq!(IssueSnapshot::decode(&bytes, 7).unwrap(), s);
        let other = IssueSnapshot::decode(&bytes, 8).unwrap_err();
        assert!(matches!(other, Unreadable::Damaged(why) if why.contains("#7")));
        let of_format = |format: u32| {
            let json = String::from_utf8(bytes.clone()).unwrap();
            let json = json.replace("\"format\": 1", &format!("\"format\": {format}"));
            IssueSnapshot::decode(json.as_bytes(), 7)
        };
        assert!(of_format(2).is_ok());
        let newer = of_format(3).unwrap_err();
        let refused = matches!(
            newer,
            Unreadable::Newer {
                found: 3,
                newest: 2
            }
        );
        assert!(refused, "{newer:?}");
        assert!(IssueSnapshot::decode(b"{", 7).is_err());
        s.events = u64::MAX;
        let refused = IssueSnapshot::decode(&s.encode().unwrap(), 7).unwrap_err();
        assert!(matches!(refused, Unreadable::Damaged(why) if why.contains("impossible count")));
    }
}
