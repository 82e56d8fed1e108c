//! Configured protocol names: the hosts accept only names that differ from the defaults.

use std::collections::BTreeMap;

use forge_core::{
    Checks, Issues, Labels, PageReq, PrId, PullRequests, Repos, Reviews,
    model::{
        CheckStatus, CloseReq, CreatePull, EditPull, FileEdit, HeadRef, IssueFields, IssueFilter,
        IssueQuery, IssueState, MergeReq, MergeState, NewIssue, NewLabel, PrFields, PrState,
        PullQuery, SetIssueState, StateFilter,
    },
};
use forge_tangled::{Audience, Dialects, TangledSettings};
use forge_tangled_world::{
    Fault, Host, KnotOptions, Names, PdsOptions, Place, SpindleDouble, World,
};
use serde_json::json;

use crate::stage::{PASSWORD, Stage};

/// Fields of the records of a collection and of other typed objects: the path of a field, and the
/// configuration key of its name.
const RECORDS: &[(&str, &[(&str, &str)])] = &[
    (
        "sh_pull",
        &[
            ("title", "sh_field_title"),
            ("body", "sh_field_body"),
            ("createdAt", "sh_field_created_at"),
            ("target", "sh_field_target"),
            ("target.repo", "sh_field_target_repo"),
            ("target.branch", "sh_field_target_branch"),
            ("source", "sh_field_source"),
            ("source.repo", "sh_field_source_repo"),
            ("source.branch", "sh_field_source_branch"),
            ("dependentOn", "sh_field_depends_on"),
            ("rounds", "sh_field_rounds"),
            ("rounds.createdAt", "sh_field_created_at"),
            ("rounds.patchBlob", "sh_field_patch_blob"),
            ("versions", "sh_field_versions"),
            ("versions.base", "sh_field_version_base"),
            ("versions.head", "sh_field_version_head"),
            ("versions.createdAt", "sh_field_created_at"),
            ("versions.patchBlob", "sh_field_patch_blob"),
            ("mentions", "sh_field_mentions"),
            ("references", "sh_field_references"),
        ],
    ),
    (
        "sh_status",
        &[
            ("pull", "sh_field_status_pull"),
            ("status", "sh_field_status"),
            ("createdAt", "sh_field_created_at"),
        ],
    ),
    (
        "sh_issue",
        &[
            ("repo", "sh_field_issue_repo"),
            ("title", "sh_field_title"),
            ("body", "sh_field_body"),
            ("createdAt", "sh_field_created_at"),
        ],
    ),
    (
        "sh_issue_state",
        &[
            ("issue", "sh_field_state_issue"),
            ("state", "sh_field_state"),
            ("createdAt", "sh_field_created_at"),
        ],
    ),
    (
        "sh_comment",
        &[
            ("subject", "sh_field_subject"),
            ("body", "sh_field_body"),
            ("createdAt", "sh_field_created_at"),
            ("replyTo", "sh_field_reply_to"),
            ("pullRoundIdx", "sh_field_round"),
        ],
    ),
    ("sh_markdown", &[("text", "sh_field_text")]),
    (
        "sh_label_op",
        &[
            ("subject", "sh_field_op_subject"),
            ("performedAt", "sh_field_op_at"),
            ("add", "sh_field_op_add"),
            ("add.key", "sh_field_op_key"),
            ("add.value", "sh_field_op_value"),
            ("delete", "sh_field_op_delete"),
            ("delete.key", "sh_field_op_key"),
            ("delete.value", "sh_field_op_value"),
        ],
    ),
    (
        "sh_label",
        &[
            ("name", "sh_field_label_name"),
            ("color", "sh_field_label_color"),
            ("valueType", "sh_field_label_type"),
            ("valueType.type", "sh_field_label_kind"),
            ("valueType.format", "sh_field_label_format"),
            ("scope", "sh_field_label_scope"),
            ("multiple", "sh_field_label_multiple"),
            ("createdAt", "sh_field_created_at"),
        ],
    ),
    (
        "sh_repo",
        &[
            ("knot", "sh_field_repo_knot"),
            ("repoDid", "sh_field_repo_did"),
            ("labels", "sh_field_repo_labels"),
            ("spindle", "sh_field_repo_spindle"),
            ("source", "sh_field_repo_source"),
        ],
    ),
    (
        "org_pull",
        &[
            ("title", "field_title"),
            ("body", "field_body"),
            ("state", "field_state"),
            ("targetBranch", "field_target_branch"),
            ("tangledLabels", "field_labels"),
            ("tangledLabels.key", "field_label_key"),
            ("tangledLabels.value", "field_label_value"),
            ("assignees", "field_assignees"),
            ("createdAt", "field_created_at"),
            ("x-tngl-editor", "field_editor"),
        ],
    ),
    (
        "org_patch",
        &[
            ("ticket", "field_ticket"),
            ("base", "field_base"),
            ("base.oid", "field_oid"),
            ("head", "field_head"),
            ("head.oid", "field_oid"),
            ("source", "field_source"),
            ("source.repo", "field_source_repo"),
            ("source.branch", "field_source_branch"),
            ("createdAt", "field_created_at"),
            ("x-tngl-editor", "field_editor"),
        ],
    ),
    (
        "org_comment",
        &[
            ("subject", "field_subject"),
            ("body", "field_body"),
            ("replyTo", "field_reply_to"),
            ("createdAt", "field_created_at"),
            ("x-tngl-editor", "field_editor"),
        ],
    ),
    ("org_markdown", &[("text", "field_text")]),
    ("org_inline", &[("text", "field_text")]),
    ("org_repo", &[("repo", "field_declared")]),
    (
        "org_manifest",
        &[
            ("owner", "manifest_owner"),
            ("name", "manifest_name"),
            ("spindle", "manifest_spindle"),
        ],
    ),
];

