use std::{
    fs,
    path::{Path, PathBuf},
};

use forge_testkit::{
    Output, Run, Scratch, forge_binary, git_program,
    github::{ALL_SCOPES, GitHubDouble, Options, state::Permission},
    workspace_root,
};
use serde_json::Value;

/// The repository that both tools work on.
pub const REPO: &str = "octocat/tools";

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Forge,
    Gh,
}

impl Tool {
    /// Both orders of taking turns.
    pub const TURNS: [(Self, Self); 2] = [(Self::Forge, Self::Gh), (Self::Gh, Self::Forge)];

    fn program(self) -> PathBuf {
        match self {
            Self::Forge => forge_binary(),
            Self::Gh => gh(),
        }
    }
}

/// The real gh: `FORGE_GH`, else the one that `cargo xtask test` has put into `target/peers`.
fn gh() -> PathBuf {
    std::env::var_os("FORGE_GH")
        .map_or_else(|| workspace_root().join("target/peers/gh"), PathBuf::from)
}

/// Somebody with a token.
pub const MONA: &str = "gho_monalisa0canary0monalisa0canary0mona";
/// Somebody else who may write.
pub const REVIEWER: &str = "gho_reviewer0canary0reviewer0canary0revi";

/// A double with a repository, and a clone of it.
pub struct World {
    pub double: GitHubDouble,
    pub scratch: Scratch,
}

impl World {
    pub fn new() -> Self {
        let double = GitHubDouble::start(Options::default()).unwrap();
        {
            let mut seed = double.seed();
            seed.named_user("octocat", "Mona Lisa");
            seed.user("reviewer");
            seed.token(MONA, "octocat", ALL_SCOPES);
            seed.token(REVIEWER, "reviewer", ALL_SCOPES);
            seed.repo_with_readme(REPO);
            seed.collaborator(REPO, "reviewer", Permission::Write);
            for label in ["bug", "help wanted", "good, first"] {
                seed.label(REPO, label);
            }
            seed.milestone(REPO, "v1.0");
            seed.project("octocat", "Roadmap", &["Todo", "Done"]);
        }
        let scratch = Scratch::new();
        let config = scratch.path("home/.gitconfig");
        let mut text = fs::read_to_string(&config).unwrap();
        text.push_str(
            "[user]\n\tname = Mona Lisa\n\temail = octocat@example.com\n\
             [credential \"http://github.localhost\"]\n\
             \thelper = \"!f() { echo username=x; echo password=$GH_TOKEN; }; f\"\n",
        );
        fs::write(&config, text).unwrap();
        let world = Self { double, scratch };
        let url = format!("http://github.localhost/{REPO}.git");
        world
            .run(git_program(), world.scratch.path(""), MONA)
            .args(["clone", "--quiet", &url, "clone"])
            .ok();
        world
    }

    fn run(&self, program: PathBuf, dir: impl AsRef<Path>, token: &str) -> Run {
        let run = self
            .scratch
            .run(program)
            .dir(dir)
            .env("GH_CONFIG_DIR", self.scratch.path("home/gh"))
            .env("GH_TELEMETRY", "false")
            .env("GH_NO_UPDATE_NOTIFIER", "1")
            .env("GIT_TERMINAL_PROMPT", "0");
        self.double
            .env(token)
            .into_iter()
            .fold(run, |run, (key, value)| run.env(key, value))
    }

    pub fn clone_dir(&self) -> PathBuf {
        self.scratch.path("clone")
    }

    /// git in the clone.
    pub fn git(&self, args: &[&str]) -> String {
        self.run(git_program(), self.clone_dir(), MONA)
            .args(args)
            .text()
    }

    /// A tool in the clone, as somebody.
    pub fn tool_as(&self, tool: Tool, token: &str, args: &[&str]) -> Output {
        self.run(tool.program(), self.clone_dir(), token)
            .args(args)
            .output()
    }

