//! The query before edits: reads the issues, the names and ids in the edits, and the fields of the
//! boards.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
    sync::Arc,
};

use forge_core::{
    Error, Result,
    model::{BoardId, EditIssue, IssueId},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    missing,
    plan::{FoundIssue, PlanNames},
    related::copy,
    sections::{PROJECT_ITEMS, fields_of, is_about_boards, place},
    state::newest,
    version,
};
use crate::{
    GitHub,
    api::{GqlAnswer, TokenChoice},
    boards::Board,
    gql::{GqlDocument, lookups::Lookups, types as wire},
};

/// The board items of an issue, including archived ones.
pub(crate) const ITEMS: &str = "boardItems: projectItems(first: 20) { nodes { ...BoardItemNode } }";
/// The newest comments. If GitHub's answer to a new comment is lost, the comment is searched among
/// them.
pub(crate) const RECENT: &str = "newestComment: comments(last: 1) { nodes { id } } \
                                 recentComments: comments(last: 20) { nodes { ...CommentNode } }";

#[derive(Clone, Copy)]
pub(crate) struct IndexedEdit<'a> {
    pub at: usize,
    pub id: &'a IssueId,
    pub edit: &'a EditIssue,
}

/// An issue before its edit.
pub(super) struct EditedIssue {
    pub found: FoundIssue,
    pub newest: Option<String>,
    pub recent: Vec<wire::Comment>,
}

/// The result of the query before edits.
pub(super) struct PreparedEdits {
    pub names: PlanNames,
    /// The issues, in the order of the edits.
    pub issues: Vec<Result<EditedIssue>>,
}

impl IndexedEdit<'_> {
    fn reads_relations(&self) -> bool {
        let edit = self.edit;
        let changes = &edit.blocked_by;
        edit.parent.is_some()
            || !changes.add.is_empty()
            || !changes.remove.is_empty()
            || edit
                .expected_version
                .as_deref()
                .is_some_and(version::has_relations)
    }

    /// Returns the board whose values the edit reads or changes.
    fn board(&self) -> Option<&BoardId> {
        self.edit.board.as_ref()
    }
}

