//! Renders a failure as a result from which a model can recover.

use std::time::Duration;

use forge_core::{Action, Arg, Call, Effect, Error, ErrorKind, Noun, Op, Param, Retry};
use rmcp::{
    model::{CallToolResult, ContentBlock},
    schemars::{self, JsonSchema},
};
use serde::Serialize;
use serde_json::json;

use super::action::{Advice, HintContext, ToolCall};
use crate::content::{Clean, Cleaner, MAX_MESSAGE_CHARS, MAX_VALUE_CHARS, name};

/// A failure as data.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorOut {
    code: &'static str,
    message: Clean,
    /// The same call may succeed later
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Clean>,
    /// The next call to make
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<ToolCall>,
    /// In a conflict: what the call expected
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<Clean>,
}

/// Returns the call to make next: the one in the hint, otherwise the usual one for this kind of
/// failure.
fn next(e: &Error, advice: Option<Advice>, about: &HintContext) -> Option<ToolCall> {
    // If a write may have happened, the next call must read the state, not repeat the write.
    let reads = |action: &Action| match action.call() {
        Call::Op(op) => op.effect() == Effect::Read,
        _ => false,
    };
    let action = e.hint().and_then(|hint| hint.action());
    let is_safe = e.retry() != Retry::Ambiguous || action.is_some_and(reads);
    let advised = advice.and_then(|advice| advice.call).filter(|_| is_safe);
    advised.or_else(|| about.call_of(&usual_recovery(e, about)?, MAX_MESSAGE_CHARS))
}

fn usual_recovery(e: &Error, about: &HintContext) -> Option<Action> {
    let is_ambiguous = e.retry() == Retry::Ambiguous;
    let pulls = || Action::op(Op::PrList).with(Param::State, "all");
    let is_issue = ["issue_", "workflow_"].map(|set| about.tool.starts_with(set));
    let look = || match is_issue {
        [false, false] => Action::op(Op::PrView),
        _ => Action::op(Op::IssueRelated),
    };
    Some(match e.kind() {
        ErrorKind::NotFound {
            what: Noun::PullRequest,
        } => pulls(),
        ErrorKind::NotFound { what: Noun::Thread } => Action::op(Op::ThreadList),
        ErrorKind::NotFound {
            what: Noun::Comment,
        } => Action::op(Op::CommentList),
        ErrorKind::Unauthenticated { .. } => Action::new(Call::Capabilities),
        // This server's own allow lists exclude the repository, so every other call for it would be
        // refused.
        ErrorKind::PermissionDenied { missing, .. }
            if missing
                .iter()
                .any(|m| m == "--allow-repo" || m == "--allow-path") =>
        {
            Action::new(Call::AuthStatus)
        }
        ErrorKind::PermissionDenied { .. } if about.repo.is_some() => {
            Action::new(Call::Capabilities)
        }
        // The error already has a hint with an alternative.
        ErrorKind::Unsupported { .. } => return None,
        // The hint asks the caller to choose an argument. Reading the pull request or issue would
        // not help to choose.
        ErrorKind::Precondition(_) if asks_to_choose(e) => return None,
        ErrorKind::Precondition(_) | ErrorKind::Conflict { .. } => look(),
        _ if is_ambiguous && is_issue.contains(&true) => look(),
        _ if is_ambiguous && about.number.is_some() => {
            Action::op(Op::PrView).with(Param::Include, "comments,reviews,history")
        }
        _ if is_ambiguous => pulls(),
        _ => return None,
    })
}

/// Returns true if the hint is to repeat the call with an argument that the caller has to choose.
fn asks_to_choose(e: &Error) -> bool {
    let action = e.hint().and_then(|hint| hint.action());
    action.is_some_and(|action| {
        let mut args = action.args().iter();
        action.call() == Call::Again && args.any(|(_, arg)| *arg == Arg::Choose)
    })
}

/// Tools for issues and pull requests, each with the tool that does the same for the other kind of
/// object.
const OTHER_KIND: &[(&str, &str)] = &[
    ("issue_comment", "pr_comment"),
    ("issue_edit", "pr_edit"),
    ("issue_view", "pr_view"),
    ("pr_comment", "issue_comment"),
    ("pr_context", "issue_view"),
    ("pr_diff", "issue_view"),
    ("pr_edit", "issue_edit"),
    ("pr_set_state", "issue_edit"),
    ("pr_view", "issue_view"),
];

/// Returns the advice to use the tool for the other kind of object (issue or pull request), if the
/// number of the call was not found. The advice is only a condition (`if 7 is an issue, …`),
/// because finding out the kind would take a request. The caller appends the error's own hint.
fn other_kind(e: &Error, about: &HintContext) -> Option<String> {
    let kind = match e.kind() {
        ErrorKind::NotFound { what: Noun::Issue } => "a pull request",
        ErrorKind::NotFound {
            what: Noun::PullRequest,
        } => "an issue",
        _ => return None,
    };
    let (_, other) = OTHER_KIND.iter().find(|(tool, _)| *tool == about.tool)?;
    // The error may be about another number, such as the parent of the issue.
    let number = about.number.as_deref().filter(|n| !n.is_empty())?;
    let mut numbers = e.message().split(|c: char| !c.is_ascii_digit());
    let is_meant = numbers.any(|n| n == number) && about.tools.schema(other).is_some();
    is_meant.then(|| format!("if {number} is {kind}, call {other}; otherwise"))
}

