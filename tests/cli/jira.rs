//! Tests `forge pr context` with JIRA: which keys count as tickets, which fields are read, and
//! where the token is sent.

use std::fs;

use forge_jira_double::{JIRA_EMAIL, JIRA_TOKEN, JiraDouble, JiraEdition, TicketSeed};
use forge_testkit::Run;
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    world::World,
};

/// A repository with a pull request, and a JIRA server that the user has configured.
struct Tracked {
    world: World,
    jira: JiraDouble,
}

impl Tracked {
    /// Creates a pull request with this description, and a JIRA server of this edition.
    fn new(edition: JiraEdition, body: &str) -> Self {
        let tracked = Self {
            world: World::new(),
            jira: JiraDouble::start(edition),
        };
        tracked.jira.ticket(TicketSeed::default());
        tracked.open("feature", body);
        tracked.configure("");
        tracked
    }

    fn open(&self, branch: &str, body: &str) {
        self.world.feature(branch);
        let create = ["pr", "create", "-H", branch, "-t", "T", "-b", body];
        self.world.forge(&create).ok();
    }

    /// Writes `config.toml` with JIRA's URL and with `more` keys of the table `jira`.
    fn configure(&self, more: &str) {
        let text = format!("[jira]\nbase_url = \"{}\"\n{more}", self.jira.url());
        self.config(&text);
    }

    fn config(&self, text: &str) {
        let file = "home/.config/forge/config.toml";
        self.world.scratch.write(file, text);
    }

    fn run(&self, args: &[&str]) -> Run {
        let all = [&["pr", "context"], args].concat();
        self.world.forge(&all).env("JIRA_TOKEN", JIRA_TOKEN)
    }

    fn found(&self) -> Value {
        let fields = "linkedIssues,partial,errors,summary";
        self.run(&["1", "--json", fields]).output().success().json()
    }

    fn keys(&self) -> Vec<String> {
        let found = self.found();
        let items = found["linkedIssues"].as_array().unwrap().iter();
        items
            .map(|item| item["key"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn r_002_8_cloud_ticket_is_read_in_full() {
    let tracked = Tracked::new(JiraEdition::Cloud, "Fixes OPS-7.");
    tracked.configure(&format!("email = \"{JIRA_EMAIL}\"\n"));
    tracked.jira.ticket(TicketSeed {
        key: "OPS-7",
        description: "One.\nTwo.",
        comments: (0..7).map(|n| format!("Comment {n}")).collect(),
        ..TicketSeed::default()
    });
    let found = tracked.found();
    assert_eq!(found["partial"], false, "{found}");
    let item = &found["linkedIssues"][0];
    for (field, wanted) in [
        ("source", json!("jira")),
        ("key", json!("OPS-7")),
        ("type", json!("issue")),
        ("title", json!("It leaks")),
        ("status", json!("open")),
        ("statusName", json!("In Progress")),
        ("resolved", json!(true)),
        ("url", json!(format!("{}/browse/OPS-7", tracked.jira.url()))),
        ("relationship", json!("closes")),
        ("labels", json!(["backend"])),
        ("body", json!("One.\nTwo.")),
    ] {
        assert_eq!(item[field], wanted, "{field}");
    }
    let comments = item["comments"].as_array().unwrap();
    let bodies: Vec<&str> = comments
        .iter()
        .map(|c| c["body"].as_str().unwrap())
        .collect();
    let newest = [
        "Comment 2",
        "Comment 3",
        "Comment 4",
        "Comment 5",
        "Comment 6",
    ];
    assert_eq!(bodies, newest);
    assert_eq!(comments[0]["author"], "Grace Hopper");
    assert_eq!(comments[0]["createdAt"], "2026-07-22T08:02:00Z");
    let mut asked: Vec<String> = tracked
        .jira
        .requests()
        .into_iter()
        .map(|(p, _)| p)
        .collect();
    asked.sort();
    assert_eq!(
        asked,
        [
            "/rest/api/3/issue/OPS-7/comment?orderBy=-created&maxResults=5",
            "/rest/api/3/issue/OPS-7?fields=summary,status,labels,description",
        ]
    );
}

#[test]
fn r_002_8_data_center_ticket_is_read_in_full() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "See OPS-7.");
    tracked.jira.ticket(TicketSeed {
        key: "OPS-7",
        status: "Released",
        category: "done",
        description: "h1. Wiki",
        ..TicketSeed::default()
    });
    let found = tracked.found();
    let item = &found["linkedIssues"][0];
    assert_eq!(item["relationship"], "related", "{found}");
    assert_eq!(
        (&item["status"], &item["statusName"]),
        (&json!("closed"), &json!("Released"))
    );
    assert_eq!(item["body"], "h1. Wiki");
    assert_eq!(item["comments"][0]["author"], "grace");
    let asked = tracked.jira.requests();
    assert!(
        asked
            .iter()
            .all(|(path, _)| path.starts_with("/rest/api/2/"))
    );
    let text = tracked.run(&["1"]).text();
    let line = "  related OPS-7 [closed: Released] (description) \"It leaks\"\n    │ h1. Wiki\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn r_002_21_ticket_named_repeatedly_is_listed_once() {
    let body = "Fixes PROJ-123. Also PROJ-123, [PROJ-123](BASE/browse/PROJ-123).";
    let tracked = Tracked::new(JiraEdition::DataCenter, "");
    let body = body.replace("BASE", &tracked.jira.url());
    tracked.open("fix/PROJ-123-x", &body);
    let found = tracked
        .run(&["2", "--json", "linkedIssues"])
        .output()
        .success();
    let items = &found.json()["linkedIssues"];
    assert_eq!(items.as_array().unwrap().len(), 1, "{items}");
    assert_eq!(items[0]["relationship"], "closes");
    assert_eq!(
        items[0]["foundIn"],
        json!(["description", "commit", "branch"])
    );
    assert_eq!(items[0]["title"], "It leaks");
    assert_eq!(tracked.jira.requests().len(), 2);
}

#[test]
fn r_002_23_ticket_named_by_branch_is_read() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "");
    for (number, branch) in [("2", "PROJ-123-x"), ("3", "fix/PROJ-123")] {
        tracked.open(branch, "");
        let run = tracked.run(&[number, "--json", "linkedIssues"]);
        let items = &run.output().success().json()["linkedIssues"];
        assert_eq!(items[0]["title"], "It leaks", "{branch}");
        let places = items[0]["foundIn"].as_array().unwrap();
        assert!(places.contains(&json!("branch")), "{items}");
        assert_eq!(items[0]["relationship"], "references");
    }
}

