//! A field that is `null` means the same as a field that is missing.

use std::{collections::BTreeSet, fmt::Debug, time::Duration};

use forge_core::{
    Checks, Issues, Labels, PageReq, PrId, PullRequests, Result,
    model::{
        CloseReq, CreatePull, EditIssue, FileEdit, IssueFields, IssueId, IssueQuery, IssueState,
        MergeReq, NewIssue, PrFields, PullQuery, SetIssueState,
    },
};
use forge_tangled_world::{Account, Caller, Fault, Host, Recorded, SpindleDouble};
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

/// A command whose requests are answered with a field less.
#[derive(Clone, Copy, Debug)]
enum Part {
    View,
    Mergeability,
    Files,
    History,
    List,
    Issue,
    Issues,
    IssueHistory,
    Labels,
    EditOfFile,
}

/// A repository as in [`Corpus`], with a pull request of two commits and a merged one.
struct Commands {
    corpus: Corpus,
    two_commits: PrId,
    merged: PrId,
}

impl Commands {
    async fn new() -> Self {
        let corpus = Corpus::new().await;
        let stage = &corpus.stage;
        let repo = stage.handle(&stage.alice);
        stage
            .repo
            .git
            .commit("two", "First", &[("two.txt", Some("0\n"))]);
        let two_commits = stage.open(&repo, "two").await.id;
        let merged = stage.open(&repo, "merged").await.id;
        repo.merge(&merged, &MergeReq::default()).await.unwrap();
        Self {
            corpus,
            two_commits,
            merged,
        }
    }

    fn hosts(&self) -> [&Host; 4] {
        let world = &self.corpus.stage.world;
        [
            world.directory().host(),
            world.pds().host(),
            world.knot().host(),
            world.index().host(),
        ]
    }

    /// Returns what a new client shows.
    async fn run(&self, part: Part) -> String {
        let stage = &self.corpus.stage;
        let forge = stage.tangled_with(stage.settings(), None);
        let (id, page) = (stage.repo_id(), PageReq::first(30));
        let (pull, issue) = (&self.corpus.pulls[0], &self.corpus.issue);
        let fields = PrFields::COMMENTS.with(PrFields::CHECKS);
        match part {
            Part::View => outcome(forge.view(pull, fields).await),
            Part::Mergeability => {
                let open = outcome(forge.mergeability(&self.two_commits).await);
                let merged = forge.view(&self.merged, PrFields::MERGEABILITY).await;
                open + &outcome(merged)
            }
            Part::Files => outcome(forge.files(&self.two_commits, page).await),
            Part::History => outcome(forge.history(pull, page).await),
            Part::List => outcome(forge.list(id, &PullQuery::default(), page).await),
            Part::Issue => outcome(forge.issue(issue, &IssueFields::COMMENTS).await),
            Part::Issues => outcome(forge.issues(id, &IssueQuery::default(), page).await),
            Part::IssueHistory => outcome(forge.issue_history(issue, page).await),
            Part::Labels => outcome(forge.labels(id, page).await),
            Part::EditOfFile => {
                let forge = stage.tangled(&stage.alice);
                let mut new = CreatePull::new("", "Edit a file");
                new.base = Some("main".to_owned());
                new.edits = vec![FileEdit::write("README.md", "other\n")];
                let made = forge.create(id, &new).await;
                outcome(made.map(|made| made.value.title))
            }
        }
    }

    /// Runs a command, and returns its requests with the hosts that answered them with JSON.
    async fn requests_of(&self, part: Part) -> Vec<(&Host, Recorded)> {
        for host in self.hosts() {
            host.reset_record();
        }
        self.run(part).await;
        let hosts = self.hosts().into_iter();
        let all = hosts.flat_map(|host| host.requests().into_iter().map(move |it| (host, it)));
        all.filter(|(_, request)| request.status == 200).collect()
    }
}

/// Returns a result as text. Of a field that must be there, it only says that it cannot be read.
fn outcome<T: Debug>(result: Result<T>) -> String {
    let text = match result {
        Ok(shown) => format!("{shown:?}"),
        Err(e) => format!("{}: \"{}\"", e.code(), e.message()),
    };
    let text = without_cids(&text);
    let mut kept = String::new();
    let mut rest = text.as_str();
    loop {
        let faults = [
            "cannot be understood: ",
            "missing field `",
            "invalid type: null, ",
        ];
        let Some(start) = faults.iter().filter_map(|it| rest.find(*it)).min() else {
            return kept + rest;
        };
        kept.push_str(&rest[..start]);
        kept.push_str("unreadable");
        let end = rest[start..].find(['"', ';', ')']);
        rest = &rest[end.map_or(rest.len(), |end| start + end)..];
    }
}

