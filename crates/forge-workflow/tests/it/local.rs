//! A workflow in a git repository.

use std::{path::PathBuf, process::Command, sync::Arc};

use forge_core::{
    Client, Policy, Repo, Trust,
    model::{Issue, IssueFields, IssueId, NewIssue},
};
use forge_local::Local;
use forge_workflow::{Definition, FieldStore, Ledger, Workflow};

pub struct Stage {
    _dir: tempfile::TempDir,
    pub path: PathBuf,
    pub local: Arc<Local>,
    pub repo: Repo,
    pub flow: Workflow,
}

impl Stage {
    /// Creates an empty repository with the preset `ralph`.
    pub async fn new() -> Self {
        Self::with(Definition::preset("ralph").unwrap()).await
    }

    pub async fn with(definition: Definition) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir(&path).unwrap();
        let git = |args: &[&str]| {
            let status = Command::new("git")
                .current_dir(&path)
                .args(args)
                .output()
                .unwrap();
            assert!(status.status.success(), "git {args:?}");
        };
        git(&["init", "--quiet", "--template=", "--initial-branch=main"]);
        git(&["config", "user.name", "alice"]);
        git(&["config", "user.email", "alice@example.com"]);
        git(&["commit", "--quiet", "--allow-empty", "-m", "base"]);
        let local = Local::open(&path, Trust::Person).await.unwrap();
        let repo = Client::new(local.clone(), Policy::default()).repo(local.id().clone());
        let flow = Workflow::new(repo.clone(), definition, Box::new(FieldStore::new(None)));
        Self {
            _dir: dir,
            path,
            local,
            repo,
            flow,
        }
    }

    pub fn id(&self, number: u64) -> IssueId {
        self.repo.issue_id(number)
    }

    /// Creates a second engine with the same states and another ledger.
    pub fn flow_with(&self, ledger: Box<dyn Ledger>) -> Workflow {
        let store = Box::new(FieldStore::new(None));
        Workflow::new(self.repo.clone(), self.flow.definition().clone(), store).with_ledger(ledger)
    }

    pub async fn open(&self, new: NewIssue) -> IssueId {
        self.repo.create_issue(&new).await.unwrap().value.id
    }

    /// Opens an issue in a state; `""` means that the issue has no state.
    pub async fn issue(&self, state: &str) -> IssueId {
        self.open(in_state(state)).await
    }

    pub async fn read(&self, id: &IssueId) -> Issue {
        let mut fields = IssueFields::COMMENTS;
        fields.relations = true;
        self.repo.issue(id, &fields).await.unwrap()
    }

    pub async fn state(&self, id: &IssueId) -> String {
        let issue = self.read(id).await;
        self.flow.state_of(&issue).unwrap_or_default()
    }

    /// Damages an issue, so that it cannot be read.
    pub fn damage(&self, number: u64) {
        let name = format!("refs/forge/issues/{number}");
        let status = Command::new("git")
            .current_dir(&self.path)
            .args(["update-ref", &name, "refs/heads/main"])
            .status()
            .unwrap();
        assert!(status.success(), "{name}");
    }

    /// Returns the number of events of an issue, including the root.
    pub fn events(&self, number: u64) -> usize {
        let name = format!("refs/forge/issues/{number}");
        let out = Command::new("git")
            .current_dir(&self.path)
            .args(["rev-list", "--first-parent", "--count", &name])
            .output()
            .unwrap();
        String::from_utf8_lossy(&out.stdout).trim().parse().unwrap()
    }
}

pub fn in_state(state: &str) -> NewIssue {
    let mut new = NewIssue::new(format!("In {state}"), "");
    if !state.is_empty() {
        new.values
            .insert("Workflow State".to_owned(), state.to_owned());
    }
    new
}

pub fn child(state: &str, parent: &IssueId) -> NewIssue {
    let mut new = in_state(state);
    new.parent = Some(parent.clone());
    new
}
