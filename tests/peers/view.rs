use forge_github_double::PullSeed;

use crate::{
    list::seed_four_pulls,
    twins::Twins,
    world::{REPO, REVIEWER, Tool, World},
};

#[test]
fn view_accepts_every_selector() {
    let world = World::new();
    seed_four_pulls(&mut world.double.seed());
    for selector in [
        "1",
        "#1",
        "feature",
        "hubot:patch",
        "https://github.localhost/octocat/tools/pull/1",
        "http://github.localhost/octocat/tools/pull/1",
        "https://github.localhost/octocat/tools/pull/2/files",
        "https://github.localhost/octocat/tools/pull/3/commits/abc",
        "https://github.localhost/octocat/tools/pull/3#issuecomment-7",
        "https://github.localhost/octocat/tools/pull/3#discussion_r456",
        "https://github.localhost/octocat/tools/pull/2/commits",
        "https://github.localhost/octocat/tools/pull/2/files -R acme/elsewhere",
        "1 -R octocat/tools",
        "feature -R octocat/tools",
    ] {
        for more in ["", " --comments", " --json number,title,url"] {
            world.same_line(&format!("pr view {selector}{more}"));
        }
        world.same_line(&format!("pr diff {selector}"));
    }
}

#[test]
fn bad_selectors_are_refused_by_gh_and_forge() {
    let world = World::new();
    seed_four_pulls(&mut world.double.seed());
    let commands = [
        "view",
        "checks",
        "diff",
        "merge -m",
        "ready",
        "review -a",
        "comment -b x",
        "edit -t x",
        "close",
        "reopen",
    ];
    for command in commands {
        for selector in ["999", "no-such-branch", "nobody:feature", "1 2", "patch"] {
            world.same_refusal_of(&format!("pr {command} {selector}"));
        }
        for selector in ["1 -R octocat/missing", "1 -R no-slash", "--no-such-flag 1"] {
            world.same_refusal_of(&format!("pr {command} {selector}"));
        }
    }
    for command in [
        "view",
        "checks",
        "diff",
        "merge -m",
        "ready",
        "review -a",
        "comment -b x",
    ] {
        let line = format!("pr {command} -R octocat/tools");
        for out in world.same_refusal_of(&line) {
            let said = out.stderr_text();
            assert!(said.contains("argument required when using the"), "{said}");
        }
    }
    // `pr edit` is the only exception: it falls back to the current branch.
    for out in world.same_refusal_of("pr edit -R octocat/tools -t x") {
        assert!(out.stderr_text().contains("for branch \"main\""), "{out:?}");
    }
    world.same_refusal_of("pr close");
    world.same_refusal_of("pr reopen");
}

#[test]
fn repo_flag_works_on_every_command() {
    let twins = Twins::with(seed_four_pulls);
    twins.git("remote rename origin elsewhere");
    twins.git("remote set-url elsewhere http://github.localhost/octocat/none.git");
    for line in [
        "pr view 1 -R octocat/tools",
        "pr diff 1 -R octocat/tools",
        "pr checks 1 -R octocat/tools",
        "pr comment 1 -b x -R octocat/tools",
        "pr review 1 -c -b x -R octocat/tools",
        "pr edit 1 -t x -R octocat/tools",
        "pr ready 2 -R octocat/tools",
        "pr close 3 -R octocat/tools",
        "pr reopen 3 --repo octocat/tools",
        "pr merge 4 -m -R octocat/tools",
        "pr list -R octocat/tools",
        "pr status -R octocat/tools",
    ] {
        twins.same(line);
        twins.same_state_of("octocat/tools");
    }
}

#[test]
fn json_filters_and_templates_match_gh() {
    let world = World::new();
    seed_four_pulls(&mut world.double.seed());
    for line in [
        "pr view 1 --json title,body,labels -q .title",
        "pr view 1 --json body --jq .body",
        "pr view 1 --json number,url -t '{{.number}} {{.url}}'",
        "pr view 1 --json title --template '{{truncate 5 .title}}'",
        "pr view 1 --json number --json url",
    ] {
        world.same_line(line);
    }
    for line in [
        "pr view 1 --json",
        "pr view 1 --json number,nonsense",
        "pr view 1 --json 'number, url'",
        "pr view 1 -q .",
        "pr view 1 -t x",
        "pr view 1 --json number -w",
        "pr view 1 --json number -q '.['",
    ] {
        world.same_refusal_of(line);
    }
}

