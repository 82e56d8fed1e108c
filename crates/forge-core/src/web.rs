//! Pages of a forge's web site, for commands that open a page instead of acting themselves.

use crate::model::{CreatePull, IssueQuery, NewIssue, PullQuery};

/// A page of the web site.
#[derive(Clone, Copy, Debug)]
pub enum WebPage<'a> {
    /// The list of the pull requests that match a query.
    Pulls(&'a PullQuery),
    /// The form that opens a pull request, filled in as far as the forge allows.
    NewPull {
        /// Values to fill in; `base` must be set.
        request: &'a CreatePull,
        /// File name of the template for the description.
        template: Option<&'a str>,
    },
    /// The list of the issues that match a query.
    Issues(&'a IssueQuery),
    /// The form that opens an issue, filled in as far as the forge allows.
    NewIssue {
        /// Values to fill in.
        request: &'a NewIssue,
        /// File name of the template for the text.
        template: Option<&'a str>,
    },
    /// The checks of the pull request with this page URL.
    Checks(&'a str),
    /// The changes of the pull request with this page URL.
    Files(&'a str),
    /// The field for a new comment on the pull request or issue with this page URL.
    NewComment(&'a str),
}
