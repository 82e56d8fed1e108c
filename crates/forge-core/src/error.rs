//! The error type of the whole workspace.
//!
//! Every failure has a stable code, a sentence with cause and effect, an optional recovery, and a
//! [`Retry`] class. A backend maps the errors of its forge to [`ErrorKind`] in one place. The CLI
//! maps kinds to exit codes, and the MCP server renders the same value as a structured result.

use std::{error::Error as StdError, fmt, time::Duration};

use crate::{Capability, Hint, Timestamp};

/// `Result` with [`Error`]; `Result<(), Error>` is one pointer wide.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of thing that a failed lookup searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Noun {
    /// A repository.
    Repo,
    /// A pull request.
    PullRequest,
    /// An issue.
    Issue,
    /// A branch or another ref.
    Branch,
    /// A commit.
    Commit,
    /// A comment.
    Comment,
    /// A review thread.
    Thread,
    /// A label.
    Label,
    /// An account.
    Account,
    /// An atproto record of an account.
    Record,
    /// Anything else; the message names it.
    Other,
}

/// Reason why an operation cannot run in the pull request's current state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precondition {
    /// The pull request is a draft.
    Draft,
    /// The pull request is closed and not merged.
    Closed,
    /// The pull request is already merged.
    Merged,
    /// The pull request is already open.
    Open,
    /// Head and base conflict in these files (paths as git prints them, lossy UTF-8).
    Conflicts(Vec<String>),
    /// The base already contains every commit of the head.
    NothingToMerge,
    /// Another pull request of the stack has to be merged first.
    Stacked,
    /// A rule of the forge or the repository forbids the operation. The message names the rule.
    Rule,
    /// These files have changes in a work tree that has the branch checked out, which blocks the
    /// operation. If the list is empty, an unfinished git operation in the work tree blocks it.
    WorkTree(Vec<String>),
}

/// The kind of value that somebody else changed after the caller had read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Changed {
    /// The head of a pull request. The expected and the actual value are commit ids.
    Head,
    /// The base branch or its tip.
    Base,
    /// Another git ref.
    Ref,
    /// A stored object. The expected and the actual value are versions (a CID, a commit id, a
    /// time).
    Record,
    /// Something that was shown to the caller: a page of a list or of a diff, or a state that the
    /// user has confirmed.
    View,
}

/// The class of a failure, with the data that a caller needs to react.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The object does not exist, or the viewer may not see it.
    NotFound {
        /// The kind of thing looked up.
        what: Noun,
    },
    /// Credentials are missing, or the forge refuses them.
    Unauthenticated {
        /// The host that requires credentials.
        host: String,
    },
    /// The account lacks the permission.
    PermissionDenied {
        /// Missing scopes or roles, in the forge's names.
        missing: Vec<String>,
        /// URL at which a browser can authorise the token for single sign-on.
        sso_url: Option<String>,
    },
    /// The forge limits the rate of requests.
    RateLimited {
        /// Name of the limit, in the forge's words.
        bucket: String,
        /// Time when the limit resets.
        reset: Option<Timestamp>,
    },
    /// A compare-and-swap failed because the value was not the expected one.
    Conflict {
        /// The value that changed.
        what: Changed,
        /// The value that the caller expected (a commit id, a version).
        expected: String,
        /// The value found.
        actual: String,
    },
    /// The object to create already exists.
    AlreadyExists {
        /// URL of the existing object, if it has one.
        existing: Option<String>,
    },
    /// An argument is invalid.
    InvalidInput {
        /// Name of the argument in `snake_case`, the same in Rust and MCP.
        field: Option<&'static str>,
    },
    /// The state of the pull request does not allow the operation.
    Precondition(Precondition),
    /// The forge does not support the operation.
    Unsupported {
        /// The missing capability.
        capability: Capability,
    },
    /// The forge answered with a server error.
    Upstream {
        /// HTTP status.
        status: u16,
        /// The forge's request id.
        request_id: Option<String>,
    },
    /// The answer of the forge, or a stored object, could not be parsed.
    Protocol,
    /// DNS, TCP or TLS failed, so no answer arrived.
    Network,
    /// The deadline passed.
    Timeout {
        /// Duration of the deadline.
        after: Duration,
    },
    /// The user cancelled.
    Cancelled,
    /// A git process failed.
    Git {
        /// Exit status, or -1 after a signal.
        status: i32,
    },
    /// The handle is in dry-run mode. The message describes the intended change.
    DryRun,
    /// The configuration is invalid.
    Config,
    /// A defect in this program.
    Internal,
}

