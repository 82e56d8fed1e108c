//! Writes to repositories of Tangled 1.0. This is experimental, as every result says.
//!
//! A ticket is the record of a pull request or an issue. Records go through the knot (git server)
//! into the account of the repository. Unknown details of the protocol are never guessed silently:
//! - The word for a state and the keys of labels are learned from the repository's own tickets.
//! - A guess is reported with the result (`inferred_names.rs`).
//! - The audience of a token is that of the configuration.
//! - Every write is read back.
//! - A write that needs an unknown detail is refused.

use forge_core::{
    Action, Arg, AtUri, Capability, Error, ErrorKind, Hint, Outcome, Param, Precondition, Result,
    Warning, is_full_oid,
    model::{CreatePull, EditPull, PrFields, PrState, PullRequest},
    text::one_line,
};
use serde_json::{Map, Value, json};

pub(crate) use crate::knot_records::{altered_record_error, unread_write_error};
use crate::{
    Dialects, Tangled,
    caps::LIMITS,
    hints::{AGAIN, OTHER_HEAD, another_round_hint},
    inferred_names::{self, Spelling},
    json_field::OptionalField,
    knot::no_branch,
    knot_records::check_fields_kept,
    pulls::{
        record::{Content, Round, TangledPull},
        state::merged,
        view::LocatedPull,
    },
    records::{NewRecord, Record},
    repository::TangledRepository,
    ticket_labels::{check_list, relabel, set_labels},
    tickets::{self, editor},
    write, xrpc_error,
};

/// Builds the warning that the result of every write to Tangled 1.0 has.
pub(crate) fn experimental() -> Warning {
    Warning::new("writing to Tangled 1.0 is experimental: its protocol is not published as a whole")
        .with_hint("look at the result on the web")
}

pub(crate) fn done<T>(value: T) -> Outcome<T> {
    Outcome::immediate(value).with_warning(experimental())
}

/// The two commits of a round: the merge base with the target branch, and the head commit.
struct Ends {
    base: String,
    head: String,
}

