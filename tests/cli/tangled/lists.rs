//! What lists say of their rows.

use forge_testkit::tangled::Fault;

use super::world::{Tangled, WIDGET};

const MARK: &str = "the state is as the index has it";

#[test]
fn a_list_says_once_that_its_states_are_as_indexed() {
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
    // Without the index, who set a state is looked at.
    t.world.index().host().set_down(true);
    let args = ["pr", "list", "-R", WIDGET];
    let said = t.forge(&t.bob, &args).output().exits(0).stderr_text();
    assert!(!said.contains(MARK), "{said}");
}

#[test]
fn what_a_filter_of_ours_had_to_look_at_is_said() {
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
fn what_cannot_be_read_of_a_row_is_said() {
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
fn a_status_says_what_could_not_be_read() {
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
    // Whoever has none here is told that it may not be so.
    index.set_down(true);
    let output = t.forge(&t.bob, &status).output().exits(0);
    let (text, said) = (output.stdout_text(), output.stderr_text());
    assert!(text.contains("You have no open pull requests"), "{text}");
    assert_eq!(said.matches(by).count(), 1, "of the list: {said}");
}
