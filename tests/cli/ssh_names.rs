//! Tests remotes that name their host by an alias from `ssh_config`.
#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt as _};

use forge_github_double::PullSeed;
use forge_testkit::{Run, git_program};

use crate::hub::{Hub, REPO};

/// A clone of Grace's fork with ssh aliases in its remotes, and an ssh program that resolves these
/// aliases.
struct Clone {
    hub: Hub,
}

impl Clone {
    fn new() -> Self {
        let hub = Hub::with_pull();
        hub.double.seed().fork(REPO, "grace");
        hub.double.seed().open_pull(
            REPO,
            &PullSeed {
                author: "grace",
                title: "From a fork",
                head: "grace:work",
                ..PullSeed::default()
            },
        );
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> '{}'\ncase \"$1 $2\" in\n\
             '-G gh-'*) echo 'user git'; echo 'hostname github.localhost';;\n\
             '-G inner') echo 'hostname git.inner.example';;\n\
             *) echo \"hostname $2\";;\nesac\n",
            hub.scratch.path("log").display()
        );
        let ssh = hub.scratch.write("bin/ssh", script);
        fs::set_permissions(ssh, fs::Permissions::from_mode(0o755)).unwrap();
        let git = hub.scratch.repository("clone");
        git.run(["switch", "--quiet", "-c", "work"]).ok();
        Self { hub }
    }

    fn git(&self, args: &[&str]) {
        let dir = self.hub.scratch.path("clone");
        let git = self.hub.scratch.run(git_program());
        git.args(args).dir(&dir).ok();
    }

    fn forge(&self, args: &[&str]) -> Run {
        let mut path = vec![self.hub.scratch.path("bin")];
        path.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        self.hub
            .forge(args)
            .dir(self.hub.scratch.path("clone"))
            .env("PATH", std::env::join_paths(path).unwrap())
    }

    fn asked(&self) -> Vec<String> {
        let log = fs::read_to_string(self.hub.scratch.path("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }
}

const NUMBER: [&str; 6] = ["pr", "view", "--json", "number", "--jq", ".number"];

#[test]
fn remote_alias_resolves_to_ssh_host() {
    let clone = Clone::new();
    clone.git(&["remote", "add", "origin", "git@gh-work:octo/tools.git"]);
    assert_eq!(clone.forge(&NUMBER).text(), "1\n");
    assert_eq!(clone.asked(), ["-G gh-work"]);
}

#[test]
fn fork_remote_alias_resolves_to_ssh_host() {
    let clone = Clone::new();
    clone.git(&["remote", "add", "upstream", "git@gh-work:octo/tools.git"]);
    clone.git(&[
        "remote",
        "add",
        "origin",
        "ssh://git@gh-home:2222/grace/tools",
    ]);
    clone.git(&["config", "branch.work.remote", "origin"]);
    clone.git(&["config", "branch.work.merge", "refs/heads/work"]);
    assert_eq!(clone.forge(&NUMBER).text(), "2\n");
    // `forge` asks ssh only once for each alias.
    assert_eq!(clone.asked(), ["-G gh-work", "-G gh-home"]);
}

#[test]
fn known_host_is_not_resolved_by_ssh() {
    let clone = Clone::new();
    let url = "git@github.localhost:octo/tools.git";
    clone.git(&["remote", "add", "origin", url]);
    let https = "https://git.elsewhere.example/octo/tools";
    clone.git(&["remote", "add", "other", https]);
    assert_eq!(clone.forge(&NUMBER).text(), "1\n");
    assert!(clone.asked().is_empty(), "{:?}", clone.asked());
}

#[test]
fn error_of_unknown_host_shows_name_resolved_by_ssh() {
    let clone = Clone::new();
    clone.git(&["remote", "add", "origin", "git@inner:octo/tools.git"]);
    let out = clone.forge(&["pr", "list"]).output().exits(1);
    assert!(
        out.stderr_text().contains("origin is at git.inner.example"),
        "{out:?}"
    );
    clone.git(&["remote", "set-url", "origin", "git@other.example:o/r.git"]);
    let out = clone.forge(&["pr", "list"]).output().exits(1);
    assert!(
        out.stderr_text().contains("origin is at other.example"),
        "{out:?}"
    );
}
