//! Creates a repository with many pull requests.

use std::path::PathBuf;

use forge_testkit::{GitDir, Identity, Run, Scratch, many_pulls};

use crate::{
    measure::in_turns,
    page::{Page, mb, ms, ratio, time_ratio, version},
};

pub fn measure(page: &mut Page, gits: &[PathBuf]) {
    let scratch = Scratch::new();
    let small = many_pulls(&scratch, "small", 100);
    let large = many_pulls(&scratch, "large", 10_000);
    page.table(
        "Ten thousand pull requests",
        "Pull requests of 20 events each, in a plain git repository; 15 runs each in turns. Memory \
         is the larger of `forge`'s and that of a git that it runs.",
        &[
            "Command",
            "git",
            "At 100",
            "At 10,000",
            "Time",
            "Memory at 100",
            "Memory at 10,000",
        ],
    );
    for git in gits {
        let run = |repo: &GitDir, args: &[&str]| -> Run {
            scratch
                .forge(repo.path(), &Identity::ADA)
                .env("FORGE_GIT", git)
                .args(args)
        };
        for (what, at_100, at_10_000) in [
            (
                "`pr list` of 30",
                ["pr", "list"].as_slice(),
                ["pr", "list"].as_slice(),
            ),
            (
                "`pr list -s all` of 30",
                &["pr", "list", "-s", "all"],
                &["pr", "list", "-s", "all"],
            ),
            (
                "`pr view` of one",
                &["pr", "view", "51"],
                &["pr", "view", "9999"],
            ),
            (
                "`pr view --comments`",
                &["pr", "view", "51", "--comments"],
                &["pr", "view", "9999", "--comments"],
            ),
        ] {
            let [few, many] = in_turns(
                &scratch,
                15,
                [&run(&small, at_100), &run(&large, at_10_000)],
            );
            let times = time_ratio(many.wall, few.wall);
            let name = format!("{what} on git {}", version(git));
            let times = page.limit(&name, &format!("{times:.2}"), "2", times <= 2.0);
            let flat = ratio(many.peak, few.peak);
            let memory = page.limit(
                &format!("memory of {name}"),
                &mb(many.peak),
                "1.5 of that at 100",
                flat <= 1.5,
            );
            page.row(&[
                what.into(),
                version(git),
                ms(few.wall),
                ms(many.wall),
                times,
                mb(few.peak),
                memory,
            ]);
        }
    }
}
