//! Accounts, teams and tokens.

use std::{collections::BTreeMap, fmt};

use super::Id;

/// Kind of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    /// A person's account.
    User,
    /// An organisation's account.
    Organization,
    /// The bot account of a GitHub App.
    Bot,
}

/// Permissions of an account in a repository, from lowest to highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// May read.
    Read,
    /// May also label and close issues and pull requests.
    Triage,
    /// May also push and merge.
    Write,
    /// May also manage all settings, except dangerous ones.
    Maintain,
    /// May do everything.
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
    /// Login of the account.
    pub login: String,
    /// Display name of the account.
    pub name: Option<String>,
    /// Kind of the account.
    pub kind: AccountKind,
    /// Members of an organisation, with their permission in its repositories.
    pub members: BTreeMap<Id, Permission>,
    /// True if tokens must be authorised for this organisation through its SAML provider.
    pub sso: bool,
    /// True if the account has a verified e-mail address, which auto-merge requires.
    pub has_verified_email: bool,
    /// Time at which the account was created.
    pub created_at: String,
}

/// A team of an organisation.
#[derive(Debug, Clone)]
pub struct Team {
    /// Number of the team.
    pub id: Id,
    /// The organisation to which the team belongs.
    pub org: Id,
    /// Display name of the team.
    pub name: String,
    /// Name of the team in URLs.
    pub slug: String,
    /// Members of the team.
    pub members: Vec<Id>,
    /// Time at which the team was created.
    pub created_at: String,
}

/// An access token: its account, its scopes and its remaining points.
#[derive(Clone)]
pub struct Token {
    /// Account to which the token belongs.
    pub account: Id,
    /// Scopes of a classic token; `None` for a fine-grained token.
    pub scopes: Option<Vec<String>>,
    /// True for a fine-grained token that may only read.
    pub read_only: bool,
    /// True for a fine-grained token without permission to read an organisation's members and
    /// teams.
    pub no_teams: bool,
    /// Organisations with single sign-on that accept the token.
    pub authorised: Vec<Id>,
    /// True for a revoked token. The double answers as for an unknown token.
    pub revoked: bool,
    /// Points that are left in the hourly budget.
    pub remaining: u64,
}

/// Points per hour that a person's token has.
pub(crate) const POINTS_AN_HOUR: u64 = 5_000;

impl Token {
    /// Returns true if a classic token has any of the scopes, or if the token is fine-grained.
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
