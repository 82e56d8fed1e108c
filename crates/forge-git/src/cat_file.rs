use std::{borrow::Cow, path::PathBuf, process::Stdio};

use forge_core::{
    Error, ErrorKind, Result,
    call::{Charge, MAX_HELD},
    text,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout},
    task::JoinHandle,
};

use crate::{
    Git, blocking,
    children::{ProcessKind, RunningProcess},
    error::{code, failed, is_out_of_memory, spawn_error},
    exact_refs::{is_description, may_have_shadows, split_ref},
    stream::drain,
};

/// Maximum size of one object that is read into memory, and of all objects that one call of
/// [`CatFile::get_many`] returns, in bytes.
const MAX_OBJECT_BYTES: u64 = MAX_HELD as u64;
/// Maximum number of queries that are sent before their answers are read.
const MAX_QUERIES_IN_FLIGHT: usize = 64;

/// Type and size of an object, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Full object id, hex.
    pub oid: String,
    /// `commit`, `tree`, `blob` or `tag`.
    pub kind: String,
    /// Size in bytes.
    pub size: u64,
}

/// An object with its content. The content counts for the memory of the call
/// ([`forge_core::call::charge`]) until the object is dropped.
#[derive(Debug)]
pub struct Object {
    /// Full object id, hex.
    pub oid: String,
    /// `commit`, `tree`, `blob` or `tag`.
    pub kind: String,
    /// Content.
    pub data: Vec<u8>,
    charge: Charge,
}

impl Object {
    /// Returns the content, which counts until the call ends.
    #[must_use]
    pub fn keep(self) -> Vec<u8> {
        self.charge.keep();
        self.data
    }
}

/// Result of looking up one object.
#[derive(Debug)]
pub enum ObjectLookup {
    /// The object was found.
    Object(Object),
    /// There is no object of that name.
    Missing,
    /// The object exists but cannot be read, because it is damaged or too large.
    Unreadable(Error),
}

impl ObjectLookup {
    /// Returns the object, or `None` if it is missing.
    ///
    /// # Errors
    /// `protocol` if the object cannot be read.
    pub fn into_object(self) -> Result<Option<Object>> {
        match self {
            Self::Object(object) => Ok(Some(object)),
            Self::Missing => Ok(None),
            Self::Unreadable(e) => Err(e),
        }
    }
}

/// A `git cat-file --batch-command` process that is shared by all lookups.
///
/// The process starts with the first lookup, and is restarted if a damaged object ended it. Each
/// lookup sees the current refs.
///
/// The name of an object is anything that git resolves: `refs/heads/x`, `<oid>:path`, an id. A name
/// that begins with `refs/` finds only the ref with that full name.
#[derive(Debug)]
pub struct CatFile {
    git: Git,
    process: Option<Process>,
    /// The repository's common directory (the place of its refs), if it is known.
    common_dir: Option<PathBuf>,
    /// True if the repository has a shadow: a ref that git could find instead of a missing ref.
    /// `None` until the first lookup by a ref name.
    has_shadows: Option<bool>,
}

#[derive(Debug)]
struct Process {
    /// Dropped before the child, because it kills the group of a child that still runs.
    running: RunningProcess,
    child: Child,
    stderr: JoinHandle<Vec<u8>>,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    /// Ends the process after it failed on an object, and returns its stderr.
    ///
    /// # Errors
    /// `git` if something other than the object caused the failure: a signal, or a lack of memory.
    async fn end(self) -> Result<Vec<u8>> {
        let Self {
            mut running,
            mut child,
            stderr,
            stdin,
            ..
        } = self;
        drop(stdin);
        let said = stderr.await.unwrap_or_default();
        let status = child.wait().await.map_or(-1, code);
        running.ended();
        match status == -1 || is_out_of_memory(&said) {
            true => Err(failed("cat-file", status, &said)),
            false => Ok(said),
        }
    }
}

