//! Behaviour of issues: opening, lists, states, comments.

use std::collections::BTreeMap;

use forge_core::{
    Action, Call, Changed, Error, ErrorKind, Op, PageReq,
    model::{
        EditIssue, Issue, IssueFields, IssueFilter, IssueId, IssueQuery, IssueReason, IssueState,
        NewIssue, RelatedIssue, SetChange, SetIssueState, StatusEventKind,
    },
};
use futures::future::join;

use super::{Fixture, Set, cases, invalid, refused};

const COMMENTS: IssueFields = IssueFields::COMMENTS;

pub(super) fn cases(set: &mut Set) {
    cases![set;
        an_issue_is_read_back [IssueCreate, IssueView];
        issue_is_opened_with_labels_and_assignees [IssueCreate, IssueView, LabelEdit];
        issue_labels_can_be_changed [IssueCreate, IssueView, IssueEdit, LabelEdit];
        empty_title_is_refused [IssueCreate];
        missing_label_is_refused [IssueCreate, IssueList];
        missing_issue_is_not_found [IssueView];
        list_is_newest_first_in_disjoint_pages [IssueCreate, IssueList];
        list_filters_select_issues [IssueCreate, IssueList, IssueState, LabelEdit];
        cursor_of_another_query_is_refused [IssueCreate, IssueList];
        pull_requests_are_not_listed [IssueCreate, IssueList];
        issue_is_closed_and_reopened [IssueCreate, IssueView, IssueState];
        issue_is_closed_with_a_comment [IssueCreate, IssueView, IssueState, IssueComment];
        repeated_state_change_writes_no_comment [IssueCreate, IssueState, IssueComment, IssueView];
        close_reason_is_stored [IssueCreate, IssueView, IssueReason];
        comments_are_oldest_first [IssueCreate, IssueView, IssueComment];
        empty_comment_is_refused [IssueCreate, IssueComment];
        title_and_body_are_edited [IssueCreate, IssueView, IssueEdit];
        empty_edit_is_unchanged [IssueCreate, IssueEdit];
        edit_of_stale_version_is_refused [IssueCreate, IssueView, IssueEdit];
        title_with_escapes_is_kept [IssueCreate, IssueView];
        comment_is_edited_and_deleted [IssueCreate, IssueView, IssueComment, IssueCommentEdit];
        deleted_issue_is_not_found [IssueCreate, IssueView, IssueList, IssueDelete];
        history_has_closed_and_reopened [IssueCreate, IssueState, IssueHistory];
        relations_are_seen_from_both_ends [IssueCreate, IssueView, IssueEdit, IssueRelations];
        value_is_set_replaced_and_cleared [IssueCreate, IssueView, IssueEdit, IssueValues];
        concurrent_edit_of_stale_version_is_refused [IssueCreate, IssueView, IssueEdit, IssueSwap];
    ];
}

async fn open(fx: &Fixture, title: &str) -> Issue {
    let new = NewIssue::new(title, "What happened.\n");
    fx.author.create_issue(&new).await.unwrap().value
}

async fn view(fx: &Fixture, id: &IssueId) -> Issue {
    fx.author.issue(id, &COMMENTS).await.unwrap()
}

async fn bodies(fx: &Fixture, id: &IssueId) -> Vec<String> {
    let comments = view(fx, id).await.comments.unwrap();
    comments.into_iter().map(|c| c.body).collect()
}

async fn titles(fx: &Fixture, query: &IssueQuery) -> Vec<String> {
    let page = fx.author.issues(query, PageReq::first(50)).await.unwrap();
    assert!(page.next.is_none());
    page.items.into_iter().map(|i| i.title).collect()
}

fn all() -> IssueQuery {
    let mut query = IssueQuery::default();
    query.state = IssueFilter::All;
    query
}

async fn an_issue_is_read_back(fx: Fixture) {
    let made = open(&fx, "It breaks").await;
    let read = view(&fx, &made.id).await;
    for issue in [&made, &read] {
        assert_eq!(issue.id, made.id);
        assert_eq!(
            (issue.title.as_str(), issue.body.as_str()),
            ("It breaks", "What happened.\n")
        );
        assert_eq!(issue.state, IssueState::Open);
        assert_eq!(issue.author.login, fx.author_login().await);
        assert_eq!((issue.comments_count, issue.closed_at), (0, None));
        assert!(!issue.url.is_empty());
    }
    assert_eq!(read.comments.map(|c| c.len()), Some(0));
    let plain = fx.reviewer.issue(&made.id, &IssueFields::default()).await;
    assert!(plain.unwrap().comments.is_none());
}

