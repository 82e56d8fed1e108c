//! Computes comments, reviews and threads from the events.

use std::collections::BTreeMap;

use forge_core::{
    Result, Timestamp,
    call::{Charged, charge},
    model::{Actor, Comment, Review, ReviewState, Side, Thread},
};
use forge_git::CatFile;

use crate::{
    Local,
    ident::{CommitIdentity, identity},
    store::{Log, LoggedEvent, OpenedThread, PullEvent, StoredPull, events_of_pull, same_login},
};

/// All comments, reviews and threads of a pull request.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Comments on the pull request itself.
    pub comments: Vec<Comment>,
    pub reviews: Vec<Review>,
    pub threads: Vec<Thread>,
    /// For each thread id, the blob that its file had when the thread was opened.
    blobs: BTreeMap<String, Option<String>>,
}

impl Local {
    pub(super) async fn read_conversation(&self, number: u64) -> Result<Conversation> {
        let mut cat = self.store.cat();
        let pull = self.store.read(&mut cat, number).await?;
        self.conversation(&mut cat, &pull, None).await
    }

    /// Reads the conversation of `pull`. Reads the viewer from git if `viewer` is `None`.
    pub(crate) async fn conversation(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        viewer: Option<&CommitIdentity>,
    ) -> Result<Conversation> {
        let ask = async {
            match viewer {
                Some(viewer) => Some(viewer.clone()),
                // Comments can be read without an identity of the viewer. In this case no comment
                // counts as the viewer's.
                None => identity(self.user_git()).await.ok(),
            }
        };
        let (log, viewer) = tokio::join!(self.store.log(cat, pull), ask);
        let viewer = viewer.as_ref().map(|i| i.actor.login.as_str());
        let url = self.pr(pull.number).to_string();
        let log = log?;
        // The text of a thread is in the thread and in its review.
        charge(&events_of_pull(pull.number), 2 * log.weight())?.keep();
        let mut conversation = fold(&log, &url, viewer);
        drop(log);
        self.mark_outdated(cat, pull, &mut conversation).await?;
        Ok(conversation)
    }

    /// Returns the texts of all comments and reviews on `pull`, in no particular order.
    pub(crate) async fn remark_texts(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<Charged<Vec<String>>> {
        let log = self.store.log(cat, pull).await?;
        let memory = charge(&events_of_pull(pull.number), log.weight())?;
        let all = fold(&log, "", None);
        let in_threads = all.threads.into_iter().flat_map(|t| t.comments);
        let comments = all.comments.into_iter().chain(in_threads).map(|c| c.body);
        let reviews = all.reviews.into_iter().filter_map(|r| r.body);
        Ok(Charged::new(comments.chain(reviews).collect(), memory))
    }

    /// Marks a thread as outdated if its file has changed on the thread's side of the diff.
    async fn mark_outdated(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        conversation: &mut Conversation,
    ) -> Result<()> {
        if conversation.threads.is_empty() {
            return Ok(());
        }
        let left = conversation.threads.iter().any(|t| t.side == Side::Left);
        let base = if left {
            self.left_side(pull).await.ok()
        } else {
            None
        };
        let names: Vec<String> = conversation
            .threads
            .iter()
            .map(|t| {
                let side = if t.side == Side::Left {
                    &base
                } else {
                    &pull.head_oid
                };
                side.as_ref()
                    .map_or(String::new(), |oid| format!("{oid}:{}", t.path))
            })
            .collect();
        let now = cat.info_many(&names).await?;
        for (thread, now) in conversation.threads.iter_mut().zip(now) {
            // Git cannot look up a path with a line break. A thread on such a path therefore never
            // becomes outdated.
            let known = !thread.path.contains('\n');
            let then = conversation.blobs.get(&thread.id).cloned().flatten();
            thread.outdated = known && now.map(|i| i.oid) != then;
        }
        Ok(())
    }
}

impl Conversation {
    /// Finds a comment, inside or outside of a thread.
    pub fn comment(&self, id: &str) -> Option<&Comment> {
        let in_threads = self.threads.iter().flat_map(|t| &t.comments);
        self.comments.iter().chain(in_threads).find(|c| c.id == id)
    }

    /// Returns the comment that a reply to `id` answers, and its thread. If `id` is a thread, this
    /// is the last comment in the thread.
    pub fn answered_by(&self, id: &str) -> Option<(&Comment, Option<&Thread>)> {
        match self.threads.iter().find(|t| t.id == id) {
            Some(thread) => Some((thread.comments.last()?, Some(thread))),
            None => Some((self.comment(id)?, self.thread_of(id))),
        }
    }

    /// Returns the thread that contains the comment `id`.
    pub fn thread_of(&self, id: &str) -> Option<&Thread> {
        self.threads
            .iter()
            .find(|t| t.comments.iter().any(|c| c.id == id))
    }

    fn comment_mut(&mut self, id: &str) -> Option<&mut Comment> {
        let in_threads = self.threads.iter_mut().flat_map(|t| &mut t.comments);
        self.comments
            .iter_mut()
            .chain(in_threads)
            .find(|c| c.id == id)
    }

    fn thread_mut(&mut self, id: &str) -> Option<&mut Thread> {
        self.threads.iter_mut().find(|t| t.id == id)
    }

