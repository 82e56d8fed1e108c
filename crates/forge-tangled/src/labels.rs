//! Labels: definitions in somebody's account, which a repository subscribes to, and records that
//! add them to pull requests or take them off.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
    sync::Arc,
};

use async_trait::async_trait;
use forge_core::{
    Action, Arg, AtUri, Capability, Error, ErrorKind, Hint, Ingestion, Labels, Noun, Op, Outcome,
    Page, PageReq, Param, RepoId, Result, Timestamp, Warning,
    limits::{check_label_color, check_label_name},
    model::{Label, NewLabel},
    near,
    text::one_line,
};
use futures::{StreamExt as _, future, stream};
use serde_json::{Value, json};

use crate::{
    Dialects, Era, ShFields, Tangled,
    ingest::Seen,
    kinds, lexicon, page,
    pulls::{list::nobody, status::Writers, view::unread},
    records::{self, NewRecord, Record},
    repository::{REPOS_MOST, Repository},
    sources::{ACCOUNT_MOST, IN_FLIGHT},
    write,
};

/// The colour of a label whose definition has none.
pub(crate) const GREY: &str = "ededed";
/// The longest name, in characters (`sh.tangled.label.definition`).
const NAME_MAX: usize = 40;
/// For so many seconds a definition that nothing uses is taken for one that was begun.
const BEGUN_FOR: i64 = 60 * 60;

/// What values a label takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    /// None: it is there or not. Written as the word `null`.
    Null,
    Boolean,
    Integer,
    Text,
    /// An account.
    Did,
    /// The name of a schema.
    Nsid,
}

/// A definition that a repository uses.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub uri: String,
    pub name: String,
    pub color: String,
    pub value_type: ValueType,
    pub allowed: Vec<String>,
    pub multiple: bool,
    pub scope: Vec<String>,
}

