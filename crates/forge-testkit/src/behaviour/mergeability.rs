//! Behaviour of mergeability.

use forge_core::model::MergeState;

use super::{Fixture, Set, cases, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        clean_pull_is_mergeable [PrMergeability];
        conflict_names_the_files [PrMergeability];
        mergeability_names_base_and_head [PrMergeability];
        draft_is_reported [PrMergeability, PrDraft];
        mergeability_query_changes_no_ref [PrMergeability];
        solved_conflict_is_mergeable [PrMergeability];
        mergeability_of_closed_pull_is_refused [PrMergeability, PrClose];
        mergeability_of_missing_pull_is_not_found [PrMergeability];
    ];
}

async fn clean_pull_is_mergeable(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    let found = fx.author.mergeability(&pr).await.unwrap();
    assert_eq!(found.state, MergeState::Mergeable);
    assert!(found.conflicts.is_empty());
}

async fn conflict_names_the_files(fx: Fixture) {
    let pr = fx.open_conflict("feature").await.id;
    let found = fx.author.mergeability(&pr).await.unwrap();
    assert_eq!(found.state, MergeState::Conflicting);
    assert_eq!(found.status, "DIRTY");
    if fx.facts.names_conflicts {
        assert_eq!(found.conflicts, ["src/lib.rs"]);
    }
}

async fn mergeability_names_base_and_head(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let base = fx
        .git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    let head = fx.git.commit("feature", "More", &[("more", Some("x\n"))]);
    let found = fx.author.mergeability(&pr).await.unwrap();
    assert_eq!((found.head_oid, found.base_oid), (head, base));
}

async fn draft_is_reported(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    assert_eq!(fx.author.mergeability(&pr).await.unwrap().status, "CLEAN");
    fx.author.set_draft(&pr, true).await.unwrap();
    let found = fx.author.mergeability(&pr).await.unwrap();
    assert_eq!(
        (found.state, found.status.as_str()),
        (MergeState::Mergeable, "DRAFT")
    );
}

async fn mergeability_query_changes_no_ref(fx: Fixture) {
    let pr = fx.open_conflict("feature").await.id;
    let before = fx.git.refs();
    fx.author.mergeability(&pr).await.unwrap();
    assert_eq!(fx.git.refs(), before);
}

async fn solved_conflict_is_mergeable(fx: Fixture) {
    let pr = fx.open_conflict("feature").await.id;
    let main = fx.git.show("main", "src/lib.rs");
    fx.git.commit(
        "feature",
        "Take theirs",
        &[("src/lib.rs", Some(&main)), ("n", Some("1\n"))],
    );
    let found = fx.author.mergeability(&pr).await.unwrap();
    assert_eq!(found.state, MergeState::Mergeable);
}

async fn mergeability_of_closed_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &Default::default()).await.unwrap();
    refused(fx.author.mergeability(&pr).await, "precondition_failed");
}

async fn mergeability_of_missing_pull_is_not_found(fx: Fixture) {
    fx.open("feature").await;
    refused(
        fx.author.mergeability(&fx.author.pull_id(31)).await,
        "not_found",
    );
}
