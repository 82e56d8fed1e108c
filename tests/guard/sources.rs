use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use forge_testkit::workspace_root;

/// Returns the files that git tracks or would add, relative to the workspace's root.
pub fn files() -> Vec<PathBuf> {
    let out = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(workspace_root())
        .output()
        .expect("git ls-files");
    assert!(out.status.success(), "the workspace is no git repository");
    let names = String::from_utf8(out.stdout).expect("names in UTF-8");
    let names = names.split_terminator('\0').map(PathBuf::from);
    names
        .filter(|name| workspace_root().join(name).is_file())
        .collect()
}

/// Returns the text of a file, given its path relative to the workspace's root.
pub fn read(name: &Path) -> Option<String> {
    fs::read_to_string(workspace_root().join(name)).ok()
}

fn is_rust(name: &Path) -> bool {
    name.extension().is_some_and(|e| e == "rs")
}

/// Returns each line for which `wrong` returns true, with its file and line number.
fn lines(of: impl Fn(&Path) -> bool, wrong: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for name in files().into_iter().filter(|name| of(name)) {
        for (n, line) in read(&name).unwrap_or_default().lines().enumerate() {
            if wrong(&name, line) {
                found.push(format!("{}:{}: {}", name.display(), n + 1, line.trim()));
            }
        }
    }
    found
}

/// Joins the parts of a word that this source file must not contain.
fn spelled(parts: &[&str]) -> String {
    parts.concat()
}

/// Returns true if a file belongs to a backend, which may name its own forge.
fn is_backend(name: &Path) -> bool {
    ["github", "tangled", "local"]
        .iter()
        .any(|backend| name.starts_with(format!("crates/forge-{backend}")))
}

#[test]
fn forge_kinds_are_matched_only_in_registry() {
    let allowed = [
        "crates/forge/src/registry.rs",
        "crates/forge-core/src/locator",
        // The features of this workspace.
        "crates/xtask/src/test.rs",
    ];
    let kinds = ["GITHUB", "TANGLED", "LOCAL"];
    // A backend may check that a value belongs to its own forge.
    let own =
        |name: &Path, kind: &str| name.starts_with(format!("crates/forge-{}", kind.to_lowercase()));
    let words = ["\"github\"", "\"tangled\"", "\"local\""];
    let found = lines(
        |name| {
            is_rust(name)
                && name.starts_with("crates")
                && name.components().any(|c| c.as_os_str() == "src")
                && !allowed.iter().any(|a| name.starts_with(a))
        },
        |name, line| {
            let compared = line.contains("==") || line.contains("!=") || line.contains("=>");
            let named = kinds
                .iter()
                .any(|k| line.contains(&format!("ForgeKind::{k}")) && !own(name, k));
            let listed = words.iter().filter(|w| line.contains(**w)).count();
            let is_list = listed > 1 && !line.contains("feature = ");
            (compared && named)
                || is_list
                || words.iter().any(|w| line.contains(&format!("{w} =>")))
                || (line.contains("match ") && line.contains("kind.as_str()") && !is_backend(name))
        },
    );
    assert!(
        found.is_empty(),
        "ask the registry or the capabilities:\n{}",
        found.join("\n")
    );
}

/// Names of tangled occur only in `dialect.rs`, so that configuration can rename them. There are
/// two exceptions: lexicons describe records with the default names, and locators contain the
/// default collections.
#[test]
fn tangled_names_occur_only_in_dialect_table() {
    let backend = Path::new("crates/forge-tangled/src");
    let table = backend.join("dialect.rs");
    let named = [
        spelled(&["sh.", "tangled."]),
        spelled(&["org.", "tangled."]),
    ];
    let fields = fields_of(&read(&table).unwrap_or_default());
    assert!(fields.len() > 10, "{fields:?}");
    let mut found = Vec::new();
    let mut read_files = 0;
    for name in files().into_iter().filter(|name| is_rust(name)) {
        let is_code = name.starts_with("crates")
            && name.components().any(|c| c.as_os_str() == "src")
            && !name.ends_with("tests.rs");
        let is_table = name == table
            || name.starts_with(backend.join("lexicon"))
            || name == Path::new("crates/forge-core/src/locator/atproto.rs");
        if !is_code || is_table {
            continue;
        }
        read_files += 1;
        let is_backend = name.starts_with(backend);
        let text = read(&name).unwrap_or_default();
        let code = text.lines().take_while(|line| *line != "#[cfg(test)]");
        let code = code.enumerate().filter(|(_, line)| {
            let line = line.trim_start();
            let has = |names: &[String]| names.iter().any(|name| line.contains(name.as_str()));
            let is_read = is_backend && (has(&fields) || reads_past_the_table(line));
            !line.starts_with("//") && (has(&named) || is_read)
        });
        found.extend(code.map(|(n, line)| format!("{}:{}: {line}", name.display(), n + 1)));
    }
    assert!(read_files > 100, "only {read_files} files were read");
    assert!(
        found.is_empty(),
        "put the name into dialect.rs:\n{}",
        found.join("\n")
    );
}

