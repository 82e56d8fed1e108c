//! The walk-through of `docs/tangled.md`, typed as it stands there, in a shell, by two accounts.

use std::{fs, path::PathBuf};

use forge_testkit::{Identity, forge_binary, tangled::Account, workspace_root};

use super::world::{PASSWORD, Tangled};

/// A command of the page: who types it, the line, and what is printed.
struct Step {
    who: String,
    line: String,
    output: String,
}

/// The steps of the `console` blocks of a page.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let blocks = page.split("```console\n").skip(1);
    for block in blocks.filter_map(|block| block.split("```").next()) {
        for line in block.lines() {
            match line.split_once("$ ") {
                Some((who, line)) if ["alice", "bob"].contains(&who) => steps.push(Step {
                    who: who.to_owned(),
                    line: line.to_owned(),
                    output: String::new(),
                }),
                _ => {
                    let step = steps.last_mut().expect("output follows a command");
                    step.output.push_str(line);
                    step.output.push('\n');
                }
            }
        }
    }
    steps
}

/// Runs a line where its account is: in its clone, once there is one.
fn run(t: &Tangled, account: &Account, identity: &Identity, line: &str) -> String {
    let who = account.handle.trim_end_matches(".test");
    let home = t.scratch.path(who);
    let clone = home.join("widget");
    let dir: PathBuf = if clone.is_dir() { clone } else { home.clone() };
    let program = forge_binary();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let run = t
        .services()
        .into_iter()
        .chain(identity.variables().map(|(k, v)| (k, v.to_owned())))
        .fold(t.scratch.run("sh"), |run, (key, value)| run.env(key, value))
        .env("PATH", path)
        .env(
            "GIT_SSH_COMMAND",
            format!("sh {}", t.scratch.path("ssh").display()),
        )
        .env("GIT_SSH_VARIANT", "simple")
        .env("FORGE_CONFIG_DIR", home.join("config"))
        .dir(dir)
        .args(["-c", &format!("{{ {line}\n}} 2>&1")]);
    let output = run.output();
    let failed = match output.code {
        Some(0) => String::new(),
        code => format!("exit: {code:?}\n"),
    };
    shown(t, &(output.stdout_text() + &failed))
}

/// What the page has in place of keys, DIDs, times and addresses.
fn shown(t: &Tangled, text: &str) -> String {
    t.stable(text)
        .replace("[alice]", "did:plc:…")
        .replace("[bob]", "did:plc:…")
        .replace("[key]", "3…")
        .replace("[time]", "…")
        .replace("[index]", "api.tangled.org")
}

#[test]
fn the_walk_through_of_the_page_works_as_it_is_written() {
    let page = fs::read_to_string(workspace_root().join("docs/tangled.md")).unwrap();
    let steps = steps(&page);
    assert!(steps.len() >= 10, "the page has {} steps", steps.len());
    let t = Tangled::new();
    for who in ["alice", "bob"] {
        t.scratch.write(format!("{who}/password"), PASSWORD);
    }
    // A knot takes pushes over ssh: this stands for the other end of the connection.
    let path = t.repo.path().to_str().unwrap();
    let other_end = format!("for last; do :; done\nexec \"${{last%% *}}\" '{path}'\n");
    t.scratch.write("ssh", other_end);
    let mut printed = String::new();
    let mut written = String::new();
    for step in &steps {
        let (account, identity) = match step.who.as_str() {
            "alice" => (&t.alice, &Identity::ADA),
            _ => (&t.bob, &Identity::GRACE),
        };
        let output = run(&t, account, identity, &step.line);
        printed.push_str(&format!("{}$ {}\n{output}", step.who, step.line));
        written.push_str(&format!("{}$ {}\n{}", step.who, step.line, step.output));
    }
    assert_eq!(printed, written, "docs/tangled.md says otherwise");
}
