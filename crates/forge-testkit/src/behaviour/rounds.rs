//! Behaviour of rounds: submitting and reading rounds, and pull requests made from a patch.

use forge_core::{
    Capability, PageReq, PrId,
    model::{CloseReq, CreatePull, DiffReq, EditPull, PrFields, Resubmit, Rounds, StatusEventKind},
};
use futures::StreamExt as _;

use super::{Fixture, Set, cases, invalid, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        resubmit_adds_a_round [PrResubmit];
        earlier_rounds_stay_readable [PrResubmit, PrRounds];
        interdiff_has_only_later_changes [PrResubmit, PrRounds];
        missing_round_is_not_found [PrResubmit, PrRounds];
        a_round_is_in_the_history [PrResubmit, PrHistory];
        resubmit_of_same_head_is_unchanged [PrResubmit];
        resubmit_by_another_account_is_refused [PrResubmit];
        resubmit_of_closed_pull_is_refused [PrResubmit, PrClose];
        resubmit_of_stale_version_is_refused [PrResubmit, PrEdit];
        resubmit_can_add_a_comment [PrResubmit, Comments];
        comment_names_the_round [PrResubmit, Comments];
        resubmit_accepts_a_patch [PrResubmit, PrFiles];
        resubmit_of_invalid_patch_is_refused [PrResubmit];
        pull_is_opened_from_a_patch [PrCreatePatch, PrFiles];
        create_from_invalid_patch_is_refused [PrCreatePatch];
    ];
}

/// Adds a second commit to the branch `feature`.
fn more(fx: &Fixture) -> String {
    fx.git
        .commit("feature", "Add more", &[("more.txt", Some("more\n"))])
}

async fn diff(fx: &Fixture, pr: &PrId, round: Option<usize>, since: Option<usize>) -> String {
    let mut req = DiffReq::default();
    req.rounds = Some(Rounds::new(round, since));
    let mut body = fx.author.diff(pr, &req).await.unwrap().body;
    let mut all = Vec::new();
    while let Some(chunk) = body.next().await {
        all.extend(chunk.unwrap());
    }
    String::from_utf8(all).unwrap()
}

/// Returns the output of `git format-patch` for a branch, and deletes the branch.
fn patch(fx: &Fixture, path: &str) -> Vec<u8> {
    fx.git.commit("elsewhere", "Add it", &[(path, Some("x\n"))]);
    let made = ["format-patch", "--stdout", "main..elsewhere"];
    let made = fx.git.run(made).text();
    fx.git.delete_branch("elsewhere");
    made.into_bytes()
}

async fn paths(fx: &Fixture, pr: &PrId) -> Vec<String> {
    let page = fx.author.files(pr, PageReq::first(10)).await.unwrap();
    page.items.into_iter().map(|f| f.path).collect()
}

async fn comment_names_the_round(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let first = fx.reviewer.comment(&pr, "Why?", None).await.unwrap().value;
    more(&fx);
    fx.author.resubmit(&pr, &Resubmit::default()).await.unwrap();
    let second = fx.reviewer.comment(&pr, "Ah.", None).await.unwrap().value;
    assert_eq!((first.round, second.round), (Some(0), Some(1)));
    let page = fx.author.comments(&pr, PageReq::first(10)).await.unwrap();
    let rounds: Vec<_> = page.items.iter().map(|c| c.round).collect();
    assert_eq!(rounds, [Some(0), Some(1)]);
}

async fn resubmit_adds_a_round(fx: Fixture) {
    let opened = fx.open("feature").await;
    assert_eq!(opened.rounds, Some(1));
    let head = more(&fx);
    let outcome = fx
        .author
        .resubmit(&opened.id, &Resubmit::default())
        .await
        .unwrap();
    assert!(!outcome.unchanged && outcome.warnings.is_empty());
    let read = fx.view(&opened.id).await;
    for pr in [outcome.value, read] {
        assert_eq!(pr.rounds, Some(2));
        assert_eq!(pr.head_oid.as_deref(), Some(head.as_str()));
        assert_ne!(pr.version, opened.version);
    }
}

async fn earlier_rounds_stay_readable(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    more(&fx);
    fx.author.resubmit(&pr, &Resubmit::default()).await.unwrap();
    let first = diff(&fx, &pr, Some(0), None).await;
    assert!(
        first.contains("b/feature.txt") && !first.contains("b/more.txt"),
        "{first}"
    );
    for newest in [Some(1), None] {
        let second = diff(&fx, &pr, newest, None).await;
        assert!(
            second.contains("b/feature.txt") && second.contains("b/more.txt"),
            "{second}"
        );
    }
}

async fn interdiff_has_only_later_changes(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    more(&fx);
    fx.author.resubmit(&pr, &Resubmit::default()).await.unwrap();
    let since = diff(&fx, &pr, Some(1), Some(0)).await;
    assert!(
        !since.contains("b/feature.txt") && since.contains("b/more.txt"),
        "{since}"
    );
}

