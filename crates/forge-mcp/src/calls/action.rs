//! Renders hints for agents: a sentence, and the tool call that carries out the hint.
//!
//! An [`Action`] is the step that a hint recommends, independent of tools and command lines. Two
//! tables render it for agents: one maps calls to tools, the other maps parameters to tool
//! arguments. A call that has no tool becomes a command for the user's terminal. The schemas of the
//! offered tools are checked: a call with an unknown argument, or without a required one, is not
//! rendered as a tool call.

use std::{collections::BTreeMap, fmt, sync::Arc};

use forge_core::{Action, Arg, Call, Hint, Op, Param, text};
use forge_git::quoted;
use rmcp::{
    model::JsonObject,
    schemars::{self, JsonSchema},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::args;
use crate::content::{Clean, Cleaner, MAX_VALUE_CHARS, name_of};

/// A kind of call, the tool that makes it, and the arguments that this call always passes.
type ToolRow = (Call, &'static str, &'static [(&'static str, &'static str)]);

/// The tool for each kind of call.
const TOOLS: &[ToolRow] = &[
    (Call::AuthStatus, FORGE_STATUS, &[]),
    (Call::Capabilities, FORGE_STATUS, &[]),
    (Call::Op(Op::Viewer), FORGE_STATUS, &[]),
    (Call::Op(Op::RepoView), FORGE_STATUS, &[]),
    (Call::Op(Op::PrCreate), "pr_create", &[]),
    (Call::Op(Op::PrList), "pr_list", &[]),
    (Call::Op(Op::PrFind), "pr_list", &[("state", "all")]),
    (Call::Op(Op::PrStatus), "pr_list", &[("author", "@me")]),
    (Call::Op(Op::PrView), "pr_view", &[]),
    (Call::Op(Op::PrMergeability), "pr_view", &[]),
    (Call::Op(Op::PrFiles), "pr_view", &[("include", "files")]),
    (
        Call::Op(Op::PrCommits),
        "pr_view",
        &[("include", "commits")],
    ),
    (
        Call::Op(Op::PrHistory),
        "pr_view",
        &[("include", "history")],
    ),
    (
        Call::Op(Op::CommentList),
        "pr_view",
        &[("include", "comments")],
    ),
    (
        Call::Op(Op::ReviewList),
        "pr_view",
        &[("include", "reviews")],
    ),
    (
        Call::Op(Op::ThreadList),
        "pr_view",
        &[("include", "threads")],
    ),
    (Call::Op(Op::PrEdit), PR_EDIT, &[]),
    (Call::Op(Op::PrSetDraft), PR_EDIT, &[("draft", "draft")]),
    (Call::Op(Op::PrResubmit), "pr_resubmit", &[]),
    (Call::Op(Op::PrUpdateBranch), "pr_update_branch", &[]),
    (
        Call::Op(Op::PrClose),
        "pr_set_state",
        &[("state", "closed")],
    ),
    (Call::Op(Op::PrReopen), "pr_set_state", &[("state", "open")]),
    (Call::Op(Op::PrMerge), "pr_merge", &[]),
    (Call::Op(Op::PrDiff), "pr_diff", &[]),
    (Call::Op(Op::Comment), PR_COMMENT, &[]),
    (Call::Op(Op::CommentEdit), PR_COMMENT, &[]),
    (Call::Op(Op::CommentDelete), PR_COMMENT, &[]),
    (Call::Op(Op::ReviewSubmit), PR_REVIEW, &[]),
    (Call::Op(Op::ReviewDismiss), "pr_review_dismiss", &[]),
    (Call::Op(Op::ThreadResolve), "pr_thread_resolve", &[]),
    (Call::Op(Op::IssueList), "issue_list", &[]),
    (Call::Op(Op::IssueView), "issue_view", &[]),
    (Call::Op(Op::IssueRelated), "issue_view", &[]),
    (Call::Op(Op::IssueRelated), "workflow_view", &[]),
    (
        Call::Op(Op::IssueHistory),
        "issue_view",
        &[("include", "history")],
    ),
    (Call::Op(Op::IssueCreate), "issue_create", &[]),
    (Call::Op(Op::IssueEdit), ISSUE_EDIT, &[]),
    (
        Call::Op(Op::IssueSetState),
        ISSUE_EDIT,
        &[("state", "closed")],
    ),
    (Call::Op(Op::IssueComment), ISSUE_COMMENT, &[]),
    (Call::Op(Op::IssueCommentEdit), ISSUE_COMMENT, &[]),
    (Call::Op(Op::IssueCommentDelete), ISSUE_COMMENT, &[]),
    (Call::Op(Op::Checks), "pr_checks", &[]),
    (Call::Op(Op::Checks), "pr_context", &[]),
    (Call::Op(Op::CheckLog), "pr_checks", &[("logs", "true")]),
    (Call::Op(Op::ChecksRerun), "pr_checks_rerun", &[]),
];

const FORGE_STATUS: &str = "forge_status";
const PR_EDIT: &str = "pr_edit";
const PR_COMMENT: &str = "pr_comment";
const PR_REVIEW: &str = "pr_review";
const ISSUE_EDIT: &str = "issue_edit";
const ISSUE_COMMENT: &str = "issue_comment";

/// Tools that fail if none of their optional arguments is given.
const NEED_ONE: [&str; 4] = [PR_EDIT, PR_COMMENT, ISSUE_EDIT, ISSUE_COMMENT];

/// The argument names of each parameter. The first name that the tool's schema contains is used.
const PARAMS: &[(Param, &[&str])] = &[
    (Param::AddAssignee, &["add_assignees", "assignees"]),
    (Param::AddLabel, &["add_labels", "labels"]),
    (Param::AddReviewer, &["add_reviewers", "reviewers"]),
    (Param::Author, &["author"]),
    (Param::Auto, &["auto"]),
    (Param::Base, &["base"]),
    (Param::Body, &["body", "comment"]),
    (Param::Claim, &["claim"]),
    (Param::Command, &["command"]),
    (Param::Cursor, &["cursor"]),
    (Param::DeleteBranch, &["delete_branch"]),
    (Param::DependsOn, &["depends_on"]),
    (Param::Draft, &["draft"]),
    // Tools take an estimate or a priority as an item `Field=value` of the list `values`.
    (Param::Estimate, &["values"]),
    (Param::Head, &["head"]),
    (Param::Include, &["include"]),
    (Param::Limit, &["limit"]),
    (Param::MaxEstimate, &["max_estimate"]),
    (Param::Method, &["method"]),
    (Param::Patch, &["patch"]),
    (Param::Pending, &["pending"]),
    (Param::Path, &["paths"]),
    (Param::Priority, &["values"]),
    (Param::RemoveLabel, &["remove_labels"]),
    (Param::Repo, &["repo"]),
    (Param::Search, &["search"]),
    (Param::State, &["state"]),
    (Param::Subject, &["subject"]),
    (Param::TargetState, &["target_state"]),
    (Param::Title, &["title"]),
    (Param::Verdict, &["verdict"]),
    (Param::WaitFor, &["wait_for"]),
];

/// The terminal command for each call without a tool. The flag is true if the command takes an
/// issue or a record as its argument.
const COMMANDS: &[(Call, &str, bool)] = &[
    (Call::Login, "auth login", false),
    (Call::ConfigSet, "config set", false),
    (Call::ConfigGet, "config get", false),
    (Call::ConfigValidate, "config validate", false),
    (Call::Ingestion, "tangled ingestion", true),
    (Call::WorkflowInit, "workflow init", false),
    (Call::Op(Op::IssueList), "issue list", false),
    (Call::Op(Op::IssueView), "issue view", true),
    (Call::Op(Op::IssueCreate), "issue create", false),
    (Call::Op(Op::IssueEdit), "issue edit", true),
    (Call::Op(Op::IssueSetState), "issue close", true),
    (Call::Op(Op::IssueComment), "issue comment", true),
    (Call::Op(Op::IssueDelete), "issue delete", true),
    (Call::Op(Op::IssueHistory), "issue history", true),
    (Call::Op(Op::IssueRelated), "issue view", true),
    (Call::Op(Op::LabelList), "label list", false),
    (Call::Op(Op::LabelDefine), "label create", false),
];

/// The command-line flag for each parameter; empty for a positional argument.
const FLAGS: &[(Param, &str)] = &[
    (Param::Account, "--account"),
    (Param::Author, "--author"),
    (Param::Body, "--body"),
    (Param::Host, "--host"),
    (Param::Key, ""),
    (Param::Kind, "--kind"),
    (Param::Label, ""),
    (Param::Limit, "--limit"),
    (Param::PutAgain, "--put-again"),
    (Param::Repo, "-R"),
    (Param::State, "--state"),
    (Param::Title, "--title"),
    (Param::Value, ""),
    (Param::WithToken, "--with-token"),
];

/// The offered tools, with the schemas of their arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools(Arc<BTreeMap<String, Arc<JsonObject>>>);

impl FromIterator<(String, Arc<JsonObject>)> for Tools {
    fn from_iter<I: IntoIterator<Item = (String, Arc<JsonObject>)>>(tools: I) -> Self {
        Self(Arc::new(tools.into_iter().collect()))
    }
}

impl Tools {
    pub(super) fn schema(&self, tool: &str) -> Option<&JsonObject> {
        self.0.get(tool).map(Arc::as_ref)
    }
}

/// The context of a failure or a warning: the call in which it happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct HintContext {
    /// The tool's name; empty outside of tool calls, such as for a resource.
    pub tool: String,
    pub repo: Option<String>,
    pub number: Option<String>,
    /// The received arguments under their names in the schema, once they are parsed.
    pub arguments: Option<Arc<JsonObject>>,
    pub tools: Tools,
}

