//! Random writes to issues of 2026, and verification of the results that they report.

use forge_core::{
    Error, ErrorKind, Issues as _, PrKey, RepoId,
    model::{EditIssue, Issue, IssueId, IssueState, NewIssue, SetIssueState},
};
use forge_tangled::Tangled;

use super::{
    Done, Kind, Writes,
    truth::{ISSUE, ISSUE_STATE, LABEL_OP},
};

/// An existing issue.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub id: IssueId,
    pub uri: String,
    pub author: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Doing {
    /// Opens an issue, with the label and an assignee if `is_marked`.
    Open {
        title: String,
        is_marked: bool,
    },
    Comment(Made, String),
    Title(Made, String),
    State(Made, IssueState),
}

pub(super) async fn make(process: &Tangled, repo: &RepoId, doing: Doing) -> Result<Done, Error> {
    match doing {
        Doing::Open { title, is_marked } => {
            let mut new = NewIssue::new(title, "");
            if is_marked {
                new.labels = vec!["bug".to_owned()];
                new.assignees = vec!["bob.test".to_owned()];
            }
            process.create_issue(repo, &new).await.map(Done::Issue)
        }
        Doing::Comment(made, text) => {
            let said = process.create_issue_comment(&made.id, &text).await;
            said.map(Done::Comment)
        }
        Doing::Title(made, text) => {
            let mut edit = EditIssue::default();
            edit.title = Some(text);
            process.edit_issue(&made.id, &edit).await.map(Done::Issue)
        }
        Doing::State(made, state) => {
            let req = SetIssueState::to(state);
            let set = process.set_issue_state(&made.id, &req).await;
            set.map(Done::Issue)
        }
    }
}

impl Writes {
    pub(super) fn choose_of_issues(&mut self, number: u64, kind: Kind) -> Doing {
        let all = self.issues.clone();
        match kind {
            Kind::Issue => Doing::Open {
                title: format!("Issue {number}"),
                is_marked: self.random.below(2) == 0,
            },
            Kind::IssueComment => Doing::Comment(self.pick(&all), format!("Text {number}")),
            Kind::IssueTitle => Doing::Title(self.pick(&all), format!("Title {number}")),
            Kind::IssueState => {
                let state = match self.random.below(3) {
                    0 => IssueState::Open,
                    _ => IssueState::Closed,
                };
                Doing::State(self.pick(&all), state)
            }
            other => panic!("{other:?} is nothing of issues"),
        }
    }

    pub(super) fn claims_of_issues(&mut self, at: &str, actor: usize, doing: &Doing, done: &Done) {
        match (doing, done) {
            (Doing::Open { title, is_marked }, Done::Issue(outcome)) => {
                let made = self.issue(outcome.value.node_id.clone(), actor);
                self.issues.push(made.clone());
                self.claim_of_issue(at, &made, &outcome.value);
                assert_eq!(&outcome.value.title, title, "{at}");
                let (_, record) = self.stage.world.pds().record(&made.uri).unwrap();
                assert_eq!(record["repo"], self.stage.repo.did, "{at}");
                let mut written = vec![(made.uri.as_str(), None)];
                let marks = match is_marked {
                    true => Some(self.newest(LABEL_OP, &made.uri, "/subject", actor)),
                    false => None,
                };
                written.extend(marks.as_deref().map(|uri| (uri, None)));
                assert_eq!(self.is_labelled(&made.uri), *is_marked, "{at}");
                assert_eq!(self.is_assigned(&made.uri), *is_marked, "{at}");
                self.seen(at, &outcome.ingestion, &written);
            }
            (Doing::Comment(made, text), Done::Comment(outcome)) => {
                let (_, record) = self.stage.world.pds().record(&outcome.value.id).unwrap();
                assert_eq!(record["body"]["text"], text.as_str(), "{at}");
                assert_eq!(record["subject"]["uri"], made.uri.as_str(), "{at}");
                self.seen(at, &outcome.ingestion, &[(&outcome.value.id, None)]);
            }
            (Doing::Title(made, text), Done::Issue(outcome)) => {
                self.claim_of_issue(at, made, &outcome.value);
                assert_eq!(&outcome.value.title, text, "{at}");
                self.seen(at, &outcome.ingestion, &[(&made.uri, None)]);
            }
            (Doing::State(made, state), Done::Issue(outcome)) => {
                self.claim_of_issue(at, made, &outcome.value);
                assert!(self.issue_states(made).contains(state), "{at}");
                if !outcome.unchanged {
                    assert_eq!(self.issue_state(made), *state, "{at}");
                    let written = self.newest(ISSUE_STATE, &made.uri, "/issue", actor);
                    self.seen(at, &outcome.ingestion, &[(&written, None)]);
                }
            }
            _ => panic!("{at}: another answer than was asked for"),
        }
    }

    /// Compares a returned issue with its record and state.
    fn claim_of_issue(&self, at: &str, made: &Made, value: &Issue) {
        let (_, record) = self.stage.world.pds().record(&made.uri).unwrap();
        assert_eq!(record["title"], value.title.as_str(), "{at}");
        let states = self.issue_states(made);
        assert!(states.contains(&value.state), "{at}: {value:?}");
        assert_eq!(value.author.login, self.people[made.author].handle, "{at}");
        let mut warnings = value.warnings.iter();
        // With this warning, the answer does not claim to list all comments.
        if warnings.any(|warning| warning.message.contains("could not be read")) {
            return;
        }
        let labelled = value.labels.iter().any(|label| label.name == "bug");
        let in_views = self.is_labelled_in_views(&made.uri);
        assert!(in_views.contains(&labelled), "{at}: {value:?}");
        let assigned = value.assignees.iter().any(|who| who.login == "bob.test");
        let in_views = self.is_assigned_in_views(&made.uri);
        assert!(in_views.contains(&assigned), "{at}: {value:?}");
    }

    pub(super) fn refusal_of_issues(&self, at: &str, actor: usize, doing: &Doing, error: &Error) {
        match error.kind() {
            ErrorKind::PermissionDenied { .. } => {
                let pushes = self.may_push(actor);
                let may = match doing {
                    Doing::Open { is_marked, .. } => !is_marked || pushes,
                    Doing::Comment(..) => true,
                    Doing::Title(made, _) => actor == made.author,
                    Doing::State(made, _) => pushes || actor == made.author,
                };
                assert!(!may, "{at}: {error:?}");
            }
            ErrorKind::NotFound { .. }
            | ErrorKind::Unauthenticated { .. }
            | ErrorKind::AlreadyExists { .. }
            | ErrorKind::Precondition(_) => panic!("{at}: {error:?}"),
            _ => {}
        }
    }

    pub(super) fn issues_titled(&self, title: &str) -> Vec<String> {
        let all = self.records(ISSUE, title, "/title").into_iter();
        all.map(|(uri, _, _)| uri).collect()
    }

    fn issue(&self, uri: String, author: usize) -> Made {
        Made {
            id: IssueId {
                repo: self.stage.id(),
                key: PrKey::Record(uri.clone()),
            },
            uri,
            author,
        }
    }

    pub(super) fn learn_issues(&mut self) {
        for author in 0..self.people.len() {
            let did = &self.people[author].did;
            for (uri, _, _) in self.stage.world.pds().records(did, ISSUE) {
                if !self.issues.iter().any(|known| known.uri == uri) {
                    let made = self.issue(uri, author);
                    self.issues.push(made);
                }
            }
        }
    }
}
