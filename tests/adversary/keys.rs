//! Reads the configuration keys of the installed git, and decides which of them name a program.

use std::{collections::BTreeSet, process::Command};

use forge_testkit::git_program;

use crate::canaries::Canaries;

/// Git's use of the value of a configuration key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Runs the value as a command, or as the path of a program.
    Command,
    /// Uses the value as an alias, which is a command if it begins with an exclamation mark.
    Bang,
    /// Runs hooks from the directory that the value names.
    Hooks,
    /// Connects to the proxy that the value names.
    Proxy,
    /// Runs the program of another key, which git does only if this key has the given value.
    Arms(&'static str),
    /// Names a program, but `plant.rs` sets this key.
    Planted,
    /// Runs no program.
    Harmless,
}

use Effect::{Arms, Bang, Command as Runs, Harmless, Hooks, Planted, Proxy};

/// Effects of the keys whose name suggests a program. The first matching row decides, and `*`
/// matches any text.
const RULES: &[(&str, Effect)] = &[
    ("advice.*", Harmless),
    ("color.*", Harmless),
    ("fsck.*", Harmless),
    ("receive.fsck.*", Harmless),
    ("fetch.fsck.*", Harmless),
    ("feature.*", Harmless),
    ("bundle.*", Harmless),
    // git reads these keys only from the user's and the machine's configuration.
    ("trace2.*", Harmless),
    ("alias.*", Bang),
    ("browser.<tool>.*", Runs),
    ("clean.requireforce", Harmless),
    ("column.clean", Harmless),
    ("commit.cleanup", Harmless),
    ("commit.gpgsign", Arms("true")),
    ("tag.gpgsign", Arms("true")),
    ("tag.forcesignannotated", Arms("true")),
    ("push.gpgsign", Arms("if-asked")),
    ("merge.renormalize", Arms("true")),
    ("merge.verifysignatures", Arms("true")),
    ("log.showsignature", Arms("true")),
    ("commitgraph.*changedpaths*", Harmless),
    ("completion.commands", Harmless),
    ("core.alternaterefscommand", Runs),
    ("core.askpass", Runs),
    ("core.editor", Runs),
    ("core.fsmonitor", Runs),
    ("core.fsmonitorhookversion", Arms("2")),
    ("core.gitproxy", Runs),
    ("core.hookspath", Hooks),
    ("core.logallrefupdates", Harmless),
    ("core.pager", Runs),
    ("core.quotepath", Harmless),
    ("core.sshcommand", Runs),
    ("core.worktree", Planted),
    ("credential.helper", Runs),
    ("credential.<url>.*", Runs),
    ("credential.usehttppath", Harmless),
    ("diff.<driver>.command", Runs),
    ("diff.<driver>.textconv", Runs),
    ("diff.<driver>.*", Harmless),
    ("diff.external", Runs),
    ("diff.guitool", Arms("canary")),
    ("diff.tool", Arms("canary")),
    ("difftool.<tool>.*", Runs),
    ("difftool.*", Harmless),
    ("extensions.partialclone", Planted),
    ("fetch.recursesubmodules", Arms("true")),
    ("fetch.showforcedupdates", Harmless),
    ("filter.<driver>.clean", Runs),
    ("filter.<driver>.smudge", Runs),
    ("filter.<driver>.process", Runs),
    ("fsmonitor.*", Harmless),
    ("gc.auto", Arms("1")),
    ("gc.recentobjectshook", Runs),
    ("gitcvs.dbdriver", Runs),
    ("gpg.format", Planted),
    ("gpg.<format>.program", Runs),
    ("gpg.program", Runs),
    ("gpg.ssh.defaultkeycommand", Runs),
    ("guitool.<name>.cmd", Runs),
    ("guitool.<name>.*", Harmless),
    ("help.autocorrect", Arms("immediate")),
    ("help.browser", Arms("canary")),
    ("help.htmlpath", Harmless),
    ("hook.<name>.command", Runs),
    ("hook.<name>.event", Arms("reference-transaction")),
    ("http.<url>.*", Proxy),
    ("http.proxy", Proxy),
    ("http.proxy*", Harmless),
    ("http.sslcapath", Harmless),
    ("imap.tunnel", Runs),
    ("include.path", Planted),
    ("includeif.<condition>.path", Planted),
    ("instaweb.browser", Arms("canary")),
    ("instaweb.httpd", Runs),
    ("instaweb.modulepath", Harmless),
    ("interactive.difffilter", Runs),
    ("maintenance.auto", Arms("true")),
    ("man.viewer", Arms("canary")),
    ("man.<tool>.*", Runs),
    ("merge.<driver>.driver", Runs),
    ("merge.<driver>.*", Harmless),
    ("merge.guitool", Arms("canary")),
    ("merge.tool", Arms("canary")),
    ("mergetool.<tool>.cmd", Runs),
    ("mergetool.<tool>.path", Runs),
    ("mergetool.*", Harmless),
    ("notes.rewrite.<command>", Harmless),
    ("pager.<cmd>", Runs),
    ("protocol.allow", Arms("always")),
    ("protocol.<name>.allow", Arms("always")),
    ("rebase.abbreviatecommands", Harmless),
    ("rebase.updaterefs", Harmless),
    ("receive.procreceiverefs", Arms("refs")),
    ("receive.shallowupdate", Harmless),
    ("receive.updateserverinfo", Harmless),
    ("remote.<name>.proxy", Proxy),
    ("remote.<name>.proxyauthmethod", Harmless),
    ("remote.<name>.promisor", Planted),
    ("remote.<name>.receivepack", Runs),
    ("remote.<name>.skipdefaultupdate", Harmless),
    ("remote.<name>.uploadpack", Runs),
    ("remote.<name>.url", Planted),
    ("remote.<name>.vcs", Arms("canary")),
    ("repack.updateserverinfo", Harmless),
    ("rerere.autoupdate", Harmless),
    ("sendemail.<identity>.*", Runs),
    ("sendemail.smtpsslcertpath", Harmless),
    ("sendemail.smtpserver", Runs),
    ("sendemail.*cmd", Runs),
    ("sequence.editor", Runs),
    ("status.relativepaths", Harmless),
    ("submodule.<name>.update", Bang),
    ("submodule.recurse", Arms("true")),
    ("trailer.<alias>.command", Runs),
    ("trailer.<alias>.cmd", Runs),
    ("uploadpack.packobjectshook", Runs),
    ("uploadpack.*", Harmless),
    ("uploadpackfilter.*", Harmless),
    ("url.<base>.insteadof", Planted),
    ("web.browser", Arms("canary")),
];