/// A call of a tool, for an agent to make.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ToolCall {
    pub tool: String,
    pub arguments: JsonObject,
}

impl fmt::Display for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = serde_json::to_string(&self.arguments).map_err(|_| fmt::Error)?;
        write!(f, "{} {arguments}", self.tool)
    }
}

/// A hint for an agent. `Display` writes the complete hint as one line.
#[derive(Clone, Debug)]
pub(crate) struct Advice {
    /// The sentence. It includes a terminal command or the arguments to choose, but no tool call.
    pub line: Clean,
    /// The same sentence for the text of a result. The sentence is quoted there if it contains text
    /// that other people wrote.
    pub shown: String,
    /// The tool call that carries out the hint.
    pub call: Option<ToolCall>,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.call {
            Some(call) => write!(f, "{}: {call}", self.shown),
            None => f.write_str(&self.shown),
        }
    }
}

impl Advice {
    /// Renders a hint. The sentence is cut to `most` characters. A tool call or command longer than
    /// that is omitted.
    pub fn of(hint: &Hint, about: &HintContext, cleaner: &Cleaner, most: usize) -> Self {
        let line = cleaner.line(hint.text()).cut(most);
        let shown = match hint.is_constant() {
            true => line.as_data().to_owned(),
            false => line.to_string(),
        };
        let (words, call) = match hint.action().and_then(|action| about.step(action, most)) {
            None => (String::new(), None),
            Some(RenderedAction::Call(call)) => (String::new(), Some(call)),
            Some(RenderedAction::Words(words)) => (words, None),
        };
        Self {
            line: cleaner.line(&format!("{}{words}", line.as_data())),
            shown: format!("{shown}{words}"),
            call,
        }
    }
}

