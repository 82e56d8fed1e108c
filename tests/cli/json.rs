use serde_json::json;

use crate::world::{DATE, World};

#[test]
fn json_output_is_one_line_with_sorted_keys() {
    let world = World::with_pull();
    let text = world
        .forge(&["pr", "view", "1", "--json", "title,number,state"])
        .text();
    assert_eq!(
        text,
        "{\"number\":1,\"state\":\"OPEN\",\"title\":\"Title of feature\"}\n"
    );
    let text = world.forge(&["pr", "list", "--json", "number"]).text();
    assert_eq!(text, "[{\"number\":1}]\n");
}

#[test]
fn json_fields_have_documented_shape() {
    let world = World::with_pull();
    world
        .forge(&[
            "pr",
            "edit",
            "1",
            "--add-label",
            "bug",
            "--add-assignee",
            "ada",
            "--add-reviewer",
            "grace",
        ])
        .ok();
    world.forge(&["pr", "comment", "1", "-b", "Hello."]).ok();
    let listed = world
        .forge(&["pr", "view", "1", "--json"])
        .output()
        .exits(1)
        .stderr_text();
    let fields: Vec<_> = listed
        .lines()
        .filter_map(|l| l.strip_prefix("  "))
        .collect();
    assert!(fields.len() >= 46, "{fields:?}");
    let pr = world.json("1", &fields.join(","));
    for field in &fields {
        assert!(pr.get(*field).is_some(), "{field} is missing");
    }
    assert_eq!(pr["createdAt"], DATE);
    assert_eq!(pr["author"]["login"], "ada");
    assert_eq!(pr["labels"][0]["name"], "bug");
    assert_eq!(pr["assignees"][0]["login"], "ada");
    assert_eq!(
        pr["reviewRequests"][0],
        json!({"__typename": "User", "login": "grace"})
    );
    assert_eq!(pr["comments"][0]["author"]["login"], "ada");
    assert_eq!(pr["files"][0]["path"], "feature.txt");
    assert_eq!(pr["commits"][0]["messageHeadline"], "Add feature.txt");
    assert_eq!(
        (&pr["additions"], &pr["deletions"], &pr["changedFiles"]),
        (&json!(2), &json!(0), &json!(1))
    );
    assert_eq!(pr["mergeable"], "MERGEABLE");
    assert_eq!(pr["isCrossRepository"], false);
    assert_eq!(
        (&pr["closed"], &pr["closedAt"]),
        (&json!(false), &json!(null))
    );
    assert_eq!(
        pr["headRefOid"].as_str().map(str::to_owned),
        world.git.oid("feature")
    );
}

#[test]
fn jq_filters_the_json_output() {
    let world = World::with_pull();
    let jq = |expression: &str| {
        world
            .forge(&["pr", "list", "--json", "number,title", "--jq", expression])
            .text()
    };
    assert_eq!(jq(".[].title"), "Title of feature\n");
    assert_eq!(
        jq(".[] | \"\\(.number): \\(.title)\""),
        "1: Title of feature\n"
    );
    assert_eq!(jq("length"), "1\n");
    assert_eq!(
        jq(".[0]"),
        "{\"number\":1,\"title\":\"Title of feature\"}\n"
    );
    let out = world
        .forge(&["pr", "list", "--json", "number", "--jq", ".["])
        .output()
        .exits(1);
    assert!(!out.stderr_text().is_empty());
}

#[test]
fn template_formats_the_json_output() {
    let world = World::with_pull();
    let out = world
        .forge(&[
            "pr",
            "list",
            "--json",
            "number,title",
            "-t",
            "{{range .}}#{{.number}} {{.title}}{{\"\\n\"}}{{end}}",
        ])
        .text();
    assert_eq!(out, "#1 Title of feature\n");
}

#[test]
fn json_errors_name_the_mistake() {
    let world = World::with_pull();
    let out = world
        .forge(&["pr", "view", "1", "--json", "nope"])
        .output()
        .exits(1);
    assert!(
        out.stderr_text().contains("Unknown JSON field: \"nope\""),
        "{out:?}"
    );
    let out = world
        .forge(&["pr", "view", "1", "--jq", "."])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("--json"), "{out:?}");
    // `--json` alone prints the whole document there.
    let context = world.forge(&["pr", "context", "1", "--jq", "."]);
    let _ = context.output().exits(1).says("Recovery: add `--json`\n");
    let out = world
        .forge(&["pr", "view", "1", "--json", "title", "--web"])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("--web"), "{out:?}");
}

#[test]
fn capabilities_are_printed_as_json() {
    let world = World::new();
    let out = world
        .forge(&["capabilities", "--json", "name,support,how,why,instead"])
        .output()
        .success()
        .json();
    let rows = out.as_array().unwrap();
    assert!(rows.len() >= 40, "{}", rows.len());
    let checks = rows.iter().find(|r| r["name"] == "checks").unwrap();
    assert_eq!(checks["support"], "no");
    assert!(checks["why"].as_str().unwrap().len() > 10);
    let claim = rows.iter().find(|r| r["name"] == "issue.claim").unwrap();
    let how = claim["how"].as_str().unwrap();
    assert!(how.starts_with("exclusive: "), "{how}");
}
