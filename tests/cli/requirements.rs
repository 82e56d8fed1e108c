//! Writes the page of requirements. Also tests the requirements that no other file tests.

mod earlier_sets;

use std::{collections::BTreeMap, fs, path::Path};

use forge_github_double::{Fault, PullSeed, state::ReviewState};
use forge_testkit::workspace_root;
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO, TOKEN},
    world::World,
};

/// The sets of requirements on the page.
const SETS: [&str; 4] = ["-000-", "-001-", "-002-", "-003-"];

/// Every requirement and every correction of set 002, in our own words.
const REQUIREMENTS: &[(&str, &str)] = &[
    (
        "R-002-1",
        "the parameters of the tool, and the sections that it has by default",
    ),
    (
        "R-002-2",
        "a pull request by number, `#number`, URL, branch or `.`",
    ),
    (
        "R-002-3",
        "sections are read in parallel; one that fails does not fail the call",
    ),
    ("R-002-4", "the fields of the pull request itself"),
    (
        "R-002-5",
        "comments with author, times, answers, reactions, place and hunk",
    ),
    ("R-002-6", "reviews with their state, text and comments"),
    (
        "R-002-7",
        "the checks, what they add up to, and why one failed",
    ),
    (
        "R-002-8",
        "linked issues of the forge and of JIRA, once each",
    ),
    (
        "R-002-9",
        "related pull requests, how they are related, and the overlap of files",
    ),
    ("R-002-10", "the diff with statistics, files and hunks"),
    (
        "R-002-11",
        "a section that was not asked for is null or absent",
    ),
    (
        "R-002-12",
        "a summary: one line, kind of change, risk, blockers, readiness",
    ),
    (
        "R-002-13",
        "the exact texts of five blockers, and their order",
    ),
    ("R-002-14", "the scores of risk"),
    (
        "R-002-15",
        "events of start, requests, completion and errors",
    ),
    ("R-002-16", "neither JIRA nor a clone is needed"),
    (
        "R-002-17",
        "no token is shown, and a rate limit costs sections and not the call",
    ),
    ("R-002-18", "the configuration keys and their defaults"),
    (
        "R-002-19",
        "the first example: one approval, one open thread, green checks",
    ),
    (
        "R-002-20",
        "the second example: two sections, and the whole verdict",
    ),
    (
        "R-002-21",
        "`Fixes PROJ-123` is one linked issue; a failing pull request has its blockers",
    ),
    ("R-002-22", "a merged pull request can be looked up"),
    ("R-002-23", "the name of a branch names a ticket"),
    (
        "C-002-1",
        "a section that fails is null, with an error and `partial`",
    ),
    (
        "C-002-2",
        "the verdict does not depend on the sections that are shown",
    ),
    (
        "C-002-3",
        "threads have ids, and say whether they are resolved",
    ),
    (
        "C-002-4",
        "a reviewer who is asked again is pending, and the approval counts",
    ),
    ("C-002-5", "the risk has its score and its reasons"),
    ("C-002-6", "critical paths are whole segments or globs"),
    (
        "C-002-7",
        "blockers beyond the five: conflicts, pending checks, behind, not open",
    ),
    (
        "C-002-8",
        "what looks like a ticket and is none: `SHA-256`, `UTF-8`, `CVE-2024-1`",
    ),
    (
        "C-002-9",
        "a ticket that nobody was asked about is kept as unknown",
    ),
    ("C-002-10", "the strongest relationship wins"),
    ("C-002-11", "one vocabulary of relationships"),
    ("C-002-12", "the lines of context that were used are stated"),
    ("C-002-13", "`1#2` is no number"),
    (
        "C-002-14",
        "a URL wins over `-R`, and a contradiction is an error",
    ),
    (
        "C-002-15",
        "the one line and the key changes come from rules",
    ),
    (
        "C-002-16",
        "the kind of change comes from the title, labels, files, branch and linked issues",
    ),
    (
        "C-002-17",
        "an approval is wanted where the forge says so, or says nothing",
    ),
    (
        "C-002-18",
        "what people wrote is marked, and its escapes are neutralised",
    ),
];

/// Keys of R-002-18 that `forge` does not have, each with its replacement.
const REPLACED_KEYS: &[(&str, &str)] = &[
    (
        "github.auth_token",
        "none, because configuration files have no credentials: `forge auth login`, or the \
         variable `GH_TOKEN` or `GITHUB_TOKEN`",
    ),
    (
        "github.api_url",
        "`hosts.<host>.api_url`, which github.com does not need",
    ),
];

