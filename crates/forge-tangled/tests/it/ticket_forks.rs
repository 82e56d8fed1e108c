//! Tangled 1.0: changes from forks, and the requests to knots.

use forge_core::{
    PageReq, PullRequests, RepoPath, Repos,
    model::{CreatePull, DiffReq, HeadRef, PrFields, Resubmit},
};
use forge_tangled_world::Fault;

use crate::stage::{PASSWORD, Stage};

fn from(owner: &str, branch: &str) -> CreatePull {
    let mut req = CreatePull::new(branch, "From a fork");
    req.head = HeadRef::in_fork(owner, branch);
    req
}

#[tokio::test]
async fn fork_branch_is_opened_and_resubmitted() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let fork = stage.world.fork_1_0(&repo, &carol);
    fork.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let forge = stage.tangled(&carol);
    let made = forge
        .create(&id, &from("carol.test", "topic"))
        .await
        .unwrap()
        .value;
    assert_eq!(
        made.head_repo.unwrap().path,
        RepoPath::Did(fork.did.clone())
    );
    assert_eq!(made.head_oid, fork.git.oid("topic"));
    assert_eq!(made.author.login, "carol.test");
    let patches = stage
        .world
        .knot()
        .records(&repo.did, "org.tangled.review.patch");
    assert_eq!(patches[0].2["source"]["repo"], fork.did.as_str());
    let files = forge.view(&made.id, PrFields::FILES).await.unwrap().files;
    assert_eq!(files.unwrap()[0].path, "a");
    let twin = forge.create(&id, &from("carol.test", "topic")).await;
    assert_eq!(twin.unwrap_err().code(), "already_exists");

    // The upstream has new commits that the fork lacks, so their merge base is unknown.
    repo.git
        .commit("main", "Upstream", &[("upstream", Some("x\n"))]);
    let head = fork.git.commit("topic", "Add b", &[("b", Some("1\n"))]);
    let e = forge
        .resubmit(&made.id, &Resubmit::default())
        .await
        .unwrap_err();
    assert!(
        e.hint()
            .unwrap()
            .text()
            .contains("bring the fork up to date"),
        "{e:?}"
    );
    let path = repo.path().to_string_lossy().into_owned();
    fork.git.run(["fetch", "-q", &path, "+main:main"]).ok();
    let round = forge
        .resubmit(&made.id, &Resubmit::default())
        .await
        .unwrap();
    assert_eq!(round.value.head_oid, Some(head));
    assert_eq!(round.value.rounds, Some(2));

    // A round of another account would not count, so it is not sent.
    fork.git.commit("topic", "Add c", &[("c", Some("1\n"))]);
    let own = stage.tangled(&stage.alice);
    let e = own.resubmit(&made.id, &Resubmit::default()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "permission_denied", "{e:?}");
    assert!(e.message().contains("of carol.test, and a round"), "{e:?}");
    let patches = stage
        .world
        .knot()
        .records(&repo.did, "org.tangled.review.patch");
    assert_eq!(patches.len(), 2);

    // A branch of the same name in the repository itself is another branch.
    repo.git.commit("topic", "Add c", &[("c", Some("1\n"))]);
    assert!(
        own.create(&id, &CreatePull::new("topic", "Own"))
            .await
            .is_ok()
    );
    let old = stage.world.repository(&carol, "old");
    old.git.commit("topic", "Add", &[("a", Some("1\n"))]);
    let mut req = from("carol.test", "topic");
    req.head.repo = Some("old".into());
    let e = forge.create(&id, &req).await.unwrap_err();
    assert!(e.message().contains("protocol of 2026"), "{e}");
}

#[tokio::test]
async fn branches_are_read_over_git_without_2026_methods() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    repo.git.commit("topic", "Add b", &[("b", Some("1\n"))]);
    let forge = stage.tangled(&stage.alice);
    let known = forge.repo(&id).await.unwrap();
    assert_eq!(known.default_branch.as_deref(), Some("main"));
    let branches = forge.branches(&id, PageReq::first(9)).await.unwrap().items;
    let names: Vec<_> = branches.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["main", "topic"]);
    assert_eq!(Some(branches[1].oid.clone()), repo.git.oid("topic"));
    let host = stage.world.knot().host();
    host.reset_record();
    let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
    let pr = made.unwrap().value.id;
    let view = forge.view(&pr, PrFields::STATS).await.unwrap();
    assert_eq!(view.changed_files, Some(2));
    assert!(view.warnings.is_empty(), "{:?}", view.warnings);
    // Two commits on one file are shown as separate diffs, with a warning.
    repo.git.commit("topic", "Change a", &[("a", Some("2\n"))]);
    forge.resubmit(&pr, &Resubmit::default()).await.unwrap();
    let diff = forge.diff(&pr, &DiffReq::default()).await.unwrap();
    let told = &diff.warnings[0].message;
    assert!(told.contains("commit by commit"), "{told}");
    let asked = host.requests();
    let old = asked.iter().filter_map(|r| r.method());
    let old: Vec<_> = old.filter(|m| m.starts_with("sh.tangled.")).collect();
    assert!(old.is_empty(), "{old:?}");
    assert!(asked.iter().any(|r| r.path.ends_with("/info/refs")));
}

#[tokio::test]
async fn git_redirect_is_refused_and_quoted() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let other = stage.world.repository_1_0(&stage.bob, "other");
    let host = stage.world.knot().host();
    let forge = stage.tangled(&stage.alice);
    let elsewhere = format!(
        "{}/{}/info/refs?service=git-upload-pack",
        host.url(),
        other.did
    );
    let path = format!("/{}/info/refs", repo.did);
    for fault in [
        Fault::answer(302, &[("location", &elsewhere)], ""),
        Fault::answer(401, &[("www-authenticate", "Basic realm=\"x\"")], ""),
        Fault::gateway(502),
    ] {
        host.fault(fault.on_path(&path));
        let e = forge.branches(&id, PageReq::first(9)).await.unwrap_err();
        assert!(e.message().contains("could not be read"), "{e}");
        assert!(e.hint().unwrap().text().contains("git ls-remote"), "{e:?}");
    }
    let branches = forge.branches(&id, PageReq::first(9)).await.unwrap();
    assert_eq!(branches.items.len(), 2);
}
