//! Measures chains of sequential requests.

use std::time::Instant;

/// Returns the length of the longest chain of requests in which each request arrives after the
/// answer to the one before. `work` has the times of arrival and answer of each request.
pub fn longest_chain(mut work: Vec<(Instant, Instant)>) -> usize {
    // Choosing the request that ends first is always optimal: no other choice allows a longer
    // chain.
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
