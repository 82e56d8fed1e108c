//! Runs a program that serves MCP over HTTP.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
    thread::{self, JoinHandle},
};

use crate::{CANARY, Run, canary};

/// A running `forge mcp --http`. Dropping it ends the server. The drop panics if the server printed
/// a test token, or printed its own token again after the line that announces it.
#[derive(Debug)]
pub struct HttpServer {
    child: Child,
    /// The names of the output streams, and the threads that read them.
    said: Vec<(&'static str, JoinHandle<Vec<u8>>)>,
    /// Host and port of the server.
    pub address: String,
    /// Token that a client has to send.
    pub token: String,
}

impl HttpServer {
    /// Starts a server that generates its own token.
    ///
    /// # Panics
    ///
    /// Panics if the server cannot be started, or does not print its address and its token.
    #[must_use]
    pub fn start(run: &Run) -> Self {
        Self::listening(run, None)
    }

    /// Starts a server with the given token, which the server does not print.
    ///
    /// # Panics
    ///
    /// Panics if the server cannot be started, or does not print its address.
    #[must_use]
    pub fn with_token(run: &Run, token: &str) -> Self {
        let run = run.clone().env("FORGE_MCP_TOKEN", token);
        Self::listening(&run, Some(token))
    }

    fn listening(run: &Run, chosen: Option<&str>) -> Self {
        let mut command = run.command();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self {
            said: vec![("stderr", gather(child.stderr.take().unwrap()))],
            child,
            address: String::new(),
            token: String::new(),
        };
        // The line may be a token, so no panic message contains it.
        let mut behind = |start: &str| {
            let line = stdout.by_ref().lines().next().unwrap().unwrap();
            line.strip_prefix(start).expect(start).to_owned()
        };
        let url = behind("listening on http://");
        server.address = url.strip_suffix("/mcp").unwrap().to_owned();
        server.token = match chosen {
            Some(token) => token.to_owned(),
            None => behind("Authorization: Bearer "),
        };
        server.said.push(("stdout", gather(stdout)));
        server
    }

    /// Returns the process id of the server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for (stream, said) in self.said.drain(..) {
            let said = String::from_utf8_lossy(&said.join().unwrap_or_default()).into_owned();
            if !thread::panicking() {
                canary::refuse("forge mcp --http", stream, said.as_bytes());
                assert!(
                    !said.contains(&self.token),
                    "forge mcp --http has printed its own token to {stream}"
                );
            } else if !said.contains(CANARY) {
                eprint!("{said}");
            }
        }
    }
}

/// Reads a stream to its end, so that the writer never blocks.
fn gather(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_printing_a_token_fails_the_test() {
        for (text, fails) in [
            ("echo 'listening on http://h/mcp'", false),
            (
                "printf 'listening on http://h/mcp\\n%s\\n' $FORGE_MCP_TOKEN",
                true,
            ),
            (
                "echo $FORGE_MCP_TOKEN >&2; echo 'listening on http://h/mcp'",
                true,
            ),
            ("echo $T >&2; echo 'listening on http://h/mcp'", true),
        ] {
            let run = Run::new("sh", std::env::temp_dir()).args(["-c", text]);
            let server = HttpServer::with_token(&run.env("T", CANARY), "one-of-its-own");
            let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(server)));
            assert_eq!(dropped.is_err(), fails, "{text}");
        }
    }
}
