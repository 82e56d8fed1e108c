//! The diff with line numbers, and its review threads.

use forge::context::{
    Omission, OmissionReason, PackedDiff, PackedFile, PackedSource, PullContext, SourceFile,
};
use forge_core::{
    diff::{DiffLine, LineReader},
    model::{Side, Thread},
};

use super::{comment_body, humanize, plural, short};
use crate::ui::{
    html::{Anchor, Attr, HtmlWriter},
    json::model_name,
};

/// The review threads, open ones first. A thread's position in this list is the number of its HTML
/// anchor.
pub(super) struct ThreadAnchors<'a> {
    pub(super) all: Vec<&'a Thread>,
}

impl<'a> ThreadAnchors<'a> {
    pub(super) fn of(found: &'a PullContext) -> Self {
        let mut all: Vec<&Thread> = found.threads.iter().flatten().collect();
        all.sort_by_key(|thread| thread.resolved);
        Self { all }
    }

    /// Writes links to the open threads.
    pub(super) fn index(&self, html: &mut HtmlWriter) {
        let open = self.all.iter().take_while(|thread| !thread.resolved);
        let open: Vec<&&Thread> = open.collect();
        if self.all.is_empty() {
            return;
        }
        let resolved = self.all.len() - open.len();
        let count = plural(open.len(), "open thread", "open threads");
        html.leaf("p", &[], &format!("{count}, {resolved} resolved."));
        if open.is_empty() {
            return;
        }
        html.within("ul", &[], |html| {
            for (n, thread) in open.iter().enumerate() {
                html.within("li", &[], |html| {
                    html.jump(Anchor::numbered("thread", n), |html| {
                        html.leaf("code", &[], &place(thread));
                    });
                    if let Some(first) = thread.comments.first() {
                        html.text(" by ");
                        html.write_foreign(&first.author.login);
                    }
                });
            }
        });
    }

    /// Writes the threads whose lines are not in the shown diff.
    pub(super) fn elsewhere(&self, html: &mut HtmlWriter, is_shown: &[bool]) {
        let all = self.all.iter().zip(is_shown).enumerate();
        let left: Vec<usize> = all.filter(|(_, (_, s))| !**s).map(|(n, _)| n).collect();
        if left.is_empty() {
            return;
        }
        html.within("article", &[], |html| {
            html.leaf("h3", &[], "Threads on lines that are not shown");
            for n in left {
                self.thread(html, n, true);
            }
        });
    }

    /// Returns the indices of a file's threads.
    fn of_file(&self, file: &PackedFile) -> Vec<usize> {
        let is_here = |thread: &Thread| {
            let old = file.previous_path.as_ref().unwrap_or(&file.path);
            thread.path == file.path || thread.side == Side::Left && thread.path == *old
        };
        let all = self.all.iter().enumerate();
        all.filter(|(_, thread)| is_here(thread) && !thread.outdated)
            .map(|(n, _)| n)
            .collect()
    }

    fn thread(&self, html: &mut HtmlWriter, n: usize, with_lines: bool) {
        let Some(thread) = self.all.get(n) else {
            return;
        };
        let class = match thread.resolved {
            true => "thread resolved",
            false => "thread",
        };
        let mut attrs = vec![Attr::Class(class), Attr::Id(Anchor::numbered("thread", n))];
        attrs.extend((!thread.resolved).then_some(Attr::Open));
        html.within("details", &attrs, |html| {
            html.within("summary", &[], |html| {
                let word = match (thread.resolved, thread.outdated) {
                    (true, _) => "Resolved thread",
                    (false, true) => "Open thread, outdated",
                    (false, false) => "Open thread",
                };
                html.leaf("strong", &[], word);
                if let Some(by) = &thread.resolved_by {
                    html.text(" (by ");
                    html.write_foreign(&by.login);
                    html.text(")");
                }
                html.text(" on ");
                html.leaf("code", &[], &place(thread));
            });
            let hunk = thread.comments.first().and_then(|c| c.diff_hunk.as_ref());
            if let Some(hunk) = hunk.filter(|_| with_lines) {
                html.leaf("pre", &[Attr::Focusable], hunk);
            }
            for comment in &thread.comments {
                html.within("article", &[], |html| comment_body(html, comment));
            }
        });
    }
}

