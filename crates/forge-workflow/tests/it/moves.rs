//! Moves in a git repository: writes, refusals and their messages.

use forge_core::model::{EditIssue, IssueReason, IssueState, NewIssue, SetChange};
use forge_workflow::{
    ClaimGuarantee, ClaimRequest, ConvergenceGate, Definition, LabelStore, MoveRequest,
    PickRequest, Recommendation, Workflow, WorkflowValue,
};

use crate::local::{Stage, child, in_state};

fn to<'a>(state: &'a str, command: &'a str) -> MoveRequest<'a> {
    MoveRequest::new(state, command)
}

#[tokio::test]
async fn r_001_11_move_reports_both_states_and_the_intent() {
    let stage = Stage::new().await;
    let id = stage.issue("").await;
    let done = stage
        .flow
        .set_state(&id, &to("Research Needed", "triage"))
        .await;
    let done = done.unwrap().value;
    assert_eq!(
        (done.previous_state.as_str(), done.new_state.as_str()),
        ("(unknown)", "Research Needed")
    );
    assert_eq!(
        (done.command.as_str(), done.resolved_from),
        ("ralph_triage", None)
    );
    assert!(done.moved && done.closed.is_none() && done.claim.is_none());
    let done = stage
        .flow
        .set_state(&id, &to("__ESCALATE__", "research"))
        .await;
    let done = done.unwrap().value;
    assert_eq!(done.previous_state, "Research Needed");
    assert_eq!(done.new_state, "Human Needed");
    assert_eq!(done.resolved_from.as_deref(), Some("__ESCALATE__"));
    // A move and its entry are one commit: root, opening, two moves.
    assert_eq!(stage.events(1), 4);
    let trail = stage.flow.trail(&id).await.unwrap();
    assert_eq!(trail.moves.len(), 2);
    // The second call writes nothing.
    let again = stage
        .flow
        .set_state(&id, &to("Human Needed", "research"))
        .await;
    let again = again.unwrap();
    assert_eq!(again.warnings[0].message, "#1 is in Human Needed already");
    assert_eq!(stage.events(1), 4);
}

#[tokio::test]
async fn c_001_23_terminal_state_closes_and_other_state_reopens_issue() {
    let stage = Stage::new().await;
    for (state, reason) in [
        ("__CLOSE__", IssueReason::Completed),
        ("__CANCEL__", IssueReason::NotPlanned),
    ] {
        let id = stage.issue("Backlog").await;
        let done = stage
            .flow
            .set_state(&id, &to(state, "triage"))
            .await
            .unwrap();
        assert_eq!(done.value.closed, Some(true));
        let issue = stage.read(&id).await;
        assert_eq!(
            (issue.state, issue.state_reason),
            (IssueState::Closed, Some(reason))
        );
        let back = stage
            .flow
            .set_state(&id, &to("Research Needed", "triage"))
            .await;
        assert_eq!(back.unwrap().value.closed, Some(false));
        assert_eq!(stage.read(&id).await.state, IssueState::Open);
        let e = stage
            .flow
            .set_state(&id, &to("Research Needed", "nonsense"))
            .await;
        assert!(e.unwrap_err().message().contains("nonsense"));
    }
}

#[tokio::test]
async fn locked_issue_is_moved_only_by_the_holder() {
    let stage = Stage::new().await;
    assert_eq!(stage.flow.promise(), ClaimGuarantee::Exclusive);
    let id = stage.issue("Research Needed").await;
    let done = stage
        .flow
        .set_state(&id, &to("__LOCK__", "research"))
        .await
        .unwrap();
    let claim = done.value.claim.unwrap();
    assert_eq!(done.value.new_state, "Research in Progress");
    assert_eq!((claim.holder.as_str(), claim.lease_s), ("alice", 3600));
    assert_eq!(claim.from.as_deref(), Some("Research Needed"));
    for (flow_to, command) in [("__LOCK__", "research"), ("__COMPLETE__", "research")] {
        let e = stage
            .flow
            .set_state(&id, &to(flow_to, command))
            .await
            .unwrap_err();
        assert_eq!(e.code(), "conflict");
        assert!(
            e.message()
                .contains("#1: alice holds it for ralph_research until"),
            "{e}"
        );
        assert!(
            e.hint()
                .unwrap()
                .to_string()
                .contains("use force with a reason"),
            "{e}"
        );
    }
    let mut wrong = to("__COMPLETE__", "research");
    wrong.claim = Some("0123");
    let e = stage.flow.set_state(&id, &wrong).await.unwrap_err();
    assert_eq!(
        e.message(),
        "the claim 0123 on #1 is over: alice holds it now"
    );
    // Another move to the lock state keeps the claim.
    let mut same = to("__LOCK__", "research");
    same.claim = Some(&claim.id);
    let kept = stage.flow.set_state(&id, &same).await.unwrap();
    assert_eq!(kept.value.ended_claim, None);
    let mut right = to("__COMPLETE__", "research");
    right.claim = Some(&claim.id);
    right.reason = Some("found it");
    let done = stage.flow.set_state(&id, &right).await.unwrap().value;
    assert_eq!(done.ended_claim.as_deref(), Some(claim.id.as_str()));
    assert_eq!(stage.state(&id).await, "Ready for Plan");
    let trail = stage.flow.trail(&id).await.unwrap();
    assert_eq!(trail.claim, None);
    assert_eq!(
        trail.moves.last().unwrap().reason.as_deref(),
        Some("found it")
    );
}

