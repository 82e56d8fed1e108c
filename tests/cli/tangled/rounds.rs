//! Tests `forge pr resubmit`, and reading the rounds of a pull request.

use forge_testkit::{GitDir, GitShim, ShimPlan};
use serde_json::json;

use super::{
    words::packed,
    world::{PULL, Tangled, WIDGET, says},
};

const COMMENT: &str = "sh.tangled.feed.comment";

/// Adds a second commit to branch `topic`.
fn more(t: &Tangled) {
    t.repo
        .git
        .commit("topic", "Add more", &[("more.txt", Some("more\n"))]);
}

fn rounds(t: &Tangled) -> usize {
    let (_, _, record) = t.world.pds().records(&t.alice.did, PULL).remove(0);
    record["rounds"].as_array().unwrap().len()
}

#[test]
fn resubmit_of_moved_branch_adds_a_round() {
    let t = Tangled::new();
    let uri = t.open("topic");
    more(&t);
    let args = ["pr", "resubmit", "topic", "-R", WIDGET, "-c", "With more."];
    let output = t.forge(&t.alice, &args).output().exits(0);
    insta::assert_snapshot!(t.transcript(&output));
    assert_eq!(rounds(&t), 2);

    let diff = |more: &[&str]| {
        let args = [&["pr", "diff", &uri], more].concat();
        t.forge(&t.bob, &args).output().success()
    };
    let names = |text: String| -> Vec<String> {
        let files = text.lines().filter_map(|l| l.strip_prefix("+++ b/"));
        files.map(str::to_owned).collect()
    };
    assert_eq!(names(diff(&[]).stdout_text()), ["more.txt", "topic.txt"]);
    assert_eq!(names(diff(&["--round", "0"]).stdout_text()), ["topic.txt"]);
    let since = diff(&["--round", "1", "--since", "0"]);
    assert_eq!(names(since.stdout_text()), ["more.txt"]);
    let said = since.stderr_text();
    assert!(said.contains("as in round 0 are left out"), "{said}");

    let history = t.forge(&t.bob, &["pr", "view", &uri, "--history"]).text();
    let rows: Vec<Vec<&str>> = crate::world::rows(&history);
    let events: Vec<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(events, ["opened", "head_changed"]);
    let comments = ["pr", "view", &uri, "--json", "comments"];
    let json = t.forge(&t.bob, &comments).output().json();
    assert_eq!(json["comments"][0]["body"], "With more.");
    let view = t.forge(&t.bob, &["pr", "view", &uri]).text();
    assert!(view.contains("rounds:\t2\n"), "{view}");
}

/// The processes are listed in `docs/reference/git-processes.md`.
#[test]
fn round_is_compared_with_its_result_in_a_clone() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let clone = GitDir::init(&t.scratch.path("clone"), &[]);
    let url = "https://tangled.org/alice.test/widget";
    clone.run(["remote", "add", "origin", url]).ok();
    let processes = |args: &[&str], name: &str| -> Vec<String> {
        let shim = GitShim::new(&t.scratch, name, ShimPlan::Count);
        let run = t.forge_in(t.scratch.path("clone"), &t.alice, args);
        run.env("FORGE_GIT", shim.program()).ok();
        let known = [
            "for-each-ref",
            "rev-parse",
            "init",
            "read-tree",
            "cat-file",
            "am",
            "diff-tree",
            "ls-tree",
        ];
        let calls = shim.calls();
        let words = calls.iter().filter_map(|call| {
            let mut words = call.split_ascii_whitespace();
            words.find(|word| known.contains(word))
        });
        words.map(str::to_owned).collect()
    };
    let diff = ["pr", "diff", &uri, "-R", WIDGET];
    let files = ["pr", "view", &uri, "-R", WIDGET, "--json", "files"];
    let merge = ["pr", "merge", &uri, "-R", WIDGET, "--rebase"];
    let without = processes(&diff, "git-without-base");
    let path = t.repo.path().to_string_lossy().into_owned();
    let refspec = "+refs/heads/main:refs/remotes/origin/main";
    clone.run(["fetch", "--quiet", &path, refspec]).ok();
    let trial = ["init", "read-tree", "cat-file", "am", "diff-tree"];
    let mut expected = without;
    expected.push("rev-parse".to_owned());
    expected.extend(trial.map(str::to_owned));
    let mut found = processes(&diff, "git-of-diff");
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    let made = |args: &[&str], name: &str| {
        let found = processes(args, name);
        found.iter().filter(|word| *word == "am").count()
    };
    assert_eq!(made(&files, "git-of-view"), 1);
    // The round, and the commits that the knot made of it.
    assert_eq!(made(&merge, "git-of-merge"), 2);
}

