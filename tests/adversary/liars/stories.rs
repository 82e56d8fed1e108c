//! Regression tests for failures that random cases have found.

use std::{collections::BTreeSet, time::Duration};

use forge_github_double::{ALL_SCOPES, Fault, GitHubDouble, Options, PullSeed, state::Permission};
use forge_tangled_world::World;
use forge_testkit::{CANARY, Identity, Scratch};
use serde_json::{Value, json};

use super::{
    child::{Client, Running, check_end},
    ground::Ground,
    lies::gzip,
};
use crate::{
    plant::Variant,
    trust::{Purpose, allows},
    world::LEGACY,
};

#[test]
fn read_from_slow_pds_fails_at_the_deadline() {
    let world = World::start().unwrap();
    let alice = world.pds().account("alice.test", "word");
    for (collection, group) in [
        ("sh.tangled.repo.pull", "pr"),
        ("sh.tangled.repo.issue", "issue"),
    ] {
        let (uri, _) = world.pds().add(&alice.did, collection, json!({}));
        world.pds().host().set_latency(Duration::from_secs(20));
        let scratch = Scratch::new();
        let run = scratch
            .forge(&scratch.path(""), &Identity::ADA)
            .env("TANGLED_PLC_URL", world.directory().host().url())
            .env("TANGLED_INDEX_URL", world.index().host().url())
            .env("FORGE_TIMEOUT", "1")
            .args([group, "view", &uri]);
        let result = scratch.path("probe.result");
        let ended = Running::start(&run, result, Duration::from_secs(12)).end();
        let ended = ended.unwrap_or_else(|why| panic!("{group}: {why}"));
        let said = ended.stderr_text();
        assert!(said.contains("took longer than 1 s"), "{said}");
        world.pds().host().set_latency(Duration::ZERO);
    }
}

/// Each round is a few kilobytes on the wire, and takes as much memory as a patch may take.
#[test]
fn many_large_rounds_need_little_memory() {
    const MIB: usize = 1 << 20;
    let world = World::start().unwrap();
    let alice = world.pds().account("alice.test", "word");
    let repo = world.repository(&alice, "widget");
    let line = format!("+{}\n", "x".repeat(MIB));
    for n in 0..8 {
        let patch = format!(
            "From {n:040} Mon Sep 17 00:00:00 2001\nFrom: Ada <ada@example.com>\n\
             Date: Fri, 20 Nov 2026 10:00:00 +0100\nSubject: [PATCH] Large\n\n---\n\n\
             diff --git a/large b/large\nnew file mode 100644\n--- /dev/null\n+++ b/large\n\
             @@ -0,0 +1,10 @@\n{}",
            line.repeat(10)
        );
        let packed = gzip(patch.as_bytes());
        let blob = world.pds().blob(&alice.did, "application/gzip", &packed);
        let time = "2026-11-01T00:00:00Z";
        let record = json!({
            "$type": "sh.tangled.repo.pull", "title": "Large", "createdAt": time,
            "target": { "repo": repo.did, "branch": "main" },
            "rounds": [{ "createdAt": time, "patchBlob": blob }],
        });
        world.pds().add(&alice.did, "sh.tangled.repo.pull", record);
    }
    let scratch = Scratch::new();
    let run = scratch
        .forge(&scratch.path(""), &Identity::ADA)
        .env("TANGLED_PLC_URL", world.directory().host().url())
        .env("TANGLED_INDEX_URL", world.index().host().url())
        .env("TANGLED_BACKLINKS_URL", world.index().backlinks().url())
        .env("TANGLED_RESOLVER_URL", world.pds().host().url())
        .env("FORGE_TIMEOUT", "100")
        .args(["pr", "list", "-R", "tangled:alice.test/widget"])
        .args(["--touches", "large", "--json", "title"]);
    let result = scratch.path("probe.result");
    let ended = Running::start(&run, result, Duration::from_secs(110)).end();
    let ended = ended.unwrap();
    check_end(&ended).unwrap();
    let listed: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let count = listed.as_array().map(Vec::len);
    assert_eq!(count, Some(8), "{}", ended.stderr_text());
}

