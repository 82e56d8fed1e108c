//! Checks patches, and applies them to a branch.

use std::io;

use forge_testkit::{GitDir, Output};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Knot, Repo, auth, read};
use crate::{
    host::Incoming,
    xrpc::{Answer, Failure, Input},
};

/// Returns the repository that the body of a procedure names: by DID if the knot takes DIDs, or by
/// owner and name. Since May 2026 the name can also be the record's key (`repo_aliases` of the Go
/// knot).
pub(super) fn named(knot: &Knot, input: &Input) -> Result<Repo, Failure> {
    let by_did = input.optional("repo")?;
    if let Some(did) = by_did.filter(|_| knot.options.takes_dids()) {
        return knot.repo(did).ok_or_else(read::not_found);
    }
    let (owner, name) = (input.text("did")?, input.text("name")?);
    let is_named = |it: &Repo| it.name == name || !knot.options.legacy && it.rkey == name;
    let found = knot
        .repos
        .find(|it| it.owner == owner && is_named(it) && it.dir.starts_with(&knot.root));
    found.ok_or_else(read::not_found)
}

/// A clone with a branch checked out, in which the knot tries merges.
struct Trial {
    dir: TempDir,
}

impl Trial {
    fn of(repo: &Repo, branch: &str) -> io::Result<Option<Self>> {
        let dir = TempDir::with_prefix("forge-knot-merge-")?;
        let from = repo.dir.to_string_lossy().into_owned();
        let to = dir.path().join("tree").to_string_lossy().into_owned();
        let args = [
            "clone", "--quiet", "--shared", "--branch", branch, "--", &from, &to,
        ];
        let cloned = repo.git().run(args).output();
        Ok((cloned.code == Some(0)).then_some(Self { dir }))
    }

    fn git(&self) -> GitDir {
        GitDir::at(&self.dir.path().join("tree"))
    }

    fn feed(&self, args: &[&str], patch: &str) -> Output {
        self.git()
            .run(args.iter().copied())
            .env("GIT_COMMITTER_NAME", "Tangled")
            .env("GIT_COMMITTER_EMAIL", "noreply@tangled.org")
            .stdin(patch)
            .output()
    }
}

/// Returns the files to which a patch does not apply, from the output of git.
fn conflicts(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut found: Vec<(String, &str)> = text
        .lines()
        .filter_map(|line| {
            let line = line.strip_prefix("error: ")?;
            if let Some(rest) = line.strip_prefix("patch failed: ") {
                let (file, _) = rest.rsplit_once(':')?;
                return Some((file.to_owned(), "patch failed"));
            }
            let (file, _) = line.split_once(": already exists in working directory")?;
            Some((file.to_owned(), "already exists in working directory"))
        })
        .collect();
    if found.is_empty() {
        found.push((String::new(), "patch does not apply"));
    }
    found
        .iter()
        .map(|(file, reason)| json!({ "filename": file, "reason": reason }))
        .collect()
}

pub(super) fn check(knot: &Knot, request: &Incoming) -> Answer {
    let input = Input::read(request)?;
    let repo = named(knot, &input)?;
    let (patch, branch) = (input.text("patch")?, input.text("branch")?);
    let failed = |why: &str| Ok(json!({ "is_conflicted": true, "error": why }));
    if knot.options.broken_merge_check {
        return failed("failed to clone repository: signal: killed");
    }
    let Some(trial) = Trial::of(&repo, branch).map_err(|_| Failure::internal())? else {
        return failed(&format!("failed to clone repository: no branch {branch}"));
    };
    let output = trial.feed(&["apply", "--check", "-v", "-"], patch);
    if output.code == Some(0) {
        return Ok(json!({ "is_conflicted": false }));
    }
    Ok(json!({
        "is_conflicted": true,
        "conflicts": conflicts(&output),
        "message": "patch cannot be applied cleanly",
    }))
}

