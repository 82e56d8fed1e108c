//! Reads of diffs and files.

use forge_core::{
    PageReq,
    model::{ContentsReq, Diff, DiffFormat, DiffReq},
};
use forge_github_double::PullSeed;
use futures::TryStreamExt;
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::{
    double::World,
    script::{Script, data, rest},
};

const PULL: &str = "GET /repos/octo/tools/pulls/7";

async fn text(diff: Diff) -> String {
    let chunks: Vec<Vec<u8>> = diff.body.try_collect().await.unwrap();
    String::from_utf8(chunks.concat()).unwrap()
}

fn file(name: &str, status: &str, patch: Option<&str>) -> Value {
    json!({ "sha": "1", "filename": name, "status": status, "additions": u8::from(patch.is_some()), "deletions": 0, "patch": patch })
}

fn files(page: &str, list: Vec<Value>, next: bool) -> crate::script::Step {
    let link = if next {
        "<https://api.github.com/x?page=2>; rel=\"next\""
    } else {
        "<https://api.github.com/x?page=1>; rel=\"first\""
    };
    rest(
        &format!("{PULL}/files?{page}"),
        ResponseTemplate::new(200)
            .set_body_json(list)
            .insert_header("link", link),
    )
}

#[tokio::test]
async fn reading_diff_takes_one_request() {
    let script = Script::play(vec![
        rest(
            PULL,
            ResponseTemplate::new(200).set_body_string("diff --git a/x b/x\n"),
        ),
        rest(
            PULL,
            ResponseTemplate::new(200).set_body_string("From abc\n"),
        ),
    ])
    .await;
    let diff = script
        .repo
        .diff(&script.pr(), &DiffReq::default())
        .await
        .unwrap();
    assert!(diff.warnings.is_empty());
    let diff = text(diff).await;
    let mut req = DiffReq::default();
    req.format = DiffFormat::Patch;
    req.context_lines = Some(9);
    let patch = script.repo.diff(&script.pr(), &req).await.unwrap();
    assert!(patch.warnings[0].message.contains("three lines"));
    assert_json_snapshot!("diff", (script.sent(), diff, text(patch).await));
}

#[tokio::test]
async fn body_without_diff_is_refused() {
    let ok = || ResponseTemplate::new(200);
    let script = Script::play(vec![
        rest(PULL, ok().set_body_json(json!({ "number": 7 }))),
        rest(PULL, ok().set_body_string("{}")),
        rest(PULL, ok().set_body_string("<html>")),
        rest(PULL, ok().set_body_string("")),
    ])
    .await;
    for _ in 0..3 {
        let refused = script.repo.diff(&script.pr(), &DiffReq::default()).await;
        assert_eq!(refused.err().map(|e| e.code()), Some("protocol"));
    }
    let empty = script.repo.diff(&script.pr(), &DiffReq::default()).await;
    assert_eq!(text(empty.unwrap()).await, "");
    script.sent();
}

#[tokio::test]
async fn oversized_diff_is_rebuilt_from_files() {
    for status in [406, 422] {
        let script = Script::play(vec![
            rest(
                PULL,
                ResponseTemplate::new(status).set_body_json(json!({ "message": "too large" })),
            ),
            files(
                "per_page=100&page=1",
                vec![
                    file("a.rs", "modified", Some("@@ -1 +1 @@\n-a\n+b")),
                    file("logo.png", "added", None),
                ],
                false,
            ),
        ])
        .await;
        let diff = script
            .repo
            .diff(&script.pr(), &DiffReq::default())
            .await
            .unwrap();
        let said: Vec<_> = diff.warnings.iter().map(|w| w.message.clone()).collect();
        assert!(
            said[0].contains("rebuilt from its files") && said[1].contains("logo.png"),
            "{said:?}"
        );
        assert_eq!(said.len(), 2);
        let text = text(diff).await;
        assert!(text.starts_with(
            "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+b\n"
        ));
        assert!(text.contains("Binary files /dev/null and b/logo.png differ"));
        script.sent();
    }
}

#[tokio::test]
async fn oversized_patch_series_is_refused() {
    let script = Script::play(vec![rest(
        PULL,
        ResponseTemplate::new(406).set_body_json(json!({ "message": "too large" })),
    )])
    .await;
    let mut req = DiffReq::default();
    req.format = DiffFormat::Patch;
    let e = script.repo.diff(&script.pr(), &req).await.unwrap_err();
    assert!(e.hint().unwrap().text().contains("refs/pull/7/head"));
    script.sent();
}

