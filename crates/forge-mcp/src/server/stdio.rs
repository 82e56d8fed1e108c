//! The stdio transport. Answers invalid lines, which rmcp would drop silently, and limits the
//! memory of requests and answers.
//!
//! The limits are such that the client cannot block the server for ever:
//! - Too many unread answers: the server stops reading the input, and continues as soon as the
//!   client reads the answers. Answers that stay unread after the end of the input are dropped.
//! - Too many calls, or too long parameters of running calls: a further request is refused at once.
//!   If the request waited, the server could not read the lines after it. One of these lines may
//!   end a running call, with the user's answer or a cancellation.
//! - Responses and notifications from the client do not count towards any limit.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use forge_core::call::weight_of_json;
use futures::future::BoxFuture;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientRequest, ErrorCode, GetExtensions as _, GetMeta as _, JsonRpcMessage,
        ProtocolVersion, RequestId,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::json;
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt,
        BufReader, DuplexStream,
    },
    sync::{Mutex, Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch},
    time::{sleep, timeout},
};

use super::message;

/// Maximum length of a line, in bytes. Several copies of its values are in memory at once, and those
/// of a patch once more while it is applied.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// Capacity of the line buffer that is kept between two lines, in bytes.
const LINE_BUFFER_BYTES: usize = 64 * 1024;

/// Maximum input that is read while too many answers are unread, in bytes. A pipe holds less than
/// that, so the server still notices the end of the input.
const READ_AHEAD_BYTES: usize = 1024 * 1024;

/// Length of one read of the input, in bytes.
const READ_BYTES: usize = 8 * 1024;

/// Number of bytes of each request that do not count for [`StdioLimits::requests`]. A short request
/// is therefore never refused because long requests are handled.
const UNCOUNTED_WEIGHT: usize = 16 * 1024;

/// Memory of an unread answer in addition to its text, in bytes.
const ANSWER_OVERHEAD: usize = 4 * 1024;

/// Limits for the client of a [`Stdio`]. A weight is an estimate of the memory that a message
/// takes, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct StdioLimits {
    /// Maximum number of calls at once. Further calls are refused.
    calls: usize,
    /// Maximum weight of all requests that are being handled, in bytes. Further requests are
    /// refused.
    requests: usize,
    /// Weight of unread answers at which the server stops reading input, in bytes.
    unread: usize,
    /// Time after the end of the input until unread answers are dropped.
    end: Duration,
    /// Time after which a client that sends requests but reads no answers is disconnected.
    stall: Duration,
}

impl Default for StdioLimits {
    fn default() -> Self {
        Self {
            calls: 256,
            // Room for one line of the maximum length, with the maximum weight of its values.
            requests: MAX_LINE_BYTES + message::MAX_VALUES_WEIGHT,
            // A thousand short answers.
            unread: 1024 * ANSWER_OVERHEAD,
            // As long as rmcp waits for running calls.
            end: Duration::from_secs(5),
            stall: Duration::from_secs(60),
        }
    }
}

/// The error for an invalid line, with the request id if the line contains an id.
type RefusedLine = (ErrorData, Option<RequestId>);

/// A line from the client: a message, or the error to send back.
type ReceivedLine = Result<RxJsonRpcMessage<RoleServer>, RefusedLine>;

