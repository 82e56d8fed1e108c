use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fmt,
    sync::{Mutex, OnceLock, PoisonError},
};

use forge_core::{Error, ErrorKind, Result, text};

use crate::Git;

/// The oldest supported version of git. `merge-tree --write-tree` exists since 2.38.
pub const MINIMUM: Version = Version {
    major: 2,
    minor: 38,
};

/// A version of git: major and minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// Parses the output of `git version`, such as `git version 2.39.5 (Apple Git-154)`.
    #[must_use]
    pub fn parse(printed: &str) -> Option<Self> {
        let mut numbers = printed
            .strip_prefix("git version ")?
            .split(['.', ' ', '-', '\n']);
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        Some(Self { major, minor })
    }
}

/// Returns the git programs whose versions this process has already checked, so that each is
/// checked only once.
fn checked() -> &'static Mutex<HashMap<OsString, Version>> {
    static CHECKED: OnceLock<Mutex<HashMap<OsString, Version>>> = OnceLock::new();
    CHECKED.get_or_init(Mutex::default)
}

fn remembered(program: &OsStr) -> Option<Version> {
    checked()
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(program)
        .copied()
}

/// Returns the version of the program, or an error if it is older than [`MINIMUM`].
pub(crate) async fn ensure(git: &Git) -> Result<Version> {
    if let Some(version) = remembered(git.program()) {
        return Ok(version);
    }
    let printed = git.run_ok(["version"]).await?;
    let printed = String::from_utf8_lossy(&printed);
    let version = accept(&printed)?;
    checked()
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(git.program().to_owned(), version);
    Ok(version)
}

fn accept(printed: &str) -> Result<Version> {
    let hint = format!("install git {MINIMUM} or newer, or set FORGE_GIT to the path of one");
    let shown = text::one_line(printed.trim()).into_owned();
    match Version::parse(printed) {
        Some(version) if version >= MINIMUM => Ok(version),
        Some(_) => Err(Error::new(
            ErrorKind::Config,
            format!("this is '{shown}', but git {MINIMUM} is the oldest supported version"),
        )
        .with_hint(hint)),
        None => Err(Error::new(
            ErrorKind::Config,
            format!("'git version' printed '{shown}', which names no version"),
        )
        .with_hint(hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendor_version_output_is_parsed() {
        let v = |s| Version::parse(s).map(|v| (v.major, v.minor));
        assert_eq!(v("git version 2.39.5\n"), Some((2, 39)));
        assert_eq!(v("git version 2.39.5 (Apple Git-154)\n"), Some((2, 39)));
        assert_eq!(v("git version 2.47.0.windows.2\n"), Some((2, 47)));
        assert_eq!(v("git version 3.0-rc1\n"), Some((3, 0)));
        assert_eq!(v("busybox"), None);
    }

    #[test]
    fn error_for_old_git_names_both_versions() {
        let e = accept("git version 2.37.9\n").unwrap_err();
        assert!(
            e.message().contains("2.37.9") && e.message().contains("2.38"),
            "{e}"
        );
        assert!(e.hint().is_some_and(|h| h.text().contains("FORGE_GIT")));
        assert!(accept("git version 2.38.0").is_ok());
        assert!(accept("no git").is_err());
    }
}