impl Tangled {
    /// Opens a pull request: writes the ticket, then its first patch. If the patch is refused, a
    /// ticket that this call wrote is deleted. A ticket that existed before this call is kept.
    /// Another account may have opened it, because the ticket names only its last editor.
    pub(crate) async fn create_ticket(
        &self,
        repository: std::sync::Arc<TangledRepository>,
        req: &CreatePull,
    ) -> Result<Outcome<PullRequest>> {
        let title = LIMITS.check_title(&req.title)?;
        LIMITS.check_text("description", &req.description)?;
        let viewer = self.session.viewer().await?;
        let viewer = viewer.identity.did.as_str();
        if req.patch.is_some() || !req.edits.is_empty() || req.depends_on.is_some() {
            let alone = Hint::new("open it from a branch, by itself");
            let (what, why, instead) = match req.patch {
                Some(_) => (
                    Capability::PrCreatePatch,
                    "a round of Tangled 1.0 is two commits on the knot, and no patch",
                    alone.with_action(Action::again(&[
                        (Param::Patch, Arg::Omit),
                        (Param::Head, Arg::Choose),
                    ])),
                ),
                None if !req.edits.is_empty() => (
                    Capability::PrCreateEdits,
                    "a round of Tangled 1.0 is two commits on the knot, and it makes none from files",
                    alone,
                ),
                None => (
                    Capability::PrCreateDependent,
                    "how Tangled 1.0 writes that a pull request depends on another is not known",
                    alone.with_action(Action::again(&[(Param::DependsOn, Arg::Omit)])),
                ),
            };
            return Err(Error::unsupported(what, why, instead));
        }
        if !req.assignees.is_empty() {
            return Err(no_assignees());
        }
        let base = match &req.base {
            Some(base) => base.clone(),
            None => match self.default_branch(&repository).await? {
                Some(branch) => branch.name,
                None => return Err(no_branch("base", &repository, "")),
            },
        };
        let head = &req.head.branch;
        let fork = self.fork_of_head(&repository, &req.head).await?;
        let source = fork.as_deref().unwrap_or(&repository);
        let ends = self.resolve_ends(&repository, source, &base, head).await?;
        let ((others, ..), labels) = futures::try_join!(
            self.tickets(&repository),
            self.labels_in_use(&repository, &req.labels),
        )?;
        let names = &self.settings.dialects;
        let fields = &names.fields;
        let is_open =
            |p: &TangledPull| tickets::inline(&p.record, names).state == Some(PrState::Open);
        let open: Vec<&TangledPull> = others
            .iter()
            .filter(|p| p.base == base && is_open(p))
            .collect();
        let from_there = |p: &&&TangledPull| {
            let named = p.source.as_deref().unwrap_or(repository.target());
            p.head == *head && named == source.target()
        };
        // A ticket does not name its author, so one of another account cannot be told from one that
        // an interrupted command of the viewer has opened.
        if let Some(twin) = open.iter().find(from_there) {
            let uri = twin.record.uri.clone();
            return Err(Error::new(
                ErrorKind::AlreadyExists {
                    existing: Some(uri.clone()),
                },
                format!("there is an open pull request of these branches already: {uri}"),
            ));
        }
        let begun = open.iter().find(|p| {
            let mine = editor(&p.record, names) == Some(viewer);
            p.rounds.is_empty() && p.title == title && mine
        });
        let is_new = begun.is_none();
        let mut warnings = vec![experimental()];
        let uri = match begun {
            Some(begun) => {
                let uri = begun.record.uri.clone();
                warnings.push(Warning::new(format!(
                    "an interrupted command had begun this pull request; this command finished it: \
                     {uri}"
                )));
                if !labels.is_empty() {
                    check_list(&begun.record, names)?;
                }
                self.change_ticket(&repository, &begun.record, None, |map| {
                    if !req.description.trim().is_empty() {
                        describe(map, &req.description, names);
                    }
                    relabel(map, &labels, &[], names);
                    Ok(())
                })
                .await?;
                uri
            }
            None => {
                let mut map = Map::new();
                let open = names.org.state(PrState::Open);
                map.insert("$type".to_owned(), json!(names.org.pull));
                set_title(&mut map, title, names);
                map.insert(fields.state.to_string(), json!(open));
                map.insert(fields.target_branch.to_string(), json!(base));
                map.insert(fields.created_at.to_string(), json!(write::now()));
                describe(&mut map, &req.description, names);
                set_labels(&mut map, labels, names);
                let record = NewRecord::new(&names.org.pull, Value::Object(map));
                let record = write::checked(record, names)?;
                self.put_new(&repository, &record).await?.uri
            }
        };
        let uri = AtUri::parse(&uri)?;
        let mut told = Vec::new();
        let round = self
            .submit(
                (&repository, &uri.rkey),
                (source, head),
                &ends,
                0,
                &mut told,
            )
            .await;
        if let Err(e) = round {
            let why = self
                .delete_orphan_ticket(&repository, &uri, is_new, e)
                .await;
            return Err(inferred_names::with_guesses(why, &told));
        }
        warnings.extend(told);
        let opened = async {
            let located = LocatedPull {
                pull: self.ticket(&repository, &uri).await?,
                number: None,
                repository: std::sync::Arc::clone(&repository),
            };
            self.view_located(&located, PrFields::NONE).await
        };
        let mut view = opened
            .await
            .map_err(|e| unread_write_error(&uri.to_string(), e))?;
        view.base_oid = Some(ends.base);
        let mut outcome = Outcome::immediate(view);
        outcome.warnings = warnings;
        Ok(outcome)
    }

