//! The control interface of the double under `/_double/`, for tests that are not written in Rust.
//!
//! | request | what it does |
//! |---|---|
//! | `GET /_double/requests` | the recorded requests, and counts |
//! | `DELETE /_double/requests` | resets the record |
//! | `GET /_double/state?repo=o/r` | pull requests, comments and reviews of a repository |
//! | `POST /_double/faults` | adds a fault (see [`Fault`]), answers how many are left |
//! | `DELETE /_double/faults` | drops all faults |
//! | `POST /_double/seed` | runs a list of seed steps, like `{"do":"user","login":"octocat"}` |

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

use serde_json::{Value, json};

use super::{
    faults::Fault,
    record::{Counts, Recorded},
    reply::{self, Reply},
    seed::{ALL_SCOPES, PullSeed, Seed},
    server::{Incoming, Shared, lock},
    state::{Enforcement, Permission, Protection, ReviewState, Rule, Ruleset},
};

/// Answers a request of the control interface.
pub(crate) fn answer(shared: &Shared, request: &Incoming) -> Reply {
    let path = request.path.trim_start_matches("/_double/");
    match (request.method.as_str(), path) {
        ("GET", "requests") => requests(shared),
        ("DELETE", "requests") => {
            lock(&shared.log).clear();
            done()
        }
        ("GET", "state") => state(shared, request),
        ("POST", "faults") => match Value::as_object(&body(request)) {
            Some(fault) => match Fault::from_json(&Value::Object(fault.clone())) {
                Some(fault) => {
                    let mut plan = lock(&shared.plan);
                    plan.add(fault);
                    Reply::json(200, &json!({ "left": plan.left() }))
                }
                None => reply::message(422, "not a fault"),
            },
            None => reply::message(400, "a fault is a JSON object"),
        },
        ("DELETE", "faults") => {
            lock(&shared.plan).clear();
            done()
        }
        ("POST", "seed") => seed(shared, request),
        _ => reply::not_found(),
    }
}

fn done() -> Reply {
    Reply::json(200, &json!({ "ok": true }))
}

fn body(request: &Incoming) -> Value {
    serde_json::from_slice(&request.body).unwrap_or_default()
}

fn requests(shared: &Shared) -> Reply {
    let log = lock(&shared.log);
    let counts = Counts::of(&log);
    let list: Vec<Value> = log.iter().map(recorded_json).collect();
    Reply::json(
        200,
        &json!({
            "counts": {
                "api": counts.api,
                "queries": counts.queries,
                "mutations": counts.mutations,
                "rest": counts.rest,
                "git": counts.git,
            },
            "requests": list,
        }),
    )
}

fn recorded_json(it: &Recorded) -> Value {
    json!({
        "index": it.index,
        "method": it.method,
        "path": it.path,
        "host": it.host,
        "operation": it.operation,
        "fields": it.fields,
        "mutation": it.mutation,
        "git": it.git,
        "request_bytes": it.request_bytes,
        "response_bytes": it.response_bytes,
        "status": it.status,
        "faulted": it.faulted,
    })
}

fn state(shared: &Shared, request: &Incoming) -> Reply {
    let full_name = request
        .query
        .strip_prefix("repo=")
        .unwrap_or_default()
        .replace("%2F", "/");
    let state = shared.state();
    let found = full_name
        .split_once('/')
        .and_then(|(owner, name)| state.repo(owner, name));
    let Some(repo) = found else {
        return reply::not_found();
    };
    let pulls: Vec<Value> = state
        .pulls
        .values()
        .filter(|pull| pull.repo == repo.id)
        .map(|pull| {
            let comments = state.comments.values().filter(|it| it.subject == pull.id);
            let reviews = state.reviews.values().filter(|it| it.pull == pull.id);
            json!({
                "number": pull.number,
                "title": pull.title,
                "body": pull.body,
                "state": pull.state.name(),
                "draft": pull.draft,
                "author": state.login(pull.author),
                "base": pull.base_branch,
                "head": pull.head_branch,
                "head_oid": pull.head_oid,
                "labels": pull.labels.iter().filter_map(|id| state.labels.get(id))
                    .map(|label| label.name.clone()).collect::<Vec<_>>(),
                "assignees": pull.assignees.iter().map(|id| state.login(*id)).collect::<Vec<_>>(),
                "requested": pull.requested.len(),
                "comments": comments.map(|it| it.body.clone()).collect::<Vec<_>>(),
                "reviews": reviews.map(|it| it.state.name()).collect::<Vec<_>>(),
            })
        })
        .collect();
    Reply::json(200, &json!({ "pulls": pulls }))
}