#[test]
fn r_002_8_tickets_are_read_concurrently_with_forge() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "");
    let hub = Hub::with_pull();
    let file = "home/.config/forge/config.toml";
    let config = format!("[jira]\nbase_url = \"{}\"\n", tracked.jira.url());
    hub.scratch.write(file, config);
    let edit = ["pr", "edit", "1", "-R", REPO, "-b", "Fixes PROJ-123"];
    hub.forge(&edit).ok();
    let context = [
        "pr",
        "context",
        "1",
        "-R",
        REPO,
        "--json",
        "linkedIssues,errors",
    ];
    let run = hub.forge(&context);
    // The first read makes GitHub compute mergeability.
    run.ok();
    hub.double.reset_record();
    let without = run.output().success().json();
    let alone = hub.double.requests().len();
    // C-002-9
    let item = &without["linkedIssues"][0];
    let url = format!("{}/browse/PROJ-123", tracked.jira.url());
    assert_eq!(
        (&item["status"], &item["resolved"]),
        (&json!("unknown"), &json!(false))
    );
    assert_eq!((&item["title"], &item["url"]), (&Value::Null, &json!(url)));
    assert_eq!(without["errors"], json!([]));
    assert_eq!(tracked.jira.requests().len(), 0);
    hub.double.reset_record();
    let found = run.env("JIRA_TOKEN", JIRA_TOKEN).output().success().json();
    assert_eq!(found["linkedIssues"][0]["title"], "It leaks", "{found}");
    assert_eq!(found["linkedIssues"][0]["relationship"], "closes");
    assert_eq!(hub.double.requests().len(), alone);
    assert_eq!(tracked.jira.requests().len(), 2);
}

#[test]
fn r_002_15_event_names_the_ticket() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "Fixes PROJ-123");
    let run = tracked.run(&["1", "--events", "jsonl"]);
    let stderr = run.output().success().stderr_text();
    let events = stderr.lines().filter(|line| line.starts_with('{'));
    let mut events = events.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_fetch = |e: &Value| e["event"] == "tool:pr_context:jira_fetch";
    let fetch = events.find(is_fetch).unwrap();
    assert_eq!(fetch["issue_key"], "PROJ-123");
    assert!(fetch["duration_ms"].is_u64(), "{fetch}");
}

