//! Operations on pull requests, one file each.

mod across;
pub(crate) mod build;
mod contents;
mod create;
mod diff;
mod draft;
mod edit;
mod edits;
mod fork;
mod head_branch;
mod head_claims;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod merge;
mod merge_claim;
mod merge_detection;
pub(crate) mod number;
pub(crate) mod record;
mod resubmit;
mod rounds;
mod stack;
pub(crate) mod state;
mod state_setter;
pub(crate) mod status;
pub(crate) mod unindexed_lists;
mod versions;
pub(crate) mod view;

pub(crate) use list::PullRow;

use std::collections::BTreeSet;

use async_trait::async_trait;
use forge_core::{
    Capability, Outcome, Page, PageReq, PrId, PullRequests, RepoId, Result,
    model::{
        BaseRules, CloseReq, Commit, ContentsReq, CreatePull, Diff, DiffReq, EditPull, FileChange,
        FileContent, HeadMatches, HeadRef, Lock, Merge, MergeReq, Mergeability, PrFields,
        PullQuery, PullRequest, PullScope, PullStatus, PullsAcross, Resubmit, RevertPull,
        StateFilter, StatusEvent, SubjectKind, UpdateBranch,
    },
};

use crate::{Tangled, caps};

#[async_trait]
impl PullRequests for Tangled {
    async fn create(&self, repo: &RepoId, req: &CreatePull) -> Result<Outcome<PullRequest>> {
        self.create_pull(repo, req).await
    }

    async fn list(
        &self,
        repo: &RepoId,
        query: &PullQuery,
        page: PageReq,
    ) -> Result<Page<PullRequest>> {
        self.list_pulls(repo, query, page).await
    }

    async fn view(&self, pr: &PrId, fields: PrFields) -> Result<PullRequest> {
        self.view_pull(pr, fields).await
    }

    async fn listed_pulls(&self, repo: &RepoId, records: &[String]) -> Result<BTreeSet<String>> {
        let repository = self.repository(repo).await?;
        self.listed_records(&repository, SubjectKind::PullRequest, records)
            .await
    }

    async fn find(
        &self,
        repo: &RepoId,
        head: &HeadRef,
        state: StateFilter,
        fields: PrFields,
    ) -> Result<HeadMatches> {
        self.find_pulls(repo, head, state, fields).await
    }

    async fn list_across(
        &self,
        scope: &PullScope,
        queries: &[PullQuery],
        limit: usize,
    ) -> Result<PullsAcross> {
        self.pulls_across(scope, queries, limit).await
    }

    async fn status(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus> {
        self.status_of(repo, head, fields).await
    }

    async fn edit(&self, pr: &PrId, edit: &EditPull) -> Result<Outcome<PullRequest>> {
        self.edit_pull(pr, edit).await
    }

    async fn resubmit(&self, pr: &PrId, req: &Resubmit) -> Result<Outcome<PullRequest>> {
        self.resubmit_pull(pr, req).await
    }

    async fn update_branch(&self, _: &PrId, _: &UpdateBranch) -> Result<Outcome<PullRequest>> {
        Err(caps::refusal(Capability::PrUpdateBranch))
    }

    async fn close(&self, pr: &PrId, req: &CloseReq) -> Result<Outcome<PullRequest>> {
        self.close_pull(pr, req).await
    }

    async fn reopen(&self, pr: &PrId, comment: Option<&str>) -> Result<Outcome<PullRequest>> {
        self.reopen_pull(pr, comment).await
    }

    async fn set_draft(&self, pr: &PrId, draft: bool) -> Result<Outcome<PullRequest>> {
        self.set_pull_draft(pr, draft).await
    }

    async fn set_lock(&self, _: &PrId, _: Lock) -> Result<Outcome<PullRequest>> {
        Err(caps::refusal(Capability::PrLock))
    }

    async fn revert(&self, _: &PrId, _: &RevertPull) -> Result<Outcome<PullRequest>> {
        Err(caps::refusal(Capability::PrRevert))
    }

    async fn mergeability(&self, pr: &PrId) -> Result<Mergeability> {
        self.mergeability_pull(pr).await
    }

    async fn base_rules(&self, _: &PullRequest) -> Result<Option<BaseRules>> {
        Ok(None)
    }

    async fn merge(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>> {
        self.merge_pull(pr, req).await
    }

    async fn cancel_merge(&self, _: &PrId) -> Result<Outcome<PullRequest>> {
        Err(caps::refusal(Capability::MergeAuto))
    }

    async fn diff(&self, pr: &PrId, req: &DiffReq) -> Result<Diff> {
        self.diff_pull(pr, req).await
    }

    async fn files(&self, pr: &PrId, page: PageReq) -> Result<Page<FileChange>> {
        self.files_of(pr, page).await
    }

    async fn contents(&self, pr: &PrId, req: &ContentsReq) -> Result<Vec<FileContent>> {
        self.contents_of(pr, req).await
    }

    async fn commits(&self, pr: &PrId, page: PageReq) -> Result<Page<Commit>> {
        self.commits_of(pr, page).await
    }

    async fn history(&self, pr: &PrId, page: PageReq) -> Result<Page<StatusEvent>> {
        self.history_of(pr, page).await
    }
}
