//! Reads several issues with their relations, and the related issues.

use std::sync::Arc;

use forge_core::{
    AtUri, Capability, Result, Warning,
    model::{Issue, IssueFields, IssueId, IssueSet},
};
use futures::{StreamExt as _, stream};

use super::graph::Graph;
use crate::{
    Era, Tangled, comments,
    label_definitions::no_board,
    malformed,
    pulls::{status::Words, view::section},
    related_records,
    repository::TangledRepository,
    sources::IN_FLIGHT,
};

type Asked = Vec<(IssueId, AtUri)>;

impl Tangled {
    /// See [`forge_core::Issues::related_issues`]. The issues of each repository are read only
    /// once.
    pub(super) async fn issues_with_relations(
        &self,
        ids: &[IssueId],
        fields: &IssueFields,
    ) -> Result<IssueSet> {
        no_board(fields.board.as_ref())?;
        let mut set = IssueSet::default();
        let mut groups: Vec<(Arc<TangledRepository>, Asked)> = Vec::new();
        for id in ids {
            match self.related_address(id).await {
                Ok((repository, uri)) => {
                    let is_same =
                        |known: &TangledRepository| known.record.uri == repository.record.uri;
                    match groups.iter_mut().find(|(known, _)| is_same(known)) {
                        Some((_, asked)) => asked.push((id.clone(), uri)),
                        None => groups.push((repository, vec![(id.clone(), uri)])),
                    }
                }
                Err(e) => set.failed.push((id.clone(), e)),
            }
        }
        for (repository, asked) in groups {
            self.add_related(&repository, asked, fields, &mut set).await;
        }
        match set.failed.pop() {
            Some((_, e)) if set.issues.is_empty() => Err(e),
            last => {
                set.failed.extend(last);
                Ok(set)
            }
        }
    }

    async fn related_address(&self, id: &IssueId) -> Result<(Arc<TangledRepository>, AtUri)> {
        let (repository, uri, _) = self.issue_address(id).await?;
        if repository.era == Era::Org10 {
            self.require_2026(&repository, Capability::IssueRelations)?;
        }
        Ok((repository, uri))
    }

    async fn add_related(
        &self,
        repository: &Arc<TangledRepository>,
        asked: Asked,
        fields: &IssueFields,
        set: &mut IssueSet,
    ) {
        let mut graph = self.issue_graph(repository).await;
        let uris: Vec<String> = asked.iter().map(|(_, uri)| uri.to_string()).collect();
        let around = graph.around(&uris);
        self.fill_graph(&mut graph, &around).await;
        let reads: Vec<_> = around
            .iter()
            .map(|uri| self.issue_with(&graph, uri, fields))
            .collect();
        let read: Vec<Option<Issue>> = stream::iter(reads).buffered(IN_FLIGHT).collect().await;
        let mut issues: Vec<Issue> = read.into_iter().flatten().collect();
        for issue in &mut issues {
            if uris.contains(&issue.node_id) {
                issue.warnings.extend(repository.doubt());
                issue.warnings.extend(of_relations(&graph));
            }
        }
        for (id, uri) in asked {
            if !issues.iter().any(|issue| issue.node_id == uri.to_string()) {
                let failure = graph.failure(&uri);
                set.failed.push((id, failure));
            }
        }
        set.issues.extend(issues);
    }

    async fn issue_with(&self, graph: &Graph, uri: &str, fields: &IssueFields) -> Option<Issue> {
        let mut issue = self.issue_of_graph(graph, uri).await?;
        if fields.comments {
            self.add_comments(&graph.repository, &mut issue).await;
        }
        Some(issue)
    }

    /// Adds the relations from the graph to issues of its repository.
    pub(super) async fn add_relations_to(&self, graph: &mut Graph, issues: &mut [Issue]) {
        let uris: Vec<String> = issues.iter().map(|issue| issue.node_id.clone()).collect();
        self.fill_graph(graph, &uris).await;
        let words = Words::of_issues(&self.settings.dialects);
        for issue in issues {
            issue.relations = Some(graph.relations(words, &issue.node_id));
            issue.warnings.extend(of_relations(graph));
            let unread = graph.lacks_blocker(&issue.node_id).then(|| {
                Warning::new("not all issues that block it could be read").of_section("blocked_by")
            });
            issue.warnings.extend(unread);
        }
    }

    /// Adds the comments to an issue of the 2026 protocol.
    pub(super) async fn add_comments(&self, repository: &TangledRepository, issue: &mut Issue) {
        let kind = related_records::comments(&self.settings.dialects);
        let author = AtUri::parse(&issue.node_id).map(|uri| uri.authority).ok();
        let accounts = self.known_accounts(repository, author.as_deref());
        let found = self.about(&kind, &issue.node_id, accounts).await;
        let records = section("the comments", found, &mut issue.warnings);
        let fields = self.fields();
        let broken = malformed::malformed_warnings(&records, |r| comments::broken(r, fields));
        issue.warnings.extend(broken);
        let records = comments::sorted(records, fields);
        issue.comments_count = records.len() as u64;
        issue.comments = Some(self.comment_models(repository, &records).await);
    }
}

/// Returns the warnings of a graph, each marked as a warning about the relations.
fn of_relations(graph: &Graph) -> impl Iterator<Item = Warning> {
    let warnings = graph.warnings.iter().cloned();
    warnings.map(|warning| warning.of_section("relations"))
}
