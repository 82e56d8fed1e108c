//! Comments in the conversation of a pull request, and on lines of its diff.

use forge_core::{
    Action, Error, Hint, Noun, Op, Outcome, Page, PageReq, Param, PrId, Result, Warning,
    model::{Comment, CommentId, PrFields},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitHub,
    api::GqlAnswer,
    caps::LIMITS,
    gql::{
        GqlDocument,
        mutation::{
            ADD_COMMENT, DELETE_COMMENT, DELETE_LINE_COMMENT, Mutation, REPLY, UPDATE_COMMENT,
            UPDATE_LINE_COMMENT,
        },
        selections,
        types::{self as wire, Nodes},
    },
    issues::find_own_comment_since,
    map,
    mutate::{CommentEdge, or_read_back},
    paged::{self, Paged},
    pr_variables,
    pulls::{is_mine, same_text, since},
    reply,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedComment {
    comment_edge: Option<CommentEdge>,
    comment: Option<wire::Comment>,
    issue_comment: Option<wire::Comment>,
    pull_request_review_comment: Option<wire::Comment>,
}

impl CreatedComment {
    fn into_comment(self) -> wire::Comment {
        self.comment_edge
            .and_then(|e| e.node)
            .or(self.comment)
            .or(self.issue_comment)
            .or(self.pull_request_review_comment)
            .unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct NodeById<T> {
    node: Option<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartOf {
    #[serde(default)]
    node: Option<wire::Part>,
    repository: Option<ThreadPullOf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadPullOf {
    pull_request: Option<wire::Pull>,
}

/// Returns whether a node id belongs to a comment on a diff line. The mutations for line comments
/// differ from those for conversation comments.
fn is_line_comment(key: &str) -> bool {
    key.starts_with("PRRC_")
}

/// Returns the fragment at the end of a line comment's URL, if `key` is the comment's number or
/// URL.
fn anchor(key: &str) -> Option<String> {
    let number = key
        .rsplit_once("discussion_r")
        .map_or(key, |(_, number)| number);
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| format!("#discussion_r{number}"))
}

impl GitHub {
    pub(crate) async fn add_comment(
        &self,
        pr: &PrId,
        body: &str,
        reply_to: Option<&CommentId>,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        match reply_to {
            None => self.comment_on_pull(pr, body).await,
            Some(other) => self.answer(pr, body, &other.key).await,
        }
    }

    async fn comment_on_pull(&self, pr: &PrId, body: &str) -> Result<Outcome<Comment>> {
        let before = match self.known.take(pr, PrFields::TO_CHANGE) {
            Some(found) => found,
            None => self.lookup(pr, selections::NEWEST_COMMENT).await?.0,
        };
        self.comment_once_on_pull(pr, &before, body).await
    }

    /// Adds a comment. `before` is the pull request as read before the write. If GitHub's answer is
    /// lost, the comment is searched among those that are newer than the newest one in `before`.
    pub(crate) async fn comment_once_on_pull(
        &self,
        pr: &PrId,
        before: &wire::Pull,
        body: &str,
    ) -> Result<Outcome<Comment>> {
        let input = json!({ "subjectId": before.id, "body": body });
        let written = self
            .send_one::<CreatedComment>(ADD_COMMENT, input)
            .await
            .map(CreatedComment::into_comment);
        let read_back = || async {
            let (now, _) = self.lookup(pr, selections::RECENT_COMMENTS).await?;
            Ok(since(now.recent_comments.into_vec(), before, |c| &c.id).find(|c| is_mine(c, body)))
        };
        outcome(or_read_back(written, read_back).await?)
    }

    /// Replies to the comment `key`. The reply to a line comment goes into its thread. The reply to
    /// a conversation comment quotes that comment.
    async fn answer(&self, pr: &PrId, body: &str, key: &str) -> Result<Outcome<Comment>> {
        let text = GqlDocument::query("ReplyPrepare").text();
        let anchor = anchor(key);
        let mut after = Value::Null;
        loop {
            let mut variables = pr_variables(pr)?;
            variables.insert("id".into(), json!(key));
            variables.insert("after".into(), after.clone());
            let mut answer: GqlAnswer<PartOf> = self.api.query(&text, &variables.into()).await?;
            let Some(PartOf {
                node,
                repository:
                    Some(ThreadPullOf {
                        pull_request: Some(pull),
                    }),
            }) = answer.data.take()
            else {
                return Err(self.not_found(pr, &answer));
            };
            // `key` may be the id of a comment on another pull request, which readers of `pr` may
            // not see. The reply must not quote that comment, so it counts as not found.
            let part = node.filter(|part| part.is_of(&pull.id));
            match part.as_ref().map(|part| part.kind.as_str()) {
                Some("IssueComment") => {
                    let quoted = part.as_ref().map_or("", |part| part.body.as_str());
                    let text = reply::body(key, quoted, body);
                    LIMITS.check_text("body", &text)?;
                    return self.comment_once_on_pull(pr, &pull, &text).await;
                }
                Some("PullRequestReviewThread") => {
                    let newest = part.as_ref().and_then(|part| last_id(&part.newest_comment));
                    return self.reply(pr, body, key, newest).await;
                }
                None if anchor.is_none() => return Err(no_comment(key, pr)),
                _ => {}
            }
            let threads = pull.review_threads.unwrap_or_default();
            let next = threads.next();
            let thread = threads.into_vec().into_iter().find(|t| {
                let comments = t.comments.nodes.iter().flatten().flatten();
                let is_named = |url: &str| anchor.as_ref().is_some_and(|end| url.ends_with(end));
                t.id == key
                    || comments
                        .into_iter()
                        .any(|c| c.id == key || is_named(&c.url))
            });
            match (thread, next) {
                (Some(thread), _) => {
                    let newest = last_id(&thread.newest_comment);
                    return self.reply(pr, body, &thread.id, newest).await;
                }
                (None, Some(next)) if json!(next) != after => after = json!(next),
                _ => return Err(no_comment(key, pr)),
            }
        }
    }

    /// Replies in a thread. `newest` was the newest comment of the thread before.
    async fn reply(
        &self,
        pr: &PrId,
        body: &str,
        thread: &str,
        newest: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        let input = json!({ "pullRequestReviewThreadId": thread, "body": body });
        let written = self
            .send_one::<CreatedComment>(REPLY, input)
            .await
            .map(CreatedComment::into_comment);
        let read_back = || async {
            let now: Option<wire::Thread> = self.node(thread, pr).await?;
            let recent = now.map(|t| t.recent_comments.into_vec());
            Ok(find_own_comment_since(
                recent.unwrap_or_default(),
                newest,
                body,
            ))
        };
        let (made, lost) = or_read_back(written, read_back).await?;
        let is_pending = made.state == "PENDING";
        let mut outcome = outcome((made, lost))?;
        if is_pending {
            outcome.warnings.push(in_pending_review(pr));
        }
        Ok(outcome)
    }

    async fn node<T: serde::de::DeserializeOwned>(&self, id: &str, pr: &PrId) -> Result<Option<T>> {
        let text = GqlDocument::query("Node").text();
        let answer: GqlAnswer<NodeById<T>> = self.api.query(&text, &json!({ "id": id })).await?;
        match self.api.require_complete(answer) {
            Ok(data) => Ok(data.node),
            Err(e) if e.is_not_found() => Err(no_comment(id, pr)),
            Err(e) => Err(e),
        }
    }

    /// Returns the comment or thread `key` if it belongs to `pr`. GitHub resolves an id to any
    /// object that the account can see, so the pull request is checked.
    pub(crate) async fn part_of(&self, pr: &PrId, key: &str) -> Result<Option<wire::Part>> {
        let text = GqlDocument::query("Belongs").text();
        let mut variables = pr_variables(pr)?;
        variables.insert("id".into(), json!(key));
        let mut answer: GqlAnswer<PartOf> = self.api.query(&text, &variables.into()).await?;
        let Some(PartOf {
            node,
            repository: Some(ThreadPullOf {
                pull_request: Some(pull),
            }),
        }) = answer.data.take()
        else {
            return Err(self.not_found(pr, &answer));
        };
        match (node, answer.errors.is_empty()) {
            (Some(part), _) => Ok(Some(part).filter(|part| part.is_of(&pull.id))),
            (None, true) => Ok(None),
            (None, false) => match self.api.first_error(&answer) {
                e if e.is_not_found() => Ok(None),
                e => Err(e),
            },
        }
    }

    /// Checks that the comment belongs to its pull request.
    ///
    /// # Errors
    ///
    /// Fails with `not_found` if the comment belongs to another pull request.
    async fn is_on(&self, comment: &CommentId) -> Result<()> {
        let CommentId { pr, key } = comment;
        if self.listed.has(pr, key) || self.part_of(pr, key).await?.is_some() {
            Ok(())
        } else {
            Err(no_comment(key, pr))
        }
    }

    pub(crate) async fn replace_comment(
        &self,
        comment: &CommentId,
        body: &str,
    ) -> Result<Outcome<Comment>> {
        LIMITS.check_comment("body", body)?;
        self.is_on(comment).await?;
        let key = &comment.key;
        let (mutation, input): (Mutation, Value) = if is_line_comment(key) {
            (
                UPDATE_LINE_COMMENT,
                json!({ "pullRequestReviewCommentId": key, "body": body }),
            )
        } else {
            (UPDATE_COMMENT, json!({ "id": key, "body": body }))
        };
        let written = self
            .send_one::<CreatedComment>(mutation, input)
            .await
            .map(CreatedComment::into_comment);
        let written = written.map_err(|e| about_comment(e, comment));
        let read_back = || async {
            let now: Option<wire::Comment> = self.node(key, &comment.pr).await?;
            Ok(now.filter(|c| same_text(&c.body, body)))
        };
        outcome(or_read_back(written, read_back).await?)
    }

    pub(crate) async fn remove_comment(&self, comment: &CommentId) -> Result<Outcome<()>> {
        self.is_on(comment).await?;
        let key = &comment.key;
        let mutation = if is_line_comment(key) {
            DELETE_LINE_COMMENT
        } else {
            DELETE_COMMENT
        };
        let written = self
            .send_one::<Value>(mutation, json!({ "id": key }))
            .await
            .map(drop);
        let written = written.map_err(|e| about_comment(e, comment));
        let ((), warning) = or_read_back(written, || async {
            match self.node::<wire::Comment>(key, &comment.pr).await {
                Ok(found) => Ok(found.is_none().then_some(())),
                Err(e) if e.is_not_found() => Ok(Some(())),
                Err(e) => Err(e),
            }
        })
        .await?;
        let mut outcome = Outcome::immediate(());
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    pub(crate) async fn comment_page(&self, pr: &PrId, page: PageReq) -> Result<Page<Comment>> {
        let what = Paged {
            scheme: "github-comments",
            selection: selections::COMMENTS,
            take: |pull| -> Option<Nodes<wire::Comment>> { pull.comments },
        };
        let found = self.section_page(pr, &page, &what).await?;
        self.listed
            .keep(pr, found.items.iter().map(|c| c.id.clone()));
        Ok(paged::map(found, map::comment))
    }
}

/// Returns the id of the last entry.
fn last_id(nodes: &Nodes<wire::Id>) -> Option<&str> {
    let all = nodes.nodes.iter().flatten().flatten();
    all.last().map(|last| last.id.as_str())
}

fn outcome(done: (wire::Comment, Option<Warning>)) -> Result<Outcome<Comment>> {
    let (comment, warning) = done;
    let mut outcome = Outcome::immediate(map::comment(comment));
    outcome.warnings.extend(warning);
    Ok(outcome)
}

/// Returns the warning for a reply that GitHub put into the viewer's pending review.
fn in_pending_review(pr: &PrId) -> Warning {
    let review = Action::op(Op::ReviewSubmit).on(&pr.key);
    Warning::new(format!(
        "the reply is in your pending review of {pr}, and nobody else sees it"
    ))
    .with_hint(
        Hint::new("submit the pending review to publish the reply")
            .with_action(review.choose(Param::Pending)),
    )
}

fn no_comment(key: &str, pr: &PrId) -> Error {
    Error::not_found(
        Noun::Comment,
        format!(
            "there is no comment '{}' on {pr}",
            forge_core::text::one_line(key)
        ),
    )
    .with_hint(
        Hint::new("look for its id among the comments and the review threads").with_action(
            Action::op(Op::PrView)
                .on(&pr.key)
                .with(Param::Include, "comments")
                .with(Param::Include, "threads"),
        ),
    )
}

fn about_comment(error: Error, comment: &CommentId) -> Error {
    if error.is_not_found() {
        no_comment(&comment.key, &comment.pr)
    } else {
        error
    }
}
