//! Tests three kinds of writes: with a result that cannot be printed, with a wait, and not sent. No
//! message may make a script repeat a finished write.

use std::{
    fs::File,
    process::{Output, Stdio},
};

use forge_github_double::Fault;
use forge_testkit::Run;

use crate::{
    hub::{Hub, REPO},
    world::World,
};

/// Runs `run` with a standard output on which every write fails.
fn full(run: &Run) -> Output {
    let full = File::options().write(true).open("/dev/full").unwrap();
    finish(run, full.into())
}

/// Runs `run` with a pipe as standard output that its reader has closed.
fn run_with_closed_stdout(run: &Run) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    finish(run, writer.into())
}

fn finish(run: &Run, stdout: Stdio) -> Output {
    let mut command = run.command();
    command.stdout(stdout).stderr(Stdio::piped());
    command.spawn().unwrap().wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A repository with a branch `other`, issue 1, label `bug` and pull request 1. The pull request is
/// behind its base, and has a thread.
struct Staged {
    world: World,
    thread: String,
}

impl Staged {
    fn new() -> Self {
        let world = World::with_pull();
        world.feature("other");
        let review = ["pr", "review", "1", "--comment", "-b", "See."];
        let review = world.grace(&review).args(["--line", "feature.txt:1=Why?"]);
        review.ok();
        world.forge(&["label", "create", "bug", "--force"]).ok();
        world.forge(&["issue", "create", "-t", "T", "-b", "B"]).ok();
        world
            .git
            .commit("main", "Go on", &[("main.txt", Some("x\n"))]);
        let thread = world.forge(&["pr", "thread", "list", "1"]).text();
        let thread = thread.split('\t').next().unwrap().to_owned();
        Self { world, thread }
    }

    fn run(&self, line: &str) -> Run {
        let line = line.replace("THREAD", &self.thread);
        self.world.forge(&line.split(' ').collect::<Vec<_>>())
    }
}

/// Operations, each with a command that prints the operation's result on stdout.
const PRINTING: &[(&str, &str)] = &[
    ("pr.create", "pr create -H other -t T -b B"),
    ("pr.edit", "pr edit 1 -t New"),
    ("pr.update_branch", "pr update-branch 1"),
    ("comment.create", "pr comment 1 -b Said"),
    ("comment.create", "pr thread reply 1 THREAD -b Said"),
    ("issue.create", "issue create -t T -b B"),
    ("issue.edit", "issue edit 1 -t New"),
    ("issue.comment", "issue comment 1 -b Said"),
];

/// Commands that print only on stderr.
const SILENT: &[&str] = &[
    "pr review 1 --comment -b Good",
    "pr thread resolve 1 THREAD",
    "pr thread unresolve 1 THREAD",
    "pr ready 1 --undo",
    "pr ready 1",
    "pr close 1",
    "pr reopen 1",
    "pr merge 1 -s",
    "issue close 1",
    "issue reopen 1",
    "label create new",
    "label delete new --yes",
];

#[test]
fn write_with_unprintable_result_is_reported_as_done() {
    for (op, line) in PRINTING {
        let staged = Staged::new();
        let before = staged.world.git.refs();
        let output = full(&staged.run(line));
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains("No space left on device"), "{line}: {said}");
        let done = said.split("Recovery: do not repeat the command: ").nth(1);
        let done = done.unwrap_or_else(|| panic!("{line}: {said}"));
        assert!(done.starts_with(&format!("{op} on ")), "{line}: {said}");
        let result = done.split(" is done: ").nth(1).unwrap_or_default();
        assert!(!result.trim().is_empty(), "{line}: {said}");
        assert_ne!(staged.world.git.refs(), before, "{line}");

        let staged = Staged::new();
        let output = run_with_closed_stdout(&staged.run(line));
        let said = self::said(&output);
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        assert!(
            said.contains(&format!(
                "standard output is closed, so the result was not printed: {op} on "
            )),
            "{said}"
        );
    }
}

