//! The status history: GitHub's timeline, with the opening put before it.

use forge_core::{
    Cursor, Page, PageReq, PrId, Result,
    model::{StatusEvent, StatusEventKind},
};
use serde_json::json;

use super::view::RepositoryOf;
use crate::{
    GitHub,
    gql::{
        Document,
        types::{self as wire, Nodes},
    },
    map,
    paged::LONGEST,
    pr_variables,
};

const SCHEME: &str = "github-history";
/// The position behind the opening, which is no item of GitHub's.
const OPENED: &str = "opened";

impl GitHub {
    pub(super) async fn pull_history(&self, pr: &PrId, page: PageReq) -> Result<Page<StatusEvent>> {
        let key = pr.to_string();
        let cursor = page.position(SCHEME, &key)?;
        let mut after = cursor.filter(|c| *c != OPENED).map(str::to_owned);
        let mut begins = cursor.is_none();
        let text = Document::query("Timeline").text();
        let mut items: Vec<StatusEvent> = Vec::new();
        let mut warnings = Vec::new();
        loop {
            let room = page.limit - items.len() - usize::from(begins);
            let mut variables = pr_variables(pr)?;
            variables.insert("first".into(), json!(room.clamp(1, LONGEST)));
            variables.insert("after".into(), json!(after));
            let mut answer = self
                .api
                .query::<RepositoryOf>(&text, &variables.into())
                .await?;
            let (pull, unread) = self.pull_of(pr, &mut answer)?;
            let nodes = match pull.timeline_items {
                Some(nodes) => nodes,
                None if answer.errors.is_empty() => Nodes::default(),
                None => return Err(self.api.first_error(&answer)),
            };
            warnings = map::both(warnings, unread);
            let merged_at = pull.merged_at;
            if std::mem::take(&mut begins) {
                items.push(StatusEvent {
                    id: format!("{}-opened", pull.id),
                    kind: StatusEventKind::Opened,
                    actor: map::actor(pull.author),
                    created_at: pull
                        .created_at
                        .unwrap_or_else(|| forge_core::Timestamp::from_unix(0)),
                    authority: None,
                    detail: None,
                });
            }
            let next = nodes.next().filter(|n| Some(n) != after.as_ref());
            // A merge closes as well, and GitHub notes both.
            let by_merge = |e: &wire::Event| {
                e.kind == "ClosedEvent" && merged_at.is_some_and(|at| e.created_at >= Some(at))
            };
            let events = nodes
                .into_vec()
                .into_iter()
                .filter(|e| !by_merge(e))
                .filter_map(event);
            let events: Vec<StatusEvent> = events.collect();
            // A page of one has room for the opening alone.
            if room == 0 {
                let more = !events.is_empty() || next.is_some();
                let next = more.then(|| Cursor::new(SCHEME, &key, OPENED));
                return Ok(Page {
                    items,
                    next,
                    total: None,
                    scanned: None,
                    source: None,
                    warnings,
                });
            }
            items.extend(events);
            after = next;
            if after.is_none() || items.len() >= page.limit {
                let next = after.map(|position| Cursor::new(SCHEME, &key, &position));
                return Ok(Page {
                    items,
                    next,
                    total: None,
                    scanned: None,
                    source: None,
                    warnings,
                });
            }
        }
    }
}

fn event(e: wire::Event) -> Option<StatusEvent> {
    let oid = |commit: Option<wire::Oid>| commit.map(|c| c.oid);
    let (kind, detail) = match e.kind.as_str() {
        "ClosedEvent" => (StatusEventKind::Closed, None),
        "ReopenedEvent" => (StatusEventKind::Reopened, None),
        "MergedEvent" => (StatusEventKind::Merged, oid(e.commit)),
        "ReadyForReviewEvent" => (StatusEventKind::ReadyForReview, None),
        "ConvertToDraftEvent" => (StatusEventKind::ConvertedToDraft, None),
        "RenamedTitleEvent" => (
            StatusEventKind::Edited,
            Some(format!(
                "title: '{}' to '{}'",
                e.previous_title, e.current_title
            )),
        ),
        "BaseRefChangedEvent" => (
            StatusEventKind::Edited,
            Some(format!(
                "base: {} to {}",
                e.previous_ref_name, e.current_ref_name
            )),
        ),
        "HeadRefForcePushedEvent" => (StatusEventKind::HeadChanged, oid(e.after_commit)),
        _ => return None,
    };
    Some(StatusEvent {
        id: e.id,
        kind,
        actor: map::actor(e.actor),
        created_at: e.created_at?,
        authority: None,
        detail,
    })
}
