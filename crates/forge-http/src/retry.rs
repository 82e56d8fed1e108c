use std::time::Duration;

/// When and how often a request is repeated.
///
/// | what happened | read | write |
/// |---|---|---|
/// | no connection was made | repeated | repeated: nothing was sent |
/// | refused for a rate limit, and the wait fits the budget | waits, repeated | waits, repeated: refused before it ran |
/// | 502, 503, 504; the connection broke; no answer in time | repeated | an error with `Retry::Ambiguous`, or the status |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a request is repeated at most, rate limits not counted.
    pub retries: u32,
    /// The longest first pause; each further one may be twice as long. The pause itself is random
    /// between nothing and that ("full jitter"), so that many clients do not come back at once.
    pub base: Duration,
    /// The longest pause.
    pub cap: Duration,
    /// How long a request may wait in all for rate limits to pass.
    pub budget: Duration,
    /// Whether pauses are slept. `false` is for tests: same decisions, no time.
    pub sleep: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 3,
            base: Duration::from_millis(250),
            cap: Duration::from_secs(4),
            budget: Duration::from_secs(60),
            sleep: true,
        }
    }
}

impl RetryPolicy {
    /// The same decisions without the pauses, for tests.
    #[must_use]
    pub fn without_pauses() -> Self {
        Self {
            sleep: false,
            ..Self::default()
        }
    }

    /// The pause before the repetition `retry`, counted from 0.
    pub(crate) fn pause(&self, retry: u32) -> Duration {
        let longest = self.base.saturating_mul(1 << retry.min(16)).min(self.cap);
        longest.mul_f64(fastrand::f64())
    }

    /// Sleeps for `pause`, where pauses are slept.
    pub async fn wait(&self, pause: Duration) {
        if self.sleep {
            tokio::time::sleep(pause).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_stay_below_the_doubled_base_and_the_cap() {
        let policy = RetryPolicy::default();
        for retry in 0..40 {
            let longest = policy
                .base
                .saturating_mul(1 << retry.min(16))
                .min(policy.cap);
            for _ in 0..20 {
                assert!(policy.pause(retry) <= longest);
            }
        }
    }
}
