use std::fmt::Write as _;

use forge_core::{
    model::{Issue, IssueReason, IssueState, RelatedIssue},
    text,
};

use super::shared::{label_names, relation, state_word};
use crate::{
    cmd::{
        Ctx,
        pr::view_text::{body, comment_on_pipe, comment_shown, key_of, with_name},
    },
    ui::time::plural,
};

/// Formats an issue for a pipe: for each of gh's keys a line with key, tab and value, then the
/// body.
pub(super) fn piped(issue: &Issue) -> String {
    let mut out = String::new();
    let mut key = |name: &str, value: &str| key_of(&mut out, name, value);
    key("title", &issue.title);
    key("state", state_word(issue.state));
    key("author", &issue.author.login);
    key("labels", &label_names(issue).join(", "));
    key("comments", &issue.comments_count.to_string());
    let assignees: Vec<&str> = issue.assignees.iter().map(|a| a.login.as_str()).collect();
    key("assignees", &assignees.join(", "));
    key("projects", "");
    key("milestone", milestone(issue));
    key("number", &issue.id.key.to_string());
    for (name, values) in relations(issue) {
        key(name, &values.join(", "));
    }
    for (name, value) in &issue.values {
        key(&text::one_line(name), &text::one_line(value));
    }
    let _ = writeln!(out, "--\n{}", text::drop_mention_breaks(&issue.body));
    text::neutralise(&out).into_owned()
}

fn milestone(issue: &Issue) -> &str {
    let milestone = issue.milestone.as_ref();
    milestone.map_or("", |milestone| &milestone.title)
}

/// Returns the relations of the issue with gh's names for them.
fn relations(issue: &Issue) -> Vec<(&'static str, Vec<String>)> {
    let Some(of) = &issue.relations else {
        return Vec::new();
    };
    let all = |list: &[RelatedIssue]| {
        let names = list.iter().map(|to| relation(to, &issue.id));
        names.collect::<Vec<_>>()
    };
    let lists = [
        ("parent", all(of.parent.as_slice())),
        ("sub-issues", all(&of.sub_issues)),
        ("blocked-by", all(&of.blocked_by)),
        ("blocking", all(&of.blocking)),
    ];
    let known = lists.into_iter().filter(|(_, names)| !names.is_empty());
    known.collect()
}

pub(super) fn piped_comments(issue: &Issue) -> String {
    let mut out = String::new();
    let comments = issue.comments.iter().flatten();
    for comment in comments.filter(|c| c.minimized_reason.is_none()) {
        out.push_str(&comment_on_pipe(comment));
    }
    text::neutralise(&out).into_owned()
}

/// Formats an issue for a terminal.
pub(super) fn render_issue(ctx: &Ctx, issue: &Issue) -> String {
    let (ui, c) = (&ctx.ui, ctx.ui.palette());
    let mut out = String::new();
    let title = text::one_line(&issue.title);
    let _ = writeln!(out, "{} #{}", c.bold(&title), issue.id.key);
    let state = match (issue.state, issue.state_reason) {
        (IssueState::Open, _) => c.green("Open"),
        (IssueState::Closed, Some(IssueReason::NotPlanned)) => c.gray("Closed as not planned"),
        (IssueState::Closed, Some(IssueReason::Duplicate)) => c.gray("Closed as duplicate"),
        (IssueState::Closed, _) => c.magenta("Closed"),
    };
    let author = text::one_line(&issue.author.login).into_owned();
    let comments = i64::try_from(issue.comments_count).unwrap_or(i64::MAX);
    let comments = plural(comments, "comment");
    let ago = ui.ago(issue.created_at);
    let _ = writeln!(out, "{state} • {author} opened {ago} • {comments}");
    let mut row = |name: &str, values: &[String]| {
        if !values.is_empty() {
            let values = values.join(", ");
            let _ = writeln!(out, "{} {}", c.bold(name), text::one_line(&values));
        }
    };
    let assignees: Vec<String> = issue.assignees.iter().map(with_name).collect();
    row("Assignees:", &assignees);
    row("Labels:", &label_names(issue));
    let milestone = issue.milestone.iter().map(|m| m.title.clone());
    row("Milestone:", &milestone.collect::<Vec<_>>());
    for (name, value) in &issue.values {
        row(
            &format!("{}:", text::one_line(name)),
            std::slice::from_ref(value),
        );
    }
    for (name, values) in relations(issue) {
        let title = match name {
            "parent" => "Parent:",
            "sub-issues" => "Sub-issues:",
            "blocked-by" => "Blocked by:",
            _ => "Blocking:",
        };
        row(title, &values);
    }
    if issue.relations.as_ref().is_some_and(|r| r.truncated) {
        row("Relations:", &["there are more than these".to_owned()]);
    }
    out.push('\n');
    out.push_str(&body(ui, &issue.body, "No description provided"));
    out.push('\n');
    match &issue.comments {
        Some(all) => {
            let said = all.iter().filter(|c| c.minimized_reason.is_none());
            said.for_each(|comment| out.push_str(&comment_shown(ui, comment)));
        }
        None if issue.comments_count > 0 => {
            let line = format!("———————— {comments}: see --comments ————————");
            let _ = writeln!(out, "{}\n", c.gray(&line));
        }
        None => {}
    }
    let view = format!("View this issue: {}", text::one_line(&issue.url));
    let _ = writeln!(out, "{}", c.gray(&view));
    out
}
