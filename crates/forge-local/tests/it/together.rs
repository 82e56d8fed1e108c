//! Concurrent writers in one process.

use std::collections::BTreeSet;

use forge_core::{
    PageReq, PullRequests, Reviews,
    model::{EditPull, PrFields, PullQuery, SetChange},
};

use crate::repo::{Repo, create, pr};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_edits_become_separate_events() {
    all_edits_are_events(&Repo::new(), 50).await;
}

/// The lock of the writers only saves work. Without it, compare-and-swap still keeps every edit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_edits_without_turn_file_lose_nothing() {
    let repo = Repo::new();
    std::fs::create_dir(repo.path.join(".git/forge.turn")).unwrap();
    all_edits_are_events(&repo, 16).await;
}

async fn all_edits_are_events(repo: &Repo, writers: usize) {
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..writers {
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
                let mut edit = EditPull::default();
                edit.assignees = assignees;
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
        (writers as u64 / 2, writers / 2)
    );
    assert_eq!(seen.assignees.len(), writers / 2);
    let events = repo.git(&[
        "rev-list",
        "--first-parent",
        "--count",
        "refs/forge/pulls/1",
    ]);
    // The root commit and the opening event come first.
    assert_eq!(events, (writers + 2).to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creates_get_separate_numbers() {
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
