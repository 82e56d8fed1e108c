//! Tests `forge tangled ingestion`: where a record is visible, and why the index does not show it.

use std::time::Duration;

use forge_tangled_world::{Fault, Moods};
use serde_json::json;

use super::world::{PULL, STATUS, Tangled, WIDGET};

fn check(t: &Tangled, uri: &str, more: &[&str]) -> forge_testkit::Output {
    t.forge(&t.alice, &[&["tangled", "ingestion", uri], more].concat())
        .output()
}

/// Creates an old pull request that the index has lost, and returns its at-uri.
fn lost(t: &Tangled) -> String {
    t.world.index().lose_next(PULL, 1);
    let gzip = {
        use std::io::Write as _;
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(b"diff --git a/n b/n\n").unwrap();
        gz.finish().unwrap()
    };
    t.foreign(&gzip, |_| {})
}

#[test]
fn index_state_has_an_explanation() {
    let mut all = String::new();
    let mut show = |t: &Tangled, title: &str, output: &forge_testkit::Output| {
        all.push_str(&format!("# {title}\n{}\n", t.transcript(output)));
    };

    let t = Tangled::new();
    let uri = t.open("topic");
    show(&t, "the index shows it", &check(&t, &uri, &[]).exits(0));

    t.world.index().set_moods(Moods {
        other_cid: true,
        ..Moods::default()
    });
    show(
        &t,
        "it shows another version",
        &check(&t, &uri, &[]).exits(0),
    );

    t.world
        .index()
        .host()
        .fault(Fault::rate_limited(600).always());
    show(&t, "it does not answer", &check(&t, &uri, &[]).exits(0));

    let t = Tangled::new();
    t.world.index().set_moods(Moods {
        lag: Duration::from_secs(600),
        ..Moods::default()
    });
    t.create("topic", &["--no-wait"]).ok();
    let (young, _, _) = t.world.pds().records(&t.alice.did, PULL).remove(0);
    show(&t, "it is behind", &check(&t, &young, &[]).exits(0));

    let t = Tangled::new();
    let old = lost(&t);
    show(&t, "it has lost it", &check(&t, &old, &[]).exits(0));
    let again = check(&t, &old, &["--put-again"]).exits(0);
    show(&t, "it was put again", &again);
    assert!(t.world.index().knows(&old).is_some());

    let t = Tangled::new();
    let (comment, _) = t.world.pds().add(
        &t.alice.did,
        "sh.tangled.repo.pull.comment",
        json!({"pull": "at://x", "body": "old", "createdAt": "2026-01-01T00:00:00Z"}),
    );
    show(
        &t,
        "nobody takes in its kind",
        &check(&t, &comment, &[]).exits(0),
    );

    let t = Tangled::new();
    let bad = t.foreign(b"no gzip", |_| {});
    show(&t, "it is dropped", &check(&t, &bad, &[]).exits(1));
    insta::assert_snapshot!(all);
}

#[test]
fn statuses_comments_and_labels_are_checked() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.forge(&t.bob, &["pr", "comment", &uri, "-b", "Fine."])
        .ok();
    t.forge(&t.bob, &["pr", "close", &uri]).ok();
    for collection in [STATUS, "sh.tangled.feed.comment"] {
        let (record, _, _) = t.world.pds().records(&t.bob.did, collection).remove(0);
        let json = check(&t, &record, &["--json"]).exits(0).json();
        assert_eq!(json["ingestion"]["state"], "confirmed", "{json}");
        assert_eq!(json["index"]["shows"], "this");
        assert_eq!(json["uri"], record);
        assert_eq!(json["instead"], serde_json::Value::Null);
    }
}

#[test]
fn check_of_record_on_1_0_knot_is_immediate() {
    let t = Tangled::new();
    let repo = t.world.repository_1_0(&t.alice, "new");
    repo.git.commit("topic", "Add", &[("a", Some("1\n"))]);
    let args = [
        "pr",
        "create",
        "-R",
        "tangled:alice.test/new",
        "-H",
        "topic",
    ];
    t.forge(&t.alice, &[&args[..], &["-t", "T", "-b", "B"]].concat())
        .ok();
    let did = repo.did.clone();
    let tickets = t.world.knot().records(&did, "org.tangled.track.ticket");
    let json = check(&t, &tickets[0].0, &["--json"]).exits(0).json();
    assert_eq!(json["ingestion"]["state"], "immediate");
    assert_eq!(json["index"]["shows"], "not_asked");
}