async fn issue_is_opened_with_labels_and_assignees(fx: Fixture) {
    fx.define(&["bug", "later"]).await;
    let mut new = NewIssue::new("It breaks", "");
    new.labels = vec!["Bug".into()];
    new.assignees = vec!["@me".into()];
    let made = fx.author.create_issue(&new).await.unwrap().value;
    let me = fx.author_login().await;
    for issue in [view(&fx, &made.id).await, made] {
        let labels: Vec<_> = issue.labels.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(labels, ["bug"]);
        let assignees: Vec<_> = issue.assignees.iter().map(|a| &a.login).collect();
        assert_eq!(assignees, [&me]);
    }
}

async fn issue_labels_can_be_changed(fx: Fixture) {
    fx.define(&["bug", "later"]).await;
    let mut new = NewIssue::new("It breaks", "");
    new.labels = vec!["bug".into()];
    let id = fx.author.create_issue(&new).await.unwrap().value.id;
    let labels = |add: &str, remove: &str| {
        let mut edit = EditIssue::default();
        edit.labels = SetChange {
            add: vec![add.into()],
            remove: vec![remove.into()],
        };
        edit
    };
    let edited = fx.author.edit_issue(&id, &labels("Later", "BUG")).await;
    for issue in [edited.unwrap().value, view(&fx, &id).await] {
        let names: Vec<_> = issue.labels.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["later"]);
        assert_eq!(issue.title, "It breaks");
    }
    let unknown = labels("nothing-like-it", "later");
    invalid(fx.author.edit_issue(&id, &unknown).await, "labels");
    assert_eq!(view(&fx, &id).await.labels.len(), 1);
}

async fn empty_title_is_refused(fx: Fixture) {
    for title in ["", "  "] {
        let new = NewIssue::new(title, "");
        invalid(fx.author.create_issue(&new).await, "title");
    }
}

async fn missing_label_is_refused(fx: Fixture) {
    let mut new = NewIssue::new("It breaks", "");
    new.labels = vec!["nothing-like-it".into()];
    invalid(fx.author.create_issue(&new).await, "labels");
    assert_eq!(titles(&fx, &all()).await, [""; 0]);
}

async fn missing_issue_is_not_found(fx: Fixture) {
    let id = fx.author.issue_id(77);
    refused(
        fx.author.issue(&id, &IssueFields::default()).await,
        "not_found",
    );
}

async fn list_is_newest_first_in_disjoint_pages(fx: Fixture) {
    for n in 1..=5 {
        open(&fx, &format!("Issue {n}")).await;
    }
    let query = IssueQuery::default();
    let (mut seen, mut request) = (Vec::new(), Some(PageReq::first(2)));
    while let Some(page) = request.take() {
        let page = fx.author.issues(&query, page).await.unwrap();
        assert!(page.items.len() <= 2);
        seen.extend(page.items.into_iter().map(|i| i.title));
        request = page.next.map(|next| PageReq::after(next, 2));
    }
    let wanted = ["Issue 5", "Issue 4", "Issue 3", "Issue 2", "Issue 1"];
    assert_eq!(seen, wanted);
}

async fn list_filters_select_issues(fx: Fixture) {
    fx.define(&["bug", "later"]).await;
    let closed = open(&fx, "Closed").await;
    let to_closed = SetIssueState::to(IssueState::Closed);
    fx.author
        .set_issue_state(&closed.id, &to_closed)
        .await
        .unwrap();
    let mut labelled = NewIssue::new("Labelled", "");
    labelled.labels = vec!["bug".into(), "later".into()];
    labelled.assignees = vec!["@me".into()];
    fx.author.create_issue(&labelled).await.unwrap();
    let mut theirs = NewIssue::new("Theirs", "");
    theirs.labels = vec!["bug".into()];
    fx.reviewer.create_issue(&theirs).await.unwrap();
    let with = |change: fn(&mut IssueQuery)| {
        let mut query = IssueQuery::default();
        change(&mut query);
        query
    };
    let open = titles(&fx, &IssueQuery::default()).await;
    assert_eq!(open, ["Theirs", "Labelled"]);
    let found = titles(&fx, &with(|q| q.state = IssueFilter::Closed)).await;
    assert_eq!(found, ["Closed"]);
    assert_eq!(titles(&fx, &all()).await, ["Theirs", "Labelled", "Closed"]);
    let found = titles(&fx, &with(|q| q.author = Some("@me".into()))).await;
    assert_eq!(found, ["Labelled"]);
    let found = titles(&fx, &with(|q| q.assignee = Some("@me".into()))).await;
    assert_eq!(found, ["Labelled"]);
    let found = titles(&fx, &with(|q| q.labels = vec!["BUG".into()])).await;
    assert_eq!(found, ["Theirs", "Labelled"]);
    let both = with(|q| q.labels = vec!["bug".into(), "later".into()]);
    assert_eq!(titles(&fx, &both).await, ["Labelled"]);
    let nobody = with(|q| q.author = Some("nobody-like-it".into()));
    assert_eq!(titles(&fx, &nobody).await, [""; 0]);
}

