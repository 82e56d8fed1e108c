//! Tests `forge pr context`: its verdict and its sections, on each kind of forge.

use std::time::Duration;

use forge_github_double::{
    Fault, PullSeed,
    state::{Protection, Reaction, ReviewState, Rule, Ruleset},
};
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    world::World,
};

impl Hub {
    /// Runs `pr context`, and returns the bundle as JSON.
    pub fn context(&self, args: &[&str]) -> Value {
        let all = [&["pr", "context", "-R", REPO], args].concat();
        self.forge(&all).output().success().json()
    }

    /// Creates a hub with a pull request of Grace's that is mergeable and approved, and whose
    /// checks have passed.
    fn with_green_pull() -> Self {
        let hub = Self::with_pull();
        let mut seed = hub.double.seed();
        seed.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
        seed.check(REPO, 1, "CI", "build", "SUCCESS");
        drop(seed);
        hub
    }
}

impl World {
    pub fn context(&self, args: &[&str]) -> Value {
        let all = [&["pr", "context"], args].concat();
        self.forge(&all).output().success().json()
    }
}

fn requirement(verdict: &Value, rule: &str) -> Value {
    let mut all = verdict["requirements"].as_array().unwrap().iter();
    all.find(|r| r["rule"] == rule).unwrap().clone()
}

fn rules(verdict: &Value, status: &str) -> Vec<String> {
    let all = verdict["requirements"].as_array().unwrap().iter();
    let of = |r: &Value| {
        format!(
            "{} {}",
            r["rule"].as_str().unwrap(),
            r["source"].as_str().unwrap()
        )
    };
    all.filter(|r| r["status"] == status).map(of).collect()
}

#[test]
fn r_002_2_context_accepts_every_name_of_a_pull() {
    let world = World::with_pull();
    world.open("topic/two");
    let url = world.url(2);
    let by = |args: &[&str]| {
        let fields = ["--json", "pr", "-q", ".pr.number"];
        let all = [&["pr", "context"], args, &fields].concat();
        world.forge(&all).text().trim().to_owned()
    };
    for named in ["2", "#2", "topic/two", "branch:topic/two", url.as_str()] {
        assert_eq!(by(&[named]), "2", "{named}");
    }
    world.switch("topic/two");
    for named in [&["."][..], &[]] {
        assert_eq!(by(named), "2", "{named:?}");
    }
}

#[test]
fn r_002_2_context_accepts_urls_and_owner_branches() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.fork(REPO, "grace");
    let pull = PullSeed {
        author: "grace",
        head: "grace:work",
        ..PullSeed::default()
    };
    seed.open_pull(REPO, &pull);
    drop(seed);
    let fields = ["--json", "pr", "-q", ".pr.number"];
    let by = |args: &[&str]| {
        let all = [&["pr", "context"], args, &fields].concat();
        hub.forge(&all).text().trim().to_owned()
    };
    for (named, number) in [("octo:work", "1"), ("grace:work", "2"), ("#2", "2")] {
        assert_eq!(by(&[named, "-R", REPO]), number, "{named}");
    }
    let address = format!("{REPO}#2");
    assert_eq!(by(&[address.as_str()]), "2");
    let text = hub.forge(&["pr", "context", &address]).text();
    assert!(text.contains("\ngrace wants grace:work in main"), "{text}");
}

#[test]
fn c_002_14_newest_open_pull_of_a_branch_is_chosen() {
    let world = World::with_pull();
    let main = world.git.oid("main").unwrap();
    world.git.set_branch("release", &main);
    let create = [
        "pr", "create", "-H", "feature", "-B", "release", "-t", "T", "-b", "",
    ];
    let read = || {
        let found = world.context(&["feature", "--json", "pr,warnings"]);
        (found["pr"]["number"].clone(), found["warnings"].clone())
    };
    let told = |taken: u64, others: &str| {
        let others = format!("#{taken} is used, others are {others}");
        let hint = "Recovery: to use another pull request, name it by its number";
        let warning = format!("branch \"feature\" has 2 pull requests; {others}. {hint}");
        (json!(taken), json!([warning]))
    };
    assert_eq!(read(), (json!(1), json!([])));
    world.forge(&create).ok();
    assert_eq!(read(), told(2, "#1 into main (open)"));
    // Each command that reads uses the newest pull request, and prints its number.
    let taken = "#2 is used, others are #1 into main (open)";
    for args in [
        &["view", "feature", "--json", "number"][..],
        &["diff", "feature"],
        &["checkout", "feature", "--detach"],
        &["watch", "feature", "--until", "state", "--timeout", "1ms"],
    ] {
        let out = world.forge(&[&["pr"][..], args].concat()).output();
        let said = out.stderr_text();
        assert!(said.contains(taken), "{args:?}: {said}");
    }
    let viewed = world.forge(&["pr", "view", "feature", "--json", "number"]);
    assert_eq!(viewed.output().success().json()["number"], 2);
    // Commands that write refuse a branch with several pull requests.
    let close = world.forge(&["pr", "close", "feature"]).output();
    let why = close.exits(1).stderr_text();
    assert!(why.contains("#2 into release, #1 into main"), "{why}");
    world.forge(&["pr", "close", "2"]).ok();
    assert_eq!(read(), told(1, "#2 into release (closed)"));
    world.forge(&["pr", "close", "1"]).ok();
    assert_eq!(read(), told(2, "#1 into main (closed)"));
}

