//! Merges on Tangled 1.0: rebases in the user's clone, pushes, then writes the state.
//!
//! The knot's own merge method is only partly known (not its styles, its answer, or who sets the
//! state), so it is not used. A push needs no guess. It is never repeated, because the branch shows
//! whether it succeeded. If a command fails after its push, a repeated command finds the change on
//! the branch and only writes the state.

use std::time::Duration;

use forge_core::{
    Action, Arg, Capability, Changed, Error, ErrorKind, Hint, Ingestion, Noun, Outcome, Param,
    Precondition, Result, Retry, Step, Warning, check_expected_base, check_expected_head,
    model::{LocalClone, Merge, MergeMethod, MergeReq, PrFields, PrState},
    text::one_line,
};
use forge_git::{Git, Merged, PushTarget, Rebase, Rebased, Signing, command_line};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    Tangled,
    hints::{look_again, merge, rebase_first, record_merge, reopen, resubmit},
    inferred_names,
    knot::{KnotBranch, no_branch},
    pulls::{
        merge::no_message,
        record::{Content, TangledPull},
        view::LocatedPull,
    },
    remote_refs::MAX_PRINTED,
    ticket_writes::{altered_record_error, experimental, unread_write_error},
    tickets, xrpc_error,
};

/// Time that a knot gets to detect a pushed merge by itself.
const MERGE_DETECTION_TIME: Duration = Duration::from_secs(2);
const RECORD: &str = "record the merge";

/// State of the target branch after a merge.
struct LandedRound {
    tip: String,
    /// True if the branch had the change before this call.
    earlier: bool,
    /// What was pushed where: `<commit> -> origin/main`.
    route: String,
}

impl Tangled {
    /// Merges a ticket by rebasing its newest round onto the target branch.
    pub(crate) async fn merge_ticket(
        &self,
        located: &LocatedPull,
        req: &MergeReq,
    ) -> Result<Outcome<Merge>> {
        let (repository, pull) = (&located.repository, &located.pull);
        let uri = &pull.record.uri;
        if req.delete_branch {
            return Err(Error::unsupported(
                Capability::PrDeleteBranch,
                "how Tangled 1.0 deletes a branch is not known; nothing was merged",
                Hint::new(
                    "merge without deleting the branch (also not by `merge.delete_branch` in the \
                     configuration), then `git push REMOTE --delete BRANCH`",
                )
                .with_action(Action::again(&[(Param::DeleteBranch, Arg::Omit)])),
            ));
        }
        let expected = || {
            let head = pull.source_sha.as_deref();
            check_expected_head(uri, req.expected_head.as_deref(), head)?;
            check_expected_base(uri, req.expected_base.as_deref(), &pull.base)
        };
        match self.ticket_state(located) {
            Some(PrState::Merged) => {
                expected()?;
                return self.ticket_was_merged(located, req).await;
            }
            Some(PrState::Closed) => {
                return Err(
                    Error::precondition(Precondition::Closed, format!("{uri} is closed"))
                        .with_hint(reopen(uri)),
                );
            }
            Some(PrState::Open) | None => req.may_merge(uri)?,
        }
        let head = pull.source_sha.as_deref().ok_or_else(|| {
            Error::precondition(
                Precondition::NothingToMerge,
                format!("{uri} has no round with commits"),
            )
            .with_hint(Hint::new("have its author submit a round").with_action(resubmit(uri)))
        })?;
        expected()?;
        self.check_newest_round(located, req, head).await?;
        no_message(req)?;
        let clone = req.clone.as_ref().ok_or_else(|| no_clone(located))?;
        self.owner_confirmed(repository).await?;
        self.session.viewer().await?;
        let before = self
            .branch(repository, &pull.base)
            .await?
            .ok_or_else(|| no_branch("base", repository, &pull.base))?;
        let git = Git::at(&clone.dir).with_trust(clone.trust).for_write();
        fetch(&git, clone, located, &before, head).await?;
        let rebased = match has_landed(&git, &before.hash, head).await? {
            true => Rebased::Nothing,
            false => rebased(&git, &before, head).await?,
        };
        let (tip, earlier) = match rebased {
            Rebased::Nothing => (before.hash.clone(), true),
            Rebased::EvilMerge(merge) => return Err(incomplete_merge_error(located, &merge)),
            Rebased::Conflicts { files, commit } => {
                return Err(conflict(located, files, &commit));
            }
            Rebased::Onto(tip) => (tip, false),
        };
        if earlier {
            // The branch may have changed the round's lines since, so a merge of branch and round
            // would prove nothing.
            if let Some(merge) = git.find_evil_merge(&before.hash, head).await? {
                return Err(incomplete_merge_error(located, &merge));
            }
        } else {
            check_rebase_result(&git, located, [&before.hash, head, &tip]).await?;
            check_every_commit_shown(&git, clone, pull, &before.hash, head).await?;
            self.ticket_as_read(located).await?;
            self.push(&git, clone, located, &before, &tip).await?;
        }
        let target = PushTarget::of_merge(&clone.remote, &pull.base);
        let route = target.route(&tip);
        let landed = LandedRound {
            tip,
            earlier,
            route,
        };
        self.record_ticket_merge(located, landed).await
    }

