//! Behaviour of the diff and the patch series.

use forge_core::{
    PrId,
    model::{ContentsReq, DiffFormat, DiffReq, FileContent, HeadChange},
};
use futures::TryStreamExt;

use super::{Fixture, Set, cases, refused};
use crate::Identity;

pub(super) fn cases(set: &mut Set) {
    cases![set;
        diff_equals_git_diff [PrDiff];
        diff_starts_at_the_merge_base [PrDiff];
        diff_names_base_and_head_commits [PrDiff];
        requested_context_lines_are_shown [PrDiff];
        new_deleted_and_renamed_files_are_shown [PrDiff];
        non_utf8_bytes_are_kept [PrDiff];
        odd_file_names_are_shown [PrDiff];
        diff_follows_the_branch [PrDiff];
        diff_stays_after_the_merge [PrDiff, MergeCommit];
        long_diff_is_complete [PrDiff];
        patch_has_a_mail_per_commit [PrPatch];
        diff_since_current_head_is_empty [PrDiff];
        contents_are_read_at_the_head [PrDiff];
        diff_of_missing_pull_is_not_found [PrDiff];
    ];
}

async fn bytes(fx: &Fixture, pr: &PrId, req: DiffReq) -> Vec<u8> {
    let diff = fx.author.diff(pr, &req).await.unwrap();
    diff.body.try_concat().await.unwrap()
}

async fn text(fx: &Fixture, pr: &PrId, req: DiffReq) -> String {
    String::from_utf8(bytes(fx, pr, req).await).unwrap()
}

fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|l| l.starts_with(start)).collect()
}

async fn diff_equals_git_diff(fx: Fixture) {
    let changed = fx
        .git
        .show("main", "src/lib.rs")
        .replace("line 3\n", "line three\n");
    fx.git.commit(
        "feature",
        "Change",
        &[("src/lib.rs", Some(&changed)), ("n", Some("1\n"))],
    );
    let pr = fx.open_from("feature").await.id;
    let diff = text(&fx, &pr, DiffReq::default()).await;
    assert_eq!(
        lines(&diff, "diff --git"),
        ["diff --git a/n b/n", "diff --git a/src/lib.rs b/src/lib.rs"]
    );
    assert!(diff.contains("\n-line 3\n+line three\n"), "{diff}");
    assert!(diff.contains("@@ -1,6 +1,6 @@"), "{diff}");
    assert!(diff.ends_with('\n') && !diff.contains('\u{1b}'));
}

async fn diff_starts_at_the_merge_base(fx: Fixture) {
    fx.feature("feature");
    fx.git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    let pr = fx.open_from("feature").await.id;
    let diff = text(&fx, &pr, DiffReq::default()).await;
    assert_eq!(
        lines(&diff, "diff --git"),
        ["diff --git a/feature.txt b/feature.txt"]
    );
}

async fn diff_names_base_and_head_commits(fx: Fixture) {
    let base = fx.git.oid("main").unwrap();
    fx.feature("feature");
    let pr = fx.open_from("feature").await;
    let diff = fx.author.diff(&pr.id, &DiffReq::default()).await;
    let diff = diff.unwrap();
    if fx.facts.names_ends {
        assert_eq!(Some(diff.head_oid.as_str()), pr.head_id());
    } else {
        assert_eq!(diff.head_oid, "");
    }
    assert!(diff.base_oid.is_none_or(|oid| oid == base));
}

async fn requested_context_lines_are_shown(fx: Fixture) {
    let changed = fx
        .git
        .show("main", "src/lib.rs")
        .replace("line 10\n", "line ten\n");
    fx.git
        .commit("feature", "Change", &[("src/lib.rs", Some(&changed))]);
    let pr = fx.open_from("feature").await.id;
    if !fx.facts.context_lines {
        let mut req = DiffReq::default();
        req.context_lines = Some(0);
        let diff = fx.author.diff(&pr, &req).await.unwrap();
        assert_eq!(diff.warnings.len(), 1, "{:?}", diff.warnings);
        return;
    }
    let mut req = DiffReq::default();
    req.context_lines = Some(0);
    assert!(text(&fx, &pr, req).await.contains("@@ -10 +10 @@"));
    let mut req = DiffReq::default();
    req.context_lines = Some(30);
    assert!(text(&fx, &pr, req).await.contains("@@ -1,20 +1,20 @@"));
}

async fn diff_since_current_head_is_empty(fx: Fixture) {
    let head = fx.git.commit("feature", "Change", &[("n", Some("1\n"))]);
    let pr = fx.open_from("feature").await.id;
    let since = |commit: &str| {
        let mut req = DiffReq::default();
        req.since = Some(commit.to_owned());
        req
    };
    for commit in [head.as_str(), &head[..8]] {
        let diff = fx.author.diff(&pr, &since(commit)).await.unwrap();
        let told = diff.since.unwrap();
        assert_eq!(told.head_change, HeadChange::Unchanged);
        assert_eq!(told.oid.as_deref(), Some(head.as_str()));
        assert_eq!(told.commits, []);
        let body = diff.body.try_concat().await.unwrap();
        assert_eq!(String::from_utf8(body).unwrap(), "");
    }
    let e = fx.author.diff(&pr, &since("1111111")).await.unwrap_err();
    assert!(e.is_not_found() && e.hint().is_some(), "{e}");
    for text in ["main", "123456", "refs/heads/main:refs/heads/x"] {
        let e = fx.author.diff(&pr, &since(text)).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{e}");
    }
}

