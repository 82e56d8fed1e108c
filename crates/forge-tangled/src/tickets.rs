//! Tangled 1.0: pull requests are tickets with a target branch, and their rounds are patches, all in
//! the repository's own account on its knot. Read alone.
//!
//! What is read here was seen on public pages; where that ended, both guesses are taken, and the
//! raw word is kept. See `docs/tangled.md`.

use std::sync::Arc;

use forge_core::{
    AtUri, Error, ErrorKind, Noun, Result, Warning,
    model::{Label, PrState},
};
use serde_json::Value;

use crate::{
    Tangled,
    pulls::record::{Content, Pull, Round},
    records::{self, Listing, Record},
    repository::Repository,
    xrpc::Xrpc,
};

/// The knot's stamp: whose write the last one was.
const EDITOR: &str = "x-tngl-editor";
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
            let word = forge_core::text::one_line(other).into_owned();
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
    let (state, warning) = state(record.text("state").unwrap_or("open"));
    let list = |name: &str| {
        value
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let label = |token: &Value| {
        let key = token.get("key")?.as_str()?;
        Some(Label {
            name: key.rsplit('/').next().unwrap_or(key).to_owned(),
            color: "ededed".to_owned(),
            description: None,
            id: key.to_owned(),
        })
    };
    Inline {
        state: Some(state),
        labels: list("tangledLabels").filter_map(label).collect(),
        assignees: list("assignees")
            .filter_map(|a| a.as_str().map(str::to_owned))
            .collect(),
        warnings: warning.into_iter().collect(),
    }
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
        let oid = patch.value.get(name)?.get("oid")?.as_str()?;
        let hex = matches!(oid.len(), 40..=128) && oid.bytes().all(|b| b.is_ascii_hexdigit());
        hex.then(|| oid.to_owned())
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
        uri,
        record: ticket,
    }))
}

impl Tangled {
    pub(crate) async fn account<'a>(&self, repository: &'a Repository) -> Result<(Xrpc, &'a str)> {
        let did = repository.did.as_deref().unwrap_or_default();
        Ok((self.knot(repository).await?, did))
    }

    async fn ticket_patches(&self, repository: &Repository) -> Result<Listing> {
        let (knot, did) = self.account(repository).await?;
        let collection = &self.settings.dialects.org.patch;
        records::all(&knot, did, collection, MOST).await
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
        found.flatten().ok_or_else(missing)
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
    /// seen.
    pub(crate) async fn ticket_comments(
        &self,
        repository: &Repository,
        ticket: &Record,
    ) -> Result<Vec<Record>> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects.org;
        let (comments, patches) = futures::try_join!(
            records::all(&knot, did, &names.comment, MOST),
            self.ticket_patches(repository),
        )?;
        let mut subjects = vec![ticket.uri.as_str()];
        let own = |p: &&Record| p.text("ticket") == Some(ticket.rkey());
        subjects.extend(patches.records.iter().filter(own).map(|p| p.uri.as_str()));
        let about = |r: &Record| {
            let subject = r.value.get("subject").and_then(|s| s.get("uri"));
            subject
                .and_then(Value::as_str)
                .is_some_and(|uri| subjects.contains(&uri))
        };
        Ok(comments.records.into_iter().filter(about).collect())
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
    fn a_word_that_nobody_has_seen_is_told() {
        assert_eq!(state("open"), (PrState::Open, None));
        let (merged, told) = state("was-merged");
        assert_eq!(merged, PrState::Merged);
        assert!(told.unwrap().message.contains("was-merged"));
        assert_eq!(state("completed").0, PrState::Closed);
    }
}
