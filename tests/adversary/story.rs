//! The attack as it was reported: a user asks an agent about a directory of a clone, or for a diff.

use std::{fs, os::unix::fs::PermissionsExt as _};

use forge_testkit::{CANARY, Identity, Run, git_program};
use serde_json::json;

use crate::{
    places::{Kind, Place, pulls},
    plant::Variant,
    trust::{Purpose, allows},
    world::{Called, LEGACY, MODERN, Wire, World},
};

/// Returns a clone with the files of a bare repository in its directory `docs`, and a path. The
/// bare repository configures a command that would write a file at this path.
fn clone_with_docs(world: &World) -> (std::path::PathBuf, std::path::PathBuf) {
    let (origin, log) = (
        world.scratch.repository("origin"),
        world.scratch.path("log"),
    );
    let docs = origin.path().join("docs");
    let git = |args: &[&str]| Run::new(git_program(), origin.path()).args(args).ok();
    git(&[
        "clone",
        "-q",
        "--bare",
        world.git.path().to_str().unwrap(),
        "docs",
    ]);
    git(&[
        "-C",
        "docs",
        "fetch",
        "-q",
        "origin",
        "refs/forge/*:refs/forge/*",
    ]);
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\
         \tfsmonitor = \"env >>'{}'; false\"\n",
        log.display()
    );
    fs::write(docs.join("config"), config).unwrap();
    let hook = docs.join("hooks/reference-transaction");
    fs::create_dir_all(docs.join("hooks")).unwrap();
    fs::write(&hook, format!("#!/bin/sh\nenv >>'{}'\n", log.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    // git does not track empty directories.
    fs::write(docs.join("refs/keep"), "").unwrap();
    origin.run(["add", "-A", "-f"]).ok();
    origin.run(["commit", "-q", "-m", "Documentation"]).ok();
    let clone = world.scratch.path("clone");
    git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let _ = fs::remove_file(&log);
    (clone, log)
}

/// Starts a server in `dir` as the user, with a token for GitHub.
fn server(world: &World, dir: &std::path::Path, era: &str, args: &[&str]) -> Wire {
    let run = world
        .scratch
        .forge(dir, &Identity::GRACE)
        .env("GH_TOKEN", format!("gho_{CANARY}"))
        .env("FORGE_MCP_TOKEN", format!("mcp_{CANARY}"))
        .arg("mcp");
    Wire::start(&run.args(args), era)
}

#[test]
fn mcp_tools_in_embedded_repository_run_no_command() {
    let world = pulls();
    let (clone, log) = clone_with_docs(&world);
    for (era, args) in [(LEGACY, &[][..]), (MODERN, &["--write"])] {
        let mut wire = server(&world, &clone, era, args);
        for include in ["files", "commits"] {
            let about = json!({"repo": "./docs", "number": 1, "include": [include]});
            let answer = wire.call("pr_view", about);
            assert_eq!(answer.0["isError"], json!(true), "{}", answer.text());
        }
        wire.call("pr_diff", json!({"repo": "./docs", "number": 1}));
        if !args.is_empty() {
            let comment = json!({"repo": "./docs", "number": 1, "body": "Text."});
            wire.call("pr_comment", comment);
            wire.call("pr_merge", json!({"repo": "./docs", "number": 2}));
        }
        wire.end();
        assert!(!log.exists(), "a command of the repository ran");
    }
}

#[test]
fn mcp_diff_of_missing_object_suggests_git_fetch() {
    let origin = pulls();
    let mut place = Place::new(&origin, Kind::Repository, Variant::Promisor);
    let repo = place.named[1].clone();
    for era in [LEGACY, MODERN] {
        let mut wire = Wire::start(&place.forge(&["mcp"]), era);
        let diff = json!({"repo": repo, "number": 1});
        let Called(answer) = wire.call("pr_diff", diff);
        wire.end();
        let seen = place.canaries.sightings();
        assert!(
            seen.iter().all(|seen| allows(Purpose::Guarded, seen)),
            "{seen:?}"
        );
        assert_eq!(answer["isError"], json!(true), "{answer}");
        assert!(answer.to_string().contains("git fetch"), "{answer}");
    }
}

/// A partial clone fetches missing objects when git needs them, and its remote may be a program.
#[test]
fn diff_in_named_repository_fetches_no_objects() {
    let origin = pulls();
    let mut place = Place::new(&origin, Kind::Repository, Variant::Promisor);
    let repo = place.named[1].clone().unwrap();
    let inside = place.cwd.clone();
    place.cwd = inside.parent().unwrap().to_owned();
    let named = place
        .forge(&["pr", "diff", "1", "-R", &repo])
        .output()
        .exits(1)
        .stderr_text();
    let seen = place.canaries.sightings();
    assert!(seen.is_empty(), "{seen:?}");
    assert!(named.contains("git fetch"), "{named}");
    place.cwd = inside;
    let _ = place.forge(&["pr", "diff", "1"]).output();
    let seen = place.canaries.sightings();
    assert!(!seen.is_empty());
    assert!(
        seen.iter().all(|seen| allows(Purpose::PersonReads, seen)),
        "{seen:?}"
    );
}
