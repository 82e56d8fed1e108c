//! Runs the worked example of `docs/how-to/workflow.md` with commands: on a git repository, on
//! tangled, and on the GitHub double with labels, an organisation's board and a person's board.

use forge_github_double::state::{Id, Permission};
use forge_tangled_world::PdsOptions;
use forge_testkit::Run;
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO, TOKEN},
    tangled::world::{Tangled, WIDGET},
    world::World,
};

/// A token that has every permission except access to boards.
const PLAIN: &str = "gho_canary0plain0canary0plain0canary0plai";

/// A function that returns `forge` with arguments.
type Forge<'a> = dyn Fn(&[&str]) -> Run + 'a;

/// A repository that has the branch `work`, and a function that runs `forge` on it.
struct Stage<'a> {
    forge: Box<Forge<'a>>,
    merge: &'a str,
    labels: bool,
}

impl Stage<'_> {
    fn run(&self, args: &[&str]) -> Run {
        ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"]
            .iter()
            .fold((self.forge)(args), |run, name| run.without_env(name))
    }

    fn json(&self, args: &[&str]) -> Value {
        let all = [&["workflow"], args, &["--json"]].concat();
        self.run(&all).output().success().json()
    }

    /// Asserts the exit code of a command and a part of its stderr.
    fn fails(&self, args: &[&str], code: i32, says: &str) {
        let all = [&["workflow"], args].concat();
        let said = self.run(&all).output().exits(code).stderr_text();
        assert!(said.contains(says), "{said}");
    }

    /// Creates the fields, options or labels of the workflow. A second run creates none.
    fn init(&self) {
        let dry = self.json(&["init", "--dry-run"]);
        let none = self.json(&["init", "--dry-run"]);
        assert_eq!(dry["made"], none["made"], "a dry run makes nothing");
        let made = self.json(&["init"]);
        assert_eq!(made["made"], dry["made"]);
        assert_eq!(made["failed"], json!([]));
        if self.labels {
            let made = made["made"].as_array().unwrap().iter();
            assert_eq!(made.filter(|made| made["kind"] == "label").count(), 20);
        }
        assert_eq!(self.json(&["init"])["made"], json!([]));
        let words = self.run(&["workflow", "init"]).output().success();
        assert!(words.stdout.is_empty(), "{words:?}");
    }

    /// Moves an issue without a state through all phases up to a merge.
    fn story(&self) {
        self.init();
        let create = [
            "issue",
            "create",
            "-t",
            "It breaks",
            "-b",
            "Often.",
            "--priority",
            "P1",
            "--estimate",
            "S",
        ];
        let url = self.run(&create).text();
        let issue = match url.trim() {
            uri if uri.starts_with("at://") => uri.to_owned(),
            _ => "1".to_owned(),
        };
        let issue = issue.as_str();

        let at = self.json(&["position", issue]);
        assert_eq!(at["phase"], "TRIAGE");
        assert_eq!(at["issues"][0]["workflowState"], Value::Null);
        assert_eq!(at["issues"][0]["estimate"], "S");
        let to = ["set-state", issue, "Ready for Plan", "-c", "triage"];
        let moved = self.json(&[&to[..], &["--reason", "small enough"]].concat());
        assert_eq!(moved["previousState"], "(unknown)");
        assert_eq!(moved["newState"], "Ready for Plan");
        assert_eq!(moved["moved"], true);

        let picked = self.json(&["pick", "-c", "plan", "--claim", "--holder", "agent-1"]);
        assert_eq!(picked["issue"]["priority"], "P1", "{picked}");
        assert_eq!(picked["claimed"]["newState"], "Plan in Progress");
        let claim = picked["claimed"]["claim"]["id"].as_str().unwrap();
        let other = ["claim", issue, "-c", "plan", "--holder", "agent-2"];
        self.fails(&other, 1, "agent-1 holds it");
        self.fails(&["pick", "-c", "plan"], 8, "");
        let beaten = self.json(&["heartbeat", issue, "--claim", claim]);
        assert_eq!(beaten["holder"], "agent-1");
        assert_eq!(self.json(&["position", issue])["phase"], "REVIEW");

        let done = ["set-state", issue, "__COMPLETE__", "-c", "plan"];
        let done = [&done[..], &["--claim", claim]].concat();
        let moved = self.json(&done);
        assert_eq!(moved["newState"], "Plan in Review");
        assert_eq!(moved["resolvedFrom"], "__COMPLETE__");
        assert_eq!(moved["endedClaim"], claim);
        self.fails(&done, 1, "is over");
        assert_eq!(self.json(&["position", issue])["phase"], "HUMAN_GATE");
        let converged = self.json(&["convergence", issue, "--to", "Plan in Review"]);
        assert_eq!(converged["recommendation"], "proceed");
        self.fails(&["convergence", issue, "--to", "Done"], 8, "");

        let taken = self.json(&["claim", issue, "-c", "impl"]);
        assert_eq!(taken["newState"], "In Progress");
        let claim = taken["claim"]["id"].as_str().unwrap();
        let done = ["set-state", issue, "__COMPLETE__", "-c", "impl", "--claim"];
        let moved = self.json(&[&done[..], &[claim]].concat());
        assert_eq!(moved["newState"], "In Review");

        let create = ["pr", "create", "-H", "work", "-t", "Mend it", "-b", "Why."];
        let opened = self.run(&[&create[..], &["--closes", issue]].concat());
        let opened = opened.output().success();
        assert!(!opened.stderr_text().contains("may not"), "{opened:?}");
        let pull = opened.stdout_text();
        let pull = pull.trim();
        self.fails(&["reconcile", pull], 1, "is not merged");
        let merged = self.run(&["pr", "merge", pull, self.merge]);
        let merged = merged.output().success().stderr_text();
        assert!(merged.contains("In Review -> Done (closed)"), "{merged}");
        let again = self.json(&["reconcile", pull]);
        assert_eq!(again["transitioned"], json!([]));
        let why = "the merge moved it before (In Review -> Done)";
        assert_eq!(again["skipped"][0]["reason"], why);

        assert_eq!(self.json(&["position", issue])["phase"], "TERMINAL");
        let view = self.run(&["issue", "view", issue, "--json", "state,comments"]);
        let view = view.output().success().json();
        assert_eq!(view["state"], "CLOSED");
        let comments = view["comments"].as_array().unwrap();
        let bodies = comments.iter().map(|c| c["body"].as_str().unwrap());
        // The trail has six entries: one triage, two claims, two moves and one merge. Renewing a
        // claim edits an existing entry.
        let trail = bodies.filter(|body| body.contains("<!-- forge-workflow: "));
        assert_eq!(trail.count(), 6, "{view}");
    }
}