async fn cursor_of_another_query_is_refused(fx: Fixture) {
    for title in ["One", "Two"] {
        open(&fx, title).await;
    }
    let first = fx.author.issues(&all(), PageReq::first(1)).await.unwrap();
    let cursor = first.next.expect("a second page");
    let other = IssueQuery::default();
    let page = fx.author.issues(&other, PageReq::after(cursor, 1)).await;
    invalid(page, "cursor");
}

async fn pull_requests_are_not_listed(fx: Fixture) {
    let pr = fx.open("feature").await;
    open(&fx, "It breaks").await;
    assert_eq!(titles(&fx, &all()).await, ["It breaks"]);
    let id = IssueId {
        repo: pr.id.repo.clone(),
        key: pr.id.key.clone(),
    };
    // On a forge that numbers issues and pull requests separately, this is an issue. On any other
    // forge, no issue has the number.
    match fx.author.issue(&id, &IssueFields::default()).await {
        Ok(issue) => assert_eq!(issue.title, "It breaks"),
        Err(e) => assert_eq!(
            refused(Err::<(), Error>(e), "not_found").code(),
            "not_found"
        ),
    }
}

async fn issue_is_closed_and_reopened(fx: Fixture) {
    let id = open(&fx, "It breaks").await.id;
    let close = SetIssueState::to(IssueState::Closed);
    let closed = fx.reviewer.set_issue_state(&id, &close).await.unwrap();
    assert!(!closed.unchanged);
    for issue in [closed.value, view(&fx, &id).await] {
        assert_eq!(issue.state, IssueState::Closed);
        assert!(issue.closed_at.is_some());
    }
    let reopen = SetIssueState::to(IssueState::Open);
    let open = fx.author.set_issue_state(&id, &reopen).await.unwrap();
    for issue in [open.value, view(&fx, &id).await] {
        assert_eq!((issue.state, issue.closed_at), (IssueState::Open, None));
    }
}

async fn issue_is_closed_with_a_comment(fx: Fixture) {
    let id = open(&fx, "It breaks").await.id;
    let req = SetIssueState::to(IssueState::Closed).with_comment("Fixed.");
    fx.author.set_issue_state(&id, &req).await.unwrap();
    assert_eq!(bodies(&fx, &id).await, ["Fixed."]);
    let req = SetIssueState::to(IssueState::Open).with_comment("Not quite.");
    fx.author.set_issue_state(&id, &req).await.unwrap();
    assert_eq!(bodies(&fx, &id).await, ["Fixed.", "Not quite."]);
    assert_eq!(view(&fx, &id).await.comments_count, 2);
}

async fn repeated_state_change_writes_no_comment(fx: Fixture) {
    let id = open(&fx, "It breaks").await.id;
    let req = SetIssueState::to(IssueState::Open).with_comment("Again.");
    let outcome = fx.author.set_issue_state(&id, &req).await.unwrap();
    assert!(outcome.unchanged && !outcome.warnings.is_empty());
    assert_eq!(bodies(&fx, &id).await, [""; 0]);
    // The warning names the comment that was not written, and the hint is the call that writes it.
    let hints = outcome.warnings.iter().filter_map(|w| w.hint.as_ref());
    let mut calls = hints.filter_map(|hint| hint.action().map(Action::call));
    assert!(
        calls.any(|call| call == Call::Op(Op::IssueComment)),
        "{outcome:?}"
    );
}

async fn close_reason_is_stored(fx: Fixture) {
    let id = open(&fx, "It breaks").await.id;
    let req = SetIssueState::to(IssueState::Closed).with_reason(IssueReason::NotPlanned);
    fx.author.set_issue_state(&id, &req).await.unwrap();
    let reason = view(&fx, &id).await.state_reason;
    assert_eq!(reason, Some(IssueReason::NotPlanned));
}

