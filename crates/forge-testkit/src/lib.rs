//! Test support for `forge`: the [`behaviour`] suite that every backend must pass, and helpers that
//! run programs in an isolated environment.
//!
//! A backend outside this workspace can run the suite: implement [`behaviour::Rig`] and pass it to
//! [`behaviour::trials`] in a `harness = false` test.
//!
//! All failures are panics whose message has the command and its whole output.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cloned_ref_to_slice_refs,
    reason = "a test kit fails by panicking"
)]

pub mod behaviour;
mod binary;
mod canary;
mod git;
mod logs;
mod random;
mod run;
mod scale;
mod scratch;
mod serving;
mod shim;
mod stream;
#[cfg(unix)]
mod tty;

pub use binary::{example_binary, forge_binary, workspace_root};
pub use canary::CANARY;
pub use git::{GitDir, Identity, git_program};
pub use logs::{LogWatch, watch_logs};
pub use random::Random;
pub use run::{Output, Run};
pub use scale::many_pulls;
pub use scratch::Scratch;
pub use serving::HttpServer;
pub use shim::{GitShim, ShimPlan};
pub use stream::Reading;
#[cfg(unix)]
pub use tty::{Terminal, TtyOutput, open_terminal};
