//! Edits of issues on the double: counts of requests, and partial failures.

use forge_core::{
    ErrorKind, PageReq, Repo, Retry,
    model::{
        BoardId, EditIssue, Issue, IssueField, IssueFields, IssueFilter, IssueId, IssueQuery,
        IssueReason, IssueState, NewIssue, SetChange,
    },
};
use forge_github_double::{Fault, state::FieldOption};
use serde_json::json;

use crate::double::{World, handle};

const REPO: &str = "octo/tools";

/// A double with `count` issues and a board of `octo` with the fields `Status` and `Estimate`.
pub struct Board {
    pub world: World,
    pub project: u64,
}

impl Board {
    pub fn new(count: usize) -> Self {
        let world = World::new();
        let mut seed = world.double.seed();
        let project = seed.project("octo", "Plan", &["Todo", "Doing", "Done"]);
        seed.project_field(project, "Estimate", &["S", "M", "L"]);
        for n in 1..=count {
            seed.open_issue(REPO, "ada", &format!("Issue {n}"), "Text.");
        }
        drop(seed);
        Self { world, project }
    }

    /// Adds an issue to the board.
    pub fn item(&self, number: u64, status: &str) -> u64 {
        let mut seed = self.world.double.seed();
        seed.project_item(self.project, REPO, number, status)
    }

    pub fn values(&self, number: u64) -> Vec<(String, String)> {
        let seed = self.world.double.seed();
        seed.project_values(self.project, REPO, number)
    }

    /// Returns the names of the requests that `what` sends.
    pub async fn sent<T>(&self, what: impl Future<Output = T>) -> (T, Vec<String>) {
        self.world.double.reset_record();
        let result = what.await;
        let sent = self.world.double.requests().into_iter();
        (
            result,
            sent.map(|r| r.operation.unwrap_or(r.path)).collect(),
        )
    }
}

pub fn id(repo: &Repo, number: u64) -> IssueId {
    IssueId::number(repo.id().clone(), number)
}

pub fn board() -> BoardId {
    "octo/1".parse().unwrap()
}

pub fn on_board() -> IssueFields {
    let mut fields = IssueFields::NONE;
    fields.board = Some(board());
    fields
}

pub fn values<const N: usize>(values: [(&str, Option<&str>); N]) -> EditIssue {
    let values = values.into_iter();
    let mut edit = EditIssue::default();
    edit.values = values
        .map(|(k, v)| (k.to_owned(), v.map(str::to_owned)))
        .collect();
    edit.board = Some(board());
    edit
}

fn pairs(issue: &Issue) -> Vec<(&str, &str)> {
    let values = issue.values.iter();
    values.map(|(k, v)| (k.as_str(), v.as_str())).collect()
}

