//! Tests `forge pr context` and `pr_context` for a pull request that has its records on a real PDS.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use forge_tangled_world::{Host, Moods, Recorded};
use serde_json::{Value, json};

use crate::{context_facts::facts, two_accounts::Stage};

impl Stage {
    /// Returns the bundle that `forge pr context` prints for a pull request.
    fn bundle(&self, pull: &str) -> Value {
        self.reset_record();
        let args = ["pr", "context", pull, "--json", "--events", "jsonl"];
        let out = self.forge(&self.alice, &args);
        let events = out.stderr_text();
        let requests = events.matches(":tangled_fetch\"").count();
        self.check_cost("command line", requests, out.stdout.len());
        out.json()
    }

    /// Returns the hosts other than the PDS.
    fn hosts(&self) -> [&Host; 4] {
        let index = self.world.index();
        let directory = self.world.directory();
        [
            directory.host(),
            self.world.knot().host(),
            index.host(),
            index.backlinks(),
        ]
    }

    fn reset_record(&self) {
        self.hosts().iter().for_each(|host| host.reset_record());
    }

    /// Checks how many requests a bundle needs, and how many bytes the hosts other than the PDS
    /// send.
    fn check_cost(&self, face: &str, requests: usize, printed: usize) {
        let hosts = self.hosts();
        let of_hosts = hosts.iter().flat_map(|host| host.requests());
        let received: usize = of_hosts.map(|request| request.response_bytes).sum();
        let chain = Recorded::longest_chain(&hosts);
        println!(
            "{face}: {requests} requests, {chain} in a row beside the PDS, {received} bytes beside \
             the PDS, {printed} printed"
        );
        assert!((5..=30).contains(&requests), "{face}: {requests} requests");
        assert!(received < 64_000 && printed < 16_000, "{face}: {received}");
    }

    /// Returns the bundle that the MCP tool `pr_context` returns for a pull request.
    fn bundle_of_server(&self, pull: &str) -> Value {
        self.reset_record();
        let mut command = self.command_alone(&self.alice, &["mcp"]).command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let arguments = json!({ "repo": "tangled:alice.test/widget", "number": pull });
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
            "progressToken": "cost",
        });
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "pr_context", "arguments": arguments, "_meta": meta },
        });
        let mut input = server.stdin.take().unwrap();
        writeln!(input, "{call}").unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut messages = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let mut requests = 0;
        let answer = loop {
            let message = messages.next().unwrap();
            if message["id"] == 1 {
                break message;
            }
            let said = message["params"]["message"].as_str().unwrap_or_default();
            requests += usize::from(said.contains(" answered after "));
        };
        drop(input);
        server.wait().unwrap();
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        self.check_cost("server", requests, answer.to_string().len());
        answer["result"]["structuredContent"].clone()
    }
}

/// Returns each requirement with its status, and whether the pull request is ready.
fn verdict(of: &Value) -> (Vec<(&str, &str)>, String) {
    let word = |value: &Value| match value {
        Value::String(word) => word.clone(),
        Value::Null => "unknown".to_owned(),
        other => other.to_string(),
    };
    let requirements = of["requirements"].as_array().unwrap().iter();
    let named = requirements.map(|r| (r["rule"].as_str().unwrap(), r["status"].as_str().unwrap()));
    let ready = of.get("readyToMerge").or(of.get("ready_to_merge"));
    (named.collect(), word(ready.unwrap()))
}

#[test]
fn real_pds_context_is_equal_in_cli_and_mcp() {
    let Some(stage) = Stage::new() else {
        return;
    };
    let (alice, bob) = (&stage.alice, &stage.bob);
    let issue = ["issue", "create", "-t", "Leak", "-b", "Since May."];
    let issue = stage.forge(alice, &issue).stdout_text();
    let issue = issue.trim();
    let pull = stage.opened("topic");
    let body = format!("Related to {issue}");
    stage.forge(bob, &["pr", "edit", &pull, "-b", &body]);
    stage.forge(alice, &["pr", "comment", &pull, "-b", "Why so?"]);
    stage
        .repo
        .git
        .commit("topic", "Two", &[("topic", Some("1\n2\n"))]);
    stage.forge(bob, &["pr", "resubmit", &pull]);
    stage.wait_until_indexed(bob);
    let (cid, record) = stage.world.record(&pull);
    let patch = &record["rounds"][1]["patchBlob"]["ref"]["$link"];
    assert!(patch.is_string(), "{record}");

    let shown = stage.bundle(&pull);
    let told = stage.bundle_of_server(&pull);
    assert_eq!(facts(&shown), facts(&told));
    for (of, sha, pr, diff, linked) in [
        (&shown, "headSha", "pr", "diff", "linkedIssues"),
        (&told, "head_sha", "pull_request", "diff", "linked_issues"),
    ] {
        assert_eq!(of[pr]["number"], pull, "{of}");
        assert_eq!(of[pr]["title"], "topic");
        assert_eq!(of["verdict"][sha], *patch);
        assert_eq!(of["partial"], false, "{of}");
        assert_eq!(of["comments"][0]["body"], "Why so?");
        assert_eq!(of[diff]["files"][0]["path"], "topic");
        assert_eq!(of[diff]["files"][0]["additions"], 2);
        assert_eq!(of[linked][0]["key"], issue);
        assert_eq!(of[linked][0]["title"], "Leak");
        assert_eq!(of["ingestion"]["state"], "confirmed");
        assert_eq!(of["ingestion"]["cid"], cid);
    }
    let (requirements, ready) = verdict(&shown["verdict"]);
    assert_eq!(
        (&requirements, ready.as_str()),
        (&verdict(&told["verdict"]).0, "true")
    );
    assert!(
        requirements.contains(&("indexed", "met")),
        "{requirements:?}"
    );

    // If the index never ingests the record, the pull request is not ready.
    stage.world.index().set_moods(Moods {
        pulls: false,
        ..Moods::default()
    });
    stage
        .repo
        .git
        .commit("more", "More", &[("more", Some("1\n"))]);
    let create = [
        "pr",
        "create",
        "-H",
        "more",
        "-t",
        "More",
        "-b",
        "B",
        "--no-wait",
    ];
    let lost = stage.forge(bob, &create).stdout_text();
    let lost = lost.trim();
    let (cid, _) = stage.world.record(lost);
    let (shown, told) = (stage.bundle(lost), stage.bundle_of_server(lost));
    for of in [&shown, &told] {
        let (requirements, ready) = verdict(&of["verdict"]);
        assert_eq!(
            (requirements[0], ready.as_str()),
            (("indexed", "unmet"), "false"),
            "{of}"
        );
        assert_eq!(of["ingestion"]["state"], "pending");
        assert_eq!(of["ingestion"]["cid"], cid);
        let blockers = &of["summary"]["blockers"];
        assert_eq!(*blockers, json!(["Not shown by the index (pending)"]));
    }
}
