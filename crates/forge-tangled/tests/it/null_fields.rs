//! A field that is `null` means the same as a field that is missing.

use std::time::Duration;

use forge_core::{
    Checks, Issues, Labels, PageReq, PrId, PullRequests,
    model::{
        CloseReq, EditIssue, IssueFields, IssueId, IssueQuery, IssueState, NewIssue, PrFields,
        PullQuery, SetIssueState,
    },
};
use forge_tangled_world::{Account, Fault, SpindleDouble};
use serde_json::{Value, json};

use crate::stage::Stage;

const PIPELINES: &str = "sh.tangled.ci.queryPipelines";

/// A repository with records of each kind that a view reads.
struct Corpus {
    stage: Stage,
    spindle: SpindleDouble,
    pulls: [PrId; 2],
    issue: IssueId,
}

impl Corpus {
    async fn new() -> Self {
        let stage = Stage::new();
        let spindle = SpindleDouble::start().unwrap();
        let (pds, did) = (stage.world.pds(), &stage.alice.did);
        let (_, mut record) = pds
            .record(&format!("at://{did}/sh.tangled.repo/widget"))
            .unwrap();
        record["spindle"] = json!(spindle.host().authority());
        pds.put(did, "sh.tangled.repo", "widget", record);
        stage.use_label(&json!({
            "name": "size", "color": "#00ff00", "multiple": false,
            "valueType": { "type": "string", "format": "any", "enum": ["small", "big"] },
            "scope": ["sh.tangled.repo.pull", "sh.tangled.repo.issue"],
            "createdAt": "2026-06-01T00:00:00Z",
        }));
        let repo = stage.handle(&stage.alice);
        let pull = stage.open(&repo, "topic").await;
        let head = pull.head_oid.as_deref().unwrap();
        let runs = [("a.yml", "success")];
        spindle.run(&stage.repo.did, head, "push", &runs);
        repo.comment(&pull.id, "A comment", None).await.unwrap();
        let other = stage.open(&repo, "other").await;
        store_in_form_of_2025(&stage, &other.node_id);
        repo.close(&other.id, &CloseReq::default()).await.unwrap();
        let issue = add_issue(&stage).await;
        Self {
            stage,
            spindle,
            pulls: [pull.id, other.id],
            issue,
        }
    }

    /// Stores a record, and waits until the index has taken it in or refused it.
    fn store(&self, account: &Account, uri: &str, record: &Value) {
        let index = self.stage.world.index();
        let refused = index.dropped().len();
        let collection = uri.split('/').nth(3).unwrap();
        let pds = self.stage.world.pds();
        let (_, cid) = pds.put(&account.did, collection, key_of(uri), record.clone());
        for _ in 0..40 {
            if index.knows(uri).as_ref() == Some(&cid) || index.dropped().len() > refused {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns everything that a stranger's client shows, with CIDs replaced: a record with `null`
    /// has another CID than the record without the field.
    async fn shown(&self) -> String {
        let forge = self.stage.tangled_with(self.stage.settings(), None);
        let id = self.stage.repo_id();
        let page = PageReq::first(30);
        let all = PrFields::NONE
            .with(PrFields::STATS)
            .with(PrFields::COMMENTS)
            .with(PrFields::COMMITS)
            .with(PrFields::FILES)
            .with(PrFields::CHECKS)
            .with(PrFields::LINKED_ISSUES)
            .with(PrFields::DEPENDS_ON);
        let mut shown = String::new();
        for pull in &self.pulls {
            shown += &format!("{:?}\n", forge.view(pull, all).await);
        }
        let query = PullQuery::default();
        shown += &format!("{:?}\n", forge.list(id, &query, page.clone()).await);
        let issue = forge.issue(&self.issue, &IssueFields::COMMENTS).await;
        shown += &format!("{issue:?}\n");
        let issues = forge.issues(id, &IssueQuery::default(), page.clone()).await;
        shown += &format!("{issues:?}\n");
        shown += &format!("{:?}\n", forge.labels(id, page).await);
        without_cids(&shown)
    }
}

async fn add_issue(stage: &Stage) -> IssueId {
    let forge = stage.tangled(&stage.bob);
    let new = NewIssue::new("An issue", "Its text");
    let issue = forge.create_issue(stage.repo_id(), &new).await.unwrap();
    let id = issue.value.id;
    forge.create_issue_comment(&id, "Nice").await.unwrap();
    let mut edit = EditIssue::default();
    edit.labels.add = vec!["size:big".to_owned()];
    forge.edit_issue(&id, &edit).await.unwrap();
    let close = SetIssueState::to(IssueState::Closed);
    forge.set_issue_state(&id, &close).await.unwrap();
    id
}

/// Replaces the rounds of a pull request by the patch itself, as records had it in 2025.
fn store_in_form_of_2025(stage: &Stage, uri: &str) {
    let (pds, did) = (stage.world.pds(), &stage.alice.did);
    let (_, mut record) = pds.record(uri).unwrap();
    let patch = "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..5626abf\n--- /dev/null\n\
                 +++ b/x\n@@ -0,0 +1 @@\n+one\n";
    let fields = record.as_object_mut().unwrap();
    fields.remove("rounds");
    fields.insert("patch".to_owned(), json!(patch));
    fields.insert("patchBlob".to_owned(), Value::Null);
    pds.put(did, "sh.tangled.repo.pull", key_of(uri), record);
}

fn key_of(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap()
}

fn without_cids(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("bafyrei") {
        kept.push_str(&rest[..start]);
        rest = rest[start..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    }
    kept + rest
}

/// Returns the JSON pointers of all fields of objects, at any depth.
fn field_pointers(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                found.push(format!("/{name}"));
                found.extend(
                    field_pointers(inner)
                        .iter()
                        .map(|at| format!("/{name}{at}")),
                );
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                found.extend(field_pointers(inner).iter().map(|p| format!("/{at}{p}")));
            }
        }
        _ => {}
    }
    found
}

fn with_null(value: &Value, pointer: &str) -> Value {
    let mut changed = value.clone();
    *changed.pointer_mut(pointer).unwrap() = Value::Null;
    changed
}

fn without_field(value: &Value, pointer: &str) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let mut changed = value.clone();
    let fields = changed.pointer_mut(parent).unwrap();
    fields.as_object_mut().unwrap().remove(name);
    changed
}

