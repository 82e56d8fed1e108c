//! Makes the same calls to the light PDS and a real PDS. All statuses and bodies have to be equal,
//! except for times, tokens, account ids and commit ids.

use forge_tangled_world::{Caller, DocumentForm, RealWorld, World, XrpcAnswer};
use serde_json::{Map, Value, json};

const COLLECTION: &str = "sh.tangled.repo.issue";
const CREATE: &str = "com.atproto.repo.createRecord";
const PUT: &str = "com.atproto.repo.putRecord";
const DELETE: &str = "com.atproto.repo.deleteRecord";
const APPLY: &str = "com.atproto.repo.applyWrites";
const LIST: &str = "com.atproto.repo.listRecords";
const GET: &str = "com.atproto.repo.getRecord";
const UPLOAD: &str = "com.atproto.repo.uploadBlob";
const SESSION: &str = "com.atproto.server.createSession";
const SERVICE: &str = "com.atproto.server.getServiceAuth";

/// A PDS of the pair, with the responses that it returned.
struct Side {
    url: String,
    nobody: Caller,
    lines: Vec<String>,
    /// Creates an access token of the given account that expired an hour ago.
    expired: Box<dyn Fn(&str) -> String>,
    /// CIDs of commits, which differ between the PDSes.
    commits: Vec<String>,
}

impl Side {
    fn new(url: String, expired: impl Fn(&str) -> String + 'static) -> Self {
        Self {
            nobody: Caller::new(&url),
            url,
            lines: Vec::new(),
            expired: Box::new(expired),
            commits: Vec::new(),
        }
    }

    /// Records a response, and returns its body as JSON.
    fn note(&mut self, what: &str, answer: &XrpcAnswer) -> Value {
        let mut json = answer.json();
        if json["error"] == "SyntaxError" {
            // The two JSON parsers word their errors differently.
            json["message"] = json["message"].is_string().into();
        }
        self.commits
            .extend(json["commit"]["cid"].as_str().map(str::to_owned));
        let body = if json.is_null() && !answer.bytes.is_empty() {
            format!("{} bytes", answer.bytes.len())
        } else {
            self.normal("", &json).to_string()
        };
        let kind = answer.header("content-type");
        self.lines
            .push(format!("{what}: {} {kind} {body}", answer.status));
        json
    }

    /// Replaces the parts of a value that differ between servers by placeholders.
    fn normal(&self, name: &str, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|it| self.normal(name, it)).collect(),
            Value::Object(fields) if name == "didDoc" => {
                json!(["document", fields["id"].is_string()])
            }
            Value::Object(fields) if name == "commit" => {
                json!([
                    "commit",
                    fields["cid"].is_string(),
                    fields["rev"].is_string()
                ])
            }
            Value::Object(fields) => Value::Object(
                fields
                    .iter()
                    .map(|(name, it)| (name.clone(), self.normal(name, it)))
                    .collect::<Map<_, _>>(),
            ),
            Value::String(text) => self.text(name, text).into(),
            other => other.clone(),
        }
    }

    fn text(&self, name: &str, text: &str) -> String {
        match name {
            "accessJwt" | "refreshJwt" | "token" => return "a token".to_owned(),
            "password" => return format!("a password of {}", text.len()),
            "rev" => return "a revision".to_owned(),
            "createdAt" if !text.contains("2026-08") => return "a time".to_owned(),
            _ => {}
        }
        let mut text = text.replace(&self.url, "http://pds");
        for commit in &self.commits {
            text = text.replace(commit, "a-commit");
        }
        while let Some(at) = text.find("did:plc:") {
            let end = (at + 32).min(text.len());
            text.replace_range(at..end, "did:one");
        }
        text
    }
}

fn record(title: &str) -> Value {
    json!({
        "$type": COLLECTION, "title": title, "repo": "did:web:repo.example",
        "createdAt": "2026-08-02T10:00:00.000Z",
    })
}

/// Returns the arguments of a write to the repository of `did`, with further fields.
fn write(did: &str, rkey: &str, record: Value, more: &[(&str, Value)]) -> Value {
    let mut body = json!({ "repo": did, "collection": COLLECTION, "rkey": rkey, "record": record });
    for (name, value) in more {
        body[*name] = value.clone();
    }
    body
}