enum ObjectHeader {
    Info(ObjectInfo),
    Missing,
}

impl CatFile {
    pub(crate) fn new(git: Git) -> Self {
        Self {
            git,
            process: None,
            common_dir: None,
            has_shadows: None,
        }
    }

    /// Sets the common directory of the repository. Lookups by ref name then usually start no
    /// second process.
    #[must_use]
    pub fn with_common_dir(mut self, common_dir: impl Into<PathBuf>) -> Self {
        self.common_dir = Some(common_dir.into());
        self
    }

    /// Returns the object `name` with its content, or `None` if it does not exist.
    ///
    /// # Errors
    /// `protocol` if the object is damaged or larger than 32 MiB; `git` if git cannot be run.
    pub async fn get(&mut self, name: &str) -> Result<Option<Object>> {
        let mut found = self.get_many(&[name]).await?;
        found.pop().unwrap_or(ObjectLookup::Missing).into_object()
    }

    /// Returns type and size of the object `name` without reading the content, or `None` if it does
    /// not exist.
    ///
    /// # Errors
    /// The errors of [`CatFile::get`].
    pub async fn info(&mut self, name: &str) -> Result<Option<ObjectInfo>> {
        Ok(self.info_many(&[name]).await?.pop().flatten())
    }

    /// Returns the objects `names`, in order. Several queries are sent before their answers are
    /// read.
    ///
    /// The contents have at most 32 MiB together. An object that exceeds what is left of this limit
    /// is not read, but smaller objects after it are.
    ///
    /// # Errors
    /// `git` if git cannot be run or crashes; `timeout` if it takes too long; the errors of
    /// [`forge_core::call::charge`] if the call holds too much in memory. If only one object cannot
    /// be read, its [`ObjectLookup`] has the error.
    pub async fn get_many<S: AsRef<str>>(&mut self, names: &[S]) -> Result<Vec<ObjectLookup>> {
        let mut left = MAX_OBJECT_BYTES;
        let sum = |found: &ObjectLookup| {
            if let ObjectLookup::Object(object) = found {
                left = left.saturating_sub(object.data.len() as u64);
            }
            left
        };
        self.read_objects(names, MAX_OBJECT_BYTES, sum, |found| found)
            .await
    }

    /// Reads the objects `names`, in order, of at most `max_bytes` each, and returns what `take`
    /// makes of each. Only one object is in memory at a time.
    ///
    /// # Errors
    /// The errors of [`CatFile::get_many`].
    pub async fn get_each<S: AsRef<str>, T>(
        &mut self,
        names: &[S],
        max_bytes: usize,
        take: impl FnMut(ObjectLookup) -> T,
    ) -> Result<Vec<T>> {
        let max_bytes = MAX_OBJECT_BYTES.min(max_bytes as u64);
        self.read_objects(names, max_bytes, |_| max_bytes, take)
            .await
    }

    /// Reads objects. The first one has at most `left` bytes; `next_left` returns the limit for the
    /// object after the one that was found.
    async fn read_objects<S: AsRef<str>, T>(
        &mut self,
        names: &[S],
        mut left: u64,
        mut next_left: impl FnMut(&ObjectLookup) -> u64,
        mut take: impl FnMut(ObjectLookup) -> T,
    ) -> Result<Vec<T>> {
        let names = self.exact_names(names).await?;
        let mut found = Vec::with_capacity(names.len());
        while let Some(rest) = names.get(found.len()..).filter(|r| !r.is_empty()) {
            let Some(chunk) = rest.get(..rest.len().min(MAX_QUERIES_IN_FLIGHT)) else {
                break;
            };
            let asked = found.len() + chunk.len();
            let mut process = self.take()?;
            let (stdin, stdout) = (&mut process.stdin, &mut process.stdout);
            let questions = questions("contents", chunk);
            let answers = async {
                for _ in chunk {
                    let Some(answer) = read_object(stdout, left).await? else {
                        break;
                    };
                    left = next_left(&answer);
                    found.push(take(answer));
                }
                Ok::<(), Error>(())
            };
            let queries = async {
                // A failed write is ignored: git has ended, and the missing answers show it.
                let _ = write_queries(stdin, &questions).await;
                Ok(())
            };
            let done = async { tokio::try_join!(queries, answers) };
            // After an error, answers are unread, so the process is dropped.
            Box::pin(self.git.within_limit("cat-file", done)).await??;
            match names.get(found.len()).filter(|_| found.len() < asked) {
                None => self.process = Some(process),
                // Git ended while it read the object `name`.
                Some(name) => {
                    let said = process.end().await?;
                    found.push(take(ObjectLookup::Unreadable(unreadable(name, &said))));
                }
            }
        }
        Ok(found)
    }

