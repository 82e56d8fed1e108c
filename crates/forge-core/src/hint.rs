//! Recovery hints: a sentence for people, and the same step as data for programs.
//!
//! A [`Hint`] never contains the name of a command, tool or flag. The command line renders its
//! [`Action`] as a command to paste, the MCP server as a tool call.

use std::{borrow::Cow, fmt};

use serde::{Serialize, Serializer};

use crate::Op;

/// A recovery: the next step that the caller should take.
///
/// `Display` prints only the sentence, not the action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hint {
    text: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
}

/// Recovery for a pull request whose head is in a repository that is deleted or hidden.
pub static LOST_HEAD: Hint = Hint::fixed(
    "open a new pull request with its commits: the fork with its head is deleted or hidden, so \
     nothing can be pushed there",
    Action::op(Op::PrCreate),
);

impl Hint {
    /// Creates a hint from an imperative sentence without a full stop, such as `push the branch
    /// first`.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            action: None,
        }
    }

    /// Adds the call that does what the sentence says.
    #[must_use]
    pub fn with_action(mut self, action: Action) -> Self {
        self.action = Some(action);
        self
    }

    /// Like [`Self::with_action`], but for an optional call.
    #[must_use]
    pub fn with_any_action(self, action: Option<Action>) -> Self {
        match action {
            Some(action) => self.with_action(action),
            None => self,
        }
    }

    /// Creates a hint with an action. Usable in constants.
    #[must_use]
    pub const fn fixed(text: &'static str, action: Action) -> Self {
        Self {
            text: Cow::Borrowed(text),
            action: Some(action),
        }
    }

    /// Returns the sentence.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if the sentence is a constant of this program, without text from a user or a
    /// forge.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }

    /// Returns the call that does what the sentence says.
    #[must_use]
    pub fn action(&self) -> Option<&Action> {
        self.action.as_ref()
    }

    /// Replaces the sentence and keeps the action.
    #[must_use]
    pub fn map_text(self, text: impl FnOnce(&str) -> String) -> Self {
        Self {
            text: Cow::Owned(text(&self.text)),
            action: self.action,
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self {
            text: Cow::Owned(text),
            action: None,
        }
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for Hint {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl From<&Self> for Hint {
    fn from(hint: &Self) -> Self {
        hint.clone()
    }
}

/// The operation that an [`Action`] calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Call {
    /// An operation of the forge, in the same repository as the failed call.
    Op(Op),
    /// Repeats the failed call with changed arguments.
    Again,
    /// Logs in to a host.
    Login,
    /// Shows the stored accounts and the active one.
    AuthStatus,
    /// Shows the capabilities of the repository.
    Capabilities,
    /// Sets a key of the user's configuration: [`Param::Key`] to [`Param::Value`].
    ConfigSet,
    /// Reads the configuration key [`Param::Key`], or all keys without it.
    ConfigGet,
    /// Lists every problem of the configuration files.
    ConfigValidate,
    /// Shows which services have ingested, that is read and stored, an atproto record. The target
    /// is the at-uri of the record.
    Ingestion,
    /// Creates the fields, options and labels that the workflow of a repository needs.
    WorkflowInit,
}

impl Call {
    /// Returns the stable name: the name of the operation, or a name such as `again` or
    /// `auth.login`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Op(op) => op.name(),
            Self::Again => "again",
            Self::Login => "auth.login",
            Self::AuthStatus => "auth.status",
            Self::Capabilities => "capabilities",
            Self::ConfigSet => "config.set",
            Self::ConfigGet => "config.get",
            Self::ConfigValidate => "config.validate",
            Self::Ingestion => "ingestion",
            Self::WorkflowInit => "workflow.init",
        }
    }
}

impl Serialize for Call {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// An argument of an [`Action`]. Its name in `snake_case` is the same in Rust and MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Param {
    /// The name of an account at its host.
    Account,
    /// An assignee to add; repeatable.
    AddAssignee,
    /// A label to add; repeatable.
    AddLabel,
    /// A project board to add, by its title; repeatable.
    AddProject,
    /// An account, bot or team to request a review from; repeatable.
    AddReviewer,
    /// Flag: merge despite the rules.
    Admin,
    /// Files to attach.
    Attach,
    /// The author of a pull request or an issue.
    Author,
    /// The e-mail address for the author of a merge commit.
    AuthorEmail,
    /// Flag: let the forge merge later, once the rules are met.
    Auto,
    /// The base branch.
    Base,
    /// A description or a comment.
    Body,
    /// The id of a claim, which reserves an issue in a workflow.
    Claim,
    /// A command of a workflow.
    Command,
    /// The cursor where the next page of a list begins.
    Cursor,
    /// Flag: also delete the head branch.
    DeleteBranch,
    /// The pull request directly below this one in the stack.
    DependsOn,
    /// Flag: make the pull request a draft.
    Draft,
    /// The estimate of an issue.
    Estimate,
    /// Flag: change an object that already exists.
    Force,
    /// The head branch.
    Head,
    /// A host name.
    Host,
    /// Parts of an item to show, by the names of the model's fields.
    Include,
    /// A configuration key.
    Key,
    /// The kind of a forge.
    Kind,
    /// The name of a label to create.
    Label,
    /// Flag: leave the files of work trees unchanged.
    LeaveCheckout,
    /// Maximum number of rows.
    Limit,
    /// The largest estimate of an issue to pick.
    MaxEstimate,
    /// How to merge: `merge`, `squash` or `rebase`.
    Method,
    /// A milestone, by its title.
    Milestone,
    /// A patch that replaces the head branch as the source of the changes.
    Patch,
    /// The action on a pending review: `keep`, `submit` or `discard`.
    Pending,
    /// A changed file to show; repeatable.
    Path,
    /// The priority of an issue.
    Priority,
    /// Flag: write an atproto record again, so that the index (the service that displays it) reads
    /// it.
    PutAgain,
    /// A label to remove; repeatable.
    RemoveLabel,
    /// A repository.
    Repo,
    /// The number of a round (a submitted version of a pull request), counted from 0.
    Round,
    /// A search query.
    Search,
    /// The earlier round, or the earlier head commit, to compare with.
    Since,
    /// `open`, `closed`, `merged` or `all`.
    State,
    /// The first line of the message of a merge commit.
    Subject,
    /// The workflow state that all issues of a group have to reach.
    TargetState,
    /// A title.
    Title,
    /// A configuration value.
    Value,
    /// `approve`, `request_changes` or `comment`.
    Verdict,
    /// The event to wait for: `checks`.
    WaitFor,
    /// Flag: read a token from standard input.
    WithToken,
}