fn seed(shared: &Shared, request: &Incoming) -> Reply {
    match run_steps(shared, &body(request)) {
        Ok(made) => Reply::json(200, &Value::Array(made)),
        Err(problem) => reply::message(422, &problem),
    }
}

/// Seed steps and their fields. Optional fields are in brackets.
pub const STEPS: &[(&str, &str)] = &[
    ("user", "login [name]"),
    ("bot", "login"),
    ("org", "login [members]"),
    ("sso", "org"),
    ("team", "org slug [members]"),
    ("token", "token login [scopes]"),
    ("repo", "repo [private auto_merge]"),
    ("fork", "repo owner"),
    ("delete_repo", "repo"),
    ("collaborator", "repo login [permission]"),
    (
        "protect",
        "repo [branch approvals checks strict conversations enforce_admins merge_queue \
         code_owners dismiss_stale last_push linear signatures]",
    ),
    (
        "ruleset",
        "repo rules [name of_org enforcement include exclude]",
    ),
    ("commit", "repo branch files [message]"),
    ("label", "repo name"),
    ("milestone", "repo title"),
    ("issue_type", "owner name"),
    ("issue", "repo author title [body]"),
    (
        "pull",
        "repo title head [author body base draft labels assignees]",
    ),
    ("pulls", "repo count"),
    ("comment", "repo number author body"),
    ("review", "repo number author verdict [body]"),
    ("check", "repo number name conclusion [workflow]"),
    ("status", "repo number context state"),
    ("project", "owner title [options]"),
    ("project_field", "project name [options]"),
    ("project_item", "project repo number [status]"),
    ("project_value", "item field value"),
    ("pin_issue", "repo number"),
    ("sub_issue", "repo number parent [parent_repo]"),
    ("blocked_by", "repo number blocker [blocker_repo]"),
    ("label_issue", "repo number label"),
    ("same_second", "[on]"),
];

/// Runs seed steps, and returns what each step created. `Err` names the step that failed.
pub(crate) fn run_steps(shared: &Shared, steps: &Value) -> Result<Vec<Value>, String> {
    let steps = match steps {
        Value::Array(steps) => steps.as_slice(),
        step @ Value::Object(_) => std::slice::from_ref(step),
        _ => return Err("seed steps must be a JSON list".to_owned()),
    };
    let mut seed = Seed(shared.state());
    let mut made = Vec::new();
    for step in steps {
        if let Some(problem) = unknown_field(step) {
            return Err(format!("cannot run {step}: {problem}"));
        }
        // The methods of the seed panic if an object is missing. The panic becomes the answer.
        let absent = Cell::new("");
        let run = AssertUnwindSafe(|| apply(&mut seed, step, &absent));
        match catch_unwind(run) {
            Ok(Some(value)) => made.push(value),
            Ok(None) => {
                return Err(format!(
                    "cannot run {step}: {}",
                    why_not(step, absent.get())
                ));
            }
            Err(_) => return Err(format!("cannot run {step}: a named object does not exist")),
        }
    }
    Ok(made)
}

/// Returns the problem of a step with a field that its kind does not have.
fn unknown_field(step: &Value) -> Option<String> {
    let name = step.get("do").and_then(Value::as_str)?;
    let (_, fields) = STEPS.iter().find(|(known, _)| *known == name)?;
    let is_known = |key: &str| key == "do" || fields.split([' ', '[', ']']).any(|f| f == key);
    let unknown = step.as_object()?.keys().find(|key| !is_known(key))?;
    Some(format!("`{unknown}` is no field of it; fields: {fields}"))
}

/// Returns why a step cannot be executed. `absent` is the field that was read last.
fn why_not(step: &Value, absent: &str) -> String {
    if let Some((field, values)) = wrong_choice(step) {
        return format!("`{field}` is one of: {values}");
    }
    let name = step.get("do").and_then(Value::as_str).unwrap_or_default();
    match STEPS.iter().find(|(known, _)| *known == name) {
        Some((_, fields)) => {
            format!("`{absent}` is missing or has the wrong type; fields: {fields}")
        }
        None => {
            let names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
            format!("`do` is one of: {}", names.join(", "))
        }
    }
}

