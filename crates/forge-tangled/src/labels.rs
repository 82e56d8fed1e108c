//! Reads and changes labels. A label definition is a record in any account. A repository subscribes
//! to definitions. A label operation is a record that adds labels to a pull request or an issue, or
//! removes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::Arc,
};

use forge_core::{
    Action, AtUri, Capability, Error, ErrorKind, Hint, NamedAccounts, Noun, Op, Param, Result,
    Timestamp, Warning, call,
    model::{Actor, Label},
    suggest,
    text::one_line,
};
use futures::{StreamExt as _, future, stream};
use serde_json::{Value, json};

use crate::{
    Dialects, ShFields, Tangled,
    json_field::OptionalField,
    lexicon,
    part_window::PartWindow,
    pulls::{list::is_unknown_owner, status::Writers, view::unread},
    records::{self, NewRecord, Record},
    related_records,
    repository::TangledRepository,
    sources::{IN_FLIGHT, Sourced},
    write, xrpc_error,
};

/// Maximum number of definitions that are read, in the order of the repository record. The limit is
/// needed because the owner chooses their number and the servers that hold them.
const MAX_DEFINITIONS: usize = 500;
/// Maximum length of a label name, in bytes. The limit is needed because the name is shown with
/// each value of the label.
const MAX_NAME: usize = 1_000;

/// The colour of a label whose definition has none.
pub(crate) const GREY: &str = "ededed";

/// A relation between issues. It is stored in a label of the same name, whose values are the other
/// issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Parent,
    BlockedBy,
}

impl Relation {
    /// Returns the relation of the label `name`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Parent, Self::BlockedBy]
            .into_iter()
            .find(|relation| relation.name().eq_ignore_ascii_case(name))
    }

    /// Returns the name of the label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parent => "parent",
            Self::BlockedBy => "blocked-by",
        }
    }
}

/// The related issues that the labels of an issue name, by at-uri.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub parent: Option<String>,
    pub blocked_by: Vec<String>,
}

impl Named {
    /// Reads the relations from `values`: label values by the at-uri of their definition. A value
    /// that is not the at-uri of an issue is ignored.
    pub fn of(
        values: &BTreeMap<String, BTreeSet<String>>,
        definitions: &[LabelDefinition],
        issues: &str,
    ) -> Self {
        let mut named = Self::default();
        let is_issue = |value: &&String| {
            AtUri::parse(value).is_ok_and(|uri| {
                uri.collection == issues
                    && lexicon::is_did(&uri.authority)
                    && uri.to_string() == **value
            })
        };
        for definition in definitions {
            let Some(relation) = definition.relation() else {
                continue;
            };
            let values = values.get(&definition.uri).into_iter().flatten();
            let mut values = values.filter(is_issue).cloned();
            match relation {
                Relation::Parent if named.parent.is_none() => named.parent = values.next(),
                Relation::Parent => {}
                Relation::BlockedBy => named.blocked_by.extend(values),
            }
        }
        named.blocked_by.sort();
        named.blocked_by.dedup();
        named
    }
}

/// The labels of a pull request or an issue after all its label operations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labelled {
    pub labels: Vec<Label>,
    pub assignees: Vec<Actor>,
    /// DIDs of the assignees.
    pub assigned: Vec<String>,
    /// Values of custom fields, by the field's name.
    pub values: BTreeMap<String, String>,
    /// Warnings about definitions that could not be read.
    pub missing: Vec<Warning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelValueType {
    /// No value: the label is only present or absent. Written as the word `null`.
    Null,
    Boolean,
    Integer,
    Text,
    /// An account.
    Did,
    /// The name of an atproto schema.
    Nsid,
}

/// A label definition that a repository uses.
#[derive(Clone, Debug)]
pub(crate) struct LabelDefinition {
    pub uri: String,
    pub name: String,
    pub color: String,
    pub value_type: LabelValueType,
    pub allowed: Vec<String>,
    pub multiple: bool,
    pub scope: Vec<String>,
}

impl LabelDefinition {
    fn parse(record: &Record, fields: &ShFields) -> Option<Self> {
        let value = &record.value;
        let kind = value.get(&*fields.label_type);
        let word = |name: &str| kind.and_then(|k| k.get(name)).and_then(Value::as_str);
        let list = |value: Option<&Value>| -> Vec<String> {
            let list = value.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(|v| v.as_str().map(str::to_owned)).collect()
        };
        let value_type = match (word(&fields.label_kind), word(&fields.label_format)) {
            (Some("null") | None, _) => LabelValueType::Null,
            (Some("boolean"), _) => LabelValueType::Boolean,
            (Some("integer"), _) => LabelValueType::Integer,
            (_, Some("did")) => LabelValueType::Did,
            (_, Some("nsid")) => LabelValueType::Nsid,
            _ => LabelValueType::Text,
        };
        let color = record.text(&fields.label_color).unwrap_or(GREY);
        let color = color.trim_start_matches('#');
        Some(Self {
            uri: record.uri.clone(),
            name: record.text(&fields.label_name)?.to_owned(),
            color: color.to_ascii_lowercase(),
            value_type,
            allowed: list(kind.and_then(|k| k.get(&*fields.label_values))),
            multiple: value.get(&*fields.label_multiple) == Some(&Value::Bool(true)),
            scope: list(value.get(&*fields.label_scope)),
        })
    }

