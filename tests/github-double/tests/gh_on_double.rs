//! Runs every `gh pr` command with its flags against the double, to test that the real gh accepts
//! it as GitHub.
//!
//! `FORGE_GH` names gh; the default is `target/peers/gh`. Without gh the tests print a note and
//! pass, unless `FORGE_REQUIRE_GH` is set.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use forge_github_double::{
    ALL_SCOPES, GitHubDouble, Options, PullSeed,
    state::{Permission, Protection, ReviewState},
};
use forge_testkit::CANARY;

const REPO: &str = "acme/widget";

/// Expected content of an output stream.
#[derive(Clone, Copy)]
enum Text {
    /// Equals this text.
    Is(&'static str),
    /// Contains all of these texts, anywhere.
    Has(&'static [&'static str]),
}
use Text::{Has, Is};

/// A command: its arguments, its exit code, its standard output, and a part of its standard error.
type Row = (&'static [&'static str], i32, Text, &'static str);

struct World {
    double: GitHubDouble,
    dir: tempfile::TempDir,
    gh: PathBuf,
}

/// Returns the token with this short name.
fn secret(name: &str) -> String {
    format!("gho_{CANARY}{name}")
}

fn gh() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/gh");
    let found = std::env::var_os("FORGE_GH").map_or(root, PathBuf::from);
    if found.is_file() {
        return Some(found);
    }
    assert!(
        std::env::var_os("FORGE_REQUIRE_GH").is_none(),
        "gh is required but not at {}",
        found.display()
    );
    eprintln!(
        "gh is not at {}: nothing was compared with it (set FORGE_GH)",
        found.display()
    );
    None
}

/// Creates the world, or returns `None` without gh. The token `octo` belongs to octocat, an
/// administrator of acme. `rev` may write, and `hub` may only read.
fn world() -> Option<World> {
    let gh = gh()?;
    let double = GitHubDouble::start(Options::default()).unwrap();
    {
        let mut seed = double.seed();
        seed.named_user("octocat", "Mona Octocat");
        seed.org("acme", &[("octocat", Permission::Admin)]);
        for (token, login) in [("octo", "octocat"), ("rev", "reviewer"), ("hub", "hubot")] {
            seed.token(&secret(token), login, ALL_SCOPES);
        }
        seed.repo_with_readme(REPO);
        seed.collaborator(REPO, "reviewer", Permission::Write);
        seed.team("acme", "core", &["reviewer"]);
        for label in ["bug", "help wanted", "good, first"] {
            seed.label(REPO, label);
        }
        seed.milestone(REPO, "v1.0");
        seed.project("acme", "Roadmap", &["Todo", "Done"]);
        seed.open_issue(REPO, "reviewer", "It is broken", "Really."); // #1
        seed.open_pull(
            REPO,
            &PullSeed {
                author: "octocat",
                title: "Add ünïcode ✓",
                body: "Fixes #1\n\nMore text.",
                head: "feature",
                labels: &["bug", "help wanted"],
                assignees: &["octocat"],
                ..PullSeed::default()
            },
        ); // #2
        seed.fork(REPO, "hubot");
        seed.open_pull(
            REPO,
            &PullSeed {
                author: "hubot",
                title: "From a fork",
                head: "hubot:patch",
                ..PullSeed::default()
            },
        ); // #3
        seed.open_pull(
            REPO,
            &PullSeed {
                author: "octocat",
                title: "Not ready",
                head: "wip",
                draft: true,
                ..PullSeed::default()
            },
        ); // #4
    }
    let dir = tempfile::tempdir().unwrap();
    let world = World { double, dir, gh };
    std::fs::write(
        world.dir.path().join("gitconfig"),
        "[user]\n\tname = octo\n\temail = octo@example.com\n\
         [credential \"http://github.localhost\"]\n\
         \thelper = \"!f() { echo username=x; echo password=$GH_TOKEN; }; f\"\n",
    )
    .unwrap();
    Some(world)
}

