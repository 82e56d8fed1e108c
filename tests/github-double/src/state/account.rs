//! Accounts, teams and tokens.

use std::{collections::BTreeMap, fmt};

use super::Id;

/// Kind of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    /// A person.
    User,
    /// An organisation.
    Organization,
    /// A GitHub App's bot.
    Bot,
}

/// Permissions of an account in a repository, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Read.
    Read,
    /// Read, label and close issues and pull requests.
    Triage,
    /// Push and merge.
    Write,
    /// Manage all settings except dangerous ones.
    Maintain,
    /// Everything.
    Admin,
}

impl Permission {
    /// Returns GitHub's name of the permission.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Triage => "TRIAGE",
            Self::Write => "WRITE",
            Self::Maintain => "MAINTAIN",
            Self::Admin => "ADMIN",
        }
    }
}

/// A user, an organisation or a bot.
#[derive(Debug, Clone)]
pub struct Account {
    /// Number of the account.
    pub id: Id,
    /// Login.
    pub login: String,
    /// Display name.
    pub name: Option<String>,
    /// Kind.
    pub kind: AccountKind,
    /// Members of an organisation, with their permission in its repositories.
    pub members: BTreeMap<Id, Permission>,
    /// Tokens must be authorised for this organisation through its SAML provider.
    pub sso: bool,
    /// Time of creation.
    pub created_at: String,
}

/// A team of an organisation.
#[derive(Debug, Clone)]
pub struct Team {
    /// Number of the team.
    pub id: Id,
    /// The organisation.
    pub org: Id,
    /// Name.
    pub name: String,
    /// Name in URLs.
    pub slug: String,
    /// Members.
    pub members: Vec<Id>,
    /// Time of creation.
    pub created_at: String,
}

/// An access token and its scopes.
#[derive(Clone)]
pub struct Token {
    /// Account of the token.
    pub account: Id,
    /// Scopes of a classic token; `None` for a fine-grained token.
    pub scopes: Option<Vec<String>>,
    /// True for a fine-grained token that may only read.
    pub read_only: bool,
    /// True for a fine-grained token without permission to read an organisation's members and
    /// teams.
    pub no_teams: bool,
    /// Organisations with single sign-on for which the token is authorised.
    pub authorised: Vec<Id>,
    /// True for a revoked token, which is answered like an unknown token.
    pub revoked: bool,
    /// Points left in the hourly budget.
    pub remaining: u64,
}

/// Points per hour of a person's token.
pub(crate) const POINTS_AN_HOUR: u64 = 5_000;

impl Token {
    /// Returns true if a classic token has any of the scopes, or the token is fine-grained.
    pub fn has_scope(&self, any_of: &[&str]) -> bool {
        self.scopes
            .as_ref()
            .is_none_or(|scopes| scopes.iter().any(|scope| any_of.contains(&scope.as_str())))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("account", &self.account)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
