//! The git processes that run, sorted by what becomes of them when `forge` ends.
//!
//! A process that only reads or computes has a process group of its own, which ends with `forge`.
//! A process that writes is never killed, because a killed git leaves lock files and half a work
//! tree behind.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use forge_core::{Error, ErrorKind, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Process groups of the running processes that read.
static READERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
/// Number of running processes that write.
static WRITERS: AtomicUsize = AtomicUsize::new(0);
/// True once [`end_reading_processes`] was called. No further process starts then.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Pause between two looks at the number of processes that write.
const WRITER_POLL: Duration = Duration::from_millis(10);

fn readers() -> MutexGuard<'static, BTreeSet<i32>> {
    READERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills the processes that read or compute, with the processes that these have started. Starts no
/// further process. Processes that write continue.
pub fn end_reading_processes() {
    // The flag is set under the lock, so that a process that starts meanwhile is killed as well.
    let groups = {
        let mut readers = readers();
        IS_ENDING.store(true, Ordering::SeqCst);
        std::mem::take(&mut *readers)
    };
    for group in groups {
        kill_group(group);
    }
}

/// Waits until no process writes, for at most `limit`. Blocks the thread.
pub fn wait_for_writing_processes(limit: Duration) {
    let begin = std::time::Instant::now();
    while WRITERS.load(Ordering::SeqCst) > 0 && begin.elapsed() < limit {
        std::thread::sleep(WRITER_POLL);
    }
}

fn kill_group(group: i32) {
    if let Some(group) = Pid::from_raw(group) {
        // The group may have ended already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Kind of process, which decides how the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessKind {
    /// A process that only reads, or writes only objects.
    Reader,
    /// It reads from a remote, and may ask for a passphrase at the terminal, which only the process
    /// group of `forge` can use.
    RemoteReader,
    /// It merges histories, in at most this time.
    Computation(Duration),
    /// It holds locks, moves refs, or writes files.
    Writer,
}

/// A running process, until it has ended.
#[derive(Debug)]
pub(crate) enum RunningProcess {
    /// A process that reads, with its group. Dropping this value kills the group.
    Reader(Option<i32>),
    /// A process that writes. It runs on when this value is dropped.
    Writer,
}

impl RunningProcess {
    /// Starts a process that only reads, in a group of its own.
    pub fn start_reader(command: &mut Command) -> std::io::Result<(Child, Self)> {
        command.process_group(0).kill_on_drop(true);
        let mut readers = readers();
        let child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        readers.extend(group);
        Ok((child, Self::Reader(group)))
    }

    /// Starts a process that reads from a remote, in the process group of `forge`.
    pub fn start_remote_reader(command: &mut Command) -> std::io::Result<(Child, Self)> {
        let child = command.kill_on_drop(true).spawn()?;
        Ok((child, Self::Reader(None)))
    }

    /// Starts a process that writes.
    pub fn start_writer(command: &mut Command) -> std::io::Result<(Child, Self)> {
        command.kill_on_drop(false);
        let child = command.spawn()?;
        WRITERS.fetch_add(1, Ordering::SeqCst);
        Ok((child, Self::Writer))
    }

    /// Records that the process has ended. Called as soon as its exit status is known, because the
    /// system may then give its id to another process.
    pub fn ended(&mut self) {
        if let Self::Reader(group) = self
            && let Some(group) = group.take()
        {
            readers().remove(&group);
        }
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        match self {
            Self::Reader(group) => {
                if let Some(group) = group.take()
                    && readers().remove(&group)
                {
                    kill_group(group);
                }
            }
            Self::Writer => {
                WRITERS.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

/// Refuses to start a process while `forge` ends.
pub(crate) fn refuse_while_ending() -> Result<()> {
    if IS_ENDING.load(Ordering::SeqCst) {
        return Err(Error::new(
            ErrorKind::Cancelled,
            "a signal ends forge, and no further git process starts",
        ));
    }
    Ok(())
}

/// Limits the processor time of a process. The system enforces the limit, even if `forge` is killed
/// and can stop nothing. Only on Linux.
pub(crate) fn limit_processor_time(child: &Child, limit: Duration) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, prlimit};
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            let seconds = Some(limit.as_secs().saturating_add(1));
            let limit = Rlimit {
                current: seconds,
                maximum: seconds,
            };
            // Without this limit, the time limit of the caller still holds.
            let _ = prlimit(Some(pid), Resource::Cpu, limit);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (child, limit);
}

#[cfg(test)]
mod tests {
    use std::{path::Path, process::Stdio};

    use super::*;

    /// Starts a shell that starts a process and prints the id of that process.
    fn shell() -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "sleep 600 & echo $!; wait"])
            .stdout(Stdio::piped());
        command
    }

    async fn read_line(child: &mut Child) -> String {
        use tokio::io::AsyncBufReadExt as _;
        let mut line = String::new();
        let mut stdout = tokio::io::BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).await.unwrap();
        line.trim().to_owned()
    }

    fn is_running(pid: &str) -> bool {
        let state = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
        // A zombie has ended: nobody has asked for its status yet.
        state.is_ok_and(|state| !state.contains(") Z "))
    }

    /// Returns true once a process has ended, or false if it still runs after some seconds.
    async fn has_ended(pid: &str) -> bool {
        for _ in 0..500 {
            if !is_running(pid) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    #[tokio::test]
    async fn dropped_reader_ends_with_child_processes() {
        if !Path::new("/proc/self/stat").exists() {
            return;
        }
        let (mut child, running) = RunningProcess::start_reader(&mut shell()).unwrap();
        let below = read_line(&mut child).await;
        assert!(!below.is_empty());
        drop((running, child));
        assert!(has_ended(&below).await);
    }

    /// The system stops a computation even if nobody is left to stop it.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn computation_has_a_limit_of_processor_time() {
        let (child, running) = RunningProcess::start_reader(&mut shell()).unwrap();
        limit_processor_time(&child, Duration::from_secs(29));
        let limits = Path::new("/proc").join(child.id().unwrap().to_string());
        let limits = std::fs::read_to_string(limits.join("limits")).unwrap();
        let limit = limits.lines().find(|line| line.starts_with("Max cpu time"));
        let fields: Vec<_> = limit.unwrap().split_whitespace().collect();
        assert_eq!(fields[3..5], ["30", "30"], "{limits}");
        drop((running, child));
    }

    #[tokio::test]
    async fn writer_runs_on_after_drop() {
        if !Path::new("/proc/self/stat").exists() {
            return;
        }
        let (mut child, running) = RunningProcess::start_writer(&mut shell()).unwrap();
        let below = read_line(&mut child).await;
        let writer = child.id().unwrap().to_string();
        // A dropped call drops both.
        drop((running, child));
        assert_eq!(WRITERS.load(Ordering::SeqCst), 0);
        // A process that was killed is gone after a moment.
        tokio::time::sleep(Duration::from_millis(500)).await;
        for pid in [writer, below] {
            assert!(is_running(&pid), "{pid}");
            let _ = std::process::Command::new("kill").arg(pid).status();
        }
    }
}