    /// Like [`CatFile::info`], for all `names`, in order.
    ///
    /// # Errors
    /// `git` if git cannot be run or crashes.
    pub async fn info_many<S: AsRef<str>>(
        &mut self,
        names: &[S],
    ) -> Result<Vec<Option<ObjectInfo>>> {
        let names = self.exact_names(names).await?;
        let mut found = Vec::with_capacity(names.len());
        while let Some(rest) = names.get(found.len()..).filter(|r| !r.is_empty()) {
            let Some(chunk) = rest.get(..rest.len().min(MAX_QUERIES_IN_FLIGHT)) else {
                break;
            };
            let asked = found.len() + chunk.len();
            let mut process = self.take()?;
            let (stdin, stdout) = (&mut process.stdin, &mut process.stdout);
            let questions = questions("info", chunk);
            let answers = async {
                for _ in chunk {
                    match read_header(stdout).await {
                        Some(ObjectHeader::Info(info)) => found.push(Some(info)),
                        Some(ObjectHeader::Missing) => found.push(None),
                        None => break,
                    }
                }
            };
            let done = async { tokio::join!(write_queries(stdin, &questions), answers) };
            let (_, ()) = self.git.within_limit("cat-file", done).await?;
            if found.len() < asked {
                process.end().await?;
                found.push(None);
            } else {
                self.process = Some(process);
            }
        }
        Ok(found)
    }

