//! Recovery after a killed process.

use std::time::Duration;

use forge_core::{
    PageReq, PullRequests, Reviews,
    call::{computed, together},
    model::{
        EditPull, MergeMethod, MergeReq, PrFields, PrState, PullQuery, StateFilter, StatusEventKind,
    },
};

use crate::{
    repo::{Repo, create, pr},
    work_trees::hook,
};

/// Merges a pull request, and resets the repository to a state during the merge. With `base_moved`,
/// the base branch has moved but the merge is not recorded. Otherwise the base branch has not
/// moved.
async fn cut_short(base_moved: bool) -> (Repo, std::sync::Arc<forge_local::Local>) {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let base = repo.oid("main");
    let index = repo.oid("refs/forge/index");
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    repo.git(&["update-ref", "refs/forge/pulls/1", "refs/forge/pulls/1^"]);
    repo.git(&["update-ref", "refs/forge/index", &index]);
    assert_eq!(
        repo.git(&["log", "-1", "--format=%s", "refs/forge/pulls/1"]),
        "start merge: alice"
    );
    if !base_moved {
        repo.git(&["update-ref", "refs/heads/main", &base]);
    }
    (repo, local)
}

#[tokio::test]
async fn killed_merge_with_moved_base_counts_as_merged() {
    let (repo, local) = cut_short(true).await;
    let id = pr(&local, 1);
    let seen = local.view(&id, PrFields::NONE).await.unwrap();
    assert_eq!(seen.state, PrState::Merged);
    assert_eq!(
        seen.merge_commit.as_deref(),
        Some(repo.oid("main").as_str())
    );
    let open = local
        .list(local.id(), &PullQuery::default(), PageReq::first(5))
        .await
        .unwrap();
    assert!(open.items.is_empty());
    let mut merged = PullQuery::default();
    merged.state = StateFilter::Merged;
    let merged = local
        .list(local.id(), &merged, PageReq::first(5))
        .await
        .unwrap();
    assert_eq!(merged.items.len(), 1);
    let history = local.history(&id, PageReq::first(9)).await.unwrap().items;
    assert_eq!(history.last().unwrap().kind, StatusEventKind::Merged);

    local.comment(&id, "after", None).await.unwrap();
    let log = repo.git(&["log", "--first-parent", "--format=%s", "refs/forge/pulls/1"]);
    let events: Vec<_> = log.lines().take(3).collect();
    assert_eq!(
        events,
        ["comment: alice", "merge: alice", "start merge: alice"]
    );
    let history = local.history(&id, PageReq::first(9)).await.unwrap().items;
    let merges = history
        .iter()
        .filter(|e| e.kind == StatusEventKind::Merged)
        .count();
    assert_eq!(merges, 1);
    assert!(
        repo.git(&["cat-file", "blob", "refs/forge/index"])
            .ends_with("open ")
    );
}

#[tokio::test]
async fn killed_merge_with_unmoved_base_counts_as_open() {
    let (repo, local) = cut_short(false).await;
    let id = pr(&local, 1);
    assert_eq!(
        local.view(&id, PrFields::NONE).await.unwrap().state,
        PrState::Open
    );
    let mut edit = EditPull::default();
    edit.title = Some("Still open".into());
    local.edit(&id, &edit).await.unwrap();
    repo.write("other", "x\n");
    repo.commit("main moves on");
    let merged = local.merge(&id, &MergeReq::default()).await.unwrap().value;
    assert!(!merged.already_merged);
    assert_eq!(merged.commit.as_deref(), Some(repo.oid("main").as_str()));
    assert_eq!(repo.git(&["rev-list", "--count", "--merges", "main"]), "1");
}

/// Many forged events could each make git walk the whole history.
#[tokio::test]
async fn unfinished_merge_beyond_time_limit_is_unknown() {
    let (repo, local) = cut_short(true).await;
    repo.branch("other", "other.txt", "x\n");
    create(&local, "other").await;
    let reads = together(async {
        let _ = computed(Duration::from_secs(3600));
        let query = PullQuery::default();
        let list = local.list(local.id(), &query, PageReq::first(5)).await;
        let view = local.view(&pr(&local, 1), PrFields::NONE).await;
        (list, view)
    });
    let (list, view) = reads.await;
    let list = list.unwrap();
    let numbers: Vec<_> = list
        .items
        .iter()
        .map(|row| row.id.key.to_string())
        .collect();
    assert_eq!(numbers, ["2"]);
    let warning = &list.warnings[0].message;
    assert!(warning.contains("#1 was merged is unknown"), "{warning}");
    let e = view.unwrap_err();
    assert_eq!(e.code(), "timeout", "{e}");
}

