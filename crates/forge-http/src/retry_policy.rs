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
    /// Maximum number of retries. Retries after a rate limit do not count.
    pub retries: u32,
    /// Upper bound of the first pause; the bound doubles with each further pause. A pause is random
    /// between zero and its bound ("full jitter"), so that many clients do not retry at the same
    /// moment.
    pub base: Duration,
    /// Maximum of the upper bound of any pause.
    pub cap: Duration,
    /// Maximum total time that a request waits for rate limits.
    pub budget: Duration,
    /// False to skip the pauses. Tests use this to make the same decisions in less time.
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

    /// Returns the pause before the retry with number `retry`, counted from 0.
    pub(crate) fn pause(&self, retry: u32) -> Duration {
        let longest = self.base.saturating_mul(1 << retry.min(16)).min(self.cap);
        longest.mul_f64(fastrand::f64())
    }

    /// Sleeps for `pause`, unless the policy skips pauses.
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
