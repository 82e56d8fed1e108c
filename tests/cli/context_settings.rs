//! Tests the user's settings for `forge pr context`: their effects on cost and output.

use forge_github_double::{Action, Fault, PullSeed};
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO, TOKEN},
    world::World,
};

const CONFIG: &str = "home/.config/forge/config.toml";

/// Every key of `context`, with a value other than its default.
const KEYS: [(&str, &str); 11] = [
    ("context.include", "[\"files\"]"),
    ("context.diff_context_lines", "1"),
    ("context.cache_ttl_seconds", "0"),
    ("context.rate_limit_buffer", "7"),
    ("context.related_prs.strategies", "[\"linked_issues\"]"),
    ("context.related_prs.max_related", "1"),
    ("context.related_prs.lookback_days", "3"),
    ("context.summary.high_risk_lines", "30"),
    ("context.summary.medium_risk_lines", "3"),
    ("context.summary.critical_paths", "[\"feature\"]"),
    ("context.summary.require_approval", "false"),
];

impl World {
    fn configure(&self, toml: &str) {
        self.scratch.write(CONFIG, toml);
    }
}

/// Returns the JSON events on stderr.
fn events(stderr: &str) -> Vec<Value> {
    let lines = stderr.lines().filter(|line| line.starts_with('{'));
    lines.map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn r_002_15_events_are_json_lines_on_stderr() {
    let hub = Hub::with_pull();
    let args = ["pr", "context", "1", "-R", REPO, "--events", "jsonl"];
    let out = hub.forge(&args).output().success();
    let stderr = out.stderr_text();
    assert!(!stderr.contains(TOKEN), "{stderr}");
    let all = events(&stderr);
    let names: Vec<&str> = all.iter().map(|e| e["event"].as_str().unwrap()).collect();
    let (first, last) = (&all[0], &all[all.len() - 1]);
    assert_eq!(first["event"], "tool:pr_context:start");
    assert_eq!(first["pr_identifier"], "1");
    assert!(first["repo"].as_str().unwrap().ends_with(REPO), "{first}");
    let sections = json!(["comments", "reviews", "ci", "linked_issues", "diff"]);
    assert_eq!(first["include"], sections);
    assert_eq!(last["event"], "tool:pr_context:complete");
    assert_eq!(last["pr_number"], "1");
    assert_eq!(last["sections_fetched"], sections);
    let fetched = |e: &&Value| e["event"] == "tool:pr_context:github_fetch";
    let fetches: Vec<&Value> = all.iter().filter(fetched).collect();
    assert_eq!(fetches.len(), names.len() - 2);
    assert_eq!(fetches.len() as u64, hub.double.counts().api as u64);
    let endpoint = |e: &&Value| e["endpoint"].as_str().unwrap().to_owned();
    let endpoints: Vec<String> = fetches.iter().map(endpoint).collect();
    let has = |end: &str| endpoints.iter().any(|e| e.ends_with(end));
    assert!(
        has("/graphql") && has("/repos/octo/tools/pulls/1"),
        "{endpoints:?}"
    );
    assert!(fetches.iter().all(|e| e["duration_ms"].is_u64()));
    // A failed command reports its failure as an event as well.
    let args = ["pr", "context", "99", "-R", REPO, "--events", "jsonl"];
    let out = hub.forge(&args).output().exits(1);
    let all = events(&out.stderr_text());
    let last = &all[all.len() - 1];
    assert_eq!(last["event"], "tool:pr_context:error");
    assert_eq!(last["error_type"], "not_found");
}

#[test]
fn r_002_15_failed_selection_is_reported_as_events() {
    let hub = Hub::with_pull();
    let branch = "nosuchbranch";
    let args = ["pr", "context", branch, "-R", REPO, "--events", "jsonl"];
    let out = hub.forge(&args).output().exits(1);
    let all = events(&out.stderr_text());
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[0]["event"], "tool:pr_context:start");
    assert_eq!(all[0]["pr_identifier"], branch);
    assert_eq!(all[0]["repo"], REPO);
    assert_eq!(all[1]["event"], "tool:pr_context:error");
    assert_eq!(all[1]["error_type"], "not_found");
}

