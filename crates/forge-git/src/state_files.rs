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
    Some(root_of(common_of(git_dir).canonicalize().ok()?))
}

/// Returns true if `top` is a work tree of the repository at `root` by that repository's own word:
/// the main one, or a linked one that the repository lists. The `.git` file of an unpacked archive
/// can name any repository.
#[must_use]
pub fn has_work_tree(root: &Path, top: &Path) -> bool {
    let (Ok(root), Ok(top)) = (root.canonicalize(), top.canonicalize()) else {
        return false;
    };
    if root == top {
        return true;
    }
    let Some(git_dir) = git_dir_of(&top).filter(|dir| dir.starts_with(&root)) else {
        return false;
    };
    let Some(back) = state_file(&git_dir.join("gitdir")) else {
        return false;
    };
    let back = git_dir.join(path_of(without_line_end(&back)));
    back.canonicalize()
        .is_ok_and(|link| link == top.join(".git"))
}

/// Returns the directories of other repositories from which the repository at `path` borrows
/// objects (`objects/info/alternates`), with links resolved.
///
/// # Errors
/// A text, if the list is not a small regular file, or has a line that only git can read.
pub fn borrowed_objects(path: &Path) -> Result<Vec<PathBuf>, String> {
    let git_dir = git_dir_of(path).or_else(|| path.canonicalize().ok());
    let common = git_dir.map(common_of);
    let Some(objects) = common.map(|common| common.join("objects")) else {
        return Ok(Vec::new());
    };
    let list = objects.join("info/alternates");
    if fs::symlink_metadata(&list).is_err() {
        return Ok(Vec::new());
    }
    let bytes = state_file(&list).ok_or("it is not a regular file")?;
    if bytes.len() as u64 >= MAX_STATE_FILE {
        return Err("it is too long".to_owned());
    }
    let mut borrowed = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        match line.first() {
            None | Some(b'#') => {}
            Some(b'"') => return Err("it has a quoted path".to_owned()),
            // Git ignores a missing directory.
            Some(_) => borrowed.extend(objects.join(path_of(line)).canonicalize()),
        }
    }
    borrowed.retain(|dir| !dir.starts_with(&objects));
    Ok(borrowed)
}

/// Returns the directory that all work trees of the repository with this git directory share.
fn common_of(git_dir: PathBuf) -> PathBuf {
    match state_file(&git_dir.join("commondir")) {
        Some(link) => git_dir.join(path_of(without_line_end(&link))),
        None => git_dir,
    }
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

    #[tokio::test]
    async fn work_tree_counts_by_word_of_its_repository() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let git = Git::at(&top);
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let commit = ["-C", "main", "commit", "-q", "--allow-empty", "-m", "x"];
        git.run_ok(["init", "-q", "main"]).await.unwrap();
        git.run_ok(who.iter().chain(&commit)).await.unwrap();
        let add = ["-C", "main", "worktree", "add", "-q", "../linked"];
        git.run_ok(add).await.unwrap();
        let main = top.join("main");
        assert!(has_work_tree(&main, &main));
        assert!(has_work_tree(&main, &top.join("linked")));
        let unpacked = main.join("unpacked");
        std::fs::create_dir_all(unpacked.join("fake")).unwrap();
        let link = |to: &Path| {
            let line = format!("gitdir: {}\n", to.display());
            std::fs::write(unpacked.join(".git"), line).unwrap();
        };
        link(&main.join(".git"));
        assert_eq!(root_at(&unpacked), Some(main.clone()));
        assert!(!has_work_tree(&main, &unpacked));
        link(&main.join(".git/worktrees/linked"));
        assert!(!has_work_tree(&main, &unpacked));
        // A git directory of the archive's own leads back, and shares the other repository's.
        let fake = top.join("fake");
        std::fs::create_dir_all(&fake).unwrap();
        std::fs::write(fake.join("commondir"), main.join(".git").to_str().unwrap()).unwrap();
        let back = unpacked.join(".git");
        std::fs::write(fake.join("gitdir"), back.to_str().unwrap()).unwrap();
        link(&fake);
        assert_eq!(root_at(&unpacked), Some(main.clone()));
        assert!(!has_work_tree(&main, &unpacked));
    }

    #[test]
    fn borrowed_objects_are_listed_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for part in [
            "own/.git/objects/info",
            "own/.git/objects/pack",
            "other/objects",
        ] {
            std::fs::create_dir_all(top.join(part)).unwrap();
        }
        let (own, list) = (
            top.join("own"),
            top.join("own/.git/objects/info/alternates"),
        );
        assert_eq!(borrowed_objects(&own), Ok(vec![]));
        let other = top.join("other/objects");
        let text = format!(
            "# none\n\n{}\n../../../other/objects\n/gone\npack\n",
            other.display()
        );
        std::fs::write(&list, text).unwrap();
        assert_eq!(borrowed_objects(&own), Ok(vec![other.clone(), other]));
        std::fs::write(&list, "\"/a\\tb\"\n").unwrap();
        assert!(borrowed_objects(&own).is_err());
        std::fs::write(&list, "x".repeat(1 << 17)).unwrap();
        assert!(borrowed_objects(&own).is_err());
        std::fs::remove_file(&list).unwrap();
        std::fs::create_dir(&list).unwrap();
        assert!(borrowed_objects(&own).is_err());
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
