//! Behaviour of missing capabilities: the forge's table, and the refusal before any request.

use std::collections::BTreeSet;

use forge_core::{
    Capability, Error, ErrorKind, PrId, Repo, Result, Support,
    model::{
        Check, CheckStatus, CloseReq, CommentId, CreatePull, DiffFormat, DiffReq, EditIssue,
        EditPull, FileEdit, IssueFields, IssueQuery, IssueReason, IssueState, Lock, MergeMethod,
        MergeReq, NewAttachment, NewIssue, NewLabel, NewReview, NewThread, PendingReview, PrFields,
        PullQuery, PushEdits, Resubmit, RevertPull, Reviewer, Rounds, SetIssueState, Subject,
        ThreadId, UpdateBranch, Verdict,
    },
};

use super::{Fixture, Set};
use forge_core::PageReq;

pub(super) fn cases(set: &mut Set) {
    let module = module_path!();
    set.add(module, "the_table_has_every_capability_once", &[], |fx| {
        Box::pin(table(fx))
    });
    set.add(module, "missing_capability_has_an_alternative", &[], |fx| {
        Box::pin(reasons(fx))
    });
    set.add(module, "the_limits_are_usable", &[], |fx| {
        Box::pin(limits(fx))
    });
    for capability in Capability::ALL {
        if set.capabilities().has(*capability) {
            continue;
        }
        let name = format!(
            "{}_is_refused_before_anything_is_written",
            capability.name()
        );
        set.add(module, &name, &[], |fx| Box::pin(no(fx, *capability)));
    }
}

