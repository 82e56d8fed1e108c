use serde::{Deserialize, Serialize};

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Actor {
    /// Name on the forge: a login, a handle or a DID. For a local repository, the part of the git
    /// e-mail address before the `@`.
    pub login: String,
    /// Display name, if known and set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// E-mail address. Known for local repositories, rarely for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The forge's internal id (a node id, a DID). Empty if the forge uses only the login, or if
    /// the id was not requested.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Number of the account in the forge's database, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_id: Option<u64>,
    /// True if the account is a bot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bot: bool,
    /// True for the stand-in for a deleted account. Nobody is behind its login.
    #[serde(skip)]
    pub deleted: bool,
}

impl Actor {
    /// Builds an account of which only the login is known.
    pub fn new(login: impl Into<String>) -> Self {
        Self {
            login: login.into(),
            name: None,
            email: None,
            id: String::new(),
            database_id: None,
            bot: false,
            deleted: false,
        }
    }
}

/// An account, bot or team whose review is requested.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reviewer {
    /// An account.
    User {
        /// Login.
        login: String,
        /// Display name, if known and set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A bot.
    Bot {
        /// Login.
        login: String,
    },
    /// A team.
    Team {
        /// `org/slug`.
        slug: String,
        /// Display name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

impl Reviewer {
    /// Returns a reviewer account of which only the login is known.
    pub fn user(login: impl Into<String>) -> Self {
        Self::User {
            login: login.into(),
            name: None,
        }
    }

    /// Parses user input: `login`, or `org/team`.
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

    /// Returns the login or `org/slug`.
    #[must_use]
    pub fn handle(&self) -> &str {
        match self {
            Self::User { login, .. } | Self::Bot { login } => login,
            Self::Team { slug, .. } => slug,
        }
    }
}
