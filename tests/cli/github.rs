//! Runs the real binary on the GitHub double. Tests the number of requests of each command, and the
//! errors about data that could not be read.

use std::fs;

use forge_github_double::{Fault, PullSeed, state::Protection};
use forge_testkit::{Output, git_program};
use serde_json::json;

use crate::hub::{Hub, REPO, TOKEN};

impl Hub {
    /// Runs a command, and asserts that it sends exactly `requests` requests.
    #[track_caller]
    fn costs(&self, requests: usize, args: &[&str]) -> Output {
        self.double.reset_record();
        let output = self.forge(args).output().success();
        let sent: Vec<_> = self
            .double
            .requests()
            .into_iter()
            .map(|r| r.operation)
            .collect();
        assert_eq!(
            self.double.counts().api,
            requests,
            "{args:?}: {sent:?}\n{output:?}"
        );
        let said = format!("{output:?}");
        assert!(!said.contains("canary"), "{said}");
        output
    }

    /// Creates a clone with the branch `topic`, which is not pushed.
    fn clone(&self) -> std::path::PathBuf {
        let dir = self.scratch.path("clone");
        let git = |args: &[&str]| self.as_ada(self.scratch.run(git_program())).args(args);
        let config = self.scratch.path("home/.gitconfig");
        let mut text = fs::read_to_string(&config).unwrap();
        text.push_str(
            "[credential \"http://github.localhost\"]\n\
             \thelper = \"!f() { echo username=x; echo password=$GH_TOKEN; }; f\"\n",
        );
        fs::write(&config, text).unwrap();
        let url = format!("http://github.localhost/{REPO}.git");
        git(&["clone", "--quiet", &url, "clone"]).ok();
        git(&["switch", "--quiet", "-c", "topic"]).dir(&dir).ok();
        dir
    }

    /// Creates a clone with an unpushed commit on the branch `work`, and makes the host send the
    /// name of this branch in place of the head commit of pull request 1.
    fn clone_with_named_head(&self) -> std::path::PathBuf {
        let dir = self.clone();
        let git = |args: &[&str]| {
            let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
            self.as_ada(self.scratch.run(git_program()))
                .args([&who[..], args].concat())
                .dir(&dir)
                .ok();
        };
        git(&["switch", "--quiet", "work"]);
        self.scratch.write("clone/private.txt", "x\n");
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "Unpushed"]);
        git(&["switch", "--quiet", "topic"]);
        let mut seed = self.double.seed();
        let id = seed.find_pull(REPO, 1);
        seed.pulls.get_mut(&id).unwrap().head_oid = "work~0".to_owned();
        dir
    }
}

const R: [&str; 2] = ["-R", REPO];

#[test]
fn r_000_15_each_read_command_takes_one_request() {
    let hub = Hub::with_pull();
    hub.costs(1, &["pr", "list", R[0], R[1]]);
    hub.costs(
        1,
        &[
            "pr", "list", R[0], R[1], "--author", "grace", "--limit", "100",
        ],
    );
    hub.costs(
        1,
        &[
            "pr",
            "list",
            R[0],
            R[1],
            "--json",
            "number,body,labels,statusCheckRollup",
        ],
    );
    hub.costs(1, &["pr", "view", "1", R[0], R[1]]);
    hub.costs(1, &["pr", "view", "work", R[0], R[1]]);
    hub.costs(1, &["pr", "view", "1", R[0], R[1], "--comments"]);
    let all: Vec<&str> = forge_cli::ui::json::PULL_FIELDS
        .iter()
        .map(|f| f.name)
        .collect();
    let all = all.join(",");
    hub.costs(1, &["pr", "view", "1", R[0], R[1], "--json", &all]);
    hub.costs(1, &["pr", "diff", "1", R[0], R[1]]);
    hub.costs(1, &["pr", "diff", "1", R[0], R[1], "--name-only"]);
    hub.double.seed().check(REPO, 1, "CI", "build", "SUCCESS");
    hub.costs(1, &["pr", "checks", "1", R[0], R[1]]);
    hub.costs(1, &["pr", "status", R[0], R[1]]);
    hub.costs(0, &["--version"]);
}

#[test]
fn r_000_15_list_has_the_newest_pulls_first() {
    let hub = Hub::with_pull();
    for head in ["feature", "later"] {
        let pull = PullSeed {
            author: "grace",
            title: head,
            head,
            ..PullSeed::default()
        };
        hub.double.seed().open_pull(REPO, &pull);
    }
    for (limit, numbers) in [("2", &[3, 2][..]), ("30", &[3, 2, 1])] {
        let args = ["pr", "list", R[0], R[1], "--json", "number", "-L", limit];
        let wanted: Vec<_> = numbers.iter().map(|n| json!({"number": n})).collect();
        assert_eq!(hub.costs(1, &args).json(), json!(wanted));
    }
}

