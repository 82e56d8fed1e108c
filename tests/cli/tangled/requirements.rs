//! The requirements of set 003 that no other file tests, through the CLI.

use serde_json::{Value, json};

use super::world::{PULL, STATUS, Tangled, WIDGET};

/// Returns the record of a pull request as its author's server stores it.
fn stored(t: &Tangled, uri: &str) -> Value {
    t.world.pds().record(uri).unwrap().1
}

/// Returns `pr view --json FIELDS` of a pull request.
fn view(t: &Tangled, uri: &str, fields: &str) -> Value {
    t.forge(&t.bob, &["pr", "view", uri, "--json", fields])
        .output()
        .success()
        .json()
}

/// Defines a label that pull requests and issues of the repository can have.
fn define_label(t: &Tangled, name: &str) {
    t.forge(&t.alice, &["label", "create", name, "-R", WIDGET])
        .ok();
}

#[test]
fn r_003_2_create_writes_record_with_labels_and_prints_uri() {
    let t = Tangled::new();
    define_label(&t, "bug");
    let uri = t.create("topic", &["--label", "bug"]).text();
    let uri = uri.trim();
    let record = stored(&t, uri);
    // C-003-7: a round is a packed patch in a blob, and the target is a repository's DID.
    assert_eq!(
        record["target"],
        json!({"repo": t.repo.did, "branch": "main"})
    );
    assert_eq!(record["source"]["branch"], "topic");
    let blob = &record["rounds"][0]["patchBlob"];
    assert_eq!(blob["mimeType"], "application/gzip");
    assert!(record.get("patch").is_none() && record.get("pullId").is_none());
    let shown = view(&t, uri, "title,body,state,labels,baseRefName,headRefName");
    assert_eq!(
        (&shown["title"], &shown["body"]),
        (&json!("T"), &json!("B"))
    );
    // C-003-3: the base is the default branch.
    assert_eq!(
        (&shown["state"], &shown["baseRefName"]),
        (&json!("OPEN"), &json!("main"))
    );
    assert_eq!(shown["labels"][0]["name"], "bug");
}

#[test]
fn r_003_3_edit_changes_title_body_and_labels() {
    let t = Tangled::new();
    define_label(&t, "bug");
    define_label(&t, "docs");
    let uri = t.create("topic", &["--label", "bug"]).text();
    let uri = uri.trim();
    let rounds = stored(&t, uri)["rounds"].clone();
    let edit = [
        "pr",
        "edit",
        uri,
        "-t",
        "Ü",
        "-b",
        "New",
        "--add-label",
        "docs",
    ];
    t.forge(&t.alice, &[&edit[..], &["--remove-label", "bug"]].concat())
        .ok();
    let record = stored(&t, uri);
    assert_eq!(
        (&record["title"], &record["rounds"]),
        (&json!("Ü"), &rounds)
    );
    let shown = view(&t, uri, "title,body,labels");
    assert_eq!(
        (&shown["title"], &shown["body"]),
        (&json!("Ü"), &json!("New"))
    );
    let labels = shown["labels"].as_array().unwrap();
    let names: Vec<&Value> = labels.iter().map(|label| &label["name"]).collect();
    assert_eq!(names, ["docs"]);
}

#[test]
fn r_003_4_list_is_filtered_by_state_label_and_branches() {
    let t = Tangled::new();
    define_label(&t, "bug");
    let one = t.create("one", &["--label", "bug"]).text();
    let two = t.open("two");
    t.forge(&t.alice, &["pr", "close", &two]).ok();
    for (more, branches) in [
        (&[][..], &["one"][..]),
        (&["--state", "all"][..], &["two", "one"][..]),
        (&["--state", "closed"][..], &["two"][..]),
        (&["--state", "merged"][..], &[][..]),
        // C-003-11: the index has no such filters, and rows are read until the list is full.
        (&["--label", "bug"][..], &["one"][..]),
        (&["--head", "one"][..], &["one"][..]),
        (&["--base", "main"][..], &["one"][..]),
        (&["--base", "other"][..], &[][..]),
        (&["--state", "all", "--limit", "1"][..], &["two"][..]),
    ] {
        let args = ["pr", "list", "-R", WIDGET, "--json", "headRefName,labels"];
        let rows = t
            .forge(&t.bob, &[&args[..], more].concat())
            .output()
            .success()
            .json();
        let rows = rows.as_array().unwrap();
        let heads: Vec<&Value> = rows.iter().map(|row| &row["headRefName"]).collect();
        assert_eq!(heads, branches, "{more:?}");
        let labelled = rows.iter().find(|row| row["headRefName"] == "one");
        if let Some(row) = labelled {
            assert_eq!(row["labels"][0]["name"], "bug", "{more:?} {}", one.trim());
        }
    }
}

