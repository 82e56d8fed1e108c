use std::{
    fs,
    path::{Path, PathBuf},
};

use forge_github_double::{ALL_SCOPES, GitHubDouble, Options, state::Permission};
use forge_testkit::{Output, Run, Scratch, forge_binary, git_program, workspace_root};
use serde_json::Value;

/// The repository on which both programs work.
pub const REPO: &str = "octocat/tools";

/// The program under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Forge,
    Gh,
}

impl Tool {
    /// Both orders in which the programs can take turns.
    pub const TURNS: [(Self, Self); 2] = [(Self::Forge, Self::Gh), (Self::Gh, Self::Forge)];

    fn program(self) -> PathBuf {
        match self {
            Self::Forge => forge_binary(),
            Self::Gh => gh(),
        }
    }
}

/// Returns the path of the real gh: `FORGE_GH`, or by default the gh that `cargo xtask test` put
/// into `target/peers`.
fn gh() -> PathBuf {
    std::env::var_os("FORGE_GH")
        .map_or_else(|| workspace_root().join("target/peers/gh"), PathBuf::from)
}

/// Token of an account with write access.
pub const MONA: &str = "gho_monalisa0canary0monalisa0canary0mona";
/// Token of a second account with write access.
pub const REVIEWER: &str = "gho_reviewer0canary0reviewer0canary0revi";

