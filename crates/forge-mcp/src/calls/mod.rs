//! Tool calls: shared state, routing, confirmation and failures.

mod action;
mod aliases;
mod args;
mod call;
mod confirm;
pub(crate) mod diff;
mod failure;
mod options;
mod route;
mod schema;
mod state;

pub use options::{Options, TOOL_SETS};
pub use route::Route;
pub(crate) use {
    action::{About, Advice, ToolCall, Tools},
    aliases::TOOL_ALIASES,
    args::{CLEARED, replacement},
    call::{Call, IssueTarget, Target},
    confirm::Ask,
    failure::seconds,
    route::{Answer, Effect, Spec, Stop, Tool},
    state::ServerState,
};
