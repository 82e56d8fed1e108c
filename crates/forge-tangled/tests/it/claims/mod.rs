//! Random writes while everything around them fails. Their reported results are compared with the
//! actual state: the records of PDS, knot and index, and the refs of the repositories.

mod issues;
mod moods;
mod pulls;
mod tickets;
mod truth;

use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::Duration,
};

use forge_core::{
    Error, Ingestion, Labels as _, Outcome, PullRequests as _, RepoId, RepoPath, Retry,
    model::{Comment, Issue, Merge, NewLabel, PrFields, PullRequest},
};
use forge_tangled::{Dialects, IngestedCollections, Tangled, TangledSettings};
use forge_tangled_world::{Account, Host, Repository, Trap};
use forge_testkit::Random;

use self::moods::Mood;
use crate::stage::{PASSWORD, Stage};

/// Unoptimised code needs more stack for a write than a test thread's 2 MiB.
const STACK: usize = 16 << 20;
/// Number of writes in a world.
const BATCH: u64 = 40;
/// Time that a write waits for the index.
const WAIT: Duration = Duration::from_millis(60);
/// Maximum time that a write waits for an index that will certainly show its record.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time that a write waits for an index that will drop its record. Another record is ingested
/// first.
const UNTIL_DROPPED: Duration = Duration::from_millis(150);

/// Time in which an index answers at least once.
const UNTIL_ANSWERED: Duration = Duration::from_millis(500);

const WORDS: [&str; 5] = [
    "immediate",
    "confirmed",
    "pending",
    "pds_only",
    "ineffective",
];

/// The first writes of a world: mood, writer and kind. They run without random faults, so that each
/// ingestion state occurs. All of them are about the pull request that the first write opens.
const PLAN: [(Mood, usize, Kind); 6] = [
    (Mood::Calm, 0, Kind::Create),
    (Mood::FarBehind, 1, Kind::Comment),
    (Mood::KnownOld, 0, Kind::Close),
    (Mood::RightLost, 1, Kind::Reopen),
    (Mood::Calm, 0, Kind::Ticket),
    (Mood::PlaceTaken, 0, Kind::Create),
];

/// Kinds of writes. After the plan, a world executes all kinds in random order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Create,
    Patch,
    Edits,
    Comment,
    CommentDeletion,
    Title,
    Label,
    Assign,
    Close,
    Reopen,
    Resubmit,
    Merge,
    Issue,
    IssueComment,
    IssueTitle,
    IssueState,
    Ticket,
    TicketComment,
    TicketTitle,
    TicketLabel,
    TicketState,
    TicketRound,
    TicketMerge,
    TicketIssue,
    TicketIssueState,
}

/// Frequent kinds are listed twice. The list cannot be longer, because a world must reach every
/// kind, and the mood chooses the kind of up to six writes.
const KINDS: [Kind; 28] = [
    Kind::Create,
    Kind::Create,
    Kind::Patch,
    Kind::Edits,
    Kind::Comment,
    Kind::CommentDeletion,
    Kind::Title,
    Kind::Label,
    Kind::Assign,
    Kind::Close,
    Kind::Reopen,
    Kind::Resubmit,
    Kind::Merge,
    Kind::Merge,
    Kind::Issue,
    Kind::IssueComment,
    Kind::IssueTitle,
    Kind::IssueState,
    Kind::IssueState,
    Kind::Ticket,
    Kind::TicketComment,
    Kind::TicketTitle,
    Kind::TicketLabel,
    Kind::TicketState,
    Kind::TicketRound,
    Kind::TicketMerge,
    Kind::TicketIssue,
    Kind::TicketIssueState,
];

/// Kinds of writes that need push access.
const NEED_RIGHT: [Kind; 6] = [
    Kind::Close,
    Kind::Reopen,
    Kind::Label,
    Kind::Assign,
    Kind::IssueState,
    Kind::Merge,
];

/// Counts of the results of the writes.
#[derive(Debug, Default)]
pub struct Tally {
    pub done: u64,
    pub unchanged: u64,
    pub refused: u64,
    pub ambiguous: u64,
    pub killed: u64,
    /// The number of killed and ambiguous writes whose command was repeated.
    pub again: u64,
    /// The ingestion states of the commands that wrote.
    pub words: BTreeMap<&'static str, u64>,
}