#[tokio::test]
async fn force_with_a_reason_overrides_a_claim() {
    let stage = Stage::new().await;
    let id = stage.issue("Research Needed").await;
    stage
        .flow
        .set_state(&id, &to("__LOCK__", "research"))
        .await
        .unwrap();
    let mut req = to("__ESCALATE__", "research");
    req.force = true;
    let e = stage.flow.set_state(&id, &req).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input");
    req.reason = Some("the agent hangs");
    let done = stage.flow.set_state(&id, &req).await.unwrap().value;
    assert_eq!(done.new_state, "Human Needed");
    assert!(done.ended_claim.is_some());
    assert_eq!(stage.flow.trail(&id).await.unwrap().claim, None);
}

#[tokio::test]
async fn release_restores_the_state_before_the_claim() {
    let stage = Stage::new().await;
    let id = stage.issue("Research Needed").await;
    let claim = |holder| ClaimRequest::new("research").with_holder(holder);
    let mine = stage
        .flow
        .claim(&id, &claim("bob"))
        .await
        .unwrap()
        .value
        .claim
        .unwrap();
    let done = stage
        .flow
        .release(&id, &mine.id, None, None)
        .await
        .unwrap()
        .value;
    assert_eq!(
        (
            done.previous_state.as_str(),
            done.new_state.as_str(),
            done.command.as_str()
        ),
        ("Research in Progress", "Research Needed", "ralph_research")
    );
    assert_eq!(
        (done.closed, done.ended_claim),
        (None, Some(mine.id.clone()))
    );
    assert_eq!(stage.state(&id).await, "Research Needed");
    let e = stage
        .flow
        .release(&id, &mine.id, None, None)
        .await
        .unwrap_err();
    assert!(e.message().ends_with("is over: nobody holds it now"), "{e}");
    // A release may name a state of the command, an intent, or the state before the claim.
    let mine = stage
        .flow
        .claim(&id, &claim("bob"))
        .await
        .unwrap()
        .value
        .claim
        .unwrap();
    let lock = "Research in Progress";
    for state in [
        "Done",
        "Canceled",
        "In Progress",
        "Nonsense",
        lock,
        "__LOCK__",
    ] {
        let e = stage.flow.release(&id, &mine.id, Some(state), None).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{state}: {e}");
        let retry = "retry with one of: Ready for Plan, Human Needed";
        assert!(
            e.hint().unwrap().text().starts_with(retry),
            "{state}: {e:?}"
        );
    }
    assert_eq!(stage.state(&id).await, "Research in Progress");
    let done = stage
        .flow
        .release(&id, &mine.id, Some("research needed"), None)
        .await;
    assert_eq!(done.unwrap().value.new_state, "Research Needed");
    let mine = stage
        .flow
        .claim(&id, &claim("bob"))
        .await
        .unwrap()
        .value
        .claim
        .unwrap();
    let done = stage
        .flow
        .release(&id, &mine.id, Some("__CANCEL__"), Some("no use"))
        .await
        .unwrap()
        .value;
    assert_eq!(
        (done.new_state.as_str(), done.closed),
        ("Canceled", Some(true))
    );
    assert_eq!(done.resolved_from.as_deref(), Some("__CANCEL__"));
    let e = stage.flow.claim(&id, &claim("bob")).await.unwrap_err();
    assert_eq!(e.message(), "cannot claim #1: it is closed");
    let trail = stage.flow.trail(&id).await.unwrap();
    let reasons: Vec<_> = trail.moves.iter().map(|m| m.reason.as_deref()).collect();
    assert_eq!(
        reasons,
        [Some("released"), Some("released"), Some("no use")]
    );
}

