use std::fs;

use forge_testkit::Terminal;

use crate::{
    differences::listed,
    twins::Twins,
    world::{Tool, World},
};

/// Pushes a branch with two commits, both of which have a body.
fn two_commits(world: &World, branch: &str) {
    world.push(branch);
    let second = [
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "Second\n\nmore\nbody",
    ];
    world.git(&second);
    world.git(&["push", "--quiet"]);
}

#[test]
fn create_takes_every_flag() {
    let twins = Twins::new();
    twins.git("push --quiet origin origin/main:refs/heads/release");
    for (branch, flags) in [
        ("plain", "--title Title --body Body"),
        ("short", "-t 'Ünïcode ✓' -b 'First\n\nSecond'"),
        ("empty", "-t Title -b ''"),
        ("draft", "-t Title -b Body --draft"),
        ("short-draft", "-t Title -b Body -d --no-maintainer-edit"),
        (
            "labels",
            "-t Title -b Body --label bug,'help wanted' --label '\"good, first\"'",
        ),
        ("short-labels", "-t Title -b Body -l bug -l 'help wanted'"),
        (
            "people",
            "-t Title -b Body --assignee @me,reviewer --reviewer reviewer",
        ),
        ("short-people", "-t Title -b Body -a reviewer -r reviewer"),
        ("milestone", "-t Title -b Body --milestone v1.0"),
        ("short-milestone", "-t Title -b Body -m v1.0"),
        ("base", "-t Title -b Body --base release"),
        ("short-base", "-t Title -b Body -B release"),
        ("hyphens", "-t '-v is a flag' -b '- a list'"),
        ("nothing", "-t Title -b Body -l '' -a '' -r '' -m '' -B ''"),
        ("first", "--fill-first -b Body"),
        ("verbose", "--fill-verbose -b Body"),
        ("fill", "-f -b Body"),
    ] {
        twins.push(branch);
        twins.same(&format!("pr create {flags}"));
        twins.same_state();
    }
    twins.git("checkout --quiet main");
    for branch in ["head", "other/head", "owner"] {
        twins.push(branch);
    }
    twins.git("checkout --quiet main");
    twins.same("pr new --head head -t Title -b Body");
    twins.same("pr create -H other/head -t Title -b Body");
    twins.same("pr create -H octocat:owner -t Title -b Body -R octocat/tools");
    twins.same_state();
}

#[test]
fn create_reads_body_from_file_or_stdin() {
    let twins = Twins::new();
    twins.push("stdin");
    twins.same_with("pr create -t T --body-file -", |_, run| {
        run.stdin("From stdin\n")
    });
    twins.push("file");
    twins.both(|world| {
        world.scratch.write("clone/body.md", "From a file\n");
    });
    twins.same("pr create -t T -F body.md");
    twins.same_state();
}

#[test]
fn filled_text_equals_gh_except_trailing_lines() {
    let twins = Twins::new();
    let told = |text: String| {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines
            .join("\n")
            .replace("\n\n\n", "\n\n")
            .trim_end()
            .to_owned()
    };
    for (branch, one) in [("one-commit", true), ("two-of_them", false)] {
        twins.both(|world| {
            if one {
                world.push(branch)
            } else {
                two_commits(world, branch)
            }
        });
        for flags in [
            "--fill",
            "-f",
            "--fill-first",
            "--fill-verbose",
            "--fill -t Mine",
            "--fill-first -t Mine",
            "--fill-verbose -t Mine",
        ] {
            let both = twins.run(&format!("pr create {flags} --dry-run"), |_, run| run);
            assert_eq!(
                (both.forge.code, both.gh.code),
                (Some(0), Some(0)),
                "{both:?}"
            );
            let (ours, theirs) = (both.forge.stdout_text(), both.gh.stdout_text());
            assert_eq!(told(ours), told(theirs), "{flags}");
        }
    }
    twins.same("pr create --fill");
    twins.same("pr view --json title,body");
}

#[test]
fn create_dry_run_opens_nothing() {
    let twins = Twins::new();
    twins.push("feature");
    for flags in [
        "-t T -b B",
        "-t T -b B -d",
        "-t T -b ''",
        "-t T -b B -l bug -l 'help wanted' -a octocat -r reviewer -m v1.0 -B main --no-maintainer-edit",
        "-t T -b B -H feature -R octocat/tools",
        "-t T -b B -R octocat/tools",
        "-t '-v is a flag' -b '- a list'",
        "-t T -b B -l '' -a '' -r '' -p '' -m '' -B '' -H ''",
        "-t One -t Two -b B -d -d",
    ] {
        twins.same(&format!("pr create {flags} --dry-run"));
    }
    twins.both(|world| assert!(world.double.seed().pulls_of(crate::world::REPO).is_empty()));
}