/// A mode, a position and an author are changes, although the lines of both rounds are equal.
#[test]
fn diff_since_round_shows_more_than_lines() {
    let t = Tangled::new();
    let git = &t.repo.git;
    let numbers = |tenth: &str| -> String {
        let line = |n| match n {
            10 => format!("{tenth}\n"),
            n => format!("{n}\n"),
        };
        (1..=20).map(line).collect()
    };
    let (old, new) = (numbers("10"), numbers("ten"));
    git.commit("main", "Add numbers", &[("numbers", Some(&old))]);
    git.commit("topic", "Change ten", &[("numbers", Some(&new))]);
    let create = ["pr", "create", "-R", WIDGET, "-H", "topic"];
    let create = [&create[..], &["-t", "T", "-b", "B"]].concat();
    let uri = t.forge(&t.alice, &create).text();
    let uri = uri.trim();
    let mail = git.run(["format-patch", "--stdout", "main..topic"]).text();
    let find = |start: &str| mail.lines().find(|line| line.starts_with(start)).unwrap();
    let (ids, author) = (find("index "), find("From: "));
    for (round, what, newer, is_shown) in [
        (
            1,
            "mode",
            mail.replace(ids, &ids.replace("100644", "100755")),
            true,
        ),
        (
            2,
            "position",
            mail.replace("@@ -7,7 +7,7 @@", "@@ -6,7 +6,7 @@"),
            true,
        ),
        (
            3,
            "author",
            mail.replace(author, "From: Eve <eve@example.com>"),
            false,
        ),
    ] {
        assert_ne!(newer, mail, "{what}");
        let resubmit = ["pr", "resubmit", uri, "--patch", "-"];
        t.forge(&t.alice, &resubmit).stdin(newer).ok();
        let round = round.to_string();
        let since = ["pr", "diff", uri, "--round", &round, "--since", "0"];
        let output = t.forge(&t.bob, &since).output().success();
        let (text, warnings) = (output.stdout_text(), output.stderr_text());
        assert_eq!(text.contains("b/numbers"), is_shown, "{what}: {text}");
        let told = warnings.contains("another author: 'Change ten'");
        assert_eq!(told, what == "author", "{what}: {warnings}");
    }
}

#[test]
fn resubmit_without_changes_adds_no_round() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let output = t
        .forge(&t.alice, &["pr", "resubmit", &uri])
        .output()
        .exits(0);
    insta::assert_snapshot!(t.transcript(&output));
    assert_eq!(rounds(&t), 1);
}

#[test]
fn url_can_select_a_round() {
    let t = Tangled::new();
    let uri = t.open("topic");
    more(&t);
    t.forge(&t.alice, &["pr", "resubmit", &uri]).ok();
    let number = t.world.index().number(&uri).unwrap();
    let page = format!("https://tangled.org/alice.test/widget/pulls/{number}");
    let first = format!("{page}/round/0");
    let files = |address: &str| {
        let diff = t.forge(&t.bob, &["pr", "diff", address]).text();
        diff.lines().filter(|l| l.starts_with("+++ ")).count()
    };
    assert_eq!((files(&page), files(&first)), (2, 1));
    let names = ["pr", "diff", &first, "--name-only"];
    says(&t.forge(&t.bob, &names), 1, "and the address names a round");
}

#[test]
fn lists_of_changed_files_warn_about_unseen_changes() {
    let t = Tangled::new();
    let patch = format!(
        "From {} Mon Sep 17 00:00:00 2001\nFrom: Alice <a@b.c>\n\
         Date: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: [PATCH] two\n\n---\n\
         diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n\
         --- /dev/null\n+++ b/evil.sh\n@@ -0,0 +1 @@\n+evil\n",
        "1".repeat(40)
    );
    let uri = t.foreign(&packed(patch.as_bytes()), |_| {});
    for list in ["--name-only", "--stat"] {
        let args = ["pr", "diff", &uri, list];
        says(&t.forge(&t.bob, &args), 0, "git may apply other changes");
    }
}

