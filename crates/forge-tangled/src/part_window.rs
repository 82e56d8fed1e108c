//! Limits the time for the parts of a list or a view that stand on the servers of other accounts.

use std::{future::Future, time::Duration};

use forge_core::{Error, ErrorKind, Result, call};
use tokio::time::{Instant, timeout_at};

/// Length of a window outside of a call, which has no deadline.
const WITHOUT_DEADLINE: Duration = Duration::from_secs(3_600);

/// Time within which a list or a view reads parts that it can do without.
///
/// A window is half of the time that the call has left. However many windows follow each other, the
/// call ends before its deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartWindow {
    length: Duration,
    ends: Instant,
}

impl PartWindow {
    /// Begins a window.
    pub fn begin() -> Self {
        let length = call::time_left().map_or(WITHOUT_DEADLINE, |left| left / 2);
        Self {
            length,
            ends: Instant::now() + length,
        }
    }

    /// Begins a window of at most `most`.
    pub fn at_most(most: Duration) -> Self {
        let whole = Self::begin();
        let length = whole.length.min(most);
        Self {
            length,
            ends: Instant::now() + length,
        }
    }

    /// Returns the part of this window that begins now and takes at most `most`.
    pub fn first(&self, most: Duration) -> Self {
        let length = self.left().min(most);
        Self {
            length,
            ends: Instant::now() + length,
        }
    }

    /// Returns the time until the window ends.
    pub fn left(&self) -> Duration {
        self.ends.saturating_duration_since(Instant::now())
    }

    /// Waits for a part until the window ends.
    ///
    /// # Errors
    /// `timeout`, which names `server`; the errors of the part.
    pub async fn read<T>(
        &self,
        server: impl FnOnce() -> String,
        part: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match timeout_at(self.ends, part).await {
            Ok(read) => read,
            Err(_) => Err(silent(&server(), self.length)),
        }
    }
}

/// Returns the error for a server that has not answered within `wait`.
pub(crate) fn silent(server: &str, wait: Duration) -> Error {
    let shown = match wait.as_secs() {
        0 => format!("{} ms", wait.as_millis()),
        seconds => format!("{seconds} s"),
    };
    let message = format!("{server} did not answer within {shown}");
    Error::new(ErrorKind::Timeout { after: wait }, message).with_hint("try again later")
}
