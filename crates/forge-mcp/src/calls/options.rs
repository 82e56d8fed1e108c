use std::path::PathBuf;

use crate::safety::allow::AllowList;

/// What a server may do.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Tools that change something are there.
    pub write: bool,
    /// The repositories that it may touch; all where the list is empty, except that a directory needs
    /// a place in [`Self::paths`] or to be where the server was started.
    pub repos: AllowList,
    /// The directories whose repositories it may touch as well.
    pub paths: AllowList,
    /// The repositories among them that it may change; all of them where the list is empty.
    pub writable: AllowList,
    /// Refuses what needs somebody's word where the client cannot ask for it.
    pub confirm_required: bool,
    /// The tools that are there; all where it is empty.
    pub tools: Vec<String>,
    /// The tools that are not there.
    pub without_tools: Vec<String>,
    /// The directory whose repository is meant where none is named.
    pub dir: PathBuf,
}

impl Options {
    /// Whether a tool of this name is there.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|name| name == tool);
        (self.tools.is_empty() || has(&self.tools)) && !has(&self.without_tools)
    }

    /// The repositories that the lists name one by one.
    pub(crate) fn named(&self) -> impl Iterator<Item = &str> {
        self.repos.named().chain(self.paths.named())
    }
}
