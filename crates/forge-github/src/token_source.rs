use std::fmt;

use async_trait::async_trait;
use forge_core::Result;
use forge_core::Secret;

/// A source of tokens by host, such as the environment, a store, or the login of gh.
#[async_trait]
pub trait TokenSource: fmt::Debug + Send + Sync {
    /// Returns the token of `host`; `None` without an account.
    ///
    /// # Errors
    ///
    /// Fails with `config` if a store cannot be read.
    async fn token(&self, host: &str) -> Result<Option<Secret>>;

    /// Returns another token after `host` answered 401 to `refused`, at most once for each token.
    ///
    /// A token of `gh auth token` may have been renewed since. A token from the environment cannot
    /// be renewed, so the result is then `None`.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::token`] does.
    async fn renewed(&self, host: &str, refused: &Secret) -> Result<Option<Secret>>;

    /// Returns the origin of the token last returned for `host`, for error messages: a variable, a
    /// file or a program, if known.
    fn origin(&self, host: &str) -> Option<String>;
}

/// A source that returns the same token, or no token, for every host. For tests, and for callers
/// that already have a token.
#[derive(Clone, Debug)]
pub struct FixedToken(Option<Secret>);

impl FixedToken {
    /// Creates a source that returns this token for every host.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self(Some(Secret::new(token)))
    }

    /// Creates a source that returns no token.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }
}

#[async_trait]
impl TokenSource for FixedToken {
    async fn token(&self, _: &str) -> Result<Option<Secret>> {
        Ok(self.0.clone())
    }

    async fn renewed(&self, _: &str, _: &Secret) -> Result<Option<Secret>> {
        Ok(None)
    }

    fn origin(&self, _: &str) -> Option<String> {
        None
    }
}