/// The keys of methods, a field that these methods have, and the key of the field's name.
type Row = (&'static [&'static str], &'static str, &'static str);

/// Parameters of the queries to a host.
const QUERIES: &[Row] = &[
    (
        &[
            "knot_branch",
            "knot_branches",
            "knot_default_branch",
            "knot_log",
            "knot_tree",
            "knot_blob",
            "knot_compare",
            "knot_merge_base",
            "knot_format_patch",
        ],
        "repo",
        "knot_field_repo",
    ),
    (&["knot_branch"], "name", "knot_field_branch_name"),
    (
        &["knot_log", "knot_tree", "knot_blob"],
        "ref",
        "knot_field_revision",
    ),
    (&["knot_tree", "knot_blob"], "path", "knot_field_path"),
    (&["knot_compare"], "rev1", "knot_field_compare_base"),
    (&["knot_compare"], "rev2", "knot_field_compare_head"),
    (&["knot_merge_base"], "base", "knot_field_base_of"),
    (&["knot_merge_base"], "head", "knot_field_base_head"),
    (&["knot_format_patch"], "from", "knot_field_patch_from"),
    (&["knot_format_patch"], "to", "knot_field_patch_to"),
    (&["knot_describe_repo"], "repoDid", "knot_field_repo_did"),
    (
        &["knot_list_collaborators"],
        "subject",
        "knot_field_collaborators_of",
    ),
    (
        &[
            "index_list_pulls",
            "index_list_issues",
            "index_list_statuses",
            "index_list_issue_states",
            "index_list_comments",
            "index_list_label_ops",
            "index_list_labels",
            "index_list_repos",
        ],
        "subject",
        "index_field_subject",
    ),
    (&["index_list_pulls"], "status", "index_field_wanted_status"),
    (&["index_list_issues"], "state", "index_field_wanted_state"),
    (
        &["index_list_pulls", "index_list_issues"],
        "author",
        "index_field_author",
    ),
    (PIPELINES, "repo", "spindle_field_repo"),
    (PIPELINES, "commits", "spindle_field_commits"),
];