    /// Returns true for the label with which tangled assigns accounts: its values are accounts.
    pub fn is_assignee(&self) -> bool {
        self.value_type == LabelValueType::Did && self.name.eq_ignore_ascii_case("assignee")
    }

    /// Returns true if records of the collection `scope` can have the label.
    pub fn is_for(&self, scope: &str) -> bool {
        self.scope.is_empty() || self.scope.iter().any(|s| s == scope)
    }

    /// Returns the relation that the label stores. Only a label with free text values stores one.
    pub fn relation(&self) -> Option<Relation> {
        let is_free = self.value_type == LabelValueType::Text && self.allowed.is_empty();
        Relation::named(&self.name).filter(|_| is_free)
    }

    /// Returns true if the label is a field of issues: a label with a single text as its value.
    pub fn is_field(&self) -> bool {
        self.value_type == LabelValueType::Text && !self.multiple && self.relation().is_none()
    }

    /// Returns the labels to show for these values of the definition.
    pub fn labels(&self, values: &BTreeSet<String>) -> Vec<Label> {
        let label = |name: String| {
            let mut label = Label::new(name, &self.color);
            label.id.clone_from(&self.uri);
            label
        };
        if self.value_type == LabelValueType::Null {
            return vec![label(self.name.clone())];
        }
        values
            .iter()
            .map(|value| label(format!("{}:{value}", self.name)))
            .collect()
    }

    /// Builds the operand of a label operation for the label. `typed` is the text after the `:`.
    fn operand(&self, typed: Option<&str>) -> Result<Operand> {
        Ok(Operand {
            key: self.uri.clone(),
            value: self.value(typed)?,
        })
    }

    /// Returns the stored value for the text that a user typed after the `:`. An account must be
    /// given by its DID.
    fn value(&self, typed: Option<&str>) -> Result<String> {
        let refused =
            |what: &str| Error::invalid("labels", format!("the label '{}' {what}", self.name));
        match (self.value_type, typed) {
            (LabelValueType::Null, None) => Ok("null".to_owned()),
            (LabelValueType::Null, Some(_)) => Err(refused("takes no value")),
            (_, None | Some("")) => {
                Err(refused("needs a value").with_hint(format!("write {}:VALUE", self.name)))
            }
            (LabelValueType::Boolean, Some(v)) if v != "true" && v != "false" => {
                Err(refused("is true or false"))
            }
            (LabelValueType::Integer, Some(v)) if v.parse::<i64>().is_err() => {
                Err(refused("takes a whole number"))
            }
            (LabelValueType::Nsid, Some(v)) if !lexicon::is_nsid(v) => Err(refused(&format!(
                "takes an NSID, and '{}' is not an NSID",
                one_line(v)
            ))
            .with_hint("write a name such as org.example.repo.item")),
            (_, Some(v)) if !self.allowed.is_empty() && !self.allowed.iter().any(|a| a == v) => {
                Err(
                    refused(&format!("has no value '{v}'")).with_hint(suggest::hint(
                        v,
                        self.allowed.iter().map(String::as_str),
                        "values",
                    )),
                )
            }
            (_, Some(v)) => Ok(v.to_owned()),
        }
    }
}

/// The definitions that a repository uses, as far as they could be read.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    read: Vec<LabelDefinition>,
    unread: Vec<Unread>,
    /// At-uris in label operations that were no definitions of the repository when the definitions
    /// were read. They are not searched for again.
    absent: BTreeSet<String>,
}

/// A definition that the repository uses, but that could not be read.
#[derive(Debug)]
struct Unread {
    uri: String,
    why: String,
    /// At-uris of further definitions that the same warning covers.
    others: BTreeSet<String>,
    /// True if the definition was left out because the repository has more definitions than are
    /// read. A second read would leave out the same one.
    is_beyond_limit: bool,
}

impl Deref for Definitions {
    type Target = [LabelDefinition];

    fn deref(&self) -> &[LabelDefinition] {
        &self.read
    }
}

