//! What a text names: pull requests, issues and records, outside of code.
//!
//! A text is Markdown. Fences, code spans and HTML comments name nothing; an address counts whether
//! it is bare or behind a link. Nobody is asked, so a number that does not exist is found as well.

use std::{collections::BTreeSet, ops::Range};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::{
    AtUri, Locator, PrId, PrKey, RepoId, Warning,
    locator::{self, Hosts, ISSUE_SUFFIX},
    markdown::hidden,
    model::{IssueId, Link, SubjectKind},
};

/// The words that GitHub takes for "closes" (docs.github.com, "Linking a pull request to an
/// issue"); a description means the same on every forge where a text decides.
const CLOSING: [&str; 9] = [
    "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
];
/// The words that say "belongs with", each up to two long: `part of #7`.
const RELATING: [&[&str]; 6] = [
    &["see"],
    &["see", "also"],
    &["related"],
    &["related", "to"],
    &["relates", "to"],
    &["part", "of"],
];
/// What stands before a hyphen and a number, and is no project.
const STANDARDS: [&str; 20] = [
    "AES", "COVID", "CVE", "CWE", "ECMA", "GH", "GHSA", "HTTP", "IEEE", "IPV", "ISO", "MD", "PEP",
    "RFC", "RSA", "SHA", "TLS", "UTC", "UTF", "X",
];
/// More of a text is not read, in bytes: four times the longest that a forge takes.
const READ: usize = 256 * 1024;
/// More places of one text are left out.
const MOST: usize = 500;
/// Stands where something is that names nothing, so that what is around it does not join.
const GAP: &str = " \u{fffc} ";

/// What a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// `#7`: a pull request or an issue of the text's own repository.
    Number(u64),
    /// `owner/name#7`: a pull request or an issue.
    InRepo(RepoId, u64),
    /// A pull request, by its page.
    Pull(PrId),
    /// An issue, by its page.
    Issue(IssueId),
    /// A record, whose repository only the network knows.
    Record(AtUri),
}

impl Named {
    /// The number, if it is one of `repo`, and what is named by it where that is said.
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

    /// The link to it from a text of `repo`, without title and state.
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

/// One place where a text names something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// What.
    pub named: Named,
    /// A closing word stands right before it: `fixes #7`.
    pub closes: bool,
    /// Words that say that it belongs with it stand right before it: `part of #7`, `see #7`.
    pub relates: bool,
}

/// What `text` names, in order; `hosts` says what is at which host, and where `owner/name` is. A text
/// in which more than 500 places name something is told in `warnings`, once for all texts, and has
/// the first 500.
#[must_use]
pub fn mentions(text: &str, hosts: &Hosts, warnings: &mut Vec<Warning>) -> Vec<Mention> {
    let prose = prose(text);
    let mut all = places(&prose, hosts);
    let found = all.by_ref().take(MOST).collect();
    if all.next().is_some() {
        let cut = Warning::new(format!(
            "one text names more than {MOST} pull requests and issues; those after the first {MOST} \
             were left out"
        ));
        if !warnings.contains(&cut) {
            warnings.push(cut);
        }
    }
    found
}

/// The issues that a pull request of `repo` with this description closes, each once, in order.
#[must_use]
pub fn closing(text: &str, repo: &RepoId, hosts: &Hosts) -> Vec<u64> {
    let prose = prose(text);
    let mut seen = BTreeSet::new();
    places(&prose, hosts)
        .filter(|mention| mention.closes)
        .filter_map(|mention| mention.named.number_in(repo))
        .filter(|(kind, _)| *kind != Some(SubjectKind::PullRequest))
        .map(|(_, number)| number)
        .filter(|number| seen.insert(*number))
        .collect()
}

/// A place where a text names a ticket of an issue tracker: `PROJ-123`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Its key.
    pub key: String,
    /// As [`Mention::closes`].
    pub closes: bool,
    /// As [`Mention::relates`].
    pub relates: bool,
}

