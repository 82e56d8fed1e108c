//! Random writes to pull requests of 2026, and verification of the results that they report.

use std::{fmt, time::Duration};

use forge_core::{
    Error, ErrorKind, Ingestion, PrId, PrKey, Precondition, PullRequests as _, RepoId,
    Reviews as _,
    model::{
        CloseReq, CommentId, CreatePull, EditPull, FileEdit, MergeReq, PrState, PullRequest,
        Resubmit, SetChange,
    },
};
use forge_tangled::Tangled;
use forge_tangled_world::Repository;

use super::{
    Done, Kind, Writes,
    truth::{LABEL_OP, PULL, STATUS, is_of},
};

const ASSIGNEE: &str = "bob.test";

/// An existing pull request. If it has no source branch, `branch` is the name of its file.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub id: PrId,
    pub uri: String,
    pub branch: String,
    pub has_branch: bool,
    pub author: usize,
}

/// Content of a patch file.
#[derive(Clone)]
pub(super) struct Mail(Vec<u8>);

impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// Source of the changes.
#[derive(Clone, Debug)]
pub(super) enum How {
    Branch,
    /// A branch stacked on another pull request.
    OnTop(PrId),
    Patch(Mail),
    Edits,
}

/// A pull request to open, with the label and an assignee if `is_marked`.
#[derive(Clone, Debug)]
pub(super) struct New {
    pub branch: String,
    pub how: How,
    pub is_marked: bool,
}

impl New {
    pub(super) fn branch(branch: &str) -> Self {
        Self {
            branch: branch.to_owned(),
            how: How::Branch,
            is_marked: false,
        }
    }

    pub(super) fn title(&self) -> String {
        title(&self.branch)
    }

    pub(super) fn has_branch(&self) -> bool {
        matches!(self.how, How::Branch | How::OnTop(_))
    }

    pub(super) fn request(&self) -> CreatePull {
        let mut req = CreatePull::new(self.branch.as_str(), self.title());
        match &self.how {
            How::Branch => {}
            How::OnTop(below) => req.depends_on = Some(below.clone()),
            How::Patch(Mail(bytes)) => {
                req = CreatePull::new("", self.title());
                req.patch = Some(bytes.clone());
            }
            How::Edits => {
                req = CreatePull::new("", self.title());
                req.edits = vec![FileEdit::write(self.branch.as_str(), "x\n")];
            }
        }
        if self.is_marked {
            req.labels = vec!["bug".to_owned()];
            req.assignees = vec![ASSIGNEE.to_owned()];
        }
        req
    }
}

#[derive(Clone, Debug)]
pub(super) enum Doing {
    Create(New),
    Comment(Made, String),
    /// Deletes the comment with this at-uri.
    DeleteComment(Made, String),
    Title(Made, String),
    Label(Made, bool),
    Assign(Made, bool),
    Close(Made),
    Reopen(Made),
    Resubmit(Made),
    Merge(Made),
}

pub(super) fn title(branch: &str) -> String {
    format!("Add {branch}.")
}

/// Commits to a branch a file named after the branch.
pub(super) fn commit(repo: &Repository, branch: &str) {
    let file = [(branch, Some("x\n"))];
    repo.git.commit(branch, &title(branch), &file);
}

