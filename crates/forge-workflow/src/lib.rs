//! Workflow states of issues.
//!
//! A [`Definition`] describes a workflow as data, and [`lint()`] checks the definition. All
//! decisions are pure functions of the definition and of issues: [`resolve()`], [`position()`],
//! [`convergence()`], [`advance_plan`], [`pick()`], [`LinkMap::group_of`], [`merge_goal`].
//!
//! A [`Workflow`] reads issues through [`forge_core::Repo`], calls these functions, and writes the
//! result. It uses two kinds of storage:
//! - A [`Store`] keeps the state of an issue in fields or labels of the forge.
//! - A [`Ledger`] keeps the audit trail of an issue, a list of moves and claims. A claim gives one
//!   worker the right to work on the issue until its lease ends.

mod advance;
mod convergence;
mod definition;
mod engine;
mod form;
mod graph;
mod group;
mod ledger;
mod lint;
mod member;
mod on_merge;
mod pages;
mod pick;
mod position;
mod resolve;
mod store;
mod trail;

pub use advance::{AdvancePlan, SkippedMember, advance_plan};
pub use convergence::{Blocker, Convergence, Recommendation, convergence};
pub use definition::{
    Blocking, Command, ConvergenceGate, Definition, EstimateScale, FieldNames, Intent, OnMerge,
    PhaseRule, PriorityScale, Quantifier, State, Terminal,
};
pub use engine::{
    AdvanceReport, AdvancedIssue, ClaimRequest, DEFAULT_LEASE_S, FailedIssue, GroupView,
    InitReport, LeftIssue, MAX_LINKED_ISSUES, MergeEffects, MergePlan, MergeReport, MergeStep,
    MoveRequest, PickRequest, PickResult, StateChange, Workflow, linked_issues, with_setup,
};
pub use graph::mermaid;
pub use group::{Group, IssueLinks, LinkMap, MAX_GROUP};
pub use ledger::{ClaimGuarantee, CommentLedger, IssueTrail, Ledger, TrailSwap, took_effect};
pub use lint::{Mistake, lint};
pub use member::{Member, MemberState, name_in};
pub use on_merge::merge_goal;
pub use pick::{Candidate, Pick, pick};
pub use position::{PhaseConvergence, Position, position};
pub use resolve::{ResolvedState, check_transition, resolve};
pub use store::{FieldStore, LabelStore, SetupItem, Store, WorkflowValue, check_size, put_sizes};
pub use trail::{Claim, ExpiredClaim, MergeRef, Trail, TrailEntry, TrailEvent};
