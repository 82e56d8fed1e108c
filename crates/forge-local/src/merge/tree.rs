//! Three-way merges of trees, without a work tree.

use forge_core::{Error, Precondition, Result, text};

use crate::{Local, store::Pull};

/// How many conflicting files a message names; the error itself has all of them.
const NAMED: usize = 5;

/// What a merge came to.
#[derive(Debug)]
pub(super) enum Merged {
    /// The merged tree.
    Clean(String),
    /// The files that conflict.
    Conflicts(Vec<String>),
}

impl Local {
    /// Merges `theirs` into `ours` from the merge base that their histories give.
    pub(super) async fn merge_trees(
        &self,
        ours: &str,
        theirs: &str,
        unrelated: bool,
    ) -> Result<Merged> {
        let mut args = vec![
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
        ];
        if unrelated {
            args.push("--allow-unrelated-histories");
        }
        args.extend(["--end-of-options", ours, theirs]);
        let output = self.git().run(args).await?;
        let mut fields = output.stdout.split(|b| *b == 0);
        let tree = fields
            .next()
            .map(|t| String::from_utf8_lossy(t).trim().to_owned());
        match (output.status, tree.filter(|t| !t.is_empty())) {
            (0, Some(tree)) => Ok(Merged::Clean(tree)),
            (1, Some(_)) => {
                let names = fields.take_while(|f| !f.is_empty());
                let mut files: Vec<String> = names
                    .map(|f| String::from_utf8_lossy(f).into_owned())
                    .collect();
                files.sort();
                files.dedup();
                Ok(Merged::Conflicts(files))
            }
            _ => Err(output.error("merge-tree")),
        }
    }
}

/// The refusal of a merge that conflicts.
pub(super) fn conflict(pull: &Pull, files: Vec<String>, at: Option<&str>) -> Error {
    let shown: Vec<_> = files
        .iter()
        .take(NAMED)
        .map(|f| text::one_line(f).into_owned())
        .collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let at = at.map_or(String::new(), |oid| format!(" at commit {oid}"));
    let base = text::one_line(&pull.snapshot.base_branch).into_owned();
    let head = text::one_line(&pull.snapshot.head_branch).into_owned();
    let message = format!(
        "#{} conflicts with '{base}'{at} in {}{more}; nothing was changed",
        pull.number,
        shown.join(", ")
    );
    Error::precondition(Precondition::Conflicts(files), message).with_hint(format!(
        "merge '{base}' into '{head}' (or rebase '{head}' onto it), solve the conflicts there, and try again"
    ))
}