#[test]
fn json_has_ingestion_state_index_and_duration() {
    let t = Tangled::new();
    let uri = t.open("topic");
    more(&t);
    let args = ["pr", "resubmit", &uri, "--json"];
    let json = t.forge(&t.alice, &args).output().exits(0).json();
    assert_eq!(json["ingestion"]["state"], "confirmed", "{json}");
    let index = t.world.index().host().authority();
    assert_eq!(json["ingestion"]["by"], index);
    assert!(json["ingestion"]["afterMs"].is_u64(), "{json}");
    assert_eq!((&json["rounds"], &json["url"]), (&2.into(), &uri.into()));
    assert_eq!(json["unchanged"], false);
}

#[test]
fn resubmit_takes_a_patch_file_or_clone() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.branch("elsewhere");
    let patch = ["format-patch", "--stdout", "main..elsewhere"];
    let patch = t.repo.git.run(patch).text();
    let from_file = ["pr", "resubmit", &uri, "--patch", "-"];
    let run = t.forge(&t.alice, &from_file).stdin(patch);
    says(&run, 0, "Submitted round 1");
    let clone = t.scratch.path("clone");
    let path = t.repo.path().to_str().unwrap();
    let git = |args: &[&str]| t.scratch.run(forge_testkit::git_program()).args(args);
    git(&["clone", "--quiet", path, "clone"]).ok();
    let branch = ["switch", "--quiet", "-c", "mine", "origin/topic"];
    git(&branch).dir(&clone).ok();
    let from_clone = ["pr", "resubmit", &uri, "--head", "mine"];
    let run = t.forge_in(clone.clone(), &t.alice, &from_clone);
    says(&run, 0, "Submitted round 2");
    let files = |round: &str| {
        let args = ["pr", "diff", &uri, "--round", round];
        let diff = t.forge(&t.bob, &args).text();
        let names = diff.lines().filter(|l| l.starts_with("+++ "));
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(files("0"), "+++ b/topic.txt");
    assert_eq!(files("1"), "+++ b/elsewhere.txt");
    assert_eq!(files("2"), "+++ b/topic.txt", "from the clone");
    let none = ["pr", "resubmit", &uri, "--head", "none"];
    let run = t.forge_in(clone, &t.alice, &none);
    says(&run, 1, "there is no branch 'none' in this clone");
    let run = t.forge(&t.alice, &from_file).stdin("hello\n");
    says(&run, 1, "or is no patch");
    assert_eq!(rounds(&t), 3);
}

#[test]
fn checkout_creates_the_commits_of_a_round() {
    let t = Tangled::new();
    let uri = t.open("topic");
    more(&t);
    t.forge(&t.alice, &["pr", "resubmit", &uri]).ok();
    let path = t.repo.path().to_str().unwrap();
    let git = |args: &[&str]| t.scratch.run(forge_testkit::git_program()).args(args);
    git(&["clone", "--quiet", path, "clone"]).ok();
    let clone = t.scratch.path("clone");
    let in_clone = |args: &[&str]| git(args).dir(&clone).text();
    let url = "git@tangled.org:alice.test/widget";
    in_clone(&["remote", "set-url", "origin", url]);
    // Replaces ssh by a command that ignores its arguments and serves the repository, as the knot
    // does over ssh.
    let ssh = format!("sh -c 'exec git upload-pack \"{path}\"'");
    let checkout = |more: &[&str]| {
        let args = [&["pr", "checkout", "topic"], more].concat();
        t.forge_in(clone.clone(), &t.alice, &args)
            .env("GIT_SSH_COMMAND", &ssh)
            .env("GIT_SSH_VARIANT", "simple")
            .ok();
        in_clone(&["log", "--format=%s", "origin/main.."])
    };
    assert_eq!(checkout(&["--round", "0", "--detach"]), "Add topic\n");
    assert_eq!(checkout(&[]), "Add more\nAdd topic\n");
    assert_eq!(in_clone(&["branch", "--show-current"]), "topic\n");
}

