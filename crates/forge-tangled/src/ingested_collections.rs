//! Lists the collections that tangled's own index ingested, by date. This is the table of
//! `docs/reference/tangled-ingestion.md`.

use forge_core::{IndexLimit, IndexSupport, Op};

use crate::{Dialect, Dialects};

/// The dates at which the set of ingested collections changed, oldest first; the last is current.
pub const INDEX_DATES: [&str; 6] = [
    "2025-10", "2025-12", "2026-05", "2026-06", "2026-07", "2026-10",
];
/// The date from which nothing shows what tangled's own index ingests, except for the collections
/// that it stopped to ingest.
const UNKNOWN_SINCE: &str = "2026-10";
/// The date of the ingester whose rules `ingest_rules` has.
const RULES_OF: &str = "2026-07";

/// State of a collection at an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ingests {
    /// The index ingests the records.
    Yes,
    /// The index does not ingest them, and has none.
    No,
    /// The index ingested them until this month. It may still list the older ones.
    NoLonger(&'static str),
    /// No source says whether the index ingests them.
    Unknown,
}

/// A collection, and the position in [`INDEX_DATES`] of the first index that ingests it.
struct CollectionHistory {
    collection: fn(&Dialect) -> &str,
    since: usize,
    /// The date at which the index stopped to ingest the collection.
    until: Option<&'static str>,
}

const fn ingested_since(since: usize, collection: fn(&Dialect) -> &str) -> CollectionHistory {
    CollectionHistory {
        collection,
        since,
        until: None,
    }
}

/// Source: the ingester's code at these dates. Removing `label.op` is a change of October 2026.
const ROWS: [CollectionHistory; 7] = [
    ingested_since(2, |names| &names.pull),
    ingested_since(4, |names| &names.status),
    ingested_since(0, |names| &names.issue),
    ingested_since(4, |names| &names.issue_state),
    ingested_since(3, |names| &names.comment),
    CollectionHistory {
        until: Some("2026-10"),
        ..ingested_since(0, |names| &names.label_op)
    },
    ingested_since(0, |names| &names.label),
];

/// Known states of the collections at an index. The default is that nothing is
/// known, and nothing claimed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestedCollections {
    rows: Vec<(String, Ingests)>,
    has_proved_rules: bool,
}

impl IngestedCollections {
    /// Returns what an index of `date` ingests, one of [`INDEX_DATES`]. Of any other date, nothing
    /// is known: each collection is [`Ingests::Unknown`].
    #[must_use]
    pub fn at(date: &str, names: &Dialects) -> Self {
        let at = INDEX_DATES.iter().position(|known| *known == date);
        let rows = ROWS.iter().map(|row| {
            let ingests = match (at, row.until) {
                (None, _) => Ingests::Unknown,
                (Some(_), Some(until)) if date >= until => Ingests::NoLonger(until),
                (Some(_), _) if date >= UNKNOWN_SINCE => Ingests::Unknown,
                (Some(at), _) if at < row.since => Ingests::No,
                (Some(_), _) => Ingests::Yes,
            };
            ((row.collection)(&names.sh).to_owned(), ingests)
        });
        Self {
            rows: rows.collect(),
            has_proved_rules: date == RULES_OF,
        }
    }

    /// Returns what is known of tangled's own index today.
    #[must_use]
    pub fn of_tangled(names: &Dialects) -> Self {
        Self::at(UNKNOWN_SINCE, names)
    }

    /// Sets whether the index ingests a collection.
    pub fn set(&mut self, collection: &str, ingests: Ingests) {
        self.rows.retain(|(known, _)| known != collection);
        self.rows.push((collection.to_owned(), ingests));
    }

    /// Returns whether the index ingests a collection; `None` if nothing is claimed.
    #[must_use]
    pub fn of(&self, collection: &str) -> Option<Ingests> {
        let row = self.rows.iter().find(|(known, _)| known == collection);
        row.map(|(_, ingests)| *ingests)
    }

