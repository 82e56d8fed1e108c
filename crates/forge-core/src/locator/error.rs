use super::ForgeKind;
use crate::{Action, Call, Error, Hint, Op, Param, TOKEN_PREFIXES};

/// Value of `what` in [`ParseLocatorError::NotAPullRequest`] if the input names an issue.
pub(super) const AN_ISSUE: &str = "an issue";

/// Reason why a text is not a locator.
///
/// Error messages repeat the input in a sanitised form: shortened, without credentials, and with
/// control and invisible characters escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseLocatorError {
    /// The input is empty.
    #[error("the locator is empty")]
    Empty,
    /// The input is longer than any locator.
    #[error("the locator has {length} bytes, more than the {max} that are read")]
    TooLong {
        /// Length in bytes.
        length: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// The input matches no known form.
    #[error(
        "invalid repo format: '{input}'{why}. expected 'owner/repo', 'HOST/owner/repo', an https URL, \
         a git remote, 'gh:owner/repo', 'tangled:handle/repo', 'did:…', 'at://…', or a path \
         ('file:///…', './x')"
    )]
    InvalidRepo {
        /// The input, sanitised for a message.
        input: String,
        /// The reason in parentheses, or an empty text.
        why: String,
    },
    /// The scheme of the URL cannot name a repository.
    #[error("the scheme '{scheme}' does not name a repository")]
    UnsupportedScheme {
        /// The scheme, sanitised for a message.
        scheme: String,
    },
    /// The host is neither an ASCII name, nor an IPv4 address, nor an IPv6 address in brackets.
    #[error("'{host}' is not a valid host: {why}")]
    InvalidHost {
        /// The host, sanitised for a message.
        host: String,
        /// Why the host is invalid.
        why: &'static str,
    },
    /// The kind of the forge at this host is unknown.
    #[error("no forge is known at the host '{host}'")]
    UnknownHost {
        /// The host, with its port unless it is the default port.
        host: String,
    },
    /// The locator begins with the name of one kind of forge, but the host has another kind.
    #[error("'{host}' is a {known} host, not {asked}")]
    WrongKind {
        /// The host.
        host: String,
        /// The kind of the forge at this host.
        known: ForgeKind,
        /// The kind that the input names.
        asked: ForgeKind,
    },
    /// The `file:` URL names another machine or has a query.
    #[error("'{input}' is not a usable file URL: {why}")]
    InvalidFileUrl {
        /// The input, sanitised for a message.
        input: String,
        /// Why the URL is refused.
        why: &'static str,
    },
    /// No file system can have this path, or its percent-encoding is invalid.
    #[error("'{input}' is not a usable path: {why}")]
    InvalidPath {
        /// The input, sanitised for a message.
        input: String,
        /// Why the path is refused.
        why: &'static str,
    },
    /// The text is not a valid DID, handle or at-uri.
    #[error("'{input}' is not a valid {what}: {why}")]
    InvalidAtproto {
        /// `DID`, `at-uri` or `handle`.
        what: &'static str,
        /// The input, sanitised for a message.
        input: String,
        /// Why the DID, handle or at-uri is invalid.
        why: &'static str,
    },
    /// The at-uri names a record that is not a repository, pull request or issue.
    #[error("a record of '{collection}' is not a repository, pull request or issue")]
    UnsupportedRecord {
        /// The record's collection.
        collection: String,
    },
    /// The number of the pull request or issue is not in `1..=u64::MAX`.
    #[error("'{number}' is not a valid number of a pull request or an issue")]
    InvalidNumber {
        /// The number, sanitised for a message.
        number: String,
    },
    /// The input names two objects, such as the URL of an issue followed by `#7`.
    #[error("'{input}' names two things at once")]
    TwoTargets {
        /// The input, sanitised for a message.
        input: String,
    },
    /// Git refuses the name of the branch.
    #[error("'{branch}' is not a valid branch name: {why}")]
    InvalidBranch {
        /// The branch, sanitised for a message.
        branch: String,
        /// Why git refuses the name.
        why: &'static str,
    },
    /// The input names a repository or an issue where a pull request is required.
    #[error("'{input}' names {what}, not a pull request")]
    NotAPullRequest {
        /// The input, sanitised for a message.
        input: String,
        /// `a repository` or `an issue`.
        what: &'static str,
    },
}

