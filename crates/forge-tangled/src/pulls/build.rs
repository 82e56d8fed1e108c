//! Builds the model's pull request from records.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    AtUri, ForgeKind, PrId, PrKey, RepoId, RepoPath, Result, Warning,
    mentions::closing_issues,
    model::{Actor, IssueId, Label, PrState, PullRequest},
};
use futures::future;

use super::{
    merge_claim::by_record,
    record::TangledPull,
    status::{self, Status},
};
use crate::{
    Era, Tangled,
    labels::{Definitions, Labelled},
    links::references,
    records::Record,
    repository::TangledRepository,
};

/// Maximum number of issues that one record closes by its references.
const MAX_REFERENCES: usize = 50;

/// Facts about a pull request that are not in its record.
#[derive(Debug, Default)]
pub(crate) struct PullFacts {
    pub state: Option<PrState>,
    pub statuses: Vec<Status>,
    pub labels: Vec<Label>,
    pub assignees: Vec<Actor>,
    pub comments: u64,
    pub number: Option<u64>,
    pub head_oid: Option<String>,
    pub warnings: Vec<Warning>,
}

impl Tangled {
    pub(crate) async fn build(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
        mut beside: PullFacts,
    ) -> PullRequest {
        let decided = status::winner(&beside.statuses);
        let state = beside
            .state
            .or_else(|| decided.and_then(|s| s.state))
            .unwrap_or(PrState::Open);
        let decided = decided.filter(|s| s.state == Some(state));
        let ended_at = decided
            .filter(|s| state != PrState::Open && !s.is_backfilled(&pull.record))
            .map(|s| s.at);
        let merged_by = match decided {
            Some(s) if state == PrState::Merged => {
                let by = self.actor(&s.author).await;
                beside.warnings.push(by_record(&by.login, s, pull));
                Some(by)
            }
            _ => None,
        };
        beside.warnings.extend(status::doubts(&beside.statuses));
        let latest = pull.latest().and_then(|(_, round)| round.created_at);
        let updated_at = [latest, decided.map(|s| s.at)]
            .into_iter()
            .flatten()
            .fold(pull.created_at, Ord::max);
        let id = PrId {
            repo: repository.id.clone(),
            key: PrKey::Record(pull.record.uri.clone()),
        };
        let author = self.actor(pull.author()).await;
        let mut closing = self.closing_references(repository, pull);
        if closing.len() > MAX_REFERENCES {
            closing.truncate(MAX_REFERENCES);
            beside.warnings.push(Warning::new(format!(
                "the record refers to more than {MAX_REFERENCES} issues; those after the first \
                 {MAX_REFERENCES} were left out"
            )));
        }
        // A round (a submitted version of the changes) is a patch, for which the knot (git server)
        // has no git ref. So `head_ref` stays empty.
        let mut shown = PullRequest::new(id, &pull.title, author, pull.created_at);
        shown.node_id = pull.record.uri.clone();
        shown.number = beside.number;
        shown.description = pull.body.clone();
        shown.state = state;
        shown.draft = self.is_draft(&pull.title);
        shown.base_branch = pull.base.clone();
        // The base of a version is where its changes begin. The branch may have moved on since.
        let base_oid = pull.latest().and_then(|(_, round)| round.base());
        shown.base_oid = base_oid.map(str::to_owned);
        shown.head_branch = pull.head.clone();
        shown.head_oid = beside.head_oid.or_else(|| pull.source_sha.clone());
        shown.head_patch = pull
            .latest()
            .and_then(|(_, round)| pull.patch_id(round))
            .map(str::to_owned);
        shown.head_repo = fork(repository, pull);
        shown.updated_at = updated_at;
        shown.closed_at = ended_at;
        shown.merged_at = ended_at.filter(|_| state == PrState::Merged);
        shown.merged_by = merged_by;
        shown.url = self.page(repository, pull, beside.number);
        shown.labels = beside.labels;
        shown.assignees = beside.assignees;
        shown.comments_count = beside.comments;
        shown.version = pull.record.cid().to_owned();
        shown.rounds = Some(pull.rounds.len());
        shown.depends_on = pull.depends_on.clone().map(PrKey::Record);
        shown.closed_on_merge = closing_issues(&pull.body, &repository.id, &self.text_hosts());
        for issue in &closing {
            if !shown.closed_on_merge.contains(issue) {
                shown.closed_on_merge.push(issue.clone());
            }
        }
        shown.closing_references = closing;
        shown.warnings = beside.warnings;
        shown
    }

