//! The page of `forge pr context --html`. It loads no resource and runs no script.

mod diff;
mod stack;

use std::path::Path;

use forge::context::{
    ClearedBy, Clearer, LinkedItem, PullContext, RelatedPull, Requirement, RequirementSource,
    RequirementStatus,
};
use forge_core::{
    Action, Hint, Op, PrKey, Result, Timestamp,
    model::{Check, CheckStatus, Comment, LinkState, PrState, PullRequest, Review, ReviewState},
    text,
};

use self::diff::ThreadAnchors;
use super::shared::head_label;
use crate::ui::{
    Ui,
    html::{Anchor, Attr, HtmlWriter},
    json::model_name,
    save::save,
};

const STYLE: &str = include_str!("style.css");

/// Writes the page to a file, or to standard output for `-`.
///
/// # Errors
///
/// Fails if the file cannot be written.
pub(super) fn write(ui: &Ui, found: &PullContext, file: &Path) -> Result<()> {
    let page = page(found, &|hint| ui.advice(hint));
    if file == Path::new("-") {
        return ui.write(page.as_bytes());
    }
    save(file, &page)?;
    ui.note(&format!(
        "wrote {}",
        text::one_line(&file.to_string_lossy())
    ));
    Ok(())
}

/// Renders the page. `advice` renders a hint with its command.
fn page(found: &PullContext, advice: &dyn Fn(&Hint) -> String) -> String {
    let pull = &found.pull;
    let name = name(&pull.id.key);
    let mut html = HtmlWriter::page(&format!("{name} {}", pull.title), STYLE);
    let whole_diff = Action::op(Op::PrDiff).on(&pull.id.key);
    let sections = HtmlSections {
        found,
        advice,
        threads: ThreadAnchors::of(found),
        whole_diff: advice(&Hint::new("read the whole diff").with_action(whole_diff)),
    };
    html.within("header", &[], |html| sections.header(html, &name));
    html.within("main", &[], |html| {
        sections.verdict(html);
        sections.unread(html);
        sections.description(html);
        sections.checks(html);
        sections.stack(html);
        sections.related(html);
        sections.linked(html);
        sections.talk(html);
        sections.since(html);
        sections.changes(html);
        sections.source(html);
        sections.files(html);
        sections.history(html);
    });
    html.within("footer", &[], |html| {
        html.text("Judged at ");
        html.time(found.readiness.checked_at);
        html.text(" by documented rules, without a model. Written by forge pr context.");
    });
    html.finish()
}

struct HtmlSections<'a> {
    found: &'a PullContext,
    advice: &'a dyn Fn(&Hint) -> String,
    threads: ThreadAnchors<'a>,
    whole_diff: String,
}

/// Returns the name of a pull request: `#7`, or its at-uri.
fn name(key: &PrKey) -> String {
    match key {
        PrKey::Number(n) => format!("#{n}"),
        PrKey::Record(uri) => uri.clone(),
    }
}

/// Replaces the underscores of a name such as `a_b` by spaces.
fn humanize(name: &str) -> String {
    name.replace('_', " ")
}

fn state_word(state: Option<LinkState>) -> &'static str {
    match state {
        Some(LinkState::Open) => "open",
        Some(LinkState::Closed) => "closed",
        Some(LinkState::Merged) => "merged",
        None => "unknown",
    }
}

fn pull_state(pull: &PullRequest) -> (&'static str, &'static str) {
    match pull.state {
        PrState::Open if pull.draft => ("draft", "soft"),
        PrState::Open => ("open", "good"),
        PrState::Closed => ("closed", "bad"),
        PrState::Merged => ("merged", "soft"),
    }
}