/// A fast-forward has the head as its result, and another merge can bring that commit into the
/// base.
#[tokio::test]
async fn refused_fast_forward_leaves_newer_commits_open() {
    let repo = Repo::new();
    let head = repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let id = pr(&local, 1);
    let mut req = MergeReq::default();
    req.method = Some(MergeMethod::Rebase);
    hook(&repo, "prepared", "exit 1");
    local.merge(&id, &req).await.unwrap_err();
    std::fs::remove_file(repo.path.join(".git/hooks/reference-transaction")).unwrap();
    let newest = repo.git(&["log", "-1", "--format=%s", "refs/forge/pulls/1"]);
    assert_eq!(newest, "start merge: alice");

    repo.git(&["switch", "--quiet", "topic"]);
    repo.write("more.txt", "more\n");
    let newer = repo.commit("more");
    repo.git(&["switch", "--quiet", "main"]);
    repo.git(&["merge", "--quiet", "--ff-only", &head]);
    let seen = local.view(&id, PrFields::NONE).await.unwrap();
    assert_eq!(seen.state, PrState::Open);
    let merged = local.merge(&id, &req).await.unwrap().value;
    assert!(!merged.already_merged);
    assert_eq!(repo.oid("main"), newer);
}

#[tokio::test]
async fn list_and_merge_end_despite_forged_index() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    let opened = create(&local, "topic").await.id;
    let most = 1u64 << 48;
    for names_last in [false, true] {
        repo.write(
            "../index",
            &format!("forge index 1\nhighest {most}\nopen 1-{most}\n"),
        );
        let forged = repo.git(&["hash-object", "-w", "../index"]);
        repo.git(&["update-ref", "refs/forge/index", &forged]);
        if names_last {
            let last = format!("refs/forge/pulls/{most}");
            repo.git(&["update-ref", &last, "refs/forge/pulls/1"]);
        }
        for state in [StateFilter::Open, StateFilter::All] {
            let mut query = PullQuery::default();
            query.state = state;
            let page = local.list(local.id(), &query, PageReq::first(5)).await;
            let numbers = page.unwrap().items.into_iter().map(|p| p.number);
            assert_eq!(numbers.collect::<Vec<_>>(), [Some(1)]);
        }
    }
    let merged = local.merge(&opened, &MergeReq::default()).await;
    assert!(merged.unwrap().value.commit.is_some());
}

#[tokio::test]
async fn list_ignores_index_entries_without_ref() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    // A process was killed between writing the index and the first pull request's ref.
    repo.write("../index", "forge index 1\nhighest 1\nopen 1\n");
    let ahead = repo.git(&["hash-object", "-w", "../index"]);
    repo.git(&["update-ref", "refs/forge/index", &ahead]);
    let page = local
        .list(local.id(), &PullQuery::default(), PageReq::first(5))
        .await
        .unwrap();
    assert!(page.items.is_empty() && page.warnings.is_empty());
    let opened = create(&local, "topic").await;
    assert_eq!(opened.number, Some(2));
    let page = local
        .list(local.id(), &PullQuery::default(), PageReq::first(5))
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
}

#[tokio::test]
async fn stale_lock_file_is_named() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let lock = repo.path.join(".git/refs/forge/pulls/1.lock");
    let file = std::fs::File::create(&lock).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    file.set_modified(old).unwrap();
    let e = local.comment(&pr(&local, 1), "x", None).await.unwrap_err();
    assert!(e.message().contains(lock.to_str().unwrap()), "{e}");
    assert!(e.hint().is_some_and(|h| h.text().contains("rm ")), "{e:?}");
    assert!(local.view(&pr(&local, 1), PrFields::NONE).await.is_ok());
    std::fs::remove_file(&lock).unwrap();
    local.comment(&pr(&local, 1), "x", None).await.unwrap();
}
