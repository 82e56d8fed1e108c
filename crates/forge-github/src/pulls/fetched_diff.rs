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
        let git = Git::at(&clone.dir).with_trust(clone.trust);
        let (Some(base), Some(head)) = (pull.base_oid.as_deref(), pull.head_oid.as_deref()) else {
            return Err(Error::new(
                ErrorKind::Protocol,
                format!("{} does not say what it compares", self.info.host),
            ));
        };
        let base_ref = format!("refs/heads/{}", pull.base_branch);
        let mut wanted = Vec::new();
        if !git.has_commit(head).await {
            wanted.push(Self::head_ref(number(pr)?));
        }
        // The base of a merged one may no longer be reachable from its branch, but was the branch's.
        if !git.has_commit(base).await {
            wanted.push(base_ref);
        }
        if !wanted.is_empty() {
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            git.fetch_objects(&clone.remote, &wanted).await?;
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
