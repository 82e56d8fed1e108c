//! How many requests come one after another.

use std::time::Instant;

/// Length of the longest chain of requests, each of which arrived after the answer to the one
/// before, from the times of arrival and of the answer.
pub fn longest_chain(mut work: Vec<(Instant, Instant)>) -> usize {
    // The request that ends first is always chosen: no other choice leaves more room.
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
