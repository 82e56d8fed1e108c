//! Mutates patches, and compares the changes that forge shows with the ones that git applies, by
//! the steps of a knot: `git am` for each mail, or `git apply` for a plain diff.

mod mutations;
mod shown;

use std::{collections::BTreeMap, fs};

use forge_testkit::Random;

use self::shown::{Content, Tree, TreeEntry, apply_shown, blob_id};
use super::samples::Samples;
use crate::patch::{Patch, PatchMail};

/// Default number of cases; `FORGE_ADVERSARY_CASES` sets another.
const CASES: u64 = 300;

/// Number of cases by their end.
#[derive(Debug, Default)]
struct Tally {
    /// Refused by forge because of the form.
    faults: u64,
    /// Refused by git.
    conflicts: u64,
    /// Applied as shown.
    same: u64,
    /// Applied with the shown lines, but at another place of the file. This can be told only with
    /// the content at the base.
    moved: u64,
    /// Applied with another author or message than shown. These change no file.
    texts: Vec<String>,
}

/// Settings and options with which git prints the patches.
const POOL: &[(&[&str], &[&str])] = &[
    (&[], &[]),
    (&[], &["-C", "--find-copies-harder", "--signoff"]),
    (&[], &["-U1", "--no-signature"]),
    (&[], &["-B10%", "-M20%", "--full-index"]),
    (&[], &["-U10", "--base=main~15"]),
    (&[], &["-U0"]),
    (
        &["core.quotePath=false", "diff.suppressBlankEmpty=true"],
        &["-p", "--no-renames"],
    ),
];

#[test]
fn applied_changes_are_the_shown_ones() {
    let cases = std::env::var("FORGE_ADVERSARY_CASES");
    let cases = cases.map_or(CASES, |text| text.parse().unwrap());
    let mut random = Random::from_env();
    let seed = random.seed();
    let bench = Bench::new();
    let mut tally = Tally::default();
    for case in 0..cases {
        let (text, parent) = bench.mutate(&mut random);
        if let Err(why) = bench.compare(&text, parent, &mut random, &mut tally) {
            panic!("FORGE_SEED={seed}, case {case}: {why}\n{text}");
        }
    }
    println!("{cases} cases, seed {seed}: {tally:?}");
    assert!(tally.same > 0 && tally.faults > 0, "{tally:?}");
}

struct Bench {
    samples: Samples,
    /// The tree of each commit, oldest first.
    trees: Vec<Tree>,
    /// The mails of all commits but the first, for each entry of [`POOL`].
    pool: Vec<Vec<String>>,
    material: mutations::Material,
}

impl Bench {
    fn new() -> Self {
        let samples = Samples::new();
        let pool: Vec<Vec<String>> = POOL
            .iter()
            .map(|(config, options)| samples.mails(config, options))
            .collect();
        assert!(
            pool.iter()
                .all(|mails| mails.len() + 1 == samples.commits.len())
        );
        let mut contents = BTreeMap::new();
        let trees: Vec<Tree> = samples
            .commits
            .iter()
            .map(|commit| shown::read_tree(&samples.git, commit, &mut contents))
            .collect();
        samples.git.run(["checkout", "-q", "--detach"]).ok();
        let paths = trees.iter().flat_map(|tree| tree.keys().cloned());
        let material = mutations::Material {
            paths: paths.collect(),
            ids: contents.into_keys().collect(),
        };
        Self {
            samples,
            trees,
            pool,
            material,
        }
    }

    /// Returns a mutated patch, and the index of the commit to which it applies.
    fn mutate(&self, random: &mut Random) -> (String, usize) {
        let mails = random.pick(&self.pool);
        let start = usize::try_from(random.below(mails.len() as u64)).unwrap();
        let count = 1 + usize::try_from(random.below(2)).unwrap();
        let end = (start + count).min(mails.len());
        let mut text = mails[start..end].concat();
        if random.below(6) == 0 {
            text = plain_diff(&mails[start]);
        }
        for _ in 0..=random.below(3) {
            text = mutations::mutate(&text, &self.material, &self.pool, random);
        }
        (text, start)
    }

    /// Compares what forge shows of a patch with what git makes of it.
    fn compare(
        &self,
        text: &str,
        parent: usize,
        random: &mut Random,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let patch = Patch::parse(text.as_bytes().to_vec());
        if patch.fault().is_some() {
            tally.faults += 1;
            return Ok(());
        }
        let base = &self.samples.commits[parent];
        self.git(&["reset", "-q", "--hard", base]);
        let diffs: Vec<Vec<u8>> = if patch.mails.is_empty() {
            vec![patch.diff()]
        } else {
            patch.mails.iter().map(|mail| mail.diff.clone()).collect()
        };
        let is_mail = !patch.mails.is_empty();
        let is_trimmed = random.below(2) == 0;
        if !self.apply(text, is_mail, is_trimmed) {
            tally.conflicts += 1;
            return Ok(());
        }
        let applied = self.read_applied(base);
        if applied.len() != diffs.len() {
            return Err(format!("{} mails, {} commits", diffs.len(), applied.len()));
        }
        let mut tree = self.trees[parent].clone();
        let mut is_moved = false;
        for (at, (diff, commit)) in diffs.iter().zip(&applied).enumerate() {
            if is_mail {
                tally.texts.extend(commit.compare_text(&patch.mails[at]));
            }
            let expected = apply_shown(&tree, diff, is_mail)?;
            let mut actual = tree.clone();
            for (path, entry) in &commit.entries {
                match entry {
                    None => actual.remove(path),
                    Some((mode, id)) => {
                        let content = self.read_blob(id, &expected, path);
                        actual.insert(
                            path.clone(),
                            TreeEntry {
                                mode: *mode,
                                content,
                            },
                        )
                    }
                };
            }
            is_moved |= shown::compare_trees(&expected, &actual)?;
            tree = actual;
        }
        if is_moved {
            tally.moved += 1;
        } else {
            tally.same += 1;
        }
        Ok(())
    }

