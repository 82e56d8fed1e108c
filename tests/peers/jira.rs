//! Compares the tickets that `forge` and the Python package `jira` 3.10.5 read from the JIRA
//! doubles.
//!
//! `FORGE_JIRA_PYTHON` names a Python that has the package. Without it, the test is skipped.

use std::path::PathBuf;

use forge_jira_double::{JIRA_EMAIL, JIRA_TOKEN, JiraDouble, JiraEdition, TicketSeed};
use forge_testkit::{Identity, Run, Scratch, workspace_root};
use serde_json::{Value, json};

#[test]
fn r_002_8_tickets_match_the_python_client() {
    let Some(python) = std::env::var_os("FORGE_JIRA_PYTHON").map(PathBuf::from) else {
        eprintln!("FORGE_JIRA_PYTHON is not set: there is no other client of JIRA");
        return;
    };
    for edition in [JiraEdition::Cloud, JiraEdition::DataCenter] {
        let jira = JiraDouble::start(edition);
        jira.ticket(TicketSeed {
            description: "One.\nTwo: ünï.",
            comments: (0..3).map(|n| format!("Comment {n}")).collect(),
            ..TicketSeed::default()
        });
        let email = (edition == JiraEdition::Cloud).then_some(JIRA_EMAIL);
        let theirs = |key: &str| client(&python, &jira, key, email);
        let ours = linked(&jira, email);
        let (theirs, missing) = (theirs("PROJ-123"), theirs("PROJ-999"));
        assert_eq!(missing["status_code"], 404, "{missing}");
        // The list contains only the ticket that exists.
        assert_eq!(ours.as_array().unwrap().len(), 1, "{ours}");
        let ours = &ours[0];
        for field in ["key", "title", "statusName", "labels", "body", "url"] {
            assert_eq!(ours[field], theirs[field], "{edition:?} {field}");
        }
        assert_eq!(theirs["cloud"], edition == JiraEdition::Cloud);
        let is_done = theirs["category"] == "done";
        assert_eq!(ours["status"] == "closed", is_done);
        let of = |c: &Value| json!([c["id"], "Grace Hopper", c["body"]]);
        let comments: Vec<Value> = ours["comments"]
            .as_array()
            .unwrap()
            .iter()
            .map(of)
            .collect();
        assert_eq!(json!(comments), theirs["comments"], "{edition:?}");
    }
}

fn client(python: &PathBuf, jira: &JiraDouble, key: &str, email: Option<&str>) -> Value {
    let script = workspace_root().join("tests/peers/jira_client.py");
    let run = Run::new(python, std::env::temp_dir())
        .arg(script)
        .args([jira.url().as_str(), key])
        .args(email)
        .env("JIRA_PEER_TOKEN", JIRA_TOKEN);
    run.output().success().json()
}

/// Returns the linked issues of a pull request that names two tickets.
fn linked(jira: &JiraDouble, email: Option<&str>) -> Value {
    let scratch = Scratch::new();
    let git = scratch.repository("repo");
    git.commit("work", "Work", &[("work.txt", Some("x\n"))]);
    let email = email.map_or(String::new(), |email| format!("email = \"{email}\"\n"));
    let config = format!("[jira]\nbase_url = \"{}\"\n{email}", jira.url());
    scratch.write("home/.config/forge/config.toml", config);
    let forge = |args: &[&str]| {
        let run = scratch.forge(git.path(), &Identity::ADA).args(args);
        run.env("JIRA_TOKEN", JIRA_TOKEN).output().success()
    };
    let body = "Fixes PROJ-123, see PROJ-999.";
    let created = forge(&["pr", "create", "-H", "work", "-t", "T", "-b", body]);
    assert!(!created.stdout.is_empty());
    let found = forge(&["pr", "context", "1", "--json", "linkedIssues"]).json();
    found["linkedIssues"].clone()
}