/// The tickets that `text` names outside of code, in order.
///
/// `key_of` gives the key that a word begins with; [`ticket_key`] is the usual one.
#[must_use]
pub fn tickets(text: &str, key_of: impl Fn(&str) -> Option<&str>) -> Vec<Ticket> {
    let prose = prose(text);
    let found = words(&prose).filter_map(|word| {
        let text = word
            .text
            .trim_start_matches(['(', '[', '{', '<', '"', '\'', '*', '_', '~', '|']);
        Some(Ticket {
            key: key_of(text)?.to_owned(),
            closes: word.closes,
            relates: word.relates,
        })
    });
    found.take(MOST).collect()
}

/// The key of a ticket that a text begins with, unless it goes on as a word.
///
/// A key is two to ten capitals, digits and underscores, a hyphen and a number. `CVE-2024-1`, which
/// goes on, is none, and neither are the names of standards such as `UTF-8`.
#[must_use]
pub fn ticket_key(text: &str) -> Option<&str> {
    ticket_shape(text).filter(|key| !is_standard(key))
}

/// As [`ticket_key`], and also the names of standards.
#[must_use]
pub fn ticket_shape(text: &str) -> Option<&str> {
    let (project, rest) = text.split_once('-')?;
    let is_key = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let is_project = project.starts_with(|c: char| c.is_ascii_uppercase())
        && (2..=10).contains(&project.len())
        && project.chars().all(is_key);
    let digits = rest.find(|c: char| !c.is_ascii_digit());
    let (number, behind) = rest.split_at_checked(digits.unwrap_or(rest.len()))?;
    let is_ticket = is_project && !number.is_empty() && !goes_on(behind);
    text.get(..project.len() + 1 + number.len())
        .filter(|_| is_ticket)
}

/// Whether a key names a standard, such as `UTF-8`.
#[must_use]
pub fn is_standard(key: &str) -> bool {
    let project = key.split_once('-').map_or(key, |(project, _)| project);
    STANDARDS.contains(&project)
}

/// Whether what is behind a key belongs to it: `a` of `PROJ-1a`, `-3` of `PROJ-1-3`.
#[must_use]
pub fn goes_on(behind: &str) -> bool {
    behind.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        || behind
            .strip_prefix('-')
            .is_some_and(|more| more.starts_with(|c: char| c.is_ascii_digit()))
}

/// Every place of a text without code that names something, in order.
fn places(prose: &str, hosts: &Hosts) -> impl Iterator<Item = Mention> {
    words(prose).filter_map(move |word| {
        let named = named(word.text, hosts)?;
        Some(Mention {
            named,
            closes: word.closes,
            relates: word.relates,
        })
    })
}

/// A word of a prose, and what the words before it say of it.
struct Word<'a> {
    text: &'a str,
    closes: bool,
    relates: bool,
}

fn words(prose: &str) -> impl Iterator<Item = Word<'_>> {
    let mut after_closing = false;
    // The last two words, without their punctuation.
    let mut before = [String::new(), String::new()];
    prose.split_whitespace().map(move |text| {
        let follows = text.starts_with(|c: char| c == '#' || c.is_alphanumeric());
        let closes = after_closing && follows;
        let relates = !closes && RELATING.iter().any(|words| ends_with(&before, words));
        let bare = text.trim_start_matches(|c: char| !c.is_alphanumeric());
        let bare = bare.strip_suffix(':').unwrap_or(bare).to_lowercase();
        after_closing = CLOSING.contains(&bare.as_str());
        before.rotate_left(1);
        if let Some(last) = before.last_mut() {
            *last = bare;
        }
        Word {
            text,
            closes,
            relates,
        }
    })
}

/// Whether the last words are these.
fn ends_with(before: &[String; 2], words: &[&str]) -> bool {
    let from = before.len().saturating_sub(words.len());
    before
        .get(from..)
        .is_some_and(|last| last.iter().zip(words).all(|(a, b)| a == b))
}

