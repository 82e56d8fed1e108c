//! Runs the git program as a subprocess; no other crate of the product starts git.
//!
//! [`Git`] runs a command and returns its output, [`Git::stream`] streams the output, and
//! [`CatFile`] keeps one process for many object lookups.

mod apply;
mod blocking;
mod cat_file;
mod children;
mod commit;
mod contents;
mod current;
mod diff;
mod error;
mod exact_refs;
mod fetch;
mod git;
mod merge;
mod patch_trial;
mod process;
mod push;
mod rebase;
mod refname;
mod remotes;
mod settings;
mod shell;
mod sign;
mod since;
mod ssh;
mod state_files;
mod stream;
mod taken_name;
mod tracking;
mod tree;
mod tree_file;
mod version;
mod working_dir;

pub use apply::{ApplyResult, Mail};
pub use blocking::blocking;
pub use cat_file::{CatFile, Object, ObjectInfo, ObjectLookup};
pub use children::{end_reading_processes, wait_for_writing_processes};
pub use commit::{RawCommit, decode_text, parse_signature, signature};
pub use current::{CurrentPull, PushedTo, UpstreamBranch, current_branch, current_pull};
pub use diff::{applied_mail_args, diff_args, mail_args};
pub use git::{Git, Output};
pub use merge::Merged;
pub use patch_trial::{PatchSource, PatchTrial, TreeChange, TreeStep, TrialResult};
pub use process::without_secrets;
pub use push::{ConfiguredBranch, PushTarget};
pub use rebase::{Rebase, Rebased};
pub use refname::{branch_problem, refname_problem};
pub use remotes::{BranchConfig, GitConfig, Remote, path_of, root};
pub use settings::Setting;
pub use shell::{command_line, quoted};
pub use sign::Signing;
pub use since::{TwoHeads, commit_is_gone, no_longer_changed};
pub use ssh::ssh_host;
pub use state_files::{
    MAX_STATE_FILE, borrowed_objects, git_dir_of, has_work_tree, root_at, state_file,
    without_line_end,
};
pub use tracking::{RemoteBranch, TrackedTip};
pub use tree::TreeEntry;
pub use tree_file::{TreeFile, read_tree_file};
pub use version::{MINIMUM, Version};
pub use working_dir::WorkingDir;