/// Fields in the bodies of requests.
const INPUTS: &[Row] = &[
    (
        &[
            "knot_merge_check",
            "knot_merge",
            "knot_hidden_ref",
            "knot_delete_branch",
        ],
        "repo",
        "knot_field_repo",
    ),
    (
        &["knot_merge_check", "knot_merge"],
        "did",
        "knot_field_owner",
    ),
    (
        &["knot_merge_check", "knot_merge"],
        "name",
        "knot_field_name",
    ),
    (
        &["knot_merge_check", "knot_merge", "knot_delete_branch"],
        "branch",
        "knot_field_branch",
    ),
    (
        &["knot_merge_check", "knot_merge"],
        "patch",
        "knot_field_patch",
    ),
    (&["knot_merge"], "commitMessage", "knot_field_message"),
    (&["knot_merge"], "commitBody", "knot_field_message_body"),
    (&["knot_merge"], "authorEmail", "knot_field_email"),
    (&["knot_hidden_ref"], "forkRef", "knot_field_fork_ref"),
    (&["knot_hidden_ref"], "remoteRef", "knot_field_remote_ref"),
    (&["knot_submit_patch"], "repo", "knot_field_submit_repo"),
    (&["knot_submit_patch"], "patch", "knot_field_submit_patch"),
    (&["knot_submit_patch"], "patch.ticket", "field_ticket"),
    (&["knot_submit_patch"], "patch.base", "field_base"),
    (&["knot_submit_patch"], "patch.base.oid", "field_oid"),
    (&["knot_submit_patch"], "patch.head", "field_head"),
    (&["knot_submit_patch"], "patch.head.oid", "field_oid"),
    (
        &["knot_submit_patch"],
        "patch.sourceRepo",
        "field_sent_repo",
    ),
    (
        &["knot_submit_patch"],
        "patch.sourceBranch",
        "field_sent_branch",
    ),
];

/// Fields of answers.
const ANSWERS: &[Row] = &[
    (
        &["index_list_pulls", "index_list_issues"],
        "items.state",
        "index_field_row_state",
    ),
    (
        &["index_list_pulls", "index_list_issues"],
        "items.commentCount",
        "index_field_row_comments",
    ),
    (
        &["knot_list_collaborators"],
        "items.subject",
        "index_field_collaborator",
    ),
    (&["knot_describe_repo"], "ownerDid", "knot_answer_owner"),
    (&["knot_describe_repo"], "rkey", "knot_answer_rkey"),
    (BRANCH, "name", "knot_answer_branch_name"),
    (BRANCH, "hash", "knot_answer_branch_hash"),
    (BRANCH, "message", "knot_answer_branch_message"),
    (BRANCH, "when", "knot_answer_branch_when"),
    (&["knot_branches"], "branches", "knot_answer_branches"),
    (
        &["knot_branches"],
        "branches.reference",
        "knot_answer_reference",
    ),
    (
        &["knot_branches"],
        "branches.reference.name",
        "knot_answer_reference_name",
    ),
    (
        &["knot_branches"],
        "branches.reference.hash",
        "knot_answer_reference_hash",
    ),
    (&["knot_compare"], "patch", "knot_answer_patch"),
    (
        &["knot_compare"],
        "combined_patch_raw",
        "knot_answer_combined_patch",
    ),
    (&["knot_compare"], "merge_base", "knot_answer_compared_base"),
    (
        &["knot_merge_check"],
        "is_conflicted",
        "knot_answer_conflicted",
    ),
    (&["knot_merge_check"], "conflicts", "knot_answer_conflicts"),
    (
        &["knot_merge_check"],
        "conflicts.filename",
        "knot_answer_conflict_file",
    ),
    (&["knot_merge_check"], "error", "knot_answer_check_error"),
    (&["knot_hidden_ref"], "success", "knot_answer_fetched"),
    (&["knot_hidden_ref"], "ref", "knot_answer_fetched_ref"),
    (&["knot_hidden_ref"], "error", "knot_answer_fetch_error"),
    (&["knot_tree"], "files", "knot_answer_files"),
    (&["knot_tree"], "files.name", "knot_answer_file_name"),
    (&["knot_tree"], "files.mode", "knot_answer_file_mode"),
    (&["knot_blob"], "content", "knot_answer_blob_content"),
    (&["knot_blob"], "encoding", "knot_answer_blob_encoding"),
    (&["knot_blob"], "size", "knot_answer_blob_size"),
    (&["knot_log"], "commits", "knot_answer_commits"),
    (&["knot_log"], "commits.Hash", "knot_answer_commit_hash"),
    (
        &["knot_log"],
        "commits.ParentHashes",
        "knot_answer_commit_parents",
    ),
    (
        &["knot_log"],
        "commits.Message",
        "knot_answer_commit_message",
    ),
    (&["knot_log"], "commits.Author", "knot_answer_commit_author"),
    (
        &["knot_log"],
        "commits.Author.Email",
        "knot_answer_person_email",
    ),
    (
        &["knot_log"],
        "commits.Author.When",
        "knot_answer_person_when",
    ),
    (
        &["knot_log"],
        "commits.Committer",
        "knot_answer_commit_committer",
    ),
    (
        &["knot_log"],
        "commits.Committer.When",
        "knot_answer_person_when",
    ),
    (&["knot_merge_base"], "commit", "knot_answer_common"),
    (PIPELINES, "pipelines", "spindle_answer_pipelines"),
    (PIPELINES, "pipelines.commit", "spindle_answer_commit"),
    (
        PIPELINES,
        "pipelines.createdAt",
        "spindle_answer_created_at",
    ),
    (PIPELINES, "pipelines.trigger", "spindle_answer_trigger"),
    (PIPELINES, "pipelines.workflows", "spindle_answer_workflows"),
    (
        PIPELINES,
        "pipelines.workflows.name",
        "spindle_answer_workflow_name",
    ),
    (PIPELINES, WORKFLOW_STATUS, "spindle_answer_workflow_status"),
    (
        PIPELINES,
        "pipelines.workflows.error",
        "spindle_answer_workflow_error",
    ),
    (
        PIPELINES,
        "pipelines.workflows.startedAt",
        "spindle_answer_workflow_started",
    ),
    (
        PIPELINES,
        "pipelines.workflows.finishedAt",
        "spindle_answer_workflow_finished",
    ),
];

