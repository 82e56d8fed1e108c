//! Work trees that have a branch checked out which moves.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use forge_core::{
    ErrorKind, Precondition, PullRequests,
    model::{MergeMethod, MergeReq, UpdateBranch, UpdateMethod},
};

use crate::repo::{Repo, create, git, pr};

/// A repository that has `main` checked out, and #1 from `topic` that changes `README`, adds
/// `dir/new` and deletes `old`.
async fn on_base() -> (Repo, std::sync::Arc<forge_local::Local>) {
    let repo = Repo::new();
    repo.write("old", "old\n");
    repo.write("other", "other\n");
    repo.write("changed", "a\n");
    repo.commit("more");
    repo.git(&["switch", "--quiet", "-c", "topic"]);
    fs::create_dir(repo.path.join("dir")).unwrap();
    repo.write("dir/new", "new\n");
    repo.write("changed", "b\n");
    fs::remove_file(repo.path.join("old")).unwrap();
    repo.commit("change");
    repo.git(&["switch", "--quiet", "main"]);
    let local = repo.open().await;
    create(&local, "topic").await;
    (repo, local)
}

fn squash() -> MergeReq {
    MergeReq {
        method: Some(MergeMethod::Squash),
        ..MergeReq::default()
    }
}

fn read(repo: &Repo, path: &str) -> String {
    fs::read_to_string(repo.path.join(path)).unwrap_or_default()
}

/// The files of a merge that was refused because of the work tree.
fn in_the_way(e: &forge_core::Error) -> Vec<String> {
    match e.kind() {
        ErrorKind::Precondition(Precondition::WorkTree(files)) => files.clone(),
        other => panic!("{other:?}: {e}"),
    }
}

#[tokio::test]
async fn merge_into_checked_out_base_survives_the_next_commit() {
    let (repo, local) = on_base().await;
    repo.write("other", "mine\n");
    let merged = local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert!(merged.warnings.is_empty(), "{:?}", merged.warnings);
    assert!(merged.steps.iter().all(|step| step.done));
    assert_eq!(read(&repo, "changed"), "b\n");
    assert_eq!(read(&repo, "dir/new"), "new\n");
    assert!(!repo.path.join("old").exists());
    assert_eq!(repo.git(&["status", "--porcelain"]).trim(), "M other");
    repo.git(&["commit", "--quiet", "-a", "-m", "work"]);
    let changed = repo.git(&["diff", "--name-only", "HEAD^", "HEAD"]);
    assert_eq!(changed, "other");
    assert_eq!(repo.git(&["show", "HEAD:changed"]), "b");
}

#[tokio::test]
async fn merge_brings_linked_work_trees_along() {
    let (repo, local) = on_base().await;
    repo.git(&["switch", "--quiet", "--detach"]);
    let linked = repo.path.with_file_name("linked tree");
    repo.git(&[
        "worktree",
        "add",
        "--quiet",
        linked.to_str().unwrap(),
        "main",
    ]);
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert_eq!(git(&linked, &["status", "--porcelain"]), "");
    assert_eq!(fs::read_to_string(linked.join("changed")).unwrap(), "b\n");
    // The main work tree is on no branch, so it stays.
    assert_eq!(read(&repo, "changed"), "a\n");
}

#[tokio::test]
async fn merge_names_files_of_the_user_in_the_way() {
    for (path, staged) in [
        ("changed", false),
        ("changed", true),
        ("old", false),
        ("dir/new", false),
        ("dir", false),
    ] {
        let (repo, local) = on_base().await;
        if path == "dir/new" {
            fs::create_dir(repo.path.join("dir")).unwrap();
        }
        repo.write(path, "mine\n");
        if staged {
            repo.git(&["add", path]);
        }
        let before = (repo.oid("main"), repo.git(&["status", "--porcelain"]));
        let log = repo.oid("refs/forge/pulls/1");
        let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
        assert_eq!(in_the_way(&e), [path], "{e}");
        assert!(e.message().contains(path) && e.hint().unwrap().contains("--leave-checkout"));
        let after = (repo.oid("main"), repo.git(&["status", "--porcelain"]));
        assert_eq!(before, after);
        assert_eq!(log, repo.oid("refs/forge/pulls/1"));
        assert_eq!(read(&repo, path), "mine\n");
    }
}