#[tokio::test]
async fn strict_release_follows_the_graph() {
    let mut definition = Definition::preset("ralph").unwrap();
    definition.strict_transitions = true;
    let impl_command = definition.commands.get_mut("impl").unwrap();
    impl_command.outputs.push("Ready for Plan".to_owned());
    let stage = Stage::with(definition).await;
    let id = stage.issue("Plan in Review").await;
    let taken = stage.flow.claim(&id, &ClaimRequest::new("impl")).await;
    let claim = taken.unwrap().value.claim.unwrap();
    let back = stage
        .flow
        .release(&id, &claim.id, Some("Ready for Plan"), None);
    let e = back.await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e}");
    let kept = stage.flow.trail(&id).await.unwrap().claim.unwrap();
    assert_eq!(kept.id, claim.id);
    let on = stage.flow.release(&id, &claim.id, Some("In Review"), None);
    assert_eq!(on.await.unwrap().value.new_state, "In Review");
}

#[tokio::test]
async fn lock_state_without_claim_needs_force() {
    let stage = Stage::new().await;
    let id = stage.issue("Plan in Progress").await;
    let mut req = ClaimRequest::new("research");
    let e = stage.flow.claim(&id, &req).await.unwrap_err();
    assert_eq!(
        e.message(),
        "cannot claim #1: it is in Plan in Progress, so somebody works on it"
    );
    req.force = true;
    req.reason = Some("nobody does");
    let done = stage.flow.claim(&id, &req).await.unwrap().value;
    assert_eq!(done.new_state, "Research in Progress");
}

#[tokio::test]
async fn handoff_needs_a_reason_and_follows_the_graph() {
    let stage = Stage::new().await;
    let id = stage.issue("Plan in Review").await;
    let e = stage
        .flow
        .handoff(&id, &to("In Progress", "review"))
        .await
        .unwrap_err();
    assert_eq!(e.message(), "a handoff needs a reason, and there is none");
    let with = |state, command| {
        let mut req = to(state, command);
        req.reason = Some("the plan is good");
        req
    };
    let done = stage
        .flow
        .handoff(&id, &with("__COMPLETE__", "review"))
        .await
        .unwrap();
    assert_eq!(done.value.new_state, "In Progress");
    // The next command has to claim its lock state separately.
    assert!(done.value.claim.is_none());
    let taken = ClaimRequest::new("impl");
    let taken = stage.flow.claim(&id, &taken).await.unwrap().value;
    let claim = taken.claim.unwrap();
    // A handoff refuses a state that does not follow. `set_state` accepts it.
    let mut aside = with("Research Needed", "triage");
    aside.claim = Some(&claim.id);
    let e = stage.flow.handoff(&id, &aside).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e}");
    stage.flow.set_state(&id, &aside).await.unwrap();
}

#[tokio::test]
async fn c_001_18_strict_move_needs_next_state_or_global_intent() {
    let mut definition = Definition::preset("ralph").unwrap();
    definition.strict_transitions = true;
    let stage = Stage::with(definition).await;
    let id = stage.issue("Backlog").await;
    let e = stage
        .flow
        .set_state(&id, &to("In Review", "impl"))
        .await
        .unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e}");
    assert_eq!(stage.events(1), 2);
    let done = stage
        .flow
        .set_state(&id, &to("__ESCALATE__", "impl"))
        .await
        .unwrap();
    assert_eq!(done.value.new_state, "Human Needed");
}

