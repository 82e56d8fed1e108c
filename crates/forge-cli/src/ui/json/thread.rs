use forge_core::model::{Check, CheckStatus, Side, Thread};

use super::{
    Json, JsonField,
    pull::{comment, login, number, time},
};

/// The fields of a review thread, with GitHub's names.
pub const THREAD_FIELDS: &[JsonField<Thread>] = &[
    JsonField {
        name: "comments",
        needs: (),
        get: |t| Json::list(&t.comments, comment),
    },
    JsonField {
        name: "id",
        needs: (),
        get: |t| Json::text(&t.id),
    },
    JsonField {
        name: "isOutdated",
        needs: (),
        get: |t| Json::Bool(t.outdated),
    },
    JsonField {
        name: "isPending",
        needs: (),
        get: |t| Json::Bool(t.pending),
    },
    JsonField {
        name: "isResolved",
        needs: (),
        get: |t| Json::Bool(t.resolved),
    },
    JsonField {
        name: "line",
        needs: (),
        get: |t| number(t.line),
    },
    JsonField {
        name: "path",
        needs: (),
        get: |t| Json::text(&t.path),
    },
    JsonField {
        name: "resolvedBy",
        needs: (),
        get: |t| Json::maybe(t.resolved_by.as_ref(), login),
    },
    JsonField {
        name: "side",
        needs: (),
        get: |t| Json::text(side(t.side)),
    },
    JsonField {
        name: "startLine",
        needs: (),
        get: |t| number(t.start_line),
    },
];

/// Returns the object of a thread with all fields, as part of a pull request.
pub(super) fn thread(thread: &Thread) -> Json {
    let fields = THREAD_FIELDS.iter();
    Json::Object(fields.map(|f| (f.name, (f.get)(thread))).collect())
}

/// The 9 fields of gh's `pr checks`.
pub const CHECK_FIELDS: &[JsonField<Check>] = &[
    JsonField {
        name: "bucket",
        needs: (),
        get: |c| Json::text(bucket(c.status)),
    },
    JsonField {
        name: "completedAt",
        needs: (),
        get: |c| time(c.completed_at),
    },
    JsonField {
        name: "description",
        needs: (),
        get: |c| text(c.summary.as_ref()),
    },
    JsonField {
        name: "event",
        needs: (),
        get: |c| text(c.event.as_ref()),
    },
    JsonField {
        name: "link",
        needs: (),
        get: |c| text(c.url.as_ref()),
    },
    JsonField {
        name: "name",
        needs: (),
        get: |c| Json::text(&c.name),
    },
    JsonField {
        name: "startedAt",
        needs: (),
        get: |c| time(c.started_at),
    },
    JsonField {
        name: "state",
        needs: (),
        get: |c| {
            let word = c.conclusion.as_ref().or(c.progress.as_ref());
            Json::text(word.map_or("PENDING", String::as_str))
        },
    },
    JsonField {
        name: "workflow",
        needs: (),
        get: |c| text(c.workflow.as_ref()),
    },
];

fn text(value: Option<&String>) -> Json {
    Json::text(value.map_or("", String::as_str))
}

/// Returns GitHub's name of a side.
pub(super) fn side(side: Side) -> &'static str {
    match side {
        Side::Left => "LEFT",
        Side::Right => "RIGHT",
    }
}

/// Returns gh's name for the state of a check.
pub(crate) fn bucket(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Success => "pass",
        CheckStatus::Failure => "fail",
        CheckStatus::Pending => "pending",
        CheckStatus::Skipped => "skipping",
        CheckStatus::Cancelled => "cancel",
    }
}