    /// Refuses the merge if only claimed dates say that `head` is the newest of several rounds.
    ///
    /// The order is certain if the caller names the head, or if the head branch is at this commit.
    async fn check_newest_round(
        &self,
        located: &LocatedPull,
        req: &MergeReq,
        head: &str,
    ) -> Result<()> {
        let (repository, pull) = (&located.repository, &located.pull);
        if pull.rounds.len() < 2 || req.expected_head.is_some() {
            return Ok(());
        }
        if !pull.head.is_empty() && pull.fork(repository).is_none() {
            let tip = self.branch(repository, &pull.head).await?;
            if tip.is_some_and(|tip| tip.hash == head) {
                return Ok(());
            }
        }
        let message = format!(
            "{} has {} rounds, and only the dates that their author wrote say that {head} is the \
             newest; nothing was merged",
            pull.record.uri,
            pull.rounds.len()
        );
        let hint = format!("review the rounds, then merge with {head} as the expected head");
        Err(Error::precondition(Precondition::Rule, message).with_hint(hint))
    }

    /// Handles a ticket (pull request record) that is already marked as merged. The result also
    /// says whether the branch has the change. The mark does not prove it: any permitted account
    /// can set the state, and a knot may squash a merge.
    async fn ticket_was_merged(
        &self,
        located: &LocatedPull,
        req: &MergeReq,
    ) -> Result<Outcome<Merge>> {
        let view = self.view_located(located, PrFields::NONE).await?;
        let base = one_line(&located.pull.base);
        let doubt = match self.ticket_is_there(located, req).await {
            Ok(true) => None,
            Ok(false) => Some(format!(
                "the ticket says that it is merged, but '{base}' does not show its commits: they \
                 were squashed, reverted since, or never merged"
            )),
            Err(e) => Some(format!(
                "the ticket says that it is merged; whether '{base}' has its commits could not be \
                 checked: {}",
                e.message()
            )),
        };
        let warning = Warning::new(format!("{} is merged already", located.pull.record.uri));
        let mut merge = Merge::of(view);
        merge.already_merged = true;
        let mut outcome = Outcome::unchanged(merge, warning);
        outcome.warnings.extend(doubt.map(Warning::new));
        Ok(outcome.with_warning(experimental()))
    }

    /// Checks in the clone whether the target branch has the newest round.
    async fn ticket_is_there(&self, located: &LocatedPull, req: &MergeReq) -> Result<bool> {
        let (repository, pull) = (&located.repository, &located.pull);
        let clone = req.clone.as_ref().ok_or_else(|| no_clone(located))?;
        let Some(head) = pull.source_sha.as_deref() else {
            return Ok(false);
        };
        let base = self
            .branch(repository, &pull.base)
            .await?
            .ok_or_else(|| no_branch("base", repository, &pull.base))?;
        let git = Git::at(&clone.dir).with_trust(clone.trust);
        fetch(&git, clone, located, &base, head).await?;
        let base = &base.hash;
        Ok(has_landed(&git, base, head).await? && git.find_evil_merge(base, head).await?.is_none())
    }