#[test]
fn blocked_merge_names_missing_review_and_flags() {
    let hub = Hub::with_pull();
    let rules = Protection {
        approvals: 1,
        ..Protection::default()
    };
    hub.double.seed().protect(REPO, "main", rules);
    let merge = hub.forge(&["pr", "merge", "1", "--squash", R[0], R[1]]);
    let said = merge.output().exits(1).stderr_text();
    for part in [
        "approving review is missing",
        "--auto",
        "--admin",
        "pr checks 1",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn pending_review_is_published_only_with_its_flag() {
    let hub = Hub::with_pull();
    let review = |more: &[&'static str]| [&["pr", "review", "1"][..], &R, more].concat();
    let line = ["--pending", "--line", "work.txt:1=Why?"];
    let out = hub.costs(2, &review(&line));
    assert_eq!(out.stdout_text(), "");
    let said = out.stderr_text();
    assert!(
        said.contains("has 1 comment; nobody else sees it"),
        "{said}"
    );
    let file = [
        "--pending",
        "--file",
        "work.txt=Too short.",
        "-b",
        "In all.",
    ];
    let said = hub.costs(3, &review(&file)).stderr_text();
    assert!(said.contains("has a text and 2 comments"), "{said}");
    let list = ["pr", "thread", "list", "1", R[0], R[1]];
    let list = [&list[..], &["--json", "isPending"]].concat();
    let threads = hub.forge(&list).output().success().json();
    assert_eq!(threads[0]["isPending"], true);
    // The pending comments may have been written in the browser, so a plain review does not publish
    // them.
    let said = hub.forge(&review(&["--approve"])).output().exits(1);
    let said = said.stderr_text();
    assert!(
        said.contains("--with-pending")
            && said.contains("--discard-pending; to see its comments: forge pr thread list 1"),
        "{said}"
    );
    let view = ["pr", "view", "1", R[0], R[1], "--json", "reviews"];
    assert_eq!(hub.costs(1, &view).json()["reviews"], json!([]));
    let said = hub.costs(1, &["pr", "view", "1", R[0], R[1], "--comments"]);
    let said = said.stderr_text();
    assert!(said.starts_with("2 pending threads: "), "{said}");
    let said = hub.costs(2, &review(&["--approve", "--with-pending"]));
    let said = said.stderr_text();
    assert!(
        said.contains("with 2 comments that had been pending"),
        "{said}"
    );
    let reviews = hub.costs(1, &view).json()["reviews"].clone();
    assert_eq!(
        (&reviews[0]["state"], &reviews[0]["body"]),
        (&json!("APPROVED"), &json!("In all."))
    );
    let again = hub.forge(&review(&["--approve", "--with-pending"]));
    let _ = again.output().exits(1).says("no pending review");
}

#[test]
fn pending_review_is_discarded() {
    let hub = Hub::with_pull();
    let discard = ["pr", "review", "1", R[0], R[1], "--discard-pending"];
    let keep = ["pr", "review", "1", R[0], R[1], "--pending", "-b", "Later."];
    hub.costs(2, &keep);
    let said = hub.costs(2, &discard).stderr_text();
    assert!(said.contains("Discarded your pending review"), "{said}");
    let said = hub.costs(1, &discard).stderr_text();
    assert!(said.contains("You have no pending review"), "{said}");
    let both = [&discard[..], &["--approve"]].concat();
    let _ = hub.forge(&both).output().exits(1);
}

#[test]
fn create_takes_two_or_three_requests() {
    let hub = Hub::new();
    let out = hub.costs(
        2,
        &[
            "pr", "create", R[0], R[1], "-H", "feature", "-t", "Title", "-b", "Body",
        ],
    );
    assert_eq!(
        out.stdout_text(),
        "http://github.localhost/octo/tools/pull/1\n"
    );
    let hub = Hub::new();
    hub.costs(
        3,
        &[
            "pr", "create", R[0], R[1], "-H", "feature", "-t", "Title", "-b", "Body", "-l", "bug",
            "-a", "@me", "-r", "grace", "-m", "v1.0", "-p", "Roadmap",
        ],
    );
}

#[test]
fn stacked_create_takes_four_requests() {
    let hub = Hub::with_pull();
    let create = |more: &[&'static str]| {
        let base = ["pr", "create", "-H", "feature", "-t", "Title", "-b", "Body"];
        [&base[..], &["--depends-on", "1"], more, &R].concat()
    };
    let out = hub
        .forge(&create(&["-B", "main"]))
        .output()
        .exits(1)
        .stderr_text();
    assert!(
        out.contains("must have the base branch 'work', not 'main'"),
        "{out}"
    );
    let out = hub.forge(&create(&["--web"])).output().exits(1);
    assert!(out.stderr_text().contains("`--depends-on`"), "{out:?}");
    let out = hub.costs(4, &create(&[]));
    assert_eq!(
        out.stdout_text(),
        "http://github.localhost/octo/tools/pull/2\n"
    );
    assert!(out.stderr.is_empty(), "{out:?}");
    let view = hub.costs(1, &["pr", "view", "2", R[0], R[1]]).stdout_text();
    assert!(view.contains("\ndepends-on:\t1\n"), "{view}");
    let plain = hub.costs(1, &["pr", "view", "1", R[0], R[1]]).stdout_text();
    assert!(!plain.contains("depends-on"), "{plain}");

    // Without GitHub's stacks, the base branch is the only link from a pull request to its parent.
    let hub = Hub::with_pull();
    hub.double.seed().stacks_off = true;
    let out = hub.costs(3, &create(&[]));
    assert!(
        out.stderr_text().contains("stacks are not enabled"),
        "{out:?}"
    );
    assert_eq!(hub.double.seed().pull_of(REPO, 2).base_branch, "work");
}

#[test]
fn stacked_pull_text_uses_only_its_own_commits() {
    let hub = Hub::with_pull();
    let dir = hub.clone();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        hub.as_ada(hub.scratch.run(git_program()))
            .args([&who[..], args].concat())
            .dir(&dir)
            .ok();
    };
    git(&[
        "switch",
        "--quiet",
        "--no-track",
        "-c",
        "upper",
        "origin/work",
    ]);
    hub.scratch.write("clone/upper.txt", "x\n");
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "Add upper", "-m", "Why."]);
    git(&["push", "--quiet", "-u", "origin", "upper"]);
    let fill = ["pr", "create", "--depends-on", "1", "--fill"];
    let create = |more: &[&str]| hub.forge(&fill).args(more).dir(&dir).text();
    let plan = create(&["--dry-run"]);
    assert!(plan.contains("\ntitle:\tAdd upper\n"), "{plan}");
    assert!(plan.contains("\ndependsOn:\t1\n"), "{plan}");
    assert!(!plan.contains("base:"), "{plan}");
    create(&[]);
    let made = hub.double.seed().pull_of(REPO, 2).clone();
    assert_eq!((&*made.title, &*made.body), ("Add upper", "Why."));
    assert_eq!(made.base_branch, "work");

    // The clone lacks the parent's newest commit. The parent's branch as of the last fetch is
    // enough.
    let mut seed = hub.double.seed();
    seed.commit(REPO, "work", &[("more.txt", Some("x\n"))], "More");
    drop(seed);
    let plan = create(&["--dry-run"]);
    assert!(plan.contains("\ntitle:\tAdd upper\n"), "{plan}");
    git(&["update-ref", "-d", "refs/remotes/origin/work"]);
    let refused = hub.forge(&fill).dir(&dir).output().exits(1).stderr_text();
    let why = "this clone does not have the commits of";
    assert!(refused.contains(why), "{refused}");
}

