//! The viewer's session: login with an app password, renewal, and tokens for other services.
//!
//! The session type of the atproto library atrium is not used, because it can wait forever, and any
//! failure loses the session. In this module, only one task of one process renews the tokens at a
//! time. New tokens are saved before they are used, because a renewal invalidates the old ones.
//! Only a refusal by the server ends a session.

mod store;
mod token;

use std::{
    future::Future,
    path::Path,
    sync::{self, Arc, PoisonError},
    time::Instant,
};

use async_trait::async_trait;
use atrium_api::com::atproto::server::{create_session, get_service_auth, refresh_session};
use forge_core::{Action, Call, Error, ErrorKind, Hint, Param, Result, Secret, Timestamp};
use forge_http::{Http, Idempotency};
use futures::future;
use tokio::sync::Mutex;

use crate::{
    Origin, TangledSettings, blocking,
    identity::{AccountIdentity, Identities},
    xrpc::{Xrpc, XrpcFailure},
    xrpc_error,
};
use store::{SessionStore, Tokens};

/// A token is renewed this many seconds before it expires.
const MARGIN: i64 = 60;

/// Account of the viewer (the logged-in user), and its credentials.
#[derive(Clone, Debug)]
pub struct PdsLogin {
    /// A handle or a DID.
    pub account: String,
    /// An app password.
    pub password: Secret,
    /// The account and the server that the password is for; `None` if they have not been looked up
    /// yet.
    pub pin: Option<PinnedAccount>,
}

/// The account and the server for which a password was given. The password is sent to no other
/// server: a handle may belong to another account tomorrow, and an app password is valid only at
/// the server that issued it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedAccount {
    /// The account's DID.
    pub did: String,
    /// The origin of its personal data server; `None` if it is not known.
    pub server: Option<String>,
}

/// Source of logins.
#[async_trait]
pub trait LoginSource: Send + Sync + std::fmt::Debug {
    /// Returns the login for `host`; `None` if nobody is logged in.
    ///
    /// # Errors
    /// Fails if the login cannot be read.
    async fn login(&self, host: &str) -> Result<Option<PdsLogin>>;

    /// Stores the pin (account and server) of a login that has none. Does nothing if this source
    /// stores no logins.
    ///
    /// # Errors
    /// Fails if the pin cannot be written.
    async fn keep_pin(&self, _host: &str, _login: &PdsLogin, _pin: &PinnedAccount) -> Result<()> {
        Ok(())
    }
}

/// A login that never changes.
#[derive(Clone, Debug)]
pub struct FixedLogin(pub Option<PdsLogin>);

#[async_trait]
impl LoginSource for FixedLogin {
    async fn login(&self, _host: &str) -> Result<Option<PdsLogin>> {
        Ok(self.0.clone())
    }
}

/// The logged-in user, whose account and server have been resolved.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    pub identity: AccountIdentity,
    pub pds: Origin,
    login: PdsLogin,
}

pub(crate) struct Session {
    http: Http,
    settings: Arc<TangledSettings>,
    identities: Arc<Identities>,
    logins: Arc<dyn LoginSource>,
    store: SessionStore,
    viewer: Mutex<Option<ReadViewer>>,
    /// The viewer of the login that was read last, for callers that cannot wait.
    known: sync::Mutex<Option<Arc<Viewer>>>,
    tokens: Mutex<Option<HeldTokens>>,
}

/// The viewer, if anybody was logged in, and the time at which the login was read. The time matters
/// because a user can log in and out while a process runs.
struct ReadViewer {
    viewer: Option<Arc<Viewer>>,
    at: Instant,
}

/// Tokens with their account.
struct HeldTokens {
    of: Arc<Viewer>,
    tokens: Tokens,
}

impl Viewer {
    /// Returns true if the tokens of this viewer are also valid for `other`.
    fn is_same(&self, other: &Self) -> bool {
        let is_same_account = self.identity.did == other.identity.did && self.pds == other.pds;
        is_same_account && self.login.password == other.login.password
    }
}

