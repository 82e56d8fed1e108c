//! Random writes while everything around them fails, and what they claim held against the truth:
//! the records of the PDS, what the index took in, and the refs of the repository.

use std::{collections::BTreeMap, time::Duration};

use forge_core::{
    Error, ErrorKind, Ingestion, Outcome, PrId, Precondition, PullRequests, Retry, Reviews,
    model::{
        CloseReq, CreatePull, EditPull, Merge, MergeReq, NewLabel, PrState, PullRequest, Resubmit,
        SetChange,
    },
};
use forge_tangled::{Dialects, Settings, Tangled, not_ingested_in};
use forge_testkit::{
    Random,
    tangled::{Account, Fault, Host, Moods, Trap},
};
use serde_json::Value;

use crate::stage::{PASSWORD, Stage};

const PULL: &str = "sh.tangled.repo.pull";
const STATUS: &str = "sh.tangled.repo.pull.status";
const COMMENT: &str = "sh.tangled.feed.comment";
const LABEL_OP: &str = "sh.tangled.label.op";
const COLLECTIONS: [&str; 4] = [PULL, STATUS, COMMENT, LABEL_OP];

/// So many writes are made in one world.
const BATCH: u64 = 40;

/// How the writes ended.
#[derive(Debug, Default)]
pub struct Tally {
    pub done: u64,
    pub unchanged: u64,
    pub refused: u64,
    pub ambiguous: u64,
    pub killed: u64,
    /// The words of those that were done.
    pub words: BTreeMap<&'static str, u64>,
}

/// Makes so many writes. `FORGE_SEED` repeats one world of them.
///
/// # Panics
/// When a claim is false.
pub async fn hold(writes: u64) -> Tally {
    let mut random = Random::from_env();
    let mut tally = Tally::default();
    if std::env::var_os("FORGE_SEED").is_some() {
        batch(random.seed(), BATCH, &mut tally).await;
        return tally;
    }
    println!("seed {}", random.seed());
    let mut left = writes;
    while left > 0 {
        let count = left.min(BATCH);
        batch(random.bits() >> 1, count, &mut tally).await;
        left -= count;
    }
    tally
}

async fn batch(seed: u64, writes: u64, tally: &mut Tally) {
    let mut world = Writes::new(seed).await;
    for number in 0..writes {
        world.write(number, tally).await;
    }
}

#[derive(Clone, Debug)]
struct Made {
    id: PrId,
    uri: String,
    branch: String,
    author: usize,
}

#[derive(Clone, Debug)]
enum Doing {
    Create(String),
    Comment(Made, String),
    Title(Made, String),
    Label(Made, bool),
    Close(Made),
    Reopen(Made),
    Resubmit(Made),
    Merge(Made),
}

enum Done {
    Pull(Outcome<PullRequest>),
    Comment(Outcome<forge_core::model::Comment>),
    Merge(Outcome<Merge>),
}

struct Writes {
    seed: u64,
    random: Random,
    stage: Stage,
    people: [Account; 3],
    sessions: tempfile::TempDir,
    pulls: Vec<Made>,
    /// The configuration says of the index that it is one of June 2026.
    is_known_old: bool,
}

impl Writes {
    async fn new(seed: u64) -> Self {
        let stage = Stage::new();
        let carol = stage.world.pds().account("carol.test", PASSWORD);
        let label = NewLabel {
            name: "bug".into(),
            ..NewLabel::default()
        };
        let owner = stage.handle(&stage.alice);
        owner.define_label(&label).await.unwrap();
        Self {
            seed,
            random: Random::new(seed),
            people: [stage.alice.clone(), stage.bob.clone(), carol],
            stage,
            sessions: tempfile::tempdir().unwrap(),
            pulls: Vec::new(),
            is_known_old: false,
        }
    }

    fn hosts(&self) -> [&Host; 5] {
        let (world, index) = (&self.stage.world, self.stage.world.index());
        [
            world.directory().host(),
            world.pds().host(),
            world.knot().host(),
            index.host(),
            index.backlinks(),
        ]
    }

