//! Runs git's operations on GitHub's bare repositories, with the git program.

use std::{
    collections::{BTreeMap, HashSet},
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// A commit in a git repository.
#[derive(Debug, Clone, Default)]
pub struct CommitInfo {
    /// Object id of the commit.
    pub oid: String,
    /// Object id of the commit's tree.
    pub tree: String,
    /// Object ids of the commit's parents.
    pub parents: Vec<String>,
    /// Author of the commit.
    pub author: Person,
    /// Committer of the commit.
    pub committer: Person,
    /// Complete commit message.
    pub message: String,
}

/// An author or committer, with the time of authoring or committing.
#[derive(Debug, Clone, Default)]
pub struct Person {
    /// Name of the person.
    pub name: String,
    /// Mail address of the person.
    pub email: String,
    /// Time of the change, in RFC 3339 and UTC.
    pub date: String,
}

/// Summary of the changes in a pull request.
#[derive(Debug, Clone, Default)]
pub struct DiffSummary {
    /// Merge base of head and base.
    pub merge_base: String,
    /// Changed files, in the order of git's output.
    pub files: Vec<FileDiff>,
}

/// A changed file in a diff.
#[derive(Debug, Clone)]
pub struct FileDiff {
    /// Path of the file after the change.
    pub path: String,
    /// Path before the rename or copy; `None` for other changes.
    pub previous: Option<String>,
    /// Number of added lines.
    pub additions: usize,
    /// Number of deleted lines.
    pub deletions: usize,
    /// Letter that `git diff --raw` prints for the change: `A`, `C`, `D`, `M`, `R` or `T`.
    pub letter: char,
    /// True if the content is not text.
    pub binary: bool,
    /// Object id of the file's content. For a deleted file, this is the content before the
    /// deletion.
    pub blob: String,
}

impl DiffSummary {
    /// Returns the numbers of added and deleted lines in all files.
    pub fn totals(&self) -> (usize, usize) {
        self.files.iter().fold((0, 0), |(add, del), file| {
            (add + file.additions, del + file.deletions)
        })
    }
}

/// A failed git command, with a text for the test's log.
#[derive(Debug, thiserror::Error)]
#[error("git {args}: {text}")]
pub struct GitError {
    args: String,
    text: String,
    /// Exit code; `None` if git did not run to its end.
    pub code: Option<i32>,
}

fn command(dir: &Path) -> Command {
    let mut command = Command::new(forge_testkit::git_program());
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
    ] {
        command.env_remove(name);
    }
    command
        .arg("-C")
        .arg(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    command
}

fn finish(mut command: Command, args: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
    let fail = |text: String, code| GitError {
        args: args.join(" "),
        text,
        code,
    };
    let mut child = command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| fail(error.to_string(), None))?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        if let Some(mut stdin) = stdin {
            // git may end before it has read the whole input, so only its exit code decides.
            scope.spawn(move || stdin.write_all(input).ok());
        }
        child.wait_with_output()
    })
    .map_err(|error| fail(error.to_string(), None))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    if text.is_empty() {
        text = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    Err(fail(text, output.status.code()))
}

/// Runs git in a repository and returns its output.
///
/// # Errors
///
/// Fails with [`GitError`] if git cannot be run or fails.
pub fn run(dir: &Path, args: &[&str]) -> Result<Vec<u8>, GitError> {
    finish(command(dir), args, b"")
}

/// Runs git as [`run`] does, with standard input.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn run_with_input(dir: &Path, args: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
    finish(command(dir), args, input)
}

fn line(dir: &Path, args: &[&str]) -> Result<String, GitError> {
    run(dir, args).map(|out| String::from_utf8_lossy(&out).trim().to_owned())
}

/// Creates a bare repository that accepts pushes, permits fetches of single commits, and hides no
/// refs.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn init_bare(dir: &Path, default_branch: &str) -> Result<(), GitError> {
    let failed = |error: std::io::Error| GitError {
        args: format!("init {}", dir.display()),
        text: error.to_string(),
        code: None,
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    run(
        dir,
        &["init", "-q", "--bare", "--template=", "-b", default_branch],
    )?;
    // A single write replaces eight runs of `git config`, which would take most of a test's
    // start-up time.
    std::fs::OpenOptions::new()
        .append(true)
        .open(dir.join("config"))
        .and_then(|mut config| config.write_all(CONFIG.as_bytes()))
        .map_err(failed)
}

const CONFIG: &str = "\
[http]
\treceivepack = true
[uploadpack]
\tallowAnySHA1InWant = true
\tallowFilter = true
[receive]
\tdenyDeleteCurrent = ignore
\tshallowUpdate = true
\thideRefs = refs/pull
[core]
\tlogAllRefUpdates = false
[gc]
\tauto = 0
";