async fn comments_are_oldest_first(fx: Fixture) {
    let id = open(&fx, "It breaks").await.id;
    let first = fx
        .author
        .create_issue_comment(&id, "First.")
        .await
        .unwrap()
        .value;
    assert_eq!(first.body, "First.");
    assert!(first.viewer_did_author);
    fx.reviewer
        .create_issue_comment(&id, "Second.")
        .await
        .unwrap();
    assert_eq!(bodies(&fx, &id).await, ["First.", "Second."]);
    let read = view(&fx, &id).await;
    assert_eq!(read.comments_count, 2);
    let comments = read.comments.unwrap();
    assert_eq!(comments[0].id, first.id);
    assert_eq!(comments[1].author.login, fx.reviewer_login().await);
    assert!(!comments[1].viewer_did_author);
}

async fn empty_comment_is_refused(fx: Fixture) {
    let id = open(&fx, "It breaks").await.id;
    invalid(fx.author.create_issue_comment(&id, " ").await, "body");
}

async fn title_and_body_are_edited(fx: Fixture) {
    let id = open(&fx, "It breaks").await.id;
    let mut title = EditIssue::default();
    title.title = Some("It broke".into());
    let edited = fx.author.edit_issue(&id, &title).await.unwrap().value;
    assert_eq!(edited.title, "It broke");
    let mut body = EditIssue::default();
    body.body = Some("Once.".into());
    fx.author.edit_issue(&id, &body).await.unwrap();
    let read = view(&fx, &id).await;
    assert_eq!(
        (read.title.as_str(), read.body.as_str()),
        ("It broke", "Once.")
    );
}

async fn empty_edit_is_unchanged(fx: Fixture) {
    let id = open(&fx, "It breaks").await.id;
    let mut same = EditIssue::default();
    same.title = Some("It breaks".into());
    let outcome = fx.author.edit_issue(&id, &same).await.unwrap();
    assert!(outcome.unchanged && !outcome.warnings.is_empty());
}

async fn title_with_escapes_is_kept(fx: Fixture) {
    let title = "a \u{1b}[2J \u{202e} ünïcode";
    let made = open(&fx, title).await;
    assert_eq!(view(&fx, &made.id).await.title, title);
}

async fn edit_of_stale_version_is_refused(fx: Fixture) {
    let issue = open(&fx, "First").await;
    assert_eq!(view(&fx, &issue.id).await.version, issue.version);
    let to = |title: &str, version: &str| {
        let mut edit = EditIssue::default();
        edit.title = Some(title.to_owned());
        edit.expected_version = Some(version.to_owned());
        edit
    };
    let second = to("Second", &issue.version);
    let second = fx.author.edit_issue(&issue.id, &second).await.unwrap();
    assert_ne!(second.value.version, issue.version);
    let stale = to("Third", &issue.version);
    let e = refused(fx.author.edit_issue(&issue.id, &stale).await, "conflict");
    let ErrorKind::Conflict { what, actual, .. } = e.kind() else {
        panic!("{e:?}")
    };
    assert_eq!((*what, actual), (Changed::Record, &second.value.version));
    assert_eq!(view(&fx, &issue.id).await.title, "Second");
}

async fn comment_is_edited_and_deleted(fx: Fixture) {
    let id = open(&fx, "It breaks").await.id;
    let first = fx
        .author
        .create_issue_comment(&id, "Tpyo.")
        .await
        .unwrap()
        .value;
    fx.reviewer
        .create_issue_comment(&id, "Second.")
        .await
        .unwrap();
    let edit = |body| fx.author.edit_issue_comment(&id, &first.id, body, None);
    let edited = edit("Typo.").await.unwrap().value;
    assert_eq!(
        (edited.id.as_str(), edited.body.as_str()),
        (first.id.as_str(), "Typo.")
    );
    invalid(edit(" ").await, "body");
    assert_eq!(bodies(&fx, &id).await, ["Typo.", "Second."]);
    let delete = || fx.author.delete_issue_comment(&id, &first.id);
    delete().await.unwrap();
    let read = view(&fx, &id).await;
    assert_eq!(read.comments_count, 1);
    assert_eq!(read.comments.unwrap()[0].body, "Second.");
    refused(delete().await, "not_found");
    refused(edit("Again.").await, "not_found");
}

async fn deleted_issue_is_not_found(fx: Fixture) {
    open(&fx, "Kept").await;
    let id = open(&fx, "Gone").await.id;
    fx.author.delete_issue(&id).await.unwrap();
    refused(
        fx.author.issue(&id, &IssueFields::default()).await,
        "not_found",
    );
    assert_eq!(titles(&fx, &all()).await, ["Kept"]);
    refused(fx.author.delete_issue(&id).await, "not_found");
}

