//! Reads the events of a pull request or an issue, in order.

use std::sync::Arc;

use forge_core::{
    Error, Result,
    call::{Charge, Charged, MAX_HELD, charge, weight_of_json},
};
use forge_git::{CatFile, ObjectLookup, RawCommit};
use serde::de::DeserializeOwned;

use super::{
    EventStore, LogEntry, PullEvent, StoredPull, Unreadable, event::event_json, read::broken,
    shared::KeptLog,
};

/// Maximum number of event commits that are in memory at once.
const BATCH_SIZE: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct LoggedEvent<E = PullEvent> {
    pub oid: String,
    pub entry: LogEntry<E>,
}

/// All events, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub events: Arc<Vec<LoggedEvent>>,
    /// The memory of the events.
    charge: Arc<Charge>,
}

impl Log {
    /// Returns a log of events that are in memory anyway.
    pub fn of(events: Vec<LoggedEvent>) -> Self {
        Self {
            events: Arc::new(events),
            charge: Arc::default(),
        }
    }

    /// Returns the memory that the events take, in bytes, and so at most the memory of what is made
    /// of them.
    pub fn weight(&self) -> usize {
        self.charge.weight()
    }
}

/// Returns what the events of a pull request are called in an error about memory.
pub(crate) fn events_of_pull(number: u64) -> String {
    format!("the events of pull request #{number}")
}

/// Returns the memory that a parsed event takes, in bytes. Many small values take much more memory
/// than their text.
fn weight_of_event(commit: &RawCommit<'_>) -> usize {
    event_json(commit).map_or(0, weight_of_json)
}

impl EventStore {
    /// Reads the events of `pull`. If no event is cached, starts a git process in addition to
    /// `cat`.
    ///
    /// # Errors
    /// `protocol` if an event is damaged or missing, or if the call holds too much in memory.
    pub async fn log(&self, cat: &mut CatFile, pull: &StoredPull) -> Result<Log> {
        let log = self.cached_log(cat, pull).await?;
        let recorded = pull.snapshot.events;
        self.check_event_count(log.events.len() as u64, recorded)
            .map_err(|why| broken(pull.number, why))?;
        Ok(log)
    }

