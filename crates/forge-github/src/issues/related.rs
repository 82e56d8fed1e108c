//! Reads issues, their related issues, and the relations of the related issues, in one request.

use std::collections::HashSet;

use forge_core::{
    Error, Result,
    model::{Issue, IssueFields, IssueId, IssueSet},
};
use futures::future::join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    missing,
    sections::{
        COMMENTS_KEY, FIRST_COMMENTS, access, cut_comments, id_of, is_cut, need_board, place,
        relations, selection,
    },
    version::{self, ReadParts},
};
use crate::{
    GitHub,
    api::GqlAnswer,
    boards::{is_on, item_on, values_on},
    gql::{GqlDocument, types as wire},
    map,
    paged::MAX_PAGE_SIZE,
};

/// How many issues one query reads with their neighbours (related issues).
///
/// GitHub allows 500,000 nodes in a query and counts each list at its full length. An issue has 410
/// nodes of its own and up to 201 neighbours. A neighbour has 155 nodes: itself, 20 labels, 10
/// assignees, 40 relations, and 4 board items with 20 values each. That makes 31,565 nodes for an
/// issue, and 315,650 for ten issues.
///
/// Comments and board items of an issue add 310 nodes, and 50 comments for each neighbour add
/// 10,050. The lookup of the board adds 200. Ten issues therefore have at most 419,450 nodes.
pub(crate) const MAX_ISSUES_PER_QUERY: usize = 10;

/// The board items of a neighbour.
const ITEMS: &str = "boardItems: projectItems(first: 4, includeArchived: false) { totalCount \
                     nodes { ...BoardItemNode } }";
/// The comments of a neighbour.
const COMMENTS: &str =
    "allComments: comments(first: 50) { nodes { ...CommentNode } pageInfo { ...PageEnd } }";

/// Returns the document for `count` issues, with the variables `owner0`, `name0`, `number0` and so
/// on.
pub(crate) fn document(count: usize, fields: &IssueFields) -> GqlDocument {
    let roots: Vec<String> = (0..count)
        .map(|n| {
            format!(
                "i{n}: repository(owner: $owner{n}, name: $name{n}) {{ issue(number: $number{n}) \
                 {{ ...IssueSections ...RelatedIssues }} }}"
            )
        })
        .collect();
    let mut document = GqlDocument::generated("query RelatedIssues", &roots.join(" "));
    for n in 0..count {
        document.variable(&format!("owner{n}"), "String!");
        document.variable(&format!("name{n}"), "String!");
        document.variable(&format!("number{n}"), "Int!");
    }
    let mut own = fields.clone();
    own.relations = false;
    document.fragment("IssueSections", "Issue", &selection(&own, FIRST_COMMENTS));
    let parts = [(fields.board.is_some(), ITEMS), (fields.comments, COMMENTS)];
    let parts = parts.into_iter().filter(|(wanted, _)| *wanted);
    let parts: Vec<&str> = parts.map(|(_, part)| part).collect();
    document.fragment("NeighbourParts", "Issue", &parts.join(" "));
    document
}

#[derive(Deserialize)]
struct RelatedIssueOf {
    issue: Option<wire::Issue>,
}

impl GitHub {
    pub(super) async fn issues_with_related(
        &self,
        ids: &[IssueId],
        fields: &IssueFields,
    ) -> Result<IssueSet> {
        let mut asked: Vec<IssueId> = Vec::new();
        let mut seen = HashSet::new();
        for id in ids {
            if seen.insert((id.repo.comparison_key(), id.key.clone())) {
                asked.push(id.clone());
            }
        }
        let chunks = asked
            .chunks(MAX_ISSUES_PER_QUERY)
            .map(|ids| self.related_chunk(ids, fields));
        let mut set = IssueSet::default();
        let mut given = Vec::new();
        for (chunk, ids) in join_all(chunks)
            .await
            .into_iter()
            .zip(asked.chunks(MAX_ISSUES_PER_QUERY))
        {
            match chunk {
                Ok((chunk, neighbours)) => {
                    set.issues.extend(chunk.issues);
                    set.failed.extend(chunk.failed);
                    given.extend(neighbours);
                }
                Err(error) => {
                    let copies = ids.iter().map(|id| (id.clone(), copy(&error)));
                    set.failed.extend(copies);
                }
            }
        }
        if set.issues.is_empty() && !set.failed.is_empty() {
            return Err(set.failed.swap_remove(0).1);
        }
        let fresh =
            |issue: &Issue| seen.insert((issue.id.repo.comparison_key(), issue.id.key.clone()));
        let mut fresh = fresh;
        given.retain(|issue| fresh(issue));
        set.issues.extend(given);
        if !set.issues.is_empty() {
            self.check_board(fields, &set.issues).await?;
        }
        Ok(set)
    }