/// Keys of R-002-18 that `forge` has, each with the name and the default in `forge`.
const CONFIG_KEYS: &[(&str, &str, Option<&str>)] = &[
    (
        "github.rate_limit_buffer",
        "context.rate_limit_buffer",
        Some("100"),
    ),
    (
        "github.cache_ttl_seconds",
        "context.cache_ttl_seconds",
        Some("60"),
    ),
    ("jira.enabled", "jira.enabled", Some("true")),
    ("jira.base_url", "jira.base_url", None),
    ("jira.auth_token", "jira.auth_token", Some("${JIRA_TOKEN}")),
    ("jira.key_patterns", "jira.key_patterns", None),
    (
        "defaults.include",
        "context.include",
        Some("comments reviews ci linked_issues diff"),
    ),
    (
        "defaults.diff_context_lines",
        "context.diff_context_lines",
        Some("5"),
    ),
    (
        "related_prs.strategies",
        "context.related_prs.strategies",
        Some("same_files same_branch_prefix linked_issues"),
    ),
    (
        "related_prs.max_related",
        "context.related_prs.max_related",
        Some("5"),
    ),
    (
        "related_prs.lookback_days",
        "context.related_prs.lookback_days",
        Some("30"),
    ),
    (
        "summary.high_risk_lines",
        "context.summary.high_risk_lines",
        Some("500"),
    ),
    (
        "summary.medium_risk_lines",
        "context.summary.medium_risk_lines",
        Some("200"),
    ),
    (
        "summary.critical_paths",
        "context.summary.critical_paths",
        Some("migrations migration auth security payment payments **/secrets**"),
    ),
];

/// Returns the tests of each requirement as `folder/file::test`, with tests of the CLI and the MCP
/// server first.
fn tests_by_requirement() -> BTreeMap<String, Vec<String>> {
    let root = workspace_root();
    let mut files = Vec::new();
    for dir in ["tests", "crates"] {
        rust_files(&root.join(dir), &mut files);
    }
    let mut found: BTreeMap<String, Vec<(bool, String)>> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&root).unwrap().with_extension("");
        let name = name.to_str().unwrap();
        let through_a_face = name.starts_with("tests/");
        let mut test = "";
        for line in text.lines() {
            // A comment inside a test can name further requirements that the test covers.
            let named = match line.split_once("fn ") {
                Some((before, rest)) if !before.contains("//") => {
                    test = rest.split('(').next().unwrap();
                    let mut parts = test.split('_');
                    let set = parts.next().unwrap().to_uppercase();
                    format!(
                        "{set}-{}-{}",
                        parts.next().unwrap_or(""),
                        parts.next().unwrap_or("")
                    )
                }
                // In `crates/`, a comment about a requirement can be outside a test.
                _ => match line.trim().strip_prefix("// ") {
                    Some(rest) if through_a_face || rest.starts_with("C-") => {
                        rest.split([' ', ':', '.']).next().unwrap().to_owned()
                    }
                    _ => continue,
                },
            };
            if SETS
                .iter()
                .any(|set| named.get(1..).is_some_and(|n| n.starts_with(set)))
            {
                let entry = (!through_a_face, format!("`{name}::{test}`"));
                found.entry(named).or_default().push(entry);
            }
        }
    }
    let sorted = |mut tests: Vec<(bool, String)>| {
        tests.sort();
        tests.dedup();
        tests.into_iter().map(|(_, test)| test).collect()
    };
    found.into_iter().map(|(k, v)| (k, sorted(v))).collect()
}

/// Returns true if these tests suffice for a requirement. A requirement of set 002 needs a test of
/// the CLI or the MCP server with the requirement's number in its name. For the older sets, a
/// comment in a test suffices.
fn is_tested(number: &str, tests: &[String]) -> bool {
    let name = format!("::{}_", number.to_lowercase().replace('-', "_"));
    let is_named = |test: &String| test.starts_with("`tests/") && test.contains(&name);
    match number.starts_with("R-002-") {
        true => tests.iter().any(is_named),
        false => !tests.is_empty(),
    }
}

