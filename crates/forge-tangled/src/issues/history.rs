//! History of an issue: states, label changes and comments.

use std::collections::BTreeMap;

use forge_core::{
    Page, PageReq, Result, Timestamp, Warning,
    model::{Actor, IssueId, PrState, StatusEvent, StatusEventKind},
    text::{one_line, truncate_chars},
};
use futures::future;

use super::{record::Stored, view::LocatedIssue};
use crate::{
    Era, Tangled, comments,
    labels::{self, Definitions, Operand},
    malformed, page,
    pulls::{
        history::{detail, kind},
        status::{self, Authority, Status, Words, Writers},
        view::section,
    },
    records::Record,
    related_records, tid,
};

/// Maximum number of label changes that the text of one event lists.
const MAX_NAMED: usize = 20;
/// Maximum length of a label change in the text of an event, in characters.
const MAX_VALUE: usize = 100;

/// The label changes of one record, by the suffix of their event's id. The value is the kind of the
/// event, and one text for each change.
type Changed = BTreeMap<&'static str, (StatusEventKind, Vec<String>)>;

impl Tangled {
    /// See [`forge_core::Issues::issue_history`].
    pub(super) async fn history_of_issue(
        &self,
        id: &IssueId,
        req: PageReq,
    ) -> Result<Page<StatusEvent>> {
        let located = self.locate_issue(id).await?;
        let (repository, issue) = (&located.repository, &located.issue);
        let uri = issue.record.uri.as_str();
        let author = Actor::new(&issue.author);
        let mut opened = StatusEvent::new(uri, StatusEventKind::Opened, author, issue.created_at);
        opened.authority = Some(Authority::Author.word().to_owned());
        let mut events = vec![opened];
        // A ticket (an issue of Tangled 1.0) has its current state but no state history.
        let mut warnings = match repository.era {
            Era::Org10 => vec![Warning::new(
                "a ticket of Tangled 1.0 does not record the times of its changes",
            )],
            Era::Sh2025 | Era::Sh2026 => self.add_events(&located, &mut events).await,
        };
        warnings.extend(repository.doubt());
        events.sort_by(|a, b| {
            let key = |id: &str| id.rsplit('/').next().unwrap_or_default().to_owned();
            let by_time = a.created_at.cmp(&b.created_at);
            by_time.then_with(|| key(&a.id).cmp(&key(&b.id)))
        });
        let mut page = page::of("tangled-issue-history", uri, events, &req)?;
        // Any account can write events, so only the authors of the shown events are looked up.
        let authors = page.items.iter().map(|event| event.actor.login.clone());
        let authors: Vec<String> = authors.collect();
        let actors = self.actors(&authors).await;
        for (event, actor) in page.items.iter_mut().zip(actors) {
            event.actor = actor;
        }
        page.warnings = warnings;
        Ok(page)
    }

    /// Adds the events from the records of all accounts. Returns warnings about records that could
    /// not be read.
    async fn add_events(
        &self,
        located: &LocatedIssue,
        events: &mut Vec<StatusEvent>,
    ) -> Vec<Warning> {
        let (repository, issue) = (&located.repository, &located.issue);
        let names = &self.settings.dialects;
        let uri = issue.record.uri.as_str();
        let accounts = || self.known_accounts(repository, Some(&issue.author));
        let kinds = [
            related_records::issue_states(names),
            related_records::comments(names),
        ];
        let [states, comments] = &kinds;
        let (mut states, operations, comments, mut writers) = future::join4(
            self.about(states, uri, accounts()),
            self.label_ops_about(repository, uri),
            self.about(comments, uri, accounts()),
            self.writers(repository),
        )
        .await;
        self.confirm_states(&mut states, &mut writers).await;
        let mut warnings = Vec::new();
        warnings.extend(writers.doubt.clone());
        let (words, fields) = (Words::of_issues(names), self.fields());
        let states = section("the states", states, &mut warnings);
        let operations = section("the labels", operations, &mut warnings);
        let comments = section("the comments", comments, &mut warnings);
        warnings.extend(malformed::malformed_warnings(&states, |r| words.broken(r)));
        warnings.extend(malformed::malformed_warnings(&operations, |r| {
            labels::broken(r, fields)
        }));
        warnings.extend(malformed::malformed_warnings(&comments, |r| {
            comments::broken(r, fields)
        }));
        let states = status::read_as(words, states, uri, &issue.author, &writers);
        add_state_events(states, issue, events);
        let definitions = self.definitions(repository).await;
        let definitions = definitions.unwrap_or_else(|e| {
            warnings.push(crate::pulls::view::unread("the labels", &e));
            Default::default()
        });
        let mut of_labels: Vec<&Record> = operations
            .iter()
            .filter(|r| r.text(&fields.op_subject) == Some(uri))
            .collect();
        of_labels.sort_by(|a, b| a.uri.cmp(&b.uri));
        of_labels.dedup_by(|a, b| a.uri == b.uri);
        for record in of_labels {
            self.add_label_events(record, &definitions, &writers, events)
                .await;
        }
        for record in comments::sorted(comments, fields) {
            let authority = writers.authority(record.author(), &issue.author);
            let actor = Actor::new(record.author());
            let at = record
                .created_at(&fields.created_at)
                .unwrap_or(issue.created_at);
            let mut event = StatusEvent::new(record.uri, StatusEventKind::Commented, actor, at);
            event.authority = Some(authority.map_or("none", Authority::word).to_owned());
            events.push(event);
        }
        warnings
    }

