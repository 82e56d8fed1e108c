//! Serves the queries of `sh.tangled.repo.*` with the answers of the Go knot. Many answers are the
//! knot's internal types as JSON, and differ from the lexicons.

use std::{collections::BTreeMap, sync::Mutex};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Knot, Repo};
use crate::{
    host::{Incoming, lock},
    xrpc::{Answer, Failure},
};

pub(super) fn not_found() -> Failure {
    Failure::new(404, "RepoNotFound", "failed to find the repository")
}

pub(super) fn param(request: &Incoming, name: &str) -> Result<String, Failure> {
    request
        .param(name)
        .filter(|it| !it.is_empty())
        .ok_or_else(|| Failure::invalid(format!("missing {name} parameter")))
}

/// Returns the repository that a query names.
pub(super) fn repo(knot: &Knot, request: &Incoming) -> Result<Repo, Failure> {
    let name = param(request, "repo")?;
    // A knot of 2025 finds a repository only by its owner and its name.
    let known = |it: &Repo| !knot.options.legacy || name == format!("{}/{}", it.owner, it.name);
    knot.repo(&name).filter(known).ok_or_else(not_found)
}

/// A commit in the form in which go-git prints it.
#[derive(Clone)]
struct Commit {
    oid: String,
    tree: String,
    parents: Vec<String>,
    name: String,
    email: String,
    when: String,
    committer: Value,
    message: String,
}

const FORMAT: &str = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x01";

impl Commit {
    fn read(text: &str) -> Option<Self> {
        let mut fields = text.trim_start_matches('\n').split('\0').map(str::to_owned);
        let mut next = || fields.next();
        Some(Self {
            oid: next()?,
            tree: next()?,
            parents: next()?.split_whitespace().map(str::to_owned).collect(),
            name: next()?,
            email: next()?,
            when: next()?,
            committer: signature(&next()?, &next()?, &next()?),
            message: next()?,
        })
    }

    fn json(&self) -> Value {
        let parents: Vec<Value> = self.parents.iter().map(|it| bytes(it)).collect();
        json!({
            "Hash": bytes(&self.oid),
            "Author": signature(&self.name, &self.email, &self.when),
            "Committer": self.committer,
            "MergeTag": "",
            "PGPSignature": "",
            "Message": self.message,
            "TreeHash": bytes(&self.tree),
            "ParentHashes": parents,
            "Encoding": "UTF-8",
        })
    }
}

fn signature(name: &str, email: &str, when: &str) -> Value {
    json!({ "Name": name, "Email": email, "When": when })
}

/// Formats an object id as Go prints an array of bytes.
fn bytes(oid: &str) -> Value {
    let pairs = oid.as_bytes().chunks(2);
    pairs
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

fn commits(repo: &Repo, range: &[&str]) -> Option<Vec<Commit>> {
    let format = format!("--format={FORMAT}");
    let args = ["log", &format].into_iter().chain(range.iter().copied());
    let output = repo.git().run(args).output();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.code == Some(0)).then(|| text.split('\u{1}').filter_map(Commit::read).collect())
}

/// Commits that were read, by id.
static READ: Mutex<BTreeMap<String, Commit>> = Mutex::new(BTreeMap::new());

/// Returns commits by their ids; `None` for those that do not exist. A commit never changes, so each
/// is read once.
fn commits_by_id(repo: &Repo, oids: &[&str]) -> Vec<Option<Commit>> {
    let mut unread = oids.to_vec();
    {
        let known = lock(&READ);
        unread.retain(|oid| !known.contains_key(*oid));
    }
    if !unread.is_empty() {
        let found = commits(repo, &[&["--no-walk=unsorted"], &unread[..]].concat());
        let found = found.into_iter().flatten();
        lock(&READ).extend(found.map(|commit| (commit.oid.clone(), commit)));
    }
    let known = lock(&READ);
    oids.iter().map(|oid| known.get(*oid).cloned()).collect()
}

fn default_of(repo: &Repo) -> String {
    let head = std::fs::read_to_string(repo.git().path().join("HEAD")).unwrap_or_default();
    let branch = head.trim().strip_prefix("ref: refs/heads/");
    branch.unwrap_or_default().to_owned()
}

pub(super) fn branches(knot: &Knot, request: &Incoming) -> Answer {
    let repo = repo(knot, request)?;
    let default = default_of(&repo);
    let text = repo
        .git()
        .run([
            "for-each-ref",
            "--format=%(refname:short) %(objectname)",
            "refs/heads",
        ])
        .text();
    // Knots of 2025 misspell this key.
    let key = if knot.options.legacy {
        "is_deafult"
    } else {
        "is_default"
    };
    let refs: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .collect();
    let oids: Vec<&str> = refs.iter().map(|(_, oid)| *oid).collect();
    let commits = commits_by_id(&repo, &oids);
    let mut all = Vec::new();
    for ((name, oid), commit) in refs.iter().zip(commits) {
        let mut branch = json!({
            "reference": { "name": name, "hash": oid },
            "commit": commit.map(|it| it.json()),
        });
        if *name == default {
            branch[key] = true.into();
        }
        all.push(branch);
    }
    let limit = request
        .param("limit")
        .and_then(|it| it.parse().ok())
        .unwrap_or(50);
    let from: usize = request
        .param("cursor")
        .and_then(|it| it.parse().ok())
        .unwrap_or(0);
    let page: Vec<&Value> = all.iter().skip(from).take(limit).collect();
    Ok(json!({ "branches": page }))
}

