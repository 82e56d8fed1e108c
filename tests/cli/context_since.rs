//! Tests `forge pr context --since`, `--context-lines` and the section `source`, on GitHub and
//! locally.

use std::{fs, path::PathBuf};

use forge_github_double::{Action, Fault, PullSeed, state::ReviewState};
use forge_testkit::{Run, git_program};
use serde_json::{Value, json};

use crate::{
    hub::{Hub, REPO},
    world::World,
};

const GONE: &str = "1111111111111111111111111111111111111111";

/// Returns a text of `lines` lines. Line `changed` has the text `to`.
fn numbered(lines: usize, changed: usize, to: &str) -> String {
    (1..=lines)
        .map(|n| match n == changed {
            true => format!("{to}\n"),
            false => format!("line {n}\n"),
        })
        .collect()
}

/// Returns a summary of a bundle's `since`: how the head moved, its commits, and the changed files.
fn since_summary(found: &Value) -> (String, Vec<String>, Vec<String>) {
    let since = &found["since"];
    let list = |all: &Value, of: &dyn Fn(&Value) -> String| -> Vec<String> {
        all.as_array()
            .unwrap_or(&Vec::new())
            .iter()
            .map(of)
            .collect()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let commits = list(&since["commits"], &|c| {
        format!("{} {}", text(&c["change"]), text(&c["headline"]))
    });
    let files = list(&since["diff"]["files"], &|f| text(&f["path"]));
    (text(&since["headChange"]), commits, files)
}

fn wanted(change: &str, commits: &[&str], files: &[&str]) -> (String, Vec<String>, Vec<String>) {
    let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
    (change.to_owned(), owned(commits), owned(files))
}

impl World {
    /// Creates pull request 1 with two files and two commits, which Grace has reviewed.
    fn reviewed() -> Self {
        let world = Self::new();
        world.write_series("one\n", "lib: change line 3");
        let open = ["pr", "create", "-H", "feature", "-t", "T", "-b", "B"];
        world.forge(&open).ok();
        world
            .grace(&["pr", "review", "1", "--comment", "-b", "Seen."])
            .ok();
        world
    }

    /// Creates the two commits of `feature` on top of the current `main`.
    fn write_series(&self, text: &str, headline: &str) {
        self.git.delete_branch("feature");
        let lib = self.git.show("main", "src/lib.rs");
        let lib = lib.replace("line 3\n", "line three\n");
        let first = [("src/lib.rs", Some(lib.as_str()))];
        self.git.commit("feature", headline, &first);
        self.git
            .commit("feature", "Add a", &[("a.txt", Some(text))]);
    }

    fn since(&self, asked: &str) -> Value {
        let args = ["pr", "context", "1", "--since", asked, "--json"];
        self.grace(&args).output().success().json()
    }
}

#[test]
fn changes_since_review_are_only_pushed_commits() {
    let world = World::reviewed();
    let reviewed = world.git.oid("feature").unwrap();
    world
        .git
        .commit("feature", "Add b", &[("b.txt", Some("two\n"))]);
    let found = world.since("review");
    assert_eq!(
        since_summary(&found),
        wanted("continued", &["added Add b"], &["b.txt"])
    );
    assert_eq!(found["since"]["fromSha"], reviewed);
    assert_eq!(found["since"]["review"], found["reviews"][0]["id"]);
    assert_eq!(found["diff"], Value::Null);
    let id = found["reviews"][0]["id"].as_str().unwrap();
    for asked in [id, &reviewed, &reviewed[..9]] {
        assert_eq!(
            since_summary(&world.since(asked)),
            since_summary(&found),
            "{asked}"
        );
    }
    let text = world
        .grace(&["pr", "context", "1", "--since", "review"])
        .text();
    let head = format!("{}: the head has more commits\n  added ", &reviewed[..12]);
    for part in [
        &*head,
        " \"Add b\"\n",
        "Changes since then: 1 file(s) +1 -0\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    // If the account has no review, `since` contains an error.
    let args = [
        "pr", "context", "1", "--since", "review", "--json", "errors",
    ];
    let found = world.forge(&args).output().success().json();
    assert_eq!(found["errors"][0]["section"], "since");
}

#[test]
fn pull_without_push_since_review_is_unchanged() {
    let world = World::reviewed();
    assert_eq!(
        since_summary(&world.since("review")),
        wanted("unchanged", &[], &[])
    );
}

#[test]
fn pure_rebase_since_review_shows_no_changes() {
    let world = World::reviewed();
    let lib = numbered(20, 20, "last");
    let main = [("src/lib.rs", Some(lib.as_str())), ("new", Some("x\n"))];
    world.git.commit("main", "Move on", &main);
    world.write_series("one\n", "lib: change line 3");
    assert_eq!(
        since_summary(&world.since("review")),
        wanted("rebased", &[], &[])
    );
    let text = world
        .grace(&["pr", "context", "1", "--since", "review"])
        .text();
    assert!(
        text.contains(": the head was rebased\n\nChanges since then: 0 file(s)"),
        "{text}"
    );
}

#[test]
fn rebase_with_change_since_review_shows_the_change() {
    let world = World::reviewed();
    let lib = numbered(20, 20, "last");
    world
        .git
        .commit("main", "Move on", &[("src/lib.rs", Some(lib.as_str()))]);
    world.write_series("other\n", "lib: say three");
    let found = world.since("review");
    // A commit with unchanged contents and a new headline counts as the same commit.
    assert_eq!(
        since_summary(&found),
        wanted("rebased", &["changed Add a"], &["a.txt"])
    );
    let hunk = found["since"]["diff"]["files"][0]["hunks"][0]["text"].as_str();
    assert!(hunk.unwrap().contains("-one\n+other\n"), "{found}");
}

#[test]
fn force_push_since_review_names_dropped_commits() {
    let world = World::reviewed();
    world.git.delete_branch("feature");
    world.git.commit(
        "feature",
        "Add c",
        &[("a.txt", Some("one\n")), ("c", Some("c\n"))],
    );
    let found = world.since("review");
    let commits = ["added Add c", "dropped lib: change line 3", "dropped Add a"];
    assert_eq!(
        since_summary(&found),
        wanted("rewritten", &commits, &["c", "src/lib.rs"])
    );
}

#[test]
fn conflicting_rebase_since_review_shows_whole_files() {
    let world = World::reviewed();
    let lib = numbered(20, 4, "line four");
    world
        .git
        .commit("main", "Move on", &[("src/lib.rs", Some(lib.as_str()))]);
    world.write_series("one\n", "lib: change line 3");
    let found = world.since("review");
    let (change, _, files) = since_summary(&found);
    assert_eq!(
        (&*change, files),
        ("rebased", vec!["src/lib.rs".to_owned()])
    );
    let said = found["warnings"].to_string();
    assert!(
        said.contains("conflicts with the newer base branch"),
        "{said}"
    );
}

#[test]
fn since_flag_accepts_revisions_of_git() {
    let world = World::reviewed();
    let reviewed = world.git.oid("feature").unwrap();
    world
        .git
        .commit("feature", "Add b", &[("b.txt", Some("two\n"))]);
    let found = world.since("feature~1");
    assert_eq!(found["since"]["fromSha"], reviewed);
    assert_eq!(
        since_summary(&found),
        since_summary(&world.since(&reviewed))
    );
    // `review` selects the review even if a branch has that name.
    let review = world.since("review")["since"]["review"].clone();
    let id = review.as_str().unwrap();
    let main = world.git.oid("main").unwrap();
    world.git.set_branch(id, &main);
    assert_eq!(world.since(id)["since"]["review"], review);
}

#[test]
fn merge_of_base_since_review_shows_no_changes() {
    let world = World::reviewed();
    world.git.commit("main", "Move on", &[("new", Some("x\n"))]);
    world.forge(&["pr", "update-branch", "1"]).ok();
    let (change, commits, files) = since_summary(&world.since("review"));
    assert_eq!((&*change, commits.len()), ("continued", 1));
    assert_eq!(files, Vec::<String>::new());
}

#[test]
fn unknown_since_commit_or_review_is_section_error() {
    let world = World::reviewed();
    for (asked, why) in [
        (GONE, "the repository has no commit 1111"),
        ("abcdef0", "the repository has no commit abcdef0"),
        ("r99", "'r99' is not a review of this pull request"),
        ("main~99", "'main~99' is not a review of this pull request"),
        ("--all", "'--all' is not a review of this pull request"),
    ] {
        let args = [
            "pr",
            "context",
            "1",
            &format!("--since={asked}"),
            "--json",
            "since,errors,partial,summary",
        ];
        let out = world.grace(&args).output().success();
        let found = out.json();
        assert_eq!(found["errors"][0]["section"], "since", "{asked}: {found}");
        let message = found["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(why), "{asked}: {message}");
        assert_eq!(
            (&found["since"], &found["partial"]),
            (&Value::Null, &json!(true))
        );
        assert_eq!(found["summary"]["readyToMerge"], false);
        let said = out.stderr_text();
        assert!(said.contains("Recovery: name "), "{said}");
    }
}

impl Hub {
    /// Creates pull request 1 with two files and two commits, and a clone that has these commits.
    fn reviewed() -> (Self, Cloned) {
        let hub = Self::new();
        let clone = hub.cloned("clone");
        clone.write_series("one\n", "origin/main");
        clone.push();
        hub.double.seed().open_pull(
            REPO,
            &PullSeed {
                author: "grace",
                title: "Work",
                head: "work",
                ..PullSeed::default()
            },
        );
        let mut seed = hub.double.seed();
        seed.review(REPO, 1, "ada", ReviewState::Commented, "Seen.");
        drop(seed);
        (hub, clone)
    }

    fn cloned(&self, name: &str) -> Cloned {
        let config = self.scratch.path("home/.gitconfig");
        let mut text = fs::read_to_string(&config).unwrap();
        text.push_str(
            "[credential \"http://github.localhost\"]\n\
             \thelper = \"!f() { echo username=x; echo password=$GH_TOKEN; }; f\"\n",
        );
        fs::write(&config, text).unwrap();
        let url = format!("http://github.localhost/{REPO}.git");
        let run = self.as_ada(self.scratch.run(git_program()));
        run.args(["clone", "--quiet", &url, name]).ok();
        Cloned {
            run: self.as_ada(self.scratch.run(git_program())),
            dir: self.scratch.path(name),
        }
    }

    /// Runs `pr context` outside a clone, and returns the bundle.
    fn bundle(&self, args: &[&str]) -> Value {
        let all = [&["pr", "context", "1", "-R", REPO], args].concat();
        self.forge(&all).output().success().json()
    }

    /// Runs `pr context` inside a clone, and returns the bundle.
    fn bundle_in(&self, clone: &Cloned, args: &[&str]) -> Value {
        let all = [&["pr", "context", "1"], args].concat();
        self.forge(&all).dir(&clone.dir).output().success().json()
    }
}

/// A clone of the double's repository. Ada pushes from it.
struct Cloned {
    run: Run,
    dir: PathBuf,
}

impl Cloned {
    fn git(&self, args: &[&str]) -> String {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let run = self.run.clone().dir(&self.dir);
        run.args([&who[..], args].concat()).text()
    }

    fn commit(&self, files: &[(&str, &str)], headline: &str) {
        for (path, text) in files {
            fs::write(self.dir.join(path), text).unwrap();
        }
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", headline]);
    }

    /// Creates the two commits of `work` on top of `base`.
    fn write_series(&self, text: &str, base: &str) {
        self.git(&["switch", "--quiet", "--no-track", "-C", "work", base]);
        self.commit(&[("long.txt", &numbered(60, 30, "thirty"))], "Add long");
        self.commit(&[("a.txt", text)], "Add a");
    }

    fn push(&self) {
        self.git(&["push", "--quiet", "--force", "origin", "HEAD"]);
    }

    fn move_main(&self) {
        self.git(&["switch", "--quiet", "main"]);
        self.commit(&[("new.txt", "x\n")], "Move on");
        self.push();
        self.git(&["fetch", "--quiet"]);
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "work"]).trim().to_owned()
    }
}

#[test]
fn since_flag_on_github_needs_no_clone() {
    let (hub, clone) = Hub::reviewed();
    let reviewed = clone.head();
    let since = ["--since", "review", "--json", "since,warnings,errors"];
    assert_eq!(
        since_summary(&hub.bundle(&since)),
        wanted("unchanged", &[], &[])
    );

    clone.commit(&[("b.txt", "two\n")], "Add b");
    clone.push();
    let pushed = wanted("continued", &["added Add b"], &["b.txt"]);
    for found in [hub.bundle(&since), hub.bundle_in(&clone, &since)] {
        assert_eq!(since_summary(&found), pushed, "{found}");
        assert_eq!(found["since"]["fromSha"], reviewed);
        assert_eq!(found["warnings"], json!([]));
    }
    let short = ["--since", &reviewed[..10], "--json", "since"];
    assert_eq!(since_summary(&hub.bundle(&short)), pushed);

    clone.move_main();
    clone.write_series("one\n", "origin/main");
    clone.push();
    for found in [hub.bundle(&since), hub.bundle_in(&clone, &since)] {
        assert_eq!(
            since_summary(&found),
            wanted("rebased", &[], &[]),
            "{found}"
        );
    }

    clone.write_series("other\n", "origin/main");
    clone.push();
    let (change, _, files) = since_summary(&hub.bundle(&since));
    assert_eq!((&*change, files), ("rebased", vec!["a.txt".to_owned()]));
    let found = hub.bundle_in(&clone, &since);
    assert_eq!(
        since_summary(&found),
        wanted("rebased", &["changed Add a"], &["a.txt"])
    );
}

#[test]
fn merge_after_hundred_commits_on_github_is_noticed() {
    let (hub, clone) = Hub::reviewed();
    for n in 0..100 {
        let headline = format!("Step {n}");
        clone.git(&["commit", "--quiet", "--allow-empty", "-m", &headline]);
    }
    clone.move_main();
    clone.git(&["switch", "--quiet", "work"]);
    clone.git(&["merge", "--quiet", "-m", "Merge main", "origin/main"]);
    clone.push();
    let since = ["--since", "review", "--json", "since,warnings"];
    let found = hub.bundle(&since);
    assert_eq!(since_summary(&found), wanted("continued", &[], &[]));
    assert_eq!(found["warnings"], json!([]));

    // Without a link to the second page, the merge is not read.
    let no_link = Action::Headers(vec![("link".to_owned(), String::new())]);
    let compare = format!("/repos/{REPO}/compare/");
    hub.double
        .fault(Fault::new(no_link).on_path(&compare).always());
    let found = hub.bundle(&since);
    assert_eq!(since_summary(&found), wanted("continued", &[], &[]));
    let said = found["warnings"].to_string();
    assert!(said.contains("100 of 102 new commits were read"), "{said}");
}

#[test]
fn moved_change_since_review_on_github_is_shown() {
    let hub = Hub::new();
    let clone = hub.cloned("clone");
    let function = "def f():\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n";
    let functions = |top: &str, changed: usize| -> String {
        let one = |n| match n == changed {
            true => format!("{function}    return True\n\n"),
            false => format!("{function}\n"),
        };
        [top.to_owned()]
            .into_iter()
            .chain((1..=6).map(one))
            .collect()
    };
    let commit = |branch: &str, top: &str, changed| {
        clone.git(&["switch", "--quiet", "--no-track", "-C", branch, "main"]);
        clone.commit(&[("f.py", &functions(top, changed))], "Change f");
        clone.push();
    };
    commit("main", "", 0);
    commit("work", "", 1);
    let reviewed = clone.head();
    let pull = PullSeed {
        author: "grace",
        title: "Work",
        head: "work",
        ..PullSeed::default()
    };
    hub.double.seed().open_pull(REPO, &pull);
    let since = ["--since", &reviewed, "--json", "since,warnings"];

    commit("work", "", 4);
    let found = hub.bundle(&since);
    let (change, _, files) = since_summary(&found);
    assert_eq!((&*change, files), ("rewritten", vec!["f.py".to_owned()]));

    commit("main", "# top\n", 0);
    commit("work", "# top\n", 4);
    let found = hub.bundle(&since);
    // A rewritten commit may get a new date. Without git, such a commit may count as a different
    // one.
    let (change, _, files) = since_summary(&found);
    assert_eq!((&*change, files), ("rebased", vec![]));
    let said = found["warnings"].to_string();
    assert!(said.contains("those lines may have moved): f.py"), "{said}");
}

#[test]
fn reviewed_commit_without_ref_is_fetched_by_id() {
    let (hub, clone) = Hub::reviewed();
    clone.move_main();
    clone.write_series("other\n", "origin/main");
    clone.push();
    // In a new clone, no ref contains the reviewed commit any more.
    let fresh = hub.cloned("fresh");
    let refs = fresh.git(&["for-each-ref"]);
    let found = hub.bundle_in(&fresh, &["--since", "review", "--json", "since,warnings"]);
    assert_eq!(
        since_summary(&found),
        wanted("rebased", &["changed Add a"], &["a.txt"])
    );
    assert_eq!(found["warnings"], json!([]));
    assert_eq!(fresh.git(&["for-each-ref"]), refs);
}

#[test]
fn missing_since_commit_on_github_has_recovery() {
    let (hub, clone) = Hub::reviewed();
    let args = ["pr", "context", "1", "-R", REPO, "--since", GONE];
    let said = hub.forge(&args).output().success().stderr_text();
    assert!(said.contains("read the whole diff"), "{said}");
    let args = ["--since", GONE, "--json", "since,errors,summary"];
    for found in [hub.bundle(&args), hub.bundle_in(&clone, &args)] {
        let error = &found["errors"][0];
        assert_eq!(
            (&error["section"], &error["kind"]),
            (&json!("since"), &json!("not_found"))
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("has no commit 1111"), "{message}");
        assert_eq!(found["summary"]["oneLiner"], "Work");
    }
}

#[test]
fn c_002_12_more_context_lines_need_git() {
    let (hub, clone) = Hub::reviewed();
    hub.double.seed().thread(REPO, 1, "grace", "long.txt");
    clone.write_series("one\n", "origin/main");
    clone.git(&["switch", "--quiet", "-C", "work", "origin/work"]);
    clone.commit(&[("long.txt", &numbered(60, 30, "Thirty"))], "Change long");
    clone.push();
    clone.git(&["push", "--quiet", "origin", "work~1:refs/heads/before"]);
    hub.forge(&["pr", "edit", "1", "-R", REPO, "-B", "before"])
        .ok();
    let fields = ["--json", "diff,warnings,comments"];
    let with = |more: &'static [&'static str]| [&fields[..], more].concat();
    let used = |found: &Value| {
        let hunk = found["diff"]["files"][0]["hunks"][0]["text"]
            .as_str()
            .unwrap();
        let context = hunk.lines().filter(|line| line.starts_with(' ')).count() / 2;
        (
            found["diff"]["contextLines"].as_u64().unwrap(),
            context as u64,
        )
    };
    // R-002-1: five lines of context if git makes the diff, three if GitHub does.
    let found = hub.bundle_in(&clone, &with(&[]));
    assert_eq!((used(&found), &found["warnings"]), ((5, 5), &json!([])));
    let comments = &found["comments"];
    assert!(comments[0]["diffHunk"].is_string(), "{comments}");
    let found = hub.bundle_in(&clone, &with(&["-U", "9"]));
    assert_eq!((used(&found), &found["warnings"]), ((9, 9), &json!([])));
    assert_eq!(&found["comments"], comments);
    let found = hub.bundle(&with(&[]));
    assert_eq!((used(&found), &found["warnings"]), ((3, 3), &json!([])));
    assert_eq!(&found["comments"], comments);
    let found = hub.bundle(&with(&["-U", "9"]));
    assert_eq!(used(&found), (3, 3));
    let said = found["warnings"].to_string();
    assert!(said.contains("three lines of context"), "{said}");
}

