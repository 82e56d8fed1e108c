//! Reads an issue from its author's account, and other accounts' records about the issue.

use std::{collections::BTreeMap, sync::Arc};

use forge_core::{
    Action, AtUri, Error, ForgeKind, Hint, Noun, Op, PrKey, RepoId, RepoPath, Result, Warning,
    model::{Actor, Comment, Issue, IssueFields, IssueId, IssueState, Label, PrState},
};
use futures::future;

use super::record::Stored;
use crate::{
    Era, Tangled, comments,
    label_definitions::no_board,
    labels::{self, Labelled},
    malformed,
    pulls::{
        number::Numbered,
        status::{self, Status, Words},
        view::{section, unread},
    },
    records::{self, Record},
    related_records,
    repository::TangledRepository,
    sources::Sourced,
    tickets, xrpc_error,
};

pub(crate) const ISSUES: Numbered = Numbered {
    path: "issues",
    title: "issue",
    noun: Noun::Issue,
    list: Op::IssueList,
};

/// An issue with its repository.
#[derive(Clone, Debug)]
pub(crate) struct LocatedIssue {
    pub repository: Arc<TangledRepository>,
    pub issue: Stored,
    pub number: Option<u64>,
}

/// Facts about an issue that are not in its record.
#[derive(Clone, Debug, Default)]
pub(super) struct IssueFacts {
    pub state: Option<PrState>,
    pub statuses: Vec<Status>,
    pub labels: Vec<Label>,
    pub assignees: Vec<Actor>,
    /// DIDs of the assignees.
    pub assigned: Vec<String>,
    pub values: BTreeMap<String, String>,
    pub comments: u64,
    pub comment_models: Option<Vec<Comment>>,
    pub warnings: Vec<Warning>,
}

impl IssueFacts {
    /// Adds the labels, assignees and field values that result from the label records.
    pub fn add_labels(&mut self, labelled: Labelled) {
        self.labels = labelled.labels;
        self.assignees = labelled.assignees;
        self.assigned = labelled.assigned;
        self.values = labelled.values;
        self.warnings.extend(labelled.missing);
    }
}

/// Records of other accounts about an issue, not yet interpreted.
struct IssueRecords {
    states: Result<Sourced<Vec<Record>>>,
    comments: Result<Sourced<Vec<Record>>>,
    operations: Result<Sourced<Vec<Record>>>,
}

pub(super) fn missing_issue_error(uri: &AtUri) -> Error {
    Error::not_found(Noun::Issue, format!("there is no issue {uri}")).with_hint(
        Hint::new("list the issues that are there").with_action(Action::op(Op::IssueList)),
    )
}

impl Tangled {
    /// Returns the id of an issue from the at-uri of its record.
    ///
    /// # Errors
    /// `not_found` if there is no such record; `protocol` for a record that is not an issue.
    pub async fn issue_of_record(&self, uri: &AtUri) -> Result<IssueId> {
        let uri = self.with_did(uri.clone()).await?;
        let path = if uri.collection == self.settings.dialects.org.issue {
            RepoPath::Did(uri.authority.clone())
        } else {
            let pds = self.identities.pds(&uri.authority).await?;
            let record =
                records::get_uri(&pds, &uri).await.map_err(
                    |e| match xrpc_error::is_missing_record(&e) {
                        true => missing_issue_error(&uri),
                        false => e,
                    },
                )?;
            let stored = Stored::parse(record, self.fields())?;
            match AtUri::parse(&stored.target) {
                Ok(uri) => RepoPath::Record(uri),
                Err(_) => RepoPath::Did(stored.target.clone()),
            }
        };
        let id = RepoId {
            kind: ForgeKind::TANGLED,
            host: self.settings.host.clone(),
            path,
        };
        Ok(IssueId {
            repo: self.repository(&id).await?.id.clone(),
            key: PrKey::Record(uri.to_string()),
        })
    }

    /// Finds an issue by at-uri, or by its number on the web page.
    pub(crate) async fn locate_issue(&self, id: &IssueId) -> Result<LocatedIssue> {
        let (repository, uri, number) = self.issue_address(id).await?;
        let issue = self.issue_at(&repository, &uri).await?;
        Ok(LocatedIssue {
            repository,
            issue,
            number,
        })
    }

    /// Returns the repository, the at-uri and the number of an issue, without reading the issue.
    pub(super) async fn issue_address(
        &self,
        id: &IssueId,
    ) -> Result<(Arc<TangledRepository>, AtUri, Option<u64>)> {
        let repository = self.repository(&id.repo).await?;
        let names = self.settings.dialects.of(repository.era);
        let (uri, number) = match &id.key {
            PrKey::Number(number) => {
                let found = self.web_record(&repository, &ISSUES, *number, &names.issue);
                (found.await?, Some(*number))
            }
            PrKey::Record(uri) => (AtUri::parse(uri)?, None),
        };
        let uri = self.with_did(uri).await?;
        if uri.collection != names.issue {
            return Err(missing_issue_error(&uri));
        }
        Ok((repository, uri, number))
    }