    /// Submits the current head branch as another round. `head` selects another branch of the same
    /// repository. It is required if no earlier round says which branch it was made from.
    pub(crate) async fn resubmit_ticket(
        &self,
        located: &LocatedPull,
        head: Option<&str>,
    ) -> Result<Outcome<PullRequest>> {
        let (repository, pull) = (&located.repository, &located.pull);
        let uri = &pull.record.uri;
        let head = head.unwrap_or(&pull.head);
        if head.is_empty() {
            return Err(Error::invalid(
                "head",
                format!("no round of {uri} says which branch it was made from"),
            )
            .with_hint(Hint::new("name the head branch").with_action(OTHER_HEAD)));
        }
        let state = tickets::inline(&pull.record, &self.settings.dialects).state;
        if state != Some(PrState::Open) {
            let why = match state {
                Some(PrState::Merged) => Precondition::Merged,
                _ => Precondition::Closed,
            };
            return Err(Error::precondition(
                why,
                format!("{} is not open", pull.record.uri),
            ));
        }
        // A view leaves out the round of another account; see `tickets::author_of`.
        if self.session.viewer().await?.identity.did != pull.author() {
            let author = self.identities.name_of(pull.author()).await;
            let kind = ErrorKind::PermissionDenied {
                missing: Vec::new(),
                sso_url: None,
            };
            let message = format!(
                "{uri} is the pull request of {author}, and a round of another account does not \
                 count"
            );
            return Err(Error::new(kind, message).with_hint(another_round_hint(uri)));
        }
        let fork = match pull.fork(repository) {
            Some(source) => Some(self.fork_of_source(source, repository.era).await?),
            None => None,
        };
        let source = fork.as_deref().unwrap_or(repository);
        let ends = self
            .resolve_ends(repository, source, &pull.base, head)
            .await?;
        if pull.source_sha.as_ref() == Some(&ends.head) {
            let view = self.view_located(located, PrFields::NONE).await?;
            let warning =
                Warning::new("nothing was submitted: the newest round has the same commits");
            return Ok(Outcome::unchanged(view, warning).with_warning(experimental()));
        }
        let of_head = |round: &&Round| matches!(&round.content, Content::Commits { head, .. } if *head == ends.head);
        let before = pull.rounds.iter().filter(of_head).count();
        let mut told = Vec::new();
        let round = self
            .submit(
                (repository, pull.record.rkey()),
                (source, head),
                &ends,
                before,
                &mut told,
            )
            .await;
        round.map_err(|e| inferred_names::with_guesses(e, &told))?;
        let mut outcome = done(self.view_written(located).await?);
        outcome.warnings.extend(told);
        Ok(outcome)
    }

    /// Changes title, description and labels.
    pub(crate) async fn edit_ticket(
        &self,
        located: &LocatedPull,
        edit: &EditPull,
    ) -> Result<Outcome<PullRequest>> {
        if !edit.assignees.is_empty() {
            return Err(no_assignees());
        }
        let title = edit
            .title
            .as_deref()
            .map(|t| LIMITS.check_title(t))
            .transpose()?;
        if let Some(description) = &edit.description {
            LIMITS.check_text("description", description)?;
        }
        let names = &self.settings.dialects;
        if !edit.labels.is_empty() {
            check_list(&located.pull.record, names)?;
        }
        let add = self
            .labels_in_use(&located.repository, &edit.labels.add)
            .await?;
        let remove = &edit.labels.remove;
        let (repository, ticket) = (&located.repository, &located.pull.record);
        let expected = edit.expected_version.as_deref();
        let changed = self
            .change_ticket(repository, ticket, expected, |map| {
                if let Some(title) = &title {
                    set_title(map, title, names);
                }
                if let Some(text) = &edit.description {
                    describe(map, text, names);
                }
                relabel(map, &add, remove, names);
                Ok(())
            })
            .await?;
        if !changed {
            let view = self.view_located(located, PrFields::NONE).await?;
            let warning = Warning::new("there was nothing to change");
            return Ok(Outcome::unchanged(view, warning).with_warning(experimental()));
        }
        Ok(done(self.view_written(located).await?))
    }

    /// Closes or reopens a ticket, then comments. The word for a closed state is not known, so it
    /// is learned from other tickets of the repository.
    pub(crate) async fn set_ticket_state(
        &self,
        located: &LocatedPull,
        to: PrState,
        comment: Option<&str>,
    ) -> Result<Outcome<PullRequest>> {
        let (repository, ticket) = (&located.repository, &located.pull.record);
        let uri = &ticket.uri;
        if let Some(comment) = comment {
            LIMITS.check_comment("body", comment)?;
        }
        let names = &self.settings.dialects;
        let now = tickets::inline(ticket, names).state;
        if now == Some(PrState::Merged) {
            let change = if to == PrState::Open {
                "reopened"
            } else {
                "closed"
            };
            return Err(merged(&located.pull, change, comment));
        }
        let mut warnings = vec![experimental()];
        if now != Some(to) {
            let spelling = match to {
                PrState::Open => Spelling::known(names.org.state(to)),
                _ => {
                    let (all, ..) = self.tickets(repository).await?;
                    inferred_names::of_state(all.iter().map(|p| &p.record), to, names)
                }
            };
            warnings.extend(self.write_state(repository, ticket, spelling).await?);
        }
        let changed = now != Some(to);
        let (steps, told) = self
            .comment_with_state(repository, ticket.rkey(), comment, changed)
            .await?;
        let view = match changed || comment.is_some() {
            true => self.view_written(located).await?,
            false => self.view_located(located, PrFields::NONE).await?,
        };
        let mut outcome = match changed {
            true => Outcome::immediate(view),
            false => {
                Outcome::unchanged(view, Warning::new(format!("{uri} is already as requested")))
            }
        };
        outcome.warnings.extend(warnings);
        outcome.warnings.extend(told);
        outcome.add_steps(steps);
        Ok(outcome)
    }