#[test]
fn push_without_git_login_uses_token_at_its_origin() {
    let hub = Hub::new();
    let dir = hub.clone();
    let git = |args: &[&str]| hub.scratch.run(git_program()).args(args).dir(&dir).ok();
    // The user's own helper has no login, and records what git asks.
    let (config, asked) = (
        hub.scratch.path("home/.gitconfig"),
        hub.scratch.path("asked"),
    );
    let text = fs::read_to_string(&config).unwrap();
    let (rest, _) = text.split_once("[credential").unwrap();
    let helper = format!("!f() {{ echo $1 >>'{}'; }}; f", asked.display());
    let own = format!("{rest}[credential]\n\thelper = \"{helper}\"\n");
    fs::write(&config, own).unwrap();
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    git(&[&who[..], &["commit", "-q", "--allow-empty", "-m", "Topic"]].concat());
    let login = hub.forge(&["auth", "login", "--with-token"]);
    login.without_env("GH_TOKEN").stdin(TOKEN).ok();
    let create = || {
        let run = hub.forge(&["pr", "create", "--push", "-t", "T", "-b", "B"]);
        run.without_env("GH_TOKEN").dir(&dir).output()
    };
    // The repository's settings for remotes could show the token, and its URLs another server.
    for (key, value, hint) in [
        ("http.sslVerify", "false", "forge auth git-credential"),
        (
            "remote.origin.pushurl",
            "http://other.localhost/octo/tools.git",
            "give git a login",
        ),
    ] {
        git(&["config", key, value]);
        hub.double.reset_record();
        let _ = create().exits(1).says("could not read Username").says(hint);
        let sent = hub.double.requests();
        let mut pushes = sent.iter().filter(|r| r.git).map(|r| r.status);
        assert!(pushes.all(|status| status == 401), "{sent:?}");
        git(&["config", "--unset", key]);
    }
    let _ = create().success().says("Pushed topic -> origin/topic");
    // git stores an accepted login with each of its helpers.
    let asked = fs::read_to_string(asked).unwrap();
    assert!(asked.lines().all(|operation| operation == "get"), "{asked}");
    assert_eq!(hub.double.seed().pull_of(REPO, 1).head_branch, "topic");
}

