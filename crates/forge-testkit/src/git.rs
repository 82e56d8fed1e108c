use std::{
    fmt::Write as _,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{
        LazyLock,
        atomic::{AtomicI64, Ordering},
    },
};

use crate::Run;

/// Returns the git program that tests use: `FORGE_GIT`, or the first `git` in `PATH`.
///
/// The path is absolute for speed. If a command sets `PATH` and the program is a bare name, std
/// uses `fork`, which copies the page tables of the whole process.
#[must_use]
pub fn git_program() -> PathBuf {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let of_path = || {
            let path = std::env::var_os("PATH")?;
            let mut places = std::env::split_paths(&path).map(|dir| dir.join("git"));
            places.find(|git| git.is_absolute() && git.is_file())
        };
        let named = std::env::var_os("FORGE_GIT").map(PathBuf::from);
        named.or_else(of_path).unwrap_or_else(|| "git".into())
    });
    PROGRAM.clone()
}

/// An author of commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Display name.
    pub name: &'static str,
    /// E-mail address; the part before the `@` is the login of a local repository.
    pub email: &'static str,
}

impl Identity {
    /// The account that opens pull requests.
    pub const ADA: Self = Self {
        name: "Ada Lovelace",
        email: "ada@example.com",
    };
    /// The account that reviews pull requests.
    pub const GRACE: Self = Self {
        name: "Grace Hopper",
        email: "grace@example.com",
    };

    /// Returns the part of the address before the `@`.
    #[must_use]
    pub fn login(&self) -> &'static str {
        self.email.split('@').next().unwrap_or(self.email)
    }

    /// Returns the variables that make a git process commit as this identity.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, &'static str); 4] {
        [
            ("GIT_AUTHOR_NAME", self.name),
            ("GIT_AUTHOR_EMAIL", self.email),
            ("GIT_COMMITTER_NAME", self.name),
            ("GIT_COMMITTER_EMAIL", self.email),
        ]
    }
}

/// 2026-01-01T00:00:00Z, the date of the first commit of every repository.
const FIRST_DATE: i64 = 1_767_225_600;

/// A git repository that a test fills. Branches are written without a work tree, so that bare and
/// ordinary repositories are filled in the same way. Each commit is dated one minute after the
/// previous one, so the same calls give the same object ids.
#[derive(Debug)]
pub struct GitDir {
    path: PathBuf,
    minutes: AtomicI64,
}

impl GitDir {
    /// Creates a repository with `options` of `git init`. Its branch `main` has one commit with the
    /// files `README.md` (3 lines) and `src/lib.rs` (20 lines).
    #[must_use]
    pub fn init(path: &Path, options: &[&str]) -> Self {
        let git = Self {
            path: path.to_path_buf(),
            minutes: AtomicI64::new(0),
        };
        Run::new(git_program(), path.parent().unwrap_or(path))
            .env("GIT_CONFIG_GLOBAL", "")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args(["init", "--quiet", "--template=", "--initial-branch=main"])
            .args(options)
            .arg("--")
            .arg(path)
            .ok();
        // The tests need only these two of the directories that git's template makes.
        let git_dir = match path.join(".git") {
            dir if dir.is_dir() => dir,
            _ => path.to_path_buf(),
        };
        for name in ["hooks", "info"] {
            fs::create_dir_all(git_dir.join(name)).expect("a directory in the git directory");
        }
        let numbered = (1..=20).fold(String::new(), |mut text, n| {
            let _ = writeln!(text, "line {n}");
            text
        });
        git.commit(
            "main",
            "First commit",
            &[
                ("README.md", Some("# Example\n\nA repository.\n")),
                ("src/lib.rs", Some(&numbered)),
            ],
        );
        if git.run(["rev-parse", "--is-bare-repository"]).text().trim() == "false" {
            git.run(["reset", "--quiet", "--hard"]).ok();
        }
        git
    }

