//! Behaviour of opening a pull request.

use forge_core::{
    ErrorKind, PageReq,
    model::{CreatePull, PrFields, PrState, PullQuery, Reviewer, StateFilter},
};

use super::{Fixture, Set, cases, invalid, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        created_fields_are_read_back;
        new_pull_is_ready_with_default_base;
        named_base_is_used;
        pull_numbers_ascend;
        pull_is_opened_as_draft [PrCreateDraft];
        labels_are_found_in_any_case [PrLabels, LabelEdit];
        reviewers_are_requested [PrReviewers];
        assignees_can_include_me [PrAssignees];
        unknown_label_suggests_a_similar_name [PrLabels, LabelEdit];
        too_many_labels_are_refused [PrLabels, LabelEdit];
        empty_title_is_refused;
        title_over_the_limit_is_refused;
        created_title_has_no_line_break;
        description_over_the_limit_is_refused;
        description_is_stored_unchanged;
        missing_base_is_refused;
        missing_head_is_refused;
        head_equal_to_base_is_refused;
        head_without_commits_is_refused;
        duplicate_of_open_pull_is_refused;
        duplicate_of_closed_pull_is_opened [PrClose];
        second_pull_for_other_base_is_opened;
        odd_branch_names_are_accepted;
        failed_create_changes_nothing;
    ];
}

async fn created_fields_are_read_back(fx: Fixture) {
    let head = fx.feature("feature");
    let mut req = CreatePull::new("feature", "Add a feature");
    req.description = "Some **text**.".into();
    let outcome = fx.author.create_pull(&req).await.unwrap();
    let made = outcome.value;
    let read = fx.view(&made.id).await;
    for pr in [&made, &read] {
        assert_eq!(pr.title, "Add a feature");
        assert_eq!(pr.description, "Some **text**.");
        assert_eq!(pr.head_branch, "feature");
        assert_eq!(pr.head_oid.as_deref(), Some(head.as_str()));
        assert_eq!(pr.author.login, fx.author_login().await);
        assert_eq!(pr.state, PrState::Open);
        assert!(!pr.url.is_empty());
    }
    assert_eq!(made.id, read.id);
    assert_eq!(made.version, read.version);
    assert_eq!(made.created_at, read.created_at);
}

async fn new_pull_is_ready_with_default_base(fx: Fixture) {
    let pr = fx.open("feature").await;
    assert_eq!(
        pr.base_branch,
        fx.author.info().await.unwrap().default_branch.unwrap()
    );
    assert_eq!(pr.base_oid, fx.git.oid("main"));
    assert!(!pr.draft);
    assert_eq!(pr.description, "");
    assert!(pr.labels.is_empty() && pr.assignees.is_empty() && pr.pending_reviewers.is_empty());
    assert_eq!((pr.closed_at, pr.merged_at), (None, None));
    assert_eq!(pr.comments_count, 0);
}

async fn named_base_is_used(fx: Fixture) {
    fx.feature("release/1");
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Into a release");
    req.base = Some("release/1".into());
    let pr = fx.author.create_pull(&req).await.unwrap().value;
    assert_eq!(pr.base_branch, "release/1");
    assert_eq!(pr.base_oid, fx.git.oid("release/1"));
}

async fn pull_numbers_ascend(fx: Fixture) {
    let mut last = None;
    for branch in ["a", "b", "c"] {
        let pr = fx.open(branch).await;
        assert!(pr.number > last, "{:?} after {last:?}", pr.number);
        last = pr.number;
    }
}

async fn pull_is_opened_as_draft(fx: Fixture) {
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Not yet");
    req.draft = true;
    let pr = fx.author.create_pull(&req).await.unwrap().value;
    assert!(pr.draft && fx.view(&pr.id).await.draft);
    assert_eq!(pr.state, PrState::Open);
}

