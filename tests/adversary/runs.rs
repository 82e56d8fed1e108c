//! Checks the table of `docs/reference/git-processes.md`: runs every tool, resource and command in
//! every place.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    canaries::Sighting,
    commands::{ALONE, READING, WRITING, reading_tools, writing_tools},
    places::{Kind, Place, pulls},
    plant::Variant,
    trust::{Purpose, allows},
    world::{LEGACY, MODERN, Wire},
};

/// Programs that ran although the table forbids it, with the place and the step.
#[derive(Default)]
struct Findings {
    forbidden: BTreeMap<(String, Sighting), BTreeSet<String>>,
    /// Names of all programs that ran.
    seen: BTreeSet<String>,
}

impl Findings {
    fn look(&mut self, place: &mut Place, purpose: Purpose, at: &str, step: &str) {
        for mut sighting in place.canaries.sightings() {
            self.seen.insert(sighting.canary.clone());
            if !allows(purpose, &sighting) {
                sighting.parent = sighting.parent.chars().take(100).collect();
                let key = (at.to_owned(), sighting);
                self.forbidden
                    .entry(key)
                    .or_default()
                    .insert(step.to_owned());
            }
        }
    }

    #[track_caller]
    fn assert_no_findings(&self) {
        let mut text = String::new();
        for ((at, seen), steps) in &self.forbidden {
            let (canary, tokens, parent) = (&seen.canary, &seen.tokens, &seen.parent);
            let steps: Vec<_> = steps.iter().map(String::as_str).collect();
            let steps = steps.join("; ");
            text.push_str(&format!(
                "{at}: {canary} | tokens: {tokens} | by: {parent} | in: {steps}\n"
            ));
        }
        assert!(text.is_empty(), "programs that the table forbids:\n{text}");
    }

    /// Asserts that these canaries ran, which shows that they are planted.
    #[track_caller]
    fn assert_seen(&self, canaries: &[&str]) {
        for canary in canaries {
            assert!(
                self.seen.contains(*canary),
                "{canary} is not in {:?}",
                self.seen
            );
        }
    }
}

/// Returns the arguments that allow a server to use further paths.
fn allow_path(place: &Place) -> Vec<String> {
    let help = place.forge(&["mcp", "--help"]).output().stdout_text();
    if !help.contains("--allow-path") {
        return Vec::new();
    }
    let paths = place.named.iter().flatten();
    paths
        .flat_map(|path| ["--allow-path".to_owned(), path.clone()])
        .collect()
}

fn agents(kind: Kind) {
    let origin = pulls();
    let mut findings = Findings::default();
    let mut done = BTreeSet::new();
    let mut refused = Vec::new();
    for variant in Variant::ALL {
        for (era, mode) in [(MODERN, &["mcp"][..]), (LEGACY, &["mcp", "--write"])] {
            let mut place = Place::new(&origin, kind, variant);
            let at = format!("{kind:?} {variant:?} {}", mode.join(" "));
            let paths = allow_path(&place);
            let mut args = mode.to_vec();
            args.extend(paths.iter().map(String::as_str));
            let mut wire = Wire::start(&place.forge(&args), era);
            let named = place.named.clone();
            let mut look = |step: &str| {
                findings.look(&mut place, Purpose::Guarded, &at, step);
            };
            if mode.len() == 1 {
                named
                    .iter()
                    .for_each(|repo| reads(&mut wire, repo.as_deref(), &mut look));
            } else {
                for (tool, args) in writing_tools() {
                    let called = wire.call(tool, with_repo(args, named[0].as_deref()));
                    if called.0["isError"] == json!(true) {
                        refused.push((tool, called.text().to_owned()));
                    } else {
                        done.insert(tool);
                    }
                    look(tool);
                }
            }
            wire.end();
            look("the end");
        }
    }
    findings.assert_no_findings();
    if kind == Kind::Repository {
        // The test is valid only if these tools succeeded: a refused tool runs no program either.
        // `pr_merge` is refused everywhere: a merge, and the check of a rebase, would start a
        // planted driver or filter.
        for tool in ["pr_create", "pr_edit", "pr_review", "pr_set_state"] {
            assert!(done.contains(tool), "{tool} never succeeded: {refused:?}");
        }
    }
}

fn with_repo(mut args: Value, repo: Option<&str>) -> Value {
    if let Some(repo) = repo {
        args["repo"] = json!(repo);
    }
    args
}

/// Calls every tool that reads, and requests every resource and its completions.
fn reads(wire: &mut Wire, repo: Option<&str>, look: &mut impl FnMut(&str)) {
    for (tool, args) in reading_tools() {
        let step = format!("{tool} {args}");
        wire.call(tool, with_repo(args, repo));
        look(&step);
    }
    let list = wire.request("resources/list", json!({}))["result"]["resources"].clone();
    for resource in list.as_array().unwrap() {
        wire.request("resources/read", json!({"uri": resource["uri"]}));
        look("a resource that is listed");
    }
    let Some(path) = repo else { return };
    let templates = wire.request("resources/templates/list", json!({}));
    let templates = templates["result"]["resourceTemplates"].clone();
    for template in templates.as_array().unwrap() {
        let template = template["uriTemplate"].as_str().unwrap();
        let uri = template
            .replace(
                "{+repo}",
                &format!("local/{}", path.trim_start_matches('/')),
            )
            .replace("{number}", "1")
            .replace("{+path}", "feature-1.txt");
        assert!(!uri.contains('{'), "{uri}");
        wire.request("resources/read", json!({"uri": uri}));
        look(template);
        for (name, value) in [("repo", ""), ("number", ""), ("path", "f")] {
            let params = json!({
                "ref": {"type": "ref/resource", "uri": template},
                "argument": {"name": name, "value": value},
                "context": {"arguments": {"repo": path, "number": "1"}}
            });
            wire.request("completion/complete", params);
            look("completion/complete");
        }
    }
}

