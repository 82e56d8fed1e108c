//! The table of GitHub's refusals that have neither an own type nor an own status.
//!
//! A refusal is recognised by a part of its text. Case, apostrophes and spaces do not matter, because
//! GitHub writes the same text in several forms. A text without a row is passed on without advice.
//! The tests list every known text with its source and its result.

use forge_core::{
    Action, Arg, Changed, Error, ErrorKind, Hint, Noun, Op, Param, Precondition, Retry,
};

use crate::hints::{CHOOSE_BASE, CHOOSE_HEAD, END_PENDING, OPEN_ANOTHER, comment_instead};

/// A part of GitHub's message in the form of [`normalized`], and a function that builds the error
/// from the whole message.
type RefusalRow = (&'static str, fn(String) -> Error);

const REFUSALS: &[RefusalRow] = &[
    ("pull request already exists", |m| {
        Error::new(ErrorKind::AlreadyExists { existing: None }, m).with_hint(
            Hint::new("look at the open pull request of this head branch")
                .with_action(Action::op(Op::PrList).choose(Param::Head)),
        )
    }),
    // GitHub joins several reasons with commas. A missing branch also gives the blank ids of both ends
    // and "No commits between", so only the last reason tells which branch is missing.
    ("base ref must be a branch", |m| bad_base(m)),
    ("head ref must be a branch", |m| bad_head(m)),
    ("head sha can't be blank", |m| bad_head(m)),
    ("head repository can't be blank", |m| bad_head(m)),
    ("base sha can't be blank", |m| bad_base(m)),
    ("no commits between", |m| {
        Error::precondition(Precondition::NothingToMerge, m)
            .with_hint("commit and push something first")
    }),
    ("cannot change base branch of closed", |m| closed(m)),
    ("pullrequest base: invalid", |m| bad_base(m)),
    ("proposed base branch", |m| bad_base(m)),
    ("base branch was deleted", |m| bad_base(m)),
    ("head repository was deleted", |m| bad_head(m)),
    ("head branch was deleted", |m| bad_head(m)),
    ("draft pull requests are not supported", |m| {
        let action = Action::again(&[(Param::Draft, Arg::Omit)]);
        Error::precondition(Precondition::Rule, m)
            .with_hint(Hint::new("open the pull request as ready for review").with_action(action))
    }),
    ("head branch was modified", |m| head_changed(m)),
    ("expected head sha didn't match", |m| head_changed(m)),
    ("no new commits on the base branch", |m| {
        Error::precondition(Precondition::NothingToMerge, m)
            .with_hint("do nothing: the head branch is up to date")
    }),
    ("expected branch to point to", |m| {
        refused_swap_error(Changed::Ref, m).with_hint("review the new commits, then try again")
    }),
    ("a ref named", |m| {
        Error::invalid("head", m)
            .with_hint(Hint::new("give the new branch another name").with_action(CHOOSE_HEAD))
    }),
    ("base branch was modified", |m| {
        refused_swap_error(Changed::Base, m)
            .with_hint(Hint::new("merge again").with_action(Action::again(&[])))
    }),
    ("still a draft", |m| {
        let action = Action::op(Op::PrSetDraft).with(Param::Draft, "false");
        Error::precondition(Precondition::Draft, m)
            .with_hint(Hint::new("make it ready for review first").with_action(action))
    }),
    ("the pull request has been merged", |m| merged(m)),
    ("pull request is already merged", |m| merged(m)),
    ("pull request is closed", |m| closed(m)),
    ("merge conflict", |m| conflicts(m)),
    ("approving review", |m| unmet_rule_error(m)),
    ("must not contain merge commits", |m| method(m)),
    ("not authorized to push to this branch", |m| {
        denied_error(m)
            .with_hint("open a pull request, or ask an admin for the right to push to it")
    }),
    ("cannot force-push to", |m| {
        Error::precondition(Precondition::Rule, m).with_hint(
            "push new commits on top of the branch, or ask an admin to allow force-pushes",
        )
    }),
    ("required status check \"", |m| unmet_rule_error(m)),
    ("required status checks are expected", |m| {
        unmet_rule_error(m)
    }),
    ("required status checks have not succeeded", |m| {
        unmet_rule_error(m)
    }),
    ("is not mergeable", |m| {
        Error::precondition(Precondition::Rule, m).with_hint(
            Hint::new(
                "see the state and the checks of the pull request for the missing requirement",
            )
            .with_action(Action::op(Op::PrView)),
        )
    }),
    ("commits are not allowed on this repository", |m| method(m)),
    ("merges are not allowed on this repository", |m| method(m)),
    ("merge commits are not allowed", |m| method(m)),
    ("one pending review per pull request", |m| {
        Error::precondition(Precondition::Rule, m).with_hint(&END_PENDING)
    }),
    ("own pull request", |m| {
        Error::precondition(Precondition::Rule, m).with_hint(comment_instead())
    }),
    ("must be part of the diff", |m| bad_line(m)),
    ("line could not be resolved", |m| bad_line(m)),
    ("path could not be resolved", |m| {
        Error::invalid("path", m).with_hint(diff_line_hint("name a file that the diff shows"))
    }),
    ("was submitted too quickly", |m| {
        Error::new(
            ErrorKind::RateLimited {
                bucket: "content".into(),
                reset: None,
            },
            m,
        )
        .with_retry(Retry::After(std::time::Duration::from_secs(60)))
        .with_hint("try again in a minute")
    }),
    ("not a collaborator", |m| {
        Error::invalid("reviewers", m).with_hint("ask somebody with access to the repository")
    }),
    ("from collaborators", |m| {
        Error::invalid("reviewers", m).with_hint("ask somebody with access to the repository")
    }),
    ("review cannot be requested from pull request author", |m| {
        Error::invalid("reviewers", m).with_hint("ask somebody else")
    }),
    ("body is too long", |m| bad_text("body", m)),
    ("body can't be blank", |m| bad_text("body", m)),
    ("body cannot be blank", |m| bad_text("body", m)),
    ("title can't be blank", |m| bad_text("title", m)),
    ("title is too long", |m| bad_text("title", m)),
    ("name has already been taken", |m| name_taken_error(m)),
    ("already_exists", |m| name_taken_error(m)),
    ("name is too long", |m| bad_text("name", m)),
    ("issue milestone: invalid", |m| {
        Error::invalid("milestone", m).with_hint("name a milestone of the repository")
    }),
    ("label color: invalid", |m| bad_color(m)),
    ("color must be", |m| bad_color(m)),
    ("does not have a verified email", |m| {
        denied_error(m)
            .with_hint("verify an email address of the account in its settings on GitHub")
    }),
    ("in clean status", |m| {
        let hint = Hint::new("merge without auto-merge: nothing is left to wait for");
        Error::precondition(Precondition::Rule, m)
            .with_hint(hint.with_action(Action::again(&[(Param::Auto, Arg::Omit)])))
    }),
    ("auto merge is not allowed", |m| {
        let hint = Hint::new(
            "merge without waiting for the rules, or allow auto-merge in the repository's settings",
        );
        Error::precondition(Precondition::Rule, m)
            .with_hint(hint.with_action(Action::again(&[(Param::Auto, Arg::Omit)])))
    }),
    ("can't disable auto-merge", |m| {
        Error::precondition(Precondition::Rule, m)
            .with_hint("do nothing: auto-merge is not enabled")
    }),
    ("reference already exists", |m| name_taken_error(m)),
    ("reference contains bad characters", |m| {
        Error::invalid("head", m)
            .with_hint(Hint::new("give the branch another name").with_action(CHOOSE_HEAD))
    }),
    ("git repository is empty", |m| {
        Error::precondition(Precondition::NothingToMerge, m)
            .with_hint("push a first commit to the repository")
    }),
    ("branch not found", |m| {
        Error::not_found(Noun::Branch, m).with_hint("check the name of the branch")
    }),
    ("label does not exist", |m| {
        Error::not_found(Noun::Label, m).with_hint("check the name of the label")
    }),
    ("reference does not exist", |m| {
        Error::not_found(Noun::Branch, m).with_hint("do nothing: the branch is already deleted")
    }),
    ("forking is disabled", |m| {
        denied_error(m)
            .with_hint("push the branch to the repository itself, or ask an admin to allow forks")
    }),
    ("ip allow list", |m| {
        denied_error(m).with_hint("connect from an address that the organisation allows")
    }),
    ("saml enforcement", |m| {
        denied_error(m).with_hint(
            "authorise the token for single sign-on of the organisation, in the settings of the \
             token on GitHub",
        )
    }),
    ("issue is locked", |m| {
        denied_error(m)
            .with_hint("ask somebody with write access to unlock the conversation, or to comment")
    }),
    ("issues are disabled", |m| issues_disabled_error(m)),
    ("issues has been disabled", |m| issues_disabled_error(m)),
    ("upgrade to github pro", |m| {
        denied_error(m)
            .with_hint("make the repository public, or ask its owner for a plan with this feature")
    }),
    ("does not have the correct permissions", |m| denied(m)),
    ("resource not accessible by", |m| denied(m)),
    ("must have", |m| denied(m)),
    ("must be a collaborator", |m| denied(m)),
    ("archived", |m| {
        Error::precondition(Precondition::Rule, m)
            .with_hint("ask an admin to unarchive the repository")
    }),
    ("cannot change the base branch because", |m| {
        Error::precondition(Precondition::Rule, m)
            .with_hint("remove the pull request from its stack on GitHub's page first")
    }),
    ("is part of a stack", |m| {
        Error::precondition(Precondition::Stacked, m).with_hint("merge the stack on GitHub's page")
    }),
];

/// Returns the error for a refusal with the text `told`, whose message is `message`; `None` for an
/// unknown text.
pub(super) fn known_refusal(told: &str, message: &str) -> Option<Error> {
    let told = normalized(told);
    let (_, build) = REFUSALS.iter().find(|(part, _)| told.contains(part))?;
    Some(build(message.to_owned()))
}

/// Returns whether `told` contains `part`, which has the form of [`normalized`].
pub(super) fn is_about(told: &str, part: &str) -> bool {
    normalized(told).contains(part)
}

/// Returns a text in lower case, with ASCII apostrophes and single spaces.
fn normalized(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words
        .to_lowercase()
        .replace(['\u{2018}', '\u{2019}', '\u{2bc}'], "'")
}

/// Recovery for an account without permission.
pub(super) const MORE_RIGHTS: &str = "give the account more rights in the repository, or its token \
                                      more permissions (pull requests: read and write; contents: \
                                      write to merge)";

fn merged(message: String) -> Error {
    Error::precondition(Precondition::Merged, message).with_hint(&OPEN_ANOTHER)
}

fn closed(message: String) -> Error {
    Error::precondition(Precondition::Closed, message)
        .with_hint(Hint::new("reopen it first").with_action(Action::op(Op::PrReopen)))
}

fn conflicts(message: String) -> Error {
    Error::precondition(Precondition::Conflicts(vec![]), message)
        .with_hint("merge the base branch into the head, solve the conflicts and push")
}

/// Recovery for a merge refused by unmet rules.
pub(crate) const UNMET: &str = "look at the checks and the reviews, then merge when the rules are \
                                met (auto-merge waits for that); an admin can merge despite them";

fn unmet_rule_error(message: String) -> Error {
    Error::precondition(Precondition::Rule, message)
        .with_hint(Hint::new(UNMET).with_action(Action::op(Op::Checks)))
}

/// Returns the error for a write that GitHub refused because a value had changed. GitHub reports
/// neither the expected nor the actual value, so both stay empty in the error.
fn refused_swap_error(what: Changed, message: String) -> Error {
    let kind = ErrorKind::Conflict {
        what,
        expected: String::new(),
        actual: String::new(),
    };
    Error::new(kind, message)
}

fn head_changed(message: String) -> Error {
    refused_swap_error(Changed::Head, message).with_hint(
        Hint::new("review the new commits, then try again").with_action(Action::op(Op::PrView)),
    )
}

fn bad_text(field: &'static str, message: String) -> Error {
    Error::invalid(field, message).with_hint("write a text within GitHub's limits")
}

fn name_taken_error(message: String) -> Error {
    Error::new(ErrorKind::AlreadyExists { existing: None }, message)
        .with_hint("choose another name, or edit the object with this name")
}

fn bad_head(message: String) -> Error {
    Error::invalid("head", message)
        .with_hint("push the head branch first, and pass its name on the forge")
}

fn bad_base(message: String) -> Error {
    Error::invalid("base", message).with_hint(
        Hint::new("name a base branch that exists in the repository").with_action(CHOOSE_BASE),
    )
}

fn bad_line(message: String) -> Error {
    Error::invalid("line", message).with_hint(diff_line_hint("name a line that the diff shows"))
}

fn diff_line_hint(text: &'static str) -> Hint {
    Hint::new(text).with_action(Action::op(Op::PrDiff))
}

fn method(message: String) -> Error {
    Error::precondition(Precondition::Rule, message).with_hint(
        Hint::new("choose another method (merge, squash or rebase)")
            .with_action(Action::again(&[(Param::Method, Arg::Choose)])),
    )
}

fn denied(message: String) -> Error {
    denied_error(message).with_hint(MORE_RIGHTS)
}

fn denied_error(message: String) -> Error {
    let kind = ErrorKind::PermissionDenied {
        missing: vec![],
        sso_url: None,
    };
    Error::new(kind, message)
}

fn issues_disabled_error(message: String) -> Error {
    Error::precondition(Precondition::Rule, message)
        .with_hint("ask an admin to enable issues in the settings of the repository")
}

fn bad_color(message: String) -> Error {
    Error::invalid("color", message).with_hint("write six hex digits, such as d73a4a")
}
