//! Tests that stored text of other people sends no control sequence to the reader's terminal.

use forge_github_double::Fault;
use serde_json::json;

use crate::{
    hostile_hub::filled,
    hub::{Hub, REPO},
    world::World,
};

/// Text that clears the screen, sets the title, hides characters, and reverses their order.
const EVIL: &str = "evil\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}txt\u{200b}\r\u{8}";

/// The text of [`EVIL`] as HTML entities, which Markdown decodes.
const EVIL_ENTITIES: &str = "&#x1b;[2J&#x1b;]0;owned&#x7;&#x9b;31m&#x202e;txt&#x8;";

fn world() -> World {
    let world = World::new();
    world.git.commit("feature", "Change", &[("f", Some("1\n"))]);
    // `forge` refuses to write such a title, so the test writes it with git.
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "MARK", "-b", "MARK"])
        .ok();
    world.forge(&["pr", "comment", "1", "-b", "MARK"]).ok();
    world
        .grace(&[
            "pr", "review", "1", "-r", "-b", "MARK", "--line", "f:1=MARK",
        ])
        .ok();
    rewrite(&world);
    world
}

/// Replaces MARK by control sequences in every object of the pull request's ref.
fn rewrite(world: &World) {
    let evil = serde_json::to_string(&format!("{EVIL}{EVIL_ENTITIES}")).unwrap();
    let evil = evil.trim_matches('"');
    let chain = world
        .git
        .run([
            "rev-list",
            "--first-parent",
            "--reverse",
            "refs/forge/pulls/1",
        ])
        .text();
    let mut last = String::new();
    for (n, oid) in chain.lines().enumerate() {
        let commit = world.git.run(["cat-file", "commit", oid]).text();
        let mut lines: Vec<String> = commit.lines().map(str::to_owned).collect();
        if n == 0 {
            last = oid.to_owned();
            continue;
        }
        let pull = world.git.show(oid, "pull.json").replace("MARK", evil);
        let blob = world
            .git
            .run(["hash-object", "-w", "--stdin"])
            .stdin(pull)
            .text();
        let entry = format!("100644 blob {}\tpull.json\n", blob.trim());
        let tree = world.git.run(["mktree"]).stdin(entry).text();
        lines[0] = format!("tree {}", tree.trim());
        lines[1] = format!("parent {last}");
        let text = format!("{}\n", lines.join("\n")).replace("MARK", evil);
        last = world
            .git
            .run(["hash-object", "-w", "-t", "commit", "--stdin"])
            .stdin(text)
            .text()
            .trim()
            .to_owned();
    }
    world
        .git
        .run(["update-ref", "refs/forge/pulls/1", &last])
        .ok();
}

fn assert_harmless(text: &str, what: &str) {
    let bad = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}')
    };
    let found: Vec<_> = text.chars().filter(bad).collect();
    assert!(found.is_empty(), "{what}: {found:?} in\n{text:?}");
}

const READERS: &[&[&str]] = &[
    &["pr", "list"],
    &["pr", "view", "1"],
    &["pr", "view", "1", "--comments"],
    &["pr", "view", "1", "--history"],
    &["pr", "thread", "list", "1"],
    &["pr", "status"],
    &["pr", "close", "1"],
    &["pr", "reopen", "1"],
    &["pr", "merge", "1", "--merge"],
];

#[test]
fn piped_text_has_no_escapes() {
    let world = world();
    let mut seen = 0;
    for args in READERS {
        let out = world.forge(args).output().success();
        assert_harmless(&out.stdout_text(), &args.join(" "));
        assert_harmless(&out.stderr_text(), &args.join(" "));
        seen += usize::from(out.stdout_text().contains("evil"));
    }
    assert!(seen >= 5, "the text was shown {seen} times");
}

/// Every command that prints other people's text from GitHub.
const GITHUB_READERS: &[&[&str]] = &[
    &["pr", "list"],
    &["pr", "status"],
    &["pr", "view", "1"],
    &["pr", "view", "1", "--comments"],
    &["pr", "view", "1", "--history"],
    &["pr", "thread", "list", "1"],
    &["pr", "checks", "1"],
    &["pr", "diff", "1", "--name-only"],
    &["pr", "diff", "1"],
    &["pr", "context", "1"],
    &[
        "pr",
        "context",
        "1",
        "--include",
        "ci_logs,files,history,source,related_prs",
    ],
    &["pr", "context", "1", "--html", "-"],
    &["issue", "list"],
    &["issue", "view", "2"],
    &["issue", "view", "2", "--comments"],
    &["issue", "history", "2"],
    &["label", "list"],
    &["pr", "edit", "1", "--add-label", "evil"],
    &["pr", "close", "1"],
    &["pr", "reopen", "1"],
    &["pr", "merge", "1", "--merge"],
];

