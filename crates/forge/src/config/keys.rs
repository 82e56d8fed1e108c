//! The registry of configuration keys: for each key its meaning, the files that may set it, and the
//! variables that override it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use forge_context::TicketPattern;
use forge_core::locator::Hosts;

use super::{
    Var,
    dialect::{self, AUDIENCES, NSIDS, WORDS},
};
use crate::registry::ACCOUNT_KINDS;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueType {
    /// A word of this list.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Bool,
    /// A whole number of seconds, from 1 to a day.
    Seconds,
    /// A host, optionally with a port.
    Host,
    /// An `https://` URL, or `http://` to this machine.
    Url,
    /// An IP address, optionally with a port.
    Address,
    /// An NSID: a dotted name in the atproto protocol, optionally with a fragment.
    Nsid,
    /// A name in tangled's protocol that is a single word.
    Identifier,
    /// A non-empty line.
    Text,
    /// One line of text. A trailing space is part of the value.
    Prefix,
    /// A command line; empty for "none".
    Command,
    /// The name of an environment variable, as `${NAME}`.
    Variable,
    /// Keys of JIRA projects.
    Projects,
    /// Regular expressions for the keys of JIRA tickets.
    Patterns,
    /// A whole number, from 0 to a million.
    Count,
    /// Several words of this list.
    Words(&'static [&'static str]),
    /// Names or paths of directories and files.
    Paths,
}

const MAX_COUNT: u64 = 1_000_000;

/// Maximum number of projects or patterns in a list.
const MAX_LISTED: usize = 50;

/// Maximum timeout, in seconds: one day.
const MAX_SECONDS: u64 = 86_400;

impl ValueType {
    /// Returns true if a file may give the value as an array.
    pub(super) const fn is_list(self) -> bool {
        matches!(
            self,
            Self::Projects | Self::Patterns | Self::Words(_) | Self::Paths
        )
    }

    /// Describes the accepted values, to complete a sentence such as "the key takes …".
    #[must_use]
    pub fn accepts(self) -> String {
        match self {
            Self::Word(words) => words
                .iter()
                .map(|w| format!("`{w}`"))
                .collect::<Vec<_>>()
                .join(", "),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Seconds => format!("a whole number of seconds from 1 to {MAX_SECONDS}"),
            Self::Host => {
                "a host, optionally with a port, such as `git.example.org:8443`".to_owned()
            }
            Self::Url => {
                "an `https://` URL without credentials (`http://` only to this machine)".to_owned()
            }
            Self::Address => {
                "an IP address, optionally with a port, such as `192.0.2.53` or `127.0.0.1:5353`"
                    .to_owned()
            }
            Self::Nsid => "an NSID, such as `org.example.repo.merge`".to_owned(),
            Self::Identifier => "a word, such as `createdAt`".to_owned(),
            Self::Text => "one line of text".to_owned(),
            Self::Prefix => "one line of text; a space at its end counts".to_owned(),
            Self::Command => "a command line, or an empty text for none".to_owned(),
            Self::Variable => "an environment variable, such as `${JIRA_TOKEN}`".to_owned(),
            Self::Projects => format!("a list of at most {MAX_LISTED} keys of projects"),
            Self::Patterns => format!(
                "a list of at most {MAX_LISTED} regular expressions over ASCII, of at most 200 \
                 characters each and without spaces"
            ),
            Self::Count => format!("a whole number from 0 to {MAX_COUNT}"),
            Self::Words(words) => {
                let words: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
                format!("a list of {}", words.join(", "))
            }
            Self::Paths => {
                format!("a list of at most {MAX_LISTED} names, paths or globs, each without spaces")
            }
        }
    }

