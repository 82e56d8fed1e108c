//! The lifecycle of a pull request.

use forge_core::{
    Action, ErrorKind, Hint, Labels, Op, PageReq, Param, Precondition, PullRequests, Reviews,
    Trust,
    model::{
        CloseReq, CommentId, CreatePull, DiffFormat, DiffReq, EditPull, Label, MergeMethod,
        MergeReq, MergeState, NewLabel, NewReview, NewThread, PrFields, PrState, PullQuery,
        ReviewDecision, Reviewer, SetChange, Side, StateFilter, StatusEventKind, ThreadFilter,
        ThreadId, UpdateBranch, UpdateMethod, Verdict,
    },
};
use forge_local::Local;
use futures::StreamExt;

use crate::repo::{Repo, create, git, pr};

#[tokio::test]
async fn lifecycle_from_opening_to_merge() {
    let repo = Repo::new();
    let head = repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    let opened = create(&local, "topic").await;
    assert_eq!((opened.number, opened.state), (Some(1), PrState::Open));
    assert_eq!(opened.head_oid.as_deref(), Some(head.as_str()));
    assert_eq!(opened.author.login, "alice");
    let id = pr(&local, 1);

    let page = local
        .list(local.id(), &PullQuery::default(), PageReq::first(30))
        .await
        .unwrap();
    assert_eq!(
        (page.items.len(), page.total, page.next),
        (1, Some(1), None)
    );

    let closed = local.close(&id, &CloseReq::default()).await.unwrap().value;
    assert_eq!(closed.state, PrState::Closed);
    let again = local.close(&id, &CloseReq::default()).await.unwrap();
    assert_eq!(again.warnings.len(), 1);
    let open = PullQuery::default();
    assert!(
        local
            .list(local.id(), &open, PageReq::first(30))
            .await
            .unwrap()
            .items
            .is_empty()
    );
    let reopened = local.reopen(&id, Some("once more")).await.unwrap().value;
    assert_eq!(
        (reopened.state, reopened.comments_count),
        (PrState::Open, 1)
    );

    let before = repo.oid("main");
    let merged = local.merge(&id, &MergeReq::default()).await.unwrap();
    assert_eq!(merged.value.pull_request.state, PrState::Merged);
    assert_eq!(
        merged.value.commit.as_deref(),
        Some(repo.oid("main").as_str())
    );
    assert_eq!(
        repo.git(&["log", "-1", "--format=%P", "main"]),
        format!("{before} {head}")
    );
    assert_eq!(
        repo.git(&["log", "-1", "--format=%B", "main"]).trim(),
        "Merge pull request #1 from topic\n\nTake topic"
    );

    let kinds: Vec<_> = local
        .history(&id, PageReq::first(30))
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|e| e.kind)
        .collect();
    use StatusEventKind::{Closed, Merged, Opened, Reopened};
    assert_eq!(kinds, [Opened, Closed, Reopened, Merged]);
    let again = local.merge(&id, &MergeReq::default()).await.unwrap().value;
    assert!(again.already_merged);
    assert_eq!(repo.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[tokio::test]
async fn history_matches_ref_history() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let id = pr(&local, 1);
    local.comment(&id, "first", None).await.unwrap();
    repo.git(&["switch", "--quiet", "topic"]);
    repo.write("new.txt", "newer\n");
    let moved = repo.commit("more");
    local.set_draft(&id, true).await.unwrap();
    let log = repo.git(&["log", "--first-parent", "--format=%s", "refs/forge/pulls/1"]);
    let root = "pull requests of forge, format 1";
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        ["draft: alice", "comment: alice", "open: alice", root]
    );
    // The current head commit is a parent of the event, so git keeps this commit.
    let parents = repo.git(&["log", "-1", "--format=%P", "refs/forge/pulls/1"]);
    assert!(parents.ends_with(&moved), "{parents}");
    let events = local.history(&id, PageReq::first(30)).await.unwrap().items;
    let kinds: Vec<_> = events.iter().map(|e| e.kind).collect();
    use StatusEventKind::{ConvertedToDraft, HeadChanged, Opened};
    assert_eq!(kinds, [Opened, HeadChanged, ConvertedToDraft]);
}

