//! Parents, sub-issues and dependencies. An issue stores its parent and its blockers; the reverse
//! relations are computed from all issues.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Error, PrKey, Result, Warning,
    call::{Charge, charge},
    model::{Issue, IssueFields, IssueId, IssueRelations, IssueSet, IssueState, RelatedIssue},
};
use forge_git::CatFile;

use crate::{
    Local,
    links::short_title,
    pulls::warning_of,
    store::{IssueSnapshot, MAX_IN_MEMORY, RefChange, issue_ref},
};

pub(super) const MAX_BLOCKERS: usize = 100;
/// Maximum length of a chain of parents.
const MAX_DEPTH: usize = 100;
/// Maximum number of sub-issues or blocked issues that are shown for one issue.
const MAX_REVERSE: usize = 1000;
/// Maximum number of related issues that [`forge_core::Issues::related_issues`] returns.
const MAX_NEIGHBOURS: usize = 200;
/// Memory of a related issue in addition to its title, in bytes.
const BYTES_PER_ISSUE: usize = 512;
/// Title of a related issue that cannot be read. Such an issue counts as open, so that it still
/// blocks.
const UNREADABLE: &str = "(cannot be read)";

/// The fields of an issue that relations need.
struct RelatedRow {
    title: String,
    state: IssueState,
    parent: Option<u64>,
    blocked_by: Vec<u64>,
    truncated: bool,
}

impl RelatedRow {
    fn of(snapshot: IssueSnapshot) -> Self {
        let mut blocked_by = snapshot.blocked_by;
        // The limit is checked again here, because another program may have stored more blockers.
        let truncated = blocked_by.len() > MAX_BLOCKERS;
        blocked_by.truncate(MAX_BLOCKERS);
        blocked_by.shrink_to_fit();
        Self {
            title: short_title(&snapshot.title),
            state: snapshot.state,
            parent: snapshot.parent,
            blocked_by,
            truncated,
        }
    }
}

/// Returns the memory that relations take in a result, in bytes.
fn weight_of_relations(relations: &IssueRelations) -> usize {
    let IssueRelations {
        parent,
        sub_issues,
        blocked_by,
        blocking,
        ..
    } = relations;
    let all = parent
        .iter()
        .chain(sub_issues)
        .chain(blocked_by)
        .chain(blocking);
    all.map(|issue| 2 * issue.title.len() + BYTES_PER_ISSUE)
        .sum()
}

#[derive(Default)]
pub(super) struct IssueGraph {
    rows: BTreeMap<u64, RelatedRow>,
    deleted: BTreeSet<u64>,
    unreadable: Vec<u64>,
    sub_issues: BTreeMap<u64, Vec<u64>>,
    blocking: BTreeMap<u64, Vec<u64>>,
    /// The memory of the graph.
    charge: Charge,
}

impl IssueGraph {
    /// Adds the relations to `issue`.
    pub fn fill(&self, repo: &Local, issue: &mut Issue) {
        let Some(number) = issue.number else { return };
        let relations = self.relations(repo, number);
        match charge(
            "the relations of the issues",
            weight_of_relations(&relations),
        ) {
            Ok(memory) => {
                memory.keep();
                issue.relations = Some(relations);
            }
            Err(e) => {
                let unread = warning_of(&e).of_section("relations");
                issue.warnings.push(unread);
            }
        }
        if !self.unreadable.is_empty() {
            let shown: Vec<_> = self
                .unreadable
                .iter()
                .take(10)
                .map(|n| format!("#{n}"))
                .collect();
            let warning = Warning::new(format!(
                "{} issues cannot be read, and their relations are not shown: {}",
                self.unreadable.len(),
                shown.join(", ")
            ));
            issue.warnings.push(warning.of_section("relations"));
        }
    }