    /// The index is as it likes, and what is asked may break.
    fn disturb(&mut self) -> String {
        let index = self.stage.world.index();
        let random = &mut self.random;
        let mut moods = Moods::default();
        self.is_known_old = false;
        let mut told = match random.below(13) {
            0 => {
                moods.lag = Duration::from_millis(30);
                "lag"
            }
            1 => {
                moods.lag = Duration::from_secs(3_600);
                "far behind"
            }
            2 => {
                moods.pulls = false;
                "no pulls"
            }
            3 => {
                moods.statuses = false;
                "no statuses"
            }
            4 => {
                moods.other_cid = true;
                "other cid"
            }
            5 => {
                let lost = *random.pick(&COLLECTIONS);
                index.lose_next(lost, 1);
                "loses one"
            }
            6 => {
                index.host().set_down(true);
                "down"
            }
            7 => {
                index.backlinks().set_down(true);
                index.host().set_down(true);
                "all down"
            }
            8 => {
                index.host().fault(Fault::rate_limited(600).always());
                "429"
            }
            9 => {
                moods.statuses = false;
                self.is_known_old = true;
                "no statuses, and that is known"
            }
            _ => "calm",
        }
        .to_owned();
        moods.drops_unauthorised = random.below(2) == 0;
        index.set_moods(moods);
        let (pds, knot) = (
            self.stage.world.pds().host(),
            self.stage.world.knot().host(),
        );
        for _ in 0..random.below(3) {
            let fault = match random.below(5) {
                0 => Fault::reset(),
                1 => Fault::reset().committed(),
                2 => Fault::gateway(502),
                3 => Fault::gateway(502).committed(),
                _ => Fault::delayed(Duration::from_millis(20)),
            };
            let fault = fault.times(1 + u32::try_from(random.below(3)).unwrap());
            let methods = [
                "com.atproto.repo.applyWrites",
                "com.atproto.repo.putRecord",
                "com.atproto.repo.uploadBlob",
                "com.atproto.repo.getRecord",
                "com.atproto.repo.listRecords",
                "com.atproto.server.refreshSession",
                "sh.tangled.repo.merge",
                "sh.tangled.repo.log",
            ];
            let method = *random.pick(&methods);
            told.push_str(&format!(", {:?} at {method}", fault));
            let host = if method.starts_with("sh.") { knot } else { pds };
            host.fault(fault.on(method));
        }
        told
    }

    fn calm(&self) {
        for host in self.hosts() {
            host.clear_faults();
            host.set_down(false);
            host.set_trap(None);
        }
    }

    fn choose(&mut self, number: u64) -> Doing {
        let branch = format!("b{number}");
        let pulls = self.pulls.len() as u64;
        if pulls == 0 || self.random.below(4) == 0 {
            // Now and then one that may be there already.
            if pulls > 0 && self.random.below(3) == 0 {
                return Doing::Create(self.random.pick(&self.pulls).branch.clone());
            }
            let git = &self.stage.repo.git;
            git.commit(
                &branch,
                &format!("Add {branch}."),
                &[(&branch, Some("x\n"))],
            );
            return Doing::Create(branch);
        }
        let made = self.random.pick(&self.pulls).clone();
        let text = format!("Text {number}");
        match self.random.below(9) {
            0 | 1 => Doing::Comment(made, text),
            2 => Doing::Title(made, text),
            3 => Doing::Label(made, self.random.below(2) == 0),
            4 | 5 => Doing::Close(made),
            6 => Doing::Reopen(made),
            7 => {
                let file = format!("{}-{number}", made.branch);
                let git = &self.stage.repo.git;
                if self.random.below(3) > 0 {
                    git.commit(
                        &made.branch,
                        &format!("More in {number}."),
                        &[(&file, Some("y\n"))],
                    );
                }
                Doing::Resubmit(made)
            }
            _ => Doing::Merge(made),
        }
    }

    fn process(&self, actor: usize) -> Tangled {
        let settings = Settings {
            sessions: Some(self.sessions.path().to_owned()),
            wait: Duration::from_millis(60),
            poll: Duration::from_millis(5),
            not_ingested: match self.is_known_old {
                true => not_ingested_in("2026-06", &Dialects::default()),
                false => Vec::new(),
            },
            ..self.stage.settings()
        };
        self.stage.tangled_with(settings, Some(&self.people[actor]))
    }

