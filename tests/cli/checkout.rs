//! Tests `pr checkout`: which branch or work tree gets the head commit, and that local work
//! survives.

use std::fs;

use forge_testkit::GitDir;

use crate::world::World;

/// Returns the name of the checked-out branch, or `HEAD` if the head is detached.
fn branch(world: &World) -> String {
    let args = ["rev-parse", "--abbrev-ref", "HEAD"];
    world.git.run(args).text().trim().to_owned()
}

fn oid(world: &World, name: &str) -> String {
    let args = ["rev-parse", name];
    world.git.run(args).text().trim().to_owned()
}

#[test]
fn checkout_in_the_repository_switches_to_the_head_branch() {
    let world = World::with_pull();
    world.switch("main");
    world.forge(&["pr", "checkout", "1"]).ok();
    assert_eq!(branch(&world), "feature");
    assert!(world.git.path().join("feature.txt").exists());
    world.switch("main");
    world.forge(&["co", "1", "--detach"]).ok();
    assert_eq!(branch(&world), "HEAD");
    assert_eq!(oid(&world, "HEAD"), oid(&world, "feature"));
}

#[test]
fn checkout_recreates_deleted_branch() {
    let world = World::with_pull();
    world.switch("main");
    let head = oid(&world, "feature");
    world.git.run(["branch", "--quiet", "-D", "feature"]).ok();
    world.forge(&["pr", "checkout", "1", "-b", "again"]).ok();
    assert_eq!(branch(&world), "again");
    assert_eq!(oid(&world, "again"), head);
}

#[test]
fn checkout_keeps_uncommitted_changes() {
    let world = World::with_pull();
    world.switch("main");
    let file = world.git.path().join("feature.txt");
    fs::write(&file, "mine\n").unwrap();
    let run = world.forge(&["pr", "checkout", "1", "--force"]).output();
    let _ = run.exits(1);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
    assert_eq!(branch(&world), "main");
}

#[test]
fn checkout_over_other_commits_needs_force() {
    let world = World::with_pull();
    let head = oid(&world, "feature");
    world.switch("main");
    let other = world.git.commit("mine", "Other", &[("o.txt", Some("o\n"))]);
    let run = world.forge(&["pr", "checkout", "1", "-b", "mine"]).output();
    let run = run.exits(1);
    let _ = run.says(&other).says(&head).says("--force");
    assert_eq!(oid(&world, "mine"), other);
    world
        .forge(&["pr", "checkout", "1", "-b", "mine", "-f"])
        .ok();
    assert_eq!(oid(&world, "mine"), head);
}

#[test]
fn checkout_into_new_work_tree_switches_no_branch() {
    let world = World::with_pull();
    world.switch("main");
    let path = world.scratch.path("beside");
    let path = path.to_str().unwrap();
    world
        .forge(&["pr", "checkout", "1", "--worktree", path])
        .ok();
    assert_eq!(branch(&world), "main");
    assert!(fs::exists(format!("{path}/feature.txt")).unwrap());
    let used = world.forge(&["pr", "checkout", "1"]).output().exits(1);
    let _ = used.says("Recovery: change to that work tree, or pass `--branch NAME`");
    let args = ["pr", "checkout", "1", "--detach", "--worktree", path];
    let exists = world.forge(&args).output().exits(1);
    let _ = exists.says("Recovery: name another path with `--worktree`");
}

#[test]
fn checkout_with_recurse_submodules_fills_submodules() {
    let world = World::new();
    let config = "[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n";
    world.scratch.write("home/.gitconfig", config);
    let library = world.scratch.repository("library");
    let tip = library.commit("main", "Add lib.txt", &[("lib.txt", Some("lib\n"))]);
    let url = library.path().display();
    let modules = format!("[submodule \"lib\"]\n\tpath = lib\n\turl = {url}\n");
    let stream = format!(
        "commit refs/heads/sub\ncommitter Ada <ada@example.org> 1772366400 +0000\n\
         data 7\nAdd lib\nfrom {}\nM 100644 inline .gitmodules\ndata {}\n{modules}\n\
         M 160000 {tip} lib\n",
        oid(&world, "main"),
        modules.len()
    );
    world.git.import(stream.into_bytes());
    world
        .forge(&["pr", "create", "-H", "sub", "-t", "T", "-b", ""])
        .ok();
    world
        .forge(&["pr", "checkout", "1", "--recurse-submodules"])
        .ok();
    assert!(world.git.path().join("lib/lib.txt").exists());
}