fn rust_files(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Returns the page. Fails if a requirement has neither a test nor a line that says what replaced
/// it.
pub fn page() -> String {
    let tests = tests_by_requirement();
    let mut page = String::from(
        "# Requirements and their tests\n\n\
         Generated by `cargo xtask docs` from the names of the tests and from comments in them; do \
         not edit.\n\n\
         R-… are the requirements, C-… the corrections of what was wrong in them. Tests under \
         `tests/` drive the CLI or the MCP server; some of `tests/cli/requirements` call the library \
         alone. A row lists the tests that begin with its \
         number, and those with a comment that names it. Each row R-002-… has at least one test \
         under `tests/` that begins with its number.\n",
    );
    let mut without = Vec::new();
    for (title, set, rows) in [
        ("Pull requests", "000", earlier_sets::PULL_REQUESTS),
        ("Workflow of issues", "001", earlier_sets::WORKFLOW),
        ("Pull requests on tangled", "003", earlier_sets::TANGLED),
    ] {
        page.push_str(&format!(
            "\n## {title}\n\n| Number | What is wanted | Tests, or what replaced it |\n|---|---|---|\n"
        ));
        let prefix = format!("C-{set}-");
        let corrections = earlier_sets::CORRECTIONS.iter();
        let corrections = corrections.filter(|row| row.0.starts_with(&prefix));
        for (number, what, replaced) in rows.iter().chain(corrections) {
            let mut held = tests.get(*number).cloned().unwrap_or_default();
            held.extend(replaced.map(str::to_owned));
            if held.is_empty() {
                without.push(*number);
            }
            page.push_str(&format!("| {number} | {what} | {} |\n", held.join("<br>")));
        }
    }
    page.push_str(
        "\n## `pr context`\n\n\
         | Number | What is wanted | Tests |\n|---|---|---|\n",
    );
    for (number, what) in REQUIREMENTS {
        let found = tests.get(*number).cloned().unwrap_or_default();
        if !is_tested(number, &found) {
            without.push(*number);
        }
        page.push_str(&format!("| {number} | {what} | {} |\n", found.join("<br>")));
    }
    page.push_str(
        "\n## Configuration keys of R-002-18\n\n\
         | Key of the requirement | Key of `forge` | Default |\n|---|---|---|\n",
    );
    for (wanted, instead) in REPLACED_KEYS {
        page.push_str(&format!("| `{wanted}` | {instead} | |\n"));
    }
    for (wanted, key, default) in CONFIG_KEYS {
        let default = default.map_or(String::new(), |default| format!(" `{default}`"));
        page.push_str(&format!("| `{wanted}` | `{key}` |{default} |\n"));
    }
    let known = |number: &&String| {
        let earlier = earlier_sets::PULL_REQUESTS
            .iter()
            .chain(earlier_sets::WORKFLOW)
            .chain(earlier_sets::TANGLED)
            .chain(earlier_sets::CORRECTIONS);
        let mut all = REQUIREMENTS.iter().map(|r| r.0).chain(earlier.map(|r| r.0));
        all.any(|n| n == *number)
    };
    let unknown: Vec<&String> = tests.keys().filter(|n| !known(n)).collect();
    assert!(unknown.is_empty(), "no such requirement: {unknown:?}");
    assert!(
        without.is_empty(),
        "neither a test nor a replacement: {without:?}"
    );
    page
}

#[test]
fn requirement_without_named_test_is_refused() {
    for (number, test, wanted) in [
        (
            "R-002-8",
            "`tests/cli/context::r_002_8_issue_is_read`",
            true,
        ),
        (
            "R-002-1",
            "`tests/cli/context::r_002_10_issue_is_read`",
            false,
        ),
        ("R-002-8", "`tests/cli/context::test_with_a_comment`", false),
        ("R-002-8", "`crates/a/src/b::r_002_8_issue_is_read`", false),
        ("C-002-8", "`tests/cli/context::test_with_a_comment`", true),
    ] {
        assert_eq!(is_tested(number, &[test.to_owned()]), wanted, "{test}");
    }
    assert!(!is_tested("C-002-8", &[]));
}

#[test]
fn r_002_18_defaults_match_the_requirement() {
    let world = World::new();
    let list = world.forge(&["config", "list", "--json"]);
    let listed = list.output().success().json();
    for (_, key, default) in CONFIG_KEYS {
        let mut entries = listed.as_array().unwrap().iter();
        let entry = entries.find(|entry| entry["name"] == *key).unwrap();
        assert_eq!(entry["value"].as_str(), *default, "{key}");
    }
}

#[test]
fn r_002_6_reviews_have_state_text_and_comments() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.user("linus");
    seed.review(REPO, 1, "linus", ReviewState::ChangesRequested, "Not yet.");
    seed.review(REPO, 1, "linus", ReviewState::Approved, "Now.");
    seed.review(REPO, 1, "linus", ReviewState::Commented, "A remark.");
    drop(seed);
    let found = hub.context(&["1", "--json", "reviews,pr,summary"]);
    let reviews = found["reviews"].as_array().unwrap();
    let states: Vec<&Value> = reviews.iter().map(|r| &r["state"]).collect();
    assert_eq!(states, ["changes_requested", "approved", "commented"]);
    let latest: Vec<&Value> = reviews.iter().map(|r| &r["isLatestOpinion"]).collect();
    assert_eq!(latest, [false, true, false]);
    assert_eq!(reviews[0]["author"], "linus");
    assert_eq!(reviews[0]["body"], "Not yet.");
    assert!(reviews[0]["submittedAt"].is_string());
    assert_eq!(reviews[0]["comments"], json!([]));
    // A later review that only comments does not withdraw an approval.
    assert_eq!(
        (&found["pr"]["approvals"], &found["pr"]["changesRequested"]),
        (&json!(1), &json!(0))
    );
}

