//! Many writers at once, in one process.

use std::collections::BTreeSet;

use forge_core::{
    PageReq, PullRequests, Reviews,
    model::{EditPull, PrFields, PullQuery, SetChange},
};

use crate::repo::{Repo, create, pr};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_edits_are_fifty_events() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..50 {
        let local = local.clone();
        tasks.spawn(async move {
            let id = pr(&local, 1);
            if n % 2 == 0 {
                local
                    .comment(&id, &format!("comment {n}"), None)
                    .await
                    .map(|_| ())
            } else {
                let assignees = SetChange {
                    add: vec![format!("user{n}")],
                    remove: vec![],
                };
                let edit = EditPull {
                    assignees,
                    ..EditPull::default()
                };
                local.edit(&id, &edit).await.map(|_| ())
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap().unwrap();
    }
    let seen = local
        .view(&pr(&local, 1), PrFields::COMMENTS)
        .await
        .unwrap();
    assert_eq!(
        (seen.comments_count, seen.comments.unwrap().len()),
        (25, 25)
    );
    assert_eq!(seen.assignees.len(), 25);
    let events = repo.git(&[
        "rev-list",
        "--first-parent",
        "--count",
        "refs/forge/pulls/1",
    ]);
    assert_eq!(events, "52");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_creates_have_twenty_numbers() {
    let repo = Repo::new();
    for n in 0..20 {
        repo.git(&["branch", &format!("b{n}"), "main"]);
        let tree = repo.oid("main^{tree}");
        let oid = repo.git(&["commit-tree", "-p", "main", "-m", &format!("c{n}"), &tree]);
        repo.git(&["update-ref", &format!("refs/heads/b{n}"), &oid]);
    }
    let local = repo.open().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..20 {
        let local = local.clone();
        tasks.spawn(async move { create(&local, &format!("b{n}")).await.number.unwrap() });
    }
    let mut numbers = BTreeSet::new();
    while let Some(number) = tasks.join_next().await {
        numbers.insert(number.unwrap());
    }
    assert_eq!(numbers, (1..=20).collect());
    let page = local
        .list(local.id(), &PullQuery::default(), PageReq::first(50))
        .await
        .unwrap();
    assert_eq!(page.items.len(), 20);
}
