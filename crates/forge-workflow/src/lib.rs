//! Workflow states of issues: what they are ([`Definition`]), how a word becomes one ([`resolve()`]),
//! what a merge does with them ([`Policy`]), and where they are kept ([`LabelStore`]).
//!
//! Everything but the store is a pure function of its arguments: the same question has the same
//! answer. The store goes through [`forge_core::Repo`] alone, and so works on every forge that has
//! labels.

mod definition;
mod labels;
mod on_merge;
mod resolve;

pub use definition::{Definition, State, Terminal};
pub use labels::{LabelStore, Standing};
pub use on_merge::{Policy, Rule};
pub use resolve::{Resolved, resolve};
