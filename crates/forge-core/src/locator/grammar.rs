use std::fmt;

use super::{
    ForgeKind, Hosts, ISSUE_SUFFIX, Locator, MAX_LENGTH, ParseLocatorError, Parsed, PrId, PrKey,
    PrSelector, RepoId, RepoPath,
    address::{self, Address, Part},
    atproto,
    authority::{self, looks_like_host},
    error::{AN_ISSUE, sanitize_input},
    hosts, local, named, url,
};

/// Parses a locator: a text by which people, agents and configurations name a repository, a pull
/// request or an issue.
///
/// Uses no network, file system or environment. `docs/reference/locators.md` lists the forms. The
/// first form that matches applies.
///
/// # Errors
///
/// [`ParseLocatorError`]. Its message never repeats credentials.
pub fn parse(text: &str, hosts: &Hosts) -> Result<Parsed, ParseLocatorError> {
    check_length(text)?;
    // Paths are not trimmed, because a path may begin or end with spaces and control characters.
    let text = if local::is_path(text) {
        text
    } else {
        text.trim()
    };
    if text.is_empty() {
        return Err(ParseLocatorError::Empty);
    }
    if let Some((body, number)) = split_issue(text)? {
        let locator = match local::is_path(body) {
            true => Locator::Repo(local::plain(body)?),
            false => dispatch(body, hosts)?.0,
        };
        return match locator {
            Locator::Repo(repo) => Ok(plain(Locator::Issue {
                repo,
                key: PrKey::Number(number),
            })),
            _ => Err(ParseLocatorError::TwoTargets {
                input: sanitize_input(text),
            }),
        };
    }
    let (body, number) = match url::has_anchor(text) {
        true => (text, None),
        false => split_suffix(text)?,
    };
    if local::is_path(body) {
        return Ok(plain(with_number(
            text,
            Locator::Repo(local::plain(body)?),
            number,
        )?));
    }
    if body.contains(char::is_control) {
        return Err(ParseLocatorError::invalid_because(
            text,
            "it has control characters",
        ));
    }
    if body.is_empty() {
        return Err(ParseLocatorError::invalid_because(
            text,
            "a number alone names no repository",
        ));
    }
    let (locator, had_credentials) = dispatch(body, hosts)?;
    Ok(Parsed {
        locator: with_number(text, locator, number)?,
        had_credentials,
    })
}

/// Parses the URL of a git remote, as `git remote get-url` prints it.
///
/// Shorthands such as `owner/repo` are not accepted. As in git, `owner/repo` is a path, and `#` and
/// `!` are ordinary characters. Credentials in the URL are dropped.
///
/// # Errors
///
/// - [`ParseLocatorError::UnknownHost`] for a host that `hosts` does not contain, such as an alias
///   from `ssh_config`.
/// - Other variants for URLs that name no repository of a forge.
pub fn parse_remote(text: &str, hosts: &Hosts) -> Result<RepoId, ParseLocatorError> {
    check_length(text)?;
    if text.is_empty() {
        return Err(ParseLocatorError::Empty);
    }
    if local::is_path(text) {
        // Git does not expand a tilde in a remote URL, but this program expands it in a path
        // locator. The prefix `./` prevents that.
        if text == "~" || text.starts_with("~/") {
            return local::plain(&format!("./{text}"));
        }
        return local::plain(text);
    }
    let found = if let Some((scheme, rest)) = url::scheme_of(text) {
        if scheme.eq_ignore_ascii_case("file") {
            return local::file_url(rest, true);
        }
        url::parse(text, scheme, rest, hosts)?.0
    } else if let Some((helper, _)) = text.split_once("::").filter(|(h, _)| is_word(h)) {
        return Err(ParseLocatorError::UnsupportedScheme {
            scheme: sanitize_input(helper),
        });
    } else if let Some((host, path)) = url::scp(text) {
        url::parse_scp(text, host, path, hosts)?
    } else {
        return local::plain(text);
    };
    match found {
        Locator::Repo(repo) => Ok(repo),
        _ => Err(ParseLocatorError::invalid_because(
            text,
            "a remote is not a page of a forge",
        )),
    }
}

