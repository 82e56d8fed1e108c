//! Tests `--attach`: what both programs upload, and the text that results.

use std::fs;

use forge_github_double::Fault;
use serde_json::Value;

use crate::world::{REPO, Tool, World};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0000";

fn world() -> World {
    let world = World::new();
    world.push("feature");
    let dir = world.clone_dir();
    fs::create_dir(dir.join("shots")).unwrap();
    for name in ["a.png", "b b.png", "shots/c.png", "v.mp4"] {
        fs::write(dir.join(name), PNG).unwrap();
    }
    let text = "See ![c](c.png), ![a](../a.png) and [the film](../v.mp4).\n";
    fs::write(dir.join("shots/body.md"), text).unwrap();
    world
}

/// Returns the names of the uploaded files, in the order of upload.
fn uploaded(world: &World) -> Vec<String> {
    let seed = world.double.seed();
    seed.assets.iter().map(|a| a.name.clone()).collect()
}

/// Returns the text of the pull request or of its last comment, without the numbers of uploads.
fn text(world: &World, jq: &str) -> String {
    let fields = ["pr", "view", "1", "--json", "body,comments", "-q", jq];
    let text = world.ok(Tool::Gh, &fields);
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[test]
fn attached_files_give_the_same_text_as_gh() {
    let last = ".comments[-1].body";
    for (args, jq) in [
        (&["comment", "1", "--attach", "a.png"][..], last),
        (
            &[
                "comment",
                "1",
                "-b",
                "Text",
                "--attach",
                "a.png#An [alt]",
                "--attach",
                "b b.png",
            ],
            last,
        ),
        (
            &["comment", "1", "-b", "The film", "--attach", "v.mp4"],
            last,
        ),
        (
            &[
                "comment",
                "1",
                "-b",
                "![x](./a.png) ![y](<b b.png>)",
                "--attach",
                "a.png",
                "--attach",
                "b b.png",
            ],
            last,
        ),
        (
            &[
                "comment",
                "1",
                "-F",
                "shots/body.md",
                "--attach",
                "shots/c.png",
                "--attach",
                "a.png",
                "--attach",
                "v.mp4",
            ],
            last,
        ),
        (
            &[
                "comment",
                "1",
                "--edit-last",
                "--create-if-none",
                "--attach",
                "a.png",
            ],
            last,
        ),
        (&["edit", "1", "--attach", "a.png"], ".body"),
        (&["edit", "1", "-b", "New", "--attach", "a.png"], ".body"),
    ] {
        let [ours, theirs] = [Tool::Forge, Tool::Gh].map(|tool| {
            let world = world();
            world.ok(Tool::Gh, &["pr", "create", "-t", "T", "-b", "Body"]);
            world.ok(tool, &[&["pr"], args].concat());
            (text(&world, jq), uploaded(&world))
        });
        assert_eq!(ours, theirs, "{args:?}: forge on the left, gh on the right");
        assert!(!ours.1.is_empty());
    }
}

#[test]
fn issues_with_attached_files_read_as_with_gh() {
    let [ours, theirs] = [Tool::Forge, Tool::Gh].map(|tool| {
        let world = world();
        for line in [
            "issue create -t T -b 'See ![x](./a.png)' --attach a.png --attach v.mp4",
            "issue comment 1 --attach 'b b.png#An alt'",
            "issue comment 1 -b Text --attach a.png",
        ] {
            world.command(tool, line).ok();
        }
        let fields = ["issue", "view", "1", "--json", "body,comments"];
        let jq = ["-q", "[.body, .comments[].body]"];
        let text = world.ok(Tool::Gh, &[&fields[..], &jq].concat());
        let text: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
        (text, uploaded(&world))
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours.1, ["a.png", "v.mp4", "b b.png", "a.png"]);
}

#[test]
fn create_attaches_pictures() {
    let [ours, theirs] = [Tool::Forge, Tool::Gh].map(|tool| {
        let world = world();
        let args = [
            "pr", "create", "-t", "T", "-b", "Body", "--attach", "a.png", "--attach", "v.mp4",
        ];
        let url = world.ok(tool, &args);
        assert!(url.ends_with("/pull/1\n"), "{url}");
        (text(&world, ".body"), uploaded(&world))
    });
    assert_eq!(ours, theirs);
    assert!(
        ours.0
            .contains("![a](http://github.localhost/user-attachments/assets/"),
        "{}",
        ours.0
    );
}

#[test]
fn bad_attachment_is_refused_before_requests_like_gh() {
    let world = world();
    world.ok(Tool::Gh, &["pr", "create", "-t", "T", "-b", "Body"]);
    let text = world.clone_dir().join("notes.txt");
    fs::write(text, "x").unwrap();
    for args in [
        &["pr", "comment", "1", "--attach", "notes.txt"][..],
        &["pr", "comment", "1", "--attach", "none.png"],
        &["pr", "comment", "1", "--attach", "shots"],
        &["pr", "comment", "1", "--attach", "v.mp4#alt"],
        &[
            "pr", "comment", "1", "--attach", "a.png", "--attach", "./a.png",
        ],
        &["pr", "comment", "1", "--attach", "a.png", "--web"],
        &[
            "pr",
            "comment",
            "1",
            "--attach",
            "a.png",
            "--delete-last",
            "--yes",
        ],
        &[
            "pr",
            "create",
            "-t",
            "T",
            "-b",
            "B",
            "--attach",
            "a.png",
            "--dry-run",
        ],
        &[
            "pr", "create", "-t", "T", "-b", "B", "--attach", "a.png", "--web",
        ],
    ] {
        world.same_refusal(args);
    }
    assert_eq!(uploaded(&world), Vec::<String>::new());
    assert!(world.double.seed().comments_of(REPO, 1).is_empty());
}

/// After a failed upload gh stops, but `forge` uploads the remaining files. Both keep the finished
/// uploads, name the failed files, and exit with 1.
#[test]
fn failed_attachment_is_named_and_others_kept() {
    for tool in [Tool::Forge, Tool::Gh] {
        let world = world();
        world.ok(Tool::Gh, &["pr", "create", "-t", "T", "-b", "Body"]);
        world.double.fault(
            Fault::status(422)
                .on_path("/user-attachments/assets")
                .skip(1),
        );
        let args = [
            "pr", "comment", "1", "-b", "x", "--attach", "a.png", "--attach", "b b.png",
        ];
        let out = world.tool(tool, &args);
        assert_eq!(out.code, Some(1), "{out:?}");
        assert!(out.stdout_text().contains("#issuecomment-"), "{out:?}");
        // `forge` uploads concurrently, so either file can be the second.
        let there = uploaded(&world);
        assert_eq!(there.len(), 1);
        let missing = if there == ["a.png"] {
            "b b.png"
        } else {
            "a.png"
        };
        let said = format!("could not upload {missing}");
        assert!(out.stderr_text().contains(&said), "{out:?}");
        world
            .double
            .fault(Fault::status(422).on_path("/user-attachments/assets"));
        let out = world.tool(
            tool,
            &["pr", "comment", "1", "-b", "x", "--attach", "a.png"],
        );
        assert_eq!(out.code, Some(1), "{out:?}");
        assert_eq!(world.double.seed().comments_of(REPO, 1).len(), 1);
    }
}

#[test]
fn attachments_take_two_more_requests() {
    let world = world();
    world.ok(Tool::Gh, &["pr", "create", "-t", "T", "-b", "Body"]);
    world.double.reset_record();
    world.ok(
        Tool::Forge,
        &["pr", "comment", "1", "-b", "x", "--attach", "a.png"],
    );
    assert_eq!(world.double.counts().api, 4);
    let sent: Vec<Value> = world
        .double
        .requests()
        .iter()
        .map(|r| r.path.clone().into())
        .collect();
    assert!(
        sent.contains(&"/user-attachments/assets".into()),
        "{sent:?}"
    );
}
