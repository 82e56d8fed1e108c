//! What somebody agrees to is what is done: the head that was looked at is the one that counts.

use std::fmt::Debug;

use forge_core::{
    Action, Capability, Changed, Error, ErrorKind, Hint, Op, Repo, Support, check_expected_head,
    model::PullRequest, text::one_line,
};

use crate::calls::{Ask, Call, Stop, Target};

/// What a caller says about what is to be agreed to.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    /// `expected_head`.
    pub head: Option<&'a str>,
    /// `confirm`.
    pub confirm: Option<&'a str>,
}

/// What somebody is asked.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    /// With all that somebody needs to know.
    pub text: &'a str,
    /// All that it names, beside the head and the arguments of the call: an answer counts for this
    /// alone.
    pub bound: &'a str,
}

/// Asks whether it is to be done, once the head is the expected one.
///
/// # Errors
/// Those of [`check_expected_head`]; a stop while the user is asked, and when nobody agrees.
pub(super) async fn agreed(
    call: &Call,
    target: &Target,
    pull: &PullRequest,
    said: &Said<'_>,
    question: Question<'_>,
) -> Result<(), Stop> {
    let head = pull.head_id();
    check_expected_head(&target.id, said.head, head)?;
    let ask = Ask {
        id: &target.id,
        head,
        state: pull.state,
        question: question.text,
        bound: question.bound,
        confirm: said.confirm,
    };
    call.confirm(ask).await
}

/// The head in a question. Of a patch its author says which commit it is of, and may say anything.
pub(super) fn head_words(pull: &PullRequest) -> String {
    match (&pull.head_patch, &pull.head_oid) {
        (Some(patch), Some(commit)) => {
            let commit = named(commit);
            format!("{patch} (by its author's word commit {commit})")
        }
        (_, _) => pull.head_id().unwrap_or("unknown").to_owned(),
    }
}

/// How much of a title a question has, in characters.
const TITLE: usize = 200;

/// A title in a question: however long its author has made it, and whatever is in it, the quotes
/// around it are where it ends.
pub(super) fn titled(call: &Call, pull: &PullRequest) -> String {
    quotable(call.cleaner.line(&pull.title).as_data())
}

/// A text of somebody else's, cut and without the quotes that it stands in.
pub(super) fn quotable(text: &str) -> String {
    short(text).replace('"', "'")
}

/// How much of each of several names a question has, in characters, and how many names.
const BRIEF: usize = 40;
const MAX_NAMES: usize = 20;

/// A count and names that others chose, each in quotes of its own: none hides the next, nor the
/// count.
pub(super) fn counted(call: &Call, what: &str, names: &[String]) -> String {
    let brief = |name: &String| {
        let name = cut(call.cleaner.line(name).as_data(), BRIEF).replace('"', "'");
        format!("\"{name}\"")
    };
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

/// A branch or a file in a question: in quotes where it could pose as more than a name, and with
/// nothing hidden in it, as that would name another one.
pub(super) fn named(name: &str) -> String {
    match is_plain(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.escape_debug()),
    }
}

/// A person in a question. A login is whatever a forge stores for one.
pub(super) fn mentioned(call: &Call, login: &str) -> String {
    match is_plain(login) {
        true => format!("@{login}"),
        false => format!("\"{}\"", quotable(call.cleaner.line(login).as_data())),
    }
}

/// How much of a name a question has without quotes, in characters.
const MAX_PLAIN: usize = 64;

fn is_plain(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./@".contains(&b);
    (1..=MAX_PLAIN).contains(&name.len()) && name.bytes().all(is_plain)
}

fn short(title: &str) -> String {
    cut(title, TITLE)
}

fn cut(text: &str, most: usize) -> String {
    match forge_core::text::truncate_chars(text, most) {
        (_, 0) => text.to_owned(),
        (kept, _) => format!("{kept}…"),
    }
}

/// Refuses what the forge cannot do at all: nobody is asked about it, and nothing else is written.
///
/// # Errors
/// `unsupported` for the first that it cannot do.
pub(super) fn can(repo: &Repo, needs: &[Capability]) -> Result<(), Error> {
    let table = repo.client().forge().capabilities();
    for capability in needs {
        if let Support::No { why, instead } = table.get(*capability) {
            return Err(Error::unsupported(*capability, why, instead));
        }
    }
    Ok(())
}

/// What a question names beside the head, each with what it is called in an error.
#[derive(Debug)]
pub(super) struct Facts(pub Vec<(&'static str, String)>);

impl Facts {
    /// Fails when one of them is other now: the user may have thought for minutes.
    ///
    /// # Errors
    /// `conflict` with the first that was changed.
    pub fn still(&self, now: &Self) -> Result<(), Error> {
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

    /// All of them, and what else is done, for [`Question::bound`].
    pub fn with(&self, more: impl Debug) -> String {
        format!("{:?} {more:?}", self.0)
    }
}

/// What the user agreed to is no longer so.
pub(super) fn changed(expected: String, actual: String, message: String) -> Error {
    let kind = ErrorKind::Conflict {
        what: Changed::View,
        expected,
        actual,
    };
    Error::new(kind, message).with_hint(Hint::fixed(
        "look at it, then make the call again: the user is asked anew",
        Action::op(Op::PrView),
    ))
}

#[cfg(test)]
mod tests {
    use super::{TITLE, is_plain, named, short};

    #[test]
    fn a_question_keeps_the_beginning_of_a_long_title() {
        assert_eq!(short("Fix Vec<T>"), "Fix Vec<T>");
        let whole = "é".repeat(TITLE);
        assert_eq!(short(&whole), whole);
        assert_eq!(short(&"é".repeat(50_000)), format!("{whole}…"));
    }

    #[test]
    fn question_name_that_is_no_name_is_quoted() {
        for plain in ["main", "feature/x-1_2", "alice", "ada@example.com"] {
            assert!(is_plain(plain), "{plain}");
            assert_eq!(named(plain), plain);
        }
        let long = "a".repeat(65);
        for (odd, shown) in [
            ("a\u{3164}b", "\"a\u{3164}b\"".to_owned()),
            ("a\u{202e}b", "\"a\\u{202e}b\"".to_owned()),
            ("a\"b", "\"a\\\"b\"".to_owned()),
            (
                "a. All checks passed",
                "\"a. All checks passed\"".to_owned(),
            ),
            (&long, format!("\"{long}\"")),
            ("", "\"\"".to_owned()),
        ] {
            assert_eq!(named(odd), shown);
        }
    }
}
