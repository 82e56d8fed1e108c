//! Review threads.

use forge_core::{
    Action, Cursor, Error, ErrorKind, Hint, Noun, Op, Outcome, Page, PageReq, PrId, Result,
    Warning,
    model::{Thread, ThreadFilter, ThreadId},
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    GitHub,
    api::{GqlAnswer, TokenChoice},
    gql::{
        GqlDocument,
        mutation::{RESOLVE, UNRESOLVE},
        types as wire,
    },
    map,
    mutate::or_read_back,
    paged::MAX_PAGE_SIZE,
    pr_variables,
};

const SCHEME: &str = "github-threads";

#[derive(Deserialize)]
struct ThreadsOf {
    repository: Option<PullThreadsOf>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullThreadsOf {
    pull_request: Option<ReviewThreads>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewThreads {
    review_threads: ThreadEdges,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ThreadEdges {
    total_count: u64,
    edges: Option<Vec<Option<ThreadEdge>>>,
    page_info: wire::PageInfo,
}

#[derive(Deserialize)]
struct ThreadEdge {
    cursor: String,
    node: Option<wire::Thread>,
}

#[derive(Deserialize)]
struct ResolvedThread {
    thread: Option<wire::Thread>,
}

#[derive(Deserialize)]
struct ThreadNode {
    node: Option<wire::Thread>,
}

impl GitHub {
    /// Reads a page of the threads that pass `filter`. GitHub cannot filter threads, so its pages
    /// are read until the page to return is full.
    pub(crate) async fn thread_page(
        &self,
        pr: &PrId,
        filter: ThreadFilter,
        page: PageReq,
    ) -> Result<Page<Thread>> {
        let key = (pr.to_string(), filter);
        let cursor = page.position(SCHEME, &key)?;
        let mut after = cursor.map(str::to_owned);
        let text = GqlDocument::query("Threads").text();
        let mut result = Page::new(vec![]);
        let (mut scanned, mut size) = (0, MAX_PAGE_SIZE);
        loop {
            // Reads one thread more than fits, to learn whether there is a next page.
            let first = match filter {
                ThreadFilter::All => (page.limit - result.items.len() + 1).min(MAX_PAGE_SIZE),
                _ => MAX_PAGE_SIZE,
            };
            let mut variables = pr_variables(pr)?;
            variables.insert("first".into(), json!(first));
            variables.insert("after".into(), json!(after));
            let mut answer: GqlAnswer<ThreadsOf> = self
                .api
                .query_in_pages(TokenChoice::Account, &text, &variables.into(), &mut size)
                .await?;
            let found = match answer
                .data
                .take()
                .and_then(|d| d.repository)
                .and_then(|r| r.pull_request)
            {
                Some(found) if answer.errors.is_empty() => found.review_threads,
                Some(_) => return Err(self.api.first_error(&answer)),
                None => return Err(self.not_found(pr, &answer)),
            };
            if filter == ThreadFilter::All {
                result.total = Some(found.total_count);
            }
            let mut edges = found.edges.ok_or_else(|| self.thread_left_out(pr))?;
            let threads = edges.iter_mut().flatten().filter_map(|e| e.node.as_mut());
            let lists = threads.map(|t| (t.id.clone(), &mut t.comments)).collect();
            let unread = self.complete_lists(lists, &mut size).await;
            result.warnings.extend(unread);
            let mut position = after.clone();
            for edge in edges {
                scanned += 1;
                let Some(ThreadEdge { cursor, node }) = edge else {
                    return Err(self.thread_left_out(pr));
                };
                let thread = node.ok_or_else(|| self.thread_left_out(pr))?;
                let passes = |t: &wire::Thread| match filter {
                    ThreadFilter::All => true,
                    ThreadFilter::Unresolved => !t.is_resolved,
                    ThreadFilter::Resolved => t.is_resolved,
                };
                if passes(&thread) {
                    if result.items.len() == page.limit {
                        result.next = position.map(|p| Cursor::new(SCHEME, &key, &p));
                        result.scanned = Some(scanned - 1);
                        return Ok(result);
                    }
                    result.items.push(map::thread(thread));
                }
                position = Some(cursor);
            }
            let next = found.page_info.next().filter(|n| Some(n) != after.as_ref());
            after = next;
            if after.is_none() {
                result.scanned = Some(scanned).filter(|_| filter != ThreadFilter::All);
                return Ok(result);
            }
        }
    }

    /// Returns the error for a list from which GitHub left out a thread. The list is not returned,
    /// because the missing thread may be unresolved.
    fn thread_left_out(&self, pr: &PrId) -> Error {
        let message = format!("{} left out a review thread of {pr}", self.info.host);
        Error::new(ErrorKind::Protocol, message)
            .with_hint("try again; if it is still missing, look at the page of the pull request")
    }

    /// Resolves or reopens a thread, after a check that the thread belongs to this pull request. A
    /// repeated call changes nothing, because GitHub ignores it.
    pub(crate) async fn set_resolved(
        &self,
        id: &ThreadId,
        resolved: bool,
    ) -> Result<Outcome<Thread>> {
        let Some(before) = self.part_of(&id.pr, &id.key).await? else {
            return Err(no_thread(id));
        };
        let mutation = if resolved { RESOLVE } else { UNRESOLVE };
        let written = self
            .send_one::<ResolvedThread>(mutation, json!({ "threadId": id.key }))
            .await;
        let written = written
            .map(|r| r.thread.unwrap_or_default())
            .map_err(|e| if e.is_not_found() { no_thread(id) } else { e });
        let (thread, warning) = or_read_back(written, || async {
            let text = GqlDocument::query("Node").text();
            let answer: GqlAnswer<ThreadNode> =
                self.api.query(&text, &json!({ "id": id.key })).await?;
            Ok(self
                .api
                .require_complete(answer)?
                .node
                .filter(|t| t.is_resolved == resolved))
        })
        .await?;
        let thread = map::thread(thread);
        let state = match resolved {
            true => "resolved already",
            false => "not resolved",
        };
        let mut outcome = match before.is_resolved == resolved {
            true => {
                let message = format!("the thread {} is {state}; nothing was changed", id.key);
                Outcome::unchanged(thread, Warning::new(message))
            }
            false => Outcome::immediate(thread),
        };
        outcome.warnings.extend(warning);
        Ok(outcome)
    }
}

fn no_thread(id: &ThreadId) -> Error {
    let key = forge_core::text::one_line(&id.key).into_owned();
    // The prefix of a node id names its type.
    let message = match key.starts_with("PRRC_") {
        true => format!("'{key}' is a comment, not a review thread of {}", id.pr),
        false => format!("there is no review thread '{key}' on {}", id.pr),
    };
    Error::not_found(Noun::Thread, message).with_hint(
        Hint::new("look for its id in the list of review threads")
            .with_action(Action::op(Op::ThreadList).on(&id.pr.key)),
    )
}