    async fn cached_log(&self, cat: &mut CatFile, pull: &StoredPull) -> Result<Log> {
        let bad = |why: &str| broken(pull.number, why);
        let what = events_of_pull(pull.number);
        let Some(shared) = &self.shared else {
            let (events, charge) = self.events(cat, &pull.tip, &what, bad).await?.into_parts();
            return Ok(Log {
                events: Arc::new(events),
                charge: Arc::new(charge),
            });
        };
        let of = (self.common_dir.clone(), pull.number);
        let kept = shared.log(&of);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.tip == pull.tip) {
            return Ok(Log {
                events: Arc::clone(&kept.events),
                charge: Arc::new(charge(&what, kept.weight)?),
            });
        }
        let newer = match &kept {
            Some(kept) => self.newer(cat, &pull.tip, kept).await,
            None => None,
        };
        let events = match newer {
            Some(events) => events,
            None => self.events(cat, &pull.tip, &what, bad).await?,
        };
        let (events, charge) = events.into_parts();
        let events = Arc::new(events);
        shared.keep(KeptLog {
            of,
            tip: pull.tip.clone(),
            events: Arc::clone(&events),
            weight: charge.weight(),
        });
        Ok(Log {
            events,
            charge: Arc::new(charge),
        })
    }

    /// Fails if a chain has fewer events than its last one records. A shallow fetch brings the
    /// newest events alone, and the missing ones can have a claim, a verdict or a comment.
    pub fn check_event_count(&self, found: u64, recorded: u64) -> Result<(), Unreadable> {
        if found >= recorded {
            return Ok(());
        }
        Err(match self.is_shallow() {
            true => Unreadable::Shallow { found, recorded },
            false => {
                format!("its last event counts {recorded} events, and {found} are there").into()
            }
        })
    }

    /// Fails if the chain that ends with `tip` is cut, so that nothing is written on top of it.
    /// Starts a git process only in a shallow clone.
    ///
    /// # Errors
    /// `git` if git cannot be run; the inner error if events are missing.
    pub async fn check_chain(&self, tip: &str, recorded: u64) -> Result<Result<(), Unreadable>> {
        if !self.is_shallow() {
            return Ok(Ok(()));
        }
        let args = ["rev-list", "--first-parent", "--count", "--end-of-options"];
        let count = self.git.run_ok(args.into_iter().chain([tip])).await?;
        let found = String::from_utf8_lossy(&count).trim().parse().unwrap_or(0);
        Ok(self.check_event_count(found, recorded))
    }

    /// Returns true if git fetched only the newest commits of some branches.
    pub fn is_shallow(&self) -> bool {
        self.common_dir.join("shallow").exists()
    }

    /// Extends cached events up to `tip`. Returns `None` if the caller must read all events from
    /// git:
    /// - more than [`BATCH_SIZE`] events are missing in the cache,
    /// - a missing event is damaged, or
    /// - the call holds too much in memory.
    async fn newer(
        &self,
        cat: &mut CatFile,
        tip: &str,
        kept: &KeptLog,
    ) -> Option<Charged<Vec<LoggedEvent>>> {
        let mut newer: Vec<LoggedEvent> = Vec::new();
        let mut charge = charge("the events", kept.weight).ok()?;
        let mut at = tip.to_owned();
        while at != kept.tip {
            if newer.len() >= BATCH_SIZE {
                return None;
            }
            let object = cat.get(&at).await.ok().flatten()?;
            let commit = RawCommit::parse(&object.data)?;
            charge.add("the events", weight_of_event(&commit)).ok()?;
            let entry = LogEntry::of(&commit).ok().flatten()?;
            let parent = (*commit.parents.first()?).to_owned();
            newer.push(LoggedEvent { oid: at, entry });
            at = parent;
        }
        newer.reverse();
        let mut events = Vec::with_capacity(kept.events.len() + newer.len());
        events.extend(kept.events.iter().cloned());
        events.append(&mut newer);
        Some(Charged::new(events, charge))
    }

    /// Reads the events of the chain that ends with `tip`. `what` names the events in an error about
    /// memory; `broken` creates the error for a damaged event.
    ///
    /// # Errors
    /// `protocol` if an event is damaged, or if the call holds too much in memory.
    pub async fn events<E: DeserializeOwned + Send>(
        &self,
        cat: &mut CatFile,
        tip: &str,
        what: &str,
        broken: impl Fn(&str) -> Error + Send + Sync,
    ) -> Result<Charged<Vec<LoggedEvent<E>>>> {
        let args = [
            "rev-list",
            "--first-parent",
            "--reverse",
            "--end-of-options",
            tip,
        ];
        let listed = self.git.run(args).await?;
        if listed.status != 0 {
            return Err(broken(listed.error("rev-list").message()));
        }
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let oids: Vec<&str> = listed.lines().collect();
        let (mut events, mut charge) = (Vec::with_capacity(oids.len()), Charge::new());
        for chunk in oids.chunks(BATCH_SIZE) {
            let mut ids = chunk.iter().copied();
            let read = |found| {
                let oid = ids.next().unwrap_or_default();
                let bad = |why: &str| broken(&format!("event {oid}: {why}"));
                read_event(found, &mut charge, what, bad)
            };
            for event in cat.get_each(chunk, MAX_HELD, read).await? {
                events.extend(event?);
            }
        }
        Ok(Charged::new(events, charge))
    }
}

/// Parses an event. Returns `Ok(None)` for the root of a chain, which has no event.
fn read_event<E: DeserializeOwned>(
    found: ObjectLookup,
    charge: &mut Charge,
    what: &str,
    bad: impl Fn(&str) -> Error,
) -> Result<Option<LoggedEvent<E>>> {
    let object = found
        .into_object()
        .map_err(|e| bad(e.message()).with_source(e))?
        .ok_or_else(|| bad("it is missing"))?;
    let commit = RawCommit::parse(&object.data).ok_or_else(|| bad("it is not a commit"))?;
    charge.add(what, weight_of_event(&commit))?;
    match LogEntry::of(&commit) {
        Ok(Some(entry)) => Ok(Some(LoggedEvent {
            oid: object.oid,
            entry,
        })),
        Ok(None) => Ok(None),
        Err(e) => Err(bad(&e.to_string()).with_source(e)),
    }
}
