//! Passes a request to the part of the knot that answers it.

use std::sync::Arc;

use forge_double_wire::{Reply, cgi};
use serde_json::{Value, json};

use super::{Era, Knot, Repo, account, auth, compare, merge, read, refs};
use crate::{
    host::{Incoming, Service},
    xrpc::{self, Answer, Failure},
};

pub(super) struct Answers(pub(super) Arc<Knot>);

impl Service for Answers {
    fn answer(&self, request: &Incoming) -> Reply {
        let knot = &self.0;
        if let Some(nsid) = request.nsid() {
            if let Some(reply) = account::bytes(knot, nsid, request) {
                return reply;
            }
            return xrpc::reply(call(knot, nsid, request));
        }
        if request.path == "/.well-known/did.json" {
            return Reply::json(200, &document(knot));
        }
        git(knot, request)
    }
}

/// Returns the DID document of the knot's `did:web`.
fn document(knot: &Knot) -> Value {
    json!({
        "@context": ["https://www.w3.org/ns/did/v1"],
        "id": knot.did,
        "service": [{
            "id": "#tangled_knot", "type": "TangledKnot",
            "serviceEndpoint": format!("http://{}", knot.authority),
        }],
    })
}

fn call(knot: &Knot, nsid: &str, request: &Incoming) -> Answer {
    let is_post = request.method == "POST";
    let answer = match nsid.strip_prefix("sh.tangled.") {
        _ if knot.options.legacy && is_new(nsid) => None,
        Some(name) if name.starts_with("repo.") && is_about_1_0(knot, request) => None,
        Some(name) if is_post => match name {
            "repo.mergeCheck" => Some(merge::check(knot, request)),
            "repo.merge" => Some(merge::merge(knot, request, nsid)),
            "repo.hiddenRef" => Some(refs::hidden_ref(knot, request, nsid)),
            "repo.forkStatus" => Some(refs::fork_status(knot, request, nsid)),
            "repo.forkSync" => Some(refs::fork_sync(knot, request, nsid)),
            "repo.deleteBranch" => Some(refs::delete_branch(knot, request, nsid)),
            "repo.setDefaultBranch" => Some(refs::set_default_branch(knot, request, nsid)),
            "repo.addCollaborator" => Some(refs::add_collaborator(knot, request, nsid)),
            "repo.removeCollaborator" => Some(refs::remove_collaborator(knot, request, nsid)),
            "git.mergeCheck" => Some(merge::check_commit(knot, request)),
            _ => None,
        },
        Some(name) => match name {
            "repo.branches" => Some(read::branches(knot, request)),
            "repo.branch" => Some(read::branch(knot, request)),
            "repo.getDefaultBranch" => Some(read::default_branch(knot, request)),
            "repo.compare" => Some(compare::compare(knot, request)),
            "repo.log" => Some(read::log(knot, request)),
            "repo.tree" => Some(read::tree(knot, request)),
            "repo.blob" => Some(read::blob(knot, request)),
            "repo.describeRepo" => Some(read::describe(knot, request)),
            "repo.listCollaborators" => Some(read::collaborators(knot, request)),
            "knot.version" => Some(read::version(knot)),
            "owner" => Some(Ok(json!({ "owner": knot.did }))),
            _ => None,
        },
        None => account::call(knot, nsid, request),
    };
    answer.unwrap_or_else(|| {
        let message = format!("method not implemented: {nsid}");
        Err(Failure::new(404, "MethodNotImplemented", message))
    })
}

/// Returns true if a request names a repository of Tangled 1.0. No `sh.tangled.repo.*` method was
/// observed on such repositories.
fn is_about_1_0(knot: &Knot, request: &Incoming) -> bool {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let named = ["repo", "repoDid", "subject"].into_iter().filter_map(|it| {
        let given = request.param(it);
        given.or_else(|| body[it].as_str().map(str::to_owned))
    });
    let mut repos = named.filter_map(|it| knot.repo(&it));
    repos.any(|it| it.era == Era::Org10)
}

/// Returns true if a knot of 2025 does not have this method.
fn is_new(nsid: &str) -> bool {
    !nsid.starts_with("sh.tangled.")
        || nsid.ends_with("Collaborator")
        || matches!(
            nsid,
            "sh.tangled.knot.version"
                | "sh.tangled.repo.describeRepo"
                | "sh.tangled.repo.listCollaborators"
                | "sh.tangled.git.mergeCheck"
        )
}

/// Returns the repository and the service that the path of a git request names: `/<repo did>/…`, or
/// `/<owner>/<name>/…` with the owner's DID or handle.
fn git_target<'a>(knot: &Knot, path: &'a str) -> Option<(Repo, &'a str)> {
    let path = path.strip_prefix('/')?;
    let services = ["info/refs", "git-upload-pack", "git-receive-pack"];
    let service = services.into_iter().find(|it| path.ends_with(it))?;
    let name = path.strip_suffix(service)?.strip_suffix('/')?;
    let name = name
        .strip_suffix(".git")
        .unwrap_or(name)
        .trim_start_matches('@');
    let by_handle = || {
        let (owner, name) = name.split_once('/')?;
        let named = |it: &Repo| {
            it.name == name && knot.identities.handle(&it.owner).as_deref() == Some(owner)
        };
        knot.repos
            .find(|it| it.dir.starts_with(&knot.root) && named(it))
    };
    let repo = knot.repo(name).or_else(by_handle)?;
    Some((repo, &path[path.len() - service.len()..]))
}

fn git(knot: &Knot, request: &Incoming) -> Reply {
    let Some((repo, service)) = git_target(knot, &request.path) else {
        return Reply::text(404, "text/plain", b"repository not found\n".to_vec());
    };
    let push = service == "git-receive-pack" || request.query.contains("git-receive-pack");
    if push && !knot.options.open_push {
        let caller = auth::caller(knot, request, "org.tangled.git.receivePack");
        if !caller.is_ok_and(|did| repo.may_push(&did)) {
            let text = "pushes over HTTP are not supported, use SSH\n";
            return Reply::text(403, "text/plain", text.into());
        }
    }
    let Some(dir) = repo.dir.file_name().and_then(|it| it.to_str()) else {
        return Reply::text(404, "text/plain", Vec::new());
    };
    let path = format!("/{dir}/{service}");
    let request = cgi::Request {
        method: &request.method,
        query: &request.query,
        headers: &request.headers,
        body: &request.body,
    };
    cgi::git(&knot.root, &path, &request)
}
