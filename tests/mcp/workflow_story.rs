//! Runs the worked example with tool calls alone: moves an issue from triage to merge.

use forge_testkit::Identity;
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    tangled_world::{Tangled, WIDGET},
    world::{MODERN, Wire, World},
};

pub const SETS: [&str; 3] = ["--write", "--toolsets", "issues,workflow"];

impl World {
    /// Starts a server of Grace's with the real clock, because leases expire.
    pub fn workflow(&self) -> Wire {
        let run = self.scratch.forge(self.git.path(), &Identity::GRACE);
        Wire::start(&run.args(["mcp"]).args(SETS), MODERN)
    }

    /// Configures where workflow states are stored.
    pub fn keep(&self, lines: &str) {
        let file = format!("[workflow]\n{lines}\n");
        self.scratch.write("home/.config/forge/config.toml", file);
    }
}

/// Moves an issue from triage to merge. The branch `head` of `repo` fixes `issue`.
fn story(wire: &mut Wire, repo: &str, issue: &str, head: &str, method: &str) {
    let args = |more: Value| {
        let mut args = json!({"repo": repo, "issue": issue});
        let all = args.as_object_mut().unwrap();
        all.extend(more.as_object().unwrap().clone());
        args
    };
    let named = match issue.starts_with("at://") {
        true => issue.to_owned(),
        false => format!("#{issue}"),
    };

    // The issue does not have a state yet.
    let at = wire.call("workflow_view", args(json!({}))).ok();
    assert_eq!(at.data()["phase"], "TRIAGE");
    let why = format!("Issue {named} has no workflow state; triage first.");
    assert_eq!(at.data()["reason"], why);
    assert_eq!(at.data()["is_group"], false);
    assert_eq!(at.data()["issues"][0]["issue"], named);
    let claims = match (repo, issue.starts_with("at://")) {
        (_, true) => "advisory",
        (REPO, false) => "ordered",
        _ => "exclusive",
    };
    assert_eq!(at.data()["claims"], claims);

    // The triage call names the state to which the issue moves.
    let triage = json!({"state": "Ready for Plan", "command": "triage", "reason": "small enough"});
    let moved = wire.call("workflow_set_state", args(triage)).ok();
    let moved = moved.data();
    assert_eq!(moved["previous_state"], "(unknown)");
    assert_eq!(moved["new_state"], "Ready for Plan");
    assert_eq!(moved["command"], "ralph_triage");
    assert_eq!(moved.get("resolved_from"), None);

    // A planner picks the next issue, first without a claim and then with one.
    let pick = json!({"repo": repo, "command": "plan"});
    let found = wire.call("workflow_pick", pick.clone()).ok();
    assert_eq!(found.data()["found"], true);
    assert_eq!(found.data()["issue"]["issue"], named);
    assert_eq!(found.data()["alternatives"], 0);
    let taken = wire.call("workflow_claim", pick.clone()).ok();
    let taken = taken.data();
    assert_eq!(taken["pick"]["issue"]["issue"], named);
    assert_eq!(taken["change"]["previous_state"], "Ready for Plan");
    assert_eq!(taken["change"]["new_state"], "Plan in Progress");
    assert_eq!(taken["claim"]["expired"], false);
    let claim = taken["claim"]["id"].clone();
    let holder = taken["claim"]["holder"].as_str().unwrap().to_owned();

    // A second holder can neither claim nor pick the issue.
    let other = json!({"command": "plan", "holder": "somebody else"});
    let refused = wire.call("workflow_claim", args(other)).fails("conflict");
    let refused = refused.says(&format!("cannot claim {named}: {holder} holds it"));
    assert!(!refused.text().contains("pr_view"), "{}", refused.text());
    let none = wire.call("workflow_pick", pick).ok();
    assert_eq!(none.data()["found"], false);
    let seen = wire.call("workflow_view", args(json!({}))).ok();
    assert_eq!(seen.data()["phase"], "REVIEW");
    assert_eq!(seen.data()["claim"]["holder"], holder);
    let renew = json!({"action": "heartbeat", "claim": claim});
    let renewed = wire.call("workflow_claim", args(renew)).ok();
    assert_eq!(renewed.data()["claim"]["id"], claim);

    // The planner has finished: the intent resolves to a state of the command, and the claim ends.
    let done = json!({"state": "__COMPLETE__", "command": "plan", "claim": claim});
    let moved = wire.call("workflow_set_state", args(done.clone())).ok();
    let moved = moved.data();
    assert_eq!(moved["resolved_from"], "__COMPLETE__");
    assert_eq!(moved["new_state"], "Plan in Review");
    assert_eq!(moved["ended_claim"], claim);
    // The claim has ended, so a later write by its holder is refused.
    wire.call("workflow_set_state", args(done))
        .fails("conflict")
        .says("is over");
    let gate = wire.call("workflow_view", args(json!({}))).ok();
    assert_eq!(gate.data()["phase"], "HUMAN_GATE");
    assert_eq!(gate.data().get("claim"), None);

    // The next command claims the issue.
    let taken = wire
        .call("workflow_claim", json!({"repo": repo, "command": "impl"}))
        .ok();
    let taken = taken.data();
    assert_eq!(taken["change"]["new_state"], "In Progress");
    let done = json!({
        "state": "__COMPLETE__", "command": "ralph_impl", "claim": taken["claim"]["id"]
    });
    let moved = wire.call("workflow_set_state", args(done)).ok();
    assert_eq!(moved.data()["new_state"], "In Review");
    let target = json!({"target_state": "In Review"});
    let reached = wire.call("workflow_view", args(target)).ok();
    let reached = &reached.data()["target"];
    assert_eq!(reached["converged"], true);
    assert_eq!(reached["recommendation"], "proceed");

    // A pull request that closes the issue is opened and merged.
    let create = json!({
        "repo": repo, "title": "Mend it", "head": head, "base": "main", "closes": [issue]
    });
    let opened = wire.call("pr_create", create).ok();
    let pull = opened.data()["number"].clone();
    let merge = json!({"repo": repo, "number": pull, "method": method});
    let merged = wire.call("pr_merge", merge.clone()).ok();
    let done = format!("{named}: In Review -> Done (closed)");
    let moved = json!([
        {"issue": named, "from": "In Review", "to": "Done", "closed": true}
    ]);
    assert_eq!(merged.data()["linked_issues_transitioned"], moved);
    let question = wire.asked.last().unwrap();
    assert!(question.contains(&format!(" Moves {done}.")), "{question}");
    let again = wire.call("pr_merge", merge).ok();
    let reason = "the merge moved it before (In Review -> Done)";
    assert_eq!(
        again.data()["linked_issues_skipped"],
        json!([{"issue": named, "reason": reason}])
    );

    let end = wire.call("workflow_view", args(json!({}))).ok();
    assert_eq!(end.data()["phase"], "TERMINAL");
    let moves = end.data()["moves"].as_array().unwrap();
    let last = moves.last().unwrap();
    assert_eq!(
        (&last["to"], &last["command"]),
        (&json!("Done"), &json!("pr"))
    );
    assert!(last["merge"].is_string());
    assert_eq!(moves[0]["reason"], "small enough");
    let view = json!({"repo": repo, "number": issue});
    let closed = wire.call("issue_view", view).ok();
    assert_eq!(closed.data()["issue"]["state"], "closed");
}

