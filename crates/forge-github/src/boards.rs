//! Reads and changes GitHub's project boards: their fields, the options of fields, and the values
//! of issues.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use forge_core::{
    Action, Call, Error, ErrorKind, Hint, Noun, Outcome, Param, Result, Warning,
    model::{BoardId, IssueField},
    suggest,
    text::{Quote, one_line, quote, truncate_chars},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    GitHub,
    api::{GqlAnswer, TokenChoice},
    gql::{
        GqlDocument,
        mutation::{CREATE_FIELD, UPDATE_FIELD},
        types as wire,
    },
    issues::sections::is_cut,
    mutate::or_read_back,
};

/// GitHub's type name for a board field with a fixed set of options.
const SINGLE_SELECT: &str = "SINGLE_SELECT";

/// Number of boards that the query `OwnerBoards` lists.
const MAX_LISTED: usize = 20;
/// Maximum number of characters of a board's title in a message.
const MAX_TITLE: usize = 100;

/// A project board, with the ids that mutations take.
#[derive(Debug)]
pub(crate) struct Board {
    pub id: String,
    fields: Vec<wire::BoardField>,
}

/// Caches the boards read in this process.
#[derive(Debug, Default)]
pub(crate) struct BoardCache(Mutex<HashMap<BoardId, Arc<Board>>>);

impl BoardCache {
    pub fn get(&self, id: &BoardId) -> Option<Arc<Board>> {
        self.lock().get(&key(id)).cloned()
    }

    pub fn put(&self, id: &BoardId, board: wire::Board) -> Arc<Board> {
        let board = Arc::new(Board {
            id: board.id,
            fields: board.fields.into_vec(),
        });
        self.lock().insert(key(id), Arc::clone(&board));
        board
    }

    pub fn forget(&self, id: &BoardId) {
        self.lock().remove(&key(id));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<BoardId, Arc<Board>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the cache key of a board. The owner is in lower case, because logins are
/// case-insensitive.
fn key(id: &BoardId) -> BoardId {
    BoardId {
        owner: id.owner.to_ascii_lowercase(),
        number: id.number,
    }
}

/// A field, and optionally one of its options, by id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldChoice<'a> {
    pub field: &'a str,
    pub field_name: &'a str,
    /// The id and name of the option.
    pub option: Option<(&'a str, &'a str)>,
}

impl Board {
    fn selects(&self) -> impl Iterator<Item = &wire::BoardField> + Clone {
        self.fields.iter().filter(|f| f.data_type == SINGLE_SELECT)
    }

    /// Finds a field and its option `value`.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the field or the option does not exist. The error lists the
    /// existing names.
    pub fn ids(&self, id: &BoardId, field: &str, value: Option<&str>) -> Result<FieldChoice<'_>> {
        let found = find_by_name(self.selects(), field, |f| &f.name).ok_or_else(|| {
            let names = self.selects().map(|f| f.name.as_str());
            unknown(&format!("board {id} has no field"), field, names, "fields")
        })?;
        let mut choice = FieldChoice {
            field: &found.id,
            field_name: &found.name,
            option: None,
        };
        let Some(value) = value else {
            return Ok(choice);
        };
        let option = find_by_name(found.options.iter(), value, |o| &o.name).ok_or_else(|| {
            let what = format!("field '{}' of board {id} has no value", found.name);
            let names = found.options.iter().map(|o| o.name.as_str());
            unknown(&what, value, names, "values")
        })?;
        choice.option = Some((&option.id, &option.name));
        Ok(choice)
    }
}

/// Finds an item by name: exact match first, then case-insensitive.
fn find_by_name<'a, T>(
    mut all: impl Iterator<Item = &'a T> + Clone,
    name: &str,
    of: impl Fn(&'a T) -> &'a String,
) -> Option<&'a T> {
    let wanted = name.to_lowercase();
    let exact = all.clone().find(|it| of(it) == name);
    exact.or_else(|| all.find(|it| of(it).to_lowercase() == wanted))
}

fn unknown<'a>(
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
    plural: &str,
) -> Error {
    let name = one_line(name);
    let hint = suggest::hint(&name, names, plural);
    Error::invalid("values", format!("{what} '{name}'; nothing was changed")).with_hint(hint)
}

