//! Tests `pr list` and `pr status` over several repositories on several forges at once.

use std::time::{Duration, Instant};

use forge_github_double::{Fault, PullSeed};
use forge_testkit::Output;

use crate::{
    hub::{Hub, REPO, TOKEN},
    tangled::world::{PASSWORD, Tangled, WIDGET},
    world::{World, rows},
};

/// A repository on each kind of forge, each with a pull request.
struct Everywhere {
    hub: Hub,
    tangled: Tangled,
    local: World,
}

impl Everywhere {
    fn new() -> Self {
        let (hub, tangled) = (Hub::with_pull(), Tangled::new());
        tangled.open("topic");
        Self {
            hub,
            tangled,
            local: World::with_pull(),
        }
    }

    /// Runs `forge pr …` over all these repositories, and over a path without a repository.
    fn pr(&self, args: &[&str]) -> Output {
        let here = self.local.git.path().display().to_string();
        let gone = self.local.scratch.path("gone").display().to_string();
        let places = [
            "-R", REPO, "-R", WIDGET, "-R", &here, "-R", &gone, "-R", &here,
        ];
        let run = self.local.forge(&[&["pr"][..], args, &places].concat());
        let hub = self.hub.double.env(TOKEN).into_iter();
        hub.chain(self.tangled.services())
            .fold(run, |run, (key, value)| run.env(key, value))
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1")
            .env("TANGLED_HANDLE", &self.tangled.alice.handle)
            .env("TANGLED_PASSWORD", PASSWORD)
            .output()
    }
}

#[test]
fn list_across_forges_warns_about_missing_parts() {
    let all = Everywhere::new();
    all.hub.double.reset_record();
    let out = all.pr(&["list"]).exits(1);
    assert_eq!(all.hub.double.counts().api, 1, "{out:?}");
    let text = out.stdout_text();
    let rows = rows(&text);
    assert_eq!(rows.len(), 3, "{out:?}");
    for (repo, title) in [
        (REPO, "Work"),
        ("alice.test/widget", "T"),
        ("/repo", "Title of feature"),
    ] {
        let found = rows.iter().find(|row| row[0].ends_with(repo));
        assert_eq!(found.map(|row| row[2]), Some(title), "{text}");
    }
    let said = out.stderr_text();
    assert!(said.contains("/gone is not shown: "), "{said}");
    let out = all.pr(&["list", "--json", "title"]).exits(1);
    let out = out.json();
    let items = out.as_array().unwrap();
    assert_eq!(items.len(), 3, "{out}");
    let of = |title: &str| items.iter().find(|item| item["title"] == title).unwrap();
    let work = &of("Work")["repository"];
    assert_eq!(work["nameWithOwner"], REPO);
    assert_eq!(work["host"], "github.localhost");
    assert_eq!(of("T")["repository"]["nameWithOwner"], "alice.test/widget");
    assert_eq!(of("Title of feature")["repository"]["name"], "repo");
}

