//! Collects the records that were skipped while reading, each with its reason.

use std::fmt::Display;

use forge_core::{Warning, text::one_line};

use crate::records::Record;

/// Maximum number of skipped records that are named. Anybody can write records about a pull
/// request, so a flood of malformed records must not hide the other warnings.
const NAMED: usize = 50;

/// Skipped records, with reasons.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    named: Vec<Warning>,
    more: usize,
    rest: Option<String>,
}

impl Skipped {
    /// Adds a skipped record.
    pub fn add(&mut self, uri: &str, why: impl Display) {
        if self.named.len() < NAMED {
            let text = format!("{} was skipped: {why}", one_line(uri));
            self.named.push(Warning::new(text));
        } else {
            self.more += 1;
        }
    }

    /// Adds a warning about records that were not read.
    pub fn add_rest(&mut self, what: String) {
        self.rest = Some(what);
    }

    /// Returns a warning for each named record, and one with the number of the other skipped
    /// records.
    pub fn warnings(self) -> Vec<Warning> {
        let more = (self.more > 0).then(|| {
            let text = format!("{} more records were skipped", self.more);
            Warning::new(text)
        });
        let mut all = self.named;
        all.extend(more);
        all.extend(self.rest.map(Warning::new));
        all
    }
}

/// Returns a warning for each record for which `broken` returns a reason.
pub(crate) fn malformed_warnings(
    records: &[Record],
    broken: impl Fn(&Record) -> Option<&'static str>,
) -> Vec<Warning> {
    let mut skipped = Skipped::default();
    for record in records {
        if let Some(why) = broken(record) {
            skipped.add(&record.uri, why);
        }
    }
    skipped.warnings()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_records_are_named_then_counted() {
        let mut skipped = Skipped::default();
        for n in 0..NAMED + 3 {
            skipped.add(&format!("at://a/b/{n}\n"), "it has no text");
        }
        skipped.add_rest("and so on".to_owned());
        let told: Vec<_> = skipped.warnings().into_iter().map(|w| w.message).collect();
        assert_eq!(told.len(), NAMED + 2);
        assert!(told[0].starts_with("at://a/b/0"), "{}", told[0]);
        assert!(!told[0].contains('\n'));
        assert_eq!(told[NAMED], "3 more records were skipped");
        assert_eq!(told[NAMED + 1], "and so on");
    }
}