#[tokio::test]
async fn edit_of_all_parts_takes_two_requests() {
    let b = Board::new(4);
    b.item(1, "Todo");
    let repo = &b.world.ada;
    let mut edit = values([("status", Some("doing")), ("Estimate", Some("M"))]);
    edit.title = Some("New title".into());
    edit.body = Some("New text.".into());
    edit.labels = SetChange {
        add: vec!["Bug".into()],
        remove: vec![],
    };
    edit.assignees = SetChange {
        add: vec!["@me".into(), "grace".into()],
        remove: vec![],
    };
    edit.parent = Some(Some(id(repo, 2)));
    edit.blocked_by = SetChange {
        add: vec![id(repo, 3), id(repo, 4)],
        remove: vec![],
    };
    edit.state = Some(IssueState::Closed);
    edit.reason = Some(IssueReason::NotPlanned);
    edit.comment = Some("Moved.".into());
    let (done, sent) = b.sent(repo.edit_issue(&id(repo, 1), &edit)).await;
    assert_eq!(sent, ["IssueEdit", "updateIssue"]);
    let done = done.unwrap();
    assert!(done.warnings.is_empty(), "{:?}", done.warnings);
    let mut fields = on_board();
    fields.comments = true;
    fields.relations = true;
    let (now, sent) = b.sent(repo.issue(&id(repo, 1), &fields)).await;
    assert_eq!(sent, ["IssueView"]);
    let now = now.unwrap();
    for issue in [&done.value, &now] {
        assert_eq!(
            (issue.title.as_str(), issue.body.as_str()),
            ("New title", "New text.")
        );
        assert_eq!(issue.labels[0].name, "bug");
        let people: Vec<_> = issue.assignees.iter().map(|a| a.login.as_str()).collect();
        assert_eq!(people, ["ada", "grace"]);
        assert_eq!(issue.state, IssueState::Closed);
        assert_eq!(issue.state_reason, Some(IssueReason::NotPlanned));
        assert_eq!(pairs(issue), [("Estimate", "M"), ("Status", "Doing")]);
        let relations = issue.relations.as_ref().unwrap();
        assert_eq!(relations.parent.as_ref().unwrap().id, id(repo, 2));
        let mut blockers: Vec<_> = relations.blocked_by.iter().map(|r| r.id.clone()).collect();
        blockers.sort_by_key(ToString::to_string);
        assert_eq!(blockers, [id(repo, 3), id(repo, 4)]);
    }
    assert_eq!(now.comments.unwrap()[0].body, "Moved.");
    assert_eq!(done.value.version, now.version);

    edit.comment = None;
    let (again, sent) = b.sent(repo.edit_issue(&id(repo, 1), &edit)).await;
    assert!(again.unwrap().unchanged);
    assert_eq!(sent, ["IssueEdit"]);
}

#[tokio::test]
async fn edit_clears_all_values_and_relations() {
    let b = Board::new(3);
    b.item(1, "Todo");
    let repo = &b.world.ada;
    let mut seed = b.world.double.seed();
    seed.sub_issue((REPO, 2), (REPO, 1));
    seed.blocked_by((REPO, 1), (REPO, 3));
    seed.label_issue(REPO, 1, "bug");
    drop(seed);
    let mut assign = EditIssue::default();
    assign.assignees = SetChange {
        add: vec!["grace".into()],
        remove: vec![],
    };
    repo.edit_issue(&id(repo, 1), &assign).await.unwrap();
    let mut edit = values([("Status", None), ("Estimate", None)]);
    edit.labels = SetChange {
        add: vec![],
        remove: vec!["bug".into()],
    };
    edit.assignees = SetChange {
        add: vec![],
        remove: vec!["grace".into(), "ada".into()],
    };
    edit.parent = Some(None);
    edit.blocked_by = SetChange {
        add: vec![],
        remove: vec![id(repo, 3), id(repo, 2)],
    };
    let (done, sent) = b.sent(repo.edit_issue(&id(repo, 1), &edit)).await;
    assert_eq!(sent.len(), 2);
    let issue = done.unwrap().value;
    assert!(issue.labels.is_empty() && issue.assignees.is_empty() && issue.values.is_empty());
    let relations = issue.relations.unwrap();
    assert_eq!((relations.parent, relations.blocked_by), (None, vec![]));
    assert_eq!(b.values(1), []);
}

#[tokio::test]
async fn issue_missing_from_board_is_added_before_edit() {
    let b = Board::new(2);
    let repo = &b.world.ada;
    let edit = values([("Status", Some("Todo"))]);
    let (done, sent) = b.sent(repo.edit_issue(&id(repo, 1), &edit)).await;
    assert_eq!(pairs(&done.unwrap().value), [("Status", "Todo")]);
    assert_eq!(
        sent,
        [
            "IssueEdit",
            "addProjectV2ItemById",
            "updateProjectV2ItemFieldValue"
        ]
    );
    // Issue 2 is not on the board and has no values, so clearing a value changes nothing.
    let clear = values([("Status", None)]);
    let (done, sent) = b.sent(repo.edit_issue(&id(repo, 2), &clear)).await;
    assert!(done.unwrap().unchanged);
    assert_eq!(sent, ["IssueEdit"]);
}

