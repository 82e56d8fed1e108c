//! Tests that the examples on the library's front page run as shown.

use forge_testkit::{example_binary, workspace_root};

use crate::world::World;

#[test]
fn library_example_lists_pulls() {
    let world = World::with_pull();
    let example = example_binary("list");
    let out = world
        .forge(&["local:."])
        .program(&example)
        .output()
        .success();
    let text = out.stdout_text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("1 open in "), "{text}");
    assert!(lines[1].starts_with("#1\t"), "{text}");
    assert!(lines[1].ends_with(&world.url(1)), "{text}");
    let gone = world.forge(&["./nowhere"]).program(&example).output();
    assert_ne!(gone.code, Some(0), "{gone:?}");
}

#[test]
fn library_example_opens_and_merges_pull() {
    let world = World::new();
    let out = world.forge(&[]).program(example_binary("merge"));
    let text = out.output().success().stdout_text();
    let (opened, merged) = text.split_once('\n').unwrap();
    assert_eq!(opened, "opened #1 from polite");
    let commit = merged.trim_end().strip_prefix("merged it as ").unwrap();
    assert_eq!(commit.len(), 40, "{text}");
}

#[test]
fn library_example_prints_capabilities() {
    let world = World::new();
    let out = world.forge(&[]).program(example_binary("capabilities"));
    let text = out.output().success().stdout_text();
    assert!(text.lines().any(|l| l == "yes  pr.create"), "{text}");
    let no = text.lines().find(|l| l.starts_with("no   ")).unwrap();
    assert!(no.contains("; instead: "), "{no}");
}

#[test]
fn library_example_registers_backend() {
    let world = World::new();
    let out = world.forge(&[]).program(example_binary("backend"));
    let text = out.output().success().stdout_text();
    assert!(text.starts_with("0 open in "), "{text}");
    assert!(text.ends_with("/ada/tools\n"), "{text}");
}

#[test]
fn library_example_opens_and_lists_issues() {
    let world = World::new();
    let example = example_binary("issues");
    for number in 1..=2 {
        let run = world.forge(&["local:."]).program(&example);
        let text = run.output().success().stdout_text();
        let mut lines = text.lines();
        let opened = format!("opened #{number}, comments: 1");
        assert_eq!(lines.next(), Some(opened.as_str()), "{text}");
        let newest = format!("#{number}\tGreet the reader");
        assert_eq!(lines.next(), Some(newest.as_str()), "{text}");
        assert_eq!(lines.count(), number - 1, "{text}");
    }
}

#[test]
fn library_example_reviews_pull() {
    let world = World::with_pull();
    let run = world.grace(&["local:.", "1"]);
    let text = run.program(example_binary("review")).output();
    let text = text.success().stdout_text();
    let expected = "file\tfeature.txt\ncommits\t1\nApproved\timmediate\n";
    assert_eq!(text, expected);
}

#[test]
fn backend_page_shows_compiled_example() {
    let read = |name: &str| std::fs::read_to_string(workspace_root().join(name)).unwrap();
    let example = read("crates/forge/examples/backend.rs");
    let page = read("docs/how-to/adding-a-backend.md");
    let shown = format!("```rust\n{example}```\n");
    assert!(page.contains(&shown), "copy the example into the page");
}