fn short(oid: Option<&String>) -> &str {
    let oid = oid.map_or("unknown", String::as_str);
    oid.get(..12).unwrap_or(oid)
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Writes a section with a heading that links can target.
fn section(
    html: &mut HtmlWriter,
    id: &'static str,
    heading: &str,
    fill: impl FnOnce(&mut HtmlWriter),
) {
    let title = Anchor::new(id);
    html.within("section", &[Attr::LabelledBy(title)], |html| {
        html.leaf("h2", &[Attr::Id(title)], heading);
        fill(html);
    });
}

/// Writes a table whose rows become blocks on narrow pages. ARIA roles are set, because CSS blocks
/// lose the table's own roles.
fn grid(
    html: &mut HtmlWriter,
    label: &str,
    columns: &[&'static str],
    rows: impl FnOnce(&mut HtmlWriter),
) {
    let attrs = [Attr::Class("grid"), Attr::Role("table"), Attr::Label(label)];
    html.within("table", &attrs, |html| {
        html.within("thead", &[Attr::Role("rowgroup")], |html| {
            html.within("tr", &[Attr::Role("row")], |html| {
                for column in columns {
                    let attrs = [Attr::Scope("col"), Attr::Role("columnheader")];
                    html.leaf("th", &attrs, column);
                }
            });
        });
        html.within("tbody", &[Attr::Role("rowgroup")], rows);
    });
}

fn row(
    html: &mut HtmlWriter,
    head: impl FnOnce(&mut HtmlWriter),
    cells: impl FnOnce(&mut HtmlWriter),
) {
    html.within("tr", &[Attr::Role("row")], |html| {
        html.within("th", &[Attr::Scope("row"), Attr::Role("rowheader")], head);
        cells(html);
    });
}

fn cell(html: &mut HtmlWriter, column: &'static str, fill: impl FnOnce(&mut HtmlWriter)) {
    html.within("td", &[Attr::Role("cell"), Attr::Column(column)], fill);
}

/// Writes a cell without a column label. A narrow page shows it next to the row's header.
fn brief_cell(html: &mut HtmlWriter, fill: impl FnOnce(&mut HtmlWriter)) {
    html.within("td", &[Attr::Role("cell"), Attr::Class("brief")], fill);
}

/// Writes a cell with foreign text (written by other people). An empty cell is omitted, so that
/// narrow pages show no label.
fn text_cell(html: &mut HtmlWriter, column: &'static str, text: &str) {
    match text.is_empty() {
        true => html.within("td", &[Attr::Role("cell")], |_| {}),
        false => cell(html, column, |html| html.write_foreign(text)),
    }
}

impl HtmlSections<'_> {
    fn header(&self, html: &mut HtmlWriter, name: &str) {
        let pull = &self.found.pull;
        html.within("h1", &[], |html| {
            html.write_foreign(&pull.title);
            html.text(" ");
            html.leaf("span", &[Attr::Class("number")], name);
        });
        html.within("p", &[Attr::Class("lead")], |html| {
            let (state, class) = pull_state(pull);
            html.within("span", &[Attr::Class("badge")], |html| {
                html.leaf("span", &[Attr::Class(class)], state);
            });
            html.text(" ");
            html.write_foreign(&pull.author.login);
            html.text(" wants ");
            html.leaf("code", &[], &head_label(pull));
            html.text(" in ");
            html.leaf("code", &[], &pull.base_branch);
            html.text(", opened ");
            html.time(pull.created_at);
        });
        self.nav(html);
    }

    fn nav(&self, html: &mut HtmlWriter) {
        let c = self.found;
        let has_talk = c.comments.is_some() || c.reviews.is_some();
        let has_threads = !self.threads.all.is_empty();
        let places = [
            ("verdict", "Verdict", true),
            ("checks", "Checks", c.ci.is_some()),
            ("related", "Related", has_some(c.related_prs.as_ref())),
            (
                "linked",
                "Linked issues",
                has_some(c.linked_issues.as_ref()),
            ),
            ("talk", "Conversation", has_talk),
            ("changes", "Changes", c.diff.is_some() || has_threads),
        ];
        html.within("nav", &[Attr::Label("Sections")], |html| {
            html.within("ul", &[], |html| {
                for (id, label, _) in places.into_iter().filter(|(.., is_there)| *is_there) {
                    html.within("li", &[], |html| {
                        html.jump(Anchor::new(id), |html| html.text(label));
                    });
                }
            });
        });
    }

    fn verdict(&self, html: &mut HtmlWriter) {
        let r = &self.found.readiness;
        let (class, heading) = match r.ready_to_merge {
            Some(true) => ("verdict good", "✓ Ready to merge"),
            Some(false) => ("verdict bad", "✗ Not ready to merge"),
            None => ("verdict unsure", "? Unknown whether ready to merge"),
        };
        let title = Anchor::new("verdict");
        html.within("section", &[Attr::LabelledBy(title)], |html| {
            html.within("div", &[Attr::Class(class)], |html| {
                html.leaf("h2", &[Attr::Id(title)], heading);
                if !r.blockers.is_empty() {
                    html.within("ul", &[], |html| {
                        for blocker in &r.blockers {
                            html.leaf("li", &[], blocker);
                        }
                    });
                }
                html.within("p", &[Attr::Class("small")], |html| {
                    html.text("Head ");
                    html.leaf("code", &[], short(r.head_sha.as_ref()));
                    html.text(", base ");
                    html.leaf("code", &[], short(r.base_sha.as_ref()));
                    html.text(", judged at ");
                    html.time(r.checked_at);
                    if let Some(record) = &self.found.pull.ingestion {
                        html.text(", record version ");
                        html.leaf("code", &[], &record.cid);
                        html.text(&format!(": {}", record.verdict.word()));
                    }
                });
            });
            let columns = ["Rule", "Status", "Source", "Evidence", "Who can clear it"];
            grid(html, "Requirements", &columns, |html| {
                r.requirements.iter().for_each(|r| requirement(html, r));
            });
            self.summary(html);
        });
    }

    fn summary(&self, html: &mut HtmlWriter) {
        let (pull, s) = (&self.found.pull, &self.found.summary);
        let fact = |html: &mut HtmlWriter, term: &str, fill: &dyn Fn(&mut HtmlWriter)| {
            html.leaf("dt", &[], term);
            html.within("dd", &[], fill);
        };
        html.within("dl", &[], |html| {
            fact(html, "In one line", &|html| {
                html.write_foreign(&s.one_liner)
            });
            fact(html, "Kind of change", &|html| {
                html.text(s.change_type.name())
            });
            fact(html, "Risk", &|html| {
                html.leaf("strong", &[], s.risk.level.name());
                for (n, reason) in s.risk.reasons.iter().enumerate() {
                    html.text(if n == 0 { ": " } else { "; " });
                    html.text(&format!("{} (", humanize(reason.rule)));
                    html.write_foreign(&reason.evidence);
                    html.text(&format!(", +{})", reason.points));
                }
            });
            if let (Some(files), Some(added), Some(deleted)) =
                (pull.changed_files, pull.additions, pull.deletions)
            {
                fact(html, "Size", &|html| {
                    let files = plural(
                        usize::try_from(files).unwrap_or(usize::MAX),
                        "file",
                        "files",
                    );
                    html.text(&format!("{files}, +{added} −{deleted}"));
                });
            }
            if !s.key_changes.is_empty() {
                fact(html, "Key changes", &|html| {
                    html.within("ul", &[], |html| {
                        for change in &s.key_changes {
                            html.within("li", &[], |html| html.write_foreign(change));
                        }
                    });
                });
            }
            if !pull.labels.is_empty() {
                let labels: Vec<&str> = pull.labels.iter().map(|l| l.name.as_str()).collect();
                fact(html, "Labels", &|html| {
                    html.write_foreign(&labels.join(", "))
                });
            }
            fact(html, "Page", &|html| html.link(&pull.url, &pull.url));
        });
    }

    /// Writes which parts of the context could not be read, and the warnings.
    fn unread(&self, html: &mut HtmlWriter) {
        let c = self.found;
        if c.errors.is_empty() && c.warnings.is_empty() {
            return;
        }
        let heading = match c.errors.is_empty() {
            true => "Notes",
            false => "Not everything could be read",
        };
        let advise = |html: &mut HtmlWriter, hint: Option<&Hint>| {
            if let Some(hint) = hint {
                html.text(" Recovery: ");
                html.write_foreign(&(self.advice)(hint));
            }
        };
        section(html, "unread", heading, |html| {
            html.within("ul", &[], |html| {
                for error in &c.errors {
                    html.within("li", &[], |html| {
                        let section =
                            format!("{} ({}): ", humanize(error.section), humanize(error.kind));
                        html.leaf("strong", &[], &section);
                        html.write_foreign(&error.message);
                        advise(html, error.hint.as_ref());
                    });
                }
                for warning in &c.warnings {
                    html.within("li", &[], |html| {
                        html.write_foreign(&warning.message);
                        advise(html, warning.hint.as_ref());
                    });
                }
            });
        });
    }

    fn description(&self, html: &mut HtmlWriter) {
        let description = &self.found.pull.description;
        if !description.trim().is_empty() {
            section(html, "description", "Description", |html| {
                html.markdown(description);
            });
        }
    }

    fn checks(&self, html: &mut HtmlWriter) {
        let Some(report) = &self.found.ci else {
            return;
        };
        let is_passed =
            |c: &&Check| matches!(c.status, CheckStatus::Success | CheckStatus::Skipped);
        let (passed, others): (Vec<&Check>, Vec<&Check>) =
            report.checks.iter().partition(is_passed);
        section(html, "checks", "Checks", |html| {
            let counts = report.counts;
            let cut = match report.truncated {
                true => "; there are more than were read",
                false => "",
            };
            let said = match report.checks.is_empty() {
                true => {
                    "No check has reported a result. This does not mean that the checks passed."
                        .to_owned()
                }
                false => format!(
                    "{} passed, {} failed, {} pending{cut}.",
                    counts.success, counts.failure, counts.pending
                ),
            };
            html.leaf("p", &[], &said);
            if !others.is_empty() {
                check_table(html, "Checks that have not passed", &others);
            }
            if !passed.is_empty() {
                html.within("details", &[], |html| {
                    let count = plural(passed.len(), "check", "checks");
                    html.leaf("summary", &[], &format!("{count} passed or skipped"));
                    check_table(html, "Checks that passed or were skipped", &passed);
                });
            }
            for log in self.found.ci_logs.iter().flatten() {
                html.within("details", &[], |html| {
                    html.within("summary", &[], |html| {
                        html.text(if log.cut {
                            "End of the log of "
                        } else {
                            "Log of "
                        });
                        html.write_foreign(&log.check);
                    });
                    html.leaf("pre", &[Attr::Focusable], &log.text);
                });
            }
        });
    }

    fn stack(&self, html: &mut HtmlWriter) {
        stack::draw(html, self.found);
    }

    fn related(&self, html: &mut HtmlWriter) {
        let Some(pulls) = self.found.related_prs.as_ref().filter(|p| !p.is_empty()) else {
            return;
        };
        section(html, "related", "Related pull requests", |html| {
            let columns = [
                "Pull request",
                "Relation",
                "State",
                "Author",
                "Shared files",
            ];
            grid(html, "Related pull requests", &columns, |html| {
                pulls.iter().for_each(|pull| related_pull(html, pull));
            });
        });
    }

    fn linked(&self, html: &mut HtmlWriter) {
        let Some(items) = self.found.linked_issues.as_ref().filter(|i| !i.is_empty()) else {
            return;
        };
        section(html, "linked", "Linked issues", |html| {
            items.iter().for_each(|item| linked_item(html, item));
        });
    }

    /// Writes comments and reviews, sorted by time.
    fn talk(&self, html: &mut HtmlWriter) {
        let c = self.found;
        if c.comments.is_none() && c.reviews.is_none() {
            return;
        }
        let comments = c.comments.iter().flatten().map(Talk::Comment);
        let reviews = c.reviews.iter().flatten().map(Talk::Review);
        let mut all: Vec<Talk<'_>> = comments.chain(reviews).collect();
        all.sort_by_key(Talk::at);
        // The threads section already shows the review comments on lines, so they are left out
        // here.
        let shows_lines = c.threads.is_none();
        section(html, "talk", "Conversation", |html| {
            if all.is_empty() {
                html.leaf(
                    "p",
                    &[Attr::Class("soft")],
                    "There are no comments or reviews.",
                );
            }
            for talk in &all {
                html.within("article", &[Attr::Class("talk")], |html| match talk {
                    Talk::Comment(comment) => comment_body(html, comment),
                    Talk::Review(review) => review_body(html, review, shows_lines),
                });
            }
        });
    }

    fn changes(&self, html: &mut HtmlWriter) {
        let c = self.found;
        if c.diff.is_none() && self.threads.all.is_empty() {
            return;
        }
        section(html, "changes", "Changes", |html| {
            self.threads.index(html);
            let mut is_shown = vec![false; self.threads.all.len()];
            if let Some(diff) = &c.diff {
                diff::packed(html, diff, &self.threads, &mut is_shown, &self.whole_diff);
            }
            self.threads.elsewhere(html, &is_shown);
        });
    }

    /// Writes the changes since a review or a commit.
    fn since(&self, html: &mut HtmlWriter) {
        let Some(since) = &self.found.since else {
            return;
        };
        let none = ThreadAnchors { all: Vec::new() };
        section(html, "since", "Changes since then", |html| {
            html.within("p", &[], |html| {
                match (&since.review, since.round, &since.from_sha) {
                    (Some(review), ..) => {
                        html.text("Since review ");
                        html.leaf("code", &[], review);
                    }
                    (None, Some(round), _) => html.text(&format!("Since round {round}")),
                    (None, None, from) => {
                        html.text("Since ");
                        html.leaf("code", &[], short(from.as_ref()));
                    }
                }
                html.text(&format!(" the head {}.", since.head_change.meaning()));
            });
            if !since.commits.is_empty() {
                html.within("ul", &[], |html| {
                    for commit in &since.commits {
                        html.within("li", &[], |html| {
                            html.text(&format!("{} ", commit.change()));
                            let oid = commit.new.as_ref().or(commit.old.as_ref());
                            html.leaf("code", &[], short(oid));
                            html.text(" ");
                            html.write_foreign(&commit.headline);
                        });
                    }
                });
            }
            diff::packed(html, &since.diff, &none, &mut [], &self.whole_diff);
        });
    }

    fn source(&self, html: &mut HtmlWriter) {
        if let Some(source) = &self.found.source {
            section(html, "source", "Files at the head", |html| {
                diff::source(html, source);
            });
        }
    }

    fn files(&self, html: &mut HtmlWriter) {
        let Some(files) = &self.found.files else {
            return;
        };
        section(html, "files", "Files", |html| {
            grid(
                html,
                "Changed files",
                &["File", "Change", "Lines"],
                |html| {
                    for file in files {
                        let lines = match (file.additions, file.deletions) {
                            (Some(added), Some(deleted)) => format!("+{added} −{deleted}"),
                            _ => "binary".to_owned(),
                        };
                        let head = |html: &mut HtmlWriter| html.leaf("code", &[], &file.path);
                        row(html, head, |html| {
                            text_cell(html, "Change", &model_name(file.status));
                            text_cell(html, "Lines", &lines);
                        });
                    }
                },
            );
        });
    }

    fn history(&self, html: &mut HtmlWriter) {
        let Some(events) = &self.found.history else {
            return;
        };
        section(html, "history", "History", |html| {
            html.within("ul", &[], |html| {
                for event in events {
                    html.within("li", &[], |html| {
                        html.time(event.created_at);
                        html.text(&format!(" {} by ", humanize(&model_name(event.kind))));
                        html.write_foreign(&event.actor.login);
                        if let Some(detail) = &event.detail {
                            html.text(" ");
                            html.write_foreign(detail);
                        }
                    });
                }
            });
        });
    }
}

fn has_some<T>(items: Option<&Vec<T>>) -> bool {
    items.is_some_and(|items| !items.is_empty())
}

/// A comment or a review, for a list sorted by time.
enum Talk<'a> {
    Comment(&'a Comment),
    Review(&'a Review),
}

impl Talk<'_> {
    fn at(&self) -> Timestamp {
        match self {
            Self::Comment(comment) => comment.created_at,
            Self::Review(review) => review.submitted_at,
        }
    }
}

fn status(html: &mut HtmlWriter, class: &'static str, mark: &str, word: &str) {
    html.within("span", &[Attr::Class("status")], |html| {
        html.within("span", &[Attr::Class(class)], |html| {
            html.leaf("span", &[Attr::Hidden], &format!("{mark} "));
            html.text(word);
        });
    });
}

fn requirement(html: &mut HtmlWriter, r: &Requirement) {
    let (class, mark) = match r.status {
        RequirementStatus::Met => ("good", "✓"),
        RequirementStatus::Unmet => ("bad", "✗"),
        RequirementStatus::Unknown => ("unsure", "?"),
    };
    let source = match r.source {
        RequirementSource::Own => "this program".to_owned(),
        _ => r.source_text(),
    };
    let clearer = |c: &Clearer| {
        let who = match c.who {
            ClearedBy::Ci => "CI",
            who => who.name(),
        };
        match c.names.is_empty() {
            true => who.to_owned(),
            false => format!("{who} {}", c.names.join(", ")),
        }
    };
    let clearers: Vec<String> = r.cleared_by.iter().map(clearer).collect();
    row(
        html,
        |html| html.text(&humanize(r.rule.name())),
        |html| {
            brief_cell(html, |html| {
                status(html, class, mark, r.status.name());
            });
            text_cell(html, "Source", &source);
            text_cell(html, "Evidence", &r.evidence);
            text_cell(html, "Who can clear it", &clearers.join(" or "));
        },
    );
}

fn check_table(html: &mut HtmlWriter, label: &str, checks: &[&Check]) {
    grid(
        html,
        label,
        &["Check", "Result", "Reason", "Finished"],
        |html| {
            for check in checks {
                check_row(html, check);
            }
        },
    );
}

fn check_row(html: &mut HtmlWriter, check: &Check) {
    let (class, mark) = match check.status {
        CheckStatus::Success => ("good", "✓"),
        CheckStatus::Failure => ("bad", "✗"),
        CheckStatus::Pending => ("unsure", "…"),
        CheckStatus::Skipped | CheckStatus::Cancelled => ("soft", "–"),
    };
    let word = check.conclusion.as_ref().or(check.progress.as_ref());
    let word = word.map_or_else(|| model_name(check.status), |word| word.to_lowercase());
    let head = |html: &mut HtmlWriter| {
        match &check.url {
            Some(url) => html.link(url, &check.name),
            None => html.write_foreign(&check.name),
        }
        if let Some(workflow) = &check.workflow {
            html.within("span", &[Attr::Class("soft")], |html| {
                html.text(" ");
                html.write_foreign(workflow);
            });
        }
    };
    row(html, head, |html| {
        brief_cell(html, |html| {
            status(html, class, mark, &humanize(&word));
            if check.required == Some(true) {
                html.text(" (required)");
            }
        });
        text_cell(html, "Reason", check.summary.as_deref().unwrap_or_default());
        match check.completed_at {
            Some(at) => cell(html, "Finished", |html| html.time(at)),
            None => text_cell(html, "Finished", ""),
        }
    });
}

fn related_pull(html: &mut HtmlWriter, pull: &RelatedPull) {
    let title = pull.title.as_deref().unwrap_or_default();
    let label = format!("{} {title}", name(&pull.key));
    let head = |html: &mut HtmlWriter| match &pull.url {
        Some(url) => html.link(url, label.trim_end()),
        None => html.write_foreign(label.trim_end()),
    };
    row(html, head, |html| {
        text_cell(html, "Relation", &humanize(pull.relationship.name()));
        text_cell(html, "State", state_word(pull.state));
        text_cell(html, "Author", pull.author.as_deref().unwrap_or_default());
        text_cell(html, "Shared files", &pull.overlap_files.join(", "));
    });
}

fn linked_item(html: &mut HtmlWriter, item: &LinkedItem) {
    let places: Vec<&str> = item.found_in.iter().map(|at| at.name()).collect();
    html.within("article", &[], |html| {
        html.within("h3", &[], |html| {
            match &item.url {
                Some(url) => html.link(url, &item.key),
                None => html.write_foreign(&item.key),
            }
            if let Some(title) = &item.title {
                html.text(" ");
                html.write_foreign(title);
            }
        });
        html.within("p", &[Attr::Class("small")], |html| {
            html.leaf("strong", &[], item.relationship.name());
            html.text(&format!(" · {}", state_word(item.state)));
            if let Some(status) = &item.status {
                html.text(": ");
                html.write_foreign(status);
            }
            html.text(&format!(" · found in {}", places.join(", ")));
            if !item.labels.is_empty() {
                html.text(" · ");
                html.write_foreign(&item.labels.join(", "));
            }
        });
        let body = item.body.as_ref().filter(|body| !body.trim().is_empty());
        if body.is_none() && item.comments.is_empty() {
            return;
        }
        html.within("details", &[], |html| {
            let summary = match item.comments.len() {
                0 => "Its text".to_owned(),
                n => format!("Its text and {}", plural(n, "comment", "comments")),
            };
            html.leaf("summary", &[], &summary);
            if let Some(body) = body {
                html.within("div", &[Attr::Class("talk")], |html| html.markdown(body));
            }
            for comment in &item.comments {
                html.within("article", &[Attr::Class("talk")], |html| {
                    comment_body(html, comment);
                });
            }
        });
    });
}

/// Writes the author of a comment or review as a heading. `when` writes the line below, with time
/// and state.
fn write_remark(
    html: &mut HtmlWriter,
    who: impl FnOnce(&mut HtmlWriter),
    when: impl FnOnce(&mut HtmlWriter),
) {
    html.within("div", &[Attr::Class("by")], |html| {
        html.within("h3", &[], who);
        html.within("p", &[Attr::Class("soft small")], when);
    });
}

/// Writes a comment with author, time and text.
fn comment_body(html: &mut HtmlWriter, comment: &Comment) {
    let who = |html: &mut HtmlWriter| html.write_foreign(&comment.author.login);
    write_remark(html, who, |html| {
        html.time(comment.created_at);
        if comment
            .updated_at
            .is_some_and(|at| at != comment.created_at)
        {
            html.text(", edited");
        }
        if let Some(reason) = &comment.minimized_reason {
            html.text(", hidden on the forge: ");
            html.write_foreign(reason);
        }
        for (emoji, count) in &comment.reactions {
            html.text(" · ");
            html.write_foreign(&format!("{emoji} {count}"));
        }
    });
    html.markdown(&comment.body);
}

fn review_body(html: &mut HtmlWriter, review: &Review, shows_lines: bool) {
    let who = |html: &mut HtmlWriter| {
        html.write_foreign(&review.author.login);
        html.text(" ");
        let word = humanize(&model_name(review.state));
        match review.state {
            ReviewState::Approved => status(html, "good", "✓", &word),
            ReviewState::ChangesRequested => status(html, "bad", "✗", &word),
            _ => html.text(&word),
        }
    };
    write_remark(html, who, |html| {
        html.time(review.submitted_at);
        if !review.comments.is_empty() {
            let count = plural(review.comments.len(), "comment", "comments");
            html.text(&format!(", {count} on lines"));
        }
    });
    if let Some(body) = review.body.as_ref().filter(|b| !b.trim().is_empty()) {
        html.markdown(body);
    }
    for comment in review.comments.iter().filter(|_| shows_lines) {
        html.within("article", &[], |html| {
            let line = comment
                .line_number
                .map_or(String::new(), |n| format!(":{n}"));
            let path = comment.file_path.as_deref().unwrap_or_default();
            html.leaf("code", &[], &format!("{path}{line}"));
            comment_body(html, comment);
        });
    }
}
