//! Facts that the bundle of `pr context --json` and the result of `pr_context` must both contain.

use serde_json::{Map, Value, json};

/// Returns the facts in the output of the command or of the tool, under the tool's names.
pub fn facts(bundle: &Value) -> Value {
    let of = in_snake_case(bundle);
    let checks = match of["ci_status"].is_object() {
        true => &of["ci_status"]["checks"],
        false => &of["ci_status"],
    };
    // The tool has the rollup of the checks in the pull request.
    let rollup = match checks.is_array() {
        true => of["ci_status"]
            .get("overall")
            .unwrap_or(&of["pull_request"]["checks"]),
        false => &Value::Null,
    };
    json!({
        "pull": pull(&of),
        "verdict": of_fields(&of["verdict"], &["ready_to_merge", "head_sha", "base_sha"]),
        "requirements": requirements(&of["verdict"]),
        "summary": of_fields(&of["summary"], &[
            "one_liner", "change_type", "risk_level", "blockers", "key_changes",
            "outstanding_threads",
        ]),
        "risk": risk(&of["summary"]),
        "rollup": rollup,
        "checks": picked(checks, &[
            "name", "status", "workflow", "conclusion", "required", "summary", "started_at",
            "completed_at", "url",
        ]),
        "logs": picked(&of["ci_logs"], &["check", "text", "cut"]),
        "comments": comments(&of),
        "threads": threads(&of),
        "reviews": reviews(&of["reviews"]),
        "linked": linked(&of),
        "related": related(&of),
        "diff": diff(&of["diff"]),
        "files": diff_files(&of["diff"]),
        "changed_files": picked(&of["files"], &[
            "path", "previous_path", "status", "additions", "deletions",
        ]),
        "history": history(&of),
        "source": source(&of["source"]),
        "ingestion": of_fields(&of["ingestion"], &["state", "uri", "cid"]),
        "partial": of["partial"],
        "errors": picked(&of["errors"], &["section", "kind", "message"]),
        "warnings": warnings(&of),
    })
}

fn pull(of: &Value) -> Value {
    let is_tool = of["pull_request"].is_object();
    let pull = &of[if is_tool { "pull_request" } else { "pr" }];
    let names = match is_tool {
        true => ["base", "head"],
        false => ["base_branch", "head_branch"],
    };
    // The tool writes the fork's owner before the branch name.
    let branch = |name: &str| text(&pull[name]).rsplit(':').next().unwrap_or_default();
    let reviews = match is_tool {
        true => ["approved", "changes_requested", "pending"].map(|name| &pull["reviews"][name]),
        false => ["approvals", "changes_requested", "pending_reviewers"].map(|name| &pull[name]),
    };
    let fields = [
        "title",
        "description",
        "author",
        "state",
        "url",
        "labels",
        "created_at",
        "updated_at",
        "merged_at",
        "additions",
        "deletions",
        "changed_files",
    ];
    json!([
        number(&pull["number"]),
        names.map(branch),
        reviews,
        of_fields(pull, &fields)
    ])
}

fn requirements(verdict: &Value) -> Vec<Value> {
    let fields = ["rule", "status", "source", "source_name", "evidence"];
    let mut found = picked(&verdict["requirements"], &fields);
    for (fact, all) in found.iter_mut().zip(list(verdict, "requirements")) {
        fact["cleared_by"] = picked(&all["cleared_by"], &["who", "names"]).into();
    }
    found
}

/// Returns the score of the risk and its reasons. The command prints the parts of each reason.
fn risk(summary: &Value) -> Value {
    let of_command = &summary["risk"];
    if !of_command.is_object() {
        return json!([summary["risk_score"], summary["risk_reasons"]]);
    }
    let reason = |r: &Value| format!("{}: {}", text(&r["rule"]), text(&r["evidence"]));
    let reasons: Vec<String> = list(of_command, "reasons").map(reason).collect();
    json!([of_command["score"], reasons])
}

/// Returns the comments of the conversation and of all threads in one list, as the command prints
/// them.
fn comments(of: &Value) -> Value {
    let (in_threads, own): (Vec<&Value>, Vec<&Value>) =
        list(of, "comments").partition(|comment| comment["thread_id"].is_string());
    let of_tool = list(of, "threads").flat_map(|thread| list(thread, "comments"));
    let of_tool = of_tool.filter(|comment| comment.is_object());
    let in_threads = in_threads.into_iter().chain(of_tool);
    let facts = |all: Vec<&Value>| all.into_iter().map(comment).collect::<Vec<_>>();
    json!([facts(own), facts(in_threads.collect())])
}

