//! Tests two accounts on a real PDS: each account sees what the other writes with `forge`.

use std::{
    collections::BTreeMap,
    process::Stdio,
    time::{Duration, Instant},
};

use forge_tangled_world::{Account, Caller, RealWorld, Repository, World};
use forge_testkit::{Output, Run, Scratch, forge_binary};
use serde_json::{Value, json};

const PASSWORD: &str = "0canary0-of-somebody";

/// A world with Alice's repository, in which both accounts run `forge`.
pub struct Stage {
    pub world: RealWorld,
    scratch: Scratch,
    pub alice: Account,
    pub bob: Account,
    pub repo: Repository,
}

impl Stage {
    pub fn new() -> Option<Self> {
        let world = RealWorld::start(&RealWorld::installed()?).unwrap();
        let alice = world.account("alice.test", PASSWORD);
        let bob = world.account("bob.test", PASSWORD);
        let repo = world.repository(&alice, "widget");
        let scratch = Scratch::new();
        let (index, pds) = (world.index().host().url(), world.pds_url());
        let plc = world.directory().host().url();
        scratch.write(
            "forge/config.toml",
            format!(
                "[hosts.\"tangled.org\"]\napi_url = \"{index}\"\npds_url = \"{pds}\"\nplc_url = \"{plc}\"\n"
            ),
        );
        Some(Self {
            world,
            scratch,
            alice,
            bob,
            repo,
        })
    }

    pub fn command(&self, who: &Account, args: &[&str]) -> Run {
        self.command_alone(who, args)
            .args(["-R", "tangled:alice.test/widget"])
    }

    /// Returns `forge` with an account's login, without `-R`.
    pub fn command_alone(&self, who: &Account, args: &[&str]) -> Run {
        self.scratch
            .run(forge_binary())
            .env("FORGE_CONFIG_DIR", self.scratch.path("forge"))
            .env("TANGLED_HANDLE", &who.handle)
            .env("TANGLED_PASSWORD", &who.password)
            .args(args)
    }

    pub fn forge(&self, who: &Account, args: &[&str]) -> Output {
        self.command(who, args).output().success()
    }

    fn sees(&self, who: &Account, pull: &str, field: &str) -> Value {
        let args = ["pr", "view", pull, "--json", field];
        self.forge(who, &args).json()[field].clone()
    }

    /// Returns at-uri, CID and value of every record that an account has.
    fn records(&self, who: &Account) -> Vec<(String, String, Value)> {
        let pds = Caller::new(&self.world.pds_url());
        let described = pds
            .get("com.atproto.repo.describeRepo", &[("repo", &who.did)])
            .ok();
        let mut found = Vec::new();
        for collection in described["collections"].as_array().unwrap() {
            let params = [
                ("repo", who.did.as_str()),
                ("collection", collection.as_str().unwrap()),
            ];
            let listed = pds.get("com.atproto.repo.listRecords", &params).ok();
            for record in listed["records"].as_array().unwrap() {
                let text = |name: &str| record[name].as_str().unwrap().to_owned();
                found.push((text("uri"), text("cid"), record["value"].clone()));
            }
        }
        found
    }
}

fn texts(comments: &Value) -> Vec<(&str, &str)> {
    let all = comments.as_array().unwrap().iter();
    all.map(|it| {
        (
            it["author"]["login"].as_str().unwrap(),
            it["body"].as_str().unwrap(),
        )
    })
    .collect()
}

#[test]
fn accounts_share_comments_labels_and_states() {
    let Some(stage) = Stage::new() else {
        return;
    };
    let (alice, bob) = (&stage.alice, &stage.bob);
    stage
        .repo
        .git
        .commit("topic", "Add one", &[("one.txt", Some("1\n"))]);
    let opened = stage.forge(
        bob,
        &["pr", "create", "-H", "topic", "-t", "One", "-b", "Why."],
    );
    let text = opened.stdout_text();
    let pull = text.trim();
    assert!(
        pull.starts_with(&format!("at://{}/sh.tangled.repo.pull/", bob.did)),
        "{pull}"
    );

    stage.forge(alice, &["pr", "comment", pull, "-b", "From the owner."]);
    stage.forge(bob, &["pr", "comment", pull, "-b", "From the author."]);
    for who in [alice, bob] {
        assert_eq!(
            texts(&stage.sees(who, pull, "comments")),
            [
                ("alice.test", "From the owner."),
                ("bob.test", "From the author.")
            ]
        );
    }

    stage.forge(alice, &["label", "create", "bug"]);
    stage.forge(alice, &["pr", "edit", pull, "--add-label", "bug"]);
    assert_eq!(stage.sees(bob, pull, "labels")[0]["name"], "bug");
    stage.forge(alice, &["pr", "edit", pull, "--remove-label", "bug"]);
    assert_eq!(stage.sees(bob, pull, "labels"), json!([]));

    stage.forge(bob, &["pr", "close", pull]);
    assert_eq!(stage.sees(alice, pull, "state"), "CLOSED");
    stage.forge(alice, &["pr", "reopen", pull]);
    assert_eq!(stage.sees(bob, pull, "state"), "OPEN");
    stage.forge(alice, &["pr", "merge", pull, "--rebase"]);
    assert_eq!(stage.sees(bob, pull, "state"), "MERGED");
    assert_eq!(stage.repo.git.show("main", "one.txt"), "1\n");
    let history = stage
        .forge(bob, &["pr", "view", pull, "--history"])
        .stdout_text();
    let rows: Vec<Vec<&str>> = history
        .lines()
        .map(|line| line.split('\t').skip(1).take(3).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["opened", "bob.test", "author"],
            ["closed", "bob.test", "author"],
            ["reopened", "alice.test", "owner"],
            ["merged", "alice.test", "owner"],
        ]
    );
    check_records(&stage);
}