pub(super) fn merge(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let caller = auth::caller(knot, request, nsid)?;
    let input = Input::read(request)?;
    let repo = named(knot, &input)?;
    auth::must_push(&repo, &caller)?;
    let (patch, branch) = (input.text("patch")?, input.text("branch")?);
    let conflict = |output: &Output| {
        let files: Vec<String> = conflicts(output)
            .iter()
            .filter_map(|it| it["filename"].as_str().map(str::to_owned))
            .collect();
        let message = format!("Merge failed due to conflicts: {}", files.join(", "));
        Failure::new(409, "MergeConflict", message)
    };
    let Some(trial) = Trial::of(&repo, branch).map_err(|_| Failure::internal())? else {
        return Err(Failure::invalid(format!("no branch {branch}")));
    };
    if is_mail(patch) {
        let output = trial.feed(&["am", "--no-gpg-sign", "-q"], patch);
        if output.code != Some(0) {
            return Err(conflict(&output));
        }
    } else {
        let output = trial.feed(&["apply", "--index", "-"], patch);
        if output.code != Some(0) {
            return Err(conflict(&output));
        }
        commit(&trial, &input)?;
    }
    let to = format!("HEAD:refs/heads/{branch}");
    let pushed = trial.git().run(["push", "--quiet", "origin", &to]).output();
    if pushed.code != Some(0) {
        return Err(Failure::new(
            500,
            "MergeError",
            "failed to push the merged branch",
        ));
    }
    Ok(Value::Null)
}

/// Returns true if a patch is the output of `git format-patch`.
fn is_mail(patch: &str) -> bool {
    patch
        .lines()
        .next()
        .is_some_and(|line| line.starts_with("From ") && line.len() > 45)
}

/// Applies a plain diff as a single commit.
fn commit(trial: &Trial, input: &Input) -> Result<(), Failure> {
    let subject = input.optional("commitMessage")?.unwrap_or("Merge patch");
    let body = input.optional("commitBody")?.unwrap_or_default();
    let name = input.optional("authorName")?.unwrap_or("Tangled");
    let email = input
        .optional("authorEmail")?
        .unwrap_or("noreply@tangled.org");
    let author = format!("--author={name} <{email}>");
    let output = trial.feed(
        &["commit", "--quiet", &author, "-F", "-"],
        &format!("{subject}\n\n{body}"),
    );
    if output.code == Some(0) {
        Ok(())
    } else {
        Err(Failure::new(500, "MergeError", "failed to commit"))
    }
}

/// Serves `sh.tangled.git.mergeCheck`, which reports whether a commit merges into a branch without
/// conflicts. The commit may be in a fork on this knot.
pub(super) fn check_commit(knot: &Knot, request: &Incoming) -> Answer {
    let input = Input::read(request)?;
    let repo = knot.repo(input.text("repo")?).ok_or_else(read::not_found)?;
    let branch = input.text("branch")?;
    let source = input.need("source")?;
    let text = |name: &str| source[name].as_str().unwrap_or_default();
    let fork = knot.repo(text("repo")).ok_or_else(read::not_found)?;
    let git = repo.git();
    let from = fork.dir.to_string_lossy().into_owned();
    let commit = text("commit");
    let fetched = git.run(["fetch", "--quiet", &from, commit]).output();
    if fetched.code != Some(0) {
        return Err(Failure::new(
            400,
            "CommitNotFound",
            format!("commit not found: {commit}"),
        ));
    }
    let target = format!("refs/heads/{branch}");
    let merged = git
        .run([
            "merge-tree",
            "--write-tree",
            "--name-only",
            "-z",
            &target,
            commit,
        ])
        .output();
    let text = String::from_utf8_lossy(&merged.stdout).into_owned();
    match merged.code {
        Some(0) => Ok(json!({ "isConflicted": false })),
        Some(1) => {
            let files = text.split('\0').skip(1).take_while(|it| !it.is_empty());
            let conflicts: Vec<Value> = files
                .map(|it| json!({ "filename": it, "reason": "conflict" }))
                .collect();
            Ok(json!({ "isConflicted": true, "conflicts": conflicts }))
        }
        _ => Err(Failure::invalid(format!("no branch {branch}"))),
    }
}