    async fn write(&mut self, number: u64, tally: &mut Tally) {
        let actor = usize::try_from(self.random.below(3)).unwrap();
        let doing = self.choose(number);
        let told = self.disturb();
        let trap = match self.random.below(7) {
            0 => Trap::new(1 + self.random.below(25), self.random.below(2) == 0),
            _ => Trap::new(0, false),
        };
        for host in self.hosts() {
            host.set_trap(Some(trap.clone()));
        }
        let before = self.everything();
        let open = self.open_of(actor, &doing);
        let (process, id, what) = (self.process(actor), self.stage.id(), doing.clone());
        let task = tokio::spawn(async move { make(&process, &id, what).await });
        while !trap.has_sprung() && !task.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let killed = trap.has_sprung();
        task.abort();
        let done = task.await;
        self.calm();
        let at = format!(
            "FORGE_SEED={} write {number}: {} does {doing:?}; {told}; killed: {killed}",
            self.seed, self.people[actor].handle
        );
        match done {
            _ if killed => tally.killed += 1,
            Err(e) => panic!("{at}: {e}"),
            Ok(Ok(done)) => {
                self.claims(&at, actor, &doing, &done);
                let (word, unchanged) = match &done {
                    Done::Pull(o) => (o.ingestion.word(), o.unchanged),
                    Done::Comment(o) => (o.ingestion.word(), o.unchanged),
                    Done::Merge(o) => (o.ingestion.word(), o.unchanged),
                };
                tally.done += 1;
                tally.unchanged += u64::from(unchanged);
                *tally.words.entry(word).or_default() += 1;
            }
            Ok(Err(e)) if e.retry() == Retry::Ambiguous => tally.ambiguous += 1,
            Ok(Err(e)) => {
                self.refusal(&at, actor, &doing, &e);
                assert_eq!(
                    self.everything(),
                    before,
                    "{at}: it failed, and has written: {e:?}"
                );
                tally.refused += 1;
            }
        }
        self.learn();
        let now = self.open_of(actor, &doing);
        assert!(now <= open.max(1), "{at}: {now} open ones of one branch");
        let log = self.stage.repo.git.log("main", "%s");
        let landed: Vec<_> = log.lines().collect();
        let once: std::collections::BTreeSet<_> = landed.iter().collect();
        assert_eq!(
            landed.len(),
            once.len(),
            "{at}: something landed twice: {log}"
        );
    }

    /// All records, and where the branch is.
    fn everything(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for account in &self.people {
            for collection in COLLECTIONS {
                for (uri, cid, _) in self.stage.world.pds().records(&account.did, collection) {
                    all.insert(uri, cid);
                }
            }
        }
        all.insert("main".into(), self.stage.repo.git.oid("main").unwrap());
        all
    }

    fn records(&self, collection: &str, pull: &str, key: &str) -> Vec<(String, String, Value)> {
        let pds = self.stage.world.pds();
        let all = self
            .people
            .iter()
            .flat_map(|account| pds.records(&account.did, collection));
        all.filter(|(_, _, value)| value.pointer(key).and_then(Value::as_str) == Some(pull))
            .collect()
    }

    /// The state, by the newest status of those who may set it.
    fn state(&self, made: &Made) -> PrState {
        let [alice, bob, _] = &self.people;
        let may = [&alice.did, &bob.did, &self.people[made.author].did];
        let own = |uri: &String| {
            may.iter()
                .any(|did| uri.starts_with(&format!("at://{did}/")))
        };
        let newest = self
            .records(STATUS, &made.uri, "/pull")
            .into_iter()
            .filter(|(uri, _, _)| own(uri))
            .max_by_key(|(uri, _, value)| {
                let at = value["createdAt"]
                    .as_str()
                    .unwrap()
                    .parse::<chrono::DateTime<chrono::Utc>>();
                (at.unwrap(), uri.clone())
            });
        let word = newest.map(|(_, _, value)| value["status"].as_str().unwrap().to_owned());
        match word.as_deref().and_then(|word| word.rsplit('.').next()) {
            Some("closed") => PrState::Closed,
            Some("merged") => PrState::Merged,
            _ => PrState::Open,
        }
    }

