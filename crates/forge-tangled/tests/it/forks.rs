//! Pull requests from forks: which fork is meant, its commits, and new rounds.

use std::sync::Arc;

use forge_core::{
    Action, Arg, Client, Param, Policy, PullRequests, Repo, RepoPath,
    model::{CreatePull, DiffReq, HeadRef, MergeReq, PrFields, Resubmit},
};
use forge_tangled_world::{Account, KnotOptions, Repository};
use futures::StreamExt as _;

use crate::stage::{PASSWORD, Stage, action};

const PULL: &str = "sh.tangled.repo.pull";
const AS_PATCH: Action = Action::again(&[(Param::Head, Arg::Omit), (Param::Patch, Arg::Choose)]);

/// Creates Carol, who has no push access to the repository.
fn carol(stage: &Stage) -> (Account, Repo) {
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let client = Client::new(Arc::new(stage.tangled(&carol)), Policy::default());
    let repo = client.repo(stage.id());
    (carol, repo)
}

fn from(owner: &str, name: Option<&str>, branch: &str) -> CreatePull {
    let mut req = CreatePull::new(branch, "From a fork");
    req.head = HeadRef::in_fork(owner, branch);
    req.head.repo = name.map(str::to_owned);
    req
}

fn commit(fork: &Repository, file: &str) {
    let message = format!("Add {file}");
    fork.git.commit("topic", &message, &[(file, Some("one\n"))]);
}

#[tokio::test]
async fn fork_branch_is_opened_resubmitted_and_merged() {
    // The fork is on the same knot, or on another knot that has only fetched its objects.
    for elsewhere in [false, true] {
        let stage = Stage::new();
        let (account, repo) = carol(&stage);
        let other = stage.world.another_knot(KnotOptions::default()).unwrap();
        let knot = match elsewhere {
            true => &other,
            false => stage.world.knot(),
        };
        let fork = stage.world.fork_on(knot, &stage.repo, &account, "widget");
        // New upstream commits are not part of the change.
        stage
            .repo
            .git
            .commit("main", "Upstream", &[("upstream", Some("x\n"))]);
        commit(&fork, "one.txt");
        let made = repo.create_pull(&from("carol.test", None, "topic")).await;
        let made = made.unwrap().value;
        assert_eq!(
            made.head_repo.as_ref().unwrap().path,
            RepoPath::Did(fork.did.clone())
        );
        let (_, record) = stage.world.pds().record(&made.node_id).unwrap();
        forge_tangled::lexicon::check(PULL, &record).unwrap();
        assert_eq!(record["source"]["repo"], fork.did.as_str());
        assert_eq!(record["source"]["branch"], "topic");
        assert_eq!(knot.host().count_of("sh.tangled.repo.hiddenRef"), 1);
        let mut diff = repo.diff(&made.id, &DiffReq::default()).await.unwrap().body;
        let mut text = Vec::new();
        while let Some(chunk) = diff.next().await {
            text.extend(chunk.unwrap());
        }
        let text = String::from_utf8(text).unwrap();
        let files: Vec<&str> = text.lines().filter(|l| l.starts_with("+++ ")).collect();
        assert_eq!(files, ["+++ b/one.txt"]);

        let twin = repo.create_pull(&from("carol.test", None, "topic")).await;
        assert_eq!(twin.unwrap_err().code(), "already_exists");
        // Carol rebases onto a commit of the upstream that the fork's own base lacks.
        let upstream = stage.repo.git.path().to_string_lossy().into_owned();
        fork.git
            .run(["fetch", "--quiet", "--", &upstream, "main"])
            .ok();
        fork.git
            .set_branch("topic", &stage.repo.git.oid("main").unwrap());
        commit(&fork, "one.txt");
        commit(&fork, "two.txt");
        let forge = stage.tangled(&account);
        let again = forge.resubmit(&made.id, &Resubmit::default()).await;
        assert_eq!(again.unwrap().value.rounds, Some(2));
        // The fork's knot makes a single diff of two commits, with or without push access.
        let bob = stage.handle(&stage.bob);
        let diff = bob.diff(&made.id, &DiffReq::default()).await.unwrap();
        assert!(diff.warnings.is_empty(), "{:?}", diff.warnings);
        let alice = stage.handle(&stage.alice);
        alice.merge(&made.id, &MergeReq::default()).await.unwrap();
        let files = stage
            .repo
            .git
            .run(["ls-tree", "--name-only", "main"])
            .text();
        assert!(
            files.contains("one.txt") && files.contains("two.txt"),
            "{files}"
        );
        assert!(files.contains("upstream"), "{files}");
    }
}