    fn relations(&self, repo: &Local, number: u64) -> IssueRelations {
        let end = |n: &u64| self.related(repo, *n);
        let row = self.rows.get(&number);
        let reverse = |all: &BTreeMap<u64, Vec<u64>>| -> (Vec<RelatedIssue>, bool) {
            let all = all.get(&number).map(Vec::as_slice).unwrap_or_default();
            let shown = all.iter().take(MAX_REVERSE).filter_map(end).collect();
            (shown, all.len() > MAX_REVERSE)
        };
        let (sub_issues, more_parts) = reverse(&self.sub_issues);
        let (blocking, more_blocked) = reverse(&self.blocking);
        let mut relations = IssueRelations::default();
        relations.parent = row.and_then(|r| r.parent.as_ref()).and_then(end);
        relations.sub_issues = sub_issues;
        relations.blocked_by = row.map_or(Vec::new(), |r| {
            r.blocked_by.iter().filter_map(end).collect()
        });
        relations.blocking = blocking;
        // An unreadable issue may have this issue as its parent or blocker, so the lists may be
        // incomplete.
        relations.truncated = more_parts
            || more_blocked
            || row.is_some_and(|r| r.truncated)
            || !self.unreadable.is_empty();
        relations
    }

    /// Returns the related issue, or `None` if it was deleted.
    fn related(&self, repo: &Local, number: u64) -> Option<RelatedIssue> {
        let (title, state) = match self.rows.get(&number) {
            Some(row) => (row.title.clone(), row.state),
            None if self.deleted.contains(&number) => return None,
            None => (UNREADABLE.to_owned(), IssueState::Open),
        };
        let id = repo.issue_id(number);
        let url = id.to_string();
        Some(RelatedIssue::new(id, title, state, url))
    }

    /// Returns the readable issues that are directly related to `numbers`, without `numbers`
    /// themselves.
    fn neighbours(&self, numbers: &BTreeSet<u64>) -> Vec<u64> {
        let mut near = BTreeSet::new();
        for number in numbers {
            if let Some(row) = self.rows.get(number) {
                near.extend(row.parent);
                near.extend(&row.blocked_by);
            }
            for reverse in [&self.sub_issues, &self.blocking] {
                near.extend(reverse.get(number).into_iter().flatten());
            }
        }
        near.retain(|n| !numbers.contains(n) && self.rows.contains_key(n));
        near.into_iter().take(MAX_NEIGHBOURS).collect()
    }
}

impl Local {
    pub(super) async fn issue_graph(&self, cat: &mut CatFile) -> Result<IssueGraph> {
        let mut graph = IssueGraph {
            charge: Charge::new(),
            ..IssueGraph::default()
        };
        let mut numbers = self.store.issue_numbers().await?;
        numbers.reverse();
        for chunk in numbers.chunks(MAX_IN_MEMORY) {
            let read = self.store.read_stored(cat, chunk).await?;
            for (number, read) in chunk.iter().zip(read) {
                match read {
                    Some(Ok(issue)) if issue.snapshot.deleted => {
                        graph.deleted.insert(*number);
                    }
                    Some(Ok(issue)) => {
                        let row = RelatedRow::of(issue.snapshot);
                        let weight = row.title.len() + 32 * row.blocked_by.len() + BYTES_PER_ISSUE;
                        graph.charge.add("the relations of all issues", weight)?;
                        graph.rows.insert(*number, row);
                    }
                    Some(Err(_)) => graph.unreadable.push(*number),
                    None => {}
                }
            }
        }
        for (number, row) in &graph.rows {
            if let Some(parent) = row.parent {
                graph.sub_issues.entry(parent).or_default().push(*number);
            }
            for blocker in &row.blocked_by {
                graph.blocking.entry(*blocker).or_default().push(*number);
            }
        }
        Ok(graph)
    }