enum RenderedAction {
    Call(ToolCall),
    /// Text that follows the sentence.
    Words(String),
}

impl HintContext {
    /// Returns the tool call for an action, if all its arguments are known and it has at most
    /// `most` characters.
    pub fn call_of(&self, action: &Action, most: usize) -> Option<ToolCall> {
        match self.step(action, most)? {
            RenderedAction::Call(call) => Some(call),
            RenderedAction::Words(_) => None,
        }
    }

    fn step(&self, action: &Action, most: usize) -> Option<RenderedAction> {
        let again = action.call() == Call::Again;
        let offered = |tool: &str| self.tools.schema(tool).is_some();
        let mut rows: Vec<&ToolRow> = (TOOLS.iter())
            .filter(|(call, tool, _)| *call == action.call() && offered(tool))
            .collect();
        // If several tools can make the call, the first one that takes all its arguments is used.
        // Tools with the prefix of the failed tool (`pr`, `issue`, …) come first.
        let set = self.tool.split('_').next();
        rows.sort_by_key(|(_, tool, _)| tool.split('_').next() != set);
        let taking = (rows.iter()).find(|(_, tool, _)| self.takes(tool, action));
        let row = taking.or(rows.first());
        let (tool, fixed) = match row {
            Some((_, tool, fixed)) => (*tool, *fixed),
            None if again => (self.tool.as_str(), &[][..]),
            None => return Some(RenderedAction::Words(self.in_terminal(action, most)?)),
        };
        let schema = self.tools.schema(tool)?;
        let mut arguments = match again {
            true => JsonObject::clone(self.arguments.as_deref()?),
            false => self.target(action, schema),
        };
        if let Some(target) = action.target().filter(|_| again) {
            arguments.insert(subject(schema).to_owned(), json!(target));
        }
        for (name, value) in fixed {
            arguments.insert((*name).to_owned(), value_of(schema, name, value)?);
        }
        let (mut named, mut is_whole) = (Vec::new(), true);
        let subject = subject(schema);
        if let Some(target) = action.target().filter(|_| arguments.contains_key(subject)) {
            named.push(format!("{subject}={}", name_of(target)));
        }
        for (index, (param, arg)) in action.args().iter().enumerate() {
            let name = match argument(schema, *param) {
                Some(name) => name,
                None if matches!(arg, Arg::Omit | Arg::Replace(..)) => continue,
                None => return None,
            };
            match arg {
                Arg::Set(value) => {
                    let mut new = value_of(schema, name, value)?;
                    let mut given = action.args().iter().take(index);
                    // A parameter that occurs twice adds a value to a list.
                    if let (true, Value::Array(new), Some(Value::Array(old))) = (
                        given.any(|(of, _)| of == param),
                        &mut new,
                        arguments.get(name),
                    ) {
                        new.splice(0..0, old.iter().cloned());
                    }
                    arguments.insert(name.to_owned(), new);
                    named.push(match value.chars().count() <= MAX_VALUE_CHARS {
                        true => format!("{name}={}", name_of(value)),
                        false => name.to_owned(),
                    });
                }
                Arg::Choose => {
                    is_whole = false;
                    arguments.remove(name);
                    named.push(name.to_owned());
                }
                Arg::Replace(wrong, right) => {
                    if arguments
                        .get_mut(name)
                        .is_some_and(|of| correct(of, wrong, right))
                    {
                        named.push(format!("{name}={}", name_of(right)));
                    }
                }
                Arg::Omit => {
                    arguments.remove(name);
                    named.push(format!("without {name}"));
                }
            }
        }
        // A repeated call helps only if the tool has an argument that the action changes.
        if again && named.is_empty() && !action.args().is_empty() {
            return None;
        }
        // An edit without a change would fail.
        is_whole &=
            !NEED_ONE.contains(&tool) || again || !(fixed.is_empty() && action.args().is_empty());
        // A review that does not approve fails if it has no content.
        let approves = arguments.get("verdict") == Some(&json!("approve"));
        let is_silent = !["body", "comments", "pending"]
            .iter()
            .any(|of| arguments.contains_key(*of) || named.iter().any(|named| named == of));
        if tool == PR_REVIEW && is_silent && !approves {
            is_whole = false;
            named.push("body".to_owned());
        }
        for name in required(schema) {
            if !arguments.contains_key(name) {
                is_whole = false;
                if !named.iter().any(|known| known == name) {
                    named.push(name.to_owned());
                }
            }
        }
        let tool = tool.to_owned();
        let call = ToolCall { tool, arguments };
        if is_whole && is_shown(&call, most) {
            return Some(RenderedAction::Call(call));
        }
        let named = match named.as_slice() {
            [] => None,
            [one] => Some(format!("argument {one}")),
            all => Some(format!("arguments {}", all.join(", "))),
        };
        let tool = Some(call.tool).filter(|_| !again);
        let words: Vec<String> = tool.into_iter().chain(named).collect();
        let words = Some(words.join(", ")).filter(|words| !words.is_empty())?;
        Some(RenderedAction::Words(format!(" ({words})")))
    }

