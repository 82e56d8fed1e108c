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
    /// The forge's own id (a node id, a DID); empty where it has none beside the login, or where
    /// nobody asked for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The number of the account in the forge's database, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_id: Option<u64>,
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
            id: String::new(),
            database_id: None,
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
        /// Its display name, where it is known and set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A bot.
    Bot {
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
    /// An account of which only the login is known.
    pub fn user(login: impl Into<String>) -> Self {
        Self::User {
            login: login.into(),
            name: None,
        }
    }

    /// From what a user types: `login`, or `org/team`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.contains('/') {
            Self::Team {
                slug: text.to_owned(),
                name: None,
            }
        } else {
            Self::user(text)
        }
    }

    /// The login or `org/slug`.
    #[must_use]
    pub fn handle(&self) -> &str {
        match self {
            Self::User { login, .. } | Self::Bot { login } => login,
            Self::Team { slug, .. } => slug,
        }
    }
}
