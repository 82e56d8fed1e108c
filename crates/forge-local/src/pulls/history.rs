//! The status history of a pull request, computed from its events.

use forge_core::{
    Page, PageReq, Result, Timestamp,
    call::charge,
    is_full_oid,
    model::{Actor, StatusEvent, StatusEventKind as Kind},
};
use forge_git::{CatFile, RawCommit, parse_signature};

use crate::{
    Local, paging,
    store::{LoggedEvent, MergeIntent, PullEvent, StoredPull, events_of_pull},
};

impl Local {
    pub(crate) async fn pull_history(
        &self,
        number: u64,
        page: &PageReq,
    ) -> Result<Page<StatusEvent>> {
        let mut cat = self.store.cat();
        let pull = self.store.read(&mut cat, number).await?;
        let log = self.store.log(&mut cat, &pull).await?;
        charge(&events_of_pull(number), 2 * log.weight())?.keep();
        let mut events = Vec::new();
        let mut head: Option<String> = None;
        for logged in log.events.iter() {
            let entry = &logged.entry;
            let before = events.last().map(|e: &StatusEvent| e.created_at);
            if let (Some(old), Some(new)) = (&head, &entry.head)
                && old != new
            {
                events.push(head_moved_event(&mut cat, new, before, Some(entry.at)).await);
            }
            head = entry.head.clone().or(head);
            events.extend(to_status_event(logged));
        }
        if let Some(intent) = &pull.unrecorded_merge {
            events.push(merge_event(
                &pull.tip,
                &intent.by,
                intent.started_at,
                intent,
            ));
        }
        if let Some(new) = live_move(&pull, head.as_deref()) {
            let before = events.last().map(|e| e.created_at);
            events.push(head_moved_event(&mut cat, new, before, None).await);
        }
        paging::slice(events, page, &("history", number))
    }
}

/// Returns the head commit of an open pull request, if its head branch moved after the last event.
fn live_move<'a>(pull: &'a StoredPull, recorded: Option<&str>) -> Option<&'a str> {
    let live = pull.head_oid.as_deref().filter(|_| pull.is_open())?;
    (recorded? != live).then_some(live)
}

fn to_status_event(logged: &LoggedEvent) -> Option<StatusEvent> {
    let entry = &logged.entry;
    let (kind, detail) = match &entry.event {
        PullEvent::Opened { draft, .. } => (Kind::Opened, draft.then(|| "as a draft".to_owned())),
        PullEvent::Closed { .. } => (Kind::Closed, None),
        PullEvent::Reopened { .. } => (Kind::Reopened, None),
        PullEvent::Ready => (Kind::ReadyForReview, None),
        PullEvent::Drafted => (Kind::ConvertedToDraft, None),
        PullEvent::Merged(i) => return Some(merge_event(&logged.oid, &entry.actor, entry.at, i)),
        PullEvent::Edited(edited) => {
            let mut parts = Vec::new();
            if let Some(title) = &edited.title {
                parts.push(format!("title: {title}"));
            }
            if edited.description.is_some() {
                parts.push("description".to_owned());
            }
            if let Some(base) = &edited.base_branch {
                parts.push(format!("base: {base}"));
            }
            if parts.is_empty() {
                return None;
            }
            (Kind::Edited, Some(parts.join(", ")))
        }
        _ => return None,
    };
    let mut event = StatusEvent::new(&logged.oid, kind, entry.actor.clone(), entry.at);
    event.detail = detail;
    Some(event)
}

fn merge_event(id: &str, by: &Actor, at: Timestamp, intent: &MergeIntent) -> StatusEvent {
    let mut event = StatusEvent::new(id, Kind::Merged, by.clone(), at);
    event.detail = Some(format!("{} {}", intent.method.as_str(), intent.result));
    event
}

/// Returns the history entry for a push to the head branch, which no event records. Author and time
/// come from the commit `head`. If the time is outside of the interval between the neighbouring
/// events, the nearer end of the interval is used.
async fn head_moved_event(
    cat: &mut CatFile,
    head: &str,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
) -> StatusEvent {
    // Anyone may have written the event, so `head` may be any text, which git would read as a
    // revision. Only a full object id is looked up.
    let object = match is_full_oid(head) {
        true => cat.get(head).await.ok().flatten(),
        false => None,
    };
    let signed = object
        .as_ref()
        .and_then(|o| RawCommit::parse(&o.data))
        .map(|c| c.committer);
    let (actor, at) = match signed.and_then(parse_signature) {
        Some((name, email, at)) => {
            let login = email.split('@').next().unwrap_or_default().to_owned();
            let mut actor = Actor::new(login);
            actor.name = Some(name);
            actor.email = Some(email);
            (actor, at)
        }
        None => (
            Actor::new("unknown"),
            before.or(after).unwrap_or_else(Timestamp::now),
        ),
    };
    let at = after.map_or(at, |a| at.max(a));
    let at = before.map_or(at, |b| at.min(b));
    let mut event = StatusEvent::new(head, Kind::HeadChanged, actor, at);
    event.detail = Some(head.to_owned());
    event
}
