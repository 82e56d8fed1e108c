//! Reads the output of a program while the program runs.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::Stdio,
    time::{Duration, Instant},
};

use crate::{GitShim, Run};

/// Measurements from reading the whole output of a program through a pipe.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The first line of the output.
    pub first_line: String,
    /// Time from the start of the program to its first line.
    pub first: Duration,
    /// Time from the start of the program to its end.
    pub all: Duration,
    /// Number of bytes written.
    pub bytes: u64,
    /// Peak memory, in KiB; `None` without `/proc`.
    pub peak: Option<u64>,
}

impl Run {
    /// Runs the program to its end and samples its memory at each MB of output.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started, fails, or prints a test token in its first line.
    #[must_use]
    pub fn read(&self) -> Reading {
        self.reading(|| ())
    }

    /// Reads like [`Self::read`], with `shim` as git. The shim releases the last block of a diff
    /// only after the first line was read.
    ///
    /// # Panics
    ///
    /// Panics as [`Self::read`] does.
    #[must_use]
    pub fn read_before_the_last(&self, shim: &GitShim) -> Reading {
        let run = self.clone().env("FORGE_GIT", shim.program());
        run.reading(|| shim.let_go())
    }

    fn reading(&self, seen: impl FnOnce()) -> Reading {
        let begun = Instant::now();
        let mut child = self
            .command()
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {self}: {e}"));
        let status = format!("/proc/{}/status", child.id());
        let mut out = BufReader::with_capacity(32 * 1024, child.stdout.take().expect("piped"));
        let mut first_line = String::new();
        out.read_line(&mut first_line).expect("a line of text");
        let first = begun.elapsed();
        seen();
        self.keeps_tokens("standard output", first_line.as_bytes());
        let (mut bytes, mut peak) = (first_line.len() as u64, high_water(&status));
        let mut buffer = vec![0; 1 << 16];
        loop {
            let n = out.read(&mut buffer).expect("its output") as u64;
            if n == 0 {
                break;
            }
            if bytes >> 20 != (bytes + n) >> 20 {
                peak = peak.max(high_water(&status));
            }
            bytes += n;
        }
        assert!(child.wait().expect("its end").success(), "{self}");
        Reading {
            first_line,
            first,
            all: begun.elapsed(),
            bytes,
            peak,
        }
    }
}

/// Returns the peak memory of a process, in KiB.
fn high_water(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
