//! Serves git's smart HTTP protocol with `git http-backend`.

use std::{
    io::{self, Write},
    path::Path,
    process::{Command, Stdio},
};

use forge_testkit::git_program;

use super::Reply;

/// A request in git's smart HTTP protocol.
pub struct Request<'a> {
    /// HTTP method of the request.
    pub method: &'a str,
    /// Query string of the URL, without the question mark.
    pub query: &'a str,
    /// Headers of the request, with names in lower case.
    pub headers: &'a [(String, String)],
    /// Body of the request, as sent.
    pub body: &'a [u8],
}

impl Request<'_> {
    fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(it, _)| it == name)
            .map_or("", |(_, value)| value)
    }
}

/// Answers a git request for `path` below `root`. The caller has to check permissions first.
pub fn git(root: &Path, path: &str, request: &Request<'_>) -> Reply {
    let mut command = Command::new(git_program());
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("PATH_INFO", path)
        .env("REQUEST_METHOD", request.method)
        .env("QUERY_STRING", request.query)
        .env("CONTENT_TYPE", request.header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
        .env("GIT_PROTOCOL", request.header("git-protocol"))
        .env("REMOTE_USER", "git")
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut run = || -> io::Result<Vec<u8>> {
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            if let Some(mut stdin) = stdin {
                // git may end before it has read the whole input, so a failed write is ignored.
                scope.spawn(move || stdin.write_all(request.body).ok());
            }
            child.wait_with_output()
        })?;
        Ok(output.stdout)
    };
    match run() {
        Ok(output) => from_cgi(&output),
        Err(error) => Reply::text(500, "text/plain", error.to_string().into_bytes()),
    }
}

/// Splits the output of a CGI program into headers and body.
fn from_cgi(output: &[u8]) -> Reply {
    let end = output
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or(output.len());
    let head = String::from_utf8_lossy(output.get(..end).unwrap_or_default()).into_owned();
    let mut reply = Reply {
        status: 200,
        headers: Vec::new(),
        body: output
            .get(end.saturating_add(4)..)
            .unwrap_or_default()
            .to_vec(),
    };
    for line in head.lines() {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        if name.eq_ignore_ascii_case("status") {
            reply.status = value
                .split(' ')
                .next()
                .and_then(|code| code.parse().ok())
                .unwrap_or(500);
        } else {
            reply.set(name, value);
        }
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgi_status_becomes_response_status() {
        let reply = from_cgi(b"Status: 403 Forbidden\r\nContent-Type: text/plain\r\n\r\nno");
        assert_eq!(reply.status, 403);
        assert_eq!(reply.body, b"no");
        assert_eq!(from_cgi(b"").status, 200);
    }
}
