//! The worked example of `docs/workflow.md` with issues, labels and comments on a real PDS.

use serde_json::Value;

use crate::two_accounts::Stage;

impl Stage {
    /// What a command of the workflow answers to Alice, once the index has all that was written.
    fn decides(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = ["workflow"].iter().chain(args).copied().collect();
        let args: Vec<&str> = args.into_iter().chain(["--json"]).collect();
        let told = self.forge(&self.alice, &args).json();
        self.is_indexed(&self.alice);
        told
    }
}

#[test]
fn workflow_runs_from_pick_to_merge_on_a_real_pds() {
    let Some(stage) = Stage::new() else {
        return;
    };
    let alice = &stage.alice;
    stage.forge(alice, &["workflow", "init"]);
    let again = stage.decides(&["init", "--dry-run"]);
    assert_eq!(again["made"], serde_json::json!([]), "{again}");
    let issue = ["issue", "create", "-t", "Leak", "-b", "Since May."];
    let issue = stage.forge(alice, &issue).stdout_text();
    let issue = issue.trim();
    stage.is_indexed(alice);

    let moved = stage.decides(&["set-state", issue, "Research Needed", "-c", "triage"]);
    assert_eq!(moved["previousState"], "(unknown)");
    assert_eq!(moved["moved"], true);
    let position = stage.decides(&["position", issue]);
    assert_eq!(position["phase"], "RESEARCH");

    let picked = stage.decides(&["pick", "-c", "research", "--claim", "--holder", "agent-1"]);
    let claim = picked["claimed"]["claim"]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(!claim.is_empty(), "{picked}");
    let other = [
        "workflow", "claim", issue, "-c", "research", "--holder", "agent-2",
    ];
    let other = stage.command(alice, &other).output();
    assert!(
        other.stderr_text().contains("agent-1 holds it"),
        "{other:?}"
    );

    let done = [
        "set-state",
        issue,
        "__COMPLETE__",
        "-c",
        "research",
        "--claim",
        &claim,
    ];
    let done = stage.decides(&done);
    assert_eq!(done["newState"], "Ready for Plan");
    assert_eq!(done["endedClaim"], claim.as_str());
    let converged = stage.decides(&["convergence", issue, "--to", "Ready for Plan"]);
    assert_eq!(converged["converged"], true);

    let set = ["config", "set", "workflow.store", "fields"];
    stage.command_alone(alice, &set).ok();
    let pull = stage.opened("leak");
    let body = format!("Closes {issue}");
    stage.forge(&stage.bob, &["pr", "edit", &pull, "-b", &body]);
    stage.is_indexed(&stage.bob);
    let merged = stage.forge(alice, &["pr", "merge", &pull, "--rebase"]);
    assert!(
        merged.stderr_text().contains("Ready for Plan -> Done"),
        "{merged:?}"
    );
    stage.is_indexed(alice);
    let shown = stage
        .forge(alice, &["issue", "view", issue, "--json", "state,values"])
        .json();
    assert_eq!(shown["state"], "CLOSED");
    let reconciled = stage.decides(&["reconcile", &pull]);
    assert_eq!(
        reconciled["transitioned"],
        serde_json::json!([]),
        "{reconciled}"
    );
}
