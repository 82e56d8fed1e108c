//! Finds git directories through the small files that git keeps in them, without a git process.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::{path_of, remotes::root_of};

/// Maximum number of bytes that [`state_file`] reads.
pub const MAX_STATE_FILE: u64 = 64 * 1024;

/// Reads at most [`MAX_STATE_FILE`] bytes of a state file (a small file in the git directory).
/// Returns `None` if the file is missing or not a regular file.
#[must_use]
pub fn state_file(path: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(MAX_STATE_FILE).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns a line without its line end.
#[must_use]
pub fn without_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// Returns the git directory to which the `.git` of a work tree points, with links resolved.
#[must_use]
pub fn git_dir_of(top: &Path) -> Option<PathBuf> {
    let dot_git = top.join(".git");
    let git_dir = match state_file(&dot_git) {
        Some(link) => top.join(path_of(without_line_end(&link).strip_prefix(b"gitdir: ")?)),
        None => dot_git,
    };
    git_dir.canonicalize().ok()
}

/// Returns the directory that identifies the repository at `path`, as [`root`](crate::root) does,
/// with links resolved. `path` is a work tree or a git directory; `None` if it is missing.
#[must_use]
pub fn root_at(path: &Path) -> Option<PathBuf> {
    let git_dir = git_dir_of(path).or_else(|| path.canonicalize().ok())?;
    // In a linked work tree, this file names the directory that all work trees share.
    let common = match state_file(&git_dir.join("commondir")) {
        Some(link) => {
            let common = git_dir.join(path_of(without_line_end(&link)));
            common.canonicalize().ok()?
        }
        None => git_dir,
    };
    Some(root_of(common))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Git, root};

    #[tokio::test]
    async fn root_without_process_is_that_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let git = Git::at(&top);
        for args in [
            vec!["init", "-q", "main"],
            vec!["init", "-q", "--bare", "bare.git"],
            vec!["init", "-q", "--separate-git-dir", "store", "separate"],
            vec![
                "-C",
                "main",
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@example.org",
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "x",
            ],
            vec!["-C", "main", "worktree", "add", "-q", "../linked"],
        ] {
            git.run_ok(args).await.unwrap();
        }
        for (path, expected) in [
            ("main", "main"),
            ("main/", "main"),
            ("main/.git", "main"),
            ("linked/../main", "main"),
            ("linked", "main"),
            ("bare.git", "bare.git"),
            ("separate", "store"),
        ] {
            let path = top.join(path);
            let expected = top.join(expected);
            assert_eq!(root_at(&path).as_ref(), Some(&expected), "{path:?}");
            let of_git = root(&Git::at(&path).opening_bare()).await.unwrap();
            assert_eq!(of_git.canonicalize().unwrap(), expected, "{path:?}");
        }
        assert_eq!(root_at(&top.join("missing")), None);
    }

    #[cfg(unix)]
    #[test]
    fn root_has_no_symbolic_links() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("main/.git")).unwrap();
        std::os::unix::fs::symlink(top.join("main"), top.join("link")).unwrap();
        for path in ["link", "link/.git"] {
            assert_eq!(root_at(&top.join(path)), Some(top.join("main")), "{path}");
        }
    }
}
