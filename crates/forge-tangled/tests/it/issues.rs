//! Issues: ingestion states of writes, permission to set a state, and reading without the index.

use std::time::Duration;

use forge_core::{
    Action, Call, Ingestion, Issues, Op, PageReq, Param, PullRequests, RepoId, RepoPath, Warning,
    model::{
        CloseReq, EditIssue, Issue, IssueFields, IssueFilter, IssueId, IssueQuery, IssueState,
        MergeReq, NewIssue, PrFields, PrState, PullQuery, SetChange, SetIssueState, StateFilter,
    },
};
use forge_tangled::TangledSettings;
use forge_tangled_world::{Fault, Moods};
use serde_json::json;

use crate::stage::{PASSWORD, Stage, action};

const APPLY: &str = "com.atproto.repo.applyWrites";
const ISSUE: &str = "sh.tangled.repo.issue";
const STATE: &str = "sh.tangled.repo.issue.state";
const TICKET: &str = "org.tangled.track.ticket";
const COMMENTS: IssueFields = IssueFields::COMMENTS;

fn new(title: &str) -> NewIssue {
    NewIssue::new(title, "Why")
}

async fn open(stage: &Stage, title: &str) -> Issue {
    let forge = stage.tangled(&stage.alice);
    forge
        .create_issue(&stage.id(), &new(title))
        .await
        .unwrap()
        .value
}

fn to(state: IssueState) -> SetIssueState {
    SetIssueState::to(state)
}

fn all() -> IssueQuery {
    let mut query = IssueQuery::default();
    query.state = IssueFilter::All;
    query
}

fn said(warnings: &[Warning], part: &str) -> bool {
    warnings.iter().any(|w| w.message.contains(part))
}

#[tokio::test]
async fn issue_writes_have_ingestion_states() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let made = forge.create_issue(&stage.id(), &new("One")).await.unwrap();
    assert_eq!(made.ingestion.word(), "confirmed");
    let id = made.value.id.clone();
    assert_eq!(made.value.state, IssueState::Open);
    assert!(stage.world.index().knows(&made.value.node_id).is_some());
    // An issue without a state is open, so no state is written with a new issue.
    let did = &stage.alice.did;
    assert!(stage.world.pds().records(did, STATE).is_empty());
    let comment = forge.create_issue_comment(&id, "Nice").await.unwrap();
    assert_eq!(comment.ingestion.word(), "confirmed");
    let (_, record) = stage.world.pds().record(&comment.value.id).unwrap();
    assert!(record.get("pullRoundIdx").is_none(), "{record}");
    let mut edit = EditIssue::default();
    edit.title = Some("Two".into());
    let edited = forge.edit_issue(&id, &edit).await.unwrap();
    assert_eq!(edited.ingestion.word(), "confirmed");
    let close = to(IssueState::Closed);
    let closed = forge.set_issue_state(&id, &close).await.unwrap();
    assert_eq!(closed.ingestion.word(), "confirmed");
    assert_eq!(closed.value.state, IssueState::Closed);
    let states = stage.world.pds().records(did, STATE);
    assert_eq!(states.len(), 1);
    let (_, state) = stage.world.pds().record(&states[0].0).unwrap();
    assert_eq!(state["state"], "sh.tangled.repo.issue.state.closed");
    assert!(state["createdAt"].is_string(), "{state}");
    let again = forge.set_issue_state(&id, &close).await.unwrap();
    assert_eq!(
        (again.unchanged, again.ingestion.word()),
        (true, "confirmed")
    );
}

#[tokio::test]
async fn unindexed_issue_is_pending_or_pds_only() {
    let stage = Stage::new();
    let impatient = TangledSettings {
        wait: Duration::from_millis(150),
        ..stage.settings()
    };
    stage.world.index().lose_next(ISSUE, 9);
    let forge = stage.tangled_with(impatient.clone(), Some(&stage.alice));
    let made = forge.create_issue(&stage.id(), &new("One")).await.unwrap();
    let Ingestion::Pending { uri: Some(uri), .. } = &made.ingestion else {
        panic!("{:?}", made.ingestion);
    };
    assert_eq!(*uri, made.value.node_id);
    let old = TangledSettings {
        ingested: forge_tangled::IngestedCollections::at(
            "2026-06",
            &forge_tangled::Dialects::default(),
        ),
        ..impatient
    };
    let forge = stage.tangled_with(old, Some(&stage.alice));
    let close = to(IssueState::Closed);
    let closed = forge.set_issue_state(&made.value.id, &close).await.unwrap();
    assert_eq!(closed.ingestion.word(), "pds_only");
    assert_eq!(closed.value.state, IssueState::Closed);
}

