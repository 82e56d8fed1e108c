//! Sends mutations. Reads the changed object back if GitHub's answer is lost.
//!
//! An answer is lost if GitHub may have run the mutation, but no usable answer arrived.

use std::{collections::BTreeMap, future::Future};

use forge_core::{Error, Result, Retry, Warning};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    GitHub,
    api::{GqlAnswer, TokenChoice},
    error::{GqlError, ambiguous},
    gql::{
        mutation::{Batch, Mutation},
        types as wire,
    },
    pulls::view,
};

/// The payloads of a batch, by alias.
pub(crate) type Payloads<T> = BTreeMap<String, Option<T>>;

/// The payload of a mutation that returns a pull request, under one of three names.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PullPayload {
    pull_request: Option<wire::Pull>,
    labelable: Option<wire::Pull>,
    assignable: Option<wire::Pull>,
    pub merge_queue_entry: Option<QueueEntry>,
    pub comment_edge: Option<CommentEdge>,
    /// The created branch.
    #[serde(rename = "ref")]
    pub branch: Option<wire::Id>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueEntry {
    pub position: Option<u64>,
    pull_request: Option<wire::Pull>,
}

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
    /// Sends a batch. Its mutations fail independently, and the answer contains their errors.
    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        batch: &Batch,
    ) -> Result<GqlAnswer<Payloads<T>>> {
        self.send_as(TokenChoice::Account, batch).await
    }

    /// Like [`Self::send`], but uses the token of `access`.
    pub(crate) async fn send_as<T: DeserializeOwned>(
        &self,
        access: TokenChoice,
        batch: &Batch,
    ) -> Result<GqlAnswer<Payloads<T>>> {
        let (text, variables) = (batch.document(), batch.variables());
        let mut answer: GqlAnswer<Payloads<Value>> =
            self.api.mutate_as(access, &text, &variables).await?;
        self.check_answered(batch, &answer)?;
        let Some(payloads) = answer.data.take() else {
            return Ok(answer.with_data(None));
        };
        let typed = payloads.into_iter().map(|(alias, payload)| {
            let payload = payload.map(serde_json::from_value::<T>).transpose();
            payload.map(|payload| (alias, payload))
        });
        match typed.collect::<serde_json::Result<Payloads<T>>>() {
            Ok(typed) => Ok(answer.with_data(Some(typed))),
            // GitHub nulls a field with an error, even if the schema calls the field non-null. Such
            // an answer does not parse as `T`. The errors in the answer then give the reason.
            Err(_) if !answer.errors.is_empty() => Ok(answer.with_data(None)),
            Err(e) => {
                let what = format!("the answer of {}", self.info.host);
                Err(ambiguous(self.api.error_context(true).misread(&what, &e)))
            }
        }
    }

    pub(crate) async fn send_one<T: DeserializeOwned>(
        &self,
        mutation: Mutation,
        input: Value,
    ) -> Result<T> {
        self.send_one_as(TokenChoice::Account, mutation, input)
            .await
    }

    /// Like [`Self::send_one`], but uses the token of `access`.
    pub(crate) async fn send_one_as<T: DeserializeOwned>(
        &self,
        access: TokenChoice,
        mutation: Mutation,
        input: Value,
    ) -> Result<T> {
        let batch = Batch::of(ONE, mutation, input);
        let mut answer = self.send_as::<Value>(access, &batch).await?;
        if let Some(e) = failed(&answer, ONE) {
            return Err(self.api.error(&answer, e));
        }
        let payload = answer.data.take().and_then(|mut d| d.remove(ONE)?);
        let Some(payload) = payload else {
            if !answer.errors.is_empty() {
                return Err(self.api.first_error(&answer));
            }
            return Err(ambiguous(Error::new(
                forge_core::ErrorKind::Protocol,
                format!("{} sent no answer to {}", self.info.host, mutation.name),
            )));
        };
        // The mutation ran. If an error nulled the object that the mutation returns, the caller
        // must read the object again.
        if let Some(e) = answer.errors.iter().find(|e| nulls_object(e, &payload)) {
            return Err(ambiguous(self.api.error(&answer, e)));
        }
        for e in &answer.errors {
            let said = self.api.error_context(true).sanitize(&e.message);
            tracing::warn!(
                mutation = mutation.name,
                said,
                "a part of the answer is missing"
            );
        }
        serde_json::from_value(payload).map_err(|e| {
            let what = format!("the answer of {} to {}", self.info.host, mutation.name);
            ambiguous(self.api.error_context(true).misread(&what, &e))
        })
    }

    /// Returns the error of the mutation `change`, if that mutation failed. `comment` is the body of
    /// the comment in the same batch. The error says so if the comment was added, because a repeated
    /// call would add the comment again.
    pub(crate) fn refused_change<T>(
        &self,
        answer: &GqlAnswer<Payloads<T>>,
        comment: Option<&str>,
    ) -> Option<Error> {
        let error = self.api.error(answer, failed(answer, "change")?);
        let is_commented = comment.is_some() && failed(answer, "comment").is_none();
        Some(match is_commented {
            true => after_comment(error),
            false => error,
        })
    }

    /// Returns warnings for parts of the pull request that could not be read after the writes.
    pub(crate) fn unread<T>(&self, answer: &GqlAnswer<Payloads<T>>) -> Vec<Warning> {
        let errors = answer.errors.iter().filter(|e| e.names().len() > 1);
        self.api.warnings_of(answer, errors, |e| {
            let names = e.names();
            let of = |name: &&str| matches!(*name, "pullRequest" | "labelable" | "assignable");
            let depth = names.iter().position(of).map_or(1, |at| at + 1);
            (view::title(e, depth), view::model_field(e, depth))
        })
    }
}