#[test]
fn r_002_17_low_rate_limit_drops_optional_sections() {
    let low = || {
        Fault::new(Action::Headers(vec![(
            "x-ratelimit-remaining".to_owned(),
            "99".to_owned(),
        )]))
    };
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    let number = seed.open_issue(REPO, "ada", "It leaks", "Since May.");
    seed.check(REPO, 1, "CI", "build", "FAILURE");
    drop(seed);
    let body = format!("Closes #{number}");
    hub.forge(&["pr", "edit", "1", "-R", REPO, "-b", &body])
        .ok();
    hub.double.fault(low().on_operation("PullView").always());
    hub.double.reset_record();
    let include = "comments,ci_logs,linked_issues,related_prs";
    let args = ["pr", "context", "1", "-R", REPO, "-i", include, "--json"];
    let out = hub.forge(&args).output().success();
    let found = out.json();
    let of = |e: &Value| format!("{} {}", e["section"], e["kind"]).replace('"', "");
    let errors = found["errors"].as_array().unwrap();
    let errors: Vec<String> = errors.iter().map(of).collect();
    let wanted = ["ci_logs", "linked_issues", "related_prs"];
    assert_eq!(
        errors,
        wanted.map(|s| format!("{s} rate_limited")),
        "{found}"
    );
    assert_eq!(found["partial"], true);
    assert_eq!(found["relatedPrs"], Value::Null);
    assert_eq!(found["linkedIssues"][0]["body"], Value::Null, "{found}");
    assert_eq!(found["linkedIssues"][0]["key"], format!("#{number}"));
    let sent = hub.double.requests().into_iter().map(|r| r.operation);
    let sent: Vec<String> = sent.map(Option::unwrap_or_default).collect();
    assert!(
        !sent.iter().any(|o| o == "IssueView" || o == "PullList"),
        "{sent:?}"
    );
    let stderr = out.stderr_text();
    let said = "left out to save the rate limit: 99 requests remain, and 100 are reserved";
    assert!(
        stderr.contains(said) && stderr.contains("try again at 20"),
        "{stderr}"
    );
    // R-002-18: a smaller configured reserve leaves enough for these sections.
    hub.forge(&["config", "set", "context.rate_limit_buffer", "99"])
        .ok();
    let found = hub.forge(&args).output().success().json();
    assert_eq!(found["linkedIssues"][0]["body"], "Since May.", "{found}");
}

#[test]
fn c_002_1_refused_query_fails_only_long_sections() {
    let hub = Hub::with_pull();
    let refused = json!({"errors": [{"type": "RESOURCE_LIMITS_EXCEEDED", "message": "Too much."}]});
    let headers = [("content-type", "application/json; charset=utf-8")];
    let fault = Fault::answer(200, &headers, refused.to_string());
    hub.double.fault(fault.on_operation("PullView"));
    let found = hub.context(&["1", "--json"]);
    let of = |e: &Value| e["section"].as_str().unwrap().to_owned();
    let errors = found["errors"].as_array().unwrap();
    let errors: Vec<String> = errors.iter().map(of).collect();
    assert_eq!(errors, ["comments", "reviews", "linked_issues"], "{found}");
    assert_eq!(found["partial"], true);
    assert_eq!(found["summary"]["blockers"], json!(["No approvals yet"]));
    assert_eq!(found["comments"], Value::Null);
}

