//! Moves of branches that work trees have checked out.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use forge_core::{
    Arg, Call, ErrorKind, Hint, Param, Precondition, PullRequests, Trust,
    model::{MergeMethod, MergeReq, UpdateBranch, UpdateMethod},
};

use crate::repo::{Repo, create, git, pr};

/// Returns a repository with `main` checked out, and pull request #1 from `topic`. The pull request
/// changes `README`, adds `dir/new` and deletes `old`.
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
    let mut req = MergeReq::default();
    req.method = Some(MergeMethod::Squash);
    req
}

fn leaving() -> MergeReq {
    let mut req = squash();
    req.leave_checkout = true;
    req
}

fn read(repo: &Repo, path: &str) -> String {
    fs::read_to_string(repo.path.join(path)).unwrap_or_default()
}

/// Returns the files in the error of a merge that was refused because of the work tree.
fn in_the_way(e: &forge_core::Error) -> Vec<String> {
    match e.kind() {
        ErrorKind::Precondition(Precondition::WorkTree(files)) => files.clone(),
        other => panic!("{other:?}: {e}"),
    }
}

#[tokio::test]
async fn merge_into_checked_out_base_survives_next_commit() {
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
async fn merge_updates_linked_work_trees() {
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
    // The main work tree does not have the branch checked out, so its files are unchanged.
    assert_eq!(read(&repo, "changed"), "a\n");
}

#[tokio::test]
async fn merge_blocked_by_user_files_names_files() {
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
        assert!(e.message().contains(path), "{e}");
        let again = e.hint().and_then(Hint::action).unwrap();
        let leave = (Param::LeaveCheckout, Arg::Set("true".into()));
        assert_eq!((again.call(), again.args()), (Call::Again, &[leave][..]));
        let after = (repo.oid("main"), repo.git(&["status", "--porcelain"]));
        assert_eq!(before, after);
        assert_eq!(log, repo.oid("refs/forge/pulls/1"));
        assert_eq!(read(&repo, path), "mine\n");
    }
}

