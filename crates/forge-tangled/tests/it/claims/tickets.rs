//! Random writes to tickets of Tangled 1.0, both pull requests and issues. Their records are in the
//! account of the repository, which also shows them.

use std::{path::PathBuf, time::Duration};

use forge_core::{
    Error, ErrorKind, Ingestion, Issues as _, PrId, PrKey, Precondition, PullRequests as _, RepoId,
    Reviews as _,
    model::{
        CloseReq, CreatePull, EditPull, IssueId, IssueState, LocalClone, MergeReq, NewIssue,
        PrState, Resubmit, SetChange, SetIssueState,
    },
};
use forge_tangled::Tangled;
use forge_tangled_world::Repository;
use forge_testkit::GitDir;
use serde_json::{Value, json};

use super::{
    Done, Kind, Writes, pulls,
    truth::{ORG_COMMENT, PATCH, Stored, TICKET},
};

/// An existing ticket. A ticket that is an issue has no branch.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub uri: String,
    pub branch: String,
}

#[derive(Clone, Debug)]
pub(super) enum Doing {
    Open {
        branch: String,
        is_labelled: bool,
    },
    Comment(Ticket, String),
    Title(Ticket, String),
    Label(Ticket, bool),
    State(Ticket, IssueState),
    Round(Ticket),
    /// Merges from the clone in this directory.
    Merge(Ticket, PathBuf),
    Issue {
        title: String,
    },
    IssueState(Ticket, IssueState),
}

pub(super) async fn make(process: &Tangled, repo: &RepoId, doing: Doing) -> Result<Done, Error> {
    let pull = |ticket: &Ticket| PrId {
        repo: repo.clone(),
        key: PrKey::Record(ticket.uri.clone()),
    };
    match doing {
        Doing::Open {
            branch,
            is_labelled,
        } => {
            let mut req = CreatePull::new(branch.as_str(), pulls::title(&branch));
            if is_labelled {
                req.labels = vec!["bug".to_owned()];
            }
            process.create(repo, &req).await.map(Done::Pull)
        }
        Doing::Comment(ticket, text) => {
            let said = process.comment(&pull(&ticket), &text, None).await;
            said.map(Done::Comment)
        }
        Doing::Title(ticket, text) => {
            let mut edit = EditPull::default();
            edit.title = Some(text);
            let edited = process.edit(&pull(&ticket), &edit).await;
            edited.map(Done::Pull)
        }
        Doing::Label(ticket, add) => {
            let bug = vec!["bug".to_owned()];
            let (add, remove) = match add {
                true => (bug, Vec::new()),
                false => (Vec::new(), bug),
            };
            let mut edit = EditPull::default();
            edit.labels = SetChange { add, remove };
            let edited = process.edit(&pull(&ticket), &edit).await;
            edited.map(Done::Pull)
        }
        Doing::State(ticket, IssueState::Closed) => {
            let closed = process.close(&pull(&ticket), &CloseReq::default()).await;
            closed.map(Done::Pull)
        }
        Doing::State(ticket, IssueState::Open) => {
            let opened = process.reopen(&pull(&ticket), None).await;
            opened.map(Done::Pull)
        }
        Doing::Round(ticket) => {
            let round = process.resubmit(&pull(&ticket), &Resubmit::default()).await;
            round.map(Done::Pull)
        }
        Doing::Merge(ticket, dir) => {
            let mut req = MergeReq::default();
            let trust = forge_core::Trust::Person;
            req.clone = Some(LocalClone::new(dir, "knot", trust));
            let merged = process.merge(&pull(&ticket), &req).await;
            merged.map(Done::Merge)
        }
        Doing::Issue { title } => {
            let new = NewIssue::new(title, "");
            process.create_issue(repo, &new).await.map(Done::Issue)
        }
        Doing::IssueState(ticket, state) => {
            let id = IssueId {
                repo: repo.clone(),
                key: PrKey::Record(ticket.uri),
            };
            let req = SetIssueState::to(state);
            process.set_issue_state(&id, &req).await.map(Done::Issue)
        }
    }
}

impl Writes {
    /// Labels are learned from existing tickets, so an extra ticket has the label.
    pub(super) fn label_a_ticket(&self) {
        let labelled = json!({
            "title": {"text": "Labelled"}, "state": "open", "targetBranch": "other",
            "tangledLabels": [{"key": "bug"}], "createdAt": "2026-11-01T00:00:00Z",
        });
        let knot = self.stage.world.knot();
        knot.put_record(&self.org.did, TICKET, "3mkuuamwfj322", labelled);
    }