#[test]
fn c_002_14_url_contradicting_repo_flag_is_refused() {
    let world = World::with_pull();
    let other = World::with_pull();
    let path = other.git.path().display().to_string();
    let url = world.url(1);
    let out = world
        .forge(&["pr", "context", &url, "-R", &path])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("-R is file://"), "{out:?}");
    let own = world.git.path().display().to_string();
    world.forge(&["pr", "context", &url, "-R", &own]).ok();
}

#[test]
fn r_002_4_pull_has_core_fields() {
    let world = World::with_pull();
    let found = world.context(&["1", "--json", "pr"]);
    let pr = &found["pr"];
    assert_eq!(pr["title"], "Title of feature");
    assert_eq!(pr["description"], "Text.");
    assert_eq!(pr["author"], "ada");
    assert_eq!(
        (&pr["state"], &pr["draft"]),
        (&json!("open"), &json!(false))
    );
    assert_eq!(pr["baseBranch"], "main");
    assert_eq!(pr["headBranch"], "feature");
    assert_eq!(pr["url"], world.url(1));
    assert_eq!(pr["mergedAt"], Value::Null);
    assert_eq!((&pr["approvals"], &pr["additions"]), (&json!(0), &json!(2)));
    assert_eq!(pr["pendingReviewers"], json!([]));
}

#[test]
fn r_002_5_comments_have_ids_threads_and_lines() {
    let world = World::with_pull();
    world.forge(&["pr", "comment", "1", "-b", "First."]).ok();
    let review = [
        "pr",
        "review",
        "1",
        "--comment",
        "-b",
        "Look.",
        "--line",
        "feature.txt:2=Why?",
    ];
    world.grace(&review).ok();
    let found = world.context(&["1", "--json", "comments,threads,reviews,summary"]);
    let comments = found["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 2, "{found}");
    assert_eq!(comments[0]["body"], "First.");
    assert_eq!(comments[0]["threadId"], Value::Null);
    let of_thread = &comments[1];
    assert_eq!(of_thread["threadId"], found["threads"][0]["id"]);
    assert_eq!(of_thread["filePath"], "feature.txt");
    assert_eq!(of_thread["lineNumber"], 2);
    assert_eq!(of_thread["diffHunk"], "@@ -0,0 +1,2 @@\n+one\n+two");
    // C-002-3
    assert_eq!(found["threads"][0]["comments"], json!([of_thread["id"]]));
    assert_eq!(found["threads"][0]["isResolved"], false);
    // R-002-6
    let reviews = found["reviews"].as_array().unwrap();
    assert_eq!(reviews[0]["state"], "commented");
    assert_eq!(reviews[0]["author"], "grace");
    assert_eq!(found["summary"]["outstandingThreads"], 1);
    let blockers = &found["summary"]["blockers"];
    let wanted = json!(["1 unresolved comment thread(s)", "No approvals yet"]);
    assert_eq!(*blockers, wanted);
}

#[test]
fn r_002_5_comments_have_replies_reactions_and_edits() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    let comment = seed.comment(REPO, 1, "ada", "Once.");
    let heart = Reaction {
        id: seed.next_id(),
        user: seed.find_account("grace"),
        content: "HEART".to_owned(),
        created_at: seed.tick(),
    };
    seed.reactions.entry(comment).or_default().push(heart);
    seed.thread(REPO, 1, "grace", "work.txt");
    drop(seed);
    let edit = [
        "pr",
        "comment",
        "1",
        "-R",
        REPO,
        "--edit-last",
        "-b",
        "Twice.",
    ];
    hub.forge(&edit).ok();
    let read = || hub.context(&["1", "--json", "comments,threads,reviews"]);
    let before = read();
    let thread = before["threads"][0]["id"].as_str().unwrap();
    let reply = [
        "pr", "thread", "reply", "1", thread, "-R", REPO, "-b", "Because.",
    ];
    hub.forge(&reply).ok();
    let found = read();
    let comments = &found["comments"];
    assert_eq!(comments[0]["body"], "Twice.", "{found}");
    assert!(comments[0]["updatedAt"].is_string());
    let hearts = json!([{"content": "HEART", "users": {"totalCount": 1}}]);
    assert_eq!(comments[0]["reactionGroups"], hearts);
    assert_eq!(comments[1]["updatedAt"], Value::Null);
    assert_eq!(comments[2]["body"], "Because.");
    assert_eq!(comments[2]["replyTo"], comments[1]["id"]);
    assert_eq!(comments[2]["threadId"], thread);
    // R-002-6
    assert_eq!(found["reviews"][0]["comments"], json!([comments[1]]));
}

#[test]
fn context_reports_missing_log_of_failed_check() {
    let hub = Hub::with_pull();
    hub.double.seed().check(REPO, 1, "CI", "build", "FAILURE");
    let args = ["pr", "context", "1", "-R", REPO, "-i", "ci_logs"];
    let text = hub.forge(&args).text();
    let none = "\nLogs: no log of the failed checks was found; see their pages\n";
    assert!(text.contains(none), "{text}");
}