#[tokio::test]
async fn list_distrusts_index_without_states() {
    let stage = Stage::new();
    let issue = open(&stage, "One").await;
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    stage.world.index().set_moods(Moods {
        statuses: false,
        ..Moods::default()
    });
    let old = TangledSettings {
        ingested: forge_tangled::IngestedCollections::at(
            "2026-06",
            &forge_tangled::Dialects::default(),
        ),
        ..stage.settings()
    };
    let forge = stage.tangled_with(old, Some(&stage.alice));
    let close = to(IssueState::Closed);
    forge.set_issue_state(&issue.id, &close).await.unwrap();
    forge.close(&pull.id, &CloseReq::default()).await.unwrap();
    for (state, pulls, count) in [
        (IssueFilter::Closed, StateFilter::Closed, 1),
        (IssueFilter::Open, StateFilter::Open, 0),
    ] {
        let mut query = IssueQuery::default();
        query.state = state;
        let page = forge.issues(&stage.id(), &query, PageReq::first(9)).await;
        let page = page.unwrap();
        assert_eq!(page.items.len(), count, "{page:?}");
        assert_eq!(page.total, Some(count as u64));
        let told = "because this index does not ingest sh.tangled.repo.issue.state";
        assert!(said(&page.warnings, told), "{:?}", page.warnings);
        let mut query = PullQuery::default();
        query.state = pulls;
        let page = forge.list(&stage.id(), &query, PageReq::first(9)).await;
        let page = page.unwrap();
        assert_eq!(page.items.len(), count, "{page:?}");
        assert_eq!(page.total, Some(count as u64));
        let told = "because this index does not ingest sh.tangled.repo.pull.status";
        assert!(said(&page.warnings, told), "{:?}", page.warnings);
    }
}

/// The index of mid-2026 counts no states of owners and collaborators.
#[tokio::test]
async fn list_by_state_warns_of_missing_rows() {
    let stage = Stage::new();
    stage.world.index().set_moods(Moods {
        counts_authors_only: true,
        ..Moods::default()
    });
    let bob = stage.tangled(&stage.bob);
    let issue = bob.create_issue(&stage.id(), &new("One")).await;
    let issue = issue.unwrap().value;
    let pull = stage.open(&stage.handle(&stage.bob), "topic").await;
    let forge = stage.tangled(&stage.alice);
    let close = to(IssueState::Closed);
    forge.set_issue_state(&issue.id, &close).await.unwrap();
    forge.merge(&pull.id, &MergeReq::default()).await.unwrap();
    let told = "rows may be missing whose state was set by others";
    for (state, count, is_told) in [
        (StateFilter::Merged, 0, true),
        (StateFilter::Closed, 0, true),
        (StateFilter::Open, 1, false),
        (StateFilter::All, 1, false),
    ] {
        let mut query = PullQuery::default();
        query.state = state;
        query.fields = PrFields::ROW;
        let page = forge.list(&stage.id(), &query, PageReq::first(9)).await;
        let page = page.unwrap();
        let found = (page.items.len(), said(&page.warnings, told));
        assert_eq!(found, (count, is_told), "{state:?}: {page:?}");
    }
    for (state, count, is_told) in [
        (IssueFilter::Closed, 0, true),
        (IssueFilter::Open, 1, false),
        (IssueFilter::All, 1, false),
    ] {
        let mut query = IssueQuery::default();
        query.state = state;
        let page = forge.issues(&stage.id(), &query, PageReq::first(9)).await;
        let page = page.unwrap();
        let found = (page.items.len(), said(&page.warnings, told));
        assert_eq!(found, (count, is_told), "{state:?}: {page:?}");
    }
    let view = forge.view(&pull.id, PrFields::NONE).await.unwrap();
    assert_eq!(view.state, PrState::Merged);
    let view = forge.issue(&issue.id, &COMMENTS).await.unwrap();
    assert_eq!(view.state, IssueState::Closed);
}

