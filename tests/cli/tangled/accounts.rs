//! `forge auth` of an account on tangled, whose password opens sessions.

use super::world::{PASSWORD, Tangled, says};

#[test]
fn after_a_logout_no_session_is_left() {
    let t = Tangled::new();
    let config = t.scratch.path("config");
    let auth = |args: &[&str]| {
        let at = ["--host", "tangled.org", "--account", "alice.test"];
        let args = [&["auth"], args, &at].concat();
        t.forge(&t.alice, &args).env("FORGE_CONFIG_DIR", &config)
    };
    let sessions = || {
        let files = std::fs::read_dir(config.join("sessions")).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|it| it == "json"))
            .count()
    };
    let create = |branch| {
        t.create(branch, &[])
            .env("FORGE_CONFIG_DIR", &config)
            .env("TANGLED_HANDLE", "")
    };
    auth(&["login", "--with-token"]).stdin(PASSWORD).ok();
    create("topic").ok();
    assert_eq!(sessions(), 1);
    // Another login may be with another password.
    auth(&["login", "--with-token"]).stdin(PASSWORD).ok();
    assert_eq!(sessions(), 0);
    create("second").ok();
    assert_eq!(sessions(), 1);
    auth(&["logout"]).ok();
    assert_eq!(sessions(), 0);
    says(&create("other"), 4, "nobody is logged in");
}
