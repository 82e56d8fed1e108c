//! Doubles of tangled's servers, each of which may lie.

use std::{collections::BTreeSet, io::Read as _, path::PathBuf, sync::Arc};

use flate2::read::MultiGzDecoder;
use forge_tangled_world::{
    Account, DnsDouble, DnsMood, HandleHosts, Host, Page, PdsDouble, PdsOptions, Repository, World,
};
use forge_testkit::{CANARY, Random, Run, git_program};
use serde_json::{Value, json};

use super::{
    client::Claim,
    fields::odd_text,
    ground::Ground,
    lies::{Stock, gzip},
    lines::{Line, Subjects},
    tap::{Listener, Role, Seen, Tap},
};
use crate::plant::Variant;

const PULL: &str = "sh.tangled.repo.pull";
const STATUS: &str = "sh.tangled.repo.pull.status";
const COMMENT: &str = "sh.tangled.feed.comment";
const ISSUE: &str = "sh.tangled.repo.issue";
const ISSUE_STATE: &str = "sh.tangled.repo.issue.state";
/// A pull request or an issue of Tangled 1.0.
const TICKET: &str = "org.tangled.track.ticket";
const TICKET_PATCH: &str = "org.tangled.review.patch";
const TICKET_COMMENT: &str = "org.tangled.feed.comment";
const TIME: &str = "2026-11-01T00:00:00Z";
const PULLS: u64 = 3;
/// A change that follows the end of a patch: `git am` applies it, but a diff does not show it.
const HIDDEN: &str = "--- /dev/null\n+++ b/hidden.sh\n@@ -0,0 +1 @@\n+hidden\n";
/// A handle in the domain that [`HandleHosts`] serves.
const HANDLE: &str = "alice.handles.example";

/// Servers with which clients resolve Alice's handle by her own domain, not by the PDS.
struct Domain {
    dns: DnsDouble,
    hosts: HandleHosts,
}

pub struct KnotStage {
    pub ground: Ground,
    pub tap: Tap,
    // Declared before `world`, so that these hosts are dropped before the world that owns their
    // handlers.
    _backs: Vec<Host>,
    _thief: Listener,
    world: World,
    _strangers: PdsDouble,
    alice: Account,
    repo: Repository,
    /// DID of Mallory's repository.
    other: String,
    /// A clone of a Tangled 1.0 repository, from which a merge pushes. The clone has no canary,
    /// because a person's push may run the clone's programs.
    clone: Option<PathBuf>,
    pulls: Vec<String>,
    issues: Vec<String>,
    domain: Option<Domain>,
    stock: Stock,
    /// Alice's records and the target branch as they were before a command.
    before: Honest,
}

/// State of the honest servers at one time.
#[derive(Clone, Debug, Default)]
struct Honest {
    /// At-uri and value of each record of Alice's account and of the Tangled 1.0 repositories.
    records: Vec<(String, Value)>,
    main: String,
}

