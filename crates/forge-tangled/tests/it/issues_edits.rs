//! Edits of whole issues: writes, checks before writes, and the remaining steps after a failure.

use forge_core::{
    Issues,
    model::{EditIssue, Issue, IssueFields, IssueId, IssueReason, IssueState, NewIssue, SetChange},
};
use forge_tangled::Tangled;
use forge_tangled_world::Fault;
use serde_json::Value;

use crate::{
    issues_fields::field,
    stage::{PASSWORD, Stage},
};

const APPLY: &str = "com.atproto.repo.applyWrites";
const PUT: &str = "com.atproto.repo.putRecord";
const COMMENT: &str = "sh.tangled.feed.comment";
const STATE: &str = "sh.tangled.repo.issue.state";
const OP: &str = "sh.tangled.label.op";

async fn open(stage: &Stage, forge: &Tangled, title: &str) -> Issue {
    let new = NewIssue::new(title, "");
    let made = forge.create_issue(stage.repo_id(), &new).await;
    made.unwrap().value
}

async fn with_fields(stage: &Stage, forge: &Tangled) {
    for wanted in [field("state", &["Todo", "Done"]), field("parent", &[])] {
        let defined = forge.define_issue_field(stage.repo_id(), None, &wanted);
        defined.await.unwrap();
    }
    let blocked_by = field("blocked-by", &[]);
    let defined = forge.define_issue_field(stage.repo_id(), None, &blocked_by);
    defined.await.unwrap();
}

/// Returns an edit of everything except the text.
fn whole(parent: &IssueId) -> EditIssue {
    let mut edit = EditIssue::default();
    edit.assignees = SetChange {
        add: vec!["@me".to_owned()],
        ..SetChange::default()
    };
    edit.values = [("state".to_owned(), Some("Done".to_owned()))].into();
    edit.parent = Some(Some(parent.clone()));
    edit.state = Some(IssueState::Closed);
    edit.comment = Some("Done.".to_owned());
    edit
}

fn count(stage: &Stage, collection: &str) -> usize {
    stage
        .world
        .pds()
        .records(&stage.alice.did, collection)
        .len()
}

fn counts(stage: &Stage) -> [usize; 3] {
    [COMMENT, OP, STATE].map(|collection| count(stage, collection))
}

/// Returns the bodies of requests to a method since the record was reset.
fn bodies(stage: &Stage, method: &str) -> Vec<Value> {
    let requests = stage.world.pds().host().requests();
    let sent = requests.iter().filter(|r| r.method() == Some(method));
    sent.map(|r| serde_json::from_str(&r.body).unwrap())
        .collect()
}

#[tokio::test]
async fn edit_of_all_fields_is_one_write() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    with_fields(&stage, &forge).await;
    let parent = open(&stage, &forge, "Parent").await;
    let issue = open(&stage, &forge, "One").await;
    stage.world.pds().host().reset_record();
    let mut edit = whole(&parent.id);
    edit.title = Some("Two".to_owned());
    edit.body = Some("Why".to_owned());
    edit.expected_version = Some(issue.version.clone());
    let edited = forge.edit_issue(&issue.id, &edit).await.unwrap();
    assert_eq!(edited.ingestion.word(), "confirmed");
    let value = &edited.value;
    assert_eq!((value.title.as_str(), value.body.as_str()), ("Two", "Why"));
    assert_eq!(value.state, IssueState::Closed);
    assert_eq!(value.values["state"], "Done");
    assert_eq!(value.assignees[0].login, "alice.test");
    assert_ne!(value.version, issue.version);
    let [put] = bodies(&stage, PUT).try_into().unwrap();
    assert_eq!(put["swapRecord"], issue.version);
    let [apply] = bodies(&stage, APPLY).try_into().unwrap();
    let writes = apply["writes"].as_array().unwrap();
    let collections: Vec<_> = writes
        .iter()
        .map(|w| w["collection"].as_str().unwrap())
        .collect();
    assert_eq!(collections, [COMMENT, OP, STATE]);
    // The comment refers to the version that the edit of the text created.
    assert_eq!(writes[0]["value"]["subject"]["cid"], value.version);
    let added = writes[1]["value"]["add"].as_array().unwrap();
    assert_eq!(added.len(), 3, "assignee, value and parent: {added:?}");

    let mut fields = IssueFields::COMMENTS;
    fields.relations = true;
    let view = forge.issue(&issue.id, &fields).await.unwrap();
    assert_eq!(view.relations.unwrap().parent.unwrap().id, parent.id);
    let comments = view.comments.unwrap();
    assert_eq!(comments[0].author_association.as_deref(), Some("OWNER"));
}

