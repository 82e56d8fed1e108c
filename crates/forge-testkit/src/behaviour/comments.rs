//! Behaviour of comments on a pull request.

use forge_core::{
    PageReq, PrId,
    model::{Comment, CommentId},
};

use super::{Fixture, Set, cases, invalid, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        a_comment_is_read_back [Comments];
        comments_are_oldest_first [Comments];
        pages_cover_every_comment_once [Comments];
        comment_body_is_stored_unchanged [Comments];
        empty_comment_is_refused [Comments];
        comment_over_the_limit_is_refused [Comments];
        comment_on_missing_pull_is_not_found [Comments];
        closed_pull_accepts_comments [Comments, PrClose];
        comments_count_is_current [Comments, CommentDelete];
        reply_names_the_replied_comment [Comments, CommentReply];
        reply_to_missing_comment_is_not_found [Comments, CommentReply];
        own_comment_is_edited [Comments, CommentEdit];
        edit_to_empty_text_is_refused [Comments, CommentEdit];
        edit_of_foreign_comment_needs_moderation [Comments, CommentEdit];
        edit_of_missing_comment_is_not_found [Comments, CommentEdit];
        own_comment_is_deleted [Comments, CommentDelete];
        deletion_of_foreign_comment_needs_moderation [Comments, CommentDelete];
        second_deletion_is_not_found [Comments, CommentDelete];
    ];
}

async fn all(fx: &Fixture, pr: &PrId) -> Vec<Comment> {
    fx.author
        .comments(pr, PageReq::first(100))
        .await
        .unwrap()
        .items
}

async fn say(fx: &Fixture, pr: &PrId, body: &str) -> CommentId {
    let made = fx.author.comment(pr, body, None).await.unwrap().value;
    CommentId {
        pr: pr.clone(),
        key: made.id,
    }
}

async fn a_comment_is_read_back(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let made = fx
        .reviewer
        .comment(&pr, "Looks good.", None)
        .await
        .unwrap()
        .value;
    let read = all(&fx, &pr).await;
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].id, made.id);
    assert_eq!(read[0].body, "Looks good.");
    assert_eq!(read[0].author.login, fx.reviewer_login().await);
    assert!(made.viewer_did_author && !read[0].viewer_did_author);
    assert_eq!((&read[0].updated_at, &read[0].reply_to), (&None, &None));
    assert!(read[0].file_path.is_none());
}

async fn comments_are_oldest_first(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for body in ["one", "two", "three"] {
        say(&fx, &pr, body).await;
    }
    let bodies: Vec<_> = all(&fx, &pr).await.into_iter().map(|c| c.body).collect();
    assert_eq!(bodies, ["one", "two", "three"]);
}

async fn pages_cover_every_comment_once(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for n in 0..5 {
        say(&fx, &pr, &n.to_string()).await;
    }
    let mut bodies = Vec::new();
    let mut page = PageReq::first(2);
    loop {
        let got = fx.author.comments(&pr, page).await.unwrap();
        bodies.extend(got.items.into_iter().map(|c| c.body));
        let Some(next) = got.next else { break };
        page = PageReq::after(next, 2);
    }
    assert_eq!(bodies, ["0", "1", "2", "3", "4"]);
}

async fn comment_body_is_stored_unchanged(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let body = "> quoted\n\n\tcode\n\n--\n\u{1f980}\u{200d}é\n---\nkey: value\n";
    say(&fx, &pr, body).await;
    assert_eq!(all(&fx, &pr).await[0].body, body);
}

async fn empty_comment_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    for body in ["", "  \n\t"] {
        invalid(fx.author.comment(&pr, body, None).await, "body");
    }
    assert!(all(&fx, &pr).await.is_empty());
}

async fn comment_over_the_limit_is_refused(fx: Fixture) {
    let max = fx.author.limits().body_max;
    let pr = fx.open("feature").await.id;
    let e = invalid(
        fx.author.comment(&pr, &"x".repeat(max + 1), None).await,
        "body",
    );
    assert!(e.message().contains(&max.to_string()), "{e}");
}

