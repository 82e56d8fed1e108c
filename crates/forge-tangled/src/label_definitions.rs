//! Defines labels and the custom fields of issues. A field is a label with values.

use std::borrow::Cow;

use async_trait::async_trait;
use forge_core::{
    Action, Arg, AtUri, Capability, Error, ErrorKind, Hint, Ingestion, Labels, Outcome, Page,
    PageReq, Param, RepoId, Result, Timestamp, Warning,
    limits::{check_label_color, check_label_name},
    model::{BoardId, IssueField, Label, NewLabel},
    text::one_line,
};
use futures::future;
use serde_json::{Map, Value, json};

use crate::{
    Era, Tangled, caps,
    ingest::Seen,
    labels::{GREY, LabelDefinition, LabelValueType, Relation, keys},
    page,
    records::{self, NewRecord, Record},
    repository::{MAX_REPOS, TangledRepository},
    sources::MAX_ACCOUNT_RECORDS,
    write,
};

/// Maximum length of a name, in characters (`sh.tangled.label.definition`).
const NAME_MAX: usize = 40;
/// Maximum age, in seconds, of an unfinished label definition. An interrupted call may have written
/// a definition, but not added it to the repository. The next call then adds this definition
/// instead of writing another one.
const BEGUN_FOR: i64 = 60 * 60;

/// Values that a label definition accepts.
enum Takes<'a> {
    /// No value.
    Nothing,
    /// One text of this list.
    OneOf(&'a [String]),
    /// Any text, or several texts if `multiple`.
    Any { multiple: bool },
}

/// Returns the options without surrounding blanks and without duplicates.
///
/// # Errors
/// `invalid_input` (field `field`).
fn check_options(field: &'static str, options: &[String]) -> Result<Vec<String>> {
    let refused =
        |message: String| Err(Error::invalid(field, message).with_hint("choose other options"));
    let mut checked: Vec<String> = Vec::new();
    for option in options {
        let option = option.trim();
        if option.is_empty() {
            return refused("an option cannot be empty".to_owned());
        }
        if option.chars().any(char::is_control) {
            let option = one_line(option);
            return refused(format!("the option '{option}' has a control character"));
        }
        if !checked.iter().any(|known| known == option) {
            checked.push(option.to_owned());
        }
    }
    Ok(checked)
}

/// Returns the options of `known`, then the options that only `wanted` has; `None` if `wanted` has
/// no new option.
fn more_options(known: &LabelDefinition, wanted: &[String]) -> Option<Vec<String>> {
    let missing = wanted.iter().filter(|w| !known.allowed.contains(w));
    let all: Vec<String> = known.allowed.iter().chain(missing).cloned().collect();
    (all.len() > known.allowed.len()).then_some(all)
}

fn of_another_kind(field: &'static str, known: &LabelDefinition, what: &str) -> Error {
    let message = format!("the label '{}' already exists, and {what}", known.name);
    Error::invalid(field, message).with_hint("choose another name")
}

/// Refuses a project board, because tangled has none.
pub(crate) fn no_board(board: Option<&BoardId>) -> Result<()> {
    match board {
        Some(_) => Err(caps::refusal(Capability::PrProjects)),
        None => Ok(()),
    }
}

impl Tangled {
    fn own_definition(&self, repository: &TangledRepository, what: &str) -> Result<()> {
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

    /// Finds the definition that an interrupted command has written. It equals `new` except for its
    /// time, and is not older than [`BEGUN_FOR`]. No repository and no label operation of the
    /// account uses it.
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
        let mut begun = records::all(&pds, owner, &new.collection, MAX_ACCOUNT_RECORDS)
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
            records::all(&pds, owner, &names.repo, MAX_REPOS),
            records::all(&pds, owner, &names.label_op, MAX_ACCOUNT_RECORDS),
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
        repository: &TangledRepository,
        change: impl Fn(&mut Vec<Value>) + Send + Sync,
    ) -> Result<Record> {
        let uri = AtUri::parse(&repository.record.uri)?;
        let undeclared = self.undeclared(repository).await?;
        let edited = self.edit_record(undeclared, &uri, None, |value| {
            let labels = value
                .entry(self.fields().repo_labels.to_string())
                .or_insert_with(|| Value::Array(Vec::new()));
            let list = labels.as_array_mut().ok_or_else(|| {
                let why = format!("the labels of {uri} are not a list, and were left unchanged");
                Error::new(ErrorKind::Protocol, why)
                    .with_hint("correct the list with the program that wrote it")
            })?;
            change(list);
            Ok(())
        });
        let record = edited.await?;
        self.definitions.forget(&repository.record.uri);
        Ok(record)
    }

