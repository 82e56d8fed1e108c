use std::process::Command;

use forge_testkit::{GitDir, forge_binary};

use crate::world::{DATE, World};

/// Returns the lines of the demo that begin with `$ `.
fn lines(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .collect()
}

#[test]
fn demo_shows_pull_request_from_creation_to_merge() {
    let world = World::new();
    let text = world.forge(&["demo"]).text();
    for part in [
        "forge pr create",
        "forge pr review",
        "forge pr diff",
        "conflicts with",
        "forge pr merge",
        "MERGED",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[cfg(unix)]
#[test]
fn demo_commands_in_a_shell_make_equal_refs() {
    let world = World::new();
    let text = world.forge(&["demo", "--keep"]).text();
    let kept = text.lines().last().unwrap().rsplit(' ').next().unwrap();
    let typed = world.scratch.path("typed");
    std::fs::create_dir(&typed).unwrap();
    let mut path = vec![forge_binary().parent().unwrap().to_path_buf()];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let path = std::env::join_paths(path).unwrap();
    let lines = lines(&text);
    assert!(lines.len() >= 12, "{lines:?}");
    for line in lines {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", line])
            .current_dir(&typed)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", world.scratch.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", DATE)
            .env("GIT_COMMITTER_DATE", DATE);
        if let Some(git) = std::env::var_os("FORGE_GIT") {
            shell.env("FORGE_GIT", git);
        }
        // A command of the demo fails on purpose, so the test compares the refs and ignores the
        // exit code.
        let _ = shell.output().unwrap();
    }
    let refs = |dir: &std::path::Path| {
        GitDir::at(dir)
            .run(["for-each-ref", "--format=%(refname) %(objectname)"])
            .text()
    };
    let shown = refs(std::path::Path::new(kept));
    assert!(shown.contains("refs/forge/pulls/1"), "{shown}");
    assert_eq!(refs(&typed), shown);
    std::fs::remove_dir_all(kept).unwrap();
}
