//! Optional features: drafts by a marker in the title, and verdicts in comments.

use std::sync::Arc;

use forge_core::{
    Action, Client, ErrorKind, Op, PageReq, Param, Policy, PrId, Precondition, PullRequests, Repo,
    model::{
        CloseReq, CreatePull, EditPull, MergeReq, NewReview, PrFields, PrState, PullQuery,
        Resubmit, Review, ReviewDecision, ReviewState, Verdict,
    },
};
use forge_tangled::{DraftMarker, TangledSettings};
use forge_tangled_world::{Account, Fault};

use crate::stage::{PASSWORD, Stage, action};

const COMMENT: &str = "sh.tangled.feed.comment";
const PULL: &str = "sh.tangled.repo.pull";

fn opted_in(stage: &Stage) -> TangledSettings {
    TangledSettings {
        draft_marker: Some(DraftMarker::new("[draft]").unwrap()),
        verdict_comments: true,
        ..stage.settings()
    }
}

fn handle(stage: &Stage, account: &Account) -> Repo {
    let forge = stage.tangled_with(opted_in(stage), Some(account));
    Client::new(Arc::new(forge), Policy::default()).repo(stage.id())
}

fn title(stage: &Stage, pr: &PrId) -> String {
    let record = stage.world.pds().record(&pr.key.to_string());
    record.unwrap().1["title"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn draft_is_a_title_marker_removed_by_ready() {
    let stage = Stage::new();
    let (alice, bob) = (handle(&stage, &stage.alice), handle(&stage, &stage.bob));
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let mut req = CreatePull::new("topic", "Add a");
    req.draft = true;
    let made = alice.create_pull(&req).await.unwrap().value;
    assert_eq!(
        (made.draft, made.title.as_str()),
        (true, "[draft] Add a"),
        "the title is shown as it is stored"
    );
    assert_eq!(title(&stage, &made.id), "[draft] Add a");
    let plain = stage.handle(&stage.bob);
    assert!(!plain.pull(&made.id, PrFields::NONE).await.unwrap().draft);

    let e = bob.merge(&made.id, &MergeReq::default()).await.unwrap_err();
    assert_eq!(*e.kind(), ErrorKind::Precondition(Precondition::Draft));
    let ready = Action::op(Op::PrSetDraft).on(&made.node_id);
    assert_eq!(*action(&e), ready.with(Param::Draft, "false"));
    let mut edit = EditPull::default();
    edit.title = Some("Add an a".to_owned());
    let edited = alice.edit_pull(&made.id, &edit).await.unwrap().value;
    assert!(edited.draft, "another title makes nothing ready");

    let e = bob.set_draft(&made.id, false).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    let ready = alice.set_draft(&made.id, false).await.unwrap();
    assert_eq!(ready.ingestion.word(), "confirmed");
    assert_eq!(
        (ready.value.draft, title(&stage, &made.id).as_str()),
        (false, "Add an a")
    );
    let drafts = |draft| {
        let mut query = PullQuery::default();
        query.draft = Some(draft);
        query
    };
    let page = bob.pulls(&drafts(true), PageReq::first(9)).await.unwrap();
    assert!(page.items.is_empty());
    alice.set_draft(&made.id, true).await.unwrap();
    assert_eq!(title(&stage, &made.id), "[draft] Add an a");
    let page = bob.pulls(&drafts(true), PageReq::first(9)).await.unwrap();
    assert_eq!(page.items.len(), 1);
    alice.set_draft(&made.id, false).await.unwrap();
    bob.merge(&made.id, &MergeReq::default()).await.unwrap();
    for (draft, wanted) in [(true, "[draft] Add an a"), (false, "Add an a")] {
        let marked = alice.set_draft(&made.id, draft).await.unwrap();
        let [warning] = marked.warnings.as_slice() else {
            panic!("{:?}", marked.warnings);
        };
        assert!(warning.message.contains("is merged"), "{warning:?}");
        assert_eq!(title(&stage, &made.id), wanted);
    }
}

#[tokio::test]
async fn draft_of_closed_pull_is_marked_with_a_warning() {
    let stage = Stage::new();
    let alice = handle(&stage, &stage.alice);
    let pr = stage.open(&alice, "topic").await.id;
    alice.close(&pr, &CloseReq::default()).await.unwrap();
    let marked = alice.set_draft(&pr, true).await.unwrap();
    let [warning] = marked.warnings.as_slice() else {
        panic!("{:?}", marked.warnings);
    };
    assert!(warning.message.contains("is closed"), "{warning:?}");
    assert!(title(&stage, &pr).starts_with("[draft] "));
    assert_eq!(marked.value.state, PrState::Closed);
}

#[tokio::test]
async fn disabled_feature_names_key_and_writes_nothing() {
    let stage = Stage::new();
    let (alice, bob) = (stage.handle(&stage.alice), stage.handle(&stage.bob));
    let made = stage.open(&alice, "topic").await;
    let before = stage.world.pds().records(&stage.alice.did, PULL);
    let e = alice.set_draft(&made.id, true).await.unwrap_err();
    assert_eq!(e.code(), "unsupported");
    assert!(e.hint().unwrap().text().contains("draft_marker"), "{e:?}");
    let approval = NewReview::new(Verdict::Approve, "");
    let e = bob.submit_review(&made.id, &approval).await.unwrap_err();
    assert_eq!(e.code(), "unsupported");
    assert!(
        e.hint().unwrap().text().contains("verdict_comments"),
        "{e:?}"
    );
    // Calls that do not check the capabilities first are refused as well.
    let forge = stage.tangled(&stage.alice);
    let e = forge.set_draft(&made.id, true).await.unwrap_err();
    assert_eq!(e.code(), "unsupported");
    assert_eq!(stage.world.pds().records(&stage.alice.did, PULL), before);
    assert!(
        stage
            .world
            .pds()
            .records(&stage.bob.did, COMMENT)
            .is_empty()
    );
}

async fn reviews(repo: &Repo, pr: &PrId) -> Vec<Review> {
    let page = repo.reviews(pr, PageReq::first(50)).await.unwrap();
    page.items
}

#[tokio::test]
async fn verdict_is_a_comment_on_reviewed_round() {
    let stage = Stage::new();
    let (alice, bob) = (handle(&stage, &stage.alice), handle(&stage, &stage.bob));
    let made = stage.open(&alice, "topic").await;
    let pr = &made.id;
    let review = NewReview::new(Verdict::Approve, "Fine.\n\nReally.");
    let given = bob.submit_review(pr, &review).await.unwrap();
    assert_eq!(given.ingestion.word(), "confirmed");
    assert!(given.warnings.is_empty(), "{:?}", given.warnings);

    let (_, _, record) = stage.world.pds().records(&stage.bob.did, COMMENT).remove(0);
    forge_tangled::lexicon::check(COMMENT, &record).unwrap();
    let (_, pull) = stage.world.pds().record(&made.node_id).unwrap();
    let patch = pull["rounds"][0]["patchBlob"]["ref"]["$link"]
        .as_str()
        .unwrap();
    let text = record["body"]["text"].as_str().unwrap();
    assert_eq!(
        text,
        format!("Approved round 0 ({patch})\n\nFine.\n\nReally.")
    );
    assert_eq!(record["pullRoundIdx"], 0);

    let view = alice
        .pull(pr, PrFields::REVIEWS | PrFields::COMMENTS)
        .await
        .unwrap();
    assert_eq!(view.review_decision, Some(ReviewDecision::Approved));
    assert_eq!((view.comments_count, view.comments.unwrap().len()), (0, 0));
    let read = view.reviews.unwrap().remove(0);
    assert_eq!(
        (read.state, read.round, read.commit, read.body.as_deref()),
        (
            ReviewState::Approved,
            Some(0),
            made.head_oid.clone(),
            Some("Fine.\n\nReally.")
        )
    );
    assert_eq!(read.author_association.as_deref(), Some("COLLABORATOR"));

    // An approval applies to its round only, so a new round ends it.
    stage.repo.git.commit("topic", "B", &[("b", Some("y\n"))]);
    let forge = stage.tangled(&stage.alice);
    forge.resubmit(pr, &Resubmit::default()).await.unwrap();
    let view = alice.pull(pr, PrFields::NONE).await.unwrap();
    assert_eq!((view.approvals, view.review_decision), (0, None));
    assert_eq!(view.latest_reviews[0].state, ReviewState::Dismissed);
    let read = reviews(&alice, pr).await.remove(0);
    assert_eq!(
        (read.state, read.round, read.commit),
        (ReviewState::Dismissed, Some(0), made.head_oid)
    );
    // A request for changes stays valid in later rounds.
    let request = NewReview::new(Verdict::RequestChanges, "No.");
    bob.submit_review(pr, &request).await.unwrap();
    stage.repo.git.commit("topic", "C", &[("c", Some("z\n"))]);
    forge.resubmit(pr, &Resubmit::default()).await.unwrap();
    let view = alice.pull(pr, PrFields::NONE).await.unwrap();
    assert_eq!(view.review_decision, Some(ReviewDecision::ChangesRequested));
    assert_eq!(view.latest_reviews[0].round, Some(1));

    // Without the setting, verdicts are plain comments.
    let plain = stage.handle(&stage.alice);
    assert!(reviews(&plain, pr).await.is_empty());
    let view = plain.pull(pr, PrFields::NONE).await.unwrap();
    assert_eq!((view.comments_count, view.review_decision), (2, None));
}

#[tokio::test]
async fn verdicts_of_owner_and_collaborators_count() {
    let stage = Stage::new();
    let (alice, bob) = (handle(&stage, &stage.alice), handle(&stage, &stage.bob));
    let carol = stage.world.pds().account("carol.test", PASSWORD);
    let stranger = handle(&stage, &carol);
    let pr = stage.open(&bob, "topic").await.id;
    let approval = NewReview::new(Verdict::Approve, "");
    let given = stranger.submit_review(&pr, &approval).await.unwrap();
    assert!(
        given.warnings[0].message.contains("does not count"),
        "{:?}",
        given.warnings
    );
    let given = bob.submit_review(&pr, &approval).await.unwrap();
    let [warning] = given.warnings.as_slice() else {
        panic!("{:?}", given.warnings);
    };
    assert!(warning.message.contains("you opened"), "{warning:?}");

    let view = alice.pull(&pr, PrFields::REVIEWS).await.unwrap();
    assert_eq!((view.approvals, view.review_decision), (0, None));
    assert!(view.latest_reviews.is_empty());
    let own = view.author_review.expect("the author's review");
    assert_eq!(
        (own.author.login.as_str(), own.state),
        ("bob.test", ReviewState::Commented)
    );
    let mut seen: Vec<_> = view
        .reviews
        .unwrap()
        .into_iter()
        .map(|r| (r.author.login, r.state, r.author_association.unwrap()))
        .collect();
    seen.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        seen,
        [
            (
                "bob.test".to_owned(),
                ReviewState::Commented,
                "COLLABORATOR".to_owned()
            ),
            (
                "carol.test".to_owned(),
                ReviewState::Approved,
                "NONE".to_owned()
            ),
        ]
    );
    alice.submit_review(&pr, &approval).await.unwrap();
    let view = bob.pull(&pr, PrFields::NONE).await.unwrap();
    assert_eq!(view.review_decision, Some(ReviewDecision::Approved));
    assert_eq!(view.latest_reviews[0].author.login, "alice.test");
}

#[tokio::test]
async fn verdict_on_merged_pull_is_warned_of() {
    let stage = Stage::new();
    let (alice, bob) = (handle(&stage, &stage.alice), handle(&stage, &stage.bob));
    let pr = stage.open(&alice, "topic").await.id;
    alice.merge(&pr, &MergeReq::default()).await.unwrap();
    for verdict in [Verdict::Approve, Verdict::RequestChanges] {
        let review = NewReview::new(verdict, "Fine.");
        let given = bob.submit_review(&pr, &review).await.unwrap();
        let [warning] = given.warnings.as_slice() else {
            panic!("{:?}", given.warnings);
        };
        assert!(warning.message.contains("is merged: "), "{warning:?}");
    }
}

#[tokio::test]
async fn verdict_without_text_has_one_line() {
    let stage = Stage::new();
    let (alice, bob) = (handle(&stage, &stage.alice), handle(&stage, &stage.bob));
    let pr = stage.open(&alice, "topic").await.id;
    let request = NewReview::new(Verdict::RequestChanges, "");
    let given = bob.submit_review(&pr, &request).await.unwrap();
    assert!(given.warnings.is_empty(), "{:?}", given.warnings);
    let (_, _, record) = stage.world.pds().records(&stage.bob.did, COMMENT).remove(0);
    let text = record["body"]["text"].as_str().unwrap();
    assert!(text.starts_with("Requested changes to round 0 ("), "{text}");
    assert!(!text.contains('\n'), "{text}");
    let view = alice.pull(&pr, PrFields::NONE).await.unwrap();
    assert_eq!(view.review_decision, Some(ReviewDecision::ChangesRequested));
}

/// The servers of verdicts do not have what the index shows, or do not answer.
#[tokio::test]
async fn verdict_shown_only_by_index_does_not_count() {
    let stage = Stage::new();
    let (alice, bob) = (handle(&stage, &stage.alice), handle(&stage, &stage.bob));
    let pds = stage.world.pds();
    let missing = || Fault::error(400, "RecordNotFound", "Could not locate record");
    let changes = Some(ReviewDecision::ChangesRequested);
    let section = Some("latest_reviews");
    for (branch, verdict, fault, decision, told, unread) in [
        (
            "a",
            Verdict::Approve,
            missing(),
            None,
            "only the index",
            None,
        ),
        (
            "b",
            Verdict::RequestChanges,
            missing(),
            None,
            "only the index",
            None,
        ),
        (
            "c",
            Verdict::Approve,
            Fault::gateway(502),
            None,
            "does not count",
            section,
        ),
        (
            "d",
            Verdict::RequestChanges,
            Fault::gateway(502),
            changes,
            "and counts",
            section,
        ),
    ] {
        let pr = stage.open(&bob, branch).await.id;
        let review = NewReview::new(verdict, "Text.");
        alice.submit_review(&pr, &review).await.unwrap();
        let (uri, ..) = pds.records(&stage.alice.did, COMMENT).pop().unwrap();
        let key = uri.rsplit('/').next().unwrap();
        pds.host().fault(fault.about(key).always());
        let view = bob.pull(&pr, PrFields::REVIEWS).await.unwrap();
        pds.host().clear_faults();
        assert_eq!(
            (view.approvals, view.review_decision),
            (0, decision),
            "{branch}"
        );
        let warning = view.warnings.iter().find(|w| w.message.contains(told));
        assert_eq!(warning.expect(told).section, unread, "{branch}");
    }
}