#[tokio::test]
async fn repeated_edit_changes_nothing() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    with_fields(&stage, &forge).await;
    let parent = open(&stage, &forge, "Parent").await;
    let issue = open(&stage, &forge, "One").await;
    let mut edit = whole(&parent.id);
    edit.assignees = SetChange::default();
    forge.edit_issue(&issue.id, &edit).await.unwrap();
    let before = counts(&stage);
    // Repeating the edit is what a user does after an interrupted command.
    let again = forge.edit_issue(&issue.id, &edit).await.unwrap();
    assert!(again.unchanged && again.already, "{again:?}");
    assert!(again.warnings[0].message.ends_with("is closed already"));
    assert!(
        again.warnings[1]
            .message
            .starts_with("the comment already exists")
    );
    assert_eq!(counts(&stage), before);
    // A new comment is still written, and named as a step.
    edit.comment = Some("Still done.".to_owned());
    let said = forge.edit_issue(&issue.id, &edit).await.unwrap();
    assert!(said.already && !said.unchanged, "{said:?}");
    assert_eq!(said.extra_steps().as_deref(), Some("comment"));
    assert_eq!(count(&stage, COMMENT), before[0] + 1);
    // An edit of only a comment is written each time.
    let mut comment = EditIssue::default();
    comment.comment = Some("Still done.".to_owned());
    let said = forge.edit_issue(&issue.id, &comment).await.unwrap();
    assert!(!said.already && count(&stage, COMMENT) == before[0] + 2);
}

#[tokio::test]
async fn edit_is_refused_before_any_write() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let bob = stage.tangled(&stage.bob);
    let issue = open(&stage, &forge, "One").await;
    let mut title = EditIssue::default();
    title.title = Some("Two".to_owned());
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let carol = stage.tangled(&carol);
    let mut closing = EditIssue::default();
    closing.state = Some(IssueState::Closed);
    stage.world.pds().host().reset_record();
    let with_comment = |edit: &EditIssue| {
        let mut edit = edit.clone();
        edit.comment = Some("Hm.".to_owned());
        edit
    };
    // Refused: undefined relations, another account's text and state, a reason, and a stale
    // version.
    let mut related = with_comment(&title);
    related.parent = Some(Some(issue.id.clone()));
    let e = forge.edit_issue(&issue.id, &related).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input");
    assert!(e.message().contains("label 'parent'"), "{e}");
    assert_eq!(e.hint().unwrap().text(), "define the field first");
    let e = bob.edit_issue(&issue.id, &with_comment(&title)).await;
    assert_eq!(e.unwrap_err().code(), "permission_denied");
    let e = carol.edit_issue(&issue.id, &with_comment(&closing)).await;
    assert_eq!(e.unwrap_err().code(), "permission_denied");
    let mut reason = closing.clone();
    reason.reason = Some(IssueReason::NotPlanned);
    let e = forge.edit_issue(&issue.id, &reason).await.unwrap_err();
    assert_eq!(e.code(), "unsupported");
    let mut stale = with_comment(&closing);
    stale.expected_version = Some("bafyreistale".to_owned());
    let e = bob.edit_issue(&issue.id, &stale).await.unwrap_err();
    assert_eq!(e.code(), "conflict");
    for method in [APPLY, PUT] {
        assert_eq!(stage.world.pds().host().count_of(method), 0, "{method}");
    }
}

#[tokio::test]
async fn edit_compares_version_right_before_write() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let issue = open(&stage, &forge, "One").await;
    let mut newer = EditIssue::default();
    newer.title = Some("Two".to_owned());
    let newer = forge.edit_issue(&issue.id, &newer).await.unwrap().value;
    let closing = |version: &str| {
        let mut edit = EditIssue::default();
        edit.state = Some(IssueState::Closed);
        edit.expected_version = Some(version.to_owned());
        edit
    };
    let bob = stage.tangled(&stage.bob);
    let e = bob.edit_issue(&issue.id, &closing(&issue.version)).await;
    assert_eq!(e.unwrap_err().code(), "conflict");
    stage.world.pds().host().reset_record();
    bob.edit_issue(&issue.id, &closing(&newer.version))
        .await
        .unwrap();
    let requests = stage.world.pds().host().requests();
    let write = requests
        .iter()
        .position(|r| r.method() == Some(APPLY))
        .unwrap();
    let reads: Vec<usize> = (0..write)
        .filter(|at| {
            let request = &requests[*at];
            request.method() == Some("com.atproto.repo.getRecord")
                && request.query.contains("sh.tangled.repo.issue&")
        })
        .collect();
    assert!(reads.len() >= 2, "{requests:?}");
}

