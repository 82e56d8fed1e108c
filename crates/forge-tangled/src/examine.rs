//! Compares tangled's live services with the method and field names of [`Dialects`]. Compares
//! records of Tangled 1.0 with their lexicons.

use std::{sync::Arc, time::Duration};

use forge_core::{
    ErrorKind, RepoId, RepoPath, Result,
    model::{Examined, ExaminedVerdict as Verdict},
    text::{Quote, quote, truncate_chars},
};
use futures::future;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    Dialects, Era, Inputs, Tangled,
    knot::KnotBranch,
    lexicon::{self, Set},
    repository::TangledRepository,
    sources::Items,
    xrpc::Xrpc,
    xrpc_error,
};

const HANDLE: &str = "handle";
const DOCUMENT: &str = "identity document";
const RECORDS: &str = "PDS com.atproto.repo.listRecords";
const REPOSITORY: &str = "repository";
/// Timeout after which a service counts as unreachable.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of fields of an unexpected answer that the report names.
const MAX_NAMED: usize = 20;
/// Maximum number of record fields that the report names for each kind of difference. With names of
/// at most [`MAX_FIELD_CHARS`], all of them fit into a report row.
const MAX_FIELDS: usize = 4;
const MAX_FIELD_CHARS: usize = 32;
const LIST_RECORDS: &str = "com.atproto.repo.listRecords";
const LIMIT: (&str, &str) = ("limit", "1");
/// Field with the rows of a list, in the answers of an index.
const ITEMS: &str = "items";

/// The test request for a method: its parameters and the fields that the answer must have. The
/// error says why the method is not called.
type Question<'a> = Result<(Vec<(&'a str, &'a str)>, Vec<&'a str>), &'static str>;

/// The expected content of a method's answer.
#[derive(Clone, Copy)]
enum Expected<'a> {
    /// These fields.
    Fields(&'a [&'a str]),
    /// A list of records of this collection. The first record must match its lexicon.
    Record(&'a str),
}

/// Existing objects that the test requests ask for.
struct Subjects {
    repository: Arc<TangledRepository>,
    knot_name: String,
    /// At-uri of the newest pull request in the index; `issue` is that of the newest issue.
    pull: Option<String>,
    issue: Option<String>,
    default_branch: Option<KnotBranch>,
}

impl Tangled {
    /// See [`forge_core::Repos::examine`].
    pub(crate) async fn examine_services(&self, repo: &RepoId, live: bool) -> Vec<Examined> {
        let methods = self.methods();
        if !live {
            let first = [HANDLE, DOCUMENT, RECORDS, REPOSITORY].map(str::to_owned);
            let records = self.collections_1_0().map(record_title);
            let all = first.into_iter().chain(titles(&methods)).chain(records);
            return all.map(Examined::not_asked).collect();
        }
        let found = self.repository(repo).await;
        let mut all = match (&found, &repo.path) {
            (Ok(repository), _) => self.examine_account(repository.owner.name()).await,
            (Err(_), RepoPath::Named { owner, .. }) => self.examine_account(owner).await,
            (Err(_), _) => Vec::new(),
        };
        match found {
            Ok(repository) => {
                all.push(describe(&repository));
                let subjects = self.subjects(repository).await;
                let asked = methods
                    .iter()
                    .map(|(key, nsid)| self.examine_method(key, nsid, &subjects));
                all.extend(future::join_all(asked).await);
                let repository = &*subjects.repository;
                let records = self
                    .collections_1_0()
                    .map(|collection| self.examine_collection(collection, repository));
                all.extend(future::join_all(records).await);
            }
            Err(e) => {
                all.push(Examined::of_error(REPOSITORY, &e));
                let why = "needs the repository, which was not found";
                let skipped = |name: String| Examined::new(name, Verdict::Skipped, why);
                let records = self.collections_1_0().map(record_title);
                all.extend(titles(&methods).chain(records).map(skipped));
            }
        }
        all
    }

    /// Returns the methods of [`Dialects`], with their keys.
    fn methods(&self) -> Vec<(String, String)> {
        let services = ["index_", "knot_", "spindle_"];
        let is_method = |(key, name): &(String, String)| {
            name.contains('.') && services.iter().any(|service| key.starts_with(service))
        };
        let names = self.settings.dialects.names().into_iter();
        names.filter(is_method).collect()
    }

    /// Returns the collections of Tangled 1.0 that forge reads. The first collection is in the
    /// account of a repository's owner. The others are in the repository's own account.
    fn collections_1_0(&self) -> impl Iterator<Item = &str> {
        let org = &self.settings.dialects.org;
        let all = [
            &org.repo,
            &org.manifest,
            &org.pull,
            &org.patch,
            &org.comment,
            &org.collaborator,
        ];
        all.into_iter().map(|name| &**name)
    }