impl Definitions {
    /// Approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        let read = self.read.iter().map(|it| {
            let texts = it.allowed.iter().chain(&it.scope).map(String::len);
            let texts = texts.sum::<usize>() + it.uri.len() + it.name.len() + it.color.len();
            size_of::<LabelDefinition>() + texts
        });
        let unread = self.unread.iter().map(|it| {
            let others = it.others.iter().map(|uri| size_of::<String>() + uri.len());
            it.uri.len() + it.why.len() + others.sum::<usize>()
        });
        let absent = self.absent.iter();
        let absent = absent.map(|uri| size_of::<String>() + uri.len());
        read.chain(unread).chain(absent).sum()
    }

    /// Returns a warning if the definition `uri` could not be read, because its labels are then
    /// missing. `None` if the definition was read, or is not one of the repository's.
    pub fn missing(&self, uri: &str) -> Option<Warning> {
        let is_named = |it: &&Unread| it.uri == uri || it.others.contains(uri);
        self.unread.iter().find(is_named).map(Unread::warning)
    }

    /// Returns the label values on `subject` after all operations, by the at-uri of the definition.
    pub fn applied(
        &self,
        operations: &[Record],
        subject: &str,
        writers: &Writers,
        fields: &ShFields,
    ) -> BTreeMap<String, BTreeSet<String>> {
        let many = |key: &str| self.read.iter().any(|d| d.uri == key && d.multiple);
        applied(operations, subject, writers, fields, many)
    }

    /// Returns true if a definition could not be read, but a later read may succeed.
    pub fn has_failed(&self) -> bool {
        self.unread.iter().any(|it| !it.is_beyond_limit)
    }

    /// Returns the warnings about all definitions that could not be read.
    pub fn warnings(&self) -> Vec<Warning> {
        self.unread.iter().map(Unread::warning).collect()
    }

    /// Returns the at-uri of the definition with this name or at-uri, even if the definition was
    /// not read.
    pub fn uri_of(&self, name: &str) -> Result<&str> {
        let is_named = |d: &&LabelDefinition| d.name.eq_ignore_ascii_case(name) || d.uri == name;
        let read = self.read.iter().find(is_named).map(|d| d.uri.as_str());
        let unread = self.unread.iter();
        let unread = unread.flat_map(|it| it.others.iter().chain([&it.uri]));
        let mut unread = unread.map(String::as_str);
        if let Some(uri) = read.or_else(|| unread.find(|uri| *uri == name)) {
            return Ok(uri);
        }
        let name = one_line(name);
        let told: Vec<String> = self.warnings().into_iter().map(|w| w.message).collect();
        if !self.has_failed() {
            let names = self.read.iter().map(|d| d.name.as_str());
            let mut why = format!("there is no label '{name}'");
            let mut hint = suggest::hint(&name, names, "labels");
            if !told.is_empty() {
                why.push_str(&format!(" among those that were read: {}", told.join("; ")));
                hint.push_str("; name another one by its at-uri");
            }
            return Err(Error::not_found(Noun::Label, why).with_hint(hint));
        }
        // The name may belong to a definition that could not be read.
        let why = format!(
            "it is unknown whether there is a label '{name}': {}",
            told.join("; ")
        );
        Err(Error::new(ErrorKind::Network, why)
            .with_hint("try again later, or name the label by its at-uri"))
    }
}

impl Unread {
    fn warning(&self) -> Warning {
        Warning::new(format!(
            "a label of this repository could not be read, and is left out: {}: {}",
            one_line(&self.uri),
            self.why
        ))
        .of_section("labels")
    }
}

/// An addition or removal of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub key: String,
    pub value: String,
}

impl Operand {
    fn parse(value: &Value, fields: &ShFields) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        Some(Self {
            key: text(&fields.op_key)?,
            value: text(&fields.op_value)?,
        })
    }

    fn json(&self, fields: &ShFields) -> Value {
        json!({
            (fields.op_key.to_string()): self.key,
            (fields.op_value.to_string()): self.value,
        })
    }
}

/// Returns the additions or the removals of a label operation; `list` is the name of their field.
pub(crate) fn operands(record: &Record, list: &str, fields: &ShFields) -> Vec<Operand> {
    let list = record.value.get(list).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|o| Operand::parse(o, fields))
        .collect()
}

/// Applies label operations in order. Returns the resulting label values on `subject`, by the
/// at-uri of the definition.
///
/// - Operations of accounts that may not push do not count.
/// - The time that a record states decides its order. A time in the future is replaced by the time
///   of the record key.
/// - Within a record, removals come first.
/// - An addition without a value is a removal (tangled's `models/label.go`).
/// - A repeated addition of a value has no effect.
/// - A label with a single value keeps the value that was added last, and any removal clears it.
fn applied(
    operations: &[Record],
    subject: &str,
    writers: &Writers,
    fields: &ShFields,
    takes_many: impl Fn(&str) -> bool,
) -> BTreeMap<String, BTreeSet<String>> {
    let now = Timestamp::now();
    let mut ordered: Vec<_> = operations
        .iter()
        .filter(|r| r.text(&fields.op_subject) == Some(subject))
        .filter(|r| writers.may_write(r.author()))
        .filter_map(|r| {
            let said = r.created_at(&fields.op_at)?;
            let at = if said > now {
                crate::tid::time(r.rkey()).unwrap_or(now)
            } else {
                said
            };
            Some((at, r))
        })
        .collect();
    ordered.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.rkey().cmp(y.rkey())));
    let mut state: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, record) in ordered {
        let list = |name: &str| operands(record, name, fields);
        let (removed, added): (Vec<_>, Vec<_>) = list(&fields.op_add)
            .into_iter()
            .partition(|o| o.value.is_empty());
        for operand in list(&fields.op_delete).into_iter().chain(removed) {
            if let Some(values) = state.get_mut(&operand.key) {
                let clears = operand.value.is_empty() || operand.value == "null";
                if clears || !takes_many(&operand.key) {
                    values.clear();
                }
                values.remove(&operand.value);
            }
        }
        for operand in added {
            let many = takes_many(&operand.key);
            let values = state.entry(operand.key).or_default();
            if !many {
                values.clear();
            }
            values.insert(operand.value);
        }
        state.retain(|_, values| !values.is_empty());
    }
    state
}