pub(super) async fn make(process: &Tangled, repo: &RepoId, doing: Doing) -> Result<Done, Error> {
    let change = |name: &str, add| {
        let names = vec![name.to_owned()];
        let (add, remove) = match add {
            true => (names, Vec::new()),
            false => (Vec::new(), names),
        };
        SetChange { add, remove }
    };
    let (made, edit) = match doing {
        Doing::Create(new) => {
            let made = process.create(repo, &new.request()).await;
            return made.map(Done::Pull);
        }
        Doing::Comment(made, text) => {
            let said = process.comment(&made.id, &text, None).await;
            return said.map(Done::Comment);
        }
        Doing::DeleteComment(made, key) => {
            let comment = CommentId { pr: made.id, key };
            let deleted = process.delete_comment(&comment).await;
            return deleted.map(Done::Deletion);
        }
        Doing::Close(made) => {
            let closed = process.close(&made.id, &CloseReq::default()).await;
            return closed.map(Done::Pull);
        }
        Doing::Reopen(made) => return process.reopen(&made.id, None).await.map(Done::Pull),
        Doing::Resubmit(made) => {
            let round = process.resubmit(&made.id, &Resubmit::default()).await;
            return round.map(Done::Pull);
        }
        Doing::Merge(made) => {
            let merged = process.merge(&made.id, &MergeReq::default()).await;
            return merged.map(Done::Merge);
        }
        Doing::Title(made, text) => {
            let mut edit = EditPull::default();
            edit.title = Some(text);
            (made, edit)
        }
        Doing::Label(made, add) => {
            let mut edit = EditPull::default();
            edit.labels = change("bug", add);
            (made, edit)
        }
        Doing::Assign(made, add) => {
            let mut edit = EditPull::default();
            edit.assignees = change(ASSIGNEE, add);
            (made, edit)
        }
    };
    process.edit(&made.id, &edit).await.map(Done::Pull)
}

impl Writes {
    pub(super) fn choose_of_pulls(&mut self, number: u64, kind: Kind) -> Doing {
        let all = self.pulls.clone();
        let text = format!("Text {number}");
        match kind {
            Kind::Create | Kind::Patch | Kind::Edits => {
                Doing::Create(self.choose_new(number, kind))
            }
            Kind::Comment => Doing::Comment(self.pick(&all), text),
            Kind::Title => Doing::Title(self.pick(&all), text),
            Kind::Label => Doing::Label(self.pick(&all), self.random.below(2) == 0),
            Kind::Assign => Doing::Assign(self.pick(&all), self.random.below(2) == 0),
            Kind::Close => Doing::Close(self.pick(&all)),
            Kind::Reopen => Doing::Reopen(self.pick(&all)),
            Kind::Merge => Doing::Merge(self.pick(&all)),
            Kind::Resubmit => {
                let of_branches: Vec<_> = all.into_iter().filter(|made| made.has_branch).collect();
                let made = self.pick(&of_branches);
                if self.random.below(3) > 0 {
                    let file = format!("{}-{number}", made.branch);
                    let message = format!("More in {number}.");
                    let git = &self.stage.repo.git;
                    git.commit(&made.branch, &message, &[(&file, Some("y\n"))]);
                }
                Doing::Resubmit(made)
            }
            other => panic!("{other:?} is nothing of pull requests"),
        }
    }

    /// Returns a comment that the index shows, usually by the account that is to delete it.
    pub(super) async fn comment_to_delete(&mut self, number: u64, actor: usize) -> Doing {
        let author = match self.random.below(4) {
            0 => usize::try_from(self.random.below(3)).unwrap(),
            _ => actor,
        };
        let all = self.pulls.clone();
        let (made, text) = (self.pick(&all), format!("Text {number}"));
        self.catch_up();
        let process = self.process(author, Duration::ZERO);
        let said = process.comment(&made.id, &text, None).await.unwrap();
        // The double ingests when queried, so it is queried now: a later mood may be slower.
        let _ = self.stage.world.index().knows(&said.value.id);
        Doing::DeleteComment(made, said.value.id)
    }

    fn choose_new(&mut self, number: u64, kind: Kind) -> New {
        let mut new = New::branch(&format!("b{number}"));
        new.is_marked = self.random.below(3) == 0;
        match kind {
            Kind::Edits => new.how = How::Edits,
            Kind::Patch => {
                commit(&self.stage.repo, &new.branch);
                let range = format!("main..{}", new.branch);
                let git = &self.stage.repo.git;
                let mail = git.run(["format-patch", "--stdout", &range]).output();
                new.how = How::Patch(Mail(mail.stdout));
            }
            // Occasionally, the pull request may exist already.
            _ if !self.is_planned && self.random.below(3) == 0 => {
                let of_branches: Vec<_> =
                    self.pulls.iter().filter(|made| made.has_branch).collect();
                new.branch
                    .clone_from(&self.random.pick(&of_branches).branch);
            }
            _ => commit(&self.stage.repo, &new.branch),
        }
        new
    }

