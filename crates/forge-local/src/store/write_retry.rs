//! Repeats writes after a failed compare-and-swap.

use std::{
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    path::Path,
    time::{Duration, Instant},
};

use forge_core::{Error, ErrorKind, Result, Retry};
use tokio::sync::OwnedMutexGuard;

use super::{EventStore, RefConflict};

const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time that a writer waits for the advisory lock. After this time it writes without the
/// lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum age of a lock file that is assumed to come from a killed process. The file must also
/// have blocked several attempts.
const STALE_LOCK_AGE: Duration = Duration::from_secs(10);
/// Name of the file that writers lock. The file is always empty.
const TURN_FILE: &str = "forge.turn";

/// The attempts of one write.
///
/// Compare-and-swap alone keeps the data correct. The advisory lock only prevents many concurrent
/// writers from repeating their work. The operating system releases it when the process ends.
#[derive(Debug)]
pub(crate) struct WriteRetry {
    _turn: Option<File>,
    /// Dropped after the file, so that the next writer of this process finds the file unlocked.
    _order: Option<OwnedMutexGuard<()>>,
    begun: Instant,
    tries: u32,
}

impl WriteRetry {
    /// Waits for the advisory lock of the writers.
    pub async fn begin(store: &EventStore) -> Self {
        let order = match &store.shared {
            Some(shared) => shared.writer(&store.common_dir, LOCK_TIMEOUT).await,
            None => None,
        };
        let turn = acquire_lock(&store.common_dir).await;
        Self {
            _turn: turn,
            _order: order,
            begun: Instant::now(),
            tries: 0,
        }
    }

    /// Waits a random time before the next attempt.
    ///
    /// # Errors
    /// `git` if the write was retried for [`RETRY_TIMEOUT`], or if a stale lock file blocks it. The
    /// message has the path of the lock file that blocked the write.
    pub async fn wait_before_retry(&mut self, lost: RefConflict) -> Result<()> {
        self.tries += 1;
        let spent = self.begun.elapsed();
        let stale = lost
            .lock_age()
            .filter(|age| *age >= STALE_LOCK_AGE && self.tries > 5);
        if spent > RETRY_TIMEOUT || stale.is_some() {
            return Err(give_up(lost, stale, self.tries, spent));
        }
        tracing::debug!(
            tries = self.tries,
            why = lost.error.message(),
            "lost a race"
        );
        let ceiling = 4u64 << self.tries.min(6);
        tokio::time::sleep(Duration::from_millis(1 + random() % ceiling)).await;
        Ok(())
    }
}

fn give_up(lost: RefConflict, stale: Option<Duration>, tries: u32, spent: Duration) -> Error {
    let kind = match lost.error.kind() {
        ErrorKind::Git { status } => ErrorKind::Git { status: *status },
        _ => ErrorKind::Git { status: -1 },
    };
    match (stale, &lost.lock) {
        (Some(age), Some(lock)) => {
            let lock = forge_core::text::one_line(&lock.to_string_lossy()).into_owned();
            Error::new(
                kind,
                format!("the lock file {lock} is {} s old and blocks every write", age.as_secs()),
            )
            .with_hint(format!(
                "if no git process is running there, a killed one left it: remove it with rm '{lock}'"
            ))
        }
        _ => Error::new(
            kind,
            format!(
                "gave up after {tries} attempts in {:.1} s, because other processes wrote at the \
                 same time: {}",
                spent.as_secs_f32(),
                lost.error.message()
            ),
        )
        .with_hint("nothing was changed; try again"),
    }
    .with_retry(Retry::Transient)
    .with_source(lost.error)
}

async fn acquire_lock(common_dir: &Path) -> Option<File> {
    let mut options = File::options();
    options.create(true).append(true);
    // The flags refuse a symbolic link and do not wait for a pipe. In the repository of a stranger,
    // a link would create a file elsewhere, and a pipe would block.
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    let file = options.open(common_dir.join(TURN_FILE)).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(std::fs::TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIMEOUT => {}
            Err(_) => return None,
        }
        tokio::time::sleep(Duration::from_micros(500 + random() % 6000)).await;
    }
}

/// Returns a number that differs between calls and between processes.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
