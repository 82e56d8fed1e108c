//! Reads the relations between the issues of a repository.
//!
//! A relation is a label whose value is the at-uri of another issue. A label counts only if an
//! account that may push has set it. So only the label records of these accounts are read, however
//! many issues there are. The list of issues comes from the index, the service that lists the
//! records of all accounts. The states of the issues come from the accounts that may set them,
//! because the index also shows states that other accounts have set.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use forge_core::{
    AtUri, Error, PrKey, Result, Warning,
    model::{Issue, IssueId, IssueRelations, IssueState, PrState, RelatedIssue},
    text::one_line,
};
use futures::{StreamExt as _, future, stream};

use super::{
    record::Stored,
    view::{IssueFacts, LocatedIssue},
};
use crate::{
    Tangled,
    index_pager::{IndexPager, Item},
    labels::{Definitions, Named},
    part_window::PartWindow,
    pulls::{
        status::{self, Status, Words, Writers},
        view::unread,
    },
    records::{Record, author_of},
    related_records,
    repository::TangledRepository,
    sources::{FallbackListing, IN_FLIGHT, is_down},
    xrpc_error,
};

/// Maximum number of issues of a repository that are read for relations.
const MAX_ISSUES: usize = 5_000;
/// Number of issues in one request to tangled's index.
const PAGE: usize = 1_000;
/// Maximum number of related issues that a result has in addition to the requested issues.
const MAX_RELATED: usize = 200;
/// Maximum number of issues that are read one by one, because the repository's list lacks them.
const MAX_ELSEWHERE: usize = 50;

/// An issue of the graph.
struct Node {
    issue: Stored,
    comments: u64,
    /// Repository and state of the issue, if it is in another repository.
    elsewhere: Option<(Arc<TangledRepository>, PrState)>,
}

/// The issues of a repository, with their labels and states.
pub(super) struct Graph {
    pub repository: Arc<TangledRepository>,
    definitions: Arc<Definitions>,
    writers: Writers,
    nodes: HashMap<String, Node>,
    /// Records that add or remove labels, by the at-uri of the issue.
    operations: HashMap<String, Vec<Record>>,
    /// State records, by the at-uri of the issue.
    states: HashMap<String, Vec<Record>>,
    /// Accounts whose state records have been read.
    read: BTreeSet<String>,
    named: BTreeMap<String, Named>,
    children: BTreeMap<String, Vec<String>>,
    blocking: BTreeMap<String, Vec<String>>,
    /// True if relations may be missing.
    truncated: bool,
    pub warnings: Vec<Warning>,
    /// Errors of issues that could not be read, by at-uri.
    failed: HashMap<String, Error>,
}

impl Graph {
    /// Returns the neighbours of an issue, in both directions of the relations.
    fn neighbors(&self, uri: &str) -> impl Iterator<Item = &String> {
        let named = self.named.get(uri);
        let parent = named.and_then(|n| n.parent.as_ref());
        let blocked_by = named.into_iter().flat_map(|n| &n.blocked_by);
        let children = self.children.get(uri).into_iter().flatten();
        let blocking = self.blocking.get(uri).into_iter().flatten();
        parent
            .into_iter()
            .chain(blocked_by)
            .chain(children)
            .chain(blocking)
    }