#[test]
fn status_of_all_forges_lists_own_pulls() {
    let all = Everywhere::new();
    all.hub.double.seed().open_pull(
        REPO,
        &PullSeed {
            author: "ada",
            title: "Own",
            head: "own",
            ..PullSeed::default()
        },
    );
    all.hub.double.reset_record();
    let out = all.pr(&["status", "--json", "title"]).exits(1).json();
    assert_eq!(all.hub.double.counts().api, 1);
    let titles = out["createdBy"].as_array().unwrap().iter();
    let mut titles: Vec<&str> = titles.map(|p| p["title"].as_str().unwrap()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Own", "T", "Title of feature"], "{out}");
    assert_eq!(out["needsReview"], serde_json::json!([]));
    let text = all.pr(&["status"]).exits(1).stdout_text();
    assert!(text.contains(&format!("{REPO}#2  Own [own]")), "{text}");
}

#[test]
fn unreachable_forge_is_named_and_others_are_listed() {
    let all = Everywhere::new();
    all.tangled.world.index().host().set_down(true);
    all.tangled.world.pds().host().set_down(true);
    let fault = Fault::status(503).always();
    all.hub.double.fault(fault);
    let out = all.pr(&["list"]).exits(1);
    let text = out.stdout_text();
    assert_eq!(text.lines().count(), 1, "{out:?}");
    assert!(text.contains("Title of feature"), "{text}");
    let said = out.stderr_text();
    assert!(said.contains("github.localhost is not shown: "), "{said}");
    assert!(said.contains("alice.test/widget is not shown: "), "{said}");
}

/// Measures time, because request counts do not show whether requests run in parallel.
#[test]
fn slow_forges_are_requested_in_parallel() {
    const SLOW: Duration = Duration::from_secs(3);
    let all = Everywhere::new();
    let usual = Instant::now();
    let _ = all.pr(&["list"]).exits(1);
    let usual = usual.elapsed();
    let late = Fault::delayed(SLOW).always();
    all.hub.double.fault(late);
    let late = forge_tangled_world::Fault::delayed(SLOW).on("sh.tangled.repo.listPulls");
    all.tangled.world.index().host().fault(late.always());
    let slow = Instant::now();
    let out = all.pr(&["list"]).exits(1);
    let slow = slow.elapsed();
    assert_eq!(out.stdout_text().lines().count(), 3, "{out:?}");
    assert!(slow < usual + SLOW + SLOW / 2, "{usual:?} {slow:?}");
}

#[test]
fn list_with_owner_or_mine_flag_takes_one_request() {
    let hub = Hub::with_pull();
    {
        let mut seed = hub.double.seed();
        seed.repo_with_readme("ada/own");
        for (author, title, head) in [("ada", "Own", "one"), ("grace", "Hers", "two")] {
            let pull = PullSeed {
                author,
                title,
                head,
                ..PullSeed::default()
            };
            seed.open_pull("ada/own", &pull);
        }
    }
    let ask = |args: &[&str], code: i32| {
        hub.double.reset_record();
        let out = hub
            .forge(&[&["pr"][..], args].concat())
            .output()
            .exits(code);
        assert_eq!(hub.double.counts().api, 1, "{args:?}: {out:?}");
        out
    };
    let titles = |text: &str| {
        let mut titles: Vec<String> = rows(text).iter().map(|row| row[2].to_owned()).collect();
        titles.sort_unstable();
        titles.join(" ")
    };
    for (args, wanted) in [
        (&["list", "--owner", "octo"][..], "Work"),
        (&["list", "--owner", "ada"][..], "Hers Own"),
        (&["list", "--owner", "@me"][..], "Hers Own"),
        (&["list", "-R", "@mine"][..], "Hers Own"),
        (&["list", "-R", REPO, "--owner", "ada"][..], "Hers Own Work"),
        (&["list", "--owner", "ada", "--author", "grace"][..], "Hers"),
        (
            &["list", "--owner", "ada", "-R", REPO, "-S", "hers OR work"][..],
            "Hers Work",
        ),
    ] {
        assert_eq!(titles(&ask(args, 0).stdout_text()), wanted, "{args:?}");
    }
    let cut = "there are more pull requests than are shown";
    for (limit, is_cut) in [("1", true), ("2", false)] {
        for json in [&[] as &[&str], &["--json", "title"]] {
            let args = [&["list", "--owner", "ada", "-L", limit][..], json].concat();
            let said = ask(&args, 0).stderr_text();
            assert_eq!(said.contains(cut), is_cut, "{args:?}: {said}");
        }
    }
    let mine = ask(&["status", "-R", "@mine", "--json", "title"], 0).json();
    assert_eq!(mine["createdBy"][0]["title"], "Own");
    let args = [
        "list", "--owner", "ada", "--owner", "nobody", "-R", "ada/gone",
    ];
    let out = ask(&args, 1);
    assert_eq!(titles(&out.stdout_text()), "Hers Own");
    let said = out.stderr_text();
    assert!(said.contains("nobody is not shown: "), "{said}");
    assert!(said.contains("ada/gone is not shown: "), "{said}");
}

#[test]
fn table_of_several_repositories_has_short_names() {
    let hub = Hub::with_pull();
    hub.double.seed().repo_with_readme("ada/own");
    let of = |more: &[&str]| {
        let args = [&["pr", "list", "-R", REPO, "-R", "ada/own"][..], more].concat();
        hub.forge(&args)
    };
    let table = of(&[]).env("FORGE_FORCE_TTY", "80").text();
    assert!(table.contains(&format!("\n{REPO}")), "{table}");
    let out = of(&["--json", "repository,title"]).output().success();
    let first = &out.json()[0];
    assert_eq!(first["title"], "Work");
    assert_eq!(first["repository"]["nameWithOwner"], REPO);
    let out = of(&["--json", "repository"]).output().success();
    assert_eq!(out.json()[0]["repository"]["name"], "tools");
}

#[test]
fn truncated_status_of_several_repositories_warns() {
    let hub = Hub::with_pull();
    {
        let mut seed = hub.double.seed();
        for _ in 0..101 {
            let pull = PullSeed {
                author: "ada",
                title: "Own",
                head: "own",
                ..PullSeed::default()
            };
            seed.open_pull(REPO, &pull);
        }
    }
    let args = ["pr", "status", "-R", "@mine", "--json", "title"];
    let out = hub.forge(&args).output().success();
    let said = out.stderr_text();
    let cut = "there are more pull requests than are shown";
    assert!(said.contains(cut), "{said}");
    assert_eq!(out.json()["createdBy"].as_array().unwrap().len(), 100);
}

#[test]
fn list_of_several_repositories_refuses_repo_flags() {
    let world = World::with_pull();
    for flag in [&["--web"][..], &["--touches", "a"][..]] {
        let args = [&["pr", "list", "-R", ".", "-R", ".."][..], flag].concat();
        let out = world.forge(&args).output().exits(1);
        assert!(
            out.stderr_text().contains("works with one repository only"),
            "{out:?}"
        );
    }
}

#[test]
fn second_repository_is_refused_by_other_commands() {
    let world = World::with_pull();
    for command in [
        &["pr", "view", "1"][..],
        &["co", "1"],
        &["issue", "list"],
        &["label", "list"],
        &["workflow", "show"],
        &["capabilities"],
        &["doctor"],
    ] {
        let args = [command, &["-R", ".", "-R", ".."]].concat();
        let said = world.forge(&args).output().exits(1).stderr_text();
        assert!(said.contains("-R is given twice: '.' and '..'"), "{said}");
        assert!(said.contains("run the command once for each"), "{said}");
    }
    for list in ["a,b", "o/a,o/b"] {
        let args = ["pr", "list", "-R", list];
        let said = world.forge(&args).output().exits(1).stderr_text();
        assert!(said.contains("repeat the flag for each"), "{said}");
    }
    let same = ["pr", "view", "1", "-R", ".", "-R", "."];
    let _ = world.forge(&same).output().success();
}