/// Creates an account and logs in. Returns the DID, a caller with the session, and the session's
/// tokens.
fn account(it: &mut Side, handle: &str) -> (String, Caller, Value) {
    let name = handle.split('.').next().unwrap();
    let body = json!({ "handle": handle, "email": format!("{name}@example.com"), "password": "0canary0-pass" });
    let answer = it.nobody.post("com.atproto.server.createAccount", &body);
    let session = it.note("createAccount", &answer);
    let did = session["did"].as_str().unwrap().to_owned();
    let caller = it.nobody.with_token(session["accessJwt"].as_str().unwrap());
    (did, caller, session)
}

fn sessions(it: &mut Side) {
    let (did, caller, _) = account(it, "alice.test");
    let nobody = it.nobody.clone();
    let sign_up = |handle: &str| {
        let body =
            json!({ "handle": handle, "email": "x@example.com", "password": "0canary0-pass" });
        nobody.post("com.atproto.server.createAccount", &body)
    };
    it.note("handle taken", &sign_up("alice.test"));
    it.note("handle elsewhere", &sign_up("alice.example.com"));
    for identifier in [
        "alice.test",
        &did,
        "alice@example.com",
        "@alice.test",
        "nobody.test",
    ] {
        for password in ["0canary0-pass", "wrong"] {
            let body = json!({ "identifier": identifier, "password": password });
            it.note(
                &format!("sign in as {identifier:.5} {password}"),
                &nobody.post(SESSION, &body),
            );
        }
    }
    it.note(
        "no password",
        &nobody.post(SESSION, &json!({ "identifier": "alice.test" })),
    );
    it.note(
        "no identifier",
        &nobody.post(SESSION, &json!({ "password": "x" })),
    );
    it.note(
        "broken json",
        &nobody.post_bytes(SESSION, "application/json", b"{\"identifier\""),
    );
    it.note("text", &nobody.post_bytes(SESSION, "text/plain", b"hello"));
    it.note("no body", &nobody.post_nothing(SESSION));
    it.note("wrong verb", &nobody.get(SESSION, &[]));
    let get = |caller: &Caller| caller.get("com.atproto.server.getSession", &[]);
    it.note("who am I", &get(&caller));
    it.note("nobody", &get(&nobody));
    it.note("garbage", &get(&nobody.with_token("garbage")));
    it.note("basic", &get(&nobody.with_authorization("Basic YTpi")));
    let expired = nobody.with_token(&(it.expired)(&did));
    it.note("expired query", &get(&expired));
    let body = write(&did, "a", record("t"), &[]);
    it.note("expired procedure", &expired.post(PUT, &body));
    it.note(
        "expired upload",
        &expired.post_bytes(UPLOAD, "text/plain", b"x"),
    );
    let app = json!({ "name": "ci" });
    let made = it.note(
        "app password",
        &caller.post("com.atproto.server.createAppPassword", &app),
    );
    it.note(
        "app password again",
        &caller.post("com.atproto.server.createAppPassword", &app),
    );
    let body = json!({ "identifier": "alice.test", "password": made["password"] });
    let session = it.note("sign in with it", &nobody.post(SESSION, &body));
    let with_app = nobody.with_token(session["accessJwt"].as_str().unwrap());
    it.note(
        "an app password makes none",
        &with_app.post(
            "com.atproto.server.createAppPassword",
            &json!({ "name": "x" }),
        ),
    );
    let refresh = nobody.with_token(session["refreshJwt"].as_str().unwrap());
    it.note(
        "revoke",
        &caller.post("com.atproto.server.revokeAppPassword", &app),
    );
    it.note(
        "refresh a revoked one",
        &refresh.post_nothing("com.atproto.server.refreshSession"),
    );
    it.note("its access goes on", &get(&with_app));
}

