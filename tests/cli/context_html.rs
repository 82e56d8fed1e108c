//! `forge pr context --html`: one page, with the facts of the bundle, in which nobody else's text is
//! more than text.

use std::fs;

use forge_core::text::neutralise;
use forge_testkit::github::Fault;

use crate::{
    context_stage::{HOSTILE, HOSTILE_PATH, HOSTILE_URL, Stage},
    html_tree::{elements, first},
    hub::REPO,
    world::World,
};

impl Stage {
    fn html(&self, args: &[&str]) -> String {
        fs::read_to_string(self.page(args)).unwrap()
    }
}

/// White space as a browser shows it.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn html_page_has_the_facts_of_the_bundle() {
    let stage = Stage::rich();
    let page = stage.html(&[]);
    let all = elements(&page);
    assert_eq!(first(&all, "html", "").attr("lang"), "en");
    let policy = all
        .iter()
        .find(|e| e.name == "meta" && !e.attr("http-equiv").is_empty());
    let policy = policy.unwrap().attr("content");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    let text = |name: &str, class: &str| joined(&first(&all, name, class).text);
    let title = "feat(lexer): read words of every script, and say where each begins";
    assert_eq!(text("h1", ""), format!("{title} #{}", stage.number));
    let lead = text("p", "lead");
    assert!(
        lead.starts_with("open grace wants lexer in parser, opened 20"),
        "{lead}"
    );
    assert!(text("div", "verdict").starts_with("✗ Not ready to merge CI failing: lint 1 reviewer"));
    let body = text("main", "");
    for part in [
        "In one line read words of every script, and say where each begins",
        "Kind of change feature",
        "Risk low",
        "no changes requested ✗ unmet",
        "reviewer ada",
        "build (linux) CI ✓ success",
        "lint CI ✗ failure",
        "2 warnings are errors: unused variable `rest`, line 12",
        "preview Deploy … in progress",
        "closes · open · found in",
        "Words with accents are cut",
        "Also in file names, since 1.2.",
        "ada ✗ changes requested",
        "I have tried this on our corpus:",
        "Cargo.lock",
        "60 lines not shown: a generated, lock or vendored file",
        "Not all of it is shown.",
        &format!(
            "read the whole diff: forge pr diff {} -R {REPO}",
            stage.number
        ),
        "builds on this",
    ] {
        assert!(body.contains(part), "{part:?} is not in\n{body}");
    }
    // The thread stands behind the line that it is on.
    let line = "(true, None) => start = Some(at),";
    let (_, behind) = body.split_once(line).unwrap();
    let thread = "Open thread on src/lexer.rs:7 ada".to_owned();
    assert!(behind.trim_start().starts_with(&thread), "{behind}");
    let stack = text("svg", "stack");
    let order = [
        "Colour words by their",
        "feat(lexer): read words",
        "Split the parser from the",
    ];
    let places = order.map(|title| stack.rfind(title).unwrap());
    assert!(places.is_sorted(), "{stack}");
    let scopes = |e: &&crate::html_tree::Element| e.name == "th" && e.attr("scope").is_empty();
    assert_eq!(all.iter().filter(scopes).count(), 0);
}

#[test]
fn html_sections_are_those_that_are_included() {
    let stage = Stage::rich();
    let page = stage.html(&["-i", "files,history"]);
    let all = elements(&page);
    let headings = all
        .iter()
        .filter(|e| e.name == "h2")
        .map(|e| e.text.as_str());
    let headings: Vec<&str> = headings.collect();
    assert_eq!(
        headings,
        ["✗ Not ready to merge", "Description", "Files", "History"]
    );
}

