//! The events of a pull request or an issue, in order.

use forge_core::{Error, Result};
use forge_git::{CatFile, RawCommit};
use serde::de::DeserializeOwned;

use super::{Entry, Event, Pull, Store, read::broken};

/// How many event commits are held at once while they are read.
const BATCH: usize = 64;

/// An event and its commit.
#[derive(Clone, Debug)]
pub(crate) struct Logged<E = Event> {
    pub oid: String,
    pub entry: Entry<E>,
}

/// All events, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub events: Vec<Logged>,
}

impl Store {
    /// The events of `pull`, with one process besides `cat`.
    ///
    /// # Errors
    /// `protocol` when one of them is damaged.
    pub async fn log(&self, cat: &mut CatFile, pull: &Pull) -> Result<Log> {
        let bad = |why: &str| broken(pull.number, why);
        let events = self.events(cat, &pull.tip, bad).await?;
        Ok(Log { events })
    }

    /// The events of a chain that ends with `tip`; `broken` makes the error of one that is damaged.
    pub async fn events<E: DeserializeOwned>(
        &self,
        cat: &mut CatFile,
        tip: &str,
        broken: impl Fn(&str) -> Error + Send,
    ) -> Result<Vec<Logged<E>>> {
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
        let mut events = Vec::with_capacity(oids.len());
        for chunk in oids.chunks(BATCH) {
            for (oid, found) in chunk.iter().zip(cat.get_many(chunk).await?) {
                let bad = |why: &str| broken(&format!("event {oid}: {why}"));
                let object = found
                    .into_object()
                    .map_err(|e| bad(e.message()).with_source(e))?
                    .ok_or_else(|| bad("it is missing"))?;
                let commit =
                    RawCommit::parse(&object.data).ok_or_else(|| bad("it is no commit"))?;
                match Entry::of(&commit) {
                    Ok(Some(entry)) => events.push(Logged {
                        oid: object.oid,
                        entry,
                    }),
                    Ok(None) => {}
                    Err(e) => return Err(bad(&e.to_string()).with_source(e)),
                }
            }
        }
        Ok(events)
    }
}
