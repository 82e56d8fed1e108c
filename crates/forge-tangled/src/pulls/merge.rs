//! Merges a pull request: first on the knot (git server), then with a status record.
//!
//! tangled has no operation that does both. A merge on the knot is never repeated, and is reported
//! only after a read of the branch has confirmed it. If the status record cannot be written, the
//! result says so and names the command that writes it.

use forge_core::{
    Action, Arg, Capability, Changed, Error, ErrorKind, Hint, Ingestion, Op, Outcome, Param, PrId,
    Precondition, Result, Step, Warning, check_expected_base, check_expected_head, check_version,
    model::{Merge, MergeMethod, MergeReq, PrFields, PrState},
    text::one_line,
};
use forge_http::Idempotency;
use futures::future;
use serde_json::Value;

use super::{
    head_branch,
    merge_claim::{drop_unproved_warning, find_merge_claim},
    merge_detection::{ExpectedTree, MergeDetection, Until, subject_of},
    record::TangledPull,
    state::EffectiveState,
    status::Status,
    versions::refuse_version,
    view::LocatedPull,
};
use crate::{
    Era, KnotFields, Tangled,
    applied::{self, RoundTrial},
    hints::{look_again, merge, rebase_first, record_merge, reopen, resubmit},
    ingest::Seen,
    knot::{Checked, KnotBranch, merge_input, no_branch},
    patch::{self, Patch},
    related_records, xrpc_error,
};

