use std::{fs, time::Duration};

use forge_testkit::{Run, Scratch};

/// What one run of a program took.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub wall: Duration,
    /// The most memory that it, or a program that it ran, has had, in KiB.
    pub peak: u64,
}

/// Runs `run` once through the probe.
pub fn once(scratch: &Scratch, run: &Run) -> Sample {
    let result = scratch.path("probe.result");
    let code = run
        .probed(env!("CARGO_BIN_EXE_forge-probe"), &result)
        .output();
    let text = fs::read_to_string(&result).unwrap_or_else(|e| panic!("{e}: {code:?}"));
    let numbers: Vec<i64> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    assert_eq!(numbers[2], 0, "{code:?}");
    Sample {
        wall: Duration::from_micros(numbers[0].unsigned_abs()),
        peak: numbers[1].unsigned_abs(),
    }
}

/// The medians of `times` runs of each of `runs`, which take turns, so that what else the machine
/// does meets all of them.
pub fn in_turns<const N: usize>(scratch: &Scratch, times: usize, runs: [&Run; N]) -> [Sample; N] {
    for run in runs {
        once(scratch, run);
    }
    let mut samples: [Vec<Sample>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..times {
        for (run, into) in runs.iter().zip(&mut samples) {
            into.push(once(scratch, run));
        }
    }
    samples.map(|all| Sample {
        wall: median(all.iter().map(|s| s.wall)),
        peak: median(all.iter().map(|s| s.peak)),
    })
}

fn median<T: Ord + Copy>(all: impl Iterator<Item = T>) -> T {
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all[all.len() / 2]
}
