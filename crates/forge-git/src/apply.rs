//! Splits a patch into mails, and applies patches without a work tree.

use std::{borrow::Cow, ffi::OsStr, fs, path::Path};

use forge_core::{Error, ErrorKind, Result};

use crate::{
    Git, decode_text,
    tree::{scratch, with_plain_index},
};

/// Endings of git's messages about a file to which a patch does not apply.
const REFUSALS: [&str; 5] = [
    ": patch does not apply",
    ": already exists in working directory",
    ": does not exist in index",
    ": already exists in index",
    ": does not match index",
];

/// First line of a changeset of `hg export`.
const HG_CHANGESET: &[u8] = b"# HG changeset patch";

/// UTF-8 byte order mark, which some editors put at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Maximum number of mails in a patch. Each mail takes several git processes.
const MAX_MAILS: usize = 1_000;

/// A mail of a patch series: a diff with the author and message of its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Author of the commit: `Name <email> seconds offset`.
    pub author: Vec<u8>,
    /// Message of the commit: subject, an empty line, and the body.
    pub message: String,
    /// The diff, possibly with other text around it.
    pub diff: Vec<u8>,
}

/// Result of applying a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyResult {
    /// Id of the changed tree, hex.
    Tree(String),
    /// Names of the files to which the patch does not apply, sorted.
    Conflicts(Vec<String>),
}

/// A part of a patch, as git reads it.
enum ParsedMail {
    Mail(Mail),
    /// A mail without a diff, such as a cover letter.
    WithoutDiff,
    /// A text without a header.
    WithoutHeader,
}

impl Git {
    /// Returns the mails of a patch, in order: those of a mailbox, or the changesets of `hg export`
    /// or of StGit. Leaves out mails without a diff, such as a cover letter. Returns `None` for a
    /// bare diff.
    ///
    /// # Errors
    /// `invalid_input` (field `patch`) for a mail that git cannot parse or that has no author, for a
    /// diff after an author in another form, and for more than 1,000 mails.
    pub async fn mails(&self, patch: &[u8]) -> Result<Option<Vec<Mail>>> {
        let patch = patch.strip_prefix(BYTE_ORDER_MARK).unwrap_or(patch);
        let patch = patch.trim_ascii_start();
        let dir = scratch()?;
        let changesets = read_changesets(patch)?;
        let is_changeset = changesets.is_some();
        let parts = match changesets {
            Some(parts) => parts,
            None => self.split_mailbox(dir.path(), patch).await?,
        };
        check_count(parts.len())?;
        let mut mails = Vec::new();
        for part in &parts {
            match self.parse_mail(dir.path(), part).await? {
                ParsedMail::Mail(mail) => mails.push(mail),
                ParsedMail::WithoutDiff => {}
                ParsedMail::WithoutHeader if is_changeset || parts.len() > 1 => {
                    return Err(no_patch("one of its mails has no author"));
                }
                ParsedMail::WithoutHeader if names_author(patch) => {
                    let why = "it names an author in a form that `git am` does not read";
                    return Err(no_patch(why));
                }
                ParsedMail::WithoutHeader => return Ok(None),
            }
        }
        Ok(Some(mails))
    }

    /// Splits a mailbox into its mails.
    async fn split_mailbox(&self, dir: &Path, mailbox: &[u8]) -> Result<Vec<Vec<u8>>> {
        let lines = mailbox.split(|byte| *byte == b'\n');
        let count = lines.filter(|line| line.starts_with(b"From ")).count();
        check_count(count)?;
        let mut into = OsStr::new("-o").to_owned();
        into.push(dir);
        let mut args = vec![OsStr::new("mailsplit"), OsStr::new("-b"), into.as_os_str()];
        // A carriage return belongs to a changed file, unless every line of the mail has one. Mail
        // stores write the line `From …` before a mail themselves.
        let mut lines = mailbox.split(|byte| *byte == b'\n');
        let first = lines.find(|line| !line.starts_with(b"From "));
        if !first.is_some_and(|line| line.ends_with(b"\r")) {
            args.push(OsStr::new("--keep-cr"));
        }
        let split = self.run_with_stdin(args, mailbox).await?;
        if split.status != 0 {
            return Err(no_patch(split.error("mailsplit").message()));
        }
        let count: usize = String::from_utf8_lossy(&split.stdout)
            .trim()
            .parse()
            .unwrap_or(0);
        (1..=count)
            .map(|number| read(&dir.join(format!("{number:04}"))))
            .collect()
    }

