//! Different kinds of repositories, and unusual names in them.

use std::path::Path;

use forge_core::{
    PageReq, PullRequests, RepoId, Repos, Reviews, Trust,
    model::{
        CreatePull, FileEdit, FileStatus, MergeMethod, MergeReq, NewReview, NewThread, PrFields,
        PullQuery, PushEdits, Verdict,
    },
};
use forge_git::Git;
use forge_local::Local;

use crate::repo::{Repo, create, git, pr};

/// Opens, reviews and merges a pull request in `repo`.
async fn whole_life(repo: &Repo, local: &Local) {
    create(local, "topic").await;
    let id = pr(local, 1);
    let seen = local
        .view(&id, PrFields::STATS | PrFields::MERGEABILITY)
        .await
        .unwrap();
    assert_eq!(seen.changed_files, Some(1));
    let page = local
        .list(local.id(), &PullQuery::default(), PageReq::first(5))
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
    local.comment(&id, "hm", None).await.unwrap();
    let mut req = MergeReq::default();
    req.method = Some(MergeMethod::Squash);
    local.merge(&id, &req).await.unwrap();
    assert_eq!(repo.git(&["show", "main:new.txt"]), "new");
    let name = local.history(&id, PageReq::first(9)).await.unwrap().items;
    assert_eq!(name.len(), 2);
}

#[tokio::test]
async fn lifecycle_works_with_sha256() {
    let repo = Repo::with(&["--object-format=sha256"]);
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    whole_life(&repo, &local).await;
    assert_eq!(repo.oid("main").len(), 64);
}

#[tokio::test]
async fn lifecycle_works_with_reftable() {
    let dir = tempfile::tempdir().unwrap();
    let probe = std::process::Command::new("git")
        .args(["init", "--quiet", "--ref-format=reftable"])
        .arg(dir.path())
        .output()
        .unwrap();
    // git supports reftable since 2.45. With an older version, the test runs with refs as files.
    let format: &[&str] = if probe.status.success() {
        &["--ref-format=reftable"]
    } else {
        &[]
    };
    let repo = Repo::with(format);
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    whole_life(&repo, &local).await;
    repo.branch("again", "again.txt", "x\n");
    let opened = create(&local, "again").await;
    assert_eq!(opened.number, Some(2));
}

/// Git before 2.41 reads no `.gitattributes` file in such a merge.
#[tokio::test]
async fn base_attributes_decide_in_bare_repository() {
    let repo = Repo::new();
    let version = Git::at(&repo.path).version().await.unwrap();
    if (version.major, version.minor) < (2, 41) {
        return;
    }
    repo.write(".gitattributes", "lock -merge\n");
    repo.write("lock", "1\n2\n3\n4\n5\n");
    repo.commit("lock");
    repo.branch("topic", "lock", "one\n2\n3\n4\n5\n");
    repo.write("lock", "1\n2\n3\n4\nfive\n");
    repo.commit("five");
    let local = repo.open().await;
    create(&local, "topic").await;
    let bare = repo.path.with_file_name("bare.git");
    let mirror = ["clone", "--quiet", "--mirror", ".", bare.to_str().unwrap()];
    repo.git(&mirror);
    for path in [&repo.path, &bare] {
        let local = Local::open(path, Trust::Person).await.unwrap();
        let seen = local.view(&pr(&local, 1), PrFields::MERGEABILITY).await;
        let conflicts = seen.unwrap().mergeability.unwrap().conflicts;
        assert_eq!(conflicts, ["lock"], "{path:?}");
    }
}

#[tokio::test]
async fn lifecycle_works_in_bare_repository() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let bare = repo.path.with_file_name("bare.git");
    git(
        &repo.path,
        &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()],
    );
    git(&bare, &["config", "user.name", "alice"]);
    git(&bare, &["config", "user.email", "alice@example.com"]);
    let local = Local::open(&bare, Trust::Person).await.unwrap();
    assert_eq!(local.root(), bare);
    create(&local, "topic").await;
    let merged = local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    assert!(merged.warnings.is_empty(), "{:?}", merged.warnings);
    let info = local.repo(local.id()).await.unwrap();
    assert_eq!(info.default_branch.as_deref(), Some("main"));
}