    /// Returns true if the index is known not to ingest new records of a collection.
    pub(crate) fn misses(&self, collection: &str) -> bool {
        matches!(
            self.of(collection),
            Some(Ingests::No | Ingests::NoLonger(_))
        )
    }

    /// Returns true if the index is known to have no records of a collection, so that its lists of
    /// them prove nothing.
    pub(crate) fn lacks(&self, collection: &str) -> bool {
        self.of(collection) == Some(Ingests::No)
    }

    /// Returns true if this index is known, by its version, to have the rules of `ingest_rules`.
    pub(crate) const fn has_proved_rules(&self) -> bool {
        self.has_proved_rules
    }

    /// Returns the limits of the index that are known or unknown.
    pub(crate) fn limits(&self, host: &str, names: &Dialects) -> Vec<IndexLimit> {
        let rows = self.rows.iter();
        rows.filter_map(|(collection, ingests)| {
            let support = match ingests {
                Ingests::Yes => return None,
                Ingests::No => IndexSupport::NotIngested,
                Ingests::NoLonger(since) => IndexSupport::NoLongerIngested { since },
                Ingests::Unknown => IndexSupport::Unknown,
            };
            Some(limit_of(collection, support, host, names))
        })
        .collect()
    }

    /// Returns the limit of a collection that the index is known not to ingest.
    pub(crate) fn known_limit(
        &self,
        collection: &str,
        host: &str,
        names: &Dialects,
    ) -> Option<IndexLimit> {
        let limits = self.limits(host, names).into_iter();
        let mut known = limits.filter(IndexLimit::is_known);
        known.find(|limit| limit.collection == collection)
    }
}

fn limit_of(collection: &str, support: IndexSupport, host: &str, names: &Dialects) -> IndexLimit {
    let instead = instead_of(collection, RecordWrite::New, names);
    let mut limit = IndexLimit::new(host, collection, support, instead);
    let sh = &names.sh;
    limit.ops = match collection {
        name if name == sh.pull => &[Op::PrCreate, Op::PrEdit, Op::PrResubmit, Op::PrSetDraft],
        name if name == sh.status => &[Op::PrClose, Op::PrReopen, Op::PrMerge],
        name if name == sh.issue => &[Op::IssueCreate, Op::IssueEdit],
        name if name == sh.issue_state => &[Op::IssueSetState],
        name if name == sh.comment => &[
            Op::Comment,
            Op::CommentEdit,
            Op::IssueComment,
            Op::IssueCommentEdit,
        ],
        name if name == sh.label_op => {
            limit.only_labels = true;
            &[Op::PrCreate, Op::PrEdit, Op::IssueCreate, Op::IssueEdit]
        }
        name if name == sh.label => &[Op::LabelDefine],
        _ => &[],
    };
    limit
}

/// What a write does with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordWrite {
    /// Creates the record.
    New,
    /// Changes the text of the record.
    Edit,
    /// Adds a round to the record of a pull request.
    Round,
}

