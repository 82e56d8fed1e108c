//! The labels that a repository defines.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use async_trait::async_trait;
use forge_core::{
    Action, Arg, Error, ErrorKind, Hint, Labels, Noun, Outcome, Page, PageReq, Param, RepoId,
    Result,
    call::{Charge, charge},
    limits::{check_label_color, check_label_description, check_label_name},
    model::{Label, NewLabel},
    suggest, text,
};
use forge_git::{CatFile, RawCommit, signature};
use serde::{Deserialize, Serialize};

use crate::{
    Local,
    ident::{CommitIdentity, identity},
    paging,
    store::{
        EventStore, LABELS, LABELS_FILE, LABELS_FORMAT, LabelRef, RefChange, RefConflict,
        Unreadable, WriteRetry, random, same_login,
    },
};

/// Maximum length of a label's name, in characters.
const MAX_NAME_LENGTH: usize = 50;
/// Maximum length of `labels.json`, in bytes: room for 20,000 labels.
const MAX_LABELS_BYTES: usize = 4 * 1024 * 1024;
/// Memory of a label in addition to its texts, in bytes.
const BYTES_PER_LABEL: usize = 256;
/// Hint for a new label whose name already exists.
static OVERWRITE: Hint = Hint::fixed(
    "choose another name, or overwrite it",
    Action::again(&[(Param::Force, Arg::Set(Cow::Borrowed("true")))]),
);
/// Colours for new labels that are created without a colour. They are used in turn.
const PALETTE: [&str; 8] = [
    "4f7cac", "c0504d", "6a994e", "b38cb4", "d4a017", "3d8b8b", "8d6e63", "7a7a7a",
];
/// The labels of a new repository: name, colour, description.
const STARTERS: [(&str, &str, &str); 9] = [
    ("bug", "c0392b", "Does not work as it should"),
    ("documentation", "2c6fbb", "The documentation needs work"),
    (
        "duplicate",
        "b0b7bd",
        "Another issue or pull request covers this",
    ),
    ("enhancement", "4aa3a2", "New feature or improvement"),
    ("good first issue", "6c5ce7", "Suits newcomers"),
    ("help wanted", "1e8449", "Somebody is needed to do this"),
    ("invalid", "d9c76a", "Based on a mistake"),
    ("question", "c561a8", "Needs an answer first"),
    ("wontfix", "f2f2f2", "Will not be changed"),
];

/// The content of `labels.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LabelSet {
    format: u32,
    labels: Vec<Label>,
    /// For each id, the position of its label at the time of reading.
    #[serde(skip)]
    positions: HashMap<String, usize>,
    /// The memory of the labels.
    #[serde(skip)]
    charge: Charge,
}

/// The labels in the order of their names, with the commit from which they were read. A list is read
/// page by page, and each page would otherwise parse and sort all labels again.
pub(crate) type SortedLabels = (Option<String>, Arc<Vec<Label>>);

/// Returns the memory that a label takes in a result, in bytes: its texts are parsed and printed.
pub(crate) fn weight_of_label(label: &Label) -> usize {
    let description = label.description.as_ref().map_or(0, String::len);
    2 * (label.name.len() + label.color.len() + label.id.len() + description) + BYTES_PER_LABEL
}

/// The labels, with the commit from which they were read.
pub(crate) struct LoadedLabelSet {
    pub book: LabelSet,
    old: Option<String>,
}

impl Default for LabelSet {
    fn default() -> Self {
        let starters = STARTERS.iter().zip(1u64..);
        let labels = starters
            .map(|((name, color, description), id)| {
                let mut label = Label::new(*name, *color);
                label.description = Some((*description).to_owned());
                label.id = id.to_string();
                label
            })
            .collect();
        let set = Self {
            format: LABELS_FORMAT,
            labels,
            positions: HashMap::new(),
            charge: Charge::default(),
        };
        set.with_positions()
    }
}

impl LabelSet {
    fn with_positions(mut self) -> Self {
        for (position, label) in self.labels.iter().enumerate() {
            let id = label.id.clone();
            self.positions.entry(id).or_insert(position);
        }
        self
    }

    fn find(&self, name: &str) -> Option<&Label> {
        self.labels.iter().find(|l| same_login(&l.name, name))
    }

    /// Returns the current label with the id of `label`, if it still exists.
    pub fn current(&self, label: &LabelRef) -> Option<&Label> {
        self.labels.get(*self.positions.get(&label.id)?)
    }

