//! Tests diffs larger than a result: the pages that the cursors lead to contain every file exactly
//! once.

use std::{collections::BTreeSet, fmt::Write as _};

use forge_testkit::Identity;
use serde_json::json;

use crate::world::{Called, MODERN, Wire, World, column};

fn pages(wire: &mut Wire, args: serde_json::Value) -> Vec<Called> {
    wire.pages("pr_diff", args, 25_000)
}

/// Returns the paths in the file headers, in order.
pub fn headers(pages: &[Called]) -> Vec<String> {
    let lines = pages.iter().flat_map(|p| p.text().lines());
    let paths = lines.filter_map(|l| l.strip_prefix("diff --git a/"));
    paths
        .map(|l| l.split(" b/").next().unwrap().to_owned())
        .collect()
}

#[test]
fn each_of_5000_files_appears_once() {
    let world = World::new();
    let mut stream = String::from(
        "commit refs/heads/wide\ncommitter Ada <ada@example.com> 1750000000 +0000\ndata 4\nWide\nfrom refs/heads/main^0\n",
    );
    for n in 0..5_000 {
        let content = format!("line of {n}\n").repeat(1 + n % 4);
        let _ = write!(
            stream,
            "M 100644 inline dir{}/file{n:04}.txt\ndata {}\n{content}\n",
            n % 10,
            content.len()
        );
    }
    world.git.import(stream.into_bytes());
    world
        .forge_as(&Identity::ADA, &[])
        .args(["pr", "create", "-H", "wide", "-t", "Wide", "-b", ""])
        .ok();
    let mut wire = world.server(MODERN, &[]);

    let first = wire
        .call("pr_diff", json!({"number": 1}))
        .ok()
        .says("5000 files");
    assert_eq!(first.data()["files_total"], 5_000);
    assert!(first.data()["withheld"].is_null());

    let args = json!({"number": 1, "max_chars": 100_000});
    let all = wire.pages("pr_diff", args, 100_000);
    let shown = headers(&all);
    assert_eq!(shown.len(), 5_000);
    assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), 5_000);
    assert_eq!(column(&all, "files", "path"), shown);

    let names = pages(&mut wire, json!({"number": 1, "names_only": true}));
    let rows: Vec<&str> = names
        .iter()
        .flat_map(|p| p.text().lines())
        .filter(|l| l.starts_with("A ") && l.contains(" dir"))
        .collect();
    assert_eq!(rows.len(), 5_000);
    assert_eq!(column(&names, "files", "path"), shown);

    let some = pages(
        &mut wire,
        json!({"number": 1, "paths": ["dir3", "dir4/file0004.txt"]}),
    );
    assert_eq!(headers(&some).len(), 501);
    let none = wire
        .call(
            "pr_diff",
            json!({"number": 1, "paths": ["dir3/file0003.tx"]}),
        )
        .fails("invalid_input");
    assert!(none.text().contains("file0003.txt"), "{}", none.text());
}

