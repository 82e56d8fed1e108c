//! Pull requests from a patch.

use std::fs;

use forge_core::{
    ErrorKind, Precondition, PullRequests,
    model::{CreatePull, PrFields, PullRequest},
};
use forge_git::{ApplyResult, Git};
use forge_local::Local;

use crate::repo::Repo;

/// Returns a repository with a patch of two commits by bob. The patch was made from the branch
/// `work`, which is deleted.
fn series() -> (Repo, String, String) {
    let repo = Repo::new();
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.user("bob");
    repo.write("base.txt", "one\n2\nthree\n");
    repo.commit("Say 2\n\nIt is shorter.");
    repo.write("ä/new.txt", "new\n");
    repo.commit("Add a file");
    let letter = ["format-patch", "--stdout", "--cover-letter", "main..work"];
    let mails = repo.git(&letter) + "\n";
    let diff = repo.git(&["diff", "main", "work"]) + "\n";
    repo.git(&["switch", "--quiet", "main"]);
    repo.git(&["branch", "--quiet", "-D", "work"]);
    repo.user("alice");
    (repo, mails, diff)
}

fn from(patch: &str) -> CreatePull {
    let mut req = CreatePull::new("", "Shorter numbers");
    req.base = Some("main".to_owned());
    req.patch = Some(patch.as_bytes().to_vec());
    req
}

async fn open(local: &Local, patch: &str) -> PullRequest {
    let made = local.create(local.id(), &from(patch)).await.unwrap();
    local.view(&made.value.id, PrFields::STATS).await.unwrap()
}

#[tokio::test]
async fn patch_mails_become_commits_with_their_authors() {
    let (repo, mails, _) = series();
    let local = repo.open().await;
    let pull = open(&local, &mails).await;
    assert!(pull.head_branch.starts_with("shorter-numbers-"));
    assert_eq!((pull.additions, pull.deletions), (Some(2), Some(1)));
    let range = format!("main..{}", pull.head_branch);
    let log = repo.git(&["log", "--reverse", "--format=%an %ae %cn: %B", &range]);
    let lines: Vec<_> = log.lines().filter(|line| !line.is_empty()).collect();
    let wanted = [
        "bob bob@example.com alice: Say 2",
        "It is shorter.",
        "bob bob@example.com alice: Add a file",
    ];
    assert_eq!(lines, wanted);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[tokio::test]
async fn plain_diff_becomes_one_commit() {
    let (repo, _, diff) = series();
    let local = repo.open().await;
    let pull = open(&local, &diff).await;
    let range = format!("main..{}", pull.head_branch);
    let log = repo.git(&["log", "--format=%an: %s", &range]);
    assert_eq!(log, "alice: Shorter numbers");
}

#[tokio::test]
async fn mails_of_other_programs_keep_author_and_message() {
    let (_, mails, diff) = series();
    let second = mails.rfind("\nFrom ").unwrap();
    let (_, mail) = mails[second + 1..].split_once('\n').unwrap();
    let hg = format!(
        "# HG changeset patch\n# User bob <bob@example.com>\n# Date 1700000000 0\nAdd a file\n\n{diff}"
    );
    for patch in [
        format!("Return-Path: <bob@example.com>\n{mail}"),
        format!("MIME-Version: 1.0\n{mail}"),
        format!("Received: by example.com\n\tfor alice\n{mail}").replace('\n', "\r\n"),
        hg,
    ] {
        let (repo, ..) = series();
        let local = repo.open().await;
        let pull = open(&local, &patch).await;
        let range = format!("main..{}", pull.head_branch);
        let log = repo.git(&["log", "--format=%an %ae: %s", &range]);
        assert_eq!(log, "bob bob@example.com: Add a file", "{patch}");
    }
}

#[tokio::test]
async fn diff_with_author_in_other_form_is_refused() {
    let (repo, _, diff) = series();
    let before = repo.git(&["for-each-ref"]);
    let local = repo.open().await;
    let show = format!("commit 1234\nAuthor: bob <bob@example.com>\n\n    Add a file\n\n{diff}");
    let e = local.create(local.id(), &from(&show)).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input", "{e:?}");
    assert!(e.message().contains("names an author"), "{e:?}");
    assert_eq!(repo.git(&["for-each-ref"]), before);
}

#[tokio::test]
async fn patch_keeps_carriage_returns_of_files() {
    let repo = Repo::new();
    repo.write("dos.txt", "a\r\nb\r\n");
    repo.commit("dos");
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("dos.txt", "a\r\nc\r\n");
    repo.write("new.txt", "new\r\n");
    repo.commit("Change");
    let mails = repo.git(&["format-patch", "--stdout", "main..work"]) + "\n";
    repo.git(&["switch", "--quiet", "main"]);
    repo.git(&["config", "mailinfo.quotedCr", "strip"]);
    let local = repo.open().await;
    let pull = open(&local, &mails).await;
    let made = repo.oid(&format!("{}^{{tree}}", pull.head_branch));
    assert_eq!(made, repo.oid("work^{tree}"));
}

#[tokio::test]
async fn mailbox_with_crlf_line_ends_applies() {
    // A mail store writes the line before a mail itself, with other line ends than the mail.
    for separator in ["\r\n", "\n"] {
        let (repo, mails, _) = series();
        let (from, rest) = mails.split_once('\n').unwrap();
        let mails = format!("{from}{separator}{}", rest.replace('\n', "\r\n"));
        let local = repo.open().await;
        let pull = open(&local, &mails).await;
        let file = format!("{}:base.txt", pull.head_branch);
        assert_eq!(repo.git(&["show", &file]), "one\n2\nthree");
    }
}

#[tokio::test]
async fn attributes_of_work_tree_do_not_hide_conflict() {
    let (repo, mails, _) = series();
    repo.write("base.txt", "one\nzwei\nthree\n");
    repo.commit("another two");
    repo.write(".gitattributes", "* merge=union\n");
    let local = repo.open().await;
    let e = local.create(local.id(), &from(&mails)).await.unwrap_err();
    assert!(e.message().contains("base.txt"), "{e:?}");
}

#[tokio::test]
async fn patch_in_subdirectory_changes_files_outside() {
    let (repo, mails, diff) = series();
    let below = repo.path.join("below");
    fs::create_dir(&below).unwrap();
    let git = Git::at(&below);
    for patch in [mails.as_bytes(), diff.as_bytes()] {
        let ApplyResult::Tree(tree) = git.apply("main", patch).await.unwrap() else {
            panic!("the patch conflicts");
        };
        let changed = repo.git(&["diff", "--name-only", "-z", "main", &tree]);
        assert!(changed.starts_with("base.txt\0"), "{changed:?}");
    }
}

#[tokio::test]
async fn conflicting_patch_is_refused_with_files() {
    for whole in [true, false] {
        let (repo, mails, diff) = series();
        repo.write("base.txt", "one\nzwei\nthree\n");
        repo.commit("another two");
        let before = repo.git(&["for-each-ref"]);
        let local = repo.open().await;
        let patch = if whole { &mails } else { &diff };
        let e = local.create(local.id(), &from(patch)).await.unwrap_err();
        let files = vec!["base.txt".to_owned()];
        let conflicts = Precondition::Conflicts(files);
        assert_eq!(e.kind(), &ErrorKind::Precondition(conflicts), "{e:?}");
        assert_eq!(repo.git(&["for-each-ref"]), before);
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    }
}
