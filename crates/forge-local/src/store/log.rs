//! Reads the events of a pull request or an issue, in order.

use std::sync::Arc;

use forge_core::{Error, Result, call::weight_of_json};
use forge_git::{CatFile, RawCommit};
use serde::de::DeserializeOwned;

use super::{
    EventStore, LogEntry, Pull, PullEvent, event::event_json, hold, read::broken, shared::KeptLog,
};

/// Maximum number of event commits that are in memory at once.
const BATCH_SIZE: usize = 64;

/// An event with its commit.
#[derive(Clone, Debug)]
pub(crate) struct LoggedEvent<E = PullEvent> {
    pub oid: String,
    pub entry: LogEntry<E>,
}

/// All events, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub events: Arc<Vec<LoggedEvent>>,
}

/// Counts the memory of an event before it is parsed. JSON with many small values takes much more
/// memory than its text.
fn hold_event(commit: &RawCommit<'_>) -> Result<()> {
    hold(event_json(commit).map_or(0, weight_of_json))
}

impl EventStore {
    /// Reads the events of `pull`. Starts one process in addition to `cat` if no event is cached.
    ///
    /// # Errors
    /// `protocol` if an event is damaged, or if the events take too much memory.
    pub async fn log(&self, cat: &mut CatFile, pull: &Pull) -> Result<Log> {
        let bad = |why: &str| broken(pull.number, why);
        let Some(shared) = &self.shared else {
            let (events, _) = self.events(cat, &pull.tip, bad).await?;
            return Ok(Log {
                events: Arc::new(events),
            });
        };
        let of = (self.common_dir.clone(), pull.number);
        let kept = shared.log(&of);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.tip == pull.tip) {
            let events = Arc::clone(&kept.events);
            return Ok(Log { events });
        }
        let newer = match &kept {
            Some(kept) => self.newer(cat, &pull.tip, kept).await,
            None => None,
        };
        let (events, bytes) = match newer {
            Some(events) => events,
            None => self.events(cat, &pull.tip, bad).await?,
        };
        let events = Arc::new(events);
        shared.keep(KeptLog {
            of,
            tip: pull.tip.clone(),
            events: Arc::clone(&events),
            bytes,
        });
        Ok(Log { events })
    }

    /// Adds the events up to `tip` to the cached ones, and also returns the size of all in bytes.
    /// Returns `None` if more than [`BATCH_SIZE`] events are missing or one is damaged; the caller
    /// then reads all events.
    async fn newer(
        &self,
        cat: &mut CatFile,
        tip: &str,
        kept: &KeptLog,
    ) -> Option<(Vec<LoggedEvent>, usize)> {
        let mut newer: Vec<LoggedEvent> = Vec::new();
        let mut bytes = kept.bytes;
        let mut at = tip.to_owned();
        while at != kept.tip {
            if newer.len() >= BATCH_SIZE {
                return None;
            }
            let object = cat.get(&at).await.ok().flatten()?;
            let commit = RawCommit::parse(&object.data)?;
            hold_event(&commit).ok()?;
            let entry = LogEntry::of(&commit).ok().flatten()?;
            let parent = (*commit.parents.first()?).to_owned();
            bytes += object.data.len();
            newer.push(LoggedEvent { oid: at, entry });
            at = parent;
        }
        newer.reverse();
        let mut events = Vec::with_capacity(kept.events.len() + newer.len());
        events.extend(kept.events.iter().cloned());
        events.append(&mut newer);
        Some((events, bytes))
    }

    /// Reads the events of the chain that ends with `tip`, and the total size of their commits in
    /// bytes. `broken` creates the error for a damaged event.
    pub async fn events<E: DeserializeOwned>(
        &self,
        cat: &mut CatFile,
        tip: &str,
        broken: impl Fn(&str) -> Error + Send,
    ) -> Result<(Vec<LoggedEvent<E>>, usize)> {
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
        let (mut events, mut bytes) = (Vec::with_capacity(oids.len()), 0);
        for chunk in oids.chunks(BATCH_SIZE) {
            for (oid, found) in chunk.iter().zip(cat.get_many(chunk).await?) {
                let bad = |why: &str| broken(&format!("event {oid}: {why}"));
                let object = found
                    .into_object()
                    .map_err(|e| bad(e.message()).with_source(e))?
                    .ok_or_else(|| bad("it is missing"))?;
                bytes += object.data.len();
                let commit =
                    RawCommit::parse(&object.data).ok_or_else(|| bad("it is not a commit"))?;
                hold_event(&commit)?;
                match LogEntry::of(&commit) {
                    Ok(Some(entry)) => events.push(LoggedEvent {
                        oid: object.oid,
                        entry,
                    }),
                    Ok(None) => {}
                    Err(e) => return Err(bad(&e.to_string()).with_source(e)),
                }
            }
        }
        Ok((events, bytes))
    }
}
