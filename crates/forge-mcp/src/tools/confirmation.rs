//! Binds the user's confirmation to the facts in the question, such as the head commit. If a fact
//! changes, the confirmation is invalid.

use std::fmt::Debug;

use forge_core::{
    Action, Capability, Changed, Error, ErrorKind, Hint, Op, Repo, Support, Warning,
    check_expected_head,
    model::PullRequest,
    text::{Quote, one_line, quote, strip_hidden},
};

use crate::calls::{CallContext, ConfirmationRequest, PullTarget, ToolError};

#[derive(Clone, Copy)]
pub(super) struct ConfirmationArgs<'a> {
    /// The argument `expected_head`.
    pub head: Option<&'a str>,
    pub confirm: Option<&'a str>,
}

#[derive(Clone, Copy)]
pub(super) struct ConfirmationQuestion<'a> {
    /// The complete text of the question.
    pub text: &'a str,
    /// Facts in the question other than the head and the arguments. The user's answer is invalid if
    /// one of them has changed since.
    pub bound: &'a str,
}

/// Checks the expected head, then asks the user to confirm.
///
/// # Errors
///
/// Fails as [`check_expected_head`] does. Also fails until the user has answered, and if the user
/// declines.
pub(super) async fn require_confirmation(
    call: &CallContext,
    target: &PullTarget,
    pull: &PullRequest,
    said: &ConfirmationArgs<'_>,
    question: ConfirmationQuestion<'_>,
) -> Result<(), ToolError> {
    let head = pull.head_id();
    check_expected_head(&target.id, said.head, head)?;
    let id = target.id.to_string();
    let ask = ConfirmationRequest {
        id: &id,
        head,
        state: pull.state,
        question: question.text,
        bound: question.bound,
        confirm: said.confirm,
    };
    call.confirm(ask).await
}

/// Returns warnings about the records of `op` that the index of the forge may not show. A failure to
/// find out is left to the operation.
pub(super) async fn index_warnings(repo: &Repo, op: Op) -> Vec<Warning> {
    let limits = repo.index_limits().await.unwrap_or_default();
    let concerned = limits.iter().filter(|limit| limit.concerns(op, false));
    concerned
        .map(|limit| {
            Warning::new(format!(
                "{}; else {}",
                limit.warning().message,
                limit.instead
            ))
        })
        .collect()
}

/// Formats a commit id for a question. The id is cleaned, because a host may send any text.
pub(super) fn commit_text(id: Option<&str>) -> String {
    id.map_or_else(|| "unknown".to_owned(), named)
}

/// Formats the head commit for a question. If the head is a patch, the commit is only its author's
/// claim and may be wrong.
pub(super) fn head_text(pull: &PullRequest) -> String {
    match (&pull.head_patch, &pull.head_oid) {
        (Some(patch), Some(commit)) => {
            let commit = named(commit);
            format!("{patch} (commit {commit}, as its author claims)")
        }
        (_, _) => commit_text(pull.head_id()),
    }
}

const MAX_TITLE_CHARS: usize = 200;

/// Formats a title for a question: cut and quoted.
pub(super) fn titled(call: &CallContext, pull: &PullRequest) -> String {
    quoted(call, &pull.title)
}

/// Cuts and quotes foreign text for a question.
pub(super) fn quoted(call: &CallContext, text: &str) -> String {
    in_quotes(&short(call.cleaner.line(text).as_data()))
}

/// Puts foreign text between quotes that the text cannot close. If the call fails, the error quotes
/// the whole question again, which turns the inner quotes into single ones. The text therefore
/// keeps no quotation mark of any kind.
pub(super) fn in_quotes(text: &str) -> String {
    quote(&without_quotes(text), Quote::Inline)
}

