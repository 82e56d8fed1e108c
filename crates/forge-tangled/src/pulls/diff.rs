//! Diffs, files and commits of the newest round.

use std::collections::BTreeSet;

use forge_core::{
    Page, PageReq, PrId, Result, Warning,
    model::{Commit, Diff, DiffFormat, DiffReq, FileChange, Rounds},
};
use futures::stream;

use super::view::Located;
use crate::{
    Era, Tangled, page,
    patch::{self, Patch},
};

impl Tangled {
    /// See [`forge_core::PullRequests::diff`].
    pub(crate) async fn diff_pull(&self, pr: &PrId, req: &DiffReq) -> Result<Diff> {
        let located = self.locate(pr).await?;
        if let Some(Rounds { round, since }) = req.rounds {
            return self.diff_of_rounds(&located, round, since, req).await;
        }
        let patch = self
            .latest_patch(&located.repository, &located.pull)
            .await?;
        self.diff_of_patch(&located, &patch, req).await
    }

    /// The changes of one round.
    pub(crate) async fn diff_of_patch(
        &self,
        located: &Located,
        patch: &Patch,
        req: &DiffReq,
    ) -> Result<Diff> {
        let (body, mut warnings) = match req.format {
            DiffFormat::Patch if patch.mails.is_empty() => {
                let why = "this round is a plain diff without commits: it was not made by git format-patch";
                (patch.raw.clone(), vec![Warning::new(why)])
            }
            DiffFormat::Patch => (patch.raw.clone(), Vec::new()),
            DiffFormat::Diff => {
                let (diff, warning) = self.net_diff(located, patch).await;
                (diff, warning.into_iter().collect())
            }
        };
        if req.context_lines.is_some() {
            warnings.push(Warning::new(
                "a round is stored as a patch, so the lines of context are those it was made with",
            ));
        }
        Ok(Diff {
            base_oid: None,
            head_oid: patch.head().unwrap_or_default().to_owned(),
            body: Box::pin(stream::iter([Ok(body)])),
            warnings,
        })
    }

    /// One diff from merge base to head. A round of one commit is that already; of several, the
    /// knot is asked, as long as it has the head.
    pub(crate) async fn net_diff(
        &self,
        located: &Located,
        patch: &Patch,
    ) -> (Vec<u8>, Option<Warning>) {
        if patch.mails.len() < 2 {
            return (patch.diff(), None);
        }
        if located.repository.era == Era::Org10 {
            // No query of its knot that makes one diff of several commits was seen.
            let warning = (!each_file_once(patch)).then(|| {
                Warning::new(
                    "the changes are shown commit by commit: several commits change the same \
                     file, and a knot of Tangled 1.0 is not known to make one diff of them",
                )
            });
            return (patch.diff(), warning);
        }
        let head = patch.head().unwrap_or_default();
        let compared = self
            .compare(&located.repository, &located.pull.base, head)
            .await;
        let whole = compared.ok().filter(|c| {
            let same = c
                .patch
                .as_ref()
                .map(|p| Patch::parse(p.clone().into_bytes()));
            same.is_some_and(|p| p.mails.len() == patch.mails.len() && p.head() == Some(head))
        });
        match whole
            .and_then(|c| c.combined_patch_raw)
            .filter(|d| !d.is_empty())
        {
            Some(diff) => (Patch::parse(diff.into_bytes()).diff(), None),
            None => {
                let warning = Warning::new(
                    "the changes are shown commit by commit: the knot no longer has the head of \
                     this round to make one diff of",
                );
                (patch.diff(), Some(warning))
            }
        }
    }

    /// See [`forge_core::PullRequests::files`].
    pub(crate) async fn files_of(&self, pr: &PrId, req: PageReq) -> Result<Page<FileChange>> {
        let located = self.locate(pr).await?;
        let patch = self
            .latest_patch(&located.repository, &located.pull)
            .await?;
        let (diff, warning) = self.net_diff(&located, &patch).await;
        let mut page = page::of(
            "tangled-files",
            located.pull.record.cid(),
            patch::files(&diff),
            &req,
        )?;
        page.warnings.extend(warning);
        Ok(page)
    }

    /// See [`forge_core::PullRequests::commits`].
    pub(crate) async fn commits_of(&self, pr: &PrId, req: PageReq) -> Result<Page<Commit>> {
        let located = self.locate(pr).await?;
        let patch = self
            .latest_patch(&located.repository, &located.pull)
            .await?;
        page::of(
            "tangled-commits",
            located.pull.record.cid(),
            patch.commits(),
            &req,
        )
    }
}

/// Whether no file is changed by two of the commits, so that their diffs are one diff together.
fn each_file_once(patch: &Patch) -> bool {
    let mut seen = BTreeSet::new();
    patch.mails.iter().all(|mail| {
        let files = patch::files(&mail.diff);
        let names = files
            .into_iter()
            .flat_map(|f| f.previous_path.into_iter().chain([f.path]));
        // A file that keeps its name has it twice in its own commit.
        let names: BTreeSet<String> = names.collect();
        names.into_iter().all(|name| seen.insert(name))
    })
}
