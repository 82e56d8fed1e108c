//! Tests faults of GitHub as a user sees them. For each write and each fault, the tables list the
//! exit code, the printed text, the number of requests, and the server's state afterwards.

use std::fmt::Write as _;

use forge_github_double::{Action, Fault, state::Reviewer};

use crate::hub::{Hub, REPO};

/// A reset time of the rate limit that is too late for a command to wait for, in the year 2100.
const FAR: i64 = 4_102_444_800;

/// Returns the hourly rate limit as an error in a GraphQL response.
fn rate_limit_in_body() -> Fault {
    let reset = FAR.to_string();
    let headers = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", &reset),
    ];
    let body = r#"{"errors":[{"type":"RATE_LIMITED","message":"API rate limit already exceeded for user ID 1."}]}"#;
    Fault::answer(200, &headers, body)
}

/// Returns faults by name. Most faults appear twice: one acts before the server executes the write,
/// and one after.
fn faults() -> Vec<(&'static str, Fault)> {
    let on = |fault: Fault| fault.on_mutations();
    vec![
        ("502 before it ran", on(Fault::status(502))),
        ("502 after it ran", on(Fault::status(502).committed())),
        ("504 after it ran", on(Fault::status(504).committed())),
        ("reset before it ran", on(Fault::new(Action::Reset))),
        (
            "reset after it ran",
            on(Fault::new(Action::Reset).committed()),
        ),
        (
            "cut off after it ran",
            on(Fault::new(Action::Truncate(9)).committed()),
        ),
        (
            "no JSON after it ran",
            on(Fault::new(Action::Malformed).committed()),
        ),
        ("500 after it ran", on(Fault::status(500).committed())),
        (
            "rate limited in the body",
            on(rate_limit_in_body().always()),
        ),
        (
            "out of points for the hour",
            on(Fault::exhausted(FAR).always()),
        ),
        (
            "too fast, wait an hour",
            on(Fault::secondary(403, Some(3600)).always()),
        ),
        (
            "single sign-on",
            on(Fault::sso("https://github.com/orgs/octo/sso?x=1")),
        ),
        ("token refused", on(Fault::status(401).always())),
        ("502 on the first read", Fault::status(502)),
    ]
}

/// Returns [`faults`], and faults that act on the second write of a command with two writes.
fn faults_of_two_writes() -> Vec<(&'static str, Fault)> {
    let second = |fault: Fault| fault.on_mutations().skip(1);
    let mut all = faults();
    all.extend([
        ("502 before the second ran", second(Fault::status(502))),
        (
            "502 after the second ran",
            second(Fault::status(502).committed()),
        ),
        (
            "reset after the second ran",
            second(Fault::new(Action::Reset).committed()),
        ),
        (
            "too fast for the second, wait an hour",
            second(Fault::secondary(403, Some(3600)).always()),
        ),
    ]);
    all
}

/// The objects that a write has created on the server.
struct Made {
    /// Number of objects.
    count: usize,
    /// Labels, reviewers and threads of the object.
    has: Vec<String>,
}

/// Runs `args` under every fault, each on a new server, and returns the table. `made` counts the
/// created objects.
fn table(args: &[&str], made: impl Fn(&Hub) -> usize) -> String {
    let made = |hub: &Hub| Made {
        count: made(hub),
        has: vec![],
    };
    table_of(args, faults(), &[], made)
}

