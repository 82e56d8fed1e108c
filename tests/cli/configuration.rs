use std::process::Command;

use crate::{
    hub::{Hub, REPO},
    world::World,
};

#[test]
fn config_key_is_set_printed_and_unset() {
    let world = World::new();
    world
        .forge(&["config", "set", "merge.method", "squash"])
        .ok();
    assert_eq!(
        world.forge(&["config", "get", "merge.method"]).text(),
        "squash\n"
    );
    let list = world.forge(&["config", "list"]).text();
    assert!(
        list.lines()
            .any(|l| l.starts_with("merge.method\tsquash\t")),
        "{list}"
    );
    world.forge(&["config", "unset", "merge.method"]).ok();
    assert_ne!(
        world
            .forge(&["config", "get", "merge.method"])
            .output()
            .stdout_text(),
        "squash\n"
    );
}

#[test]
fn configuration_sources_have_precedence() {
    let world = World::new();
    let set = |args: &[&str]| world.forge(&["config", "set"]).args(args).ok();
    let get = |key: &str| world.forge(&["config", "get", key]);
    set(&["merge.method", "squash"]);
    set(&["merge.method", "rebase", "--repo"]);
    assert_eq!(get("merge.method").text(), "rebase\n");
    set(&["timeout_s", "10"]);
    assert_eq!(get("timeout_s").text(), "10\n");
    let run = get("timeout_s").env("FORGE_TIMEOUT", "30");
    assert_eq!(run.text(), "30\n");
}

#[test]
fn unknown_key_suggests_the_nearest() {
    let world = World::new();
    let out = world
        .forge(&["config", "set", "merge.methd", "squash"])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("merge.method"), "{out:?}");
    let out = world
        .forge(&["config", "set", "merge.method", "squish"])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("squash"), "{out:?}");
    world.scratch.write(
        "home/.config/forge/config.toml",
        "[merge]\nmethdo = \"squash\"\n",
    );
    let out = world.forge(&["config", "validate"]).output();
    let said = format!("{}{}", out.stdout_text(), out.stderr_text());
    assert!(
        said.contains("merge.method") && said.contains("2:"),
        "{said}"
    );
}

#[test]
fn config_set_keeps_comments_of_the_file() {
    let world = World::new();
    let file = world.scratch.write(
        "home/.config/forge/config.toml",
        "# mine\n[merge]\n# squash is best\nmethod = \"squash\"\n",
    );
    world
        .forge(&["config", "set", "merge.method", "rebase"])
        .ok();
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(
        text,
        "# mine\n[merge]\n# squash is best\nmethod = \"rebase\"\n"
    );
}

#[test]
fn repository_cannot_choose_hosts_or_commands() {
    let world = World::with_pull();
    for file in [
        "pager = \"touch owned\"\n",
        "editor = \"touch owned\"\n",
        "browser = \"touch owned\"\n",
        "default_host = \"evil.example\"\n",
        "[hosts.\"github.com\"]\napi_url = \"https://evil.example\"\n",
        "token = \"x\"\n[pr\n",
    ] {
        world.scratch.write("repo/.forge.toml", file);
        let out = world.forge(&["config", "validate"]).output().exits(1);
        let said = format!("{}{}", out.stdout_text(), out.stderr_text());
        assert!(said.contains(".forge.toml"), "{file}: {said}");
        let out = world.forge(&["pr", "list"]).output();
        assert!(!out.stdout_text().contains("evil"), "{out:?}");
        assert!(!world.git.path().join("owned").exists(), "{file}");
    }
}

#[test]
fn many_unknown_keys_give_few_warnings() {
    let world = World::with_pull();
    let keys: String = (0..5_000).map(|n| format!("key_{n} = 1\n")).collect();
    world.scratch.write("repo/.forge.toml", &keys);
    let said = world.forge(&["pr", "list"]).output().success();
    let said = said.stderr_text();
    let warnings = said.lines().filter(|line| line.contains(".forge.toml:"));
    assert_eq!(warnings.count(), 21, "{said}");
    assert!(said.contains("and 4980 more problems"), "{said}");
}

