//! Resolves commits, refs, trees and blobs from the bare repositories.

use super::{common, repository};
use crate::{
    git::{self, CommitInfo, Person},
    graphql::{Args, Connection, Ctx, Fail, Node, Resolved, Val},
    state::{AccountKind, Id, Permission, Repo},
};

/// Maximum number of commits in a `history`.
const HISTORY: usize = 1_000;

/// Returns a commit. The double reads it from git only once.
pub(super) fn info(ctx: &Ctx<'_>, repo: Id, oid: &str) -> Result<CommitInfo, Fail> {
    let key = (repo, oid.to_owned());
    if let Some(info) = ctx.state().commit_cache.get(&key) {
        return Ok(info.clone());
    }
    let dir = ctx.repo(repo)?.git_dir;
    let info = git::commit(&dir, oid).ok_or_else(|| common::gone("Commit"))?;
    ctx.state().commit_cache.insert(key, info.clone());
    Ok(info)
}

fn person(ctx: &Ctx<'_>, person: &Person) -> Val {
    let state = ctx.state();
    let user = state
        .accounts
        .values()
        .filter(|account| account.kind == AccountKind::User)
        .find(|account| person.email == mail(&account.login) || person.name == account.login);
    Val::record(
        "GitActor",
        vec![
            ("name", (&person.name).into()),
            ("email", (&person.email).into()),
            ("date", (&person.date).into()),
            ("user", Val::option(user.map(|user| Node::User(user.id)))),
        ],
    )
}

/// Returns GitHub's mail address for an account that hides its own address.
pub(crate) fn mail(login: &str) -> String {
    format!("{login}@users.noreply.github.com")
}

pub(super) fn field(ctx: &Ctx<'_>, repo: Id, oid: &str, name: &str, args: &Args) -> Resolved {
    match name {
        "oid" => return Ok(Some(oid.into())),
        "abbreviatedOid" => return Ok(Some(oid.get(..7).unwrap_or(oid).into())),
        "url" | "commitUrl" => {
            return Ok(Some(format!("{}/commit/{oid}", ctx.repo_url(repo)).into()));
        }
        "repository" => return Ok(Some(Node::Repo(repo).into())),
        "statusCheckRollup" | "status" | "checkSuites" => {
            return Ok(Some(super::check::of_commit(ctx, repo, oid, name, args)));
        }
        _ => {}
    }
    let commit = info(ctx, repo, oid)?;
    let dir = ctx.repo(repo)?.git_dir;
    let (headline, body) = split_message(&commit.message);
    Ok(Some(match name {
        "message" => commit.message.into(),
        "messageHeadline" => headline.into(),
        "messageBody" => body.into(),
        "author" => person(ctx, &commit.author),
        "committer" => person(ctx, &commit.committer),
        "authors" => Val::Connection(Connection {
            nodes: authors(ctx, &commit),
            ..Connection::default()
        }),
        "authoredDate" => commit.author.date.into(),
        "committedDate" => commit.committer.date.into(),
        "authoredByCommitter" => (commit.author.email == commit.committer.email).into(),
        "committedViaWeb" => (commit.committer.email == "noreply@github.com").into(),
        "parents" => Val::connection(
            commit
                .parents
                .into_iter()
                .map(|parent| Node::Commit(repo, parent)),
        ),
        "tree" => Node::Tree(repo, commit.tree).into(),
        "file" => {
            let path = args.str("path").unwrap_or_default();
            Val::option(git::tree_entry(&dir, oid, path).map(|it| entry(repo, path, it)))
        }
        "additions" | "deletions" | "changedFiles" | "changedFilesIfAvailable" => {
            let Some(parent) = commit.parents.first() else {
                return Ok(Some(0_u64.into()));
            };
            let summary = git::summary(&dir, parent, oid)?;
            let (additions, deletions) = summary.totals();
            match name {
                "additions" => additions.into(),
                "deletions" => deletions.into(),
                _ => summary.files.len().into(),
            }
        }
        "history" => {
            let commits = git::history(&dir, oid, HISTORY)?;
            Val::connection(commits.into_iter().map(|it| Node::Commit(repo, it.oid)))
        }
        "associatedPullRequests" => {
            let with: Vec<Id> = {
                let state = ctx.state();
                let pulls = state.pulls.values().filter(|pull| {
                    pull.repo == repo
                        && (pull.head_oid == oid
                            || pull.merge.as_ref().is_some_and(|merge| merge.commit == oid))
                });
                pulls.map(|pull| pull.id).collect()
            };
            repository::pulls(ctx, args, |_, pull| with.contains(&pull))
        }
        _ => return Ok(None),
    }))
}