    /// Reads an issue's record from the server of its account.
    pub(super) async fn issue_at(
        &self,
        repository: &TangledRepository,
        uri: &AtUri,
    ) -> Result<Stored> {
        if repository.era == Era::Org10 {
            let (knot, did) = self.account(repository).await?;
            if uri.authority != did {
                return Err(missing_issue_error(uri));
            }
            let names = &self.settings.dialects;
            let ticket = records::find(&knot, did, &uri.collection, &uri.rkey).await?;
            let found = ticket
                .map(|t| Stored::of_ticket(t, names))
                .transpose()?
                .flatten();
            return found.ok_or_else(|| missing_issue_error(uri));
        }
        let pds = self.identities.pds(&uri.authority).await?;
        let record = records::get_uri(&pds, uri).await.map_err(|e| {
            match xrpc_error::is_missing_record(&e) {
                true => missing_issue_error(uri),
                false => e,
            }
        })?;
        let issue = Stored::parse(record, self.fields())?;
        if !repository.is_target(&issue.target) {
            return Err(Error::not_found(
                Noun::Issue,
                format!(
                    "{uri} is an issue of {}, not of {}",
                    issue.target, repository.id
                ),
            ));
        }
        Ok(issue)
    }

    /// Reads everything about a located issue, and builds its model.
    pub(super) async fn view_issue(
        &self,
        located: &LocatedIssue,
        fields: &IssueFields,
    ) -> Result<Issue> {
        no_board(fields.board.as_ref())?;
        if located.repository.era == Era::Org10 {
            return Ok(self.view_ticket_issue(located, fields).await);
        }
        let LocatedIssue {
            repository, issue, ..
        } = located;
        let names = &self.settings.dialects;
        let uri = issue.record.uri.as_str();
        let accounts = || self.known_accounts(repository, Some(&issue.author));
        let (states, comments) = (
            related_records::issue_states(names),
            related_records::comments(names),
        );
        let (states, comments, operations) = future::join3(
            self.about(&states, uri, accounts()),
            self.about(&comments, uri, accounts()),
            self.label_ops_about(repository, uri),
        )
        .await;
        let said = IssueRecords {
            states,
            comments,
            operations,
        };
        let view = self.view_issue_with(located, said, fields);
        if !fields.relations {
            return Ok(view.await);
        }
        let (mut view, mut graph) = future::join(view, self.issue_graph(repository)).await;
        self.add_relations_to(&mut graph, std::slice::from_mut(&mut view))
            .await;
        Ok(view)
    }

    /// Reads the issue after a write. The viewer's own records come from the viewer's server,
    /// because tangled's index may not show them yet.
    pub(super) async fn view_issue_fresh(&self, located: &LocatedIssue) -> Result<Issue> {
        let LocatedIssue {
            repository, issue, ..
        } = located;
        if repository.era == Era::Org10 {
            return self.view_issue(located, &IssueFields::default()).await;
        }
        let names = &self.settings.dialects;
        let kinds = [
            related_records::issue_states(names),
            related_records::comments(names),
            related_records::label_ops(names),
        ];
        let [of_state, of_comment, _] = &kinds;
        let uri = issue.record.uri.as_str();
        let known = || self.known_accounts(repository, Some(&issue.author));
        let (states, comments, operations, fresh) = future::join4(
            self.about(of_state, uri, known()),
            self.about(of_comment, uri, known()),
            self.label_ops_about(repository, uri),
            self.fresh_of_viewer(kinds.each_ref(), uri),
        )
        .await;
        let [new_states, new_comments, new_operations] = fresh;
        let said = IssueRecords {
            states: new_states.overlay_found(states),
            comments: new_comments.overlay_found(comments),
            operations: new_operations.overlay_found(operations),
        };
        Ok(self
            .view_issue_with(located, said, &IssueFields::default())
            .await)
    }