impl Tangled {
    /// See [`forge_core::PullRequests::merge`].
    pub(crate) async fn merge_pull(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>> {
        let located = self.locate(pr).await?;
        let (repository, pull) = (&located.repository, &located.pull);
        let (uri, expected) = (&pull.record.uri, req.expected_version.as_deref());
        check_version(
            uri,
            expected,
            pull.record.cid(),
            Action::op(Op::PrView).on(uri),
        )?;
        if repository.era == Era::Org10 {
            return self.merge_ticket(&located, req).await;
        }
        self.require_2026(repository, Capability::MergeRebase)?;
        let (undeclared, statuses) = future::join(
            self.undeclared(repository),
            self.deciding_statuses(repository, pull),
        )
        .await;
        let statuses = statuses?;
        let standing = EffectiveState::of(&statuses);
        if let Some(said) = find_merge_claim(&statuses) {
            check_expected_base(&pull.record.uri, req.expected_base.as_deref(), &pull.base)?;
            // No record says which round was merged, so the newest is assumed.
            check_expected_head(
                &pull.record.uri,
                req.expected_head.as_deref(),
                pull.head_id(),
            )?;
            let names = names(req, &located);
            return match self.landed_as_said(&located, said, &names).await? {
                MergeDetection::Yes => self.merged_already(&located, req, &statuses).await,
                landed => Err(self
                    .unproved(&located, said, &landed, "nothing was merged")
                    .await),
            };
        }
        // A declaration (the move of the repository to Tangled 1.0) stops the merge here. The
        // status record is written after the knot's merge, so that write checks the declaration
        // again.
        undeclared?;
        match standing.state {
            PrState::Closed => {
                return Err(Error::precondition(
                    Precondition::Closed,
                    format!("{} is closed", pull.record.uri),
                )
                .with_hint(reopen(&pull.record.uri)));
            }
            PrState::Open | PrState::Merged => {}
        }
        self.refuse_draft(pull)?;
        self.may_push(repository, "merge", "only its owner and collaborators may")
            .await?;
        self.require_parent_merged(&located).await?;
        self.refuse_contradiction(&located).await?;
        refuse_version(pull)?;
        let patch = self.latest_patch(repository, pull).await?;
        check_expected_head(
            &pull.record.uri,
            req.expected_head.as_deref(),
            pull.head_id(),
        )?;
        check_expected_base(&pull.record.uri, req.expected_base.as_deref(), &pull.base)?;
        if !patch.mails.is_empty() {
            no_message(req)?;
        }
        let before = self
            .branch(repository, &pull.base)
            .await?
            .ok_or_else(|| no_branch("base", repository, &pull.base))?;
        // A patch that no knot accepts may have been merged by hand, so its error does not end the
        // search for its changes on the branch.
        let check = async {
            match as_text(pull, &patch) {
                Ok(text) => {
                    let checked = self.merge_check(repository, &pull.base, text).await?;
                    Ok(Ok((text, checked)))
                }
                Err(e) => Ok(Err(e)),
            }
        };
        // Some changes apply twice. So the branch may have the changes already, even if the patch
        // still applies.
        let looked = future::try_join(check, self.landed_before(&located, &patch, &before, req));
        let (looked, stacked) = future::join(looked, self.merged_into_head_warning(&located)).await;
        let (checked, landed) = looked?;
        let doubt = match landed {
            // An earlier merge succeeded, but its status record was not written.
            MergeDetection::Yes => {
                return self
                    .record_merge(&located, &before, req, standing, true)
                    .await;
            }
            MergeDetection::No => None,
            MergeDetection::Perhaps(subject) => {
                Some(unproven_merge_error(&located, &patch, &subject))
            }
            MergeDetection::Unknown(why) => Some(unknown(&located, &why)),
        };
        req.may_merge(&pull.record.uri)?;
        if let Some(why) = patch.fault() {
            return Err(Error::precondition(
                Precondition::Rule,
                format!(
                    "cannot merge {}: git may apply other changes than the ones shown, because the \
                     patch {why}",
                    pull.record.uri
                ),
            )
            .with_hint(
                "have the author submit the round as `git format-patch` prints it, with messages \
                 in UTF-8",
            ));
        }
        let (text, checked) = checked?;
        match (checked, doubt) {
            (Checked::Clean, None) => {}
            (Checked::Clean, Some(doubt)) => return Err(doubt),
            (other, _) => return Err(refusal(&located, other)),
        }
        let expected = expected_tree(&located, &before, req, &patch).await?;
        self.ensure_unchanged(&located).await?;
        let input = merge_input(&self.settings.dialects, repository, &pull.base, text);
        let of = &self.settings.dialects.inputs.knot;
        let input = with_message(input, of, req, &located, &patch);
        let method = &self.settings.dialects.methods.knot.merge;
        let older = (&*of.name, repository.name.as_str());
        let merged = self
            .knot_call(repository, Idempotency::Write, method, input, older)
            .await;
        let after = self
            .landed(&located, &patch, &before, req, expected, merged)
            .await?;
        let mut outcome = self
            .record_merge(&located, &after, req, standing, false)
            .await?;
        outcome.warnings.extend(stacked);
        Ok(outcome)
    }

    /// Fails if the record of the pull request has changed since it was read.
    ///
    /// The author may have added a round that the viewer has not seen. Then neither this round nor
    /// the older one may be merged.
    async fn ensure_unchanged(&self, located: &LocatedPull) -> Result<()> {
        let pull = &located.pull;
        let pds = self.identities.pds(pull.author()).await?;
        let now = crate::records::get_uri(&pds, &pull.uri).await?;
        let is_same_id = now.cid() == pull.record.cid();
        // Different values can have the same CID if the CID was not verified, so the values are
        // compared too.
        if is_same_id && now.value == pull.record.value {
            return Ok(());
        }
        let (uri, was, is) = (&pull.record.uri, pull.record.cid(), now.cid());
        let how = match is_same_id {
            true => format!("under the same CID {}", one_line(is)),
            false => format!("from {} to {}", one_line(was), one_line(is)),
        };
        Err(Error::new(
            ErrorKind::Conflict {
                what: Changed::Record,
                expected: was.to_owned(),
                actual: is.to_owned(),
            },
            format!("{uri} was changed {how} while it was about to be merged"),
        )
        .with_hint(look_again(uri)))
    }

    /// Returns the target branch after the merge. Fails if nothing proves that the branch has the
    /// changes.
    ///
    /// Only the branch is the proof, and not the knot's answer, because another account may have
    /// pushed at the same time.
    async fn landed(
        &self,
        located: &LocatedPull,
        patch: &Patch,
        before: &KnotBranch,
        req: &MergeReq,
        expected: Option<ExpectedTree<'_>>,
        merged: Result<Value>,
    ) -> Result<KnotBranch> {
        let (repository, pull) = (&located.repository, &located.pull);
        let lost = match merged {
            Ok(_) => None,
            Err(e) if xrpc_error::is_ambiguous(&e) => Some(e),
            Err(e) => return Err(e),
        };
        let name = subject(req, located);
        let after = self.branch(repository, &pull.base).await;
        let moved = |after: Option<KnotBranch>| after.filter(|after| after.hash != before.hash);
        let (landed, after) = match after.map(moved) {
            Err(e) => (MergeDetection::Unknown(e.message().to_owned()), None),
            Ok(None) => (MergeDetection::No, None),
            Ok(Some(after)) => {
                let range = (before.hash.as_str(), after.hash.as_str());
                let landed = self
                    .landed_between(located, patch, range, name, expected)
                    .await;
                let landed =
                    landed.unwrap_or_else(|e| MergeDetection::Unknown(e.message().to_owned()));
                (landed, Some(after))
            }
        };
        match (landed, after, lost) {
            (MergeDetection::Yes, Some(after), _) => Ok(after),
            (landed, _, Some(lost)) => Err(lost.with_hint(left_open(located, req, &landed))),
            (landed, _, None) => {
                let (uri, base) = (&pull.record.uri, one_line(&pull.base));
                let said = format!("the knot says that it has merged {uri}");
                let message = match &landed {
                    MergeDetection::Unknown(why) => {
                        format!("{said}, but it is unknown whether '{base}' has the change: {why}")
                    }
                    MergeDetection::Perhaps(subject) => format!(
                        "{said}, but it is not proven that the new commit '{}' on '{base}' is the \
                         change",
                        one_line(subject)
                    ),
                    _ => format!("{said}, but '{base}' does not hold the change"),
                };
                Err(Error::new(ErrorKind::Protocol, message)
                    .with_retry(forge_core::Retry::Ambiguous)
                    .with_hint(left_open(located, req, &landed)))
            }
        }
    }

    /// Searches the branch, as it was before this call, for the changes.
    ///
    /// An earlier merge may have been interrupted before its status record was written.
    async fn landed_before(
        &self,
        located: &LocatedPull,
        patch: &Patch,
        before: &KnotBranch,
        req: &MergeReq,
    ) -> Result<MergeDetection> {
        let until = Until::submitted(located);
        self.landed_in(located, patch, &before.hash, until, &names(req, located))
            .await
    }

    /// Writes the status record of a merge. If that fails, the failure is reported together with
    /// the merge.
    async fn record_merge(
        &self,
        located: &LocatedPull,
        tip: &KnotBranch,
        req: &MergeReq,
        before: EffectiveState,
        earlier: bool,
    ) -> Result<Outcome<Merge>> {
        let uri = located.pull.record.uri.clone();
        let record = self.status_record(&uri, PrState::Merged, before.newest_claim)?;
        let did = self.session.viewer().await?.identity.did.clone();
        let written = async {
            let undeclared = self.undeclared(&located.repository).await?;
            self.create_records(undeclared, std::slice::from_ref(&record))
                .await
        };
        let written = written.await;
        let mut steps = vec![Step::new("merge on the knot", true)];
        let mut warnings = Vec::new();
        if earlier {
            warnings.push(Warning::new(
                "the branch already had the change; only the status record was missing",
            ));
        }
        let recorded = written.is_ok();
        steps.push(Step::new("record the merge", recorded));
        let ingestion = match written {
            Ok(cids) => {
                let kind = related_records::statuses(&self.settings.dialects);
                let seen = Seen::About(kind, &uri);
                let written = record.written(&did, cids);
                let told = self.ingestion(&located.repository, seen, &written).await;
                told.ingestion
            }
            Err(e) => {
                let what = match xrpc_error::is_ambiguous(&e) {
                    true => "merged on the knot, but it is unknown whether that is recorded",
                    false => "merged on the knot, but not recorded, so that it still shows as open",
                };
                warnings.push(
                    Warning::new(format!("{what}: {}", e.message()))
                        .with_hint(record_merge(retry_action(&uri, req))),
                );
                Ingestion::Pending {
                    uri: None,
                    waited: std::time::Duration::ZERO,
                    doubt: None,
                }
            }
        };
        let branch_deleted = req.delete_branch
            && self
                .delete_head(located, None, &mut steps, &mut warnings)
                .await;
        let mut view = match self.view_fresh(located, PrFields::NONE).await {
            Ok(view) => view,
            Err(_) => {
                self.build(&located.repository, &located.pull, Default::default())
                    .await
            }
        };
        if recorded {
            self.as_written(&mut view, PrState::Merged).await;
        }
        drop_unproved_warning(&mut view);
        let commit = Some(tip.hash.clone());
        view.merge_commit.clone_from(&commit);
        let mut merge = Merge::of(view);
        merge.commit = commit;
        merge.method = Some(MergeMethod::Rebase);
        merge.already_merged = earlier;
        merge.branch_deleted = branch_deleted;
        let mut outcome = Outcome::immediate(merge);
        outcome.ingestion = ingestion;
        outcome.steps = steps;
        outcome.warnings = warnings;
        Ok(outcome)
    }

    /// Reports a pull request that is on the target branch and recorded as merged.
    ///
    /// Nothing is changed, except that its head branch is deleted if requested.
    async fn merged_already(
        &self,
        located: &LocatedPull,
        req: &MergeReq,
        statuses: &[Status],
    ) -> Result<Outcome<Merge>> {
        let ingestion = self.ingestion_of_pull_state(located, statuses).await;
        let mut view = self.view_fresh(located, PrFields::NONE).await?;
        drop_unproved_warning(&mut view);
        let (mut steps, mut warnings) = (Vec::new(), Vec::new());
        warnings.push(Warning::new(format!(
            "{} is merged already",
            located.pull.record.uri
        )));
        let branch_deleted = req.delete_branch
            && match check_merged_round(located, EffectiveState::of(statuses)) {
                Ok(()) => {
                    self.delete_head(located, None, &mut steps, &mut warnings)
                        .await
                }
                Err(e) => {
                    steps.push(Step::delete_head_branch(None));
                    warnings.push(head_branch::kept_branch_warning(&e));
                    false
                }
            };
        let mut merge = Merge::of(view);
        merge.commit.clone_from(&merge.pull_request.merge_commit);
        merge.already_merged = true;
        merge.branch_deleted = branch_deleted;
        let mut outcome = Outcome::immediate(merge);
        outcome.ingestion = ingestion;
        outcome.unchanged = !branch_deleted;
        outcome.steps = steps;
        outcome.warnings = warnings;
        Ok(outcome)
    }
}

/// Fails if the newest round was added after the merge, because it is then not the merged round.
///
/// No record says which round was merged, so the times decide.
fn check_merged_round(located: &LocatedPull, merged: EffectiveState) -> Result<()> {
    let round = located
        .pull
        .latest()
        .and_then(|(_, round)| round.created_at);
    match (round, merged.decided) {
        (Some(round), Some(merged)) if round > merged => Err(Error::precondition(
            Precondition::Rule,
            format!("the newest round ({round}) was submitted after the merge ({merged})"),
        )
        .with_hint("look at the branch, then delete it with git")),
        _ => Ok(()),
    }
}

/// Returns the patch of the newest round as text, which a knot requires.
///
/// # Errors
/// `precondition_failed` if the patch is not UTF-8.
pub(super) fn as_text<'a>(pull: &TangledPull, patch: &'a Patch) -> Result<&'a str> {
    patch::text(&patch.raw).map_err(|not| {
        let why = not.why("its newest round");
        let message = format!("{} cannot be merged: {why}", pull.record.uri);
        let hint = Hint::from(format!("{}, then submit another round", not.hint()));
        Error::precondition(Precondition::Rule, message)
            .with_hint(hint.with_action(resubmit(&pull.record.uri)))
    })
}

