//! The core of `forge`: the traits, types and errors that all other crates share.
//!
//! A forge is a place that keeps pull requests: GitHub, tangled, or a local git repository. A
//! backend is the code for one kind of forge.
//! - [`Forge`] and related traits: the operations that a backend implements.
//! - [`Capability`]: a feature that a forge has or lacks.
//! - [`model`], [`Outcome`] and [`Page`]: requests and results.
//! - [`locator`]: names of repositories, pull requests and issues.
//! - [`Client`] and [`Repo`]: the handles that callers use.
//!
//! This crate does no I/O; the backends do. Library users start with the `forge` crate.

mod across;
pub mod call;
mod capability;
mod client;
mod deadline;
pub mod diff;
mod error;
mod forge;
pub mod glob;
mod head;
mod hint;
mod index_limit;
pub mod limits;
pub mod locator;
pub mod markdown;
pub mod mentions;
pub mod model;
mod op;
mod outcome;
mod page;
pub mod pull_filter;
mod secret;
mod settle;
mod stream;
pub mod suggest;
pub mod text;
mod time;
mod touches;
mod trust;
mod version;
mod web;

pub use across::list_each;
pub use capability::{Capabilities, Capability, Support};
pub use client::{Access, Client, NamedAccounts, Observer, Policy, Quota, Repo, SentRequest};
pub use error::{Changed, Error, ErrorKind, Noun, Precondition, Result, Retry};
pub use forge::{
    Attachments, Checks, Forge, ForgeInfo, Issues, Labels, PullRequests, Repos, Reviews,
};
pub use head::{
    check_expected_base, check_expected_head, head_moved, is_expected_head, is_full_oid,
};
pub use hint::{Action, Arg, Call, Hint, LOST_HEAD, Param};
pub use index_limit::{IndexLimit, IndexSupport};
pub use limits::Limits;
pub use locator::{AtUri, ForgeKind, Locator, PrId, PrKey, PrSelector, RepoId, RepoPath};
pub use op::{Effect, Op};
pub use outcome::{DeletedBranch, Ingestion, Outcome, Step, Warning};
pub use page::{Cursor, Page, PageReq, fingerprint};
pub use secret::{Secret, TOKEN_PREFIXES};
pub use settle::settle_mergeability;
pub use time::Timestamp;
pub use touches::{MAX_TOUCH_SCAN, PathFilter};
pub use trust::{SECRET_VARIABLES, Trust, hidden_variables, hide_variable};
pub use version::{check_version, version_moved};
pub use web::WebPage;
