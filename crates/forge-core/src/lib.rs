//! The heart of `forge`: what a forge is ([`Forge`] and its family), what it can do
//! ([`Capability`]), what it is asked and answers ([`model`], [`Outcome`], [`Page`]), how it is
//! named ([`locator`]), how it fails ([`Error`]), and the handle that callers hold ([`Repo`]).
//!
//! No I/O happens here: backends bring it. Library users start at the `forge` crate.

pub mod call;
mod capability;
mod client;
mod error;
mod forge;
mod head;
pub mod locator;
pub mod markdown;
pub mod mentions;
pub mod model;
pub mod near;
mod op;
mod outcome;
mod page;
pub mod search;
pub mod text;
mod time;
mod trust;
mod web;

pub use capability::{Capabilities, Capability, Limits, Support};
pub use client::{Access, Client, Observer, Policy, Repo};
pub use error::{Error, ErrorKind, Noun, Precondition, Result, Retry};
pub use forge::{
    Attachments, Checks, Forge, ForgeInfo, Issues, Labels, PullRequests, Repos, Reviews,
};
pub use head::{check_expected_head, head_moved};
pub use locator::{AtUri, ForgeKind, Locator, PrId, PrKey, PrSelector, RepoId, RepoPath};
pub use op::{Effect, Op};
pub use outcome::{Ingestion, Outcome, Step, Warning};
pub use page::{Cursor, Page, PageReq, fingerprint};
pub use time::Timestamp;
pub use trust::{SECRET_VARIABLES, Trust};
pub use web::WebPage;
