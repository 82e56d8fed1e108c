//! Damage below `refs/forge` is reported with its ref, and everything else works.

use forge_core::{
    Labels, PageReq, PullRequests, Reviews, Trust,
    model::{CloseReq, MergeReq, NewLabel, NewReview, PrFields, PullQuery, StateFilter, Verdict},
};

use forge_local::Local;

use crate::repo::{Repo, create, git, pr};

/// Returns a repository with three pull requests.
async fn three() -> (Repo, std::sync::Arc<forge_local::Local>) {
    let repo = Repo::new();
    let local = repo.open().await;
    for n in 1..=4 {
        repo.branch(&format!("b{n}"), &format!("f{n}"), "x\n");
    }
    for n in 1..=3 {
        create(&local, &format!("b{n}")).await;
    }
    (repo, local)
}

fn hash(repo: &Repo, content: &str) -> String {
    repo.write("../blob", content);
    repo.git(&["hash-object", "-w", "../blob"])
}

fn tree(repo: &Repo, entries: &str) -> String {
    repo.write("../tree", entries);
    let tree = std::process::Command::new("sh")
        .current_dir(&repo.path)
        .args(["-c", "git mktree < ../tree"])
        .output()
        .unwrap();
    String::from_utf8(tree.stdout).unwrap().trim().to_owned()
}

fn commit_with(repo: &Repo, file: &str, content: &str) -> String {
    let blob = hash(repo, content);
    let tree = tree(repo, &format!("100644 blob {blob}\t{file}\n"));
    repo.git(&["commit-tree", "-m", "x", &tree])
}

#[tokio::test]
async fn damaged_pull_request_leaves_others_readable() {
    let (repo, local) = three().await;
    let good = repo.oid("refs/forge/pulls/2");
    let no_json = commit_with(&repo, "pull.json", "{");
    let no_file = commit_with(&repo, "other", "x");
    let foreign = commit_with(&repo, "pull.json", "{\"format\": 1, \"number\": 2}");
    let newer = commit_with(&repo, "pull.json", "{\"format\": 9}");
    let blob = hash(&repo, "hello");
    let mut cases = vec![no_json, no_file, foreign, newer, blob];
    // Refs can name a missing object, and ref files can contain no object id.
    cases.push("1".repeat(40));
    cases.push("garbage".into());
    cases.push(String::new());
    for case in &cases {
        std::fs::write(
            repo.path.join(".git/refs/forge/pulls/2"),
            format!("{case}\n"),
        )
        .unwrap();
        let e = local
            .view(&pr(&local, 2), PrFields::NONE)
            .await
            .unwrap_err();
        assert_eq!(e.code(), "protocol", "{case}: {e:?}");
        assert!(e.message().contains("refs/forge/pulls/2"), "{e}");
        assert!(
            e.hint()
                .is_some_and(|h| h.text().contains("refs/forge/pulls/2")),
            "{e:?}"
        );
        for state in [StateFilter::Open, StateFilter::All] {
            let mut query = PullQuery::default();
            query.state = state;
            let page = local
                .list(local.id(), &query, PageReq::first(30))
                .await
                .unwrap();
            let numbers: Vec<_> = page.items.iter().filter_map(|p| p.number).collect();
            assert_eq!(numbers, [3, 1], "{case}");
            assert_eq!(page.warnings.len(), 1, "{case}");
            assert!(page.warnings[0].message.contains("refs/forge/pulls/2"));
        }
        assert!(local.comment(&pr(&local, 2), "x", None).await.is_err());
        local
            .comment(&pr(&local, 1), "still here", None)
            .await
            .unwrap();
    }
    let next = create(&local, "b4").await;
    assert_eq!(next.number, Some(4));
    std::fs::write(
        repo.path.join(".git/refs/forge/pulls/2"),
        format!("{good}\n"),
    )
    .unwrap();
    local.view(&pr(&local, 2), PrFields::NONE).await.unwrap();
}

/// A long text can be a small object in git, because git compresses objects.
#[tokio::test]
async fn oversized_pull_request_leaves_others_readable() {
    let (repo, local) = three().await;
    let json = repo.git(&["show", "refs/forge/pulls/2:pull.json"]);
    let long = format!("{json}{}", "\n".repeat(3_000_000));
    let long = commit_with(&repo, "pull.json", &long);
    repo.git(&["update-ref", "refs/forge/pulls/2", &long]);
    let view = local.view(&pr(&local, 2), PrFields::NONE).await;
    let e = view.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(
        e.message().contains("and at most 2097152 are read here"),
        "{e}"
    );
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    let page = local.list(local.id(), &query, PageReq::first(30)).await;
    let page = page.unwrap();
    let numbers: Vec<_> = page.items.iter().filter_map(|p| p.number).collect();
    assert_eq!(numbers, [3, 1], "{:?}", page.warnings);
}