/// Returns patterns that find the names of a table's fields outside the table. They match an
/// unambiguous name in quotes, any name read from a record, and any name in a serde rename.
fn fields_of(table: &str) -> Vec<String> {
    let words = table.lines().filter_map(|line| {
        let (_, rest) = line.trim().split_once(" = \"")?;
        rest.strip_suffix("\",")
    });
    let means_nothing_else = |c: char| c.is_ascii_uppercase() || matches!(c, '-' | '_');
    let own = |word: &&str| !word.contains('.') && word.contains(means_nothing_else);
    let asked = [
        ".text(\"",
        ".created_at(\"",
        ".text_at(&[\"",
        "(rename = \"",
    ];
    words
        .filter(own)
        // A name with a dash can also be a part of a URL, or the start of another name.
        .map(|word| match word.contains('-') {
            true => format!("\"{word}"),
            false => format!("\"{word}\""),
        })
        .chain(asked.map(str::to_owned))
        .collect()
}

/// Returns true if a line reads a response without the table. Such a line either quotes a field
/// name that belongs neither to atproto, nor to a DID document, nor to a token, or it parses a
/// knot's or spindle's response directly into a type.
fn reads_past_the_table(line: &str) -> bool {
    let theirs = [
        "$link",
        "$type",
        "blob",
        "cid",
        "exp",
        "id",
        "records",
        "ref",
        "results",
        "serviceEndpoint",
        "uri",
        "value",
    ];
    let mut asked = line.split("get(\"").skip(1);
    let by_name = asked.any(|rest| {
        let name = rest.split('"').next().unwrap_or_default();
        !theirs.contains(&name)
    });
    let mut queries = ["knot.query", "spindle.query"].iter();
    let at_once = queries.any(|query| line.contains(query)) && !line.contains(": Value = ");
    by_name || at_once
}

#[test]
fn misplaced_tangled_field_name_is_detected() {
    let table = read(Path::new("crates/forge-tangled/src/dialect.rs")).expect("the table");
    let fields = fields_of(&table);
    let is_seen = |line: &str| {
        fields.iter().any(|name| line.contains(name.as_str())) || reads_past_the_table(line)
    };
    for line in [
        "let input = json!({ \"forkRef\": head });",
        "let whose = text(\"ownerDid\");",
        "let parents = of(\"parent_hashes\");",
        "page.split(\"data-aturi=\\\"\")",
        "answer.get(\"success\").and_then(Value::as_bool)",
        "let parents = get(\"hash\").or_else(|| get(\"cid\"));",
        "#[serde(rename = \"is_conflicted\")]",
        "let found = knot.query::<Branch>(method, &params).await;",
        "let page: Pipelines = spindle.query(method, &params).await?;",
    ] {
        assert!(is_seen(line), "{line}");
    }
    for line in [
        "let cid = answer.get(\"cid\").and_then(Value::as_str);",
        "let oid = commit.get(&*said.common_oid).unwrap_or(commit);",
        "let found: Value = knot.query(method, &params).await?;",
    ] {
        assert!(!is_seen(line), "{line}");
    }
}

/// A hint is data that CLI and MCP print in their own form, so the library must not name commands
/// or flags. Documentation may: the pages about commands, and the documentation of keys and
/// variables.
#[test]
fn library_names_no_command_or_flag() {
    let faces = ["forge-cli", "forge-mcp", "forge-testkit", "xtask"];
    let pages = [
        "docs.rs",
        "config/docs.rs",
        "config/env.rs",
        "config/keys.rs",
    ];
    let mut found = Vec::new();
    let mut read_files = 0;
    for name in files().into_iter().filter(|name| is_rust(name)) {
        let mut parts = name.iter().filter_map(|part| part.to_str());
        let is_library = parts.next() == Some("crates")
            && parts.next().is_some_and(|name| !faces.contains(&name))
            && parts.next() == Some("src")
            && !name.ends_with("tests.rs");
        let is_page = pages
            .iter()
            .any(|page| name == Path::new("crates/forge/src").join(page));
        if !is_library || is_page {
            continue;
        }
        read_files += 1;
        let text = read(&name).unwrap_or_default();
        let code = text.lines().take_while(|line| *line != "#[cfg(test)]");
        let code = code.enumerate().filter(|(_, line)| names_a_command(line));
        found.extend(code.map(|(n, line)| format!("{}:{}: {line}", name.display(), n + 1)));
    }
    assert!(read_files > 100, "only {read_files} files were read");
    assert!(
        found.is_empty(),
        "make it the action of a hint:\n{}",
        found.join("\n")
    );
}

