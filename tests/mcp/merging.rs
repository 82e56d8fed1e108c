//! Tests the questions, refusals and merge methods of `pr_merge`.

use forge_github_double::state::{Permission, Protection, ReviewState};
use forge_testkit::GitDir;
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    world::{LEGACY, MODERN, User, Wire, World},
};

#[test]
fn merged_branch_is_deleted_only_after_question() {
    for era in [LEGACY, MODERN] {
        let world = World::with_feature();
        let mut wire = world.server(era, &["--write"]);
        let head = world.git.oid("feature").unwrap();
        wire.call("pr_merge", json!({"number": 1})).ok();
        assert_eq!(wire.asked.len(), 1);
        // A repeated merge changes nothing and needs no confirmation.
        let again = wire.call("pr_merge", json!({"number": 1})).ok();
        assert_eq!(again.data()["already_merged"], true);
        assert_eq!(again.data()["unchanged"], true);
        let stale = json!({"number": 1, "delete_branch": true, "expected_head": "0".repeat(40)});
        wire.call("pr_merge", stale).fails("conflict").says(&head);
        assert_eq!(wire.asked.len(), 1);
        wire.user = User::Declines;
        let delete = json!({"number": 1, "delete_branch": true});
        wire.call("pr_merge", delete.clone()).fails("cancelled");
        assert!(
            wire.asked[1].contains("is merged. Delete its branch feature?")
                && wire.asked[1].contains(&head),
            "{:?}",
            wire.asked
        );
        assert_eq!(world.git.oid("feature").as_ref(), Some(&head));
        wire.user = User::Agrees;
        let gone = wire.call("pr_merge", delete).ok();
        assert_eq!(gone.data()["branch_deleted"], true);
        assert_eq!(gone.data()["already_merged"], true);
        assert_eq!(gone.data()["unchanged"], false, "{}", gone.text());
        assert_eq!(world.git.oid("feature"), None);
        let deleted = &gone.data()["deleted_branch"];
        assert_eq!(
            (&deleted["name"], &deleted["commit"]),
            (&json!("feature"), &json!(head))
        );
        let restore = format!("git branch feature {head}");
        assert_eq!(deleted["restore"], restore);
        let _ = gone.says(&restore);
    }
}

#[test]
fn closed_pull_keeps_its_branch_without_a_question() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    let head = world.git.oid("feature").unwrap();
    let close = json!({"number": 1, "state": "closed"});
    wire.call("pr_set_state", close).ok();
    let delete = json!({"number": 1, "state": "closed", "delete_branch": true});
    let kept = wire.call("pr_set_state", delete.clone()).ok();
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    let kept = kept.says("was closed before this call");
    assert_eq!(kept.data().get("deleted_branch"), None);
    assert_eq!(world.git.oid("feature").as_ref(), Some(&head));
    world.forge(&["pr", "reopen", "1"]).ok();
    let gone = wire.call("pr_set_state", delete).ok();
    assert_eq!(wire.asked.len(), 1);
    let restore = format!("git branch feature {head}");
    assert_eq!(gone.data()["deleted_branch"]["restore"], restore);
    assert_eq!(world.git.oid("feature"), None);
}

#[test]
fn merged_branch_is_deleted_on_github() {
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let merge = json!({"repo": REPO, "number": 1});
    wire.call("pr_merge", merge.clone()).ok();
    hub.double.reset_record();
    let again = wire.call("pr_merge", merge).ok();
    assert_eq!(again.data()["unchanged"], true);
    // The repeated call reads the pull request and its branch.
    assert_eq!(hub.double.counts().api, 2, "{:?}", hub.double.requests());
    let delete = json!({"repo": REPO, "number": 1, "delete_branch": true});
    let gone = wire.call("pr_merge", delete.clone()).ok();
    assert!(
        wire.asked[1].contains("Delete its branch"),
        "{:?}",
        wire.asked
    );
    assert_eq!(gone.data()["branch_deleted"], true, "{}", gone.text());
    assert_eq!(gone.data()["unchanged"], false);
    let again = wire.call("pr_merge", delete).ok().says("is gone already");
    assert_eq!(again.data()["branch_deleted"], false);
    assert_eq!(again.data()["unchanged"], true);
}