/// Each of four trees contains the next one under ten names, which makes ten thousand files.
#[tokio::test]
async fn trees_with_too_many_files_are_refused() {
    let (repo, local) = three().await;
    let name = "x".repeat(240);
    let ten =
        |entry: &str| -> String { (0..10).map(|n| format!("{entry}\t{n}{name}\n")).collect() };
    let mut entries = ten(&format!("100644 blob {}", hash(&repo, "x\n")));
    for _ in 0..4 {
        entries = ten(&format!("040000 tree {}", tree(&repo, &entries)));
    }
    let base = repo.oid("main:base.txt");
    let root = tree(&repo, &format!("{entries}100644 blob {base}\tbase.txt\n"));
    let commit = repo.git(&["commit-tree", "-p", "main", "-m", "x", &root]);
    repo.git(&["update-ref", "refs/heads/b1", &commit]);
    let files = local.files(&pr(&local, 1), PageReq::first(5)).await;
    let e = files.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(e.message().contains("more than 32 MiB"), "{e}");
    let view = local.view(&pr(&local, 1), PrFields::STATS).await.unwrap();
    assert_eq!(view.changed_files, None);
    let mut said = view.warnings.iter().map(|it| &it.message);
    assert!(said.any(|it| it.contains("more than 32 MiB")), "{view:?}");
}

/// Many small values take much more memory than their text.
#[tokio::test]
async fn conversation_beyond_memory_limit_is_refused() {
    let (repo, local) = three().await;
    let id = pr(&local, 1);
    local.comment(&id, "one", None).await.unwrap();
    let event = repo.git(&["cat-file", "commit", "refs/forge/pulls/1"]);
    let values = "0,".repeat(3 << 20);
    let large = event.replace("\"one\"", &format!("\"one\",\"more\":[{values}0]"));
    repo.write("../event", &large);
    let tip = repo.git(&["hash-object", "-t", "commit", "-w", "../event"]);
    repo.git(&["update-ref", "refs/forge/pulls/1", &tip]);
    // The write succeeds, because it reads no conversation.
    let comment = local.comment(&id, "two", None).await.unwrap();
    assert_eq!((&*comment.value.id, &*comment.value.body), ("c3", "two"));
    let review = NewReview::new(Verdict::Comment, "three");
    let review = local.submit_review(&id, &review).await.unwrap();
    assert_eq!(review.value.body.as_deref(), Some("three"));
    let e = local.comments(&id, PageReq::first(5)).await.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(e.message().contains("more than 32 MiB"), "{e}");
}

/// A fetch and a clone bring tags along.
#[tokio::test]
async fn tag_does_not_pose_as_missing_ref() {
    let (repo, local) = three().await;
    let (head, other) = (repo.oid("b1"), repo.oid("b4"));
    let json = repo.git(&["show", "refs/forge/pulls/3:pull.json"]);
    let json = json.replace("\"number\": 3", "\"number\": 4");
    let planted = commit_with(&repo, "pull.json", &json);
    for (name, oid) in [("heads/b1", &other), ("forge/pulls/4", &planted)] {
        repo.git(&["update-ref", &format!("refs/tags/refs/{name}"), oid]);
    }
    repo.git(&["update-ref", "-d", "refs/heads/b1"]);
    for is_packed in [false, true] {
        if is_packed {
            repo.git(&["pack-refs", "--all"]);
        }
        let seen = local.view(&pr(&local, 1), PrFields::NONE).await.unwrap();
        assert_eq!(seen.head_oid.as_ref(), Some(&head), "{is_packed}");
        let e = local.view(&pr(&local, 4), PrFields::NONE).await;
        assert_eq!(e.unwrap_err().code(), "not_found", "{is_packed}");
    }
    let base = repo.oid("main");
    let e = local.merge(&pr(&local, 1), &MergeReq::default()).await;
    assert!(e.unwrap_err().message().contains("b1"));
    assert_eq!(repo.oid("main"), base);
    assert_eq!(create(&local, "b4").await.number, Some(4));
}