impl Stage<'_> {
    /// Opens an issue, and returns its at-uri or its number.
    fn open(&self, title: &str, flags: &[&str]) -> String {
        let create = ["issue", "create", "-t", title, "-b", "Text."];
        let url = self.run(&[&create[..], flags].concat()).text();
        match url.trim() {
            uri if uri.starts_with("at://") => uri.to_owned(),
            url => {
                let mut numbers = url.rsplit(|c: char| !c.is_ascii_digit());
                numbers.next().unwrap().to_owned()
            }
        }
    }

    /// Creates an issue with two sub-issues, of which the first blocks the second. Tests groups,
    /// picks, convergence, and the advance of the parent through the gate.
    fn group_story(&self) {
        self.run(&["workflow", "init"]).ok();
        let parent = self.open("Logins leak memory", &[]);
        let flags = ["--parent", &parent, "--estimate", "S", "--priority", "P1"];
        let first = self.open("Find the leak", &flags);
        let flags = ["--parent", &parent, "--blocked-by", &first];
        let second = self.open("Measure it nightly", &flags);
        for part in [&first, &second] {
            let to = ["set-state", part, "Research Needed", "-c", "triage"];
            assert_eq!(self.json(&to)["newState"], "Research Needed");
        }
        let group = self.json(&["group", &first]);
        let titles: Vec<&str> = (group["issues"].as_array().unwrap().iter())
            .map(|issue| issue["title"].as_str().unwrap())
            .collect();
        assert_eq!(titles, ["Find the leak", "Measure it nightly"], "{group}");
        for member in [&parent, &second] {
            assert_eq!(self.json(&["group", member]), group, "{member}");
        }
        let [one, two] = [0_usize, 1].map(|n| group["issues"][n]["id"].clone());
        let at = self.json(&["position", &second]);
        assert_eq!(
            (&at["phase"], &at["isGroup"]),
            (&json!("RESEARCH"), &json!(true))
        );
        assert_eq!(at["recommendation"], "wait");

        let pick = ["pick", "-c", "research", "--claim", "--holder", "agent-1"];
        let picked = self.json(&pick);
        assert_eq!(picked["issue"]["id"], one, "{picked}");
        assert_eq!(picked["skipped"][0]["id"], two, "{picked}");
        let why = picked["skipped"][0]["reason"].as_str().unwrap();
        assert!(why.starts_with("it waits for "), "{why}");
        self.fails(&["pick", "-c", "research", "--claim"], 8, "");
        let claim = picked["claimed"]["claim"]["id"].as_str().unwrap();
        let done = ["set-state", &first, "__COMPLETE__", "-c", "research"];
        let moved = self.json(&[&done[..], &["--claim", claim]].concat());
        assert_eq!(moved["newState"], "Ready for Plan");

        let to = ["convergence", &first, "--to", "Ready for Plan"];
        let all = [&["workflow"], &to[..], &["--json"]].concat();
        let behind = self.run(&all).output().exits(8).json();
        assert_eq!((&behind["ready"], &behind["total"]), (&json!(1), &json!(2)));
        assert_eq!(behind["blocking"][0]["id"], two);
        assert_eq!(behind["blocking"][0]["distanceToTarget"], 2);
        let advance = ["advance", &parent, "--to", "Ready for Plan"];
        let moved = self.json(&advance);
        assert_eq!(moved["advanced"].as_array().unwrap().len(), 1, "{moved}");
        assert_eq!(moved["advanced"][0]["id"], two);
        assert_eq!(moved["skipped"][0]["id"], one);
        assert_eq!(self.json(&advance)["advanced"], json!([]));
        let up = self.json(&["advance", &first, "--parent"]);
        assert_eq!(up["advanced"][0]["toState"], "Ready for Plan", "{up}");
        let converged = self.json(&to);
        assert_eq!(converged["converged"], true, "{converged}");
    }
}