    pub(super) fn claims_of_pulls(&mut self, at: &str, actor: usize, doing: &Doing, done: &Done) {
        let open_or_closed = |closes| match closes {
            true => PrState::Closed,
            false => PrState::Open,
        };
        match (doing, done) {
            (Doing::Create(new), Done::Pull(outcome)) => {
                self.claims_of_creation(at, actor, new, outcome);
            }
            (Doing::Title(made, text), Done::Pull(outcome)) => {
                self.claim(at, made, &outcome.value);
                assert_eq!(&outcome.value.title, text, "{at}");
                let cid = Some(outcome.value.version.as_str());
                self.seen(at, &outcome.ingestion, &[(&made.uri, cid)]);
            }
            (Doing::Resubmit(made), Done::Pull(outcome)) => {
                self.claim(at, made, &outcome.value);
                let tip = self.stage.repo.git.oid(&made.branch);
                assert_eq!(outcome.value.head_oid, tip, "{at}");
                let cid = Some(outcome.value.version.as_str());
                self.seen(at, &outcome.ingestion, &[(&made.uri, cid)]);
            }
            (Doing::Close(made) | Doing::Reopen(made), Done::Pull(outcome)) => {
                self.claim(at, made, &outcome.value);
                let wanted = open_or_closed(matches!(doing, Doing::Close(_)));
                assert!(self.states(made).contains(&wanted), "{at}");
                if !outcome.unchanged {
                    assert_eq!(self.state(made), wanted, "{at}");
                    let written = self.newest(STATUS, &made.uri, "/pull", actor);
                    self.seen(at, &outcome.ingestion, &[(&written, None)]);
                }
            }
            (Doing::Label(made, add) | Doing::Assign(made, add), Done::Pull(outcome)) => {
                self.claim(at, made, &outcome.value);
                let is = match doing {
                    Doing::Label(..) => self.is_labelled(&made.uri),
                    _ => self.is_assigned(&made.uri),
                };
                assert_eq!(is, *add, "{at}");
                let written = self.newest(LABEL_OP, &made.uri, "/subject", actor);
                self.seen(at, &outcome.ingestion, &[(&written, None)]);
            }
            (Doing::Comment(made, text), Done::Comment(outcome)) => {
                let (_, record) = self.stage.world.pds().record(&outcome.value.id).unwrap();
                assert_eq!(record["body"]["text"], text.as_str(), "{at}");
                assert_eq!(record["subject"]["uri"], made.uri.as_str(), "{at}");
                self.seen(at, &outcome.ingestion, &[(&outcome.value.id, None)]);
            }
            (Doing::DeleteComment(_, uri), Done::Deletion(outcome)) => {
                self.unseen(at, &outcome.ingestion, uri);
            }
            (Doing::Merge(made), Done::Merge(outcome)) => {
                assert_eq!(self.times_on_main(&made.branch), 1, "{at}");
                let recorded = outcome.steps.iter().all(|step| step.done);
                let told = |part: &str| outcome.warnings.iter().any(|w| w.message.contains(part));
                if !recorded && told("it is unknown whether that is recorded") {
                    return;
                }
                self.claim(at, made, &outcome.value.pull_request);
                let state = match recorded {
                    true => PrState::Merged,
                    false => PrState::Open,
                };
                assert!(self.states(made).contains(&state), "{at}: {outcome:?}");
                if !outcome.value.already_merged {
                    let tip = self.stage.repo.git.oid("main");
                    assert_eq!(outcome.value.commit, tip, "{at}");
                }
                if !recorded {
                    let none = Ingestion::Pending {
                        uri: None,
                        waited: Duration::ZERO,
                        doubt: None,
                    };
                    assert_eq!(outcome.ingestion, none, "{at}");
                } else if !outcome.unchanged {
                    let written = self.newest(STATUS, &made.uri, "/pull", actor);
                    self.seen(at, &outcome.ingestion, &[(&written, None)]);
                }
            }
            _ => panic!("{at}: another answer than was asked for"),
        }
    }

