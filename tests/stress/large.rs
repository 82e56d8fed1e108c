//! Tests diffs that are larger than the memory limit.

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

use forge_github_double::{ALL_SCOPES, GitHubDouble, Options};
use forge_testkit::{GitDir, GitShim, Identity, Scratch, ShimPlan};

/// Memory limit of `forge`, in KiB. Without `/proc`, memory cannot be measured, and `cargo xtask
/// test` reports that it skipped the check.
const LIMIT: u64 = 60 * 1024;

/// Creates a repository with pull request 1, which changes 5,000 files.
fn many_files(scratch: &Scratch) -> GitDir {
    let git = scratch.repository("many");
    let names: Vec<_> = (0..5000)
        .map(|n| format!("dir{}/file{n}.txt", n % 50))
        .collect();
    let text = "some text that a file has\n".repeat(20);
    let files: Vec<_> = names
        .iter()
        .map(|n| (n.as_str(), Some(text.as_str())))
        .collect();
    git.commit("feature", "Many", &files);
    open(scratch, git)
}

/// Creates a repository with pull request 1, which adds a file of 100 MB.
fn one_large_file(scratch: &Scratch) -> GitDir {
    let git = scratch.repository("large");
    let mut text = String::with_capacity(101 << 20);
    for n in 0.. {
        if text.len() >= 100 << 20 {
            break;
        }
        text.push_str(&format!(
            "line {n} of a file that is far too long to hold in memory at once\n"
        ));
    }
    git.commit("feature", "Large", &[("large.txt", Some(&text))]);
    open(scratch, git)
}

fn open(scratch: &Scratch, git: GitDir) -> GitDir {
    scratch
        .forge(git.path(), &Identity::ADA)
        .args(["pr", "create", "-H", "feature", "-t", "Large", "-b", ""])
        .ok();
    git
}

/// Checks that `forge` prints the first line before git has written its last block, and that it
/// needs little memory.
fn check(scratch: &Scratch, git: &GitDir, args: &[&str], least: u64) {
    let run = scratch
        .forge(git.path(), &Identity::ADA)
        .args(["pr", "diff", "1"])
        .args(args);
    let name = format!("git{}", args.concat().replace(['/', '*'], ""));
    let shim = GitShim::new(scratch, &name, ShimPlan::Withhold);
    let reading = run.read_before_the_last(&shim);
    println!("{run}: {reading:?}");
    assert!(
        shim.withheld(),
        "its first line came with the last block of git's: {run}"
    );
    assert!(reading.bytes >= least, "{} bytes: {run}", reading.bytes);
    assert!(!reading.first_line.trim().is_empty(), "{run}");
    if let Some(peak) = reading.peak {
        assert!(peak > 0 && peak < LIMIT, "{peak} KiB: {run}");
    }
}

#[test]
fn diff_of_5000_files_is_streamed() {
    let scratch = Scratch::new();
    let git = many_files(&scratch);
    check(&scratch, &git, &[], 3 << 20);
    check(&scratch, &git, &["--color", "always"], 3 << 20);
    check(&scratch, &git, &["--patch"], 3 << 20);
    check(&scratch, &git, &["--exclude", "dir1/*"], 3 << 20);
    let names = scratch
        .forge(git.path(), &Identity::ADA)
        .args(["pr", "diff", "1", "--name-only"]);
    assert_eq!(names.text().lines().count(), 5000);
}

#[test]
fn diff_of_100_megabytes_is_streamed() {
    let scratch = Scratch::new();
    let git = one_large_file(&scratch);
    check(&scratch, &git, &[], 100 << 20);
    check(&scratch, &git, &["--color", "always"], 100 << 20);
}

/// A pull request with 3,000 files, 2,000 comments and 400 checks needs no more memory, bytes and
/// requests than the documentation promises.
#[test]
fn context_of_a_huge_pull_stays_within_budgets() {
    const TOKEN: &str = "gho_canary0canary0canary0canary0canary00";
    let double = GitHubDouble::start(Options::default()).unwrap();
    let scratch = Scratch::new();
    let number = {
        let mut seed = double.seed();
        seed.repo_with_readme("ada/tools");
        seed.token(TOKEN, "ada", ALL_SCOPES);
        seed.large_pull("ada/tools")
    };
    let run = scratch.forge(&scratch.path(""), &Identity::ADA);
    let run = double
        .env(TOKEN)
        .into_iter()
        .fold(run, |run, (k, v)| run.env(k, v));
    let number = number.to_string();
    let run = run.args(["pr", "context", &number, "-R", "ada/tools", "--json"]);
    let result = scratch.path("context.result");
    let out = run
        .probed(env!("CARGO_BIN_EXE_forge-probe"), &result)
        .output()
        .success();
    let figures = std::fs::read_to_string(&result).unwrap();
    let peak: u64 = figures.split_whitespace().nth(2).unwrap().parse().unwrap();
    let requests = double.requests();
    let received: usize = requests.iter().map(|r| r.response_bytes).sum();
    println!(
        "{} requests, {received} bytes received, {} bytes printed, {peak} KiB",
        requests.len(),
        out.stdout.len()
    );
    assert!(peak > 0 && peak * 1024 < 150_000_000, "{peak} KiB");
    assert!(requests.len() <= 45, "{} requests", requests.len());
    assert!(received <= 3_000_000, "{received} bytes received");
    let found = out.json();
    assert_eq!(found["pr"]["changedFiles"], 3000);
    assert_eq!(found["diff"]["stats"]["files"], 3000);
    assert_eq!(found["diff"]["files"].as_array().unwrap().len(), 3000);
    // The verdict counts every comment. The output contains the newest hundred, and says that there
    // are more.
    assert_eq!(found["ciStatus"]["checks"].as_array().unwrap().len(), 100);
    let said = found["warnings"].to_string();
    assert!(said.contains("100 of 400 checks are shown"), "{said}");
    assert!(said.contains("2000 comments"), "{said}");
    assert_eq!(found["summary"]["outstandingThreads"], 20);
    let blocker = &found["summary"]["blockers"][0];
    assert_eq!(blocker, "CI failing: job 007, job 107, job 207, job 307");
    let shown: usize = (found["diff"]["files"].as_array().unwrap().iter())
        .flat_map(|file| file["hunks"].as_array().into_iter().flatten())
        .map(|hunk| hunk["text"].as_str().unwrap_or_default().len())
        .sum();
    assert!(shown > 0 && shown <= 60_000, "{shown} bytes of hunks");
}

#[test]
fn diff_ends_quietly_once_stdout_is_closed() {
    let scratch = Scratch::new();
    let git = many_files(&scratch);
    let run = scratch
        .forge(git.path(), &Identity::ADA)
        .args(["pr", "diff", "1"]);
    let mut child = run
        .command()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    drop(out);
    let mut errors = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{errors}");
    assert_eq!(errors, "");
}