    /// Returns the label called `name`.
    ///
    /// # Errors
    /// `invalid_input` if no label has this name. The hint lists similar names.
    pub fn resolve(&self, name: &str) -> Result<LabelRef> {
        let found = self.find(name.trim()).ok_or_else(|| {
            let shown = text::one_line(name).into_owned();
            let known = || self.labels.iter().map(|l| l.name.as_str());
            let hint = suggest::hint(name, known(), "labels");
            let corrected = suggest::corrected(&[Param::AddLabel], name, known());
            Error::invalid("labels", format!("no label is called '{shown}'"))
                .with_hint(Hint::from(hint).with_any_action(corrected))
        })?;
        Ok(LabelRef {
            id: found.id.clone(),
            name: found.name.clone(),
        })
    }
}

impl EventStore {
    /// Reads the labels. If no label was ever defined, returns the labels of a new repository.
    ///
    /// # Errors
    /// `protocol` if the stored labels cannot be read.
    pub async fn labels(&self, cat: &mut CatFile) -> Result<LoadedLabelSet> {
        let Some(tip) = cat.info(LABELS).await? else {
            return Ok(LoadedLabelSet {
                book: LabelSet::default(),
                old: None,
            });
        };
        let bad = |why: Unreadable| {
            let undo = "goes back to the labels that every repository starts with";
            why.into_error("labels", LABELS, undo)
        };
        let object = cat.get(&format!("{}:{LABELS_FILE}", tip.oid)).await;
        let object = object.map_err(|e| match e.kind() {
            // Git itself failed. The labels may be intact, so they are not reported as damaged.
            forge_core::ErrorKind::Git { .. } => e,
            _ if forge_core::call::is_about_memory(&e) => e,
            _ => bad(e.message().into()).with_source(e),
        })?;
        let object = object.ok_or_else(|| bad("there is no labels.json in it".into()))?;
        let bytes = object.data.len();
        if bytes > MAX_LABELS_BYTES {
            let why =
                format!("{LABELS_FILE} has {bytes} bytes, and the maximum is {MAX_LABELS_BYTES}");
            return Err(bad(why.into()));
        }
        Unreadable::check_format(LABELS_FILE, &object.data, LABELS_FORMAT).map_err(bad)?;
        let mut book: LabelSet = serde_json::from_slice(&object.data)
            .map_err(|e| bad(e.to_string().into()).with_source(e))?;
        let weight = book.labels.iter().map(weight_of_label).sum();
        book.charge = charge("the labels", weight)?;
        // A write stores the newest format.
        book.format = LABELS_FORMAT;
        Ok(LoadedLabelSet {
            book: book.with_positions(),
            old: Some(tip.oid),
        })
    }
}

#[async_trait]
impl Labels for Local {
    async fn labels(&self, repo: &RepoId, page: PageReq) -> Result<Page<Label>> {
        self.check(repo)?;
        let labels = self.sorted_labels().await?;
        let page = paging::slice_ref(&labels, &page, &"labels")?;
        let weight = page.items.iter().map(weight_of_label).sum();
        charge("the labels", weight)?.keep();
        Ok(page)
    }

