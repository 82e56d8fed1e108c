//! Compares GitHub's answer to a mutation with the requested values. A host may report success
//! although the object in its answer has other values.

use std::fmt;

use forge_core::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::{
    GitHub,
    api::GqlAnswer,
    error::ambiguous,
    gql::mutation::{
        ADD_REVIEW, ADD_REVIEW_THREADS, ADD_THREAD, Batch, LOCK, Mutation, SUBMIT_REVIEW, UNLOCK,
    },
    mutate::Payloads,
};

/// Fields that have the same name in a mutation's input and in GitHub's answer.
const TEXTS: &[&str] = &[
    "title",
    "body",
    "name",
    "baseRefName",
    "headRefName",
    "stateReason",
];

impl GitHub {
    /// Fails if the answer contradicts the request, or if an error in the answer belongs to no
    /// mutation of the batch. The returned error is marked as ambiguous, because GitHub may have
    /// run the mutation. The batch is therefore not sent again.
    pub(crate) fn check_answered(
        &self,
        batch: &Batch,
        answer: &GqlAnswer<Payloads<Value>>,
    ) -> Result<()> {
        let Some(payloads) = &answer.data else {
            return Ok(());
        };
        let is_part = |root: &str| batch.aliases().any(|alias| alias == root);
        if let Some(stray) = answer.errors.iter().find(|e| !is_part(e.root())) {
            return Err(ambiguous(self.api.error(answer, stray)));
        }
        for (alias, mutation, input) in batch.parts() {
            let has_failed = answer.errors.iter().any(|e| e.root() == alias);
            let payload = payloads.get(alias).and_then(Option::as_ref);
            let said = match created_object(mutation, payload) {
                Some(made) => find_difference(mutation, input, made)
                    .or_else(|| self.foreign_url(mutation, made).map(|url| ("address", url)))
                    .map(|(field, shown)| self.mismatch_message(mutation, field, shown)),
                None if has_failed || mutation == ADD_THREAD => None,
                None => Some(format!(
                    "{} sent no answer to {}",
                    self.info.host, mutation.name
                )),
            };
            if let Some(said) = said {
                return Err(ambiguous(Error::new(ErrorKind::Protocol, said)));
            }
        }
        Ok(())
    }

    /// Checks that the number in GitHub's answer, `told`, is the requested `number`.
    ///
    /// `asked` names the object in the error message. `told` is 0 if the query did not select the
    /// number, so 0 passes.
    pub(crate) fn check_number(
        &self,
        asked: &dyn fmt::Display,
        number: u64,
        told: u64,
    ) -> Result<()> {
        if told == 0 || told == number {
            return Ok(());
        }
        let host = &self.info.host;
        let message = format!("{host} answered with #{told}, but {asked} was requested");
        Err(Error::new(ErrorKind::Protocol, message)
            .with_hint("do not use this answer: the host is broken, or lies"))
    }

    /// Returns the URL of a created object if the URL is on a foreign host. Foreign is every host
    /// other than this GitHub host and the host of its API.
    fn foreign_url<'a>(&self, mutation: Mutation, made: &'a Value) -> Option<&'a str> {
        let url = made.get("url").and_then(Value::as_str)?;
        let api = authority(&self.api.endpoint.graphql);
        let api = api.strip_prefix("api.").unwrap_or(api);
        let is_at = |host: &str| authority(url).eq_ignore_ascii_case(host);
        let is_new = mutation.name.starts_with("create") && !url.is_empty();
        (is_new && !is_at(&self.info.host) && !is_at(api)).then_some(url)
    }

    fn mismatch_message(&self, mutation: Mutation, field: &str, shown: &str) -> String {
        let shown = self.api.error_context(true).sanitize(shown);
        let shown: String = shown.chars().take(100).collect();
        let host = &self.info.host;
        let name = mutation.name;
        format!("{host} answered {name} with another {field} than the requested one: '{shown}'")
    }
}

/// Returns the created or changed object in a payload.
fn created_object(mutation: Mutation, payload: Option<&Value>) -> Option<&Value> {
    let member = payload_field(mutation);
    let payload = payload.filter(|payload| !payload.is_null())?;
    // The payload of a deletion contains no object.
    if member == "clientMutationId" {
        return Some(payload);
    }
    let made = payload.get(member)?;
    let made = match member.ends_with("Edge") {
        true => made.get("node")?,
        false => made,
    };
    (!made.is_null()).then_some(made)
}

/// Returns the first field of the payload's selection.
fn payload_field(mutation: Mutation) -> &'static str {
    mutation.selection.split(' ').next().unwrap_or_default()
}

/// Returns the first field whose value differs between input and answer, with its value in the
/// answer.
fn find_difference<'a>(
    mutation: Mutation,
    input: &Value,
    made: &'a Value,
) -> Option<(&'static str, &'a str)> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let shown = |key: &str| made.get(key).and_then(Value::as_str);
    let member = payload_field(mutation);
    if matches!(
        member,
        "pullRequest" | "issue" | "labelable" | "assignable" | "subIssue"
    ) && let (Some(asked), Some(told)) = (text(input, &format!("{member}Id")), shown("id"))
        && !told.is_empty()
        && asked != told
    {
        return Some(("id", told));
    }
    let is_locked = made.get("locked").and_then(Value::as_bool);
    if mutation == LOCK && is_locked != Some(true) {
        return Some(("state", "not locked"));
    }
    if mutation == UNLOCK && is_locked != Some(false) {
        return Some(("state", "locked"));
    }
    if [ADD_REVIEW, ADD_REVIEW_THREADS, SUBMIT_REVIEW].contains(&mutation) {
        let asked = match text(input, "event").as_deref() {
            Some("APPROVE") => "APPROVED",
            Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
            Some("COMMENT") => "COMMENTED",
            // Without `event`, GitHub does not submit the review.
            None => "PENDING",
            _ => return None,
        };
        let told = shown("state").unwrap_or("no state");
        return (told != asked).then_some(("state", told));
    }
    let is_new = mutation.name.starts_with("create");
    TEXTS.iter().copied().find_map(|field| {
        let (asked, told) = (text(input, field)?, shown(field)?);
        let asked = match field {
            "headRefName" => asked.rsplit(':').next().unwrap_or_default(),
            _ => asked.as_str(),
        };
        // GitHub reports a duplicate as NOT_PLANNED by default, so these two values count as equal.
        let is_duplicate = field == "stateReason" && (asked, told) == ("DUPLICATE", "NOT_PLANNED");
        let is_same =
            is_duplicate || (is_new && asked.is_empty()) || equals_ignoring_blanks(asked, told);
        (!is_same).then_some((field, told))
    })
}

/// Returns the host and port of an HTTP(S) URL, and an empty text for any other URL.
fn authority(url: &str) -> &str {
    let rest = match url.split_once("://") {
        Some(("http" | "https", rest)) => rest,
        _ => "",
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

/// Compares two texts, but ignores whitespace and control characters. A host may remove these
/// characters.
fn equals_ignoring_blanks(asked: &str, told: &str) -> bool {
    let words = |c: &char| !c.is_whitespace() && !c.is_control();
    asked.chars().filter(words).eq(told.chars().filter(words))
}