    /// Returns true if the tool has all arguments that an action passes.
    fn takes(&self, tool: &str, action: &Action) -> bool {
        let schema = self.tools.schema(tool);
        let mut args = action.args().iter();
        args.all(|(param, arg)| {
            matches!(arg, Arg::Omit | Arg::Replace(..))
                || schema.is_some_and(|schema| argument(schema, *param).is_some())
        })
    }

    /// Returns the repository and number as arguments, if the tool has these arguments.
    fn target(&self, action: &Action, schema: &JsonObject) -> JsonObject {
        // Calls about accounts take no repository.
        let repo = self.repo.as_deref();
        let repo = repo.filter(|_| action.call() != Call::AuthStatus);
        let number = action.target().or(self.number.as_deref());
        let known = [("repo", repo), ("number", number), ("issue", number)].into_iter();
        known
            .filter(|(name, _)| property(schema, name).is_some())
            .filter_map(|(name, value)| Some((name.to_owned(), json!(value?))))
            .collect()
    }

    /// Returns the terminal command for an action, preceded by a text that introduces it.
    fn in_terminal(&self, action: &Action, most: usize) -> Option<String> {
        let call = action.call();
        let (_, command, has_target) = COMMANDS.iter().find(|(of, ..)| *of == call)?;
        let has = |wanted: Param| action.args().iter().find(|(param, _)| *param == wanted);
        let state = has(Param::State).map(|(_, arg)| arg);
        let sets_state = call == Call::Op(Op::IssueSetState);
        let command = match (call, state) {
            (Call::ConfigGet, _) if has(Param::Key).is_none() => "config list",
            (_, Some(Arg::Set(open))) if sets_state && open == "open" => "issue reopen",
            _ => command,
        };
        let mut words = format!("forge {command}");
        if *has_target {
            let target = action.target().map_or("NUMBER".into(), quoted);
            words.push_str(&format!(" {target}"));
        }
        if let (Call::Op(_), Some(repo), None) = (call, &self.repo, has(Param::Repo)) {
            words.push_str(&format!(" -R {}", quoted(repo)));
        }
        for (param, arg) in action.args() {
            if *arg == Arg::Omit || (sets_state && *param == Param::State) {
                continue;
            }
            let (_, flag) = FLAGS.iter().find(|(of, _)| of == param)?;
            let value = match arg {
                Arg::Set(on) if on == "true" && !flag.is_empty() => String::new(),
                Arg::Set(value) => quoted(value),
                _ => format!("{param:?}").to_ascii_uppercase(),
            };
            for word in [flag, value.as_str()] {
                if !word.is_empty() {
                    words.push_str(&format!(" {word}"));
                }
            }
        }
        let fits = words.chars().count() <= most && text::strip_hidden(&words).1 == 0;
        fits.then(|| format!("; in a terminal: {words}"))
    }
}

