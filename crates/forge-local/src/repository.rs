//! Finds the repository at a path.

use std::{
    fs,
    path::{Path, PathBuf},
};

use forge_core::{Error, ErrorKind, Noun, RepoId, Result, Trust, text};
use forge_git::{Git, Output, blocking, git_dir_of, path_of, state_file, without_line_end};

/// Arguments with which git prints three paths: the common directory, the git directory of the work
/// tree, and the top of the work tree.
const DIRECTORIES: [&str; 5] = [
    "rev-parse",
    "--path-format=absolute",
    "--git-common-dir",
    "--git-dir",
    "--show-cdup",
];

/// An opened repository in which git can run.
#[derive(Clone, Debug)]
pub(crate) struct LocalRepository {
    /// Git for the main work tree, or for the bare repository.
    pub git: Git,
    /// The directory in which `git` runs, as an absolute path without links.
    pub root: PathBuf,
    /// The directory that all work trees share (`.git`).
    pub common_dir: PathBuf,
    /// Git for the work tree that the user named or is in. A linked work tree can have a separate
    /// configuration.
    pub user_git: Git,
    /// The main work tree as reported by git. `None` if a linked work tree or a bare repository was
    /// opened.
    pub main_tree: Option<PathBuf>,
    pub id: RepoId,
}

impl LocalRepository {
    /// Finds the repository at `path`: a main or linked work tree, a directory in a work tree, a
    /// bare repository, or a `.git` directory. Git starts only the programs that `trust` allows.
    ///
    /// A bare repository is opened only if a person named it, directly or by one of its work trees.
    /// Otherwise a clone could contain a bare repository as committed files, with hooks of a
    /// stranger.
    pub async fn find(path: &Path, trust: Trust) -> Result<Self> {
        let path = expand(path)?;
        let git = Git::at(&path).with_trust(trust);
        if !path.is_dir() {
            let why = if path.exists() {
                "it is not a directory"
            } else {
                "there is no such directory"
            };
            return Err(no_repository(&path, why));
        }
        let (version, found) = tokio::join!(git.version(), git.run(DIRECTORIES));
        version?;
        let mut found = found?;
        if is_refused_as_bare(&found) {
            if trust == Trust::Guarded {
                return Err(bare_repository_error(&path));
            }
            let named = git.clone().opening_bare().run(DIRECTORIES).await?;
            let itself = path.canonicalize().ok();
            if named.status == 0 && Some(Directories::of(&named, &path)?.common) == itself {
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
            // git refused the repository, for example because it belongs to another user. The
            // message of git says what to do.
            return Err(found.error("rev-parse"));
        }
        let Directories {
            common: common_dir,
            is_linked,
            top,
        } = Directories::of(&found, &path)?;
        if trust == Trust::Guarded {
            let common = common_dir.clone();
            blocking(move || refuse_links_outwards(&common)).await?;
        }
        let is_dot_git = common_dir.file_name().is_some_and(|n| n == ".git");
        let root = match common_dir.parent() {
            Some(parent) if is_dot_git => parent.to_owned(),
            _ => common_dir.clone(),
        };
        if root.to_str().is_none() {
            return Err(path_encoding_error(&root));
        }
        let git_dir = common_dir.clone();
        let at = |dir: &Path| Git::at(dir).with_trust(trust).with_git_dir(&git_dir);
        let mut git = at(&root);
        if root == common_dir {
            // The user named the bare repository itself, or one of its work trees. Git may
            // therefore open it.
            git = git.opening_bare();
        }
        let mut repository = Self {
            user_git: git.clone(),
            git,
            id: RepoId::local(&root),
            root,
            common_dir,
            main_tree: top.filter(|_| !is_linked),
        };
        if is_linked {
            repository.user_git = at(&path);
        } else if path
            .canonicalize()
            .is_ok_and(|dir| repository.is_named(&dir))
            && let Some((top, _)) = repository.current_work_tree()
        {
            repository.user_git = at(&top);
        }
        // Git fetches objects that a partial clone lacks only if the clone contains the current
        // directory. Any other clone may come from a stranger and name a program as its remote.
        if repository.current_work_tree().is_none() {
            repository.git = repository.git.without_lazy_fetch();
            repository.user_git = repository.user_git.without_lazy_fetch();
        }
        Ok(repository)
    }

    /// Returns true if `dir` is the root or the git directory of the repository. A linked work tree
    /// or a subdirectory does not count.
    fn is_named(&self, dir: &Path) -> bool {
        dir == self.root || dir == self.common_dir
    }

    /// Returns the work tree of the current directory, if it belongs to this repository. The
    /// returned flag is true for the main work tree.
    pub fn current_work_tree(&self) -> Option<(PathBuf, bool)> {
        let cwd = std::env::current_dir().ok()?.canonicalize().ok()?;
        let top = cwd.ancestors().find(|dir| dir.join(".git").exists())?;
        let state = git_dir_of(top)?;
        let is_main = state == self.common_dir;
        let is_linked = state.parent() == Some(&self.common_dir.join("worktrees"));
        (is_main || is_linked).then(|| (top.to_owned(), is_main))
    }

    /// Returns true if `dir` is a main or linked work tree of this repository. For a linked work
    /// tree, its `.git` file and the state directory of git must point to each other.
    pub fn owns(&self, dir: &Path, is_main: bool) -> bool {
        let Some(state) = git_dir_of(dir) else {
            return false;
        };
        if is_main {
            return state == self.common_dir;
        }
        let back = state_file(&state.join("gitdir")).and_then(|link| {
            state
                .join(path_of(without_line_end(&link)))
                .canonicalize()
                .ok()
        });
        state.parent() == Some(&self.common_dir.join("worktrees"))
            && back.is_some()
            && back == dir.join(".git").canonicalize().ok()
    }

    /// Returns the `file:///…` URL of the repository.
    pub fn url(&self) -> String {
        self.id.to_string()
    }
}

/// The parsed output of [`DIRECTORIES`].
#[derive(Debug, PartialEq, Eq)]
struct Directories {
    /// The common directory of all work trees, with links resolved.
    common: PathBuf,
    /// True if `path` is in a linked work tree.
    is_linked: bool,
    /// The top of the work tree; `None` outside of a work tree.
    top: Option<PathBuf>,
}

impl Directories {
    /// Parses git's output for `path`.
    fn of(output: &Output, path: &Path) -> Result<Self> {
        let printed = &output.stdout;
        // The split fails if the git directory of the work tree is outside of the common directory.
        // Such a work tree counts as linked.
        let first = printed.split(|b| *b == b'\n').next().unwrap_or_default();
        let parts = split_directories(printed).unwrap_or([first, b"elsewhere", b""]);
        let [common, own, top] = parts;
        let common =
            PathBuf::from(std::str::from_utf8(common).map_err(|_| path_encoding_error(path))?);
        Ok(Self {
            common: common.canonicalize().unwrap_or(common),
            is_linked: !own.is_empty(),
            // Outside of a work tree, git prints no line for the top.
            top: top.strip_suffix(b"\n").map(|up| {
                let top = path.join(path_of(up));
                top.canonicalize().unwrap_or(top)
            }),
        })
    }
}

/// Splits git's output: `<common>`, newline, `<common><own>`, newline, `<top>` (ends with a
/// newline, or is empty). Paths may contain newlines, so the split is where `<common>` is repeated.
fn split_directories(printed: &[u8]) -> Option<[&[u8]; 3]> {
    let newlines = printed.iter().enumerate().filter(|(_, b)| **b == b'\n');
    newlines.map(|(at, _)| at).find_map(|at| {
        let common = printed.get(..at)?;
        let rest = printed.get(at + 1..)?.strip_prefix(common)?;
        let end = rest.iter().position(|b| *b == b'\n')?;
        Some([common, rest.get(..end)?, rest.get(end + 1..)?])
    })
}

/// Refuses a repository in which files are links to the outside. The permission to open the path
/// does not cover the targets of such links. Two kinds of links are allowed: hooks, because no hook
/// runs, and `objects/info/alternates`, because a clone made with `--reference` borrows objects but
/// not branches.
fn refuse_links_outwards(common: &Path) -> Result<()> {
    let parts = ["objects", "refs", "logs", "reftable", "worktrees", "info"];
    let mut dirs = vec![common.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let is_top = dir == common;
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let is_inside = || path.canonicalize().is_ok_and(|to| to.starts_with(common));
            if kind.is_symlink() && !(is_top && name == "hooks") && !is_inside() {
                return Err(outward_link_error(&path));
            }
            if kind.is_dir() && (!is_top || parts.iter().any(|part| name == *part)) {
                dirs.push(path);
            }
        }
    }
    Ok(())
}

