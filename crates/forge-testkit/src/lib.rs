//! Test support for `forge`: the [`behaviour`] suite that every backend must pass, and helpers to
//! run programs in a world of their own.
//!
//! A backend outside this workspace runs the suite against itself: implement
//! [`behaviour::Rig`] and hand it to [`behaviour::trials`] in a `harness = false` test.
//!
//! Everything here fails by panicking, with the command and its whole output in the message.
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
pub use tty::{Terminal, TtyOutput};