#[test]
fn missing_or_unsupported_record_is_refused() {
    let t = Tangled::new();
    let gone = format!("at://{}/{PULL}/3kaaaaaaaaaa2", t.alice.did);
    let profile = format!("at://{}/app.bsky.actor.profile/self", t.alice.did);
    let mut all = String::new();
    for uri in [gone.as_str(), &profile, "widget"] {
        all.push_str(&t.transcript(&check(&t, uri, &[]).exits(1)));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn label_of_a_non_collaborator_is_ineffective() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let pds = t.world.pds();
    let carol = pds.account("carol.test", super::world::PASSWORD);
    let label = format!("at://{}/sh.tangled.label.definition/bug", t.alice.did);
    for (account, code, word) in [(&carol, 1, "ineffective"), (&t.bob, 0, "confirmed")] {
        let (op, _) = pds.add(
            &account.did,
            "sh.tangled.label.op",
            json!({
                "subject": uri,
                "add": [{ "key": label, "value": "null" }],
                "delete": [],
                "performedAt": "2026-11-01T00:00:00Z",
            }),
        );
        let json = check(&t, &op, &["--json"]).exits(code).json();
        assert_eq!(json["ingestion"]["state"], word, "{json}");
    }
    // If the index never shows a collection, the report does not suggest checking again.
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nindex_date = \"2025-12\"\n",
    );
    let (op, _, _) = pds.records(&t.bob.did, "sh.tangled.label.op").remove(0);
    let json = check(&t, &op, &["--json"]).exits(0).json();
    assert_eq!(json["ingestion"]["state"], "pds_only", "{json}");
    let because =
        format!("this index does not ingest {PULL}, and the record is about such a record");
    assert_eq!(json["because"], because);
    assert_eq!(json["instead"], "set the labels on its web page");
}

/// Only the repository's record lists its labels, so the hint's command rewrites that record.
#[test]
fn label_recovery_command_checks_and_rewrites_record() {
    let t = Tangled::new();
    let repo = format!("at://{}/sh.tangled.repo/widget", t.alice.did);
    // The index must know the record before it can lose the next version.
    assert!(t.world.index().knows(&repo).is_some());
    for (verb, more) in [("create", None), ("delete", Some("--yes"))] {
        t.world.index().lose_next("sh.tangled.repo", 1);
        let args = ["label", verb, "bug", "-R", WIDGET].into_iter().chain(more);
        let written = t.forge(&t.alice, &args.collect::<Vec<_>>());
        let written = written.env("FORGE_WAIT", "1");
        let said = written.output().exits(0).stderr_text();
        let (_, printed) = said.split_once("look again: forge ").expect(&said);
        let (printed, _) = printed.split_once('\n').unwrap();
        let words: Vec<&str> = printed.split(' ').collect();
        assert_eq!(words, ["tangled", "ingestion", &repo], "{said}");
        for (flag, word) in [(None, "pending"), (Some("--put-again"), "confirmed")] {
            let again = words.iter().copied().chain(flag).chain(["--json"]);
            let looked = t.forge(&t.alice, &again.collect::<Vec<_>>());
            let json = looked.output().exits(0).json();
            assert_eq!(json["ingestion"]["state"], word, "{verb}: {json}");
        }
    }
}

#[test]
fn check_does_not_rewrite_an_indexed_record() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let version = || t.world.pds().record(&uri).map(|(cid, _)| cid);
    let before = version();
    let json = check(&t, &uri, &["--put-again", "--json"]).exits(0).json();
    assert_eq!(version(), before);
    assert_eq!(json["ingestion"]["state"], "confirmed", "{json}");
    let because = json["because"].as_str().unwrap();
    assert!(because.ends_with("left as it is"), "{because}");
}

#[test]
fn check_does_not_rewrite_a_foreign_record() {
    let t = Tangled::new();
    let uri = lost(&t);
    let output = t
        .forge(&t.bob, &["tangled", "ingestion", &uri, "--put-again"])
        .output()
        .exits(1);
    let said = output.stderr_text();
    assert!(said.contains("only alice.test can change"), "{said}");
    assert!(t.world.index().knows(&uri).is_none());
}
