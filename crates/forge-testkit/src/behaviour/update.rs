//! Behaviour of updating a head branch from its base.

use forge_core::{
    Changed, ErrorKind, PrId, Precondition,
    model::{MergeReq, UpdateBranch, UpdateMethod},
};

use super::{Fixture, Set, cases, refused};
use crate::Identity;

pub(super) fn cases(set: &mut Set) {
    cases![set;
        the_base_is_merged_into_the_head [PrUpdateBranch];
        the_head_is_rebased_onto_the_base [PrUpdateBranch];
        a_rebase_keeps_the_authors [PrUpdateBranch];
        update_branch_changes_only_the_head_branch [PrUpdateBranch];
        current_branch_is_unchanged [PrUpdateBranch];
        second_update_is_unchanged [PrUpdateBranch];
        a_conflict_in_an_update_changes_nothing [PrUpdateBranch];
        update_at_expected_head_is_accepted [PrUpdateBranch];
        update_head_prefix_is_refused [PrUpdateBranch];
        update_at_a_stale_head_is_refused [PrUpdateBranch];
        update_is_refused_if_base_differs [PrUpdateBranch];
        update_of_closed_pull_is_refused [PrUpdateBranch, PrClose];
        update_of_merged_pull_is_refused [PrUpdateBranch, MergeCommit];
        update_of_missing_pull_is_not_found [PrUpdateBranch];
    ];
}

const METHODS: [UpdateMethod; 2] = [UpdateMethod::Merge, UpdateMethod::Rebase];

fn by(method: UpdateMethod) -> UpdateBranch {
    UpdateBranch::by(method)
}

/// Opens a pull request with two commits on `branch`, then adds a commit to the base.
async fn behind(fx: &Fixture, branch: &str) -> PrId {
    let file = |n: u8| format!("{branch}-{n}");
    fx.git.commit(branch, "One", &[(&file(1), Some("1\n"))]);
    fx.git.commit(branch, "Two", &[(&file(2), Some("2\n"))]);
    let pr = fx.open_from(branch).await.id;
    fx.git
        .commit("main", "Elsewhere", &[(&file(3), Some("x\n"))]);
    pr
}

async fn the_base_is_merged_into_the_head(fx: Fixture) {
    let pr = behind(&fx, "feature").await;
    let (base, head) = (fx.git.oid("main").unwrap(), fx.git.oid("feature").unwrap());
    let made = fx
        .author
        .update_branch(&pr, &by(UpdateMethod::Merge))
        .await
        .unwrap();
    assert!(!made.unchanged);
    assert_eq!(made.value.head_oid, fx.git.oid("feature"));
    assert_eq!(fx.git.log("feature^!", "%P"), format!("{head} {base}"));
    assert_eq!(
        fx.git.log("feature^!", "%s"),
        "Merge branch 'main' into feature"
    );
    for file in ["feature-1", "feature-2", "feature-3"] {
        assert!(!fx.git.show("feature", file).is_empty());
    }
    assert_eq!(fx.view(&pr).await.head_oid, fx.git.oid("feature"));
}

async fn the_head_is_rebased_onto_the_base(fx: Fixture) {
    let pr = behind(&fx, "feature").await;
    let made = fx
        .author
        .update_branch(&pr, &by(UpdateMethod::Rebase))
        .await
        .unwrap();
    assert_eq!(made.value.head_oid, fx.git.oid("feature"));
    assert_eq!(fx.git.log("main..feature", "%s"), "Two\nOne");
    assert_eq!(fx.git.log("feature~2^!", "%H"), fx.git.oid("main").unwrap());
}

async fn a_rebase_keeps_the_authors(fx: Fixture) {
    fx.git
        .commit_bytes("feature", &Identity::GRACE, "Hers", &[("f", Some(b"1\n"))]);
    let pr = fx.open_from("feature").await.id;
    fx.git.commit("main", "Elsewhere", &[("e", Some("x\n"))]);
    fx.author
        .update_branch(&pr, &by(UpdateMethod::Rebase))
        .await
        .unwrap();
    assert_eq!(fx.git.log("feature^!", "%ae"), Identity::GRACE.email);
}

async fn update_branch_changes_only_the_head_branch(fx: Fixture) {
    let pr = behind(&fx, "feature").await;
    let other = fx.feature("other");
    let main = fx.git.oid("main");
    fx.author
        .update_branch(&pr, &by(UpdateMethod::Merge))
        .await
        .unwrap();
    assert_eq!(fx.git.oid("main"), main);
    assert_eq!(fx.git.oid("other"), Some(other));
}

async fn current_branch_is_unchanged(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let before = fx.git.refs();
    for method in METHODS {
        let made = fx.author.update_branch(&pr, &by(method)).await.unwrap();
        assert!(made.unchanged && made.warnings.len() == 1, "{made:?}");
        assert_eq!(made.value.id, pr);
    }
    assert_eq!(fx.git.refs(), before);
}

