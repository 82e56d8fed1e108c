//! Ends the program on `SIGTERM`, `SIGHUP` and `SIGINT`, with its git processes.
//!
//! Processes of git that read or compute are killed. A process that writes finishes first, because a
//! killed git leaves lock files behind.

use std::{
    fs, process,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use forge_git::{end_reading_processes, wait_for_writing_processes};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long the program waits for git processes that write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Number of [`OwnInterrupt`] values.
static OWN_INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

/// True once a signal ends the program.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Leaves `SIGINT` to the command as long as the value lives.
#[derive(Debug)]
pub struct OwnInterrupt(());

impl OwnInterrupt {
    /// Leaves `SIGINT` to the command.
    #[must_use]
    pub fn begin() -> Self {
        OWN_INTERRUPTS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// Waits for a `SIGINT`. It does not end the program even if the thread of
    /// [`end_on_signals`] receives it only after this value is dropped.
    pub async fn receive(&self) {
        if tokio::signal::ctrl_c().await.is_ok() {
            OWN_INTERRUPTS.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Drop for OwnInterrupt {
    fn drop(&mut self) {
        OWN_INTERRUPTS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Leaves `SIGINT` to the thread of the prompts, which lives as long as the program.
pub fn leave_interrupt_to_prompt() {
    OWN_INTERRUPTS.fetch_add(1, Ordering::SeqCst);
}

/// Ends the git processes that read, and waits for those that write.
pub fn end_git_processes() {
    end_reading_processes();
    wait_for_writing_processes(WRITE_TIMEOUT);
}

/// Returns if no signal ends the program. Otherwise waits for the end, so that the exit code is that
/// of the signal and not of a command whose git process was killed.
pub fn wait_for_end() {
    while IS_ENDING.load(Ordering::SeqCst) {
        thread::park();
    }
}

/// Starts a thread that ends the program on a signal. A command can block its own thread, for
/// example while it prints.
pub fn end_on_signals() {
    let (listens, listening) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let mut signals = Signals::listen();
            let _ = listens.send(());
            let code = signals.next().await;
            IS_ENDING.store(true, Ordering::SeqCst);
            end_git_processes();
            process::exit(code);
        });
    });
    // Waits until the signals are handled. An error means that they cannot be handled.
    let _ = listening.recv();
}

/// The signals that end the program. A signal that the parent ignores, as `nohup` and background
/// jobs of a script do, stays ignored.
struct Signals {
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
    interrupt: Option<Signal>,
}

impl Signals {
    fn listen() -> Self {
        let ignored = ignored_signals();
        let listen = |kind: SignalKind| {
            let bit = u32::try_from(kind.as_raw_value()).unwrap_or_default();
            let is_ignored = ignored.checked_shr(bit.saturating_sub(1)).unwrap_or(0) & 1 == 1;
            let handled = (!is_ignored).then(|| signal(kind));
            handled.and_then(Result::ok)
        };
        Self {
            terminate: listen(SignalKind::terminate()),
            hang_up: listen(SignalKind::hangup()),
            interrupt: listen(SignalKind::interrupt()),
        }
    }

    /// Waits for a signal that ends the program, and returns the exit code, which is that of a
    /// program that the signal kills.
    async fn next(&mut self) -> i32 {
        loop {
            let kind = tokio::select! {
                () = receive(&mut self.terminate) => SignalKind::terminate(),
                () = receive(&mut self.hang_up) => SignalKind::hangup(),
                () = receive(&mut self.interrupt) => SignalKind::interrupt(),
            };
            let is_own = OWN_INTERRUPTS.load(Ordering::SeqCst) > 0;
            if kind != SignalKind::interrupt() || !is_own {
                return 128 + kind.as_raw_value();
            }
        }
    }
}

async fn receive(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Returns the signals that this process ignores since its start: bit 0 is signal 1. Only Linux
/// tells; elsewhere no signal counts as ignored.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
