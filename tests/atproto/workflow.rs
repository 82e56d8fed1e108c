//! Runs the worked example of `docs/how-to/workflow.md` on a real PDS, with issues, labels and
//! comments.

use serde_json::{Value, json};

use crate::{
    two_accounts::Stage,
    workflow_client::{python, run_example},
};

impl Stage {
    /// Waits until the index has every record, then runs a workflow command as Alice.
    fn workflow_json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = ["workflow"].iter().chain(args).copied().collect();
        let args: Vec<&str> = args.into_iter().chain(["--json"]).collect();
        let told = self.forge(&self.alice, &args).json();
        self.wait_until_indexed(&self.alice);
        told
    }
}

#[test]
fn workflow_runs_to_merge_on_real_pds() {
    runs_from_pick_to_merge("fields");
}

#[test]
fn workflow_with_labels_runs_on_a_real_pds() {
    runs_from_pick_to_merge("labels");
}

impl Stage {
    /// Opens an issue as Alice, waits until the index has it, and returns its at-uri.
    fn issue(&self, title: &str, flags: &[&str]) -> String {
        let create = ["issue", "create", "-t", title, "-b", ""];
        let uri = self.forge(&self.alice, &[&create[..], flags].concat());
        self.wait_until_indexed(&self.alice);
        uri.stdout_text().trim().to_owned()
    }

    /// Creates an issue with two sub-issues, of which the first blocks the second. Tests the group
    /// and the pick, and that the second part and the parent advance. The states of the sub-issues
    /// are labels.
    fn group_story(&self) {
        let parent = self.issue("Logins leak memory", &[]);
        let needed = ["--parent", &parent, "-l", "state: Research Needed"];
        let first = self.issue("Find the leak", &needed);
        let blocked = [&needed[..], &["--blocked-by", &first]].concat();
        let second = self.issue("Measure it nightly", &blocked);
        let group = self.workflow_json(&["group", &second]);
        let members = group["issues"].as_array().unwrap().iter();
        let members: Vec<_> = members
            .map(|issue| (&issue["title"], &issue["workflowState"]))
            .collect();
        let state = json!("Research Needed");
        let titles = [json!("Find the leak"), json!("Measure it nightly")];
        let wanted = [(&titles[0], &state), (&titles[1], &state)];
        assert_eq!(members, wanted, "{group}");
        let [one, two] = [0_usize, 1].map(|n| group["issues"][n]["id"].clone());

        let picked = self.workflow_json(&["pick", "-c", "research", "--claim"]);
        assert_eq!(picked["issue"]["id"], one, "{picked}");
        assert_eq!(picked["skipped"][0]["id"], two, "{picked}");
        let claim = picked["claimed"]["claim"]["id"].as_str().unwrap();
        let done = ["set-state", &first, "__COMPLETE__", "-c", "research"];
        self.workflow_json(&[&done[..], &["--claim", claim]].concat());
        let to = ["convergence", &first, "--to", "Ready for Plan"];
        let behind = [&["workflow"], &to[..], &["--json"]].concat();
        let behind = self.command(&self.alice, &behind).output().exits(8).json();
        assert_eq!(behind["blocking"][0]["id"], two, "{behind}");

        let moved = self.workflow_json(&["advance", &parent, "--to", "Ready for Plan"]);
        assert_eq!(moved["advanced"].as_array().unwrap().len(), 1, "{moved}");
        assert_eq!(moved["advanced"][0]["id"], two, "{moved}");
        let up = self.workflow_json(&["advance", &first, "--parent"]);
        assert_eq!(up["advanced"][0]["toState"], "Ready for Plan", "{up}");
        let converged = self.workflow_json(&to);
        assert_eq!(converged["converged"], true, "{converged}");
    }
}