    async fn define_label(&self, repo: &RepoId, label: &NewLabel) -> Result<Outcome<Label>> {
        self.check(repo)?;
        let name = label_name(&label.name)?;
        let color = label.color.as_deref().map(check_label_color).transpose()?;
        let description = label
            .description
            .as_deref()
            .map(label_description)
            .transpose()?;
        let by = identity(self.user_git()).await?;
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let LoadedLabelSet { mut book, old } = self.store.labels(&mut self.store.cat()).await?;
            let existing = book.labels.iter_mut().find(|l| same_login(&l.name, &name));
            let defined = match existing {
                Some(existing) if !label.overwrite => {
                    return Err(Error::new(
                        ErrorKind::AlreadyExists { existing: None },
                        format!("the label '{}' is defined already", existing.name),
                    )
                    .with_hint(&OVERWRITE));
                }
                Some(existing) => {
                    existing.name.clone_from(&name);
                    if let Some(color) = &color {
                        existing.color.clone_from(color);
                    }
                    if let Some(description) = &description {
                        existing.description.clone_from(description);
                    }
                    existing.clone()
                }
                None => {
                    let turn = book.labels.len() % PALETTE.len();
                    let chosen = PALETTE.get(turn).copied().unwrap_or("7a7a7a").to_owned();
                    let mut new = Label::new(name.clone(), color.clone().unwrap_or(chosen));
                    new.description = description.clone().flatten();
                    // A counter would give labels of two clones the same id.
                    new.id = format!("{:016x}", random());
                    book.labels.push(new.clone());
                    new
                }
            };
            match self
                .save_labels(&book, old, &by, &format!("define {name}"))
                .await?
            {
                None => return Ok(Outcome::immediate(defined)),
                Some(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }

    async fn delete_label(&self, repo: &RepoId, name: &str) -> Result<Outcome<()>> {
        self.check(repo)?;
        let by = identity(self.user_git()).await?;
        let mut attempts = WriteRetry::begin(&self.store).await;
        loop {
            let LoadedLabelSet { mut book, old } = self.store.labels(&mut self.store.cat()).await?;
            let label = book.resolve(name).map_err(|e| {
                let gone = Error::not_found(Noun::Label, e.message());
                match e.hint() {
                    Some(hint) => gone.with_hint(hint),
                    None => gone,
                }
            })?;
            book.labels.retain(|l| l.id != label.id);
            match self
                .save_labels(&book, old, &by, &format!("delete {}", label.name))
                .await?
            {
                None => return Ok(Outcome::immediate(())),
                Some(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }
}

impl Local {
    /// Returns all labels, sorted by name. Reads them again only if they have changed.
    async fn sorted_labels(&self) -> Result<Arc<Vec<Label>>> {
        let mut cat = self.store.cat();
        let tip = cat.info(LABELS).await?.map(|info| info.oid);
        let known = || {
            let sorted = self.sorted_labels.lock();
            sorted.unwrap_or_else(PoisonError::into_inner)
        };
        if let Some((at, labels)) = &*known()
            && *at == tip
        {
            return Ok(Arc::clone(labels));
        }
        let LoadedLabelSet { book, old } = self.store.labels(&mut cat).await?;
        let mut labels = book.labels;
        labels.sort_by_cached_key(|l| l.name.to_lowercase());
        let labels = Arc::new(labels);
        *known() = Some((old, Arc::clone(&labels)));
        Ok(labels)
    }

    async fn save_labels(
        &self,
        book: &LabelSet,
        old: Option<String>,
        by: &CommitIdentity,
        what: &str,
    ) -> Result<Option<RefConflict>> {
        let mut json = serde_json::to_vec_pretty(book).map_err(|e| {
            Error::new(ErrorKind::Internal, format!("cannot encode labels: {e}")).with_source(e)
        })?;
        json.push(b'\n');
        if json.len() > MAX_LABELS_BYTES {
            let most = MAX_LABELS_BYTES >> 20;
            let message = format!("all labels of a repository together have at most {most} MiB");
            return Err(
                Error::invalid("labels", message).with_hint("delete labels that nobody uses")
            );
        }
        let tree = self.store.put_file(LABELS_FILE, &json).await?;
        let who = signature(&by.actor, by.at);
        let message = format!("labels: {what}\n");
        let commit = RawCommit {
            tree: &tree,
            parents: old.as_deref().into_iter().collect(),
            author: who.as_bytes(),
            committer: who.as_bytes(),
            encoding: None,
            message: message.as_bytes(),
        };
        let new = self.git().put("commit", &commit.encode()).await?;
        let name = LABELS.to_owned();
        let change = match old {
            Some(old) => RefChange::Update { name, new, old },
            None => RefChange::Create { name, new },
        };
        self.store.update_refs("forge: labels", &[change]).await
    }
}

/// Checks a label's name. Commas are refused, because lists of labels are separated by commas.
fn label_name(name: &str) -> Result<String> {
    let name = check_label_name(name, MAX_NAME_LENGTH)?;
    if name.contains(',') {
        return Err(
            Error::invalid("name", "a label's name has no comma").with_hint("choose another name")
        );
    }
    Ok(name.to_owned())
}

fn label_description(description: &str) -> Result<Option<String>> {
    let description = check_label_description(description)?;
    Ok((!description.is_empty()).then(|| description.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_lookup_ignores_case_and_suggests_names() {
        let book = LabelSet::default();
        assert_eq!(book.resolve(" Good First Issue ").unwrap().id, "5");
        let e = book.resolve("bugg").unwrap_err();
        assert!(e.message().contains("'bugg'"), "{e}");
        assert!(
            e.hint()
                .is_some_and(|h| h.text().contains("did you mean 'bug'")),
            "{e:?}"
        );
    }

    #[test]
    fn label_name_with_comma_is_refused() {
        assert_eq!(label_name(" a b ").unwrap(), "a b");
        assert!(label_name("a,b").is_err() && label_name(&"x".repeat(51)).is_err());
        assert_eq!(label_description("  ").unwrap(), None);
    }
}
