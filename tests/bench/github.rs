//! Compares `forge` with the real gh on the GitHub double.

use std::{path::Path, time::Duration};

use forge_testkit::Run;

use crate::{
    hub::{CREATING, Hub, PROGRAMS, Place, SEEN, branch},
    measure::{Sample, numbered_in_turns},
    page::{Page, mb, ms, ratio, time_ratio},
};

/// Number of runs per median.
const TIMES: usize = 11;
/// Number of runs before the timed ones, which only count requests: one run without gh's cache, and
/// one with it.
const COUNTED: usize = 2;
const TURNS: usize = TIMES + COUNTED;

/// The branch or pull request that a command needs.
#[derive(Clone, Copy, Debug)]
enum On {
    /// The pull request [`SEEN`], or the list of all pull requests. The command changes nothing.
    Reading,
    /// The branch that this command of [`CREATING`] uses in the current turn.
    Branch(&'static str),
    /// The pull request of the current turn in the set with this number. Commands with the same set
    /// change the same pull requests, in the order of [`COMMANDS`].
    Pull(usize),
}

struct Command {
    args: &'static [&'static str],
    on: On,
    /// Maximum of the command's time as a share of gh's time, at 100 ms per request.
    most: f64,
}

const fn command(on: On, args: &'static [&'static str]) -> Command {
    Command {
        args,
        on,
        most: 1.0,
    }
}

const SETS: usize = 2;

/// Maximum time of a view as a share of gh's time. A view with `--json` may take as long as gh,
/// because gh then needs only one request too.
const VIEW: f64 = 0.55;

/// Commands to compare. `{}` is replaced by the pull request or its branch.
const COMMANDS: &[Command] = &[
    command(On::Reading, &["list"]),
    command(On::Reading, &["list", "--label", "bug"]),
    command(On::Reading, &["list", "--search", "tools in:title"]),
    command(
        On::Reading,
        &["list", "--json", "number,title,labels,author"],
    ),
    Command {
        most: VIEW,
        ..command(On::Reading, &["view", SEEN])
    },
    Command {
        most: VIEW,
        ..command(On::Reading, &["view"])
    },
    Command {
        most: VIEW,
        ..command(On::Reading, &["view", SEEN, "--comments"])
    },
    command(On::Reading, &["view", SEEN, "--json", "number,title,body"]),
    command(
        On::Reading,
        &["view", SEEN, "--json", "comments,reviews,files,commits"],
    ),
    command(On::Reading, &["status"]),
    command(On::Reading, &["checks", SEEN]),
    command(On::Reading, &["diff", SEEN]),
    command(On::Reading, &["diff", SEEN, "--name-only"]),
    command(
        On::Branch(CREATING[0]),
        &["create", "-H", "{}", "-t", "Title", "-b", "Body"],
    ),
    Command {
        most: 0.45,
        ..command(
            On::Branch(CREATING[1]),
            &[
                "create", "-H", "{}", "-t", "Title", "-b", "Body", "-l", "bug", "-a", "@me", "-r",
                "reviewer", "-m", "v1.0",
            ],
        )
    },
    command(On::Pull(0), &["comment", "{}", "-b", "Said."]),
    command(
        On::Pull(0),
        &["comment", "{}", "--edit-last", "-b", "Said again."],
    ),
    command(On::Pull(0), &["review", "{}", "--approve", "-b", "Good."]),
    command(On::Pull(0), &["edit", "{}", "--title", "Title"]),
    command(On::Pull(0), &["edit", "{}", "--add-label", "help wanted"]),
    command(
        On::Pull(0),
        &[
            "edit",
            "{}",
            "-t",
            "New",
            "-b",
            "New",
            "--add-label",
            "bug",
            "--add-assignee",
            "@me",
            "--add-reviewer",
            "reviewer",
            "-m",
            "v1.0",
        ],
    ),
    command(On::Pull(0), &["ready", "{}", "--undo"]),
    command(On::Pull(0), &["ready", "{}"]),
    command(On::Pull(0), &["close", "{}"]),
    command(On::Pull(0), &["reopen", "{}"]),
    command(On::Pull(0), &["merge", "{}", "--merge"]),
    command(On::Pull(1), &["merge", "{}", "--squash", "--delete-branch"]),
];

impl Command {
    fn run(&self, hub: &Hub, program: usize, turn: usize) -> Run {
        let (place, object) = match self.on {
            On::Reading => (Place::Reading, String::new()),
            On::Branch(name) => (Place::Changes, branch(name, program, turn)),
            On::Pull(set) => {
                let before = (set * TURNS + turn) * PROGRAMS + program;
                (Place::Changes, (before + 1).to_string())
            }
        };
        let args = self.args.iter().map(|arg| arg.replace("{}", &object));
        hub.program(program, place).arg("pr").args(args)
    }

