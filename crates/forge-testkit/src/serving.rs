//! A program that serves MCP over HTTP.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use crate::Run;

/// `forge mcp --http` that listens. It ends when it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    child: Child,
    /// Host and port.
    pub address: String,
    /// What a client has to name.
    pub token: String,
}

impl HttpServer {
    /// Starts it, with a token that it makes itself.
    ///
    /// # Panics
    /// When it cannot be started, or does not say where it listens and what its token is.
    #[must_use]
    pub fn start(run: &Run) -> Self {
        Self::listening(run, None)
    }

    /// Starts it with this token, which it does not print.
    ///
    /// # Panics
    /// When it cannot be started, or does not say where it listens.
    #[must_use]
    pub fn with_token(run: &Run, token: &str) -> Self {
        let run = run.clone().env("FORGE_MCP_TOKEN", token);
        Self::listening(&run, Some(token))
    }

    fn listening(run: &Run, chosen: Option<&str>) -> Self {
        let mut command = run.command();
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // No message of a panic has the line: it may be a token.
        let mut behind = |start: &str| {
            let line = lines.next().unwrap().unwrap();
            line.strip_prefix(start).expect(start).to_owned()
        };
        let url = behind("listening on http://");
        Self {
            child,
            address: url.strip_suffix("/mcp").unwrap().to_owned(),
            token: match chosen {
                Some(token) => token.to_owned(),
                None => behind("Authorization: Bearer "),
            },
        }
    }

    /// The id of its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
