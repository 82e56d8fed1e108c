//! Git's smart HTTP over the bare repositories, through `git http-backend`.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use super::{
    actions,
    reply::Reply,
    server::{Incoming, Shared},
    state::{Id, Permission, State},
};

/// Whether a path is one of git's protocol, and of which repository.
pub(crate) fn repository(path: &str) -> Option<(&str, &str, &str)> {
    let rest = path.strip_prefix('/')?;
    let (owner, rest) = rest.split_once('/')?;
    let (name, service) = rest.split_once('/')?;
    let git = matches!(
        service,
        "info/refs" | "git-upload-pack" | "git-receive-pack"
    );
    git.then(|| (owner, name.strip_suffix(".git").unwrap_or(name), service))
}

/// Answers a request of git's protocol.
pub(crate) fn serve(shared: &Shared, request: &Incoming) -> Reply {
    let Some((owner, name, service)) = repository(&request.path) else {
        return Reply::not_found();
    };
    let push = service == "git-receive-pack" || request.query.contains("git-receive-pack");
    let (id, root, before, actor) = {
        let state = shared.state();
        let viewer = request
            .token
            .as_ref()
            .and_then(|token| state.tokens.get(token))
            .filter(|token| !token.revoked);
        let Some(repo) = state.repo(owner, name) else {
            return refuse(viewer.is_some());
        };
        let least = if push {
            Permission::Write
        } else {
            Permission::Read
        };
        let public = !repo.private && !push;
        let permission = viewer.and_then(|token| {
            let granted = state.permission(token.account, repo);
            let by_maintainer = maintainer_may_push(&state, repo.id, token.account);
            granted.max(by_maintainer.then_some(Permission::Write))
        });
        let open = shared.open_git;
        if !public && !open && permission < Some(least) {
            return refuse(viewer.is_some());
        }
        let actor = viewer.map_or(repo.owner, |token| token.account);
        let before = if push {
            actions::branches(&state, repo.id)
        } else {
            actions::Branches::new()
        };
        (repo.id, state.root.clone(), before, actor)
    };
    let reply = backend(request, &root, id, service);
    if service == "git-receive-pack" {
        let mut state = shared.state();
        actions::refs_moved(&mut state, id, &before, actor);
    }
    reply
}

/// Whether somebody may push to a fork because its author lets maintainers.
fn maintainer_may_push(state: &State, repo: Id, account: Id) -> bool {
    state.pulls.values().any(|pull| {
        pull.head_repo == Some(repo)
            && pull.maintainer_can_modify
            && state
                .repos
                .get(&pull.repo)
                .and_then(|base| state.permission(account, base))
                >= Some(Permission::Write)
    })
}

fn refuse(known: bool) -> Reply {
    if known {
        return Reply::text(404, "text/plain", b"Repository not found.\n".to_vec());
    }
    let mut reply = Reply::text(
        401,
        "text/plain",
        b"remote: Authentication required\n".to_vec(),
    );
    reply.set("www-authenticate", "Basic realm=\"GitHub\"");
    reply
}

fn backend(request: &Incoming, root: &std::path::Path, id: Id, service: &str) -> Reply {
    let mut command = Command::new(crate::git_program());
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("PATH_INFO", format!("/{id}.git/{service}"))
        .env("REQUEST_METHOD", &request.method)
        .env("QUERY_STRING", &request.query)
        .env("CONTENT_TYPE", request.header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
        .env("GIT_PROTOCOL", request.header("git-protocol"))
        .env("REMOTE_USER", "git")
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let run = || -> std::io::Result<Vec<u8>> {
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            if let Some(mut stdin) = stdin {
                // git may end before it has read everything; its answer tells what counts.
                scope.spawn(move || stdin.write_all(&request.body).ok());
            }
            child.wait_with_output()
        })?;
        Ok(output.stdout)
    };
    let mut run = run;
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
    fn paths_of_the_protocol_are_told_from_others() {
        assert_eq!(
            repository("/o/r.git/info/refs"),
            Some(("o", "r", "info/refs"))
        );
        assert_eq!(
            repository("/o/r/git-receive-pack"),
            Some(("o", "r", "git-receive-pack"))
        );
        assert_eq!(repository("/o/r/pull/1"), None);
        assert_eq!(repository("/graphql"), None);
    }

    #[test]
    fn a_status_of_the_program_is_the_answers() {
        let reply = from_cgi(b"Status: 403 Forbidden\r\nContent-Type: text/plain\r\n\r\nno");
        assert_eq!(reply.status, 403);
        assert_eq!(reply.body, b"no");
        assert_eq!(from_cgi(b"").status, 200);
    }
}