#[test]
fn long_section_has_newest_hundred_and_the_total() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    for n in 0..130 {
        seed.comment(REPO, 1, "grace", &format!("Comment {n}"));
    }
    drop(seed);
    hub.double.reset_record();
    let args = ["pr", "context", "1", "-R", REPO, "-i", "comments", "--json"];
    let out = hub.forge(&args).output().success();
    let found = out.json();
    let comments = found["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 100);
    assert_eq!(comments[0]["body"], "Comment 30");
    assert_eq!(comments[99]["body"], "Comment 129");
    let stderr = out.stderr_text();
    let said = "100 of 130 comments were read, 30 were left out";
    assert!(stderr.contains(said), "{stderr}");
    let recovery = format!("Recovery: read all of them: forge pr view 1 -R {REPO} --json comments");
    assert_eq!(found["warnings"][0], format!("{said}. {recovery}"));
    assert_eq!(found["partial"], false, "{found}");
    let sent = hub.double.requests().into_iter().map(|r| r.operation);
    let sent: Vec<String> = sent.map(Option::unwrap_or_default).collect();
    assert!(!sent.contains(&"PullMore".to_owned()), "{sent:?}");
}

#[test]
fn r_002_18_cloned_repository_cannot_set_context_keys() {
    let world = World::with_pull();
    let fields = "pr,comments,reviews,files,diff,summary,verdict";
    let look = || {
        let mut found = world.context(&["1", "--json", fields, "-i", "comments,diff"]);
        found["verdict"]["checkedAt"] = Value::Null;
        found
    };
    let before = look();
    let lines = KEYS.map(|(key, value)| format!("{key} = {value}\n"));
    let own = world.git.path().join(".forge.toml");
    std::fs::write(own, lines.concat()).unwrap();
    assert_eq!(look(), before);
    let out = world.forge(&["config", "validate"]).output();
    let said = format!("{}{}", out.stdout_text(), out.stderr_text());
    for (key, _) in KEYS {
        let refused = format!("`{key}` cannot be set by a repository");
        assert!(said.contains(&refused), "{key}: {said}");
        let out = world
            .forge(&["config", "set", key, "1", "--repo"])
            .output()
            .exits(1);
        assert!(out.stderr_text().contains(&refused), "{out:?}");
    }
    // In the user's own file, each of these keys has an effect.
    world.configure(&lines.concat());
    for (key, value) in KEYS {
        let shown = world.forge(&["config", "get", key]).text();
        let wanted = value.trim_matches(['[', ']']).replace('"', "");
        assert_eq!(shown.trim_end(), wanted, "{key}");
    }
}

#[test]
fn r_002_18_config_sets_default_sections_and_context_lines() {
    let world = World::with_pull();
    let lines: String = (0..40).map(|n| format!("line {n}\n")).collect();
    world
        .git
        .commit("main", "Base", &[("long.txt", Some(&lines))]);
    let changed = lines.replace("line 20\n", "LINE 20\n");
    world
        .git
        .commit("edit", "Edit", &[("long.txt", Some(&changed))]);
    world
        .forge(&["pr", "create", "-H", "edit", "-t", "Edit", "-b", ""])
        .ok();
    let context = |args: &[&str]| {
        let all = [&["2", "--json"][..], args].concat();
        world.context(&all)
    };
    world.configure("context.include = [\"files\"]\ncontext.diff_context_lines = 1\n");
    let found = context(&[]);
    assert_eq!(found["files"][0]["path"], "long.txt");
    assert_eq!(found["diff"], Value::Null);
    let found = context(&["-i", "diff"]);
    assert_eq!(found["diff"]["contextLines"], 1);
    assert_eq!(found["files"], Value::Null);
    let found = context(&["-i", "diff", "-U", "2"]);
    assert_eq!(found["diff"]["contextLines"], 2);
}

#[test]
fn r_002_18_config_sets_risk_limits_and_required_approval() {
    let world = World::with_pull();
    let context = || world.context(&["1", "--json", "summary,verdict"]);
    let plain = context();
    assert_eq!(plain["summary"]["riskLevel"], "low", "{plain}");
    assert_eq!(plain["summary"]["blockers"], json!(["No approvals yet"]));
    world.configure(
        "[context.summary]\nhigh_risk_lines = 1\ncritical_paths = [\"feature\"]\nrequire_approval = false\n",
    );
    let found = context();
    assert_eq!(found["summary"]["risk"]["score"], 3, "{found}");
    assert_eq!(found["summary"]["riskLevel"], "high");
    // C-002-17
    assert_eq!(found["summary"]["blockers"], json!([]));
    assert_eq!(found["summary"]["readyToMerge"], true, "{found}");
    // A reference `${NAME}` is replaced by the variable's value. If the variable is not set, the
    // key keeps its default.
    world.configure("[context.summary]\nmedium_risk_lines = \"${FEW_LINES}\"\n");
    assert_eq!(context()["summary"]["risk"]["score"], 0);
    let run = world
        .forge(&["pr", "context", "1", "--json", "summary"])
        .env("FEW_LINES", "1");
    assert_eq!(run.output().success().json()["summary"]["risk"]["score"], 1);
}

