//! Behaviour of editing a pull request.

use forge_core::{
    PageReq,
    model::{EditPull, Reviewer, SetChange, StatusEventKind},
};
use futures::future::join_all;

use super::{Fixture, Set, cases, invalid, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        title_and_description_are_edited [PrEdit];
        omitted_fields_are_unchanged [PrEdit];
        a_description_can_be_emptied [PrEdit];
        several_fields_are_edited_together [PrEdit, PrLabels, LabelEdit];
        partly_invalid_edit_changes_nothing [PrEdit, PrLabels, LabelEdit];
        base_is_changed [PrEditBase];
        invalid_base_is_refused [PrEditBase];
        empty_title_is_refused [PrEdit];
        title_over_the_limit_is_refused [PrEdit];
        labels_are_added_and_removed [PrLabels, LabelEdit];
        repeated_label_is_added_once [PrLabels, LabelEdit];
        unknown_label_suggests_a_similar_name [PrLabels, LabelEdit];
        removal_of_absent_label_is_ignored [PrLabels, LabelEdit];
        unknown_board_is_refused_without_changes [PrEdit, PrProjects];
        reviewers_are_added_and_removed [PrReviewers];
        assignees_are_added_and_removed [PrAssignees];
        stale_version_is_refused [PrEdit];
        current_version_is_accepted [PrEdit];
        an_edit_is_in_the_history [PrEdit, PrHistory];
        concurrent_edits_are_all_kept [PrLabels, LabelEdit];
        edit_of_missing_pull_is_not_found [PrEdit];
        closed_pull_is_edited [PrEdit, PrClose];
    ];
}

fn title(text: &str) -> EditPull {
    let mut edit = EditPull::default();
    edit.title = Some(text.into());
    edit
}

fn set<T>(add: Vec<T>, remove: Vec<T>) -> SetChange<T> {
    SetChange { add, remove }
}

fn labels(add: &[&str], remove: &[&str]) -> EditPull {
    let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
    let mut edit = EditPull::default();
    edit.labels = set(own(add), own(remove));
    edit
}

async fn title_and_description_are_edited(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let mut edit = EditPull::default();
    edit.title = Some("Better".into());
    edit.description = Some("Much.\n".into());
    let made = fx.author.edit_pull(&pr, &edit).await.unwrap().value;
    let read = fx.view(&pr).await;
    for pr in [made, read] {
        assert_eq!(
            (pr.title.as_str(), pr.description.as_str()),
            ("Better", "Much.\n")
        );
    }
}

async fn omitted_fields_are_unchanged(fx: Fixture) {
    let before = fx.open("feature").await;
    fx.author
        .edit_pull(&before.id, &title("Other"))
        .await
        .unwrap();
    let after = fx.view(&before.id).await;
    assert_eq!(after.description, before.description);
    assert_eq!(after.base_branch, before.base_branch);
    assert_eq!(after.author, before.author);
    assert_eq!(after.created_at, before.created_at);
}

async fn a_description_can_be_emptied(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for text in ["Something.", ""] {
        let mut edit = EditPull::default();
        edit.description = Some(text.into());
        fx.author.edit_pull(&pr, &edit).await.unwrap();
        assert_eq!(fx.view(&pr).await.description, text);
    }
}

async fn several_fields_are_edited_together(fx: Fixture) {
    fx.define(&["bug"]).await;
    let pr = fx.open("feature").await.id;
    let mut edit = labels(&["bug"], &[]);
    edit.title = Some("New".into());
    let made = fx.author.edit_pull(&pr, &edit).await.unwrap().value;
    assert_eq!(made.title, "New");
    assert_eq!(made.labels.len(), 1);
}

async fn partly_invalid_edit_changes_nothing(fx: Fixture) {
    let pr = fx.open("feature").await;
    let mut edit = labels(&["no-such-label"], &[]);
    edit.title = Some("New".into());
    invalid(fx.author.edit_pull(&pr.id, &edit).await, "labels");
    let after = fx.view(&pr.id).await;
    assert_eq!((after.title, after.version), (pr.title, pr.version));
}