/// A knot of before August 2026 takes the at-uri of the record, not the DID.
#[tokio::test]
async fn fork_on_old_knot_is_named_by_record() {
    let stage = Stage::new();
    let (account, repo) = carol(&stage);
    let options = KnotOptions {
        capabilities: vec!["knot-acl".to_owned()],
        ..KnotOptions::default()
    };
    let knot = stage.world.another_knot(options).unwrap();
    let fork = stage.world.fork_on(&knot, &stage.repo, &account, "widget");
    commit(&fork, "one.txt");
    let made = repo.create_pull(&from("carol.test", None, "topic")).await;
    assert!(made.is_ok(), "{made:?}");
    assert_eq!(knot.host().count_of("sh.tangled.repo.hiddenRef"), 2);
}

#[tokio::test]
async fn ambiguous_fork_must_be_named() {
    let stage = Stage::new();
    let (account, repo) = carol(&stage);
    let none = repo.create_pull(&from("carol.test", None, "topic")).await;
    let e = none.unwrap_err();
    assert_eq!(e.code(), "invalid_input");
    assert!(e.message().contains("carol.test has no fork of"), "{e}");
    assert_eq!(*action(&e), AS_PATCH);

    let world = &stage.world;
    let first = world.fork_on(world.knot(), &stage.repo, &account, "widget");
    let second = world.fork_on(world.knot(), &stage.repo, &account, "gadget");
    let unrelated = world.repository(&account, "other");
    for it in [&first, &second, &unrelated] {
        commit(it, &format!("{}.txt", it.name));
    }
    let several = repo.create_pull(&from("carol.test", None, "topic")).await;
    let e = several.unwrap_err();
    assert!(
        e.message().contains("carol.test/widget") && e.message().contains("carol.test/gadget"),
        "{e}"
    );
    assert!(!e.message().contains("other"), "{e}");
    assert!(
        e.hint().unwrap().text().contains("carol.test/NAME:BRANCH"),
        "{e}"
    );
    let no_fork = repo
        .create_pull(&from("carol.test", Some("other"), "topic"))
        .await;
    assert!(no_fork.unwrap_err().message().contains("is no fork of"));
    let missing = repo
        .create_pull(&from("carol.test", Some("gadget"), "gone"))
        .await;
    assert!(
        missing
            .unwrap_err()
            .message()
            .contains("has no branch 'gone'")
    );
    assert!(world.pds().records(&account.did, PULL).is_empty());

    let made = repo
        .create_pull(&from("carol.test", Some("gadget"), "topic"))
        .await;
    let made = made.unwrap().value;
    let files = repo.pull(&made.id, PrFields::FILES).await.unwrap().files;
    assert_eq!(files.unwrap()[0].path, "gadget.txt");
    // A branch of the same name in the other fork is a different head.
    let made = repo
        .create_pull(&from("carol.test", Some("widget"), "topic"))
        .await;
    assert!(made.is_ok());
}

#[tokio::test]
async fn fork_is_recognized_by_source_of_record() {
    for source in ["did", "record", "page", "elsewhere"] {
        let stage = Stage::new();
        let (account, repo) = carol(&stage);
        let fork = stage.world.fork(&stage.repo, &account);
        commit(&fork, "one.txt");
        let (_, mut record) = stage.world.pds().record(&fork.uri).unwrap();
        record["source"] = match source {
            "did" => stage.repo.did.clone(),
            "record" => stage.repo.uri.clone(),
            "page" => "https://tangled.org/@alice.test/widget".to_owned(),
            _ => "https://tangled.org/bob.test/widget".to_owned(),
        }
        .into();
        let pds = stage.world.pds();
        pds.put(&account.did, "sh.tangled.repo", "widget", record);
        let made = repo.create_pull(&from("carol.test", None, "topic")).await;
        assert_eq!(made.is_ok(), source != "elsewhere", "{source}: {made:?}");
    }
}

#[tokio::test]
async fn fork_without_push_or_fetch_is_refused() {
    let stage = Stage::new();
    let (account, repo) = carol(&stage);
    let fork = stage.world.fork(&stage.repo, &account);
    commit(&fork, "one.txt");
    let bob = stage.handle(&stage.bob);
    let e = bob.create_pull(&from("carol.test", None, "topic")).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    assert_eq!(*action(&e), AS_PATCH);
    fork.git.run(["remote", "remove", "origin"]).ok();
    let e = repo.create_pull(&from("carol.test", None, "topic")).await;
    let e = e.unwrap_err();
    assert!(e.message().contains("could not fetch 'main'"), "{e}");
    assert_eq!(*action(&e), AS_PATCH);
    for account in [&account, &stage.bob] {
        assert!(stage.world.pds().records(&account.did, PULL).is_empty());
    }
}
