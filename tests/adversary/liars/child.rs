//! Runs `forge` with a deadline, and measures its peak memory.

use std::{
    io::{BufRead as _, BufReader, Read, Write, empty},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use forge_testkit::{Run, open_terminal};
use serde_json::Value;

/// Memory limit of a process and its children, in KiB: 150 MB.
const MAX_MEMORY: u64 = 150_000_000 / 1024;
/// Number of bytes that the test keeps of stdout and of stderr.
const MAX_OUTPUT: u64 = 64 << 20;

/// Result of a process that has ended.
pub struct Ended {
    pub code: i64,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub took: Duration,
    pub peak: u64,
}

impl Ended {
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// A running process.
pub struct Running {
    child: Child,
    begun: Instant,
    deadline: Instant,
    result: PathBuf,
    /// Sender of lines to the thread that writes to the process's stdin. A separate thread writes,
    /// because a process that does not read would block the test.
    input: Option<Sender<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    lines: Receiver<Vec<u8>>,
    stdout: Vec<u8>,
}

impl Running {
    /// Starts `run`, which has to end within `deadline`.
    pub fn start(run: &Run, result: PathBuf, deadline: Duration) -> Self {
        let mut child = probed(run, &result)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = child.stdout.take().unwrap();
        let stderr = child.stderr.take().unwrap();
        Self::attach(child, stdin, stdout, stderr, result, deadline)
    }

    /// Starts `run` on a terminal, so that stdout and stderr are one stream.
    pub fn on_terminal(run: &Run, result: PathBuf, deadline: Duration) -> Self {
        let (screen, slave) = open_terminal(100, 40);
        let side = || Stdio::from(slave.try_clone().unwrap());
        let run = run.clone().env("TERM", "xterm-256color");
        let child = probed(&run, &result)
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .unwrap();
        let keys = screen.try_clone().unwrap();
        Self::attach(child, keys, screen, empty(), result, deadline)
    }

    fn attach(
        child: Child,
        mut stdin: impl Write + Send + 'static,
        stdout: impl Read + Send + 'static,
        stderr: impl Read + Send + 'static,
        result: PathBuf,
        deadline: Duration,
    ) -> Self {
        let stderr = thread::spawn(move || {
            let mut all = Vec::new();
            let _ = stderr.take(MAX_OUTPUT).read_to_end(&mut all);
            all
        });
        let (send, lines) = channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout.take(MAX_OUTPUT));
            let mut line = Vec::new();
            while stdout.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                if send.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
            // Reading a closed terminal fails, but the bytes read before the error are valid.
            if !line.is_empty() {
                let _ = send.send(line);
            }
        });
        let (input, to_write) = channel::<Vec<u8>>();
        thread::spawn(move || {
            for line in to_write {
                if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        let begun = Instant::now();
        Self {
            input: Some(input),
            child,
            begun,
            deadline: begun + deadline,
            result,
            stderr: Some(stderr),
            lines,
            stdout: Vec::new(),
        }
    }

    /// Writes a line to the process's stdin. Returns false once the process has closed its stdin.
    pub fn write(&self, line: &[u8]) -> bool {
        let bytes = [line, b"\n"].concat();
        self.input
            .as_ref()
            .is_some_and(|input| input.send(bytes).is_ok())
    }

    /// Returns the next line of the process's stdout, or `None` after `within`.
    pub fn line(&mut self, within: Duration) -> Option<Vec<u8>> {
        let within = within.min(self.deadline.saturating_duration_since(Instant::now()));
        let line = self.lines.recv_timeout(within).ok()?;
        self.stdout.extend(&line);
        Some(line)
    }

    /// Closes the process's stdin, and waits until the process ends.
    ///
    /// # Errors
    ///
    /// Fails if the process does not end before the deadline. The process is then killed.
    pub fn end(mut self) -> Result<Ended, String> {
        drop(self.input.take());
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.stdout.extend(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => return Err(self.kill()),
            }
        }
        while self.child.try_wait().unwrap().is_none() {
            if Instant::now() > self.deadline {
                return Err(self.kill());
            }
            thread::sleep(Duration::from_millis(2));
        }
        let took = self.begun.elapsed();
        self.kill_group();
        let stderr = self.stderr.take().unwrap().join().unwrap_or_default();
        let written = std::fs::read_to_string(&self.result).unwrap_or_default();
        let mut numbers = written.split_whitespace().skip(2);
        let mut number = || numbers.next().and_then(|it| it.parse::<i64>().ok());
        let peak = number().unwrap_or(-1);
        let code = number().unwrap_or(-1);
        Ok(Ended {
            code,
            stdout: std::mem::take(&mut self.stdout),
            stderr,
            took,
            peak: u64::try_from(peak).unwrap_or(u64::MAX),
        })
    }

    /// Kills the remaining processes of the process group. If only the probe were killed, `forge`
    /// would keep running, and helpers of a killed git would start programs during the next case.
    fn kill_group(&self) {
        let kill = format!("kill -9 -{} 2>/dev/null", self.child.id());
        let _ = Command::new("sh").args(["-c", &kill]).status();
    }

    fn kill(&mut self) -> String {
        self.kill_group();
        let _ = self.child.wait();
        let stderr = self.stderr.take().map(|it| it.join().unwrap_or_default());
        format!(
            "no end after {:?}; stderr: {}",
            self.begun.elapsed(),
            String::from_utf8_lossy(&stderr.unwrap_or_default())
        )
    }
}

/// Wraps `run` in the probe, in a separate process group.
fn probed(run: &Run, result: &Path) -> Command {
    let mut command = run
        .probed(env!("CARGO_BIN_EXE_forge-probe"), result)
        .command();
    command.process_group(0);
    command
}

/// Checks every process for a panic, for a signal, and for its memory limit.
pub fn check_end(ended: &Ended) -> Result<(), String> {
    // On a terminal, stdout contains stderr as well.
    let said = ended.stderr_text() + &ended.stdout_text();
    if matches!(ended.code, -1 | 101 | 134 | 139) || said.contains("panicked at") {
        return Err(format!("it crashed with code {}: {said}", ended.code));
    }
    if ended.peak > MAX_MEMORY {
        return Err(format!("it took {} KiB of memory", ended.peak));
    }
    Ok(())
}

/// Checks that a terminal received only the control sequences that `forge` itself writes: colours
/// and its spinner.
pub fn check_screen(screen: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(screen);
    let mut rest = &*text;
    while let Some(at) = rest.find(is_hidden) {
        let from = &rest[at..];
        let Some(end) = own_sequence(from) else {
            let before: String = rest[..at].chars().rev().take(80).collect();
            let before: String = before.chars().rev().collect();
            let shown: String = from.chars().take(40).collect();
            return Err(format!("{shown:?} reached the terminal after {before:?}"));
        };
        rest = &from[end..];
    }
    Ok(())
}

/// Returns true if a character controls a terminal, reorders text, or has no width.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{200b}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the length of a control sequence that `forge` or the terminal itself writes.
fn own_sequence(text: &str) -> Option<usize> {
    const SPINNER: &str = "\r⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
    if let Some(colour) = text.strip_prefix("\u{1b}[") {
        let end = colour.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        return colour[end..]
            .starts_with('m')
            .then_some("\u{1b}[".len() + end + 1);
    }
    if text.starts_with("\r\u{1b}[K") {
        return Some("\r\u{1b}[K".len());
    }
    // The terminal writes `\n` as `\r\n`, and a line of text may itself end in `\r\n`.
    let next = text.strip_prefix('\r')?.chars().next()?;
    (next == '\n' || SPINNER.contains(next)).then_some(1)
}

#[test]
fn foreign_sequence_on_terminal_is_found() {
    let own = "\u{1b}[1;32mok\u{1b}[0m\r\r\n\r⠋ Reading (list)\r\u{1b}[K";
    assert_eq!(check_screen(own.as_bytes()), Ok(()));
    for foreign in [
        "\u{1b}]0;pwn\u{7}",
        "\u{1b}[2J",
        "\u{1b}[K",
        "\u{9b}31m",
        "\u{8}",
        "\rx",
        "\u{202e}",
        "\u{200b}",
    ] {
        let screen = format!("{own}{foreign}\r\n");
        assert!(check_screen(screen.as_bytes()).is_err(), "{foreign:?}");
    }
}

/// A client of `forge mcp` over stdio.
pub struct Client {
    pub running: Running,
    /// Questions that the server asked the user so far.
    pub asked: Vec<String>,
    last_id: u64,
}

impl Client {
    pub fn new(running: Running) -> Self {
        Self {
            running,
            asked: Vec::new(),
            last_id: 0,
        }
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let message = serde_json::json!({
            "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params,
        });
        self.running.write(message.to_string().as_bytes());
        self.last_id
    }

    /// Waits for the response to a request, and accepts every question that the server asks the
    /// user.
    ///
    /// # Errors
    ///
    /// Fails if a line of stdout is not JSON.
    pub fn answer(&mut self, id: u64, within: Duration) -> Result<Option<Value>, String> {
        let end = Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Some(line) = self.running.line(left) else {
                return Ok(None);
            };
            let message: Value = serde_json::from_slice(&line).map_err(|e| {
                let line = String::from_utf8_lossy(&line).into_owned();
                format!("a line of standard output is no JSON: {e}: {line}")
            })?;
            if message["method"] == "elicitation/create" {
                let question = message["params"]["message"].as_str();
                self.asked.push(question.unwrap_or_default().to_owned());
                let agreed = serde_json::json!({
                    "jsonrpc": "2.0", "id": message["id"],
                    "result": { "action": "accept", "content": { "confirm": true } },
                });
                self.running.write(agreed.to_string().as_bytes());
            } else if message["id"] == id && message.get("method").is_none() {
                return Ok(Some(message));
            }
        }
    }
}