impl Definition {
    fn parse(record: &Record, fields: &ShFields) -> Option<Self> {
        let value = &record.value;
        let kind = value.get(&*fields.label_type);
        let word = |name: &str| kind.and_then(|k| k.get(name)).and_then(Value::as_str);
        let list = |value: Option<&Value>| -> Vec<String> {
            let list = value.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(|v| v.as_str().map(str::to_owned)).collect()
        };
        let value_type = match (word(&fields.label_kind), word(&fields.label_format)) {
            (Some("null") | None, _) => ValueType::Null,
            (Some("boolean"), _) => ValueType::Boolean,
            (Some("integer"), _) => ValueType::Integer,
            (_, Some("did")) => ValueType::Did,
            (_, Some("nsid")) => ValueType::Nsid,
            _ => ValueType::Text,
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

    /// Tangled's way to assign somebody is a label whose values are accounts.
    pub fn is_assignee(&self) -> bool {
        self.value_type == ValueType::Did && self.name.eq_ignore_ascii_case("assignee")
    }

    /// The labels that it shows for these values.
    pub fn labels(&self, values: &BTreeSet<String>) -> Vec<Label> {
        let label = |name: String| Label {
            name,
            color: self.color.clone(),
            description: None,
            id: self.uri.clone(),
        };
        if self.value_type == ValueType::Null {
            return vec![label(self.name.clone())];
        }
        values
            .iter()
            .map(|value| label(format!("{}:{value}", self.name)))
            .collect()
    }

    /// What is written for it; `typed` as for [`Self::value`].
    fn operand(&self, typed: Option<&str>) -> Result<Operand> {
        Ok(Operand {
            key: self.uri.clone(),
            value: self.value(typed)?,
        })
    }

    /// The value on the wire for what a user typed behind the `:`, if anything. An account is given
    /// by its DID.
    fn value(&self, typed: Option<&str>) -> Result<String> {
        let refused =
            |what: &str| Error::invalid("labels", format!("the label '{}' {what}", self.name));
        match (self.value_type, typed) {
            (ValueType::Null, None) => Ok("null".to_owned()),
            (ValueType::Null, Some(_)) => Err(refused("takes no value")),
            (_, None | Some("")) => {
                Err(refused("needs a value").with_hint(format!("write {}:VALUE", self.name)))
            }
            (ValueType::Boolean, Some(v)) if v != "true" && v != "false" => {
                Err(refused("is true or false"))
            }
            (ValueType::Integer, Some(v)) if v.parse::<i64>().is_err() => {
                Err(refused("takes a whole number"))
            }
            (ValueType::Nsid, Some(v)) if !lexicon::is_nsid(v) => Err(refused(&format!(
                "takes an NSID, and '{}' is none",
                one_line(v)
            ))
            .with_hint("write a name such as org.example.repo.item")),
            (_, Some(v)) if !self.allowed.is_empty() && !self.allowed.iter().any(|a| a == v) => {
                Err(
                    refused(&format!("has no value '{v}'")).with_hint(near::hint(
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
    read: Vec<Definition>,
    unread: Vec<Unread>,
}

/// A definition that is used and was not read.
#[derive(Debug)]
struct Unread {
    uri: String,
    why: String,
}

impl Deref for Definitions {
    type Target = [Definition];

    fn deref(&self) -> &[Definition] {
        &self.read
    }
}

impl Definitions {
    /// What labels are missing because of the definition `uri`; `None` where it was read, or is
    /// none of the repository's.
    pub fn missing(&self, uri: &str) -> Option<Warning> {
        let unread = self.unread.iter().find(|unread| unread.uri == uri)?;
        Some(unread.warning())
    }

    /// The same for all of them.
    pub fn warnings(&self) -> Vec<Warning> {
        self.unread.iter().map(Unread::warning).collect()
    }

    /// The at-uri of the definition of that name, or of that at-uri, read or not.
    fn uri_of(&self, name: &str) -> Result<&str> {
        let is_named = |d: &&Definition| d.name.eq_ignore_ascii_case(name) || d.uri == name;
        let read = self.read.iter().find(is_named).map(|d| d.uri.as_str());
        let mut unread = self.unread.iter().map(|unread| unread.uri.as_str());
        if let Some(uri) = read.or_else(|| unread.find(|uri| *uri == name)) {
            return Ok(uri);
        }
        let name = one_line(name);
        if self.unread.is_empty() {
            let names = self.read.iter().map(|d| d.name.as_str());
            let none = Error::not_found(Noun::Label, format!("there is no label '{name}'"));
            return Err(none.with_hint(near::hint(&name, names, "labels")));
        }
        // It may be one of those.
        let told: Vec<String> = self.warnings().into_iter().map(|w| w.message).collect();
        let why = format!(
            "whether there is a label '{name}' cannot be told: {}",
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

/// One addition or removal.
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

/// The labels that operations leave on `subject`, by definition.
///
/// Those of accounts that may not push do not count. Within one record removals come first; records
/// are taken by the time they name, one of the future by the time of its key; an addition without a
/// value is a removal (tangled's `models/label.go`). A repeated addition of a value changes nothing.
///
/// A label that takes one value has the last that was added.
pub(crate) fn applied(
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
        let list = |name: &str| -> Vec<Operand> {
            let list = record.value.get(name).and_then(Value::as_array);
            list.into_iter()
                .flatten()
                .filter_map(|o| Operand::parse(o, fields))
                .collect()
        };
        let (removed, added): (Vec<_>, Vec<_>) = list(&fields.op_add)
            .into_iter()
            .partition(|o| o.value.is_empty());
        for operand in list(&fields.op_delete).into_iter().chain(removed) {
            if let Some(values) = state.get_mut(&operand.key) {
                if operand.value.is_empty() || operand.value == "null" {
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

/// What the next operation has to be later than, so that it is the later one to everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    /// The latest time.
    at: Option<Timestamp>,
    /// The latest key: by that, readers whose clock is behind order what is of the future to them.
    key: String,
}

impl Before {
    /// Of those operations on `subject` that count. Our clock may be behind: one of the future is
    /// believed as far as the second of its key, at which it counts to whom it is of the future.
    fn of(operations: &[Record], subject: &str, writers: &Writers, fields: &ShFields) -> Self {
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

/// Why a record, or a part of it, changes no label.
pub(crate) fn broken(record: &Record, fields: &ShFields) -> Option<&'static str> {
    if record.created_at(&fields.op_at).is_none() {
        return Some("it has no time, and its key is none");
    }
    let parts = [&fields.op_add, &fields.op_delete].map(|name| record.value.get(&**name));
    if parts.iter().flatten().any(|part| !part.is_array()) {
        return Some("what it adds or deletes is no list");
    }
    let operands = parts.into_iter().flatten().filter_map(Value::as_array);
    let odd = operands
        .flatten()
        .any(|o| Operand::parse(o, fields).is_none());
    odd.then_some("a part of it names no label and value")
}

/// The labels that operations add.
pub(crate) fn keys<'a>(operations: &'a [Record], fields: &ShFields) -> BTreeSet<&'a str> {
    let added = operations
        .iter()
        .filter_map(|r| r.value.get(&*fields.op_add)?.as_array());
    added
        .flatten()
        .filter_map(|o| o.get(&*fields.op_key)?.as_str())
        .collect()
}

/// Additions and removals that have been checked and can be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub add: Vec<Operand>,
    pub remove: Vec<Operand>,
}

impl Change {
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    /// The record that makes the change, later than those that were before.
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
                (fields.op_at.to_string()): write::now_or_after(before.at),
                (fields.op_add.to_string()): list(&self.add),
                (fields.op_delete.to_string()): list(&self.remove),
            }),
        );
        record.rkey = crate::tid::new_after(&before.key);
        write::checked(record, names)
    }
}

impl Tangled {
    /// The definitions that a repository subscribes to. One that was deleted is none.
    pub(crate) async fn definitions(&self, repository: &Repository) -> Result<Arc<Definitions>> {
        let cell = self.definitions.cell(&repository.record.uri);
        let found = cell.get_or_try_init(|| async {
            let uris = self.subscribed(repository).await?;
            let reads = uris.into_iter().map(|uri| async move {
                let read = self.read_definition(&uri).await;
                (uri.to_string(), read)
            });
            let all: Vec<(String, Result<Definition>)> =
                stream::iter(reads).buffered(IN_FLIGHT).collect().await;
            let mut definitions = Definitions::default();
            for (uri, read) in all {
                match read {
                    Ok(definition) => definitions.read.push(definition),
                    Err(e) if e.is_not_found() => {}
                    Err(e) => definitions.unread.push(Unread {
                        uri,
                        why: e.message().to_owned(),
                    }),
                }
            }
            Ok::<_, Error>(Arc::new(definitions))
        });
        Ok(Arc::clone(found.await?))
    }

    async fn read_definition(&self, uri: &AtUri) -> Result<Definition> {
        let pds = self.identities.pds(&uri.authority).await?;
        let record = records::get_uri(&pds, uri).await?;
        Definition::parse(&record, self.fields())
            .ok_or_else(|| Error::new(ErrorKind::Protocol, "its record has no name"))
    }

    /// What a filter by labels may have missed.
    pub(crate) async fn missed_by_labels(&self, repository: &Repository) -> Vec<Warning> {
        match self.definitions(repository).await {
            Ok(definitions) => definitions.warnings(),
            Err(e) => vec![unread("the labels", &e)],
        }
    }

    /// The same, read anew where one of `wanted` is not among those that are known: somebody may
    /// have defined it since.
    pub(crate) async fn definitions_with(
        &self,
        repository: &Repository,
        wanted: impl Fn(&[Definition]) -> bool,
    ) -> Result<Arc<Definitions>> {
        let known = self.definitions(repository).await?;
        if wanted(&known) {
            return Ok(known);
        }
        self.definitions_now(repository).await
    }

    /// The same, read anew.
    async fn definitions_now(&self, repository: &Repository) -> Result<Arc<Definitions>> {
        self.definitions.forget(&repository.record.uri);
        self.definitions(repository).await
    }

    /// The labels that the repository's record names now.
    async fn subscribed(&self, repository: &Repository) -> Result<Vec<AtUri>> {
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

    /// Checks labels and assignees that are to be added or removed, by name, `name:value` or
    /// at-uri, before anything is written.
    pub(crate) async fn label_change(
        &self,
        repository: &Repository,
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
        // The index drops what others change.
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
            add: self.operands(&definitions, labels.0, scope).await?,
            remove: self.operands(&definitions, labels.1, scope).await?,
        };
        change
            .add
            .extend(self.assignments(&definitions, assignees.0).await?);
        change
            .remove
            .extend(self.assignments(&definitions, assignees.1).await?);
        Ok(change)
    }

    /// The operations on `subject`, which is by `author`: what a change of its labels has to be later
    /// than. Where they cannot be read, our clock decides.
    pub(crate) async fn label_ops_before(
        &self,
        repository: &Repository,
        subject: &str,
        author: &str,
    ) -> Before {
        let kind = kinds::label_ops(&self.settings.dialects);
        let accounts = self.known_accounts(repository, Some(author)).await;
        let (found, [fresh]) = future::join(
            self.about(&kind, subject, future::ready(accounts.clone())),
            self.fresh([&kind], subject, &accounts),
        )
        .await;
        let writers = self.writers(repository).await;
        let all = fresh.over(found.map(|found| found.value).unwrap_or_default());
        Before::of(&all, subject, &writers, self.fields())
    }

    /// The operands of labels that a user typed.
    async fn operands(
        &self,
        definitions: &Definitions,
        names: &[String],
        scope: &str,
    ) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        for name in names {
            let (definition, typed) =
                part(definitions, name, scope).map_err(|e| match definitions.unread.first() {
                    // It may be that one.
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
                Some(account) if definition.value_type == ValueType::Did && !account.is_empty() => {
                    Some(self.account_of(definition, account).await?)
                }
                _ => None,
            };
            operands.push(definition.operand(account.as_deref().or(typed))?);
        }
        Ok(operands)
    }

    /// The DID that a user typed as the value of a label, or that the handle typed there leads to.
    /// A DID is not looked up: the label of an account that is gone can be taken off.
    async fn account_of(&self, definition: &Definition, typed: &str) -> Result<String> {
        if lexicon::is_did(typed) {
            return Ok(typed.to_owned());
        }
        self.did_of(typed).await.map_err(|e| match nobody(&e) {
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
        definitions: &[Definition],
        names: &[String],
    ) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        for name in names {
            let Some(definition) = definitions.iter().find(|d| d.is_assignee()) else {
                return Err(Error::unsupported(
                    Capability::PrAssignees,
                    "this repository does not use the label 'assignee', which is how tangled assigns",
                    "have its owner subscribe to the label 'assignee' in the repository's settings",
                ));
            };
            let did = self.did_of(name).await.map_err(|e| {
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

    /// The DID of an account that a user named; `@me` is the viewer.
    pub(crate) async fn did_of(&self, name: &str) -> Result<String> {
        if name == "@me" {
            return Ok(self.session.viewer().await?.identity.did.clone());
        }
        Ok(self.identities.account(name).await?.did)
    }

    fn own_definition(&self, repository: &Repository, what: &str) -> Result<()> {
        let viewer = self.session.known_viewer();
        if viewer.is_some_and(|v| v.identity.did == repository.owner.did) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::PermissionDenied {
                missing: vec!["repo:owner".to_owned()],
                sso_url: None,
            },
            format!(
                "only {} can {what} of {}",
                repository.owner.name(),
                repository.id
            ),
        ))
    }

    /// The definition that a command which was cut off has written: as `new` in all but its time,
    /// not older than [`BEGUN_FOR`], and used neither by a repository of the account nor in a change
    /// of labels of its own.
    async fn begun_definition(&self, owner: &str, new: &NewRecord) -> Result<Option<Record>> {
        let pds = self.identities.pds(owner).await?;
        let (names, fields) = (&self.settings.dialects.sh, self.fields());
        let timeless = |value: &Value| {
            let mut value = value.clone();
            if let Some(map) = value.as_object_mut() {
                map.remove(&*fields.created_at);
            }
            value
        };
        let wanted = timeless(&new.value);
        let oldest = Timestamp::from_unix(Timestamp::now().unix() - BEGUN_FOR);
        let mut begun = records::all(&pds, owner, &new.collection, ACCOUNT_MOST)
            .await?
            .records;
        begun.retain(|record| {
            let at = record.created_at(&fields.created_at);
            at.is_some_and(|at| at > oldest) && timeless(&record.value) == wanted
        });
        if begun.is_empty() {
            return Ok(None);
        }
        let (repos, operations) = future::try_join(
            records::all(&pds, owner, &names.repo, REPOS_MOST),
            records::all(&pds, owner, &names.label_op, ACCOUNT_MOST),
        )
        .await?;
        let mut used = keys(&operations.records, fields);
        for repo in &repos.records {
            let labels = repo.value.get(&*fields.repo_labels);
            let labels = labels.and_then(Value::as_array).into_iter().flatten();
            used.extend(labels.filter_map(Value::as_str));
        }
        Ok(begun
            .into_iter()
            .find(|record| !used.contains(record.uri.as_str())))
    }

    /// Changes the list of labels in the repository's record.
    async fn subscribe(
        &self,
        repository: &Repository,
        change: impl Fn(&mut Vec<Value>) + Send + Sync,
    ) -> Result<Record> {
        let uri = AtUri::parse(&repository.record.uri)?;
        let undeclared = self.undeclared(repository).await?;
        let edited = self.edit_record(undeclared, &uri, None, |value| {
            let labels = value
                .entry(self.fields().repo_labels.to_string())
                .or_insert_with(|| Value::Array(Vec::new()));
            let list = labels.as_array_mut().ok_or_else(|| {
                let why = format!("the labels of {uri} are no list, and were left as they are");
                Error::new(ErrorKind::Protocol, why)
                    .with_hint("put them right with the program that wrote them")
            })?;
            change(list);
            Ok(())
        });
        let record = edited.await?;
        self.definitions.forget(&repository.record.uri);
        Ok(record)
    }
}

/// The label that a user typed, by its name or at-uri, and what stands behind the `:`, if anything.
/// Names and values may have a `:` themselves: the longest name that there is counts.
fn part<'a, 'b>(
    definitions: &'a [Definition],
    typed: &'b str,
    scope: &str,
) -> Result<(&'a Definition, Option<&'b str>)> {
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
        let hint = near::hint(typed, names(), "labels");
        let corrected = near::corrected(&[Param::AddLabel, Param::RemoveLabel], typed, names());
        return Err(Error::invalid(
            "labels",
            format!("there is no label '{}' in this repository", one_line(typed)),
        )
        .with_hint(Hint::from(hint).with_any_action(corrected)));
    };
    if !definition.scope.is_empty() && !definition.scope.iter().any(|s| s == scope) {
        return Err(Error::invalid(
            "labels",
            format!("the label '{}' is not for {scope}", definition.name),
        )
        .with_hint(format!("use it for {}", definition.scope.join(", "))));
    }
    Ok((definition, value))
}

#[async_trait]
impl Labels for Tangled {
    async fn labels(&self, repo: &RepoId, req: PageReq) -> Result<Page<Label>> {
        let repository = self.repository(repo).await?;
        if repository.era == Era::Org10 {
            return self.labels_of_tickets(&repository, &req).await;
        }
        let definitions = self.definitions_now(&repository).await?;
        let mut labels: Vec<Label> = definitions
            .iter()
            .filter(|d| !d.is_assignee())
            .map(|d| Label {
                name: d.name.clone(),
                color: d.color.clone(),
                description: None,
                id: d.uri.clone(),
            })
            .collect();
        labels.sort_by_key(|l| l.name.to_lowercase());
        let mut page = page::of("tangled-labels", &repository.record.uri, labels, &req)?;
        page.warnings.extend(repository.doubt());
        page.warnings.extend(definitions.warnings());
        Ok(page)
    }

    async fn define_label(&self, repo: &RepoId, new: &NewLabel) -> Result<Outcome<Label>> {
        let name = check_label_name(&new.name, NAME_MAX)?;
        let color = check_label_color(new.color.as_deref().unwrap_or(GREY))?;
        let repository = self.repository(repo).await?;
        self.speaks_2026(&repository, Capability::LabelEdit)?;
        self.session.viewer().await?;
        self.own_definition(&repository, "define the labels")?;
        let definitions = self.definitions_now(&repository).await?;
        let said = |mut outcome: Outcome<Label>| {
            // One of these may have the same name.
            outcome.warnings.extend(definitions.warnings());
            match &new.description {
                Some(text) if !text.is_empty() => outcome.with_warning(Warning::new(
                    "the description was left out: tangled's labels have none",
                )),
                _ => outcome,
            }
        };
        let known = definitions
            .iter()
            .find(|d| d.name.eq_ignore_ascii_case(name));
        let label = |uri: String| Label {
            name: name.to_owned(),
            color: color.clone(),
            description: None,
            id: uri,
        };
        let fields = self.fields();
        if let Some(known) = known {
            if !new.overwrite {
                return Err(Error::new(
                    ErrorKind::AlreadyExists { existing: None },
                    format!("there is a label '{}' already", known.name),
                )
                .with_hint(
                    Hint::new("change the label that is there").with_action(Action::again(&[(
                        Param::Force,
                        Arg::Set(Cow::Borrowed("true")),
                    )])),
                ));
            }
            let uri = AtUri::parse(&known.uri)?;
            let undeclared = self.undeclared(&repository).await?;
            let record = self
                .edit_record(undeclared, &uri, None, |value| {
                    value.insert(fields.label_name.to_string(), json!(name));
                    value.insert(fields.label_color.to_string(), json!(format!("#{color}")));
                    Ok(())
                })
                .await?;
            self.definitions.forget(&repository.record.uri);
            let mut outcome = Outcome::immediate(label(known.uri.clone()));
            let seen = Seen::Definition(&uri.authority);
            let told = self.ingestion(&repository, seen, &record).await;
            outcome.ingestion = told.ingestion;
            return Ok(said(outcome));
        }
        let names = &self.settings.dialects.sh;
        let collection = names.label.clone();
        let record = NewRecord::new(
            &collection,
            json!({
                "$type": collection,
                (fields.label_name.to_string()): name,
                (fields.label_color.to_string()): format!("#{color}"),
                (fields.label_type.to_string()): {
                    (fields.label_kind.to_string()): "null",
                    (fields.label_format.to_string()): "any",
                },
                (fields.label_scope.to_string()): [names.pull, names.issue],
                (fields.label_multiple.to_string()): false,
                (fields.created_at.to_string()): write::now(),
            }),
        );
        let record = write::checked(record, &self.settings.dialects)?;
        let owner = repository.owner.did.as_str();
        let undeclared = self.undeclared(&repository).await?;
        let defined = match self.begun_definition(owner, &record).await? {
            Some(begun) => begun,
            None => {
                let cids = self
                    .create_records(undeclared, std::slice::from_ref(&record))
                    .await?;
                record.written(owner, cids)
            }
        };
        let uri = defined.uri.clone();
        let added = uri.clone();
        let subscribed = self
            .subscribe(&repository, move |list| {
                let added = json!(added);
                // Who found the definition begun may have listed it first.
                if !list.contains(&added) {
                    list.push(added);
                }
            })
            .await
            .map_err(|e| {
                let done = format!("the definition of '{name}' is written ({uri})");
                let rest = format!("the list of labels of {}", repository.id);
                write::half_done(&done, &rest, e)
            })?;
        let mut outcome = Outcome::immediate(label(uri));
        let told = self
            .ingestion(&repository, Seen::Definition(owner), &defined)
            .await;
        outcome.ingestion = match told.ingestion {
            // It is a label of the repository when the repository names it.
            Ingestion::Confirmed { .. } => {
                let told_of_both = self
                    .ingestion(&repository, Seen::Repository, &subscribed)
                    .await;
                told.ingestion.worse(told_of_both.ingestion)
            }
            unseen => unseen,
        };
        Ok(said(outcome))
    }

    async fn delete_label(&self, repo: &RepoId, name: &str) -> Result<Outcome<()>> {
        let repository = self.repository(repo).await?;
        self.speaks_2026(&repository, Capability::LabelEdit)?;
        self.session.viewer().await?;
        self.own_definition(&repository, "delete a label")?;
        let definitions = self.definitions_now(&repository).await?;
        let uri = definitions.uri_of(name)?.to_owned();
        let record = self
            .subscribe(&repository, move |list| {
                list.retain(|v| v.as_str() != Some(&uri))
            })
            .await?;
        let mut outcome = Outcome::immediate(());
        let told = self.ingestion(&repository, Seen::Repository, &record).await;
        outcome.ingestion = told.ingestion;
        Ok(outcome)
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
    fn operations_add_up_as_tangled_adds_them() {
        let writers = Writers {
            owner: "o".into(),
            collaborators: BTreeSet::from(["c".to_owned()]),
            doubt: None,
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
            // Out of order, by an account that may not, and with an empty value.
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
        // Removals first: a record that does both leaves the label.
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
    fn the_next_operation_is_later_than_those_that_count() {
        let writers = Writers {
            owner: "o".into(),
            collaborators: BTreeSet::new(),
            doubt: None,
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
        // By a clock that is ahead of ours.
        let ahead = before("o", future, "2036-01-01T00:00:00.5Z");
        assert_eq!(ahead.at, said("2036-01-01T00:00:00.5Z"));
        let names = Dialects::default();
        let next = Change::default().record(&names, SUBJECT, &ahead).unwrap();
        assert_eq!(next.value["performedAt"], "2036-01-01T00:00:00.501Z");
        assert!(next.rkey.as_str() > future, "{}", next.rkey);
        // By one that says what its key does not.
        for key in [past, "1"] {
            let hostile = before("o", key, "2999-01-01T00:00:00Z").at.unwrap();
            assert!((0..60).contains(&(hostile.unix() - now.unix())), "{key}");
        }
        let next = Change::default().record(&names, SUBJECT, &Before::default());
        assert!(next.unwrap().rkey.as_str() < future);
    }

    fn definition(name: &str, value_type: ValueType) -> Definition {
        Definition {
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
    fn names_become_operands_or_say_why_not() {
        let mut priority = definition("priority", ValueType::Text);
        priority.allowed = vec!["high".into(), "low".into()];
        let mut issues = definition("issue-only", ValueType::Null);
        issues.scope = vec!["sh.tangled.repo.issue".into()];
        let all = [
            definition("Bug", ValueType::Null),
            priority,
            definition("points", ValueType::Integer),
            definition("touches", ValueType::Nsid),
            definition("reviewer", ValueType::Did),
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
        // A value may have a `:` itself.
        assert_eq!(value("reviewer:did:plc:x").unwrap(), "did:plc:x");
        for (typed, why) in [
            ("bgu", "no label 'bgu'"),
            ("bug:x", "takes no value"),
            ("priority", "needs a value"),
            ("priority:", "needs a value"),
            ("priority:hgih", "no value 'hgih'"),
            ("points:x", "whole number"),
            ("touches:example", "'example' is none"),
            ("reviewer", "needs a value"),
            ("issue-only", "not for sh.tangled.repo.pull"),
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