impl Session {
    pub fn new(
        http: Http,
        settings: Arc<TangledSettings>,
        identities: Arc<Identities>,
        logins: Arc<dyn LoginSource>,
    ) -> Self {
        Self {
            http,
            store: SessionStore::new(settings.sessions.clone()),
            settings,
            identities,
            logins,
            viewer: Mutex::new(None),
            known: sync::Mutex::new(None),
            tokens: Mutex::new(None),
        }
    }

    /// Returns the viewer; `None` if nobody is logged in. Nothing is sent to the server of the
    /// account. The login is read again after [`TangledSettings::kept`]; a failed read is not
    /// cached.
    pub async fn viewer_if_any(&self) -> Result<Option<Arc<Viewer>>> {
        let mut held = self.viewer.lock().await;
        let is_young = |it: &&ReadViewer| it.at.elapsed() < self.settings.kept;
        if let Some(read) = held.as_ref().filter(is_young) {
            return Ok(read.viewer.clone());
        }
        *held = None;
        let viewer = match self.logins.login(&self.settings.host).await? {
            Some(login) => {
                self.http.remember(&login.password);
                Some(Arc::new(Box::pin(self.identify(login)).await?))
            }
            None => None,
        };
        *self.lock_known() = viewer.clone();
        let at = Instant::now();
        let read = held.insert(ReadViewer { viewer, at });
        Ok(read.viewer.clone())
    }

    fn lock_known(&self) -> sync::MutexGuard<'_, Option<Arc<Viewer>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves the account of a login.
    ///
    /// A pin is the account and the server that the password was given for.
    /// - Without a pin, the handle and the DID document must name each other.
    /// - With a pin, the account is the pinned DID. If the handle now names another DID, this fails
    ///   before anything is sent to a server of the account.
    async fn identify(&self, mut login: PdsLogin) -> Result<Viewer> {
        login.account = login.account.trim_start_matches('@').to_owned();
        let is_did = login.account.starts_with("did:");
        let account = login.account.to_ascii_lowercase();
        let kept = match &login.pin {
            Some(pin) => vec![pin.clone()],
            None => {
                let (store, login) = (self.store.clone(), login.clone());
                blocking::run(move || Ok(store.pins(&login))).await?
            }
        };
        let pin = kept
            .first()
            .filter(|pin| !is_did || pin.did == login.account);
        let identity = match pin {
            Some(pin) if !is_did => {
                let (now, identity) = future::join(
                    self.identities.resolve(&account),
                    self.identities.of_did(&pin.did),
                )
                .await;
                // A handle that cannot be resolved is no error, because the owner of the pinned DID
                // may have another handle now.
                let now = now.ok();
                let mut others = kept.iter().map(|pin| &pin.did).chain(&now);
                if let Some(other) = others.find(|did| **did != pin.did) {
                    return Err(self.moved_handle_error(&account, &pin.did, other));
                }
                identity?
            }
            _ => self.identities.account(&login.account).await?,
        };
        let pds = self.server_of(&identity)?;
        let found = self.pin_of(&identity, &pds);
        let pinned = pin.and_then(|pin| pin.server.as_ref());
        if let (Some(old), Some(new)) = (pinned, &found.server)
            && old != new
        {
            return Err(self.moved_server(&identity, old, new));
        }
        let is_whole = |pin: &PinnedAccount| pin.server.is_some() || found.server.is_none();
        if !login.pin.as_ref().is_some_and(is_whole) {
            let kept = self.logins.keep_pin(&self.settings.host, &login, &found);
            if let Err(e) = kept.await {
                tracing::warn!("the account of the login was not stored: {}", e.message());
            }
        }
        Ok(Viewer {
            identity,
            pds,
            login,
        })
    }

    /// Returns the DID and server to which a new login is pinned. The handle and the DID document
    /// must name each other.
    ///
    /// # Errors
    /// As [`Identities::account`]; `protocol` for an account without a server.
    pub async fn pin(&self, account: &str) -> Result<PinnedAccount> {
        let identity = self.identities.account(account).await?;
        let pds = self.server_of(&identity)?;
        Ok(self.pin_of(&identity, &pds))
    }