impl KnotStage {
    pub fn new(random: &mut Random) -> Self {
        let variant = *random.pick(&Variant::ALL);
        let ground = Ground::new(variant, "https://tangled.org/alice.test/widget");
        let world = World::start().unwrap();
        let password = format!("pass-{CANARY}-word");
        let [alice, mallory] =
            ["alice.test", "mallory.test"].map(|handle| world.pds().account(handle, &password));
        let strangers = world.another_pds(PdsOptions::default()).unwrap();
        let bob = strangers.account("bob.test", "other");
        let is_1_0 = random.below(2) == 0;
        let widget = |owner: &Account| match is_1_0 {
            true => world.repository_1_0(owner, "widget"),
            false => world.repository(owner, "widget"),
        };
        let (repo, other) = (widget(&alice), widget(&mallory));
        world.knot().add_collaborator(&repo, &bob.did);
        // On Tangled 1.0 the tickets themselves carry their labels.
        if !is_1_0 {
            let label = label(&world, &alice);
            let (_, mut record) = world.pds().record(&repo.uri).unwrap();
            record["labels"] = json!([label]);
            world
                .pds()
                .put(&alice.did, "sh.tangled.repo", "widget", record);
        }

        let mut others = vec![
            bob.did.clone(),
            mallory.did.clone(),
            other.did.clone(),
            other.uri.clone(),
        ];
        let mut pulls = Vec::new();
        for n in 1..=PULLS {
            let (pds, author) = match n {
                2 => (world.pds(), &alice),
                _ => (&strangers, &bob),
            };
            let branch = format!("work-{n}");
            let (uri, cid, sha) = match (is_1_0, n == PULLS) {
                (true, hides) => ticket_pull(&world, &repo, author, n, &branch, hides),
                (false, true) => pull(pds, &repo, author, &branch, HIDDEN),
                (false, false) => pull(pds, &repo, author, &branch, ""),
            };
            others.extend([uri.clone(), cid, sha]);
            pulls.push(uri);
        }
        let (evil, _) = patch(&repo, "evil");
        let stolen = match is_1_0 {
            true => ticket_pull(&world, &other, &mallory, 1, "theirs", false),
            false => pull(world.pds(), &other, &mallory, "theirs", ""),
        };
        others.extend([stolen.0, stolen.1, stolen.2]);
        let issue = |n: u64| {
            if is_1_0 {
                return ticket(&world, &repo, &alice, PULLS + n, None).0;
            }
            let title = format!("Issue {n}");
            let issue =
                json!({ "$type": ISSUE, "repo": repo.did, "title": title, "createdAt": TIME });
            world.pds().add(&alice.did, ISSUE, issue).0
        };
        let issues: Vec<String> = [1, 2].map(issue).into();
        others.extend(issues.clone());
        for n in 1..=4 {
            commit(&repo, &format!("fresh-{n}"));
        }

        let mut stage = Self::behind(ground, (world, strangers), alice, repo, pulls, issues);
        let thief = &stage._thief;
        stage.stock = Stock {
            thief: format!("http://localhost:{}", thief.port()),
            thief_authority: format!("localhost:{}", thief.port()),
            others,
            program: stage.ground.program(),
            blobs: vec![gzip(&evil), evil, gzip(b""), gzip(&vec![b'x'; 8 << 20])],
        };
        stage.tap.set_stock(stage.stock.clone());
        stage.other.clone_from(&other.did);
        if random.below(3) == 0 {
            stage.use_domain();
        }
        if is_1_0 {
            stage.use_clone();
        }
        stage
            .tap
            .add_secret("the app password", &password, &[Role::Pds, Role::Handles]);
        stage.log_in(&password);
        stage
    }

    /// Puts a lying server in front of each honest server.
    fn behind(
        ground: Ground,
        (world, strangers): (World, PdsDouble),
        alice: Account,
        repo: Repository,
        pulls: Vec<String>,
        issues: Vec<String>,
    ) -> Self {
        let tap = Tap::default();
        let index = world.index();
        let hosts = [
            (Role::Pds, world.pds().host()),
            (Role::Stranger, strangers.host()),
            (Role::Directory, world.directory().host()),
            (Role::Knot, world.knot().host()),
            (Role::Index, index.host()),
            (Role::Backlinks, index.backlinks()),
            (Role::Web, index.web()),
        ];
        let backs: Vec<Host> = hosts
            .map(|(role, host)| {
                let front = tap.clone();
                let back = host.put_behind(Arc::new(move |stream| front.accept(role, stream)));
                let back = back.unwrap();
                let port = back.authority().split(':').nth(1).unwrap().parse().unwrap();
                let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
                tap.set_back(role, address);
                if role == Role::Pds {
                    tap.set_back(Role::Handles, address);
                }
                back
            })
            .into();
        Self {
            _thief: Listener::start(&tap, Role::Thief),
            ground,
            tap,
            _backs: backs,
            world,
            _strangers: strangers,
            alice,
            repo,
            other: String::new(),
            clone: None,
            pulls,
            issues,
            domain: None,
            stock: Stock::default(),
            before: Honest::default(),
        }
    }

