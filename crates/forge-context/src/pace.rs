//! Decides when a forge is polled again, depending on back-off, rate limits and deadline.

use std::time::Duration;

use forge_core::{Error, ErrorKind, Result, Retry, Timestamp};
use tokio::time::Instant;

/// Maximum pause between two polls that find no change.
pub const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Maximum number of consecutive polls that fail with a retryable error.
const MAX_FAILURES: u32 = 3;
/// The pause for a rate limit without a reset time.
const LIMIT_PAUSE: Duration = Duration::from_secs(60);

/// Interval and duration of polling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pace {
    /// The pause after a poll that finds a change.
    pub first: Duration,
    /// Maximum pause. The pause grows by half after each poll that finds no change.
    pub longest: Duration,
    /// Time after which no poll starts.
    pub timeout: Option<Duration>,
}

impl Pace {
    /// Creates a pace with pauses of `first` to `longest` and without a timeout.
    #[must_use]
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            timeout: None,
        }
    }

    /// Ends the polling after `timeout`.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// Computes the pause before the next poll.
#[derive(Debug)]
pub struct Pacer {
    pace: Pace,
    pause: Duration,
    deadline: Option<Instant>,
    failures: u32,
}

impl Pacer {
    /// Creates a pacer; the deadline counts from now.
    #[must_use]
    pub fn new(pace: Pace) -> Self {
        Self {
            pace,
            pause: pace.first,
            // If the timeout exceeds the range of the clock, there is no deadline.
            deadline: pace
                .timeout
                .and_then(|timeout| Instant::now().checked_add(timeout)),
            failures: 0,
        }
    }

    /// Returns the pause after a poll. The last pause ends at the deadline. After the deadline,
    /// returns `None`.
    #[must_use]
    pub fn after_look(&mut self, is_changed: bool) -> Option<Duration> {
        self.failures = 0;
        if is_changed {
            self.pause = self.pace.first;
        }
        let pause = self.pause;
        self.pause = pause
            .saturating_add(pause / 2)
            .min(self.pace.longest.max(self.pace.first));
        self.until_deadline(pause)
    }

    /// Decides what happens after a failed poll. If polling goes on, returns `error` for a message
    /// and the pause before the next poll. If a rate limit caused the error, the pause lasts until
    /// the rate limit resets. The pause is `None` if the deadline comes first.
    ///
    /// # Errors
    ///
    /// Fails with `error` if polling has to stop: a retry cannot help, or too many polls in a row
    /// have failed.
    pub fn after_failure(&mut self, error: Error) -> Result<(Error, Option<Duration>)> {
        let limited = match (error.kind(), error.retry()) {
            (_, Retry::After(wait)) => Some(wait),
            (ErrorKind::RateLimited { reset, .. }, _) => Some(reset.map_or(LIMIT_PAUSE, |reset| {
                let left = reset.unix().saturating_sub(Timestamp::now().unix());
                Duration::from_secs(u64::try_from(left).unwrap_or(0).max(1))
            })),
            _ => None,
        };
        if let Some(wait) = limited {
            let next = Instant::now().checked_add(wait);
            let is_late = self
                .deadline
                .is_some_and(|at| next.is_none_or(|next| next > at));
            return Ok((error, (!is_late).then_some(wait)));
        }
        self.failures += 1;
        if error.retry() != Retry::Transient || self.failures > MAX_FAILURES {
            return Err(error);
        }
        Ok((error, self.until_deadline(self.pause)))
    }

    fn until_deadline(&self, pause: Duration) -> Option<Duration> {
        let Some(deadline) = self.deadline else {
            return Some(pause);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        (!left.is_zero()).then(|| pause.min(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacer(timeout: u64) -> Pacer {
        Pacer::new(Pace {
            first: Duration::from_secs(10),
            longest: MAX_PAUSE,
            timeout: Some(Duration::from_secs(timeout)),
        })
    }

    fn limited(reset_in: i64) -> Error {
        let reset = Some(Timestamp::from_unix(Timestamp::now().unix() + reset_in));
        let bucket = "graphql".to_owned();
        Error::new(ErrorKind::RateLimited { bucket, reset }, "limited")
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_until_a_change() {
        let mut pacer = pacer(3600);
        let pauses: Vec<u64> = (0..7)
            .filter_map(|_| pacer.after_look(false))
            .map(|pause| pause.as_secs())
            .collect();
        assert_eq!(pauses, [10, 15, 22, 33, 50, 60, 60]);
        assert_eq!(pacer.after_look(true), Some(Duration::from_secs(10)));
    }

    #[tokio::test(start_paused = true)]
    async fn last_pause_ends_at_the_deadline() {
        let mut pacer = pacer(12);
        for pause in [10, 2] {
            assert_eq!(pacer.after_look(false), Some(Duration::from_secs(pause)));
            tokio::time::advance(Duration::from_secs(pause)).await;
        }
        assert_eq!(pacer.after_look(false), None);
    }

    #[tokio::test(start_paused = true)]
    async fn rate_limit_pauses_until_reset() {
        let mut pacer = pacer(600);
        let (_, pause) = pacer.after_failure(limited(120)).unwrap();
        let pause = pause.unwrap().as_secs();
        assert!((118..=120).contains(&pause), "{pause}");
        let (error, pause) = pacer.after_failure(limited(900)).unwrap();
        assert_eq!((error.code(), pause), ("rate_limited", None));
    }

    #[tokio::test(start_paused = true)]
    async fn pause_overflowing_the_clock_exceeds_the_deadline() {
        let limited =
            || Error::new(ErrorKind::Network, "slow").with_retry(Retry::After(Duration::MAX));
        let (_, pause) = pacer(600).after_failure(limited()).unwrap();
        assert_eq!(pause, None);
        let mut endless = Pacer::new(Pace {
            first: Duration::MAX,
            longest: Duration::MAX,
            timeout: Some(Duration::MAX),
        });
        assert_eq!(endless.after_look(true), Some(Duration::MAX));
        let (_, pause) = endless.after_failure(limited()).unwrap();
        assert_eq!(pause, Some(Duration::MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_or_permanent_failures_end_the_polling() {
        let mut pacer = pacer(600);
        let gone = || Error::new(ErrorKind::Network, "gone");
        for _ in 0..3 {
            assert!(pacer.after_failure(gone()).is_ok());
        }
        assert!(pacer.after_failure(gone()).is_err());
        let _ = pacer.after_look(false);
        assert!(pacer.after_failure(gone()).is_ok());
        let refused = Error::new(ErrorKind::Internal, "broken");
        assert!(pacer.after_failure(refused).is_err());
    }
}
