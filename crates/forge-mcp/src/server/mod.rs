//! The server object, one handler for both versions of the protocol.

mod extension;
mod handler;
pub(crate) mod message;
mod stdio;

use std::{collections::BTreeMap, fmt, sync::Arc};

use forge::Forges;
use forge_core::{Error, ErrorKind, Result, suggest};
use rmcp::{ServiceExt, transport::io::stdio_pipes};

pub use extension::Extension;

use crate::{
    calls::{Route, ServerOptions, ServerState, TOOL_SETS},
    tools,
};

/// Refuses the name of an unknown tool, or of a tool that needs [`ServerOptions::write`].
fn check_known_tool(options: &ServerOptions, all: &[Route]) -> Result<()> {
    let names: Vec<&str> = all.iter().map(|r| r.definition.name.as_ref()).collect();
    for name in options.tools.iter().chain(&options.without_tools) {
        if !names.contains(&name.as_str()) {
            let hint = match suggest::near(name, names.iter().copied()).first() {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", names.join(", ")),
            };
            let shown = forge_core::text::one_line(name);
            return Err(
                Error::invalid("tools", format!("there is no tool '{shown}'")).with_hint(hint),
            );
        }
    }
    let sets = || TOOL_SETS.iter().map(|(set, _)| *set);
    if let Some(name) = options
        .tool_sets
        .iter()
        .find(|name| !sets().any(|set| set == *name))
    {
        let shown = forge_core::text::one_line(name);
        let known: Vec<&str> = sets().collect();
        return Err(
            Error::invalid("toolsets", format!("there is no set of tools '{shown}'"))
                .with_hint(format!("there are {}", known.join(", "))),
        );
    }
    let writes = |name: &&String| all.iter().any(|r| r.write && r.definition.name == **name);
    match options.tools.iter().find(writes) {
        Some(name) if !options.write => Err(Error::invalid(
            "tools",
            format!("{name} changes something, and this server only reads"),
        )
        .with_hint("add --write, or omit the tool")),
        _ => Ok(()),
    }
}

struct ServerInner {
    state: ServerState,
    routes: BTreeMap<String, Route>,
    /// All tools of this crate, even those that are not offered. The value is true for a tool that
    /// writes.
    known: BTreeMap<String, bool>,
    extension: Option<Box<dyn Extension>>,
}

/// The server. Clones share all state, so that every connection and request can own a clone.
#[derive(Clone)]
pub struct Server(Arc<ServerInner>);

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("options", self.options())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a server for the accounts of `forges`.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if `options` name an unknown tool, and with `internal` if the
    /// system provides no random numbers for the seals.
    pub fn new(forges: Forges, options: ServerOptions) -> Result<Self> {
        Self::build(forges, options, None)
    }

    /// Creates a server with the tools, prompts and resources of an extension.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::new`] does.
    pub fn extended(
        forges: Forges,
        options: ServerOptions,
        by: Box<dyn Extension>,
    ) -> Result<Self> {
        Self::build(forges, options, Some(by))
    }

    fn build(
        forges: Forges,
        options: ServerOptions,
        extension: Option<Box<dyn Extension>>,
    ) -> Result<Self> {
        let more = extension.as_ref().map_or_else(Vec::new, |e| e.tools());
        let all = tools::all();
        check_known_tool(&options, &all)?;
        let names = all.iter().map(|r| (r.definition.name.to_string(), r.write));
        let known: BTreeMap<String, bool> = names.collect();
        let routes: BTreeMap<String, Route> = all
            .into_iter()
            .filter(|route| options.write || !route.write)
            .filter(|route| options.offers(&route.definition.name))
            .chain(more)
            .map(|route| (route.definition.name.to_string(), route))
            .collect();
        let schemas = routes.iter().map(|(name, route)| {
            let schema = Arc::clone(&route.definition.input_schema);
            (name.clone(), schema)
        });
        Ok(Self(Arc::new(ServerInner {
            state: ServerState::new(forges, options, schemas.collect())?,
            routes,
            known,
            extension,
        })))
    }

    /// Takes all slots, so that calls wait until the permit is dropped.
    #[cfg(test)]
    pub(crate) fn take_all_slots(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        self.0.state.take_all_slots()
    }

    /// Returns the options of the server.
    #[must_use]
    pub fn options(&self) -> &ServerOptions {
        self.0.state.options()
    }
}

/// Serves on standard input and output until the client disconnects.
///
/// # Errors
///
/// Fails with `protocol` if the client does not speak MCP.
pub async fn serve_stdio(server: Server) -> Result<()> {
    let failed = |e: String| {
        Error::new(
            ErrorKind::Protocol,
            format!("the connection to the client failed: {e}"),
        )
    };
    let (read, write) = stdio_pipes();
    let transport = stdio::Stdio::new(read, write, stdio::StdioLimits::default());
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // The client disconnected before the handshake, probably because it only checked that the
        // program starts.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(e) => return Err(failed(e.to_string())),
    };
    running.waiting().await.map_err(|e| failed(e.to_string()))?;
    Ok(())
}
