//! The fields of `forge pr context`.

use std::collections::HashMap;

use forge::context::{
    Clearer, ContextSection, LinkTarget, LinkedItem, LogTail, Omission, PackedDiff, PackedFile,
    PackedSource, PullContext, Readiness, RelatedPull, Requirement, SectionError, SinceChanges,
    SourceExcerpt, SourceFile,
};
use forge_core::{
    Hint, PrKey, Warning,
    model::{
        ChangedCommit, Check, CheckStatus, ChecksReport, Comment, FileChange, LinkState,
        PullRequest, RecordIngestion, Review, Reviewer, StatusEvent, Thread,
    },
};
use serde::Serialize;

use super::{
    Json, JsonField,
    ingestion::ingestion,
    pull::{number, reactions, time},
    thread::side,
};

/// The JSON fields of a pull request's context, named like its sections. `needs` is the section
/// that must be read for the field.
pub const CONTEXT_FIELDS: &[JsonField<PullContext, Option<ContextSection>>] = &[
    JsonField {
        name: "ciLogs",
        needs: Some(ContextSection::CiLogs),
        get: |c| Json::maybe(c.ci_logs.as_ref(), |logs| Json::list(logs, log)),
    },
    JsonField {
        name: "ciStatus",
        needs: Some(ContextSection::Ci),
        get: |c| Json::maybe(c.ci.as_ref(), ci_status),
    },
    JsonField {
        name: "comments",
        needs: Some(ContextSection::Comments),
        get: comments,
    },
    JsonField {
        name: "diff",
        needs: Some(ContextSection::Diff),
        get: |c| Json::maybe(c.diff.as_ref(), diff),
    },
    JsonField {
        name: "errors",
        needs: None,
        get: |c| Json::list(&c.errors, error),
    },
    JsonField {
        name: "files",
        needs: Some(ContextSection::Files),
        get: |c| Json::maybe(c.files.as_ref(), |files| Json::list(files, file)),
    },
    JsonField {
        name: "history",
        needs: Some(ContextSection::History),
        get: |c| Json::maybe(c.history.as_ref(), |events| Json::list(events, event)),
    },
    JsonField {
        name: "ingestion",
        needs: None,
        get: |c| Json::maybe(c.pull.ingestion.as_ref(), record_ingestion),
    },
    JsonField {
        name: "linkedIssues",
        needs: Some(ContextSection::LinkedIssues),
        get: |c| {
            let kind = c.pull.id.repo.kind.to_string();
            Json::maybe(c.linked_issues.as_ref(), |items| {
                Json::list(items, |item| linked(item, &kind))
            })
        },
    },
    JsonField {
        name: "partial",
        needs: None,
        get: |c| Json::Bool(c.partial),
    },
    JsonField {
        name: "pr",
        needs: None,
        get: |c| pr(&c.pull),
    },
    JsonField {
        name: "relatedPrs",
        needs: Some(ContextSection::RelatedPrs),
        get: |c| Json::maybe(c.related_prs.as_ref(), |pulls| Json::list(pulls, related)),
    },
    JsonField {
        name: "reviews",
        needs: Some(ContextSection::Reviews),
        get: reviews,
    },
    JsonField {
        name: "since",
        needs: None,
        get: |c| Json::maybe(c.since.as_ref(), since),
    },
    JsonField {
        name: "source",
        needs: Some(ContextSection::Source),
        get: |c| Json::maybe(c.source.as_ref(), source),
    },
    JsonField {
        name: "summary",
        needs: None,
        get: summary,
    },
    JsonField {
        name: "threads",
        needs: Some(ContextSection::Comments),
        get: |c| Json::maybe(c.threads.as_ref(), |threads| Json::list(threads, thread)),
    },
    JsonField {
        name: "verdict",
        needs: None,
        get: |c| verdict(&c.readiness),
    },
    JsonField {
        name: "warnings",
        needs: None,
        get: |c| Json::list(&c.warnings, warning),
    },
];

/// The JSON fields of `forge pr watch`, named as in `forge pr context`.
pub const WATCH_FIELDS: &[JsonField<Readiness>] = &[JsonField {
    name: "verdict",
    needs: (),
    get: verdict,
}];

fn count(n: usize) -> Json {
    Json::Number(u64::try_from(n).unwrap_or(u64::MAX))
}

fn text(value: Option<&String>) -> Json {
    Json::maybe(value, |text| Json::text(text))
}

fn texts(values: &[String]) -> Json {
    Json::list(values, |text| Json::text(text))
}

/// Returns the `snake_case` name by which serde serializes a value.
pub(crate) fn model_name(value: impl Serialize) -> String {
    let name = serde_json::to_value(value).ok();
    let name = name.as_ref().and_then(|name| name.as_str());
    name.unwrap_or_default().to_owned()
}