    /// Returns the issues `uris`, then the issues that are related to them, nearest first. An issue
    /// that is related only through other issues counts as well.
    ///
    /// At most [`MAX_RELATED`] issues are added to `uris`.
    pub fn around(&mut self, uris: &[String]) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut seen: BTreeSet<String> = uris.iter().cloned().collect();
        let mut queue: VecDeque<String> = uris.iter().cloned().collect();
        let most = seen.len().saturating_add(MAX_RELATED);
        let mut truncated = false;
        while let Some(uri) = queue.pop_front() {
            for next in self.neighbors(&uri) {
                if seen.contains(next) {
                    continue;
                }
                if seen.len() >= most {
                    truncated = true;
                    break;
                }
                seen.insert(next.clone());
                queue.push_back(next.clone());
            }
            found.push(uri);
        }
        self.truncated |= truncated;
        found
    }

    fn keep(
        &mut self,
        issue: Stored,
        comments: u64,
        elsewhere: Option<(Arc<TangledRepository>, PrState)>,
    ) {
        let uri = issue.record.uri.clone();
        let node = Node {
            issue,
            comments,
            elsewhere,
        };
        self.nodes.insert(uri, node);
    }

    fn statuses(&self, words: Words<'_>, issue: &Stored) -> Vec<Status> {
        let uri = issue.record.uri.as_str();
        let records = self.states.get(uri).cloned().unwrap_or_default();
        status::read_as(words, records, uri, &issue.author, &self.writers)
    }

    fn related(&self, words: Words<'_>, uri: &str) -> Option<RelatedIssue> {
        let node = self.nodes.get(uri)?;
        let state = match &node.elsewhere {
            Some((_, state)) => *state,
            None => {
                let statuses = self.statuses(words, &node.issue);
                let winner = status::winner(&statuses).and_then(|s| s.state);
                winner.unwrap_or(PrState::Open)
            }
        };
        let elsewhere = node.elsewhere.as_ref().map(|(repository, _)| repository);
        let id = IssueId {
            repo: elsewhere.unwrap_or(&self.repository).id.clone(),
            key: PrKey::Record(uri.to_owned()),
        };
        let state = match state {
            PrState::Open => IssueState::Open,
            PrState::Closed | PrState::Merged => IssueState::Closed,
        };
        Some(RelatedIssue::new(id, &node.issue.title, state, uri))
    }

    /// Returns the relations of an issue to the issues of this graph.
    pub fn relations(&self, words: Words<'_>, uri: &str) -> IssueRelations {
        let named = self.named.get(uri);
        let all = |uris: &[String]| -> Vec<RelatedIssue> {
            uris.iter()
                .filter_map(|uri| self.related(words, uri))
                .collect()
        };
        // Other repositories were not read, so it is unknown which of their issues name this issue.
        let inverse = |uris: Option<&Vec<String>>| {
            let mut nodes: Vec<&Node> = uris
                .into_iter()
                .flatten()
                .filter_map(|uri| self.nodes.get(uri))
                .filter(|node| node.elsewhere.is_none())
                .collect();
            nodes.sort_by_key(|n| (n.issue.created_at, n.issue.record.uri.clone()));
            let uris: Vec<String> = nodes.iter().map(|n| n.issue.record.uri.clone()).collect();
            all(&uris)
        };
        let mut relations = IssueRelations::default();
        relations.parent = named
            .and_then(|n| n.parent.as_deref())
            .and_then(|uri| self.related(words, uri));
        relations.sub_issues = inverse(self.children.get(uri));
        relations.blocked_by = named.map(|n| all(&n.blocked_by)).unwrap_or_default();
        relations.blocking = inverse(self.blocking.get(uri));
        relations.truncated = self.truncated;
        relations
    }

    /// Returns true if a blocker of the issue could not be read. A deleted issue does not block.
    pub fn lacks_blocker(&self, uri: &str) -> bool {
        let is_unread = |uri: &String| {
            let gone = self.failed.get(uri).is_some_and(Error::is_not_found);
            !self.nodes.contains_key(uri) && !gone
        };
        let named = self.named.get(uri);
        named.is_some_and(|named| named.blocked_by.iter().any(is_unread))
    }

    /// Returns the error for a requested issue that the graph lacks.
    pub fn failure(&mut self, uri: &AtUri) -> Error {
        let failed = self.failed.remove(&uri.to_string());
        failed.unwrap_or_else(|| super::view::missing_issue_error(uri))
    }
}

impl Tangled {
    /// Reads the issues of a repository, with labels and states set by accounts that may push. A
    /// part that cannot be read causes a warning, and marks the relations as truncated.
    pub(super) async fn issue_graph(&self, repository: &Arc<TangledRepository>) -> Graph {
        let names = &self.settings.dialects;
        let writers = self.writers(repository).await;
        let mut accounts = writers.collaborators.clone();
        accounts.insert(writers.owner.clone());
        let collections = [names.sh.label_op.as_ref(), names.sh.issue_state.as_ref()];
        let (listed, [operations, states]) = future::join(
            self.issues_for_graph(repository),
            self.list_in_accounts(collections, &accounts, |_| true),
        )
        .await;
        let (rows, mut warnings, mut truncated) = listed;
        let operations_cut = !operations.warnings.is_empty();
        truncated |= operations_cut || writers.doubt.is_some();
        warnings.extend(writers.doubt.clone());
        for warning in operations.warnings.into_iter().chain(states.warnings) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        let mut graph = Graph {
            repository: Arc::clone(repository),
            definitions: Arc::default(),
            writers,
            nodes: HashMap::new(),
            operations: HashMap::new(),
            states: HashMap::new(),
            read: accounts,
            named: BTreeMap::new(),
            children: BTreeMap::new(),
            blocking: BTreeMap::new(),
            truncated,
            warnings,
            failed: HashMap::new(),
        };
        for (issue, comments) in rows {
            graph.keep(issue, comments, None);
        }
        let is_issue =
            |uri: &str| AtUri::parse(uri).is_ok_and(|uri| uri.collection == names.sh.issue);
        for record in operations.records {
            let subject = record.text(&names.sh_fields.op_subject);
            if let Some(subject) = subject.filter(|s| is_issue(s)).map(str::to_owned) {
                graph.operations.entry(subject).or_default().push(record);
            }
        }
        self.add_states(&mut graph, states.records);
        self.add_relations(&mut graph).await;
        graph
    }