/// Returns true if a call is short enough and has no hidden characters.
fn is_shown(call: &ToolCall, most: usize) -> bool {
    let shown = call.to_string();
    shown.chars().count() <= most && text::strip_hidden(&shown).1 == 0
}

fn property<'a>(schema: &'a JsonObject, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// Returns the name of the argument with which the tool takes an issue or pull request.
fn subject(schema: &JsonObject) -> &'static str {
    match property(schema, "issue") {
        Some(_) => "issue",
        None => "number",
    }
}

fn required(schema: &JsonObject) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the name of the tool's argument for a parameter.
fn argument(schema: &JsonObject, param: Param) -> Option<&'static str> {
    let (_, names) = PARAMS.iter().find(|(of, _)| *of == param)?;
    let has = |name: &&&str| property(schema, name).is_some();
    names.iter().find(has).copied()
}

/// Replaces `wrong` by `right` if it is the whole value or an item of a list. Returns true if a
/// value was replaced.
fn correct(value: &mut Value, wrong: &str, right: &str) -> bool {
    match value {
        Value::String(text) if text.trim() == wrong.trim() => {
            right.clone_into(text);
            true
        }
        Value::Array(items) => items.iter_mut().any(|item| correct(item, wrong, right)),
        _ => false,
    }
}

/// Converts a value to the schema's type; `None` if the value is invalid.
fn value_of(schema: &JsonObject, name: &str, value: &str) -> Option<Value> {
    let of = property(schema, name)?;
    let value = args::coerced(json!(value), Some(of)).ok()?;
    fits(&value, of).then_some(value)
}

