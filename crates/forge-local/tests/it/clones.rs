//! Several clones of one bare repository, which share pull requests and issues by fetch and push.

use std::{path::Path, process::Command};

use forge_core::{
    Issues, PageReq, PullRequests, Reviews,
    model::{
        CreatePull, EditIssue, EditPull, IssueFields, IssueState, MergeReq, NewReview, PrFields,
        PrState, PullRequest, SetIssueState, StatusEventKind, UpdateBranch, Verdict,
    },
};
use forge_local::Local;

use crate::{
    issues::{self, open},
    repo::{Repo, create, pr},
};

const PULLS: &str = "refs/forge/pulls/*:refs/forge/pulls/*";
const ISSUES: &str = "refs/forge/issues/*:refs/forge/issues/*";

/// Creates a bare repository with one commit on `main`, and a clone of it for alice.
fn origin() -> (Repo, Repo) {
    let origin = Repo::empty(&["--bare"]);
    let alice = origin.clone_for("alice", &[]);
    alice.git(&["switch", "--quiet", "--orphan", "main"]);
    alice.write("base.txt", "one\ntwo\nthree\n");
    alice.commit("base");
    alice.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    (origin, alice)
}

/// Returns the commands of the page about sharing that begin with `verb`.
fn page_commands(verb: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/git-repositories.md");
    let page = std::fs::read_to_string(page).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("$ "));
    let found: Vec<String> = lines
        .filter(|line| line.starts_with(verb))
        .map(str::to_owned)
        .collect();
    assert!(!found.is_empty(), "{verb}");
    found
}

/// Runs a command in a clone. Returns true if it succeeds.
fn runs(clone: &Repo, command: &str) -> bool {
    let status = Command::new("sh")
        .current_dir(&clone.path)
        .args(["-c", command])
        .stderr(std::process::Stdio::null())
        .status();
    status.unwrap().success()
}

/// Fetches pull requests and issues with the commands of the page.
fn fetch(clone: &Repo) {
    runs(clone, &page_commands("git fetch")[0]);
    assert!(runs(clone, &page_commands("git update-ref")[0]));
}

/// Pushes `main`, pull requests and issues with the command of the page.
fn push(clone: &Repo) -> bool {
    runs(clone, &page_commands("git push")[0])
}

/// Returns the command in backticks in a hint.
fn command_of(hint: &str) -> String {
    hint.split('`').nth(1).unwrap().to_owned()
}

async fn view(local: &Local, fields: PrFields) -> PullRequest {
    local.view(&pr(local, 1), fields).await.unwrap()
}

fn warnings_of(pull: &PullRequest) -> String {
    let warnings = pull.warnings.iter();
    let texts: Vec<&str> = warnings.map(|w| w.message.as_str()).collect();
    texts.join("\n")
}

/// Creates `topic` and its pull request in alice's clone, shares both, and returns bob's clone of
/// everything. Both clones have the branch.
async fn shared_pull() -> (Repo, Repo, Repo) {
    let (origin, alice) = origin();
    alice.branch("topic", "new.txt", "new\n");
    alice.git(&["push", "--quiet", "origin", "topic"]);
    create(&*alice.open().await, "topic").await;
    assert!(push(&alice));
    let bob = origin.clone_for("bob", &[]);
    bob.git(&["branch", "--quiet", "topic", "origin/topic"]);
    fetch(&bob);
    (origin, alice, bob)
}

/// Adds a commit to `topic` and pushes it.
fn push_newer_head(clone: &Repo) -> String {
    clone.git(&["switch", "--quiet", "topic"]);
    clone.write("new.txt", "newer\n");
    let oid = clone.commit("newer");
    clone.git(&["push", "--quiet", "origin", "topic"]);
    clone.git(&["switch", "--quiet", "main"]);
    oid
}

#[test]
fn page_begins_with_the_repository_setting() {
    assert_eq!(page_commands("git ")[0], "git config forge.repo local:.");
}

#[tokio::test]
async fn page_commands_share_pull_requests_and_issues() {
    let (_origin, alice, bob) = shared_pull().await;
    let local = bob.open().await;
    assert_eq!(view(&local, PrFields::NONE).await.state, PrState::Open);
    open(&local, "Bob's").await;
    local.comment(&pr(&local, 1), "Nice.", None).await.unwrap();
    assert!(push(&bob));
    fetch(&alice);
    let local = alice.open().await;
    assert_eq!(issues::all(&local).await.items.len(), 1);
    assert_eq!(view(&local, PrFields::NONE).await.comments_count, 1);
}