#[tokio::test]
async fn merge_never_overwrites_an_ignored_file() {
    let (repo, local) = on_base().await;
    repo.write(".git/info/exclude", "dir\n");
    fs::create_dir(repo.path.join("dir")).unwrap();
    repo.write("dir/new", "secret\n");
    repo.write("dir/else", "kept\n");
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert_eq!(in_the_way(&e), ["dir/new"], "{e}");
    fs::rename(repo.path.join("dir/new"), repo.path.join("away")).unwrap();
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert_eq!(read(&repo, "dir/else"), "kept\n");
    assert_eq!(read(&repo, "dir/new"), "new\n");
}

#[tokio::test]
async fn directory_that_becomes_a_file_keeps_ignored_files() {
    let repo = Repo::new();
    fs::create_dir(repo.path.join("d")).unwrap();
    repo.write("d/tracked", "x\n");
    repo.commit("directory");
    repo.git(&["switch", "--quiet", "-c", "topic"]);
    repo.git(&["rm", "--quiet", "-r", "d"]);
    repo.write("d", "a file\n");
    repo.commit("file");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write(".git/info/exclude", "ignored\n");
    repo.write("d/ignored", "mine\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert_eq!(in_the_way(&e), ["d/ignored"], "{e}");
    assert_eq!(read(&repo, "d/ignored"), "mine\n");
    fs::remove_file(repo.path.join("d/ignored")).unwrap();
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert_eq!(read(&repo, "d"), "a file\n");
}

#[tokio::test]
async fn leave_checkout_merges_past_changes_and_warns() {
    let (repo, local) = on_base().await;
    repo.write("changed", "mine\n");
    let req = MergeReq {
        leave_checkout: true,
        ..squash()
    };
    let merged = local.merge(&pr(&local, 1), &req).await.unwrap();
    assert!(
        merged.warnings[0]
            .hint
            .as_ref()
            .unwrap()
            .contains("read-tree -m -u")
    );
    assert_eq!(read(&repo, "changed"), "mine\n");
    assert!(!repo.path.join("dir").exists());
    // A later merge brings the files of both along, once nothing is in the way.
    repo.write("changed", "a\n");
    repo.git(&["branch", "--quiet", "next", "main"]);
    let linked = repo.path.with_file_name("next");
    repo.git(&[
        "worktree",
        "add",
        "--quiet",
        linked.to_str().unwrap(),
        "next",
    ]);
    fs::write(linked.join("third"), "3\n").unwrap();
    git(&linked, &["add", "third"]);
    git(&linked, &["commit", "--quiet", "-m", "third"]);
    create(&local, "next").await;
    local.merge(&pr(&local, 2), &squash()).await.unwrap();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(read(&repo, "changed"), "b\n");
    assert_eq!(read(&repo, "third"), "3\n");
}

#[tokio::test]
async fn merge_killed_behind_its_files_is_made_again() {
    let (repo, local) = on_base().await;
    let base = repo.oid("main");
    let index = repo.oid("refs/forge/index");
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    // Wound back to the moment at which the files had gone along and no branch had moved.
    repo.git(&["update-ref", "refs/forge/pulls/1", "refs/forge/pulls/1^"]);
    repo.git(&["update-ref", "refs/forge/index", &index]);
    repo.git(&["update-ref", "refs/heads/main", &base]);
    assert_eq!(
        repo.git(&["diff", "--cached", "--name-only"]),
        "changed\ndir/new\nold"
    );
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(read(&repo, "changed"), "b\n");
}

#[tokio::test]
async fn filters_and_line_ends_are_those_of_a_checkout() {
    let (repo, local) = on_base().await;
    repo.write(
        ".git/info/attributes",
        "dir/* filter=up\nchanged text eol=crlf\n",
    );
    repo.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    repo.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert_eq!(read(&repo, "dir/new"), "NEW\n");
    assert_eq!(read(&repo, "changed"), "b\r\n");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn sparse_checkout_stays_sparse() {
    let (repo, local) = on_base().await;
    repo.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/dir/"]);
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert_eq!(read(&repo, "changed"), "b\n");
    assert!(!repo.path.join("dir").exists());
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn submodule_beside_a_merge_is_left_alone() {
    let (repo, local) = on_base().await;
    let sub = Repo::new();
    let url = sub.path.to_str().unwrap();
    let allow = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", url, "sub"];
    repo.git(&[&allow[..], &add[..]].concat());
    repo.commit("submodule");
    repo.write("sub/file.txt", "mine\n");
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert_eq!(read(&repo, "sub/file.txt"), "mine\n");
    assert_eq!(read(&repo, "changed"), "b\n");
}

#[tokio::test]
async fn update_branch_brings_the_checked_out_head_along() {
    for method in [UpdateMethod::Merge, UpdateMethod::Rebase] {
        let (repo, local) = on_base().await;
        repo.write("more", "more\n");
        repo.commit("main goes on");
        repo.git(&["switch", "--quiet", "topic"]);
        let req = UpdateBranch {
            method,
            ..UpdateBranch::default()
        };
        repo.write("more", "mine\n");
        let e = local.update_branch(&pr(&local, 1), &req).await.unwrap_err();
        assert_eq!(in_the_way(&e), ["more"]);
        fs::remove_file(repo.path.join("more")).unwrap();
        local.update_branch(&pr(&local, 1), &req).await.unwrap();
        assert_eq!(read(&repo, "more"), "more\n");
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    }
}

/// Stops a rebase of `branch` at an edit.
fn stop_rebase(dir: &Path, branch: &str, options: &[&str]) {
    let editor = dir.with_file_name("editor");
    fs::write(&editor, "#!/bin/sh\nsed -i 's/^pick/edit/' \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    git(dir, &["switch", "--quiet", branch]);
    let editor = format!("sequence.editor={}", editor.display());
    let rebase = ["-c", &editor, "rebase", "--quiet", "-i"];
    git(dir, &[&rebase[..], options, &["HEAD^"]].concat());
}

#[tokio::test]
async fn branch_under_rebase_is_neither_moved_nor_deleted() {
    for branch in ["main", "topic"] {
        let (repo, local) = on_base().await;
        stop_rebase(&repo.path, branch, &[]);
        let req = MergeReq {
            delete_branch: true,
            ..squash()
        };
        let before = repo.oid(branch);
        let merged = local.merge(&pr(&local, 1), &req).await;
        let says = "a rebase of it has not ended";
        if branch == "main" {
            let e = merged.unwrap_err();
            assert!(
                in_the_way(&e).is_empty() && e.message().contains(says),
                "{e}"
            );
            assert!(e.hint().unwrap().contains("rebase --continue"), "{e}");
        } else {
            let merged = merged.unwrap();
            assert!(!merged.value.branch_deleted);
            assert!(
                merged.warnings[0].message.contains(says),
                "{:?}",
                merged.warnings
            );
        }
        assert_eq!(repo.oid(branch), before);
        repo.git(&["rebase", "--abort"]);
    }
}

#[tokio::test]
async fn branch_under_bisect_is_neither_moved_nor_deleted() {
    let (repo, local) = on_base().await;
    repo.git(&["bisect", "start"]);
    repo.git(&["bisect", "bad"]);
    repo.git(&["bisect", "good", "HEAD^"]);
    repo.git(&["switch", "--quiet", "--detach", "topic"]);
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert!(e.message().contains("bisect"), "{e}");
    assert!(e.hint().unwrap().contains("bisect reset"), "{e}");
}