    fn claims_of_creation(
        &mut self,
        at: &str,
        actor: usize,
        new: &New,
        outcome: &forge_core::Outcome<PullRequest>,
    ) {
        let uri = outcome.value.node_id.clone();
        let made = self.made(uri, &new.branch, new.has_branch(), actor);
        if !self.pulls.iter().any(|known| known.uri == made.uri) {
            self.pulls.push(made.clone());
        }
        self.claim(at, &made, &outcome.value);
        assert_eq!(outcome.value.title, new.title(), "{at}");
        let record = self.stage.world.pds().record(&made.uri).unwrap().1;
        match new.has_branch() {
            true => assert_eq!(record["source"]["branch"], new.branch.as_str(), "{at}"),
            false => assert_eq!(record.get("source"), None, "{at}"),
        }
        match &new.how {
            How::OnTop(below) => {
                assert_eq!(record["dependentOn"], below.key.to_string(), "{at}");
            }
            _ => assert_eq!(record.get("dependentOn"), None, "{at}"),
        }
        if !matches!(new.how, How::Edits) {
            let tip = self.stage.repo.git.oid(&new.branch);
            assert_eq!(outcome.value.head_oid, tip, "{at}");
        }
        let mut written = vec![(made.uri.as_str(), Some(outcome.value.version.as_str()))];
        let marks = match new.is_marked {
            true => Some(self.newest(LABEL_OP, &made.uri, "/subject", actor)),
            false => None,
        };
        written.extend(marks.as_deref().map(|uri| (uri, None)));
        assert_eq!(self.is_labelled(&made.uri), new.is_marked, "{at}");
        assert_eq!(self.is_assigned(&made.uri), new.is_marked, "{at}");
        self.seen(at, &outcome.ingestion, &written);
    }

    /// Compares a returned pull request with its records.
    fn claim(&self, at: &str, made: &Made, value: &PullRequest) {
        let (cid, record) = self.stage.world.pds().record(&made.uri).unwrap();
        assert_eq!(value.version, cid, "{at}");
        assert_eq!(record["title"], value.title.as_str(), "{at}");
        assert!(self.states(made).contains(&value.state), "{at}: {value:?}");
        let labelled = value.labels.iter().any(|label| label.name == "bug");
        let in_views = self.is_labelled_in_views(&made.uri);
        assert!(in_views.contains(&labelled), "{at}: {value:?}");
        let assigned = value.assignees.iter().any(|who| who.login == ASSIGNEE);
        let in_views = self.is_assigned_in_views(&made.uri);
        assert!(in_views.contains(&assigned), "{at}: {value:?}");
        assert_eq!(value.author.login, self.people[made.author].handle, "{at}");
    }