    /// Refuses a merge if a round was added since the ticket was read. Neither the unseen round nor
    /// the outdated one may be merged.
    async fn ticket_as_read(&self, located: &LocatedPull) -> Result<()> {
        let now = self.reread_pull(located).await?.pull;
        let (was, is) = (&located.pull, &now);
        // Compares the whole record, because nothing verifies the CID of a record to which the knot
        // adds fields.
        if was.record == is.record && was.source_sha == is.source_sha {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Conflict {
                what: Changed::Record,
                expected: was.record.cid().to_owned(),
                actual: is.record.cid().to_owned(),
            },
            format!(
                "{} was changed while it was about to be merged",
                was.record.uri
            ),
        )
        .with_hint(look_again(&was.record.uri)))
    }

    /// Pushes `tip` to the target branch, unless the branch has moved. Whether the push succeeded
    /// is read from the branch, not from the output of the push.
    async fn push(
        &self,
        git: &Git,
        clone: &LocalClone,
        located: &LocatedPull,
        before: &KnotBranch,
        tip: &str,
    ) -> Result<()> {
        let (repository, base) = (&located.repository, &located.pull.base);
        let target = PushTarget::of_merge(&clone.remote, base);
        let remote = git.for_remote().await?;
        forge_core::call::write_begins();
        let pushed = remote.push_commit(tip, &target, &before.hash).await?;
        let after = self.branch(repository, base).await;
        if let Ok(Some(after)) = &after
            && after.hash == tip
        {
            return Ok(());
        }
        if pushed.status == 0 {
            // The knot shows another tip than the pushed one. Either another account has pushed
            // later commits, or the knot's answer is outdated. Therefore the branch is read again
            // with git.
            let refname = format!("refs/heads/{base}");
            let ask = vec!["ls-remote", "--", &clone.remote, &refname];
            match remote.run_within(ask, MAX_PRINTED).await {
                Ok(Some(there)) if there.starts_with(tip.as_bytes()) => return Ok(()),
                Ok(_) => {}
                Err(e) => return Err(pushed_unseen(clone, located, tip, e)),
            }
        }
        let said = pushed.error("push");
        let base = one_line(base);
        let failed = pushed.status != 0;
        let again = |hint: Hint| hint.with_action(merge(&located.pull.record.uri));
        let actual = match after {
            Ok(Some(after)) if failed && after.hash == before.hash => {
                let refspec = format!("HEAD:refs/heads/{base}");
                let push = ["git", "push", &clone.remote, &refspec, "--dry-run"];
                let hint = Hint::from(format!(
                    "check that `{}` works in {}, then merge again; nothing was merged",
                    command_line(push),
                    clone.dir.display()
                ));
                return Err(said.with_hint(again(hint)));
            }
            Err(e) if failed => {
                let hint = Hint::from(format!(
                    "merge again: the command first checks whether '{base}' has the change, which \
                     could not be checked now ({})",
                    e.message()
                ));
                return Err(said.with_retry(Retry::Ambiguous).with_hint(again(hint)));
            }
            Ok(Some(after)) => after.hash,
            Ok(None) | Err(_) => "unknown".to_owned(),
        };
        Err(Error::new(
            ErrorKind::Conflict {
                what: Changed::Base,
                expected: before.hash.clone(),
                actual,
            },
            format!("'{base}' moved while {tip} was pushed to it"),
        )
        .with_hint(again(Hint::new(
            "merge again: the command pushes the change only if the branch lacks it",
        ))))
    }

    /// Records the ticket as merged, unless the knot did so. If the write fails, the result has a
    /// warning and names the finished steps.
    async fn record_ticket_merge(
        &self,
        located: &LocatedPull,
        landed: LandedRound,
    ) -> Result<Outcome<Merge>> {
        let uri = located.pull.record.uri.clone();
        let mut warnings = vec![experimental()];
        let mut steps = Vec::new();
        if landed.earlier {
            warnings.push(Warning::new(
                "the branch already had the change; only the state of the ticket was missing",
            ));
        } else {
            steps.push(Step::new(format!("push {}", landed.route), true));
        }
        let mut told = Vec::new();
        let recorded = self
            .ensure_ticket_merged(located, landed.earlier, &mut told)
            .await;
        warnings.extend(told);
        steps.push(Step::new(RECORD, recorded.is_ok()));
        let ingestion = match &recorded {
            Ok(()) => Ingestion::Immediate,
            Err(e) => {
                let what = match xrpc_error::is_ambiguous(e) {
                    true => "merged on the branch, but it is unknown whether that is recorded",
                    false => {
                        "merged on the branch, but not recorded, so that it still shows as open"
                    }
                };
                warnings.push(
                    Warning::new(format!("{what}: {}", e.message()))
                        .with_hint(record_merge(merge(&uri))),
                );
                Ingestion::Pending {
                    uri: None,
                    waited: Duration::ZERO,
                    doubt: None,
                }
            }
        };
        let located = self
            .reread_pull(located)
            .await
            .unwrap_or_else(|_| located.clone());
        let mut view = self.view_located(&located, PrFields::NONE).await?;
        view.merge_commit = Some(landed.tip.clone());
        let mut merge = Merge::of(view);
        merge.commit = Some(landed.tip);
        merge.method = Some(MergeMethod::Rebase);
        merge.already_merged = landed.earlier;
        let mut outcome = Outcome::immediate(merge);
        outcome.ingestion = ingestion;
        outcome.steps = steps;
        outcome.warnings = warnings;
        Ok(outcome)
    }

    /// Ensures that the ticket has the state merged. It is unknown whether the knot sets this
    /// state, so the knot gets some time for it. Then this call sets the state. Adds warnings about
    /// guessed words to `told`.
    async fn ensure_ticket_merged(
        &self,
        located: &LocatedPull,
        earlier: bool,
        told: &mut Vec<Warning>,
    ) -> Result<()> {
        let mut pause = self.settings.poll;
        let end = Instant::now() + MERGE_DETECTION_TIME.min(self.settings.wait);
        while !earlier && Instant::now() + pause < end {
            sleep(pause).await;
            pause *= 2;
            let now = self.reread_pull(located).await;
            if now.is_ok_and(|now| self.is_merged(&now)) {
                return Ok(());
            }
        }
        let repository = &located.repository;
        let (others, ..) = self.tickets(repository).await?;
        let names = &self.settings.dialects;
        let field = &*names.fields.state;
        let others = others.iter().map(|p| &p.record);
        let spelling = inferred_names::of_state(others, PrState::Merged, names);
        let word = spelling.into_word(told);
        let ticket = &located.pull.record;
        let changed = self
            .change_ticket(repository, ticket, None, |map| {
                // A pull request that another account closed in the meantime stays closed.
                if tickets::state_in(map.get(field), names).0 == PrState::Open {
                    map.insert(field.to_owned(), json!(word));
                }
                Ok(())
            })
            .await?;
        let now = self.reread_pull(located).await;
        let now = match changed {
            true => now.map_err(|e| unread_write_error(&ticket.uri, e)),
            false => {
                told.clear();
                now
            }
        }?;
        match (self.is_merged(&now), changed) {
            (true, _) => Ok(()),
            (false, true) => Err(altered_record_error(&ticket.uri, "the state")),
            (false, false) => Err(Error::precondition(
                Precondition::Closed,
                format!("{} was closed in the meantime", ticket.uri),
            )),
        }
    }

    fn ticket_state(&self, located: &LocatedPull) -> Option<PrState> {
        tickets::inline(&located.pull.record, &self.settings.dialects).state
    }

    fn is_merged(&self, located: &LocatedPull) -> bool {
        self.ticket_state(located) == Some(PrState::Merged)
    }
}