async fn table(fx: Fixture) {
    let table = fx.author.client().forge().capabilities().table;
    let named: BTreeSet<_> = table.iter().map(|(c, _)| *c).collect();
    assert_eq!(named.len(), table.len(), "a capability is listed twice");
    let missing: Vec<_> = Capability::ALL
        .iter()
        .filter(|c| !named.contains(c))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

async fn reasons(fx: Fixture) {
    for (capability, support) in fx.author.client().forge().capabilities().table {
        let texts = match support {
            Support::Native => vec![],
            Support::Emulated { how } | Support::ClientSide { how } => vec![*how],
            Support::No { why, instead } => vec![*why, instead.text()],
        };
        for text in texts {
            assert!(
                text.len() > 5 && !text.contains("yet"),
                "{}: {text:?}",
                capability.name()
            );
        }
    }
}

async fn limits(fx: Fixture) {
    let limits = fx.author.limits();
    assert!(limits.title_max >= 1 && limits.body_max >= limits.title_max);
    assert!(limits.labels_max != Some(0) && limits.page_max >= 1);
}

async fn no(fx: Fixture, capability: Capability) {
    let pr = if fx.author.supports(Capability::PrCreate) {
        fx.open("feature").await.id
    } else {
        fx.author.pull_id(1)
    };
    let before = fx.git.refs();
    let Some(error) = ask(&fx.author, &pr, capability).await else {
        // No operation needs this capability. Its row in the table only informs readers.
        return;
    };
    assert!(
        matches!(error.kind(), ErrorKind::Unsupported { capability: c } if *c == capability),
        "{error:?}"
    );
    assert!(
        error.hint().is_some_and(|h| !h.text().is_empty()),
        "{error:?}"
    );
    assert_eq!(fx.git.refs(), before);
}

fn refusal<T>(result: Result<T>) -> Option<Error> {
    Some(result.err().expect("a refusal"))
}

/// Makes a request that needs only `capability`, as far as that is possible. Returns its error.
async fn ask(repo: &Repo, pr: &PrId, capability: Capability) -> Option<Error> {
    use Capability as C;
    let comment = CommentId {
        pr: pr.clone(),
        key: "1".into(),
    };
    let thread = ThreadId {
        pr: pr.clone(),
        key: "1".into(),
    };
    let mut new = CreatePull::new("other", "Other");
    let edit = |edit: EditPull| async move { refusal(repo.edit_pull(pr, &edit).await) };
    let merge = |req: MergeReq| async move { refusal(repo.merge(pr, &req).await) };
    let page = || PageReq::first(1);
    match capability {
        C::PrCreate => refusal(repo.create_pull(&new).await),
        C::PrCreateDraft => {
            new.draft = true;
            refusal(repo.create_pull(&new).await)
        }
        C::PrCreateCrossRepository => {
            new.head.owner = Some("somebody".into());
            refusal(repo.create_pull(&new).await)
        }
        C::PrCreatePatch => {
            new.patch = Some(b"x".to_vec());
            refusal(repo.create_pull(&new).await)
        }
        C::PrCreateEdits => {
            new.edits = vec![FileEdit::write("a", "b")];
            refusal(repo.create_pull(&new).await)
        }
        C::BranchPush => refusal(
            repo.push_edits(&PushEdits::new(
                "main",
                "0".repeat(40),
                "m",
                vec![FileEdit::write("a", "b")],
            ))
            .await,
        ),
        C::PrUpdateBranch => refusal(repo.update_branch(pr, &UpdateBranch::default()).await),
        C::PrCreateDependent => {
            new.depends_on = Some(pr.clone());
            refusal(repo.create_pull(&new).await)
        }
        C::PrResubmit => refusal(repo.resubmit(pr, &Resubmit::default()).await),
        C::PrRounds => {
            let mut req = DiffReq::default();
            req.rounds = Some(Rounds::new(Some(0), None));
            refusal(repo.diff(pr, &req).await)
        }
        C::PrList => refusal(repo.pulls(&PullQuery::default(), page()).await),
        C::PrListSearch => {
            let mut query = PullQuery::default();
            query.search = Some("word".into());
            refusal(repo.pulls(&query, page()).await)
        }
        C::PrListApp => {
            let mut query = PullQuery::default();
            query.app = Some("robot".into());
            refusal(repo.pulls(&query, page()).await)
        }
        C::Attachments => {
            let file = NewAttachment::new("a.png", "image/png", vec![0]);
            refusal(repo.attach(&[file]).await)
        }
        C::PrView => refusal(repo.pull(pr, PrFields::NONE).await),
        C::PrEdit => {
            let mut req = EditPull::default();
            req.title = Some("T".into());
            edit(req).await
        }
        C::PrEditBase => {
            let mut req = EditPull::default();
            req.base = Some("b".into());
            edit(req).await
        }
        C::PrLabels => {
            let mut req = EditPull::default();
            req.labels.add = vec!["l".into()];
            edit(req).await
        }
        C::PrAssignees => {
            let mut req = EditPull::default();
            req.assignees.add = vec!["@me".into()];
            edit(req).await
        }
        C::PrReviewers | C::PrReviewersTeam => {
            let name = if capability == C::PrReviewers {
                "somebody"
            } else {
                "org/team"
            };
            let mut req = EditPull::default();
            req.reviewers.add = vec![Reviewer::parse(name)];
            edit(req).await
        }
        C::PrMilestone => {
            let mut req = EditPull::default();
            req.milestone = Some(Some("1.0".into()));
            edit(req).await
        }
        C::PrProjects => {
            let mut req = EditPull::default();
            req.projects.add = vec!["Roadmap".into()];
            edit(req).await
        }
        C::PrClose => refusal(repo.close(pr, &CloseReq::default()).await),
        C::PrReopen => refusal(repo.reopen(pr, None).await),
        C::PrDraft => refusal(repo.set_draft(pr, true).await),
        C::PrLock => refusal(repo.set_lock(pr, Lock::Locked(None)).await),
        C::PrRevert => refusal(repo.revert(pr, &RevertPull::default()).await),
        C::PrDeleteBranch => {
            let mut req = MergeReq::default();
            req.delete_branch = true;
            merge(req).await
        }
        C::PrMergeability => refusal(repo.mergeability(pr).await),
        C::MergeCommit => merge(by(MergeMethod::Merge)).await,
        C::MergeSquash => merge(by(MergeMethod::Squash)).await,
        C::MergeRebase => merge(by(MergeMethod::Rebase)).await,
        C::MergeExpectedHead => {
            let mut req = MergeReq::default();
            req.expected_head = Some("0000000".into());
            merge(req).await
        }
        C::MergeAuto => {
            let mut req = MergeReq::default();
            req.auto = true;
            merge(req).await
        }
        C::MergeAdmin => {
            let mut req = MergeReq::default();
            req.admin = true;
            merge(req).await
        }
        C::PrDiff => refusal(repo.diff(pr, &DiffReq::default()).await),
        C::PrPatch => {
            let mut req = DiffReq::default();
            req.format = DiffFormat::Patch;
            refusal(repo.diff(pr, &req).await)
        }
        C::PrFiles => refusal(repo.files(pr, page()).await),
        C::PrCommits => refusal(repo.commits(pr, page()).await),
        C::PrHistory => refusal(repo.history(pr, page()).await),
        C::Comments => refusal(repo.comment(pr, "Text", None).await),
        C::CommentReply => refusal(repo.comment(pr, "Text", Some(&comment)).await),
        C::CommentEdit => refusal(repo.edit_comment(&comment, "Text").await),
        C::CommentDelete => refusal(repo.delete_comment(&comment).await),
        C::ReviewVerdict => refusal(
            repo.submit_review(pr, &NewReview::new(Verdict::Approve, ""))
                .await,
        ),
        C::ReviewInline => {
            let mut review = NewReview::new(Verdict::Comment, "");
            let thread = NewThread::new("README.md", Some(1), "Text");
            review.threads.push(thread);
            refusal(repo.submit_review(pr, &review).await)
        }
        C::ReviewPending => {
            let kept = NewReview::new(Verdict::Comment, "Text").with_pending(PendingReview::Keep);
            refusal(repo.submit_review(pr, &kept).await)
        }
        C::ReviewDismiss => refusal(repo.dismiss_review(pr, "r1", "Text").await),
        C::ThreadResolve => refusal(repo.resolve_thread(&thread, true).await),
        C::Checks => refusal(repo.checks(pr).await),
        C::ChecksRerun => refusal(repo.rerun_failed_checks(pr).await),
        C::CheckLogs => refusal(
            repo.check_log(pr, &Check::new("test", CheckStatus::Failure), 1)
                .await,
        ),
        C::IssueReason => {
            let req = SetIssueState::to(IssueState::Closed).with_reason(IssueReason::NotPlanned);
            refusal(repo.set_issue_state(&repo.issue_id(1), &req).await)
        }
        C::IssueDuplicateOf => {
            let mut req = SetIssueState::to(IssueState::Closed);
            req.duplicate_of = Some(repo.issue_id(2));
            refusal(repo.set_issue_state(&repo.issue_id(1), &req).await)
        }
        C::IssueList => refusal(repo.issues(&IssueQuery::default(), page()).await),
        C::IssueMilestone => {
            let mut edit = EditIssue::default();
            edit.milestone = Some(Some("1.0".into()));
            refusal(repo.edit_issue(&repo.issue_id(1), &edit).await)
        }
        C::IssueTypes => {
            let mut edit = EditIssue::default();
            edit.issue_type = Some(Some("Bug".into()));
            refusal(repo.edit_issue(&repo.issue_id(1), &edit).await)
        }
        C::IssueProjects => {
            let mut edit = EditIssue::default();
            edit.projects.add = vec!["Roadmap".into()];
            refusal(repo.edit_issue(&repo.issue_id(1), &edit).await)
        }
        C::IssueListSearch => {
            let mut query = IssueQuery::default();
            query.search = Some("word".into());
            refusal(repo.issues(&query, page()).await)
        }
        C::IssueView => refusal(repo.issue(&repo.issue_id(1), &IssueFields::default()).await),
        C::IssueCreate => refusal(repo.create_issue(&NewIssue::default()).await),
        C::IssueEdit => refusal(
            repo.edit_issue(&repo.issue_id(1), &EditIssue::default())
                .await,
        ),
        C::IssueState => {
            let req = SetIssueState::to(IssueState::Closed);
            refusal(repo.set_issue_state(&repo.issue_id(1), &req).await)
        }
        C::IssueComment => refusal(repo.create_issue_comment(&repo.issue_id(1), "Text").await),
        C::Links => refusal(repo.links(&Subject::Pull(pr.clone())).await),
        C::RepoFork => refusal(repo.fork().await),
        C::LabelList => refusal(repo.labels(page()).await),
        C::LabelEdit => refusal(repo.define_label(&NewLabel::default()).await),
        _ => None,
    }
}

fn by(method: MergeMethod) -> MergeReq {
    let mut req = MergeReq::default();
    req.method = Some(method);
    req
}