/// Formats where a thread is, such as `src/a.rs:3–7`.
fn place(thread: &Thread) -> String {
    let side = match thread.side {
        Side::Left => " before the change",
        Side::Right => "",
    };
    match (thread.start_line, thread.line) {
        (Some(first), Some(last)) if first != last => {
            format!("{}:{first}–{last}{side}", thread.path)
        }
        (_, Some(line)) => format!("{}:{line}{side}", thread.path),
        _ => thread.path.clone(),
    }
}

/// Writes the diff within its size budget, and lists the omissions. Sets `is_shown` for each thread
/// that the diff shows.
pub(super) fn packed(
    html: &mut HtmlWriter,
    diff: &PackedDiff,
    threads: &ThreadAnchors<'_>,
    is_shown: &mut [bool],
    whole_diff: &str,
) {
    html.within("p", &[], |html| {
        html.text(&format!(
            "{} with +{} −{} lines.",
            plural(diff.files_total, "file", "files"),
            diff.additions,
            diff.deletions
        ));
        if let Some(lines) = diff.context_lines {
            html.text(&format!(" {lines} lines of context."));
        }
    });
    if diff.truncated {
        html.within("p", &[], |html| {
            html.leaf("strong", &[], "Not all of it is shown. ");
            html.text("Each file says what is left out, and why.");
            if diff.recovery.is_some() {
                html.text(" To get it, ");
                html.write_foreign(whole_diff);
            }
        });
    }
    for file in &diff.files {
        packed_file(html, file, threads, is_shown);
    }
}

fn packed_file(
    html: &mut HtmlWriter,
    file: &PackedFile,
    threads: &ThreadAnchors<'_>,
    is_shown: &mut [bool],
) {
    if file.hunks.is_empty() {
        html.within("div", &[Attr::Class("file")], |html| {
            html.within("div", &[Attr::Class("name")], |html| file_name(html, file));
            omissions(html, &file.omitted);
        });
        return;
    }
    html.within("details", &[Attr::Class("file"), Attr::Open], |html| {
        html.within("summary", &[], |html| file_name(html, file));
        let label = format!("Diff of {}", file.path);
        let attrs = [Attr::Class("diff"), Attr::Label(&label)];
        html.within("table", &attrs, |html| {
            html.within("thead", &[], |html| {
                html.within("tr", &[], |html| {
                    column(html, "n o", "Line before");
                    column(html, "n", "Line after");
                    column(html, "s", "Change");
                    column(html, "c", "Text");
                });
            });
            html.within("tbody", &[], |html| {
                let here = threads.of_file(file);
                for hunk in &file.hunks {
                    lines(html, &hunk.text, threads, &here, is_shown);
                    if hunk.lines_cut > 0 {
                        let cut = plural(hunk.lines_cut, "more line", "more lines");
                        wide_row(html, "hunk", |html| {
                            html.text(&format!("{cut} of this hunk not shown"));
                        });
                    }
                }
            });
        });
        omissions(html, &file.omitted);
    });
}

/// Writes a column header that only screen readers present.
fn column(html: &mut HtmlWriter, class: &'static str, name: &str) {
    html.within("th", &[Attr::Class(class), Attr::Scope("col")], |html| {
        html.leaf("span", &[Attr::Class("away")], name);
    });
}

fn wide_row(html: &mut HtmlWriter, class: &'static str, fill: impl FnOnce(&mut HtmlWriter)) {
    html.within("tr", &[Attr::Class(class)], |html| {
        html.within("td", &[Attr::ColSpan(4)], fill);
    });
}

fn file_name(html: &mut HtmlWriter, file: &PackedFile) {
    html.within("h3", &[], |html| html.write_foreign(&file.path));
    if let Some(previous) = &file.previous_path {
        html.text(" (was ");
        html.leaf("code", &[], previous);
        html.text(")");
    }
    let facts = format!(
        " {}, {} ",
        model_name(file.status),
        humanize(file.class.name())
    );
    html.leaf("span", &[Attr::Class("soft small")], &facts);
    match (file.additions, file.deletions) {
        (Some(added), Some(deleted)) => {
            html.leaf("span", &[Attr::Class("plus small")], &format!("+{added}"));
            html.text(" ");
            html.leaf(
                "span",
                &[Attr::Class("minus small")],
                &format!("−{deleted}"),
            );
        }
        _ => html.leaf("span", &[Attr::Class("soft small")], "binary"),
    }
}

