//! Writes a file to a path that the user chose.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use forge_core::{Error, ErrorKind, Result};

/// Writes `text` to `path` atomically. Keeps a symbolic link and the permissions of an existing
/// file. Writes directly to a device or pipe.
///
/// # Errors
///
/// `internal` with the name of the file; the old content is kept.
pub fn save(path: &Path, text: &str) -> Result<()> {
    write(path, text.as_bytes()).map_err(|e| {
        let message = format!("cannot write {}: {e}", path.display());
        let error = Error::new(ErrorKind::Internal, message).with_source(e);
        error.with_hint("name a file in a directory that can be written")
    })
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let known = fs::metadata(&path).ok();
    if known.as_ref().is_some_and(|known| !known.is_file()) {
        return fs::write(&path, bytes);
    }
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".forge-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The umask restricts this mode, as for every new file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut new = builder.tempfile_in(dir)?;
    new.write_all(bytes)?;
    if let Some(known) = known {
        new.as_file().set_permissions(known.permissions())?;
    }
    new.persist(&path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_save_reports_path_and_creates_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let error = save(&dir.path().join("no/page.html"), "x").unwrap_err();
        assert!(error.message().contains("no/page.html"), "{error}");
        let error = save(dir.path(), "x").unwrap_err();
        assert!(error.message().starts_with("cannot write "), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn save_keeps_symlinks_and_permissions() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        save(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