#[tokio::test]
async fn repository_paths_resolve_to_same_repository() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let linked = repo.path.with_file_name("linked");
    repo.git(&[
        "worktree",
        "add",
        "--quiet",
        linked.to_str().unwrap(),
        "topic",
    ]);
    let sub = repo.path.join("sub dir");
    std::fs::create_dir(&sub).unwrap();
    let whole = repo.open().await;
    create(&whole, "topic").await;
    for path in [
        repo.path.join(".git"),
        sub,
        linked.clone(),
        repo.path.join("./sub dir/.."),
    ] {
        let local = Local::open(&path, Trust::Person).await.unwrap();
        assert_eq!(local.id(), whole.id(), "{}", path.display());
        assert!(local.view(&pr(&local, 1), PrFields::NONE).await.is_ok());
        // The path that was opened is also a valid repository id.
        assert!(local.repo(&RepoId::local(&repo.path)).await.is_ok());
    }
    // The head branch stays, because the linked work tree has it checked out.
    let mut req = MergeReq::default();
    req.delete_branch = true;
    let merged = whole.merge(&pr(&whole, 1), &req).await.unwrap();
    assert!(!merged.value.branch_deleted);
    assert!(
        merged.warnings[0]
            .message
            .contains(linked.to_str().unwrap())
    );
    repo.oid("topic");
}

#[tokio::test]
async fn missing_repository_is_not_found() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [dir.path(), &dir.path().join("gone"), &file, Path::new("/")] {
        let e = Local::open(path, Trust::Person).await.unwrap_err();
        assert_eq!(e.code(), "not_found", "{e:?}");
        assert!(e.hint().is_some());
    }
    let repo = Repo::new();
    let local = repo.open().await;
    let e = local.repo(&RepoId::local(dir.path())).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input");
}

#[tokio::test]
async fn empty_repository_lists_nothing() {
    let repo = Repo::empty(&[]);
    let local = repo.open().await;
    assert_eq!(local.repo(local.id()).await.unwrap().default_branch, None);
    let page = local
        .list(local.id(), &PullQuery::default(), PageReq::first(5))
        .await
        .unwrap();
    assert!(page.items.is_empty());
    let e = local
        .create(local.id(), &CreatePull::new("topic", "T"))
        .await
        .unwrap_err();
    assert!(e.message().contains("no commits"), "{e}");
    assert_eq!(
        local
            .view(&pr(&local, 1), PrFields::NONE)
            .await
            .unwrap_err()
            .code(),
        "not_found"
    );
}

#[tokio::test]
async fn unusual_ref_and_file_names_work() {
    let repo = Repo::new();
    let odd = [
        "a \"quoted\"",
        "-dash",
        "tab\there",
        "new\nline",
        "ünï/ç",
        "weird:*?[",
        "\u{1f600}",
    ];
    repo.git(&["switch", "--quiet", "--create", "ünï/it's-\u{1f600}"]);
    for file in odd {
        repo.write(file, "x\n");
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(b"not \xff utf-8");
        std::fs::write(repo.path.join(name), "x\n").unwrap();
    }
    repo.git(&["mv", "base.txt", "renamed\nbase.txt"]);
    repo.write("bin", "\0\0");
    repo.commit("odd");
    repo.git(&["switch", "--quiet", "main"]);
    let local = repo.open().await;
    create(&local, "ünï/it's-\u{1f600}").await;
    let id = pr(&local, 1);
    let files = local.files(&id, PageReq::first(100)).await.unwrap().items;
    let paths: Vec<_> = files.iter().map(|f| f.path.as_str()).collect();
    for file in odd {
        assert!(paths.contains(&file), "{file:?} in {paths:?}");
    }
    let renamed = files
        .iter()
        .find(|f| f.status == FileStatus::Renamed)
        .unwrap();
    assert_eq!(renamed.previous_path.as_deref(), Some("base.txt"));
    let binary = files.iter().find(|f| f.path == "bin").unwrap();
    assert_eq!((binary.additions, binary.deletions), (None, None));

    let threads = odd.map(|path| NewThread::new(path, Some(1), "odd"));
    let review = NewReview::new(Verdict::Comment, "").with_threads(threads.into());
    assert_eq!(
        local
            .submit_review(&id, &review)
            .await
            .unwrap()
            .value
            .comments
            .len(),
        odd.len()
    );
    let threads = local
        .view(&id, PrFields::THREADS)
        .await
        .unwrap()
        .threads
        .unwrap();
    assert!(threads.iter().all(|t| !t.outdated));

    // All of these files have conflicts.
    for file in odd {
        repo.write(file, "y\n");
    }
    repo.commit("odd on main");
    let e = local.merge(&id, &MergeReq::default()).await.unwrap_err();
    let forge_core::ErrorKind::Precondition(forge_core::Precondition::Conflicts(files)) = e.kind()
    else {
        panic!("{e:?}")
    };
    for file in odd {
        assert!(files.iter().any(|f| f == file), "{file:?} in {files:?}");
    }
    assert!(!e.message().contains(['\n', '\t']), "{e}");
}