/// Words in a key's name that suggest a program.
const SUSPICIOUS: &[&str] = &[
    "command",
    "cmd",
    "program",
    "helper",
    "hook",
    "editor",
    "pager",
    "driver",
    "process",
    "clean",
    "smudge",
    "textconv",
    "askpass",
    "proxy",
    "fsmonitor",
    "vcs",
    "uploadpack",
    "receivepack",
    "path",
    "tool",
    "browser",
    "external",
    "update",
    "*",
];

/// Keys that name programs but that `git help --config` does not list. Sources: gitattributes(5),
/// git-interpret-trailers(1), git-hook(1), git-send-email(1), and git's documentation of partial
/// clones.
const ELSEWHERE: &[&str] = &[
    "extensions.partialClone",
    "filter.<driver>.process",
    "hook.<name>.command",
    "hook.<name>.event",
    "sendemail.tocmd",
    "trailer.<alias>.cmd",
    "trailer.<alias>.command",
];

/// Returns the configuration keys that the installed git lists.
pub fn of_git() -> BTreeSet<String> {
    let mut command = Command::new(git_program());
    let out = command.args(["help", "--config"]).output().unwrap();
    assert!(out.status.success(), "git help --config");
    let text = String::from_utf8(out.stdout).unwrap();
    let keys: BTreeSet<String> = text
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    assert!(keys.len() > 500, "git help --config has changed: {text}");
    keys
}