    /// Compares the newest record of a collection of Tangled 1.0 with its lexicon.
    async fn examine_collection(
        &self,
        collection: &str,
        repository: &TangledRepository,
    ) -> Examined {
        let title = record_title(collection);
        let dialects = &self.settings.dialects;
        if repository.era != Era::Org10 {
            return Examined::new(title, Verdict::Skipped, "is of Tangled 1.0");
        }
        if !dialects.is_described(collection) {
            let why = "the configuration gives other names to records or fields of Tangled 1.0";
            return Examined::new(title, Verdict::Skipped, why);
        }
        let (service, account) = if *collection == *dialects.org.repo {
            let owner = repository.owner.did.as_str();
            (self.identities.pds(owner).await, owner)
        } else {
            let own = repository.did.as_deref().unwrap_or_default();
            (self.knot(repository).await, own)
        };
        let params = [("repo", account), ("collection", collection), LIMIT];
        let expected = Expected::Record(collection);
        self.ask_method(title, service, LIST_RECORDS, &params, expected)
            .await
    }

    /// Checks that an account's handle or DID leads to its DID document and its repository records.
    async fn examine_account(&self, owner: &str) -> Vec<Examined> {
        let did = match owner.starts_with("did:") {
            true => Ok(owner.to_owned()),
            false => self.identities.resolve(&owner.to_lowercase()).await,
        };
        let did = match did {
            Ok(did) => did,
            Err(e) => return vec![Examined::of_error(HANDLE, &e)],
        };
        let document = match self.identities.of_did(&did).await {
            Ok(identity) => {
                let handle = identity.handle.as_deref().unwrap_or("no handle");
                Examined::new(DOCUMENT, Verdict::Ok, &format!("names {handle}"))
            }
            Err(e) => Examined::of_error(DOCUMENT, &e),
        };
        let params = [
            ("repo", did.as_str()),
            ("collection", &*self.settings.dialects.sh.repo),
            LIMIT,
        ];
        let server = self.identities.pds(&did).await;
        let expected = Expected::Fields(&["records"]);
        let records = self.ask_method(RECORDS.to_owned(), server, LIST_RECORDS, &params, expected);
        vec![
            Examined::new(HANDLE, Verdict::Ok, &format!("leads to {did}")),
            document,
            records.await,
        ]
    }

    async fn subjects(&self, repository: Arc<TangledRepository>) -> Subjects {
        let methods = &self.settings.dialects.methods.index;
        let (pull, issue, branch) = future::join3(
            self.newest(&methods.list_pulls, repository.target()),
            self.newest(&methods.list_issues, repository.target()),
            self.default_branch(&repository),
        )
        .await;
        Subjects {
            knot_name: repository.knot_name(),
            pull,
            issue,
            default_branch: branch.ok().flatten(),
            repository,
        }
    }

    /// Returns the at-uri in the first row of a list of the index.
    async fn newest(&self, method: &str, subject: &str) -> Option<String> {
        let of = &*self.settings.dialects.inputs.index.subject;
        let index = self.index().asked_once().bounded();
        let params = [(of, subject), LIMIT];
        let asked = timeout(ANSWER_TIMEOUT, index.query::<Items>(method, &params));
        let page = asked.await.ok()?.ok()?;
        page.items.first()?.get("uri")?.as_str().map(str::to_owned)
    }

    async fn examine_method(&self, key: &str, nsid: &str, subjects: &Subjects) -> Examined {
        let name = title(key, nsid);
        let skipped = |why: &str| Examined::new(title(key, nsid), Verdict::Skipped, why);
        let (params, fields) = match question(&self.settings.dialects, key, subjects) {
            Ok(question) => question,
            Err(why) => return skipped(why),
        };
        let service = match key.split('_').next() {
            Some("index") => Ok(self.index()),
            Some("knot") => self.knot(&subjects.repository).await,
            _ => match self.spindle(&subjects.repository).await {
                Ok(Some(origin)) => self.identities.service(origin).await,
                Ok(None) => return skipped("the repository has no spindle"),
                Err(e) => Err(e),
            },
        };
        let expected = Expected::Fields(&fields);
        self.ask_method(name, service, nsid, &params, expected)
            .await
    }

