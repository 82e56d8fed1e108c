//! Tests clients that send every argument in a schema: OpenAI's function calling in strict mode,
//! and Gemini's function declarations. Both conversions follow the vendors' documentation.

use serde_json::{Map, Value, json};

use crate::{
    workflow_story::SETS,
    world::{Wire, World},
};

/// The kind of client, which decides how a schema is converted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Client {
    /// Requires every property, makes optional properties nullable, and permits no others.
    OpenAi,
    /// Uses a subset of OpenAPI 3.0: types in capitals, `nullable`, and no `additionalProperties`.
    Gemini,
}

impl Client {
    /// Returns the schema that the client sends to its model.
    fn convert(self, schema: &Value, is_optional: bool, at: &str) -> Value {
        let known = [
            "type",
            "description",
            "enum",
            "items",
            "properties",
            "required",
            "additionalProperties",
        ];
        for word in schema.as_object().unwrap().keys() {
            assert!(known.contains(&word.as_str()), "{at}: {word}");
        }
        let kind = schema["type"].as_str().expect(at);
        let mut out = Map::new();
        match self {
            Self::OpenAi if is_optional => out.insert("type".into(), json!([kind, "null"])),
            Self::OpenAi => out.insert("type".into(), json!(kind)),
            Self::Gemini => out.insert("type".into(), json!(kind.to_uppercase())),
        };
        if self == Self::Gemini && is_optional {
            out.insert("nullable".into(), json!(true));
        }
        if let Some(choices) = schema.get("enum") {
            let mut choices = choices.as_array().unwrap().clone();
            assert!(choices.iter().all(Value::is_string), "{at}");
            if self == Self::OpenAi && is_optional {
                choices.push(Value::Null);
            }
            out.insert("enum".into(), Value::Array(choices));
        }
        match kind {
            "array" => {
                let items = schema.get("items").expect(at);
                out.insert("items".into(), self.convert(items, false, at));
            }
            "object" => {
                // Neither client supports objects with arbitrary property names.
                assert!(!schema["additionalProperties"].is_object(), "{at}");
                let properties = schema["properties"].as_object().expect(at);
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                let convert = |(name, of): (&String, &Value)| {
                    let is_optional = !required.contains(&json!(name));
                    let at = format!("{at}.{name}");
                    (name.clone(), self.convert(of, is_optional, &at))
                };
                let properties: Map<_, _> = properties.iter().map(convert).collect();
                if self == Self::OpenAi {
                    let names: Vec<&String> = properties.keys().collect();
                    out.insert("required".into(), json!(names));
                    out.insert("additionalProperties".into(), json!(false));
                } else {
                    out.insert("required".into(), json!(required));
                }
                out.insert("properties".into(), Value::Object(properties));
            }
            _ => {}
        }
        Value::Object(out)
    }

    /// Returns the value that the client sends for an argument that the user did not mention.
    fn empty_value(self, of: &Value) -> Value {
        match of["type"].as_str() {
            // In OpenAI's form, an optional argument has two types, of which one is null.
            None => Value::Null,
            Some("STRING") => json!(""),
            Some("ARRAY") => json!([]),
            Some("INTEGER") => json!(0),
            Some(_) => Value::Null,
        }
    }

    /// Returns `named`, and an empty value for every other argument in the schema.
    fn arguments(self, schema: &Value, named: &Value) -> Value {
        let properties = schema["properties"].as_object().unwrap().iter();
        let fill = |(name, of): (&String, &Value)| {
            let value = match (named.get(name), &of["items"]) {
                (Some(Value::Array(items)), of) if of["properties"].is_object() => {
                    let fill = |item: &Value| self.arguments(of, item);
                    items.iter().map(fill).collect()
                }
                (Some(value), _) => value.clone(),
                (None, _) => self.empty_value(of),
            };
            (name.clone(), value)
        };
        Value::Object(properties.map(fill).collect())
    }
}

/// Returns a call of each tool with the required arguments, in an order in which all calls succeed.
fn calls() -> Vec<(&'static str, Value)> {
    let comment = json!([{"path": "feature.txt", "line": 1, "body": "Why?"}]);
    let edits = json!([{"path": "e.txt", "content": "x\n"}, {"path": "empty.txt", "content": ""}]);
    vec![
        ("forge_status", json!({})),
        ("pr_list", json!({})),
        ("pr_view", json!({"number": "1"})),
        ("pr_context", json!({"number": "1"})),
        ("pr_diff", json!({"number": "1"})),
        ("repo_file", json!({"path": "README.md"})),
        ("pr_create", json!({"title": "Work", "head": "work"})),
        (
            "pr_create",
            json!({"title": "Edited", "head": "edited", "edits": edits.clone()}),
        ),
        (
            "repo_push",
            json!({"branch": "work", "expected_head": "?", "message": "More", "edits": edits}),
        ),
        ("pr_edit", json!({"number": "1", "title": "New"})),
        ("pr_comment", json!({"number": "1", "body": "Hello"})),
        (
            "pr_review",
            json!({"number": "1", "verdict": "approve", "body": "See.", "comments": comment}),
        ),
        ("pr_thread_resolve", json!({"number": "1", "thread": "?"})),
        (
            "pr_review_dismiss",
            json!({"number": "1", "review": "?", "body": "Outdated"}),
        ),
        ("pr_update_branch", json!({"number": "1"})),
        ("pr_set_state", json!({"number": "2", "state": "closed"})),
        ("pr_merge", json!({"number": "1"})),
        ("issue_create", json!({"title": "It breaks"})),
        ("issue_list", json!({})),
        ("issue_view", json!({"issue": "1"})),
        ("issue_edit", json!({"issue": "1", "title": "It broke"})),
        ("issue_comment", json!({"issue": "1", "body": "Often."})),
        ("workflow_view", json!({"issue": "1"})),
        (
            "workflow_set_state",
            json!({"issue": "1", "state": "Ready for Plan", "command": "triage", "reason": "small"}),
        ),
        ("workflow_pick", json!({"command": "plan"})),
        ("workflow_claim", json!({"command": "plan"})),
        (
            "workflow_advance",
            json!({"issue": "1", "target_state": "Ready for Plan"}),
        ),
    ]
}