#[test]
fn pull_is_opened_from_unpushed_branch_of_clone() {
    let t = Tangled::new();
    let path = t.repo.path().to_str().unwrap();
    let git = |args: &[&str]| t.scratch.run(forge_testkit::git_program()).args(args);
    git(&["clone", "--quiet", path, "clone"]).ok();
    let clone = t.scratch.path("clone");
    let url = "https://tangled.org/alice.test/widget";
    let in_clone = |args: &[&str]| {
        let who = ["-c", "user.name=Bob", "-c", "user.email=bob@example.org"];
        git(&[&who[..], args].concat()).dir(&clone).ok();
    };
    in_clone(&["remote", "set-url", "origin", url]);
    in_clone(&["switch", "--quiet", "-c", "mine"]);
    for name in ["one", "two"] {
        t.scratch.write(format!("clone/{name}.txt"), "x\n");
        in_clone(&["add", "."]);
        in_clone(&["commit", "--quiet", "-m", &format!("Add {name}")]);
    }
    let create = ["pr", "create", "-t", "T", "-b", "B"];
    let forge = |args: &[&str]| t.forge_in(clone.clone(), &t.bob, args);
    let output = forge(&create).output().exits(0);
    let said = output.stderr_text();
    let wanted = "'mine' is not pushed to alice.test/widget: the pull request was opened with a \
        patch from this clone (main..mine, 2 commits)\n";
    assert!(said.contains(wanted), "{said}");
    let uri = output.stdout_text().trim().to_owned();
    let files = ["pr", "diff", &uri, "--name-only"];
    assert_eq!(t.forge(&t.alice, &files).text(), "one.txt\ntwo.txt\n");
    assert_eq!(t.world.pds().records(&t.bob.did, PULL).len(), 1);
    // A repeated command reports the existing pull request.
    says(
        &forge(&create),
        1,
        &format!("into 'main' already has the same patch: {uri}"),
    );
    assert_eq!(t.world.pds().records(&t.bob.did, PULL).len(), 1);
    t.scratch.write("clone/three.txt", "x\n");
    in_clone(&["add", "."]);
    in_clone(&["commit", "--quiet", "-m", "Add three"]);
    let round = ["pr", "resubmit", &uri, "--head", "mine"];
    says(&forge(&round), 0, "Submitted round 1");
    in_clone(&["switch", "--quiet", "-c", "nothing", "main"]);
    let refused = forge(&create).output().exits(1).stderr_text();
    assert!(
        refused.contains("'nothing' has no commits that 'main' lacks"),
        "{refused}"
    );
    assert!(!refused.contains("push it first"), "{refused}");
    // A stacked pull request contains only the commits that its parent lacks.
    in_clone(&["switch", "--quiet", "-c", "upper", "mine"]);
    t.scratch.write("clone/upper.txt", "x\n");
    in_clone(&["add", "."]);
    in_clone(&["commit", "--quiet", "-m", "Add upper"]);
    let upper = [&create[..], &["--depends-on", &uri]].concat();
    let output = forge(&upper).output().exits(0);
    let said = output.stderr_text();
    let wanted = format!("(upper on top of {uri}, 1 commit)");
    assert!(said.contains(&wanted), "{said}");
    let above = output.stdout_text().trim().to_owned();
    let files = ["pr", "diff", &above, "--name-only"];
    assert_eq!(t.forge(&t.alice, &files).text(), "upper.txt\n");
    let (_, record) = t.world.pds().record(&above).unwrap();
    assert_eq!(record["dependentOn"], uri.as_str());
    // Outside the clone, `forge` cannot find the branch.
    let elsewhere = [&create[..], &["-R", WIDGET, "-H", "mine"]].concat();
    says(&t.forge(&t.bob, &elsewhere), 1, "has no branch 'mine'");
    // A merge commit that git made without conflicts contains no changes that a patch could lose.
    in_clone(&["switch", "--quiet", "-c", "side", "origin/main"]);
    t.scratch.write("clone/side.txt", "x\n");
    in_clone(&["add", "."]);
    in_clone(&["commit", "--quiet", "-m", "Add side"]);
    in_clone(&["switch", "--quiet", "mine"]);
    in_clone(&["merge", "--quiet", "--no-edit", "side"]);
    says(&forge(&round), 0, "Submitted round 2");
    t.scratch.write("clone/side.txt", "y\n");
    in_clone(&["commit", "--quiet", "-a", "--amend", "--no-edit"]);
    let refused = forge(&round).output().exits(1).stderr_text();
    assert!(refused.contains("has changes of its own"), "{refused}");
    assert!(refused.contains("git rebase "), "{refused}");
    // Octopus merges are always refused, even without conflicts.
    for name in ["third", "octopus"] {
        in_clone(&["switch", "--quiet", "-c", name, "origin/main"]);
        t.scratch.write(format!("clone/{name}.txt"), "x\n");
        in_clone(&["add", "."]);
        in_clone(&["commit", "--quiet", "-m", &format!("Add {name}")]);
    }
    in_clone(&["merge", "--quiet", "--no-edit", "side", "third"]);
    let refused = forge(&create).output().exits(1).stderr_text();
    assert!(refused.contains("or a third parent"), "{refused}");
    // A pull request of Tangled 1.0 keeps its merge commits, but its branch must be pushed.
    let _there = t.world.repository_1_0(&t.alice, "new");
    let url = "https://tangled.org/alice.test/new";
    in_clone(&["remote", "set-url", "origin", url]);
    says(&forge(&create), 1, "push it first");
}