/// Checks the records of both accounts: each is valid, the index has the same version, and our code
/// computes the same CID.
fn check_records(stage: &Stage) {
    let light = World::start().unwrap();
    let mut written: BTreeMap<String, usize> = BTreeMap::new();
    for who in [&stage.alice, &stage.bob] {
        let twin = light.pds().account(&who.handle, PASSWORD);
        for (uri, cid, record) in stage.records(who) {
            let mut parts = uri.rsplit('/');
            let (rkey, collection) = (parts.next().unwrap(), parts.next().unwrap());
            assert_eq!(
                forge_tangled::lexicon::check(collection, &record),
                Ok(()),
                "{uri}"
            );
            *written.entry(collection.to_owned()).or_default() += 1;
            assert_eq!(indexed(&stage.world, &uri), Some(cid.clone()), "{uri}");
            // The light PDS has no copy of the blobs that only the real PDS stores.
            if collection != "sh.tangled.repo.pull" {
                let (_, by_us) = light.pds().put(&twin.did, collection, rkey, record);
                assert_eq!(by_us, cid, "{uri}");
            }
        }
    }
    let wanted = [
        ("sh.tangled.feed.comment", 2),
        ("sh.tangled.label.definition", 1),
        ("sh.tangled.label.op", 2),
        ("sh.tangled.repo", 1),
        ("sh.tangled.repo.pull", 1),
        ("sh.tangled.repo.pull.status", 4),
    ];
    let wanted = wanted.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(written, BTreeMap::from(wanted));
    assert_eq!(stage.world.index().dropped(), []);
}

/// Waits until the index has a record, and returns the CID that the index reports.
fn indexed(world: &RealWorld, uri: &str) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(20);
    while world.index().knows(uri).is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    world.index().knows(uri)
}

/// Delays between the start of a command and the restart of the server, in milliseconds.
const DELAYS: [u64; 6] = [0, 50, 100, 200, 400, 800];

impl Stage {
    /// Opens Bob's pull request from a new branch that adds a file, and returns its at-uri.
    pub fn opened(&self, branch: &str) -> String {
        let git = &self.repo.git;
        git.commit(branch, branch, &[(branch, Some("1\n"))]);
        let args = ["pr", "create", "-H", branch, "-t", branch, "-b", "Why."];
        let opened = self.forge(&self.bob, &args);
        opened.stdout_text().trim().to_owned()
    }

    /// Starts a command, and restarts the server `delay` milliseconds later. Waits until the index
    /// has every record of Alice and Bob. Returns true if the command succeeded.
    fn run_with_restart(&self, command: &Run, delay: u64) -> bool {
        let mut command = command.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        self.world.restart_pds(Duration::from_millis(100)).unwrap();
        let status = running.wait().unwrap();
        self.wait_until_indexed(&self.alice);
        self.wait_until_indexed(&self.bob);
        status.success()
    }