    /// Returns the canonical form of `text`, if it is a valid value of this type.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<String> {
        let word = text.trim();
        match self {
            Self::Word(words) => words
                .iter()
                .find(|w| w.eq_ignore_ascii_case(word))
                .map(|w| (*w).to_owned()),
            Self::Bool => match word.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" | "enabled" => Some("true".to_owned()),
                "false" | "no" | "off" | "0" | "disabled" => Some("false".to_owned()),
                _ => None,
            },
            Self::Seconds => word
                .parse::<u64>()
                .ok()
                .filter(|n| (1..=MAX_SECONDS).contains(n))
                .map(|n| n.to_string()),
            Self::Host => Hosts::normalise(word).ok(),
            Self::Url => is_endpoint(word).then(|| word.trim_end_matches('/').to_owned()),
            Self::Address => {
                let address = word.parse::<IpAddr>().map(|it| it.to_string());
                let with_port = || word.parse::<SocketAddr>().map(|it| it.to_string());
                address.or_else(|_| with_port()).ok()
            }
            Self::Nsid => dialect::is_nsid(word).then(|| word.to_owned()),
            Self::Identifier => dialect::is_word(word).then(|| word.to_owned()),
            Self::Text => {
                (!word.is_empty() && !word.contains(char::is_control)).then(|| word.to_owned())
            }
            Self::Prefix => {
                (!word.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
            }
            Self::Command => (!text.contains(['\0', '\n', '\r'])).then(|| word.to_owned()),
            Self::Variable => variable_name(word).map(|_| word.to_owned()),
            Self::Projects => listed(word, is_project),
            Self::Patterns => listed(word, |part| TicketPattern::parse(part).is_some()),
            Self::Count => {
                let count = word.parse::<u64>().ok().filter(|n| *n <= MAX_COUNT);
                count.map(|n| n.to_string())
            }
            Self::Words(words) => listed(&word.replace(',', " "), |part| words.contains(&part)),
            Self::Paths => listed(&word.replace(',', " "), |part| {
                !part.contains(char::is_control)
            }),
        }
    }
}

/// Returns the name in `${NAME}`.
#[must_use]
pub fn variable_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

/// Returns the elements of the list in `text`, joined by single spaces, if all elements are valid.
fn listed(text: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    let is_list = (1..=MAX_LISTED).contains(&parts.len()) && parts.iter().all(|part| fits(part));
    is_list.then(|| parts.join(" "))
}

fn is_project(text: &str) -> bool {
    let is_key = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    text.starts_with(|c: char| c.is_ascii_uppercase()) && text.bytes().all(is_key)
}

/// Returns true if tokens may be sent to this URL: `https`, or `http` to this machine.
fn is_endpoint(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let Ok(host) = Hosts::normalise(authority) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host.as_str(),
    };
    let here = name == "localhost"
        || name == "[::1]"
        || name
            .parse::<Ipv4Addr>()
            .is_ok_and(|addr| addr.is_loopback());
    !rest.contains(|c: char| c.is_control() || c.is_whitespace() || matches!(c, '?' | '#' | '\\'))
        && (scheme == "https" || (scheme == "http" && here))
}

/// The files that may set a key, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScope {
    /// Only `config.toml`. The text explains how a value in `.forge.toml` could do harm.
    User(&'static str),
    /// `config.toml` and `.forge.toml`. The text explains why a stranger's value is harmless.
    Repo(&'static str),
}

/// A configuration key.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ConfigKey {
    /// Dotted name. The placeholder `<host>` means any host. `<nsid>` and `<word>` mean one of the
    /// names in tangled's protocol that can be configured.
    pub name: &'static str,
    /// Type of the value.
    pub ty: ValueType,
    /// Default value.
    pub default: Option<&'static str>,
    /// Files that may set the key.
    pub scope: KeyScope,
    /// Variables that override the files. The first variable that is set is used.
    pub env: &'static [Var],
    /// Variables that are used if no file sets the key.
    pub fallback: &'static [Var],
    /// The value that the key gets if one of its variables is set, whatever the text of the
    /// variable is.
    pub env_means: Option<&'static str>,
    /// True if the value may name an environment variable, as `${NAME}`.
    pub expands: bool,
    /// Description in one sentence.
    pub doc: &'static str,
}

impl ConfigKey {
    /// Returns the canonical form of `text`, if valid. If the key allows `${NAME}` and `text` has
    /// this form, returns it unchanged.
    #[must_use]
    pub fn parse(&self, text: &str) -> Option<String> {
        let name = variable_name(text.trim()).filter(|_| self.expands);
        name.map_or_else(|| self.ty.parse(text), |_| Some(text.trim().to_owned()))
    }