/// `git switch -c topic origin/main` and `push.default=upstream` make `git push` write to `main`.
#[test]
fn create_push_writes_to_no_branch_of_others() {
    let hub = Hub::new();
    {
        let mut seed = hub.double.seed();
        for branch in ["develop", "release-1", "stable", "lower"] {
            seed.commit(REPO, branch, &[(branch, Some("1\n"))], branch);
        }
        seed.protect(REPO, "release-1", Protection::default());
        for (head, base) in [("feature", "stable"), ("lower", "main")] {
            seed.open_pull(
                REPO,
                &PullSeed {
                    author: "grace",
                    title: head,
                    head,
                    base,
                    ..PullSeed::default()
                },
            );
        }
    }
    let dir = hub.clone();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let run = hub.as_ada(hub.scratch.run(git_program()));
        run.args([&who[..], args].concat()).dir(&dir).text()
    };
    git(&["config", "push.default", "upstream"]);
    let create = ["pr", "create", "--push", "-t", "T", "-b", "B"];
    for (local, upstream, flags, why) in [
        (
            "from-main",
            "main",
            ["-B", "develop"],
            "the default branch of ",
        ),
        ("from-base", "develop", ["-B", "develop"], "the base branch"),
        ("hotfix", "release-1", ["-B", "main"], "a protected branch"),
        (
            "from-stable",
            "stable",
            ["-B", "main"],
            "the base branch of ",
        ),
        (
            "on-lower",
            "lower",
            ["--depends-on", "lower"],
            "possibly the branch of the pull request below",
        ),
    ] {
        git(&[
            "switch",
            "--quiet",
            "-c",
            local,
            &format!("origin/{upstream}"),
        ]);
        git(&["commit", "--quiet", "--allow-empty", "-m", local]);
        let tip = || git(&["ls-remote", "origin", &format!("refs/heads/{upstream}")]);
        let before = tip();
        let created = hub.forge(&create).args(flags).dir(&dir).output().success();
        let said = created.stderr_text();
        assert!(
            said.contains(&format!("Pushed {local} -> origin/{local}")),
            "{said}"
        );
        assert!(said.contains(why), "{local}: {said}");
        assert_eq!(tip(), before, "{local}");
        let heads: Vec<String> = hub
            .double
            .seed()
            .pulls_of(REPO)
            .iter()
            .map(|pull| pull.head_branch.clone())
            .collect();
        assert!(heads.contains(&local.to_owned()), "{heads:?}");
    }
    // A branch that nobody else uses is the head, as configured.
    git(&[
        "switch",
        "--quiet",
        "--no-track",
        "-c",
        "mine",
        "origin/main",
    ]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    git(&["config", "branch.mine.remote", "origin"]);
    git(&["config", "branch.mine.merge", "refs/heads/team/mine"]);
    let created = hub.forge(&create).dir(&dir).output().success();
    let said = created.stderr_text();
    assert!(said.contains("Pushed mine -> origin/team/mine"), "{said}");
}

/// A checkout makes the head of the pull request the upstream, and that can be a branch of others.
#[test]
fn create_push_after_checkout_avoids_protected_head() {
    let hub = Hub::new();
    {
        let mut seed = hub.double.seed();
        seed.commit(REPO, "release-1", &[("r", Some("1\n"))], "Release");
        seed.protect(REPO, "release-1", Protection::default());
        seed.open_pull(
            REPO,
            &PullSeed {
                author: "grace",
                title: "Back to main",
                head: "release-1",
                ..PullSeed::default()
            },
        );
    }
    let dir = hub.clone();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let run = hub.as_ada(hub.scratch.run(git_program()));
        run.args([&who[..], args].concat()).dir(&dir).text()
    };
    git(&["config", "push.default", "upstream"]);
    let checkout = ["pr", "checkout", "1", "--branch", "mine"];
    hub.forge(&checkout).dir(&dir).ok();
    let upstream = git(&["config", "branch.mine.merge"]);
    assert_eq!(upstream, "refs/heads/release-1\n");
    git(&["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    let tip = || git(&["ls-remote", "origin", "refs/heads/release-1"]);
    let before = tip();
    let create = ["pr", "create", "--push", "-B", "main", "-t", "T", "-b", "B"];
    let created = hub.forge(&create).dir(&dir).output().success();
    let said = created.stderr_text();
    assert!(said.contains("a protected branch"), "{said}");
    assert!(said.contains("Pushed mine -> origin/mine"), "{said}");
    assert_eq!(tip(), before);
}

/// A branch of which nothing can be read may be protected.
#[test]
fn create_push_avoids_branch_whose_rules_are_unread() {
    let hub = Hub::new();
    let files = [("shared", Some("1\n"))];
    hub.double.seed().commit(REPO, "shared", &files, "Shared");
    let dir = hub.clone();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let run = hub.as_ada(hub.scratch.run(git_program()));
        run.args([&who[..], args].concat()).dir(&dir).text()
    };
    git(&["config", "push.default", "upstream"]);
    git(&["switch", "--quiet", "-c", "mine", "origin/shared"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    let tip = || git(&["ls-remote", "origin", "refs/heads/shared"]);
    let before = tip();
    let refusal = Fault::status(403).on_path("/repos/octo/tools/branches/shared");
    hub.double.fault(refusal.always());
    let create = ["pr", "create", "--push", "-B", "main", "-t", "T", "-b", "B"];
    let said = hub.forge(&create).dir(&dir).output().success();
    let said = said.stderr_text();
    let why = "possibly a protected branch (its rules could not be read)";
    assert!(said.contains(why), "{said}");
    assert!(said.contains("Pushed mine -> origin/mine"), "{said}");
    assert_eq!(tip(), before);
}

/// The author of a pull request chooses the name of its head branch.
#[test]
fn checkout_of_posing_head_makes_no_posing_branch() {
    let hub = Hub::new();
    let names = ["origin/main", "tags/v9", "heads/main", "FETCH_HEAD", "v1"];
    for name in names {
        let mut seed = hub.double.seed();
        seed.commit(REPO, name, &[("evil", Some("1\n"))], "Evil");
        seed.open_pull(
            REPO,
            &PullSeed {
                author: "grace",
                title: name,
                head: name,
                ..PullSeed::default()
            },
        );
    }
    let dir = hub.clone();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let run = hub.as_ada(hub.scratch.run(git_program()));
        run.args([&who[..], args].concat()).dir(&dir).text()
    };
    git(&["tag", "v1", "origin/main"]);
    let main = git(&["rev-parse", "origin/main"]);
    for (n, name) in names.iter().enumerate() {
        let number = (n + 1).to_string();
        let checkout = hub.forge(&["pr", "checkout", &number]).dir(&dir);
        let said = checkout.output().success().stderr_text();
        assert!(
            said.contains(&format!("no local branch is named '{name}'")),
            "{said}"
        );
        let current = git(&["symbolic-ref", "--short", "HEAD"]);
        assert_eq!(current.trim(), format!("pull-{number}"), "{name}");
    }
    assert_eq!(git(&["rev-parse", "origin/main"]), main);
    // A person may choose such a name.
    let named = ["pr", "checkout", "1", "--branch", "origin/x"];
    hub.forge(&named).dir(&dir).ok();
}

#[test]
fn update_of_branch_of_others_is_a_warning() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.commit(REPO, "main", &[("m", Some("m\n"))], "More");
    drop(seed);
    let update = ["pr", "update-branch", "1", R[0], R[1]];
    let said = hub.forge(&update).output().success().stderr_text();
    let why = "'work' is a branch of github:github.localhost/octo/tools, and grace is the author";
    assert!(said.contains(why), "{said}");
}