#[tokio::test]
async fn lost_issue_is_put_once_more() {
    let stage = Stage::new();
    stage.world.index().lose_next(ISSUE, 1);
    let settings = TangledSettings {
        wait: Duration::from_secs(2),
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let made = forge.create_issue(&stage.id(), &new("One")).await.unwrap();
    assert_eq!(made.ingestion.word(), "confirmed");
}

#[tokio::test]
async fn lost_issue_answer_neither_fails_nor_repeats() {
    for fault in [
        Fault::reset().committed(),
        Fault::gateway(502).committed(),
        Fault::reset(),
    ] {
        let stage = Stage::new();
        let forge = stage.tangled(&stage.alice);
        let pds = stage.world.pds();
        pds.host().fault(fault.clone().on(APPLY));
        let made = forge.create_issue(&stage.id(), &new("One")).await.unwrap();
        pds.host().fault(fault.on(APPLY));
        let id = made.value.id;
        forge.create_issue_comment(&id, "Nice").await.unwrap();
        assert_eq!(pds.host().faults_left(), 0);
        for collection in [ISSUE, "sh.tangled.feed.comment"] {
            let records = pds.records(&stage.alice.did, collection);
            assert_eq!(records.len(), 1, "{collection}");
        }
    }
}

#[tokio::test]
async fn refused_retry_does_not_hide_first_success() {
    let stage = Stage::new();
    let pds = stage.world.pds();
    let refusal = || Fault::error(400, "InvalidRequest", "no");
    let unread = refusal().on("com.atproto.repo.getRecord").about(ISSUE);
    pds.host().fault(Fault::reset().committed().on(APPLY));
    pds.host().fault(unread);
    pds.host().fault(refusal().on(APPLY));
    let forge = stage.tangled(&stage.alice);
    let made = forge.create_issue(&stage.id(), &new("One")).await.unwrap();
    assert_eq!(pds.host().faults_left(), 0);
    let records = pds.records(&stage.alice.did, ISSUE);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].0, made.value.node_id);
}

#[tokio::test]
async fn ambiguous_write_names_the_record() {
    let stage = Stage::new();
    let id = open(&stage, "One").await.id;
    let forge = stage.tangled(&stage.alice);
    let lost = Fault::gateway(502).on(APPLY).always();
    stage.world.pds().host().fault(lost);
    let e = forge.create_issue_comment(&id, "Nice").await.unwrap_err();
    assert_eq!(e.retry(), forge_core::Retry::Ambiguous);
    let hint = e.hint().unwrap().text();
    assert!(hint.contains("/sh.tangled.feed.comment/"), "{hint}");
    let view = Action::op(Op::IssueView);
    let comments = view.on(&id.key).with(Param::Include, "comments");
    assert_eq!(*action(&e), comments);
    let e = forge.create_issue(&stage.id(), &new("Two")).await;
    let e = e.unwrap_err();
    let view = action(&e);
    assert_eq!(view.call(), Call::Op(Op::IssueView));
    assert!(view.target().unwrap().starts_with("at://"), "{view:?}");
}

#[tokio::test]
async fn strangers_issue_state_is_refused_and_ignored() {
    let stage = Stage::new();
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let issue = open(&stage, "One").await;
    let forge = stage.tangled(&carol);
    let close = to(IssueState::Closed);
    let refused = forge.set_issue_state(&issue.id, &close).await.unwrap_err();
    assert_eq!(refused.code(), "permission_denied");
    assert!(stage.world.pds().records(&carol.did, STATE).is_empty());
    // A client wrote a state without permission: the index shows this state, a view ignores it.
    let state = json!({
        "issue": issue.node_id,
        "state": "sh.tangled.repo.issue.state.closed",
        "createdAt": "2036-01-01T00:00:00Z",
    });
    stage
        .world
        .pds()
        .put(&carol.did, STATE, "3mkuuamwfj322", state);
    let bob = stage.tangled(&stage.bob);
    let view = bob.issue(&issue.id, &COMMENTS).await.unwrap();
    assert_eq!(view.state, IssueState::Open);
    let rows = bob.issues(&stage.id(), &all(), PageReq::first(9)).await;
    let row = &rows.unwrap().items[0];
    assert_eq!(row.state, IssueState::Closed);
    assert!(said(&row.warnings, "that of the index"), "{row:?}");
    // A collaborator may set the state.
    let closed = bob.set_issue_state(&issue.id, &close).await.unwrap();
    assert_eq!(closed.value.state, IssueState::Closed);
}