#[tokio::test]
async fn omitted_patches_are_read_in_small_pages() {
    let long = format!("@@ -0,0 +1,15000 @@\n{}", "+x\n".repeat(15_000));
    let mut first = vec![file("big", "added", Some(&long))];
    first.extend((1..12).map(|n| file(&format!("f{n}"), "added", Some("@@ -0,0 +1 @@\n+y"))));
    let mut cut = first.clone();
    cut[11] = file("f11", "added", None);
    cut[3] = file("f3", "added", None);
    let script = Script::play(vec![
        rest(PULL, ResponseTemplate::new(406)),
        files("per_page=100&page=1", cut, false),
        files("per_page=10&page=1", first[..10].to_vec(), true),
        files("per_page=10&page=2", first[10..].to_vec(), false),
    ])
    .await;
    let diff = script
        .repo
        .diff(&script.pr(), &DiffReq::default())
        .await
        .unwrap();
    assert_eq!(diff.warnings.len(), 1, "{:?}", diff.warnings);
    assert_eq!(text(diff).await.matches("+y\n").count(), 11);
    script.sent();
}

#[tokio::test]
async fn files_beyond_patch_budget_are_read_again() {
    let long = format!("@@ -0,0 +1 @@\n+{}", "x".repeat(300 * 1024));
    let moved = |patch| {
        let mut row = file("moved", "renamed", patch);
        row["previous_filename"] = json!("old");
        row
    };
    let one = Some("@@ -0,0 +1 @@\n+y");
    let whole = vec![
        file("big", "added", Some(&long)),
        file("text", "modified", one),
        moved(one),
        file("logo.png", "modified", None),
    ];
    let mut cut = whole.clone();
    cut[1] = file("text", "modified", None);
    cut[2] = moved(None);
    let single = |n: usize| {
        let query = format!("per_page=1&page={n}");
        files(&query, vec![whole[n - 1].clone()], n < 4)
    };
    let mut steps = vec![
        rest(PULL, ResponseTemplate::new(406)),
        files("per_page=100&page=1", cut.clone(), false),
        files("per_page=10&page=1", cut.clone(), false),
    ];
    steps.extend((2..=4).map(single));
    steps.push(files("per_page=7&page=1", cut, false));
    steps.extend((2..=4).map(single));
    let script = Script::play(steps).await;
    let diff = script.repo.diff(&script.pr(), &DiffReq::default()).await;
    let text = text(diff.unwrap()).await;
    assert_eq!(text.matches("+y\n").count(), 2);
    assert!(
        text.contains("rename from old\nrename to moved\n--- a/old\n"),
        "{}",
        text.len()
    );
    // Zero counts do not prove that the file is binary.
    assert!(text.contains("Files a/logo.png and b/logo.png differ"));
    assert!(!text.contains("Binary"));
    let page = script.repo.files(&script.pr(), PageReq::first(7)).await;
    let counts = page
        .unwrap()
        .items
        .into_iter()
        .map(|f| (f.path, f.additions));
    let wanted = [
        ("big", Some(1)),
        ("text", Some(1)),
        ("moved", Some(1)),
        ("logo.png", None),
    ];
    let wanted = wanted.map(|(path, additions)| (path.to_owned(), additions));
    assert_eq!(counts.collect::<Vec<_>>(), wanted);
    script.sent();
}

#[tokio::test]
async fn file_that_stays_unsent_is_not_a_pure_rename() {
    let long = format!("@@ -0,0 +1 @@\n+{}", "x".repeat(300 * 1024));
    let mut moved = file("moved", "renamed", None);
    moved["previous_filename"] = json!("old");
    let other = file("other", "added", Some("@@ -0,0 +1 @@\n+y"));
    // The head moves between the two requests, so the second page has another file.
    let script = Script::play(vec![
        files(
            "per_page=2&page=1",
            vec![file("big", "added", Some(&long)), moved],
            false,
        ),
        files("per_page=1&page=2", vec![other], false),
    ])
    .await;
    let page = script.repo.files(&script.pr(), PageReq::first(2)).await;
    let items = page.unwrap().items;
    assert_eq!(
        (items[1].path.as_str(), items[1].additions),
        ("moved", None)
    );
    script.sent();
}

#[tokio::test]
async fn double_stops_patches_at_a_megabyte() {
    let world = World::new();
    let number = {
        let mut seed = world.double.seed();
        let long = format!("{}\n", "x".repeat(999)).repeat(600);
        let (first, second) = (Some(long.as_str()), Some(long.as_str()));
        let files = [("a1", first), ("a2", second), ("a3", Some("y\n"))];
        seed.commit("octo/tools", "large", &files, "Add large files");
        let pull = PullSeed {
            author: "ada",
            title: "Large",
            head: "large",
            ..PullSeed::default()
        };
        seed.open_pull("octo/tools", &pull)
    };
    let id = world.ada.pull_id(number);
    world.double.reset_record();
    let files = world.ada.files(&id, PageReq::first(100)).await.unwrap();
    let counts: Vec<_> = files.items.iter().map(|f| f.additions).collect();
    assert_eq!(counts, [Some(600), Some(600), Some(1)]);
    // One page of 100, one of 10, and one for each of the two files that were cut off.
    assert_eq!(world.double.counts().api, 4);
}