/// An earlier call closed the pull request, and a later one does not delete its branch.
#[test]
fn branch_of_closed_pull_is_kept_later() {
    let (local, hub) = (World::with_feature(), Hub::with_files(1));
    let both = [local.server(MODERN, &["--write"]), hub.server(&["--write"])];
    for (mut wire, repo) in both.into_iter().zip([None, Some(REPO)]) {
        let mut close = json!({"number": 1, "state": "closed"});
        if let Some(repo) = repo {
            close["repo"] = json!(repo);
        }
        wire.call("pr_set_state", close.clone()).ok();
        close["delete_branch"] = json!(true);
        let again = wire.call("pr_set_state", close).ok();
        assert_eq!(again.data()["unchanged"], true, "{}", again.text());
        assert!(again.text().contains("was not deleted"), "{}", again.text());
        assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    }
    assert!(local.git.oid("feature").is_some());
    let left = hub.double.seed().tips(REPO);
    assert!(left.keys().any(|name| name.ends_with("work")), "{left:?}");
}

#[test]
fn merge_result_names_the_deleted_branch() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    wire.call("pr_merge", json!({"number": 1, "delete_branch": true}))
        .ok()
        .says(": merged, and its branch is deleted | merged");
}

#[test]
fn branch_deletion_after_merge_needs_confirmation_token() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    let head = world.git.oid("feature").unwrap();
    wire.call("pr_merge", json!({"number": 1})).ok();
    wire.user = User::Absent;
    let args = json!({"number": 1, "delete_branch": true});
    let asked = wire.call("pr_merge", args).fails("invalid_input");
    assert_eq!(world.git.oid("feature").as_ref(), Some(&head));
    let named = json!({"number": 1, "delete_branch": true, "confirm": Wire::seal(&asked)});
    wire.call("pr_merge", named).ok();
    assert_eq!(world.git.oid("feature"), None);
}

/// Changes the head branch in the record of pull request 1, as any account with write access can.
fn rename_head_branch(git: &GitDir, to: &str) {
    let tip = git.oid("refs/forge/pulls/1").unwrap();
    let mut record: Value = serde_json::from_str(&git.show(&tip, "pull.json")).unwrap();
    record["head_branch"] = json!(to);
    let store = ["hash-object", "-w", "--stdin"];
    let blob = git.run(store).stdin(record.to_string()).text();
    let entry = format!("100644 blob {}\tpull.json\n", blob.trim());
    let tree = git.run(["mktree"]).stdin(entry).text();
    let commit = git.run(["cat-file", "commit", &tip]).text();
    let (_, rest) = commit.split_once('\n').unwrap();
    let commit = format!("tree {}\n{rest}", tree.trim());
    let store = ["hash-object", "-w", "-t", "commit", "--stdin"];
    let tip = git.run(store).stdin(commit).text();
    git.run(["update-ref", "refs/forge/pulls/1", tip.trim()])
        .ok();
}

#[test]
fn branch_named_after_question_is_not_deleted() {
    for era in [LEGACY, MODERN] {
        let world = World::with_feature();
        let mut wire = world.server(era, &["--write"]);
        wire.call("pr_merge", json!({"number": 1})).ok();
        world.git.set_branch("release", "feature");
        let head = world.git.oid("feature");
        let git = GitDir::at(world.git.path());
        wire.meanwhile = Some(Box::new(move || rename_head_branch(&git, "release")));
        let refused = wire.call("pr_merge", json!({"number": 1, "delete_branch": true}));
        match era {
            LEGACY => refused
                .fails("conflict")
                .says("the head branch was changed meanwhile"),
            _ => refused.fails("invalid_input").says("has changed since"),
        };
        let asked = "Delete its branch feature?";
        assert!(wire.asked[1].contains(asked), "{:?}", wire.asked);
        assert_eq!(world.git.oid("release"), head, "{era}");
    }
}

