//! Mergeability of pull requests.

use forge_core::model::MergeState;

use super::{Fixture, Set, cases, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        a_clean_one [PrMergeability];
        a_conflict_names_its_files [PrMergeability];
        both_ends_are_named [PrMergeability];
        a_draft_says_so [PrMergeability, PrDraft];
        asking_changes_nothing [PrMergeability];
        a_conflict_that_was_solved [PrMergeability];
        mergeability_of_a_closed_one [PrMergeability, PrClose];
        mergeability_of_one_that_does_not_exist [PrMergeability];
    ];
}

async fn a_clean_one(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    let found = fx.author.mergeability(&pr).await.unwrap();
    assert_eq!(found.state, MergeState::Mergeable);
    assert!(found.conflicts.is_empty());
}

async fn a_conflict_names_its_files(fx: Fixture) {
    let pr = fx.open_conflict("feature").await.id;
    let found = fx.author.mergeability(&pr).await.unwrap();
    assert_eq!(found.state, MergeState::Conflicting);
    assert_eq!(found.status, "DIRTY");
    if fx.facts.names_conflicts {
        assert_eq!(found.conflicts, ["src/lib.rs"]);
    }
}

async fn both_ends_are_named(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let base = fx
        .git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    let head = fx.git.commit("feature", "More", &[("more", Some("x\n"))]);
    let found = fx.author.mergeability(&pr).await.unwrap();
    assert_eq!((found.head_oid, found.base_oid), (head, base));
}

async fn a_draft_says_so(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    assert_eq!(fx.author.mergeability(&pr).await.unwrap().status, "CLEAN");
    fx.author.set_draft(&pr, true).await.unwrap();
    let found = fx.author.mergeability(&pr).await.unwrap();
    assert_eq!(
        (found.state, found.status.as_str()),
        (MergeState::Mergeable, "DRAFT")
    );
}

async fn asking_changes_nothing(fx: Fixture) {
    let pr = fx.open_conflict("feature").await.id;
    let before = fx.git.refs();
    fx.author.mergeability(&pr).await.unwrap();
    assert_eq!(fx.git.refs(), before);
}

async fn a_conflict_that_was_solved(fx: Fixture) {
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

async fn mergeability_of_a_closed_one(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &Default::default()).await.unwrap();
    refused(fx.author.mergeability(&pr).await, "precondition_failed");
}

async fn mergeability_of_one_that_does_not_exist(fx: Fixture) {
    fx.open("feature").await;
    refused(fx.author.mergeability(&fx.author.pr(31)).await, "not_found");
}