/// The words of a Markdown text that a page shows, without its code, with the addresses of its links.
fn prose(text: &str) -> String {
    let (text, _) = crate::text::truncate_chars(text, READ);
    let comments: Vec<Range<usize>> = hidden(&text).into_iter().map(|part| part.range).collect();
    let is_hidden = |at: usize| from_on(&comments, at).next().is_some_and(|c| c.start <= at);
    let mut prose = String::new();
    let mut html = String::new();
    // How many links, images and code blocks are open: what they show is not looked at.
    let mut inside = 0_usize;
    for (event, range) in Parser::new(&text).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                if inside == 0 && !is_hidden(range.start) {
                    prose.push(' ');
                    prose.push_str(&dest_url);
                    prose.push(' ');
                }
                inside += 1;
            }
            Event::Start(Tag::Image { .. } | Tag::CodeBlock(_)) => {
                prose.push_str(GAP);
                inside += 1;
            }
            Event::End(TagEnd::Link | TagEnd::Image | TagEnd::CodeBlock) => {
                inside = inside.saturating_sub(1);
            }
            Event::Start(Tag::HtmlBlock) => html.clear(),
            Event::Html(_) => {
                let mut from = range.start;
                for comment in from_on(&comments, from).take_while(|c| c.start < range.end) {
                    html.push_str(text.get(from..comment.start).unwrap_or_default());
                    html.push(' ');
                    from = comment.end;
                }
                html.push_str(text.get(from..range.end).unwrap_or_default());
            }
            Event::End(TagEnd::HtmlBlock) => {
                prose.push(' ');
                prose.push_str(&shown_of_html(&html));
                prose.push(' ');
            }
            Event::Text(part) if inside == 0 && !is_hidden(range.start) => prose.push_str(&part),
            Event::Code(_) => prose.push_str(GAP),
            Event::Text(_) => {}
            // The end of a line or of a block, or a tag in a line.
            _ => prose.push(' '),
        }
    }
    prose
}

/// The comments that end behind `at`.
fn from_on(comments: &[Range<usize>], at: usize) -> impl Iterator<Item = &Range<usize>> {
    let before = comments.partition_point(|comment| comment.end <= at);
    comments.iter().skip(before)
}

/// What a block of HTML without comments shows: without tags and preformatted text.
fn shown_of_html(html: &str) -> String {
    let start = html.trim_start().get(..4).unwrap_or_default();
    if start.eq_ignore_ascii_case("<pre") {
        return String::new();
    }
    let mut shown = String::new();
    let mut rest = html;
    while let Some((before, behind)) = rest.split_once('<') {
        shown.push_str(before);
        shown.push(' ');
        rest = behind_tag(behind);
    }
    shown.push_str(rest);
    shown
}

