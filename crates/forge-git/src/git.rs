use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use forge_core::{
    Error, ErrorKind, Result, Trust,
    call::{self, Charge},
    model::ByteStream,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt},
    process::{Child, Command},
    sync::OnceCell,
};

use crate::{
    CatFile, Setting, Version,
    children::{ProcessKind, RunningProcess, limit_processor_time, refuse_while_ending},
    error::{code, failed, spawn_error, timeout_error},
    process::{NO_ATTRIBUTES_FILE, Purpose, forbid_fetch, restrict},
    remotes::path_of,
    stream, version,
};

/// Environment variables that make git use another repository or change its diffs. [`Git::at`]
/// removes them, because git sets such variables for its hooks. Otherwise, if a hook starts forge,
/// forge would use the repository of the hook instead of the given one.
const REPOSITORY_VARIABLES: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_DIFF_OPTS",
    "GIT_EXTERNAL_DIFF",
];

/// Time limit of a process that reads, unless `FORGE_TIMEOUT` is set. Without a limit, a pipe in the
/// place of a file of the repository would block git for ever.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// Minimum time limit of a process that reads. A shorter `FORGE_TIMEOUT` is meant for servers, and
/// git may take seconds for a large repository.
const MIN_READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Share of the time limit of a call that its computations may take: merges, and searches of
/// histories for the merges that forged events name. A history can be built so that a merge takes
/// for ever; the rest of the call must not wait for it.
const COMPUTATION_SHARE: u32 = 4;

/// Output of a process that is not counted for the call once it is read, in bytes.
const UNCOUNTED_OUTPUT: usize = 64 * 1024;

/// A git program with its working directory and the permissions of its processes.
#[derive(Clone, Debug)]
pub struct Git {
    program: OsString,
    dir: PathBuf,
    /// Git directory, if the caller knows its path.
    git_dir: Option<PathBuf>,
    clear: bool,
    settings: Vec<String>,
    env: Vec<(OsString, OsString)>,
    trust: Trust,
    purpose: Purpose,
    opens_bare: bool,
    fetches_missing: bool,
    /// True if git reads the attributes file that the configuration names. `None` means: only for
    /// writes.
    pub(crate) attributes_file: Option<bool>,
    read_limit: Duration,
    /// `None` stands for a share of the time limit of the call.
    computation_limit: Option<Duration>,
    /// Settings of the repository that name programs, read on first use.
    pub(crate) programs: Arc<OnceCell<Vec<Setting>>>,
}

/// Result of a finished command.
#[derive(Debug)]
pub struct Output {
    /// Exit status, or -1 after a signal.
    pub status: i32,
    /// Standard output. Complete for a command that only reads.
    pub stdout: Vec<u8>,
    /// First MiB of standard error.
    pub stderr: Vec<u8>,
    /// The memory of the output.
    charge: Charge,
}

