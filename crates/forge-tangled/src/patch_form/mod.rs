//! Checks whether a patch has the form that git prints.
//!
//! A knot (git server) merges a patch with `git am`. `git am` takes changes from more places than
//! readers of diffs look at: from MIME parts, from the text between a message and the first file,
//! from the text after the signature, and from lines that a file of a diff should not have (git's
//! `mailinfo.c`, `mailsplit.c` and `apply.c`, v2.38 to v2.55). So a patch is merged only if git
//! would print exactly these bytes for what forge shows: each file of a diff is printed again from
//! its parsed form (see [`file`]), and all other text is a header, a message, a diffstat or a
//! signature, in which git finds no change.
//!
//! Two things cannot be told without the content at the base: whether git finds the lines of a hunk
//! at another place than the hunk names, and what a binary delta makes of a file.

mod binary;
mod file;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod honest_tests;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use forge_core::{diff, model::FileStatus};

use crate::patch::{MailParts, decode_header, split_diff, split_mails, unquote_address};

/// Author of a mail in which pine keeps its own data. `git am` skips such a mail.
const SKIPPED_AUTHOR: &str = "Mail System Internal Data";

/// Headers that `git am` reads, and that git prints at most once.
const UNIQUE_HEADERS: [&str; 6] = [
    "from",
    "date",
    "subject",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
];

/// A place where a patch differs from the form that git prints.
#[derive(Debug)]
struct FormFault {
    why: &'static str,
    /// Offset in the patch, in bytes.
    at: usize,
}

impl FormFault {
    fn new(why: &'static str, at: usize) -> Self {
        Self { why, at }
    }
}

/// Returns why a patch has another form than git prints. The reason ends a sentence that begins
/// with "the patch". `None` if it has git's form. `text` must have the line ends that git prints.
pub(crate) fn fault(text: &[u8]) -> Option<String> {
    let fault = check_patch(text).err()?;
    let before = text.get(..fault.at).unwrap_or_default();
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    Some(format!("has {} (line {line})", fault.why))
}

fn check_patch(text: &[u8]) -> Result<(), FormFault> {
    let mut content_left = binary::MAX_CONTENT;
    let mails = split_mails(text);
    let Some(first) = mails.first() else {
        return check_plain_diff(text, &mut content_left);
    };
    let mut at = 0;
    if !text.starts_with(first.from_line) {
        return Err(FormFault::new("text before its first mail", 0));
    }
    for mail in &mails {
        check_mail(mail, at, &mut content_left)?;
        at += mail.len();
    }
    Ok(())
}

fn check_plain_diff(text: &[u8], content_left: &mut u64) -> Result<(), FormFault> {
    if text.is_empty() {
        return Ok(());
    }
    if !text.starts_with(b"diff --git ") {
        return Err(FormFault::new("text before its first file", 0));
    }
    let (diff, tail) = split_diff(text);
    check_diff(diff, 0, content_left)?;
    if tail.iter().any(|b| *b != b'\n') {
        return Err(FormFault::new("text after its last file", diff.len()));
    }
    Ok(())
}

fn check_mail(
    mail: &MailParts<'_>,
    mail_at: usize,
    content_left: &mut u64,
) -> Result<(), FormFault> {
    check_from_line(mail.from_line).map_err(|why| FormFault::new(why, mail_at))?;
    let header_at = mail_at + mail.from_line.len();
    check_header(mail.header, header_at)?;
    let message_at = header_at + mail.header.len();
    check_prose(mail.message, message_at)?;
    let diff_at = message_at + mail.message.len();
    check_diff(mail.diff, diff_at, content_left)?;
    check_prose(mail.tail, diff_at + mail.diff.len())?;
    let has_tail = !mail.tail.trim_ascii().is_empty();
    if !has_tail
        && diff::files(mail.diff)
            .last()
            .is_some_and(|file| file.header.binary)
    {
        // A knot removes the blank line at the end of a mail. Without it, git does not apply the
        // file, and reports success.
        let why = "a binary file at the end of a mail without a signature, which a knot leaves out";
        return Err(FormFault::new(why, diff_at));
    }
    check_author(mail).map_err(|why| FormFault::new(why, mail_at))
}

