use std::fmt;

use async_trait::async_trait;
use forge_core::Result;
use forge_core::Secret;

/// Where the token of a host comes from: the environment, a store, gh's login.
#[async_trait]
pub trait TokenSource: fmt::Debug + Send + Sync {
    /// The token of `host`; `None` when there is no account.
    ///
    /// # Errors
    /// `config` when a store cannot be read.
    async fn token(&self, host: &str) -> Result<Option<Secret>>;

    /// Another token after `host` has refused `refused` with a 401; asked once for a token. `None`
    /// when there is no other: tokens that `gh auth token` gives out may expire and be renewed, one
    /// from the environment is what it is.
    ///
    /// # Errors
    /// As [`Self::token`].
    async fn renewed(&self, host: &str, refused: &Secret) -> Result<Option<Secret>>;

    /// Where the token that `host` was last given for comes from, for errors about it: a variable, a
    /// file, a program. `None` where there is nothing to say.
    fn origin(&self, host: &str) -> Option<String>;
}

/// One token for every host, or none; for tests and for callers that hold a token.
#[derive(Clone, Debug)]
pub struct FixedToken(Option<Secret>);

impl FixedToken {
    /// This token.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self(Some(Secret::new(token)))
    }

    /// No account anywhere.
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
