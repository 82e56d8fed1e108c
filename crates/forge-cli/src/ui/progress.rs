//! A spinner for waits of more than half a second, and the lines of `--verbose`.

use std::{
    io::{Write as _, stderr},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use forge_core::{Effect, IndexLimit, Observer, Op, text};

use super::Ui;

const SPINNER_DELAY: Duration = Duration::from_millis(500);
/// The minimum delay before the spinner appears again, so that many short calls do not flicker.
const MIN_SPINNER_DELAY: Duration = Duration::from_millis(100);
const FRAME_INTERVAL: Duration = Duration::from_millis(100);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Descriptions of the writes that a command has made.
pub type WriteLog = Arc<Mutex<Vec<String>>>;

/// Observes the calls of a repository handle.
///
/// The spinner has its own thread, because a call may block the calling thread.
#[derive(Debug)]
pub struct Progress {
    spin: bool,
    verbose: bool,
    since: Instant,
    ui: Ui,
    running: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Progress {
    /// Creates an observer, which records successful writes in `ui`. `verbose` is true with `-v`.
    #[must_use]
    pub fn new(verbose: bool, ui: Ui) -> Self {
        Self {
            spin: ui.err_is_tty() && !verbose,
            verbose,
            since: Instant::now(),
            ui,
            running: Mutex::new(None),
        }
    }

    fn stop(&self) {
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((stop, thread)) = running {
            drop(stop);
            // A panic of the thread is ignored, because the thread only draws.
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Observer for Progress {
    fn started(&self, op: Op, target: &str) {
        if self.verbose {
            let _ = writeln!(
                stderr().lock(),
                "* {} {}",
                op.name(),
                text::one_line(target)
            );
        }
        if !self.spin {
            return;
        }
        self.stop();
        let (stop, stopped) = mpsc::channel::<()>();
        let word = if op.effect() == Effect::Read {
            "Reading"
        } else {
            "Writing"
        };
        // The delay is measured from the creation of the observer, because several short calls add
        // up to a long wait.
        let patience = SPINNER_DELAY
            .saturating_sub(self.since.elapsed())
            .max(MIN_SPINNER_DELAY);
        let thread = thread::spawn(move || {
            if stopped.recv_timeout(patience) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let mut err = stderr();
            for frame in FRAMES.iter().cycle() {
                let _ = write!(err, "\r{frame} {word} ({})", op.name()).and_then(|()| err.flush());
                if stopped.recv_timeout(FRAME_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            let _ = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        });
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some((stop, thread));
    }

    fn finished(&self, op: Op, target: &str, took: Duration, error: Option<&'static str>) {
        self.stop();
        if op.effect() == Effect::Write && error.is_none() {
            let write = format!("{} on {}", op.name(), text::one_line(target));
            let writes = self.ui.writes();
            let mut writes = writes.lock().unwrap_or_else(PoisonError::into_inner);
            writes.push(write);
        }
        if self.verbose {
            let how = error.unwrap_or("ok");
            let _ = writeln!(
                stderr().lock(),
                "* {} {how} ({} ms)",
                op.name(),
                took.as_millis()
            );
        }
    }

    fn index_limited(&self, limit: &IndexLimit) {
        // The warning is written in place of the spinner.
        self.stop();
        self.ui.warn_of_index_limit(limit);
    }

    fn rate_limited(&self, host: &str, wait: Duration) {
        // The line is written in place of the spinner.
        self.stop();
        let (host, seconds) = (text::one_line(host), wait.as_secs_f32().ceil());
        let _ = writeln!(
            stderr().lock(),
            "rate limited by {host}, waiting {seconds} s"
        );
    }
}