    /// Returns all names of the key, with `<nsid>` and `<word>` filled in. The placeholder `<host>`
    /// is not replaced.
    fn names(&self) -> Vec<String> {
        let of = |part: &str, words: &[&str]| {
            let words = words.iter().map(|word| self.name.replace(part, word));
            words.collect::<Vec<_>>()
        };
        match self.name {
            name if name.ends_with("<nsid>") => of("<nsid>", NSIDS),
            name if name.ends_with("<word>") => of("<word>", WORDS),
            name => vec![name.to_owned()],
        }
    }
}

const DEFAULTS: ConfigKey = ConfigKey {
    name: "",
    ty: ValueType::Text,
    default: None,
    scope: YOURS,
    env: &[],
    fallback: &[],
    env_means: None,
    expands: false,
    doc: "",
};

// Reasons why `.forge.toml` must not set a key.

const RUNS: KeyScope =
    KeyScope::User("a repository must not choose a command that runs on your machine");
const SENDS: KeyScope = KeyScope::User("a repository must not choose where your tokens are sent");
const WRITES: KeyScope =
    KeyScope::User("a repository must not choose what is written in your name");
const YOURS: KeyScope = KeyScope::User("how the program behaves in your terminal is your choice");
const WAITS: KeyScope = KeyScope::User("a repository must not choose how long your commands run");
const ASKS: KeyScope =
    KeyScope::User("a repository must not choose what is asked of your issue tracker");
const BUNDLES: KeyScope = KeyScope::User(
    "a repository must not choose what you are shown of a pull request, and at what cost",
);
const MOVES: KeyScope =
    KeyScope::User("a repository must not choose which issues your commands move, and where to");

/// Release dates of tangled's index at which the set of ingested collections changed. A test
/// compares the dates with the dates in the backend.
const INDEX_DATES: &[&str] = &[
    "2025-10", "2025-12", "2026-05", "2026-06", "2026-07", "2026-10",
];

/// Names of the sections of a context bundle (`forge pr context`). A test compares them with the
/// sections of the model.
const SECTIONS: &[&str] = &[
    "comments",
    "reviews",
    "ci",
    "ci_logs",
    "linked_issues",
    "related_prs",
    "diff",
    "files",
    "history",
    "source",
];