/// Keeps letters, digits, marks and the signs that cannot be taken for quotation marks, and writes
/// `·` for any other sign. An apostrophe between two Latin letters becomes `’`.
fn without_quotes(text: &str) -> String {
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        let in_word = is_latin(before) && chars.peek().is_some_and(|c| is_latin(*c));
        let kept = match c {
            '\'' | '\u{2bc}' | '\u{2019}' | '\u{ff07}' if in_word => '\u{2019}',
            c if is_no_quote(c, before) => c,
            _ => '·',
        };
        out.push(kept);
        before = kept;
    }
    out
}

fn is_latin(c: char) -> bool {
    let is_wide = matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}');
    c.is_ascii_alphabetic() || is_wide && is_of_common_script(c) && c.is_alphabetic()
}

/// Returns true if `c` cannot be taken for a quotation mark after the character `before`. Hidden
/// characters also give true: they are not replaced here, because they are later shown as numbers.
fn is_no_quote(c: char, before: char) -> bool {
    let is_accent =
        |c| matches!(c, '\u{300}'..='\u{30a}' | '\u{30c}' | '\u{323}'..='\u{328}' | '\u{331}');
    // `escape_debug` escapes a combining mark that stands alone. The standard library has no other
    // test for such marks.
    let is_mark = c.escape_debug().count() > 1;
    match c {
        '"' | '\'' | '`' => false,
        '!'..='~' | '·' | '…' | '–' | '—' => true,
        c if c.is_whitespace() || strip_hidden(c.encode_utf8(&mut [0; 4])).1 > 0 => true,
        c if is_accent(c) => before.is_alphabetic() || is_accent(before),
        c if !is_of_common_script(c) => false,
        // A combining mark that does not follow a letter of its script can look like a quotation
        // mark.
        c if is_mark => u32::from(c) >> 8 == u32::from(before) >> 8,
        c => c.is_alphanumeric(),
    }
}