    async fn view_issue_with(
        &self,
        located: &LocatedIssue,
        said: IssueRecords,
        fields: &IssueFields,
    ) -> Issue {
        let LocatedIssue {
            repository, issue, ..
        } = located;
        let words = Words::of_issues(&self.settings.dialects);
        let uri = issue.record.uri.as_str();
        let mut warnings = Vec::new();
        let (mut states, mut writers) = (said.states, self.writers(repository).await);
        self.confirm_states(&mut states, &mut writers).await;
        let states = section("the state", states, &mut warnings);
        let comments = said.comments.unwrap_or_else(|e| {
            warnings.push(unread("the comments", &e).of_section("comments"));
            Sourced::default()
        });
        let comments = section("the comments", Ok(comments), &mut warnings);
        let operations = section("the labels", said.operations, &mut warnings);
        warnings.extend(malformed::malformed_warnings(&states, |r| words.broken(r)));
        warnings.extend(malformed::malformed_warnings(&comments, |r| {
            comments::broken(r, self.fields())
        }));
        warnings.extend(malformed::malformed_warnings(&operations, |r| {
            labels::broken(r, self.fields())
        }));
        warnings.extend(repository.doubt());
        warnings.extend(writers.doubt.clone());
        let statuses = status::read_as(words, states, uri, &issue.author, &writers);
        let labels = self.labels_of(repository, uri, operations).await;
        let labelled = labels.unwrap_or_else(|e| {
            warnings.push(unread("the labels", &e));
            Labelled::default()
        });
        let comments = comments::sorted(comments, self.fields());
        let mut beside = IssueFacts {
            statuses,
            comments: comments.len() as u64,
            comment_models: match fields.comments {
                true => Some(self.comment_models(repository, &comments).await),
                false => None,
            },
            warnings,
            ..IssueFacts::default()
        };
        beside.add_labels(labelled);
        self.build_issue(repository, issue, located.number, beside)
            .await
    }

    /// Reads an issue of Tangled 1.0, where all records are in one account.
    async fn view_ticket_issue(&self, located: &LocatedIssue, fields: &IssueFields) -> Issue {
        let LocatedIssue {
            repository, issue, ..
        } = located;
        let relations = fields.relations.then(|| {
            Warning::new("how a ticket of Tangled 1.0 names related issues is not known")
                .of_section("relations")
        });
        let mut beside = self.read_ticket_facts(&issue.record).await;
        beside.warnings.extend(repository.doubt());
        beside.warnings.extend(relations);
        let mut view = self
            .build_issue(repository, issue, located.number, beside)
            .await;
        self.add_ticket_comments(repository, issue, &mut view).await;
        view.comments = view.comments.filter(|_| fields.comments);
        view
    }

    /// Adds the comments to an issue of Tangled 1.0.
    pub(super) async fn add_ticket_comments(
        &self,
        repository: &TangledRepository,
        issue: &Stored,
        view: &mut Issue,
    ) {
        let comments = self.ticket_comments(repository, &issue.record).await;
        let (comments, told) = comments.unwrap_or_else(|e| {
            view.warnings.push(unread("the comments", &e));
            Default::default()
        });
        view.warnings.extend(told);
        let fields = self.fields();
        let broken = malformed::malformed_warnings(&comments, |r| comments::broken(r, fields));
        view.warnings.extend(broken);
        let comments = comments::sorted(comments, fields);
        view.comments_count = comments.len() as u64;
        view.comments = Some(self.comment_models(repository, &comments).await);
    }

    /// Reads the state, labels and assignees that are in the ticket's own record.
    pub(super) async fn read_ticket_facts(&self, ticket: &Record) -> IssueFacts {
        let said = tickets::inline(ticket, &self.settings.dialects);
        IssueFacts {
            state: said.state,
            labels: said.labels,
            assignees: self.actors(&said.assignees).await,
            assigned: said.assignees,
            warnings: said.warnings,
            ..IssueFacts::default()
        }
    }

    pub(super) async fn build_issue(
        &self,
        repository: &TangledRepository,
        issue: &Stored,
        number: Option<u64>,
        mut beside: IssueFacts,
    ) -> Issue {
        beside.warnings.extend(status::doubts(&beside.statuses));
        let decided = status::winner(&beside.statuses);
        let state = beside
            .state
            .or_else(|| decided.and_then(|s| s.state))
            .unwrap_or(PrState::Open);
        let is_open = state == PrState::Open;
        let is_backfilled = decided.is_some_and(|s| s.is_backfilled(&issue.record));
        let decided = decided.map(|s| s.at);
        let id = IssueId {
            repo: repository.id.clone(),
            key: PrKey::Record(issue.record.uri.clone()),
        };
        let author = self.actor(&issue.author).await;
        let mut shown = Issue::new(id, &issue.title, author, issue.created_at);
        shown.node_id.clone_from(&issue.record.uri);
        shown.number = number;
        shown.body.clone_from(&issue.body);
        shown.state = match is_open {
            true => IssueState::Open,
            false => IssueState::Closed,
        };
        shown.labels = beside.labels;
        shown.assignees = beside.assignees;
        shown.updated_at = decided.map_or(issue.created_at, |at| at.max(issue.created_at));
        shown.closed_at = decided.filter(|_| !is_open && !is_backfilled);
        shown.comments_count = beside.comments;
        shown.version = issue.record.cid().to_owned();
        shown.url = match number {
            Some(number) => format!(
                "{}/{}/{}/issues/{number}",
                self.settings.web,
                repository.owner.name(),
                repository.name
            ),
            None => issue.record.uri.clone(),
        };
        shown.comments = beside.comment_models;
        // Issue records do not name the pull requests that close the issue, so the list is empty.
        shown.closing_pulls = Some(Vec::new());
        shown.values = beside.values;
        shown.warnings = beside.warnings;
        shown
    }
}