/// Returns the facts of a comment. The command prints reactions as `gh` does.
fn comment(one: &Value) -> Value {
    let fields = [
        "id",
        "author",
        "body",
        "created_at",
        "updated_at",
        "reply_to",
    ];
    let mut fact = of_fields(one, &fields);
    let of_command = list(one, "reaction_groups");
    let reactions = list(one, "reactions").chain(of_command).map(|reaction| {
        let users = &reaction["users"]["total_count"];
        let count = reaction.get("count").unwrap_or(users);
        format!("{} {count}", reaction["content"])
    });
    let mut reactions: Vec<String> = reactions.collect();
    reactions.sort();
    fact["reactions"] = json!(reactions);
    fact
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

fn linked(of: &Value) -> Vec<Value> {
    let fields = [
        "source",
        "key",
        "type",
        "title",
        "status",
        "status_name",
        "resolved",
        "relationship",
        "found_in",
        "labels",
        "body",
        "url",
    ];
    let mut found = picked(&of["linked_issues"], &fields);
    for (fact, item) in found.iter_mut().zip(list(of, "linked_issues")) {
        fact["comments"] = list(item, "comments").map(comment).collect();
    }
    found
}

fn related(of: &Value) -> Vec<Value> {
    let fields = [
        "title",
        "author",
        "state",
        "relationship",
        "overlap_files",
        "url",
    ];
    let mut found = picked(&of["related_prs"], &fields);
    for (fact, other) in found.iter_mut().zip(list(of, "related_prs")) {
        fact["number"] = number(&other["number"]).into();
    }
    found
}

fn diff(diff: &Value) -> Value {
    let stats = match diff["stats"].is_object() {
        true => ["files", "additions", "deletions"].map(|name| &diff["stats"][name]),
        false => ["files_total", "additions", "deletions"].map(|name| &diff[name]),
    };
    json!([stats, diff["truncated"]])
}

fn diff_files(diff: &Value) -> Vec<Value> {
    let fields = [
        "path",
        "previous_path",
        "status",
        "class",
        "additions",
        "deletions",
    ];
    let mut found = picked(&diff["files"], &fields);
    for (fact, file) in found.iter_mut().zip(list(diff, "files")) {
        fact["omitted"] = picked(&file["omitted"], &["reason", "lines"]).into();
    }
    found
}

fn history(of: &Value) -> Vec<Value> {
    let mut found = picked(&of["history"], &["kind", "actor", "detail"]);
    for (fact, event) in found.iter_mut().zip(list(of, "history")) {
        fact["at"] = event.get("at").unwrap_or(&event["created_at"]).clone();
    }
    found
}

/// Returns the files of the section with the first and last line of each excerpt. The command
/// prints the whole excerpts.
fn source(section: &Value) -> Vec<Value> {
    let files = section.get("files").unwrap_or(section);
    let mut found = picked(files, &["path", "status", "class", "lines_total"]);
    for (fact, file) in found.iter_mut().zip(files.as_array().into_iter().flatten()) {
        let of_command = list(file, "excerpts").map(|excerpt| {
            let first = excerpt["line"].as_u64().unwrap_or_default();
            let lines = text(&excerpt["text"]).lines().count() as u64;
            json!(format!("{first}-{}", (first + lines).saturating_sub(1)))
        });
        let lines = of_command.chain(list(file, "lines").cloned());
        fact["lines"] = lines.collect();
        fact["omitted"] = picked(&file["omitted"], &["reason", "lines"]).into();
    }
    found
}

/// Returns the messages of the warnings. The tool lists each error as a warning too.
fn warnings(of: &Value) -> Vec<&str> {
    let as_warning = |e: &Value| format!("{}: {}", text(&e["section"]), text(&e["message"]));
    let errors: Vec<String> = list(of, "errors").map(as_warning).collect();
    let messages = list(of, "warnings").map(message);
    let is_error = |message: &str| errors.iter().any(|error| error == message);
    messages.filter(|message| !is_error(message)).collect()
}

/// Returns the message of a warning. The command prints it with the recovery as one text.
fn message(warning: &Value) -> &str {
    let whole = text(warning.get("message").unwrap_or(warning));
    whole.split(". Recovery: ").next().unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the number of a pull request as text. The command prints it as a number.
fn number(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        number => number.to_string(),
    }
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