/// Returns what to do instead of a write whose record the index does not ingest.
pub(crate) fn instead_of(collection: &str, write: RecordWrite, names: &Dialects) -> &'static str {
    let sh = &names.sh;
    let is_text = collection == sh.pull || collection == sh.issue;
    match write {
        RecordWrite::Round => "submit the round on its web page",
        RecordWrite::Edit if is_text => "make the change on its web page",
        RecordWrite::Edit if collection == sh.comment => "edit the comment on its web page",
        _ if is_text => "open it on the web page of the repository",
        _ if collection == sh.status => "close, reopen or mark it as merged on its web page",
        _ if collection == sh.issue_state => "close or reopen it on its web page",
        _ if collection == sh.comment => "comment on its web page",
        _ if collection == sh.label_op => "set the labels on its web page",
        _ if collection == sh.label => "define the label in the settings of the repository",
        _ => "use the web page",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_index_ingests_fewer_collections() {
        let names = Dialects::default();
        let counts = |date: &str| {
            let known = IngestedCollections::at(date, &names);
            let count = |wanted: fn(&Ingests) -> bool| {
                let rows = known.rows.iter();
                rows.filter(|(_, ingests)| wanted(ingests)).count()
            };
            [
                count(|it| *it == Ingests::No),
                count(|it| matches!(it, Ingests::NoLonger(_))),
                count(|it| *it == Ingests::Unknown),
            ]
        };
        assert_eq!(
            INDEX_DATES[..5]
                .iter()
                .map(|date| counts(date))
                .collect::<Vec<_>>(),
            [[4, 0, 0], [4, 0, 0], [3, 0, 0], [2, 0, 0], [0, 0, 0],]
        );
        assert_eq!(counts("2026-10"), [0, 1, 6]);
    }

    #[test]
    fn unknown_index_date_claims_nothing() {
        let names = Dialects::default();
        for date in ["tomorrow", "2026-11", "2026-08", "2025", ""] {
            let known = IngestedCollections::at(date, &names);
            let is_unknown = |(_, ingests): &(String, Ingests)| *ingests == Ingests::Unknown;
            assert!(known.rows.iter().all(is_unknown), "{date}: {known:?}");
            assert!(!known.misses("sh.tangled.repo.pull"), "{date}");
            assert!(!known.has_proved_rules(), "{date}");
        }
        let proved: Vec<&str> = INDEX_DATES
            .into_iter()
            .filter(|date| IngestedCollections::at(date, &names).has_proved_rules())
            .collect();
        assert_eq!(proved, ["2026-07"], "the rules of one ingester");
    }

    #[test]
    fn limit_names_operations_and_fitting_recovery() {
        let names = Dialects::default();
        let today = IngestedCollections::of_tangled(&names).limits("index.example", &names);
        let labels = today.iter().find(|it| it.is_known()).unwrap();
        assert_eq!(labels.collection, "sh.tangled.label.op");
        assert!(labels.concerns(Op::IssueCreate, true) && !labels.concerns(Op::IssueCreate, false));
        for (op, collection) in [
            (Op::PrCreate, "sh.tangled.repo.pull"),
            (Op::PrMerge, "sh.tangled.repo.pull.status"),
            (Op::IssueSetState, "sh.tangled.repo.issue.state"),
            (Op::Comment, "sh.tangled.feed.comment"),
        ] {
            let mut concerned = today.iter().filter(|it| it.concerns(op, false));
            let limit = concerned.next().unwrap();
            assert_eq!(limit.collection, collection);
            assert_eq!(limit.support, IndexSupport::Unknown);
            assert_eq!(concerned.next(), None);
        }
        let old = IngestedCollections::at("2026-07", &names);
        assert!(old.limits("index.example", &names).is_empty());
        assert!(
            IngestedCollections::default()
                .limits("x", &names)
                .is_empty()
        );
        let pull = &*names.sh.pull;
        let told = [RecordWrite::New, RecordWrite::Edit, RecordWrite::Round]
            .map(|write| instead_of(pull, write, &names));
        assert_eq!(
            told,
            [
                "open it on the web page of the repository",
                "make the change on its web page",
                "submit the round on its web page",
            ]
        );
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
            let name = (row.collection)(&names.sh);
            let cell = format!("`{name}`");
            let mut lines = page.lines().filter(|line| line.starts_with("| `"));
            let line =
                lines.find(|line| line.split('|').nth(1).is_some_and(|it| it.contains(&cell)));
            let line = line.unwrap_or_else(|| panic!("no row of {name}"));
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let wanted = INDEX_DATES.map(|date| {
                match IngestedCollections::at(date, &names).of(name).unwrap() {
                    Ingests::Yes => "yes",
                    Ingests::No => "no",
                    Ingests::NoLonger(_) => "no longer",
                    Ingests::Unknown => "unknown",
                }
            });
            let page: Vec<&str> = cells[2..8]
                .iter()
                .map(|cell| match *cell {
                    "–" => "no",
                    cell => cell,
                })
                .collect();
            assert_eq!(page, wanted, "{line}");
        }
    }
}
