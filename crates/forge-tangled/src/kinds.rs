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
        path: "pull",
        keys: &["pull"],
        older: Vec::new(),
    }
}

/// States of issues.
pub(crate) fn issue_states(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_issue_states.to_string(),
        collection: names.sh.issue_state.to_string(),
        path: "issue",
        keys: &["issue"],
        older: Vec::new(),
    }
}

/// Comments. Those of 2025 were of two kinds: on pull requests, and on issues.
pub(crate) fn comments(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_comments.to_string(),
        collection: names.sh.comment.to_string(),
        path: "subject.uri",
        keys: &["subject", "uri"],
        older: vec![
            Older {
                collection: names.sh.old_comment.to_string(),
                of: names.sh.pull.to_string(),
                field: "pull",
            },
            Older {
                collection: names.sh.old_issue_comment.to_string(),
                of: names.sh.issue.to_string(),
                field: "issue",
            },
        ],
    }
}

/// Changes of labels.
pub(crate) fn label_ops(names: &Dialects) -> Kind {
    Kind {
        query: names.methods.index.list_label_ops.to_string(),
        collection: names.sh.label_op.to_string(),
        path: "subject",
        keys: &["subject"],
        older: Vec::new(),
    }
}
