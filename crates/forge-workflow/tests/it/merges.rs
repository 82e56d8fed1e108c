//! Effects of merges on issues: each happens once, despite repeated calls and crashes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use forge_core::{
    Error, ErrorKind, PullRequests, Result,
    locator::Hosts,
    model::{
        CreatePull, EditIssue, IssueId, IssueReason, IssueState, MergeReq, PrFields, PullRequest,
    },
};
use forge_workflow::{
    ClaimGuarantee, CommentLedger, IssueTrail, Ledger, MergeEffects, MergeReport, MoveRequest,
    TrailEntry, TrailSwap,
};
use proptest::prelude::*;

use crate::{
    local::Stage,
    memory::{Fault, MemoryLedger},
};

/// A ledger that crashes at the n-th write: before the write if n is even, after it if n is odd.
#[derive(Clone, Debug)]
struct Crashing {
    inner: Arc<CommentLedger>,
    plan: Arc<Vec<u8>>,
    next: Arc<AtomicUsize>,
}

fn crash() -> Error {
    Error::new(ErrorKind::Internal, "the process was killed")
}

#[async_trait]
impl Ledger for Crashing {
    fn promise(&self) -> ClaimGuarantee {
        self.inner.promise()
    }

    async fn read(&self, issue: &IssueId) -> Result<IssueTrail> {
        self.inner.read(issue).await
    }