fn refreshing(it: &mut Side) {
    let (_, caller, session) = account(it, "ruth.test");
    let refresh = |token: &Value| {
        it.nobody
            .with_token(token.as_str().unwrap())
            .post_nothing("com.atproto.server.refreshSession")
    };
    let first = refresh(&session["refreshJwt"]);
    let again = refresh(&session["refreshJwt"]);
    let with_access = refresh(&session["accessJwt"]);
    let delete = |token: &Value| {
        it.nobody
            .with_token(token.as_str().unwrap())
            .post_nothing("com.atproto.server.deleteSession")
    };
    let deleted = delete(&first.json()["refreshJwt"]);
    let gone = refresh(&first.json()["refreshJwt"]);
    let access = caller.get("com.atproto.server.getSession", &[]);
    it.note("refresh", &first);
    it.note("refresh again", &again);
    it.note("refresh with an access token", &with_access);
    it.note("sign out", &deleted);
    it.note("refresh after it", &gone);
    it.note("access after it", &access);
    let jti = |answer: &XrpcAnswer| {
        let token = answer.json()["refreshJwt"].as_str().unwrap().to_owned();
        claims(&token)["jti"].clone()
    };
    it.lines
        .push(format!("the same again: {}", jti(&first) == jti(&again)));
    for name in ["accessJwt", "refreshJwt"] {
        let claims = claims(session[name].as_str().unwrap());
        let life = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
        it.lines.push(format!(
            "{name}: {} {} {life}",
            claims["scope"], claims["aud"]
        ));
    }
}

