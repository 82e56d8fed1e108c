//! The work tree that has the base branch checked out: a merge leaves its files as they were.

use forge_core::{Result, Warning, text};
use forge_git::Git;

use crate::{Local, shell::quoted, store::Intent};

/// How many commits of the base branch are looked through for the one that a work tree shows.
const LOOKED_THROUGH: &str = "100";

impl Local {
    /// What brings the files of that work tree along, if there is one.
    pub(super) async fn files_left(&self, intent: &Intent) -> Result<Option<Warning>> {
        let base = &intent.base_branch;
        let Some(tree) = self.checked_out_at(base).await? else {
            return Ok(None);
        };
        let shown = shown_in(&tree, &intent.onto).await;
        let dir = quoted(&tree);
        let from = shown.as_ref().unwrap_or(&intent.onto);
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
            text::one_line(base),
            text::one_line(&tree)
        ));
        Ok(Some(warning.with_hint(hint)))
    }
}

/// The commit that the index of the work tree in `dir` has: `onto`, or an older one when the files
/// of an earlier merge were not brought along. Git would take their absence for a change to keep,
/// if it were told to go on from `onto`.
async fn shown_in(dir: &str, onto: &str) -> Option<String> {
    let git = Git::at(dir);
    let (index, commits) = tokio::join!(
        git.run_ok(["write-tree"]),
        git.run_ok([
            "rev-list",
            "--first-parent",
            "-n",
            LOOKED_THROUGH,
            "--no-commit-header",
            "--format=%H %T",
            "--end-of-options",
            onto,
        ])
    );
    let (index, commits) = (index.ok()?, commits.ok()?);
    let index = std::str::from_utf8(&index).ok()?.trim();
    let commits = std::str::from_utf8(&commits).ok()?;
    commits
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(_, tree)| *tree == index)
        .map(|(commit, _)| commit.to_owned())
}