async fn comment_on_missing_pull_is_not_found(fx: Fixture) {
    fx.open("feature").await;
    let gone = fx.author.pull_id(500);
    refused(fx.author.comment(&gone, "Hello?", None).await, "not_found");
    refused(
        fx.author.comments(&gone, PageReq::first(1)).await,
        "not_found",
    );
}

async fn closed_pull_accepts_comments(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    fx.author.close(&pr, &Default::default()).await.unwrap();
    say(&fx, &pr, "Why?").await;
    assert_eq!(all(&fx, &pr).await.len(), 1);
}

async fn comments_count_is_current(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let first = say(&fx, &pr, "one").await;
    say(&fx, &pr, "two").await;
    assert_eq!(fx.view(&pr).await.comments_count, 2);
    fx.author.delete_comment(&first).await.unwrap();
    assert_eq!(fx.view(&pr).await.comments_count, 1);
}

async fn reply_names_the_replied_comment(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let first = say(&fx, &pr, "Why?").await;
    let reply = fx
        .reviewer
        .comment(&pr, "Because.", Some(&first))
        .await
        .unwrap()
        .value;
    assert_eq!(reply.reply_to, Some(first.key.clone()));
    let read = all(&fx, &pr).await;
    let found = read.iter().find(|c| c.id == reply.id).unwrap();
    assert_eq!(found.reply_to, Some(first.key));
}

async fn reply_to_missing_comment_is_not_found(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let nothing = CommentId {
        pr: pr.clone(),
        key: "no-such-comment".into(),
    };
    refused(
        fx.author.comment(&pr, "Because.", Some(&nothing)).await,
        "not_found",
    );
    assert!(all(&fx, &pr).await.is_empty());
}

async fn own_comment_is_edited(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let id = say(&fx, &pr, "Tpyo").await;
    let made = fx.author.edit_comment(&id, "Typo").await.unwrap().value;
    assert_eq!(made.id, id.key);
    let read = all(&fx, &pr).await;
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].body, "Typo");
    assert!(read[0].updated_at.is_some());
}

async fn edit_to_empty_text_is_refused(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let id = say(&fx, &pr, "Text").await;
    invalid(fx.author.edit_comment(&id, "").await, "body");
    assert_eq!(all(&fx, &pr).await[0].body, "Text");
}

async fn edit_of_foreign_comment_needs_moderation(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let id = say(&fx, &pr, "Mine").await;
    let edited = fx.reviewer.edit_comment(&id, "Yours").await;
    if fx.facts.writers_moderate {
        let comment = edited.unwrap().value;
        assert_eq!(
            (comment.body.as_str(), comment.viewer_did_author),
            ("Yours", false)
        );
        assert_eq!(all(&fx, &pr).await[0].author.login, fx.author_login().await);
        return;
    }
    refused(edited, "permission_denied");
    assert_eq!(all(&fx, &pr).await[0].body, "Mine");
}

async fn edit_of_missing_comment_is_not_found(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let nothing = CommentId {
        pr,
        key: "no-such-comment".into(),
    };
    refused(fx.author.edit_comment(&nothing, "Text").await, "not_found");
}

async fn own_comment_is_deleted(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let first = say(&fx, &pr, "one").await;
    say(&fx, &pr, "two").await;
    fx.author.delete_comment(&first).await.unwrap();
    let bodies: Vec<_> = all(&fx, &pr).await.into_iter().map(|c| c.body).collect();
    assert_eq!(bodies, ["two"]);
}

async fn deletion_of_foreign_comment_needs_moderation(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let id = say(&fx, &pr, "Mine").await;
    let deleted = fx.reviewer.delete_comment(&id).await;
    if fx.facts.writers_moderate {
        deleted.unwrap();
        assert!(all(&fx, &pr).await.is_empty());
        return;
    }
    refused(deleted, "permission_denied");
    assert_eq!(all(&fx, &pr).await.len(), 1);
}

async fn second_deletion_is_not_found(fx: Fixture) {
    let pr = fx.open("feature").await.id;
    let id = say(&fx, &pr, "one").await;
    fx.author.delete_comment(&id).await.unwrap();
    refused(fx.author.delete_comment(&id).await, "not_found");
}