    /// Applies a patch as a knot does. Returns false if git refuses it.
    fn apply(&self, text: &str, is_mail: bool, is_trimmed: bool) -> bool {
        let file = self.samples.git.path().join(".git/knot.patch");
        let path = file.to_string_lossy().into_owned();
        let mails = if is_mail {
            split_at_knot(text)
        } else {
            vec![text.to_owned()]
        };
        for mail in mails {
            let mail = if is_trimmed && is_mail {
                mail.trim()
            } else {
                mail.as_str()
            };
            fs::write(&file, mail).unwrap();
            let args: &[&str] = if is_mail {
                &["am", "--no-gpg-sign", "-q", &path]
            } else {
                &["apply", "--index", &path]
            };
            if self.samples.git.run(args.iter().copied()).output().code != Some(0) {
                let _ = fs::remove_dir_all(self.samples.git.path().join(".git/rebase-apply"));
                return false;
            }
        }
        if !is_mail {
            self.git(&["commit", "-q", "--allow-empty", "-m", "Plain"]);
        }
        true
    }

    fn git(&self, args: &[&str]) {
        self.samples.git.run(args.iter().copied()).ok();
    }

    /// Returns the commits after `base`, oldest first.
    fn read_applied(&self, base: &str) -> Vec<AppliedCommit> {
        let range = format!("{base}..HEAD");
        let format = "--format=%x02%an%x03%ae%x03%B%x03";
        let args = [
            "log",
            "--reverse",
            "--raw",
            "-r",
            "-z",
            "--no-renames",
            "--no-abbrev",
            format,
        ];
        let text = self
            .samples
            .git
            .run(args.into_iter().chain([&*range]))
            .text();
        text.split('\u{2}')
            .skip(1)
            .map(AppliedCommit::parse)
            .collect()
    }

    fn read_blob(&self, id: &str, expected: &Tree, path: &str) -> Content {
        let known = expected
            .get(path)
            .and_then(|entry| entry.content.placed_bytes());
        if let Some(bytes) = known.filter(|bytes| blob_id(bytes) == id) {
            return Content::Bytes(bytes.to_vec());
        }
        let out = self.samples.git.run(["cat-file", "blob", id]).output();
        if out.code == Some(0) {
            Content::Bytes(out.stdout)
        } else {
            Content::Submodule(id.to_owned())
        }
    }
}

/// Splits a patch as a knot does: at each `From` and a commit id of 40 digits.
fn split_at_knot(text: &str) -> Vec<String> {
    let mut mails: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        let oid = line.strip_prefix("From ").and_then(|rest| rest.get(..41));
        let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b' ');
        if oid.is_some_and(|oid| oid.ends_with(' ') && oid.bytes().all(is_hex)) {
            mails.push(String::new());
        }
        if let Some(mail) = mails.last_mut() {
            mail.push_str(line);
        }
    }
    mails
}

fn plain_diff(mail: &str) -> String {
    let at = mail.find("diff --git ").unwrap_or(mail.len());
    let diff = &mail[at..];
    let end = diff.rfind("\n-- \n").map_or(diff.len(), |end| end + 1);
    let end = diff.find("\n\nbase-commit").map_or(end, |end| end + 1);
    diff[..end].to_owned()
}

/// A commit that git made from a mail.
struct AppliedCommit {
    name: String,
    email: String,
    message: String,
    /// The changed paths, with mode and id; `None` for a deleted path.
    entries: Vec<(String, Option<(u32, String)>)>,
}

impl AppliedCommit {
    fn parse(text: &str) -> Self {
        let mut parts = text.splitn(4, '\u{3}');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let (name, email, message, raw) = (next(), next(), next(), next());
        let mut fields = raw.split('\0').filter(|it| !it.trim().is_empty());
        let mut entries = Vec::new();
        while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
            let words: Vec<&str> = meta.trim_start_matches(['\n', ':']).split(' ').collect();
            let mode = u32::from_str_radix(words[1], 8).unwrap();
            let entry = (mode != 0).then(|| (mode, words[3].to_owned()));
            entries.push((path.to_owned(), entry));
        }
        Self {
            name,
            email,
            message,
            entries,
        }
    }

    /// Returns the author or message if it differs from the one that forge shows.
    fn compare_text(&self, mail: &PatchMail) -> Option<String> {
        let author = [&self.name, &self.email].map(|text| trim_crud(text));
        let shown_author = [&mail.author.name, &mail.author.email].map(|text| trim_crud(text));
        let shown = format!("{}\n{}", mail.subject, mail.body);
        if author != shown_author {
            Some(format!("author {shown_author:?}, but git has {author:?}"))
        } else if words(&self.message) != words(&shown) {
            Some(format!("message {shown:?}, but git has {:?}", self.message))
        } else {
            None
        }
    }
}

/// Removes the characters that git removes from both ends of a name (`ident.c`, `is_crud`).
fn trim_crud(text: &str) -> &str {
    let is_crud = |c: char| c <= ' ' || ".,:;<>\"\\'".contains(c);
    text.trim_matches(is_crud)
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}
