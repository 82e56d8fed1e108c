//! Small objects of a repository that unpack to large ones. What one call holds in memory has a sum,
//! and everything else stays readable.

use forge_core::{
    Issues, Labels, PageReq, PullRequests, Repos, Reviews,
    call::{is_spent, received, together},
    model::{IssueFields, IssueQuery, NewIssue, PrFields, PullQuery, StateFilter, Subject},
};
use forge_local::Local;
use serde_json::{Value, json};

use crate::repo::{Repo, create, pr};

const MIB: usize = 1 << 20;

/// Returns a repository with pull request 1.
async fn one() -> (Repo, std::sync::Arc<Local>) {
    let repo = Repo::new();
    let local = repo.open().await;
    repo.branch("topic", "topic.txt", "x\n");
    create(&local, "topic").await;
    (repo, local)
}

fn mktree(repo: &Repo, entries: &str) -> String {
    repo.write(".git/entries", entries);
    let tree = std::process::Command::new("sh")
        .current_dir(&repo.path)
        .args(["-c", "git mktree < .git/entries"])
        .output()
        .unwrap();
    assert!(tree.status.success());
    String::from_utf8(tree.stdout).unwrap().trim().to_owned()
}

fn hash(repo: &Repo, content: &str) -> String {
    repo.write(".git/content", content);
    repo.git(&["hash-object", "-w", ".git/content"])
}

/// Stores `content` as the file of the record `name`, with the history that the record has.
fn store(repo: &Repo, name: &str, file: &str, content: &str) {
    let tree = mktree(
        repo,
        &format!("100644 blob {}\t{file}\n", hash(repo, content)),
    );
    let commit = repo.git(&["commit-tree", "-m", "x", &tree]);
    repo.git(&["update-ref", name, &commit]);
}

fn read_json(repo: &Repo, name: &str) -> Value {
    serde_json::from_str(&repo.git(&["show", name])).unwrap()
}

/// Stores the pull requests 2 to `last`, each like pull request 1 with `changes`.
fn store_pulls(repo: &Repo, last: u64, changes: &Value) {
    let mut pull = read_json(repo, "refs/forge/pulls/1:pull.json");
    for number in 2..=last {
        pull["number"] = json!(number);
        let fields = changes.as_object().unwrap().clone();
        pull.as_object_mut().unwrap().extend(fields);
        store(
            repo,
            &format!("refs/forge/pulls/{number}"),
            "pull.json",
            &pull.to_string(),
        );
    }
}

/// Adds an event to a record whose commit message has `text` in place of the newest comment.
fn add_events(repo: &Repo, name: &str, texts: &[String]) {
    let event = repo.git(&["cat-file", "commit", name]);
    let mut parent = repo.oid(name);
    for text in texts {
        let (header, message) = event.split_once("\n\n").unwrap();
        let header: Vec<_> = header
            .lines()
            .map(|line| match line.starts_with("parent ") {
                true => format!("parent {parent}"),
                false => line.to_owned(),
            })
            .collect();
        let message = message.replace("\"one\"", &format!("\"{text}\""));
        let commit = format!("{}\n\n{message}\n", header.join("\n"));
        repo.write(".git/event", &commit);
        parent = repo.git(&["hash-object", "-t", "commit", "-w", ".git/event"]);
    }
    repo.git(&["update-ref", name, &parent]);
}

async fn list(local: &Local, page: PageReq) -> forge_core::Result<forge_core::Page<Listed>> {
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    together(local.list(local.id(), &query, page)).await
}

type Listed = forge_core::model::PullRequest;

/// Reads all pages, each as a call of its own, and returns the numbers.
async fn list_all(local: &Local) -> (Vec<u64>, Vec<String>) {
    let (mut numbers, mut warnings) = (Vec::new(), Vec::new());
    let mut request = PageReq::first(100);
    loop {
        let page = list(local, request).await.unwrap();
        numbers.extend(page.items.iter().filter_map(|pull| pull.number));
        warnings.extend(page.warnings.iter().map(|warning| warning.message.clone()));
        match page.next {
            Some(next) => request = PageReq::after(next, 100),
            None => return (numbers, warnings),
        }
    }
}

#[tokio::test]
async fn list_of_long_titles_is_cut_with_warning() {
    let (repo, local) = one().await;
    store_pulls(&repo, 12, &json!({ "title": "x".repeat(3 * MIB / 2) }));
    let page = list(&local, PageReq::first(100)).await.unwrap();
    assert!((5..12).contains(&page.items.len()), "{}", page.items.len());
    let warning = &page.warnings[0].message;
    assert!(warning.starts_with("the list is incomplete: "), "{warning}");
    assert!(warning.contains("more than 32 MiB in all"), "{warning}");
    assert!(page.warnings[0].hint.is_some());
    let (numbers, _) = list_all(&local).await;
    assert_eq!(numbers, (1..=12).rev().collect::<Vec<_>>());
    let view = together(local.view(&pr(&local, 12), PrFields::NONE)).await;
    assert_eq!(view.unwrap().title.len(), 3 * MIB / 2);
}