/// Parses an argument that names one pull request of a known repository.
///
/// - `owner/repo#7` is pull request 7 of `owner/repo`. Write `branch:owner/repo#7` for a branch of
///   that name.
/// - `refs/heads/x` is the branch `x`.
/// - `.` is the pull request of the current branch, because git refuses it as a branch name.
///
/// # Errors
///
/// - For a URL or another locator: the errors of [`parse`], and
///   [`ParseLocatorError::NotAPullRequest`].
/// - Otherwise: [`ParseLocatorError::InvalidNumber`] or [`ParseLocatorError::InvalidBranch`].
pub fn parse_selector(text: &str, hosts: &Hosts) -> Result<PrSelector, ParseLocatorError> {
    check_length(text)?;
    let text = text.trim();
    if text.is_empty() {
        return Err(ParseLocatorError::Empty);
    }
    // A word that git allows as a branch name always means the branch.
    if text == "." {
        return Ok(PrSelector::Current);
    }
    // `refs/heads/` is accepted, because programs in CI name a branch by its ref.
    if let Some(branch) = text
        .strip_prefix("branch:")
        .or(text.strip_prefix("refs/heads/"))
    {
        return Ok(PrSelector::Branch {
            owner: None,
            branch: branch_name(branch)?,
        });
    }
    let digits = text.strip_prefix(['#', '!']).unwrap_or(text);
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        return match named::number(digits) {
            Some(number) => Ok(PrSelector::Number(number)),
            None => Err(ParseLocatorError::InvalidNumber {
                number: sanitize_input(text),
            }),
        };
    }
    if text.contains("://") {
        return pull_only(text, parse(text, hosts)?.locator);
    }
    // A text that is a path cannot name a branch, because git refuses such branch names.
    if local::is_path(text) {
        return pull_only(text, parse(text, hosts)?.locator);
    }
    if matches!(split_suffix(text), Ok((_, Some(_))))
        && let Ok(parsed) = parse(text, hosts)
    {
        return pull_only(text, parsed.locator);
    }
    // A branch name has no colon, but the owner may be a DID, which has colons. The owner therefore
    // ends at the last colon.
    match text.rsplit_once(':') {
        Some((owner, branch)) => {
            if !is_owner(owner) {
                return Err(ParseLocatorError::InvalidBranch {
                    branch: sanitize_input(text),
                    why: "the part before ':' is not an owner",
                });
            }
            let branch = branch_name(branch)?;
            Ok(PrSelector::Branch {
                owner: Some(owner.to_owned()),
                branch,
            })
        }
        None => Ok(PrSelector::Branch {
            owner: None,
            branch: branch_name(text)?,
        }),
    }
}

/// Tries the forms of a locator in order. The caller has already removed a number suffix such as
/// `#7`. The result is true if the locator contained credentials.
fn dispatch(body: &str, hosts: &Hosts) -> Result<(Locator, bool), ParseLocatorError> {
    let bare = |locator| Ok((locator, false));
    if body.starts_with("at://") {
        return bare(atproto::locator(body, hosts)?);
    }
    if body.starts_with(address::SCHEME) {
        return addressed(body, hosts);
    }
    if body.starts_with("did:") {
        // A DID alone identifies a repository on every host. It therefore gets no host, not even
        // the default host of the configuration.
        if !body.contains('/') {
            return bare(Locator::Repo(atproto::repo(RepoPath::Did(atproto::did(
                body,
            )?))));
        }
        let host = hosts.tangled_host().to_owned();
        return bare(Locator::Repo(tangled(body, body, host, hosts)?));
    }
    if let Some((scheme, rest)) = url::scheme_of(body) {
        if scheme.eq_ignore_ascii_case("file") {
            return bare(Locator::Repo(local::file_url(rest, false)?));
        }
        return url::parse(body, scheme, rest, hosts);
    }
    if let Some((word, rest)) = body.split_once(':').filter(|(word, _)| is_word(word))
        && let Some(repo) = prefixed(body, word, rest, hosts)?
    {
        return bare(Locator::Repo(repo));
    }
    let parts: Vec<&str> = body.split('/').collect();
    // `host:8443/o/r` and `[::1]:8443/o/r` are hosts with a port, not git's scp form
    // (`host:owner/repo`): the path after the colon would have three parts instead of two.
    match *parts.as_slice() {
        [host, owner, name] if is_host_and_port(host) => {
            return bare(Locator::Repo(at_host(body, host, owner, name, hosts)?));
        }
        [host, _, _, ..] if is_host_and_port(host) && !host.contains('@') => {
            return url::parse(body, "https", body, hosts);
        }
        _ => {}
    }
    if let Some((host, path)) = url::scp(body) {
        return bare(url::parse_scp(body, host, path, hosts)?);
    }
    match *parts.as_slice() {
        [host, did] if did.starts_with("did:") => {
            let host = authority::host(host)?.to_string();
            let Some((host, kind)) = hosts.lookup(&host) else {
                return Err(ParseLocatorError::UnknownHost { host });
            };
            bare(Locator::Repo(exact(body, kind, host, &[did])?))
        }
        [owner, name] | [owner, name, ""] => bare(Locator::Repo(pair(body, owner, name, hosts)?)),
        [host, owner, name] => bare(Locator::Repo(at_host(body, host, owner, name, hosts)?)),
        // A URL that was copied from a browser may lack `https://`, because browsers hide it.
        [host, _, ..] if looks_like_host(host) && !host.contains('@') => {
            url::parse(body, "https", body, hosts)
        }
        _ => Err(ParseLocatorError::invalid(body)),
    }
}

