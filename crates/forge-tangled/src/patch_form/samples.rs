//! A repository whose history has each kind of change, and the patches that git prints of it.

use std::fmt::Write as _;

use forge_testkit::GitDir;
use tempfile::TempDir;

/// Id of a commit that a submodule names. The commit does not exist.
const SUBMODULE: &str = "1111111111111111111111111111111111111111";

pub(super) struct Samples {
    _dir: TempDir,
    pub git: GitDir,
    /// The commits of `main`, oldest first. The first one has no parent.
    pub commits: Vec<String>,
}

impl Samples {
    pub fn new() -> Self {
        let dir = TempDir::with_prefix("forge-samples-").unwrap();
        let git = GitDir::init(&dir.path().join("repository"), &[]);
        let mut history = History::default();
        write_history(&mut history);
        git.import(history.stream);
        git.run(["reset", "--quiet", "--hard", "main"]).ok();
        git.run([
            "notes",
            "add",
            "-m",
            "A note\n\ndiff --git a/x b/x",
            "main~3",
        ])
        .ok();
        let commits = git.run(["rev-list", "--reverse", "main"]).text();
        let commits = commits.lines().map(str::to_owned).collect();
        Self {
            _dir: dir,
            git,
            commits,
        }
    }

    /// Returns the mails that git prints with these options of git and of `format-patch`, oldest
    /// first.
    pub fn mails(&self, config: &[&str], options: &[&str]) -> Vec<String> {
        let config = config.iter().flat_map(|setting| ["-c", *setting]);
        let fixed = ["format-patch", "--stdout"];
        let args = config.chain(fixed).chain(options.iter().copied());
        let range = format!("{}..main", self.commits[0]);
        let text = self
            .git
            .run(args.chain([&*range]))
            .output()
            .success()
            .stdout;
        split_text(&String::from_utf8(text).unwrap())
    }
}

/// Splits the text of a series where its mails begin.
pub(super) fn split_text(series: &str) -> Vec<String> {
    let mut mails: Vec<String> = Vec::new();
    for line in series.split_inclusive('\n') {
        let is_start = line.starts_with("From ") && line.ends_with(" Mon Sep 17 00:00:00 2001\n");
        if is_start || mails.is_empty() {
            mails.push(String::new());
        }
        mails.last_mut().unwrap().push_str(line);
    }
    mails
}

#[derive(Default)]
struct History {
    stream: Vec<u8>,
    count: u32,
}

impl History {
    fn commit(&mut self, author: &str, message: &str) {
        let date = 1_767_225_600 + 3600 * self.count;
        let mut text = format!(
            "commit refs/heads/main\nauthor {author} {date} +0530\n\
             committer Ada <ada@example.com> {date} +0000\ndata {}\n{message}\n",
            message.len()
        );
        if self.count == 0 {
            text.push_str("deleteall\n");
        }
        self.count += 1;
        self.stream.extend(text.into_bytes());
    }

    fn file(&mut self, mode: &str, path: &str, content: &[u8]) {
        let text = format!("M {mode} inline {path}\ndata {}\n", content.len());
        self.stream.extend(text.into_bytes());
        self.stream.extend_from_slice(content);
        self.stream.push(b'\n');
    }

    fn command(&mut self, command: &str) {
        self.stream.extend(format!("{command}\n").into_bytes());
    }
}

/// Returns `count` lines of a program, with `changes` at some lines.
pub(super) fn program(count: usize, changes: &[(usize, &str)]) -> Vec<u8> {
    let mut text = String::new();
    for n in 1..=count {
        let changed = changes.iter().find(|(at, _)| *at == n);
        if let Some((_, line)) = changed {
            text.push_str(line);
        } else if n % 10 == 1 {
            let _ = writeln!(text, "fn part_{n}() {{");
        } else if n % 10 == 0 {
            text.push_str("}\n");
        } else if n % 10 == 5 {
            text.push('\n');
        } else {
            let _ = writeln!(text, "    let x = {};", n % 4);
        }
    }
    text.into_bytes()
}

const ADA: &str = "Ada Lovelace <ada@example.com>";
const RENE: &str = "Ren\u{e9} D. <rene@example.com>";
const QUOTED: &str = "\"A. B. (C)\" <abc@example.com>";