#[test]
fn create_reports_unpushed_commits() {
    let t = Tangled::new();
    t.branch("topic");
    let path = t.repo.path().to_str().unwrap();
    let git = |args: &[&str]| t.scratch.run(forge_testkit::git_program()).args(args);
    git(&["clone", "--quiet", "--branch", "topic", path, "clone"]).ok();
    let clone = t.scratch.path("clone");
    let in_clone = |args: &[&str]| {
        let who = ["-c", "user.name=Bob", "-c", "user.email=bob@example.org"];
        git(&[&who[..], args].concat()).dir(&clone).ok();
    };
    let url = "https://tangled.org/alice.test/widget";
    in_clone(&["remote", "set-url", "origin", url]);
    t.scratch.write("clone/later.txt", "x\n");
    in_clone(&["add", "."]);
    in_clone(&["commit", "--quiet", "-m", "Later"]);
    let create = ["pr", "create", "-t", "T", "-b", "B"];
    let refused = t.forge_in(clone.clone(), &t.bob, &create);
    says(
        &refused,
        1,
        "1 commit of 'topic' is not pushed: origin/topic lacks it",
    );
    assert!(t.world.pds().records(&t.bob.did, PULL).is_empty());
    let create = [&create[..], &["-H", "topic"]].concat();
    let output = t.forge_in(clone.clone(), &t.bob, &create).output().exits(0);
    let said = output.stderr_text();
    let wanted =
        "warning: 1 commit of 'topic' in this clone is not pushed, and not in the pull request";
    assert!(said.contains(wanted), "{said}");
    let uri = output.stdout_text().trim().to_owned();
    let files = ["pr", "diff", &uri, "--name-only"];
    assert_eq!(t.forge(&t.alice, &files).text(), "topic.txt\n");
}

#[test]
fn impossible_resubmit_is_refused_with_reason() {
    let t = Tangled::new();
    let uri = t.open("topic");
    more(&t);
    let mut all = String::new();
    let mut show = |output: forge_testkit::Output| all.push_str(&t.transcript(&output));
    show(t.forge(&t.bob, &["pr", "resubmit", &uri]).output().exits(1));
    t.forge(&t.alice, &["pr", "close", &uri]).ok();
    show(
        t.forge(&t.alice, &["pr", "resubmit", &uri])
            .output()
            .exits(1),
    );
    let round = ["pr", "diff", &uri, "--round", "7"];
    show(t.forge(&t.alice, &round).output().exits(1));
    let since = ["pr", "diff", &uri, "--round", "0", "--since", "1"];
    show(t.forge(&t.alice, &since).output().exits(1));
    insta::assert_snapshot!(all);
    assert_eq!(rounds(&t), 1);
}

