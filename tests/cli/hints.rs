//! Runs the commands in hints as printed, and checks that they have the promised effect.

use forge_testkit::Run;

#[path = "hint_situations.rs"]
mod situations;

use situations::{Situation, Stage, line, play, shell};

use crate::{
    hub::{Hub, REPO},
    tangled::world as tangled_world,
};

/// Groups of flags. The flags of a group exclude each other.
const GROUPS: [&[&str]; 2] = [
    &["--merge", "--squash", "--rebase"],
    &["--approve", "--comment", "--request-changes"],
];

/// Runs a command that fails, and then the command that its hint prints.
fn paste<S: Stage>(situation: &Situation<S>, stage: &S) {
    let entered = (situation.enter)(stage);
    if situation.command.is_empty() {
        return;
    }
    let line = line::<S>(situation.command, &entered);
    let failed = shell(stage, &line).output();
    let said = failed.stderr_text();
    let hint = said
        .lines()
        .rev()
        .find_map(|l| l.strip_prefix("Recovery: "));
    let hint = hint.unwrap_or_else(|| panic!("no hint: {failed:?}"));
    // A question ends with `?`, and any other hint with `: `, before its command.
    let parts = hint.rsplit_once("? ").or_else(|| hint.rsplit_once(": "));
    let (_, words) = parts.unwrap_or_else(|| panic!("{hint}"));
    let mut words = words.to_owned();
    for (name, value) in situation.choices {
        if name.starts_with(|c: char| c.is_uppercase()) {
            words = words.replace(name, &format!("'{value}'"));
        }
    }
    let recovery = match words.starts_with("forge ") {
        true => format!("{words} {}", situation.choice("+").unwrap_or_default()),
        false => with_hint_flags(&line, &words),
    };
    let done = shell(stage, &recovery).output();
    assert_eq!(done.code, Some(0), "{hint}\n{recovery}\n{done:?}");
    let said = done.stdout_text() + &done.stderr_text();
    situation.check(stage, &entered, &said);
}

/// Adds the hint's flags to the failed command, and removes the flags that they exclude.
fn with_hint_flags(line: &str, words: &str) -> String {
    let mut line: Vec<&str> = line.split(' ').collect();
    for words in words.split(", ") {
        let without = words.strip_prefix("without ");
        for flag in without.unwrap_or(words).split(' ') {
            let group = GROUPS.iter().find(|group| group.contains(&flag));
            for flag in group.map_or(vec![flag], |group| group.to_vec()) {
                drop_flag(&mut line, flag);
            }
        }
        line.extend(without.is_none().then_some(words));
    }
    line.join(" ")
}

/// Removes a flag and its value from a command line.
fn drop_flag(line: &mut Vec<&str>, flag: &str) {
    if let Some(at) = line.iter().position(|w| *w == flag && w.starts_with('-')) {
        let has_value = line.get(at + 1).is_some_and(|w| !w.starts_with('-'));
        line.drain(at..at + 1 + usize::from(has_value));
    }
}

#[test]
fn pasted_hint_of_local_command_works() {
    play(situations::in_a_repository(), paste);
}

#[test]
fn pasted_hint_of_github_command_works() {
    play(situations::on_github(), paste);
}

#[test]
fn pasted_hint_of_tangled_command_works() {
    play(situations::on_tangled(), paste);
}

#[test]
fn hint_for_missing_login_names_login_command() {
    let without = |run: Run, args: &[&str]| run.args(args).output().exits(4).stderr_text();
    let hub = Hub::with_pull();
    let run = hub.forge(&["pr", "list"]).without_env("GH_TOKEN");
    let said = without(run, &["-R", REPO]);
    assert!(
        said.ends_with(": forge auth login --host github.localhost\n"),
        "{said}"
    );
    let t = tangled_world::Tangled::new();
    let uri = t.open("topic");
    let run = t.forge(&t.alice, &["pr", "comment", &uri, "-b", "x"]);
    let said = without(run.without_env("TANGLED_HANDLE"), &[]);
    assert!(
        said.ends_with(": forge auth login --host tangled.org\n"),
        "{said}"
    );
}
