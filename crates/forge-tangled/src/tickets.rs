//! Tangled 1.0: pull requests are tickets with a target branch, and their rounds are patches, all in
//! the repository's own account on its knot. Read alone.
//!
//! What is read here was seen on public pages; where that ended, both guesses are taken, and the
//! raw word is kept. See `docs/tangled.md`.

use std::sync::Arc;

use forge_core::{
    AtUri, Error, ErrorKind, Noun, Result, Warning,
    model::{Label, PrState},
    text::{one_line, truncate_chars},
};
use serde_json::Value;

use crate::{
    Tangled,
    pulls::record::{Content, Pull, Round},
    records::{self, Listing, Record},
    remote_refs::is_oid,
    repository::Repository,
    skipped,
    xrpc::Xrpc,
};

/// The knot's stamp: whose write the last one was.
const EDITOR: &str = "x-tngl-editor";
/// The most characters of a word that are told.
const WORD_MAX: usize = 60;
/// More records than a repository is read for.
pub(crate) const MOST: usize = 20_000;

/// Who wrote a record of a repository's account.
pub(crate) fn editor(record: &Record) -> Option<&str> {
    record.text(EDITOR)
}

/// What a ticket says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inline {
    /// Its state, and a warning where the word is not one that was seen.
    pub state: Option<PrState>,
    pub labels: Vec<Label>,
    pub assignees: Vec<String>,
    pub warnings: Vec<Warning>,
}

/// The state by its word: `open` was seen. What has "merge" in it is merged, the rest is closed.
pub(crate) fn state(word: &str) -> (PrState, Option<Warning>) {
    match word {
        "open" => (PrState::Open, None),
        "closed" => (PrState::Closed, None),
        "merged" => (PrState::Merged, None),
        other => {
            let state = if other.contains("merge") {
                PrState::Merged
            } else {
                PrState::Closed
            };
            let (word, _) = truncate_chars(other, WORD_MAX);
            let word = one_line(&word).into_owned();
            (
                state,
                Some(Warning::new(format!(
                    "the state '{word}' is not one that is known; it is taken for {}",
                    if state == PrState::Merged {
                        "merged"
                    } else {
                        "closed"
                    }
                ))),
            )
        }
    }
}

/// What stands in a ticket beside title, body and branch.
pub(crate) fn inline(record: &Record) -> Inline {
    let value = &record.value;
    let mut warnings = Vec::new();
    let mut odd = |what: String| {
        let text = format!("{what} of {} was passed over", record.uri);
        warnings.push(Warning::new(text));
    };
    if value.get("state").is_some_and(|word| !word.is_string()) {
        odd("the state, which is no text,".to_owned());
    }
    if value.get("body").is_some_and(|b| !b.is_null()) && markdown(value, "body").is_none() {
        odd("the description, which has no text,".to_owned());
    }
    let mut list = |name: &str| match value.get(name) {
        None | Some(Value::Null) => Default::default(),
        Some(Value::Array(items)) => items.iter(),
        Some(_) => {
            odd(format!("`{name}`, which is no list,"));
            Default::default()
        }
    };
    let (tokens, dids) = (list("tangledLabels"), list("assignees"));
    let labels: Vec<Label> = tokens.clone().filter_map(label).collect();
    let assignees: Vec<String> = dids
        .clone()
        .filter_map(|a| a.as_str().map(str::to_owned))
        .collect();
    for (all, read, what) in [
        (tokens.len(), labels.len(), "labels without a key"),
        (
            dids.len(),
            assignees.len(),
            "assignees that are no accounts",
        ),
    ] {
        if all > read {
            odd(format!("{} {what}", all - read));
        }
    }
    let (state, told) = state(record.text("state").unwrap_or("open"));
    warnings.extend(told);
    Inline {
        state: Some(state),
        labels,
        assignees,
        warnings,
    }
}

fn label(token: &Value) -> Option<Label> {
    let key = token.get("key")?.as_str()?;
    Some(Label {
        name: key.rsplit('/').next().unwrap_or(key).to_owned(),
        color: "ededed".to_owned(),
        description: None,
        id: key.to_owned(),
    })
}

/// Why a record of the patches of a repository belongs to no pull request.
fn broken_patch(patch: &Record) -> Option<&'static str> {
    patch
        .text("ticket")
        .is_none()
        .then_some("it names no ticket")
}

/// Why a comment of a repository is about nothing.
fn broken_comment(comment: &Record) -> Option<&'static str> {
    subject(comment)
        .is_none()
        .then_some("it does not say what it is about")
}

/// The at-uri of what a comment is about.
pub(crate) fn subject(comment: &Record) -> Option<&str> {
    comment.text_at(&["subject", "uri"])
}

/// A text that is an object of markdown, or a bare string.
pub(crate) fn markdown<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    let field = value.get(name)?;
    field.as_str().or_else(|| field.get("text")?.as_str())
}