#[test]
fn r_002_18_config_selects_kinds_of_related_pulls() {
    let world = World::new();
    for branch in ["team/api/one", "team/api/two", "other"] {
        let files = [("a.txt", Some(branch)), (branch, Some("x\n"))];
        world.git.commit(branch, "Add", &files);
        world
            .forge(&["pr", "create", "-H", branch, "-t", branch, "-b", ""])
            .ok();
    }
    let related = || {
        let found = world.context(&["1", "--json", "relatedPrs"]);
        let all = found["relatedPrs"].as_array().unwrap().clone();
        let of = |r: Value| format!("{} {}", r["number"], r["relationship"]).replace('"', "");
        all.into_iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(related(), ["2 same_files", "3 same_files"]);
    world.configure("context.related_prs.max_related = 1\n");
    assert_eq!(related(), ["2 same_files"]);
    world.configure("context.related_prs.strategies = [\"same_branch_prefix\"]\n");
    assert_eq!(related(), ["2 same_branch_prefix"]);
}

#[test]
fn r_002_18_configured_lookback_includes_older_pulls() {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    for head in ["one", "two"] {
        seed.commit(REPO, head, &[("same.txt", Some(head))], "Work");
        let pull = PullSeed {
            author: "grace",
            title: "Work",
            head,
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
    }
    drop(seed);
    hub.forge(&["pr", "close", "1", "-R", REPO]).ok();
    let related = || {
        let found = hub.context(&["2", "--json", "relatedPrs"]);
        found["relatedPrs"].as_array().unwrap().len()
    };
    // The double's clock is behind the system time, so its pull requests seem old.
    assert_eq!(related(), 0);
    hub.forge(&[
        "config",
        "set",
        "context.related_prs.lookback_days",
        "100000",
    ])
    .ok();
    assert_eq!(related(), 1);
}

#[test]
fn merge_on_a_terminal_names_the_open_requirements() {
    let world = World::with_pull();
    let merge = |args: &[&str]| {
        let all = [&["pr", "merge", "1", "--merge"], args].concat();
        world.forge(&all)
    };
    let out = merge(&[]).env("FORGE_FORCE_TTY", "100").output().success();
    let stderr = out.stderr_text();
    let said = "approved is not met: 0 approval(s) (not required by the forge)";
    let (at, done) = (stderr.find(said), stderr.find("Merged pull request"));
    assert!(at.is_some() && at < done, "{stderr}");
    let hub = Hub::with_pull();
    let merge = hub.forge(&["pr", "merge", "1", "--merge", "-R", REPO]);
    let stderr = merge.env("FORGE_FORCE_TTY", "100").output().success();
    let stderr = stderr.stderr_text();
    assert_eq!(stderr.matches("! ").count(), 1, "{stderr}");
}

#[test]
fn merge_with_unread_requirements_warns_before_the_merge() {
    let hub = Hub::with_pull();
    let kind = [("content-type", "application/json")];
    let broken = Fault::answer(200, &kind, "{}").on_operation("PullView");
    hub.double.fault(broken);
    let merge = hub.forge(&["pr", "merge", "1", "--merge", "-R", REPO]);
    let out = merge.env("FORGE_FORCE_TTY", "100").output().success();
    let stderr = out.stderr_text();
    let said = "the requirements could not be read: ";
    let (at, done) = (stderr.find(said), stderr.find("Merged pull request"));
    assert!(at.is_some() && at < done, "{stderr}");
}