/// Lower bounds for the time and the record key of the next label operation. Above them, every
/// reader applies the new operation after the existing ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    /// The latest time of an existing operation.
    at: Option<Timestamp>,
    /// The latest record key of an existing operation. A reader whose clock lags orders operations
    /// in its future by their keys.
    key: String,
}

impl Before {
    /// Computes the bounds from the operations on `subject` that count. An operation with a time in
    /// the future is included, because the local clock may lag. Its time is limited to a second
    /// after the time of its record key: readers with a lagging clock order the operation by this
    /// key.
    pub fn of(operations: &[Record], subject: &str, writers: &Writers, fields: &ShFields) -> Self {
        let now = Timestamp::now();
        let mut before = Self::default();
        let counting = operations
            .iter()
            .filter(|r| r.text(&fields.op_subject) == Some(subject))
            .filter(|r| writers.may_write(r.author()));
        for record in counting {
            let Some(said) = record.created_at(&fields.op_at) else {
                continue;
            };
            let made = crate::tid::time(record.rkey());
            let latest = made.map_or(now, |made| {
                Timestamp::from_unix(made.unix().saturating_add(1)).max(now)
            });
            before.at = before.at.max(Some(said.min(latest)));
            if made.is_some() && record.rkey() > before.key.as_str() {
                record.rkey().clone_into(&mut before.key);
            }
        }
        before
    }
}

/// Returns why a record, or a part of it, changes no label; `None` for a valid record.
pub(crate) fn broken(record: &Record, fields: &ShFields) -> Option<&'static str> {
    if record.created_at(&fields.op_at).is_none() {
        return Some("it has no creation time, and its record key contains none");
    }
    let parts = [&fields.op_add, &fields.op_delete].map(|name| record.value.field(name));
    if parts.iter().flatten().any(|part| !part.is_array()) {
        return Some("its added or deleted labels are not a list");
    }
    let operands = parts.into_iter().flatten().filter_map(Value::as_array);
    let odd = operands
        .flatten()
        .any(|o| Operand::parse(o, fields).is_none());
    odd.then_some("an entry has no label or no value")
}

/// Returns the at-uris of the label definitions that the operations add.
pub(crate) fn keys<'a>(operations: &'a [Record], fields: &ShFields) -> BTreeSet<&'a str> {
    let added = operations
        .iter()
        .filter_map(|r| r.value.get(&*fields.op_add)?.as_array());
    added
        .flatten()
        .filter_map(|o| o.get(&*fields.op_key)?.as_str())
        .collect()
}

/// Label additions and removals that have been checked and can be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub add: Vec<Operand>,
    pub remove: Vec<Operand>,
}

impl Change {
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    /// Returns the part of the change that the labels with the values `now` still lack. A removal
    /// without a value removes any value.
    pub fn remaining(mut self, now: &BTreeMap<String, BTreeSet<String>>) -> Self {
        let values = |key: &str| now.get(key).into_iter().flatten();
        self.add.retain(|o| !values(&o.key).any(|v| *v == o.value));
        self.remove = std::mem::take(&mut self.remove)
            .into_iter()
            .flat_map(|o| {
                let gone = values(&o.key).filter(|v| o.value.is_empty() || **v == o.value);
                let of = |value: &String| Operand {
                    key: o.key.clone(),
                    value: value.clone(),
                };
                gone.map(of).collect::<Vec<_>>()
            })
            .collect();
        self
    }

    /// Combines both changes.
    pub fn and(mut self, other: Self) -> Self {
        self.add.extend(other.add);
        self.remove.extend(other.remove);
        self
    }

    /// Builds the label operation for the change, with a time and a key later than `before`.
    pub fn record(&self, names: &Dialects, subject: &str, before: &Before) -> Result<NewRecord> {
        let collection = &names.sh.label_op;
        let fields = &names.sh_fields;
        let list = |operands: &[Operand]| -> Vec<Value> {
            operands.iter().map(|o| o.json(fields)).collect()
        };
        let mut record = NewRecord::new(
            collection,
            json!({
                "$type": collection,
                (fields.op_subject.to_string()): subject,
                (fields.op_at.to_string()): write::timestamp_after(before.at),
                (fields.op_add.to_string()): list(&self.add),
                (fields.op_delete.to_string()): list(&self.remove),
            }),
        );
        record.rkey = crate::tid::new_after(&before.key);
        write::checked(record, names)
    }
}

impl Tangled {
    /// Returns the definitions to which a repository subscribes, without deleted ones.
    pub(crate) async fn definitions(
        &self,
        repository: &TangledRepository,
    ) -> Result<Arc<Definitions>> {
        self.definitions_without(repository, BTreeSet::new()).await
    }