#[tokio::test]
async fn archived_item_has_no_values_and_refuses_writes() {
    let b = Board::new(1);
    let item = b.item(1, "Todo");
    b.world.double.seed().archive_item(item);
    let repo = &b.world.ada;
    let issue = repo.issue(&id(repo, 1), &on_board()).await.unwrap();
    assert!(issue.values.is_empty());
    let edit = values([("Status", Some("Done"))]);
    let e = repo.edit_issue(&id(repo, 1), &edit).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed");
    assert!(e.message().contains("archive of board octo/1"), "{e}");
}

#[tokio::test]
async fn unknown_field_or_value_lists_valid_names() {
    let b = Board::new(1);
    b.item(1, "Todo");
    let repo = &b.world.ada;
    for (edit, message, hint) in [
        (
            values([("Stats", Some("Todo"))]),
            "board octo/1 has no field 'Stats'; nothing was changed",
            "the fields are 'Status', 'Estimate'; did you mean 'Status'?",
        ),
        (
            values([("Status", Some("Dong"))]),
            "field 'Status' of board octo/1 has no value 'Dong'; nothing was changed",
            "the values are 'Todo', 'Doing', 'Done'; did you mean 'Doing' or 'Done'?",
        ),
    ] {
        let e = repo.edit_issue(&id(repo, 1), &edit).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert_eq!(e.message(), message);
        let told = e.hint().unwrap().to_string();
        assert!(
            told.starts_with(hint.split(" or ").next().unwrap()),
            "{told}"
        );
    }
    // If a value is unknown, the cached board is read again.
    let edit = values([("Status", Some("New"))]);
    let (e, sent) = b.sent(repo.edit_issue(&id(repo, 1), &edit)).await;
    assert_eq!(e.unwrap_err().code(), "invalid_input");
    assert_eq!(sent, ["IssueEdit", "Board"]);
    let field = IssueField::new("Status", vec!["New".into()]);
    b.world
        .grace
        .define_issue_field(Some(&board()), &field)
        .await
        .unwrap();
    let (done, sent) = b.sent(repo.edit_issue(&id(repo, 1), &edit)).await;
    assert_eq!(pairs(&done.unwrap().value), [("Status", "New")]);
    assert_eq!(
        sent,
        ["IssueEdit", "Board", "updateProjectV2ItemFieldValue"]
    );
    let mut without = edit.clone();
    without.board = None;
    let e = repo.edit_issue(&id(repo, 1), &without).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input");
    let mut nowhere = edit;
    nowhere.board = Some("octo/9".parse().unwrap());
    let e = repo.edit_issue(&id(repo, 1), &nowhere).await.unwrap_err();
    assert_eq!(
        (e.code(), e.message()),
        ("not_found", "there is no board octo/9")
    );
    let listed = "the open boards of octo are octo/1 \"Plan\"; name one of them and try again";
    assert_eq!(e.hint().unwrap().text(), listed);
}

#[tokio::test]
async fn redefined_option_is_resent_with_new_id() {
    let b = Board::new(1);
    b.item(1, "Todo");
    let repo = &b.world.ada;
    // The ids are looked up and cached.
    let doing = values([("Status", Some("Doing"))]);
    repo.edit_issue(&id(repo, 1), &doing).await.unwrap();
    let change_options = |change: fn(&mut Vec<FieldOption>)| {
        let mut seed = b.world.double.seed();
        let project = seed.projects.get_mut(&b.project).unwrap();
        let fields = project.fields.iter_mut();
        fields.for_each(|field| change(&mut field.options));
    };
    change_options(|options| options.iter_mut().for_each(|o| o.id.push('0')));
    let mut done = values([("Status", Some("Done"))]);
    done.comment = Some("Moved.".into());
    let (edited, sent) = b.sent(repo.edit_issue(&id(repo, 1), &done)).await;
    assert_eq!(pairs(&edited.unwrap().value), [("Status", "Done")]);
    let update = "updateProjectV2ItemFieldValue";
    assert_eq!(sent, ["IssueEdit", update, "Board", update]);
    assert_eq!(b.values(1), [("Status".to_owned(), "Done".to_owned())]);
    assert_eq!(b.world.double.seed().comments_of(REPO, 1).len(), 1);
    // A deleted option is not sent again.
    change_options(|options| options.retain(|o| o.name != "Doing"));
    let (refused, sent) = b.sent(repo.edit_issue(&id(repo, 1), &doing)).await;
    let e = refused.unwrap_err();
    assert!(e.message().contains("does not belong to the field"), "{e}");
    assert_eq!(sent, ["IssueEdit", update, "Board"]);
}

