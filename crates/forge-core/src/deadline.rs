//! The deadline of a call. The deadline also covers a body that is streamed after the call returns.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use tokio::time::{Instant, timeout};

use crate::{
    Error, ErrorKind, Retry,
    call::CallState,
    model::ByteStream,
    op::{Effect, Op},
};

/// Returns the error of a call that exceeded its deadline.
pub(crate) fn timed_out(op: Op, after: Duration, state: &CallState) -> Error {
    let e = Error::new(
        ErrorKind::Timeout { after },
        format!("{} took longer than {} s", op.name(), after.as_secs_f32()),
    );
    if op.effect() == Effect::Write && !state.wrote_nothing() {
        e.with_retry(Retry::Ambiguous)
            .with_hint("the operation may have succeeded: check that before you try again")
    } else {
        e.with_hint("try again, or allow more time with FORGE_TIMEOUT (seconds)")
    }
}

/// Wraps a body so that reading fails after `left`, the time left of `deadline`, was spent waiting
/// for chunks. Time between two reads does not count, because the reader may wait for a pager.
pub(crate) fn within_deadline(
    body: ByteStream,
    op: Op,
    deadline: Duration,
    left: Duration,
) -> ByteStream {
    Box::pin(stream::unfold(
        Some((body, left)),
        move |state| async move {
            let (mut body, left) = state?;
            let begun = Instant::now();
            match timeout(left, body.next()).await {
                Ok(None) => None,
                Ok(Some(Ok(chunk))) => {
                    let left = left.saturating_sub(begun.elapsed());
                    Some((Ok(chunk), Some((body, left))))
                }
                Ok(Some(Err(e))) => Some((Err(e), None)),
                Err(_) => {
                    let e = timed_out(op, deadline, &CallState::default());
                    Some((Err(e.with_op(op.name())), None))
                }
            }
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a body of three chunks, sent `seconds` apart.
    fn slow(seconds: u64) -> ByteStream {
        let chunks = stream::iter([b"a", b"b", b"c"]);
        Box::pin(chunks.then(move |chunk| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(chunk.to_vec())
        }))
    }

    #[tokio::test(start_paused = true)]
    async fn slow_body_fails_at_the_deadline() {
        let deadline = Duration::from_secs(30);
        for (seconds, left, chunks) in [(9, 30, 3), (9, 20, 2), (9, 1, 0)] {
            let left = Duration::from_secs(left);
            let body = within_deadline(slow(seconds), Op::PrDiff, deadline, left);
            let read: Vec<_> = body.collect().await;
            let ends = read.iter().filter_map(|chunk| chunk.as_ref().err());
            let ends: Vec<&str> = ends.map(Error::message).collect();
            assert_eq!(read.len() - ends.len(), chunks, "{seconds} {left:?}");
            let wanted: &[&str] = match chunks {
                3 => &[],
                _ => &["pr.diff took longer than 30 s"],
            };
            assert_eq!(ends, wanted);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn reader_pauses_do_not_count_toward_deadline() {
        let deadline = Duration::from_secs(30);
        let mut body = within_deadline(slow(9), Op::PrDiff, deadline, deadline);
        for _ in 0..3 {
            assert!(body.next().await.is_some_and(|chunk| chunk.is_ok()));
            tokio::time::sleep(Duration::from_secs(100)).await;
        }
        assert!(body.next().await.is_none());
    }
}