/// Creates the double with the branch `work`, and a configuration that names a store.
fn hub(config: &str) -> Hub {
    let hub = Hub::new();
    let mut seed = hub.double.seed();
    seed.set_clock_to_now();
    seed.commit(REPO, "work", &[("b.txt", Some("one\n"))], "Add b");
    drop(seed);
    let file = format!("[workflow]\n{config}\n");
    hub.scratch.write("home/.config/forge/config.toml", file);
    hub
}

fn on_hub<'a>(hub: &'a Hub, labels: bool, vars: &'a [(&'a str, &'a str)]) -> Stage<'a> {
    Stage {
        forge: Box::new(move |args| {
            let run = hub.forge(&[args, &["-R", REPO]].concat());
            vars.iter()
                .fold(run, |run, (name, value)| run.env(name, value))
        }),
        merge: "--squash",
        labels,
    }
}

#[test]
fn story_runs_in_a_repository() {
    for (store, labels) in [("fields", false), ("labels", true)] {
        let world = World::new();
        world.feature("work");
        world.set("workflow.store", store);
        let stage = Stage {
            forge: Box::new(|args| world.forge(args)),
            merge: "--squash",
            labels,
        };
        stage.story();
    }
}

#[test]
fn story_runs_on_github_with_labels() {
    let hub = hub("store = \"labels\"");
    on_hub(&hub, true, &[]).story();
}

#[test]
fn sub_issues_advance_in_a_repository() {
    for (store, labels) in [("fields", false), ("labels", true)] {
        let world = World::new();
        world.set("workflow.store", store);
        let stage = Stage {
            forge: Box::new(|args| world.forge(args)),
            merge: "--squash",
            labels,
        };
        stage.group_story();
    }
}

#[test]
fn sub_issues_advance_on_github() {
    let labels = hub("store = \"labels\"");
    on_hub(&labels, true, &[]).group_story();
    let board = hub("store = \"fields\"\nboard = \"octo/2\"");
    let options = ["Todo", "In Progress", "Done"];
    board.double.seed().project("octo", "Work", &options);
    on_hub(&board, false, &[]).group_story();
}

#[test]
fn sub_issues_advance_on_tangled() {
    for (store, labels) in [("fields", false), ("labels", true)] {
        let tangled = Tangled::new();
        let file = format!("[workflow]\nstore = \"{store}\"\n");
        let scratch = &tangled.scratch;
        scratch.write("home/.config/forge/config.toml", file);
        let forge = |args: &[&str]| {
            let args = [args, &["-R", WIDGET]].concat();
            tangled.forge(&tangled.alice, &args)
        };
        let stage = Stage {
            forge: Box::new(forge),
            merge: "--rebase",
            labels,
        };
        stage.group_story();
    }
}