/// Returns all refs under a prefix, each with its commit.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn refs(dir: &Path, prefix: &str) -> Result<BTreeMap<String, String>, GitError> {
    let out = line(
        dir,
        &["for-each-ref", "--format=%(objectname) %(refname)", prefix],
    )?;
    Ok(out
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(oid, name)| (name.to_owned(), oid.to_owned()))
        .collect())
}

/// Returns the commit that a revision names, or `None` if there is no such commit.
pub fn commit_of(dir: &Path, revision: &str) -> Option<String> {
    if revision.starts_with('-') {
        return None;
    }
    line(
        dir,
        &[
            "rev-parse",
            "-q",
            "--verify",
            "--end-of-options",
            &format!("{revision}^{{commit}}"),
        ],
    )
    .ok()
}

/// Returns the tip commit of a branch.
pub fn branch(dir: &Path, name: &str) -> Option<String> {
    forge_testkit::GitDir::at(dir).oid(&format!("refs/heads/{name}"))
}

/// Points a ref at a commit. With `old`, this fails unless the ref points at `old`.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn update_ref(dir: &Path, name: &str, new: &str, old: Option<&str>) -> Result<(), GitError> {
    let mut args = vec!["update-ref", name, new];
    args.extend(old);
    run(dir, &args).map(drop)
}

/// Deletes a ref.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn delete_ref(dir: &Path, name: &str) -> Result<(), GitError> {
    run(dir, &["update-ref", "-d", name]).map(drop)
}

/// Fetches a branch of another repository into a ref of this repository.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn fetch(dir: &Path, from: &Path, source: &str, target: &str) -> Result<(), GitError> {
    let from = from.to_string_lossy();
    run(
        dir,
        &[
            "fetch",
            "-q",
            "--no-tags",
            &from,
            &format!("+{source}:{target}"),
        ],
    )
    .map(drop)
}

/// Returns the merge base of two commits.
pub fn merge_base(dir: &Path, one: &str, other: &str) -> Option<String> {
    line(dir, &["merge-base", one, other])
        .ok()
        .filter(|oid| !oid.is_empty())
}

/// Returns true if a commit is an ancestor of `of`, or if both are the same commit.
pub fn is_ancestor(dir: &Path, ancestor: &str, of: &str) -> bool {
    run(dir, &["merge-base", "--is-ancestor", ancestor, of]).is_ok()
}

/// Returns the commits that `tip` has and `before` lacks. The set is empty if either is not a
/// commit.
pub fn new_commits(dir: &Path, before: Option<&str>, tip: &str) -> HashSet<String> {
    let not_before = before.map(|before| format!("^{before}"));
    let range = [Some(tip), not_before.as_deref()];
    let args: Vec<&str> = std::iter::once("rev-list")
        .chain(range.into_iter().flatten())
        .collect();
    let listed = run(dir, &args).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed);
    listed.lines().map(str::to_owned).collect()
}

/// Returns the number of commits in a range.
pub fn count(dir: &Path, range: &str) -> usize {
    line(dir, &["rev-list", "--count", range])
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

const FORMAT: &str = "%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%ad%x1f%cn%x1f%ce%x1f%cd%x1f%B%x1e";

fn log(dir: &Path, extra: &[&str]) -> Result<Vec<CommitInfo>, GitError> {
    let format = format!("--format={FORMAT}");
    let mut args = vec![
        "log",
        "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
        format.as_str(),
    ];
    args.extend(extra);
    let out = run(dir, &args)?;
    Ok(String::from_utf8_lossy(&out)
        .split('\u{1e}')
        .filter_map(parse_commit)
        .collect())
}

fn parse_commit(record: &str) -> Option<CommitInfo> {
    let mut fields = record.trim_start_matches('\n').splitn(10, '\u{1f}');
    let mut next = || fields.next().map(str::to_owned);
    let oid = next().filter(|oid| !oid.is_empty())?;
    Some(CommitInfo {
        oid,
        tree: next()?,
        parents: next()?.split_whitespace().map(str::to_owned).collect(),
        author: Person {
            name: next()?,
            email: next()?,
            date: next()?,
        },
        committer: Person {
            name: next()?,
            email: next()?,
            date: next()?,
        },
        message: next()?.trim_end_matches('\n').to_owned(),
    })
}

/// Reads a commit.
pub fn commit(dir: &Path, oid: &str) -> Option<CommitInfo> {
    log(dir, &["-1", "--end-of-options", oid])
        .ok()?
        .into_iter()
        .next()
}

/// Returns the commits in a range, oldest first.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn commits(dir: &Path, range: &str) -> Result<Vec<CommitInfo>, GitError> {
    log(
        dir,
        &["--reverse", "--topo-order", "--end-of-options", range],
    )
}