    /// Waits until the index has the newest version of every record of an account.
    pub fn wait_until_indexed(&self, who: &Account) {
        for (uri, cid, _) in self.records(who) {
            let end = Instant::now() + Duration::from_secs(20);
            while self.world.index().knows(&uri).as_ref() != Some(&cid) {
                assert!(Instant::now() < end, "the index does not hear of {uri}");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Returns how many of an account's records satisfy `is`.
    fn count(&self, who: &Account, is: impl Fn(&Value) -> bool) -> usize {
        let all = self.records(who).into_iter();
        all.filter(|(_, _, value)| is(value)).count()
    }
}

/// Repeating the command must leave one pull request, whenever the server restarts.
#[test]
fn server_restart_during_create_leaves_one_pull_request() {
    let Some(stage) = Stage::new() else {
        return;
    };
    let bob = &stage.bob;
    for (number, delay) in DELAYS.into_iter().enumerate() {
        let branch = format!("b{number}");
        let git = &stage.repo.git;
        git.commit(&branch, &branch, &[(&branch, Some("1\n"))]);
        let args = ["pr", "create", "-H", &branch, "-t", &branch, "-b", "Why."];
        let create = stage.command(bob, &[&args[..], &["--no-wait"]].concat());
        let first = stage.run_with_restart(&create, delay);
        let opened = || stage.count(bob, |value| value["source"]["branch"] == branch.as_str());
        let before = opened();
        assert!(!first || before == 1, "{delay} ms: {before}");
        let again = create.output();
        let now = opened();
        assert_eq!(now, 1, "{delay} ms, {before} before: {again:?}");
        assert_eq!(again.code == Some(0), before == 0, "{delay} ms: {again:?}");
    }
}

#[test]
fn server_restart_during_resubmit_leaves_a_single_round() {
    let Some(stage) = Stage::new() else {
        return;
    };
    for (number, delay) in DELAYS.into_iter().enumerate() {
        let branch = format!("b{number}");
        let pull = stage.opened(&branch);
        let git = &stage.repo.git;
        git.commit(&branch, "More", &[(&branch, Some("1\n2\n"))]);
        let args = ["pr", "resubmit", &pull, "-c", "With more.", "--no-wait"];
        let resubmit = stage.command(&stage.bob, &args);
        let first = stage.run_with_restart(&resubmit, delay);
        let there = || {
            let (_, record) = stage.world.record(&pull);
            let said = stage.count(&stage.bob, |value| {
                value["subject"]["uri"] == pull.as_str() && value["body"]["text"] == "With more."
            });
            (record["rounds"].as_array().unwrap().len(), said)
        };
        let before = there();
        assert!(!first || before.0 == 2, "{delay} ms: {before:?}");
        let again = resubmit.output().success();
        assert_eq!(there(), (2, 1), "{delay} ms, {before:?} before: {again:?}");
    }
}

#[test]
fn server_restart_during_comment_leaves_a_single_comment() {
    let Some(stage) = Stage::new() else {
        return;
    };
    let pull = stage.opened("topic");
    for delay in DELAYS {
        // Each run uses a new account, which has no earlier comments.
        let who = stage
            .world
            .account(&format!("somebody{delay}.test"), PASSWORD);
        let args = ["pr", "comment", &pull, "-b", "Well.", "--no-wait"];
        let looks = ["--edit-last", "--create-if-none"];
        let comment = stage.command(&who, &[&args[..], &looks].concat());
        let first = stage.run_with_restart(&comment, delay);
        stage.wait_until_indexed(&who);
        let said = || stage.count(&who, |value| value["body"]["text"] == "Well.");
        let before = said();
        assert!(!first || before == 1, "{delay} ms: {before}");
        let again = comment.output().success();
        assert_eq!(said(), 1, "{delay} ms, {before} before: {again:?}");
    }
}

#[test]
fn server_restart_during_merge_merges_once() {
    let Some(stage) = Stage::new() else {
        return;
    };
    let (alice, git) = (&stage.alice, &stage.repo.git);
    // All lines are equal, so merging the same patch twice would succeed and add a second line.
    let lines = |n: usize| "x\n".repeat(n);
    git.commit("main", "Ten lines", &[("same", Some(&lines(10)))]);
    for (number, delay) in DELAYS.into_iter().enumerate() {
        let branch = format!("b{number}");
        let length = 11 + number;
        git.commit(&branch, &branch, &[("same", Some(&lines(length)))]);
        let args = ["pr", "create", "-H", &branch, "-t", &branch, "-b", "Why."];
        let opened = stage.forge(&stage.bob, &args).stdout_text();
        let pull = opened.trim();
        let merge = stage.command(alice, &["pr", "merge", pull, "--rebase", "--no-wait"]);
        let first = stage.run_with_restart(&merge, delay);
        let there = || {
            let log = git.log("main", "%s");
            let landed = log.lines().filter(|line| *line == branch).count();
            let merged = "sh.tangled.repo.pull.status.merged";
            let said = stage.count(alice, |value| {
                value["pull"] == pull && value["status"] == merged
            });
            (landed, said)
        };
        let before = there();
        assert!(!first || before.0 == 1, "{delay} ms: {before:?}");
        let again = merge.output().success();
        assert_eq!(there(), (1, 1), "{delay} ms, {before:?} before: {again:?}");
        assert_eq!(git.show("main", "same"), lines(length), "{delay} ms");
    }
}