fn refusal(located: &LocatedPull, checked: Checked) -> Error {
    let uri = &located.pull.record.uri;
    match checked {
        Checked::Conflicts(files) => {
            let named = if files.is_empty() {
                String::new()
            } else {
                format!(" in {}", files.join(", "))
            };
            Error::precondition(
                Precondition::Conflicts(files),
                format!("{uri} does not apply to '{}'{named}", located.pull.base),
            )
            .with_hint(rebase_first(uri))
        }
        Checked::Unknown(why) => Error::new(
            ErrorKind::Upstream {
                status: 200,
                request_id: None,
            },
            format!("the knot could not check whether {uri} can be merged: {why}"),
        )
        .with_hint("try again later: nothing was merged"),
        Checked::Clean => Error::new(ErrorKind::Internal, "a clean merge was refused"),
    }
}

/// Applies a round to the tip of its target branch in a scratch repository, if the clone of the
/// request has this commit. Returns the tree that the merge makes.
///
/// # Errors
/// `precondition_failed` if git refuses the round, or makes other changes of it than it shows.
async fn expected_tree<'a>(
    located: &LocatedPull,
    tip: &KnotBranch,
    req: &'a MergeReq,
    patch: &Patch,
) -> Result<Option<ExpectedTree<'a>>> {
    let Some(clone) = &req.clone else {
        return Ok(None);
    };
    let (uri, base) = (&located.pull.record.uri, one_line(&located.pull.base));
    match applied::try_round(clone, &tip.hash, patch).await? {
        None => Ok(None),
        Some(RoundTrial::AsShown { tree }) => Ok(Some(ExpectedTree { clone, tree })),
        Some(RoundTrial::Differs(why)) => Err(Error::precondition(
            Precondition::Rule,
            format!(
                "cannot merge {uri}: git makes other changes of its newest round than the ones \
                 shown: {why}"
            ),
        )
        .with_hint(
            Hint::new(
                "have its author rebase the change onto the target branch, and submit another \
                 round as `git format-patch` prints it",
            )
            .with_action(resubmit(uri)),
        )),
        Some(RoundTrial::Refused { why, files }) => Err(Error::precondition(
            Precondition::Conflicts(files),
            format!(
                "{uri} does not apply to '{base}' at {}, although the knot says that it does: {why}",
                tip.hash
            ),
        )
        .with_hint(rebase_first(uri))),
        Some(RoundTrial::TooLarge(why)) => Err(Error::precondition(
            Precondition::Rule,
            format!(
                "cannot merge {uri}: its newest round is too large to compare what it shows with \
                 what git makes of it: {why}"
            ),
        )
        .with_hint(
            "have its author split the change, or merge it from a directory outside of the clone, \
             where nothing is compared",
        )),
    }
}