/// Runs as [`table`] does, for objects with details. If stderr is empty, the object must have all
/// `details`.
fn table_of(
    args: &[&str],
    faults: Vec<(&str, Fault)>,
    details: &[&str],
    made: impl Fn(&Hub) -> Made,
) -> String {
    let mut text = String::new();
    for (name, fault) in faults {
        let hub = Hub::with_pull();
        // The first read makes GitHub compute mergeability, so that no later read has to wait for
        // the result.
        hub.forge(&["pr", "view", "1", "--json", "mergeable", "-R", REPO])
            .ok();
        hub.double.reset_record();
        hub.double.fault(fault);
        let out = hub.forge(args).args(["-R", REPO]).output();
        let sent = hub.double.counts().api;
        let Made { count, has } = made(&hub);
        assert!(count <= 1, "{name}: {count} were made\n{out:?}");
        // If the exit code is 0, the object must exist.
        assert!(out.code != Some(0) || count == 1, "{name}: {out:?}");
        let silent = out.code == Some(0) && out.stderr.is_empty();
        assert!(!silent || has == details, "{name}: {has:?}\n{out:?}");
        assert!(sent <= 12, "{name}: {sent} requests\n{out:?}");
        let code = out.code.unwrap();
        let _ = write!(
            text,
            "## {name}: exit {code}, {sent} requests, {count} made"
        );
        if !has.is_empty() {
            let _ = write!(text, " with {}", has.join(", "));
        }
        text.push('\n');
        text.push_str(&out.stdout_text());
        for line in out.stderr_text().lines() {
            // The printed waiting time depends on the clock.
            let wait = line.strip_prefix("Recovery: try again in ");
            let line = wait.map_or(line, |_| "Recovery: try again in … s (at …)");
            text.push_str(line);
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

#[test]
fn create_result_under_each_fault_is_known() {
    let args = ["pr", "create", "-H", "feature", "-t", "Title", "-b", "Body"];
    insta::assert_snapshot!(table(&args, |hub| hub.double.seed().pulls_of(REPO).len() - 1));
}

/// Returns the labels and the reviewers of a pull request.
fn labels_and_reviewers(hub: &Hub, number: u64) -> Vec<String> {
    let seed = hub.double.seed();
    let pull = seed.pull_of(REPO, number);
    let labels = pull.labels.iter().filter_map(|id| seed.labels.get(id));
    let reviewers = pull.requested.iter().map(|who| match who {
        Reviewer::Account(id) => seed.accounts.get(id).map(|a| a.login.clone()),
        Reviewer::Team(id) => seed.teams.get(id).map(|t| t.slug.clone()),
    });
    let labels = labels.map(|label| label.name.clone());
    labels.chain(reviewers.flatten()).collect()
}

#[test]
fn create_with_label_result_under_each_fault_is_known() {
    let args = [
        "pr", "create", "-H", "feature", "-t", "Title", "-b", "Body", "-l", "bug", "-r", "grace",
    ];
    let made = |hub: &Hub| {
        let count = hub.double.seed().pulls_of(REPO).len() - 1;
        let has = if count > 0 {
            labels_and_reviewers(hub, 2)
        } else {
            vec![]
        };
        Made { count, has }
    };
    insta::assert_snapshot!(table_of(
        &args,
        faults_of_two_writes(),
        &["bug", "grace"],
        made
    ));
}

#[test]
fn comment_result_under_each_fault_is_known() {
    let args = ["pr", "comment", "1", "-b", "Said."];
    insta::assert_snapshot!(table(&args, |hub| hub
        .double
        .seed()
        .comments_of(REPO, 1)
        .len()));
}

#[test]
fn review_result_under_each_fault_is_known() {
    let args = ["pr", "review", "1", "--approve", "-b", "Good."];
    insta::assert_snapshot!(table(&args, |hub| hub
        .double
        .seed()
        .reviews_of(REPO, 1)
        .len()));
}

#[test]
fn review_with_threads_result_under_each_fault_is_known() {
    let args = [
        "pr",
        "review",
        "1",
        "--approve",
        "-b",
        "Good.",
        "--line",
        "work.txt:1=Why?",
        "--line",
        "work.txt:1=Really?",
    ];
    let made = |hub: &Hub| {
        let seed = hub.double.seed();
        let details = seed.threads.values().map(|t| t.path.clone());
        Made {
            count: seed.reviews_of(REPO, 1).len(),
            has: details.collect(),
        }
    };
    insta::assert_snapshot!(table_of(&args, faults(), &["work.txt", "work.txt"], made));
}

#[test]
fn edit_result_under_each_fault_is_known() {
    let args = ["pr", "edit", "1", "-t", "New"];
    insta::assert_snapshot!(table(&args, |hub| {
        usize::from(hub.double.seed().pull_of(REPO, 1).title == "New")
    }));
}

#[test]
fn label_edit_result_under_each_fault_is_known() {
    let args = [
        "pr",
        "edit",
        "1",
        "--add-label",
        "bug",
        "--add-reviewer",
        "octo/core",
    ];
    let made = |hub: &Hub| {
        let has = labels_and_reviewers(hub, 1);
        Made {
            count: usize::from(!has.is_empty()),
            has,
        }
    };
    insta::assert_snapshot!(table_of(&args, faults(), &["bug", "core"], made));
}

#[test]
fn merge_result_under_each_fault_is_known() {
    let args = ["pr", "merge", "1", "--squash"];
    insta::assert_snapshot!(table(&args, |hub| {
        let seed = hub.double.seed();
        usize::from(format!("{:?}", seed.pull_of(REPO, 1).state) == "Merged")
    }));
}