#[test]
fn r_002_11_sections_not_included_are_null() {
    let world = World::with_pull();
    let found = world.context(&["1", "--json", "-i", "files"]);
    assert_eq!(found["files"][0]["path"], "feature.txt");
    for section in [
        "comments",
        "threads",
        "reviews",
        "ciStatus",
        "ciLogs",
        "linkedIssues",
        "relatedPrs",
        "diff",
        "history",
    ] {
        assert_eq!(found[section], Value::Null, "{section}");
    }
    let out = world
        .forge(&["pr", "context", "1", "-i", "dif"])
        .output()
        .exits(1);
    let said = out.stderr_text();
    assert!(said.contains("did you mean 'diff'?"), "{said}");
}

#[test]
fn c_002_2_include_flag_never_changes_the_verdict() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.review(REPO, 1, "ada", ReviewState::ChangesRequested, "No.");
    seed.check(REPO, 1, "CI", "build", "FAILURE");
    drop(seed);
    let summary = |include: &str| {
        let found = hub.context(&["1", "-i", include, "--json", "summary,verdict,errors"]);
        let mut verdict = found["verdict"].clone();
        verdict["checkedAt"] = Value::Null;
        (found["summary"].clone(), verdict)
    };
    let all = summary("comments,reviews,ci,linked_issues,related_prs,diff,files,history");
    for include in [
        "ci",
        "diff",
        "files",
        "comments",
        "linked_issues",
        "related_prs",
    ] {
        assert_eq!(summary(include), all, "{include}");
    }
    assert_eq!(all.0["readyToMerge"], false);
}

#[test]
fn r_002_13_blockers_are_exact_and_in_order() {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    seed.open_pull(
        REPO,
        &PullSeed {
            author: "grace",
            title: "fix: work",
            head: "work",
            draft: true,
            ..PullSeed::default()
        },
    );
    seed.review(REPO, 1, "ada", ReviewState::ChangesRequested, "No.");
    seed.check(REPO, 1, "CI", "lint", "FAILURE");
    seed.check(REPO, 1, "CI", "build", "FAILURE");
    seed.check(REPO, 1, "CI", "deploy", "IN_PROGRESS");
    drop(seed);
    let found = hub.context(&["1", "--json", "summary,verdict"]);
    assert_eq!(
        found["summary"]["blockers"],
        json!([
            "CI failing: build, lint",
            "1 reviewer(s) requested changes",
            "No approvals yet",
            "PR is still in draft",
            "CI pending: deploy",
        ])
    );
    assert_eq!(found["summary"]["readyToMerge"], false);
    // C-002-16
    assert_eq!(found["summary"]["changeType"], "bugfix");
    // C-002-15
    assert_eq!(found["summary"]["oneLiner"], "work");
    let unmet = rules(&found["verdict"], "unmet");
    assert_eq!(unmet[0], "not_draft forge", "{unmet:?}");
    let changes = found["verdict"]["requirements"].as_array().unwrap().iter();
    let mut changes = changes.filter(|r| r["rule"] == "no_changes_requested");
    let by = &changes.next().unwrap()["clearedBy"];
    assert_eq!(*by, json!([{"who": "reviewer", "names": ["ada"]}]));
}

#[test]
fn r_002_12_green_pull_is_ready_and_can_be_merged() {
    let hub = Hub::with_green_pull();
    let found = hub.context(&["1", "--json", "summary,verdict,partial,errors"]);
    assert_eq!(found["summary"]["readyToMerge"], true, "{found}");
    assert_eq!(found["summary"]["blockers"], json!([]));
    assert_eq!(
        (&found["partial"], &found["errors"]),
        (&json!(false), &json!([]))
    );
    let pull = hub.double.seed().pull_of(REPO, 1).clone();
    assert_eq!(found["verdict"]["headSha"], pull.head_oid);
    assert_eq!(found["verdict"]["baseSha"], pull.base_oid);
    assert!(found["verdict"]["checkedAt"].is_string());
    hub.forge(&["pr", "merge", "1", "-R", REPO, "--merge"]).ok();
    let found = hub.context(&["1", "--json", "summary,verdict"]);
    assert_eq!(found["summary"]["readyToMerge"], false);
    assert_eq!(found["summary"]["blockers"], json!([]));
    assert_eq!(rules(&found["verdict"], "unmet"), ["open forge"]);
}

#[test]
fn pull_without_checks_is_neither_ready_nor_blocked() {
    let hub = Hub::with_pull();
    hub.double
        .seed()
        .review(REPO, 1, "ada", ReviewState::Approved, "Good.");
    let found = hub.context(&["1", "--json", "summary,verdict,errors"]);
    assert_eq!(found["summary"]["readyToMerge"], Value::Null, "{found}");
    assert_eq!(found["summary"]["blockers"], json!([]));
    assert_eq!(rules(&found["verdict"], "unknown"), ["checks_reported own"]);
    let reported = requirement(&found["verdict"], "checks_reported");
    let evidence = reported["evidence"].as_str().unwrap();
    assert!(evidence.contains("either there is no check"), "{evidence}");
    assert_eq!(found["errors"], json!([]));
    // GitHub requires no check here, so the merge is not refused.
    hub.forge(&["pr", "merge", "1", "-R", REPO, "--merge"]).ok();
}