#[test]
fn r_002_7_failed_check_has_a_reason() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.check(REPO, 1, "CI", "build", "SUCCESS");
    let noted = seed.check(REPO, 1, "CI", "lint", "FAILURE");
    let silent = seed.check(REPO, 1, "CI", "test", "FAILURE");
    seed.check(REPO, 1, "CI", "deploy", "IN_PROGRESS");
    let exit = (
        "FAILURE",
        ".github",
        9,
        "Process completed with exit code 1.",
    );
    let unused = ("FAILURE", "src/a.rs", 7, "unused variable `x`");
    seed.explain(noted, ("Some checks failed", "Run clippy"), &[exit, unused]);
    seed.explain(silent, ("Some checks failed", "Run tests"), &[exit]);
    drop(seed);
    hub.double.reset_record();
    let found = hub.context(&["1", "--json", "ciStatus"]);
    let ci = &found["ciStatus"];
    assert_eq!(ci["overall"], "failure");
    let check = |name: &str| {
        let all = ci["checks"].as_array().unwrap();
        all.iter().find(|c| c["name"] == name).unwrap().clone()
    };
    assert_eq!(check("lint")["summary"], "src/a.rs:7: unused variable `x`");
    assert_eq!(check("test")["summary"], "failed in step: Run tests");
    let status = |name: &str| check(name)["status"].clone();
    assert_eq!(
        [status("build"), status("test"), status("deploy")],
        ["success", "failure", "pending"]
    );
    assert!(check("build")["completedAt"].is_string());
    assert!(check("build")["url"].is_string());
    let asked = |r: &forge_github_double::Recorded| r.operation.as_deref() == Some("CheckReasons");
    assert_eq!(hub.double.requests().iter().filter(|r| asked(r)).count(), 1);
    // If the reasons cannot be read, no title is shown as a reason, and a warning counts the
    // checks.
    hub.double
        .fault(Fault::status(502).on_operation("CheckReasons").always());
    let found = hub.context(&["1", "--json", "ciStatus,errors,warnings"]);
    assert_eq!(found["ciStatus"]["checks"][0]["summary"], Value::Null);
    assert_eq!(found["errors"][0]["section"], "ci", "{found}");
    let said = found["warnings"].to_string();
    let count = "2 failed check(s) are shown without their reason";
    assert!(
        said.contains(count) && said.contains("forge pr checks 1"),
        "{said}"
    );
}

#[test]
fn r_002_7_all_of_21_failed_checks_have_reasons() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    for n in 0..21 {
        let run = seed.check(REPO, 1, "CI", &format!("job {n}"), "FAILURE");
        seed.explain(run, ("Some checks failed", "Run tests"), &[]);
    }
    drop(seed);
    hub.double.reset_record();
    let found = hub.context(&["1", "--json", "ciStatus"]);
    let checks = found["ciStatus"]["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 21);
    let has_reason = |check: &Value| check["summary"] == "failed in step: Run tests";
    assert!(checks.iter().all(has_reason), "{found}");
    let sent = hub.double.requests().into_iter();
    let reads = sent.filter(|r| r.operation.as_deref() == Some("CheckReasons"));
    assert_eq!(reads.count(), 1);
}

#[test]
fn r_002_7_failed_check_has_end_of_log() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    let run = seed.check(REPO, 1, "CI", "build", "FAILURE");
    let line = |n: usize| format!("\u{1b}[31mline {n:03}\u{1b}[0m\n");
    seed.log(run, &(0..300).map(line).collect::<String>());
    drop(seed);
    let found = hub.context(&["1", "--json", "ciLogs"]);
    let log = &found["ciLogs"][0];
    assert_eq!(log["check"], "build");
    assert_eq!(log["cut"], true);
    let last: Vec<String> = (100..300).map(|n| format!("line {n:03}")).collect();
    assert_eq!(log["text"], last.join("\n"));
    let args = ["pr", "context", "1", "-R", REPO, "-i", "ci_logs"];
    let text = hub.forge(&args).text();
    let quoted = "\nLog of build, the end of it\n    │ line 100\n    │ line 101\n";
    assert!(text.contains(quoted), "{text}");
}