    /// Returns the issues that the record lists as references, including issues of other
    /// repositories. An at-uri with a handle does not count, because handles move between accounts.
    fn closing_references(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Vec<IssueId> {
        // The records of Tangled 1.0 have no references.
        if repository.era == Era::Org10 {
            return Vec::new();
        }
        let issues = &self.settings.dialects.sh.issue;
        let listed = references(&pull.record, self.fields())
            .filter_map(|uri| AtUri::parse(uri).ok())
            .filter(|uri| uri.collection == *issues && uri.authority.starts_with("did:"));
        let ids = listed.map(|uri| IssueId {
            repo: repository.id.clone(),
            key: uri.into(),
        });
        ids.collect()
    }

    /// Returns an account, named by its handle if the handle is verified, else by its DID.
    pub(crate) async fn actor(&self, did: &str) -> Actor {
        Actor::new(self.identities.name_of(did).await)
    }

    /// Returns accounts as [`Self::actor`] does. Their names are looked up at once.
    pub(crate) async fn actors(&self, dids: &[String]) -> Vec<Actor> {
        let actors = dids
            .iter()
            .cloned()
            .map(|did| async move { self.actor(&did).await });
        future::join_all(actors).await
    }

    /// Returns the address of the pull request's web page, or its at-uri if it has no number.
    /// Without a number, no web page is known.
    fn page(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
        number: Option<u64>,
    ) -> String {
        match number {
            Some(number) => format!(
                "{}/{}/{}/pulls/{number}",
                self.settings.web,
                repository.owner.name(),
                repository.name
            ),
            None => pull.record.uri.clone(),
        }
    }

    /// Returns the labels, assignees and field values that result from label records.
    pub(crate) async fn labels_of(
        &self,
        repository: &TangledRepository,
        subject: &str,
        mut operations: Vec<Record>,
    ) -> Result<Labelled> {
        if operations.is_empty() {
            return Ok(Labelled::default());
        }
        // Anybody can write operations. Those that do not count must not make forge read anything.
        let writers = self.writers(repository).await;
        operations.retain(|record| writers.may_write(record.author()));
        if operations.is_empty() {
            return Ok(Labelled::default());
        }
        let definitions = self.definitions_for(repository, &operations).await?;
        let applied = definitions.applied(&operations, subject, &writers, self.fields());
        Ok(self.labelled(&definitions, &applied).await)
    }

    /// Converts label values to labels, assignees and field values. The keys of `applied` are the
    /// at-uris of label definitions.
    pub(crate) async fn labelled(
        &self,
        definitions: &Definitions,
        applied: &BTreeMap<String, BTreeSet<String>>,
    ) -> Labelled {
        let mut labelled = Labelled::default();
        for (key, values) in applied {
            let Some(definition) = definitions.iter().find(|d| d.uri == *key) else {
                labelled.missing.extend(definitions.missing(key));
                continue;
            };
            if definition.is_assignee() {
                labelled.assigned.extend(values.iter().cloned());
            } else {
                labelled.labels.extend(definition.labels(values));
            }
        }
        labelled.assignees = self.actors(&labelled.assigned).await;
        // If two field definitions have the same name, the first in the repository's list counts.
        for definition in definitions.iter().filter(|d| d.is_field()) {
            let value = applied.get(&definition.uri).and_then(BTreeSet::first);
            if let Some(value) = value {
                let name = definition.name.clone();
                labelled.values.entry(name).or_insert_with(|| value.clone());
            }
        }
        labelled
            .labels
            .sort_by(|a: &Label, b: &Label| a.name.cmp(&b.name));
        labelled
    }

    /// Reads which accounts have push access.
    pub(crate) async fn writers(&self, repository: &TangledRepository) -> status::Writers {
        let pushers = self.collaborators(repository).await;
        status::Writers {
            doubt: pushers.doubt,
            ..status::Writers::of(repository, &pushers.accounts)
        }
    }

    /// Fails if the viewer may not push. Called before any write.
    ///
    /// The error names the requested operation `what`, and says `why` it needs push access.
    pub(crate) async fn may_push(
        &self,
        repository: &TangledRepository,
        what: &str,
        why: &str,
    ) -> Result<()> {
        let viewer = self.session.viewer().await?;
        let writers = self.writers(repository).await;
        if writers.may_write(&viewer.identity.did) {
            return Ok(());
        }
        let told = format!(
            "{} may not {what} in {}: {why}",
            viewer.identity.name(),
            repository.id
        );
        Err(writers.refusal(told).with_hint(format!(
            "ask the owner of the repository to {what} it, or to add you as a collaborator"
        )))
    }
}

fn fork(repository: &TangledRepository, pull: &TangledPull) -> Option<RepoId> {
    let source = pull.fork(repository)?;
    let path = match forge_core::AtUri::parse(source) {
        Ok(uri) => RepoPath::Record(uri),
        Err(_) => RepoPath::Did(source.to_owned()),
    };
    Some(RepoId {
        kind: ForgeKind::TANGLED,
        host: String::new(),
        path,
    })
}
