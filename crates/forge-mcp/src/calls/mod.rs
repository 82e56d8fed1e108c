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

pub use options::{ServerOptions, TOOL_SETS};
pub use route::Route;
pub(crate) use {
    action::{Advice, HintContext, ToolCall, Tools},
    aliases::{TOOL_ALIASES, TOOL_NOTES, replaced_method},
    args::{CLEARED, replacement},
    call::{CallContext, IssueTarget, PullTarget},
    confirm::ConfirmationRequest,
    failure::seconds,
    route::{Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    state::ServerState,
};
