use std::path::Path;

use forge_testkit::{GitDir, Identity, Output, Run, Scratch};
use serde_json::Value;

/// Date of every commit and event, which git's environment variables set.
pub const DATE: &str = "2026-03-01T12:00:00Z";

/// A repository without remotes, and its users.
pub struct World {
    pub scratch: Scratch,
    pub git: GitDir,
}

impl World {
    pub fn new() -> Self {
        let scratch = Scratch::new();
        let git = scratch.repository("repo");
        Self { scratch, git }
    }

    /// Creates a world with pull request 1 from `feature`, which adds `feature.txt`.
    pub fn with_pull() -> Self {
        let world = Self::new();
        world.open("feature");
        world
    }

    /// Returns `forge` with Ada's identity, run in the work tree.
    pub fn forge(&self, args: &[&str]) -> Run {
        self.forge_as(&Identity::ADA, args)
    }

    /// Returns `forge` with Grace's identity.
    pub fn grace(&self, args: &[&str]) -> Run {
        self.forge_as(&Identity::GRACE, args)
    }

    /// Returns `forge` with the given person's identity.
    pub fn forge_as(&self, who: &Identity, args: &[&str]) -> Run {
        self.scratch
            .forge(self.git.path(), who)
            .env("GIT_AUTHOR_DATE", DATE)
            .env("GIT_COMMITTER_DATE", DATE)
            .args(args)
    }

    /// Creates a branch with one commit, which adds a file. Returns the commit.
    pub fn feature(&self, branch: &str) -> String {
        let file = format!("{}.txt", branch.replace('/', "-"));
        self.git.commit(
            branch,
            &format!("Add {file}"),
            &[(&file, Some("one\ntwo\n"))],
        )
    }

    /// Opens a pull request titled `Title of <branch>`.
    pub fn open(&self, branch: &str) {
        self.feature(branch);
        let title = format!("Title of {branch}");
        self.forge(&["pr", "create", "-H", branch, "-t", &title, "-b", "Text."])
            .ok();
    }

    pub fn switch(&self, branch: &str) {
        self.git.run(["reset", "--quiet", "--hard"]).ok();
        self.git.run(["switch", "--quiet", branch]).ok();
    }

    pub fn url(&self, number: u64) -> String {
        let path = self.git.path().canonicalize().unwrap();
        format!("file://{}#{number}", path.display())
    }

    pub fn json(&self, pull: &str, fields: &str) -> Value {
        self.forge(&["pr", "view", pull, "--json", fields])
            .output()
            .success()
            .json()
    }

    /// Replaces text that differs between runs by placeholders.
    pub fn stable(&self, text: &str) -> String {
        let root = self.scratch.path("");
        let shown = |path: &Path| path.display().to_string().trim_end_matches('/').to_owned();
        let real = root.canonicalize().unwrap();
        text.replace(&shown(&real), "[dir]")
            .replace(&shown(&root), "[dir]")
    }

    /// Returns command line, exit code, stdout and stderr of a run as the text of a snapshot.
    pub fn transcript(&self, args: &[&str], output: &Output) -> String {
        let line = args.iter().map(|a| quoted(a)).collect::<Vec<_>>().join(" ");
        let mut text = format!("$ forge {line}\n");
        text.push_str(&output.stdout_text());
        for line in output.stderr_text().lines() {
            text.push_str(&format!("stderr: {line}\n"));
        }
        text.push_str(&format!(
            "exit: {}\n\n",
            output.code.map_or("signal".into(), |c| c.to_string())
        ));
        self.stable(&text)
    }
}

fn quoted(arg: &str) -> String {
    let short: String = if arg.len() > 60 {
        format!("{}…", &arg[..20])
    } else {
        arg.to_owned()
    };
    if short.is_empty() || short.contains([' ', '\n', '*', '"']) {
        format!("'{}'", short.escape_debug())
    } else {
        short.escape_debug().to_string()
    }
}

/// Returns the lines of a text, split at tabs.
pub fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines()
        .map(|line| line.split('\t').collect())
        .collect()
}