fn runs_from_pick_to_merge(store: &str) {
    let Some(stage) = Stage::new() else {
        return;
    };
    let alice = &stage.alice;
    let set = ["config", "set", "workflow.store", store];
    // Fields are the default store of workflow states.
    if store == "labels" {
        stage.command_alone(alice, &set).ok();
    }
    stage.forge(alice, &["workflow", "init"]);
    let again = stage.workflow_json(&["init", "--dry-run"]);
    assert_eq!(again["made"], json!([]), "{again}");
    let issue = ["issue", "create", "-t", "Leak", "-b", "Since May."];
    let issue = stage.forge(alice, &issue).stdout_text();
    let issue = issue.trim();
    stage.wait_until_indexed(alice);

    let moved = stage.workflow_json(&["set-state", issue, "Research Needed", "-c", "triage"]);
    assert_eq!(moved["previousState"], "(unknown)");
    assert_eq!(moved["moved"], true);
    let position = stage.workflow_json(&["position", issue]);
    assert_eq!(position["phase"], "RESEARCH");

    let picked = stage.workflow_json(&["pick", "-c", "research", "--claim", "--holder", "agent-1"]);
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
    let done = stage.workflow_json(&done);
    assert_eq!(done["newState"], "Ready for Plan");
    assert_eq!(done["endedClaim"], claim.as_str());
    let converged = stage.workflow_json(&["convergence", issue, "--to", "Ready for Plan"]);
    assert_eq!(converged["converged"], true);

    // The key enables the moves that a merge causes.
    stage.command_alone(alice, &set).ok();
    let pull = stage.opened("leak");
    let body = format!("Closes {issue}");
    stage.forge(&stage.bob, &["pr", "edit", &pull, "-b", &body]);
    stage.wait_until_indexed(&stage.bob);
    let merged = stage.forge(alice, &["pr", "merge", &pull, "--rebase"]);
    assert!(
        merged.stderr_text().contains("Ready for Plan -> Done"),
        "{merged:?}"
    );
    stage.wait_until_indexed(alice);
    let shown = stage
        .forge(alice, &["issue", "view", issue, "--json", "state,values"])
        .json();
    assert_eq!(shown["state"], "CLOSED");
    let reconciled = stage.workflow_json(&["reconcile", &pull]);
    assert_eq!(reconciled["transitioned"], json!([]), "{reconciled}");
    if store == "labels" {
        stage.group_story();
    }
}

#[test]
fn r_001_12_python_client_runs_story_on_real_pds() {
    python_client_runs_the_story("fields");
}

#[test]
fn python_client_runs_label_story_on_real_pds() {
    python_client_runs_the_story("labels");
}

fn python_client_runs_the_story(store: &str) {
    let (Some(stage), Some(python)) = (Stage::new(), python()) else {
        return;
    };
    let alice = &stage.alice;
    let set = ["config", "set", "workflow.store", store];
    stage.command_alone(alice, &set).ok();
    stage.forge(alice, &["workflow", "init"]);
    let issue = ["issue", "create", "-t", "It breaks", "-b", "Often."];
    let issue = stage.forge(alice, &issue).stdout_text();
    stage
        .repo
        .git
        .commit("work", "Work", &[("work.txt", Some("x\n"))]);
    stage.wait_until_indexed(alice);
    let run = stage.command_alone(alice, &[]);
    let repo = "tangled:alice.test/widget";
    run_example(&python, run, repo, issue.trim(), "work", "rebase");
}

#[test]
fn twenty_claims_on_a_real_pds_have_one_winner() {
    let Some(stage) = Stage::new() else {
        return;
    };
    let alice = &stage.alice;
    stage.forge(alice, &["workflow", "init"]);
    let issue = stage.forge(alice, &["issue", "create", "-t", "Leak", "-b", ""]);
    let issue = issue.stdout_text();
    let issue = issue.trim();
    stage.wait_until_indexed(alice);
    stage.workflow_json(&["set-state", issue, "Research Needed", "-c", "triage"]);
    let ended: Vec<_> = std::thread::scope(|scope| {
        let claims = (0..20).map(|n| {
            let holder = format!("agent-{n:02}");
            let args = ["workflow", "claim", issue, "-c", "research", "--json"];
            stage.command(alice, &[&args[..], &["--holder", &holder]].concat())
        });
        let running: Vec<_> = claims
            .map(|run| scope.spawn(move || run.output()))
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    stage.wait_until_indexed(alice);
    let won: Vec<_> = ended.iter().filter(|out| out.code == Some(0)).collect();
    let holds = won.iter().filter(|out| {
        let claim = out.json()["claim"]["id"].as_str().unwrap().to_owned();
        let beat = ["workflow", "heartbeat", issue, "--claim", &claim];
        stage.command(alice, &beat).output().code == Some(0)
    });
    assert_eq!(holds.count(), 1, "{ended:?}");
    // If several claims succeeded at first, at least one command must have reported a race.
    let told = won
        .iter()
        .filter(|out| out.stderr_text().contains("at the same time"));
    assert!(won.len() == 1 || told.count() > 0, "{ended:?}");
}