#[test]
fn close_of_closed_pull_keeps_every_branch() {
    let hub = Hub::with_pull();
    let dir = hub.clone();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let run = hub.as_ada(hub.scratch.run(git_program()));
        run.args([&who[..], args].concat()).dir(&dir).text()
    };
    git(&["switch", "--quiet", "work"]);
    let remote = || git(&["ls-remote", "--heads", "origin", "work"]);
    let before = remote();
    assert!(!before.is_empty());
    for flags in [&[][..], &["-d"], &["-d", "-c", "Once more."]] {
        hub.forge(&["pr", "close", "1"]).args(flags).dir(&dir).ok();
        let local = git(&["branch", "--format=%(refname:short)"]);
        assert_eq!(local, "main\ntopic\nwork\n", "{flags:?}");
        assert_eq!(remote(), before, "{flags:?}");
    }
    assert_eq!(git(&["branch", "--show-current"]), "work\n");
}

#[test]
fn deleted_branches_are_named_with_restore_commands() {
    let hub = Hub::with_pull();
    let dir = hub.clone();
    let git = |args: &[&str]| {
        let run = hub.as_ada(hub.scratch.run(git_program()));
        run.args(args).dir(&dir).text()
    };
    git(&["switch", "--quiet", "work"]);
    let tip = git(&["rev-parse", "work"]).trim().to_owned();
    let out = hub.forge(&["pr", "close", "1", "-d"]).dir(&dir).output();
    let told = out.stderr_text();
    let push = format!("git push origin {tip}:refs/heads/work");
    assert!(told.contains(&push), "{told}");
    let local = format!("git branch work {tip}");
    assert!(told.contains(&local), "{told}");
    assert_eq!(git(&["branch", "--list", "work"]), "");
    git(&["branch", "work", &tip]);
    git(&[
        "push",
        "--quiet",
        "origin",
        &format!("{tip}:refs/heads/work"),
    ]);
    assert!(git(&["ls-remote", "origin", "refs/heads/work"]).starts_with(&tip));
}

#[test]
fn revision_as_head_deletes_no_unpushed_commits() {
    let hub = Hub::with_pull();
    let dir = hub.clone_with_named_head();
    let close = ["pr", "close", "1", "-d"];
    let out = hub.forge(&close).dir(&dir).output().exits(1);
    let _ = out.says("an object id has 40 or 64 hex digits");
    let git = hub.scratch.run(git_program()).dir(&dir);
    git.args(["rev-parse", "--verify", "refs/heads/work"]).ok();
}

#[test]
fn revision_as_head_shows_no_unpushed_commits() {
    let hub = Hub::with_pull();
    let dir = hub.clone_with_named_head();
    let headers = [("content-type", "application/json; charset=utf-8")];
    for args in [&["pr", "diff", "1"][..], &["pr", "diff", "1", "--patch"]] {
        let large = Fault::answer(406, &headers, r#"{"message": "too large"}"#);
        hub.double.fault(large.on_path("/repos/octo/tools/pulls/1"));
        let out = hub.forge(args).dir(&dir).output();
        assert!(out.stderr_text().contains("too large"), "{out:?}");
        assert!(!out.stdout_text().contains("private.txt"), "{out:?}");
    }
}

#[test]
fn unexplained_error_shows_its_request_id() {
    let hub = Hub::with_pull();
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("x-github-request-id", "D0B1:0A2F77"),
    ];
    for (status, message, is_shown) in [
        (500, "Server Error", true),
        (422, "The moon is full", true),
        // The recovery tells what to do, so nobody has to be asked.
        (401, "Bad credentials", false),
    ] {
        let body = json!({ "message": message }).to_string();
        hub.double
            .fault(Fault::answer(status, &headers, body).always());
        let out = hub.forge(&["pr", "view", "1", R[0], R[1]]).output();
        hub.double.clear_faults();
        let told = out.stderr_text();
        assert_ne!(out.code, Some(0), "{told}");
        let line = "Request id: D0B1:0A2F77\n";
        assert_eq!(told.contains(line), is_shown, "{status}: {told}");
    }
}

