//! The text output of `forge pr context`.

use std::fmt::Write as _;

use forge::context::{
    Clearer, LinkedItem, Omission, PackedDiff, PackedFile, PackedSource, PullContext, RelatedPull,
    Requirement, RequirementStatus, SinceChanges,
};
use forge_core::{
    Action, Hint, Op, PrKey,
    model::{Check, CheckStatus, Comment, LinkState, PrState, Thread},
    text::{self, Quote},
};

use crate::ui::{color::Palette, json::model_name};

/// Maximum length of a description or comment, in characters.
const MAX_BODY: usize = 2_000;

/// Renders the pull request's context as text: first the verdict whether it can be merged, then the
/// other sections.
///
/// `advice` renders a hint with its command.
pub(super) fn render_context(
    found: &PullContext,
    palette: Palette,
    advice: impl Fn(&Hint) -> String,
) -> String {
    let whole = Action::op(Op::PrDiff).on(&found.pull.id.key);
    let mut page = ContextPage {
        out: String::new(),
        palette,
        whole_diff: advice(&Hint::new("read the whole diff").with_action(whole)),
    };
    page.write_top(found);
    page.verdict(found);
    page.description(found);
    page.checks(found);
    page.threads(found);
    page.talk(found);
    page.linked(found);
    page.related(found);
    page.files(found);
    page.history(found);
    match &found.since {
        Some(since) => page.since(since),
        None => page.unread_since(found),
    }
    if let Some(diff) = &found.diff {
        page.diff("Diff", diff);
    }
    if let Some(source) = &found.source {
        page.source(source);
    }
    page.out
}

struct ContextPage {
    out: String,
    palette: Palette,
    /// The command that reads the whole diff.
    whole_diff: String,
}

fn one(text: &str) -> String {
    text::one_line(text).into_owned()
}

fn name(key: &PrKey) -> String {
    match key {
        PrKey::Number(n) => format!("#{n}"),
        PrKey::Record(uri) => word(uri),
    }
}

/// Quotes foreign text (written by other people) within a line.
fn quoted(text: &str) -> String {
    text::quote(text, Quote::Inline)
}

/// Formats a foreign name within a line: a single word unchanged, other text in quotes.
fn word(text: &str) -> String {
    let bare = text.strip_suffix("[bot]").unwrap_or(text);
    // A reference such as `octo/tools#7` is one word.
    let numbered = bare.split_once('#').filter(|(_, number)| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    });
    let bare = numbered.map_or(bare, |(repo, _)| repo);
    let schemes = ["https://", "http://", "file://", "at://", "did:"];
    // Only URLs may contain a colon, because `checks:` would look like a heading.
    let more = match schemes.iter().any(|scheme| bare.starts_with(scheme)) {
        true => "-_./+@=:?&%#~",
        false => "-_./+@=",
    };
    let is_word = text.starts_with(|c: char| c.is_alphanumeric() || "._#".contains(c))
        && bare
            .chars()
            .all(|c| c.is_alphanumeric() || more.contains(c));
    match is_word {
        true => one(text),
        false => quoted(text),
    }
}

fn join_names(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| word(text)).collect();
    texts.join(", ")
}

/// Formats the commit id that a forge returned, in at most 12 characters.
fn short_oid(oid: &str) -> String {
    word(oid.get(..12).unwrap_or(oid))
}

/// Formats the evidence of a merge requirement. Quotes all names in the evidence, because other
/// people chose them.
fn evidence(r: &Requirement) -> String {
    let names = r.counted.as_ref().and_then(|(what, _)| {
        let rest = r.evidence.strip_prefix(what.as_str())?;
        Some((what, rest.strip_prefix(": ")))
    });
    match names {
        Some((what, Some(names))) => format!("{what}: {}", quoted(names)),
        Some((what, None)) if *what == r.evidence => what.clone(),
        _ => quoted(&r.evidence),
    }
}

fn state_word(state: Option<LinkState>) -> &'static str {
    match state {
        Some(LinkState::Open) => "open",
        Some(LinkState::Closed) => "closed",
        Some(LinkState::Merged) => "merged",
        None => "unknown",
    }
}

impl ContextPage {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn heading(&mut self, text: &str) {
        let _ = writeln!(self.out, "\n{}", self.palette.bold(text));
    }

    /// Quotes foreign text: each line begins with a bar.
    fn quote(&mut self, foreign: &str) {
        let prefix = "    │ ";
        self.out
            .push_str(&text::quote(foreign, Quote::Lines { prefix }));
    }