/// Parses a `forge://` address. An address of a part, such as a diff, stands for the pull request,
/// issue or repository to which the part belongs.
fn addressed(body: &str, hosts: &Hosts) -> Result<(Locator, bool), ParseLocatorError> {
    let refuse =
        || ParseLocatorError::invalid_because(body, "it is not the address of a repository");
    let Address { repo, part } = Address::parse(body).ok_or_else(refuse)?;
    if repo.starts_with(address::SCHEME) {
        return Err(refuse());
    }
    let (Locator::Repo(repo), had_credentials) = dispatch(&repo, hosts)? else {
        return Err(refuse());
    };
    let locator = match part {
        Part::Repo | Part::Branches | Part::Open | Part::Issues => Locator::Repo(repo),
        Part::Pull(key) | Part::Diff(key) | Part::File(key, _) | Part::PullLinks(key) => {
            Locator::Pull {
                id: PrId { repo, key },
                round: None,
            }
        }
        Part::Issue(key) | Part::IssueLinks(key) => Locator::Issue { repo, key },
    };
    Ok((locator, had_credentials))
}

/// Parses `word:rest`, where `word` is a prefix that names a forge, such as `gh` or `tangled`.
fn prefixed(
    body: &str,
    word: &str,
    rest: &str,
    hosts: &Hosts,
) -> Result<Option<RepoId>, ParseLocatorError> {
    let word = word.to_ascii_lowercase();
    let kind = match word.as_str() {
        "local" => return local::tagged(rest).map(Some),
        "file" => {
            return Err(ParseLocatorError::InvalidFileUrl {
                input: sanitize_input(body),
                why: "it has no '//' after the ':'",
            });
        }
        "tangled" => {
            return tangled(body, rest, hosts::TANGLED.to_owned(), hosts).map(Some);
        }
        "gh" | "github" => ForgeKind::GITHUB,
        _ => match ForgeKind::new(&word).filter(|kind| hosts.has_kind(kind)) {
            Some(kind) => kind,
            None => return Ok(None),
        },
    };
    let refuse = |why| ParseLocatorError::invalid_because(body, why);
    let segments = named::segments(rest).map_err(refuse)?;
    match *segments.as_slice() {
        [owner, name] if kind == ForgeKind::GITHUB => {
            exact(body, kind, hosts::GITHUB.to_owned(), &[owner, name]).map(Some)
        }
        [host, owner, name] => {
            let host = named::host_of_kind(authority::host(host)?.to_string(), &kind, hosts)?;
            exact(body, kind, host, &[owner, name]).map(Some)
        }
        _ => Err(ParseLocatorError::invalid(body)),
    }
}