#[test]
fn branch_of_dependents_is_deleted_by_merge_only() {
    let hub = Hub::with_pull();
    let mut seed = hub.double.seed();
    seed.commit(REPO, "upper", &[("u.txt", Some("1\n"))], "Add u");
    let upper = PullSeed {
        author: "grace",
        title: "Upper",
        head: "upper",
        base: "work",
        ..PullSeed::default()
    };
    seed.open_pull(REPO, &upper);
    drop(seed);
    let state_and_base = |number: &str| {
        let fields = ["--json", "state,baseRefName,mergeable"];
        let view = [&["pr", "view", number, R[0], R[1]][..], &fields].concat();
        let shown = hub.forge(&view).output().success().json();
        [shown["state"].clone(), shown["baseRefName"].clone()]
    };
    let close = ["pr", "close", "1", "-d", R[0], R[1]];
    let out = hub.forge(&close).output().exits(1).says("#2");
    assert!(out.stderr_text().contains("Recovery: "), "{out:?}");
    assert_eq!(state_and_base("1"), ["OPEN", "main"]);
    assert_eq!(state_and_base("2"), ["OPEN", "work"]);
    let merge = ["pr", "merge", "1", "--merge", "-d", R[0], R[1]];
    hub.forge(&merge).ok();
    assert_eq!(state_and_base("1")[0], "MERGED");
    assert_eq!(state_and_base("2"), ["OPEN", "main"]);
}

#[test]
fn write_command_takes_two_requests() {
    let hub = Hub::with_pull();
    for args in [
        &[
            "pr",
            "edit",
            "1",
            "-t",
            "New",
            "-b",
            "New",
            "--add-label",
            "bug",
            "--add-assignee",
            "ada",
            "--add-project",
            "Roadmap",
        ][..],
        &["pr", "edit", "1", "--remove-project", "roadmap"],
        &["pr", "edit", "1", "--add-reviewer", "octo/core"],
        &["pr", "edit", "1", "--remove-reviewer", "octo/core"],
        &["pr", "comment", "1", "-b", "Said."],
        &["pr", "review", "1", "--approve", "-b", "Good."],
        &["pr", "ready", "1", "--undo"],
        &["pr", "ready", "1"],
        &["pr", "close", "1", "-c", "Not now."],
        &["pr", "reopen", "1"],
    ] {
        hub.costs(2, &[args, &R].concat());
    }
    // The first read makes GitHub compute mergeability, and the next read returns the result.
    hub.costs(1, &["pr", "view", "1", "--json", "mergeable", R[0], R[1]]);
    hub.costs(2, &["pr", "merge", "1", "--squash", R[0], R[1]]);
    hub.costs(1, &["pr", "merge", "1", "--squash", R[0], R[1]]);
}

#[test]
fn command_without_token_sends_no_request() {
    let hub = Hub::with_pull();
    for args in [
        &["pr", "list"][..],
        &["pr", "create", "-H", "feature", "-t", "Title", "-b", "Body"],
        &["pr", "merge", "1", "--merge"],
    ] {
        let out = hub
            .forge(&[args, &R].concat())
            .without_env("GH_TOKEN")
            .output()
            .exits(4);
        assert!(out.stderr_text().contains("forge auth login"), "{out:?}");
        assert_eq!(hub.double.counts().api, 0);
    }
}

#[test]
fn unreadable_boards_do_not_fail_commands() {
    let hub = Hub::with_pull();
    let scopes = ["repo", "read:org"];
    hub.double.seed().token(TOKEN, "ada", &scopes);
    let out = hub.costs(1, &["pr", "view", "1", R[0], R[1]]);
    assert!(out.stdout_text().contains("\nprojects:\t\n"), "{out:?}");
    assert!(out.stderr.is_empty(), "{out:?}");
    let asked = ["pr", "view", "1", "--json", "number,projectItems"];
    let out = hub.costs(1, &[&asked[..], &R].concat());
    assert_eq!(out.stdout_text(), "{\"number\":1,\"projectItems\":[]}\n");
    assert!(out.stderr_text().contains("read:project"), "{out:?}");
    let put = ["pr", "edit", "1", "--add-project", "Roadmap", "-t", "New"];
    let out = hub.forge(&[&put[..], &R].concat()).output().exits(1);
    assert!(out.stderr_text().contains("the scope project"), "{out:?}");
    assert_eq!(hub.double.seed().pull_of(REPO, 1).title, "Work");
}

