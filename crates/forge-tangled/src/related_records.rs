//! Kinds of records that are about a pull request or an issue.

use crate::{
    Dialects,
    sources::{Kind, Older, TargetField},
};

pub(crate) fn statuses(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_statuses.to_string(),
        collection: names.sh.status.to_string(),
        path: vec![names.sh_fields.status_pull.to_string()],
        older: Vec::new(),
    }
}

pub(crate) fn issue_states(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_issue_states.to_string(),
        collection: names.sh.issue_state.to_string(),
        path: vec![names.sh_fields.state_issue.to_string()],
        older: Vec::new(),
    }
}

/// Returns the kind of comments. The protocol of 2025 had two collections for them: comments on
/// pull requests, and comments on issues.
pub(crate) fn comments(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_comments.to_string(),
        collection: names.sh.comment.to_string(),
        path: vec![names.sh_fields.subject.to_string(), "uri".to_owned()],
        older: vec![
            Older {
                collection: names.sh.old_comment.to_string(),
                of: names.sh.pull.to_string(),
                field: names.sh_fields.old_pull.to_string(),
            },
            Older {
                collection: names.sh.old_issue_comment.to_string(),
                of: names.sh.issue.to_string(),
                field: names.sh_fields.old_issue.to_string(),
            },
        ],
    }
}

pub(crate) fn label_ops(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_label_ops.to_string(),
        collection: names.sh.label_op.to_string(),
        path: vec![names.sh_fields.op_subject.to_string()],
        older: Vec::new(),
    }
}

/// Returns the repository that a record names. `repo` is its DID or the at-uri of its record, and
/// `did` the DID that stands beside an at-uri. The DID decides, because a repository can get
/// another record, and the at-uri is then stale. Text that is no DID counts as missing.
pub(crate) fn named_repository<'a>(repo: Option<&'a str>, did: Option<&'a str>) -> Option<&'a str> {
    let is_did = |name: &&str| name.starts_with("did:");
    repo.filter(is_did).or(did.filter(is_did)).or(repo)
}

/// Fields in which pull requests name their repository. Until 2026, `repo` was the at-uri of the
/// repository's record. Since then, `repo` is the repository's DID. The oldest records have
/// `targetRepo` instead of the object `target`.
pub(crate) fn targets_of_pulls(names: &Dialects) -> Vec<TargetField> {
    let fields = &names.sh_fields;
    let in_target = |field: &str| format!("{}.{field}", fields.target);
    vec![
        TargetField {
            path: in_target(&fields.target_repo),
            held_uri: true,
            held_did: true,
        },
        TargetField {
            path: in_target(&fields.target_did),
            held_uri: false,
            held_did: true,
        },
        TargetField {
            path: fields.flat_repo.to_string(),
            held_uri: true,
            held_did: false,
        },
    ]
}

/// Fields in which issues name their repository.
pub(crate) fn targets_of_issues(names: &Dialects) -> Vec<TargetField> {
    vec![
        TargetField {
            path: names.sh_fields.issue_repo.to_string(),
            held_uri: true,
            held_did: true,
        },
        TargetField {
            path: names.sh_fields.target_did.to_string(),
            held_uri: false,
            held_did: true,
        },
    ]
}
