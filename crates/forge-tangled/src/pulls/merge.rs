//! Merging: the knot first, then the record of it.
//!
//! The two are not one step anywhere in tangled. What the knot did is never repeated and never
//! claimed without a look at the branch; a record that could not be written is said so, with what
//! finishes it.

use forge_core::{
    Capability, Error, ErrorKind, Ingestion, Outcome, PrId, Precondition, Result, Step, Warning,
    model::{Merge, MergeMethod, MergeReq, PrFields, PrState},
};
use futures::future;
use serde_json::Value;

use super::{head_branch, state::Standing, view::Located};
use crate::{
    Era, Tangled, fault,
    ingest::Seen,
    kinds,
    knot::{Branch, Checked, merge_input, no_branch},
    patch::{Mail, Patch},
    repository::Repository,
};

/// How many commits of the target branch are looked at for those of the round.
const LOG: &str = "100";
/// By so many seconds the clocks of an author and of a knot may differ.
const CLOCKS_DIFFER: i64 = 900;

/// Whether a branch has a change already.
enum Landed {
    Yes,
    No,
    /// It has a commit with this subject, which the change would get.
    Perhaps(String),
}

/// A commit of a branch.
struct Made {
    subject: String,
    email: String,
    at: i64,
}

/// Whether a log, newest first, has the commits of a round: by author, time and subject, since a
/// merge on tangled applies each as it is, under a new id. One that was reverted is not there.
fn holds(log: &[Made], patch: &Patch) -> bool {
    let is_there = |mail: &Mail| {
        let reverted = format!("Revert \"{}\"", mail.subject);
        let last = log.iter().find_map(|made| {
            let same = made.subject == mail.subject
                && made.email == mail.author.email
                && made.at == mail.author.at.unix();
            if same {
                Some(true)
            } else {
                (made.subject == reverted).then_some(false)
            }
        });
        last == Some(true)
    };
    !patch.mails.is_empty() && patch.mails.iter().all(is_there)
}

impl Tangled {
    /// See [`forge_core::PullRequests::merge`].
    pub(crate) async fn merge_pull(&self, pr: &PrId, req: &MergeReq) -> Result<Outcome<Merge>> {
        let located = self.locate(pr).await?;
        let (repository, pull) = (&located.repository, &located.pull);
        if repository.era == Era::Org10 {
            return self.merge_ticket(&located, req).await;
        }
        self.speaks_2026(repository, Capability::MergeRebase)?;
        let standing = self.standing(repository, pull).await?;
        match standing.state {
            PrState::Merged => return self.merged_already(&located, req, standing).await,
            PrState::Closed => {
                return Err(Error::precondition(
                    Precondition::Closed,
                    format!("{} is closed", pull.record.uri),
                )
                .with_hint("reopen it first"));
            }
            PrState::Open => {}
        }
        self.not_a_draft(pull)?;
        self.may_merge(repository).await?;
        self.nothing_open_below(&located).await?;
        let patch = self.latest_patch(repository, pull).await?;
        expect_head(
            req.expected_head.as_deref(),
            head_branch::head_of(&located, &patch).unwrap_or_default(),
        )?;
        let before = self
            .branch(repository, &pull.base)
            .await?
            .ok_or_else(|| no_branch("base", repository, &pull.base))?;
        let text = String::from_utf8_lossy(&patch.raw).into_owned();
        // A change may apply twice: that it applies does not say that it is not there.
        let (checked, landed) = future::try_join(
            self.merge_check(repository, &pull.base, &text),
            self.landed_before(&located, &patch, req),
        )
        .await?;
        match (landed, checked) {
            // A merge that was made and not recorded.
            (Landed::Yes, _) => {
                return self
                    .record_merge(&located, &before, req, standing, true)
                    .await;
            }
            (Landed::No, Checked::Clean) => {}
            (Landed::Perhaps(subject), Checked::Clean) => return Err(perhaps(&located, &subject)),
            (_, other) => return Err(refusal(&located, other)),
        }
        self.still_as_read(&located).await?;
        let input = merge_input(repository, &pull.base, &text);
        let input = with_message(input, req, &located, &patch);
        let method = &self.settings.dialects.methods.knot.merge;
        let merged = self.knot_call(repository, method, &input).await;
        let after = self.landed(&located, &patch, &before, merged).await?;
        self.record_merge(&located, &after, req, standing, false)
            .await
    }