/// GitHub's diff has three lines of context. For more, git fetches the head and makes the diff.
#[test]
fn pr_context_starts_no_program_of_the_clone() {
    let double = GitHubDouble::start(Options::default()).unwrap();
    let token = format!("gho_{CANARY}{CANARY}{CANARY}");
    {
        let mut seed = double.seed();
        seed.org("octo", &[("ada", Permission::Admin)]);
        seed.token(&token, "ada", ALL_SCOPES);
        seed.repo_with_readme("octo/tools");
        let pull = PullSeed {
            author: "grace",
            title: "Some work",
            head: "work",
            ..PullSeed::default()
        };
        seed.open_pull("octo/tools", &pull);
    }
    for variant in [Variant::Direct, Variant::Included] {
        let mut ground = Ground::new(variant, "git@github.localhost:octo/tools.git");
        ground.ran();
        let run = double.env(&token).into_iter();
        let run = run.fold(ground.forge(), |run, (key, value)| run.env(key, value));
        let args = ["pr", "context", "1", "-R", "octo/tools", "-U", "9"];
        let out = run
            .env("FORGE_TIMEOUT", "60")
            .args(args)
            .args(["--json", "diff,warnings"])
            .output()
            .success();
        let ran = ground.ran();
        let against = ran.iter().find(|seen| !allows(Purpose::Guarded, seen));
        assert_eq!(against, None, "{variant:?}");
        let said = out.stdout_text();
        assert!(said.contains("core.sshcommand"), "{variant:?}: {said}");
    }
}

/// GitHub limits a title to 256 characters, but a lying host can send any length on every page.
#[test]
fn long_titles_are_cut_below_memory_limit() {
    let double = GitHubDouble::start(Options::default()).unwrap();
    let token = format!("gho_{CANARY}{CANARY}{CANARY}");
    {
        let mut seed = double.seed();
        seed.org("octo", &[("ada", Permission::Admin)]);
        seed.token(&token, "ada", ALL_SCOPES);
        seed.repo_with_readme("octo/tools");
        let title = "x".repeat(100_000);
        for _ in 0..1_500 {
            seed.open_issue("octo/tools", "grace", &title, "");
        }
    }
    let scratch = Scratch::new();
    let run = scratch.forge(&scratch.path(""), &Identity::ADA);
    let own = double.env(&token).into_iter();
    let run = own.fold(run, |run, (key, value)| run.env(key, value));
    let run = run.args(["issue", "list", "-R", "octo/tools", "-L", "1500"]);
    let result = scratch.path("probe.result");
    let ended = Running::start(&run, result, Duration::from_secs(100)).end();
    let ended = ended.unwrap();
    assert_eq!(check_end(&ended), Ok(()));
    let said = ended.stderr_text();
    assert!(said.contains("more than 32 MiB in all"), "{said}");
    // 100 rows of this length exceed the size limit of a response, so each page has 50 rows.
    let rows = ended.stdout_text().lines().count();
    assert!(ended.code == 0 && rows.is_multiple_of(50), "{rows}: {said}");
    assert!((100..=200).contains(&rows), "{rows}: {said}");
}