async fn contents_are_read_at_the_head(fx: Fixture) {
    let files: [(&str, Option<&[u8]>); 3] = [
        ("n", Some(b"one\n")),
        ("d/bin", Some(b"\0\xff")),
        ("README.md", None),
    ];
    let author = &Identity::ADA;
    let oid = fx.git.commit_bytes("feature", author, "Change", &files);
    let pr = fx.open_from("feature").await.id;
    let paths = ["n", "d/bin", "README.md", "no\nfile"];
    let req = ContentsReq::new(oid, paths.map(str::to_owned).into());
    let found = fx.author.contents(&pr, &req).await.unwrap();
    let wanted = [
        FileContent::Text("one\n".to_owned()),
        FileContent::Binary,
        FileContent::Missing,
        FileContent::Missing,
    ];
    assert_eq!(found, wanted);
}

async fn new_deleted_and_renamed_files_are_shown(fx: Fixture) {
    let lib = fx.git.show("main", "src/lib.rs");
    let files = [
        ("src/lib.rs", None),
        ("src/new.rs", Some(lib.as_str())),
        ("README.md", None),
    ];
    fx.git.commit("feature", "Move", &files);
    let pr = fx.open_from("feature").await.id;
    let diff = text(&fx, &pr, DiffReq::default()).await;
    assert!(
        diff.contains("rename from src/lib.rs\nrename to src/new.rs\n"),
        "{diff}"
    );
    assert!(diff.contains("deleted file mode 100644"), "{diff}");
}

async fn non_utf8_bytes_are_kept(fx: Fixture) {
    let files: [(&str, Option<&[u8]>); 2] = [
        ("binary", Some(&[0, 159, 146, 150, 0])),
        ("latin1.txt", Some(b"caf\xe9\n")),
    ];
    fx.git
        .commit_bytes("feature", &Identity::ADA, "Bytes", &files);
    let pr = fx.open_from("feature").await.id;
    let diff = bytes(&fx, &pr, DiffReq::default()).await;
    assert!(diff.windows(6).any(|w| w == b"+caf\xe9\n"));
    assert!(diff.windows(6).any(|w| w == b"Binary" || w == b"GIT bi"));
}

async fn odd_file_names_are_shown(fx: Fixture) {
    let names = [
        "with space",
        "tab\there",
        "ünï.txt",
        "quote\"d",
        "-dash",
        "a b/c d",
        "100%",
    ];
    let files: Vec<_> = names.iter().map(|n| (*n, Some("x\n"))).collect();
    fx.git.commit("feature", "Odd", &files);
    let pr = fx.open_from("feature").await.id;
    let diff = text(&fx, &pr, DiffReq::default()).await;
    assert_eq!(lines(&diff, "diff --git").len(), names.len());
}

async fn diff_follows_the_branch(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.git.commit("feature", "More", &[("more", Some("x\n"))]);
    let diff = text(&fx, &pr, DiffReq::default()).await;
    assert_eq!(lines(&diff, "diff --git").len(), 2);
}

async fn diff_stays_after_the_merge(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let before = text(&fx, &pr, DiffReq::default()).await;
    fx.author.merge(&pr, &Default::default()).await.unwrap();
    assert_eq!(text(&fx, &pr, DiffReq::default()).await, before);
}

async fn long_diff_is_complete(fx: Fixture) {
    let count = fx.facts.diff_lines.min(40_000) - 100;
    let long = "some line of text that repeats\n".repeat(count);
    fx.git.commit("feature", "Long", &[("long", Some(&long))]);
    let pr = fx.open_from("feature").await.id;
    let diff = text(&fx, &pr, DiffReq::default()).await;
    assert_eq!(lines(&diff, "+some line").len(), count);
}

async fn patch_has_a_mail_per_commit(fx: Fixture) {
    fx.feature("feature");
    fx.git
        .commit("feature", "Second: é", &[("second", Some("2\n"))]);
    let pr = fx.open_from("feature").await.id;
    let mut req = DiffReq::default();
    req.format = DiffFormat::Patch;
    let patch = text(&fx, &pr, req).await;
    assert_eq!(lines(&patch, "From ").len(), 2);
    assert!(
        lines(&patch, "From: ")
            .iter()
            .all(|l| l.contains("ada@example.com")),
        "{patch}"
    );
    assert!(patch.find("feature.txt").unwrap() < patch.find("second").unwrap());
}

async fn diff_of_missing_pull_is_not_found(fx: Fixture) {
    fx.open("feature").await;
    refused(
        fx.author
            .diff(&fx.author.pull_id(31), &DiffReq::default())
            .await,
        "not_found",
    );
}