fn claims(token: &str) -> Value {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn records(it: &mut Side) {
    let (did, caller, _) = account(it, "rita.test");
    let nobody = it.nobody.clone();
    let without_key =
        |record: Value| json!({ "repo": did, "collection": COLLECTION, "record": record });
    it.note(
        "create as nobody",
        &nobody.post(CREATE, &write(&did, "a", record("t"), &[])),
    );
    let made = it.note(
        "create",
        &caller.post(CREATE, &write(&did, "a", record("t"), &[])),
    );
    it.note(
        "create again",
        &caller.post(CREATE, &write(&did, "a", record("u"), &[])),
    );
    it.note(
        "unvalidated",
        &caller.post(
            CREATE,
            &write(&did, "b", record("t"), &[("validate", json!(false))]),
        ),
    );
    it.note(
        "validated",
        &caller.post(
            CREATE,
            &write(&did, "c", record("t"), &[("validate", json!(true))]),
        ),
    );
    it.note(
        "by handle",
        &caller.post(CREATE, &write("rita.test", "d", record("t"), &[])),
    );
    it.note(
        "another's",
        &caller.post(
            CREATE,
            &write("did:plc:ewvi7nxzyoun6zhxrhs64oiz", "d", record("t"), &[]),
        ),
    );
    it.note(
        "no type",
        &caller.post(CREATE, &write(&did, "e", json!({ "title": "t" }), &[])),
    );
    it.note(
        "other type",
        &caller.post(CREATE, &write(&did, "f", json!({ "$type": "a.b.c" }), &[])),
    );
    it.note(
        "a fraction",
        &caller.post(CREATE, &write(&did, "g", json!({ "x": 1.5 }), &[])),
    );
    it.note(
        "a null",
        &caller.post(CREATE, &write(&did, "h", json!({ "x": null }), &[])),
    );
    it.note(
        "bad key",
        &caller.post(CREATE, &write(&did, "bad/key", record("t"), &[])),
    );
    it.note(
        "key of a dot",
        &caller.post(CREATE, &write(&did, ".", record("t"), &[])),
    );
    let mut bad = write(&did, "i", record("t"), &[]);
    bad["collection"] = "notansid".into();
    it.note("bad collection", &caller.post(CREATE, &bad));
    it.note(
        "no record",
        &caller.post(CREATE, &json!({ "repo": did, "collection": COLLECTION })),
    );
    it.note(
        "no repo",
        &caller.post(CREATE, &json!({ "collection": COLLECTION, "record": {} })),
    );
    let named = caller
        .post(CREATE, &without_key(record("named by the server")))
        .json();
    let key = named["uri"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    it.lines.push(format!("a key of {} characters", key.len()));
    let _ = caller
        .post(
            DELETE,
            &json!({ "repo": did, "collection": COLLECTION, "rkey": key }),
        )
        .ok();
    let large = caller.post(
        CREATE,
        &write(&did, "j", record(&"x".repeat(1_000_000)), &[]),
    );
    it.note("too large", &large);
    let get = |params: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = [("repo", did.as_str()), ("collection", COLLECTION)]
            .into_iter()
            .chain(params.iter().copied())
            .collect();
        nobody.get(GET, &all)
    };
    it.note("get", &get(&[("rkey", "a")]));
    it.note(
        "get that version",
        &get(&[("rkey", "a"), ("cid", made["cid"].as_str().unwrap())]),
    );
    let other = "bafyreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454";
    it.note(
        "get another version",
        &get(&[("rkey", "a"), ("cid", other)]),
    );
    it.note("get none", &get(&[("rkey", "zzz")]));
    it.note(
        "get by handle",
        &nobody.get(
            GET,
            &[
                ("repo", "rita.test"),
                ("collection", COLLECTION),
                ("rkey", "a"),
            ],
        ),
    );
    it.note(
        "get of nobody",
        &nobody.get(
            GET,
            &[
                ("repo", "did:plc:ewvi7nxzyoun6zhxrhs64oiz"),
                ("collection", COLLECTION),
                ("rkey", "a"),
            ],
        ),
    );
    it.note("get without a key", &get(&[]));
    it.note(
        "describe",
        &nobody.get("com.atproto.repo.describeRepo", &[("repo", &did)]),
    );
    it.note(
        "describe nobody",
        &nobody.get(
            "com.atproto.repo.describeRepo",
            &[("repo", "did:plc:ewvi7nxzyoun6zhxrhs64oiz")],
        ),
    );
}

fn swapping(it: &mut Side) {
    let (did, caller, _) = account(it, "sam.test");
    let put = |title: &str, more: &[(&str, Value)]| {
        caller.post(PUT, &write(&did, "k", record(title), more))
    };
    let first = it.note("create only", &put("one", &[("swapRecord", Value::Null)]));
    it.note(
        "the same again",
        &put("one", &[("swapRecord", Value::Null)]),
    );
    it.note(
        "create only, other",
        &put("two", &[("swapRecord", Value::Null)]),
    );
    it.note("swap", &put("two", &[("swapRecord", first["cid"].clone())]));
    it.note(
        "stale swap",
        &put("three", &[("swapRecord", first["cid"].clone())]),
    );
    it.note(
        "stale swap of the same",
        &put("two", &[("swapRecord", first["cid"].clone())]),
    );
    it.note("no swap", &put("four", &[]));
    it.note("bad cid", &put("five", &[("swapRecord", json!("zzz"))]));
    it.note(
        "stale commit",
        &put("five", &[("swapCommit", first["commit"]["cid"].clone())]),
    );
    it.note(
        "stale commit, create",
        &caller.post(
            CREATE,
            &write(
                &did,
                "new",
                record("n"),
                &[("swapCommit", first["commit"]["cid"].clone())],
            ),
        ),
    );
    let delete = |rkey: &str, more: &[(&str, Value)]| {
        let mut body = json!({ "repo": did, "collection": COLLECTION, "rkey": rkey });
        more.iter()
            .for_each(|(name, value)| body[*name] = value.clone());
        caller.post(DELETE, &body)
    };
    it.note(
        "stale delete",
        &delete("k", &[("swapRecord", first["cid"].clone())]),
    );
    it.note("delete", &delete("k", &[]));
    it.note("delete again", &delete("k", &[]));
    it.note(
        "delete none with swap",
        &delete("k", &[("swapRecord", first["cid"].clone())]),
    );
    it.note(
        "swap of none",
        &put("six", &[("swapRecord", first["cid"].clone())]),
    );
}

/// Makes twelve concurrent calls, each of which replaces the same version of a record.
fn racing(it: &mut Side) {
    let (did, caller, _) = account(it, "rob.test");
    let first = caller
        .post(PUT, &write(&did, "k", record("first"), &[]))
        .ok();
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let put = |n: usize| {
            let swap = [("swapRecord", first["cid"].clone())];
            let body = write(&did, "k", record(&format!("of {n}")), &swap);
            let caller = caller.clone();
            scope.spawn(move || caller.post(PUT, &body).status)
        };
        let all: Vec<_> = (0..12).map(put).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    it.lines.push(format!("{statuses:?}"));
}

fn applying(it: &mut Side) {
    let (did, caller, _) = account(it, "anna.test");
    let write = |action: &str, rkey: &str, title: Option<&str>| {
        let mut write = json!({
            "$type": format!("com.atproto.repo.applyWrites#{action}"), "collection": COLLECTION, "rkey": rkey,
        });
        if let Some(title) = title {
            write["value"] = record(title);
        }
        write
    };
    let apply = |writes: Vec<Value>| caller.post(APPLY, &json!({ "repo": did, "writes": writes }));
    it.note(
        "two creates",
        &apply(vec![
            write("create", "a", Some("a")),
            write("create", "b", Some("b")),
        ]),
    );
    it.note(
        "one of them again",
        &apply(vec![
            write("create", "c", Some("c")),
            write("create", "a", Some("a")),
        ]),
    );
    it.note(
        "nothing of it",
        &it.nobody.get(
            GET,
            &[("repo", &did), ("collection", COLLECTION), ("rkey", "c")],
        ),
    );
    it.note(
        "each kind",
        &apply(vec![
            write("create", "c", Some("c")),
            write("update", "a", Some("a2")),
            write("delete", "b", None),
        ]),
    );
    it.note(
        "update of none",
        &apply(vec![write("update", "zzz", Some("z"))]),
    );
    it.note("delete of none", &apply(vec![write("delete", "zzz", None)]));
    it.note("none at all", &apply(vec![]));
    let mut untyped = write("create", "d", Some("d"));
    untyped.as_object_mut().unwrap().remove("$type");
    it.note("no type", &apply(vec![untyped]));
    it.note(
        "too many",
        &apply(
            (0..201)
                .map(|n| write("create", &format!("m{n}"), Some("m")))
                .collect(),
        ),
    );
    let fraction = json!({
        "$type": "com.atproto.repo.applyWrites#create", "collection": COLLECTION, "rkey": "f", "value": { "x": 0.5 },
    });
    it.note(
        "a fraction in one",
        &apply(vec![write("create", "g", Some("g")), fraction]),
    );
    let body =
        json!({ "repo": did, "writes": [write("create", "v", Some("v"))], "validate": false });
    it.note("unvalidated", &caller.post(APPLY, &body));
}

fn listing(it: &mut Side) {
    let (did, caller, _) = account(it, "lisa.test");
    let nobody = it.nobody.clone();
    for key in ["3mkuuamwfj322", "3mkuuamwfj323", "self-a", "3mkuuamwfj324"] {
        let _ = caller.post(PUT, &write(&did, key, record(key), &[])).ok();
    }
    let list = |params: &[(&str, &str)]| {
        let mut all = vec![("repo", did.as_str()), ("collection", COLLECTION)];
        all.extend(params);
        nobody.get(LIST, &all)
    };
    it.note("all", &list(&[]));
    it.note("two", &list(&[("limit", "2")]));
    it.note(
        "the next two",
        &list(&[("limit", "2"), ("cursor", "3mkuuamwfj324")]),
    );
    it.note("behind the last", &list(&[("cursor", "3mkuuamwfj322")]));
    it.note(
        "oldest first",
        &list(&[("limit", "3"), ("reverse", "true")]),
    );
    it.note(
        "oldest first, the next",
        &list(&[("reverse", "true"), ("cursor", "3mkuuamwfj324")]),
    );
    it.note("too many", &list(&[("limit", "101")]));
    it.note("none", &list(&[("limit", "0")]));
    it.note("no number", &list(&[("limit", "x")]));
    it.note(
        "an unknown collection",
        &nobody.get(LIST, &[("repo", &did), ("collection", "a.b.c")]),
    );
    it.note(
        "a bad collection",
        &nobody.get(LIST, &[("repo", &did), ("collection", "abc")]),
    );
    it.note("no collection", &nobody.get(LIST, &[("repo", &did)]));
    it.note(
        "of nobody",
        &nobody.get(
            LIST,
            &[
                ("repo", "did:plc:ewvi7nxzyoun6zhxrhs64oiz"),
                ("collection", COLLECTION),
            ],
        ),
    );
}

fn blobs(it: &mut Side) {
    let (did, caller, _) = account(it, "bert.test");
    let nobody = it.nobody.clone();
    // The smallest possible gzip file, which is empty.
    let gzip = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    let sniffed = it.note(
        "gzip as bytes",
        &caller.post_bytes(UPLOAD, "application/octet-stream", &gzip),
    );
    let text = it.note("text", &caller.post_bytes(UPLOAD, "text/plain", b"hello"));
    it.note("nothing", &caller.post_bytes(UPLOAD, "text/plain", b""));
    it.note("as nobody", &nobody.post_bytes(UPLOAD, "text/plain", b"x"));
    let get = |blob: &Value| {
        let cid = blob["blob"]["ref"]["$link"].as_str().unwrap().to_owned();
        nobody.get("com.atproto.sync.getBlob", &[("did", &did), ("cid", &cid)])
    };
    it.note("before a record", &get(&sniffed));
    let with = |rkey: &str, blob: Value| {
        let record = json!({ "$type": COLLECTION, "blob": blob });
        caller.post(PUT, &write(&did, rkey, record, &[]))
    };
    let changed = |blob: &Value, name: &str, value: Value| {
        let mut blob = blob["blob"].clone();
        blob[name] = value;
        blob
    };
    it.note(
        "other type",
        &with("a", changed(&text, "mimeType", json!("application/gzip"))),
    );
    it.note("other size", &with("a", changed(&text, "size", json!(1))));
    let unknown = json!({ "$link": "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyka" });
    it.note("never sent", &with("a", changed(&text, "ref", unknown)));
    it.note("referred to", &with("a", sniffed["blob"].clone()));
    it.note("now it is there", &get(&sniffed));
    it.note(
        "other type, later",
        &with("b", changed(&sniffed, "mimeType", json!("text/plain"))),
    );
    let legacy = json!({ "cid": sniffed["blob"]["ref"]["$link"], "mimeType": "text/plain" });
    it.note("legacy", &with("c", legacy));
    it.note(
        "of nobody",
        &nobody.get(
            "com.atproto.sync.getBlob",
            &[
                ("did", "did:plc:ewvi7nxzyoun6zhxrhs64oiz"),
                (
                    "cid",
                    "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
                ),
            ],
        ),
    );
    let _ = caller
        .post(
            DELETE,
            &json!({ "repo": did, "collection": COLLECTION, "rkey": "a" }),
        )
        .ok();
    let _ = caller
        .post(
            DELETE,
            &json!({ "repo": did, "collection": COLLECTION, "rkey": "b" }),
        )
        .ok();
    it.note("without its records", &get(&sniffed));
    let too_large = caller.post_bytes(UPLOAD, "application/gzip", &vec![1; (5 << 20) + 1]);
    it.note("too large", &too_large);
}

fn service_auth(it: &mut Side) {
    let (did, caller, _) = account(it, "stan.test");
    let lxm = "sh.tangled.repo.merge";
    let ask = |aud: &str, more: &[(&str, &str)]| {
        let mut all = vec![("aud", aud)];
        all.extend(more);
        caller.get(SERVICE, &all)
    };
    for aud in [
        "did:web:knot.example.com",
        "did:web:localhost",
        "did:web:localhost%3A6000",
        "did:web:localhost:6000",
        "did:web:127.0.0.1%3A6000",
        "did:web:knot.test%3A6000",
        "knot.example.com",
        &did,
    ] {
        it.note(
            &format!("for {}", aud.replace(&did, "an account")),
            &ask(aud, &[("lxm", lxm)]),
        );
    }
    it.note("without a method", &ask("did:web:localhost", &[]));
    it.note(
        "as nobody",
        &it.nobody.get(SERVICE, &[("aud", "did:web:localhost")]),
    );
    it.note("without anything", &caller.get(SERVICE, &[]));
    let now = claims(
        ask("did:web:localhost", &[]).json()["token"]
            .as_str()
            .unwrap(),
    )["iat"]
        .as_i64()
        .unwrap();
    for ahead in [-100, 120, 3_500, 4_000] {
        let exp = (now + ahead).to_string();
        it.note(
            &format!("for {ahead} s"),
            &ask("did:web:localhost", &[("exp", &exp)]),
        );
        it.note(
            &format!("for {ahead} s and a method"),
            &ask("did:web:localhost", &[("exp", &exp), ("lxm", lxm)]),
        );
    }
    let token = ask("did:web:localhost%3A6000", &[("lxm", lxm)]).json()["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut said = claims(&token);
    let life = said["exp"].as_i64().unwrap() - said["iat"].as_i64().unwrap();
    let is_own = said["iss"] == did.as_str();
    for name in ["exp", "iat", "jti", "iss"] {
        said[name] = said[name].is_null().into();
    }
    it.lines.push(format!("{said} {life} {is_own}"));
}

fn identity(it: &mut Side) {
    let (did, caller, _) = account(it, "ida.test");
    let nobody = it.nobody.clone();
    it.note(
        "resolve",
        &nobody.get(
            "com.atproto.identity.resolveHandle",
            &[("handle", "ida.test")],
        ),
    );
    it.note(
        "resolve none",
        &nobody.get(
            "com.atproto.identity.resolveHandle",
            &[("handle", "nobody.test")],
        ),
    );
    it.note(
        "server",
        &nobody.get("com.atproto.server.describeServer", &[]),
    );
    it.note(
        "unknown method",
        &nobody.get("sh.tangled.repo.getPull", &[]),
    );
    it.note(
        "status",
        &nobody.get("com.atproto.sync.getRepoStatus", &[("did", &did)]),
    );
    it.note(
        "deactivate",
        &caller.post("com.atproto.server.deactivateAccount", &json!({})),
    );
    it.note(
        "write without an account",
        &caller.post(PUT, &write(&did, "a", record("t"), &[])),
    );
    it.note(
        "read without one",
        &nobody.get(LIST, &[("repo", &did), ("collection", COLLECTION)]),
    );
    it.note(
        "status without one",
        &nobody.get("com.atproto.sync.getRepoStatus", &[("did", &did)]),
    );
    let body = json!({ "identifier": "ida.test", "password": "0canary0-pass" });
    it.note("sign in without one", &nobody.post(SESSION, &body));
    it.note(
        "activate",
        &caller.post_nothing("com.atproto.server.activateAccount"),
    );
    it.note(
        "read again",
        &nobody.get(LIST, &[("repo", &did), ("collection", COLLECTION)]),
    );
}

/// A sequence of calls that runs on each PDS.
type Script = fn(&mut Side);

const TOPICS: &[(&str, Script)] = &[
    ("sessions", sessions),
    ("refreshing", refreshing),
    ("records", records),
    ("swapping", swapping),
    ("racing", racing),
    ("applying", applying),
    ("listing", listing),
    ("blobs", blobs),
    ("service auth", service_auth),
    ("identity", identity),
];

#[test]
fn light_pds_answers_like_the_real_pds() {
    let Some(dir) = RealWorld::installed() else {
        return;
    };
    let real = RealWorld::start(&dir).unwrap();
    let light = World::start().unwrap();
    light.directory().set_form(DocumentForm::Verification2019);
    let secret = real.session_secret();
    let mut real_side = Side::new(real.pds_url(), move |did| expired(&secret, did));
    let light_secret = light.pds().session_secret();
    let mut light_side = Side::new(light.pds().host().url(), move |did| {
        expired(&light_secret, did)
    });
    let mut different = Vec::new();
    let mut compared = 0;
    for (topic, script) in TOPICS {
        script(&mut real_side);
        script(&mut light_side);
        let (reals, lights) = (
            std::mem::take(&mut real_side.lines),
            std::mem::take(&mut light_side.lines),
        );
        assert_eq!(reals.len(), lights.len(), "{topic}");
        compared += reals.len();
        for (real, light) in reals
            .iter()
            .zip(&lights)
            .filter(|(real, light)| real != light)
        {
            different.push(format!("{topic}\n  real  {real}\n  light {light}"));
        }
    }
    assert!(
        different.is_empty(),
        "{} of {compared} answers differ\n{}",
        different.len(),
        different.join("\n")
    );
    assert!(compared > 140, "only {compared} answers");
}

fn expired(secret: &str, did: &str) -> String {
    forge_tangled_world::session_token(secret, did, -3_600)
}
