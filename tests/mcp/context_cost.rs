//! Counts the requests of `pr_context` for a first call, a further page and a repeated call, and
//! compares them with those of the CLI.

use std::time::Duration;

use forge_github_double::{
    Fault, PullSeed,
    state::{Permission, Reaction, ReviewComment, ReviewState},
};
use forge_testkit::{GitShim, ShimPlan};
use serde_json::{Value, json};

use crate::{
    context_facts::facts,
    hub::{Hub, REPO},
    world::{Called, LEGACY, MODERN, Wire, World, column},
};

fn look(wire: &mut Wire, more: Value) -> Called {
    let mut args = json!({"repo": REPO, "number": 1});
    let more = more.as_object().unwrap().clone();
    args.as_object_mut().unwrap().extend(more);
    wire.call("pr_context", args).ok()
}

fn checked_at(found: &Called) -> String {
    found.data()["verdict"]["checked_at"].to_string()
}

#[test]
fn context_pages_come_from_one_read() {
    let hub = Hub::with_files(30);
    let mut seed = hub.double.seed();
    for n in 0..40 {
        let text = format!("Comment {n:02} {}", "x".repeat(90));
        seed.comment(REPO, 1, "grace", &text);
    }
    drop(seed);
    let mut wire = hub.server(&[]);
    let first = look(&mut wire, json!({"max_chars": 3000}));
    let requests = hub.double.counts().api;
    let args = json!({"repo": REPO, "number": 1, "max_chars": 3000});
    let pages = wire.pages("pr_context", args, 3_000);
    assert!(pages.len() > 3);
    assert_eq!(hub.double.counts().api, requests);
    assert_eq!(column(&pages, "comments", "id").len(), 40);
    assert!(
        pages
            .iter()
            .all(|page| checked_at(page) == checked_at(&first))
    );
}

#[test]
fn repeated_context_is_cached_until_a_write() {
    // C-000-17: a write invalidates the cache.
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&["--write"]);
    let first = look(&mut wire, json!({}));
    let requests = hub.double.counts().api;
    assert!(requests > 0);
    let again = look(&mut wire, json!({}));
    assert_eq!(hub.double.counts().api, requests);
    assert_eq!(checked_at(&again), checked_at(&first));
    // Each further section needs further requests.
    look(&mut wire, json!({"include": ["files"]}));
    assert!(hub.double.counts().api > requests);
    let comment = json!({"repo": REPO, "number": 1, "body": "Seen?"});
    wire.call("pr_comment", comment).ok();
    let after = look(&mut wire, json!({})).says("> Seen?");
    assert_eq!(after.data()["comments"].as_array().unwrap().len(), 1);
}

#[test]
fn partial_context_is_not_cached() {
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&[]);
    let broken = Fault::status(500).on_path("/repos/octo/tools/pulls/1");
    hub.double.fault(broken);
    let first = look(&mut wire, json!({}));
    assert_eq!(first.data()["partial"], true, "{}", first.data());
    let again = look(&mut wire, json!({}));
    assert_eq!(again.data()["partial"], false, "{}", again.data());
}

#[test]
fn context_with_unknown_mergeability_is_not_cached() {
    // C-000-17: an unknown merge state is read again.
    let hub = Hub::with_files(1);
    let mut wire = hub.server(&[]);
    // The view finds the merge state unknown, so `forge` repeats its request. This second request
    // fails.
    let refused = json!({"errors": [{"type": "FORBIDDEN", "message": "not now"}]}).to_string();
    let fault = Fault::answer(200, &[("content-type", "application/json")], refused);
    hub.double.fault(fault.on_operation("PullView").skip(1));
    let first = look(&mut wire, json!({}));
    assert_eq!(hub.double.faults_left(), 0);
    let merges = |of: &Called| of.data()["pull_request"]["mergeable"].clone();
    assert_eq!(merges(&first), "unknown");
    assert_eq!(first.data()["partial"], false);
    let again = look(&mut wire, json!({}));
    assert_eq!(merges(&again), "mergeable");
    let requests = hub.double.counts().api;
    look(&mut wire, json!({}));
    assert_eq!(hub.double.counts().api, requests);
}

