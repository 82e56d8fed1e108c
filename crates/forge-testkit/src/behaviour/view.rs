//! Behaviour of views of a pull request and its sections.

use forge_core::{
    PrId, RepoId,
    model::{EditPull, NewReview, PrFields, Verdict},
};

use super::{Fixture, Set, cases, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        unrequested_sections_are_absent;
        stats_section_is_filled_on_request;
        mergeability_section_is_filled_on_request [PrMergeability];
        conversation_sections_are_filled_on_request [Comments, ReviewVerdict];
        code_sections_are_filled_on_request [PrFiles, PrCommits];
        all_sections_are_filled_together [Comments, PrFiles, PrCommits];
        view_of_missing_pull_is_not_found;
        number_zero_and_the_largest_are_not_found;
        the_version_changes_with_every_change [PrEdit];
        head_follows_the_branch;
        updated_at_is_not_before_created_at [Comments];
        a_deleted_head_branch_is_remembered;
        both_accounts_see_the_same_pull;
    ];
}

async fn unrequested_sections_are_absent(fx: Fixture) {
    let pr = fx.open("feature").await;
    let read = fx.view(&pr.id).await;
    assert!(read.comments.is_none() && read.reviews.is_none() && read.threads.is_none());
    assert!(read.commits.is_none() && read.files.is_none() && read.checks.is_none());
    assert!(read.mergeability.is_none() && read.additions.is_none());
}

async fn stats_section_is_filled_on_request(fx: Fixture) {
    let text = fx
        .git
        .show("main", "src/lib.rs")
        .replace("line 5\n", "")
        .replace("line 7", "seven");
    fx.git.commit(
        "feature",
        "Change",
        &[("src/lib.rs", Some(&text)), ("new", Some("1\n2\n"))],
    );
    let pr = fx.open_from("feature").await;
    let read = fx.author.pull(&pr.id, PrFields::STATS).await.unwrap();
    assert_eq!(
        (read.additions, read.deletions, read.changed_files),
        (Some(3), Some(2), Some(2))
    );
}

async fn mergeability_section_is_filled_on_request(fx: Fixture) {
    let pr = fx.open("feature").await;
    // `mergeability` waits until the forge has computed the value.
    let known = fx.author.mergeability(&pr.id).await.unwrap();
    let read = fx
        .author
        .pull(&pr.id, PrFields::MERGEABILITY)
        .await
        .unwrap();
    assert_eq!(read.mergeability.unwrap(), known);
}

async fn conversation_sections_are_filled_on_request(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.comment(&pr, "First.", None).await.unwrap();
    fx.reviewer
        .submit_review(&pr, &NewReview::new(Verdict::Approve, "Good."))
        .await
        .unwrap();
    let fields = PrFields::COMMENTS | PrFields::REVIEWS | PrFields::THREADS;
    let read = fx.author.pull(&pr, fields).await.unwrap();
    assert_eq!(read.comments.unwrap().len(), 1);
    assert_eq!(read.reviews.unwrap().len(), 1);
    assert_eq!(read.threads.unwrap().len(), 0);
    assert_eq!(read.comments_count, 1);
    assert!(read.files.is_none());
}

async fn code_sections_are_filled_on_request(fx: Fixture) {
    fx.feature("feature");
    fx.git
        .commit("feature", "Second", &[("second", Some("2\n"))]);
    let pr = fx.open_from("feature").await.id;
    let read = fx
        .author
        .pull(&pr, PrFields::FILES | PrFields::COMMITS)
        .await
        .unwrap();
    let files: Vec<_> = read.files.unwrap().into_iter().map(|f| f.path).collect();
    assert_eq!(files, ["feature.txt", "second"]);
    assert_eq!(read.commits.unwrap().len(), 2);
    assert!(read.comments.is_none());
}

async fn all_sections_are_filled_together(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let fields = PrFields::STATS
        | PrFields::MERGEABILITY
        | PrFields::COMMENTS
        | PrFields::REVIEWS
        | PrFields::THREADS
        | PrFields::COMMITS
        | PrFields::FILES
        | PrFields::CHECKS;
    let read = fx.author.pull(&pr, fields).await.unwrap();
    assert!(read.comments.is_some() && read.reviews.is_some() && read.threads.is_some());
    assert!(read.commits.is_some() && read.files.is_some() && read.additions.is_some());
}

async fn view_of_missing_pull_is_not_found(fx: Fixture) {
    let there = fx.open("feature").await.id;
    let repo: RepoId = there.repo;
    let gone = PrId::number(repo, 4711);
    let e = refused(fx.author.pull(&gone, PrFields::NONE).await, "not_found");
    assert!(e.message().contains("4711"), "{e}");
}

async fn number_zero_and_the_largest_are_not_found(fx: Fixture) {
    let repo = fx.open("feature").await.id.repo;
    for number in [0, u64::MAX] {
        let id = PrId::number(repo.clone(), number);
        refused(fx.author.pull(&id, PrFields::NONE).await, "not_found");
    }
}

async fn the_version_changes_with_every_change(fx: Fixture) {
    let pr = fx.open("feature").await;
    let mut seen = vec![pr.version.clone()];
    for n in 0..3 {
        let mut edit = EditPull::default();
        edit.title = Some(format!("Title {n}"));
        let now = fx
            .author
            .edit_pull(&pr.id, &edit)
            .await
            .unwrap()
            .value
            .version;
        assert!(!seen.contains(&now));
        assert_eq!(fx.view(&pr.id).await.version, now);
        seen.push(now);
    }
}

async fn head_follows_the_branch(fx: Fixture) {
    let pr = fx.open("feature").await;
    let moved = fx.git.commit("feature", "More", &[("more", Some("x\n"))]);
    assert_eq!(fx.view(&pr.id).await.head_oid, Some(moved));
}

async fn updated_at_is_not_before_created_at(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.reviewer.comment(&pr, "Hello.", None).await.unwrap();
    let read = fx.view(&pr).await;
    assert!(read.updated_at >= read.created_at);
}

async fn a_deleted_head_branch_is_remembered(fx: Fixture) {
    let head = fx.feature("feature");
    let pr = fx.open_from("feature").await;
    fx.git.delete_branch("feature");
    let read = fx.author.pull(&pr.id, PrFields::NONE).await.unwrap();
    assert_eq!(read.head_branch, "feature");
    assert!(read.head_oid.is_none() || read.head_oid == Some(head));
}

async fn both_accounts_see_the_same_pull(fx: Fixture) {
    let pr = fx.open("feature").await;
    let theirs = fx.reviewer.pull(&pr.id, PrFields::NONE).await.unwrap();
    assert_eq!(theirs.title, pr.title);
    assert_eq!(theirs.author, pr.author);
    assert_eq!(theirs.version, pr.version);
}