impl ErrorKind {
    /// Returns the stable `snake_case` code, the same in `--json`, MCP and docs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::Unauthenticated { .. } => "unauthenticated",
            Self::PermissionDenied { .. } => "permission_denied",
            Self::RateLimited { .. } => "rate_limited",
            Self::Conflict { .. } => "conflict",
            Self::AlreadyExists { .. } => "already_exists",
            Self::InvalidInput { .. } => "invalid_input",
            Self::Precondition(_) => "precondition_failed",
            Self::Unsupported { .. } => "unsupported",
            Self::Upstream { .. } => "upstream",
            Self::Protocol => "protocol",
            Self::Network => "network",
            Self::Timeout { .. } => "timeout",
            Self::Cancelled => "cancelled",
            Self::Git { .. } => "git",
            Self::DryRun => "dry_run",
            Self::Config => "config",
            Self::Internal => "internal",
        }
    }
}

/// How useful a retry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// A retry does not help: the same call fails again.
    Never,
    /// A retry can succeed after this duration.
    After(Duration),
    /// A retry can succeed soon; nothing was written.
    Transient,
    /// The write may have happened, so read the state before a retry.
    Ambiguous,
}

struct Inner {
    kind: ErrorKind,
    op: Option<&'static str>,
    message: String,
    hint: Option<Hint>,
    context: Vec<(&'static str, String)>,
    retry: Retry,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// A failure of any operation, small enough to return by value.
///
/// `Display` prints only the message, on one line; [`Error::hint`] returns the recovery. `Debug`
/// prints all parts on several lines. Neither prints credentials, because no part comes from
/// request headers or from the token store.
pub struct Error(Box<Inner>);

impl Error {
    /// Creates an error. `message` is one sentence with cause, effect and the concrete values.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retry = match &kind {
            ErrorKind::Network | ErrorKind::Timeout { .. } => Retry::Transient,
            _ => Retry::Never,
        };
        Self(Box::new(Inner {
            kind,
            op: None,
            message: message.into(),
            hint: None,
            context: Vec::new(),
            retry,
            source: None,
        }))
    }

