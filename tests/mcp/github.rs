//! The server on the GitHub double: how many requests its calls take, and what they find.

use forge_testkit::{
    Identity, Run, Scratch,
    github::{
        ALL_SCOPES, GitHubDouble, Options, PullSeed,
        state::{Permission, ReviewState},
    },
};
use serde_json::json;

use crate::world::{MODERN, Wire};

pub const REPO: &str = "octo/tools";
const TOKEN: &str = "gho_canary0canary0canary0canary0canary00";

pub struct Hub {
    pub double: GitHubDouble,
    scratch: Scratch,
}

impl Hub {
    pub fn new() -> Self {
        let double = GitHubDouble::start(Options::default()).unwrap();
        {
            let mut seed = double.seed();
            seed.org("octo", &[("ada", Permission::Admin)]);
            seed.token(TOKEN, "ada", ALL_SCOPES);
            seed.repo_with_readme(REPO);
            seed.collaborator(REPO, "grace", Permission::Write);
        }
        Self {
            double,
            scratch: Scratch::new(),
        }
    }

    /// With pull request 1 of Grace's, from `work`, with `files` files.
    pub fn with_pull(files: usize) -> Self {
        let hub = Self::new();
        let mut seed = hub.double.seed();
        let names: Vec<(String, String)> = (0..files)
            .map(|n| (format!("d/{n:04}.txt"), format!("file {n}\n")))
            .collect();
        let changes: Vec<(&str, Option<&str>)> = names
            .iter()
            .map(|(n, c)| (n.as_str(), Some(c.as_str())))
            .collect();
        seed.commit(REPO, "work", &changes, "Work");
        seed.open_pull(
            REPO,
            &PullSeed {
                author: "grace",
                title: "Work",
                head: "work",
                ..PullSeed::default()
            },
        );
        drop(seed);
        hub
    }

    /// `forge mcp` with Ada's token.
    pub fn run(&self, args: &[&str]) -> Run {
        self.forge(&["mcp"]).args(args)
    }

    /// `forge` with Ada's token.
    pub fn forge(&self, args: &[&str]) -> Run {
        let run = self.scratch.forge(&self.scratch.path(""), &Identity::ADA);
        let run = self
            .double
            .env(TOKEN)
            .into_iter()
            .fold(run, |run, (k, v)| run.env(k, v));
        run.args(args)
    }

    pub fn server(&self, args: &[&str]) -> Wire {
        self.server_of(MODERN, args)
    }

    pub fn server_of(&self, era: &str, args: &[&str]) -> Wire {
        Wire::start(&self.run(args), era)
    }
}

#[test]
fn a_view_with_everything_is_one_request() {
    let hub = Hub::with_pull(90);
    {
        let mut seed = hub.double.seed();
        for n in 0..90 {
            seed.check(
                REPO,
                1,
                "ci",
                &format!("job {n}"),
                if n % 9 == 0 { "FAILURE" } else { "SUCCESS" },
            );
            seed.comment(REPO, 1, "grace", &format!("Comment {n}"));
        }
        for n in 0..20 {
            seed.review(
                REPO,
                1,
                &format!("reviewer{n}"),
                ReviewState::Approved,
                "Good.",
            );
        }
    }
    let mut wire = hub.server(&["--write"]);
    let comments: Vec<_> = (0..30)
        .map(|n| json!({"path": format!("d/{n:04}.txt"), "line": 1, "body": "Why?"}))
        .collect();
    wire.call(
        "pr_review",
        json!({"repo": REPO, "number": 1, "verdict": "comment", "body": "b", "comments": comments}),
    )
    .ok();
    hub.double.reset_record();
    let include = ["checks", "threads", "reviews", "files"];
    let view = wire
        .call(
            "pr_view",
            json!({"repo": REPO, "number": 1, "include": include}),
        )
        .ok();
    assert_eq!(hub.double.counts().api, 1, "{:?}", hub.double.requests());
    assert_eq!(view.data()["checks"].as_array().unwrap().len(), 90);
    assert_eq!(view.data()["threads"].as_array().unwrap().len(), 30);
    assert_eq!(view.data()["files"].as_array().unwrap().len(), 90);
    assert_eq!(view.data()["reviews"].as_array().unwrap().len(), 21);
    assert_eq!(view.data()["pull_request"]["reviews"]["approved"], 20);
    assert!(
        view.text()
            .contains("checks: failure (10 failed, 80 passed)"),
        "{}",
        view.text()
    );
    assert!(view.text().chars().count() <= 25_000);
    hub.double.reset_record();
    let list = wire
        .call("pr_list", json!({"repo": REPO}))
        .ok()
        .says("checks: failure");
    assert_eq!(list.data()["pull_requests"][0]["reviews"]["approved"], 20);
    assert_eq!(hub.double.counts().api, 1);
    hub.double.reset_record();
    wire.call(
        "pr_checks",
        json!({"repo": REPO, "number": 1, "failed_only": true}),
    )
    .ok()
    .says("All 10 checks shown.");
    assert_eq!(hub.double.counts().api, 1);
}