    /// Writes the state of a ticket with compare-and-swap on the old state. Returns the warnings
    /// about a learned or guessed word for the state.
    pub(crate) async fn write_state(
        &self,
        repository: &TangledRepository,
        ticket: &Record,
        spelling: Spelling,
    ) -> Result<Vec<Warning>> {
        let uri = AtUri::parse(&ticket.uri)?;
        let names = &self.settings.dialects;
        let field = &*names.fields.state;
        let mut told = Vec::new();
        let word = spelling.into_word(&mut told);
        let before = tickets::state_in(ticket.value.get(field), names).0;
        let to = tickets::state(&word, names).0;
        let written = self.change_ticket(repository, ticket, None, |map| {
            let now = tickets::state_in(map.get(field), names).0;
            if now == before {
                map.insert(field.to_owned(), json!(word));
            } else if now != to {
                // A state that another writer has set in the meantime is not overwritten. This
                // matters most for a merge.
                let [before, now] = [before, now].map(|it| names.org.state(it));
                return Err(write::stale(&uri, before, now));
            }
            Ok(())
        });
        let written = written.await;
        if !written.map_err(|e| inferred_names::with_guesses(e, &told))? {
            told.clear();
        }
        Ok(told)
    }

    /// Reads the pull request again.
    pub(crate) async fn reread_pull(&self, located: &LocatedPull) -> Result<LocatedPull> {
        let pull = self.ticket(&located.repository, &located.pull.uri).await?;
        Ok(LocatedPull {
            pull,
            ..located.clone()
        })
    }

    /// Reads the view of a pull request after a write.
    async fn view_written(&self, located: &LocatedPull) -> Result<PullRequest> {
        let view = async {
            let located = self.reread_pull(located).await?;
            self.view_located(&located, PrFields::NONE).await
        };
        view.await
            .map_err(|e| unread_write_error(&located.pull.record.uri, e))
    }

    /// Returns the merge base and the head of two branches. The head branch is in `source`, which
    /// is a fork or the same repository.
    async fn resolve_ends(
        &self,
        repository: &TangledRepository,
        source: &TangledRepository,
        base: &str,
        head: &str,
    ) -> Result<Ends> {
        let same = repository.did == source.did;
        if base == head && same {
            return Err(Error::invalid(
                "head",
                format!("'{}' is both head and base", one_line(head)),
            ));
        }
        let onto = self.remote_refs(repository).await?;
        let from = match same {
            true => onto.branch(head),
            false => self.remote_refs(source).await?.branch(head),
        };
        let onto = onto
            .branch(base)
            .ok_or_else(|| no_branch("base", repository, base))?;
        let from = from.ok_or_else(|| no_branch("head", source, head))?;
        let common = match self.merge_base(source, &onto.hash, &from.hash).await {
            // The knots of fork and upstream may lack each other's newest commits, so both are
            // asked.
            Err(e) if !same && is_refusal(&e) => {
                let there = self.merge_base(repository, &onto.hash, &from.hash).await;
                there.map_err(|e| match is_refusal(&e) {
                    true => unknown_merge_base_error(source, repository, base),
                    false => e,
                })?
            }
            other => other?,
        };
        if common == from.hash {
            return Err(Error::precondition(
                Precondition::NothingToMerge,
                format!(
                    "'{}' has no commits that '{}' lacks",
                    one_line(head),
                    one_line(base)
                ),
            ));
        }
        Ok(Ends {
            base: common,
            head: from.hash,
        })
    }

