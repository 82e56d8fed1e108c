use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write as _,
};

use forge_core::{
    Action, Hint, Op, Timestamp,
    model::{
        Actor, CheckRollup, Comment, MergeMethod, PrState, PullRequest, Review, ReviewState,
        Reviewer,
    },
    text,
};

use super::shared::{head_label, pull_name, state_word};
use crate::{
    ctx::Ctx,
    ui::{Ui, color::Palette, markdown, time::plural},
};

/// Formats a pull request for a pipe: for each of gh's keys a line with key, tab and value, then
/// the description. `closes` has the issues that a merge closes. Terminal escapes are neutralised,
/// because the output of a pipe may be shown on a terminal.
pub(super) fn piped(p: &PullRequest, closes: Option<&str>) -> String {
    let mut out = String::new();
    let mut key = |name: &str, value: &str| key_of(&mut out, name, value);
    key("title", &p.title);
    key("state", state_word(p));
    key("author", &with_name(&p.author));
    key("labels", &labels(p).join(", "));
    key(
        "assignees",
        &p.assignees
            .iter()
            .map(with_name)
            .collect::<Vec<_>>()
            .join(", "),
    );
    key("reviewers", &reviewers(p).join(", "));
    key("projects", &projects(p).join(", "));
    key("milestone", p.milestone.as_ref().map_or("", |m| &m.title));
    key("number", &p.id.key.to_string());
    key("url", &p.url);
    key("additions", &count_text(p.additions));
    key("deletions", &count_text(p.deletions));
    match &p.auto_merge {
        // The line has three parts, separated by tabs.
        Some(auto) => {
            let (by, how) = (field(&auto.enabled_by.login), auto.method.as_str());
            let _ = writeln!(out, "auto-merge:\tenabled\t{by}\t{how}");
        }
        None => key_of(&mut out, "auto-merge", "disabled"),
    }
    if let Some(rounds) = p.rounds {
        key_of(&mut out, "rounds", &rounds.to_string());
    }
    if let Some(below) = &p.depends_on {
        key_of(&mut out, "depends-on", &below.to_string());
    }
    if let Some(closes) = closes {
        key_of(&mut out, "closes", closes);
    }
    let description = text::drop_mention_breaks(&p.description);
    let _ = writeln!(out, "--\n{description}");
    text::neutralise(&out).into_owned()
}

/// Formats a count. The text is empty if the count was not read, because 0 would be a claim.
fn count_text(count: Option<u64>) -> String {
    count.map(|count| count.to_string()).unwrap_or_default()
}

/// Writes a key and its value on one line, separated by a tab.
pub(crate) fn key_of(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{name}:\t{}", field(value));
}

/// Replaces tabs and line ends, because they could fake another column or key.
fn field(value: &str) -> String {
    value.replace(['\t', '\r', '\n'], " ")
}

/// A comment, or a review with a text.
enum Remark<'a> {
    Comment(&'a Comment),
    Review(&'a Review),
}

impl Remark<'_> {
    fn at(&self) -> Timestamp {
        match self {
            Self::Comment(c) => c.created_at,
            Self::Review(r) => r.submitted_at,
        }
    }

    fn id(&self) -> &str {
        match self {
            Self::Comment(c) => &c.id,
            Self::Review(r) => &r.id,
        }
    }

    fn round(&self) -> Option<usize> {
        match self {
            Self::Comment(c) => c.round,
            Self::Review(r) => r.round,
        }
    }

    fn reply_to(&self) -> Option<&str> {
        match self {
            Self::Comment(c) => c.reply_to.as_deref(),
            Self::Review(_) => None,
        }
    }
}

/// The root comment of a conversation, as a sort key: its round (the pull request's version), time
/// and id.
type ConversationRoot = (Option<usize>, Timestamp, String);

