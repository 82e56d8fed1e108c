use std::{any::Any, sync::Arc};

use async_trait::async_trait;
use forge_core::{
    Capabilities, Capability, PrId, Repo, Support,
    model::{BoardId, CreatePull, HeadRef, IssueField, NewLabel, PrFields, PullRequest},
};

use crate::GitDir;

/// Allowed differences between forges. All other behaviour is the same on every forge.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The forge names the conflicting files; otherwise it only reports that there is a conflict.
    pub names_conflicts: bool,
    /// The forge can send any number of lines of context around a change.
    pub context_lines: bool,
    /// The forge sends a diff with the ids of its base and head commits.
    pub names_ends: bool,
    /// Maximum number of lines of a diff that is sent whole.
    pub diff_lines: usize,
    /// Accounts with write access may change the comments of others.
    pub writers_moderate: bool,
    /// A search refuses an unknown qualifier; otherwise the qualifier is searched for as a word.
    pub checks_qualifiers: bool,
    /// Words in a description close an issue, and a comment creates a link in both directions.
    pub texts_link: bool,
    /// The links of a pull request include the pull requests stacked on it.
    pub knows_what_is_on_top: bool,
    /// The base of a stacked pull request is its parent's head branch until the parent is merged;
    /// otherwise both have the same base branch.
    pub stacks_by_base: bool,
    /// A stacked pull request is merged together with its parents; otherwise after them.
    pub stacks_merge_together: bool,
    /// The e-mail address with which the forge commits for the author of pull requests.
    pub author_email: &'static str,
}

/// A forge on which the suite runs.
#[async_trait]
pub trait Rig: Send + Sync {
    /// Returns the rig's name, the first part of the names of its trials: `local`, `github`.
    fn name(&self) -> &str;

    /// Returns the capabilities of the forge. They select the trials that run.
    fn capabilities(&self) -> &'static Capabilities;

    /// Returns the differences from other forges.
    fn facts(&self) -> Facts;

    /// Returns the cases that do not apply to the forge, as `module::case`, each with the reason.
    fn exceptions(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Creates a repository without pull requests. Its default branch is `main`, as
    /// [`GitDir::init`] makes it, and it has only the labels that the forge gives every new
    /// repository.
    async fn fixture(&self) -> Fixture;
}

/// A new repository with two accounts that may write to it.
pub struct Fixture {
    /// The handle of the account that opens pull requests.
    pub author: Repo,
    /// The handle of another account.
    pub reviewer: Repo,
    /// The git repository that the forge reads.
    pub git: GitDir,
    /// The board that stores the values of issues, if the forge has boards.
    pub board: Option<BoardId>,
    /// Facts of the rig's forge.
    pub facts: Facts,
    /// Values that must live as long as the repository, such as a directory or a server.
    pub keep: Box<dyn Any + Send + Sync>,
}

impl Fixture {
    /// Returns the login of [`Self::author`].
    pub async fn author_login(&self) -> String {
        self.author.viewer().await.unwrap().login
    }

    /// Returns the login of [`Self::reviewer`].
    pub async fn reviewer_login(&self) -> String {
        self.reviewer.viewer().await.unwrap().login
    }

    /// Creates a branch with a commit that adds a file named after the branch.
    pub fn feature(&self, branch: &str) -> String {
        let path = format!("{}.txt", branch.replace('/', "-"));
        self.git.commit(
            branch,
            &format!("Add {path}"),
            &[(&path, Some("one\ntwo\nthree\n"))],
        )
    }

    /// Opens a pull request from a new branch with one commit that adds a file.
    pub async fn open(&self, branch: &str) -> PullRequest {
        self.feature(branch);
        self.open_from(branch).await
    }

    /// Opens a pull request from an existing branch.
    pub async fn open_from(&self, branch: &str) -> PullRequest {
        let req = CreatePull::new(branch, format!("Title of {branch}"));
        self.author.create_pull(&req).await.unwrap().value
    }

    /// Opens a pull request that conflicts: both sides change line 10 of `src/lib.rs`.
    pub async fn open_conflict(&self, branch: &str) -> PullRequest {
        let text = self.git.show("main", "src/lib.rs");
        let ours = text.replace("line 10\n", "ours 10\n");
        let theirs = text.replace("line 10\n", "theirs 10\n");
        self.git
            .commit(branch, "Change line 10", &[("src/lib.rs", Some(&ours))]);
        let pr = self.open_from(branch).await;
        self.git.commit(
            "main",
            "Change line 10 too",
            &[("src/lib.rs", Some(&theirs))],
        );
        pr
    }

    /// Reads the current pull request.
    pub async fn view(&self, id: &PrId) -> PullRequest {
        self.author.pull(id, PrFields::NONE).await.unwrap()
    }

    /// Defines labels; keeps existing labels.
    pub async fn define(&self, names: &[&str]) {
        for name in names {
            let mut label = NewLabel::new(*name);
            label.overwrite = true;
            self.author.define_label(&label).await.unwrap();
        }
    }

    /// Defines a field of issues, if the forge accepts values only for defined fields.
    pub async fn define_field(&self, name: &str, options: &[&str]) {
        let table = self.author.client().forge().capabilities();
        if !table.has(Capability::IssueFieldEdit) {
            return;
        }
        let field = IssueField::new(name, options.iter().map(|o| (*o).to_owned()).collect());
        let board = self.board.as_ref();
        self.author.define_issue_field(board, &field).await.unwrap();
    }

    /// Defines the labels that store relations, if the forge stores relations in labels.
    pub async fn define_relations(&self) {
        let table = self.author.client().forge().capabilities();
        if let Support::Emulated { .. } = table.get(Capability::IssueRelations) {
            for name in ["parent", "blocked-by"] {
                self.define_field(name, &[]).await;
            }
        }
    }

    /// Returns the head for a branch of this repository.
    #[must_use]
    pub fn head(branch: &str) -> HeadRef {
        HeadRef::branch(branch)
    }
}

/// A shared rig.
pub type SharedRig = Arc<dyn Rig>;