#[test]
fn long_file_is_cut_at_hunks_and_lines() {
    let world = World::new();
    let lines: String = (0..6_000).map(|n| format!("line {n:05}\n")).collect();
    world
        .git
        .commit("main", "Base", &[("long.txt", Some(&lines))]);
    // `long.txt` has a change in every hundredth line; the other files have a single hunk.
    let changed: String = (0..6_000)
        .map(|n| {
            if n % 100 == 50 {
                format!("LINE {n:05} <T>\n")
            } else {
                format!("line {n:05}\n")
            }
        })
        .collect();
    let wide = format!("{}\n", "x".repeat(60_000));
    let files = [
        ("long.txt", Some(changed.as_str())),
        ("new.txt", Some(lines.as_str())),
        ("wide.txt", Some(wide.as_str())),
    ];
    world.git.commit("edit", "Edit", &files);
    world
        .forge_as(&Identity::ADA, &[])
        .args(["pr", "create", "-H", "edit", "-t", "Edit", "-b", ""])
        .ok();
    let mut wire = world.server(MODERN, &[]);
    let all = pages(&mut wire, json!({"number": 1}));
    assert_eq!(headers(&all), ["long.txt", "new.txt", "wide.txt"]);
    assert_eq!(column(&all, "files", "path"), headers(&all));
    let text: Vec<&str> = all.iter().flat_map(|p| p.text().lines()).collect();
    for n in (50..6_000).step_by(100) {
        let line = format!("+LINE {n:05} <T>");
        assert_eq!(text.iter().filter(|l| **l == line).count(), 1, "{line}");
    }
    for n in 0..6_000 {
        let line = format!("+line {n:05}");
        assert_eq!(text.iter().filter(|l| **l == line).count(), 1, "{line}");
    }
    let wide: usize = text
        .iter()
        .map(|l| l.trim_start_matches("[continued within a line] "))
        .map(|l| l.trim_start_matches('+'))
        .filter(|l| l.bytes().all(|b| b == b'x') && l.len() > 100)
        .map(|l| l.matches('x').count())
        .sum();
    assert_eq!(wide, 60_000);

    // Once the head has moved, the old cursor is refused.
    let cursor = all[0].cursor().unwrap();
    world.git.commit("edit", "More", &[("more", Some("x"))]);
    wire.call("pr_diff", json!({"number": 1, "cursor": cursor}))
        .fails("conflict");
}

#[test]
fn first_page_has_part_of_long_hunk() {
    let world = World::new();
    let lines: String = (0..200).map(|n| format!("line {n:03}\n")).collect();
    let big = "0123456789\n".repeat(10_000);
    let files = [
        ("big.txt", Some(big.as_str())),
        ("new.txt", Some(lines.as_str())),
    ];
    world.git.commit("long", "Add files", &files);
    let create = ["pr", "create", "-H", "long", "-t", "Long", "-b", ""];
    world.forge(&create).ok();
    let mut wire = world.server(MODERN, &[]);
    let args = json!({"number": 1, "paths": ["new.txt"], "max_chars": 1000});
    let pages = wire.pages("pr_diff", args, 1_000);
    let first = pages[0].text();
    assert!(first.contains("+line 000\n"), "{first}");
    assert!(first.contains("Files 1-1 of 1. More: "), "{first}");
    assert_eq!(column(&pages[..1], "files", "path"), ["new.txt"]);
    assert_eq!(column(&pages, "files", "path").len(), 1);
    let text = pages.iter().flat_map(|p| p.text().lines());
    let text: Vec<&str> = text.filter(|l| l.starts_with("+line ")).collect();
    let all: Vec<String> = (0..200).map(|n| format!("+line {n:03}")).collect();
    assert_eq!(text, all);
    // A resource has no further pages, so its text says where the diff continues.
    let path = world.git.path().canonicalize().unwrap();
    for (of, files) in [("files/big.txt", 1), ("diff", 2)] {
        let uri = format!("forge://local{}/pull/1/{of}", path.display());
        let answer = wire.request("resources/read", json!({"uri": uri}));
        let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
        let end = format!("\nCut in file 1 of {files}; pr_diff has the rest.\n");
        assert!(text.ends_with(&end), "{}", &text[text.len() - 200..]);
    }
}