#[tokio::test]
async fn r_001_17_claim_in_an_unconverged_group_warns_or_fails() {
    for (gate, wanted) in [
        (ConvergenceGate::Off, None),
        (ConvergenceGate::Warn, Some("#3 (Research Needed)")),
        (ConvergenceGate::Block, Some("#3 (Research Needed)")),
    ] {
        let mut definition = Definition::preset("ralph").unwrap();
        definition.convergence_gate = gate;
        let stage = Stage::with(definition).await;
        let parent = stage.issue("Backlog").await;
        let ready = stage.open(child("Ready for Plan", &parent)).await;
        let behind = stage.open(child("Research Needed", &parent)).await;
        let claim = ClaimRequest::new("plan");
        let why = format!(
            "the group of #2 is not at Ready for Plan: {}",
            wanted.unwrap_or("")
        );
        match (stage.flow.claim(&ready, &claim).await, gate) {
            (Ok(done), ConvergenceGate::Off) => assert!(done.warnings.is_empty()),
            (Ok(done), ConvergenceGate::Warn) => {
                assert_eq!(done.warnings[0].message, why);
            }
            (Err(e), ConvergenceGate::Block) => {
                assert_eq!(e.message(), format!("cannot claim #2: {why}"));
                assert_eq!(stage.state(&ready).await, "Ready for Plan");
            }
            (other, _) => panic!("{gate:?}: {other:?}"),
        }
        // Research requires no convergence, and a converged group can be claimed without a warning.
        let research = ClaimRequest::new("research");
        let done = stage.flow.claim(&behind, &research).await.unwrap();
        assert!(done.warnings.is_empty());
        if gate == ConvergenceGate::Block {
            let claimed = done.value.claim.unwrap();
            let mut moved = to("__COMPLETE__", "research");
            moved.claim = Some(&claimed.id);
            stage.flow.set_state(&behind, &moved).await.unwrap();
            assert!(stage.flow.claim(&ready, &claim).await.is_ok());
        }
    }
}

/// The unreadable issue is either a blocker, to which the other issue links, or a sub-issue, which
/// itself stores the link to its parent.
#[tokio::test]
async fn group_with_an_unreadable_issue_has_not_converged() {
    for is_blocker in [true, false] {
        let mut definition = Definition::preset("ralph").unwrap();
        definition.convergence_gate = ConvergenceGate::Block;
        let stage = Stage::with(definition).await;
        let lost = stage.issue("Research Needed").await;
        let mut ready = in_state("Ready for Plan");
        if is_blocker {
            ready.blocked_by = vec![lost.clone()];
        }
        let ready = stage.open(ready).await;
        if !is_blocker {
            let mut edit = EditIssue::default();
            edit.parent = Some(Some(ready.clone()));
            stage.repo.edit_issue(&lost, &edit).await.unwrap();
        }
        stage.damage(1);
        let found = stage.flow.convergence(&ready, "Ready for Plan").await;
        let (found, view) = found.unwrap();
        assert!(found.truncated && view.group.truncated);
        assert_eq!((found.converged, found.ready, found.total), (false, 1, 1));
        assert_eq!(found.recommendation, Recommendation::Wait);
        let (position, _) = stage.flow.position(&ready).await.unwrap();
        assert_eq!(position.recommendation, Recommendation::Wait);
        assert!(!position.convergence.met);
        let claim = stage.flow.claim(&ready, &ClaimRequest::new("plan")).await;
        let e = claim.unwrap_err();
        let why = "the group of #2 is not at Ready for Plan: not all of its issues could be read";
        assert!(e.message().contains(why), "{e}");
        assert!(e.message().contains("#1"), "{e}");
        assert_eq!(stage.state(&ready).await, "Ready for Plan");
    }
}