#[tokio::test]
async fn page_fetch_keeps_unpushed_issues_and_pulls() {
    for setting in ["fetch.prune", "remote.origin.prune"] {
        let (_origin, _alice, bob) = shared_pull().await;
        bob.git(&["config", setting, "true"]);
        let local = bob.open().await;
        open(&local, "Not pushed").await;
        bob.branch("other", "other.txt", "other\n");
        create(&local, "other").await;
        fetch(&bob);
        assert_eq!(issues::all(&local).await.items.len(), 1, "{setting}");
        assert!(local.view(&pr(&local, 2), PrFields::NONE).await.is_ok());
    }
}

#[tokio::test]
async fn page_push_publishes_no_merge_without_its_base() {
    let (origin, alice, bob) = shared_pull().await;
    alice.write("base.txt", "moved\n");
    alice.commit("main moves");
    assert!(push(&alice));
    let before = origin.oid("refs/forge/pulls/1");
    let local = bob.open().await;
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    assert!(!push(&bob), "main is rejected");
    assert_eq!(origin.oid("refs/forge/pulls/1"), before);
    fetch(&alice);
    let shown = view(&*alice.open().await, PrFields::NONE).await;
    assert_eq!(shown.state, PrState::Open);
    // The steps of the page: undo, reopen, merge, push.
    bob.git(&["fetch", "--quiet", "--no-prune", "origin"]);
    bob.git(&["reset", "--quiet", "--keep", "origin/main"]);
    local.reopen(&pr(&local, 1), None).await.unwrap();
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    assert!(push(&bob));
    fetch(&alice);
    alice.git(&["merge", "--quiet", "--ff-only", "origin/main"]);
    let shown = view(&*alice.open().await, PrFields::NONE).await;
    assert_eq!(
        (shown.state, warnings_of(&shown)),
        (PrState::Merged, String::new())
    );
}

#[tokio::test]
async fn page_push_of_colliding_numbers_loses_nothing() {
    let (origin, alice) = origin();
    let bob = origin.clone_for("bob", &[]);
    open(&*alice.open().await, "Alice's").await;
    open(&*bob.open().await, "Bob's").await;
    assert!(push(&alice));
    assert!(!push(&bob));
    fetch(&bob);
    for (clone, title) in [(&alice, "Alice's"), (&bob, "Bob's")] {
        let all = issues::all(&*clone.open().await).await.items;
        assert_eq!(all[0].title, title);
    }
}

#[tokio::test]
async fn merge_of_head_behind_remote_is_refused() {
    let (_origin, alice, bob) = shared_pull().await;
    let newer = push_newer_head(&alice);
    bob.git(&["fetch", "--quiet", "origin"]);
    let local = bob.open().await;
    let shown = view(&local, PrFields::MERGEABILITY).await;
    assert_eq!(shown.mergeability.as_ref().unwrap().status, "BLOCKED");
    assert!(warnings_of(&shown).contains(&newer), "{shown:?}");
    let before = bob.git(&["for-each-ref"]);
    let refused = local.merge(&pr(&local, 1), &MergeReq::default()).await;
    let refused = refused.unwrap_err();
    assert!(refused.message().contains("is older than"), "{refused}");
    let update = UpdateBranch::default();
    let refused_update = local.update_branch(&pr(&local, 1), &update).await;
    assert_eq!(refused_update.unwrap_err().code(), "precondition_failed");
    assert_eq!(bob.git(&["for-each-ref"]), before);
    let command = command_of(refused.hint().unwrap().text());
    assert_eq!(command, "git fetch origin topic:topic");
    assert!(runs(&bob, &command));
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    assert_eq!(bob.git(&["show", "main:new.txt"]), "newer");
}