#[test]
fn c_002_8_key_unknown_to_jira_is_dropped() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "PROJ-123, PROJ-999 and ABC-1.");
    let found = tracked.found();
    assert_eq!(found["partial"], false, "{found}");
    assert_eq!(found["linkedIssues"].as_array().unwrap().len(), 1);
    assert_eq!(tracked.keys(), ["PROJ-123"]);
}

#[test]
fn c_002_8_keys_stay_listed_as_unknown_if_jira_fails() {
    type Failing = fn(&Tracked);
    let cases: [(Failing, &str); 7] = [
        (|t| t.jira.fail(401), "unauthenticated"),
        (|t| t.jira.fail(403), "permission_denied"),
        (|t| t.jira.fail(500), "upstream"),
        (|t| t.jira.page(200), "protocol"),
        (|t| t.jira.page(404), "upstream"),
        (
            |t| t.config("[jira]\nbase_url = \"http://127.0.0.1:9\"\n"),
            "network",
        ),
        (|t| t.configure("auth_token = \"${BAD}\"\n"), "config"),
    ];
    for (arrange, kind) in cases {
        let tracked = Tracked::new(JiraEdition::DataCenter, "Fixes PROJ-123, see OPS-1.");
        arrange(&tracked);
        let run = tracked.run(&["1", "--json", "linkedIssues,partial,errors,summary"]);
        let out = run.env("BAD", "two words").output().success();
        let found = out.json();
        assert_eq!(found["partial"], true, "{kind}: {found}");
        let items = found["linkedIssues"].as_array().unwrap();
        assert_eq!(items.len(), 2, "{kind}");
        for item in items {
            assert_eq!(item["status"], "unknown", "{kind}");
            assert_eq!(item["resolved"], false, "{kind}");
        }
        let errors = found["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{kind}: {found}");
        assert_eq!(errors[0]["section"], "linked_issues");
        assert_eq!(errors[0]["kind"], kind, "{found}");
        assert!(found["summary"]["blockers"].is_array());
        assert!(out.stderr_text().contains("Recovery: "), "{out:?}");
    }
}

/// JIRA also finds a moved ticket by its old key, so the key in a response may differ.
#[test]
fn answer_about_another_ticket_is_protocol_error() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "Fixes PROJ-123.");
    let answer = |key: &str, category: &str| {
        // The double returns this object both for the ticket and for its comments.
        let status = json!({ "name": "Fixed", "statusCategory": { "key": category } });
        let fields = json!({ "summary": "It leaks", "status": status });
        tracked
            .jira
            .answer_all(&json!({ "key": key, "fields": fields, "comments": [] }));
        tracked.found()
    };
    for (key, category, why) in [
        (
            "PROJ-124",
            "new",
            "answers with another ticket for PROJ-123",
        ),
        ("", "done", "answers with another ticket for PROJ-123"),
        ("PROJ-123", "fixed", "an unknown status category"),
        ("PROJ-123", "Done", "an unknown status category"),
        ("PROJ-123", "", "an unknown status category"),
    ] {
        let found = answer(key, category);
        let error = &found["errors"][0];
        assert_eq!(error["kind"], "protocol", "{found}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(why), "{message}");
        let item = &found["linkedIssues"][0];
        assert_eq!(item["key"], "PROJ-123", "{found}");
        assert_eq!(item["status"], "unknown", "{key} {category}: {found}");
        assert_eq!(
            (&item["title"], &item["resolved"]),
            (&Value::Null, &json!(false))
        );
    }
    for (key, category, status) in [
        ("proj-123", "new", "open"),
        ("PROJ-123", "indeterminate", "open"),
        ("PROJ-123", "undefined", "open"),
        ("PROJ-123", "done", "closed"),
    ] {
        let found = answer(key, category);
        assert_eq!(found["errors"], json!([]), "{found}");
        let item = &found["linkedIssues"][0];
        assert_eq!(
            (&item["status"], &item["title"]),
            (&json!(status), &json!("It leaks"))
        );
    }
}