/// The alias of a single mutation.
const ONE: &str = "m";

/// Returns whether an error nulled the object that a mutation returns. An edge contains that object
/// as its `node`.
fn nulls_object(error: &GqlError, payload: &Value) -> bool {
    let names = error.names();
    let Some(made) = names.get(1) else {
        return true;
    };
    match payload.get(made) {
        Some(edge) if made.ends_with("Edge") => edge.get("node").is_none_or(Value::is_null),
        made => made.is_none_or(Value::is_null),
    }
}

/// Returns the latest state of the pull request among the payloads of a batch.
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

/// Returns the error of the mutation `alias`, if that mutation failed. It failed if the error's
/// path ends at the mutation, or if the payload is missing. A longer path means that the mutation
/// ran, but a field of its result could not be read.
pub(crate) fn failed<'a, T>(
    answer: &'a GqlAnswer<Payloads<T>>,
    alias: &str,
) -> Option<&'a GqlError> {
    let payload = answer.data.as_ref().and_then(|d| d.get(alias)?.as_ref());
    let mut errors = answer.errors.iter().filter(|e| e.root() == alias);
    errors.find(|e| payload.is_none() || e.names().len() == 1)
}

/// Returns the result of a write. If GitHub's answer to the write was lost, `read_back` checks
/// whether the write happened, and the result has a warning if it did. The write is never sent
/// again.
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
        Ok(Some(value)) => Ok((value, Some(lost_answer_warning(&error)))),
        Ok(None) => Err(error.with_hint("try again: GitHub shows no trace of the write")),
        Err(_) => Err(error),
    }
}

/// Returns the warning for a write that happened although the answer was lost.
pub(crate) fn lost_answer_warning(error: &Error) -> Warning {
    Warning::new(format!(
        "the write succeeded, but its answer was lost: {}",
        lower(error.message())
    ))
}

/// Returns the error of a failed change after its comment was added.
fn after_comment(error: Error) -> Error {
    let message = format!(
        "the comment was added, but the change failed: {}",
        error.message()
    );
    let failed = Error::new(error.kind().clone(), message).with_retry(error.retry());
    let failed = match error.hint() {
        Some(hint) => failed.with_hint(hint),
        None => failed.with_hint("try again without the comment"),
    };
    failed.with_source(error)
}

fn lower(message: &str) -> String {
    let mut letters = message.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}