#[tokio::test]
async fn r_001_9_pick_skips_claimed_blocked_and_large_issues() {
    let stage = Stage::new().await;
    let sized = |priority: &str, estimate: &str| {
        let mut new = in_state("Research Needed");
        new.values
            .insert("Priority".to_owned(), priority.to_owned());
        new.values
            .insert("Estimate".to_owned(), estimate.to_owned());
        new
    };
    let blocker = stage.issue("Backlog").await;
    let mut blocked = sized("P0", "XS");
    blocked.blocked_by = vec![blocker];
    stage.open(blocked).await;
    stage.open(sized("P0", "XL")).await;
    let claimed = stage.open(sized("P0", "XS")).await;
    let hold = ClaimRequest::new("triage").with_holder("bob");
    stage.flow.claim(&claimed, &hold).await.unwrap();
    stage.open(sized("P2", "XS")).await;
    stage.open(sized("P1", "S")).await;
    let by_command = PickRequest::of_command("research");
    let picked = stage.flow.pick(&by_command).await.unwrap();
    let found = picked.pick.issue.unwrap();
    assert_eq!(found.member.id, stage.id(6));
    assert_eq!(
        (picked.pick.alternatives, picked.scanned, picked.truncated),
        (1, 6, false)
    );
    assert!(picked.claimed.is_none());
    assert!(
        picked
            .pick
            .reason
            .starts_with("#6 is the first of 2 in Research Needed: priority P1")
    );
    let skipped: Vec<String> = picked
        .pick
        .skipped
        .iter()
        .map(|(_, why)| why.clone())
        .collect();
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    assert!(
        skipped.contains(&"it waits for #1".to_owned()),
        "{skipped:?}"
    );
    assert!(
        skipped.contains(&"bob works on it".to_owned()),
        "{skipped:?}"
    );
    // With claims, each issue is picked once.
    let mut claim = by_command;
    claim.claim = Some(ClaimRequest::new("research"));
    for wanted in [Some(6), Some(5), None] {
        let picked = stage.flow.pick(&claim).await.unwrap();
        let found = picked.pick.issue.map(|found| found.member.id);
        assert_eq!(found, wanted.map(|n| stage.id(n)));
        assert_eq!(picked.claimed.is_some(), wanted.is_some());
    }
    // A pick accepts a role and a state, and refuses a lock state and an empty request.
    let role = PickRequest::of_command("researchers");
    assert!(stage.flow.pick(&role).await.unwrap().pick.issue.is_none());
    let state = PickRequest::of_state;
    let found = stage.flow.pick(&state("Backlog")).await.unwrap().pick.issue;
    assert_eq!(found.unwrap().member.id, stage.id(1));
    for wrong in [
        state("In Progress"),
        state("Nonsense"),
        PickRequest::default(),
    ] {
        let e = stage.flow.pick(&wrong).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{e}");
    }
}

#[tokio::test]
async fn pick_passes_over_all_claimed_issues() {
    let stage = Stage::new().await;
    let hold = ClaimRequest::new("triage").with_holder("bob");
    for _ in 0..22 {
        let id = stage.issue("Backlog").await;
        stage.flow.claim(&id, &hold).await.unwrap();
    }
    let free = stage.issue("Backlog").await;
    // The command has no lock state, so claimed issues stay in the state to pick from.
    let mut request = PickRequest::of_command("triage");
    let picked = stage.flow.pick(&request).await.unwrap();
    assert_eq!(picked.pick.issue.unwrap().member.id, free);
    assert_eq!((picked.pick.skipped.len(), picked.truncated), (22, false));
    request.claim = Some(ClaimRequest::new("triage").with_holder("ann"));
    let picked = stage.flow.pick(&request).await.unwrap();
    assert_eq!(picked.claimed.unwrap().value.id, free);
    let picked = stage.flow.pick(&request).await.unwrap();
    assert_eq!((picked.pick.issue, picked.truncated), (None, false));
    let why = "none of 23 issue(s) in Backlog can be worked on";
    assert_eq!(picked.pick.reason, why);
}

#[tokio::test]
async fn pick_of_role_takes_inputs_of_all_commands() {
    let mut definition = Definition::preset("ralph").unwrap();
    for (command, input, estimate) in [
        ("plan", "Ready for Plan", "S"),
        ("research", "Backlog", "L"),
    ] {
        let command = definition.commands.get_mut(command).unwrap();
        command.role = Some("thinkers".to_owned());
        command.inputs = vec![input.to_owned()];
        command.estimates = vec![estimate.to_owned()];
    }
    let hero = definition.commands.get_mut("hero").unwrap();
    hero.role = Some("thinkers".to_owned());
    hero.inputs = vec!["Ready for Plan".to_owned()];
    hero.estimates = vec!["M".to_owned()];
    let stage = Stage::with(definition).await;
    let sized = |state: &str, priority: &str, estimate: &str| {
        let mut new = in_state(state);
        for (field, value) in [("Priority", priority), ("Estimate", estimate)] {
            new.values.insert(field.to_owned(), value.to_owned());
        }
        new
    };
    // A command's estimates apply only to issues in the states from which the command takes issues.
    let large = stage.open(sized("Ready for Plan", "P0", "L")).await;
    let small = stage.open(sized("Ready for Plan", "P2", "S")).await;
    let medium = stage.open(sized("Ready for Plan", "P1", "M")).await;
    let backlog = stage.open(sized("Backlog", "P0", "L")).await;
    let mut request = PickRequest::of_command("Thinkers");
    request.claim = Some(ClaimRequest::new("Thinkers"));
    for (id, command) in [
        (medium, "ralph_hero"),
        (small, "ralph_plan"),
        (backlog, "ralph_research"),
    ] {
        let claimed = stage.flow.pick(&request).await.unwrap().claimed.unwrap();
        assert_eq!((claimed.value.id, &*claimed.value.command), (id, command));
    }
    let picked = stage.flow.pick(&request).await.unwrap().pick;
    assert_eq!(picked.issue, None);
    let skipped = (large, "its estimate is L".to_owned());
    assert!(picked.skipped.contains(&skipped), "{picked:?}");
    request.command = Some("thinkrs");
    request.state = Some("Backlog");
    let e = stage.flow.pick(&request).await.unwrap_err();
    assert!(e.message().starts_with("unknown command 'thinkrs'"), "{e}");
}

