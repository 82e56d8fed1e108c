//! Diffs that do not fit.

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

use forge_testkit::{GitDir, GitShim, Identity, Scratch, ShimPlan};

/// What `forge` may need at most, in KiB. Where there is no `/proc` nobody can tell, and `cargo
/// xtask test` says that this was left out.
const LIMIT: u64 = 60 * 1024;

/// A repository whose pull request 1 changes 5,000 files.
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

/// A repository whose pull request 1 adds a file of 100 MB.
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

/// The first line is read before git has given the last block, and memory stays small.
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
fn five_thousand_files_stream() {
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
fn a_hundred_megabytes_stream() {
    let scratch = Scratch::new();
    let git = one_large_file(&scratch);
    check(&scratch, &git, &[], 100 << 20);
    check(&scratch, &git, &["--color", "always"], 100 << 20);
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
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
