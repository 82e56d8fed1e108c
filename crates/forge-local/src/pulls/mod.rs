//! Pull requests, with one file for each kind of operation.

use std::collections::BTreeSet;

use async_trait::async_trait;
use forge_core::{
    Capability, Error, Outcome, Page, PageReq, PrId, PullRequests, RepoId, Result, list_each,
    model::{
        BaseRules, CloseReq, Commit, ContentsReq, CreatePull, Diff, DiffReq, EditPull, FileChange,
        FileContent, HeadMatches, HeadRef, Lock, Merge, MergeReq, Mergeability, PrFields,
        PullQuery, PullRequest, PullScope, PullStatus, PullsAcross, Resubmit, RevertPull,
        StateFilter, StatusEvent, UpdateBranch,
    },
};

use crate::Local;

mod apply_patch;
mod branch_claim;
mod branches;
mod create;
mod edit;
mod edits;
mod history;
mod links;
mod list;
mod push;
mod revert;
mod stack;
mod state;
mod status;
mod view;

pub(crate) use branches::{MergeBases, MergeCommit};
pub(crate) use edit::{change_assignees, change_labels};
pub(crate) use links::is_named_issue;
pub(crate) use list::{ScanStep, label_names};
pub(crate) use state::{deleted_branch, require_open};
pub(crate) use view::{BYTES_PER_ITEM, BYTES_PER_ROW, charged_labels, shown_labels, warning_of};

#[async_trait]
impl PullRequests for Local {
    async fn create(&self, repo: &RepoId, req: &CreatePull) -> Result<Outcome<PullRequest>> {
        self.check(repo)?;
        self.create_pull(req).await
    }

    async fn list(
        &self,
        repo: &RepoId,
        query: &PullQuery,
        page: PageReq,
    ) -> Result<Page<PullRequest>> {
        self.check(repo)?;
        self.list_pulls(query, &page).await
    }

    async fn view(&self, pr: &PrId, fields: PrFields) -> Result<PullRequest> {
        self.view_pull(self.number(pr)?, fields).await
    }

    async fn listed_pulls(&self, _: &RepoId, _: &[String]) -> Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    async fn find(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<HeadMatches> {
        self.check(repo)?;
        self.find_pulls(head, state, fields).await
    }

    async fn list_across(
        &self,
        scope: &PullScope,
        queries: &[PullQuery],
        limit: usize,
    ) -> Result<PullsAcross> {
        let mut found = list_each(self, &scope.repos, queries, limit).await;
        let no_owner = || {
            Error::invalid("owner", "a git repository has no owner")
                .with_hint("name the repository by its path")
        };
        let owners = scope.owners.iter();
        found.failed.extend(owners.map(|o| (o.clone(), no_owner())));
        Ok(found)
    }

    async fn status(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus> {
        self.check(repo)?;
        self.status_of(head, fields).await
    }

    async fn edit(&self, pr: &PrId, edit: &EditPull) -> Result<Outcome<PullRequest>> {
        self.edit_pull(self.number(pr)?, edit).await
    }

    async fn resubmit(&self, _: &PrId, _: &Resubmit) -> Result<Outcome<PullRequest>> {
        Err(Self::unsupported(Capability::PrResubmit))
    }

    async fn update_branch(&self, pr: &PrId, req: &UpdateBranch) -> Result<Outcome<PullRequest>> {
        self.update_pull_branch(self.number(pr)?, req).await
    }

    async fn close(&self, pr: &PrId, req: &CloseReq) -> Result<Outcome<PullRequest>> {
        self.close_pull(self.number(pr)?, req).await
    }

    async fn reopen(&self, pr: &PrId, comment: Option<&str>) -> Result<Outcome<PullRequest>> {
        self.reopen_pull(self.number(pr)?, comment).await
    }

    async fn set_draft(&self, pr: &PrId, draft: bool) -> Result<Outcome<PullRequest>> {
        self.set_pull_draft(self.number(pr)?, draft).await
    }

    async fn set_lock(&self, _: &PrId, _: Lock) -> Result<Outcome<PullRequest>> {
        Err(Self::unsupported(Capability::PrLock))
    }

    async fn revert(&self, pr: &PrId, req: &RevertPull) -> Result<Outcome<PullRequest>> {
        self.revert_pull(self.number(pr)?, req).await
    }

    async fn mergeability(&self, pr: &PrId) -> Result<Mergeability> {
        self.pull_mergeability(self.number(pr)?).await
    }

    async fn base_rules(&self, _: &PullRequest) -> Result<Option<BaseRules>> {
        Ok(None)
    }

    async fn merge(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>> {
        self.merge_pull(self.number(pr)?, req).await
    }

    async fn cancel_merge(&self, _: &PrId) -> Result<Outcome<PullRequest>> {
        Err(Self::unsupported(Capability::MergeAuto))
    }

    async fn diff(&self, pr: &PrId, req: &DiffReq) -> Result<Diff> {
        self.pull_diff(self.number(pr)?, req).await
    }

    async fn files(&self, pr: &PrId, page: PageReq) -> Result<Page<FileChange>> {
        self.pull_files(self.number(pr)?, &page).await
    }

    async fn contents(&self, _: &PrId, req: &ContentsReq) -> Result<Vec<FileContent>> {
        self.git().contents(&req.oid, &req.paths).await
    }

    async fn commits(&self, pr: &PrId, page: PageReq) -> Result<Page<Commit>> {
        self.pull_commits(self.number(pr)?, &page).await
    }

    async fn history(&self, pr: &PrId, page: PageReq) -> Result<Page<StatusEvent>> {
        self.pull_history(self.number(pr)?, &page).await
    }
}