/// The pull request of a ticket and its patches; `None` for an issue.
fn pull(ticket: Record, patches: &[Record]) -> Result<Option<Pull>> {
    let Some(base) = ticket.text("targetBranch").map(str::to_owned) else {
        return Ok(None);
    };
    let broken = |what: &str| {
        Error::new(
            ErrorKind::Protocol,
            format!("{} is no pull request: {what}", ticket.uri),
        )
    };
    let uri = AtUri::parse(&ticket.uri).map_err(|_| broken("its address is none"))?;
    let title = markdown(&ticket.value, "title").ok_or_else(|| broken("it has no title"))?;
    let created_at = ticket
        .created_at("createdAt")
        .ok_or_else(|| broken("it has no time"))?;
    let mut own: Vec<_> = patches
        .iter()
        .filter(|p| p.text("ticket") == Some(ticket.rkey()))
        .collect();
    own.sort_by(|a, b| {
        let key = |r: &Record| (r.created_at("createdAt"), r.uri.clone());
        key(a).cmp(&key(b))
    });
    let oid = |patch: &Record, name: &str| {
        let oid = patch.text_at(&[name, "oid"])?;
        is_oid(oid).then(|| oid.to_owned())
    };
    let rounds = own
        .iter()
        .map(|patch| Round {
            created_at: patch.created_at("createdAt"),
            content: match (oid(patch, "base"), oid(patch, "head")) {
                (Some(base), Some(head)) => Content::Commits { base, head },
                _ => Content::Missing,
            },
        })
        .collect();
    let source = |name: &str| {
        let source = own.last()?.value.get("source")?;
        Some(source.get(name)?.as_str()?.to_owned())
    };
    // Who opened it is not in the ticket: its stamp names the last editor. A patch never changes, so
    // the stamp of the first one names who submitted it, which is who opened the ticket.
    let author = own
        .first()
        .and_then(|p| editor(p))
        .or_else(|| editor(&ticket));
    Ok(Some(Pull {
        author: author.unwrap_or(&uri.authority).to_owned(),
        title: title.to_owned(),
        body: markdown(&ticket.value, "body")
            .unwrap_or_default()
            .to_owned(),
        target: uri.authority.clone(),
        base,
        head: source("branch").unwrap_or_default(),
        source: source("repo"),
        source_sha: own.last().and_then(|p| oid(p, "head")),
        depends_on: None,
        created_at,
        rounds,
        warnings: Vec::new(),
        uri,
        record: ticket,
    }))
}