impl ParseLocatorError {
    /// Returns a hint on how to correct the input.
    #[must_use]
    pub fn hint(&self) -> Hint {
        Hint::new(match self {
            Self::UnknownHost { host } => {
                let login = Action::new(Call::Login)
                    .with(Param::Host, host)
                    .with(Param::Kind, "github");
                return Hint::new(
                    "if you trust the host, log in to it and name its kind, github or tangled; \
                     otherwise name another repository, or pass 'local:.' to use the repository in \
                     this directory without a forge",
                )
                .with_action(login);
            }
            Self::WrongKind { known, host, .. } => {
                return format!("write '{known}:{host}/owner/repo', or leave the prefix out")
                    .into();
            }
            Self::Empty => {
                "name a repository as 'owner/repo', as a URL or as a path, such as 'local:.' for \
                 the repository in the current directory"
            }
            Self::TooLong { .. } => "pass only the repository, as 'owner/repo' or its URL",
            Self::InvalidRepo { .. } => {
                "write 'owner/repo', or paste the URL of the repository or the pull request; for a \
                 directory write './name'"
            }
            Self::UnsupportedScheme { .. } => "use an https, ssh, git, file or at URL",
            Self::InvalidHost { .. } => {
                "write the host in plain ASCII, such as 'github.com' or 'git.example.org:8443'"
            }
            Self::InvalidFileUrl { .. } => {
                "write 'file:///' and the absolute path, with '?' as '%3F', '#' as '%23' and '%' \
                 as '%25'"
            }
            Self::InvalidPath { .. } => {
                "in 'file:' and 'local:' write '%' as '%25'; or pass './name', which is not decoded"
            }
            Self::InvalidAtproto { .. } => {
                "write a DID as 'did:plc:…', a repository as 'handle.example/repo', and an at-uri as 'at://<did or handle>/<collection>/<rkey>'"
            }
            Self::UnsupportedRecord { .. } => {
                "use the at-uri of the repository, the pull request or the issue itself"
            }
            Self::InvalidNumber { .. } => "write the number that the forge shows, such as '#7'",
            Self::TwoTargets { .. } => "keep either the page's URL or the '#' suffix, not both",
            Self::InvalidBranch { .. } => {
                "write a valid branch name, or the number or URL of a pull request"
            }
            Self::NotAPullRequest { input, what } if *what == AN_ISSUE => {
                // A shortened input ends with `…` and would name another issue, so the hint then
                // has no command to run.
                let view = || Action::op(Op::IssueView).on(input);
                return Hint::new("view the issue, or name a pull request")
                    .with_any_action((!input.ends_with('…')).then(view));
            }
            Self::NotAPullRequest { .. } => {
                "add the number of the pull request, such as 'owner/repo#7'"
            }
        })
    }

    pub(super) fn invalid(input: &str) -> Self {
        Self::InvalidRepo {
            input: sanitize_input(input),
            why: String::new(),
        }
    }

    pub(super) fn invalid_because(input: &str, why: &str) -> Self {
        Self::InvalidRepo {
            input: sanitize_input(input),
            why: format!(" ({why})"),
        }
    }
}

/// Maximum length of an input repeated in a message, in characters.
const MAX_INPUT_CHARS: usize = 120;

/// Sanitises an input for a message: removes credentials, escapes control and invisible characters,
/// and shortens the text.
pub(super) fn sanitize_input(input: &str) -> String {
    let mut out = String::new();
    let mut rest = without_credentials(input).into_iter().flat_map(|part| {
        part.chars().flat_map(|c| {
            // `escape_debug` would also escape quotes and backslashes, which do no harm in a
            // message.
            let plain = matches!(c, '\'' | '"' | '\\');
            let escaped = (!plain).then(|| c.escape_debug());
            escaped.into_iter().flatten().chain(plain.then_some(c))
        })
    });
    out.extend(rest.by_ref().take(MAX_INPUT_CHARS));
    if rest.next().is_some() {
        out.push('…');
    }
    out
}

/// Returns the parts of the input. `***` replaces the userinfo, the query, and text that looks like
/// a GitHub token.
fn without_credentials(input: &str) -> Vec<&str> {
    const MASK: &str = "***";
    let (scheme, rest) = match input.find("://") {
        Some(at) => input.split_at(at + 3),
        None => ("", input),
    };
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..authority_end).unwrap_or_default();
    let port_is_odd = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.bytes().all(|b| b.is_ascii_digit()));
    // A password may contain an unescaped slash, as in `user:pass/word@host`. The text before the
    // slash then contains a colon that no port follows, and the userinfo ends at the last `@`.
    let userinfo_end = match authority.rfind('@') {
        Some(at) => Some(at),
        None if port_is_odd => rest.rfind('@'),
        None => None,
    };
    let (userinfo, rest) = match userinfo_end {
        Some(at) => rest.split_at(at),
        None => ("", rest),
    };
    let mut parts = vec![scheme];
    if matches!(userinfo, "" | "git") {
        parts.push(userinfo);
    } else {
        parts.push(MASK);
    }
    let (before_query, query) = match rest.find('?') {
        Some(at) => rest.split_at(at + 1),
        None => (rest, ""),
    };
    let token = TOKEN_PREFIXES
        .iter()
        .filter_map(|prefix| before_query.find(prefix))
        .min();
    match token {
        Some(at) => parts.extend([before_query.get(..at).unwrap_or_default(), MASK]),
        None => parts.push(before_query),
    }
    if !query.is_empty() {
        parts.push(MASK);
    }
    parts
}

impl From<ParseLocatorError> for Error {
    fn from(e: ParseLocatorError) -> Self {
        Self::invalid("repo", e.to_string())
            .with_hint(e.hint())
            .with_source(e)
    }
}