#[tokio::test]
async fn hint_for_damaged_ref_has_working_delete_command() {
    let (repo, local) = three().await;
    for content in ["1".repeat(40), "garbage".into()] {
        std::fs::write(
            repo.path.join(".git/refs/forge/pulls/3"),
            format!("{content}\n"),
        )
        .unwrap();
        let e = local
            .view(&pr(&local, 3), PrFields::NONE)
            .await
            .unwrap_err();
        let hint = e.hint().unwrap();
        let text = hint.text();
        let delete = text
            .split('`')
            .find(|part| part.starts_with("git update-ref -d"));
        let command = match delete {
            Some(delete) => delete.to_owned(),
            None => format!("rm '{}'", text.split('\'').nth(1).unwrap()),
        };
        let status = std::process::Command::new("sh")
            .current_dir(&repo.path)
            .args(["-c", &command])
            .status()
            .unwrap();
        assert!(status.success(), "{command}");
        let e = local
            .view(&pr(&local, 3), PrFields::NONE)
            .await
            .unwrap_err();
        assert_eq!(e.code(), "not_found", "{e:?}");
    }
    assert_eq!(create(&local, "b4").await.number, Some(4));
}

#[tokio::test]
async fn record_missing_in_partial_clone_hints_at_fetch() {
    let (repo, _) = three().await;
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = repo.path.with_file_name("clone");
    let (from, to) = (format!("file://{}", repo.path.display()), clone.display());
    repo.git(&[
        "clone",
        "--quiet",
        "--no-checkout",
        "--filter=blob:none",
        &from,
        &to.to_string(),
    ]);
    git(
        &clone,
        &["fetch", "--quiet", "origin", "refs/forge/*:refs/forge/*"],
    );
    let local = Local::open(&clone, Trust::Guarded).await.unwrap();
    let read = local.view(&pr(&local, 1), PrFields::NONE).await;
    let error = read.unwrap_err();
    let hint = error.hint().unwrap().text();
    assert!(hint.contains("git fetch --refetch"), "{error:?}");
}