#[test]
fn r_002_7_repeated_check_run_is_listed_once() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.check(REPO, 1, "CI", "build", "FAILURE");
    let pushed = seed.check(REPO, 1, "CI", "build", "SUCCESS");
    let suite = seed.runs[&pushed].suite;
    seed.suites.get_mut(&suite).unwrap().event = Some("push".to_owned());
    let newest = seed.check(REPO, 1, "CI", "build", "SUCCESS");
    let nightly = seed.check(REPO, 1, "Nightly", "build", "SUCCESS");
    drop(seed);
    let found = hub.context(&["1", "--json", "ciStatus"]);
    assert_eq!(found["ciStatus"]["overall"], "success", "{found}");
    let checks = found["ciStatus"]["checks"].as_array().unwrap();
    let urls: Vec<Value> = checks.iter().map(|c| c["url"].clone()).collect();
    // The newest run has the failed run's name, workflow and event, so it replaces the failed run.
    let wanted = [newest, pushed, nightly].map(|id| json!(format!("https://ci.example/{id}")));
    assert_eq!(urls, wanted);
}

#[test]
fn r_002_8_only_closing_keywords_close_issues() {
    let world = World::new();
    world.feature("feature");
    let keywords = [
        "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
    ];
    let mut body = String::new();
    let mut wanted = Vec::new();
    for (n, word) in keywords.iter().enumerate() {
        let (plain, colon) = (100 + n, 200 + n);
        let upper = word.to_uppercase();
        body.push_str(&format!("It {word} #{plain}. {upper}: #{colon}\n"));
        wanted.extend([plain, colon].map(|number| format!("closes #{number}")));
    }
    body.push_str(
        "It fixes cli/cli#301, and resolves https://github.com/cli/cli/issues/302.\n\n\
         It prefixes #5, and is closest #6.\n\n\
         `fixes #401` <!-- fixes #402 -->\n\n\
         ```\nfixes #403\n```\n",
    );
    wanted.extend([301, 302].map(|number| format!("closes github.com/cli/cli#{number}")));
    wanted.extend([5, 6].map(|number| format!("references #{number}")));
    let create = ["pr", "create", "-H", "feature", "-t", "T", "-b", &body];
    world.forge(&create).ok();
    let found = world.context(&["1", "--json", "linkedIssues"]);
    let linked = found["linkedIssues"].as_array().unwrap().iter();
    let of = |l: &Value| format!("{} {}", l["relationship"], l["key"]).replace('"', "");
    let linked: Vec<String> = linked.map(of).collect();
    assert_eq!(linked, wanted);
}

#[test]
fn r_002_8_issue_in_commit_or_branch_is_listed_once() {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    let first = seed.open_issue(REPO, "ada", "It leaks", "Since May.");
    let second = seed.open_issue(REPO, "ada", "It is slow", "");
    let branch = format!("{second}-faster");
    let message = format!("Plug it\n\nFixes #{first}");
    seed.commit(REPO, &branch, &[("a.txt", Some("two\n"))], &message);
    let body = format!("See #{first}.");
    seed.open_pull(
        REPO,
        &PullSeed {
            author: "grace",
            title: "Plug it",
            body: &body,
            head: &branch,
            ..PullSeed::default()
        },
    );
    drop(seed);
    let found = hub.context(&["3", "--json", "linkedIssues"]);
    let linked = found["linkedIssues"].as_array().unwrap();
    let named = |l: &Value| (l["key"].clone(), l["relationship"].clone());
    let named: Vec<_> = linked.iter().map(named).collect();
    // C-002-10: the commit closes the first issue, and the description only refers to the second.
    let wanted = [
        (json!(format!("#{first}")), json!("closes")),
        (json!(format!("#{second}")), json!("references")),
    ];
    assert_eq!(named, wanted, "{found}");
}

