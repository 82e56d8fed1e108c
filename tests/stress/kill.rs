//! Kills processes at a random step. The repository must then read as before or as after the
//! command, and repeating the command must succeed.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use forge_testkit::{GitDir, GitShim, Identity, Random, Run, Scratch, ShimPlan};

/// Number of kills; `FORGE_KILLS` sets another number.
const KILLS: u64 = 400;

/// A command, and the result that repeating it must have.
struct Scenario {
    name: &'static str,
    command: &'static [&'static str],
    /// Result of repeating a command that took effect: a success, or an error with this text.
    /// `None` if the command does its work again, such as writing a second comment.
    again: Option<&'static str>,
    /// Commands that print further state as JSON. Pull requests and branches are always read.
    also: &'static [&'static str],
}

const fn scenario(
    name: &'static str,
    command: &'static [&'static str],
    again: Option<&'static str>,
) -> Scenario {
    Scenario {
        name,
        command,
        again,
        also: &[],
    }
}

impl Scenario {
    const fn and(mut self, also: &'static [&'static str]) -> Self {
        self.also = also;
        self
    }
}

/// Placeholder for the thread of pull request 1 in a command.
const THREAD: &str = "<thread>";

const THREADS: &[&str] = &[
    "pr",
    "thread",
    "list",
    "1",
    "--json",
    "id,path,line,isResolved,resolvedBy,comments",
];

const ISSUES: &[&str] = &[
    "issue",
    "list",
    "-s",
    "all",
    "--json",
    "number,title,body,state,stateReason,labels,comments",
];

const SCENARIOS: &[Scenario] = &[
    scenario(
        "create",
        &[
            "pr", "create", "-H", "new", "-t", "New", "-b", "Text", "-l", "bug", "-r", "grace",
        ],
        Some("already"),
    ),
    scenario(
        "create --edit",
        &[
            "pr", "create", "-H", "edited", "-t", "New", "-b", "Text", "--edit", "new=-",
        ],
        Some("already"),
    ),
    scenario("edit", &["pr", "edit", "1", "-t", "Other"], Some("")),
    scenario("edit -B", &["pr", "edit", "1", "-B", "release"], Some("")),
    scenario(
        "label",
        &["pr", "edit", "1", "--add-label", "bug"],
        Some(""),
    ),
    scenario("comment", &["pr", "comment", "1", "-b", "Hello"], None),
    scenario(
        "comment --edit-last",
        &["pr", "comment", "1", "--edit-last", "-b", "Hello"],
        Some(""),
    ),
    scenario(
        "comment --delete-last",
        &["pr", "comment", "1", "--delete-last", "--yes"],
        Some("no comments found"),
    ),
    scenario(
        "review",
        &[
            "pr",
            "review",
            "1",
            "-c",
            "-b",
            "Text",
            "--line",
            "one:1=Why?",
            "--line",
            "one:1=Really?",
        ],
        None,
    )
    .and(THREADS),
    scenario(
        "thread reply",
        &["pr", "thread", "reply", "1", THREAD, "-b", "Because."],
        None,
    )
    .and(THREADS),
    scenario(
        "thread resolve",
        &["pr", "thread", "resolve", "1", THREAD],
        Some(""),
    )
    .and(THREADS),
    scenario("close", &["pr", "close", "1"], Some("")),
    scenario("close -d", &["pr", "close", "1", "-d"], Some("")),
    scenario("reopen", &["pr", "reopen", "2"], Some("")),
    scenario("ready", &["pr", "ready", "3"], Some("")),
    scenario("ready --undo", &["pr", "ready", "1", "--undo"], Some("")),
    scenario("update-branch", &["pr", "update-branch", "1"], Some("")),
    scenario(
        "update-branch --rebase",
        &["pr", "update-branch", "1", "--rebase"],
        Some(""),
    ),
    scenario("merge", &["pr", "merge", "1", "--merge"], Some("")),
    scenario("squash", &["pr", "merge", "1", "--squash"], Some("")),
    scenario("rebase", &["pr", "merge", "1", "--rebase"], Some("")),
    scenario("merge -d", &["pr", "merge", "1", "--merge", "-d"], Some("")),
    scenario(
        "issue create",
        &["issue", "create", "-t", "New", "-b", "Text", "-l", "bug"],
        None,
    )
    .and(ISSUES),
    scenario("issue close", &["issue", "close", "1", "-c", "Done."], None).and(ISSUES),
    scenario(
        "issue comment",
        &["issue", "comment", "1", "-b", "Hello"],
        None,
    )
    .and(ISSUES),
];

