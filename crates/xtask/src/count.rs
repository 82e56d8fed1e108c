//! Counts passed tests from the output of the runners.

use std::{collections::BTreeSet, ops::AddAssign};

/// A number of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of tests that passed.
    pub passed: u64,
    /// Number of tests that failed, or could not run.
    pub failed: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl Count {
    /// Returns the counts of a run. A run without a summary did not run its tests, so it counts as
    /// one failure. A failed run without a failed test also counts as one failure.
    pub fn of(ended_well: bool, output: &str) -> Self {
        let mut count = Self::read(output).unwrap_or(Self {
            passed: 0,
            failed: 1,
        });
        if !ended_well && count.failed == 0 {
            count.failed = 1;
        }
        count
    }

    /// Reads nextest's summary if there is one. Otherwise adds the summaries that `cargo test`
    /// prints with the built-in harness, doc tests and libtest-mimic. `None` without any summary.
    fn read(output: &str) -> Option<Self> {
        // Nextest's summary is the last one. Earlier ones may be part of the output of failed
        // tests, which nextest repeats.
        let nextest = output.lines().filter_map(nextest).next_back();
        nextest.or_else(|| {
            output.lines().filter_map(harness).reduce(|mut sum, one| {
                sum += one;
                sum
            })
        })
    }
}

/// Returns the names of the failed tests, each once. nextest prints `FAIL [ 0.03s] (1/9) cli a::b`,
/// the built-in harness `test a::b ... FAILED`.
pub fn failed_tests(output: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let line = line.trim();
        let harness = line
            .strip_prefix("test ")
            .and_then(|rest| rest.strip_suffix(" ... FAILED"));
        let ends = ["FAIL [", "TIMEOUT [", "SIGABRT [", "SIGSEGV [", "SIGKILL ["];
        let nextest = || {
            let rest = ends.iter().find_map(|end| line.strip_prefix(end))?;
            let (_, rest) = rest.split_once("] ")?;
            let rest = rest.trim_start();
            let test = rest.strip_prefix('(').and_then(|r| r.split_once(") "));
            Some(test.map_or(rest, |(_, test)| test))
        };
        let name = harness.or_else(nextest)?;
        Some(name.trim_end().to_owned())
    };
    output.lines().filter_map(name).collect()
}

fn harness(line: &str) -> Option<Count> {
    line.trim().strip_prefix("test result:").map(parse_counts)
}

fn nextest(line: &str) -> Option<Count> {
    let rest = line.trim().strip_prefix("Summary [")?;
    let (_, rest) = rest
        .split_once("tests run:")
        .or_else(|| rest.split_once("test run:"))?;
    Some(parse_counts(rest))
}

/// Parses `… 3 passed (1 slow), 1 failed, 1 timed out, 2 skipped`.
fn parse_counts(text: &str) -> Count {
    let mut count = Count::default();
    let mut number = None;
    for word in text
        .split([' ', ',', ';', '(', ')', '.'])
        .filter(|w| !w.is_empty())
    {
        match (word.parse::<u64>(), number) {
            (Ok(n), _) => number = Some(n),
            (Err(_), Some(n)) => {
                match word {
                    "passed" => count.passed += n,
                    "failed" | "timed" | "exec" => count.failed += n,
                    _ => {}
                }
                number = None;
            }
            (Err(_), None) => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, passed: u64, failed: u64) {
        assert_eq!(Count::read(output), Some(Count { passed, failed }));
    }

    #[test]
    fn failed_tests_are_parsed_for_both_runners() {
        let output = "        FAIL [   0.034s] (  7/10) tests::cli a::b\n\
                      test c::d    ... FAILED\ntest e ... ok\n\
                      \u{20}  TIMEOUT [ 60.0s] tests::cli f\n\
                      \u{20}     FAIL [   0.034s] (  7/10) tests::cli a::b\n";
        let names: Vec<_> = failed_tests(output).into_iter().collect();
        assert_eq!(names, ["c::d", "tests::cli a::b", "tests::cli f"]);
    }

    #[test]
    fn nextest_summary_is_parsed() {
        check(
            "     Summary [   0.2s] 10 tests run: 10 passed, 3 skipped\n",
            10,
            0,
        );
        check(
            "     Summary [   9.2s] 1 test run: 1 passed (1 slow), 0 skipped",
            1,
            0,
        );
        let mixed = "Summary [ 1.0s] 9 tests run: 5 passed (2 slow, 1 flaky), 2 failed, \
                     1 timed out, 1 exec failed, 0 skipped";
        check(mixed, 5, 4);
    }

    #[test]
    fn summary_within_nextest_output_is_ignored() {
        let text = "test result: FAILED. 0 passed; 1 failed; finished in 0.5s\n\
                    Summary [ 2.0s] 9 tests run: 8 passed, 1 failed, 0 skipped\n\
                    test result: FAILED. 0 passed; 1 failed; finished in 0.5s\n";
        check(text, 8, 1);
    }

    #[test]
    fn cargo_test_summaries_are_summed_up() {
        let text = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out\n\
                    noise\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored; finished in 0.00s\n";
        check(text, 4, 2);
    }

    #[test]
    fn output_without_summary_has_no_count() {
        assert_eq!(Count::read("error: could not compile"), None);
    }

    #[test]
    fn run_without_summary_counts_as_failed() {
        let one = Count {
            passed: 0,
            failed: 1,
        };
        for ended_well in [true, false] {
            assert_eq!(Count::of(ended_well, "nothing to do"), one);
        }
        let ran = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out";
        assert_eq!(Count::of(true, ran).failed, 0);
        assert_eq!(Count::of(false, ran).failed, 1);
        let failed = "test result: FAILED. 1 passed; 2 failed; 0 ignored; finished in 0.00s";
        assert_eq!(Count::of(false, failed).failed, 2);
    }
}