/// Fields that take one of several values, in any case: the step, the field and the values.
const CHOICES: &[(&str, &str, &[&str])] = &[
    (
        "check",
        "conclusion",
        &[
            "ACTION_REQUIRED",
            "CANCELLED",
            "FAILURE",
            "NEUTRAL",
            "SKIPPED",
            "STALE",
            "STARTUP_FAILURE",
            "SUCCESS",
            "TIMED_OUT",
            "IN_PROGRESS",
            "PENDING",
            "QUEUED",
            "REQUESTED",
            "WAITING",
        ],
    ),
    (
        "status",
        "state",
        &["ERROR", "EXPECTED", "FAILURE", "PENDING", "SUCCESS"],
    ),
    (
        "review",
        "verdict",
        &["approve", "comment", "request-changes"],
    ),
];

/// Returns the field of a step whose value is not one of [`CHOICES`], and the possible values.
fn wrong_choice(step: &Value) -> Option<(&'static str, String)> {
    let name = step.get("do").and_then(Value::as_str)?;
    let (_, field, values) = CHOICES.iter().find(|(of, ..)| *of == name)?;
    let given = step.get(field).and_then(Value::as_str)?;
    let is_known = values.iter().any(|v| v.eq_ignore_ascii_case(given));
    (!is_known).then(|| (*field, values.join(", ")))
}