#[test]
fn web_flag_fills_in_the_browser_form() {
    let twins = Twins::new();
    twins.push("fe/a-b");
    twins.both(|world| {
        world
            .scratch
            .write("clone/.github/PULL_REQUEST_TEMPLATE/fix.md", "Fix\n");
        two_commits(world, "two-of_them");
    });
    for flags in [
        "--web",
        "-w -t \"Ünï & x~*()!\" -b 'a\nb #1'",
        "-w -l bug -l 'help wanted,\"good, first\"' -a @me -a reviewer -m v1.0 -B main",
        "-w -H fe/a-b",
        "-w -H hubot:topic",
        "-w -T fix.md",
        "-w --template fix.md",
        "-w -t x",
        "-w -B rel/1",
        "-w --fill",
    ] {
        let line = format!("pr create {flags}");
        let page = twins.same(&line).page;
        assert!(page.contains("/octocat/tools/compare/"), "{line}: {page}");
    }
    twins.both(|world| assert!(world.double.seed().pulls_of(crate::world::REPO).is_empty()));
}

#[test]
fn bad_create_commands_are_refused_by_both() {
    let twins = Twins::new();
    twins.push("feature");
    for flags in [
        "",
        "-t T",
        "-b B",
        "-t T -F no-such-file",
        "-t T -b B -B no-such-base",
        "-t T -b B -H not-pushed",
        "-t T -b B -H nobody:feature",
        "-t T -b B -l nosuch",
        "-t T -b B -R octocat/missing -H feature",
        "-t T -b B -R no-slash",
        "-t '' -b B",
        "--fill --fill-first",
        "--fill-first --fill-verbose",
        "--editor",
        "-e --web",
        "--editor -t T -b B",
        "--web --dry-run",
        "--web --draft",
        "--web -r reviewer",
        "--web --no-maintainer-edit",
        "--recover no-such-file",
        "-T no-such-template --fill-first -b B",
        "-T fix.md -b B -t T",
        "-t T -b B extra",
        "-t T -b B --no-such-flag",
    ] {
        twins.refused(&format!("pr create {flags}"));
    }
    twins.both(|world| assert!(world.double.seed().pulls_of(crate::world::REPO).is_empty()));
    twins.same("pr create -t T -b B");
    twins
        .refused("pr create -t Again -b B")
        .say("http://github.localhost/octocat/tools/pull/1");
    twins.same_state();
}

#[test]
fn branch_without_own_commits_is_refused() {
    let twins = Twins::new();
    twins.git("checkout --quiet -b same origin/main");
    twins.git("push --quiet -u origin same");
    twins.refused("pr create -t T -b B");
    twins.refused("pr create --fill");
    twins.refused("pr create -t T -b B -H main");
    twins.same_state();
}

#[test]
fn base_comes_from_clone_configuration() {
    let twins = Twins::new();
    twins.git("push --quiet origin origin/main:refs/heads/release");
    twins.push("topic");
    twins.git("config branch.topic.gh-merge-base release");
    twins.same("pr create -t T -b B");
    twins.same("pr view --json baseRefName -q .baseRefName");
    twins.same_state();
}

/// Both programs run on a terminal, and the editor writes a title and a body.
#[test]
fn create_takes_title_and_body_from_editor() {
    let twins = Twins::new();
    twins.push("typed");
    for (world, tool) in [(&twins.forge, Tool::Forge), (&twins.gh, Tool::Gh)] {
        let run = world
            .command(tool, "pr create --editor")
            .env("GH_EDITOR", world.editor("Typed title\n\nTyped body.\n"))
            .env("GH_SPINNER_DISABLED", "1");
        let out = Terminal::start(&run, 100, 30).finish();
        assert_eq!(out.code, Some(0), "{out:?}");
        assert!(out.plain().contains("/octocat/tools/pull/1"), "{out:?}");
    }
    twins.same("pr view --json title -q .title");
    let body = |world: &World| {
        world.fields(Tool::Gh, "1", "body")["body"]
            .as_str()
            .unwrap()
            .trim()
            .to_owned()
    };
    assert_eq!(body(&twins.forge), "Typed body.");
    assert_eq!(body(&twins.gh), "Typed body.");
}

