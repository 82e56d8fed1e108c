//! Pages and caches lists that are read without the index.
//!
//! The index is the service that lists the records of all accounts. Without it, a list is read
//! completely, from all accounts. The cache keeps the list for a while, so that the next page sends
//! no request.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge_core::{Error, ErrorKind, Result, Timestamp};

/// Lifetime of a cached list. Later pages lack the records that were written in the meantime.
const KEPT: Duration = Duration::from_secs(120);
const PREFIX: &str = "rest|";

/// A row of a list that is sorted by creation time, then by at-uri.
pub(crate) trait Placed {
    fn place(&self) -> Place;
}

/// Position of the last row of a page. It stays valid when the list is read again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub created_at: Timestamp,
    pub uri: String,
}

impl Place {
    /// Parses the position from a cursor; `None` for the cursor of another kind of list.
    pub fn parse(text: &str) -> Option<Self> {
        let (created_at, uri) = text.strip_prefix(PREFIX)?.split_once('|')?;
        Some(Self {
            created_at: created_at.parse().ok()?,
            uri: uri.to_owned(),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}|{}", self.created_at, self.uri)
    }
}

/// Returns at most `limit` rows after the position `behind`, in order. Also returns the position of
/// the last one if more rows follow.
pub(crate) fn page<T: Placed + Clone>(
    rows: &[T],
    behind: Option<&Place>,
    limit: usize,
    oldest_first: bool,
) -> (Vec<T>, Option<Place>) {
    let is_before = |row: &T, place: &Place| match oldest_first {
        true => row.place() <= *place,
        false => row.place() >= *place,
    };
    let begin = behind.map_or(0, |place| rows.partition_point(|row| is_before(row, place)));
    let left = rows.get(begin..).unwrap_or_default();
    let taken: Vec<T> = left.iter().take(limit).cloned().collect();
    let more = left.len() > taken.len();
    let end = taken.last().filter(|_| more).map(Placed::place);
    (taken, end)
}

/// All rows of a list.
#[derive(Debug)]
pub(crate) struct FullList<T> {
    pub rows: Vec<T>,
    /// Name of the service that the list came from.
    pub source: String,
    /// False if a source failed that may have further rows.
    pub is_all: bool,
}

impl<T> FullList<T> {
    /// Returns the list, unless it is empty only because no source could answer.
    ///
    /// `down` is the error of tangled's index. Only an answer of the index in an unknown form makes
    /// this fail, because such an answer does not prove that there are no rows.
    ///
    /// # Errors
    ///
    /// `protocol`, with the message of `down`.
    pub fn unless_unread(self, down: &Error) -> Result<Self> {
        let is_unread = self.rows.is_empty() && !self.is_all;
        if !is_unread || *down.kind() != ErrorKind::Protocol {
            return Ok(self);
        }
        let error = Error::new(ErrorKind::Protocol, down.message());
        Err(error.with_hint("name it by its at-uri, or look at the web page of the repository"))
    }

    /// Returns the number of rows, if known.
    pub fn total(&self) -> Option<u64> {
        self.is_all.then_some(self.rows.len() as u64)
    }
}

/// Cache of the list that was read last.
#[derive(Debug)]
pub(crate) struct ListCache<T>(Mutex<Option<List<T>>>);

/// A cached list: the hash of its query, its time, and its items.
type List<T> = (u64, Instant, Arc<FullList<T>>);

impl<T> Default for ListCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> ListCache<T> {
    pub fn keep(&self, asked: u64, whole: FullList<T>) -> Arc<FullList<T>> {
        let whole = Arc::new(whole);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((asked, Instant::now(), Arc::clone(&whole)));
        whole
    }

    pub fn get(&self, asked: u64) -> Option<Arc<FullList<T>>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_some_and(|(_, at, _)| at.elapsed() > KEPT) {
            *kept = None;
        }
        kept.as_ref()
            .filter(|(of, _, _)| *of == asked)
            .map(|(_, _, whole)| Arc::clone(whole))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Row(i64, &'static str);

    impl Placed for Row {
        fn place(&self) -> Place {
            let created_at = format!("2026-11-01T00:00:{:02}Z", self.0).parse().unwrap();
            Place {
                created_at,
                uri: self.1.to_owned(),
            }
        }
    }

    #[test]
    fn page_continues_after_deleted_last_row() {
        let rows = [Row(3, "c"), Row(2, "b"), Row(2, "a"), Row(1, "d")];
        let (first, end) = page(&rows, None, 2, false);
        assert_eq!(first, rows[..2]);
        let end = Place::parse(&end.unwrap().to_string()).unwrap();
        let (second, last) = page(&rows, Some(&end), 2, false);
        assert_eq!((second.as_slice(), last), (&rows[2..], None));
        let without = [Row(3, "c"), Row(2, "a"), Row(1, "d")];
        assert_eq!(page(&without, Some(&end), 2, false).0, rows[2..]);
        let oldest: Vec<Row> = rows.into_iter().rev().collect();
        let (_, end) = page(&oldest, None, 2, true);
        assert_eq!(page(&oldest, end.as_ref(), 2, true).0, oldest[2..]);
    }

    #[test]
    fn list_cache_has_no_rows_for_another_query() {
        let kept = ListCache::default();
        let whole = FullList {
            rows: vec![Row(1, "a")],
            source: "the index".to_owned(),
            is_all: true,
        };
        kept.keep(1, whole);
        assert!(kept.get(2).is_none());
        assert_eq!(kept.get(1).unwrap().rows.len(), 1);
    }
}
