use forge_core::{
    Timestamp, Warning,
    model::{Actor, Check, Comment, Commit, FileChange, Review, StatusEvent, Thread},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::serde_name;
use crate::{
    calls::{Advice, HintContext, ToolCall},
    content::{self, Clean, Cleaner, name_of, quote},
};

/// Maximum length of a comment in a concise result, in characters.
const MAX_CONCISE_CHARS: usize = 1_000;

/// Quotes a text, and cuts it if the result is concise.
pub(crate) fn quoted(body: &Clean, detailed: bool, concise: usize, cleaner: &Cleaner) -> String {
    if detailed {
        return quote(body);
    }
    let (kept, dropped) = forge_core::text::truncate_chars(body.as_data(), concise);
    if dropped == 0 {
        return quote(body);
    }
    format!(
        "{}[{dropped} more characters: format=detailed]\n",
        quote(&cleaner.plain(&kept))
    )
}

/// An item of a section. A section is a list in a result, such as the checks. An item has
/// structured data and lines of text.
pub(crate) trait SectionItem: Serialize {
    /// Returns the lines of the item, including line ends.
    fn text(&self, detailed: bool, cleaner: &Cleaner) -> String;

    /// Returns the long texts, such as a comment's body. Structured data and text both contain
    /// them, so a long result can drop them from the data.
    fn bodies(&mut self) -> Vec<&mut Clean> {
        Vec::new()
    }

    /// Returns true if the item is a continuation of the previous one and is not counted
    /// separately.
    fn continues(&self) -> bool {
        false
    }
}

fn name(actor: &Actor, cleaner: &Cleaner) -> Clean {
    cleaner.line(&actor.login)
}

fn time(at: Timestamp) -> String {
    at.to_string()
}

/// A warning.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WarningOut {
    pub message: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<ToolCall>,
    /// The hint in its form for the text result.
    #[serde(skip)]
    shown: Option<String>,
}

/// Maximum number of warnings that a result shows. A last warning gives the number of those left
/// out.
const MAX_WARNINGS: usize = 10;

/// Maximum length in characters of a warning's message, of its hint, and of the call in the hint.
const MAX_WARNING_CHARS: usize = 400;

impl WarningOut {
    pub fn of(warning: &Warning, about: &HintContext, cleaner: &Cleaner) -> Self {
        let hint = warning.hint.as_ref();
        let advice = hint.map(|hint| Advice::of(hint, about, cleaner, MAX_WARNING_CHARS));
        let shown = advice.as_ref().map(ToString::to_string);
        let (hint, next) = advice.map(|a| (a.line, a.call)).unzip();
        Self {
            message: cleaner.line(&warning.message).cut(MAX_WARNING_CHARS),
            hint,
            next: next.flatten(),
            shown,
        }
    }

    pub fn all(warnings: &[Warning], about: &HintContext, cleaner: &Cleaner) -> Vec<Self> {
        let first = warnings.iter().take(MAX_WARNINGS);
        let mut all: Vec<Self> = first.map(|w| Self::of(w, about, cleaner)).collect();
        let more = warnings.len().saturating_sub(MAX_WARNINGS);
        if more > 0 {
            let counted = Warning::new(format!("{more} more warnings are left out"));
            all.push(Self::of(&counted, about, cleaner));
        }
        all
    }

    pub fn text(&self) -> String {
        let message = &self.message;
        match &self.shown {
            Some(advice) => format!("Warning: {message}\nRecovery: {advice}\n"),
            None => format!("Warning: {message}\n"),
        }
    }

    /// Returns the lines of the warnings that fit in `most` characters. A last line says how many
    /// warnings do not fit.
    pub fn lines(all: &[Self], most: usize) -> String {
        let mut text = String::new();
        let mut used = 0;
        for (n, warning) in all.iter().enumerate() {
            let line = warning.text();
            used += line.chars().count();
            if used > most {
                text.push_str(&format!("Warning: {} more in the data\n", all.len() - n));
                break;
            }
            text.push_str(&line);
        }
        text
    }
}

/// A check.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckOut {
    pub name: Clean,
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Clean>,
}

