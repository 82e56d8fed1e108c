//! Lists the collections that tangled's own index ingested, by date. This is the table of
//! `docs/reference/tangled-ingestion.md`.

use crate::{Dialect, Dialects};

/// The dates at which the set of ingested collections changed, oldest first; the last is current.
pub const INDEX_DATES: [&str; 5] = ["2025-10", "2025-12", "2026-05", "2026-06", "2026-07"];

/// A collection, the position in [`INDEX_DATES`] of the first index that ingests it, and the
/// recovery for users of an older index.
struct IngestionStart {
    collection: fn(&Dialect) -> &str,
    since: usize,
    instead: &'static str,
}

/// Source: the ingester's code at these dates.
const ROWS: [IngestionStart; 4] = [
    IngestionStart {
        collection: |names| &names.pull,
        since: 2,
        instead: "open it on the web page of the repository",
    },
    IngestionStart {
        collection: |names| &names.status,
        since: 4,
        instead: "close, reopen or mark it as merged on its web page",
    },
    IngestionStart {
        collection: |names| &names.issue_state,
        since: 4,
        instead: "close or reopen it on its web page",
    },
    IngestionStart {
        collection: |names| &names.comment,
        since: 3,
        instead: "comment on its web page",
    },
];

/// Returns the collections that an index of `date` does not ingest, each with the recovery for
/// users of that index. `date` is one of [`INDEX_DATES`]. An unknown date counts as the newest.
#[must_use]
pub fn not_ingested_in(date: &str, names: &Dialects) -> Vec<(String, String)> {
    let newest = INDEX_DATES.len() - 1;
    let at = INDEX_DATES
        .iter()
        .position(|d| *d == date)
        .unwrap_or(newest);
    ROWS.iter()
        .filter(|row| row.since > at)
        .map(|row| {
            (
                (row.collection)(&names.sh).to_owned(),
                row.instead.to_owned(),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_index_ingests_fewer_collections() {
        let names = Dialects::default();
        let counts: Vec<usize> = INDEX_DATES
            .iter()
            .map(|date| not_ingested_in(date, &names).len())
            .collect();
        assert_eq!(counts, [4, 4, 3, 2, 0]);
        assert!(not_ingested_in("tomorrow", &names).is_empty());
    }

    #[test]
    fn documented_ingestion_table_matches_rows() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/tangled-ingestion.md"
        );
        let page = std::fs::read_to_string(path).unwrap();
        let names = Dialects::default();
        for row in &ROWS {
            let name = format!("| `{}` |", (row.collection)(&names.sh));
            let line = page.lines().find(|l| l.starts_with(&name)).unwrap();
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let yes: Vec<bool> = cells[2..7].iter().map(|cell| *cell == "yes").collect();
            let wanted: Vec<bool> = (0..5).map(|at| at >= row.since).collect();
            assert_eq!(yes, wanted, "{line}");
        }
    }
}
