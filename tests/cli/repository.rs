//! Tests how a command chooses its repository.

use forge_testkit::{GitDir, Identity};

use crate::world::World;

#[test]
fn repository_is_found_by_every_name() {
    let world = World::with_pull();
    let path = world
        .git
        .path()
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    let elsewhere = world.scratch.path("home");
    for repo in [
        path.clone(),
        format!("file://{path}"),
        format!("local:{path}"),
        "../repo".into(),
    ] {
        let text = world
            .forge(&["pr", "list", "-R", &repo])
            .dir(&elsewhere)
            .text();
        assert!(text.starts_with("1\t"), "{repo}: {text}");
    }
    let text = world
        .forge(&["pr", "list"])
        .dir(&elsewhere)
        .env("FORGE_REPO", &path)
        .text();
    assert!(text.starts_with("1\t"), "{text}");
    let text = world.forge(&["pr", "list", "-R", "local:."]).text();
    assert!(text.starts_with("1\t"), "{text}");
}

#[test]
fn repository_is_found_from_a_subdirectory() {
    let world = World::with_pull();
    let text = world
        .forge(&["pr", "list"])
        .dir(world.git.path().join("src"))
        .text();
    assert!(text.starts_with("1\t"), "{text}");
}

#[test]
fn bare_and_sha256_repositories_and_work_trees_are_opened() {
    let world = World::new();
    let bare = GitDir::init(&world.scratch.path("bare.git"), &["--bare"]);
    let sha256 = GitDir::init(&world.scratch.path("sha256"), &["--object-format=sha256"]);
    let linked = world.scratch.path("linked");
    world
        .git
        .run([
            "worktree",
            "add",
            "--quiet",
            "-b",
            "linked",
            linked.to_str().unwrap(),
        ])
        .ok();
    for dir in [bare.path(), sha256.path(), &linked] {
        let git = GitDir::at(dir);
        git.commit("odd/né#1", "Change", &[("a b", Some("x\n"))]);
        // `-R` opens a bare repository only by its exact path.
        let forge = |args: &[&str]| {
            let args = [args, &["-R", "."][..]].concat();
            world.scratch.forge(dir, &Identity::ADA).args(&args)
        };
        forge(&["pr", "create", "-H", "odd/né#1", "-t", "T", "-b", ""]).ok();
        forge(&["pr", "merge", "1", "--squash"]).ok();
        assert_eq!(git.show("main", "a b"), "x\n", "{}", dir.display());
    }
}

/// `safe.bareRepository` restricts the repositories that git discovers, not those that a user
/// names.
#[test]
fn bare_repository_is_accepted_by_path_only() {
    let world = World::new();
    let bare = GitDir::init(&world.scratch.path("bare.git"), &["--bare"]);
    bare.commit("topic", "Change", &[("a", Some("x\n"))]);
    let linked = world.scratch.path("linked");
    let at = linked.to_str().unwrap();
    bare.run(["worktree", "add", "--quiet", at, "topic"]).ok();
    let settings = "[init]\n\tdefaultBranch = main\n[safe]\n\tbareRepository = explicit\n";
    world.scratch.write("home/.gitconfig", settings);

    let named = bare.path().to_str().unwrap();
    let create = [
        "pr", "create", "-R", named, "-H", "topic", "-t", "T", "-b", "",
    ];
    world.forge(&create).ok();
    let list = world.forge(&["pr", "list"]).dir(&linked).text();
    assert!(list.starts_with("1\tT\ttopic\tOPEN\t"), "{list}");
    let merge = ["pr", "merge", "1", "-R", named, "--squash"];
    world.forge(&merge).ok();
    assert_eq!(bare.show("main", "a"), "x\n");

    let below = bare.path().join("refs");
    for out in [
        world.forge(&["pr", "list"]).dir(bare.path()).output(),
        world
            .forge(&["pr", "list", "-R", below.to_str().unwrap()])
            .output(),
    ] {
        let said = out.exits(1).stderr_text();
        assert!(said.contains("safe.bareRepository"), "{said}");
        assert!(said.contains("Recovery: "), "{said}");
    }
}

#[test]
fn unknown_remote_is_named_and_local_is_suggested() {
    let world = World::with_pull();
    world
        .git
        .run(["remote", "add", "origin", "https://git.example.org/o/r.git"])
        .ok();
    let out = world.forge(&["pr", "list"]).output().exits(1);
    let said = out.stderr_text();
    assert!(
        said.contains("git.example.org") && said.contains("'local:.'"),
        "{said}"
    );
    let login = ": forge auth login --host git.example.org --kind github\n";
    assert!(said.ends_with(login), "{said}");
    let text = world.forge(&["pr", "list", "-R", "local:."]).text();
    assert!(text.starts_with("1\t"), "{text}");
}

#[test]
fn command_outside_a_repository_is_refused() {
    let world = World::new();
    let out = world
        .forge(&["pr", "list"])
        .dir(world.scratch.path("home"))
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("Recovery: "), "{out:?}");
}

#[test]
fn too_old_git_is_refused() {
    let world = World::new();
    let old = world
        .scratch
        .write("old-git", "#!/bin/sh\necho git version 2.37.9\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let out = world
        .forge(&["pr", "list", "-R", "."])
        .env("FORGE_GIT", &old)
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("2.38"), "{out:?}");
}

/// Runs the commands of `docs/how-to/git-repositories.md`.
#[test]
fn git_log_alias_of_the_page_hides_events() {
    let world = World::with_pull();
    world.forge(&["pr", "comment", "1", "-b", "Words."]).ok();
    let git = |args: &[&str]| world.git.run(args.iter().copied()).text();
    assert!(git(&["log", "--all", "--format=%s"]).contains("comment: "));
    let alias = "log --exclude='refs/forge/*' --all --oneline --graph";
    git(&["config", "alias.lg", alias]);
    let log = git(&["lg"]);
    assert!(log.contains("Add feature.txt"), "{log}");
    assert!(
        !log.contains("comment: ") && !log.contains("refs/forge"),
        "{log}"
    );
    git(&["config", "log.initialDecorationSet", "all"]);
    let decorated = ["log", "--all", "--decorate", "--oneline"];
    git(&["config", "log.excludeDecoration", "refs/forge/*"]);
    let log = git(&decorated);
    assert!(
        !log.contains("refs/forge") && !log.contains("(forge/"),
        "{log}"
    );
    let page = std::fs::read_to_string(
        forge_testkit::workspace_root().join("docs/how-to/git-repositories.md"),
    );
    let page = page.unwrap();
    assert!(page.contains(&format!("git config alias.lg \"{alias}\"")));
    assert!(page.contains("git config log.excludeDecoration 'refs/forge/*'"));
}
