use std::{
    ffi::{OsStr, OsString},
    fmt,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::canary;

/// A program to run, with its whole environment.
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
    /// Runs `program` in `dir`. Of this process's environment only `PATH`, `FORGE_GIT` and a few
    /// more variables are passed on.
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

    /// Replaces the program.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Returns the same run under `probe`, which writes its measurements to `result`.
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

    /// Adds several arguments.
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

    /// Removes a variable.
    #[must_use]
    pub fn without_env(mut self, key: impl AsRef<OsStr>) -> Self {
        self.env.retain(|(k, _)| k != key.as_ref());
        self
    }

    /// Sets the working directory.
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

    /// Permits tokens in the output, for a command whose purpose is to print a token.
    #[must_use]
    pub fn may_print_tokens(mut self) -> Self {
        self.may_print_tokens = true;
        self
    }

    /// Panics if the output contains a token, unless tokens are permitted.
    pub(crate) fn keeps_tokens(&self, stream: &str, text: &[u8]) {
        if !self.may_print_tokens {
            let name = self.program.file_name().unwrap_or_default();
            canary::refuse(&name.to_string_lossy(), stream, text);
        }
    }

    /// Returns a standard library command, for a caller that needs the running child.
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

    /// Runs the program to its end.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started, or prints a test token.
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
            // A program that does not read its input closes the pipe; this is not an error.
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

    /// Runs the program and returns its standard output as text.
    ///
    /// # Panics
    ///
    /// Panics if the exit code is not 0.
    #[must_use]
    pub fn text(&self) -> String {
        self.output().success().stdout_text()
    }

    /// Runs the program.
    ///
    /// # Panics
    ///
    /// Panics if the exit code is not 0.
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

/// The exit code and the output of a program.
#[derive(Clone)]
pub struct Output {
    line: String,
    /// Exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// Bytes written to standard output.
    pub stdout: Vec<u8>,
    /// Bytes written to standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Returns standard output as text.
    ///
    /// # Panics
    ///
    /// Panics if standard output is not UTF-8.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("standard output is UTF-8")
    }

    /// Returns standard error as text.
    ///
    /// # Panics
    ///
    /// Panics if standard error is not UTF-8.
    #[must_use]
    pub fn stderr_text(&self) -> String {
        String::from_utf8(self.stderr.clone()).expect("standard error is UTF-8")
    }

    /// Asserts that the exit code is 0; returns the output itself.
    ///
    /// # Panics
    ///
    /// Panics on any other exit code.
    #[must_use]
    pub fn success(self) -> Self {
        self.exits(0)
    }

    /// Asserts that the exit code is `code`; returns the output itself.
    ///
    /// # Panics
    ///
    /// Panics on any other exit code.
    #[must_use]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "wrong exit code\n{self:?}");
        self
    }

    /// Asserts that standard error contains `part`; returns the output itself.
    ///
    /// # Panics
    ///
    /// Panics if standard error does not contain `part`.
    #[must_use]
    pub fn says(self, part: &str) -> Self {
        assert!(
            self.stderr_text().contains(part),
            "stderr lacks {part:?}\n{self:?}"
        );
        self
    }

    /// Returns standard output as JSON.
    ///
    /// # Panics
    ///
    /// Panics if standard output is not JSON.
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