fn name_of(value: impl Serialize) -> Json {
    Json::Text(model_name(value))
}

fn key(key: &PrKey) -> Json {
    match key {
        PrKey::Number(n) => Json::Number(*n),
        PrKey::Record(uri) => Json::text(uri),
    }
}

fn ready(ready: Option<bool>) -> Json {
    ready.map_or(Json::Null, Json::Bool)
}

fn pr(p: &PullRequest) -> Json {
    Json::Object(vec![
        ("number", key(&p.id.key)),
        ("title", Json::text(&p.title)),
        ("description", Json::text(&p.description)),
        ("author", Json::text(&p.author.login)),
        ("state", name_of(p.state)),
        ("draft", Json::Bool(p.draft)),
        ("baseBranch", Json::text(&p.base_branch)),
        ("headBranch", Json::text(&p.head_branch)),
        ("createdAt", time(Some(p.created_at))),
        ("updatedAt", time(Some(p.updated_at))),
        ("mergedAt", time(p.merged_at)),
        ("url", Json::text(&p.url)),
        ("labels", Json::list(&p.labels, |l| Json::text(&l.name))),
        ("approvals", Json::Number(p.approvals)),
        ("changesRequested", Json::Number(p.changes_requested)),
        (
            "pendingReviewers",
            Json::list(&p.pending_reviewers, |r: &Reviewer| Json::text(r.handle())),
        ),
        ("additions", number(p.additions)),
        ("deletions", number(p.deletions)),
        ("changedFiles", number(p.changed_files)),
    ])
}

/// Returns the comments of the pull request, followed by the comments of its threads with their
/// thread ids.
fn comments(c: &PullContext) -> Json {
    let Some(own) = &c.comments else {
        return Json::Null;
    };
    let mut all: Vec<Json> = own.iter().map(|one| comment(one, None)).collect();
    for thread in c.threads.iter().flatten() {
        let of_thread = thread.comments.iter();
        all.extend(of_thread.map(|one| comment(one, Some(thread))));
    }
    Json::Array(all)
}

fn comment(c: &Comment, thread: Option<&Thread>) -> Json {
    let path = thread.map(|t| &t.path).or(c.file_path.as_ref());
    let line = thread.and_then(|t| t.line).or(c.line_number);
    Json::Object(vec![
        ("id", Json::text(&c.id)),
        ("author", Json::text(&c.author.login)),
        ("body", Json::text(&c.body)),
        ("createdAt", time(Some(c.created_at))),
        ("updatedAt", time(c.updated_at)),
        ("replyTo", text(c.reply_to.as_ref())),
        ("threadId", text(thread.map(|t| &t.id))),
        ("reactionGroups", reactions(&c.reactions)),
        ("filePath", text(path)),
        ("lineNumber", number(line)),
        ("diffHunk", text(c.diff_hunk.as_ref())),
    ])
}

fn thread(t: &Thread) -> Json {
    Json::Object(vec![
        ("id", Json::text(&t.id)),
        ("path", Json::text(&t.path)),
        ("line", number(t.line)),
        ("startLine", number(t.start_line)),
        ("side", Json::text(side(t.side))),
        ("isResolved", Json::Bool(t.resolved)),
        ("isOutdated", Json::Bool(t.outdated)),
        ("comments", Json::list(&t.comments, |c| Json::text(&c.id))),
    ])
}

fn reviews(c: &PullContext) -> Json {
    let Some(all) = &c.reviews else {
        return Json::Null;
    };
    let mut threads: HashMap<&str, &Thread> = HashMap::new();
    for thread in c.threads.iter().flatten() {
        threads.extend(thread.comments.iter().map(|one| (one.id.as_str(), thread)));
    }
    let comment = |one: &Comment| comment(one, threads.get(one.id.as_str()).copied());
    let review = |r: &Review| {
        let is_latest = c.pull.latest_reviews.iter().any(|latest| latest.id == r.id);
        Json::Object(vec![
            ("id", Json::text(&r.id)),
            ("author", Json::text(&r.author.login)),
            ("state", name_of(r.state)),
            (
                "isLatestOpinion",
                Json::Bool(is_latest && r.state.is_opinion()),
            ),
            ("body", text(r.body.as_ref())),
            ("submittedAt", time(Some(r.submitted_at))),
            ("comments", Json::list(&r.comments, comment)),
        ])
    };
    Json::list(all, review)
}

fn ci_status(report: &ChecksReport) -> Json {
    Json::Object(vec![
        ("overall", name_of(report.overall)),
        ("commit", Json::text(&report.commit)),
        ("truncated", Json::Bool(report.truncated)),
        ("checks", Json::list(&report.checks, check)),
    ])
}

