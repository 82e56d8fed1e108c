//! An HTTP server on loopback, on a separate thread. It records requests, injects faults, and
//! passes the other requests to a [`Service`].

mod client;
mod faults;
mod names;
mod record;
mod request;
mod trap;

use std::{
    collections::BTreeMap,
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    os::fd::{AsFd, OwnedFd},
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use forge_double_wire::{Parts, Reply};
use hyper::{Response, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

pub(crate) use client::get;
pub use client::{Answer as XrpcAnswer, Caller};
pub use faults::{Action, Fault};
use faults::{Plan, Subject};
pub use names::{Names, Place};
pub use record::Recorded;
pub(crate) use request::Incoming;
pub use trap::Trap;

/// Answers requests. Each request runs on a thread, which may block.
pub(crate) trait Service: Send + Sync + 'static {
    fn answer(&self, request: &Incoming) -> Reply;
}

/// Locks a mutex, even if a request that panicked has poisoned it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles the connections of a host in place of the host. See [`Host::put_behind`].
pub type Front = Arc<dyn Fn(std::net::TcpStream) + Send + Sync>;

struct Desk {
    service: Box<dyn Service>,
    front: Mutex<Option<Front>>,
    plan: Mutex<Plan>,
    log: Mutex<Vec<Recorded>>,
    latency: Mutex<Duration>,
    trap: Mutex<Option<Trap>>,
    /// Default method names, by their new names.
    renamed: Mutex<BTreeMap<String, String>>,
    names: Mutex<Names>,
    down: AtomicBool,
    requests: AtomicU64,
    busy: AtomicU64,
    busiest: AtomicU64,
}

/// A server of the world, with its address, its recorded requests and its faults.
///
/// The server stops when this value is dropped.
pub struct Host {
    desk: Arc<Desk>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Host {
    /// Reserves a free port, on which [`Claimed::serve`] later starts the server. There are two
    /// steps because some services must know their address before they start.
    pub(crate) fn claim() -> io::Result<Claimed> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Claimed { listener, address })
    }

    /// Returns `http://localhost:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.authority())
    }

    /// Returns `localhost:PORT`.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    /// Returns `did:web:localhost%3APORT`.
    #[must_use]
    pub fn did(&self) -> String {
        did_web(self.address.port())
    }

    /// Adds a fault to the plan.
    pub fn fault(&self, fault: Fault) {
        lock(&self.desk.plan).add(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        lock(&self.desk.plan).clear();
    }

    /// Returns the number of faults that have not yet acted as often as planned.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        lock(&self.desk.plan).left()
    }

    /// Delays every answer by `latency`.
    pub fn set_latency(&self, latency: Duration) {
        *lock(&self.desk.latency) = latency;
    }

    /// Sets a trap, which counts the requests of this host. `None` removes the trap.
    pub fn set_trap(&self, trap: Option<Trap>) {
        *lock(&self.desk.trap) = trap;
    }

    /// Renames a method. The host no longer knows the default name.
    pub fn rename_method(&self, usual: &str, now: &str) {
        lock(&self.desk.renamed).insert(now.to_owned(), usual.to_owned());
    }

    /// Sets the names that the host uses for fields and values.
    pub fn speak(&self, names: Names) {
        *lock(&self.desk.names) = names;
    }

    /// Passes every later connection to `front`. Returns the original host, which gets a new
    /// address.
    ///
    /// # Errors
    ///
    /// Fails if no port is available.
    pub fn put_behind(&self, front: Front) -> io::Result<Self> {
        let back = Self::claim()?.start("back-door", Arc::clone(&self.desk), false)?;
        *lock(&self.desk.front) = Some(front);
        Ok(back)
    }

    /// Sets whether the host is down. A host that is down resets every connection and records
    /// nothing.
    pub fn set_down(&self, down: bool) {
        self.desk.down.store(down, Ordering::SeqCst);
    }

    /// Returns the requests since the record was last reset.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.desk.log).clone()
    }

    /// Returns the number of requests since the record was last reset.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.desk.log).len()
    }

    /// Returns the number of requests that called an XRPC method.
    #[must_use]
    pub fn count_of(&self, nsid: &str) -> usize {
        let log = lock(&self.desk.log);
        log.iter().filter(|it| it.method() == Some(nsid)).count()
    }

    /// Returns the maximum number of requests that the host has handled at once since the record
    /// was last reset.
    #[must_use]
    pub fn most_at_once(&self) -> u64 {
        self.desk.busiest.load(Ordering::SeqCst)
    }

    /// Resets the record of requests.
    pub fn reset_record(&self) {
        lock(&self.desk.log).clear();
        self.desk.busiest.store(0, Ordering::SeqCst);
    }
}