#[test]
fn auto_merge_disallowed_by_repository_is_refused() {
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let call = json!({"repo": REPO, "number": 1, "method": "merge", "auto": true});
    let refused = wire.call("pr_merge", call).fails("unsupported");
    let refused = refused.says("does not allow auto-merge");
    let _ = refused
        .says("\nNext: pr_context {")
        .says("\"wait_for\":\"checks\"");
    assert_eq!(wire.asked.len(), 0);
    let view = wire
        .call("pr_view", json!({"repo": REPO, "number": 1}))
        .ok();
    assert_eq!(view.data()["pull_request"]["state"], "open");
}

#[test]
fn question_of_auto_merge_names_conflicts() {
    let hub = Hub::with_files(1);
    let other = [("d/0000.txt", Some("other\n"))];
    hub.double.seed().commit(REPO, "main", &other, "Other");
    hub.double
        .seed()
        .configure(REPO, |repo| repo.allow_auto_merge = true);
    let mut wire = hub.server(&["--write"]);
    let merge = |auto: bool| json!({"repo": REPO, "number": 1, "method": "merge", "auto": auto});
    wire.call("pr_view", json!({"repo": REPO, "number": 1}))
        .ok();
    wire.call("pr_merge", merge(false))
        .fails("precondition_failed")
        .says("it has conflicts with main");
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    let queued = wire.call("pr_merge", merge(true)).ok();
    assert_eq!(queued.data()["queued"], true);
    let asked = &wire.asked[0];
    assert!(asked.contains("no_conflicts"), "{asked}");
}

#[test]
fn merge_of_closed_pull_sends_no_write() {
    // C-000-13: a closed pull request is refused.
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let closed = json!({"repo": REPO, "number": 1, "state": "closed"});
    wire.call("pr_set_state", closed).ok();
    for more in [
        json!({}),
        json!({"delete_branch": true}),
        json!({"auto": true}),
    ] {
        let mut args = more;
        args["repo"] = json!(REPO);
        args["number"] = json!(1);
        hub.double.reset_record();
        wire.call("pr_merge", args)
            .fails("precondition_failed")
            .says("Next: pr_set_state {");
        // A single request read the state, and `forge` sent no merge.
        assert_eq!(hub.double.counts().api, 1, "{:?}", hub.double.requests());
    }
    assert!(wire.asked.is_empty());
}

#[test]
fn refused_rebase_asks_no_confirmation() {
    let hub = Hub::with_files(1);
    let other = [("d/0000.txt", Some("other\n"))];
    hub.double.seed().commit(REPO, "main", &other, "Other");
    let mut wire = hub.server(&["--write"]);
    // The first request makes GitHub compute the merge state.
    wire.call("pr_view", json!({"repo": REPO, "number": 1}))
        .ok();
    hub.double.reset_record();
    let rebase = json!({"repo": REPO, "number": 1, "method": "rebase"});
    wire.call("pr_update_branch", rebase)
        .fails("precondition_failed")
        .says("it has conflicts with main");
    assert_eq!(hub.double.counts().api, 1, "{:?}", hub.double.requests());
    assert!(wire.asked.is_empty());
}

#[test]
fn error_of_partial_edit_names_the_finished_part() {
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let closed = json!({"repo": REPO, "number": 1, "state": "closed"});
    wire.call("pr_set_state", closed).ok();
    // A closed pull request can be renamed, but not converted to a draft.
    let edit = json!({"repo": REPO, "number": 1, "title": "Another", "draft": true});
    let half = wire
        .call("pr_edit", edit)
        .fails("precondition_failed")
        .says("all other changes are written: set draft alone");
    let rest = &half.data()["error"]["next"]["arguments"];
    assert_eq!(
        (&rest["number"], &rest["draft"]),
        (&json!("1"), &json!("draft"))
    );
    wire.call("pr_view", json!({"repo": REPO, "number": 1}))
        .ok()
        .says("closed \"Another\"");
    let draft = json!({"repo": REPO, "number": 1, "draft": true});
    let alone = wire.call("pr_edit", draft).fails("precondition_failed");
    assert!(!alone.text().contains("is written"), "{}", alone.text());
}

