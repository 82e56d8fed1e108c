//! Tests login and logout of accounts. No output, log or error may contain a token.

use std::{fs, path::Path};

use forge_testkit::Run;

use crate::{
    hub::{Hub, TOKEN},
    world::World,
};

const CANARY: &str = "ghp_CANARY0canary0CANARY0canary0CANARY";

/// Returns `forge auth` with arguments, without a token in the environment.
fn auth(hub: &Hub, args: &[&str]) -> Run {
    let run = hub.forge(&[&["auth"][..], args].concat());
    run.without_env("GH_TOKEN").may_print_tokens()
}

#[test]
fn account_is_logged_in_shown_and_logged_out() {
    let hub = Hub::new();
    let login = ["login", "--account", "ada", "--with-token"];
    auth(&hub, &login).stdin(format!("{TOKEN}\n")).ok();
    let status = auth(&hub, &["status"]).output().success();
    let said = format!("{}{}", status.stdout_text(), status.stderr_text());
    assert!(
        said.contains("github.localhost") && said.contains("ada"),
        "{said}"
    );
    assert!(!said.contains(TOKEN), "{said}");
    let token = auth(&hub, &["token"]).text();
    assert_eq!(token, format!("{TOKEN}\n"));
    let of = |name: &str| {
        let line = ["token", "--hostname", "github.localhost", "-u", name];
        auth(&hub, &line).output()
    };
    assert_eq!(of("ada").stdout_text(), token);
    assert_eq!(
        (of("eve").code, of("eve").stdout_text()),
        (Some(1), String::new())
    );
    auth(&hub, &["logout", "--account", "ada"]).ok();
    let gone = auth(&hub, &["token"]).output();
    assert_ne!(gone.code, Some(0));
    assert!(
        !holds(&hub.scratch.path("home"), TOKEN),
        "it is still stored"
    );
}

#[test]
fn git_credential_answers_only_for_origin_and_account() {
    let hub = Hub::new();
    let login = ["login", "--account", "ada", "--with-token"];
    auth(&hub, &login).stdin(format!("{TOKEN}\n")).ok();
    let ask = |operation: &str, origin: &str, username: &str| {
        let (protocol, host) = origin.split_once("://").unwrap();
        let request = format!("protocol={protocol}\nhost={host}\n{username}\n");
        let run = auth(&hub, &["git-credential", operation]);
        run.stdin(request).text()
    };
    let own = "http://github.localhost";
    for (username, shown) in [("", "x-access-token"), ("username=ada\n", "ada")] {
        let answer = format!("username={shown}\npassword={TOKEN}\n");
        assert_eq!(ask("get", own, username), answer);
    }
    assert_eq!(ask("get", own, "username=grace\n"), "");
    assert_eq!(ask("store", own, ""), "");
    for origin in [
        "https://github.localhost",
        "http://github.localhost:81",
        "http://x.github.localhost",
        "http://github.com",
        "https://github.com",
        "https://tangled.org",
        "http://github.localhost\r",
    ] {
        assert_eq!(ask("get", origin, ""), "", "{origin}");
    }
}

#[cfg(unix)]
#[test]
fn credential_file_is_readable_by_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let hub = Hub::new();
    auth(&hub, &["login", "--with-token"]).stdin(TOKEN).ok();
    let mut found = 0;
    each_file(&hub.scratch.path("home"), &mut |path, text| {
        if text.contains(TOKEN) {
            found += 1;
            let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{}", path.display());
        }
    });
    assert_eq!(found, 1, "in one file");
}

/// Stores a token for github.com. No test may contact that host.
fn store(world: &World) {
    let text = format!(
        "[hosts.\"github.com\"]\nkind = \"github\"\n\
         [hosts.\"github.com\".accounts.ada]\nsecret = \"{CANARY}\"\n"
    );
    let file = world
        .scratch
        .write("home/.config/forge/credentials.toml", text);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    #[cfg(not(unix))]
    drop(file);
}

#[test]
fn token_is_in_no_output_log_or_error() {
    let world = World::with_pull();
    store(&world);
    let url = format!("https://ada:{CANARY}@github.com/o/r");
    let commands: &[&[&str]] = &[
        &["auth", "status"],
        &["auth", "status", "-v"],
        &["config", "list"],
        &["config", "validate"],
        &["pr", "list", "-v", "-v"],
        &["pr", "list", "-R", "github.com/o/r", "-v"],
        &["pr", "list", "-R", &url, "-v"],
        &["pr", "view", "https://github.com/o/r/pull/1", "-v"],
        &["auth", "switch", "--host", "github.com"],
        &["capabilities"],
        &["doctor"],
        &["doctor", "--live", "-v"],
        &["pr", "view", "1"],
    ];
    for args in commands {
        for variable in ["FORGE_LOG", "GH_TOKEN", "FORGE_DEBUG"] {
            let value = if variable == "GH_TOKEN" {
                CANARY
            } else {
                "trace"
            };
            let out = world
                .forge(args)
                .env(variable, value)
                .env("RUST_LOG", "trace")
                .output();
            let said = [out.stdout.as_slice(), &out.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(!said.contains(CANARY), "{variable}: {said}");
        }
    }
    assert!(!holds(world.git.path(), CANARY), "it is in the repository");
}

#[test]
fn malformed_token_is_not_printed() {
    let world = World::new();
    for garbage in ["", "\n", "two words here", "line\nbreak\n"] {
        let login = [
            "auth",
            "login",
            "--host",
            "github.com",
            "--account",
            "ada",
            "--with-token",
        ];
        let out = world.forge(&login).stdin(garbage).output().exits(1);
        assert!(out.stderr_text().contains("Recovery: "), "{out:?}");
        assert!(!out.stderr_text().contains("two words here"), "{out:?}");
    }
}

fn holds(dir: &Path, text: &str) -> bool {
    let mut found = false;
    each_file(dir, &mut |_, content| found |= content.contains(text));
    found
}

fn each_file(dir: &Path, look: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            each_file(&path, look);
        } else if let Ok(bytes) = fs::read(&path) {
            look(&path, &String::from_utf8_lossy(&bytes));
        }
    }
}