#[tokio::test]
async fn merge_never_overwrites_ignored_file() {
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
async fn directory_replaced_by_file_keeps_ignored_files() {
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
async fn merge_with_leave_checkout_ignores_changes_and_warns() {
    let (repo, local) = on_base().await;
    repo.write("changed", "mine\n");
    let mut req = squash();
    req.leave_checkout = true;
    let merged = local.merge(&pr(&local, 1), &req).await.unwrap();
    assert!(
        merged.warnings[0]
            .hint
            .as_ref()
            .unwrap()
            .text()
            .contains("read-tree -m -u")
    );
    assert_eq!(read(&repo, "changed"), "mine\n");
    assert!(!repo.path.join("dir").exists());
    // A later merge cannot distinguish files of an older commit from a staged revert.
    repo.write("changed", "a\n");
    let linked = repo.path.with_file_name("next");
    let path = linked.to_str().unwrap();
    repo.git(&["worktree", "add", "--quiet", "-b", "next", path, "main"]);
    fs::write(linked.join("third"), "3\n").unwrap();
    git(&linked, &["add", "third"]);
    git(&linked, &["commit", "--quiet", "-m", "third"]);
    create(&local, "next").await;
    let e = local.merge(&pr(&local, 2), &squash()).await.unwrap_err();
    let hint = e.hint().unwrap();
    let (_, command) = hint.text().split_once("first: git -C ").unwrap();
    let (_, command) = command.split_once(' ').unwrap();
    let command: Vec<&str> = command.split(';').next().unwrap().split(' ').collect();
    repo.git(&command);
    local.merge(&pr(&local, 2), &squash()).await.unwrap();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(read(&repo, "changed"), "b\n");
    assert_eq!(read(&repo, "third"), "3\n");
}

#[tokio::test]
async fn merge_over_staged_revert_is_refused() {
    let (repo, local) = on_base().await;
    repo.write("other", "newer\n");
    repo.commit("newer");
    repo.git(&["revert", "--no-commit", "HEAD"]);
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert!(
        e.hint().unwrap().text().contains("commit that first"),
        "{e:?}"
    );
    assert_eq!(repo.git(&["status", "--porcelain"]), "M  other");
}

#[tokio::test]
async fn symbolic_branch_is_not_moved_or_deleted() {
    let (repo, local) = on_base().await;
    repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    repo.git(&["symbolic-ref", "refs/heads/twig", "refs/heads/topic"]);
    let mut edit = forge_core::model::EditPull::default();
    edit.base = Some("alias".into());
    local.edit(&pr(&local, 1), &edit).await.unwrap();
    let before = repo.oid("main");
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert!(
        e.message().contains("symbolic ref to refs/heads/main"),
        "{e}"
    );
    assert_eq!(repo.oid("main"), before);
    create(&local, "twig").await;
    let mut req = squash();
    req.delete_branch = true;
    let merged = local.merge(&pr(&local, 2), &req).await.unwrap();
    assert!(!merged.value.branch_deleted, "{merged:?}");
    repo.oid("topic");
}

#[tokio::test]
async fn work_tree_of_another_repository_is_refused() {
    let (repo, _) = on_base().await;
    repo.git(&["switch", "--quiet", "--detach"]);
    let linked = repo.path.with_file_name("linked");
    let path = linked.to_str().unwrap();
    repo.git(&["worktree", "add", "--quiet", path, "main"]);
    let copy = repo.path.with_file_name("copy");
    let status = std::process::Command::new("cp")
        .arg("-r")
        .args([&repo.path, &copy])
        .status();
    assert!(status.unwrap().success());
    let local = forge_local::Local::open(&copy, forge_core::Trust::Person)
        .await
        .unwrap();
    let before = git(&copy, &["rev-parse", "main"]);
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert!(
        in_the_way(&e).is_empty() && e.message().contains(path),
        "{e}"
    );
    assert_eq!(git(&copy, &["rev-parse", "main"]), before);
    local.merge(&pr(&local, 1), &leaving()).await.unwrap();
    assert_eq!(git(&linked, &["status", "--porcelain"]), "");
    assert!(!linked.join("dir").exists());
}

#[tokio::test]
async fn merge_killed_after_file_update_can_be_repeated() {
    let (repo, local) = on_base().await;
    let base = repo.oid("main");
    let index = repo.oid("refs/forge/index");
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    // The refs are reset to the moment after the update of the files and before a branch moved.
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
async fn work_tree_update_applies_filters_and_line_ends() {
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
async fn file_outside_sparse_checkout_is_never_overwritten() {
    let (repo, local) = on_base().await;
    repo.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/dir/"]);
    fs::create_dir(repo.path.join("dir")).unwrap();
    repo.write("dir/new", "mine\n");
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert_eq!(in_the_way(&e), ["dir/new"], "{e}");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn ignored_file_with_non_utf8_name_is_kept() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let repo = Repo::new();
    let odd = repo.path.join(OsStr::from_bytes(b"\xff"));
    repo.git(&["switch", "--quiet", "-c", "topic"]);
    fs::write(&odd, "theirs\n").unwrap();
    repo.commit("odd");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write(".git/info/exclude", "*\n");
    fs::write(&odd, "mine\n").unwrap();
    let local = repo.open().await;
    create(&local, "topic").await;
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert_eq!(in_the_way(&e), ["\u{fffd}"], "{e}");
    assert_eq!(fs::read_to_string(&odd).unwrap(), "mine\n");
}

#[tokio::test]
async fn staged_deletions_and_modes_block_merge() {
    for change in [
        &["rm", "--quiet", "--cached", "changed"][..],
        &["rm", "--quiet", "changed"],
        &["update-index", "--chmod=+x", "changed"],
    ] {
        let (repo, local) = on_base().await;
        repo.git(change);
        let before = repo.git(&["status", "--porcelain"]);
        let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
        assert_eq!(in_the_way(&e), ["changed"], "{change:?}: {e}");
        assert_eq!(repo.git(&["status", "--porcelain"]), before);
    }
}

#[tokio::test]
async fn locked_index_refuses_merge() {
    let (repo, local) = on_base().await;
    repo.write(".git/index.lock", "");
    let base = repo.oid("main");
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert!(e.message().contains("index.lock"), "{e}");
    assert_eq!(repo.oid("main"), base);
}

#[tokio::test]
async fn failing_filter_moves_no_branch() {
    let (repo, local) = on_base().await;
    repo.write(".git/info/attributes", "dir/* filter=crypt\n");
    repo.git(&["config", "filter.crypt.smudge", "false"]);
    repo.git(&["config", "filter.crypt.required", "true"]);
    repo.write("other", "mine\n");
    let base = repo.oid("main");
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert!(e.message().contains("crypt"), "{e}");
    assert_eq!(repo.oid("main"), base);
    assert!(e.hint().unwrap().text().contains("did not move"), "{e:?}");
    assert_eq!(read(&repo, "other"), "mine\n");
    // After the failed merge, `git commit -a` may add files of the pull request, but reverts
    // nothing.
    repo.git(&["commit", "--quiet", "-a", "-m", "work"]);
    repo.git(&["config", "filter.crypt.smudge", "cat"]);
    repo.git(&["clean", "-fdq"]);
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert_eq!(repo.git(&["show", "main:changed"]), "b");
    assert_eq!(repo.git(&["show", "main:other"]), "mine");
}

/// Installs a `reference-transaction` hook that runs `script` for transactions of `main`.
pub fn hook(repo: &Repo, phase: &str, script: &str) {
    let hook = repo.path.join(".git/hooks/reference-transaction");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let text =
        format!("#!/bin/sh\n[ $1 = {phase} ] && grep -q refs/heads/main && {script}\nexit 0\n");
    fs::write(&hook, text).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn files_are_restored_when_hook_refuses_move() {
    let (repo, local) = on_base().await;
    repo.write("other", "mine\n");
    hook(&repo, "prepared", "exit 1");
    local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert_eq!(repo.git(&["status", "--porcelain"]).trim(), "M other");
    assert_eq!(read(&repo, "changed"), "a\n");
}

#[tokio::test]
async fn files_stay_when_git_dies_after_branch_move() {
    let (repo, local) = on_base().await;
    let base = repo.oid("main");
    hook(&repo, "committed", "kill -9 $PPID");
    let _ = local.merge(&pr(&local, 1), &squash()).await;
    assert_ne!(repo.oid("main"), base);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(read(&repo, "changed"), "b\n");
}

#[tokio::test]
async fn unrelated_submodule_is_not_changed() {
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

/// Returns a repository on `main` with the submodule `lib` checked out at the returned commit. On
/// `topic`, `lib` is at another commit.
async fn on_submodule() -> (Repo, String) {
    let lib = Repo::new();
    let first = lib.oid("HEAD");
    lib.write("file.txt", "second\n");
    let second = lib.commit("second");
    let repo = Repo::new();
    let url = lib.path.to_str().unwrap();
    let allow = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", url, "lib"];
    repo.git(&[&allow[..], &add[..]].concat());
    let inside = repo.path.join("lib");
    git(&inside, &["checkout", "--quiet", &first]);
    repo.commit("submodule");
    repo.git(&["switch", "--quiet", "-c", "topic"]);
    git(&inside, &["checkout", "--quiet", &second]);
    repo.commit("newer");
    repo.git(&["switch", "--quiet", "main"]);
    git(&inside, &["checkout", "--quiet", &first]);
    (repo, first)
}

#[tokio::test]
async fn merge_changing_submodule_is_refused() {
    for removed in [false, true] {
        let (repo, first) = on_submodule().await;
        if removed {
            repo.git(&["switch", "--quiet", "topic"]);
            repo.git(&["rm", "--quiet", "-f", "lib"]);
            repo.write("lib", "a file\n");
            repo.commit("file");
            repo.git(&["switch", "--quiet", "main"]);
            repo.git(&[
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "--quiet",
                "update",
                "--init",
            ]);
        }
        let local = repo.open().await;
        create(&local, "topic").await;
        let inside = repo.path.join("lib");
        fs::write(inside.join("mine"), "mine\n").unwrap();
        let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
        assert_eq!(in_the_way(&e), ["lib"], "{e}");
        assert_eq!(git(&inside, &["rev-parse", "HEAD"]), first);
        let mut req = squash();
        req.leave_checkout = true;
        local.merge(&pr(&local, 1), &req).await.unwrap();
        assert_eq!(fs::read_to_string(inside.join("mine")).unwrap(), "mine\n");
    }
}

#[tokio::test]
async fn update_branch_updates_checked_out_head() {
    for method in [UpdateMethod::Merge, UpdateMethod::Rebase] {
        let (repo, local) = on_base().await;
        repo.write("more", "more\n");
        repo.commit("main goes on");
        repo.git(&["switch", "--quiet", "topic"]);
        let req = UpdateBranch::by(method);
        repo.write("more", "mine\n");
        let e = local.update_branch(&pr(&local, 1), &req).await.unwrap_err();
        assert_eq!(in_the_way(&e), ["more"]);
        fs::remove_file(repo.path.join("more")).unwrap();
        local.update_branch(&pr(&local, 1), &req).await.unwrap();
        assert_eq!(read(&repo, "more"), "more\n");
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    }
}

/// Starts a rebase of `branch` that stops at an edit.
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
        let mut req = squash();
        req.delete_branch = true;
        let before = repo.oid(branch);
        let merged = local.merge(&pr(&local, 1), &req).await;
        let says = "a rebase of it is unfinished";
        if branch == "main" {
            let e = merged.unwrap_err();
            assert!(
                in_the_way(&e).is_empty() && e.message().contains(says),
                "{e}"
            );
            assert!(
                e.hint().unwrap().text().contains("rebase --continue"),
                "{e}"
            );
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
    assert!(e.hint().unwrap().text().contains("bisect reset"), "{e}");
}

#[tokio::test]
async fn branch_moved_by_other_rebase_is_not_deleted() {
    let (repo, local) = on_base().await;
    repo.git(&["switch", "--quiet", "-c", "upper", "topic"]);
    repo.write("upper", "u\n");
    repo.commit("upper");
    let editor = repo.path.with_file_name("editor");
    fs::write(&editor, "#!/bin/sh\nsed -i 1ibreak \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let editor = format!("sequence.editor={}", editor.display());
    let rebase = [
        "rebase",
        "--quiet",
        "-i",
        "--update-refs",
        "--force-rebase",
        "main",
    ];
    repo.git(&[&["-c", &editor], &rebase[..]].concat());
    let mut req = squash();
    req.delete_branch = true;
    let merged = local.merge(&pr(&local, 1), &req).await.unwrap();
    assert!(!merged.value.branch_deleted, "{merged:?}");
    repo.oid("topic");
}

/// Moves the git directory of `repo` out of its work tree, and returns the new path.
fn move_git_dir(repo: &Repo) -> std::path::PathBuf {
    let elsewhere = repo.path.with_file_name("elsewhere");
    fs::rename(repo.path.join(".git"), &elsewhere).unwrap();
    elsewhere
}

/// Asserts that `main` and the files in `dir` have the changes of the pull request, and that `dir`
/// is clean.
fn holds(repo: &Repo, dir: &Path) {
    assert_eq!(repo.git(&["show", "main:changed"]), "b");
    assert_eq!(fs::read_to_string(dir.join("changed")).unwrap(), "b\n");
    assert_eq!(git(dir, &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn merge_finds_work_tree_of_separate_git_directory() {
    for how in ["file", "link", "core.worktree"] {
        let (repo, _) = on_base().await;
        let elsewhere = move_git_dir(&repo);
        let path = elsewhere.to_str().unwrap();
        match how {
            "link" => symlink(&elsewhere, repo.path.join(".git")).unwrap(),
            _ => repo.write(".git", &format!("gitdir: {path}\n")),
        }
        if how == "core.worktree" {
            let top = repo.path.to_str().unwrap();
            repo.git(&["config", "core.worktree", top]);
        }
        let before = repo.oid("main");
        let named = forge_local::Local::open(&elsewhere, Trust::Person).await;
        let merged = named.unwrap();
        let merged = merged.merge(&pr(&merged, 1), &squash()).await;
        if how != "core.worktree" {
            let e = merged.unwrap_err();
            assert!(e.message().contains("main work tree of"), "{how}: {e}");
            let again = e.hint().and_then(Hint::action).unwrap();
            assert_eq!(again.args(), [(Param::Repo, Arg::Choose)]);
            assert_eq!(repo.oid("main"), before);
            let local = repo.open().await;
            local.merge(&pr(&local, 1), &squash()).await.unwrap();
        }
        holds(&repo, &repo.path);
    }
}

#[tokio::test]
async fn work_tree_without_back_link_is_refused() {
    let (repo, _) = on_base().await;
    // The work tree that git's configuration names has no link to the repository.
    let top = repo.path.with_file_name("top");
    fs::create_dir(&top).unwrap();
    repo.git(&["config", "core.worktree", top.to_str().unwrap()]);
    let linked = repo.path.with_file_name("linked");
    let add = ["worktree", "add", "--quiet", "--detach"];
    repo.git(&[&add[..], &[linked.to_str().unwrap()]].concat());
    for path in [&repo.path, &linked] {
        let local = forge_local::Local::open(path, Trust::Person).await.unwrap();
        let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
        assert!(e.message().contains("top is not that"), "{e}");
    }
}

#[tokio::test]
async fn merge_in_submodule_updates_files() {
    let (lib, _) = on_base().await;
    let repo = Repo::new();
    let url = lib.path.to_str().unwrap();
    let allow = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "--quiet", "add", url, "lib"];
    repo.git(&[&allow[..], &add[..]].concat());
    let inside = repo.path.join("lib");
    git(&inside, &["config", "user.name", "alice"]);
    git(&inside, &["config", "user.email", "alice@example.com"]);
    git(&inside, &["branch", "--quiet", "topic", "origin/topic"]);
    for path in [&inside, &repo.path.join(".git/modules/lib")] {
        let local = forge_local::Local::open(path, Trust::Person).await.unwrap();
        if path == &inside {
            create(&local, "topic").await;
            local.merge(&pr(&local, 1), &squash()).await.unwrap();
        } else {
            git(&inside, &["switch", "--quiet", "-c", "more"]);
            fs::write(inside.join("more"), "more\n").unwrap();
            git(&inside, &["add", "more"]);
            git(&inside, &["commit", "--quiet", "-m", "more"]);
            git(&inside, &["switch", "--quiet", "main"]);
            create(&local, "more").await;
            local.merge(&pr(&local, 2), &squash()).await.unwrap();
            assert!(inside.join("more").exists());
        }
        assert_eq!(git(&inside, &["status", "--porcelain"]), "");
        assert_eq!(fs::read_to_string(inside.join("changed")).unwrap(), "b\n");
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn work_tree_with_non_utf8_path_is_updated() {
    use std::os::unix::ffi::OsStrExt as _;
    let (repo, local) = on_base().await;
    repo.git(&["switch", "--quiet", "--detach"]);
    let odd = std::ffi::OsStr::from_bytes(b"w\xff");
    let linked = repo.path.with_file_name(odd);
    let status = std::process::Command::new("git")
        .current_dir(&repo.path)
        .args(["worktree", "add", "--quiet"])
        .arg(&linked)
        .arg("main")
        .status();
    assert!(status.unwrap().success());
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    holds(&repo, &linked);
}

#[tokio::test]
async fn missing_work_tree_gives_warning() {
    let (repo, local) = on_base().await;
    repo.git(&["switch", "--quiet", "--detach"]);
    let linked = repo.path.with_file_name("linked");
    let path = linked.to_str().unwrap();
    repo.git(&["worktree", "add", "--quiet", path, "main"]);
    let moved = repo.path.with_file_name("moved");
    fs::rename(&linked, &moved).unwrap();
    let merged = local.merge(&pr(&local, 1), &squash()).await.unwrap();
    let warning = &merged.warnings[0];
    assert!(warning.message.contains(path), "{warning:?}");
    let hint = warning.hint.as_ref().unwrap().text().to_owned();
    let (_, commands) = hint.split_once("run in it: git ").unwrap();
    let (repair, rest) = commands.split_once(", and git ").unwrap();
    let (along, _) = rest.split_once(';').unwrap();
    for command in [repair, along] {
        git(&moved, &command.split(' ').collect::<Vec<_>>());
    }
    holds(&repo, &moved);
}

#[tokio::test]
async fn missing_locked_work_tree_refuses_merge() {
    let (repo, local) = on_base().await;
    repo.git(&["switch", "--quiet", "--detach"]);
    let linked = repo.path.with_file_name("linked");
    let path = linked.to_str().unwrap();
    repo.git(&["worktree", "add", "--quiet", path, "main"]);
    repo.git(&["worktree", "lock", "--reason", "on a disk", path]);
    let away = repo.path.with_file_name("away");
    fs::rename(&linked, &away).unwrap();
    let before = repo.git(&["rev-parse", "main"]);
    let error = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert!(error.message().contains(path), "{error:?}");
    assert!(error.message().contains("locked"), "{error:?}");
    assert_eq!(repo.git(&["rev-parse", "main"]), before);
    // The disk is mounted again.
    fs::rename(&away, &linked).unwrap();
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    holds(&repo, &linked);
}

/// Installs a hook that runs `script` once: when files of the work tree have changed, or when a ref
/// transaction is committed.
fn meanwhile(repo: &Repo, hook: &str, argument: &str, script: &str) {
    let path = repo.path.join(".git/hooks").join(hook);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let done = repo.path.with_file_name("done");
    let done = done.display();
    let text = format!(
        "#!/bin/sh\n[ $1 = {argument} ] && mkdir {done} 2>/dev/null || exit 0\n\
         unset GIT_INDEX_FILE\n{script}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn user_commit_during_merge_is_kept() {
    let by_other = "git update-ref refs/heads/main \
        $(git commit-tree -p main -m theirs $(git write-tree))";
    for (script, file, text) in [
        ("echo mine >other; git commit -qam mine", "other", "mine\n"),
        (
            "echo mine >other; git commit -qm mine other",
            "other",
            "mine\n",
        ),
        (by_other, "dir/new", "new\n"),
    ] {
        let (repo, local) = on_base().await;
        // After the files were updated, a commit of the user moves the branch before the merge
        // does.
        meanwhile(&repo, "post-index-change", "1", script);
        local.merge(&pr(&local, 1), &squash()).await.unwrap();
        assert!(repo.path.with_file_name("done").exists());
        holds(&repo, &repo.path);
        assert_eq!(repo.git(&["rev-list", "--count", "main"]), "4", "{script}");
        assert_eq!(read(&repo, file), text, "{script}");
    }
}

#[tokio::test]
async fn update_branch_keeps_user_commit() {
    let (repo, local) = on_base().await;
    repo.write("more", "more\n");
    repo.commit("main goes on");
    repo.git(&["switch", "--quiet", "topic"]);
    let script = "echo mine >other; git commit -qam mine";
    meanwhile(&repo, "post-index-change", "1", script);
    let req = UpdateBranch::default();
    local.update_branch(&pr(&local, 1), &req).await.unwrap();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(
        (read(&repo, "more"), read(&repo, "other")),
        ("more\n".into(), "mine\n".into())
    );
}

#[tokio::test]
async fn failed_file_update_hints_at_read_tree() {
    let (repo, local) = on_base().await;
    let script = "git commit -qm mine --allow-empty --only; echo mine >changed";
    meanwhile(&repo, "post-index-change", "1", script);
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    let path = repo.path.to_str().unwrap();
    assert!(e.message().contains(path), "{e}");
    assert!(
        e.hint().unwrap().text().contains("read-tree -m -u"),
        "{e:?}"
    );
    assert_eq!(read(&repo, "changed"), "mine\n");
}

#[tokio::test]
async fn switch_to_base_during_merge_updates_files() {
    let (repo, local) = on_base().await;
    repo.git(&["switch", "--quiet", "-c", "elsewhere"]);
    meanwhile(
        &repo,
        "reference-transaction",
        "committed",
        "git switch -q main",
    );
    let merged = local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert!(merged.warnings.is_empty(), "{:?}", merged.warnings);
    assert_eq!(repo.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    holds(&repo, &repo.path);
}

#[tokio::test]
async fn switch_to_base_with_changes_during_merge_warns() {
    let (repo, local) = on_base().await;
    repo.git(&["switch", "--quiet", "-c", "elsewhere"]);
    let script = "git switch -q main; echo mine >changed";
    meanwhile(&repo, "reference-transaction", "committed", script);
    let merged = local.merge(&pr(&local, 1), &squash()).await.unwrap();
    let warning = &merged.warnings[0];
    assert!(warning.message.contains("were not updated"), "{warning:?}");
    assert_eq!(read(&repo, "changed"), "mine\n");
}

#[tokio::test]
async fn switch_from_base_during_merge_leaves_clean_files() {
    let (repo, local) = on_base().await;
    repo.git(&["branch", "elsewhere"]);
    meanwhile(&repo, "post-index-change", "1", "git switch -q elsewhere");
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    assert_eq!(repo.git(&["symbolic-ref", "--short", "HEAD"]), "elsewhere");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["show", "main:changed"]), "b");
}

#[tokio::test]
async fn unstaged_deletion_of_changed_file_blocks_merge() {
    let (repo, local) = on_base().await;
    fs::remove_file(repo.path.join("changed")).unwrap();
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert_eq!(in_the_way(&e), ["changed"], "{e}");
    assert!(!repo.path.join("changed").exists());
    // The user's deletion of `old` does not block the merge, because the merge deletes `old` too.
    repo.git(&["checkout", "--quiet", "changed"]);
    fs::remove_file(repo.path.join("old")).unwrap();
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    holds(&repo, &repo.path);
}

#[tokio::test]
async fn merge_with_outdated_file_is_refused() {
    let (repo, local) = on_base().await;
    let before = repo.git(&["for-each-ref"]);
    // A checkout was interrupted: the index has the merge, but one file does not.
    let old = fs::read(repo.path.join("changed")).unwrap();
    repo.git(&["read-tree", "-m", "-u", "main", "topic"]);
    fs::write(repo.path.join("changed"), &old).unwrap();
    let e = local.merge(&pr(&local, 1), &squash()).await.unwrap_err();
    assert_eq!(in_the_way(&e), ["changed"], "{e}");
    assert_eq!(repo.git(&["for-each-ref"]), before);
    repo.git(&["checkout", "--quiet", "changed"]);
    local.merge(&pr(&local, 1), &squash()).await.unwrap();
    holds(&repo, &repo.path);
}

#[tokio::test]
async fn outdated_files_are_detected_despite_staged_changes() {
    for staged in ["other", "changed"] {
        let (repo, local) = on_base().await;
        local.merge(&pr(&local, 1), &leaving()).await.unwrap();
        repo.write(staged, "mine\n");
        repo.git(&["add", staged]);
        let linked = repo.path.with_file_name("next");
        let path = linked.to_str().unwrap();
        repo.git(&["worktree", "add", "--quiet", "-b", "next", path, "main"]);
        fs::write(linked.join("third"), "3\n").unwrap();
        git(&linked, &["add", "third"]);
        git(&linked, &["commit", "--quiet", "-m", "third"]);
        create(&local, "next").await;
        let e = local.merge(&pr(&local, 2), &squash()).await.unwrap_err();
        assert!(e.message().contains("built on the older commit"), "{e}");
    }
}

#[tokio::test]
async fn guarded_merge_runs_no_filter_from_merge() {
    let (repo, _) = on_base().await;
    repo.write(".gitconfig", "[core]\n");
    repo.commit("included");
    repo.git(&["config", "include.path", "../.gitconfig"]);
    repo.git(&["switch", "--quiet", "-c", "evil"]);
    let ran = repo.path.with_file_name("ran");
    let filter = format!("[filter \"x\"]\nsmudge = touch {}; cat\n", ran.display());
    repo.write(".gitattributes", "zz filter=x\n");
    repo.write("zz", "z\n");
    repo.git(&["add", "--all"]);
    repo.write(".gitconfig", &filter);
    repo.commit("evil");
    repo.git(&["switch", "--quiet", "main"]);
    let _ = fs::remove_file(&ran);
    let linked = repo.path.with_file_name("linked");
    let path = linked.to_str().unwrap();
    repo.git(&["worktree", "add", "--quiet", "--force", path, "main"]);
    let before = repo.oid("main");
    let local = forge_local::Local::open(&repo.path, Trust::Named)
        .await
        .unwrap();
    create(&local, "evil").await;
    let e = local.merge(&pr(&local, 2), &squash()).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied", "{e:?}");
    assert!(e.message().contains("filter.x.smudge"), "{e}");
    assert!(!ran.exists());
    assert_eq!(repo.oid("main"), before);
}
