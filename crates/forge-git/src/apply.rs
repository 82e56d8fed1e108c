//! Splits a patch into mails, and applies patches without a work tree.

use std::{ffi::OsStr, fs, path::Path};

use forge_core::{Error, ErrorKind, Result};

use crate::{
    Git,
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

impl Mail {
    /// Returns true if `patch` is a mail and not a bare diff.
    #[must_use]
    pub fn begins(patch: &[u8]) -> bool {
        let text = patch.trim_ascii_start();
        let headers = ["From ", "From: ", "Subject: ", "Date: ", "Message-ID: "];
        headers.iter().any(|h| text.starts_with(h.as_bytes()))
    }
}

impl Git {
    /// Returns the mails of a `git format-patch` series, in order. Leaves out mails without a diff,
    /// such as a cover letter.
    ///
    /// # Errors
    /// `invalid_input` (field `patch`) for a mail that git cannot parse or that has no author, and
    /// for more than 1,000 mails.
    pub async fn mails(&self, patch: &[u8]) -> Result<Vec<Mail>> {
        let lines = patch.split(|byte| *byte == b'\n');
        let count = lines.filter(|line| line.starts_with(b"From ")).count();
        if count > MAX_MAILS {
            let message = format!("the patch has {count} mails, and the maximum is {MAX_MAILS}");
            return Err(Error::invalid("patch", message)
                .with_hint("apply it with `git am`, or ask for a patch of fewer commits"));
        }
        let dir = scratch()?;
        let mut into = OsStr::new("-o").to_owned();
        into.push(dir.path());
        let mut args = vec![OsStr::new("mailsplit"), OsStr::new("-b"), into.as_os_str()];
        let mailbox = patch.trim_ascii_start();
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
        let mut mails = Vec::new();
        for number in 1..=count {
            let mail = read(&dir.path().join(format!("{number:04}")))?;
            mails.extend(self.mail(dir.path(), &mail).await?);
        }
        Ok(mails)
    }

    /// Parses one mail. Returns `None` if it has no diff.
    async fn mail(&self, dir: &Path, mail: &[u8]) -> Result<Option<Mail>> {
        let (message, diff) = (dir.join("message"), dir.join("diff"));
        let args = [
            OsStr::new("mailinfo"),
            OsStr::new("--encoding=UTF-8"),
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
        if diff.trim_ascii().is_empty() {
            return Ok(None);
        }
        let told = String::from_utf8_lossy(&told.stdout);
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
        let body = String::from_utf8_lossy(&body).replace("\r\n", "\n");
        let message = match body.trim_start_matches('\n').trim_end() {
            "" => format!("{subject}\n"),
            body => format!("{subject}\n\n{body}\n"),
        };
        Ok(Some(Mail {
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

    #[test]
    fn mail_is_recognised_by_first_line() {
        for mail in ["From 12 Mon Sep 17 00:00:00 2001\n", "\nSubject: x\n"] {
            assert!(Mail::begins(mail.as_bytes()), "{mail}");
        }
        for other in ["", "diff --git a/x b/x\n", "--- a/x\n", "Fromage\n"] {
            assert!(!Mail::begins(other.as_bytes()), "{other}");
        }
    }
}