impl World {
    fn command(&self, program: &Path, token: &str, cwd: &Path, args: &[&str]) -> Command {
        let dir = self.dir.path();
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(cwd)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", dir)
            .env("GH_CONFIG_DIR", dir.join("gh"))
            .env("XDG_CACHE_HOME", dir.join("cache"))
            .env("GIT_CONFIG_GLOBAL", dir.join("gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GH_TELEMETRY", "false")
            .env("GH_NO_UPDATE_NOTIFIER", "1")
            .env("GH_PROMPT_DISABLED", "1")
            .envs(self.double.env(&secret(token)));
        command
    }

    /// Runs gh, and returns its exit code, standard output and standard error.
    fn run(&self, token: &str, cwd: &Path, args: &[&str]) -> (i32, String, String) {
        let output = self.command(&self.gh, token, cwd, args).output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(
            !(out.contains(CANARY) || err.contains(CANARY)),
            "gh has printed a token"
        );
        (output.status.code().unwrap_or(-1), out, err)
    }

    /// Runs the rows in sequence.
    fn table(&self, token: &str, cwd: &Path, rows: &[Row]) {
        for (args, code, stdout, stderr) in rows {
            let (got, out, err) = self.run(token, cwd, args);
            let seen = format!("gh {args:?} as {token}\nexit {got}\nstdout: {out}\nstderr: {err}");
            assert_eq!(got, *code, "{seen}");
            match stdout {
                Is(text) => assert_eq!(out, *text, "{seen}"),
                Has(parts) => {
                    for part in *parts {
                        assert!(out.contains(part), "{part:?} is missing\n{seen}");
                    }
                }
            }
            assert!(err.contains(stderr), "{stderr:?} is missing\n{seen}");
        }
    }

    /// Runs the rows outside a clone.
    fn outside(&self, token: &str, rows: &[Row]) {
        self.table(token, self.dir.path(), rows);
    }

    fn git(&self, cwd: &Path, args: &[&str]) -> String {
        let output = self
            .command(Path::new("git"), "octo", cwd, args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Creates a clone with the branch `topic`, which has one commit and is pushed.
    fn clone(&self) -> PathBuf {
        self.table(
            "octo",
            self.dir.path(),
            &[(&["repo", "clone", REPO], 0, Is(""), "")],
        );
        let clone = self.dir.path().join("widget");
        self.git(&clone, &["checkout", "-q", "-b", "topic"]);
        std::fs::write(clone.join("topic.txt"), "one\ntwo\nthree\n").unwrap();
        self.git(&clone, &["add", "."]);
        self.git(
            &clone,
            &["commit", "-q", "-m", "Add topic", "-m", "Why it is needed."],
        );
        self.git(&clone, &["push", "-q", "-u", "origin", "topic"]);
        clone
    }
}

#[test]
fn gh_list_works_with_every_flag() {
    let Some(world) = world() else { return };
    const FEATURE: &str = "2\tAdd ünïcode ✓\tfeature\tOPEN\t2026-01-01T00:00:";
    world.outside(
        "octo",
        &[
            (
                &["pr", "list", "-R", REPO],
                0,
                Has(&[
                    "4\tNot ready\twip\tDRAFT\t",
                    "3\tFrom a fork\thubot:patch\tOPEN\t",
                    FEATURE,
                ]),
                "",
            ),
            (
                &["pr", "list", "-R", REPO, "-L", "1", "--json", "number"],
                0,
                Is("[{\"number\":4}]\n"),
                "",
            ),
            (&["pr", "list", "-R", REPO, "-s", "merged"], 0, Is(""), ""),
            (
                &[
                    "pr", "list", "-R", REPO, "-s", "all", "-B", "main", "-H", "feature", "--json",
                    "number",
                ],
                0,
                Is("[{\"number\":2}]\n"),
                "",
            ),
            (
                &["pr", "list", "-R", REPO, "-A", "@me", "--json", "number"],
                0,
                Is("[{\"number\":4},{\"number\":2}]\n"),
                "",
            ),
            (
                &[
                    "pr", "list", "-R", REPO, "-a", "octocat", "--json", "number",
                ],
                0,
                Is("[{\"number\":2}]\n"),
                "",
            ),
            (
                &[
                    "pr",
                    "list",
                    "-R",
                    REPO,
                    "-l",
                    "help wanted",
                    "-l",
                    "bug",
                    "--json",
                    "number",
                ],
                0,
                Is("[{\"number\":2}]\n"),
                "",
            ),
            (
                &["pr", "list", "-R", REPO, "--draft", "--json", "number"],
                0,
                Is("[{\"number\":4}]\n"),
                "",
            ),
            (
                &[
                    "pr",
                    "list",
                    "-R",
                    REPO,
                    "--draft=false",
                    "-q",
                    ".[].number",
                    "--json",
                    "number",
                ],
                0,
                Is("3\n2\n"),
                "",
            ),
            (
                &[
                    "pr",
                    "list",
                    "-R",
                    REPO,
                    "-S",
                    "unicode OR ünïcode in:title sort:created-asc",
                    "--json",
                    "number",
                ],
                0,
                Is("[{\"number\":2}]\n"),
                "",
            ),
            (
                &[
                    "pr",
                    "list",
                    "-R",
                    REPO,
                    "-S",
                    "ünïcode -label:x",
                    "--json",
                    "number",
                ],
                0,
                Is("[{\"number\":2}]\n"),
                "",
            ),
            (
                &["pr", "list", "-R", REPO, "--app", "dependabot"],
                0,
                Is(""),
                "",
            ),
            (
                &[
                    "pr",
                    "list",
                    "-R",
                    REPO,
                    "-t",
                    "{{len .}}",
                    "--json",
                    "number",
                ],
                0,
                Is("3"),
                "",
            ),
            (
                &["pr", "list", "-R", "acme/none"],
                1,
                Is(""),
                "Could not resolve to a Repository with the name 'acme/none'.",
            ),
        ],
    );
    world.double.seed().many_pulls(REPO, 120);
    world.double.reset_record();
    let (code, out, err) = world.run(
        "octo",
        world.dir.path(),
        &[
            "pr", "list", "-R", REPO, "-L", "200", "--json", "number", "-q", "length",
        ],
    );
    assert_eq!((code, out.as_str()), (0, "123\n"), "{err}");
    assert_eq!(world.double.counts().queries, 2);
}

#[test]
fn gh_view_status_checks_and_diff_work() {
    let Some(world) = world() else { return };
    {
        let mut seed = world.double.seed();
        seed.comment(REPO, 2, "reviewer", "Nice work");
        seed.review(REPO, 2, "reviewer", ReviewState::Approved, "LGTM");
        seed.check(REPO, 2, "CI", "build", "SUCCESS");
        seed.check(REPO, 2, "CI", "lint", "FAILURE");
        seed.check(REPO, 2, "CI", "old", "SKIPPED");
        seed.status(REPO, 2, "ci/deploy", "PENDING");
        seed.check(REPO, 3, "CI", "build", "IN_PROGRESS");
        seed.protect(
            REPO,
            "main",
            Protection {
                checks: ["build".to_owned()].into(),
                ..Protection::default()
            },
        );
    }
    world.outside(
        "octo",
        &[
            (
                &["pr", "view", "2", "-R", REPO],
                0,
                Is("title:\tAdd ünïcode ✓\nstate:\tOPEN\nauthor:\toctocat (Mona Octocat)\nlabels:\tbug, help wanted\nassignees:\toctocat (Mona Octocat)\nreviewers:\treviewer (Approved)\nprojects:\t\nmilestone:\t\nnumber:\t2\nurl:\thttp://github.localhost/acme/widget/pull/2\nadditions:\t1\ndeletions:\t0\nauto-merge:\tdisabled\n--\nFixes #1\n\nMore text.\n"),
                "",
            ),
            (
                &["pr", "view", "http://github.localhost/acme/widget/pull/2", "-c"],
                0,
                Is("author:\treviewer\nassociation:\tcollaborator\nedited:\tfalse\nstatus:\tnone\n--\nNice work\n--\nauthor:\treviewer\nassociation:\tcollaborator\nedited:\tfalse\nstatus:\tapproved\n--\nLGTM\n--\n"),
                "",
            ),
            (&["pr", "view", "feature", "-R", REPO, "--json", "number"], 0, Is("{\"number\":2}\n"), ""),
            (&["pr", "view", "hubot:patch", "-R", REPO, "--json", "number"], 0, Is("{\"number\":3}\n"), ""),
            (&["pr", "view", "nothing", "-R", REPO], 1, Is(""), "no pull requests found for branch \"nothing\""),
            (&["pr", "view", "99", "-R", REPO], 1, Is(""), "GraphQL: Could not resolve to a PullRequest with the number of 99. (repository.pullRequest)"),
            (&["pr", "view", "2", "-R", REPO, "--json", "reviewDecision,latestReviews,closingIssuesReferences", "-q", ".reviewDecision,.latestReviews[0].state,.closingIssuesReferences[0].number"], 0, Is("APPROVED\nAPPROVED\n1\n"), ""),
            (
                &["pr", "view", "2", "-R", REPO, "--json", "additions,assignees,author,autoMergeRequest,baseRefName,baseRefOid,body,changedFiles,closed,closedAt,closingIssuesReferences,comments,commits,createdAt,deletions,files,fullDatabaseId,headRefName,headRefOid,headRepository,headRepositoryOwner,id,isCrossRepository,isDraft,labels,latestReviews,maintainerCanModify,mergeCommit,mergeStateStatus,mergeable,mergedAt,mergedBy,milestone,number,potentialMergeCommit,projectCards,projectItems,reactionGroups,reviewDecision,reviewRequests,reviews,state,statusCheckRollup,title,updatedAt,url"],
                0,
                Has(&["\"__typename\":\"CheckRun\"", "\"__typename\":\"StatusContext\"", "\"nameWithOwner\":\"acme/widget\""]),
                "",
            ),
            (&["pr", "view", "3", "-R", REPO, "--json", "mergeable"], 0, Is("{\"mergeable\":\"UNKNOWN\"}\n"), ""),
            (&["pr", "view", "3", "-R", REPO, "--json", "mergeable"], 0, Is("{\"mergeable\":\"MERGEABLE\"}\n"), ""),
            (&["pr", "view", "2", "-R", REPO, "--json", "mergeable,mergeStateStatus"], 0, Is("{\"mergeStateStatus\":\"UNSTABLE\",\"mergeable\":\"MERGEABLE\"}\n"), ""),
            (
                &["pr", "checks", "2", "-R", REPO],
                1,
                Has(&["lint\tfail\t", "build\tpass\t1s\thttps://ci.example/", "ci/deploy\tpending\t0\t", "old\tskipping\t"]),
                "",
            ),
            (&["pr", "checks", "2", "-R", REPO, "--required", "--json", "name,bucket"], 0, Is("[{\"bucket\":\"pass\",\"name\":\"build\"}]\n"), ""),
            (&["pr", "checks", "3", "-R", REPO], 8, Has(&["build\tpending\t"]), ""),
            (&["pr", "checks", "2", "-R", REPO, "--watch", "--fail-fast", "-i", "1"], 1, Has(&["lint\tfail\t"]), ""),
            (&["pr", "checks", "4", "-R", REPO], 1, Is(""), "no checks reported on the 'wip' branch"),
            (
                &["pr", "diff", "2", "-R", REPO],
                0,
                Is("diff --git a/feature.txt b/feature.txt\nnew file mode 100644\nindex 0000000..3e75765\n--- /dev/null\n+++ b/feature.txt\n@@ -0,0 +1 @@\n+new\n"),
                "",
            ),
            (&["pr", "diff", "2", "-R", REPO, "--name-only"], 0, Is("feature.txt\n"), ""),
            (&["pr", "diff", "2", "-R", REPO, "--patch"], 0, Has(&["Subject: [PATCH] Add feature.txt"]), ""),
            (&["pr", "diff", "2", "-R", REPO, "-e", "*.txt"], 0, Is(""), ""),
            (
                &["pr", "status", "-R", REPO, "-c"],
                0,
                Has(&["Created by you\n  #4  Not ready [wip]", "#2  Add ünïcode ✓ [feature]", "1 Approved"]),
                "",
            ),
            (&["pr", "status", "-R", REPO, "--json", "number", "-q", ".createdBy[].number"], 0, Is("4\n2\n"), ""),
        ],
    );
}

#[test]
fn large_diffs_are_limited_like_github() {
    let Some(world) = world() else { return };
    {
        let mut seed = world.double.seed();
        let names: Vec<String> = (0..350).map(|it| format!("many/{it:03}.txt")).collect();
        let files: Vec<(&str, Option<&str>)> =
            names.iter().map(|it| (it.as_str(), Some("x\n"))).collect();
        seed.commit(REPO, "many", &files, "Add many");
        for number in 0..129 {
            let text = number.to_string();
            seed.commit(REPO, "many", &[("count", Some(&text))], "Count");
        }
        let many = PullSeed {
            title: "Many",
            head: "many",
            ..PullSeed::default()
        };
        assert_eq!(seed.open_pull(REPO, &many), 5);
        let text = "line\n".repeat(20_001);
        seed.commit(REPO, "long", &[("long.txt", Some(&text))], "Add long");
        let long = PullSeed {
            title: "Long",
            head: "long",
            ..PullSeed::default()
        };
        assert_eq!(seed.open_pull(REPO, &long), 6);
    }
    world.outside(
        "octo",
        &[
            (
                &["pr", "diff", "5", "-R", REPO],
                1,
                Is(""),
                "HTTP 406: Sorry, the diff exceeded the maximum number of files (300).",
            ),
            (
                &["pr", "diff", "6", "-R", REPO],
                1,
                Is(""),
                "HTTP 406: Sorry, the diff exceeded the maximum number of lines (20000)",
            ),
            (
                &[
                    "pr",
                    "view",
                    "5",
                    "-R",
                    REPO,
                    "--json",
                    "changedFiles,files,commits",
                    "-q",
                    ".changedFiles,(.files|length),(.commits|length)",
                ],
                0,
                Is("351\n100\n100\n"),
                "",
            ),
        ],
    );
}

#[test]
fn gh_create_works_with_every_flag() {
    let Some(world) = world() else { return };
    let clone = world.clone();
    let template = clone.join("body.md");
    std::fs::write(&template, "Text of the file.\n").unwrap();
    world.table(
        "octo",
        &clone,
        &[
            (
                &["pr", "create", "--dry-run", "--title", "T", "--body", "B"],
                0,
                Has(&["Would have created a Pull Request with:", "title:\tT", "base:\tmain", "head:\ttopic"]),
                "",
            ),
            (&["pr", "create", "--head", "main", "--title", "T", "--body", "B"], 1, Is(""), "head branch \"main\" is the same as base branch \"main\""),
            (&["pr", "create", "--base", "none", "--head", "topic", "--title", "T", "--body", "B"], 1, Is(""), "Base ref must be a branch"),
            (&["pr", "create", "--head", "none", "--title", "T", "--body", "B"], 1, Is(""), "Head sha can't be blank, Base sha can't be blank, No commits between main and none, Head ref must be a branch"),
            (&["pr", "create", "--label", "nope", "--title", "T", "--body", "B"], 1, Is(""), "could not add label: 'nope' not found"),
            (
                &["pr", "create", "--fill", "--draft", "--label", "bug,help wanted", "--label", "\"good, first\"", "--assignee", "@me", "--reviewer", "reviewer,acme/core", "--milestone", "v1.0", "--project", "Roadmap", "--no-maintainer-edit"],
                0,
                Is("http://github.localhost/acme/widget/pull/5\n"),
                "",
            ),
            (
                &["pr", "view", "--json", "title,body,isDraft,labels,assignees,reviewRequests,milestone,projectItems", "-q", ".title,.body,.isDraft,.labels[].name,.assignees[].login,.reviewRequests[].slug,.milestone.title,.projectItems[].title"],
                0,
                Is("Add topic\nWhy it is needed.\n\ntrue\nbug\ngood, first\nhelp wanted\noctocat\n\nacme/core\nv1.0\nRoadmap\n"),
                "",
            ),
            (&["pr", "create", "--fill"], 1, Is(""), "a pull request for branch \"topic\" into branch \"main\" already exists:\nhttp://github.localhost/acme/widget/pull/5"),
            (&["pr", "create", "--title", "x", "--body", "y", "--base", "feature", "--fill-first"], 0, Is("http://github.localhost/acme/widget/pull/6\n"), ""),
            (&["pr", "create", "-H", "hubot:main", "-t", "T", "-b", "B"], 1, Is(""), "No commits between main and main"),
            (&["pr", "create", "-H", "hubot:patch", "-t", "T", "-b", "B"], 1, Is(""), "a pull request for branch \"hubot:patch\" into branch \"main\" already exists"),
            (&["pr", "create", "-H", "wip", "-B", "feature", "-t", "From file", "-F", "body.md"], 0, Is("http://github.localhost/acme/widget/pull/7\n"), ""),
            (&["pr", "view", "7", "--json", "body,baseRefName"], 0, Is("{\"baseRefName\":\"feature\",\"body\":\"Text of the file.\\n\"}\n"), ""),
        ],
    );
    std::fs::write(&template, "ü".repeat(65_537)).unwrap();
    let (code, _, err) = world.run("octo", &clone, &["pr", "edit", "5", "-F", "body.md"]);
    assert_eq!(code, 1);
    assert!(
        err.contains("Body is too long (maximum is 65536 characters)"),
        "{err}"
    );
    let long = "x".repeat(60_000);
    let (code, _, err) = world.run("octo", &clone, &["pr", "edit", "5", "--body", &long]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(world.double.seed().pull_of(REPO, 5).body.len(), 60_000);
}

#[test]
fn gh_edit_works_with_every_flag() {
    let Some(world) = world() else { return };
    world.outside(
        "octo",
        &[
            (
                &["pr", "edit", "2", "-R", REPO, "-t", "New title", "-b", "New body", "-B", "feature2", "--add-label", "help wanted"],
                1,
                Is(""),
                "Proposed base branch 'feature2' was not found",
            ),
            (
                &["pr", "edit", "2", "-R", REPO, "-t", "New title", "-b", "New body", "-B", "wip", "--add-label", "\"good, first\"", "--remove-label", "bug", "--add-reviewer", "reviewer,acme/core", "--add-assignee", "reviewer", "--remove-assignee", "@me", "-m", "v1.0", "--add-project", "Roadmap"],
                0,
                Is("http://github.localhost/acme/widget/pull/2\n"),
                "",
            ),
            (
                &["pr", "view", "2", "-R", REPO, "--json", "title,body,baseRefName,labels,reviewRequests,assignees,milestone,projectItems", "-q", ".title,.body,.baseRefName,([.labels[].name]|join(\"|\")),(.reviewRequests|length),.assignees[].login,.milestone.title,.projectItems[].title"],
                0,
                Is("New title\nNew body\nwip\ngood, first|help wanted\n2\nreviewer\nv1.0\nRoadmap\n"),
                "",
            ),
            (
                &["pr", "edit", "2", "-R", REPO, "--remove-reviewer", "acme/core", "--remove-milestone", "--remove-project", "Roadmap"],
                0,
                Is("http://github.localhost/acme/widget/pull/2\n"),
                "",
            ),
            (
                &["pr", "view", "2", "-R", REPO, "--json", "reviewRequests,milestone,projectItems", "-q", ".reviewRequests[].login,.milestone,(.projectItems|length)"],
                0,
                Is("reviewer\n\n0\n"),
                "",
            ),
            (&["pr", "edit", "2", "-R", REPO, "--add-label", "none"], 1, Is(""), "'none' not found"),
            (&["pr", "edit", "2", "-R", REPO, "--add-reviewer", "nobody"], 1, Is(""), "Could not resolve user with login 'nobody'."),
        ],
    );
    world.outside(
        "hub",
        &[(
            &["pr", "edit", "2", "-R", REPO, "-t", "Mine"],
            1,
            Is(""),
            "hubot does not have the correct permissions to execute `UpdatePullRequest`",
        )],
    );
}

#[test]
fn gh_can_comment_review_and_change_states() {
    let Some(world) = world() else { return };
    world.outside(
        "octo",
        &[
            (
                &["pr", "comment", "2", "-R", REPO, "-b", "One"],
                0,
                Has(&["/pull/2#issuecomment-"]),
                "",
            ),
            (
                &["pr", "comment", "2", "-R", REPO, "--edit-last", "-b", "Two"],
                0,
                Has(&["/pull/2#issuecomment-"]),
                "",
            ),
            (
                &[
                    "pr",
                    "view",
                    "2",
                    "-R",
                    REPO,
                    "--json",
                    "comments",
                    "-q",
                    ".comments[]|.body,.includesCreatedEdit",
                ],
                0,
                Is("Two\ntrue\n"),
                "",
            ),
            (
                &["pr", "comment", "2", "-R", REPO, "--delete-last", "--yes"],
                0,
                Is(""),
                "Comment deleted",
            ),
            (
                &["pr", "comment", "2", "-R", REPO, "--edit-last", "-b", "x"],
                1,
                Is(""),
                "no comments found for current user",
            ),
            (
                &[
                    "pr",
                    "comment",
                    "2",
                    "-R",
                    REPO,
                    "--edit-last",
                    "--create-if-none",
                    "-b",
                    "Three",
                ],
                0,
                Has(&["#issuecomment-"]),
                "",
            ),
            (
                &["pr", "review", "2", "-R", REPO, "-a"],
                1,
                Is(""),
                "Can not approve your own pull request",
            ),
            (
                &["pr", "review", "2", "-R", REPO, "-r", "-b", "no"],
                1,
                Is(""),
                "Can not request changes on your own pull request",
            ),
            (
                &["pr", "review", "2", "-R", REPO, "-c", "-b", "Note"],
                0,
                Is(""),
                "",
            ),
        ],
    );
    world.outside(
        "rev",
        &[
            (
                &["pr", "review", "2", "-R", REPO, "-r", "-b", "Please change"],
                0,
                Is(""),
                "",
            ),
            (
                &[
                    "pr",
                    "view",
                    "2",
                    "-R",
                    REPO,
                    "--json",
                    "reviewDecision",
                    "-q",
                    ".reviewDecision",
                ],
                0,
                Is("CHANGES_REQUESTED\n"),
                "",
            ),
            (
                &["pr", "review", "2", "-R", REPO, "-a", "-b", "Good"],
                0,
                Is(""),
                "",
            ),
            (
                &[
                    "pr",
                    "view",
                    "2",
                    "-R",
                    REPO,
                    "--json",
                    "reviewDecision",
                    "-q",
                    ".reviewDecision",
                ],
                0,
                Is("APPROVED\n"),
                "",
            ),
        ],
    );
    world.outside(
        "octo",
        &[
            (
                &["pr", "close", "2", "-R", REPO, "-c", "Bye"],
                0,
                Is(""),
                "✓ Closed pull request acme/widget#2",
            ),
            (
                &["pr", "close", "2", "-R", REPO],
                0,
                Is(""),
                "! Pull request acme/widget#2 (Add ünïcode ✓) is already closed",
            ),
            (
                &["pr", "reopen", "2", "-R", REPO, "-c", "Back"],
                0,
                Is(""),
                "✓ Reopened pull request acme/widget#2",
            ),
            (
                &["pr", "reopen", "2", "-R", REPO],
                0,
                Is(""),
                "is already open",
            ),
            (
                &["pr", "ready", "2", "-R", REPO, "--undo"],
                0,
                Is(""),
                "is converted to \"draft\"",
            ),
            (
                &["pr", "ready", "2", "-R", REPO],
                0,
                Is(""),
                "is marked as \"ready for review\"",
            ),
            (
                &["pr", "ready", "2", "-R", REPO],
                0,
                Is(""),
                "is already \"ready for review\"",
            ),
            (
                &["pr", "lock", "2", "-R", REPO, "-r", "resolved"],
                0,
                Is(""),
                "",
            ),
        ],
    );
    world.outside(
        "hub",
        &[
            (
                &["pr", "comment", "2", "-R", REPO, "-b", "x"],
                1,
                Is(""),
                "Unable to create comment because issue is locked.",
            ),
            (
                &["pr", "close", "2", "-R", REPO],
                1,
                Is(""),
                "hubot does not have the correct permissions to execute `ClosePullRequest`",
            ),
        ],
    );
    world.outside(
        "octo",
        &[
            (&["pr", "unlock", "2", "-R", REPO], 0, Is(""), ""),
            (
                &["pr", "close", "4", "-R", REPO, "-d"],
                0,
                Is(""),
                "✓ Closed pull request acme/widget#4",
            ),
            (
                &["pr", "reopen", "4", "-R", REPO],
                1,
                Is(""),
                "The wip branch has been deleted.",
            ),
        ],
    );
}

#[test]
fn gh_merge_changes_the_git_repository() {
    let Some(world) = world() else { return };
    let clone = world.clone();
    {
        let mut seed = world.double.seed();
        for branch in ["squashed", "rebased"] {
            let (one, two) = (format!("{branch}1"), format!("{branch}2"));
            seed.commit(REPO, branch, &[(&one, Some("1\n"))], "First");
            seed.commit(REPO, branch, &[(&two, Some("2\n"))], "Second");
        }
        seed.commit(
            REPO,
            "conflict",
            &[("README.md", Some("theirs\n"))],
            "Theirs",
        );
        for head in ["squashed", "rebased", "conflict"] {
            let pull = PullSeed {
                title: head,
                head,
                ..PullSeed::default()
            };
            seed.open_pull(REPO, &pull); // #5, #6, #7
        }
        seed.commit(REPO, "main", &[("README.md", Some("ours\n"))], "Ours");
    }
    world.table(
        "octo",
        &clone,
        &[
            (&["pr", "merge", "4", "-m"], 1, Is(""), "Pull Request is still a draft"),
            (&["pr", "merge", "2"], 1, Is(""), "--merge, --rebase, or --squash required when not running interactively"),
            (&["pr", "merge", "2", "-m", "--match-head-commit", "0123456789012345678901234567890123456789"], 1, Is(""), "Head branch was modified. Review and try the merge again."),
            (&["pr", "merge", "2", "-m", "-t", "Subject", "-b", "Body", "-A", "me@example.com"], 0, Is(""), ""),
            (&["pr", "merge", "2", "-m"], 0, Is(""), "! Pull request acme/widget#2 was already merged"),
            (&["pr", "merge", "5", "-s", "-d"], 0, Is(""), ""),
            (&["pr", "merge", "6", "-r"], 0, Is(""), ""),
            (&["pr", "merge", "3", "--merge"], 0, Is(""), ""),
            (&["pr", "view", "7", "--json", "mergeable"], 0, Has(&["mergeable"]), ""),
            (&["pr", "view", "7", "--json", "mergeable,mergeStateStatus"], 0, Is("{\"mergeStateStatus\":\"DIRTY\",\"mergeable\":\"CONFLICTING\"}\n"), ""),
            (&["pr", "merge", "7", "-m"], 1, Is(""), "X Pull request acme/widget#7 is not mergeable: the merge commit cannot be cleanly created."),
            (&["pr", "view", "2", "--json", "state"], 0, Is("{\"state\":\"MERGED\"}\n"), ""),
            (&["pr", "reopen", "2"], 1, Is(""), "can't be reopened because it was already merged"),
            (&["pr", "close", "2"], 1, Is(""), "can't be closed because it was already merged"),
            (&["pr", "revert", "2", "-t", "Undo", "-b", "Because"], 0, Is("http://github.localhost/acme/widget/pull/8\n"), ""),
            (&["pr", "revert", "7"], 1, Is(""), "can't be reverted because it has not been merged"),
        ],
    );
    world.git(&clone, &["fetch", "-q"]);
    let log = world.git(
        &clone,
        &[
            "log",
            "--format=%s|%ae|%cn",
            "--first-parent",
            "origin/main",
        ],
    );
    assert_eq!(
        log,
        "Merge pull request #3 from hubot/patch|octocat@users.noreply.github.com|GitHub\n\
         Second|acme@users.noreply.github.com|GitHub\n\
         First|acme@users.noreply.github.com|GitHub\n\
         squashed (#5)|octocat@users.noreply.github.com|GitHub\n\
         Subject|me@example.com|GitHub\n\
         Ours|acme@users.noreply.github.com|acme\n\
         Initial commit|acme@users.noreply.github.com|acme"
    );
    let undone = world.git(
        &clone,
        &[
            "diff",
            "--name-status",
            "origin/main...origin/revert-2-feature",
        ],
    );
    assert_eq!(undone, "D\tfeature.txt");
    {
        let seed = world.double.seed();
        let repo = seed.find_repo(REPO);
        let issue = seed.issue(repo, 1).map(|issue| issue.state.name());
        assert_eq!(issue, Some("CLOSED"));
    }
    let branches = world.git(&clone, &["ls-remote", "--heads", "origin", "squashed"]);
    assert_eq!(branches, "");
}

#[test]
fn gh_merge_follows_protection_and_auto_merge() {
    let Some(world) = world() else { return };
    {
        let mut seed = world.double.seed();
        seed.configure(REPO, |repo| repo.allow_auto_merge = true);
        seed.protect(
            REPO,
            "main",
            Protection {
                approvals: 1,
                checks: ["build".to_owned()].into(),
                ..Protection::default()
            },
        );
    }
    world.outside(
        "rev",
        &[
            (
                &["pr", "view", "2", "-R", REPO, "--json", "mergeStateStatus"],
                0,
                Has(&["UNKNOWN"]),
                "",
            ),
            (
                &["pr", "merge", "2", "-R", REPO, "-m"],
                1,
                Is(""),
                "is not mergeable: the base branch policy prohibits the merge.",
            ),
            (
                &["pr", "merge", "2", "-R", REPO, "-m", "--admin"],
                1,
                Is(""),
                "At least 1 approving review is required by reviewers with write access.",
            ),
            (
                &["pr", "merge", "2", "-R", REPO, "-s", "--auto"],
                0,
                Is(""),
                "",
            ),
            (
                &[
                    "pr",
                    "view",
                    "2",
                    "-R",
                    REPO,
                    "--json",
                    "autoMergeRequest",
                    "-q",
                    ".autoMergeRequest.mergeMethod",
                ],
                0,
                Is("SQUASH\n"),
                "",
            ),
            (
                &["pr", "merge", "2", "-R", REPO, "--disable-auto"],
                0,
                Is(""),
                "",
            ),
            (
                &["pr", "merge", "2", "-R", REPO, "-s", "--auto"],
                0,
                Is(""),
                "",
            ),
            (&["pr", "review", "2", "-R", REPO, "-a"], 0, Is(""), ""),
        ],
    );
    assert_eq!(world.double.seed().pull_of(REPO, 2).state.name(), "OPEN");
    world.double.seed().check(REPO, 2, "CI", "build", "SUCCESS");
    assert_eq!(world.double.seed().pull_of(REPO, 2).state.name(), "MERGED");
    world.outside(
        "octo",
        &[(
            &["pr", "merge", "3", "-R", REPO, "-m", "--admin"],
            0,
            Is(""),
            "",
        )],
    );
    assert_eq!(world.double.seed().pull_of(REPO, 3).state.name(), "MERGED");
}

#[test]
fn gh_checkout_update_branch_and_forks_work() {
    let Some(world) = world() else { return };
    let clone = world.clone();
    world
        .double
        .seed()
        .commit(REPO, "main", &[("new.txt", Some("1\n"))], "Move main");
    world.table(
        "octo",
        &clone,
        &[
            (
                &["pr", "checkout", "3"],
                0,
                Is(""),
                "Switched to branch 'patch'",
            ),
            (
                &["pr", "checkout", "2", "-b", "mine"],
                0,
                Has(&["mine"]),
                "",
            ),
            (
                &["pr", "checkout", "2", "--detach"],
                0,
                Is(""),
                "HEAD is now at",
            ),
            (
                &["pr", "checkout", "feature", "-f"],
                0,
                Has(&["feature"]),
                "",
            ),
            (
                &["pr", "view", "--json", "number"],
                0,
                Is("{\"number\":2}\n"),
                "",
            ),
            (
                &["pr", "checkout", "4", "--worktree", "../tree"],
                0,
                Has(&[]),
                "",
            ),
            (
                &["pr", "update-branch", "2"],
                0,
                Is("✓ PR branch updated\n"),
                "",
            ),
            (
                &["pr", "update-branch", "2"],
                0,
                Is("✓ PR branch already up-to-date\n"),
                "",
            ),
            (
                &["pr", "update-branch", "4", "--rebase"],
                0,
                Is("✓ PR branch updated\n"),
                "",
            ),
            (
                &[
                    "pr",
                    "view",
                    "2",
                    "--json",
                    "commits",
                    "-q",
                    ".commits[].messageHeadline",
                ],
                0,
                Is("Add feature.txt\nMerge branch 'main' into feature\n"),
                "",
            ),
            (
                &[
                    "pr",
                    "view",
                    "4",
                    "--json",
                    "commits",
                    "-q",
                    ".commits[].messageHeadline",
                ],
                0,
                Is("Add wip.txt\n"),
                "",
            ),
        ],
    );
    assert!(world.dir.path().join("tree/wip.txt").is_file());
    world.outside(
        "hub",
        &[
            (
                &["repo", "create", "hubot/own", "--public", "--add-readme"],
                0,
                Is("http://github.localhost/hubot/own\n"),
                "",
            ),
            (
                &[
                    "repo",
                    "view",
                    "hubot/own",
                    "--json",
                    "name,isFork,defaultBranchRef",
                    "-q",
                    ".name,.isFork,.defaultBranchRef.name",
                ],
                0,
                Is("own\nfalse\nmain\n"),
                "",
            ),
            (&["repo", "delete", "hubot/own", "--yes"], 0, Is(""), ""),
        ],
    );
    world.outside(
        "rev",
        &[(
            &["repo", "fork", REPO, "--clone=false"],
            0,
            Is("http://github.localhost/reviewer/widget\n"),
            "",
        )],
    );
}

#[test]
fn missing_permission_is_reported() {
    let Some(world) = world() else { return };
    {
        let mut seed = world.double.seed();
        seed.token(&secret("few"), "reviewer", &["repo", "read:org"]);
        seed.fine_grained_token(&secret("fine"), "octocat", true);
        seed.org("locked", &[("octocat", Permission::Admin)]);
        seed.repo_with_readme("locked/safe");
        seed.require_sso("locked");
        seed.repo_with_readme("acme/secret");
        seed.configure("acme/secret", |repo| repo.private = true);
    }
    world.outside(
        "wrong",
        &[(
            &["pr", "list", "-R", REPO],
            1,
            Is(""),
            "HTTP 401: Bad credentials",
        )],
    );
    world.outside(
        "hub",
        &[(
            &["pr", "list", "-R", "acme/secret"],
            1,
            Is(""),
            "Could not resolve to a Repository with the name 'acme/secret'.",
        )],
    );
    world.outside(
        "fine",
        &[(
            &["pr", "close", "2", "-R", REPO],
            1,
            Is(""),
            "Resource not accessible by personal access token",
        )],
    );
    world.outside(
        "octo",
        &[(
            &["pr", "list", "-R", "locked/safe"],
            1,
            Is(""),
            "Resource protected by organization SAML enforcement.",
        )],
    );
    world.outside(
        "few",
        &[(
            &["pr", "edit", "2", "-R", REPO, "--add-project", "Roadmap"],
            1,
            Is(""),
            "required scopes",
        )],
    );
}