/// The same for a list that filters, and so reads more than it shows.
#[tokio::test]
async fn scan_of_long_descriptions_holds_only_rows() {
    let (repo, local) = one().await;
    store_pulls(
        &repo,
        40,
        &json!({ "description": "x".repeat(3 * MIB / 2) }),
    );
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    query.author = Some("nobody".into());
    let found = together(local.list(local.id(), &query, PageReq::first(100))).await;
    let found = found.unwrap();
    assert_eq!((found.items.len(), found.scanned), (0, Some(40)));
    let head = forge_core::model::HeadRef::branch("topic");
    let found = together(local.find(local.id(), &head, StateFilter::Open, PrFields::NONE)).await;
    // Forty rows are too many to hold, and "not found" would be wrong.
    assert!(is_spent(&found.unwrap_err()));
}

#[tokio::test]
async fn list_of_many_accounts_is_cut_with_warning() {
    let (repo, local) = one().await;
    let logins: Vec<_> = (0..30_000).map(|n| format!("{n}")).collect();
    store_pulls(&repo, 8, &json!({ "assignees": logins }));
    let page = list(&local, PageReq::first(100)).await.unwrap();
    assert!((1..8).contains(&page.items.len()), "{}", page.items.len());
    assert_eq!(list_all(&local).await.0.len(), 8);
}

/// Thousands of references to a label with a long description would be a copy of it each.
#[tokio::test]
async fn repeated_label_with_long_description_is_not_copied() {
    let (repo, local) = one().await;
    let label =
        json!({ "id": "1", "name": "bug", "color": "c0392b", "description": "x".repeat(MIB) });
    let labels = json!({ "format": 2, "labels": [label] });
    store(
        &repo,
        "refs/forge/labels",
        "labels.json",
        &labels.to_string(),
    );
    let refs = vec![json!({ "id": "1", "name": "bug" }); 1000];
    store_pulls(&repo, 3, &json!({ "labels": refs }));
    let (held, page) = together(async {
        let query = PullQuery::default();
        let page = local.list(local.id(), &query, PageReq::first(9));
        let page = page.await.unwrap();
        (received(0), page)
    })
    .await;
    assert_eq!(page.items.len(), 3);
    assert_eq!(page.items[0].labels.len(), 1000);
    let warning = &page.items[0].warnings[0].message;
    assert!(warning.contains("descriptions of 1000 labels"), "{warning}");
    assert!(held < 2 * MIB, "{held}");
    assert!(page.items[2].warnings.is_empty());
}

#[tokio::test]
async fn events_of_long_texts_are_refused() {
    let (repo, local) = one().await;
    let id = pr(&local, 1);
    local.comment(&id, "one", None).await.unwrap();
    let texts: Vec<_> = (0..20).map(|n| format!("{n}{}", "x".repeat(MIB))).collect();
    add_events(&repo, "refs/forge/pulls/1", &texts);
    let e = together(local.comments(&id, PageReq::first(5)))
        .await
        .unwrap_err();
    assert!(is_spent(&e), "{e}");
    let message = e.message();
    assert!(
        message.starts_with("the events of pull request #1 and what else"),
        "{e}"
    );
    assert!(e.hint().is_some());
    // The reference is intact, so no hint says to delete it.
    assert!(!e.hint().unwrap().text().contains("update-ref"), "{e:?}");
    let fields = PrFields::COMMENTS | PrFields::STATS;
    let view = together(local.view(&id, fields)).await.unwrap();
    assert!(view.comments.is_none());
    assert_eq!(view.changed_files, Some(1));
    assert!(
        view.warnings[0].message.contains("32 MiB"),
        "{:?}",
        view.warnings
    );
    let links = together(local.links(&Subject::Pull(id))).await.unwrap();
    assert!(links.warnings[0].message.contains("32 MiB"), "{links:?}");
}

#[tokio::test]
async fn events_of_issue_with_long_texts_are_refused() {
    let (repo, local) = one().await;
    let issue = NewIssue::new("It breaks", "");
    let issue = local.create_issue(local.id(), &issue).await.unwrap().value;
    local.create_issue_comment(&issue.id, "one").await.unwrap();
    let texts: Vec<_> = (0..20).map(|n| format!("{n}{}", "x".repeat(MIB))).collect();
    add_events(&repo, "refs/forge/issues/1", &texts);
    let mut fields = IssueFields::NONE;
    fields.comments = true;
    let view = together(local.issue(&issue.id, &fields)).await.unwrap();
    assert!(view.comments.is_none());
    assert!(
        view.warnings[0].message.contains("32 MiB"),
        "{:?}",
        view.warnings
    );
    let history = together(local.issue_history(&issue.id, PageReq::first(5))).await;
    assert!(is_spent(&history.unwrap_err()));
}