fn fits(value: &Value, schema: &Value) -> bool {
    let choices = schema.get("enum").and_then(Value::as_array);
    let is_choice = choices.is_none_or(|choices| choices.contains(value));
    let items = |items: &Vec<Value>| match schema.get("items") {
        Some(of) => items.iter().all(|item| fits(item, of)),
        None => true,
    };
    is_choice
        && match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_u64(),
            Some("string") => value.is_string(),
            Some("array") => value.as_array().is_some_and(items),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{calls::ServerOptions, tools};

    fn about(tool: &str, arguments: Value) -> HintContext {
        HintContext {
            tool: tool.to_owned(),
            repo: Some("github.com/octo/tools".to_owned()),
            number: Some("7".to_owned()),
            arguments: arguments.as_object().cloned().map(Arc::new),
            tools: offered(|_| true),
        }
    }

    /// Returns the tools whose names satisfy `is`.
    fn offered(is: impl Fn(&str) -> bool) -> Tools {
        let routes = tools::all().into_iter().map(|route| route.definition);
        let routes = routes.filter(|tool| is(&tool.name));
        routes
            .map(|tool| (tool.name.to_string(), tool.input_schema))
            .collect()
    }

    fn told(action: Action, about: &HintContext) -> String {
        let hint = Hint::new("do it").with_action(action);
        Advice::of(&hint, about, &Cleaner::new(), 2_000).to_string()
    }

    /// Returns true if a value matches the schema of its argument.
    fn is_of(schema: &Value, value: &Value) -> bool {
        let of_type = match schema["type"].as_str().unwrap() {
            "boolean" => value.is_boolean(),
            "integer" => value.is_u64(),
            "array" => {
                let mut items = value.as_array().unwrap().iter();
                items.all(|item| is_of(&schema["items"], item))
            }
            _ => value.is_string(),
        };
        let choices = schema["enum"].as_array();
        of_type && choices.is_none_or(|choices| choices.contains(value))
    }

    fn assert_fits(call: &ToolCall, about: &HintContext) {
        let schema = about.tools.schema(&call.tool).unwrap();
        for (name, value) in &call.arguments {
            let of = &schema["properties"][name];
            assert!(of.is_object() && is_of(of, value), "{call}: {name}");
        }
        for name in required(schema) {
            assert!(call.arguments.contains_key(name), "{call}: no {name}");
        }
    }

    #[test]
    fn rendered_calls_match_published_schemas() {
        let known = about("pr_merge", json!({ "number": "7", "auto": true }));
        let unknown = HintContext {
            tools: known.tools.clone(),
            ..HintContext::default()
        };
        let values = [
            "true", "30", "threads", "rebase", "closed", "approve", "checks", "x",
        ];
        let calls = TOOLS.iter().map(|(call, ..)| *call).chain([Call::Again]);
        let mut rendered: Vec<Param> = Vec::new();
        for call in calls {
            let whole = known.call_of(&Action::new(call), MAX_CALL_CHARS);
            whole.iter().for_each(|call| assert_fits(call, &known));
            for (param, _) in PARAMS {
                for (about, value) in values.iter().flat_map(|v| [(&known, v), (&unknown, v)]) {
                    let mut action = Action::new(call).with(*param, *value);
                    if call == Call::Op(Op::PrCreate) {
                        action = action.with(Param::Title, "x");
                    }
                    if let Some(call) = about.call_of(&action, MAX_CALL_CHARS) {
                        assert_fits(&call, about);
                        rendered.push(*param);
                    }
                }
            }
        }
        // Only the workflow tools have these arguments.
        let moved = json!({ "issue": "7", "state": "Done", "command": "impl" });
        let viewed = json!({ "issue": "7" });
        for (tool, args, param) in [
            ("workflow_set_state", &moved, Param::Claim),
            ("workflow_set_state", &moved, Param::Command),
            ("workflow_pick", &json!({}), Param::MaxEstimate),
            ("workflow_view", &viewed, Param::TargetState),
        ] {
            let of = about(tool, args.clone());
            let again = Action::new(Call::Again).with(param, "x");
            let call = of.call_of(&again, MAX_CALL_CHARS).expect(tool);
            assert_fits(&call, &of);
            rendered.push(param);
        }
        let of = about("pr_review", json!({ "number": "7", "verdict": "comment" }));
        let again = Action::again(&[]).with(Param::Pending, "submit");
        assert_fits(&of.call_of(&again, MAX_CALL_CHARS).unwrap(), &of);
        rendered.push(Param::Pending);
        let unused = PARAMS.iter().find(|(param, _)| !rendered.contains(param));
        assert_eq!(unused, None, "a parameter that no tool takes");
        // Every tool of the table exists, and its fixed arguments match the schema.
        for (call, tool, fixed) in TOOLS {
            let schema = known.tools.schema(tool).expect(tool);
            for (name, value) in *fixed {
                assert!(value_of(schema, name, value).is_some(), "{call:?}: {name}");
            }
        }
    }

    const MAX_CALL_CHARS: usize = 2_000;

    #[test]
    fn action_becomes_tool_call() {
        let about = about("pr_view", json!({}));
        let here = r#""repo":"github.com/octo/tools""#;
        for (action, wanted) in [
            (
                Action::op(Op::PrMerge).on(3).with(Param::Method, "squash"),
                format!(r#"do it: pr_merge {{"method":"squash","number":"3",{here}}}"#),
            ),
            (
                Action::op(Op::PrClose),
                format!(r#"do it: pr_set_state {{"number":"7",{here},"state":"closed"}}"#),
            ),
            (
                Action::op(Op::PrClose).with(Param::Body, "why"),
                format!(
                    r#"do it: pr_set_state {{"comment":"why","number":"7",{here},"state":"closed"}}"#
                ),
            ),
            (
                Action::op(Op::PrSetDraft).with(Param::Draft, "false"),
                format!(r#"do it: pr_edit {{"draft":"ready","number":"7",{here}}}"#),
            ),
            (
                Action::op(Op::ThreadList),
                format!(r#"do it: pr_view {{"include":["threads"],"number":"7",{here}}}"#),
            ),
            (
                Action::op(Op::PrList).with(Param::Limit, "5"),
                format!(r#"do it: pr_list {{"limit":5,{here}}}"#),
            ),
            (
                Action::op(Op::Checks),
                format!(r#"do it: pr_checks {{"number":"7",{here}}}"#),
            ),
            (
                Action::op(Op::Checks).with(Param::WaitFor, "checks"),
                format!(r#"do it: pr_context {{"number":"7",{here},"wait_for":"checks"}}"#),
            ),
            (
                Action::op(Op::PrEdit)
                    .with(Param::AddLabel, "a")
                    .with(Param::AddLabel, "b"),
                format!(r#"do it: pr_edit {{"add_labels":["a","b"],"number":"7",{here}}}"#),
            ),
            (
                Action::new(Call::Capabilities),
                format!("do it: forge_status {{{here}}}"),
            ),
            (
                Action::new(Call::AuthStatus),
                "do it: forge_status {}".to_owned(),
            ),
        ] {
            assert_eq!(told(action, &about), wanted);
        }
    }

    #[test]
    fn incomplete_action_names_missing_arguments() {
        let sent = json!({ "number": "7", "method": "squash", "auto": true });
        let merge = about("pr_merge", sent);
        let base = "\u{202e}main";
        for (action, wanted) in [
            (
                Action::new(Call::Again).choose(Param::Method),
                "do it (argument method)",
            ),
            (
                Action::new(Call::Again)
                    .choose(Param::Subject)
                    .with(Param::Method, "rebase"),
                "do it (arguments subject, method=rebase)",
            ),
            (
                Action::op(Op::PrCreate).choose(Param::Head),
                "do it (pr_create, arguments head, title)",
            ),
            (
                Action::op(Op::Comment).with(Param::Body, "x".repeat(2_001)),
                "do it (pr_comment, argument body)",
            ),
            (Action::op(Op::PrEdit), "do it (pr_edit)"),
            (
                Action::op(Op::PrEdit).on(3),
                "do it (pr_edit, argument number=3)",
            ),
            (
                Action::op(Op::PrEdit).on(3).choose(Param::Base),
                "do it (pr_edit, arguments number=3, base)",
            ),
            // Text with hidden characters cannot be shown, so no call is rendered.
            (
                Action::op(Op::PrEdit).with(Param::Base, base),
                "do it (pr_edit, argument base=main)",
            ),
            // A tool that is not offered is not rendered. The same holds for an argument that the
            // tool does not have.
            (Action::new(Call::Again).with(Param::Admin, "true"), "do it"),
            (Action::again(&[(Param::Admin, Arg::Omit)]), "do it"),
            (Action::op(Op::PrMerge).with(Param::Method, "x"), "do it"),
            (Action::op(Op::Attach), "do it"),
        ] {
            assert_eq!(told(action, &merge), wanted);
        }
        let none = HintContext {
            tools: Tools::default(),
            ..merge
        };
        assert_eq!(told(Action::op(Op::PrView), &none), "do it");
    }

    #[test]
    fn review_without_approval_asks_for_a_body() {
        let comment = || Action::again(&[]).with(Param::Verdict, "comment");
        let silent = about("pr_review", json!({ "number": "7", "verdict": "approve" }));
        let asked = "do it (arguments verdict=comment, body)";
        assert_eq!(told(comment(), &silent), asked);
        let sent = json!({ "number": "7", "verdict": "approve", "body": "x" });
        let call = r#"do it: pr_review {"body":"x","number":"7","verdict":"comment"}"#;
        assert_eq!(told(comment(), &about("pr_review", sent)), call);
    }

    #[test]
    fn repeat_action_keeps_unchanged_arguments() {
        let sent = json!({ "number": "7", "method": "squash", "auto": true });
        let merge = about("pr_merge", sent);
        let again = Action::again(&[
            (
                Param::Method,
                Arg::Set(std::borrow::Cow::Borrowed("rebase")),
            ),
            (Param::Auto, Arg::Omit),
            (Param::Admin, Arg::Omit),
        ]);
        let call = r#"do it: pr_merge {"method":"rebase","number":"7"}"#;
        assert_eq!(told(again.clone(), &merge), call);
        let sent = json!({ "title": "x", "labels": ["docs", "bgu"], "base": "bgu" });
        let create = about("pr_create", sent);
        let corrected = Action::again(&[])
            .replace(Param::AddLabel, "bgu", "bug")
            .replace(Param::RemoveLabel, "bgu", "bug");
        let call = r#"do it: pr_create {"base":"bgu","labels":["docs","bug"],"title":"x"}"#;
        assert_eq!(told(corrected.clone(), &create), call);
        assert_eq!(told(corrected, &merge), "do it");
        let long = json!({ "number": "7", "body": "x".repeat(2_000) });
        let long = about("pr_merge", long);
        assert_eq!(
            told(again, &long),
            "do it (arguments method=rebase, without auto)"
        );
    }

    #[test]
    fn issue_action_becomes_offered_tool_call() {
        let about = about("issue_view", json!({ "issue": "7" }));
        let here = r#""issue":"3","repo":"github.com/octo/tools""#;
        for (action, wanted) in [
            (
                Action::op(Op::IssueSetState).with(Param::State, "open"),
                format!(r#"do it: issue_edit {{{here},"state":"open"}}"#),
            ),
            (
                Action::op(Op::IssueHistory),
                format!(r#"do it: issue_view {{"include":["history"],{here}}}"#),
            ),
            (
                Action::op(Op::IssueCommentEdit),
                "do it (issue_comment, argument issue=3)".to_owned(),
            ),
            (
                Action::op(Op::IssueDelete),
                "do it; in a terminal: forge issue delete 3 -R github.com/octo/tools".to_owned(),
            ),
        ] {
            assert_eq!(told(action.on(3), &about), wanted);
        }
    }

    #[test]
    fn action_without_tool_becomes_terminal_command() {
        let about = HintContext {
            tools: offered(|tool| ServerOptions::default().offers(tool)),
            ..about("pr_view", json!({}))
        };
        let here = "-R github.com/octo/tools";
        let op = |op| Action::op(op);
        for (action, command) in [
            (
                Action::new(Call::Login)
                    .with(Param::Host, "a host")
                    .with(Param::WithToken, "true"),
                "auth login --host 'a host' --with-token".to_owned(),
            ),
            (
                Action::new(Call::ConfigSet)
                    .with(Param::Key, "pr.base")
                    .choose(Param::Value),
                "config set pr.base VALUE".to_owned(),
            ),
            (Action::new(Call::ConfigGet), "config list".to_owned()),
            (
                Action::new(Call::Ingestion)
                    .on("at://did:plc:a/c/r")
                    .with(Param::PutAgain, "true"),
                "tangled ingestion at://did:plc:a/c/r --put-again".to_owned(),
            ),
            (
                op(Op::IssueList).with(Param::State, "all"),
                format!("issue list {here} --state all"),
            ),
            (
                op(Op::IssueSetState).on(3).with(Param::State, "open"),
                format!("issue reopen 3 {here}"),
            ),
            (
                op(Op::IssueComment)
                    .with(Param::Repo, "o/r")
                    .with(Param::Body, "it's"),
                r"issue comment NUMBER -R o/r --body 'it'\''s'".to_owned(),
            ),
        ] {
            let wanted = format!("do it; in a terminal: forge {command}");
            assert_eq!(told(action, &about), wanted);
        }
        // No command is shown: `auth login` has no flag for a draft, and the body is too long.
        for action in [
            Action::new(Call::Login).with(Param::Draft, "true"),
            op(Op::IssueCreate).with(Param::Body, "x".repeat(2_000)),
        ] {
            assert_eq!(told(action, &about), "do it");
        }
    }
}