    pub(super) fn choose_of_tickets(&mut self, number: u64, kind: Kind) -> Doing {
        let (pulls, issues) = (self.pull_tickets(), self.issue_tickets());
        let text = format!("Text {number}");
        let state = match self.random.below(3) {
            0 => IssueState::Open,
            _ => IssueState::Closed,
        };
        match kind {
            Kind::Ticket => {
                let is_labelled = self.random.below(2) == 0;
                // Occasionally, the ticket may exist already.
                let branch = match !self.is_planned && self.random.below(3) == 0 {
                    true => self.pick(&pulls).branch,
                    false => format!("b{number}"),
                };
                if self.org.git.oid(&branch).is_none() {
                    pulls::commit(&self.org, &branch);
                }
                Doing::Open {
                    branch,
                    is_labelled,
                }
            }
            Kind::TicketComment => Doing::Comment(self.pick(&pulls), text),
            Kind::TicketTitle => Doing::Title(self.pick(&pulls), text),
            Kind::TicketLabel => Doing::Label(self.pick(&pulls), self.random.below(2) == 0),
            Kind::TicketState => Doing::State(self.pick(&pulls), state),
            Kind::TicketRound => {
                let ticket = self.pick(&pulls);
                if self.random.below(3) > 0 {
                    let file = format!("{}-{number}", ticket.branch);
                    let message = format!("More in {number}.");
                    let file = [(file.as_str(), Some("y\n"))];
                    self.org.git.commit(&ticket.branch, &message, &file);
                }
                Doing::Round(ticket)
            }
            Kind::TicketMerge => {
                let dir = self.clone.path().to_owned();
                Doing::Merge(self.pick(&pulls), dir)
            }
            Kind::TicketIssue => Doing::Issue {
                title: format!("Issue {number}"),
            },
            Kind::TicketIssueState => Doing::IssueState(self.pick(&issues), state),
            other => panic!("{other:?} is nothing of tickets"),
        }
    }