#[tokio::test]
async fn files_continue_behind_a_deprecation_link() {
    let deprecation = "<https://docs.example/versions>; rel=\"deprecation\"";
    let next = "<https://api.github.com/x?page=2>; rel=\"next\"";
    let rows = |name| json!([file(name, "added", Some("@@ -0,0 +1 @@\n+y"))]);
    let answer = |name| ResponseTemplate::new(200).set_body_json(rows(name));
    let page = |n: usize| format!("{PULL}/files?per_page=50&page={n}");
    let linked = answer("a")
        .append_header("link", deprecation)
        .append_header("link", next);
    let script = Script::play(vec![
        rest(&page(1), linked),
        rest(&page(2), answer("b").append_header("link", deprecation)),
    ])
    .await;
    let first = script
        .repo
        .files(&script.pr(), PageReq::first(50))
        .await
        .unwrap();
    assert!(first.next.is_some(), "GitHub's page is not the last one");
    let mut more = PageReq::first(50);
    more.cursor = first.next;
    let second = script.repo.files(&script.pr(), more).await.unwrap();
    assert_eq!((second.items.len(), second.next.is_none()), (1, true));
    script.sent();
}

#[tokio::test]
async fn diff_of_missing_pull_request_is_not_found() {
    let gone = || ResponseTemplate::new(404).set_body_json(json!({ "message": "Not Found" }));
    let script = Script::play(vec![
        rest(PULL, gone()),
        rest(&format!("{PULL}/files?per_page=5&page=1"), gone()),
    ])
    .await;
    assert!(
        script
            .repo
            .diff(&script.pr(), &DiffReq::default())
            .await
            .unwrap_err()
            .is_not_found()
    );
    assert!(
        script
            .repo
            .files(&script.pr(), PageReq::first(5))
            .await
            .unwrap_err()
            .is_not_found()
    );
    script.sent();
}

#[tokio::test]
async fn renamed_files_have_previous_names() {
    let mut moved = file("new", "renamed", None);
    moved["previous_filename"] = json!("old");
    let mut empty = file("empty", "added", None);
    empty["sha"] = json!("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    let list = vec![
        moved,
        empty,
        file("logo.png", "modified", None),
        file("gone", "removed", Some("@@ -1 +0,0 @@\n-x")),
    ];
    let script = Script::play(vec![
        files("per_page=4&page=1", list, true),
        files(
            "per_page=4&page=2",
            vec![file("last", "added", Some("+x"))],
            false,
        ),
        files(
            "per_page=100&page=1",
            vec![file("a", "added", Some("+x"))],
            true,
        ),
        files(
            "per_page=100&page=2",
            vec![file("b", "added", Some("+x"))],
            false,
        ),
    ])
    .await;
    let first = script
        .repo
        .files(&script.pr(), PageReq::first(4))
        .await
        .unwrap();
    assert_json_snapshot!("files", first.items);
    let rest = script
        .repo
        .files(&script.pr(), PageReq::after(first.next.unwrap(), 4))
        .await
        .unwrap();
    assert_eq!((rest.items.len(), rest.next), (1, None));
    let all = script
        .repo
        .files(&script.pr(), PageReq::first(350))
        .await
        .unwrap();
    assert_eq!((all.items.len(), all.next), (2, None));
    script.sent();
}

#[tokio::test]
async fn reading_contents_takes_one_request() {
    let script = Script::play(vec![data(
        "Contents",
        json!({ "repository": {
            "file0": { "text": "fn a() {}\n", "isTruncated": false, "isBinary": false, "byteSize": 10 },
            "file1": { "text": null, "isTruncated": false, "isBinary": true, "byteSize": 900 },
            "file2": { "text": "x", "isTruncated": true, "isBinary": false, "byteSize": 9_000_000 },
            "file3": null,
            "file4": {},
        } }),
    )])
    .await;
    let paths = ["a.rs", "b.png", "c.sql", "gone", "dir"].map(str::to_owned);
    let req = ContentsReq::new("a".repeat(40), paths.into());
    let found = script.repo.contents(&script.pr(), &req).await.unwrap();
    let words: Vec<String> = found.iter().map(|file| format!("{file:?}")).collect();
    assert_json_snapshot!("contents", (script.sent(), words));
}