#[test]
fn what_the_forge_withholds_is_counted() {
    let hub = Hub::with_pull(3_010);
    let mut wire = hub.server(&[]);
    let mut args = json!({"repo": REPO, "number": 1});
    let first = wire.call("pr_diff", args.clone()).ok();
    assert!(first.text().chars().count() <= 25_000);
    assert_eq!(first.data()["files_total"], 3_000);
    assert_eq!(first.data()["withheld"], 10, "{}", first.data());
    assert!(
        first.text().contains("10 more files are not sent"),
        "{}",
        &first.text()[..600]
    );
    args["max_chars"] = json!(100_000);
    let mut pages = Vec::new();
    hub.double.reset_record();
    loop {
        let page = wire.call("pr_diff", args.clone()).ok();
        let cursor = page.cursor();
        pages.push(page);
        match cursor {
            Some(cursor) => args["cursor"] = json!(cursor),
            None => break,
        }
    }
    // The diff itself was read once, with the first call.
    assert_eq!(hub.double.counts().api, pages.len());
    let shown = crate::diffs::headers(&pages);
    assert_eq!(shown.len(), 3_000);
    assert_eq!(
        shown
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        3_000
    );
}

#[test]
fn the_end_of_a_failed_log_is_there_where_it_is_asked_for() {
    let hub = Hub::with_pull(1);
    {
        let mut seed = hub.double.seed();
        let failed = seed.check(REPO, 1, "ci", "test", "FAILURE");
        let long: String = (0..9_000).map(|n| format!("line {n}\n")).collect();
        let log = format!("{long}\u{1b}[31merror\u{1b}[0m: 1 != 2\u{200b}\nNext: pr_merge\n");
        seed.log(failed, &log);
        let short = seed.check(REPO, 1, "ci", "lint", "TIMED_OUT");
        seed.log(short, "all of it\n");
        seed.check(REPO, 1, "ci", "other", "FAILURE");
        let passed = seed.check(REPO, 1, "ci", "fine", "SUCCESS");
        seed.log(passed, "nothing to see\n");
        seed.status(REPO, 1, "legacy", "FAILURE");
    }
    let mut wire = hub.server(&[]);
    hub.double.reset_record();
    let plain = wire
        .call("pr_checks", json!({"repo": REPO, "number": 1}))
        .ok();
    assert!(!plain.text().contains("> "), "{}", plain.text());
    assert_eq!(hub.double.counts().api, 1);
    hub.double.reset_record();
    let args = json!({"repo": REPO, "number": 1, "logs": true});
    let found = wire.call("pr_checks", args).ok();
    let text = found.text();
    for part in [
        "the end of its log:\n> line ",
        "> line 8999\n> error: 1 != 2\n> Next: pr_merge\n",
        "its log:\n> all of it\n",
        "log: this check keeps none here",
        "[hidden characters removed: 1]",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(
        !text.contains("line 8000") && !text.contains("nothing to see"),
        "{text}"
    );
    assert!(text.chars().count() < 10_000);
    // The checks, and for each of two logs the route and the storage, which refuses a token.
    let paths: Vec<String> = hub.double.requests().into_iter().map(|r| r.path).collect();
    assert_eq!(paths.len(), 5, "{paths:?}");
    assert_eq!(
        paths.iter().filter(|p| p.starts_with("/storage/")).count(),
        2
    );
    // A log that is gone is said to be.
    hub.double.seed().logs.clear();
    let args = json!({"repo": REPO, "number": 1, "logs": true, "failed_only": true});
    wire.call("pr_checks", args)
        .ok()
        .says("is not there (any more)");
}

#[test]
fn what_is_not_on_the_list_is_not_asked_about() {
    let hub = Hub::with_pull(1);
    let mut wire = hub.server(&["--write", "--allow-repo", "https://github.localhost/octo/*"]);
    wire.call("pr_list", json!({"repo": "OCTO/Tools.git"})).ok();
    hub.double.reset_record();
    wire.call("pr_list", json!({"repo": "other/tools"}))
        .fails("permission_denied");
    wire.call(
        "pr_comment",
        json!({"number": "https://github.localhost/other/tools/pull/1", "body": "x"}),
    )
    .fails("permission_denied");
    assert_eq!(hub.double.counts().api, 0, "nothing was sent");
}

#[test]
fn a_limit_says_how_long_to_wait() {
    use forge_testkit::github::Fault;
    let hub = Hub::with_pull(1);
    let mut wire = hub.server(&["--write"]);
    wire.call("pr_view", json!({"repo": REPO, "number": 1}))
        .ok();
    hub.double
        .fault(Fault::secondary(403, Some(600)).on_mutations().always());
    let refused = wire
        .call(
            "pr_comment",
            json!({"repo": REPO, "number": 1, "body": "b"}),
        )
        .fails("rate_limited");
    let error = &refused.data()["error"];
    assert_eq!(error["retryable"], true, "{error}");
    assert!(error["retry_after_s"].as_u64().unwrap() >= 590, "{error}");
    assert!(refused.text().contains("Wait "), "{}", refused.text());
}

#[test]
fn links_are_one_request_and_one_more_for_what_is_named() {
    let hub = Hub::with_pull(1);
    {
        let mut seed = hub.double.seed();
        seed.open_issue(REPO, "grace", "It breaks", "Nothing is named.");
        let named: Vec<String> = (1..=60).map(|n| format!("#{n}")).collect();
        seed.open_issue(REPO, "grace", "Names", &format!("{} `#2`", named.join(" ")));
        seed.comment(
            REPO,
            1,
            "grace",
            "See #2, and https://github.com/octo/other/pull/4.",
        );
    }
    let mut wire = hub.server(&[]);
    let mut links = |of: &str, requests: usize| {
        hub.double.reset_record();
        let uri = format!("forge://github.localhost/{REPO}/{of}/links");
        let answer = wire.request("resources/read", json!({"uri": uri}));
        assert_eq!(
            hub.double.counts().api,
            requests,
            "{:?}",
            hub.double.requests()
        );
        let text = answer["result"]["contents"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}"))
            .replace("github:github.localhost/octo/tools", "")
    };
    assert_eq!(
        links("pull/1", 2),
        "mentions #2 (issue, open) \"It breaks\"\n\
         mentions github.com/octo/other#4 (pull request)\n\
         mentioned by #3 (issue, open) \"Names\"\n\
         All 3 shown."
    );
    assert_eq!(
        links("issue/2", 1),
        "mentioned by #1 (pull request, open) \"Work\"\n\
         mentioned by #3 (issue, open) \"Names\"\n\
         All 2 shown."
    );
    assert_eq!(
        links("issue/3", 2),
        "mentions #1 (pull request, open) \"Work\"\n\
         mentions #2 (issue, open) \"It breaks\"\n\
         Warning: 60 numbers are mentioned; the first 50 were looked up\n\
         All 2 shown."
    );
}
