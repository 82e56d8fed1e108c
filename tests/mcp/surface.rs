//! Tests what every client loads: the tools with their schemas, the prompts and the resource
//! templates.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::world::{LEGACY, MODERN, World};

/// Maximum size in bytes of all tools without the optional toolsets: for reading only, and with
/// writing.
const READ_MAX: usize = 10 * 1024;
const WRITE_MAX: usize = 20 * 1024;

/// Maximum size in bytes of a tool as the model sees it.
const TOOL_MAX: usize = 900;

/// Returns the size of a tool in bytes, without the output schema, which clients do not send to the
/// model.
fn bytes(tool: &Value) -> usize {
    let mut tool = tool.clone();
    tool.as_object_mut().unwrap().remove("outputSchema");
    tool.to_string().len()
}

/// Returns the size in bytes of name, description and arguments, which clients send to the model.
/// They send neither title nor annotations.
fn model_bytes(tool: &Value) -> usize {
    let parts = ["name", "description", "inputSchema"];
    let given = BTreeMap::from(parts.map(|part| (part, &tool[part])));
    json!(given).to_string().len()
}

#[test]
fn tool_descriptions_stay_below_size_limits() {
    let world = World::new();
    for (args, most) in [(&[][..], READ_MAX), (&["--write"][..], WRITE_MAX)] {
        let tools = world.server(MODERN, args).tools();
        let all: usize = tools.iter().map(bytes).sum();
        assert!(all <= most, "{} tools: {all} bytes", tools.len());
    }
    let sets = ["--write", "--toolsets", "issues,workflow"];
    for tool in world.server(MODERN, &sets).tools() {
        let bytes = model_bytes(&tool);
        assert!(bytes <= TOOL_MAX, "{}: {bytes}", tool["name"]);
    }
}

/// Each row of the page's tables of calls names tools and, in the same cell, their arguments.
#[test]
fn calls_in_from_github_mcp_server_md_exist() {
    let world = World::new();
    let sets = ["--write", "--toolsets", "issues"];
    let tools = world.server(MODERN, &sets).tools();
    let arguments = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name)?;
        tool["inputSchema"]["properties"].as_object()
    };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/how-to");
    let page = std::fs::read_to_string(format!("{root}/from-github-mcp-server.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let mut found = (0, 0);
    for cell in cells {
        let code: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        let named: Vec<_> = code.iter().filter_map(|word| arguments(word)).collect();
        let is_tool = |word: &&&str| {
            ["pr_", "repo_", "issue_"]
                .iter()
                .any(|p| word.starts_with(p))
        };
        let of_tools = code.iter().filter(|word| is_tool(word)).count();
        assert_eq!(named.len(), of_tools, "{cell}");
        found.0 += named.len();
        for word in code
            .iter()
            .filter(|word| !named.is_empty() && word.contains('='))
        {
            let (name, _) = word.split_once('=').unwrap();
            let known = named.iter().any(|arguments| arguments.contains_key(name));
            assert!(known, "{word} in {cell}");
            found.1 += 1;
        }
    }
    assert!(found.0 > 25 && found.1 > 8, "{found:?}");
}

#[test]
fn pr_resubmit_needs_a_forge_with_rounds() {
    let world = World::new();
    let offered = |args: &[&str]| {
        let tools = world.server(MODERN, &[&["--write"], args].concat()).tools();
        tools.iter().any(|tool| tool["name"] == "pr_resubmit")
    };
    let (hub, knots) = ("github.com/octo/*", "tangled.org/octo.example/*");
    assert!(offered(&[]));
    assert!(!offered(&["--allow-repo", hub]));
    assert!(offered(&["--allow-repo", hub, "--allow-repo", knots]));
    assert!(offered(&["--allow-repo", knots]));
    assert!(!offered(&[
        "--allow-repo",
        knots,
        "--allow-repo",
        hub,
        "--allow-write",
        hub
    ]));
}

#[test]
fn tools_are_portable_and_annotated() {
    let world = World::new();
    let tools = world.server(MODERN, &["--write"]).tools();
    assert!(tools.len() >= 13);
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let hints = &tool["annotations"];
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(hints[hint].is_boolean(), "{name} has no {hint}");
        }
        assert!(
            tool["title"].is_string() && tool["description"].as_str().unwrap().len() > 40,
            "{name}"
        );
        for which in ["inputSchema", "outputSchema"] {
            let mut schema = tool[which].clone();
            assert_eq!(schema["type"], "object", "{name}");
            // `anyOf` distinguishes result and failure. Clients do not send the output schema to
            // the model.
            if which == "outputSchema" {
                schema.as_object_mut().unwrap().remove("anyOf");
            }
            portable(name, &schema);
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert!(
            tool["outputSchema"]["properties"]["error"].is_object(),
            "{name}"
        );
    }
    let writes = |t: &&Value| t["annotations"]["readOnlyHint"] == false;
    let names: Vec<&str> = tools
        .iter()
        .filter(writes)
        .map(|t| t["name"].as_str().unwrap())
        .collect();
    let reading = world.server(MODERN, &[]).tools();
    assert!(reading.iter().all(|t| !writes(&t)));
    assert_eq!(reading.len() + names.len(), tools.len());
}

