//! Runs `workflow_client.py`: the worked example of a workflow, with MCP's official Python client.
//!
//! `FORGE_MCP_PYTHON` names a Python that has the package `mcp`. The default is
//! `target/peers/mcp/venv`, where `cargo xtask test` puts it. Without the package, the tests print a
//! note and pass, unless `FORGE_REQUIRE_MCP_PYTHON` is set.

use std::path::{Path, PathBuf};

use forge_testkit::{Run, forge_binary, workspace_root};
use serde_json::json;

/// Returns the path of a Python that has the package, or `None` without one.
///
/// # Panics
///
/// Panics if there is none and `FORGE_REQUIRE_MCP_PYTHON` is set.
pub fn python() -> Option<PathBuf> {
    let usual = workspace_root().join("target/peers/mcp/venv/bin/python");
    let python = std::env::var_os("FORGE_MCP_PYTHON").map_or(usual, PathBuf::from);
    if !python.is_file() {
        assert!(
            std::env::var_os("FORGE_REQUIRE_MCP_PYTHON").is_none(),
            "the Python client of MCP is required but not at {}",
            python.display()
        );
        eprintln!("no {}: there is no other client of MCP", python.display());
        return None;
    }
    Some(python)
}

/// Runs the example with the environment of `run`. The branch `head` of `repo` fixes `issue`.
#[track_caller]
pub fn run_example(python: &Path, run: Run, repo: &str, issue: &str, head: &str, method: &str) {
    let script = workspace_root().join("tests/peers/workflow_client.py");
    let forge = forge_binary();
    let run = run.program(python).arg(script).arg(forge);
    let run = run.args([repo, issue, head, method]);
    let came = run.output().success().json();
    let wanted = json!({
        "prompt": true,
        "phases": ["TRIAGE", "PLAN", "HUMAN_GATE", "IMPLEMENT", "TERMINAL"],
        "states": ["Ready for Plan", "Plan in Progress", "Plan in Review", "In Review"],
        "refused": "conflict",
        "names_holder": true,
        "recommendation": "proceed",
        "transitioned": 1,
        "again": [0, 1],
        "state": "closed",
        "group": ["Find the leak", "Measure it nightly"],
        "picked": "Find the leak",
        "waits": [true],
        "advanced": [[1, 1, 0], [1, 0, 0]],
        "converged": true,
        // The client confirmed the merge and both moves of several issues.
        "asked": 3,
    });
    assert_eq!(came, wanted);
}