const ALL_SECTIONS: [&str; 10] = [
    "comments",
    "reviews",
    "ci",
    "ci_logs",
    "linked_issues",
    "related_prs",
    "diff",
    "files",
    "history",
    "source",
];

/// Returns the flags for the same line comment, in the local world and in the GitHub world.
fn on_line(path: &str) -> [String; 2] {
    ["--line".to_owned(), format!("{path}:1=One?")]
}

#[test]
fn github_context_is_equal_in_cli_and_mcp() {
    let hub = Hub::with_files(2);
    let mut seed = hub.double.seed();
    seed.lag = 0;
    let issue = seed.open_issue(REPO, "ada", "It leaks", "Since May.");
    let comment = seed.comment(REPO, 1, "grace", "Why so?");
    seed.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
    seed.check(REPO, 1, "CI", "build", "SUCCESS");
    let lint = seed.check(REPO, 1, "CI", "lint", "FAILURE");
    drop(seed);
    let body = format!("Closes #{issue}");
    hub.forge(&["pr", "edit", "1", "-R", REPO, "-b", &body])
        .ok();
    let review = ["pr", "review", "1", "-R", REPO, "--comment", "-b", "Two."];
    hub.forge(&review).args(on_line("d/0000.txt")).ok();
    let mut wire = hub.server(&[]);
    // The delay makes concurrent requests overlap, so that the test can measure the longest chain.
    let slow = Fault::delayed(Duration::from_millis(200));
    hub.double.fault(slow.always());
    let cost = |face: &str, printed: usize| {
        let requests = hub.double.requests();
        let received: usize = requests.iter().map(|r| r.response_bytes).sum();
        let (count, chain) = (requests.len(), hub.double.longest_chain());
        println!("{face}: {count} requests, {chain} in a row, {received} bytes, {printed} printed");
        // The first requests read the view, the diff and the links. The second ones read the issue,
        // the reasons for the failed check, the rules of the base branch and the linked issues.
        assert_eq!((count, chain), (7, 2), "{face}: {requests:?}");
        assert!(received < 16_000 && printed < 16_000, "{face}");
        hub.double.reset_record();
    };

    hub.double.reset_record();
    let args = ["pr", "context", "1", "-R", REPO, "--json"];
    let shown = hub.forge(&args).output().success();
    cost("command line", shown.stdout.len());
    let told = look(&mut wire, json!({}));
    cost("server", told.0.to_string().len());
    let (shown, told) = (facts(&shown.json()), facts(told.data()));
    assert_eq!(shown, told);
    assert_eq!(shown["summary"]["blockers"][0], "CI failing: lint");
    for section in ["checks", "threads", "reviews", "linked", "files"] {
        assert_ne!(shown[section], json!([]), "{section}: {shown}");
    }

    // The second comparison covers every section, and facts that the first one lacks.
    hub.double.clear_faults();
    let mut seed = hub.double.seed();
    let heart = Reaction {
        id: seed.next_id(),
        user: seed.find_account("ada"),
        content: "HEART".to_owned(),
        created_at: seed.tick(),
    };
    seed.reactions.entry(comment).or_default().push(heart);
    seed.comments.get_mut(&comment).unwrap().edited = true;
    let first = seed.review_comments.values().next().unwrap().clone();
    let id = seed.next_id();
    let reply = ReviewComment {
        id,
        reply_to: Some(first.id),
        body: "Because.".to_owned(),
        ..first
    };
    seed.review_comments.insert(id, reply);
    seed.explain(lint, ("Some checks failed", "Run clippy"), &[]);
    seed.log(lint, "first\nlast: it failed\n");
    seed.label_issue(REPO, issue, "bug");
    seed.comment(REPO, issue, "grace", "Also here.");
    let changes = [("d/0000.txt", Some("other\n"))];
    seed.commit(REPO, "other", &changes, "Other");
    let other = PullSeed {
        author: "ada",
        title: "Other",
        head: "other",
        ..PullSeed::default()
    };
    seed.open_pull(REPO, &other);
    seed.collaborator(REPO, "carol", Permission::Write);
    drop(seed);
    hub.forge(&["pr", "edit", "1", "-R", REPO, "--add-reviewer", "carol"])
        .ok();
    let (shown, told) = both(&hub, &mut wire, &ALL_SECTIONS);
    for line in lines_in_text(&shown) {
        assert!(told.text().contains(&line), "{line:?}: {}", told.text());
    }
    // The comparison needs a result without cuts.
    let data = told.data();
    assert_eq!(
        (data.get("next_cursor"), data.get("bodies_in_text")),
        (None, None)
    );
    let (shown, told) = (facts(&shown), facts(data));
    assert_eq!(shown, told);
    for section in ["related", "logs", "changed_files", "history", "source"] {
        assert_ne!(shown[section], json!([]), "{section}: {shown}");
    }
    assert_eq!(shown["pull"][2], json!([1, 0, ["carol"]]), "{shown}");
    let [own, in_threads] = [0_usize, 1].map(|n| &shown["comments"][n]);
    assert_eq!(own[0]["reactions"], json!(["\"HEART\" 1"]));
    assert!(own[0]["updated_at"].is_string(), "{own}");
    assert_eq!(in_threads[1]["reply_to"], in_threads[0]["id"]);
    assert_eq!(shown["linked"][0]["labels"], json!(["bug"]), "{shown}");
    assert_eq!(shown["linked"][0]["comments"][0]["body"], "Also here.");
    assert_eq!(shown["rollup"], "failure", "{shown}");
    let failed = &shown["checks"][0];
    assert_eq!(failed["summary"], "failed in step: Run clippy", "{shown}");
    assert!(failed["completed_at"].is_string(), "{failed}");
    assert!(shown["related"][0]["url"].is_string(), "{shown}");

    // A failed section has the same error in the command and the tool.
    let broken = Fault::status(500).on_path("/repos/octo/tools/pulls/1");
    hub.double.fault(broken.always());
    let (shown, told) = both(&hub, &mut wire, &["diff"]);
    let (shown, told) = (facts(&shown), facts(told.data()));
    assert_eq!(shown, told);
    assert_eq!(shown["errors"][0]["section"], "diff", "{shown}");
}

