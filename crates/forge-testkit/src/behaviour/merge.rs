//! Behaviour of merging.

use forge_core::{
    Changed, ErrorKind, PrId, Precondition, Warning,
    model::{MergeMethod, MergeReq, PrState},
};

use super::{Fixture, Set, cases, refused};
use crate::Identity;

pub(super) fn cases(set: &mut Set) {
    cases![set;
        a_merge_commit_has_both_parents [MergeCommit];
        branch_only_ahead_gets_merge_commit [MergeCommit];
        merge_uses_the_given_message [MergeCommit];
        lines_of_subject_begin_the_body [MergeCommit];
        default_message_names_the_pull_request [MergeCommit];
        merge_uses_the_given_author_email [MergeCommit];
        squash_is_one_commit [MergeSquash];
        squash_uses_the_given_message [MergeSquash];
        rebase_keeps_every_commit [MergeRebase];
        rebase_keeps_the_authors [MergeRebase];
        rebase_of_branch_only_ahead_fast_forwards [MergeRebase];
        merge_result_has_state_and_actor [MergeCommit];
        merge_without_method_uses_a_default [MergeCommit];
        conflict_in_a_merge_changes_nothing [MergeCommit];
        a_conflict_in_a_squash_changes_nothing [MergeSquash];
        a_conflict_in_a_rebase_changes_nothing [MergeRebase];
        every_conflicting_file_is_named [MergeCommit];
        merge_at_expected_head_is_accepted [MergeCommit, MergeExpectedHead];
        merge_head_prefix_is_refused [MergeCommit, MergeExpectedHead];
        stale_expected_head_is_refused [MergeCommit, MergeExpectedHead];
        draft_is_not_merged [MergeCommit, PrDraft];
        merge_of_closed_pull_is_refused [MergeCommit, PrClose];
        merge_of_merged_pull_is_unchanged [MergeCommit];
        merge_of_merged_pull_accepts_merged_head [MergeCommit, MergeExpectedHead];
        merged_pull_at_other_head_is_refused [MergeRebase, MergeExpectedHead, PrDeleteBranch];
        merge_is_refused_if_base_differs [MergeRebase];
        merge_deletes_the_branch_on_request [MergeCommit, PrDeleteBranch];
        repeated_merge_deletes_remaining_branch [MergeRebase, PrDeleteBranch];
        merge_without_commits_changes_nothing [MergeCommit];
        merge_of_deleted_head_is_refused [MergeCommit];
        merge_keeps_new_commits_of_the_base [MergeCommit];
        merge_into_other_base_leaves_main_unchanged [MergeCommit];
        merge_of_missing_pull_is_not_found [MergeCommit];
        unusual_files_are_merged [MergeCommit, MergeSquash];
    ];
}

fn by(method: MergeMethod) -> MergeReq {
    let mut req = MergeReq::default();
    req.method = Some(method);
    req
}

fn conflicts(error: &forge_core::Error) -> Vec<String> {
    let ErrorKind::Precondition(Precondition::Conflicts(files)) = error.kind() else {
        panic!("no conflict: {error:?}")
    };
    files.clone()
}

/// Opens a pull request with two commits, and adds a commit to its base branch.
async fn diverged(fx: &Fixture) -> PrId {
    fx.git.commit("feature", "One", &[("one", Some("1\n"))]);
    fx.git.commit("feature", "Two", &[("two", Some("2\n"))]);
    let pr = fx.open_from("feature").await.id;
    fx.git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    pr
}

async fn a_merge_commit_has_both_parents(fx: Fixture) {
    let pr = diverged(&fx).await;
    let (base, head) = (fx.git.oid("main").unwrap(), fx.git.oid("feature").unwrap());
    let merge = fx
        .author
        .merge(&pr, &by(MergeMethod::Merge))
        .await
        .unwrap()
        .value;
    assert_eq!(merge.commit, fx.git.oid("main"));
    assert_eq!(fx.git.log("main^!", "%P"), format!("{base} {head}"));
    assert_eq!(fx.git.show("main", "one"), "1\n");
    assert_eq!(fx.git.show("main", "elsewhere"), "x\n");
}

async fn branch_only_ahead_gets_merge_commit(fx: Fixture) {
    let base = fx.git.oid("main").unwrap();
    let head = fx.feature("feature");
    let pr = fx.open_from("feature").await.id;
    fx.author.merge(&pr, &by(MergeMethod::Merge)).await.unwrap();
    assert_eq!(fx.git.log("main^!", "%P"), format!("{base} {head}"));
}

