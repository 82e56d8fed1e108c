//! The stdio transport. Answers invalid lines, which rmcp would drop silently, so that the client
//! does not wait.

use std::io;

use futures::future::BoxFuture;
use rmcp::{
    ErrorData, RoleServer,
    model::{ErrorCode, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        Transport,
        async_rw::{AsyncRwTransport, DEFAULT_MAX_LINE_LENGTH},
    },
};
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt,
        BufReader, DuplexStream,
    },
    sync::mpsc,
};

use super::message;

/// Size of the pipe from [`sort`] to rmcp's reader, in bytes.
const PIPE_BUFFER_BYTES: usize = 64 * 1024;

/// The error for an invalid line, with the request id if the line contains an id.
type RefusedLine = (ErrorData, Option<RequestId>);

/// A connection over an input and an output pipe.
pub(super) struct Stdio<W: AsyncWrite> {
    lines: AsyncRwTransport<RoleServer, DuplexStream, W>,
    refused: mpsc::Receiver<RefusedLine>,
    /// The pending answer to an invalid line. It is stored because `receive` can be dropped at any
    /// time.
    answer: Option<BoxFuture<'static, io::Result<()>>>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Stdio<W> {
    pub fn new(read: impl AsyncRead + Send + Unpin + 'static, write: W) -> Self {
        let (good, lines) = tokio::io::duplex(PIPE_BUFFER_BYTES);
        let (bad, refused) = mpsc::channel(1);
        tokio::spawn(sort(BufReader::new(read), good, bad));
        Self {
            lines: AsyncRwTransport::new(lines, write),
            refused,
            answer: None,
        }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Stdio<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.lines.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answer) = &mut self.answer {
                answer.await.ok()?;
                self.answer = None;
            }
            tokio::select! {
                biased;
                Some((why, id)) = self.refused.recv() => {
                    let answer = self.lines.send(TxJsonRpcMessage::<RoleServer>::error(why, id));
                    self.answer = Some(Box::pin(answer));
                }
                message = self.lines.receive() => return message,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.lines.close().await
    }
}

/// Forwards valid lines to rmcp, and sends the errors of invalid lines to `bad`.
async fn sort(
    mut read: impl AsyncBufRead + Unpin,
    mut good: DuplexStream,
    bad: mpsc::Sender<RefusedLine>,
) {
    let mut line = Vec::new();
    loop {
        line.clear();
        line.shrink_to(PIPE_BUFFER_BYTES);
        let most = DEFAULT_MAX_LINE_LENGTH as u64;
        let length = (&mut read).take(most).read_until(b'\n', &mut line).await;
        // A last line without a line end is incomplete and ignored.
        let is_done = match length {
            Ok(0) | Err(_) => true,
            Ok(_) if line.ends_with(b"\n") => match refusal(&line) {
                Some(why) => bad.send(why).await.is_err(),
                None => good.write_all(&line).await.is_err(),
            },
            Ok(length) if length < DEFAULT_MAX_LINE_LENGTH => true,
            Ok(_) => {
                skip_line(&mut read).await.is_err() || bad.send((too_long(), None)).await.is_err()
            }
        };
        if is_done {
            return;
        }
    }
}

fn refusal(line: &[u8]) -> Option<RefusedLine> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return None;
    }
    message::refusal(line)
}

fn too_long() -> ErrorData {
    let most = DEFAULT_MAX_LINE_LENGTH >> 20;
    let why = format!("the message is longer than {most} MiB, and was not read");
    ErrorData::new(ErrorCode::INVALID_REQUEST, why, None)
}

async fn skip_line(read: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let buffer = read.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let length = end.map_or(buffer.len(), |at| at + 1);
        read.consume(length);
        if end.is_some() {
            return Ok(());
        }
    }
}