/// GitHub limits a text to 65,536 characters. These texts grow when `forge` cleans them, writes
/// them as JSON, or parses them as Markdown.
#[test]
fn single_long_text_needs_little_memory() {
    let double = GitHubDouble::start(Options::default()).unwrap();
    let token = format!("gho_{CANARY}{CANARY}{CANARY}");
    let mut seed = double.seed();
    seed.org("octo", &[("ada", Permission::Admin)]);
    seed.token(&token, "ada", ALL_SCOPES);
    seed.repo_with_readme("octo/tools");
    let mut issue = |text: &str, mebibytes: usize| {
        let body = text.repeat((mebibytes << 20) / text.len());
        seed.open_issue("octo/tools", "grace", "Long", &body)
    };
    let (controls, marks, longer) = (issue("\u{9b}", 7), issue("*a", 7), issue("x", 29));
    drop(seed);
    let scratch = Scratch::new();
    for (number, more, tty, code) in [
        (controls, &[][..], "", 0),
        (marks, &["--json", "body"][..], "", 0),
        (marks, &[][..], "1", 0),
        (longer, &[][..], "", 1),
    ] {
        let number = number.to_string();
        let run = scratch.forge(&scratch.path(""), &Identity::ADA);
        let own = double.env(&token).into_iter();
        let run = own.fold(run, |run, (key, value)| run.env(key, value));
        let run = run.env("FORGE_FORCE_TTY", tty).env("FORGE_PAGER", "cat");
        let run = run.args(["issue", "view", &number, "-R", "octo/tools"]);
        let result = scratch.path("probe.result");
        let running = Running::start(&run.args(more), result, Duration::from_secs(100));
        let ended = running.end().unwrap();
        assert_eq!(check_end(&ended), Ok(()), "{number} {more:?}");
        let said = ended.stderr_text();
        assert_eq!(ended.code, code, "{number} {more:?}: {said}");
        let is_refused = said.contains("sent more than 8 MiB in one answer");
        assert_eq!(is_refused, code == 1, "{number} {more:?}: {said}");
    }
}

/// Each call keeps a long text in memory while the host delays the history. Calls above the memory
/// limit start again, one after the other.
#[test]
fn concurrent_calls_with_long_texts_need_little_memory() {
    const CALLS: usize = 8;
    const ANSWER: Duration = Duration::from_secs(100);
    let double = GitHubDouble::start(Options::default()).unwrap();
    let token = format!("gho_{CANARY}{CANARY}{CANARY}");
    {
        let mut seed = double.seed();
        seed.org("octo", &[("ada", Permission::Admin)]);
        seed.token(&token, "ada", ALL_SCOPES);
        seed.repo_with_readme("octo/tools");
        let body = "x".repeat(7 << 20);
        seed.open_issue("octo/tools", "grace", "Long", &body);
    }
    let waits = Fault::delayed(Duration::from_secs(3)).on_operation("IssueTimeline");
    double.fault(waits.always());
    let scratch = Scratch::new();
    let run = scratch.forge(&scratch.path(""), &Identity::ADA);
    let own = double.env(&token).into_iter();
    let run = own.fold(run, |run, (key, value)| run.env(key, value));
    let run = run.args(["mcp", "--toolsets", "issues"]);
    let result = scratch.path("probe.result");
    let mut client = Client::new(Running::start(&run, result, 2 * ANSWER));
    let hello = json!({
        "protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": { "name": "tests", "version": "1" },
    });
    let id = client.send("initialize", &hello);
    assert!(client.answer(id, ANSWER).unwrap().is_some());
    client
        .running
        .write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let arguments = json!({ "repo": "octo/tools", "issue": "1", "include": ["history"] });
    let params = json!({ "name": "issue_view", "arguments": arguments });
    let mut open = BTreeSet::new();
    for _ in 0..CALLS {
        open.insert(client.send("tools/call", &params));
    }
    while !open.is_empty() {
        let line = client.running.line(ANSWER).unwrap();
        let message: Value = serde_json::from_slice(&line).unwrap();
        if let Some(id) = message["id"].as_u64() {
            let result = message["result"].to_string();
            assert!(!result.contains("held in memory by all calls"), "{result}");
            assert!(message["result"]["isError"] != true, "{result}");
            assert!(message["error"].is_null() && open.remove(&id));
        }
    }
    let ended = client.running.end().unwrap();
    assert_eq!(check_end(&ended), Ok(()));
    let requests = double.requests();
    let views = requests.iter().map(|it| it.operation.as_deref());
    let views = views.filter(|it| *it == Some("IssueView")).count();
    assert!((CALLS + 1..=2 * CALLS).contains(&views), "{views} views");
}
