use serde::{Deserialize, Serialize};

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// What names it on its forge: a login, a handle or DID, or for a local repository the part of
    /// the git e-mail address before the `@`.
    pub login: String,
    /// The display name, where it is known and set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The e-mail address; local repositories have one, others seldom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// It is a bot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bot: bool,
}

impl Actor {
    /// An account of which only the login is known.
    pub fn new(login: impl Into<String>) -> Self {
        Self {
            login: login.into(),
            name: None,
            email: None,
            bot: false,
        }
    }
}

/// Somebody who is asked for a review.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reviewer {
    /// An account.
    User {
        /// Its login.
        login: String,
    },
    /// A team.
    Team {
        /// `org/slug`.
        slug: String,
        /// Its display name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

impl Reviewer {
    /// From what a user types: `login`, or `org/team`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.contains('/') {
            Self::Team {
                slug: text.to_owned(),
                name: None,
            }
        } else {
            Self::User {
                login: text.to_owned(),
            }
        }
    }

    /// The login or `org/slug`.
    #[must_use]
    pub fn handle(&self) -> &str {
        match self {
            Self::User { login } => login,
            Self::Team { slug, .. } => slug,
        }
    }
}