#[tokio::test]
async fn r_001_7_advance_moves_only_children_in_earlier_states() {
    let stage = Stage::new().await;
    let parent = stage.issue("Backlog").await;
    let report = stage
        .flow
        .advance(&parent, "In Review", false, false)
        .await
        .unwrap();
    assert!(report.advanced.is_empty() && report.skipped.is_empty() && report.errors.is_empty());
    for state in [
        "Ready for Plan",
        "In Review",
        "In Progress",
        "Human Needed",
        "",
    ] {
        stage.open(child(state, &parent)).await;
    }
    let dry = stage
        .flow
        .advance(&parent, "In Review", false, true)
        .await
        .unwrap();
    assert!(dry.dry_run);
    assert_eq!(stage.state(&stage.id(2)).await, "Ready for Plan");
    let report = stage
        .flow
        .advance(&parent, "in review", false, false)
        .await
        .unwrap();
    assert_eq!(
        (report.target_state.as_str(), report.dry_run),
        ("In Review", false)
    );
    assert_eq!(dry.advanced, report.advanced);
    let moved = &report.advanced[0];
    assert_eq!(
        (
            &moved.id,
            moved.from_state.as_deref(),
            moved.to_state.as_str()
        ),
        (&stage.id(2), Some("Ready for Plan"), "In Review")
    );
    let skipped: Vec<_> = report
        .skipped
        .iter()
        .map(|s| (s.id.clone(), s.reason.clone()))
        .collect();
    assert!(
        skipped.iter().any(|(id, _)| *id == stage.id(3)),
        "{skipped:?}"
    );
    assert!(
        skipped
            .iter()
            .any(|(id, why)| *id == stage.id(4) && why.contains("In Progress")),
        "{skipped:?}"
    );
    assert!(
        skipped
            .iter()
            .any(|(id, why)| *id == stage.id(5) && why.contains("Human Needed")),
        "{skipped:?}"
    );
    let trail = stage.flow.trail(&stage.id(2)).await.unwrap();
    assert_eq!(trail.moves.len(), 1);
    // A second call moves nothing. A call that overrides locks moves the locked child.
    let again = stage
        .flow
        .advance(&parent, "In Review", false, false)
        .await
        .unwrap();
    assert!(again.advanced.is_empty());
    let passed = stage
        .flow
        .advance(&parent, "In Review", true, false)
        .await
        .unwrap();
    assert_eq!(passed.advanced.len(), 1);
    assert_eq!(stage.state(&stage.id(4)).await, "In Review");
    let e = stage
        .flow
        .advance(&parent, "Human Needed", false, false)
        .await
        .unwrap_err();
    assert_eq!(e.code(), "invalid_input");
    let e = stage
        .flow
        .advance(&stage.id(99), "In Review", false, false)
        .await
        .unwrap_err();
    assert_eq!(e.code(), "not_found");
}

