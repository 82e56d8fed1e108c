//! Diffs, changed files and commits.

mod commits;
mod files;

use forge_core::{
    Error, Noun, Result,
    model::{Diff, DiffFormat, DiffReq},
};

use forge_git::TwoHeads;

use crate::{Local, store::StoredPull};

pub(crate) struct DiffRange {
    /// The merge base.
    pub base: String,
    pub head: String,
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
                new: &range.head,
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
            DiffFormat::Patch => forge_git::mail_args(&context, pull.base()?, &range.head),
        };
        let mut diff = Diff::new(range.head, self.git_for_diffs().stream(args)?);
        diff.base_oid = Some(range.base);
        diff.context_lines = Some(context_lines);
        Ok(diff)
    }

    /// Returns the two ends of the diff of `pull`. Fails if one of them is missing.
    pub(crate) async fn range(&self, pull: &StoredPull) -> Result<DiffRange> {
        let range = DiffRange {
            base: self.merge_base_of(pull).await?,
            head: pull.head()?.to_owned(),
        };
        let found = self
            .store
            .cat()
            .info_many(&[&range.base, &range.head])
            .await?;
        let gone = found
            .iter()
            .zip([&range.base, &range.head])
            .find(|(info, _)| info.is_none());
        match gone {
            None => Ok(range),
            Some((_, oid)) => Err(Error::not_found(
                Noun::Commit,
                format!("the commit {oid}, which #{} needs, is gone", pull.number),
            )
            .with_hint("fetch the commit from a repository that has it")),
        }
    }
}

/// Returns the arguments of `git diff-tree` for `range`. `form` has the options for the output
/// format.
pub(crate) fn diff_args<'a>(form: &[&'a str], range: &'a DiffRange) -> Vec<&'a str> {
    forge_git::diff_args(form, &range.base, &range.head)
}