#[test]
fn editor_starts_with_the_template() {
    let world = World::new();
    world.push("templated");
    let template = "clone/.github/PULL_REQUEST_TEMPLATE/fix.md";
    world.scratch.write(template, "What does it fix?\n");
    let seen = world.scratch.path("seen");
    let editor = world.scratch.path("keeper");
    let keep = format!("cat \"$1\" >'{}'", seen.display());
    crate::world::script(&editor, &keep);
    for flags in ["-T fix.md", "--template fix.md"] {
        let line = format!("pr create {flags} --editor --dry-run");
        let run = world.command(Tool::Forge, &line).env("GH_EDITOR", &editor);
        let out = Terminal::start(&run, 100, 30).finish();
        assert_eq!(out.code, Some(0), "{out:?}");
        let shown = fs::read_to_string(&seen).unwrap();
        assert!(shown.contains("What does it fix?"), "{shown}");
    }
}

/// Keys that select the answer below the only remote, which skips the push.
const SKIP_PUSH: &str = "\u{1b}[B\r";

/// After a failed `pr create`, the typed text is saved. `--recover` restores it.
#[test]
fn typed_text_of_failed_create_is_recovered() {
    let world = World::new();
    world.git(&["checkout", "--quiet", "-b", "late", "origin/main"]);
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "Late"]);
    let typed = world
        .command(Tool::Forge, "pr create --editor")
        .env("GH_EDITOR", world.editor("Typed title\n\nTyped body.\n"));
    let mut terminal = Terminal::start(&typed, 200, 30);
    terminal.expect("Where should we push");
    terminal.send(SKIP_PUSH);
    let out = terminal.finish();
    assert_eq!(out.code, Some(1), "{out:?}");
    let said = out.plain();
    let (_, path) = said.split_once("--recover ").unwrap();
    let path = path.split('`').next().unwrap().trim();
    world.git(&["push", "--quiet", "-u", "origin", "late"]);
    let line = format!("pr create --recover {path}");
    let url = world.command(Tool::Forge, &line).text();
    assert!(url.ends_with("/pull/1\n"), "{url}");
    let seen = world.fields(Tool::Gh, "1", "title,body");
    assert_eq!(seen["title"], "Typed title");
    assert_eq!(seen["body"], "Typed body.");
}

/// Asserts that `--fill` takes title and description from the commit that [`World::push`] made.
#[track_caller]
fn assert_filled(world: &World, flags: &str, branch: &str) {
    let line = format!("pr create --fill --dry-run {flags}");
    let plan = world.command(Tool::Forge, &line).text();
    assert!(
        plan.contains(&format!("title:\tAdd {branch}.txt\n")),
        "{flags}: {plan}"
    );
    assert!(plan.ends_with("body:\nWhy.\n"), "{flags}: {plan}");
}

#[test]
fn fill_reads_head_that_only_remote_has() {
    let world = World::new();
    world.double.seed().fork(crate::world::REPO, "hubot");
    world.double.seed().collaborator(
        "hubot/tools",
        "octocat",
        forge_github_double::state::Permission::Write,
    );
    let url = "http://github.localhost/hubot/tools.git";
    world.git(&["remote", "add", "fork", url]);
    world.push("topic");
    world.push_to("fork", "theirs");
    for detached in [false, true] {
        world.git(&["checkout", "--quiet", "main"]);
        if detached {
            world.git(&["checkout", "--quiet", "--detach"]);
        }
        // A local branch of that name is older than what is pushed.
        for start in ["origin/main", ""] {
            for branch in ["topic", "theirs"] {
                if start.is_empty() {
                    world.git(&["branch", "--quiet", "-D", branch]);
                } else {
                    world.git(&["branch", "--quiet", "--force", "--no-track", branch, start]);
                }
            }
            assert_filled(&world, "--head topic", "topic");
            assert_filled(&world, "--head hubot:theirs", "theirs");
        }
    }
    let made = world
        .command(Tool::Forge, "pr create --fill -H hubot:theirs")
        .text();
    assert!(made.ends_with("/pull/1\n"), "{made}");
    listed("`--fill` with `--head` reads the pushed branch");
}

#[test]
fn fill_reads_local_branch_pushed_under_another_name() {
    for name in ["upstream", "tracking"] {
        let world = World::new();
        world.push("topic");
        world.git(&["config", "push.default", name]);
        world.git(&["push", "--quiet", "origin", "topic:refs/heads/team/topic"]);
        world.git(&[
            "branch",
            "--quiet",
            "--set-upstream-to",
            "origin/team/topic",
        ]);
        world.git(&["push", "--quiet", "origin", ":refs/heads/topic"]);
        assert_filled(&world, "", "topic");
        let made = world.command(Tool::Forge, "pr create --fill").text();
        assert!(made.ends_with("/pull/1\n"), "{made}");
        let seen = world.fields(Tool::Gh, "1", "headRefName,title");
        assert_eq!(seen["headRefName"], "team/topic");
        assert_eq!(seen["title"], "Add topic.txt");
    }
}