    /// Returns the pin of an account. A server that the user has configured is not pinned, because
    /// the configuration names it for each login.
    fn pin_of(&self, identity: &AccountIdentity, pds: &Origin) -> PinnedAccount {
        PinnedAccount {
            did: identity.did.clone(),
            server: self.settings.pds.is_none().then(|| pds.to_string()),
        }
    }

    fn server_of(&self, identity: &AccountIdentity) -> Result<Origin> {
        match &self.settings.pds {
            Some(pds) => Ok(pds.clone()),
            None => identity.document.pds(self.settings.reach),
        }
    }

    fn moved_handle_error(&self, handle: &str, old: &str, new: &str) -> Error {
        let message = format!(
            "no password and no token was sent: the handle {handle} belonged to {old} at the login \
             and now belongs to {new}"
        );
        self.not_pinned(
            message,
            "if the new account is yours, log in again; if TANGLED_HANDLE names the account, set \
             that variable to the DID of your account",
        )
    }

    fn moved_server(&self, identity: &AccountIdentity, old: &str, new: &str) -> Error {
        let message = format!(
            "no password and no token was sent: the account {} was on the server {old} at the \
             login, and its identity now names {new}",
            identity.name()
        );
        self.not_pinned(
            message,
            "if you moved the account, make an app password there and log in with it, or set \
             TANGLED_PASSWORD to it",
        )
    }

    fn not_pinned(&self, message: String, hint: &'static str) -> Error {
        let host = self.settings.host.clone();
        let again = login(&host);
        Error::new(ErrorKind::Unauthenticated { host }, message)
            .with_hint(Hint::new(hint).with_action(again))
    }

    /// Returns the viewer, if it has been looked up before.
    pub fn known_viewer(&self) -> Option<Arc<Viewer>> {
        self.lock_known().clone()
    }

    /// Returns the viewer.
    ///
    /// # Errors
    /// `unauthenticated` if nobody is logged in.
    pub async fn viewer(&self) -> Result<Arc<Viewer>> {
        self.viewer_if_any()
            .await?
            .ok_or_else(|| not_logged_in_error(&self.settings.host))
    }

    /// Calls the viewer's own server with a valid token.
    ///
    /// If the server refuses the login, the stored login is read again. If it has another password
    /// now, the call is repeated once. This is safe, because a refused call has changed nothing.
    pub async fn call<T, F>(&self, class: Idempotency, call: impl Fn(Xrpc) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let viewer = self.viewer().await?;
        let refused = match self.call_as(&viewer, class, &call).await {
            Err(e) if matches!(e.kind(), ErrorKind::Unauthenticated { .. }) => e,
            result => return result,
        };
        *self.viewer.lock().await = None;
        let now = self.viewer().await?;
        let is_other = now.identity.did == viewer.identity.did && !now.is_same(&viewer);
        match is_other {
            true => self.call_as(&now, class, &call).await,
            false => Err(refused),
        }
    }

    /// Calls the server of the given viewer, and renews a refused token.
    async fn call_as<T, F>(
        &self,
        viewer: &Arc<Viewer>,
        class: Idempotency,
        call: impl Fn(Xrpc) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let server = self
            .identities
            .service(viewer.pds.clone())
            .await?
            .with_class(class);
        let token = self.access(viewer, None).await?;
        match call(server.clone().with_token(token.clone())).await {
            Err(e) if xrpc_error::is_stale_token(&e) => {
                let token = self.access(viewer, Some(&token)).await?;
                call(server.with_token(token)).await
            }
            result => result,
        }
    }

