//! Measures diffs that are larger than the memory limit.

use std::path::PathBuf;

use forge_testkit::{GitDir, Identity, Scratch};

use crate::page::{Page, mb, ms, version};

/// Memory limit of `forge`, in KiB.
const LIMIT: u64 = 60 * 1024;

fn open(scratch: &Scratch, name: &str, files: &[(String, String)]) -> GitDir {
    let git = scratch.repository(name);
    let files: Vec<_> = files
        .iter()
        .map(|(n, t)| (n.as_str(), Some(t.as_str())))
        .collect();
    git.commit("feature", "Large", &files);
    scratch
        .forge(git.path(), &Identity::ADA)
        .args(["pr", "create", "-H", "feature", "-t", "Large", "-b", ""])
        .ok();
    git
}

pub fn measure(page: &mut Page, gits: &[PathBuf]) {
    let scratch = Scratch::new();
    let text = "some text that a file has\n".repeat(20);
    let many: Vec<_> = (0..5000)
        .map(|n| (format!("dir{}/file{n}.txt", n % 50), text.clone()))
        .collect();
    let line = "a line of a file that is far too long to hold in memory at once, as it should be\n";
    let large = [(
        "large.txt".to_owned(),
        line.repeat((100 << 20) / line.len() + 1),
    )];
    page.table(
        "Large diffs",
        "`forge pr diff`, read through a pipe, once each. Memory is `forge`'s own.",
        &[
            "Diff",
            "git",
            "Size",
            "First line after",
            "All of it after",
            "Memory",
        ],
    );
    for (what, repo) in [
        ("5,000 files", open(&scratch, "many", &many)),
        ("100 MB in one file", open(&scratch, "large", &large)),
    ] {
        for git in gits {
            let run = scratch
                .forge(repo.path(), &Identity::ADA)
                .env("FORGE_GIT", git)
                .args(["pr", "diff", "1"]);
            let reading = run.read();
            let peak = reading.peak.expect("/proc says how much memory it had");
            let peak = page.limit(
                &format!("memory of a diff of {what}"),
                &mb(peak),
                "60 MB",
                peak < LIMIT,
            );
            page.row(&[
                what.into(),
                version(git),
                mb(reading.bytes >> 10),
                ms(reading.first),
                ms(reading.all),
                peak,
            ]);
        }
    }
}
