//! A world of tangled in which tests can kill `forge` processes.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use forge_tangled_world::{Account, Host, Repository, Trap, World};
use forge_testkit::{CANARY, Identity, Run, Scratch};
use serde_json::Value;

use crate::ticket_records::TicketRecords;

pub const PULL: &str = "sh.tangled.repo.pull";
pub const STATUS: &str = "sh.tangled.repo.pull.status";

const COMMENT: &str = "sh.tangled.feed.comment";

/// Time within which a program must reach the point at which the test kills it.
const TRAP_TIMEOUT: Duration = Duration::from_secs(60);

/// Calls `once` with the number of each request in turn that writes or follows a write, to kill a
/// program before and after the server executes that request. Stops when `once` returns false for
/// both, because the program has then ended by itself. Fails unless the program sent at least
/// `least` such requests.
pub fn at_each_write(least: u64, mut once: impl FnMut(u64, bool) -> bool) {
    let mut at = 1;
    loop {
        let came_before = once(at, false);
        let came_after = once(at, true);
        if !came_before && !came_after {
            break;
        }
        at += 1;
    }
    println!("killed at each of {} requests", at - 1);
    assert!(at > least, "{} requests", at - 1);
}

/// Waits until `done` returns true, because another process causes it.
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + TRAP_TIMEOUT;
    while !done() {
        assert!(Instant::now() < end, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A repository of Alice's, and a home directory with the servers' addresses and her password.
pub struct Hall {
    pub world: World,
    pub alice: Account,
    pub repo: Repository,
    pub scratch: Scratch,
}

impl Hall {
    pub fn new() -> Self {
        let world = World::start().unwrap();
        let alice = world
            .pds()
            .account("alice.test", &format!("pass-{CANARY}-word"));
        let repo = world.repository(&alice, "widget");
        let scratch = Scratch::new();
        let at = |host: &Host| host.url();
        let text = format!(
            "[hosts.\"tangled.org\"]\napi_url = \"{}\"\npds_url = \"{}\"\nplc_url = \"{}\"\n",
            at(world.index().host()),
            at(world.pds().host()),
            at(world.directory().host()),
        );
        scratch.write("home/.config/forge/config.toml", text);
        Self {
            world,
            alice,
            repo,
            scratch,
        }
    }

    /// Returns `forge` with Alice's login.
    pub fn forge(&self, args: &[&str]) -> Run {
        self.scratch
            .forge(&self.scratch.path(""), &Identity::ADA)
            .env("TANGLED_HANDLE", &self.alice.handle)
            .env("TANGLED_PASSWORD", &self.alice.password)
            .args(args)
    }

    /// Creates a branch with one commit, which writes a file.
    pub fn branch(&self, branch: &str, file: &str, text: &str) {
        let message = format!("Add {branch}.");
        self.repo
            .git
            .commit(branch, &message, &[(file, Some(text))]);
    }

    pub fn create(&self, branch: &str) -> Run {
        self.forge(&[
            "pr",
            "create",
            "-R",
            "tangled:alice.test/widget",
            "-H",
            branch,
            "-t",
            branch,
            "-b",
            "Text.",
        ])
    }

    pub fn pulls(&self, branch: &str) -> Vec<String> {
        let all = self.world.pds().records(&self.alice.did, PULL).into_iter();
        all.filter(|(_, _, value)| value["source"]["branch"] == branch)
            .map(|(uri, _, _)| uri)
            .collect()
    }

    /// Returns the at-uris of the pull requests with a title.
    pub fn titled(&self, title: &str) -> Vec<String> {
        let all = self.world.pds().records(&self.alice.did, PULL).into_iter();
        all.filter(|(_, _, value)| value["title"] == title)
            .map(|(uri, _, _)| uri)
            .collect()
    }

    /// Clones the repository, and returns the path. The clone's remote is the repository's tangled
    /// URL.
    pub fn clone_repository(&self) -> PathBuf {
        self.clone_of(&self.repo)
    }

    fn clone_of(&self, repo: &Repository) -> PathBuf {
        let path = repo.path().to_str().unwrap();
        let clone = self.scratch.path("clone");
        self.git(&["clone", "--quiet", path, "clone"]).ok();
        let url = format!("https://tangled.org/alice.test/{}", repo.name);
        let set = ["remote", "set-url", "origin", &url];
        self.git(&set).dir(&clone).ok();
        clone
    }

    /// Creates a branch in a clone with one commit, which adds a file, and checks it out.
    pub fn commit_in(&self, clone: &Path, branch: &str) {
        std::fs::write(clone.join(branch), "x\n").unwrap();
        let add = ["add", branch];
        let switch = [
            "switch",
            "--quiet",
            "--no-track",
            "-c",
            branch,
            "origin/main",
        ];
        let commit = ["commit", "--quiet", "-m", branch];
        for args in [&switch[..], &add, &commit] {
            self.git(args).dir(clone).ok();
        }
    }

    fn git(&self, args: &[&str]) -> Run {
        let who = [
            "-c",
            "user.name=Alice",
            "-c",
            "user.email=alice@example.org",
        ];
        let git = self.scratch.run(forge_testkit::git_program());
        git.args(who).args(args)
    }

    /// Returns the states in the status records of a pull request.
    pub fn statuses(&self, uri: &str) -> Vec<String> {
        let all = self
            .world
            .pds()
            .records(&self.alice.did, STATUS)
            .into_iter();
        let word = |value: &Value| {
            let token = value["status"].as_str().unwrap_or_default();
            token.rsplit('.').next().unwrap_or_default().to_owned()
        };
        all.filter(|(_, _, value)| value["pull"] == uri)
            .map(|(_, _, value)| word(&value))
            .collect()
    }

    /// Returns the texts of the comments on a pull request.
    pub fn comments(&self, uri: &str) -> Vec<String> {
        let all = self.world.pds();
        let all = all.records(&self.alice.did, COMMENT).into_iter();
        all.filter(|(_, _, value)| value["subject"]["uri"] == uri)
            .filter_map(|(_, _, value)| value["body"]["text"].as_str().map(str::to_owned))
            .collect()
    }

    pub fn set_trap(&self, trap: Option<&Trap>) {
        let world = &self.world;
        for host in [
            world.directory().host(),
            world.pds().host(),
            world.knot().host(),
            world.index().host(),
        ] {
            host.set_trap(trap.cloned());
        }
    }

    /// Starts a program, and kills it at request `at`, as [`Trap::around_writes`] counts. Returns
    /// true if the program sent that request.
    pub fn kill(&self, at: u64, after: bool, run: &Run) -> bool {
        let trap = Trap::around_writes(at, after);
        self.set_trap(Some(&trap));
        let mut command = run.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let over = |child: &mut Child| child.try_wait().unwrap().is_some();
        let sprung = trap.wait(|| over(&mut child), TRAP_TIMEOUT);
        // The process may have ended already.
        let _ = child.kill();
        child.wait().unwrap();
        self.set_trap(None);
        sprung
    }
}

/// A repository of Tangled 1.0, and a clone that pushes to the directory of the knot.
pub struct Tickets<'a> {
    hall: &'a Hall,
    pub repo: Repository,
    clone: PathBuf,
}

impl<'a> Tickets<'a> {
    pub fn in_hall(hall: &'a Hall) -> Self {
        let repo = hall.world.repository_1_0(&hall.alice, "new");
        let clone = hall.clone_of(&repo);
        let path = repo.path().to_str().unwrap();
        let set = ["remote", "set-url", "--push", "origin", path];
        hall.git(&set).dir(&clone).ok();
        Self { hall, repo, clone }
    }

    pub fn records(&self) -> TicketRecords<'_> {
        TicketRecords::of(self.hall.world.knot(), &self.repo)
    }

    /// Creates a branch. Its newest commit writes a file with the branch's name.
    pub fn branch(&self, branch: &str, text: &str) {
        self.repo
            .git
            .commit(branch, branch, &[(branch, Some(text))]);
    }

    /// Returns `pr create` for an existing branch.
    pub fn create(&self, branch: &str) -> Run {
        let named = ["-R", "tangled:alice.test/new", "-H", branch];
        let text = ["-t", branch, "-b", "Text."];
        self.hall
            .forge(&[&["pr", "create"][..], &named, &text].concat())
    }

    /// Opens a pull request from a new branch, and returns the at-uri.
    pub fn opened(&self, branch: &str) -> String {
        self.branch(branch, "x\n");
        self.create(branch).ok();
        self.records().titled(branch).remove(0).0
    }

    /// Returns the command that merges a pull request in the clone, which already has every object.
    pub fn merge(&self, uri: &str, branch: &str) -> Run {
        let path = self.repo.path().to_str().unwrap();
        let fetch = ["fetch", "--quiet", path, "main", branch];
        self.hall.git(&fetch).dir(&self.clone).ok();
        let merge = ["pr", "merge", uri, "--rebase", "--no-wait"];
        self.hall.forge(&merge).dir(&self.clone)
    }

    /// Opens a pull request and then moves its target branch, so that each merge rebases to a
    /// different commit. Returns the command that merges it.
    pub fn merge_of_new(&self, branch: &str) -> Run {
        let uri = self.opened(branch);
        let other = format!("{branch}.other");
        let file = [(other.as_str(), Some("x\n"))];
        self.repo.git.commit("main", &other, &file);
        self.merge(&uri, branch)
    }

    /// Repeats the merge of a killed process, and asserts that the target branch has the change
    /// once. Returns true if the killed process had merged but had not written the record.
    pub fn merge_again(&self, merge: &Run, branch: &str) -> bool {
        let state = || self.records().titled(branch)[0].1["state"].clone();
        let was_found = state() != "merged" && self.count_landed(branch) == 1;
        let again = merge.output().success();
        assert_eq!(self.count_landed(branch), 1, "{branch}: {again:?}");
        assert_eq!(self.repo.git.show("main", branch), "x\n");
        assert_eq!(state(), "merged", "{branch}: {again:?}");
        was_found
    }

    /// Returns how often the target branch contains the change of this branch.
    pub fn count_landed(&self, branch: &str) -> usize {
        let log = self.repo.git.log("main", "%s");
        log.lines().filter(|line| *line == branch).count()
    }

    /// Installs a hook that delays the first push until the test releases it or drops the hall.
    pub fn delay_first_push(&self, hook: &str) -> Held {
        let held = Held {
            there: self.hall.scratch.path("there"),
            go: self.hall.scratch.path("go"),
        };
        let (there, go) = (held.there.display(), held.go.display());
        let script = format!(
            "#!/bin/sh\ncat > /dev/null\n[ -e '{there}' ] && exit 0\n: > '{there}'\n\
             while [ -e '{there}' ] && [ ! -e '{go}' ]; do sleep 0.05; done\n"
        );
        let hooks = self.repo.path().join("hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        let path = hooks.join(hook);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        held
    }
}

/// A delayed push. It continues once it is released.
pub struct Held {
    there: PathBuf,
    go: PathBuf,
}

impl Held {
    /// Starts a program, and kills it once its push is delayed. The push continues without the
    /// program.
    pub fn kill(&self, run: &Run) {
        let mut command = run.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        wait_for("the push", || self.there.exists());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn release(&self) {
        std::fs::write(&self.go, "").unwrap();
    }
}