/// What follows a tag whose `<` is read. A `>` in a quoted value does not end it.
fn behind_tag(html: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in html.char_indices() {
        match quote {
            None if c == '>' => return html.get(at + 1..).unwrap_or_default(),
            // Elsewhere a quote is a character like others.
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

/// What a word names, without the punctuation around it.
fn named(word: &str, hosts: &Hosts) -> Option<Named> {
    let word = word.trim_start_matches(['(', '[', '{', '<', '"', '\'', '*', '_', '~', '|']);
    if let Some(digits) = word.strip_prefix('#') {
        return number(digits).map(Named::Number);
    }
    let (address, digits) = match word.split_once('#') {
        Some((address, rest)) => match local_issue(address, rest, hosts) {
            Some(issue) => return Some(Named::Issue(issue)),
            None => (address, number(rest)),
        },
        None => {
            let ends = |c: char| !c.is_alphanumeric() && c != '/';
            (word.trim_end_matches(ends), None)
        }
    };
    // A path of this machine is named by its `file:` address alone.
    let is_path = address.starts_with(['/', '.', '~']);
    let is_address = address.contains("://");
    let is_name = digits.is_some() && address.contains(['/', ':']) && !is_path;
    if !is_address && !is_name {
        return None;
    }
    match locator::parse(address, hosts).ok()?.locator {
        Locator::Repo(repo) => digits.map(|n| Named::InRepo(repo, n)),
        Locator::Pull { id, .. } => Some(Named::Pull(id)),
        Locator::Issue { repo, key } => Some(Named::Issue(IssueId { repo, key })),
        Locator::Record(uri) => Some(Named::Record(uri)),
    }
}

/// The issue that `file:///…#issue-7` names, perhaps with punctuation behind it.
fn local_issue(address: &str, rest: &str, hosts: &Hosts) -> Option<IssueId> {
    let number = number(rest.strip_prefix(ISSUE_SUFFIX)?)?;
    // A path of this machine is named by its `file:` address alone.
    if !address.contains("://") {
        return None;
    }
    match locator::parse(address, hosts).ok()?.locator {
        Locator::Repo(repo) if repo.numbers_issues_apart() => Some(IssueId::number(repo, number)),
        _ => None,
    }
}

/// The number that a text begins with, unless it goes on as a word.
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
    fn nine_words_close_and_nothing_else_does() {
        for word in CLOSING {
            assert_eq!(closed(&format!("It {word} #7.")), [7], "{word}");
        }
        assert_eq!(closed("Fixes: #3, CLOSES #2\n(resolves #3)"), [3, 2]);
        assert_eq!(closed("Fixes file:///own#3 and closes /own#2"), [3]);
        assert_eq!(closed("Fixes file:///own#issue-3. Fixes #issue-2"), [3]);
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
    fn mention_words_of_relation_are_read() {
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
    }

    #[test]
    fn tickets_are_keys_outside_of_code() {
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
        for text in [
            "UTF-8 SHA-256 ISO-8601 CVE-2024-1 COVID-19 GH-12",
            "ABCDEFGHIJKLM-1 proj-1 A-1 PROJ-1a PROJ-12-3 PROJ- -1 xPROJ-1",
            "`PROJ-1` <!-- PROJ-2 -->",
            "```\nPROJ-1\n```",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn names_in_prose() {
        for (text, found) in [
            (
                "see #7, (#8) and [#9]; **#10**",
                &["#7", "#8", "#9", "#10"][..],
            ),
            ("#7's #8-9 #5.", &["#7", "#8", "#5"]),
            ("- #1\n- #2\n\n> #3\n\n| #4 |", &["#1", "#2", "#3", "#4"]),
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
    fn what_is_left_out_is_said_once_and_all_that_is_closed_counts() {
        let mut said = Vec::new();
        let many = "#1 ".repeat(MOST);
        let mut found = |text: &str| mentions(text, &Hosts::builtin(), &mut said).len();
        assert_eq!(found(&many), MOST);
        let more = format!("{many} fixes #7, fixes #7, fixes #2");
        assert_eq!((found(&more), found(&more)), (MOST, MOST));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].message.contains("more than 500"), "{said:?}");
        assert_eq!(closed(&more), [7, 2]);
    }

    #[test]
    fn what_names_nothing() {
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
        ] {
            assert_eq!(of(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_is_of_the_own_repository_under_any_name() {
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
        fn any_text_is_read(text in "(?s).{0,200}") {
            for mention in mentions(&text, &Hosts::builtin(), &mut Vec::new()) {
                if let Named::Number(n) = mention.named {
                    prop_assert!(n > 0);
                }
            }
        }

        #[test]
        fn tickets_of_any_text_are_read(text in "(?s).{0,200}") {
            for ticket in tickets(&text, ticket_key) {
                prop_assert_eq!(ticket_key(&ticket.key), Some(ticket.key.as_str()));
                prop_assert!(text.contains(&ticket.key));
            }
        }

        #[test]
        fn a_fence_names_nothing(text in "[^`]{0,200}") {
            prop_assert_eq!(of(&format!("```\n{text}\n```\n")), Vec::<String>::new());
        }

        #[test]
        fn a_number_in_prose_is_found(n in 1_u64..1_000_000, word in "[xyz]{1,8}") {
            prop_assert_eq!(of(&format!("{word} #{n} {word}")), vec![format!("#{n}")]);
        }
    }
}