#[tokio::test]
async fn advance_skips_claimed_issues_or_ends_their_claims() {
    let stage = Stage::new().await;
    let parent = stage.issue("Backlog").await;
    let held = stage.open(child("Plan in Review", &parent)).await;
    let free = stage.open(child("Plan in Review", &parent)).await;
    // The command has no lock state, so only the claim shows that the issue is taken.
    let claim = |command, holder| ClaimRequest::new(command).with_holder(holder);
    let review = claim("review", "rev");
    stage.flow.claim(&held, &review).await.unwrap();
    let flow = &stage.flow;
    let dry = flow.advance(&parent, "In Review", false, true).await;
    let report = flow.advance(&parent, "In Review", false, false).await;
    let report = report.unwrap();
    assert_eq!(dry.unwrap().advanced, report.advanced);
    let ids: Vec<_> = report.advanced.iter().map(|moved| &moved.id).collect();
    assert_eq!(ids, [&free]);
    let left = &report.skipped[0];
    assert_eq!((&left.id, left.reason.as_str()), (&held, "rev works on it"));
    assert_eq!(stage.state(&held).await, "Plan in Review");
    let passed = flow.advance(&parent, "In Review", true, false).await;
    assert_eq!(passed.unwrap().advanced[0].id, held);
    assert_eq!(stage.state(&held).await, "In Review");
    assert_eq!(flow.trail(&held).await.unwrap().claim, None);
    // A claimed parent also stays.
    let triage = claim("triage", "ann");
    flow.claim(&parent, &triage).await.unwrap();
    let up = flow.advance_parent(&free, false).await.unwrap();
    assert!(up.advanced.is_empty(), "{up:?}");
    assert_eq!(up.skipped[0].reason, "ann works on it");
}

#[tokio::test]
async fn confirmed_advance_skips_and_names_new_children() {
    let stage = Stage::new().await;
    let parent = stage.issue("Backlog").await;
    let old = stage.open(child("Plan in Review", &parent)).await;
    let plan = stage.flow.advance(&parent, "In Review", false, true).await;
    let plan: Vec<_> = plan.unwrap().advanced.into_iter().map(|m| m.id).collect();
    let new = stage.open(child("Plan in Review", &parent)).await;
    let done = stage
        .flow
        .advance_confirmed(&parent, "In Review", false, &plan);
    let report = done.await.unwrap();
    let moved: Vec<_> = report.advanced.iter().map(|moved| &moved.id).collect();
    assert_eq!(moved, [&old]);
    let left: Vec<_> = report.skipped.iter().map(|left| &left.id).collect();
    assert_eq!(left, [&new]);
    let why = "it was not among the confirmed moves; advance again";
    assert_eq!(report.skipped[0].reason, why);
    assert_eq!(stage.state(&old).await, "In Review");
    assert_eq!(stage.state(&new).await, "Plan in Review");
}

#[tokio::test]
async fn parent_advances_to_the_last_common_gate() {
    let stage = Stage::new().await;
    let parent = stage.issue("Backlog").await;
    let e = stage.flow.advance_parent(&parent, false).await.unwrap_err();
    assert_eq!(e.message(), "#1 has no parent");
    let one = stage.open(child("In Review", &parent)).await;
    let two = stage.open(child("Research Needed", &parent)).await;
    stage.open(child("Canceled", &parent)).await;
    let waits = stage.flow.advance_parent(&one, false).await.unwrap();
    assert!(waits.advanced.is_empty());
    assert_eq!(
        waits.skipped[0].reason,
        "not all of its sub-issues are at a gate"
    );
    stage
        .flow
        .set_state(&two, &to("__COMPLETE__", "plan"))
        .await
        .unwrap();
    stage
        .flow
        .set_state(&two, &to("In Review", "hero"))
        .await
        .unwrap();
    let dry = stage.flow.advance_parent(&one, true).await.unwrap();
    assert!(dry.dry_run && dry.advanced.len() == 1);
    assert_eq!(stage.state(&parent).await, "Backlog");
    let report = stage.flow.advance_parent(&one, false).await.unwrap();
    assert_eq!(report.advanced[0].id, parent);
    assert_eq!(report.target_state, "In Review");
    assert_eq!(stage.state(&parent).await, "In Review");
    let again = stage.flow.advance_parent(&two, false).await.unwrap();
    assert_eq!(
        again.skipped[0].reason,
        "it is already at the gate, or past it"
    );
}

#[tokio::test]
async fn parent_with_an_unreadable_child_stays() {
    let stage = Stage::new().await;
    let parent = stage.issue("Backlog").await;
    let one = stage.open(child("In Review", &parent)).await;
    stage.open(child("Research Needed", &parent)).await;
    stage.damage(3);
    let report = stage.flow.advance_parent(&one, false).await.unwrap();
    assert!(report.advanced.is_empty(), "{report:?}");
    assert_eq!(
        report.skipped[0].reason,
        "not all of its sub-issues could be read"
    );
    let warned = report.warnings.iter().any(|w| w.message.contains("#3"));
    assert!(warned, "{:?}", report.warnings);
    assert_eq!(stage.state(&parent).await, "Backlog");
}

