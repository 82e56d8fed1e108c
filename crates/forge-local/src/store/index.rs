//! `refs/forge/index`: the highest pull request number, and the numbers that may be open.
//!
//! The index can be rebuilt if it is lost. A number in it may belong to a closed pull request, so
//! readers check the state of each pull request.

use std::{fmt::Write, ops::RangeInclusive};

use super::refs;

/// The first line of the index blob.
const FORMAT: &str = "forge index 1";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// The highest number that a pull request ever had; 0 if there was no pull request.
    pub highest: u64,
    /// The numbers whose pull requests may be open.
    pub open: NumberRanges,
}

/// A set of numbers, as sorted ranges that neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberRanges(Vec<RangeInclusive<u64>>);

impl NumberRanges {
    /// Returns the numbers from 1 to `highest`.
    pub fn up_to(highest: u64) -> Self {
        Self((highest > 0).then_some(1..=highest).into_iter().collect())
    }

    pub fn contains(&self, n: u64) -> bool {
        let at = self.0.partition_point(|r| *r.end() < n);
        self.0.get(at).is_some_and(|r| r.contains(&n))
    }

    /// Returns how many numbers are in the set.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|r| r.end() - r.start() + 1).sum()
    }

    pub fn insert(&mut self, n: u64) {
        if self.contains(n) {
            return;
        }
        let at = self.0.partition_point(|r| *r.end() < n);
        self.0.insert(at, n..=n);
        self.join(at);
        if let Some(before) = at.checked_sub(1) {
            self.join(before);
        }
    }

    /// Joins the range at `at` with the next one if they touch.
    fn join(&mut self, at: usize) {
        let (Some(a), Some(b)) = (self.0.get(at), self.0.get(at + 1)) else {
            return;
        };
        if a.end() + 1 == *b.start() {
            let joined = *a.start()..=*b.end();
            self.0.remove(at + 1);
            if let Some(slot) = self.0.get_mut(at) {
                *slot = joined;
            }
        }
    }

    pub fn remove(&mut self, n: u64) {
        let at = self.0.partition_point(|r| *r.end() < n);
        let Some(range) = self.0.get(at).filter(|r| r.contains(&n)).cloned() else {
            return;
        };
        let below = (*range.start() < n).then(|| *range.start()..=n - 1);
        let above = (*range.end() > n).then(|| n + 1..=*range.end());
        self.0.splice(at..=at, below.into_iter().chain(above));
    }

    /// Returns the numbers less than `limit`, in descending order.
    pub fn below(&self, limit: u64) -> impl Iterator<Item = u64> + Send + use<> {
        let ranges = self.0.clone();
        ranges
            .into_iter()
            .rev()
            .filter(move |r| *r.start() < limit)
            .flat_map(move |r| (*r.start()..=(*r.end()).min(limit - 1)).rev())
    }
}

impl Index {
    /// Encodes the index as the text of the blob.
    pub fn encode(&self) -> String {
        let mut out = format!("{FORMAT}\nhighest {}\nopen ", self.highest);
        for (n, range) in self.open.0.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let (a, b) = (range.start(), range.end());
            // Writing to a String never fails.
            let _ = if a == b {
                write!(out, "{comma}{a}")
            } else {
                write!(out, "{comma}{a}-{b}")
            };
        }
        out.push('\n');
        out
    }

    /// Parses the text of the blob. Returns `None` if the text is not an index or is inconsistent.
    pub fn decode(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        if lines.next()? != FORMAT {
            return None;
        }
        let highest: u64 = lines.next()?.strip_prefix("highest ")?.parse().ok()?;
        let list = lines.next()?.strip_prefix("open ")?;
        if lines.next().is_some() || highest > refs::MAX_NUMBER {
            return None;
        }
        let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
        for part in list.split(',').filter(|p| !p.is_empty()) {
            let (a, b) = part.split_once('-').unwrap_or((part, part));
            let range: RangeInclusive<u64> = a.parse().ok()?..=b.parse().ok()?;
            let after = ranges.last().map_or(0, |r| r.end() + 1);
            let in_order = *range.start() > after || (ranges.is_empty() && *range.start() > 0);
            if !in_order || range.is_empty() || *range.end() > highest {
                return None;
            }
            ranges.push(range);
        }
        Some(Self {
            highest,
            open: NumberRanges(ranges),
        })
    }

    /// Rebuilds a lost index. Lists every existing pull request as possibly open.
    pub fn rebuild(numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut index = Self::default();
        for n in numbers {
            index.open(n);
        }
        index
    }

    /// Marks `n` as open.
    pub fn open(&mut self, n: u64) {
        self.highest = self.highest.max(n);
        self.open.insert(n);
    }

    /// Marks `n` as not open.
    pub fn close(&mut self, n: u64) {
        self.highest = self.highest.max(n);
        self.open.remove(n);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn number_ranges_behave_like_a_plain_set() {
        let (mut ranges, mut set, mut seed) = (NumberRanges::default(), BTreeSet::new(), 7u64);
        for _ in 0..4000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let n = (seed >> 33) % 60 + 1;
            if seed >> 63 == 0 {
                ranges.insert(n);
                set.insert(n);
            } else {
                ranges.remove(n);
                set.remove(&n);
            }
            assert_eq!(ranges.len(), set.len() as u64);
            let limit = (seed >> 20) % 70;
            let below: Vec<_> = ranges.below(limit).collect();
            assert_eq!(below, set.range(..limit).rev().copied().collect::<Vec<_>>());
            let index = Index {
                highest: 60,
                open: ranges.clone(),
            };
            assert_eq!(Index::decode(&index.encode()), Some(index));
        }
    }

    #[test]
    fn index_blob_round_trips_and_garbage_is_refused() {
        let mut index = Index::rebuild([3, 1, 2, 7]);
        index.close(9);
        assert_eq!(index.encode(), "forge index 1\nhighest 9\nopen 1-3,7\n");
        assert_eq!(
            Index::decode("forge index 1\nhighest 0\nopen \n"),
            Some(Index::default())
        );
        for bad in [
            "",
            "forge index 2\nhighest 0\nopen \n",
            "forge index 1\nhighest 3\nopen 1-9\n",
            "forge index 1\nhighest 9\nopen 3-1\n",
            "forge index 1\nhighest 9\nopen 3,1\n",
            "forge index 1\nhighest 9\nopen 0-4\n",
            "forge index 1\nhighest 9\nopen 1-2,3\n",
            "forge index 1\nhighest x\nopen \n",
            "forge index 1\nhighest 1\nopen \nmore\n",
            "forge index 1\nhighest 18446744073709551615\nopen \n",
        ] {
            assert_eq!(Index::decode(bad), None, "{bad:?}");
        }
    }
}