#[tokio::test]
async fn state_time_is_after_the_previous_state() {
    let stage = Stage::new();
    let issue = open(&stage, "One").await;
    let state = json!({
        "issue": issue.node_id,
        "state": "sh.tangled.repo.issue.state.closed",
        "createdAt": "2036-01-01T00:00:00Z",
    });
    let did = &stage.bob.did;
    stage.world.pds().put(did, STATE, "3mkuuamwfj322", state);
    let forge = stage.tangled(&stage.alice);
    let reopen = to(IssueState::Open);
    let open = forge.set_issue_state(&issue.id, &reopen).await.unwrap();
    assert_eq!(open.value.state, IssueState::Open);
    let view = forge.issue(&issue.id, &COMMENTS).await.unwrap();
    assert_eq!(view.state, IssueState::Open);
}

#[tokio::test]
async fn unknown_index_state_is_computed_with_warning() {
    let stage = Stage::new();
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    let issue = open(&stage, "First").await;
    let forge = stage.tangled(&stage.alice);
    let close = to(IssueState::Closed);
    forge.set_issue_state(&issue.id, &close).await.unwrap();
    forge.close(&pull.id, &CloseReq::default()).await.unwrap();
    let index = stage.world.index().host();
    for (list, uri) in [
        ("sh.tangled.repo.listPulls", &pull.node_id),
        ("sh.tangled.repo.listIssues", &issue.node_id),
    ] {
        let (cid, value) = stage.world.pds().record(uri).unwrap();
        let row = json!({
            "uri": uri, "cid": cid, "value": value, "state": "abandoned", "commentCount": 0,
        });
        let rows = json!({ "items": [row] }).to_string();
        let json = [("content-type", "application/json")];
        index.fault(Fault::answer(200, &json, rows).on(list).always());
    }
    let told = "the state 'abandoned', which forge does not know; the state is computed";
    let rows = forge.issues(&stage.id(), &all(), PageReq::first(9)).await;
    let row = rows.unwrap().items.remove(0);
    assert_eq!(row.state, IssueState::Closed);
    assert!(said(&row.warnings, told), "{:?}", row.warnings);
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    query.fields = PrFields::ROW;
    let rows = forge.list(&stage.id(), &query, PageReq::first(9)).await;
    let row = rows.unwrap().items.remove(0);
    assert_eq!(row.state, PrState::Closed);
    assert!(said(&row.warnings, told), "{:?}", row.warnings);
}

#[tokio::test]
async fn issues_are_read_from_known_accounts_without_index() {
    let stage = Stage::new();
    let first = open(&stage, "First").await;
    let bob = stage.tangled(&stage.bob);
    bob.create_issue(&stage.id(), &new("Second")).await.unwrap();
    bob.create_issue_comment(&first.id, "Nice").await.unwrap();
    let close = to(IssueState::Closed);
    bob.set_issue_state(&first.id, &close).await.unwrap();
    for backlinks in [true, false] {
        stage.world.index().host().set_down(true);
        stage.world.index().backlinks().set_down(!backlinks);
        let forge = stage.tangled(&stage.alice);
        let rows = forge.issues(&stage.id(), &all(), PageReq::first(9)).await;
        let rows = rows.unwrap();
        let titles: Vec<_> = rows.items.iter().map(|i| i.title.as_str()).collect();
        assert_eq!(titles, ["Second", "First"], "backlinks: {backlinks}");
        assert_eq!(rows.items[1].state, IssueState::Closed);
        assert!(said(&rows.warnings, "read from"), "{:?}", rows.warnings);
        let open = IssueQuery::default();
        let rows = forge.issues(&stage.id(), &open, PageReq::first(1)).await;
        assert_eq!(rows.unwrap().items[0].title, "Second");
        let view = forge.issue(&first.id, &COMMENTS).await.unwrap();
        assert_eq!(view.state, IssueState::Closed);
        assert_eq!(view.comments.unwrap()[0].body, "Nice");
        assert!(said(&view.warnings, "read from"), "{:?}", view.warnings);
    }
}