/// Merges a pull request with a subject and a body, and returns the message of the merge.
async fn message_of_merge(fx: &Fixture, subject: &str) -> (String, Vec<Warning>) {
    let pr = diverged(fx).await;
    let mut req = by(MergeMethod::Merge);
    req.subject = Some(subject.into());
    req.body = Some("A body\nof two lines".into());
    let done = fx.author.merge(&pr, &req).await.unwrap();
    (fx.git.log("main^!", "%B"), done.warnings)
}

async fn merge_uses_the_given_message(fx: Fixture) {
    let (message, _) = message_of_merge(&fx, "A subject").await;
    assert_eq!(message, "A subject\n\nA body\nof two lines");
}

async fn lines_of_subject_begin_the_body(fx: Fixture) {
    let (message, warnings) = message_of_merge(&fx, " Two\nlines").await;
    assert_eq!(message, "Two\n\nlines\n\nA body\nof two lines");
    let is_split = |w: &Warning| w.message.contains("the subject has several lines");
    assert!(warnings.iter().any(is_split), "{warnings:?}");
}

async fn default_message_names_the_pull_request(fx: Fixture) {
    let pr = fx.open("feature").await;
    fx.author
        .merge(&pr.id, &by(MergeMethod::Merge))
        .await
        .unwrap();
    let message = fx.git.log("main^!", "%B");
    assert!(
        message.contains(&pr.number.unwrap().to_string()),
        "{message}"
    );
    assert!(message.contains(&pr.title), "{message}");
}

async fn merge_uses_the_given_author_email(fx: Fixture) {
    let pr = diverged(&fx).await;
    let mut req = by(MergeMethod::Merge);
    req.author_email = Some("robot@example.com".into());
    fx.author.merge(&pr, &req).await.unwrap();
    assert_eq!(fx.git.log("main^!", "%ae"), "robot@example.com");
}

async fn squash_is_one_commit(fx: Fixture) {
    let pr = diverged(&fx).await;
    let base = fx.git.oid("main").unwrap();
    let merge = fx
        .author
        .merge(&pr, &by(MergeMethod::Squash))
        .await
        .unwrap()
        .value;
    assert_eq!(merge.commit, fx.git.oid("main"));
    assert_eq!(fx.git.log("main^!", "%P"), base);
    assert_eq!(
        fx.git.show("main", "one") + &fx.git.show("main", "two"),
        "1\n2\n"
    );
    assert_eq!(fx.git.log("main^!", "%ae"), fx.facts.author_email);
}

async fn squash_uses_the_given_message(fx: Fixture) {
    let pr = diverged(&fx).await;
    let mut req = by(MergeMethod::Squash);
    req.subject = Some("All of it (#1)".into());
    fx.author.merge(&pr, &req).await.unwrap();
    assert_eq!(fx.git.log("main^!", "%s"), "All of it (#1)");
}

async fn rebase_keeps_every_commit(fx: Fixture) {
    let pr = diverged(&fx).await;
    let base = fx.git.oid("main").unwrap();
    let merge = fx
        .author
        .merge(&pr, &by(MergeMethod::Rebase))
        .await
        .unwrap()
        .value;
    assert_eq!(merge.commit, fx.git.oid("main"));
    assert_eq!(fx.git.log(&format!("{base}..main"), "%s"), "Two\nOne");
    assert_eq!(fx.git.oid("main~2"), Some(base));
    assert_eq!(fx.git.log("main~2..main", "%P").lines().count(), 2);
}

async fn rebase_keeps_the_authors(fx: Fixture) {
    let file: [(&str, Option<&[u8]>); 1] = [("g", Some(b"1\n"))];
    fx.git
        .commit_bytes("feature", &Identity::GRACE, "By Grace\n\nBody.", &file);
    let written = fx.git.log("feature^!", "%an %ae %ad");
    let pr = fx.open_from("feature").await.id;
    fx.git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    fx.author
        .merge(&pr, &by(MergeMethod::Rebase))
        .await
        .unwrap();
    assert_eq!(fx.git.log("main^!", "%an %ae %ad"), written);
    assert_eq!(fx.git.log("main^!", "%B"), "By Grace\n\nBody.");
}

async fn rebase_of_branch_only_ahead_fast_forwards(fx: Fixture) {
    fx.feature("feature");
    let pr = fx.open_from("feature").await.id;
    let base = fx.git.oid("main").unwrap();
    fx.author
        .merge(&pr, &by(MergeMethod::Rebase))
        .await
        .unwrap();
    assert_eq!(fx.git.log("main^!", "%P"), base);
    assert_eq!(fx.git.show("main", "feature.txt"), "one\ntwo\nthree\n");
}