fn value(hub: &Hub, board: Id, field: &str) -> Option<String> {
    let values = hub.double.seed().project_values(board, REPO, 1);
    let found = values.into_iter().find(|(name, _)| name == field);
    found.map(|(_, value)| value)
}

#[test]
fn story_runs_on_organisation_and_personal_boards() {
    for (owner, options) in [
        ("octo", &["Todo", "In Progress", "Done"][..]),
        // An issue moves even if the board lacks the option for its state.
        ("ada", &["Later"]),
    ] {
        let number = if owner == "octo" { 2 } else { 1 };
        let hub = hub(&format!("store = \"fields\"\nboard = \"{owner}/{number}\""));
        let board = hub.double.seed().project(owner, "Work", options);
        on_hub(&hub, false, &[]).story();
        let state = value(&hub, board, "Workflow State");
        assert_eq!(state.as_deref(), Some("Done"));
        let status = value(&hub, board, "Status");
        let wanted = (options.contains(&"Done")).then_some("Done");
        assert_eq!(status.as_deref(), wanted, "{owner}");
    }
}

#[test]
fn board_requests_use_the_project_token() {
    let hub = hub("store = \"fields\"\nboard = \"octo/2\"");
    {
        let mut seed = hub.double.seed();
        seed.project("octo", "Work", &["Todo"]);
        seed.token(PLAIN, "grace", &["repo"]);
        seed.collaborator(REPO, "grace", Permission::Write);
    }
    let refused = on_hub(&hub, false, &[("GH_TOKEN", PLAIN)]);
    refused.fails(&["init"], 1, "project");
    let vars = [("GH_TOKEN", PLAIN), ("GH_PROJECT_TOKEN", TOKEN)];
    on_hub(&hub, false, &vars).story();
    // Ada's account wrote every entry of the trail. The account whose token reads the board wrote
    // none.
    let grace = hub.double.seed().find_account("grace");
    let seed = hub.double.seed();
    let comments = seed.comments_of(REPO, 1);
    assert!(comments.iter().all(|c| c.author == grace), "{comments:?}");
}

#[test]
fn story_runs_on_tangled() {
    for (store, labels) in [("fields", false), ("labels", true)] {
        let tangled = Tangled::new();
        tangled.branch("work");
        let file = format!("[workflow]\nstore = \"{store}\"\n");
        let scratch = &tangled.scratch;
        scratch.write("home/.config/forge/config.toml", file);
        let forge = |args: &[&str]| {
            let args = [args, &["-R", WIDGET]].concat();
            tangled.forge(&tangled.alice, &args)
        };
        let stage = Stage {
            forge: Box::new(forge),
            merge: "--rebase",
            labels,
        };
        stage.story();
        let pds = tangled.world.pds();
        let made = pds.records(&tangled.alice.did, "sh.tangled.label.definition");
        let mut made = made.iter().map(|(_, _, value)| value);
        match labels {
            true => {
                let name = |label: &&Value| label["name"].as_str().unwrap().starts_with("state: ");
                assert_eq!(made.filter(name).count(), 11);
            }
            false => {
                // A single label definition has all states as its values.
                let states = made.find(|label| label["name"] == "Workflow State");
                let states = &states.unwrap()["valueType"]["enum"];
                assert_eq!(states.as_array().unwrap().len(), 11, "{states}");
            }
        }
    }
}