#[tokio::test]
async fn batch_sends_two_requests_per_twenty_issues() {
    let b = Board::new(45);
    for n in 1..=45 {
        b.item(n, "Todo");
    }
    let repo = &b.world.ada;
    let edits: Vec<_> = (1..=45)
        .map(|n| {
            let mut edit = values([("Status", Some("Doing"))]);
            edit.comment = Some(format!("Moved {n}."));
            (id(repo, n), edit)
        })
        .collect();
    let (results, sent) = b.sent(repo.edit_issues(&edits)).await;
    let update = "updateProjectV2ItemFieldValue";
    assert_eq!(sent, ["IssueEdit", update, update, update]);
    for (n, result) in (1..).zip(results.unwrap()) {
        let issue = result.unwrap().value;
        assert_eq!(issue.number, Some(n));
        assert_eq!(pairs(&issue), [("Status", "Doing")]);
    }
    assert!((1..=45).all(|n| b.values(n) == [("Status".to_owned(), "Doing".to_owned())]));
    let seed = b.world.double.seed();
    assert_eq!(seed.comments_of(REPO, 45)[0].body, "Moved 45.");
}

#[tokio::test]
async fn batch_failure_affects_only_one_issue() {
    let b = Board::new(5);
    b.item(1, "Todo");
    let repo = &b.world.ada;
    let mut seed = b.world.double.seed();
    seed.sub_issue((REPO, 4), (REPO, 5));
    drop(seed);
    let title = |title: &str| {
        let mut edit = EditIssue::default();
        edit.title = Some(title.into());
        edit
    };
    let mut unknown_label = EditIssue::default();
    unknown_label.labels = SetChange {
        add: vec!["bgu".into()],
        remove: vec![],
    };
    let mut stale = title("Never");
    stale.expected_version = Some("stale".into());
    // GitHub changes the title, and then refuses the parent, which would make a cycle.
    let mut cycle = title("Half");
    cycle.parent = Some(Some(id(repo, 5)));
    let edits = [
        (id(repo, 1), title("One")),
        (id(repo, 99), title("Gone")),
        (id(repo, 2), unknown_label),
        (id(repo, 3), stale),
        (id(repo, 4), cycle),
        (id(repo, 3), title(" ")),
    ];
    let (results, sent) = b.sent(repo.edit_issues(&edits)).await;
    assert_eq!(sent, ["IssueEdit", "updateIssue"]);
    let results = results.unwrap();
    let codes: Vec<_> = results
        .iter()
        .map(|r| r.as_ref().map_or_else(|e| e.code(), |_| "done"))
        .collect();
    assert_eq!(
        codes[..4],
        ["done", "not_found", "invalid_input", "conflict"]
    );
    assert_eq!(codes[5], "invalid_input");
    let half = results[4].as_ref().unwrap_err();
    assert!(
        half.hint()
            .unwrap()
            .to_string()
            .contains("done already: text"),
        "{half:?}"
    );
    assert!(matches!(
        results[3].as_ref().unwrap_err().kind(),
        ErrorKind::Conflict { .. }
    ));
    let label = results[2].as_ref().unwrap_err();
    assert!(
        label
            .hint()
            .unwrap()
            .to_string()
            .contains("did you mean 'bug'")
    );
    let seed = b.world.double.seed();
    assert_eq!(seed.issue_of(REPO, 4).title, "Half");
    assert_eq!(seed.issue_of(REPO, 3).title, "Issue 3");
}

