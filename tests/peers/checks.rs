use forge_github_double::{Seed, state::Protection};

use crate::{
    twins::Twins,
    world::{REPO, World},
};

fn seed_pull(seed: &mut Seed<'_>) {
    seed.many_pulls(REPO, 1);
}

fn with_checks(checks: &[(&str, &str)]) -> World {
    let world = World::new();
    seed_pull(&mut world.double.seed());
    for (name, conclusion) in checks {
        world.double.seed().check(REPO, 1, "CI", name, conclusion);
    }
    world
}

#[test]
fn exit_codes_of_checks_match_gh() {
    for (checks, code) in [
        (&[][..], 1),
        (&[("a", "SUCCESS")], 0),
        (&[("a", "SUCCESS"), ("b", "SKIPPED"), ("c", "NEUTRAL")], 0),
        (&[("a", "CANCELLED")], 0),
        (&[("a", "CANCELLED"), ("b", "SUCCESS")], 0),
        (&[("a", "IN_PROGRESS")], 8),
        (&[("a", "QUEUED"), ("b", "SUCCESS")], 8),
        (&[("a", "FAILURE")], 1),
        (&[("a", "FAILURE"), ("b", "IN_PROGRESS")], 1),
        (&[("a", "TIMED_OUT")], 1),
        (&[("a", "ACTION_REQUIRED")], 1),
    ] {
        let world = with_checks(checks);
        let [ours, theirs] = world.both("pr checks 1");
        assert_eq!(
            (ours.code, theirs.code),
            (Some(code), Some(code)),
            "{ours:?}\n{theirs:?}"
        );
        let rows = |text: String| {
            let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
            rows.sort();
            rows
        };
        assert_eq!(rows(ours.stdout_text()), rows(theirs.stdout_text()));
        if !checks.is_empty() {
            let sorted = "--json name,state,bucket -q 'sort_by(.name)[] | [.name, .state, .bucket] | join(\" \")'";
            world.same_line(&format!("pr checks 1 {sorted}"));
        }
    }
}

#[test]
fn checks_accept_every_selector() {
    let world = with_checks(&[("build", "SUCCESS"), ("test", "SUCCESS")]);
    world.git(&["fetch", "--quiet"]);
    world.git(&["checkout", "--quiet", "bulk-1"]);
    for line in [
        "pr checks",
        "pr checks bulk-1",
        "pr checks https://github.localhost/octocat/tools/pull/1 -R acme/elsewhere",
        "pr checks 1 --json name,state,link,workflow,event,description,bucket -q sort_by(.name)",
        "pr checks 1 --json name --jq '[.[].name] | sort'",
        "pr checks 1 --json name --template '{{range .}}{{.bucket}} {{end}}'",
    ] {
        world.same_line(line);
    }
}

#[test]
fn commit_statuses_in_checks_match_gh() {
    let world = with_checks(&[("build", "SUCCESS")]);
    world.double.seed().status(REPO, 1, "deploy", "SUCCESS");
    world.same_line("pr checks 1");
    world.double.seed().status(REPO, 1, "deploy", "PENDING");
    assert_eq!(world.both("pr checks 1").map(|out| out.code), [Some(8); 2]);
    world.double.seed().status(REPO, 1, "deploy", "ERROR");
    let [ours, theirs] = world.both("pr checks 1");
    assert_eq!((ours.stdout, ours.code), (theirs.stdout, theirs.code));
    assert_eq!(ours.code, Some(1));
}

#[test]
fn required_flag_lists_only_required_checks() {
    let world = with_checks(&[("build", "SUCCESS"), ("lint", "FAILURE")]);
    for out in world.same_refusal_of("pr checks 1 --required") {
        assert!(
            out.stderr_text().contains("no required checks reported"),
            "{out:?}"
        );
    }
    let rules = Protection {
        checks: ["build".to_owned()].into(),
        ..Protection::default()
    };
    world.double.seed().protect(REPO, "main", rules);
    world.same_line("pr checks 1 --required");
    world.same_line("pr checks 1 --required --json name -q '.[].name'");
    assert_eq!(world.both("pr checks 1").map(|out| out.code), [Some(1); 2]);
}

#[test]
fn watch_ends_with_the_last_check() {
    for (state, more, code) in [("SUCCESS", "", 0), ("FAILURE", "", 1)] {
        let twins = Twins::with(|seed| {
            seed_pull(seed);
            seed.check(REPO, 1, "CI", "build", "IN_PROGRESS");
        });
        for (world, tool) in [
            (&twins.forge, crate::world::Tool::Forge),
            (&twins.gh, crate::world::Tool::Gh),
        ] {
            let line = format!("pr checks 1 --watch --interval 1{more}");
            let run = world.command(tool, &line);
            let watching = std::thread::spawn(move || run.output());
            // The watch has to read the checks once before they finish.
            while world.double.counts().api == 0 && !watching.is_finished() {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            world.double.seed().check(REPO, 1, "CI", "build", state);
            let out = watching.join().unwrap();
            assert_eq!(out.code, Some(code), "{out:?}");
        }
    }
    let world = with_checks(&[("bad", "FAILURE"), ("slow", "IN_PROGRESS")]);
    let ends = world.both("pr checks 1 --watch --interval 1 --fail-fast");
    assert_eq!(ends.map(|out| out.code), [Some(1); 2]);
}

#[test]
fn bad_checks_commands_are_refused_by_both() {
    let world = with_checks(&[("build", "SUCCESS")]);
    for line in [
        "pr checks 1 --fail-fast",
        "pr checks 1 --interval 5",
        "pr checks 1 -i 5",
        "pr checks 1 --watch -i soon",
        "pr checks 1 --json nonsense",
        "pr checks 1 --json",
        "pr checks 1 --jq .",
        "pr checks 1 -t x",
        "pr checks 1 --watch --json name",
        "pr checks 1 --web --json name",
        "pr checks",
    ] {
        world.same_refusal_of(line);
    }
}