/// The clone fetched the events of the pull request alone.
#[tokio::test]
async fn merge_of_head_behind_recorded_one_is_refused() {
    let (_origin, alice, bob) = shared_pull().await;
    let newer = push_newer_head(&alice);
    let local = alice.open().await;
    local.comment(&pr(&local, 1), "Newer.", None).await.unwrap();
    assert!(push(&alice));
    bob.git(&[
        "fetch",
        "--quiet",
        "--no-prune",
        "--no-tags",
        "origin",
        PULLS,
    ]);
    // git also updates the remote-tracking branches of what it fetches, but not this one.
    assert_ne!(bob.oid("origin/topic"), newer);
    let local = bob.open().await;
    let refused = local.merge(&pr(&local, 1), &MergeReq::default()).await;
    assert!(refused.unwrap_err().message().contains(&newer));
    // A comment of this clone does not make its older head the recorded one.
    local.comment(&pr(&local, 1), "Bob's", None).await.unwrap();
    let file = bob.git(&["show", "refs/forge/pulls/1:pull.json"]);
    assert!(
        file.contains(&format!("\"head_oid\": \"{newer}\"")),
        "{file}"
    );
    let refused = local.merge(&pr(&local, 1), &MergeReq::default()).await;
    let refused = refused.unwrap_err();
    assert!(runs(&bob, &command_of(refused.hint().unwrap().text())));
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    assert_eq!(bob.git(&["show", "main:new.txt"]), "newer");
}

#[tokio::test]
async fn merge_of_head_rewritten_elsewhere_is_refused() {
    let (_origin, alice, bob) = shared_pull().await;
    alice.git(&["switch", "--quiet", "topic"]);
    alice.write("new.txt", "rewritten\n");
    alice.git(&["commit", "--quiet", "--all", "--amend", "-m", "rewritten"]);
    alice.git(&["push", "--quiet", "--force", "origin", "topic"]);
    bob.git(&["fetch", "--quiet", "origin"]);
    let local = bob.open().await;
    let refused = local.merge(&pr(&local, 1), &MergeReq::default()).await;
    let refused = refused.unwrap_err();
    let command = command_of(refused.hint().unwrap().text());
    assert_eq!(command, "git fetch origin +topic:topic");
    assert!(runs(&bob, &command));
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    assert_eq!(bob.git(&["show", "main:new.txt"]), "rewritten");
}

#[tokio::test]
async fn head_changed_in_this_clone_is_merged() {
    for change in ["amend", "add", "drop"] {
        let (_origin, alice, _bob) = shared_pull().await;
        let local = alice.open().await;
        alice.git(&["switch", "--quiet", "topic"]);
        alice.write("new.txt", "mine\n");
        match change {
            "amend" => alice.git(&["commit", "--quiet", "--all", "--amend", "-m", "mine"]),
            "add" => alice.commit("mine"),
            _ => {
                // The second commit is recorded, but was never pushed.
                alice.commit("a mistake");
                local.comment(&pr(&local, 1), "Done.", None).await.unwrap();
                alice.git(&["reset", "--quiet", "--hard", "HEAD~1"])
            }
        };
        let head = alice.oid("topic");
        alice.git(&["switch", "--quiet", "main"]);
        local
            .merge(&pr(&local, 1), &MergeReq::default())
            .await
            .unwrap();
        assert_eq!(alice.oid("main^2"), head, "{change}");
    }
}

/// A branch of the same name on the remote of somebody else is not the head.
#[tokio::test]
async fn branch_of_other_remote_blocks_no_merge() {
    let (origin, alice, bob) = shared_pull().await;
    let fork = origin.clone_for("carol", &["--bare"]);
    push_newer_head(&alice);
    alice.git(&["push", "--quiet", fork.path.to_str().unwrap(), "topic"]);
    alice.git(&["push", "--quiet", "--force", "origin", "topic~1:topic"]);
    bob.git(&["remote", "add", "carol", fork.path.to_str().unwrap()]);
    bob.git(&["fetch", "--quiet", "--all"]);
    let local = bob.open().await;
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
}

/// Creates an issue with five events and a pull request with three, and returns a clone that
/// fetched the newest commits alone.
async fn shallow_clone(depth: &str) -> (Repo, Repo) {
    let (origin, alice, _bob) = shared_pull().await;
    let local = alice.open().await;
    open(&local, "Claimed").await;
    for body in ["a claim", "two", "three"] {
        let id = issues::id(&local, 1);
        local.create_issue_comment(&id, body).await.unwrap();
        local.comment(&pr(&local, 1), body, None).await.unwrap();
    }
    let mut label = EditIssue::default();
    label.labels.add = vec!["bug".to_owned()];
    local
        .edit_issue(&issues::id(&local, 1), &label)
        .await
        .unwrap();
    assert!(push(&alice));
    let depth = format!("--depth={depth}");
    let bob = origin.clone_for("dave", &[&depth, "--no-single-branch"]);
    bob.git(&["branch", "--quiet", "topic", "origin/topic"]);
    let args = [
        "fetch",
        "--quiet",
        "--no-prune",
        &depth,
        "origin",
        PULLS,
        ISSUES,
    ];
    bob.git(&args);
    (origin, bob)
}