/// Returns the newest commits that are reachable from a revision.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn history(dir: &Path, revision: &str, limit: usize) -> Result<Vec<CommitInfo>, GitError> {
    log(dir, &[&format!("-{limit}"), "--end-of-options", revision])
}

/// Returns the changes from the merge base of two commits to the second.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn summary(dir: &Path, base: &str, head: &str) -> Result<DiffSummary, GitError> {
    let Some(merge_base) = merge_base(dir, base, head) else {
        return Ok(DiffSummary::default());
    };
    let out = run(
        dir,
        &[
            "diff-tree",
            "-r",
            "-M",
            "-z",
            "--raw",
            "--numstat",
            "--no-abbrev",
            &merge_base,
            head,
        ],
    )?;
    let out = String::from_utf8_lossy(&out).into_owned();
    let mut parts = out.split('\0').peekable();
    let mut files = Vec::new();
    while let Some(part) = parts.peek().copied().filter(|part| part.starts_with(':')) {
        parts.next();
        let columns: Vec<&str> = part.split(' ').collect();
        let letter = columns
            .get(4)
            .and_then(|it| it.chars().next())
            .unwrap_or('M');
        let first = parts.next().unwrap_or_default().to_owned();
        let (path, previous) = if matches!(letter, 'R' | 'C') {
            (parts.next().unwrap_or_default().to_owned(), Some(first))
        } else {
            (first, None)
        };
        let blob = columns.get(if letter == 'D' { 2 } else { 3 });
        files.push(FileDiff {
            path,
            previous,
            additions: 0,
            deletions: 0,
            letter,
            binary: false,
            blob: blob.copied().unwrap_or_default().to_owned(),
        });
    }
    // The line counts follow in the order of the files.
    for file in &mut files {
        let Some(part) = parts.next() else { break };
        let mut columns = part.split('\t');
        let additions = columns.next().unwrap_or_default();
        let deletions = columns.next().unwrap_or_default();
        file.binary = additions == "-";
        file.additions = additions.parse().unwrap_or(0);
        file.deletions = deletions.parse().unwrap_or(0);
        if file.previous.is_some() {
            parts.next();
            parts.next();
        }
    }
    Ok(DiffSummary { merge_base, files })
}

/// Returns the unified diff from the merge base of two commits to the second, for all files or for
/// `path`.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn diff(dir: &Path, base: &str, head: &str, path: Option<&str>) -> Result<Vec<u8>, GitError> {
    let range = format!("{base}...{head}");
    let mut args = vec!["diff", "-M", "--no-color", "--no-ext-diff", &range, "--"];
    let literal;
    if let Some(path) = path {
        literal = format!(":(literal){path}");
        args.push(&literal);
    }
    run(dir, &args)
}

/// Returns the commits in a range in the format of `git format-patch`.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn patches(dir: &Path, base: &str, head: &str) -> Result<Vec<u8>, GitError> {
    run(
        dir,
        &[
            "format-patch",
            "--stdout",
            "-M",
            "--no-signature",
            &format!("{base}..{head}"),
        ],
    )
}

/// Merges two commits and returns the resulting tree, or `None` if the commits conflict.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn merge_tree(dir: &Path, ours: &str, theirs: &str) -> Result<Option<String>, GitError> {
    match line(
        dir,
        &["merge-tree", "--write-tree", "--no-messages", ours, theirs],
    ) {
        Ok(tree) => Ok(Some(tree)),
        Err(error) if error.code == Some(1) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Merges two commits with `base` as their merge base. Returns the resulting tree, or `None` if the
/// commits conflict.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn merge_tree_from(
    dir: &Path,
    base: &str,
    ours: &str,
    theirs: &str,
) -> Result<Option<String>, GitError> {
    // `git merge-tree --merge-base` needs git 2.40, but the double supports git 2.38.
    let nobody = Person {
        name: "nobody".into(),
        email: "nobody@example.com".into(),
        date: "1970-01-01T00:00:00Z".into(),
    };
    let child = |of: &str| {
        let tree = format!("{of}^{{tree}}");
        commit_tree(dir, &tree, &[base], "", &nobody, &nobody)
    };
    merge_tree(dir, &child(ours)?, &child(theirs)?)
}