#[test]
fn comments_and_reviews_are_shown_like_gh() {
    let world = World::new();
    seed_four_pulls(&mut world.double.seed());
    for (token, line) in [
        (None, "pr comment 1 -b 'First.'"),
        (Some(REVIEWER), "pr review 1 -r -b 'Not yet.'"),
        (None, "pr comment 1 -b 'Second.'"),
        (None, "pr comment 1 --edit-last -b 'Second, edited.'"),
        (Some(REVIEWER), "pr review 1 -a -b 'Now.'"),
        (Some(REVIEWER), "pr comment 1 -b 'Third.'"),
    ] {
        let run = match token {
            Some(token) => world.command_as(Tool::Gh, token, line),
            None => world.command(Tool::Gh, line),
        };
        run.ok();
    }
    for line in [
        "pr view 1 -c",
        "pr view 1 --comments",
        "pr view 1",
        "pr view 1 --json comments -q '.comments[].body'",
        "pr view 1 --json latestReviews -q '.latestReviews[].state'",
    ] {
        world.same_line(line);
    }
}

#[test]
fn web_flag_opens_the_page_of_gh() {
    let twins = Twins::with(seed_four_pulls);
    for (line, page) in [
        ("pr view 1 --web", "/octocat/tools/pull/1\n"),
        ("pr view 1 -w -c", "/octocat/tools/pull/1\n"),
        ("pr view -w hubot:patch", "/octocat/tools/pull/4\n"),
        ("pr diff 1 --web", "/octocat/tools/pull/1/files\n"),
        ("pr checks 1 -w", "/octocat/tools/pull/1/checks\n"),
        ("pr checks 1 --web", "/octocat/tools/pull/1/checks\n"),
        (
            "pr comment 1 --web",
            "/octocat/tools/pull/1#issuecomment-new\n",
        ),
    ] {
        let opened = twins.same(line).page;
        assert!(opened.ends_with(page), "{line}: {opened}");
    }
}

fn with_diffs() -> World {
    let world = World::new();
    let mut seed = world.double.seed();
    let files = [
        ("src/a.rs", "x\n"),
        ("src/b.txt", "y\nz\n"),
        ("docs/a.rs", "z\n"),
        ("zz.txt", "end\n"),
    ];
    let files = files.map(|(name, text)| (name, Some(text)));
    seed.commit(REPO, "several", &files, "Add several");
    seed.commit(
        REPO,
        "several",
        &[("src/a.rs", Some("x\nmore\n"))],
        "Change one\n\nWhy.",
    );
    seed.commit(
        REPO,
        "red",
        &[("e.txt", Some("\u{1b}[31mred\n"))],
        "Add red",
    );
    for head in ["several", "red"] {
        let pull = PullSeed {
            author: "octocat",
            title: "Title",
            head,
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
    }
    drop(seed);
    world
}

#[test]
fn diffs_equal_gh_diffs() {
    let world = with_diffs();
    for line in [
        "pr diff 1",
        "pr diff several",
        "pr diff 1 --color never",
        "pr diff 1 --color auto",
        "pr diff 1 --patch",
        "pr diff 1 --name-only",
        "pr diff 1 --exclude 'src/*' --exclude 'docs/*' --name-only",
        "pr diff 1 -e a.rs,b.txt --name-only",
        "pr diff 1 -e a.rs,b.txt",
        "pr diff 2 --allow-escape-sequences",
        "pr diff 2 --name-only",
    ] {
        world.same_line(line);
    }
    // Some output of `forge` has no counterpart in gh, so the test compares it with git's.
    world.git(&["fetch", "--quiet", "origin"]);
    let head = world.fields(Tool::Gh, "1", "headRefOid")["headRefOid"].clone();
    let range = format!("origin/main...{}", head.as_str().unwrap());
    let stat = world.git(&["diff", "--stat=80", "--no-renames", &range]);
    let ours = world.command(Tool::Forge, "pr diff 1 --stat").text();
    let count = |text: &str| text.lines().last().map(str::to_owned);
    assert_eq!(count(&ours), count(&stat));
    let some = world.git(&["diff", &range, "--", "src"]);
    assert_eq!(world.command(Tool::Forge, "pr diff 1 -- src").text(), some);
    for line in [
        "pr diff 1 --color sometimes",
        "pr diff 2",
        "pr diff 2 --patch",
    ] {
        world.same_refusal_of(line);
    }
}

#[test]
fn diff_has_equal_text_and_git_colours() {
    let world = with_diffs();
    let plain = |text: String| {
        let mut out = String::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            if c == '\u{1b}' {
                while rest.next().is_some_and(|c| c != 'm') {}
            } else {
                out.push(c);
            }
        }
        out
    };
    for line in [
        "pr diff 1 --color always",
        "pr diff 1 --patch --color always",
    ] {
        let [ours, theirs] = world.both(line);
        assert!(ours.stdout_text().contains("\u{1b}[32m+more"), "{ours:?}");
        assert_eq!(plain(ours.stdout_text()), plain(theirs.stdout_text()));
    }
}
