use crate::world::World;

#[test]
fn both_refuse_the_same() {
    let world = World::new();
    world.push("feature");
    world.ok(
        crate::world::Tool::Forge,
        &["pr", "create", "-t", "Title", "-b", "Body"],
    );
    for args in [
        &["pr", "view", "999"][..],
        &["pr", "view", "no-such-branch"],
        &["pr", "view", "-R", "octocat/tools"],
        &["pr", "view", "1", "--json", "nonsense"],
        &["pr", "view", "1", "-R", "octocat/missing"],
        &["pr", "create", "-t", "Again", "-b", "Body"],
        &[
            "pr",
            "create",
            "-t",
            "Title",
            "-b",
            "Body",
            "-H",
            "not-pushed",
        ],
        &["pr", "create", "-t", "Title", "-b", "Body", "-B", "no-base"],
        &["pr", "create", "-t", "Title"],
        &["pr", "edit", "1"],
        &["pr", "edit", "1", "--add-label", "no such label"],
        &["pr", "comment", "1"],
        &["pr", "comment", "1", "--edit-last", "-b", "x"],
        &["pr", "merge", "1"],
        &["pr", "merge", "1", "--merge", "--squash"],
        &["pr", "review", "1", "--approve", "-b", "my own"],
        &["pr", "review", "1"],
        &["pr", "checks", "1"],
    ] {
        world.same_refusal(args);
    }
    world.ok(crate::world::Tool::Forge, &["pr", "merge", "1", "--merge"]);
    for args in [&["pr", "close", "1"][..], &["pr", "reopen", "1"]] {
        world.same_refusal(args);
    }
}

#[test]
fn a_refused_token_is_exit_4_or_1_alike() {
    let world = World::new();
    for tool in [crate::world::Tool::Forge, crate::world::Tool::Gh] {
        let out = world.tool_as(tool, "gho_0canary0nobodyknowsthistoken", &["pr", "list"]);
        assert_ne!(out.code, Some(0), "{out:?}");
        assert!(!out.stderr_text().contains("nobodyknows"), "{out:?}");
    }
}
