use std::{future::Future, time::Duration};

use crate::Result;

/// Pauses before each retry. GitHub computes mergeability only after a first request for it.
const PAUSES: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// Rereads a pull request until the forge has computed its mergeability, for at most seven seconds.
///
/// `first` is the result of the previous read. `pause` is called before each retry, with the number
/// of the retry from 1.
///
/// # Errors
/// The errors of `read`.
pub async fn settle_mergeability<T, R, P>(
    first: T,
    is_unknown: impl Fn(&T) -> bool,
    pause: impl Fn(u32, Duration) -> P,
    read: impl Fn() -> R,
) -> Result<T>
where
    R: Future<Output = Result<T>>,
    P: Future<Output = ()>,
{
    let mut found = first;
    for (number, length) in (1..).zip(PAUSES) {
        if !is_unknown(&found) {
            break;
        }
        pause(number, length).await;
        found = read().await?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn mergeability_is_read_at_most_four_times() {
        // C-000-12 (a requirement): three pauses of 1, 2 and 4 seconds.
        for (known_at, wanted) in [(0, &[][..]), (2, &[1, 2][..]), (9, &[1, 2, 4][..])] {
            let paused = RefCell::new(Vec::new());
            let found = settle_mergeability(
                0,
                |reads| *reads < known_at,
                |_, length| {
                    paused.borrow_mut().push(length.as_secs());
                    async {}
                },
                || {
                    let reads = paused.borrow().len();
                    async move { Ok(reads) }
                },
            );
            assert_eq!(found.await.unwrap(), wanted.len());
            assert_eq!(*paused.borrow(), wanted);
        }
    }
}