/// Git would take the tag for the branch.
#[tokio::test]
async fn push_to_branch_of_other_spelling_is_refused() {
    let repo = Repo::new();
    let oid = repo.branch("feature", "new.txt", "new\n");
    repo.git(&["update-ref", "refs/tags/refs/heads/FEATURE", &oid]);
    let local = repo.open().await;
    let before = repo.git(&["for-each-ref"]);
    let push = |branch: &str| {
        let edits = vec![FileEdit::write("new.txt", "newer\n")];
        PushEdits::new(branch, &oid, "Edit a file", edits)
    };
    let e = local.push_edits(local.id(), &push("FEATURE")).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "invalid_input", "{e:?}");
    let why = "the branch 'FEATURE' does not exist";
    assert!(e.message().contains(why), "{e:?}");
    assert_eq!(repo.git(&["for-each-ref"]), before);
    let pushed = local.push_edits(local.id(), &push("feature")).await;
    assert_eq!(pushed.unwrap().value.oid, repo.oid("feature"));
}

#[tokio::test]
async fn branch_with_leading_dash_is_not_an_option() {
    let repo = Repo::new();
    let oid = repo.branch("topic", "new.txt", "new\n");
    for name in ["refs/heads/--output=x", "refs/heads/HEAD"] {
        repo.git(&["update-ref", name, &oid]);
    }
    let local = repo.open().await;
    create(&local, "--output=x").await;
    create(&local, "HEAD").await;
    local.view(&pr(&local, 2), PrFields::STATS).await.unwrap();
    let mut req = MergeReq::default();
    req.delete_branch = true;
    assert!(
        local
            .merge(&pr(&local, 1), &req)
            .await
            .unwrap()
            .value
            .branch_deleted
    );
    assert!(!repo.path.join("x").exists());
}

#[tokio::test]
async fn missing_identity_hints_at_git_config() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    repo.git(&["config", "--unset", "user.email"]);
    repo.git(&["config", "user.useConfigOnly", "true"]);
    let local = repo.open().await;
    // The machine's git configuration may provide an identity.
    match local.viewer(local.id()).await {
        Ok(viewer) => assert!(!viewer.login.is_empty()),
        Err(e) => {
            assert_eq!(e.code(), "unauthenticated");
            assert!(
                e.hint()
                    .is_some_and(|h| h.text().contains("git config user.email")),
                "{e:?}"
            );
        }
    }
    repo.git(&["config", "forge.login", "al"]);
    repo.user("someone.else");
    assert_eq!(local.viewer(local.id()).await.unwrap().login, "al");
}

