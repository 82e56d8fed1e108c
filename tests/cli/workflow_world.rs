//! A git repository with issues that follow a workflow.

use std::fs;

use forge_testkit::{Identity, Output, Run};
use serde_json::Value;

use crate::world::World;

impl World {
    /// Creates a world with this many issues, numbered from 1.
    pub fn with_issues(count: u64) -> Self {
        let world = Self::new();
        for number in 1..=count {
            world.issue(&format!("Issue {number}"));
        }
        world
    }

    /// Opens an issue.
    pub fn issue(&self, title: &str) {
        self.now(&["issue", "create", "-t", title, "-b", "Text."])
            .ok();
    }

    /// Returns `forge` with the real clock, because leases expire.
    pub fn now(&self, args: &[&str]) -> Run {
        self.forge_as(&Identity::ADA, args)
            .without_env("GIT_AUTHOR_DATE")
            .without_env("GIT_COMMITTER_DATE")
    }

    /// Runs `forge workflow`, and returns its JSON output.
    pub fn workflow(&self, args: &[&str]) -> Value {
        let all = [&["workflow"], args, &["--json"]].concat();
        self.now(&all).output().success().json()
    }

    /// Runs `forge workflow`, and asserts its exit code.
    pub fn workflow_fails(&self, args: &[&str], code: i32) -> Output {
        let all = [&["workflow"], args].concat();
        self.now(&all).output().exits(code)
    }

    /// Moves an issue into a state of ralph's workflow, with a command that may set the state.
    pub fn put(&self, issue: &str, state: &str) {
        let command = match state {
            "Backlog" => "split",
            "Plan in Progress" | "Plan in Review" => "plan",
            "Research in Progress" => "research",
            "In Progress" | "In Review" => "impl",
            _ => "triage",
        };
        let state = match state {
            "Canceled" => "__CANCEL__",
            "Done" => "__CLOSE__",
            state => state,
        };
        let args = ["set-state", issue, state, "--command", command];
        self.workflow(&[&args[..], &["--force", "--reason", "test"]].concat());
    }

    /// Claims an issue with the real clock, and returns the claim's id.
    pub fn claim(&self, issue: &str, command: &str, more: &[&str]) -> String {
        let args = ["claim", issue, "--command", command];
        let claimed = self.workflow(&[&args[..], more].concat());
        claimed["claim"]["id"].as_str().unwrap().to_owned()
    }

    /// Returns the workflow state of an issue, or `null`.
    pub fn state(&self, issue: &str) -> Value {
        let found = self.now(&["issue", "view", issue, "--json", "values,labels"]);
        let found = found.output().success().json();
        let labels = found["labels"].as_array().into_iter().flatten();
        let mut names = labels.filter_map(|l| l["name"].as_str()?.strip_prefix("state: "));
        match names.next() {
            Some(state) => Value::from(state),
            None => found["values"]["Workflow State"].clone(),
        }
    }

    pub fn is_open(&self, issue: &str) -> bool {
        let found = self.now(&["issue", "view", issue, "--json", "state"]);
        found.output().success().json()["state"] == "OPEN"
    }

    pub fn edit(&self, issue: &str, flags: &[&str]) {
        self.now(&[&["issue", "edit", issue], flags].concat()).ok();
    }

    /// Sets a key in the user's configuration.
    pub fn set(&self, key: &str, value: &str) {
        self.now(&["config", "set", key, value]).ok();
    }

    /// Configures a changed copy of ralph's definition, stored in a file outside the repository.
    pub fn define(&self, change: impl FnOnce(String) -> String) {
        let shown = self.scratch.path("workflow.toml");
        let path = shown.to_str().unwrap();
        self.now(&["workflow", "new", path, "--preset", "ralph"])
            .ok();
        let text = fs::read_to_string(&shown).unwrap();
        fs::write(&shown, change(text)).unwrap();
        self.set("workflow.definition", path);
    }
}

pub fn numbers(list: &Value) -> Vec<u64> {
    let issues = list.as_array().unwrap().iter();
    issues.map(|i| i["number"].as_u64().unwrap()).collect()
}
