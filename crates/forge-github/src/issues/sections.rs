//! Selects the sections of issues in GraphQL, and maps the answers. A section is an optional part
//! of an issue, such as its comments or its values on a board.

use forge_core::{
    Error, PrKey, RepoId, Result, Warning,
    model::{BoardId, Issue, IssueFields, IssueId, IssueRelations, IssueState, RelatedIssue},
};
use serde_json::{Map, Value};

use super::version::{self, ReadParts};
use crate::{
    GitHub,
    api::{GqlAnswer, TokenChoice},
    boards::{is_on, values_on},
    error::GqlError,
    gql::{
        lookups::Lookups,
        types::{self as wire, Nodes},
    },
    map,
    paged::MAX_PAGE_SIZE,
};

/// The first comments of an issue; further pages are read with separate requests.
pub(crate) const FIRST_COMMENTS: &str =
    "allComments: comments(first: 100) { nodes { ...CommentNode } pageInfo { ...PageEnd } }";
/// The board items of an issue, without archived ones.
pub(crate) const ITEMS: &str = "boardItems: projectItems(first: 10, includeArchived: false) \
                                { totalCount nodes { ...BoardItemNode } }";
/// The items of an issue on all project boards.
pub(super) const PROJECT_ITEMS: &str = "projectItems(first: 100) { nodes { ...ProjectItemNode } }";
/// The pull requests that close an issue when merged.
const CLOSING_PULLS: &str = "closedByPullRequestsReferences(first: 100) \
                             { nodes { id number url foundIn: repository { ...RepositoryNode } } }";
/// The key of board items in an answer.
const ITEMS_KEY: &str = "boardItems";
/// The key of comments in an answer.
pub(super) const COMMENTS_KEY: &str = "allComments";

/// Returns the selection set of an issue with the sections in `fields`. `comments` is the selection
/// for the comments.
pub(crate) fn selection(fields: &IssueFields, comments: &str) -> String {
    let mut text = "...IssueNode".to_owned();
    let parts = [
        (fields.relations, "...IssueRelations"),
        (fields.board.is_some(), ITEMS),
        (fields.details, "...IssueDetails"),
        (fields.projects, PROJECT_ITEMS),
        (fields.closing_pulls, CLOSING_PULLS),
        (fields.comments, comments),
    ];
    for (_, part) in parts.iter().filter(|(wanted, _)| *wanted) {
        text.push(' ');
        text.push_str(part);
    }
    text
}

/// Returns the token that issues are read with.
pub(super) fn access(fields: &IssueFields) -> TokenChoice {
    TokenChoice::of(fields.board.as_ref())
}

/// Returns whether an error concerns the board values. Values that could not be read must not look
/// like values that are not set.
pub(super) fn is_about_boards(error: &GqlError) -> bool {
    error.names().contains(&ITEMS_KEY)
}

/// Fails if the answer lacks the requested board values.
pub(super) fn need_board<T>(
    github: &GitHub,
    fields: &IssueFields,
    answer: &GqlAnswer<T>,
) -> Result<()> {
    let lost = answer.errors.iter().find(|e| is_about_boards(e));
    match lost.filter(|_| fields.board.is_some()) {
        Some(error) => Err(github.api.error(answer, error)),
        None => Ok(()),
    }
}

pub(super) fn relations(host: &str, repo: &RepoId, issue: &wire::Issue) -> IssueRelations {
    let mut truncated = false;
    let mut list = |nodes: &Option<Nodes<wire::Issue>>| -> Vec<RelatedIssue> {
        let Some(nodes) = nodes else {
            truncated = true;
            return vec![];
        };
        let found = nodes.nodes.iter().flatten().flatten();
        let found: Vec<_> = found.map(|i| related(host, repo, i)).collect();
        truncated |= is_cut(nodes);
        found
    };
    let sub_issues = list(&issue.sub_issues);
    let blocked_by = list(&issue.blocked_by);
    let blocking = list(&issue.blocking);
    let mut relations = IssueRelations::default();
    relations.parent = issue.parent.as_deref().map(|i| related(host, repo, i));
    relations.sub_issues = sub_issues;
    relations.blocked_by = blocked_by;
    relations.blocking = blocking;
    relations.truncated = truncated;
    relations
}

/// Returns whether the list has more entries than the answer contains.
pub(crate) fn is_cut<T>(nodes: &Nodes<T>) -> bool {
    let read = nodes.nodes.iter().flatten().flatten().count() as u64;
    nodes.total_count.is_some_and(|total| total > read)
}

pub(super) fn related(host: &str, repo: &RepoId, issue: &wire::Issue) -> RelatedIssue {
    let state = match issue.state.as_str() {
        "OPEN" => IssueState::Open,
        _ => IssueState::Closed,
    };
    RelatedIssue::new(id_of(host, repo, issue), &issue.title, state, &issue.url)
}

/// Returns the id of an issue. If the issue is in `repo`, keeps the caller's spelling of `repo`.
pub(super) fn id_of(host: &str, repo: &RepoId, issue: &wire::Issue) -> IssueId {
    let found = map::repo_id(host, &issue.repository);
    let known = found.comparison_key() == repo.comparison_key();
    IssueId::number(if known { repo.clone() } else { found }, issue.number)
}

pub(super) fn same_issue(one: &IssueId, other: &IssueId) -> bool {
    one.key == other.key && one.repo.comparison_key() == other.repo.comparison_key()
}