    /// Calls a method, and compares its answer with the expected content.
    async fn ask_method(
        &self,
        name: String,
        service: Result<Xrpc>,
        nsid: &str,
        params: &[(&str, &str)],
        expected: Expected<'_>,
    ) -> Examined {
        let asked = async {
            let service = service?.asked_once().bounded();
            service.bytes(nsid, params).await
        };
        let (verdict, detail) = match timeout(ANSWER_TIMEOUT, asked).await {
            Ok(Ok(answer)) => match expected {
                Expected::Fields(fields) => compare_fields(&answer, fields),
                Expected::Record(collection) => self.compare_record(&answer, collection),
            },
            // The method exists, and the requested object does not.
            Ok(Err(e)) if xrpc_error::is_missing_ref(&e) || xrpc_error::is_missing_record(&e) => {
                let said = xrpc_error::name(&e).unwrap_or_default();
                (Verdict::Ok, format!("answered {said}"))
            }
            Ok(Err(e)) if is_refusal(e.kind()) || xrpc_error::is_unknown_method(&e) => {
                (Verdict::Differs, e.message().to_owned())
            }
            Ok(Err(e)) => (Verdict::of_error(&e), e.message().to_owned()),
            Err(_) => {
                let seconds = ANSWER_TIMEOUT.as_secs();
                (
                    Verdict::Unreachable,
                    format!("no answer in {seconds} seconds"),
                )
            }
        };
        Examined::new(name, verdict, &self.http.redact(&detail))
    }

    /// Checks the first record of a list against the lexicon of its collection. The report names
    /// fields of the record, but shows none of their values.
    fn compare_record(&self, answer: &[u8], collection: &str) -> (Verdict, String) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let Some(records) = answer.get("records").and_then(Value::as_array) else {
            return (Verdict::Differs, "the answer lacks records".to_owned());
        };
        let Some(record) = records.first() else {
            return (Verdict::Skipped, "none found".to_owned());
        };
        let value = record.get("value").unwrap_or(&Value::Null);
        let found = lexicon::differences(Set::Org10, collection, value);
        let all = [
            ("lacks required fields", &found.missing),
            ("fields with unexpected types", &found.changed),
            ("unknown fields", &found.unknown),
        ];
        let parts = all.into_iter().filter(|(_, paths)| !paths.is_empty());
        let parts: Vec<String> = parts
            .map(|(what, paths)| format!("{what}: {}", self.name_fields(paths)))
            .collect();
        match parts.is_empty() {
            true => (Verdict::Ok, "shape as expected".to_owned()),
            false => (Verdict::Differs, parts.join("; ")),
        }
    }

    /// Quotes the names of a record's fields, which may be a stranger's text. A name is redacted
    /// before it is cut, so that no part of a credential is left.
    fn name_fields(&self, paths: &[String]) -> String {
        let name = |path: &String| {
            let name = self.http.redact(path.strip_prefix("$.").unwrap_or(path));
            let (kept, dropped) = truncate_chars(&name, MAX_FIELD_CHARS);
            let end = if dropped > 0 { "…" } else { "" };
            // `Examined` cuts a word at a `?`, which may begin the query of a URL. Without the
            // replacement, the closing quote mark could be lost.
            quote(&format!("{kept}{end}").replace('?', "_"), Quote::Inline)
        };
        let named: Vec<String> = paths.iter().take(MAX_FIELDS).map(name).collect();
        let more = match paths.len().saturating_sub(MAX_FIELDS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more}", named.join(", "))
    }
}

/// Returns true if a service denied access. This is unexpected, because the requested data is
/// public.
fn is_refusal(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Unauthenticated { .. } | ErrorKind::PermissionDenied { .. }
    )
}

/// Returns the names of methods as the report shows them.
fn titles(methods: &[(String, String)]) -> impl Iterator<Item = String> {
    methods.iter().map(|(key, nsid)| title(key, nsid))
}

fn title(key: &str, nsid: &str) -> String {
    let service = key.split('_').next().unwrap_or_default();
    format!("{service} {nsid}")
}

/// Returns the name of a collection's records as the report shows it.
fn record_title(collection: &str) -> String {
    format!("record {collection}")
}

fn describe(repository: &TangledRepository) -> Examined {
    let (era, host) = (repository.era.name(), repository.knot().host());
    let found = format!("protocol of {era}, knot {host}");
    match repository.doubt() {
        None => Examined::new(REPOSITORY, Verdict::Ok, &found),
        Some(doubt) => {
            let found = format!("{found}: {}", doubt.message);
            Examined::new(REPOSITORY, Verdict::Differs, &found)
        }
    }
}