    /// Asks the knot for the merge base of two commits.
    async fn merge_base(
        &self,
        repository: &TangledRepository,
        base: &str,
        head: &str,
    ) -> Result<String> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let of = &names.inputs.knot;
        let params = [
            (&*of.repo, did),
            (&*of.base_of, base),
            (&*of.base_head, head),
        ];
        let method = &names.methods.knot.merge_base;
        let found: Value = knot.query(method, &params).await?;
        let said = &names.answers.knot;
        let common = found.get(&*said.common).and_then(|commit| {
            let oid = commit.field(&said.common_oid).unwrap_or(commit);
            oid.as_str()
                .filter(|oid| is_full_oid(oid))
                .map(str::to_owned)
        });
        common.ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                format!("the knot named no commit that {base} and {head} share"),
            )
        })
    }

    /// Submits a branch of `source` as a round, and reads the patch records back. If the knot's
    /// answer is lost, these records show whether the round arrived. `before` is the number of
    /// earlier patch records with this head. Adds warnings about guesses to `told`.
    async fn submit(
        &self,
        (repository, ticket): (&TangledRepository, &str),
        (source, branch): (&TangledRepository, &str),
        ends: &Ends,
        before: usize,
        told: &mut Vec<Warning>,
    ) -> Result<()> {
        let did = repository.did.clone().unwrap_or_default();
        let names = &self.settings.dialects;
        let fields = &names.fields;
        let commit = |oid: &str| json!({ (fields.oid.to_string()): oid });
        let mut wanted = Map::new();
        wanted.insert(fields.ticket.to_string(), json!(ticket));
        wanted.insert(fields.base.to_string(), commit(&ends.base));
        wanted.insert(fields.head.to_string(), commit(&ends.head));
        let mut patch = wanted.clone();
        let from = source.target();
        patch.insert(fields.sent_repo.to_string(), json!(from));
        patch.insert(fields.sent_branch.to_string(), json!(branch));
        let to = inferred_names::of_submitted_repository(names).into_word(told);
        let input = json!({
            (to): did,
            (names.inputs.knot.submit_patch.to_string()): patch,
        });
        let from = json!({
            (fields.source_repo.to_string()): from,
            (fields.source_branch.to_string()): branch,
        });
        wanted.insert(fields.source.to_string(), from);
        let wanted = Value::Object(wanted);
        let method = &names.methods.knot.submit_patch;
        let sent = self.account_call(repository, method, &input).await;
        let lost = match sent {
            Ok(_) => None,
            Err(e) if xrpc_error::is_ambiguous(&e) => Some(e),
            Err(e) => return Err(e),
        };
        let uri = format!("at://{did}/{}/{ticket}", names.org.pull);
        let patches = match (self.ticket_patches(repository).await, lost.as_ref()) {
            (Ok(patches), _) => patches.records,
            (Err(e), None) => return Err(unread_write_error(&uri, e)),
            (Err(_), Some(_)) => Vec::new(),
        };
        let of_head = patches.iter().filter(|p| {
            p.text(&fields.ticket) == Some(ticket)
                && p.text_at(&[&*fields.head, &*fields.oid]) == Some(ends.head.as_str())
        });
        // Sorted by time into the order of rounds, because the key of a patch is not a time.
        let mut of_head: Vec<&Record> = of_head.collect();
        of_head.sort_by_key(|p| p.created_at(&fields.created_at));
        let read = of_head.into_iter().skip(before);
        let read: Vec<Result<()>> = read.map(|p| check_fields_kept(&wanted, p)).collect();
        match lost {
            Some(e) if read.is_empty() => Err(e),
            _ if read.iter().any(Result::is_ok) => Ok(()),
            _ => read
                .into_iter()
                .next()
                .unwrap_or_else(|| Err(altered_record_error(&uri, "its newest round"))),
        }
    }

    /// Deletes a new ticket whose patch was refused, and returns the error. Deletion needs the
    /// right to push, so the ticket may stay.
    async fn delete_orphan_ticket(
        &self,
        repository: &TangledRepository,
        ticket: &AtUri,
        is_new: bool,
        why: Error,
    ) -> Error {
        let finish = Hint::from(format!(
            "repeat the command, which finishes or finds {ticket}; or close {ticket}"
        ))
        .with_action(AGAIN);
        let written = matches!(why.kind(), ErrorKind::Protocol);
        if xrpc_error::is_ambiguous(&why) || written {
            return why.with_hint(finish);
        }
        let input = json!({
            "repo": ticket.authority,
            "collection": ticket.collection,
            "rkey": ticket.rkey,
        });
        let method = "com.atproto.repo.deleteRecord";
        let erased = is_new && self.account_call(repository, method, &input).await.is_ok();
        match erased {
            true => why,
            false => {
                let left = |text: &str| format!("{text}; the ticket exists without any changes");
                why.with_hint(finish.map_text(left))
            }
        }
    }
}