/// Checks the line at which a mail begins. A knot and git recognise it in other ways than forge.
fn check_from_line(line: &[u8]) -> Result<(), &'static str> {
    let oid = line.strip_prefix(b"From ");
    let oid = oid.and_then(|rest| rest.strip_suffix(b" Mon Sep 17 00:00:00 2001\n"));
    if oid.is_some_and(|oid| matches!(oid.len(), 40 | 64) && is_lower_hex(oid)) {
        Ok(())
    } else {
        Err("a mail that begins in a way that git does not write")
    }
}

/// Checks the headers of a mail, and the blank line that ends them.
fn check_header(header: &[u8], header_at: usize) -> Result<(), FormFault> {
    let mut names = BTreeSet::new();
    let mut is_mime = false;
    let mut at = header_at;
    let lines = header
        .ends_with(b"\n\n")
        .then(|| header.strip_suffix(b"\n"));
    let Some(lines) = lines.flatten() else {
        return Err(FormFault::new("a mail without a message", header_at));
    };
    for line in lines.split_inclusive(|b| *b == b'\n') {
        let is_text = std::str::from_utf8(line).is_ok_and(|text| !text.contains(['\0', '\r']));
        let is_blank = line.trim_ascii().is_empty();
        if !is_text || is_blank {
            return Err(FormFault::new("an invalid header line in a mail", at));
        }
        if matches!(line.first(), Some(b' ' | b'\t')) {
            if is_mime || names.is_empty() {
                let why = "a folded header in a form that git does not write";
                return Err(FormFault::new(why, at));
            }
        } else {
            let name = check_header_line(line).map_err(|why| FormFault::new(why, at))?;
            is_mime = name.starts_with("content-");
            if !names.insert(name.clone()) && UNIQUE_HEADERS.contains(&name.as_str()) {
                return Err(FormFault::new("two headers of one name in a mail", at));
            }
        }
        at += line.len();
    }
    Ok(())
}

/// Checks the first line of a header, and returns the header's name in lower case.
fn check_header_line(line: &[u8]) -> Result<String, &'static str> {
    let line = String::from_utf8_lossy(line);
    let named = line.split_once(':');
    let Some((name, value)) = named.filter(|(name, _)| is_header_name(name)) else {
        return Err("an invalid header line in a mail");
    };
    let (name, value) = (name.to_ascii_lowercase(), value.trim().to_ascii_lowercase());
    let is_plain = match name.as_str() {
        "content-type" => is_plain_text(&value),
        "content-transfer-encoding" => matches!(value.as_str(), "7bit" | "8bit"),
        _ => true,
    };
    if is_plain {
        Ok(name)
    } else {
        Err("a mail that is not plain text in UTF-8")
    }
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic())
}

/// Returns true for `text/plain`, alone or in UTF-8, as git prints it. git converts the lines of a
/// message before it searches for the first file. In UTF-7 or ISO-2022-JP, a line can become one
/// that begins a change.
fn is_plain_text(value: &str) -> bool {
    let Some(rest) = value.strip_prefix("text/plain") else {
        return false;
    };
    let charset = rest.strip_prefix(';').map(str::trim);
    let name = charset.and_then(|it| it.strip_prefix("charset="));
    let is_ascii_or_utf8 =
        |name: &str| matches!(name.trim_matches('"'), "utf-8" | "utf8" | "us-ascii");
    rest.is_empty() || name.is_some_and(is_ascii_or_utf8)
}

/// Checks lines of a message, of the text between a message and the first file, and of the text
/// after the last file. git finds no change in them, and no other mail.
fn check_prose(prose: &[u8], prose_at: usize) -> Result<(), FormFault> {
    let mut at = prose_at;
    for line in prose.split_inclusive(|b| *b == b'\n') {
        if line.contains(&b'\0') {
            return Err(FormFault::new("a NUL byte in a mail", at));
        }
        if is_mail_start(line) {
            return Err(FormFault::new("a line that begins another mail", at));
        }
        if begins_change(line) {
            return Err(FormFault::new("a change outside of its files", at));
        }
        at += line.len();
    }
    Ok(())
}

