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
fn a_refused_token_is_not_shown() {
    let world = World::new();
    for (tool, code) in [(crate::world::Tool::Forge, 4), (crate::world::Tool::Gh, 1)] {
        let token = "gho_0canary0nobodyknowsthistoken";
        let out = world.tool_as(tool, token, &["pr", "list"]).exits(code);
        assert!(!out.stderr_text().contains("nobodyknows"), "{out:?}");
    }
}