/// Returns the bundle of the command and the result of the tool with these sections.
fn both(hub: &Hub, wire: &mut Wire, include: &[&str]) -> (Value, Called) {
    let listed = include.join(",");
    let args = ["pr", "context", "1", "-R", REPO, "--json", "-i", &listed];
    let shown = hub.forge(&args).output().success().json();
    (shown, look(wire, json!({"include": include})))
}

/// Returns the lines of a bundle that only the text of the tool has: the hunks of the diff, and the
/// sources with their line numbers.
fn lines_in_text(bundle: &Value) -> Vec<String> {
    let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let mut lines = Vec::new();
    for file in list(&bundle["diff"]["files"]) {
        let hunks = list(&file["hunks"]).into_iter();
        lines.extend(hunks.map(|hunk| hunk["text"].as_str().unwrap().to_owned()));
    }
    for file in list(&bundle["source"]["files"]) {
        for excerpt in list(&file["excerpts"]) {
            let text = excerpt["text"].as_str().unwrap().lines();
            let numbered = text.zip(excerpt["line"].as_u64().unwrap()..);
            lines.extend(numbered.map(|(line, n)| format!("\n{n}| {line}\n")));
        }
    }
    assert!(lines.len() > 2, "{bundle}");
    lines
}

#[test]
fn local_context_is_equal_in_cli_and_mcp() {
    let world = World::with_feature();
    let review = ["pr", "review", "1", "--comment", "-b", "Two."];
    world.forge(&review).args(on_line("feature.txt")).ok();
    world.forge(&["pr", "comment", "1", "-b", "Why so?"]).ok();
    let issue = ["issue", "create", "-t", "It leaks", "-b", "Since May."];
    world.forge(&issue).ok();
    let body = format!("Closes {}#issue-1", world.name());
    world.forge(&["pr", "edit", "1", "-b", &body]).ok();
    let cost = |face: &str, shim: &GitShim, printed: usize| {
        let count = shim.calls().len();
        println!("{face}: {count} processes, {printed} printed");
        // The server also looks up the repository of the directory in which it was started.
        assert!(
            count <= 32 && printed < 12_000,
            "{face}: {count}, {printed}"
        );
    };

    let shim = GitShim::new(&world.scratch, "git-of-command", ShimPlan::Count);
    let run = world.grace(&["pr", "context", "1", "--json"]);
    let shown = run.env("FORGE_GIT", shim.program()).output().success();
    cost("command line", &shim, shown.stdout.len());
    let shim = GitShim::new(&world.scratch, "git-of-server", ShimPlan::Count);
    let run = world.grace(&["mcp"]).env("FORGE_GIT", shim.program());
    let mut wire = Wire::start(&run, MODERN);
    let told = wire.call("pr_context", json!({"number": 1})).ok();
    cost("server", &shim, told.0.to_string().len());
    let (shown, told) = (facts(&shown.json()), facts(told.data()));
    assert_eq!(shown, told);
    for section in ["threads", "reviews", "linked", "files"] {
        assert_ne!(shown[section], json!([]), "{section}: {shown}");
    }
}