const BRANCH: &[&str] = &["knot_branch", "knot_default_branch"];
const PIPELINES: &[&str] = &["spindle_pipelines", "spindle_org_pipelines"];
const WORKFLOW_STATUS: &str = "pipelines.workflows.status";

/// Replaces each protocol name, given by its key. Keys with equal names get equal new names.
fn other_names(usual: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut nsids: BTreeMap<&str, String> = BTreeMap::new();
    let mut others = BTreeMap::new();
    for (key, name) in usual {
        let short = key.replace('_', "");
        let is_method = ["knot_", "index_", "spindle_"]
            .iter()
            .any(|by| key.starts_with(by));
        let now = match key.as_str() {
            // Each name is a prefix of the next.
            "field_stamp" => "st-".to_owned(),
            "field_editor" => "st-editor".to_owned(),
            _ if !name.contains('.') => format!("x{short}"),
            _ if is_method => format!("org.example.{short}"),
            _ => {
                let first = || format!("org.example.{short}");
                nsids.entry(name).or_insert_with(first).clone()
            }
        };
        others.insert(key.clone(), now);
    }
    others
}

/// Renames everything on all hosts, and returns settings with the new names.
fn renamed(stage: &Stage, spindle: &SpindleDouble) -> TangledSettings {
    let mut usual: BTreeMap<String, String> = Dialects::default().names().into_iter().collect();
    usual.remove("audience");
    let others = other_names(&usual);
    let mut dialects = Dialects::default();
    for (key, now) in &others {
        dialects.set(key, now).unwrap();
    }
    let mut names = Names::default();
    for (key, name) in &usual {
        let is_type = key.starts_with("sh_") || key.starts_with("org_");
        if is_type && name.contains('.') {
            names.text(name, &others[key]);
        }
    }
    for (of, fields) in RECORDS {
        for (path, key) in *fields {
            names.field(Place::Type(usual[*of].clone()), path, &others[*key]);
        }
    }
    for key in ["org_state_open", "org_state_closed", "org_state_merged"] {
        let ticket = Place::Type(usual["org_pull"].clone());
        names.word(ticket, "state", &usual[key], &others[key]);
    }
    for word in ["success", "failed", "timeout", "cancelled"] {
        let now = &others[&format!("spindle_answer_{word}")];
        for method in PIPELINES {
            let answer = Place::Answer(usual[*method].clone());
            names.word(answer, WORKFLOW_STATUS, word, now);
        }
    }
    let lists = [
        ("index_list_pulls", "status"),
        ("index_list_issues", "state"),
    ];
    for (method, asked) in lists {
        for word in ["open", "closed", "merged"] {
            let now = &others[&format!("index_field_state_{word}")];
            names.word(Place::Query(usual[method].clone()), asked, word, now);
            let answer = Place::Answer(usual[method].clone());
            names.word(answer, "items.state", word, now);
        }
    }
    let record = "web_record";
    names.attribute(&usual[record], &others[record]);
    let world = &stage.world;
    world.index().web().speak(names.clone());
    for (by, host) in [
        ("knot_", world.knot().host()),
        ("index_", world.index().host()),
        ("spindle_", spindle.host()),
    ] {
        type At = fn(String) -> Place;
        let mut names = names.clone();
        let tables: [(&[Row], At); 3] = [
            (QUERIES, Place::Query),
            (INPUTS, Place::Input),
            (ANSWERS, Place::Answer),
        ];
        for (table, at) in tables {
            for (methods, path, key) in table {
                for method in methods.iter().filter(|method| method.starts_with(by)) {
                    names.field(at(usual[*method].clone()), path, &others[*key]);
                }
            }
        }
        host.speak(names);
        for (key, name) in &usual {
            if key.starts_with(by) && name.contains('.') {
                host.rename_method(name, &others[key]);
            }
        }
    }
    world.pds().host().speak(names);
    TangledSettings {
        dialects,
        ..stage.settings()
    }
}