/// Creates a commit with a given tree.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn commit_tree(
    dir: &Path,
    tree: &str,
    parents: &[&str],
    message: &str,
    author: &Person,
    committer: &Person,
) -> Result<String, GitError> {
    let mut args = vec!["commit-tree", tree, "-F", "-"];
    for parent in parents {
        args.extend(["-p", parent]);
    }
    let mut command = command(dir);
    command
        .env("GIT_AUTHOR_NAME", &author.name)
        .env("GIT_AUTHOR_EMAIL", &author.email)
        .env("GIT_AUTHOR_DATE", &author.date)
        .env("GIT_COMMITTER_NAME", &committer.name)
        .env("GIT_COMMITTER_EMAIL", &committer.email)
        .env("GIT_COMMITTER_DATE", &committer.date);
    finish(command, &args, message.as_bytes())
        .map(|out| String::from_utf8_lossy(&out).trim().to_owned())
}

/// Applies the commits of `base..head` one by one on top of `onto`. Returns `None` if one
/// conflicts.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn rebase(
    dir: &Path,
    base: &str,
    head: &str,
    onto: &str,
    committer: &Person,
) -> Result<Option<String>, GitError> {
    let mut tip = onto.to_owned();
    for commit in commits(dir, &format!("{base}..{head}"))? {
        let [parent] = commit.parents.as_slice() else {
            continue;
        };
        let Some(tree) = merge_tree_from(dir, parent, &tip, &commit.oid)? else {
            return Ok(None);
        };
        tip = commit_tree(
            dir,
            &tree,
            &[&tip],
            &commit.message,
            &commit.author,
            committer,
        )?;
    }
    Ok(Some(tip))
}

/// An entry in a git tree.
#[derive(Debug, Clone)]
pub struct Entry {
    /// File mode of the entry.
    pub mode: u32,
    /// Object type of the entry: `blob`, `tree` or `commit`.
    pub kind: String,
    /// Object id of the entry.
    pub oid: String,
}

/// Returns the entry at a path in a commit's tree, or `None` if the path does not exist.
pub fn tree_entry(dir: &Path, commit: &str, path: &str) -> Option<Entry> {
    let out = run(dir, &["ls-tree", "-z", "--full-tree", commit, "--", path]).ok()?;
    let out = String::from_utf8_lossy(&out);
    let (_, entry) = named_entry(out.split('\0').next()?)?;
    Some(entry)
}

/// Returns the entries of a tree, with their names.
pub fn tree_entries(dir: &Path, tree: &str) -> Vec<(String, Entry)> {
    let out = run(dir, &["ls-tree", "-z", tree]).unwrap_or_default();
    let out = String::from_utf8_lossy(&out);
    out.split('\0').filter_map(named_entry).collect()
}

/// Parses the path and the entry from a line of `git ls-tree`.
fn named_entry(line: &str) -> Option<(String, Entry)> {
    let (about, path) = line.split_once('\t')?;
    let mut fields = about.split(' ');
    let entry = Entry {
        mode: u32::from_str_radix(fields.next()?, 8).ok()?,
        kind: fields.next()?.to_owned(),
        oid: fields.next()?.to_owned(),
    };
    Some((path.to_owned(), entry))
}

/// Returns a commit's tree after files are written and deleted. Overwritten files keep their mode.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn edit_tree(
    dir: &Path,
    commit: &str,
    writes: &[(String, Vec<u8>)],
    deletes: &[String],
) -> Result<String, GitError> {
    let index = tempfile::tempdir().map_err(|error| GitError {
        args: "read-tree".to_owned(),
        text: error.to_string(),
        code: None,
    })?;
    let with_index = |args: &[&str], input: &[u8]| {
        let mut command = command(dir);
        command.env("GIT_INDEX_FILE", index.path().join("index"));
        finish(command, args, input)
    };
    with_index(&["read-tree", commit], b"")?;
    let mut changes = String::new();
    for path in deletes {
        changes.push_str(&format!("0 {}\t{path}\0", "0".repeat(commit.len())));
    }
    for (path, content) in writes {
        let out = run_with_input(dir, &["hash-object", "-w", "--stdin"], content)?;
        let oid = String::from_utf8_lossy(&out).trim().to_owned();
        let mode = tree_entry(dir, commit, path)
            .filter(|entry| entry.kind == "blob")
            .map_or(0o100_644, |entry| entry.mode);
        changes.push_str(&format!("{mode:o} {oid}\t{path}\0"));
    }
    with_index(&["update-index", "-z", "--index-info"], changes.as_bytes())?;
    with_index(&["write-tree"], b"").map(|out| String::from_utf8_lossy(&out).trim().to_owned())
}
