//! Writing to repositories of Tangled 1.0: experimental, and said so with every result.
//!
//! Records go through the knot, into the account of the repository. What was not seen of that is not
//! guessed in silence: the spelling of a state and the keys of labels are learned from the
//! repository's own tickets, whom a token has to be for is tried out, every write is read back, and
//! what cannot be known is refused.

use forge_core::{
    Capability, Error, ErrorKind, Noun, Outcome, Precondition, Result, Warning,
    model::{Comment, CreatePull, EditPull, PrFields, PrState, PullRequest},
    text::one_line,
};
use forge_http::Class;
use serde_json::{Map, Value, json};

use crate::{
    Tangled, fault,
    knot::no_branch,
    pulls::{
        check_body, check_title,
        record::{Content, Pull},
        view::Located,
    },
    records::{self, NewRecord, Record},
    repository::Repository,
    tickets, write,
    xrpc::Xrpc,
};

/// How often an edit is tried again because somebody else was faster.
const EDITS_MOST: u32 = 20;
/// The type of a label on a ticket.
const TOKEN: &str = "org.tangled.label.defs#labelToken";

/// What is said with every result.
pub(crate) fn experimental() -> Warning {
    Warning::new("writing to Tangled 1.0 is experimental: its protocol is not published as a whole")
        .with_hint("look at the result on the web")
}

pub(crate) fn done<T>(value: T) -> Outcome<T> {
    Outcome::immediate(value).with_warning(experimental())
}

/// Two commits of a repository.
struct Ends {
    base: String,
    head: String,
}

