//! Has the doubles of tangled's services serve records in the recorded shapes.

use std::collections::BTreeMap;

use forge_tangled_world::{Account, Caller, KnotOptions, PdsDouble, PdsOptions, Repository, World};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    shape::{Observed, Shapes, Tree, compare, read},
    table::{Difference, assert_listed},
};

/// A request of ours, with an answer in the recorded shape.
///
/// `did:wren3` and the like stand for the DIDs of accounts, `did:nest` and `at:nest` for a
/// repository, and `?` for what only the servers know: a CID, a cursor.
#[derive(Deserialize)]
struct Entry {
    stands_for: String,
    service: String,
    send: String,
    #[serde(default = "no_fields")]
    query: Tree,
    body: Option<Tree>,
    /// Records, besides those in the answer, that the services have.
    #[serde(default)]
    also: Vec<Tree>,
    answer: Tree,
}

fn no_fields() -> Tree {
    Tree::Object(Vec::new())
}

struct Stage {
    world: World,
    /// The PDS whose account has the host as its DID.
    web: PdsDouble,
    web_did: String,
    repo: Repository,
    accounts: BTreeMap<String, Account>,
    /// Two commits, the second of which changes a file and has a file added.
    commits: [String; 2],
}

impl Stage {
    fn new() -> Self {
        let options = PdsOptions {
            rate_limits: true,
            ..PdsOptions::default()
        };
        let world = World::with(options.clone(), KnotOptions::default()).unwrap();
        let web = world.another_pds(options).unwrap();
        let web_did = web.web_account("web.example", "a password").did;
        let owner = world.pds().account("owner.example", "a password");
        let repo = world.repository(&owner, "nest");
        world
            .knot()
            .add_collaborator(&repo, "did:plc:nobodynobodynobodynobody");
        let commits = [("one.txt", "one"), ("two.txt", "two")].map(|(file, text)| {
            repo.git
                .commit("main", "Line the nest", &[(file, Some(text))])
        });
        Self {
            world,
            web,
            web_did,
            repo,
            accounts: BTreeMap::new(),
            commits,
        }
    }

    /// Creates the accounts that a text names.
    fn open_accounts(&mut self, text: &str) {
        let parts = text.split("did:").skip(1);
        for part in parts {
            let end = part.find(|it: char| !it.is_ascii_alphanumeric());
            let name = &part[..end.unwrap_or(part.len())];
            let is_account = name.ends_with(|it: char| it.is_ascii_digit());
            if is_account && !self.accounts.contains_key(name) {
                let handle = format!("{name}.example");
                let account = self.world.pds().account(&handle, "a password");
                self.accounts.insert(name.to_owned(), account);
            }
        }
    }

    fn fill(&self, text: &str) -> String {
        let mut text = text
            .replace("did:nest", &self.repo.did)
            .replace("at:nest", &self.repo.uri)
            .replace("@base", &self.commits[0])
            .replace("@head", &self.commits[1]);
        if text == "did:web" || text.starts_with("did:web#") {
            text = text.replace("did:web", &self.web_did);
        }
        for (name, account) in self.accounts.iter().rev() {
            let is_longer = |rest: &str| rest.starts_with(|it: char| it.is_ascii_digit());
            let name = format!("did:{name}");
            if text.split(&name).skip(1).any(|rest| !is_longer(rest)) {
                text = text.replace(&name, &account.did);
            }
        }
        text
    }

    fn cid_of(&self, uri: &str) -> String {
        let record = self.world.pds().record(uri);
        record.unwrap_or_else(|| panic!("no record {uri}")).0
    }