/// Fetches the tip of the target branch and the head of the newest round into the clone, without
/// creating refs.
async fn fetch(
    git: &Git,
    clone: &LocalClone,
    located: &LocatedPull,
    before: &KnotBranch,
    head: &str,
) -> Result<()> {
    let pull = &located.pull;
    let is_fork = pull.fork(&located.repository).is_some();
    let base_ref = format!("refs/heads/{}", pull.base);
    let get = async |wanted: &str| git.fetch_objects(&clone.remote, &[wanted]).await;
    if !git.has_commit(&before.hash).await {
        get(&base_ref).await?;
    }
    if !git.has_commit(head).await && get(head).await.is_err() && !is_fork {
        // Some servers send only branches, and no commit by its id.
        let _ = get(&format!("refs/heads/{}", pull.head)).await;
    }
    for (oid, what) in [
        (before.hash.as_str(), "the target branch"),
        (head, "the newest round"),
    ] {
        if !git.has_commit(oid).await {
            return Err(Error::not_found(
                Noun::Commit,
                format!(
                    "the commit {oid} of {what} could not be fetched from the remote '{}'",
                    one_line(&clone.remote)
                ),
            )
            .with_hint(
                Hint::from(format!(
                    "fetch {head} from where its author pushed it, then merge again"
                ))
                .with_action(merge(&pull.record.uri)),
            ));
        }
    }
    Ok(())
}