    async fn parse_mail(&self, dir: &Path, mail: &[u8]) -> Result<ParsedMail> {
        let (message, diff) = (dir.join("message"), dir.join("diff"));
        let args = [
            // With `--encoding=UTF-8`, git converts no header. `-u` converts to the encoding that
            // the repository configures.
            OsStr::new("-c"),
            OsStr::new("i18n.commitEncoding=UTF-8"),
            OsStr::new("mailinfo"),
            OsStr::new("-u"),
            OsStr::new("--no-scissors"),
            // The user's configuration could remove carriage returns from the diff.
            OsStr::new("--quoted-cr=nowarn"),
            message.as_os_str(),
            diff.as_os_str(),
        ];
        let told = self.run_with_stdin(args, mail).await?;
        if told.status != 0 {
            return Err(no_patch(told.error("mailinfo").message()));
        }
        let (body, diff) = (read(&message)?, read(&diff)?);
        if told.stdout.trim_ascii().is_empty() {
            return Ok(ParsedMail::WithoutHeader);
        }
        if diff.trim_ascii().is_empty() {
            return Ok(ParsedMail::WithoutDiff);
        }
        let told = decode_text(&told.stdout);
        let field = |key: &str| told.lines().find_map(|line| line.strip_prefix(key));
        let mut git = self.clone();
        for (variable, key) in [
            ("GIT_AUTHOR_NAME", "Author: "),
            ("GIT_AUTHOR_EMAIL", "Email: "),
            ("GIT_AUTHOR_DATE", "Date: "),
        ] {
            let Some(value) = field(key) else {
                let missing = key.trim_end_matches(": ");
                return Err(no_patch(&format!("one of its mails has no '{missing}'")));
            };
            git = git.with_env(variable, value);
        }
        let author = git.run(["var", "GIT_AUTHOR_IDENT"]).await?;
        if author.status != 0 {
            return Err(no_patch(author.error("var").message()));
        }
        let subject = field("Subject: ").unwrap_or("");
        // In a message, unlike in a diff, a carriage return is only part of a line end.
        let body = decode_text(&body).replace("\r\n", "\n");
        let message = match (subject, body.trim_start_matches('\n').trim_end()) {
            (subject, "") => format!("{subject}\n"),
            ("", body) => format!("{body}\n"),
            (subject, body) => format!("{subject}\n\n{body}\n"),
        };
        Ok(ParsedMail::Mail(Mail {
            author: author.stdout.trim_ascii_end().to_vec(),
            // Git ends a message at a NUL byte. NUL bytes are removed, so that the text after them
            // is kept.
            message: message.replace('\0', ""),
            diff,
        }))
    }

    /// Applies `diff` to `tree`, the id of a tree or commit. If the diff does not apply but names
    /// blobs that exist, tries a three-way merge, with the attributes of `tree`. Writes objects, but
    /// no ref, work tree or index of the repository.
    ///
    /// # Errors
    /// `invalid_input` (field `patch`) for malformed diffs and for paths that git refuses.
    pub async fn apply(&self, tree: &str, diff: &[u8]) -> Result<ApplyResult> {
        let dir = scratch()?;
        // In a subdirectory of a work tree, git would skip the paths outside of it.
        let git = self.for_diffs().await?;
        let git = git.with_attributes_of(tree).await?.without_hooks().await?;
        let git = git.with_env("GIT_INDEX_FILE", dir.path().join("index"));
        git.run_ok(with_plain_index(&["read-tree", tree])).await?;
        let apply = with_plain_index(&["apply", "--cached", "--3way", "--whitespace=nowarn"]);
        let applied = git
            .without_drivers()
            .await?
            .run_with_stdin(apply, diff)
            .await?;
        if let Some(refusal) = self.driver_refusal(&applied.stderr).await {
            return Err(refusal);
        }
        if applied.status == 0 {
            let written = git.run_ok(with_plain_index(&["write-tree"])).await?;
            let tree = String::from_utf8_lossy(&written).trim().to_owned();
            return Ok(ApplyResult::Tree(tree));
        }
        let unmerged = git
            .run_ok(with_plain_index(&["ls-files", "-u", "-z"]))
            .await?;
        let unmerged = String::from_utf8_lossy(&unmerged).into_owned();
        let said = String::from_utf8_lossy(&applied.stderr).into_owned();
        let conflicting = unmerged.split('\0').filter_map(|entry| {
            let (_, path) = entry.split_once('\t')?;
            Some(path.to_owned())
        });
        let mut files = files_that_refuse(&said);
        files.extend(conflicting);
        files.sort();
        files.dedup();
        match files.is_empty() {
            true => Err(no_patch(applied.error("apply").message())),
            false => Ok(ApplyResult::Conflicts(files)),
        }
    }
}