    fn is_labelled(&self, made: &Made) -> bool {
        let [alice, bob, _] = &self.people;
        let own = |uri: &String| {
            [&alice.did, &bob.did]
                .iter()
                .any(|did| uri.starts_with(&format!("at://{did}/")))
        };
        let mut all = self.records(LABEL_OP, &made.uri, "/subject");
        all.retain(|(uri, _, _)| own(uri));
        all.sort_by_key(|(uri, _, value)| {
            let key = uri.rsplit('/').next().unwrap().to_owned();
            (value["performedAt"].as_str().unwrap().to_owned(), key)
        });
        let last = all
            .last()
            .map(|(_, _, value)| value["add"] != serde_json::json!([]));
        last.unwrap_or(false)
    }

    fn times_on_main(&self, branch: &str) -> usize {
        let log = self.stage.repo.git.log("main", "%s");
        log.lines()
            .filter(|line| *line == format!("Add {branch}."))
            .count()
    }

    fn claims(&mut self, at: &str, actor: usize, doing: &Doing, done: &Done) {
        match (doing, done) {
            (Doing::Create(branch), Done::Pull(outcome)) => {
                let made = Made {
                    id: outcome.value.id.clone(),
                    uri: outcome.value.node_id.clone(),
                    branch: branch.clone(),
                    author: actor,
                };
                self.pulls.push(made.clone());
                self.pull(at, &made, &outcome.value);
                let record = self.stage.world.pds().record(&made.uri).unwrap().1;
                assert_eq!(record["source"]["branch"], branch.as_str(), "{at}");
                assert_eq!(
                    outcome.value.head_oid,
                    self.stage.repo.git.oid(branch),
                    "{at}"
                );
                self.seen(
                    at,
                    &outcome.ingestion,
                    &made.uri,
                    Some(&outcome.value.version),
                );
            }
            (Doing::Title(made, text), Done::Pull(outcome)) => {
                self.pull(at, made, &outcome.value);
                assert_eq!(&outcome.value.title, text, "{at}");
                self.seen(
                    at,
                    &outcome.ingestion,
                    &made.uri,
                    Some(&outcome.value.version),
                );
            }
            (Doing::Resubmit(made), Done::Pull(outcome)) => {
                self.pull(at, made, &outcome.value);
                assert_eq!(
                    outcome.value.head_oid,
                    self.stage.repo.git.oid(&made.branch),
                    "{at}"
                );
                if !outcome.unchanged {
                    self.seen(
                        at,
                        &outcome.ingestion,
                        &made.uri,
                        Some(&outcome.value.version),
                    );
                }
            }
            (Doing::Close(made) | Doing::Reopen(made), Done::Pull(outcome)) => {
                self.pull(at, made, &outcome.value);
                let wanted = match doing {
                    Doing::Close(_) => PrState::Closed,
                    _ => PrState::Open,
                };
                assert_eq!(self.state(made), wanted, "{at}");
                if !outcome.unchanged {
                    let written = self.newest(STATUS, made, "/pull", actor);
                    self.seen(at, &outcome.ingestion, &written, None);
                }
            }
            (Doing::Label(made, add), Done::Pull(outcome)) => {
                self.pull(at, made, &outcome.value);
                assert_eq!(self.is_labelled(made), *add, "{at}");
                let written = self.newest(LABEL_OP, made, "/subject", actor);
                self.seen(at, &outcome.ingestion, &written, None);
            }
            (Doing::Comment(made, text), Done::Comment(outcome)) => {
                let (_, record) = self.stage.world.pds().record(&outcome.value.id).unwrap();
                assert_eq!(record["body"]["text"], text.as_str(), "{at}");
                assert_eq!(record["subject"]["uri"], made.uri.as_str(), "{at}");
                self.seen(at, &outcome.ingestion, &outcome.value.id, None);
            }
            (Doing::Merge(made), Done::Merge(outcome)) => {
                assert_eq!(self.times_on_main(&made.branch), 1, "{at}");
                self.pull(at, made, &outcome.value.pull_request);
                let recorded = outcome.steps.iter().all(|step| step.done);
                let state = if recorded {
                    PrState::Merged
                } else {
                    PrState::Open
                };
                assert_eq!(self.state(made), state, "{at}: {outcome:?}");
                if !outcome.value.already_merged {
                    let tip = self.stage.repo.git.oid("main");
                    assert_eq!(outcome.value.commit, tip, "{at}");
                }
                if !recorded {
                    let none = Ingestion::Pending {
                        uri: None,
                        waited: Duration::ZERO,
                    };
                    assert_eq!(outcome.ingestion, none, "{at}");
                } else if !outcome.unchanged {
                    let written = self.newest(STATUS, made, "/pull", actor);
                    self.seen(at, &outcome.ingestion, &written, None);
                }
            }
            _ => panic!("{at}: another answer than was asked for"),
        }
    }