/// The state of a repository, as the reading commands print it.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    pulls: serde_json::Value,
    also: serde_json::Value,
    branches: String,
}

/// Start of the line that lists the head branch of pull request 1.
const HEAD: &str = "refs/heads/one ";

impl Seen {
    /// Returns the branches whose line does not start with `name`.
    fn without(&self, name: &str) -> String {
        self.branches
            .lines()
            .filter(|line| !line.starts_with(name))
            .collect()
    }

    /// Returns this state with the number of the newest pull request reduced by one, as if no
    /// number had been skipped.
    fn without_a_gap(&self) -> Self {
        let mut seen = self.clone();
        let newest = seen.pulls.as_array_mut().and_then(|all| all.first_mut());
        if let Some(number) = newest.map(|pull| &mut pull["number"]) {
            *number = number.as_u64().map(|n| n - 1).into();
        }
        seen
    }
}

const FIELDS: &str = "number,title,body,state,isDraft,baseRefName,headRefName,headRefOid,labels,\
                      comments,reviews,reviewRequests,mergeCommit,closed,mergedBy";

struct World {
    scratch: Scratch,
    model: PathBuf,
    thread: String,
    next: AtomicU64,
}

impl World {
    fn new() -> Self {
        let scratch = Scratch::new();
        let git = scratch.repository("model");
        for branch in ["one", "two", "three", "new"] {
            git.commit(branch, "First", &[(branch, Some("1\n"))]);
            git.commit(branch, "Second", &[(branch, Some("2\n"))]);
        }
        git.commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
        git.run(["branch", "release", "main"]).ok();
        let mut world = Self {
            model: git.path().to_path_buf(),
            thread: String::new(),
            scratch,
            next: AtomicU64::new(0),
        };
        let create = ["pr", "create", "-b", "Text"];
        for args in [
            [&create[..], &["-H", "one", "-t", "One"]].concat(),
            [&create[..], &["-H", "two", "-t", "Two"]].concat(),
            [&create[..], &["-H", "three", "-t", "Three", "-d"]].concat(),
            vec!["pr", "close", "2"],
            vec!["pr", "comment", "1", "-b", "First."],
            vec!["pr", "review", "1", "-c", "--line", "one:1=Hm?"],
            vec!["issue", "create", "-t", "It breaks", "-b", "Often."],
        ] {
            world.forge(&world.model, &args).ok();
        }
        let threads = world.forge(&world.model, THREADS).output().success().json();
        world.thread = threads[0]["id"].as_str().unwrap().to_owned();
        world
    }

    /// Copies the model repository, and returns the copy's path.
    fn copy(&self) -> PathBuf {
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        let to = self.scratch.path(format!("copy-{n}"));
        Run::new("cp", "/").arg("-R").arg(&self.model).arg(&to).ok();
        to
    }

    /// Returns `forge` with a fixed date, so that the same command writes the same objects in equal
    /// repositories.
    fn forge(&self, dir: &Path, args: &[&str]) -> Run {
        self.scratch
            .forge(dir, &Identity::ADA)
            .env("GIT_AUTHOR_DATE", "2026-02-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-02-01T00:00:00Z")
            .stdin("piped\n")
            .args(args)
    }

    fn run(&self, dir: &Path, scenario: &Scenario) -> Run {
        let known = |arg: &&'static str| match *arg {
            THREAD => self.thread.as_str(),
            other => other,
        };
        let args: Vec<_> = scenario.command.iter().map(known).collect();
        self.forge(dir, &args)
    }

    fn look(&self, dir: &Path, scenario: &Scenario) -> Seen {
        // URLs contain the name of the directory, which differs between copies.
        let name = dir.file_name().unwrap().to_str().unwrap().to_owned();
        let json = |args: &[&str]| -> serde_json::Value {
            let out = self.forge(dir, args).output().success();
            serde_json::from_str(&out.stdout_text().replace(&name, "")).unwrap()
        };
        let git = GitDir::at(dir);
        Seen {
            pulls: json(&["pr", "list", "-s", "all", "--json", FIELDS]),
            also: match scenario.also {
                [] => serde_json::Value::Null,
                args => json(args),
            },
            branches: git
                .run(["for-each-ref", "--format=%(refname) %(tree)", "refs/heads"])
                .text(),
        }
    }
}