/// Finds the root of each comment by following replies. Each comment is visited once, so that long
/// reply chains stay cheap.
fn roots(all: &[Remark<'_>]) -> HashMap<String, ConversationRoot> {
    let known: HashMap<&str, &Remark<'_>> = all.iter().map(|s| (s.id(), s)).collect();
    let mut roots: HashMap<String, ConversationRoot> = HashMap::new();
    for said in all {
        let mut path = HashSet::new();
        let mut at = said;
        let root = loop {
            if let Some(root) = roots.get(at.id()) {
                break root.clone();
            }
            let is_new = path.insert(at.id());
            match at.reply_to().and_then(|id| known.get(id).copied()) {
                Some(above) if is_new => at = above,
                // `at` is the root, or was visited before because the replies form a cycle.
                _ => break (at.round(), at.at(), at.id().to_owned()),
            }
        };
        for id in path {
            roots.insert(id.to_owned(), root.clone());
        }
    }
    roots
}

/// Sorts by round. A reply follows its root, even if it was written in a newer round.
fn by_round(all: Vec<Remark<'_>>) -> Vec<Remark<'_>> {
    let roots = roots(&all);
    let key = |said: &Remark<'_>| (roots.get(said.id()).cloned(), said.at());
    let mut keyed: Vec<_> = all.into_iter().map(|s| (key(&s), s)).collect();
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    keyed.into_iter().map(|(_, said)| said).collect()
}

/// Collects comments and reviews, oldest first, or by round on forges with rounds. Leaves out
/// hidden comments and empty reviews.
fn collect_remarks(p: &PullRequest) -> Vec<Remark<'_>> {
    let comments = p
        .comments
        .iter()
        .flatten()
        .filter(|c| c.minimized_reason.is_none());
    let reviews = p.reviews.iter().flatten().filter(|r| {
        let empty = r.body.as_deref().is_none_or(str::is_empty);
        r.state != ReviewState::Pending && !(empty && r.state == ReviewState::Commented)
    });
    let mut all: Vec<Remark<'_>> = comments
        .map(Remark::Comment)
        .chain(reviews.map(Remark::Review))
        .collect();
    all.sort_by_key(Remark::at);
    match all.iter().any(|s| s.round().is_some()) {
        true => by_round(all),
        false => all,
    }
}

pub(super) fn piped_comments(p: &PullRequest) -> String {
    let mut out = String::new();
    for said in collect_remarks(p) {
        out.push_str(&format_remark_for_pipe(&said));
    }
    text::neutralise(&out).into_owned()
}

pub(crate) fn comment_on_pipe(comment: &Comment) -> String {
    format_remark_for_pipe(&Remark::Comment(comment))
}

fn format_remark_for_pipe(said: &Remark<'_>) -> String {
    let (author, association, edited, status, body) = match said {
        Remark::Comment(c) => (
            &c.author,
            &c.author_association,
            c.updated_at.is_some(),
            "none",
            c.body.as_str(),
        ),
        Remark::Review(r) => (
            &r.author,
            &r.author_association,
            false,
            review_word(r.state),
            r.body.as_deref().unwrap_or(""),
        ),
    };
    let association = association
        .as_deref()
        .unwrap_or("none")
        .to_ascii_lowercase();
    let association = text::one_line(&association);
    let login = text::one_line(&author.login);
    // In this format a line `--` ends a comment, so such a line of the text is indented.
    let body: Vec<String> = text::drop_mention_breaks(body)
        .split('\n')
        .map(|line| match line.trim_end() {
            "--" => format!(" {line}"),
            _ => line.to_owned(),
        })
        .collect();
    let body = body.join("\n");
    let round = said
        .round()
        .map(|n| format!("round:\t{n}\n"))
        .unwrap_or_default();
    format!(
        "author:\t{login}\nassociation:\t{association}\nedited:\t{edited}\nstatus:\t{status}\n{round}--\n{body}\n--\n"
    )
}

fn review_word(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Approved => "approved",
        ReviewState::ChangesRequested => "changes requested",
        ReviewState::Commented => "commented",
        ReviewState::Dismissed => "dismissed",
        ReviewState::Pending => "pending",
    }
}

/// Formats a person: `login (Name)`.
pub(crate) fn with_name(a: &Actor) -> String {
    login_with_name(&a.login, a.name.as_deref())
}

/// Formats a person. Parentheses and commas in the name become spaces, because they could fake a
/// second person, or a verdict in the list of [`reviewers`].
fn login_with_name(login: &str, name: Option<&str>) -> String {
    match name {
        Some(name) if !name.is_empty() => {
            let name = name.replace(['(', ')', ','], " ");
            format!("{login} ({name})")
        }
        _ => login.to_owned(),
    }
}