#[tokio::test]
async fn null_record_field_is_read_as_missing() {
    let corpus = Corpus::new().await;
    let pds = corpus.stage.world.pds();
    let mut differences = Vec::new();
    for (account, collection) in [
        (&corpus.stage.alice, "sh.tangled.repo"),
        (&corpus.stage.alice, "sh.tangled.repo.pull"),
        (&corpus.stage.alice, "sh.tangled.repo.pull.status"),
        (&corpus.stage.alice, "sh.tangled.feed.comment"),
        (&corpus.stage.alice, "sh.tangled.label.definition"),
        (&corpus.stage.bob, "sh.tangled.repo.issue"),
        (&corpus.stage.bob, "sh.tangled.repo.issue.state"),
        (&corpus.stage.bob, "sh.tangled.feed.comment"),
        (&corpus.stage.bob, "sh.tangled.label.op"),
    ] {
        let records = pds.records(&account.did, collection);
        assert!(!records.is_empty(), "{collection}");
        for (uri, _, record) in records {
            // A server deletes a blob that no record names any more.
            let copy = json!({ "copy": record });
            pds.put(&account.did, "com.example.copy", key_of(&uri), copy);
            for pointer in field_pointers(&record) {
                // The server itself refuses these.
                if pointer == "/$type" || pointer.contains("/patchBlob/") {
                    continue;
                }
                corpus.store(account, &uri, &record);
                let mut shown = Vec::new();
                for changed in [
                    with_null(&record, &pointer),
                    without_field(&record, &pointer),
                ] {
                    corpus.store(account, &uri, &changed);
                    shown.push(corpus.shown().await);
                }
                if shown[0] != shown[1] {
                    let lines = shown[0].lines().zip(shown[1].lines());
                    let (null, missing) = lines.into_iter().find(|(a, b)| a != b).unwrap();
                    differences.push(format!("{collection} {pointer}:\n{null}\n{missing}"));
                }
            }
            corpus.store(account, &uri, &record);
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

#[tokio::test]
async fn null_field_of_spindle_is_read_as_missing() {
    let corpus = Corpus::new().await;
    let host = corpus.spindle.host();
    let honest = json!({ "pipelines": [{
        "commit": "0".repeat(40), "createdAt": "2026-10-01T00:00:00Z", "trigger": { "$type": "x" },
        "workflows": [{ "name": "a", "status": "failed", "error": "why",
            "startedAt": "2026-10-01T00:00:00Z", "finishedAt": "2026-10-01T00:01:00Z" }],
    }], "cursor": "" });
    for pointer in field_pointers(&honest) {
        let mut shown = Vec::new();
        for answer in [
            with_null(&honest, &pointer),
            without_field(&honest, &pointer),
        ] {
            let kind = [("content-type", "application/json")];
            host.clear_faults();
            host.fault(
                Fault::answer(200, &kind, answer.to_string())
                    .on(PIPELINES)
                    .always(),
            );
            let forge = corpus.stage.tangled_with(corpus.stage.settings(), None);
            let checks = forge.checks(&corpus.pulls[0]).await;
            shown.push(format!("{checks:?}").replace("missing field", "invalid"));
        }
        let is_required = [
            "/pipelines/0/workflows/0/name",
            "/pipelines/0/workflows/0/status",
        ];
        if !is_required.contains(&pointer.as_str()) {
            assert_eq!(shown[0], shown[1], "{pointer}");
        }
    }
}