fn plan(random: &mut Random, calls: u64) -> ShimPlan {
    // The last calls of git write the refs, so half of the kills happen at these calls.
    let at = match random.below(2) {
        0 => 1 + random.below(calls),
        _ => calls - random.below(calls.min(4)),
    };
    let delay = [0, 0, 1, 2, 5][usize::try_from(random.below(5)).unwrap()];
    match random.below(8) {
        0 | 1 => ShimPlan::KillBefore { at },
        2 | 3 => ShimPlan::KillAfter { at },
        4 | 5 => ShimPlan::KillDuring { at, delay },
        6 => ShimPlan::KillGit { at, delay },
        _ => ShimPlan::KillBoth { at, delay },
    }
}

/// The result of a scenario that was not killed.
struct Undisturbed {
    old: Seen,
    new: Seen,
    calls: u64,
}

fn undisturbed(world: &World, scenario: &Scenario) -> Undisturbed {
    let dir = world.copy();
    let old = world.look(&dir, scenario);
    let name = scenario.name.replace(' ', "");
    let shim = GitShim::new(&world.scratch, &format!("count-{name}"), ShimPlan::Count);
    world
        .run(&dir, scenario)
        .env("FORGE_GIT", shim.program())
        .ok();
    let calls = shim.calls().len() as u64;
    let new = world.look(&dir, scenario);
    assert_ne!(old, new, "{} changes nothing", scenario.name);
    fs::remove_dir_all(&dir).unwrap();
    Undisturbed { old, new, calls }
}

/// Returns the lock files that a killed git has left. Other git processes of `forge` may still run,
/// but they remove their own locks.
fn locks(dir: &Path) -> Vec<PathBuf> {
    let mut left = locks_now(dir);
    let mut same = 0;
    while !left.is_empty() && same < 10 {
        thread::sleep(Duration::from_millis(20));
        let next = locks_now(dir);
        same = if next == left { same + 1 } else { 0 };
        left = next;
    }
    left
}

fn locks_now(dir: &Path) -> Vec<PathBuf> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "lock") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&dir.join(".git"), &mut found);
    found.sort();
    found
}

#[derive(Default)]
struct Tally {
    struck: u64,
    old: u64,
    new: u64,
    locked: u64,
}

/// Kills a scenario's command once. Fails with a description of how the result differs from the
/// expected one.
fn once(
    world: &World,
    scenario: &Scenario,
    calm: &Undisturbed,
    seed: u64,
    tally: &Mutex<Tally>,
) -> Result<(), String> {
    let mut random = Random::new(seed);
    let plan = plan(&mut random, calm.calls);
    let dir = world.copy();
    let shim = GitShim::new(&world.scratch, &format!("kill-{seed}"), plan);
    let killed = world
        .run(&dir, scenario)
        .env("FORGE_GIT", shim.program())
        .output();
    let struck = shim.struck(killed.code);
    let at = |what: &str| {
        format!(
            "{} under {plan:?}: {what}\n{killed:?}\ncalls: {:#?}",
            scenario.name,
            shim.calls()
        )
    };
    let left = locks(&dir);
    let seen = world.look(&dir, scenario);
    let is_new = seen == calm.new;
    let git_was_killed = matches!(plan, ShimPlan::KillGit { .. } | ShimPlan::KillBoth { .. });
    // git writes the refs of a transaction one after the other. The ref of the pull request decides
    // whether the merge happened. If git is killed before it deletes the merged branch, that branch
    // may remain.
    let outlived = git_was_killed
        && scenario.command.contains(&"-d")
        && seen.pulls == calm.new.pulls
        && seen.without(HEAD) == calm.new.without(HEAD);
    if !is_new && seen != calm.old && !outlived {
        return Err(at(&format!(
            "neither the old nor the new state\n{seen:#?}\nold: {:#?}",
            calm.old
        )));
    }
    if killed.code == Some(0) && !is_new {
        return Err(at("it said that it had succeeded, and nothing has changed"));
    }
    {
        let mut tally = tally.lock().unwrap();
        tally.struck += u64::from(struck);
        tally.new += u64::from(is_new);
        tally.old += u64::from(!is_new);
        tally.locked += u64::from(!left.is_empty());
    }
    // A killed git leaves its lock files. Only a person can decide that nobody uses them any more.
    for lock in left {
        fs::remove_file(lock).map_err(|e| at(&e.to_string()))?;
    }
    match (is_new, scenario.again) {
        (true, None) => {}
        (true, Some(word)) => {
            let again = world.run(&dir, scenario).output();
            let fine =
                again.code == Some(0) || (!word.is_empty() && again.stderr_text().contains(word));
            if !fine {
                return Err(at(&format!("given again, it fails\n{again:?}")));
            }
        }
        (false, _) => {
            let again = world.run(&dir, scenario).output();
            if again.code != Some(0) {
                return Err(at(&format!("given again, it fails\n{again:?}")));
            }
        }
    }
    let after = world.look(&dir, scenario);
    // `forge` allocates a number before it writes the pull request. A kill between the two steps
    // leaves a permanent gap.
    let skipped = git_was_killed && !is_new && after.without_a_gap() == calm.new;
    if after != calm.new && !skipped {
        return Err(at(&format!(
            "given again, it ends elsewhere\n{after:#?}\nnew: {:#?}",
            calm.new
        )));
    }
    fs::remove_dir_all(&dir).map_err(|e| at(&e.to_string()))
}