    /// Clones the repository, and makes commands run in the clone.
    fn use_clone(&mut self) {
        let scratch = &self.ground.scratch;
        let path = self.repo.path().display().to_string();
        let url = format!("https://tangled.org/{}/widget", self.alice.handle);
        let set_url = ["-C", "clone", "remote", "set-url"];
        let (fetch, push) = (["origin", &url], ["--push", "origin", &path]);
        for args in [
            vec!["clone", "--quiet", &path, "clone"],
            [&set_url[..], &fetch].concat(),
            [&set_url[..], &push].concat(),
        ] {
            scratch.run(git_program()).args(args).ok();
        }
        self.clone = Some(scratch.path("clone"));
    }

    /// Makes clients resolve Alice's handle by DNS and by HTTPS at the handle's own host.
    fn use_domain(&mut self) {
        self.world.directory().rename(&self.alice.did, Some(HANDLE));
        HANDLE.clone_into(&mut self.alice.handle);
        self.domain = Some(Domain {
            dns: DnsDouble::start().unwrap(),
            hosts: HandleHosts::start().unwrap(),
        });
        self.stop_lies();
    }

    fn stop_lies(&self) {
        if let Some(Domain { dns, hosts }) = &self.domain {
            dns.set_mood(DnsMood::default());
            dns.set(
                &format!("_atproto.{HANDLE}"),
                &[&format!("did={}", self.alice.did)],
            );
            hosts.set(HANDLE, Some(Page::text(self.alice.did.as_str())));
        }
    }

    /// Lies about which account owns the handle.
    fn lie_about_handle(&self, random: &mut Random) {
        let Some(Domain { dns, hosts }) = &self.domain else {
            return;
        };
        let mut did = || -> String {
            match random.below(3) {
                0 => odd_text(random, &self.stock).chars().take(200).collect(),
                _ => random.pick(&self.stock.others).clone(),
            }
        };
        let (first, second, third) = (did(), did(), did());
        let name = format!("_atproto.{HANDLE}");
        match random.below(4) {
            0 => dns.set(&name, &[&format!("did={first}")]),
            1 => dns.set(&name, &[&format!("did={first}"), &format!("did={second}")]),
            2 => dns.set(&name, &[]),
            _ => dns.set_mood(*random.pick(&[
                DnsMood::Truncates,
                DnsMood::Oversized,
                DnsMood::Fails,
                DnsMood::Silent,
                DnsMood::AfterAForgery,
            ])),
        }
        hosts.set(
            HANDLE,
            match random.below(5) {
                0 => None,
                1 => Some(Page::status(500)),
                2 => Some(Page::redirect(&format!("{}/x", self.stock.thief))),
                3 => Some(Page::text(vec![b'x'; 4 << 20])),
                _ => Some(Page::text(third)),
            },
        );
    }

    /// Returns the requests to the name server and to the host of Alice's handle.
    pub fn seen_by_domain(&self) -> Vec<Seen> {
        let Some(Domain { dns, hosts }) = &self.domain else {
            return Vec::new();
        };
        let requests = dns.questions().into_iter().chain(hosts.requests());
        let seen = requests.map(|head| Seen {
            role: Role::Domain,
            origin: HANDLE.to_owned(),
            head,
            body: Vec::new(),
        });
        seen.collect()
    }

    fn log_in(&self, password: &str) {
        let args = ["auth", "login", "--host", "tangled.org", "--account"];
        self.forge()
            .args(args)
            .args([&self.alice.handle, "--with-token"])
            .stdin(password)
            .ok();
    }

    pub fn forge(&self) -> Run {
        let index = self.world.index();
        let run = [
            ("TANGLED_INDEX_URL", index.host().url()),
            ("TANGLED_WEB_URL", index.web().url()),
            ("TANGLED_BACKLINKS_URL", index.backlinks().url()),
            ("TANGLED_PLC_URL", self.world.directory().host().url()),
        ]
        .into_iter()
        .chain(self.resolver())
        .fold(self.ground.forge(), |run, (key, value)| run.env(key, value));
        match &self.clone {
            Some(clone) => run.dir(clone),
            None => run,
        }
    }