/// Returns the mails of a patch in a form that `git am` converts to mails: changesets of `hg export`,
/// or a patch of StGit.
///
/// # Errors
/// `invalid_input` (field `patch`) for more than 1,000 changesets.
fn read_changesets(patch: &[u8]) -> Result<Option<Vec<Vec<u8>>>> {
    let (first, _) = take_line(patch);
    let is_hg = first.trim_ascii_end() == HG_CHANGESET;
    if !is_hg && !is_stgit(patch) {
        return Ok(None);
    }
    let patch = if first.ends_with(b"\r\n") {
        Cow::Owned(without_returns(patch))
    } else {
        Cow::Borrowed(patch)
    };
    if !is_hg {
        return Ok(Some(vec![mail_of_stgit(&patch)]));
    }
    let (mut bounds, mut at) = (Vec::new(), 0);
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.trim_ascii_end() == HG_CHANGESET {
            bounds.push((at, at + line.len()));
            check_count(bounds.len())?;
        }
        at += line.len();
    }
    let ends = bounds.iter().skip(1).map(|(start, _)| *start).chain([at]);
    let changesets = bounds
        .iter()
        .zip(ends)
        .filter_map(|((_, start), end)| patch.get(*start..end));
    Ok(Some(changesets.map(mail_of_hg).collect()))
}

/// Splits a text after its first line end.
fn take_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| *byte == b'\n');
    let end = end.map_or(text.len(), |at| at + 1);
    text.split_at_checked(end).unwrap_or((text, b""))
}

