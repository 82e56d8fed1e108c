//! The git program, as a subprocess: the one place that starts it.
//!
//! [`Git`] runs a command and gives its output, [`Git::stream`] gives it while it is written, and
//! [`CatFile`] keeps one process that answers many object lookups.

mod cat_file;
mod error;
mod git;
mod refname;
mod stream;
mod version;

pub use cat_file::{CatFile, Found, Info, Object};
pub use git::{Git, Output};
pub use refname::{branch_problem, refname_problem};
pub use version::{MINIMUM, Version};