fn entry(repo: Id, path: &str, entry: git::Entry) -> Val {
    let name = path.rsplit('/').next().unwrap_or(path);
    let git::Entry { kind, oid, mode } = entry;
    let object = if kind == "blob" {
        Some(Node::Blob(repo, oid.clone()))
    } else if kind == "tree" {
        Some(Node::Tree(repo, oid.clone()))
    } else {
        None
    };
    Val::record(
        "TreeEntry",
        vec![
            ("name", name.into()),
            ("path", path.into()),
            ("mode", u64::from(mode).into()),
            ("type", kind.into()),
            ("oid", oid.into()),
            ("object", Val::option(object)),
            ("repository", Node::Repo(repo).into()),
        ],
    )
}

fn split_message(message: &str) -> (String, String) {
    let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
    (first.to_owned(), rest.trim_start_matches('\n').to_owned())
}

/// Returns the author of a commit, and the accounts in its `Co-authored-by` lines.
fn authors(ctx: &Ctx<'_>, commit: &CommitInfo) -> Vec<Val> {
    let mut authors = vec![person(ctx, &commit.author)];
    for line in commit.message.lines() {
        let co_author = line
            .strip_prefix("Co-authored-by: ")
            .or_else(|| line.strip_prefix("Co-Authored-By: "))
            .and_then(|rest| rest.rsplit_once(" <"))
            .and_then(|(name, mail)| Some((name, mail.strip_suffix('>')?)));
        if let Some((name, email)) = co_author {
            let co_author = Person {
                name: name.to_owned(),
                email: email.to_owned(),
                date: commit.author.date.clone(),
            };
            authors.push(person(ctx, &co_author));
        }
    }
    authors
}

/// Returns the full name of a ref from its full or short name, if the ref exists.
pub(super) fn find_ref(repo: &Repo, name: &str) -> Option<String> {
    let candidates = if name.starts_with("refs/") {
        vec![name.to_owned()]
    } else {
        vec![
            format!("refs/heads/{name}"),
            format!("refs/tags/{name}"),
            format!("refs/{name}"),
        ]
    };
    candidates
        .into_iter()
        .find(|full| git::commit_of(&repo.git_dir, full).is_some())
}

pub(super) fn refs(repo: &Repo, args: &Args) -> Result<Val, Fail> {
    let prefix = args.str("refPrefix").unwrap_or("refs/heads/");
    let wanted = args.str("query").unwrap_or_default();
    let refs = git::refs(&repo.git_dir, prefix)?;
    Ok(Val::connection(
        refs.into_keys()
            .filter(|name| name.contains(wanted))
            .map(|name| Node::Ref(repo.id, name)),
    ))
}

fn split_ref(full: &str) -> (&str, &str) {
    for prefix in ["refs/heads/", "refs/tags/", "refs/"] {
        if let Some(name) = full.strip_prefix(prefix) {
            return (prefix, name);
        }
    }
    ("", full)
}

pub(super) fn ref_field(ctx: &Ctx<'_>, id: Id, full: &str, name: &str, args: &Args) -> Resolved {
    let repo = ctx.repo(id)?;
    let (prefix, short) = split_ref(full);
    Ok(Some(match name {
        "name" => short.into(),
        "prefix" => prefix.into(),
        "repository" => Node::Repo(id).into(),
        "target" => Val::option(git::commit_of(&repo.git_dir, full).map(|it| Node::Commit(id, it))),
        // GitHub's "branch protection rules that are viewable by non-admins" are in
        // `refUpdateRule`.
        "branchProtectionRule" => Val::option(
            (repo.protections.contains_key(short) && ctx.permission(id) == Some(Permission::Admin))
                .then(|| Node::Protection(id, short.to_owned())),
        ),
        "refUpdateRule" => repository::update_rule(ctx, id, short),
        "associatedPullRequests" => {
            let with: Vec<Id> = {
                let state = ctx.state();
                let pulls = state
                    .pulls
                    .values()
                    .filter(|pull| pull.head_repo == Some(id) && pull.head_branch == short);
                pulls.map(|pull| pull.id).collect()
            };
            repository::pulls(ctx, args, |_, pull| with.contains(&pull))
        }
        "compare" => compare(ctx, &repo, full, args.str("headRef").unwrap_or_default())?,
        _ => return Ok(None),
    }))
}