fn labels(p: &PullRequest) -> Vec<String> {
    let mut names: Vec<String> = p.labels.iter().map(|l| l.name.clone()).collect();
    names.sort_by_key(|n| n.to_lowercase());
    names
}

/// Formats the boards of a pull request: `board (column)`.
fn projects(p: &PullRequest) -> Vec<String> {
    let items = p.projects.iter().flatten();
    items
        .map(|item| {
            let column = item.status.as_ref().map_or("No Status", |s| &s.name);
            format!("{} ({column})", item.title)
        })
        .collect()
}

/// Formats the reviewers: `login (Approved)`, sorted by name. Requested reviewers who have not
/// answered come last.
fn reviewers(p: &PullRequest) -> Vec<String> {
    let given = p
        .latest_reviews
        .iter()
        .filter(|r| r.state != ReviewState::Pending);
    let mut all: Vec<(bool, String, &str)> = given
        .filter(|r| {
            !p.pending_reviewers
                .iter()
                .any(|a| a.handle() == r.author.login)
        })
        .map(|r| {
            let word = match r.state {
                ReviewState::Approved => "Approved",
                ReviewState::ChangesRequested => "Changes requested",
                _ => "Commented",
            };
            (false, with_name(&r.author), word)
        })
        .chain(
            p.pending_reviewers
                .iter()
                .map(|r: &Reviewer| (true, reviewer(r), "Requested")),
        )
        .collect();
    all.sort();
    all.into_iter()
        .map(|(_, who, what)| format!("{who} ({what})"))
        .collect()
}

fn reviewer(r: &Reviewer) -> String {
    match r {
        Reviewer::User { login, name } => login_with_name(login, name.as_deref()),
        // gh's display name of the bot.
        Reviewer::Bot { login } if login == "copilot-pull-request-reviewer" => {
            "Copilot (AI)".into()
        }
        _ => r.handle().to_owned(),
    }
}

/// Formats a pull request for a terminal. `closes` has the issues that a merge closes.
pub(super) fn render_pull(
    ctx: &Ctx,
    p: &PullRequest,
    closes: Option<&str>,
    comments: bool,
) -> String {
    let (ui, c) = (&ctx.ui, ctx.ui.palette());
    let mut out = String::new();
    let title = text::one_line(&p.title);
    let name = text::one_line(&pull_name(&p.id)).into_owned();
    let _ = writeln!(out, "{} {name}", c.bold(&title));
    let _ = writeln!(out, "{}", summary(ui, p));
    let _ = writeln!(out, "{}", stats(c, p));
    if let Some(reactions) = p.reactions.as_ref().and_then(reactions) {
        let _ = writeln!(out, "{reactions}");
    }
    let mut row = |name: &str, values: &[String]| {
        if !values.is_empty() {
            let _ = writeln!(
                out,
                "{} {}",
                c.bold(name),
                text::one_line(&values.join(", "))
            );
        }
    };
    row("Reviewers:", &reviewers(p));
    row(
        "Assignees:",
        &p.assignees.iter().map(with_name).collect::<Vec<_>>(),
    );
    row("Labels:", &labels(p));
    row("Closes:", &Vec::from_iter(closes.map(str::to_owned)));
    row("Projects:", &projects(p));
    row(
        "Milestone:",
        &p.milestone
            .iter()
            .map(|m| m.title.clone())
            .collect::<Vec<_>>(),
    );
    let auto = p.auto_merge.iter().map(|auto| {
        let how = match auto.method {
            MergeMethod::Merge => "a merge commit",
            MergeMethod::Squash => "squash and merge",
            MergeMethod::Rebase => "rebase and merge",
        };
        format!("enabled by {}, using {how}", auto.enabled_by.login)
    });
    row("Auto-merge:", &auto.collect::<Vec<_>>());
    let rounds = p.rounds.filter(|rounds| *rounds > 1);
    row("Rounds:", &Vec::from_iter(rounds.map(|r| r.to_string())));
    let below = p.depends_on.as_ref();
    row("Depends on:", &Vec::from_iter(below.map(|b| b.to_string())));
    out.push('\n');
    out.push_str(&body(ui, &p.description, "No description provided"));
    out.push('\n');
    out.push_str(&conversation(ui, p, comments));
    if let Some(threads) = open_threads(ui, p) {
        let _ = writeln!(out, "{}\n", c.yellow(&threads));
    }
    let _ = writeln!(
        out,
        "{}",
        c.gray(&format!(
            "View this pull request: {}",
            text::one_line(&p.url)
        ))
    );
    out
}