#[test]
fn r_000_18_method_comes_from_argument_config_or_repository() {
    // C-000-18: without an argument and a configured method, the repository's default method is
    // used.
    let hub = Hub::with_files(1);
    let asks = |args: serde_json::Value| {
        let mut wire = hub.server(&["--write"]);
        wire.user = User::Declines;
        hub.double.reset_record();
        wire.call("pr_merge", args).fails("cancelled");
        wire.asked.remove(0)
    };
    let looks = || {
        let requests = hub.double.requests();
        let documents = requests.iter().filter_map(|r| r.document.as_deref());
        documents.filter(|d| d.contains("mergeStateStatus")).count()
    };
    let plain = json!({"repo": REPO, "number": 1});
    // The double's repository allows all three methods. Its default is a merge commit.
    let question = asks(plain.clone());
    assert!(question.contains(" by merge?"), "{question}");
    // Mergeability was unknown at first, so `forge` read it again before it asked.
    assert!(!question.contains("Warning"), "{question}");
    assert_eq!(looks(), 3, "two for the question, one for the answer");
    let named = asks(json!({"repo": REPO, "number": 1, "method": "squash"}));
    assert!(named.contains(" by squash?"), "{named}");
    assert_eq!(looks(), 2, "one for each");
    hub.forge(&["config", "set", "merge.method", "rebase"]).ok();
    let configured = asks(plain);
    assert!(configured.contains(" by rebase?"), "{configured}");
}

#[test]
fn merge_can_require_approval() {
    // C-000-11: a merge can require an approval.
    let hub = Hub::with_files(1);
    // Reviews by other people do not count.
    let mut seed = hub.double.seed();
    seed.collaborator(REPO, "linus", Permission::Write);
    drop(seed);
    let mut wire = hub.server(&["--write"]);
    let args = json!({"repo": REPO, "number": 1, "requireApproval": true});
    let refused = |wire: &mut crate::world::Wire| {
        wire.call("pr_merge", args.clone())
            .fails("precondition_failed")
            .says("it is not approved");
        assert!(wire.asked.is_empty());
    };
    refused(&mut wire);
    let review = |who: &str, verdict| hub.double.seed().review(REPO, 1, who, verdict, "So.");
    review("linus", ReviewState::Commented);
    refused(&mut wire);
    review("ada", ReviewState::Approved);
    review("linus", ReviewState::ChangesRequested);
    refused(&mut wire);
    review("linus", ReviewState::Approved);
    let merged = wire.call("pr_merge", args.clone()).ok();
    assert_eq!(merged.data()["merged"], true);
}

#[test]
fn required_approval_includes_code_owners() {
    // GitHub requests no review from a code owner who is named only after the pull request was
    // opened, but the owner's approval is still required.
    for (named_first, says) in [
        (
            true,
            "it is not approved: asked, but not yet reviewed by linus",
        ),
        (false, "it is not approved: no code owner is asked"),
    ] {
        let hub = Hub::new();
        hub.double
            .seed()
            .collaborator(REPO, "linus", Permission::Write);
        let name_owner = || {
            let files = [(".github/CODEOWNERS", Some("* @linus\n"))];
            hub.double
                .seed()
                .commit(REPO, "main", &files, "Name owners");
        };
        if named_first {
            name_owner();
        }
        hub.open_work();
        if !named_first {
            name_owner();
        }
        let wanted = Protection {
            approvals: 1,
            code_owners: true,
            ..Protection::default()
        };
        hub.double.seed().protect(REPO, "main", wanted);
        let approves = |who| {
            let mut seed = hub.double.seed();
            seed.review(REPO, 1, who, ReviewState::Approved, "Good.");
        };
        approves("ada");
        let mut wire = hub.server(&["--write"]);
        let args = json!({"repo": REPO, "number": 1, "require_approval": true});
        wire.call("pr_merge", args.clone())
            .fails("precondition_failed")
            .says(says);
        assert!(wire.asked.is_empty(), "{:?}", wire.asked);
        approves("linus");
        let merged = wire.call("pr_merge", args).ok();
        assert_eq!(merged.data()["merged"], true);
    }
}