    /// Replaces ref names by their object ids, if git could find a shadow instead of a missing ref.
    async fn exact_names<'n, S: AsRef<str>>(
        &mut self,
        names: &'n [S],
    ) -> Result<Vec<Cow<'n, str>>> {
        let split = names.iter().filter_map(|name| split_ref(name.as_ref()));
        let full: Vec<&str> = split.map(|(full, _)| full).collect();
        let is_shadowed = !full.is_empty() && self.find_shadows().await?;
        let is_unsure = move |full: &str| is_shadowed || is_description(full);
        let unsure: Vec<&str> = full.into_iter().filter(|full| is_unsure(full)).collect();
        let oids = self.git.ref_oids(&unsure).await?;
        let exact = |name: &'n S| {
            let name = name.as_ref();
            match split_ref(name).filter(|(full, _)| is_unsure(full)) {
                None => Cow::Borrowed(name),
                Some((full, rest)) => match oids.get(full) {
                    Some(oid) => Cow::Owned(format!("{oid}{rest}")),
                    // The ref is missing. An empty name finds no object.
                    None => Cow::Borrowed(""),
                },
            }
        };
        Ok(names.iter().map(exact).collect())
    }

    async fn find_shadows(&mut self) -> Result<bool> {
        if let Some(known) = self.has_shadows {
            return Ok(known);
        }
        let is_possible = match self.common_dir.clone() {
            Some(dir) => blocking(move || Ok(may_have_shadows(&dir))).await?,
            None => true,
        };
        let found = is_possible && self.git.has_shadows().await?;
        self.has_shadows = Some(found);
        Ok(found)
    }

    /// Takes the process out of `self`, so that no process with unread answers stays there if the
    /// lookup is cancelled.
    fn take(&mut self) -> Result<Process> {
        self.process.take().map_or_else(|| self.start(), Ok)
    }

    fn start(&self) -> Result<Process> {
        let broken = |e| spawn_error(self.git.program(), self.git.dir(), e);
        // All names are full ref names or ids. Without this setting, git would search five more
        // places for each name that it finds, only to warn about ambiguous names.
        let fast = "core.warnAmbiguousRefs=false";
        let mut command = self
            .git
            .command(["-c", fast, "cat-file", "--batch-command"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (mut child, running) = self.git.start(&mut command, ProcessKind::Reader)?;
        let no_pipe = || broken(std::io::ErrorKind::BrokenPipe.into());
        let stdin = child.stdin.take().ok_or_else(no_pipe)?;
        let stdout = child.stdout.take().ok_or_else(no_pipe)?;
        let stderr = child.stderr.take().ok_or_else(no_pipe)?;
        Ok(Process {
            running,
            child,
            stderr: tokio::spawn(drain(stderr)),
            stdin,
            stdout: BufReader::with_capacity(64 * 1024, stdout),
        })
    }
}

/// Returns the error for an object that is damaged, or that a partial clone lacks and must not
/// fetch.
fn unreadable(name: &str, stderr: &[u8]) -> Error {
    let said = failed("cat-file", 128, stderr);
    match said.hint() {
        Some(_) => said,
        None => damaged(name, "git cannot read it"),
    }
}

fn damaged(name: &str, why: &str) -> Error {
    let name = text::one_line(name).into_owned();
    Error::new(
        ErrorKind::Protocol,
        format!("the object {name} is damaged: {why}"),
    )
    .with_hint("run `git fsck`, which names the damaged objects")
}

/// Returns the commands for `names`. An empty name, or a name with a newline, becomes `^`, which
/// git never finds.
fn questions<S: AsRef<str>>(command: &str, names: &[S]) -> Vec<u8> {
    let mut all = String::new();
    for name in names {
        let name = name.as_ref();
        let name = if name.is_empty() || name.contains('\n') {
            "^"
        } else {
            name
        };
        all.push_str(command);
        all.push(' ');
        all.push_str(name);
        all.push('\n');
    }
    all.into_bytes()
}

async fn write_queries(stdin: &mut ChildStdin, questions: &[u8]) -> std::io::Result<()> {
    stdin.write_all(questions).await?;
    stdin.flush().await
}

/// Reads the next header line. Returns `None` if git has ended.
async fn read_header(stdout: &mut BufReader<ChildStdout>) -> Option<ObjectHeader> {
    let mut line = Vec::new();
    stdout.read_until(b'\n', &mut line).await.ok()?;
    let line = line.strip_suffix(b"\n")?;
    let line = String::from_utf8_lossy(line);
    if line.ends_with(" missing") || line.ends_with(" ambiguous") {
        return Some(ObjectHeader::Missing);
    }
    let mut parts = line.split(' ');
    let (oid, kind, size) = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
    Some(ObjectHeader::Info(ObjectInfo {
        oid: oid.to_owned(),
        kind: kind.to_owned(),
        size,
    }))
}

/// Reads the next object, of at most `left` bytes. Returns `None` if git has ended.
///
/// # Errors
/// The errors of [`Charge::add`] if the call holds too much in memory. The object is then unread.
async fn read_object(
    stdout: &mut BufReader<ChildStdout>,
    left: u64,
) -> Result<Option<ObjectLookup>> {
    let info = match read_header(stdout).await {
        Some(ObjectHeader::Info(info)) => info,
        Some(ObjectHeader::Missing) => return Ok(Some(ObjectLookup::Missing)),
        None => return Ok(None),
    };
    let ObjectInfo { oid, kind, size } = info;
    if size > MAX_OBJECT_BYTES.min(left) {
        let mut rest = stdout.take(size.saturating_add(1));
        let skipped = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
        let why = match size > MAX_OBJECT_BYTES {
            true => format!("it has {size} bytes, and the maximum is {MAX_OBJECT_BYTES}"),
            false => format!("it has {size} bytes, and at most {left} are read here"),
        };
        let unread = ObjectLookup::Unreadable(damaged(&oid, &why));
        return Ok(skipped.is_ok().then_some(unread));
    }
    let size = usize::try_from(size).unwrap_or(MAX_HELD);
    let mut charge = Charge::new();
    charge.add(&format!("the object {oid}"), size)?;
    let mut data = vec![0; size + 1];
    if stdout.read_exact(&mut data).await.is_err() {
        return Ok(None);
    }
    data.pop();
    let object = Object {
        oid,
        kind,
        data,
        charge,
    };
    Ok(Some(ObjectLookup::Object(object)))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn repository() -> (tempfile::TempDir, Git, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let mut oids = Vec::new();
        for n in 0..200 {
            let content = format!("blob {n}\n\n").repeat(100);
            let args = ["hash-object", "-w", "--stdin"];
            let oid = git
                .run_ok_with_stdin(args, content.as_bytes())
                .await
                .unwrap();
            oids.push(String::from_utf8(oid).unwrap().trim().to_owned());
        }
        (dir, git, oids)
    }

    #[tokio::test]
    async fn many_lookups_succeed_and_odd_names_are_missing() {
        let (_dir, git, oids) = repository().await;
        let mut cat = git.cat_file();
        let found = cat.get_many(&oids).await.unwrap();
        for (n, found) in found.into_iter().enumerate() {
            let object = found.into_object().unwrap().unwrap();
            assert!(object.data.starts_with(format!("blob {n}\n").as_bytes()));
        }
        for odd in ["nope", "", "a\nb", "a b missing", "-x", "refs/heads/x:y z"] {
            assert!(cat.get(odd).await.unwrap().is_none(), "{odd:?}");
        }
        let info = cat.info(&oids[3]).await.unwrap().unwrap();
        assert_eq!(
            (info.kind.as_str(), info.oid.as_str()),
            ("blob", oids[3].as_str())
        );
        assert_eq!(cat.info("nope").await.unwrap(), None);
    }

    #[tokio::test]
    async fn missing_ref_finds_no_other_object() {
        let (dir, git, oids) = repository().await;
        let tree = git.run_ok_with_stdin(["mktree"], b"").await.unwrap();
        let commit = crate::RawCommit {
            tree: String::from_utf8_lossy(&tree).trim(),
            author: b"A <a@b> 1 +0000",
            committer: b"A <a@b> 1 +0000",
            message: b"m\n",
            ..crate::RawCommit::default()
        }
        .encode();
        let commit = git.put("commit", &commit).await.unwrap();
        let described = format!("refs/heads/x-g{}", &commit[..8]);
        let (shadow, shadowed) = ("refs/tags/refs/heads/x", "refs/heads/x^{}");
        for has_shadow in [false, true] {
            if has_shadow {
                git.run_ok(["update-ref", shadow, &oids[0]]).await.unwrap();
            }
            for mut cat in [
                git.cat_file(),
                git.cat_file().with_common_dir(dir.path().join(".git")),
            ] {
                let names = [
                    described.as_str(),
                    shadowed,
                    "refs/heads/x",
                    shadow,
                    &oids[1],
                ];
                let found = cat.info_many(&names).await.unwrap();
                let found: Vec<bool> = found.iter().map(Option::is_some).collect();
                assert_eq!(found, [false, false, false, has_shadow, true]);
                assert!(cat.get("refs/heads/x").await.unwrap().is_none());
            }
        }
    }

    #[tokio::test]
    async fn objects_of_one_lookup_share_a_size_limit() {
        let (_dir, git, oids) = repository().await;
        let content = vec![0_u8; 15 << 20];
        let args = ["hash-object", "-w", "--stdin"];
        let large = git.run_ok_with_stdin(args, &content).await.unwrap();
        let large = String::from_utf8(large).unwrap().trim().to_owned();
        let names = [&large, &large, &large, &oids[0]];
        let mut cat = git.cat_file();
        let found = cat.get_many(&names).await.unwrap();
        let is_read = |found: &ObjectLookup| matches!(found, ObjectLookup::Object(_));
        let read: Vec<bool> = found.iter().map(is_read).collect();
        assert_eq!(read, [true, true, false, true]);
        let e = found.into_iter().nth(2).unwrap().into_object().unwrap_err();
        assert!(e.message().contains("at most 2097152 are read here"), "{e}");
    }

    /// The content counts for the call as long as it is in memory.
    #[tokio::test]
    async fn objects_count_for_the_memory_of_the_call() {
        use forge_core::call::{is_spent, received, together};
        let (_dir, git, oids) = repository().await;
        let content = vec![0_u8; 12 << 20];
        let args = ["hash-object", "-w", "--stdin"];
        let large = git.run_ok_with_stdin(args, &content).await.unwrap();
        let large = String::from_utf8(large).unwrap().trim().to_owned();
        let mut cat = git.cat_file();
        let size = |found: ObjectLookup| {
            let object = found.into_object().unwrap().unwrap();
            (object.data.len(), received(0))
        };
        together(async {
            let names = vec![large.clone(); 40];
            let sizes = cat.get_each(&names, MAX_HELD, size).await.unwrap();
            assert_eq!(sizes, vec![(12 << 20, 12 << 20); 40]);
            assert_eq!(received(0), 0);
            let first = cat.get(&large).await.unwrap().unwrap();
            let second = cat.get(&large).await.unwrap().unwrap();
            let refused = cat.get(&large).await.unwrap_err();
            assert!(is_spent(&refused), "{refused}");
            assert!(refused.message().contains(&large), "{refused}");
            drop(first);
            assert_eq!(second.keep().len(), received(0));
            assert!(cat.get(&oids[0]).await.unwrap().is_some());
            assert_eq!(received(0), 12 << 20);
        })
        .await;
        let small = |found: ObjectLookup| found.into_object().is_ok();
        let read = cat.get_each(&[&large, &oids[0]], 1 << 20, small).await;
        assert_eq!(read.unwrap(), [false, true]);
    }

    #[tokio::test]
    async fn git_crash_is_error_not_missing_object() {
        let (_dir, git, oids) = repository().await;
        let mut cat = git.cat_file();
        for asks_info in [true, false] {
            assert!(cat.get(&oids[0]).await.unwrap().is_some());
            let process = cat.process.as_mut().unwrap();
            process.child.start_kill().unwrap();
            let crashed = match asks_info {
                true => cat.info(&oids[1]).await.unwrap_err(),
                false => cat.get(&oids[1]).await.unwrap_err(),
            };
            assert_eq!(crashed.kind(), &ErrorKind::Git { status: -1 }, "{crashed}");
            assert!(crashed.message().contains("ended by a signal"), "{crashed}");
        }
        assert!(cat.get(&oids[1]).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn damaged_object_does_not_affect_others() {
        let (dir, git, oids) = repository().await;
        let (fan, rest) = oids[100].split_at(2);
        let path = dir.path().join(".git/objects").join(fan).join(rest);
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 8;
        bytes.truncate(last);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let mut cat = git.cat_file();
        let found = cat.get_many(&oids).await.unwrap();
        assert_eq!(found.len(), oids.len());
        for (n, found) in found.iter().enumerate() {
            assert_eq!(
                matches!(found, ObjectLookup::Object(_)),
                n != 100,
                "{n}: {found:?}"
            );
        }
        assert!(cat.get(&oids[100]).await.is_err());
        assert!(cat.get(&oids[101]).await.unwrap().is_some());
    }
}
