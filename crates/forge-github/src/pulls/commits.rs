//! Lists the commits of a pull request, oldest first, also if there are more than a hundred.

use forge_core::{Page, PageReq, PrId, Result, model::Commit};

use crate::{
    GitHub,
    gql::selections,
    map,
    paged::{self, Paged},
};

impl GitHub {
    pub(super) async fn pull_commits(&self, pr: &PrId, page: PageReq) -> Result<Page<Commit>> {
        let what = Paged {
            scheme: "github-commits",
            selection: selections::COMMITS,
            take: |pull| pull.commits,
        };
        Ok(paged::map(
            self.section_page(pr, &page, &what).await?,
            map::commit,
        ))
    }
}
