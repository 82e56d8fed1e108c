//! The bare repositories of the double: GitHub's git operations, executed with the git program.

use std::{
    collections::{BTreeMap, HashSet},
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// A commit.
#[derive(Debug, Clone, Default)]
pub struct CommitInfo {
    /// Full object name.
    pub oid: String,
    /// Object name of the tree.
    pub tree: String,
    /// Object names of the parents.
    pub parents: Vec<String>,
    /// Author.
    pub author: Person,
    /// Committer.
    pub committer: Person,
    /// Whole message.
    pub message: String,
}

/// Author or committer, and the time.
#[derive(Debug, Clone, Default)]
pub struct Person {
    /// Name.
    pub name: String,
    /// Mail address.
    pub email: String,
    /// RFC 3339 in UTC.
    pub date: String,
}

/// Changes of a pull request.
#[derive(Debug, Clone, Default)]
pub struct DiffSummary {
    /// Merge base of head and base.
    pub merge_base: String,
    /// Changed files in git's order.
    pub files: Vec<FileDiff>,
}

/// A changed file.
#[derive(Debug, Clone)]
pub struct FileDiff {
    /// Path after the change.
    pub path: String,
    /// Path before a rename or copy.
    pub previous: Option<String>,
    /// Lines added.
    pub additions: usize,
    /// Lines deleted.
    pub deletions: usize,
    /// Letter of `git diff --raw`: `A`, `C`, `D`, `M`, `R` or `T`.
    pub letter: char,
    /// True if the content is not text.
    pub binary: bool,
    /// Object name of the content after the change, or before a deletion.
    pub blob: String,
}

impl DiffSummary {
    /// Returns the lines added and deleted in all files.
    pub fn totals(&self) -> (usize, usize) {
        self.files.iter().fold((0, 0), |(add, del), file| {
            (add + file.additions, del + file.deletions)
        })
    }
}

/// A git command that failed; the text is for a test's log.
#[derive(Debug, thiserror::Error)]
#[error("git {args}: {text}")]
pub struct GitError {
    args: String,
    text: String,
    /// Exit code, if git ran to its end.
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
            // git may end before it has read the whole input; only its exit code matters.
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

/// Creates a bare repository that accepts pushes and fetches of single commits, and hides no refs.
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
    // Appended in one write: eight runs of `git config` would take most of a test's start.
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

/// Returns all refs under a prefix, with their commits.
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

/// Returns the commit of a revision; `None` if there is none.
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

/// Returns the tip of a branch.
pub fn branch(dir: &Path, name: &str) -> Option<String> {
    commit_of(dir, &format!("refs/heads/{name}"))
}

/// Points a ref at a commit; with `old`, only if the ref currently points there.
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

/// Copies commits of a branch in another repository under a ref of this one.
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

/// Returns true if a commit is an ancestor of another, or the same commit.
pub fn is_ancestor(dir: &Path, ancestor: &str, of: &str) -> bool {
    run(dir, &["merge-base", "--is-ancestor", ancestor, of]).is_ok()
}

/// Returns the commits that `tip` has and `before` lacks; empty if either is not a commit.
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

/// Returns the commits of a range, oldest first.
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

/// Returns the newest commits that a revision reaches.
///
/// # Errors
///
/// Fails as [`run`] does.
pub fn history(dir: &Path, revision: &str, limit: usize) -> Result<Vec<CommitInfo>, GitError> {
    log(dir, &[&format!("-{limit}"), "--end-of-options", revision])
}

/// Returns the changes between two commits, from their merge base.
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
    // The numbers follow in the same order.
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

/// Returns the unified diff between two commits, from their merge base, optionally of a single
/// file.
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

/// Returns the commits of a range as mails.
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

/// Returns the tree of a merge of two commits; `None` if they conflict.
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

/// Returns the tree of a merge of two commits as if both were children of `base`; `None` if they
/// conflict.
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
    // `merge-tree --merge-base` came with git 2.40, but git 2.38 must be supported.
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

/// Creates a commit of a tree.
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

/// Applies the commits of `base..head` one by one on `onto`; returns `None` if one conflicts.
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

/// Tree entry at a path.
#[derive(Debug, Clone)]
pub struct Entry {
    /// File mode.
    pub mode: u32,
    /// `blob`, `tree` or `commit`.
    pub kind: String,
    /// Object id.
    pub oid: String,
}

/// Returns the tree entry of a commit at a path; `None` if the path does not exist.
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

/// Parses path and entry from a line of `git ls-tree`.
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

/// Returns the tree of a commit with files written and deleted. Overwritten files keep their mode.
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
