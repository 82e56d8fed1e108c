//! The names that most programs need: `use forge::prelude::*;`
//!
//! `Result` and `Error` are left out, because other crates use these names. Write `forge::Result`
//! and `forge::Error` instead.

pub use futures::{StreamExt as _, TryStreamExt as _};

pub use crate::{
    Access, Capability, Config, ErrorKind, ExternalBackend, ForgeKind, Forges, ForgesBuilder,
    Ingestion, Limits, Outcome, Page, PageReq, Policy, PrId, PrKey, Repo, RepoId, RepoPath, Retry,
    Support,
    model::{
        CloseReq, Comment, CommentId, CreatePull, DiffReq, EditIssue, EditPull, HeadRef, Issue,
        IssueFields, IssueFilter, IssueId, IssueQuery, IssueState, Merge, MergeMethod, MergeReq,
        NewIssue, NewReview, NewThread, PrFields, PrState, PullQuery, PullRequest, RepoInfo,
        Review, SetChange, SetIssueState, StateFilter, Thread, ThreadFilter, ThreadId, Verdict,
    },
};
