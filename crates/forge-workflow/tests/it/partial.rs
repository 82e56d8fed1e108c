//! Partial failures of reads and writes: the trail never records a move that did not happen.

use forge_core::model::{BoardId, EditIssue, IssueState};
use forge_github_double::Fault;
use forge_workflow::{
    ClaimRequest, CommentLedger, Ledger, MoveRequest, PickRequest, TrailEntry, TrailEvent,
    TrailSwap,
};

use crate::{
    hub::{Hub, REPO},
    local::Stage,
};

fn research(holder: &str) -> ClaimRequest<'_> {
    ClaimRequest::new("research").with_holder(holder)
}

const TRIAGE: MoveRequest<'_> = MoveRequest::new("Research Needed", "triage");

#[tokio::test]
async fn claim_in_an_unread_comment_page_still_blocks() {
    let hub = Hub::new();
    let number = hub.issue("Research Needed");
    for n in 0..1_100 {
        // Many comments of a stranger do not hide a claim.
        let mut seed = hub.double.seed();
        seed.user("mallory");
        seed.comment(REPO, number, "mallory", &format!("{n}"));
    }
    let id = hub.id(number);
    hub.flow.claim(&id, &research("agent")).await.unwrap();
    let e = hub.flow.claim(&id, &research("other")).await.unwrap_err();
    assert!(e.message().contains("agent holds it"), "{e}");
    let pages = Fault::status(502).on_operation("IssueView").skip(1);
    hub.double.fault(pages.always());
    let e = hub.flow.claim(&id, &research("other")).await.unwrap_err();
    let whole = "cannot tell who holds #1: its comments could not be read in full";
    assert_eq!(e.message(), whole);
    assert_eq!(e.retry(), forge_core::Retry::Transient);
    hub.double.clear_faults();
    hub.double.fault(
        Fault::status(502)
            .on_operation("IssueView")
            .skip(1)
            .always(),
    );
    let state = PickRequest::of_state("Research Needed");
    // The board value is reset by hand, so only the trail shows the claim.
    {
        let mut seed = hub.double.seed();
        let item = *seed.items.keys().next().unwrap();
        seed.project_value(item, "Workflow State", "Research Needed");
    }
    let e = hub.flow.pick(&state).await.unwrap_err();
    assert_eq!(e.message(), whole);
}

#[tokio::test]
async fn issue_with_unread_blockers_is_not_picked() {
    let hub = Hub::new();
    let number = hub.issue("Research Needed");
    for n in 0..51 {
        let blocker = hub.issue("Backlog");
        hub.double
            .seed()
            .blocked_by((REPO, number), (REPO, blocker));
        // Only the oldest blocker stays open. The truncated list lacks this blocker.
        if n > 0 {
            let mut done = EditIssue::default();
            done.state = Some(IssueState::Closed);
            hub.repo.edit_issue(&hub.id(blocker), &done).await.unwrap();
        }
    }
    let request = PickRequest::of_state("Research Needed");
    let picked = hub.flow.pick(&request).await.unwrap().pick;
    assert_eq!(picked.issue, None);
    assert_eq!(
        picked.skipped,
        [(
            hub.id(number),
            "some issues that may block it could not be read".to_owned()
        )]
    );
}

/// Redefines the state options, which gives them new ids.
fn redefine(hub: &Hub) {
    let mut seed = hub.double.seed();
    let board = seed.projects.get_mut(&hub.board).unwrap();
    let fields = board.fields.iter_mut();
    let options = fields
        .filter(|field| field.name == "Workflow State")
        .flat_map(|field| &mut field.options);
    options.for_each(|option| option.id = format!("{}0", option.id));
}

fn delete_option(hub: &Hub, name: &str) {
    let mut seed = hub.double.seed();
    let board = seed.projects.get_mut(&hub.board).unwrap();
    for field in &mut board.fields {
        field.options.retain(|o| o.name != name);
    }
}

#[tokio::test]
async fn partly_refused_move_leaves_no_entry() {
    let hub = Hub::new();
    let id = hub.id(hub.issue("Backlog"));
    // This move looks up the option ids and caches them.
    hub.flow.set_state(&id, &TRIAGE).await.unwrap();
    let next = hub.id(hub.issue("Backlog"));
    delete_option(&hub, "Research Needed");
    let e = hub.flow.set_state(&next, &TRIAGE).await.unwrap_err();
    let done = e.context().iter().find(|(key, _)| *key == "done");
    assert!(
        done.is_some_and(|(_, done)| done.contains("comment")),
        "{e:?}"
    );
    let trail = hub.flow.trail(&next).await.unwrap();
    assert!(trail.moves.is_empty(), "{trail:?}");
}

#[tokio::test]
async fn redefined_option_is_set_at_the_first_move() {
    let hub = Hub::new();
    let id = hub.id(hub.issue("Backlog"));
    hub.flow.set_state(&id, &TRIAGE).await.unwrap();
    let next = hub.id(hub.issue("Backlog"));
    redefine(&hub);
    hub.flow.set_state(&next, &TRIAGE).await.unwrap();
    assert_eq!(hub.state(2), "Research Needed");
    let trail = hub.flow.trail(&next).await.unwrap();
    assert_eq!(trail.moves.len(), 1, "{trail:?}");
}