/// Returns the line `2 open threads: forge pr thread list 7`, which also counts the user's pending
/// threads. Returns `None` if there are no open or pending threads, or if threads were not read.
pub(super) fn open_threads(ui: &Ui, p: &PullRequest) -> Option<String> {
    let threads = || p.threads.iter().flatten();
    let open = threads().filter(|t| t.is_open()).count();
    let pending = threads().filter(|t| t.pending).count();
    let counts = [(open, "open thread"), (pending, "pending thread")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, unit)| plural(i64::try_from(*count).unwrap_or(i64::MAX), unit))
        .collect();
    let hint = Hint::from(counts.join(", "));
    let hint = hint.with_action(Action::op(Op::ThreadList).on(&p.id.key));
    (!counts.is_empty()).then(|| ui.advice(&hint))
}

/// Formats comments and reviews. Without `all`, shows only the newest comment or review, as in gh.
fn conversation(ui: &Ui, p: &PullRequest, all: bool) -> String {
    let c = ui.palette();
    let said = collect_remarks(p);
    let newest = said
        .iter()
        .max_by_key(|s| s.at())
        .map(|s| s.id().to_owned());
    let is_newest = |s: &Remark<'_>| newest.as_deref() == Some(s.id());
    if all {
        let shown = said.iter().map(|s| comment(ui, s, is_newest(s)));
        return shown.collect();
    }
    // A long conversation was not read in full. Its unread comments are counted as hidden.
    let read = p.comments.as_ref().map_or(0, Vec::len) as u64;
    let unread = p.comments_count.saturating_sub(read);
    let shown: Vec<String> = said
        .iter()
        .filter(|s| is_newest(s))
        .map(|s| comment(ui, s, true))
        .collect();
    let hidden = (said.len() - shown.len()) as u64 + unread;
    if hidden == 0 {
        return shown.concat();
    }
    let count = plural(i64::try_from(hidden).unwrap_or(i64::MAX), "comment");
    let above = c.gray(&format!("———————— Not showing {count} ————————"));
    let below = c.gray("Use --comments to view the full conversation");
    format!("{above}\n\n{}{below}\n", shown.concat())
}

/// GitHub's names of reactions and their emoji, in GitHub's order.
const EMOJI: [(&str, &str); 8] = [
    ("THUMBS_UP", "👍"),
    ("THUMBS_DOWN", "👎"),
    ("LAUGH", "😄"),
    ("HOORAY", "🎉"),
    ("CONFUSED", "😕"),
    ("HEART", "❤️"),
    ("ROCKET", "🚀"),
    ("EYES", "👀"),
];

/// Formats reactions: `2 👍 • 1 🎉`; `None` without reactions.
fn reactions(given: &BTreeMap<String, u64>) -> Option<String> {
    let mut shown: Vec<(usize, String)> = given
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| {
            let at = EMOJI.iter().position(|(known, _)| *known == name.as_str());
            let known = at.and_then(|at| EMOJI.get(at));
            let emoji = known.map_or(name.as_str(), |(_, emoji)| *emoji);
            let order = at.unwrap_or(EMOJI.len());
            (
                order,
                text::one_line(&format!("{count} {emoji}")).into_owned(),
            )
        })
        .collect();
    shown.sort();
    let shown: Vec<String> = shown.into_iter().map(|(_, reaction)| reaction).collect();
    (!shown.is_empty()).then(|| shown.join(" • "))
}

/// Returns the text ` 2 commits`; empty if the commits were not read.
fn commits(p: &PullRequest) -> String {
    let Some(commits) = &p.commits else {
        return String::new();
    };
    match commits.len() {
        MAX_COMMITS => format!(" {MAX_COMMITS}+ commits"),
        count => format!(
            " {}",
            plural(i64::try_from(count).unwrap_or(i64::MAX), "commit")
        ),
    }
}

/// Maximum number of commits that a forge reads with [`forge_core::model::PrFields::NEWEST`].
const MAX_COMMITS: usize = 100;

