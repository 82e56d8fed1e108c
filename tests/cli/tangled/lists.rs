//! Tests the warnings of lists about rows that could not be read or verified.

use forge_tangled_world::Fault;

use super::world::{Tangled, WIDGET};

const MARK: &str = "the state is that of the index";

#[test]
fn list_warns_once_about_unverified_index_states() {
    let t = Tangled::new();
    for branch in ["one", "two"] {
        t.open(branch);
    }
    let issue = ["issue", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
    t.forge(&t.alice, &issue).ok();
    let issues = ["issue", "list", "-R", WIDGET];
    let said = t.forge(&t.bob, &issues).output().exits(0).stderr_text();
    assert_eq!(said.matches(MARK).count(), 1, "{said}");
    for more in [&[][..], &["--json", "state,title"][..]] {
        let args = [&["pr", "list", "-R", WIDGET][..], more].concat();
        let output = t.forge(&t.bob, &args).output().exits(0);
        let said = output.stderr_text();
        assert_eq!(said.matches(MARK).count(), 1, "{said}");
        assert!(!output.stdout_text().contains(MARK));
    }
    // Without the index, `forge` itself checks whether the author of a state may set it.
    t.world.index().host().set_down(true);
    let args = ["pr", "list", "-R", WIDGET];
    let said = t.forge(&t.bob, &args).output().exits(0).stderr_text();
    assert!(!said.contains(MARK), "{said}");
}

#[test]
fn list_by_state_warns_once_of_missing_rows() {
    let t = Tangled::new();
    let uri = t.open("one");
    t.forge(&t.alice, &["pr", "close", &uri]).ok();
    let args = ["pr", "list", "-R", WIDGET, "--state", "closed"];
    let output = t.forge(&t.bob, &args).output().exits(0);
    let (text, said) = (output.stdout_text(), output.stderr_text());
    assert!(text.contains("one"), "{text}");
    assert_eq!(said.matches(MARK).count(), 1, "{said}");
    assert!(said.contains("rows may be missing"), "{said}");
    assert!(said.contains("--state all"), "{said}");
}

#[test]
fn client_side_filter_reports_scanned_rows() {
    let t = Tangled::new();
    for branch in ["one", "two"] {
        t.open(branch);
    }
    let said = |more: &[&str]| {
        let args = [&["pr", "list", "-R", WIDGET][..], more].concat();
        t.forge(&t.bob, &args).output().exits(0).stderr_text()
    };
    let index = t.world.index().host().authority();
    let wanted = format!("looked at 2 pull requests of the index at {index}\n");
    let one = said(&["--head", "one"]);
    assert!(one.contains(&wanted), "{one}");
    for more in [&[][..], &["--base", "main"][..]] {
        let all = said(more);
        assert!(!all.contains("looked at 2"), "{all}");
    }
}

#[test]
fn unreadable_row_field_is_reported() {
    let t = Tangled::new();
    t.open("one");
    let gone = Fault::gateway(503).on("sh.tangled.feed.listComments");
    t.world.index().host().fault(gone.always());
    let args = ["pr", "list", "-R", WIDGET, "--json", "comments"];
    let said = t.forge(&t.bob, &args).output().exits(0).stderr_text();
    let found = said.matches("read from the backlinks at").count();
    assert_eq!(found, 1, "{said}");
}

#[test]
fn status_reports_unreadable_rows() {
    let t = Tangled::new();
    t.open("one");
    let status = ["pr", "status", "-R", WIDGET];
    let of_alice = || t.forge(&t.alice, &status).output().exits(0);
    let by = "read from the backlinks at";
    assert!(!of_alice().stderr_text().contains(by));
    let index = t.world.index().host();
    index.fault(
        Fault::gateway(503)
            .on("sh.tangled.feed.listComments")
            .always(),
    );
    let said = of_alice().stderr_text();
    assert_eq!(said.matches(by).count(), 1, "of the row: {said}");
    index.clear_faults();
    // Without the index, even an empty list has a warning.
    index.set_down(true);
    let output = t.forge(&t.bob, &status).output().exits(0);
    let (text, said) = (output.stdout_text(), output.stderr_text());
    assert!(text.contains("You have no open pull requests"), "{text}");
    assert_eq!(said.matches(by).count(), 1, "of the list: {said}");
}

#[test]
fn field_missing_from_index_rows_is_looked_up() {
    let t = Tangled::new();
    let uri = t.open("one");
    t.forge(&t.alice, &["pr", "close", &uri]).ok();
    let head = t.repo.git.oid("one").unwrap();
    let list = ["pr", "list", "-R", WIDGET, "--state", "closed", "--json"];
    let of = |fields: &str| {
        let rows = t.forge(&t.bob, &[&list[..], &[fields]].concat());
        rows.output().success().json()[0].clone()
    };
    assert_eq!(of("headRefOid")["headRefOid"], head);
    assert!(of("closedAt")["closedAt"].is_string());
    assert!(of("mergedAt")["mergedAt"].is_null());
}

#[test]
fn issue_labels_are_looked_up_or_reported_missing() {
    let t = Tangled::new();
    let label = ["label", "create", "bug", "-R", WIDGET];
    t.forge(&t.alice, &label).ok();
    let create = ["issue", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
    t.forge(&t.alice, &[&create[..], &["-l", "bug"]].concat())
        .ok();
    let left_out = "labels and assignees are not looked up";
    let list = |more: &[&str]| {
        let args = [&["issue", "list", "-R", WIDGET][..], more].concat();
        let output = t.forge(&t.bob, &args).output().exits(0);
        (output.stdout_text(), output.stderr_text())
    };
    let (_, said) = list(&[]);
    assert_eq!(said.matches(left_out).count(), 1, "{said}");
    let (_, said) = list(&["--json", "title"]);
    assert!(!said.contains(left_out), "{said}");
    let (text, said) = list(&["--json", "labels", "-q", ".[0].labels[0].name"]);
    assert_eq!(text, "bug\n");
    assert!(!said.contains(left_out), "{said}");
    let (text, said) = list(&["-l", "bug"]);
    assert!(
        text.contains("\tbug\t") && !said.contains(left_out),
        "{text}{said}"
    );
}