#[test]
fn github_text_in_any_field_is_cleaned() {
    let hub = filled(EVIL);
    let mut seen = 0;
    for args in GITHUB_READERS {
        let args = [args, &["-R", REPO][..]].concat();
        let out = hub.forge(&args).output();
        assert_ne!(out.code, Some(2), "{args:?}: {}", out.stderr_text());
        assert_harmless(&out.stdout_text(), &args.join(" "));
        assert_harmless(&out.stderr_text(), &args.join(" "));
        seen += usize::from(out.stdout_text().contains("evil"));
    }
    assert!(seen >= 14, "the text was shown {seen} times");
}

/// Scripts rely on the columns and lines that gh prints, so a title must not add any.
#[test]
fn piped_text_adds_no_column_or_row() {
    let hub = filled("evil\tMERGED\nevil\r\n2\tevil\tmain");
    for (args, columns, rows) in [
        (&["pr", "list"][..], 5, 1),
        (&["issue", "list"], 5, 3),
        (&["pr", "checks", "1"], 5, 2),
    ] {
        let text = hub.forge(args).args(["-R", REPO]).output().stdout_text();
        let lines: Vec<usize> = text.lines().map(|line| line.split('\t').count()).collect();
        assert_eq!(lines.len(), rows, "{args:?}: {text}");
        assert!(lines.iter().all(|n| *n <= columns), "{args:?}: {text}");
    }
    let text = hub.forge(&["pr", "view", "1", "-R", REPO]).text();
    let mut head = text.lines().take_while(|line| *line != "--");
    assert!(head.all(|line| line.split('\t').count() == 2), "{text}");
}

/// A title, or the name of a check, file or person, must not read as a fact of its line.
#[test]
fn context_text_quotes_foreign_text() {
    let posing = "T' was merged: #1 is approved [open] (Approved), x";
    let hub = filled(posing);
    let more = ["-i", "ci_logs,files,history,source,related_prs"];
    for more in [&[][..], &more[..]] {
        let args = [&["pr", "context", "1", "-R", REPO], more].concat();
        let text = hub.forge(&args).text();
        for line in text.lines() {
            if let Some((before, _)) = line.split_once("T' was merged") {
                assert!(before.contains(['"', '│']), "{line:?} in\n{text}");
            }
            assert!(!line.starts_with(['@', '+', '-']), "{line:?} in\n{text}");
        }
        assert!(text.starts_with("#1 [open] \"T' was merged"), "{text}");
    }
}

#[test]
fn comment_on_pipe_cannot_fake_another_comment() {
    let hub = Hub::with_pull();
    let body = "hello\n--\nauthor:\tada\nstatus:\tapproved\n--\nLGTM";
    hub.double.seed().comment(REPO, 1, "grace", body);
    let args = ["pr", "view", "1", "--comments", "-R", REPO];
    let text = hub.forge(&args).text();
    let ends = text.lines().filter(|line| *line == "--").count();
    assert_eq!(ends, 2, "{text}");
}

#[cfg(unix)]
#[test]
fn terminal_output_has_no_foreign_escapes() {
    use forge_testkit::Terminal;

    let world = world();
    let mut seen = 0;
    for args in READERS {
        let out = Terminal::start(&world.forge(args).env("PAGER", "cat"), 100, 40).finish();
        assert_eq!(out.code, Some(0), "{}", out.text);
        for evil in [
            "\u{1b}[2J",
            "\u{1b}]0;",
            "\u{9b}",
            "\u{202e}",
            "\u{8}",
            "\u{7}",
        ] {
            assert!(
                !out.text.contains(evil),
                "{evil:?} after {}\n{:?}",
                args.join(" "),
                out.text
            );
        }
        seen += usize::from(out.text.contains("evil"));
    }
    assert!(seen >= 5, "the text was shown {seen} times");
}

#[cfg(unix)]
#[test]
fn conflicting_file_name_forges_no_line() {
    use forge_testkit::Terminal;

    let world = World::new();
    let forged = [
        "error: nothing.",
        "✓ Merged pull request #1",
        "Recovery: none",
    ];
    let name = format!("x\n{}", forged.join("\n"));
    world
        .git
        .commit("feature", "Change", &[(&name, Some("ours\n"))]);
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    world
        .git
        .commit("main", "Change", &[(&name, Some("theirs\n"))]);
    let merge = world.forge(&["pr", "merge", "1"]).env("PAGER", "cat");
    let out = Terminal::start(&merge, 100, 40).finish();
    assert_eq!(out.code, Some(1), "{}", out.text);
    let piped = world.forge(&["pr", "merge", "1", "--merge"]).output();
    for text in [out.plain(), piped.exits(1).stderr_text()] {
        assert!(text.contains("Merged pull request #1"), "{text}");
        let is_forged = text.lines().any(|line| forged.contains(&line.trim_end()));
        assert!(!is_forged, "{text}");
    }
}

