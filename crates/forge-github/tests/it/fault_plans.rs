//! Random faults on writes, checked against the double's state: at most one object is created, the
//! reported result is true, and the number of requests is limited.
//!
//! Plans run in batches of [`BATCH`], and each batch has its own double. The seed of a batch
//! determines its plans. A failure prints the seed: with `FORGE_FAULT_SEED` only that batch runs,
//! from an empty double to the failed plan. Otherwise `FORGE_FAULT_PLANS` sets how many plans run.

use std::time::Duration;

use fastrand::Rng;
use forge_core::{
    Error, PrId, Retry,
    model::{CreatePull, EditPull, MergeReq, NewReview, NewThread, Reviewer, SetChange, Verdict},
};
use forge_github_double::{
    Action, Fault, PullSeed,
    state::{Pull, PullState},
};
use forge_testkit::CANARY;

use crate::double::World;

const REPO: &str = "octo/tools";
/// The maximum number of requests for one write: the write, retried reads, waits for rate limits,
/// and the read-back.
const MAX_REQUESTS: usize = 24;

fn fault(rng: &mut Rng, on_mutation: bool) -> (Fault, bool) {
    let committed = on_mutation && rng.u8(0..10) < 7;
    let fault = match rng.u8(0..8) {
        0..=2 => Fault::status(*rng.choice(&[502, 503, 504]).unwrap()),
        3 | 4 => Fault::new(Action::Reset),
        5 => Fault::new(Action::Truncate(rng.usize(0..40))),
        6 => Fault::new(Action::Malformed),
        _ if committed => Fault::status(500),
        _ => Fault::rate_limited(rng.choice(&["RATE_LIMITED", "RATE_LIMIT"]).unwrap()),
    };
    let fault = if committed { fault.committed() } else { fault };
    let fault = if on_mutation {
        fault.on_mutations()
    } else {
        fault
    };
    (
        fault
            .skip(u32::from(!on_mutation && rng.bool()))
            .times(rng.u32(1..3)),
        committed,
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Create,
    CreateInFull,
    Comment,
    Review,
    ReviewLines,
    Edit,
    EditSets,
    Merge,
}

const WRITES: [Write; 8] = [
    Write::Create,
    Write::CreateInFull,
    Write::Comment,
    Write::Review,
    Write::ReviewLines,
    Write::Edit,
    Write::EditSets,
    Write::Merge,
];

impl Write {
    fn opens(self) -> bool {
        matches!(self, Self::Create | Self::CreateInFull)
    }

    /// Returns how many mutations the write may send.
    fn mutations(self) -> usize {
        1 + usize::from(self == Self::CreateInFull)
    }
}

/// The double's state after a write, and what the write reported.
struct Seen {
    /// How many objects of the created kind exist.
    objects: usize,
    /// True if the object has all requested values.
    whole: bool,
    /// The number of warnings, or the error.
    answer: Result<usize, Error>,
}

async fn write(world: &World, write: Write, head: &str, pull: Option<&PrId>) -> Seen {
    let text = format!("text of {head}");
    let number = pull.map_or(0, |p| p.key.to_string().parse().unwrap());
    let id = pull.cloned().unwrap_or_else(|| world.ada.pull_id(1));
    let (ada, grace) = (&world.ada, &world.grace);
    let create = CreatePull::new(head, &text);
    let review = NewReview::new(Verdict::Approve, &text);
    let grace_reviews = || vec![Reviewer::parse("grace")];
    let answer = match write {
        Write::Create => ada.create_pull(&create).await.map(|o| o.warnings),
        Write::CreateInFull => {
            let mut full = create;
            full.labels = vec!["bug".into()];
            full.reviewers = grace_reviews();
            ada.create_pull(&full).await.map(|o| o.warnings)
        }
        Write::Comment => grace.comment(&id, &text, None).await.map(|o| o.warnings),
        Write::Review => grace.submit_review(&id, &review).await.map(|o| o.warnings),
        Write::ReviewLines => {
            let thread = |body: &str| NewThread::new(format!("{head}.txt"), Some(1), body);
            let lines = review.with_threads(vec![thread("Why?"), thread("Really?")]);
            grace.submit_review(&id, &lines).await.map(|o| o.warnings)
        }
        Write::Edit => {
            let mut edit = EditPull::default();
            edit.title = Some(text.clone());
            ada.edit_pull(&id, &edit).await.map(|o| o.warnings)
        }
        Write::EditSets => {
            let mut edit = EditPull::default();
            edit.labels = SetChange {
                add: vec!["bug".into()],
                remove: vec![],
            };
            edit.reviewers = SetChange {
                add: grace_reviews(),
                remove: vec![],
            };
            ada.edit_pull(&id, &edit).await.map(|o| o.warnings)
        }
        Write::Merge => ada
            .merge(&id, &MergeReq::default())
            .await
            .map(|o| o.warnings),
    };
    let seed = world.double.seed();
    let mut named = seed.pulls_of(REPO);
    named.retain(|pull| pull.title == text);
    let reviews = |number| {
        let all = seed.reviews_of(REPO, number);
        all.iter().filter(|r| r.body == text).count()
    };
    let (objects, whole) = match write {
        Write::Create => (named.len(), true),
        Write::CreateInFull => {
            let whole = |pull: &&Pull| pull.labels.len() == 1 && pull.requested.len() == 1;
            (named.len(), named.iter().all(whole))
        }
        Write::Comment => {
            let all = seed.comments_of(REPO, number);
            (all.iter().filter(|c| c.body == text).count(), true)
        }
        Write::Review => (reviews(number), true),
        Write::ReviewLines => {
            let pull = seed.find_pull(REPO, number);
            let threads = seed.threads.values().filter(|t| t.pull == pull).count();
            assert!(threads <= 2, "{threads} threads on {head}");
            (reviews(number), threads == 2)
        }
        Write::Edit => {
            let done = seed.pull_of(REPO, number).title == text;
            (usize::from(done), true)
        }
        Write::EditSets => {
            let pull = seed.pull_of(REPO, number);
            let (labels, asked) = (pull.labels.len(), pull.requested.len());
            (usize::from(labels + asked > 0), labels + asked == 2)
        }
        Write::Merge => {
            let merged = seed.pull_of(REPO, number).state == PullState::Merged;
            (usize::from(merged), true)
        }
    };
    Seen {
        objects,
        whole,
        answer: answer.map(|warnings| warnings.len()),
    }
}

/// How many plans run on one double.
const BATCH: u64 = 25;

/// How many plans run in total, in four parallel parts.
const PLANS: u64 = 1000;

#[tokio::test]
async fn first_quarter_of_fault_plans_reports_true_results() {
    quarter(0).await;
}

#[tokio::test]
async fn second_quarter_of_fault_plans_reports_true_results() {
    quarter(1).await;
}

#[tokio::test]
async fn third_quarter_of_fault_plans_reports_true_results() {
    quarter(2).await;
}

#[tokio::test]
async fn fourth_quarter_of_fault_plans_reports_true_results() {
    quarter(3).await;
}

async fn quarter(part: u64) {
    let env = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let mut tally = Tally::default();
    match env("FORGE_FAULT_SEED") {
        Some(seed) if part == 0 => batch(seed, BATCH, &mut tally).await,
        Some(_) => {}
        None => {
            let mut left = env("FORGE_FAULT_PLANS").unwrap_or(PLANS) / 4;
            while left > 0 {
                let count = left.min(BATCH);
                // Seeds are short, so that they are easy to type.
                batch(fastrand::u64(0..1 << 32), count, &mut tally).await;
                left -= count;
            }
        }
    }
    tally.print_counts();
}

#[derive(Debug, Default)]
struct Tally {
    plans: u64,
    /// Plans in which the fault hit the answer of a write that was executed.
    hidden: u64,
    /// The plans of `hidden` in which the write reported success.
    recovered: u64,
}

impl Tally {
    fn print_counts(&self) {
        println!("{self:?}");
        assert!(
            self.plans < 100 || self.hidden * 100 >= self.plans * 30,
            "too few plans hit a write after it was carried out: {self:?}"
        );
    }
}

async fn batch(seed: u64, count: u64, tally: &mut Tally) {
    let world = World::new();
    let mut rng = Rng::with_seed(seed);
    for plan in 0..count {
        let said = format!("plan {plan} of FORGE_FAULT_SEED={seed}");
        one(&world, &mut rng, plan, &said, tally).await;
    }
}

async fn one(world: &World, rng: &mut Rng, plan: u64, name: &str, tally: &mut Tally) {
    let kind = WRITES[rng.usize(0..WRITES.len())];
    let head = format!("plan-{plan}");
    let path = format!("{head}.txt");
    let pull = {
        let mut seed = world.double.seed();
        seed.commit(REPO, &head, &[(&path, Some("x\n"))], "Plan");
        let pull = PullSeed {
            author: "ada",
            title: "Before",
            head: &head,
            ..PullSeed::default()
        };
        (!kind.opens()).then(|| seed.open_pull(REPO, &pull))
    };
    let pull = pull.map(|number| world.ada.pull_id(number));
    let mut commits = false;
    for _ in 0..rng.u8(1..4) {
        let on_mutation = rng.u8(0..10) < 7;
        let (fault, committed) = fault(rng, on_mutation);
        commits |= committed;
        world.double.fault(fault);
    }
    world.double.reset_record();
    let limit = Duration::from_secs(60);
    let seen = tokio::time::timeout(limit, write(world, kind, &head, pull.as_ref())).await;
    let Seen {
        objects,
        whole,
        answer,
    } = seen.unwrap_or_else(|_| panic!("{name} hangs"));
    let requests = world.double.requests();
    world.double.clear_faults();

    if let Err(e) = &answer {
        let said = format!("{e} {e:?}");
        assert!(!said.contains(CANARY), "{name} tells a token");
    }
    let said = format!("{name} ({kind:?}): {answer:?}, {requests:#?}");
    let mutations = requests.iter().filter(|r| r.mutation && r.executed).count();
    assert!(
        objects <= 1 && mutations <= kind.mutations(),
        "{mutations} writes ran, {objects} objects: {said}"
    );
    assert!(
        requests.len() <= MAX_REQUESTS,
        "{} requests: {said}",
        requests.len()
    );
    let mut ran = requests.iter().filter(|r| r.mutation && r.executed);
    let hidden = commits && ran.any(|r| r.faulted);
    tally.plans += 1;
    tally.hidden += u64::from(hidden);
    match answer {
        Ok(warnings) => {
            assert_eq!(objects, 1, "it says that it happened: {said}");
            assert!(whole || warnings > 0, "it says that all happened: {said}");
            tally.recovered += u64::from(hidden);
        }
        Err(e) if e.retry() == Retry::Ambiguous => assert!(e.hint().is_some(), "{said}"),
        Err(_) => assert_eq!(objects, 0, "it says that nothing happened: {said}"),
    }
}
