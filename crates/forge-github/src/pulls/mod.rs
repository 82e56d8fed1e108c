//! Pull requests: one file for each operation.

use std::collections::BTreeSet;

use async_trait::async_trait;
use forge_core::{
    Capability, Outcome, Page, PageReq, PrId, PullRequests, RepoId, Result,
    model::{
        BaseRules, CloseReq, Commit, ContentsReq, CreatePull, Diff, DiffReq, EditPull, FileChange,
        FileContent, HeadMatches, HeadRef, Lock, Merge, MergeReq, Mergeability, PrFields,
        PullQuery, PullRequest, PullScope, PullStatus, PullsAcross, Resubmit, RevertPull,
        StateFilter, StatusEvent, UpdateBranch,
    },
};

use crate::{GitHub, caps};

pub(crate) mod across;
mod commits;
mod compare;
pub(crate) mod contents;
mod create;
mod dependents;
mod diff;
mod edit;
mod edits;
mod fetched_diff;
mod files;
mod find;
mod gaps;
mod head_branch;
mod history;
mod list;
mod lock;
mod merge;
mod merge_attempt;
pub(crate) mod pull_cache;
mod push;
pub(crate) mod query;
mod rebuild;
mod revert;
pub(crate) mod rules;
pub(crate) mod shared_rows;
mod stack;
mod stack_parent;
mod state;
mod status;
mod update;
pub(crate) mod view;

pub(crate) use files::{SEGMENT, repo_route};
pub(crate) use state::{is_mine, same_text, since};

#[async_trait]
impl PullRequests for GitHub {
    async fn create(&self, repo: &RepoId, req: &CreatePull) -> Result<Outcome<PullRequest>> {
        self.create_pull(repo, req).await
    }

    async fn check_create(&self, repo: &RepoId, req: &CreatePull) -> Result<()> {
        self.check_create_pull(repo, req).await
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
        self.fetch(pr, fields).await
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
        // GitHub opens a pull request from a branch of the base repository only for an account that
        // may push there.
        Ok(self.find_pulls(repo, head, state, fields).await?.into())
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
        self.pull_status(repo, head, fields).await
    }

    async fn edit(&self, pr: &PrId, edit: &EditPull) -> Result<Outcome<PullRequest>> {
        self.edit_pull(pr, edit).await
    }

    async fn resubmit(&self, _: &PrId, _: &Resubmit) -> Result<Outcome<PullRequest>> {
        Err(caps::refusal(Capability::PrResubmit))
    }

    async fn update_branch(&self, pr: &PrId, req: &UpdateBranch) -> Result<Outcome<PullRequest>> {
        self.update_pull_branch(pr, req).await
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

    async fn set_lock(&self, pr: &PrId, lock: Lock) -> Result<Outcome<PullRequest>> {
        self.set_pull_lock(pr, lock).await
    }

    async fn revert(&self, pr: &PrId, req: &RevertPull) -> Result<Outcome<PullRequest>> {
        self.revert_pull(pr, req).await
    }

    async fn mergeability(&self, pr: &PrId) -> Result<Mergeability> {
        self.pull_mergeability(pr).await
    }

    async fn base_rules(&self, pull: &PullRequest) -> Result<Option<BaseRules>> {
        Ok(Some(self.rules_of_base(pull).await))
    }

    async fn merge(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>> {
        self.merge_pull(pr, req).await
    }

    async fn cancel_merge(&self, pr: &PrId) -> Result<Outcome<PullRequest>> {
        self.cancel_auto_merge(pr).await
    }

    async fn diff(&self, pr: &PrId, req: &DiffReq) -> Result<Diff> {
        self.pull_diff(pr, req).await
    }

    async fn files(&self, pr: &PrId, page: PageReq) -> Result<Page<FileChange>> {
        self.pull_files(pr, page).await
    }

    async fn contents(&self, pr: &PrId, req: &ContentsReq) -> Result<Vec<FileContent>> {
        self.file_contents(pr, req).await
    }

    async fn commits(&self, pr: &PrId, page: PageReq) -> Result<Page<Commit>> {
        self.pull_commits(pr, page).await
    }

    async fn history(&self, pr: &PrId, page: PageReq) -> Result<Page<StatusEvent>> {
        self.pull_history(pr, page).await
    }
}