/// Starts a server with all tools, pull requests 1 and 2, and a branch `work`.
fn wire(world: &World) -> Wire {
    world.propose("other", "Another", "Text.");
    world.git.commit("work", "Work", &[("w.txt", Some("w\n"))]);
    world.keep("store = \"fields\"");
    world.workflow()
}

#[test]
fn calls_made_from_strict_schemas_are_valid() {
    assert!(SETS.contains(&"issues,workflow"));
    for client in [Client::OpenAi, Client::Gemini] {
        let world = World::with_feature();
        let mut wire = wire(&world);
        let tools = wire.tools();
        let calls = calls();
        for tool in &tools {
            let name = tool["name"].as_str().unwrap();
            let is_called = calls.iter().any(|(called, _)| *called == name);
            // A local repository has neither rounds nor checks.
            let has_none = ["pr_resubmit", "pr_checks", "pr_checks_rerun"].contains(&name);
            assert!(is_called || has_none, "{name}");
        }
        for (name, mut named) in calls {
            let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
            let schema = client.convert(&tool["inputSchema"], false, name);
            if named["thread"] == "?" {
                let view = json!({"number": "1", "include": "threads"});
                let view = wire.call("pr_view", view).ok();
                named["thread"] = view.data()["threads"][0]["id"].clone();
            }
            if named["review"] == "?" {
                let view = json!({"number": "1", "include": "reviews"});
                let view = wire.call("pr_view", view).ok();
                named["review"] = view.data()["reviews"][0]["id"].clone();
            }
            if named["expected_head"] == "?" {
                named["expected_head"] = json!(world.git.oid("refs/heads/work"));
            }
            let args = client.arguments(&schema, &named);
            let _ = wire.call(name, args).ok();
        }
        let view = wire.call("pr_view", json!({"number": 1})).ok();
        let view = view.says("merged \"New\"");
        // The call does not change the fields that it omits.
        let _ = view.says("Closes nothing.");
    }
}

#[test]
fn edit_clears_fields_only_on_request() {
    let world = World::with_feature();
    for label in ["a", "b"] {
        world.forge(&["label", "create", label, "--force"]).ok();
    }
    let mut wire = world.workflow();
    let edit = |more: Value| {
        let mut args = json!({"number": 1});
        let all = args.as_object_mut().unwrap();
        all.extend(more.as_object().unwrap().clone());
        args
    };
    let given = json!({"add_labels": ["a", "b"], "add_assignees": ["ada"], "body": ""});
    wire.call("pr_edit", edit(given)).ok();
    let view = wire.call("pr_view", json!({"number": 1})).ok();
    let view = view.says("Closes nothing.");
    assert_eq!(view.data()["pull_request"]["labels"], json!(["a", "b"]));
    let cleared = json!({"remove_labels": ["-"], "remove_assignees": "-", "body": "-"});
    wire.call("pr_edit", edit(cleared)).ok();
    let view = wire.call("pr_view", json!({"number": 1})).ok();
    assert!(!view.text().contains("Closes nothing."), "{}", view.text());
    for list in ["labels", "assignees"] {
        let list = &view.data()["pull_request"][list];
        assert!(list.as_array().is_none_or(Vec::is_empty), "{list}");
    }
    let text = json!({"title": "It breaks", "body": "Often.", "labels": ["a"]});
    wire.call("issue_create", text).ok();
    let cleared = json!({"issue": 1, "body": "-", "remove_labels": "-"});
    wire.call("issue_edit", cleared).ok();
    let view = wire.call("issue_view", json!({"issue": 1})).ok();
    assert!(!view.text().contains("Often."), "{}", view.text());
    let labels = &view.data()["issue"]["labels"];
    assert!(labels.as_array().is_none_or(Vec::is_empty), "{labels}");
}

#[test]
fn draft_argument_accepts_words_and_booleans() {
    let world = World::with_feature();
    let mut wire = world.workflow();
    for (draft, state) in [
        (json!("draft"), "draft"),
        (json!("ready"), "open"),
        (json!(true), "draft"),
        (json!("false"), "open"),
    ] {
        let args = json!({"number": 1, "draft": draft});
        let edited = wire.call("pr_edit", args).ok();
        assert_eq!(edited.data()["state"], state, "{draft}");
        let shown = json!({"draft": draft});
        let rows = wire.call("pr_list", shown).ok();
        let rows = rows.data()["pull_requests"].as_array().unwrap().len();
        assert_eq!(rows, 1, "{draft}");
    }
    let wrong = json!({"number": 1, "draft": "later"});
    let wrong = wire.call("pr_edit", wrong).fails("invalid_input");
    let _ = wrong.says("draft is 'later', but takes one of draft, ready");
}