async fn labels_are_found_in_any_case(fx: Fixture) {
    fx.define(&["bug", "Help wanted"]).await;
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Labelled");
    req.labels = vec!["HELP WANTED".into(), "bug".into()];
    let pr = fx.author.create_pull(&req).await.unwrap().value;
    let mut names: Vec<_> = pr.labels.into_iter().map(|l| l.name).collect();
    names.sort();
    assert_eq!(names, ["Help wanted", "bug"]);
}

async fn reviewers_are_requested(fx: Fixture) {
    fx.feature("feature");
    let login = fx.reviewer_login().await;
    let mut req = CreatePull::new("feature", "Please look");
    req.reviewers = vec![Reviewer::user(login.clone())];
    let pr = fx.author.create_pull(&req).await.unwrap().value;
    let asked: Vec<_> = pr.pending_reviewers.iter().map(Reviewer::handle).collect();
    assert_eq!(asked, [login]);
}

async fn assignees_can_include_me(fx: Fixture) {
    fx.feature("feature");
    let (me, other) = (fx.author_login().await, fx.reviewer_login().await);
    let mut req = CreatePull::new("feature", "Assigned");
    req.assignees = vec!["@me".into(), other.clone()];
    let pr = fx.author.create_pull(&req).await.unwrap().value;
    let mut logins: Vec<_> = pr.assignees.into_iter().map(|a| a.login).collect();
    logins.sort();
    let mut wanted = [me, other];
    wanted.sort();
    assert_eq!(logins, wanted);
}

async fn unknown_label_suggests_a_similar_name(fx: Fixture) {
    fx.define(&["documentation", "bug"]).await;
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Labelled");
    req.labels = vec!["documentatoin".into()];
    let e = invalid(fx.author.create_pull(&req).await, "labels");
    let said = format!("{} {}", e.message(), e.hint().map_or("", |h| h.text()));
    assert!(
        said.contains("documentatoin") && said.contains("documentation"),
        "{said}"
    );
}

async fn too_many_labels_are_refused(fx: Fixture) {
    let max = fx.author.limits().labels_max.unwrap_or(100);
    fx.define(&["bug"]).await;
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Labelled");
    req.labels = (0..=max).map(|n| format!("label-{n}")).collect();
    invalid(fx.author.create_pull(&req).await, "labels");
}

async fn empty_title_is_refused(fx: Fixture) {
    fx.feature("feature");
    for title in ["", " ", "\t\n"] {
        invalid(
            fx.author
                .create_pull(&CreatePull::new("feature", title))
                .await,
            "title",
        );
    }
}

async fn title_over_the_limit_is_refused(fx: Fixture) {
    let max = fx.author.limits().title_max;
    fx.feature("feature");
    let over = "é".repeat(max + 1);
    let e = invalid(
        fx.author
            .create_pull(&CreatePull::new("feature", over))
            .await,
        "title",
    );
    assert!(e.message().contains(&max.to_string()), "{e}");
    // A forge may limit the record instead of the title.
    let fits = "é".repeat(max.min(1000));
    let pr = fx
        .author
        .create_pull(&CreatePull::new("feature", fits.clone()))
        .await
        .unwrap()
        .value;
    assert_eq!(fx.view(&pr.id).await.title, fits);
}

async fn created_title_has_no_line_break(fx: Fixture) {
    fx.feature("feature");
    match fx
        .author
        .create_pull(&CreatePull::new("feature", "one\ntwo"))
        .await
    {
        Ok(made) => assert!(!made.value.title.contains('\n'), "{:?}", made.value.title),
        Err(e) => assert_eq!(e.code(), "invalid_input"),
    }
}

async fn description_over_the_limit_is_refused(fx: Fixture) {
    let max = fx.author.limits().body_max;
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Long");
    req.description = "x".repeat(max + 1);
    invalid(fx.author.create_pull(&req).await, "description");
}