#[tokio::test]
async fn head_commit_survives_branch_deletion() {
    let repo = Repo::new();
    let head = repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    repo.git(&["branch", "-D", "topic"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
    let seen = local
        .view(&pr(&local, 1), PrFields::STATS | PrFields::COMMITS)
        .await
        .unwrap();
    assert_eq!(seen.head_oid.as_deref(), Some(head.as_str()));
    assert_eq!((seen.additions, seen.changed_files), (Some(1), Some(1)));
    assert_eq!(seen.commits.map(|c| c.len()), Some(1));
    assert!(seen.warnings.is_empty(), "{:?}", seen.warnings);
    let e = local
        .merge(&pr(&local, 1), &MergeReq::default())
        .await
        .unwrap_err();
    assert!(e.hint().is_some_and(|h| h.text().contains(&head)), "{e:?}");
    let found = local.mergeability(&pr(&local, 1)).await.unwrap();
    assert_eq!(
        (found.state, found.status.as_str()),
        (MergeState::Mergeable, "BLOCKED")
    );
    local
        .close(&pr(&local, 1), &CloseReq::default())
        .await
        .unwrap();
    let e = local.reopen(&pr(&local, 1), None).await.unwrap_err();
    let hint = format!("bring it back with git branch topic {head}");
    assert_eq!(e.hint().map(Hint::text), Some(hint.as_str()), "{e:?}");
}

#[tokio::test]
async fn head_of_remote_is_preferred_to_recorded_commit() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let clone = repo.shared_clone();
    let theirs = Local::open(&clone, Trust::Person).await.unwrap();
    let id = pr(&theirs, 1);
    let e = theirs.merge(&id, &MergeReq::default()).await.unwrap_err();
    let text = "the head branch 'topic' of #1 is not in this repository";
    assert_eq!(e.message(), text);
    let hint = Some("create it with git branch topic refs/remotes/origin/topic");
    assert_eq!(e.hint().map(Hint::text), hint);
    theirs.close(&id, &CloseReq::default()).await.unwrap();
    let e = theirs.reopen(&id, None).await.unwrap_err();
    assert_eq!(e.hint().map(Hint::text), hint);
    // With two remotes, the branch of neither is preferred; nor is an unrelated branch.
    git(&clone, &["update-ref", "refs/remotes/fork/topic", "HEAD"]);
    for gone in ["refs/remotes/origin/topic", "refs/remotes/fork/topic"] {
        let e = theirs.reopen(&id, None).await.unwrap_err();
        let hint = e.hint().map(Hint::text).unwrap_or_default();
        assert!(hint.starts_with("bring it back"), "{e:?}");
        git(&clone, &["update-ref", "-d", gone]);
    }
}

#[tokio::test]
async fn squash_and_rebase_make_expected_commits() {
    let repo = Repo::new();
    for branch in ["squash", "rebase"] {
        repo.branch(branch, &format!("{branch}-1"), "1\n");
        repo.git(&["switch", "--quiet", branch]);
        repo.write(&format!("{branch}-2"), "2\n");
        repo.git(&["add", "--all"]);
        let author = "Bob <bob@example.com>";
        let date = "2020-01-02T03:04:05+0200";
        repo.git(&[
            "commit", "-qm", "second", "--author", author, "--date", date,
        ]);
        repo.git(&["switch", "--quiet", "main"]);
    }
    repo.write("other", "moved on\n");
    let base = repo.commit("main moves on");
    let local = repo.open().await;
    create(&local, "squash").await;
    create(&local, "rebase").await;

    let req = |method| {
        let mut req = MergeReq::default();
        req.method = Some(method);
        req.delete_branch = true;
        req
    };
    let merged = local
        .merge(&pr(&local, 1), &req(MergeMethod::Squash))
        .await
        .unwrap();
    assert!(merged.value.branch_deleted);
    assert_eq!(
        repo.git(&["rev-list", "--count", &format!("{base}..main")]),
        "1"
    );
    assert_eq!(
        repo.git(&["log", "-1", "--format=%B", "main"]).trim(),
        "Take squash (#1)\n\n* change squash-1\n* second\n\n---------\n\n\
         Co-authored-by: Bob <bob@example.com>"
    );
    // Git finds the trailer.
    let trailers = repo.git(&["log", "-1", "--format=%(trailers:only)", "main"]);
    assert_eq!(trailers.trim(), "Co-authored-by: Bob <bob@example.com>");
    assert_eq!(repo.git(&["branch", "--list", "squash"]), "");

    local
        .merge(&pr(&local, 2), &req(MergeMethod::Rebase))
        .await
        .unwrap();
    assert_eq!(repo.git(&["rev-list", "--count", "--merges", "main"]), "0");
    let last = repo.git(&["log", "-1", "--format=%an %aI %cn %s", "main"]);
    assert_eq!(last, "Bob 2020-01-02T03:04:05+02:00 alice second");
    let files = repo.git(&["ls-tree", "--name-only", "main"]);
    assert_eq!(
        files,
        "base.txt\nother\nrebase-1\nrebase-2\nsquash-1\nsquash-2"
    );
    assert_eq!(repo.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[tokio::test]
async fn squash_author_is_opener_and_committer_is_merger() {
    let repo = Repo::new();
    let local = repo.open().await;
    for (number, branch, method, email, people) in [
        (1, "a", MergeMethod::Squash, None, "alice@example.com carol"),
        (2, "b", MergeMethod::Squash, Some("c@x"), "c@x carol"),
        (3, "c", MergeMethod::Merge, None, "carol@example.com carol"),
    ] {
        repo.user("alice");
        repo.branch(branch, branch, "1\n");
        create(&local, branch).await;
        repo.user("carol");
        let mut req = MergeReq::default();
        req.method = Some(method);
        req.author_email = email.map(str::to_owned);
        local.merge(&pr(&local, number), &req).await.unwrap();
        repo.git(&["reset", "--quiet", "--hard"]);
        let written = repo.git(&["log", "-1", "--format=%ae %cn", "main"]);
        assert_eq!(written, people, "{branch}");
    }
}

#[tokio::test]
async fn rebase_skips_merges_and_contained_changes() {
    let repo = Repo::new();
    repo.branch("topic", "a", "a\n");
    repo.git(&["cherry-pick", "--no-commit", "topic"]);
    repo.commit("the same change");
    repo.git(&["switch", "--quiet", "topic"]);
    repo.git(&["merge", "--quiet", "--no-edit", "main"]);
    repo.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "empty on purpose",
    ]);
    repo.write("b", "b\n");
    repo.commit("add b");
    repo.git(&["switch", "--quiet", "main"]);
    let base = repo.oid("main");
    let local = repo.open().await;
    create(&local, "topic").await;
    let mut req = MergeReq::default();
    req.method = Some(MergeMethod::Rebase);
    local.merge(&pr(&local, 1), &req).await.unwrap();
    let subjects = repo.git(&["log", "--reverse", "--format=%s", &format!("{base}..main")]);
    assert_eq!(subjects, "empty on purpose\nadd b");
}

#[tokio::test]
async fn rebase_with_evil_merge_is_refused() {
    let repo = Repo::new();
    repo.branch("topic", "a", "a\n");
    repo.write("other", "x\n");
    repo.commit("main moves on");
    repo.git(&["switch", "--quiet", "topic"]);
    repo.git(&["merge", "--quiet", "--no-commit", "main"]);
    repo.write("fix", "fix\n");
    let merge = repo.commit("merge main");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("other", "y\n");
    repo.commit("main moves on again");
    let local = repo.open().await;
    create(&local, "topic").await;
    let before = repo.git(&["for-each-ref"]);

    let id = pr(&local, 1);
    let mut req = MergeReq::default();
    req.method = Some(MergeMethod::Rebase);
    let merged = local.merge(&id, &req).await.unwrap_err();
    let update = UpdateBranch::by(UpdateMethod::Rebase);
    let updated = local.update_branch(&id, &update).await.unwrap_err();
    for (e, action) in [
        (merged, Action::again(&[]).with(Param::Method, "merge")),
        (updated, Action::op(Op::PrUpdateBranch).on(1)),
    ] {
        let rule = ErrorKind::Precondition(Precondition::Rule);
        assert_eq!(e.kind(), &rule, "{e:?}");
        assert!(e.message().contains(&merge), "{e}");
        assert_eq!(e.hint().and_then(Hint::action), Some(&action));
    }
    assert_eq!(repo.git(&["for-each-ref"]), before);

    req.method = Some(MergeMethod::Squash);
    local.merge(&id, &req).await.unwrap();
    assert_eq!(repo.git(&["show", "main:fix"]), "fix");
}

#[tokio::test]
async fn checked_out_attributes_do_not_hide_conflict() {
    let repo = Repo::new();
    repo.branch("topic", ".gitattributes", "* merge=union\n");
    repo.git(&["switch", "--quiet", "topic"]);
    repo.write("base.txt", "theirs\n");
    repo.commit("theirs");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("base.txt", "ours\n");
    repo.commit("ours");
    let local = repo.open().await;
    create(&local, "topic").await;
    let before = repo.git(&["for-each-ref"]);
    let id = pr(&local, 1);
    for branch in ["main", "topic"] {
        repo.git(&["switch", "--quiet", branch]);
        let seen = local.view(&id, PrFields::MERGEABILITY).await.unwrap();
        let conflicts = seen.mergeability.unwrap().conflicts;
        assert_eq!(conflicts, ["base.txt"], "{branch}");
        for method in [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase] {
            let mut req = MergeReq::default();
            req.method = Some(method);
            let e = local.merge(&id, &req).await.unwrap_err();
            assert!(e.message().contains("base.txt"), "{branch}: {e}");
        }
    }
    assert_eq!(repo.git(&["for-each-ref"]), before);
}

#[tokio::test]
async fn conflict_error_names_files_and_changes_nothing() {
    let repo = Repo::new();
    repo.branch("topic", "base.txt", "theirs\n");
    repo.write("base.txt", "ours\n");
    repo.commit("ours");
    let local = repo.open().await;
    create(&local, "topic").await;
    let before = repo.git(&["for-each-ref"]);
    let seen = local
        .view(&pr(&local, 1), PrFields::MERGEABILITY)
        .await
        .unwrap();
    let mergeability = seen.mergeability.unwrap();
    assert_eq!(mergeability.state, MergeState::Conflicting);
    assert_eq!(
        (mergeability.conflicts, mergeability.status),
        (vec!["base.txt".into()], "DIRTY".into())
    );
    for method in [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase] {
        let mut req = MergeReq::default();
        req.method = Some(method);
        let e = local.merge(&pr(&local, 1), &req).await.unwrap_err();
        assert_eq!(e.code(), "precondition_failed");
        assert!(e.message().contains("base.txt"), "{e}");
    }
    assert_eq!(repo.git(&["for-each-ref"]), before);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn leave_checkout_warning_has_working_update_command() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    repo.write("base.txt", "local change\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let mut req = MergeReq::default();
    req.leave_checkout = true;
    let outcome = local.merge(&pr(&local, 1), &req).await.unwrap();
    assert!(!repo.path.join("new.txt").exists());
    let hint = outcome.warnings[0].hint.clone().unwrap();
    let command = hint.text().split("with: ").nth(1).unwrap();
    let status = std::process::Command::new("sh")
        .args(["-c", command])
        .status()
        .unwrap();
    assert!(status.success());
    assert!(repo.path.join("new.txt").exists());
    assert_eq!(repo.git(&["status", "--porcelain"]).trim(), "M base.txt");
}

#[tokio::test]
async fn reviews_threads_and_comments_round_trip() {
    let repo = Repo::new();
    repo.branch("topic", "base.txt", "one\nTWO\nthree\n");
    let local = repo.open().await;
    let mut req = CreatePull::new("topic", "T");
    req.reviewers = vec![Reviewer::parse("bob")];
    req.labels = vec!["BUG".into()];
    let opened = local.create(local.id(), &req).await.unwrap().value;
    assert_eq!(opened.labels[0].name, "bug");
    let id = pr(&local, 1);
    let own = local
        .submit_review(&id, &NewReview::new(Verdict::Approve, ""))
        .await
        .unwrap_err();
    assert_eq!(own.code(), "precondition_failed");

    repo.user("bob");
    let thread = |line, side| {
        let mut thread = NewThread::new("base.txt", Some(line), "why?");
        thread.side = side;
        thread
    };
    let mut review = NewReview::new(Verdict::RequestChanges, "not yet");
    review.threads = vec![thread(40, Side::Right)];
    let e = local.submit_review(&id, &review).await.unwrap_err();
    assert!(e.hint().is_some_and(|h| h.text().contains("1-3")), "{e:?}");
    review.threads = vec![thread(2, Side::Right), thread(2, Side::Left)];
    let given = local.submit_review(&id, &review).await.unwrap().value;
    assert_eq!(given.comments.len(), 2);
    assert!(
        given.comments[0]
            .diff_hunk
            .as_ref()
            .unwrap()
            .ends_with("+TWO")
    );
    let seen = local.view(&id, PrFields::NONE).await.unwrap();
    assert_eq!(seen.review_decision, Some(ReviewDecision::ChangesRequested));
    assert!(seen.pending_reviewers.is_empty());

    repo.user("alice");
    let first = CommentId {
        pr: id.clone(),
        key: given.comments[0].id.clone(),
    };
    let answer = local
        .comment(&id, "because", Some(&first))
        .await
        .unwrap()
        .value;
    assert_eq!(answer.file_path.as_deref(), Some("base.txt"));
    let e = local.edit_comment(&first, "mine now").await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    let general = local.comment(&id, "general", None).await.unwrap().value;
    let general = CommentId {
        pr: id.clone(),
        key: general.id,
    };
    let edited = local
        .edit_comment(&general, "in general")
        .await
        .unwrap()
        .value;
    assert_eq!(edited.body, "in general");
    assert!(edited.updated_at.is_some() && edited.viewer_did_author);

    let threads = local
        .threads(&id, ThreadFilter::All, PageReq::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(threads.len(), 2);
    assert_eq!(threads[0].comments.len(), 2);
    assert!(!threads[0].outdated);
    let key = ThreadId {
        pr: id.clone(),
        key: threads[0].id.clone(),
    };
    let resolved = local.resolve_thread(&key, true).await.unwrap().value;
    assert_eq!(resolved.resolved_by.unwrap().login, "alice");
    let open = local
        .threads(&id, ThreadFilter::Unresolved, PageReq::first(10))
        .await
        .unwrap();
    assert_eq!(open.items.len(), 1);

    repo.git(&["switch", "--quiet", "topic"]);
    repo.write("base.txt", "one\nthree\n");
    repo.commit("answer");
    let threads = local
        .threads(&id, ThreadFilter::All, PageReq::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!([threads[0].outdated, threads[1].outdated], [true, false]);

    local.delete_comment(&general).await.unwrap();
    let seen = local
        .view(&id, PrFields::COMMENTS | PrFields::REVIEWS)
        .await
        .unwrap();
    assert_eq!((seen.comments_count, seen.comments.unwrap().len()), (0, 0));
    assert_eq!(seen.reviews.unwrap().len(), 1);
    assert_eq!(
        local.edit_comment(&general, "x").await.unwrap_err().code(),
        "not_found"
    );

    // While bob is requested again, his old verdict counts until his next review.
    let mut again = EditPull::default();
    again.reviewers = SetChange {
        add: vec![Reviewer::parse("bob")],
        remove: vec![],
    };
    let seen = local.edit(&id, &again).await.unwrap().value;
    assert_eq!(
        (seen.pending_reviewers.len(), seen.changes_requested),
        (1, 1)
    );
    repo.user("bob");
    local
        .submit_review(&id, &NewReview::new(Verdict::Approve, ""))
        .await
        .unwrap();
    let seen = local.view(&id, PrFields::NONE).await.unwrap();
    assert_eq!(seen.review_decision, Some(ReviewDecision::Approved));
    let mut query = PullQuery::default();
    query.search = Some("review:approved author:alice".into());
    assert_eq!(
        local
            .list(local.id(), &query, PageReq::first(5))
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    query.search = Some("review-requested:@me".into());
    assert!(
        local
            .list(local.id(), &query, PageReq::first(5))
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

#[tokio::test]
async fn redefined_label_does_not_return_to_pulls() {
    let repo = Repo::new();
    repo.branch("topic", "a", "a\n");
    let local = repo.open().await;
    let label = NewLabel::new("Ops");
    local.define_label(local.id(), &label).await.unwrap();
    assert_eq!(
        local
            .define_label(local.id(), &label)
            .await
            .unwrap_err()
            .code(),
        "already_exists"
    );
    create(&local, "topic").await;
    let mut edit = EditPull::default();
    edit.labels = SetChange {
        add: vec!["ops".into(), "bug".into()],
        remove: vec![],
    };
    let seen = local.edit(&pr(&local, 1), &edit).await.unwrap().value;
    assert_eq!(seen.labels.len(), 2);
    local.delete_label(local.id(), "OPS").await.unwrap();
    local.define_label(local.id(), &label).await.unwrap();
    let seen = local.view(&pr(&local, 1), PrFields::NONE).await.unwrap();
    assert_eq!(
        seen.labels
            .iter()
            .map(|l| l.name.as_str())
            .collect::<Vec<_>>(),
        ["bug"]
    );
    let mut renamed = NewLabel::new("BUG");
    renamed.overwrite = true;
    local.define_label(local.id(), &renamed).await.unwrap();
    let seen = local.view(&pr(&local, 1), PrFields::NONE).await.unwrap();
    assert_eq!(seen.labels[0].name, "BUG");
}

#[tokio::test]
async fn labels_of_another_clone_are_kept() {
    let repo = Repo::new();
    repo.branch("topic", "a", "a\n");
    let ours = repo.open().await;
    let alpha = NewLabel::new("alpha");
    ours.define_label(ours.id(), &alpha).await.unwrap();
    create(&ours, "topic").await;
    let add = |name: &str| {
        let mut edit = EditPull::default();
        edit.labels.add = vec![name.into()];
        edit
    };
    ours.edit(&pr(&ours, 1), &add("alpha")).await.unwrap();
    let clone = repo.shared_clone();
    let theirs = Local::open(&clone, Trust::Person).await.unwrap();
    let beta = NewLabel::new("beta");
    theirs.define_label(theirs.id(), &beta).await.unwrap();
    let edited = theirs.edit(&pr(&theirs, 1), &add("bug")).await.unwrap();
    let names = |labels: &[Label]| -> Vec<String> {
        labels.iter().map(|label| label.name.clone()).collect()
    };
    assert_eq!(names(&edited.value.labels), ["bug"]);
    git(&clone, &["push", "--quiet", "origin", "refs/forge/pulls/1"]);
    let seen = ours.view(&pr(&ours, 1), PrFields::NONE).await.unwrap();
    assert_eq!(names(&seen.labels), ["alpha", "bug"]);
}

#[tokio::test]
async fn pages_cover_whole_list() {
    let repo = Repo::new();
    let local = repo.open().await;
    for n in 1..=7 {
        repo.branch(&format!("b{n}"), &format!("f{n}"), "x\n");
        create(&local, &format!("b{n}")).await;
    }
    local
        .close(&pr(&local, 4), &CloseReq::default())
        .await
        .unwrap();
    for (state, expected) in [
        (StateFilter::Open, vec![7, 6, 5, 3, 2, 1]),
        (StateFilter::All, vec![7, 6, 5, 4, 3, 2, 1]),
        (StateFilter::Closed, vec![4]),
        (StateFilter::Merged, vec![]),
    ] {
        let mut query = PullQuery::default();
        query.state = state;
        let (mut seen, mut page) = (Vec::new(), PageReq::first(2));
        loop {
            let got = local.list(local.id(), &query, page).await.unwrap();
            assert!(got.items.len() <= 2);
            seen.extend(got.items.iter().filter_map(|p| p.number));
            match got.next {
                Some(next) => page = PageReq::after(next, 2),
                None => break,
            }
        }
        assert_eq!(seen, expected, "{state:?}");
    }
}

#[tokio::test]
async fn diff_ignores_user_configuration() {
    let repo = Repo::new();
    repo.branch("topic", "ümlaut.txt", "new\n");
    let local = repo.open().await;
    create(&local, "topic").await;
    let id = pr(&local, 1);
    let read = async |format| {
        let mut req = DiffReq::default();
        req.format = format;
        let mut body = local.diff(&id, &req).await.unwrap().body;
        let mut all = Vec::new();
        while let Some(chunk) = body.next().await {
            all.extend(chunk.unwrap());
        }
        String::from_utf8(all).unwrap()
    };
    let diff = read(DiffFormat::Diff).await;
    assert!(
        diff.starts_with("diff --git \"a/\\303\\274mlaut.txt\""),
        "{diff}"
    );
    let patch = read(DiffFormat::Patch).await;
    assert!(
        patch.contains("\nSubject: [PATCH] =?UTF-8?q?change="),
        "{patch}"
    );
    assert!(patch.ends_with("+new\n"), "{patch}");
    for (key, value) in [
        ("color.ui", "always"),
        ("color.diff", "always"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.context", "0"),
        ("diff.external", "false"),
        ("diff.renames", "false"),
        ("core.quotePath", "false"),
        ("core.pager", "false"),
        ("format.signature", "me"),
        ("format.numbered", "true"),
        ("format.subjectPrefix", "X"),
        ("format.thread", "deep"),
        ("format.coverLetter", "true"),
        ("format.attach", "x"),
        ("format.from", "x <x@x>"),
        ("format.to", "x@x"),
        ("format.signOff", "true"),
        ("format.headers", "X-A: b"),
        ("format.useAutoBase", "true"),
        ("format.outputDirectory", "out"),
    ] {
        repo.git(&["config", key, value]);
    }
    assert_eq!(read(DiffFormat::Diff).await, diff);
    assert_eq!(read(DiffFormat::Patch).await, patch);
}
