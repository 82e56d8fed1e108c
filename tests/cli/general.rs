use std::process::Stdio;

use forge_testkit::forge_binary;

use crate::world::World;

#[test]
fn version_and_help_are_printed() {
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
fn forge_runs_as_git_subcommand() {
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
fn completion_supports_every_shell() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = world.forge(&["completion", shell]).text();
        assert!(text.contains("forge") && text.contains("merge"), "{shell}");
        // The scripts call `forge __complete`, but do not offer it as a candidate.
        let offered = text.replace("forge __complete", "");
        assert!(!offered.contains("__complete"), "{shell}");
    }
}

#[test]
fn completion_accepts_the_shell_flag_of_gh() {
    let world = World::new();
    let bash = world.forge(&["completion", "bash"]).text();
    for args in [
        &["completion", "-s", "bash"][..],
        &["completion", "--shell=bash"],
        &["completion"],
    ] {
        assert_eq!(world.forge(args).text(), bash, "{args:?}");
    }
    assert_eq!(
        world.forge(&["completion", "-s", "nosuch"]).output().code,
        Some(1)
    );
    for (shell, part) in [
        ("bash", "complete -F _forge_candidates"),
        ("bash", "\"pr co\""),
        ("bash", "\"co \"*) what=pulls"),
        ("zsh", ":_forge_pulls'"),
        ("zsh", ":branch:_forge_branches'"),
        ("fish", "(forge __complete pulls 2>/dev/null)"),
    ] {
        let script = world.forge(&["completion", shell]).text();
        assert!(script.contains(part), "{shell}: {part}");
    }
}

#[test]
fn completion_candidates_are_numbers_and_branches() {
    let world = World::with_pull();
    world
        .forge(&["issue", "create", "-t", "It leaks", "-b", ""])
        .ok();
    let candidates = |what: &str| world.forge(&["__complete", what]).text();
    assert_eq!(candidates("pulls"), "1\tTitle of feature\n");
    assert!(candidates("issues").ends_with("\tIt leaks\n"));
    world.git.set_branch("$(touch${IFS}pwned)", "main");
    let branches = candidates("branches");
    for name in ["$(touch${IFS}pwned)", "feature", "main"] {
        assert!(branches.lines().any(|line| line == name), "{branches}");
    }
    assert!(!world.forge(&["--help"]).text().contains("__complete"));
}

/// Completion treats a branch name that a shell would evaluate as plain text.
#[test]
fn completion_does_not_evaluate_branch_names() {
    let world = World::with_pull();
    world.git.set_branch("$(touch${IFS}pwned)", "main");
    let script = world.forge(&["completion", "bash"]).text();
    let file = world.scratch.write("forge.bash", script);
    let dir = forge_binary().parent().unwrap().display().to_string();
    let test = format!(
        "PATH='{dir}':$PATH; . '{}'; COMP_WORDS=(forge pr create --base ''); COMP_CWORD=4; \
         _forge_candidates forge '' --base; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        file.display()
    );
    let run = world.forge(&["-c", &test]).program("bash");
    let shown = run.text();
    assert!(shown.lines().any(|line| line == "feature"), "{shown}");
    assert!(shown.contains("\\$\\(touch"), "{shown}");
    assert!(!world.git.path().join("pwned").exists());
}

#[test]
fn help_and_version_are_commands() {
    let world = World::new();
    let told = |args: &[&str]| world.forge(args).text();
    assert_eq!(told(&["version"]), told(&["--version"]));
    assert_eq!(told(&["help"]), told(&["--help"]));
    assert_eq!(
        told(&["help", "pr", "create"]),
        told(&["pr", "create", "--help"])
    );
    assert_eq!(
        told(&["help", "pr create"]),
        told(&["pr", "create", "--help"])
    );
    let topics = "\n\nTopics of forge help: environment, exit-codes,";
    assert!(told(&["help"]).contains(topics));
    for (topic, part) in [
        ("environment", "- `NO_COLOR`: "),
        ("exit-codes", "\n| 4 | no credentials"),
        ("formatting", "`--template` has no `regexMatch`"),
        ("reference", "\n## forge pr create\n"),
    ] {
        let text = told(&["help", topic]);
        assert!(text.contains(part), "{text}");
    }
    let no = world.forge(&["help", "pr", "nosuch"]).output().exits(1);
    assert!(
        no.stderr_text().contains("there is no command 'pr nosuch'"),
        "{no:?}"
    );
}

#[test]
fn closed_stdout_is_not_a_failure() {
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
fn verbose_logs_each_operation() {
    let world = World::with_pull();
    let out = world.forge(&["pr", "list", "-v"]).output().success();
    assert!(out.stderr_text().contains("pr.list"), "{out:?}");
    assert!(out.stdout_text().starts_with("1\t"), "{out:?}");
}

#[test]
fn missing_git_identity_names_settings() {
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
