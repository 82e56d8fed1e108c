//! Tests that an index's known limits are told before a write, and what is unknown as unknown.

use forge_tangled_world::Fault;
use serde_json::json;

use super::world::{PULL, Tangled, WIDGET};

const ISSUE: &str = "sh.tangled.repo.issue";

/// Says in the configuration of which date the index is.
fn date(t: &Tangled, date: &str) {
    let config = format!("[hosts.\"tangled.org\"]\nindex_date = \"{date}\"\n");
    t.scratch.write("home/.config/forge/config.toml", config);
}

#[test]
fn dry_run_tells_index_limit_and_writes_nothing() {
    let t = Tangled::new();
    let index = t.world.index().host().authority();
    for (of, told) in [
        (
            "2025-12",
            format!("warning: {index} does not ingest {PULL}: "),
        ),
        (
            "2026-10",
            format!("warning: it is unknown whether {index} ingests {PULL}: "),
        ),
        ("2026-07", String::new()),
    ] {
        date(&t, of);
        let said = t
            .create(of, &["--dry-run"])
            .output()
            .success()
            .stderr_text();
        if told.is_empty() {
            assert!(!said.contains("ingest"), "{said}");
        } else {
            assert!(said.starts_with(&told), "{said}");
            let instead = "open it on the web page of the repository\n";
            assert!(said.contains(instead), "{said}");
        }
        assert!(t.world.pds().records(&t.alice.did, PULL).is_empty(), "{of}");
    }
}

/// The account's server refuses every write, so the first line comes before any.
#[test]
fn create_tells_index_limit_in_its_first_line() {
    let t = Tangled::new();
    let index = t.world.index().host().authority();
    let refused = Fault::error(400, "InvalidRequest", "no");
    t.world
        .pds()
        .host()
        .fault(refused.on("com.atproto.repo.applyWrites").always());
    date(&t, "2025-12");
    let said = t.create("topic", &[]).output().exits(1).stderr_text();
    let told = format!(
        "warning: {index} does not ingest {PULL}: the record is stored on your server, and {index} \
         does not show it to others\nRecovery: open it on the web page of the repository\n"
    );
    assert!(said.starts_with(&told), "{said}");
    assert_eq!(said.matches("does not ingest").count(), 1, "{said}");
    date(&t, "2026-10");
    let create = ["issue", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
    for (more, labels) in [(&[][..], 0), (&["-l", "assignee"][..], 1)] {
        let create = t.forge(&t.alice, &[&create[..], more].concat());
        let said = create.output().exits(1).stderr_text();
        let told = format!("warning: it is unknown whether {index} ingests {ISSUE}: ");
        assert!(said.starts_with(&told), "{said}");
        let of_labels = format!("{index} does not ingest sh.tangled.label.op any more");
        assert_eq!(said.matches(&of_labels).count(), labels, "{said}");
    }
}

#[test]
fn other_writes_tell_index_limit_and_recovery_once() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let index = t.world.index().host().authority();
    date(&t, "2025-12");
    for (args, collection, instead) in [
        (
            &["pr", "comment", &uri, "-b", "Text."][..],
            "sh.tangled.feed.comment",
            "comment on its web page",
        ),
        (
            &["pr", "edit", &uri, "-t", "Other"],
            PULL,
            "make the change on its web page",
        ),
        (
            &["pr", "close", &uri],
            "sh.tangled.repo.pull.status",
            "close, reopen or mark it as merged on its web page",
        ),
    ] {
        let said = t.forge(&t.alice, args).output().exits(0).stderr_text();
        let told = format!("warning: {index} does not ingest {collection}: ");
        assert!(said.starts_with(&told), "{said}");
        let recovery = format!("Recovery: {instead}\n");
        assert_eq!(said.matches(&recovery).count(), 1, "{said}");
        assert!(said.contains("\nwarning: pds_only: "), "{said}");
    }
}

#[test]
fn capabilities_tell_index_limits() {
    let t = Tangled::new();
    let index = t.world.index().host().authority();
    let said = || {
        let run = t.forge(&t.alice, &["capabilities", "-R", WIDGET]);
        run.output().success().stderr_text()
    };
    assert_eq!(said(), "", "nothing is claimed of an index without a date");
    date(&t, "2026-06");
    let old = said();
    let states = format!("warning: {index} does not ingest sh.tangled.repo.pull.status: ");
    assert!(old.contains(&states), "{old}");
    assert!(!old.contains("unknown"), "{old}");
    date(&t, "2026-10");
    let today = said();
    let labels = format!("{index} does not ingest sh.tangled.label.op any more, as of 2026-10: ");
    assert!(today.contains(&labels), "{today}");
    assert_eq!(today.matches("it is unknown whether").count(), 1, "{today}");
    for unknown in [PULL, ISSUE, "sh.tangled.feed.comment"] {
        assert!(today.contains(unknown), "{today}");
    }
}

#[test]
fn ignored_edit_is_not_reported_as_unchanged() {
    let t = Tangled::new();
    t.world.index().lose_next(ISSUE, 99);
    let record = json!({"repo": t.repo.did, "title": "Older", "createdAt": ""});
    let (uri, _) = t.world.pds().add(&t.alice.did, ISSUE, record);
    let edit = ["issue", "edit", &uri, "-t", "Better", "--wait", "300ms"];
    let said = t.forge(&t.alice, &edit).output().exits(1).stderr_text();
    assert_eq!(t.world.pds().record(&uri).unwrap().1["title"], "Better");
    assert!(
        said.contains("the index ignores it: `createdAt` is no time"),
        "{said}"
    );
    assert!(said.contains("\nchanged without effect: "), "{said}");
    assert!(!said.contains("not changed"), "{said}");
}