    fn definition_record(
        &self,
        name: &str,
        color: &str,
        takes: &Takes<'_>,
        scope: &[&str],
    ) -> Result<NewRecord> {
        let names = &self.settings.dialects.sh;
        let fields = self.fields();
        let kind = match takes {
            Takes::Nothing => "null",
            Takes::OneOf(_) | Takes::Any { .. } => "string",
        };
        let mut values = json!({
            (fields.label_kind.to_string()): kind,
            (fields.label_format.to_string()): "any",
        });
        if let (Takes::OneOf(options), Some(map)) = (takes, values.as_object_mut()) {
            map.insert(fields.label_values.to_string(), json!(options));
        }
        let record = NewRecord::new(
            &names.label,
            json!({
                "$type": names.label,
                (fields.label_name.to_string()): name,
                (fields.label_color.to_string()): format!("#{color}"),
                (fields.label_type.to_string()): values,
                (fields.label_scope.to_string()): scope,
                (fields.label_multiple.to_string()): matches!(takes, Takes::Any { multiple: true }),
                (fields.created_at.to_string()): write::now(),
            }),
        );
        write::checked(record, &self.settings.dialects)
    }

    /// Writes a definition and adds it to the repository's labels. Returns the definition's at-uri.
    async fn add_definition(
        &self,
        repository: &TangledRepository,
        name: &str,
        record: NewRecord,
    ) -> Result<Outcome<String>> {
        let owner = repository.owner.did.as_str();
        let undeclared = self.undeclared(repository).await?;
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
            .subscribe(repository, move |list| {
                let added = json!(added);
                // Another writer may have already listed the unfinished definition.
                if !list.contains(&added) {
                    list.push(added);
                }
            })
            .await
            .map_err(|e| {
                let done = format!("the definition of '{name}' is written ({uri})");
                let rest = format!("the list of labels of {}", repository.id);
                write::partial_failure(&done, &rest, e)
            })?;
        let mut outcome = Outcome::immediate(uri);
        let told = self
            .ingestion(repository, Seen::Definition(owner), &defined)
            .await;
        outcome.ingestion = match told.ingestion {
            // A definition becomes a label of the repository only when the repository's record
            // lists it, so the index must show both records.
            Ingestion::Confirmed { .. } => {
                let told_of_both = self
                    .ingestion(repository, Seen::Repository, &subscribed)
                    .await;
                told.ingestion.combine(told_of_both.ingestion)
            }
            unseen => unseen,
        };
        Ok(outcome)
    }

    /// Changes a definition that the repository uses.
    async fn change_definition(
        &self,
        repository: &TangledRepository,
        uri: &str,
        change: impl Fn(&mut Map<String, Value>) + Send + Sync,
    ) -> Result<Ingestion> {
        let uri = AtUri::parse(uri)?;
        let undeclared = self.undeclared(repository).await?;
        let edited = self.edit_record(undeclared, &uri, None, |value| {
            change(value);
            Ok(())
        });
        let record = edited.await?;
        self.definitions.forget(&repository.record.uri);
        let seen = Seen::Definition(&uri.authority);
        Ok(self.ingestion(repository, seen, &record).await.ingestion)
    }

    /// Writes `options` into the record of a definition.
    fn set_options(&self, value: &mut Map<String, Value>, options: &[String]) {
        let fields = self.fields();
        let kind = value.get_mut(&*fields.label_type);
        if let Some(kind) = kind.and_then(Value::as_object_mut) {
            kind.insert(fields.label_values.to_string(), json!(options));
        }
    }

    /// See [`forge_core::Issues::issue_fields`].
    pub(crate) async fn fields_of_issues(
        &self,
        repo: &RepoId,
        board: Option<&BoardId>,
    ) -> Result<Vec<IssueField>> {
        no_board(board)?;
        let repository = self.repository(repo).await?;
        if repository.era == Era::Org10 {
            self.require_2026(&repository, Capability::IssueFieldEdit)?;
        }
        let definitions = self.definitions_now(&repository).await?;
        let scope = &self.settings.dialects.sh.issue;
        let fields = definitions
            .iter()
            .filter(|d| d.is_for(scope) && (d.is_field() || d.relation().is_some()));
        Ok(fields
            .map(|d| IssueField::new(&d.name, d.allowed.clone()))
            .collect())
    }