/// In memory, each of these small objects takes a hundred times its length in the response.
#[test]
fn ticket_of_many_small_values_is_refused() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "Fixes PROJ-123.");
    let status = json!({ "name": "Open", "statusCategory": { "key": "new" } });
    for (count, kind) in [(100, Value::Null), (60_000, json!("protocol"))] {
        let more = vec![json!({ "": 0 }); count];
        let fields = json!({ "summary": "It leaks", "status": status, "more": more });
        tracked
            .jira
            .answer_all(&json!({ "key": "PROJ-123", "fields": fields, "comments": [] }));
        let found = tracked.found();
        let error = &found["errors"][0];
        assert_eq!(error["kind"], kind, "{error}");
        if count > 100 {
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("more values than are read"), "{message}");
            assert_eq!(found["linkedIssues"][0]["status"], "unknown");
        }
    }
}

#[test]
fn redirect_from_jira_gets_no_token() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "Fixes PROJ-123");
    let other = JiraDouble::start(JiraEdition::DataCenter);
    other.ticket(TicketSeed::default());
    for to in [other.url(), tracked.jira.url()] {
        tracked
            .jira
            .redirect(&format!("{to}/rest/api/2/issue/PROJ-123"));
        let found = tracked.found();
        assert_eq!(found["errors"][0]["kind"], "protocol", "{found}");
        assert_eq!(found["linkedIssues"][0]["status"], "unknown");
    }
    assert_eq!(other.requests(), []);
}

#[test]
fn r_002_18_project_keys_are_an_allow_list() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "PROJ-123 OPS-1 SHA-256");
    tracked.jira.ticket(TicketSeed {
        key: "SHA-256",
        ..TicketSeed::default()
    });
    tracked.configure("project_keys = [\"OPS\", \"SHA\"]\n");
    assert_eq!(tracked.keys(), ["SHA-256"]);
    let asked = tracked.jira.requests();
    assert!(asked.iter().all(|(path, _)| !path.contains("PROJ-123")));
    tracked.configure("key_patterns = ['[a-z]+-\\d+']\n");
    assert_eq!(tracked.keys(), [""; 0]);
    tracked.configure("enabled = false\n");
    let before = tracked.jira.requests().len();
    assert_eq!(tracked.keys(), [""; 0]);
    assert_eq!(tracked.jira.requests().len(), before);
}

#[test]
fn r_002_18_allow_list_applies_to_every_key_source() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "");
    let branch = "fix/EVIL-1-x";
    tracked.world.feature(branch);
    let files = [("evil.txt", Some("x\n"))];
    let world = &tracked.world;
    world
        .git
        .commit(branch, "EVIL-2: change\n\nFixes EVIL-3.", &files);
    let page = format!("{}/browse/EVIL-4", tracked.jira.url());
    let body = format!("Fixes EVIL-5, {page}, OPS-EVIL-6, EVIL_OPS-7 and ops-8. See OPS-9.");
    let create = [
        "pr",
        "create",
        "-H",
        branch,
        "-t",
        "EVIL-10: T",
        "-b",
        &body,
    ];
    world.forge(&create).ok();
    world.forge(&["pr", "comment", "2", "-b", "EVIL-11"]).ok();
    for patterns in ["", "key_patterns = ['[A-Za-z_-]+-\\d+']\n"] {
        tracked.configure(&format!("project_keys = [\"OPS\"]\n{patterns}"));
        let run = tracked.run(&["2", "--json", "linkedIssues"]);
        let _ = run.output().success();
        let asked = tracked.jira.requests();
        assert!(!asked.is_empty(), "{patterns}");
        for (path, _) in asked {
            let lower = path.to_lowercase();
            assert!(
                lower.contains("/issue/ops-") && !lower.contains("evil"),
                "{path}"
            );
        }
    }
}

#[test]
fn r_002_18_bad_patterns_are_reported_with_their_line() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "");
    for (line, why) in [
        ("key_patterns = [\"(\"]", "regular expressions"),
        ("key_patterns = [\"a{1000}{1000}\"]", "regular expressions"),
        ("project_keys = [\"a b\"]", "keys of projects"),
        ("auth_token = \"jira0canary0canary0\"", "`${JIRA_TOKEN}`"),
    ] {
        tracked.configure(&format!("{line}\n"));
        let out = tracked.run(&["1"]).output().exits(1);
        let said = out.stderr_text();
        assert!(
            said.contains("config.toml:3:") && said.contains(why),
            "{said}"
        );
    }
}