    /// Reads the issues of one query with their neighbours.
    async fn related_chunk(
        &self,
        ids: &[IssueId],
        fields: &IssueFields,
    ) -> Result<(IssueSet, Vec<Issue>)> {
        let mut set = IssueSet::default();
        let mut named = Vec::new();
        for id in ids {
            match place(&self.info.host, id) {
                Ok(place) => named.push((id, place)),
                Err(error) => set.failed.push((id.clone(), error)),
            }
        }
        let mut variables = Map::new();
        for (n, (_, (owner, name, number))) in named.iter().enumerate() {
            variables.insert(format!("owner{n}"), json!(owner));
            variables.insert(format!("name{n}"), json!(name));
            variables.insert(format!("number{n}"), json!(number));
        }
        let mut neighbours = Vec::new();
        if named.is_empty() {
            return Ok((set, neighbours));
        }
        let mut document = document(named.len(), fields);
        let lookups = self.board_lookup(fields);
        lookups.select_boards(&mut document);
        lookups.bind_boards(&mut variables);
        let (text, variables) = (document.text(), Value::Object(variables));
        let (access, mut size) = (access(fields), MAX_PAGE_SIZE);
        let answer = self
            .api
            .query_in_pages(access, &text, &variables, &mut size)
            .await;
        let mut answer: GqlAnswer<Map<String, Value>> = match answer {
            // The answer is too long even with one comment for each neighbour. The query is
            // repeated without these comments. The neighbours are then read separately.
            Err(error) if fields.comments && forge_http::is_too_long(&error) => {
                let text = text.replace(COMMENTS, "__typename");
                self.api
                    .query_in_pages(access, &text, &variables, &mut size)
                    .await?
            }
            answer => answer?,
        };
        self.keep_board(fields, &lookups, answer.data.as_ref(), &mut answer.errors);
        need_board(self, fields, &answer)?;
        let Some(mut data) = answer.data.take() else {
            return Err(self.api.first_error(&answer));
        };
        for (n, (id, _)) in named.iter().enumerate() {
            let root = format!("i{n}");
            let found = data.remove(&root);
            let found = found.and_then(|v| Option::<RelatedIssueOf>::deserialize(v).ok().flatten());
            let errors: Vec<_> = answer.errors.iter().filter(|e| e.root() == root).collect();
            let Some(mut wire) = found.and_then(|it| it.issue) else {
                let error = errors.first().map(|e| self.api.error(&answer, e));
                set.failed
                    .push(((*id).clone(), error.unwrap_or_else(|| missing(id))));
                continue;
            };
            let comments = wire.all_comments.take();
            let no_comments = fields.comments && comments.is_none();
            let lost_comments = errors.iter().any(|e| e.names().contains(&COMMENTS_KEY));
            // An error about comments does not tell which neighbour lacks its comments. Each
            // neighbour is therefore read separately.
            if !lost_comments {
                self.neighbours(id, &wire, fields, &mut neighbours);
            }
            let mut fields = fields.clone();
            fields.relations = true;
            let mut warnings = self.api.warnings_of(&answer, errors, |_| {
                ("a part of the issue".to_owned(), None)
            });
            if no_comments || lost_comments {
                warnings.push(cut_comments("the answer lacks some"));
            }
            match self.issue_with(&id.repo, wire, &fields) {
                Ok(mut issue) => {
                    if fields.comments {
                        let first = comments.unwrap_or_default();
                        issue.comments = Some(self.all_comments(id, first, &mut warnings).await);
                    }
                    issue.warnings.extend(warnings);
                    set.issues.push(issue);
                }
                Err(error) => set.failed.push(((*id).clone(), error)),
            }
        }
        Ok((set, neighbours))
    }

    /// Adds the neighbours of an issue, except neighbours with an incomplete list.
    fn neighbours(
        &self,
        id: &IssueId,
        issue: &wire::Issue,
        fields: &IssueFields,
        to: &mut Vec<Issue>,
    ) {
        let lists = [&issue.sub_issues, &issue.blocked_by, &issue.blocking];
        let lists = lists.into_iter().flatten();
        let ends = lists.flat_map(|nodes| nodes.nodes.iter().flatten().flatten());
        for end in issue.parent.as_deref().into_iter().chain(ends) {
            to.extend(self.neighbour(id, end, fields));
        }
    }

    /// Maps a neighbour of `id` without its body; `None` if one of its lists continues on another
    /// page.
    fn neighbour(&self, id: &IssueId, end: &wire::Issue, fields: &IssueFields) -> Option<Issue> {
        let comments = match fields.comments {
            true => Some(
                end.all_comments
                    .clone()
                    .filter(|list| list.next().is_none())?,
            ),
            false => None,
        };
        let host = &self.info.host;
        let own = id_of(host, &id.repo, end);
        let relations = relations(host, &own.repo, end);
        if relations.truncated || is_cut(&end.labels) || is_cut(&end.assignees) {
            return None;
        }
        let (mut values, mut warning) = Default::default();
        if let Some(board) = &fields.board {
            let items = end.board_items.as_ref()?;
            if is_cut(items) && item_on(board, items).is_none() {
                return None;
            }
            (values, warning) = values_on(board, items);
        }
        let mut issue = map::issue(host, &own.repo, end.clone()).ok()?;
        issue.relations = Some(relations);
        issue.values = values;
        let board = fields.board.as_ref();
        issue.on_board = board.and_then(|board| is_on(board, end.board_items.as_ref()));
        issue.comments =
            comments.map(|list| list.into_vec().into_iter().map(map::comment).collect());
        issue.warnings.extend(warning);
        issue.version = version::of(
            &issue,
            ReadParts {
                body: false,
                values: fields.board.is_some(),
            },
        );
        Some(issue)
    }
}

/// Copies the error of a failed query for each of its issues.
pub(super) fn copy(error: &Error) -> Error {
    let copy = Error::new(error.kind().clone(), error.message()).with_retry(error.retry());
    match error.hint() {
        Some(hint) => copy.with_hint(hint.clone()),
        None => copy,
    }
}