#[test]
fn requirement_from_ruleset_names_the_ruleset() {
    let hub = Hub::with_green_pull();
    let parameters = json!({ "required_status_checks": [{ "context": "deploy" }] });
    let ruleset = Ruleset {
        name: "Red \u{1b}[31mmain".to_owned(),
        include: vec!["~DEFAULT_BRANCH".to_owned()],
        rules: vec![Rule {
            kind: "required_status_checks".to_owned(),
            parameters,
        }],
        ..Ruleset::default()
    };
    hub.double.seed().ruleset(REPO, ruleset);
    let found = hub.context(&["1", "--json", "summary,verdict"]);
    let reported = requirement(&found["verdict"], "checks_reported");
    assert_eq!(reported["source"], "ruleset");
    assert_eq!(reported["sourceName"], "Red \u{1b}[31mmain");
    assert_eq!(
        found["summary"]["blockers"],
        json!(["Expected checks have not reported: deploy"])
    );
    let text = hub.forge(&["pr", "context", "1", "-R", REPO]).text();
    let line =
        "  ✗ checks_reported [ruleset \"Red ␛[31mmain\"] → ci | 1 not reported: \"deploy\"\n";
    assert!(text.contains(line), "{text}");
}

/// Protects the base branch, for administrators as well. `change` sets the rules.
fn protect(hub: &Hub, change: fn(&mut Protection)) {
    let mut wanted = Protection {
        enforce_admins: true,
        ..Protection::default()
    };
    change(&mut wanted);
    hub.double.seed().protect(REPO, "main", wanted);
}

#[test]
fn unmet_requirements_name_team_and_administrators() {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    seed.team("octo", "owners", &["linus"]);
    let owners = [(".github/CODEOWNERS", Some("* @octo/owners\n"))];
    seed.commit(REPO, "main", &owners, "Name owners");
    drop(seed);
    hub.open_work();
    hub.double
        .seed()
        .review(REPO, 1, "ada", ReviewState::Approved, "Good.");
    protect(&hub, |p| {
        (p.approvals, p.code_owners, p.locked) = (1, true, true);
    });
    let found = hub.context(&["1", "--json", "verdict"]);
    for (rule, who, names) in [
        ("code_owners_approved", "reviewer", json!(["octo/owners"])),
        ("branch_unlocked", "admin", json!([])),
    ] {
        let unmet = requirement(&found["verdict"], rule);
        assert_eq!(unmet["status"], "unmet", "{unmet}");
        let wanted = json!([{"who": who, "names": names}]);
        assert_eq!(unmet["clearedBy"], wanted);
    }
}

#[test]
fn c_002_7_blockers_name_conflicts_pending_checks_and_old_base() {
    let hub = Hub::with_green_pull();
    protect(&hub, |p| p.strict = true);
    let mut seed = hub.double.seed();
    seed.lag = 0;
    seed.check(REPO, 1, "CI", "lint", "IN_PROGRESS");
    seed.commit(REPO, "main", &[("new.txt", Some("x\n"))], "New");
    drop(seed);
    let summary = || hub.context(&["1", "--json", "summary"])["summary"].clone();
    let wanted = json!(["CI pending: lint", "Behind main"]);
    assert_eq!(summary()["blockers"], wanted);
    let other = [("work.txt", Some("other\n"))];
    hub.double.seed().commit(REPO, "main", &other, "Other");
    let wanted = json!(["Merge conflicts with main", "CI pending: lint"]);
    assert_eq!(summary()["blockers"], wanted);
    hub.forge(&["pr", "close", "1", "-R", REPO]).ok();
    let closed = summary();
    assert_eq!(closed["blockers"], json!([]), "{closed}");
    assert_eq!(closed["readyToMerge"], false);
}

#[test]
fn c_002_17_own_approval_rule_can_be_disabled() {
    let hub = Hub::with_pull();
    let approval = || {
        let found = hub.context(&["1", "--json", "summary,verdict"]);
        let stops = rules(&found["verdict"], "unmet");
        (found["summary"]["blockers"].clone(), stops)
    };
    let missing = json!(["No approvals yet"]);
    let told = |source: &str| vec![format!("approved {source}")];
    assert_eq!(approval(), (missing.clone(), told("own")));
    let key = "context.summary.require_approval";
    hub.forge(&["config", "set", key, "false"]).ok();
    assert_eq!(approval(), (json!([]), vec![]));
    // GitHub's own rule still requires an approval.
    protect(&hub, |p| p.approvals = 1);
    assert_eq!(approval(), (missing, told("branch_protection")));
}

/// Name of a situation, the change that causes it, and the requirement that is then unmet or
/// unknown.
type MergeSituation = (&'static str, fn(&Hub), &'static str);

