//! Runs the worked example of a workflow with MCP's official Python client, in a git repository and
//! on the GitHub double. `tests/atproto/workflow.rs` runs it on a real PDS.

use forge_github_double::{ALL_SCOPES, GitHubDouble, Options, state::Permission};
use forge_testkit::{Identity, Run, Scratch};

use crate::workflow_client::{python, run_example};

const REPO: &str = "octo/tools";
const TOKEN: &str = "gho_canary0canary0canary0canary0canary00";

/// Creates a home directory with a configuration that names the store.
fn home(store: &str) -> Scratch {
    let scratch = Scratch::new();
    let file = format!("[workflow]\nstore = \"{store}\"\n");
    scratch.write("home/.config/forge/config.toml", file);
    scratch
}

#[test]
fn r_001_12_python_client_runs_the_story_in_a_repository() {
    let Some(python) = python() else {
        return;
    };
    for store in ["fields", "labels"] {
        let scratch = home(store);
        let git = scratch.repository("repo");
        git.commit("work", "Work", &[("work.txt", Some("x\n"))]);
        let run = || scratch.forge(git.path(), &Identity::ADA);
        run().args(["workflow", "init"]).ok();
        let create = ["issue", "create", "-t", "It breaks", "-b", "Often."];
        run().args(create).ok();
        run_example(&python, run(), ".", "1", "work", "squash");
    }
}

#[test]
fn r_001_12_python_client_runs_the_story_on_github() {
    let Some(python) = python() else {
        return;
    };
    for store in ["labels", "fields\"\nboard = \"octo/1"] {
        let double = GitHubDouble::start(Options::default()).unwrap();
        {
            let mut seed = double.seed();
            seed.set_clock_to_now();
            seed.org("octo", &[("ada", Permission::Admin)]);
            seed.token(TOKEN, "ada", ALL_SCOPES);
            seed.repo_with_readme(REPO);
            seed.project("octo", "Work", &["Todo", "In Progress", "Done"]);
            seed.commit(REPO, "work", &[("work.txt", Some("x\n"))], "Work");
            seed.open_issue(REPO, "ada", "It breaks", "Often.");
        }
        let scratch = home(store);
        let run = || -> Run {
            let run = scratch.forge(&scratch.path(""), &Identity::ADA);
            let env = double.env(TOKEN).into_iter();
            env.fold(run, |run, (key, value)| run.env(key, value))
        };
        run().args(["workflow", "init", "-R", REPO]).ok();
        run_example(&python, run(), REPO, "1", "work", "squash");
    }
}
