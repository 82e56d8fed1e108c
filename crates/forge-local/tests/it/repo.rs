//! A test repository.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use forge_core::PullRequests;
use forge_core::{
    PrId, Trust,
    model::{CreatePull, PullRequest},
};
use forge_local::Local;

pub struct Repo {
    _dir: Arc<tempfile::TempDir>,
    pub path: PathBuf,
}

impl Repo {
    /// Creates a work tree with one commit on `main` and alice as its user.
    pub fn new() -> Self {
        Self::with(&[])
    }

    pub fn with(init: &[&str]) -> Self {
        let repo = Self::empty(init);
        repo.write("base.txt", "one\ntwo\nthree\n");
        repo.commit("base");
        repo
    }

    pub fn empty(init: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir(&path).unwrap();
        let repo = Self {
            _dir: Arc::new(dir),
            path,
        };
        let mut args = vec!["init", "--quiet", "--initial-branch=main"];
        args.extend(init);
        repo.git(&args);
        repo.user("alice");
        repo
    }

    pub fn user(&self, login: &str) {
        self.git(&["config", "user.name", login]);
        self.git(&["config", "user.email", &format!("{login}@example.com")]);
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(&self.path, args)
    }

    pub fn write(&self, file: &str, content: &str) {
        let path = self.path.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Creates a branch with one commit that writes `file`. Leaves `main` checked out.
    pub fn branch(&self, branch: &str, file: &str, content: &str) -> String {
        self.git(&["switch", "--quiet", "--create", branch, "main"]);
        self.write(file, content);
        let oid = self.commit(&format!("change {file}"));
        self.git(&["switch", "--quiet", "main"]);
        oid
    }

    pub fn oid(&self, name: &str) -> String {
        self.git(&["rev-parse", "--verify", name])
    }

    /// Stores `json` as the state of issue `number`, like another program could.
    pub fn store_issue(&self, number: u64, json: &str) -> String {
        self.store(&format!("issues/{number}"), "issue.json", json)
    }

    /// Stores `json` as the file with the state of a pull request or an issue.
    pub fn store(&self, below_forge: &str, file: &str, json: &str) -> String {
        self.write(".git/state.json", json);
        let blob = self.git(&["hash-object", "-w", ".git/state.json"]);
        self.write(".git/tree", &format!("100644 blob {blob}\t{file}\n"));
        let tree = Command::new("git")
            .current_dir(&self.path)
            .arg("mktree")
            .stdin(std::fs::File::open(self.path.join(".git/tree")).unwrap())
            .output()
            .unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        let name = format!("refs/forge/{below_forge}");
        let commit = self.git(&["commit-tree", tree.trim(), "-p", &name, "-m", "x"]);
        self.git(&["update-ref", &name, &commit]);
        commit
    }

    /// Clones the repository, and fetches its pull requests and issues. The user is bob.
    pub fn shared_clone(&self) -> PathBuf {
        let clone = self.path.with_file_name("clone");
        self.git(&["clone", "--quiet", ".", "../clone"]);
        git(&clone, &["config", "user.name", "bob"]);
        git(&clone, &["config", "user.email", "bob@example.com"]);
        let specs =
            ["pulls", "issues"].map(|kind| format!("refs/forge/{kind}/*:refs/forge/{kind}/*"));
        git(
            &clone,
            &["fetch", "--quiet", "origin", &specs[0], &specs[1]],
        );
        clone
    }

    /// Clones the repository into a directory that is named after the user `login`.
    pub fn clone_for(&self, login: &str, options: &[&str]) -> Self {
        let path = self.path.with_file_name(login);
        let url = format!("file://{}", self.path.display());
        let mut args = vec!["clone", "--quiet"];
        args.extend(options);
        args.extend([url.as_str(), path.to_str().unwrap()]);
        self.git(&args);
        let clone = Self {
            _dir: Arc::clone(&self._dir),
            path,
        };
        clone.user(login);
        clone
    }

    pub async fn open(&self) -> Arc<Local> {
        Local::open(&self.path, Trust::Person).await.unwrap()
    }
}

pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(dir)
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end_matches('\n')
        .to_owned()
}

pub async fn create(local: &Local, head: &str) -> PullRequest {
    let mut req = CreatePull::new(head, format!("Take {head}"));
    req.base = Some("main".into());
    local.create(local.id(), &req).await.unwrap().value
}

pub fn pr(local: &Local, number: u64) -> PrId {
    PrId::number(local.id().clone(), number)
}