#[test]
fn killed_command_has_full_effect_or_none() {
    let world = World::new();
    let calm: Vec<_> = SCENARIOS.iter().map(|s| undisturbed(&world, s)).collect();
    let mut random = Random::from_env();
    let one = std::env::var("FORGE_SEED").is_ok();
    let kills = std::env::var("FORGE_KILLS")
        .ok()
        .map_or(KILLS, |n| n.parse().unwrap());
    println!("seed {}", random.seed());
    // A seed from the environment repeats one kill. Otherwise each kill has a different seed.
    let seeds: Vec<u64> = if one {
        vec![random.seed()]
    } else {
        (0..kills).map(|_| random.bits() >> 1).collect()
    };
    let (tally, next, failures) = (
        Mutex::new(Tally::default()),
        AtomicU64::new(0),
        Mutex::new(Vec::new()),
    );
    let workers = thread::available_parallelism().map_or(2, |n| n.get() * 2);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let n = usize::try_from(next.fetch_add(1, Ordering::SeqCst)).unwrap();
                    let Some(&seed) = seeds.get(n) else { return };
                    let which = usize::try_from(seed % SCENARIOS.len() as u64).unwrap();
                    if let Err(e) = once(&world, &SCENARIOS[which], &calm[which], seed, &tally) {
                        failures
                            .lock()
                            .unwrap()
                            .push(format!("FORGE_SEED={seed}: {e}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    let tally = tally.into_inner().unwrap();
    println!(
        "{} kills: {} struck, {} left the old state, {} the new one, {} left a lock file",
        seeds.len(),
        tally.struck,
        tally.old,
        tally.new,
        tally.locked
    );
    assert!(
        failures.is_empty(),
        "{} of {} kills; the first:\n{}\nall: {}",
        failures.len(),
        seeds.len(),
        failures[0],
        failures
            .iter()
            .map(|f| f.split(':').next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join(" ")
    );
    if !one {
        assert!(
            tally.struck * 4 >= kills * 3,
            "too few kills struck: {}",
            tally.struck
        );
        assert!(
            tally.old > 0 && tally.new > 0,
            "the kills met one side alone"
        );
    }
}

#[test]
fn stale_lock_file_is_named() {
    let world = World::new();
    let dir = world.copy();
    let lock = dir.join(".git/refs/forge/pulls/1.lock");
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let old = filetime(&lock);
    let refused = world
        .forge(&dir, &["pr", "edit", "1", "-t", "Other"])
        .output()
        .exits(1);
    assert!(old, "the lock is made old");
    let said = refused.stderr_text();
    assert!(said.contains("1.lock"), "{said}");
    assert!(said.contains("Recovery: "), "{said}");
    let any = &SCENARIOS[0];
    assert_eq!(world.look(&dir, any), world.look(&world.model, any));
    fs::remove_file(&lock).unwrap();
    world.forge(&dir, &["pr", "edit", "1", "-t", "Other"]).ok();
}

/// Sets the modification time of a file to one day ago.
fn filetime(path: &Path) -> bool {
    let day = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(day).is_ok()
}