/// Parses a tangled repository: `[@]handle/repo`, `did/repo` or `did`, optionally after a host.
fn tangled(
    body: &str,
    text: &str,
    default_host: String,
    hosts: &Hosts,
) -> Result<RepoId, ParseLocatorError> {
    let segments =
        named::segments(text).map_err(|why| ParseLocatorError::invalid_because(body, why))?;
    let kind = ForgeKind::TANGLED;
    match *segments.as_slice() {
        // A single DID is parsed by `atproto::did`, because its error message is better.
        [did] if did.starts_with("did:") => Ok(named::did_repo(default_host, atproto::did(did)?)),
        [host, ref path @ ..]
            if !host.starts_with("did:")
                && (path.len() == 2 || path.first().is_some_and(|p| p.starts_with("did:"))) =>
        {
            let host = named::host_of_kind(authority::host(host)?.to_string(), &kind, hosts)?;
            exact(body, kind, host, path)
        }
        ref path => exact(body, kind, default_host, path),
    }
}

/// Parses `owner/name` without a host.
fn pair(body: &str, owner: &str, name: &str, hosts: &Hosts) -> Result<RepoId, ParseLocatorError> {
    // An owner with a dot is an atproto handle. It cannot be a GitHub login, because logins have no
    // dots.
    if owner.starts_with('@') || owner.contains('.') {
        if matches!(hosts.kind_of(owner), Some(kind) if kind != ForgeKind::TANGLED) {
            return Err(ParseLocatorError::invalid_because(
                body,
                "after a host, it needs owner and name",
            ));
        }
        let host = hosts.tangled_host().to_owned();
        return exact(body, ForgeKind::TANGLED, host, &[owner, name]);
    }
    match hosts.lookup(hosts.default_host()) {
        Some((host, kind)) => exact(body, kind, host, &[owner, name]),
        None => Err(ParseLocatorError::UnknownHost {
            host: sanitize_input(hosts.default_host()),
        }),
    }
}

/// Parses `HOST/owner/name`.
fn at_host(
    body: &str,
    host: &str,
    owner: &str,
    name: &str,
    hosts: &Hosts,
) -> Result<RepoId, ParseLocatorError> {
    if host.contains('@') {
        return Err(ParseLocatorError::invalid(body));
    }
    match hosts.lookup(host) {
        Some((host, kind)) => exact(body, kind, host, &[owner, name]),
        None if looks_like_host(host) => Err(ParseLocatorError::UnknownHost {
            host: authority::host(host)?.to_string(),
        }),
        None => Err(ParseLocatorError::invalid(body)),
    }
}

fn exact(
    body: &str,
    kind: ForgeKind,
    host: String,
    segments: &[&str],
) -> Result<RepoId, ParseLocatorError> {
    named::exact(kind, host, segments).map_err(|why| ParseLocatorError::invalid_because(body, why))
}

/// Splits off a trailing `#N` or `!N`.
fn split_suffix(text: &str) -> Result<(&str, Option<u64>), ParseLocatorError> {
    let front = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = text.get(front.len()..).unwrap_or_default();
    match front.strip_suffix(['#', '!']) {
        Some(body) if !digits.is_empty() => match named::number(digits) {
            Some(number) => Ok((body, Some(number))),
            None => Err(ParseLocatorError::InvalidNumber {
                number: sanitize_input(digits),
            }),
        },
        _ => Ok((text, None)),
    }
}