    async fn may_merge(&self, repository: &Repository) -> Result<()> {
        let viewer = self.session.viewer().await?;
        if self
            .writers(repository)
            .await
            .may_write(&viewer.identity.did)
        {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::PermissionDenied {
                missing: vec!["repo:push".to_owned()],
                sso_url: None,
            },
            format!(
                "{} may not merge in {}: only its owner and collaborators may",
                viewer.identity.name(),
                repository.id
            ),
        ))
    }

    /// A round that was added after we looked must not be merged unseen, nor the old one after it.
    async fn still_as_read(&self, located: &Located) -> Result<()> {
        let pull = &located.pull;
        let pds = self.identities.pds(pull.author()).await?;
        let now = crate::records::get_uri(&pds, &pull.uri).await?;
        if now.cid() == pull.record.cid() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Conflict {
                expected: pull.record.cid().to_owned(),
                actual: now.cid().to_owned(),
            },
            format!(
                "{} was changed while it was about to be merged",
                pull.record.uri
            ),
        )
        .with_hint("look at it again, then merge"))
    }

    /// The branch after the merge, once it holds the change. An answer that was lost is decided by
    /// the branch.
    async fn landed(
        &self,
        located: &Located,
        patch: &Patch,
        before: &Branch,
        merged: Result<Value>,
    ) -> Result<Branch> {
        let (repository, pull) = (&located.repository, &located.pull);
        let lost = match merged {
            Ok(_) => None,
            Err(e) if fault::is_ambiguous(&e) => Some(e),
            Err(e) => return Err(e),
        };
        let after = self.branch(repository, &pull.base).await.ok().flatten();
        let moved = after.filter(|after| after.hash != before.hash);
        let holds = match &moved {
            Some(after) => {
                ends_with(after, patch) || self.has_landed(repository, &pull.base, patch).await
            }
            None => false,
        };
        match (moved, holds, lost) {
            (Some(after), true, _) => Ok(after),
            (_, _, Some(lost)) => Err(lost.with_hint(format!(
                "the knot's answer was lost, and '{}' does not show the change: look at the branch \
                 before merging again",
                pull.base
            ))),
            _ => Err(Error::new(
                ErrorKind::Protocol,
                format!(
                    "the knot says that it has merged {}, but '{}' does not hold the change",
                    pull.record.uri, pull.base
                ),
            )
            .with_retry(forge_core::Retry::Ambiguous)
            .with_hint("look at the branch before merging again; nothing was recorded")),
        }
    }

    /// Whether the branch has the commits of a round.
    async fn has_landed(&self, repository: &Repository, branch: &str, patch: &Patch) -> bool {
        let log = self.log(repository, branch).await;
        log.is_ok_and(|log| holds(&log, patch))
    }

    /// Whether the branch had the change before we did anything: an earlier merge may have been cut
    /// off before it was recorded.
    async fn landed_before(
        &self,
        located: &Located,
        patch: &Patch,
        req: &MergeReq,
    ) -> Result<Landed> {
        let pull = &located.pull;
        let log = self.log(&located.repository, &pull.base).await?;
        if !patch.mails.is_empty() {
            return Ok(match holds(&log, patch) {
                true => Landed::Yes,
                false => Landed::No,
            });
        }
        // A plain diff has no author and no time to know it by, only the message that it gets.
        let subject = subject(req, located);
        let round = pull.latest().and_then(|(_, round)| round.created_at);
        let since = round.unwrap_or(pull.created_at).unix() - CLOCKS_DIFFER;
        let same = |made: &Made| made.subject == subject && made.at >= since;
        Ok(match log.iter().any(same) {
            true => Landed::Perhaps(subject),
            false => Landed::No,
        })
    }

    /// The newest commits of a branch, newest first.
    async fn log(&self, repository: &Repository, branch: &str) -> Result<Vec<Made>> {
        let knot = self.knot(repository).await?;
        let repo = repository.knot_name();
        let params = [("repo", repo.as_str()), ("ref", branch), ("limit", LOG)];
        let method = &self.settings.dialects.methods.knot.log;
        let log: Value = knot.query(method, &params).await?;
        let mut commits = Vec::new();
        collect_commits(&log, &mut commits);
        Ok(commits)
    }

    /// Writes that it is merged, and says what happened also when that fails.
    async fn record_merge(
        &self,
        located: &Located,
        tip: &Branch,
        req: &MergeReq,
        before: Standing,
        earlier: bool,
    ) -> Result<Outcome<Merge>> {
        let uri = located.pull.record.uri.clone();
        let record = self.status_record(&uri, PrState::Merged, before.decided)?;
        let did = self.session.viewer().await?.identity.did.clone();
        let written = self.create_records(std::slice::from_ref(&record)).await;
        let mut steps = vec![Step {
            name: "merge on the knot".to_owned(),
            done: true,
        }];
        let mut warnings = Vec::new();
        if earlier {
            warnings.push(Warning::new(
                "the branch held the change already; only the record of it was missing",
            ));
        }
        let recorded = written.is_ok();
        steps.push(Step {
            name: "record the merge".to_owned(),
            done: recorded,
        });
        let ingestion = match written {
            Ok(cids) => {
                let kind = kinds::statuses(&self.settings.dialects);
                let seen = Seen::About(kind, &uri);
                let told = self.ingestion(seen, &record.written(&did, cids)).await;
                told.ingestion
            }
            Err(e) => {
                warnings.push(
                    Warning::new(format!(
                        "merged on the knot, but not recorded, so that it still shows as open: {}",
                        e.message()
                    ))
                    .with_hint(format!(
                        "run `forge pr merge {uri}` again: it finds the change on the branch and \
                         only writes the record"
                    )),
                );
                Ingestion::Pending {
                    uri: record.uri(&did),
                    waited: std::time::Duration::ZERO,
                }
            }
        };
        let branch_deleted =
            req.delete_branch && self.delete_head(located, &mut steps, &mut warnings).await;
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
        let commit = Some(tip.hash.clone());
        view.merge_commit.clone_from(&commit);
        Ok(Outcome {
            value: Merge {
                pull_request: view,
                commit,
                method: Some(MergeMethod::Rebase),
                already_merged: earlier,
                queued: false,
                queue_position: None,
                branch_deleted,
            },
            ingestion,
            unchanged: false,
            steps,
            warnings,
        })
    }

    /// One that is merged and recorded; what is left may be the branch.
    async fn merged_already(
        &self,
        located: &Located,
        req: &MergeReq,
        merged: Standing,
    ) -> Result<Outcome<Merge>> {
        let view = self.view_fresh(located, PrFields::NONE).await?;
        let (mut steps, mut warnings) = (Vec::new(), Vec::new());
        warnings.push(Warning::new(format!(
            "{} is merged already",
            located.pull.record.uri
        )));
        let branch_deleted = req.delete_branch
            && match self.is_what_was_merged(located, req, merged).await {
                Ok(()) => self.delete_head(located, &mut steps, &mut warnings).await,
                Err(e) => {
                    warnings.push(head_branch::kept(&e));
                    false
                }
            };
        let merge = Merge {
            commit: view.merge_commit.clone(),
            pull_request: view,
            method: None,
            already_merged: true,
            queued: false,
            queue_position: None,
            branch_deleted,
        };
        let mut outcome = Outcome::immediate(merge);
        outcome.unchanged = !branch_deleted;
        outcome.steps = steps;
        outcome.warnings = warnings;
        Ok(outcome)
    }

    /// Refuses to take the newest round for the merged one where its author added it later, or
    /// where the caller means another. No record says which round was merged, so the times decide.
    async fn is_what_was_merged(
        &self,
        located: &Located,
        req: &MergeReq,
        merged: Standing,
    ) -> Result<()> {
        let pull = &located.pull;
        let round = pull.latest().and_then(|(_, round)| round.created_at);
        if let (Some(round), Some(merged)) = (round, merged.decided)
            && round > merged
        {
            return Err(Error::precondition(
                Precondition::Rule,
                format!("the newest round is of {round}, later than the merge of {merged}"),
            )
            .with_hint("look at the branch, then delete it with git"));
        }
        let patch = self.latest_patch(&located.repository, pull).await?;
        let head = head_branch::head_of(located, &patch);
        expect_head(req.expected_head.as_deref(), head.unwrap_or_default())
    }
}

