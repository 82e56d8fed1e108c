//! The viewer's session: login with an app password, renewal, and tokens for other services.
//!
//! Written anew rather than taken from atrium, whose session can wait forever and forgets itself on
//! any failure. Here one task and one process renew at a time; new tokens are saved before they are
//! used, because renewing makes the old ones void; and only the server's own word ends a session.

mod store;
mod token;

use std::{future::Future, path::Path, sync::Arc};

use async_trait::async_trait;
use atrium_api::com::atproto::server::{create_session, get_service_auth, refresh_session};
use forge_core::{Action, Call, Error, ErrorKind, Hint, Param, Result, Secret, Timestamp};
use forge_http::{Class, Http};
use tokio::sync::{Mutex, OnceCell};

use crate::{
    Origin, Settings, fault,
    identity::{Identities, Identity},
    xrpc::{Failure, Xrpc},
};
use store::{Store, Tokens};

/// Renewed so long before it ends, in seconds.
const MARGIN: i64 = 60;

/// Who the viewer is, and how that is proved.
#[derive(Clone, Debug)]
pub struct Login {
    /// A handle or a DID.
    pub account: String,
    /// An app password.
    pub password: Secret,
}

/// Where logins come from.
#[async_trait]
pub trait LoginSource: Send + Sync + std::fmt::Debug {
    /// The login for `host`; `None` when nobody is logged in.
    ///
    /// # Errors
    /// Whatever keeps it from being read.
    async fn login(&self, host: &str) -> Result<Option<Login>>;
}

/// One login that never changes.
#[derive(Clone, Debug)]
pub struct FixedLogin(pub Option<Login>);

#[async_trait]
impl LoginSource for FixedLogin {
    async fn login(&self, _host: &str) -> Result<Option<Login>> {
        Ok(self.0.clone())
    }
}

/// The viewer, who is known once a login has been read.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    pub identity: Identity,
    pub pds: Origin,
    login: Login,
}

pub(crate) struct Session {
    http: Http,
    settings: Arc<Settings>,
    identities: Arc<Identities>,
    logins: Arc<dyn LoginSource>,
    store: Store,
    viewer: OnceCell<Option<Viewer>>,
    tokens: Mutex<Option<Tokens>>,
}

impl Session {
    pub fn new(
        http: Http,
        settings: Arc<Settings>,
        identities: Arc<Identities>,
        logins: Arc<dyn LoginSource>,
    ) -> Self {
        Self {
            http,
            store: Store::new(settings.sessions.clone()),
            settings,
            identities,
            logins,
            viewer: OnceCell::new(),
            tokens: Mutex::new(None),
        }
    }

    /// The viewer; `None` when nobody is logged in. Nothing is sent to the server of the account.
    pub async fn viewer_if_any(&self) -> Result<Option<&Viewer>> {
        let viewer = self.viewer.get_or_try_init(|| async {
            let Some(login) = self.logins.login(&self.settings.host).await? else {
                return Ok::<_, Error>(None);
            };
            self.http.remember(&login.password);
            let identity = self.identities.account(&login.account).await?;
            let pds = match &self.settings.pds {
                Some(pds) => pds.clone(),
                None => identity.document.pds(self.settings.reach)?,
            };
            Ok(Some(Viewer {
                identity,
                pds,
                login,
            }))
        });
        Ok(viewer.await?.as_ref())
    }

    /// The viewer, where they have been looked up before.
    pub fn known_viewer(&self) -> Option<&Viewer> {
        self.viewer.get()?.as_ref()
    }

    /// The viewer.
    ///
    /// # Errors
    /// `unauthenticated` when nobody is logged in.
    pub async fn viewer(&self) -> Result<&Viewer> {
        self.viewer_if_any()
            .await?
            .ok_or_else(|| nobody(&self.settings.host))
    }

    /// Calls the viewer's own server with a valid token. A token that is refused is renewed, and
    /// the call made once more: a refused one has changed nothing.
    pub async fn call<T, F>(&self, class: Class, call: impl Fn(Xrpc) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let viewer = self.viewer().await?;
        let server = self
            .identities
            .service(viewer.pds.clone())
            .await?
            .with_class(class);
        let token = self.access(viewer, None).await?;
        match call(server.clone().with_token(token.clone())).await {
            Err(e) if fault::is_stale_token(&e) => {
                let token = self.access(viewer, Some(&token)).await?;
                call(server.with_token(token)).await
            }
            result => result,
        }
    }

