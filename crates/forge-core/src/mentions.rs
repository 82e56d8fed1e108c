//! Finds references in a Markdown text: to pull requests, issues, atproto records and tickets. A
//! ticket is an entry of another issue tracker, such as `PROJ-123` in Jira.
//!
//! Code spans, code blocks and HTML comments contain no references. An address is a reference if it
//! stands in the text or is the target of a link. No network is used, so the pull request or issue
//! of a reference may not exist.

use std::{collections::BTreeSet, ops::Range};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::{
    AtUri, Locator, PrId, PrKey, RepoId, Warning,
    call::{self, MAX_SEARCHED},
    locator::{self, Hosts, ISSUE_SUFFIX},
    markdown::{hidden, is_block},
    model::{IssueId, Link, SubjectKind},
};

/// GitHub's closing keywords (docs.github.com, "Linking a pull request to an issue"). They apply on
/// every forge on which a description can close issues.
const CLOSING: [&str; 9] = [
    "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
];
/// Phrases of one or two words that relate a text to an issue: `part of #7`.
const RELATING: [&[&str]; 6] = [
    &["see"],
    &["see", "also"],
    &["related"],
    &["related", "to"],
    &["relates", "to"],
    &["part", "of"],
];
/// Names of standards, protocols and the like that stand before a hyphen and a number: `UTF-8`.
/// Such a word is not the key of a ticket.
const STANDARDS: [&str; 20] = [
    "AES", "COVID", "CVE", "CWE", "ECMA", "GH", "GHSA", "HTTP", "IEEE", "IPV", "ISO", "MD", "PEP",
    "RFC", "RSA", "SHA", "TLS", "UTC", "UTF", "X",
];
/// Maximum number of characters of a text that are searched: four times the limit of any forge.
const MAX_TEXT_CHARS: usize = 256 * 1024;
/// Maximum number of references in one text.
const MAX_MENTIONS: usize = 500;
/// Text that replaces code and other skipped parts, so that the words around them stay separate.
/// The text also separates blocks: a keyword in a heading does not apply to the list below.
const GAP: &str = " \u{fffc} ";

/// The pull request, issue or record that a text refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MentionTarget {
    /// `#7`, or `GH-7` after a closing keyword: a pull request or an issue of the repository to
    /// which the text belongs.
    Number(u64),
    /// `owner/name#7`: a pull request or an issue of the named repository.
    InRepo(RepoId, u64),
    /// A pull request, by the URL of its page.
    Pull(PrId),
    /// An issue, by the URL of its page.
    Issue(IssueId),
    /// A record. Its repository can only be looked up on the network.
    Record(AtUri),
}

impl MentionTarget {
    /// Returns the number, and the kind if known, of a target in `repo`. Returns `None` for any
    /// other target.
    #[must_use]
    pub fn number_in(&self, repo: &RepoId) -> Option<(Option<SubjectKind>, u64)> {
        let own = |other: &RepoId| other.comparison_key() == repo.comparison_key();
        let number = |key: &PrKey| match key {
            PrKey::Number(n) => Some(*n),
            PrKey::Record(_) => None,
        };
        match self {
            Self::Number(n) => Some((None, *n)),
            Self::InRepo(other, n) => own(other).then_some((None, *n)),
            Self::Pull(id) if own(&id.repo) => {
                Some((Some(SubjectKind::PullRequest), number(&id.key)?))
            }
            Self::Issue(id) if own(&id.repo) => Some((Some(SubjectKind::Issue), number(&id.key)?)),
            _ => None,
        }
    }

    /// Returns the link from a text of `repo` to this target, without title and state.
    #[must_use]
    pub fn link(&self, repo: &RepoId) -> Link {
        let pull = Some(SubjectKind::PullRequest);
        let issue = Some(SubjectKind::Issue);
        match self {
            Self::Number(n) => Link::bare(None, Some(repo.clone()), PrKey::Number(*n)),
            Self::InRepo(other, n) => Link::bare(None, Some(other.clone()), PrKey::Number(*n)),
            Self::Pull(id) => Link::bare(pull, Some(id.repo.clone()), id.key.clone()),
            Self::Issue(id) => Link::bare(issue, Some(id.repo.clone()), id.key.clone()),
            Self::Record(uri) => {
                let kind = match uri.collection.rsplit('.').next() {
                    Some("pull") => pull,
                    Some("issue") => issue,
                    _ => None,
                };
                Link::bare(kind, None, uri.clone().into())
            }
        }
    }
}

/// A reference at one position of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mention {
    /// The target of the reference.
    pub named: MentionTarget,
    /// True if a closing keyword directly precedes the reference: `fixes #7`.
    pub closes: bool,
    /// True if a relating phrase directly precedes the reference: `part of #7`, `see #7`.
    pub relates: bool,
}