impl Tangled {
    /// Opens a pull request: the ticket, then its first patch. A ticket whose patch is refused is
    /// taken back.
    pub(crate) async fn create_ticket(
        &self,
        repository: std::sync::Arc<Repository>,
        req: &CreatePull,
    ) -> Result<Outcome<PullRequest>> {
        let title = check_title(&req.title)?;
        check_body("description", &req.description)?;
        self.session.viewer().await?;
        if req.patch.is_some() || !req.edits.is_empty() || req.depends_on.is_some() {
            let (what, why) = match req.patch {
                Some(_) => (
                    Capability::PrCreatePatch,
                    "a round of Tangled 1.0 is two commits on the knot, and no patch",
                ),
                None if !req.edits.is_empty() => (
                    Capability::PrCreateEdits,
                    "a round of Tangled 1.0 is two commits on the knot, and it makes none from files",
                ),
                None => (
                    Capability::PrCreateDependent,
                    "how Tangled 1.0 writes that a pull request depends on another is not known",
                ),
            };
            return Err(Error::unsupported(
                what,
                why,
                "open it from a branch, by itself",
            ));
        }
        if req.head.owner.is_some() {
            return Err(Error::unsupported(
                Capability::PrCreateCrossRepository,
                "how Tangled 1.0 writes where a fork's changes are was not seen",
                "push the branch to the repository itself",
            ));
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
        let ends = self.ends(&repository, &base, head).await?;
        let (others, _) = self.tickets(&repository).await?;
        let twin = others.iter().find(|p| {
            p.base == base
                && p.head == *head
                && tickets::inline(&p.record).state == Some(PrState::Open)
        });
        if let Some(twin) = twin {
            let uri = twin.record.uri.clone();
            return Err(Error::new(
                ErrorKind::AlreadyExists {
                    existing: Some(uri.clone()),
                },
                format!("there is an open pull request of these branches already: {uri}"),
            ));
        }
        let labels = learned_labels(others.iter().map(|p| &p.record), &req.labels)?;
        let names = &self.settings.dialects.org;
        let mut value = json!({
            "$type": names.pull,
            "title": inline_markdown(&title),
            "state": "open",
            "targetBranch": base,
            "createdAt": write::now(),
        });
        if let Some(map) = value.as_object_mut() {
            // The knot refuses an empty body.
            if !req.description.trim().is_empty() {
                map.insert("body".to_owned(), markdown(&req.description));
            }
            if !labels.is_empty() {
                map.insert("tangledLabels".to_owned(), Value::Array(labels));
            }
        }
        let record = write::checked(NewRecord::new(&names.pull, value))?;
        self.put_new(&repository, &record).await?;
        let rkey = record.rkey.clone();
        if let Err(e) = self.submit(&repository, &rkey, head, &ends).await {
            return Err(self.take_back(&repository, &record, e).await);
        }
        let did = repository.did.clone().unwrap_or_default();
        let uri = forge_core::AtUri::parse(&record.uri(&did))?;
        let pull = self.ticket(&repository, &uri).await?;
        survived(&pull, &title, &base, &ends)?;
        let located = Located {
            repository,
            pull,
            number: None,
        };
        let mut view = self.view_located(&located, PrFields::NONE).await?;
        view.base_oid = Some(ends.base);
        Ok(done(view))
    }

    /// Submits what the head branch has now as another round.
    pub(crate) async fn resubmit_ticket(&self, located: &Located) -> Result<Outcome<PullRequest>> {
        let (repository, pull) = (&located.repository, &located.pull);
        if pull.head.is_empty() {
            return Err(Error::invalid(
                "pr",
                format!(
                    "{} does not say which branch it was made from",
                    pull.record.uri
                ),
            ));
        }
        let state = tickets::inline(&pull.record).state;
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
        let ends = self.ends(repository, &pull.base, &pull.head).await?;
        if pull.source_sha.as_ref() == Some(&ends.head) {
            let view = self.view_located(located, PrFields::NONE).await?;
            let warning =
                Warning::new("the newest round has these very commits; nothing was submitted");
            return Ok(Outcome::unchanged(view, warning));
        }
        self.submit(repository, pull.record.rkey(), &pull.head, &ends)
            .await?;
        let located = self.again(located).await?;
        Ok(done(self.view_located(&located, PrFields::NONE).await?))
    }

    /// Comments on a ticket.
    pub(crate) async fn comment_on_ticket(
        &self,
        located: &Located,
        body: &str,
        reply_to: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        let ticket = located.pull.record.rkey();
        self.comment_in_account(&located.repository, ticket, body, reply_to)
            .await
    }

    /// Comments on the ticket with this key.
    pub(crate) async fn comment_in_account(
        &self,
        repository: &Repository,
        ticket: &str,
        body: &str,
        reply_to: Option<&str>,
    ) -> Result<Outcome<Comment>> {
        if body.trim().is_empty() {
            return Err(Error::invalid("body", "the comment is empty"));
        }
        check_body("body", body)?;
        if let Some(key) = reply_to {
            return Err(Error::invalid(
                "reply_to",
                format!(
                    "answers to a comment are not written on Tangled 1.0: {}",
                    one_line(key)
                ),
            )
            .with_hint("write a comment of its own"));
        }
        let names = &self.settings.dialects.org;
        let did = repository.did.clone().unwrap_or_default();
        let knot = self.knot(repository).await?;
        // The knot takes a comment on the current version alone.
        let subject = records::get(&knot, &did, &names.pull, ticket).await?;
        let value = json!({
            "$type": names.comment,
            "subject": {
                "$type": "com.atproto.repo.strongRef",
                "uri": subject.uri,
                "cid": subject.cid(),
            },
            "body": markdown(body),
            "createdAt": write::now(),
        });
        let record = write::checked(NewRecord::new(&names.comment, value))?;
        self.put_new(repository, &record).await?;
        let written = records::get(&knot, &did, &names.comment, &record.rkey).await?;
        let models = self.comment_models(std::slice::from_ref(&written)).await;
        match models.into_iter().next() {
            Some(comment) if comment.body == body => Ok(done(comment)),
            _ => Err(changed_on_the_way(&written.uri, "the text")),
        }
    }

    /// Changes title, description and labels.
    pub(crate) async fn edit_ticket(
        &self,
        located: &Located,
        edit: &EditPull,
    ) -> Result<Outcome<PullRequest>> {
        if !edit.assignees.is_empty() {
            return Err(no_assignees());
        }
        let title = edit.title.as_deref().map(check_title).transpose()?;
        if let Some(description) = &edit.description {
            check_body("description", description)?;
        }
        let (others, _) = self.tickets(&located.repository).await?;
        let add = learned_labels(others.iter().map(|p| &p.record), &edit.labels.add)?;
        let remove = &edit.labels.remove;
        let (repository, ticket) = (&located.repository, &located.pull.record);
        let expected = edit.expected_version.as_deref();
        let changed = self
            .change_ticket(repository, ticket, expected, |map| {
                if let Some(title) = &title {
                    map.insert("title".to_owned(), inline_markdown(title));
                }
                match edit.description.as_deref() {
                    Some(text) if text.trim().is_empty() => drop(map.remove("body")),
                    Some(text) => set_text(map, text),
                    None => {}
                }
                relabel(map, &add, remove);
            })
            .await?;
        if !changed {
            let view = self.view_located(located, PrFields::NONE).await?;
            return Ok(Outcome::unchanged(
                view,
                Warning::new("there was nothing to change"),
            ));
        }
        let located = self.again(located).await?;
        if title.as_ref().is_some_and(|t| *t != located.pull.title) {
            return Err(changed_on_the_way(&located.pull.record.uri, "the title"));
        }
        Ok(done(self.view_located(&located, PrFields::NONE).await?))
    }

    /// Closes or reopens. How this repository spells a closed one is learned from its tickets.
    pub(crate) async fn set_ticket_state(
        &self,
        located: &Located,
        to: PrState,
    ) -> Result<Outcome<PullRequest>> {
        let uri = &located.pull.record.uri;
        let now = tickets::inline(&located.pull.record).state;
        if now == Some(PrState::Merged) {
            return Err(Error::precondition(
                Precondition::Merged,
                format!("{uri} is merged"),
            ));
        }
        if now == Some(to) {
            let view = self.view_located(located, PrFields::NONE).await?;
            let warning = Warning::new(format!("{uri} is that already"));
            return Ok(Outcome::unchanged(view, warning));
        }
        let word = if to == PrState::Open {
            "open".to_owned()
        } else {
            self.closed_word(&located.repository).await?
        };
        let (repository, ticket) = (&located.repository, &located.pull.record);
        self.change_ticket(repository, ticket, None, |map| {
            map.insert("state".to_owned(), json!(word));
        })
        .await?;
        let located = self.again(located).await?;
        if located.pull.record.text("state") != Some(word.as_str()) {
            return Err(changed_on_the_way(&located.pull.record.uri, "the state"));
        }
        Ok(done(self.view_located(&located, PrFields::NONE).await?))
    }

    async fn closed_word(&self, repository: &Repository) -> Result<String> {
        let (all, _) = self.tickets(repository).await?;
        Ok(learned_word(all.iter().map(|p| &p.record), PrState::Closed))
    }

    /// The same pull request as it is now.
    pub(crate) async fn again(&self, located: &Located) -> Result<Located> {
        let pull = self.ticket(&located.repository, &located.pull.uri).await?;
        Ok(Located {
            pull,
            ..located.clone()
        })
    }

    /// Merge base and head of two branches.
    async fn ends(&self, repository: &Repository, base: &str, head: &str) -> Result<Ends> {
        if base == head {
            return Err(Error::invalid(
                "head",
                format!("'{}' is head and base at once", one_line(head)),
            ));
        }
        let (onto, from) =
            futures::try_join!(self.branch(repository, base), self.branch(repository, head))?;
        let onto = onto.ok_or_else(|| no_branch("base", repository, base))?;
        let from = from.ok_or_else(|| no_branch("head", repository, head))?;
        let knot = self.knot(repository).await?;
        let did = repository.did.clone().unwrap_or_default();
        let params = [
            ("repo", did.as_str()),
            ("base", onto.hash.as_str()),
            ("head", from.hash.as_str()),
        ];
        let found: Value = knot
            .query("org.tangled.temp.git.getMergeBase", &params)
            .await?;
        let common = found.get("commit").and_then(|c| {
            let oid = c.get("oid").unwrap_or(c);
            oid.as_str().map(str::to_owned)
        });
        let common = common.ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                format!("the knot named no commit that '{base}' and '{head}' share"),
            )
        })?;
        if common == from.hash {
            return Err(Error::precondition(
                Precondition::NothingToMerge,
                format!(
                    "'{}' has no commits that '{}' has not",
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

    /// A round. A lost answer is decided by the patches that are there.
    async fn submit(
        &self,
        repository: &Repository,
        ticket: &str,
        branch: &str,
        ends: &Ends,
    ) -> Result<()> {
        let did = repository.did.clone().unwrap_or_default();
        let input = json!({
            "repo": did,
            "patch": {
                "ticket": ticket,
                "base": { "oid": ends.base },
                "head": { "oid": ends.head },
                "sourceRepo": did,
                "sourceBranch": branch,
            },
        });
        let sent = self
            .account_call(repository, "org.tangled.review.submitPatch", &input)
            .await;
        match sent {
            Ok(_) => Ok(()),
            Err(e) if fault::is_ambiguous(&e) => {
                let knot = self.knot(repository).await?;
                let collection = &self.settings.dialects.org.patch;
                let patches = records::all(&knot, &did, collection, usize::MAX).await?;
                let ours = |p: &Record| {
                    let head = p.value.get("head").and_then(|h| h.get("oid"));
                    p.text("ticket") == Some(ticket)
                        && head.and_then(Value::as_str) == Some(ends.head.as_str())
                };
                if patches.records.iter().any(ours) {
                    Ok(())
                } else {
                    Err(e)
                }
            }
            Err(e) => Err(e),
        }
    }

    /// Erases a ticket whose patch was refused. That needs the right to push, so it may stay.
    async fn take_back(&self, repository: &Repository, ticket: &NewRecord, why: Error) -> Error {
        let did = repository.did.clone().unwrap_or_default();
        let uri = ticket.uri(&did);
        if fault::is_ambiguous(&why) {
            return why.with_hint(format!(
                "look at it before trying again: `forge pr view {uri}`"
            ));
        }
        let input = json!({ "repo": did, "collection": ticket.collection, "rkey": ticket.rkey });
        let erased = self
            .account_call(repository, "com.atproto.repo.deleteRecord", &input)
            .await;
        match erased {
            Ok(_) => why,
            Err(_) => why.with_hint(format!(
                "its ticket is there without any changes: {uri}; submit a round to it, or close it"
            )),
        }
    }

    /// Creates a record under our key. A lost answer is read back; what is not there is sent once
    /// more, because the knot refuses a key that exists.
    pub(crate) async fn put_new(&self, repository: &Repository, record: &NewRecord) -> Result<()> {
        let did = repository.did.clone().unwrap_or_default();
        let input = json!({
            "repo": did,
            "collection": record.collection,
            "rkey": record.rkey,
            "record": record.value,
        });
        let knot = self.knot(repository).await?;
        let mut tried = 0;
        loop {
            let sent = self
                .account_call(repository, "com.atproto.repo.createRecord", &input)
                .await;
            let error = match sent {
                Ok(_) => return Ok(()),
                Err(e) if fault::is_ambiguous(&e) => e,
                Err(e) => return Err(e),
            };
            let found = records::find(&knot, &did, &record.collection, &record.rkey).await;
            if matches!(found, Ok(Some(_))) {
                return Ok(());
            }
            tried += 1;
            if tried > 1 {
                return Err(error.with_context("uri", record.uri(&did)));
            }
        }
    }

    /// Reads the ticket, changes it and puts it back unless somebody was faster. Whether there was
    /// anything to change.
    pub(crate) async fn change_ticket(
        &self,
        repository: &Repository,
        ticket: &Record,
        expected: Option<&str>,
        change: impl Fn(&mut Map<String, Value>),
    ) -> Result<bool> {
        let did = repository.did.clone().unwrap_or_default();
        let collection = &self.settings.dialects.org.pull;
        let rkey = ticket.rkey();
        let knot = self.knot(repository).await?;
        for _ in 0..EDITS_MOST {
            let old = records::get(&knot, &did, collection, rkey).await?;
            if let Some(expected) = expected.filter(|e| *e != old.cid()) {
                return Err(stale(&old.uri, expected, old.cid()));
            }
            let Value::Object(mut map) = old.value.clone() else {
                return Err(Error::not_found(
                    Noun::PullRequest,
                    format!("{} is no ticket", old.uri),
                ));
            };
            change(&mut map);
            if Value::Object(map.clone()) == old.value {
                return Ok(false);
            }
            // The knot's own stamps are not sent back.
            map.retain(|name, _| !name.starts_with("x-tngl-"));
            let input = json!({
                "repo": did,
                "collection": collection,
                "rkey": rkey,
                "record": map,
                "swapRecord": old.cid(),
            });
            let sent = self
                .account_call(repository, "com.atproto.repo.putRecord", &input)
                .await;
            match sent {
                Ok(_) => return Ok(true),
                Err(e) if fault::is_conflict(&e) => {
                    if let Some(expected) = expected {
                        return Err(stale(&old.uri, expected, "another"));
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Err(stale(
            &ticket.uri,
            "the one that was read",
            "another each time",
        ))
    }

    /// A write through the knot. Whom the token has to be for was seen in two forms: the knot, or
    /// the repository. The first that is taken is remembered; one that is refused has changed
    /// nothing.
    async fn account_call(
        &self,
        repository: &Repository,
        method: &str,
        input: &Value,
    ) -> Result<Value> {
        let known = self.audiences.cell(repository.knot.as_str());
        let knot = self.knot(repository).await?;
        let host = repository.knot.service_did();
        let did = repository.did.clone().unwrap_or_default();
        let first = known.get().cloned().unwrap_or_else(|| host.clone());
        let second = if first == host { did } else { host };
        match self.call_for(&knot, &first, method, input).await {
            Err(e) if known.get().is_none() && wrong_audience(&e) => {
                let answer = self.call_for(&knot, &second, method, input).await?;
                // Another call may have found out at the same time.
                let _ = known.set(second);
                Ok(answer)
            }
            Ok(answer) => {
                let _ = known.set(first);
                Ok(answer)
            }
            Err(e) => Err(e),
        }
    }

    async fn call_for(
        &self,
        knot: &Xrpc,
        audience: &str,
        method: &str,
        input: &Value,
    ) -> Result<Value> {
        let token = self.session.service_token(audience, method).await?;
        let knot = knot.clone().with_token(token).with_class(Class::Write);
        knot.procedure(method, input).await
    }
}

fn wrong_audience(error: &Error) -> bool {
    let refused = matches!(
        error.kind(),
        ErrorKind::PermissionDenied { .. } | ErrorKind::Unauthenticated { .. }
    );
    refused && error.message().to_lowercase().contains("aud")
}

pub(crate) fn markdown(text: &str) -> Value {
    json!({ "$type": "org.tangled.markup.markdown", "text": text })
}

pub(crate) fn inline_markdown(text: &str) -> Value {
    json!({ "$type": "org.tangled.markup.markdown#inline", "text": text })
}

/// Sets the text of the body and keeps what else is in it.
pub(crate) fn set_text(map: &mut Map<String, Value>, text: &str) {
    match map.get_mut("body").and_then(Value::as_object_mut) {
        Some(body) => drop(body.insert("text".to_owned(), json!(text))),
        None => drop(map.insert("body".to_owned(), markdown(text))),
    }
}

fn relabel(map: &mut Map<String, Value>, add: &[Value], remove: &[String]) {
    if add.is_empty() && remove.is_empty() {
        return;
    }
    let key = |token: &Value| token.get("key").and_then(Value::as_str).map(str::to_owned);
    let old = map.get("tangledLabels").and_then(Value::as_array);
    let mut labels: Vec<Value> = old.cloned().unwrap_or_default();
    labels.retain(|token| {
        let name = key(token).unwrap_or_default();
        let short = name.rsplit('/').next().unwrap_or_default();
        !remove
            .iter()
            .any(|r| r.eq_ignore_ascii_case(short) || *r == name)
    });
    for token in add {
        if !labels.iter().any(|l| key(l) == key(token)) {
            labels.push(token.clone());
        }
    }
    if labels.is_empty() {
        map.remove("tangledLabels");
    } else {
        map.insert("tangledLabels".to_owned(), Value::Array(labels));
    }
}

/// Labels by name, with the keys that they have on other tickets of this repository: how a
/// definition is named was not seen.
pub(crate) fn learned_labels<'a>(
    tickets: impl Iterator<Item = &'a Record>,
    names: &[String],
) -> Result<Vec<Value>> {
    let known: Vec<_> = tickets
        .flat_map(|ticket| tickets::inline(ticket).labels)
        .collect();
    names
        .iter()
        .map(|name| {
            let found = known
                .iter()
                .find(|l| l.name.eq_ignore_ascii_case(name) || l.id == *name);
            let found = found.ok_or_else(|| {
                Error::invalid(
                    "labels",
                    format!("no ticket here has the label '{}'", one_line(name)),
                )
                .with_hint(
                    "on Tangled 1.0 only labels that are in use can be given; give it on the web once",
                )
            })?;
            Ok(json!({ "$type": TOKEN, "key": found.id }))
        })
        .collect()
}

/// How a repository spells the state `closed` or `merged`, as it was seen on others of the same kind.
pub(crate) fn learned_word<'a>(
    tickets: impl Iterator<Item = &'a Record>,
    state: PrState,
) -> String {
    let seen = tickets
        .filter_map(|ticket| ticket.text("state"))
        .find(|word| tickets::state(word).0 == state);
    let usual = match state {
        PrState::Merged => "merged",
        PrState::Open => "open",
        PrState::Closed => "closed",
    };
    seen.unwrap_or(usual).to_owned()
}

pub(crate) fn no_assignees() -> Error {
    Error::unsupported(
        Capability::PrAssignees,
        "how a ticket of Tangled 1.0 names its assignees is not known",
        "assign on the web",
    )
}

fn survived(pull: &Pull, title: &str, base: &str, ends: &Ends) -> Result<()> {
    let head = pull.latest().map(|(_, round)| &round.content);
    let what = if pull.title != title {
        "the title"
    } else if pull.base != base {
        "the target branch"
    } else if !matches!(head, Some(Content::Commits { head, .. }) if *head == ends.head) {
        "the commits"
    } else {
        return Ok(());
    };
    Err(changed_on_the_way(&pull.record.uri, what))
}

pub(crate) fn changed_on_the_way(uri: &str, what: &str) -> Error {
    Error::new(
        ErrorKind::Protocol,
        format!("{uri} was written, and {what} is not what was sent"),
    )
    .with_hint("look at it on the web")
}

fn stale(uri: &str, expected: &str, actual: &str) -> Error {
    Error::new(
        ErrorKind::Conflict {
            expected: expected.to_owned(),
            actual: actual.to_owned(),
        },
        format!("{uri} was changed by somebody else in the meantime"),
    )
    .with_hint("read it again, then make the change on what is there now")
}

/// What differs from the backend's table in a repository of 1.0.
pub(crate) fn overrides(
    capabilities: &forge_core::Capabilities,
) -> Vec<(Capability, forge_core::Support)> {
    use forge_core::Support::{Emulated, No};
    let how = "experimental: the protocol of Tangled 1.0 is not published as a whole";
    let experimental = [
        Capability::PrCreate,
        Capability::PrEdit,
        Capability::PrLabels,
        Capability::PrClose,
        Capability::PrReopen,
        Capability::Comments,
        Capability::IssueCreate,
        Capability::IssueEdit,
        Capability::IssueState,
        Capability::IssueComment,
    ];
    let merge =
        "experimental: in a clone, by rebase and push; the protocol is not published as a whole";
    let merging = [Capability::MergeRebase, Capability::MergeExpectedHead];
    let why = "what it takes on Tangled 1.0 is not known";
    let instead = "do it on the web";
    let missing = [
        Capability::PrCreateCrossRepository,
        Capability::PrAssignees,
        Capability::PrDeleteBranch,
        Capability::PrMergeability,
        Capability::CommentReply,
        Capability::CommentEdit,
        Capability::CommentDelete,
        Capability::LabelEdit,
        Capability::Checks,
    ];
    // What a host has because it is configured so, and this protocol was not tried with.
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
        .chain(missing.map(|c| (c, No { why, instead })))
        .collect()
}
