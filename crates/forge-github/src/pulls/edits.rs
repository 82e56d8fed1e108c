//! Opens a pull request from whole-file edits: GitHub creates branch, commit and pull request in
//! one document, whose mutations run in order.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use forge_core::{
    Action, Error, Hint, Noun, Op, Param, RepoId, Result, Warning,
    model::{CreatePull, FileEdit, HeadRef},
};
use forge_git::branch_problem;
use serde_json::{Map, Value, json};
use sha1::{Digest as _, Sha1};

use super::head_branch::quote_branch;
use crate::{
    GitHub,
    api::GqlAnswer,
    gql::{
        GqlDocument,
        lookups::{BranchFile, branch_exists, branch_files},
        mutation::{Batch, CREATE_COMMIT, CREATE_REF, DELETE_REF},
    },
    hints::CHOOSE_HEAD,
    mutate::{Payloads, PullPayload},
    owner_and_name, repo_variables,
};

/// The alias of the branch in a batch.
const BRANCH: &str = "branch";
/// The alias of the commit in a batch.
const COMMIT: &str = "commit";

/// Checked edits, and the commit on which they are based.
#[derive(Debug)]
pub(super) struct CheckedEdits {
    /// The tip of the base branch.
    tip: String,
    changes: Value,
    /// Names the edits that change nothing.
    pub left_out: Option<Warning>,
}

/// Returns the request with a head branch, named after the title if the request names none. Fails
/// if the name is invalid.
pub(super) fn with_branch(req: &CreatePull) -> Result<CreatePull> {
    let mut req = req.clone();
    if req.head.branch.is_empty() {
        req.head = HeadRef::branch(FileEdit::branch_name(&req.title));
    }
    match branch_problem(&req.head.branch) {
        None => Ok(req),
        Some(problem) => Err(Error::invalid(
            "head",
            format!(
                "{} is not a branch name: {problem}",
                quote_branch(&req.head.branch)
            ),
        )
        .with_hint(other_name_hint())),
    }
}

fn other_name_hint() -> Hint {
    Hint::new("pass another name for the new branch, or no name").with_action(CHOOSE_HEAD)
}

/// Returns the paths to look up in the base branch: edited files, and the parent directories of
/// written files.
pub(super) fn paths_to_check(edits: &[FileEdit]) -> Vec<&str> {
    let mut paths: Vec<&str> = edits.iter().map(|e| e.path.as_str()).collect();
    let mut known: BTreeSet<&str> = paths.iter().copied().collect();
    let written = edits.iter().filter(|e| e.content.is_some());
    for directory in written.flat_map(FileEdit::directories) {
        if known.insert(directory) {
            paths.push(directory);
        }
    }
    paths
}

/// Checks the edits against the base branch; `repo` is the repository's part of the answer.
pub(super) fn check(
    repo: &Map<String, Value>,
    req: &CreatePull,
    base: &str,
) -> Result<Option<CheckedEdits>> {
    if req.edits.is_empty() {
        return Ok(None);
    }
    if branch_exists(repo, "headRef") {
        return Err(Error::branch_exists(
            "head",
            format!(
                "the branch {} already exists, and edits of files need a new one",
                quote_branch(&req.head.branch)
            ),
        )
        .with_hint(other_name_hint()));
    }
    changes(repo, &req.edits, base).map(Some)
}

/// Returns the tip of the looked-up branch; `None` if the branch does not exist.
pub(super) fn tip(repo: &Map<String, Value>) -> Option<String> {
    branch_files(repo).map(|(tip, _)| tip)
}