    fn resolver(&self) -> Vec<(&'static str, String)> {
        match &self.domain {
            None => vec![("TANGLED_RESOLVER_URL", self.world.pds().host().url())],
            Some(Domain { dns, hosts }) => vec![
                ("TANGLED_DNS_SERVER", dns.address().to_string()),
                ("HTTPS_PROXY", hosts.url()),
                (
                    "FORGE_CA_BUNDLE",
                    HandleHosts::authority().display().to_string(),
                ),
            ],
        }
    }

    pub fn subjects(&self) -> Subjects {
        // The doubles' web pages give tickets no numbers.
        let numbers = (1..=PULLS).filter(|_| self.clone.is_none());
        let numbers = numbers.map(|n| n.to_string());
        Subjects {
            repo: format!("tangled:{}/widget", self.alice.handle),
            pulls: self.pulls.iter().cloned().chain(numbers).collect(),
            issues: self.issues.clone(),
            branches: (1..=4).map(|n| format!("fresh-{n}")).collect(),
        }
    }

    pub fn liars() -> &'static [Role] {
        &[
            Role::Pds,
            Role::Stranger,
            Role::Stranger,
            Role::Pds,
            Role::Handles,
            Role::Directory,
            Role::Directory,
            Role::Knot,
            Role::Knot,
            Role::Knot,
            Role::Index,
            Role::Index,
            Role::Index,
            Role::Backlinks,
            Role::Web,
        ]
    }

    pub fn begin(&mut self, random: &mut Random, liars: &[Role]) {
        self.before = self.honest();
        self.stop_lies();
        if liars.contains(&Role::Handles) {
            self.lie_about_handle(random);
        }
    }

    fn honest(&self) -> Honest {
        let pds = self.world.pds();
        let collections = [
            PULL,
            STATUS,
            COMMENT,
            ISSUE,
            ISSUE_STATE,
            "sh.tangled.label.op",
            "sh.tangled.label.definition",
        ];
        let records = collections
            .into_iter()
            .flat_map(|it| pds.records(&self.alice.did, it));
        let tickets = [&self.repo.did, &self.other].into_iter().flat_map(|did| {
            let knot = self.world.knot();
            [TICKET, TICKET_PATCH, TICKET_COMMENT].map(|it| knot.records(did, it))
        });
        let records = records.chain(tickets.flatten());
        Honest {
            records: records.map(|(uri, _, value)| (uri, value)).collect(),
            main: self.repo.git.oid("main").unwrap_or_default(),
        }
    }

    /// Returns the real diff of a head commit if a lying server serves the diff of a Tangled 1.0
    /// pull request. The merge uses the head commit in the clone, not the served diff.
    pub fn diff_of(&self, head: &str, liars: &[Role]) -> Option<String> {
        self.clone.as_ref().filter(|_| can_decide_content(liars))?;
        let range = format!("{}...{head}", self.before.main);
        let diff = self.repo.git.run(["diff", &range]).output();
        Some(diff.stdout_text())
    }

    /// Returns the files that the last command added to the target branch.
    pub fn merged_files(&self) -> BTreeSet<String> {
        let now = self.repo.git.oid("main").unwrap_or_default();
        if now == self.before.main {
            return BTreeSet::new();
        }
        let range = format!("{}..{now}", self.before.main);
        let names = self.repo.git.run(["diff", "--name-only", &range]).text();
        names.lines().map(str::to_owned).collect()
    }

    /// Returns the lines that the last command added to the target branch.
    pub fn merged_lines(&self) -> BTreeSet<String> {
        let now = self.repo.git.oid("main").unwrap_or_default();
        if now == self.before.main {
            return BTreeSet::new();
        }
        let range = format!("{}..{now}", self.before.main);
        let diff = self.repo.git.run(["diff", &range]).text();
        let added = diff.lines().filter(|line| !line.starts_with("+++ "));
        let added = added.filter_map(|line| line.strip_prefix('+'));
        added.map(str::to_owned).collect()
    }

    /// Fails if a tool call merged a file or a line that is in no patch that a question named.
    pub fn check_call(&mut self, claim: &Claim) -> Result<(), String> {
        let mut named = Vec::new();
        for head in &claim.heads {
            for did in self.stock.others.iter().chain([&self.alice.did]) {
                for pds in [self.world.pds(), &self._strangers] {
                    let blob = pds.blob_bytes(did, head).unwrap_or_default();
                    // Merging a patch that cannot be unpacked adds no line.
                    let _ = MultiGzDecoder::new(&*blob).read_to_end(&mut named);
                }
            }
        }
        let named = String::from_utf8_lossy(&named);
        let (files, lines) = (self.merged_files(), self.merged_lines());
        let mut merged = files.iter().chain(&lines);
        let unseen = merged.find(|text| !named.contains(text.as_str()));
        self.before = self.honest();
        match unseen {
            Some(text) => Err(format!(
                "{text} is merged, and the question named another patch"
            )),
            None => Ok(()),
        }
    }

    /// Compares what a command printed with the state of the honest servers.
    pub fn check(
        &self,
        line: &Line,
        liars: &[Role],
        succeeded: bool,
        said: &str,
    ) -> Result<(), String> {
        let now = self.honest();
        let fresh: Vec<&(String, Value)> = now
            .records
            .iter()
            .filter(|it| !self.before.records.contains(it))
            .collect();
        let moved = now.main != self.before.main;
        if !line.writes {
            return match (fresh.first(), moved) {
                (None, false) => Ok(()),
                (it, _) => Err(format!(
                    "a command that reads has written: {it:?}, main moved: {moved}"
                )),
            };
        }
        if can_decide_content(liars) || !succeeded || said.contains("already") {
            return Ok(());
        }
        let names = |uri: &str, value: &Value| {
            uri.contains(&self.repo.did)
                || value.to_string().contains(&self.repo.did)
                || self.is_of_repo(&now, value)
        };
        if let Some((uri, value)) = fresh.iter().find(|(uri, value)| !names(uri, value)) {
            return Err(format!(
                "a record about another repository was written: {uri} {value}"
            ));
        }
        let wrote = |collection: &str| {
            fresh
                .iter()
                .any(|(uri, _)| uri.contains(&format!("/{collection}/")))
        };
        let [comment, pull, status, issue, issue_state] = match &self.clone {
            Some(_) => [TICKET_COMMENT, TICKET, TICKET, TICKET, TICKET],
            None => [COMMENT, PULL, STATUS, ISSUE, ISSUE_STATE],
        };
        let claims = [
            ("pr", "comment", comment),
            ("pr", "create", pull),
            ("pr", "close", status),
            ("pr", "reopen", status),
            ("issue", "create", issue),
            ("issue", "comment", comment),
            ("issue", "close", issue_state),
        ];
        for (group, command, collection) in claims {
            if line.is(group, command) && !wrote(collection) {
                return Err(format!(
                    "it says that it wrote, and there is no new {collection}"
                ));
            }
        }
        if line.is("pr", "merge") && !moved {
            return Err("it says that it merged, and main has not moved".to_owned());
        }
        Ok(())
    }

    /// Returns true if a record belongs to a pull request or an issue of the repository.
    fn is_of_repo(&self, now: &Honest, value: &Value) -> bool {
        let text = value.to_string();
        let own = now
            .records
            .iter()
            .filter(|(_, it)| it.to_string().contains(&self.repo.did));
        let mut known = self
            .pulls
            .iter()
            .chain(&self.issues)
            .cloned()
            .chain(own.map(|(uri, _)| uri.clone()));
        known.any(|uri| text.contains(&uri))
            || value["$type"] == "sh.tangled.label.definition"
            || text.contains("label.definition")
    }
}

