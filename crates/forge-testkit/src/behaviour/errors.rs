//! Behaviour of errors: codes, messages and hints.

use forge_core::{
    PageReq,
    model::{CreatePull, EditPull, PrFields},
};

use super::{Fixture, Set, cases};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        every_refusal_is_one_line_with_a_recovery;
        error_messages_contain_no_stored_escapes;
        refused_write_changes_nothing [PrEdit];
    ];
}

async fn every_refusal_is_one_line_with_a_recovery(fx: Fixture) {
    fx.feature("feature");
    let gone = fx.author.pull_id(404);
    let mut nowhere = CreatePull::new("feature", "T");
    nowhere.base = Some("nowhere".into());
    let errors = [
        fx.author.create_pull(&nowhere).await.err(),
        fx.author
            .create_pull(&CreatePull::new("gone", "T"))
            .await
            .err(),
        fx.author
            .create_pull(&CreatePull::new("main", "T"))
            .await
            .err(),
        fx.author
            .create_pull(&CreatePull::new("feature", ""))
            .await
            .err(),
        fx.author.pull(&gone, PrFields::NONE).await.err(),
        fx.author.comments(&gone, PageReq::first(1)).await.err(),
    ];
    for error in errors {
        let error = error.unwrap();
        assert!(!error.message().contains('\n'), "{error:?}");
        assert!(!error.message().ends_with('.'), "{error:?}");
        assert!(
            error
                .hint()
                .is_some_and(|h| !h.text().is_empty() && !h.text().contains('\n')),
            "{error:?}"
        );
        assert!(
            !error
                .hint()
                .map_or("", |h| h.text())
                .starts_with("Recovery"),
            "{error:?}"
        );
    }
}

async fn error_messages_contain_no_stored_escapes(fx: Fixture) {
    let evil = "feature\u{1b}[31mred\u{7}";
    let mut req = CreatePull::new("main", "T");
    req.base = Some(evil.into());
    for error in [
        fx.author
            .create_pull(&CreatePull::new(evil, "T"))
            .await
            .unwrap_err(),
        fx.author.create_pull(&req).await.unwrap_err(),
    ] {
        assert!(
            !error.message().chars().any(char::is_control),
            "{:?}",
            error.message()
        );
    }
}

async fn refused_write_changes_nothing(fx: Fixture) {
    let pr = fx.open("feature").await;
    let before = fx.git.refs();
    let mut edit = EditPull::default();
    edit.title = Some(String::new());
    assert!(fx.author.edit_pull(&pr.id, &edit).await.is_err());
    assert!(fx.author.comment(&pr.id, "", None).await.is_err());
    assert!(
        fx.author
            .reopen(&fx.author.pull_id(404), None)
            .await
            .is_err()
    );
    assert_eq!(fx.git.refs(), before);
}