#[test]
fn diff_is_computed_against_the_current_base() {
    let world = World::new();
    let names: Vec<String> = (0..12).map(|n| format!("d/{n:02}.txt")).collect();
    let files: Vec<(&str, Option<&str>)> =
        names.iter().map(|n| (n.as_str(), Some("one\n"))).collect();
    let main = world.git.oid("main").unwrap();
    let big = world.git.commit("big", "Many", &files);
    world.git.set_branch("work", &big);
    let more = [("z.txt", Some("z\n"))];
    world.git.commit("work", "Another", &more);
    let create = ["pr", "create", "-H", "work", "-t", "Work", "-b", ""];
    world.forge(&create).ok();
    let mut wire = world.server(MODERN, &[]);
    let path = world.git.path().canonicalize().unwrap();
    let uri = format!("forge://local{}/pull/1/diff", path.display());
    let args = json!({"number": 1, "max_chars": 1000});
    let mut old: Option<String> = None;
    for (base, count) in [("as it was", 13), ("edited", 1), ("moved", 13), ("back", 1)] {
        match base {
            "edited" => world.forge(&["pr", "edit", "1", "--base", "big"]).ok(),
            "moved" => world.git.set_branch("big", &main),
            "back" => world.git.set_branch("big", &big),
            _ => {}
        }
        if let Some(cursor) = &old {
            let mut next = args.clone();
            next["cursor"] = json!(cursor);
            let followed = wire.call("pr_diff", next);
            // A cursor stays valid if the diff is the same with the new base.
            match base {
                "moved" => drop(followed.ok()),
                _ => drop(
                    followed
                        .fails("conflict")
                        .says("the diff has changed since the first page")
                        .says("start again without cursor"),
                ),
            }
        }
        let page = wire.call("pr_diff", args.clone()).ok();
        assert_eq!(page.data()["files_total"], count, "{base}");
        assert!(page.data()["withheld"].is_null(), "{}", page.text());
        old = page.cursor().or(old);
        let answer = wire.request("resources/read", json!({"uri": uri}));
        let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
        assert_eq!(text.matches("diff --git ").count(), count, "{base}");
        assert!(old.is_some(), "{base}");
    }
}

#[test]
fn unmatched_diff_path_is_named() {
    let world = World::with_feature();
    let mut wire = world.server(MODERN, &[]);
    let args = json!({"number": 1, "paths": ["feature.txt", "nope/"]});
    let diff = wire
        .call("pr_diff", args)
        .ok()
        .says("Warning: \"no changed file is at or below nope/\"\n")
        .says("+two\n");
    assert_eq!(diff.data()["warnings"].as_array().unwrap().len(), 1);
    let args = json!({"number": 1, "paths": ["feature.txt"]});
    let diff = wire.call("pr_diff", args).ok();
    assert!(diff.data().get("warnings").is_none(), "{}", diff.data());
}

#[test]
fn truncated_diff_cursor_is_refused() {
    let world = World::new();
    let text = "a line of the file\n".repeat(60);
    let files = [("one", Some(text.as_str())), ("two", Some(text.as_str()))];
    world.git.commit("long", "Add files", &files);
    world
        .forge(&["pr", "create", "-H", "long", "-t", "Long", "-b", ""])
        .ok();
    let mut wire = world.server(MODERN, &[]);
    let mut args = json!({"number": 1, "max_chars": 1000});
    let cursor = wire.call("pr_diff", args.clone()).ok().cursor().unwrap();
    let (cut, _) = cursor.rsplit_once('.').unwrap();
    args["cursor"] = json!(cut);
    wire.call("pr_diff", args)
        .fails("invalid_input")
        .says("damaged");
}