/// Returns the field values of an issue on `board`. `items` are the entries of the issue on its
/// boards.
pub(crate) fn values_on(
    board: &BoardId,
    items: &wire::Nodes<wire::BoardItem>,
) -> (BTreeMap<String, String>, Option<Warning>) {
    let Some(item) = item_on(board, items).filter(|item| !item.is_archived) else {
        return (BTreeMap::new(), None);
    };
    let mut values = BTreeMap::new();
    let read = item.field_values.nodes.iter().flatten();
    for value in read.clone().flatten() {
        if let Some(name) = &value.name {
            values.insert(value.field.name.clone(), name.clone());
        }
    }
    let total = item.field_values.total_count.unwrap_or(0);
    let warning =
        (total > read.count() as u64).then(|| {
            Warning::new(format!(
            "more than 20 fields of board {board} are filled; values in later ones were not read"
        ))
        .with_hint(Hint::new("move the field to the front of the board's fields"))
        .of_section("values")
        });
    (values, warning)
}

pub(crate) fn item_on<'a>(
    board: &BoardId,
    items: &'a wire::Nodes<wire::BoardItem>,
) -> Option<&'a wire::BoardItem> {
    let mut items = items.nodes.iter().flatten().flatten();
    items.find(|item| {
        item.project.number == board.number
            && item.project.owner.login.eq_ignore_ascii_case(&board.owner)
    })
}

/// Returns whether an issue is on `board`. `items` are its entries on boards, without archived ones.
/// `None` if not all of them could be read.
pub(crate) fn is_on(board: &BoardId, items: Option<&wire::Nodes<wire::BoardItem>>) -> Option<bool> {
    let items = items?;
    let is_found = item_on(board, items).is_some();
    let is_whole = !items.has_gaps() && !is_cut(items);
    (is_found || is_whole).then_some(is_found)
}

/// Returns the error for a board that does not exist or that the token cannot see.
pub(crate) fn no_board(id: &BoardId) -> Error {
    Error::not_found(Noun::Other, format!("there is no board {id}")).with_hint(
        "check the number in the address of the board, and whether the token may see the board",
    )
}

fn needs_board(board: Option<&BoardId>) -> Result<&BoardId> {
    board.ok_or_else(|| {
        Error::invalid(
            "board",
            "on GitHub, fields of issues belong to a board, and no board is named",
        )
        .with_hint("name the board as OWNER/NUMBER, such as octo/5")
    })
}

#[derive(Deserialize)]
struct FieldMade {}

impl GitHub {
    /// Returns the error for a board that does not exist or that the token cannot see.
    ///
    /// Sends a request for the open boards of the owner, and lists them in the hint. If this
    /// request fails, the hint has no list.
    pub(crate) async fn no_board(&self, id: &BoardId) -> Error {
        let text = GqlDocument::query("OwnerBoards").text();
        let variables = json!({ "owner": id.owner });
        let answer: Result<GqlAnswer<Map<String, Value>>> = self
            .api
            .query_as(TokenChoice::Board, &text, &variables)
            .await;
        let data = answer.ok().and_then(|answer| answer.data);
        // The owner is a user or an organisation. GitHub therefore returns null for one of the two.
        let listed = ["user", "organization"].iter().find_map(|owner| {
            let boards = data.as_ref()?.get(*owner)?.get("projectsV2")?;
            wire::Nodes::<wire::ListedBoard>::deserialize(boards).ok()
        });
        let listed = listed.map(wire::Nodes::into_vec).unwrap_or_default();
        let error = no_board(id);
        let Some(first) = listed.first() else {
            return error;
        };
        let owner = &id.owner;
        let name = |board: &wire::ListedBoard| format!("{owner}/{}", board.number);
        let names = listed.iter().map(|board| {
            let title = one_line(&board.title);
            let (title, _) = truncate_chars(&title, MAX_TITLE);
            format!("{} {}", name(board), quote(&title, Quote::Inline))
        });
        let names: Vec<String> = names.collect();
        // A list of `MAX_LISTED` boards may be incomplete.
        let verb = match listed.len() < MAX_LISTED {
            true => "are",
            false => "include",
        };
        let hint = format!(
            "the open boards of {owner} {verb} {}; name one of them and try again",
            names.join(", ")
        );
        let set = Action::new(Call::ConfigSet).with(Param::Key, "workflow.board");
        let set = match listed.len() {
            1 => set.with(Param::Value, name(first)),
            _ => set.choose(Param::Value),
        };
        error.with_hint(Hint::from(hint).with_action(set))
    }