/// Builds the file changes for a branch; `repo` is the repository's part of the answer.
pub(super) fn changes(
    repo: &Map<String, Value>,
    edits: &[FileEdit],
    base: &str,
) -> Result<CheckedEdits> {
    let (tip, there) = branch_files(repo).ok_or_else(|| {
        Error::not_found(
            Noun::Branch,
            format!("the commit of branch {} cannot be read", quote_branch(base)),
        )
        .with_hint("check whether the account may read the files of the repository")
    })?;
    let (mut additions, mut deletions, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
    let paths = paths_to_check(edits);
    let entries: BTreeMap<&str, &Option<BranchFile>> = paths.into_iter().zip(&there).collect();
    let entry_of = |path: &str| entries.get(path).copied()?.as_ref();
    FileEdit::check_directories(edits, base, |path| entry_of(path).map(|e| e.mode))?;
    for edit in edits {
        let there = entry_of(&edit.path);
        let mode = edit.mode_on(base, there.map(|e| e.mode))?;
        match &edit.content {
            None => deletions.push(json!({ "path": edit.path })),
            Some(content) => {
                check_mode(edit, mode, there)?;
                if there.is_some_and(|e| e.oid == blob_id(content)) {
                    unchanged.push(edit);
                    continue;
                }
                let contents = STANDARD.encode(content);
                additions.push(json!({ "path": edit.path, "contents": contents }));
            }
        }
    }
    let left_out = FileEdit::check_unchanged(&unchanged, edits, base)?;
    Ok(CheckedEdits {
        tip,
        left_out,
        changes: json!({ "additions": additions, "deletions": deletions }),
    })
}

/// Checks a file mode. GitHub's mutation cannot set modes: existing files keep their modes, and new
/// files are not executable.
fn check_mode(edit: &FileEdit, mode: Option<u32>, there: Option<&BranchFile>) -> Result<()> {
    let kept = there.map_or(FileEdit::PLAIN, |e| e.mode);
    if mode == Some(kept) {
        return Ok(());
    }
    Err(Error::invalid(
        "edits",
        format!(
            "cannot change '{}' to {}: GitHub accepts no file modes in edits of files",
            edit.shown(),
            if kept == FileEdit::EXECUTABLE {
                "a plain file"
            } else {
                "an executable file"
            }
        ),
    )
    .with_hint("leave its mode out, and set it in a clone with `git update-index --chmod`"))
}

/// Computes git's id of a blob (gitformat-loose(5): a header, then the content).
fn blob_id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

impl CheckedEdits {
    /// Returns the `fileChanges` input of GitHub's mutation.
    pub fn into_changes(self) -> Value {
        self.changes
    }

    /// Adds the mutations that create the branch and the commit. Both run before the pull request
    /// is opened.
    pub fn add_to(
        &self,
        batch: &mut Batch,
        repo: &RepoId,
        repo_id: &str,
        req: &CreatePull,
    ) -> Result<()> {
        let (owner, name) = owner_and_name(repo)?;
        let head = &req.head.branch;
        batch.push(
            BRANCH,
            CREATE_REF,
            json!({
                "repositoryId": repo_id,
                "name": format!("refs/heads/{head}"),
                "oid": self.tip,
            }),
        );
        batch.push(
            COMMIT,
            CREATE_COMMIT,
            json!({
                "branch": {
                    "repositoryNameWithOwner": format!("{owner}/{name}"),
                    "branchName": head,
                },
                "expectedHeadOid": self.tip,
                "message": { "headline": req.title.trim() },
                "fileChanges": self.changes,
            }),
        );
        Ok(())
    }
}

impl GitHub {
    /// Deletes the branch after GitHub refused to open the pull request. Returns the error of the
    /// first failed mutation. The error mentions the branch if the deletion failed.
    pub(super) async fn delete_unopened_branch(
        &self,
        answer: &GqlAnswer<Payloads<PullPayload>>,
        req: &CreatePull,
    ) -> Error {
        // Only the first error counts, because it makes the later mutations fail.
        let error = self.api.first_error(answer);
        let payloads = answer.data.as_ref();
        let made = payloads.and_then(|p| p.get(BRANCH)?.as_ref()?.branch.as_ref());
        let Some(made) = made else {
            return error;
        };
        let deleted = self
            .send_one::<Value>(DELETE_REF, json!({ "refId": made.id }))
            .await;
        match deleted {
            Ok(_) => error,
            Err(e) if e.is_not_found() => error,
            Err(e) => branch_left_error(error, req, &format!(" ({})", e.message())),
        }
    }

    /// Called if the answer to a request was lost and no pull request was opened. If GitHub has the
    /// branch, the returned error says so.
    pub(super) async fn look_for_branch(
        &self,
        repo: &RepoId,
        req: &CreatePull,
        error: Error,
    ) -> Error {
        let Ok(mut variables) = repo_variables(repo) else {
            return error;
        };
        let full = format!("refs/heads/{}", req.head.branch);
        variables.insert("branch".into(), json!(full));
        let text = GqlDocument::query("Branch").text();
        let answer = self.api.query::<Value>(&text, &variables.into()).await;
        let found = answer.ok().and_then(|a| a.data).is_some_and(|data| {
            let found = data.pointer("/repository/ref");
            found.is_some_and(|r| !r.is_null())
        });
        if found {
            branch_left_error(error, req, "")
        } else {
            error
        }
    }
}

/// Returns the error of an attempt that left its branch on GitHub.
fn branch_left_error(error: Error, req: &CreatePull, why: &str) -> Error {
    let branch = &req.head.branch;
    let message = format!(
        "{}; the new branch {} was created and still exists{why}",
        error.message(),
        quote_branch(branch)
    );
    let retry = error.retry();
    Error::new(error.kind().clone(), message)
        .with_retry(retry)
        .with_hint(Hint::new(LEFT).with_action(open_from(req)))
        .with_source(error)
}

/// Recovery for a branch without a pull request.
const LEFT: &str = "open the pull request from that branch, or delete it with \
                    `git push <remote> --delete <branch>`";

/// Returns the call that opens the pull request from the existing branch.
fn open_from(req: &CreatePull) -> Action {
    let mut open = Action::op(Op::PrCreate)
        .with(Param::Head, &req.head.branch)
        .with(Param::Title, &req.title);
    if !req.description.is_empty() {
        open = open.with(Param::Body, &req.description);
    }
    match &req.base {
        Some(base) => open.with(Param::Base, base),
        None => open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_ids_match_git() {
        assert_eq!(blob_id(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(
            blob_id(b"hello\n"),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
    }
}