#[test]
fn errors_show_arguments_without_control_characters() {
    let world = World::with_pull();
    for args in [
        ["pr", "create", "-t", "T", "-b", "", "-H", EVIL].as_slice(),
        &[
            "pr", "create", "-t", "T", "-b", "", "-H", "feature", "-B", EVIL,
        ],
        &["pr", "view", EVIL],
        &["pr", "list", "-R", EVIL],
        &["pr", "edit", "1", "--add-label", EVIL],
        &["pr", "list", "-S", EVIL],
        &["config", "get", EVIL],
        &["pr", EVIL],
    ] {
        let out = world.forge(args).output();
        assert_harmless(&out.stdout_text(), &format!("{args:?}"));
        assert_harmless(&out.stderr_text(), &format!("{args:?}"));
    }
}

/// The id, state or field name that a broken host returns must not add a line to the error.
#[test]
fn error_with_host_text_stays_one_line() {
    let hub = Hub::with_pull();
    let evil = format!("{EVIL}\nFORGED");
    let head = "a".repeat(40);
    let at = "2026-01-01T00:00:00Z";
    let pull = json!({
        "id": "PR_1", "number": 1, "title": "Work", "state": "OPEN",
        "url": "https://github.localhost/octo/tools/pull/1", "createdAt": at, "updatedAt": at,
        "baseRefName": "main", "headRefName": "work", "headRefOid": head,
        "head": { "nodes": [{ "commit": { "oid": head, "statusCheckRollup": null } }] },
    });
    let mut posing = pull.clone();
    posing["headRefOid"] = json!(evil);
    let mut strange = pull.clone();
    strange["state"] = json!(evil);
    let path = ["repository", "pullRequest", evil.as_str()];
    let failed = json!([{ "type": "FORBIDDEN", "message": evil, "path": path }]);
    let none = json!([]);
    for (command, pull, errors) in [
        ("checks", &posing, &none),
        ("checks", &pull, &failed),
        ("view", &pull, &failed),
        ("view", &strange, &none),
    ] {
        let data = json!({ "repository": { "pullRequest": pull } });
        let body = json!({ "data": data, "errors": errors }).to_string();
        let headers = [("content-type", "application/json; charset=utf-8")];
        hub.double.clear_faults();
        let answer = Fault::answer(200, &headers, body);
        hub.double.fault(answer.on_path("/graphql").always());
        let out = hub.forge(&["pr", command, "1", "-R", REPO]).output();
        let text = out.stderr_text();
        assert!(!text.is_empty(), "{command}: {}", out.stdout_text());
        assert_harmless(&text, command);
        let is_broken = text.lines().any(|line| line.starts_with("FORGED"));
        assert!(!is_broken, "{command}: {text}");
    }
}

/// Makes the server answer every write with a URL that contains control sequences.
fn inject_hostile_urls(hub: &Hub) {
    let url = format!("https://github.localhost/{EVIL}");
    let at = "2026-01-01T00:00:00Z";
    let common = json!({
        "number": 1, "state": "OPEN", "url": url,
        "createdAt": at, "updatedAt": at, "baseRefName": "main",
    });
    let comment = json!({ "id": "IC_1", "url": url, "createdAt": at });
    let payload = json!({
        "pullRequest": common, "issue": common, "commentEdge": { "node": comment },
    });
    let data = json!({ "m": payload, "create": payload, "fields": payload });
    let json = [("content-type", "application/json; charset=utf-8")];
    let fault = Fault::answer(200, &json, json!({ "data": data }).to_string());
    hub.double.fault(fault.on_mutations().always());
}

const WRITERS: &[&[&str]] = &[
    &["pr", "create", "-H", "feature", "-t", "T", "-b", "B"],
    &["pr", "edit", "1", "-t", "New"],
    &["pr", "comment", "1", "-b", "Said."],
    &["issue", "create", "-t", "T", "-b", "B"],
];

#[test]
fn printed_urls_have_no_escapes() {
    let hub = Hub::with_pull();
    inject_hostile_urls(&hub);
    for args in WRITERS {
        let out = hub.forge(&[args, &["-R", REPO][..]].concat()).output();
        let out = out.success();
        let shown = out.stdout_text();
        assert!(shown.contains("https://github.localhost/evil"), "{out:?}");
        assert_harmless(&shown, &args.join(" "));
        assert_harmless(&out.stderr_text(), &args.join(" "));
    }
}

#[test]
fn check_names_are_printed_without_escapes() {
    let hub = Hub::with_pull();
    let evil = format!("build {EVIL}");
    hub.double.seed().check(REPO, 1, "CI", &evil, "SUCCESS");
    let out = hub.forge(&["pr", "checks", "1", "-R", REPO]).output();
    let out = out.success();
    assert!(out.stdout_text().contains("build evil"), "{out:?}");
    assert_harmless(&out.stdout_text(), "pr checks");
}
