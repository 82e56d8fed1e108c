//! A login of gh's counts, even if gh is not installed.

use crate::hub::{Hub, REPO, TOKEN};

const LIST: [&str; 4] = ["pr", "list", "-R", REPO];

/// gh's `hosts.yml` as gh writes it, with this token.
fn login(hub: &Hub, token: &str) {
    let text = format!(
        "github.localhost:\n    users:\n        ada:\n            oauth_token: {token}\n    \
         git_protocol: https\n    oauth_token: {token}\n    user: ada\n"
    );
    hub.scratch.write("home/.config/gh/hosts.yml", text);
}

#[test]
fn hosts_file_alone_logs_in() {
    let hub = Hub::with_pull();
    login(&hub, TOKEN);
    let out = hub.forge(&LIST).without_env("GH_TOKEN").output().success();
    assert!(
        out.stdout_text().starts_with("1\tWork\twork\tOPEN\t"),
        "{out:?}"
    );
}

#[test]
fn auth_status_shows_the_login_of_gh() {
    let hub = Hub::with_pull();
    login(&hub, TOKEN);
    let status = hub.forge(&["auth", "status"]).without_env("GH_TOKEN");
    let out = status.output().success();
    let line = "✓ ada (github, used) from gh\n";
    assert!(out.stdout_text().contains(line), "{out:?}");
}

#[test]
fn refused_token_is_named_by_file() {
    let hub = Hub::with_pull();
    login(&hub, &TOKEN.replace("gho_", "gho_0"));
    let out = hub.forge(&LIST).without_env("GH_TOKEN").output().exits(4);
    let said = out.stderr_text();
    let file = hub.scratch.path("home/.config/gh/hosts.yml");
    let place = format!("refused the token from {}: ", file.display());
    assert!(said.contains(&place), "{out:?}");
    let out = hub
        .forge(&LIST)
        .env("GH_TOKEN", TOKEN.replace("gho_", "gho_0"))
        .output()
        .exits(4);
    assert!(
        out.stderr_text()
            .contains("refused the token from GH_TOKEN: "),
        "{out:?}"
    );
}

#[test]
fn unreadable_hosts_file_is_named_without_other_token() {
    let hub = Hub::with_pull();
    hub.scratch
        .write("home/.config/gh/hosts.yml", "github.localhost: &a\n");
    let out = hub.forge(&LIST).without_env("GH_TOKEN").output().exits(4);
    let said = out.stderr_text();
    assert!(
        said.contains("line 1 of ") && said.contains("hosts.yml"),
        "{out:?}"
    );
    assert_eq!(hub.double.counts().api, 0);
}
