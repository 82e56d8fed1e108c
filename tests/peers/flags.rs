//! Tests that this suite tests every flag of `forge pr`, and that `forge` has every flag of gh,
//! except for listed flags of issue commands.
//!
//! The commands and flags of `forge` come from `docs/reference/cli.md`, which another test keeps
//! current. The tested flags come from the command lines in the sources of this suite, and gh's
//! flags from its help.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use forge_testkit::workspace_root;

use crate::world::{Tool, World, words};

/// The commands of `pr` that both programs have.
const COMMANDS: [&str; 18] = [
    "checkout",
    "create",
    "list",
    "status",
    "view",
    "checks",
    "close",
    "comment",
    "diff",
    "edit",
    "lock",
    "merge",
    "ready",
    "reopen",
    "revert",
    "review",
    "unlock",
    "update-branch",
];

/// Flags by their long form, each with its short form if there is one.
type Flags = BTreeMap<String, Option<char>>;

/// Returns the flags of a command from `docs/reference/cli.md`.
fn flags_of_forge(command: &str) -> Flags {
    flags_of(&format!("forge pr {command}"))
}

fn flags_of(heading: &str) -> Flags {
    let page = fs::read_to_string(workspace_root().join("docs/reference/cli.md")).unwrap();
    let heading = format!("\n## {heading}\n");
    let (_, section) = page
        .split_once(&heading)
        .unwrap_or_else(|| panic!("no section {heading}"));
    let section = section.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `-"));
    let flags: Flags = cells
        .map(|cell| {
            let names = format!("-{}", cell.split('`').next().unwrap());
            flag(names.split([',', ' ']).filter(|word| !word.is_empty()))
        })
        .collect();
    assert!(!flags.is_empty(), "{heading}");
    flags
}

/// Issue commands that both programs have, each with the flags of gh that `forge` lacks.
/// `docs/reference/cli.md` lists these flags.
const ISSUE_COMMANDS: [(&str, &[&str]); 8] = [
    ("list", &[]),
    ("view", &[]),
    ("create", &[]),
    ("edit", &[]),
    ("close", &[]),
    ("comment", &[]),
    ("reopen", &[]),
    ("delete", &["confirm"]),
];

/// Further commands that both programs have, each with the flags of gh that `forge` lacks.
/// `docs/reference/cli.md` lists these flags.
const OTHER_COMMANDS: [(&str, &[&str]); 9] = [
    ("auth login", &["clipboard", "expiring", "scopes", "web"]),
    ("auth logout", &[]),
    ("auth status", &["show-token"]),
    ("auth switch", &[]),
    ("auth token", &[]),
    ("completion", &[]),
    ("label create", &[]),
    ("label delete", &[]),
    ("label list", &["web"]),
];

/// Returns the flags of a command such as `pr list` from gh's help.
fn flags_of_gh(world: &World, command: &str) -> Flags {
    let help = world.command(Tool::Gh, &format!("{command} --help")).text();
    let (own, inherited) = help.split_once("\nINHERITED FLAGS\n").unwrap();
    let flags = own.split_once("\nFLAGS\n").map_or("", |(_, flags)| flags);
    let inherited = inherited.split("\n\n").next().unwrap();
    let lines = flags.lines().take_while(|line| !line.trim().is_empty());
    lines
        .chain(inherited.lines())
        .filter(|line| line.trim_start().starts_with('-'))
        .map(|line| flag(line.split([',', ' ']).filter(|word| !word.is_empty())))
        .filter(|(long, _)| long != "help")
        .collect()
}

/// Returns the long and the short form of a flag, from the first words of a line in the help.
fn flag<'a>(words: impl Iterator<Item = &'a str>) -> (String, Option<char>) {
    let mut short = None;
    for word in words {
        match word.strip_prefix("--") {
            Some(long) => {
                let long: String = long
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '-')
                    .collect();
                return (long, short);
            }
            None => short = word.strip_prefix('-').and_then(|w| w.chars().next()),
        }
    }
    panic!("no long form");
}

/// Returns the flags that a command line uses, in their long form.
fn used(words: &[String], known: &Flags) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for word in words.iter().take_while(|word| *word != "--") {
        if let Some(long) = word.strip_prefix("--") {
            used.insert(long.split('=').next().unwrap().to_owned());
        } else if let Some(short) = word.strip_prefix('-').and_then(|w| w.chars().next()) {
            used.extend(
                known
                    .iter()
                    .find(|(_, s)| **s == Some(short))
                    .map(|(l, _)| l.clone()),
            );
        }
    }
    used
}

/// Returns the command lines in the sources, which are string literals that begin with `pr `.
fn lines() -> Vec<String> {
    let texts = sources().into_iter().flat_map(|path| texts(&path));
    texts.filter(|text| text.starts_with("pr ")).collect()
}