    /// What a pull request that was answered says of itself.
    fn pull(&self, at: &str, made: &Made, value: &PullRequest) {
        let (cid, record) = self.stage.world.pds().record(&made.uri).unwrap();
        assert_eq!(value.version, cid, "{at}");
        assert_eq!(record["title"], value.title.as_str(), "{at}");
        assert_eq!(value.state, self.state(made), "{at}");
        let labelled = value.labels.iter().any(|label| label.name == "bug");
        assert_eq!(labelled, self.is_labelled(made), "{at}");
        assert_eq!(value.author.login, self.people[made.author].handle, "{at}");
    }

    fn newest(&self, collection: &str, made: &Made, key: &str, actor: usize) -> String {
        let did = &self.people[actor].did;
        let mut own: Vec<_> = self
            .records(collection, &made.uri, key)
            .into_iter()
            .map(|(uri, _, _)| uri)
            .filter(|uri| uri.starts_with(&format!("at://{did}/")))
            .collect();
        own.sort();
        own.pop()
            .unwrap_or_else(|| panic!("nothing of {did} in {collection}"))
    }

    /// What was said about who can see it.
    fn seen(&self, at: &str, said: &Ingestion, uri: &str, cid: Option<&str>) {
        let stored = self.stage.world.pds().record(uri);
        let (stored, _) = stored.unwrap_or_else(|| panic!("{at}: {uri} is not there: {said:?}"));
        match said {
            Ingestion::Confirmed { .. } => {
                let known = self.stage.world.index().knows(uri);
                assert_eq!(known.as_deref(), Some(cid.unwrap_or(&stored)), "{at}");
            }
            Ingestion::Pending { uri: named, .. } => {
                assert_eq!(named.as_deref(), Some(uri), "{at}");
            }
            Ingestion::Immediate => assert!(at.contains("Title"), "{at}: {said:?}"),
            Ingestion::PdsOnly { .. } => {
                assert!(self.is_known_old, "{at}: {said:?}");
                assert!(uri.contains(STATUS), "{at}: {said:?}");
                assert_eq!(self.stage.world.index().knows(uri), None, "{at}");
            }
            other => {
                assert_eq!(self.stage.world.index().knows(uri), None, "{at}: {other:?}");
            }
        }
    }