async fn history_has_closed_and_reopened(fx: Fixture) {
    let issue = open(&fx, "It breaks").await;
    let close = SetIssueState::to(IssueState::Closed);
    let reopen = SetIssueState::to(IssueState::Open);
    fx.reviewer
        .set_issue_state(&issue.id, &close)
        .await
        .unwrap();
    fx.author.set_issue_state(&issue.id, &reopen).await.unwrap();
    let history = fx.author.issue_history(&issue.id, PageReq::first(50)).await;
    let events = history.unwrap().items;
    let (author, reviewer) = (fx.author_login().await, fx.reviewer_login().await);
    let got: Vec<_> = events
        .iter()
        .map(|e| (e.kind, e.actor.login.as_str()))
        .collect();
    let wanted = [
        (StatusEventKind::Opened, author.as_str()),
        (StatusEventKind::Closed, &reviewer),
        (StatusEventKind::Reopened, &author),
    ];
    assert_eq!(got, wanted);
    assert_eq!(events[0].created_at, issue.created_at);
}

/// Returns the titles of parent, sub-issues, blockers and blocked issues.
async fn related(fx: &Fixture, id: &IssueId) -> [Vec<String>; 4] {
    let fields = IssueFields::RELATIONS;
    let issue = fx.author.issue(id, &fields).await.unwrap();
    let relations = issue.relations.unwrap();
    let titles = |of: Vec<RelatedIssue>| of.into_iter().map(|r| r.title).collect();
    [
        titles(relations.parent.into_iter().collect()),
        titles(relations.sub_issues),
        titles(relations.blocked_by),
        titles(relations.blocking),
    ]
}

async fn relations_are_seen_from_both_ends(fx: Fixture) {
    fx.define_relations().await;
    let parent = open(&fx, "Parent").await.id;
    let blocker = open(&fx, "Blocker").await.id;
    let part = open(&fx, "Part").await.id;
    let mut add = EditIssue::default();
    add.parent = Some(Some(parent.clone()));
    add.blocked_by = SetChange {
        add: vec![blocker.clone()],
        remove: vec![],
    };
    fx.author.edit_issue(&part, &add).await.unwrap();
    let (none, one) = (Vec::<&str>::new, || vec!["Part"]);
    let of_part = [vec!["Parent"], none(), vec!["Blocker"], none()];
    assert_eq!(related(&fx, &part).await, of_part);
    let of_parent = [none(), one(), none(), none()];
    assert_eq!(related(&fx, &parent).await, of_parent);
    let of_blocker = [none(), none(), none(), one()];
    assert_eq!(related(&fx, &blocker).await, of_blocker);
    let mut remove = EditIssue::default();
    remove.parent = Some(None);
    remove.blocked_by = SetChange {
        add: vec![],
        remove: vec![blocker.clone()],
    };
    fx.author.edit_issue(&part, &remove).await.unwrap();
    for id in [&part, &parent, &blocker] {
        assert_eq!(related(&fx, id).await, [none(), none(), none(), none()]);
    }
}

async fn value_is_set_replaced_and_cleared(fx: Fixture) {
    fx.define_field("Estimate", &["S", "M"]).await;
    let id = open(&fx, "It breaks").await.id;
    let mut fields = IssueFields::NONE;
    fields.board = fx.board.clone();
    for value in [Some("M"), Some("S"), None] {
        let mut edit = EditIssue::default();
        edit.values = BTreeMap::from([("Estimate".to_owned(), value.map(str::to_owned))]);
        edit.board = fx.board.clone();
        let edited = fx.author.edit_issue(&id, &edit).await.unwrap().value;
        let read = fx.author.issue(&id, &fields).await.unwrap();
        for issue in [edited, read] {
            assert_eq!(issue.values.get("Estimate").map(String::as_str), value);
        }
    }
}

async fn concurrent_edit_of_stale_version_is_refused(fx: Fixture) {
    let issue = open(&fx, "First").await;
    let to = |title: &str| {
        let mut edit = EditIssue::default();
        edit.title = Some(title.to_owned());
        edit.expected_version = Some(issue.version.clone());
        edit
    };
    let (one, two) = (to("One"), to("Two"));
    let one = fx.author.edit_issue(&issue.id, &one);
    let two = fx.reviewer.edit_issue(&issue.id, &two);
    let (won, lost) = match join(one, two).await {
        (Ok(won), lost) | (lost, Ok(won)) => (won.value, lost),
        (Err(one), Err(two)) => panic!("{one:?} {two:?}"),
    };
    refused(lost, "conflict");
    assert_eq!(view(&fx, &issue.id).await.title, won.title);
    // A new comment counts as a change.
    fx.author
        .create_issue_comment(&issue.id, "Third.")
        .await
        .unwrap();
    let mut stale = to("Third");
    stale.expected_version = Some(won.version);
    refused(fx.author.edit_issue(&issue.id, &stale).await, "conflict");
}
