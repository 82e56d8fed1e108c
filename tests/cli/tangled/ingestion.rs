//! Tests the verdict of `forge pr context` on a record that the index does not show.

use std::time::Duration;

use forge_tangled_world::{Fault, Moods};
use serde_json::{Value, json};

use super::world::{PULL, Tangled, WIDGET};

/// Returns the bundle of a pull request, and the bundle's requirement `indexed`.
fn context_and_indexed_rule(t: &Tangled, uri: &str) -> (Value, Value) {
    let args = ["pr", "context", uri, "-R", WIDGET, "--json"];
    let found = t.forge(&t.bob, &args).output().success().json();
    let mut all = found["verdict"]["requirements"].as_array().unwrap().iter();
    let indexed = all.find(|r| r["rule"] == "indexed").unwrap().clone();
    (found, indexed)
}

/// Returns the CID of a pull request's record on its author's PDS.
fn version(t: &Tangled, uri: &str) -> String {
    let pulls = t.world.pds().records(&t.alice.did, PULL);
    let found = pulls.iter().find(|(at, ..)| at == uri);
    found.unwrap().1.clone()
}

#[track_caller]
fn assert_unmet(t: &Tangled, uri: &str, word: &str, evidence: &str, by: &[&str]) {
    let (found, indexed) = context_and_indexed_rule(t, uri);
    let cid = version(t, uri);
    assert_eq!(found["verdict"]["readyToMerge"], false, "{found}");
    let text = format!("Not shown by the index ({word})");
    assert!(
        found["summary"]["blockers"]
            .as_array()
            .unwrap()
            .contains(&json!(text)),
        "{found}"
    );
    assert_eq!(indexed["status"], "unmet");
    assert_eq!(indexed["source"], "forge");
    let said = t.stable(indexed["evidence"].as_str().unwrap());
    assert_eq!(said, format!("{word}: {evidence} (version [cid])"));
    let who = indexed["clearedBy"].as_array().unwrap().iter();
    let who: Vec<&str> = who.map(|c| c["who"].as_str().unwrap()).collect();
    assert_eq!(who, by);
    let of_record = &found["ingestion"];
    assert_eq!(of_record["state"], word);
    assert_eq!(
        (&of_record["uri"], &of_record["cid"]),
        (&json!(uri), &json!(cid))
    );
    assert_eq!(t.stable(of_record["evidence"].as_str().unwrap()), evidence);
    let args = ["pr", "context", uri, "-R", WIDGET];
    let shown = t.forge(&t.bob, &args).output().success().stdout_text();
    assert!(shown.contains("Ready to merge: no\n"), "{shown}");
    let line = shown.lines().find(|l| l.contains("✗ indexed [forge]"));
    let evidence = format!(" | \"{word}: ");
    assert!(line.is_some_and(|l| l.contains(&evidence)), "{shown}");
    assert!(
        shown.contains(&format!("record version {cid}: {word}\n")),
        "{shown}"
    );
}

#[test]
fn indexed_record_meets_the_requirement() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let (found, indexed) = context_and_indexed_rule(&t, &uri);
    assert_eq!(indexed["status"], "met");
    assert_eq!(found["ingestion"]["state"], "confirmed");
    assert_eq!(found["ingestion"]["cid"], version(&t, &uri));
    assert_eq!(found["ingestion"]["recovery"], Value::Null);
}

#[test]
fn pull_stored_only_on_pds_is_not_ready() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nindex_date = \"2025-12\"\n",
    );
    let evidence = "this index does not ingest sh.tangled.repo.pull";
    assert_unmet(&t, &uri, "pds_only", evidence, &["author"]);
    let (found, _) = context_and_indexed_rule(&t, &uri);
    let instead = "open it on the web page of the repository";
    assert_eq!(found["ingestion"]["recovery"], instead);
}

#[test]
fn pull_with_dropped_record_is_not_ready() {
    let t = Tangled::new();
    let uri = t.foreign(b"no gzip", |_| {});
    let evidence = "the index ignores it: the patch of round 0 is not gzip";
    assert_unmet(&t, &uri, "ineffective", evidence, &["author"]);
}

#[test]
fn pull_with_pending_record_is_not_ready() {
    let t = Tangled::new();
    t.world.index().set_moods(Moods {
        lag: Duration::from_secs(600),
        ..Moods::default()
    });
    t.create("topic", &["--no-wait"]).ok();
    let (young, ..) = t.world.pds().records(&t.alice.did, PULL).remove(0);
    let evidence =
        "[index] does not show the record, which is less than a minute old: the index lags";
    assert_unmet(&t, &young, "pending", evidence, &["time", "author"]);

    let t = Tangled::new();
    let uri = t.open("topic");
    t.world.index().set_moods(Moods {
        other_cid: true,
        ..Moods::default()
    });
    let evidence = "[index] shows another version of the record: the index lags, or failed to \
                    ingest the last change";
    assert_unmet(&t, &uri, "pending", evidence, &["time", "author"]);
    let (_, command) = {
        let args = ["pr", "context", &uri, "-R", WIDGET];
        let said = t.forge(&t.alice, &args).output().success().stderr_text();
        let line = said.lines().find(|l| l.starts_with("Recovery: ")).unwrap();
        let (text, command) = line.rsplit_once(": ").unwrap();
        (text.to_owned(), command.to_owned())
    };
    assert_eq!(
        command,
        format!("forge tangled ingestion {uri} --put-again")
    );
}

#[test]
fn requirement_is_unknown_while_index_is_down() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let index = t.world.index().host();
    index.fault(Fault::rate_limited(600).always());
    let (found, indexed) = context_and_indexed_rule(&t, &uri);
    assert_eq!(indexed["status"], "unknown", "{found}");
    assert_eq!(found["ingestion"]["state"], "pending");
    assert_eq!(found["verdict"]["readyToMerge"], Value::Null);
}

#[test]
fn tangled_1_0_record_is_shown_by_knot() {
    let t = Tangled::new();
    let repo = t.world.repository_1_0(&t.alice, "new");
    repo.git.commit("topic", "Add", &[("a", Some("1\n"))]);
    let new = "tangled:alice.test/new";
    let args = [
        "pr", "create", "-R", new, "-H", "topic", "-t", "T", "-b", "B",
    ];
    let uri = t.forge(&t.alice, &args).text();
    let args = ["pr", "context", uri.trim(), "-R", new, "--json"];
    let found = t.forge(&t.alice, &args).output().success().json();
    assert_eq!(found["ingestion"]["state"], "immediate", "{found}");
    let requirements = found["verdict"]["requirements"].as_array().unwrap();
    let indexed = requirements.iter().find(|r| r["rule"] == "indexed");
    assert_eq!(indexed.unwrap()["status"], "met");
}
