//! The diff that GitHub does not send, made by git in a clone.

use forge_core::{
    Error, ErrorKind, Noun, PrId, Result,
    model::{Diff, DiffFormat, DiffReq, LocalClone, PrFields},
};
use forge_git::Git;

use crate::{GitHub, number};

impl GitHub {
    /// Fetches both ends into the clone, which gets no ref of them, and lets git make the diff.
    pub(super) async fn fetched_diff(
        &self,
        pr: &PrId,
        req: &DiffReq,
        clone: &LocalClone,
    ) -> Result<Diff> {
        let pull = self.fetch(pr, PrFields::NONE).await?;
        let git = Git::at(&clone.dir);
        let (Some(base), Some(head)) = (pull.base_oid.as_deref(), pull.head_oid.as_deref()) else {
            return Err(Error::new(
                ErrorKind::Protocol,
                format!("{} does not say what it compares", self.info.host),
            ));
        };
        let base_ref = format!("refs/heads/{}", pull.base_branch);
        let mut wanted = Vec::new();
        if !has(&git, head).await {
            wanted.push(Self::head_ref(number(pr)?));
        }
        // The base of a merged one may no longer be reachable from its branch, but was the branch's.
        if !has(&git, base).await {
            wanted.push(base_ref);
        }
        if !wanted.is_empty() {
            let options = [
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-recurse-submodules",
                // Not into the remote-tracking branch either.
                "--refmap=",
                "--end-of-options",
                &clone.remote,
            ];
            let args = options.into_iter().chain(wanted.iter().map(String::as_str));
            git.run_ok(args).await?;
        }
        let merge_base = git.run_ok(["merge-base", base, head]).await?;
        let merge_base = String::from_utf8_lossy(&merge_base).trim().to_owned();
        if merge_base.is_empty() {
            return Err(Error::not_found(
                Noun::Commit,
                format!("{base} and {head} have no commit in common here"),
            ));
        }
        let context = format!("-U{}", req.context_lines.unwrap_or(3));
        let body = match req.format {
            DiffFormat::Diff => {
                git.stream(forge_git::diff_args(&["-p", &context], &merge_base, head))?
            }
            DiffFormat::Patch => git.stream(forge_git::mail_args(&context, base, head))?,
        };
        Ok(Diff {
            base_oid: Some(merge_base),
            head_oid: head.to_owned(),
            body,
            warnings: Vec::new(),
        })
    }
}

async fn has(git: &Git, oid: &str) -> bool {
    let commit = format!("{oid}^{{commit}}");
    git.run_ok(["cat-file", "-e", &commit]).await.is_ok()
}