const SITUATIONS: &[MergeSituation] = &[
    (
        "two approvals wanted",
        |hub| protect(hub, |p| p.approvals = 2),
        "approved branch_protection",
    ),
    (
        "changes requested where an approval is wanted",
        |hub| {
            protect(hub, |p| p.approvals = 1);
            let mut seed = hub.double.seed();
            seed.review(REPO, 1, "ada", ReviewState::ChangesRequested, "No.");
        },
        "no_changes_requested branch_protection",
    ),
    (
        "a required check failed",
        |hub| {
            protect(hub, |p| p.checks = ["lint".to_owned()].into());
            hub.double.seed().check(REPO, 1, "CI", "lint", "FAILURE");
        },
        "checks_passed branch_protection",
    ),
    (
        "a required check runs",
        |hub| {
            protect(hub, |p| p.checks = ["lint".to_owned()].into());
            hub.double
                .seed()
                .check(REPO, 1, "CI", "lint", "IN_PROGRESS");
        },
        "checks_finished branch_protection",
    ),
    (
        "a required check never reported",
        |hub| protect(hub, |p| p.checks = ["deploy".to_owned()].into()),
        "checks_reported branch_protection",
    ),
    (
        "the head lacks commits of the base",
        |hub| {
            protect(hub, |p| p.strict = true);
            let mut seed = hub.double.seed();
            seed.commit(REPO, "main", &[("new.txt", Some("x\n"))], "New");
        },
        "up_to_date branch_protection",
    ),
    (
        "the base changes the same file",
        |hub| {
            let mut seed = hub.double.seed();
            seed.commit(REPO, "main", &[("work.txt", Some("other\n"))], "Other");
        },
        "no_conflicts forge",
    ),
    (
        "it is a draft",
        |hub| hub.forge(&["pr", "ready", "1", "--undo", "-R", REPO]).ok(),
        "not_draft forge",
    ),
    (
        "it is closed",
        |hub| hub.forge(&["pr", "close", "1", "-R", REPO]).ok(),
        "open forge",
    ),
];

#[test]
fn requirements_predict_whether_merge_succeeds() {
    for (name, arrange, wanted) in SITUATIONS {
        let hub = Hub::with_green_pull();
        arrange(&hub);
        let found = hub.context(&["1", "--json", "summary,verdict"]);
        let stops = [
            rules(&found["verdict"], "unmet"),
            rules(&found["verdict"], "unknown"),
        ];
        assert!(
            stops.concat().contains(&(*wanted).to_owned()),
            "{name}: {found}"
        );
        assert_ne!(found["summary"]["readyToMerge"], true, "{name}");
        let merge = ["pr", "merge", "1", "-R", REPO, "--merge"];
        let out = hub.forge(&merge).output();
        assert_ne!(out.code, Some(0), "{name}: {out:?}");
    }
    // A requirement that only `forge` checks does not make GitHub refuse the merge.
    let own: [fn(&Hub); 2] = [
        |hub| {
            let mut seed = hub.double.seed();
            seed.review(REPO, 1, "ada", ReviewState::ChangesRequested, "No.");
        },
        |hub| {
            hub.double.seed().check(REPO, 1, "CI", "lint", "FAILURE");
        },
    ];
    for arrange in own {
        let hub = Hub::with_green_pull();
        arrange(&hub);
        let found = hub.context(&["1", "--json", "summary,verdict"]);
        let unmet = rules(&found["verdict"], "unmet");
        assert!(
            !unmet.is_empty() && unmet.iter().all(|r| r.ends_with(" own")),
            "{unmet:?}"
        );
        hub.forge(&["pr", "merge", "1", "-R", REPO, "--merge"]).ok();
    }
}

#[test]
fn r_002_3_failing_section_does_not_fail_the_call() {
    let hub = Hub::with_green_pull();
    hub.double.fault(
        Fault::status(500)
            .on_path("/repos/octo/tools/pulls/1")
            .always(),
    );
    let args = ["pr", "context", "1", "-R", REPO, "--json"];
    let out = hub.forge(&args).output().success();
    let found = out.json();
    assert_eq!(found["diff"], Value::Null);
    // C-002-1
    assert_eq!(found["partial"], true, "{found}");
    assert_eq!(found["errors"][0]["section"], "diff", "{found}");
    assert_eq!(found["summary"]["readyToMerge"], true);
    assert!(out.stderr_text().contains("warning"), "{out:?}");
}

#[test]
fn default_sections_need_two_round_trips_at_most() {
    // One page of a section has at most a hundred items. Each thread also creates a review.
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    for n in 0..100 {
        seed.comment(REPO, 1, "ada", &format!("Comment {n}"));
        seed.thread(REPO, 1, "ada", "work.txt");
        seed.check(REPO, 1, "CI", &format!("job {n}"), "SUCCESS");
    }
    let number = seed.open_issue(REPO, "ada", "It leaks", "Since May.");
    drop(seed);
    let body = format!("Closes #{number}. Fixes PROJ-12.");
    hub.forge(&["pr", "edit", "1", "-R", REPO, "-b", &body])
        .ok();
    hub.double.reset_record();
    // The delay makes concurrent requests overlap, so that the test can measure the longest chain.
    // The delay exceeds the time in which the double answers with a hundred items.
    let slow = Fault::delayed(Duration::from_millis(300));
    hub.double.fault(slow.always());
    let found = hub.context(&["1", "--json"]);
    let count = |list: &Value| list.as_array().map(Vec::len);
    assert_eq!(count(&found["threads"]), Some(100), "{found}");
    assert_eq!(count(&found["comments"]), Some(200));
    assert_eq!(count(&found["reviews"]), Some(100));
    assert_eq!(count(&found["ciStatus"]["checks"]), Some(100));
    // R-002-8
    let linked = found["linkedIssues"].as_array().unwrap();
    assert_eq!(linked.len(), 2, "{found}");
    assert_eq!(linked[0]["source"], "github");
    assert_eq!(linked[0]["key"], format!("#{number}"));
    assert_eq!(linked[0]["title"], "It leaks");
    assert_eq!(
        (&linked[0]["status"], &linked[0]["type"]),
        (&json!("open"), &json!("issue"))
    );
    assert_eq!(linked[0]["relationship"], "closes");
    assert_eq!(linked[0]["body"], "Since May.");
    // C-002-9
    assert_eq!(
        (&linked[1]["source"], &linked[1]["key"]),
        (&json!("jira"), &json!("PROJ-12"))
    );
    assert_eq!(
        (&linked[1]["status"], &linked[1]["title"]),
        (&json!("unknown"), &Value::Null)
    );
    // The first round trip reads the view, the diff and the links. The second round trip reads what
    // the first one named: the issue, the rules of the base branch, GitHub's mergeability, and the
    // linked issues.
    let sent = hub.double.requests().into_iter().map(|r| r.operation);
    let mut sent: Vec<String> = sent.map(Option::unwrap_or_default).collect();
    sent.sort();
    let wanted = [
        "",
        "",
        "IssueView",
        "LinksNamed",
        "PullLinks",
        "PullView",
        "PullView",
    ];
    assert_eq!(sent, wanted);
    assert_eq!(hub.double.longest_chain(), 2);
}

