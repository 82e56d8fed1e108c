//! What somebody agrees to is what is done: the head that was looked at is the one that counts.

use std::fmt::Debug;

use forge_core::{
    Capability, Error, ErrorKind, Support, check_expected_head, model::PullRequest, text::one_line,
};

use crate::{
    safety::confirm::Ask,
    server::{Call, Stop, Target},
};

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
    let head = pull.head_oid.as_deref();
    check_expected_head(&target.id, said.head, head)?;
    let ask = Ask {
        id: &target.id,
        head,
        state: pull.state,
        question: question.text,
        bound: question.bound,
        confirm: said.confirm,
        head_named: said.head.is_some(),
    };
    call.confirm(ask).await
}

/// How much of a title a question has, in characters.
const TITLE: usize = 200;

/// A title in a question: however long its author has made it, and whatever is in it, the quotes
/// around it are where it ends.
pub(super) fn titled(call: &Call, pull: &PullRequest) -> String {
    short(call.cleaner.line(&pull.title).as_str()).replace('"', "'")
}

/// A branch in a question: with nothing hidden in its name, as that would name another one.
pub(super) fn named(branch: &str) -> String {
    branch.escape_debug().to_string()
}

fn short(title: &str) -> String {
    match forge_core::text::truncate_chars(title, TITLE) {
        (_, 0) => title.to_owned(),
        (kept, _) => format!("{kept}…"),
    }
}

/// Refuses what the forge cannot do at all: nobody is asked about it, and nothing else is written.
///
/// # Errors
/// `unsupported` for the first that it cannot do.
pub(super) fn can(target: &Target, needs: &[Capability]) -> Result<(), Error> {
    let table = target.repo.client().forge().capabilities();
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
        Err(Error::new(
            ErrorKind::Conflict {
                expected: expected.clone(),
                actual: actual.clone(),
            },
            format!("the {name} was changed meanwhile: expected {shown}, found {found}"),
        )
        .with_hint("look at it with pr_view, then make the call again: the user is asked anew"))
    }

    /// All of them, and what else is done, for [`Question::bound`].
    pub fn with(&self, more: impl Debug) -> String {
        format!("{:?} {more:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{TITLE, short};

    #[test]
    fn a_question_keeps_the_beginning_of_a_long_title() {
        assert_eq!(short("Fix Vec<T>"), "Fix Vec<T>");
        let whole = "é".repeat(TITLE);
        assert_eq!(short(&whole), whole);
        assert_eq!(short(&"é".repeat(50_000)), format!("{whole}…"));
    }
}