/// Returns true in the ranges of common scripts. The ranges leave out letters and modifiers that
/// look like quotation marks.
fn is_of_common_script(c: char) -> bool {
    matches!(c,
        // Latin, Greek, Cyrillic, Armenian, Hebrew and Arabic.
        '\u{c0}'..='\u{148}' | '\u{14a}'..='\u{1bf}' | '\u{1c4}'..='\u{24f}'
        | '\u{1e00}'..='\u{1e99}' | '\u{1e9b}'..='\u{1eff}' | '\u{386}'..='\u{481}'
        | '\u{48a}'..='\u{52f}' | '\u{531}'..='\u{556}' | '\u{561}'..='\u{587}'
        | '\u{5b0}'..='\u{5ea}' | '\u{620}'..='\u{6fc}' | '\u{750}'..='\u{77f}'
        // Scripts of India and South East Asia, Georgian and Ethiopic.
        | '\u{900}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{10d0}'..='\u{10fa}'
        | '\u{1200}'..='\u{135f}' | '\u{1780}'..='\u{17e9}'
        // Hangul, kana and Han.
        | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{3163}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fe}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

/// Maximum length of each name in a list of names, and maximum number of names in the list.
const MAX_BRIEF: usize = 40;
const MAX_NAMES: usize = 20;

/// Formats a count with the counted names in quotes. The names are foreign text. The quotes show
/// where a name ends, so no name can imitate another name or the count.
pub(super) fn quote_names(call: &CallContext, what: &str, names: &[String]) -> String {
    let brief = |name: &String| in_quotes(&cut(call.cleaner.line(name).as_data(), MAX_BRIEF));
    let first: Vec<String> = names.iter().take(MAX_NAMES).map(brief).collect();
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match first.is_empty() {
        true => what.to_owned(),
        false => format!("{what}: {}{more}", first.join(", ")),
    }
}

/// Formats a branch or file name for a question. Hidden characters are shown as numbers, because
/// they could make one name look like another. A name that could be mistaken for other text is cut
/// and quoted.
pub(super) fn named(name: &str) -> String {
    if is_plain(name) {
        return name.to_owned();
    }
    let escaped = without_quotes(&short(name)).escape_debug().to_string();
    quote(&escaped, Quote::Inline)
}

/// Formats a person for a question. Forges store arbitrary logins, so the login is cleaned.
pub(super) fn mentioned(call: &CallContext, login: &str) -> String {
    match is_plain(login) {
        true => format!("@{login}"),
        false => quoted(call, login),
    }
}

/// Maximum length of a name without quotes, in characters.
const MAX_PLAIN: usize = 64;

fn is_plain(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./@".contains(&b);
    (1..=MAX_PLAIN).contains(&name.len()) && name.bytes().all(is_plain)
}

fn short(title: &str) -> String {
    cut(title, MAX_TITLE_CHARS)
}

fn cut(text: &str, most: usize) -> String {
    match forge_core::text::truncate_chars(text, most) {
        (_, 0) => text.to_owned(),
        (kept, _) => format!("{kept}…"),
    }
}

/// Checks that the forge has these capabilities. Call this before asking the user and before any
/// write.
///
/// # Errors
///
/// Fails with `unsupported` for the first missing capability.
pub(super) fn require_supported(repo: &Repo, needs: &[Capability]) -> Result<(), Error> {
    for capability in needs {
        if let Support::No { why, instead } = repo.support(*capability) {
            return Err(Error::unsupported(*capability, why, instead));
        }
    }
    Ok(())
}

/// Checks that the forge has these capabilities and that this repository does not restrict them.
///
/// # Errors
///
/// Fails as [`require_supported`] does, and if the repository cannot be read.
pub(super) async fn require_supported_here(repo: &Repo, needs: &[Capability]) -> Result<(), Error> {
    require_supported(repo, needs)?;
    for (capability, support) in repo.capabilities().await? {
        if let Support::No { why, instead } = support
            && needs.contains(&capability)
        {
            return Err(Error::unsupported(capability, why, instead));
        }
    }
    Ok(())
}

/// Facts in a question other than the head, each with a name for errors.
#[derive(Debug)]
pub(super) struct QuestionFacts(pub Vec<(&'static str, String)>);

impl QuestionFacts {
    /// Checks that no fact has changed since the question was asked.
    ///
    /// # Errors
    ///
    /// Fails with `conflict` for the first changed fact.
    pub fn ensure_unchanged(&self, now: &Self) -> Result<(), Error> {
        let mut both = self.0.iter().zip(&now.0);
        let Some(((name, expected), (_, actual))) = both.find(|(then, now)| then != now) else {
            return Ok(());
        };
        let [shown, found] = [expected, actual].map(|text| short(&one_line(text)));
        Err(changed(
            expected.clone(),
            actual.clone(),
            format!("the {name} was changed meanwhile: expected {shown}, found {found}"),
        ))
    }

    /// Joins all facts and `more` to one text, for [`ConfirmationQuestion::bound`].
    pub fn with(&self, more: impl Debug) -> String {
        format!("{:?} {more:?}", self.0)
    }
}

/// Returns the error for facts that changed after the user confirmed.
pub(super) fn changed(expected: String, actual: String, message: String) -> Error {
    let kind = ErrorKind::Conflict {
        what: Changed::View,
        expected,
        actual,
    };
    Error::new(kind, message).with_hint(Hint::fixed(
        "look at the change, then repeat the call: the user is asked again",
        Action::op(Op::PrView),
    ))
}

#[cfg(test)]
mod tests {
    use forge_core::{
        PrId, RepoId, Timestamp,
        model::{Actor, PullRequest},
    };

    use super::{MAX_TITLE_CHARS, head_text, in_quotes, is_plain, named, short};

    #[test]
    fn long_title_in_question_is_cut() {
        assert_eq!(short("Fix Vec<T>"), "Fix Vec<T>");
        let whole = "é".repeat(MAX_TITLE_CHARS);
        assert_eq!(short(&whole), whole);
        assert_eq!(short(&"é".repeat(50_000)), format!("{whole}…"));
    }

    #[test]
    fn head_without_object_id_form_is_quoted() {
        let id = PrId::number(RepoId::local("/r"), 7);
        let at = Timestamp::from_unix(1_700_000_000);
        let mut pull = PullRequest::new(id, "Work", Actor::new("ada"), at);
        assert_eq!(head_text(&pull), "unknown");
        for (head, shown) in [
            ("a".repeat(40), "a".repeat(40)),
            ("a. Title \"x\"".to_owned(), "\"a. Title ·x·\"".to_owned()),
        ] {
            pull.head_oid = Some(head);
            assert_eq!(head_text(&pull), shown);
        }
    }

    #[test]
    fn quoted_text_in_question_has_no_quotation_marks() {
        for (text, shown) in [
            (
                "Don't drop l\u{2019}état",
                "\"Don\u{2019}t drop l\u{2019}état\"",
            ),
            ("Add b', by @ada. Old 'b", "\"Add b·, by @ada. Old ·b\""),
            (
                "a\" b\u{201d} c\u{2019} d\u{2033} e\u{ff02}",
                "\"a· b· c· d· e·\"",
            ),
            ("\u{2018}a\u{201c} a\"b", "\"·a· a·b\""),
            // A combining mark needs a letter of its script before it.
            ("b\u{e4a} b\u{64b}", "\"b· b·\""),
        ] {
            assert_eq!(in_quotes(text), shown);
        }
        let signs = "\u{5f4}\u{2057}\u{2dd}\u{3003}\u{2f6}\u{2e42}\u{275f}\u{2760}\u{1f678}\u{5f3}\
                     \u{55a}\u{7f4}\u{a78c}\u{384}\u{1fbd}\u{1fbf}\u{1ffe}«»`¨\u{30b}\u{30d}\u{30e}\
                     \u{315}\u{a4f8}\u{a4f9}\u{309b}\u{3099}\u{ff9e}\u{149}\u{374}\u{1c1}";
        for sign in signs.chars() {
            let shown = "\"Add b·, by ·ada·\"";
            assert_eq!(
                in_quotes(&format!("Add b{sign}, by {sign}ada{sign}")),
                shown
            );
        }
    }

    #[test]
    fn words_of_common_scripts_in_question_stay() {
        for text in [
            "Größe 10–20 % (naïve), e\u{301}te\u{302}\u{301} [a] {b} <T> \\ #1 | x…",
            "Ελλάδα Привет Հայ \u{5e9}\u{5c1}\u{5b8}\u{5dc} \u{633}\u{64e}\u{644}",
            "हिन्दी বাংলা ไทยที่ 日本語 カード 한국어",
        ] {
            assert_eq!(in_quotes(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn unusual_name_in_question_is_quoted() {
        for plain in ["main", "feature/x-1_2", "alice", "ada@example.com"] {
            assert!(is_plain(plain), "{plain}");
            assert_eq!(named(plain), plain);
        }
        let (long, endless) = ("a".repeat(65), "a".repeat(50_000));
        for (odd, shown) in [
            ("a\u{3164}b", "\"a<U+3164>b\"".to_owned()),
            ("main\u{fe0f}", "\"main<U+FE0F>\"".to_owned()),
            ("main\u{34f}", "\"main<U+034F>\"".to_owned()),
            ("a\u{202e}b", "\"a\\u{202e}b\"".to_owned()),
            ("a\"b", "\"a·b\"".to_owned()),
            (
                "a. All checks passed",
                "\"a. All checks passed\"".to_owned(),
            ),
            (&long, format!("\"{long}\"")),
            (&endless, format!("\"{}…\"", "a".repeat(MAX_TITLE_CHARS))),
            ("", "\"\"".to_owned()),
        ] {
            assert_eq!(named(odd), shown);
        }
    }
}
