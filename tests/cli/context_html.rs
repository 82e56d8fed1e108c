//! Tests `forge pr context --html`: the page shows the facts of the bundle, and shows other
//! people's text as plain text.

use std::fs;

use forge_core::text::neutralise;
use forge_github_double::Fault;
use forge_jira_double::{JIRA_TOKEN, JiraDouble, JiraEdition, TicketSeed};

use crate::{
    context_stage::{HOSTILE, HOSTILE_PATH, HOSTILE_URL, Stage},
    html_tree::{Element, elements, first},
    hub::REPO,
    world::World,
};

impl Stage {
    fn html(&self, args: &[&str]) -> String {
        fs::read_to_string(self.page(args)).unwrap()
    }
}

/// Replaces white space as a browser does when it displays text.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn section_text(page: &str, id: &str) -> String {
    let all = elements(page);
    let is_it = |e: &&Element| e.name == "section" && e.attr("aria-labelledby") == id;
    let found = all.iter().find(is_it);
    joined(&found.unwrap_or_else(|| panic!("no {id} in {page}")).text)
}

#[test]
fn html_page_shows_facts_of_the_bundle() {
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
        "src/lexer.rs:12: unused variable `rest`",
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
    // The page shows the thread directly after its line.
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
fn html_page_shows_only_included_sections() {
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
fn hostile_texts_in_html_page_are_escaped() {
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
        // The text appears as the stack's title, the description, the issue, the check's workflow
        // and the check's reason.
        ("text", shown.as_str(), 5),
        // The path appears once as the file's name, and twice as the thread's position.
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
fn html_page_of_unchanged_pull_is_identical() {
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
fn html_page_shows_facts_of_local_pull() {
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
    // The page shows a path on this machine as text, not as a link.
    assert!(body.contains(&world.url(1)));
    assert!(!page.contains("href=\"file:"));
}

#[test]
fn html_since_section_names_start_and_changes() {
    let world = World::with_pull();
    world
        .grace(&["pr", "review", "1", "--comment", "-b", "Seen."])
        .ok();
    let reviewed = world.git.oid("feature").unwrap();
    let headline = "Add <img src=x onerror=1>";
    let head = world
        .git
        .commit("feature", headline, &[("b.txt", Some("<b>two\n"))]);
    let page = |since: &str| {
        let args = ["pr", "context", "1", "--since", since, "--html", "-"];
        section_text(&world.grace(&args).text(), "since")
    };
    let body = page("review");
    let review = world.json("1", "reviews")["reviews"][0]["id"].clone();
    let begin = format!(
        "Changes since then Since review {} the head has more commits. added {} {headline} 1 file \
         with +1 −0 lines.",
        review.as_str().unwrap(),
        &head[..12]
    );
    assert!(body.starts_with(&begin), "{body}");
    assert!(body.ends_with("1 + <b>two"), "{body}");
    assert!(!body.contains("feature.txt"), "{body}");
    // Both starts are commits: the reviewed commit, and the current head.
    for (since, begin) in [
        (&reviewed, "has more commits. added"),
        (&head, "has not moved."),
    ] {
        let wanted = format!("Since {} the head {begin}", &since[..12]);
        let body = page(since);
        assert!(body.contains(&wanted), "{body}");
    }
    // If the start commit is unknown, the page shows an error and has no section for the changes.
    let gone = "1".repeat(40);
    let args = ["pr", "context", "1", "--since", &gone, "--html", "-"];
    let page = world.grace(&args).text();
    let all = elements(&page);
    assert!(all.iter().all(|e| e.attr("id") != "since"));
    let body = joined(&first(&all, "main", "").text);
    assert!(
        body.contains("Not everything could be read since ("),
        "{body}"
    );
}

#[test]
fn html_source_section_shows_lines_of_the_head() {
    let world = World::new();
    let long: Vec<String> = (1..=400).map(|n| format!("line {n}\n")).collect();
    let path = "src/<b>&.rs";
    world
        .git
        .commit("main", "Long", &[(path, Some(&long.concat()))]);
    let changed = long
        .concat()
        .replace("line 200\n", "<script>alert(1)</script>\n");
    let files = [
        (path, Some(changed.as_str())),
        ("Cargo.lock", Some("lock\n")),
    ];
    let head = world.git.commit("feature", "Change", &files);
    let create = ["pr", "create", "-H", "feature", "-t", "T", "-b", "B"];
    world.forge(&create).ok();
    let page = |more: &[&str]| {
        let args = ["pr", "context", "1", "-i", "source", "--html", "-"];
        let page = world.forge(&[&args[..], more].concat()).text();
        section_text(&page, "source")
    };
    let body = page(&[]);
    let begin = format!(
        "Files at the head 2 files at {}. {path} 400 lines",
        &head[..12]
    );
    assert!(body.starts_with(&begin), "{body}");
    // The page shows twenty lines before the hunk, which itself has five lines of context.
    for part in [
        "Line Text 175 line 175 176 line 176",
        "199 line 199 200 <script>alert(1)</script> 201 line 201",
        "225 line 225",
        "Cargo.lock Not shown: a generated, lock or vendored file",
    ] {
        assert!(body.contains(part), "{part:?} is not in\n{body}");
    }
    assert!(body.ends_with("vendored file"), "{body}");
    assert!(!body.contains("line 226"), "{body}");
    let body = page(&["--max-diff", "100"]);
    let left_out = "lines not shown: hunks of a higher rank use up the budget";
    assert!(body.contains(left_out), "{body}");
}

#[test]
fn html_page_shows_ticket_status_or_unknown() {
    let world = World::new();
    let jira = JiraDouble::start(JiraEdition::DataCenter);
    jira.ticket(TicketSeed {
        status: "In <b>\u{1b}[31mProgress",
        ..TicketSeed::default()
    });
    world.feature("feature");
    let body = "Fixes PROJ-123";
    let create = ["pr", "create", "-H", "feature", "-t", "T", "-b", body];
    world.forge(&create).ok();
    let config = format!("[jira]\nbase_url = \"{}\"\n", jira.url());
    let file = "home/.config/forge/config.toml";
    world.scratch.write(file, config);
    let page = || {
        let args = ["pr", "context", "1", "--html", "-"];
        world.forge(&args).env("JIRA_TOKEN", JIRA_TOKEN).text()
    };
    let text = page();
    let linked = section_text(&text, "linked");
    let wanted = "Linked issues PROJ-123 It leaks closes · open: In <b>␛[31mProgress · found in description \
                  · backend Its text and 1 comment Since May.";
    assert!(linked.starts_with(wanted), "{linked}");
    let address = format!("{}/browse/PROJ-123", jira.url());
    assert!(
        elements(&text).iter().any(|e| e.attr("href") == address),
        "{text}"
    );
    jira.fail(401);
    let text = page();
    let all = elements(&text);
    let linked = section_text(&text, "linked");
    let wanted = "Linked issues PROJ-123 closes · unknown · found in description";
    assert_eq!(linked, wanted);
    let main = joined(&first(&all, "main", "").text);
    let failed = "Not everything could be read linked issues (unauthenticated): JIRA at";
    assert!(main.contains(failed), "{main}");
}

#[test]
fn failed_write_of_html_page_names_the_file() {
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
fn html_page_replaces_file_atomically() {
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
fn html_page_names_failed_sections() {
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
    // Without the diff, the page lists each thread with its position and its lines.
    assert!(
        body.contains("Threads on lines that are not shown"),
        "{body}"
    );
    assert!(body.contains("Open thread on src/lexer.rs:7"), "{body}");
}