    async fn definitions_without(
        &self,
        repository: &TangledRepository,
        absent: BTreeSet<String>,
    ) -> Result<Arc<Definitions>> {
        let cell = self.definitions.cell(&repository.record.uri);
        let found = cell.get_or_try_init(|| async {
            let mut uris = self.subscribed(repository).await?;
            let others = uris.split_off(uris.len().min(MAX_DEFINITIONS));
            let window = &PartWindow::begin();
            let reads = uris.into_iter().map(|uri| async move {
                let read = self.read_definition(&uri, window).await;
                (uri.to_string(), read)
            });
            let all: Vec<(String, Result<LabelDefinition>)> =
                stream::iter(reads).buffered(IN_FLIGHT).collect().await;
            let mut definitions = Definitions {
                absent,
                ..Definitions::default()
            };
            for (uri, read) in all {
                match read {
                    Ok(definition) => definitions.read.push(definition),
                    Err(e) if xrpc_error::is_gone(&e) => {}
                    Err(e) => definitions.unread.push(Unread {
                        uri,
                        why: e.message().to_owned(),
                        others: BTreeSet::new(),
                        is_beyond_limit: false,
                    }),
                }
            }
            if let Some(first) = others.first() {
                let count = others.len();
                definitions.unread.push(Unread {
                    uri: first.to_string(),
                    why: format!(
                        "the first {MAX_DEFINITIONS} labels of a repository are read, and {count} \
                         more are not"
                    ),
                    others: others.iter().skip(1).map(AtUri::to_string).collect(),
                    is_beyond_limit: true,
                });
            }
            Ok::<_, Error>(Arc::new(definitions))
        });
        Ok(Arc::clone(found.await?))
    }

    async fn read_definition(&self, uri: &AtUri, window: &PartWindow) -> Result<LabelDefinition> {
        let read = |pds| async move { records::get_uri(&pds, uri).await };
        let record = self
            .identities
            .read_account(&uri.authority, window, read)
            .await?;
        let definition = LabelDefinition::parse(&record, self.fields())
            .ok_or_else(|| Error::new(ErrorKind::Protocol, "its record has no name"))?;
        if definition.name.len() > MAX_NAME {
            let why = format!("its name has more than {MAX_NAME} bytes");
            return Err(Error::new(ErrorKind::Protocol, why));
        }
        Ok(definition)
    }

    /// Returns warnings about unread labels, because a filter by labels may have missed rows with
    /// these labels.
    pub(crate) async fn missed_by_labels(&self, repository: &TangledRepository) -> Vec<Warning> {
        match self.definitions(repository).await {
            Ok(definitions) => definitions.warnings(),
            Err(e) => vec![unread("the labels", &e)],
        }
    }

    /// Returns the definitions as [`Self::definitions`] does, but reads them again if one of
    /// `wanted` is missing, because it may be new.
    pub(crate) async fn definitions_with(
        &self,
        repository: &TangledRepository,
        wanted: impl Fn(&[LabelDefinition]) -> bool,
    ) -> Result<Arc<Definitions>> {
        let known = self.definitions(repository).await?;
        if wanted(&known) {
            return Ok(known);
        }
        self.definitions_now(repository).await
    }

    /// Returns the definitions as [`Self::definitions`] does, but reads them again if they lack one
    /// of those that the label operations `operations` add. An at-uri that is no definition of the
    /// repository makes them be read once, and not for each row of a list.
    pub(crate) async fn definitions_for(
        &self,
        repository: &TangledRepository,
        operations: &[Record],
    ) -> Result<Arc<Definitions>> {
        let known = self.definitions(repository).await?;
        let mut absent = keys(operations, self.fields());
        absent.retain(|key| !known.iter().any(|d| d.uri == **key));
        if absent.iter().all(|key| known.absent.contains(*key)) {
            return Ok(known);
        }
        let absent = absent.into_iter().map(str::to_owned);
        let absent = absent.chain(known.absent.iter().cloned()).collect();
        self.definitions.forget(&repository.record.uri);
        self.definitions_without(repository, absent).await
    }

    /// Returns the definitions as [`Self::definitions`] does, but reads them again.
    pub(crate) async fn definitions_now(
        &self,
        repository: &TangledRepository,
    ) -> Result<Arc<Definitions>> {
        self.definitions.forget(&repository.record.uri);
        self.definitions(repository).await
    }

    /// Reads the labels that the repository's record lists.
    async fn subscribed(&self, repository: &TangledRepository) -> Result<Vec<AtUri>> {
        let uri = AtUri::parse(&repository.record.uri)?;
        let pds = self.identities.pds(&uri.authority).await?;
        let record = records::get_uri(&pds, &uri).await?;
        let list = record
            .value
            .get(&*self.fields().repo_labels)
            .and_then(Value::as_array);
        let uris = list.into_iter().flatten().filter_map(Value::as_str);
        Ok(uris.filter_map(|uri| AtUri::parse(uri).ok()).collect())
    }