/// A connection over an input and an output pipe.
pub(super) struct Stdio<W> {
    lines: mpsc::Receiver<ReceivedLine>,
    /// The output; `None` once it is closed.
    output: Arc<Mutex<Option<W>>>,
    unread: Arc<UnreadAnswers>,
    /// Weight of unread answers at which the server stops reading input.
    max_unread: usize,
    /// The answer to an invalid line, while it is being written. It is stored here because rmcp may
    /// drop the future of `receive` at any time.
    answer: Option<BoxFuture<'static, io::Result<()>>>,
    /// True once a request has chosen the lifecycle of the connection.
    has_lifecycle: bool,
    /// Closed when the client counts as disconnected; see [`read_ahead`].
    gone: watch::Receiver<()>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Stdio<W> {
    pub fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: W,
        limits: StdioLimits,
    ) -> Self {
        let (sender, lines) = mpsc::channel(1);
        let room = RequestRoom {
            limits,
            calls: Arc::new(Semaphore::new(limits.calls)),
            weight: Arc::new(Semaphore::new(limits.requests)),
        };
        let (ahead, input) = tokio::io::duplex(READ_AHEAD_BYTES);
        let (leave, gone) = watch::channel(());
        tokio::spawn(read_ahead(read, ahead, limits, leave));
        tokio::spawn(read_lines(BufReader::new(input), sender, room));
        Self {
            lines,
            output: Arc::new(Mutex::new(Some(write))),
            unread: Arc::default(),
            max_unread: limits.unread,
            answer: None,
            has_lifecycle: false,
            gone,
        }
    }

    fn write(&self, item: &TxJsonRpcMessage<RoleServer>) -> BoxFuture<'static, io::Result<()>> {
        let line = serde_json::to_vec(item).map(|mut line| {
            line.push(b'\n');
            line
        });
        let unread = UnreadAnswer::new(&self.unread, line.as_ref().map_or(0, Vec::len));
        let output = Arc::clone(&self.output);
        let mut gone = self.gone.clone();
        Box::pin(async move {
            let _unread = unread;
            let line = line?;
            tokio::select! {
                biased;
                written = write_line(&output, &line) => written,
                _ = gone.changed() => Err(io::ErrorKind::TimedOut.into()),
            }
        })
    }

    /// Returns the next message, and answers the invalid lines before it. Before the handshake,
    /// only requests are returned, because rmcp ends the connection at any other message. A client
    /// may cancel a probe before its handshake.
    async fn next_message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answer) = &mut self.answer {
                answer.await.ok()?;
                self.answer = None;
            }
            self.unread.wait_below(self.max_unread).await;
            match self.lines.recv().await? {
                Ok(message) => {
                    if let JsonRpcMessage::Request(request) = &message {
                        self.has_lifecycle |= chooses_lifecycle(&request.request);
                    } else if !self.has_lifecycle {
                        continue;
                    }
                    return Some(message);
                }
                Err((why, id)) => {
                    let refused = TxJsonRpcMessage::<RoleServer>::error(why, id);
                    self.answer = Some(self.write(&refused));
                }
            }
        }
    }
}

/// Returns true if rmcp ends the handshake at this request: at `initialize`, or at another request
/// of a known version that needs no handshake. Any other request leaves the choice open.
fn chooses_lifecycle(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        ClientRequest::InitializeRequest(_) => true,
        request => {
            let meta = request.get_meta();
            let version = meta.protocol_version();
            version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
                && meta.client_capabilities().is_some()
        }
    }
}

