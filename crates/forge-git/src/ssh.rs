//! Resolves host aliases of ssh.

use std::{process::Stdio, time::Duration};

use tokio::process::Command;

use crate::process::without_secrets;

/// Timeout for running ssh. `ssh -G` does not connect, but its configuration may start programs.
const SSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the host to which ssh connects for `name`, as `ssh -G` prints it from the user's
/// `ssh_config`.
///
/// Returns `None` if the host is `name` itself, if ssh is not installed, and for names that ssh
/// refuses. Git's `core.sshCommand` is ignored.
pub async fn ssh_host(name: &str) -> Option<String> {
    // ssh would read such a name as an option, and some options of ssh start programs.
    if name.starts_with('-') {
        return None;
    }
    let mut ssh = Command::new("ssh");
    ssh.args(["-G", name])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    without_secrets(ssh.as_std_mut());
    let output = tokio::time::timeout(SSH_TIMEOUT, ssh.output())
        .await
        .ok()?
        .ok()?;
    if !output.status.success() {
        return None;
    }
    hostname(std::str::from_utf8(&output.stdout).ok()?, name)
}

/// Returns the host in the `hostname` line of the output of `ssh -G`, unless it is `name`.
fn hostname(printed: &str, name: &str) -> Option<String> {
    let host = printed
        .lines()
        .find_map(|line| line.strip_prefix("hostname "))?
        .trim();
    (!host.is_empty() && !host.eq_ignore_ascii_case(name)).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostname_line_is_parsed() {
        let printed =
            "host work\nuser git\nhostname github.com\nport 22\nproxycommand hostname x\n";
        assert_eq!(hostname(printed, "work").as_deref(), Some("github.com"));
        assert_eq!(hostname(printed, "GitHub.com"), None);
        assert_eq!(hostname("user git\n", "work"), None);
        assert_eq!(hostname("hostname \n", "work"), None);
    }

    #[tokio::test]
    async fn name_like_an_option_is_refused() {
        assert_eq!(ssh_host("-oProxyCommand=x").await, None);
    }
}