#[test]
fn r_002_18_variables_give_jira_keys_and_api_url() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "PROJ-123 OPS-1");
    tracked.jira.ticket(TicketSeed {
        key: "OPS-1",
        ..TicketSeed::default()
    });
    tracked.config(&format!(
        "[hosts.\"git.example\"]\nkind = \"github\"\napi_url = \"${{MY_API}}\"\n\
         [jira]\nbase_url = \"{}\"\nenabled = \"${{MY_SWITCH}}\"\n\
         project_keys = [\"${{MY_PROJECTS}}\"]\nkey_patterns = \"${{MY_PATTERNS}}\"\n",
        tracked.jira.url()
    ));
    let with = |run: Run, vars: &[(&str, &str)]| {
        let all = vars.iter();
        all.fold(run, |run, (name, value)| run.env(name, value))
    };
    let keys = |vars: &[(&str, &str)]| {
        let run = tracked.run(&["1", "--json", "linkedIssues"]);
        let found = with(run, vars).output().success().json();
        let items = found["linkedIssues"].as_array().unwrap().clone();
        let key = |item: Value| item["key"].as_str().unwrap().to_owned();
        items.into_iter().map(key).collect::<Vec<_>>()
    };
    let both = ("MY_PROJECTS", "PROJ OPS");
    assert_eq!(keys(&[("MY_PROJECTS", "OPS")]), ["OPS-1"]);
    assert_eq!(keys(&[both, ("MY_PATTERNS", "OPS-[0-9]+")]), ["OPS-1"]);
    // An allow-list in a variable that is unset or invalid allows no project.
    let before = tracked.jira.requests().len();
    assert_eq!(keys(&[both, ("MY_SWITCH", "false")]), [""; 0]);
    assert_eq!(keys(&[]), [""; 0]);
    assert_eq!(keys(&[("MY_PROJECTS", "PROJ,OPS")]), [""; 0]);
    assert_eq!(tracked.jira.requests().len(), before);

    let get = |key: &str, vars: &[(&str, &str)]| {
        let run = tracked.world.forge(&["config", "get", key]);
        with(run, vars).text().trim_end().to_owned()
    };
    let api = "hosts.git.example.api_url";
    let url = "https://api.git.example/v3";
    assert_eq!(get(api, &[("MY_API", url)]), url);
    // The URL in a variable has the same limits as one in the file.
    let clear = ("MY_API", "http://api.git.example/v3");
    let run = tracked.world.forge(&["config", "get", api]);
    let out = with(run, &[clear]).output().exits(1);
    assert!(out.stderr_text().contains("is not set"), "{out:?}");
    let set = ["config", "set", "jira.enabled", "${MY_SWITCH}"];
    tracked.world.forge(&set).ok();
    assert_eq!(get("jira.enabled", &[]), "true");
    assert_eq!(get("jira.enabled", &[("MY_SWITCH", "off")]), "false");
}

#[test]
fn c_002_8_names_of_standards_are_not_looked_up() {
    let body = "SHA-256, UTF-8, CVE-2024-1, ISO-8601, GH-12, COVID-19, `PROJ-123`, ABCDEFGHIJKLM-1";
    let tracked = Tracked::new(JiraEdition::DataCenter, body);
    assert_eq!(tracked.keys(), [""; 0]);
    assert_eq!(tracked.jira.requests(), []);
}

#[test]
fn tickets_after_the_tenth_are_listed_but_not_read() {
    let body: Vec<String> = (1..=12).map(|n| format!("OPS-{n}")).collect();
    let tracked = Tracked::new(JiraEdition::DataCenter, &body.join(" "));
    for key in [
        "OPS-1", "OPS-2", "OPS-3", "OPS-4", "OPS-5", "OPS-6", "OPS-7", "OPS-8",
    ] {
        tracked.jira.ticket(TicketSeed {
            key,
            ..TicketSeed::default()
        });
    }
    let found = tracked.found();
    let items = found["linkedIssues"].as_array().unwrap();
    let read = items.iter().filter(|item| item["resolved"] == true).count();
    // OPS-9 and OPS-10 do not exist and are dropped. OPS-11 and OPS-12 are listed but not read.
    assert_eq!((items.len(), read), (10, 8), "{found}");
    // `forge` may cancel the request for a missing ticket's comments before it is sent, so the
    // number varies.
    let requests = tracked.jira.requests().len();
    assert!((18..=20).contains(&requests), "{requests}");
    let other = tracked.run(&["1", "-i", "ci", "--json"]);
    other.ok();
    assert_eq!(tracked.jira.requests().len(), requests);
}

