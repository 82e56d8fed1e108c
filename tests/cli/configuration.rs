use crate::world::World;

#[test]
fn set_get_and_unset() {
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
fn a_repositorys_file_wins_over_the_users_and_a_variable_over_both() {
    let world = World::new();
    world.forge(&["config", "set", "timeout_s", "10"]).ok();
    world
        .forge(&["config", "set", "timeout_s", "20", "--repo"])
        .ok();
    assert_eq!(world.forge(&["config", "get", "timeout_s"]).text(), "20\n");
    let run = world
        .forge(&["config", "get", "timeout_s"])
        .env("FORGE_TIMEOUT", "30");
    assert_eq!(run.text(), "30\n");
}

#[test]
fn near_misses_are_named() {
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
fn comments_survive_a_change() {
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
fn a_repository_cannot_choose_hosts_or_commands() {
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