    pub(super) fn claims_of_tickets(&self, at: &str, doing: &Doing, done: &Done) {
        // The knot that stores a record also shows it.
        let (ingestion, unchanged) = done.told();
        if !matches!(doing, Doing::Merge(..)) {
            assert_eq!(*ingestion, Ingestion::Immediate, "{at}");
        }
        match (doing, done) {
            (
                Doing::Open {
                    branch,
                    is_labelled,
                },
                Done::Pull(outcome),
            ) => {
                let (value, uri) = (&outcome.value, &outcome.value.node_id);
                let record = self.ticket(uri);
                assert_eq!(record["title"]["text"], pulls::title(branch), "{at}");
                assert_eq!(value.title, pulls::title(branch), "{at}");
                assert_eq!(record["state"], "open", "{at}");
                assert_eq!(value.state, PrState::Open, "{at}");
                assert_eq!(record["targetBranch"], "main", "{at}");
                assert_eq!(has_bug(&record), *is_labelled, "{at}");
                let tip = self.org.git.oid(branch);
                assert_eq!(value.head_oid, tip, "{at}");
                let rounds = self.rounds(uri);
                let [(_, _, round)] = &rounds[..] else {
                    panic!("{at}: {} rounds", rounds.len());
                };
                assert_eq!(round["head"]["oid"].as_str(), tip.as_deref(), "{at}");
                assert_eq!(round["source"]["branch"], branch.as_str(), "{at}");
            }
            (Doing::Comment(ticket, text), Done::Comment(outcome)) => {
                let said = self.said_in_org(text);
                let [(uri, _, record)] = &said[..] else {
                    panic!("{at}: said {} times", said.len());
                };
                assert_eq!(outcome.value.id, *uri, "{at}");
                assert_eq!(record["subject"]["uri"], ticket.uri.as_str(), "{at}");
            }
            (Doing::Title(ticket, text), Done::Pull(outcome)) => {
                let record = self.ticket(&ticket.uri);
                assert_eq!(record["title"]["text"], text.as_str(), "{at}");
                assert_eq!(&outcome.value.title, text, "{at}");
            }
            (Doing::Label(ticket, add), Done::Pull(outcome)) => {
                let labelled = outcome.value.labels.iter().any(|label| label.name == "bug");
                assert_eq!(labelled, *add, "{at}");
                assert_eq!(has_bug(&self.ticket(&ticket.uri)), *add, "{at}");
            }
            (Doing::State(ticket, state), Done::Pull(outcome)) => {
                assert_eq!(self.ticket(&ticket.uri)["state"], word(*state), "{at}");
                let shown = match state {
                    IssueState::Open => PrState::Open,
                    IssueState::Closed => PrState::Closed,
                };
                assert_eq!(outcome.value.state, shown, "{at}");
            }
            (Doing::Round(ticket), Done::Pull(outcome)) => {
                let tip = self.org.git.oid(&ticket.branch);
                assert_eq!(outcome.value.head_oid, tip, "{at}, unchanged: {unchanged}");
                assert_eq!(self.rounds_of_tip(ticket), 1, "{at}");
            }
            (Doing::Merge(ticket, _), Done::Merge(outcome)) => {
                let log = self.org.git.log("main", "%s");
                let title = pulls::title(&ticket.branch);
                let times = log.lines().filter(|line| *line == title).count();
                assert_eq!(times, 1, "{at}: {log}");
                if !outcome.value.already_merged {
                    let tip = self.org.git.oid("main");
                    assert_eq!(outcome.value.commit, tip, "{at}");
                }
                if outcome.steps.iter().all(|step| step.done) {
                    assert_eq!(*ingestion, Ingestion::Immediate, "{at}");
                    assert_eq!(self.ticket(&ticket.uri)["state"], "merged", "{at}");
                    let shown = outcome.value.pull_request.state;
                    assert_eq!(shown, PrState::Merged, "{at}");
                } else {
                    let none = Ingestion::Pending {
                        uri: None,
                        waited: Duration::ZERO,
                        doubt: None,
                    };
                    assert_eq!(*ingestion, none, "{at}");
                }
            }
            (Doing::Issue { title }, Done::Issue(outcome)) => {
                let titled = self.tickets_titled(title);
                assert_eq!(titled, std::slice::from_ref(&outcome.value.node_id), "{at}");
                assert_eq!(outcome.value.state, IssueState::Open, "{at}");
                let record = self.ticket(&outcome.value.node_id);
                assert_eq!(record["state"], "open", "{at}");
                assert_eq!(record.get("targetBranch"), None, "{at}");
            }
            (Doing::IssueState(ticket, state), Done::Issue(outcome)) => {
                assert_eq!(self.ticket(&ticket.uri)["state"], word(*state), "{at}");
                assert_eq!(outcome.value.state, *state, "{at}");
            }
            _ => panic!("{at}: another answer than was asked for"),
        }
    }

    pub(super) fn refusal_of_tickets(&self, at: &str, actor: usize, doing: &Doing, error: &Error) {
        let changed = match doing {
            Doing::Title(ticket, _) | Doing::Label(ticket, _) => Some(ticket),
            Doing::State(ticket, _) | Doing::IssueState(ticket, _) => Some(ticket),
            Doing::Round(_) | Doing::Comment(..) | Doing::Merge(..) => None,
            Doing::Open { .. } | Doing::Issue { .. } => None,
        };
        if let (ErrorKind::PermissionDenied { .. }, Doing::Round(ticket)) = (error.kind(), doing) {
            // Only the author submits rounds.
            let me = self.people[actor].did.as_str();
            let rounds = self.rounds(&ticket.uri);
            let is_mine = rounds.iter().all(|(_, _, it)| it["x-tngl-editor"] == me);
            assert!(!is_mine, "{at}: {error:?}");
            return;
        }
        match error.kind() {
            ErrorKind::PermissionDenied { .. } => {
                // The last editor may also change the ticket.
                let may = changed.is_none_or(|ticket| {
                    let editor = &self.ticket(&ticket.uri)["x-tngl-editor"];
                    actor < 2 || *editor == self.people[actor].did
                });
                assert!(!may, "{at}: {error:?}");
            }
            ErrorKind::AlreadyExists { existing } => {
                let Doing::Open { branch, .. } = doing else {
                    panic!("{at}: {error:?}");
                };
                let open = self.open_tickets(branch);
                let named = existing
                    .as_deref()
                    .is_some_and(|it| open.iter().any(|o| o == it));
                assert!(named, "{at}: {error:?}");
            }
            ErrorKind::Precondition(Precondition::Closed) => {
                let (Doing::Round(ticket) | Doing::Merge(ticket, _)) = doing else {
                    panic!("{at}: {error:?}");
                };
                assert_eq!(
                    self.ticket(&ticket.uri)["state"],
                    "closed",
                    "{at}: {error:?}"
                );
            }
            ErrorKind::Precondition(Precondition::Merged) => {
                let (Doing::Round(ticket) | Doing::State(ticket, _)) = doing else {
                    panic!("{at}: {error:?}");
                };
                let state = &self.ticket(&ticket.uri)["state"];
                assert_eq!(state, "merged", "{at}: {error:?}");
            }
            ErrorKind::NotFound { .. } | ErrorKind::Unauthenticated { .. } => {
                panic!("{at}: {error:?}")
            }
            _ => {}
        }
    }