/// Returns true if a line of code, other than a comment, names one of our commands or flags in
/// backquotes.
fn names_a_command(line: &str) -> bool {
    let groups = [
        "auth",
        "capabilities",
        "config",
        "doctor",
        "issue",
        "label",
        "mcp",
        "pr",
        "repo",
        "tangled",
        "workflow",
    ];
    let mut after = line.split("forge ").skip(1);
    let is_command = after.any(|rest| {
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric()).next();
        word.is_some_and(|word| groups.contains(&word))
    });
    let is_flag = ["`--", "`-R"].iter().any(|flag| line.contains(flag));
    !line.trim_start().starts_with("//") && (is_command || is_flag)
}

#[test]
fn command_or_flag_in_hint_is_detected() {
    for line in [
        "with_hint(\"run `forge auth login`\")",
        "    \"merge it first: forge pr merge {number}\"",
        "why: \"pass `--admin`\",",
        "\"name it with `-R owner/repo`\"",
    ] {
        assert!(names_a_command(line), "{line}");
    }
    for line in [
        "/// `forge pr merge`",
        "\"the forge repository\"",
        "\"run `git fetch --unshallow`\"",
        "args.push(\"--end-of-options\")",
    ] {
        assert!(!names_a_command(line), "{line}");
    }
}

/// Files of the MCP server, each with the number of lines that use other people's text without
/// quotes. Such a line compares, cuts or counts the text, or quotes it in another way.
const UNQUOTED: [(&str, usize); 14] = [
    ("calls/action.rs", 2),
    ("calls/call.rs", 2),
    ("calls/failure.rs", 1),
    ("output/issue.rs", 2),
    ("output/parts.rs", 2),
    ("output/pull.rs", 2),
    ("prompts/mod.rs", 1),
    ("prompts/workflow.rs", 1),
    ("resources/complete.rs", 1),
    ("tools/confirmation.rs", 2),
    ("tools/pr_context/since.rs", 1),
    ("tools/pr_context/waiting.rs", 2),
    ("tools/pr_merge.rs", 1),
    ("tools/workflow_parts.rs", 4),
];

#[test]
fn code_printing_unquoted_foreign_text_is_listed() {
    let root = Path::new("crates/forge-mcp/src");
    let mut found = Vec::new();
    for name in files().into_iter().filter(|name| is_rust(name)) {
        let Ok(file) = name.strip_prefix(root) else {
            continue;
        };
        let text = read(&name).unwrap_or_default();
        // A line `mod tests;` comes before the code.
        let code = text.split("\n#[cfg(test)]\nmod tests {").next();
        let uses = [".as_data()", "Clean::as_data"];
        let count = |code: &str| uses.iter().map(|it| code.matches(it).count()).sum();
        let count: usize = code.map_or(0, count);
        if count > 0 {
            found.push((file.display().to_string(), count));
        }
    }
    found.sort();
    let listed = UNQUOTED.map(|(file, count)| (file.to_owned(), count));
    assert_eq!(found, listed, "a line of a result quotes foreign text");
}

/// `forge_core::text::quote` writes every prefix, double quote and entity around foreign text.
#[test]
fn foreign_text_is_quoted_by_one_function() {
    let faces = ["crates/forge-cli/src", "crates/forge-mcp/src"];
    let copies = [
        "push_str(\"> \")",
        " │ {",
        "replace('\"', \"'\")",
        "'\"' => '\\''",
        "\"&lt;\"",
    ];
    let found = lines(
        |name| is_rust(name) && faces.iter().any(|face| name.starts_with(face)),
        |_, line| copies.iter().any(|copy| line.contains(copy)),
    );
    assert!(
        found.is_empty(),
        "call forge_core::text::quote:\n{}",
        found.join("\n")
    );
}

