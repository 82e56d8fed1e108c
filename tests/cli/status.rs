use crate::world::World;

#[test]
fn status_has_three_sections() {
    let world = World::with_pull();
    world.feature("theirs");
    world
        .grace(&[
            "pr", "create", "-H", "theirs", "-t", "By Grace", "-b", "", "-r", "ada",
        ])
        .ok();
    world.switch("feature");
    let text = world.stable(&world.forge(&["pr", "status"]).text());
    assert_eq!(
        text,
        "\nRelevant pull requests in file://[dir]/repo\n\n\
         Current branch\n  #1  Title of feature [feature]\n\n\
         Created by you\n  #1  Title of feature [feature]\n\n\
         Requesting a code review from you\n  #2  By Grace [theirs]\n\n"
    );
}

#[test]
fn status_without_pulls_prints_message() {
    let world = World::new();
    let text = world.forge(&["pr", "status"]).text();
    assert!(
        text.contains("There is no pull request associated with [main]"),
        "{text}"
    );
    assert!(text.contains("You have no open pull requests"), "{text}");
    assert!(
        text.contains("You have no pull requests to review"),
        "{text}"
    );
}

#[test]
fn status_is_printed_as_json() {
    let world = World::with_pull();
    world.switch("feature");
    let out = world
        .forge(&["pr", "status", "--json", "number,title"])
        .output()
        .success()
        .json();
    assert_eq!(out["currentBranch"]["number"], 1);
    assert_eq!(out["createdBy"][0]["title"], "Title of feature");
    assert_eq!(out["needsReview"], serde_json::json!([]));
}

#[test]
fn checks_on_local_repository_are_refused() {
    let world = World::with_pull();
    let out = world.forge(&["pr", "checks", "1"]).output().exits(1);
    assert!(out.stderr_text().contains("not possible here"), "{out:?}");
    assert!(out.stderr_text().contains("Recovery: "), "{out:?}");
}
