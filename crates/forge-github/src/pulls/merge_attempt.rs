//! Request and result of a merge: immediate, auto-merge, merge queue or stack.

use forge_core::{
    Error, ErrorKind, PrId, Result,
    model::{MergeMethod, MergeReq, PrFields, PrState, PullRequest},
};
use serde_json::{Map, Value, json};

use crate::{
    GitHub,
    error::ambiguous,
    gql::{
        mutation::{ENABLE_AUTO_MERGE, ENQUEUE, MERGE_PULL, Mutation},
        selections, types as wire,
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeMode {
    Now,
    /// Auto-merge merges the pull request once the rules are met.
    Auto,
    /// The base branch's merge queue merges the pull request.
    Queue,
}

impl MergeMode {
    pub fn mutation(self) -> Mutation {
        match self {
            Self::Now => MERGE_PULL,
            Self::Auto => ENABLE_AUTO_MERGE,
            Self::Queue => ENQUEUE,
        }
    }
}

pub(super) struct MergeAttempt<'a> {
    pub pr: &'a PrId,
    pub req: &'a MergeReq,
    pub pull: &'a wire::Pull,
    /// The pull request `pull`, mapped to the model of forge-core.
    pub before: &'a PullRequest,
    pub method: MergeMethod,
    pub head: &'a str,
}

impl MergeAttempt<'_> {
    /// Returns whether the base branch's merge queue merges the pull request.
    pub fn uses_queue(&self) -> bool {
        self.pull.is_merge_queue_enabled && !self.req.admin
    }

    pub fn input(&self, way: MergeMode) -> Value {
        let mut input = Map::from_iter([
            ("pullRequestId".to_owned(), json!(self.pull.id)),
            ("expectedHeadOid".to_owned(), json!(self.head)),
        ]);
        if way == MergeMode::Queue {
            return Value::Object(input);
        }
        let method = self.method.as_str().to_uppercase();
        input.insert("mergeMethod".to_owned(), json!(method));
        for (key, value) in [
            ("commitHeadline", &self.req.subject),
            ("commitBody", &self.req.body),
            ("authorEmail", &self.req.author_email),
        ] {
            if let Some(value) = value {
                input.insert(key.to_owned(), json!(value));
            }
        }
        Value::Object(input)
    }
}

pub(super) struct MergeResult {
    pub way: MergeMode,
    pub pull: PullRequest,
    pub position: Option<u64>,
}

impl GitHub {
    /// Fails if an immediate merge was requested but the answer shows an unmerged pull request.
    pub(super) fn check_merged(&self, pr: &PrId, done: MergeResult) -> Result<MergeResult> {
        if done.way != MergeMode::Now || done.pull.state == PrState::Merged {
            return Ok(done);
        }
        let message = format!(
            "{} was asked to merge {pr}, but answered that it is not merged",
            self.info.host
        );
        Err(ambiguous(Error::new(ErrorKind::Protocol, message)))
    }

    /// Reads whether the merge happened, after GitHub's answer to a merge of mode `sent` was lost.
    /// An auto-merge that was enabled before, or that was not requested, is no trace of the merge.
    pub(super) async fn merge_read_back(
        &self,
        ask: &MergeAttempt<'_>,
        sent: MergeMode,
    ) -> Result<Option<MergeResult>> {
        let (now, unread) = self.lookup(ask.pr, selections::AFTER_MERGE).await?;
        let queued = now.is_in_merge_queue;
        let pull = self.domain(&ask.pr.repo, now, PrFields::NONE, unread)?;
        let waits = pull.auto_merge.is_some() && pull.auto_merge != ask.before.auto_merge;
        let way = match (pull.state, sent) {
            (PrState::Merged, _) => Some(MergeMode::Now),
            // A queued pull request is not merged again, so the entry is newer than the request.
            // Auto-merge also makes entries, once the rules are met.
            (_, MergeMode::Queue | MergeMode::Auto) if queued => Some(MergeMode::Queue),
            (_, MergeMode::Auto) if waits => Some(MergeMode::Auto),
            _ => None,
        };
        Ok(way.map(|way| MergeResult {
            way,
            pull,
            position: None,
        }))
    }
}
