//! Tests that merges by agents are signed with the user's own program, which has no terminal for a
//! passphrase.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use serde_json::json;

use crate::world::{MODERN, Wire, World};

/// A program that signs as gpg does, and that records its environment variables.
const SIGNER: &str = "#!/bin/sh\ncat >/dev/null\nenv >\"$0.env\"\n\
    printf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n\
    printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n";

#[test]
fn merge_signs_with_the_users_program_without_prompts() {
    let world = World::with_feature();
    let signer = world.scratch.write("signer", SIGNER);
    fs::set_permissions(&signer, Permissions::from_mode(0o755)).unwrap();
    let run = world
        .grace(&["mcp", "--write"])
        .env("GIT_CONFIG_COUNT", "2");
    let run = run
        .env("GIT_CONFIG_KEY_0", "commit.gpgsign")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_CONFIG_KEY_1", "gpg.program")
        .env("GIT_CONFIG_VALUE_1", &signer)
        .env("GPG_TTY", "/dev/tty")
        .env("DISPLAY", ":0");
    let mut wire = Wire::start(&run, MODERN);
    let merged = wire.call("pr_merge", json!({"number": 1})).ok();
    let commit = merged.data()["commit"].as_str().unwrap().to_owned();
    let commit = world.git.run(["cat-file", "commit", &commit]).text();
    assert!(commit.contains("\ngpgsig "), "{commit}");
    let env = fs::read_to_string(signer.with_extension("env")).unwrap();
    let asks = |line: &str| line == "GPG_TTY=/dev/tty" || line == "DISPLAY=:0";
    assert!(!env.lines().any(asks), "{env}");
    assert!(
        env.lines().any(|line| line == "SSH_ASKPASS_REQUIRE=force"),
        "{env}"
    );
}

#[test]
fn merge_runs_no_signing_program_of_the_repository() {
    let world = World::with_feature();
    let canary = world
        .scratch
        .write("canary", "#!/bin/sh\ntouch \"$0.ran\"\n");
    fs::set_permissions(&canary, Permissions::from_mode(0o755)).unwrap();
    world
        .git
        .run(["config", "gpg.program", canary.to_str().unwrap()])
        .ok();
    world.git.run(["config", "commit.gpgsign", "true"]).ok();
    let before = world.git.refs();
    let mut wire = world.server(MODERN, &["--write"]);
    wire.call("pr_merge", json!({"number": 1}))
        .fails("permission_denied")
        .says("sets gpg.program");
    assert_eq!(world.git.refs(), before);
    assert!(!canary.with_extension("ran").exists());
}