#[test]
fn r_002_8_issue_of_another_repository_is_read() {
    let hub = Hub::with_green_pull();
    let mut seed = hub.double.seed();
    seed.repo_with_readme("octo/wide");
    let number = seed.open_issue("octo/wide", "ada", "Wide leak", "Since June.");
    drop(seed);
    let body = format!("Fixes octo/wide#{number}, see octo/wide#99.");
    hub.forge(&["pr", "edit", "1", "-R", REPO, "-b", &body])
        .ok();
    let found = hub.context(&["1", "--json", "linkedIssues,partial,warnings"]);
    let linked = &found["linkedIssues"][0];
    assert_eq!(linked["key"], format!("octo/wide#{number}"));
    assert_eq!(linked["title"], "Wide leak");
    assert_eq!(linked["body"], "Since June.");
    assert_eq!(linked["type"], "issue");
    assert_eq!(linked["status"], "open");
    let url = linked["url"].as_str().unwrap();
    assert!(
        url.ends_with(&format!("/octo/wide/issues/{number}")),
        "{url}"
    );
    assert_eq!(found["linkedIssues"][1]["resolved"], false);
    let told = "1 issue(s) or pull request(s) of other repositories were not read: octo/wide#99";
    assert_eq!(found["warnings"], json!([told]));
    assert_eq!(found["partial"], false);
}

#[test]
fn r_002_8_linked_issue_has_labels_and_newest_comments() {
    let hub = Hub::with_green_pull();
    let mut seed = hub.double.seed();
    let number = seed.open_issue(REPO, "ada", "It leaks", "Since May.");
    seed.label_issue(REPO, number, "bug");
    for n in 0..130 {
        seed.comment(REPO, number, "grace", &format!("Comment {n}"));
    }
    drop(seed);
    let body = format!("Closes #{number}");
    hub.forge(&["pr", "edit", "1", "-R", REPO, "-b", &body])
        .ok();
    hub.double.reset_record();
    let found = hub.context(&["1", "--json", "linkedIssues"]);
    let linked = &found["linkedIssues"][0];
    assert_eq!(linked["labels"], json!(["bug"]), "{linked}");
    let comments = linked["comments"].as_array().unwrap().iter();
    let bodies: Vec<&str> = comments.map(|c| c["body"].as_str().unwrap()).collect();
    let newest: Vec<String> = (125..130).map(|n| format!("Comment {n}")).collect();
    assert_eq!(bodies, newest);
    let sent = hub.double.requests().into_iter();
    let views = sent.filter(|r| r.operation.as_deref() == Some("IssueView"));
    assert_eq!(views.count(), 1);
}

#[test]
fn r_002_8_newest_comment_names_an_issue() {
    let hub = Hub::with_green_pull();
    let mut seed = hub.double.seed();
    let number = seed.open_issue(REPO, "ada", "It leaks", "Since May.");
    for _ in 0..100 {
        seed.comment(REPO, 1, "grace", "Fine.");
    }
    seed.comment(REPO, 1, "grace", &format!("See #{number}."));
    drop(seed);
    let found = hub.context(&["1", "--json", "linkedIssues,warnings"]);
    let linked = &found["linkedIssues"][0];
    assert_eq!(linked["key"], format!("#{number}"), "{found}");
    assert_eq!(linked["title"], "It leaks");
    assert_eq!(linked["body"], Value::Null);
    let said = found["warnings"].to_string();
    for wanted in [
        "the newest 100 of 101 comments were searched for links".to_owned(),
        format!("the texts of 1 linked issue(s) were not read: #{number}"),
        format!("forge issue view {number}"),
    ] {
        assert!(said.contains(&wanted), "{wanted:?} is not in {said}");
    }
}

