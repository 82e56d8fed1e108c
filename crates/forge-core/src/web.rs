//! Pages of a forge's web site, for commands that open a page in a browser.

use crate::model::{CreatePull, IssueQuery, NewIssue, PullQuery};

/// A page of the forge's web site.
#[derive(Clone, Copy, Debug)]
pub enum WebPage<'a> {
    /// The list of pull requests that match a query.
    Pulls(&'a PullQuery),
    /// The form for a new pull request, filled in as far as the forge allows.
    NewPull {
        /// Values for the form; `base` must be set.
        request: &'a CreatePull,
        /// File name of the template for the description, if one was chosen.
        template: Option<&'a str>,
    },
    /// The list of issues that match a query.
    Issues(&'a IssueQuery),
    /// The form that opens an issue, filled in as far as the forge allows.
    NewIssue {
        /// Values to fill in.
        request: &'a NewIssue,
        /// File name of the template for the text.
        template: Option<&'a str>,
    },
    /// The checks of the pull request whose page has this URL.
    Checks(&'a str),
    /// The changes of the pull request whose page has this URL.
    Files(&'a str),
    /// The field for a new comment on the pull request or issue whose page has this URL.
    NewComment(&'a str),
}