/// The keys, in the order of the docs.
pub const KEYS: &[ConfigKey] = &[
    ConfigKey {
        name: "default_host",
        ty: ValueType::Host,
        default: Some("github.com"),
        scope: SENDS,
        env: &[Var::ForgeHost, Var::GhHost],
        doc: "The host that `owner/repo` means.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.kind",
        ty: ValueType::Word(ACCOUNT_KINDS),
        scope: SENDS,
        doc: "Which forge runs at this host. Naming a kind is what makes a host known.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.account",
        scope: KeyScope::User("a repository must not choose with which account you act"),
        doc: "The account to use at this host, one of `forge auth status`; else the active one.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.api_url",
        ty: ValueType::Url,
        scope: SENDS,
        expands: true,
        doc: "Root of the API, if it is not the default of the kind (github: `https://<host>/api/v3`; tangled: as `index_url`, which wins).",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.graphql_url",
        ty: ValueType::Url,
        scope: SENDS,
        doc: "The GraphQL endpoint of a github host, if it is not `https://<host>/api/graphql`.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.index_url",
        ty: ValueType::Url,
        scope: SENDS,
        env: &[Var::TangledIndexUrl],
        doc: "The index of a tangled host, if it is not `https://api.tangled.org`.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.index_date",
        ty: ValueType::Word(INDEX_DATES),
        scope: SENDS,
        doc: "The release date of a tangled host's index. Before a write, `forge` says what an index of this date does not ingest; such a write is reported as `pds_only` at once. Without a date, `2026-10` holds for `https://api.tangled.org`, and nothing is claimed of another index.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.web_url",
        ty: ValueType::Url,
        scope: SENDS,
        env: &[Var::TangledWebUrl],
        doc: "The web pages of a tangled host; only these number pull requests.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.backlinks_url",
        ty: ValueType::Url,
        scope: SENDS,
        env: &[Var::TangledBacklinksUrl],
        doc: "The index of backlinks to ask if the index of a tangled host does not answer; it has no default if the services are on this machine.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.plc_url",
        ty: ValueType::Url,
        scope: SENDS,
        env: &[Var::TangledPlcUrl],
        doc: "The directory of `did:plc` identities for a tangled host.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.resolver_url",
        ty: ValueType::Url,
        scope: SENDS,
        env: &[Var::TangledResolverUrl],
        doc: "A personal data server that resolves handles for a tangled host, in place of DNS and the handles' own hosts.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.dns_server",
        ty: ValueType::Address,
        scope: SENDS,
        env: &[Var::TangledDnsServer],
        doc: "The name server for looking up handles of a tangled host, with port 53 by default; else the system's.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.pds_url",
        ty: ValueType::Url,
        scope: SENDS,
        env: &[Var::TangledPdsUrl],
        doc: "The personal data server of the account at a tangled host, in place of the one that its identity names.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.private_addresses",
        ty: ValueType::Bool,
        scope: SENDS,
        env: &[Var::TangledPrivateAddresses],
        doc: "Allow knots and servers of a tangled host at private names and addresses, as in a company's own network.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.knot_of",
        ty: ValueType::Host,
        scope: SENDS,
        doc: "The tangled host, such as `tangled.org`, of which this host is a knot: git remotes at this host are repositories of that host.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.draft_marker",
        ty: ValueType::Text,
        scope: WRITES,
        doc: "The text before the title that marks a draft at a tangled host, such as `[draft]`, of at most 32 characters; without it, drafts are not supported there.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.verdict_comments",
        ty: ValueType::Bool,
        scope: WRITES,
        doc: "Write and read approvals and requests for changes at a tangled host as comments whose first line names the verdict and the round; without it, verdicts are not supported there.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.dialect.<nsid>",
        ty: ValueType::Nsid,
        scope: WRITES,
        doc: "The new name of a collection, a method or a type of tangled's protocol, at a host that has renamed it: the key is one of the names with dots in [tangled.md](tangled.md#when-a-name-of-the-protocol-changes).",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.dialect.<word>",
        ty: ValueType::Identifier,
        scope: WRITES,
        doc: "The new name of a field or a state of tangled's protocol at such a host: the key is one of the names without dots in the same table.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "hosts.<host>.dialect.audience",
        ty: ValueType::Word(AUDIENCES),
        scope: SENDS,
        doc: "The audience of the token for a write to a repository of Tangled 1.0. A token for the other audience is never requested. Default: the knot.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "pr.base",
        scope: KeyScope::Repo("it names one of its own branches"),
        doc: "The base branch of new pull requests, if it is not the default branch.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "pr.draft",
        ty: ValueType::Bool,
        scope: KeyScope::Repo("a draft can be marked as ready at any time"),
        default: Some("false"),
        doc: "Open new pull requests as drafts.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "merge.method",
        ty: ValueType::Word(&["merge", "squash", "rebase"]),
        scope: KeyScope::Repo(
            "the repository decides about its history, and the same changes are merged",
        ),
        doc: "The merge method if the command line names none; on a terminal, the preselected method.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "merge.delete_branch",
        ty: ValueType::Bool,
        scope: KeyScope::User("a repository must not choose what is deleted"),
        default: Some("false"),
        doc: "Delete the head branch after a merge.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "mcp.confirm_required",
        ty: ValueType::Bool,
        scope: KeyScope::User("a repository must not choose who is asked"),
        default: Some("false"),
        doc: "Let `forge mcp` refuse to merge, or to delete or rewrite a branch, if the client cannot ask the user.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "workflow.preset",
        scope: MOVES,
        ty: ValueType::Word(&["ralph", "small"]),
        default: Some("ralph"),
        doc: "The preset workflow of forge to use if `workflow.definition` is not set.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "workflow.definition",
        scope: MOVES,
        doc: "The file that defines the workflow: an absolute path, or `repo:PATH` for a file of the repository's default branch.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "workflow.store",
        scope: MOVES,
        ty: ValueType::Word(&["fields", "labels"]),
        doc: "Where workflow states are stored: `fields` (of a board on GitHub, of the issue itself in a git repository, labels with values on tangled) or `labels`, one for each state. With any `workflow` key, merges move issues.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "workflow.label_prefix",
        scope: MOVES,
        ty: ValueType::Prefix,
        doc: "The prefix of state labels, such as `state: `: an issue with the label `state: In Review` is in review.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "workflow.board",
        scope: MOVES,
        doc: "The GitHub project whose fields store the states, as `OWNER/NUMBER`.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "jira.enabled",
        scope: ASKS,
        ty: ValueType::Bool,
        default: Some("true"),
        expands: true,
        doc: "Search pull requests for ticket keys such as `PROJ-12`, and read the tickets from JIRA if it is configured.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "jira.base_url",
        scope: SENDS,
        ty: ValueType::Url,
        fallback: &[Var::JiraUrl],
        expands: true,
        doc: "The URL of JIRA, such as `https://acme.atlassian.net`; else the URL of `forge auth login --jira`.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "jira.email",
        scope: ASKS,
        expands: true,
        doc: "The e-mail address of the account at JIRA Cloud; without it, the server is taken for JIRA Data Center.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "jira.auth_token",
        scope: SENDS,
        ty: ValueType::Variable,
        default: Some("${JIRA_TOKEN}"),
        doc: "The variable with the token for JIRA; if the variable is not set, the token of `forge auth login --jira` is used.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "jira.project_keys",
        scope: ASKS,
        ty: ValueType::Projects,
        expands: true,
        doc: "The only projects whose keys are tickets, such as `[\"PROJ\", \"OPS\"]`; without it, every key is a ticket except names of standards such as `SHA-256`. If it names a variable that is not set, no key is a ticket.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "jira.key_patterns",
        scope: ASKS,
        ty: ValueType::Patterns,
        expands: true,
        doc: "Patterns of ticket keys, if not `[A-Z][A-Z0-9_]{1,9}-[0-9]+`.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.include",
        scope: BUNDLES,
        ty: ValueType::Words(SECTIONS),
        default: Some("comments reviews ci linked_issues diff"),
        expands: true,
        doc: "The sections of `pr context` and of the tool `pr_context` if the call names none.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.diff_context_lines",
        scope: BUNDLES,
        ty: ValueType::Count,
        default: Some("5"),
        expands: true,
        doc: "Lines of context in the hunks of a bundle, if git can compute the diff without a fetch; else the forge decides.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.cache_ttl_seconds",
        scope: BUNDLES,
        ty: ValueType::Count,
        default: Some("60"),
        expands: true,
        doc: "Seconds for which `forge mcp` caches a bundle; 0 disables the cache.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.rate_limit_buffer",
        scope: BUNDLES,
        ty: ValueType::Count,
        default: Some("100"),
        expands: true,
        doc: "Requests of the forge's rate limit to keep in reserve. With fewer left, a bundle leaves out logs, related pull requests, sources and the texts of linked issues, and says when to ask again.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.related_prs.strategies",
        scope: BUNDLES,
        ty: ValueType::Words(&["same_files", "same_branch_prefix", "linked_issues"]),
        default: Some("same_files same_branch_prefix linked_issues"),
        expands: true,
        doc: "The relations that count as related, besides building on each other.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.related_prs.max_related",
        scope: BUNDLES,
        ty: ValueType::Count,
        default: Some("5"),
        expands: true,
        doc: "Maximum number of related pull requests in a bundle.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.related_prs.lookback_days",
        scope: BUNDLES,
        ty: ValueType::Count,
        default: Some("30"),
        expands: true,
        doc: "Days without an update after which a closed pull request no longer counts as related.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.summary.high_risk_lines",
        scope: BUNDLES,
        ty: ValueType::Count,
        default: Some("500"),
        expands: true,
        doc: "More changed lines than this are a large change, which adds 2 to the risk.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.summary.medium_risk_lines",
        scope: BUNDLES,
        ty: ValueType::Count,
        default: Some("200"),
        expands: true,
        doc: "More changed lines than this, and no large change, add 1 to the risk.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.summary.critical_paths",
        scope: BUNDLES,
        ty: ValueType::Paths,
        default: Some("migrations migration auth security payment payments **/secrets**"),
        expands: true,
        doc: "Names of directories, and names of files without their extension, that add 1 to the risk: `auth` is in `src/auth/login.rs` and `auth.rs`, and not in `author.rs`. A glob such as `**/secrets**` or `*.sql` is compared with the whole path and with the file name.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "context.summary.require_approval",
        scope: KeyScope::User("a repository must not choose what you call ready"),
        ty: ValueType::Bool,
        default: Some("true"),
        expands: true,
        doc: "A pull request without an approval is not ready, even if its forge would merge it.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "timeout_s",
        scope: WAITS,
        ty: ValueType::Seconds,
        default: Some("120"),
        env: &[Var::ForgeTimeout],
        doc: "How long one operation may take, in seconds.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "wait_s",
        scope: WAITS,
        ty: ValueType::Seconds,
        default: Some("10"),
        env: &[Var::ForgeWait],
        doc: "Maximum time, in seconds, that a write waits until an index shows it; `--wait` and `--no-wait` win. Only tangled has an index; other forges show a write at once.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "color",
        ty: ValueType::Word(&["auto", "always", "never"]),
        default: Some("auto"),
        scope: YOURS,
        env: &[Var::ForgeColor],
        doc: "When to use colour.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "prompt",
        ty: ValueType::Bool,
        default: Some("true"),
        scope: YOURS,
        env: &[Var::ForgePromptDisabled, Var::GhPromptDisabled],
        env_means: Some("false"),
        doc: "Ask for missing values on a terminal.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "editor",
        ty: ValueType::Command,
        scope: RUNS,
        env: &[Var::ForgeEditor, Var::GhEditor],
        fallback: &[Var::GitEditor, Var::Visual, Var::Editor],
        doc: "The command that edits texts.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "pager",
        ty: ValueType::Command,
        scope: RUNS,
        env: &[Var::ForgePager, Var::GhPager],
        fallback: &[Var::Pager],
        doc: "The command that shows long output on a terminal; empty or `cat` for none.",
        ..DEFAULTS
    },
    ConfigKey {
        name: "browser",
        ty: ValueType::Command,
        scope: RUNS,
        env: &[Var::ForgeBrowser, Var::GhBrowser],
        fallback: &[Var::Browser],
        doc: "The command that opens a URL for `--web`.",
        ..DEFAULTS
    },
];

