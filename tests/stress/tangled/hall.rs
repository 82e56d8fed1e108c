//! A world of tangled's, and the program in it.

use std::{
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use forge_testkit::{
    CANARY, Identity, Run, Scratch,
    tangled::{Account, Host, Repository, Trap, World},
};
use serde_json::Value;

pub const PULL: &str = "sh.tangled.repo.pull";
pub const STATUS: &str = "sh.tangled.repo.pull.status";

const COMMENT: &str = "sh.tangled.feed.comment";

/// A repository of Alice's, a home with the addresses of the world, and her password.
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

    /// `forge` as Alice.
    pub fn forge(&self, args: &[&str]) -> Run {
        self.scratch
            .forge(&self.scratch.path(""), &Identity::ADA)
            .env("TANGLED_HANDLE", &self.alice.handle)
            .env("TANGLED_PASSWORD", &self.alice.password)
            .args(args)
    }

    /// A branch whose one commit writes a file.
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

    /// The at-uris of the pull requests of a branch.
    pub fn pulls(&self, branch: &str) -> Vec<String> {
        let all = self.world.pds().records(&self.alice.did, PULL).into_iter();
        all.filter(|(_, _, value)| value["source"]["branch"] == branch)
            .map(|(uri, _, _)| uri)
            .collect()
    }

    /// The at-uris of the pull requests of a title.
    pub fn titled(&self, title: &str) -> Vec<String> {
        let all = self.world.pds().records(&self.alice.did, PULL).into_iter();
        all.filter(|(_, _, value)| value["title"] == title)
            .map(|(uri, _, _)| uri)
            .collect()
    }

    /// A clone of the repository as it is now, whose remote is tangled's address of it.
    pub fn clone_of_it(&self) -> PathBuf {
        let path = self.repo.path().to_str().unwrap();
        let clone = self.scratch.path("clone");
        self.git(&["clone", "--quiet", path, "clone"]).ok();
        let url = "https://tangled.org/alice.test/widget";
        let set = ["remote", "set-url", "origin", url];
        self.git(&set).dir(&clone).ok();
        clone
    }

    /// A branch of a clone whose one commit adds a file, and which is where the clone is then.
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

    /// The words of the status records about a pull request.
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

    /// The texts of the comments on a pull request.
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

    /// Starts a program and kills it at its request of this number, counted from 1; whether it
    /// came there.
    pub fn kill(&self, at: u64, after: bool, run: &Run) -> bool {
        let trap = Trap::new(at, after);
        self.set_trap(Some(&trap));
        let mut command = run.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let over = |child: &mut Child| child.try_wait().unwrap().is_some();
        let sprung = trap.wait(|| over(&mut child), std::time::Duration::from_secs(60));
        // One that has ended needs no killing.
        let _ = child.kill();
        child.wait().unwrap();
        self.set_trap(None);
        sprung
    }
}