    /// See [`forge_core::Issues::define_issue_field`].
    pub(crate) async fn define_field(
        &self,
        repo: &RepoId,
        board: Option<&BoardId>,
        field: &IssueField,
    ) -> Result<Outcome<IssueField>> {
        no_board(board)?;
        let name = check_label_name(&field.name, NAME_MAX)?;
        let options = check_options("options", &field.options)?;
        let relation = Relation::named(name);
        if relation.is_some() && !options.is_empty() {
            let message = format!("'{name}' is a relation, whose values are issues");
            return Err(Error::invalid("options", message)
                .with_hint("define it without options, or choose another name"));
        }
        let repository = self.repository(repo).await?;
        self.require_2026(&repository, Capability::IssueFieldEdit)?;
        self.session.viewer().await?;
        self.own_definition(&repository, "define the fields")?;
        let definitions = self.definitions_now(&repository).await?;
        let names = &self.settings.dialects.sh;
        let shown = |options: &[String]| IssueField::new(name, options.to_vec());
        let known = definitions
            .iter()
            .find(|d| d.name.eq_ignore_ascii_case(name));
        let mut outcome = match known {
            Some(known) => {
                self.check_same_kind(known, &options)?;
                match more_options(known, &options) {
                    None => {
                        let told = format!("the field '{}' has these options already", known.name);
                        Outcome::unchanged(shown(&known.allowed), Warning::new(told))
                    }
                    Some(all) => {
                        let ingestion = self
                            .change_definition(&repository, &known.uri, |value| {
                                self.set_options(value, &all);
                            })
                            .await?;
                        let mut outcome = Outcome::immediate(shown(&all));
                        outcome.ingestion = ingestion;
                        outcome
                    }
                }
            }
            None => {
                let takes = match options.as_slice() {
                    [] => Takes::Any {
                        multiple: relation == Some(Relation::BlockedBy),
                    },
                    options => Takes::OneOf(options),
                };
                let record = self.definition_record(name, GREY, &takes, &[&*names.issue])?;
                let added = self.add_definition(&repository, name, record).await?;
                added.map(|_| shown(&options))
            }
        };
        // Warns about unread definitions, because one of them may have the same name.
        outcome.warnings.extend(definitions.warnings());
        Ok(outcome)
    }

    /// Refuses an existing label that is not a field of the same kind.
    fn check_same_kind(&self, known: &LabelDefinition, options: &[String]) -> Result<()> {
        let refused = |what| Err(of_another_kind("name", known, what));
        if !known.is_for(&self.settings.dialects.sh.issue) {
            return refused("is not for issues");
        }
        if !known.is_field() && known.relation().is_none() {
            return refused("does not take one text");
        }
        match (known.allowed.is_empty(), options.is_empty()) {
            (true, false) => refused("takes any text"),
            (false, true) => refused("takes only one of its options"),
            _ => Ok(()),
        }
    }
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
            .map(|d| {
                let mut label = Label::new(&d.name, &d.color);
                label.id.clone_from(&d.uri);
                label
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
        let values = check_options("values", &new.values)?;
        let repository = self.repository(repo).await?;
        self.require_2026(&repository, Capability::LabelEdit)?;
        self.session.viewer().await?;
        self.own_definition(&repository, "define the labels")?;
        let definitions = self.definitions_now(&repository).await?;
        let said = |mut outcome: Outcome<Label>| {
            // Warns about unread definitions, because one of them may have the same name.
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
        let label = |uri: String| {
            let mut label = Label::new(name.to_owned(), color.clone());
            label.id = uri;
            label
        };
        if let Some(known) = known {
            if !new.overwrite {
                return Err(Error::new(
                    ErrorKind::AlreadyExists { existing: None },
                    format!("there is a label '{}' already", known.name),
                )
                .with_hint(
                    Hint::new("change the existing label").with_action(Action::again(&[(
                        Param::Force,
                        Arg::Set(Cow::Borrowed("true")),
                    )])),
                ));
            }
            if !values.is_empty() && known.allowed.is_empty() {
                let what = match known.value_type {
                    LabelValueType::Null => "takes no values",
                    _ => "takes values of another kind",
                };
                return Err(of_another_kind("values", known, what));
            }
            let options = more_options(known, &values);
            let fields = self.fields();
            let ingestion = self
                .change_definition(&repository, &known.uri, |value| {
                    value.insert(fields.label_name.to_string(), json!(name));
                    value.insert(fields.label_color.to_string(), json!(format!("#{color}")));
                    if let Some(options) = &options {
                        self.set_options(value, options);
                    }
                })
                .await?;
            let mut outcome = Outcome::immediate(label(known.uri.clone()));
            outcome.ingestion = ingestion;
            return Ok(said(outcome));
        }
        let names = &self.settings.dialects.sh;
        let takes = match values.as_slice() {
            [] => Takes::Nothing,
            values => Takes::OneOf(values),
        };
        let record =
            self.definition_record(name, &color, &takes, &[&*names.pull, &*names.issue])?;
        let added = self.add_definition(&repository, name, record).await?;
        Ok(said(added.map(label)))
    }

    async fn delete_label(&self, repo: &RepoId, name: &str) -> Result<Outcome<()>> {
        let repository = self.repository(repo).await?;
        self.require_2026(&repository, Capability::LabelEdit)?;
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
