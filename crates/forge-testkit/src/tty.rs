use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};

use crate::Run;

/// Time without output after which a test fails. It is long, because it only ends tests that hang.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// Time without output after which a program counts as waiting for keys.
const QUIET: Duration = Duration::from_millis(150);

/// Maximum time until a typed key shows on the screen. The keys of a password never show.
const ECHO_TIMEOUT: Duration = Duration::from_millis(300);

/// Time without output before the next key is sent.
const BETWEEN_KEYS: Duration = Duration::from_millis(10);

/// Opens a terminal of `columns` by `rows`. Returns two sides: one on which a test reads and types,
/// and one for the program.
///
/// # Panics
///
/// Panics if no terminal is available.
#[must_use]
pub fn open_terminal(columns: u16, rows: u16) -> (File, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
    grantpt(&master).expect("access to the terminal");
    unlockpt(&master).expect("an unlocked terminal");
    let name = ptsname(&master, Vec::new()).expect("the terminal's name");
    // Another child that inherited this side would keep the terminal open.
    let slave = rustix::fs::open(
        name.as_c_str(),
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .expect("the terminal's other side");
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&slave, size).expect("a terminal with a size");
    (File::from(master), slave)
}

/// A program that runs on its own terminal, which combines input, output and errors.
#[derive(Debug)]
pub struct Terminal {
    run: Run,
    child: Child,
    master: File,
    seen: Vec<u8>,
    /// Number of replies to cursor position queries.
    told: usize,
}

/// The exit code and the output of a program on a terminal.
#[derive(Clone, Debug)]
pub struct TtyOutput {
    /// Exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// All output; the terminal has converted each `\n` to `\r\n`.
    pub text: String,
}

impl TtyOutput {
    /// Returns the text without colours and cursor movements, with plain line ends.
    #[must_use]
    pub fn plain(&self) -> String {
        let mut out = String::new();
        let mut rest = self.text.chars().peekable();
        while let Some(c) = rest.next() {
            if c != '\u{1b}' {
                if c != '\r' {
                    out.push(c);
                }
            } else if rest.next_if_eq(&'[').is_some() {
                while rest.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            } else if rest.next_if_eq(&']').is_some() {
                while rest.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}') {}
                rest.next_if_eq(&'\\');
            }
        }
        out
    }
}

impl Terminal {
    /// Starts `run` on a terminal of `columns` by `rows`.
    ///
    /// # Panics
    ///
    /// Panics if no terminal is available, or the program cannot be started.
    #[must_use]
    pub fn start(run: &Run, columns: u16, rows: u16) -> Self {
        let (master, slave) = open_terminal(columns, rows);
        let side = |fd: &OwnedFd| Stdio::from(fd.try_clone().expect("a file descriptor"));
        let child = run
            .clone()
            .env("TERM", "xterm-256color")
            .command()
            .stdin(side(&slave))
            .stdout(side(&slave))
            .stderr(side(&slave))
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {run}: {e}"));
        Self {
            run: run.clone(),
            child,
            master,
            seen: Vec::new(),
            told: 0,
        }
    }

    /// Waits for each question, given by a part of its text, and answers it with keys; then reads
    /// to the end.
    ///
    /// # Panics
    ///
    /// Panics as [`Self::expect`] and [`Self::finish`] do.
    #[must_use]
    pub fn answer(mut self, answers: &[(&str, &str)]) -> TtyOutput {
        for (question, keys) in answers {
            self.reply(question, keys);
        }
        self.finish()
    }

    /// Reads until `text` appears after the output that was read before.
    ///
    /// # Panics
    ///
    /// Panics if the program ends or stops writing first.
    pub fn expect(&mut self, text: &str) {
        let from = self.seen.len();
        while !String::from_utf8_lossy(&self.seen[from..]).contains(text) {
            assert!(
                self.read_some(),
                "$ {} ended without {text:?}\n{}",
                self.run,
                self.so_far()
            );
        }
    }

    /// Types `keys` after the program has asked `question` and waits.
    ///
    /// # Panics
    ///
    /// Panics as [`Self::expect`] does.
    pub fn reply(&mut self, question: &str, keys: &str) {
        self.expect(question);
        // gh asks for the cursor position after it has printed a question. Keys that arrive before
        // the terminal's reply would become part of the reply.
        while self.is_readable(QUIET) && self.read_some() {}
        // Keys are sent one by one, as a person types. A program that leaves raw mode between two
        // keys can lose keys that are already waiting.
        let mut keys = split_keys(keys).into_iter().peekable();
        while let Some(key) = keys.next() {
            self.send(key);
            if keys.peek().is_some() && self.is_readable(ECHO_TIMEOUT) {
                while self.read_some() && self.is_readable(BETWEEN_KEYS) {}
            }
        }
    }