/// Returns the honest answer to a request.
fn ask_again(host: &Host, request: &Recorded) -> Value {
    let path = request.path.trim_start_matches('/');
    let path = match request.query.as_str() {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    };
    let kind = [("content-type", "application/json")];
    let answer = Caller::new(&host.url()).send(
        &request.verb,
        &path,
        &kind[..usize::from(request.verb == "POST")],
        request.body.as_bytes(),
    );
    match answer.json() {
        object @ Value::Object(_) if answer.status == 200 => object,
        _ => Value::Null,
    }
}

/// Has a host give this answer to a request, however often it is sent.
fn answer_with(host: &Host, request: &Recorded, answer: &Value) {
    let kind = [("content-type", "application/json")];
    let fault = Fault::answer(200, &kind, answer.to_string())
        .on_path(&request.path)
        .always();
    host.clear_faults();
    host.fault(match request.query.as_str() {
        "" => fault,
        query => fault.about(query),
    });
}

/// Returns true for a field whose loss is tested: of a list, those of its first item.
fn is_tested(request: &Recorded, pointer: &str) -> bool {
    let is_later = |part: &str| part != "0" && part.bytes().all(|it| it.is_ascii_digit());
    // The records of a PDS have a CID, which shows any change.
    let has_cid = request.path.contains("com.atproto.repo.") && pointer.contains("/value/");
    // A row has to have a record, so a row without one is malformed in either form.
    !pointer.ends_with("/value") && !has_cid && !pointer.split('/').skip(1).any(is_later)
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

/// The doubles serve these answers in the recorded shapes, which the suite `recorded` checks.
#[tokio::test]
async fn null_field_of_answer_is_read_as_missing() {
    let commands = Commands::new().await;
    let mut seen = BTreeSet::new();
    let mut methods = BTreeSet::new();
    let mut differences = Vec::new();
    for part in [
        Part::View,
        Part::Mergeability,
        Part::Files,
        Part::History,
        Part::List,
        Part::Issue,
        Part::Issues,
        Part::IssueHistory,
        Part::Labels,
        Part::EditOfFile,
    ] {
        for (host, request) in commands.requests_of(part).await {
            let is_read = request.path.ends_with(".tree") || request.path.ends_with(".blob");
            let is_skipped = matches!(part, Part::EditOfFile) && !is_read;
            let name = format!("{}{}?{}", host.url(), request.path, request.query);
            if is_skipped || !seen.insert(name) {
                continue;
            }
            let honest = ask_again(host, &request);
            for pointer in field_pointers(&honest) {
                if !is_tested(&request, &pointer) {
                    continue;
                }
                answer_with(host, &request, &with_null(&honest, &pointer));
                let null = commands.run(part).await;
                answer_with(host, &request, &without_field(&honest, &pointer));
                let missing = commands.run(part).await;
                if null != missing {
                    let path = &request.path;
                    differences.push(format!("{part:?} {path} {pointer}:\n{null}\n{missing}"));
                }
                methods.insert(request.path.clone());
            }
            host.clear_faults();
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
    for method in [
        "com.atproto.identity.resolveHandle",
        "com.atproto.repo.getRecord",
        "sh.tangled.repo.describeRepo",
        "sh.tangled.repo.listCollaborators",
        "sh.tangled.repo.branch",
        "sh.tangled.repo.log",
        "sh.tangled.repo.compare",
        "sh.tangled.repo.tree",
        "sh.tangled.repo.mergeCheck",
        "sh.tangled.repo.listPulls",
        "sh.tangled.repo.listIssues",
        "sh.tangled.repo.pull.listStatuses",
        "sh.tangled.repo.issue.listStates",
        "sh.tangled.feed.listComments",
        "sh.tangled.label.listOps",
    ] {
        assert!(methods.contains(&format!("/xrpc/{method}")), "{method}");
    }
    assert!(methods.iter().any(|it| it.starts_with("/did:plc:")));
}
