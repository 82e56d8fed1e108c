//! Behaviour of threads on lines of the diff.

use forge_core::{
    PageReq, PrId,
    model::{
        CommentId, NewReview, NewThread, PendingReview, ReviewState, Side, Thread, ThreadFilter,
        ThreadId, Verdict,
    },
};

use super::{Fixture, Set, cases, invalid, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        thread_starts_on_an_added_line [ReviewInline];
        thread_starts_on_a_deleted_line [ReviewInline];
        thread_starts_on_a_range_of_lines [ReviewInline];
        thread_starts_on_a_context_line [ReviewInline];
        one_review_starts_several_threads [ReviewInline];
        review_names_opened_threads [ReviewInline];
        thread_starts_on_a_whole_file [ReviewInline];
        thread_on_unchanged_file_is_refused [ReviewInline];
        line_outside_the_diff_is_refused [ReviewInline];
        file_outside_the_diff_is_refused [ReviewInline];
        reversed_range_is_refused [ReviewInline];
        empty_thread_body_is_refused [ReviewInline];
        invalid_thread_stops_the_whole_review [ReviewInline, ReviewVerdict];
        thread_is_resolved_and_reopened [ReviewInline, ThreadResolve];
        repeated_resolve_changes_nothing [ReviewInline, ThreadResolve];
        resolve_of_missing_thread_is_not_found [ReviewInline, ThreadResolve];
        thread_filters_select_by_state [ReviewInline, ThreadResolve];
        reply_joins_the_thread [ReviewInline, CommentReply];
        reply_to_thread_id_joins_the_thread [ReviewInline, CommentReply];
        thread_with_changed_lines_is_outdated [ReviewInline];
        a_thread_is_current_when_other_lines_change [ReviewInline];
        threads_are_paged [ReviewInline];
        thread_comments_are_not_conversation [ReviewInline, Comments];
        pending_review_is_published_only_on_request [ReviewPending, ReviewInline, ReviewVerdict];
        discarded_pending_review_is_gone [ReviewPending, ReviewInline];
    ];
}

/// Opens a pull request that changes line 10 of `src/lib.rs` and adds a file.
async fn open(fx: &Fixture) -> PrId {
    let text = fx
        .git
        .show("main", "src/lib.rs")
        .replace("line 10\n", "line ten\nline ten and a half\n");
    fx.git.commit(
        "feature",
        "Change",
        &[("src/lib.rs", Some(&text)), ("new.txt", Some("a\nb\nc\n"))],
    );
    fx.open_from("feature").await.id
}

fn on(path: &str, line: u64) -> NewThread {
    NewThread::new(path, Some(line), format!("About {path}:{line}"))
}

fn review(threads: Vec<NewThread>) -> NewReview {
    let mut review = NewReview::new(Verdict::Comment, "");
    review.threads = threads;
    review
}

async fn start(fx: &Fixture, pr: &PrId, thread: NewThread) -> Thread {
    fx.reviewer
        .submit_review(pr, &review(vec![thread]))
        .await
        .unwrap();
    all(fx, pr, ThreadFilter::All).await.pop().unwrap()
}

async fn all(fx: &Fixture, pr: &PrId, filter: ThreadFilter) -> Vec<Thread> {
    fx.author
        .threads(pr, filter, PageReq::first(100))
        .await
        .unwrap()
        .items
}

fn id(pr: &PrId, thread: &Thread) -> ThreadId {
    ThreadId {
        pr: pr.clone(),
        key: thread.id.clone(),
    }
}

async fn thread_starts_on_an_added_line(fx: Fixture) {
    let pr = open(&fx).await;
    let thread = start(&fx, &pr, on("new.txt", 2)).await;
    assert_eq!((thread.path.as_str(), thread.line), ("new.txt", Some(2)));
    assert_eq!(thread.side, Side::Right);
    assert!(!thread.resolved && !thread.outdated);
    assert_eq!(thread.comments.len(), 1);
    let comment = &thread.comments[0];
    assert_eq!(comment.body, "About new.txt:2");
    assert_eq!(comment.author.login, fx.reviewer_login().await);
    assert_eq!(comment.file_path.as_deref(), Some("new.txt"));
    assert_eq!(comment.line_number, Some(2));
}