/// Renders the failure, its reason and the next call, both as text and as structured data. Each
/// long part is cut separately, so that a long message cannot displace the hint. A next call that
/// is too long is omitted.
pub(crate) fn result(e: &Error, about: &HintContext) -> CallToolResult {
    let cleaner = Cleaner::new();
    let retry_after = match e.retry() {
        Retry::After(wait) => Some(seconds(wait)),
        _ => None,
    };
    let retryable = matches!(e.retry(), Retry::After(_) | Retry::Transient);
    let message = cleaner.plain(e.message()).cut(MAX_MESSAGE_CHARS);
    let advice = e
        .hint()
        .map(|hint| Advice::of(hint, about, &cleaner, MAX_MESSAGE_CHARS));
    let (hint, told) = advice
        .as_ref()
        .map(|a| (a.line.clone(), a.shown.clone()))
        .unzip();
    let other = other_kind(e, about).filter(|_| hint.is_some());
    let hint = match (hint, &other) {
        (Some(hint), Some(other)) => {
            let both = cleaner.line(&format!("{other} {}", hint.as_data()));
            Some(both.cut(MAX_MESSAGE_CHARS))
        }
        (hint, _) => hint,
    };
    let next = next(e, advice, about);
    let mut text = format!("{} failed [{}]: {message}", about.tool, e.code());
    for (key, value) in e.context() {
        text.push_str(&format!(
            "\n{key}: {}",
            name(&cleaner.line(value).cut(MAX_VALUE_CHARS))
        ));
    }
    let mut recovery: Vec<String> = Vec::new();
    if e.retry() == Retry::Ambiguous {
        recovery.push("The write may have happened: check before you repeat the call.".to_owned());
    }
    if let Some(seconds) = retry_after {
        recovery.push(format!("Wait {seconds} s, then make the same call."));
    }
    recovery.extend(other);
    recovery.extend(told);
    if recovery.is_empty() && e.retry() == Retry::Transient {
        recovery.push("Nothing was written: make the same call again.".to_owned());
    }
    if !recovery.is_empty() {
        text.push_str(&format!("\nRecovery: {}", recovery.join(" ")));
    }
    if let Some(next) = &next {
        text.push_str(&format!("\nNext: {next}"));
    }
    text.push_str(&cleaner.note());
    let value = |text: &str| cleaner.line(text).cut(MAX_VALUE_CHARS);
    let (expected, actual) = match e.kind() {
        ErrorKind::Conflict {
            expected, actual, ..
        } => (Some(value(expected)), Some(value(actual))),
        _ => (None, None),
    };
    let twin = ErrorOut {
        code: e.code(),
        message,
        retryable,
        retry_after_s: retry_after,
        hint,
        next,
        expected,
        actual,
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({ "error": twin }));
    result.meta = Some(cleaner.mark());
    result
}

/// Returns the duration in seconds, rounded up.
pub(crate) fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use forge_core::Changed;

    use super::*;

    #[test]
    fn long_failure_parts_are_cut_with_counts() {
        let long = "a".repeat(300_000);
        let kind = ErrorKind::Conflict {
            what: Changed::Head,
            expected: long.clone(),
            actual: long.clone(),
        };
        let e = Error::new(kind, format!("not {long}"))
            .with_hint(long.clone())
            .with_context("path", long.clone());
        let schema = json!({ "properties": { "number": { "type": "string" } } });
        let schema = Arc::new(schema.as_object().unwrap().clone());
        let mut about = HintContext {
            tool: "pr_merge".to_owned(),
            number: Some("7".to_owned()),
            tools: [("pr_view".to_owned(), schema)].into_iter().collect(),
            ..HintContext::default()
        };
        let sent = |about: &HintContext| serde_json::to_value(result(&e, about)).unwrap();
        let failed = sent(&about);
        let all = failed.to_string();
        assert!(all.chars().count() < 12_000, "{}", all.chars().count());
        let text = failed["content"][0]["text"].as_str().unwrap();
        let error = &failed["structuredContent"]["error"];
        for part in [
            "pr_merge failed [conflict]: \"not aa",
            "aa… [298004 more characters]\"\npath: \"aa",
            "aa… [299800 more characters]\"\nRecovery: \"aa",
            "aa… [298000 more characters]\"\nNext: pr_view {",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        for (name, dropped) in [
            ("message", 298_004),
            ("hint", 298_000),
            ("expected", 299_800),
            ("actual", 299_800),
        ] {
            let end = format!("a… [{dropped} more characters]");
            assert!(error[name].as_str().unwrap().ends_with(&end), "{name}");
        }
        about.number = Some(long);
        assert!(sent(&about)["structuredContent"]["error"]["next"].is_null());
    }

    #[test]
    fn failure_with_foreign_text_is_marked() {
        let e = Error::invalid("head", "no branch \u{202e}evil\u{200b}")
            .with_hint("there is ma\u{200b}in");
        let about = HintContext {
            tool: "pr_create".to_owned(),
            ..HintContext::default()
        };
        let failed = result(&e, &about);
        let sent = serde_json::to_value(&failed).unwrap();
        let mark = &sent["_meta"]["forge/content"];
        assert_eq!(mark["integrity"], "untrusted");
        // The text and the structured result contain the same hidden characters, so these are
        // counted once.
        assert_eq!(mark["hidden_characters_removed"], 3);
        assert_eq!(mark["html_comments_removed"], 0);
        assert_eq!(mark["unseen_texts_removed"], 0);
        let text = sent["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains(" failed [invalid_input]: \"no branch evil\""),
            "{text}"
        );
        assert!(text.ends_with("\n[hidden characters removed: 3]"), "{text}");
        assert_eq!(sent["structuredContent"]["error"]["hint"], "there is main");
    }
}