    /// A tool in the clone, as Mona.
    pub fn tool(&self, tool: Tool, args: &[&str]) -> Output {
        self.tool_as(tool, MONA, args)
    }

    /// As [`Self::tool`], with what has to work.
    pub fn ok(&self, tool: Tool, args: &[&str]) -> String {
        self.tool(tool, args).success().stdout_text()
    }

    /// A tool works, and says `part` on standard error and nothing on standard output.
    #[track_caller]
    pub fn says(&self, tool: Tool, args: &[&str], part: &str) {
        let out = self.tool(tool, args).success().says(part);
        assert!(out.stdout.is_empty(), "{out:?}");
    }

    /// A branch with one commit, pushed and checked out.
    pub fn push(&self, branch: &str) {
        self.git(&["checkout", "--quiet", "-B", branch, "origin/main"]);
        let name = format!("{}.txt", branch.replace('/', "-"));
        fs::write(self.clone_dir().join(&name), "one\ntwo\nthree\n").unwrap();
        self.git(&["add", "."]);
        self.git(&[
            "commit",
            "--quiet",
            "-m",
            &format!("Add {name}"),
            "-m",
            "Why.",
        ]);
        self.git(&["push", "--quiet", "-u", "origin", branch]);
    }

    /// Fields of a pull request as a tool tells them.
    pub fn fields(&self, tool: Tool, pull: &str, fields: &str) -> Value {
        let mut value = self
            .tool(tool, &["pr", "view", pull, "--json", fields])
            .success()
            .json();
        sorted(&mut value);
        value
    }

    /// Both tools see the same.
    #[track_caller]
    pub fn same(&self, pull: &str, fields: &str) {
        if fields.contains("merge") {
            // The first look has GitHub work out what can be merged.
            self.fields(Tool::Gh, pull, "mergeable");
        }
        let (ours, theirs) = (
            self.fields(Tool::Forge, pull, fields),
            self.fields(Tool::Gh, pull, fields),
        );
        assert_eq!(ours, theirs, "forge on the left, gh on the right");
    }

    /// Both tools write the same JSON.
    #[track_caller]
    pub fn same_json(&self, args: &[&str]) {
        let json = |tool: Tool| {
            let mut value = self.tool(tool, args).success().json();
            sorted(&mut value);
            value
        };
        let (ours, theirs) = (json(Tool::Forge), json(Tool::Gh));
        assert_eq!(ours, theirs, "forge on the left, gh on the right");
    }

    /// Both tools write the same bytes and end alike.
    #[track_caller]
    pub fn same_output(&self, args: &[&str]) {
        let (ours, theirs) = (self.tool(Tool::Forge, args), self.tool(Tool::Gh, args));
        assert_eq!(
            (ours.stdout_text(), ours.code),
            (theirs.stdout_text(), theirs.code),
            "forge on the left, gh on the right\n{ours:?}\n{theirs:?}"
        );
    }

    /// Both tools refuse with the same exit code.
    #[track_caller]
    pub fn same_refusal(&self, args: &[&str]) {
        let (ours, theirs) = (self.tool(Tool::Forge, args), self.tool(Tool::Gh, args));
        assert_eq!(ours.code, theirs.code, "{ours:?}\n{theirs:?}");
        assert_ne!(ours.code, Some(0), "{ours:?}");
        assert!(!ours.stderr.is_empty(), "{ours:?}");
    }
}

/// Brings lists whose order nobody promises into one order.
fn sorted(value: &mut Value) {
    match value {
        Value::Object(members) => {
            // gh prints the year 1 where GitHub has no time.
            for member in members.values_mut() {
                if *member == "0001-01-01T00:00:00Z" {
                    *member = Value::Null;
                }
            }
            members.values_mut().for_each(sorted);
        }
        Value::Array(items) => {
            items.iter_mut().for_each(sorted);
            items.sort_by_key(Value::to_string);
        }
        _ => {}
    }
}