fn portable(tool: &str, schema: &Value) {
    match schema {
        Value::Object(object) => {
            for word in [
                "oneOf", "anyOf", "allOf", "$ref", "$defs", "$schema", "not", "if",
            ] {
                let is_property = object.get("type").is_none();
                assert!(
                    is_property || !object.contains_key(word),
                    "{tool}: {word} in {schema}"
                );
            }
            assert!(
                !object.get("type").is_some_and(Value::is_array),
                "{tool}: {schema}"
            );
            let format = object
                .get("format")
                .and_then(Value::as_str)
                .unwrap_or_default();
            assert!(!format.contains("int"), "{tool}: {schema}");
            assert_ne!(
                object.get("default"),
                Some(&Value::Null),
                "{tool}: {schema}"
            );
            object.values().for_each(|v| portable(tool, v));
        }
        Value::Array(items) => items.iter().for_each(|v| portable(tool, v)),
        _ => {}
    }
}

#[test]
fn tools_prompts_and_templates_match_snapshots() {
    let world = World::new();
    for (name, args) in [("read_only", &[][..]), ("write", &["--write"][..])] {
        let mut wire = world.server(MODERN, args);
        let tools = wire.tools();
        let mut old = world.server(LEGACY, args);
        assert_eq!(tools, old.tools(), "both eras have the same tools");
        let mut list =
            |method: &str, of: &str| wire.request(method, json!({}))["result"][of].clone();
        let surface = json!({
            "prompts": list("prompts/list", "prompts"),
            "templates": list("resources/templates/list", "resourceTemplates"),
            "tools": tools,
        });
        let hello = &wire.hello;
        assert!(hello["instructions"].as_str().unwrap().len() < 1024);
        let surface = json!({"instructions": hello["instructions"], "capabilities": hello["capabilities"], "surface": surface});
        insta::assert_json_snapshot!(format!("surface_{name}"), surface);
    }
}

#[test]
fn flags_reduce_the_listed_tools() {
    let world = World::new();
    let names = |args: &[&str]| -> Vec<String> {
        let tools = world.server(MODERN, args).tools();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    };
    let all = names(&["--write"]);
    let without = |left: &[&str]| -> Vec<String> {
        let all = all.iter().filter(|name| !left.contains(&name.as_str()));
        all.cloned().collect()
    };
    assert_eq!(names(&["--write", "--no-merge"]), without(&["pr_merge"]));
    let exclude = ["--write", "--exclude-tools", "pr_edit,pr_diff"];
    assert_eq!(names(&exclude), without(&["pr_edit", "pr_diff"]));
    let tools = [
        "--write",
        "--tools",
        "pr_view,pr_merge",
        "--tools",
        "pr_list",
    ];
    assert_eq!(names(&tools), ["pr_list", "pr_merge", "pr_view"]);
    assert_eq!(
        names(&[&tools[..], &["--no-merge"]].concat()),
        ["pr_list", "pr_view"]
    );
    // A client cannot call a tool that the server excludes.
    let mut wire = world.server(MODERN, &["--write", "--no-merge"]);
    let call = json!({"name": "pr_merge", "arguments": {"number": 1}});
    let refused = wire.request("tools/call", call)["error"]["message"].clone();
    let said = "this server was started without pr_merge";
    assert!(refused.as_str().unwrap().contains(said), "{refused}");
    let write = world.grace(&["mcp", "--tools", "pr_merge"]).output();
    let _ = write.exits(1).says("pr_merge changes something");
}