impl CheckOut {
    pub fn of(check: &Check, cleaner: &Cleaner) -> Self {
        let line = |text: &Option<String>| text.as_ref().map(|t| cleaner.line(t));
        Self {
            name: cleaner.line(&check.name),
            status: serde_name(&check.status),
            conclusion: line(&check.conclusion),
            workflow: line(&check.workflow),
            required: check.required,
            summary: line(&check.summary),
            started_at: check.started_at.map(time),
            completed_at: check.completed_at.map(time),
            url: line(&check.url),
        }
    }
}

/// Formats a check as one line. If the check did not succeed, adds the reason and the URL.
impl SectionItem for CheckOut {
    fn text(&self, detailed: bool, _: &Cleaner) -> String {
        let required = match self.required {
            Some(true) => " [required]",
            _ => "",
        };
        let mut line = format!("{}{required}: {}", self.status, self.name);
        let is_there = |text: &&Clean| !text.is_empty();
        if let Some(workflow) = self.workflow.as_ref().filter(is_there) {
            line.push_str(&format!(" of {workflow}"));
        }
        if detailed || matches!(self.status.as_str(), "failure" | "cancelled") {
            if let Some(summary) = self.summary.as_ref().filter(is_there) {
                line.push_str(&format!(" | {summary}"));
            }
            if let Some(url) = self.url.as_ref().filter(is_there) {
                line.push_str(&format!(" | {}", content::name(url)));
            }
        }
        line.push('\n');
        line
    }
}

/// A comment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct CommentOut {
    pub id: String,
    pub author: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub association: Option<Clean>,
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimized: Option<Clean>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<ReactionOut>,
    /// Absent with bodies_in_text
    #[serde(skip_serializing_if = "Clean::is_empty")]
    pub body: Clean,
}

/// The number of reactions of one kind.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ReactionOut {
    pub content: Clean,
    pub count: u64,
}

impl CommentOut {
    pub fn of(comment: &Comment, cleaner: &Cleaner) -> Self {
        let reaction = |(content, count): (&String, &u64)| ReactionOut {
            content: cleaner.line(content),
            count: *count,
        };
        Self {
            id: comment.id.clone(),
            author: name(&comment.author, cleaner),
            association: comment.author_association.as_ref().map(|a| cleaner.line(a)),
            created_at: time(comment.created_at),
            updated_at: comment.updated_at.map(time),
            reply_to: comment.reply_to.clone(),
            minimized: comment.minimized_reason.as_ref().map(|m| cleaner.line(m)),
            reactions: comment.reactions.iter().map(reaction).collect(),
            body: cleaner.markdown(&comment.body),
        }
    }
}

impl SectionItem for CommentOut {
    fn text(&self, detailed: bool, cleaner: &Cleaner) -> String {
        let id = name_of(&self.id);
        let author = content::name(&self.author);
        // The facts come before the author's name, because the name is foreign text and could
        // imitate a fact.
        let mut head = format!("comment {id} {}", self.created_at);
        if let Some(role) = self.association.as_ref().filter(|r| r.as_data() != "NONE") {
            head.push_str(&format!(" ({})", content::name(role)));
        }
        if let Some(why) = &self.minimized {
            head.push_str(&format!(", hidden as {}", content::name(why)));
        }
        head.push_str(&format!(" by @{author}"));
        if self.minimized.is_some() && !detailed {
            return format!("{head}\n");
        }
        format!(
            "{head}\n{}",
            quoted(&self.body, detailed, MAX_CONCISE_CHARS, cleaner)
        )
    }

    fn bodies(&mut self) -> Vec<&mut Clean> {
        vec![&mut self.body]
    }
}

/// A review.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReviewOut {
    pub id: String,
    pub author: Clean,
    pub state: String,
    pub submitted_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Absent with bodies_in_text
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Clean>,
}

impl ReviewOut {
    pub fn of(review: &Review, cleaner: &Cleaner) -> Self {
        Self {
            id: review.id.clone(),
            author: name(&review.author, cleaner),
            state: serde_name(&review.state),
            submitted_at: time(review.submitted_at),
            commit: review.commit.clone(),
            body: review
                .body
                .as_ref()
                .filter(|b| !b.is_empty())
                .map(|b| cleaner.markdown(b)),
        }
    }
}