    /// Returns a token with which the viewer may call `method` of the service `audience`, for one
    /// minute.
    ///
    /// The request sets no expiry time, because the clock of this machine could be wrong.
    pub async fn service_token(&self, audience: &str, method: &str) -> Result<Secret> {
        let lxm = method.parse().map_err(|e| {
            let message = format!("{method} is no method: {e}");
            Error::new(ErrorKind::Internal, message).with_source(e)
        })?;
        let params = get_service_auth::ParametersData {
            aud: audience.to_owned(),
            exp: None,
            lxm: Some(lxm),
        };
        let token = self
            .call(Idempotency::Read, |xrpc| {
                let params = params.clone();
                async move {
                    let service = xrpc.clone().for_token().typed().service;
                    let answer = service
                        .com
                        .atproto
                        .server
                        .get_service_auth(params.into())
                        .await;
                    let answer = answer
                        .map_err(|e| xrpc.failed(get_service_auth::NSID, e, wire_failure, false))?;
                    read_token(&answer.token, xrpc.origin(), get_service_auth::NSID)
                }
            })
            .await?;
        self.http.remember(&token);
        Ok(token)
    }

    /// Returns an access token other than `refused`, which the server did not accept.
    async fn access(&self, viewer: &Arc<Viewer>, refused: Option<&Secret>) -> Result<Secret> {
        let did = &viewer.identity.did;
        let fits = |tokens: &Tokens| {
            let fresh = token::expiry(&tokens.access)
                .is_none_or(|end| end > Timestamp::now().unix() + MARGIN);
            refused.map_or(fresh, |refused| *refused != tokens.access)
        };
        let keep = |tokens| HeldTokens {
            of: Arc::clone(viewer),
            tokens,
        };
        let mut held = self.tokens.lock().await;
        // Tokens of the previous viewer are of no use.
        let own = held.take().filter(|it| it.of.is_same(viewer));
        let own = own.map(|it| it.tokens);
        if let Some(tokens) = own.as_ref().filter(|t| fits(t)) {
            let access = tokens.access.clone();
            *held = own.map(keep);
            return Ok(access);
        }
        *held = own.clone().map(keep);
        let _lock = self.store.lock(did).await?;
        // Another process may have renewed the session meanwhile.
        let stored = self.read_stored_tokens(viewer).await?;
        if let Some(tokens) = stored.as_ref().filter(|t| fits(t)) {
            let access = tokens.access.clone();
            *held = stored.map(keep);
            return Ok(access);
        }
        let renewed = match stored.or(own) {
            Some(old) => match self.refresh(viewer, &old).await {
                Ok(tokens) => Some(tokens),
                // Only a refusal by the server ends a session; a network failure does not.
                Err(e) if matches!(e.kind(), ErrorKind::Unauthenticated { .. }) => {
                    let (store, of) = (self.store.clone(), Arc::clone(viewer));
                    let end = move || store.end(&of.identity.did, &of.pds, &of.login);
                    blocking::run(end).await?;
                    None
                }
                Err(e) => return Err(e),
            },
            None => None,
        };
        let tokens = match renewed {
            Some(tokens) => tokens,
            None => self.create(viewer).await?,
        };
        for secret in [&tokens.access, &tokens.refresh] {
            self.http.remember(secret);
        }
        let (store, of, new) = (self.store.clone(), Arc::clone(viewer), tokens.clone());
        let write = move || store.write(&of.identity.did, &of.pds, &of.login, &new);
        blocking::run(write).await?;
        let access = tokens.access.clone();
        *held = Some(keep(tokens));
        Ok(access)
    }

    async fn read_stored_tokens(&self, viewer: &Arc<Viewer>) -> Result<Option<Tokens>> {
        let (store, of) = (self.store.clone(), Arc::clone(viewer));
        let read = move || Ok(store.read(&of.identity.did, &of.pds, &of.login.password));
        blocking::run(read).await
    }