#[test]
fn r_001_12_story_runs_on_a_local_repository() {
    for store in ["store = \"fields\"", "store = \"labels\""] {
        let world = World::new();
        world.keep(store);
        world.feature("work");
        world.forge(&["workflow", "init"]).ok();
        let mut wire = world.workflow();
        let opened = wire
            .call(
                "issue_create",
                json!({"title": "It breaks", "body": "Often."}),
            )
            .ok();
        assert_eq!(opened.data()["number"], "1");
        story(&mut wire, &world.name(), "1", "work", "squash");
    }
}

#[test]
fn r_001_12_story_runs_on_github_with_labels() {
    let hub = Hub::new();
    hub.double.seed().set_clock_to_now();
    hub.double
        .seed()
        .open_issue(REPO, "grace", "It breaks", "Often.");
    let file = "[workflow]\nstore = \"labels\"\n";
    hub.scratch.write("home/.config/forge/config.toml", file);
    hub.forge(&["workflow", "init", "-R", REPO]).ok();
    let mut wire = hub.server(&SETS);
    story(&mut wire, REPO, "1", "feature", "squash");
}

#[test]
fn r_001_12_story_runs_on_github_with_a_board() {
    let hub = Hub::new();
    {
        let mut seed = hub.double.seed();
        seed.set_clock_to_now();
        let issue = seed.open_issue(REPO, "grace", "It breaks", "Often.");
        let board = seed.project("octo", "Work", &["Todo", "In Progress", "Done"]);
        let ralph = include_str!("../../crates/forge-workflow/presets/ralph.toml");
        let names = ralph.lines().skip_while(|line| *line != "[[state]]");
        let states: Vec<&str> = names
            .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
            .take(11)
            .collect();
        seed.project_field(board, "Workflow State", &states);
        seed.project_field(board, "Estimate", &["XS", "S", "M", "L", "XL"]);
        seed.project_field(board, "Priority", &["P0", "P1", "P2", "P3"]);
        seed.project_item(board, REPO, issue, "Todo");
    }
    let file = "[workflow]\nstore = \"fields\"\nboard = \"octo/2\"\n";
    hub.scratch.write("home/.config/forge/config.toml", file);
    let mut wire = hub.server(&SETS);
    story(&mut wire, REPO, "1", "feature", "squash");
}

