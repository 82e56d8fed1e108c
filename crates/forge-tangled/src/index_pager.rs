//! Reads the rows of an index list one by one, and can continue from an earlier position.

use std::{collections::VecDeque, hash::Hash};

use forge_core::{Error, ErrorKind, PageReq, Result, Warning, text::one_line};
use serde_json::Value;

use crate::{
    IndexFields,
    hints::from_start,
    json_field::OptionalField,
    page_trail::{NextPage, PageTrail},
    read_limits,
    records::{self, Record},
    sources::{Items, MAX_PAGES, MAX_SUBJECT_RECORDS},
    xrpc::Xrpc,
    xrpc_error,
};

/// Number of rows per request if a filter may drop most of them.
pub(crate) const SCAN: usize = 100;

/// A row of a list of pull requests or issues.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub record: Record,
    pub state: String,
    pub comment_count: u64,
}

impl Item {
    /// Parses a row. `what` names the expected kind: `pull request`.
    pub fn parse(row: Value, what: &str, fields: &IndexFields) -> Result<Self> {
        let uri = row.get("uri").and_then(Value::as_str).unwrap_or("a row");
        let uri = one_line(uri).into_owned();
        let broken = |why: String| {
            Error::new(
                ErrorKind::Protocol,
                format!("the index lists {uri}, which is not a valid {what}: {why}"),
            )
        };
        if let Some(why) = missing_row_field(&row, fields) {
            return Err(broken(why));
        }
        let state = row.get(&*fields.row_state).and_then(Value::as_str);
        let state = state.unwrap_or_default().to_owned();
        let comment_count = row.get(&*fields.row_comments).and_then(Value::as_u64);
        Ok(Self {
            record: serde_json::from_value(row)
                .map_err(|e| broken(e.to_string()).with_source(e))?,
            state,
            comment_count: comment_count.unwrap_or_default(),
        })
    }
}

/// Returns what is wrong with a row: a field that `listPulls` promises is missing, or has another
/// type.
fn missing_row_field(row: &Value, fields: &IndexFields) -> Option<String> {
    let promised = [
        ("uri", "text"),
        ("value", "record"),
        (&*fields.row_state, "text"),
        (&*fields.row_comments, "count"),
    ];
    promised.into_iter().find_map(|(name, what)| {
        let Some(value) = row.field(name) else {
            return Some(format!("missing field `{name}`"));
        };
        let fits = match what {
            "text" => value.is_string(),
            "count" => value.is_u64(),
            _ => true,
        };
        (!fits).then(|| format!("its `{name}` is no {what}"))
    })
}

/// The position at which a list continues: the index's cursor of a page of `size` rows, and the
/// number of rows that were already taken from the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PagePosition {
    size: usize,
    pub skip: usize,
    cursor: String,
}

impl PagePosition {
    /// Returns the position after `skip` rows of a list in memory.
    pub fn in_memory(skip: usize) -> Self {
        Self {
            size: 1,
            skip,
            cursor: String::new(),
        }
    }

    /// Parses the position in the cursor of `req`. The cursor must come from a list with the same
    /// `query`.
    pub fn of(req: &PageReq, scheme: &str, query: &impl Hash) -> Result<Option<Self>> {
        let Some(cursor) = &req.cursor else {
            return Ok(None);
        };
        let text = cursor.position(scheme, query)?;
        let position = Self::parse(text).ok_or_else(|| {
            Error::invalid(
                "cursor",
                format!("cursor '{}' has no position", cursor.as_str()),
            )
            .with_hint(from_start())
        })?;
        Ok(Some(position))
    }

    pub fn text(&self) -> String {
        format!("{}|{}|{}", self.size, self.skip, self.cursor)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '|');
        let size = parts
            .next()?
            .parse()
            .ok()
            .filter(|n| (1..=1000).contains(n))?;
        Some(Self {
            size,
            skip: parts.next()?.parse().ok()?,
            cursor: parts.next()?.to_owned(),
        })
    }
}

/// Reads a list of the index row by row, newest first. A page is requested only when one of its
/// rows is wanted.
pub(crate) struct IndexPager<'a> {
    index: Xrpc,
    query: &'a str,
    fields: &'a IndexFields,
    params: Vec<(&'a str, &'a str)>,
    at: PagePosition,
    order: &'static str,
    page: VecDeque<Value>,
    /// The cursor of the next page; `None` before the first page, and empty at the end.
    next: Option<String>,
    scanned: u64,
    trail: PageTrail,
    /// Why no further page is read.
    cut: Option<String>,
    /// Size in memory of all rows that [`Self::next`] has returned, in bytes.
    bytes: usize,
}

