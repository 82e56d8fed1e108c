//! Repositories of Tangled 1.0, which have an account on the knot. The double implements only
//! behaviour that was observed on public pages and in clients. Nothing is guessed.

use forge_double_wire::Reply;
use serde_json::{Map, Value, json};

use super::{Era, Knot, Repo, auth, read};
use crate::{
    atproto::tid,
    host::{Incoming, lock},
    pds::{self, write::Write},
    xrpc::{Answer, Failure, Input},
};

const TICKET: &str = "org.tangled.track.ticket";
const PATCH: &str = "org.tangled.review.patch";
const COMMENT: &str = "org.tangled.feed.comment";

/// Field that names the last account to write a record.
const EDITOR: &str = "x-tngl-editor";

/// Serves the methods whose answer is bytes instead of JSON.
pub(super) fn bytes(knot: &Knot, nsid: &str, request: &Incoming) -> Option<Reply> {
    let reply = match nsid {
        "com.atproto.sync.getBlob" => pds::blob::get(&knot.accounts, request),
        "org.tangled.temp.git.formatPatch" => format_patch(knot, request),
        _ => return None,
    };
    Some(reply.unwrap_or_else(|failure| failure.reply()))
}

pub(super) fn call(knot: &Knot, nsid: &str, request: &Incoming) -> Option<Answer> {
    let accounts = &knot.accounts;
    Some(match (request.method.as_str(), nsid) {
        ("GET", "com.atproto.server.describeServer") => Ok(json!({
            "did": knot.did, "availableUserDomains": [], "inviteCodeRequired": true,
        })),
        ("GET", "com.atproto.repo.describeRepo") => pds::repo::describe(accounts, request),
        ("GET", "com.atproto.repo.getRecord") => pds::repo::get(accounts, request),
        ("GET", "com.atproto.repo.listRecords") => pds::repo::list(accounts, request),
        ("POST", "com.atproto.repo.createRecord") => create_record(knot, request, nsid),
        ("POST", "com.atproto.repo.putRecord") => put_record(knot, request, nsid),
        ("POST", "com.atproto.repo.deleteRecord") => delete_record(knot, request, nsid),
        ("POST", "com.atproto.repo.uploadBlob") => upload_blob(knot, request, nsid),
        ("POST", "org.tangled.review.submitPatch") => submit_patch(knot, request, nsid),
        ("GET", "org.tangled.temp.git.getMergeBase") => merge_base(knot, request),
        _ => return None,
    })
}

/// Writes a record as the knot itself does.
pub(super) fn put(
    knot: &Knot,
    repo: &str,
    collection: &str,
    rkey: &str,
    record: Value,
) -> Result<(String, String), Failure> {
    put_over(knot, repo, collection, rkey, record, None)
}

/// Writes a record if its current version is the expected one: a CID, no version, or any version.
/// The check and the write are atomic.
fn put_over(
    knot: &Knot,
    repo: &str,
    collection: &str,
    rkey: &str,
    record: Value,
    over: Option<Option<&str>>,
) -> Result<(String, String), Failure> {
    let mut state = lock(&knot.accounts.state);
    if let Some(wanted) = over {
        let account = state.accounts.get(repo);
        let stored = account.and_then(|it| it.record(collection, rkey));
        let is = stored.map(|it| it.cid.as_str());
        if wanted != is {
            let message = format!("Record was at {}", is.unwrap_or("null"));
            return Err(Failure::new(400, "InvalidSwap", message));
        }
    }
    let record = pds::record::prepare(record, collection)?;
    let cid = pds::record::id(&record)?;
    let write = Write::put(&state, repo, collection, rkey, record);
    pds::write::commit(&mut state, &knot.accounts.network, repo, vec![write])?;
    Ok((format!("at://{repo}/{collection}/{rkey}"), cid))
}

fn account(knot: &Knot, did: &str) -> Result<Repo, Failure> {
    knot.repo(did)
        .filter(|it| it.era == Era::Org10)
        .ok_or_else(|| Failure::new(400, "RepoNotFound", format!("Could not find repo: {did}")))
}

/// Returns the newest version of a record.
fn current(knot: &Knot, repo: &str, collection: &str, rkey: &str) -> Option<(String, Value)> {
    let state = lock(&knot.accounts.state);
    let stored = state.accounts.get(repo)?.record(collection, rkey)?;
    Some((stored.cid.clone(), stored.value.clone()))
}

