//! Proves why tangled's index drops a record, if that is possible. Applies the rules of the index's
//! ingester (`ingestPull`, `ingestState`, `PullFromRecord`, July 2026) to the record, its blobs,
//! and the push permissions that the knot reports.

use chrono::DateTime;
use forge_core::{AtUri, text::one_line};
use serde_json::Value;

use crate::{
    ShFields, Tangled,
    ingest::Seen,
    patch,
    pulls::{record::Content, status::Writers, view::LocatedPull},
    records::{self, Record},
    xrpc_error,
};

/// Maximum number of rounds whose patches are checked, newest first. Each check costs a request.
const MAX_ROUNDS: usize = 20;

impl Tangled {
    /// Returns why the index drops a record, if the record alone proves it.
    pub(crate) fn fault_on_its_face(&self, record: &Record) -> Option<String> {
        let names = &self.settings.dialects.sh;
        let fields = self.fields();
        let collection = record.uri.split('/').nth(3)?;
        let value = &record.value;
        if collection == names.pull {
            return fault_of_pull(value, fields);
        }
        let field = if [&names.status, &names.issue, &names.issue_state]
            .iter()
            .any(|name| **name == collection)
        {
            &fields.created_at
        } else if collection == names.label_op {
            &fields.op_at
        } else {
            return None;
        };
        bad_time(value, field, field)
    }

    /// As [`Self::fault_on_its_face`], and also checks the record against other services.
    pub(crate) async fn proof(&self, record: &Record) -> Option<String> {
        if let Some(fault) = self.fault_on_its_face(record) {
            return Some(fault);
        }
        let uri = AtUri::parse(&record.uri).ok()?;
        if uri.collection == self.settings.dialects.sh.pull {
            if let Some(fault) = self.fault_of_blobs(&uri, record).await {
                return Some(fault);
            }
            return self.sibling_of_parent(record).await;
        }
        self.proof_of_subject(record).await
    }

    /// Returns why a record does not count, even if the index lists it: its subject does not exist,
    /// or its account may not write about the subject. forge itself ignores such a record.
    pub(crate) async fn proof_of_subject(&self, record: &Record) -> Option<String> {
        let names = &self.settings.dialects.sh;
        let fields = self.fields();
        let uri = AtUri::parse(&record.uri).ok()?;
        if let Some(fault) = self.missing_subject(record).await {
            return Some(fault);
        }
        if uri.collection == names.status {
            return self.missing_right(record, &fields.status_pull, true).await;
        }
        if uri.collection == names.issue_state {
            return self.missing_right(record, &fields.state_issue, true).await;
        }
        if uri.collection == names.label_op {
            return self.missing_right(record, &fields.op_subject, false).await;
        }
        None
    }

    /// Returns a message if a record is about a pull request or issue that does not exist,
    /// according to the server of its account. The index drops such a record. For example, it drops
    /// a status after waiting for its pull request or issue (tangled's ingester,
    /// `drainPendingState`).
    pub(crate) async fn missing_subject(&self, record: &Record) -> Option<String> {
        let Some(Seen::About(_, subject)) = self.subject(record) else {
            return None;
        };
        let about = self.with_did(AtUri::parse(subject).ok()?).await.ok()?;
        let pds = self.identities.pds(&about.authority).await.ok()?;
        let error = records::get_uri(&pds, &about).await.err()?;
        xrpc_error::is_missing_record(&error).then(|| {
            format!("its subject {about} does not exist: it was deleted, or never written")
        })
    }

    /// Returns a message about the newest round whose patch is not gzip or is too large.
    async fn fault_of_blobs(&self, uri: &AtUri, record: &Record) -> Option<String> {
        let pull = crate::pulls::record::TangledPull::parse(record.clone(), self.fields()).ok()?;
        let pds = self.identities.pds(&uri.authority).await.ok()?;
        let rounds = pull.rounds.iter().enumerate().rev().take(MAX_ROUNDS);
        for (number, round) in rounds {
            let Content::Blob(cid) = &round.content else {
                continue;
            };
            let read = |blob: &[u8], may| Ok(patch::fault_of_packed(blob, may));
            let fault = records::blob(&pds, uri, cid, read);
            if let Ok(Some(fault)) = fault.await {
                return Some(format!("the patch of round {number} {fault}"));
            }
        }
        None
    }

    /// Returns a message about another pull request that builds on the same pull request. The index
    /// accepts only one of them, so it drops this record and keeps the one that it already has.
    async fn sibling_of_parent(&self, record: &Record) -> Option<String> {
        let fields = self.fields();
        let below = record.text(&fields.depends_on)?;
        let target = record.text_at(&[&fields.target, &fields.target_repo])?;
        let other = self
            .find_other_dependent(target, below, &record.uri)
            .await?;
        Some(format!(
            "another pull request already depends on {below}, namely {other}"
        ))
    }