impl<'a> IndexPager<'a> {
    /// Starts at `position`, or at the beginning with pages of `size` rows.
    pub fn new(
        index: Xrpc,
        (query, fields): (&'a str, &'a IndexFields),
        params: Vec<(&'a str, &'a str)>,
        position: Option<PagePosition>,
        size: usize,
    ) -> Self {
        let begin = PagePosition {
            size,
            skip: 0,
            cursor: String::new(),
        };
        let at = position.unwrap_or(begin);
        Self {
            index: index.bounded(),
            query,
            fields,
            params,
            trail: PageTrail::new(MAX_PAGES).starting_at(&at.cursor),
            cut: None,
            at,
            order: "desc",
            page: VecDeque::new(),
            next: None,
            scanned: 0,
            bytes: 0,
        }
    }

    /// Reverses the order: oldest first.
    pub fn oldest_first(self) -> Self {
        Self {
            order: "asc",
            ..self
        }
    }

    /// Returns the next row, or `None` at the end and at the read limit ([`Self::cut`]). A row that
    /// the list has had already is skipped.
    pub async fn next(&mut self) -> Result<Option<Value>> {
        loop {
            if self.is_spent() {
                return Ok(None);
            }
            if let Some(row) = self.page.pop_front() {
                self.at.skip += 1;
                self.scanned += 1;
                self.bytes = self.bytes.saturating_add(read_limits::weight(&row));
                let uri = row.get("uri").and_then(Value::as_str);
                if uri.is_none_or(|uri| self.trail.is_new_row(uri)) {
                    return Ok(Some(row));
                }
                continue;
            }
            match self.next.take() {
                Some(next) if next.is_empty() || self.cut.is_some() => {
                    self.next = Some(next);
                    return Ok(None);
                }
                Some(cursor) => {
                    self.at.skip = 0;
                    self.at.cursor = cursor;
                    // Few requests lead past many rows that the index dropped.
                    if self.trail.had_empty_page() {
                        self.at.size = self.at.size.max(SCAN);
                    }
                }
                None => {}
            }
            self.fetch().await?;
        }
    }

    fn is_spent(&self) -> bool {
        self.scanned >= MAX_SUBJECT_RECORDS as u64 || self.bytes > self.index.limits().list
    }

    /// Returns true if the list ended although the index names more pages. Nothing can continue it.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some() && self.position().is_none()
    }

    /// Returns a warning if the list continues beyond the rows that are read.
    pub fn cut(&self) -> Option<Warning> {
        let why = match &self.cut {
            Some(why) => format!(", because {why}; the list may have more"),
            None if self.is_spent() && self.position().is_some() => "; the list has more".into(),
            None => return None,
        };
        let host = self.index.origin().host();
        Some(Warning::new(format!(
            "only {} rows of the index's list at {host} were read{why}",
            self.scanned
        )))
    }

    async fn fetch(&mut self) -> Result<()> {
        let mut params = self.params.clone();
        params.push(("order", self.order));
        if !self.at.cursor.is_empty() {
            params.push(("cursor", &self.at.cursor));
        }
        // A position within a page is valid only for the same page size.
        let mut size = self.at.size;
        let asked = records::page(&self.index, self.query, &params, &mut size);
        let page: Items = asked.await?;
        if size != self.at.size && self.at.skip > 0 {
            return Err(xrpc_error::too_long(self.index.origin()));
        }
        self.at.size = size;
        // A page is an error only if all its rows are malformed. Otherwise the caller reports each
        // malformed row.
        let mut rows = page.items.iter();
        let first = rows
            .next()
            .and_then(|row| missing_row_field(row, self.fields));
        if let Some(why) = first
            && rows.all(|row| missing_row_field(row, self.fields).is_some())
        {
            let why = format!("`items[0]`: {why}");
            return Err(xrpc_error::garbled(
                self.index.origin(),
                self.query,
                &why,
                false,
            ));
        }
        let rows = page.items.len();
        self.page = page.items.into_iter().skip(self.at.skip).collect();
        self.next = Some(match self.trail.next(page.cursor, rows) {
            NextPage::At(next) => next,
            NextPage::End => String::new(),
            NextPage::Cut { why, at } => {
                self.cut = Some(why);
                at.unwrap_or_default()
            }
        });
        Ok(())
    }

    /// Returns the position of the next row, or `None` at the end.
    pub fn position(&self) -> Option<PagePosition> {
        if !self.page.is_empty() {
            return Some(self.at.clone());
        }
        let cursor = self.next.clone().filter(|next| !next.is_empty())?;
        Some(PagePosition {
            skip: 0,
            cursor,
            ..self.at.clone()
        })
    }

    /// Returns the number of rows that [`Self::next`] has returned.
    pub fn scanned(&self) -> u64 {
        self.scanned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_position_round_trips_and_junk_is_refused() {
        let p = PagePosition {
            size: 30,
            skip: 2,
            cursor: "a|b".into(),
        };
        assert_eq!(PagePosition::parse(&p.text()), Some(p));
        for junk in ["", "1", "1|2", "0|0|", "9999|0|", "x|0|", "1|-1|"] {
            assert_eq!(PagePosition::parse(junk), None, "{junk}");
        }
    }
}
