//! `forge demo`: a pull request from first commit to merge, in a temporary repository.
//!
//! Each step is a shell line that a user could type, printed before it runs. A test runs the
//! printed lines in an empty directory and compares the refs, so steps must not depend on anything
//! that is not printed.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use clap::Args;
use forge_core::{Error, ErrorKind, Result};
use forge_git::without_secrets;

use crate::{ctx::Ctx, exit::Exit, ui::Ui};

/// `forge demo`
#[derive(Args, Debug, Default)]
pub struct DemoArgs {
    /// Keep the repository, and print its path
    #[arg(long)]
    pub keep: bool,
}

struct DemoStep {
    /// The narrator's text before the step.
    say: &'static str,
    /// The command line that the demo prints and runs.
    line: &'static str,
    /// True if the step fails on purpose, to show a refusal.
    refused: bool,
}

/// Environment variables that are removed for each step, because they could change its result.
const HIDDEN: &[&str] = &[
    "FORGE_REPO",
    "GH_REPO",
    "FORGE_FORCE_TTY",
    "GH_FORCE_TTY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
];

const fn step(say: &'static str, line: &'static str) -> DemoStep {
    DemoStep {
        say,
        line,
        refused: false,
    }
}

const STEPS: &[DemoStep] = &[
    step(
        "A repository with one commit. No server, no account.",
        "git init --quiet --initial-branch=main .",
    ),
    step(
        "",
        "git config user.name 'Ada Lovelace' && git config user.email ada@example.com",
    ),
    step(
        "",
        "printf 'Hello.\\n' > greeting.txt && git add greeting.txt && git commit --quiet -m 'Say hello'",
    ),
    step(
        "A branch with a change, and a pull request for it.",
        "git switch --quiet -c polite",
    ),
    step(
        "",
        "printf 'Hello, reader.\\n' > greeting.txt && git commit --quiet -am 'Greet the reader'",
    ),
    step(
        "",
        "forge pr create --title 'Greet the reader' --body 'A greeting should say *whom* it greets.' --label enhancement --reviewer grace",
    ),
    step("", "forge pr list"),
    step("", "forge pr diff 1"),
    step(
        "Grace reviews it: she has an e-mail address of her own, and that is all it takes.",
        "GIT_AUTHOR_NAME='Grace Hopper' GIT_AUTHOR_EMAIL=grace@example.com forge pr review 1 --request-changes --body 'Nearly.' --line 'greeting.txt:1=Which reader? Say \"dear\".'",
    ),
    step(
        "Ada pushes nothing: the head of the pull request is the branch. She commits, answers, and asks again.",
        "printf 'Hello, dear reader.\\n' > greeting.txt && git commit --quiet -am 'Be kind about it'",
    ),
    step("", "forge pr comment 1 --body 'Kinder now.'"),
    step(
        "",
        "GIT_AUTHOR_NAME='Grace Hopper' GIT_AUTHOR_EMAIL=grace@example.com forge pr review 1 --approve --body 'Good.'",
    ),
    step(
        "Meanwhile the base branch changes the same line.",
        "git switch --quiet main && printf 'Good morning.\\n' > greeting.txt && git commit --quiet -am 'Mind the hour' && git switch --quiet polite",
    ),
    DemoStep {
        say: "A merge that conflicts names the files and changes nothing.",
        line: "forge pr merge 1 --squash",
        refused: true,
    },
    step(
        "The conflict is settled on the branch, as anywhere else.",
        "git merge --quiet --strategy-option=ours -m 'Settle the greeting' main",
    ),
    step("", "forge pr merge 1 --squash"),
    step("", "git log --oneline main"),
    step("", "forge pr view 1"),
    step(
        "And this is where it all is: a ref in the repository, with its history.",
        "git log --first-parent --reverse --format='%h %an: %s' refs/forge/pulls/1",
    ),
];

/// Runs the demo. With `--keep`, keeps the repository and prints its path in the last line.
///
/// # Errors
///
/// Fails if the temporary directory cannot be created, there is no `sh`, or a step does not end as
/// intended.
pub async fn run(ctx: &Ctx, args: &DemoArgs) -> Result<Exit> {
    let dir = tempfile::Builder::new()
        .prefix("forge-demo-")
        .tempdir()
        .map_err(|e| failed(format!("no temporary directory could be made: {e}")).with_source(e))?;
    let played = play(dir.path(), &ctx.ui);
    if args.keep {
        let kept = dir.keep();
        ctx.ui
            .line(&format!("\nThe repository is in {}", kept.display()))?;
    }
    played.map(|()| Exit::Ok)
}

fn play(dir: &Path, ui: &Ui) -> Result<()> {
    let path = search_path()?;
    let colors = ui.palette();
    for step in STEPS {
        if !step.say.is_empty() {
            ui.line(&format!("\n{}", colors.gray(&format!("# {}", step.say))))?;
        }
        ui.line(&colors.bold(&format!("$ {}", step.line)))?;
        ui.flush()?;
        // The shell merges stderr into stdout, so that messages appear in order.
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &format!("{{ {}\n}} 2>&1", step.line)])
            .current_dir(dir)
            .env("PATH", &path)
            .env(
                "GIT_CONFIG_GLOBAL",
                if cfg!(windows) { "NUL" } else { "/dev/null" },
            )
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // `FORGE_CONFIG_DIR` is a directory without a configuration of forge, so that the
            // user's own configuration has no effect.
            .env("FORGE_CONFIG_DIR", dir.join(".git"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        for variable in HIDDEN {
            shell.env_remove(variable);
        }
        without_secrets(&mut shell);
        let done = shell.output().map_err(|e| {
            failed(format!("`sh` could not be started: {e}"))
                .with_hint("install a POSIX shell and put it on the PATH")
                .with_source(e)
        })?;
        ui.write(&done.stdout)?;
        if done.status.success() == step.refused {
            return Err(failed(format!(
                "`{}` ended with {}",
                step.line, done.status
            )));
        }
    }
    Ok(())
}

/// Returns `PATH` with this binary's directory in front, so that `forge` is this program.
fn search_path() -> Result<std::ffi::OsString> {
    let me = std::env::current_exe()
        .map_err(|e| failed(format!("the path of this program is unknown: {e}")).with_source(e))?;
    let own = me.parent().map(Path::to_path_buf).unwrap_or_default();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own).chain(std::env::split_paths(&rest));
    std::env::join_paths(all)
        .map_err(|e| failed(format!("PATH cannot be extended: {e}")).with_source(e))
}

fn failed(message: String) -> Error {
    Error::new(ErrorKind::Internal, message)
        .with_hint("run `forge demo --keep`, then inspect the repository that it keeps")
}
