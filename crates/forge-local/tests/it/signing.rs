//! New commits on a branch are signed if git's configuration requests signatures. Events are never
//! signed.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use forge_core::{
    PullRequests, Trust,
    model::{CreatePull, FileEdit, MergeMethod, MergeReq, UpdateBranch, UpdateMethod},
};

use forge_local::Local;

use crate::repo::{Repo, create, pr};

/// A program that imitates gpg and signs anything.
const STAND_IN: &str = "#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n\
    printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n";

/// Returns a repository that signs all later commits, with a `topic` that has diverged. The key is
/// an ssh key if the machine has `ssh-keygen`; otherwise a program imitates gpg. The flag is true
/// if git can verify the signatures.
fn signed() -> (Repo, bool) {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    repo.write("base.txt", "zero\none\ntwo\nthree\n");
    repo.commit("main goes on");
    repo.git(&["config", "commit.gpgsign", "true"]);
    let beside = repo.path.parent().unwrap();
    let key = beside.join("key");
    let made = Command::new("ssh-keygen")
        .args([
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            "alice@example.com",
            "-f",
        ])
        .arg(&key)
        .status();
    let is_ssh = made.is_ok_and(|status| status.success());
    if is_ssh {
        let public = fs::read_to_string(key.with_extension("pub")).unwrap();
        let allowed = beside.join("allowed");
        fs::write(&allowed, format!("alice@example.com {public}")).unwrap();
        repo.git(&["config", "gpg.format", "ssh"]);
        repo.git(&["config", "user.signingKey", key.to_str().unwrap()]);
        repo.git(&[
            "config",
            "gpg.ssh.allowedSignersFile",
            allowed.to_str().unwrap(),
        ]);
    } else {
        program(&repo, STAND_IN);
    }
    (repo, is_ssh)
}

fn program(repo: &Repo, script: &str) {
    let path = repo.path.parent().unwrap().join("signer");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    repo.git(&["config", "gpg.format", "openpgp"]);
    repo.git(&["config", "gpg.program", path.to_str().unwrap()]);
}