#[test]
fn gh_login_is_used() {
    let hub = Hub::with_pull();
    let gh = hub
        .scratch
        .write("gh", format!("#!/bin/sh\necho {TOKEN}\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let out = hub
        .forge(&["pr", "list", R[0], R[1]])
        .without_env("GH_TOKEN")
        .env("GH_PATH", &gh)
        .output()
        .success();
    assert!(
        out.stdout_text().starts_with("1\tWork\twork\tOPEN\t"),
        "{out:?}"
    );
}

#[test]
fn failed_create_names_the_cause_and_makes_nothing() {
    let hub = Hub::new();
    let dir = hub.clone();
    let create = ["pr", "create", "-t", "Title", "-b", "Body"];
    let say = |more: &[&str], part: &str| {
        let out = hub.forge(&create).args(more).dir(&dir).output().exits(1);
        assert!(out.stderr_text().contains(part), "{part}: {out:?}");
    };
    say(&[], "git push -u origin topic:refs/heads/topic");
    let main = hub.scratch.run(git_program()).dir(&dir);
    main.args(["switch", "--quiet", "main"]).ok();
    say(&["-B", "main"], "on a new branch");
    say(&["-H", "feature", "-B", "mian"], "mian");
    say(&["-H", "feature", "-l", "bugg"], "'bug'");
    say(&["-H", "feature", "-r", "grac"], "grace");
    say(&["-H", "feature", "-m", "v1"], "v1.0");
    say(&["-H", "feature", "-p", "Roadmab"], "Roadmap");
    assert!(hub.double.seed().pulls_of(REPO).is_empty());
    hub.forge(&create).args(["-H", "feature"]).dir(&dir).ok();
    say(
        &["-H", "feature"],
        "http://github.localhost/octo/tools/pull/1",
    );
    assert_eq!(hub.double.seed().pulls_of(REPO).len(), 1);
}

#[test]
fn pull_of_fork_branch_is_found_in_clone() {
    let hub = Hub::new();
    hub.double.seed().fork(REPO, "grace");
    hub.double.seed().open_pull(
        REPO,
        &PullSeed {
            author: "grace",
            title: "From a fork",
            head: "grace:topic",
            ..PullSeed::default()
        },
    );
    let dir = hub.clone();
    let git = |args: &[&str]| hub.scratch.run(git_program()).args(args).dir(&dir).ok();
    git(&["remote", "rename", "origin", "upstream"]);
    git(&[
        "remote",
        "add",
        "origin",
        "http://github.localhost/grace/tools.git",
    ]);
    git(&["config", "branch.topic.remote", "origin"]);
    git(&["config", "branch.topic.merge", "refs/heads/topic"]);
    let seen = [
        "pr",
        "view",
        "--json",
        "number,isCrossRepository",
        "--jq",
        ".number",
    ];
    assert_eq!(hub.forge(&seen).dir(&dir).text(), "1\n");
    let named = [
        "pr",
        "view",
        "grace:topic",
        "--json",
        "number",
        "--jq",
        ".number",
    ];
    assert_eq!(hub.forge(&named).dir(&dir).text(), "1\n");
    let other = ["pr", "view", "topic", "--json", "number"];
    assert_eq!(hub.forge(&other).dir(&dir).output().code, Some(1));
}

#[test]
fn branch_name_never_selects_pull_of_deleted_fork() {
    let hub = Hub::new();
    {
        let mut seed = hub.double.seed();
        seed.fork(REPO, "grace");
        let change = [("c.txt", Some("c\n"))];
        seed.commit("grace/tools", "main", &change, "Add c");
        let pull = PullSeed {
            author: "grace",
            title: "From a fork",
            head: "grace:main",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
        seed.delete_repo("grace/tools");
    }
    let dir = hub.clone();
    let git = |args: &[&str]| hub.scratch.run(git_program()).args(args).dir(&dir).ok();
    git(&["switch", "--quiet", "main"]);
    for args in [
        &["pr", "merge", "--merge"][..],
        &["pr", "close", "main"],
        &["pr", "comment", "--body", "hi"],
    ] {
        let out = hub.forge(args).dir(&dir).output().exits(1);
        let _ = out.says("no pull requests found for branch \"main\"");
    }
    {
        let seed = hub.double.seed();
        assert_eq!(format!("{:?}", seed.pull_of(REPO, 1).state), "Open");
        assert!(seed.comments_of(REPO, 1).is_empty());
    }
    let fields = "isCrossRepository,headRepository,headRepositoryOwner";
    let seen = hub.forge(&["pr", "view", "1", "--json", fields, "-R", REPO]);
    let seen: serde_json::Value = serde_json::from_str(&seen.text()).unwrap();
    assert_eq!(seen["isCrossRepository"], true, "{seen}");
    assert!(seen["headRepository"].is_null(), "{seen}");
    assert_eq!(seen["headRepositoryOwner"]["login"], "grace", "{seen}");
    let listed = hub.forge(&["pr", "list", "-R", REPO]).text();
    assert!(listed.contains("\tgrace:main\t"), "{listed}");
    // The owner still names the pull request.
    let number = ["pr", "view", "grace:main", "--json", "number", "-R", REPO];
    assert!(hub.forge(&number).text().contains('1'));
}

#[test]
fn checks_command_exits_like_gh() {
    let hub = Hub::with_pull();
    let checks = ["pr", "checks", "1", R[0], R[1]];
    let code = |more: &[&str]| hub.forge(&checks).args(more).output().code;
    assert_eq!(code(&[]), Some(1));
    hub.double.seed().check(REPO, 1, "CI", "build", "SUCCESS");
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--required"]), Some(1));
    hub.double
        .seed()
        .check(REPO, 1, "CI", "slow", "IN_PROGRESS");
    assert_eq!(code(&[]), Some(8));
    hub.double.seed().check(REPO, 1, "CI", "test", "FAILURE");
    assert_eq!(code(&[]), Some(1));
    assert_eq!(
        code(&["--watch", "--fail-fast", "--interval", "1"]),
        Some(1)
    );
    assert_eq!(code(&["--json", "name,state"]), Some(0));
}

#[test]
fn oversized_diff_comes_from_git_in_clone() {
    let hub = Hub::new();
    let names: Vec<String> = (0..301).map(|n| format!("many/{n}.txt")).collect();
    let files: Vec<(&str, Option<&str>)> =
        names.iter().map(|n| (n.as_str(), Some("a\n"))).collect();
    {
        let mut seed = hub.double.seed();
        seed.commit(REPO, "many", &files, "Add many");
        seed.open_pull(
            REPO,
            &PullSeed {
                author: "grace",
                title: "Many",
                head: "many",
                ..PullSeed::default()
            },
        );
        // The clone's base branch is then newer than the pull request's base.
        seed.commit(REPO, "main", &[("later.txt", Some("x\n"))], "Later");
    }
    let dir = hub.clone();
    let refs = || {
        hub.scratch
            .run(git_program())
            .arg("for-each-ref")
            .dir(&dir)
            .text()
    };
    let before = refs();
    let user = hub.scratch.run(git_program()).dir(&dir);
    user.args(["config", "diff.noprefix", "true"]).ok();

    hub.double.reset_record();
    let out = hub.forge(&["pr", "diff", "1"]).dir(&dir).output().success();
    assert_eq!(hub.double.counts().api, 2);
    assert!(out.stderr.is_empty(), "{out:?}");
    let diff = out.stdout_text();
    assert_eq!(diff.matches("\ndiff --git a/many/").count() + 1, 301);
    assert!(!diff.contains("later.txt"));
    assert_eq!(refs(), before);
    let series = hub.forge(&["pr", "diff", "1", "--patch"]).dir(&dir).text();
    assert!(series.starts_with("From ") && series.contains("Subject: [PATCH] Add many"));

    // Outside a clone, `forge` builds the diff from the list of files.
    let rebuilt = hub
        .forge(&["pr", "diff", "1", R[0], R[1]])
        .output()
        .success();
    assert!(rebuilt.stderr_text().contains("rebuilt from its files"));
    assert_eq!(rebuilt.stdout_text().matches("diff --git ").count(), 301);

    // If the remote cannot be reached, `forge` warns but still prints the diff.
    let gone = hub.scratch.run(git_program()).dir(&dir);
    gone.args(["config", "remote.origin.uploadpack", "/nonexistent"])
        .ok();
    hub.double
        .seed()
        .commit(REPO, "many", &[("more.txt", Some("m\n"))], "More");
    let out = hub.forge(&["pr", "diff", "1"]).dir(&dir).output().success();
    assert_eq!(out.stdout_text().matches("diff --git ").count(), 302);
}

#[test]
fn unread_checks_do_not_count_as_passed() {
    let hub = Hub::with_pull();
    let (head, at) = ("a".repeat(40), "2026-01-01T00:00:00Z");
    let passed = json!({
        "__typename": "CheckRun", "name": "build", "status": "COMPLETED", "conclusion": "SUCCESS",
    });
    for contexts in [json!([passed, null]), json!([])] {
        let rollup = json!({ "state": "SUCCESS", "contexts": { "nodes": contexts } });
        let pull = json!({
            "id": "PR_1", "number": 1, "title": "Work", "state": "OPEN",
            "url": "https://github.localhost/octo/tools/pull/1", "createdAt": at, "updatedAt": at,
            "baseRefName": "main", "headRefName": "work", "headRefOid": head,
            "head": { "nodes": [{ "commit": { "oid": head, "statusCheckRollup": rollup } }] },
        });
        let body = json!({ "data": { "repository": { "pullRequest": pull } } }).to_string();
        let headers = [("content-type", "application/json; charset=utf-8")];
        hub.double.clear_faults();
        let answer = Fault::answer(200, &headers, body);
        hub.double.fault(answer.on_path("/graphql").always());
        let out = hub.forge(&["pr", "checks", "1", "-R", REPO]).output();
        assert_ne!(out.code, Some(0), "{out:?}");
        let said = out.stderr_text();
        assert!(said.contains("could not be read in full"), "{said}");
    }
}

#[test]
fn view_with_comments_counts_threads_in_one_request() {
    let hub = Hub::with_pull();
    let view = ["pr", "view", "1", R[0], R[1], "--comments"];
    assert_eq!(hub.costs(1, &view).stderr_text(), "");
    for path in ["a.txt", "b.txt"] {
        hub.double.seed().thread(REPO, 1, "grace", path);
    }
    let said = hub.costs(1, &view).stderr_text();
    let wanted = format!("2 open threads: forge pr thread list 1 -R {REPO}\n");
    assert_eq!(said, wanted);
    let list = ["pr", "thread", "list", "1", R[0], R[1], "--json", "id"];
    let threads = hub.forge(&list).output().success().json();
    let id = threads[0]["id"].as_str().unwrap();
    let resolve = ["pr", "thread", "resolve", "1", id, R[0], R[1]];
    hub.forge(&resolve).ok();
    let again = hub.costs(2, &resolve).stderr_text();
    assert!(again.contains("is already resolved"), "{again}");
    let said = hub.costs(1, &view).stderr_text();
    assert!(said.starts_with("1 open thread: "), "{said}");
}