/// Returns a text whose lines end with a line feed alone.
fn without_returns(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(line) => {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

/// Returns the text of `hg export` after `# HG changeset patch` as a mail.
fn mail_of_hg(changeset: &[u8]) -> Vec<u8> {
    let (mut mail, mut rest) = (Vec::with_capacity(changeset.len()), changeset);
    while rest.starts_with(b"# ") {
        let (line, below) = take_line(rest);
        rest = below;
        if let Some(user) = line.strip_prefix(b"# User ") {
            mail.extend_from_slice(b"From: ");
            mail.extend_from_slice(user);
        } else if let Some(date) = line.strip_prefix(b"# Date ").and_then(date_of_hg) {
            mail.extend_from_slice(format!("Date: {date}\n").as_bytes());
        }
    }
    mail.push(b'\n');
    mail.extend_from_slice(rest);
    mail
}

/// Parses `seconds offset`, where the offset is in seconds west of UTC. Returns git's form.
fn date_of_hg(date: &[u8]) -> Option<String> {
    let (seconds, offset) = std::str::from_utf8(date).ok()?.trim().split_once(' ')?;
    let seconds: i64 = seconds.parse().ok()?;
    let offset: i32 = offset.parse().ok()?;
    let sign = if offset > 0 { '-' } else { '+' };
    let minutes = offset.unsigned_abs() / 60;
    let (hours, minutes) = (minutes / 60, minutes % 60);
    Some(format!("@{seconds} {sign}{hours:02}{minutes:02}"))
}

/// Lines after the subject of a patch of StGit begin with one of these.
const STGIT_KEYS: [&[u8]; 3] = [b"From:", b"Author:", b"Date:"];

fn has_stgit_key(line: &[u8]) -> bool {
    STGIT_KEYS.iter().any(|key| line.starts_with(key))
}

/// Returns true if `git am` would take a patch for one of StGit: a subject, an empty line, and a line
/// such as `From: …`.
fn is_stgit(patch: &[u8]) -> bool {
    let mut lines = patch.split(|byte| *byte == b'\n');
    let (Some(subject), Some(empty), Some(third)) = (lines.next(), lines.next(), lines.next())
    else {
        return false;
    };
    let keys: [&[u8]; 3] = [b"From ", b"From:", b"Subject:"];
    let is_mail = keys.iter().any(|key| subject.starts_with(key));
    !is_mail && empty.trim_ascii().is_empty() && has_stgit_key(third)
}

fn mail_of_stgit(patch: &[u8]) -> Vec<u8> {
    let (subject, rest) = take_line(patch);
    let (_, mut rest) = take_line(rest);
    let mut mail = Vec::with_capacity(patch.len());
    mail.extend_from_slice(b"Subject: ");
    mail.extend_from_slice(subject);
    while has_stgit_key(rest) {
        let (line, below) = take_line(rest);
        rest = below;
        match line.strip_prefix(b"Author:") {
            Some(author) => {
                mail.extend_from_slice(b"From:");
                mail.extend_from_slice(author);
            }
            None => mail.extend_from_slice(line),
        }
    }
    mail.push(b'\n');
    mail.extend_from_slice(rest);
    mail
}

/// Returns true if a text before the first file of a diff names an author, as `git show` does.
fn names_author(diff: &[u8]) -> bool {
    let keys: [&[u8]; 3] = [b"Author:", b"From:", b"# User "];
    diff.split(|byte| *byte == b'\n')
        .take_while(|line| !line.starts_with(b"diff ") && !line.starts_with(b"--- "))
        .any(|line| keys.iter().any(|key| line.starts_with(key)))
}

fn check_count(mails: usize) -> Result<()> {
    if mails <= MAX_MAILS {
        return Ok(());
    }
    let message = format!("the patch has {mails} mails, and the maximum is {MAX_MAILS}");
    Err(Error::invalid("patch", message)
        .with_hint("apply it with `git am`, or ask for a patch of fewer commits"))
}

/// Returns the files that git's messages name because a patch does not apply to them, sorted.
pub(crate) fn files_that_refuse(stderr: &str) -> Vec<String> {
    let refused = stderr.lines().filter_map(|line| {
        let line = line.strip_prefix("error: ")?;
        REFUSALS.iter().find_map(|end| line.strip_suffix(*end))
    });
    let mut files: Vec<String> = refused.map(str::to_owned).collect();
    files.sort();
    files.dedup();
    files
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot read git's output for the patch: {e}"),
        )
        .with_source(e)
    })
}