    fn org_records(&self, collection: &str) -> Vec<Stored> {
        let knot = self.stage.world.knot();
        knot.records(&self.org.did, collection)
    }

    fn ticket(&self, uri: &str) -> Value {
        let all = self.org_records(TICKET).into_iter();
        let mut found = all.filter(|(it, _, _)| it == uri);
        let found = found.next();
        found.unwrap_or_else(|| panic!("there is no {uri}")).2
    }

    /// Returns the tickets that have a round, with the branch of the first round.
    fn pull_tickets(&self) -> Vec<Ticket> {
        let all = self.org_records(TICKET).into_iter();
        let branch = |uri: &str| {
            let rounds = self.rounds(uri);
            let branch = rounds.first()?.2["source"]["branch"].as_str();
            branch.map(str::to_owned)
        };
        all.filter_map(|(uri, _, _)| {
            let branch = branch(&uri)?;
            Some(Ticket { uri, branch })
        })
        .collect()
    }

    fn issue_tickets(&self) -> Vec<Ticket> {
        let all = self.org_records(TICKET).into_iter();
        let issues = all.filter(|(_, _, value)| value.get("targetBranch").is_none());
        let ticket = |uri| Ticket {
            uri,
            branch: String::new(),
        };
        issues.map(|(uri, _, _)| ticket(uri)).collect()
    }

    fn rounds(&self, uri: &str) -> Vec<Stored> {
        let key = uri.rsplit('/').next();
        let mut all = self.org_records(PATCH);
        all.retain(|(_, _, value)| value["ticket"].as_str() == key);
        all
    }

    /// Counts the rounds of a ticket whose head is the current tip of the branch.
    pub(super) fn rounds_of_tip(&self, ticket: &Ticket) -> usize {
        let tip = self.org.git.oid(&ticket.branch);
        let rounds = self.rounds(&ticket.uri).into_iter();
        rounds
            .filter(|(_, _, value)| value["head"]["oid"].as_str() == tip.as_deref())
            .count()
    }

    /// Returns the at-uris of the open tickets with a round of a branch.
    pub(super) fn open_tickets(&self, branch: &str) -> Vec<String> {
        let mut all = self.pull_tickets();
        all.retain(|it| it.branch == branch && self.ticket(&it.uri)["state"] == "open");
        all.into_iter().map(|it| it.uri).collect()
    }

    pub(super) fn tickets_titled(&self, title: &str) -> Vec<String> {
        let mut all = self.org_records(TICKET);
        all.retain(|(_, _, value)| value["title"]["text"] == title);
        all.into_iter().map(|(uri, _, _)| uri).collect()
    }

    pub(super) fn said_in_org(&self, text: &str) -> Vec<Stored> {
        let mut all = self.org_records(ORG_COMMENT);
        all.retain(|(_, _, value)| value["body"]["text"] == text);
        all
    }
}

/// Creates a clone that pushes to the repository itself.
pub(super) fn clone(org: &Repository) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let clone = GitDir::init(dir.path(), &[]);
    let path = org.path().to_string_lossy().into_owned();
    for args in [
        ["remote", "add", "knot", &path],
        ["config", "--add", "user.name", "Alice"],
        ["config", "--add", "user.email", "alice@example.org"],
    ] {
        clone.run(args).ok();
    }
    dir
}

fn word(state: IssueState) -> &'static str {
    match state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    }
}

fn has_bug(ticket: &Value) -> bool {
    let labels = ticket["tangledLabels"].as_array();
    let mut labels = labels.into_iter().flatten();
    labels.any(|label| label["key"] == "bug")
}
