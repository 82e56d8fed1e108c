//! Diffs, changed files and commits.

mod commits;
mod files;

use forge_core::{
    Error, Noun, Result,
    model::{Diff, DiffFormat, DiffReq},
};

use crate::{Local, store::Pull};

/// Settings of git itself that would change what a diff looks like.
const SETTINGS: [&str; 6] = [
    "-c",
    "core.quotePath=true",
    "-c",
    "diff.suppressBlankEmpty=false",
    "-c",
    "diff.renameLimit=1000",
];

/// Options that switch the user's own taste off.
const PLAIN: [&str; 14] = [
    "-M",
    "--full-index",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--diff-algorithm=default",
    "--indent-heuristic",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "--ignore-submodules=none",
    "--inter-hunk-context=0",
    "--ws-error-highlight=none",
];

/// The same for a series of mails.
const PLAIN_MAIL: [&str; 24] = [
    // "auto" alone would leave a "true" of the user's standing.
    "-c",
    "format.numbered=false",
    "-c",
    "format.numbered=auto",
    "-c",
    "format.signOff=false",
    "-c",
    "format.encodeEmailHeaders=true",
    "-c",
    "format.noprefix=false",
    "-c",
    "format.mboxrd=false",
    "format-patch",
    "--stdout",
    "--no-attach",
    "--no-thread",
    "--no-cover-letter",
    "--no-to",
    "--no-cc",
    "--no-add-header",
    "--no-from",
    "--no-base",
    "--no-notes",
    "--subject-prefix=PATCH",
];

/// The two ends of a diff.
pub(crate) struct Range {
    /// The merge base.
    pub base: String,
    pub head: String,
}

impl Local {
    pub(crate) async fn pull_diff(&self, number: u64, req: &DiffReq) -> Result<Diff> {
        let mut cat = self.store.cat();
        let pull = self.store.read(&mut cat, number).await?;
        let range = self.range(&pull).await?;
        let context = format!("-U{}", req.context_lines.unwrap_or(3));
        let args: Vec<&str> = match req.format {
            DiffFormat::Diff => diff_args(&["-p", &context], &range),
            DiffFormat::Patch => {
                let mut args = SETTINGS.to_vec();
                args.extend(PLAIN_MAIL);
                args.extend(PLAIN);
                // The user's order of files.
                args.extend([context.as_str(), "-O/dev/null", "--no-signature"]);
                args.push(range.head.as_str());
                args
            }
        };
        let mut args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        if req.format == DiffFormat::Patch {
            args.push(format!("^{}", pull.base()?));
        }
        Ok(Diff {
            body: self.git().stream(args)?,
            base_oid: Some(range.base),
            head_oid: range.head,
            warnings: Vec::new(),
        })
    }

    /// The ends of the diff of `pull`; both are there.
    pub(crate) async fn range(&self, pull: &Pull) -> Result<Range> {
        let range = Range {
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
            .with_hint("fetch it again from wherever it was")),
        }
    }
}

/// The arguments of a `git diff-tree` over `range` in form `form`.
pub(crate) fn diff_args<'a>(form: &[&'a str], range: &'a Range) -> Vec<&'a str> {
    let mut args = SETTINGS.to_vec();
    args.extend(["--literal-pathspecs", "diff-tree", "-r"]);
    args.extend(PLAIN);
    args.extend(form);
    args.extend(["--end-of-options", &range.base, &range.head]);
    args
}
