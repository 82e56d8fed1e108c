//! The context of one tool call. It opens the repository, checks permissions, asks the user to
//! confirm, and reports progress.

use std::sync::{Arc, Mutex, PoisonError};

use forge::{SelectedPull, WorkingCopy};
use forge_core::{
    Action, AtUri, Error, Hint, Locator, Op, PageReq, PrId, PrKey, PrSelector, Repo, RepoId,
    RepoPath, Result, Warning, locator,
    model::{CommentId, HeadRef, IssueId, PrFields},
};
use rmcp::{
    RoleServer,
    model::{CallToolRequestParams, JsonObject, ProgressNotificationParam},
    service::RequestContext,
};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    ServerState,
    action::{Advice, HintContext},
    confirm::{self, ConfirmationRequest},
    route::{ToolError, ToolSpec},
};
use crate::content::{Clean, Cleaner, MAX_MESSAGE_CHARS};

/// Maximum number of pages of comments that are read to find one comment.
const MAX_COMMENT_PAGES: usize = 100;

/// A tool call in progress.
pub(crate) struct CallContext {
    pub server: ServerState,
    /// Cleans the quoted text of the result, and counts the removed characters.
    pub cleaner: Cleaner,
    spec: ToolSpec,
    pub params: CallToolRequestParams,
    pub ctx: RequestContext<RoleServer>,
    about: Mutex<HintContext>,
    turn: Mutex<Option<OwnedSemaphorePermit>>,
    /// The permit of a call on a repository in a directory of this machine.
    directory: tokio::sync::Mutex<Option<OwnedSemaphorePermit>>,
}

/// A pull request, with its open repository.
#[derive(Debug)]
pub(crate) struct PullTarget {
    pub repo: Repo,
    pub id: PrId,
}

/// An issue, with its open repository.
#[derive(Debug)]
pub(crate) struct IssueTarget {
    pub repo: Repo,
    pub id: IssueId,
}

impl CallContext {
    pub fn new(
        server: ServerState,
        spec: ToolSpec,
        params: CallToolRequestParams,
        ctx: RequestContext<RoleServer>,
    ) -> Self {
        let about = HintContext {
            tool: spec.name.to_owned(),
            tools: server.tools().clone(),
            ..HintContext::default()
        };
        Self {
            server,
            cleaner: Cleaner::new(),
            spec,
            params,
            ctx,
            about: Mutex::new(about),
            turn: Mutex::default(),
            directory: tokio::sync::Mutex::default(),
        }
    }

    /// Waits for one of the slots that limit concurrent calls. The call keeps the slot until its
    /// end.
    pub async fn acquire_slot(&self) -> Result<()> {
        let turn = self.server.turn().await?;
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = Some(turn);
        Ok(())
    }

