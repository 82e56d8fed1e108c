use std::process::Stdio;

use forge_testkit::forge_binary;

use crate::world::World;

#[test]
fn version_and_help() {
    let world = World::new();
    let version = world.forge(&["--version"]).output().success();
    assert_eq!(
        version.stdout_text(),
        format!("forge {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(version.stderr_text(), "");
    for args in [
        ["--help"].as_slice(),
        &["pr", "--help"],
        &["pr", "create", "-h"],
    ] {
        let out = world.forge(args).output().success();
        assert!(out.stdout_text().contains("Usage: "), "{out:?}");
    }
}

#[test]
fn it_is_also_a_command_of_git() {
    let world = World::with_pull();
    let mut path = vec![forge_binary().parent().unwrap().to_path_buf()];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let text = world
        .forge(&[
            "-C",
            world.git.path().to_str().unwrap(),
            "forge",
            "pr",
            "list",
        ])
        .program("git")
        .env("PATH", std::env::join_paths(path).unwrap())
        .text();
    assert!(text.starts_with("1\tTitle of feature\t"), "{text}");
}

#[test]
fn completion_for_every_shell() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let text = world.forge(&["completion", shell]).text();
        assert!(text.contains("forge") && text.contains("merge"), "{shell}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let world = World::with_pull();
    let mut child = world
        .forge(&["pr", "view", "1", "--comments"])
        .command()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!(
        out.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    assert!(out.stderr.is_empty());
}

#[test]
fn verbose_says_what_is_asked() {
    let world = World::with_pull();
    let out = world.forge(&["pr", "list", "-v"]).output().success();
    assert!(out.stderr_text().contains("pr.list"), "{out:?}");
    assert!(out.stdout_text().starts_with("1\t"), "{out:?}");
}

#[test]
fn nobody_in_particular_is_told_what_to_set() {
    let world = World::new();
    world.feature("feature");
    let run = [
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ]
    .iter()
    .fold(
        world.forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""]),
        |run, key| run.without_env(key),
    );
    let out = run.output();
    assert!(matches!(out.code, Some(1 | 4)), "{out:?}");
    assert!(out.stderr_text().contains("git config user."), "{out:?}");
}
