use crate::world::World;

#[test]
fn edit_changes_given_fields_and_prints_url() {
    let world = World::with_pull();
    let out = world
        .forge(&["pr", "edit", "1", "--title", "New", "--body", "Text two."])
        .output()
        .success();
    assert_eq!(out.stdout_text(), format!("{}\n", world.url(1)));
    let pr = world.json("1", "title,body");
    assert_eq!(
        (&pr["title"], &pr["body"]),
        (&"New".into(), &"Text two.".into())
    );
}

#[test]
fn edit_adds_and_removes_labels_and_people() {
    let world = World::with_pull();
    let fields = "labels,assignees,reviewRequests";
    world
        .forge(&[
            "pr",
            "edit",
            "1",
            "--add-label",
            "bug,question",
            "--add-assignee",
            "@me,grace",
            "--add-reviewer",
            "grace",
        ])
        .ok();
    let pr = world.json("1", fields);
    assert_eq!(pr["labels"].as_array().unwrap().len(), 2);
    assert_eq!(pr["assignees"].as_array().unwrap().len(), 2);
    assert_eq!(pr["reviewRequests"].as_array().unwrap().len(), 1);
    world
        .forge(&[
            "pr",
            "edit",
            "1",
            "--remove-label",
            "BUG",
            "--remove-assignee",
            "@me",
            "--remove-reviewer",
            "grace",
        ])
        .ok();
    let pr = world.json("1", fields);
    assert_eq!(pr["labels"][0]["name"], "question");
    assert_eq!(pr["assignees"][0]["login"], "grace");
    assert!(pr["reviewRequests"].as_array().unwrap().is_empty());
}

#[test]
fn removal_of_unknown_label_names_present_labels() {
    let world = World::with_pull();
    let edit = ["pr", "edit", "1", "--add-label", "bug", "--remove-label"];
    let refused = world.forge(&edit).args(["wip"]).output().exits(1);
    let hint = "there are no labels on it at all";
    assert!(refused.stderr_text().contains(hint), "{refused:?}");
}

#[test]
fn edit_with_base_flag_changes_the_base() {
    let world = World::with_pull();
    world.feature("release");
    world.forge(&["pr", "edit", "1", "-B", "release"]).ok();
    assert_eq!(world.json("1", "baseRefName")["baseRefName"], "release");
}

#[test]
fn edit_of_current_branch_reads_body_from_stdin() {
    let world = World::with_pull();
    world.switch("feature");
    world.forge(&["pr", "edit", "-F", "-"]).stdin("Piped.").ok();
    assert_eq!(world.json("1", "body")["body"], "Piped.");
}

#[test]
fn labels_are_listed_made_and_deleted() {
    let world = World::with_pull();
    world
        .forge(&[
            "label",
            "create",
            "urgent",
            "--color",
            "ff0000",
            "--description",
            "Now",
        ])
        .ok();
    world
        .forge(&["pr", "edit", "1", "--add-label", "urgent"])
        .ok();
    let list = world.forge(&["label", "list"]).text();
    let row = list.lines().find(|l| l.starts_with("urgent\t")).unwrap();
    assert!(row.contains("Now") && row.contains("ff0000"), "{row}");
    world.forge(&["label", "delete", "urgent", "--yes"]).ok();
    assert!(
        world.json("1", "labels")["labels"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}