/// Returns true for a closing keyword, such as `Fixes`, regardless of case.
#[must_use]
pub fn is_closing_word(word: &str) -> bool {
    CLOSING.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Returns the references in `text`, in order, at most 500. If the text has more, a warning is
/// added to `warnings`, unless it already contains this warning. `hosts` maps host names to forges,
/// and defines which host the short form `owner/name` means.
#[must_use]
pub fn mentions(text: &str, hosts: &Hosts, warnings: &mut Vec<Warning>) -> Vec<Mention> {
    let prose = prose(text, |_, _| false);
    let mut all = references(&prose, hosts);
    let found = all.by_ref().take(MAX_MENTIONS).collect();
    if all.next().is_some() {
        let cut = format!(
            "one text names more than {MAX_MENTIONS} pull requests and issues; those after the first {MAX_MENTIONS} \
             were left out"
        );
        warn_once(cut, warnings);
    }
    found
}

/// Like [`mentions`], for the many texts of a discussion. After [`MAX_SEARCHED`] bytes of them a text
/// is not searched, and a warning is added.
#[must_use]
pub fn mentions_within_limit(
    text: &str,
    hosts: &Hosts,
    warnings: &mut Vec<Warning>,
) -> Vec<Mention> {
    if may_search_text(text, warnings) {
        mentions(text, hosts, warnings)
    } else {
        Vec::new()
    }
}

/// Returns false, and adds a warning, if the texts of this command exceed [`MAX_SEARCHED`]. Counts
/// `text`.
#[must_use]
pub fn may_search_text(text: &str, warnings: &mut Vec<Warning>) -> bool {
    let fits = call::may_search(text.len());
    if !fits {
        let unsearched = format!(
            "the texts that may name pull requests and issues have more than {} KiB; those after \
             them were not searched",
            MAX_SEARCHED >> 10
        );
        warn_once(unsearched, warnings);
    }
    fits
}

fn warn_once(message: String, warnings: &mut Vec<Warning>) {
    let warning = Warning::new(message);
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}

/// Returns the numbers of the issues that a pull request of `repo` with this description closes,
/// each once.
#[must_use]
pub fn closing(text: &str, repo: &RepoId, hosts: &Hosts) -> Vec<u64> {
    let prose = prose(text, |_, _| false);
    let mut seen = BTreeSet::new();
    references(&prose, hosts)
        .filter(|mention| mention.closes)
        .filter_map(|mention| mention.named.number_in(repo))
        .filter(|(kind, _)| *kind != Some(SubjectKind::PullRequest))
        .map(|(_, number)| number)
        .filter(|number| seen.insert(*number))
        .collect()
}

/// Returns the issues that a merge by forge closes on a forge that closes none itself, each once:
/// those that follow a closing keyword in the description of a pull request of `repo`, by number,
/// by the URL of their page, or by the at-uri of their record.
#[must_use]
pub fn closing_issues(text: &str, repo: &RepoId, hosts: &Hosts) -> Vec<IssueId> {
    let own = |key| IssueId {
        repo: repo.clone(),
        key,
    };
    let named = mentions(text, hosts, &mut Vec::new()).into_iter();
    let ids = named
        .filter(|mention| mention.closes)
        .filter_map(|mention| {
            Some(match mention.named {
                MentionTarget::Number(number) => own(PrKey::Number(number)),
                MentionTarget::InRepo(other, number) => IssueId::number(other, number),
                MentionTarget::Issue(id) => id,
                MentionTarget::Record(uri) if uri.collection.ends_with(".issue") => own(uri.into()),
                MentionTarget::Record(_) | MentionTarget::Pull(_) => return None,
            })
        });
    let mut seen = BTreeSet::new();
    ids.filter(|id| seen.insert(id.to_string())).collect()
}

/// A reference to a ticket of an issue tracker: `PROJ-123`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ticket {
    /// Key of the ticket, such as `PROJ-123`.
    pub key: String,
    /// True if a closing keyword directly precedes the key, as in [`Mention::closes`].
    pub closes: bool,
    /// True if a relating phrase directly precedes the key, as in [`Mention::relates`].
    pub relates: bool,
}

/// Returns the tickets that `text` refers to outside of code, in order.
///
/// `key_of` returns the ticket key at the start of a word; [`ticket_key`] is the usual choice. In a
/// link, the address is read and the visible text is skipped. Only if the visible text is exactly
/// one key and the address has none, the visible text is read instead.
#[must_use]
pub fn tickets(text: &str, key_of: impl Fn(&str) -> Option<&str>) -> Vec<Ticket> {
    let prose = prose(text, |address, shown| {
        key_of(address).is_none() && key_of(shown) == Some(shown)
    });
    let begins = |before: &str, behind: &str| is_word_end(before) && key_of(behind).is_some();
    let found = words(&prose, begins).filter_map(|word| {
        Some(Ticket {
            key: key_of(without_punctuation(word.text))?.to_owned(),
            closes: word.closes,
            relates: word.relates,
        })
    });
    found.take(MAX_MENTIONS).collect()
}