async fn merge_result_has_state_and_actor(fx: Fixture) {
    let pr = diverged(&fx).await;
    let merge = fx
        .reviewer
        .merge(&pr, &by(MergeMethod::Merge))
        .await
        .unwrap()
        .value;
    assert!(!merge.already_merged && !merge.queued && !merge.branch_deleted);
    assert_eq!(merge.method, Some(MergeMethod::Merge));
    let read = fx.view(&pr).await;
    for pr in [&merge.pull_request, &read] {
        assert_eq!(pr.state, PrState::Merged);
        assert!(pr.merged_at.is_some() && pr.closed_at.is_some());
        assert_eq!(pr.merge_commit, fx.git.oid("main"));
        let by = pr.merged_by.as_ref().map(|a| a.login.as_str());
        assert_eq!(by, Some(fx.reviewer_login().await.as_str()));
    }
    assert!(fx.git.oid("feature").is_some());
}

async fn merge_without_method_uses_a_default(fx: Fixture) {
    let pr = diverged(&fx).await;
    let merge = fx
        .author
        .merge(&pr, &MergeReq::default())
        .await
        .unwrap()
        .value;
    assert!(merge.method.is_some());
    assert_eq!(fx.view(&pr).await.state, PrState::Merged);
}

async fn conflict(fx: Fixture, method: MergeMethod) {
    let pr = fx.open_conflict("feature").await.id;
    let (before, version) = (fx.git.refs(), fx.view(&pr).await.version);
    let e = refused(
        fx.author.merge(&pr, &by(method)).await,
        "precondition_failed",
    );
    let named: &[&str] = match fx.facts.names_conflicts {
        true => &["src/lib.rs"],
        false => &[],
    };
    assert_eq!(conflicts(&e), named);
    assert!(named.iter().all(|file| e.message().contains(file)), "{e}");
    assert_eq!(fx.git.refs(), before);
    let read = fx.view(&pr).await;
    assert_eq!((read.state, read.version), (PrState::Open, version));
}

async fn conflict_in_a_merge_changes_nothing(fx: Fixture) {
    conflict(fx, MergeMethod::Merge).await;
}

async fn a_conflict_in_a_squash_changes_nothing(fx: Fixture) {
    conflict(fx, MergeMethod::Squash).await;
}

async fn a_conflict_in_a_rebase_changes_nothing(fx: Fixture) {
    conflict(fx, MergeMethod::Rebase).await;
}

async fn every_conflicting_file_is_named(fx: Fixture) {
    let names = ["a b", "ünï", "z\"q"];
    let files = |text: &'static str| names.map(|n| (n, Some(text)));
    fx.git.commit("main", "Base", &files("base\n"));
    fx.git.commit("feature", "Ours", &files("ours\n"));
    let pr = fx.open_from("feature").await.id;
    fx.git.commit("main", "Theirs", &files("theirs\n"));
    let refusal = fx.author.merge(&pr, &by(MergeMethod::Merge)).await;
    let mut found = conflicts(&refused(refusal, "precondition_failed"));
    found.sort();
    let mut wanted = match fx.facts.names_conflicts {
        true => names.to_vec(),
        false => Vec::new(),
    };
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

async fn merge_at_expected_head_is_accepted(fx: Fixture) {
    let pr = diverged(&fx).await;
    let mut req = by(MergeMethod::Merge);
    req.expected_head = fx.git.oid("feature");
    fx.author.merge(&pr, &req).await.unwrap();
    assert_eq!(fx.view(&pr).await.state, PrState::Merged);
}

async fn merge_head_prefix_is_refused(fx: Fixture) {
    let pr = diverged(&fx).await;
    let head = fx.git.oid("feature").unwrap();
    let before = fx.git.refs();
    for digits in [7, 12, head.len() - 1] {
        let mut req = by(MergeMethod::Merge);
        req.expected_head = Some(head[..digits].to_owned());
        let e = refused(fx.author.merge(&pr, &req).await, "invalid_input");
        assert!(e.hint().unwrap().text().contains(&head), "{e:?}");
    }
    assert_eq!(fx.git.refs(), before);
}

async fn stale_expected_head_is_refused(fx: Fixture) {
    let pr = diverged(&fx).await;
    let stale = fx.git.oid("feature");
    let moved = fx.git.commit("feature", "More", &[("more", Some("x\n"))]);
    // After a view, the forge has processed the push, so that its refs can be compared.
    fx.view(&pr).await;
    let before = fx.git.refs();
    let mut req = by(MergeMethod::Merge);
    req.expected_head = stale.clone();
    let e = refused(fx.author.merge(&pr, &req).await, "conflict");
    let ErrorKind::Conflict {
        what: Changed::Head,
        expected,
        actual,
    } = e.kind()
    else {
        panic!("{e:?}")
    };
    assert_eq!((Some(expected), actual), (stale.as_ref(), &moved));
    assert_eq!(fx.git.refs(), before);
}

async fn draft_is_not_merged(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.set_draft(&pr, true).await.unwrap();
    let before = fx.git.refs();
    let e = refused(
        fx.author.merge(&pr, &by(MergeMethod::Merge)).await,
        "precondition_failed",
    );
    assert!(
        matches!(e.kind(), ErrorKind::Precondition(Precondition::Draft)),
        "{e:?}"
    );
    assert!(e.hint().is_some());
    assert_eq!(fx.git.refs(), before);
}

async fn merge_of_closed_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &Default::default()).await.unwrap();
    let e = refused(
        fx.author.merge(&pr, &by(MergeMethod::Merge)).await,
        "precondition_failed",
    );
    assert!(
        matches!(e.kind(), ErrorKind::Precondition(Precondition::Closed)),
        "{e:?}"
    );
}