#[tokio::test]
async fn comments_of_cut_issue_are_unknown() {
    for depth in ["1", "3"] {
        let (_origin, clone) = shallow_clone(depth).await;
        let local = clone.open().await;
        let id = issues::id(&local, 1);
        let read = local.issue(&id, &IssueFields::COMMENTS).await.unwrap();
        assert!(read.comments.is_none(), "{depth}: {:?}", read.comments);
        let warning = &read.warnings[0].message;
        let events = format!("{depth} of its 5 events");
        assert!(warning.contains(&events), "{warning}");
        assert!(local.issue_history(&id, PageReq::first(9)).await.is_err());
    }
}

#[tokio::test]
async fn cut_issue_is_not_written() {
    let (_origin, clone) = shallow_clone("2").await;
    let local = clone.open().await;
    let id = issues::id(&local, 1);
    let before = clone.git(&["for-each-ref"]);
    let mut edit = EditIssue::default();
    edit.title = Some("Mine".to_owned());
    let close = SetIssueState::to(IssueState::Closed);
    for refused in [
        local.create_issue_comment(&id, "a claim").await.err(),
        local.edit_issue(&id, &edit).await.err(),
        local.set_issue_state(&id, &close).await.err(),
        local.delete_issue(&id).await.err(),
    ] {
        let refused = refused.unwrap();
        assert!(refused.message().contains("2 of its 5 events"), "{refused}");
    }
    assert_eq!(clone.git(&["for-each-ref"]), before);
    // The command of the hint brings the events.
    let refused = local.edit_issue(&id, &edit).await.unwrap_err();
    assert!(runs(&clone, &command_of(refused.hint().unwrap().text())));
    local.edit_issue(&id, &edit).await.unwrap();
    let read = local.issue(&id, &IssueFields::COMMENTS).await.unwrap();
    assert_eq!(read.comments.unwrap().len(), 3);
}

#[tokio::test]
async fn cut_pull_request_is_neither_decided_nor_shown_whole() {
    let (_origin, clone) = shallow_clone("1").await;
    let local = clone.open().await;
    let id = pr(&local, 1);
    let shown = view(&local, PrFields::COMMENTS | PrFields::THREADS).await;
    assert!(shown.comments.is_none() && shown.threads.is_none());
    assert!(
        warnings_of(&shown).contains("1 of its 4 events"),
        "{shown:?}"
    );
    assert!(local.history(&id, PageReq::first(9)).await.is_err());
    let before = clone.git(&["for-each-ref"]);
    let review = NewReview::new(Verdict::Approve, "");
    let mut edit = EditPull::default();
    edit.title = Some("Mine".to_owned());
    assert!(local.submit_review(&id, &review).await.is_err());
    assert!(local.comment(&id, "Hi.", None).await.is_err());
    assert!(local.edit(&id, &edit).await.is_err());
    assert!(local.merge(&id, &MergeReq::default()).await.is_err());
    assert_eq!(clone.git(&["for-each-ref"]), before);
}

/// Only the branches are cut, and the events are all there.
#[tokio::test]
async fn whole_events_in_shallow_clone_are_used() {
    let (origin, _shallow) = shallow_clone("1").await;
    let clone = origin.clone_for("erin", &["--depth=1"]);
    fetch(&clone);
    assert!(clone.path.join(".git/shallow").exists());
    let local = clone.open().await;
    let id = issues::id(&local, 1);
    let read = local.issue(&id, &IssueFields::COMMENTS).await.unwrap();
    assert_eq!(read.comments.unwrap().len(), 3);
    local.create_issue_comment(&id, "four").await.unwrap();
}

#[tokio::test]
async fn issue_that_counts_more_events_is_unreadable() {
    let repo = Repo::new();
    let local = repo.open().await;
    open(&local, "One").await;
    let file = repo.git(&["show", "refs/forge/issues/1:issue.json"]);
    repo.store_issue(1, &file.replace("\"events\": 1", "\"events\": 7"));
    let read = local
        .issue(&issues::id(&local, 1), &IssueFields::COMMENTS)
        .await;
    let read = read.unwrap();
    assert!(read.comments.is_none());
    let warning = &read.warnings[0].message;
    assert!(
        warning.contains("counts 7 events, and 1 are there"),
        "{warning}"
    );
}

async fn closing_pull(repo: &Repo, description: &str) -> PullRequest {
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    let mut req = CreatePull::new("topic", "T");
    req.base = Some("main".to_owned());
    req.description = description.to_owned();
    local.create(local.id(), &req).await.unwrap().value
}

