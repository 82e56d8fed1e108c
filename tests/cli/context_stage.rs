//! Creates pull requests with everything that the page of `forge pr context` can show.

use std::{fmt::Write as _, path::PathBuf};

use forge_github_double::{PullSeed, Seed, state::ReviewState};
use serde_json::{Value, json};

use crate::hub::{Hub, REPO};

/// Text that would run or load something, hide text, or end its element if it were not escaped.
pub const HOSTILE: &str = "</title></style></script><script>document.title='pwned'</script>\
    \"><img src=x onerror=\"document.title='pwned'\"> '`onmouseover=alert(1) <!-- ]]> \
    <svg/onload=document.title=1> &lt;b&gt; \u{202e}gpj.exe \u{1b}[31mred\u{1b}[0m \u{7}\u{9b}1m \
    javascript:alert(1)";

/// A path with characters that would end an attribute or a tag if the page did not escape them.
pub const HOSTILE_PATH: &str = "a\"><img src=x onerror='document.title=1'>\u{202e}&.rs";

pub const HOSTILE_URL: &str = "javascript:document.title='pwned'";

/// The double with a pull request, and the pull request's number.
pub struct Stage {
    pub hub: Hub,
    pub number: u64,
}

impl Stage {
    /// Creates a pull request in the middle of a stack, with failed checks and unresolved threads.
    pub fn rich() -> Self {
        let hub = Hub::new();
        let mut seed = hub.double.seed();
        files(
            &mut seed,
            "main",
            &[("src/lexer.rs", OLD), ("README.md", "# Tools\n")],
        );
        files(
            &mut seed,
            "parser",
            &[("src/parser.rs", "pub fn parse() {}\n")],
        );
        seed.open_pull(
            REPO,
            &pull(
                "ada",
                "Split the parser from the reader",
                "parser",
                "main",
                "",
            ),
        );
        let mut lock = String::new();
        (0..60).for_each(|n| writeln!(lock, "dependency-{n} = \"1.0.{n}\"").unwrap());
        let changed = [
            ("src/lexer.rs", NEW),
            ("tests/lexer.rs", "#[test]\nfn words_are_split() {}\n"),
            ("Cargo.lock", lock.as_str()),
        ];
        files(&mut seed, "lexer", &changed);
        let issue = seed.open_issue(REPO, "ada", "Words with accents are cut", LEAK);
        let body = BODY.replace("ISSUE", &issue.to_string());
        let title = "feat(lexer): read words of every script, and say where each begins";
        let number = seed.open_pull(REPO, &pull("grace", title, "lexer", "parser", &body));
        files(
            &mut seed,
            "colours",
            &[("src/colours.rs", "pub fn paint() {}\n")],
        );
        seed.open_pull(
            REPO,
            &pull(
                "alan",
                "Colour words by their script",
                "colours",
                "lexer",
                "",
            ),
        );
        seed.comment(REPO, issue, "alan", "Also in file names, since 1.2.");
        for name in ["build (linux)", "build (macos)", "docs"] {
            seed.check(REPO, number, "CI", name, "SUCCESS");
        }
        let lint = seed.check(REPO, number, "CI", "lint", "FAILURE");
        let unused = ("FAILURE", "src/lexer.rs", 12, "unused variable `rest`");
        seed.explain(lint, ("2 warnings are errors", "Run clippy"), &[unused]);
        seed.check(REPO, number, "Deploy", "preview", "IN_PROGRESS");
        seed.comment(REPO, number, "alan", "I have tried this on *our* corpus:\n\n| words | before | after |\n|---|---|---|\n| 1,000 | 31 ms | 12 ms |\n\nGood work.");
        drop(seed);
        let stage = Self { hub, number };
        stage.review("The idea is right. Two questions on the details.", &json!([
            {"path": "src/lexer.rs", "line": 7, "body": "Does this count *bytes* or characters? See [the table](https://www.unicode.org/reports/tr29/)."},
            {"path": "src/lexer.rs", "line": 2, "body": "This could be `&str`."},
        ]));
        let mut seed = stage.hub.double.seed();
        let grace = seed.find_account("grace");
        let second = *seed.threads.keys().last().unwrap();
        seed.threads.get_mut(&second).unwrap().resolved_by = Some(grace);
        seed.review(
            REPO,
            number,
            "ada",
            ReviewState::ChangesRequested,
            "Please see the open thread.",
        );
        drop(seed);
        stage
    }

