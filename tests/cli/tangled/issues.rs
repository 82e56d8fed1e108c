//! Tests `forge issue` on tangled.

use std::time::Duration;

use forge_tangled_world::{Fault, Moods};
use serde_json::json;

use super::world::{Tangled, WIDGET};
use crate::world::rows;

#[test]
fn list_requests_issue_details_concurrently() {
    const ISSUE: &str = "sh.tangled.repo.issue";
    let t = Tangled::new();
    let (pds, index) = (t.world.pds(), t.world.index().host());
    for title in ["1", "2", "3", "4"] {
        let issue = json!({
            "repo": t.repo.did, "title": title, "createdAt": "2026-11-01T00:00:00Z",
        });
        pds.add(&t.alice.did, ISSUE, issue);
    }
    let list = ["issue", "list", "-R", WIDGET];
    let slow = |method: &str| {
        Fault::delayed(Duration::from_millis(300))
            .on(method)
            .always()
    };
    // At first, each view sends the PDS one request, which reads the record.
    pds.host()
        .fault(slow("com.atproto.repo.getRecord").about(ISSUE));
    pds.host().reset_record();
    t.forge(&t.alice, &[&list[..], &["--json", "labels"]].concat())
        .ok();
    assert!(
        pds.host().most_at_once() > 3,
        "{}",
        pds.host().most_at_once()
    );

    index.fault(slow("sh.tangled.label.listOps"));
    index.reset_record();
    t.forge(&t.alice, &[&list[..], &["--label", "bug"]].concat())
        .ok();
    assert!(index.most_at_once() > 3, "{}", index.most_at_once());
}