/// Adds the DID of the writing account to a record that a client sent.
fn stamped(knot: &Knot, mut record: Value, caller: &str) -> Result<Value, Failure> {
    let Some(fields) = record.as_object_mut() else {
        return Err(Failure::invalid("record must be an object"));
    };
    if fields.get("$type").and_then(Value::as_str) == Some(TICKET) {
        for path in &knot.options.loses {
            remove_field(fields, path);
        }
    }
    fields.retain(|name, _| !name.starts_with("x-tngl-"));
    fields.insert(EDITOR.to_owned(), caller.into());
    Ok(record)
}

/// Removes a field from a record. `path` may be nested, such as `title.text`.
fn remove_field(fields: &mut Map<String, Value>, path: &str) {
    match path.split_once('.') {
        None => drop(fields.remove(path)),
        Some((name, rest)) => {
            if let Some(inner) = fields.get_mut(name).and_then(Value::as_object_mut) {
                remove_field(inner, rest);
            }
        }
    }
}

/// Checks the rules that were observed on the knot: a body must not be empty, and a comment must
/// name a current version.
fn check(knot: &Knot, collection: &str, record: &Value) -> Result<(), Failure> {
    if record["body"]["text"]
        .as_str()
        .is_some_and(|it| it.trim().is_empty())
    {
        return Err(Failure::invalid("empty markdown body"));
    }
    if collection != COMMENT {
        return Ok(());
    }
    for name in ["subject", "replyTo"] {
        let Some(uri) = record[name]["uri"].as_str() else {
            continue;
        };
        let parts: Vec<&str> = uri.trim_start_matches("at://").split('/').collect();
        let [repo, collection, rkey] = parts[..] else {
            return Err(Failure::invalid(format!("{name} is no record")));
        };
        let is = current(knot, repo, collection, rkey).map(|(cid, _)| cid);
        if is.as_deref() != record[name]["cid"].as_str() {
            return Err(Failure::invalid(format!(
                "{name} is not the current version of {uri}"
            )));
        }
    }
    Ok(())
}

fn written(uri: &str, cid: &str) -> Value {
    json!({ "uri": uri, "cid": cid, "x-tngl-change": tid::next() })
}

fn create_record(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let input = Input::read(request)?;
    let repo = account(knot, input.text("repo")?)?;
    let did = repo.did.clone().unwrap_or_default();
    let caller = auth::writer(knot, request, nsid, &did)?;
    let collection = input.text("collection")?;
    if !matches!(collection, TICKET | COMMENT) {
        auth::must_push(&repo, &caller)?;
    }
    let rkey = input
        .optional("rkey")?
        .map_or_else(tid::next, str::to_owned);
    if current(knot, &did, collection, &rkey).is_some() {
        return Err(Failure::invalid(format!("Record already exists: {rkey}")));
    }
    let record = stamped(knot, input.need("record")?.clone(), &caller)?;
    check(knot, collection, &record)?;
    let (uri, cid) = put(knot, &did, collection, &rkey, record)?;
    Ok(written(&uri, &cid))
}

/// Checks that an account may change a record. Collaborators may change any record, and others only
/// records that they wrote last.
fn may_change(repo: &Repo, caller: &str, current: Option<&Value>) -> Result<(), Failure> {
    if current.is_some_and(|it| it[EDITOR].as_str() == Some(caller)) {
        return Ok(());
    }
    auth::must_push(repo, caller)
}

fn put_record(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let input = Input::read(request)?;
    let repo = account(knot, input.text("repo")?)?;
    let did = repo.did.clone().unwrap_or_default();
    let caller = auth::writer(knot, request, nsid, &did)?;
    let (collection, rkey) = (input.text("collection")?, input.text("rkey")?);
    let before = current(knot, &did, collection, rkey);
    may_change(&repo, &caller, before.as_ref().map(|(_, value)| value))?;
    if collection == PATCH && before.is_some() {
        return Err(Failure::invalid("a patch cannot be changed"));
    }
    let record = stamped(knot, input.need("record")?.clone(), &caller)?;
    check(knot, collection, &record)?;
    let over = input.get("swapRecord").map(Value::as_str);
    let (uri, cid) = put_over(knot, &did, collection, rkey, record, over)?;
    Ok(written(&uri, &cid))
}