/// Returns the ticket keys in a name without spaces, such as the name of a branch, in order.
/// `key_of` is the same as for [`tickets`].
#[must_use]
pub fn ticket_keys(name: &str, key_of: impl Fn(&str) -> Option<&str>) -> Vec<&str> {
    let begins = |before: &str, behind: &str| is_word_end(before) && key_of(behind).is_some();
    parts(name, begins)
        .filter_map(|(_, part)| key_of(without_punctuation(part)))
        .collect()
}

/// Returns the ticket key at the start of a text, unless the word continues after the key.
///
/// A key has two to ten capitals, digits and underscores, then a hyphen and a number. `CVE-2024-1`
/// has no key, because the word continues after `CVE-2024`. Names of standards such as `UTF-8` are
/// not keys.
#[must_use]
pub fn ticket_key(text: &str) -> Option<&str> {
    ticket_shape(text).filter(|key| !is_standard(key))
}

/// Like [`ticket_key`], but also accepts names of standards.
#[must_use]
pub fn ticket_shape(text: &str) -> Option<&str> {
    let is_key = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let (project, rest) = text.split_at_checked(text.find(|c: char| !is_key(c))?)?;
    let rest = rest.strip_prefix('-')?;
    let is_project =
        project.starts_with(|c: char| c.is_ascii_uppercase()) && (2..=10).contains(&project.len());
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    let (number, behind) = rest.split_at_checked(digits.unwrap_or(rest.len()))?;
    let is_ticket = is_project && !number.is_empty() && !goes_on(behind);
    text.get(..project.len() + 1 + number.len())
        .filter(|_| is_ticket)
}

/// Returns true if a key names a standard, such as `UTF-8`.
#[must_use]
pub fn is_standard(key: &str) -> bool {
    let project = key.split_once('-').map_or(key, |(project, _)| project);
    STANDARDS.contains(&project)
}

/// Returns true if the word continues in `behind`, the text after a key: `a` in `PROJ-1a`, `-3` in
/// `PROJ-1-3`.
#[must_use]
pub fn goes_on(behind: &str) -> bool {
    behind.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        || behind
            .strip_prefix('-')
            .is_some_and(|more| more.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the references in a text that [`prose`] returned, in order.
fn references(prose: &str, hosts: &Hosts) -> impl Iterator<Item = Mention> {
    words(prose, is_next_number).filter_map(move |word| {
        let closed = || gh_number(word.text).filter(|_| word.closes);
        let named = parse_reference(word.text, hosts).or_else(closed)?;
        Some(Mention {
            named,
            closes: word.closes,
            relates: word.relates,
        })
    })
}

/// A word or a part of a word, and whether a closing keyword or a relating phrase precedes it.
struct ProseWord<'a> {
    text: &'a str,
    closes: bool,
    relates: bool,
}

/// Returns the words of a text. A word is split where `begins` accepts the halves before and after.
fn words(
    prose: &str,
    begins: impl Fn(&str, &str) -> bool + Copy,
) -> impl Iterator<Item = ProseWord<'_>> {
    let mut after_closing = false;
    // The previous two words, without punctuation.
    let mut before = [String::new(), String::new()];
    let parts = prose
        .split_whitespace()
        .flat_map(move |word| parts(word, begins));
    parts.map(move |(at, text)| {
        let follows = text.starts_with(|c: char| c == '#' || c.is_alphanumeric());
        // On GitHub a space separates the keyword from the issue, and `Closes #1,#2` closes only
        // `#1`.
        let closes = after_closing && follows && at == 0;
        let relates = !closes && RELATING.iter().any(|words| ends_with(&before, words));
        let bare = without_punctuation(text);
        let bare = bare.strip_suffix(':').unwrap_or(bare).to_lowercase();
        after_closing = CLOSING.contains(&bare.as_str());
        before.rotate_left(1);
        if let Some(last) = before.last_mut() {
            *last = bare;
        }
        ProseWord {
            text,
            closes,
            relates,
        }
    })
}

/// Splits a word at each position where `begins` accepts the halves before and after. Returns the
/// parts with their positions. Punctuation at the start stays with the text after it, and a URL is
/// never split.
fn parts(word: &str, begins: impl Fn(&str, &str) -> bool) -> impl Iterator<Item = (usize, &str)> {
    let url = word.find("://").unwrap_or(word.len());
    let mut has_text = false;
    let starts = word.char_indices().filter(move |&(at, c)| {
        let halves = word.split_at_checked(at).filter(|_| has_text && at < url);
        has_text |= c.is_alphanumeric();
        halves.is_some_and(|(before, behind)| begins(before, behind))
    });
    let ends = starts.map(|(at, _)| at).chain([word.len()]);
    ends.scan(0, move |from, end| {
        let part = (*from, word.get(*from..end)?);
        *from = end;
        Some(part)
    })
}

