//! Pull requests on any forge: open a repository by URI, then list, review and merge.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # std::process::Command::new("git").args(["init", "-q"]).arg(dir.path()).status()?;
//! # let uri = format!("file://{}", dir.path().display());
//! # let uri = uri.as_str();
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! use forge::prelude::*;
//!
//! // `local:.`, a path, `file:///…`, `owner/repo`, or the URL of a repository.
//! let repo = forge::open(uri).await?;
//! let page = repo.pulls(&PullQuery::default(), PageReq::first(30)).await?;
//! for pull in page.items {
//!     println!("#{} {}", pull.id.key, pull.title);
//! }
//! # Ok::<_, forge::Error>(())
//! # })?;
//! # Ok(())
//! # }
//! ```
//!
//! [`open`] uses the configuration and the accounts of the user who runs the program. A program
//! with another configuration uses [`Forges`]. A program with additional backends uses
//! [`Forges::builder`]. [`Repo::capabilities`] lists unsupported operations with their reasons.
//! Every failure is an [`Error`] with a stable code and often a hint.
//!
//! A Tokio runtime with I/O and time must be running. Each backend is a feature, on by default:
//! `github` (github.com, ghe.com and GitHub Enterprise Server), `local` (pull requests kept inside
//! a git repository) and `tangled` (tangled.org, over atproto).
//!
//! The examples `list`, `issues`, `review`, `merge`, `capabilities` and `backend` can be run:
//! `cargo run -p forge --example list -- local:.`

/// Compiles the examples in `docs/how-to/library.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/library.md")]
struct LibraryPage;

mod across;
pub mod auth;
mod builder;
mod closes;
pub mod config;
mod deleted_branch;
mod docs;
mod forges;
#[cfg(feature = "github")]
mod github;
#[cfg(feature = "jira")]
mod jira;
pub mod prelude;
mod registry;
mod resolve;
mod selection;
#[cfg(feature = "tangled")]
mod tangled;
mod workflows;

pub use across::{MINE, Places};
pub use builder::{ExternalBackend, ForgesBuilder};
pub use closes::with_closing_lines;
pub use config::Config;
pub use deleted_branch::{restore_command, restore_local_command};
pub use docs::capabilities_docs;
pub use forge_context as context;
pub use forge_core::*;
#[cfg(feature = "tangled")]
pub use forge_tangled::{IndexShows, IngestionReport};
pub use forge_workflow as workflow;
pub use forges::{Forges, open};
pub use registry::{ACCOUNT_KINDS, AccountShape, Backend, account_shape, backends};
pub use selection::{SelectedPull, WorkingCopy};
pub use workflows::DEFINITION_IN_REPO;