    /// Checks the labels and assignees to add or to remove, before anything is written. Labels are
    /// given by name, `name:value` or at-uri.
    pub(crate) async fn label_change(
        &self,
        repository: &TangledRepository,
        scope: &str,
        labels: (&[String], &[String]),
        assignees: (&[String], &[String]),
    ) -> Result<Change> {
        if [labels.0, labels.1, assignees.0, assignees.1]
            .iter()
            .all(|l| l.is_empty())
        {
            return Ok(Change::default());
        }
        // The index drops label operations of accounts that may not push.
        let why = "labels count only from accounts that may push";
        self.may_push(repository, "label", why).await?;
        let definitions = self
            .definitions_with(repository, |known| {
                let is_known = |name: &String| {
                    part(known, name, scope).is_ok_and(|(d, typed)| d.value(typed).is_ok())
                };
                labels.0.iter().chain(labels.1).all(is_known)
            })
            .await?;
        let mut change = Change {
            add: self
                .operands(repository, &definitions, labels.0, scope)
                .await?,
            remove: self
                .operands(repository, &definitions, labels.1, scope)
                .await?,
        };
        change.add.extend(
            self.assignments(repository, &definitions, assignees.0)
                .await?,
        );
        change.remove.extend(
            self.assignments(repository, &definitions, assignees.1)
                .await?,
        );
        Ok(change)
    }

    /// Reads the label operations on `subject`. Those of accounts that may not push do not count
    /// (tangled's ingester drops them), so no server of such an account is asked for them.
    pub(crate) async fn label_ops_about(
        &self,
        repository: &TangledRepository,
        subject: &str,
    ) -> Result<Sourced<Vec<Record>>> {
        let kind = related_records::label_ops(&self.settings.dialects);
        let labelling = self.labelling_accounts(repository);
        self.about_by(&kind, subject, labelling, true).await
    }

    /// Returns the accounts whose label operations count.
    async fn labelling_accounts(&self, repository: &TangledRepository) -> BTreeSet<String> {
        let mut accounts = self.collaborators(repository).await.accounts;
        accounts.insert(repository.owner.did.clone());
        accounts
    }

    /// Returns the bounds that the next label operation on `subject` must exceed.
    pub(crate) async fn label_ops_before(
        &self,
        repository: &TangledRepository,
        subject: &str,
    ) -> Before {
        let all = self.label_ops_now(repository, subject).await;
        let writers = self.writers(repository).await;
        Before::of(&all, subject, &writers, self.fields())
    }

    /// Returns the label operations on `subject`, including those that the index may lack. If no
    /// source answers, the list is empty, and the next operation gets the time of the local clock.
    pub(crate) async fn label_ops_now(
        &self,
        repository: &TangledRepository,
        subject: &str,
    ) -> Vec<Record> {
        let kind = related_records::label_ops(&self.settings.dialects);
        let accounts = self.labelling_accounts(repository).await;
        let (found, [fresh]) = future::join(
            self.label_ops_about(repository, subject),
            self.fresh([&kind], subject, &accounts),
        )
        .await;
        fresh.overlay(found.map(|found| found.value).unwrap_or_default())
    }

    /// Checks labels that a user typed, and returns their operands.
    async fn operands(
        &self,
        repository: &TangledRepository,
        definitions: &Definitions,
        names: &[String],
        scope: &str,
    ) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        for name in names {
            let (definition, typed) =
                part(definitions, name, scope).map_err(|e| match definitions.unread.first() {
                    // The label may belong to a definition that could not be read.
                    Some(unread) => {
                        let message = format!("{}; {}", e.message(), unread.warning().message);
                        let list =
                            || Hint::new("list the labels").with_action(Action::op(Op::LabelList));
                        let hint = e.hint().cloned().unwrap_or_else(list);
                        Error::new(e.kind().clone(), message)
                            .with_hint(hint)
                            .with_source(e)
                    }
                    None => e,
                })?;
            let account = match typed {
                Some(account)
                    if definition.value_type == LabelValueType::Did && !account.is_empty() =>
                {
                    Some(self.account_of(repository, definition, account).await?)
                }
                _ => None,
            };
            operands.push(definition.operand(account.as_deref().or(typed))?);
        }
        Ok(operands)
    }

    /// Returns the DID of an account that a user typed as the value of a label, by handle or DID. A
    /// DID is not looked up, so that a label with a deleted account can be removed.
    async fn account_of(
        &self,
        repository: &TangledRepository,
        definition: &LabelDefinition,
        typed: &str,
    ) -> Result<String> {
        // The views that follow look the account up.
        if lexicon::is_did(typed) && call::named_accounts() == NamedAccounts::Any {
            return Ok(typed.to_owned());
        }
        self.did_of(repository, typed)
            .await
            .map_err(|e| match is_unknown_owner(&e) {
                true => Error::invalid(
                    "labels",
                    format!(
                        "the label '{}' takes an account: {}",
                        definition.name,
                        e.message()
                    ),
                )
                .with_hint(format!("write {0}:HANDLE or {0}:DID", definition.name))
                .with_source(e),
                false => e,
            })
    }

    async fn assignments(
        &self,
        repository: &TangledRepository,
        definitions: &[LabelDefinition],
        names: &[String],
    ) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        for name in names {
            let Some(definition) = definitions.iter().find(|d| d.is_assignee()) else {
                return Err(Error::unsupported(
                    Capability::PrAssignees,
                    "this repository does not use the label 'assignee', which assigns accounts",
                    "have its owner subscribe to the label 'assignee' in the repository's settings",
                ));
            };
            let did = self.did_of(repository, name).await.map_err(|e| {
                if matches!(e.kind(), ErrorKind::PermissionDenied { .. }) {
                    return e;
                }
                Error::invalid(
                    "assignees",
                    format!("'{name}' cannot be assigned: {}", e.message()),
                )
                .with_source(e)
            })?;
            operands.push(Operand {
                key: definition.uri.clone(),
                value: did,
            });
        }
        Ok(operands)
    }
}

