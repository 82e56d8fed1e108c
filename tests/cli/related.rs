//! Tests which pull requests `forge pr context` reports as related, and `forge pr list --touches`.

use forge_github_double::PullSeed;
use serde_json::{Value, json};

use super::tangled::world::{Tangled, WIDGET};
use crate::{
    hub::{Hub, REPO},
    world::World,
};

impl Hub {
    /// Opens a pull request from a branch that changes `files`.
    fn propose(&self, head: &str, base: &str, body: &str, files: &[&str]) -> u64 {
        let mut seed = self.double.seed();
        let text = format!("{head}\n");
        let files: Vec<_> = files.iter().map(|f| (*f, Some(text.as_str()))).collect();
        seed.commit(REPO, head, &files, "Work");
        let pull = PullSeed {
            author: "grace",
            title: head,
            head,
            base,
            body,
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull)
    }

    /// Returns the related pull requests, each with its relationship and the files that both pull
    /// requests change.
    fn related(&self, number: &str) -> Vec<String> {
        let args = ["pr", "context", number, "-R", REPO, "--json", "relatedPrs"];
        related(&self.forge(&args).output().success().json())
    }
}

fn related(found: &Value) -> Vec<String> {
    let all = found["relatedPrs"].as_array().unwrap().iter();
    let of = |r: &Value| {
        let files = r["overlapFiles"].as_array().into_iter().flatten();
        let files: Vec<&str> = files.map(|f| f.as_str().unwrap()).collect();
        let by = r["relationship"].as_str().unwrap();
        format!("{by} {} {}", r["number"], files.join(","))
            .trim_end()
            .to_owned()
    };
    all.map(of).collect()
}

#[test]
fn c_002_11_base_branch_makes_dependency_and_dependent() {
    let hub = Hub::new();
    hub.propose("lower", "main", "", &["a.txt"]);
    hub.propose("upper", "lower", "", &["b.txt"]);
    assert_eq!(hub.related("2"), ["dependency 1"]);
    assert_eq!(hub.related("1"), ["dependent 2"]);
}

#[test]
fn r_002_9_github_stack_makes_dependency_and_dependent() {
    let hub = Hub::new();
    hub.propose("one", "main", "", &["a.txt"]);
    for (branch, below) in [("two", "1"), ("three", "2")] {
        let file = format!("{branch}.txt");
        let mut seed = hub.double.seed();
        seed.commit(REPO, branch, &[(&file, Some("new\n"))], "Work");
        drop(seed);
        let create = [
            "pr", "create", "-R", REPO, "-H", branch, "-t", branch, "-b", "",
        ];
        hub.forge(&[&create[..], &["--depends-on", below]].concat())
            .ok();
    }
    assert_eq!(hub.related("2"), ["dependency 1", "dependent 3"]);
}

#[test]
fn r_002_9_depends_on_line_makes_dependency_and_dependent() {
    let t = Tangled::new();
    let lower = t.open("lower");
    let upper = t.create("upper", &["--depends-on", &lower]).text();
    let upper = upper.trim();
    for (of, by, other) in [(upper, "dependency", &*lower), (&lower, "dependent", upper)] {
        let args = ["pr", "context", of, "-R", WIDGET, "--json", "relatedPrs"];
        let found = t.forge(&t.bob, &args).output().success().json();
        assert_eq!(found["relatedPrs"][0]["relationship"], by, "{found}");
        assert_eq!(found["relatedPrs"][0]["number"], other, "{found}");
    }
}

#[test]
fn c_002_11_same_issue_or_branch_prefix_relates_pulls() {
    let hub = Hub::new();
    let issue = hub.double.seed().open_issue(REPO, "ada", "It leaks", "");
    let closes = format!("Closes #{issue}");
    let own = hub.propose("team/api/one", "main", &closes, &["a.txt"]);
    let same_issue = hub.propose("leak", "main", &closes, &["b.txt"]);
    let same_prefix = hub.propose("team/api/two", "main", "", &["c.txt"]);
    hub.propose(
        "team/web/one",
        "main",
        &format!("Unlike #{issue}."),
        &["d.txt"],
    );
    assert_eq!(
        hub.related(&own.to_string()),
        [
            format!("linked_issue {same_issue}"),
            format!("same_branch_prefix {same_prefix}"),
        ]
    );
    let ticket = hub.propose("fix-PROJ-12", "main", "", &["e.txt"]);
    let same_ticket = hub.propose("PROJ-12/two", "main", "", &["f.txt"]);
    let wanted = [format!("linked_issue {same_ticket}")];
    assert_eq!(hub.related(&ticket.to_string()), wanted);
}

