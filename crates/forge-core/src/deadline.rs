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

/// Maximum size of a streamed body after decompression, in bytes.
const MAX_STREAMED: usize = 1 << 30;

/// Returns the error of a body that exceeded [`MAX_STREAMED`].
fn too_large(op: Op) -> Error {
    let most = MAX_STREAMED >> 30;
    let message = format!(
        "{} sent more than {most} GiB; the rest was not read",
        op.name()
    );
    Error::new(ErrorKind::Protocol, message)
        .with_hint("compare the branches with git in a clone")
        .with_op(op.name())
}

/// Wraps a body so that reading it fails after the deadline or above [`MAX_STREAMED`] bytes.
///
/// `left` is the time that remains of `deadline`. Only the wait for a chunk uses up this time. The
/// time that the reader takes between two chunks does not count, because it may wait for a pager.
pub(crate) fn within_deadline(
    body: ByteStream,
    op: Op,
    deadline: Duration,
    left: Duration,
) -> ByteStream {
    Box::pin(stream::unfold(
        Some((body, left, MAX_STREAMED)),
        move |state| async move {
            let (mut body, left, room) = state?;
            let begun = Instant::now();
            match timeout(left, body.next()).await {
                Ok(None) => None,
                Ok(Some(Err(e))) => Some((Err(e), None)),
                // `timeout` never fires while chunks are ready at once, so `left` is checked here
                // too.
                Ok(Some(Ok(chunk))) if !left.is_zero() => {
                    let left = left.saturating_sub(begun.elapsed());
                    match room.checked_sub(chunk.len()) {
                        Some(room) => Some((Ok(chunk), Some((body, left, room)))),
                        None => Some((Err(too_large(op)), None)),
                    }
                }
                Ok(Some(Ok(_))) | Err(_) => {
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
    async fn ready_chunks_fail_after_the_deadline() {
        let deadline = Duration::from_secs(30);
        let ready: ByteStream = Box::pin(stream::repeat_with(|| Ok(vec![b'a'])));
        let mut body = within_deadline(ready, Op::PrDiff, deadline, Duration::ZERO);
        let e = body.next().await.unwrap().unwrap_err();
        assert_eq!(e.message(), "pr.diff took longer than 30 s");
        assert!(body.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn body_over_the_maximum_size_fails() {
        let deadline = Duration::from_secs(30);
        let endless: ByteStream = Box::pin(stream::repeat_with(|| Ok(vec![0_u8; 1 << 20])));
        let body = within_deadline(endless, Op::PrDiff, deadline, deadline);
        let sizes = body.map(|chunk| chunk.map(|bytes| bytes.len()));
        let read: Vec<_> = sizes.collect().await;
        assert_eq!(read.len(), 1025);
        let e = read.last().unwrap().as_ref().unwrap_err();
        assert!(e.message().contains("more than 1 GiB"), "{e}");
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