    async fn create(&self, viewer: &Viewer) -> Result<Tokens> {
        let xrpc = self
            .identities
            .service(viewer.pds.clone())
            .await?
            .with_class(Idempotency::Replay);
        let input = create_session::InputData {
            allow_takendown: None,
            auth_factor_token: None,
            identifier: viewer.identity.did.clone(),
            password: viewer.login.password.expose().to_owned(),
        };
        let service = xrpc.clone().for_token().typed().service;
        let answer = service
            .com
            .atproto
            .server
            .create_session(input.into())
            .await
            .map_err(|e| {
                let error = xrpc.failed(create_session::NSID, e, wire_failure, false);
                if matches!(error.kind(), ErrorKind::Unauthenticated { .. }) {
                    refused(&self.settings.host, viewer, error)
                } else {
                    error
                }
            })?;
        if answer.did.as_str() != viewer.identity.did {
            return Err(Error::new(
                ErrorKind::Protocol,
                format!(
                    "{} opened a session for {}, not for {}",
                    viewer.pds.host(),
                    answer.did.as_str(),
                    viewer.identity.did
                ),
            ));
        }
        let token = |text: &str| read_token(text, xrpc.origin(), create_session::NSID);
        Ok(Tokens {
            access: token(&answer.access_jwt)?,
            refresh: token(&answer.refresh_jwt)?,
        })
    }

    /// Renews the tokens. For a while, the server accepts the old refresh token again and returns
    /// the same new one (seen on pds 0.5.35). So the request can be repeated if its response was
    /// lost.
    async fn refresh(&self, viewer: &Viewer, old: &Tokens) -> Result<Tokens> {
        let xrpc = self
            .identities
            .service(viewer.pds.clone())
            .await?
            .with_class(Idempotency::Replay)
            .with_token(old.refresh.clone());
        let service = xrpc.clone().for_token().typed().service;
        let answer = service.com.atproto.server.refresh_session().await;
        let answer =
            answer.map_err(|e| xrpc.failed(refresh_session::NSID, e, wire_failure, false))?;
        let token = |text: &str| read_token(text, xrpc.origin(), refresh_session::NSID);
        Ok(Tokens {
            access: token(&answer.access_jwt)?,
            refresh: token(&answer.refresh_jwt)?,
        })
    }
}

/// Removes the stored sessions of an account, which is given as a handle or a DID.
///
/// `dir` is the directory that [`TangledSettings::sessions`] names. Nothing is sent to the server
/// of the sessions, so the server accepts their tokens until the tokens expire.
///
/// # Errors
/// `config` if a file cannot be removed.
pub fn forget_sessions(dir: &Path, account: &str) -> Result<()> {
    SessionStore::new(Some(dir.to_owned())).forget(account)
}

/// Refuses a token that cannot be sent in an HTTP header. Otherwise the error would appear only in
/// a later call to another server.
fn read_token(token: &str, origin: &Origin, nsid: &str) -> Result<Secret> {
    if token.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(Secret::new(token));
    }
    let why = "its token has a character that is not allowed in a header";
    Err(xrpc_error::garbled(origin, nsid, why, false))
}

/// Converts an atrium error back to the JSON that the server sent: `{"error": …, "message": …}`.
fn wire_failure(error: &impl serde::Serialize) -> XrpcFailure {
    serde_json::to_value(error)
        .and_then(serde_json::from_value)
        .unwrap_or_default()
}

fn not_logged_in_error(host: &str) -> Error {
    Error::new(
        ErrorKind::Unauthenticated {
            host: host.to_owned(),
        },
        format!("nobody is logged in at {host}"),
    )
    .with_hint(
        Hint::new(
            "log in with your handle and an app password, or set TANGLED_HANDLE and \
             TANGLED_PASSWORD",
        )
        .with_action(login(host)),
    )
}

fn refused(host: &str, viewer: &Viewer, error: Error) -> Error {
    Error::new(
        ErrorKind::Unauthenticated {
            host: host.to_owned(),
        },
        format!(
            "{} does not log {} in: {}",
            viewer.pds.host(),
            viewer.identity.name(),
            error.message()
        ),
    )
    .with_hint(Hint::new("make a new app password, then log in with it").with_action(login(host)))
    .with_source(error)
}

fn login(host: &str) -> Action {
    Action::new(Call::Login).with(Param::Host, host)
}
