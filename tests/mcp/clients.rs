//! Configures clients with the printed snippets, on every forge.

use std::fs;

use forge_testkit::{Identity, Run, Terminal, workspace_root};
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    tangled_world::{Tangled, WIDGET},
    world::{LEGACY, MODERN, Wire, World},
};

/// Every client for which `mcp config` prints a snippet.
const CLIENTS: [&str; 8] = [
    "claude-code",
    "claude-desktop",
    "vscode",
    "cursor",
    "windsurf",
    "gemini",
    "codex",
    "other",
];

#[test]
fn config_without_client_prints_general_form_and_lists_clients() {
    let world = World::with_feature();
    let run = world.forge_as(&Identity::ADA, &[]);
    let done = run.args(["mcp", "config", "--write"]).output();
    assert_eq!(done.code, Some(0), "{done:?}");
    let (_, args) = command("other", &done.stdout_text());
    assert_eq!(args, ["mcp", "--write"]);
    for client in CLIENTS {
        assert!(done.stderr_text().contains(client), "{done:?}");
    }
}

#[test]
fn server_on_terminal_names_config_command() {
    let world = World::with_feature();
    let run = world.forge_as(&Identity::ADA, &[]).args(["mcp"]);
    let mut terminal = Terminal::start(&run, 100, 24);
    terminal.expect("forge mcp config");
    // Ctrl-D ends the input, and thus the server.
    terminal.send("\u{4}");
    assert_eq!(terminal.finish().code, Some(0));
}

/// Splits a shell line into words.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.trim().chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// Returns the program and the arguments that a client starts, according to a snippet.
fn command(client: &str, snippet: &str) -> (String, Vec<String>) {
    let of_json = |server: &Value| {
        let args = server["args"].as_array().unwrap().iter();
        let args = args.map(|a| a.as_str().unwrap().to_owned()).collect();
        (server["command"].as_str().unwrap().to_owned(), args)
    };
    match client {
        "claude-code" => {
            let mut words = words(snippet);
            let own = words.split_off(words.iter().position(|w| w == "--").unwrap() + 1);
            assert_eq!(words, ["claude", "mcp", "add", "forge", "--"]);
            (own[0].clone(), own[1..].to_vec())
        }
        "codex" => {
            let lines = snippet.strip_prefix("[mcp_servers.forge]\n").unwrap();
            let pairs = lines.lines().filter_map(|l| l.split_once(" = "));
            let object: serde_json::Map<String, Value> = pairs
                .map(|(k, v)| (k.to_owned(), serde_json::from_str(v).unwrap()))
                .collect();
            of_json(&Value::Object(object))
        }
        _ => {
            let all: Value = serde_json::from_str(snippet).unwrap();
            let key = if client == "vscode" {
                "servers"
            } else {
                "mcpServers"
            };
            if client == "vscode" {
                assert_eq!(all[key]["forge"]["type"], "stdio");
            }
            of_json(&all[key]["forge"])
        }
    }
}

/// A function that runs `forge` with arguments.
type Forge = Box<dyn Fn(&[&str]) -> Run>;

/// A repository on a forge, and a function that runs `forge` in it.
struct Place {
    forge: Forge,
    repo: String,
    title: &'static str,
}

fn places() -> [Place; 3] {
    let hub = Hub::with_files(1);
    let github = Place {
        repo: REPO.to_owned(),
        title: "Work",
        forge: Box::new(move |args| hub.forge(args)),
    };
    let tangled = Tangled::new();
    tangled.open("topic");
    let tangled = Place {
        repo: WIDGET.to_owned(),
        title: "T",
        forge: Box::new(move |args| tangled.forge(&tangled.alice, args)),
    };
    let world = World::with_feature();
    let local = Place {
        repo: world.git.path().display().to_string(),
        title: "Add a feature",
        forge: Box::new(move |args| world.forge_as(&Identity::GRACE, &[]).args(args)),
    };
    [github, tangled, local]
}