fn outward_link_error(link: &Path) -> Error {
    Error::new(
        ErrorKind::PermissionDenied {
            missing: Vec::new(),
            sso_url: None,
        },
        format!(
            "cannot open {}: it is a link to a place outside its repository, which is followed \
             only if the user named this exact path",
            show(link)
        ),
    )
    .with_hint(
        "ask the user to name this exact repository on the command line, or to allow it in the server",
    )
}

/// Returns true if git refuses a bare repository because `safe.bareRepository=explicit` is set for
/// all processes.
fn is_refused_as_bare(output: &Output) -> bool {
    output.status != 0
        && String::from_utf8_lossy(&output.stderr).contains("cannot use bare repository")
}

/// Returns the error for a bare repository that a person did not name.
fn bare_repository_error(path: &Path) -> Error {
    Error::new(
        ErrorKind::PermissionDenied {
            missing: Vec::new(),
            sso_url: None,
        },
        format!(
            "{} is a bare repository, which opens only if the user named its exact path",
            show(path)
        ),
    )
    .with_hint(
        "ask the user to name this exact path on the command line, or to allow it in the server",
    )
}

/// Expands a path from user input to an absolute path.
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
                    .with_hint("set HOME, or give an absolute path")
                })?;
            PathBuf::from(home).join(rest)
        }
        Err(_) => path.to_owned(),
    };
    std::path::absolute(&path).map_err(|e| {
        Error::invalid("repo", format!("{} is not a usable path: {e}", show(&path)))
            .with_hint("give the path of a git repository")
            .with_source(e)
    })
}

pub(crate) fn show(path: &Path) -> String {
    text::one_line(&path.to_string_lossy()).into_owned()
}

fn no_repository(path: &Path, why: &str) -> Error {
    Error::not_found(
        Noun::Repo,
        format!("{} is not a git repository: {why}", show(path)),
    )
    .with_hint("give the path of a git repository, or make one with git init")
}

fn path_encoding_error(path: &Path) -> Error {
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
