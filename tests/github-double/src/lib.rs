//! A double of GitHub, which serves GraphQL, REST and git on loopback.
//!
//! [`GitHubDouble`] executes any GraphQL document that is valid against the covered part of
//! GitHub's public schema ([`schema`]). It answers the REST routes that clients use for pull
//! requests, and serves git from bare repositories with real merges. It copies GitHub's pagination,
//! error formats, lazy merge state and limits, injects faults, and counts requests.
//!
//! ```no_run
//! use forge_github_double::{ALL_SCOPES, Fault, GitHubDouble, Options, PullSeed};
//!
//! let double = GitHubDouble::start(Options::default())?;
//! {
//!     let mut seed = double.seed();
//!     seed.token("gho_0canary0mona", "octocat", ALL_SCOPES);
//!     seed.repo_with_readme("octocat/hello");
//!     seed.open_pull("octocat/hello", &PullSeed { title: "Add", head: "add", ..PullSeed::default() });
//! }
//! double.fault(Fault::status(502).on_mutations().committed());
//! // … run a client with `double.env("gho_0canary0mona")` …
//! assert_eq!(double.counts().mutations, 1);
//! # Ok::<(), std::io::Error>(())
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cloned_ref_to_slice_refs,
    reason = "a double of a test fails by panicking"
)]

mod actions;
mod control;
mod double;
mod faults;
mod git;
mod git_http;
mod graphql;
mod messages;
mod mutations;
mod patterns;
mod pushes;
mod record;
mod references;
mod reply;
mod resolve;
mod rest;
pub mod schema;
mod search;
mod seed;
mod server;
pub mod state;
mod timeline;

pub use control::STEPS;
pub use double::{GitHubDouble, Options};
pub use faults::{Action, Fault, Matcher};
pub use record::{Counts, Recorded};
pub use seed::{ALL_SCOPES, PullSeed, Seed};