/// Refuses a round whose base hides commits. A merge takes every commit of `head` that the target
/// branch lacks, but a diff of the round shows only commits above its base.
async fn check_every_commit_shown(
    git: &Git,
    clone: &LocalClone,
    pull: &TangledPull,
    target: &str,
    head: &str,
) -> Result<()> {
    let uri = &pull.record.uri;
    let Some(Content::Commits { base, .. }) = pull.rounds.last().map(|round| &round.content) else {
        let message = format!("the newest round of {uri} names no base; nothing was merged");
        return Err(Error::precondition(Precondition::Rule, message).with_hint(
            Hint::new("have its author submit another round").with_action(resubmit(uri)),
        ));
    };
    if !git.has_commit(base).await {
        git.fetch_objects(&clone.remote, &[base.as_str()]).await?;
    }
    let not_target = format!("^{target}");
    let not_base = format!("^{base}");
    let merged = count(git, &[head, &not_target]).await?;
    let shown = count(git, &[head, &not_target, &not_base]).await?;
    if merged == shown {
        return Ok(());
    }
    let message = format!(
        "{uri} shows {shown} commits, and its merge would bring {merged}: the base {base} of its \
         newest round has commits that '{}' lacks; nothing was merged",
        one_line(&pull.base)
    );
    let log = command_line(["git", "log", &format!("{target}..{base}")]);
    Err(
        Error::precondition(Precondition::Rule, message).with_hint(Hint::from(format!(
            "look at the commits below the base with `{log}` in {}",
            clone.dir.display()
        ))),
    )
}

/// Counts the commits that `git rev-list` finds.
async fn count(git: &Git, revisions: &[&str]) -> Result<String> {
    let options = ["rev-list", "--count", "--end-of-options"];
    let args = [&options[..], revisions].concat();
    let count = git.run_ok(&args).await?;
    Ok(String::from_utf8_lossy(count.trim_ascii()).into_owned())
}

/// Returns true if the branch already has every change of the round, unchanged or rebased onto
/// another commit. This happens if an earlier merge was interrupted before it was recorded. A
/// change that was reverted on the branch does not count.
async fn has_landed(git: &Git, base: &str, head: &str) -> Result<bool> {
    let both = format!("{base}...{head}");
    let missing = [
        "rev-list",
        "--right-only",
        "--cherry-pick",
        "--no-merges",
        "--end-of-options",
        &both,
    ];
    if !git.run_ok(missing).await?.is_empty() {
        return Ok(false);
    }
    let subjects = async |range: String| {
        let args = ["log", "--format=%s", "--end-of-options", &range];
        let said = git.run_ok(args).await?;
        Ok::<_, Error>(String::from_utf8_lossy(&said).into_owned())
    };
    let ours = subjects(format!("{base}..{head}")).await?;
    let theirs = subjects(format!("{head}..{base}")).await?;
    let reverted = |subject: &str| {
        let revert = format!("Revert \"{subject}\"");
        theirs.lines().any(|line| line == revert)
    };
    Ok(!ours.lines().any(reverted))
}

