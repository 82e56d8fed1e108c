//! Commits, oldest first, past a hundred.

use forge_core::{Page, PageReq, PrId, Result, model::Commit};

use crate::{
    GitHub, map,
    paged::{self, Paged},
};

impl GitHub {
    pub(super) async fn pull_commits(&self, pr: &PrId, page: PageReq) -> Result<Page<Commit>> {
        let what = Paged {
            scheme: "github-commits",
            selection: "commits(first: $first, after: $after) { totalCount nodes { ...CommitNode } pageInfo { ...PageEnd } }",
            take: |pull| pull.commits,
        };
        Ok(paged::map(
            self.section_page(pr, &page, &what).await?,
            map::commit,
        ))
    }
}
