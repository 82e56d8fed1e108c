//! What somebody agrees to is what is done: the head that was looked at is the one that counts.

use forge_core::{Capability, Error, ErrorKind, Support, check_expected_head, model::PullRequest};

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
    /// What else is done than the arguments of the call say.
    pub besides: &'a str,
}

impl<'a> Question<'a> {
    /// Whether that is to be done which the arguments say.
    pub fn of(text: &'a str) -> Self {
        Self { text, besides: "" }
    }
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
        besides: question.besides,
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

/// Fails when the pull request goes into another branch than `agreed`.
///
/// # Errors
/// `conflict` with the branch that was found.
pub(super) fn same_base(agreed: &str, base: &str) -> Result<(), Error> {
    if agreed == base {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Conflict {
            expected: agreed.to_owned(),
            actual: base.to_owned(),
        },
        format!("the base branch was changed meanwhile: expected {agreed}, found {base}"),
    )
    .with_hint("look at it with pr_view, then make the call again: the user is asked anew"))
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