    /// Types `text`.
    ///
    /// # Panics
    ///
    /// Panics if the program has ended.
    pub fn send(&mut self, text: &str) {
        self.master
            .write_all(text.as_bytes())
            .expect("a terminal to type on");
    }

    /// Returns the id of the program's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns true if the terminal shows typed keys.
    ///
    /// # Panics
    ///
    /// Panics if the modes of the terminal cannot be read.
    #[must_use]
    pub fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.master).expect("the modes of the terminal");
        modes.local_modes.contains(LocalModes::ECHO)
    }

    /// Presses Ctrl-C until the program ends. One press may be lost, because a program that has
    /// just asked a question may not read keys yet.
    ///
    /// # Panics
    ///
    /// Panics as [`Self::finish`] does.
    #[must_use]
    pub fn interrupt(mut self) -> TtyOutput {
        let until = Instant::now() + HANG_TIMEOUT;
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            self.send("\u{3}");
            std::thread::sleep(Duration::from_millis(100));
        }
        self.finish()
    }

    /// Reads to the end.
    ///
    /// # Panics
    ///
    /// Panics if the program stops writing without ending, or has printed a test token.
    #[must_use]
    pub fn finish(mut self) -> TtyOutput {
        while self.read_some() {}
        let status = self.child.wait().expect("a child to wait for");
        self.run.keeps_tokens("its terminal", &self.seen);
        TtyOutput {
            code: status.code(),
            text: self.so_far(),
        }
    }

    /// Replies to queries of the cursor position. The program waits for the reply; gh's questions
    /// send such queries.
    fn tell_position(&mut self) {
        let query = b"\x1b[6n";
        let asked = self
            .seen
            .windows(query.len())
            .filter(|part| *part == query.as_slice());
        for _ in self.told..asked.count() {
            self.told += 1;
            self.send("\u{1b}[1;1R");
        }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// Returns true if output arrives, or the program ends, within `wait`.
    fn is_readable(&self, wait: Duration) -> bool {
        let wait = Timespec::try_from(wait).expect("a short time");
        let ready = poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&wait));
        matches!(ready, Ok(n) if n > 0)
    }

    /// Reads some output; returns false after the other side is closed.
    fn read_some(&mut self) -> bool {
        let until = Instant::now() + HANG_TIMEOUT;
        loop {
            if self.is_readable(Duration::from_millis(50)) {
                let mut buffer = [0; 4096];
                // Reading a terminal whose other side is closed gives an error, not an end of file.
                let Ok(n @ 1..) = self.master.read(&mut buffer) else {
                    return false;
                };
                self.seen.extend_from_slice(&buffer[..n]);
                self.tell_position();
                return true;
            }
            if Instant::now() > until {
                let _ = self.child.kill();
                panic!("$ {} is silent\n{}", self.run, self.so_far());
            }
        }
    }
}

/// Splits a text into escape sequences, single control characters and spaces, and words.
fn split_keys(text: &str) -> Vec<&str> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_single = |c: char| c.is_control() || c == ' ';
        let end = if let Some(sequence) = rest.strip_prefix("\u{1b}[") {
            let last = sequence.find(|c| ('@'..='~').contains(&c));
            last.map(|at| at + 3)
        } else if is_single(first) {
            Some(first.len_utf8())
        } else {
            rest.find(is_single)
        };
        let (key, after) = rest.split_at(end.unwrap_or(rest.len()));
        keys.push(key);
        rest = after;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_into_keys() {
        assert_eq!(
            split_keys("\u{1b}[B \u{1b}[3~\u{1b}\u{7f}two wörds\r"),
            [
                "\u{1b}[B",
                " ",
                "\u{1b}[3~",
                "\u{1b}",
                "\u{7f}",
                "two",
                " ",
                "wörds",
                "\r"
            ]
        );
    }

    #[test]
    fn program_sees_terminal_of_given_size() {
        let run = Run::new("sh", std::env::temp_dir()).args([
            "-c",
            "test -t 0 && test -t 1 && test -t 2 && stty size && read x && echo got $x",
        ]);
        let mut terminal = Terminal::start(&run, 77, 21);
        terminal.expect("21 77");
        terminal.send("word\n");
        let out = terminal.finish();
        assert_eq!(out.code, Some(0));
        assert!(out.plain().ends_with("got word\n"), "{out:?}");
    }

    #[test]
    fn plain_text_has_no_escapes() {
        let out = TtyOutput {
            code: Some(0),
            text: "\u{1b}[1;32mok\u{1b}[0m\r\n\u{1b}]8;;u\u{1b}\\link\u{1b}]8;;\u{7}\r\n".into(),
        };
        assert_eq!(out.plain(), "ok\nlink\n");
    }
}
