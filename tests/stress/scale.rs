//! Tests a repository with ten thousand pull requests. The measured times are in
//! `docs/reference/benchmarks.md`. The tests limit what determines the times: the number of
//! processes, and memory.

use std::fs;

use forge_testkit::{GitDir, GitShim, Identity, Scratch, ShimPlan, many_pulls};

/// Returns the number of git processes, the peak memory in KiB, and the output.
fn cost(scratch: &Scratch, git: &GitDir, name: &str, args: &[&str]) -> (usize, u64, String) {
    let shim = GitShim::new(scratch, name, ShimPlan::Count);
    let run = scratch.forge(git.path(), &Identity::ADA).args(args);
    run.clone().env("FORGE_GIT", shim.program()).ok();
    let result = scratch.path(format!("{name}.result"));
    let probe = run.probed(env!("CARGO_BIN_EXE_forge-probe"), &result);
    let text = probe.text();
    let figures = fs::read_to_string(&result).unwrap();
    // The first two numbers are wall time and processor time.
    let peak = figures.split_whitespace().nth(2).unwrap().parse().unwrap();
    (shim.calls().len(), peak, text)
}

#[test]
fn list_and_view_cost_ignores_the_count() {
    let scratch = Scratch::new();
    let small = many_pulls(&scratch, "small", 100);
    let large = many_pulls(&scratch, "large", 10_000);
    let fields = "number,title,comments";
    for (name, in_small, in_large, rows) in [
        ("list", vec!["pr", "list"], vec!["pr", "list"], None),
        (
            "view",
            vec!["pr", "view", "51", "--comments"],
            vec!["pr", "view", "9999", "--comments"],
            None,
        ),
        (
            "json",
            vec!["pr", "list", "-L", "10", "--json", fields],
            vec!["pr", "list", "-L", "10", "--json", fields],
            Some(()),
        ),
    ] {
        let (calls, peak, text) = cost(&scratch, &small, &format!("small-{name}"), &in_small);
        let (more_calls, more_peak, more_text) =
            cost(&scratch, &large, &format!("large-{name}"), &in_large);
        println!("{name}: {calls} and {more_calls} processes, {peak} and {more_peak} KiB");
        assert_eq!(calls, more_calls, "{name}");
        // git maps its table of refs into memory, which takes additional memory.
        assert!(
            more_peak < peak + 8 * 1024,
            "{name}: {peak} and {more_peak} KiB"
        );
        if rows.is_none() {
            assert!(
                text.lines().count() >= 10 && more_text.lines().count() >= 10,
                "{more_text}"
            );
        }
    }
    let rows = scratch
        .forge(large.path(), &Identity::ADA)
        .args(["pr", "list"])
        .text();
    assert_eq!(rows.lines().count(), 30);
    let first = rows.lines().next().unwrap();
    assert!(first.starts_with("9999\t"), "{first}");
}