#[test]
fn files_contain_no_machine_paths() {
    let homes = [
        spelled(&["/ro", "ot/"]),
        spelled(&["/wo", "rk/"]),
        spelled(&["/Us", "ers/"]),
        spelled(&["/ho", "me/runner"]),
        spelled(&["/usr/lo", "cal/"]),
    ];
    let found = lines(
        |_| true,
        |_, line| homes.iter().any(|home| line.contains(home)),
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Returns the source of the product without its unit tests, with continued lines joined.
fn product_source(name: &Path) -> Option<String> {
    let is_product = is_rust(name)
        && name.starts_with("crates")
        && name
            .components()
            .nth(2)
            .is_some_and(|c| c.as_os_str() == "src")
        && !name.starts_with("crates/xtask")
        && !name.starts_with("crates/forge-testkit");
    let text = is_product.then(|| read(name))??;
    let code = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    let mut joined = String::new();
    for line in code.lines() {
        match line.strip_suffix('\\') {
            Some(part) => joined.push_str(part.trim_start()),
            None => {
                joined.push_str(line.trim_start());
                joined.push('\n');
            }
        }
    }
    Some(joined)
}

/// Returns the commands in the text of a source file that have a variable part, such as
/// `"git fetch {remote}"`.
fn commands_with_holes(source: &str) -> Vec<String> {
    let git = [
        "-C",
        "am",
        "apply",
        "bisect",
        "branch",
        "checkout",
        "clone",
        "commit",
        "config",
        "diff",
        "fetch",
        "log",
        "ls-remote",
        "merge",
        "pull",
        "push",
        "read-tree",
        "rebase",
        "remote",
        "reset",
        "show",
        "switch",
        "tag",
        "update-ref",
        "worktree",
    ];
    let forge = [
        "auth", "config", "issue", "label", "mcp", "pr", "repo", "tangled", "workflow",
    ];
    let begins = |word: &str, words: &[&str]| {
        let mut parts = word.split([' ', '"', '`', '\'']);
        parts.next().is_some_and(|first| words.contains(&first))
    };
    let mut found = Vec::new();
    for line in source.lines().filter(|line| !line.starts_with("//")) {
        for (program, words) in [("git ", &git[..]), ("forge ", &forge[..])] {
            for (at, _) in line.match_indices(program) {
                let starts_word = line[..at].ends_with(|c: char| !c.is_alphanumeric());
                let rest = &line[at + program.len()..];
                let command = rest
                    .split(['"', '`', '\'', ';', ','])
                    .next()
                    .unwrap_or_default();
                if starts_word && begins(rest, words) && command.contains('{') {
                    found.push(format!("{program}{command}"));
                }
            }
        }
    }
    found
}

/// A command in a message is pasted into a shell. `forge_git::command_line` quotes its words.
#[test]
fn commands_to_paste_are_built_by_one_function() {
    let mut found = Vec::new();
    for name in files() {
        let Some(source) = product_source(&name) else {
            continue;
        };
        for command in commands_with_holes(&source) {
            found.push(format!("{}: {command}", name.display()));
        }
    }
    assert!(found.is_empty(), "use command_line:\n{}", found.join("\n"));
    let detected = |source: &str| !commands_with_holes(source).is_empty();
    assert!(detected("format!(\"run `git fetch {} x`\", remote)"));
    assert!(detected("format!(\"then git -C {dir} status\")"));
    assert!(detected("\"use forge issue edit {key} --title\""));
    assert!(!detected(
        "format!(\"run `{}` or git fetch; {}\", command, why)"
    ));
    assert!(!detected("// git fetch {remote}"));
}

/// Returns the lines that can start `git push`: those with its name as a word of a list, unless the
/// word names an argument or a subcommand in an error, or follows `git` in a command to paste.
fn push_lines(source: &str) -> Vec<&str> {
    let is_argument = |before: &str| {
        let others = ["\"git\", ", "invalid(", "error(", "b"];
        !others.iter().any(|other| before.ends_with(*other))
    };
    let has_argument = |line: &&str| {
        ["\"push\"", "\"send-pack\"", "\"http-push\""]
            .iter()
            .flat_map(|word| line.match_indices(*word))
            .any(|(at, _)| is_argument(&line[..at]))
    };
    source.lines().filter(has_argument).collect()
}

/// Only the functions of `push.rs`, which take a chosen target, start `git push`.
#[test]
fn git_push_is_started_in_one_file() {
    let mut found = Vec::new();
    for name in files() {
        let is_test = name.iter().any(|part| part == "tests");
        let source = product_source(&name).unwrap_or_default();
        if !is_test && !push_lines(&source).is_empty() {
            found.push(name.display().to_string());
        }
    }
    assert_eq!(found, ["crates/forge-git/src/push.rs"]);
    for line in [
        "git.run([\"push\", remote])",
        "\"push\",",
        "git.run([\"-c\", setting, \"push\", \"--force\"])",
        "command.arg(\"push\").status()",
        "let args = vec![OsStr::new(\"push\")];",
        "args.extend([\"--quiet\", \"send-pack\"]);",
    ] {
        assert_eq!(push_lines(line), [line]);
    }
    for line in [
        "Error::invalid(\"push\", message)",
        "output.error(\"push\")",
        "command_line([\"git\", \"push\", remote])",
        "(b\"push\", None, b\"default\") => {",
    ] {
        assert!(push_lines(line).is_empty(), "{line}");
    }
}

#[test]
fn no_test_is_ignored() {
    let marks = [
        spelled(&["#[ig", "nore"]),
        spelled(&["with_ig", "nored_flag(true"]),
    ];
    let found = lines(is_rust, |_, line| {
        marks.iter().any(|mark| line.contains(mark))
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn sources_have_no_todo_marks() {
    let marks = [
        spelled(&["TO", "DO"]),
        spelled(&["FIX", "ME"]),
        spelled(&["XX", "X:"]),
    ];
    let found = lines(is_rust, |_, line| {
        marks.iter().any(|mark| line.contains(mark))
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_source_file_is_compiled() {
    let files: BTreeSet<_> = files().into_iter().filter(|name| is_rust(name)).collect();
    let mut reached = BTreeSet::new();
    let roots = files
        .iter()
        .filter(|name| is_root(name))
        .cloned()
        .collect::<Vec<_>>();
    assert!(roots.len() >= 8, "{roots:?}");
    for root in roots {
        reach(&root, true, &files, &mut reached);
    }
    let forgotten: Vec<_> = files
        .difference(&reached)
        .map(|f| f.display().to_string())
        .collect();
    assert!(
        forgotten.is_empty(),
        "no module names these files:\n{}",
        forgotten.join("\n")
    );
}

/// Returns true if cargo compiles a file as a target: as the root of a library, a program or a
/// test.
fn is_root(name: &Path) -> bool {
    let parts: Vec<_> = name.iter().filter_map(|p| p.to_str()).collect();
    matches!(
        parts.as_slice(),
        ["crates" | "tests", _, "src", "lib.rs" | "main.rs"]
            | ["crates", _, "build.rs"]
            | ["crates", _, "src", "bin", _]
            | ["crates" | "tests", _, "examples" | "tests" | "benches", _]
            | ["crates" | "tests", _, "examples" | "tests", _, "main.rs"]
            | ["tests", _, "main.rs"]
    )
}

/// Adds to `reached` all files to which the `mod` lines of `file` lead.
pub fn reach(file: &Path, root: bool, files: &BTreeSet<PathBuf>, reached: &mut BTreeSet<PathBuf>) {
    if !reached.insert(file.to_path_buf()) {
        return;
    }
    let parent = file.parent().expect("a file in a directory");
    let stem = file.file_stem().expect("a name");
    let dir = if root || stem == "mod" {
        parent.to_path_buf()
    } else {
        parent.join(stem)
    };
    let mut own_path = None;
    for line in read(file).unwrap_or_default().lines() {
        if let Some(path) = line.trim().strip_prefix("#[path = \"") {
            own_path = path.strip_suffix("\"]").map(|path| parent.join(path));
            continue;
        }
        let line = line
            .trim()
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ");
        let Some(module) = line.trim_start_matches("pub ").strip_prefix("mod ") else {
            continue;
        };
        let Some(module) = module.strip_suffix(';') else {
            continue;
        };
        let usual = [
            dir.join(format!("{module}.rs")),
            dir.join(module).join("mod.rs"),
        ];
        for next in own_path.take().into_iter().chain(usual) {
            if files.contains(&next) {
                reach(&next, false, files, reached);
            }
        }
    }
}

#[test]
fn every_test_directory_is_a_target() {
    let manifest = read(Path::new("tests/Cargo.toml")).expect("the manifest");
    // Deeper directories belong to the crates in `tests/`.
    let is_suite = |name: &Path| name.ends_with("main.rs") && name.iter().count() == 3;
    let tests: BTreeSet<_> = files()
        .into_iter()
        .filter(|name| name.starts_with("tests") && is_suite(name))
        .collect();
    assert!(!tests.is_empty());
    for name in tests {
        let path = name
            .strip_prefix("tests")
            .expect("a test")
            .display()
            .to_string();
        assert!(
            manifest.contains(&format!("path = \"{path}\"")),
            "{path} is in no target"
        );
    }
}