#[tokio::test]
async fn r_001_1_position_is_equal_for_all_members() {
    let stage = Stage::new().await;
    let parent = stage.issue("Backlog").await;
    let one = stage.open(child("Ready for Plan", &parent)).await;
    let mut two = child("Research Needed", &parent);
    two.blocked_by = vec![one.clone()];
    let two = stage.open(two).await;
    for seed in [&parent, &one, &two] {
        let view = stage.flow.group(seed).await.unwrap();
        assert_eq!(view.group.members, [one.clone(), two.clone()]);
        assert_eq!(view.group.primary, Some(one.clone()));
        assert!(view.warnings.is_empty() && !view.group.truncated);
    }
    let (position, _) = stage.flow.position(&two).await.unwrap();
    assert_eq!(
        (position.phase.as_str(), position.is_group),
        ("RESEARCH", true)
    );
    let (found, view) = stage
        .flow
        .convergence(&one, "Ready for Plan")
        .await
        .unwrap();
    assert_eq!((found.converged, found.ready, found.total), (false, 1, 2));
    assert_eq!(found.blocking[0].id, two);
    assert_eq!(view.issues.len(), 2);
    let mut cycle = EditIssue::default();
    cycle.blocked_by = SetChange {
        add: vec![two.clone()],
        ..SetChange::default()
    };
    stage.repo.edit_issue(&one, &cycle).await.unwrap();
    let view = stage.flow.group(&two).await.unwrap();
    assert_eq!(view.group.cycles, [[one.clone(), two.clone()]]);
    assert_eq!(
        stage.flow.group(&stage.id(99)).await.unwrap_err().code(),
        "not_found"
    );
}

#[tokio::test]
async fn state_labels_are_created_once_and_replaced() {
    let stage = Stage::new().await;
    let definition = stage.flow.definition().clone();
    let store = Box::new(LabelStore::new("state: ".to_owned()));
    let flow = Workflow::new(stage.repo.clone(), definition.clone(), store);
    let dry = flow.init(true).await.unwrap();
    assert!(dry.dry_run && !dry.made.is_empty() && dry.failed.is_empty());
    assert_eq!(flow.init(true).await.unwrap().made, dry.made);
    let made = flow.init(false).await.unwrap();
    assert!(!made.dry_run);
    assert_eq!(made.made, dry.made);
    assert!(
        made.made
            .iter()
            .any(|s| s.kind == "label" && s.name == "state: Backlog")
    );
    assert!(
        made.made.iter().any(|s| s.name == "estimate: XS"),
        "{made:?}"
    );
    assert!(flow.init(false).await.unwrap().made.is_empty());
    let id = stage.open(NewIssue::new("One", "")).await;
    for (state, command) in [("Research Needed", "triage"), ("Ready for Plan", "triage")] {
        let done = flow.set_state(&id, &to(state, command)).await.unwrap();
        assert_eq!(done.value.new_state, state);
        let issue = stage.read(&id).await;
        let names: Vec<_> = issue.labels.iter().map(|l| l.name.clone()).collect();
        assert_eq!(names, [format!("state: {state}")]);
        assert_eq!(flow.state_of(&issue).as_deref(), Some(state));
    }
    // If a person has set contradicting labels, all are listed, and a move resolves them.
    let mut edit = EditIssue::default();
    edit.labels.add = vec!["STATE: in review".to_owned(), "estimate: XS".to_owned()];
    stage.repo.edit_issue(&id, &edit).await.unwrap();
    let issue = stage.read(&id).await;
    let state = flow.state_of(&issue).unwrap();
    assert!(
        state.contains("In Review") && state.contains(" and "),
        "{state}"
    );
    assert_eq!(
        flow.store()
            .size(&definition, &issue, WorkflowValue::Estimate)
            .as_deref(),
        Some("XS")
    );
    flow.set_state(&id, &to("In Review", "impl")).await.unwrap();
    assert_eq!(
        flow.state_of(&stage.read(&id).await).as_deref(),
        Some("In Review")
    );
    let picked = PickRequest::of_state("In Review");
    let found = flow.pick(&picked).await.unwrap().pick.issue;
    assert_eq!(found.unwrap().member.id, id);
    // In a git repository the fields are part of the issue, so `init` creates nothing.
    assert!(stage.flow.init(false).await.unwrap().made.is_empty());
}
