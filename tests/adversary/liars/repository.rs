//! A git repository with lies in its pull requests, issues, refs and objects.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use forge_testkit::{CANARY, GitDir, Identity, Random, Run, Scratch};
use serde_json::Value;

use super::{
    client::Claim,
    fields::{self, odd_text},
    ground::Ground,
    lies::Stock,
    lines::{Line, Subjects},
    tap::{Role, Tap},
};
use crate::{local_world::DATE, plant::Variant};

/// Names of the pull requests' head branches.
const HEADS: [&str; 2] = ["work-1", "feature-1"];
/// Number of changed versions of each pull request, of each issue, and of the labels.
const RECORD_LIES: usize = 4;
const OBJECT_LIES: usize = 4;
/// Nesting depth of directories, above the limit that git reads (`core.maxTreeDepth`).
const DEPTH: usize = 2_100;
const FILES: usize = 2_000;

const MODES: [&str; 7] = [
    "100644", "40000", "120000", "160000", "100777", "0", "777777",
];
const NAMES: [&[u8]; 18] = [
    b".git",
    b".GIT",
    b"git~1",
    b".git\xe2\x80\x8c",
    b".gitmodules",
    b"..",
    b".",
    b"",
    b"../../escape",
    b"/etc/x",
    b"a\x1b]0;pwn\x07\x1b[2J\xc2\x9b31m",
    b"a\nb\r\tc",
    b"--output=x",
    b":(top)x",
    b"\xe2\x80\xaetxt",
    b"\xff\xfe",
    b"con:\\x",
    b"pull.json",
];
const AUTHORS: [&str; 5] = [
    "Ada Lovelace <ada@example.com> 1767225600 +0000",
    "\u{1b}[2J\u{7} <\u{1b}]0;pwn\u{7}> 1 +0000",
    "<> 99999999999999999999 +9999",
    "Ada <ada@example.com> -1 -2500",
    "nobody",
];
const HEADERS: [&str; 4] = [
    "",
    "encoding UTF-16\n",
    "encoding \u{1b}[2J\n",
    "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n",
];

pub struct RepositoryStage {
    pub ground: Ground,
    pub tap: Tap,
    git: GitDir,
    objects: Objects,
    /// Commit of the target branch before a command.
    before: Option<String>,
    /// Every ref with its value before a command.
    refs: String,
}

/// Objects to which a ref may point.
struct Objects {
    /// Honest value of each ref.
    honest: BTreeMap<String, String>,
    /// Changed versions with their descriptions, for each pull request and issue and for the
    /// labels.
    records: BTreeMap<String, Vec<(String, String)>>,
    /// Odd commits and trees, and texts that name no object, with their descriptions.
    others: Vec<(String, String)>,
}

impl RepositoryStage {
    pub fn new(random: &mut Random) -> Self {
        let variant = *random.pick(&Variant::ALL);
        let remote = "https://github.localhost/octo/tools.git";
        let (mut ground, objects) =
            Ground::filled(variant, remote, |scratch, git| fill(random, scratch, git));
        ground.program();
        ground.ran();
        Self {
            git: GitDir::at(&ground.repo),
            ground,
            tap: Tap::default(),
            objects,
            before: None,
            refs: String::new(),
        }
    }

    pub fn forge(&self) -> Run {
        let token = format!("gho_{CANARY}{CANARY}{CANARY}");
        self.ground.forge().env("GH_TOKEN", token)
    }

    pub fn subjects(&self) -> Subjects {
        Subjects {
            repo: self.ground.repo.display().to_string(),
            pulls: (1..=HEADS.len()).map(|n| n.to_string()).collect(),
            issues: vec!["1".to_owned()],
            branches: vec!["fresh".to_owned()],
        }
    }