/// Fails unless the head of the newest round is the expected one.
pub(crate) fn expect_head(expected: Option<&str>, head: &str) -> Result<()> {
    let Some(expected) = expected else {
        return Ok(());
    };
    let fits = expected.len() >= 7 && head.starts_with(&expected.to_ascii_lowercase());
    if fits {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Conflict {
            expected: expected.to_owned(),
            actual: head.to_owned(),
        },
        format!("the head of the newest round is {head}, not {expected}"),
    )
    .with_hint("look at the new round, then merge with its head"))
}

fn refusal(located: &Located, checked: Checked) -> Error {
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
            .with_hint("its author rebases the branch and submits another round")
        }
        Checked::Unknown(why) => Error::new(
            ErrorKind::Upstream {
                status: 200,
                request_id: None,
            },
            format!("the knot could not check whether {uri} can be merged: {why}"),
        )
        .with_hint("nothing was merged; try again later"),
        Checked::Clean => Error::new(ErrorKind::Internal, "a clean merge was refused"),
    }
}

/// What the commit of a plain diff is called.
fn subject(req: &MergeReq, located: &Located) -> String {
    let given = req.subject.clone();
    given.unwrap_or_else(|| located.pull.title.clone())
}

fn perhaps(located: &Located, subject: &str) -> Error {
    Error::new(
        ErrorKind::AlreadyExists { existing: None },
        format!(
            "'{}' has a commit '{}' that is newer than the round, which may be this very change: a \
             plain diff cannot be told from another of the same name",
            located.pull.base,
            forge_core::text::one_line(subject)
        ),
    )
    .with_hint("look at the branch; if the change is not there, merge with another --subject")
}