#[tokio::test]
async fn lost_answer_of_batch_is_read_back() {
    for committed in [true, false] {
        let b = Board::new(3);
        for n in 1..=3 {
            b.item(n, "Todo");
        }
        let repo = &b.world.ada;
        let edits: Vec<_> = (1..=3)
            .map(|n| {
                let mut edit = values([("Status", Some("Done"))]);
                edit.comment = Some("Moved.".into());
                edit.state = Some(IssueState::Closed);
                (id(repo, n), edit)
            })
            .collect();
        let fault = Fault::status(502).on_mutations();
        let fault = if committed { fault.committed() } else { fault };
        b.world.double.fault(fault);
        let (results, sent) = b.sent(repo.edit_issues(&edits)).await;
        assert_eq!(
            sent,
            ["IssueEdit", "updateProjectV2ItemFieldValue", "IssueEdit"]
        );
        for result in results.unwrap() {
            match result {
                Ok(outcome) => {
                    assert!(committed);
                    assert!(
                        outcome.warnings[0]
                            .message
                            .starts_with("the write succeeded, but its answer was lost:")
                    );
                    assert_eq!(pairs(&outcome.value), [("Status", "Done")]);
                }
                Err(e) => {
                    assert!(!committed, "{e:?}");
                    assert_eq!(e.retry(), Retry::Ambiguous);
                }
            }
        }
        let comments = b.world.double.seed().comments_of(REPO, 1).len();
        assert_eq!(comments, usize::from(committed));
    }
}

#[tokio::test]
async fn version_covers_values_relations_and_assignees() {
    let b = Board::new(2);
    b.item(1, "Todo");
    let repo = &b.world.ada;
    let mut fields = on_board();
    fields.relations = true;
    let one = id(repo, 1);
    let read = || async { repo.issue(&one, &fields).await.unwrap().version };
    let guarded = |version: &str| {
        let mut edit = values([("Estimate", Some("S"))]);
        edit.expected_version = Some(version.into());
        edit.title = Some("New".into());
        edit
    };
    let mut relations = EditIssue::default();
    relations.parent = Some(Some(id(repo, 2)));
    let mut assignees = EditIssue::default();
    assignees.assignees.add = vec!["grace".into()];
    let others: [(&str, EditIssue); 3] = [
        ("values", values([("Status", Some("Done"))])),
        ("relations", relations),
        ("assignees", assignees),
    ];
    for (what, other) in others {
        let version = read().await;
        b.world.grace.edit_issue(&one, &other).await.unwrap();
        let (e, sent) = b.sent(repo.edit_issue(&one, &guarded(&version))).await;
        assert_eq!(e.unwrap_err().code(), "conflict", "{what}");
        assert_eq!(sent, ["IssueEdit"], "{what}");
    }
    let version = read().await;
    // A comment does not change the version, because no edit can overwrite comments.
    b.world
        .grace
        .create_issue_comment(&one, "Hello.")
        .await
        .unwrap();
    let done = repo.edit_issue(&one, &guarded(&version)).await.unwrap();
    assert_eq!(done.value.version, read().await);
}