fn no_patch(why: &str) -> Error {
    Error::invalid("patch", format!("this is not a patch: {why}"))
        .with_hint("make it with `git format-patch --stdout BASE..HEAD`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn patch_of_too_many_mails_is_refused() {
        let mail = "From 12 Mon Sep 17 00:00:00 2001\nSubject: x\n\n";
        let patch = mail.repeat(MAX_MAILS + 1);
        let git = Git::at(Path::new("."));
        let e = git.mails(patch.as_bytes()).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.message().contains("1001 mails"), "{e:?}");
    }

    #[tokio::test]
    async fn patch_of_too_many_changesets_is_refused() {
        let patch = "# HG changeset patch\n".repeat(MAX_MAILS + 1);
        let e = parse(patch.as_bytes()).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        assert!(e.message().contains("1001 mails"), "{e:?}");
    }

    /// `git am` converts the header and the body from the encodings that the mail declares.
    #[tokio::test]
    async fn author_and_text_in_other_encodings_are_converted() {
        let header = "From 12 Mon Sep 17 00:00:00 2001\nFrom: =?KOI8-R?Q?=D4=C5=D3=D4?= <h@x>\n\
                      Date: Tue, 14 Nov 2023 22:13:20 +0000\nSubject: x\n\
                      Content-Type: text/plain; charset=ISO-8859-1\n\n";
        let patch = [header.as_bytes(), b"Gr\xfcn\n---\n", DIFF.as_bytes()].concat();
        let mails = parse(&patch).await.unwrap().unwrap();
        let author = String::from_utf8(mails[0].author.clone()).unwrap();
        assert!(author.starts_with("тест <h@x> "), "{author}");
        assert_eq!(mails[0].message, "x\n\nGrün\n");
    }

    const DIFF: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";

    async fn parse(patch: &[u8]) -> Result<Option<Vec<Mail>>> {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        git.mails(patch).await
    }

    #[tokio::test]
    async fn mails_are_recognised_as_git_does() {
        let from = "From: J\u{fc}rgen <j@x>\n";
        let rest = "Date: Tue, 14 Nov 2023 23:13:20 +0100\nSubject: [PATCH] Title\n\nBody.\n---\n";
        let mut forms: Vec<Vec<u8>> = [
            "",
            "From 12 Mon Sep 17 00:00:00 2001\n",
            "\n\nFrom 12 Mon Sep 17 00:00:00 2001\n",
            "Return-Path: <x@y>\n",
            "Received: by z\n\tfolded: line\n",
            "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n",
            "X-Mozilla-Status: 0001\nDelivered-To: z\n",
        ]
        .iter()
        .map(|start| format!("{start}{from}{rest}{DIFF}").into_bytes())
        .collect();
        let with_returns: Vec<Vec<u8>> = forms
            .iter()
            .map(|form| {
                String::from_utf8_lossy(form)
                    .replace('\n', "\r\n")
                    .into_bytes()
            })
            .collect();
        forms.extend(with_returns);
        forms.push([BYTE_ORDER_MARK, &forms[0]].concat());
        let hg = format!(
            "# HG changeset patch\n# User J\u{fc}rgen <j@x>\n# Date 1700000000 -3600\n\
             #      Tue Nov 14 23:13:20 2023 +0100\n# Node ID 12\n# Parent  34\n\
             Title\n\nBody.\n\n{DIFF}"
        );
        forms.push(hg.replace('\n', "\r\n").into_bytes());
        forms.push(hg.into_bytes());
        let stgit = "Title\n\nAuthor: J\u{fc}rgen <j@x>\nDate: Tue, 14 Nov 2023 23:13:20 +0100\n";
        forms.push(format!("{stgit}\nBody.\n\n---\n{DIFF}").into_bytes());
        for form in forms {
            let shown = String::from_utf8_lossy(&form).into_owned();
            let mails = parse(&form).await.unwrap().expect(&shown);
            let [mail] = mails.as_slice() else {
                panic!("{mails:?}");
            };
            assert_eq!(
                String::from_utf8_lossy(&mail.author),
                "J\u{fc}rgen <j@x> 1700000000 +0100",
                "{shown}"
            );
            assert_eq!(mail.message, "Title\n\nBody.\n", "{shown}");
            assert!(mail.diff.ends_with(DIFF.as_bytes()), "{shown}");
        }
    }

    #[tokio::test]
    async fn exported_changesets_are_separate_mails() {
        let changeset = |title: &str| {
            format!("# HG changeset patch\n# User A <a@x>\n# Date 1 25200\n{title}\n\n{DIFF}")
        };
        let patch = [changeset("One"), changeset("Two")].concat();
        let mails = parse(patch.as_bytes()).await.unwrap().unwrap();
        let titles: Vec<&str> = mails.iter().map(|mail| mail.message.as_str()).collect();
        assert_eq!(titles, ["One\n", "Two\n"]);
        assert_eq!(mails[0].author, b"A <a@x> 1 -0700");
    }

    #[tokio::test]
    async fn bare_diff_is_no_mail() {
        for start in ["", "\n", "Index: f\n=====\n", "A remark.\n\n"] {
            let patch = format!("{start}{DIFF}");
            assert_eq!(parse(patch.as_bytes()).await.unwrap(), None, "{start}");
        }
    }

    #[tokio::test]
    async fn author_is_not_replaced() {
        for start in [
            "commit 1234\nAuthor: Jane <j@x>\nDate:   Tue Nov 14\n\n    Title\n\n",
            "A remark.\nFrom: Jane <j@x>\n\n",
            "Subject: Title\n\n",
            "# HG changeset patch\n# User jane\nTitle\n",
            "# HG changeset patch\nTitle\n",
        ] {
            let e = parse(format!("{start}{DIFF}").as_bytes())
                .await
                .unwrap_err();
            assert_eq!(e.code(), "invalid_input", "{start}");
            assert!(e.hint().unwrap().text().contains("format-patch"), "{e:?}");
        }
    }
}