#[test]
fn silent_write_succeeds_with_full_stdout() {
    for output in [full, run_with_closed_stdout] {
        let staged = Staged::new();
        for line in SILENT {
            let output = output(&staged.run(line));
            assert_eq!(output.status.code(), Some(0), "{line}: {}", said(&output));
        }
    }
}

#[test]
fn read_tolerates_closed_but_not_full_stdout() {
    let staged = Staged::new();
    for line in [
        "pr list",
        "pr view 1",
        "pr diff 1",
        "issue list",
        "label list",
    ] {
        let run = staged.run(line);
        let output = run_with_closed_stdout(&run);
        assert_eq!(
            (output.status.code(), said(&output)),
            (Some(0), String::new())
        );
        let output = full(&run);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(!said(&output).contains("do not repeat"), "{line}");
    }
}

#[test]
fn github_write_with_unprintable_result_names_url() {
    let hub = Hub::new();
    let create = [
        "pr", "create", "-H", "feature", "-t", "T", "-b", "B", "-R", REPO,
    ];
    let output = full(&hub.forge(&create));
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let done = "pr.create on github:github.localhost/octo/tools is done: ";
    assert!(
        said.contains(done) && said.contains("/octo/tools/pull/1"),
        "{said}"
    );
    assert_eq!(hub.double.seed().pulls_of(REPO).len(), 1);
}

const COMMENT: [&str; 7] = ["pr", "comment", "1", "-b", "Said.", "-R", REPO];

#[test]
fn rate_limit_wait_is_announced() {
    for fault in [
        Fault::secondary(403, Some(1)),
        Fault::secondary(429, Some(1)),
    ] {
        let hub = Hub::with_pull();
        hub.double.fault(fault.on_mutations());
        let out = hub.forge(&COMMENT).output().success();
        let said = out.stderr_text();
        assert_eq!(said, "rate limited by api.github.localhost, waiting 1 s\n");
        assert_eq!(hub.double.seed().comments_of(REPO, 1).len(), 1);
    }
}

#[test]
fn unsent_write_is_reported_as_not_sent() {
    let hub = Hub::with_pull();
    let limited = |seconds| Fault::secondary(403, Some(seconds)).on_mutations().always();
    // The server demands a wait that exceeds the deadline but fits the time budget for waits.
    hub.double.fault(limited(30));
    let run = hub.forge(&COMMENT).env("FORGE_TIMEOUT", "1");
    let said = run.output().exits(1).stderr_text();
    assert!(
        said.contains("took longer than 1 s (nothing was sent)"),
        "{said}"
    );
    assert!(!said.contains("may have succeeded"), "{said}");
    // The wait is longer than the deadline and than the budget for waits.
    let hub = Hub::with_pull();
    hub.double.fault(limited(3600));
    let said = hub.forge(&COMMENT).output().exits(1).stderr_text();
    assert!(said.contains("(nothing was written)"), "{said}");
    // No server listens on this address.
    let nobody = "http://127.0.0.1:1";
    let run = hub
        .forge(&COMMENT)
        .env("HTTP_PROXY", nobody)
        .env("http_proxy", nobody);
    let said = run.output().exits(1).stderr_text();
    assert!(
        said.contains("no connection to api.github.localhost"),
        "{said}"
    );
    assert!(said.contains("(nothing was sent)"), "{said}");
    assert!(hub.double.seed().comments_of(REPO, 1).is_empty());
}

#[test]
fn write_without_response_is_reported_as_uncertain() {
    let hub = Hub::with_pull();
    let lost = std::time::Duration::from_secs(30);
    hub.double
        .fault(Fault::delayed(lost).on_mutations().committed());
    let run = hub.forge(&COMMENT).env("FORGE_TIMEOUT", "2");
    let said = run.output().exits(1).stderr_text();
    assert!(said.contains("may have succeeded"), "{said}");
    assert!(!said.contains("nothing was"), "{said}");
}