async fn base_is_changed(fx: Fixture) {
    fx.feature("release");
    let pr = fx.open("feature").await.id;
    let mut edit = EditPull::default();
    edit.base = Some("release".into());
    let made = fx.author.edit_pull(&pr, &edit).await.unwrap().value;
    assert_eq!(made.base_branch, "release");
    assert_eq!(fx.view(&pr).await.base_oid, fx.git.oid("release"));
}

async fn invalid_base_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await;
    for wrong in ["no-such-branch", "feature"] {
        let mut edit = EditPull::default();
        edit.base = Some(wrong.into());
        let e = refused(fx.author.edit_pull(&pr.id, &edit).await, "invalid_input");
        assert!(e.message().contains(wrong), "{e}");
    }
    assert_eq!(fx.view(&pr.id).await.version, pr.version);
}

async fn empty_title_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    invalid(fx.author.edit_pull(&pr, &title("  ")).await, "title");
}

async fn title_over_the_limit_is_refused(fx: Fixture) {
    let max = fx.author.limits().title_max;
    let pr = fx.open("feature").await.id;
    invalid(
        fx.author.edit_pull(&pr, &title(&"x".repeat(max + 1))).await,
        "title",
    );
}

async fn names(fx: &Fixture, pr: &forge_core::PrId) -> Vec<String> {
    let mut names: Vec<_> = fx
        .view(pr)
        .await
        .labels
        .into_iter()
        .map(|l| l.name)
        .collect();
    names.sort();
    names
}

async fn labels_are_added_and_removed(fx: Fixture) {
    fx.define(&["a", "b", "c"]).await;
    let pr = fx.open("feature").await.id;
    fx.author
        .edit_pull(&pr, &labels(&["a", "b"], &[]))
        .await
        .unwrap();
    fx.author
        .edit_pull(&pr, &labels(&["c"], &["A"]))
        .await
        .unwrap();
    assert_eq!(names(&fx, &pr).await, ["b", "c"]);
}

async fn repeated_label_is_added_once(fx: Fixture) {
    fx.define(&["a"]).await;
    let pr = fx.open("feature").await.id;
    fx.author
        .edit_pull(&pr, &labels(&["a", "A"], &[]))
        .await
        .unwrap();
    fx.author
        .edit_pull(&pr, &labels(&["a"], &[]))
        .await
        .unwrap();
    assert_eq!(names(&fx, &pr).await, ["a"]);
}

async fn unknown_label_suggests_a_similar_name(fx: Fixture) {
    fx.define(&["enhancement"]).await;
    let pr = fx.open("feature").await.id;
    let e = invalid(
        fx.author
            .edit_pull(&pr, &labels(&["enhancment"], &[]))
            .await,
        "labels",
    );
    let said = format!("{} {}", e.message(), e.hint().map_or("", |h| h.text()));
    assert!(said.contains("enhancement"), "{said}");
}

async fn removal_of_absent_label_is_ignored(fx: Fixture) {
    fx.define(&["a", "b"]).await;
    let pr = fx.open("feature").await.id;
    fx.author
        .edit_pull(&pr, &labels(&["a"], &[]))
        .await
        .unwrap();
    fx.author
        .edit_pull(&pr, &labels(&[], &["b"]))
        .await
        .unwrap();
    assert_eq!(names(&fx, &pr).await, ["a"]);
}

async fn unknown_board_is_refused_without_changes(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let before = fx.view(&pr).await;
    for projects in [
        set(vec!["No such board".to_owned()], vec![]),
        set(vec![], vec!["No such board".to_owned()]),
    ] {
        let mut edit = title("Other");
        edit.projects = projects;
        let e = fx.author.edit_pull(&pr, &edit).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{e:?}");
        assert!(e.message().contains("No such board"), "{e:?}");
    }
    assert_eq!(fx.view(&pr).await.title, before.title);
}

