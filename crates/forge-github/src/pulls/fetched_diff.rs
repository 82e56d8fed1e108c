//! Makes diffs with git in a clone, for diffs that GitHub does not send.

use forge_core::{
    Error, ErrorKind, Noun, PrId, Result,
    model::{Diff, DiffFormat, DiffReq, LocalClone, PrFields},
};
use forge_git::{Git, TwoHeads};

use crate::{GitHub, number};

pub(super) struct HeadAndBase {
    /// The tip of the base branch.
    pub base: String,
    pub head: String,
    base_branch: String,
}

impl GitHub {
    /// Reads head and base of a pull request.
    pub(super) async fn read_ends(&self, pr: &PrId) -> Result<HeadAndBase> {
        let pull = self.fetch(pr, PrFields::NONE).await?;
        match (pull.base_oid, pull.head_oid) {
            (Some(base), Some(head)) => Ok(HeadAndBase {
                base,
                head,
                base_branch: pull.base_branch,
            }),
            _ => Err(Error::new(
                ErrorKind::Protocol,
                format!("{} sent no head or base commit", self.info.host),
            )),
        }
    }

    /// Fetches head, base and the commit `old` into the clone if they are missing, without creating
    /// a ref.
    ///
    /// # Errors
    ///
    /// Fails with `not_found` if a commit is missing and fetching is not allowed; otherwise as
    /// [`Git::fetch_for_read`] does.
    async fn ends_in_clone(
        &self,
        pr: &PrId,
        ends: &HeadAndBase,
        old: Option<&str>,
        clone: &LocalClone,
        may_fetch: bool,
    ) -> Result<Git> {
        let git = Git::at(&clone.dir).with_trust(clone.trust);
        let mut wanted = Vec::new();
        if !git.has_commit(&ends.head).await {
            wanted.push(Self::head_ref(number(pr)?));
        }
        // The base commit was once the tip of the base branch. A fetch of the branch therefore
        // brings the commit, unless a force push removed it.
        if !git.has_commit(&ends.base).await {
            wanted.push(format!("refs/heads/{}", ends.base_branch));
        }
        if let Some(old) = old
            && !git.has_commit(old).await
        {
            wanted.push(old.to_owned());
        }
        if !wanted.is_empty() && !may_fetch {
            return Err(Error::not_found(
                Noun::Commit,
                format!("{} lacks commits of {pr}", clone.dir.display()),
            ));
        }
        if !wanted.is_empty() {
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            git.fetch_for_read(&clone.remote, &wanted).await?;
        }
        Ok(git)
    }

    /// Makes the diff in the clone. Fetches missing commits unless `prefers_context` is set.
    ///
    /// # Errors
    ///
    /// Fails with `not_found` if commits are missing and may not be fetched.
    pub(super) async fn fetched_diff(
        &self,
        pr: &PrId,
        req: &DiffReq,
        clone: &LocalClone,
    ) -> Result<Diff> {
        let ends = self.read_ends(pr).await?;
        let may_fetch = !req.prefers_context;
        let git = self
            .ends_in_clone(pr, &ends, None, clone, may_fetch)
            .await?;
        let (base, head) = (&*ends.base, &*ends.head);
        let merge_base = git
            .run_ok(["merge-base", "--end-of-options", base, head])
            .await?;
        let merge_base = String::from_utf8_lossy(&merge_base).trim().to_owned();
        if merge_base.is_empty() {
            return Err(Error::not_found(
                Noun::Commit,
                format!("{base} and {head} have no commit in common here"),
            ));
        }
        let git = git.for_diffs().await?;
        let context_lines = req.context_lines.unwrap_or(3);
        let context = format!("-U{context_lines}");
        let body = match req.format {
            DiffFormat::Diff => {
                git.stream(forge_git::diff_args(&["-p", &context], &merge_base, head))?
            }
            DiffFormat::Patch => git.stream(forge_git::mail_args(&context, base, head))?,
        };
        let mut diff = Diff::new(head, body);
        diff.base_oid = Some(merge_base);
        diff.context_lines = Some(context_lines);
        Ok(diff)
    }

    /// Returns the changes since the head was `old`, computed by git in the clone.
    pub(super) async fn fetched_since(
        &self,
        pr: &PrId,
        ends: &HeadAndBase,
        old: &str,
        clone: &LocalClone,
        context_lines: u32,
    ) -> Result<Diff> {
        let git = Git::at(&clone.dir).with_trust(clone.trust);
        let found = git.find_commit(old).await?;
        let old = found.as_deref().unwrap_or(old);
        let git = self.ends_in_clone(pr, ends, Some(old), clone, true).await?;
        let heads = TwoHeads {
            old,
            new: &ends.head,
            base: &ends.base,
        };
        git.diff_since(heads, context_lines).await
    }
}
