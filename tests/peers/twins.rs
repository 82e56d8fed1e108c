//! Runs the same commands in two equal worlds: `forge` in one, and gh in the other.

use forge_github_double::Seed;
use forge_testkit::{Output, Run};
use serde_json::Value;

use crate::world::{REPO, Tool, World, sorted, words};

/// Fields of the pull requests that must be equal after both programs have run the same command.
const STATE: &str = "number,title,body,state,isDraft,author,baseRefName,headRefName,labels,\
    assignees,milestone,reviewRequests,comments,reviews,isCrossRepository,mergedBy";

/// A world in which `forge` runs, and an equal one in which gh runs.
pub struct Twins {
    pub forge: World,
    pub gh: World,
}

/// The results of a command line in both worlds.
#[derive(Debug)]
pub struct Both {
    pub forge: Output,
    pub gh: Output,
    /// The page that `forge` opened. gh has opened the same page.
    pub page: String,
}

impl Both {
    /// Asserts that both programs failed.
    #[track_caller]
    pub fn refused(&self) {
        assert_ne!(self.forge.code, Some(0), "{self:?}");
        assert!(!self.forge.stderr.is_empty(), "{self:?}");
        assert_eq!(self.forge.code, self.gh.code, "{self:?}");
    }

    /// Asserts that both programs printed `part` on stderr.
    #[track_caller]
    pub fn say(self, part: &str) {
        for out in [&self.forge, &self.gh] {
            assert!(out.stderr_text().contains(part), "{part:?}: {self:?}");
        }
    }
}

impl Twins {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// Creates two equal worlds, which `fill` gives more content than [`World::new`].
    pub fn with(fill: impl Fn(&mut Seed<'_>)) -> Self {
        let make = || {
            let world = World::new();
            fill(&mut world.double.seed());
            world
        };
        Self {
            forge: make(),
            gh: make(),
        }
    }

    /// Prepares both worlds in the same way.
    pub fn both(&self, change: impl Fn(&World)) {
        change(&self.forge);
        change(&self.gh);
    }

    pub fn push(&self, branch: &str) {
        self.both(|world| world.push(branch));
    }

    pub fn git(&self, line: &str) {
        self.both(|world| {
            let words = words(line);
            world.git(&words.iter().map(String::as_str).collect::<Vec<_>>());
        });
    }

    /// Runs a command line in both worlds, without comparing the results.
    pub fn run(&self, line: &str, change: impl Fn(&World, Run) -> Run) -> Both {
        let run = |world: &World, tool| change(world, world.command(tool, line)).output();
        Both {
            forge: run(&self.forge, Tool::Forge),
            gh: run(&self.gh, Tool::Gh),
            page: String::new(),
        }
    }

    /// Asserts that a command line has the same output, pages and exit code in both worlds.
    #[track_caller]
    pub fn same(&self, line: &str) -> Both {
        self.same_with(line, |_, run| run)
    }

    /// Works as [`Self::same`] does, but with another environment or input.
    #[track_caller]
    pub fn same_with(&self, line: &str, change: impl Fn(&World, Run) -> Run) -> Both {
        let mut both = self.run(line, change);
        let told = |world: &World, out: &Output| {
            let text = stable(&out.stdout_text());
            (text, out.code, world.opened())
        };
        let (ours, theirs) = (told(&self.forge, &both.forge), told(&self.gh, &both.gh));
        assert_eq!(
            ours, theirs,
            "{line}: forge on the left, gh on the right\n{both:?}"
        );
        both.page = ours.2;
        both
    }

    /// Works as [`Self::same`] does, and asserts that stderr is equal as well.
    #[track_caller]
    pub fn same_words(&self, line: &str) {
        let both = self.same(line);
        assert_eq!(both.forge.stderr_text(), both.gh.stderr_text(), "{line}");
    }

    /// Asserts that both programs refuse a command line with the same exit code and an empty
    /// stdout.
    #[track_caller]
    pub fn refused(&self, line: &str) -> Both {
        let both = self.same(line);
        both.refused();
        both
    }

    /// Asserts that both worlds have the same pull requests.
    #[track_caller]
    pub fn same_state(&self) {
        self.same_state_of(REPO);
    }

    /// Works as [`Self::same_state`] does, for another repository, which need not be a remote of
    /// the clone.
    #[track_caller]
    pub fn same_state_of(&self, repo: &str) {
        let (ours, theirs) = (state(&self.forge, repo), state(&self.gh, repo));
        assert_eq!(
            ours, theirs,
            "after forge on the left, after gh on the right"
        );
    }

    /// Asserts that both repositories have the same branches with the same content.
    #[track_caller]
    pub fn same_branches(&self) {
        let told = |world: &World| {
            world.git(&["fetch", "--quiet", "--prune", "origin"]);
            let format = "--format=%(refname) %(tree) %(contents) %(authoremail)";
            world.git(&["for-each-ref", format, "refs/remotes/origin/"])
        };
        assert_eq!(told(&self.forge), told(&self.gh));
    }
}

/// Replaces the numbers in a text that depend on how many objects exist.
fn stable(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    for mark in ["#issuecomment-"] {
        while let Some((before, after)) = rest.split_once(mark) {
            out.push_str(before);
            out.push_str(mark);
            rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        }
    }
    out.push_str(rest);
    let times = out.split_inclusive(['\t', '\n', '"']).map(|part| {
        let text = part.trim_end_matches(['\t', '\n', '"']);
        if text.starts_with("2026-01-01T") && text.len() == 20 {
            part.replace(text, "[time]")
        } else {
            part.to_owned()
        }
    });
    times.collect()
}

fn state(world: &World, repo: &str) -> Value {
    let list = ["pr", "list", "-R", repo, "--state", "all", "--json", STATE];
    let mut value = world.tool(Tool::Gh, &list).success().json();
    without_times(&mut value);
    sorted(&mut value);
    value
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members
                .retain(|name, _| !(name.ends_with("At") || matches!(name.as_str(), "url" | "id")));
            members.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}