async fn linked(local: &Local) -> (Vec<u64>, String) {
    let shown = view(local, PrFields::LINKED_ISSUES).await;
    let numbers = shown.linked_issues.iter().flatten().map(|i| i.number);
    (numbers.collect(), warnings_of(&shown))
}

#[tokio::test]
async fn closing_number_of_other_clone_closes_nothing() {
    let (origin, alice) = origin();
    let bob = origin.clone_for("bob", &[]);
    open(&*alice.open().await, "Alice's").await;
    open(&*bob.open().await, "Bob's").await;
    closing_pull(&alice, "Closes #1").await;
    assert_eq!(linked(&*alice.open().await).await, (vec![1], String::new()));
    assert!(push(&alice));
    fetch(&bob);
    let local = bob.open().await;
    let (numbers, warnings) = linked(&local).await;
    assert!(numbers.is_empty());
    assert!(
        warnings.contains("issue #1, which is another issue"),
        "{warnings}"
    );
    // Neither does bob's issue say that the pull request closes it.
    let issue = forge_core::model::Subject::Issue(issues::id(&local, 1));
    let links = local.links(&issue).await.unwrap();
    assert!(links.closed_by.is_empty(), "{links:?}");
}

#[tokio::test]
async fn closing_number_means_the_issue_despite_later_events() {
    let (origin, alice) = origin();
    let local = alice.open().await;
    open(&local, "Alice's").await;
    closing_pull(&alice, "Closes #1").await;
    assert!(push(&alice));
    let bob = origin.clone_for("bob", &[]);
    fetch(&bob);
    let local = bob.open().await;
    let id = issues::id(&local, 1);
    local.create_issue_comment(&id, "More.").await.unwrap();
    let mut edit = EditPull::default();
    edit.title = Some("Other title".to_owned());
    local.edit(&pr(&local, 1), &edit).await.unwrap();
    assert_eq!(linked(&local).await, (vec![1], String::new()));
    let issue = forge_core::model::Subject::Issue(id);
    let links = local.links(&issue).await.unwrap();
    assert_eq!(links.closed_by.len(), 1);
}

#[tokio::test]
async fn closing_number_without_issue_means_no_later_issue() {
    let repo = Repo::new();
    closing_pull(&repo, "Closes #1").await;
    let local = repo.open().await;
    open(&local, "Later").await;
    let (numbers, warnings) = linked(&local).await;
    assert!(numbers.is_empty());
    assert!(warnings.contains("did not exist"), "{warnings}");
    // Whoever writes the description again means the issue that exists now.
    let mut edit = EditPull::default();
    edit.description = Some("Closes #1".to_owned());
    local.edit(&pr(&local, 1), &edit).await.unwrap();
    assert_eq!(linked(&local).await, (vec![1], String::new()));
    let again = local.edit(&pr(&local, 1), &edit).await.unwrap();
    assert!(again.unchanged);
}

/// Older versions of forge wrote no issues beside the description.
#[tokio::test]
async fn closing_number_of_older_version_is_linked() {
    let repo = Repo::new();
    open(&*repo.open().await, "One").await;
    closing_pull(&repo, "Closes #1").await;
    let file = repo.git(&["show", "refs/forge/pulls/1:pull.json"]);
    let json: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(
        (&json["format"], &json["closes"][0]["number"]),
        (&2.into(), &1.into())
    );
    let mut old = json;
    old.as_object_mut().unwrap().remove("closes");
    old["format"] = 1.into();
    repo.store("pulls/1", "pull.json", &old.to_string());
    assert_eq!(linked(&*repo.open().await).await, (vec![1], String::new()));
}

#[tokio::test]
async fn pull_request_without_closing_number_keeps_its_format() {
    let repo = Repo::new();
    open(&*repo.open().await, "One").await;
    closing_pull(&repo, "See #1").await;
    let file = repo.git(&["show", "refs/forge/pulls/1:pull.json"]);
    assert!(file.contains("\"format\": 1") && !file.contains("closes"));
}