    /// Creates a pull request that has [`HOSTILE`] in every text that other people can write.
    pub fn hostile() -> Self {
        let hub = Hub::new();
        let mut seed = hub.double.seed();
        let paths = [
            (HOSTILE_PATH, "one\ntwo <script>alert(1)</script>\n"),
            ("b.txt", HOSTILE),
        ];
        files(&mut seed, "work", &paths);
        let issue = seed.open_issue(REPO, "ada", HOSTILE, HOSTILE);
        let body = format!(
            "{HOSTILE}\n\n[a]({HOSTILE_URL}) <{HOSTILE_URL}> ![b](data:text/html,c)\n\n<script>document.title='pwned'</script>\n\nCloses #{issue}"
        );
        let number = seed.open_pull(REPO, &pull("grace", HOSTILE, "work", "main", &body));
        files(&mut seed, "upper", &[("u.txt", "x\n")]);
        seed.open_pull(REPO, &pull("ada", HOSTILE, "upper", "work", ""));
        let run = seed.check(REPO, number, HOSTILE, HOSTILE, "FAILURE");
        let note = ("FAILURE", HOSTILE_PATH, 1, HOSTILE);
        seed.explain(run, (HOSTILE, HOSTILE), &[note]);
        let check = seed.runs.get_mut(&run).unwrap();
        check.details_url = Some(HOSTILE_URL.to_owned());
        seed.comment(REPO, number, "alan", HOSTILE);
        seed.comment(REPO, issue, "alan", HOSTILE);
        seed.review(REPO, number, "ada", ReviewState::ChangesRequested, HOSTILE);
        drop(seed);
        let stage = Self { hub, number };
        stage.review(
            HOSTILE,
            &json!([{"path": HOSTILE_PATH, "line": 1, "body": HOSTILE}]),
        );
        stage
    }

    /// Submits Ada's review with comments on lines.
    fn review(&self, body: &str, lines: &Value) {
        let file = self.hub.scratch.write("lines.json", lines.to_string());
        let number = self.number.to_string();
        let file = file.to_string_lossy();
        let args = ["pr", "review", &number, "-R", REPO, "--comment", "-b", body];
        self.hub
            .forge(&[&args[..], &["--comments-file", &file]].concat())
            .ok();
    }

    /// Writes the page with further arguments, and returns the page's path.
    pub fn page(&self, args: &[&str]) -> PathBuf {
        let file = self.hub.scratch.path("page.html");
        let number = self.number.to_string();
        let to = file.to_string_lossy();
        let all = ["pr", "context", &number, "-R", REPO, "--html", &to];
        let out = self
            .hub
            .forge(&[&all[..], args].concat())
            .output()
            .success();
        let said = out.stderr_text();
        assert!(said.contains(&format!("wrote {to}\n")), "{said}");
        assert_eq!(out.stdout_text(), "");
        file
    }
}

fn pull<'a>(
    author: &'a str,
    title: &'a str,
    head: &'a str,
    base: &'a str,
    body: &'a str,
) -> PullSeed<'a> {
    PullSeed {
        author,
        title,
        head,
        base,
        body,
        ..PullSeed::default()
    }
}

fn files(seed: &mut Seed<'_>, branch: &str, all: &[(&str, &str)]) {
    let all: Vec<(&str, Option<&str>)> = all
        .iter()
        .map(|(path, text)| (*path, Some(*text)))
        .collect();
    seed.commit(REPO, branch, &all, &format!("Work on {branch}"));
}

const OLD: &str = "pub fn words(text: String) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}
";

const NEW: &str = "/// The words of a text, and where each begins.
pub fn words(text: String) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push((from, text[from..at].to_owned()));
                start = None;
            }
            _ => {}
        }
    }
    found
}
";

const LEAK: &str = "`naïve` becomes `na` and `ve`.\n\nSteps:\n\n1. run `words`\n2. look";

const BODY: &str =
    "Words were split at spaces, so punctuation stayed with them, and a letter outside of \
ASCII ended a word.

- reads **every script**, by Unicode's own table
- says where each word begins
- [x] tests
- [ ] the guide

```rust
assert_eq!(words(\"naïve café\".into()).len(), 2);
```

> It should just work.

Closes #ISSUE. More in <https://example.org/lexer>.";