/// A double with a repository, and a clone of that repository.
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
        let recorder = scratch.path("browser");
        let opened = scratch.path("opened");
        script(
            &recorder,
            &format!("printf '%s\\n' \"$*\" >>'{}'", opened.display()),
        );
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
            .env("BROWSER", self.scratch.path("browser"))
            .env("TMPDIR", self.scratch.path("home"))
            .env("GIT_TERMINAL_PROMPT", "0");
        self.double
            .env(token)
            .into_iter()
            .fold(run, |run, (key, value)| run.env(key, value))
    }

    /// Returns a command of Mona's in the clone. The line has no program name, and is split as a
    /// shell does.
    pub fn command(&self, tool: Tool, line: &str) -> Run {
        self.run(tool.program(), self.clone_dir(), MONA)
            .args(words(line))
    }

    /// Returns a command of another account's in the clone.
    pub fn command_as(&self, tool: Tool, token: &str, line: &str) -> Run {
        self.run(tool.program(), self.clone_dir(), token)
            .args(words(line))
    }

    /// Returns the web pages that were opened since the last call.
    pub fn opened(&self) -> String {
        let path = self.scratch.path("opened");
        let opened = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        opened
    }

    /// Creates an editor that replaces a file's text by `text`, and returns its path.
    pub fn editor(&self, text: &str) -> PathBuf {
        let path = self.scratch.path("editor");
        script(&path, &format!("printf '%s' '{text}' >\"$1\""));
        path
    }

    pub fn clone_dir(&self) -> PathBuf {
        self.scratch.path("clone")
    }

    /// Runs git in the clone.
    pub fn git(&self, args: &[&str]) -> String {
        self.run(git_program(), self.clone_dir(), MONA)
            .args(args)
            .text()
    }

    /// Runs a tool in the clone, as the given account.
    pub fn tool_as(&self, tool: Tool, token: &str, args: &[&str]) -> Output {
        self.run(tool.program(), self.clone_dir(), token)
            .args(args)
            .output()
    }

    /// Runs a tool in the clone, as Mona.
    pub fn tool(&self, tool: Tool, args: &[&str]) -> Output {
        self.tool_as(tool, MONA, args)
    }

    /// Runs a tool as [`Self::tool`] does, asserts that it succeeds, and returns its output.
    pub fn ok(&self, tool: Tool, args: &[&str]) -> String {
        self.tool(tool, args).success().stdout_text()
    }

    /// Asserts that a tool succeeds with `part` on stderr and an empty stdout.
    #[track_caller]
    pub fn says(&self, tool: Tool, args: &[&str], part: &str) {
        let out = self.tool(tool, args).success().says(part);
        assert!(out.stdout.is_empty(), "{out:?}");
    }

    /// Creates a branch with one commit, checks it out, and pushes it.
    pub fn push(&self, branch: &str) {
        self.push_to("origin", branch);
    }

    /// Works as [`Self::push`] does, for the given remote.
    pub fn push_to(&self, remote: &str, branch: &str) {
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
        self.git(&["push", "--quiet", "-u", remote, branch]);
    }

    /// Returns fields of a pull request as a tool prints them.
    pub fn fields(&self, tool: Tool, pull: &str, fields: &str) -> Value {
        let mut value = self
            .tool(tool, &["pr", "view", pull, "--json", fields])
            .success()
            .json();
        sorted(&mut value);
        value
    }

    /// Asserts that both tools print these fields with equal values.
    #[track_caller]
    pub fn same(&self, pull: &str, fields: &str) {
        if fields.contains("merge") {
            // The first read makes GitHub compute mergeability.
            self.fields(Tool::Gh, pull, "mergeable");
        }
        let (ours, theirs) = (
            self.fields(Tool::Forge, pull, fields),
            self.fields(Tool::Gh, pull, fields),
        );
        assert_eq!(ours, theirs, "forge on the left, gh on the right");
    }

    /// Asserts that both tools print the same JSON.
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

    /// Asserts that both tools print the same bytes and return the same exit code.
    #[track_caller]
    pub fn same_output(&self, args: &[&str]) {
        let (ours, theirs) = (self.tool(Tool::Forge, args), self.tool(Tool::Gh, args));
        assert_eq!(
            (ours.stdout_text(), ours.code),
            (theirs.stdout_text(), theirs.code),
            "forge on the left, gh on the right\n{ours:?}\n{theirs:?}"
        );
    }

    /// Returns the outputs of `forge` and gh for a command line, in this order.
    pub fn both(&self, line: &str) -> [Output; 2] {
        [Tool::Forge, Tool::Gh].map(|tool| self.command(tool, line).output())
    }

    /// Runs a command line that must fail.
    pub fn fails(&self, tool: Tool, line: &str) -> Output {
        self.command(tool, line).output().exits(1)
    }

    /// Asserts that both tools print the same bytes for a command line and return the same exit
    /// code.
    #[track_caller]
    pub fn same_line(&self, line: &str) {
        let [ours, theirs] = self.both(line);
        assert_eq!(
            (ours.stdout_text(), ours.code),
            (theirs.stdout_text(), theirs.code),
            "{line}: forge on the left, gh on the right\n{ours:?}\n{theirs:?}"
        );
        assert_eq!(ours.code, Some(0), "{ours:?}");
    }

    /// Asserts that both tools refuse a command line with the same exit code.
    #[track_caller]
    pub fn same_refusal_of(&self, line: &str) -> [Output; 2] {
        let [ours, theirs] = self.both(line);
        assert_eq!(ours.code, theirs.code, "{ours:?}\n{theirs:?}");
        assert_ne!(ours.code, Some(0), "{ours:?}");
        assert!(!ours.stderr.is_empty(), "{ours:?}");
        [ours, theirs]
    }

    /// Asserts that both tools refuse with the same exit code.
    #[track_caller]
    pub fn same_refusal(&self, args: &[&str]) {
        let (ours, theirs) = (self.tool(Tool::Forge, args), self.tool(Tool::Gh, args));
        assert_eq!(ours.code, theirs.code, "{ours:?}\n{theirs:?}");
        assert_ne!(ours.code, Some(0), "{ours:?}");
        assert!(!ours.stderr.is_empty(), "{ours:?}");
    }
}

/// Writes an executable shell script.
pub fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Splits a line as a shell does, but supports only quotes.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c == ' ' => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    assert!(quote.is_none(), "an open quote: {line}");
    words.extend(word);
    words
}

/// Sorts the lists that have no documented order.
pub fn sorted(value: &mut Value) {
    match value {
        Value::Object(members) => {
            // gh prints a time in year 1 if there is no time.
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
