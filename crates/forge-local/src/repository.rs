//! Which repository a path names.

use std::path::{Path, PathBuf};

use forge_core::{Error, ErrorKind, Noun, RepoId, Result, Trust, text};
use forge_git::{Git, Output};

/// Asks for the directory that all work trees share.
const COMMON_DIR: [&str; 3] = ["rev-parse", "--path-format=absolute", "--git-common-dir"];

/// A repository that was found, ready to run git in.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    /// Git in the main work tree, or in the bare repository.
    pub git: Git,
    /// That directory, absolute and without links.
    pub root: PathBuf,
    /// The directory that all work trees share (`.git`).
    pub common_dir: PathBuf,
    /// What names it.
    pub id: RepoId,
}

impl Repository {
    /// The repository at `path`: a work tree or a directory in one, a linked work tree, a bare
    /// repository, or a `.git` directory itself. git's processes start what `trust` allows.
    ///
    /// A bare repository opens where `path` is its own, or that of a work tree of it, and a person
    /// named it: one that is committed as files in a clone would otherwise bring its own hooks.
    pub async fn find(path: &Path, trust: Trust) -> Result<Self> {
        let path = expand(path)?;
        let git = Git::at(&path).with_trust(trust);
        if !path.is_dir() {
            let why = if path.exists() {
                "it is no directory"
            } else {
                "there is no such directory"
            };
            return Err(no_repository(&path, why));
        }
        let (version, found) = tokio::join!(git.version(), git.run(COMMON_DIR));
        version?;
        let mut found = found?;
        if is_refused_as_bare(&found) {
            if trust == Trust::Guarded {
                return Err(bare(&path));
            }
            let named = git.clone().opening_bare().run(COMMON_DIR).await?;
            let itself = path.canonicalize().ok();
            if named.status == 0 && printed_dir(&named, &path).ok() == itself {
                found = named;
            }
        }
        if found.status != 0 {
            let said = String::from_utf8_lossy(&found.stderr);
            if said.contains("not a git repository") {
                return Err(no_repository(
                    &path,
                    "neither it nor a directory above it has a .git",
                ));
            }
            // Such as a repository that belongs to somebody else: git's own words say what to do.
            return Err(found.error("rev-parse"));
        }
        let common_dir = printed_dir(&found, &path)?;
        let is_dot_git = common_dir.file_name().is_some_and(|n| n == ".git");
        let root = match common_dir.parent() {
            Some(parent) if is_dot_git => parent.to_owned(),
            _ => common_dir.clone(),
        };
        if root.to_str().is_none() {
            return Err(not_utf8(&root));
        }
        let mut git = Git::at(&root).with_trust(trust);
        if root == common_dir {
            // Its path or a work tree of it was named.
            git = git.opening_bare();
        }
        Ok(Self {
            git,
            id: RepoId::local(&root),
            root,
            common_dir,
        })
    }

    /// `file:///…`
    pub fn url(&self) -> String {
        self.id.to_string()
    }
}

/// The directory that git printed, without links; `path` is what it was asked about.
fn printed_dir(output: &Output, path: &Path) -> Result<PathBuf> {
    let printed = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
    let printed = std::str::from_utf8(printed).map_err(|_| not_utf8(path))?;
    let dir = PathBuf::from(printed);
    Ok(dir.canonicalize().unwrap_or(dir))
}

/// Whether git keeps away because every process has `safe.bareRepository=explicit`.
fn is_refused_as_bare(output: &Output) -> bool {
    output.status != 0
        && String::from_utf8_lossy(&output.stderr).contains("cannot use bare repository")
}

/// A bare repository, or a directory in one, that no person named.
fn bare(path: &Path) -> Error {
    Error::new(
        ErrorKind::PermissionDenied {
            missing: Vec::new(),
            sso_url: None,
        },
        format!(
            "{} is a bare repository, which opens only where a person has named exactly its path",
            show(path)
        ),
    )
    .with_hint(
        "a person can name it: with -R on the command line, with --allow-path for an MCP server",
    )
}

/// The absolute path of what a user typed.
fn expand(path: &Path) -> Result<PathBuf> {
    let path = match path.strip_prefix("~") {
        Ok(rest) => {
            let home = std::env::var_os("HOME")
                .filter(|h| !h.is_empty())
                .ok_or_else(|| {
                    Error::invalid(
                        "repo",
                        format!("{} needs HOME, which is not set", show(path)),
                    )
                    .with_hint("set HOME, or give the path from the root")
                })?;
            PathBuf::from(home).join(rest)
        }
        Err(_) => path.to_owned(),
    };
    std::path::absolute(&path).map_err(|e| {
        Error::invalid("repo", format!("{} is no usable path: {e}", show(&path)))
            .with_hint("give the path of a git repository")
            .with_source(e)
    })
}

fn show(path: &Path) -> String {
    text::one_line(&path.to_string_lossy()).into_owned()
}

fn no_repository(path: &Path, why: &str) -> Error {
    Error::not_found(
        Noun::Repo,
        format!("{} is no git repository: {why}", show(path)),
    )
    .with_hint("give the path of a git repository, or make one with git init")
}

fn not_utf8(path: &Path) -> Error {
    Error::new(
        ErrorKind::InvalidInput {
            field: Some("repo"),
        },
        format!(
            "the path {} is not UTF-8, so no URL can name it",
            show(path)
        ),
    )
    .with_hint("reach the repository through a link whose path is UTF-8")
}
