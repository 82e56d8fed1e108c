//! Facts, known before a write, about whether the index of a forge shows the written records.
//!
//! On tangled, a write stores a record, and an index shows the record to others only if it ingests
//! records of that kind. See [`Ingestion`](crate::Ingestion) for the verdict after the write.

use crate::{Hint, Op, Warning};

/// State of a collection whose records an index may not ingest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexSupport {
    /// The index does not ingest the records.
    NotIngested,
    /// The index ingested the records until this month, such as `2026-10`.
    NoLongerIngested {
        /// The month of the last observation.
        since: &'static str,
    },
    /// No source says whether the index ingests the records.
    Unknown,
}

impl IndexSupport {
    /// Returns the stable name: `not_ingested`, `no_longer_ingested` or `unknown`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotIngested => "not_ingested",
            Self::NoLongerIngested { .. } => "no_longer_ingested",
            Self::Unknown => "unknown",
        }
    }
}

/// A kind of record that the index of a forge may not show.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexLimit {
    /// Name of the index.
    pub index: String,
    /// Collection of the records.
    pub collection: String,
    /// State of the collection at the index.
    pub support: IndexSupport,
    /// Operations that write such records.
    pub ops: &'static [Op],
    /// True if the operations write such a record only for labels and assignees.
    pub only_labels: bool,
    /// Recovery instead of the write: an imperative without a full stop.
    pub instead: String,
}

impl IndexLimit {
    /// Describes the records of a collection that no operation is known to write.
    pub fn new(
        index: impl Into<String>,
        collection: impl Into<String>,
        support: IndexSupport,
        instead: impl Into<String>,
    ) -> Self {
        Self {
            index: index.into(),
            collection: collection.into(),
            support,
            ops: &[],
            only_labels: false,
            instead: instead.into(),
        }
    }

    /// Returns true if the index is known not to ingest the records.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        !matches!(self.support, IndexSupport::Unknown)
    }

    /// Returns true if `op` writes such records. `has_labels` says whether the request names labels
    /// or assignees.
    #[must_use]
    pub fn concerns(&self, op: Op, has_labels: bool) -> bool {
        self.ops.contains(&op) && (has_labels || !self.only_labels)
    }

    /// Returns what happens to a record that is written anyway, as a sentence without a full stop.
    #[must_use]
    pub fn effect(&self) -> String {
        if self.is_known() {
            format!(
                "the record is stored on your server, and {} does not show it to others",
                self.index
            )
        } else {
            format!(
                "the record is stored on your server, and the command reports whether {} shows it",
                self.index
            )
        }
    }

    /// Returns what is known, what happens, and what to do instead.
    #[must_use]
    pub fn warning(&self) -> Warning {
        let (effect, instead) = (self.effect(), &self.instead);
        let fact = support_sentence(self.support, &self.index, &self.collection);
        let warning = Warning::new(format!("{fact}: {effect}"));
        if self.is_known() {
            warning.with_hint(Hint::from(instead.clone()))
        } else {
            warning.with_hint(Hint::from(format!("if nothing shows it, {instead}")))
        }
    }

    /// Returns one warning for each limit that is known, and one for all unknown ones together.
    #[must_use]
    pub fn warnings_of_all(limits: &[Self]) -> Vec<Warning> {
        let known = limits.iter().filter(|limit| limit.is_known());
        let mut warnings: Vec<Warning> = known.map(Self::warning).collect();
        let unknown: Vec<&Self> = limits.iter().filter(|limit| !limit.is_known()).collect();
        if let Some(first) = unknown.first() {
            let names: Vec<&str> = unknown.iter().map(|it| it.collection.as_str()).collect();
            let fact = support_sentence(first.support, &first.index, &names.join(", "));
            let warning = Warning::new(format!("{fact}: {}", first.effect()));
            warnings.push(warning.with_hint("if nothing shows a record, use the web page"));
        }
        warnings
    }
}

fn support_sentence(support: IndexSupport, index: &str, collections: &str) -> String {
    match support {
        IndexSupport::NotIngested => format!("{index} does not ingest {collections}"),
        IndexSupport::NoLongerIngested { since } => {
            format!("{index} does not ingest {collections} any more, as of {since}")
        }
        IndexSupport::Unknown => {
            format!("it is unknown whether {index} ingests {collections}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(support: IndexSupport) -> IndexLimit {
        let mut limit = IndexLimit::new("index.example", "a.b", support, "use the web page");
        limit.ops = &[Op::PrCreate];
        limit
    }

    #[test]
    fn index_limit_says_fact_effect_and_recovery() {
        let known = limit(IndexSupport::NoLongerIngested { since: "2026-10" }).warning();
        assert_eq!(
            known.message,
            "index.example does not ingest a.b any more, as of 2026-10: the record is stored on \
             your server, and index.example does not show it to others"
        );
        assert_eq!(known.hint.unwrap().text(), "use the web page");
        let unknown = limit(IndexSupport::Unknown).warning();
        assert!(unknown.message.starts_with("it is unknown whether "));
        assert!(unknown.message.contains("reports whether index.example"));
        let hint = unknown.hint.unwrap();
        assert_eq!(hint.text(), "if nothing shows it, use the web page");
    }

    #[test]
    fn label_limit_concerns_only_requests_with_labels() {
        let mut limit = limit(IndexSupport::NotIngested);
        assert!(limit.concerns(Op::PrCreate, false) && !limit.concerns(Op::PrEdit, true));
        limit.only_labels = true;
        assert!(limit.concerns(Op::PrCreate, true) && !limit.concerns(Op::PrCreate, false));
    }

    #[test]
    fn unknown_collections_have_a_common_warning() {
        let [a, mut b] = [limit(IndexSupport::Unknown), limit(IndexSupport::Unknown)];
        b.collection = "c.d".to_owned();
        let of_all = IndexLimit::warnings_of_all(&[a, limit(IndexSupport::NotIngested), b]);
        assert_eq!(of_all.len(), 2);
        assert!(of_all[0].message.starts_with("index.example does not"));
        assert!(of_all[1].message.contains("ingests a.b, c.d: "));
        assert!(IndexLimit::warnings_of_all(&[]).is_empty());
    }
}
