//! Tests the verdict if the forge's answers are incomplete, or if an approval or a check does not
//! count. The verdict must not report the affected requirement as met.

use forge_github_double::{
    Fault,
    state::{Permission, Protection, ReviewState, Rule, Ruleset},
};
use serde_json::{Value, json};

use crate::hub::{Hub, REPO};

/// Creates a pull request that Ada has approved, with one passed check.
fn green() -> Hub {
    let hub = Hub::with_pull();
    {
        let mut seed = hub.double.seed();
        seed.lag = 0;
        seed.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
        seed.check(REPO, 1, "CI", "build", "SUCCESS");
    }
    hub
}

fn verdict(hub: &Hub) -> Value {
    let args = ["pr", "context", "1", "-R", REPO, "--json", "verdict"];
    let found = hub.forge(&args).output().success().json();
    found["verdict"].clone()
}

fn requirement<'a>(verdict: &'a Value, rule: &str) -> &'a Value {
    let all = verdict["requirements"].as_array().unwrap();
    all.iter().find(|r| r["rule"] == rule).unwrap()
}

fn fail_further_pages(hub: &Hub) {
    let fault = Fault::status(502).on_operation("PullMore");
    hub.double.fault(fault.always());
}

fn ruleset(kind: &str, parameters: Value) -> Ruleset {
    Ruleset {
        name: "main rules".to_owned(),
        include: vec!["~DEFAULT_BRANCH".to_owned()],
        rules: vec![Rule {
            kind: kind.to_owned(),
            parameters,
        }],
        ..Ruleset::default()
    }
}

#[test]
fn unread_page_of_threads_makes_requirement_unknown() {
    let hub = green();
    {
        let mut seed = hub.double.seed();
        let ada = seed.find_account("ada");
        for n in 0..101 {
            let thread = seed.thread(REPO, 1, "linus", "work.txt");
            if n < 100 {
                seed.threads.get_mut(&thread).unwrap().resolved_by = Some(ada);
            }
        }
    }
    assert_eq!(verdict(&hub)["readyToMerge"], false);
    fail_further_pages(&hub);
    let found = verdict(&hub);
    assert_eq!(found["readyToMerge"], Value::Null, "{found}");
    assert_eq!(requirement(&found, "threads_resolved")["status"], "unknown");
}

#[test]
fn unread_page_of_reviews_makes_requirement_unknown() {
    let hub = green();
    {
        let mut seed = hub.double.seed();
        for n in 0..101 {
            let login = format!("user{n}");
            seed.collaborator(REPO, &login, Permission::Write);
            let says = match n {
                100 => ReviewState::ChangesRequested,
                _ => ReviewState::Approved,
            };
            seed.review(REPO, 1, &login, says, "Read.");
        }
    }
    assert_eq!(verdict(&hub)["readyToMerge"], false);
    fail_further_pages(&hub);
    let found = verdict(&hub);
    assert_eq!(found["readyToMerge"], Value::Null, "{found}");
    for rule in ["no_changes_requested", "approved"] {
        assert_eq!(requirement(&found, rule)["status"], "unknown", "{rule}");
    }
}

#[test]
fn unread_rulesets_make_merge_queue_verdict_unknown() {
    let hub = green();
    {
        let mut seed = hub.double.seed();
        let queue = Protection {
            merge_queue: true,
            ..Protection::default()
        };
        seed.protect(REPO, "main", queue);
        let wanted = json!({ "required_deployment_environments": ["staging"] });
        seed.ruleset(REPO, ruleset("required_deployments", wanted));
    }
    let path = "/repos/octo/tools/rules/branches/main";
    hub.double.fault(Fault::status(404).on_path(path));
    let found = verdict(&hub);
    assert_eq!(found["readyToMerge"], Value::Null, "{found}");
    let blocked = requirement(&found, "not_blocked");
    assert_eq!(blocked["status"], "unknown");
    assert_eq!(
        blocked["evidence"],
        "the forge says BLOCKED, and these rules of main could not be read: rulesets"
    );
}

#[test]
fn approval_without_write_access_does_not_count() {
    let hub = green();
    {
        let mut seed = hub.double.seed();
        seed.reviews.clear();
        seed.review(REPO, 1, "eve", ReviewState::Approved, "Good.");
    }
    let found = verdict(&hub);
    assert_eq!(found["readyToMerge"], false, "{found}");
    let approved = requirement(&found, "approved");
    assert_eq!(approved["status"], "unmet");
    assert_eq!(
        approved["evidence"],
        "1 approval(s), none by an account with push access"
    );
}

#[test]
fn status_does_not_satisfy_app_check() {
    let hub = green();
    {
        let mut seed = hub.double.seed();
        let checks = json!([{ "context": "lint", "integration_id": 15_368 }]);
        let wanted = json!({ "required_status_checks": checks });
        seed.ruleset(REPO, ruleset("required_status_checks", wanted));
        seed.status(REPO, 1, "lint", "SUCCESS");
    }
    let found = verdict(&hub);
    assert_ne!(found["readyToMerge"], true, "{found}");
    let reported = requirement(&found, "checks_reported");
    assert_eq!(reported["status"], "unknown");
    assert_eq!(
        reported["evidence"],
        "1 check(s) must be reported by an app, and the app that reported them is not known (a \
         commit status names none): lint"
    );
}

#[test]
fn check_of_another_app_does_not_satisfy_protection() {
    let hub = green();
    {
        let mut seed = hub.double.seed();
        let wanted = Protection {
            checks: ["lint".to_owned()].into(),
            apps: [("lint".to_owned(), 15_368)].into(),
            ..Protection::default()
        };
        seed.protect(REPO, "main", wanted);
        seed.check_of(REPO, 1, ("other-ci", None), "lint", "SUCCESS");
    }
    let found = verdict(&hub);
    let reported = requirement(&found, "checks_reported");
    assert_eq!(reported["status"], "unmet", "{found}");
    assert_eq!(reported["source"], "branch_protection");
    assert_eq!(
        reported["evidence"],
        "1 not reported: lint (another app reported it)"
    );
    hub.double.seed().check(REPO, 1, "CI", "lint", "SUCCESS");
    assert_eq!(verdict(&hub)["readyToMerge"], true);
}
