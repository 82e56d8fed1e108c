use std::{fs, time::Duration};

use forge_testkit::{Run, Scratch};

/// Time and memory that one run took.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub wall: Duration,
    /// User and system time of the process and its children.
    pub cpu: Duration,
    /// Peak memory in KiB: that of the process, or of its largest child if that is larger.
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
    assert_eq!(numbers[3], 0, "{code:?}");
    Sample {
        wall: Duration::from_micros(numbers[0].unsigned_abs()),
        cpu: Duration::from_micros(numbers[1].unsigned_abs()),
        peak: numbers[2].unsigned_abs(),
    }
}

/// Runs each command `times` times, and returns the medians. The commands take turns, so that other
/// load on the machine affects all of them alike.
pub fn in_turns<const N: usize>(scratch: &Scratch, times: usize, runs: [&Run; N]) -> [Sample; N] {
    for run in runs {
        once(scratch, run);
    }
    numbered_in_turns(scratch, times, |n, _| runs[n].clone())
}

/// Measures as [`in_turns`] does, for commands that cannot be repeated. `run` returns the command
/// for a program and a turn, both counted from 0.
pub fn numbered_in_turns<const N: usize>(
    scratch: &Scratch,
    times: usize,
    run: impl Fn(usize, usize) -> Run,
) -> [Sample; N] {
    let mut samples: [Vec<Sample>; N] = std::array::from_fn(|_| Vec::new());
    for turn in 0..times {
        for (n, into) in samples.iter_mut().enumerate() {
            into.push(once(scratch, &run(n, turn)));
        }
    }
    samples.map(|all| Sample {
        wall: median(all.iter().map(|s| s.wall)),
        cpu: median(all.iter().map(|s| s.cpu)),
        peak: median(all.iter().map(|s| s.peak)),
    })
}

fn median<T: Ord + Copy>(all: impl Iterator<Item = T>) -> T {
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all[all.len() / 2]
}