#[test]
fn config_snippets_start_servers_on_every_forge() {
    let places = places();
    let unknown = (places[2].forge)(&["mcp", "config", "--client", "nothing"]);
    let said = unknown.output().stderr_text();
    for (n, client) in CLIENTS.iter().enumerate() {
        assert!(said.contains(client), "{client} is not in: {said}");
        let Place { forge, repo, title } = &places[n % places.len()];
        let asked = ["mcp", "config", "--client", client];
        let allowed = ["--write", "--allow-repo", repo];
        let snippet = forge(&asked).args(allowed).text();
        let (program, args) = command(client, &snippet);
        assert_eq!(args, ["mcp", "--write", "--allow-repo", repo], "{client}");
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run = forge(&args).program(program);
        let mut wire = Wire::start(&run, if n % 2 == 0 { MODERN } else { LEGACY });
        assert!(wire.tools().iter().any(|t| t["name"] == "pr_merge"));
        let list = wire.call("pr_list", json!({"repo": repo})).ok();
        assert_eq!(list.data()["pull_requests"][0]["title"], *title, "{client}");
        wire.call("forge_status", json!({"repo": repo})).ok();
    }
}

/// A client may start the server in another directory than that in which the user printed the
/// snippet.
#[test]
fn relative_paths_in_snippets_become_absolute() {
    let world = World::with_feature();
    let forge = |args: &[&str]| world.forge_as(&Identity::GRACE, &[]).args(args);
    let config = ["mcp", "config", "--client", "cursor", "--write"];
    let here = world.git.path().canonicalize().unwrap();
    let home = world.scratch.path("home");
    let lists = ["--allow-repo", ".", "--allow-repo", "~/srv/*"];
    let snippet = forge(&config)
        .dir(&here)
        .args(lists)
        .args(["--allow-write", "./*", "--allow-write", "octo/*"])
        .args(["--allow-path", "../sub/dir", "--allow-path", "~/src/*"])
        .args([
            "--confirm-required",
            "--no-merge",
            "--tools",
            "pr_view,pr_merge",
        ])
        .args(["--exclude-tools", "pr_list"])
        .text();
    let wanted = [
        "mcp".to_owned(),
        "--write".to_owned(),
        "--confirm-required".to_owned(),
        "--no-merge".to_owned(),
        "--tools".to_owned(),
        "pr_view,pr_merge".to_owned(),
        "--exclude-tools".to_owned(),
        "pr_list".to_owned(),
        "--allow-repo".to_owned(),
        here.display().to_string(),
        "--allow-repo".to_owned(),
        format!("{}/srv/*", home.display()),
        "--allow-path".to_owned(),
        format!("{}/../sub/dir", here.display()),
        "--allow-path".to_owned(),
        format!("{}/src/*", home.display()),
        "--allow-write".to_owned(),
        format!("{}/*", here.display()),
        "--allow-write".to_owned(),
        "octo/*".to_owned(),
    ];
    assert_eq!(command("cursor", &snippet).1, wanted);
    // `mcp config` refuses the same arguments as the server.
    for run in [forge(&config), forge(&["mcp", "--write"])] {
        for (args, why) in [
            (
                ["--allow-repo", "*"],
                "'*' is not a pattern for repositories",
            ),
            (
                ["--allow-path", "/a*b"],
                "'/a*b' is not a pattern for directories",
            ),
            (["--tools", "pr_veiw"], "there is no tool 'pr_veiw'"),
            (["--exclude-tools", "merge"], "there is no tool 'merge'"),
        ] {
            let _ = run.clone().args(args).output().exits(1).says(why);
        }
    }
}

#[test]
fn page_shows_the_generated_snippets() {
    let world = World::with_feature();
    let page = fs::read_to_string(workspace_root().join("docs/how-to/agents.md")).unwrap();
    // The command line is for Claude Code.
    let line = page.lines().find_map(|l| l.strip_prefix("claude mcp add "));
    let line = line.unwrap().split('#').next().unwrap();
    let (program, args) = command("claude-code", &format!("claude mcp add {line}"));
    assert_eq!((program.as_str(), args), ("forge", vec!["mcp".to_owned()]));
    // The JSON object is for most other clients.
    let block = page.split("```json\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let (program, args) = command("cursor", block);
    assert_eq!((program.as_str(), args), ("forge", vec!["mcp".to_owned()]));
    // The page's other command lines print configurations.
    let typed = page
        .lines()
        .filter_map(|l| l.strip_prefix("forge mcp config "));
    let mut count = 0;
    for line in typed {
        let line = line.split(" #").next().unwrap();
        let run = world.forge_as(&Identity::ADA, &[]);
        let snippet = run.args(["mcp", "config"]).args(words(line)).text();
        assert!(snippet.contains("mcp"), "{line}: {snippet}");
        count += 1;
    }
    assert!(count > 0, "no page without a command");
}