/// Returns the `sh.tangled` methods that were called, and checks that the new names were used. No
/// default name of a collection, a type or a method may have been sent.
fn called(host: &Host) -> Vec<String> {
    for request in host.requests() {
        let sent = format!("{} {} {}", request.path, request.query, request.body);
        let is_usual = sent.contains("sh.tangled.") || sent.contains("org.tangled.");
        assert!(!is_usual, "{sent}");
    }
    let requests = host.requests().into_iter();
    let all = requests.filter_map(|it| it.method().map(str::to_owned));
    let called: Vec<String> = all.filter(|it| !it.starts_with("com.atproto.")).collect();
    assert!(
        called.iter().all(|it| it.starts_with("org.example.")),
        "{called:?}"
    );
    called
}

fn has(called: &[String], name: &str) -> bool {
    called.iter().any(|it| *it == format!("org.example.{name}"))
}

/// Creates a spindle that Alice's repository names.
fn spindle_of(stage: &Stage) -> SpindleDouble {
    let spindle = SpindleDouble::start().unwrap();
    let did = &stage.alice.did;
    let pds = stage.world.pds();
    let uri = format!("at://{did}/sh.tangled.repo/widget");
    let (_, mut record) = pds.record(&uri).unwrap();
    record["spindle"] = json!(spindle.host().authority());
    pds.put(did, "sh.tangled.repo", "widget", record);
    spindle
}

