//! Composes a GraphQL document from `.graphql` files and generated parts.

use std::fmt::Write;

macro_rules! files {
    ($dir:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!($dir, "/", $name, ".graphql")))),*]
    };
}

/// Every operation, by name.
pub(super) const QUERIES: &[(&str, &str)] = files!("queries":
    "Belongs", "Board", "Branch", "Branches", "CheckReasons", "Contents", "CreatePrepare", "Dependents", "EditPrepare",
    "IssueComment", "IssueLinks", "IssueList", "IssuePrepare", "IssueSearch", "IssueTimeline", "IssueView", "Label",
    "Labels", "LinksNamed", "MergePrepare", "Node", "OwnerBoards", "PullLinks", "PullList", "PullMore", "PullSearch",
    "PullStatus", "PullView", "PushPrepare", "ReplyPrepare", "Repository", "RepositoryFile", "Review", "Threads",
    "Timeline", "Viewer",
);

pub(super) const FRAGMENTS: &[(&str, &str)] = files!("fragments":
    "Account", "Assignee", "AutoMerge", "BoardFields", "BoardItemNode", "Boards", "CheckNode", "CommentNode",
    "CommitNode", "CrossReference", "EventNode", "FileNode", "IssueDetails", "IssueEventNode", "IssueLink", "IssueNode", "IssueRelations",
    "LabelNode", "LineComment", "Neighbour", "NewerIssueEvent", "OpenPull", "OpenPulls", "OpenedThreads", "PageEnd", "Person", "ProjectItemNode", "PullAssignees", "PullCore",
    "PullEdited", "PullLabels", "PullLink", "PullMilestone", "PullOf", "PullRequests", "PullReviews", "PullRow",
    "PullRules", "PullState", "Reactions", "RelatedIssues", "RepositoryInfo", "RepositoryNode", "Requested", "ReviewNode",
    "ReviewWithComments", "ThreadNode",
);

/// A document under construction.
#[derive(Clone, Debug)]
pub(crate) struct GqlDocument {
    operation: String,
    variables: String,
    generated: String,
}

impl GqlDocument {
    /// Starts a document with the operation in the file `name`.
    pub fn query(name: &'static str) -> Self {
        let text = QUERIES
            .iter()
            .find(|(n, _)| *n == name)
            .map_or("", |(_, text)| *text);
        Self {
            operation: compact(text),
            variables: String::new(),
            generated: String::new(),
        }
    }

    /// Starts a document with a generated operation. `head` is `query Name` or `mutation Name`.
    pub fn generated(head: &str, selection: &str) -> Self {
        Self {
            operation: format!("{head} {{ {selection} }}"),
            variables: String::new(),
            generated: String::new(),
        }
    }

    /// Declares a variable of the GraphQL type `ty`.
    pub fn variable(&mut self, name: &str, ty: &str) {
        let _ = write!(self.variables, "${name}: {ty} ");
    }

    /// Adds a selection to the end of the operation.
    pub fn root(&mut self, selection: &str) {
        if let Some(start) = self.operation.strip_suffix('}') {
            self.operation = format!("{start}{selection} }}");
        }
    }

    /// Adds a generated fragment. An empty selection becomes `__typename`.
    pub fn fragment(&mut self, name: &str, on: &str, selection: &str) {
        let selection = if selection.is_empty() {
            "__typename"
        } else {
            selection
        };
        let _ = write!(self.generated, " fragment {name} on {on} {{ {selection} }}");
    }

    /// Returns the complete text: the operation with its variables, and every fragment that it
    /// uses.
    pub fn text(&self) -> String {
        let mut text = match (self.variables.trim_end(), self.operation.split_once('(')) {
            ("", _) => self.operation.clone(),
            // The first parenthesis opens the list of variables, unless a brace stands before it.
            (more, Some((head, rest))) if !head.contains('{') => format!("{head}({more} {rest}"),
            (more, _) => {
                let (head, rest) = self
                    .operation
                    .split_once('{')
                    .unwrap_or((&self.operation, ""));
                format!("{}({more}) {{{rest}", head.trim_end())
            }
        };
        text.push_str(&self.generated);
        let mut used: Vec<&str> = Vec::new();
        let mut unread = 0;
        while unread < text.len() {
            let part = text.get(unread..).unwrap_or_default().to_owned();
            unread = text.len();
            for name in find_spreads(&part) {
                let file = FRAGMENTS.iter().find(|(n, _)| *n == name);
                if let Some((name, file)) = file.filter(|(n, _)| !used.contains(n)) {
                    used.push(name);
                    text.push(' ');
                    text.push_str(&compact(file));
                }
            }
        }
        text
    }
}

/// The selection for teams in the fragment `Requested`. GitHub refuses the whole document for a
/// classic token without the scope `read:org`, even if no team was requested (cli/cli#812,
/// raycast/extensions#3881).
const TEAM: &str = " ... on Team { teamName: name combinedSlug }";

/// Removes the selection for teams; `None` if the document does not select teams.
pub(crate) fn without_teams(text: &str) -> Option<String> {
    text.contains(TEAM).then(|| text.replace(TEAM, ""))
}

/// The lists whose entries have texts of any length. A query may request shorter pages of these
/// lists: callers read the remaining pages, or notice missing entries by the total count.
const TEXT_LISTS: [&str; 6] = [
    "comments",
    "commits",
    "latestOpinionatedReviews",
    "latestReviews",
    "reviewThreads",
    "reviews",
];

/// Limits the pages of [`TEXT_LISTS`] to `size` entries. A list of which fewer than 50 entries are
/// requested stays as it is, because its remaining pages are never read.
pub(crate) fn with_page_size(text: &str, size: usize) -> String {
    let mut text = text.to_owned();
    for list in TEXT_LISTS {
        for end in ["first", "last"] {
            for length in [100, 50].into_iter().filter(|length| *length > size) {
                let whole = format!("{list}({end}: {length}");
                text = text.replace(&whole, &format!("{list}({end}: {size}"));
            }
        }
    }
    text
}

/// Removes comments, indentation and line ends.
pub(super) fn compact(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

/// Returns the names of the fragments that a text spreads.
fn find_spreads(text: &str) -> impl Iterator<Item = &str> {
    text.split("...").skip(1).filter_map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        rest.get(..end).filter(|name| !name.is_empty())
    })
}