#[test]
fn missing_board_field_and_option_are_named() {
    let hub = hub("store = \"fields\"\nboard = \"octo/99\"");
    hub.double.seed().open_issue(REPO, "grace", "It breaks", "");
    let stage = on_hub(&hub, false, &[]);
    let to = ["set-state", "1", "Backlog", "-c", "split"];
    for reads in [
        &["position", "1"][..],
        &["convergence", "1", "--to", "Backlog"],
        &["pick", "-c", "research"],
        &to,
    ] {
        let all = [&["workflow"], reads].concat();
        let out = stage.run(&all).output().exits(1);
        let _ = out
            .says("there is no board octo/99")
            .says("the open boards of octo are octo/1 \"Roadmap\"; name one of them")
            .says("forge config set workflow.board octo/1\n");
    }
    // If several boards are open, the user must choose one. A closed board is not listed.
    let (second, closed) = {
        let mut seed = hub.double.seed();
        let [second, closed] = ["Second", "Closed"].map(|it| seed.project("octo", it, &["Todo"]));
        seed.projects.get_mut(&closed).unwrap().closed = true;
        (seed.projects[&second].number, seed.projects[&closed].number)
    };
    let said = stage.run(&["workflow", "position", "1"]).output().exits(1);
    assert!(!said.stderr_text().contains(&format!("octo/{closed}")));
    let _ = said
        .says(&format!("are octo/{second} \"Second\", octo/1 \"Roadmap\""))
        .says("forge config set workflow.board VALUE\n");
    for n in 0..20 {
        let title = format!("Board {n}");
        hub.double.seed().project("octo", &title, &["Todo"]);
    }
    let said = stage.run(&["workflow", "position", "1"]).output().exits(1);
    let _ = said.says("the open boards of octo include octo/");
    let file = "[workflow]\nstore = \"fields\"\nboard = \"octo/1\"\n";
    hub.scratch.write("home/.config/forge/config.toml", file);
    stage.fails(&to, 1, "board octo/1 has no field 'Workflow State'");
    stage.fails(&to, 1, "forge workflow init");
    stage.json(&["init"]);
    assert_eq!(stage.json(&to)["newState"], "Backlog");
    // If an option was renamed on the board, `forge` reports it as missing.
    {
        let mut seed = hub.double.seed();
        let fields = seed.projects.values_mut().flat_map(|p| &mut p.fields);
        let options = fields.flat_map(|field| &mut field.options);
        for option in options.filter(|option| option.name == "Ready for Plan") {
            option.name = "Ready".to_owned();
        }
    }
    let to = ["set-state", "1", "Ready for Plan", "-c", "triage"];
    stage.fails(&to, 1, "has no value 'Ready for Plan'");
    stage.fails(&to, 1, "forge workflow init");
    let made = stage.json(&["init"]);
    assert_eq!(made["made"].as_array().unwrap().len(), 1, "{made}");
    assert_eq!(stage.json(&to)["newState"], "Ready for Plan");
    let size = ["issue", "edit", "1", "--estimate", "Huge"];
    let said = stage.run(&size).output().exits(1).stderr_text();
    assert!(said.contains("XS, S, M, L, XL"), "{said}");
}

#[test]
fn group_of_over_200_issues_is_marked_truncated() {
    let hub = hub("store = \"labels\"");
    {
        let mut seed = hub.double.seed();
        for _ in 0..230 {
            seed.open_issue(REPO, "grace", "Part", "");
        }
        // A tree in which each issue blocks eight others.
        for number in 2..=230 {
            seed.blocked_by((REPO, number), (REPO, (number + 6) / 8));
        }
    }
    let stage = on_hub(&hub, false, &[]);
    let group = stage.json(&["group", "1"]);
    assert_eq!(group["truncated"], true);
    assert_eq!(group["issues"].as_array().unwrap().len(), 200);
    let shown = stage.run(&["workflow", "group", "1"]).output().success();
    let told = shown.stderr_text();
    assert!(
        told.contains("the group has more issues than are shown"),
        "{told}"
    );
}

#[test]
fn group_across_repositories_has_full_names() {
    const OTHER: &str = "octo/other";
    let hub = hub("store = \"labels\"");
    {
        let mut seed = hub.double.seed();
        seed.repo_with_readme(OTHER);
        // Both repositories have an issue 1.
        for repo in [REPO, OTHER] {
            seed.open_issue(repo, "grace", repo, "");
        }
        seed.blocked_by((REPO, 1), (OTHER, 1));
    }
    let group = |repo: &str| {
        let args = ["workflow", "group", "1", "-R", repo, "--json"];
        hub.forge(&args).output().success().json()
    };
    let found = group(REPO);
    let members = found["issues"].as_array().unwrap().iter();
    let ids: Vec<&Value> = members.map(|issue| &issue["id"]).collect();
    let full = [OTHER, REPO].map(|repo| format!("github:github.localhost/{repo}#1"));
    assert_eq!(ids, full.each_ref(), "{found}");
    assert_eq!(found["primary"]["id"], full[0].as_str());
    assert_eq!(group(OTHER), found);
    for reads in [
        &["group", "1"][..],
        &["convergence", "1", "--to", "Backlog"],
    ] {
        let args = [&["workflow"], reads, &["-R", REPO]].concat();
        let shown = hub.forge(&args).output().stdout_text();
        let words = shown.split([':', '\t', ' ', '\n']);
        let names: Vec<&str> = words.filter(|word| word.contains("#1")).collect();
        assert_eq!(names, ["octo/other#1", "#1"], "{shown}");
    }
    let position = hub.forge(&["workflow", "position", "1", "-R", REPO]);
    let shown = position.text();
    assert!(shown.contains("octo/other#1"), "{shown}");
    assert!(!shown.contains("Issues #1, #1"), "{shown}");
}

