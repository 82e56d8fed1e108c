//! Measures the start-up time of commands that do nothing else.

use std::path::Path;

use forge_testkit::{Scratch, forge_binary};

use crate::{
    gh,
    measure::in_turns,
    page::{Page, mb, ms, ratio, time_ratio},
};

pub fn measure(page: &mut Page, gh: &Path) {
    let scratch = Scratch::new();
    let forge = scratch.run(forge_binary()).arg("--version");
    let gh = gh::quiet(scratch.run(gh)).arg("--version");
    let [ours, theirs] = in_turns(&scratch, 31, [&forge, &gh]);
    page.table(
        "Start",
        "`--version`, 31 runs each in turns.",
        &[
            "Program",
            "Time",
            "Memory",
            "Time, of gh's",
            "Memory, of gh's",
        ],
    );
    page.row(&[
        "gh".into(),
        ms(theirs.wall),
        mb(theirs.peak),
        String::new(),
        String::new(),
    ]);
    let time = time_ratio(ours.wall, theirs.wall);
    let memory = ratio(ours.peak, theirs.peak);
    let time = page.limit("time to start", &format!("{time:.3}"), "1/10", time <= 0.1);
    let memory = page.limit(
        "memory to start",
        &format!("{memory:.3}"),
        "1/3",
        memory <= 1.0 / 3.0,
    );
    page.row(&["forge".into(), ms(ours.wall), mb(ours.peak), time, memory]);
}