#[tokio::test]
async fn create_with_relations_and_values_takes_four_requests() {
    let b = Board::new(3);
    let repo = &b.world.ada;
    let mut new = NewIssue::new("Made", "");
    new.labels = vec!["bug".into()];
    new.parent = Some(id(repo, 1));
    new.blocked_by = vec![id(repo, 2), id(repo, 3)];
    new.values = [("Status".to_owned(), "Todo".to_owned())].into();
    new.board = Some(board());
    let (made, sent) = b.sent(repo.create_issue(&new)).await;
    let made = made.unwrap();
    assert_eq!(
        sent,
        [
            "IssuePrepare",
            "createIssue",
            "addProjectV2ItemById",
            "addSubIssue"
        ]
    );
    assert_eq!(pairs(&made.value), [("Status", "Todo")]);
    let relations = made.value.relations.as_ref().unwrap();
    assert_eq!(relations.parent.as_ref().unwrap().title, "Issue 1");
    assert_eq!(relations.blocked_by.len(), 2);
    assert!(made.steps.iter().all(|s| s.done) && made.steps.len() == 4);
    // Unknown names fail before the issue is created.
    let mut orphan = new.clone();
    orphan.parent = Some(id(repo, 77));
    let mut nowhere = new.clone();
    nowhere.values = [("Status".to_owned(), "Nowhere".to_owned())].into();
    for (new, field) in [
        (orphan, "there is no issue"),
        (nowhere, "has no value 'Nowhere'"),
    ] {
        let e = repo.create_issue(&new).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.message().contains(field), "{e}");
    }
    // The issue already exists, so failures after its creation name the missing parts.
    let refusal = json!({ "data": { "e0_item": null }, "errors": [{
        "type": "FORBIDDEN", "path": ["e0_item"],
        "message": "Resource not accessible by integration",
    }] });
    let fault = Fault::answer(200, &[], refusal.to_string());
    b.world
        .double
        .fault(fault.on_operation("addProjectV2ItemById"));
    let made = repo.create_issue(&new).await.unwrap();
    assert_eq!(made.value.number, Some(5));
    assert!(made.steps.iter().all(|s| !s.done));
    assert!(
        made.warnings[0]
            .message
            .contains("was created, but some of its fields were not set")
    );
}

#[tokio::test]
async fn issue_list_has_values_and_relations() {
    let b = Board::new(3);
    b.item(2, "Doing");
    let repo = &b.world.ada;
    b.world.double.seed().blocked_by((REPO, 2), (REPO, 3));
    let mut query = IssueQuery::default();
    query.oldest_first = true;
    query.fields = on_board();
    query.fields.comments = true;
    query.fields.relations = true;
    query.state = IssueFilter::All;
    let mut by_author = query.clone();
    by_author.author = Some("ada".into());
    for query in [query, by_author] {
        let (page, sent) = b.sent(repo.issues(&query, PageReq::first(100))).await;
        let page = page.unwrap();
        assert_eq!(sent.len(), 1);
        let numbers: Vec<_> = page.items.iter().filter_map(|i| i.number).collect();
        assert_eq!(numbers, [1, 2, 3]);
        let two = &page.items[1];
        assert_eq!(pairs(two), [("Status", "Doing")]);
        assert_eq!(
            two.relations.as_ref().unwrap().blocked_by[0].title,
            "Issue 3"
        );
        assert!(two.comments.as_ref().unwrap().is_empty());
        assert!(page.items[0].values.is_empty());
    }
}

#[tokio::test]
async fn fields_are_defined_without_losing_options() {
    let b = Board::new(1);
    let repo = &b.world.ada;
    b.item(1, "Doing");
    let (fields, sent) = b.sent(repo.issue_fields(Some(&board()))).await;
    assert_eq!(sent, ["Board"]);
    let names: Vec<_> = fields.unwrap().into_iter().map(|f| f.name).collect();
    assert_eq!(names, ["Status", "Estimate"]);
    let status = IssueField::new("status", vec!["done".into(), "Blocked".into()]);
    let (made, sent) = b
        .sent(repo.define_issue_field(Some(&board()), &status))
        .await;
    assert_eq!(sent, ["Board", "updateProjectV2Field"]);
    let made = made.unwrap().value;
    assert_eq!(made.name, "Status");
    assert_eq!(made.options, ["Todo", "Doing", "Done", "Blocked"]);
    assert_eq!(b.values(1), [("Status".to_owned(), "Doing".to_owned())]);
    let (again, sent) = b
        .sent(repo.define_issue_field(Some(&board()), &status))
        .await;
    assert!(again.unwrap().unchanged);
    assert_eq!(sent, ["Board"]);
    let priority = IssueField::new("Priority", vec!["P1".into(), "P2".into()]);
    let (made, sent) = b
        .sent(repo.define_issue_field(Some(&board()), &priority))
        .await;
    assert_eq!(made.unwrap().value, priority);
    assert_eq!(sent, ["Board", "createProjectV2Field"]);
    let title = IssueField::new("Title", vec!["A".into()]);
    for (board, field) in [(Some(board()), &title), (None, &priority)] {
        let e = repo
            .define_issue_field(board.as_ref(), field)
            .await
            .unwrap_err();
        assert_eq!(e.code(), "invalid_input");
    }
    let nowhere = "octo/9".parse().unwrap();
    let e = repo.issue_fields(Some(&nowhere)).await.unwrap_err();
    assert_eq!(e.code(), "not_found");
}