fn check(c: &Check) -> Json {
    // The JSON format (requirement R-002-7) has no status for a cancelled check. A cancelled check
    // therefore has the status of a failed one; the field `conclusion` distinguishes them.
    let status = match c.status {
        CheckStatus::Cancelled => CheckStatus::Failure,
        other => other,
    };
    Json::Object(vec![
        ("name", Json::text(&c.name)),
        ("status", name_of(status)),
        ("conclusion", text(c.conclusion.as_ref())),
        ("workflow", text(c.workflow.as_ref())),
        ("required", c.required.map_or(Json::Null, Json::Bool)),
        ("url", text(c.url.as_ref())),
        ("startedAt", time(c.started_at)),
        ("completedAt", time(c.completed_at)),
        ("summary", text(c.summary.as_ref())),
    ])
}

fn log(tail: &LogTail) -> Json {
    Json::Object(vec![
        ("check", Json::text(&tail.check)),
        ("text", Json::text(&tail.text)),
        ("cut", Json::Bool(tail.cut)),
    ])
}

fn link_state(state: Option<LinkState>) -> Json {
    state.map_or_else(|| Json::text("unknown"), name_of)
}

fn linked(item: &LinkedItem, forge: &str) -> Json {
    let source = match item.target {
        LinkTarget::Ticket(_) => "jira",
        LinkTarget::Forge(..) => forge,
    };
    Json::Object(vec![
        ("source", Json::text(source)),
        ("key", Json::text(&item.key)),
        ("type", item.kind.map_or(Json::Null, name_of)),
        ("title", text(item.title.as_ref())),
        ("status", link_state(item.state)),
        ("statusName", text(item.status.as_ref())),
        ("resolved", Json::Bool(item.title.is_some())),
        ("url", text(item.url.as_ref())),
        ("relationship", Json::text(item.relationship.name())),
        (
            "foundIn",
            Json::list(&item.found_in, |at| Json::text(at.name())),
        ),
        ("labels", texts(&item.labels)),
        ("body", text(item.body.as_ref())),
        ("comments", Json::list(&item.comments, |c| comment(c, None))),
    ])
}

fn related(r: &RelatedPull) -> Json {
    let overlap = match r.overlap_files.is_empty() {
        true => Json::Null,
        false => texts(&r.overlap_files),
    };
    Json::Object(vec![
        ("number", key(&r.key)),
        ("title", text(r.title.as_ref())),
        ("author", text(r.author.as_ref())),
        ("state", link_state(r.state)),
        ("relationship", Json::text(r.relationship.name())),
        ("overlapFiles", overlap),
        ("url", text(r.url.as_ref())),
    ])
}

fn file(f: &FileChange) -> Json {
    Json::Object(vec![
        ("path", Json::text(&f.path)),
        ("previousPath", text(f.previous_path.as_ref())),
        ("status", name_of(f.status)),
        ("additions", number(f.additions)),
        ("deletions", number(f.deletions)),
    ])
}

fn recovery(hint: Option<&Hint>) -> Json {
    Json::maybe(hint, |hint| Json::text(hint.text()))
}

fn diff(d: &PackedDiff) -> Json {
    let stats = Json::Object(vec![
        ("files", count(d.files_total)),
        ("additions", Json::Number(d.additions)),
        ("deletions", Json::Number(d.deletions)),
    ]);
    Json::Object(vec![
        ("baseSha", text(d.base_sha.as_ref())),
        ("headSha", text(d.head_sha.as_ref())),
        ("contextLines", number(d.context_lines.map(u64::from))),
        ("stats", stats),
        ("maxBytes", count(d.max_bytes)),
        ("truncated", Json::Bool(d.truncated)),
        ("recovery", recovery(d.recovery.as_ref())),
        ("files", Json::list(&d.files, packed_file)),
    ])
}

fn since(s: &SinceChanges) -> Json {
    let commit = |commit: &ChangedCommit| {
        Json::Object(vec![
            ("change", Json::text(commit.change())),
            ("oldSha", text(commit.old.as_ref())),
            ("sha", text(commit.new.as_ref())),
            ("headline", Json::text(&commit.headline)),
        ])
    };
    Json::Object(vec![
        ("review", text(s.review.as_ref())),
        ("round", s.round.map_or(Json::Null, count)),
        ("fromSha", text(s.from_sha.as_ref())),
        ("headChange", name_of(s.head_change)),
        ("commits", Json::list(&s.commits, commit)),
        ("diff", diff(&s.diff)),
    ])
}

fn source(s: &PackedSource) -> Json {
    let excerpt = |excerpt: &SourceExcerpt| {
        Json::Object(vec![
            ("line", count(excerpt.line)),
            ("text", Json::text(&excerpt.text)),
        ])
    };
    let file = |f: &SourceFile| {
        Json::Object(vec![
            ("path", Json::text(&f.path)),
            ("status", name_of(f.status)),
            ("class", Json::text(f.class.name())),
            ("linesTotal", f.lines_total.map_or(Json::Null, count)),
            ("excerpts", Json::list(&f.excerpts, excerpt)),
            ("omitted", Json::list(&f.omitted, omission)),
        ])
    };
    Json::Object(vec![
        ("headSha", Json::text(&s.head_sha)),
        ("maxBytes", count(s.max_bytes)),
        ("truncated", Json::Bool(s.truncated)),
        ("files", Json::list(&s.files, file)),
    ])
}