/// Writes which parts of a file are left out. If even the whole diff lacks a part, also writes how
/// to read that part.
fn omissions(html: &mut HtmlWriter, omitted: &[Omission]) {
    for omission in omitted {
        let (lines, reason) = (omission.lines, omission.reason);
        let why = match reason {
            // `meaning` names a limit of changed lines. This limit does not apply to a whole file
            // at the head commit, because such a file is never read.
            OmissionReason::Generated if lines == 0 => "a generated, lock or vendored file",
            _ => reason.meaning(),
        };
        let mut said = match lines > 0 && reason.is_in_whole_diff() {
            true => format!("{} not shown: {why}", plural(lines, "line", "lines")),
            false => format!("Not shown: {why}"),
        };
        if let Some(recovery) = reason.recovery() {
            said.push_str(&format!("; {recovery}"));
        }
        html.leaf("p", &[Attr::Class("note soft small")], &said);
    }
}

/// Writes the lines of a hunk, with threads below their lines.
fn lines(
    html: &mut HtmlWriter,
    hunk: &str,
    threads: &ThreadAnchors<'_>,
    here: &[usize],
    is_shown: &mut [bool],
) {
    let mut reader = LineReader::default();
    for line in hunk.split_inclusive('\n') {
        let text = line.strip_suffix('\n').unwrap_or(line);
        let content = text.get(1..).unwrap_or_default();
        let (old, new) = match reader.read(line.as_bytes()) {
            DiffLine::Context { old, new } => {
                code_line(html, "", (Some(old), Some(new)), "", content);
                (Some(old), Some(new))
            }
            DiffLine::Added { new } => {
                code_line(html, "add", (None, Some(new)), "+", content);
                (None, Some(new))
            }
            DiffLine::Removed { old } => {
                code_line(html, "del", (Some(old), None), "−", content);
                (Some(old), None)
            }
            _ => {
                wide_row(html, "hunk", |html| html.text(text));
                continue;
            }
        };
        for &n in here {
            let (Some(thread), Some(is_shown)) = (threads.all.get(n), is_shown.get_mut(n)) else {
                continue;
            };
            let at = match thread.side {
                Side::Left => old,
                Side::Right => new,
            };
            if at.is_some() && at == thread.line && !*is_shown {
                *is_shown = true;
                wide_row(html, "talks", |html| threads.thread(html, n, false));
            }
        }
    }
}

fn code_line(
    html: &mut HtmlWriter,
    class: &'static str,
    (old, new): (Option<u64>, Option<u64>),
    sign: &str,
    text: &str,
) {
    let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    let attrs = (!class.is_empty()).then_some(Attr::Class(class));
    html.within("tr", attrs.as_slice(), |html| {
        html.leaf("td", &[Attr::Class("n o")], &number(old));
        html.leaf("td", &[Attr::Class("n")], &number(new));
        html.leaf("td", &[Attr::Class("s")], sign);
        html.leaf("td", &[Attr::Class("c")], text);
    });
}

/// Writes excerpts of the changed files at the head commit, around the hunks.
pub(super) fn source(html: &mut HtmlWriter, source: &PackedSource) {
    html.within("p", &[], |html| {
        html.text(&format!(
            "{} at ",
            plural(source.files_total, "file", "files")
        ));
        html.leaf("code", &[], short(Some(&source.head_sha)));
        html.text(".");
    });
    for file in &source.files {
        html.within("details", &[Attr::Class("file")], |html| {
            html.within("summary", &[], |html| {
                html.within("h3", &[], |html| html.write_foreign(&file.path));
                if let Some(lines) = file.lines_total {
                    let lines = format!(" {}", plural(lines, "line", "lines"));
                    html.leaf("span", &[Attr::Class("soft small")], &lines);
                }
            });
            if !file.excerpts.is_empty() {
                excerpts(html, file);
            }
            omissions(html, &file.omitted);
        });
    }
}

fn excerpts(html: &mut HtmlWriter, file: &SourceFile) {
    let label = format!("Lines of {}", file.path);
    let attrs = [Attr::Class("diff"), Attr::Label(&label)];
    html.within("table", &attrs, |html| {
        html.within("thead", &[], |html| {
            html.within("tr", &[], |html| {
                column(html, "n", "Line");
                column(html, "c", "Text");
            });
        });
        html.within("tbody", &[], |html| {
            for excerpt in &file.excerpts {
                for (n, line) in excerpt.text.lines().enumerate() {
                    let attrs = (n == 0).then_some(Attr::Class("begins"));
                    html.within("tr", attrs.as_slice(), |html| {
                        let number = (excerpt.line + n).to_string();
                        html.leaf("td", &[Attr::Class("n")], &number);
                        html.leaf("td", &[Attr::Class("c")], line);
                    });
                }
            }
        });
    });
}
