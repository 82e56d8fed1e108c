//! What ssh makes of a host's name.

use std::{process::Stdio, time::Duration};

use tokio::process::Command;

use crate::process::without_secrets;

/// How long ssh may take. It connects to nothing, but its configuration may start programs.
const PATIENCE: Duration = Duration::from_secs(5);

/// The host that ssh connects to for `name`, as `ssh -G` prints it from the user's `ssh_config`.
///
/// `None` where that is `name` itself, where there is no ssh, and for what it does not take. Git's own
/// `core.sshCommand` is not looked at.
pub async fn ssh_host(name: &str) -> Option<String> {
    // It would be an option, and some of them run programs.
    if name.starts_with('-') {
        return None;
    }
    let mut ssh = Command::new("ssh");
    ssh.args(["-G", name])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    without_secrets(ssh.as_std_mut());
    let output = tokio::time::timeout(PATIENCE, ssh.output())
        .await
        .ok()?
        .ok()?;
    if !output.status.success() {
        return None;
    }
    hostname(std::str::from_utf8(&output.stdout).ok()?, name)
}

/// The line `hostname` of what `ssh -G` prints, if it is not `name`.
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
    fn the_host_is_in_a_line_of_its_own() {
        let printed =
            "host work\nuser git\nhostname github.com\nport 22\nproxycommand hostname x\n";
        assert_eq!(hostname(printed, "work").as_deref(), Some("github.com"));
        assert_eq!(hostname(printed, "GitHub.com"), None);
        assert_eq!(hostname("user git\n", "work"), None);
        assert_eq!(hostname("hostname \n", "work"), None);
    }

    #[tokio::test]
    async fn an_option_is_no_name() {
        assert_eq!(ssh_host("-oProxyCommand=x").await, None);
    }
}