    /// Fills in CIDs of blobs and of records that are stored already.
    fn fill_cids(&self, tree: &mut Tree, did: &str) {
        let link = tree.field("ref").and_then(|it| it.field("$link"));
        if link.map(Tree::text) == Some("?") {
            let mime = tree.field("mimeType").unwrap().text().to_owned();
            let blob = self.world.pds().blob(did, &mime, &patch());
            let Tree::Object(fields) = tree else {
                return;
            };
            for (key, field) in fields {
                *field = Tree::parse(&blob[key.as_str()].to_string()).unwrap();
            }
            return;
        }
        match tree {
            Tree::Object(fields) => {
                let uri = fields.iter().find(|(key, _)| key == "uri");
                let uri = uri.map(|(_, it)| it.text().to_owned());
                for (key, field) in fields {
                    let is_open = key == "cid" && field.text() == "?";
                    match &uri {
                        Some(uri) if is_open => *field = Tree::Value(self.cid_of(uri).into()),
                        _ => self.fill_cids(field, did),
                    }
                }
            }
            Tree::List(items) => {
                for item in items {
                    self.fill_cids(item, did);
                }
            }
            Tree::Value(_) => {}
        }
    }

    /// Stores the record of an object with its at-uri, and fills in its CIDs.
    fn store(&self, object: &mut Tree) {
        let uri = object.field("uri").unwrap().text().to_owned();
        let parts: Vec<&str> = uri.trim_start_matches("at://").split('/').collect();
        let [did, collection, rkey] = parts[..] else {
            panic!("{uri}");
        };
        let Tree::Object(fields) = &mut *object else {
            panic!("{uri}");
        };
        for (key, field) in fields {
            if key == "value" {
                self.fill_cids(field, did);
                let pds = self.world.pds();
                pds.put(did, collection, rkey, field.to_json());
            }
        }
    }

    /// Stores what the services have to know, the records that others name first. Records that are
    /// given as they are on the PDS are not stored as the index shows them.
    fn store_records(&self, entry: &mut Entry) {
        let mut raw = Vec::new();
        for object in &mut entry.also {
            self.store(object);
            raw.push(object.field("uri").unwrap().text().to_owned());
        }
        let is_raw = |it: &Tree| raw.iter().any(|uri| uri == it.field("uri").unwrap().text());
        if let Tree::Object(fields) = &mut entry.answer {
            for (key, field) in fields {
                let Tree::List(items) = field else {
                    continue;
                };
                if key == "items" || key == "records" {
                    let records = items.iter_mut().filter(|it| it.field("value").is_some());
                    records
                        .filter(|it| !is_raw(it))
                        .for_each(|it| self.store(it));
                }
            }
        }
        if entry.answer.field("value").is_some() {
            self.store(&mut entry.answer);
        }
        if entry.body.is_none() {
            self.fill_cids(&mut entry.answer, "");
        }
    }

    fn caller(&self, entry: &Entry) -> Caller {
        let world = &self.world;
        let host = match entry.service.as_str() {
            "index" => world.index().host(),
            "links" => world.index().backlinks(),
            "knot" => world.knot().host(),
            "directory" => world.directory().host(),
            _ if entry.send.contains(".well-known") => self.web.host(),
            _ => world.pds().host(),
        };
        let caller = Caller::new(&host.url());
        let repo = entry.body.as_ref().and_then(|it| it.field("repo"));
        match repo {
            Some(repo) => caller.sign_in(repo.text(), "a password"),
            None => caller,
        }
    }

    fn send(&self, entry: &Entry) -> Observed {
        let caller = self.caller(entry);
        let (method, path) = entry.send.split_once(' ').unwrap();
        let mut query = entry.query.clone();
        if query.field("cursor").map(Tree::text) == Some("?") {
            let Tree::Object(fields) = &mut query else {
                panic!("no fields");
            };
            fields.retain(|(key, _)| key != "cursor");
            let first = caller.send(
                "GET",
                &target(path, &Tree::Object(fields.clone())),
                &[],
                &[],
            );
            let cursor = first.ok()["cursor"].clone();
            fields.push(("cursor".to_owned(), Tree::Value(cursor)));
        }
        let sent = entry.body.as_ref().map(|it| it.to_json().to_string());
        let kind = [("content-type", "application/json")];
        let bytes = sent.unwrap_or_default().into_bytes();
        let answer = caller.send(method, &target(path, &query), &kind, &bytes);
        let text = String::from_utf8_lossy(&answer.bytes).into_owned();
        Observed {
            method: method.to_owned(),
            path: path.to_owned(),
            query,
            body: entry.body.clone(),
            status: answer.status,
            headers: answer.headers,
            answer: Tree::parse(&text).unwrap_or(Tree::Value(Value::Null)),
        }
    }
}