#[test]
fn diff_pages_order_code_tests_and_derived_files() {
    let world = World::new();
    let long = |word: &str| format!("{word}\n").repeat(60);
    let (code, test, lock) = (long("code"), long("test"), long("lock"));
    let files = [
        ("Cargo.lock", Some(lock.as_str())),
        ("README.md", Some("read\n")),
        ("a/tests/x.rs", Some(test.as_str())),
        ("go.sum", Some("sum\n")),
        ("src/lib.rs", Some(code.as_str())),
        ("vendor/v.c", Some("vendored\n")),
        ("zz.rs", Some("last\n")),
    ];
    world.git.commit("many", "Many", &files);
    let create = ["pr", "create", "-H", "many", "-t", "Many", "-b", ""];
    world.forge(&create).ok();
    let mut wire = world.server(MODERN, &[]);
    let args = json!({"number": 1, "max_chars": 1000});
    let pages = wire.pages("pr_diff", args, 1_000);
    assert!(pages.len() > 1);
    let order = [
        "src/lib.rs",
        "zz.rs",
        "a/tests/x.rs",
        "README.md",
        "Cargo.lock",
        "go.sum",
        "vendor/v.c",
    ];
    assert_eq!(column(&pages, "files", "path"), order);
    let classes = ["code", "code", "test", "docs", "lock", "lock", "vendored"];
    assert_eq!(column(&pages, "files", "class"), classes);
    let text: String = pages.iter().map(|page| page.text()).collect();
    assert!(text.contains("A +60 -0 (lock, not shown: name it in paths) Cargo.lock\n"));
    let rows = pages.iter().filter_map(|p| p.data()["files"].as_array());
    let omitted: Vec<_> = rows
        .flatten()
        .filter_map(|row| Some((row["path"].as_str()?, row["omitted"].as_str()?)))
        .collect();
    assert_eq!(omitted, [("Cargo.lock", "generated")]);
}

#[test]
fn unnamed_lock_files_are_only_counted() {
    let world = World::new();
    let lock: String = (0..100)
        .map(|n| format!("name = \"crate-{n}\"\n"))
        .collect();
    world.git.commit(
        "deps",
        "Deps",
        &[("Cargo.lock", Some(&lock)), ("a.rs", Some("fn a() {}\n"))],
    );
    world
        .forge_as(&Identity::ADA, &[])
        .args(["pr", "create", "-H", "deps", "-t", "Deps", "-b", ""])
        .ok();
    let mut wire = world.server(MODERN, &[]);
    let page = wire.call("pr_diff", json!({"number": 1})).ok();
    let page = page.says("A +100 -0 (lock, not shown").says("+fn a() {}");
    assert_eq!(page.data()["additions"], 101);
    for more in [json!({"path": "Cargo.lock"}), json!({"format": "detailed"})] {
        let mut args = json!({"number": 1});
        args.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        wire.call("pr_diff", args).ok().says("+name = \"crate-99\"");
    }
}

/// If a truncated diff lacks a file, the tool must not report the file as unchanged.
#[test]
fn file_outside_truncated_diff_is_unknown() {
    let world = World::new();
    let lines = format!("{}\n", "x".repeat((1 << 20) - 1)).repeat(65);
    let files = [
        ("aaa.txt", Some(lines.as_str())),
        ("zz-evil.sh", Some("evil\n")),
    ];
    world.git.commit("wide", "Wide", &files);
    world
        .forge(&["pr", "create", "-H", "wide", "-t", "Wide", "-b", ""])
        .ok();
    let mut wire = world.server(MODERN, &[]);
    let behind = "1 more files come after the part that was read";
    let unread = wire
        .call("pr_diff", json!({"number": 1, "paths": ["zz-evil.sh"]}))
        .fails("invalid_input")
        .says(behind)
        .says("Next: pr_view {\"include\":[\"files\"]");
    assert!(!unread.text().contains("no changed file"));
    let paths = json!(["aaa.txt", "zz-evil.sh"]);
    let args = json!({"number": 1, "paths": paths, "names_only": true});
    let both = wire.call("pr_diff", args).ok().says(behind);
    assert!(!both.text().contains("no changed file"), "{}", both.text());
    let names = wire
        .call("pr_diff", json!({"number": 1, "names_only": true}))
        .ok()
        .says(behind);
    assert!(!names.text().contains("All of 1"), "{}", names.text());
    assert_eq!(names.data()["withheld"], 1);
    // The list of files is complete although the diff is truncated.
    wire.call("pr_view", json!({"number": 1, "include": "files"}))
        .ok()
        .says("zz-evil.sh");
    let uri = format!(
        "forge://local{}/pull/1/files/zz-evil.sh",
        world.git.path().canonicalize().unwrap().display()
    );
    let read = wire.request("resources/read", json!({"uri": uri}));
    assert!(read["error"].to_string().contains(behind), "{read}");
}