    pub(super) fn refusal_of_pulls(&self, at: &str, actor: usize, doing: &Doing, error: &Error) {
        let made = match doing {
            Doing::Create(new) => return self.refusal_of_creation(at, actor, new, error),
            Doing::Comment(made, _) | Doing::Title(made, _) => made,
            Doing::DeleteComment(made, _) => made,
            Doing::Label(made, _) | Doing::Assign(made, _) => made,
            Doing::Close(made) | Doing::Reopen(made) => made,
            Doing::Resubmit(made) | Doing::Merge(made) => made,
        };
        match error.kind() {
            ErrorKind::PermissionDenied { .. } => {
                let (wrote, pushes) = (actor == made.author, self.may_push(actor));
                let may = match doing {
                    Doing::Title(..) | Doing::Resubmit(..) => wrote,
                    Doing::Close(..) | Doing::Reopen(..) => pushes || wrote,
                    Doing::Label(..) | Doing::Assign(..) | Doing::Merge(..) => pushes,
                    Doing::DeleteComment(_, uri) => is_of(uri, &self.people[actor].did),
                    Doing::Comment(..) | Doing::Create(..) => true,
                };
                assert!(!may, "{at}: {error:?}");
            }
            ErrorKind::Precondition(Precondition::Merged) => {
                let states = self.states(made);
                assert!(states.contains(&PrState::Merged), "{at}: {error:?}");
            }
            ErrorKind::Precondition(Precondition::Closed) => {
                let states = self.states(made);
                assert!(states.contains(&PrState::Closed), "{at}: {error:?}");
            }
            ErrorKind::NotFound { .. } | ErrorKind::Unauthenticated { .. } => {
                // The killed command may already have deleted the comment.
                let is_gone = error.is_not_found()
                    && matches!(doing, Doing::DeleteComment(_, uri) if self.is_gone(uri));
                assert!(is_gone, "{at}: {error:?}");
            }
            _ => {}
        }
    }

    fn refusal_of_creation(&self, at: &str, actor: usize, new: &New, error: &Error) {
        match error.kind() {
            ErrorKind::AlreadyExists { existing } => {
                let named = existing.as_deref().expect("it names the other");
                let (_, record) = self.stage.world.pds().record(named).unwrap();
                let is_twin = match &new.how {
                    How::OnTop(below) if record["dependentOn"] == below.key.to_string() => true,
                    How::Branch | How::OnTop(_) => record["source"]["branch"] == new.branch,
                    How::Patch(_) | How::Edits => record["title"] == new.title(),
                };
                assert!(is_twin, "{at}: {error:?}");
                let open = |made: &Made| self.states(made).contains(&PrState::Open);
                let known = self.pulls.iter().find(|made| made.uri == named);
                let builds = matches!(new.how, How::OnTop(_));
                assert!(builds || known.is_none_or(open), "{at}: {error:?}");
            }
            ErrorKind::PermissionDenied { .. } => {
                let may = !new.is_marked || self.may_push(actor);
                assert!(!may, "{at}: {error:?}");
            }
            ErrorKind::Unauthenticated { .. } => panic!("{at}: {error:?}"),
            _ => {}
        }
    }

    /// Returns the account's open pull requests of the same branch or, without a branch, of the
    /// same title.
    pub(super) fn open_pulls(&self, actor: usize, new: &New) -> Vec<Made> {
        let own = self
            .stage
            .world
            .pds()
            .records(&self.people[actor].did, PULL);
        let same = own.into_iter().filter_map(|(uri, _, value)| {
            let same = match new.has_branch() {
                true => value["source"]["branch"] == new.branch,
                false => value.get("source").is_none() && value["title"] == new.title(),
            };
            same.then(|| self.made(uri, &new.branch, new.has_branch(), actor))
        });
        same.filter(|made| self.state(made) == PrState::Open)
            .collect()
    }

    pub(super) fn pull_id(&self, uri: &str) -> PrId {
        PrId {
            repo: self.stage.id(),
            key: PrKey::Record(uri.to_owned()),
        }
    }

    fn made(&self, uri: String, branch: &str, has_branch: bool, author: usize) -> Made {
        Made {
            id: self.pull_id(&uri),
            uri,
            branch: branch.to_owned(),
            has_branch,
            author,
        }
    }

    pub(super) fn learn_pulls(&mut self) {
        for author in 0..self.people.len() {
            let did = &self.people[author].did;
            for (uri, _, value) in self.stage.world.pds().records(did, PULL) {
                if self.pulls.iter().any(|known| known.uri == uri) {
                    continue;
                }
                let branch = value["source"]["branch"].as_str();
                let title = value["title"].as_str().unwrap();
                let of_title = title.trim_start_matches("Add ").trim_end_matches('.');
                let name = branch.unwrap_or(of_title);
                let made = self.made(uri, name, branch.is_some(), author);
                self.pulls.push(made);
            }
        }
    }
}
