//! The work tree that has a branch checked out which we move: its files are left as they were.

use forge_core::{Result, Warning, text};
use forge_git::{Git, quoted};

use crate::Local;

/// How many commits of the base branch are looked through for the one that a work tree shows.
const LOOKED_THROUGH: &str = "20";

impl Local {
    /// What brings the files of the work tree along that has `branch` checked out, if there is one;
    /// `before` is where the branch was.
    pub(super) async fn files_left(&self, branch: &str, before: &str) -> Result<Option<Warning>> {
        let Some(tree) = self.checked_out_at(branch).await? else {
            return Ok(None);
        };
        let shown = shown_in(&tree, before).await;
        let dir = quoted(&tree);
        let from = shown.as_deref().unwrap_or(before);
        let mut hint = format!(
            "bring them along, local changes kept, with: git -C {dir} read-tree -m -u {from} HEAD"
        );
        if shown.is_none() {
            hint.push_str(&format!(
                " (its index has changes of its own, see: git -C {dir} diff --cached {from})"
            ));
        }
        let warning = Warning::new(format!(
            "'{}' is checked out in {}, whose files were left as they are",
            text::one_line(branch),
            text::one_line(&tree)
        ));
        Ok(Some(warning.with_hint(hint)))
    }
}

/// The commit that the index of the work tree in `dir` has: `onto`, or an older one when the files
/// of an earlier merge were not brought along. Git would take their absence for a change to keep,
/// if it were told to go on from `onto`.
///
/// The index is compared and never written: `git write-tree` would do it in one step, and lock it.
async fn shown_in(dir: &str, onto: &str) -> Option<String> {
    let git = Git::at(dir);
    let list = [
        "rev-list",
        "--first-parent",
        "-n",
        LOOKED_THROUGH,
        "--end-of-options",
        onto,
    ];
    let commits = git.run_ok(list).await.ok()?;
    for commit in std::str::from_utf8(&commits).ok()?.lines() {
        let compared = git
            .run(["diff-index", "--cached", "--quiet", commit, "--"])
            .await
            .ok()?;
        if compared.status == 0 {
            return Some(commit.to_owned());
        }
    }
    None
}