/// Returns the test request for the method with this key.
fn question<'a>(names: &'a Dialects, key: &str, subjects: &'a Subjects) -> Question<'a> {
    let Inputs {
        index,
        knot,
        spindle,
    } = &names.inputs;
    let said = &names.answers.knot;
    let repository = &*subjects.repository;
    let (target, is_1_0) = (repository.target(), repository.era == Era::Org10);
    let about = |subject: &'a str| (&*index.subject, subject);
    let (pull, issue) = (subjects.pull.as_deref(), subjects.issue.as_deref());
    let pull = pull.ok_or("the index has no pull request of the repository");
    let issue = issue.ok_or("the index has no issue of the repository");
    let branch = subjects.default_branch.as_ref();
    let branch = branch.ok_or("the default branch is not known");
    let tip = branch.map(|branch| branch.hash.as_str());
    let repo = (&*knot.repo, subjects.knot_name.as_str());
    Ok(match key {
        "index_list_pulls" | "index_list_issues" => (vec![about(target), LIMIT], vec![ITEMS]),
        "index_list_statuses" | "index_list_comments" | "index_list_label_ops" => {
            (vec![about(pull?), LIMIT], vec![ITEMS])
        }
        "index_list_issue_states" => (vec![about(issue?), LIMIT], vec![ITEMS]),
        "index_list_labels" | "index_list_repos" => (
            vec![about(repository.owner.did.as_str()), LIMIT],
            vec![ITEMS],
        ),
        "knot_merge" | "knot_merge_check" | "knot_hidden_ref" | "knot_delete_branch"
        | "knot_submit_patch" => return Err("is a procedure, and this examination only reads"),
        "knot_version" => (vec![], vec!["version"]),
        "knot_merge_base" if is_1_0 => (
            vec![repo, (&*knot.base_of, tip?), (&*knot.base_head, tip?)],
            vec![&*said.common],
        ),
        "knot_format_patch" if is_1_0 => (
            vec![repo, (&*knot.patch_from, tip?), (&*knot.patch_to, tip?)],
            vec![],
        ),
        "spindle_org_pipelines" if is_1_0 => (
            vec![(&*spindle.repo, target), LIMIT, (&*spindle.commits, tip?)],
            vec![],
        ),
        "knot_merge_base" | "knot_format_patch" | "spindle_org_pipelines" => {
            return Err("is of Tangled 1.0");
        }
        _ if is_1_0 => return Err("is not used with Tangled 1.0"),
        "knot_describe_repo" => {
            let did = repository.did.as_deref();
            let did = did.ok_or("the repository has no DID")?;
            (
                vec![(&*knot.repo_did, did)],
                vec![&*said.owner, &*said.rkey],
            )
        }
        "knot_list_collaborators" => (vec![(&*knot.collaborators_of, target)], vec![ITEMS]),
        "knot_branch" => (
            vec![repo, (&*knot.branch_name, branch?.name.as_str())],
            vec![&*said.branch_name, &*said.branch_hash],
        ),
        "knot_branches" => (vec![repo, LIMIT, ("cursor", "0")], vec![&*said.branches]),
        "knot_default_branch" => (vec![repo], vec![&*said.branch_name, &*said.branch_hash]),
        "knot_tree" => (
            vec![repo, (&*knot.revision, tip?), (&*knot.path, "")],
            vec![&*said.files],
        ),
        "knot_blob" => (
            vec![repo, (&*knot.revision, tip?), (&*knot.path, "README.md")],
            vec![],
        ),
        "knot_log" => (
            vec![repo, (&*knot.revision, tip?), LIMIT],
            vec![&*said.commits],
        ),
        "knot_compare" => (
            vec![
                repo,
                (&*knot.compare_base, tip?),
                (&*knot.compare_head, tip?),
            ],
            vec![],
        ),
        "spindle_pipelines" => (
            vec![(&*spindle.repo, target), LIMIT, (&*spindle.commits, tip?)],
            vec![],
        ),
        _ => return Err("is not tested: this examination has no request for it"),
    })
}

/// Checks that a JSON answer has these fields. The report names missing fields, and shows no
/// values.
fn compare_fields(answer: &[u8], fields: &[&str]) -> (Verdict, String) {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let is_missing = |field: &&&str| answer.get(**field).is_none();
    let missing: Vec<&str> = fields.iter().filter(is_missing).copied().collect();
    if missing.is_empty() {
        return (Verdict::Ok, "answered".to_owned());
    }
    let keys = answer.as_object().into_iter().flatten();
    let keys = keys.map(|(key, _)| key.as_str()).take(MAX_NAMED);
    let has = keys.collect::<Vec<_>>().join(", ");
    let detail = format!("the answer lacks {}; it has: {has}", missing.join(", "));
    (Verdict::Differs, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexpected_answer_is_described_by_field_names_only() {
        let answer = br#"{"entries": [{"secret": "x"}], "cursor": "y"}"#;
        let (verdict, detail) = compare_fields(answer, &["items"]);
        assert_eq!(verdict, Verdict::Differs);
        assert!(detail.starts_with("the answer lacks items; it has: "));
        assert!(detail.contains("entries") && !detail.contains("secret"));
        assert_eq!(compare_fields(answer, &["entries"]).0, Verdict::Ok);
        assert_eq!(compare_fields(b"<html>", &["items"]).0, Verdict::Differs);
        assert_eq!(compare_fields(b"From 1234", &[]).0, Verdict::Ok);
    }
}