#[test]
fn merge_on_tangled_closes_issues_without_a_workflow() {
    let tangled = Tangled::new();
    let on = |args: &[&str]| tangled.forge(&tangled.alice, &[args, &["-R", WIDGET]].concat());
    let create = ["issue", "create", "-t", "It breaks", "-b", ""];
    let [issue, other] = [(); 2].map(|()| on(&create).text().trim().to_owned());
    tangled.branch("work");
    let create = ["pr", "create", "-H", "work", "-t", "Mend it", "-b", "Why."];
    let lost = format!(
        "at://{}/sh.tangled.repo.issue/3jzfcijpj2z2a",
        tangled.alice.did
    );
    let refused = on(&[&create[..], &["--closes", &lost]].concat());
    let said = refused.output().exits(1).stderr_text();
    assert!(
        said.contains(&format!("there is no issue {lost}")),
        "{said}"
    );
    let opened = on(&[&create[..], &["--closes", &issue]].concat());
    let opened = opened.output().success();
    let pull = opened.stdout_text();
    let pull = pull.trim();
    let view = on(&["pr", "view", pull, "--json", "body"])
        .output()
        .success();
    let lines = format!("Closes {issue}\n\nWhy.");
    assert_eq!(view.json()["body"], lines);
    let merged = on(&["pr", "merge", pull, "--rebase"]).output().success();
    let said = merged.stderr_text();
    assert!(said.contains(&format!("closed: {issue}\n")), "{said}");
    for (uri, state) in [(&issue, "CLOSED"), (&other, "OPEN")] {
        let view = on(&["issue", "view", uri, "--json", "state"]).output();
        assert_eq!(view.success().json()["state"], state);
    }
    // If a person has reopened the issue, repeating the merge leaves the issue open.
    on(&["issue", "reopen", &issue]).ok();
    on(&["pr", "merge", pull, "--rebase"]).ok();
    let view = on(&["issue", "view", &issue, "--json", "state"]).output();
    assert_eq!(view.success().json()["state"], "OPEN");
}

/// Appends the `references` to the record `uri` of Alice's, as another program would.
fn refer(tangled: &Tangled, uri: &str, references: &[&str]) {
    let pds = tangled.world.pds();
    let (_, mut record) = pds.record(uri).unwrap();
    record["references"] = json!(references);
    let mut parts = uri.rsplit('/');
    let (rkey, collection) = (parts.next().unwrap(), parts.next().unwrap());
    pds.put(&tangled.alice.did, collection, rkey, record);
}

/// A text and the references of a record must not choose the host that `forge` contacts.
#[test]
fn records_named_by_a_pull_contact_no_stranger() {
    let tangled = Tangled::new();
    let theirs = tangled.world.another_pds(PdsOptions::default()).unwrap();
    let mallory = theirs.account("mallory.test", "password of mallory");
    let record = |rkey: &str| format!("at://{}/sh.tangled.repo.issue/{rkey}", mallory.did);
    let [closed, named, listed] = ["3mkuuamwfj322", "3mkuuamwfj323", "3mkuuamwfj324"].map(record);
    let on = |args: &[&str]| tangled.forge(&tangled.alice, &[args, &["-R", WIDGET]].concat());
    let pull = tangled.open("work");
    let pds = tangled.world.pds();
    let (_, mut edited) = pds.record(&pull).unwrap();
    edited["body"] = json!(format!("Closes {closed}\n\nSee {named}."));
    let rkey = pull.rsplit('/').next().unwrap();
    pds.put(&tangled.alice.did, "sh.tangled.repo.pull", rkey, edited);
    refer(&tangled, &pull, &[&listed]);
    theirs.host().reset_record();

    let context = on(&["pr", "context", &pull, "--json", "linkedIssues"]);
    let context = context.output().json();
    let keys = context["linkedIssues"].as_array().unwrap().iter();
    assert_eq!(keys.count(), 3, "{context}");
    let merged = on(&["pr", "merge", &pull, "--rebase"]).output().success();
    let said = merged.stderr_text();
    for uri in [&closed, &listed] {
        let left = format!("not closed: {uri} (the forge does not list it");
        assert!(said.contains(&left), "{said}");
    }

    let stacked = tangled.open("stacked");
    let below = format!("at://{}/sh.tangled.repo.pull/3mkuuamwfj325", mallory.did);
    let (_, mut edited) = pds.record(&stacked).unwrap();
    edited["dependentOn"] = json!(below);
    let rkey = stacked.rsplit('/').next().unwrap();
    pds.put(&tangled.alice.did, "sh.tangled.repo.pull", rkey, edited);
    let context = on(&["pr", "context", &stacked, "--json", "verdict"]);
    let context = context.output().json();
    let unread = format!("{below} was not read: the forge does not list it as a pull request");
    assert!(context.to_string().contains(&unread), "{context}");
    assert!(theirs.host().requests().is_empty());
}