#[test]
fn r_002_18_repository_cannot_configure_jira() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "Fixes PROJ-123");
    tracked.config("");
    let own = format!(
        "[jira]\nbase_url = \"{}\"\nemail = \"a@b\"\nauth_token = \"${{GH_TOKEN}}\"\n\
         enabled = false\nproject_keys = [\"EVIL\"]\nkey_patterns = [\"x\"]\n",
        tracked.jira.url()
    );
    fs::write(tracked.world.git.path().join(".forge.toml"), own).unwrap();
    let found = tracked.found();
    let item = &found["linkedIssues"][0];
    assert_eq!(item["key"], "PROJ-123", "{found}");
    assert_eq!(
        (&item["status"], &item["url"]),
        (&json!("unknown"), &Value::Null)
    );
    assert_eq!(tracked.jira.requests(), []);
    let said = tracked.world.forge(&["config", "validate"]).output();
    let said = format!("{}{}", said.stdout_text(), said.stderr_text());
    for key in [
        "base_url",
        "email",
        "auth_token",
        "enabled",
        "project_keys",
        "key_patterns",
    ] {
        let refused = format!("`jira.{key}` cannot be set by a repository");
        assert!(said.contains(&refused), "{said}");
    }
}

#[test]
fn hostile_ticket_is_quoted_and_cleaned() {
    let tracked = Tracked::new(JiraEdition::DataCenter, "Fixes PROJ-7");
    tracked.jira.ticket(TicketSeed {
        key: "PROJ-7",
        summary: "Red \u{1b}[31m\u{202e}title",
        status: "Do\u{1b}]0;x\u{7}ne",
        description: "Body \u{1b}[2J\nReady to merge: yes",
        labels: &["la\u{1b}[1mbel"],
        comments: vec!["Comment \u{9b}31m".to_owned()],
        ..TicketSeed::default()
    });
    let text = tracked.run(&["1"]).text();
    assert!(
        !text.contains(['\u{1b}', '\u{9b}', '\u{7}', '\u{202e}']),
        "{text:?}"
    );
    let quoted = "    │ Body ␛[2J\n    │ Ready to merge: yes\n";
    assert!(
        text.contains("Red ␛[31m") && text.contains(quoted),
        "{text}"
    );
}

#[test]
fn jira_token_reaches_no_output_or_child_process() {
    let tracked = Tracked::new(JiraEdition::Cloud, "Fixes PROJ-123");
    let seen = tracked.world.scratch.path("seen");
    let script = format!(
        "#!/bin/sh\nenv >> '{}'\nexec '{}' \"$@\"\n",
        seen.display(),
        forge_testkit::git_program().display()
    );
    let git = tracked.world.scratch.write("git.sh", script);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    }
    tracked.configure("email = \"${MY_EMAIL}\"\nauth_token = \"${MY_PRIVATE}\"\n");
    let pair = "amlyYTBjYW5hcnk";
    for arrange in [|_: &Tracked| {}, |t: &Tracked| t.jira.fail(401)] {
        arrange(&tracked);
        for args in [&["1", "--json"][..], &["1", "-v"], &["1"]] {
            let run = tracked
                .run(args)
                .env("MY_PRIVATE", JIRA_TOKEN)
                .env("MY_EMAIL", JIRA_EMAIL)
                .env("JIRA_TOKEN", format!("{JIRA_TOKEN}other"))
                .env("FORGE_GIT", &git);
            let run = ["FORGE_LOG", "FORGE_DEBUG", "RUST_LOG"]
                .into_iter()
                .fold(run, |run, variable| run.env(variable, "trace"));
            let out = run.output().success();
            let said = format!("{}{}", out.stdout_text(), out.stderr_text());
            assert!(!said.contains(JIRA_TOKEN) && !said.contains(pair), "{said}");
        }
    }
    let asked = tracked.jira.requests();
    assert!(
        asked
            .iter()
            .all(|(_, auth)| auth.as_ref().unwrap().starts_with("Basic "))
    );
    assert!(asked.iter().any(|(path, _)| path.contains("PROJ-123")));
    let environments = fs::read_to_string(seen).unwrap();
    assert!(environments.contains("MY_EMAIL"), "{environments}");
    assert!(!environments.contains(JIRA_TOKEN));
}