    /// Finds a pull request other than `uri` that depends on `below`. Returns `None` if the index
    /// lists `uri`, because it has then not dropped `uri`.
    pub(crate) async fn find_other_dependent(
        &self,
        repo: &str,
        below: &str,
        uri: &str,
    ) -> Option<String> {
        let all = self
            .ask_index(&self.settings.dialects.methods.index.list_pulls, repo)
            .await
            .ok()?
            .records;
        let fields = self.fields();
        let on_top = |r: &&Record| r.uri != uri && r.text(&fields.depends_on) == Some(below);
        if all.iter().any(|r| r.uri == uri) {
            return None;
        }
        all.iter().find(on_top).map(|r| r.uri.clone())
    }

    /// Returns why the account may not write this record; `None` if nothing is proved. A knot that
    /// does not answer proves nothing, because the index then accepts every account.
    async fn missing_right(
        &self,
        record: &Record,
        field: &str,
        author_may: bool,
    ) -> Option<String> {
        let about = AtUri::parse(record.text(field)?).ok()?;
        let (repository, author) = if about.collection == self.settings.dialects.sh.issue {
            let found = self.issue_of_record(&about).await.ok()?;
            let found = self.locate_issue(&found).await.ok()?;
            (found.repository, found.issue.author)
        } else {
            let pull = self.pull_of_record(&about).await.ok()?;
            let LocatedPull {
                repository, pull, ..
            } = self.locate(&pull).await.ok()?;
            (repository, pull.author)
        };
        let knot = self.knot(&repository).await.ok()?;
        let collaborators = self.collaborators_of_knot(&knot, repository.target());
        let collaborators = collaborators.await.ok()?;
        let writers = Writers::of(&repository, &collaborators);
        let who = record.author();
        let is_setter = self.settings.state_setter() == Some(who);
        let may = writers.may_write(who) || author_may && (who == author || is_setter);
        if may {
            return None;
        }
        let name = self.identities.name_of(who).await;
        let rule = if author_may {
            "only the author, the owner of the repository and its collaborators may set a state"
        } else {
            "only the owner of the repository and its collaborators may set labels"
        };
        Some(format!("{name} is not authorised: {rule}"))
    }
}

/// Returns why `PullFromRecord` refuses a record, as far as the record alone shows it.
fn fault_of_pull(value: &Value, fields: &ShFields) -> Option<String> {
    let created_at = &*fields.created_at;
    if let Some(fault) = bad_time(value, created_at, created_at) {
        return Some(fault);
    }
    for (of, repo) in [
        (&fields.target, &fields.target_repo),
        (&fields.source, &fields.source_repo),
    ] {
        let named = value.get(&**of).and_then(|of| of.get(&**repo)?.as_str());
        if let Some(named) = named.filter(|named| !named.starts_with("did:")) {
            return Some(format!(
                "`{of}.{repo}` is '{}', but the index accepts only the DID of a repository",
                one_line(named)
            ));
        }
    }
    let below = value.get(&*fields.depends_on).and_then(Value::as_str);
    if let Some(below) = below.filter(|below| AtUri::parse(below).is_err()) {
        return Some(format!(
            "`{}` is no at-uri: '{}'",
            fields.depends_on,
            one_line(below)
        ));
    }
    let rounds = value.get(&*fields.rounds).and_then(Value::as_array)?;
    rounds.iter().enumerate().find_map(|(number, round)| {
        let shown = format!("{}[{number}].{created_at}", fields.rounds);
        bad_time(round, created_at, &shown)
    })
}

fn bad_time(value: &Value, field: &str, shown: &str) -> Option<String> {
    let text = value.get(field)?.as_str()?;
    DateTime::parse_from_rfc3339(text)
        .is_err()
        .then(|| format!("`{shown}` is no time: '{}'", one_line(text)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pull() -> Value {
        json!({
            "createdAt": "2026-11-01T00:00:00Z",
            "target": {"repo": "did:plc:r", "branch": "main"},
            "source": {"repo": "did:plc:r", "branch": "f"},
            "dependentOn": "at://did:plc:a/sh.tangled.repo.pull/3mkuuamwfj322",
            "rounds": [{"createdAt": "2026-11-01T00:00:00Z"}],
        })
    }

    #[test]
    fn ingestible_record_has_no_fault() {
        let fields = ShFields::default();
        assert_eq!(fault_of_pull(&pull(), &fields), None);
        assert_eq!(
            fault_of_pull(&json!({}), &fields),
            None,
            "nothing is proved"
        );
    }

    #[test]
    fn ingestion_fault_names_rule_and_value() {
        for (pointer, bad, said) in [
            (
                "/createdAt",
                "yesterday",
                "`createdAt` is no time: 'yesterday'",
            ),
            (
                "/rounds/0/createdAt",
                "",
                "`rounds[0].createdAt` is no time: ''",
            ),
            (
                "/target/repo",
                "at://did:plc:o/sh.tangled.repo/x",
                "`target.repo` is 'at://did:plc:o/sh.tangled.repo/x'",
            ),
            ("/source/repo", "x", "`source.repo` is 'x'"),
            ("/dependentOn", "7", "`dependentOn` is no at-uri: '7'"),
        ] {
            let mut value = pull();
            *value.pointer_mut(pointer).unwrap() = json!(bad);
            let fault = fault_of_pull(&value, &ShFields::default()).unwrap();
            assert!(fault.contains(said), "{fault}");
        }
    }
}
