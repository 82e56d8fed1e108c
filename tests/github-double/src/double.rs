//! Starts and stops the double.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use forge_double_wire::longest_chain;
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::oneshot};

use super::{
    control,
    faults::Fault,
    record::{Counts, Recorded},
    seed::Seed,
    server::{Shared, lock, serve},
    state::State,
};

/// Configuration of the double.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Port on loopback; 0 chooses a free port.
    pub port: u16,
    /// Delay before each answer.
    pub latency: Duration,
    /// Number of requests that read a changed merge state as `UNKNOWN`. `None` means 1; github.com
    /// was recorded with 2.
    pub merge_state_lag: Option<u32>,
    /// Address of the web pages that answers contain. `None` derives the address from the requested
    /// host.
    pub web: Option<String>,
    /// True if git clients need no token, for tests that do not check git's credentials.
    pub open_git: bool,
}

/// A GitHub double on loopback. It stops when it is dropped.
///
/// The double runs on a separate thread, so it serves tests with and without an async runtime.
pub struct GitHubDouble {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _root: TempDir,
}

impl GitHubDouble {
    /// Starts a double.
    ///
    /// # Errors
    ///
    /// Fails if the port, or the directory for the repositories, is unavailable.
    pub fn start(options: Options) -> io::Result<Self> {
        let root = TempDir::with_prefix("forge-github-double-")?;
        let state = State::new(root.path().to_owned(), options.merge_state_lag.unwrap_or(1));
        let shared = Arc::new(Shared::new(
            state,
            options.latency,
            options.web,
            options.open_git,
        ));
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("forge-github-double".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    let Ok(listener) = TcpListener::from_std(listener) else {
                        return;
                    };
                    tokio::select! {
                        () = serve(listener, serving) => {}
                        _ = stopped => {}
                    }
                });
                runtime.shutdown_timeout(Duration::from_secs(1));
            })?;
        Ok(Self {
            shared,
            address,
            stop: Some(stop),
            thread: Some(thread),
            _root: root,
        })
    }

    /// Returns `http://127.0.0.1:PORT`. Clients use this as `HTTP_PROXY`, or call the double
    /// directly as GitHub Enterprise Server, with `/api/graphql` and `/api/v3`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the environment variables that point a GitHub client at the double, with a token.
    pub fn env(&self, token: &str) -> Vec<(&'static str, String)> {
        vec![
            ("GH_HOST", "github.localhost".to_owned()),
            ("GH_TOKEN", token.to_owned()),
            ("HTTP_PROXY", self.url()),
            ("http_proxy", self.url()),
            ("NO_PROXY", String::new()),
            ("no_proxy", String::new()),
        ]
    }

    /// Locks the state, to fill or inspect it. Requests wait until the returned value is dropped.
    pub fn seed(&self) -> Seed<'_> {
        Seed(self.shared.state())
    }

    /// Runs JSON seed steps, as the control interface does.
    ///
    /// # Errors
    ///
    /// Fails with the name of the step that cannot be executed.
    pub fn seed_json(&self, steps: &str) -> Result<(), String> {
        let steps = serde_json::from_str(steps).map_err(|error| error.to_string())?;
        control::run_steps(&self.shared, &steps).map(drop)
    }

    /// Adds a fault to the plan.
    pub fn fault(&self, fault: Fault) {
        lock(&self.shared.plan).add(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        lock(&self.shared.plan).clear();
    }

    /// Returns the number of faults that have not yet acted as often as planned.
    pub fn faults_left(&self) -> usize {
        lock(&self.shared.plan).left()
    }

    /// Returns the requests since the record was last reset.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.log).clone()
    }

    /// Returns the numbers of requests since the record was last reset.
    pub fn counts(&self) -> Counts {
        Counts::of(&lock(&self.shared.log))
    }

    /// Returns the length of the longest chain of requests in which each request arrives after the
    /// answer to the one before. Concurrent requests overlap reliably only if every request has a
    /// delay.
    pub fn longest_chain(&self) -> usize {
        longest_chain(self.requests().iter().filter_map(|it| it.work).collect())
    }

    /// Resets the record of requests.
    pub fn reset_record(&self) {
        lock(&self.shared.log).clear();
    }
}

impl Drop for GitHubDouble {
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