    pub(super) async fn read_related(
        &self,
        ids: &[IssueId],
        fields: &IssueFields,
    ) -> Result<IssueSet> {
        let mut set = IssueSet::default();
        let mut wanted = BTreeMap::new();
        for id in ids {
            match self.issue_number(id) {
                Ok(number) => drop(wanted.entry(number).or_insert(id)),
                Err(e) => set.failed.push((id.clone(), e)),
            }
        }
        let mut cat = self.store.cat();
        let graph = match wanted.is_empty() {
            true => IssueGraph::default(),
            false => self.issue_graph(&mut cat).await?,
        };
        let numbers: BTreeSet<u64> = wanted.keys().copied().collect();
        let near = graph.neighbours(&numbers);
        let all: Vec<u64> = numbers.into_iter().chain(near).collect();
        let mut fields = fields.clone();
        fields.relations = false;
        for chunk in all.chunks(MAX_IN_MEMORY) {
            let read = self.store.read_stored(&mut cat, chunk).await?;
            for (number, read) in chunk.iter().zip(read) {
                let asked = wanted.get(number);
                match (self.store.require_issue(*number, read), asked) {
                    (Ok(issue), _) => {
                        let fields = if asked.is_some() {
                            &fields
                        } else {
                            &IssueFields::NONE
                        };
                        let mut issue = self.present_issue(&mut cat, &issue, fields).await?;
                        graph.fill(self, &mut issue);
                        set.issues.push(issue);
                    }
                    (Err(e), Some(id)) => set.failed.push(((*id).clone(), e)),
                    (Err(_), None) => {}
                }
            }
        }
        match set.failed.pop() {
            Some((_, e)) if set.issues.is_empty() => Err(e),
            failed => {
                set.failed.extend(failed);
                Ok(set)
            }
        }
    }

    /// Returns the number of a related issue. Refuses an issue of another repository.
    pub(super) fn related_number(&self, field: &'static str, id: &IssueId) -> Result<u64> {
        match &id.key {
            PrKey::Number(number) if self.check(&id.repo).is_ok() => Ok(*number),
            _ => {
                let message = format!(
                    "{id} is not an issue of {}, and a git repository relates only its own issues",
                    self.url()
                );
                Err(Error::invalid(field, message).with_hint(
                    "name an issue of the same repository, or mention the other one in the text",
                ))
            }
        }
    }

    /// Checks that `parent` can become the parent of issue `number`. Returns the refs that must not
    /// change before the event is written. Otherwise two concurrent edits could create a cycle.
    pub(super) async fn check_parent(
        &self,
        cat: &mut CatFile,
        number: u64,
        parent: u64,
    ) -> Result<Vec<RefChange>> {
        let refuse = |why: String| {
            Err(Error::invalid("parent", why)
                .with_hint("choose an issue that is not a sub-issue of this one"))
        };
        if parent == number {
            return refuse(format!("issue #{number} cannot be its own parent"));
        }
        let mut unmoved = Vec::new();
        let mut above = Some(parent);
        while let Some(next) = above {
            if next == number {
                return refuse(format!(
                    "issue #{parent} cannot be the parent of #{number}: it is a sub-issue of \
                     #{number}"
                ));
            }
            if unmoved.len() == MAX_DEPTH {
                return refuse(format!(
                    "issue #{parent} cannot be a parent: more than {MAX_DEPTH} issues are above it, \
                     or their parents form a circle"
                ));
            }
            let read = self.store.read_stored(cat, &[next]).await?.pop().flatten();
            let issue = match self.store.require_issue(next, read) {
                Ok(issue) => issue,
                // The parent of an ancestor was deleted, so the chain ends here.
                Err(e) if next != parent && e.code() == "not_found" => break,
                Err(e) if e.code() == "not_found" => {
                    return Err(missing_relation_error("parent", e));
                }
                Err(e) => return Err(e),
            };
            above = issue.snapshot.parent;
            unmoved.push(RefChange::Verify {
                name: issue_ref(next),
                old: issue.tip,
            });
        }
        Ok(unmoved)
    }

    pub(super) async fn check_blockers(
        &self,
        cat: &mut CatFile,
        number: u64,
        blockers: &[u64],
    ) -> Result<()> {
        if blockers.contains(&number) {
            let message = format!("issue #{number} cannot be blocked by itself");
            return Err(Error::invalid("blocked_by", message).with_hint("name another issue"));
        }
        let read = self.store.read_stored(cat, blockers).await?;
        for (blocker, read) in blockers.iter().zip(read) {
            match self.store.require_issue(*blocker, read) {
                Err(e) if e.code() == "not_found" => {
                    return Err(missing_relation_error("blocked_by", e));
                }
                found => drop(found?),
            }
        }
        Ok(())
    }
}

/// Reports a missing related issue as an invalid argument, because the issue to edit exists.
fn missing_relation_error(field: &'static str, e: Error) -> Error {
    let error = Error::invalid(field, e.message().to_owned());
    match e.hint().cloned() {
        Some(hint) => error.with_hint(hint).with_source(e),
        None => error.with_source(e),
    }
}
