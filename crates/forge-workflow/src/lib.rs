//! Workflow states of issues.
//!
//! What a workflow is ([`Definition`], [`lint()`]), how a word becomes a state ([`resolve()`]), what
//! follows from the states of issues ([`position()`], [`convergence()`], [`advance_plan`], [`pick()`],
//! [`LinkMap::group_of`]), what a merge does with them ([`Policy`]), and where they are kept
//! ([`LabelStore`]).
//!
//! Everything but the store is a pure function of its arguments: the same question has the same
//! answer. The store goes through [`forge_core::Repo`] alone, and so works on every forge that has
//! labels.

mod advance;
mod convergence;
mod definition;
mod graph;
mod group;
mod labels;
mod lint;
mod member;
mod on_merge;
mod pick;
mod position;
mod resolve;

pub use advance::{AdvancePlan, SkippedMember, advance_plan};
pub use convergence::{Blocker, Convergence, Recommendation, convergence};
pub use definition::{
    Blocking, Command, ConvergenceGate, Definition, EstimateScale, FieldNames, Intent, OnMerge,
    PhaseRule, PriorityScale, Quantifier, State, Terminal,
};
pub use graph::mermaid;
pub use group::{Group, IssueLinks, LinkMap, MAX_GROUP};
pub use labels::{LabelStore, Standing};
pub use lint::{Mistake, lint};
pub use member::{Member, MemberState};
pub use on_merge::{Policy, Rule};
pub use pick::{Candidate, Pick, pick};
pub use position::{PhaseConvergence, Position, position};
pub use resolve::{Resolved, check_transition, resolve};
