//! Uses the login of gh.

use std::{path::PathBuf, process::Stdio, time::Duration};

use forge_core::Secret;
use forge_git::without_secrets;
use tokio::process::Command;

use super::parse_secret;
use crate::config::{Env, Var};

/// Timeout of a call of gh, which may have to renew an expired token.
const GH_TIMEOUT: Duration = Duration::from_secs(20);

/// The gh program. It reads its tokens from its file or from the system's keyring.
#[derive(Clone, Debug)]
pub(crate) struct Gh {
    program: Option<PathBuf>,
}

impl Gh {
    /// Finds gh: `GH_PATH`, else `gh` in the `PATH` of the process. A fixed environment
    /// (`Env::fixed`) has no `PATH`, so only `GH_PATH` is used there.
    pub fn of(env: &Env) -> Self {
        let of_path = || env.is_process().then(|| PathBuf::from("gh"));
        Self {
            program: env.path(Var::GhPath).or_else(of_path),
        }
    }

    /// Returns gh's token for `host`, if gh is installed and logged in at the host.
    ///
    /// The token may expire soon, so it is never stored.
    pub async fn token(&self, host: &str) -> Option<Secret> {
        let mut gh = Command::new(self.program.as_ref()?);
        gh.args(["auth", "token", "--hostname", host])
            .env("GH_PROMPT_DISABLED", "1")
            .env("GH_NO_UPDATE_NOTIFIER", "1")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        // Token variables are removed from gh's environment. Otherwise gh would print a token from
        // there instead of its stored token.
        without_secrets(gh.as_std_mut());
        let output = tokio::time::timeout(GH_TIMEOUT, gh.output())
            .await
            .ok()?
            .ok()?;
        if !output.status.success() {
            return None;
        }
        parse_secret(std::str::from_utf8(&output.stdout).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn gh(dir: &tempfile::TempDir, script: &str) -> Gh {
        use std::{fs, os::unix::fs::PermissionsExt as _};
        let path = dir.path().join("gh");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Gh::of(&Env::fixed([("GH_PATH", path)]))
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn gh_token_is_requested_by_host() {
        let dir = tempfile::tempdir().unwrap();
        let gh = gh(
            &dir,
            r#"test "$*" = "auth token --hostname git.example" && echo gho_x"#,
        );
        let token = gh.token("git.example").await;
        assert_eq!(token.unwrap().expose(), "gho_x");
        assert_eq!(gh.token("other.example").await, None);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn gh_output_without_token_is_none() {
        let dir = tempfile::tempdir().unwrap();
        for script in ["exit 1", "true", "echo two words", "echo gho_x; exit 1"] {
            assert_eq!(gh(&dir, script).token("github.com").await, None, "{script}");
        }
    }

    #[tokio::test]
    async fn missing_gh_yields_no_token() {
        let absent = Gh::of(&Env::fixed([("GH_PATH", "/nonexistent/gh")]));
        assert_eq!(absent.token("github.com").await, None);
        let nobody = Gh::of(&Env::fixed([("HOME", "/h")]));
        assert_eq!(nobody.token("github.com").await, None);
    }
}