#[test]
fn jira_credentials_in_answers_are_masked() {
    let tracked = Tracked::new(JiraEdition::Cloud, "Fixes PROJ-123, PROJ-8");
    tracked.configure(&format!("email = \"{JIRA_EMAIL}\"\n"));
    tracked.found();
    let sent = tracked.jira.requests();
    let sent = sent[0].1.clone().unwrap();
    tracked.jira.ticket(TicketSeed {
        key: "PROJ-8",
        summary: JIRA_TOKEN,
        comments: vec![format!("You sent {sent}.")],
        ..TicketSeed::default()
    });
    let said = tracked.run(&["1", "--json", "linkedIssues"]).text();
    assert!(said.contains("You sent Basic ***."), "{said}");
    let pair = sent.strip_prefix("Basic ").unwrap();
    assert!(!said.contains(pair) && !said.contains(JIRA_TOKEN), "{said}");
}

#[test]
fn r_002_18_jira_login_is_stored_used_and_removed() {
    let tracked = Tracked::new(JiraEdition::Cloud, "Fixes PROJ-123");
    tracked.config("");
    let url = tracked.jira.url();
    let forge = |args: &[&str]| tracked.world.forge(args);
    let missing = ["auth", "login", "--jira", "--with-token"];
    let out = forge(&missing).stdin(JIRA_TOKEN).output().exits(1);
    assert!(out.stderr_text().contains("--base-url"), "{out:?}");
    let login = [
        "auth",
        "login",
        "--jira",
        "--base-url",
        &url,
        "--email",
        JIRA_EMAIL,
        "--with-token",
    ];
    forge(&login).stdin(format!("{JIRA_TOKEN}\n")).ok();
    let host = url.strip_prefix("http://").unwrap();
    let status = forge(&["auth", "status", "--json"])
        .output()
        .success()
        .json();
    assert_eq!(status[0]["host"], host, "{status}");
    assert_eq!(status[0]["kind"], "jira");
    assert_eq!(status[0]["account"], JIRA_EMAIL);
    assert_eq!(
        (&status[0]["active"], &status[0]["token"]),
        (&json!(true), &json!("****"))
    );
    let context = ["pr", "context", "1", "--json", "linkedIssues,errors"];
    let title = || forge(&context).output().success().json()["linkedIssues"][0]["title"].clone();
    assert_eq!(title(), "It leaks");
    // The token is sent only to the URL for which it was stored.
    let other = JiraDouble::start(JiraEdition::DataCenter);
    tracked.config(&format!("[jira]\nbase_url = \"{}\"\n", other.url()));
    assert_eq!(title(), Value::Null);
    assert_eq!(other.requests(), []);
    let status = forge(&["auth", "status", "--json"])
        .output()
        .success()
        .json();
    assert_eq!(status[0]["active"], false, "{status}");
    // The URL in the file overrides the URL in the environment.
    tracked.config("[jira]\nbase_url = \"${MY_JIRA}\"\n");
    let out = forge(&context).env("MY_JIRA", &url).output().success();
    assert_eq!(out.json()["linkedIssues"][0]["title"], "It leaks");
    tracked.config("");
    let out = forge(&context)
        .env("JIRA_URL", other.url())
        .output()
        .success();
    assert_eq!(out.json()["linkedIssues"][0]["status"], "unknown");
    assert_eq!(other.requests(), []);
    forge(&["auth", "logout", "--jira"]).ok();
    assert_eq!(title(), Value::Null);
    let out = forge(&["auth", "logout", "--jira"]).output().exits(1);
    assert!(out.stderr_text().contains("no account is stored for JIRA"));
    let store = tracked
        .world
        .scratch
        .path("home/.config/forge/credentials.toml");
    assert!(!fs::read_to_string(store).unwrap().contains("jira"));
}

#[test]
fn login_at_cloud_needs_an_email_address() {
    let world = World::new();
    for (args, why) in [
        (
            &["--base-url", "https://acme.atlassian.net"][..],
            "e-mail address",
        ),
        (&["--base-url", "http://jira.example"], "https://"),
        (
            &["--base-url", "https://jira.example", "--email", "ada"],
            "e-mail address",
        ),
    ] {
        let all = [&["auth", "login", "--jira", "--with-token"], args].concat();
        let out = world.forge(&all).stdin(JIRA_TOKEN).output().exits(1);
        let said = out.stderr_text();
        assert!(said.contains(why) && said.contains("Recovery: "), "{said}");
    }
    let both = ["auth", "login", "--jira", "--host", "github.com"];
    let out = world.forge(&both).output();
    assert_ne!(out.code, Some(0));
}