/// Returns the effect of a key, or `None` for an unknown key whose name suggests a program.
pub fn effect(key: &str) -> Option<Effect> {
    let key = key.to_ascii_lowercase();
    if let Some((_, effect)) = RULES
        .iter()
        .find(|(pattern, _)| matches_pattern(pattern, &key))
    {
        return Some(*effect);
    }
    let sounds = SUSPICIOUS.iter().any(|word| key.contains(word));
    (!sounds).then_some(Harmless)
}

fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

/// Replaces the placeholder in a key, such as `<driver>`, by names, and returns the resulting keys.
fn concrete(key: &str) -> Vec<String> {
    let lower = key.to_ascii_lowercase();
    let driver = match lower.as_str() {
        "diff.<driver>.textconv" => "canary-textconv",
        "filter.<driver>.process" => "canary-process",
        _ => "canary",
    };
    match lower.as_str() {
        "alias.*" => ["canary", "diff", "rev-parse"]
            .map(|name| format!("alias.{name}"))
            .to_vec(),
        "pager.<cmd>" => [
            "diff",
            "log",
            "show",
            "status",
            "config",
            "diff-tree",
            "branch",
        ]
        .map(|name| format!("pager.{name}"))
        .to_vec(),
        "gpg.<format>.program" => ["openpgp", "x509", "ssh"]
            .map(|format| format!("gpg.{format}.program"))
            .to_vec(),
        "credential.<url>.*" => vec!["credential.http://127.0.0.1.helper".to_owned()],
        "http.<url>.*" => vec!["http.http://canary.example.proxy".to_owned()],
        "browser.<tool>.*" | "difftool.<tool>.*" | "man.<tool>.*" => vec![],
        "sendemail.<identity>.*" => vec!["sendemail.canary.smtpserver".to_owned()],
        "protocol.<name>.allow" => ["ext", "file", "git", "http", "ssh"]
            .map(|name| format!("protocol.{name}.allow"))
            .to_vec(),
        _ => {
            let mut named = String::new();
            let mut rest = key;
            while let Some((before, behind)) = rest.split_once('<') {
                let (placeholder, after) = behind.split_once('>').unwrap();
                named.push_str(before);
                named.push_str(match placeholder {
                    "driver" => driver,
                    _ => "canary",
                });
                rest = after;
            }
            vec![format!("{named}{rest}")]
        }
    }
}

/// Returns a value for every key of the installed git that names or enables a program.
pub fn settings(canaries: &Canaries) -> Vec<(String, String)> {
    let keys = of_git();
    let elsewhere = ELSEWHERE.iter().map(|key| (*key).to_owned());
    let all: BTreeSet<String> = keys.into_iter().chain(elsewhere).collect();
    let mut settings = Vec::new();
    for key in all {
        let effect = effect(&key).unwrap_or_else(|| panic!("no rule for {key}"));
        for name in concrete(&key) {
            let value = match effect {
                Runs => match name.as_str() {
                    "merge.canary.driver" => {
                        format!("{} %O %A %B", canaries.program(&name))
                    }
                    _ => canaries.program(&name),
                },
                Bang => format!("!{}", canaries.program(&name)),
                Hooks => canaries.directory(&name, HOOKS),
                Proxy => canaries.proxy(),
                Arms(value) => value.to_owned(),
                Planted | Harmless => continue,
            };
            settings.push((name, value));
        }
    }
    settings
}

/// The hooks that githooks(5) documents.
pub const HOOKS: &[&str] = &[
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

#[test]
fn every_git_config_key_has_a_rule() {
    let unknown: Vec<String> = of_git()
        .into_iter()
        .filter(|key| effect(key).is_none())
        .collect();
    assert!(
        unknown.is_empty(),
        "does a value of these name a program? Add them to RULES: {unknown:?}"
    );
}

#[test]
fn rule_matches_only_whole_keys() {
    assert!(matches_pattern("alias.*", "alias.x"));
    assert!(matches_pattern("sendemail.*cmd", "sendemail.tocmd"));
    assert!(!matches_pattern("diff.tool", "diff.toolx"));
    assert!(!matches_pattern("sendemail.*cmd", "sendemail.cmdx"));
    assert_eq!(effect("new.thingCommand"), None);
    assert_eq!(effect("core.abbrev"), Some(Harmless));
}