impl GitHub {
    /// Maps an issue of `repo` with the sections in `fields`, except comments.
    pub(super) fn issue_with(
        &self,
        repo: &RepoId,
        mut wire: wire::Issue,
        fields: &IssueFields,
    ) -> Result<Issue> {
        let host = &self.info.host;
        let relations = fields.relations.then(|| relations(host, repo, &wire));
        // GitHub counts issues of hidden repositories but omits them from the list, so the list may
        // be incomplete.
        let is_whole = wire.blocked_by.as_ref().is_some_and(|list| !is_cut(list));
        let unread = (fields.relations && !is_whole).then(|| {
            Warning::new("not all issues that block it could be read").of_section("blocked_by")
        });
        let items = wire.board_items.take();
        let on_boards = wire.project_items.take().map(map::project_items);
        let closing_pulls = wire.closed_by_pull_requests_references.take();
        let closing_pulls = closing_pulls.map(|found| map::closing_pulls(host, found));
        let details = fields.details.then(|| map::issue_details(&mut wire));
        let mut issue = map::issue(host, repo, wire)?;
        issue.relations = relations;
        issue.details = details;
        issue.closing_pulls = closing_pulls.filter(|_| fields.closing_pulls);
        issue.projects = on_boards.filter(|_| fields.projects);
        issue.warnings.extend(unread);
        if let Some(board) = &fields.board {
            issue.on_board = is_on(board, items.as_ref());
            let (values, warning) = values_on(board, &items.unwrap_or_default());
            issue.values = values;
            issue.warnings.extend(warning);
        }
        issue.version = version::of(
            &issue,
            ReadParts {
                body: true,
                values: fields.board.is_some(),
            },
        );
        Ok(issue)
    }

    /// Returns the lookup of the board in `fields`, or no lookup if the board is cached. The lookup
    /// is part of the query for the issues.
    pub(super) fn board_lookup(&self, fields: &IssueFields) -> Lookups {
        let mut lookups = Lookups::default();
        let board = fields.board.as_ref();
        if let Some(board) = board.filter(|board| self.boards.get(board).is_none()) {
            lookups.board(board);
        }
        lookups
    }

    /// Caches the board that was looked up. `roots` is the data of the answer. Removes errors about
    /// boards from `errors`.
    pub(super) fn keep_board(
        &self,
        fields: &IssueFields,
        lookups: &Lookups,
        roots: Option<&Map<String, Value>>,
        errors: &mut Vec<GqlError>,
    ) {
        let (Some(board), Some(roots)) = (&fields.board, roots) else {
            return;
        };
        if let Some(found) = lookups.board_of(board, roots) {
            self.boards.put(board, found);
        }
        errors.retain(|error| !Lookups::is_about_board(error));
    }

    /// Fails if the board in `fields` does not exist.
    ///
    /// GitHub returns no values if the board does not exist, and none if the issue is not on the
    /// board. The board is therefore read if no issue in `read` has values and the board is not
    /// cached.
    pub(super) async fn check_board(&self, fields: &IssueFields, read: &[Issue]) -> Result<()> {
        let Some(board) = &fields.board else {
            return Ok(());
        };
        if read.iter().any(|issue| !issue.values.is_empty()) || self.boards.get(board).is_some() {
            return Ok(());
        }
        match self.read_board(board).await {
            Err(e) if e.is_not_found() => Err(e),
            _ => Ok(()),
        }
    }

    /// Reads the further pages of comments. Failures become warnings.
    pub(super) async fn all_comments(
        &self,
        id: &IssueId,
        mut comments: Nodes<wire::Comment>,
        warnings: &mut Vec<Warning>,
    ) -> Vec<forge_core::model::Comment> {
        let mut size = MAX_PAGE_SIZE;
        while let Some(after) = comments.next() {
            match self.comment_page_of(id, &after, &mut size).await {
                Ok((page, more)) => {
                    warnings.extend(more);
                    comments.extend(page);
                    // A host that repeats a cursor would cause an endless loop.
                    if comments.next().as_ref() == Some(&after) {
                        warnings.push(cut_comments("GitHub repeated a page"));
                        break;
                    }
                }
                Err(e) => {
                    warnings.push(cut_comments(e.message()));
                    break;
                }
            }
        }
        comments.into_vec().into_iter().map(map::comment).collect()
    }
}

/// Returns the warning for missing comments.
pub(super) fn cut_comments(why: &str) -> Warning {
    Warning::new(format!("comments could not be read in full: {why}")).of_section("comments")
}

/// Returns the owner, name and number of an issue of this host.
pub(super) fn place<'a>(host: &str, id: &'a IssueId) -> Result<(&'a str, &'a str, u64)> {
    let (owner, name) = crate::owner_and_name(&id.repo)?;
    match &id.key {
        // GraphQL's `Int` has 31 bits for a positive number.
        PrKey::Number(number)
            if i32::try_from(*number).is_ok() && id.repo.host.eq_ignore_ascii_case(host) =>
        {
            Ok((owner, name, *number))
        }
        PrKey::Number(_) => Err(super::missing(id)),
        PrKey::Record(uri) => Err(Error::invalid(
            "issue",
            format!("'{uri}' is not an issue on GitHub"),
        )
        .with_hint("name it by its number")),
    }
}

/// Returns the sections that an edit reads.
pub(super) fn fields_of(relations: bool, board: Option<&BoardId>) -> IssueFields {
    let mut fields = IssueFields::NONE;
    fields.relations = relations;
    fields.board = board.cloned();
    fields
}
