//! Reads pages of a history: the opening of a pull request or issue, then GitHub's timeline.

use forge_core::{Cursor, Page, PageReq, Result, Warning, model::StatusEvent};

use crate::{map, paged::MAX_PAGE_SIZE};

/// The cursor after the opening, which is an event that GitHub's timeline lacks.
const OPENED: &str = "opened";

/// A page of GitHub's timeline.
pub(crate) struct TimelinePage {
    pub opened: StatusEvent,
    pub events: Vec<StatusEvent>,
    pub next: Option<String>,
    pub warnings: Vec<Warning>,
}

/// Reads at most `page.limit` events of the history `key`. For each page of GitHub's timeline,
/// calls `read` with the length and the cursor of that page.
pub(crate) async fn events_page<R>(
    scheme: &'static str,
    key: String,
    page: PageReq,
    read: impl Fn(usize, Option<String>) -> R,
) -> Result<Page<StatusEvent>>
where
    R: Future<Output = Result<TimelinePage>>,
{
    let cursor = page.position(scheme, &key)?;
    let mut after = cursor.filter(|c| *c != OPENED).map(str::to_owned);
    let mut begins = cursor.is_none();
    let mut result = Page::new(Vec::new());
    loop {
        let room = page.limit - result.items.len() - usize::from(begins);
        let slice = read(room.clamp(1, MAX_PAGE_SIZE), after.clone()).await?;
        result.warnings = map::merge_warnings(result.warnings, slice.warnings);
        if std::mem::take(&mut begins) {
            result.items.push(slice.opened);
        }
        let next = slice.next.filter(|n| Some(n) != after.as_ref());
        // The opening alone already fills a page of one item.
        if room == 0 {
            let more = !slice.events.is_empty() || next.is_some();
            result.next = more.then(|| Cursor::new(scheme, &key, OPENED));
            return Ok(result);
        }
        result.items.extend(slice.events);
        after = next;
        if after.is_none() || result.items.len() >= page.limit {
            result.next = after.map(|position| Cursor::new(scheme, &key, &position));
            return Ok(result);
        }
    }
}