#[test]
fn context_lines_option_fetches_missing_objects() {
    let (hub, clone) = Hub::reviewed();
    let other = hub.cloned("other");
    clone.commit(&[("long.txt", &numbered(60, 31, "x"))], "Change long");
    clone.push();
    let lines = |more: &[&str]| {
        let args = [&["--json", "diff"], more].concat();
        hub.bundle_in(&other, &args)["diff"]["contextLines"].clone()
    };
    assert_eq!(lines(&[]), 3);
    assert_eq!(lines(&["-U", "5"]), 5);
    // Later calls use the objects that the call with more context fetched.
    assert_eq!(lines(&[]), 5);
}

#[test]
fn source_section_is_equal_from_git_and_github() {
    let (hub, clone) = Hub::reviewed();
    clone.commit(
        &[
            ("long.txt", &numbered(400, 200, "x")),
            ("Cargo.lock", "lock\n"),
            ("z.bin", "\0\u{1}"),
        ],
        "Change long",
    );
    clone.push();
    let args = ["-i", "source", "--json", "source,diff,errors"];
    let found = hub.bundle(&args);
    let source = &found["source"];
    assert_eq!(source["headSha"], clone.head());
    assert_eq!(found["diff"], Value::Null);
    let files = source["files"].as_array().unwrap();
    let shown: Vec<_> = files.iter().map(|f| (&f["path"], &f["omitted"])).collect();
    let left_out = |reason: &str, recovery: Value| {
        let omitted = json!({"reason": reason, "hunks": 0, "lines": 0, "recovery": recovery});
        json!([omitted])
    };
    let open =
        "check out the pull request, then open the file or run `git diff BASE...HEAD -- PATH`";
    let file_lines = json!([]);
    assert_eq!(
        shown,
        [
            (&json!("a.txt"), &json!([])),
            (&json!("long.txt"), &file_lines),
            (&json!("z.bin"), &left_out("binary", json!(open))),
            (&json!("Cargo.lock"), &left_out("generated", Value::Null)),
        ]
    );
    assert_eq!(files[0]["excerpts"], json!([{"line": 1, "text": "one\n"}]));
    assert_eq!(files[1]["linesTotal"], 400);
    assert_eq!(hub.bundle_in(&clone, &args), found);
    let sent = hub.double.requests().into_iter();
    let asked = sent.filter(|r| r.operation.as_deref() == Some("Contents"));
    assert_eq!(asked.count(), 1);
}

