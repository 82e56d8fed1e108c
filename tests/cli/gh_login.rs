//! Tests that `forge` uses gh's login, even if gh is not installed. `forge auth login` checks a
//! token as gh does.

use forge_github_double::PullSeed;
use forge_testkit::Run;

use crate::hub::{Hub, REPO, TOKEN};

const LIST: [&str; 4] = ["pr", "list", "-R", REPO];

/// Writes a token into gh's `hosts.yml`.
fn login(hub: &Hub, token: &str) {
    let text = format!(
        "github.localhost:\n    users:\n        ada:\n            oauth_token: {token}\n    \
         git_protocol: https\n    oauth_token: {token}\n    user: ada\n"
    );
    hub.scratch.write("home/.config/gh/hosts.yml", text);
}

#[test]
fn hosts_file_of_gh_provides_the_login() {
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
fn auth_token_prints_the_token_of_gh() {
    let hub = Hub::new();
    let token = || {
        let run = hub.forge(&["auth", "token"]).without_env("GH_TOKEN");
        run.may_print_tokens().output()
    };
    assert_eq!(token().exits(4).stdout_text(), "");
    login(&hub, TOKEN);
    assert_eq!(token().success().stdout_text(), format!("{TOKEN}\n"));
    assert_eq!(hub.double.counts().api, 0);
}

#[test]
fn auth_token_prints_the_token_of_the_only_host() {
    let hub = Hub::new();
    let token = |host: &str| {
        let run = hub.forge(&["auth", "token"]).without_env("GH_TOKEN");
        run.env("GH_HOST", host).may_print_tokens().output()
    };
    log_in(&hub, &[], TOKEN).ok();
    assert_eq!(token("").success().stdout_text(), format!("{TOKEN}\n"));
    let said = token("github.com").exits(4).stderr_text();
    assert!(said.contains("there is no token for github.com"), "{said}");
    let list = hub.forge(&LIST).without_env("GH_TOKEN");
    let said = list.env("GH_HOST", "").output().exits(4).stderr_text();
    let hint = "as github.localhost/OWNER/REPO, or log in to github.com: forge auth login";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn mine_flag_includes_the_account_logged_in_with_gh() {
    let hub = Hub::new();
    let own = PullSeed {
        author: "ada",
        title: "Own",
        head: "own",
        ..PullSeed::default()
    };
    {
        let mut seed = hub.double.seed();
        seed.repo_with_readme("ada/own");
        seed.open_pull("ada/own", &own);
    }
    let mine = |command| {
        let args = ["pr", command, "-R", "@mine", "--json", "title"];
        hub.forge(&args).without_env("GH_TOKEN").output()
    };
    let said = mine("list").exits(4).stderr_text();
    assert!(said.contains("@mine needs an account: "), "{said}");
    login(&hub, TOKEN);
    assert_eq!(mine("list").success().json()[0]["title"], "Own");
    let status = mine("status").success().json();
    assert_eq!(status["createdBy"][0]["title"], "Own");
    assert_eq!(hub.double.counts().api, 2);
}

#[test]
fn refused_token_error_names_token_source() {
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
    let said = out.stderr_text();
    assert!(said.contains("refused the token from GH_TOKEN: "), "{said}");
    assert!(
        said.contains("Recovery: correct GH_TOKEN, or unset it to use a stored account\n"),
        "{said}"
    );
}

#[test]
fn unreadable_hosts_file_is_an_error_without_requests() {
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

/// Returns `forge auth login`, which reads a token from standard input.
fn log_in(hub: &Hub, more: &[&str], token: &str) -> Run {
    let args = [&["auth", "login", "--with-token"][..], more].concat();
    let run = hub.forge(&args).without_env("GH_TOKEN");
    run.stdin(format!("{token}\n"))
}

/// Returns true if `forge` stores any credential.
fn stores_any(hub: &Hub) -> bool {
    let file = hub.scratch.path("home/.config/forge/credentials.toml");
    file.exists()
}

#[test]
fn login_takes_the_account_from_the_token() {
    let hub = Hub::with_pull();
    let out = log_in(&hub, &[], TOKEN).output().success();
    let _ = out.says("logged in as ada at github.localhost");
    assert_eq!(hub.double.counts().api, 1);
    hub.forge(&LIST).without_env("GH_TOKEN").ok();
    let again = log_in(&hub, &["--account", "@Ada"], TOKEN).output();
    let _ = again.success().says("replaced the credential of ada");
}

#[test]
fn login_with_refused_token_stores_nothing() {
    let hub = Hub::new();
    let wrong = TOKEN.replace("gho_", "gho_0");
    for account in [&[] as &[&str], &["--account", "ada"]] {
        let out = log_in(&hub, account, &wrong).output().exits(4);
        let said = out.stderr_text();
        assert!(
            said.contains("the token for github.localhost is not stored: "),
            "{said}"
        );
        assert!(said.contains("Recovery: pass the whole token"), "{said}");
        assert!(!stores_any(&hub));
    }
    assert_eq!(hub.double.counts().api, 2);
}

#[test]
fn login_with_token_of_another_account_is_refused() {
    let hub = Hub::new();
    let out = log_in(&hub, &["--account", "grace"], TOKEN)
        .output()
        .exits(1);
    let said = out.stderr_text();
    assert!(
        said.contains("it belongs to ada, not to grace") && said.contains("without --account"),
        "{said}"
    );
    assert!(!stores_any(&hub));
}

#[test]
fn login_at_unreachable_host_stores_nothing() {
    let hub = Hub::new();
    let nobody = "http://127.0.0.1:1";
    let run = log_in(&hub, &["--account", "ada"], TOKEN);
    let out = run.env("HTTP_PROXY", nobody).env("http_proxy", nobody);
    let said = out.output().exits(1).stderr_text();
    assert!(said.contains("is not stored: "), "{said}");
    assert!(said.contains("Recovery: "), "{said}");
    assert!(!stores_any(&hub));
}

#[test]
fn login_checks_token_at_configured_host() {
    let hub = Hub::new();
    let url = hub.double.url();
    let file = format!(
        "[hosts.\"git.example\"]\nkind = \"github\"\napi_url = \"{url}\"\ngraphql_url = \"{url}/graphql\"\n"
    );
    hub.scratch.write("home/.config/forge/config.toml", file);
    let at = ["--hostname", "git.example"];
    let wrong = TOKEN.replace("gho_", "gho_0");
    let refused = log_in(&hub, &at, &wrong).output().exits(4);
    let said = refused.stderr_text();
    assert!(
        said.contains("the token for git.example is not stored: "),
        "{said}"
    );
    assert!(!stores_any(&hub));
    let out = log_in(&hub, &at, TOKEN).output().success();
    let _ = out.says("logged in as ada at git.example");
    assert_eq!(hub.double.counts().api, 2);
}
