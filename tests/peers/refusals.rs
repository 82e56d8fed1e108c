use crate::world::World;

#[test]
fn bad_commands_are_refused_by_gh_and_forge() {
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
fn pending_review_is_refused_by_gh_and_forge() {
    let world = World::new();
    world.push("feature");
    let create = ["pr", "create", "-t", "Title", "-b", "Body"];
    world.ok(crate::world::Tool::Gh, &create);
    let id = ["pr", "view", "1", "--json", "id", "-q", ".id"];
    let id = world.ok(crate::world::Tool::Gh, &id);
    let input = format!("{{pullRequestId: \"{}\", body: \"Later.\"}}", id.trim());
    let mutation = format!(
        "query=mutation {{ addPullRequestReview(input: {input}) {{ pullRequestReview {{ state }} }} }}"
    );
    world.ok(crate::world::Tool::Gh, &["api", "graphql", "-f", &mutation]);
    let [ours, _] = world.same_refusal_of("pr review 1 --comment -b Now");
    let said = ours.stderr_text();
    assert!(
        said.contains("--with-pending") && said.contains("--discard-pending"),
        "{said}"
    );
    world.same_output(&["pr", "view", "1", "--comments"]);
    world.same("1", "latestReviews,reviewDecision");
    let forge = |args: &[&str]| world.ok(crate::world::Tool::Forge, args);
    forge(&["pr", "review", "1", "--comment", "--with-pending"]);
    forge(&["pr", "review", "1", "--pending", "-b", "Kept."]);
    world.same_refusal_of("pr review 1 --comment -b Now");
    forge(&["pr", "review", "1", "--discard-pending"]);
    world.same_output(&["pr", "view", "1", "--comments"]);
    world.same("1", "reviews,reviewDecision");
}

#[test]
fn refused_token_is_not_shown() {
    let world = World::new();
    for (tool, code) in [(crate::world::Tool::Forge, 4), (crate::world::Tool::Gh, 1)] {
        let token = "gho_0canary0nobodyknowsthistoken";
        let out = world.tool_as(tool, token, &["pr", "list"]).exits(code);
        assert!(!out.stderr_text().contains("nobodyknows"), "{out:?}");
    }
}