    /// Adds the events of one record with label changes. The changes of labels, of assignees, and
    /// of fields and relations are one event each.
    async fn add_label_events(
        &self,
        record: &Record,
        definitions: &Definitions,
        writers: &Writers,
        events: &mut Vec<StatusEvent>,
    ) {
        let fields = self.fields();
        let Some(said) = record.created_at(&fields.op_at) else {
            return;
        };
        let at = match said.unix() > Timestamp::now().unix() {
            true => tid::time(record.rkey()).unwrap_or(said),
            false => said,
        };
        let counts = writers.may_write(record.author());
        let mut changed = Changed::new();
        for (sign, list) in [('-', &fields.op_delete), ('+', &fields.op_add)] {
            for operand in labels::operands(record, list, fields) {
                self.add_change(sign, &operand, definitions, counts, &mut changed)
                    .await;
            }
        }
        let authority = writers.authority(record.author(), "").map(Authority::word);
        for (suffix, (kind, mut words)) in changed {
            if let Some(more) = words.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
                words.truncate(MAX_NAMED);
                words.push(format!("and {more} more"));
            }
            let mut detail = words.join(", ");
            if authority.is_none() {
                detail.push_str("; does not count: the account may not push");
            }
            let id = match suffix {
                "" => record.uri.clone(),
                suffix => format!("{}#{suffix}", record.uri),
            };
            let mut event = StatusEvent::new(id, kind, Actor::new(record.author()), at);
            event.authority = Some(authority.unwrap_or("none").to_owned());
            event.detail = Some(detail);
            events.push(event);
        }
    }

    async fn add_change(
        &self,
        sign: char,
        operand: &Operand,
        definitions: &Definitions,
        counts: bool,
        changed: &mut Changed,
    ) {
        let definition = definitions.iter().find(|d| d.uri == operand.key);
        let (suffix, kind) = match definition {
            Some(d) if d.is_assignee() => ("assignees", StatusEventKind::Assigned),
            Some(d) if d.is_field() || d.relation().is_some() => {
                ("fields", StatusEventKind::Related)
            }
            _ => ("", StatusEventKind::Labeled),
        };
        let (_, words) = changed.entry(suffix).or_insert((kind, Vec::new()));
        let name = match definition {
            // Changes above the maximum are only counted, so their names are not looked up.
            _ if words.len() >= MAX_NAMED => String::new(),
            Some(d) if d.is_assignee() && counts => {
                format!("@{}", self.actor(&operand.value).await.login)
            }
            Some(d) if operand.value == "null" || operand.value.is_empty() => d.name.clone(),
            Some(d) => format!("{}:{}", d.name, operand.value),
            None => operand.key.clone(),
        };
        let (name, _) = truncate_chars(&name, MAX_VALUE);
        words.push(format!("{sign}{}", one_line(&name)));
    }
}

fn add_state_events(states: Vec<Status>, issue: &Stored, events: &mut Vec<StatusEvent>) {
    let mut before = PrState::Open;
    for state in states {
        let kind = kind(&state, &mut before);
        let mut event = StatusEvent::new(&state.uri, kind, Actor::new(&state.author), state.at);
        event.authority = Some(state.authority.map_or("none", Authority::word).to_owned());
        let is_backfilled = state.is_backfilled(&issue.record);
        event.detail = detail(&state, kind, is_backfilled);
        events.push(event);
    }
}