    /// Releases the slot, so that other calls can run while this call waits for the user.
    pub fn release_slot(&self) {
        if let Ok(mut held) = self.directory.try_lock() {
            drop(held.take());
        }
        drop(
            self.turn
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }

    /// Returns the context for hints: what the call has recorded so far.
    pub fn about(&self) -> HintContext {
        self.about
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Records the received arguments under their names in the schema, for hints.
    pub fn learn_arguments(&self, arguments: Arc<JsonObject>) {
        self.note(|about| about.arguments = Some(arguments));
    }

    /// Renders a hint as advice for an agent.
    pub fn advise(&self, hint: &Hint) -> Advice {
        Advice::of(hint, &self.about(), &self.cleaner, MAX_MESSAGE_CHARS)
    }

    /// Returns the message of an error, with its hint if it has one.
    pub fn error_text(&self, e: &Error) -> String {
        match e.hint() {
            Some(hint) => format!("{}; {}", e.message(), self.advise(hint)),
            None => e.message().to_owned(),
        }
    }

    /// Returns the reason why one of several objects was not changed, with the recovery. Reason and
    /// recovery are each cut to `most` characters.
    pub fn reason(&self, why: &str, hint: Option<&Hint>, most: usize) -> Clean {
        let why = self.cleaner.line(why).cut(most);
        let Some(hint) = hint else {
            return why;
        };
        let advice = Advice::of(hint, &self.about(), &self.cleaner, most);
        let mut text = format!("{}; {}", why.as_data(), advice.line.as_data());
        if let Some(call) = &advice.call {
            text.push_str(&format!(": {call}"));
        }
        self.cleaner.line(&text)
    }

    fn note(&self, change: impl FnOnce(&mut HintContext)) {
        change(&mut self.about.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Opens the repository that an argument names: for reading, or for writing if the tool writes.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the locator is invalid, and with `permission_denied` if the
    /// server's allow lists do not include the repository. Both checks come before any request to a
    /// forge.
    pub async fn repo(&self, named: Option<&str>) -> Result<Repo> {
        let id = self.server.repo_id(named).await?;
        self.open(&id).await
    }

    async fn open(&self, id: &RepoId) -> Result<Repo> {
        self.note(|about| about.repo = Some(id.to_string()));
        if matches!(id.path, RepoPath::Dir(_)) {
            // A call that opens several repositories takes one permit, because two calls that wait
            // for their second permit would block each other.
            let mut held = self.directory.lock().await;
            if held.is_none() {
                *held = Some(self.server.directory_turn().await?);
            }
        }
        self.server.open(id, self.spec.effect.is_write()).await
    }

    /// Resolves the pull request that `repo` and `number` name.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::repo`] does. Fails with `invalid_input` if `number` names another
    /// repository than `repo`. Otherwise a URL from text that other people wrote could redirect the
    /// call.
    pub async fn pull(&self, repo: Option<&str>, number: &str) -> Result<PullTarget> {
        let (target, _) = self.select(repo, number, SelectedPull::unambiguous).await?;
        Ok(target)
    }

    /// Resolves a pull request as [`Self::pull`] does. If a branch has several pull requests,
    /// returns the newest one and a warning about the others.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::pull`] does.
    pub async fn newest_pull(
        &self,
        repo: Option<&str>,
        number: &str,
    ) -> Result<(PullTarget, Option<Warning>)> {
        self.select(repo, number, Ok).await
    }

    async fn select(
        &self,
        repo: Option<&str>,
        number: &str,
        accept: fn(SelectedPull) -> Result<SelectedPull>,
    ) -> Result<(PullTarget, Option<Warning>)> {
        if number.trim().trim_start_matches('#').is_empty() {
            return Err(Error::invalid("number", "number is empty").with_hint(no_number_hint()));
        }
        self.note(|about| about.number = Some(number.trim_start_matches('#').to_owned()));
        let hosts = self.server.forges().hosts();
        let named = match repo {
            Some(_) => Some(self.server.repo_id(repo).await?),
            None => None,
        };
        self.note(|about| about.repo = named.as_ref().map(ToString::to_string));
        let (id, key) = match locator::parse_selector(number, hosts)? {
            PrSelector::Number(n) => {
                let id = match named {
                    Some(id) => id,
                    None => self.server.repo_id(None).await?,
                };
                (id, PrKey::Number(n))
            }
            PrSelector::Locator(Locator::Pull { id, .. }) => {
                if let Some(named) = &named
                    && named.comparison_key() != id.repo.comparison_key()
                {
                    return Err(Error::invalid(
                        "number",
                        format!(
                            "repo is {named}, and number names a pull request of {}",
                            id.repo
                        ),
                    )
                    .with_hint("pass the number alone, or omit `repo`"));
                }
                (id.repo, id.key)
            }
            PrSelector::Locator(Locator::Record(uri)) => match named {
                Some(id) => (id, uri.into()),
                None => {
                    let write = self.spec.effect.is_write();
                    let (repo, key) = self.server.open_record(&uri, write).await?;
                    self.note(|about| about.repo = Some(repo.id().to_string()));
                    let id = PrId {
                        repo: repo.id().clone(),
                        key,
                    };
                    return Ok((PullTarget { repo, id }, None));
                }
            },
            PrSelector::Branch { owner, branch } => {
                let mut head = HeadRef::branch(branch);
                head.owner = owner;
                let repo = self.repo(repo).await?;
                let found = SelectedPull::by_head(repo, &head, PrFields::ROW).await?;
                return self.found(accept(found)?).await;
            }
            PrSelector::Current => {
                let repo = self.repo(repo).await?;
                let place = self.server.place();
                let here = WorkingCopy::new(self.server.forges(), &place);
                let found = here.current_pull(repo, PrFields::ROW).await?;
                return self.found(accept(found)?).await;
            }
            PrSelector::Locator(_) => {
                return Err(
                    Error::invalid("number", format!("'{number}' names no pull request"))
                        .with_hint(no_number_hint()),
                );
            }
        };
        self.note(|about| about.number = Some(key.to_string()));
        let repo = self.open(&id).await?;
        let write = self.spec.effect.is_write();
        self.server.authorize_record(&repo, &key, write).await?;
        let id = PrId {
            repo: repo.id().clone(),
            key,
        };
        Ok((PullTarget { repo, id }, None))
    }

    /// Resolves the issue that `repo` and `issue` name.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::pull`] does, and with `invalid_input` for the URL of a pull request.
    pub async fn issue(&self, repo: Option<&str>, issue: &str) -> Result<IssueTarget> {
        self.note(|about| about.number = Some(issue.trim_start_matches('#').to_owned()));
        let named = match repo {
            Some(_) => Some(self.server.repo_id(repo).await?),
            None => None,
        };
        self.note(|about| about.repo = named.as_ref().map(ToString::to_string));
        let (of, key) = self.issue_key(issue)?;
        if let (Some(of), Some(named)) = (&of, &named)
            && of.comparison_key() != named.comparison_key()
        {
            let message = format!("repo is {named}, and issue names an issue of {of}");
            return Err(
                Error::invalid("issue", message).with_hint("pass the number alone, or omit `repo`")
            );
        }
        let id = match (named.or(of), &key) {
            (Some(id), _) => id,
            // The repository of a record is known only after a request, and no request may precede
            // the permission check.
            (None, PrKey::Record(uri)) => {
                let message = format!("cannot tell the repository of {uri}");
                return Err(Error::invalid("repo", message).with_hint("pass repo as well"));
            }
            (None, PrKey::Number(_)) => self.server.repo_id(None).await?,
        };
        self.note(|about| about.number = Some(key.to_string()));
        let repo = self.open(&id).await?;
        let write = self.spec.effect.is_write();
        self.server.authorize_record(&repo, &key, write).await?;
        let id = IssueId {
            repo: repo.id().clone(),
            key,
        };
        Ok(IssueTarget { repo, id })
    }

    /// Resolves an issue that is related to an issue of `repo`; `field` is the argument's name.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the name is invalid, and with `permission_denied` if the allow
    /// lists do not include the issue's repository.
    pub async fn related(&self, repo: &Repo, field: &'static str, named: &str) -> Result<IssueId> {
        let (of, key) = self.issue_key(named).map_err(|e| match e.hint() {
            Some(hint) => Error::invalid(field, e.message()).with_hint(hint),
            None => e,
        })?;
        let write = self.spec.effect.is_write();
        let own = repo.id().comparison_key();
        let other = match of.filter(|of| of.comparison_key() != own) {
            Some(of) => Some(self.server.open(&of, write).await?),
            None => None,
        };
        let repo = other.as_ref().unwrap_or(repo);
        self.server.authorize_record(repo, &key, write).await?;
        Ok(IssueId {
            repo: repo.id().clone(),
            key,
        })
    }

    /// Parses the key of an issue, and the repository if the text names one.
    fn issue_key(&self, named: &str) -> Result<(Option<RepoId>, PrKey)> {
        let named = named.trim();
        if named.is_empty() {
            return Err(Error::invalid("number", "issue is empty")
                .with_hint("pass a number, '#7', its URL or at-uri"));
        }
        if let Ok(number) = named.strip_prefix('#').unwrap_or(named).parse() {
            return Ok((None, PrKey::Number(number)));
        }
        match self.server.forges().issue_locator(named)? {
            Locator::Issue { repo, key } => Ok((Some(self.server.forges().absolute(&repo)), key)),
            Locator::Record(uri) => Ok((None, uri.into())),
            _ => {
                let shown = forge_core::text::one_line(named);
                Err(
                    Error::invalid("number", format!("'{shown}' names no issue"))
                        .with_hint("pass a number, '#7', its URL or at-uri"),
                )
            }
        }
    }

    /// Checks that the selected pull request may be accessed, and records it for hints.
    async fn found(&self, found: SelectedPull) -> Result<(PullTarget, Option<Warning>)> {
        self.note(|about| about.number = Some(found.id.key.to_string()));
        let write = self.spec.effect.is_write();
        self.server
            .authorize_record(&found.repo, &found.id.key, write)
            .await?;
        let ambiguity = found.ambiguity();
        let target = PullTarget {
            repo: found.repo,
            id: found.id,
        };
        Ok((target, ambiguity))
    }

    /// Resolves another pull request of an open repository; `field` is the argument's name.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the name is invalid or names another repository. With an allow
    /// list, fails with `permission_denied` for an at-uri whose account has no known relation to
    /// `repo`.
    pub async fn resolve_other_pull(
        &self,
        repo: &Repo,
        field: &'static str,
        named: &str,
    ) -> Result<PrId> {
        let own = repo.id();
        let key = match locator::parse_selector(named, self.server.forges().hosts())? {
            PrSelector::Number(n) => PrKey::Number(n),
            PrSelector::Locator(Locator::Record(uri)) => uri.into(),
            PrSelector::Locator(Locator::Pull { id, .. }) => {
                if id.repo.comparison_key() != own.comparison_key() {
                    return Err(Error::invalid(
                        field,
                        format!("{id} is not a pull request of {own}"),
                    )
                    .with_hint("pass a pull request of this repository"));
                }
                id.key
            }
            _ => {
                return Err(
                    Error::invalid(field, format!("'{named}' names no pull request"))
                        .with_hint("pass a number, '#7', its URL or at-uri"),
                );
            }
        };
        let write = self.spec.effect.is_write();
        self.server.authorize_record(repo, &key, write).await?;
        Ok(PrId {
            repo: own.clone(),
            key,
        })
    }

    /// Resolves a comment from the id that the caller passed.
    ///
    /// # Errors
    ///
    /// With an allow list, fails with `permission_denied` if `key` is the at-uri of an account that
    /// has neither opened a pull request in the repository nor commented on the pull request.
    pub async fn comment(&self, target: &PullTarget, key: String) -> Result<CommentId> {
        let id = CommentId {
            pr: target.id.clone(),
            key,
        };
        let Ok(uri) = AtUri::parse(&id.key) else {
            return Ok(id);
        };
        let write = self.spec.effect.is_write();
        let Err(stranger) = self
            .server
            .authorize_record(&target.repo, &uri.into(), write)
            .await
        else {
            return Ok(id);
        };
        let limit = target.repo.limits().page_max;
        let mut page = PageReq::first(limit.clamp(1, 100));
        for _ in 0..MAX_COMMENT_PAGES {
            let found = target.repo.comments(&target.id, page).await?;
            if found.items.iter().any(|c| c.id == id.key) {
                return Ok(id);
            }
            match found.next {
                Some(next) => page = PageReq::after(next, limit.clamp(1, 100)),
                None => break,
            }
        }
        Err(stranger)
    }

    /// Asks the user to confirm.
    ///
    /// # Errors
    ///
    /// Fails with [`ToolError::Ask`] until the user has answered, and with `cancelled` if the user
    /// declines.
    pub async fn confirm(&self, ask: ConfirmationRequest<'_>) -> Result<(), ToolError> {
        confirm::confirm(self, ask).await
    }

    /// Sends a progress notification if the client requested progress; a disconnected client is not
    /// an error.
    pub async fn progress(&self, done: u32, total: Option<u32>, what: &str) {
        let Some(token) = self.ctx.meta.get_progress_token() else {
            return;
        };
        let mut progress =
            ProgressNotificationParam::new(token, f64::from(done)).with_message(what);
        if let Some(total) = total {
            progress = progress.with_total(f64::from(total));
        }
        let _ = self.ctx.peer.notify_progress(progress).await;
    }
}

/// Returns the hint for a `number` that names no pull request.
fn no_number_hint() -> Hint {
    let hint = "pass a number, '#7', its URL or at-uri, a branch, or '.' for the current branch; or look for it in the list";
    Hint::new(hint).with_action(Action::op(Op::PrList))
}