async fn merge_of_merged_pull_is_unchanged(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let first = fx
        .author
        .merge(&pr, &by(MergeMethod::Merge))
        .await
        .unwrap()
        .value;
    let before = fx.git.refs();
    let second = fx
        .author
        .merge(&pr, &by(MergeMethod::Squash))
        .await
        .unwrap()
        .value;
    assert!(second.already_merged && !first.already_merged);
    assert_eq!(second.commit, first.commit);
    assert_eq!(fx.git.refs(), before);
}

async fn merge_of_merged_pull_accepts_merged_head(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let head = fx.git.oid("feature");
    fx.author.merge(&pr, &by(MergeMethod::Merge)).await.unwrap();
    let mut req = by(MergeMethod::Merge);
    req.expected_head = head;
    let again = fx.author.merge(&pr, &req).await.unwrap().value;
    assert!(again.already_merged);
}

async fn merged_pull_at_other_head_is_refused(fx: Fixture) {
    let opened = fx.open("feature").await;
    let head = opened.head_id().unwrap().to_owned();
    let pr = opened.id;
    let merged = fx.author.merge(&pr, &by(MergeMethod::Rebase)).await;
    merged.unwrap();
    let before = fx.git.refs();
    let other = format!("{:0>40}", 1);
    for (expected, code) in [
        ("", "invalid_input"),
        (&head[..7], "invalid_input"),
        (&other, "conflict"),
    ] {
        for (delete_branch, only_left_over) in [(false, false), (true, false), (true, true)] {
            let mut req = by(MergeMethod::Rebase);
            req.expected_head = Some(expected.to_owned());
            req.delete_branch = delete_branch;
            req.only_left_over = only_left_over;
            refused(fx.author.merge(&pr, &req).await, code);
        }
    }
    assert_eq!(fx.git.refs(), before);
    let mut meant = MergeReq::default();
    meant.expected_head = Some(head);
    meant.delete_branch = true;
    meant.only_left_over = true;
    let gone = fx.author.merge(&pr, &meant).await.unwrap().value;
    assert!(gone.already_merged && gone.branch_deleted, "{gone:?}");
}

async fn merge_is_refused_if_base_differs(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let into = |base: &str| {
        let mut req = by(MergeMethod::Rebase);
        req.expected_base = Some(base.to_owned());
        req
    };
    let before = fx.git.refs();
    let e = refused(fx.author.merge(&pr, &into("release")).await, "conflict");
    let ErrorKind::Conflict {
        what: Changed::Base,
        expected,
        actual,
    } = e.kind()
    else {
        panic!("{e:?}")
    };
    assert_eq!((expected.as_str(), actual.as_str()), ("release", "main"));
    assert_eq!(fx.git.refs(), before);
    let merged = fx.author.merge(&pr, &into("main")).await.unwrap().value;
    assert!(!merged.already_merged);
    refused(fx.author.merge(&pr, &into("release")).await, "conflict");
    let again = fx.author.merge(&pr, &into("main")).await.unwrap().value;
    assert!(again.already_merged);
}

async fn merge_deletes_the_branch_on_request(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let head = fx.git.oid("feature");
    let mut req = by(MergeMethod::Merge);
    req.delete_branch = true;
    let merge = fx.author.merge(&pr, &req).await.unwrap().value;
    assert!(merge.branch_deleted);
    assert_eq!(fx.git.oid("refs/heads/feature"), None);
    assert_eq!(fx.view(&pr).await.head_oid, head);
}

