//! Loads the configured workflow.
//!
//! A workflow is a set of states for issues. Its definition is a built-in preset or a file.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use forge_core::{
    Capability, Error, ErrorKind, Repo, RepoPath, Result, Trust, model::BoardId, text::one_line,
};
use forge_git::{WorkingDir, blocking, command_line};
use forge_workflow::{Definition, FieldStore, LabelStore, Store, Workflow};

use crate::{Config, Forges, resolve};

/// Maximum size of a workflow definition, in bytes.
const MAX_DEFINITION: u64 = 1 << 20;
/// Default prefix of labels that store a state.
const DEFAULT_PREFIX: &str = "state: ";
/// Prefix of a value of `workflow.definition` that is a path in the repository.
pub const DEFINITION_IN_REPO: &str = "repo:";

impl Forges {
    /// Returns the configured workflow of `repo`. Without a configuration, this is the built-in
    /// workflow `ralph`. By default, states are stored in issue fields if the forge has such fields
    /// without setup, otherwise in labels.
    ///
    /// # Errors
    /// `config` for an unusable definition or board, and for a definition in a work tree of `repo`.
    pub async fn workflow(&self, repo: &Repo) -> Result<Workflow> {
        let text = self.definition_text(Some(repo)).await?;
        let store = store(self.config(), repo)?;
        Ok(Workflow::new(
            repo.clone(),
            Definition::parse(&text)?,
            store,
        ))
    }

    /// Returns the workflow in which a merge changes the states of issues. `None` if the user has
    /// configured neither a workflow nor where its states are stored.
    ///
    /// # Errors
    /// The errors of [`Self::workflow`].
    pub async fn merge_workflow(&self, repo: &Repo) -> Result<Option<Workflow>> {
        match self.config().chooses_workflow() {
            true => self.workflow(repo).await.map(Some),
            false => Ok(None),
        }
    }

    /// Returns the text of the configured workflow definition. If the definition is a path in the
    /// repository, reads it from `repo`.
    ///
    /// # Errors
    /// `config` if the file is missing or unreadable, is in a work tree of `repo`, or may be
    /// tracked by git. `config` also if the definition is a path in a git repository without a
    /// configured default branch.
    pub async fn definition_text(&self, repo: Option<&Repo>) -> Result<String> {
        if let Some(repo) = repo {
            self.check_definition_place(repo).await?;
        }
        definition_text(self.config(), repo).await
    }

    /// Refuses a definition file in a work tree of `repo`, because a branch under review may be
    /// checked out there. A clone of `repo` is not always recognised. A file that git may track is
    /// therefore refused in every work tree.
    async fn check_definition_place(&self, repo: &Repo) -> Result<()> {
        let named = self.config().workflow_definition().unwrap_or_default();
        let path = PathBuf::from(&named);
        if path.is_relative() {
            return Ok(());
        }
        for (root, inside) in blocking(move || Ok(work_trees_with(path))).await? {
            let place = WorkingDir::at(&root, Trust::Guarded);
            if !resolve::belongs_to(self, &place, repo).await {
                let tree = root.display();
                let why = match is_tracked(&place, &inside).await {
                    Ok(false) => continue,
                    Ok(true) => format!(
                        "git tracks it in the work tree {tree}, and the branch checked out there \
                         may be one under review"
                    ),
                    Err(e) => format!("git cannot tell whether the file is tracked in {tree}: {e}"),
                };
                let next =
                    "copy it out of the work tree and name the copy in `workflow.definition`";
                return Err(unreadable(&named, &why).with_hint(next));
            }
            let inside = inside.display();
            let why = "it is in a work tree, and the branch checked out there may be one under \
                       review";
            return Err(unreadable(&named, why).with_hint(format!(
                "set `workflow.definition` to {DEFINITION_IN_REPO}{inside} for the default branch's \
                 file"
            )));
        }
        Ok(())
    }
}

/// Returns the work trees that contain `path` or, if `path` is a link, its target. Each work tree
/// is returned with the path of the file in it.
fn work_trees_with(path: PathBuf) -> Vec<(PathBuf, PathBuf)> {
    let target = fs::canonicalize(&path).ok();
    let paths = [Some(path), target].into_iter().flatten();
    let mut trees = Vec::new();
    for path in paths {
        // Work trees can be nested, so all parent directories are examined.
        for root in path.ancestors().skip(1) {
            // If `.git` cannot be examined, the directory counts as a work tree here. A later call
            // of git then decides.
            if root.join(".git").try_exists().unwrap_or(true) {
                let inside = path.strip_prefix(root).unwrap_or(&path);
                trees.push((root.to_owned(), inside.to_owned()));
            }
        }
    }
    trees
}

