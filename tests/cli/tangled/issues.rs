//! `forge issue`.

use super::world::{Tangled, WIDGET};

#[test]
fn a_comment_that_goes_with_no_change_is_not_dropped_without_a_word() {
    let t = Tangled::new();
    let create = ["issue", "create", "-R", WIDGET, "-t", "T", "-b", "B"];
    t.forge(&t.alice, &create).ok();
    let issues = t.world.pds().records(&t.alice.did, "sh.tangled.repo.issue");
    let uri = issues[0].0.as_str();
    t.forge(&t.alice, &["issue", "close", uri]).ok();
    let again = ["issue", "close", uri, "-c", "Why."];
    let said = t.forge(&t.alice, &again).output().exits(0).stderr_text();
    assert!(said.contains("is already closed"), "{said}");
    assert!(
        said.contains("warning: the comment was not written"),
        "{said}"
    );
    let comments = t.world.pds();
    let comments = comments.records(&t.alice.did, "sh.tangled.feed.comment");
    assert!(comments.is_empty());
}
