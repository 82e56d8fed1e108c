//! Runs the real binary against servers, clients and repositories that lie in any part of what they
//! serve.
//!
//! A chapter has ten cases. Its world consists of honest doubles behind lying servers, or of a
//! repository with lies in its objects. The seed determines everything in a chapter except times,
//! ports, and the order of concurrent requests. `FORGE_ADVERSARY_SEED` repeats one chapter.

mod answers;
mod bombs;
mod child;
mod client;
mod fields;
mod ground;
mod hub;
mod knots;
mod lies;
mod lines;
mod repository;
mod stage;
mod stories;
mod tap;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use forge_testkit::Random;

use self::{fields::Coverage, stage::Stage};

/// Default number of cases; `FORGE_ADVERSARY_CASES` sets another. `cargo xtask test --adversary`
/// runs 10,000.
const CASES: u64 = 300;
const CASES_OF_A_CHAPTER: u64 = 10;
/// Number of chapters that run in parallel. A chapter mostly waits for servers that are slow on
/// purpose.
const WORKERS: usize = 6;
/// Number of failures that the report lists.
const MAX_FAILURES: usize = 40;
/// If a field's expected number of lies exceeds this value, at least one lie must have happened. A
/// lie fails if another one in the same response has removed the field.
const CERTAIN: f64 = 50.0;

/// Totals over all cases.
#[derive(Default)]
struct Tally {
    cases: u64,
    lies: u64,
    codes: BTreeMap<i64, u64>,
    slowest: (Duration, String),
    largest: (u64, String),
    coverage: Coverage,
    out_of_reach: BTreeSet<String>,
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.lies += other.lies;
        for (code, times) in other.codes {
            *self.codes.entry(code).or_default() += times;
        }
        if other.slowest.0 > self.slowest.0 {
            self.slowest = other.slowest;
        }
        if other.largest.0 > self.largest.0 {
            self.largest = other.largest;
        }
        for (field, (expected, lied)) in other.coverage {
            let entry = self.coverage.entry(field).or_default();
            entry.0 += expected;
            entry.1 += lied;
        }
        self.out_of_reach.extend(other.out_of_reach);
        self.failures.extend(other.failures);
    }
}

fn chapter(seed: u64) -> Tally {
    let mut random = Random::new(seed);
    let mut stage = Stage::new(&mut random);
    let mut tally = Tally::default();
    for case in 1..=CASES_OF_A_CHAPTER {
        let mut told = stage::Told::default();
        let result = stage.case(random.bits(), &mut told);
        tally.cases += 1;
        tally.lies += told.lies.len() as u64;
        for ended in &told.ends {
            *tally.codes.entry(ended.code).or_default() += 1;
            let at = format!("FORGE_ADVERSARY_SEED={seed} case {case}: {}", ended.line);
            if ended.took > tally.slowest.0 {
                tally.slowest = (ended.took, at.clone());
            }
            if ended.peak > tally.largest.0 {
                tally.largest = (ended.peak, at);
            }
        }
        if let Err(why) = result {
            let mut text = format!(
                "FORGE_ADVERSARY_SEED={seed} cargo nextest run -p forge-tests -E 'test(liars::)'\n\
                 case {case}: {why}\n"
            );
            for ended in &told.ends {
                let _ = writeln!(text, "  $ forge {} -> {}", ended.line, ended.code);
            }
            for lie in &told.lies {
                let _ = writeln!(text, "  lie: {lie}");
            }
            tally.failures.push(text);
        }
    }
    (tally.coverage, tally.out_of_reach) = stage.tap().coverage();
    tally
}

#[test]
fn lying_servers_cause_no_leak_execution_or_wrong_merge() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().unwrap())
    };
    let seeds: Vec<u64> = match number("FORGE_ADVERSARY_SEED") {
        Some(seed) => vec![seed],
        None => {
            let mut random = Random::from_env();
            let cases = number("FORGE_ADVERSARY_CASES").unwrap_or(CASES);
            (0..cases.div_ceil(CASES_OF_A_CHAPTER))
                .map(|_| random.bits() >> 1)
                .collect()
        }
    };
    let (next, all) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let n = usize::try_from(next.fetch_add(1, Ordering::SeqCst)).unwrap();
                    let Some(&seed) = seeds.get(n) else { return };
                    let done = chapter(seed);
                    all.lock().unwrap().add(done);
                }
            });
        }
    });
    let tally = all.into_inner().unwrap();
    let lied = tally
        .coverage
        .values()
        .filter(|(_, lied)| *lied > 0)
        .count();
    println!(
        "{} cases, {} lies, in {lied} of {} fields; exit codes {:?}\nslowest {:?}\nlargest {:?} KiB",
        tally.cases,
        tally.lies,
        tally.coverage.len(),
        tally.codes,
        tally.slowest,
        tally.largest
    );
    let failures = tally.failures.len();
    let shown: Vec<_> = tally.failures.into_iter().take(MAX_FAILURES).collect();
    assert!(
        failures == 0,
        "{failures} of {} cases failed:\n{}",
        tally.cases,
        shown.join("\n")
    );
    assert!(
        tally.lies >= tally.cases / 2,
        "{} lies were told",
        tally.lies
    );
    let missed = &tally.out_of_reach;
    assert!(missed.is_empty(), "no lie can be about {missed:#?}");
    let coverage = tally.coverage.iter();
    let missed = coverage.filter(|(_, (expected, lied))| *expected > CERTAIN && *lied == 0);
    let missed: Vec<_> = missed.collect();
    assert!(missed.is_empty(), "no lie was about {missed:#?}");
}
