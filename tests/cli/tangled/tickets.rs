//! Tests a repository of Tangled 1.0 from a clone.

use forge_tangled_world::Fault;

use super::world::Tangled;

const NEW: &str = "https://tangled.org/alice.test/new";

#[test]
fn pull_request_is_opened_and_merged_from_clone() {
    let t = Tangled::new();
    let repo = t.world.repository_1_0(&t.alice, "new");
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    repo.git.commit("main", "Meanwhile", &[("b", Some("1\n"))]);
    let git = |args: &[&str]| t.scratch.run(forge_testkit::git_program()).args(args);
    git(&["clone", "--quiet", repo.path().to_str().unwrap(), "clone"]).ok();
    let clone = t.scratch.path("clone");
    git(&["remote", "set-url", "origin", NEW]).dir(&clone).ok();
    // The clone has every object, so only its push URL has to be valid.
    let push = ["remote", "set-url", "--push", "origin"];
    let path = repo.path().to_str().unwrap();
    git(&[&push[..], &[path]].concat()).dir(&clone).ok();

    let forge = |args: &[&str]| t.forge_in(clone.clone(), &t.alice, args);

    let made = forge(&["pr", "create", "-H", "topic", "-t", "T", "-b", "B"]);
    let made = made.output().success().says("experimental");
    let url = made.stdout_text().trim().to_owned();
    let merge = ["pr", "merge", "--rebase", &url];
    let elsewhere = t.forge(&t.alice, &merge).output().exits(1);
    let _ = elsewhere.says("no clone of").says("in a clone");
    let squash = ["pr", "merge", "--squash", &url];
    let _ = forge(&squash).output().exits(1).says("Recovery: ");
    assert_eq!(repo.git.log("main", "%s").lines().next(), Some("Meanwhile"));
    let _ = forge(&merge).output().success().says("experimental");
    let log = repo.git.log("main", "%s");
    assert!(log.starts_with("Add a\nMeanwhile\n"), "{log}");
    let view = forge(&["pr", "view", &url, "--json", "state"]);
    assert_eq!(view.output().success().json()["state"], "MERGED");
    let _ = forge(&merge).output().success().says("already merged");
}

#[test]
fn unpushed_branch_is_refused_on_1_0_knot() {
    let t = Tangled::new();
    let repo = t.world.repository_1_0(&t.alice, "new");
    let git = |args: &[&str]| t.scratch.run(forge_testkit::git_program()).args(args);
    git(&["clone", "--quiet", repo.path().to_str().unwrap(), "clone"]).ok();
    let clone = t.scratch.path("clone");
    git(&["remote", "set-url", "origin", NEW]).dir(&clone).ok();
    git(&["switch", "--quiet", "-c", "mine"]).dir(&clone).ok();
    let who = [
        "-c",
        "user.name=Alice",
        "-c",
        "user.email=alice@example.org",
    ];
    t.scratch.write("clone/a", "1\n");
    git(&["add", "a"]).dir(&clone).ok();
    let commit = ["commit", "--quiet", "-m", "Add a"];
    git(&[&who[..], &commit].concat()).dir(&clone).ok();
    let create = ["pr", "create", "-t", "T", "-b", "B"];
    let refused = t.forge_in(clone, &t.alice, &create).output().exits(1);
    let said = refused.stderr_text();
    assert!(said.contains("has no branch 'mine'"), "{said}");
    assert!(
        said.contains("git push -u origin mine:refs/heads/mine"),
        "{said}"
    );
    assert!(!said.contains("from this clone"), "{said}");
}

#[test]
fn unreadable_collaborators_are_a_warning() {
    let t = Tangled::new();
    let _ = t.world.repository_1_0(&t.alice, "new");
    let refused = Fault::error(403, "Forbidden", "No.");
    let refused = refused.about("org.tangled.graph.collaborator").always();
    t.world.knot().host().fault(refused);
    let args = ["capabilities", "-R", "tangled:alice.test/new"];
    let said = t.forge(&t.bob, &args).output().success();
    let _ = said
        .says("warning: the collaborators of ")
        .says("No. (Forbidden)");
}
