use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use forge_core::{Result, Trust, model::ByteStream};
use tokio::{io::AsyncWriteExt, process::Command, sync::OnceCell};

use crate::{
    CatFile, Setting, Version,
    error::{code, failed, not_run},
    process::{Purpose, forbid_fetch, restrict},
    stream, version,
};

/// What redirects git to another repository (a hook inherits it from the git that runs it), and what
/// changes its diffs.
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

/// A git program, the directory to run it in, and what its processes may start.
#[derive(Clone, Debug)]
pub struct Git {
    program: OsString,
    dir: PathBuf,
    clear: bool,
    settings: Vec<String>,
    env: Vec<(OsString, OsString)>,
    trust: Trust,
    purpose: Purpose,
    opens_bare: bool,
    fetches_missing: bool,
    /// The repository's own program settings, once they were read.
    pub(crate) programs: Arc<OnceCell<Vec<Setting>>>,
}

/// What a command that ended has left behind.
#[derive(Clone, Debug)]
pub struct Output {
    /// Exit status; -1 when a signal ended it.
    pub status: i32,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
}

impl Git {
    /// The program of `FORGE_GIT` (else `git`) in `dir`, and in no other repository: variables such
    /// as `GIT_DIR` are not handed on.
    #[must_use]
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        let program = std::env::var_os("FORGE_GIT").filter(|p| !p.is_empty());
        Self {
            program: program.unwrap_or_else(|| "git".into()),
            dir: dir.into(),
            clear: true,
            settings: Vec::new(),
            env: Vec::new(),
            trust: Trust::Guarded,
            purpose: Purpose::Read,
            opens_bare: false,
            fetches_missing: true,
            programs: Arc::default(),
        }
    }

    /// The program where a person stands: the current directory, or what `GIT_DIR` says.
    #[must_use]
    pub fn here() -> Self {
        Self {
            clear: false,
            trust: Trust::Person,
            ..Self::at(".")
        }
    }

    /// The same program in another directory, as far trusted; a bare repository is not opened there.
    #[must_use]
    pub fn in_dir(&self, dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            opens_bare: false,
            programs: Arc::default(),
            ..self.clone()
        }
    }

    /// The same, as far trusted as who chose the repository.
    #[must_use]
    pub fn with_trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// The same, which also opens a bare repository: its exact path was named.
    #[must_use]
    pub fn opening_bare(mut self) -> Self {
        self.opens_bare = true;
        self
    }

    /// The same, whose reads fetch no object that a partial clone has left out: a person named the
    /// repository and stands elsewhere.
    #[must_use]
    pub fn without_lazy_fetch(mut self) -> Self {
        self.fetches_missing = false;
        self
    }

    /// The same for processes that move refs, merge what is to land, or change a work tree. A new
    /// [`Git`] is for reading.
    #[must_use]
    pub fn for_write(&self) -> Self {
        Self {
            purpose: Purpose::Write,
            ..self.clone()
        }
    }

    /// The same for processes that ask or change a remote: they alone get tokens of the environment.
    ///
    /// # Errors
    /// `permission_denied` where the repository is guarded, and its own configuration names a program,
    /// a proxy or a certificate for that.
    pub async fn for_remote(&self) -> Result<Self> {
        Ok(Self {
            purpose: self.remote_purpose().await?,
            ..self.clone()
        })
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

    /// Who chose the repository.
    #[must_use]
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Sets `key=value` for every command, before the command's own settings.
    #[must_use]
    pub(crate) fn with_setting(mut self, setting: String) -> Self {
        self.settings.push(setting);
        self
    }

    /// Sets a variable for every command.
    #[must_use]
    pub fn with_env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((key.into(), value.into()));
        self
    }

    /// Where commands run.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The version of the program, asked once per process.
    ///
    /// # Errors
    /// `config` when it is older than [`MINIMUM`](crate::MINIMUM); `git` when it cannot be run.
    pub async fn version(&self) -> Result<Version> {
        version::ensure(self).await
    }

    /// The process that a command would be, for callers that hand it the terminal.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.program);
        restrict(&mut command, self.trust, self.purpose, self.opens_bare);
        if !self.fetches_missing && self.purpose == Purpose::Read {
            forbid_fetch(&mut command);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(&self.dir).kill_on_drop(true);
        if self.clear {
            for key in REPOSITORY_VARIABLES {
                command.env_remove(key);
            }
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            // A language of the user's would win over LC_ALL in gettext.
            .env_remove("LANGUAGE");
        for (key, value) in &self.env {
            command.env(key, value);
        }
        command
    }

    /// Runs a command to its end, whatever its status.
    ///
    /// # Errors
    /// `git` when the program cannot be run.
    pub async fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Output> {
        self.finish(self.command(args), None).await
    }

    /// Runs a command with `input` on its standard input, whatever its status.
    ///
    /// # Errors
    /// `git` when the program cannot be run.
    pub async fn run_with_stdin<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Output> {
        self.finish(self.command(args), Some(input)).await
    }

    /// As [`Git::run_with_stdin`], for a command that holds locks: it is not ended when the future is
    /// dropped, because a git that is killed leaves its lock files behind. Without the rest of its
    /// input it gives up by itself.
    ///
    /// # Errors
    /// `git` when the program cannot be run.
    pub async fn run_with_locks<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Output> {
        let mut command = self.command(args);
        command.kill_on_drop(false);
        self.finish(command, Some(input)).await
    }

    /// Runs a command that must succeed; its standard output.
    ///
    /// # Errors
    /// `git` with what it wrote to standard error, neutralised.
    pub async fn run_ok<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>> {
        let (name, command) = self.named(args);
        self.finish(command, None).await?.ok(&name)
    }

    /// Runs a command that must succeed with `input` on its standard input; its standard output.
    ///
    /// # Errors
    /// As [`Git::run_ok`].
    pub async fn run_ok_with_stdin<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>> {
        let (name, command) = self.named(args);
        self.finish(command, Some(input)).await?.ok(&name)
    }

    /// Standard output while the command writes it, in chunks of at most 64 KiB. Git waits while
    /// nobody reads, and is ended when the stream is dropped. A failure is the last item.
    ///
    /// # Errors
    /// `git` when the program cannot be run.
    pub fn stream<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<ByteStream> {
        self.start_stream(args, None)
    }

    /// As [`Git::stream`], with `input` on the command's standard input.
    ///
    /// # Errors
    /// As [`Git::stream`].
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
        let mut child = command
            .spawn()
            .map_err(|e| not_run(&self.program, &self.dir, e))?;
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
            // A command may end without reading all of its input; its status tells why.
            tokio::spawn(async move { pipe.write_all(&input).await });
        }
        Ok(stream::of(child, name))
    }

    /// One process that answers object lookups; it starts with the first one.
    #[must_use]
    pub fn cat_file(&self) -> CatFile {
        CatFile::new(self.clone())
    }

    fn named<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> (String, Command) {
        let args: Vec<OsString> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
        let name = subcommand(&args);
        (name, self.command(args))
    }

    async fn finish(&self, mut command: Command, input: Option<&[u8]>) -> Result<Output> {
        let stdin = if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        tracing::trace!(command = ?command.as_std(), "git");
        let broken = |e| not_run(&self.program, &self.dir, e);
        let mut child = command.spawn().map_err(broken)?;
        let pipe = child.stdin.take();
        // A command may end without reading all of its input; its status tells why.
        let feed = async {
            if let (Some(mut pipe), Some(input)) = (pipe, input) {
                let _ = pipe.write_all(input).await;
                let _ = pipe.shutdown().await;
            }
        };
        let ((), output) = tokio::join!(feed, child.wait_with_output());
        let output = output.map_err(broken)?;
        Ok(Output {
            status: code(output.status),
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }
}

impl Output {
    /// Standard output, if the status is 0.
    ///
    /// # Errors
    /// `git` with what was written to standard error; `subcommand` names the command in it.
    pub fn ok(self, subcommand: &str) -> Result<Vec<u8>> {
        if self.status == 0 {
            Ok(self.stdout)
        } else {
            Err(self.error(subcommand))
        }
    }

    /// The failure that this output is.
    #[must_use]
    pub fn error(&self, subcommand: &str) -> forge_core::Error {
        failed(subcommand, self.status, &self.stderr)
    }
}

/// The first argument that is no option of git itself (`-c key=value`).
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
    async fn input_goes_in_and_output_comes_out() {
        let (_dir, git) = repository().await;
        let big = vec![b'x'; 1 << 20];
        let oid = git
            .run_ok_with_stdin(["hash-object", "-w", "--stdin"], &big)
            .await
            .unwrap();
        let oid = String::from_utf8(oid).unwrap();
        let back = git.run_ok(["cat-file", "blob", oid.trim()]).await.unwrap();
        assert_eq!(back, big);
        // git ends without reading: that is no failure of the pipe but of git.
        let e = git
            .run_ok_with_stdin(["no-such-command"], &big)
            .await
            .unwrap_err();
        assert!(e.message().starts_with("git no-such-command failed"), "{e}");
    }

    #[tokio::test]
    async fn a_stream_has_small_chunks_and_ends_with_the_failure() {
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
    async fn a_missing_program_and_a_missing_directory_are_told_apart() {
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
    async fn the_version_of_the_installed_git_is_accepted() {
        let (_dir, git) = repository().await;
        assert!(git.version().await.unwrap() >= crate::MINIMUM);
        assert!(git.version().await.unwrap() >= crate::MINIMUM);
    }

    #[test]
    fn the_subcommand_is_found_behind_options() {
        let args = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            subcommand(&args(&["-c", "a.b=c", "--literal-pathspecs", "diff"])),
            "diff"
        );
        assert_eq!(subcommand(&args(&["version"])), "version");
        assert_eq!(subcommand(&[]), "");
    }
}