async fn second_update_is_unchanged(fx: Fixture) {
    for (method, branch) in METHODS.into_iter().zip(["a", "b"]) {
        let pr = behind(&fx, branch).await;
        assert!(
            !fx.author
                .update_branch(&pr, &by(method))
                .await
                .unwrap()
                .unchanged
        );
        let head = fx.git.oid(branch);
        assert!(
            fx.author
                .update_branch(&pr, &by(method))
                .await
                .unwrap()
                .unchanged
        );
        assert_eq!(fx.git.oid(branch), head);
    }
}

async fn a_conflict_in_an_update_changes_nothing(fx: Fixture) {
    let pr = fx.open_conflict("feature").await.id;
    let before = fx.git.refs();
    for method in METHODS {
        let e = refused(
            fx.author.update_branch(&pr, &by(method)).await,
            "precondition_failed",
        );
        let ErrorKind::Precondition(Precondition::Conflicts(files)) = e.kind() else {
            panic!("no conflict: {e:?}")
        };
        if fx.facts.names_conflicts {
            assert_eq!(files, &["src/lib.rs"]);
        }
        assert!(e.hint().is_some());
    }
    assert_eq!(fx.git.refs(), before);
}

async fn update_at_expected_head_is_accepted(fx: Fixture) {
    let pr = behind(&fx, "feature").await;
    let head = fx.git.oid("feature").unwrap();
    let req = by(UpdateMethod::Merge).with_expected_head(&head);
    fx.author.update_branch(&pr, &req).await.unwrap();
    assert_ne!(fx.git.oid("feature"), Some(head));
}

async fn update_head_prefix_is_refused(fx: Fixture) {
    let pr = behind(&fx, "feature").await;
    let head = fx.git.oid("feature").unwrap();
    let before = fx.git.refs();
    for (digits, method) in [(12, UpdateMethod::Merge), (39, UpdateMethod::Rebase)] {
        let req = by(method).with_expected_head(&head[..digits]);
        let e = refused(fx.author.update_branch(&pr, &req).await, "invalid_input");
        assert!(e.hint().unwrap().text().contains(&head), "{e:?}");
    }
    assert_eq!(fx.git.refs(), before);
}

async fn update_at_a_stale_head_is_refused(fx: Fixture) {
    let pr = behind(&fx, "feature").await;
    let stale = fx.git.oid("feature").unwrap();
    let head = fx.git.commit("feature", "More", &[("more", Some("x\n"))]);
    let req = by(UpdateMethod::Merge).with_expected_head(stale);
    let e = refused(fx.author.update_branch(&pr, &req).await, "conflict");
    let ErrorKind::Conflict {
        what: Changed::Head,
        actual,
        ..
    } = e.kind()
    else {
        panic!("{e:?}")
    };
    assert_eq!(actual, &head);
    assert_eq!(fx.git.oid("feature"), Some(head));
}

async fn update_is_refused_if_base_differs(fx: Fixture) {
    let pr = behind(&fx, "feature").await;
    let before = fx.git.refs();
    let at = |base: &str, method| {
        let mut req = by(method);
        req.expected_base = Some(base.to_owned());
        req
    };
    for method in METHODS {
        let e = refused(
            fx.author.update_branch(&pr, &at("release", method)).await,
            "conflict",
        );
        let ErrorKind::Conflict {
            what: Changed::Base,
            expected,
            actual,
        } = e.kind()
        else {
            panic!("{e:?}")
        };
        assert_eq!((expected.as_str(), actual.as_str()), ("release", "main"));
    }
    assert_eq!(fx.git.refs(), before);
    let made = fx
        .author
        .update_branch(&pr, &at("main", UpdateMethod::Merge))
        .await;
    assert!(!made.unwrap().unchanged);
}

async fn update_of_closed_pull_is_refused(fx: Fixture) {
    let pr = behind(&fx, "feature").await;
    fx.author.close(&pr, &Default::default()).await.unwrap();
    let before = fx.git.refs();
    for method in METHODS {
        refused(
            fx.author.update_branch(&pr, &by(method)).await,
            "precondition_failed",
        );
    }
    assert_eq!(fx.git.refs(), before);
}

async fn update_of_merged_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.merge(&pr, &MergeReq::default()).await.unwrap();
    refused(
        fx.author.update_branch(&pr, &UpdateBranch::default()).await,
        "precondition_failed",
    );
}

async fn update_of_missing_pull_is_not_found(fx: Fixture) {
    let pr = fx.author.pull_id(31);
    refused(
        fx.author.update_branch(&pr, &UpdateBranch::default()).await,
        "not_found",
    );
}