impl SectionItem for ReviewOut {
    fn text(&self, detailed: bool, cleaner: &Cleaner) -> String {
        let commit = self.commit.as_ref();
        let at = commit.map_or(String::new(), |commit| format!(" at {}", name_of(commit)));
        let body = self.body.as_ref().map_or(String::new(), |b| {
            quoted(b, detailed, MAX_CONCISE_CHARS, cleaner)
        });
        format!(
            "review {} {} {}{at} by @{}\n{body}",
            name_of(&self.id),
            self.state,
            self.submitted_at,
            content::name(&self.author)
        )
    }

    fn bodies(&mut self) -> Vec<&mut Clean> {
        self.body.iter_mut().collect()
    }
}

/// A review thread.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ThreadOut {
    pub id: String,
    pub path: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    pub side: String,
    pub resolved: bool,
    pub outdated: bool,
    /// True if only the viewer sees the thread. Shown only in the text output.
    #[serde(skip)]
    pending: bool,
    pub comments: Vec<CommentOut>,
    /// True if the comments continue those of the previous item.
    #[serde(skip)]
    continues: bool,
}

impl ThreadOut {
    /// Converts a thread without its comments.
    pub fn bare(thread: &Thread, cleaner: &Cleaner) -> Self {
        Self {
            id: thread.id.clone(),
            path: cleaner.line(&thread.path),
            line: thread.line,
            start_line: thread.start_line,
            side: serde_name(&thread.side),
            resolved: thread.resolved,
            outdated: thread.outdated,
            pending: thread.pending,
            comments: Vec::new(),
            continues: false,
        }
    }

    /// Splits a thread into items with one comment each, so that a page can end within the thread.
    pub fn parts(thread: &Thread, cleaner: &Cleaner) -> Vec<Self> {
        let empty = Self::bare(thread, cleaner);
        if thread.comments.is_empty() {
            return vec![empty];
        }
        let comments = thread.comments.iter().enumerate();
        let part = |(n, comment): (usize, &Comment)| Self {
            comments: vec![CommentOut::of(comment, cleaner)],
            continues: n > 0,
            ..empty.clone()
        };
        comments.map(part).collect()
    }

    /// Joins the items of a page into threads.
    pub fn joined(mut parts: Vec<Self>) -> Vec<Self> {
        parts.dedup_by(|next, thread| thread.absorb(next));
        parts
    }

    /// Takes the comments of the next item if that item continues the thread.
    pub fn absorb(&mut self, next: &mut Self) -> bool {
        if next.continues {
            self.comments.append(&mut next.comments);
        }
        next.continues
    }

    /// Returns the first line of a page that starts in the middle of the thread.
    pub fn head_of_rest(&self) -> String {
        match self.continues {
            true => format!("thread {} (continued)\n", name_of(&self.id)),
            false => String::new(),
        }
    }

    /// Returns the first line of a thread, which comes before its comments.
    fn head(&self) -> String {
        let lines = match (self.start_line, self.line) {
            (Some(from), Some(to)) => format!(" lines {from}-{to} of"),
            (None, Some(line)) => format!(" line {line} of"),
            _ => String::new(),
        };
        format!(
            "thread {} {}{}{} at{lines} {}\n",
            name_of(&self.id),
            match (self.resolved, self.pending) {
                (true, _) => "resolved",
                (false, true) => "pending",
                (false, false) => "open",
            },
            if self.outdated { ", outdated" } else { "" },
            if self.side == "left" {
                ", on the base"
            } else {
                ""
            },
            content::name(&self.path),
        )
    }
}

impl SectionItem for ThreadOut {
    fn text(&self, detailed: bool, cleaner: &Cleaner) -> String {
        let mut text = match self.continues {
            true => String::new(),
            false => self.head(),
        };
        for comment in &self.comments {
            text.push_str(&comment.text(detailed, cleaner));
        }
        text
    }

    fn bodies(&mut self) -> Vec<&mut Clean> {
        self.comments.iter_mut().map(|c| &mut c.body).collect()
    }

    fn continues(&self) -> bool {
        self.continues
    }
}

/// A changed file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileOut {
    pub path: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_path: Option<Clean>,
    pub status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletions: Option<u64>,
}