#[tokio::test]
async fn damaged_event_breaks_only_conversation() {
    let (repo, local) = three().await;
    local.comment(&pr(&local, 1), "one", None).await.unwrap();
    let tree = repo.oid("refs/forge/pulls/1^{tree}");
    let parent = repo.oid("refs/forge/pulls/1");
    let bad = repo.git(&[
        "commit-tree",
        "-p",
        &parent,
        "-m",
        "comment: x",
        "-m",
        "{\"seq\":",
        &tree,
    ]);
    repo.git(&["update-ref", "refs/forge/pulls/1", &bad]);
    let seen = local
        .view(&pr(&local, 1), PrFields::COMMENTS | PrFields::STATS)
        .await
        .unwrap();
    assert_eq!(
        (seen.comments.is_none(), seen.changed_files),
        (true, Some(1))
    );
    assert!(
        seen.warnings[0].message.contains("refs/forge/pulls/1"),
        "{:?}",
        seen.warnings
    );
    assert_eq!(
        local
            .comments(&pr(&local, 1), PageReq::first(5))
            .await
            .unwrap_err()
            .code(),
        "protocol"
    );
    local
        .close(&pr(&local, 1), &CloseReq::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn lost_index_is_rebuilt() {
    let (repo, local) = three().await;
    local
        .close(&pr(&local, 2), &CloseReq::default())
        .await
        .unwrap();
    let open = async || {
        let page = local
            .list(local.id(), &PullQuery::default(), PageReq::first(30))
            .await
            .unwrap();
        page.items
            .iter()
            .filter_map(|p| p.number)
            .collect::<Vec<_>>()
    };
    let garbage = hash(&repo, "garbage");
    let behind = hash(&repo, "forge index 1\nhighest 1\nopen 1\n");
    let file = repo.path.join(".git/refs/forge/index");
    let head = repo.oid("HEAD");
    let mut next = 3;
    for content in [
        garbage,
        behind,
        head,
        "2".repeat(40),
        "no id".into(),
        String::new(),
    ] {
        std::fs::write(&file, format!("{content}\n")).unwrap();
        assert_eq!(
            open().await,
            if next == 3 { vec![3, 1] } else { vec![next, 1] },
            "{content}"
        );
        local
            .close(&pr(&local, next), &CloseReq::default())
            .await
            .unwrap();
        next += 1;
        assert_eq!(create(&local, "b4").await.number, Some(next), "{content}");
        assert_eq!(open().await, [next, 1], "{content}");
    }
    repo.git(&["update-ref", "-d", "refs/forge/index"]);
    assert_eq!(open().await, [next, 1]);
    // The rebuilt index that is stored has no closed pull requests.
    local
        .close(&pr(&local, next), &CloseReq::default())
        .await
        .unwrap();
    let index = repo.git(&["cat-file", "blob", "refs/forge/index"]);
    assert_eq!(index, format!("forge index 1\nhighest {next}\nopen 1"));
}

#[tokio::test]
async fn rebuilt_index_gives_no_total_of_open_pulls() {
    let (repo, local) = three().await;
    let closed = local.close(&pr(&local, 2), &CloseReq::default()).await;
    closed.unwrap();
    let total = async |state| {
        let mut query = PullQuery::default();
        query.state = state;
        let page = local.list(local.id(), &query, PageReq::first(1)).await;
        page.unwrap().total
    };
    assert_eq!(total(StateFilter::Open).await, Some(2));
    repo.git(&["update-ref", "-d", "refs/forge/index"]);
    assert_eq!(total(StateFilter::Open).await, None);
    assert_eq!(total(StateFilter::All).await, Some(3));
}

#[tokio::test]
async fn damaged_labels_break_only_labels() {
    let (repo, local) = three().await;
    let long = commit_with(&repo, "labels.json", &"\n".repeat(5 << 20));
    repo.git(&["update-ref", "refs/forge/labels", &long]);
    let labels = local.labels(local.id(), PageReq::first(5)).await;
    let e = labels.unwrap_err();
    assert!(e.message().contains("the maximum is 4194304"), "{e}");
    let bad = commit_with(&repo, "labels.json", "[]");
    repo.git(&["update-ref", "refs/forge/labels", &bad]);
    let e = local
        .labels(local.id(), PageReq::first(5))
        .await
        .unwrap_err();
    assert!(e.message().contains("refs/forge/labels"), "{e}");
    let label = NewLabel::new("x");
    assert!(local.define_label(local.id(), &label).await.is_err());
    let page = local
        .list(local.id(), &PullQuery::default(), PageReq::first(30))
        .await
        .unwrap();
    assert_eq!(page.items.len(), 3);
    assert!(local.view(&pr(&local, 1), PrFields::NONE).await.is_ok());
}

#[tokio::test]
async fn labels_of_first_format_keep_ids() {
    let repo = Repo::new();
    let local = repo.open().await;
    let first = r#"{"format":1,"next":11,"labels":[{"name":"ops","color":"4f7cac","id":"10"}]}"#;
    let first = commit_with(&repo, "labels.json", first);
    repo.git(&["update-ref", "refs/forge/labels", &first]);
    let label = NewLabel::new("x");
    let made = local.define_label(local.id(), &label).await.unwrap().value;
    assert_eq!(made.id.len(), 16, "{made:?}");
    let all = local.labels(local.id(), PageReq::first(5)).await.unwrap();
    assert_eq!((all.items[0].id.as_str(), &all.items[1]), ("10", &made));
    let json = repo.git(&["show", "refs/forge/labels:labels.json"]);
    assert!(
        json.contains("\"format\": 2") && !json.contains("next"),
        "{json}"
    );
}

#[tokio::test]
async fn stored_option_like_commit_id_is_refused() {
    let (repo, local) = three().await;
    let json = repo.git(&["show", "refs/forge/pulls/1:pull.json"]);
    let head = repo.oid("b1");
    let out = repo.path.join("written");
    let evil = json.replace(&head, &format!("--output={}", out.display()));
    assert_ne!(evil, json);
    let bad = commit_with(&repo, "pull.json", &evil);
    repo.git(&["update-ref", "refs/forge/pulls/1", &bad]);
    repo.git(&["branch", "-D", "b1"]);
    let e = local
        .view(&pr(&local, 1), PrFields::STATS)
        .await
        .unwrap_err();
    assert!(e.message().contains("not a commit id"), "{e}");
    assert!(!out.exists());
}

#[tokio::test]
async fn newer_format_refuses_writes_and_keeps_refs() {
    let (repo, local) = three().await;
    let json = repo.git(&["show", "refs/forge/pulls/2:pull.json"]);
    let newer = json.replace("\"format\": 1", "\"format\": 3");
    let newer = newer.replacen('{', "{\"added_later\": true,", 1);
    let newer = commit_with(&repo, "pull.json", &newer);
    repo.git(&["update-ref", "refs/forge/pulls/2", &newer]);
    let before = repo.git(&["for-each-ref"]);
    let id = pr(&local, 2);
    let errors = [
        local.comment(&id, "Said.", None).await.unwrap_err(),
        local.close(&id, &CloseReq::default()).await.unwrap_err(),
        local.set_draft(&id, true).await.unwrap_err(),
    ];
    for e in errors {
        assert_eq!(e.code(), "protocol", "{e:?}");
        assert!(e.message().contains("a newer version of forge"), "{e}");
        let hint = e.hint().unwrap().text();
        assert!(hint.contains("or a later one"), "{hint}");
        assert!(!hint.contains("update-ref"), "{hint}");
    }
    assert_eq!(repo.git(&["for-each-ref"]), before);
    // Other pull requests can still be read and written.
    local.comment(&pr(&local, 1), "Said.", None).await.unwrap();
}