#[test]
fn merge_on_tangled_moves_issues_in_references() {
    const ISSUE: &str = "sh.tangled.repo.issue";
    let tangled = Tangled::new();
    let file = "[workflow]\nstore = \"fields\"\n";
    tangled
        .scratch
        .write("home/.config/forge/config.toml", file);
    let on = |args: &[&str]| tangled.forge(&tangled.alice, &[args, &["-R", WIDGET]].concat());
    on(&["workflow", "init"]).ok();
    let create = ["issue", "create", "-t", "It breaks", "-b", ""];
    let [issue, commented] = [(); 2].map(|()| on(&create).text().trim().to_owned());
    let other = tangled.world.repository(&tangled.alice, "other");
    let elsewhere = json!({
        "repo": other.did, "title": "Elsewhere", "createdAt": "2026-11-01T00:00:00Z",
    });
    let pds = tangled.world.pds();
    let (elsewhere, _) = pds.add(&tangled.alice.did, ISSUE, elsewhere);
    let pull = tangled.open("work");
    refer(&tangled, &pull, &[&issue, &elsewhere]);
    on(&["pr", "comment", &pull, "-b", "Look there."]).ok();
    let comments = pds.records(&tangled.alice.did, "sh.tangled.feed.comment");
    let comment = comments
        .iter()
        .find(|(_, _, it)| it.to_string().contains("Look there."));
    refer(&tangled, &comment.unwrap().0, &[&commented]);

    let view = on(&["pr", "view", &pull]).text();
    let closes = format!("closes:\t{issue}, {elsewhere}\n");
    assert!(view.contains(&closes), "{view}");
    let context = on(&["pr", "context", &pull, "--json", "linkedIssues"]);
    let context = context.output().json();
    let linked = context["linkedIssues"].as_array().unwrap();
    let closes = linked.iter().filter(|it| it["relationship"] == "closes");
    let closes: Vec<_> = closes.map(|it| (&it["key"], &it["resolved"])).collect();
    let wanted = [
        (&json!(issue), &json!(true)),
        (&json!(elsewhere), &json!(false)),
    ];
    assert_eq!(closes, wanted, "{context}");

    let merged = on(&["pr", "merge", &pull, "--rebase"]).output().success();
    let said = merged.stderr_text();
    let moved = format!("moved: {issue}: no state -> Done (closed)\n");
    assert!(said.contains(&moved), "{said}");
    let left = format!(
        "not moved: {elsewhere} (the forge does not list it as an issue of the repository)"
    );
    assert!(said.contains(&left), "{said}");
    let shown = format!("linked issues: {issue}, {elsewhere}\n");
    assert!(said.contains(&shown), "{said}");
    assert!(!said.contains(&commented), "{said}");
    let elsewhere_on = "tangled:alice.test/other";
    for (uri, repo, state) in [
        (&issue, WIDGET, "CLOSED"),
        (&commented, WIDGET, "OPEN"),
        (&elsewhere, elsewhere_on, "OPEN"),
    ] {
        let view = ["issue", "view", uri, "--json", "state", "-R", repo];
        let view = tangled.forge(&tangled.alice, &view).output().success();
        assert_eq!(view.json()["state"], state, "{uri}");
    }
    let again = on(&["workflow", "reconcile", &pull, "--json"]);
    let again = again.output().success().json();
    assert_eq!(again["transitioned"], json!([]), "{again}");
}