    /// Creates an [`ErrorKind::InvalidInput`] error for the argument `field`.
    #[must_use]
    pub fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput { field: Some(field) }, message)
    }

    /// Like [`Error::invalid`], for an argument `field` that names a branch which does not exist.
    #[must_use]
    pub fn no_branch(field: &'static str, message: impl Into<String>) -> Self {
        Self::invalid(field, message).with_context(WHAT, BRANCH)
    }

    /// Like [`Error::invalid`], for a branch that the argument `field` should create but that
    /// already exists.
    #[must_use]
    pub fn branch_exists(field: &'static str, message: impl Into<String>) -> Self {
        Self::invalid(field, message).with_context(EXISTING, BRANCH)
    }

    /// Creates an [`ErrorKind::NotFound`] error.
    #[must_use]
    pub fn not_found(what: Noun, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound { what }, message)
    }

    /// Creates an [`ErrorKind::Precondition`] error.
    #[must_use]
    pub fn precondition(why: Precondition, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Precondition(why), message)
    }

    /// Creates an [`ErrorKind::Unsupported`] error. `why` is the reason, a limit of the forge.
    /// `instead` is the nearest alternative.
    #[must_use]
    pub fn unsupported(capability: Capability, why: &str, instead: impl Into<Hint>) -> Self {
        Self::new(
            ErrorKind::Unsupported { capability },
            format!("{} is not possible here: {why}", capability.title()),
        )
        .with_hint(instead)
    }

    /// Adds the recovery. The renderers add the word "Recovery:".
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn add_to_message(mut self, more: &str) -> Self {
        self.0.message.push_str(more);
        self
    }

    /// Adds a concrete value by name, such as `("ref", "refs/forge/pulls/7")`.
    #[must_use]
    pub fn with_context(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.0.context.push((key, value.into()));
        self
    }

    /// Sets the name of the operation, unless an inner layer has set one.
    #[must_use]
    pub fn with_op(mut self, op: &'static str) -> Self {
        self.0.op.get_or_insert(op);
        self
    }

    /// Sets the retry class.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// Stores the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Returns the class with its data.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the stable code of the class.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// Returns the sentence with cause and effect.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the recovery.
    #[must_use]
    pub fn hint(&self) -> Option<&Hint> {
        self.0.hint.as_ref()
    }

    /// Returns the name of the operation, as in [`crate::Op::name`].
    #[must_use]
    pub fn op(&self) -> Option<&'static str> {
        self.0.op
    }

    /// Returns the concrete values with their names.
    #[must_use]
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// Returns the retry class.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// Returns true for [`ErrorKind::NotFound`].
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self.0.kind, ErrorKind::NotFound { .. })
    }

    /// Returns true if [`Error::no_branch`] made this error for the argument `field`.
    #[must_use]
    pub fn is_no_branch(&self, field: &str) -> bool {
        self.marks_branch(field, WHAT)
    }

    /// Returns true if [`Error::branch_exists`] made this error for the argument `field`.
    #[must_use]
    pub fn is_branch_exists(&self, field: &str) -> bool {
        self.marks_branch(field, EXISTING)
    }

    fn marks_branch(&self, field: &str, key: &str) -> bool {
        matches!(self.0.kind, ErrorKind::InvalidInput { field: Some(of) } if of == field)
            && self.0.context.iter().any(|(k, v)| *k == key && v == BRANCH)
    }
}

/// Context key. Its value is the kind of object that an argument names but that does not exist.
const WHAT: &str = "what";
/// Context key. Its value is the kind of object that an argument should create but that exists
/// already.
const EXISTING: &str = "existing";
/// Value of [`WHAT`] and [`EXISTING`] for a branch.
const BRANCH: &str = "branch";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} [{}]", self.0.message, self.code())?;
        if let Some(op) = self.0.op {
            writeln!(f, "  op: {op}")?;
        }
        for (key, value) in &self.0.context {
            writeln!(f, "  {key}: {value}")?;
        }
        writeln!(f, "  retry: {:?}", self.0.retry)?;
        if let Some(source) = &self.0.source {
            writeln!(f, "  source: {source}")?;
        }
        if let Some(hint) = &self.0.hint {
            writeln!(f, "  Recovery: {hint}")?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|s| s as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_has_the_size_of_a_pointer() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn missing_existing_and_invalid_branch_differ() {
        let missing = Error::no_branch("head", "there is no branch 'x'");
        assert_eq!(missing.code(), "invalid_input");
        assert!(missing.is_no_branch("head") && !missing.is_no_branch("base"));
        let large = Error::invalid("head", "the patch is too large");
        assert!(!large.is_no_branch("head"));
        let existing = Error::branch_exists("head", "the branch 'x' already exists");
        assert!(existing.is_branch_exists("head") && !existing.is_no_branch("head"));
    }

    #[test]
    fn display_is_message_and_debug_is_complete() {
        let e = Error::invalid("title", "title is empty")
            .with_hint("pass --title")
            .with_context("ref", "refs/forge/pulls/7")
            .with_op("pr.create")
            .with_op("outer");
        assert_eq!(e.to_string(), "title is empty");
        let debug = format!("{e:?}");
        assert!(debug.contains("invalid_input") && debug.contains("Recovery: pass --title"));
        assert!(debug.contains("refs/forge/pulls/7"));
        assert_eq!(e.op(), Some("pr.create"));
    }
}