    /// A token with which the viewer may call `method` of the service `audience`, for one minute.
    ///
    /// It is asked for without an end of our own: that would be by our clock, which may be wrong.
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
            .call(Class::Read, |xrpc| {
                let params = params.clone();
                async move {
                    let service = xrpc.clone().typed().service;
                    let answer = service
                        .com
                        .atproto
                        .server
                        .get_service_auth(params.into())
                        .await;
                    answer
                        .map(|a| a.token.clone())
                        .map_err(|e| xrpc.failed(get_service_auth::NSID, e, told, false))
                }
            })
            .await?;
        let token = Secret::new(token);
        self.http.remember(&token);
        Ok(token)
    }

    /// An access token; another than `refused`, when one was.
    async fn access(&self, viewer: &Viewer, refused: Option<&Secret>) -> Result<Secret> {
        let did = &viewer.identity.did;
        let fits = |tokens: &Tokens| {
            let fresh = token::expiry(&tokens.access)
                .is_none_or(|end| end > Timestamp::now().unix() + MARGIN);
            refused.map_or(fresh, |refused| *refused != tokens.access)
        };
        let mut held = self.tokens.lock().await;
        if let Some(tokens) = held.as_ref().filter(|t| fits(t)) {
            return Ok(tokens.access.clone());
        }
        let _lock = self.store.lock(did).await?;
        // Another process may have renewed it.
        let stored = self.store.read(did, &viewer.login.password);
        if let Some(tokens) = stored.as_ref().filter(|t| fits(t)) {
            let access = tokens.access.clone();
            *held = stored;
            return Ok(access);
        }
        let renewed = match stored.or_else(|| held.clone()) {
            Some(old) => match self.refresh(viewer, &old).await {
                Ok(tokens) => Some(tokens),
                // Only the server's word ends a session; a broken line does not.
                Err(e) if matches!(e.kind(), ErrorKind::Unauthenticated { .. }) => {
                    self.store.remove(did);
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
        self.store.write(did, &viewer.login, &tokens)?;
        let access = tokens.access.clone();
        *held = Some(tokens);
        Ok(access)
    }

    async fn create(&self, viewer: &Viewer) -> Result<Tokens> {
        let xrpc = self
            .identities
            .service(viewer.pds.clone())
            .await?
            .with_class(Class::Replay);
        let input = create_session::InputData {
            allow_takendown: None,
            auth_factor_token: None,
            identifier: viewer.identity.did.clone(),
            password: viewer.login.password.expose().to_owned(),
        };
        let service = xrpc.clone().typed().service;
        let answer = service
            .com
            .atproto
            .server
            .create_session(input.into())
            .await
            .map_err(|e| {
                let error = xrpc.failed(create_session::NSID, e, told, false);
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
        Ok(Tokens {
            access: Secret::new(answer.access_jwt.clone()),
            refresh: Secret::new(answer.refresh_jwt.clone()),
        })
    }

    /// The old refresh token keeps working for a while and gives the same new one, so that a lost
    /// answer may be asked for again (seen on pds 0.5.35).
    async fn refresh(&self, viewer: &Viewer, old: &Tokens) -> Result<Tokens> {
        let xrpc = self
            .identities
            .service(viewer.pds.clone())
            .await?
            .with_class(Class::Replay)
            .with_token(old.refresh.clone());
        let service = xrpc.clone().typed().service;
        let answer = service.com.atproto.server.refresh_session().await;
        let answer = answer.map_err(|e| xrpc.failed(refresh_session::NSID, e, told, false))?;
        Ok(Tokens {
            access: Secret::new(answer.access_jwt.clone()),
            refresh: Secret::new(answer.refresh_jwt.clone()),
        })
    }
}

/// Removes the sessions of an account, a handle or a DID, from the directory that
/// [`Settings::sessions`] names. Their server is not told: it takes their tokens until they end.
///
/// # Errors
/// `config` when a file cannot be removed.
pub fn forget_sessions(dir: &Path, account: &str) -> Result<()> {
    Store::new(Some(dir.to_owned())).forget(account)
}

/// One of atrium's errors as it was on the wire: `{"error": …, "message": …}`.
fn told(error: &impl serde::Serialize) -> Failure {
    serde_json::to_value(error)
        .and_then(serde_json::from_value)
        .unwrap_or_default()
}

fn nobody(host: &str) -> Error {
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