/// A key with its placeholders filled in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Name {
    /// Registry entry of the key.
    pub key: &'static ConfigKey,
    /// The concrete segments: `["hosts", "git.example.org", "kind"]`.
    pub path: Vec<String>,
}

impl Name {
    /// Finds the key that `text` names (`merge.method`, `hosts.git.example.org.kind`).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((host, field)) = text.strip_prefix("hosts.").and_then(|t| t.rsplit_once('.')) {
            let host_of = |host: &str| Hosts::normalise(host.trim_matches('"')).ok();
            let of_dialect = host.strip_suffix(".dialect").and_then(|host| {
                let host = host_of(host)?;
                Self::find(&["hosts", &host, "dialect", field])
            });
            if of_dialect.is_some() {
                return of_dialect;
            }
            return Self::find(&["hosts", &host_of(host)?, field]);
        }
        Self::find(&text.split('.').collect::<Vec<_>>())
    }

    /// Finds the registered key for the path of a value in a configuration file. For example, the
    /// path of `merge.method` is `["merge", "method"]`.
    #[must_use]
    pub fn find(path: &[&str]) -> Option<Self> {
        let key = KEYS.iter().find(|key| {
            let parts: Vec<&str> = key.name.split('.').collect();
            parts.len() == path.len()
                && parts.iter().zip(path).all(|(part, is)| match *part {
                    "<host>" => true,
                    "<nsid>" => NSIDS.contains(is),
                    "<word>" => WORDS.contains(is),
                    part => part == *is,
                })
        })?;
        Some(Self {
            key,
            path: path.iter().map(|p| (*p).to_owned()).collect(),
        })
    }

    /// Returns the kind of forge at a built-in host, if this is the key `hosts.<host>.kind` of that
    /// host.
    #[must_use]
    pub fn built_in(&self) -> Option<String> {
        let [_, host, field] = self.path.as_slice() else {
            return None;
        };
        let kind = Hosts::builtin().kind_of(host).filter(|_| field == "kind")?;
        Some(kind.as_str().to_owned())
    }

    /// Returns the reason to refuse `value`, if it would change the kind of forge of a built-in
    /// host.
    #[must_use]
    pub fn contradiction(&self, value: &str) -> Option<String> {
        let host = self.path.get(1)?;
        let kind = self.built_in()?;
        (kind != value)
            .then(|| format!("`{}` cannot be `{value}`: {host} runs {kind}", self.text()))
    }

    /// Returns the key as dotted text.
    #[must_use]
    pub fn text(&self) -> String {
        self.path.join(".")
    }
}