    /// Quotes the start of a description or comment.
    fn body(&mut self, body: &str) {
        let body = text::drop_mention_breaks(body);
        let (kept, dropped) = text::truncate_chars(&body, MAX_BODY);
        self.quote(&kept);
        if dropped > 0 {
            let _ = writeln!(self.out, "    [{dropped} more characters]");
        }
    }

    fn write_top(&mut self, c: &PullContext) {
        let p = &c.pull;
        let state = match p.state {
            PrState::Open if p.draft => "draft",
            PrState::Open => "open",
            PrState::Closed => "closed",
            PrState::Merged => "merged",
        };
        let title = self.palette.bold(&quoted(&p.title));
        self.line(&format!("{} [{state}] {title}", name(&p.id.key)));
        let lines = match (p.changed_files, p.additions, p.deletions) {
            (Some(files), Some(added), Some(deleted)) => {
                format!(" · {files} file(s) +{added} -{deleted}")
            }
            _ => String::new(),
        };
        let owner = match p.fork_owner() {
            Some("") => ":".to_owned(),
            Some(owner) => format!("{}:", word(owner)),
            None => String::new(),
        };
        self.line(&format!(
            "{} wants {owner}{} in {}{lines}",
            word(&p.author.login),
            word(&p.head_branch),
            word(&p.base_branch)
        ));
        self.line(&word(&p.url));
        let s = &c.summary;
        let reasons: Vec<String> = s
            .risk
            .reasons
            .iter()
            .map(|r| format!("{}: {}", r.rule, word(&r.evidence)))
            .collect();
        let reasons = match reasons.is_empty() {
            true => String::new(),
            false => format!(" ({})", reasons.join("; ")),
        };
        self.line(&format!(
            "{} · risk {}{reasons}",
            s.change_type.name(),
            s.risk.level.name()
        ));
        for fact in &s.key_changes {
            self.line(&format!("  {}", quoted(fact)));
        }
    }

    fn verdict(&mut self, c: &PullContext) {
        let r = &c.readiness;
        let ready = match r.ready_to_merge {
            Some(true) => self.palette.green("yes"),
            Some(false) => self.palette.red("no"),
            None => self.palette.yellow("unknown"),
        };
        self.heading(&format!("Ready to merge: {ready}"));
        for blocker in &r.blockers {
            self.line(&format!("  {}", self.palette.red(&quoted(blocker))));
        }
        for requirement in &r.requirements {
            let line = self.requirement(requirement);
            self.line(&line);
        }
        let sha = |oid: &Option<String>| oid.as_deref().map_or("?".to_owned(), short_oid);
        self.line(&format!(
            "  judged at {}: head {}, base {}",
            r.checked_at,
            sha(&r.head_sha),
            sha(&r.base_sha)
        ));
        if let Some(record) = &c.pull.ingestion {
            self.line(&format!(
                "  record version {}: {}",
                word(&record.cid),
                record.verdict.word()
            ));
        }
    }

    fn requirement(&self, r: &Requirement) -> String {
        let mark = match r.status {
            RequirementStatus::Met => self.palette.green("✓"),
            RequirementStatus::Unmet => self.palette.red("✗"),
            RequirementStatus::Unknown => self.palette.yellow("?"),
        };
        let mut source = r.source.name().replace('_', " ");
        if let Some(name) = &r.source_name {
            let _ = write!(source, " {}", quoted(name));
        }
        let mut line = format!("  {mark} {} [{source}]", r.rule.name());
        if !r.cleared_by.is_empty() {
            let clearer = |c: &Clearer| match c.names.is_empty() {
                true => c.who.name().to_owned(),
                false => format!("{} {}", c.who.name(), join_names(&c.names)),
            };
            let who: Vec<String> = r.cleared_by.iter().map(clearer).collect();
            let _ = write!(line, " → {}", who.join(" or "));
        }
        let _ = write!(line, " | {}", evidence(r));
        line
    }

    fn description(&mut self, c: &PullContext) {
        if !c.pull.description.trim().is_empty() {
            self.heading("Description");
            self.body(&c.pull.description);
        }
    }