#[tokio::test]
async fn edit_failing_after_text_reports_remaining_steps() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    with_fields(&stage, &forge).await;
    let parent = open(&stage, &forge, "Parent").await;
    let issue = open(&stage, &forge, "One").await;
    let before = counts(&stage);
    let refusal = Fault::error(400, "InvalidRequest", "no");
    stage.world.pds().host().fault(refusal.on(APPLY));
    let mut edit = whole(&parent.id);
    edit.title = Some("Two".to_owned());
    let e = forge.edit_issue(&issue.id, &edit).await.unwrap_err();
    let left = "but the change of its labels and its new state and the comment was not written";
    assert!(e.message().contains("has the new text"), "{e}");
    assert!(e.message().contains(left), "{e}");
    assert_eq!(counts(&stage), before);
    let done = forge.edit_issue(&issue.id, &edit).await.unwrap();
    assert_eq!(done.value.state, IssueState::Closed);
    assert_eq!(counts(&stage), before.map(|n| n + 1));
}

#[tokio::test]
async fn edit_with_lost_answer_neither_fails_nor_repeats() {
    for fault in [Fault::reset().committed(), Fault::reset()] {
        let stage = Stage::new();
        let forge = stage.tangled(&stage.alice);
        with_fields(&stage, &forge).await;
        let parent = open(&stage, &forge, "Parent").await;
        let issue = open(&stage, &forge, "One").await;
        let before = counts(&stage);
        stage.world.pds().host().fault(fault.on(APPLY));
        let done = forge.edit_issue(&issue.id, &whole(&parent.id)).await;
        assert_eq!(done.unwrap().value.values["state"], "Done");
        assert_eq!(counts(&stage), before.map(|n| n + 1));
    }
}

#[tokio::test]
async fn edits_of_a_batch_have_separate_results() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let bob = stage.tangled(&stage.bob);
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(open(&stage, &forge, &format!("Issue {n}")).await.id);
    }
    ids.push(open(&stage, &bob, "Of Bob").await.id);
    let edits: Vec<(IssueId, EditIssue)> = ids
        .iter()
        .enumerate()
        .map(|(n, id)| {
            let title = Some(format!("New {n}"));
            let mut edit = EditIssue::default();
            edit.title = title;
            (id.clone(), edit)
        })
        .collect();
    let results = forge.edit_issues(&edits).await.unwrap();
    let titles: Vec<Result<&str, &str>> = results
        .iter()
        .map(|r| {
            r.as_ref()
                .map(|o| o.value.title.as_str())
                .map_err(|e| e.code())
        })
        .collect();
    let wanted = [
        Ok("New 0"),
        Ok("New 1"),
        Ok("New 2"),
        Err("permission_denied"),
    ];
    assert_eq!(titles, wanted);
    // Two edits of the same issue run one after the other, in their order.
    let close = |state| {
        let mut edit = EditIssue::default();
        edit.state = Some(state);
        edit
    };
    let id = &ids[0];
    let edits = [
        (id.clone(), close(IssueState::Closed)),
        (id.clone(), close(IssueState::Open)),
    ];
    let results = forge.edit_issues(&edits).await.unwrap();
    assert_eq!(results[0].as_ref().unwrap().value.state, IssueState::Closed);
    assert_eq!(results[1].as_ref().unwrap().value.state, IssueState::Open);
}

#[tokio::test]
async fn edit_of_ticket_sets_state_and_comments() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let forge = stage.tangled(&stage.alice);
    let new = NewIssue::new("One", "");
    let issue = forge.create_issue(&id, &new).await.unwrap().value;
    let mut edit = EditIssue::default();
    edit.title = Some("Two".to_owned());
    edit.state = Some(IssueState::Closed);
    edit.comment = Some("Done.".to_owned());
    let edited = forge.edit_issue(&issue.id, &edit).await.unwrap();
    assert_eq!(edited.value.title, "Two");
    assert_eq!(edited.value.state, IssueState::Closed);
    assert!(!edited.unchanged && !edited.already);
    let comments = stage
        .world
        .knot()
        .records(&repo.did, "org.tangled.feed.comment");
    assert_eq!(comments.len(), 1);
    let again = forge.edit_issue(&issue.id, &edit).await.unwrap();
    assert!(again.unchanged, "{again:?}");
    let mut valued = EditIssue::default();
    valued.values = [("state".to_owned(), None)].into();
    let e = forge.edit_issue(&issue.id, &valued).await.unwrap_err();
    assert_eq!(e.code(), "unsupported");
    assert!(forge.delete_issue(&issue.id).await.is_err());
}