    /// Returns no roles: without a server, [`Self::begin`] makes all lies.
    pub fn liars() -> &'static [Role] {
        &[Role::Thief]
    }

    /// Resets every ref to its honest value, and then makes some refs lie.
    pub fn begin(&mut self, random: &mut Random) {
        for (name, value) in &self.objects.honest {
            self.set(name, value);
        }
        let names: Vec<&String> = self.objects.honest.keys().collect();
        for _ in 0..=random.below(3) {
            let name = *random.pick(&names);
            let records = self.objects.records.get(name);
            let (value, lie) = match records.filter(|_| random.below(3) != 0) {
                Some(records) => random.pick(records),
                None => random.pick(&self.objects.others),
            };
            self.set(name, value);
            self.tap.record_lie(format!("{name} {lie}"));
        }
        self.remember();
    }

    fn remember(&mut self) {
        self.before = self.git.oid("refs/heads/main");
        self.refs = self.all_refs();
    }

    /// Returns every ref with its value, except those that git cannot read.
    fn all_refs(&self) -> String {
        let list = ["for-each-ref", "--format=%(refname) %(objectname)"];
        self.git.run(list).output().stdout_text()
    }

    /// Writes the file of a ref directly, because git refuses some of the values.
    fn set(&self, name: &str, value: &str) {
        let path = self.ground.repo.join(".git").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{value}\n")).unwrap();
    }

    /// Compares the refs with what a command printed.
    pub fn check(&self, line: &Line, succeeded: bool, said: &str) -> Result<(), String> {
        if !line.writes {
            return match self.git.oid("refs/heads/main") == self.before {
                true => Ok(()),
                false => Err("a command that reads moved main".to_owned()),
            };
        }
        let claims = [
            ("pr", "comment"),
            ("pr", "create"),
            ("pr", "close"),
            ("pr", "reopen"),
            ("pr", "review"),
            ("pr", "merge"),
            ("issue", "create"),
            ("issue", "comment"),
            ("issue", "close"),
            ("issue", "reopen"),
        ];
        let is_claimed = claims
            .iter()
            .any(|(group, command)| line.is(group, command));
        let is_idle = ["already", "nothing"].iter().any(|it| said.contains(it));
        match succeeded && is_claimed && !is_idle && self.all_refs() == self.refs {
            true => Err("it says that it wrote, and no ref has changed".to_owned()),
            false => Ok(()),
        }
    }

    /// Fails if a tool call showed another head than that of the branch, or merged another head
    /// than its question named.
    pub fn check_call(&mut self, claim: &Claim) -> Result<(), String> {
        let main = self.git.oid("refs/heads/main");
        let moved = main != self.before;
        let merged = [main, self.git.oid("refs/heads/main^2")];
        let is_named = merged.iter().flatten().any(|oid| claim.heads.contains(oid));
        self.remember();
        if moved && !is_named {
            return Err(format!("{merged:?} is merged, which no question names"));
        }
        let pull = &claim.data["pull_request"];
        let branch = pull["head"].as_str().filter(|it| HEADS.contains(it));
        // The head of an open pull request is the tip of its branch.
        let branch = branch.filter(|_| pull["state"] == "open" || pull["state"] == "draft");
        let tip = branch.and_then(|it| self.git.oid(&format!("refs/heads/{it}^{{commit}}")));
        match (tip, pull["head_oid"].as_str()) {
            (Some(tip), Some(head)) if tip != head => {
                Err(format!("the head is {tip}, and not {head}"))
            }
            _ => Ok(()),
        }
    }

    /// Fails if the merge commit has merged another head than `shown`.
    pub fn check_merge(&self, shown: &str) -> Result<(), String> {
        let main = self.git.oid("refs/heads/main");
        let merged = self.git.oid("refs/heads/main^2");
        let is_of_shown = [main.as_deref(), merged.as_deref()].contains(&Some(shown));
        match main == self.before || is_of_shown {
            true => Ok(()),
            false => Err(format!("{shown} was shown, and {merged:?} is merged")),
        }
    }
}