/// The message that a knot commits a plain diff with; a series brings its own.
fn with_message(mut input: Value, req: &MergeReq, located: &Located, patch: &Patch) -> Value {
    if !patch.mails.is_empty() {
        return input;
    }
    let pull = &located.pull;
    let subject = subject(req, located);
    let body = req.body.clone().unwrap_or_else(|| pull.body.clone());
    if let Some(map) = input.as_object_mut() {
        map.insert("commitMessage".to_owned(), subject.into());
        map.insert("commitBody".to_owned(), body.into());
        if let Some(email) = &req.author_email {
            map.insert("authorEmail".to_owned(), email.clone().into());
        }
    }
    input
}

/// The newest commit is that of the last mail, or nobody can tell because the knot names no message.
fn ends_with(after: &Branch, patch: &Patch) -> bool {
    let subject = after.message.as_deref().and_then(|m| m.lines().next());
    match (subject, patch.mails.last()) {
        (Some(subject), Some(mail)) => subject.trim() == mail.subject,
        // A plain diff becomes one commit: the branch moved right after the knot said so.
        (_, None) => true,
        (None, Some(_)) => false,
    }
}

/// Subject, e-mail address and time of every commit in a log, whose form knots have changed: the
/// keys are looked for in any case and at any depth.
fn collect_commits(value: &Value, out: &mut Vec<Made>) {
    match value {
        Value::Array(list) => list.iter().for_each(|v| collect_commits(v, out)),
        Value::Object(map) => {
            let get = |name: &str| {
                let found = map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value)
            };
            let author = get("author").and_then(Value::as_object);
            let inner = |name: &str| {
                let found = author?
                    .iter()
                    .find(|(key, _)| key.eq_ignore_ascii_case(name))?;
                found.1.as_str()
            };
            let message = get("message").and_then(Value::as_str);
            let at = inner("when").and_then(|t| t.parse::<forge_core::Timestamp>().ok());
            if let (Some(message), Some(email), Some(at)) = (message, inner("email"), at) {
                out.push(Made {
                    subject: message.lines().next().unwrap_or_default().to_owned(),
                    email: email.to_owned(),
                    at: at.unix(),
                });
            }
            map.values().for_each(|v| collect_commits(v, out));
        }
        _ => {}
    }
}
