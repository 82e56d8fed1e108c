//! Tests accounts, and commands that need no account: versions, help and completions.

use crate::{
    differences::listed,
    world::{MONA, Tool, World},
};

#[test]
fn status_with_bad_token_exits_with_1() {
    let world = World::new();
    let bad = "gho_0canary0nobodyknowsthistoken";
    for line in [
        "auth status --hostname github.localhost",
        "auth status --hostname github.localhost --active",
        "auth status --hostname github.localhost -a",
    ] {
        for tool in [Tool::Forge, Tool::Gh] {
            let good = world.command_as(tool, MONA, line).output().success();
            let said = format!("{}{}", good.stdout_text(), good.stderr_text());
            assert!(said.contains("octocat"), "{said}");
            let refused = world.command_as(tool, bad, line).output().exits(1);
            let said = format!("{}{}", refused.stdout_text(), refused.stderr_text());
            assert!(said.contains("X ") && !said.contains(bad), "{said}");
        }
    }
    // `--json` sends the host no request.
    let json = world
        .command_as(Tool::Forge, bad, "auth status --json host")
        .output();
    assert_eq!(json.code, Some(0), "{json:?}");
    listed("`auth status --json` asks no host");
}

#[test]
fn login_with_refused_token_stores_nothing() {
    let world = World::new();
    let bad = "gho_0canary0nobodyknowsthistoken";
    for tool in [Tool::Forge, Tool::Gh] {
        let run = |line: &str| world.command_as(tool, bad, line).without_env("GH_TOKEN");
        let login = run("auth login --hostname github.localhost --with-token");
        let out = login.stdin(format!("{bad}\n")).output();
        assert_ne!(out.code, Some(0), "{out:?}");
        let token = run("auth token --hostname github.localhost").output();
        assert_ne!(token.code, Some(0), "{token:?}");
    }
}

#[test]
fn hostname_flag_works_on_every_auth_command() {
    let world = World::new();
    for command in ["login", "logout", "status", "switch", "token"] {
        let help = world
            .command(Tool::Gh, &format!("auth {command} --help"))
            .text();
        assert!(help.contains("--hostname"), "{help}");
        let help = world
            .command(Tool::Forge, &format!("auth {command} --help"))
            .text();
        assert!(help.contains("--hostname"), "{help}");
    }
    let line = "auth token --hostname github.localhost";
    let told = [Tool::Forge, Tool::Gh].map(|tool| {
        let run = world.command_as(tool, MONA, line).may_print_tokens();
        run.output().success().stdout_text()
    });
    assert_eq!(told[0], told[1]);
}

#[test]
fn help_groups_commands_like_gh() {
    let world = World::new();
    for group in ["pr", "issue"] {
        let commands = |tool: Tool| {
            let help = world.command(tool, &format!("{group} --help")).text();
            let help = help.to_lowercase();
            let (_, general) = help.split_once("general commands").unwrap();
            let (general, _) = general.split_once("targeted commands").unwrap();
            let words = general
                .lines()
                .filter_map(|line| line.split_whitespace().next());
            let names = words.map(|word| word.trim_end_matches(':').to_owned());
            names.filter(|name| !name.is_empty()).collect::<Vec<_>>()
        };
        let (ours, theirs) = (commands(Tool::Forge), commands(Tool::Gh));
        let missing: Vec<_> = theirs.iter().filter(|name| !ours.contains(name)).collect();
        let known: &[&str] = if group == "issue" { &["status"] } else { &[] };
        assert_eq!(missing, known, "{group}: {ours:?}");
    }
    for line in [
        "version",
        "help",
        "help pr create",
        "completion -s bash",
        "completion -s zsh",
    ] {
        for out in world.both(line) {
            assert_eq!(out.code, Some(0), "{line}: {out:?}");
            assert!(!out.stdout.is_empty(), "{line}: {out:?}");
        }
    }
    world.same_refusal_of("completion -s nosuch");
}