#[tokio::test]
async fn merge_undone_by_reset_can_be_reopened() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let id = pr(&local, 1);
    let merged = local.merge(&id, &MergeReq::default()).await.unwrap();
    let commit = merged.value.commit.unwrap();
    assert_eq!(
        local.reopen(&id, None).await.unwrap_err().code(),
        "precondition_failed"
    );
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let shown = view(&local, PrFields::NONE).await;
    let warning = format!("#1 was merged as {commit}, but this commit is not on 'main' any more");
    assert_eq!(
        (shown.state, warnings_of(&shown)),
        (PrState::Merged, warning)
    );
    assert_eq!(shown.warnings[0].section, Some("state"));
    // The branch of an undone merge is not deleted as that of a merged pull request.
    let mut delete = MergeReq::default();
    delete.delete_branch = true;
    let refused = local.merge(&id, &delete).await.unwrap_err();
    assert_eq!(refused.code(), "precondition_failed");
    repo.oid("topic");
    let reopened = local.reopen(&id, Some("Undone.")).await.unwrap();
    assert!(reopened.warnings[0].message.contains("counts as undone"));
    let value = reopened.value;
    assert_eq!(
        (value.state, &value.merge_commit, value.merged_at),
        (PrState::Open, &None, None)
    );
    let history = local.history(&id, PageReq::first(9)).await.unwrap().items;
    let kinds: Vec<_> = history.iter().map(|event| event.kind).collect();
    use StatusEventKind::{Merged, Opened, Reopened};
    assert_eq!(kinds, [Opened, Merged, Reopened]);
    let again = local.merge(&id, &delete).await.unwrap().value;
    assert!(!again.already_merged && again.branch_deleted);
    assert_eq!(warnings_of(&view(&local, PrFields::NONE).await), "");
}

/// A clone whose base branch is older than the merge does not undo it.
#[tokio::test]
async fn merge_that_is_not_fetched_is_not_undone() {
    let (_origin, alice, bob) = shared_pull().await;
    let local = alice.open().await;
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    assert!(push(&alice));
    bob.git(&[
        "fetch",
        "--quiet",
        "--no-prune",
        "--no-tags",
        "origin",
        PULLS,
    ]);
    let local = bob.open().await;
    let shown = view(&local, PrFields::NONE).await;
    let hint = shown.warnings[0].hint.as_ref().unwrap().text();
    assert_eq!(command_of(hint), "git fetch origin");
    let refused = local.reopen(&pr(&local, 1), None).await.unwrap_err();
    assert!(refused.hint().unwrap().text().contains("git fetch origin"));
    // The remote has the commit, and the branch here is only behind.
    bob.git(&["fetch", "--quiet", "origin"]);
    assert_eq!(warnings_of(&view(&local, PrFields::NONE).await), "");
    assert!(local.reopen(&pr(&local, 1), None).await.is_err());
}

/// The old push of the page published a merge whose base was rejected.
#[tokio::test]
async fn merge_published_without_base_can_be_reopened() {
    let (origin, _alice, bob) = shared_pull().await;
    let local = bob.open().await;
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    bob.git(&["push", "--quiet", "origin", PULLS]);
    let server = Local::open(&origin.path, forge_core::Trust::Person).await;
    let server = server.unwrap();
    assert!(warnings_of(&view(&server, PrFields::NONE).await).contains("any more"));
    server.reopen(&pr(&server, 1), None).await.unwrap();
    // In the clone that merged, the commit is on the base, and nothing is undone.
    assert!(local.reopen(&pr(&local, 1), None).await.is_err());
}

#[tokio::test]
async fn merge_undone_by_force_push_is_seen_in_other_clones() {
    let (_origin, alice, bob) = shared_pull().await;
    let local = alice.open().await;
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    assert!(push(&alice));
    fetch(&bob);
    alice.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    alice.git(&["push", "--quiet", "--force", "origin", "main"]);
    fetch(&bob);
    let local = bob.open().await;
    assert!(warnings_of(&view(&local, PrFields::NONE).await).contains("any more"));
    local.reopen(&pr(&local, 1), None).await.unwrap();
}

#[tokio::test]
async fn events_contain_no_machine_path() {
    let repo = Repo::new();
    let local = repo.open().await;
    open(&local, "One").await;
    let id = issues::id(&local, 1);
    local.create_issue_comment(&id, "Mine.").await.unwrap();
    closing_pull(&repo, "Closes #1").await;
    local.comment(&pr(&local, 1), "Hi.", None).await.unwrap();
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    let dir = repo.path.parent().unwrap().to_str().unwrap().to_owned();
    for name in ["refs/forge/issues/1", "refs/forge/pulls/1"] {
        let log = repo.git(&["log", "--first-parent", "-p", "-m", name]);
        assert!(
            log.contains("\"event\":\"opened\"") && !log.contains(&dir),
            "{log}"
        );
    }
}
