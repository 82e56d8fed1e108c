use forge_core::model::ByteStream;
use futures::stream;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStdout},
    task::JoinHandle,
};

use crate::{
    children::RunningProcess,
    error::{code, failed},
};

const MAX_CHUNK_BYTES: usize = 64 * 1024;

/// Maximum size of the standard error of a process that is kept, in bytes.
const MAX_STDERR: usize = 1024 * 1024;

struct RunningGit {
    /// Dropped before the child, because it kills the group of a child that still runs.
    running: RunningProcess,
    child: Child,
    stdout: ChildStdout,
    stderr: Option<JoinHandle<Vec<u8>>>,
    subcommand: String,
}

/// Streams the standard output of `child` in chunks. If the command fails, the error is the last
/// item.
pub(crate) fn of(mut child: Child, running: RunningProcess, subcommand: String) -> ByteStream {
    // The caller pipes both outputs. Without the pipes there is nothing to read.
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Box::pin(stream::empty());
    };
    let stderr = Some(tokio::spawn(drain(stderr)));
    let running = RunningGit {
        running,
        child,
        stdout,
        stderr,
        subcommand,
    };
    Box::pin(stream::unfold(Some(running), |running| async move {
        let mut running = running?;
        let mut chunk = Vec::with_capacity(MAX_CHUNK_BYTES);
        let broken = |e| crate::error::spawn_error("git".as_ref(), ".".as_ref(), e);
        match (&mut running.stdout)
            .take(MAX_CHUNK_BYTES as u64)
            .read_buf(&mut chunk)
            .await
        {
            Ok(0) => {}
            Ok(_) => return Some((Ok(chunk), Some(running))),
            Err(e) => return Some((Err(broken(e)), None)),
        }
        let ended = running.child.wait().await;
        running.running.ended();
        match ended {
            Ok(status) if status.success() => None,
            Ok(status) => {
                let said = match running.stderr.take() {
                    Some(task) => task.await.unwrap_or_default(),
                    None => Vec::new(),
                };
                Some((Err(failed(&running.subcommand, code(status), &said)), None))
            }
            Err(e) => Some((Err(broken(e)), None)),
        }
    }))
}

/// Reads `from` to the end, so that git never waits because a pipe is full. Returns only the
/// beginning.
pub(crate) async fn drain(mut from: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        let room = MAX_STDERR.saturating_sub(kept.len());
        kept.extend(buffer.iter().take(n.min(room)));
    }
    kept
}
