//! Diffs, changed files and commits.

mod commits;
mod files;

use forge_core::{
    Error, ErrorKind, Noun, Result, Warning,
    model::{Diff, DiffFormat, DiffReq},
};

use forge_git::{Merged, TwoHeads};

pub(crate) use self::commits::{co_author, trailer_lines};
use crate::{Local, pulls::MergeBases, store::StoredPull};

/// What a pull request changes: the diff from `base` to `result`.
///
/// With one merge base, these are the merge base and the head. With several, the tip of the base
/// branch and the tree after the merge, so that the diff has all changes that a merge brings.
pub(crate) struct DiffRange {
    pub base: String,
    pub result: String,
    /// Set if the diff can lack changes that a merge would bring.
    pub warning: Option<Warning>,
}

impl Local {
    pub(crate) async fn pull_diff(&self, number: u64, req: &DiffReq) -> Result<Diff> {
        let mut cat = self.store.cat();
        let pull = self.store.read(&mut cat, number).await?;
        let range = self.range(&pull).await?;
        let context_lines = req.context_lines.unwrap_or(3);
        if let Some(since) = &req.since {
            let git = self.git();
            let found = git.find_commit(since).await?;
            let old = found.ok_or_else(|| forge_git::commit_is_gone(since, "the repository"))?;
            let heads = TwoHeads {
                old: &old,
                new: pull.head()?,
                base: pull.base()?,
            };
            return git.diff_since(heads, context_lines).await;
        }
        let context = format!("-U{context_lines}");
        let args: Vec<String> = match req.format {
            DiffFormat::Diff => {
                let args = diff_args(&["-p", &context], &range);
                args.into_iter().map(str::to_owned).collect()
            }
            DiffFormat::Patch => forge_git::mail_args(&context, pull.base()?, pull.head()?),
        };
        let mut diff = Diff::new(pull.head()?, self.git_for_diffs().stream(args)?);
        let is_series = req.format == DiffFormat::Patch && range.result != diff.head_oid;
        diff.warnings.extend(is_series.then(series_warning));
        diff.warnings.extend(range.warning);
        diff.base_oid = Some(range.base);
        diff.context_lines = Some(context_lines);
        Ok(diff)
    }

    /// Returns what `pull` changes. Fails if an object is missing.
    pub(crate) async fn range(&self, pull: &StoredPull) -> Result<DiffRange> {
        let (tip, head) = (pull.base()?, pull.head()?);
        let mut range = DiffRange {
            base: tip.to_owned(),
            result: head.to_owned(),
            warning: None,
        };
        match self.merge_bases_of(pull).await? {
            MergeBases::One(base) => range.base = base,
            MergeBases::Several { preferred } => {
                match self.git().merge_trees(tip, head, false).await {
                    Ok(Merged::Clean(tree)) => range.result = tree,
                    Ok(Merged::Conflicts(_)) => {
                        range.base = preferred;
                        range.warning = Some(conflict_warning(pull.number));
                    }
                    Err(e) if matches!(e.kind(), ErrorKind::Timeout { .. }) => {
                        range.base = preferred;
                        range.warning = Some(endless_merge_warning(pull.number, &e));
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        let ends = [&range.base, &range.result];
        let found = self.store.cat().info_many(&ends).await?;
        let gone = found.iter().zip(ends).find(|(info, _)| info.is_none());
        match gone {
            None => Ok(range),
            Some((_, oid)) => Err(Error::not_found(
                Noun::Commit,
                format!("the commit {oid}, which #{} needs, is gone", pull.number),
            )
            .with_hint("fetch the commit from a repository that has it")),
        }
    }

    /// Returns the commit on the left side of the diff of `pull`.
    pub(crate) async fn left_side(&self, pull: &StoredPull) -> Result<String> {
        match self.merge_bases_of(pull).await? {
            MergeBases::One(base) => Ok(base),
            MergeBases::Several { .. } => Ok(pull.base()?.to_owned()),
        }
    }
}

/// Returns the warning for a diff of branches with several merge bases that conflict.
fn conflict_warning(number: u64) -> Warning {
    Warning::new(format!(
        "head and base of #{number} were merged into each other and conflict now: the diff starts \
         at one of several merge bases, and can lack changes that a merge would bring"
    ))
    .with_hint("solve the conflicts on the head branch, and read the diff again")
}

/// Returns the warning for a diff of branches with several merge bases whose merge takes too long.
fn endless_merge_warning(number: u64, e: &Error) -> Warning {
    Warning::new(format!(
        "the diff of #{number} starts at one of several merge bases, and can lack changes that a \
         merge would bring: {}",
        e.message()
    ))
    .with_hint("merge by hand with `git merge -s resolve`, and look at the result")
}

/// Returns the warning for a series of commits that does not add up to what a merge brings.
fn series_warning() -> Warning {
    Warning::new(
        "head and base were merged into each other, so the commits do not show all changes that a \
         merge brings",
    )
    .with_hint("read the diff without the option for patches")
}

/// Returns the arguments of `git diff-tree` for `range`. `form` has the options for the output
/// format.
pub(crate) fn diff_args<'a>(form: &[&'a str], range: &'a DiffRange) -> Vec<&'a str> {
    forge_git::diff_args(form, &range.base, &range.result)
}
