use std::{path::PathBuf, time::Duration};

use forge_tangled_world::{
    Account, Fault, PdsDouble, PdsOptions, Repository, SpindleDouble, World,
};
use forge_testkit::{Identity, Output, Run, Scratch, git_program};
use serde_json::{Value, json};

/// App password of every account.
pub const PASSWORD: &str = "correct0canary0horse";
pub const PULL: &str = "sh.tangled.repo.pull";
pub const STATUS: &str = "sh.tangled.repo.pull.status";
/// The repository's name, as users write it.
pub const WIDGET: &str = "tangled:alice.test/widget";

/// A world in which Bob may push to a repository of Alice's, and the home directory of a user.
pub struct Tangled {
    pub world: World,
    pub alice: Account,
    pub bob: Account,
    pub repo: Repository,
    pub scratch: Scratch,
}

impl Tangled {
    pub fn new() -> Self {
        let world = World::start().unwrap();
        let alice = world.pds().account("alice.test", PASSWORD);
        let bob = world.pds().account("bob.test", PASSWORD);
        let repo = world.repository(&alice, "widget");
        world.knot().add_collaborator(&repo, &bob.did);
        Self {
            world,
            alice,
            bob,
            repo,
            scratch: Scratch::new(),
        }
    }

    /// Returns `forge` with an account's login, run in an empty directory.
    pub fn forge(&self, who: &Account, args: &[&str]) -> Run {
        self.forge_in(self.scratch.path(""), who, args)
    }

    /// Returns `forge` with an account's login, run in `dir`.
    pub fn forge_in(&self, dir: PathBuf, who: &Account, args: &[&str]) -> Run {
        self.services()
            .into_iter()
            .fold(
                self.scratch.forge(&dir, &Identity::ADA),
                |run, (key, value)| run.env(key, value),
            )
            .env("TANGLED_HANDLE", &who.handle)
            .env("TANGLED_PASSWORD", PASSWORD)
            .args(args)
    }