/// Asserts that the range has `count` commits, that all are signed, and that events are unsigned.
fn holds(repo: &Repo, is_ssh: bool, range: &[&str], count: usize) {
    let listed = |args: &[&str]| {
        let oids = repo.git(&[&["rev-list"], args].concat());
        oids.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let landed = listed(range);
    assert_eq!(landed.len(), count, "{range:?}");
    for oid in &landed {
        let data = repo.git(&["cat-file", "commit", oid]);
        assert!(data.contains("\ngpgsig -----BEGIN "), "{data}");
        if is_ssh {
            repo.git(&["verify-commit", oid]);
        }
    }
    let events = listed(&["--glob=refs/forge/*", "--not", "--branches"]);
    assert!(!events.is_empty());
    for oid in &events {
        let data = repo.git(&["cat-file", "commit", oid]);
        assert!(!data.contains("gpgsig"), "{data}");
    }
}

#[tokio::test]
async fn merge_of_each_method_signs_new_commits() {
    for method in [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase] {
        let (repo, is_ssh) = signed();
        let before = repo.oid("main");
        let local = repo.open().await;
        create(&local, "topic").await;
        let mut req = MergeReq::default();
        req.method = Some(method);
        local.merge(&pr(&local, 1), &req).await.unwrap();
        holds(&repo, is_ssh, &["main", "--not", &before, "topic"], 1);
    }
}

#[tokio::test]
async fn update_branch_signs_new_commits() {
    for method in [UpdateMethod::Merge, UpdateMethod::Rebase] {
        let (repo, is_ssh) = signed();
        let before = repo.oid("topic");
        let local = repo.open().await;
        create(&local, "topic").await;
        let req = UpdateBranch::by(method);
        local.update_branch(&pr(&local, 1), &req).await.unwrap();
        holds(&repo, is_ssh, &["topic", "--not", "main", &before], 1);
    }
}

#[tokio::test]
async fn create_from_edits_and_patch_signs_commits() {
    let (repo, is_ssh) = signed();
    let mails = repo.git(&["format-patch", "--stdout", "main..topic"]) + "\n";
    let local = repo.open().await;
    let mut edits = CreatePull::new("edited", "Edits");
    edits.edits = vec![FileEdit::write("edited.txt", "x\n")];
    let mut patch = CreatePull::new("patched", "Patch");
    patch.patch = Some(mails.into());
    for req in [edits, patch] {
        local.create(local.id(), &req).await.unwrap();
    }
    holds(&repo, is_ssh, &["edited", "patched", "--not", "main"], 2);
}

#[tokio::test]
async fn failing_signature_changes_nothing() {
    let (repo, _) = signed();
    program(&repo, "#!/bin/sh\necho no secret key >&2\nexit 2\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let before = repo.git(&["for-each-ref"]);
    let named = |e: &forge_core::Error| {
        assert_eq!(e.code(), "git", "{e:?}");
        for part in ["signer", "gpg.program", "commit.gpgsign", "no secret key"] {
            assert!(e.message().contains(part), "{part}: {e:?}");
        }
    };
    for method in [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase] {
        let mut req = MergeReq::default();
        req.method = Some(method);
        req.delete_branch = true;
        named(&local.merge(&pr(&local, 1), &req).await.unwrap_err());
    }
    for method in [UpdateMethod::Merge, UpdateMethod::Rebase] {
        let req = UpdateBranch::by(method);
        named(&local.update_branch(&pr(&local, 1), &req).await.unwrap_err());
    }
    let mut edits = CreatePull::new("edited", "Edits");
    edits.edits = vec![FileEdit::write("edited.txt", "x\n")];
    named(&local.create(local.id(), &edits).await.unwrap_err());
    assert_eq!(repo.git(&["for-each-ref"]), before);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    // Comments are not signed.
    local
        .close(&pr(&local, 1), &Default::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn guarded_merge_ignores_signing_settings_of_repository() {
    let (repo, _) = signed();
    program(&repo, "#!/bin/sh\ntouch \"$0.ran\"\nexit 2\n");
    let local = Local::open(&repo.path, Trust::Named).await.unwrap();
    create(&local, "topic").await;
    let before = repo.git(&["for-each-ref"]);
    let merge = local.merge(&pr(&local, 1), &MergeReq::default()).await;
    let e = merge.unwrap_err();
    assert_eq!(e.code(), "permission_denied", "{e:?}");
    assert!(e.message().contains("commit.gpgsign"), "{e:?}");
    assert_eq!(repo.git(&["for-each-ref"]), before);
    assert!(!repo.path.parent().unwrap().join("signer.ran").exists());
}

#[tokio::test]
async fn disabled_signing_makes_no_signature() {
    let (repo, _) = signed();
    repo.git(&["config", "commit.gpgsign", "false"]);
    let local = repo.open().await;
    create(&local, "topic").await;
    let merge = local.merge(&pr(&local, 1), &MergeReq::default()).await;
    let commit = merge.unwrap().value.commit.unwrap();
    assert!(
        !repo
            .git(&["cat-file", "commit", &commit])
            .contains("gpgsig")
    );
}

#[tokio::test]
async fn linked_work_tree_signs_by_own_configuration() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let linked = repo.path.with_file_name("linked");
    repo.git(&["config", "extensions.worktreeConfig", "true"]);
    let add = ["worktree", "add", "--quiet", "-b", "more"];
    repo.git(&[&add[..], &[linked.to_str().unwrap()]].concat());
    let signer = repo.path.with_file_name("signer");
    fs::write(&signer, STAND_IN).unwrap();
    fs::set_permissions(&signer, fs::Permissions::from_mode(0o755)).unwrap();
    for (key, value) in [
        ("commit.gpgsign", "true"),
        ("gpg.program", signer.to_str().unwrap()),
        ("user.email", "work@example.com"),
    ] {
        crate::repo::git(&linked, &["config", "--worktree", key, value]);
    }
    let local = Local::open(&linked, Trust::Person).await.unwrap();
    create(&local, "topic").await;
    let merge = local.merge(&pr(&local, 1), &MergeReq::default()).await;
    let commit = merge.unwrap().value.commit.unwrap();
    let data = repo.git(&["cat-file", "commit", &commit]);
    assert!(data.contains("\ngpgsig -----BEGIN "), "{data}");
    assert!(
        data.contains("committer alice <work@example.com>"),
        "{data}"
    );
}
