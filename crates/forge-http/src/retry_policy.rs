use std::time::Duration;

/// Policy for repeating requests.
///
/// | what happened | read | write |
/// |---|---|---|
/// | no connection was made | repeated | repeated: nothing was sent |
/// | refused for a rate limit, and the wait fits the budget | waits, repeated | waits, repeated: refused before it ran |
/// | 502, 503, 504; the connection broke; no answer in time | repeated | an error with `Retry::Ambiguous`, or the status |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries, without those for rate limits.
    pub retries: u32,
    /// Upper bound of the first pause; each further bound doubles. The pause itself is random
    /// between zero and the bound ("full jitter"), so that many clients do not return at once.
    pub base: Duration,
    /// Upper bound of every pause.
    pub cap: Duration,
    /// Total time that a request may wait for rate limits.
    pub budget: Duration,
    /// True if to sleep during pauses. `false` is for tests: the same decisions without the time.
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
    /// Returns the same policy without pauses, for tests.
    #[must_use]
    pub fn without_pauses() -> Self {
        Self {
            sleep: false,
            ..Self::default()
        }
    }

    /// Returns the pause before retry number `retry`, counted from 0.
    pub(crate) fn pause(&self, retry: u32) -> Duration {
        let longest = self.base.saturating_mul(1 << retry.min(16)).min(self.cap);
        longest.mul_f64(fastrand::f64())
    }

    /// Sleeps for `pause`, unless the policy is without pauses.
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
    fn pause_never_exceeds_doubled_base_or_cap() {
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