#[test]
fn html_hostile_texts_are_text() {
    let stage = Stage::hostile();
    let page = stage.html(&[
        "-i",
        "comments,reviews,ci,linked_issues,related_prs,diff,files,history",
    ]);
    for bad in [
        "<script",
        "<img",
        "\u{202e}",
        "\u{1b}",
        "\0",
        "\u{7}",
        "\u{9b}",
        "href=\"java",
    ] {
        assert!(!page.contains(bad), "{bad:?}");
    }
    let all = elements(&page);
    let shown = joined(&neutralise(HOSTILE));
    let title = joined(&first(&all, "title", "").text);
    assert_eq!(title, format!("#{} {shown}", stage.number));
    let body = joined(&first(&all, "main", "").text);
    let path = neutralise(HOSTILE_PATH);
    for (what, part, times) in [
        // Title of the stack, its description, the issue, the check with its workflow and reason.
        ("text", shown.as_str(), 5),
        // The file's name, and the place of the thread twice.
        ("path", &path, 3),
        ("url", HOSTILE_URL, 2),
    ] {
        let found = body.matches(part).count();
        assert!(found >= times, "{what}: {found} times in\n{body}");
    }
    let is_outward = |e: &&crate::html_tree::Element| e.attr("href").starts_with("http");
    let outward = all.iter().filter(is_outward).map(|e| e.attr("href"));
    for url in outward {
        assert!(
            url.starts_with("http://") && url.contains("octo/tools"),
            "{url}"
        );
    }
}

#[test]
fn html_same_bundle_is_the_same_bytes() {
    let stage = Stage::rich();
    let [first, second] = [(); 2].map(|()| stage.html(&[]));
    let without_moment = |page: &str| {
        let footer = page.split("Judged at <time datetime=\"").nth(1).unwrap();
        let moment = footer.split('"').next().unwrap();
        let minute = moment.get(..16).unwrap().replace('T', " ");
        page.replace(moment, "NOW").replace(&minute, "NOW")
    };
    assert_eq!(without_moment(&first), without_moment(&second));
}

#[test]
fn html_page_of_a_local_pull_has_its_facts() {
    let world = World::with_pull();
    let line = "feature.txt:2=Why?";
    world
        .grace(&[
            "pr",
            "review",
            "1",
            "--comment",
            "-b",
            "Look.",
            "--line",
            line,
        ])
        .ok();
    world.open("second");
    let page = world.forge(&["pr", "context", "1", "--html", "-"]).text();
    let all = elements(&page);
    let body = joined(&first(&all, "main", "").text);
    assert_eq!(joined(&first(&all, "h1", "").text), "Title of feature #1");
    for part in [
        "✗ Not ready to merge 1 unresolved comment thread(s) No approvals yet",
        "approved ✗ unmet this program 0 approval(s) reviewer",
        "grace commented",
        "2 + two Open thread on feature.txt:2 grace",
        "1 file with +2 −0 lines.",
    ] {
        assert!(body.contains(part), "{part:?} is not in\n{body}");
    }
    // A file is no address of the web.
    assert!(body.contains(&world.url(1)));
    assert!(!page.contains("href=\"file:"));
}

#[test]
fn html_failing_write_names_the_file() {
    let world = World::with_pull();
    let file = world.scratch.path("no/such/page.html");
    let file = file.to_string_lossy();
    let out = world
        .forge(&["pr", "context", "1", "--html", &file])
        .output()
        .exits(1);
    let said = out.stderr_text();
    assert!(said.contains(&format!("cannot write {file}")), "{said}");
    let both = ["pr", "context", "1", "--html", "-", "--json", "pr"];
    let said = world.forge(&both).output().exits(1).stderr_text();
    assert!(said.contains("--html"), "{said}");
}

#[test]
fn html_page_replaces_a_file_at_once() {
    let world = World::with_pull();
    let file = world.scratch.write("page.html", "old");
    let name = file.to_string_lossy();
    world.forge(&["pr", "context", "1", "--html", &name]).ok();
    elements(&fs::read_to_string(&file).unwrap());
    let entries = fs::read_dir(file.parent().unwrap()).unwrap();
    let left = entries.filter(|e| {
        e.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".forge-")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn html_section_that_fails_is_named() {
    let stage = Stage::rich();
    let path = format!("/repos/{REPO}/pulls/{}", stage.number);
    stage
        .hub
        .double
        .fault(Fault::status(500).on_path(&path).always());
    let page = stage.html(&[]);
    let all = elements(&page);
    let body = joined(&first(&all, "main", "").text);
    assert!(
        body.contains("Not everything could be read diff ("),
        "{body}"
    );
    // Without the diff the threads stand alone, with their place and their lines.
    assert!(
        body.contains("Threads on lines that are not shown"),
        "{body}"
    );
    assert!(body.contains("Open thread on src/lexer.rs:7"), "{body}");
}