/// Refuses a message or an author in the request. The commits of a round have messages and authors
/// of their own.
pub(crate) fn no_message(req: &MergeReq) -> Result<()> {
    let given = [
        ("subject", req.subject.is_some()),
        ("body", req.body.is_some()),
        ("author_email", req.author_email.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((field, _)) => Err(Error::invalid(
            field,
            "a merge on tangled applies the commits of a round unchanged, with their own messages \
             and authors; nothing was merged",
        )
        .with_hint(
            Hint::new("leave out the subject, the body and the author's address").with_action(
                Action::again(&[
                    (Param::Subject, Arg::Omit),
                    (Param::Body, Arg::Omit),
                    (Param::AuthorEmail, Arg::Omit),
                ]),
            ),
        )),
    }
}

/// Returns the possible subjects of the commit that merges a plain diff.
///
/// These are the subject of this request, and the title of the pull request, because a merge
/// without a message uses the title. A plain diff has no author and no time by which its commit
/// could be recognized.
fn names(req: &MergeReq, located: &LocatedPull) -> [String; 2] {
    [subject(req, located), subject_of(&located.pull.title)]
}

/// Returns the subject that the commit of a plain diff would get from this request.
fn subject(req: &MergeReq, located: &LocatedPull) -> String {
    let given = req.subject.as_deref();
    subject_of(given.unwrap_or(&located.pull.title))
}

fn unproven_merge_error(located: &LocatedPull, patch: &Patch, subject: &str) -> Error {
    let (known, hint) = match patch.mails.is_empty() {
        true => (
            "a plain diff can be matched only by its subject and its changed lines",
            Hint::new("merge with a different subject, so that the new commit can be told apart")
                .with_action(Action::again(&[(Param::Subject, Arg::Choose)])),
        ),
        false => (
            "the commits of a series are matched by author, time, subject and changed lines",
            Hint::new(
                "have its author give the commits another time (`git commit --amend --no-edit \
                 --date=now`) and submit another round",
            )
            .with_action(resubmit(&located.pull.record.uri)),
        ),
    };
    Error::new(
        ErrorKind::AlreadyExists { existing: None },
        format!(
            "'{}' has a newer commit '{}' that may already be this change, but this is not proven: \
             {known}",
            one_line(&located.pull.base),
            one_line(subject)
        ),
    )
    .with_hint(
        hint.map_text(|text| format!("look at the branch; if the change is not there, {text}")),
    )
}

fn unknown(located: &LocatedPull, why: &str) -> Error {
    Error::precondition(
        Precondition::Rule,
        format!(
            "nothing was merged, because it is unknown whether '{}' has {} already: {why}",
            one_line(&located.pull.base),
            located.pull.record.uri
        ),
    )
    .with_hint(
        Hint::new(
            "have its author submit another round, because only commits newer than the round are \
             checked",
        )
        .with_action(resubmit(&located.pull.record.uri)),
    )
}

/// Returns the hint for a merge that the knot may have made, but that the branch does not prove.
fn left_open(located: &LocatedPull, req: &MergeReq, landed: &MergeDetection) -> Hint {
    let base = one_line(&located.pull.base);
    let seen = match landed {
        MergeDetection::Perhaps(subject) => format!(
            "'{base}' got a commit '{}' meanwhile, and nothing proves that it is this change",
            one_line(subject)
        ),
        MergeDetection::Unknown(why) => {
            format!("whether '{base}' holds the change is not known: {why}")
        }
        MergeDetection::Yes | MergeDetection::No => format!("'{base}' does not show the change"),
    };
    Hint::from(format!(
        "check the branch before you merge again: {seen}, and no merge was recorded. The next \
         merge searches the branch first, and only records the merge if the change is there"
    ))
    .with_action(retry_action(&located.pull.record.uri, req))
}

/// Returns the action that repeats the merge. The action keeps the subject, because a plain diff is
/// found on the branch by its subject.
fn retry_action(uri: &str, req: &MergeReq) -> Action {
    match &req.subject {
        Some(subject) => merge(uri).with(Param::Subject, subject),
        None => merge(uri),
    }
}

/// Adds the message with which a knot commits a plain diff. A series of commits needs no message,
/// because each commit has one.
fn with_message(
    mut input: Value,
    of: &KnotFields,
    req: &MergeReq,
    located: &LocatedPull,
    patch: &Patch,
) -> Value {
    if !patch.mails.is_empty() {
        return input;
    }
    let pull = &located.pull;
    let subject = req.subject.clone().unwrap_or_else(|| pull.title.clone());
    let body = req.body.clone().unwrap_or_else(|| pull.body.clone());
    if let Some(map) = input.as_object_mut() {
        map.insert(of.message.to_string(), subject.into());
        map.insert(of.message_body.to_string(), body.into());
        if let Some(email) = &req.author_email {
            map.insert(of.email.to_string(), email.clone().into());
        }
    }
    input
}
