//! Reads files that a repository names, but only inside its work tree.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

/// A text file of a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Content.
    pub text: String,
    /// Path relative to the root of the work tree, after symbolic links are resolved.
    pub path: PathBuf,
    /// True if the path contained a symbolic link below the root.
    pub linked: bool,
}

/// Reads a text file of at most `max` bytes inside the work tree at `root`; `None` if there is no
/// such file.
///
/// A repository may contain a symbolic link to any file of the machine, and its git directory may
/// contain credentials. The path is therefore resolved first and compared with the root.
///
/// # Errors
/// Fails for a path outside of the work tree or in a git directory, for a non-regular file (a FIFO
/// would block), and for a file that is too long or not UTF-8.
pub fn read_tree_file(root: &Path, path: &Path, max: u64) -> io::Result<Option<TreeFile>> {
    let refused = |why: &str| Err(io::Error::other(why.to_owned()));
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(e) => {
            return match e.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
                _ => Err(e),
            };
        }
    };
    let real_root = root.canonicalize()?;
    let Ok(inside) = real.strip_prefix(&real_root) else {
        return refused("it is outside of the work tree");
    };
    if inside.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
        return refused("it is in a git directory");
    }
    if !fs::metadata(&real)?.is_file() {
        return refused("it is not a regular file");
    }
    let mut bytes = Vec::new();
    File::open(&real)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return refused(&format!("it is longer than {max} bytes"));
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return refused("it is not UTF-8");
    };
    let mut below = path.ancestors().take_while(|part| *part != root);
    Ok(Some(TreeFile {
        text,
        path: inside.to_owned(),
        linked: below.any(Path::is_symlink),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir(root.join("docs")).unwrap();
        for file in ["secret", "work/.git/config", "work/docs/a.md"] {
            fs::write(dir.path().join(file), file).unwrap();
        }
        (dir, root)
    }

    #[test]
    fn paths_outside_the_work_tree_are_refused() {
        let (_dir, root) = setup();
        let read = |path: &str| read_tree_file(&root, &root.join(path), 100);
        let file = read("docs/../docs/a.md").unwrap().unwrap();
        assert_eq!((&*file.text, file.linked), ("work/docs/a.md", false));
        assert_eq!(file.path, Path::new("docs/a.md"));
        assert_eq!(read("docs/none.md").unwrap(), None);
        assert_eq!(read("docs/a.md/b").unwrap(), None);
        for (path, why) in [
            ("../secret", "outside of the work tree"),
            ("/dev/null", "outside of the work tree"),
            (".git/config", "in a git directory"),
            ("docs", "not a regular file"),
        ] {
            let e = read(path).unwrap_err();
            assert!(e.to_string().contains(why), "{path}: {e}");
        }
        let e = read_tree_file(&root, &root.join("docs/a.md"), 13).unwrap_err();
        assert_eq!(e.to_string(), "it is longer than 13 bytes");
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_inside_work_tree_are_followed() {
        use std::os::unix::fs::symlink;
        let (_dir, root) = setup();
        for (target, name) in [
            ("../secret", "out.md"),
            ("docs/../../secret", "deep.md"),
            ("/etc/passwd", "etc.md"),
            (".git/config", "git.md"),
            ("out.md", "chain.md"),
            ("docs/a.md", "in.md"),
            ("..", "up"),
            ("docs", "dir"),
        ] {
            symlink(target, root.join(name)).unwrap();
        }
        let read = |path: &str| read_tree_file(&root, &root.join(path), 1 << 20);
        for path in [
            "out.md",
            "deep.md",
            "etc.md",
            "git.md",
            "chain.md",
            "up/secret",
        ] {
            assert!(read(path).is_err(), "{path}");
        }
        for path in ["in.md", "dir/a.md"] {
            let file = read(path).unwrap().unwrap();
            assert_eq!((&*file.text, file.linked), ("work/docs/a.md", true));
            assert_eq!(file.path, Path::new("docs/a.md"));
        }
    }
}