async fn repeated_merge_deletes_remaining_branch(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let tip = fx.git.oid("feature").unwrap();
    let mut left_over = MergeReq::default();
    left_over.only_left_over = true;
    left_over.delete_branch = true;
    let before = fx.git.refs();
    refused(
        fx.author.merge(&pr, &left_over).await,
        "precondition_failed",
    );
    assert_eq!(fx.git.refs(), before);
    let rebase = by(MergeMethod::Rebase);
    fx.author.merge(&pr, &rebase).await.unwrap();
    // A branch with unmerged commits is kept.
    let elsewhere = fx
        .git
        .commit("feature", "Later", &[("later.txt", Some("later\n"))]);
    let kept = fx.author.merge(&pr, &left_over).await.unwrap();
    assert!(kept.value.already_merged && !kept.value.branch_deleted);
    assert!(kept.unchanged && !kept.warnings.is_empty(), "{kept:?}");
    assert_eq!(fx.git.oid("refs/heads/feature"), Some(elsewhere));
    fx.git.set_branch("feature", &tip);
    let gone = fx.author.merge(&pr, &left_over).await.unwrap();
    assert!(gone.value.already_merged && gone.value.branch_deleted);
    assert!(!gone.unchanged, "{gone:?}");
    assert_eq!(fx.git.oid("refs/heads/feature"), None);
    let again = fx.author.merge(&pr, &left_over).await.unwrap();
    assert!(again.unchanged && !again.value.branch_deleted, "{again:?}");
}

async fn merge_without_commits_changes_nothing(fx: Fixture) {
    let head = fx.feature("feature");
    let pr = fx.open_from("feature").await.id;
    fx.git.set_branch("main", &head);
    match fx.author.merge(&pr, &by(MergeMethod::Merge)).await {
        // A forge may detect that the head has reached the base, and report the pull request as
        // merged.
        Ok(merge) => assert!(merge.value.already_merged),
        Err(e) => assert!(
            matches!(
                e.kind(),
                ErrorKind::Precondition(Precondition::NothingToMerge)
            ),
            "{e:?}"
        ),
    }
    assert_eq!(fx.git.oid("main"), Some(head));
}

async fn merge_of_deleted_head_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.git.delete_branch("feature");
    let before = fx.git.refs();
    let result = fx.author.merge(&pr, &by(MergeMethod::Merge)).await;
    assert!(result.is_err());
    assert_eq!(fx.git.refs(), before);
}

async fn merge_keeps_new_commits_of_the_base(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for n in 0..3 {
        fx.git
            .commit("main", "Move", &[("moving", Some(&format!("{n}\n")))]);
    }
    fx.author.merge(&pr, &by(MergeMethod::Merge)).await.unwrap();
    assert_eq!(fx.git.show("main", "moving"), "2\n");
    assert_eq!(fx.git.show("main", "feature.txt"), "one\ntwo\nthree\n");
}

async fn merge_into_other_base_leaves_main_unchanged(fx: Fixture) {
    fx.git.commit("release", "R", &[("r", Some("r\n"))]);
    fx.feature("feature");
    let mut new = forge_core::model::CreatePull::new("feature", "Into a release");
    new.base = Some("release".into());
    let pr = fx.author.create_pull(&new).await.unwrap().value.id;
    let main = fx.git.oid("main");
    let merge = fx
        .author
        .merge(&pr, &by(MergeMethod::Merge))
        .await
        .unwrap()
        .value;
    assert_eq!(fx.git.oid("main"), main);
    assert_eq!(merge.commit, fx.git.oid("release"));
}

async fn merge_of_missing_pull_is_not_found(fx: Fixture) {
    fx.open("feature").await;
    refused(
        fx.author
            .merge(&fx.author.pull_id(31), &MergeReq::default())
            .await,
        "not_found",
    );
}

async fn unusual_files_are_merged(fx: Fixture) {
    let names = [
        "with space",
        "tab\there",
        "ünï.txt",
        "quote\"d",
        "-dash",
        "100%",
    ];
    let files: Vec<_> = names.iter().map(|n| (*n, Some("x\n"))).collect();
    fx.git.commit("feature", "Odd", &files);
    let pr = fx.open_from("feature").await.id;
    fx.git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    fx.author
        .merge(&pr, &by(MergeMethod::Squash))
        .await
        .unwrap();
    for name in names {
        assert_eq!(fx.git.show("main", name), "x\n", "{name}");
    }
}