fn write_history(history: &mut History) {
    history.commit(ADA, "First");
    history.file("100644", "src/main.rs", &program(60, &[]));
    history.file(
        "100644",
        "src/old.rs",
        &program(40, &[(3, "    let old = 1;\n")]),
    );
    history.file(
        "100644",
        "build.sh",
        b"#!/bin/sh\necho one\necho two\necho three\n",
    );
    history.file("100644", "dos.txt", b"one\r\ntwo\r\nthree\r\n");
    history.file("100644", "ended", b"one\ntwo");
    history.file("100644", "image", b"\x89PNG\0\x01\x02\x03\xff\xfe");
    history.file("100644", "a b.txt", b"one\ntwo\nthree\n");
    history.file("100644", "\"t\\tab\\\"q\"", b"x\ny\n");
    history.file("100644", "gr\u{fc}n/\u{e4}.txt", b"eins\nzwei\n");
    history.file("120000", "link", b"build.sh");
    history.file("100644", "empty", b"");
    history.file("100644", "doomed", &program(20, &[]));

    history.commit(
        ADA,
        "Change two places\n\nA text\nof lines.\n\n  indented\n- list",
    );
    let changes = [
        (7, "    let seven = 7;\n"),
        (47, "    let x = 9;\n    let y = 9;\n"),
    ];
    history.file("100644", "src/main.rs", &program(60, &changes));

    history.commit(RENE, "\u{c4}ndere einen sehr langen Betreff, der in mehreren Zeilen steht und \u{df} hat\n\nMit \u{dc}mlauten.");
    history.file(
        "100755",
        "build.sh",
        b"#!/bin/sh\necho one\necho two!\necho three\n",
    );

    history.commit(QUOTED, "Rename and copy");
    history.file(
        "100644",
        "src/copied.rs",
        &program(
            60,
            &[
                (7, "    let seven = 8;\n"),
                (47, "    let x = 9;\n    let y = 9;\n"),
            ],
        ),
    );
    history.command("R src/old.rs src/new.rs");
    history.command("C src/main.rs src/same.rs");

    history.commit(ADA, "[core] Mode, [link] and type");
    history.file(
        "100644",
        "build.sh",
        b"#!/bin/sh\necho one\necho two!\necho three",
    );
    history.file("120000", "doomed", b"src/main.rs");
    history.file("120000", "link", b"src/new.rs");

    history.commit(ADA, "Ends without newline");
    history.file("100644", "ended", b"one\ntwo\n");
    history.file("100644", "other end", b"one");
    history.file("100644", "a b.txt", b"one\nTWO\nthree");

    history.commit(RENE, "Binary files");
    history.file("100644", "image", &binary_content(3_000, 3));
    history.file("100644", "second image", &binary_content(90, 1));

    history.commit(RENE, "Binary delta");
    history.file(
        "100644",
        "image",
        &[&binary_content(3_000, 3)[..], b"\0more"].concat(),
    );
    history.command("D \"second image\"");

    history.commit(ADA, "Names in quotes");
    history.file("100644", "\"t\\tab\\\"q\"", b"x\nY\n");
    history.file("100755", "gr\u{fc}n/\u{e4}.txt", b"eins\nZWEI\n");
    history.file("100644", "\"new\\nline\\\\\"", b"x\n");
    history.file("100644", "\"bell\\007\"", b"x\n");

    history.commit(ADA, "New files with CR");
    history.file("100644", "crlf.txt", b"a\r\nb\r\n\r\nc");
    history.file("100644", "cr.txt", b"a\rb\n");

    history.commit(ADA, "Submodule");
    history.command(&format!("M 160000 {SUBMODULE} module"));

    history.commit(ADA, "Move submodule and delete files");
    history.command(&format!("M 160000 {} module", SUBMODULE.replace('1', "2")));
    history.command("D empty");
    history.command("D src/same.rs");

    history.commit(
        ADA,
        "Empty and spaces\n\nRe: [PATCH] this\n>From here\nFrom: nobody\n",
    );
    history.file("100644", "empty too", b"");
    history.file("100644", "blank", b"\n\n  \n\t\n");
    history.file(
        "100644",
        "- dash",
        b"- one\n-- \n+ two\n@@ -1 +1 @@\ndiff --git a/x b/x\n",
    );

    history.commit(ADA, "Lines that look like a patch");
    history.file(
        "100644",
        "- dash",
        b"-- \n--- a/x\n+++ b/x\n\\ No newline at end of file\n",
    );
    history.file(
        "100644",
        "blank",
        b"\n\n\n  \n\t\nFrom 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n",
    );

    history.commit(ADA, "Rewrite, and swap");
    let rewritten: Vec<u8> = (0..60)
        .flat_map(|n| format!("line {}\n", n * 7).into_bytes())
        .collect();
    history.file("100644", "src/new.rs", &rewritten);
    history.command("R crlf.txt renamed/crlf.txt");
    history.command("R image renamed/picture");

    history.commit(ADA, "Delete everything else");
    for path in [
        "src/new.rs",
        "link",
        "ended",
        "renamed/picture",
        "module",
        "\"t\\tab\\\"q\"",
    ] {
        history.command(&format!("D {path}"));
    }
    history.file(
        "100644",
        "src/main.rs",
        &program(61, &[(1, "fn first() {\n"), (61, "// end\n")]),
    );
}

fn binary_content(count: usize, step: usize) -> Vec<u8> {
    let mut value = 1_u32;
    (0..count)
        .map(|n| {
            value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if n % (step * 100) == 0 {
                0
            } else {
                value.to_be_bytes()[0]
            }
        })
        .collect()
}
