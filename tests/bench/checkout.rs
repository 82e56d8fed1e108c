//! Measures merges that update the files of a checked-out base branch.

use std::path::{Path, PathBuf};

use forge_testkit::{GitDir, Identity, Run, Scratch};

use crate::{
    measure::numbered_in_turns,
    page::{Page, ms, version},
};

/// Number of merges per median. Each merge needs a separate pull request.
const TURNS: usize = 11;

pub fn measure(page: &mut Page, gits: &[PathBuf]) {
    page.table(
        "Merge into a base that is checked out",
        "`forge pr merge --squash` of one file, inside a git repository of so many files; 11 runs each in \
         turns. The work tree is on another commit, or on the base: then its files go along, proved first.",
        &["Files", "git", "Checked out elsewhere", "Checked out", "More"],
    );
    for files in [100, 10_000] {
        for git in gits {
            let scratch = Scratch::new();
            let repos = [false, true].map(|on_base| prepared(&scratch, files, on_base));
            let merge = |n: usize, turn: usize| -> Run {
                let number = (turn + 1).to_string();
                forge(&scratch, &repos[n], git).args(["pr", "merge", &number, "--squash"])
            };
            let [elsewhere, here] = numbered_in_turns(&scratch, TURNS, merge);
            page.row(&[
                files.to_string(),
                version(git),
                ms(elsewhere.wall),
                ms(here.wall),
                ms(here.wall.saturating_sub(elsewhere.wall)),
            ]);
        }
    }
}

fn forge(scratch: &Scratch, repo: &GitDir, git: &Path) -> Run {
    scratch
        .forge(repo.path(), &Identity::ADA)
        .env("FORGE_GIT", git)
}

/// Creates a repository with one pull request per turn. Its work tree is on the base branch or has
/// a detached HEAD.
fn prepared(scratch: &Scratch, files: usize, on_base: bool) -> GitDir {
    let repo = scratch.repository(if on_base { "here" } else { "elsewhere" });
    let names: Vec<_> = (0..files)
        .map(|n| format!("dir{}/file{n}.txt", n % 50))
        .collect();
    let text = "some text that a file has\n".repeat(20);
    let base: Vec<_> = names.iter().map(|n| (n.as_str(), Some(&*text))).collect();
    repo.commit("main", "Files", &base);
    for n in 1..=TURNS {
        let branch = format!("topic{n}");
        repo.set_branch(&branch, "main");
        repo.commit(&branch, "Topic", &[(&format!("new{n}.txt"), Some("new\n"))]);
        forge(scratch, &repo, Path::new("git"))
            .args(["pr", "create", "-H", &branch, "-t", "Topic", "-b", ""])
            .ok();
    }
    let on = if on_base { "main" } else { "main^{commit}" };
    repo.run(["checkout", "--quiet", "--force", on]).ok();
    repo
}
