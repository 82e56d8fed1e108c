//! A ledger in memory whose guarantee, clock and faults can be set.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use forge_core::{
    Error, ErrorKind, Ingestion, Outcome, Result, Retry, Timestamp,
    model::{Actor, Comment, EditIssue, Issue, IssueId},
};
use forge_workflow::{
    ClaimGuarantee, IssueTrail, Ledger, Trail, TrailEntry, TrailEvent, TrailSwap,
};

#[derive(Debug)]
struct Shared {
    promise: ClaimGuarantee,
    version: usize,
    keys: usize,
    comments: Vec<Comment>,
    /// The faults of the next writes, in order.
    faults: Vec<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The write is refused.
    Before,
    /// The write succeeds, and its answer is lost.
    After,
    /// The write succeeds, but no index shows it.
    Unseen,
    Pass,
}

/// A ledger with one issue, for an agent whose clock is `skew` seconds ahead of the server's. With
/// the advisory guarantee, comments have the time of their author and are sorted by it.
#[derive(Clone, Debug)]
pub struct MemoryLedger {
    shared: Arc<Mutex<Shared>>,
    skew: i64,
}

impl MemoryLedger {
    pub fn new(promise: ClaimGuarantee) -> Self {
        let shared = Shared {
            promise,
            version: 0,
            keys: 0,
            comments: Vec::new(),
            faults: Vec::new(),
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
            skew: 0,
        }
    }

    pub fn with_skew(&self, skew: i64) -> Self {
        let mut other = self.clone();
        other.skew = skew;
        other
    }

    pub fn fail(&self, faults: &[Fault]) {
        self.shared.lock().unwrap().faults = faults.iter().rev().copied().collect();
    }

    /// Advances the clock, so that all existing comments become older.
    pub fn pass(&self, secs: i64) {
        let mut shared = self.shared.lock().unwrap();
        for comment in &mut shared.comments {
            shift(comment, -secs);
        }
    }

    pub fn entries(&self) -> Vec<TrailEntry> {
        let shared = self.shared.lock().unwrap();
        let bodies = shared.comments.iter();
        bodies.filter_map(|c| TrailEntry::parse(&c.body)).collect()
    }

    fn issue(&self, id: &IssueId) -> Issue {
        let shared = self.shared.lock().unwrap();
        let mut comments = shared.comments.clone();
        if shared.promise == ClaimGuarantee::Advisory {
            comments.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        }
        comments.iter_mut().for_each(|c| shift(c, -self.skew));
        let (author, at) = (Actor::new("ada"), Timestamp::from_unix(0));
        let mut issue = Issue::new(id.clone(), "One", author, at);
        issue.number = Some(1);
        issue.version = shared.version.to_string();
        issue.values = BTreeMap::from([("Workflow State".to_owned(), "Backlog".to_owned())]);
        issue.comments = Some(comments);
        issue
    }

    /// Writes an entry. If the guarantee requires it, the write fails unless the version is
    /// unchanged.
    fn write(
        &self,
        sheet: &IssueTrail,
        change: impl FnOnce(&mut Shared),
    ) -> Result<Option<Ingestion>> {
        let mut shared = self.shared.lock().unwrap();
        let fault = shared.faults.pop().unwrap_or(Fault::Pass);
        let lost =
            || Error::new(ErrorKind::Internal, "the answer was lost").with_retry(Retry::Ambiguous);
        if fault == Fault::Before {
            return Err(lost());
        }
        let stale = sheet.issue.version != shared.version.to_string();
        if shared.promise == ClaimGuarantee::Exclusive && stale {
            return Ok(None);
        }
        shared.version += 1;
        change(&mut shared);
        match fault {
            Fault::After => Err(lost()),
            Fault::Unseen => Ok(Some(Ingestion::PdsOnly {
                instead: "nothing".to_owned(),
            })),
            _ => Ok(Some(Ingestion::Immediate)),
        }
    }