    fn checks(&mut self, c: &PullContext) {
        if let Some(report) = &c.ci {
            let counts = report.counts;
            self.heading(&format!(
                "Checks: {} passed, {} failed, {} pending",
                counts.success, counts.failure, counts.pending
            ));
            let passed =
                |c: &&Check| matches!(c.status, CheckStatus::Success | CheckStatus::Skipped);
            for check in report.checks.iter().filter(|c| !passed(c)) {
                let state = check.conclusion.as_ref().or(check.progress.as_ref());
                let state = state.map_or("PENDING", String::as_str);
                let mut line = format!("  {} {}", word(state), word(&check.name));
                if let Some(url) = &check.url {
                    let _ = write!(line, " | {}", word(url));
                }
                if let Some(summary) = &check.summary {
                    let _ = write!(line, " | {}", quoted(summary));
                }
                self.line(&line);
            }
        }
        let has_failure = (c.pull.checks.as_ref()).is_some_and(|report| report.counts.failure > 0);
        if has_failure && c.ci_logs.as_ref().is_some_and(Vec::is_empty) {
            self.heading("Logs: no log of the failed checks was found; see their pages");
        }
        for log in c.ci_logs.iter().flatten() {
            let cut = if log.cut { ", the end of it" } else { "" };
            self.heading(&format!("Log of {}{cut}", word(&log.check)));
            self.quote(&log.text);
        }
    }

    fn threads(&mut self, c: &PullContext) {
        let Some(threads) = &c.threads else {
            return;
        };
        let (open, resolved): (Vec<&Thread>, Vec<&Thread>) =
            threads.iter().partition(|t| !t.resolved);
        if threads.is_empty() {
            return;
        }
        self.heading(&format!(
            "Threads: {} open, {} resolved",
            open.len(),
            resolved.len()
        ));
        for thread in open {
            let line = thread.lines().map_or(String::new(), |n| format!(":{n}"));
            let outdated = if thread.outdated { ", outdated" } else { "" };
            let pending = if thread.pending { ", pending" } else { "" };
            self.line(&format!(
                "  {}{line}{outdated}{pending} ({})",
                word(&thread.path),
                word(&thread.id)
            ));
            thread.comments.iter().for_each(|c| self.comment(c));
        }
    }

    fn comment(&mut self, c: &Comment) {
        let edited = if c.updated_at.is_some() {
            ", edited"
        } else {
            ""
        };
        self.line(&format!(
            "  {} {}{edited} ({})",
            word(&c.author.login),
            c.created_at,
            word(&c.id)
        ));
        self.body(&c.body);
    }

    fn talk(&mut self, c: &PullContext) {
        if let Some(reviews) = c.reviews.as_ref().filter(|r| !r.is_empty()) {
            self.heading("Reviews");
            for review in reviews {
                let state = model_name(review.state);
                self.line(&format!(
                    "  {} {state} {} ({})",
                    word(&review.author.login),
                    review.submitted_at,
                    word(&review.id)
                ));
                if let Some(body) = review.body.as_ref().filter(|b| !b.is_empty()) {
                    self.body(body);
                }
            }
        }
        if let Some(comments) = c.comments.as_ref().filter(|c| !c.is_empty()) {
            self.heading("Comments");
            comments.iter().for_each(|c| self.comment(c));
        }
    }

    fn linked(&mut self, c: &PullContext) {
        let Some(items) = c.linked_issues.as_ref().filter(|items| !items.is_empty()) else {
            return;
        };
        self.heading("Linked issues");
        for item in items {
            self.linked_item(item);
        }
    }

    fn linked_item(&mut self, item: &LinkedItem) {
        let title = item.title.as_deref();
        let title = title.map_or(String::new(), |title| format!(" {}", quoted(title)));
        let places: Vec<&str> = item.found_in.iter().map(|at| at.name()).collect();
        let status = item.status.as_deref();
        let status = status.map_or(String::new(), |status| format!(": {}", word(status)));
        self.line(&format!(
            "  {} {} [{}{status}] ({}){title}",
            item.relationship.name(),
            word(&item.key),
            state_word(item.state),
            places.join(", ")
        ));
        if let Some(body) = item.body.as_ref().filter(|b| !b.trim().is_empty()) {
            self.body(body);
        }
        item.comments.iter().for_each(|c| self.comment(c));
    }

    fn related(&mut self, c: &PullContext) {
        let Some(pulls) = c.related_prs.as_ref().filter(|pulls| !pulls.is_empty()) else {
            return;
        };
        self.heading("Related pull requests");
        for pull in pulls {
            self.related_pull(pull);
        }
    }

    fn related_pull(&mut self, r: &RelatedPull) {
        let title = r.title.as_deref();
        let title = title.map_or(String::new(), |title| format!(" {}", quoted(title)));
        let by = r
            .author
            .as_deref()
            .map_or(String::new(), |author| format!(" by {}", word(author)));
        let files = match r.overlap_files.is_empty() {
            true => String::new(),
            false => format!(": {}", join_names(&r.overlap_files)),
        };
        self.line(&format!(
            "  {} [{}] ({}{files}){by}{title}",
            name(&r.key),
            state_word(r.state),
            r.relationship.name()
        ));
    }