/// Makes `writes` random writes. `FORGE_SEED` repeats one world.
///
/// # Panics
///
/// Panics if a reported result is false, or if a world does not produce all five ingestion states.
pub fn hold(writes: u64) -> Tally {
    let in_it = move || {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(2).thread_stack_size(STACK);
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(all(writes))
    };
    let thread = thread::Builder::new().stack_size(STACK).spawn(in_it);
    match thread.unwrap().join() {
        Ok(tally) => tally,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

async fn all(writes: u64) -> Tally {
    let mut random = Random::from_env();
    println!("seed {}", random.seed());
    let mut tally = Tally::default();
    if std::env::var_os("FORGE_SEED").is_some() {
        batch(random.seed(), BATCH, &mut tally).await;
        return tally;
    }
    let mut left = writes;
    while left > 0 {
        let count = left.min(BATCH);
        batch(random.bits() >> 1, count, &mut tally).await;
        left -= count;
    }
    tally
}

async fn batch(seed: u64, writes: u64, tally: &mut Tally) {
    println!("world {seed}, {writes} writes");
    let mut world = Writes::new(seed).await;
    for number in 0..writes {
        world.write(number, tally).await;
    }
    if writes >= PLAN.len() as u64 {
        for word in WORDS {
            let drawn = world.words.contains(word);
            assert!(
                drawn,
                "FORGE_SEED={seed}: no write was {word}: {:?}",
                world.words
            );
        }
    }
    if writes == BATCH {
        for kind in KINDS {
            let drawn = world.kinds.contains(&kind);
            assert!(drawn, "FORGE_SEED={seed}: {kind:?} was not drawn");
        }
    }
}

#[derive(Clone, Debug)]
enum Doing {
    Pull(pulls::Doing),
    Issue(issues::Doing),
    Ticket(tickets::Doing),
}

impl Doing {
    /// Returns true if repeating the command neither repeats a comment nor opens anything new.
    fn is_repeatable(&self) -> bool {
        match self {
            Self::Pull(doing) => !matches!(doing, pulls::Doing::Comment(..)),
            Self::Issue(doing) => {
                use issues::Doing::{Comment, Open};
                !matches!(doing, Comment(..) | Open { .. })
            }
            Self::Ticket(doing) => {
                use tickets::Doing::{Comment, Issue};
                !matches!(doing, Comment(..) | Issue { .. })
            }
        }
    }
}

enum Done {
    Pull(Outcome<PullRequest>),
    Issue(Outcome<Issue>),
    Comment(Outcome<Comment>),
    Deletion(Outcome<()>),
    Merge(Outcome<Merge>),
}

impl Done {
    fn told(&self) -> (&Ingestion, bool) {
        match self {
            Self::Pull(o) => (&o.ingestion, o.unchanged),
            Self::Issue(o) => (&o.ingestion, o.unchanged),
            Self::Comment(o) => (&o.ingestion, o.unchanged),
            Self::Deletion(o) => (&o.ingestion, o.unchanged),
            Self::Merge(o) => (&o.ingestion, o.unchanged),
        }
    }
}

/// How a command ended.
enum End {
    Killed,
    Done(Box<Done>),
    Failed(Error),
}

struct Writes {
    seed: u64,
    random: Random,
    stage: Stage,
    /// The repository of Tangled 1.0, followed by a clone that pushes to it.
    org: Repository,
    clone: tempfile::TempDir,
    people: [Account; 3],
    sessions: tempfile::TempDir,
    pulls: Vec<pulls::Made>,
    issues: Vec<issues::Made>,
    /// The at-uri of the label's definition.
    bug: String,
    /// The order of moods and kinds after the plan, and the index of the next kind.
    moods: Vec<Mood>,
    order: Vec<Kind>,
    next: usize,
    is_planned: bool,
    /// True if the configuration declares the index to be a version of June 2026.
    is_known_old: bool,
    /// True after Bob has lost push access.
    is_lost: bool,
    /// The writing account, and the index's records before the command.
    viewer: usize,
    indexed_before: BTreeSet<String>,
    words: BTreeSet<&'static str>,
    kinds: BTreeSet<Kind>,
}

impl Writes {
    async fn new(seed: u64) -> Self {
        let stage = Stage::new();
        let carol = stage.world.pds().account("carol.test", PASSWORD);
        let label = NewLabel::new("bug");
        let owner = stage.tangled(&stage.alice);
        let bug = owner.define_label(stage.repo_id(), &label).await.unwrap();
        let org = stage.world.repository_1_0(&stage.alice, "new");
        stage.world.knot().add_collaborator(&org, &stage.bob.did);
        let mut random = Random::new(seed);
        let mut world = Self {
            seed,
            moods: shuffled(&mut random, &moods::ALL),
            order: shuffled(&mut random, &KINDS),
            random,
            people: [stage.alice.clone(), stage.bob.clone(), carol],
            stage,
            clone: tickets::clone(&org),
            org,
            sessions: tempfile::tempdir().unwrap(),
            pulls: Vec::new(),
            issues: Vec::new(),
            bug: bug.value.id,
            next: 0,
            is_planned: false,
            is_known_old: false,
            is_lost: false,
            viewer: 0,
            indexed_before: BTreeSet::new(),
            words: BTreeSet::new(),
            kinds: BTreeSet::new(),
        };
        world.found().await;
        world
    }

    /// Creates an object of each kind, so that every write has a subject.
    async fn found(&mut self) {
        self.label_a_ticket();
        let first = pulls::New::branch("first");
        pulls::commit(&self.stage.repo, "first");
        pulls::commit(&self.org, "first");
        let issue = |title: &str| issues::Doing::Open {
            title: title.to_owned(),
            is_marked: false,
        };
        let ticket = tickets::Doing::Open {
            branch: "first".to_owned(),
            is_labelled: false,
        };
        let of_org = tickets::Doing::Issue {
            title: "First".to_owned(),
        };
        for doing in [
            Doing::Pull(pulls::Doing::Create(first)),
            Doing::Issue(issue("First")),
            Doing::Ticket(ticket),
            Doing::Ticket(of_org),
        ] {
            let process = self.process(0, Duration::ZERO);
            let made = make(&process, &self.places(), doing).await;
            assert!(made.is_ok(), "{:?}", made.err());
        }
        self.learn();
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

    /// Returns the ids of the repository of 2026 and of the repository of 1.0.
    fn places(&self) -> [RepoId; 2] {
        let org = RepoId {
            path: RepoPath::Did(self.org.did.clone()),
            ..self.stage.id()
        };
        [self.stage.id(), org]
    }

    fn process(&self, actor: usize, wait: Duration) -> Tangled {
        let settings = TangledSettings {
            sessions: Some(self.sessions.path().to_owned()),
            wait,
            poll: Duration::from_millis(5),
            ingested: match self.is_known_old {
                true => IngestedCollections::at("2026-06", &Dialects::default()),
                false => IngestedCollections::default(),
            },
            ..self.stage.settings()
        };
        self.stage.tangled_with(settings, Some(&self.people[actor]))
    }

    /// Chooses the mood, the writer, and the kind of the write.
    fn draw(&mut self, number: u64) -> (Mood, usize, Kind) {
        let number = usize::try_from(number).unwrap();
        self.is_planned = number < PLAN.len();
        if self.is_planned {
            return PLAN[number];
        }
        let mood = self.moods[(number - PLAN.len()) % self.moods.len()];
        let actor = usize::try_from(self.random.below(3)).unwrap();
        match mood {
            Mood::RightLost => (mood, 1, *self.random.pick(&NEED_RIGHT)),
            Mood::PlaceTaken => (mood, actor, Kind::Create),
            _ => {
                let kind = self.order[self.next % self.order.len()];
                self.next += 1;
                // Merging needs a clone with push access.
                let actor = if kind == Kind::TicketMerge {
                    actor % 2
                } else {
                    actor
                };
                (mood, actor, kind)
            }
        }
    }

    async fn choose(&mut self, number: u64, mood: Mood, actor: usize, kind: Kind) -> Doing {
        if mood == Mood::PlaceTaken {
            return self.on_occupied_parent(number).await;
        }
        match kind {
            Kind::CommentDeletion => Doing::Pull(self.comment_to_delete(number, actor).await),
            Kind::Issue | Kind::IssueComment | Kind::IssueTitle | Kind::IssueState => {
                Doing::Issue(self.choose_of_issues(number, kind))
            }
            Kind::Ticket
            | Kind::TicketComment
            | Kind::TicketTitle
            | Kind::TicketLabel
            | Kind::TicketState
            | Kind::TicketRound
            | Kind::TicketMerge
            | Kind::TicketIssue
            | Kind::TicketIssueState => Doing::Ticket(self.choose_of_tickets(number, kind)),
            _ => Doing::Pull(self.choose_of_pulls(number, kind)),
        }
    }

    /// Picks the subject of a write; during the plan, the last object.
    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        match all.last() {
            Some(last) if self.is_planned => last.clone(),
            _ => self.random.pick(all).clone(),
        }
    }

    async fn write(&mut self, number: u64, tally: &mut Tally) {
        let (mood, actor, kind) = self.draw(number);
        let doing = self.choose(number, mood, actor, kind).await;
        self.kinds.insert(kind);
        self.is_known_old = mood == Mood::KnownOld;
        let wait = match mood {
            Mood::PlaceTaken => UNTIL_DROPPED,
            // The verdict needs an answer of the index, also on a busy machine.
            Mood::RightLost if self.is_planned => UNTIL_ANSWERED,
            Mood::Calm if self.is_planned => PATIENCE,
            _ => WAIT,
        };
        let process = self.process(actor, wait);
        if mood == Mood::RightLost {
            // The process reads the collaborators before Bob loses push access.
            let first = &self.pulls[0].id;
            process.view(first, PrFields::NONE).await.unwrap();
            self.set_right(false);
        }
        let before = self.everything();
        (self.viewer, self.indexed_before) = (actor, self.indexed());
        let open = self.open_of(actor, &doing);
        let mut told = self.disturb(mood, &doing);
        let trap = match self.random.below(7) {
            0 if !self.is_planned => {
                Trap::new(1 + self.random.below(25), self.random.below(2) == 0)
            }
            _ => Trap::new(0, false),
        };
        let end = self.run(mood, process, &doing, &trap).await;
        self.calm();
        let killed = matches!(end, End::Killed);
        told.push_str(&format!("; killed: {killed}"));
        let at = format!(
            "FORGE_SEED={} write {number}: {} does {doing:?}; {told}",
            self.seed, self.people[actor].handle
        );
        let mut is_open = false;
        match end {
            End::Killed => {
                tally.killed += 1;
                is_open = true;
            }
            End::Done(done) => {
                self.claims(&at, actor, &doing, &done);
                let (ingestion, unchanged) = done.told();
                tally.done += 1;
                tally.unchanged += u64::from(unchanged);
                if !unchanged {
                    self.words.insert(ingestion.word());
                    *tally.words.entry(ingestion.word()).or_default() += 1;
                }
            }
            End::Failed(e) if e.retry() == Retry::Ambiguous => {
                self.new_ones_are_named(&at, &before, &e);
                tally.ambiguous += 1;
                is_open = true;
            }
            End::Failed(e) => {
                self.refusal(&at, actor, &doing, &e);
                let now = self.everything();
                assert_eq!(now, before, "{at}: it failed, and has written: {e:?}");
                tally.refused += 1;
            }
        }
        self.set_right(true);
        self.learn();
        self.nothing_is_there_twice(&at, actor, &doing, open);
        if is_open && doing.is_repeatable() {
            tally.again += 1;
            let at = format!("{at}; again");
            self.again(&at, actor, &doing, open).await;
            self.is_written_once(&at, &before);
        }
    }

    /// Runs a command until it ends or reaches the trap.
    async fn run(&self, mood: Mood, process: Tangled, doing: &Doing, trap: &Trap) -> End {
        const APPLY: &str = "com.atproto.repo.applyWrites";
        for host in self.hosts() {
            host.set_trap(Some(trap.clone()));
        }
        let pds = self.stage.world.pds().host();
        let written = pds.count_of(APPLY);
        let mut is_behind = mood == Mood::PlaceTaken;
        let (places, what) = (self.places(), doing.clone());
        let task = tokio::spawn(async move { make(&process, &places, what).await });
        while !trap.has_sprung() && !task.is_finished() {
            if is_behind && pds.count_of(APPLY) > written {
                self.catch_up();
                is_behind = false;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let killed = trap.has_sprung();
        task.abort();
        let done = task.await;
        if killed {
            return End::Killed;
        }
        match done {
            Ok(Ok(done)) => End::Done(Box::new(done)),
            Ok(Err(e)) => End::Failed(e),
            Err(e) => panic!("FORGE_SEED={}: {doing:?}: {e}", self.seed),
        }
    }

    /// Repeats the command in another process without faults. The command either finishes the work
    /// or reports the existing object, so the object then exists exactly once.
    async fn again(&mut self, at: &str, actor: usize, doing: &Doing, open: usize) {
        let before = self.everything();
        let process = self.process(actor, Duration::ZERO);
        match make(&process, &self.places(), doing.clone()).await {
            Ok(done) => self.claims(at, actor, doing, &done),
            Err(e) => {
                assert_ne!(e.retry(), Retry::Ambiguous, "{at}: {e:?}");
                self.refusal(at, actor, doing, &e);
                let now = self.everything();
                assert_eq!(now, before, "{at}: it failed, and has written: {e:?}");
            }
        }
        self.learn();
        self.nothing_is_there_twice(at, actor, doing, open);
    }

    fn claims(&mut self, at: &str, actor: usize, doing: &Doing, done: &Done) {
        match doing {
            Doing::Pull(doing) => self.claims_of_pulls(at, actor, doing, done),
            Doing::Issue(doing) => self.claims_of_issues(at, actor, doing, done),
            Doing::Ticket(doing) => self.claims_of_tickets(at, doing, done),
        }
    }

    fn refusal(&self, at: &str, actor: usize, doing: &Doing, error: &Error) {
        match doing {
            Doing::Pull(doing) => self.refusal_of_pulls(at, actor, doing, error),
            Doing::Issue(doing) => self.refusal_of_issues(at, actor, doing, error),
            Doing::Ticket(doing) => self.refusal_of_tickets(at, actor, doing, error),
        }
    }

    /// Counts the account's open objects that the command must not open twice.
    fn open_of(&self, actor: usize, doing: &Doing) -> usize {
        match doing {
            Doing::Pull(pulls::Doing::Create(new)) => self.open_pulls(actor, new).len(),
            Doing::Ticket(tickets::Doing::Open { branch, .. }) => self.open_tickets(branch).len(),
            _ => 0,
        }
    }

    fn nothing_is_there_twice(&self, at: &str, actor: usize, doing: &Doing, open: usize) {
        let now = self.open_of(actor, doing);
        assert!(now <= open.max(1), "{at}: {now} open ones of one change");
        let times = match doing {
            Doing::Pull(pulls::Doing::Comment(_, text))
            | Doing::Issue(issues::Doing::Comment(_, text)) => self.said(text),
            Doing::Issue(issues::Doing::Open { title, .. }) => self.issues_titled(title).len(),
            Doing::Ticket(tickets::Doing::Comment(_, text)) => self.said_in_org(text).len(),
            Doing::Ticket(tickets::Doing::Issue { title }) => self.tickets_titled(title).len(),
            Doing::Ticket(tickets::Doing::Round(ticket)) => self.rounds_of_tip(ticket),
            _ => 0,
        };
        assert!(times <= 1, "{at}: it is there {times} times");
        for repo in [&self.stage.repo, &self.org] {
            let log = repo.git.log("main", "%s");
            let landed: Vec<_> = log.lines().collect();
            let once: BTreeSet<_> = landed.iter().collect();
            let (all, once) = (landed.len(), once.len());
            assert_eq!(all, once, "{at}: something landed twice: {log}");
        }
    }

    /// Collects the objects of killed commands, and of commands whose answer was lost.
    fn learn(&mut self) {
        self.learn_pulls();
        self.learn_issues();
    }
}

fn shuffled<T: Copy>(random: &mut Random, all: &[T]) -> Vec<T> {
    let mut all = all.to_vec();
    for last in (1..all.len()).rev() {
        let other = usize::try_from(random.below(last as u64 + 1)).unwrap();
        all.swap(last, other);
    }
    all
}

async fn make(process: &Tangled, places: &[RepoId; 2], doing: Doing) -> Result<Done, Error> {
    let [sh, org] = places;
    match doing {
        Doing::Pull(doing) => pulls::make(process, sh, doing).await,
        Doing::Issue(doing) => issues::make(process, sh, doing).await,
        Doing::Ticket(doing) => tickets::make(process, org, doing).await,
    }
}