#[tokio::test]
async fn issue_list_without_index_has_pages() {
    let stage = Stage::new();
    for title in ["First", "Second", "Third"] {
        open(&stage, title).await;
    }
    let forge = stage.tangled(&stage.bob);
    let page = forge.issues(&stage.id(), &all(), PageReq::first(9)).await;
    let page = page.unwrap();
    let source = page.source.as_deref().unwrap_or_default();
    assert!(source.starts_with("the index at "), "{source}");
    assert_eq!(page.total, Some(3));
    stage.world.index().host().set_down(true);
    let (mut titles, mut request) = (Vec::new(), PageReq::first(2));
    loop {
        let page = forge.issues(&stage.id(), &all(), request).await.unwrap();
        let source = page.source.as_deref().unwrap_or_default();
        assert!(source.starts_with("the backlinks at "), "{source}");
        assert_eq!(page.total, Some(3));
        titles.extend(page.items.into_iter().map(|issue| issue.title));
        let Some(next) = page.next else { break };
        request = PageReq::after(next, 2);
    }
    assert_eq!(titles, ["Third", "Second", "First"]);
}

#[tokio::test]
async fn issue_number_is_resolved_on_web_page() {
    let stage = Stage::new();
    open(&stage, "First").await;
    let second = open(&stage, "Second").await;
    let forge = stage.tangled(&stage.bob);
    let id = IssueId::number(stage.id(), 2);
    let found = forge.issue(&id, &IssueFields::default()).await.unwrap();
    assert_eq!((found.id, found.number), (second.id, Some(2)));
    assert!(found.url.ends_with("/alice.test/widget/issues/2"));
    let none = IssueId::number(stage.id(), 3);
    let e = forge
        .issue(&none, &IssueFields::default())
        .await
        .unwrap_err();
    assert_eq!(e.code(), "not_found");
}

#[tokio::test]
async fn issue_list_takes_a_request_per_page() {
    let stage = Stage::new();
    for n in 0..3 {
        open(&stage, &format!("Issue {n}")).await;
    }
    let repo = stage.handle(&stage.bob);
    let query = all();
    let list = || repo.issues(&query, PageReq::first(2));
    list().await.unwrap();
    let index = stage.world.index().host();
    index.reset_record();
    stage.world.pds().host().reset_record();
    let page = list().await.unwrap();
    assert!(page.next.is_some());
    assert_eq!(index.requests().len(), 1);
    assert!(stage.world.pds().host().requests().is_empty());
}

#[tokio::test]
async fn issue_record_can_be_inspected() {
    let stage = Stage::new();
    let issue = open(&stage, "One").await;
    let forge = stage.tangled(&stage.alice);
    let uri = forge_core::AtUri::parse(&issue.node_id).unwrap();
    let report = forge.check_ingestion(&uri).await.unwrap();
    assert_eq!(report.ingestion.word(), "confirmed");
    let id = forge.issue_of_record(&uri).await.unwrap();
    assert_eq!(id.key, issue.id.key);
    stage.world.index().set_moods(Moods {
        drops_unauthorised: true,
        ..Moods::default()
    });
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let state = json!({
        "issue": issue.node_id,
        "state": "sh.tangled.repo.issue.state.closed",
        "createdAt": "2026-11-01T00:00:00Z",
    });
    let (uri, _) = stage
        .world
        .pds()
        .put(&carol.did, STATE, "3mkuuamwfj322", state);
    let uri = forge_core::AtUri::parse(&uri).unwrap();
    let report = forge.check_ingestion(&uri).await.unwrap();
    assert_eq!(report.ingestion.word(), "ineffective");
    assert!(report.because.contains("not authorised"), "{report:?}");
}