    fn add_states(&self, graph: &mut Graph, records: Vec<Record>) {
        let words = Words::of_issues(&self.settings.dialects);
        for record in records {
            if let Some(subject) = record.text(words.subject).map(str::to_owned) {
                graph.states.entry(subject).or_default().push(record);
            }
        }
    }

    /// Determines the relations from the label records.
    async fn add_relations(&self, graph: &mut Graph) {
        let own: Vec<Record> = graph
            .operations
            .iter()
            .filter(|(subject, _)| graph.nodes.contains_key(*subject))
            .flat_map(|(_, records)| records.iter().cloned())
            .collect();
        match self.definitions_for(&graph.repository, &own).await {
            Ok(definitions) => graph.definitions = definitions,
            Err(e) => {
                graph.warnings.push(unread("the labels", &e));
                graph.truncated = true;
                return;
            }
        }
        let missing = graph.definitions.warnings();
        graph.truncated |= !missing.is_empty();
        graph.warnings.extend(missing);
        let issues = &self.settings.dialects.sh.issue;
        for (subject, records) in &graph.operations {
            let (writers, fields) = (&graph.writers, self.fields());
            let applied = graph.definitions.applied(records, subject, writers, fields);
            let named = Named::of(&applied, &graph.definitions, issues);
            if let Some(parent) = &named.parent {
                let children = graph.children.entry(parent.clone()).or_default();
                children.push(subject.clone());
            }
            for blocker in &named.blocked_by {
                let blocking = graph.blocking.entry(blocker.clone()).or_default();
                blocking.push(subject.clone());
            }
            graph.named.insert(subject.clone(), named);
        }
    }

    /// Reads the issues of a repository, each with its number of comments.
    ///
    /// Also returns warnings, and true if the repository may have more issues.
    async fn issues_for_graph(
        &self,
        repository: &TangledRepository,
    ) -> (Vec<(Stored, u64)>, Vec<Warning>, bool) {
        let names = &self.settings.dialects;
        let listed = match self.check_ingested([&names.sh.issue]) {
            Ok(()) => self.issues_of_index_for_graph(repository).await,
            Err(e) => Err(e),
        };
        let down = match listed {
            Ok(listed) => return listed,
            Err(e) if is_down(&e) => e,
            Err(e) => return (Vec::new(), vec![unread("the issues", &e)], true),
        };
        let collections: [&str; 2] = [&names.sh.issue, &names.sh.issue_state];
        let FallbackListing {
            records,
            mut warnings,
            is_all,
            ..
        } = self
            .without_index(
                repository,
                collections,
                &related_records::targets_of_issues(names),
                &down,
            )
            .await;
        let mut rows = Vec::new();
        for record in records.into_iter().take(MAX_ISSUES) {
            match Stored::parse(record, self.fields()) {
                Ok(issue) if repository.is_target(&issue.target) => rows.push((issue, 0)),
                Ok(_) => {}
                Err(e) => warnings.push(Warning::new(e.message())),
            }
        }
        (rows, warnings, !is_all)
    }

    async fn issues_of_index_for_graph(
        &self,
        repository: &TangledRepository,
    ) -> Result<(Vec<(Stored, u64)>, Vec<Warning>, bool)> {
        let names = &self.settings.dialects;
        let of = &names.inputs.index;
        let params = vec![(&*of.subject, repository.target())];
        let method = &names.methods.index.list_issues;
        let mut walk = IndexPager::new(self.index_or_others(), (method, of), params, None, PAGE);
        let (mut rows, mut warnings) = (Vec::new(), Vec::new());
        while let Some(row) = walk.next().await? {
            if walk.scanned() > MAX_ISSUES as u64 {
                warnings.push(Warning::new(format!(
                    "only the newest {MAX_ISSUES} issues were searched for relations"
                )));
                return Ok((rows, warnings, true));
            }
            let issue = Item::parse(row, "issue", of).and_then(|item| {
                let comments = item.comment_count;
                Ok((Stored::parse(item.record, self.fields())?, comments))
            });
            match issue {
                Ok((issue, comments)) if repository.is_target(&issue.target) => {
                    rows.push((issue, comments));
                }
                Ok(_) => {}
                Err(e) => warnings.push(Warning::new(e.message())),
            }
        }
        let cut = walk.cut();
        let is_cut = cut.is_some();
        warnings.extend(cut);
        Ok((rows, warnings, is_cut))
    }

