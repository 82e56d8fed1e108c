//! Runs the worked example of `docs/how-to/workflow.md` line by line in a new git repository.

use std::fs;

use forge_testkit::{Identity, forge_binary, workspace_root};

use crate::world::World;

/// Returns the lines in the `console` blocks of a section, each with the output that the page
/// shows.
fn typed(page: &str, section: &str) -> Vec<(String, String)> {
    let section = page.split(&format!("\n## {section}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut in_console = false;
    for line in section.lines() {
        if let Some(language) = line.strip_prefix("```") {
            in_console = language == "console";
            continue;
        }
        if !in_console {
            continue;
        }
        if let Some(line) = line.strip_prefix("$ ") {
            steps.push((line.to_owned(), String::new()));
        } else if let Some((_, output)) = steps.last_mut() {
            output.push_str(line);
            output.push('\n');
        } else {
            panic!("no command printed this: {line}");
        }
    }
    steps
}

fn is_claim(word: &str) -> bool {
    word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit())
}

/// Replaces ids and times in a text by placeholders, and paths by those on the page.
fn shown(text: &str, world: &World) -> String {
    let path = world.git.path().canonicalize().unwrap();
    let home = world.scratch.path("home").display().to_string();
    let text = text
        .replace(
            &format!("file://{}", path.display()),
            "file:///srv/git/tools",
        )
        .replace(&home, "~");
    let words = text.split_inclusive([' ', '\n']).map(|word| {
        let bare = word.trim_end();
        let is_time = bare.starts_with("20") && bare.matches('-').count() == 2;
        match (is_claim(bare), is_time) {
            (true, _) => word.replace(bare, "CLAIM"),
            (_, true) => word.replace(bare, "TIME"),
            _ => word.to_owned(),
        }
    });
    words.collect()
}

#[test]
fn worked_example_of_the_page_runs_as_written() {
    let page = fs::read_to_string(workspace_root().join("docs/how-to/workflow.md")).unwrap();
    let steps = typed(&page, "A worked example");
    assert!(steps.len() >= 20, "the page has {} steps", steps.len());
    let world = World::new();
    let program = forge_binary();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let mut claim = String::new();
    // The test runs every line before it fails, so that one run reports all mistakes on the page.
    let mut wrong = String::new();
    for (line, printed) in &steps {
        let words = line.split(' ').map(|word| match is_claim(word) {
            true => claim.as_str(),
            false => word,
        });
        let meant = words.collect::<Vec<_>>().join(" ");
        let is_git = line.starts_with("git ");
        if is_git {
            fs::write(world.git.path().join("README.md"), "Sessions end.\n").unwrap();
        }
        let run = Identity::ADA
            .variables()
            .into_iter()
            .fold(world.scratch.run("sh"), |run, (key, value)| {
                run.env(key, value)
            });
        let output = run
            .env("PATH", &path)
            .dir(world.git.path())
            .args(["-c", &format!("{{ {meant}\n}} 2>&1")])
            .output();
        let code = match printed.split([' ', ':']).next() {
            Some("error") => 1,
            Some("none" | "not") => 8,
            _ => 0,
        };
        let text = output.stdout_text();
        let mut words = text.split([' ', '\n']);
        if let Some(made) = words.find(|word| is_claim(word)) {
            claim = made.to_owned();
        }
        let (truth, page) = (shown(&text, &world), shown(printed, &world));
        if output.code != Some(code) || (truth != page && !is_git) {
            wrong.push_str(&format!(
                "$ {line}\n--- on the page\n{page}+++ in truth, with exit code {:?}\n{truth}\n",
                output.code
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/how-to/workflow.md says otherwise\n\n{wrong}"
    );
}
