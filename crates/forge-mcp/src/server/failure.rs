//! A failure as a result that a model can act on.

use std::time::Duration;

use forge_core::{Error, ErrorKind, Noun, Retry};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use crate::content::{Cleaner, MESSAGE, VALUE, as_tools, last_call};

/// The call that a failure was about, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub tool: String,
    pub repo: Option<String>,
    pub number: Option<String>,
}

impl About {
    fn call(&self, tool: &str, more: &[(&str, &str)]) -> String {
        let mut args = Map::new();
        if let Some(repo) = &self.repo {
            args.insert("repo".to_owned(), json!(repo));
        }
        if let Some(number) = self
            .number
            .as_ref()
            .filter(|_| tool.starts_with("pr_") && tool != "pr_list")
        {
            args.insert("number".to_owned(), json!(number));
        }
        for (key, value) in more {
            args.insert((*key).to_owned(), json!(value));
        }
        format!("{tool} {}", Value::Object(args))
    }

    /// The call that gets further.
    fn next(&self, e: &Error) -> Option<String> {
        let ambiguous = e.retry() == Retry::Ambiguous;
        Some(match e.kind() {
            ErrorKind::NotFound {
                what: Noun::PullRequest,
            } => self.call("pr_list", &[("state", "all")]),
            ErrorKind::NotFound { what: Noun::Thread } => {
                self.call("pr_view", &[("include", "threads")])
            }
            ErrorKind::NotFound {
                what: Noun::Comment,
            } => self.call("pr_view", &[("include", "comments")]),
            ErrorKind::Unauthenticated { .. } => self.call("forge_status", &[]),
            // What is asked of that repository is refused, whatever it is.
            ErrorKind::PermissionDenied { missing, .. }
                if missing
                    .iter()
                    .any(|m| m == "--allow-repo" || m == "--allow-path") =>
            {
                "forge_status {}".to_owned()
            }
            ErrorKind::PermissionDenied { .. } if self.repo.is_some() => {
                self.call("forge_status", &[])
            }
            // The hint has the nearest thing that works.
            ErrorKind::Unsupported { .. } => {
                let tool = last_call(e.hint()?)?;
                WHOLE
                    .contains(&tool.as_str())
                    .then(|| self.call(&tool, &[]))?
            }
            ErrorKind::Precondition(_) | ErrorKind::Conflict { .. } if self.number.is_some() => {
                self.call("pr_view", &[])
            }
            _ if ambiguous && self.number.is_some() => {
                self.call("pr_view", &[("include", "comments,reviews,history")])
            }
            _ if ambiguous => self.call("pr_list", &[("state", "all")]),
            _ => return None,
        })
    }
}

/// What can be called with the number alone.
const WHOLE: [&str; 2] = ["pr_merge", "pr_resubmit"];

/// What happened, why, and the next call; the same as data beside it. What is long in it is cut, each
/// part alone, so that the others are there: a call that would have to be cut is left out.
pub(crate) fn result(e: &Error, about: &About) -> CallToolResult {
    let cleaner = Cleaner::new();
    let retry_after = match e.retry() {
        Retry::After(wait) => Some(seconds(wait)),
        _ => None,
    };
    let retryable = matches!(e.retry(), Retry::After(_) | Retry::Transient);
    let message = cleaner.plain(e.message()).cut(MESSAGE);
    let hint = e.hint().map(|h| cleaner.plain(&as_tools(h)).cut(MESSAGE));
    let next = about.next(e).filter(|call| call.len() <= MESSAGE);
    let mut text = format!("{} failed: {message} [{}]", about.tool, e.code());
    for (key, value) in e.context() {
        text.push_str(&format!("\n{key}: {}", cleaner.line(value).cut(VALUE)));
    }
    let mut recovery: Vec<String> = Vec::new();
    if e.retry() == Retry::Ambiguous {
        recovery.push("It may have happened: look before you repeat it.".to_owned());
    }
    if let Some(seconds) = retry_after {
        recovery.push(format!("Wait {seconds} s, then make the same call."));
    }
    recovery.extend(hint.as_ref().map(|h| h.as_str().to_owned()));
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
    let mut twin = json!({
        "code": e.code(),
        "message": message,
        "retryable": retryable,
        "retry_after_s": retry_after,
        "hint": hint,
        "next": next,
    });
    if let (ErrorKind::Conflict { expected, actual }, Some(twin)) = (e.kind(), twin.as_object_mut())
    {
        let value = |text: &str| json!(cleaner.line(text).cut(VALUE));
        twin.insert("expected".to_owned(), value(expected));
        twin.insert("actual".to_owned(), value(actual));
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({ "error": twin }));
    result.meta = Some(cleaner.mark());
    result
}

/// Whole seconds, rounded up.
pub(crate) fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_in_a_failure_is_cut_and_counted() {
        let long = "a".repeat(300_000);
        let kind = ErrorKind::Conflict {
            expected: long.clone(),
            actual: long.clone(),
        };
        let e = Error::new(kind, format!("not {long}"))
            .with_hint(long.clone())
            .with_context("path", long.clone());
        let mut about = About {
            tool: "pr_merge".to_owned(),
            repo: None,
            number: Some("7".to_owned()),
        };
        let sent = |about: &About| serde_json::to_value(result(&e, about)).unwrap();
        let failed = sent(&about);
        let all = failed.to_string();
        assert!(all.chars().count() < 12_000, "{}", all.chars().count());
        let text = failed["content"][0]["text"].as_str().unwrap();
        let error = &failed["structuredContent"]["error"];
        for part in [
            "aa… [298004 more characters] [conflict]\npath: aa",
            "aa… [299800 more characters]\nRecovery: aa",
            "aa… [298000 more characters]\nNext: pr_view {",
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
    fn a_failure_that_quotes_somebody_is_marked_as_every_result_is() {
        let e = Error::invalid("head", "no branch \u{202e}evil\u{200b}")
            .with_hint("there is ma\u{200b}in");
        let about = About {
            tool: "pr_create".to_owned(),
            ..About::default()
        };
        let failed = result(&e, &about);
        let sent = serde_json::to_value(&failed).unwrap();
        let mark = &sent["_meta"]["forge/content"];
        assert_eq!(mark["integrity"], "untrusted");
        // Each once, although the text and the data both have it.
        assert_eq!(mark["hidden_characters_removed"], 3);
        assert_eq!(mark["html_comments_removed"], 0);
        let text = sent["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("no branch evil [invalid_input]"), "{text}");
        assert!(text.ends_with("\n[hidden characters removed: 3]"), "{text}");
        assert_eq!(sent["structuredContent"]["error"]["hint"], "there is main");
    }
}