#[test]
fn merge_that_rules_forbid_asks_no_confirmation() {
    let hub = Hub::with_files(1);
    let wanted = Protection {
        approvals: 1,
        enforce_admins: true,
        ..Protection::default()
    };
    hub.double.seed().protect(REPO, "main", wanted);
    let mut wire = hub.server(&["--write"]);
    let args = json!({"repo": REPO, "number": 1});
    // The first request makes GitHub compute the merge state.
    wire.call("pr_view", args.clone()).ok();
    wire.call("pr_merge", args)
        .fails("precondition_failed")
        .says("rules of the base branch are not met: ")
        .says("or pass auto=true")
        .says("Next: pr_checks {");
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
}

#[test]
fn merge_can_require_passed_checks() {
    // C-000-11: a merge can require passed checks.
    let args = json!({"repo": REPO, "number": 1, "require_checks": true});
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    // If there is no check, no check has passed.
    wire.call("pr_merge", args.clone())
        .fails("precondition_failed")
        .says("the checks have not passed: no check has reported on ");
    hub.double.seed().check(REPO, 1, "ci", "test", "SUCCESS");
    hub.double.seed().check(REPO, 1, "ci", "lint", "FAILURE");
    wire.call("pr_merge", args.clone())
        .fails("precondition_failed")
        .says("the checks have not passed: 1 failed: lint");
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    let hub = Hub::with_files(1);
    hub.double.seed().check(REPO, 1, "ci", "test", "SUCCESS");
    let mut wire = hub.server(&["--write"]);
    let merged = wire.call("pr_merge", args).ok();
    assert_eq!(merged.data()["merged"], true);
    // The local forge runs no checks at all.
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &["--write"]);
    wire.call("pr_merge", json!({"number": 1, "require_checks": true}))
        .fails("precondition_failed")
        .says("the checks have not passed: none");
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
}

#[test]
fn r_000_2_linked_issues_become_lines_of_the_body() {
    let world = World::new();
    world.feature("work");
    let mut wire = world.server(MODERN, &["--write"]);
    let args = json!({
        "title": "Work", "head": "work", "body": "Why.\n\nFixes #3", "linkedIssueNumbers": [3, "4", 5]
    });
    let made = wire.call("pr_create", args).ok();
    assert!(!made.text().contains("close no issue"), "{}", made.text());
    let stored = world.json("1", "body")["body"].clone();
    assert_eq!(stored, "Closes #4\nCloses #5\n\nWhy.\n\nFixes #3");
}

#[test]
fn r_000_20_create_lists_requested_and_refused_reviewers() {
    // C-000-10: the team is requested, and a refused reviewer has a reason.
    let hub = Hub::new();
    let mut wire = hub.server(&["--write"]);
    let args = json!({
        "repo": REPO, "title": "Both", "head": "feature", "reviewers": ["Grace", "octo/core"]
    });
    let made = wire.call("pr_create", args).ok();
    assert_eq!(made.data()["requested"], json!(["Grace", "octo/core"]));
    assert!(made.data().get("skipped").is_none(), "{}", made.data());
    assert!(
        made.text()
            .contains("asked for a review: @Grace, @octo/core"),
        "{}",
        made.text()
    );
    // GitHub does not request a review from the author of a pull request.
    hub.double
        .seed()
        .commit(REPO, "second", &[("s.txt", Some("s\n"))], "Second");
    let args = json!({"repo": REPO, "title": "Own", "head": "second", "reviewers": ["ada"]});
    let made = wire.call("pr_create", args).ok();
    assert!(made.data().get("requested").is_none(), "{}", made.data());
    let skipped = &made.data()["skipped"];
    assert_eq!(skipped[0]["name"], "ada");
    let reason = skipped[0]["reason"].as_str().unwrap();
    assert!(reason.contains("pull request author"), "{reason}");
    assert!(
        made.text().contains("not asked for a review: @ada: \""),
        "{}",
        made.text()
    );
    let edit = json!({"repo": REPO, "number": 2, "add_reviewers": ["grace"]});
    let edited = wire.call("pr_edit", edit).ok();
    assert_eq!(edited.data()["requested"], json!(["grace"]));
    let title = json!({"repo": REPO, "number": 2, "title": "Other"});
    let edited = wire.call("pr_edit", title).ok();
    assert!(edited.data().get("requested").is_none());
}
