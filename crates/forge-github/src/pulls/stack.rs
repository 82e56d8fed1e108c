//! Merges part of a stack: a chain of pull requests, each based on the one below. GitHub's
//! mutations refuse such merges, so a REST route is used. The route answers immediately; GitHub
//! then merges the pull request and all pull requests below it.
//!
//! Route and answers: docs.github.com/en/rest/pulls/pulls, "Merge a pull request asynchronously".
//! The `details` of each state: github.github.io/gh-stack/reference/merge-api.

use std::time::Duration;

use bytes::Bytes;
use forge_core::{
    Action, Arg, Error, Hint, Param, Precondition, Result, Retry, Warning, model::PrFields,
};
use http::Method;
use serde::Deserialize;
use serde_json::{Map, json};

use super::merge_attempt::{MergeAttempt, MergeMode, MergeResult};
use crate::{GitHub, api::JSON, error, mutate::lost_answer_warning, number, owner_and_name};

/// The version of the REST API that has the stack routes.
pub(super) const VERSION: &str = "2026-03-10";
/// The pauses between polls in seconds, a minute in total.
const PAUSES: [u64; 10] = [1, 1, 2, 3, 5, 8, 10, 10, 10, 10];
/// Recovery for a merge that may still be running: GitHub answers a repeated request with the
/// running merge or its result.
static ASK_AGAIN: Hint = Hint::fixed(
    "merge the pull request again: the call waits for the running merge, and starts no second one",
    Action::again(&[]),
);

#[derive(Default, Deserialize)]
#[serde(default)]
struct StackMergeProgress {
    status: String,
    details: StackMergeDetails,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StackMergeDetails {
    /// The id for polling a pending merge.
    uuid: String,
    message: String,
}

impl StackMergeProgress {
    /// Returns whether the answer describes a merge. Error answers have a numeric `status` instead.
    fn is_of_a_merge(&self) -> bool {
        matches!(
            self.status.as_str(),
            "pending" | "merged" | "enqueued" | "failed"
        )
    }
}

impl GitHub {
    /// Merges the pull request and all below it, and waits up to a minute. Returns a warning if the
    /// merge has not finished, or if an answer of GitHub was lost.
    pub(super) async fn merge_stacked(
        &self,
        ask: &MergeAttempt<'_>,
    ) -> Result<(MergeResult, Option<Warning>)> {
        let error = match self.ask_for_stack(ask).await {
            Err(error) if error.retry() == Retry::Ambiguous => error,
            done => return done,
        };
        let sent = match ask.uses_queue() {
            true => MergeMode::Queue,
            false => MergeMode::Now,
        };
        match self.merge_read_back(ask, sent).await {
            Ok(Some(done)) => Ok((done, Some(lost_answer_warning(&error)))),
            // GitHub answers before it merges. A pull request that is still open therefore does not
            // prove that the merge failed.
            Ok(None) | Err(_) => Err(error.with_hint(&ASK_AGAIN)),
        }
    }

    async fn ask_for_stack(
        &self,
        ask: &MergeAttempt<'_>,
    ) -> Result<(MergeResult, Option<Warning>)> {
        if ask.req.author_email.is_some() {
            return Err(Error::invalid(
                "author_email",
                format!(
                    "{} is part of a stack, and {} takes no author e-mail for the merge of a stack",
                    ask.pr, self.info.host
                ),
            )
            .with_hint(
                Hint::new("merge it without naming the author's e-mail address")
                    .with_action(Action::again(&[(Param::AuthorEmail, Arg::Omit)])),
            ));
        }
        let (owner, name) = owner_and_name(&ask.pr.repo)?;
        let number = number(ask.pr)?;
        let path = format!("/repos/{owner}/{name}/pulls/{number}/merge-async");
        // By default, the base branch's merge queue merges the stack and chooses the method.
        let past_rules = ask.req.admin;
        let action = if past_rules {
            "direct_merge"
        } else {
            "default"
        };
        let mut body = Map::from_iter([
            ("merge_action".to_owned(), json!(action)),
            ("sha".to_owned(), json!(ask.head)),
        ]);
        if past_rules {
            body.insert("bypass_rules".to_owned(), json!(true));
        }
        if !ask.uses_queue() {
            body.insert("merge_method".to_owned(), json!(ask.method.as_str()));
        }
        for (key, value) in [
            ("commit_title", &ask.req.subject),
            ("commit_message", &ask.req.body),
        ] {
            if let Some(value) = value {
                body.insert(key.to_owned(), json!(value));
            }
        }
        let (status, headers, bytes) = self
            .api
            .rest_versioned(VERSION, Method::PUT, &path, JSON, Some(&body.into()))
            .await?;
        // An answer with an error status can also describe a merge. Status 409 has the id of a
        // running merge. Status 400 describes a failed merge of a draft or closed pull request.
        let told = serde_json::from_slice::<StackMergeProgress>(&bytes);
        if !status.is_success() && !told.is_ok_and(|it| it.is_of_a_merge()) {
            return Err(error::from_http(
                self.api.error_context(true),
                status,
                &headers,
                &bytes,
            ));
        }
        let mut progress = self.progress(&bytes)?;
        let key = std::mem::take(&mut progress.details.uuid);
        for pause in PAUSES {
            if progress.status != "pending" {
                break;
            }
            let pause = Duration::from_secs(pause);
            self.api.http.settings().retry.wait(pause).await;
            let path = format!("{path}/{key}");
            let answer = self
                .api
                .rest_versioned(VERSION, Method::GET, &path, JSON, None)
                .await;
            let (status, headers, bytes) = answer.map_err(|e| e.with_retry(Retry::Ambiguous))?;
            if !status.is_success() {
                let error =
                    error::from_http(self.api.error_context(false), status, &headers, &bytes);
                return Err(error.with_retry(Retry::Ambiguous));
            }
            progress = self.progress(&bytes)?;
        }
        let (way, warning) = match progress.status.as_str() {
            "merged" => (MergeMode::Now, None),
            "enqueued" => (MergeMode::Queue, None),
            "pending" => {
                let message = format!(
                    "{} is still merging {} and the pull requests below it",
                    self.info.host, ask.pr
                );
                (
                    MergeMode::Now,
                    Some(Warning::new(message).with_hint(&ASK_AGAIN)),
                )
            }
            _ => {
                let why = self
                    .api
                    .error_context(true)
                    .sanitize(&progress.details.message);
                return Err(Error::precondition(
                    Precondition::Rule,
                    format!("the stack of {} could not be merged: {why}", ask.pr),
                )
                .with_hint("look at the pull requests below it in the stack"));
            }
        };
        let pull = self.fetch(ask.pr, PrFields::NONE).await;
        let done = MergeResult {
            way,
            pull: pull.map_err(|e| e.with_retry(Retry::Ambiguous))?,
            position: None,
        };
        match warning {
            None => Ok((self.check_merged(ask.pr, done)?, None)),
            under_way => Ok((done, under_way)),
        }
    }

    fn progress(&self, bytes: &Bytes) -> Result<StackMergeProgress> {
        serde_json::from_slice(bytes).map_err(|e| {
            let what = format!("the answer of {} about the merge", self.info.host);
            let error = self.api.error_context(true).misread(&what, &e);
            error.with_retry(Retry::Ambiguous)
        })
    }
}
