//! Reads the events of a pull request or an issue, in order.

use std::sync::Arc;

use forge_core::{Error, Result, call::weight_of_json};
use forge_git::{CatFile, RawCommit};
use serde::de::DeserializeOwned;

use super::{
    EventStore, LogEntry, PullEvent, StoredPull, Unreadable, event::event_json, read::broken,
    shared::KeptLog,
};

/// Maximum number of event commits that are in memory at once.
const BATCH_SIZE: usize = 64;

/// Maximum memory of the events of one pull request or issue, in bytes.
const MAX_LOG_WEIGHT: usize = 64 * 1024 * 1024;

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
    /// `protocol` if an event is damaged or missing, or if the events take more than
    /// [`MAX_LOG_WEIGHT`].
    pub async fn log(&self, cat: &mut CatFile, pull: &StoredPull) -> Result<Log> {
        let log = self.cached_log(cat, pull).await?;
        let recorded = pull.snapshot.events;
        self.check_event_count(log.events.len() as u64, recorded)
            .map_err(|why| broken(pull.number, why))?;
        Ok(log)
    }

    async fn cached_log(&self, cat: &mut CatFile, pull: &StoredPull) -> Result<Log> {
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
        let (events, weight) = match newer {
            Some(events) => events,
            None => self.events(cat, &pull.tip, bad).await?,
        };
        let events = Arc::new(events);
        shared.keep(KeptLog {
            of,
            tip: pull.tip.clone(),
            events: Arc::clone(&events),
            weight,
        });
        Ok(Log { events })
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

    /// Extends cached events up to `tip`. Also returns the memory of all events, in bytes. Returns
    /// `None` if the caller must read all events from git:
    /// - more than [`BATCH_SIZE`] events are missing in the cache,
    /// - a missing event is damaged, or
    /// - the events need more memory than [`MAX_LOG_WEIGHT`].
    async fn newer(
        &self,
        cat: &mut CatFile,
        tip: &str,
        kept: &KeptLog,
    ) -> Option<(Vec<LoggedEvent>, usize)> {
        let mut newer: Vec<LoggedEvent> = Vec::new();
        let mut weight = kept.weight;
        let mut at = tip.to_owned();
        while at != kept.tip {
            if newer.len() >= BATCH_SIZE {
                return None;
            }
            let object = cat.get(&at).await.ok().flatten()?;
            let commit = RawCommit::parse(&object.data)?;
            weight += weight_of_event(&commit);
            if weight > MAX_LOG_WEIGHT {
                return None;
            }
            let entry = LogEntry::of(&commit).ok().flatten()?;
            let parent = (*commit.parents.first()?).to_owned();
            newer.push(LoggedEvent { oid: at, entry });
            at = parent;
        }
        newer.reverse();
        let mut events = Vec::with_capacity(kept.events.len() + newer.len());
        events.extend(kept.events.iter().cloned());
        events.append(&mut newer);
        Some((events, weight))
    }

    /// Reads the events of the chain that ends with `tip`. Also returns their memory, in bytes.
    /// `broken` creates the error if an event is damaged or the events need more memory than
    /// [`MAX_LOG_WEIGHT`].
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
        let (mut events, mut weight) = (Vec::with_capacity(oids.len()), 0);
        for chunk in oids.chunks(BATCH_SIZE) {
            for (oid, found) in chunk.iter().zip(cat.get_many(chunk).await?) {
                let bad = |why: &str| broken(&format!("event {oid}: {why}"));
                let object = found
                    .into_object()
                    .map_err(|e| bad(e.message()).with_source(e))?
                    .ok_or_else(|| bad("it is missing"))?;
                let commit =
                    RawCommit::parse(&object.data).ok_or_else(|| bad("it is not a commit"))?;
                weight += weight_of_event(&commit);
                if weight > MAX_LOG_WEIGHT {
                    let most = MAX_LOG_WEIGHT >> 20;
                    return Err(broken(&format!(
                        "its events take more than {most} MiB of memory"
                    )));
                }
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
        Ok((events, weight))
    }
}