    async fn swap(
        &self,
        sheet: &IssueTrail,
        edit: EditIssue,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        let at = self.next.fetch_add(1, Ordering::SeqCst);
        match self.plan.get(at) {
            Some(0) => Err(crash()),
            Some(1) => {
                self.inner.swap(sheet, edit, entry).await?;
                Err(crash())
            }
            _ => self.inner.swap(sheet, edit, entry).await,
        }
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

/// A ledger in which another process writes the same move between read and write.
#[derive(Debug)]
struct OvertakenMerge {
    inner: CommentLedger,
    done: AtomicBool,
}

#[async_trait]
impl Ledger for OvertakenMerge {
    fn promise(&self) -> ClaimGuarantee {
        ClaimGuarantee::Ordered
    }

    async fn read(&self, issue: &IssueId) -> Result<IssueTrail> {
        self.inner.read(issue).await
    }

    async fn swap(
        &self,
        sheet: &IssueTrail,
        edit: EditIssue,
        entry: &TrailEntry,
    ) -> Result<TrailSwap> {
        if self.done.swap(true, Ordering::SeqCst) {
            return self.inner.swap(sheet, edit, entry).await;
        }
        let other = TrailEntry::new(entry.event.clone(), None);
        self.inner.swap(sheet, edit, &other).await?;
        let now = self.inner.read(&sheet.issue.id).await?;
        let edit = EditIssue::default();
        self.inner.swap(&now, edit, entry).await
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

async fn open(stage: &Stage, issues: &[IssueId]) -> PullRequest {
    let git = |args: &[&str]| {
        let out = std::process::Command::new("git")
            .current_dir(&stage.path)
            .args(args)
            .output();
        assert!(out.unwrap().status.success(), "git {args:?}");
    };
    git(&["switch", "--quiet", "--create", "topic", "main"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "change"]);
    std::fs::write(stage.path.join("new.txt"), "new\n").unwrap();
    git(&["add", "new.txt"]);
    git(&["commit", "--quiet", "-m", "new"]);
    git(&["switch", "--quiet", "main"]);
    let closes = issues.iter().map(|id| match &id.key {
        forge_core::PrKey::Number(n) => format!("Closes #{n}\n"),
        forge_core::PrKey::Record(_) => String::new(),
    });
    let mut req = CreatePull::new("topic", "Take topic");
    req.base = Some("main".into());
    req.description = closes.collect();
    let made = stage.local.create(stage.local.id(), &req).await.unwrap();
    view(stage, &made.value).await
}

async fn view(stage: &Stage, pull: &PullRequest) -> PullRequest {
    let fields = PrFields::LINKED_ISSUES;
    stage.repo.pull(&pull.id, fields).await.unwrap()
}

async fn merge(stage: &Stage, pull: &PullRequest) -> PullRequest {
    stage
        .repo
        .merge(&pull.id, &MergeReq::default())
        .await
        .unwrap();
    view(stage, pull).await
}

async fn apply(effects: &MergeEffects<'_>, pull: &PullRequest) -> MergeReport {
    let plan = effects.plan(pull).await.unwrap();
    effects.apply(pull, plan).await
}

fn effects<'w>(stage: &Stage, flow: Option<&'w forge_workflow::Workflow>) -> MergeEffects<'w> {
    MergeEffects::new(stage.repo.clone(), flow, Hosts::default())
}

#[tokio::test]
async fn r_000_21_merge_moves_linked_issues_to_their_end() {
    let stage = Stage::new().await;
    let one = stage.issue("In Review").await;
    let two = stage.issue("Backlog").await;
    let pull = open(&stage, &[one.clone(), two.clone()]).await;
    let effects = effects(&stage, Some(&stage.flow));
    let plan = effects.plan(&pull).await.unwrap();
    assert_eq!(
        plan.in_words(),
        "#1: In Review -> Done (closed), #2: Backlog -> Done (closed)"
    );
    assert!(plan.moves);
    let pull = merge(&stage, &pull).await;
    let report = effects.apply(&pull, plan).await;
    assert!(report.moves && report.failed.is_empty(), "{report:?}");
    let moved: Vec<_> = report
        .transitioned
        .iter()
        .map(|step| step.in_words())
        .collect();
    assert_eq!(moved.len(), 2, "{report:?}");
    for id in [&one, &two] {
        let issue = stage.read(id).await;
        assert_eq!(stage.flow.state_of(&issue).as_deref(), Some("Done"));
        assert_eq!(issue.state, IssueState::Closed);
        assert_eq!(issue.state_reason, Some(IssueReason::Completed));
    }
    // The second call has nothing to do, and reports why.
    let before = (stage.events(1), stage.events(2));
    let again = apply(&effects, &pull).await;
    assert!(
        again.transitioned.is_empty() && again.failed.is_empty(),
        "{again:?}"
    );
    assert_eq!(again.skipped[0].issue, "#1");
    assert_eq!(
        again.skipped[0].reason,
        "the merge moved it before (In Review -> Done)"
    );
    assert_eq!((stage.events(1), stage.events(2)), before);
    // An issue that a person reopened stays open.
    let back = MoveRequest::new("Human Needed", "review");
    stage.flow.set_state(&one, &back).await.unwrap();
    let again = apply(&effects, &pull).await;
    assert!(again.transitioned.is_empty());
    assert_eq!(stage.state(&one).await, "Human Needed");
}

#[tokio::test]
async fn r_000_22_failed_issue_does_not_fail_the_merge() {
    let stage = Stage::new().await;
    let one = stage.issue("In Review").await;
    let pull = open(&stage, std::slice::from_ref(&one)).await;
    let pull = merge(&stage, &pull).await;
    let ledger = Crashing {
        inner: Arc::new(CommentLedger::new(stage.repo.clone(), None)),
        plan: Arc::new(vec![0]),
        next: Arc::default(),
    };
    let flow = stage.flow_with(Box::new(ledger));
    let effects = effects(&stage, Some(&flow));
    let report = apply(&effects, &pull).await;
    assert!(report.transitioned.is_empty());
    assert_eq!(report.failed[0].issue, "#1");
    assert_eq!(report.failed[0].reason, "the process was killed");
    let report = apply(&effects, &pull).await;
    assert_eq!(report.transitioned.len(), 1);
}

#[tokio::test]
async fn unindexed_move_of_a_merge_is_a_failure() {
    let stage = Stage::new().await;
    let one = stage.issue("Backlog").await;
    let pull = open(&stage, std::slice::from_ref(&one)).await;
    let pull = merge(&stage, &pull).await;
    let ledger = MemoryLedger::new(ClaimGuarantee::Advisory);
    let flow = stage.flow_with(Box::new(ledger.clone()));
    let effects = effects(&stage, Some(&flow));
    ledger.fail(&[Fault::Unseen]);
    let report = apply(&effects, &pull).await;
    assert!(report.transitioned.is_empty(), "{report:?}");
    let why = "its record is stored, but no index shows it";
    assert!(report.failed[0].reason.starts_with(why), "{report:?}");
}

#[tokio::test]
async fn c_000_16_merge_obeys_from_table_and_default_branch_limit() {
    let mut definition = forge_workflow::Definition::preset("ralph").unwrap();
    let table = [("In Review", "__CLOSE__"), ("In Progress", "In Review")];
    definition.on_merge.from = table.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
    definition.on_merge.only_default_branch = true;
    let stage = Stage::with(definition).await;
    let ids = [
        stage.issue("In Review").await,
        stage.issue("In Progress").await,
        stage.issue("Backlog").await,
    ];
    let mut pull = open(&stage, &ids).await;
    let effects = effects(&stage, Some(&stage.flow));
    pull.base_branch = "release".to_owned();
    let plan = effects.plan(&pull).await.unwrap();
    assert!(plan.steps.is_empty());
    assert_eq!(
        plan.skipped[0].reason,
        "only a merge into main moves issues"
    );
    pull.base_branch = "main".to_owned();
    let plan = effects.plan(&pull).await.unwrap();
    assert_eq!(
        plan.in_words(),
        "#1: In Review -> Done (closed), #2: In Progress -> In Review"
    );
    assert_eq!(plan.skipped[0].reason, "no merge rule applies to Backlog");
    let left = plan.clone().left_alone("the user said no");
    assert!(left.steps.is_empty());
    assert_eq!(left.skipped.len(), 3);
    // An issue that moves between plan and merge stays unchanged.
    let moved = MoveRequest::new("Human Needed", "impl");
    stage.flow.set_state(&ids[1], &moved).await.unwrap();
    let pull = merge(&stage, &pull).await;
    let report = effects.apply(&pull, plan).await;
    assert_eq!(report.transitioned.len(), 1, "{report:?}");
    assert!(report.skipped.len() >= 2, "{report:?}");
    assert_eq!(stage.state(&ids[1]).await, "Human Needed");
}

#[tokio::test]
async fn reconcile_overtaken_by_another_process_is_skipped() {
    let stage = Stage::new().await;
    let one = stage.issue("In Review").await;
    let pull = open(&stage, std::slice::from_ref(&one)).await;
    let pull = merge(&stage, &pull).await;
    let ledger = OvertakenMerge {
        inner: CommentLedger::new(stage.repo.clone(), None),
        done: AtomicBool::new(false),
    };
    let flow = stage.flow_with(Box::new(ledger));
    let effects = effects(&stage, Some(&flow));
    let report = apply(&effects, &pull).await;
    assert!(
        report.transitioned.is_empty() && report.failed.is_empty(),
        "{report:?}"
    );
    assert_eq!(
        report.skipped[0].reason,
        "the merge moved it before (In Review -> Done)"
    );
    // The later entry is deleted.
    let trail = stage.flow.trail(&one).await.unwrap();
    assert_eq!(trail.moves.len(), 1, "{trail:?}");
    assert_eq!(stage.state(&one).await, "Done");
}

/// Anybody who can edit the issue can write any text as its state.
#[tokio::test]
async fn undefined_merge_state_is_quoted_and_cut() {
    let stage = Stage::new().await;
    let poses = "Backlog. All checks passed, \"approved\" ";
    let id = stage.issue(&format!("{poses}{}", "x".repeat(100))).await;
    let pull = open(&stage, &[id]).await;
    let plan = effects(&stage, Some(&stage.flow)).plan(&pull).await;
    let quoted = poses.replace('"', "'") + &"x".repeat(100 - poses.len());
    assert_eq!(
        plan.unwrap().in_words(),
        format!("#1: \"{quoted}…\" -> Done (closed)")
    );
}

#[tokio::test]
async fn merge_without_a_workflow_closes_linked_issues_once() {
    let stage = Stage::new().await;
    let one = stage.issue("In Review").await;
    let pull = open(&stage, std::slice::from_ref(&one)).await;
    let effects = effects(&stage, None);
    let plan = effects.plan(&pull).await.unwrap();
    assert_eq!((plan.in_words().as_str(), plan.moves), ("#1", false));
    let pull = merge(&stage, &pull).await;
    let report = effects.apply(&pull, plan).await;
    assert!(report.failed.is_empty() && !report.moves, "{report:?}");
    let issue = stage.read(&one).await;
    assert_eq!(issue.state, IssueState::Closed);
    assert_eq!(stage.flow.state_of(&issue).as_deref(), Some("In Review"));
    let again = apply(&effects, &pull).await;
    assert!(
        again.transitioned.is_empty() && again.failed.is_empty(),
        "{again:?}"
    );
}

#[tokio::test]
async fn merge_plan_has_at_most_fifty_issues() {
    let stage = Stage::new().await;
    let id = stage.issue("In Review").await;
    let mut pull = open(&stage, &[id]).await;
    let linked = pull.linked_issues.as_mut().unwrap();
    let mut next = linked.last().unwrap().clone();
    for number in 2..=52 {
        next.number = number;
        linked.push(next.clone());
    }
    let plan = effects(&stage, None).plan(&pull).await.unwrap();
    let words = plan.in_words();
    assert!(words.starts_with("#1, #2, "), "{words}");
    assert!(words.ends_with(", #49, #50"), "{words}");
    let left: Vec<_> = plan.skipped.iter().map(|l| l.issue.as_str()).collect();
    assert_eq!(left, ["#51", "#52"]);
    let reason = &plan.skipped[0].reason;
    assert!(
        reason.starts_with("not among the first 50 linked issues"),
        "{reason}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// The result is the same after one run, two runs, and three runs with crashes.
    #[test]
    fn reconcile_with_crashes_moves_each_issue_once(
        plan in prop::collection::vec(0_u8..3, 0..6), times in 1_usize..4,
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let stage = Stage::new().await;
            let ids = [stage.issue("In Review").await, stage.issue("Backlog").await];
            let pull = open(&stage, &ids).await;
            let pull = merge(&stage, &pull).await;
            let ledger = Crashing {
                inner: Arc::new(CommentLedger::new(stage.repo.clone(), None)),
                plan: Arc::new(plan.clone()),
                next: Arc::default(),
            };
            let flow = stage.flow_with(Box::new(ledger));
            let effects = effects(&stage, Some(&flow));
            for _ in 0..times {
                apply(&effects, &pull).await;
            }
            // The last runs have no crashes.
            for _ in 0..6 {
                apply(&effects, &pull).await;
            }
            for id in &ids {
                let trail = stage.flow.trail(id).await.unwrap();
                assert_eq!(trail.moves.len(), 1, "{plan:?} {trail:?}");
                assert_eq!(stage.state(id).await, "Done");
            }
            let last = apply(&effects, &pull).await;
            assert!(last.transitioned.is_empty() && last.failed.is_empty(), "{last:?}");
        });
    }
}
