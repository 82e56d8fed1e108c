//! Events of others that name another head branch than the one a pull request was opened for.

use forge_core::{
    PrKey, PullRequests, Reviews,
    model::{
        BranchClaim, CloseReq, CreatePull, HeadMatches, HeadRef, MergeReq, PrFields, PrState,
        StateFilter,
    },
};
use forge_local::Local;

use crate::repo::{Repo, create, pr};

/// Appends an event by mallory to pull request 1, with the state that `change` makes.
fn forge_event(repo: &Repo, change: impl FnOnce(&mut serde_json::Value)) {
    let name = "refs/forge/pulls/1";
    let stored = repo.git(&["show", &format!("{name}:pull.json")]);
    let mut state = serde_json::from_str(&stored).unwrap();
    change(&mut state);
    let message = repo.git(&["log", "-1", "--format=%B", name]);
    repo.write(".git/pull.json", &state.to_string());
    let blob = repo.git(&["hash-object", "-w", ".git/pull.json"]);
    let index = repo.path.join(".git/forged-index");
    let index = format!("GIT_INDEX_FILE={}", index.display());
    let cache = format!("100644,{blob},pull.json");
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new("env");
        command.arg(&index).arg("git").args(args);
        let output = command.current_dir(&repo.path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    run(&["read-tree", "--empty"]);
    run(&["update-index", "--add", "--cacheinfo", &cache]);
    let tree = run(&["write-tree"]);
    let commit = repo.git(&[
        "-c",
        "user.name=mallory",
        "commit-tree",
        &tree,
        "-p",
        name,
        "-m",
        &message,
    ]);
    repo.git(&["update-ref", name, &commit]);
}

fn redirect(repo: &Repo, branch: &str) {
    forge_event(repo, |state| state["head_branch"] = branch.into());
}

async fn find(local: &Local, branch: &str) -> HeadMatches {
    let head = HeadRef::branch(branch);
    let all = StateFilter::All;
    local
        .find(local.id(), &head, all, PrFields::NONE)
        .await
        .unwrap()
}

/// Returns a repository in which pull request 1 was opened for `theirs` and redirected to `mine`.
async fn redirected() -> (Repo, std::sync::Arc<Local>, String) {
    let repo = Repo::new();
    repo.branch("theirs", "theirs.txt", "1\n");
    let mine = repo.branch("mine", "mine.txt", "1\n");
    let local = repo.open().await;
    create(&local, "theirs").await;
    redirect(&repo, "mine");
    (repo, local, mine)
}

#[tokio::test]
async fn branch_name_selects_no_redirected_pull() {
    let (repo, local, _) = redirected().await;
    let found = find(&local, "mine").await;
    assert!(found.pulls.is_empty());
    assert_eq!(found.unproven[0].key, PrKey::Number(1));
    assert_eq!(found.unproven[0].claim, BranchClaim::Redirected);
    let head = HeadRef::branch("mine");
    let status = local.status(local.id(), Some(&head), PrFields::NONE).await;
    assert!(status.unwrap().current_branch.is_none());
    // An event that names the first branch again is harmless.
    redirect(&repo, "theirs");
    assert_eq!(find(&local, "theirs").await.pulls.len(), 1);
    // Another author of an honest event is no redirection.
    repo.user("bob");
    let comment = local.comment(&pr(&local, 1), "hm", None).await;
    comment.unwrap();
    assert_eq!(find(&local, "theirs").await.pulls.len(), 1);
}

#[tokio::test]
async fn redirected_pull_blocks_no_new_pull() {
    let (_repo, local, _) = redirected().await;
    let made = create(&local, "mine").await;
    assert_eq!(made.number, Some(2));
    let found = find(&local, "mine").await;
    assert_eq!(found.pulls[0].number, Some(2));
    let mut req = CreatePull::new("mine", "Twice");
    req.base = Some("main".into());
    let e = local.create(local.id(), &req).await.unwrap_err();
    assert_eq!(e.code(), "already_exists");
}

#[tokio::test]
async fn redirected_pull_merges_and_deletes_nothing() {
    let (repo, local, mine) = redirected().await;
    let main = repo.oid("main");
    let e = local.merge(&pr(&local, 1), &MergeReq::default()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "precondition_failed");
    assert!(e.message().contains("opened for another branch"), "{e:?}");
    assert_eq!(repo.oid("main"), main);
    let mut req = CloseReq::default();
    req.delete_branch = true;
    let closed = local.close(&pr(&local, 1), &req).await.unwrap();
    assert_eq!(closed.value.state, PrState::Closed);
    let told = |w: &forge_core::Warning| w.message.contains("opened for another branch");
    assert!(closed.warnings.iter().any(told), "{closed:?}");
    assert_eq!(repo.oid("mine"), mine);
}

#[tokio::test]
async fn forged_merge_deletes_no_unmerged_branch() {
    let repo = Repo::new();
    repo.branch("mine", "mine.txt", "1\n");
    let local = repo.open().await;
    create(&local, "mine").await;
    repo.git(&["switch", "--quiet", "mine"]);
    repo.write("mine.txt", "2\n");
    let tip = repo.commit("unpushed work");
    repo.git(&["switch", "--quiet", "main"]);
    forge_event(&repo, |state| {
        state["state"] = "merged".into();
        state["head_oid"] = tip.as_str().into();
        state["merge_commit"] = repo.oid("main").into();
        state["merged_at"] = state["created_at"].clone();
        state["closed_at"] = state["created_at"].clone();
    });
    let mut req = MergeReq::default();
    req.delete_branch = true;
    let outcome = local.merge(&pr(&local, 1), &req).await.unwrap();
    assert!(outcome.value.already_merged && !outcome.value.branch_deleted);
    let told = |w: &forge_core::Warning| w.message.contains(&tip) && w.hint.is_some();
    assert!(outcome.warnings.iter().any(told), "{outcome:?}");
    assert_eq!(repo.oid("mine"), tip);
}