    /// Completes the graph for the issues `uris` and their neighbors.
    ///
    /// Reads the issues that the repository's list lacks, and the state records of issue authors
    /// who may not push.
    pub(super) async fn fill_graph(&self, graph: &mut Graph, uris: &[String]) {
        let mut wanted: BTreeSet<String> = uris.iter().cloned().collect();
        for uri in uris {
            wanted.extend(graph.neighbors(uri).cloned());
        }
        let mut unlisted: Vec<String> = wanted.iter().cloned().collect();
        unlisted.retain(|uri| !graph.nodes.contains_key(uri));
        // The requested issues come first, so that the limit drops only their related issues.
        unlisted.sort_by_key(|uri| !uris.contains(uri));
        if unlisted.len() > MAX_ELSEWHERE {
            graph.truncated = true;
            unlisted.truncate(MAX_ELSEWHERE);
        }
        let window = &PartWindow::begin();
        let reads = unlisted.into_iter().map(|uri| async move {
            let author = author_of(&uri);
            let issue = self.issue_elsewhere(&uri);
            let found = self.identities.read_part(author, window, issue).await;
            (uri, found)
        });
        let read: Vec<_> = stream::iter(reads).buffered(IN_FLIGHT).collect().await;
        for (uri, found) in read {
            match found {
                Ok((located, state)) => {
                    let is_own = located.repository.record.uri == graph.repository.record.uri;
                    let elsewhere = (!is_own).then_some((located.repository, state));
                    graph.keep(located.issue, 0, elsewhere);
                }
                Err(e) => {
                    // A deleted issue has no relations, so no relation is missing.
                    graph.truncated |= !xrpc_error::is_gone(&e);
                    let what = format!("the related issue {}", one_line(&uri));
                    graph.warnings.push(unread(&what, &e));
                    graph.failed.insert(uri, e);
                }
            }
        }
        let known = wanted.iter().filter_map(|uri| graph.nodes.get(uri));
        let authors: BTreeSet<String> = known
            .filter(|node| node.elsewhere.is_none())
            .map(|node| node.issue.author.clone())
            .filter(|author| !graph.read.contains(author))
            .collect();
        let states = &self.settings.dialects.sh.issue_state;
        let [states] = self.list_in_accounts([states], &authors, |_| true).await;
        graph.warnings.extend(states.warnings);
        self.add_states(graph, states.records);
        graph.read.extend(authors);
    }

    /// Reads an issue of any repository, and its state.
    async fn issue_elsewhere(&self, uri: &str) -> Result<(LocatedIssue, PrState)> {
        let id = self.issue_of_record(&AtUri::parse(uri)?).await?;
        let located = self.locate_issue(&id).await?;
        let statuses = self.issue_statuses(&located).await?;
        let winner = status::winner(&statuses).and_then(|s| s.state);
        Ok((located, winner.unwrap_or(PrState::Open)))
    }

    /// Returns the model of an issue of the repository, or `None` if the graph lacks the issue.
    pub(super) async fn issue_of_graph(&self, graph: &Graph, uri: &str) -> Option<Issue> {
        let node = graph.nodes.get(uri)?;
        if node.elsewhere.is_some() {
            return None;
        }
        let words = Words::of_issues(&self.settings.dialects);
        let mut beside = IssueFacts {
            statuses: graph.statuses(words, &node.issue),
            comments: node.comments,
            ..IssueFacts::default()
        };
        self.label_from_graph(graph, uri, &mut beside).await;
        let mut issue = self
            .build_issue(&graph.repository, &node.issue, None, beside)
            .await;
        issue.relations = Some(graph.relations(words, uri));
        Some(issue)
    }

    /// Adds the labels, assignees and field values of an issue of the graph to `beside`.
    pub(super) async fn label_from_graph(&self, graph: &Graph, uri: &str, beside: &mut IssueFacts) {
        let Some(records) = graph.operations.get(uri) else {
            return;
        };
        let (writers, fields) = (&graph.writers, self.fields());
        let applied = graph.definitions.applied(records, uri, writers, fields);
        let labelled = self.labelled(&graph.definitions, &applied).await;
        beside.add_labels(labelled);
    }
}