impl FileOut {
    pub fn of(file: &FileChange, cleaner: &Cleaner) -> Self {
        Self {
            path: cleaner.line(&file.path),
            previous_path: file.previous_path.as_ref().map(|p| cleaner.line(p)),
            status: serde_name(&file.status),
            additions: file.additions,
            deletions: file.deletions,
        }
    }
}

impl SectionItem for FileOut {
    fn text(&self, _: bool, _: &Cleaner) -> String {
        let counts = match (self.additions, self.deletions) {
            (Some(a), Some(d)) => format!("+{a} -{d}"),
            _ => "binary".to_owned(),
        };
        let from = self
            .previous_path
            .as_ref()
            .map_or(String::new(), |p| format!(" (was {})", content::name(p)));
        let path = content::name(&self.path);
        format!("{} {counts} {path}{from}\n", self.status)
    }
}

/// A commit.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CommitOut {
    pub oid: String,
    pub headline: Clean,
    pub author: Clean,
}

impl CommitOut {
    pub fn of(commit: &Commit, cleaner: &Cleaner) -> Self {
        let author = commit.authors.first();
        let author = author.map_or("", |a| a.login.as_deref().unwrap_or(&a.name));
        Self {
            oid: commit.oid.clone(),
            headline: cleaner.line(&commit.message_headline),
            author: cleaner.line(author),
        }
    }
}

impl SectionItem for CommitOut {
    fn text(&self, _: bool, _: &Cleaner) -> String {
        format!(
            "{} by {}: {}\n",
            name_of(self.oid.get(..12).unwrap_or(&self.oid)),
            content::name(&self.author),
            self.headline
        )
    }
}

/// A line of the history.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventOut {
    pub kind: String,
    pub actor: Clean,
    pub at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Clean>,
}

impl EventOut {
    pub fn of(event: &StatusEvent, cleaner: &Cleaner) -> Self {
        Self {
            kind: serde_name(&event.kind),
            actor: name(&event.actor, cleaner),
            at: time(event.created_at),
            detail: event.detail.as_ref().map(|d| cleaner.line(d)),
        }
    }
}

impl SectionItem for EventOut {
    fn text(&self, _: bool, _: &Cleaner) -> String {
        let detail = self
            .detail
            .as_ref()
            .map_or(String::new(), |d| format!(": {d}"));
        let actor = content::name(&self.actor);
        format!("{} {} by @{actor}{detail}\n", self.at, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comment_line_shows_facts_before_author() {
        let cleaner = Cleaner::new();
        let comment = CommentOut {
            id: "IC_1".to_owned(),
            author: cleaner.line("mallory (OWNER)"),
            association: Some(cleaner.line("MEMBER")),
            created_at: "2026-01-01T00:00:00Z".to_owned(),
            updated_at: None,
            reply_to: None,
            reactions: Vec::new(),
            minimized: Some(cleaner.line("OFF_TOPIC")),
            body: Clean::default(),
        };
        let facts = "comment IC_1 2026-01-01T00:00:00Z (MEMBER), hidden as OFF_TOPIC";
        assert_eq!(
            comment.text(false, &cleaner),
            format!("{facts} by @\"mallory (OWNER)\"\n")
        );
    }

    #[test]
    fn warnings_are_counted_and_cut() {
        let cleaner = Cleaner::new();
        let long = "w".repeat(3_000);
        let many: Vec<Warning> = (0..400)
            .map(|n| Warning::new(format!("{n} {long}")).with_hint(long.clone()))
            .collect();
        let about = HintContext::default();
        let all = WarningOut::all(&many, &about, &cleaner);
        assert_eq!(all.len(), MAX_WARNINGS + 1);
        assert!(all[10].message.as_data().contains("390 more warnings"));
        let text: String = all.iter().map(WarningOut::text).collect();
        assert!(text.chars().count() < 10_000, "{}", text.chars().count());
        let lines = WarningOut::lines(&all, 1_000);
        assert!(lines.chars().count() <= 1_040, "{lines}");
        assert!(lines.ends_with("Warning: 10 more in the data\n"), "{lines}");
        assert_eq!(WarningOut::all(&many[..3], &about, &cleaner).len(), 3);
    }
}