#[test]
fn rounds_are_refused_on_other_forges() {
    let world = crate::world::World::with_pull();
    let mut all = String::new();
    for args in [
        &["pr", "resubmit", "1"][..],
        &["pr", "diff", "1", "--round", "0"],
    ] {
        let output = world.forge(args).output().exits(1);
        all.push_str(&world.transcript(args, &output));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn pull_is_opened_from_patch_and_stacked() {
    let t = Tangled::new();
    t.branch("elsewhere");
    let patch = ["format-patch", "--stdout", "main..elsewhere"];
    let patch = t.repo.git.run(patch).text();
    t.repo.git.delete_branch("elsewhere");
    let args = ["pr", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
    let from_patch = [&args[..], &["--patch", "-"]].concat();
    let lower = t.forge(&t.bob, &from_patch).stdin(patch).text();
    let lower = lower.trim();
    let files = ["pr", "diff", lower, "--name-only"];
    assert_eq!(t.forge(&t.alice, &files).text(), "elsewhere.txt\n");

    let base = t.open("base");
    t.repo.git.set_branch("top", "base");
    t.branch("top");
    let on_top = ["-H", "top", "--depends-on", &base];
    let top = [&args[..], &on_top].concat();
    let top = t.forge(&t.alice, &top).text();
    let top = top.trim();
    let view = t.forge(&t.bob, &["pr", "view", top]).text();
    assert!(view.contains(&format!("depends-on:\t{base}\n")), "{view}");
    let refused = t.forge(&t.bob, &["pr", "merge", top, "--rebase"]);
    let refused = refused.output().exits(1);
    insta::assert_snapshot!(t.transcript(&refused));
    for uri in [&base, top] {
        t.forge(&t.bob, &["pr", "merge", uri, "--rebase"]).ok();
    }
    assert_eq!(t.repo.git.show("main", "top.txt"), "one\n");
}

#[test]
fn pull_stacked_on_deleted_pull_is_merged() {
    let t = Tangled::new();
    let lower = t.open("lower");
    t.repo.git.set_branch("upper", "lower");
    let upper = t.create("upper", &["--depends-on", &lower]).text();
    let key = lower.rsplit('/').next().unwrap();
    t.world.pds().delete(&t.alice.did, PULL, key);
    let merge = ["pr", "merge", upper.trim(), "--rebase"];
    t.forge(&t.bob, &merge).ok();
    assert_eq!(t.repo.git.show("main", "upper.txt"), "one\n");
    assert!(t.repo.git.oid("main:lower.txt").is_none());
}

#[test]
fn cyclic_stack_is_read_once() {
    let t = Tangled::new();
    let (one, two) = (t.open("one"), t.open("two"));
    for (uri, below) in [(&one, &two), (&two, &one)] {
        let (_, mut record) = t.world.pds().record(uri).unwrap();
        record["dependentOn"] = below.as_str().into();
        let key = uri.rsplit('/').next().unwrap();
        t.world.pds().put(&t.alice.did, PULL, key, record);
    }
    t.forge(&t.bob, &["pr", "view", &one]).ok();
    let merge = ["pr", "merge", &one, "--rebase"];
    let output = t.forge(&t.bob, &merge).output().exits(1);
    insta::assert_snapshot!(t.transcript(&output));
    let can = [
        "pr",
        "view",
        &one,
        "--json",
        "mergeable",
        "-q",
        ".mergeable",
    ];
    assert_eq!(t.forge(&t.bob, &can).text(), "UNKNOWN\n");
}

#[test]
fn comments_are_grouped_by_round_and_thread() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.forge(&t.bob, &["pr", "comment", &uri, "-b", "Why?"]).ok();
    more(&t);
    t.forge(&t.alice, &["pr", "resubmit", &uri, "-c", "With more."])
        .ok();
    let pds = t.world.pds();
    let (asked, cid, mut answer) = pds.records(&t.bob.did, COMMENT).remove(0);
    answer["replyTo"] = json!({ "uri": asked, "cid": cid });
    answer["body"]["text"] = json!("Because.");
    answer["pullRoundIdx"] = json!(1);
    answer["createdAt"] = json!("2036-01-01T00:00:00Z");
    pds.add(&t.alice.did, COMMENT, answer);
    let text = t.forge(&t.bob, &["pr", "view", &uri, "--comments"]).text();
    let said: Vec<&str> = text
        .lines()
        .filter(|l| l.starts_with("round:") || l.ends_with(['?', '.']))
        .collect();
    assert_eq!(
        said,
        [
            "round:\t0",
            "Why?",
            "round:\t1",
            "Because.",
            "round:\t1",
            "With more."
        ]
    );
    let json = ["pr", "view", &uri, "--json", "comments"];
    let json = t.forge(&t.bob, &json).output().json();
    let rounds: Vec<_> = json["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["round"].as_u64())
        .collect();
    assert_eq!(rounds, [Some(0), Some(1), Some(1)]);
}

#[test]
fn base_that_is_an_open_head_is_shown_and_told() {
    let t = Tangled::new();
    let lower = t.open("lower");
    t.repo.git.set_branch("upper", "lower");
    t.create("upper", &["-B", "lower"]).ok();
    let pulls = t.world.pds().records(&t.alice.did, PULL);
    let upper = pulls
        .iter()
        .find(|(_, _, value)| value["source"]["branch"] == "upper");
    let upper = upper.unwrap().0.as_str();
    let view = t.forge(&t.bob, &["pr", "view", upper]).text();
    assert!(view.contains(&format!("depends-on:\t{lower}\n")), "{view}");
    let view = t.forge(&t.bob, &["pr", "view", &lower]).text();
    assert!(!view.contains("depends-on:\tat://"), "{view}");
    let merge = t.forge(&t.bob, &["pr", "merge", upper, "--rebase"]);
    let told = merge.output().exits(0).stderr_text();
    let warning = format!("the head branch of the open pull request {lower}");
    assert!(told.contains(&warning), "{told}");
}