/// Every key that a repository's file must not set, each with a harmful value.
const FORBIDDEN: &str = "timeout_s = 1
wait_s = 86400
default_host = \"evil.example\"
pager = \"touch owned\"
[merge]
delete_branch = true
[hosts.\"github.com\"]
api_url = \"https://evil.example\"
";

#[test]
fn user_only_keys_in_repository_config_are_ignored() {
    let world = World::with_pull();
    world.scratch.write("repo/.forge.toml", FORBIDDEN);
    for (key, value) in [
        ("timeout_s", "120\n"),
        ("wait_s", "10\n"),
        ("default_host", "github.com\n"),
        ("merge.delete_branch", "false\n"),
    ] {
        assert_eq!(world.forge(&["config", "get", key]).text(), value);
    }
    let out = world.forge(&["pr", "merge", "1", "-s"]).output().success();
    let said = out.stderr_text();
    for at in ["1:1", "2:1", "3:1", "4:1", "6:1", "8:1"] {
        assert!(
            said.contains(&format!(".forge.toml:{at}: ")),
            "{at}: {said}"
        );
    }
    assert!(said.contains("the line is ignored"), "{said}");
    assert!(world.git.oid("feature").is_some(), "the branch is deleted");
}

/// Makes `.forge.toml` unusable; `how` names the way.
fn break_file(world: &World, how: &str) {
    let file = world.git.path().join(".forge.toml");
    let _ = std::fs::remove_file(&file);
    let link = |to: &str| std::os::unix::fs::symlink(to, &file).unwrap();
    match how {
        "no TOML" => std::fs::write(&file, "pr = [").unwrap(),
        "wrong type" => std::fs::write(&file, "pr.draft = 7").unwrap(),
        "no UTF-8" => std::fs::write(&file, b"\xff\xfe").unwrap(),
        "huge" => std::fs::write(&file, vec![b'#'; 2 << 20]).unwrap(),
        "link" => link("/etc/passwd"),
        "device" => link("/dev/zero"),
        "loop" => link(".forge.toml"),
        "directory" => std::fs::create_dir(&file).unwrap(),
        "FIFO" => {
            let made = Command::new("mkfifo").arg(&file).status().unwrap();
            assert!(made.success());
        }
        how => panic!("{how}"),
    }
}

#[test]
fn broken_repository_config_affects_no_other_repository() {
    let hub = Hub::with_pull();
    for how in [
        "no TOML",
        "wrong type",
        "no UTF-8",
        "huge",
        "link",
        "device",
        "loop",
        "FIFO",
        "directory",
    ] {
        let (world, other) = (World::with_pull(), World::with_pull());
        break_file(&world, how);
        let url = other.url(1);
        let path = other.git.path().to_str().unwrap();
        for args in [
            ["--version"].as_slice(),
            &["config", "list"],
            &["config", "get", "merge.method"],
            &["completion", "bash"],
            &["pr", "list"],
            &["pr", "view", "1"],
            &["pr", "list", "-R", path],
            &["pr", "view", &url],
            &["pr", "comment", &url, "-b", "Said."],
            &["pr", "merge", &url, "--squash"],
        ] {
            let out = world.forge(args).output();
            assert!(
                out.code == Some(0) || args[1] == "get",
                "{how}: {args:?} {out:?}"
            );
            let warned = out.stderr_text().contains(".forge.toml");
            let foreign = args.contains(&"-R") || args.contains(&&*url);
            assert!(!(warned && foreign), "{how}: {args:?} {out:?}");
        }
        let far = hub.as_ada(world.forge(&["pr", "comment", "1", "-b", "Said.", "-R", REPO]));
        far.ok();
        // A command that needs a key from the file reports what is wrong with the file.
        let out = world.forge(&["pr", "merge", "1"]).output().exits(1);
        assert!(
            out.stderr_text().contains(".forge.toml:1:"),
            "{how}: {out:?}"
        );
        assert_eq!(world.json("1", "state")["state"], "OPEN", "{how}");
    }
}

#[test]
fn repository_config_affects_no_other_repository() {
    let (world, other) = (World::with_pull(), World::with_pull());
    world
        .scratch
        .write("repo/.forge.toml", "[merge]\nmethod = \"squash\"\n");
    let out = world
        .forge(&["pr", "merge", &other.url(1)])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("--merge"), "{out:?}");
    world.forge(&["pr", "merge", "1"]).ok();
}

/// The git configuration of a stranger's repository sets `key` to `value`.
#[test]
fn unknown_host_in_git_config_gets_no_token() {
    let hub = Hub::new();
    let world = World::new();
    for (key, value) in [
        ("forge.repo", "https://evil.example/octo/tools"),
        ("forge.repo", "https://github.localhost:8443/octo/tools"),
        (
            "forge.repo",
            "https://github.localhost@evil.example/octo/tools",
        ),
        ("remote.origin.url", "https://evil.example/octo/tools"),
        (
            "remote.origin.url",
            "https://github.localhost.evil.example/octo/tools",
        ),
        ("remote.origin.url", "ssh://git@evil.example/octo/tools"),
        ("remote.origin.gh-resolved", "evil.example/octo/tools"),
        (
            "url.https://evil.example/.insteadOf",
            "https://github.localhost/",
        ),
    ] {
        world
            .git
            .run([
                "config",
                "remote.origin.url",
                "https://github.localhost/octo/tools",
            ])
            .ok();
        world.git.run(["config", key, value]).ok();
        hub.double.reset_record();
        let run = hub.as_ada(world.forge(&["pr", "list"]));
        let out = run.output().exits(1);
        assert_eq!(hub.double.counts().api, 0, "{key}={value}: {out:?}");
        let said = out.stderr_text();
        let unknown = said.contains("known host") || said.contains("no forge is known at");
        assert!(unknown, "{key}={value}: {said}");
        world.git.run(["config", "--unset-all", key]).ok();
    }
}
