//! Tests how `forge_status` reports missing logins, permissions and flags.

use serde_json::json;

use crate::{
    hub::{Hub, REPO},
    tangled_world::{Tangled, WIDGET},
    world::{Called, MODERN, Wire, World},
};

/// A token of Ada's that has fewer scopes.
const WEAK: &str = "gho_canary0canary0canary0canary0canary01";

/// Returns the missing parts in the data, after asserting that the text names each of them.
#[track_caller]
fn missing(status: Called) -> Vec<String> {
    let status = status.ok();
    let all = status.data()["missing"].as_array().cloned();
    let all: Vec<String> = all
        .unwrap_or_default()
        .iter()
        .map(|m| m.as_str().unwrap().to_owned())
        .collect();
    for what in &all {
        let line = format!("missing for more: \"{}\"", what.replace('"', "'"));
        assert!(
            status.text().lines().any(|l| l == line),
            "{}",
            status.text()
        );
    }
    let lines = status.text().matches("missing for more: ").count();
    assert_eq!(lines, all.len(), "{}", status.text());
    all
}

#[test]
fn status_lists_missing_server_flags() {
    let world = World::with_feature();
    let ask = |args: &[&str]| {
        let mut wire = world.server(MODERN, args);
        missing(wire.call("forge_status", json!({"repo": "."})))
    };
    assert_eq!(ask(&["--write"]), [""; 0]);
    let only_reads = ask(&[]);
    assert!(
        only_reads.len() == 1 && only_reads[0].contains("--write"),
        "{only_reads:?}"
    );
    let other = world.scratch.repository("other");
    let other = other.path().display().to_string();
    let listed = ask(&["--write", "--allow-write", &other]);
    assert!(
        listed.len() == 1 && listed[0].contains("--allow-write"),
        "{listed:?}"
    );
}

#[test]
fn status_lists_missing_rights_and_scopes() {
    let hub = Hub::with_files(1);
    let ask = |token: &str| {
        let run = hub.run(&["--write"]).env("GH_TOKEN", token);
        let mut wire = Wire::start(&run, MODERN);
        missing(wire.call("forge_status", json!({"repo": REPO})))
    };
    assert_eq!(ask(crate::hub::TOKEN), [""; 0]);
    hub.double.seed().token(WEAK, "ada", &["public_repo"]);
    let weak = ask(WEAK);
    assert!(
        weak.len() == 1 && weak[0].contains("the scope 'read:org'"),
        "{weak:?}"
    );
    hub.double.seed().token(WEAK, "linus", &["gist"]);
    let all = ask(WEAK);
    for part in [
        "the right to triage",
        "the scope 'repo'",
        "the scope 'read:org'",
    ] {
        assert!(all.iter().any(|m| m.contains(part)), "{part}: {all:?}");
    }
}

#[test]
fn status_lists_missing_login() {
    let t = Tangled::new();
    let run = t
        .services()
        .into_iter()
        .fold(
            t.scratch
                .forge(&t.scratch.path(""), &forge_testkit::Identity::ADA),
            |run, (key, value)| run.env(key, value),
        )
        .args(["mcp", "--write"]);
    let mut wire = Wire::start(&run, MODERN);
    let all = missing(wire.call("forge_status", json!({"repo": WIDGET})));
    assert!(
        all.len() == 1 && all[0].contains("forge auth login --host"),
        "{all:?}"
    );
    // If a forge needs a login even to read, the tool reports a missing login and does not fail.
    let hub = Hub::with_files(1);
    let run = hub.run(&["--write"]).env("GH_TOKEN", "");
    let mut wire = Wire::start(&run, MODERN);
    let status = wire.call("forge_status", json!({"repo": REPO}));
    let all = missing(status);
    assert!(all.iter().any(|m| m.contains("a login: ")), "{all:?}");
}