#[tokio::test]
async fn pull_request_lifecycle_uses_configured_names() {
    let stage = Stage::new();
    let spindle = spindle_of(&stage);
    let settings = renamed(&stage, &spindle);
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let req = CreatePull::new("topic", "One");
    let made = forge.create(stage.repo_id(), &req).await.unwrap();
    assert_eq!(made.ingestion.word(), "confirmed");
    let pr = made.value.id;
    let head = made.value.head_oid.unwrap();
    spindle.run(&stage.repo.did, &head, "push", &[("build.yml", "success")]);
    let report = forge.checks(&pr).await.unwrap();
    assert_eq!(report.checks.len(), 1);
    let mut edit = EditPull::default();
    edit.title = Some("Two".to_owned());
    edit.description = Some("Why.".to_owned());
    let edited = forge.edit(&pr, &edit).await.unwrap();
    assert_eq!(edited.ingestion.word(), "confirmed");
    let said = forge.comment(&pr, "Nice", None).await.unwrap();
    assert_eq!(said.ingestion.word(), "confirmed");
    let mut query = PullQuery::default();
    query.state = StateFilter::Open;
    let page = PageReq::first(30);
    let open = forge.list(stage.repo_id(), &query, page).await.unwrap();
    assert_eq!(open.items.len(), 1);
    assert_eq!(open.items[0].title, "Two");
    assert_eq!(open.items[0].comments_count, 1);
    assert!(open.warnings.is_empty(), "{:?}", open.warnings);
    let closed = forge.close(&pr, &CloseReq::default()).await.unwrap();
    assert_eq!(closed.ingestion.word(), "confirmed");
    assert_eq!(closed.value.state, PrState::Closed);
    forge.reopen(&pr, None).await.unwrap();
    let merged = forge.merge(&pr, &MergeReq::default()).await.unwrap();
    assert_eq!(merged.ingestion.word(), "confirmed");
    let mut query = PullQuery::default();
    query.state = StateFilter::Merged;
    query.fields = PrFields::ROW;
    let page = PageReq::first(30);
    let rows = forge.list(stage.repo_id(), &query, page).await.unwrap();
    assert_eq!(rows.items.len(), 1);
    assert_eq!(rows.items[0].state, PrState::Merged);
    let fields = PrFields::COMMENTS | PrFields::MERGEABILITY;
    let view = forge.view(&pr, fields).await.unwrap();
    assert_eq!(view.state, PrState::Merged);
    assert_eq!(
        (view.title.as_str(), view.description.as_str()),
        ("Two", "Why.")
    );
    assert_eq!(view.comments.unwrap()[0].body, "Nice");
    assert!(view.warnings.is_empty(), "{:?}", view.warnings);

    called(stage.world.pds().host());
    let knot = called(stage.world.knot().host());
    assert!(has(&knot, "knotmerge"), "{knot:?}");
    assert!(has(&knot, "knotcompare"), "{knot:?}");
    let index = called(stage.world.index().host());
    assert!(has(&index, "indexlistpulls"), "{index:?}");
    assert!(has(&index, "indexlistcomments"), "{index:?}");
    assert!(has(&called(spindle.host()), "spindlepipelines"));
    // The records in the world still have the default names.
    let did = &stage.alice.did;
    let statuses = stage
        .world
        .pds()
        .records(did, "sh.tangled.repo.pull.status");
    assert_eq!(statuses.len(), 4);
}

#[tokio::test]
async fn issue_and_label_use_configured_names() {
    let stage = Stage::new();
    let spindle = spindle_of(&stage);
    let settings = renamed(&stage, &spindle);
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let mut label = NewLabel::new("bug");
    label.color = Some("ff0000".to_owned());
    forge.define_label(stage.repo_id(), &label).await.unwrap();
    let mut new = NewIssue::new("Broken", "It is.");
    new.labels = vec!["bug".to_owned()];
    new.assignees = vec![stage.bob.handle.clone()];
    let made = forge.create_issue(stage.repo_id(), &new).await.unwrap();
    assert_eq!(made.ingestion.word(), "confirmed");
    let id = made.value.id;
    let close = SetIssueState::to(IssueState::Closed);
    let closed = forge.set_issue_state(&id, &close).await.unwrap();
    assert_eq!(closed.ingestion.word(), "confirmed");
    let mut query = IssueQuery::default();
    query.state = IssueFilter::Closed;
    let page = PageReq::first(30);
    let listed = forge.issues(stage.repo_id(), &query, page).await.unwrap();
    assert_eq!(listed.items.len(), 1);
    assert_eq!(listed.items[0].state, IssueState::Closed);
    let issue = forge.issue(&id, &IssueFields::default()).await.unwrap();
    assert_eq!(issue.state, IssueState::Closed);
    assert_eq!(
        (issue.title.as_str(), issue.body.as_str()),
        ("Broken", "It is.")
    );
    assert_eq!(issue.labels[0].name, "bug");
    assert_eq!(issue.assignees.len(), 1);
    assert!(issue.warnings.is_empty(), "{:?}", issue.warnings);
    called(stage.world.pds().host());
    let index = called(stage.world.index().host());
    assert!(has(&index, "indexlistissuestates"), "{index:?}");
    assert!(has(&index, "indexlistlabelops"), "{index:?}");
}

