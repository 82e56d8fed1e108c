//! Replaces files of the configuration directory atomically.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use forge_core::{Error, ErrorKind, Result};

/// Lock on the files of a directory. Dropping the value releases the lock.
pub(crate) struct ConfigLock {
    _file: File,
}

/// Waits until no other process changes the files of `dir`, and locks them. If `dir` is missing,
/// creates it so that only its owner can access it.
///
/// # Errors
/// `config` if the directory cannot be written.
pub(crate) fn lock(dir: &Path) -> Result<ConfigLock> {
    let take = || {
        make_dir(dir)?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(dir.join(".lock"))?;
        file.lock()?;
        Ok(file)
    };
    take()
        .map(|file| ConfigLock { _file: file })
        .map_err(|e| cannot_write(dir, e))
}

/// Replaces `path` atomically.
///
/// Only the owner can read a new file. An existing file keeps its permissions, unless `private` is
/// true: then only the owner can read it afterwards. If `path` is a symbolic link, its target is
/// replaced.
///
/// # Errors
/// `config` if the file cannot be written; the old content is kept.
pub(crate) fn replace(path: &Path, text: &str, private: bool) -> Result<()> {
    let put = || {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let dir = path
            .parent()
            .ok_or_else(|| io::Error::other("it has no directory"))?;
        let mut new = tempfile::Builder::new()
            .prefix(".forge-")
            .tempfile_in(dir)?;
        new.write_all(text.as_bytes())?;
        if let (false, Ok(meta)) = (private, fs::metadata(&path)) {
            new.as_file().set_permissions(meta.permissions())?;
        }
        new.as_file().sync_all()?;
        new.persist(&path)?;
        Ok(())
    };
    put().map_err(|e| cannot_write(path, e))
}

fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(dir)
}

fn cannot_write(path: &Path, e: io::Error) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("cannot write {}: {e}", path.display()),
    )
    .with_hint("make it writable, or set FORGE_CONFIG_DIR to a writable directory")
    .with_source(e)
}
