use forge_testkit::GitDir;

use crate::world::World;

#[test]
fn create_prints_only_the_url() {
    let world = World::new();
    world.feature("feature");
    let out = world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", "B"])
        .output()
        .success();
    assert_eq!(out.stdout_text(), format!("{}\n", world.url(1)));
    assert_eq!(out.stderr_text(), "");
}

#[test]
fn create_applies_every_flag() {
    let world = World::new();
    world.feature("feature");
    world.feature("release");
    world
        .forge(&[
            "pr",
            "create",
            "--head",
            "feature",
            "--base",
            "release",
            "--title",
            "A title",
            "--body",
            "A *body*.",
            "--draft",
            "--label",
            "bug,Documentation",
            "--label",
            "question",
            "--assignee",
            "@me",
            "--reviewer",
            "grace",
            "--no-maintainer-edit",
        ])
        .ok();
    let pr = world.json(
        "1",
        "title,body,isDraft,baseRefName,headRefName,labels,assignees,reviewRequests",
    );
    assert_eq!(pr["title"], "A title");
    assert_eq!(pr["body"], "A *body*.");
    assert_eq!(pr["isDraft"], true);
    assert_eq!(
        (&pr["baseRefName"], &pr["headRefName"]),
        (&"release".into(), &"feature".into())
    );
    let names = |key: &str, of: &str| -> Vec<String> {
        let list = pr[key].as_array().unwrap().iter();
        list.map(|l| l[of].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        names("labels", "name"),
        ["bug", "documentation", "question"]
    );
    assert_eq!(names("assignees", "login"), ["ada"]);
    assert_eq!(names("reviewRequests", "login"), ["grace"]);
}

#[test]
fn head_defaults_to_the_current_branch() {
    let world = World::new();
    world.feature("feature");
    world.switch("feature");
    world.forge(&["pr", "create", "-t", "T", "-b", ""]).ok();
    assert_eq!(world.json("1", "headRefName")["headRefName"], "feature");
}

#[test]
fn empty_body_file_is_an_empty_text_with_a_caution() {
    let world = World::with_pull();
    world.feature("new");
    let empty = world.scratch.write("empty.md", " \n");
    let empty = empty.to_str().unwrap();
    for args in [
        ["pr", "create", "-H", "new", "-t", "T", "-F", empty].as_slice(),
        &["pr", "merge", "2", "--squash", "-F", empty],
        &["pr", "revert", "2", "-F", empty],
        &["issue", "create", "-t", "T", "-F", empty],
    ] {
        let out = world.forge(args).output().success();
        let text = out.stderr_text();
        assert!(text.contains("the text is empty: body file '"), "{text}");
    }
    // An edit would delete the text that is there.
    for args in [
        ["pr", "edit", "1", "-F", empty].as_slice(),
        &["issue", "edit", "1", "-F", empty],
    ] {
        let out = world.forge(args).output().exits(1);
        let text = out.stderr_text();
        assert!(text.contains("empty.md' is empty"), "{text}");
    }
}

#[test]
fn fill_flag_uses_subject_and_body_of_one_commit() {
    let world = World::new();
    world.git.commit(
        "feature",
        "The subject\n\nThe body\nof it.",
        &[("f", Some("1\n"))],
    );
    world.switch("feature");
    world.forge(&["pr", "create", "--fill"]).ok();
    let pr = world.json("1", "title,body");
    assert_eq!(pr["title"], "The subject");
    assert_eq!(pr["body"].as_str().unwrap().trim(), "The body\nof it.");
}

#[test]
fn fill_flag_lists_subjects_of_several_commits() {
    let world = World::new();
    world
        .git
        .commit("my-feature", "First\n\nBody one.", &[("f", Some("1\n"))]);
    world
        .git
        .commit("my-feature", "Second", &[("f", Some("2\n"))]);
    world.switch("my-feature");
    world.forge(&["pr", "create", "--fill"]).ok();
    let pr = world.json("1", "title,body");
    assert_eq!(pr["title"], "my feature");
    let body = pr["body"].as_str().unwrap();
    assert!(
        body.contains("First") && body.contains("Second") && !body.contains("Body one"),
        "{body}"
    );
}

#[test]
fn fill_flag_refuses_endless_commit_message() {
    let world = World::new();
    let message = format!("Add f\n\n{}", "x".repeat(32 << 20));
    world.git.commit("feature", &message, &[("f", Some("1\n"))]);
    let run = world.forge(&["pr", "create", "-H", "feature", "--fill"]);
    let out = run.output().exits(1);
    let said = out.stderr_text();
    assert!(said.contains("the commit messages are too long"), "{said}");
}

#[test]
fn fill_first_and_fill_verbose_set_the_text() {
    let world = World::new();
    for branch in ["first", "verbose"] {
        world
            .git
            .commit(branch, "First\n\nBody one.", &[(branch, Some("1\n"))]);
        world
            .git
            .commit(branch, "Second\n\nBody two.", &[(branch, Some("2\n"))]);
    }
    world.switch("first");
    world.forge(&["pr", "create", "--fill-first"]).ok();
    assert_eq!(world.json("1", "title")["title"], "First");
    world.switch("verbose");
    world.forge(&["pr", "create", "--fill-verbose"]).ok();
    let body = world.json("2", "body")["body"].as_str().unwrap().to_owned();
    assert!(
        body.contains("Body one.") && body.contains("Body two."),
        "{body}"
    );
}

#[test]
fn create_reads_body_from_file_and_stdin() {
    let world = World::new();
    world.feature("one");
    world.feature("two");
    let file = world.scratch.write("body.md", "From a file.\n");
    let file = file.to_str().unwrap();
    world
        .forge(&["pr", "create", "-H", "one", "-t", "T", "-F", file])
        .ok();
    assert_eq!(world.json("1", "body")["body"], "From a file.\n");
    world
        .forge(&["pr", "create", "-H", "two", "-t", "T", "-F", "-"])
        .stdin("From a pipe.")
        .ok();
    assert_eq!(world.json("2", "body")["body"], "From a pipe.");
}

#[test]
fn create_dry_run_prints_plan_and_writes_nothing() {
    let world = World::new();
    world.feature("feature");
    let before = world.git.refs();
    let out = world
        .forge(&[
            "pr",
            "create",
            "-H",
            "feature",
            "-t",
            "T",
            "-b",
            "B",
            "-l",
            "bug",
            "--dry-run",
        ])
        .output()
        .success();
    let text = out.stdout_text();
    assert!(
        text.starts_with("Would have created a Pull Request with:\n"),
        "{text}"
    );
    for line in [
        "title:\tT",
        "draft:\tfalse",
        "base:\tmain",
        "head:\tfeature",
        "labels:\tbug",
        "body:",
        "B",
    ] {
        assert!(
            text.lines().any(|l| l == line),
            "{line:?} is not in\n{text}"
        );
    }
    assert_eq!(world.git.refs(), before);
}

#[test]
fn create_without_title_or_terminal_names_missing_flags() {
    let world = World::new();
    world.feature("feature");
    world.switch("feature");
    let out = world.forge(&["pr", "create"]).output().exits(1);
    assert!(out.stderr_text().contains("--title"), "{out:?}");
    assert!(out.stderr_text().contains("--fill"), "{out:?}");
}

#[test]
fn create_defaults_come_from_repository_file() {
    let world = World::new();
    world.feature("feature");
    world.feature("develop");
    world.scratch.write(
        "repo/.forge.toml",
        "[pr]\nbase = \"develop\"\ndraft = true\n",
    );
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    let pr = world.json("1", "baseRefName,isDraft");
    assert_eq!(
        (&pr["baseRefName"], &pr["isDraft"]),
        (&"develop".into(), &true.into())
    );
}

#[test]
fn clone_of_local_path_pushes_and_reads_repository_file() {
    let world = World::new();
    let path = world.scratch.path("clone");
    let from = format!("{}/../repo/", world.git.path().display());
    let clone = ["clone", "--quiet", &from, path.to_str().unwrap()];
    world.git.run(clone).ok();
    let clone = GitDir::at(&path);
    clone.commit("topic", "Topic", &[("topic", Some("x\n"))]);
    clone.run(["switch", "--quiet", "topic"]).ok();
    world
        .scratch
        .write("clone/.forge.toml", "[pr]\ndraft = true\n");
    let create = ["pr", "create", "--push", "-t", "T", "-b", ""];
    world.forge(&create).dir(&path).ok();
    assert_eq!(world.json("1", "isDraft")["isDraft"], true);
    assert_eq!(world.git.oid("topic"), clone.oid("topic"));
}

#[cfg(unix)]
#[test]
fn repository_file_behind_symbolic_link_configures_nothing() {
    let world = World::new();
    let (path, link) = (world.scratch.path("clone"), world.scratch.path("link"));
    std::os::unix::fs::symlink(world.git.path(), &link).unwrap();
    let [from, to] = [&link, &path].map(|path| path.to_str().unwrap());
    world.git.run(["clone", "--quiet", from, to]).ok();
    world
        .scratch
        .write("clone/.forge.toml", "[pr]\ndraft = true\n");
    world.feature("feature");
    let create = ["pr", "create", "-H", "feature", "-t", "T", "-b", ""];
    world.forge(&create).dir(&path).ok();
    assert_eq!(world.json("1", "isDraft")["isDraft"], false);
}

#[test]
fn new_is_an_alias_of_create() {
    let world = World::new();
    world.feature("feature");
    world
        .forge(&["pr", "new", "-H", "feature", "-t", "T", "-b", ""])
        .ok();
    assert_eq!(world.json("1", "title")["title"], "T");
}

#[test]
fn recovered_text_wins_over_template() {
    let world = World::new();
    world.feature("feature");
    world.scratch.write("repo/fix.md", "From the template.");
    for (number, body, wanted) in [("1", "Typed.", "Typed."), ("2", "", "From the template.")] {
        let draft = format!(r#"{{"title": "T", "body": "{body}"}}"#);
        let path = world.scratch.write("draft.json", draft);
        let recover = ["pr", "create", "--recover", path.to_str().unwrap()];
        world
            .forge(&[&recover[..], &["-H", "feature", "-T", "fix.md"]].concat())
            .ok();
        assert_eq!(world.json(number, "body")["body"], wanted);
        world.forge(&["pr", "close", number]).ok();
    }
}

/// The repository's template is a symbolic link to a file outside the repository.
#[test]
fn templates_outside_the_work_tree_are_not_read() {
    let world = World::new();
    world.feature("feature");
    let secret = world.scratch.write("secret.md", "canary");
    let secret = secret.to_str().unwrap();
    let templates = world.git.path().join(".github/PULL_REQUEST_TEMPLATE");
    std::fs::create_dir_all(&templates).unwrap();
    world.scratch.write("repo/.env", "canary");
    for (name, target) in [
        ("passwd.md", "/etc/passwd"),
        ("config.md", "../../.git/config"),
        ("env.md", "../../.env"),
        ("out.md", secret),
        ("zero.md", "/dev/zero"),
    ] {
        std::os::unix::fs::symlink(target, templates.join(name)).unwrap();
    }
    let fifo = templates.join("fifo.md");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    std::fs::write(templates.join("huge.md"), vec![b'x'; 2 << 20]).unwrap();
    let create = |template: &str| {
        world.forge(&[
            "pr",
            "create",
            "-H",
            "feature",
            "-t",
            "T",
            "-T",
            template,
            "--dry-run",
        ])
    };
    for template in [
        "passwd.md",
        "config.md",
        "env.md",
        "out.md",
        "zero.md",
        "fifo.md",
        "huge.md",
        secret,
        "../secret.md",
        "/etc/passwd",
        ".git/config",
    ] {
        let out = create(template).output().exits(1);
        assert_eq!(out.stdout_text(), "", "{template}");
        assert!(
            out.stderr_text().contains("cannot be used: it is"),
            "{out:?}"
        );
        assert!(out.stderr_text().contains("--body-file"), "{out:?}");
    }
    std::fs::write(templates.join("good.md"), "Good.").unwrap();
    assert!(create("good.md").text().ends_with("Good.\n"));
    // A template that the user names may be outside the repository.
    let run = world.forge(&[
        "pr",
        "create",
        "-H",
        "feature",
        "-t",
        "T",
        "-F",
        secret,
        "--dry-run",
    ]);
    assert!(run.text().ends_with("canary\n"));
}