async fn reviewers_are_added_and_removed(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let who = Reviewer::user(fx.reviewer_login().await);
    let mut asked = EditPull::default();
    asked.reviewers = set(vec![who.clone()], vec![]);
    fx.author.edit_pull(&pr, &asked).await.unwrap();
    let waiting = fx.view(&pr).await.pending_reviewers;
    let handles: Vec<_> = waiting.iter().map(Reviewer::handle).collect();
    assert_eq!(handles, [who.handle()]);
    let mut taken = EditPull::default();
    taken.reviewers = set(vec![], vec![who]);
    fx.author.edit_pull(&pr, &taken).await.unwrap();
    assert!(fx.view(&pr).await.pending_reviewers.is_empty());
}

async fn assignees_are_added_and_removed(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let mut add = EditPull::default();
    add.assignees = set(vec!["@me".into()], vec![]);
    fx.author.edit_pull(&pr, &add).await.unwrap();
    let me = fx.author_login().await;
    assert_eq!(fx.view(&pr).await.assignees[0].login, me);
    let mut remove = EditPull::default();
    remove.assignees = set(vec![], vec![me]);
    fx.author.edit_pull(&pr, &remove).await.unwrap();
    assert!(fx.view(&pr).await.assignees.is_empty());
}

async fn stale_version_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await;
    fx.reviewer
        .edit_pull(&pr.id, &title("Theirs"))
        .await
        .unwrap();
    let mut edit = title("Mine");
    edit.expected_version = Some(pr.version);
    refused(fx.author.edit_pull(&pr.id, &edit).await, "conflict");
    assert_eq!(fx.view(&pr.id).await.title, "Theirs");
}

async fn current_version_is_accepted(fx: Fixture) {
    let pr = fx.open("feature").await;
    let mut edit = title("Mine");
    edit.expected_version = Some(pr.version);
    assert_eq!(
        fx.author
            .edit_pull(&pr.id, &edit)
            .await
            .unwrap()
            .value
            .title,
        "Mine"
    );
}

async fn an_edit_is_in_the_history(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.reviewer.edit_pull(&pr, &title("Theirs")).await.unwrap();
    let events = fx
        .author
        .history(&pr, PageReq::first(50))
        .await
        .unwrap()
        .items;
    let edits: Vec<_> = events
        .iter()
        .filter(|e| e.kind == StatusEventKind::Edited)
        .collect();
    assert_eq!(edits.len(), 1, "{events:?}");
    assert_eq!(edits[0].actor.login, fx.reviewer_login().await);
}

async fn concurrent_edits_are_all_kept(fx: Fixture) {
    let all: Vec<_> = (0..8).map(|n| format!("label-{n}")).collect();
    fx.define(&all.iter().map(String::as_str).collect::<Vec<_>>())
        .await;
    let pr = fx.open("feature").await.id;
    let edits: Vec<_> = all.iter().map(|l| labels(&[l], &[])).collect();
    let done = join_all(edits.iter().enumerate().map(|(n, edit)| {
        let who = if n % 2 == 0 { &fx.author } else { &fx.reviewer };
        who.edit_pull(&pr, edit)
    }))
    .await;
    for outcome in done {
        outcome.unwrap();
    }
    assert_eq!(names(&fx, &pr).await, all);
}

async fn edit_of_missing_pull_is_not_found(fx: Fixture) {
    fx.open("feature").await;
    refused(
        fx.author
            .edit_pull(&fx.author.pull_id(999), &title("X"))
            .await,
        "not_found",
    );
}

async fn closed_pull_is_edited(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &Default::default()).await.unwrap();
    fx.author
        .edit_pull(&pr, &title("Still mine"))
        .await
        .unwrap();
    assert_eq!(fx.view(&pr).await.title, "Still mine");
}