async fn write_line<W: AsyncWrite + Unpin>(
    output: &Mutex<Option<W>>,
    line: &[u8],
) -> io::Result<()> {
    match &mut *output.lock().await {
        Some(output) => {
            output.write_all(line).await?;
            output.flush().await
        }
        None => Err(io::ErrorKind::NotConnected.into()),
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Stdio<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.write(&item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut gone = self.gone.clone();
        tokio::select! {
            biased;
            message = self.next_message() => message,
            _ = gone.changed() => None,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}

/// Weight of the answers that the client has not read.
#[derive(Default)]
struct UnreadAnswers {
    weight: AtomicUsize,
    /// Notified after each answer that was written.
    written: Notify,
}

impl UnreadAnswers {
    async fn wait_below(&self, most: usize) {
        while self.weight.load(Ordering::Acquire) >= most {
            // `Notify` stores a notification that arrives between the check above and this line.
            self.written.notified().await;
        }
    }
}

/// Counts an answer until it is written or dropped.
struct UnreadAnswer {
    all: Arc<UnreadAnswers>,
    weight: usize,
}

impl UnreadAnswer {
    fn new(all: &Arc<UnreadAnswers>, length: usize) -> Self {
        let weight = ANSWER_OVERHEAD.saturating_add(length);
        all.weight.fetch_add(weight, Ordering::AcqRel);
        let all = Arc::clone(all);
        Self { all, weight }
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.all.weight.fetch_sub(self.weight, Ordering::AcqRel);
        self.all.written.notify_one();
    }
}

/// Room for requests that are being handled.
struct RequestRoom {
    limits: StdioLimits,
    calls: Arc<Semaphore>,
    weight: Arc<Semaphore>,
}

impl RequestRoom {
    /// Parses a line; returns `None` for an empty line. The permits of a request are stored in its
    /// extensions, so they are held until its handler ends.
    fn parse(&self, line: &[u8]) -> Option<ReceivedLine> {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return None;
        }
        if let Some(refused) = message::refusal(line) {
            return Some(Err(refused));
        }
        let Ok(mut message) = serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line) else {
            let why = "the message is not a request, a notification or a response";
            let error = ErrorData::new(ErrorCode::INVALID_REQUEST, why, None);
            return Some(Err((error, None)));
        };
        if let JsonRpcMessage::Request(request) = &mut message {
            match self.admit(&request.request, weight_of_json(line)) {
                Ok(permits) => request.request.extensions_mut().insert(Arc::new(permits)),
                Err(why) => return Some(Err((why, Some(request.id.clone())))),
            };
        }
        Some(Ok(message))
    }

    /// Takes the permits that a request needs. Refuses the request if a limit is reached.
    fn admit(&self, request: &ClientRequest, weight: usize) -> Result<RequestPermits, ErrorData> {
        let call = match is_call(request) {
            false => None,
            true => match Arc::clone(&self.calls).try_acquire_owned() {
                Ok(call) => Some(call),
                Err(_) => return Err(busy(&format!("{} calls are running", self.limits.calls))),
            },
        };
        let counted = u32::try_from(weight.saturating_sub(UNCOUNTED_WEIGHT)).unwrap_or(u32::MAX);
        match Arc::clone(&self.weight).try_acquire_many_owned(counted) {
            Ok(weight) => Ok((call, weight)),
            Err(_) => {
                let most = self.limits.requests >> 20;
                let why = format!("the running requests would take more than {most} MiB");
                Err(busy(&why))
            }
        }
    }
}

/// Permits of a request: one for a call, and one for each counted byte.
type RequestPermits = (Option<OwnedSemaphorePermit>, OwnedSemaphorePermit);

/// Returns true for a request that may wait for a forge, for the user or for a cancellation. All
/// other requests are answered at once, so limiting their unread answers is enough.
fn is_call(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_)
            | ClientRequest::CompleteRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ListResourcesRequest(_)
            | ClientRequest::ReadResourceRequest(_)
            | ClientRequest::SubscriptionsListenRequest(_)
    )
}

/// Returns the error of a request for which there is no room at the moment.
fn busy(why: &str) -> ErrorData {
    let text = format!(
        "rate_limited: {why}\nRecovery: wait for the answer to another request, then send this one again"
    );
    ErrorData::internal_error(text, Some(json!({ "code": "rate_limited" })))
}

/// Copies the input to `ahead`, so that the end of the input is noticed while answers are unread.
/// Drops `_leave` when the client counts as disconnected. This happens [`StdioLimits::end`] after
/// the end of the input. It also happens [`StdioLimits::stall`] after `ahead` is full because the
/// client reads no answers.
async fn read_ahead(
    mut read: impl AsyncRead + Unpin,
    mut ahead: DuplexStream,
    limits: StdioLimits,
    _leave: watch::Sender<()>,
) {
    let mut bytes: Vec<u8> = Vec::with_capacity(READ_BYTES);
    while matches!(read.read_buf(&mut bytes).await, Ok(1..)) {
        match timeout(limits.stall, ahead.write_all(&bytes)).await {
            Ok(Ok(())) => bytes.clear(),
            Ok(Err(_)) | Err(_) => return,
        }
    }
    drop(ahead);
    sleep(limits.end).await;
}

