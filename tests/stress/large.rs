//! Diffs that do not fit.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::Stdio,
};

use forge_testkit::{GitDir, Identity, Run, Scratch};

/// What `forge` may need at most, in KiB.
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

/// What reading the whole output of a program has shown.
struct Reading {
    first: String,
    bytes: u64,
    peak: u64,
}

/// Reads all of the output. The first line must come while the program runs and cannot have
/// written the last: a pipe holds 64 KiB, and nobody has read more than that.
fn read(run: &Run) -> Reading {
    let mut child = run
        .command()
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut out = BufReader::with_capacity(32 * 1024, child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert!(
        child.try_wait().unwrap().is_none(),
        "it ended before its output was read: {run}"
    );
    let mut bytes = first.len() as u64;
    let mut peak = high_water(&status).unwrap();
    let mut buffer = vec![0; 1 << 16];
    let mut reads = 0u64;
    loop {
        match out.read(&mut buffer).unwrap() {
            0 => break,
            n => bytes += n as u64,
        }
        reads += 1;
        if reads.is_multiple_of(16) {
            peak = peak.max(high_water(&status).unwrap_or(0));
        }
    }
    assert!(child.wait().unwrap().success(), "{run}");
    Reading { first, bytes, peak }
}

/// The most memory that a process has had, in KiB.
fn high_water(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn check(scratch: &Scratch, git: &GitDir, args: &[&str], least: u64) {
    let run = scratch
        .forge(git.path(), &Identity::ADA)
        .args(["pr", "diff", "1"])
        .args(args);
    let reading = read(&run);
    println!(
        "{run}: {} MB, peak {} MB",
        reading.bytes >> 20,
        reading.peak >> 10
    );
    assert!(reading.bytes >= least, "{} bytes: {run}", reading.bytes);
    assert!(!reading.first.trim().is_empty(), "{run}");
    assert!(
        reading.peak > 0 && reading.peak < LIMIT,
        "{} KiB: {run}",
        reading.peak
    );
}

#[test]
fn five_thousand_files_stream() {
    if !Path::new("/proc/self/status").exists() {
        return;
    }
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
    if !Path::new("/proc/self/status").exists() {
        return;
    }
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
