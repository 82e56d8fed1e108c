//! What is said about single rounds.

use forge_core::{
    PageReq, PullRequests,
    model::{CommentId, Resubmit},
};

use crate::stage::Stage;

#[tokio::test]
async fn a_comment_says_which_round_it_is_about() {
    let stage = Stage::new();
    let (alice, bob) = (stage.handle(&stage.alice), stage.handle(&stage.bob));
    let pr = stage.open(&alice, "topic").await.id;
    let first = bob.comment(&pr, "On the first.", None).await.unwrap().value;
    stage.repo.git.commit("topic", "B", &[("b", Some("y\n"))]);
    let forge = stage.tangled(&stage.alice);
    let again = Resubmit {
        comment: Some("Here it is.".into()),
        ..Resubmit::default()
    };
    forge.resubmit(&pr, &again).await.unwrap();
    let id = CommentId {
        pr: pr.clone(),
        key: first.id.clone(),
    };
    let answer = bob.comment(&pr, "Thanks.", Some(&id)).await.unwrap().value;
    assert_eq!((first.round, answer.round), (Some(0), Some(1)));

    let all = alice.comments(&pr, PageReq::first(10)).await.unwrap().items;
    let seen: Vec<_> = all.iter().map(|c| (c.body.as_str(), c.round)).collect();
    assert_eq!(
        seen,
        [
            ("On the first.", Some(0)),
            ("Here it is.", Some(1)),
            ("Thanks.", Some(1))
        ]
    );
    assert_eq!(all[2].reply_to.as_ref(), Some(&first.id));
}
