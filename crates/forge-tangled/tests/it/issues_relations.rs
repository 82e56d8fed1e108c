//! Parents, sub-issues and dependencies: labels whose values are issues.

use forge_core::{
    Issues, PageReq, PrKey,
    model::{
        EditIssue, Issue, IssueFields, IssueId, IssueQuery, IssueRelations, IssueState, NewIssue,
        SetChange, SetIssueState,
    },
};
use forge_tangled::Tangled;
use forge_tangled_world::Fault;
use serde_json::json;

use crate::{
    issues_fields::field,
    stage::{PASSWORD, Stage},
};

const OP: &str = "sh.tangled.label.op";
const RELATIONS: IssueFields = IssueFields::RELATIONS;

async fn ready(stage: &Stage) -> Tangled {
    let forge = stage.tangled(&stage.alice);
    for wanted in [field("parent", &[]), field("blocked-by", &[])] {
        let defined = forge.define_issue_field(stage.repo_id(), None, &wanted);
        defined.await.unwrap();
    }
    forge
}

async fn open(stage: &Stage, forge: &Tangled, title: &str, parent: Option<&IssueId>) -> Issue {
    let mut new = NewIssue::new(title, "");
    new.parent = parent.cloned();
    let made = forge.create_issue(stage.repo_id(), &new).await;
    made.unwrap().value
}

fn titles(of: &[forge_core::model::RelatedIssue]) -> Vec<&str> {
    of.iter().map(|r| r.title.as_str()).collect()
}

async fn relations(forge: &Tangled, id: &IssueId) -> IssueRelations {
    let view = forge.issue(id, &RELATIONS).await.unwrap();
    view.relations.unwrap()
}

fn blocked_by(add: &[&IssueId], remove: &[&IssueId]) -> EditIssue {
    let owned = |ids: &[&IssueId]| ids.iter().map(|id| (*id).clone()).collect();
    let mut edit = EditIssue::default();
    edit.blocked_by = SetChange {
        add: owned(add),
        remove: owned(remove),
    };
    edit
}

/// Returns the key of one of Alice's definitions.
fn key(stage: &Stage, name: &str) -> String {
    let all = stage
        .world
        .pds()
        .records(&stage.alice.did, "sh.tangled.label.definition");
    let found = all.into_iter().find(|(_, _, value)| value["name"] == name);
    found.unwrap().0
}

#[tokio::test]
async fn relations_are_read_from_both_ends() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let parent = open(&stage, &forge, "Parent", None).await;
    let first = open(&stage, &forge, "First", Some(&parent.id)).await;
    let second = open(&stage, &forge, "Second", Some(&parent.id)).await;
    let blocked = forge
        .edit_issue(&second.id, &blocked_by(&[&first.id], &[]))
        .await;
    assert_eq!(blocked.unwrap().ingestion.word(), "confirmed");
    let close = SetIssueState::to(IssueState::Closed);
    forge.set_issue_state(&first.id, &close).await.unwrap();

    let bob = stage.tangled(&stage.bob);
    let of_parent = relations(&bob, &parent.id).await;
    assert_eq!(titles(&of_parent.sub_issues), ["First", "Second"]);
    let states: Vec<_> = of_parent.sub_issues.iter().map(|r| r.state).collect();
    assert_eq!(states, [IssueState::Closed, IssueState::Open]);
    assert!(!of_parent.truncated);
    let of_first = relations(&bob, &first.id).await;
    assert_eq!(of_first.parent.unwrap().id, parent.id);
    assert_eq!(titles(&of_first.blocking), ["Second"]);
    let of_second = relations(&bob, &second.id).await;
    assert_eq!(titles(&of_second.blocked_by), ["First"]);
    // A relation is stored as a label, but is not a field.
    let view = bob.issue(&second.id, &RELATIONS).await.unwrap();
    assert!(view.values.is_empty(), "{:?}", view.values);
    assert_eq!(view.labels.len(), 2);

    let mut edit = blocked_by(&[], &[&first.id]);
    edit.parent = Some(None);
    forge.edit_issue(&second.id, &edit).await.unwrap();
    let of_second = relations(&forge, &second.id).await;
    assert_eq!(of_second, IssueRelations::default());
    assert!(forge.edit_issue(&second.id, &edit).await.unwrap().unchanged);
}

