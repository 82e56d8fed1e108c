//! Keeps a limited number of sessions for clients of protocol version 2025-11-25.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{Stream, StreamExt as _, future};
use http::HeaderMap;
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage,
    },
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError},
    },
};

/// The header that names a session.
pub(super) const SESSION_ID: &str = "mcp-session-id";

/// How long an idle session is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// How long a session keeps a response for a client whose connection broke. Each kept response
/// takes tens of kilobytes of memory.
const ANSWER_LIFETIME: Duration = Duration::from_secs(10);

/// The sessions in memory. A new session above the maximum ends the least recently used session.
/// The client of the ended session gets the error for an unknown session and starts a new one.
#[derive(Debug)]
pub(super) struct Sessions {
    inner: Arc<LocalSessionManager>,
    /// The ids of the sessions, the least recently used first. The flag is true for a client that
    /// understands events without a message.
    used: Mutex<Vec<(SessionId, bool)>>,
    most: usize,
}

impl Sessions {
    /// Creates a store for at most `most` sessions.
    pub fn new(most: usize) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(IDLE_TIMEOUT);
        inner.session_config.completed_cache_ttl = ANSWER_LIFETIME;
        Self {
            inner: Arc::new(inner),
            used: Mutex::default(),
            most,
        }
    }

    fn used(&self) -> MutexGuard<'_, Vec<(SessionId, bool)>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a new session. Returns the session to end if there are too many.
    fn begin(&self, id: &SessionId) -> Option<SessionId> {
        let mut used = self.used();
        used.push((Arc::clone(id), false));
        (used.len() > self.most).then(|| used.remove(0).0)
    }

    /// Returns true if the request names a session that exists.
    pub async fn knows(&self, headers: &HeaderMap) -> bool {
        let id = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
        match id {
            Some(id) => self.inner.has_session(&id.into()).await.unwrap_or(false),
            None => false,
        }
    }

    /// Leaves events without a message out of a stream for a client that cannot parse them. The
    /// protocol has such events, which let a client resume a broken stream, since 2025-11-25.
    fn without_priming<S>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = ServerSseMessage> + use<S>
    where
        S: Stream<Item = ServerSseMessage>,
    {
        let understands = self.used().iter().any(|(other, flag)| other == id && *flag);
        stream.filter(move |event| future::ready(understands || event.message.is_some()))
    }

    /// Marks a session as the most recently used.
    fn touch(&self, id: &SessionId) {
        let mut used = self.used();
        if let Some(at) = used.iter().position(|(other, _)| other == id) {
            let id = used.remove(at);
            used.push(id);
        }
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let made = self.inner.create_session().await?;
        if let Some(idlest) = self.begin(&made.0) {
            let inner = Arc::clone(&self.inner);
            // The task ends the old session even if the new client disconnects.
            tokio::spawn(async move {
                let _ = inner.close_session(&idlest).await;
            });
        }
        Ok(made)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        if let JsonRpcMessage::Request(request) = &message
            && let ClientRequest::InitializeRequest(hello) = &request.request
            && hello.params.protocol_version >= ProtocolVersion::V_2025_11_25
        {
            let mut used = self.used();
            let session = used.iter_mut().find(|(other, _)| other == id);
            session
                .into_iter()
                .for_each(|(_, understands)| *understands = true);
        }
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        // Every request of a session calls this method first, so it records the use.
        self.touch(id);
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.used().retain(|(other, _)| other != id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_stream(id, message).await?;
        Ok(self.without_priming(id, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_standalone_stream(id).await?;
        Ok(self.without_priming(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }
}