#[test]
fn long_linked_issues_leave_room_for_short_issues() {
    let hub = Hub::with_green_pull();
    let mut seed = hub.double.seed();
    let long = "x".repeat(40_000);
    let one = seed.open_issue(REPO, "ada", "One", &long);
    let two = seed.open_issue(REPO, "ada", "Two", &long);
    seed.comment(REPO, two, "grace", "Yes.");
    drop(seed);
    let body = format!("Closes #{one}. Closes #{two}.");
    hub.forge(&["pr", "edit", "1", "-R", REPO, "-b", &body])
        .ok();
    let found = hub.context(&["1", "--json", "linkedIssues,warnings"]);
    let linked = found["linkedIssues"].as_array().unwrap();
    let length = |text: &Value| text.as_str().unwrap().len();
    let lengths: Vec<usize> = linked.iter().map(|l| length(&l["body"])).collect();
    assert_eq!(lengths, [29_998, 29_998]);
    assert_eq!(linked[1]["comments"][0]["body"], "Yes.");
    let said = found["warnings"][0].as_str().unwrap();
    assert!(said.contains("20004 bytes are left out"), "{said}");
}

#[test]
fn r_002_10_small_budget_shows_code_before_lock_files() {
    let world = World::new();
    let lock = "lock\n".repeat(30);
    let code = "code\n".repeat(30);
    let files = [
        ("Cargo.lock", Some(lock.as_str())),
        ("src/a.rs", Some(code.as_str())),
    ];
    world.git.commit("feature", "Add both", &files);
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", "B"])
        .ok();
    let found = world.context(&["1", "--json", "diff", "--max-diff", "200"]);
    let diff = &found["diff"];
    assert_eq!(
        diff["stats"],
        json!({"files": 2, "additions": 60, "deletions": 0})
    );
    assert_eq!(diff["truncated"], true);
    assert_eq!(diff["recovery"], "read the whole diff: forge pr diff 1");
    assert_eq!(diff["files"][0]["path"], "src/a.rs");
    assert_eq!(diff["files"][0]["hunks"].as_array().unwrap().len(), 1);
    assert_eq!(diff["files"][1]["path"], "Cargo.lock");
    assert_eq!(diff["files"][1]["class"], "lock");
    assert_eq!(
        diff["files"][1]["omitted"],
        json!([{"reason": "budget", "hunks": 1, "lines": 30, "recovery": null}])
    );
    assert_eq!(diff["contextLines"], 5);
    // C-002-12
    let found = world.context(&["1", "--json", "diff", "-U", "1"]);
    assert_eq!(found["diff"]["contextLines"], 1);
}

#[test]
fn r_002_10_file_missing_from_whole_diff_has_recovery() {
    let hub = Hub::with_pull();
    let sent = "diff --git a/big.txt b/big.txt\nFiles a/big.txt and b/big.txt differ\n\
        diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n";
    let headers = [("content-type", "application/vnd.github.diff; charset=utf-8")];
    let fault = Fault::answer(200, &headers, sent).on_path("/repos/octo/tools/pulls/1");
    hub.double.fault(fault.always());
    let found = hub.context(&["1", "--json", "diff"]);
    let diff = &found["diff"];
    let files = diff["files"].as_array().unwrap();
    let recovery =
        "check out the pull request, then open the file or run `git diff BASE...HEAD -- PATH`";
    for (path, reason) in [
        ("big.txt", "too_large"),
        ("p.png", "binary"),
        ("work.txt", "unavailable"),
    ] {
        let file = files.iter().find(|f| f["path"] == path).unwrap();
        assert_eq!(file["omitted"][0]["reason"], reason, "{diff}");
        assert_eq!(file["omitted"][0]["recovery"], recovery, "{diff}");
    }
    assert_eq!(diff["truncated"], true);
    assert_eq!(diff["recovery"], Value::Null);
    let text = hub.forge(&["pr", "context", "1", "-R", REPO]).text();
    let line = format!("  [not shown: too_large; {recovery}]\n");
    assert!(text.contains(&line), "{text}");
    assert!(!text.contains("read the whole diff"), "{text}");
    let page = [
        "pr", "context", "1", "-R", REPO, "-i", "diff", "--html", "-",
    ];
    let page = hub.forge(&page).text();
    let line = format!("Not shown: a binary file; {recovery}</p>");
    assert!(page.contains(&line), "{page}");
    assert!(!page.contains("read the whole diff"), "{page}");
}

#[test]
fn r_002_9_related_pulls_name_the_shared_files() {
    let world = World::new();
    let both = [("a.txt", Some("one\n")), ("b.txt", Some("one\n"))];
    world.git.commit("feature", "Add both", &both);
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", "B"])
        .ok();
    world
        .git
        .commit("other", "Add a", &[("a.txt", Some("two\n"))]);
    world
        .forge(&["pr", "create", "-H", "other", "-t", "Other", "-b", "B"])
        .ok();
    world.open("apart");
    let found = world.context(&["1", "--json", "relatedPrs"]);
    let related = found["relatedPrs"].as_array().unwrap();
    assert_eq!(related.len(), 1, "{found}");
    assert_eq!(related[0]["number"], 2);
    // C-002-11
    assert_eq!(related[0]["relationship"], "same_files");
    assert_eq!(related[0]["overlapFiles"], json!(["a.txt"]));
    assert_eq!(related[0]["title"], "Other");
}