#[tokio::test]
async fn issues_of_2025_are_read_and_not_written() {
    let stage = Stage::new();
    let old = stage.world.repository_2025(&stage.alice, "old");
    let id = RepoId {
        path: RepoPath::Named {
            owner: stage.alice.handle.clone(),
            name: old.name.clone(),
        },
        ..stage.id()
    };
    let issue = json!({
        "repo": old.uri, "title": "Old", "body": "B", "createdAt": "2025-11-01T00:00:00Z",
    });
    let (uri, _) = stage
        .world
        .pds()
        .put(&stage.bob.did, ISSUE, "3mkuuamwfj322", issue);
    let state = json!({"issue": uri, "state": "sh.tangled.repo.issue.state.closed"});
    stage
        .world
        .pds()
        .put(&stage.alice.did, STATE, "3mkuuamwfj323", state);
    // No index ingests a state without a time; the account's own server has the state.
    stage.world.index().host().set_down(true);
    let forge = stage.tangled(&stage.alice);
    let key = IssueId {
        repo: id.clone(),
        key: forge_core::PrKey::Record(uri),
    };
    let view = forge.issue(&key, &COMMENTS).await.unwrap();
    assert_eq!(
        (view.title.as_str(), view.state),
        ("Old", IssueState::Closed)
    );
    let rows = forge.issues(&id, &all(), PageReq::first(9)).await.unwrap();
    let titles: Vec<_> = rows.items.iter().map(|i| i.title.as_str()).collect();
    assert_eq!((titles, rows.total), (vec!["Old"], Some(1)));
    let e = forge.create_issue(&id, &new("One")).await.unwrap_err();
    assert_eq!(e.code(), "unsupported");
}

#[tokio::test]
async fn tickets_without_a_branch_are_issues() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "new");
    let knot = stage.world.knot();
    let ticket = |title: &str, state: &str, branch: Option<&str>| {
        let mut value = json!({
            "title": {"text": title}, "body": {"text": "Why"}, "state": state,
            "tangledLabels": [{"key": "bug"}], "createdAt": "2026-11-01T00:00:00Z",
            "x-tngl-editor": stage.bob.did,
        });
        if let Some(branch) = branch {
            value["targetBranch"] = json!(branch);
        }
        value
    };
    knot.put_record(
        &repo.did,
        TICKET,
        "3mkuuamwfj322",
        ticket("Pull", "open", Some("main")),
    );
    knot.put_record(
        &repo.did,
        TICKET,
        "3mkuuamwfj323",
        ticket("Done", "completed", None),
    );
    let id = stage.id_of(&repo);
    let forge = stage.tangled(&stage.alice);
    let made = forge.create_issue(&id, &new("One")).await.unwrap();
    assert_eq!(made.ingestion.word(), "immediate");
    assert!(said(&made.warnings, "experimental"));
    let titles = |page: forge_core::Page<Issue>| {
        let items = page.items.into_iter();
        items.map(|i| i.title).collect::<Vec<_>>()
    };
    let rows = forge.issues(&id, &all(), PageReq::first(9)).await.unwrap();
    assert_eq!(titles(rows), ["One", "Done"]);
    let rows = forge
        .issues(&id, &IssueQuery::default(), PageReq::first(9))
        .await;
    assert_eq!(titles(rows.unwrap()), ["One"]);
    let mut labelled = all();
    labelled.labels = vec!["BUG".into()];
    let rows = forge
        .issues(&id, &labelled, PageReq::first(9))
        .await
        .unwrap();
    assert_eq!(titles(rows), ["Done"]);

    let issue = &made.value.id;
    forge.create_issue_comment(issue, "Nice").await.unwrap();
    let mut edit = EditIssue::default();
    edit.title = Some("Two".into());
    edit.labels = SetChange {
        add: vec!["BUG".into()],
        ..SetChange::default()
    };
    let edited = forge.edit_issue(issue, &edit).await.unwrap();
    assert_eq!(edited.value.title, "Two");
    assert_eq!(edited.value.labels[0].name, "bug");
    // The spelling of "closed" is learned from the other tickets.
    let close = to(IssueState::Closed);
    let closed = forge.set_issue_state(issue, &close).await.unwrap();
    assert_eq!(closed.value.state, IssueState::Closed);
    let records = knot.records(&repo.did, TICKET);
    let ours = records.iter().find(|(uri, ..)| *uri == made.value.node_id);
    assert_eq!(ours.unwrap().2["state"], "completed");
    let view = forge.issue(issue, &COMMENTS).await.unwrap();
    assert_eq!(view.comments.unwrap()[0].body, "Nice");
    let reopened = forge.set_issue_state(issue, &to(IssueState::Open)).await;
    assert_eq!(reopened.unwrap().value.state, IssueState::Open);
    let written = stage.world.pds().records(&stage.alice.did, ISSUE);
    assert!(written.is_empty(), "nothing of sh.tangled is written there");
}