#[test]
fn r_002_9_related_pulls_are_the_five_closest() {
    let hub = Hub::new();
    hub.propose("own", "main", "", &["a.txt", "b.txt", "Cargo.lock"]);
    hub.propose("one", "main", "", &["a.txt"]);
    hub.propose("both", "main", "", &["a.txt", "b.txt"]);
    hub.propose("lock", "main", "", &["Cargo.lock"]);
    for n in 0..4 {
        hub.propose(&format!("more{n}"), "main", "", &["b.txt"]);
    }
    hub.propose("upper", "own", "", &["z.txt"]);
    hub.double.reset_record();
    assert_eq!(
        hub.related("1"),
        [
            "dependent 9",
            "same_files 3 a.txt,b.txt",
            "same_files 8 b.txt",
            "same_files 7 b.txt",
            "same_files 6 b.txt",
        ]
    );
}

#[test]
fn r_002_9_related_pulls_cost_few_requests() {
    let hub = Hub::new();
    hub.double.seed().many_pulls(REPO, 120);
    let requests = |fields: &str| {
        hub.double.reset_record();
        let args = ["pr", "context", "1", "-R", REPO, "--json", fields];
        hub.forge(&args).ok();
        hub.double.counts().api
    };
    let more = requests("verdict,relatedPrs") - requests("verdict");
    assert!(more <= 4, "{more} requests for related pull requests");
}

#[test]
fn r_002_9_updated_old_pull_is_related() {
    let hub = Hub::new();
    hub.propose("old", "main", "", &["a.txt"]);
    hub.propose("own", "main", "", &["a.txt"]);
    hub.double.seed().many_pulls(REPO, 60);
    let args = ["pr", "context", "2", "-R", REPO, "--json"];
    let args = [&args[..], &["relatedPrs,warnings"]].concat();
    let read = || hub.forge(&args).output().success().json();
    assert_eq!(related(&read()), [""; 0]);
    hub.forge(&["pr", "edit", "1", "-R", REPO, "-b", "Again."])
        .ok();
    let found = read();
    assert_eq!(related(&found), ["same_files 1 a.txt"]);
    let said = found["warnings"].to_string();
    let examined = "only 50 of 62 pull requests were examined for related ones";
    assert!(said.contains(examined), "{said}");
}

#[test]
fn touches_flag_lists_pulls_changing_a_path() {
    let world = World::with_pull();
    world.open("other");
    let list = |paths: &[&str]| {
        let mut args = vec!["pr", "list", "--json", "number", "-q", ".[].number"];
        args.extend(paths.iter().flat_map(|path| ["--touches", path]));
        world.forge(&args).output().success()
    };
    assert_eq!(list(&["feature.txt"]).stdout_text(), "1\n");
    assert_eq!(list(&["feature.txt", "other.*"]).stdout_text(), "2\n1\n");
    let none = list(&["src"]);
    assert_eq!(none.stdout_text(), "");
    let said = none.stderr_text();
    assert!(
        said.contains("compared the files of 2 pull requests"),
        "{said}"
    );
    let args = ["pr", "list", "--touches", "../x"];
    let out = world.forge(&args).output().exits(1);
    assert!(out.stderr_text().contains("names no file"), "{out:?}");
}

#[test]
fn touches_flag_reports_the_limit_of_its_scan() {
    let hub = Hub::new();
    hub.double.seed().many_pulls(REPO, 320);
    let list = |path: &str, limit: &str| {
        hub.double.reset_record();
        let args = ["pr", "list", "-R", REPO, "--json", "number", "-L", limit];
        let args = [&args[..], &["--touches", path]].concat();
        hub.forge(&args).output().success()
    };
    let none = list("nothing", "30");
    assert_eq!(none.json(), json!([]));
    let said = none.stderr_text();
    assert!(
        said.contains("the files of 300 pull requests were compared"),
        "{said}"
    );
    assert_eq!(hub.double.counts().api, 12);
    let found = list("bulk-3*", "5");
    assert_eq!(found.json().as_array().unwrap().len(), 5);
    assert_eq!(hub.double.counts().api, 1);
}
