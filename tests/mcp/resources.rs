use serde_json::json;

use crate::world::{LEGACY, MODERN, Wire, World};

fn read(wire: &mut Wire, uri: &str) -> String {
    let answer = wire.request("resources/read", json!({"uri": uri}));
    answer["result"]["contents"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

#[test]
fn resources_and_their_completions() {
    let world = World::with_feature();
    let path = world.git.path().canonicalize().unwrap();
    let repo = format!("forge://local{}", path.display());
    for era in [LEGACY, MODERN] {
        let mut wire = world.server(era, &[]);
        let list = wire.request("resources/list", json!({}))["result"]["resources"].clone();
        assert_eq!(list[0]["uri"], repo);
        assert!(read(&mut wire, &repo).contains("default branch: main"));
        assert!(
            read(&mut wire, &format!("{repo}/pulls/open")).contains("#1 open \"Add a feature\"")
        );
        let branches = read(&mut wire, &format!("{repo}/branches"));
        assert!(
            branches.contains(" feature\n") && branches.ends_with("All 2 shown."),
            "{branches}"
        );
        assert!(read(&mut wire, &format!("{repo}/pull/1")).contains("> Closes nothing."));
        assert!(read(&mut wire, &format!("{repo}/pull/1/diff")).contains("+two\n"));
        assert!(read(&mut wire, &format!("{repo}/pull/1/files/feature.txt")).contains("+two\n"));
        assert!(read(&mut wire, &format!("{repo}/pull/1/links")).contains("closes no issue"));
        let none = wire.request("resources/read", json!({"uri": format!("{repo}/pull/9")}));
        let code = if era == MODERN { -32602 } else { -32002 };
        assert_eq!(none["error"]["code"], code, "{none}");
        let none = wire.request("resources/read", json!({"uri": "forge://"}));
        assert_eq!(none["error"]["code"], code, "{none}");
        let mut complete = |name: &str, value: &str, others: serde_json::Value| {
            let params = json!({
                "ref": {"type": "ref/resource", "uri": "forge://{+repo}/pull/{number}/files/{+path}"},
                "argument": {"name": name, "value": value}, "context": {"arguments": others}
            });
            wire.request("completion/complete", params)["result"]["completion"]["values"].clone()
        };
        assert_eq!(complete("number", "", json!({})), json!(["1"]));
        assert_eq!(
            complete("path", "fea", json!({"number": "1"})),
            json!(["feature.txt"])
        );
        assert_eq!(
            complete("repo", "file://", json!({})),
            json!([world.name()])
        );
        assert_eq!(
            complete("number", "", json!({"repo": "/nowhere"})),
            json!([])
        );
    }
}

#[test]
fn prompts_are_filled_in() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &[]);
    let params = json!({"name": "review_pr", "arguments": {"number": "7", "repo": "octo/tools"}});
    let text =
        wire.request("prompts/get", params)["result"]["messages"][0]["content"]["text"].clone();
    assert!(
        text.as_str()
            .unwrap()
            .starts_with("Review pull request 7 of octo/tools. ")
    );
    let missing = wire.request("prompts/get", json!({"name": "review_pr"}));
    assert_eq!(missing["error"]["code"], -32602);
    let unknown = wire.request("prompts/get", json!({"name": "x", "arguments": {}}));
    assert!(
        unknown["error"]["message"]
            .as_str()
            .unwrap()
            .contains("write_pr_body")
    );
}