#[test]
fn r_002_14_risk_has_level_score_and_reasons() {
    let world = World::new();
    let long = "line\n".repeat(501);
    let files = [("src/auth/login.rs", Some(long.as_str()))];
    world.git.commit("feature", "Add", &files);
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", "B"])
        .ok();
    let found = world.context(&["1", "--json", "summary"]);
    let summary = &found["summary"];
    // C-002-5
    assert_eq!(summary["riskLevel"], "high", "{found}");
    assert_eq!(summary["risk"]["score"], 3);
    let rules: Vec<&Value> = summary["risk"]["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["rule"])
        .collect();
    assert_eq!(rules, ["large_change", "critical_path"]);
}

#[test]
fn r_002_16_context_works_without_jira_or_clone() {
    let hub = Hub::with_pull();
    let empty = hub.scratch.path("empty");
    fs::create_dir(&empty).unwrap();
    let run = hub.as_ada(hub.scratch.forge(&empty, &forge_testkit::Identity::ADA));
    let args = ["pr", "context", "1", "-R", REPO, "--json"];
    let found = run
        .args(args)
        .env("PATH", "/nowhere")
        .output()
        .success()
        .json();
    assert_eq!(
        (&found["partial"], &found["diff"]["files"][0]["path"]),
        (&json!(false), &json!("work.txt")),
        "{found}"
    );
}

#[test]
fn r_002_17_no_output_has_the_token() {
    let hub = Hub::with_pull();
    hub.double.seed().comment(REPO, 1, "grace", "Text.");
    for args in [
        &["--json"][..],
        &[],
        &["--json", "-i", "diff,history,related_prs"],
    ] {
        let all = [&["pr", "context", "1", "-R", REPO], args].concat();
        let out = hub
            .forge(&all)
            .env("FORGE_LOG", "trace")
            .env("GH_DEBUG", "api")
            .output()
            .success();
        assert!(
            !out.stdout_text().contains(TOKEN) && !out.stderr_text().contains(TOKEN),
            "{out:?}"
        );
    }
}

#[test]
fn r_002_19_first_example_has_one_blocker() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    let write = forge_github_double::state::Permission::Write;
    seed.collaborator(REPO, "bob", write);
    seed.user("carol");
    seed.review(REPO, 1, "bob", ReviewState::Approved, "Good.");
    seed.thread(REPO, 1, "carol", "work.txt");
    seed.check(REPO, 1, "CI", "build", "SUCCESS");
    drop(seed);
    let body = "Fixes PROJ-4523. Related to #1234.";
    hub.forge(&["pr", "edit", "1", "-R", REPO, "-b", body]).ok();
    let found = hub.context(&["1", "--json"]);
    let summary = &found["summary"];
    assert_eq!(
        summary["blockers"],
        json!(["1 unresolved comment thread(s)"]),
        "{found}"
    );
    assert_eq!(
        (&summary["readyToMerge"], &summary["outstandingThreads"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(
        (&found["pr"]["approvals"], &found["ciStatus"]["overall"]),
        (&json!(1), &json!("success"))
    );
    assert_eq!(found["linkedIssues"][0]["key"], "PROJ-4523");
    assert_eq!(found["linkedIssues"][0]["relationship"], "closes");
    assert_eq!(found["linkedIssues"][1]["key"], "#1234");
    assert_eq!(found["linkedIssues"][1]["relationship"], "related");
}

#[test]
fn r_002_21_failing_pull_has_two_blockers_at_least() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.review(REPO, 1, "ada", ReviewState::ChangesRequested, "No.");
    seed.check(REPO, 1, "CI", "build", "FAILURE");
    drop(seed);
    let url = hub.double.seed().pull_of(REPO, 1).number;
    let named = format!("https://github.localhost/{REPO}/pull/{url}");
    let run = hub.forge(&["pr", "context", &named, "--json", "summary,pr"]);
    let found = run.output().success().json();
    assert_eq!(found["pr"]["number"], 1);
    assert_eq!(
        found["summary"]["blockers"],
        json!([
            "CI failing: build",
            "1 reviewer(s) requested changes",
            "No approvals yet"
        ])
    );
    assert_eq!(found["summary"]["readyToMerge"], false);
}

#[test]
fn r_002_22_context_of_merged_pull_has_its_diff() {
    let world = World::with_pull();
    world.forge(&["pr", "merge", "1", "--squash"]).ok();
    let found = world.context(&[
        "1",
        "--json",
        "pr,diff,summary,history",
        "-i",
        "diff,history",
    ]);
    assert_eq!(found["pr"]["state"], "merged");
    assert!(found["pr"]["mergedAt"].is_string(), "{found}");
    assert_eq!(found["diff"]["files"][0]["path"], "feature.txt");
    assert_eq!(
        (
            &found["summary"]["blockers"],
            &found["summary"]["readyToMerge"]
        ),
        (&json!([]), &json!(false))
    );
    let last = found["history"].as_array().unwrap().last().unwrap();
    assert_eq!(last["kind"], "merged", "{found}");
}

#[test]
fn r_002_23_ticket_is_found_in_branch_name() {
    let world = World::new();
    for (branch, key) in [("PROJ-12-login", "PROJ-12"), ("feature/PROJ-7", "PROJ-7")] {
        world.open(branch);
        let found = world.context(&[branch, "--json", "linkedIssues"]);
        let linked = found["linkedIssues"].as_array().unwrap();
        assert_eq!(linked.len(), 1, "{found}");
        assert_eq!(
            (&linked[0]["key"], &linked[0]["source"]),
            (&json!(key), &json!("jira"))
        );
    }
}

#[test]
fn c_002_4_reviewer_asked_again_is_pending() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.collaborator(REPO, "carol", forge_github_double::state::Permission::Write);
    seed.review(REPO, 1, "carol", ReviewState::Approved, "Good.");
    drop(seed);
    hub.forge(&["pr", "edit", "1", "-R", REPO, "--add-reviewer", "carol"])
        .ok();
    let found = hub.context(&["1", "--json", "pr"]);
    assert_eq!(
        (&found["pr"]["approvals"], &found["pr"]["pendingReviewers"]),
        (&json!(1), &json!(["carol"]))
    );
}

#[test]
fn c_002_13_selector_with_two_numbers_is_refused() {
    let world = World::with_pull();
    let out = world.forge(&["pr", "context", "1#2"]).output().exits(1);
    assert!(out.stderr_text().contains("1#2"), "{out:?}");
}

#[test]
fn c_002_3_threads_list_comments_and_resolution() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    let ada = seed.find_account("ada");
    seed.thread(REPO, 1, "grace", "work.txt");
    let resolved = seed.thread(REPO, 1, "grace", "work.txt");
    seed.threads.get_mut(&resolved).unwrap().resolved_by = Some(ada);
    drop(seed);
    let found = hub.context(&["1", "--json", "comments,threads,summary"]);
    let threads = found["threads"].as_array().unwrap();
    let resolved: Vec<&Value> = threads.iter().map(|t| &t["isResolved"]).collect();
    assert_eq!(resolved, [false, true], "{found}");
    let comments = found["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 2, "{found}");
    for (thread, comment) in threads.iter().zip(comments) {
        assert_eq!(comment["threadId"], thread["id"]);
        assert_eq!(thread["comments"], json!([comment["id"]]));
    }
    assert_eq!(found["summary"]["outstandingThreads"], 1);
}

#[test]
fn c_002_5_large_change_alone_is_medium_risk() {
    let world = World::new();
    let long = "line\n".repeat(501);
    let files = [("src/a.rs", Some(long.as_str()))];
    world.git.commit("feature", "Add", &files);
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    let found = world.context(&["1", "--json", "summary"]);
    let reason = json!({"rule": "large_change", "points": 2, "evidence": "501 lines"});
    let wanted = json!({"level": "medium", "score": 2, "reasons": [reason]});
    assert_eq!(found["summary"]["risk"], wanted);
}

#[test]
fn c_002_6_critical_paths_are_whole_segments() {
    let world = World::new();
    let reasons = |branch: &str, paths: &[&str]| {
        let files: Vec<_> = paths.iter().map(|path| (*path, Some("x\n"))).collect();
        world.git.commit(branch, "Add", &files);
        world
            .forge(&["pr", "create", "-H", branch, "-t", "T", "-b", ""])
            .ok();
        let found = world.context(&[branch, "--json", "summary"]);
        found["summary"]["risk"]["reasons"].clone()
    };
    let similar = ["src/author.rs", "config/Config.toml"];
    assert_eq!(reasons("similar", &similar), json!([]));
    for (branch, path) in [("folder", "src/Auth/login.rs"), ("file", "src/security.rs")] {
        let reason = json!({"rule": "critical_path", "points": 1, "evidence": path});
        assert_eq!(reasons(branch, &[path]), json!([reason]));
    }
}

#[test]
fn c_002_9_ticket_without_jira_is_unknown() {
    let world = World::new();
    world.feature("feature");
    let body = "Fixes PROJ-12, [PROJ-5](https://acme.example/browse/PROJ-5),PROJ-7 and \
                https://acme.example/browse/PROJ-6";
    let title = "fix(PROJ-99): V";
    world
        .forge(&["pr", "create", "-H", "feature", "-t", title, "-b", body])
        .ok();
    let found = world.context(&["1", "--json", "linkedIssues,partial"]);
    let linked = found["linkedIssues"].as_array().unwrap().iter();
    let keys: Vec<_> = linked.map(|item| item["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["PROJ-12", "PROJ-99", "PROJ-5", "PROJ-7", "PROJ-6"]);
    let ticket = &found["linkedIssues"][0];
    assert_eq!(ticket["key"], "PROJ-12", "{found}");
    assert_eq!(
        (&ticket["status"], &ticket["resolved"]),
        (&json!("unknown"), &json!(false))
    );
    assert_eq!(
        (&ticket["title"], &ticket["url"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(found["partial"], false);
}

#[test]
fn c_002_10_strongest_relationship_wins() {
    let world = World::with_pull();
    world.feature("topic");
    let body = "#1, see #1. #7, part of #7, fixes #7. #2";
    world
        .forge(&["pr", "create", "-H", "topic", "-t", "T", "-b", body])
        .ok();
    let found = world.context(&["2", "--json", "linkedIssues"]);
    let linked = found["linkedIssues"].as_array().unwrap().iter();
    let of = |l: &Value| format!("{} {} {}", l["relationship"], l["key"], l["type"]);
    let linked: Vec<String> = linked.map(|l| of(l).replace('"', "")).collect();
    // #1 is a pull request, #7 does not exist, and #2 is the pull request itself.
    assert_eq!(linked, ["closes #7 null", "related #1 pull_request"]);
}

#[test]
fn c_002_10_pull_in_title_or_commit_is_no_issue() {
    let world = World::with_pull();
    let hub = Hub::with_pull();
    for (number, title, message) in [("2", "Follow-up to #1", "a"), ("3", "b", "Undo #1")] {
        let head = format!("topic-{number}");
        let files = [("src/a.rs", Some(title))];
        world.git.commit(&head, message, &files);
        world
            .forge(&["pr", "create", "-H", &head, "-t", title, "-b", ""])
            .ok();
        let mut seed = hub.double.seed();
        seed.commit(REPO, &head, &files, message);
        let pull = PullSeed {
            author: "grace",
            title,
            head: &head,
            ..PullSeed::default()
        };
        assert_eq!(seed.open_pull(REPO, &pull).to_string(), number);
        drop(seed);
        let asked = [number, "--json", "linkedIssues"];
        for found in [world.context(&asked), hub.context(&asked)] {
            let item = &found["linkedIssues"][0];
            assert_eq!(
                (&item["key"], &item["type"]),
                (&json!("#1"), &json!("pull_request"))
            );
        }
    }
}

#[test]
fn c_002_15_one_liner_and_key_changes_follow_rules() {
    let world = World::new();
    let lock = "lock\n".repeat(30);
    let files = [
        ("Cargo.lock", Some(lock.as_str())),
        ("src/retry.rs", Some("one\ntwo\n")),
    ];
    world.git.commit("feature", "Add", &files);
    let title = "fix(api): PROJ-12: stop the leak";
    world
        .forge(&["pr", "create", "-H", "feature", "-t", title, "-b", ""])
        .ok();
    let found = world.context(&["1", "--json", "summary"]);
    assert_eq!(found["summary"]["oneLiner"], "stop the leak");
    let wanted = json!(["adds src/retry.rs (+2)", "adds Cargo.lock (+30)"]);
    assert_eq!(found["summary"]["keyChanges"], wanted);
}

#[test]
fn c_002_16_change_type_follows_order_of_sources() {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    let issue = seed.open_issue(REPO, "grace", "Slow start", "");
    seed.label_issue(REPO, issue, "bug");
    drop(seed);
    let body = format!("Closes #{issue}");
    for (title, labels, path, head, wanted) in [
        ("perf: work", &["bug"][..], "docs/a.md", "ci/1", "perf"),
        ("Work", &["bug"], "docs/b.md", "ci/2", "bugfix"),
        ("Work", &[], "docs/c.md", "ci/3", "docs"),
        ("Work", &[], "src/d.rs", "ci/4", "ci"),
        ("Work", &[], "src/e.rs", "work", "bugfix"),
    ] {
        let mut seed = hub.double.seed();
        seed.commit(REPO, head, &[(path, Some("x\n"))], "Work");
        let pull = PullSeed {
            author: "grace",
            title,
            head,
            labels,
            body: &body,
            ..PullSeed::default()
        };
        let number = seed.open_pull(REPO, &pull).to_string();
        drop(seed);
        for include in ["diff", "linked_issues"] {
            let asked = [&number, "--include", include, "--json", "summary"];
            let found = hub.context(&asked);
            assert_eq!(found["summary"]["changeType"], wanted, "{title} {head}");
        }
    }
}