#[tokio::test]
async fn list_of_long_issues_is_cut_with_warning() {
    let (repo, local) = one().await;
    let issue = NewIssue::new("It breaks", "");
    local.create_issue(local.id(), &issue).await.unwrap();
    let mut issue = read_json(&repo, "refs/forge/issues/1:issue.json");
    issue["body"] = json!("x".repeat(3 * MIB / 2));
    for number in 2..=12 {
        issue["number"] = json!(number);
        let name = format!("refs/forge/issues/{number}");
        store(&repo, &name, "issue.json", &issue.to_string());
    }
    let (mut numbers, mut request, mut warnings) = (Vec::new(), PageReq::first(100), 0);
    loop {
        let mut query = IssueQuery::default();
        query.state = forge_core::model::IssueFilter::All;
        query.fields.relations = true;
        let page = together(local.issues(local.id(), &query, request))
            .await
            .unwrap();
        numbers.extend(page.items.iter().filter_map(|issue| issue.number));
        warnings += page.warnings.len();
        match page.next {
            Some(next) => request = PageReq::after(next, 100),
            None => break,
        }
    }
    assert_eq!(numbers, (1..=12).rev().collect::<Vec<_>>());
    assert!(warnings > 0);
}

/// A message of one letter, and one of trailers, take a thousandth of their size in the repository.
#[tokio::test]
async fn commits_with_long_messages_are_refused() {
    let (repo, local) = one().await;
    let id = pr(&local, 1);
    let head = repo.git(&["cat-file", "commit", "topic"]);
    let header = head.split_once("\n\n").unwrap().0;
    for text in ["x".repeat(12 * MIB), "co-authored-by:<>\n".repeat(70_000)] {
        repo.write(".git/commit", &format!("{header}\n\nx\n\n{text}\n"));
        let commit = repo.git(&["hash-object", "-t", "commit", "-w", ".git/commit"]);
        repo.git(&["update-ref", "refs/heads/topic", &commit]);
        let commits = together(local.commits(&id, PageReq::first(5))).await;
        let e = commits.unwrap_err();
        assert!(is_spent(&e), "{e}");
        assert!(e.message().contains(&commit), "{e}");
        let fields = PrFields::COMMITS | PrFields::STATS;
        let view = together(local.view(&id, fields)).await.unwrap();
        assert_eq!(
            (view.changed_files, view.commits.is_none()),
            (Some(1), true)
        );
        assert!(
            view.warnings[0].message.contains("32 MiB"),
            "{:?}",
            view.warnings
        );
    }
}

#[tokio::test]
async fn directory_beyond_memory_limit_is_refused() {
    let (repo, local) = one().await;
    let blob = hash(&repo, "x\n");
    let entries: String = (0..150_000)
        .map(|n| format!("100644 blob {blob}\t{n:06}\n"))
        .collect();
    let large = mktree(&repo, &entries);
    let root = format!("040000 tree {large}\tlarge\n100644 blob {blob}\tsmall\n");
    let root = mktree(&repo, &root);
    let commit = repo.git(&["commit-tree", "-m", "x", &root]);
    repo.git(&["update-ref", "refs/heads/large", &commit]);
    let read = async |path| together(local.repo_file(local.id(), path, Some("large"))).await;
    let e = read("large").await.unwrap_err();
    assert!(is_spent(&e), "{e}");
    assert!(e.message().contains("more than 32 MiB in all"), "{e}");
    assert!(read("small").await.unwrap().is_some());
    assert!(read("").await.unwrap().is_some());
}

/// A list of labels is read page by page, and is the same list for each page.
#[tokio::test]
async fn labels_are_read_once_for_all_pages() {
    let (repo, local) = one().await;
    let label =
        |n: usize| json!({ "id": n.to_string(), "name": format!("l{n:05}"), "color": "ffffff" });
    let labels: Vec<_> = (0..20_000).map(label).collect();
    let labels = json!({ "format": 2, "labels": labels });
    store(
        &repo,
        "refs/forge/labels",
        "labels.json",
        &labels.to_string(),
    );
    // Without the object, a second read of the labels fails.
    let blob = repo.git(&["rev-parse", "refs/forge/labels:labels.json"]);
    let (folder, file) = blob.split_at(2);
    let object = repo.path.join(".git/objects").join(folder).join(file);
    let moved = repo.path.join(".git/labels");
    let (names, held) = together(async {
        let (mut names, mut request) = (Vec::new(), PageReq::first(100));
        let mut held = Vec::new();
        for number in 0..3 {
            let page = local.labels(local.id(), request).await.unwrap();
            if number == 0 {
                std::fs::rename(&object, &moved).unwrap();
            }
            held.push(received(0));
            names.extend(page.items.into_iter().map(|label| label.name));
            request = PageReq::after(page.next.unwrap(), 100);
        }
        (names, held)
    })
    .await;
    let expected: Vec<_> = (0..300).map(|n| format!("l{n:05}")).collect();
    assert_eq!(names, expected);
    // Only the pages are kept, and not all labels for each of them.
    assert!(held[2] < 3 * 100 * 400, "{held:?}");
    assert_eq!(held[2] - held[1], held[1] - held[0]);
    // A changed list is read again.
    std::fs::rename(&moved, &object).unwrap();
    local.delete_label(local.id(), "l00000").await.unwrap();
    let page = local.labels(local.id(), PageReq::first(1)).await.unwrap();
    assert_eq!(page.items[0].name, "l00001");
}