/// Returns true if a word may be split into `before` and `behind`, because `behind` is a number in
/// a list without spaces or in parentheses: `#1,#2`, `#1/#2`, `fix(#1)`. `docs/#1` is not split,
/// because it is a path.
fn is_next_number(before: &str, behind: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let is_number = behind
        .strip_prefix('#')
        .is_some_and(|digits| digits.starts_with(is_digit));
    is_number
        && match before.strip_suffix('/') {
            Some(before) => before
                .trim_end_matches(is_digit)
                .strip_suffix('#')
                .is_some_and(|list| !list.ends_with(char::is_alphanumeric)),
            None => before.ends_with([',', ';', '(', '[', '|', '+']),
        }
}

/// Returns true if a ticket key may follow `before`. A hyphen ends only a word in small letters:
/// `fix-AB-1` has a key, and `US-AB-1` has none.
fn is_word_end(before: &str) -> bool {
    match before.strip_suffix('-') {
        Some(word) => word.ends_with(char::is_lowercase),
        None => !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'),
    }
}

fn without_punctuation(word: &str) -> &str {
    word.trim_start_matches(|c: char| !c.is_alphanumeric())
}

fn ends_with(before: &[String; 2], words: &[&str]) -> bool {
    let from = before.len().saturating_sub(words.len());
    before
        .get(from..)
        .is_some_and(|last| last.iter().zip(words).all(|(a, b)| a == b))
}

/// Returns the visible words of a Markdown text, without its code. Each link is replaced by its
/// address, or by its visible text if `is_text` accepts the address and the visible text.
fn prose(text: &str, is_text: impl Fn(&str, &str) -> bool) -> String {
    let (text, _) = crate::text::truncate_chars(text, MAX_TEXT_CHARS);
    let comments: Vec<Range<usize>> = hidden(&text).into_iter().map(|part| part.range).collect();
    let is_hidden = |at: usize| {
        comments_ending_after(&comments, at)
            .next()
            .is_some_and(|c| c.start <= at)
    };
    let mut prose = String::new();
    let mut html = String::new();
    // The open link: the position of its address in `prose`, and the address. `shown` is its
    // visible text.
    let mut link = None;
    let mut shown = String::new();
    // Number of open links, images and code blocks. Their content is skipped.
    let mut inside = 0_usize;
    for (event, range) in Parser::new(&text).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                if inside == 0 && !is_hidden(range.start) {
                    let at = prose.len();
                    prose.push(' ');
                    prose.push_str(&dest_url);
                    prose.push(' ');
                    link = Some((at, dest_url));
                    shown.clear();
                }
                inside += 1;
            }
            Event::Start(Tag::Image { .. } | Tag::CodeBlock(_)) => {
                prose.push_str(GAP);
                inside += 1;
            }
            Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => {
                inside = inside.saturating_sub(1);
                if inside == 0
                    && let Some((at, address)) = link.take()
                {
                    let shown = shown.trim_matches([' ', '[', ']', '(', ')', ':']);
                    if is_text(&address, shown) {
                        prose.truncate(at);
                        prose.push(' ');
                        prose.push_str(shown);
                        prose.push(' ');
                    }
                }
            }
            Event::Start(Tag::HtmlBlock) => html.clear(),
            Event::Html(_) => {
                let mut from = range.start;
                for comment in
                    comments_ending_after(&comments, from).take_while(|c| c.start < range.end)
                {
                    html.push_str(text.get(from..comment.start).unwrap_or_default());
                    html.push(' ');
                    from = comment.end;
                }
                html.push_str(text.get(from..range.end).unwrap_or_default());
            }
            Event::End(TagEnd::HtmlBlock) => {
                prose.push_str(GAP);
                prose.push_str(&shown_of_html(&html));
                prose.push_str(GAP);
            }
            Event::Rule
            | Event::Start(Tag::Heading { .. } | Tag::BlockQuote(_) | Tag::Item)
            | Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::BlockQuote(_) | TagEnd::Item,
            ) => prose.push_str(GAP),
            Event::Text(part) if inside == 0 && !is_hidden(range.start) => prose.push_str(&part),
            Event::Code(_) => {
                prose.push_str(GAP);
                shown.push_str(GAP);
            }
            Event::Text(part) if inside == 1 => shown.push_str(&part),
            Event::Text(_) => {}
            // A line break or an inline tag separates words.
            _ => {
                prose.push(' ');
                shown.push(' ');
            }
        }
    }
    prose
}

fn comments_ending_after(
    comments: &[Range<usize>],
    at: usize,
) -> impl Iterator<Item = &Range<usize>> {
    let before = comments.partition_point(|comment| comment.end <= at);
    comments.iter().skip(before)
}