/// Splits off a trailing `#issue-N`, but only after a local repository. In other locators, this
/// text can belong to a name, such as the branch `fix#issue-7`.
fn split_issue(text: &str) -> Result<Option<(&str, u64)>, ParseLocatorError> {
    let Some((body, suffix)) = text.rsplit_once('#') else {
        return Ok(None);
    };
    let scheme = body.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = |s: &str| scheme.eq_ignore_ascii_case(s);
    let is_local = local::is_path(body) || is_scheme("file") || is_scheme("local");
    let digits = suffix.strip_prefix(ISSUE_SUFFIX).filter(|digits| {
        is_local && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    let Some(digits) = digits else {
        return Ok(None);
    };
    match named::number(digits) {
        Some(number) => Ok(Some((body, number))),
        None => Err(ParseLocatorError::InvalidNumber {
            number: sanitize_input(digits),
        }),
    }
}

/// Turns a repository with a number suffix into a pull request.
fn with_number(
    text: &str,
    locator: Locator,
    number: Option<u64>,
) -> Result<Locator, ParseLocatorError> {
    match (locator, number) {
        (locator, None) => Ok(locator),
        (Locator::Repo(repo), Some(n)) => Ok(Locator::Pull {
            id: PrId::number(repo, n),
            round: None,
        }),
        (_, Some(_)) => Err(ParseLocatorError::TwoTargets {
            input: sanitize_input(text),
        }),
    }
}

fn plain(locator: Locator) -> Parsed {
    Parsed {
        locator,
        had_credentials: false,
    }
}

fn pull_only(text: &str, locator: Locator) -> Result<PrSelector, ParseLocatorError> {
    let what = match locator {
        Locator::Pull { .. } | Locator::Record(_) => return Ok(PrSelector::Locator(locator)),
        Locator::Repo(_) => "a repository",
        Locator::Issue { .. } => AN_ISSUE,
    };
    Err(ParseLocatorError::NotAPullRequest {
        input: sanitize_input(text),
        what,
    })
}

fn check_length(text: &str) -> Result<(), ParseLocatorError> {
    if text.len() > MAX_LENGTH {
        return Err(ParseLocatorError::TooLong {
            length: text.len(),
            max: MAX_LENGTH,
        });
    }
    Ok(())
}

/// Returns true if the text is a word such as `gh` or `my-forge`, in any case.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn is_host_and_port(text: &str) -> bool {
    let after = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(_, after)| after),
        None => text.find(':').and_then(|at| text.get(at..)),
    };
    after.is_some_and(|after| {
        after.is_empty()
            || after
                .strip_prefix(':')
                .is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Returns true if the text can be the owner in `owner:branch`: a login, a handle or a DID.
fn is_owner(text: &str) -> bool {
    let login = |t: &str| {
        (1..=253).contains(&t.len())
            && t.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    atproto::did(text).is_ok() || login(text)
}

/// Checks a branch name with the rules of `git check-ref-format --branch`.
fn branch_name(text: &str) -> Result<String, ParseLocatorError> {
    let why = if text.is_empty() {
        "it is empty"
    } else if text.contains(|c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c)) {
        "it has a blank, a control character or one of ~ ^ : ? * [ \\"
    } else if text.contains("..") || text.contains("@{") || text == "@" {
        "it has '..' or '@{', or is '@'"
    } else if text.starts_with('-') {
        "it begins with '-'"
    } else if text == "HEAD" {
        "it is 'HEAD'"
    } else if text.split('/').any(|part| {
        part.is_empty() || part.starts_with('.') || part.strip_suffix(".lock").is_some()
    }) || text.ends_with('.')
    {
        "a part of it is empty, begins with '.', or ends with '.' or '.lock'"
    } else {
        return Ok(text.to_owned());
    };
    Err(ParseLocatorError::InvalidBranch {
        branch: sanitize_input(text),
        why,
    })
}

/// Writes the canonical form of a repository, which [`parse`] accepts.
///
/// A built-in host implies its kind of forge (`github.com/o/r`). Any other host gets the kind as a
/// prefix (`github:git.example/o/r`), so that the text means the same in every configuration.
pub(super) fn write_repo(repo: &RepoId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let RepoId { kind, host, path } = repo;
    match path {
        RepoPath::Dir(path) => local::write(path, f),
        RepoPath::Record(uri) => write!(f, "{uri}"),
        RepoPath::Did(did) if host.is_empty() => f.write_str(did),
        RepoPath::Did(did) => write!(f, "{kind}:{host}/{did}"),
        RepoPath::Named { owner, name } => match hosts::builtin(host) {
            Some((canonical, builtin)) if canonical == *host && builtin == *kind => {
                write!(f, "{host}/{owner}/{name}")
            }
            _ if host.is_empty() => write!(f, "{kind}:{owner}/{name}"),
            _ => write!(f, "{kind}:{host}/{owner}/{name}"),
        },
    }
}

pub(super) fn comparison_key(repo: &RepoId) -> String {
    let mut folded = repo.clone();
    folded.host.make_ascii_lowercase();
    if let RepoPath::Named { owner, name } = &mut folded.path
        && (repo.kind == ForgeKind::GITHUB || repo.kind == ForgeKind::TANGLED)
    {
        name.make_ascii_lowercase();
        if !owner.starts_with("did:") {
            owner.make_ascii_lowercase();
        }
    }
    folded.to_string()
}

impl From<super::AtUri> for PrKey {
    fn from(uri: super::AtUri) -> Self {
        Self::Record(uri.to_string())
    }
}