    fn files(&mut self, c: &PullContext) {
        if let Some(files) = &c.files {
            self.heading(&format!("Files: {}", files.len()));
            for file in files {
                let counts = match (file.additions, file.deletions) {
                    (Some(added), Some(deleted)) => format!("+{added} -{deleted}"),
                    _ => "binary".to_owned(),
                };
                self.line(&format!("  {} {counts}", word(&file.path)));
            }
        }
    }

    fn history(&mut self, c: &PullContext) {
        if let Some(events) = &c.history {
            self.heading("History");
            for event in events {
                let detail = event.detail.as_deref();
                let detail = detail.map_or(String::new(), |detail| format!(" {}", quoted(detail)));
                let kind = model_name(event.kind);
                let by = word(&event.actor.login);
                self.line(&format!("  {} {kind} by {by}{detail}", event.created_at));
            }
        }
    }

    fn since(&mut self, since: &SinceChanges) {
        let commit = since.from_sha.as_deref();
        let commit = commit.map_or("a round without commits".to_owned(), short_oid);
        let review = since.review.as_deref();
        let review = review.map_or(String::new(), |id| format!("review {}, ", word(id)));
        self.heading(&format!(
            "Since {review}{commit}: the head {}",
            since.head_change.meaning()
        ));
        for commit in &since.commits {
            let oids = [&commit.old, &commit.new].into_iter().flatten();
            let oids: Vec<String> = oids.map(|oid| short_oid(oid)).collect();
            let (change, headline) = (commit.change(), quoted(&commit.headline));
            self.line(&format!("  {change} {} {headline}", oids.join(" → ")));
        }
        self.diff("Changes since then", &since.diff);
    }

    fn source(&mut self, source: &PackedSource) {
        self.heading(&format!("Source at {}", word(&source.head_sha)));
        for file in &source.files {
            let head = format!("{} {}", word(&file.path), file.class.name());
            self.line(&self.palette.cyan(&head));
            for excerpt in &file.excerpts {
                for (n, line) in (excerpt.line..).zip(excerpt.text.split_inclusive('\n')) {
                    let prefix = &format!("{n:>6} │ ");
                    self.out
                        .push_str(&text::quote(line, Quote::Lines { prefix }));
                }
            }
            self.omitted(&file.omitted);
        }
    }

    /// Reports that the changes could not be read, because a missing section would look like "no
    /// changes".
    fn unread_since(&mut self, found: &PullContext) {
        if let Some(error) = found.errors.iter().find(|e| e.section == "since") {
            self.heading(&format!("Changes since then: {}", one(&error.message)));
        }
    }

    fn omitted(&mut self, omitted: &[Omission]) {
        for omission in omitted {
            let lines = match omission.lines {
                0 => String::new(),
                lines => format!("{lines} more line(s) "),
            };
            let recovery = omission.reason.recovery();
            let recovery = recovery.map_or(String::new(), |hint| format!("; {hint}"));
            let reason = omission.reason.name();
            self.line(&format!("  [{lines}not shown: {reason}{recovery}]"));
        }
    }

    fn diff(&mut self, name: &str, diff: &PackedDiff) {
        let cut = match (diff.truncated, &diff.recovery) {
            (true, Some(_)) => format!(", not all of it; {}", self.whole_diff),
            (true, None) => ", not all of it".to_owned(),
            (false, _) => String::new(),
        };
        self.heading(&format!(
            "{name}: {} file(s) +{} -{}{cut}",
            diff.files_total, diff.additions, diff.deletions
        ));
        for file in &diff.files {
            self.packed_file(file);
        }
    }

    fn packed_file(&mut self, file: &PackedFile) {
        let counts = match (file.additions, file.deletions) {
            (Some(added), Some(deleted)) => format!("+{added} -{deleted}"),
            _ => "binary".to_owned(),
        };
        let path = match &file.previous_path {
            Some(previous) => format!("{} (was {})", word(&file.path), word(previous)),
            None => word(&file.path),
        };
        let head = format!("{path} {counts} {}", file.class.name());
        self.line(&self.palette.cyan(&head));
        for hunk in &file.hunks {
            // Lines of a malformed patch may lack the leading `+`, `-` or blank. Unquoted, they
            // could look like headings.
            self.quote(&hunk.text);
        }
        self.omitted(&file.omitted);
    }
}