    /// Returns the command line without the arguments that all commands share.
    fn name(&self) -> String {
        let shown = |arg: &&str| {
            if arg.contains(' ') {
                format!("'{arg}'")
            } else {
                arg.replace("{}", "N")
            }
        };
        let words: Vec<_> = self.args.iter().map(shown).collect();
        format!("`pr {}`", words.join(" "))
    }

    /// Measures a run without gh's cache, a run with the cache, and the medians of further runs.
    fn measure(&self, hub: &Hub) -> Figures {
        hub.delete_gh_cache();
        let counts = std::array::from_fn(|turn| {
            std::array::from_fn(|program| hub.count(&self.run(hub, program, turn)))
        });
        let samples = numbered_in_turns(&hub.scratch, TIMES, |program, turn| {
            self.run(hub, program, COUNTED + turn)
        });
        Figures { counts, samples }
    }
}

struct Figures {
    counts: [[usize; PROGRAMS]; COUNTED],
    samples: [Sample; PROGRAMS],
}

pub fn measure(page: &mut Page, gh: &Path) {
    let hubs = [0, 100].map(|ms| Hub::new(Duration::from_millis(ms), gh, SETS, TURNS));
    let figures: Vec<[Figures; 2]> = COMMANDS
        .iter()
        .map(|command| hubs.each_ref().map(|hub| command.measure(hub)))
        .collect();
    requests(page, &figures);
    for (n, ms) in [(1, 100), (0, 0)] {
        times(page, &figures, n, ms);
    }
    resources(page, &figures);
}

fn requests(page: &mut Page, figures: &[[Figures; 2]]) {
    page.table(
        "GitHub: requests",
        "`forge` and the real gh take turns in clones, on a server on this machine that answers as \
         GitHub does. Every object is changed once. gh asks a server for its features and caches \
         the answer for a day. The last column is without that cache, all other figures with it.",
        &["Command", "forge", "gh", "gh, first time"],
    );
    for (command, [figures, _]) in COMMANDS.iter().zip(figures) {
        let [[_, cold], [ours, theirs]] = figures.counts;
        let name = command.name();
        let ours = page.limit(
            &format!("requests of {name}"),
            &ours.to_string(),
            &theirs.to_string(),
            ours <= theirs,
        );
        page.row(&[name, ours, theirs.to_string(), cold.to_string()]);
    }
}

fn times(page: &mut Page, figures: &[[Figures; 2]], latency: usize, each: u64) {
    page.table(
        &format!("GitHub: time at {each} ms"),
        &format!(
            "From start to end; the server waits {each} ms before each answer; {TIMES} runs each in \
             turns. Both figures include the time of the server itself, whose merges git makes. If \
             gh needs one request too (`--json`), half of its time is out of reach."
        ),
        &["Command", "forge", "gh", "forge, of gh's"],
    );
    for (command, figures) in COMMANDS.iter().zip(figures) {
        let [ours, theirs] = figures[latency].samples.map(|s| s.wall);
        let part = time_ratio(ours, theirs);
        let mut cell = format!("{part:.2}");
        if each == 100 {
            let what = format!("time of {} at {each} ms", command.name());
            let most = format!("{:.2}", command.most);
            cell = page.limit(&what, &cell, &most, part <= command.most);
        }
        page.row(&[command.name(), ms(ours), ms(theirs), cell]);
    }
}

fn resources(page: &mut Page, figures: &[[Figures; 2]]) {
    page.table(
        "GitHub: processor and memory",
        "The same runs at 0 ms. Processor time is user and system, with that of a git that is run; \
         memory is the larger of the program's and that of a git that it runs.",
        &[
            "Command",
            "Processor, forge",
            "gh",
            "forge, of gh's",
            "Memory, forge",
            "gh",
            "forge, of gh's",
        ],
    );
    for (command, [figures, _]) in COMMANDS.iter().zip(figures) {
        let [ours, theirs] = figures.samples;
        let (cpu, memory) = (
            time_ratio(ours.cpu, theirs.cpu),
            ratio(ours.peak, theirs.peak),
        );
        let (mut cpu_cell, mut memory_cell) = (format!("{cpu:.2}"), format!("{memory:.2}"));
        if command.args == ["list"] {
            let what = format!("processor time of {}", command.name());
            cpu_cell = page.limit(&what, &cpu_cell, "0.25", cpu <= 0.25);
            let what = format!("memory of {}", command.name());
            memory_cell = page.limit(&what, &memory_cell, "0.4", memory <= 0.4);
        }
        page.row(&[
            command.name(),
            ms(ours.cpu),
            ms(theirs.cpu),
            cpu_cell,
            mb(ours.peak),
            mb(theirs.peak),
            memory_cell,
        ]);
    }
}