/// Returns the visible text of an HTML block whose comments have been removed. The result has no
/// tags, and is empty for preformatted text.
fn shown_of_html(html: &str) -> String {
    let start = html.trim_start().get(..4).unwrap_or_default();
    if start.eq_ignore_ascii_case("<pre") {
        return String::new();
    }
    let mut shown = String::new();
    let mut rest = html;
    while let Some((before, behind)) = rest.split_once('<') {
        shown.push_str(before);
        shown.push_str(if is_block_tag(behind) { GAP } else { " " });
        rest = skip_tag(behind);
    }
    shown.push_str(rest);
    shown
}

/// Returns true if a tag begins or ends a block. The `<` of the tag is already consumed.
fn is_block_tag(tag: &str) -> bool {
    let name = tag.strip_prefix('/').unwrap_or(tag);
    let mut names = name.split(|c: char| !c.is_ascii_alphanumeric());
    is_block(&names.next().unwrap_or_default().to_ascii_lowercase())
}

/// Returns the text after a tag. The `<` of the tag is already consumed. A `>` in a quoted value
/// does not end the tag.
fn skip_tag(html: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in html.char_indices() {
        match quote {
            None if c == '>' => return html.get(at + 1..).unwrap_or_default(),
            // A quote begins a value only after `=`; elsewhere it is an ordinary character.
            None if before == '=' && matches!(c, '"' | '\'') => quote = Some(c),
            Some(open) if open == c => quote = None,
            _ => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    ""
}

/// Returns the reference in a word, without the punctuation around it.
fn parse_reference(word: &str, hosts: &Hosts) -> Option<MentionTarget> {
    let word =
        word.trim_start_matches(['(', '[', '{', '<', '"', '\'', '*', '_', '~', '|', ',', ';']);
    if let Some(digits) = word.strip_prefix('#') {
        return number(digits).map(MentionTarget::Number);
    }
    let (address, digits) = match word.split_once('#') {
        Some((address, rest)) => match local_issue(address, rest, hosts) {
            Some(issue) => return Some(MentionTarget::Issue(issue)),
            None => (address, number(rest)),
        },
        None => {
            let ends = |c: char| !c.is_alphanumeric() && c != '/';
            (word.trim_end_matches(ends), None)
        }
    };
    // A path of this machine is a reference only if it is written as a `file:` address.
    let is_path = address.starts_with(['/', '.', '~']);
    let is_address = address.contains("://");
    let is_name = digits.is_some() && address.contains(['/', ':']) && !is_path;
    if !is_address && !is_name {
        return None;
    }
    match locator::parse(address, hosts).ok()?.locator {
        Locator::Repo(repo) => digits.map(|n| MentionTarget::InRepo(repo, n)),
        Locator::Pull { id, .. } => Some(MentionTarget::Pull(id)),
        Locator::Issue { repo, key } => Some(MentionTarget::Issue(IssueId { repo, key })),
        Locator::Record(uri) => Some(MentionTarget::Record(uri)),
    }
}

/// Returns the issue that `GH-7` names, in capitals or small letters. GitHub reads `GH-7` as `#7`
/// (docs.github.com, "Autolinked references and URLs"). Callers require a closing keyword before
/// the word, because otherwise it may be the key of a ticket in another tracker.
fn gh_number(word: &str) -> Option<MentionTarget> {
    let (mark, digits) = word.split_at_checked(3)?;
    let number = number(digits).filter(|_| mark.eq_ignore_ascii_case("gh-"));
    number.map(MentionTarget::Number)
}

/// Returns the issue that `file:///…#issue-7` names. Punctuation may follow the number.
fn local_issue(address: &str, rest: &str, hosts: &Hosts) -> Option<IssueId> {
    let number = number(rest.strip_prefix(ISSUE_SUFFIX)?)?;
    // A path of this machine is a reference only if it is written as a `file:` address.
    if !address.contains("://") {
        return None;
    }
    match locator::parse(address, hosts).ok()?.locator {
        Locator::Repo(repo) if repo.numbers_issues_apart() => Some(IssueId::number(repo, number)),
        _ => None,
    }
}

/// Returns the number at the start of a text, unless the word continues after the number.
fn number(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    digits.parse().ok().filter(|n| *n > 0 && ends)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Vec<String> {
        let own = RepoId::local("/own");
        mentions(text, &Hosts::builtin(), &mut Vec::new())
            .iter()
            .map(|m| {
                let link = m.named.link(&own);
                let kind = match link.kind {
                    Some(SubjectKind::PullRequest) => " pull",
                    Some(SubjectKind::Issue) => " issue",
                    None => "",
                };
                let closes = if m.closes { "closes " } else { "" };
                format!("{closes}{link}{kind}").replace("file:///own", "")
            })
            .collect()
    }

    fn closed(text: &str) -> Vec<u64> {
        closing(text, &RepoId::local("/own"), &Hosts::builtin())
    }

    #[test]
    fn only_nine_keywords_close_issues() {
        for word in CLOSING {
            assert_eq!(closed(&format!("It {word} #7.")), [7], "{word}");
        }
        assert_eq!(closed("Fixes: #3, CLOSES #2\n(resolves #3)"), [3, 2]);
        assert_eq!(closed("Fixes GH-3, closes: gh-2. Fix Gh-5,#6"), [3, 2, 5]);
        assert_eq!(closed("Fixes file:///own#3 and closes /own#2"), [3]);
        assert_eq!(closed("Fixes file:///own#issue-3. Fixes #issue-2"), [3]);
        assert_eq!(
            closed("Closes #3,#2 and fixes #5/#6; fixes #8,fixes #9"),
            [3, 5, 8]
        );
        let around = "<p>\nfixes #3\n<!--\n\nfixes #7\n\n<p>\n--> fixes #2\n</p>";
        assert_eq!(closed(around), [3, 2]);
        for text in [
            "",
            "#7",
            "see #7",
            "fixes 7",
            "fixes #",
            "fixes #0",
            "fixes #7a",
            "prefix #7",
            "fixes the bug #7",
            "fixes `x` #7",
            "fixes (#7)",
            "fixes(#7) fix(#7): x fixes,#7 fixes/#7 fixes+#7 x,fixes #7",
            "fixes x,#7 fixes ,#7 fixes *x*,#7",
            // GitHub documents a keyword, an optional colon and a space. Without the space, nothing
            // is closed.
            "fixes:#7 fixes:GH-7 fixes#7",
            "GH-7 see gh-7 fixes GH-0 fixes GH-7a fixes GH7 fixes xgh-7 fixes (GH-7) fixes gh-",
            "fixes #99999999999999999999",
            "fixes file:///other#7",
            "fixes file:///other#issue-7 and fixes file:///own#issue-7a",
            "<div>\n<!--\n\nfixes #7\n\n-->\n</div>",
            "> <!-- a\n\nfixes #7 and fixes [it](/own#7)",
        ] {
            assert_eq!(closed(text), [0; 0], "{text}");
        }
    }

    #[test]
    fn closing_issue_is_a_number_a_link_or_a_record() {
        let record = "at://did:plc:a/sh.tangled.repo.issue/3mkuuamwfj322";
        let text = format!(
            "Fixes #769, closes {record} and resolves https://github.com/o/r/issues/5.\n\n\
             Fixes #769. See #1. Closes at://did:plc:a/sh.tangled.repo.pull/3mkuuamwfj322."
        );
        let own = RepoId::local("/own");
        let found = closing_issues(&text, &own, &Hosts::builtin());
        let keys: Vec<String> = found.iter().map(|id| id.key.to_string()).collect();
        assert_eq!(keys, ["769", record, "5"]);
        assert_eq!(found[1].repo, own);
        assert!(closing_issues("`fixes #1` and #2", &own, &Hosts::builtin()).is_empty());
    }

    #[test]
    fn closing_word_stops_at_end_of_block() {
        assert_eq!(closed("Fixes\n#7, **closes** #8"), [7, 8]);
        assert_eq!(closed("<p><b>Fixes</b> #7</p>"), [7]);
        for text in [
            "## Fixed\n\n- #7",
            "There is nothing to close\n\n#7 stays open",
            "- fixed\n- #7",
            "- fixed\n  - #7",
            "- fixed\n  > #7",
            "- fixed\n  # #7",
            "- fixed\n  ***\n  #7",
            "- # fixed\n  #7",
            "> fixed\n\n#7",
            "fixed\n=====\n#7",
            "<p>\nfixed\n</p>\n\n#7",
            "<h2>Fixed</h2>\n<ul>\n<li>#7 stays</li>\n</ul>",
            "<details><summary>Fixed</summary>\n<p>#7</p>\n</details>",
            "<table><tr><td>Fixed</td><TD class=x>#7</td></tr></table>",
        ] {
            assert_eq!(closed(text), [0; 0], "{text}");
        }
    }

    #[test]
    fn relating_phrases_are_recognised() {
        let related = |text: &str| -> Vec<bool> {
            let found = mentions(text, &Hosts::builtin(), &mut Vec::new());
            found.iter().map(|m| m.relates && !m.closes).collect()
        };
        for text in [
            "Related to #7",
            "related: #7",
            "(part of #7)",
            "See #7",
            "see also #7.",
            "It relates to https://github.com/cli/cli/issues/8",
        ] {
            assert_eq!(related(text), [true], "{text}");
        }
        for text in [
            "#7",
            "fixes #7",
            "also #7",
            "of #7",
            "part #7",
            "see the #7",
            "unrelated to #7",
        ] {
            assert_eq!(related(text), [false], "{text}");
        }
        assert_eq!(related("see #7, #8"), [true, false]);
        assert_eq!(related("see #7,#8 and see (#9)"), [true, false, true]);
    }

    #[tokio::test]
    async fn texts_beyond_search_limit_are_named_not_searched() {
        let hosts = Hosts::builtin();
        let search = || {
            let mut warnings = Vec::new();
            let mentions = ["#7"; 4].map(|t| mentions_within_limit(t, &hosts, &mut warnings));
            (mentions.map(|mentions| mentions.len()), warnings)
        };
        let command = call::command(async {
            assert!(call::may_search(MAX_SEARCHED - 4));
            let (mentioned, warnings) = search();
            assert_eq!((mentioned, warnings.len()), ([1, 1, 0, 0], 1));
            let message = &warnings[0].message;
            assert!(message.contains("more than 512 KiB"), "{message}");
            // The search for issues that a merge closes has no such limit.
            assert_eq!(mentions("#7", &hosts, &mut Vec::new()).len(), 1);
        });
        command.await;
        let (mentioned, warnings) = search();
        assert_eq!((mentioned, warnings.len()), ([1; 4], 0));
    }

    #[test]
    fn ticket_keys_outside_of_code_are_found() {
        let found = |text: &str| -> Vec<String> {
            let of = |t: Ticket| match (t.closes, t.relates) {
                (true, _) => format!("closes {}", t.key),
                (_, true) => format!("relates {}", t.key),
                _ => t.key,
            };
            tickets(text, ticket_key).into_iter().map(of).collect()
        };
        assert_eq!(found("Fixes PROJ-123"), ["closes PROJ-123"]);
        assert_eq!(found("see PROJ2-14, (AB-1)."), ["relates PROJ2-14", "AB-1"]);
        assert_eq!(found("[PROJ-1] x **P_Q-2**"), ["PROJ-1", "P_Q-2"]);
        assert_eq!(found("fix(AB-1): x, AB-2/AB-3"), ["AB-1", "AB-2", "AB-3"]);
        assert_eq!(found("Fixes AB-1,AB-2"), ["closes AB-1", "AB-2"]);
        assert_eq!(found("fix:AB-1 #AB-2 **x**/AB-3"), ["AB-1", "AB-2", "AB-3"]);
        assert_eq!(found("fix-AB-1 a/AB-2.txt"), ["AB-1", "AB-2"]);
        let link = "Fixes [**AB-1**](https://acme.example/1), [[AB-2]](x).";
        assert_eq!(found(link), ["closes AB-1", "AB-2"]);
        for text in [
            "UTF-8 SHA-256 ISO-8601 CVE-2024-1 COVID-19 GH-12",
            "ABCDEFGHIJKLM-1 proj-1 A-1 PROJ-1a PROJ-12-3 PROJ- -1 xPROJ-1",
            "`PROJ-1` <!-- PROJ-2 -->",
            "```\nPROJ-1\n```",
            "https://acme.example/PROJ-1,PROJ-2 X-PROJ-1 2-PROJ-1 x_PROJ-1",
            "[see PROJ-1](x) [`PROJ-1`](x) [![PROJ-1](x)](x) <!-- [PROJ-1](x) -->",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn ticket_keys_in_branch_names_are_found() {
        for (branch, keys) in [
            ("AB-1/x", &["AB-1"][..]),
            ("ada/AB-1-x", &["AB-1"]),
            ("ada-AB-1_x", &[]),
            ("fix-AB-1/AB-2", &["AB-1", "AB-2"]),
            ("ab-1/UTF-8/release-1", &[]),
        ] {
            assert_eq!(ticket_keys(branch, ticket_key), keys, "{branch}");
        }
    }

    #[test]
    fn long_words_are_searched_in_linear_time() {
        let began = std::time::Instant::now();
        for part in ["#1,", "/#1", "A,", "AB-1/", "a-"] {
            let text = part.repeat(MAX_TEXT_CHARS / part.len());
            let found = words(&text, is_next_number).count() + ticket_keys(&text, ticket_key).len();
            assert!(found > 0, "{part}");
        }
        let took = began.elapsed();
        assert!(took.as_secs() < 8, "{took:?}");
    }

    #[test]
    fn references_in_prose_are_found() {
        for (text, found) in [
            (
                "see #7, (#8) and [#9]; **#10**",
                &["#7", "#8", "#9", "#10"][..],
            ),
            ("#7's #8-9 #5.", &["#7", "#8", "#5"]),
            ("- #1\n- #2\n\n> #3\n\n| #4 |", &["#1", "#2", "#3", "#4"]),
            (
                "fix(#1): x #2,#3;#4 #5/#6/#7, |#8|#9| (#10),(#11) *x*,#12",
                &[
                    "#1", "#2", "#3", "#4", "#5", "#6", "#7", "#8", "#9", "#10", "#11", "#12",
                ],
            ),
            ("cli/cli#7: x", &["github.com/cli/cli#7"]),
            ("fixes cli/cli#7.", &["closes github.com/cli/cli#7"]),
            (
                "https://github.com/cli/cli/pull/7/files#diff-1, https://github.com/cli/cli/issues/8).",
                &["github.com/cli/cli#7 pull", "github.com/cli/cli#8 issue"],
            ),
            (
                "[the bug](https://github.com/cli/cli/issues/8 \"#3\") <https://github.com/a/b/pull/1>",
                &["github.com/cli/cli#8 issue", "github.com/a/b#1 pull"],
            ),
            (
                "at://did:plc:abc/sh.tangled.repo.pull/3k at://did:plc:abc/sh.tangled.repo.issue/3l.",
                &[
                    "at://did:plc:abc/sh.tangled.repo.pull/3k pull",
                    "at://did:plc:abc/sh.tangled.repo.issue/3l issue",
                ],
            ),
            ("file:///srv/x#7,", &["file:///srv/x#7"]),
            (
                "file:///srv/x#issue-7, (file:///own#issue-8).",
                &["file:///srv/x#issue-7 issue", "#issue-8 issue"],
            ),
            (
                "https://tangled.org/alice.example/core/pulls/7/round/0",
                &["tangled.org/alice.example/core#7 pull"],
            ),
            (
                "<details>\n<b>#7</b>\n</details>\n\nx <i>#8</i>",
                &["#7", "#8"],
            ),
            (
                "<details open title=\"> #7\">\n#8\n<p title = 'a\" > #7' class=it's>#9</p>\n</details>",
                &["#8", "#9"],
            ),
        ] {
            assert_eq!(of(text), found, "{text}");
        }
    }

    #[test]
    fn mentions_above_limit_warn_and_close_issues() {
        let mut said = Vec::new();
        let many = "#1 ".repeat(MAX_MENTIONS);
        let mut found = |text: &str| mentions(text, &Hosts::builtin(), &mut said).len();
        assert_eq!(found(&many), MAX_MENTIONS);
        let more = format!("{many} fixes #7, fixes #7, fixes #2");
        assert_eq!((found(&more), found(&more)), (MAX_MENTIONS, MAX_MENTIONS));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].message.contains("more than 500"), "{said:?}");
        assert_eq!(closed(&more), [7, 2]);
    }

    #[test]
    fn text_without_references_yields_nothing() {
        for text in [
            "`#7` ``a ` #7``",
            "```\n#7\n```",
            "~~~ #7\nfixes #7\n~~~\n",
            "    #7",
            "```\nnever closed #7",
            "<!-- fixes #7 -->",
            "<!--\nfixes #7\n\n#8\n-->",
            "x <!-- #7 --> y",
            "<pre>\n#7\n</pre>",
            "# 7",
            "a#7 #a7 #7a #0 ##7 #-7",
            "[#7](https://example.org/x) ![#7](x)",
            "/srv/x#7 ./x#7 ~/x#7 x#7",
            "/srv/x#issue-7 cli/cli#issue-7 file:///srv/x#issue- file:///srv/x#issue-0",
            "https://github.com/cli/cli https://example.org/cli/cli/pull/7",
            "at://did:plc:abc/app.bsky.feed.post/3k at://#7",
            "#99999999999999999999",
            "(#1f2937) x,#1f2937 a#7,b#8 docs/#7 a#7/#8",
            "<p>\nit&#39;s &#39;\n</p>",
            "https://example.org/x,#7 https://example.org/(#7)",
        ] {
            assert_eq!(of(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn own_repository_is_recognised_under_any_name() {
        let own = match locator::parse("octo/tools", &Hosts::builtin())
            .unwrap()
            .locator
        {
            Locator::Repo(id) => id,
            other => panic!("{other:?}"),
        };
        let text = "#1 Octo/Tools#2 https://github.com/octo/tools/issues/3 octo/other#4";
        let found: Vec<_> = mentions(text, &Hosts::builtin(), &mut Vec::new())
            .iter()
            .map(|m| m.named.number_in(&own))
            .collect();
        let issue = Some(SubjectKind::Issue);
        assert_eq!(
            found,
            [Some((None, 1)), Some((None, 2)), Some((issue, 3)), None]
        );
    }

    proptest! {
        #[test]
        fn arbitrary_text_yields_positive_numbers(text in "(?s).{0,200}") {
            for mention in mentions(&text, &Hosts::builtin(), &mut Vec::new()) {
                if let MentionTarget::Number(n) = mention.named {
                    prop_assert!(n > 0);
                }
            }
        }

        #[test]
        fn arbitrary_text_yields_well_formed_tickets(text in "(?s).{0,200}") {
            for ticket in tickets(&text, ticket_key) {
                prop_assert_eq!(ticket_key(&ticket.key), Some(ticket.key.as_str()));
                prop_assert!(text.contains(&ticket.key));
            }
        }

        #[test]
        fn code_fence_has_no_references(text in "[^`]{0,200}") {
            prop_assert_eq!(of(&format!("```\n{text}\n```\n")), Vec::<String>::new());
        }

        #[test]
        fn number_in_prose_is_found(n in 1_u64..1_000_000, word in "[xyz]{1,8}") {
            prop_assert_eq!(of(&format!("{word} #{n} {word}")), vec![format!("#{n}")]);
        }
    }
}