/// Returns a patch in the form in which rounds have it.
fn patch() -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(b"one twig\n").unwrap();
    encoder.finish().unwrap()
}

fn target(path: &str, query: &Tree) -> String {
    let Tree::Object(fields) = query else {
        panic!("a query has fields");
    };
    let encode = |text: &str| -> String {
        let bytes = text.bytes().map(|byte| format!("%{byte:02X}"));
        bytes.collect()
    };
    let pairs = fields
        .iter()
        .map(|(key, it)| format!("{key}={}", encode(it.text())));
    let pairs: Vec<String> = pairs.collect();
    let path = path.trim_start_matches('/');
    if pairs.is_empty() {
        return path.to_owned();
    }
    format!("{path}?{}", pairs.join("&"))
}

/// Fills in everything that an entry leaves to the servers, and stores its records.
fn prepare(stage: &mut Stage, mut entry: Entry) -> Entry {
    let parts = [&entry.answer, &entry.query]
        .into_iter()
        .chain(entry.body.as_ref())
        .chain(&entry.also);
    let texts: Vec<String> = parts.map(|it| it.to_json().to_string()).collect();
    stage.open_accounts(&texts.join(" "));
    entry.send = stage.fill(&entry.send);
    let fill = |text: &str| -> Value { stage.fill(text).into() };
    entry.answer.change_texts(&fill);
    entry.query.change_texts(&fill);
    entry.also.iter_mut().for_each(|it| it.change_texts(&fill));
    stage.store_records(&mut entry);
    if let Some(body) = &mut entry.body {
        body.change_texts(&fill);
        let json = body.to_json();
        let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        stage.fill_cids(body, &text("repo"));
        if json["swapRecord"] == "?" {
            let uri = format!(
                "at://{}/{}/{}",
                text("repo"),
                text("collection"),
                text("rkey")
            );
            let cid = stage.cid_of(&uri);
            body.change_texts(&|text| json!(if text == "?" { cid.as_str() } else { text }));
        }
    }
    entry
}

#[test]
fn tangled_doubles_answer_as_recorded() {
    let shapes: Shapes = read("tangled.shapes.json");
    let entries: Vec<Entry> = read("tangled.json");
    let mut stage = Stage::new();
    let mut unused: Vec<&String> = shapes.exchanges.keys().collect();
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for entry in entries {
        let key = entry.stands_for.clone();
        unused.retain(|it| **it != key);
        let recorded = shapes.exchanges.get(&key);
        let recorded = recorded.unwrap_or_else(|| panic!("{key} is not recorded"));
        let entry = prepare(&mut stage, entry);
        wrong.extend(
            file_differences(&entry, recorded)
                .into_iter()
                .map(|it| (key.clone(), it)),
        );
        let differences = stage.send(&entry).differences(recorded);
        found.extend(differences.into_iter().map(|what| Difference {
            exchange: format!("tangled {key}"),
            what,
        }));
    }
    assert!(unused.is_empty(), "nothing stands for {unused:#?}");
    assert!(wrong.is_empty(), "our files have other shapes: {wrong:#?}");
    assert_listed("tangled", &found);
}

/// Compares the answer in our file with the recorded shape. CIDs of commits and cursors are left
/// to the servers.
fn file_differences(entry: &Entry, recorded: &crate::shape::Exchange) -> Vec<String> {
    let names = entry.body.as_ref().map(Tree::names).unwrap_or_default();
    let mut answer = entry.answer.clone();
    if let Tree::Object(fields) = &mut answer {
        for (key, field) in fields {
            if key == "commit" || key == "cid" {
                // A write is answered with what the server makes of it.
                let cid = "bafyrei".to_owned() + &"a".repeat(52);
                field.change_texts(&|text| json!(if text == "?" { cid.as_str() } else { text }));
            }
        }
    }
    let mut answer = answer.shape(&names, "");
    if !recorded.is_ordered {
        answer = answer.sorted();
    }
    let mut found = Vec::new();
    compare(&recorded.answer, &answer, "", &mut found);
    found
}
