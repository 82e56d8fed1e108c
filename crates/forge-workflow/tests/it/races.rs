//! Concurrent moves of one issue on a forge without compare-and-swap.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use forge_core::{
    Repo, Result,
    model::{EditIssue, Issue, IssueFields, IssueId, IssueState},
};
use forge_github_double::ALL_SCOPES;
use forge_workflow::{
    ClaimGuarantee, ClaimRequest, CommentLedger, Definition, IssueTrail, LabelStore, Ledger,
    MoveRequest, PickRequest, Store, TrailEntry, TrailEvent, TrailSwap, Workflow,
};

use crate::{
    hub::{Hub, REPO, fields, handle},
    local::Stage,
};

/// The other writer's action between read and write.
#[derive(Clone, Copy, Debug)]
enum Other {
    Moves(&'static str),
    /// Moves the issue even before the first read.
    MovesFirst(&'static str),
    Claims,
    /// Has written a claim and not yet moved the issue.
    Enters,
    /// Writes only a claim, after a stranger has repeated the entry of the move.
    EntersAfterCopy,
    /// Writes only a claim, after a stranger has deleted every comment by that stranger.
    EntersAfterDeletion,
}

#[derive(Debug)]
struct Overtaken {
    inner: CommentLedger,
    other: Arc<Workflow>,
    stranger: Repo,
    does: Mutex<Option<Other>>,
}

impl Overtaken {
    async fn act(&self, sheet: &IssueTrail, entry: &TrailEntry) {
        let id = &sheet.issue.id;
        let does = self.does.lock().unwrap().take();
        match does {
            Some(Other::EntersAfterCopy) => {
                let copy = entry.to_comment();
                drop(self.stranger.create_issue_comment(id, &copy).await.unwrap());
            }
            Some(Other::EntersAfterDeletion) => {
                for comment in sheet.issue.comments.iter().flatten() {
                    let gone = self.stranger.delete_issue_comment(id, &comment.id);
                    drop(gone.await.unwrap());
                }
            }
            _ => {}
        }
        match does {
            Some(Other::Moves(to)) => {
                drop(self.other.set_state(id, &review(to)).await.unwrap());
            }
            Some(Other::Claims) => drop(self.other.claim(id, &IMPL).await.unwrap()),
            Some(Other::Enters | Other::EntersAfterCopy | Other::EntersAfterDeletion) => {
                let ledger = CommentLedger::new(self.other.repo().clone(), None);
                let sheet = ledger.read(id).await.unwrap();
                let event = TrailEvent::Claimed {
                    holder: "grace".to_owned(),
                    lease_s: 600,
                    command: "impl".to_owned(),
                    from: None,
                    renewed: None,
                    renewing: None,
                    over: None,
                    forced: None,
                };
                let entry = TrailEntry::new(event, None);
                drop(
                    ledger
                        .swap(&sheet, EditIssue::default(), &entry)
                        .await
                        .unwrap(),
                );
            }
            Some(Other::MovesFirst(_)) | None => {}
        }
    }
}

#[async_trait]
impl Ledger for Overtaken {
    fn promise(&self) -> ClaimGuarantee {
        self.inner.promise()
    }

    async fn read(&self, issue: &IssueId) -> Result<IssueTrail> {
        let is_first = |does: &mut Other| matches!(does, Other::MovesFirst(_));
        let first = self.does.lock().unwrap().take_if(is_first);
        if let Some(Other::MovesFirst(to)) = first {
            drop(self.other.set_state(issue, &review(to)).await.unwrap());
        }
        self.inner.read(issue).await
    }

    async fn swap(
        &self,
        sheet: &IssueTrail,
        edit: EditIssue,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        self.act(sheet, entry).await;
        self.inner.swap(sheet, edit, entry).await
    }

    async fn swap_all(
        &self,
        writes: &[(IssueTrail, EditIssue, TrailEntry)],
    ) -> Result<Vec<Result<TrailSwap>>> {
        self.act(&writes[0].0, &writes[0].2).await;
        self.inner.swap_all(writes).await
    }

    async fn renew(
        &self,
        sheet: &IssueTrail,
        comment: &str,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        self.inner.renew(sheet, comment, entry).await
    }

    async fn withdraw(&self, sheet: &IssueTrail, entry: &TrailEntry) -> Result<()> {
        self.inner.withdraw(sheet, entry).await
    }
}

/// The token of an account without a role in the repository.
const MALLORY: &str = "gho_0canary0mallory";

const IMPL: ClaimRequest<'_> = ClaimRequest::new("impl").with_holder("grace");

fn review(to: &str) -> MoveRequest<'_> {
    MoveRequest::new(to, "review")
}

fn labels(repo: Repo) -> Workflow {
    let definition = Definition::preset("ralph").unwrap();
    Workflow::new(
        repo,
        definition,
        Box::new(LabelStore::new("state: ".into())),
    )
}

/// Returns an issue in *Plan in Review*, and a workflow whose next write follows the action
/// `other`.
async fn overtaken(hub: &Hub, other: Other) -> (IssueId, Workflow) {
    let other_flow = labels(handle(&hub.double, "gho_0canary0grace"));
    other_flow.init(false).await.unwrap();
    let number = {
        let mut seed = hub.double.seed();
        let number = seed.open_issue(REPO, "ada", "One", "");
        seed.label_issue(REPO, number, "state: Plan in Review");
        number
    };
    let ledger = Overtaken {
        inner: CommentLedger::new(hub.repo.clone(), None),
        other: Arc::new(other_flow),
        stranger: handle(&hub.double, MALLORY),
        does: Mutex::new(Some(other)),
    };
    let flow = labels(hub.repo.clone()).with_ledger(Box::new(ledger));
    (hub.id(number), flow)
}

async fn read(hub: &Hub, id: &IssueId) -> (Vec<String>, IssueState) {
    let issue: Issue = hub.repo.issue(id, &IssueFields::NONE).await.unwrap();
    let labels = issue.labels.into_iter().map(|label| label.name);
    (labels.collect(), issue.state)
}

#[tokio::test]
async fn concurrent_moves_leave_one_state() {
    for (first, then, label, state) in [
        (
            "Ready for Plan",
            "__CLOSE__",
            "state: Done",
            IssueState::Closed,
        ),
        (
            "__CLOSE__",
            "Ready for Plan",
            "state: Ready for Plan",
            IssueState::Open,
        ),
        (
            "Ready for Plan",
            "Human Needed",
            "state: Human Needed",
            IssueState::Open,
        ),
    ] {
        let hub = Hub::new();
        let (id, flow) = overtaken(&hub, Other::Moves(first)).await;
        let done = flow.set_state(&id, &review(then)).await.unwrap();
        assert!(done.value.moved);
        assert_eq!(
            read(&hub, &id).await,
            (vec![label.to_owned()], state),
            "{then}"
        );
        let trail = flow.trail(&id).await.unwrap();
        assert_eq!(trail.moves.len(), 2);
    }
}

/// Returns a workflow on a git repository whose next write or read follows the action `does`.
fn overtaken_in(stage: &Stage, does: Other) -> Workflow {
    let inner = || CommentLedger::new(stage.repo.clone(), None);
    stage.flow_with(Box::new(Overtaken {
        inner: inner(),
        other: Arc::new(stage.flow_with(Box::new(inner()))),
        stranger: stage.repo.clone(),
        does: Mutex::new(Some(does)),
    }))
}

#[tokio::test]
async fn handoff_is_checked_again_after_a_concurrent_move() {
    let stage = Stage::new().await;
    let id = stage.issue("Plan in Review").await;
    let flow = overtaken_in(&stage, Other::Moves("Ready for Plan"));
    let mut on = review("In Progress");
    on.reason = Some("the plan is good");
    let e = flow.handoff(&id, &on).await.unwrap_err();
    let why = "In Progress does not follow Ready for Plan";
    assert!(e.message().starts_with(why), "{e}");
    assert_eq!(stage.state(&id).await, "Ready for Plan");
}

#[tokio::test]
async fn pick_skips_issue_moved_before_the_claim() {
    let stage = Stage::new().await;
    let gone = stage.issue("Plan in Review").await;
    let next = stage.issue("Plan in Review").await;
    let flow = overtaken_in(&stage, Other::MovesFirst("Ready for Plan"));
    let mut request = PickRequest::of_command("review");
    request.claim = Some(ClaimRequest::new("review"));
    let picked = flow.pick(&request).await.unwrap();
    assert_eq!(picked.claimed.unwrap().value.id, next);
    assert_eq!(stage.state(&gone).await, "Ready for Plan");
    assert!(stage.flow.trail(&gone).await.unwrap().claim.is_none());
}

#[tokio::test]
async fn move_without_claim_yields_to_a_concurrent_claim() {
    let hub = Hub::new();
    let (id, flow) = overtaken(&hub, Other::Claims).await;
    let e = flow.set_state(&id, &review("__CLOSE__")).await.unwrap_err();
    assert_eq!(e.code(), "conflict", "{e}");
    assert!(e.message().contains("grace holds it"), "{e}");
    let wanted = vec!["state: In Progress".to_owned()];
    assert_eq!(read(&hub, &id).await, (wanted, IssueState::Open));
    let claim = flow.trail(&id).await.unwrap().claim.unwrap();
    assert_eq!(claim.holder, "grace");
}

/// The comments of a stranger decide neither the order of the entries nor their number.
#[tokio::test]
async fn stranger_cannot_hide_a_concurrent_claim() {
    for other in [Other::EntersAfterCopy, Other::EntersAfterDeletion] {
        let hub = Hub::new();
        hub.double.seed().token(MALLORY, "mallory", ALL_SCOPES);
        let (id, flow) = overtaken(&hub, other).await;
        hub.double.seed().comment(REPO, 1, "mallory", "Nice");
        let moved = flow.set_state(&id, &review("Ready for Plan")).await;
        let e = moved.unwrap_err();
        assert_eq!(e.code(), "conflict", "{other:?}: {e}");
        assert!(e.message().contains("grace holds it"), "{other:?}: {e}");
        let wanted = vec!["state: In Progress".to_owned()];
        assert_eq!(read(&hub, &id).await, (wanted, IssueState::Open));
    }
}

/// A board does not show that a value was overwritten, so the comment of the claim reveals the
/// conflict.
#[tokio::test]
async fn advance_reports_a_claim_made_before_the_write() {
    for (on_board, other) in [
        (true, Other::Claims),
        (true, Other::Enters),
        (false, Other::Claims),
        (false, Other::Enters),
    ] {
        let hub = Hub::new();
        hub.double.seed().set_clock_to_now();
        let store = || -> Box<dyn Store> {
            match on_board {
                true => fields(),
                false => Box::new(LabelStore::new("state: ".into())),
            }
        };
        let flow_of = |repo| Workflow::new(repo, Definition::preset("ralph").unwrap(), store());
        let grace = flow_of(handle(&hub.double, "gho_0canary0grace"));
        grace.init(false).await.unwrap();
        let parent = hub.issue("Backlog");
        let children = [hub.issue("Plan in Review"), hub.issue("Plan in Review")];
        for child in children {
            let mut seed = hub.double.seed();
            seed.sub_issue((REPO, parent), (REPO, child));
            if !on_board {
                seed.label_issue(REPO, child, "state: Plan in Review");
            }
        }
        let board = store().board().cloned();
        let ledger = Overtaken {
            inner: CommentLedger::new(hub.repo.clone(), board.clone()),
            other: Arc::new(grace),
            stranger: handle(&hub.double, MALLORY),
            does: Mutex::new(Some(other)),
        };
        let flow = flow_of(hub.repo.clone()).with_ledger(Box::new(ledger));
        let report = flow
            .advance(&hub.id(parent), "In Review", false, false)
            .await
            .unwrap();
        let case = format!("{on_board} {other:?}: {report:?}");
        let moved: Vec<_> = report.advanced.iter().map(|moved| &moved.id).collect();
        assert_eq!(moved, [&hub.id(children[1])], "{case}");
        assert_eq!(report.errors.len(), 1, "{case}");
        assert_eq!(report.errors[0].id, hub.id(children[0]), "{case}");
        if matches!(other, Other::Enters) {
            let why = &report.errors[0].error;
            assert!(why.contains("grace holds it for impl"), "{case}");
        }
        let mut read = IssueFields::NONE;
        read.board = board;
        for (child, state) in children.into_iter().zip(["In Progress", "In Review"]) {
            let issue = hub.repo.issue(&hub.id(child), &read).await.unwrap();
            assert_eq!(flow.state_of(&issue).as_deref(), Some(state), "{case}");
        }
        let claim = flow.trail(&hub.id(children[0])).await.unwrap().claim;
        assert_eq!(claim.unwrap().holder, "grace", "{case}");
    }
}