/// Compares a ref with a head. The head may be `owner:branch` or a pull request's ref.
fn compare(ctx: &Ctx<'_>, repo: &Repo, base: &str, head: &str) -> Result<Val, Fail> {
    let missing = || Fail::not_found(format!("Could not resolve to a ref with the name {head}."));
    let base_oid = git::commit_of(&repo.git_dir, base).ok_or_else(missing)?;
    let head_oid = match head.split_once(':') {
        Some((owner, branch)) => {
            let state = ctx.state();
            let pull = state.pulls.values().find(|pull| {
                pull.repo == repo.id
                    && pull.head_branch == branch
                    && state.login(pull.head_owner).eq_ignore_ascii_case(owner)
            });
            match pull {
                Some(pull) => pull.head_oid.clone(),
                None if state.login(repo.owner).eq_ignore_ascii_case(owner) => {
                    git::branch(&repo.git_dir, branch).ok_or_else(missing)?
                }
                None => return Err(missing()),
            }
        }
        None => find_ref(repo, head)
            .and_then(|full| git::commit_of(&repo.git_dir, &full))
            .or_else(|| git::commit_of(&repo.git_dir, head))
            .ok_or_else(missing)?,
    };
    let ahead = git::count(&repo.git_dir, &format!("{base_oid}..{head_oid}"));
    let behind = git::count(&repo.git_dir, &format!("{head_oid}..{base_oid}"));
    let status = match (ahead, behind) {
        (0, 0) => "IDENTICAL",
        (_, 0) => "AHEAD",
        (0, _) => "BEHIND",
        _ => "DIVERGED",
    };
    let commits = git::commits(&repo.git_dir, &format!("{base_oid}..{head_oid}"))?;
    Ok(Val::record(
        "Comparison",
        vec![
            ("id", format!("CMP_{base_oid}...{head_oid}").into()),
            ("aheadBy", ahead.into()),
            ("behindBy", behind.into()),
            ("status", status.into()),
            ("baseTarget", Node::Commit(repo.id, base_oid).into()),
            ("headTarget", Node::Commit(repo.id, head_oid).into()),
            (
                "commits",
                Val::connection(commits.into_iter().map(|it| Node::Commit(repo.id, it.oid))),
            ),
        ],
    ))
}

/// Returns the git object that an expression names, or null if there is none.
pub(super) fn object(repo: &Repo, expression: &str) -> Val {
    let run = |args: &[&str]| {
        git::run(&repo.git_dir, args)
            .ok()
            .map(|out| String::from_utf8_lossy(&out).trim().to_owned())
    };
    let Some(oid) = run(&[
        "rev-parse",
        "-q",
        "--verify",
        "--end-of-options",
        expression,
    ]) else {
        return Val::NULL;
    };
    match run(&["cat-file", "-t", &oid]).as_deref() {
        Some("commit") => Node::Commit(repo.id, oid).into(),
        Some("tree") => Node::Tree(repo.id, oid).into(),
        Some("blob") => Node::Blob(repo.id, oid).into(),
        _ => Val::NULL,
    }
}

pub(super) fn object_field(ctx: &Ctx<'_>, id: Id, oid: &str, name: &str) -> Resolved {
    let repo = ctx.repo(id)?;
    let blob = || git::run(&repo.git_dir, &["cat-file", "blob", oid]).unwrap_or_default();
    Ok(Some(match name {
        "oid" => oid.into(),
        "abbreviatedOid" => oid.get(..7).unwrap_or(oid).into(),
        "repository" => Node::Repo(id).into(),
        "commitUrl" => format!("{}/commit/{oid}", ctx.repo_url(id)).into(),
        "entries" => Val::List(
            git::tree_entries(&repo.git_dir, oid)
                .into_iter()
                .map(|(name, found)| entry(id, &name, found))
                .collect(),
        ),
        "byteSize" => blob().len().into(),
        "isBinary" => blob().contains(&0).into(),
        "text" => {
            let bytes = blob();
            match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => text.into(),
                _ => Val::NULL,
            }
        }
        _ => return Ok(None),
    }))
}