fn summary(ui: &Ui, p: &PullRequest) -> String {
    let c = ui.palette();
    let commits = commits(p);
    let author = text::one_line(&p.author.login);
    let (base, head) = (p.base_branch.clone(), head_label(p));
    let (base, head) = (
        c.cyan(&text::one_line(&base)),
        c.cyan(&text::one_line(&head)),
    );
    let (state, what) = match p.state {
        PrState::Open if p.draft => (
            c.gray("Draft"),
            format!("{author} wants to merge{commits} into {base} from {head}"),
        ),
        PrState::Open => (
            c.green("Open"),
            format!("{author} wants to merge{commits} into {base} from {head}"),
        ),
        PrState::Closed => (
            c.red("Closed"),
            format!("{author} wanted to merge{commits} into {base} from {head}"),
        ),
        PrState::Merged => {
            let who = p.merged_by.as_ref().unwrap_or(&p.author);
            let who = text::one_line(&who.login);
            (
                c.magenta("Merged"),
                format!("{who} merged{commits} into {base} from {head}"),
            )
        }
    };
    let when = match (p.state, p.merged_at, p.closed_at) {
        (PrState::Merged, Some(at), _) | (PrState::Closed, _, Some(at)) => at,
        _ => p.created_at,
    };
    format!("{state} • {what} • {}", ui.ago(when))
}

fn stats(c: Palette, p: &PullRequest) -> String {
    let changed = match (p.additions, p.deletions) {
        (Some(added), Some(deleted)) => {
            let (added, deleted) = (format!("+{added}"), format!("-{deleted}"));
            format!("{} {}", c.green(&added), c.red(&deleted))
        }
        _ => c.gray("Changes were not read"),
    };
    let checks = match p.checks.as_ref().map(|r| r.overall) {
        Some(CheckRollup::Success) => c.green("✓ Checks passing"),
        Some(CheckRollup::Failure) => c.red("× Checks failing"),
        Some(CheckRollup::Pending) => c.yellow("- Checks pending"),
        Some(CheckRollup::Neutral) | None => return changed,
    };
    format!("{changed} • {checks}")
}

pub(crate) fn body(ui: &Ui, source: &str, nothing: &str) -> String {
    if source.trim().is_empty() {
        return format!("  {}\n", ui.palette().gray(nothing));
    }
    let rendered = markdown::render(source, ui.width().saturating_sub(4), ui.palette());
    rendered
        .lines()
        .map(|l| format!("  {l}").trim_end().to_owned() + "\n")
        .collect()
}

/// Formats a comment for a terminal.
pub(crate) fn comment_shown(ui: &Ui, shown: &Comment) -> String {
    comment(ui, &Remark::Comment(shown), false)
}

fn comment(ui: &Ui, said: &Remark<'_>, is_newest: bool) -> String {
    let c = ui.palette();
    let (author, what, text_of) = match said {
        Remark::Comment(m) => (&m.author, String::new(), m.body.as_str()),
        Remark::Review(r) => (
            &r.author,
            format!(" {}", review_word(r.state)),
            r.body.as_deref().unwrap_or(""),
        ),
    };
    let (association, edited, given) = match said {
        Remark::Comment(m) => (&m.author_association, m.updated_at.is_some(), &m.reactions),
        Remark::Review(r) => (&r.author_association, false, &r.reactions),
    };
    let mut head = format!("{}{what}", c.bold(&text::one_line(&author.login)));
    if let Some(role) = association.as_deref().and_then(role) {
        let _ = write!(head, " ({role})");
    }
    let _ = write!(head, " • {}", ui.ago(said.at()));
    if let Some(round) = said.round() {
        let _ = write!(head, " • round {round}");
    }
    if edited {
        head.push_str(" • Edited");
    }
    if is_newest {
        let _ = write!(head, " • {}", c.cyan("Newest comment"));
    }
    if let Some(reactions) = reactions(given) {
        let _ = write!(head, "\n{reactions}");
    }
    let text_of = if text_of.is_empty() {
        String::new()
    } else {
        body(ui, text_of, "")
    };
    format!("{head}\n{text_of}\n")
}