    /// Reads a board from GitHub and caches it.
    pub(crate) async fn read_board(&self, id: &BoardId) -> Result<Arc<Board>> {
        let text = GqlDocument::query("Board").text();
        let variables = json!({ "owner": id.owner, "number": id.number });
        let mut answer: GqlAnswer<Map<String, Value>> = self
            .api
            .query_as(TokenChoice::Board, &text, &variables)
            .await?;
        // The document queries the owner both as a user and as an organization. One of the two is
        // always NOT_FOUND, so this error is expected.
        answer
            .errors
            .retain(|e| e.kind.as_deref() != Some("NOT_FOUND"));
        let found = answer.data.take().and_then(|data| {
            ["user", "organization"].iter().find_map(|owner| {
                let board = data.get(*owner)?.get("projectV2")?;
                Option::<wire::Board>::deserialize(board).ok().flatten()
            })
        });
        match found {
            Some(board) => Ok(self.boards.put(id, board)),
            None if answer.errors.is_empty() => Err(self.no_board(id).await),
            None => Err(self.api.first_error(&answer)),
        }
    }

    pub(crate) async fn board_fields(&self, board: Option<&BoardId>) -> Result<Vec<IssueField>> {
        let board = self.read_board(needs_board(board)?).await?;
        Ok(board.selects().map(field_of).collect())
    }

    pub(crate) async fn define_board_field(
        &self,
        board: Option<&BoardId>,
        field: &IssueField,
    ) -> Result<Outcome<IssueField>> {
        let id = needs_board(board)?;
        if field.name.trim().is_empty() || field.options.is_empty() {
            return Err(Error::invalid(
                "field",
                "a field of a board needs a name and at least one value",
            )
            .with_hint("name both"));
        }
        let board = self.read_board(id).await?;
        let known = find_by_name(board.fields.iter(), field.name.trim(), |f| &f.name);
        if let Some(known) = known.filter(|f| f.data_type != SINGLE_SELECT) {
            let kind = known.data_type.to_lowercase().replace('_', " ");
            return Err(Error::invalid(
                "field",
                format!(
                    "field '{}' of board {id} is a {kind} field, and not a single select one",
                    known.name
                ),
            )
            .with_hint("choose another name, or delete the field on the board"));
        }
        let missing: Vec<&String> = field
            .options
            .iter()
            .filter(|option| !known.is_some_and(|f| has_option(f, option)))
            .collect();
        let (mutation, input) = match known {
            Some(known) if missing.is_empty() => {
                let warning = Warning::new(format!(
                    "field '{}' of board {id} has these values already; nothing was changed",
                    known.name
                ));
                return Ok(Outcome::unchanged(field_of(known), warning));
            }
            // An update replaces the list of options: GitHub deletes each option that the list
            // lacks, and creates an option for each entry without an id.
            Some(known) => {
                let had = known.options.iter().map(|o| {
                    json!({ "id": o.id, "name": o.name, "color": o.color, "description": o.description })
                });
                let options: Vec<Value> = had.chain(missing.iter().map(|o| option(o))).collect();
                let input = json!({ "fieldId": known.id, "singleSelectOptions": options });
                (UPDATE_FIELD, input)
            }
            None => {
                let options: Vec<Value> = missing.iter().map(|o| option(o)).collect();
                let input = json!({
                    "projectId": board.id,
                    "dataType": SINGLE_SELECT,
                    "name": field.name.trim(),
                    "singleSelectOptions": options,
                });
                (CREATE_FIELD, input)
            }
        };
        self.boards.forget(id);
        let written = self
            .send_one_as::<FieldMade>(TokenChoice::Board, mutation, input)
            .await
            .map(|_| {
                let mut made =
                    known.map_or_else(|| IssueField::new(field.name.trim(), vec![]), field_of);
                made.options.extend(missing.iter().map(|o| (*o).clone()));
                made
            });
        let (made, warning) = or_read_back(written, || async {
            let now = self.read_board(id).await?;
            let found = find_by_name(now.selects(), field.name.trim(), |f| &f.name);
            let complete = |f: &&wire::BoardField| field.options.iter().all(|o| has_option(f, o));
            Ok(found.filter(complete).map(field_of))
        })
        .await?;
        let mut outcome = Outcome::immediate(made);
        outcome.warnings.extend(warning);
        Ok(outcome)
    }
}

fn has_option(field: &wire::BoardField, option: &str) -> bool {
    find_by_name(field.options.iter(), option.trim(), |o| &o.name).is_some()
}

fn option(name: &str) -> Value {
    json!({ "name": name.trim(), "color": "GRAY", "description": "" })
}

fn field_of(field: &wire::BoardField) -> IssueField {
    let options = field.options.iter().map(|o| o.name.clone());
    IssueField::new(&field.name, options.collect())
}

/// Returns the error for writing values of an archived board item.
pub(crate) fn archived(board: &BoardId, issue: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Precondition(forge_core::Precondition::Rule),
        format!("{issue} is in the archive of board {board}; nothing was changed"),
    )
    .with_hint("restore the item on the board, then try again")
}