#[tokio::test]
async fn knot_and_page_answers_use_configured_names() {
    let stage = Stage::new();
    let settings = renamed(&stage, &SpindleDouble::start().unwrap());
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let id = stage.id_of(&stage.repo);
    let info = forge.repo(&id).await.unwrap();
    assert_eq!(info.id, stage.id());
    assert_eq!(info.default_branch.as_deref(), Some("main"));
    let git = &stage.repo.git;
    git.commit("topic", "A", &[("README.md", Some("mine\n"))]);
    let branches = forge.branches(&id, PageReq::first(30)).await.unwrap().items;
    let names: Vec<&str> = branches.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["main", "topic"]);
    assert_eq!(Some(branches[1].oid.clone()), git.oid("topic"));

    let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
    let pr = made.unwrap().value.id;
    let number = PrId::number(stage.id(), 1);
    let view = forge.view(&number, PrFields::NONE).await.unwrap();
    assert_eq!(view.id, pr);
    let mut edits = CreatePull::new("", "Edited");
    edits.base = Some("main".to_owned());
    edits.edits = vec![FileEdit::write("README.md", "edited\n")];
    forge.create(&id, &edits).await.unwrap();
    git.commit("main", "B", &[("README.md", Some("theirs\n"))]);
    let view = forge.view(&pr, PrFields::MERGEABILITY).await.unwrap();
    let merge = view.mergeability.unwrap();
    assert_eq!(merge.state, MergeState::Conflicting);
    assert_eq!(merge.conflicts, ["README.md"]);
    assert_eq!(Some(merge.base_oid), git.oid("main"));
    let called = called(stage.world.knot().host());
    for method in ["describerepo", "branches", "tree", "blob", "mergecheck"] {
        assert!(has(&called, &format!("knot{method}")), "{called:?}");
    }
}

#[tokio::test]
async fn fork_knot_answers_use_configured_names() {
    let stage = Stage::new();
    let settings = renamed(&stage, &SpindleDouble::start().unwrap());
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let knot = stage.world.knot();
    let fork = stage.world.fork_on(knot, &stage.repo, &carol, "widget");
    fork.git.commit("side", "C", &[("c", Some("1\n"))]);
    let forge = stage.tangled_with(settings, Some(&carol));
    let mut req = CreatePull::new("side", "From a fork");
    req.head = HeadRef::in_fork(&carol.handle, "side");
    // The knot fetches into a ref that is not the default.
    let main = stage.repo.git.oid("main").unwrap();
    let said = json!({ "xknotanswerfetched": true, "xknotanswerfetchedref": main });
    let kind = [("content-type", "application/json")];
    let answer = Fault::answer(200, &kind, said.to_string());
    knot.host().fault(answer.on("org.example.knothiddenref"));
    let made = forge.create(stage.repo_id(), &req).await.unwrap().value;
    assert_eq!(made.head_oid, fork.git.oid("side"));
    let base = format!("xknotfieldcomparebase={main}");
    let asked = knot.host().requests();
    assert!(asked.iter().any(|it| it.query.contains(&base)));

    let mut other = CreatePull::new("other", "Another");
    other.head.owner.clone_from(&req.head.owner);
    fork.git.commit("other", "D", &[("d", Some("1\n"))]);
    let made = forge.create(stage.repo_id(), &other).await.unwrap().value;
    assert_eq!(made.head_oid, fork.git.oid("other"));
    fork.git
        .run(["config", "--unset", "remote.origin.url"])
        .ok();
    fork.git.commit("last", "E", &[("e", Some("1\n"))]);
    let mut last = CreatePull::new("last", "The last");
    last.head.owner = req.head.owner;
    let e = forge.create(stage.repo_id(), &last).await.unwrap_err();
    assert!(e.message().contains("the repository is no fork"), "{e:?}");
    called(knot.host());
}