#[test]
fn r_001_12_story_runs_on_tangled() {
    for store in ["fields", "labels"] {
        let tangled = Tangled::new();
        tangled.branch("work");
        let file = format!("[workflow]\nstore = \"{store}\"\n");
        let scratch = &tangled.scratch;
        scratch.write("home/.config/forge/config.toml", file);
        let init = ["workflow", "init", "-R", WIDGET];
        tangled.forge(&tangled.alice, &init).ok();
        let server = [&["mcp"], &SETS[..]].concat();
        let mut wire = Wire::start(&tangled.forge(&tangled.alice, &server), MODERN);
        let create = json!({"repo": WIDGET, "title": "It breaks", "body": "Often."});
        let opened = wire.call("issue_create", create).ok();
        let issue = opened.data()["number"].as_str().unwrap().to_owned();
        story(&mut wire, WIDGET, &issue, "work", "rebase");
    }
}

/// Compares the size of the prompt with that of a page with the same facts. The page needs tools
/// for issues, labels and comments as well. docs/explanation/workflow.md has the measured sizes of
/// the toolset.
#[test]
fn prompt_is_under_half_an_orchestrator_page() {
    let world = World::new();
    let mut wire = world.workflow();
    let prompt = wire.request("prompts/get", json!({"name": "workflow_loop"}));
    let prompt = prompt["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap()
        .len();
    let tools = wire.tools().into_iter();
    let tools = tools.filter(|tool| tool["name"].as_str().unwrap().starts_with("workflow_"));
    let tools: usize = tools
        .map(|mut tool| {
            tool.as_object_mut().unwrap().remove("outputSchema");
            tool.to_string().len()
        })
        .sum();
    let page = include_str!("orchestrator.md").len();
    let tokens = |bytes: usize| bytes / 4;
    println!(
        "prompt {}, tools {}, page {}",
        tokens(prompt),
        tokens(tools),
        tokens(page)
    );
    assert!(2 * prompt < page, "{prompt}, and {page}");
    let [prompt, tools, page] = [prompt, tools, page].map(tokens);
    let shown = |n: usize| match n < 1_000 {
        true => n.to_string(),
        false => format!("{},{:03}", n / 1_000, n % 1_000),
    };
    let docs = include_str!("../../docs/explanation/workflow.md");
    for part in [
        format!(
            "as tables (`tests/mcp/orchestrator.md`) | {} |",
            shown(page)
        ),
        format!(
            "| {}, which is {} fewer |",
            shown(prompt),
            shown(page - prompt)
        ),
        format!("the five tools `workflow_…` | {} |", shown(tools)),
        format!("it is {} tokens longer", shown(prompt + tools - page)),
    ] {
        assert!(docs.contains(&part), "{part}");
    }
}