/// Returns the token that the issues are read with.
fn access(edits: &[IndexedEdit<'_>]) -> TokenChoice {
    TokenChoice::of(edits.iter().find_map(IndexedEdit::board))
}

fn selection(edit: &IndexedEdit<'_>) -> String {
    let mut text = "...IssueNode".to_owned();
    if edit.reads_relations() {
        text.push_str(" ...IssueRelations");
    }
    for (wanted, part) in [
        (edit.board().is_some(), ITEMS),
        (edit.edit.comment.is_some(), RECENT),
        (edit.edit.issue_type.is_some(), "issueType { id }"),
        (!edit.edit.projects.is_empty(), PROJECT_ITEMS),
    ] {
        if wanted {
            text.push(' ');
            text.push_str(part);
        }
    }
    text
}

/// Builds the query before edits. Also returns the comparison keys of the repositories in which
/// names are looked up.
pub(crate) fn document(
    host: &str,
    edits: &[IndexedEdit<'_>],
    lookups: &Lookups,
) -> (GqlDocument, Map<String, Value>, Vec<String>) {
    let mut roots = String::new();
    let mut variables = Map::new();
    let mut repos: Vec<String> = Vec::new();
    for (n, edit) in edits.iter().enumerate() {
        let Ok((owner, name, number)) = place(host, edit.id) else {
            continue;
        };
        let of = format!("repository(owner: $owner{n}, name: $name{n})");
        let selection = selection(edit);
        let _ = write!(
            roots,
            " e{n}: {of} {{ issue(number: $number{n}) {{ {selection} }} }}"
        );
        let key = edit.id.repo.comparison_key();
        if !repos.contains(&key) {
            let _ = write!(roots, " r{}: {of} {{ ...RepositoryLookups }}", repos.len());
            repos.push(key);
        }
        variables.insert(format!("owner{n}"), json!(owner));
        variables.insert(format!("name{n}"), json!(name));
        variables.insert(format!("number{n}"), json!(number));
    }
    roots.push_str(" ...Lookups");
    let mut document = GqlDocument::generated("query IssueEdit", roots.trim_start());
    for name in variables.keys() {
        let ty = if name.starts_with("number") {
            "Int!"
        } else {
            "String!"
        };
        document.variable(name, ty);
    }
    lookups.add_to(&mut document, &mut variables);
    (document, variables, repos)
}

impl GitHub {
    /// Adds the names that an edit or a new issue mentions to the lookups.
    pub(super) fn look_up<'a>(
        &self,
        lookups: &mut Lookups,
        ends: impl IntoIterator<Item = &'a IssueId>,
        board: Option<&BoardId>,
    ) -> Result<()> {
        for end in ends {
            let (owner, name, number) = place(&self.info.host, end)?;
            lookups.issue(owner, name, number);
        }
        if let Some(board) = board.filter(|board| self.boards.get(board).is_none()) {
            lookups.board(board);
        }
        Ok(())
    }

    pub(super) async fn prepare_edits(&self, edits: &[IndexedEdit<'_>]) -> Result<PreparedEdits> {
        let mut lookups = Lookups::default();
        let mut refused: BTreeMap<usize, Error> = BTreeMap::new();
        for (n, edit) in edits.iter().enumerate() {
            let IndexedEdit { id, edit, .. } = edit;
            lookups.labels(&edit.labels.add);
            lookups.assignees(&edit.assignees.add);
            lookups.assignees(&edit.assignees.remove);
            if let Some(Some(title)) = &edit.milestone {
                lookups.milestone(title);
            }
            if matches!(edit.issue_type, Some(Some(_))) {
                lookups.issue_types();
            }
            lookups.projects(&edit.projects.add);
            lookups.known_projects(&edit.projects.remove);
            let parent = edit.parent.iter().flatten();
            let ends = parent.chain(&edit.blocked_by.add);
            let board = edit.board.as_ref().filter(|_| !edit.values.is_empty());
            let known = place(&self.info.host, id).map(drop);
            if let Err(error) = known.and_then(|()| self.look_up(&mut lookups, ends, board)) {
                refused.insert(n, error);
            }
        }
        let (document, variables, repos) = document(&self.info.host, edits, &lookups);
        if repos.is_empty() {
            let issues = refused.into_values().map(Err).collect();
            let names = self.names_of(lookups, Map::new(), vec![]);
            return Ok(PreparedEdits { names, issues });
        }
        // Boards are changed with the board token. The scope check below tests the token of this
        // query, so this query uses the board token too.
        let access = match lookups.reads_boards() {
            true => TokenChoice::Board,
            false => access(edits),
        };
        let mut answer: GqlAnswer<Map<String, Value>> = self
            .api
            .query_as(access, &document.text(), &variables.into())
            .await?;
        answer.errors.retain(|e| !lookups.expects(e));
        if lookups.reads_boards() {
            self.api.may_change_boards(&answer)?;
        }
        let Some(mut data) = answer.data.take() else {
            return Err(self.api.first_error(&answer));
        };
        let mut issues = Vec::new();
        for (n, edit) in edits.iter().enumerate() {
            let found = data.remove(&format!("e{n}"));
            issues.push(match refused.remove(&n) {
                Some(error) => Err(error),
                None => self.edited(n, edit, found, &answer),
            });
        }
        let mut names = self.names_of(lookups, data, repos);
        self.find_boards(edits, &mut issues, &mut names, &answer)
            .await;
        Ok(PreparedEdits { names, issues })
    }

    pub(super) fn names_of(
        &self,
        lookups: Lookups,
        mut query: Map<String, Value>,
        repos: Vec<String>,
    ) -> PlanNames {
        PlanNames {
            host: self.info.host.clone(),
            repos: repos_of(&mut query, repos),
            query,
            lookups,
            boards: HashMap::new(),
        }
    }

    /// Extracts one issue from the answer. If the answer has an error for the issue, it is not
    /// edited.
    fn edited(
        &self,
        n: usize,
        edit: &IndexedEdit<'_>,
        found: Option<Value>,
        answer: &GqlAnswer<Map<String, Value>>,
    ) -> Result<EditedIssue> {
        let root = format!("e{n}");
        if let Some(error) = answer.errors.iter().find(|e| e.root() == root) {
            return Err(self.api.error(answer, error));
        }
        let wire = found.and_then(|repo| {
            let issue = repo.get("issue")?.clone();
            Option::<wire::Issue>::deserialize(issue).ok().flatten()
        });
        let Some(mut wire) = wire else {
            return Err(missing(edit.id));
        };
        let newest = newest(&mut wire);
        let recent = std::mem::take(&mut wire.recent_comments).into_vec();
        let fields = fields_of(edit.reads_relations(), edit.board());
        let issue = self.issue_with(&edit.id.repo, wire.clone(), &fields)?;
        Ok(EditedIssue {
            found: FoundIssue::new(&self.info.host, issue, &wire),
            newest,
            recent,
        })
    }

    /// Finds the boards of the edits in the answer or the cache. Reads a cached board again if an
    /// edit names a field or value that the cached board lacks.
    async fn find_boards(
        &self,
        edits: &[IndexedEdit<'_>],
        issues: &mut [Result<EditedIssue>],
        names: &mut PlanNames,
        answer: &GqlAnswer<Map<String, Value>>,
    ) {
        let mut refused: HashMap<BoardId, Error> = HashMap::new();
        for (edit, issue) in edits.iter().zip(issues) {
            let board = edit.board().filter(|_| !edit.edit.values.is_empty());
            let (Some(id), Ok(_)) = (board, &issue) else {
                continue;
            };
            if !names.boards.contains_key(id) && !refused.contains_key(id) {
                match self.board_of(id, edits, names, answer).await {
                    Ok(board) => {
                        names.boards.insert(id.clone(), board);
                    }
                    Err(error) => {
                        refused.insert(id.clone(), error);
                    }
                }
            }
            if let Some(error) = refused.get(id) {
                *issue = Err(copy(error));
            }
        }
    }

    async fn board_of(
        &self,
        id: &BoardId,
        edits: &[IndexedEdit<'_>],
        names: &PlanNames,
        answer: &GqlAnswer<Map<String, Value>>,
    ) -> Result<Arc<Board>> {
        self.api.may_change_boards(answer)?;
        if let Some(board) = names.lookups.board_of(id, &names.query) {
            return Ok(self.boards.put(id, board));
        }
        if let Some(board) = self.boards.get(id) {
            let mine = edits.iter().filter(|e| e.board() == Some(id));
            let mut wanted = mine.flat_map(|e| &e.edit.values);
            let knows = |(field, value): (&String, &Option<String>)| {
                board.ids(id, field, value.as_deref()).is_ok()
            };
            return match wanted.all(knows) {
                true => Ok(board),
                false => self.read_board(id).await,
            };
        }
        let about =
            |e: &&crate::error::GqlError| e.root().starts_with("board") || is_about_boards(e);
        Err(match answer.errors.iter().find(about) {
            Some(error) => self.api.error(answer, error),
            None => self.no_board(id).await,
        })
    }
}

fn repos_of(
    data: &mut Map<String, Value>,
    keys: Vec<String>,
) -> HashMap<String, Map<String, Value>> {
    let mut repos = HashMap::new();
    for (n, key) in keys.into_iter().enumerate() {
        if let Some(Value::Object(repo)) = data.remove(&format!("r{n}")) {
            repos.insert(key, repo);
        }
    }
    repos
}