/// Executes a step. Returns `None` if the step is unknown, lacks a field or has a wrong value;
/// `absent` holds the name of a missing field.
fn apply(seed: &mut Seed<'_>, step: &Value, absent: &Cell<&'static str>) -> Option<Value> {
    // Steps that are not in `STEPS` are refused, so that the list stays complete.
    let name = step.get("do").and_then(Value::as_str)?;
    STEPS.iter().find(|(known, _)| *known == name)?;
    if wrong_choice(step).is_some() {
        return None;
    }
    let get = |name: &'static str| {
        absent.set(name);
        step.get(name)
    };
    let text = |name: &'static str| get(name).and_then(Value::as_str);
    let number = |name: &'static str| get(name).and_then(Value::as_u64);
    let flag = |name: &str| step.get(name).and_then(Value::as_bool).unwrap_or(false);
    let list = |name: &str| -> Vec<&str> {
        let list = step.get(name).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    };
    let repo = || text("repo");
    Some(match text("do")? {
        "user" => match text("name") {
            Some(name) => seed.named_user(text("login")?, name).into(),
            None => seed.user(text("login")?).into(),
        },
        "bot" => seed.bot(text("login")?).into(),
        "org" => {
            let members = list("members");
            let members: Vec<(&str, Permission)> = members
                .into_iter()
                .map(|login| (login, Permission::Admin))
                .collect();
            seed.org(text("login")?, &members).into()
        }
        "sso" => {
            seed.require_sso(text("org")?);
            Value::Null
        }
        "team" => seed
            .team(text("org")?, text("slug")?, &list("members"))
            .into(),
        "token" => {
            let scopes = list("scopes");
            let scopes = if scopes.is_empty() {
                ALL_SCOPES
            } else {
                &scopes
            };
            seed.token(text("token")?, text("login")?, scopes);
            Value::Null
        }
        "repo" => {
            let id = seed.repo_with_readme(repo()?);
            let private = flag("private");
            let auto = flag("auto_merge");
            seed.configure(repo()?, |repo| {
                repo.private = private;
                repo.allow_auto_merge = auto;
            });
            id.into()
        }
        "fork" => seed.fork(repo()?, text("owner")?).into(),
        "delete_repo" => {
            seed.delete_repo(repo()?);
            Value::Null
        }
        "collaborator" => {
            let permission = match text("permission").unwrap_or("write") {
                "read" => Permission::Read,
                "triage" => Permission::Triage,
                "admin" => Permission::Admin,
                _ => Permission::Write,
            };
            seed.collaborator(repo()?, text("login")?, permission);
            Value::Null
        }
        "protect" => {
            let rules = Protection {
                approvals: u32::try_from(number("approvals").unwrap_or(0)).ok()?,
                checks: list("checks").into_iter().map(str::to_owned).collect(),
                strict: flag("strict"),
                conversations: flag("conversations"),
                enforce_admins: flag("enforce_admins"),
                merge_queue: flag("merge_queue"),
                code_owners: flag("code_owners"),
                dismiss_stale: flag("dismiss_stale"),
                last_push: flag("last_push"),
                linear: flag("linear"),
                signatures: flag("signatures"),
                ..Protection::default()
            };
            seed.protect(repo()?, text("branch").unwrap_or("main"), rules);
            Value::Null
        }
        "ruleset" => {
            let owned = |name: &str| list(name).into_iter().map(str::to_owned).collect();
            let rules = get("rules").and_then(Value::as_array)?;
            let rules = rules.iter().map(|rule| {
                Some(Rule {
                    kind: rule.get("type")?.as_str()?.to_owned(),
                    parameters: rule.get("parameters").cloned().unwrap_or_default(),
                })
            });
            let ruleset = Ruleset {
                name: text("name").unwrap_or("rules").to_owned(),
                of_org: flag("of_org"),
                enforcement: match text("enforcement") {
                    Some("evaluate") => Enforcement::Evaluate,
                    Some("disabled") => Enforcement::Disabled,
                    _ => Enforcement::Active,
                },
                include: owned("include"),
                exclude: owned("exclude"),
                rules: rules.collect::<Option<_>>()?,
                ..Ruleset::default()
            };
            seed.ruleset(repo()?, ruleset).into()
        }
        "commit" => {
            let files = get("files").and_then(Value::as_object)?;
            let files: Vec<(&str, Option<&str>)> = files
                .iter()
                .map(|(path, content)| (path.as_str(), content.as_str()))
                .collect();
            let message = text("message").unwrap_or("Change");
            seed.commit(repo()?, text("branch")?, &files, message)
                .into()
        }
        "label" => seed.label(repo()?, text("name")?).into(),
        "milestone" => seed.milestone(repo()?, text("title")?).into(),
        "issue_type" => seed.issue_type(text("owner")?, text("name")?).into(),
        "issue" => seed
            .open_issue(
                repo()?,
                text("author")?,
                text("title")?,
                text("body").unwrap_or_default(),
            )
            .into(),
        "pull" => {
            let labels = list("labels");
            let assignees = list("assignees");
            seed.open_pull(
                repo()?,
                &PullSeed {
                    author: text("author").unwrap_or_default(),
                    title: text("title")?,
                    body: text("body").unwrap_or_default(),
                    head: text("head")?,
                    base: text("base").unwrap_or_default(),
                    draft: flag("draft"),
                    labels: &labels,
                    assignees: &assignees,
                },
            )
            .into()
        }
        "pulls" => {
            seed.many_pulls(repo()?, usize::try_from(number("count")?).ok()?);
            Value::Null
        }
        "comment" => seed
            .comment(repo()?, number("number")?, text("author")?, text("body")?)
            .into(),
        "review" => {
            let verdict = match text("verdict")?.to_ascii_lowercase().as_str() {
                "approve" => ReviewState::Approved,
                "request-changes" => ReviewState::ChangesRequested,
                _ => ReviewState::Commented,
            };
            let body = text("body").unwrap_or_default();
            seed.review(repo()?, number("number")?, text("author")?, verdict, body)
                .into()
        }
        "check" => seed
            .check(
                repo()?,
                number("number")?,
                text("workflow").unwrap_or("CI"),
                text("name")?,
                &text("conclusion")?.to_ascii_uppercase(),
            )
            .into(),
        "status" => seed
            .status(
                repo()?,
                number("number")?,
                text("context")?,
                &text("state")?.to_ascii_uppercase(),
            )
            .into(),
        "project" => seed
            .project(text("owner")?, text("title")?, &list("options"))
            .into(),
        "project_field" => seed
            .project_field(number("project")?, text("name")?, &list("options"))
            .into(),
        "project_item" => seed
            .project_item(
                number("project")?,
                repo()?,
                number("number")?,
                text("status").unwrap_or_default(),
            )
            .into(),
        "project_value" => {
            seed.project_value(number("item")?, text("field")?, text("value")?);
            Value::Null
        }
        "pin_issue" => {
            seed.pin_issue(repo()?, number("number")?);
            Value::Null
        }
        "sub_issue" => {
            let parent = text("parent_repo").or(repo())?;
            seed.sub_issue((parent, number("parent")?), (repo()?, number("number")?));
            Value::Null
        }
        "blocked_by" => {
            let blocker = text("blocker_repo").or(repo())?;
            seed.blocked_by((repo()?, number("number")?), (blocker, number("blocker")?));
            Value::Null
        }
        "label_issue" => {
            seed.label_issue(repo()?, number("number")?, text("label")?);
            Value::Null
        }
        "same_second" => {
            seed.same_second = flag("on");
            Value::Null
        }
        _ => return None,
    })
}
