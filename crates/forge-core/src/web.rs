//! Pages of a forge's web site, for commands that open one instead of doing something themselves.

use crate::model::{CreatePull, IssueQuery, NewIssue, PullQuery};

/// A page of the web site.
#[derive(Clone, Copy, Debug)]
pub enum WebPage<'a> {
    /// The list of the pull requests that a query finds.
    Pulls(&'a PullQuery),
    /// The form that opens a pull request, filled in as far as the forge lets that be done.
    NewPull {
        /// What is filled in; `base` is named.
        request: &'a CreatePull,
        /// The file name of the template that the description starts with.
        template: Option<&'a str>,
    },
    /// The list of the issues that a query finds.
    Issues(&'a IssueQuery),
    /// The form that opens an issue, filled in as far as the forge lets that be done.
    NewIssue(&'a NewIssue),
    /// The checks of the pull request whose page this is.
    Checks(&'a str),
    /// The changes of the pull request whose page this is.
    Files(&'a str),
    /// The field for a new comment on the pull request or issue whose page this is.
    NewComment(&'a str),
}
