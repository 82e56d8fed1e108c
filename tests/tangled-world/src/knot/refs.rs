//! Procedures that move refs, and their permission checks.

use serde_json::{Value, json};

use super::{Knot, Repo, auth, merge, read};
use crate::{
    host::Incoming,
    xrpc::{Answer, Failure, Input},
};

/// Returns the repository that `repo` names. The value is an at-uri until August 2026, and a DID
/// later.
fn addressed(knot: &Knot, input: &Input) -> Result<Repo, Failure> {
    let name = input.text("repo")?;
    if !knot.options.takes_dids() && !name.starts_with("at://") {
        let message = format!("supplied repo identifier is invalid: {name}");
        return Err(Failure::new(400, "InvalidRepo", message));
    }
    knot.repo(name).ok_or_else(read::not_found)
}

/// Returns the upstream of a fork, which its git configuration names.
fn upstream(repo: &Repo) -> Option<String> {
    let output = repo.git().run(["config", "remote.origin.url"]).output();
    (output.code == Some(0)).then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Fetches a branch of the upstream to `refs/hidden/<fork ref>/<remote ref>`, for comparison with
/// the fork.
pub(super) fn hidden_ref(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let caller = auth::caller(knot, request, nsid)?;
    let input = Input::read(request)?;
    let repo = addressed(knot, &input)?;
    auth::must_push(&repo, &caller)?;
    let (fork_ref, remote_ref) = (input.text("forkRef")?, input.text("remoteRef")?);
    let failed = |why: &str| Ok(json!({ "success": false, "error": why }));
    let Some(upstream) = upstream(&repo) else {
        return failed("error tracking hidden remote ref: the repository is no fork");
    };
    let name = format!("hidden/{fork_ref}/{remote_ref}");
    let spec = format!("+refs/heads/{remote_ref}:refs/{name}");
    let fetched = repo
        .git()
        .run(["fetch", "--quiet", &upstream, &spec])
        .output();
    if fetched.code != Some(0) {
        return failed("error tracking hidden remote ref: the branch was not found");
    }
    Ok(json!({ "success": true, "ref": name }))
}

/// Compares the branch of a fork with the upstream's branch. Returns 0 if they are equal, 1 if the
/// fork's can be fast-forwarded, 2 if both have new commits, and 3 if only the fork's has new
/// commits.
pub(super) fn fork_status(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    auth::caller(knot, request, nsid)?;
    let input = Input::read(request)?;
    let repo = merge::named(knot, &input)?;
    let (branch, hidden) = (input.text("branch")?, input.text("hiddenRef")?);
    let git = repo.git();
    let (ours, theirs) = (format!("refs/heads/{branch}"), format!("refs/{hidden}"));
    let (Some(our), Some(their)) = (git.oid(&ours), git.oid(&theirs)) else {
        return Err(Failure::invalid("no such branch"));
    };
    let contains =
        |a: &str, b: &str| git.run(["merge-base", "--is-ancestor", a, b]).output().code == Some(0);
    let status = match (contains(&our, &their), contains(&their, &our)) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 3,
        (false, false) => 2,
    };
    Ok(json!({ "status": status }))
}

pub(super) fn fork_sync(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let caller = auth::caller(knot, request, nsid)?;
    let input = Input::read(request)?;
    let repo = merge::named(knot, &input)?;
    auth::must_push(&repo, &caller)?;
    let branch = input.text("branch")?;
    let upstream = upstream(&repo).ok_or_else(|| Failure::invalid("the repository is no fork"))?;
    let spec = format!("refs/heads/{branch}:refs/heads/{branch}");
    let fetched = repo
        .git()
        .run(["fetch", "--quiet", &upstream, &spec])
        .output();
    if fetched.code == Some(0) {
        Ok(Value::Null)
    } else {
        Err(Failure::invalid(
            "error syncing repository fork: non-fast-forward update",
        ))
    }
}

pub(super) fn delete_branch(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let caller = auth::caller(knot, request, nsid)?;
    let input = Input::read(request)?;
    let repo = addressed(knot, &input)?;
    auth::must_push(&repo, &caller)?;
    let name = format!("refs/heads/{}", input.text("branch")?);
    let git = repo.git();
    if git.oid(&name).is_none() {
        return Err(Failure::new(404, "BranchNotFound", "branch not found"));
    }
    git.run(["update-ref", "-d", &name]).ok();
    Ok(Value::Null)
}

pub(super) fn set_default_branch(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let caller = auth::caller(knot, request, nsid)?;
    let input = Input::read(request)?;
    let repo = addressed(knot, &input)?;
    auth::must_push(&repo, &caller)?;
    let name = format!("refs/heads/{}", input.text("defaultBranch")?);
    repo.git().run(["symbolic-ref", "HEAD", &name]).ok();
    Ok(Value::Null)
}

fn change_collaborator(
    knot: &Knot,
    request: &Incoming,
    nsid: &str,
    change: impl FnOnce(&mut Repo, String),
) -> Answer {
    let caller = auth::caller(knot, request, nsid)?;
    let input = Input::read(request)?;
    let name = input.text("repo")?;
    let repo = knot.repo(name).ok_or_else(read::not_found)?;
    if repo.owner != caller {
        auth::must_push(
            &Repo {
                collaborators: [].into(),
                ..repo
            },
            &caller,
        )?;
    }
    let subject = input.text("subject")?.to_owned();
    knot.repos.change(name, |it| change(it, subject));
    Ok(Value::Null)
}

pub(super) fn add_collaborator(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    change_collaborator(knot, request, nsid, |repo, subject| {
        repo.collaborators.insert(subject);
    })
}

pub(super) fn remove_collaborator(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    change_collaborator(knot, request, nsid, |repo, subject| {
        repo.collaborators.remove(&subject);
    })
}