    /// Returns the name and the URL of every service.
    pub fn services(&self) -> [(&'static str, String); 5] {
        let index = self.world.index();
        [
            ("TANGLED_INDEX_URL", index.host().url()),
            ("TANGLED_WEB_URL", index.web().url()),
            ("TANGLED_BACKLINKS_URL", index.backlinks().url()),
            ("TANGLED_PLC_URL", self.world.directory().host().url()),
            ("TANGLED_RESOLVER_URL", self.world.pds().host().url()),
        ]
    }

    /// Creates a branch with one commit, which adds a file.
    pub fn branch(&self, branch: &str) {
        let file = format!("{branch}.txt");
        let message = format!("Add {branch}");
        self.repo
            .git
            .commit(branch, &message, &[(&file, Some("one\n"))]);
    }

    /// Returns `pr create` for a new branch of Alice's, with further arguments.
    pub fn create(&self, branch: &str, more: &[&str]) -> Run {
        self.branch(branch);
        let args = [
            "pr", "create", "-R", WIDGET, "-H", branch, "-t", "T", "-b", "B",
        ];
        self.forge(&self.alice, &[&args, more].concat())
    }

    /// Opens a pull request of Alice's, and returns its at-uri.
    pub fn open(&self, branch: &str) -> String {
        self.create(branch, &[]).ok();
        let pulls = self.world.pds().records(&self.alice.did, PULL);
        let found = pulls
            .iter()
            .find(|(_, _, value)| value["source"]["branch"] == branch);
        found.unwrap().0.clone()
    }

    /// Writes a pull request for Alice as another program would, after `change` has edited the
    /// record. `patch` is the content of its round. Returns the at-uri.
    pub fn foreign(&self, patch: &[u8], change: impl Fn(&mut Value)) -> String {
        let pds = self.world.pds();
        let blob = pds.blob(&self.alice.did, "application/gzip", patch);
        let mut record = json!({
            "$type": PULL,
            "title": "Of another program",
            "target": { "repo": self.repo.did, "branch": "main" },
            "rounds": [{ "createdAt": "2026-11-01T00:00:00Z", "patchBlob": blob }],
            "createdAt": "2026-11-01T00:00:00Z",
        });
        change(&mut record);
        pds.add(&self.alice.did, PULL, record).0
    }

    /// Opens a pull request of an account that may not push. Its record names `branch` of the
    /// repository as its head, and its round adds `evil.txt`. Returns the at-uri.
    pub fn claim_of_stranger(&self, branch: &str) -> String {
        let pds = self.world.pds();
        let carol = pds.account("carol.test", PASSWORD);
        let patch = "diff --git a/evil.txt b/evil.txt\nnew file mode 100644\n\
            index 0000000..53c74cd\n--- /dev/null\n+++ b/evil.txt\n@@ -0,0 +1 @@\n+evil\n";
        let create = ["pr", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
        let create = [&create[..], &["--patch", "-"]].concat();
        let uri = self.forge(&carol, &create).stdin(patch).text();
        let uri = uri.trim();
        let (_, mut record) = pds.record(uri).unwrap();
        record["source"] = json!({ "branch": branch, "repo": self.repo.did });
        let rkey = uri.rsplit('/').next().unwrap();
        pds.put(&carol.did, PULL, rkey, record);
        uri.to_owned()
    }

    /// Enables verdicts for all accounts.
    pub fn enable_verdicts(&self) {
        let key = "hosts.tangled.org.verdict_comments";
        self.forge(&self.alice, &["config", "set", key, "true"])
            .ok();
    }

    /// Makes the index send the same page of other comments again and again, so that it comes to no
    /// verdict.
    pub fn flood_comments(&self) {
        let filler = json!({
            "uri": "at://did:plc:x/sh.tangled.feed.comment/3maaaaaaaaaa2", "cid": "bafyreib",
            "value": { "body": { "text": "x" } },
        });
        let page = json!({ "items": [filler], "cursor": "again" }).to_string();
        let page = Fault::answer(200, &[("content-type", "application/json")], page);
        let index = self.world.index();
        index
            .host()
            .fault(page.on("sh.tangled.feed.listComments").always());
    }

    /// Adds a comment of Bob's to a pull request, and one of an account on another server, which
    /// answers no request for a record. Comments are read from the servers of their authors, because
    /// the index lists none. Returns the silent server.
    pub fn silent_commenter(&self, pull: &str) -> PdsDouble {
        let (cid, _) = self.world.pds().record(pull).unwrap();
        let comment = |text: &str| {
            json!({
                "subject": { "uri": pull, "cid": cid },
                "body": { "text": text }, "createdAt": "2026-11-01T00:00:00Z",
            })
        };
        let collection = "sh.tangled.feed.comment";
        let fine = comment("Fine.");
        self.world.pds().add(&self.bob.did, collection, fine);
        let pds = self.world.another_pds(PdsOptions::default()).unwrap();
        let carol = pds.account("carol.test", PASSWORD);
        pds.add(&carol.did, collection, comment("Hm."));
        let silence = Fault::delayed(Duration::from_secs(600)).always();
        pds.host().fault(silence.on("com.atproto.repo.getRecord"));
        let down = Fault::gateway(503).on("sh.tangled.feed.listComments");
        self.world.index().host().fault(down.always());
        pds
    }

    /// Clones the repository with `branch` checked out, and with the address on tangled as
    /// `origin`. Returns the directory.
    pub fn clone_on(&self, branch: &str) -> PathBuf {
        let path = self.repo.path().to_str().unwrap();
        let git = |args: &[&str]| self.scratch.run(git_program()).args(args);
        git(&["clone", "--quiet", "--branch", branch, path, "clone"]).ok();
        let clone = self.scratch.path("clone");
        let url = "https://tangled.org/alice.test/widget";
        git(&["remote", "set-url", "origin", url]).dir(&clone).ok();
        clone
    }

    /// Configures a spindle for the repository, and returns the spindle, which has run no pipeline
    /// yet.
    pub fn spindle(&self) -> SpindleDouble {
        let spindle = SpindleDouble::start().unwrap();
        let pds = self.world.pds();
        let (_, mut record) = pds.record(&self.repo.uri).unwrap();
        record["spindle"] = json!(spindle.host().authority());
        pds.put(&self.alice.did, "sh.tangled.repo", "widget", record);
        spindle
    }

    /// Replaces text that differs between runs by placeholders.
    pub fn stable(&self, text: &str) -> String {
        let index = self.world.index();
        let repo = self.repo.did.as_str();
        let mut text = text.to_owned();
        for (what, word) in [
            (repo, "[widget]"),
            (&self.alice.did, "[alice]"),
            (&self.bob.did, "[bob]"),
            (&index.host().authority(), "[index]"),
            (&self.world.pds().host().authority(), "[pds]"),
            (&self.world.knot().host().authority(), "[knot]"),
        ] {
            text = text.replace(what, word);
        }
        let mut out = String::new();
        let mut token = String::new();
        for c in text.chars().chain(['\0']) {
            if c.is_ascii_alphanumeric() {
                token.push(c);
                continue;
            }
            out.push_str(placeholder_of(&token));
            token.clear();
            if c != '\0' {
                out.push(c);
            }
        }
        without_durations(&out)
    }

    /// Returns exit code, stdout and stderr as the text of a snapshot.
    pub fn transcript(&self, output: &Output) -> String {
        let mut text = format!("exit: {}\n", output.code.unwrap_or(-1));
        for (stream, said) in [
            ("stdout", output.stdout_text()),
            ("stderr", output.stderr_text()),
        ] {
            for line in said.lines() {
                text.push_str(&format!("{stream}: {line}\n"));
            }
        }
        self.stable(&text)
    }
}

/// Runs a command, and asserts its exit code and a part of stderr.
#[track_caller]
pub fn says(run: &Run, code: i32, part: &str) {
    let said = run.output().exits(code).stderr_text();
    assert!(said.contains(part), "{said}");
}

/// Returns the placeholder for a token, because record keys and CIDs differ between runs.
fn placeholder_of(token: &str) -> &str {
    let key = token.len() == 13 && token.starts_with('3');
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if key && token.chars().all(plain) {
        "[key]"
    } else if token.starts_with("bafy") || token.starts_with("bafk") {
        "[cid]"
    } else {
        token
    }
}

/// Removes the durations from a text, such as the number in `after 0.2 s`.
fn without_durations(text: &str) -> String {
    let mut parts = text.split("after ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part
            .bytes()
            .take_while(|b| b.is_ascii_digit() || *b == b'.');
        let count = digits.count();
        let timed = count > 0 && part[count..].starts_with(" s");
        out.push_str("after ");
        out.push_str(if timed { "[time]" } else { &part[..count] });
        out.push_str(&part[count..]);
    }
    out
}