    fn refusal(&self, at: &str, actor: usize, doing: &Doing, error: &Error) {
        let made = match doing {
            Doing::Create(branch) => {
                if let ErrorKind::AlreadyExists { existing } = error.kind() {
                    let open = |made: &Made| self.state(made) == PrState::Open;
                    let named = existing.as_deref().expect("it names the other");
                    let (_, record) = self.stage.world.pds().record(named).unwrap();
                    assert_eq!(record["source"]["branch"], branch.as_str(), "{at}");
                    let known = self.pulls.iter().find(|made| made.uri == named);
                    assert!(known.is_none_or(open), "{at}: {error:?}");
                }
                return;
            }
            Doing::Comment(made, _) | Doing::Title(made, _) | Doing::Label(made, _) => made,
            Doing::Close(made) | Doing::Reopen(made) => made,
            Doing::Resubmit(made) | Doing::Merge(made) => made,
        };
        match error.kind() {
            ErrorKind::PermissionDenied { .. } => {
                let may = match doing {
                    Doing::Title(..) | Doing::Resubmit(..) => actor == made.author,
                    Doing::Close(..) | Doing::Reopen(..) => actor < 2 || actor == made.author,
                    Doing::Label(..) | Doing::Merge(..) => actor < 2,
                    Doing::Comment(..) | Doing::Create(..) => true,
                };
                assert!(!may, "{at}: {error:?}");
            }
            ErrorKind::Precondition(Precondition::Merged) => {
                assert_eq!(self.state(made), PrState::Merged, "{at}: {error:?}");
            }
            ErrorKind::Precondition(Precondition::Closed) => {
                assert_eq!(self.state(made), PrState::Closed, "{at}: {error:?}");
            }
            ErrorKind::NotFound { .. } | ErrorKind::Unauthenticated { .. } => {
                panic!("{at}: {error:?}")
            }
            _ => {}
        }
    }

    /// How many open pull requests somebody has of the branch that they open one of.
    fn open_of(&self, actor: usize, doing: &Doing) -> usize {
        let Doing::Create(branch) = doing else {
            return 0;
        };
        let own = self
            .stage
            .world
            .pds()
            .records(&self.people[actor].did, PULL);
        let own = own.into_iter().filter_map(|(uri, _, value)| {
            let same = value["source"]["branch"] == branch.as_str();
            same.then(|| self.made(uri, branch, actor))
        });
        own.filter(|made| self.state(made) == PrState::Open).count()
    }

    fn made(&self, uri: String, branch: &str, author: usize) -> Made {
        Made {
            id: PrId {
                repo: self.stage.id(),
                key: forge_core::PrKey::Record(uri.clone()),
            },
            uri,
            branch: branch.to_owned(),
            author,
        }
    }

    /// Of a pull request whose maker was killed, or whose answer was lost, nobody has told us.
    fn learn(&mut self) {
        for author in 0..self.people.len() {
            let did = &self.people[author].did;
            for (uri, _, value) in self.stage.world.pds().records(did, PULL) {
                if !self.pulls.iter().any(|known| known.uri == uri) {
                    let branch = value["source"]["branch"].as_str().unwrap().to_owned();
                    let made = self.made(uri, &branch, author);
                    self.pulls.push(made);
                }
            }
        }
    }
}

async fn make(process: &Tangled, repo: &forge_core::RepoId, doing: Doing) -> Result<Done, Error> {
    let edit = |title, labels| EditPull {
        title,
        labels,
        ..EditPull::default()
    };
    match doing {
        Doing::Create(branch) => {
            let req = CreatePull::new(branch.as_str(), branch.as_str());
            process.create(repo, &req).await.map(Done::Pull)
        }
        Doing::Comment(made, text) => process
            .comment(&made.id, &text, None)
            .await
            .map(Done::Comment),
        Doing::Title(made, text) => process
            .edit(&made.id, &edit(Some(text), SetChange::default()))
            .await
            .map(Done::Pull),
        Doing::Label(made, add) => {
            let bug = vec!["bug".to_owned()];
            let labels = match add {
                true => SetChange {
                    add: bug,
                    remove: Vec::new(),
                },
                false => SetChange {
                    add: Vec::new(),
                    remove: bug,
                },
            };
            process
                .edit(&made.id, &edit(None, labels))
                .await
                .map(Done::Pull)
        }
        Doing::Close(made) => process
            .close(&made.id, &CloseReq::default())
            .await
            .map(Done::Pull),
        Doing::Reopen(made) => process.reopen(&made.id, None).await.map(Done::Pull),
        Doing::Resubmit(made) => process
            .resubmit(&made.id, &Resubmit::default())
            .await
            .map(Done::Pull),
        Doing::Merge(made) => process
            .merge(&made.id, &MergeReq::default())
            .await
            .map(Done::Merge),
    }
}