/// The command of the last warning updates the files after two consecutive merges.
#[tokio::test]
async fn hint_updates_checked_out_base_after_two_merges() {
    let repo = Repo::new();
    repo.branch("one", "one.txt", "1\n");
    repo.branch("two", "two.txt", "2\n");
    let local = repo.open().await;
    create(&local, "one").await;
    create(&local, "two").await;
    repo.write("base.txt", "mine\n");
    let mut hint = String::new();
    for number in [1, 2] {
        let mut req = MergeReq::default();
        req.delete_branch = true;
        req.leave_checkout = true;
        let merged = local.merge(&pr(&local, number), &req).await.unwrap();
        hint = merged.warnings[0].hint.as_ref().unwrap().to_string();
    }
    let (_, command) = hint.split_once("with: git -C ").unwrap();
    let (_, command) = command.split_once(' ').unwrap();
    repo.git(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(repo.git(&["status", "--short"]), " M base.txt");
    assert!(repo.path.join("one.txt").exists() && repo.path.join("two.txt").exists());
}

#[tokio::test]
async fn checked_out_head_is_kept_with_delete_commands() {
    let repo = Repo::new();
    repo.branch("it's", "one.txt", "1\n");
    repo.git(&["switch", "--quiet", "it's"]);
    let local = repo.open().await;
    create(&local, "it's").await;
    let mut req = MergeReq::default();
    req.delete_branch = true;
    let merged = local.merge(&pr(&local, 1), &req).await.unwrap();
    let hint = merged.warnings[0].hint.as_ref().unwrap();
    let at = repo.path.display();
    assert_eq!(
        hint.text(),
        format!(r"git -C {at} switch main, then git branch -D 'it'\''s'")
    );
}

#[tokio::test]
async fn hint_for_linked_work_tree_detaches_head() {
    let repo = Repo::new();
    repo.branch("topic", "one.txt", "1\n");
    let linked = repo.path.with_file_name("linked");
    let linked = linked.to_str().unwrap();
    repo.git(&["worktree", "add", "--quiet", linked, "topic"]);
    let local = repo.open().await;
    create(&local, "topic").await;
    let mut req = MergeReq::default();
    req.delete_branch = true;
    let merged = local.merge(&pr(&local, 1), &req).await.unwrap();
    let hint = format!("git -C {linked} switch --detach, then git branch -D topic");
    let mut hints = merged.warnings.iter().filter_map(|w| w.hint.as_ref());
    assert!(hints.any(|h| h.text() == hint), "{merged:?}");
    for command in hint.split(", then ") {
        repo.git(&command.split(' ').skip(1).collect::<Vec<_>>());
    }
    assert_eq!(repo.git(&["branch", "--list", "topic"]), "");
}

#[tokio::test]
async fn remaining_head_branch_is_deleted_unless_needed() {
    let repo = Repo::new();
    let head = repo.branch("topic", "one.txt", "1\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let mut req = MergeReq::default();
    req.delete_branch = true;
    let merged = local.merge(&pr(&local, 1), &req).await.unwrap().value;
    assert!(merged.branch_deleted && !merged.already_merged);
    repo.git(&["branch", "topic", &repo.oid("main")]);
    let again = local.merge(&pr(&local, 1), &req).await.unwrap();
    assert!(again.value.already_merged && !again.value.branch_deleted);
    assert!(
        again.warnings[1]
            .message
            .contains("was not deleted: it has moved to")
    );
    repo.git(&["branch", "--force", "topic", &head]);
    let again = local.merge(&pr(&local, 1), &req).await.unwrap();
    assert!(again.value.branch_deleted && again.warnings.is_empty());
    assert_eq!(repo.git(&["branch", "--list", "topic"]), "");

    repo.branch("both", "two.txt", "2\n");
    repo.git(&["branch", "release", "main"]);
    create(&local, "both").await;
    let mut other = CreatePull::new("both", "Take it there too");
    other.base = Some("release".into());
    local.create(local.id(), &other).await.unwrap();
    let merged = local.merge(&pr(&local, 2), &req).await.unwrap();
    assert!(
        merged.warnings[0]
            .message
            .contains("#3 is open and has the same head branch")
    );
    assert!(!merged.value.branch_deleted);
}

#[tokio::test]
async fn guarded_repository_with_outward_symlinks_is_refused() {
    for part in [
        "objects",
        "refs",
        "refs/heads",
        "packed-refs",
        "config",
        "description",
        "logs",
    ] {
        let repo = Repo::new();
        repo.git(&["pack-refs", "--all"]);
        let dot_git = repo.path.join(".git");
        // Links to hooks are allowed because hooks never run here, and links to alternates are
        // allowed too.
        std::fs::remove_dir_all(dot_git.join("hooks")).unwrap();
        std::os::unix::fs::symlink("/usr/share", dot_git.join("hooks")).unwrap();
        let elsewhere = repo.path.with_file_name("elsewhere");
        std::fs::write(
            dot_git.join("objects/info/alternates"),
            format!("{}/objects\n", elsewhere.display()),
        )
        .unwrap();
        Local::open(&repo.path, Trust::Guarded).await.unwrap();
        let part = dot_git.join(part);
        std::fs::rename(&part, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &part).unwrap();
        let e = Local::open(&repo.path, Trust::Guarded).await.unwrap_err();
        assert_eq!(e.code(), "permission_denied", "{e:?}");
        assert!(e.message().contains(part.to_str().unwrap()), "{e}");
        Local::open(&repo.path, Trust::Named).await.unwrap();
    }
}

#[tokio::test]
async fn irregular_turn_file_is_not_changed() {
    for is_pipe in [false, true] {
        let repo = Repo::new();
        repo.branch("topic", "new.txt", "new\n");
        let (turn, target) = (
            repo.path.join(".git/forge.turn"),
            repo.path.with_file_name("target"),
        );
        if is_pipe {
            let made = std::process::Command::new("mkfifo").arg(&turn).status();
            assert!(made.unwrap().success());
        } else {
            std::os::unix::fs::symlink(&target, &turn).unwrap();
        }
        let local = repo.open().await;
        create(&local, "topic").await;
        assert!(!target.exists());
    }
}

#[tokio::test]
async fn impossible_branch_name_is_refused_without_retry() {
    let repo = Repo::new();
    let local = repo.open().await;
    for head in ["x".repeat(300), "main/x".to_owned()] {
        let mut req = CreatePull::new(&head, "T");
        req.edits = vec![forge_core::model::FileEdit::write("edited", "x\n")];
        let e = local.create(local.id(), &req).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{e}");
    }
}