#[test]
fn checkout_in_clone_fetches_and_tracks_head() {
    let world = World::with_pull();
    world.switch("main");
    let from = world.git.path().to_str().unwrap().to_owned();
    let root = world.scratch.path("");
    let git = |args: &[&str]| {
        let run = world.scratch.run(forge_testkit::git_program()).dir(&root);
        run.args(args).text()
    };
    git(&["clone", "--quiet", &from, "clone"]);
    let clone = world.scratch.path("clone");
    let forge = world
        .forge(&["pr", "checkout", "1", "-R", &from])
        .dir(&clone);
    forge.ok();
    let at = clone.to_str().unwrap();
    let said = git(&["-C", at, "status", "--short", "--branch"]);
    assert_eq!(said, "## feature...origin/feature\n");
}

/// git keeps the path of a remote as the user typed it.
#[test]
fn remote_in_any_spelling_is_the_repository() {
    let world = World::with_pull();
    world.switch("main");
    let from = world.git.path().to_str().unwrap();
    let linked = ["worktree", "add", "--quiet", "--detach", "../linked"];
    world.git.run(linked).ok();
    std::os::unix::fs::symlink(from, world.scratch.path("link")).unwrap();
    let path = world.scratch.path("clone");
    let clone = ["clone", "--quiet", from, path.to_str().unwrap()];
    world.git.run(clone).ok();
    let clone = GitDir::at(&path);
    for url in [
        "../repo",
        "./../repo/.git",
        "../link",
        "../linked",
        &format!("{from}/"),
        &format!("{from}/.git"),
        &format!("file://{from}/"),
    ] {
        clone.run(["remote", "set-url", "origin", url]).ok();
        clone.run(["switch", "--quiet", "main"]).ok();
        world.forge(&["pr", "checkout", "1"]).dir(&path).ok();
        let head = clone.run(["rev-parse", "--abbrev-ref", "HEAD"]).text();
        assert_eq!(head, "feature\n", "{url}");
    }
}

#[test]
fn checkout_in_clone_prefers_branch_of_remote() {
    let world = World::with_pull();
    world.switch("main");
    let from = world.git.path().to_str().unwrap().to_owned();
    let root = world.scratch.path("");
    let git = |args: &[&str]| {
        let run = world.scratch.run(forge_testkit::git_program()).dir(&root);
        run.args(args).text()
    };
    git(&["clone", "--quiet", &from, "clone"]);
    let newer = world.git.commit("feature", "More", &[("m", Some("m\n"))]);
    let heads = "+refs/heads/*:refs/remotes/origin/*";
    let pulls = "refs/forge/pulls/*:refs/forge/pulls/*";
    git(&["-C", "clone", "fetch", "--quiet", "origin", heads, pulls]);
    let checkout = world.forge(&["pr", "checkout", "1", "-R", "local:."]);
    checkout.dir(world.scratch.path("clone")).ok();
    assert_eq!(git(&["-C", "clone", "rev-parse", "feature"]).trim(), newer);
}

#[test]
fn checkout_over_branch_with_other_upstream_is_refused() {
    let world = World::with_pull();
    world.switch("main");
    let from = world.git.path().to_str().unwrap().to_owned();
    let root = world.scratch.path("");
    let git = |args: &[&str]| {
        let run = world.scratch.run(forge_testkit::git_program()).dir(&root);
        run.args(args).text()
    };
    git(&["clone", "--quiet", &from, "clone"]);
    let clone = world.scratch.path("clone");
    let at = clone.to_str().unwrap();
    git(&[
        "-C",
        at,
        "branch",
        "--quiet",
        "--track",
        "feature",
        "origin/main",
    ]);
    let before = git(&["-C", at, "rev-parse", "feature"]);
    let checkout = |more: &[&str]| {
        let args = [&["pr", "checkout", "1", "-R", &from], more].concat();
        world.forge(&args).dir(&clone)
    };
    let refused = checkout(&[]).output().exits(1);
    let refused = refused.says("follows refs/heads/main of origin");
    let _ = refused
        .says("--branch NAME")
        .says("--detach")
        .says("--force");
    assert_eq!(git(&["-C", at, "rev-parse", "feature"]), before);
    checkout(&["--branch", "feature"]).ok();
    assert_ne!(git(&["-C", at, "rev-parse", "feature"]), before);
}

#[test]
fn checkout_outside_clone_is_refused_with_recovery() {
    let world = World::with_pull();
    let from = world.git.path().to_str().unwrap().to_owned();
    let other = world.scratch.repository("other");
    let run = world.forge(&["pr", "checkout", "1", "-R", &from]);
    let run = run.dir(other.path()).output().exits(1);
    let _ = run.says("is not a clone of").says("git clone");
}

#[test]
fn checkout_without_selector_or_terminal_is_refused() {
    let world = World::with_pull();
    let run = world.forge(&["pr", "checkout"]).output().exits(1);
    let _ = run.says("number, URL, or branch required");
}