/// Returns true if git tracks the file `inside` of the work tree `place`.
async fn is_tracked(place: &WorkingDir, inside: &Path) -> Result<bool> {
    let mut file = OsString::from(":(literal)");
    file.push(inside);
    let args = ["ls-files", "-z", "--"].map(OsString::from);
    let listed = place.git().run_ok(args.into_iter().chain([file])).await?;
    Ok(!listed.is_empty())
}

/// Returns the error for a definition that forge refuses to use.
fn unreadable(named: &str, why: &str) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("the definition of the workflow, {named}, cannot be read: {why}"),
    )
    .with_hint("correct `workflow.definition`, or write the file")
}

async fn definition_text(config: &Config, repo: Option<&Repo>) -> Result<String> {
    let Some(named) = config.workflow_definition() else {
        let preset = config.workflow_preset().unwrap_or_default();
        return Ok(Definition::preset_text(&preset)?.to_owned());
    };
    let wrong = |why: String| unreadable(&named, &why);
    let Some(path) = named.strip_prefix(DEFINITION_IN_REPO) else {
        if Path::new(&named).is_relative() {
            let why = "a relative path means a different file in each work tree, and such a file \
                       may be under review";
            return Err(wrong(why.to_owned()).with_hint(format!(
                "set `workflow.definition` to an absolute path, or to {DEFINITION_IN_REPO}{named} for \
                 the default branch's file"
            )));
        }
        return blocking(move || read_definition(&named)).await;
    };
    let Some(repo) = repo else {
        return Err(wrong(
            "it is in a repository, but no repository is given".to_owned(),
        ));
    };
    // The file is read only from the default branch. Otherwise a branch under review could define
    // the effects of its own merge.
    let mut default = None;
    if let RepoPath::Dir(dir) = &repo.id().path {
        let info = repo.info().await?;
        if info.default_is_guessed {
            let branch = info.default_branch.unwrap_or_default();
            let why = format!(
                "no default branch is configured, and the guessed branch {} may be one under \
                 review",
                one_line(&branch)
            );
            return Err(wrong(why).with_hint(format!(
                "name the default branch with `{} BRANCH`",
                command_line([
                    "git",
                    "-C",
                    &*dir.to_string_lossy(),
                    "config",
                    "forge.defaultBranch"
                ])
            )));
        }
        default = info.default_branch;
    }
    let bytes = repo.repo_file(path, default.as_deref()).await?;
    let bytes = bytes.ok_or_else(|| wrong("the default branch has no such file".to_owned()))?;
    String::from_utf8(bytes).map_err(|e| wrong("it is not UTF-8".to_owned()).with_source(e))
}

fn read_definition(named: &str) -> Result<String> {
    let failed = |e: io::Error| unreadable(named, &e.to_string()).with_source(e);
    // Opening a pipe would block until another process writes to it.
    if !fs::metadata(named).map_err(failed)?.is_file() {
        return Err(unreadable(named, "it is not a regular file"));
    }
    let file = fs::File::open(named).map_err(failed)?;
    let mut text = String::new();
    file.take(MAX_DEFINITION + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    match text.len() as u64 > MAX_DEFINITION {
        true => Err(unreadable(named, "it is larger than 1 MiB")),
        false => Ok(text),
    }
}

fn store(config: &Config, repo: &Repo) -> Result<Box<dyn Store>> {
    let board = config.workflow_board();
    let board: Option<BoardId> = board.map(|board| board.parse()).transpose()?;
    let prefix = config.workflow_label_prefix();
    let has_fields = repo.supports(Capability::IssueValues);
    let needs_board = repo.supports(Capability::IssueBoard);
    let fields = match config.workflow_store().as_deref() {
        Some("labels") => false,
        Some(_) => true,
        None => board.is_some() || (prefix.is_none() && has_fields && !needs_board),
    };
    if !fields {
        let prefix = prefix.unwrap_or_else(|| DEFAULT_PREFIX.to_owned());
        return Ok(Box::new(LabelStore::new(prefix)));
    }
    if needs_board && board.is_none() {
        return Err(Error::new(
            ErrorKind::Config,
            "`workflow.store` is `fields`, but `workflow.board` is not set".to_owned(),
        )
        .with_hint("set `workflow.board` to OWNER/NUMBER, or `workflow.store` to labels"));
    }
    Ok(Box::new(FieldStore::new(board.filter(|_| needs_board))))
}