#[test]
fn closing_pulls_of_issues_need_no_links() {
    let t = Tangled::new();
    let create = ["issue", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
    t.forge(&t.alice, &create).ok();
    let field = "closedByPullRequestsReferences";
    let list = ["issue", "list", "-R", WIDGET, "--json", field];
    let output = t.forge(&t.alice, &list).output().success();
    assert_eq!(output.json(), json!([{field: []}]));
    let said = output.stderr_text();
    assert!(
        !said.contains("that mention this pull request or issue are unknown"),
        "{said}"
    );
}

#[test]
fn comment_on_already_closed_issue_is_made_once() {
    let t = Tangled::new();
    let create = ["issue", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
    t.forge(&t.alice, &create).ok();
    let issues = t.world.pds().records(&t.alice.did, "sh.tangled.repo.issue");
    let uri = issues[0].0.as_str();
    t.forge(&t.alice, &["issue", "close", uri]).ok();
    let again = ["issue", "close", uri, "-c", "Why."];
    for made in [true, false] {
        let said = t.forge(&t.alice, &again).output().exits(0).stderr_text();
        assert!(said.contains("is already closed"), "{said}");
        assert_eq!(said.contains("additionally done: comment"), made, "{said}");
        let comments = t.world.pds();
        let comments = comments.records(&t.alice.did, "sh.tangled.feed.comment");
        assert_eq!(comments.len(), 1);
    }
}

#[test]
fn tangled_issue_has_history_until_deletion() {
    let t = Tangled::new();
    let create = ["issue", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
    let uri = t.forge(&t.alice, &create).text();
    let uri = uri.trim();
    t.forge(&t.bob, &["issue", "close", uri]).ok();
    t.forge(&t.alice, &["issue", "reopen", uri]).ok();
    let history = t.forge(&t.alice, &["issue", "history", uri]).text();
    let rows = rows(&history);
    let events: Vec<_> = rows.iter().map(|row| (row[1], row[2])).collect();
    assert_eq!(
        events,
        [
            ("opened", "alice.test"),
            ("closed", "bob.test"),
            ("reopened", "alice.test"),
        ]
    );
    let delete = ["issue", "delete", uri, "--yes"];
    let gone = t.forge(&t.alice, &delete).output().success();
    let _ = gone
        .says("Deleted issue")
        .says("the comments, states and labels of the issue");
    let issues = t.world.pds().records(&t.alice.did, "sh.tangled.repo.issue");
    assert!(issues.is_empty());
    for reads in ["view", "history"] {
        let lost = t.forge(&t.alice, &["issue", reads, uri]).output().exits(1);
        let _ = lost.says("Recovery: ");
    }
}

/// The index does not ingest the record that closes the issue.
#[test]
fn workflow_move_missing_from_index_is_a_failure() {
    let t = Tangled::new();
    let config = "[workflow]\nstore = \"fields\"\n";
    t.scratch.write("home/.config/forge/config.toml", config);
    let on = |args: &[&str]| t.forge(&t.alice, &[args, &["-R", WIDGET]].concat());
    on(&["workflow", "init"]).ok();
    let uri = on(&["issue", "create", "-t", "T", "-b", "B"]).text();
    let uri = uri.trim();
    on(&["workflow", "set-state", uri, "Backlog", "-c", "split"]).ok();
    let old = format!("{config}[hosts.\"tangled.org\"]\nindex_date = \"2026-06\"\n");
    t.scratch.write("home/.config/forge/config.toml", old);
    t.world.index().set_moods(Moods {
        statuses: false,
        ..Moods::default()
    });
    let cancel = ["workflow", "set-state", uri, "__CANCEL__", "-c", "triage"];
    let output = on(&[&cancel[..], &["--json"]].concat()).output().exits(1);
    assert_eq!(output.json()["moved"], false);
    let said = output.stderr_text();
    assert!(said.contains("pds_only: the PDS has the record"), "{said}");
    assert!(
        said.contains("did not move: its record is stored"),
        "{said}"
    );
}

/// The index does not ingest the comment that renews the claim.
#[test]
fn heartbeat_missing_from_index_prints_no_claim() {
    let t = Tangled::new();
    let config = "[workflow]\nstore = \"fields\"\n";
    t.scratch.write("home/.config/forge/config.toml", config);
    let on = |args: &[&str]| t.forge(&t.alice, &[args, &["-R", WIDGET]].concat());
    on(&["workflow", "init"]).ok();
    let uri = on(&["issue", "create", "-t", "T", "-b", "B"]).text();
    let uri = uri.trim();
    let to = ["workflow", "set-state", uri, "Research Needed"];
    on(&[&to[..], &["-c", "triage"]].concat()).ok();
    let claim = ["workflow", "claim", uri, "-c", "research", "--json"];
    let claim = on(&claim).output().success().json();
    let claim = claim["claim"]["id"].as_str().unwrap();
    let old = format!("{config}[hosts.\"tangled.org\"]\nindex_date = \"2026-05\"\n");
    t.scratch.write("home/.config/forge/config.toml", old);
    let beat = ["workflow", "heartbeat", uri, "--claim", claim];
    let output = on(&beat).output().exits(1);
    assert_eq!(output.stdout_text(), "");
    let said = output.stderr_text();
    assert!(said.contains("is not renewed"), "{said}");
}

/// The view, its JSON and the question before a merge name the same issues.
#[test]
fn closing_issues_are_the_same_in_view_and_json() {
    let t = Tangled::new();
    let on = |args: &[&str]| t.forge(&t.alice, &[args, &["-R", WIDGET]].concat());
    let issue = on(&["issue", "create", "-t", "T", "-b", "B"]).text();
    let issue = issue.trim();
    let uri = t.open("topic");
    let body = format!("Fixes #769 and closes {issue}.");
    t.forge(&t.alice, &["pr", "edit", &uri, "-b", &body]).ok();
    let view = t
        .forge(&t.alice, &["pr", "view", &uri])
        .output()
        .success()
        .stdout_text();
    let closes = view
        .lines()
        .find(|line| line.starts_with("closes:"))
        .unwrap();
    let json = ["pr", "view", &uri, "--json", "closingIssuesReferences"];
    let json = t.forge(&t.alice, &json).output().success().json();
    let rows = json["closingIssuesReferences"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{json}");
    assert_eq!(rows[0]["number"], 769);
    assert_eq!(
        (&rows[1]["id"], &rows[1]["number"]),
        (&json!(issue), &json!(null))
    );
    assert!(
        closes.contains("#769") && closes.contains(issue),
        "{closes}"
    );
    let how = on(&["capabilities"]).text();
    assert!(how.contains("tangled itself closes no issue"), "{how}");
}