/// Returns true if a mail may begin at this line: for `git mailsplit` at `From` and a time of day,
/// for a knot at `From` and a commit id.
fn is_mail_start(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else {
        return false;
    };
    let has_time = rest.windows(5).any(
        |it| matches!(it, [a, b, b':', c, d] if [a, b, c, d].into_iter().all(u8::is_ascii_digit)),
    );
    has_time || rest.get(..40).is_some_and(is_lower_hex)
}

/// Returns true if a change can begin at this line for `git apply`. `git mailinfo` can also end the
/// message at such a line; forge ends it at `---` alone.
fn begins_change(line: &[u8]) -> bool {
    let begins: [&[u8]; 5] = [b"diff -", b"Index: ", b"--- ", b"+++ ", b"@@ -"];
    let is_end = line.starts_with(b"---") && line.trim_ascii() == b"---";
    if is_end {
        line != b"---\n"
    } else {
        begins.iter().any(|begin| line.starts_with(begin))
    }
}

/// Refuses a mail that `git am` skips because of its author, or whose author or subject is encoded
/// in a way that forge does not read.
fn check_author(mail: &MailParts<'_>) -> Result<(), &'static str> {
    let (headers, _) = mail.read_text();
    for (name, value) in headers {
        let is_author = name.eq_ignore_ascii_case("from");
        if !is_author && !name.eq_ignore_ascii_case("subject") {
            continue;
        }
        let (text, is_complete) = decode_header(&value);
        if !is_complete {
            return Err("an author or a subject in an encoding other than UTF-8");
        }
        if !is_author {
            continue;
        }
        let name = printed_name(&text).ok_or("an author in a form that git does not print")?;
        let words: Vec<&str> = name.split_whitespace().collect();
        if words.join(" ").contains(SKIPPED_AUTHOR) {
            return Err("a mail that git skips, because of its author");
        }
    }
    Ok(())
}

/// Returns the name of an author that has the form in which git prints it: a name, which is quoted
/// as a whole or not at all, and an address in angle brackets. `git am` also takes a name from the
/// text around and after an address, and from partial quotes.
fn printed_name(author: &str) -> Option<String> {
    let (name, address) = author.trim().strip_suffix('>')?.rsplit_once('<')?;
    let name = name.trim();
    let is_quoted = name.len() > 1 && name.starts_with('"') && name.ends_with('"');
    let is_plain = !address.contains(['>', '"', ' ']) && !name.contains(['<', '>']);
    (is_plain && (is_quoted || !name.contains('"'))).then(|| unquote_address(name))
}

/// Checks the files of a diff, and that each side of a path occurs once. Otherwise the changes of
/// one file would build on one another.
fn check_diff(diff: &[u8], diff_at: usize, content_left: &mut u64) -> Result<(), FormFault> {
    let mut sides = BTreeSet::new();
    let mut at = diff_at;
    for file in diff::files(diff) {
        file::check_file(&file, content_left).map_err(|why| FormFault::new(why, at))?;
        let is_kept = file.header.status == FileStatus::Copied;
        let old = file.header.old_path.clone().filter(|_| !is_kept);
        let new = file.header.new_path.clone();
        let claims = [("old", old), ("new", new)];
        let mut claims = claims
            .into_iter()
            .filter_map(|(side, path)| Some((side, path?)));
        if !claims.all(|claim| sides.insert(claim)) {
            return Err(FormFault::new("a file that occurs twice", at));
        }
        at += file.head.len() + file.hunks.iter().map(|hunk| hunk.raw.len()).sum::<usize>();
    }
    if at == diff_at + diff.len() {
        Ok(())
    } else {
        Err(FormFault::new("a change outside of its files", at))
    }
}

fn is_lower_hex(text: &[u8]) -> bool {
    text.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
