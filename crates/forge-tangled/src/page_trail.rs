//! Decides how a list goes on after each of its pages. Every pager asks here, because a server may
//! lead through the same pages again, or may never end a list.

use std::{
    collections::HashSet,
    hash::{BuildHasher as _, RandomState},
};

/// Maximum number of empty pages of a list.
const MAX_EMPTY_PAGES: usize = 100;

/// How a list goes on after a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextPage {
    /// The page was the last one.
    End,
    /// The next page has this cursor.
    At(String),
    /// The list is not read further, for the reason `why`. A later list can continue at the cursor
    /// `at`.
    Cut { why: String, at: Option<String> },
}

/// The pages and the rows of a list that have been read.
///
/// Cursors and at-uris are stored as hashes with a random key, because a server chooses their
/// length. Nobody who does not know the key can make two of them equal.
#[derive(Debug)]
pub(crate) struct PageTrail {
    hasher: RandomState,
    cursors: HashSet<u64>,
    rows: HashSet<u64>,
    pages: usize,
    empty_pages: usize,
    max_pages: usize,
}

impl PageTrail {
    /// Begins a list of at most `max_pages` pages.
    pub fn new(max_pages: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            cursors: HashSet::new(),
            rows: HashSet::new(),
            pages: 0,
            empty_pages: 0,
            max_pages,
        }
    }

    /// Begins the list at a cursor.
    pub fn starting_at(mut self, cursor: &str) -> Self {
        self.cursors.insert(self.hasher.hash_one(cursor));
        self
    }

    /// Returns true if the list has not had the row `uri` yet.
    pub fn is_new_row(&mut self, uri: &str) -> bool {
        self.rows.insert(self.hasher.hash_one(uri))
    }

    /// Decides how the list goes on after a page of `rows` rows. `cursor` is the cursor that the
    /// page names.
    ///
    /// A missing or empty cursor ends the list. An empty page does not: an index pages over the
    /// references that it has, then reads the records. It drops a row whose record is gone, invalid,
    /// or on a server that is down, and still sends the cursor (`drop_unhydratable` and
    /// `paged_tail` in tangled's bobbin).
    pub fn next(&mut self, cursor: Option<String>, rows: usize) -> NextPage {
        self.pages += 1;
        self.empty_pages += usize::from(rows == 0);
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else {
            return NextPage::End;
        };
        if !self.cursors.insert(self.hasher.hash_one(&*cursor)) {
            let why = "a cursor was sent again".to_owned();
            return NextPage::Cut { why, at: None };
        }
        let why = if self.empty_pages >= MAX_EMPTY_PAGES {
            format!("{MAX_EMPTY_PAGES} pages were empty")
        } else if self.pages >= self.max_pages {
            format!("it has more than {} pages", self.max_pages)
        } else {
            return NextPage::At(cursor);
        };
        NextPage::Cut {
            why,
            at: Some(cursor),
        }
    }

    /// Returns true if a page of the list was empty.
    pub fn had_empty_page(&self) -> bool {
        self.empty_pages > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a list whose pages name these cursors, with a row each. Returns the number of pages
    /// that were read, and the reason why the list was cut.
    fn read(cursors: impl IntoIterator<Item = &'static str>, max: usize) -> (usize, String) {
        let mut trail = PageTrail::new(max).starting_at("start");
        for (page, cursor) in cursors.into_iter().enumerate() {
            match trail.next(Some(cursor.to_owned()), 1) {
                NextPage::At(next) => assert_eq!(next, cursor),
                NextPage::End => return (page + 1, String::new()),
                NextPage::Cut { why, .. } => return (page + 1, why),
            }
        }
        panic!("the list does not end");
    }

    #[test]
    fn repeated_cursor_cuts_list() {
        let again = "a cursor was sent again".to_owned();
        for (cursors, pages) in [
            (&["a", "a"][..], 2),
            (&["a", "b", "a"], 3),
            (&["a", "b", "c", "b"], 4),
            (&["start"], 1),
        ] {
            let cursors = cursors.iter().copied();
            assert_eq!(read(cursors, 100), (pages, again.clone()));
        }
        assert_eq!(read(["a", "b", ""], 100), (3, String::new()));
        let mut trail = PageTrail::new(1);
        assert_eq!(trail.next(None, 7), NextPage::End);
    }

    #[test]
    fn list_is_cut_after_maximum_of_pages() {
        let cursors = ["a", "b", "c", "d"];
        assert_eq!(read(cursors, 3), (3, "it has more than 3 pages".to_owned()));
        let mut trail = PageTrail::new(1_000);
        let pages = (1..).find(|n| {
            let at = Some(n.to_string());
            let why = "100 pages were empty".to_owned();
            trail.next(at.clone(), 0) == NextPage::Cut { why, at }
        });
        assert_eq!(pages, Some(100));
    }

    #[test]
    fn row_of_same_uri_is_not_new() {
        let mut trail = PageTrail::new(1);
        let rows = ["at://a", "at://b", "at://a"].map(|uri| trail.is_new_row(uri));
        assert_eq!(rows, [true, true, false]);
    }
}