/// Creates pull requests, an issue, and lies about them.
fn fill(random: &mut Random, scratch: &Scratch, git: &GitDir) -> Objects {
    let path = git.path().display().to_string();
    let forge = |who: &Identity, args: &[&str]| {
        let run = scratch.forge(git.path(), who);
        let run = run.env("GIT_AUTHOR_DATE", DATE);
        let run = run.env("GIT_COMMITTER_DATE", DATE);
        run.args(args).args(["-R", path.as_str()]).ok();
    };
    for head in HEADS {
        let create = ["pr", "create", "-H", head, "-t", "Some work", "-b", "Text."];
        forge(&Identity::ADA, &create);
    }
    let review = ["pr", "review", "1", "-r", "-b", "Text."];
    let thread = ["--line", "work-1.txt:1=Why?"];
    forge(&Identity::GRACE, &[&review[..], &thread].concat());
    let issue = ["issue", "create", "-t", "Issue", "-b", "Text."];
    forge(&Identity::ADA, &issue);
    forge(&Identity::ADA, &["label", "create", "canary"]);
    git.commit("fresh", "Fresh", &[("fresh.txt", Some("x\n"))]);

    let refs = git.refs();
    let refs = refs.lines().filter_map(|line| line.split_once(' '));
    let honest: BTreeMap<String, String> = refs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let stock = Stock {
        thief: "http://localhost:1".to_owned(),
        thief_authority: "localhost:1".to_owned(),
        others: honest.values().cloned().collect(),
        program: scratch.path("canaries/of-an-answer").display().to_string(),
        blobs: Vec::new(),
    };
    let mut records = change_records(random, git, &honest, &stock);
    records.insert("refs/forge/index".to_owned(), change_index(git));
    for name in honest.keys().filter(|it| it.starts_with("refs/forge/")) {
        assert!(
            records.contains_key(name),
            "no lie is about a field of {name}"
        );
    }
    let mut others = odd_objects(random, git, &stock);
    for text in ["ref: refs/heads/work-1", "garbage", ""] {
        others.push((text.to_owned(), format!("has the text {text:?}")));
    }
    Objects {
        honest,
        records,
        others,
    }
}

/// Makes changed versions of the records: fields of each pull request and issue, in its state and
/// in its newest event, and fields of the labels.
fn change_records(
    random: &mut Random,
    git: &GitDir,
    honest: &BTreeMap<String, String>,
    stock: &Stock,
) -> BTreeMap<String, Vec<(String, String)>> {
    let mut stream: Vec<u8> = Vec::new();
    let mut lies: Vec<(String, String)> = Vec::new();
    for (name, tip) in honest {
        let file = if name.starts_with("refs/forge/pulls/") {
            "pull.json"
        } else if name.starts_with("refs/forge/issues/") {
            "issue.json"
        } else if name == "refs/forge/labels" {
            "labels.json"
        } else {
            continue;
        };
        let files = git
            .run(["ls-tree", "-r", "--name-only", tip.as_str()])
            .text();
        assert_eq!(files.trim(), file, "no lie is about another file of {name}");
        let state: Value = serde_json::from_str(&git.show(tip, file)).unwrap();
        let commit = git.run(["cat-file", "commit", tip.as_str()]).text();
        let (header, message) = commit.split_once("\n\n").unwrap();
        // Commits of the labels have no event.
        let (summary, event) = message.split_once("\n\n").unwrap_or((message, "null"));
        let event: Value = serde_json::from_str(event.trim()).unwrap();
        let signed = |line: &&str| line.starts_with("author ") || line.starts_with("committer ");
        let signed: Vec<&str> = header.lines().filter(signed).collect();
        for _ in 0..RECORD_LIES {
            let mut lie = |value: &Value| {
                let mut value = value.clone();
                let mut told = String::new();
                if random.below(3) != 0 {
                    told = fields::change(random, &mut value, stock, "", &mut BTreeMap::new());
                }
                (value, told)
            };
            let ((state, in_state), (event, in_event)) = (lie(&state), lie(&event));
            // The lie either replaces the newest event or follows as another event.
            let is_first = !header.contains("\nparent ");
            let parent = match is_first || random.below(2) == 0 {
                true => tip.clone(),
                false => format!("{tip}^"),
            };
            let message = format!("{summary}\n\n{event}\n");
            let state = state.to_string();
            stream.extend(
                format!(
                    "commit refs/lies/{}\n{}\ndata {}\n{message}\nfrom {parent}\n\
                     M 100644 inline {file}\ndata {}\n{state}\n",
                    lies.len(),
                    signed.join("\n"),
                    message.len(),
                    state.len(),
                )
                .into_bytes(),
            );
            lies.push((name.clone(), format!("{file} {in_state}; event {in_event}")));
        }
    }
    git.import(stream);
    let mut records: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for line in git.refs().lines() {
        let (name, value) = line.split_once(' ').unwrap();
        let Some(number) = name.strip_prefix("refs/lies/") else {
            continue;
        };
        let (record, told) = lies[number.parse::<usize>().unwrap()].clone();
        let value = (value.to_owned(), told);
        records.entry(record).or_default().push(value);
    }
    records
}