#[tokio::test]
async fn spindle_answers_use_configured_names() {
    let stage = Stage::new();
    let spindle = spindle_of(&stage);
    let settings = renamed(&stage, &spindle);
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let req = CreatePull::new("topic", "One");
    let made = forge.create(stage.repo_id(), &req).await.unwrap().value;
    let head = made.head_oid.unwrap();
    let run = [
        ("a.yml", "success"),
        ("b.yml", "failed"),
        ("c.yml", "timeout"),
        ("d.yml", "cancelled"),
    ];
    spindle.run(&stage.repo.did, &head, "push", &run);
    let mut checks = forge.checks(&made.id).await.unwrap().checks;
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    let said: Vec<_> = checks
        .iter()
        .map(|it| (it.name.as_str(), it.status, it.conclusion.as_deref()))
        .collect();
    assert_eq!(
        said,
        [
            ("a.yml", CheckStatus::Success, Some("SUCCESS")),
            ("b.yml", CheckStatus::Failure, Some("FAILED")),
            ("c.yml", CheckStatus::Failure, Some("TIMEOUT")),
            ("d.yml", CheckStatus::Cancelled, Some("CANCELLED")),
        ]
    );
    for check in &checks {
        assert_eq!(check.event.as_deref(), Some("push"));
        assert!(check.started_at.is_some() && check.completed_at.is_some());
        assert_eq!(check.summary.is_some(), check.name == "b.yml");
    }
}

/// The 1.0 double accepts one audience, and the client is configured for it.
#[tokio::test]
async fn ticket_uses_configured_names_and_audience() {
    let options = KnotOptions {
        audience: forge_tangled_world::Audience::Repository,
        ..KnotOptions::default()
    };
    let stage = Stage::of(World::with(PdsOptions::default(), options).unwrap());
    let mut settings = renamed(&stage, &SpindleDouble::start().unwrap());
    settings.dialects.audience = Audience::Repository;
    let (repo, id) = stage.repo_1_0();
    repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let mut req = CreatePull::new("topic", "One");
    req.description = "Why.".to_owned();
    let made = forge.create(&id, &req).await.unwrap();
    assert_eq!(made.value.head_oid, repo.git.oid("topic"));
    let knot = stage.world.knot().host();
    let create = "com.atproto.repo.createRecord";
    assert_eq!(knot.count_of(create), 1);
    let pr = made.value.id;
    forge.comment(&pr, "Nice", None).await.unwrap();
    let closed = forge.close(&pr, &CloseReq::default()).await.unwrap();
    assert_eq!(closed.value.state, PrState::Closed);
    let fields = PrFields::COMMITS | PrFields::COMMENTS;
    let view = forge.view(&pr, fields).await.unwrap();
    assert_eq!(view.commits.map(|c| c.len()), Some(1));
    assert_eq!(
        (view.title.as_str(), view.description.as_str()),
        ("One", "Why.")
    );
    assert_eq!(view.comments.unwrap()[0].body, "Nice");
    assert!(view.warnings.is_empty(), "{:?}", view.warnings);
    let called = called(knot);
    assert!(has(&called, "knotsubmitpatch"), "{called:?}");
    assert!(has(&called, "knotformatpatch"), "{called:?}");
    let ticket = stage
        .world
        .knot()
        .records(&repo.did, "org.tangled.track.ticket");
    assert_eq!(ticket[0].2["state"], "closed");

    // In this answer, the merge base has its other form: an object with an id.
    repo.git.commit("second", "B", &[("b", Some("y\n"))]);
    let main = repo.git.oid("main").unwrap();
    let said = json!({ "xknotanswercommon": { "xknotanswercommonoid": main } });
    let kind = [("content-type", "application/json")];
    let answer = Fault::answer(200, &kind, said.to_string());
    knot.fault(answer.on("org.example.knotmergebase"));
    let second = CreatePull::new("second", "Two");
    let made = forge.create(&id, &second).await.unwrap().value;
    assert_eq!(made.head_oid, repo.git.oid("second"));
    assert_eq!(knot.faults_left(), 0);
}
