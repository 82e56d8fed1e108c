//! Pages of lists, and opaque cursors.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The position and size of a requested page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageReq {
    /// Maximum number of items, at least 1.
    pub limit: usize,
    /// Cursor from the previous page; `None` for the first page.
    pub cursor: Option<Cursor>,
}

impl PageReq {
    /// Requests the first page, with at most `limit` items.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            cursor: None,
        }
    }

    /// Requests the page after `cursor`.
    #[must_use]
    pub fn after(cursor: Cursor, limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            cursor: Some(cursor),
        }
    }

    /// Returns the position that the cursor contains; `None` for the first page.
    ///
    /// # Errors
    /// The errors of [`Cursor::position`].
    pub fn position(&self, scheme: &str, query: &impl Hash) -> Result<Option<&str>> {
        let cursor = self.cursor.as_ref();
        cursor.map(|c| c.position(scheme, query)).transpose()
    }
}

/// A page of a list.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items, in the order of the query.
    pub items: Vec<T>,
    /// Cursor of the next page; `None` on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
    /// Total number of items, if the forge reports it without extra work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Number of items that were examined to fill the page, if this program filters the list
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scanned: Option<u64>,
    /// The service that answered, if there are several: `the index at api.tangled.org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Warnings about items that could not be read; the rest of the page is valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<crate::Warning>,
}

impl<T> Page<T> {
    /// Builds a last page of `items`, without a total.
    #[must_use]
    pub fn new(items: Vec<T>) -> Self {
        Self {
            items,
            next: None,
            total: None,
            scanned: None,
            source: None,
            warnings: Vec::new(),
        }
    }

    /// Builds a page that contains all items.
    #[must_use]
    pub fn complete(items: Vec<T>) -> Self {
        let total = Some(items.len() as u64);
        Self {
            total,
            ..Self::new(items)
        }
    }
}

/// An opaque position in a list, valid only for the query that created it.
///
/// The text is `<scheme>:<hash of the query, hex>:<position>`. Only the backend that created the
/// cursor interprets the position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// Builds a cursor of the backend `scheme` for `query` at `position`.
    #[must_use]
    pub fn new(scheme: &str, query: &impl Hash, position: &str) -> Self {
        Self(format!("{scheme}:{:016x}:{position}", fingerprint(query)))
    }

    /// Converts the text from a caller to a cursor. The text is validated when the cursor is used.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text for the caller.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the position, if this cursor belongs to `scheme` and `query`.
    ///
    /// # Errors
    /// `invalid_input` for a cursor of another backend or query, or a malformed one.
    pub fn position(&self, scheme: &str, query: &impl Hash) -> Result<&str> {
        let refused = |why: &str| {
            Error::invalid("cursor", format!("cursor '{}' {why}", self.0))
                .with_hint("start again without a cursor, and pass the same filters on every page")
        };
        let mut parts = self.0.splitn(3, ':');
        let (Some(s), Some(hash), Some(position)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(refused("was not made by this program"));
        };
        if s != scheme {
            return Err(refused("belongs to another kind of forge or list"));
        }
        if hash != format!("{:016x}", fingerprint(query)) {
            return Err(refused("belongs to a query with other filters"));
        }
        Ok(position)
    }
}

/// Returns the FNV-1a hash of a value. `DefaultHasher` is not used, because cursors and versions
/// must have the same meaning in every build.
#[must_use]
pub fn fingerprint(query: &impl Hash) -> u64 {
    struct Fnv(u64);
    impl Hasher for Fnv {
        fn finish(&self) -> u64 {
            self.0
        }
        fn write(&mut self, bytes: &[u8]) {
            for b in bytes {
                self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    let mut h = Fnv(0xcbf2_9ce4_8422_2325);
    query.hash(&mut h);
    h.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_of_another_query_is_refused() {
        let c = Cursor::new("local", &("open", 1), "a:b");
        assert_eq!(c.position("local", &("open", 1)).unwrap(), "a:b");
        assert!(c.position("local", &("closed", 1)).is_err());
        assert!(c.position("github", &("open", 1)).is_err());
        assert!(Cursor::from_text("x").position("local", &1).is_err());
    }
}
