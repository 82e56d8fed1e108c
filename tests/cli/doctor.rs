//! Tests the report of `forge doctor` and its requests. The command writes nothing, and prints no
//! credential.

use forge_github_double::{Fault, Recorded};
use forge_testkit::Output;

use crate::{
    hub::{Hub, REPO, TOKEN},
    world::{World, rows},
};

impl Hub {
    /// Runs `doctor --live` and returns its report. Asserts that the command sent only reads and
    /// printed no token.
    #[track_caller]
    fn doctor(&self, code: i32) -> String {
        self.double.reset_record();
        let args = ["doctor", "--live", "-R", REPO];
        let output = self.forge(&args).output().exits(code);
        let sent = self.double.requests();
        let reads = |it: &Recorded| {
            let is_query = it.path.ends_with("/graphql") && !it.mutation;
            is_query || it.method == "GET"
        };
        assert!(sent.iter().all(reads), "{sent:?}");
        assert!(!sent.is_empty());
        without_token(&output);
        output.stdout_text()
    }
}

#[track_caller]
fn without_token(output: &Output) {
    let said = format!("{}{}", output.stdout_text(), output.stderr_text());
    assert!(!said.contains(TOKEN) && !said.contains("canary"), "{said}");
}

/// Returns verdict and detail of the entry `name` in the report.
#[track_caller]
fn entry<'a>(report: &'a str, name: &str) -> (&'a str, &'a str) {
    let rows = rows(report);
    let row = rows.iter().find(|row| row.get(1) == Some(&name));
    let row = row.unwrap_or_else(|| panic!("{name}: {report}"));
    (row[0], row[2])
}

#[test]
fn doctor_without_live_sends_nothing() {
    let hub = Hub::with_pull();
    let output = hub.forge(&["doctor", "-R", REPO]).output().success();
    assert_eq!(hub.double.counts().api, 0);
    without_token(&output);
    let report = output.stdout_text();
    for part in [
        format!("forge:\t{}\n", env!("CARGO_PKG_VERSION")),
        "git:\tgit version ".to_owned(),
        "from GH_TOKEN\n".to_owned(),
        format!("repository:\tgithub:github.localhost/{REPO}\n"),
    ] {
        assert!(report.contains(&part), "{part}: {report}");
    }
    assert_eq!(entry(&report, "pr.list"), ("skipped", "not asked"));
    assert_eq!(entry(&report, "GraphQL schema"), ("skipped", "not asked"));
}

#[test]
fn doctor_report_of_healthy_github_is_ok() {
    let hub = Hub::with_pull();
    let report = hub.doctor(0);
    for line in report.lines() {
        assert!(!line.starts_with("differs"), "{report}");
        assert!(!line.starts_with("unreachable"), "{report}");
    }
    for name in ["viewer", "pr.list", "pr.view", "GraphQL schema"] {
        assert_eq!(entry(&report, name).0, "ok", "{report}");
    }
    let rules = "GET /repos/{owner}/{repo}/rules/branches/{branch}";
    assert_eq!(entry(&report, rules), ("ok", "HTTP 200"));
    let protection = "GET /repos/{owner}/{repo}/branches/{branch}/protection";
    assert_eq!(entry(&report, protection), ("ok", "HTTP 404"));
}

#[test]
fn doctor_lists_fields_missing_from_schema() {
    let hub = Hub::with_pull();
    for (on, field) in [
        ("PullRequest", "isDraft"),
        ("BranchProtectionRule", "lockBranch"),
        ("Mutation", "mergePullRequest"),
    ] {
        let hidden = (on.to_owned(), field.to_owned());
        hub.double.seed().hidden_fields.insert(hidden);
    }
    let report = hub.doctor(1);
    let lacks = "lacks BranchProtectionRule.lockBranch, Mutation.mergePullRequest, \
                 PullRequest.isDraft";
    assert_eq!(entry(&report, "GraphQL schema"), ("differs", lacks));
}

#[test]
fn doctor_distinguishes_wrong_from_missing_answers() {
    let hub = Hub::with_pull();
    let json = [("content-type", "application/json")];
    let rules = format!("/repos/{REPO}/rules");
    let other = Fault::answer(200, &json, r#"{"rules": []}"#).on_path(&rules);
    hub.double.fault(other.always());
    let broken = Fault::status(500).on_operation("Labels").always();
    hub.double.fault(broken);
    let report = hub.doctor(1);
    let rules = "GET /repos/{owner}/{repo}/rules/branches/{branch}";
    assert_eq!(entry(&report, rules).0, "differs");
    assert_eq!(entry(&report, "label.list").0, "unreachable");
}

/// Users show the report to other people, so it must not contain the token.
#[test]
fn doctor_masks_token_in_an_answer() {
    let hub = Hub::with_pull();
    let json = [("content-type", "application/json")];
    let body = format!(r#"{{"message": "no rules for {TOKEN}"}}"#);
    let echo = Fault::answer(400, &json, body).on_path(&format!("/repos/{REPO}/rules"));
    hub.double.fault(echo.always());
    // `doctor` also asserts that the token is not printed.
    let report = hub.doctor(1);
    let rules = "GET /repos/{owner}/{repo}/rules/branches/{branch}";
    let (verdict, detail) = entry(&report, rules);
    assert_eq!(verdict, "unreachable", "{report}");
    assert!(detail.contains("no rules for "), "{report}");
}

#[test]
fn doctor_report_has_a_json_form() {
    let hub = Hub::with_pull();
    let args = ["doctor", "-R", REPO, "--json"];
    let output = hub.forge(&args).output().success();
    without_token(&output);
    let report = output.json();
    let keys: Vec<&String> = report.as_object().unwrap().keys().collect();
    let fields = [
        "accounts",
        "checks",
        "configFiles",
        "gitVersion",
        "repository",
        "version",
    ];
    assert_eq!(keys, fields);
    let account = &report["accounts"][0];
    assert_eq!(account["source"], "GH_TOKEN", "{report}");
    assert!(account.get("token").is_none(), "{report}");
    assert_eq!(report["checks"][0]["verdict"], "skipped");
}

#[test]
fn doctor_reports_whether_local_repository_exists() {
    let world = World::with_pull();
    let report = world.forge(&["doctor", "--live"]).text();
    assert_eq!(entry(&report, "pr.view").0, "ok", "{report}");
    let outside = world.scratch.path("home");
    let report = world.forge(&["doctor"]).dir(&outside).text();
    assert!(report.contains("repository:\tnone: "), "{report}");
    let refused = world.forge(&["doctor", "--live"]).dir(&outside).output();
    assert_eq!(refused.code, Some(1), "{refused:?}");
}