#[tokio::test]
async fn related_issues_take_one_list_and_include_neighbours() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let parent = open(&stage, &forge, "Parent", None).await;
    let mut ids = Vec::new();
    for n in 0..4 {
        ids.push(
            open(&stage, &forge, &format!("Part {n}"), Some(&parent.id))
                .await
                .id,
        );
    }
    open(&stage, &forge, "Another", None).await;
    let bob = stage.tangled(&stage.bob);
    bob.related_issues(&ids[..2], &RELATIONS).await.unwrap();
    let (index, pds) = (stage.world.index().host(), stage.world.pds().host());
    index.reset_record();
    pds.reset_record();
    let set = bob.related_issues(&ids[..2], &RELATIONS).await.unwrap();
    assert!(set.failed.is_empty());
    let mut found: Vec<_> = set.issues.iter().map(|i| i.title.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["Parent", "Part 0", "Part 1", "Part 2", "Part 3"]);
    assert!(set.issues.iter().all(|i| i.relations.is_some()));
    // A single list of issues, and the labels and states of both accounts with push access.
    assert_eq!(index.count_of("sh.tangled.repo.listIssues"), 1);
    assert_eq!(index.requests().len(), 1);
    assert_eq!(pds.count_of("com.atproto.repo.listRecords"), 4);
    assert_eq!(pds.requests().len(), 4);
}

#[tokio::test]
async fn missing_related_issue_is_reported_as_failed() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let issue = open(&stage, &forge, "One", None).await;
    let gone = IssueId {
        repo: issue.id.repo.clone(),
        key: PrKey::Record(issue.node_id.replace("/3", "/2")),
    };
    let ids = [issue.id.clone(), gone.clone()];
    let set = forge.related_issues(&ids, &RELATIONS).await.unwrap();
    assert_eq!(set.issues.len(), 1);
    assert_eq!(set.failed[0].0, gone);
    assert_eq!(set.failed[0].1.code(), "not_found");
    let e = forge
        .related_issues(&ids[1..], &RELATIONS)
        .await
        .unwrap_err();
    assert_eq!(e.code(), "not_found");
    assert!(
        forge
            .related_issues(&[], &RELATIONS)
            .await
            .unwrap()
            .issues
            .is_empty()
    );
}

#[tokio::test]
async fn relation_values_without_issue_are_ignored() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let issue = open(&stage, &forge, "One", None).await;
    let other = open(&stage, &forge, "Other", None).await;
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let blocked = key(&stage, "blocked-by");
    let long = format!(
        "at://{}/sh.tangled.repo.issue/{}",
        "x".repeat(9_000),
        "y".repeat(9_000)
    );
    let gone = issue.node_id.replace("/3", "/2");
    let op = |values: &[&str]| {
        let add: Vec<_> = values
            .iter()
            .map(|v| json!({"key": blocked, "value": v}))
            .collect();
        json!({
            "subject": issue.node_id, "performedAt": "2026-11-01T00:00:00Z", "add": add, "delete": [],
        })
    };
    let by_handle = issue.node_id.replace(&stage.alice.did, "alice.test");
    let junk = op(&[
        "null",
        "",
        "at://",
        "#7",
        &pull.node_id,
        &long,
        &by_handle,
        "at://did:plc:x/y/../z",
        &gone,
    ]);
    let pds = stage.world.pds();
    pds.put(&stage.bob.did, OP, "3mkuuamwfj322", junk);
    // A stranger's operations never count.
    pds.put(&carol.did, OP, "3mkuuamwfj323", op(&[&other.node_id]));
    let view = forge.issue(&issue.id, &RELATIONS).await.unwrap();
    let of_issue = view.relations.unwrap();
    assert_eq!(of_issue.blocked_by, []);
    assert!(!of_issue.truncated, "{:?}", view.warnings);
    let told = format!("the related issue {gone} could not be read");
    assert!(
        view.warnings.iter().any(|w| w.message.starts_with(&told)),
        "{:?}",
        view.warnings
    );
    assert_eq!(relations(&forge, &other.id).await.blocking, []);
}

#[tokio::test]
async fn related_issue_state_ignores_strangers() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let issue = open(&stage, &forge, "One", None).await;
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let of_carol = open(&stage, &stage.tangled(&carol), "Of Carol", None).await;
    let blocker = open(&stage, &forge, "Blocker", None).await;
    let edit = blocked_by(&[&blocker.id, &of_carol.id], &[]);
    forge.edit_issue(&issue.id, &edit).await.unwrap();
    let state = |issue: &str| {
        json!({
            "issue": issue, "state": "sh.tangled.repo.issue.state.closed",
            "createdAt": "2026-11-24T00:00:00Z",
        })
    };
    let pds = stage.world.pds();
    pds.add(
        &carol.did,
        "sh.tangled.repo.issue.state",
        state(&blocker.node_id),
    );
    // The operations of the issue's author count.
    pds.add(
        &carol.did,
        "sh.tangled.repo.issue.state",
        state(&of_carol.node_id),
    );
    let of_issue = relations(&forge, &issue.id).await;
    let mut states: Vec<_> = of_issue
        .blocked_by
        .iter()
        .map(|r| (r.title.as_str(), r.state))
        .collect();
    states.sort_by_key(|(title, _)| *title);
    let wanted = [
        ("Blocker", IssueState::Open),
        ("Of Carol", IssueState::Closed),
    ];
    assert_eq!(states, wanted);
}

