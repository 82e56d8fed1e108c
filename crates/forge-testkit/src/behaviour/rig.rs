use std::{any::Any, sync::Arc};

use async_trait::async_trait;
use forge_core::{
    Capabilities, Capability, PrId, Repo, Support,
    model::{BoardId, CreatePull, HeadRef, IssueField, NewLabel, PrFields, PullRequest},
};

use crate::GitDir;

/// In what a forge differs from others for good reasons of its own. Everything that is not here is
/// alike on all of them.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The forge names the conflicting files, rather than only that some conflict.
    pub names_conflicts: bool,
    /// The forge can send any number of lines of context around a change.
    pub context_lines: bool,
    /// A diff comes with the ids of its ends.
    pub names_ends: bool,
    /// A diff of more lines than this is not sent whole.
    pub diff_lines: usize,
    /// Accounts with write access may also change others' comments.
    pub writers_moderate: bool,
    /// A search refuses a qualifier that it does not know, in place of looking for it as a word.
    pub checks_qualifiers: bool,
    /// Words in a description close an issue, and a comment makes a link in both directions.
    pub texts_link: bool,
    /// The links of a pull request include the pull requests that build on it.
    pub knows_what_is_on_top: bool,
    /// A stacked pull request has its parent's head branch as base until the parent is merged;
    /// otherwise both have the same base branch.
    pub stacks_by_base: bool,
    /// A stacked pull request is merged together with those below; otherwise after them.
    pub stacks_merge_together: bool,
    /// Under which e-mail address it commits for the author of pull requests.
    pub author_email: &'static str,
}

/// A forge on which the suite runs.
#[async_trait]
pub trait Rig: Send + Sync {
    /// Name of the rig, the first part of every trial's: `local`, `github`.
    fn name(&self) -> &str;

    /// Capabilities of the forge, by which the trials are chosen.
    fn capabilities(&self) -> &'static Capabilities;

    /// In what it differs.
    fn facts(&self) -> Facts;

    /// Cases excluded by the nature of the forge, as `module::case`, each with the reason.
    fn exceptions(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// A fresh repository. The git side has a branch `main` as [`GitDir::init`] makes it, which is
    /// the default branch; no pull requests, and the labels that every new repository there has.
    async fn fixture(&self) -> Fixture;
}

/// A fresh repository with two accounts that may write to it.
pub struct Fixture {
    /// The handle of the account that opens pull requests.
    pub author: Repo,
    /// The handle of another account.
    pub reviewer: Repo,
    /// The repository's git side: the forge sees its commits.
    pub git: GitDir,
    /// The board that keeps the values of issues, where the forge has boards.
    pub board: Option<BoardId>,
    /// Facts of the rig's forge.
    pub facts: Facts,
    /// Values that must live as long as the repository: a directory, a server.
    pub keep: Box<dyn Any + Send + Sync>,
}

impl Fixture {
    /// The login of [`Self::author`].
    pub async fn author_login(&self) -> String {
        self.author.viewer().await.unwrap().login
    }

    /// The login of [`Self::reviewer`].
    pub async fn reviewer_login(&self) -> String {
        self.reviewer.viewer().await.unwrap().login
    }

    /// Commits a file of its own on a new branch.
    pub fn feature(&self, branch: &str) -> String {
        let path = format!("{}.txt", branch.replace('/', "-"));
        self.git.commit(
            branch,
            &format!("Add {path}"),
            &[(&path, Some("one\ntwo\nthree\n"))],
        )
    }

    /// Opens a pull request from a new branch whose one commit adds a file.
    pub async fn open(&self, branch: &str) -> PullRequest {
        self.feature(branch);
        self.open_from(branch).await
    }

    /// Opens a pull request from an existing branch.
    pub async fn open_from(&self, branch: &str) -> PullRequest {
        let req = CreatePull::new(branch, format!("Title of {branch}"));
        self.author.create(&req).await.unwrap().value
    }

    /// Opens a pull request whose file `src/lib.rs` is changed in line 10 on both sides.
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

    /// The pull request as it is now.
    pub async fn view(&self, id: &PrId) -> PullRequest {
        self.author.view(id, PrFields::NONE).await.unwrap()
    }

    /// Defines labels, or keeps existing ones.
    pub async fn define(&self, names: &[&str]) {
        for name in names {
            let label = NewLabel {
                name: (*name).to_owned(),
                overwrite: true,
                ..NewLabel::default()
            };
            self.author.define_label(&label).await.unwrap();
        }
    }

    /// Defines a field of issues, where the forge takes values of defined fields alone.
    pub async fn define_field(&self, name: &str, options: &[&str]) {
        let table = self.author.client().forge().capabilities();
        if !table.has(Capability::IssueFieldEdit) {
            return;
        }
        let field = IssueField {
            name: name.to_owned(),
            options: options.iter().map(|o| (*o).to_owned()).collect(),
        };
        let board = self.board.as_ref();
        self.author.define_issue_field(board, &field).await.unwrap();
    }

    /// Defines the labels that keep relations, where labels do.
    pub async fn define_relations(&self) {
        let table = self.author.client().forge().capabilities();
        if let Support::Emulated { .. } = table.get(Capability::IssueRelations) {
            for name in ["parent", "blocked-by"] {
                self.define_field(name, &[]).await;
            }
        }
    }

    /// The head of a branch of this repository.
    #[must_use]
    pub fn head(branch: &str) -> HeadRef {
        HeadRef::branch(branch)
    }
}

/// A shared rig.
pub type SharedRig = Arc<dyn Rig>;