/// Returns a known key that is similar to `unknown`, with the host that `unknown` names. Used in
/// hints.
#[must_use]
pub fn near(unknown: &str) -> Option<String> {
    let host = unknown
        .strip_prefix("hosts.")
        .and_then(|t| t.rsplit_once('.'))
        .map(|(h, _)| h.strip_suffix(".dialect").unwrap_or(h));
    let names: Vec<String> = KEYS
        .iter()
        .flat_map(ConfigKey::names)
        .map(|name| match host {
            Some(host) => name.replace("<host>", host),
            None => name,
        })
        .collect();
    forge_core::suggest::near(unknown, names.iter().map(String::as_str))
        .first()
        .map(|name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_are_unique_and_defaults_are_valid() {
        let mut names: Vec<_> = KEYS.iter().map(|k| k.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KEYS.len());
        for key in KEYS {
            assert!(key.doc.ends_with('.'), "{}", key.name);
            if let Some(default) = key.default {
                assert_eq!(
                    key.ty.parse(default).as_deref(),
                    Some(default),
                    "{}",
                    key.name
                );
            }
        }
    }

    #[test]
    fn keys_for_tokens_and_programs_are_user_only() {
        for key in KEYS {
            let dangerous = key.name.starts_with("hosts.")
                || key.name.starts_with("jira.")
                || matches!(
                    key.ty,
                    ValueType::Url | ValueType::Command | ValueType::Host
                );
            if dangerous {
                assert!(matches!(key.scope, KeyScope::User(_)), "{}", key.name);
            }
        }
    }

    #[test]
    fn only_three_keys_are_allowed_in_repository_file() {
        let of_repo = KEYS.iter().filter_map(|key| match key.scope {
            KeyScope::Repo(_) => Some(key.name),
            KeyScope::User(_) => None,
        });
        assert_eq!(
            of_repo.collect::<Vec<_>>(),
            ["pr.base", "pr.draft", "merge.method",]
        );
    }

    #[test]
    fn r_002_18_context_keys_match_bundle_sections_and_defaults() {
        use forge_context::{CRITICAL_SEGMENTS, ContextSection};
        let names: Vec<&str> = ContextSection::ALL.iter().map(|s| s.name()).collect();
        assert_eq!(SECTIONS, names);
        let of = |name: &str| {
            let key = KEYS.iter().find(|key| key.name == name).unwrap();
            key.default.unwrap()
        };
        let names = ContextSection::DEFAULT.map(ContextSection::name);
        assert_eq!(of("context.include"), names.join(" "));
        let paths = CRITICAL_SEGMENTS.join(" ");
        assert_eq!(of("context.summary.critical_paths"), paths);
    }

    #[cfg(feature = "tangled")]
    #[test]
    fn index_dates_match_backend() {
        assert_eq!(INDEX_DATES, forge_tangled::INDEX_DATES);
    }

    #[test]
    fn dotted_host_is_one_key_part() {
        for (text, host) in [
            ("hosts.git.example.org.kind", "git.example.org"),
            ("hosts.GIT.example.org:8443.kind", "git.example.org:8443"),
            ("hosts.\"git.example.org\".kind", "git.example.org"),
        ] {
            let name = Name::parse(text).unwrap();
            assert_eq!(name.path[1], host);
            assert_eq!(name.key.name, "hosts.<host>.kind");
        }
        assert!(Name::parse("hosts.kind").is_none());
        assert!(Name::parse("hosts.bad host.kind").is_none());
    }

    #[test]
    fn unknown_key_has_a_suggestion() {
        assert_eq!(near("merge.methd").as_deref(), Some("merge.method"));
        assert_eq!(
            near("hosts.git.example.org.knd").as_deref(),
            Some("hosts.git.example.org.kind")
        );
        assert_eq!(near("something.else.entirely"), None);
    }

    #[test]
    fn dialect_key_belongs_to_one_host() {
        for (text, row) in [
            ("hosts.tangled.org.dialect.knot_merge", "<nsid>"),
            ("hosts.tangled.org.dialect.field_title", "<word>"),
            ("hosts.tangled.org.dialect.audience", "audience"),
        ] {
            let name = Name::parse(text).unwrap();
            assert_eq!(name.path[1], "tangled.org");
            assert_eq!(name.key.name, format!("hosts.<host>.dialect.{row}"));
            assert_eq!(name.text(), text);
        }
        let unknown = "hosts.tangled.org.dialect.knot_merg";
        assert!(Name::parse(unknown).is_none());
        assert_eq!(
            near(unknown).as_deref(),
            Some("hosts.tangled.org.dialect.knot_merge")
        );
        let plain = Name::parse("hosts.some.dialect.kind").unwrap();
        assert_eq!(plain.path[1], "some.dialect");
    }

    #[test]
    fn value_types_accept_only_valid_values() {
        for (ty, good, canonical) in [
            (ValueType::Bool, "Yes", "true"),
            (ValueType::Seconds, "30", "30"),
            (ValueType::Word(&["auto", "never"]), "Auto", "auto"),
            (
                ValueType::Host,
                "Git.Example.org:8443",
                "git.example.org:8443",
            ),
            (
                ValueType::Url,
                "https://git.example.org/api/",
                "https://git.example.org/api",
            ),
            (
                ValueType::Url,
                "http://127.0.0.1:8080",
                "http://127.0.0.1:8080",
            ),
            (ValueType::Url, "http://[::1]:8080/x", "http://[::1]:8080/x"),
            (ValueType::Address, "192.0.2.53", "192.0.2.53"),
            (ValueType::Address, "2001:DB8::35", "2001:db8::35"),
            (ValueType::Address, "127.0.0.1:5353", "127.0.0.1:5353"),
            (ValueType::Address, "[::1]:5353", "[::1]:5353"),
            (ValueType::Command, "", ""),
            (ValueType::Prefix, "state: ", "state: "),
            (ValueType::Variable, "${MY_TOKEN}", "${MY_TOKEN}"),
            (ValueType::Projects, "PROJ  OPS_2", "PROJ OPS_2"),
            (ValueType::Patterns, "[a-z]{1,3}-\\d+", "[a-z]{1,3}-\\d+"),
            (ValueType::Count, "0", "0"),
            (ValueType::Words(&["a", "b"]), "b,a", "b a"),
            (ValueType::Paths, "auth/ src/pay", "auth/ src/pay"),
            (ValueType::Nsid, "a.b.mergeIt", "a.b.mergeIt"),
            (ValueType::Nsid, "a.b.c#inline", "a.b.c#inline"),
            (ValueType::Identifier, "x-tngl-", "x-tngl-"),
        ] {
            assert_eq!(ty.parse(good).as_deref(), Some(canonical), "{ty:?} {good}");
        }
        for (ty, bad) in [
            (ValueType::Bool, "maybe"),
            (ValueType::Seconds, "0"),
            (ValueType::Seconds, "-1"),
            (ValueType::Seconds, "1.5"),
            (ValueType::Seconds, "86401"),
            (ValueType::Word(&["auto"]), ""),
            (ValueType::Host, "a b"),
            (ValueType::Url, "http://example.org"),
            (ValueType::Url, "http://127.0.0.1.example.org"),
            (ValueType::Url, "https://user:pw@example.org"),
            (ValueType::Url, "example.org"),
            (ValueType::Url, "https://"),
            (ValueType::Address, "ns.example.org"),
            (ValueType::Address, "127.0.0.1:"),
            (ValueType::Address, "127.0.0.1:70000"),
            (ValueType::Text, "  "),
            (ValueType::Prefix, " "),
            (ValueType::Prefix, "a\n"),
            (ValueType::Command, "a\nb"),
            (ValueType::Variable, "gho_canary"),
            (ValueType::Variable, "${A B}"),
            (ValueType::Variable, "${}"),
            (ValueType::Projects, ""),
            (ValueType::Projects, "proj"),
            (ValueType::Projects, "PROJ,OPS"),
            (ValueType::Patterns, "[A-Z]+-[0-9]+ ("),
            (ValueType::Count, "-1"),
            (ValueType::Count, "1000001"),
            (ValueType::Words(&["a"]), "a c"),
            (ValueType::Words(&["a"]), ""),
            (ValueType::Nsid, "merge"),
            (ValueType::Nsid, "a.b"),
            (ValueType::Nsid, "a.b.c/d"),
            (ValueType::Nsid, "a.b.c#"),
            (ValueType::Identifier, "a.b.c"),
            (ValueType::Identifier, "1"),
        ] {
            assert_eq!(ty.parse(bad), None, "{ty:?} {bad}");
        }
    }
}