#[test]
fn context_is_not_cached_across_accounts() {
    let hub = Hub::with_files(1);
    let token = "gho_other0canary0canary0canary0canary0000";
    hub.double
        .seed()
        .token(token, "grace", forge_github_double::ALL_SCOPES);
    let login = |who: &str, token: &str| {
        let args = [
            "auth",
            "login",
            "--host",
            "github.localhost",
            "--account",
            who,
            "--with-token",
        ];
        let run = hub
            .forge(&args)
            .env("GH_ENTERPRISE_TOKEN", "")
            .env("GH_TOKEN", "");
        run.stdin(format!("{token}\n")).ok();
    };
    login("ada", crate::hub::TOKEN);
    let run = hub
        .run(&[])
        .env("GH_ENTERPRISE_TOKEN", "")
        .env("GH_TOKEN", "");
    let mut wire = Wire::start(&run, MODERN);
    look(&mut wire, json!({}));
    let requests = hub.double.counts().api;
    look(&mut wire, json!({}));
    assert_eq!(hub.double.counts().api, requests);
    login("grace", token);
    let before = hub.double.counts().api;
    look(&mut wire, json!({}));
    assert!(hub.double.counts().api > before);
}

#[test]
fn r_002_18_cache_ttl_of_zero_disables_cache() {
    let hub = Hub::with_files(1);
    hub.forge(&["config", "set", "context.cache_ttl_seconds", "0"])
        .ok();
    let mut wire = hub.server(&[]);
    look(&mut wire, json!({}));
    let requests = hub.double.counts().api;
    look(&mut wire, json!({}));
    assert!(hub.double.counts().api > requests);
}

#[test]
fn r_002_18_cached_context_expires() {
    let hub = Hub::with_files(1);
    hub.forge(&["config", "set", "context.cache_ttl_seconds", "1"])
        .ok();
    let mut wire = hub.server(&[]);
    look(&mut wire, json!({}));
    let requests = hub.double.counts().api;
    std::thread::sleep(Duration::from_millis(1_100));
    look(&mut wire, json!({}));
    assert!(hub.double.counts().api > requests);
}

#[test]
fn local_context_is_never_cached() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &[]);
    let args = json!({"number": 1});
    wire.call("pr_context", args.clone()).ok();
    let head = world
        .git
        .commit("feature", "More", &[("more.txt", Some("m\n"))]);
    let found = wire.call("pr_context", args).ok();
    assert_eq!(found.data()["verdict"]["head_sha"], head);
}

#[test]
fn r_002_15_context_reports_progress() {
    for era in [LEGACY, MODERN] {
        let hub = Hub::with_files(1);
        let mut wire = hub.server_of(era, &[]);
        let mut call = json!({
            "name": "pr_context", "arguments": {"repo": REPO, "number": 1, "include": ["ci"]}
        });
        call["_meta"] = json!({"progressToken": "far"});
        wire.request("tools/call", call);
        let told = std::mem::take(&mut wire.progress);
        let said: Vec<&str> = told
            .iter()
            .map(|p| p["message"].as_str().unwrap())
            .collect();
        assert_eq!(said[0], "reading ci", "{era}");
        assert_eq!(said[said.len() - 1], "read ci", "{said:?}");
        assert!(said[1].contains("/graphql answered after "), "{said:?}");
        let steps: Vec<_> = told.iter().map(|p| p["progress"].as_f64()).collect();
        assert!(steps.is_sorted() && said.len() > 2, "{steps:?}");
    }
}
