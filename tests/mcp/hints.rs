//! Makes the calls in hints as printed, and checks that they have the promised effect.

use serde_json::{Value, json};

#[path = "../cli/hint_situations.rs"]
mod situations;

use situations::{Situation, Stage, play, shell};

use crate::{
    hub::{Hub, REPO},
    tangled_world,
    world::{MODERN, Wire},
};

/// Calls a tool that fails, and then makes the call in its hint.
fn follow<S: Stage>(situation: &Situation<S>, stage: &S) {
    let entered = (situation.enter)(stage);
    let (tool, args) = situation.call;
    if tool.is_empty() {
        return;
    }
    let mut args: Value = serde_json::from_str(&args.replace("{}", &entered)).unwrap();
    if let (Some(repo), None) = (S::REPO, args.get("repo")) {
        args["repo"] = json!(repo);
    }
    let mut wire = Wire::start(&stage.run().args(["mcp", "--write"]), MODERN);
    let failed = wire.call(tool, args.clone());
    let warnings = failed.data()["warnings"].as_array();
    let warning = warnings.and_then(|all| all.iter().rfind(|w| w["hint"].is_string()));
    let advice = warning.unwrap_or(&failed.data()["error"]);
    let hint = advice["hint"].as_str();
    let hint = hint.unwrap_or_else(|| panic!("no hint: {}", failed.text()));
    if let Some((_, line)) = hint.split_once("; in a terminal: ") {
        let words = line.split(' ').map(|w| situation.choice(w).unwrap_or(w));
        let words: Vec<String> = words.map(|w| format!("'{w}'")).collect();
        let said = shell(stage, &words.join(" ")).text();
        return situation.check(stage, &entered, &said);
    }
    let chooses = |(name, _): &(&str, &str)| name.starts_with(|c: char| c.is_lowercase());
    let (tool, args) = match situation.choices.iter().any(chooses) {
        true => chosen(situation, hint, (tool, args)),
        false => {
            let tool = advice["next"]["tool"].as_str();
            let tool = tool.unwrap_or_else(|| panic!("no call: {}", failed.text()));
            (tool.to_owned(), advice["next"]["arguments"].clone())
        }
    };
    let done = wire.call(&tool, args.clone());
    assert_ne!(
        done.0["isError"],
        json!(true),
        "{hint}\n{tool} {args}\n{}",
        done.text()
    );
    situation.check(stage, &entered, done.text());
}

/// Returns the call in a hint. Arguments that a user has to choose come from the situation.
fn chosen<S: Stage>(
    situation: &Situation<S>,
    hint: &str,
    (tool, args): (&str, Value),
) -> (String, Value) {
    let words = hint
        .rsplit_once(" (")
        .and_then(|(_, w)| w.strip_suffix(')'));
    let words = words.unwrap_or_else(|| panic!("nothing to choose: {hint}"));
    let (mut tool, mut args) = (tool.to_owned(), args);
    for word in words.split(", ") {
        let word = word.trim_start_matches("argument ");
        let word = word.trim_start_matches("arguments ");
        if word.starts_with("pr_") {
            tool = word.to_owned();
            let kept = args.as_object().unwrap().clone().into_iter();
            let kept = kept.filter(|(name, _)| name == "repo" || name == "number");
            args = Value::Object(kept.collect());
        } else if let Some(name) = word.strip_prefix("without ") {
            args.as_object_mut().unwrap().remove(name);
        } else if let Some((name, value)) = word.split_once('=') {
            args[name] = json!(value);
        } else {
            let value = situation.choice(word);
            args[word] = json!(value.unwrap_or_else(|| panic!("{word} of {hint}")));
        }
    }
    if tool == "pr_create" {
        args.as_object_mut().unwrap().remove("number");
    }
    // A hint need not name these arguments.
    for name in ["head", "title"] {
        if let (Some(value), "pr_create" | "pr_edit") = (situation.choice(name), tool.as_str()) {
            args[name] = json!(value);
        }
    }
    (tool, args)
}

#[test]
fn call_in_hint_of_local_tool_works() {
    play(situations::in_a_repository(), follow);
}

#[test]
fn call_in_hint_of_github_tool_works() {
    play(situations::on_github(), follow);
}

#[test]
fn call_in_hint_of_tangled_tool_works() {
    play(situations::on_tangled(), follow);
}

#[test]
fn hint_for_missing_login_points_to_a_terminal() {
    let hub = Hub::with_pull();
    let run = hub.run(&["--write"]).without_env("GH_TOKEN");
    let mut wire = Wire::start(&run, MODERN);
    wire.call("pr_list", json!({"repo": REPO}))
        .fails("unauthenticated")
        .says("; in a terminal: forge auth login --host github.localhost\n");
    let t = tangled_world::Tangled::new();
    let uri = t.open("topic");
    let run = t.forge(&t.alice, &["mcp", "--write"]);
    let mut wire = Wire::start(&run.without_env("TANGLED_HANDLE"), MODERN);
    let args = json!({"repo": tangled_world::WIDGET, "number": uri, "body": "x"});
    wire.call("pr_comment", args)
        .fails("unauthenticated")
        .says("; in a terminal: forge auth login --host tangled.org\n");
}