/// Returns true if a lying server stores the records, and thus decides what they contain.
fn can_decide_content(liars: &[Role]) -> bool {
    [Role::Pds, Role::Knot, Role::Directory, Role::Handles]
        .iter()
        .any(|it| liars.contains(it))
}

fn label(world: &World, alice: &Account) -> String {
    let definition = json!({
        "$type": "sh.tangled.label.definition", "name": "bug",
        "valueType": { "type": "null", "format": "any" },
        "scope": [PULL, ISSUE], "multiple": false, "createdAt": TIME,
    });
    world
        .pds()
        .put(&alice.did, "sh.tangled.label.definition", "bug", definition)
        .0
}

fn commit(repo: &Repository, branch: &str) -> String {
    let (file, message) = (format!("{branch}.txt"), format!("Add {branch}"));
    repo.git.commit(branch, &message, &[(&file, Some("one\n"))])
}

/// Returns the commits of a branch in the format of `git format-patch`, and the branch's head
/// commit.
fn patch(repo: &Repository, branch: &str) -> (Vec<u8>, String) {
    let sha = commit(repo, branch);
    let range = format!("main..{branch}");
    let text = repo.git.run(["format-patch", "--stdout", &range]).text();
    (text.into_bytes(), sha)
}

/// Adds a pull request with `hidden` appended to its patch. Returns its at-uri, CID and commit.
fn pull(
    pds: &PdsDouble,
    repo: &Repository,
    author: &Account,
    branch: &str,
    hidden: &str,
) -> (String, String, String) {
    let (mut patch, sha) = patch(repo, branch);
    patch.extend(hidden.as_bytes());
    let blob = pds.blob(&author.did, "application/gzip", &gzip(&patch));
    let record = json!({
        "$type": PULL, "title": "Some work", "body": "Text.",
        "target": { "repo": repo.did, "branch": "main" },
        "source": { "branch": branch },
        "rounds": [{ "createdAt": TIME, "patchBlob": blob }],
        "createdAt": TIME,
    });
    let (uri, cid) = pds.add(&author.did, PULL, record);
    let comment = json!({
        "$type": COMMENT, "subject": { "uri": uri, "cid": cid }, "createdAt": TIME,
        "body": { "$type": "sh.tangled.markup.markdown", "text": "A comment." },
    });
    pds.add(&author.did, COMMENT, comment);
    (uri, cid, sha)
}

