//! The kinds of records that are about a pull request or an issue.

use crate::{
    Dialects,
    sources::{Kind, Older},
};

/// Status records.
pub(crate) fn statuses(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_statuses.to_string(),
        collection: names.sh.status.to_string(),
        path: vec![names.sh_fields.status_pull.to_string()],
        older: Vec::new(),
    }
}

/// States of issues.
pub(crate) fn issue_states(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_issue_states.to_string(),
        collection: names.sh.issue_state.to_string(),
        path: vec![names.sh_fields.state_issue.to_string()],
        older: Vec::new(),
    }
}

/// Comments. Those of 2025 were of two kinds: on pull requests, and on issues.
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

/// Changes of labels.
pub(crate) fn label_ops(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_label_ops.to_string(),
        collection: names.sh.label_op.to_string(),
        path: vec![names.sh_fields.op_subject.to_string()],
        older: Vec::new(),
    }
}

/// Where pull requests name their repository, as an index of backlinks writes it: the first held an
/// at-uri once.
pub(crate) fn targets_of_pulls(names: &Dialects) -> Vec<String> {
    let fields = &names.sh_fields;
    [&fields.target_repo, &fields.target_did]
        .iter()
        .map(|of| format!("{}.{of}", fields.target))
        .collect()
}

/// The same of issues.
pub(crate) fn targets_of_issues(names: &Dialects) -> Vec<String> {
    vec![names.sh_fields.issue_repo.to_string()]
}
