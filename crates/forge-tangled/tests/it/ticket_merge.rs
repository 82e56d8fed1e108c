//! Merging on Tangled 1.0: rebase and push in a clone, then the state.

use std::time::Duration;

use forge_core::{
    Action, Arg, Ingestion, Op, Param, PrId, PullRequests, Retry, Warning,
    model::{CreatePull, LocalClone, MergeReq, PrState, Resubmit},
};
use forge_tangled::{Tangled, TangledSettings};
use forge_tangled_world::{Fault, Repository};
use forge_testkit::GitDir;
use serde_json::json;
use tempfile::TempDir;

use crate::stage::{Stage, action, merging};

const TICKET: &str = "org.tangled.track.ticket";
const PATCH: &str = "org.tangled.review.patch";
const PUT: &str = "com.atproto.repo.putRecord";

/// A repository of 1.0 with one pull request, and a clone of it.
struct Ground {
    stage: Stage,
    repo: Repository,
    forge: Tangled,
    pr: PrId,
    dir: TempDir,
}

impl Ground {
    async fn new() -> Self {
        let stage = Stage::new();
        let repo = stage.world.repository_1_0(&stage.alice, "new");
        repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
        repo.git.commit("topic", "Add b", &[("b", Some("1\n"))]);
        let id = stage.id_of(&repo);
        let forge = stage.tangled(&stage.alice);
        let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
        let pr = made.unwrap().value.id;
        let ground = Self {
            stage,
            repo,
            forge,
            pr,
            dir: tempfile::tempdir().unwrap(),
        };
        let path = ground.repo.path().to_string_lossy().into_owned();
        let clone = GitDir::init(ground.dir.path(), &[]);
        for args in [
            ["remote", "add", "knot", &path],
            ["config", "--add", "user.name", "Alice"],
            ["config", "--add", "user.email", "alice@example.org"],
        ] {
            clone.run(args).ok();
        }
        ground
    }

    fn req(&self) -> MergeReq {
        let mut req = MergeReq::default();
        let trust = forge_core::Trust::Person;
        req.clone = Some(LocalClone::new(self.dir.path(), "knot", trust));
        req
    }

    fn state(&self) -> String {
        let records = self.stage.world.knot().records(&self.repo.did, TICKET);
        let key = self.pr.key.to_string();
        let ours = records.iter().find(|(uri, ..)| *uri == key).unwrap();
        ours.2["state"].as_str().unwrap().to_owned()
    }

    fn subjects(&self) -> String {
        self.repo.git.log("main", "%s")
    }
}

/// Returns true if a warning calls the spelling of the state a guess.
fn is_guessed(warnings: &[Warning]) -> bool {
    let told = "'merged', which is a guess";
    warnings.iter().any(|w| w.message.contains(told))
}