/// Splits the label text that a user typed: into a label, given by name or at-uri, and the value
/// after the `:`, if any. Names and values may contain a `:`, so the longest existing name counts.
fn part<'a, 'b>(
    definitions: &'a [LabelDefinition],
    typed: &'b str,
    scope: &str,
) -> Result<(&'a LabelDefinition, Option<&'b str>)> {
    let of = |name: &str| {
        let mut all = definitions.iter();
        all.find(|d| d.name.eq_ignore_ascii_case(name) || d.uri == name)
    };
    let split = || {
        let mut colons = typed.rmatch_indices(':');
        colons.find_map(|(at, _)| Some((of(typed.get(..at)?)?, typed.get(at + 1..))))
    };
    let found = of(typed).map(|whole| (whole, None)).or_else(split);
    let Some((definition, value)) = found else {
        let names = || definitions.iter().map(|d| d.name.as_str());
        let hint = suggest::hint(typed, names(), "labels");
        let corrected = suggest::corrected(&[Param::AddLabel, Param::RemoveLabel], typed, names());
        return Err(Error::invalid(
            "labels",
            format!("there is no label '{}' in this repository", one_line(typed)),
        )
        .with_hint(Hint::from(hint).with_any_action(corrected)));
    };
    if !definition.is_for(scope) {
        return Err(Error::invalid(
            "labels",
            format!(
                "the label '{}' is not for {}",
                definition.name,
                plural_noun(scope)
            ),
        )
        .with_hint(format!(
            "use it for {}",
            definition
                .scope
                .iter()
                .map(|collection| plural_noun(collection))
                .collect::<Vec<_>>()
                .join(", ")
        )));
    }
    Ok((definition, value))
}