    /// Opens an existing repository.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            minutes: AtomicI64::new(1_000_000),
        }
    }

    /// Returns the path of the repository.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a [`Run`] of git in this repository, as [`Identity::ADA`], without user
    /// configuration.
    pub fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Run {
        Identity::ADA
            .variables()
            .into_iter()
            .fold(Run::new(git_program(), &self.path), |run, (key, value)| {
                run.env(key, value)
            })
            .env("GIT_CONFIG_GLOBAL", "")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args(args)
    }

    /// Commits on `branch` and returns the commit. A missing branch starts at `main`. The content
    /// `None` deletes a file. If the branch is checked out, the work tree is updated as well.
    pub fn commit(&self, branch: &str, message: &str, files: &[(&str, Option<&str>)]) -> String {
        let bytes: Vec<_> = files
            .iter()
            .map(|(path, text)| (*path, text.map(str::as_bytes)))
            .collect();
        self.commit_bytes(branch, &Identity::ADA, message, &bytes)
    }

    /// Commits as [`Self::commit`] does, with an author and with contents as bytes.
    pub fn commit_bytes(
        &self,
        branch: &str,
        author: &Identity,
        message: &str,
        files: &[(&str, Option<&[u8]>)],
    ) -> String {
        let reference = format!("refs/heads/{branch}");
        let parent = self.oid(&reference).or_else(|| self.oid("refs/heads/main"));
        let date = FIRST_DATE + 60 * self.minutes.fetch_add(1, Ordering::SeqCst);
        let who = format!("{} <{}> {date} +0000", author.name, author.email);
        let mut stream = Vec::new();
        let mut line = |text: &str| stream.extend_from_slice(text.as_bytes());
        line(&format!(
            "commit {reference}\nauthor {who}\ncommitter {who}\n"
        ));
        line(&format!("data {}\n{message}\n", message.len()));
        if let Some(parent) = parent {
            line(&format!("from {parent}\n"));
        }
        for (path, content) in files {
            let path = quoted(path);
            match content {
                Some(content) => {
                    stream.extend_from_slice(
                        format!("M 100644 inline {path}\ndata {}\n", content.len()).as_bytes(),
                    );
                    stream.extend_from_slice(content);
                    stream.push(b'\n');
                }
                None => stream.extend_from_slice(format!("D {path}\n").as_bytes()),
            }
        }
        self.import(stream);
        self.catch_up(branch);
        self.oid(&reference).expect("the commit that was just made")
    }

    /// Updates the work tree to the new commit of `branch`, if `branch` is checked out.
    pub fn catch_up(&self, branch: &str) {
        let head = std::fs::read_to_string(self.path().join(".git/HEAD")).unwrap_or_default();
        if head.trim_end() == format!("ref: refs/heads/{branch}") {
            self.run(["reset", "--quiet", "--hard"]).ok();
        }
    }

    /// Sets `main` and `topic` to two histories that cross 40 times in three branches. Each level has
    /// three merge bases, and git merges those of the next level for each of them: a merge of the
    /// two branches takes for ever.
    pub fn cross_histories(&self) {
        const BRANCHES: usize = 3;
        const LEVELS: usize = 40;
        let mut stream = String::new();
        let mut commit = |mark: usize, parents: &[usize]| {
            let text = format!("{mark}\n");
            let _ = write!(
                stream,
                "commit refs/heads/crossed\nmark :{mark}\ncommitter A <a@example.com> \
                 {FIRST_DATE} +0000\ndata 1\nx\n"
            );
            for (n, parent) in parents.iter().enumerate() {
                let word = if n == 0 { "from" } else { "merge" };
                let _ = writeln!(stream, "{word} :{parent}");
            }
            let _ = write!(
                stream,
                "M 100644 inline crossed\ndata {}\n{text}\n",
                text.len()
            );
        };
        commit(1, &[]);
        let (mut tips, mut mark) = (vec![1; BRANCHES], 1);
        for _ in 0..LEVELS {
            let next = (0..BRANCHES).map(|branch| {
                mark += 1;
                let mut parents = tips.clone();
                parents.rotate_left(branch);
                parents.dedup();
                commit(mark, &parents);
                mark
            });
            tips = next.collect();
        }
        for (branch, tip) in ["main", "topic"].iter().zip(tips) {
            let _ = write!(stream, "reset refs/heads/{branch}\nfrom :{tip}\n\n");
        }
        self.import(stream.into_bytes());
        self.catch_up("main");
    }

    /// Feeds `stream` to `git fast-import`.
    pub fn import(&self, stream: Vec<u8>) {
        self.run(["fast-import", "--quiet", "--force"])
            .stdin(stream)
            .ok();
    }

    /// Returns the full id of `revision`; `None` if it does not exist.
    #[must_use]
    pub fn oid(&self, revision: &str) -> Option<String> {
        if let Some(found) = self.stored_branch(revision) {
            return found;
        }
        let out = self
            .run([
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                revision,
            ])
            .output();
        (out.code == Some(0)).then(|| out.stdout_text().trim().to_owned())
    }

    /// Looks up a branch, by its full name, in the files of the repository. Returns `None` if only git
    /// can tell. The doubles look up branches with each request, and a process takes longer than
    /// the rest of the request.
    #[allow(clippy::option_option, reason = "unknown, missing or found")]
    fn stored_branch(&self, name: &str) -> Option<Option<String>> {
        let is_plain = |part: &str| {
            !part.is_empty()
                && part != "@"
                && !part.starts_with('.')
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        let branch = name.strip_prefix("refs/heads/")?;
        if !branch.split('/').all(is_plain) {
            return None;
        }
        let git_dir = match self.path.join(".git") {
            dir if dir.is_dir() => dir,
            _ => self.path.clone(),
        };
        let is_in_files = git_dir.join("refs/heads").is_dir()
            && !git_dir.join("reftable").exists()
            && !git_dir.join("commondir").exists();
        if !is_in_files {
            return None;
        }
        match fs::read_to_string(git_dir.join(name)) {
            Ok(text) => {
                let oid = text.trim_end();
                let is_oid =
                    matches!(oid.len(), 40 | 64) && oid.bytes().all(|b| b.is_ascii_hexdigit());
                is_oid.then(|| Some(oid.to_owned()))
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                (!git_dir.join("packed-refs").exists()).then_some(None)
            }
            Err(_) => None,
        }
    }

    /// Sets a branch to `to`; creates the branch if it does not exist.
    pub fn set_branch(&self, branch: &str, to: &str) {
        self.run(["update-ref", &format!("refs/heads/{branch}"), to])
            .ok();
    }

    /// Deletes a branch.
    pub fn delete_branch(&self, branch: &str) {
        self.run(["update-ref", "-d", &format!("refs/heads/{branch}")])
            .ok();
    }

    /// Lists every ref with its id, one per line: equal texts mean that no ref has changed.
    #[must_use]
    pub fn refs(&self) -> String {
        self.run(["for-each-ref", "--format=%(refname) %(objectname)"])
            .text()
    }

    /// Returns the content of a file at a revision.
    #[must_use]
    pub fn show(&self, revision: &str, path: &str) -> String {
        self.run(["cat-file", "blob", &format!("{revision}:{path}")])
            .text()
    }

    /// Returns the output of `git log --format=<format>` for `range`, without the final newline.
    #[must_use]
    pub fn log(&self, range: &str, format: &str) -> String {
        let format = format!("--format={format}");
        self.run(["log", &format, range])
            .text()
            .trim_end()
            .to_owned()
    }
}

/// Quotes a path for `git fast-import`.
fn quoted(path: &str) -> String {
    let escaped = path
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
