//! Facts that the bundle of `pr context --json` and the result of `pr_context` must both contain.

use serde_json::{Map, Value, json};

/// Returns the facts in the output of the command or of the tool, under the tool's names.
pub fn facts(bundle: &Value) -> Value {
    let of = in_snake_case(bundle);
    let is_tool = of["pull_request"].is_object();
    let pull = of[if is_tool { "pull_request" } else { "pr" }].clone();
    let names = match is_tool {
        true => ["base", "head"],
        false => ["base_branch", "head_branch"],
    };
    // The tool writes the fork's owner before the branch name.
    let branch = |name: &str| {
        let label = pull[name].as_str().unwrap_or_default();
        label.rsplit(':').next().unwrap_or_default().to_owned()
    };
    let number = match &pull["number"] {
        Value::String(text) => text.clone(),
        number => number.to_string(),
    };
    let mut requirements = picked(
        &of["verdict"]["requirements"],
        &["rule", "status", "source", "source_name", "evidence"],
    );
    for (requirement, all) in requirements
        .iter_mut()
        .zip(list(&of["verdict"], "requirements"))
    {
        requirement["cleared_by"] = picked(&all["cleared_by"], &["who", "names"]).into();
    }
    let checks = match of["ci_status"].is_object() {
        true => &of["ci_status"]["checks"],
        false => &of["ci_status"],
    };
    json!({
        "pull": [
            number,
            names.map(branch),
            of_fields(&pull, &["title", "description", "author", "state", "url"]),
        ],
        "verdict": of_fields(&of["verdict"], &["ready_to_merge", "head_sha", "base_sha"]),
        "requirements": requirements,
        "summary": of_fields(&of["summary"], &[
            "one_liner", "change_type", "risk_level", "blockers", "key_changes",
            "outstanding_threads",
        ]),
        "checks": picked(checks, &["name", "status", "workflow", "conclusion", "url"]),
        "comments": comments(&of),
        "threads": threads(&of),
        "reviews": reviews(&of["reviews"]),
        "linked": picked(&of["linked_issues"], &[
            "source", "key", "type", "title", "status", "relationship", "found_in", "body", "url",
        ]),
        "files": picked(&of["diff"]["files"], &[
            "path", "status", "class", "additions", "deletions",
        ]),
        "ingestion": of_fields(&of["ingestion"], &["state", "uri", "cid"]),
        "partial": of["partial"],
    })
}

/// Returns the comments of the conversation and of all threads in one list, as the command prints
/// them.
fn comments(of: &Value) -> Value {
    let fields = ["id", "author", "body", "created_at"];
    let (in_threads, own): (Vec<Value>, Vec<Value>) = list(of, "comments")
        .cloned()
        .partition(|comment| comment["thread_id"].is_string());
    let of_tool = list(of, "threads").flat_map(|thread| list(thread, "comments"));
    let of_tool = of_tool.filter(|comment| comment.is_object()).cloned();
    let in_threads: Vec<Value> = in_threads.into_iter().chain(of_tool).collect();
    json!([
        picked(&Value::Array(own), &fields),
        picked(&Value::Array(in_threads), &fields)
    ])
}

fn threads(of: &Value) -> Vec<Value> {
    let either = |thread: &Value, names: [&str; 2]| {
        let found = names.into_iter().find_map(|name| thread[name].as_bool());
        found.map_or(Value::Null, Value::Bool)
    };
    let mut found = picked(&of["threads"], &["id", "path", "line"]);
    for (fact, thread) in found.iter_mut().zip(list(of, "threads")) {
        // The command prints the hunk with each comment, but the tool prints it once with the
        // thread.
        let own = list(of, "comments").filter(|comment| comment["thread_id"] == thread["id"]);
        let hunks = own.chain([thread]).map(|holder| &holder["diff_hunk"]);
        let hunk = hunks
            .filter_map(Value::as_str)
            .find(|hunk| !hunk.is_empty());
        fact["hunk"] = json!(hunk);
        fact["resolved"] = either(thread, ["resolved", "is_resolved"]);
        fact["outdated"] = either(thread, ["outdated", "is_outdated"]);
    }
    found
}

/// Returns reviews with the ids of their comments. The command prints the whole comments.
fn reviews(all: &Value) -> Vec<Value> {
    let mut found = picked(all, &["id", "author", "state", "body", "submitted_at"]);
    for (fact, review) in found.iter_mut().zip(all.as_array().into_iter().flatten()) {
        let ids = list(review, "comments").map(|comment| comment.get("id").unwrap_or(comment));
        fact["comments"] = ids.cloned().collect();
        let names = ["is_latest_opinion", "latest_opinion"];
        fact["latest_opinion"] = names.iter().any(|name| review[*name] == true).into();
    }
    found
}

fn list<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    of[name].as_array().into_iter().flatten()
}

/// Returns these fields of each item in a list.
fn picked(all: &Value, fields: &[&str]) -> Vec<Value> {
    let all = all.as_array().into_iter().flatten();
    all.map(|item| of_fields(item, fields)).collect()
}

/// Returns these fields of an object, without empty values.
fn of_fields(item: &Value, fields: &[&str]) -> Value {
    let field = |name: &&str| {
        let value = match &item[*name] {
            Value::Array(all) if all.is_empty() => Value::Null,
            Value::String(text) if text.is_empty() => Value::Null,
            value => value.clone(),
        };
        ((*name).to_owned(), value)
    };
    Value::Object(fields.iter().map(field).collect())
}

fn in_snake_case(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let renamed = fields.iter().map(|(name, value)| {
                let mut snake = String::new();
                for c in name.chars() {
                    if c.is_ascii_uppercase() {
                        snake.push('_');
                    }
                    snake.push(c.to_ascii_lowercase());
                }
                (snake, in_snake_case(value))
            });
            Value::Object(renamed.collect::<Map<_, _>>())
        }
        Value::Array(all) => all.iter().map(in_snake_case).collect(),
        other => other.clone(),
    }
}