/// Deletes a record. Only collaborators may do this.
fn delete_record(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let input = Input::read(request)?;
    let repo = account(knot, input.text("repo")?)?;
    let did = repo.did.clone().unwrap_or_default();
    let caller = auth::writer(knot, request, nsid, &did)?;
    auth::must_push(&repo, &caller)?;
    let (collection, rkey) = (input.text("collection")?, input.text("rkey")?);
    let mut state = lock(&knot.accounts.state);
    let write = Write::delete(collection, rkey);
    let known = state
        .accounts
        .get(&did)
        .is_some_and(|it| it.record(collection, rkey).is_some());
    if known {
        pds::write::commit(&mut state, &knot.accounts.network, &did, vec![write])?;
    }
    Ok(json!({}))
}

fn upload_blob(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let repo = account(knot, &request.param("repo").unwrap_or_default())?;
    let did = repo.did.unwrap_or_default();
    auth::writer(knot, request, nsid, &did)?;
    let mut state = lock(&knot.accounts.state);
    let account = state.accounts.get_mut(&did).ok_or_else(Failure::internal)?;
    let blob = account.add_blob(request.header("content-type"), request.body.clone());
    Ok(json!({ "blob": blob }))
}

/// Submits a round, which consists of two commits. If necessary, the knot fetches them from the
/// fork.
fn submit_patch(knot: &Knot, request: &Incoming, nsid: &str) -> Answer {
    let input = Input::read(request)?;
    let repo = account(knot, input.text("repo")?)?;
    let did = repo.did.clone().unwrap_or_default();
    let caller = auth::writer(knot, request, nsid, &did)?;
    let patch = input.need("patch")?;
    let text = |name: &str| {
        let missing = || Failure::invalid(format!("Missing required key \"{name}\" at $.patch"));
        patch[name].as_str().ok_or_else(missing)
    };
    let ticket = text("ticket")?;
    let Some((_, found)) = current(knot, &did, TICKET, ticket) else {
        return Err(Failure::invalid(format!("no ticket {ticket}")));
    };
    if found["targetBranch"].as_str().is_none() {
        return Err(Failure::invalid("the ticket has no target branch"));
    }
    let (source, branch) = (text("sourceRepo")?, text("sourceBranch")?);
    let fork = knot.repo(source).ok_or_else(read::not_found)?;
    let git = repo.git();
    if fork.did != repo.did {
        let from = fork.dir.to_string_lossy().into_owned();
        let _ = git
            .run(["fetch", "--quiet", &from, &format!("refs/heads/{branch}")])
            .output();
    }
    for name in ["base", "head"] {
        let oid = patch[name]["oid"].as_str().unwrap_or_default();
        if git.oid(&format!("{oid}^{{commit}}")).is_none() {
            return Err(Failure::new(
                400,
                "CommitNotFound",
                format!("commit not found: {oid}"),
            ));
        }
    }
    let record = json!({
        "ticket": ticket,
        "base": { "oid": patch["base"]["oid"] },
        "head": { "oid": patch["head"]["oid"] },
        "source": { "repo": source, "branch": branch },
        "createdAt": chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
    });
    // The ref keeps the commits after their branch is deleted.
    let head = patch["head"]["oid"].as_str().unwrap_or_default();
    git.run(["update-ref", &format!("refs/keep/{head}"), head])
        .ok();
    let record = stamped(knot, record, &caller)?;
    // The knot chooses the record key, which looks like a CID.
    let rkey = pds::record::id(&record)?;
    let (uri, cid) = put(knot, &did, PATCH, &rkey, record)?;
    Ok(written(&uri, &cid))
}

fn format_patch(knot: &Knot, request: &Incoming) -> Result<Reply, Failure> {
    let repo = read::repo(knot, request)?;
    let (from, to) = (read::param(request, "from")?, read::param(request, "to")?);
    let output = repo
        .git()
        .run(["format-patch", "--stdout", &format!("{from}..{to}")])
        .output();
    if output.code == Some(0) {
        Ok(Reply::text(200, "text/plain; charset=utf-8", output.stdout))
    } else {
        Err(Failure::new(400, "CommitNotFound", "commit not found"))
    }
}

fn merge_base(knot: &Knot, request: &Incoming) -> Answer {
    let repo = read::repo(knot, request)?;
    let (base, head) = (read::param(request, "base")?, read::param(request, "head")?);
    let output = repo.git().run(["merge-base", &base, &head]).output();
    let commit = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.code == Some(0) {
        Ok(json!({ "commit": commit }))
    } else {
        Err(Failure::new(400, "CommitNotFound", "commit not found"))
    }
}