#[test]
fn r_003_5_view_has_record_fields_and_patch() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let shown = view(
        &t,
        &uri,
        "id,url,author,createdAt,baseRefName,headRefName,state,labels",
    );
    // C-003-6: the at-uri names a pull request; its number is the index's alone.
    assert_eq!(shown["id"], uri.as_str());
    assert_eq!(shown["author"]["login"], "alice.test");
    assert!(shown["createdAt"].is_string());
    assert_eq!(
        (&shown["headRefName"], &shown["state"]),
        (&json!("topic"), &json!("OPEN"))
    );
    let diff = t.forge(&t.bob, &["pr", "diff", &uri]).text();
    assert!(diff.contains("+++ b/topic.txt\n"), "{diff}");
}

#[test]
fn r_003_6_close_reopen_and_merge_set_the_state() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let state = || view(&t, &uri, "state")["state"].clone();
    // Reopening an open pull request writes nothing.
    t.forge(&t.alice, &["pr", "reopen", &uri]).ok();
    let statuses = || t.world.pds().records(&t.alice.did, STATUS).len();
    let before = statuses();
    t.forge(&t.alice, &["pr", "close", &uri]).ok();
    assert_eq!((state(), statuses()), (json!("CLOSED"), before + 1));
    t.forge(&t.alice, &["pr", "reopen", &uri]).ok();
    assert_eq!((state(), statuses()), (json!("OPEN"), before + 2));
    // C-003-8: a merge moves the branch on the knot, and the status follows.
    t.forge(&t.bob, &["pr", "merge", &uri, "--rebase"]).ok();
    assert_eq!(state(), "MERGED");
    assert_eq!(t.repo.git.show("main", "topic.txt"), "one\n");
}

#[test]
fn r_003_8_newest_permitted_status_is_the_state() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let put = |did: &str, state: &str, at: &str| {
        let status = json!({ "pull": uri, "status": state, "createdAt": at });
        t.world.pds().add(did, STATUS, status);
    };
    // C-003-4: instants are compared, not texts: 23:00+03:00 is before 21:00Z.
    put(
        &t.alice.did,
        "sh.tangled.repo.pull.status.closed",
        "2030-01-01T00:00:00Z",
    );
    put(
        &t.alice.did,
        "sh.tangled.repo.pull.status.open",
        "2026-11-01T21:00:00Z",
    );
    put(
        &t.alice.did,
        "sh.tangled.repo.pull.status.closed",
        "2026-11-01T23:00:00+03:00",
    );
    // C-003-1: the last part of the token counts too, and an unknown token changes nothing.
    put(
        &t.alice.did,
        "sh.tangled.repo.pull.status.approved",
        "2026-11-02T00:00:00Z",
    );
    let shown = view(&t, &uri, "state");
    // The status of 2030 counts by the time of its record key, which is now.
    assert_eq!(shown["state"], "CLOSED");
    // C-003-5: the status of a stranger does not count.
    let stranger = t
        .world
        .pds()
        .account("mallory.test", super::world::PASSWORD);
    let now = "2026-11-28T00:00:00Z";
    put(&stranger.did, "sh.tangled.repo.pull.status.merged", now);
    assert_eq!(view(&t, &uri, "state")["state"], "CLOSED");
}

#[test]
fn r_003_10_unknown_label_is_refused_before_record() {
    let t = Tangled::new();
    define_label(&t, "Bug");
    let refused = t.create("topic", &["--label", "nope"]).output().exits(1);
    let message = refused.stderr_text();
    assert!(
        message.contains("nope") && message.contains("Bug"),
        "{message}"
    );
    assert!(t.world.pds().records(&t.alice.did, PULL).is_empty());
    // A name is found in any case, for issues too.
    let uri = t.create("other", &["--label", "bug"]).text();
    let shown = view(&t, uri.trim(), "labels");
    assert_eq!(shown["labels"][0]["name"], "Bug");
    let issue = [
        "issue", "create", "-R", WIDGET, "-t", "T", "-b", "B", "-l", "BUG",
    ];
    t.forge(&t.alice, &issue).ok();
}

#[test]
fn r_003_15_repository_is_named_in_each_form() {
    let t = Tangled::new();
    t.open("topic");
    let did = format!("tangled:{}/widget", t.alice.did);
    for name in [
        WIDGET,
        "tangled:@alice.test/widget",
        "https://tangled.org/@alice.test/widget",
        &did,
        &format!("tangled:{}", t.repo.did),
    ] {
        let args = ["pr", "list", "-R", name, "--json", "headRefName"];
        let rows = t.forge(&t.bob, &args).output().success().json();
        assert_eq!(rows, json!([{"headRefName": "topic"}]), "{name}");
    }
    let refused = t.forge(&t.bob, &["pr", "list", "-R", "tangled:alone"]);
    let message = refused.output().exits(1).stderr_text();
    assert!(message.contains("tangled:alone"), "{message}");
}