async fn thread_starts_on_a_deleted_line(fx: Fixture) {
    let pr = open(&fx).await;
    let mut new = on("src/lib.rs", 10);
    new.side = Side::Left;
    let thread = start(&fx, &pr, new).await;
    assert_eq!((thread.line, thread.side), (Some(10), Side::Left));
}

async fn thread_starts_on_a_range_of_lines(fx: Fixture) {
    let pr = open(&fx).await;
    let mut new = on("src/lib.rs", 11);
    new.start_line = Some(10);
    let thread = start(&fx, &pr, new).await;
    assert_eq!((thread.start_line, thread.line), (Some(10), Some(11)));
}

async fn thread_starts_on_a_context_line(fx: Fixture) {
    let pr = open(&fx).await;
    let thread = start(&fx, &pr, on("src/lib.rs", 8)).await;
    assert_eq!(thread.line, Some(8));
}

async fn one_review_starts_several_threads(fx: Fixture) {
    let pr = open(&fx).await;
    let new = review(vec![
        on("new.txt", 1),
        on("new.txt", 3),
        on("src/lib.rs", 10),
    ]);
    let made = fx.reviewer.submit_review(&pr, &new).await.unwrap().value;
    assert_eq!(made.comments.len(), 3);
    assert_eq!(all(&fx, &pr, ThreadFilter::All).await.len(), 3);
    let reviews = fx
        .author
        .reviews(&pr, PageReq::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(reviews.len(), 1);
}

async fn review_names_opened_threads(fx: Fixture) {
    let pr = open(&fx).await;
    start(&fx, &pr, on("new.txt", 2)).await;
    let places = [("src/lib.rs", 10), ("new.txt", 3), ("new.txt", 1)];
    let new = review(places.map(|(path, line)| on(path, line)).into());
    let made = fx.reviewer.submit_review(&pr, &new).await.unwrap().value;
    let threads = all(&fx, &pr, ThreadFilter::All).await;
    assert_eq!(made.threads.len(), 3);
    for (id, (path, line)) in made.threads.iter().zip(places) {
        let thread = threads.iter().find(|t| t.id == *id).unwrap();
        assert_eq!((thread.path.as_str(), thread.line), (path, Some(line)));
    }
}

async fn thread_starts_on_a_whole_file(fx: Fixture) {
    let pr = open(&fx).await;
    let mut whole = on("new.txt", 1);
    whole.line = None;
    let mut new = review(vec![whole, on("src/lib.rs", 10)]);
    new.body = "In all.".into();
    let made = fx.reviewer.submit_review(&pr, &new).await.unwrap().value;
    assert_eq!(made.body.as_deref(), Some("In all."));
    assert_eq!((made.comments.len(), made.threads.len()), (2, 2));
    let threads = all(&fx, &pr, ThreadFilter::All).await;
    let of = |id: &String| threads.iter().find(|t| t.id == *id).unwrap();
    let (file, line) = (of(&made.threads[0]), of(&made.threads[1]));
    assert_eq!((file.path.as_str(), file.line), ("new.txt", None));
    assert_eq!(file.comments[0].line_number, None);
    assert!(!file.outdated);
    assert_eq!((line.path.as_str(), line.line), ("src/lib.rs", Some(10)));
}

async fn thread_on_unchanged_file_is_refused(fx: Fixture) {
    let pr = open(&fx).await;
    let whole = |path: &str| {
        let mut thread = on(path, 1);
        thread.line = None;
        thread
    };
    let bad = review(vec![on("new.txt", 1), whole("README.md")]);
    let e = invalid(fx.reviewer.submit_review(&pr, &bad).await, "path");
    assert!(e.message().contains("README.md"), "{e}");
    let mut range = whole("new.txt");
    range.start_line = Some(1);
    let bad = review(vec![range]);
    invalid(fx.reviewer.submit_review(&pr, &bad).await, "line");
    // The refused review leaves no pending review that would block the next one.
    assert!(all(&fx, &pr, ThreadFilter::All).await.is_empty());
    let good = review(vec![whole("new.txt")]);
    fx.reviewer.submit_review(&pr, &good).await.unwrap();
    assert_eq!(all(&fx, &pr, ThreadFilter::All).await.len(), 1);
}

async fn line_outside_the_diff_is_refused(fx: Fixture) {
    let pr = open(&fx).await;
    for line in [1, 21, 22, 99_999] {
        let refusal = fx
            .reviewer
            .submit_review(&pr, &review(vec![on("src/lib.rs", line)]))
            .await;
        let e = invalid(refusal, "line");
        assert!(
            e.message().contains("src/lib.rs") && e.message().contains(&line.to_string()),
            "{e}"
        );
    }
    let zero = review(vec![on("src/lib.rs", 0)]);
    invalid(fx.reviewer.submit_review(&pr, &zero).await, "line");
    assert!(all(&fx, &pr, ThreadFilter::All).await.is_empty());
}

async fn file_outside_the_diff_is_refused(fx: Fixture) {
    let pr = open(&fx).await;
    let refusal = fx
        .reviewer
        .submit_review(&pr, &review(vec![on("README.md", 1)]))
        .await;
    let e = invalid(refusal, "path");
    assert!(e.message().contains("README.md"), "{e}");
}

async fn reversed_range_is_refused(fx: Fixture) {
    let pr = open(&fx).await;
    let mut new = on("new.txt", 1);
    new.start_line = Some(3);
    refused(
        fx.reviewer.submit_review(&pr, &review(vec![new])).await,
        "invalid_input",
    );
}

async fn empty_thread_body_is_refused(fx: Fixture) {
    let pr = open(&fx).await;
    let mut new = on("new.txt", 1);
    new.body = " ".into();
    refused(
        fx.reviewer.submit_review(&pr, &review(vec![new])).await,
        "invalid_input",
    );
}

async fn invalid_thread_stops_the_whole_review(fx: Fixture) {
    let pr = open(&fx).await;
    let mut new = NewReview::new(Verdict::Approve, "Good.");
    new.threads = vec![on("new.txt", 1), on("new.txt", 500)];
    refused(fx.reviewer.submit_review(&pr, &new).await, "invalid_input");
    assert_eq!(fx.view(&pr).await.approvals, 0);
    assert!(all(&fx, &pr, ThreadFilter::All).await.is_empty());
}

async fn thread_is_resolved_and_reopened(fx: Fixture) {
    let pr = open(&fx).await;
    let thread = start(&fx, &pr, on("new.txt", 1)).await;
    let resolved = fx
        .author
        .resolve_thread(&id(&pr, &thread), true)
        .await
        .unwrap()
        .value;
    assert!(resolved.resolved);
    assert_eq!(
        resolved.resolved_by.map(|a| a.login),
        Some(fx.author_login().await)
    );
    let back = fx
        .author
        .resolve_thread(&id(&pr, &thread), false)
        .await
        .unwrap()
        .value;
    assert!(!back.resolved && back.resolved_by.is_none());
}

async fn repeated_resolve_changes_nothing(fx: Fixture) {
    let pr = open(&fx).await;
    let thread = start(&fx, &pr, on("new.txt", 1)).await;
    fx.author
        .resolve_thread(&id(&pr, &thread), true)
        .await
        .unwrap();
    let version = fx.view(&pr).await.version;
    let again = fx
        .author
        .resolve_thread(&id(&pr, &thread), true)
        .await
        .unwrap();
    assert!(again.value.resolved);
    assert_eq!(fx.view(&pr).await.version, version);
}

async fn resolve_of_missing_thread_is_not_found(fx: Fixture) {
    let pr = open(&fx).await;
    let nothing = ThreadId {
        pr,
        key: "no-such-thread".into(),
    };
    refused(fx.author.resolve_thread(&nothing, true).await, "not_found");
}

async fn thread_filters_select_by_state(fx: Fixture) {
    let pr = open(&fx).await;
    let first = start(&fx, &pr, on("new.txt", 1)).await;
    let second = start(&fx, &pr, on("new.txt", 2)).await;
    fx.author
        .resolve_thread(&id(&pr, &first), true)
        .await
        .unwrap();
    let ids = |threads: Vec<Thread>| threads.into_iter().map(|t| t.id).collect::<Vec<_>>();
    assert_eq!(
        ids(all(&fx, &pr, ThreadFilter::Unresolved).await),
        [second.id.clone()]
    );
    assert_eq!(
        ids(all(&fx, &pr, ThreadFilter::Resolved).await),
        [first.id.clone()]
    );
    assert_eq!(
        ids(all(&fx, &pr, ThreadFilter::All).await),
        [first.id, second.id]
    );
}

async fn reply_joins_the_thread(fx: Fixture) {
    let pr = open(&fx).await;
    let thread = start(&fx, &pr, on("new.txt", 1)).await;
    let root = CommentId {
        pr: pr.clone(),
        key: thread.comments[0].id.clone(),
    };
    fx.author
        .comment(&pr, "Because.", Some(&root))
        .await
        .unwrap();
    let threads = all(&fx, &pr, ThreadFilter::All).await;
    assert_eq!(threads.len(), 1);
    let bodies: Vec<_> = threads[0]
        .comments
        .iter()
        .map(|c| c.body.as_str())
        .collect();
    assert_eq!(bodies, ["About new.txt:1", "Because."]);
}

async fn reply_to_thread_id_joins_the_thread(fx: Fixture) {
    let pr = open(&fx).await;
    let thread = start(&fx, &pr, on("new.txt", 1)).await;
    start(&fx, &pr, on("new.txt", 2)).await;
    let to = CommentId {
        pr: pr.clone(),
        key: thread.id.clone(),
    };
    for text in ["Because.", "And so on."] {
        fx.author.comment(&pr, text, Some(&to)).await.unwrap();
    }
    let threads = all(&fx, &pr, ThreadFilter::All).await;
    let answered = threads.iter().find(|t| t.id == thread.id).unwrap();
    let bodies: Vec<_> = answered.comments.iter().map(|c| c.body.as_str()).collect();
    assert_eq!(bodies, ["About new.txt:1", "Because.", "And so on."]);
}

async fn thread_with_changed_lines_is_outdated(fx: Fixture) {
    let pr = open(&fx).await;
    start(&fx, &pr, on("new.txt", 2)).await;
    fx.git
        .commit("feature", "Rewrite", &[("new.txt", Some("a\nB\nc\n"))]);
    let threads = all(&fx, &pr, ThreadFilter::All).await;
    assert!(threads[0].outdated);
}

async fn a_thread_is_current_when_other_lines_change(fx: Fixture) {
    let pr = open(&fx).await;
    start(&fx, &pr, on("new.txt", 2)).await;
    fx.git
        .commit("feature", "Elsewhere", &[("other.txt", Some("x\n"))]);
    let threads = all(&fx, &pr, ThreadFilter::All).await;
    assert!(!threads[0].outdated);
}

async fn threads_are_paged(fx: Fixture) {
    let pr = open(&fx).await;
    for line in [1, 2, 3] {
        start(&fx, &pr, on("new.txt", line)).await;
    }
    let filter = ThreadFilter::All;
    let first = fx
        .author
        .threads(&pr, filter, PageReq::first(2))
        .await
        .unwrap();
    assert_eq!(first.items.len(), 2);
    let next = PageReq::after(first.next.unwrap(), 2);
    let rest = fx.author.threads(&pr, filter, next).await.unwrap();
    assert_eq!((rest.items.len(), rest.next.is_none()), (1, true));
}

async fn thread_comments_are_not_conversation(fx: Fixture) {
    let pr = open(&fx).await;
    start(&fx, &pr, on("new.txt", 1)).await;
    fx.author.comment(&pr, "In general …", None).await.unwrap();
    let comments = fx
        .author
        .comments(&pr, PageReq::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(comments.len(), 1);
    assert_eq!(fx.view(&pr).await.comments_count, 1);
}

fn kept(threads: Vec<NewThread>) -> NewReview {
    review(threads).with_pending(PendingReview::Keep)
}

async fn pending_review_is_published_only_on_request(fx: Fixture) {
    let pr = open(&fx).await;
    let me = &fx.reviewer;
    let begun = kept(vec![on("new.txt", 1)]);
    let begun = me.submit_review(&pr, &begun).await.unwrap().value;
    assert_eq!(
        (begun.state, begun.threads.len(), begun.pending_before),
        (ReviewState::Pending, 1, 0)
    );
    let mut whole = on("new.txt", 1);
    whole.line = None;
    let mut more = kept(vec![whole, on("src/lib.rs", 10)]);
    more.body = "In all.".into();
    let more = me.submit_review(&pr, &more).await.unwrap().value;
    assert_eq!((more.id == begun.id, more.threads.len()), (true, 2));
    assert_eq!(more.pending_before, 1);
    // If one comment is refused, the other comments of its request are not kept either.
    for pending in [PendingReview::Keep, PendingReview::Submit] {
        let bad = review(vec![on("new.txt", 2), on("new.txt", 500)]).with_pending(pending);
        let e = invalid(me.submit_review(&pr, &bad).await, "line");
        assert!(e.message().contains("new.txt:500"), "{e}");
    }
    let mut early = kept(vec![on("new.txt", 2)]);
    early.verdict = Verdict::Approve;
    invalid(me.submit_review(&pr, &early).await, "verdict");
    let approval = NewReview::new(Verdict::Approve, "Good.");
    refused(
        me.submit_review(&pr, &approval).await,
        "precondition_failed",
    );
    assert!(all(&fx, &pr, ThreadFilter::All).await.is_empty());
    let mine = me.threads(&pr, ThreadFilter::All, PageReq::first(9)).await;
    let mine = mine.unwrap().items;
    assert!(mine.iter().all(|t| t.pending && !t.is_open()));
    assert_eq!(mine.len(), 3);
    let whole = approval.with_pending(PendingReview::Submit);
    let made = me.submit_review(&pr, &whole).await.unwrap().value;
    assert_eq!(
        (made.state, made.pending_before, made.comments.len()),
        (ReviewState::Approved, 3, 3)
    );
    assert_eq!(made.body.as_deref(), Some("In all.\n\nGood."));
    let threads = all(&fx, &pr, ThreadFilter::All).await;
    assert_eq!(threads.iter().filter(|t| t.is_open()).count(), 3);
    refused(me.submit_review(&pr, &whole).await, "precondition_failed");
}

async fn discarded_pending_review_is_gone(fx: Fixture) {
    let pr = open(&fx).await;
    let me = &fx.reviewer;
    let begun = kept(vec![on("new.txt", 1)]);
    me.submit_review(&pr, &begun).await.unwrap();
    let gone = me.discard_pending_review(&pr).await.unwrap();
    assert_eq!((gone.value, gone.unchanged), (1, false));
    assert!(me.discard_pending_review(&pr).await.unwrap().unchanged);
    start(&fx, &pr, on("new.txt", 2)).await;
    assert_eq!(all(&fx, &pr, ThreadFilter::All).await.len(), 1);
}