fn did_web(port: u16) -> String {
    format!("did:web:localhost%3A{port}")
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A reserved port on which no server runs yet.
pub(crate) struct Claimed {
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl Claimed {
    pub(crate) fn url(&self) -> String {
        format!("http://localhost:{}", self.address.port())
    }

    pub(crate) fn did(&self) -> String {
        did_web(self.address.port())
    }

    pub(crate) fn authority(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    pub(crate) fn serve(self, name: &str, service: impl Service) -> io::Result<Host> {
        let desk = Arc::new(Desk {
            service: Box::new(service),
            front: Mutex::default(),
            plan: Mutex::default(),
            log: Mutex::default(),
            latency: Mutex::default(),
            trap: Mutex::default(),
            renamed: Mutex::default(),
            names: Mutex::default(),
            down: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            busiest: AtomicU64::new(0),
        });
        self.start(name, desk, true)
    }

    fn start(self, name: &str, desk: Arc<Desk>, has_front: bool) -> io::Result<Host> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&desk);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    let Ok(listener) = TcpListener::from_std(self.listener) else {
                        return;
                    };
                    tokio::select! {
                        () = accept(listener, serving, has_front) => {}
                        _ = stopped => {}
                    }
                });
                runtime.shutdown_timeout(Duration::from_secs(1));
            })?;
        Ok(Host {
            desk,
            address: self.address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

async fn accept(listener: TcpListener, desk: Arc<Desk>, has_front: bool) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let front = lock(&desk.front).clone().filter(|_| has_front);
                let Some(front) = front else {
                    tokio::spawn(connection(stream, Arc::clone(&desk)));
                    continue;
                };
                if let Ok(stream) = stream.into_std()
                    && stream.set_nonblocking(false).is_ok()
                {
                    front(stream);
                }
            }
            // Usually the process has no free file descriptor, so wait until some are closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Error that makes the server reset the connection.
#[derive(Debug)]
struct Hangup;

impl fmt::Display for Hangup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the test resets the connection")
    }
}

impl std::error::Error for Hangup {}

async fn connection(stream: TcpStream, desk: Arc<Desk>) {
    let _ = stream.set_nodelay(true);
    // A second handle of the socket sets how it closes, because hyper owns the first handle.
    let handle: io::Result<OwnedFd> = stream.as_fd().try_clone_to_owned();
    let handle = Arc::new(handle.ok());
    let service = service_fn(move |request| {
        let desk = Arc::clone(&desk);
        let handle = Arc::clone(&handle);
        async move {
            let incoming = request::read(request).await;
            let answer = answer(&desk, incoming).await;
            if let (Err(Hangup), Some(handle)) = (&answer, handle.as_ref()) {
                let _ = rustix::net::sockopt::set_socket_linger(handle, Some(Duration::ZERO));
            }
            answer
        }
    });
    // An error means that the client disconnected, or that a fault broke the connection.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Counts a request as in progress until it is dropped.
struct Busy<'a>(&'a Desk);

impl<'a> Busy<'a> {
    fn new(desk: &'a Desk) -> Self {
        let now = desk.busy.fetch_add(1, Ordering::SeqCst) + 1;
        desk.busiest.fetch_max(now, Ordering::SeqCst);
        Self(desk)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn answer(desk: &Arc<Desk>, incoming: Incoming) -> Result<Response<Parts>, Hangup> {
    if desk.down.load(Ordering::SeqCst) {
        return Err(Hangup);
    }
    let _busy = Busy::new(desk);
    let began = Instant::now();
    let trap = lock(&desk.trap).clone();
    let is_write = incoming.method != "GET";
    if let Some(trap) = trap.filter(|trap| trap.counts_trapped(is_write)) {
        if trap.executes_request() {
            execute(desk, incoming).await;
        }
        trap.spring();
        // The trapped request gets no answer, and waits until the client disconnects.
        return std::future::pending().await;
    }
    let index = desk.requests.fetch_add(1, Ordering::Relaxed) + 1;
    let fault = lock(&desk.plan).take(&Subject {
        path: &incoming.path,
        query: &incoming.query,
        body: &incoming.body,
    });
    let delay = *lock(&desk.latency) + fault.as_ref().map_or(Duration::ZERO, |it| it.delay);
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let mut record = Recorded::of(index, &incoming);
    record.faulted = fault.is_some();
    record.executed = fault.as_ref().is_none_or(Fault::executes_request);
    let reply = if record.executed {
        execute(desk, incoming).await
    } else {
        Reply::default()
    };
    let sent = faults::apply_fault(reply, fault.map(|fault| fault.action));
    if let Some((reply, _)) = &sent {
        record.status = reply.status;
        record.response_bytes = reply.body.len();
    }
    record.work = Some((began, Instant::now()));
    lock(&desk.log).push(record);
    sent.map(|(reply, keep)| reply.into_response(keep))
        .ok_or(Hangup)
}

async fn execute(desk: &Arc<Desk>, incoming: Incoming) -> Reply {
    let incoming = incoming.renamed(&lock(&desk.renamed));
    let method = incoming.nsid().map(str::to_owned);
    let names = lock(&desk.names).clone();
    let incoming = names.incoming(incoming);
    let desk = Arc::clone(desk);
    let broken = || Reply::text(500, "text/plain", b"the double failed".to_vec());
    let reply = tokio::task::spawn_blocking(move || {
        // A bug in a service must not stop the server. Only the request fails.
        let work = AssertUnwindSafe(|| desk.service.answer(&incoming));
        std::panic::catch_unwind(work).unwrap_or_else(|_| broken())
    })
    .await
    .unwrap_or_else(|_| broken());
    names.outgoing(method.as_deref(), reply)
}