/// Adds a ticket of Tangled 1.0 with a comment. With a target branch, the ticket is a pull request.
/// Returns its at-uri and its CID.
fn ticket(
    world: &World,
    repo: &Repository,
    author: &Account,
    n: u64,
    target: Option<&str>,
) -> (String, String) {
    let mut record = json!({
        "title": { "$type": "org.tangled.markup.markdown#inline", "text": format!("Ticket {n}") },
        "body": { "$type": "org.tangled.markup.markdown", "text": "Text." },
        "state": "open", "tangledLabels": [{ "key": "bug" }],
        "createdAt": TIME, "x-tngl-editor": author.did,
    });
    if let Some(target) = target {
        record["targetBranch"] = json!(target);
    }
    let (knot, rkey) = (world.knot(), ticket_key(n));
    let (uri, cid) = knot.put_record(&repo.did, TICKET, &rkey, record);
    let comment = json!({
        "subject": { "$type": "com.atproto.repo.strongRef", "uri": uri, "cid": cid },
        "body": { "$type": "org.tangled.markup.markdown", "text": "A comment." },
        "createdAt": TIME, "x-tngl-editor": author.did,
    });
    knot.put_record(&repo.did, TICKET_COMMENT, &rkey, comment);
    (uri, cid)
}

/// Returns a record key that is a TID, for a number from 1 to 5.
fn ticket_key(n: u64) -> String {
    format!("3mkuuamwfj3{}2", n + 1)
}

/// Adds a pull request of Tangled 1.0 with one round. A hidden commit is an ancestor of the round's
/// base that the target branch lacks. Returns its at-uri, CID and commit.
fn ticket_pull(
    world: &World,
    repo: &Repository,
    author: &Account,
    n: u64,
    branch: &str,
    hides: bool,
) -> (String, String, String) {
    let base = match hides {
        true => {
            let file = ("hidden.sh", Some("hidden\n"));
            repo.git.commit(branch, "Hidden", &[file])
        }
        false => repo.git.oid("main").unwrap(),
    };
    let sha = commit(repo, branch);
    let (uri, cid) = ticket(world, repo, author, n, Some("main"));
    let patch = json!({
        "ticket": ticket_key(n), "base": { "oid": base }, "head": { "oid": sha },
        "source": { "repo": repo.did, "branch": branch },
        "createdAt": TIME, "x-tngl-editor": author.did,
    });
    let knot = world.knot();
    knot.put_record(&repo.did, TICKET_PATCH, &sha, patch);
    (uri, cid, sha)
}
