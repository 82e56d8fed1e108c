//! Behaviour of the handle, before and after a call of the backend.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_core::{
    Access, Capability, Observer, Op, PageReq, Policy, Retry,
    model::{CloseReq, CreatePull, PrFields, PullQuery},
};

use super::{Fixture, Set, cases, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        the_viewer_is_the_account;
        the_repository_is_described;
        the_capabilities_are_complete;
        read_only_handle_refuses_writes [PrClose];
        a_dry_run_writes_nothing [PrClose];
        timed_out_write_is_ambiguous;
        observer_is_notified_of_every_call;
        error_names_the_operation;
    ];
}

/// Returns the author's handle with another policy.
fn under(fx: &Fixture, policy: Policy) -> forge_core::Repo {
    fx.author.with_policy(policy)
}

async fn the_viewer_is_the_account(fx: Fixture) {
    let (author, reviewer) = (fx.author_login().await, fx.reviewer_login().await);
    assert!(!author.is_empty() && !reviewer.is_empty());
    assert_ne!(author, reviewer);
}

async fn the_repository_is_described(fx: Fixture) {
    let info = fx.author.info().await.unwrap();
    assert_eq!(info.default_branch.as_deref(), Some("main"));
    assert!(!info.url.is_empty() && !info.archived);
    assert!(!info.merge_methods.is_empty());
    assert_eq!(info.id.kind, fx.author.id().kind);
}

async fn the_capabilities_are_complete(fx: Fixture) {
    let rows = fx.author.capabilities().await.unwrap();
    let named: BTreeSet<_> = rows.iter().map(|(c, _)| *c).collect();
    assert_eq!(rows.len(), Capability::ALL.len());
    assert_eq!(named.len(), Capability::ALL.len());
}

async fn read_only_handle_refuses_writes(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let before = fx.git.refs();
    let mut policy = Policy::default();
    policy.access = Access::ReadOnly;
    let handle = under(&fx, policy);
    handle
        .pulls(&PullQuery::default(), PageReq::first(1))
        .await
        .unwrap();
    let e = refused(
        handle.close(&pr, &CloseReq::default()).await,
        "permission_denied",
    );
    assert!(e.hint().is_some());
    let new = CreatePull::new("other", "Other");
    refused(handle.create_pull(&new).await, "permission_denied");
    assert_eq!(fx.git.refs(), before);
}

async fn a_dry_run_writes_nothing(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let before = fx.git.refs();
    let mut policy = Policy::default();
    policy.access = Access::DryRun;
    let handle = under(&fx, policy);
    let e = refused(handle.close(&pr, &CloseReq::default()).await, "dry_run");
    assert!(e.message().contains("pr.close"), "{e}");
    assert_eq!(fx.git.refs(), before);
}

async fn timed_out_write_is_ambiguous(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let before = fx.author.pull(&pr, PrFields::NONE).await.unwrap().state;
    let mut policy = Policy::default();
    policy.deadline = Duration::ZERO;
    let handle = under(&fx, policy);
    let e = refused(handle.close(&pr, &CloseReq::default()).await, "timeout");
    if e.retry() != Retry::Ambiguous {
        assert!(e.message().ends_with("(nothing was sent)"), "{e:?}");
        let after = fx.author.pull(&pr, PrFields::NONE).await.unwrap().state;
        assert_eq!(after, before);
    }
    // On a busy machine a list may succeed, because its only answer arrives before the timer fires.
    // At least one of the attempts must fail.
    for _ in 0..50 {
        let list = handle.pulls(&PullQuery::default(), PageReq::first(1)).await;
        if let Err(e) = list {
            assert_eq!(e.code(), "timeout", "{e}");
            assert_eq!(e.retry(), Retry::Transient);
            return;
        }
    }
    panic!("50 lists in a row ended within a deadline of 0 s");
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn started(&self, op: Op, _target: &str) {
        self.0.lock().unwrap().push(format!("+{}", op.name()));
    }

    fn finished(&self, op: Op, _target: &str, _took: Duration, error: Option<&'static str>) {
        self.0
            .lock()
            .unwrap()
            .push(format!("-{} {}", op.name(), error.unwrap_or("ok")));
    }

    fn rate_limited(&self, _host: &str, _wait: Duration) {}
}

async fn observer_is_notified_of_every_call(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let notes = Arc::new(Notes::default());
    let mut policy = Policy::default();
    policy.observer = Some(notes.clone());
    let handle = under(&fx, policy);
    handle.close(&pr, &CloseReq::default()).await.unwrap();
    refused(
        handle
            .close(&handle.pull_id(404), &CloseReq::default())
            .await,
        "not_found",
    );
    let heard = notes.0.lock().unwrap().clone();
    assert_eq!(
        heard,
        [
            "+pr.close",
            "-pr.close ok",
            "+pr.close",
            "-pr.close not_found"
        ]
    );
}

async fn error_names_the_operation(fx: Fixture) {
    fx.open("feature").await;
    let e = refused(
        fx.author
            .merge(&fx.author.pull_id(404), &Default::default())
            .await,
        "not_found",
    );
    assert_eq!(e.op(), Some("pr.merge"));
}