/// Returns the plural noun for the records of `collection`.
fn plural_noun(collection: &str) -> &str {
    if collection.ends_with(".issue") {
        "issues"
    } else if collection.ends_with(".pull") {
        "pull requests"
    } else {
        collection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: &str = "at://did:plc:a/sh.tangled.repo.pull/x";

    fn op(author: &str, key: &str, at: &str, add: Value, delete: Value) -> Record {
        Record {
            uri: format!("at://{author}/sh.tangled.label.op/{key}"),
            cid: None,
            value: json!({"subject": SUBJECT, "performedAt": at, "add": add, "delete": delete}),
        }
    }

    fn o(key: &str, value: &str) -> Value {
        json!({"key": key, "value": value})
    }

    #[test]
    fn definition_beyond_the_limit_is_known_by_uri() {
        let definitions = Definitions {
            unread: vec![Unread {
                uri: "at://did:plc:a/l/500".to_owned(),
                why: "there are more".to_owned(),
                others: BTreeSet::from(["at://did:plc:a/l/501".to_owned()]),
                is_beyond_limit: true,
            }],
            ..Definitions::default()
        };
        // A second read would not help, so this is not a network error.
        assert!(!definitions.has_failed());
        let e = definitions.uri_of("bgu").unwrap_err();
        assert_eq!(e.code(), "not_found");
        assert!(e.message().contains("no label 'bgu' among those"), "{e}");
        for uri in ["at://did:plc:a/l/500", "at://did:plc:a/l/501"] {
            assert_eq!(definitions.uri_of(uri).unwrap(), uri);
            assert!(definitions.missing(uri).is_some());
        }
        assert!(definitions.missing("at://did:plc:a/l/502").is_none());
        assert_eq!(definitions.warnings().len(), 1);
    }

    #[test]
    fn label_operations_are_applied_in_tangled_order() {
        let writers = Writers {
            owner: "o".into(),
            collaborators: BTreeSet::from(["c".to_owned()]),
            ..Writers::default()
        };
        let fields = ShFields::default();
        let result = |ops: Vec<Record>| {
            let all = applied(&ops, SUBJECT, &writers, &fields, |key| key == "who");
            let flat = |(k, v): (String, BTreeSet<String>)| {
                format!("{k}={}", v.into_iter().collect::<Vec<_>>().join("+"))
            };
            all.into_iter().map(flat).collect::<Vec<_>>().join(" ")
        };
        let t = |n: u32| format!("2026-06-0{n}T00:00:00Z");
        let ops = vec![
            // The operations are out of order, and the account `x` may not push.
            op("c", "2", &t(2), json!([]), json!([o("bug", "null")])),
            op(
                "o",
                "1",
                &t(1),
                json!([o("bug", "null"), o("docs", "null")]),
                json!([]),
            ),
            op(
                "x",
                "3",
                &t(3),
                json!([o("evil", "null")]),
                json!([o("docs", "null")]),
            ),
            op(
                "o",
                "4",
                &t(4),
                json!([o("who", "did:1"), o("who", "did:2")]),
                json!([]),
            ),
            op("o", "5", &t(5), json!([]), json!([o("who", "did:1")])),
        ];
        assert_eq!(result(ops.clone()), "docs=null who=did:2");
        let mut removed = ops;
        removed.push(op("o", "6", &t(6), json!([o("docs", "")]), json!([])));
        assert_eq!(result(removed), "who=did:2");
        // Removals come first, so a record that removes and adds a label leaves the label.
        let both = op(
            "o",
            "1",
            &t(1),
            json!([o("bug", "null")]),
            json!([o("bug", "null")]),
        );
        assert_eq!(result(vec![both]), "bug=null");
        let once = op(
            "o",
            "1",
            &t(1),
            json!([o("size", "s"), o("size", "m")]),
            json!([]),
        );
        assert_eq!(result(vec![once]), "size=m");
        let junk = op("o", "1", &t(1), json!([7, {"key": 1}]), json!("x"));
        assert_eq!(result(vec![junk]), "");
    }

    #[test]
    fn label_operation_is_later_than_counted_operations() {
        let writers = Writers {
            owner: "o".into(),
            ..Writers::default()
        };
        let (fields, now) = (ShFields::default(), Timestamp::now());
        let before = |author: &str, key: &str, at: &str| {
            let one = [op(author, key, at, json!([]), json!([]))];
            Before::of(&one, SUBJECT, &writers, &fields)
        };
        let (past, future) = ("3mkuuamwfj322", "3vacbxdfk2222");
        let said = |at: &str| Some(at.parse::<Timestamp>().unwrap());
        let early = "2025-06-01T00:00:00.5Z";
        assert_eq!(before("o", past, early).at, said(early));
        assert_eq!(before("x", past, early), Before::default());
        // This operation is from a clock that is ahead.
        let ahead = before("o", future, "2036-01-01T00:00:00.5Z");
        assert_eq!(ahead.at, said("2036-01-01T00:00:00.5Z"));
        let names = Dialects::default();
        let next = Change::default().record(&names, SUBJECT, &ahead).unwrap();
        assert_eq!(next.value["performedAt"], "2036-01-01T00:00:00.501Z");
        assert!(next.rkey.as_str() > future, "{}", next.rkey);
        // The stated time differs from the time of the record key.
        for key in [past, "1"] {
            let hostile = before("o", key, "2999-01-01T00:00:00Z").at.unwrap();
            assert!((0..60).contains(&(hostile.unix() - now.unix())), "{key}");
        }
        let next = Change::default().record(&names, SUBJECT, &Before::default());
        assert!(next.unwrap().rkey.as_str() < future);
    }

    fn definition(name: &str, value_type: LabelValueType) -> LabelDefinition {
        LabelDefinition {
            uri: format!("at://did:plc:l/sh.tangled.label.definition/{name}"),
            name: name.into(),
            color: GREY.into(),
            value_type,
            allowed: Vec::new(),
            multiple: false,
            scope: Vec::new(),
        }
    }

    #[test]
    fn label_names_become_operands_or_are_refused() {
        let mut priority = definition("priority", LabelValueType::Text);
        priority.allowed = vec!["high".into(), "low".into()];
        let mut issues = definition("issue-only", LabelValueType::Null);
        issues.scope = vec!["sh.tangled.repo.issue".into()];
        let all = [
            definition("Bug", LabelValueType::Null),
            priority,
            definition("points", LabelValueType::Integer),
            definition("touches", LabelValueType::Nsid),
            definition("reviewer", LabelValueType::Did),
            issues,
        ];
        let value = |typed: &str| {
            let (definition, value) = part(&all, typed, "sh.tangled.repo.pull")?;
            definition.value(value)
        };
        assert_eq!(value("bug").unwrap(), "null");
        assert_eq!(
            value("at://did:plc:l/sh.tangled.label.definition/Bug").unwrap(),
            "null"
        );
        assert_eq!(value("priority:high").unwrap(), "high");
        assert_eq!(value("points:-3").unwrap(), "-3");
        assert_eq!(value("touches:org.example.x").unwrap(), "org.example.x");
        // A value may contain a `:`.
        assert_eq!(value("reviewer:did:plc:x").unwrap(), "did:plc:x");
        for (typed, why) in [
            ("bgu", "no label 'bgu'"),
            ("bug:x", "takes no value"),
            ("priority", "needs a value"),
            ("priority:", "needs a value"),
            ("priority:hgih", "no value 'hgih'"),
            ("points:x", "whole number"),
            ("touches:example", "'example' is not an NSID"),
            ("reviewer", "needs a value"),
            ("issue-only", "not for pull requests"),
        ] {
            let e = value(typed).unwrap_err();
            assert!(e.message().contains(why), "{typed}: {e}");
        }
        assert!(
            value("bgu")
                .unwrap_err()
                .hint()
                .unwrap()
                .text()
                .contains("'Bug'")
        );
    }
}
