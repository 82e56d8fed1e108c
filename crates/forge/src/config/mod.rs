//! Configuration: `config.toml` of the user and `.forge.toml` of a repository.
//!
//! [`keys::KEYS`] is the registry of keys, and [`Var`] is the registry of environment variables.
//! [`docs()`] generates the reference page from both.

mod dialect;
mod docs;
mod edit;
mod env;
pub(crate) mod file;
pub mod keys;
pub(crate) mod load;
mod settings;
pub(crate) mod write;

pub use docs::docs;
pub use edit::Scope;
pub use env::{Env, Var};
pub use file::{ConfigProblem, Level};
pub(crate) use load::home_dir;
pub use load::{Config, ConfigEntry, Source};
pub use settings::ColorChoice;