    fn body(&self, entry: &TrailEntry) -> String {
        let mut entry = entry.clone();
        shift_entry(&mut entry, self.skew);
        entry.to_comment()
    }
}

fn later(at: Timestamp, secs: i64) -> Timestamp {
    Timestamp::from_unix(at.unix() + secs)
}

fn shift_entry(entry: &mut TrailEntry, secs: i64) {
    if let TrailEvent::Claimed {
        over,
        renewed,
        renewing,
        ..
    } = &mut entry.event
    {
        over.iter_mut()
            .for_each(|over| over.renewed_at = later(over.renewed_at, secs));
        let times = renewed.iter_mut().chain(renewing);
        times.for_each(|at| *at = later(*at, secs));
    }
}

fn shift(comment: &mut Comment, secs: i64) {
    comment.created_at = later(comment.created_at, secs);
    comment.updated_at = comment.updated_at.map(|at| later(at, secs));
    if let Some(mut entry) = TrailEntry::parse(&comment.body) {
        shift_entry(&mut entry, secs);
        comment.body = entry.to_comment();
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    fn promise(&self) -> ClaimGuarantee {
        self.shared.lock().unwrap().promise
    }

    async fn read(&self, issue: &IssueId) -> Result<IssueTrail> {
        tokio::task::yield_now().await;
        let issue = self.issue(issue);
        let trail = Trail::of(&issue, &[]);
        Ok(IssueTrail::new(issue, trail))
    }

    async fn swap(
        &self,
        sheet: &IssueTrail,
        edit: EditIssue,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        tokio::task::yield_now().await;
        let body = self.body(entry);
        let written = self.write(sheet, |shared| {
            let ahead = match shared.promise {
                ClaimGuarantee::Advisory => self.skew,
                _ => 0,
            };
            shared.keys += 1;
            let (key, at) = (shared.keys.to_string(), later(Timestamp::now(), ahead));
            let comment = Comment::new(key, Actor::new("ada"), body, at);
            shared.comments.push(comment);
        });
        match written {
            Ok(Some(ingestion)) => {
                let mut issue = self.issue(&sheet.issue.id);
                for (field, value) in edit.values {
                    match value {
                        Some(value) => issue.values.insert(field, value),
                        None => issue.values.remove(&field),
                    };
                }
                let mut outcome = Outcome::immediate(issue);
                outcome.ingestion = ingestion;
                Ok(TrailSwap::Written(outcome))
            }
            Ok(None) => Ok(TrailSwap::Stale),
            Err(e) => {
                let now = self.read(&sheet.issue.id).await?;
                match now.trail.ids.contains_key(&entry.id) {
                    true => Ok(TrailSwap::Written(Outcome::immediate(now.issue))),
                    false => Err(e),
                }
            }
        }
    }

    async fn renew(
        &self,
        sheet: &IssueTrail,
        comment: &str,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        tokio::task::yield_now().await;
        let body = self.body(entry);
        let written = self.write(sheet, |shared| {
            let found = shared.comments.iter_mut().find(|c| c.id == comment);
            if let Some(found) = found {
                found.body = body;
                // On an advisory ledger, comments are records, which have no modification time.
                let says = shared.promise != ClaimGuarantee::Advisory;
                found.updated_at = says.then(Timestamp::now);
            }
        })?;
        Ok(match written {
            Some(ingestion) => {
                let mut outcome = Outcome::immediate(sheet.issue.clone());
                outcome.ingestion = ingestion;
                TrailSwap::Written(outcome)
            }
            None => TrailSwap::Stale,
        })
    }

    async fn withdraw(&self, _: &IssueTrail, entry: &TrailEntry) -> Result<()> {
        tokio::task::yield_now().await;
        let mut shared = self.shared.lock().unwrap();
        shared
            .comments
            .retain(|c| TrailEntry::parse(&c.body).is_none_or(|e| e.id != entry.id));
        Ok(())
    }
}