/// Makes versions of the index of pull requests that hide some of them, or name missing ones.
fn change_index(git: &GitDir) -> Vec<(String, String)> {
    let numbers = [
        "highest 0\nopen ",
        "highest 1\nopen 1",
        "highest 9\nopen 1-9",
        "highest 9\nopen 9,2,1",
        "highest 281474976710656\nopen 1-281474976710656",
        "highest 18446744073709551615\nopen 18446744073709551615",
    ];
    let blob = |numbers: &&str| {
        let run = git.run(["hash-object", "-w", "-t", "blob", "--stdin"]);
        let text = format!("forge index 1\n{numbers}\n");
        let value = run.stdin(text).text().trim().to_owned();
        (value, format!("is the index {numbers:?}"))
    };
    numbers.iter().map(blob).collect()
}

/// Creates commits that git itself would not create: their trees have odd, many or deep entries.
fn odd_objects(random: &mut Random, git: &GitDir, stock: &Stock) -> Vec<(String, String)> {
    let hash = |kind: &str, bytes: Vec<u8>| {
        let run = git.run(["hash-object", "-w", "-t", kind, "--literally", "--stdin"]);
        run.stdin(bytes).text().trim().to_owned()
    };
    let main = git.oid("refs/heads/main").unwrap();
    let root = git.oid("refs/heads/main^{tree}").unwrap();
    let blob = git.oid("refs/heads/main:README.md").unwrap();
    let missing = "1".repeat(40);
    let mut odd = Vec::new();
    for _ in 0..OBJECT_LIES {
        let mut tree: Vec<u8> = Vec::new();
        let mut names = BTreeSet::new();
        for _ in 0..=random.below(3) {
            let (mode, name) = (*random.pick(&MODES), *random.pick(&NAMES));
            let oid = *random.pick(&[&blob, &blob, &root, &main, &missing]);
            tree.extend(entry(mode, name, oid));
            names.insert(String::from_utf8_lossy(name).into_owned());
        }
        let tree = hash("tree", tree);
        let parents = match random.below(8) {
            0 => String::new(),
            1 => format!("parent {missing}\n"),
            2 => format!("parent {blob}\n"),
            3 => format!("parent {main}\n").repeat(500),
            _ => format!("parent {main}\n"),
        };
        let (author, header) = (*random.pick(&AUTHORS), *random.pick(&HEADERS));
        let message = odd_text(random, stock);
        let commit = format!(
            "tree {tree}\n{parents}author {author}\ncommitter {author}\n{header}\n{message}"
        );
        odd.push((tree, "is a tree".to_owned()));
        odd.push((
            hash("commit", commit.into_bytes()),
            format!("has the files {names:?}, by {author:?}"),
        ));
    }
    // Each of four trees contains the next one under ten names, so the tree has ten thousand files.
    let (mut mode, mut below) = ("100644", blob);
    for _ in 0..4 {
        let name = |n: u64| format!("{n}{}", "x".repeat(240)).into_bytes();
        let entries = (0..10).flat_map(|n| entry(mode, &name(n), &below));
        let tree = hash("tree", entries.collect());
        (mode, below) = ("40000", tree);
    }
    let commit = [
        "commit-tree",
        "-p",
        main.as_str(),
        "-m",
        "x",
        below.as_str(),
    ];
    let commit = git.run(commit).text().trim().to_owned();
    odd.push((commit, "has ten thousand files in four trees".to_owned()));
    let paths: Vec<String> = match random.below(2) {
        0 => vec![format!("{}a", "a/".repeat(DEPTH))],
        _ => (0..FILES).map(|n| format!("many/{n}")).collect(),
    };
    let paths: Vec<(&str, Option<&str>)> =
        paths.iter().map(|path| (&**path, Some("x\n"))).collect();
    let large = git.commit("odd", "Deep or many", &paths);
    odd.push((large, format!("has {} files, or deep ones", paths.len())));
    odd
}

/// Returns the bytes of a tree entry.
fn entry(mode: &str, name: &[u8], oid: &str) -> Vec<u8> {
    let byte = |n: usize| u8::from_str_radix(&oid[2 * n..2 * n + 2], 16).unwrap();
    let oid: Vec<u8> = (0..20).map(byte).collect();
    [mode.as_bytes(), b" ", name, b"\0", &oid].concat()
}
