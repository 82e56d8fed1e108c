//! Pull requests whose branches were merged into each other, so that there are several merge bases.

use forge_core::{
    ErrorKind, Outcome, PageReq, Precondition, PullRequests, Result, Reviews,
    model::{
        CloseReq, Diff, DiffFormat, DiffReq, HeadChange, Merge, MergeMethod, MergeReq, MergeState,
        NewReview, NewThread, PrFields, Side, Verdict,
    },
};
use forge_local::Local;
use futures::TryStreamExt as _;

use crate::repo::{Repo, create, pr};

/// Creates `topic` and `main` with two merge bases. The first merge base has `config` = `old`, the
/// second has `config` = `new`. `main` took the new value, and `topic` keeps the old one in its
/// merge, which no diff from the first merge base shows.
fn criss_cross() -> Repo {
    let repo = Repo::new();
    repo.write("config", "old\n");
    repo.commit("config");
    repo.git(&["switch", "--quiet", "--create", "topic"]);
    repo.write("docs", "a line\n");
    repo.commit("docs");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("config", "new\n");
    repo.commit("new value");
    repo.git(&["branch", "before"]);
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "take topic", "topic"]);
    repo.git(&["switch", "--quiet", "topic"]);
    repo.git(&["merge", "--quiet", "--no-commit", "--no-ff", "before"]);
    repo.write("config", "old\n");
    repo.commit("take main");
    repo.write("docs", "a line\nanother line\n");
    repo.commit("more docs");
    repo.git(&["switch", "--quiet", "main"]);
    let bases = repo.git(&["merge-base", "--all", "main", "topic"]);
    assert_eq!(bases.lines().count(), 2);
    repo
}

async fn text_of(diff: Diff) -> String {
    let chunks: Vec<Vec<u8>> = diff.body.try_collect().await.unwrap();
    String::from_utf8(chunks.concat()).unwrap()
}

async fn diff(local: &Local, req: &DiffReq) -> String {
    text_of(local.diff(&pr(local, 1), req).await.unwrap()).await
}

async fn changed_paths(local: &Local) -> Vec<String> {
    let files = local.files(&pr(local, 1), PageReq::first(30)).await;
    let files = files.unwrap().items.into_iter();
    files.map(|file| file.path).collect()
}

fn merge_by(method: MergeMethod) -> MergeReq {
    let mut req = MergeReq::default();
    req.method = Some(method);
    req
}

async fn rebase(local: &Local) -> Result<Outcome<Merge>> {
    let req = merge_by(MergeMethod::Rebase);
    local.merge(&pr(local, 1), &req).await
}

#[tokio::test]
async fn diff_of_criss_cross_shows_what_lands() {
    for method in [MergeMethod::Merge, MergeMethod::Squash] {
        let repo = criss_cross();
        let local = repo.open().await;
        create(&local, "topic").await;
        let id = pr(&local, 1);
        assert_eq!(changed_paths(&local).await, ["config", "docs"]);
        let shown = diff(&local, &DiffReq::default()).await;
        assert!(shown.contains("-new\n+old\n"), "{shown}");
        let fields = PrFields::STATS | PrFields::MERGEABILITY;
        let view = local.view(&id, fields).await.unwrap();
        assert_eq!(
            (view.changed_files, view.additions, view.deletions),
            (Some(2), Some(2), Some(1))
        );
        assert_eq!(view.mergeability.unwrap().state, MergeState::Mergeable);
        local.merge(&id, &merge_by(method)).await.unwrap();
        let landed = repo.git(&["diff", "--full-index", "main^", "main"]);
        assert_eq!(shown.trim_end(), landed);
        // The merged pull request shows the same.
        assert_eq!(diff(&local, &DiffReq::default()).await, shown);
        assert_eq!(changed_paths(&local).await, ["config", "docs"]);
    }
}

#[tokio::test]
async fn closed_criss_cross_shows_the_same_diff() {
    let repo = criss_cross();
    let local = repo.open().await;
    create(&local, "topic").await;
    let shown = diff(&local, &DiffReq::default()).await;
    let id = pr(&local, 1);
    local.close(&id, &CloseReq::default()).await.unwrap();
    assert_eq!(diff(&local, &DiffReq::default()).await, shown);
}

#[tokio::test]
async fn rebase_of_criss_cross_never_brings_hidden_changes() {
    let repo = criss_cross();
    let local = repo.open().await;
    create(&local, "topic").await;
    let before = repo.oid("main");
    let refused = rebase(&local).await.unwrap_err();
    assert!(refused.message().contains("cannot rebase #1"), "{refused}");
    assert_eq!(repo.oid("main"), before);
    // A merge that git makes by itself has no changes of its own. The rebase then leaves the
    // merge out, and with it nothing that the diff shows.
    repo.git(&["switch", "--quiet", "topic"]);
    repo.git(&["reset", "--quiet", "--hard", "topic~2"]);
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "take main", "before"]);
    repo.write("docs", "a line\nanother line\n");
    repo.commit("more docs");
    repo.git(&["switch", "--quiet", "main"]);
    let bases = repo.git(&["merge-base", "--all", "main", "topic"]);
    assert_eq!(bases.lines().count(), 2);
    assert_eq!(changed_paths(&local).await, ["docs"]);
    rebase(&local).await.unwrap();
    assert_eq!(repo.git(&["diff", "--name-only", "main^", "main"]), "docs");
}