/// Returns true if a knot refused the request, and false for any other failure.
fn is_refusal(error: &Error) -> bool {
    error.is_not_found() || matches!(error.kind(), ErrorKind::InvalidInput { .. })
}

fn unknown_merge_base_error(
    fork: &TangledRepository,
    upstream: &TangledRepository,
    base: &str,
) -> Error {
    let base = one_line(base);
    Error::invalid(
        "head",
        format!(
            "cannot find the merge base: neither knot has both the newest '{base}' of {} and the \
             branch of {}",
            upstream.id, fork.id
        ),
    )
    .with_hint(format!(
        "bring the fork up to date: push the newest '{base}' of {} to it, then try again",
        upstream.id
    ))
}

pub(crate) fn set_title(map: &mut Map<String, Value>, title: &str, names: &Dialects) {
    set_text(map, &names.fields.title, title, names, names.inline(title));
}

/// Sets the description; removes an empty description, because the knot refuses it.
pub(crate) fn describe(map: &mut Map<String, Value>, text: &str, names: &Dialects) {
    let field = &*names.fields.body;
    match text.trim().is_empty() {
        true => drop(map.remove(field)),
        false => set_text(map, field, text, names, names.markdown(text)),
    }
}

/// Sets the text of a title or a body, and keeps its other fields. If there is no title or body
/// yet, `fresh` is its value.
fn set_text(map: &mut Map<String, Value>, field: &str, text: &str, names: &Dialects, fresh: Value) {
    match map.get_mut(field).and_then(Value::as_object_mut) {
        Some(markup) => write::set_markup_text(markup, &names.fields.text, text),
        None => drop(map.insert(field.to_owned(), fresh)),
    }
}

pub(crate) fn no_assignees() -> Error {
    Error::unsupported(
        Capability::PrAssignees,
        "how a ticket of Tangled 1.0 names its assignees is not known",
        "assign on the web",
    )
}

/// Capabilities of a Tangled 1.0 repository that differ from the backend's table.
pub(crate) fn overrides(
    capabilities: &forge_core::Capabilities,
) -> Vec<(Capability, forge_core::Support)> {
    use forge_core::Support::{Emulated, No};
    let how = "experimental: the protocol of Tangled 1.0 is not published as a whole";
    let experimental = [
        Capability::PrCreate,
        Capability::PrCreateCrossRepository,
        Capability::PrResubmit,
        Capability::PrEdit,
        Capability::PrLabels,
        Capability::PrClose,
        Capability::PrReopen,
        Capability::Comments,
        Capability::CommentReply,
        Capability::IssueCreate,
        Capability::IssueEdit,
        Capability::IssueState,
        Capability::IssueComment,
    ];
    let merge =
        "experimental: in a clone, by rebase and push; the protocol is not published as a whole";
    let merging = [Capability::MergeRebase, Capability::MergeExpectedHead];
    let listed = Emulated {
        how: "the labels that tickets carry: how they are defined is not known",
    };
    let why = "how to do this on Tangled 1.0 is not known";
    let instead = const { &Hint::new("do it on the web") };
    let missing = [
        Capability::PrCreatePatch,
        Capability::PrCreateEdits,
        Capability::PrCreateDependent,
        Capability::PrAssignees,
        Capability::PrDeleteBranch,
        Capability::PrMergeability,
        Capability::CommentEdit,
        Capability::CommentDelete,
        Capability::LabelEdit,
        Capability::LabelValues,
        Capability::IssueCommentEdit,
        Capability::IssueDelete,
        Capability::IssueRelations,
        Capability::IssueValues,
        Capability::IssueFieldEdit,
        Capability::RepoFile,
        Capability::Checks,
    ];
    // These capabilities come from the configuration of the host, and were not tried with this
    // protocol.
    let configured = [
        Capability::PrCreateDraft,
        Capability::PrDraft,
        Capability::ReviewVerdict,
    ];
    let configured = configured.into_iter().filter(|c| capabilities.has(*c));
    let missing = missing.into_iter().chain(configured);
    experimental
        .into_iter()
        .map(|c| (c, Emulated { how }))
        .chain(merging.map(|c| (c, Emulated { how: merge })))
        .chain([(Capability::LabelList, listed)])
        .chain(missing.map(|c| (c, No { why, instead })))
        .collect()
}