#[test]
fn local_pull_is_judged_without_checks() {
    let world = World::with_pull();
    world.grace(&["pr", "review", "1", "--approve"]).ok();
    let found = world.context(&["1", "--json", "summary,verdict,ciStatus"]);
    assert_eq!(found["summary"]["readyToMerge"], true, "{found}");
    assert_eq!(found["ciStatus"], Value::Null);
    world
        .git
        .commit("main", "Conflict", &[("feature.txt", Some("x\n"))]);
    let found = world.context(&["1", "--json", "summary,verdict"]);
    assert_eq!(
        found["summary"]["blockers"],
        json!(["Merge conflicts with main"])
    );
    let first = &found["verdict"]["requirements"][0];
    assert_eq!(first["evidence"], "conflicts in feature.txt");
    assert_eq!(
        first["clearedBy"],
        json!([{"who": "author", "names": ["ada"]}])
    );
}

#[test]
fn context_without_json_prints_readable_text() {
    let world = World::with_pull();
    world
        .grace(&["pr", "comment", "1", "-b", "Red \u{1b}[31m text"])
        .ok();
    let text = world.forge(&["pr", "context", "1"]).text();
    for part in [
        "#1 [open] \"Title of feature\"\n",
        "\nReady to merge: no\n  \"No approvals yet\"\n",
        "  ✗ approved [own] → reviewer | \"0 approval(s)\"\n",
        "feature · risk low\n  \"adds feature.txt (+2)\"\n",
        "    │ Red ␛[31m text\n",
        "\nDiff: 1 file(s) +2 -0\nfeature.txt +2 -0 code\n    │ @@ -0,0 +1,2 @@\n    │ +one\n    │ +two\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn verdict_on_stacked_pull_agrees_with_merge() {
    let world = World::with_pull();
    world.git.set_branch("above", "feature");
    world
        .git
        .commit("above", "Above", &[("above.txt", Some("x\n"))]);
    let create = ["pr", "create", "-H", "above", "-t", "Above", "-b", "B"];
    let create = [&create[..], &["--depends-on", "1"]].concat();
    world.forge(&create).ok();
    let found = world.context(&["2", "--json", "verdict"]);
    let stops = [
        rules(&found["verdict"], "unmet"),
        rules(&found["verdict"], "unknown"),
    ]
    .concat();
    assert_eq!(stops[0], "dependency_merged forge", "{stops:?}");
    assert!(
        !stops.iter().any(|rule| rule.starts_with("not_blocked")),
        "{stops:?}"
    );
    let out = world
        .forge(&["pr", "merge", "2", "--squash"])
        .output()
        .exits(1);
    assert!(out.stderr_text().contains("#1"), "{out:?}");
}

/// Creates pull request 1 with `files` small files, a renamed file, a binary file, and the files in
/// `more`.
fn wide(files: usize, more: &[(&str, &str)]) -> Hub {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    let old = "a line of a file that gets another name\n".repeat(9);
    seed.commit(REPO, "main", &[("old.rs", Some(&old))], "Old");
    let names: Vec<String> = (0..files).map(|n| format!("src/f{n:03}.rs")).collect();
    let mut all = vec![
        ("old.rs", None),
        ("new.rs", Some(old.as_str())),
        ("p.bin", Some("\0\u{1}")),
    ];
    all.extend(names.iter().map(|name| (name.as_str(), Some("x\n"))));
    all.extend(more.iter().map(|(name, text)| (*name, Some(*text))));
    seed.commit(REPO, "wide", &all, "Wide");
    let pull = PullSeed {
        author: "grace",
        head: "wide",
        ..PullSeed::default()
    };
    seed.open_pull(REPO, &pull);
    drop(seed);
    hub
}

/// Returns the numbers of requests that read files: REST pages of files, and further GraphQL pages.
fn readings(hub: &Hub) -> (usize, usize) {
    let sent = hub.double.requests();
    let rows = sent.iter().filter(|r| r.path.ends_with("/files"));
    let more = sent.iter();
    let more = more.filter(|r| r.operation.as_deref() == Some("PullMore"));
    (rows.count(), more.count())
}

#[test]
fn files_of_oversized_diff_are_requested_once() {
    let hub = wide(340, &[]);
    let fields = ["1", "--json", "files,summary,diff,errors", "-i"];
    let read = |include: &str| {
        hub.double.reset_record();
        let found = hub.context(&[&fields[..], &[include]].concat());
        assert_eq!(found["errors"], json!([]));
        (found, readings(&hub))
    };
    let (alone, by_pages) = read("files");
    assert_eq!(by_pages, (0, 3));
    let (beside, by_rows) = read("files,diff");
    assert_eq!(by_rows, (4, 0));
    assert_eq!(beside["diff"]["stats"]["files"], 342);
    assert_eq!(beside["files"].as_array().unwrap().len(), 342);
    for same in ["files", "summary"] {
        assert_eq!(beside[same], alone[same], "{same}");
    }
}

#[test]
fn missing_line_counts_of_files_come_from_graphql() {
    let long = "y\n".repeat(21_000);
    let last = ("src/z.rs", "z\n");
    let hub = wide(340, &[("src/long.rs", &long), last]);
    hub.double.reset_record();
    let found = hub.context(&["1", "--json", "files,diff,errors", "-i", "files,diff"]);
    let (_, more) = readings(&hub);
    assert_eq!(more, 3);
    let additions = |path: &str| {
        let mut files = found["files"].as_array().unwrap().iter();
        files.find(|f| f["path"] == path).unwrap()["additions"].clone()
    };
    assert_eq!(additions("src/long.rs"), 21_000);
    assert_eq!(additions("src/z.rs"), 1);
}