async fn description_is_stored_unchanged(fx: Fixture) {
    let text = "# Title\n\n  indented\n\n```rust\nfn f() {}\n```\n\n| a | b |\n\u{1f980} ünïcode \u{202e}x\n\n";
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Text");
    req.description = text.into();
    let pr = fx.author.create_pull(&req).await.unwrap().value;
    assert_eq!(fx.view(&pr.id).await.description, text);
}

async fn missing_base_is_refused(fx: Fixture) {
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Into nowhere");
    req.base = Some("no-such-base".into());
    let e = invalid(fx.author.create_pull(&req).await, "base");
    assert!(e.message().contains("no-such-base"), "{e}");
}

async fn missing_head_is_refused(fx: Fixture) {
    let req = CreatePull::new("no-such-head", "From nowhere");
    let e = invalid(fx.author.create_pull(&req).await, "head");
    assert!(e.message().contains("no-such-head"), "{e}");
}

async fn head_equal_to_base_is_refused(fx: Fixture) {
    let e = invalid(
        fx.author
            .create_pull(&CreatePull::new("main", "To itself"))
            .await,
        "head",
    );
    assert!(e.message().contains("main"), "{e}");
}

async fn head_without_commits_is_refused(fx: Fixture) {
    let main = fx.git.oid("main").unwrap();
    fx.git.set_branch("feature", &main);
    let e = refused(
        fx.author
            .create_pull(&CreatePull::new("feature", "Empty"))
            .await,
        "precondition_failed",
    );
    assert!(matches!(
        e.kind(),
        ErrorKind::Precondition(forge_core::Precondition::NothingToMerge)
    ));
}

async fn duplicate_of_open_pull_is_refused(fx: Fixture) {
    let first = fx.open("feature").await;
    let e = refused(
        fx.author
            .create_pull(&CreatePull::new("feature", "Again"))
            .await,
        "already_exists",
    );
    let ErrorKind::AlreadyExists { existing } = e.kind() else {
        panic!("{e:?}")
    };
    assert_eq!(existing.as_deref(), Some(first.url.as_str()));
}

async fn duplicate_of_closed_pull_is_opened(fx: Fixture) {
    let first = fx.open("feature").await;
    fx.author
        .close(&first.id, &Default::default())
        .await
        .unwrap();
    let second = fx.open_from("feature").await;
    assert_ne!(first.id, second.id);
}

async fn second_pull_for_other_base_is_opened(fx: Fixture) {
    let first = fx.open("feature").await;
    fx.feature("release");
    let mut req = CreatePull::new("feature", "Into the release too");
    req.base = Some("release".into());
    let second = fx.author.create_pull(&req).await.unwrap().value;
    assert_ne!(first.id, second.id);
}

async fn odd_branch_names_are_accepted(fx: Fixture) {
    for branch in [
        "dash-",
        "a/b/c",
        "ünï-çødé",
        "with#hash",
        "100%",
        "a+b@c",
        "it's",
        "$HOME",
    ] {
        let head = fx
            .git
            .commit(branch, "Odd", &[(&format!("{branch}/file"), Some("x\n"))]);
        let pr = fx.open_from(branch).await;
        let read = fx.view(&pr.id).await;
        assert_eq!(read.head_branch, branch);
        assert_eq!(read.head_oid, Some(head));
    }
}

async fn failed_create_changes_nothing(fx: Fixture) {
    fx.feature("feature");
    let before = fx.git.refs();
    let mut bad = CreatePull::new("feature", "Bad base");
    bad.base = Some("nowhere".into());
    assert!(fx.author.create_pull(&bad).await.is_err());
    assert!(
        fx.author
            .create_pull(&CreatePull::new("feature", ""))
            .await
            .is_err()
    );
    assert!(
        fx.author
            .create_pull(&CreatePull::new("gone", "No head"))
            .await
            .is_err()
    );
    assert_eq!(fx.git.refs(), before);
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    query.fields = PrFields::NONE;
    let page = fx.author.pulls(&query, PageReq::first(10)).await.unwrap();
    assert!(page.items.is_empty() && page.next.is_none());
}