fn omission(omission: &Omission) -> Json {
    Json::Object(vec![
        ("reason", Json::text(omission.reason.name())),
        ("hunks", count(omission.hunks)),
        ("lines", count(omission.lines)),
        ("recovery", recovery(omission.reason.recovery().as_ref())),
    ])
}

fn packed_file(f: &PackedFile) -> Json {
    let hunks = Json::list(&f.hunks, |hunk| {
        Json::Object(vec![
            ("text", Json::text(&hunk.text)),
            ("linesCut", count(hunk.lines_cut)),
        ])
    });
    Json::Object(vec![
        ("path", Json::text(&f.path)),
        ("previousPath", text(f.previous_path.as_ref())),
        ("status", name_of(f.status)),
        ("class", Json::text(f.class.name())),
        ("additions", number(f.additions)),
        ("deletions", number(f.deletions)),
        ("hunksTotal", count(f.hunks_total)),
        ("hunks", hunks),
        ("omitted", Json::list(&f.omitted, omission)),
    ])
}

fn event(e: &StatusEvent) -> Json {
    Json::Object(vec![
        ("kind", name_of(e.kind)),
        ("actor", Json::text(&e.actor.login)),
        ("createdAt", time(Some(e.created_at))),
        ("detail", text(e.detail.as_ref())),
    ])
}

fn record_ingestion(found: &RecordIngestion) -> Json {
    let of_record = [
        ("uri", Json::text(&found.uri)),
        ("cid", Json::text(&found.cid)),
        ("evidence", Json::text(&found.evidence)),
        ("recovery", recovery(found.recovery.as_ref())),
    ];
    match ingestion(&found.verdict) {
        Json::Object(mut members) => {
            members.extend(of_record);
            Json::Object(members)
        }
        other => other,
    }
}

fn summary(c: &PullContext) -> Json {
    let s = &c.summary;
    let reasons = Json::list(&s.risk.reasons, |reason| {
        Json::Object(vec![
            ("rule", Json::text(reason.rule)),
            ("points", Json::Number(reason.points)),
            ("evidence", Json::text(&reason.evidence)),
        ])
    });
    let risk = Json::Object(vec![
        ("level", Json::text(s.risk.level.name())),
        ("score", Json::Number(s.risk.score)),
        ("reasons", reasons),
    ]);
    Json::Object(vec![
        ("oneLiner", Json::text(&s.one_liner)),
        ("changeType", Json::text(s.change_type.name())),
        ("riskLevel", Json::text(s.risk.level.name())),
        ("risk", risk),
        ("blockers", texts(&c.readiness.blockers)),
        ("readyToMerge", ready(c.readiness.ready_to_merge)),
        ("keyChanges", texts(&s.key_changes)),
        (
            "outstandingThreads",
            s.outstanding_threads.map_or(Json::Null, count),
        ),
    ])
}

fn verdict(r: &Readiness) -> Json {
    Json::Object(vec![
        ("readyToMerge", ready(r.ready_to_merge)),
        ("requirements", Json::list(&r.requirements, requirement)),
        ("headSha", text(r.head_sha.as_ref())),
        ("baseSha", text(r.base_sha.as_ref())),
        ("checkedAt", time(Some(r.checked_at))),
    ])
}

fn requirement(r: &Requirement) -> Json {
    let clearer = |c: &Clearer| {
        Json::Object(vec![
            ("who", Json::text(c.who.name())),
            ("names", texts(&c.names)),
        ])
    };
    Json::Object(vec![
        ("rule", Json::text(r.rule.name())),
        ("status", Json::text(r.status.name())),
        ("source", Json::text(r.source.name())),
        ("sourceName", text(r.source_name.as_ref())),
        ("evidence", Json::text(&r.evidence)),
        ("clearedBy", Json::list(&r.cleared_by, clearer)),
        ("blocker", text(r.blocker.as_ref())),
    ])
}

fn error(e: &SectionError) -> Json {
    Json::Object(vec![
        ("section", Json::text(e.section)),
        ("kind", Json::text(e.kind)),
        ("message", Json::text(&e.message)),
        ("recovery", recovery(e.hint.as_ref())),
    ])
}

/// Returns the message and the recovery of a warning, as on a terminal.
fn warning(w: &Warning) -> Json {
    match &w.hint {
        Some(hint) => Json::Text(format!("{}. Recovery: {hint}", w.message)),
        None => Json::text(&w.message),
    }
}