impl Tangled {
    pub(crate) async fn account<'a>(&self, repository: &'a Repository) -> Result<(Xrpc, &'a str)> {
        let did = repository.did.as_deref().unwrap_or_default();
        Ok((self.knot(repository).await?, did))
    }

    /// The rounds of all pull requests, and what could not be read of them.
    pub(crate) async fn ticket_patches(&self, repository: &Repository) -> Result<Listing> {
        let (knot, did) = self.account(repository).await?;
        let collection = &self.settings.dialects.org.patch;
        let mut all = records::all(&knot, did, collection, MOST).await?;
        let told = skipped::told(&all.records, broken_patch);
        all.warnings.extend(told);
        Ok(all)
    }

    /// One pull request, by the key of its ticket.
    pub(crate) async fn ticket(&self, repository: &Repository, uri: &AtUri) -> Result<Pull> {
        let missing = || {
            Error::not_found(Noun::PullRequest, format!("there is no pull request {uri}"))
                .with_hint("`forge pr list` shows those that are there")
        };
        let (knot, did) = self.account(repository).await?;
        let collection = &self.settings.dialects.org.pull;
        if uri.authority != did || uri.collection != *collection {
            return Err(missing());
        }
        let (ticket, patches) = futures::try_join!(
            records::find(&knot, did, collection, &uri.rkey),
            self.ticket_patches(repository),
        )?;
        let found = ticket.map(|t| pull(t, &patches.records)).transpose()?;
        let mut found = found.flatten().ok_or_else(missing)?;
        found.warnings = patches.warnings;
        Ok(found)
    }

    /// All pull requests, newest first, and what could not be read.
    pub(crate) async fn tickets(
        &self,
        repository: &Repository,
    ) -> Result<(Vec<Pull>, Vec<Warning>)> {
        let (knot, did) = self.account(repository).await?;
        let collection = &self.settings.dialects.org.pull;
        let (tickets, patches) = futures::try_join!(
            records::all(&knot, did, collection, MOST),
            self.ticket_patches(repository),
        )?;
        let mut pulls = Vec::new();
        let mut warnings = tickets.warnings;
        warnings.extend(patches.warnings);
        for ticket in tickets.records {
            match pull(ticket, &patches.records) {
                Ok(found) => pulls.extend(found),
                Err(e) => warnings.push(Warning::new(e.message())),
            }
        }
        pulls.sort_by(|a, b| {
            let key = |p: &Pull| (p.created_at, p.record.uri.clone());
            key(b).cmp(&key(a))
        });
        Ok((pulls, warnings))
    }

    /// The comments on a ticket, or on one of its patches: which of the two a comment names was not
    /// seen. Also what could not be read.
    pub(crate) async fn ticket_comments(
        &self,
        repository: &Repository,
        ticket: &Record,
    ) -> Result<(Vec<Record>, Vec<Warning>)> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects.org;
        let (comments, patches) = futures::try_join!(
            records::all(&knot, did, &names.comment, MOST),
            self.ticket_patches(repository),
        )?;
        let mut subjects = vec![ticket.uri.as_str()];
        let own = |p: &&Record| p.text("ticket") == Some(ticket.rkey());
        subjects.extend(patches.records.iter().filter(own).map(|p| p.uri.as_str()));
        let mut warnings = comments.warnings;
        warnings.extend(skipped::told(&comments.records, broken_comment));
        warnings.extend(patches.warnings);
        let mut records = comments.records;
        records.retain(|r| subject(r).is_some_and(|uri| subjects.contains(&uri)));
        Ok((records, warnings))
    }

    /// The commits between two ends as `git format-patch` writes them.
    pub(crate) async fn commits_as_patch(
        &self,
        repository: &Repository,
        base: &str,
        head: &str,
    ) -> Result<Arc<crate::patch::Patch>> {
        let (knot, did) = self.account(repository).await?;
        let params = [("repo", did), ("from", base), ("to", head)];
        let bytes = knot
            .bytes("org.tangled.temp.git.formatPatch", &params)
            .await?;
        Ok(Arc::new(crate::patch::Patch::parse(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(collection: &str, rkey: &str, value: Value) -> Record {
        Record {
            uri: format!("at://did:plc:repo/org.tangled.{collection}/{rkey}"),
            cid: Some("c".into()),
            value,
        }
    }

    #[test]
    fn a_ticket_and_its_patches_are_a_pull_request() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let patch = |rkey: &str, ticket: &str, at: &str, who: &str| {
            let value = json!({
                "ticket": ticket, "base": {"oid": a}, "head": {"oid": b}, "createdAt": at,
                "source": {"repo": "did:plc:repo", "branch": "f"}, "x-tngl-editor": who,
            });
            record("review.patch", rkey, value)
        };
        let patches = [
            patch("p2", "t", "2026-11-02T00:00:00Z", "did:plc:second"),
            patch("p1", "t", "2026-11-01T00:00:00Z", "did:plc:first"),
            patch("p3", "other", "2026-10-01T00:00:00Z", "did:plc:other"),
        ];
        let ticket = json!({
            "title": {"text": "T"}, "body": {"text": "B"}, "state": "open", "targetBranch": "main",
            "tangledLabels": [{"key": "bug"}], "createdAt": "2026-11-01T00:00:00Z",
            "x-tngl-editor": "did:plc:last",
        });
        let ticket = record("track.ticket", "t", ticket);
        let found = pull(ticket.clone(), &patches).unwrap().unwrap();
        assert_eq!((found.title.as_str(), found.body.as_str()), ("T", "B"));
        assert_eq!(
            (found.author(), found.head.as_str()),
            ("did:plc:first", "f")
        );
        assert_eq!(found.rounds.len(), 2);
        let without = pull(ticket.clone(), &[]).unwrap().unwrap();
        assert_eq!(
            (without.author(), without.rounds.len()),
            ("did:plc:last", 0)
        );
        assert_eq!(inline(&ticket).labels[0].name, "bug");
        let mut issue = ticket;
        issue.value["targetBranch"] = Value::Null;
        assert!(pull(issue, &patches).unwrap().is_none());
        let broken = record("track.ticket", "t", json!({"targetBranch": "main"}));
        assert_eq!(pull(broken, &[]).unwrap_err().code(), "protocol");
    }

    #[test]
    fn what_is_no_label_or_assignee_is_told() {
        let value = json!({
            "state": 7, "body": {"text": []}, "assignees": "did:plc:a",
            "tangledLabels": [{"key": "bug"}, {"key": 1}, "docs"],
        });
        let said = inline(&record("track.ticket", "t", value));
        assert_eq!((said.labels.len(), said.state), (1, Some(PrState::Open)));
        let told: Vec<_> = said.warnings.iter().map(|w| w.message.as_str()).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told.iter().all(|t| t.contains("track.ticket/t")));
        assert!(told.iter().any(|t| t.contains("2 labels without a key")));
        let plain = inline(&record("track.ticket", "t", json!({"assignees": null})));
        assert!(plain.warnings.is_empty(), "{:?}", plain.warnings);
    }

    #[test]
    fn a_word_that_nobody_has_seen_is_told() {
        assert_eq!(state("open"), (PrState::Open, None));
        let (merged, told) = state("was-merged");
        assert_eq!(merged, PrState::Merged);
        assert!(told.unwrap().message.contains("was-merged"));
        assert_eq!(state("completed").0, PrState::Closed);
    }
}
