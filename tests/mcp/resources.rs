use forge_testkit::Identity;
use serde_json::json;

use crate::{
    hub::{Hub, REPO},
    tangled_world::{Tangled, WIDGET},
    world::{LEGACY, MODERN, Wire, World},
};

fn read(wire: &mut Wire, uri: &str) -> String {
    let answer = wire.request("resources/read", json!({"uri": uri}));
    answer["result"]["contents"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

#[test]
fn resources_are_listed_and_completed() {
    let world = World::with_feature();
    let path = world.git.path().canonicalize().unwrap();
    let repo = format!("forge://local{}", path.display());
    for era in [LEGACY, MODERN] {
        let mut wire = world.server(era, &[]);
        let list = wire.request("resources/list", json!({}))["result"]["resources"].clone();
        assert_eq!(list[0]["uri"], repo);
        assert!(read(&mut wire, &repo).contains("default branch: main"));
        assert!(
            read(&mut wire, &format!("{repo}/pulls/open")).contains("main | \"Add a feature\"\n")
        );
        let branches = read(&mut wire, &format!("{repo}/branches"));
        assert!(
            branches.contains(" feature\n") && branches.ends_with("All 2 shown."),
            "{branches}"
        );
        assert!(read(&mut wire, &format!("{repo}/pull/1")).contains("> Closes nothing."));
        assert!(read(&mut wire, &format!("{repo}/pull/1/diff")).contains("+two\n"));
        assert!(read(&mut wire, &format!("{repo}/pull/1/files/feature.txt")).contains("+two\n"));
        assert!(read(&mut wire, &format!("{repo}/pull/1/links")).starts_with("No links of "));
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
fn completions_continue_after_the_first_page() {
    let hub = Hub::new();
    let open = |count: usize| {
        let mut seed = hub.double.seed();
        for _ in 0..count {
            seed.open_issue(REPO, "grace", "It breaks", "");
        }
    };
    let mut wire = hub.server(&[]);
    let mut complete = |typed: &str, requests: usize| {
        hub.double.reset_record();
        let params = json!({
            "ref": {"type": "ref/resource", "uri": "forge://{+repo}/issue/{number}"},
            "argument": {"name": "number", "value": typed},
            "context": {"arguments": {"repo": REPO}}
        });
        let found = wire.request("completion/complete", params)["result"]["completion"].clone();
        assert_eq!(hub.double.counts().api, requests, "{typed}");
        let values = found["values"].as_array().unwrap().clone();
        (values, found["total"].as_u64(), found["hasMore"].clone())
    };
    open(130);
    let (values, total, more) = complete("3", 2);
    assert_eq!((values.len(), total, more), (11, Some(11), json!(false)));
    assert_eq!((&values[0], &values[10]), (&json!("3"), &json!("30")));
    let (values, total, more) = complete("", 1);
    assert_eq!((values.len(), total, more), (100, None, json!(true)));
    // `forge` looks up the numbers beyond the last scanned page one by one.
    open(190);
    let (values, total, more) = complete("3", 4);
    assert_eq!((values.len(), total, more), (32, None, json!(true)));
    assert_eq!((&values[0], &values[1]), (&json!("3"), &json!("320")));
}

/// Creates pull request 1 without references, issue 1, which names it, and pull request 2, which
/// closes the issue.
fn linked() -> World {
    let world = World::with_feature();
    let ada = Identity::ADA;
    let body = "Since #1.\n<!-- hidden -->\n`#2` \u{200b}x";
    world
        .forge_as(&ada, &[])
        .args(["issue", "create", "-t", "It\u{202e} breaks", "-b", body])
        .ok();
    world.propose(
        "second",
        "Mend it",
        "Fixes #1, not #77; see octo/elsewhere#3.",
    );
    world
}

#[test]
fn issue_resources_have_links() {
    let world = linked();
    let path = world.git.path().canonicalize().unwrap();
    let repo = format!("forge://local{}", path.display());
    let name = world.name();
    for era in [LEGACY, MODERN] {
        let mut wire = world.server(era, &[]);
        let list = read(&mut wire, &format!("{repo}/issues"));
        assert!(
            list.starts_with("#1 open | 0 comments | 2026-03-01")
                && list.ends_with("\nAll 1 shown."),
            "{list}"
        );
        assert!(list.contains(" | \"It breaks\"\n"), "{list}");
        let issue = read(&mut wire, &format!("{repo}/issue/1"));
        for part in [
            "#1 open \"It breaks\"\n",
            "\n0 comments\n",
            "\n> Since #1.\n",
            "> [html comment removed: ",
            "> `#2` x",
        ] {
            assert!(issue.contains(part), "{part:?} is not in {issue}");
        }
        let links = |wire: &mut Wire, of: &str| read(wire, &format!("{repo}/{of}/links"));
        assert_eq!(
            links(&mut wire, "pull/2"),
            format!(
                "closes {name}#issue-1 (issue, open) \"It breaks\"\n\
                 mentions github.com/octo/elsewhere#3\n\
                 All 2 shown."
            )
        );
        assert_eq!(
            links(&mut wire, "issue/1"),
            format!(
                "closed by {name}#2 (pull request, open) \"Mend it\"\n\
                 mentions {name}#1 (pull request, open) \"Add a feature\"\n\
                 All 2 shown."
            )
        );
        assert_eq!(
            links(&mut wire, "pull/1"),
            format!("mentioned by {name}#issue-1 (issue, open) \"It breaks\"\nAll 1 shown.")
        );
        let none = wire.request(
            "resources/read",
            json!({"uri": format!("{repo}/issue/9/links")}),
        );
        assert_eq!(none["error"]["data"]["code"], "not_found", "{none}");
        let said = none["error"]["message"].as_str().unwrap();
        let command = "; in a terminal: forge issue list -R ";
        assert!(
            said.contains(command) && said.ends_with(" --state all"),
            "{said}"
        );
        let mut numbers = |template: &str| {
            let params = json!({
                "ref": {"type": "ref/resource", "uri": template},
                "argument": {"name": "number", "value": ""}
            });
            wire.request("completion/complete", params)["result"]["completion"]["values"].clone()
        };
        for template in [
            "forge://{+repo}/issue/{number}",
            "forge://{+repo}/issue/{number}/links",
        ] {
            assert_eq!(numbers(template), json!(["1"]));
        }
        assert_eq!(
            numbers("forge://{+repo}/pull/{number}/links"),
            json!(["2", "1"])
        );
    }
    world
        .forge_as(&Identity::ADA, &[])
        .args(["issue", "close", "1"])
        .ok();
    let mut wire = world.server(MODERN, &[]);
    assert_eq!(read(&mut wire, &format!("{repo}/issues")), "All 0 shown.");
    let closed = read(&mut wire, &format!("{repo}/issue/1"));
    assert!(closed.starts_with("#1 closed "), "{closed}");
}

#[test]
fn long_resource_is_cut_with_continuation_hint() {
    let world = World::with_feature();
    let words = "word ".repeat(12_900);
    let body = words.trim_end();
    world.forge(&["pr", "edit", "1", "-b", body]).ok();
    world
        .forge(&["issue", "create", "-t", "It breaks", "-b", body])
        .ok();
    let mut wire = world.server(MODERN, &[]);
    let path = world.git.path().canonicalize().unwrap();
    for (of, rest) in [
        ("pull/1", "pr_view format=detailed"),
        ("issue/1", "its page, at the URL above"),
    ] {
        let text = read(&mut wire, &format!("forge://local{}/{of}", path.display()));
        assert!(text.chars().count() <= 25_000, "{of}");
        let (kept, tail) = text.rsplit_once("\n[").unwrap();
        let (_, shown) = kept.split_once("\n> ").unwrap();
        assert!(shown.len() > 20_000 && body.starts_with(shown), "{of}");
        // The count includes the line break at the end of the body.
        let more = body.len() + 1 - shown.len();
        assert_eq!(tail, format!("{more} more characters: {rest}]\n"));
    }
}

#[test]
fn issues_on_tangled_are_named_by_at_uri() {
    let t = Tangled::new();
    let pull = t.open("topic");
    let body = format!("Since {pull}.");
    let args = [
        "issue",
        "create",
        "-R",
        WIDGET,
        "-t",
        "It breaks",
        "-b",
        &body,
    ];
    t.forge(&t.alice, &args).ok();
    let issues = t.world.pds().records(&t.alice.did, "sh.tangled.repo.issue");
    let issue = issues.first().unwrap().0.clone();
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp"]), MODERN);
    let repo = "forge://tangled.org/alice.test/widget";
    let list = read(&mut wire, &format!("{repo}/issues"));
    assert!(list.contains(&format!("#{issue} open | ")), "{list}");
    let encoded = issue.replace(':', "%3A").replace('/', "%2F");
    for key in [&issue, &encoded] {
        let links = read(&mut wire, &format!("{repo}/issue/{key}/links"));
        assert!(
            links.starts_with(&format!("mentions {pull} (pull request, open) \"T\"\n")),
            "{links}"
        );
        assert!(links.contains("Warning: \"comments elsewhere"), "{links}");
    }
    let links = read(&mut wire, &format!("{repo}/pull/{pull}/links"));
    assert!(
        links.starts_with(&format!(
            "mentioned by {issue} (issue, open) \"It breaks\"\n"
        )),
        "{links}"
    );
    let params = json!({
        "ref": {"type": "ref/resource", "uri": "forge://{+repo}/issue/{number}"},
        "argument": {"name": "number", "value": "at://"},
        "context": {"arguments": {"repo": "tangled.org/alice.test/widget"}}
    });
    let found = wire.request("completion/complete", params)["result"]["completion"].clone();
    assert_eq!(found["values"], json!([issue]));
}

#[test]
fn resource_uris_can_contain_any_file_name() {
    let world = World::new();
    let name = "a dir/é 100%.txt";
    let named = [(name, Some("one\n"))];
    world.git.commit("named", "Add a name", &named);
    let create = ["pr", "create", "-H", "named", "-t", "Named", "-b", ""];
    world.forge(&create).ok();
    let other = world.scratch.repository("diff");
    let other = other.path().canonicalize().unwrap();
    let mut wire = world.server(MODERN, &["--allow-path", other.to_str().unwrap()]);
    let path = world.git.path().canonicalize().unwrap();
    let repo = format!("forge://local{}", path.display());
    // The test uses the URI as the template produces it, and as a user types it.
    for file in ["a%20dir/%C3%A9%20100%25.txt", name] {
        let diff = read(&mut wire, &format!("{repo}/pull/1/files/{file}"));
        assert!(diff.contains("+one\n"), "{diff}");
    }
    for (uri, kind) in [
        (format!("forge://local{}", other.display()), "text/plain"),
        (format!("{repo}/pull/1"), "text/plain"),
        (format!("{repo}/pull/1/diff"), "text/x-diff"),
        (format!("{repo}/pull/1/files/{name}"), "text/x-diff"),
    ] {
        let answer = wire.request("resources/read", json!({"uri": uri}));
        assert_eq!(
            answer["result"]["contents"][0]["mimeType"], kind,
            "{answer}"
        );
    }
}

#[test]
fn prompts_contain_their_arguments() {
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