/// Returns the role of an author: `Member` for `MEMBER`; `None` for authors outside the repository.
fn role(association: &str) -> Option<String> {
    let words = association.replace('_', " ").to_lowercase();
    let words = text::one_line(&words);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) if association != "NONE" => {
            Some(first.to_uppercase().collect::<String>() + letters.as_str())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use forge_core::model::AutoMerge;

    use super::*;
    use crate::cmd::pr::sample::{comment, pull, review};

    #[test]
    fn piped_view_matches_gh() {
        assert_eq!(
            piped(&pull(), None),
            "title:\tGreet  the reader\nstate:\tOPEN\nauthor:\tada (Ada Lovelace)\n\
             labels:\tBug, zeal\nassignees:\tada (Ada Lovelace)\n\
             reviewers:\tgrace (Approved), alan (Requested)\nprojects:\t\nmilestone:\t\n\
             number:\t7\nurl:\tfile:///srv/repo#7\nadditions:\t3\ndeletions:\t1\n\
             auto-merge:\tdisabled\n--\nSay *hello*.\n"
        );
    }

    #[test]
    fn unread_changes_show_no_line_counts() {
        let mut p = pull();
        for (added, deleted) in [(None, None), (None, Some(0)), (Some(0), None)] {
            (p.additions, p.deletions) = (added, deleted);
            let shown = piped(&p, None);
            let lines = |name: &str, count: Option<u64>| {
                format!("\n{name}:\t{}\n", count.map_or("", |_| "0"))
            };
            for line in [lines("additions", added), lines("deletions", deleted)] {
                assert!(shown.contains(&line), "{line:?} in {shown}");
            }
            assert_eq!(stats(Palette { on: false }, &p), "Changes were not read");
        }
        (p.additions, p.deletions) = (Some(0), Some(0));
        assert_eq!(stats(Palette { on: false }, &p), "+0 -0");
    }

    #[test]
    fn piped_output_has_no_terminal_escapes() {
        let mut p = pull();
        p.title = "one\nnumber:\t8\u{1b}[2J".into();
        p.description = "a\r\nb\u{9b}2J".into();
        p.comments = Some(vec![comment("\u{1b}]0;x\u{7}", "2026-11-20T11:00:00Z")]);
        let shown = piped(&p, None);
        assert!(shown.starts_with("title:\tone number: 8␛[2J\n"), "{shown}");
        assert!(shown.ends_with("--\na\r\nb<U+009B>2J\n"), "{shown}");
        assert!(piped_comments(&p).contains("--\n␛]0;x␇\n--"));
    }

    #[test]
    fn conversation_is_ordered_without_empty_reviews() {
        let mut hidden = comment("buy", "2026-11-20T09:00:00Z");
        hidden.minimized_reason = Some("SPAM".into());
        let mut p = pull();
        p.comments = Some(vec![comment("second", "2026-11-20T11:00:00Z"), hidden]);
        p.reviews = Some(vec![
            review(
                ReviewState::ChangesRequested,
                "first",
                "2026-11-20T10:30:00Z",
            ),
            review(ReviewState::Commented, "", "2026-11-20T12:00:00Z"),
        ]);
        assert_eq!(
            piped_comments(&p),
            "author:\tgrace\nassociation:\tmember\nedited:\tfalse\nstatus:\tchanges requested\n--\nfirst\n--\n\
             author:\tada\nassociation:\tnone\nedited:\tfalse\nstatus:\tnone\n--\nsecond\n--\n"
        );
    }

    #[test]
    fn comment_header_values_stay_on_one_line() {
        let mut said = comment("said", "2026-11-20T11:00:00Z");
        said.author.login = "ada\nstatus:\tapproved".into();
        said.author_association = Some("OWNER\r\nauthor:\tgrace".into());
        let text = comment_on_pipe(&said);
        let lines = text.lines().take_while(|line| *line != "--");
        let keys: Vec<_> = lines.map(|line| line.split('\t').next().unwrap()).collect();
        assert_eq!(keys, ["author:", "association:", "edited:", "status:"]);
    }

    #[test]
    fn piped_auto_merge_has_three_parts() {
        let mut p = pull();
        p.auto_merge = Some(AutoMerge::new(MergeMethod::Squash, Actor::new("a\tb\nc")));
        let shown = piped(&p, None);
        let line = "\nauto-merge:\tenabled\ta b c\tsquash\n";
        assert!(shown.contains(line), "{shown}");
    }

    #[test]
    fn comment_body_cannot_end_the_comment() {
        let body = "hello\n--\nauthor:\towner\nstatus:\tapproved\n--\r\n--\t\n---\n--";
        let text = comment_on_pipe(&comment(body, "2026-11-20T11:00:00Z"));
        let (_, said) = text.split_once("\n--\n").unwrap();
        assert_eq!(
            said,
            "hello\n --\nauthor:\towner\nstatus:\tapproved\n --\r\n --\t\n---\n --\n--\n"
        );
    }

    #[test]
    fn display_name_cannot_fake_verdict() {
        let mut said = review(ReviewState::Commented, "x", "2026-11-20T12:00:00Z");
        let name = "x) (Approved), maintainer (Approved), z (Maint";
        said.author.name = Some(name.into());
        let mut p = pull();
        p.latest_reviews = vec![said];
        p.pending_reviewers = vec![Reviewer::User {
            login: "alan".into(),
            name: Some(name.into()),
        }];
        let shown = name.replace(['(', ')', ','], " ");
        assert_eq!(
            reviewers(&p),
            [
                format!("grace ({shown}) (Commented)"),
                format!("alan ({shown}) (Requested)")
            ]
        );
    }

    #[test]
    fn conversation_is_ordered_by_round_with_replies_attached() {
        let on = |id: &str, round, reply_to: Option<&str>, at: &str| {
            let mut comment = comment(id, &format!("2026-11-20T{at}:00Z"));
            comment.id = id.into();
            comment.round = round;
            comment.reply_to = reply_to.map(str::to_owned);
            comment
        };
        let mut p = pull();
        p.comments = Some(vec![
            on("second", Some(1), None, "11:00"),
            on("first", Some(0), None, "10:00"),
            on("late answer", Some(1), Some("first"), "12:00"),
            on("first again", Some(0), None, "10:30"),
            on("answer to it", Some(1), Some("late answer"), "13:00"),
            on("old", None, None, "09:00"),
            on("circle", Some(1), Some("circle"), "14:00"),
            on("of one that is gone", Some(0), Some("gone"), "15:00"),
            on("round", Some(1), Some("and round"), "16:00"),
            on("and round", Some(0), Some("round"), "17:00"),
        ]);
        let order: Vec<String> = collect_remarks(&p)
            .iter()
            .map(|s| s.id().to_owned())
            .collect();
        assert_eq!(
            order,
            [
                "old",
                "first",
                "late answer",
                "answer to it",
                "first again",
                "of one that is gone",
                "second",
                "circle",
                "round",
                "and round",
            ]
        );
        let text = piped_comments(&p);
        assert!(
            text.contains("status:\tnone\nround:\t1\n--\nsecond\n--\n"),
            "{text}"
        );
        assert!(
            text.starts_with(
                "author:\tada\nassociation:\tnone\nedited:\tfalse\nstatus:\tnone\n--\nold"
            ),
            "{text}"
        );
    }

    #[test]
    fn reactions_come_in_githubs_order() {
        let given = [("HEART", 1), ("EYES", 0), ("THUMBS_UP", 2), ("\u{1b}x", 3)];
        let given: BTreeMap<String, u64> =
            given.map(|(name, count)| (name.to_owned(), count)).into();
        assert_eq!(reactions(&given).as_deref(), Some("2 👍 • 1 ❤️ • 3 ␛x"));
        assert_eq!(reactions(&BTreeMap::new()), None);
    }

    #[test]
    fn association_is_shown_in_words() {
        let roles = ["OWNER", "FIRST_TIMER", "NONE", ""].map(role);
        let wanted = [Some("Owner"), Some("First timer"), None, None];
        assert_eq!(roles.each_ref().map(Option::as_deref), wanted);
    }

    #[test]
    fn reply_cycle_of_ten_thousand_shows_all_comments() {
        const MANY: usize = 10_000;
        let all = (0..MANY).map(|n| {
            let mut comment = comment("Again.", "2026-11-20T10:00:00Z");
            comment.id = n.to_string();
            comment.round = Some(0);
            comment.reply_to = Some(((n + 1) % MANY).to_string());
            comment
        });
        let mut p = pull();
        p.comments = Some(all.collect());
        assert_eq!(collect_remarks(&p).len(), MANY);
    }
}