#[test]
fn source_section_of_local_pull_respects_the_budget() {
    let world = World::new();
    let lib = numbered(900, 450, "changed");
    world.git.commit(
        "main",
        "Long",
        &[("src/long.rs", Some(&numbered(900, 0, "")))],
    );
    let files = [
        ("src/long.rs", Some(lib.as_str())),
        ("src/b.rs", Some("b\n")),
        ("src/lib.rs", None),
    ];
    world.git.commit("feature", "Change", &files);
    world
        .forge(&["pr", "create", "-H", "feature", "-t", "T", "-b", "B"])
        .ok();
    let source = |more: &[&str]| {
        let args = [&["pr", "context", "1", "--json", "source"], more].concat();
        world.forge(&args).output().success().json()["source"].clone()
    };
    let whole = source(&[]);
    let long = &whole["files"][2];
    assert_eq!(long["path"], "src/long.rs");
    assert_eq!(long["excerpts"].as_array().unwrap().len(), 1);
    // The excerpt has the five lines of context, and twenty more lines on each side.
    assert_eq!(long["excerpts"][0]["line"], 425);
    let text = long["excerpts"][0]["text"].as_str().unwrap();
    assert_eq!(
        (text.lines().count(), text.lines().nth(25)),
        (51, Some("changed"))
    );
    let deleted = &whole["files"][1];
    assert_eq!(
        (&deleted["path"], &deleted["status"]),
        (&json!("src/lib.rs"), &json!("deleted"))
    );
    assert_eq!(
        (&deleted["excerpts"], &whole["truncated"]),
        (&json!([]), &json!(false))
    );
    let small = source(&["--max-diff", "200"]);
    let omitted = &small["files"][2]["omitted"];
    assert_eq!(omitted[0]["reason"], "budget");
    let shown = small["files"][2]["excerpts"][0]["text"].as_str().unwrap();
    assert!(shown.len() <= 198 && small["truncated"] == true, "{small}");
}