async fn missing_round_is_not_found(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let ask = |round, since| {
        let mut req = DiffReq::default();
        req.rounds = Some(Rounds::new(Some(round), since));
        req
    };
    let none = fx.author.diff(&pr, &ask(7, None)).await.map(|_| ());
    refused(none, "not_found");
    let backwards = fx.author.diff(&pr, &ask(0, Some(0))).await.map(|_| ());
    invalid(backwards, "since");
}

async fn a_round_is_in_the_history(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    more(&fx);
    fx.author.resubmit(&pr, &Resubmit::default()).await.unwrap();
    let history = fx.author.history(&pr, PageReq::first(10)).await.unwrap();
    let moved: Vec<_> = history
        .items
        .iter()
        .filter(|e| e.kind == StatusEventKind::HeadChanged)
        .collect();
    assert_eq!(moved.len(), 1);
    assert_eq!(moved[0].actor.login, fx.author_login().await);
}

async fn resubmit_of_same_head_is_unchanged(fx: Fixture) {
    let opened = fx.open("feature").await;
    let outcome = fx
        .author
        .resubmit(&opened.id, &Resubmit::default())
        .await
        .unwrap();
    assert!(outcome.unchanged && !outcome.warnings.is_empty());
    let read = fx.view(&opened.id).await;
    assert_eq!((read.rounds, read.version), (Some(1), opened.version));
}

async fn resubmit_by_another_account_is_refused(fx: Fixture) {
    let opened = fx.open("feature").await;
    more(&fx);
    refused(
        fx.reviewer.resubmit(&opened.id, &Resubmit::default()).await,
        "permission_denied",
    );
    assert_eq!(fx.view(&opened.id).await.version, opened.version);
}

async fn resubmit_of_closed_pull_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &CloseReq::default()).await.unwrap();
    more(&fx);
    refused(
        fx.author.resubmit(&pr, &Resubmit::default()).await,
        "precondition_failed",
    );
    assert_eq!(fx.view(&pr).await.rounds, Some(1));
}

async fn resubmit_of_stale_version_is_refused(fx: Fixture) {
    let opened = fx.open("feature").await;
    let mut edit = EditPull::default();
    edit.title = Some("Another".into());
    fx.author.edit_pull(&opened.id, &edit).await.unwrap();
    more(&fx);
    let mut req = Resubmit::default();
    req.expected_version = Some(opened.version);
    refused(fx.author.resubmit(&opened.id, &req).await, "conflict");
    assert_eq!(fx.view(&opened.id).await.rounds, Some(1));
}

async fn resubmit_can_add_a_comment(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    more(&fx);
    let with = |comment: &str| {
        let mut req = Resubmit::default();
        req.comment = Some(comment.into());
        req
    };
    invalid(fx.author.resubmit(&pr, &with(" ")).await, "comment");
    assert_eq!(fx.view(&pr).await.rounds, Some(1));
    let outcome = fx.author.resubmit(&pr, &with("Rebased.")).await.unwrap();
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    let read = fx.author.pull(&pr, PrFields::COMMENTS).await.unwrap();
    let bodies: Vec<_> = read.comments.unwrap().into_iter().map(|c| c.body).collect();
    assert_eq!(bodies, ["Rebased."]);
}

async fn resubmit_accepts_a_patch(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let mut req = Resubmit::default();
    req.patch = Some(patch(&fx, "other.txt"));
    let outcome = fx.author.resubmit(&pr, &req).await.unwrap();
    assert_eq!(outcome.value.rounds, Some(2));
    assert_eq!(paths(&fx, &pr).await, ["other.txt"]);
}

async fn resubmit_of_invalid_patch_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for text in ["", "hello\n"] {
        let mut req = Resubmit::default();
        req.patch = Some(text.as_bytes().to_vec());
        invalid(fx.author.resubmit(&pr, &req).await, "patch");
    }
    assert_eq!(fx.view(&pr).await.rounds, Some(1));
}

async fn pull_is_opened_from_a_patch(fx: Fixture) {
    let mut req = CreatePull::new("", "From a patch");
    req.patch = Some(patch(&fx, "it.txt"));
    let pr = fx.author.create_pull(&req).await.unwrap().value;
    let table = fx.author.client().forge().capabilities();
    match table.has(Capability::PrResubmit) {
        true => assert_eq!((pr.head_branch.as_str(), pr.rounds), ("", Some(1))),
        // On a forge without rounds, a branch stores the changes.
        false => assert_eq!(
            (fx.git.oid(&pr.head_branch), pr.rounds),
            (pr.head_oid.clone(), None)
        ),
    }
    assert_eq!(paths(&fx, &pr.id).await, ["it.txt"]);
}

async fn create_from_invalid_patch_is_refused(fx: Fixture) {
    let mut req = CreatePull::new("", "From nothing");
    req.patch = Some(b"hello\n".to_vec());
    invalid(fx.author.create_pull(&req).await, "patch");
    let all = fx
        .author
        .pulls(&Default::default(), PageReq::first(5))
        .await;
    assert!(all.unwrap().items.is_empty());
}