    fn remove(&mut self, id: &str) {
        self.comments.retain(|c| c.id != id);
        for thread in &mut self.threads {
            thread.comments.retain(|c| c.id != id);
        }
        self.threads.retain(|t| !t.comments.is_empty());
    }
}

/// Returns the id of a comment. Ids contain the number of their event. For event 7 they are `c7`
/// (comment), `r7` (review), `t7.0` (thread) and `c7.0` (first comment of the thread).
pub(crate) fn comment_id(seq: u64) -> String {
    format!("c{seq}")
}

pub(super) fn review_id(seq: u64) -> String {
    format!("r{seq}")
}

fn thread_id(seq: u64, n: usize) -> String {
    format!("t{seq}.{n}")
}

/// Creates comments from events.
pub(crate) struct CommentMapper<'a> {
    /// The beginning of the URLs of comments.
    pub url: &'a str,
    pub viewer: Option<&'a str>,
}

impl CommentMapper<'_> {
    pub fn comment(&self, id: String, by: &Actor, at: Timestamp, body: &str) -> Comment {
        let mut comment = Comment::new(id, by.clone(), body, at);
        comment.url = self.url.to_owned();
        comment.viewer_did_author = self.viewer.is_some_and(|v| same_login(v, &by.login));
        comment
    }
}

/// Computes the conversation from the events.
pub(super) fn fold(log: &Log, url: &str, viewer: Option<&str>) -> Conversation {
    let writer = CommentMapper { url, viewer };
    let mut all = Conversation::default();
    for logged in log.events.iter() {
        all.apply_event(logged, &writer);
    }
    // A comment of a review may have been edited or deleted after the review. The copies of the
    // comments in the reviews are therefore replaced by the current comments.
    let now: Vec<_> = all
        .reviews
        .iter()
        .map(|r| {
            r.comments
                .iter()
                .filter_map(|c| all.comment(&c.id).cloned())
                .collect()
        })
        .collect();
    for (review, comments) in all.reviews.iter_mut().zip(now) {
        review.comments = comments;
    }
    all
}

impl Conversation {
    fn apply_event(&mut self, logged: &LoggedEvent, writer: &CommentMapper<'_>) {
        let entry = &logged.entry;
        let (by, at, seq) = (&entry.actor, entry.at, entry.seq);
        match &entry.event {
            PullEvent::Closed {
                comment: Some(body),
            }
            | PullEvent::Reopened {
                comment: Some(body),
            } => {
                self.comments
                    .push(writer.comment(comment_id(seq), by, at, body));
            }
            PullEvent::Commented {
                body,
                reply_to,
                thread,
            } => {
                let mut comment = writer.comment(comment_id(seq), by, at, body);
                comment.reply_to.clone_from(reply_to);
                match thread {
                    None => self.comments.push(comment),
                    Some(thread) => {
                        if let Some(thread) = self.thread_mut(thread) {
                            comment.file_path = Some(thread.path.clone());
                            comment.line_number = thread.line;
                            thread.comments.push(comment);
                        }
                    }
                }
            }
            PullEvent::CommentEdited { comment, body } => {
                if let Some(comment) = self.comment_mut(comment) {
                    comment.body.clone_from(body);
                    comment.updated_at = Some(at);
                }
            }
            PullEvent::CommentDeleted { comment } => self.remove(comment),
            PullEvent::Reviewed {
                state,
                body,
                threads,
            } => {
                let mut opened = Vec::new();
                let mut ids = Vec::new();
                for (n, thread) in threads.iter().enumerate() {
                    let first = self.open_thread(seq, n, thread, writer, logged);
                    opened.push(first);
                    ids.push(thread_id(seq, n));
                }
                let mut review = Review::new(review_id(seq), by.clone(), *state, at);
                review.body = (!body.is_empty()).then(|| body.clone());
                review.commit.clone_from(&entry.head);
                review.comments = opened;
                review.threads = ids;
                self.reviews.push(review);
            }
            PullEvent::ReviewDismissed { review, message } => {
                if let Some(review) = self.reviews.iter_mut().find(|r| r.id == *review) {
                    review.state = ReviewState::Dismissed;
                }
                self.comments
                    .push(writer.comment(comment_id(seq), by, at, message));
            }
            PullEvent::ThreadResolved { thread, resolved } => {
                if let Some(thread) = self.thread_mut(thread) {
                    thread.resolved = *resolved;
                    thread.resolved_by = resolved.then(|| by.clone());
                }
            }
            _ => {}
        }
    }

    fn open_thread(
        &mut self,
        seq: u64,
        n: usize,
        opened: &OpenedThread,
        writer: &CommentMapper<'_>,
        logged: &LoggedEvent,
    ) -> Comment {
        let entry = &logged.entry;
        let mut first = writer.comment(format!("c{seq}.{n}"), &entry.actor, entry.at, &opened.body);
        first.file_path = Some(opened.path.clone());
        first.line_number = opened.line;
        first.diff_hunk.clone_from(&opened.hunk);
        let id = thread_id(seq, n);
        self.blobs.insert(id.clone(), opened.blob.clone());
        let mut thread = Thread::new(id, &opened.path);
        thread.line = opened.line;
        thread.start_line = opened.start_line;
        thread.side = opened.side;
        thread.comments.push(first.clone());
        self.threads.push(thread);
        first
    }
}