/// The value of a [`Param`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// A fixed value; `true` for a switch.
    Set(Cow<'static, str>),
    /// A value that the caller has to choose.
    Choose,
    /// No value: the argument is omitted.
    Omit,
    /// Replaces the first value by the second in this argument of the failed call.
    Replace(Cow<'static, str>, Cow<'static, str>),
}

/// A call that the caller can make, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Action {
    call: Call,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    args: Cow<'static, [(Param, Arg)]>,
}

impl Action {
    /// Creates a call. Its target is the pull request or issue of the failed call.
    #[must_use]
    pub const fn new(call: Call) -> Self {
        Self::fixed(call, &[])
    }

    /// Like [`Self::new`], for an operation of the forge.
    #[must_use]
    pub const fn op(op: Op) -> Self {
        Self::new(Call::Op(op))
    }

    /// Creates a call that repeats the failed call with changed arguments. Usable in constants.
    #[must_use]
    pub const fn again(args: &'static [(Param, Arg)]) -> Self {
        Self::fixed(Call::Again, args)
    }

    /// Creates a call with arguments. Usable in constants.
    #[must_use]
    pub const fn fixed(call: Call, args: &'static [(Param, Arg)]) -> Self {
        Self {
            call,
            target: None,
            args: Cow::Borrowed(args),
        }
    }

    /// Sets the target: a pull request, an issue or a record, by its number or at-uri.
    #[must_use]
    pub fn on(mut self, target: impl ToString) -> Self {
        self.target = Some(target.to_string());
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn with(mut self, param: Param, value: impl Into<String>) -> Self {
        let value = Arg::Set(Cow::Owned(value.into()));
        self.args.to_mut().push((param, value));
        self
    }

    /// Replaces a wrong value of an argument of the failed call. In a list, only this value is
    /// replaced.
    #[must_use]
    pub fn replace(
        mut self,
        param: Param,
        wrong: impl Into<String>,
        right: impl Into<String>,
    ) -> Self {
        let value = Arg::Replace(Cow::Owned(wrong.into()), Cow::Owned(right.into()));
        self.args.to_mut().push((param, value));
        self
    }

    /// Adds an argument whose value the caller has to choose.
    #[must_use]
    pub fn choose(mut self, param: Param) -> Self {
        self.args.to_mut().push((param, Arg::Choose));
        self
    }

    /// Returns the operation to call.
    #[must_use]
    pub fn call(&self) -> Call {
        self.call
    }

    /// Returns the target: a pull request, an issue or a record. `None` means the target of the
    /// failed call.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Returns the arguments in the order in which they were added.
    #[must_use]
    pub fn args(&self) -> &[(Param, Arg)] {
        &self.args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static MERGE: Hint = Hint::fixed(
        "merge by rebasing",
        Action::again(&[(Param::Method, Arg::Set(Cow::Borrowed("rebase")))]),
    );

    #[test]
    fn hint_serializes_text_and_action() {
        let hint = Hint::from(format!("merge #{} first", 7))
            .with_action(Action::op(Op::PrMerge).on(7).with(Param::Method, "squash"));
        assert_eq!(hint.to_string(), "merge #7 first");
        assert_eq!(
            serde_json::to_value(&hint).unwrap(),
            serde_json::json!({
                "text": "merge #7 first",
                "action": {
                    "call": "pr.merge",
                    "target": "7",
                    "args": [["method", { "set": "squash" }]],
                },
            })
        );
        let plain = serde_json::to_value(Hint::new("push first")).unwrap();
        assert_eq!(plain, serde_json::json!({ "text": "push first" }));
    }

    #[test]
    fn constant_hint_keeps_action() {
        let action = MERGE.action().unwrap();
        assert_eq!((action.call(), action.target()), (Call::Again, None));
        assert_eq!(action.args().len(), 1);
    }
}