impl Git {
    /// Returns git for the directory `dir`. The program is `FORGE_GIT`, or `git` if that is not
    /// set. Variables such as `GIT_DIR`, which would select another repository, are removed.
    #[must_use]
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        let program = std::env::var_os("FORGE_GIT").filter(|p| !p.is_empty());
        Self {
            program: program.unwrap_or_else(|| "git".into()),
            dir: dir.into(),
            git_dir: None,
            clear: true,
            settings: Vec::new(),
            env: Vec::new(),
            trust: Trust::Guarded,
            purpose: Purpose::Read,
            opens_bare: false,
            fetches_missing: true,
            attributes_file: None,
            read_limit: read_limit(),
            computation_limit: None,
            programs: Arc::default(),
        }
    }

    /// Returns git for the current directory, or for the repository that `GIT_DIR` names.
    #[must_use]
    pub fn here() -> Self {
        Self {
            clear: false,
            trust: Trust::Person,
            ..Self::at(".")
        }
    }

    /// Returns this git for another directory, without permission to open a bare repository.
    #[must_use]
    pub fn in_dir(&self, dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            git_dir: None,
            opens_bare: false,
            programs: Arc::default(),
            ..self.clone()
        }
    }

    /// Returns this git with the path of the repository's git directory, which saves the process
    /// that finds the path.
    #[must_use]
    pub fn with_git_dir(mut self, git_dir: impl Into<PathBuf>) -> Self {
        self.git_dir = Some(git_dir.into());
        self
    }

    /// Returns this git for diffs that are shown to a reader, and for patches. Calls
    /// [`Git::without_work_tree`] with the git directory of the repository.
    ///
    /// # Errors
    /// `git` outside of a repository.
    pub async fn for_diffs(&self) -> Result<Self> {
        if let Some(git_dir) = &self.git_dir {
            return Ok(self.without_work_tree(git_dir.as_path()));
        }
        let printed = self.run_ok(["rev-parse", "--absolute-git-dir"]).await?;
        let git_dir = path_of(printed.strip_suffix(b"\n").unwrap_or(&printed));
        Ok(self.without_work_tree(git_dir))
    }

    /// Returns this git without the work tree and the index of its repository. `git_dir` is the
    /// git directory.
    ///
    /// Git reads `.gitattributes` from the work tree and the index. With the attribute `-diff`, a
    /// pull request that is checked out could therefore hide its own changes. The option
    /// `--attr-source` would help as well, but it needs git 2.41.
    #[must_use]
    pub fn without_work_tree(&self, git_dir: impl Into<PathBuf>) -> Self {
        let git_dir = git_dir.into();
        Self {
            dir: git_dir.clone(),
            git_dir: Some(git_dir),
            ..self.clone()
        }
        .with_env("GIT_DIR", ".")
        .with_env("GIT_WORK_TREE", ".")
        .with_env("GIT_INDEX_FILE", "forge-has-no-index-here")
    }

    /// Returns this git with another level of trust.
    #[must_use]
    pub fn with_trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Returns this git with permission to open a bare repository, because the caller named its
    /// exact path.
    #[must_use]
    pub fn opening_bare(mut self) -> Self {
        self.opens_bare = true;
        self
    }

    /// Returns this git without permission to fetch objects that a partial clone lacks. Used for a
    /// repository outside of the current directory.
    #[must_use]
    pub fn without_lazy_fetch(mut self) -> Self {
        self.fetches_missing = false;
        self
    }

    /// Returns this git for commands that move refs, that merge trees for a commit on a branch, or
    /// that change a work tree. Without this, a [`Git`] is only for reading.
    #[must_use]
    pub fn for_write(&self) -> Self {
        Self {
            purpose: Purpose::Write,
            ..self.clone()
        }
    }

    /// Returns this git for commands that contact a remote. Only these commands get tokens from the
    /// environment.
    ///
    /// # Errors
    /// `permission_denied` if the repository is guarded and its configuration names a program, a
    /// proxy or a certificate for remotes.
    pub async fn for_remote(&self) -> Result<Self> {
        Ok(Self {
            purpose: self.remote_purpose().await?,
            ..self.clone()
        })
    }

    /// Returns this git with the shell command `helper` as its only credential helper for `origin`.
    /// Returns `None` if this git is not for a remote. Also returns `None` if the repository's
    /// configuration names a program, a proxy or a certificate for remotes, because these could see
    /// the credential.
    #[must_use]
    pub fn with_credential_helper(&self, origin: &str, helper: &str) -> Option<Self> {
        if self.purpose != (Purpose::Remote { tokens: true }) {
            return None;
        }
        let key = format!("credential.{origin}.helper");
        // An empty value removes the helpers that git has read before.
        let git = self.clone().with_setting(format!("{key}="));
        Some(git.with_setting(format!("{key}=!{helper}")))
    }

    /// Returns this git with another time limit for a merge computation, and for all merge
    /// computations of one call that only reads. The default is a quarter of the time limit of the
    /// call.
    #[must_use]
    pub fn with_computation_limit(mut self, limit: Duration) -> Self {
        self.computation_limit = Some(limit);
        self
    }

    pub(crate) fn for_read(&self) -> Self {
        Self {
            purpose: Purpose::Read,
            ..self.clone()
        }
    }

    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Returns the level of trust in the repository.
    #[must_use]
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Sets `key=value` for every command. A setting in a command's arguments takes precedence.
    #[must_use]
    pub(crate) fn with_setting(mut self, setting: String) -> Self {
        self.settings.push(setting);
        self
    }

    /// Sets an environment variable for every command.
    #[must_use]
    pub fn with_env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((key.into(), value.into()));
        self
    }

    /// Returns the working directory of the commands.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the git program.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Returns the version of the program, which is read once per process.
    ///
    /// # Errors
    /// `config` if the version is older than [`MINIMUM`](crate::MINIMUM); `git` if the program
    /// cannot be run.
    pub async fn version(&self) -> Result<Version> {
        version::ensure(self).await
    }

    /// Returns a command that is not started yet, for callers that connect it to the terminal.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.program);
        restrict(&mut command, self.trust, self.purpose, self.opens_bare);
        let is_read = self.purpose == Purpose::Read;
        if !self.fetches_missing && is_read {
            forbid_fetch(&mut command);
        }
        if !self.attributes_file.unwrap_or(!is_read) {
            command.args(["-c", NO_ATTRIBUTES_FILE]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(&self.dir);
        if self.clear {
            for key in REPOSITORY_VARIABLES {
                command.env_remove(key);
            }
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            // In gettext, LANGUAGE takes precedence over LC_ALL.
            .env_remove("LANGUAGE");
        for (key, value) in &self.env {
            command.env(key, value);
        }
        command
    }

    /// Runs a command and returns its output, whatever the exit status.
    ///
    /// # Errors
    /// `git` if the program cannot be run; `timeout` if the command only reads and takes too long;
    /// `protocol` if it only reads and prints more than the call may hold in memory.
    pub async fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Output> {
        self.finish(self.command(args), None, self.process_kind())
            .await
    }

    /// Runs a command with `input` as its standard input, and returns its output, whatever the exit
    /// status.
    ///
    /// # Errors
    /// `git` if the program cannot be run; `timeout` if the command only reads and takes too long.
    pub async fn run_with_stdin<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Output> {
        self.finish(self.command(args), Some(input), self.process_kind())
            .await
    }

    /// Like [`Git::run_with_stdin`], for a command that holds locks. Dropping the future does not
    /// kill the command, because a killed git leaves its lock files. The command then ends by
    /// itself, because its input ends early.
    ///
    /// # Errors
    /// `git` if the program cannot be run.
    pub async fn run_with_locks<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Output> {
        let command = self.command(args);
        self.finish(command, Some(input), ProcessKind::Writer).await
    }

    /// Runs a command and returns its standard output. Fails if the exit status is not 0.
    ///
    /// # Errors
    /// `git` with the sanitised standard error; `timeout` if the command only reads and takes too
    /// long.
    pub async fn run_ok<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>> {
        let (name, command) = self.named(args);
        let kind = self.process_kind();
        self.finish(command, None, kind).await?.ok(&name)
    }

    /// Like [`Git::run_ok`], with `input` as standard input.
    ///
    /// # Errors
    /// The errors of [`Git::run_ok`].
    pub async fn run_ok_with_stdin<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>> {
        let (name, command) = self.named(args);
        let kind = self.process_kind();
        self.finish(command, Some(input), kind).await?.ok(&name)
    }

    /// Streams the standard output of a command, in chunks of at most 64 KiB. Git waits for the
    /// reader, and is killed if the stream is dropped. If the command fails, the error is the last
    /// item.
    ///
    /// # Errors
    /// `git` if the program cannot be run.
    pub fn stream<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<ByteStream> {
        self.start_stream(args, None)
    }

    /// Like [`Git::stream`], with `input` as standard input.
    ///
    /// # Errors
    /// The errors of [`Git::stream`].
    pub(crate) fn stream_with_stdin<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: Vec<u8>,
    ) -> Result<ByteStream> {
        self.start_stream(args, Some(input))
    }

    fn start_stream<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: Option<Vec<u8>>,
    ) -> Result<ByteStream> {
        let (name, mut command) = self.named(args);
        let stdin = match input {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        };
        command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // A stream is a read, also one from a remote.
        let kind = match self.purpose {
            Purpose::Remote { .. } => ProcessKind::RemoteReader,
            Purpose::Read | Purpose::Write => ProcessKind::Reader,
        };
        let (mut child, running) = self.start(&mut command, kind)?;
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
            // A failed write is ignored, because a command may end without reading all of its
            // input. Its exit status then shows the reason.
            tokio::spawn(async move { pipe.write_all(&input).await });
        }
        Ok(stream::of(child, running, name))
    }

    /// Returns a process for object lookups, which starts with the first lookup.
    #[must_use]
    pub fn cat_file(&self) -> CatFile {
        CatFile::new(self.clone())
    }

    pub(crate) fn named<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> (String, Command) {
        let args: Vec<OsString> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
        let name = subcommand(&args);
        (name, self.command(args))
    }

    /// Waits for `work`, which uses a git process. The time is limited if this git only reads.
    ///
    /// # Errors
    /// `timeout` after the limit, with `subcommand` in the message.
    pub(crate) async fn within_limit<T>(
        &self,
        subcommand: &str,
        work: impl Future<Output = T>,
    ) -> Result<T> {
        if self.purpose != Purpose::Read {
            return Ok(work.await);
        }
        let limit = self.read_limit;
        tokio::time::timeout(limit, work)
            .await
            .map_err(|_| timeout_error(subcommand, &self.dir, limit))
    }

    fn process_kind(&self) -> ProcessKind {
        if self.purpose == Purpose::Read {
            ProcessKind::Reader
        } else {
            ProcessKind::Writer
        }
    }

    pub(crate) fn start(
        &self,
        command: &mut Command,
        kind: ProcessKind,
    ) -> Result<(Child, RunningProcess)> {
        refuse_while_ending()?;
        tracing::trace!(command = ?command.as_std(), "git");
        let broken = |e| spawn_error(&self.program, &self.dir, e);
        let started = match kind {
            ProcessKind::Writer => RunningProcess::start_writer(command),
            ProcessKind::RemoteReader => RunningProcess::start_remote_reader(command),
            ProcessKind::Reader | ProcessKind::Computation(_) => {
                RunningProcess::start_reader(command)
            }
        };
        let (child, running) = started.map_err(broken)?;
        if let ProcessKind::Computation(limit) = kind {
            limit_processor_time(&child, limit);
        }
        Ok((child, running))
    }

    /// Runs a command that merges or walks histories, for which the time is limited. All such
    /// commands of a call that only reads share the limit.
    ///
    /// # Errors
    /// `timeout` after the limit; the errors of [`Git::run`].
    pub(crate) async fn run_computation(&self, args: Vec<&str>) -> Result<Output> {
        let limit = self.computation_limit.unwrap_or_else(|| {
            let of_call = call::time_limit().unwrap_or(READ_TIMEOUT);
            of_call / COMPUTATION_SHARE
        });
        let left = if self.purpose == Purpose::Read {
            limit.saturating_sub(call::computed(Duration::ZERO))
        } else {
            limit
        };
        let begin = tokio::time::Instant::now();
        let kind = ProcessKind::Computation(left);
        let name = args.first().copied().unwrap_or_default().to_owned();
        let computation = self.finish(self.command(args), None, kind);
        let ended = if left.is_zero() {
            None
        } else {
            tokio::time::timeout(left, computation).await.ok()
        };
        let _ = call::computed(begin.elapsed());
        ended.unwrap_or_else(|| Err(computation_timeout(&name, limit)))
    }

    async fn finish(
        &self,
        mut command: Command,
        input: Option<&[u8]>,
        kind: ProcessKind,
    ) -> Result<Output> {
        let stdin = if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let broken = |e| spawn_error(&self.program, &self.dir, e);
        // `running` is dropped before `child`, because it kills the group of a child that still runs.
        let (mut child, mut running) = self.start(&mut command, kind)?;
        let pipe = child.stdin.take();
        let no_pipe = || broken(std::io::ErrorKind::BrokenPipe.into());
        let stdout = child.stdout.take().ok_or_else(no_pipe)?;
        let stderr = child.stderr.take().ok_or_else(no_pipe)?;
        let may_be_cut = kind == ProcessKind::Writer;
        // A failed write is ignored, because a command may end without reading all of its input. The
        // exit status of the command then shows the reason.
        let feed = async {
            if let (Some(mut pipe), Some(input)) = (pipe, input) {
                let _ = pipe.write_all(input).await;
                let _ = pipe.shutdown().await;
            }
            Ok(())
        };
        let args = command.as_std().get_args().map(OsStr::to_owned);
        let name = subcommand(&args.collect::<Vec<_>>());
        let ended = async {
            tokio::try_join!(
                feed,
                self.read_output(&name, stdout, may_be_cut),
                async { Ok(stream::drain(stderr).await) },
                async { child.wait().await.map_err(broken) },
            )
        };
        // Boxed, because every future that runs git has this one as a part: unboxed, those of a
        // merge overflow the stack of a thread.
        let ended = Box::pin(self.within_limit(&name, ended));
        let ((), (stdout, charge), stderr, status) = ended.await??;
        running.ended();
        Ok(Output {
            status: code(status),
            stdout,
            stderr,
            charge,
        })
    }

    /// Reads the output of a process, and charges it to the call, twice because it is parsed. A
    /// process that writes has to be read to its end, so the rest of too long an output is dropped.
    async fn read_output(
        &self,
        subcommand: &str,
        mut stdout: impl AsyncRead + Unpin,
        may_be_cut: bool,
    ) -> Result<(Vec<u8>, Charge)> {
        let what = format!("the output of git {subcommand}");
        let (mut charge, mut printed) = (Charge::new(), Vec::new());
        let mut buffer = vec![0; 16 * 1024];
        let broken = |e| spawn_error(&self.program, &self.dir, e);
        loop {
            let count = stdout.read(&mut buffer).await.map_err(broken)?;
            let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else {
                return Ok((printed, charge));
            };
            match charge.add(&what, 2 * count) {
                Ok(()) => printed.extend_from_slice(chunk),
                Err(_) if may_be_cut => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Output {
    /// Returns the standard output if the status is 0.
    ///
    /// # Errors
    /// `git` with `subcommand` and the standard error in the message.
    pub fn ok(self, subcommand: &str) -> Result<Vec<u8>> {
        if self.status != 0 {
            return Err(self.error(subcommand));
        }
        if self.stdout.len() > UNCOUNTED_OUTPUT {
            self.charge.keep();
        }
        Ok(self.stdout)
    }

    /// Creates the error for this output of a failed command.
    #[must_use]
    pub fn error(&self, subcommand: &str) -> forge_core::Error {
        failed(subcommand, self.status, &self.stderr)
    }
}

/// Returns the error for a computation that took too long.
fn computation_timeout(subcommand: &str, limit: Duration) -> Error {
    let (outcome, hint) = match subcommand {
        "merge-tree" => (
            "the merge was not computed",
            "merge by hand with `git merge -s resolve`, or raise FORGE_TIMEOUT (seconds) and try \
             again",
        ),
        _ => (
            "the history was not searched",
            "raise FORGE_TIMEOUT (seconds) and try again",
        ),
    };
    let message = format!(
        "{outcome}: git {subcommand} may take {} s in a call, and some histories need longer",
        limit.as_secs_f32()
    );
    Error::new(ErrorKind::Timeout { after: limit }, message).with_hint(hint)
}

/// Returns the time limit of a process that reads.
fn read_limit() -> Duration {
    let seconds = std::env::var("FORGE_TIMEOUT").ok();
    let seconds = seconds.and_then(|s| s.trim().parse::<u64>().ok());
    seconds.map_or(READ_TIMEOUT, |s| {
        MIN_READ_TIMEOUT.max(Duration::from_secs(s))
    })
}

/// Returns the subcommand: the first argument that is not an option of git (`-c key=value`).
fn subcommand(args: &[OsString]) -> String {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "-c" || arg == "-C" {
            args.next();
        } else if !arg.as_encoded_bytes().starts_with(b"-") {
            return arg.to_string_lossy().into_owned();
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    async fn repository() -> (tempfile::TempDir, Git) {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        (dir, git)
    }

    #[tokio::test]
    async fn command_gets_input_and_returns_output() {
        let (_dir, git) = repository().await;
        let big = vec![b'x'; 1 << 20];
        let oid = git
            .run_ok_with_stdin(["hash-object", "-w", "--stdin"], &big)
            .await
            .unwrap();
        let oid = String::from_utf8(oid).unwrap();
        let back = git.run_ok(["cat-file", "blob", oid.trim()]).await.unwrap();
        assert_eq!(back, big);
        // Git ends without reading its input. The error is git's own, not a broken pipe.
        let e = git
            .run_ok_with_stdin(["no-such-command"], &big)
            .await
            .unwrap_err();
        assert!(e.message().starts_with("git no-such-command failed"), "{e}");
    }

    #[tokio::test]
    async fn stream_has_small_chunks_and_ends_with_failure() {
        let (_dir, git) = repository().await;
        let big = vec![b'y'; 300_000];
        let oid = git
            .run_ok_with_stdin(["hash-object", "-w", "--stdin"], &big)
            .await
            .unwrap();
        let oid = String::from_utf8(oid).unwrap();
        let mut total = 0;
        let mut chunks = git.stream(["cat-file", "blob", oid.trim()]).unwrap();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.unwrap();
            assert!(!chunk.is_empty() && chunk.len() <= 64 * 1024);
            total += chunk.len();
        }
        assert_eq!(total, big.len());

        let items: Vec<_> = git
            .stream(["cat-file", "blob", "nope"])
            .unwrap()
            .collect()
            .await;
        assert_eq!(items.len(), 1);
        assert!(
            items[0]
                .as_ref()
                .unwrap_err()
                .message()
                .starts_with("git cat-file failed")
        );
    }

    #[tokio::test]
    async fn missing_program_and_missing_directory_differ() {
        let (dir, git) = repository().await;
        let none = Git {
            program: "/nonexistent/git".into(),
            ..git
        };
        let e = none.run(["version"]).await.unwrap_err();
        assert!(e.message().contains("/nonexistent/git"), "{e}");
        assert!(e.hint().is_some_and(|h| h.text().contains("FORGE_GIT")));
        let e = Git::at(dir.path().join("gone"))
            .run(["version"])
            .await
            .unwrap_err();
        assert!(e.message().contains("does not exist"), "{e}");
    }

    #[tokio::test]
    async fn read_waiting_for_pipe_ends_at_timeout() {
        let (dir, mut git) = repository().await;
        git.run_ok(["config", "include.path", "pipe"])
            .await
            .unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(dir.path().join(".git/pipe"))
            .status();
        assert!(made.unwrap().success());
        git.read_limit = Duration::from_millis(100);
        let looked_up = git.cat_file().info("HEAD").await.unwrap_err();
        assert!(looked_up.message().contains("git cat-file"), "{looked_up}");
        let e = git.run(["rev-parse", "HEAD"]).await.unwrap_err();
        assert_eq!(e.code(), "timeout");
        assert!(e.message().contains("git rev-parse"), "{e}");
        assert!(e.message().contains("0.1 s"), "{e}");
        let hint = e.hint().unwrap().text();
        assert!(hint.contains("git config --show-origin --list"), "{hint}");
    }

    async fn write_blob(git: &Git, content: &[u8]) -> String {
        let args = ["hash-object", "-w", "--stdin"];
        let oid = git.run_ok_with_stdin(args, content).await.unwrap();
        String::from_utf8(oid).unwrap().trim().to_owned()
    }

    /// A text of one letter takes a thousandth of its size in the repository.
    #[tokio::test]
    async fn output_counts_for_the_memory_of_the_call() {
        use forge_core::call::{MAX_HELD, is_spent, received, together};
        let (_dir, git) = repository().await;
        let mib = 1 << 20;
        let (large, medium) = (vec![b'x'; 17 * mib], vec![b'x'; 5 * mib]);
        let (large, medium) = (
            write_blob(&git, &large).await,
            write_blob(&git, &medium).await,
        );
        let show = |oid| ["cat-file", "blob", oid];
        let refused = git.run_ok(show(&large)).await.unwrap_err();
        assert!(is_spent(&refused), "{refused}");
        let message = refused.message();
        assert!(message.contains("the output of git cat-file"), "{message}");
        assert!(message.contains("more than 32 MiB"), "{message}");
        assert!(refused.hint().is_some());
        together(async {
            // What a caller has dropped does not count.
            for _ in 0..8 {
                let output = git.run(show(&medium)).await.unwrap();
                assert_eq!((output.stdout.len(), received(0)), (5 * mib, 10 * mib));
            }
            for _ in 0..8 {
                let within = git.run_within(show(&medium).to_vec(), MAX_HELD).await;
                assert_eq!(within.unwrap().unwrap().len(), 5 * mib);
                assert_eq!(received(0), 0);
            }
            let within = git.run_within(show(&medium).to_vec(), mib).await.unwrap();
            assert!(within.is_none());
            // What it may have kept counts until the call ends.
            for _ in 0..3 {
                assert!(git.run_ok(show(&medium)).await.is_ok());
            }
            let refused = git.run_ok(show(&medium)).await.unwrap_err();
            assert!(is_spent(&refused), "{refused}");
            assert!(git.run_ok(["rev-parse", "--git-dir"]).await.is_ok());
        })
        .await;
    }

    /// The output of a process that writes is cut, because the process must not be stopped.
    #[tokio::test]
    async fn long_output_of_a_write_is_cut() {
        let (_dir, git) = repository().await;
        let large = write_blob(&git, &vec![b'x'; 17 << 20]).await;
        let output = git.for_write().run(["cat-file", "blob", &large]).await;
        let output = output.unwrap();
        assert_eq!((output.status, output.stdout.len()), (0, 16 << 20));
    }

    #[tokio::test]
    async fn installed_git_version_is_accepted() {
        let (_dir, git) = repository().await;
        assert!(git.version().await.unwrap() >= crate::MINIMUM);
        assert!(git.version().await.unwrap() >= crate::MINIMUM);
    }

    #[test]
    fn subcommand_after_options_is_found() {
        let args = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            subcommand(&args(&["-c", "a.b=c", "--literal-pathspecs", "diff"])),
            "diff"
        );
        assert_eq!(subcommand(&args(&["version"])), "version");
        assert_eq!(subcommand(&[]), "");
    }
}
