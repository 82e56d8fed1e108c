//! Runs the walk-through of `docs/how-to/tangled.md` line by line in a shell, as two accounts.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use forge_tangled_world::{Account, Fault, Moods};
use forge_testkit::{Identity, forge_binary, workspace_root};
use serde_json::json;

use super::world::{PASSWORD, Tangled};

const COMMENT: &str = "sh.tangled.feed.comment";

/// A step of the page.
enum Step {
    /// An event between commands. A comment on the page describes it.
    Meanwhile(String),
    /// A line that an account types, and the output that the page shows.
    Typed {
        who: String,
        line: String,
        output: String,
    },
}

/// Returns the steps of a page: the lines in its `console` blocks, and the comments between the
/// blocks.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut in_console = false;
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            in_console = language == "console";
            continue;
        }
        if !in_console {
            let comment = line.strip_prefix("<!-- ");
            let comment = comment.and_then(|it| it.strip_suffix(" -->"));
            steps.extend(comment.map(|it| Step::Meanwhile(it.to_owned())));
            continue;
        }
        let typed = line.split_once("$ ");
        if let Some((who, line)) = typed.filter(|(who, _)| ["alice", "bob"].contains(who)) {
            steps.push(Step::Typed {
                who: who.to_owned(),
                line: line.to_owned(),
                output: String::new(),
            });
        } else if let Some(Step::Typed { output, .. }) = steps.last_mut() {
            output.push_str(line);
            output.push('\n');
        } else {
            panic!("no command printed this: {line}");
        }
    }
    steps
}

/// The latest printed record URI of each collection.
type Printed = BTreeMap<String, String>;

/// Stores the record URIs that an output contains.
fn note(output: &str, printed: &mut Printed) {
    for (at, _) in output.match_indices("at://") {
        let rest = &output[at..];
        let ends = |c: char| !c.is_ascii_alphanumeric() && !"/:.".contains(c);
        let uri = rest.split(ends).next().unwrap_or_default();
        let uri = uri.trim_end_matches(['/', ':', '.']);
        if let Some(collection) = uri.split('/').nth(3) {
            printed.insert(collection.to_owned(), uri.to_owned());
        }
    }
}

/// Replaces the page's record URIs in a line by the URIs that this run printed.
fn with_own_uris(line: &str, printed: &Printed) -> String {
    let mut line = line.to_owned();
    for (collection, uri) in printed {
        line = line.replace(&format!("at://did:plc:…/{collection}/3…"), uri);
    }
    line
}

/// Causes the event that a comment of the page describes.
fn cause_event(t: &Tangled, what: &str, printed: &Printed) {
    match what.strip_prefix("index: ") {
        Some(mood) => set_index_mood(t, mood),
        None if what == "Bob may push no more" => {
            t.world.knot().remove_collaborator(&t.repo, &t.bob.did);
        }
        None if what == "minutes pass" => backdate_lost_comment(t, &printed[COMMENT]),
        None => panic!("the page says what cannot be done: {what}"),
    }
}

/// Gives the index a fault. Records that wait for ingestion are ingested under this fault.
fn set_index_mood(t: &Tangled, mood: &str) {
    let index = t.world.index();
    index.host().clear_faults();
    index.host().set_down(mood == "down");
    let well = Moods::default();
    index.set_moods(match mood {
        "slow" => Moods {
            lag: Duration::from_millis(600),
            ..well
        },
        "behind" => Moods {
            lag: Duration::from_secs(600),
            ..well
        },
        "of 2025" => Moods {
            pulls: false,
            statuses: false,
            ..well
        },
        "of May 2026" => Moods {
            statuses: false,
            ..well
        },
        "another version" => Moods {
            other_cid: true,
            ..well
        },
        "strict" => Moods {
            drops_unauthorised: true,
            ..well
        },
        "well" | "loses the next comment" | "busy" | "down" => well,
        other => panic!("the page names a mood that the index has not: {other}"),
    });
    match mood {
        "loses the next comment" => index.lose_next(COMMENT, 1),
        "busy" => index.host().fault(Fault::rate_limited(600).always()),
        _ => {}
    }
}

/// Moves the creation time of a comment, which the index has lost, back by five minutes.
fn backdate_lost_comment(t: &Tangled, uri: &str) {
    let (_, mut record) = t.world.pds().record(uri).unwrap();
    let written = chrono::Utc::now() - chrono::TimeDelta::minutes(5);
    record["createdAt"] = json!(written.to_rfc3339());
    let parts: Vec<&str> = uri.split('/').collect();
    t.world.index().lose_next(COMMENT, 1);
    t.world.pds().put(parts[2], COMMENT, parts[4], record);
}

/// Runs a line in the account's clone, or in the account's home directory if there is no clone yet.
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
        Some(code) => format!("exit: {code}\n"),
        None => "a signal ended it\n".to_owned(),
    };
    output.stdout_text() + &failed
}

/// Replaces keys, DIDs, versions, times, addresses and system messages by the placeholders on the
/// page.
fn shown(t: &Tangled, who: &str, text: &str) -> String {
    let config = t.scratch.path(who).join("config").display().to_string();
    let text = text.replace(&config, &format!("/home/{who}/.config/forge"));
    let text = t
        .stable(&text)
        .replace("[alice]", "did:plc:…")
        .replace("[bob]", "did:plc:…")
        .replace("[key]", "3…")
        .replace("[cid]", "bafy…")
        .replace("[time]", "…")
        .replace("[index]", "api.tangled.org")
        .replace("[pds]", "pds.example");
    let mut lines = String::new();
    for line in text.lines() {
        match line.split_once(" was complete: ") {
            Some((before, _)) => lines.push_str(&format!("{before} was complete: …")),
            None => lines.push_str(line),
        }
        lines.push('\n');
    }
    lines
}

#[test]
fn commands_of_tangled_page_work_as_written() {
    let page = fs::read_to_string(workspace_root().join("docs/how-to/tangled.md")).unwrap();
    let steps = steps(&page);
    assert!(steps.len() >= 40, "the page has {} steps", steps.len());
    let t = Tangled::new();
    for who in ["alice", "bob"] {
        t.scratch.write(format!("{who}/password"), PASSWORD);
    }
    // A knot accepts pushes only over ssh. This script replaces ssh, and runs the server's command
    // locally.
    let path = t.repo.path().to_str().unwrap();
    let other_end = format!("for last; do :; done\nexec \"${{last%% *}}\" '{path}'\n");
    t.scratch.write("ssh", other_end);
    let mut printed = Printed::new();
    // The test runs every line before it fails, so that one run reports all mistakes on the page.
    let mut wrong = String::new();
    for step in &steps {
        let (who, line, output) = match step {
            Step::Meanwhile(what) => {
                cause_event(&t, what, &printed);
                continue;
            }
            Step::Typed { who, line, output } => (who, line, output),
        };
        let (account, identity) = match who.as_str() {
            "alice" => (&t.alice, &Identity::ADA),
            _ => (&t.bob, &Identity::GRACE),
        };
        let said = run(&t, account, identity, &with_own_uris(line, &printed));
        note(&said, &mut printed);
        let said = shown(&t, who, &said);
        if said != *output {
            wrong.push_str(&format!(
                "{who}$ {line}\n--- on the page\n{output}+++ in truth\n{said}\n"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/how-to/tangled.md says otherwise\n\n{wrong}"
    );
}
