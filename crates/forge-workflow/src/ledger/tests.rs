use forge_core::Noun;

use super::*;
use crate::trail::tests::{claimed, comment, issue};

#[test]
fn trail_with_unknown_roles_is_refused() {
    let mut entry = comment(1, 10, &claimed("a", None));
    entry.author_association = None;
    let mut text = entry.clone();
    text.body = "No entry".to_owned();
    for promise in [
        ClaimGuarantee::Exclusive,
        ClaimGuarantee::Ordered,
        ClaimGuarantee::Advisory,
    ] {
        let found = check_complete(&issue(&[text.clone(), entry.clone()]), promise);
        match promise {
            // In a git repository authors have no role.
            ClaimGuarantee::Exclusive => found.unwrap(),
            _ => assert_eq!(
                found.unwrap_err().message(),
                "cannot tell who holds #1: the role of ada, who wrote an entry, could not be read"
            ),
        }
        check_complete(&issue(std::slice::from_ref(&text)), promise).unwrap();
    }
}

#[test]
fn trail_with_missing_comments_is_refused() {
    let whole = issue(&[comment(1, 10, &claimed("a", None))]);
    let mut cut = whole.clone();
    cut.warnings = vec![Warning::new("no").of_section("comments")];
    let mut unread = whole.clone();
    unread.comments = None;
    for promise in [
        ClaimGuarantee::Exclusive,
        ClaimGuarantee::Ordered,
        ClaimGuarantee::Advisory,
    ] {
        check_complete(&whole, promise).unwrap();
        for lacks in [&cut, &unread] {
            let e = check_complete(lacks, promise).unwrap_err();
            assert_eq!(e.retry(), Retry::Transient);
        }
    }
    let mut shallow = unread;
    let warning = Warning::new("it has 2 of its 5 events").of_section("comments");
    shallow.warnings = vec![warning.with_hint("fetch the others")];
    let e = check_complete(&shallow, ClaimGuarantee::Exclusive).unwrap_err();
    assert!(e.message().ends_with(": it has 2 of its 5 events"), "{e}");
    assert_eq!(e.hint().unwrap().text(), "fetch the others");
    let mut other = whole;
    other.warnings = vec![Warning::new("no").of_section("relations")];
    check_complete(&other, ClaimGuarantee::Ordered).unwrap();
}

#[test]
fn refusal_after_a_partial_write_counts_as_sent() {
    let refused = || Error::not_found(Noun::Issue, "there is no such option");
    assert!(!was_sent(&refused()) && !is_partial(&refused()));
    let half = refused().with_context("done", "comment");
    assert!(was_sent(&half) && is_partial(&half));
}

#[test]
fn edit_with_other_letter_case_counts_as_done() {
    let mut found = issue(&[]);
    found
        .values
        .insert("workflow state".to_owned(), "done".to_owned());
    let mut edit = EditIssue::default();
    let field = "Workflow State".to_owned();
    edit.values.insert(field.clone(), Some("Done".to_owned()));
    assert!(is_done(&found, &edit));
    edit.values
        .insert(field.clone(), Some("Backlog".to_owned()));
    assert!(!is_done(&found, &edit));
    edit.values.insert(field, None);
    assert!(!is_done(&found, &edit));
    edit.values.clear();
    edit.values.insert("Estimate".to_owned(), None);
    assert!(is_done(&found, &edit));
}
