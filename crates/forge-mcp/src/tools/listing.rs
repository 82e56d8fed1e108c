//! Builds a page of a list: the rows that fit, and the cursor of the next page.

use std::hash::Hash;

use forge_core::{Cursor, Page, PageReq, Repo, Result, Warning, fingerprint};
use serde::Serialize;

use crate::{
    budget::{self, Lengths, ResultPosition, cursor},
    calls::CallContext,
    content::{Clean, name},
    output::WarningOut,
};

pub(super) struct ListRequest<'a, B> {
    pub tool: &'static str,
    /// A value that the cursor is bound to.
    pub bound: &'a B,
    pub cursor: Option<&'a str>,
    pub limit: usize,
    pub max_chars: Option<u64>,
    /// The plural noun for the text of an empty list: `No … match`.
    pub noun: &'static str,
}

/// A row of a page: its key, its lines and its data.
pub(super) struct ListRow<'a, R> {
    pub key: String,
    pub line: String,
    pub data: R,
    pub warnings: &'a [Warning],
}

/// The rows that fit on the page, and their text.
pub(super) struct Listing<R> {
    pub text: String,
    pub rows: Vec<R>,
    pub source: Option<Clean>,
    pub next_cursor: Option<String>,
    pub warnings: Vec<WarningOut>,
}

/// Returns how many rows to request per page of the forge's list.
pub(super) fn limit(repo: &Repo, asked: Option<u64>) -> usize {
    let limits = repo.limits();
    let limit = usize::try_from(asked.unwrap_or(30)).unwrap_or(100);
    limit.clamp(1, 100.min(limits.page_max.max(1)))
}

impl<'a, B: Hash> ListRequest<'a, B> {
    /// Returns the request for the next page of the forge's list. The cursor that the caller passed
    /// contains the cursor of the forge.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the caller's cursor comes from a call with other arguments.
    pub fn page(&self) -> Result<PageReq> {
        Ok(match self.position()? {
            None | Some((_, "")) => PageReq::first(self.limit),
            Some((_, page)) => PageReq::after(Cursor::from_text(page), self.limit),
        })
    }

    /// Splits this call's cursor into the pinned position (see [`cursor::pin`]) and the forge's own
    /// cursor.
    fn position(&self) -> Result<Option<(&'a str, &'a str)>> {
        let Some(text) = self.cursor else {
            return Ok(None);
        };
        let text = cursor::read(self.tool, self.bound, "", text)?;
        Ok(Some(split_pin(text)))
    }

    /// Fits the rows of `page` into the length limit.
    ///
    /// # Errors
    ///
    /// Fails with `conflict` if the rows of this list page that were already shown have changed.
    pub fn listing<M, R: Serialize>(
        &self,
        call: &CallContext,
        repo: &Repo,
        page: &Page<M>,
        rows: Vec<ListRow<'_, R>>,
        shorten: impl Fn(&mut R, usize),
    ) -> Result<Listing<R>> {
        // The position is pinned to the keys of earlier rows. Otherwise an item that is opened or
        // closed meanwhile would shift the rows, and the next page would skip or repeat a row.
        let keys: Vec<String> = rows.iter().map(|row| row.key.clone()).collect();
        let before = |at: ResultPosition| {
            let shown = at.block + usize::from(at.offset > 0);
            fingerprint(&keys.get(..shown).unwrap_or_default())
        };
        let position = self.position()?;
        let (from, began) = match position {
            None => (ResultPosition::default(), ""),
            Some((pinned, began)) => (cursor::unpin(pinned, cursor::SHOWN, before)?, began),
        };
        let mut warnings = page.warnings.clone();
        let of_rows = rows.iter().map(|row| (row.key.clone(), row.warnings));
        warnings.extend(Warning::of_rows(of_rows, &page.warnings));
        let warnings = WarningOut::all(&warnings, &call.about(), &call.cleaner);
        let max = budget::chars(self.max_chars);
        let (lines, mut data): (Vec<String>, Vec<R>) =
            rows.into_iter().map(|row| (row.line, row.data)).unzip();
        data.iter_mut().for_each(|row| shorten(row, max));
        let said = WarningOut::lines(&warnings, max / 4);
        let lengths: Vec<usize> = data.iter().map(budget::length).collect();
        let lengths = Lengths {
            always: budget::length(&warnings),
            blocks: &lengths,
        };
        let fitted = budget::fit_both(&said, &lines, lengths, from, max);
        let pinned = |at: ResultPosition| cursor::pin(at, before(at));
        let next = match (fitted.next, &page.next) {
            (Some(at), _) => Some(format!("{}~{began}", pinned(at))),
            (None, Some(next)) => {
                let start = pinned(ResultPosition::default());
                Some(format!("{start}~{}", next.as_str()))
            }
            (None, None) => None,
        };
        let next = next.map(|at| cursor::make(self.tool, self.bound, "", &at));
        let shown: Vec<R> = data
            .into_iter()
            .skip(fitted.begun.start)
            .take(fitted.begun.len())
            .collect();
        let mut text = fitted.text;
        let total = page.total.map_or(String::new(), |n| format!(" of {n}"));
        text.push_str(&match (&next, shown.len()) {
            (None, 0) if self.cursor.is_none() => {
                format!("No {} match in {}.", self.noun, repo.id())
            }
            (None, n) => format!("{n}{total} shown: the end of the list of {}.", repo.id()),
            (Some(cursor), n) => format!(
                "{n}{total} shown of {}. More: cursor=\"{cursor}\"",
                repo.id()
            ),
        });
        let source = page.source.as_deref().map(|s| call.cleaner.line(s));
        if let Some(scanned) = page.scanned.filter(|n| *n > shown.len() as u64) {
            text.push_str(&format!(" {scanned} were read."));
            if let Some(source) = &source {
                text.push_str(&format!(" Asked: {}.", name(source)));
            }
        }
        Ok(Listing {
            text,
            rows: shown,
            source,
            next_cursor: next,
            warnings,
        })
    }
}

/// Splits the text of a cursor into the pinned position and the forge's own cursor.
fn split_pin(text: &str) -> (&str, &str) {
    let end = text.match_indices('~').nth(1).map(|(at, _)| at);
    let (pinned, page) = text
        .split_at_checked(end.unwrap_or(text.len()))
        .unwrap_or((text, ""));
    (pinned, page.strip_prefix('~').unwrap_or(page))
}