fn tip(repo: &Repo, name: &str) -> Answer {
    let missing = || Failure::new(404, "BranchNotFound", "branch not found");
    let oid = repo
        .git()
        .oid(&format!("refs/heads/{name}"))
        .ok_or_else(missing)?;
    let commit = commits_by_id(repo, &[&oid]).pop();
    let commit = commit.flatten().ok_or_else(missing)?;
    Ok(json!({
        "name": name,
        "hash": oid,
        "shortHash": oid.get(..7),
        "when": commit.when,
        "message": commit.message,
        "author": { "name": commit.name, "email": commit.email, "when": commit.when },
    }))
}

pub(super) fn branch(knot: &Knot, request: &Incoming) -> Answer {
    let repo = repo(knot, request)?;
    let name = param(request, "name")?;
    let mut answer = tip(&repo, &name)?;
    answer["isDefault"] = (name == default_of(&repo)).into();
    Ok(answer)
}

pub(super) fn default_branch(knot: &Knot, request: &Incoming) -> Answer {
    let repo = repo(knot, request)?;
    tip(&repo, &default_of(&repo))
}

pub(super) fn log(knot: &Knot, request: &Incoming) -> Answer {
    let repo = repo(knot, request)?;
    let name = param(request, "ref")?;
    let limit: usize = request
        .param("limit")
        .and_then(|it| it.parse().ok())
        .unwrap_or(50);
    let from: usize = request
        .param("cursor")
        .and_then(|it| it.parse().ok())
        .unwrap_or(0);
    let missing = || Failure::new(404, "RefNotFound", "failed to resolve ref");
    let all = commits(&repo, &[&name, "--"]).ok_or_else(missing)?;
    let page: Vec<Value> = all
        .iter()
        .skip(from)
        .take(limit)
        .map(Commit::json)
        .collect();
    Ok(json!({
        "commits": page, "ref": name, "page": from / limit.max(1) + 1, "per_page": limit,
        "total": all.len(), "log": true,
    }))
}

pub(super) fn tree(knot: &Knot, request: &Incoming) -> Answer {
    let repo = repo(knot, request)?;
    let name = param(request, "ref")?;
    let path = request.param("path").unwrap_or_default();
    let listed = repo
        .git()
        .run(["ls-tree", "-l", "-z", &format!("{name}:{path}")])
        .output();
    if listed.code != Some(0) {
        return Err(Failure::new(404, "PathNotFound", "failed to read tree"));
    }
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let files: Vec<Value> = text
        .split_terminator('\0')
        .filter_map(|entry| {
            let (about, name) = entry.split_once('\t')?;
            let fields: Vec<&str> = about.split_whitespace().collect();
            let size: u64 = fields.get(3)?.parse().unwrap_or(0);
            Some(json!({ "name": name, "mode": format!("0{}", fields.first()?), "size": size }))
        })
        .collect();
    Ok(json!({ "ref": name, "parent": path, "files": files }))
}

pub(super) fn blob(knot: &Knot, request: &Incoming) -> Answer {
    let repo = repo(knot, request)?;
    let (name, path) = (param(request, "ref")?, param(request, "path")?);
    if repo.git().oid(&name).is_none() {
        return Err(Failure::new(404, "RefNotFound", "failed to resolve ref"));
    }
    let shown = repo
        .git()
        .run(["cat-file", "blob", &format!("{name}:{path}")])
        .output();
    if shown.code != Some(0) {
        return Err(Failure::new(
            404,
            "FileNotFound",
            "file not found at the given path",
        ));
    }
    let size = shown.stdout.len();
    let (content, encoding) = match String::from_utf8(shown.stdout) {
        Ok(text) => (text, "utf-8"),
        Err(error) => (STANDARD.encode(error.into_bytes()), "base64"),
    };
    Ok(json!({
        "ref": name, "path": path, "content": content, "encoding": encoding, "size": size,
        "isBinary": encoding == "base64",
    }))
}

pub(super) fn describe(knot: &Knot, request: &Incoming) -> Answer {
    let did = param(request, "repoDid")?;
    let repo = knot.repo(&did).ok_or_else(not_found)?;
    Ok(json!({ "ownerDid": repo.owner, "repoDid": did, "rkey": repo.rkey }))
}

pub(super) fn collaborators(knot: &Knot, request: &Incoming) -> Answer {
    let subject = param(request, "subject")?;
    let repo = knot.repo(&subject).ok_or_else(not_found)?;
    let items: Vec<Value> = repo
        .collaborators
        .iter()
        .map(|it| json!({ "subject": it, "addedBy": repo.owner, "createdAt": "2026-06-01T00:00:00Z" }))
        .collect();
    Ok(json!({ "items": items }))
}

pub(super) fn version(knot: &Knot) -> Answer {
    Ok(json!({ "version": "v1.14.0", "capabilities": knot.options.capabilities }))
}