#[tokio::test]
async fn relations_beyond_limit_or_unreachable_are_truncated() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let issue = open(&stage, &forge, "One", None).await;
    let unreachable: Vec<_> = (0..60)
        .map(|n| format!("at://did:plc:{n:024}/sh.tangled.repo.issue/3mkuuamwfj322"))
        .collect();
    let blocked = key(&stage, "blocked-by");
    let add: Vec<_> = unreachable
        .iter()
        .map(|v| json!({"key": blocked, "value": v}))
        .collect();
    let op = json!({
        "subject": issue.node_id, "performedAt": "2026-11-01T00:00:00Z", "add": add, "delete": [],
    });
    stage
        .world
        .pds()
        .put(&stage.bob.did, OP, "3mkuuamwfj322", op);
    let of_issue = relations(&forge, &issue.id).await;
    assert!(of_issue.truncated && of_issue.blocked_by.is_empty());
}

#[tokio::test]
async fn relations_without_index_are_read_from_accounts() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let parent = open(&stage, &forge, "Parent", None).await;
    open(&stage, &forge, "Part", Some(&parent.id)).await;
    stage.world.index().host().set_down(true);
    for backlinks in [true, false] {
        stage.world.index().backlinks().set_down(!backlinks);
        let of_parent = relations(&stage.tangled(&stage.alice), &parent.id).await;
        assert_eq!(
            titles(&of_parent.sub_issues),
            ["Part"],
            "backlinks: {backlinks}"
        );
        assert_eq!(of_parent.truncated, !backlinks);
    }
}

#[tokio::test]
async fn self_or_empty_relation_is_refused() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let issue = open(&stage, &forge, "One", None).await;
    let gone = IssueId {
        repo: issue.id.repo.clone(),
        key: PrKey::Record(issue.node_id.replace("/3", "/2")),
    };
    let parent = |id: &IssueId| {
        let mut edit = EditIssue::default();
        edit.parent = Some(Some(id.clone()));
        edit
    };
    stage.world.pds().host().reset_record();
    for (edit, code) in [
        (parent(&issue.id), "invalid_input"),
        (blocked_by(&[&issue.id], &[]), "invalid_input"),
        (parent(&gone), "not_found"),
    ] {
        let e = forge.edit_issue(&issue.id, &edit).await.unwrap_err();
        assert_eq!(e.code(), code, "{e}");
    }
    let writes = stage
        .world
        .pds()
        .host()
        .count_of("com.atproto.repo.applyWrites");
    assert_eq!(writes, 0);
}

#[tokio::test]
async fn rows_with_relations_cost_one_more_list() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let parent = open(&stage, &forge, "Parent", None).await;
    for n in 0..3 {
        open(&stage, &forge, &format!("Part {n}"), Some(&parent.id)).await;
    }
    let mut query = IssueQuery::default();
    query.oldest_first = true;
    query.fields = RELATIONS;
    let list = || forge.issues(stage.repo_id(), &query, PageReq::first(3));
    list().await.unwrap();
    let index = stage.world.index().host();
    index.reset_record();
    let page = list().await.unwrap();
    let found: Vec<_> = page.items.iter().map(|i| i.title.as_str()).collect();
    assert_eq!(found, ["Parent", "Part 0", "Part 1"]);
    let of_parent = page.items[0].relations.as_ref().unwrap();
    assert_eq!(of_parent.sub_issues.len(), 3);
    assert_eq!(page.items[1].labels.len(), 1);
    assert_eq!(index.count_of("sh.tangled.repo.listIssues"), 2);
    assert_eq!(index.requests().len(), 2);
    let rest = PageReq::after(page.next.unwrap(), 3);
    let rest = forge.issues(stage.repo_id(), &query, rest).await.unwrap();
    assert_eq!(rest.items[0].title, "Part 2");
}

#[tokio::test]
async fn unreadable_blocker_is_a_warning_of_the_issue() {
    let stage = Stage::new();
    let forge = ready(&stage).await;
    let waits = open(&stage, &forge, "Waits", None).await;
    let free = open(&stage, &forge, "Free", None).await;
    // The issue's server does not answer. If the issue counted as missing, the issue that it blocks
    // would become unblocked.
    let pds = stage.world.pds();
    let value = format!("at://{}/sh.tangled.repo.issue/3mkuuamwfj333", stage.bob.did);
    let down = Fault::gateway(502).on("com.atproto.repo.getRecord");
    pds.host().fault(down.about("3mkuuamwfj333").always());
    let op = json!({
        "subject": waits.node_id, "performedAt": "2026-11-01T00:00:00Z", "delete": [],
        "add": [{"key": key(&stage, "blocked-by"), "value": value}],
    });
    pds.put(&stage.bob.did, OP, "3mkuuamwfj322", op);
    for (issue, lacks) in [(&waits, true), (&free, false)] {
        let found = forge.issue(&issue.id, &RELATIONS).await.unwrap();
        let is = |w: &forge_core::Warning| w.section == Some("blocked_by");
        assert_eq!(found.warnings.iter().any(is), lacks, "{}", issue.title);
    }
}
