use std::{
    ffi::{OsStr, OsString},
    fmt,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::canary;

/// A program to run, with the environment that it sees and nothing of ours.
#[derive(Clone, Debug)]
pub struct Run {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: PathBuf,
    stdin: Vec<u8>,
    may_print_tokens: bool,
}

impl Run {
    /// `program` in `dir`, with `PATH` and `FORGE_GIT` of ours alone.
    pub fn new(program: impl Into<PathBuf>, dir: impl Into<PathBuf>) -> Self {
        let kept = [
            "PATH",
            "FORGE_GIT",
            "TMPDIR",
            "LD_LIBRARY_PATH",
            "LLVM_PROFILE_FILE",
        ];
        let env = kept
            .into_iter()
            .filter_map(|key| Some((key.into(), std::env::var_os(key)?)))
            .chain([
                ("LC_ALL".into(), "C.UTF-8".into()),
                ("TZ".into(), "UTC".into()),
            ])
            .collect();
        Self {
            program: program.into(),
            args: Vec::new(),
            env,
            dir: dir.into(),
            stdin: Vec::new(),
            may_print_tokens: false,
        }
    }

    /// The same with another program.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// The same run by `probe`, which writes what it took to `result`.
    #[must_use]
    pub fn probed(&self, probe: impl Into<PathBuf>, result: impl AsRef<OsStr>) -> Self {
        let mut run = self.clone();
        let program = std::mem::replace(&mut run.program, probe.into());
        run.args
            .splice(0..0, [result.as_ref().to_owned(), program.into_os_string()]);
        run
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Several arguments more.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args
            .extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self = self.without_env(key.as_ref());
        self.env
            .push((key.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Takes a variable away.
    #[must_use]
    pub fn without_env(mut self, key: impl AsRef<OsStr>) -> Self {
        self.env.retain(|(k, _)| k != key.as_ref());
        self
    }

    /// Runs it elsewhere.
    #[must_use]
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = dir.as_ref().to_owned();
        self
    }

    /// Sets standard input; empty by default.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// For a command whose very purpose is to print a token.
    #[must_use]
    pub fn may_print_tokens(mut self) -> Self {
        self.may_print_tokens = true;
        self
    }

    /// Fails when what it has printed holds a token.
    pub(crate) fn keeps_tokens(&self, stream: &str, text: &[u8]) {
        if !self.may_print_tokens {
            let name = self.program.file_name().unwrap_or_default();
            canary::refuse(&name.to_string_lossy(), stream, text);
        }
    }

    /// The standard library's form of it, for a caller that wants the running child.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().map(|(k, v)| (k, v)))
            .current_dir(&self.dir)
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it cannot be started, or prints the token of a test.
    #[must_use]
    pub fn output(&self) -> Output {
        let mut command = self.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {self}: {e}"));
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let input = self.stdin.clone();
        let feeder = std::thread::spawn(move || {
            // A program that does not read its input closes the pipe; that is its business.
            let _ = stdin.write_all(&input);
        });
        let done = child
            .wait_with_output()
            .unwrap_or_else(|e| panic!("lost {self}: {e}"));
        let _ = feeder.join();
        self.keeps_tokens("standard output", &done.stdout);
        self.keeps_tokens("standard error", &done.stderr);
        Output {
            line: self.to_string(),
            code: done.status.code(),
            stdout: done.stdout,
            stderr: done.stderr,
        }
    }

    /// Runs it and wants exit code 0; returns its standard output as text.
    ///
    /// # Panics
    /// On any other exit code.
    #[must_use]
    pub fn text(&self) -> String {
        self.output().success().stdout_text()
    }

    /// Runs it and wants exit code 0.
    ///
    /// # Panics
    /// On any other exit code.
    pub fn ok(&self) {
        let _ = self.output().success();
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.program.file_name().unwrap_or(self.program.as_os_str());
        f.write_str(&name.to_string_lossy())?;
        self.args
            .iter()
            .try_for_each(|a| write!(f, " {}", a.to_string_lossy()))
    }
}

/// How a program ended.
#[derive(Clone)]
pub struct Output {
    line: String,
    /// Exit code; `None` when a signal ended the program.
    pub code: Option<i32>,
    /// Bytes written to standard output.
    pub stdout: Vec<u8>,
    /// Bytes written to standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Standard output as text.
    ///
    /// # Panics
    /// When it is not UTF-8.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("standard output is UTF-8")
    }

    /// Standard error as text.
    ///
    /// # Panics
    /// When it is not UTF-8.
    #[must_use]
    pub fn stderr_text(&self) -> String {
        String::from_utf8(self.stderr.clone()).expect("standard error is UTF-8")
    }

    /// Itself, if the exit code is 0.
    ///
    /// # Panics
    /// On any other exit code.
    #[must_use]
    pub fn success(self) -> Self {
        self.exits(0)
    }

    /// Itself, if the exit code is `code`.
    ///
    /// # Panics
    /// On any other exit code.
    #[must_use]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "wrong exit code\n{self:?}");
        self
    }

    /// Itself, if standard error has `part` in it.
    ///
    /// # Panics
    /// When it has not.
    #[must_use]
    pub fn says(self, part: &str) -> Self {
        assert!(
            self.stderr_text().contains(part),
            "stderr lacks {part:?}\n{self:?}"
        );
        self
    }

    /// Standard output as JSON.
    ///
    /// # Panics
    /// When it is not JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{self:?}"))
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = |bytes: &[u8]| {
            let end = bytes.len().min(16 * 1024);
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        write!(
            f,
            "$ {}\nexit: {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.line,
            self.code,
            cut(&self.stdout),
            cut(&self.stderr)
        )
    }
}