#[tokio::test]
async fn field_with_lost_answer_is_read_back() {
    let b = Board::new(0);
    let repo = &b.world.ada;
    b.world
        .double
        .fault(Fault::status(502).on_mutations().committed());
    let priority = IssueField::new("Priority", vec!["P1".into()]);
    let made = repo
        .define_issue_field(Some(&board()), &priority)
        .await
        .unwrap();
    assert_eq!(made.value, priority);
    assert_eq!(made.warnings.len(), 1);
}

#[tokio::test]
async fn board_of_user_is_found() {
    let b = Board::new(1);
    let mut seed = b.world.double.seed();
    seed.project("ada", "Own", &["Now"]);
    drop(seed);
    let repo = &b.world.ada;
    let own: BoardId = "Ada/1".parse().unwrap();
    let mut edit = values([("Status", Some("Now"))]);
    edit.board = Some(own.clone());
    repo.edit_issue(&id(repo, 1), &edit).await.unwrap();
    b.item(1, "Done");
    let fields = |board: BoardId| {
        let mut fields = IssueFields::NONE;
        fields.board = Some(board);
        fields
    };
    for (of, status) in [(own, "Now"), (board(), "Done")] {
        let issue = repo.issue(&id(repo, 1), &fields(of)).await.unwrap();
        assert_eq!(pairs(&issue), [("Status", status)]);
    }
}

#[tokio::test]
async fn reading_from_missing_board_is_refused() {
    let b = Board::new(1);
    let repo = &b.world.ada;
    let one = id(repo, 1);
    let mut fields = IssueFields::NONE;
    fields.board = Some("octo/77".parse().unwrap());
    let mut query = IssueQuery::default();
    query.fields = fields.clone();
    for e in [
        repo.issue(&one, &fields).await.unwrap_err(),
        repo.issues(&query, PageReq::first(5)).await.unwrap_err(),
        repo.related_issues(std::slice::from_ref(&one), &fields)
            .await
            .unwrap_err(),
    ] {
        let (code, message) = ("not_found", "there is no board octo/77");
        assert_eq!((e.code(), e.message()), (code, message));
    }
    // The query for an issue shows that the board exists, even if the issue is not on it.
    for _ in 0..2 {
        let (issue, sent) = b.sent(repo.issue(&one, &on_board())).await;
        assert!(issue.unwrap().values.is_empty());
        assert_eq!(sent, ["IssueView"]);
    }
}

#[tokio::test]
async fn token_without_project_scope_names_scope() {
    let b = Board::new(1);
    b.item(1, "Todo");
    let mut seed = b.world.double.seed();
    seed.token("gho_0canary0plain", "ada", &["repo"]);
    drop(seed);
    let repo = handle(&b.world.double, "gho_0canary0plain");
    let one = id(&repo, 1);
    let edit = values([("Status", Some("Done"))]);
    let mut query = IssueQuery::default();
    query.fields = on_board();
    for e in [
        repo.issue(&one, &on_board()).await.unwrap_err(),
        repo.edit_issue(&one, &edit).await.unwrap_err(),
        repo.issues(&query, PageReq::first(5)).await.unwrap_err(),
        repo.related_issues(std::slice::from_ref(&one), &on_board())
            .await
            .unwrap_err(),
        repo.issue_fields(Some(&board())).await.unwrap_err(),
    ] {
        assert_eq!(e.code(), "permission_denied", "{e:?}");
        let hint = e.hint().unwrap().to_string();
        assert!(hint.contains("project"), "{hint}");
    }
    // Reads without a board do not need the project scope.
    repo.issue(&one, &IssueFields::NONE).await.unwrap();
    assert_eq!(b.values(1), [("Status".to_owned(), "Todo".to_owned())]);
}