#[tokio::test]
async fn round_is_rebased_onto_current_base() {
    let ground = Ground::new().await;
    ground
        .repo
        .git
        .commit("main", "Meanwhile", &[("c", Some("1\n"))]);
    let own_refs = || {
        let refs = GitDir::at(ground.dir.path()).refs();
        // A push creates a remote-tracking ref.
        let own = refs
            .lines()
            .filter(|r| !r.contains("refs/remotes/knot/main"));
        own.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = own_refs();
    let merged = ground.forge.merge(&ground.pr, &ground.req()).await.unwrap();
    assert_eq!(merged.ingestion.word(), "immediate");
    assert!(merged.warnings[0].message.contains("experimental"));
    assert!(is_guessed(&merged.warnings), "{:?}", merged.warnings);
    assert!(merged.steps.iter().all(|s| s.done), "{:?}", merged.steps);
    assert_eq!(merged.value.pull_request.state, PrState::Merged);
    assert_eq!(merged.value.commit, ground.repo.git.oid("main"));
    assert!(
        ground.subjects().starts_with("Add b\nAdd a\nMeanwhile\n"),
        "{}",
        ground.subjects()
    );
    assert_eq!(ground.repo.git.log("main", "%P").matches(' ').count(), 0);
    assert_eq!(ground.state(), "merged");
    assert_eq!(own_refs(), before);
    let again = ground.forge.merge(&ground.pr, &ground.req()).await.unwrap();
    assert!(again.unchanged && again.value.already_merged);
    assert_eq!(again.warnings.len(), 2, "{:?}", again.warnings);
    assert!(again.warnings[1].message.contains("experimental"));
    let closed = ground.forge.close(&ground.pr, &Default::default()).await;
    let reopened = ground.forge.reopen(&ground.pr, None).await;
    for refused in [closed, reopened] {
        let e = refused.unwrap_err();
        assert_eq!(e.code(), "precondition_failed");
        assert_eq!(*action(&e), Action::op(Op::PrCreate));
    }
}

#[tokio::test]
async fn newest_round_by_date_alone_needs_expected_head() {
    let ground = Ground::new().await;
    let git = &ground.repo.git;
    let first = git.oid("topic").unwrap();
    git.commit("topic", "Add c", &[("c", Some("1\n"))]);
    let again = Resubmit::default();
    let again = ground.forge.resubmit(&ground.pr, &again).await;
    let again = again.unwrap().value;
    let newest = again.head_oid.unwrap();
    // The branch shows no longer which round is the newest.
    git.set_branch("topic", &first);
    let before = git.oid("main");
    let e = ground.forge.merge(&ground.pr, &ground.req()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    assert!(e.message().contains("has 2 rounds"), "{e:?}");
    assert!(e.hint().unwrap().text().contains(&newest), "{e:?}");
    assert_eq!(git.oid("main"), before);
    let mut req = ground.req();
    req.expected_head = Some(newest);
    ground.forge.merge(&ground.pr, &req).await.unwrap();
    assert!(ground.subjects().starts_with("Add c\n"));
}

#[tokio::test]
async fn rebase_that_takes_back_change_of_base_is_refused() {
    let ground = Ground::new().await;
    let git = &ground.repo.git;
    // The base has the same change as a commit of the round, which a later commit takes back.
    for branch in ["main", "topic"] {
        git.commit(branch, "Check", &[("check", Some("on\n"))]);
    }
    git.commit("topic", "Add c", &[("check", None), ("c", Some("1\n"))]);
    let round = Resubmit::default();
    ground.forge.resubmit(&ground.pr, &round).await.unwrap();
    let before = git.oid("main");
    let e = ground.forge.merge(&ground.pr, &ground.req()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    assert!(
        e.message()
            .contains("brings other changes than its diff shows"),
        "{e:?}"
    );
    assert_eq!((git.oid("main"), ground.state().as_str()), (before, "open"));
}

#[tokio::test]
async fn merge_with_delete_branch_is_refused_before_push() {
    let ground = Ground::new().await;
    let before = ground.subjects();
    let mut req = ground.req();
    req.delete_branch = true;
    let e = ground.forge.merge(&ground.pr, &req).await.unwrap_err();
    assert_eq!(e.code(), "unsupported", "{e:?}");
    let keep = Action::again(&[(Param::DeleteBranch, Arg::Omit)]);
    assert_eq!(*action(&e), keep);
    assert_eq!(
        (ground.subjects(), ground.state().as_str()),
        (before, "open")
    );
}

#[tokio::test]
async fn fast_forward_keeps_commit_ids() {
    let ground = Ground::new().await;
    let spelled = json!({
        "title": {"text": "Old"}, "state": "merge-completed", "targetBranch": "main",
        "createdAt": "2026-11-01T00:00:00Z",
    });
    let knot = ground.stage.world.knot();
    knot.put_record(&ground.repo.did, TICKET, "3mkuuamwfj322", spelled);
    // A ticket without a state is open.
    let key = ground.pr.key.to_string();
    let records = knot.records(&ground.repo.did, TICKET);
    let ours = records.into_iter().find(|(uri, ..)| *uri == key);
    let mut stateless = ours.unwrap().2;
    stateless.as_object_mut().unwrap().remove("state").unwrap();
    let rkey = key.rsplit('/').next().unwrap();
    knot.put_record(&ground.repo.did, TICKET, rkey, stateless);
    let head = ground.repo.git.oid("topic");
    let mut req = ground.req();
    req.expected_head = head.clone();
    let merged = ground.forge.merge(&ground.pr, &req).await.unwrap();
    assert_eq!(merged.value.commit, head);
    // The state is spelled as in the repository's other tickets.
    assert_eq!(ground.state(), "merge-completed");
}

#[tokio::test]
async fn refused_merge_changes_nothing() {
    let ground = Ground::new().await;
    let before = ground.repo.git.refs();
    let without = ground.forge.merge(&ground.pr, &MergeReq::default()).await;
    let without = without.unwrap_err();
    assert_eq!(without.code(), "invalid_input");
    assert!(
        without.hint().unwrap().text().contains("in a clone"),
        "{without:?}"
    );
    let mut prefix = ground.req();
    prefix.expected_head = ground
        .repo
        .git
        .oid("topic")
        .map(|head| head[..12].to_owned());
    let prefix = ground.forge.merge(&ground.pr, &prefix).await.unwrap_err();
    assert_eq!(prefix.code(), "invalid_input", "{prefix:?}");
    let mut moved = ground.req();
    moved.expected_head = Some("0".repeat(40));
    let moved = ground.forge.merge(&ground.pr, &moved).await.unwrap_err();
    assert_eq!(moved.code(), "conflict");
    // The knot accepts no push over HTTP.
    let url = format!(
        "{}/{}",
        ground.stage.world.knot().host().url(),
        ground.repo.did
    );
    let clone = GitDir::at(ground.dir.path());
    clone
        .run(["remote", "set-url", "--push", "knot", &url])
        .ok();
    let refused = ground.forge.merge(&ground.pr, &ground.req()).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), "git", "{refused:?}");
    assert!(
        refused
            .hint()
            .unwrap()
            .text()
            .contains("nothing was merged")
    );
    assert_eq!(ground.repo.git.refs(), before);
    assert_eq!(ground.state(), "open");

    let path = ground.repo.path().to_string_lossy().into_owned();
    clone
        .run(["remote", "set-url", "--push", "knot", &path])
        .ok();
    ground
        .repo
        .git
        .commit("main", "Another a", &[("a", Some("2\n"))]);
    let before = ground.repo.git.refs();
    let conflict = ground.forge.merge(&ground.pr, &ground.req()).await;
    let conflict = conflict.unwrap_err();
    assert_eq!(conflict.code(), "precondition_failed");
    assert!(conflict.message().contains(" in a;"), "{conflict:?}");
    assert_eq!(ground.repo.git.refs(), before);
    ground
        .forge
        .close(&ground.pr, &Default::default())
        .await
        .unwrap();
    let closed = ground.forge.merge(&ground.pr, &ground.req()).await;
    assert_eq!(closed.unwrap_err().code(), "precondition_failed");
}

#[tokio::test]
async fn custom_merge_message_is_refused() {
    let ground = Ground::new().await;
    let before = ground.repo.git.refs();
    let mut req = ground.req();
    req.subject = Some("All of it".into());
    let e = ground.forge.merge(&ground.pr, &req).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input", "{e:?}");
    assert_eq!(ground.repo.git.refs(), before);
    assert_eq!(ground.state(), "open");
}

#[tokio::test]
async fn commits_pushed_after_round_are_not_merged() {
    let ground = Ground::new().await;
    ground
        .repo
        .git
        .commit("topic", "Unseen", &[("unseen", Some("1\n"))]);
    ground.forge.merge(&ground.pr, &ground.req()).await.unwrap();
    assert!(
        !ground.subjects().contains("Unseen"),
        "{}",
        ground.subjects()
    );
    assert!(ground.subjects().starts_with("Add b\n"));
}

#[tokio::test]
async fn commits_below_round_base_are_not_merged() {
    let ground = Ground::new().await;
    let knot = ground.stage.world.knot();
    let (uri, _, mut patch) = knot.records(&ground.repo.did, PATCH).remove(0);
    patch["base"]["oid"] = json!(ground.repo.git.oid("topic~1").unwrap());
    let rkey = uri.rsplit('/').next().unwrap();
    knot.put_record(&ground.repo.did, PATCH, rkey, patch);
    let before = ground.repo.git.refs();
    let e = ground.forge.merge(&ground.pr, &ground.req()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    let part = "shows 1 commits, and its merge would bring 2";
    assert!(e.message().contains(part), "{e:?}");
    assert_eq!(ground.repo.git.refs(), before);
    assert_eq!(ground.state(), "open");
}

/// The author of a round chooses the name of its branch. That branch is fetched only if the head
/// commit itself cannot be fetched.
#[tokio::test]
async fn branch_name_of_round_writes_no_ref() {
    let ground = Ground::new().await;
    let knot = ground.stage.world.knot();
    let (uri, _, mut patch) = knot.records(&ground.repo.did, PATCH).remove(0);
    patch["head"]["oid"] = json!("7".repeat(40));
    patch["source"]["branch"] = json!("main:refs/heads/planted");
    let rkey = uri.rsplit('/').next().unwrap();
    knot.put_record(&ground.repo.did, PATCH, rkey, patch);
    let clone = GitDir::at(ground.dir.path());
    let before = clone.refs();
    let merged = ground.forge.merge(&ground.pr, &ground.req()).await;
    // The hint contains no refspec either, because a person could type it.
    let hint = merged.unwrap_err().hint().unwrap().text().to_owned();
    assert!(hint.starts_with("fetch 7777777"), "{hint}");
    assert_eq!(clone.refs(), before);
}

#[tokio::test]
async fn unrecorded_merge_is_recorded_by_next_merge() {
    let ground = Ground::new().await;
    let knot = ground.stage.world.knot();
    knot.host().fault(
        Fault::error(500, "InternalServerError", "no")
            .on(PUT)
            .always(),
    );
    let merged = ground.forge.merge(&ground.pr, &ground.req()).await.unwrap();
    let done: Vec<_> = merged.steps.iter().map(|s| s.done).collect();
    assert_eq!(done, [true, false]);
    let none = Ingestion::Pending {
        uri: None,
        waited: Duration::ZERO,
        doubt: None,
    };
    assert_eq!(merged.ingestion, none, "the ticket is not what is pending");
    let told = merged
        .warnings
        .iter()
        .find_map(|w| w.hint.as_ref()?.action());
    assert_eq!(told, Some(&merging(&ground.pr.key)));
    assert_eq!(ground.state(), "open");
    let tip = ground.repo.git.oid("main");
    knot.host().clear_faults();
    let again = ground.forge.merge(&ground.pr, &ground.req()).await.unwrap();
    assert!(again.value.already_merged && !again.unchanged);
    assert_eq!(
        (ground.state().as_str(), ground.repo.git.oid("main")),
        ("merged", tip)
    );
}

#[tokio::test]
async fn unreadable_branch_after_push_stays_undecided() {
    let ground = Ground::new().await;
    let path = ground.repo.path().to_string_lossy().into_owned();
    let clone = GitDir::at(ground.dir.path());
    clone.run(["fetch", "--quiet", "knot"]).ok();
    // The clone can push to the knot, but cannot fetch.
    for args in [
        &["remote", "set-url", "--push", "knot", &path][..],
        &["remote", "set-url", "knot", "/nowhere"],
    ] {
        clone.run(args.iter().copied()).ok();
    }
    let knot = ground.stage.world.knot().host();
    let refs = format!("/{}/info/refs", ground.repo.did);
    let unread = Fault::gateway(502).on_path(&refs);
    knot.fault(unread.skip(1).always());
    let e = ground.forge.merge(&ground.pr, &ground.req()).await;
    let e = e.unwrap_err();
    assert!(e.message().contains("was pushed to 'main'"), "{e:?}");
    assert_eq!(e.retry(), Retry::Ambiguous, "{e:?}");
    let look = "git ls-remote knot refs/heads/main";
    assert!(e.hint().unwrap().text().contains(look), "{e:?}");
    let git = &ground.repo.git;
    assert_eq!(git.oid("main"), git.oid("topic"));
    assert_eq!(ground.state(), "open");
    knot.clear_faults();
    let again = ground.forge.merge(&ground.pr, &ground.req()).await.unwrap();
    assert!(again.value.already_merged);
    assert_eq!(ground.state(), "merged");
}

/// The changes are recognized by their content, even if the same commits cannot be made again.
#[tokio::test]
async fn merge_onto_moved_branch_is_recorded_later() {
    let ground = Ground::new().await;
    let git = &ground.repo.git;
    git.commit("topic", "Change a", &[("a", Some("2\n"))]);
    let round = ground
        .forge
        .resubmit(&ground.pr, &Resubmit::default())
        .await;
    round.unwrap();
    git.commit("main", "Meanwhile", &[("c", Some("1\n"))]);
    let knot = ground.stage.world.knot();
    let refused = Fault::error(500, "InternalServerError", "no");
    knot.host().fault(refused.on(PUT).always());
    ground.forge.merge(&ground.pr, &ground.req()).await.unwrap();
    let tip = git.oid("main");
    knot.host().clear_faults();
    let again = ground.forge.merge(&ground.pr, &ground.req()).await.unwrap();
    assert!(again.value.already_merged);
    assert_eq!((ground.state().as_str(), git.oid("main")), ("merged", tip));
}

/// A ticket's "merged" state does not prove a merge: the branch is checked as well.
#[tokio::test]
async fn merged_ticket_state_is_verified_in_clone() {
    let ground = Ground::new().await;
    let knot = ground.stage.world.knot();
    let (uri, _, mut value) = knot.records(&ground.repo.did, TICKET)[0].clone();
    let rkey = uri.rsplit('/').next().unwrap();
    value["state"] = json!("merged");
    knot.put_record(&ground.repo.did, TICKET, rkey, value);
    for (req, told) in [
        (ground.req(), "does not show its commits"),
        (MergeReq::default(), "could not be checked"),
    ] {
        let merged = ground.forge.merge(&ground.pr, &req).await.unwrap();
        assert!(merged.unchanged && merged.value.already_merged);
        let doubt = &merged.warnings[1].message;
        assert!(doubt.contains(told), "{:?}", merged.warnings);
    }
    assert!(!ground.subjects().contains("Add a"));
}

/// A reverted change is no longer on the branch, although the history has it.
#[tokio::test]
async fn reverted_change_is_not_merged() {
    let ground = Ground::new().await;
    let git = &ground.repo.git;
    let base = git.oid("main").unwrap();
    git.commit("other", "Elsewhere", &[("c", Some("1\n"))]);
    git.commit("other", "Add a", &[("a", Some("1\n"))]);
    git.commit("other", "Add b", &[("b", Some("1\n"))]);
    git.commit("other", "Revert \"Add b\"", &[("b", None)]);
    git.set_branch("main", "other");
    assert_ne!(git.oid("main").unwrap(), base);
    ground.forge.merge(&ground.pr, &ground.req()).await.unwrap();
    assert_eq!(git.show("main", "b"), "1\n");
}

/// Merges `main` into `topic`; the merge commit also adds the files `own`.
fn merge_main(git: &GitDir, own: &[(&str, &str)]) {
    let [topic, main] = ["topic", "main"].map(|branch| git.oid(branch).unwrap());
    let mut stream = format!(
        "commit refs/heads/topic\ncommitter Ada <ada@example.com> 1767300000 +0000\n\
         data 6\nMerged\nfrom {topic}\nmerge {main}\n"
    );
    // In a fast-import stream a merge commit lists all differences from its first parent.
    for (path, text) in [("c", "1\n")].iter().chain(own) {
        stream += &format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
    }
    git.import(stream.into_bytes());
}

#[tokio::test]
async fn round_with_evil_merge_commit_is_refused() {
    for (has_commits, own, merged) in [
        (true, &[("own", "1\n")][..], Err("precondition_failed")),
        // A rebase would drop the changes that the merge commit itself adds.
        (false, &[("own", "1\n")], Err("precondition_failed")),
        (true, &[], Ok(false)),
    ] {
        let ground = Ground::new().await;
        let git = &ground.repo.git;
        match has_commits {
            true => drop(git.commit("topic", "Add d", &[("d", Some("1\n"))])),
            false => git.set_branch("topic", "main"),
        }
        git.commit("main", "Meanwhile", &[("c", Some("1\n"))]);
        merge_main(git, own);
        let settings = TangledSettings {
            wait: Duration::from_millis(50),
            ..ground.stage.settings()
        };
        let forge = ground
            .stage
            .tangled_with(settings, Some(&ground.stage.alice));
        let round = forge.resubmit(&ground.pr, &Resubmit::default()).await;
        round.unwrap();
        let tip = git.oid("main");
        let done = forge.merge(&ground.pr, &ground.req()).await;
        if let Err(e) = &done {
            let merge = git.oid("topic").unwrap();
            assert!(e.message().contains(&merge), "{e:?}");
            assert_eq!(*action(e), Action::op(Op::PrResubmit).on(&ground.pr.key));
            assert_eq!((git.oid("main"), ground.state()), (tip, "open".to_owned()));
        }
        let done = done.map(|m| m.value.already_merged).map_err(|e| e.code());
        assert_eq!(done, merged, "commits: {has_commits}, own: {own:?}");
        if merged.is_ok() {
            // Deleting a file later does not make the merge commit suspicious.
            git.commit("main", "Drop d", &[("d", None)]);
            let again = forge.merge(&ground.pr, &ground.req()).await.unwrap();
            let doubts = |w: &Warning| w.message.contains("does not show its commits");
            assert!(!again.warnings.iter().any(doubts), "{:?}", again.warnings);
        }
    }
}

/// If the knot itself sets the state, the client does not write it.
#[tokio::test]
async fn merged_state_of_knot_is_not_rewritten() {
    let ground = Ground::new().await;
    let head = ground
        .repo
        .git
        .commit("topic", "Add c", &[("c", Some("1\n"))]);
    let round = ground
        .forge
        .resubmit(&ground.pr, &Resubmit::default())
        .await;
    assert_eq!(
        round.unwrap().value.head_oid.as_deref(),
        Some(head.as_str())
    );
    let knot = ground.stage.world.knot();
    let records = knot.records(&ground.repo.did, TICKET);
    let (uri, _, mut value) = records[0].clone();
    let rkey = uri.rsplit('/').next().unwrap().to_owned();
    value["state"] = json!("merged");
    let notices = async {
        while ground.repo.git.oid("main").as_deref() != Some(head.as_str()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        knot.put_record(&ground.repo.did, TICKET, &rkey, value.clone());
        knot.host().reset_record();
    };
    let req = ground.req();
    let (merged, ()) = tokio::join!(ground.forge.merge(&ground.pr, &req), notices);
    let merged = merged.unwrap();
    assert_eq!(merged.value.pull_request.state, PrState::Merged);
    assert!(!is_guessed(&merged.warnings), "{:?}", merged.warnings);
    let sent = knot.host().requests();
    assert!(
        sent.iter().all(|r| !r.path.contains("putRecord")),
        "{sent:?}"
    );
}
