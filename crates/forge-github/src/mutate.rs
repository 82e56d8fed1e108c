//! Sends mutations, and finds out what happened when the answer is lost.

use std::{collections::BTreeMap, future::Future};

use forge_core::{Error, Result, Retry, Warning};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    GitHub,
    api::Answer,
    error::GqlError,
    gql::{
        mutation::{Batch, Mutation},
        types as wire,
    },
};

/// The payloads of a batch, by alias.
pub(crate) type Payloads<T> = BTreeMap<String, Option<T>>;

/// The payload of a mutation that changes a pull request: it is under one of three names.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PullPayload {
    pull_request: Option<wire::Pull>,
    labelable: Option<wire::Pull>,
    assignable: Option<wire::Pull>,
    pub merge_queue_entry: Option<QueueEntry>,
    pub comment_edge: Option<CommentEdge>,
    /// A branch that was made.
    #[serde(rename = "ref")]
    pub branch: Option<wire::Id>,
}

/// A place in a merge queue.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueEntry {
    pub position: Option<u64>,
    pull_request: Option<wire::Pull>,
}

/// The edge of a comment that was made.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CommentEdge {
    pub node: Option<wire::Comment>,
}

impl PullPayload {
    fn into_pull(self) -> Option<wire::Pull> {
        self.pull_request
            .or(self.labelable)
            .or(self.assignable)
            .or(self.merge_queue_entry.and_then(|e| e.pull_request))
            .filter(|p| p.number > 0)
    }
}

impl GitHub {
    /// Sends a batch. An error of one part is in the answer; the others have happened or not by
    /// themselves.
    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        batch: &Batch,
    ) -> Result<Answer<Payloads<T>>> {
        self.api.mutate(&batch.document(), &batch.variables()).await
    }

    /// Sends one mutation and gives its payload.
    pub(crate) async fn send_one<T: DeserializeOwned>(
        &self,
        mutation: Mutation,
        input: serde_json::Value,
    ) -> Result<T> {
        let answer = self.send::<T>(&Batch::of("m", mutation, input)).await?;
        let mut payloads = self.api.whole(answer)?;
        payloads.remove("m").flatten().ok_or_else(|| {
            Error::new(
                forge_core::ErrorKind::Protocol,
                format!("{} sent no answer to {}", self.info.host, mutation.name),
            )
            .with_retry(Retry::Ambiguous)
            .with_hint("look whether it happened before trying again: it may have")
        })
    }
}

/// The newest state of the pull request that the payloads of a batch hold.
pub(crate) fn last_pull(
    batch: &Batch,
    payloads: Option<Payloads<PullPayload>>,
) -> Option<wire::Pull> {
    let mut payloads = payloads?;
    let order: Vec<String> = batch.aliases().map(str::to_owned).collect();
    order
        .iter()
        .rev()
        .find_map(|alias| payloads.remove(alias).flatten()?.into_pull())
}

/// The error of a part.
pub(crate) fn failed<'a, T>(answer: &'a Answer<T>, alias: &str) -> Option<&'a GqlError> {
    answer.errors.iter().find(|e| e.root() == alias)
}

/// The outcome of a write whose answer may have been lost: in that case `read_back` looks whether it
/// happened. It is never sent again. The second value is a warning that says what was done.
pub(crate) async fn or_read_back<T, R>(
    written: Result<T>,
    read_back: impl FnOnce() -> R,
) -> Result<(T, Option<Warning>)>
where
    R: Future<Output = Result<Option<T>>>,
{
    let error = match written {
        Ok(value) => return Ok((value, None)),
        Err(error) if error.retry() != Retry::Ambiguous => return Err(error),
        Err(error) => error,
    };
    match read_back().await {
        Ok(Some(value)) => {
            let warning = Warning::new(format!("it happened, although {}", lower(error.message())));
            Ok((value, Some(warning)))
        }
        Ok(None) => Err(error.with_hint("it did not happen, as far as can be seen: try again")),
        Err(_) => Err(error),
    }
}

fn lower(message: &str) -> String {
    let mut letters = message.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}