#[tokio::test]
async fn closing_comment_of_issue_is_written_once() {
    const COMMENT: &str = "sh.tangled.feed.comment";
    let stage = Stage::new();
    let id = open(&stage, "One").await.id;
    let close = to(IssueState::Closed).with_comment("Not now.");
    let said = || stage.world.pds().records(&stage.alice.did, COMMENT).len();
    // The comment is written, the state is not.
    let refusal = Fault::error(400, "InvalidRequest", "no");
    let refusal = refusal.on("com.atproto.repo.applyWrites").about(STATE);
    stage.world.pds().host().fault(refusal);
    let e = stage
        .tangled(&stage.alice)
        .set_issue_state(&id, &close)
        .await;
    let e = e.unwrap_err();
    assert!(
        e.message()
            .starts_with("the comment is written, but the new state of at://"),
        "{e:?}"
    );
    assert_eq!(said(), 1);
    let closed = stage
        .tangled(&stage.alice)
        .set_issue_state(&id, &close)
        .await;
    let closed = closed.unwrap();
    assert_eq!((closed.value.state, said()), (IssueState::Closed, 1));
    assert!(said_in(&closed.warnings), "{:?}", closed.warnings);
    let again = stage
        .tangled(&stage.alice)
        .set_issue_state(&id, &close)
        .await;
    assert!(again.unwrap().unchanged && said() == 1);
    // If the state does not change, the new comment is not written, and a warning says so.
    let other = to(IssueState::Closed).with_comment("Nor later.");
    let forge = stage.tangled(&stage.alice);
    let unsaid = forge.set_issue_state(&id, &other).await.unwrap();
    assert!(unsaid.unchanged && said() == 1);
    let told = |w: &Warning| w.message.starts_with("the comment was not written");
    assert!(unsaid.warnings.iter().any(told), "{:?}", unsaid.warnings);
    let forge = stage.tangled(&stage.alice);
    forge
        .set_issue_state(&id, &to(IssueState::Open))
        .await
        .unwrap();
    forge.set_issue_state(&id, &close).await.unwrap();
    assert_eq!(said(), 2, "the second closing has its own comment");
}

fn said_in(warnings: &[Warning]) -> bool {
    said(warnings, "already exists")
}

#[tokio::test]
async fn closing_comment_of_ticket_is_written_once() {
    const COMMENT: &str = "org.tangled.feed.comment";
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let knot = stage.world.knot();
    let forge = stage.tangled(&stage.alice);
    let issue = forge.create_issue(&id, &new("One")).await.unwrap().value.id;
    let close = to(IssueState::Closed).with_comment("Not now.");
    let count = || knot.records(&repo.did, COMMENT).len();
    let refusal = Fault::error(403, "Forbidden", "no");
    knot.host()
        .fault(refusal.on("com.atproto.repo.createRecord"));
    let closed = forge.set_issue_state(&issue, &close).await.unwrap();
    assert_eq!((closed.value.state, count()), (IssueState::Closed, 0));
    assert!(said(&closed.warnings, "the comment was not written"));
    assert!(said(&closed.warnings, "'closed', which is a guess"));
    for is_said in [false, true] {
        let again = forge.set_issue_state(&issue, &close).await.unwrap();
        assert!(again.already && count() == 1, "{again:?}");
        assert_eq!(again.unchanged, is_said, "{again:?}");
        assert!(said(&again.warnings, "experimental"), "{again:?}");
    }
}