#[tokio::test]
async fn removed_option_is_named_and_created_again() {
    let hub = Hub::new();
    let id = hub.id(hub.issue("Backlog"));
    hub.flow.set_state(&id, &TRIAGE).await.unwrap();
    let next = hub.id(hub.issue("Backlog"));
    delete_option(&hub, "Research Needed");
    // The forge refuses the cached id, so the names are read again.
    hub.flow.set_state(&next, &TRIAGE).await.unwrap_err();
    let e = hub.flow.set_state(&next, &TRIAGE).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input", "{e}");
    let why = "field 'Workflow State' of board octo/1 has no value 'Research Needed'";
    assert!(e.message().starts_with(why), "{e}");
    assert_eq!(hub.state(2), "Backlog");
    let trail = hub.flow.trail(&next).await.unwrap();
    assert!(trail.moves.is_empty(), "{trail:?}");
    let made = hub.flow.init(false).await.unwrap().made;
    assert_eq!(made.len(), 1, "{made:?}");
    hub.flow.set_state(&next, &TRIAGE).await.unwrap();
    assert_eq!(hub.state(2), "Research Needed");
}

#[tokio::test]
async fn partly_refused_advance_leaves_no_entry() {
    let hub = Hub::new();
    let parent = hub.issue("Backlog");
    let numbers: Vec<u64> = (0..3).map(|_| hub.issue("Ready for Plan")).collect();
    for number in &numbers {
        hub.double.seed().sub_issue((REPO, parent), (REPO, *number));
    }
    let first = hub.id(parent);
    hub.flow.set_state(&first, &TRIAGE).await.unwrap();
    delete_option(&hub, "In Review");
    let done = hub.flow.advance(&first, "In Review", false, false).await;
    let report = done.unwrap();
    assert_eq!(
        (report.advanced.len(), report.errors.len()),
        (0, 3),
        "{report:?}"
    );
    for number in &numbers {
        let trail = hub.flow.trail(&hub.id(*number)).await.unwrap();
        assert!(trail.moves.is_empty(), "{trail:?}");
    }
}

fn moved() -> TrailEntry {
    let event = TrailEvent::Moved {
        from: None,
        to: "Research Needed".to_owned(),
        command: "triage".to_owned(),
        intent: None,
        ends: None,
        merge: None,
    };
    TrailEntry::new(event, None)
}

#[tokio::test]
async fn batch_of_entries_skips_a_changed_issue() {
    let stage = Stage::new().await;
    let ledger = CommentLedger::new(stage.repo.clone(), None);
    let (one, two) = (stage.issue("Backlog").await, stage.issue("Backlog").await);
    let mut writes = Vec::new();
    for id in [&one, &two] {
        let sheet = ledger.read(id).await.unwrap();
        writes.push((sheet, EditIssue::default(), moved()));
    }
    stage.flow.set_state(&one, &TRIAGE).await.unwrap();
    let written = ledger.swap_all(&writes).await.unwrap();
    let e = written[0].as_ref().unwrap_err();
    assert_eq!(e.code(), "conflict", "{e}");
    assert!(
        matches!(written[1], Ok(TrailSwap::Written(_))),
        "{written:?}"
    );
    for id in [&one, &two] {
        assert_eq!(stage.flow.trail(id).await.unwrap().moves.len(), 1);
    }
}

#[tokio::test]
async fn entry_batch_is_written_to_ledger_board() {
    let hub = Hub::new();
    let number = hub.issue("Backlog");
    let board = BoardId {
        owner: "octo".to_owned(),
        number: 1,
    };
    let ledger = CommentLedger::new(hub.repo.clone(), Some(board));
    let sheet = ledger.read(&hub.id(number)).await.unwrap();
    let mut edit = EditIssue::default();
    let state = Some("Research Needed".to_owned());
    edit.values.insert("Workflow State".to_owned(), state);
    let written = ledger.swap_all(&[(sheet, edit, moved())]).await.unwrap();
    assert!(
        matches!(written[0], Ok(TrailSwap::Written(_))),
        "{written:?}"
    );
    assert_eq!(hub.state(number), "Research Needed");
}

#[tokio::test]
async fn renewal_on_a_changed_issue_is_stale() {
    let stage = Stage::new().await;
    let id = stage.issue("Research Needed").await;
    stage.flow.claim(&id, &research("agent")).await.unwrap();
    let ledger = CommentLedger::new(stage.repo.clone(), None);
    let sheet = ledger.read(&id).await.unwrap();
    let comment = sheet.trail.claim.as_ref().unwrap().comment.clone();
    let mut other = EditIssue::default();
    other.title = Some("Other".to_owned());
    stage.repo.edit_issue(&id, &other).await.unwrap();
    let renewed = ledger.renew(&sheet, &comment, &moved()).await.unwrap();
    assert!(matches!(renewed, TrailSwap::Stale), "{renewed:?}");
    let claim = stage.flow.trail(&id).await.unwrap().claim;
    assert_eq!(claim.unwrap().holder, "agent");
}