fn commands_that_read(kind: Kind) {
    let origin = pulls();
    let mut findings = Findings::default();
    for variant in Variant::ALL {
        let mut place = Place::new(&origin, kind, variant);
        let at = format!("{kind:?} {variant:?}");
        let named = place.named.clone();
        let mut run = |place: &mut Place, purpose: Purpose, args: &[&str]| {
            let _ = place.forge(args).output();
            findings.look(place, purpose, &at, &args.join(" "));
        };
        for repo in &named {
            for args in READING {
                match repo {
                    Some(repo) => {
                        let args = [args, &["-R", repo][..]].concat();
                        let purpose = match kind {
                            // The command names a repository other than that of the current
                            // directory.
                            Kind::EmbeddedBare | Kind::Clone => Purpose::Guarded,
                            _ => Purpose::PersonReads,
                        };
                        run(&mut place, purpose, &args);
                    }
                    // The remote is the path of a repository outside the current directory.
                    None if kind == Kind::Clone => run(&mut place, Purpose::Guarded, args),
                    None => run(&mut place, Purpose::PersonReads, args),
                }
            }
        }
        for args in ALONE {
            run(&mut place, Purpose::Guarded, args);
        }
        if kind == Kind::EmbeddedBare {
            // The user works in the repository, and names no other.
            place.cwd = place.planted.clone();
            for args in READING {
                run(&mut place, Purpose::Guarded, args);
            }
        }
    }
    findings.assert_no_findings();
}

fn commands_that_write(kind: Kind) -> Findings {
    let origin = pulls();
    let mut findings = Findings::default();
    for variant in Variant::ALL {
        let mut place = Place::new(&origin, kind, variant);
        let at = format!("{kind:?} {variant:?}");
        let named = place.named[0].clone();
        let purpose = match kind {
            Kind::Clone => Purpose::Guarded,
            _ => Purpose::PersonWrites,
        };
        for args in WRITING {
            let args = match &named {
                Some(repo) => [args, &["-R", repo][..]].concat(),
                None => args.to_vec(),
            };
            let _ = place.forge(&args).output();
            findings.look(&mut place, purpose, &at, &args.join(" "));
        }
        if kind == Kind::EmbeddedBare {
            place.cwd = place.planted.clone();
            for args in WRITING {
                let _ = place.forge(args).output();
                findings.look(&mut place, Purpose::Guarded, &at, &args.join(" "));
            }
        }
    }
    findings.assert_no_findings();
    findings
}

macro_rules! over_places {
    ($($place:ident = $kind:ident;)*) => { $(
        mod $place {
            use super::*;

            #[test]
            fn mcp_call_runs_no_planted_program() {
                agents(Kind::$kind);
            }

            #[test]
            fn read_command_runs_no_planted_program() {
                commands_that_read(Kind::$kind);
            }

            #[test]
            fn write_command_runs_only_listed_programs() {
                commands_that_write(Kind::$kind);
            }
        }
    )* };
}

over_places! {
    repository = Repository;
    linked_work_tree = LinkedWorkTree;
    submodule = Submodule;
    embedded_bare_repository = EmbeddedBare;
    clone = Clone;
}

#[test]
fn deliberate_write_runs_hooks_and_merge_drivers() {
    commands_that_write(Kind::Repository).assert_seen(&[
        "core.hooksPath/reference-transaction",
        "hooks/reference-transaction",
        "merge.canary.driver",
        "merge.odd.driver",
    ]);
}

/// Control experiment: plain git runs the canaries, so they are in places from which git takes
/// programs.
#[test]
fn plain_git_runs_the_planted_programs() {
    let origin = pulls();
    let mut findings = Findings::default();
    for variant in Variant::ALL {
        let mut place = Place::new(&origin, Kind::Repository, variant);
        for args in [
            &["status"][..],
            &["canary"],
            &["log", "-1", "--format=%GG", "feature-1"],
            &["log", "-p", "-1", "feature-2"],
            &["diff", "main", "feature-2"],
            &["diff", "--ext-diff", "main", "feature-2"],
            &["merge-tree", "--write-tree", "main", "feature-2"],
            &["merge", "--no-edit", "feature-2"],
            &["switch", "feature-3"],
            &["commit", "--allow-empty", "-S", "-m", "Signed"],
            &["fetch", "--all"],
            &["show", "feature-1:feature-1.txt"],
            &["push", "local", "main:refs/heads/other"],
        ] {
            let _ = place.git(args).output();
        }
        findings.look(&mut place, Purpose::Guarded, "git", "git");
    }
    findings.assert_seen(&[
        "alias.canary",
        "core.fsmonitor",
        "core.gitProxy",
        "core.hooksPath/reference-transaction",
        "core.sshCommand",
        "credential.helper",
        "diff.canary-textconv.textconv",
        "diff.canary.command",
        "filter.canary-process.process",
        "filter.canary.clean",
        "filter.canary.smudge",
        "git-remote-canary-vcs",
        "gpg.program",
        "hooks/post-checkout",
        "hooks/reference-transaction",
        "http.proxy",
        "merge.canary.driver",
        "merge.odd.driver",
        "remote.ext.url",
        "remote.local.uploadpack",
        "url.ext.insteadOf",
        "users-credential.helper",
    ]);
}