/// Refuses a rebase whose result differs from a merge of the round, whose changes a diff shows. A
/// rebase leaves merge commits out, which can change files by themselves. It also leaves out a
/// commit that the branch has too; if a later commit takes its change back, the rebase takes back
/// what the branch has.
async fn check_rebase_result(
    git: &Git,
    located: &LocatedPull,
    [base, head, made]: [&str; 3],
) -> Result<()> {
    if let Merged::Clean(tree) = git.merge_trees(base, head, false).await? {
        let has = git.cat_file().info(&format!("{made}^{{tree}}")).await?;
        if has.is_some_and(|has| has.oid == tree) {
            return Ok(());
        }
    }
    let range = format!("{base}..{head}");
    let merges = [
        "rev-list",
        "--merges",
        "--max-count=1",
        "--end-of-options",
        &range,
    ];
    let newest = git.run_ok(merges).await?;
    let newest = String::from_utf8_lossy(newest.trim_ascii()).into_owned();
    if !newest.is_empty() {
        return Err(incomplete_merge_error(located, &newest));
    }
    let uri = &located.pull.record.uri;
    let message =
        format!("a rebase of {uri} brings other changes than its diff shows; nothing was changed");
    Err(Error::precondition(Precondition::Rule, message).with_hint(rebase_first(uri)))
}

async fn rebased(git: &Git, before: &KnotBranch, head: &str) -> Result<Rebased> {
    let committer = git.run_ok(["var", "GIT_COMMITTER_IDENT"]);
    let (committer, signing) = tokio::try_join!(committer, Signing::read(git))?;
    let rebase = Rebase {
        base: &before.hash,
        head,
        committer: committer.trim_ascii_end(),
        signing: &signing,
        // A merge commit is refused only if the result of the rebase lacks its changes.
        refuses_evil_merges: false,
    };
    git.rebase(&mut git.cat_file(), rebase).await
}

fn no_clone(located: &LocatedPull) -> Error {
    let repository = &located.repository;
    Error::invalid(
        "clone",
        format!(
            "cannot merge: a merge on Tangled 1.0 is a push from a clone, and this directory is no \
             clone of {}",
            repository.id
        ),
    )
    .with_hint(
        Hint::new("merge in a clone of the repository with a remote that you can push to")
            .with_action(merge(&located.pull.record.uri)),
    )
}

fn incomplete_merge_error(located: &LocatedPull, merge: &str) -> Error {
    let message = format!(
        "merge commits of {} (the newest is {merge}) change files by themselves, and a rebase \
         leaves merge commits out; nothing was changed",
        located.pull.record.uri
    );
    Error::precondition(Precondition::Rule, message).with_hint(
        Hint::new(
            "ask the author to rebase the branch, to commit the changes of its merge commits \
             again, and to submit another round",
        )
        .with_action(resubmit(&located.pull.record.uri)),
    )
}

fn pushed_unseen(clone: &LocalClone, located: &LocatedPull, tip: &str, error: Error) -> Error {
    let pull = &located.pull;
    let base = one_line(&pull.base);
    let why = error.message();
    let message =
        format!("{tip} was pushed to '{base}', but the push could not be verified: {why}");
    let refname = format!("refs/heads/{}", pull.base);
    let look = command_line(["git", "ls-remote", &clone.remote, &refname]);
    Error::new(error.kind().clone(), message)
        .with_retry(Retry::Ambiguous)
        .with_hint(
            Hint::from(format!(
                "look at the branch with `{look}` in {}, then merge again: a pushed merge is \
                 recorded, and not pushed once more",
                clone.dir.display()
            ))
            .with_action(merge(&pull.record.uri)),
        )
        .with_source(error)
}

fn conflict(located: &LocatedPull, files: Vec<String>, commit: &str) -> Error {
    let shown: Vec<_> = files
        .iter()
        .map(|file| one_line(file).into_owned())
        .collect();
    let message = format!(
        "{} does not apply to '{}' at commit {commit} in {}; nothing was changed",
        located.pull.record.uri,
        one_line(&located.pull.base),
        shown.join(", ")
    );
    Error::precondition(Precondition::Conflicts(files), message)
        .with_hint(rebase_first(&located.pull.record.uri))
}