/// The base has the same change as a commit that the head takes back. A merge keeps the change, and
/// a rebase would take it back on the base.
#[tokio::test]
async fn rebase_with_other_result_than_shown_is_refused() {
    let repo = criss_cross();
    repo.git(&["switch", "--quiet", "topic"]);
    repo.git(&["reset", "--quiet", "--hard", "topic~2"]);
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "take main", "before"]);
    repo.write("extra", "a guard\n");
    repo.commit("add the guard");
    repo.git(&["rm", "--quiet", "extra"]);
    repo.write("docs", "a line\nanother line\n");
    repo.commit("more docs");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("extra", "a guard\n");
    repo.commit("add the same guard");
    let local = repo.open().await;
    create(&local, "topic").await;
    assert_eq!(changed_paths(&local).await, ["docs"]);
    let before = repo.oid("main");
    let refused = rebase(&local).await.unwrap_err();
    let message = refused.message();
    assert!(
        message.contains("brings other changes than the diff shows"),
        "{refused}"
    );
    assert_eq!(repo.oid("main"), before);
    local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap();
    assert_eq!(repo.git(&["show", "main:extra"]), "a guard");
}

/// As above, with one merge base: the diff leaves the guard out, and a rebase would delete it.
#[tokio::test]
async fn rebase_that_takes_back_change_of_base_is_refused() {
    let repo = Repo::new();
    repo.git(&["switch", "--quiet", "--create", "topic"]);
    repo.write("extra", "a guard\n");
    repo.commit("add the guard");
    repo.git(&["rm", "--quiet", "extra"]);
    repo.write("docs", "a line\n");
    repo.commit("docs");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("extra", "a guard\n");
    repo.commit("add the same guard");
    let local = repo.open().await;
    create(&local, "topic").await;
    assert_eq!(changed_paths(&local).await, ["docs"]);
    let before = repo.oid("main");
    let refused = rebase(&local).await.unwrap_err();
    let message = refused.message();
    assert!(
        message.contains("brings other changes than the diff shows"),
        "{refused}"
    );
    assert_eq!(repo.oid("main"), before);
}

#[tokio::test]
async fn diff_of_conflicting_criss_cross_warns() {
    let repo = criss_cross();
    repo.write("docs", "other docs\n");
    repo.commit("other docs");
    let local = repo.open().await;
    create(&local, "topic").await;
    let id = pr(&local, 1);
    let shown = local.diff(&id, &DiffReq::default()).await.unwrap();
    let warning = shown.warnings.first().unwrap();
    assert!(warning.message.contains("can lack changes"), "{warning:?}");
    let refused = local.merge(&id, &MergeReq::default()).await.unwrap_err();
    let conflicts = Precondition::Conflicts(vec!["docs".to_owned()]);
    assert_eq!(refused.kind(), &ErrorKind::Precondition(conflicts));
}

#[tokio::test]
async fn patches_of_criss_cross_warn() {
    let repo = criss_cross();
    let local = repo.open().await;
    create(&local, "topic").await;
    let mut req = DiffReq::default();
    req.format = DiffFormat::Patch;
    let shown = local.diff(&pr(&local, 1), &req).await.unwrap();
    assert_eq!(shown.head_oid, repo.oid("topic"));
    let warning = shown.warnings.first().unwrap();
    assert!(
        warning.message.contains("commits do not show"),
        "{warning:?}"
    );
}

/// The old head has one merge base, and its diff to the new head has no line of `config`.
#[tokio::test]
async fn diff_since_shows_what_criss_cross_brings() {
    let repo = criss_cross();
    let old = repo.oid("topic~2");
    let local = repo.open().await;
    create(&local, "topic").await;
    let mut req = DiffReq::default();
    req.since = Some(old);
    let shown = local.diff(&pr(&local, 1), &req).await.unwrap();
    let since = shown.since.clone().unwrap();
    assert_eq!(since.head_change, HeadChange::Continued);
    let text = text_of(shown).await;
    assert!(text.contains("-new\n+old\n"), "{text}");
    assert!(text.contains("+another line\n"), "{text}");
    req.since = Some(repo.oid("topic"));
    assert_eq!(diff(&local, &req).await, "");
}

#[tokio::test]
async fn diff_since_of_conflicting_criss_cross_shows_both_diffs() {
    let repo = criss_cross();
    let old = repo.oid("topic~2");
    repo.write("docs", "other docs\n");
    repo.commit("other docs");
    let local = repo.open().await;
    create(&local, "topic").await;
    let mut req = DiffReq::default();
    req.since = Some(old);
    let shown = local.diff(&pr(&local, 1), &req).await.unwrap();
    let head = repo.oid("topic");
    let warning = shown.warnings.first().unwrap().message.clone();
    let conflicting = format!("the head {} conflicts", &head[..12]);
    assert!(warning.contains(&conflicting), "{warning}");
}

#[tokio::test]
async fn thread_on_criss_cross_is_not_outdated() {
    let repo = criss_cross();
    let local = repo.open().await;
    create(&local, "topic").await;
    let id = pr(&local, 1);
    for (path, side, line) in [("docs", Side::Right, 2), ("config", Side::Left, 1)] {
        let mut thread = NewThread::new(path, Some(line), "Why?");
        thread.side = side;
        let mut review = NewReview::new(Verdict::Comment, "");
        review.threads = vec![thread];
        local.submit_review(&id, &review).await.unwrap();
    }
    let view = local.view(&id, PrFields::THREADS).await.unwrap();
    let threads = view.threads.unwrap();
    assert_eq!(threads.len(), 2);
    assert!(threads.iter().all(|thread| !thread.outdated));
}
