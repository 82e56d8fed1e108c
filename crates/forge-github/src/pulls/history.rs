//! Reads the status history of a pull request.

use forge_core::{
    Page, PageReq, PrId, Result,
    model::{StatusEvent, StatusEventKind},
};
use serde_json::json;

use super::view::RepositoryOf;
use crate::{
    GitHub,
    gql::{
        GqlDocument,
        types::{self as wire, Nodes},
    },
    map, pr_variables,
    timeline::{TimelinePage, events_page},
};

const SCHEME: &str = "github-history";

impl GitHub {
    pub(super) async fn pull_history(&self, pr: &PrId, page: PageReq) -> Result<Page<StatusEvent>> {
        let text = &GqlDocument::query("Timeline").text();
        events_page(SCHEME, pr.to_string(), page, |first, after| async move {
            let mut variables = pr_variables(pr)?;
            variables.insert("first".into(), json!(first));
            variables.insert("after".into(), json!(after));
            let mut answer = self
                .api
                .query::<RepositoryOf>(text, &variables.into())
                .await?;
            let (pull, warnings) = self.pull_of(pr, &mut answer)?;
            let nodes = match pull.timeline_items {
                Some(nodes) => nodes,
                None if answer.errors.is_empty() => Nodes::default(),
                None => return Err(self.api.first_error(&answer)),
            };
            let merged_at = pull.merged_at;
            let next = nodes.next();
            // GitHub records a merge as two events: a merge and a close. The close is left out.
            let by_merge = |e: &wire::Event| {
                e.kind == "ClosedEvent" && merged_at.is_some_and(|at| e.created_at >= Some(at))
            };
            let events = nodes.into_vec().into_iter().filter(|e| !by_merge(e));
            Ok(TimelinePage {
                opened: StatusEvent::new(
                    format!("{}-opened", pull.id),
                    StatusEventKind::Opened,
                    map::actor(pull.author),
                    pull.created_at
                        .unwrap_or_else(|| forge_core::Timestamp::from_unix(0)),
                ),
                events: events.filter_map(event).collect(),
                next,
                warnings,
            })
        })
        .await
    }
}

fn event(e: wire::Event) -> Option<StatusEvent> {
    let oid = |commit: Option<wire::Oid>| commit.and_then(|c| c.oid.0);
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
    let mut event = StatusEvent::new(e.id, kind, map::actor(e.actor), e.created_at?);
    event.detail = detail;
    Some(event)
}
