//! How many requests come one after another.

use std::time::Instant;

/// Length of the longest chain of requests of which each arrived after the one before had been
/// answered, from when each arrived and when its answer was ready.
pub(crate) fn longest_chain(mut work: Vec<(Instant, Instant)>) -> usize {
    // Always the one that ends first: no choice leaves more room for the others.
    work.sort_by_key(|(_, ended)| *ended);
    let mut last: Option<Instant> = None;
    work.into_iter()
        .filter(|(began, ended)| {
            let free = last.is_none_or(|last| *began >= last);
            if free {
                last = Some(*ended);
            }
            free
        })
        .count()
}