/// Reads lines until the input ends. Sends the message in each line, or its error, to `lines`.
async fn read_lines(
    mut read: impl AsyncBufRead + Unpin,
    lines: mpsc::Sender<ReceivedLine>,
    room: RequestRoom,
) {
    let mut line = Vec::new();
    loop {
        let most = MAX_LINE_BYTES as u64;
        let length = (&mut read).take(most).read_until(b'\n', &mut line).await;
        let batch = match length {
            Ok(0) | Err(_) => return,
            Ok(_) if line.ends_with(b"\n") => message::split_batch(&line),
            // A last line without a line end is incomplete and ignored.
            Ok(length) if length < MAX_LINE_BYTES => return,
            Ok(_) => match skip_line(&mut read).await {
                Ok(()) if lines.send(Err((too_long(), None))).await.is_ok() => Some(Vec::new()),
                _ => return,
            },
        };
        for message in batch.as_deref().unwrap_or(std::slice::from_ref(&line)) {
            if let Some(received) = room.parse(message)
                && lines.send(received).await.is_err()
            {
                return;
            }
        }
        line.clear();
        line.shrink_to(LINE_BUFFER_BYTES);
    }
}

fn too_long() -> ErrorData {
    let most = MAX_LINE_BYTES >> 20;
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use futures::FutureExt as _;
    use rmcp::model::ServerResult;
    use serde_json::Value;

    use super::*;

    const LIMITS: StdioLimits = StdioLimits {
        calls: 3,
        requests: 100_000,
        unread: 10 * ANSWER_OVERHEAD,
        end: Duration::from_secs(60),
        stall: Duration::from_secs(60),
    };

    fn call(id: usize, text: &str) -> String {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "pr_list", "arguments": {"search": text}, "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        format!("{call}\n")
    }

    /// Returns an input of a hundred requests.
    fn pings() -> Cursor<Vec<u8>> {
        let ping = |id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let lines: String = (0..100).map(|id| format!("{}\n", ping(id))).collect();
        Cursor::new(lines.into_bytes())
    }

    /// Returns the next message, or `None` if the transport waits or has ended.
    async fn next(stdio: &mut Stdio<DuplexStream>) -> Option<RxJsonRpcMessage<RoleServer>> {
        for _ in 0..200 {
            if let Some(message) = stdio.receive().now_or_never() {
                return message;
            }
            tokio::task::yield_now().await;
        }
        None
    }

    async fn refused(client: &mut BufReader<DuplexStream>) -> (Value, String) {
        let mut line = String::new();
        client.read_line(&mut line).await.unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let why = answer["error"]["message"].as_str().unwrap().to_owned();
        (answer["id"].clone(), why)
    }

    /// Without the limit, 100,000 unread answers to pings took half a gigabyte.
    #[tokio::test]
    async fn input_waits_while_answers_are_unread() {
        let (output, client) = tokio::io::duplex(16);
        let mut stdio = Stdio::new(pings(), output, LIMITS);
        assert_eq!(answer_all(&mut stdio).await, 10);
        tokio::spawn(async move {
            let (mut client, mut nowhere) = (client, tokio::io::sink());
            tokio::io::copy(&mut client, &mut nowhere).await
        });
        assert_eq!(answer_all(&mut stdio).await, 90);
    }

    /// Without the timeout, the server would keep running for a client that closed the input but
    /// reads nothing.
    #[tokio::test]
    async fn unread_answers_are_dropped_after_input_end() {
        let (output, _client) = tokio::io::duplex(16);
        let end = Duration::from_millis(10);
        let mut stdio = Stdio::new(pings(), output, StdioLimits { end, ..LIMITS });
        let mut answers = Vec::new();
        while let Some(JsonRpcMessage::Request(request)) = stdio.receive().await {
            let answer = JsonRpcMessage::response(ServerResult::empty(()), request.id);
            answers.push(tokio::spawn(stdio.send(answer)));
        }
        assert!(answers.len() < 100);
        stdio.close().await.unwrap();
        for answer in answers {
            assert!(answer.await.unwrap().is_err());
        }
    }

    /// Without the timeout, the server would keep running for a client that sends input but reads
    /// nothing.
    #[tokio::test]
    async fn client_that_never_reads_is_disconnected() {
        let (output, _client) = tokio::io::duplex(16);
        let stall = Duration::from_millis(10);
        let limits = StdioLimits { stall, ..LIMITS };
        let endless = tokio::io::repeat(b'\n');
        let mut stdio = Stdio::new(pings().chain(endless), output, limits);
        while let Some(JsonRpcMessage::Request(request)) = stdio.receive().await {
            let answer = JsonRpcMessage::response(ServerResult::empty(()), request.id);
            tokio::spawn(stdio.send(answer));
        }
        stdio.close().await.unwrap();
    }

    /// Answers all requests that arrive, and returns their number.
    async fn answer_all(stdio: &mut Stdio<DuplexStream>) -> usize {
        let mut count = 0;
        while let Some(JsonRpcMessage::Request(request)) = next(stdio).await {
            let answer = JsonRpcMessage::response(ServerResult::empty(()), request.id);
            tokio::spawn(stdio.send(answer));
            count += 1;
        }
        count
    }

    #[tokio::test]
    async fn cancellation_is_read_beyond_call_limit() {
        let (mut input, read) = tokio::io::duplex(100_000);
        let (output, client) = tokio::io::duplex(100_000);
        let mut client = BufReader::new(client);
        let mut stdio = Stdio::new(read, output, LIMITS);
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": {"requestId": 1}});
        let of_user = json!({"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}});
        let calls: String = (0..4).map(|id| call(id, "")).collect();
        let sent = format!("{calls}{cancel}\n{of_user}\n");
        input.write_all(sent.as_bytes()).await.unwrap();
        let mut running = Vec::new();
        while let Some(message) = next(&mut stdio).await {
            running.push(message);
        }
        assert!(
            matches!(
                running.as_slice(),
                [
                    JsonRpcMessage::Request(_),
                    JsonRpcMessage::Request(_),
                    JsonRpcMessage::Request(_),
                    JsonRpcMessage::Notification(_),
                    JsonRpcMessage::Response(_),
                ]
            ),
            "{running:?}"
        );
        let (id, why) = refused(&mut client).await;
        assert_eq!(id, 3);
        assert!(why.contains("3 calls are running"), "{why}");
        running.clear();
        input.write_all(call(4, "").as_bytes()).await.unwrap();
        assert!(next(&mut stdio).await.is_some());
    }

    /// Without the limit, 40 calls with arguments of 8 MB each took 765 MB.
    #[tokio::test]
    async fn parameters_of_running_requests_share_one_limit() {
        let (mut input, read) = tokio::io::duplex(1_000_000);
        let (output, client) = tokio::io::duplex(100_000);
        let mut client = BufReader::new(client);
        let mut stdio = Stdio::new(read, output, LIMITS);
        let long = "x".repeat(90_000);
        let sent = format!("{}{}{}", call(0, &long), call(1, &long), call(2, ""));
        input.write_all(sent.as_bytes()).await.unwrap();
        let mut running = Vec::new();
        while let Some(message) = next(&mut stdio).await {
            running.push(message);
        }
        assert_eq!(running.len(), 2);
        let (id, why) = refused(&mut client).await;
        assert_eq!(id, 1);
        assert!(why.contains("the running requests"), "{why}");
        running.clear();
        input.write_all(call(3, &long).as_bytes()).await.unwrap();
        assert!(next(&mut stdio).await.is_some());
    }
}