fn sources() -> Vec<PathBuf> {
    let dir = workspace_root().join("tests/peers");
    let own = ["flags.rs", "world.rs", "twins.rs", "second.rs"];
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|end| end == "rs");
    let files = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(is_rust);
    files
        .filter(|path| !own.iter().any(|name| path.ends_with(name)))
        .collect()
}

/// Returns the string literals of a source file.
fn texts(path: &Path) -> Vec<String> {
    let source = fs::read_to_string(path).unwrap();
    let mut texts = Vec::new();
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        if c != '"' {
            continue;
        }
        let mut text = String::new();
        while let Some(c) = chars.next().filter(|c| *c != '"') {
            match c {
                '\\' => text.extend(chars.next().map(|c| if c == 'n' { '\n' } else { c })),
                c => text.push(c),
            }
        }
        texts.push(text);
    }
    texts
}

/// Sources that run `pr create {flags}` for each row of a table. The other literals in the file
/// contain the flags.
const TABLES: [(&str, &str); 1] = [("create.rs", "create")];

#[test]
fn every_flag_of_forge_is_exercised() {
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut note = |command: &str, words: &[String]| {
        if COMMANDS.contains(&command) {
            let flags = used(words, &flags_of_forge(command));
            seen.entry(command.to_owned()).or_default().extend(flags);
        }
    };
    for line in lines() {
        let words = words(&line);
        note(&words[1], &words[2..]);
    }
    for (file, command) in TABLES {
        let path = workspace_root().join("tests/peers").join(file);
        for text in texts(&path).iter().filter(|text| text.starts_with('-')) {
            note(command, &words(text));
        }
    }
    // A command can also be a list of arguments: the literals from one command name to the next.
    for file in sources() {
        let texts = texts(&file);
        let named = |text: &str| COMMANDS.contains(&text);
        for (at, command) in texts.iter().enumerate().filter(|(_, text)| named(text)) {
            let rest = texts[at + 1..].iter().take_while(|text| !named(text));
            let flags: Vec<String> = rest.filter(|t| t.starts_with('-')).cloned().collect();
            note(command, &flags);
        }
    }
    for command in COMMANDS {
        let known = flags_of_forge(command);
        let seen = seen
            .get(command)
            .unwrap_or_else(|| panic!("pr {command} is not exercised"));
        let missing: Vec<&String> = known.keys().filter(|flag| !seen.contains(*flag)).collect();
        assert!(
            missing.is_empty(),
            "no test of this suite uses pr {command} {missing:?}"
        );
    }
}

#[test]
fn every_flag_of_gh_exists_in_forge() {
    let world = World::new();
    for command in COMMANDS {
        let ours = flags_of_forge(command);
        let theirs = flags_of_gh(&world, &format!("pr {command}"));
        let everywhere = flags_of("forge");
        assert!(theirs.contains_key("repo"), "{command}: {theirs:?}");
        for (long, short) in theirs {
            let found = ours.get(&long).or_else(|| everywhere.get(&long));
            assert_eq!(found, Some(&short), "pr {command} --{long}");
        }
    }
}

#[test]
fn issue_flags_missing_from_forge_are_listed() {
    let world = World::new();
    let everywhere = flags_of("forge");
    for (command, missing) in ISSUE_COMMANDS {
        let command = format!("issue {command}");
        let ours = flags_of(&format!("forge {command}"));
        let theirs = flags_of_gh(&world, &command);
        assert!(theirs.contains_key("repo"), "{command}: {theirs:?}");
        for (long, short) in theirs {
            match ours.get(&long).or_else(|| everywhere.get(&long)) {
                Some(found) => assert_eq!(*found, short, "{command} --{long}"),
                None => assert!(missing.contains(&long.as_str()), "{command} --{long}"),
            }
        }
        let both = missing.iter().find(|flag| ours.contains_key(**flag));
        assert_eq!(both, None, "{command}");
    }
}

#[test]
fn gh_flags_of_other_groups_are_accepted() {
    let world = World::new();
    let everywhere = flags_of("forge");
    for (command, missing) in OTHER_COMMANDS {
        let ours = flags_of(&format!("forge {command}"));
        for (long, short) in flags_of_gh(&world, command) {
            // The page names the flag, and the command's help names the alias.
            let named = match long.as_str() {
                "hostname" => "host",
                "user" => "account",
                other => other,
            };
            let found = ours.get(named).or_else(|| everywhere.get(named));
            assert_ne!(
                found.is_some(),
                missing.contains(&named),
                "{command} --{long}"
            );
            // No short flag of gh has another meaning in `forge`.
            let same = short.and_then(|short| {
                let mut all = ours.iter().chain(&everywhere);
                all.find(|(_, other)| **other == Some(short))
            });
            assert!(
                same.is_none_or(|(name, _)| name == named),
                "{command} -{short:?}"
            );
            assert!(
                // The page describes `--color` of labels with the global flag.
                !ours.contains_key(named) || short.is_none() || same.is_some(),
                "{command} -{short:?}"
            );
        }
    }
    crate::differences::listed("`forge auth` and `label` have gh's flags except");
}
