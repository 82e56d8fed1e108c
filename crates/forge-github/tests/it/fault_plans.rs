//! Random faults on the five writes, checked on the double's state: whatever breaks, at most one
//! object is made, the answer is true, and requests are bounded.
//!
//! `FORGE_FAULT_PLANS` sets how many plans run, `FORGE_FAULT_SEED` replays the one of a failure.

use std::time::Duration;

use fastrand::Rng;
use forge_core::{
    Error, PrId, Retry,
    model::{CreatePull, EditPull, MergeReq, NewReview, Verdict},
};
use forge_testkit::github::{Action, Fault, PullSeed};

use crate::double::World;

const REPO: &str = "octo/tools";
/// The most requests that one write may take: its own, the repetitions of its reads, the waits for
/// limits and the reading back.
const MOST: usize = 24;

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

/// What the double has of a write, and what was answered.
struct Seen {
    objects: usize,
    answer: Result<(), Error>,
}

async fn write(world: &World, kind: u8, n: u64, pull: Option<&PrId>) -> Seen {
    let text = format!("text {n}");
    let number = pull.map_or(0, |p| p.key.to_string().parse().unwrap());
    let id = pull.cloned().unwrap_or_else(|| world.ada.pr(1));
    let answer = match kind {
        0 => world
            .ada
            .create(&CreatePull::new(format!("plan-{n}"), &text))
            .await
            .map(drop),
        1 => world.grace.comment(&id, &text, None).await.map(drop),
        2 => world
            .grace
            .submit_review(&id, &NewReview::new(Verdict::Approve, &text))
            .await
            .map(drop),
        3 => {
            let edit = EditPull {
                title: Some(text.clone()),
                ..EditPull::default()
            };
            world.ada.edit(&id, &edit).await.map(drop)
        }
        _ => world.ada.merge(&id, &MergeReq::default()).await.map(drop),
    };
    let seed = world.double.seed();
    let objects = match kind {
        0 => seed
            .pulls_of(REPO)
            .iter()
            .filter(|p| p.title == text)
            .count(),
        1 => seed
            .comments_of(REPO, number)
            .iter()
            .filter(|c| c.body == text)
            .count(),
        2 => seed
            .reviews_of(REPO, number)
            .iter()
            .filter(|r| r.body == text)
            .count(),
        3 => usize::from(seed.pull_of(REPO, number).title == text),
        _ => usize::from(format!("{:?}", seed.pull_of(REPO, number).state) == "Merged"),
    };
    Seen { objects, answer }
}

/// How many plans run, in four parts that run side by side.
const PLANS: u64 = 1000;

#[tokio::test]
async fn first_quarter() {
    quarter(0).await;
}

#[tokio::test]
async fn second_quarter() {
    quarter(1).await;
}

#[tokio::test]
async fn third_quarter() {
    quarter(2).await;
}

#[tokio::test]
async fn fourth_quarter() {
    quarter(3).await;
}

async fn quarter(part: u64) {
    let env = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let each = env("FORGE_FAULT_PLANS").unwrap_or(PLANS) / 4;
    match env("FORGE_FAULT_SEED") {
        Some(seed) => plans(seed, u64::from(part == 0)).await,
        None => plans(part * each, each).await,
    }
}

async fn plans(first: u64, count: u64) {
    let (mut after_commit, mut recovered) = (0, 0);
    let mut world = World::new();
    for plan in first..first + count {
        // A repository of few pull requests keeps the plans fast.
        if plan % 50 == 49 {
            world = World::new();
        }
        let mut rng = Rng::with_seed(plan);
        let kind = rng.u8(0..5);
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
            (kind > 0).then(|| seed.open_pull(REPO, &pull))
        };
        let pull = pull.map(|number| world.ada.pr(number));
        let mut commits = false;
        for _ in 0..rng.u8(1..4) {
            let on_mutation = rng.u8(0..10) < 7;
            let (fault, committed) = fault(&mut rng, on_mutation);
            commits |= committed;
            world.double.fault(fault);
        }
        world.double.reset_record();
        let seen = tokio::time::timeout(
            Duration::from_secs(60),
            write(&world, kind, plan, pull.as_ref()),
        );
        let Seen { objects, answer } = seen.await.unwrap_or_else(|_| panic!("plan {plan} hangs"));
        let requests = world.double.requests();
        world.double.clear_faults();

        let said = format!(
            "replay with FORGE_FAULT_SEED={plan} (write {kind}): {answer:?}, {requests:#?}"
        );
        let mutations = requests.iter().filter(|r| r.mutation && r.executed).count();
        assert!(
            objects <= 1 && mutations <= 1,
            "{mutations} writes ran, {objects} objects: {said}"
        );
        assert!(
            requests.len() <= MOST,
            "{} requests: {said}",
            requests.len()
        );
        let hidden = commits
            && requests
                .iter()
                .any(|r| r.mutation && r.executed && r.faulted);
        after_commit += u32::from(hidden);
        match answer {
            Ok(()) => {
                assert_eq!(objects, 1, "it says that it happened: {said}");
                recovered += u32::from(hidden);
            }
            Err(e) if e.retry() == Retry::Ambiguous => assert!(e.hint().is_some(), "{said}"),
            Err(_) => assert_eq!(objects, 0, "it says that nothing happened: {said}"),
        }
    }
    if count >= 50 {
        let share = u64::from(after_commit) * 100 / count;
        println!(
            "{count} plans from seed {first}: {share} % hit a write after it committed, {recovered} of these were told as done"
        );
        assert!(
            share >= 30,
            "{share} % of the plans hit a write after it committed"
        );
    }
}
