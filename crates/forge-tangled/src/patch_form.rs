//! Checks whether a patch has the form that git prints.
//!
//! A knot (git server) merges a patch with `git am`. `git am` takes changes from more places than
//! readers of diffs look at: from MIME parts, from the text between a message and the first file,
//! and from the text after the signature (git's `mailinfo.c` and `apply.c`, v2.47). A patch that
//! differs from git's form could change files that no view shows, so it is not merged.

use forge_core::diff::{DiffLine, HeaderKey, LineReader, mail_commit, shared_path, unquote_path};

/// Maximum length of the line after `-- `, in which git prints its version.
const MAX_SIGNATURE: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Before the first mail, or before the first file of a plain diff.
    Start,
    /// The header of a mail.
    Header {
        is_mime: bool,
    },
    Message,
    /// Between the message and the first file.
    Summary,
    Diff,
    /// After the line `-- `.
    Signature {
        has_version: bool,
    },
}

/// State of a file of a diff, from the lines read so far.
#[derive(Debug, Default)]
struct File {
    /// The path in the `diff --git` line, if its old and its new path are equal.
    shared: Option<String>,
    from: Option<String>,
    to: Option<String>,
    old: Option<String>,
    new: Option<String>,
    has_content: bool,
}

impl File {
    /// Returns true if all names of the file agree. Otherwise git could change another path than a
    /// view shows.
    fn is_named_once(&self) -> bool {
        let of = |side: &Option<String>| side.clone().or_else(|| self.shared.clone());
        let (Some(from), Some(to)) = (of(&self.from), of(&self.to)) else {
            return false;
        };
        let fits = |name: &Option<String>, prefix: &str, path: &str| {
            let is_path = |name: &str| name.strip_prefix(prefix) == Some(path);
            name.as_deref()
                .is_none_or(|name| name == "/dev/null" || is_path(name))
        };
        self.from.is_some() == self.to.is_some()
            && self.old.is_some() == self.new.is_some()
            && fits(&self.old, "a/", &from)
            && fits(&self.new, "b/", &to)
    }

    fn header(&mut self, key: HeaderKey, value: &[u8]) -> bool {
        let slot = match key {
            HeaderKey::RenameFrom | HeaderKey::CopyFrom => &mut self.from,
            HeaderKey::RenameTo | HeaderKey::CopyTo => &mut self.to,
            HeaderKey::OldName => &mut self.old,
            HeaderKey::NewName => &mut self.new,
            _ => return true,
        };
        slot.replace(unquote_path(value)).is_none()
    }
}

/// Returns why a patch has another form than git prints. The reason ends a sentence that begins
/// with "the patch". `None` if it has git's form. `text` must have the line ends that git prints.
pub(crate) fn fault(text: &[u8]) -> Option<String> {
    let mut form = Form {
        part: Part::Start,
        in_mails: false,
        reader: LineReader::default(),
        file: None,
    };
    for (at, line) in text.split_inclusive(|b| *b == b'\n').enumerate() {
        if let Err(why) = form.read(line) {
            return Some(format!("has {why} (line {})", at + 1));
        }
    }
    form.end_file()
        .err()
        .map(|why| format!("has {why} (at its end)"))
}

struct Form {
    part: Part,
    in_mails: bool,
    reader: LineReader,
    file: Option<File>,
}

impl Form {
    fn read(&mut self, line: &[u8]) -> Result<(), &'static str> {
        if mail_commit(line).is_some() {
            if self.part == Part::Diff && !self.in_mails {
                return Err("a mail after a plain diff");
            }
            self.end_file()?;
            self.in_mails = true;
            self.part = Part::Header { is_mime: false };
            return Ok(());
        }
        let is_blank = line.trim_ascii().is_empty();
        let is_file = line.starts_with(b"diff --git ");
        match self.part {
            Part::Start if is_blank => Ok(()),
            Part::Start if is_file => self.diff(line),
            Part::Start => Err("text before its first file"),
            Part::Header { is_mime } => self.header(line, is_mime),
            Part::Message | Part::Summary if is_file => self.diff(line),
            Part::Message | Part::Summary => self.prose(line),
            Part::Diff => self.diff(line),
            Part::Signature { .. } if is_blank => Ok(()),
            Part::Signature { has_version: false }
                if line.len() <= MAX_SIGNATURE && !begins_change(line) =>
            {
                self.part = Part::Signature { has_version: true };
                Ok(())
            }
            Part::Signature { .. } => Err("text after the signature of a mail"),
        }
    }

    fn header(&mut self, line: &[u8], is_mime: bool) -> Result<(), &'static str> {
        if line == b"\n" {
            self.part = Part::Message;
            return Ok(());
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            return match line.trim_ascii().is_empty() || is_mime {
                true => Err("a folded header in a form that git does not write"),
                false => Ok(()),
            };
        }
        let line = String::from_utf8_lossy(line);
        let Some((name, value)) = line.split_once(':') else {
            return Err("an invalid header line in a mail");
        };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("an invalid header line in a mail");
        }
        let (name, value) = (name.to_ascii_lowercase(), value.trim().to_ascii_lowercase());
        let is_plain = match name.as_str() {
            "content-type" => is_plain_text(&value),
            "content-transfer-encoding" => matches!(value.as_str(), "7bit" | "8bit"),
            _ => true,
        };
        self.part = Part::Header {
            is_mime: name.starts_with("content-"),
        };
        match is_plain {
            true => Ok(()),
            false => Err("a mail that is not plain text in UTF-8"),
        }
    }

    /// Reads a line of a message, or of the text between the message and the first file.
    fn prose(&mut self, line: &[u8]) -> Result<(), &'static str> {
        if is_mail_start(line) {
            return Err("a line that begins another mail");
        }
        if begins_change(line) {
            return Err("a change outside of its files");
        }
        if line.starts_with(b"---") && line.trim_ascii() == b"---" {
            self.part = Part::Summary;
        } else if self.part == Part::Summary && line == b"-- \n" {
            self.part = Part::Signature { has_version: false };
        }
        Ok(())
    }

    fn diff(&mut self, line: &[u8]) -> Result<(), &'static str> {
        self.part = Part::Diff;
        let kind = self.reader.read(line);
        if line == b"-- \n" && matches!(kind, DiffLine::Other | DiffLine::Opaque) {
            self.part = Part::Signature { has_version: false };
            return self.end_file();
        }
        if let DiffLine::File(names) = kind {
            self.end_file()?;
            self.file = Some(File {
                shared: shared_path(names),
                ..File::default()
            });
            return Ok(());
        }
        let Some(file) = &mut self.file else {
            return Err("a change outside of its files");
        };
        match kind {
            DiffLine::Header(..) if file.has_content => Err("a second header of one file"),
            DiffLine::Header(key, value) => {
                file.has_content = key == HeaderKey::BinaryPatch;
                match file.header(key, value) {
                    true => Ok(()),
                    false => Err("two names for one side of a file"),
                }
            }
            DiffLine::Hunk(_) => {
                file.has_content = true;
                match file.old.is_some() && file.new.is_some() {
                    true => Ok(()),
                    false => Err("a hunk of a file without names"),
                }
            }
            DiffLine::Added { .. } | DiffLine::Removed { .. } | DiffLine::NoNewline => Ok(()),
            DiffLine::Context { .. } if matches!(line.first(), Some(b' ' | b'\n' | b'\r')) => {
                Ok(())
            }
            DiffLine::Opaque if is_packed(line) => Ok(()),
            DiffLine::Other if line.trim_ascii().is_empty() => Ok(()),
            DiffLine::Combined(_) => Err("a combined diff"),
            _ => Err("a line that is not part of a file's changes"),
        }
    }

    fn end_file(&mut self) -> Result<(), &'static str> {
        match self.file.take().is_none_or(|file| file.is_named_once()) {
            true => Ok(()),
            false => Err("a file with several names"),
        }
    }
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

/// Returns true if `git mailsplit` may begin a mail at this line: `From` and a time of day.
fn is_mail_start(line: &[u8]) -> bool {
    let is_digit = |b: &u8| b.is_ascii_digit();
    line.starts_with(b"From ")
        && line
            .windows(5)
            .any(|it| matches!(it, [a, b, b':', c, d] if [a, b, c, d].into_iter().all(is_digit)))
}

/// Returns true if a change can begin at this line for `git apply`. `git mailinfo` can also end the
/// message at such a line.
fn begins_change(line: &[u8]) -> bool {
    let begins: [&[u8]; 5] = [b"diff -", b"Index: ", b"--- ", b"+++ ", b"@@ -"];
    let is_end = line.starts_with(b"---") && line.trim_ascii() == b"---";
    !is_end && begins.iter().any(|begin| line.starts_with(begin))
}

/// Returns true for a line of a binary patch: its head, a base-85 line, or the blank line at its
/// end.
fn is_packed(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let is_head = |word: &[u8]| {
        let size = line.strip_prefix(word);
        size.is_some_and(|size| !size.is_empty() && size.iter().all(u8::is_ascii_digit))
    };
    let is_base85 = line.first().is_none_or(u8::is_ascii_alphabetic) && !line.contains(&b' ');
    is_base85 || is_head(b"literal ") || is_head(b"delta ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: &str = "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n\
        From: Ada <ada@example.com>\nDate: Fri, 21 Nov 2026 10:00:00 +0100\n\
        Subject: [PATCH] One\n =?UTF-8?q?more?=\nMIME-Version: 1.0\n\
        Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n\
        Why.\n---\n README | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n\
        diff --git a/README b/README\nindex 1..2 100644\n--- a/README\n+++ b/README\n\
        @@ -1,2 +1,2 @@\n one\n--- two\n+++ two\n-- \n2.47.3\n\n";

    const EVIL: &str = "--- a/build.sh\n+++ b/build.sh\n@@ -1 +1 @@\n-safe\n+evil\n";

    #[test]
    fn patch_printed_by_git_has_no_fault() {
        assert_eq!(fault(MAIL.as_bytes()), None);
        assert_eq!(fault(MAIL.repeat(2).as_bytes()), None);
        let (_, diff) = MAIL.split_once("\n\ndiff").unwrap();
        let diff = format!("diff{diff}").replace("-- \n2.47.3\n\n", "");
        assert_eq!(fault(diff.as_bytes()), None);
        for file in [
            "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n",
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
            "diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\nindex 0..1\n\
             --- /dev/null\n+++ \"b/\\303\\244\"\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
            "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmb=K\n\n\
             literal 0\nHcmV?d00001\n\n",
        ] {
            assert_eq!(fault(file.as_bytes()), None, "{file}");
            let mail = MAIL.replace("diff --git a/README", &format!("{file}diff --git a/README"));
            assert_eq!(fault(mail.as_bytes()), None, "{file}");
        }
    }

    #[test]
    fn patch_change_hidden_from_views_is_found() {
        let before = |place: &str, text: &str| MAIL.replacen(place, &format!("{text}{place}"), 1);
        for (place, patch) in [
            ("behind the signature", format!("{MAIL}{EVIL}")),
            ("in place of the version", MAIL.replace("2.47.3\n", EVIL)),
            ("before the mail", format!("{EVIL}{MAIL}")),
            ("in the message", before("Why.\n", EVIL)),
            ("in the summary", before("diff --git", EVIL)),
            ("behind a hunk", before("-- \n2.47", EVIL)),
            (
                "in a combined diff",
                before("-- \n2.47", &format!("diff --cc x\n{EVIL}")),
            ),
            (
                "behind a binary patch",
                before(
                    "-- \n2.47",
                    &format!(
                        "diff --git a/x b/x\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n{EVIL}"
                    ),
                ),
            ),
            (
                "in MIME parts",
                MAIL.replace("text/plain; charset=UTF-8", "multipart/mixed; boundary=x"),
            ),
            (
                "in another character set",
                MAIL.replace("charset=UTF-8", "charset=UTF-7")
                    .replace("Why.\n", "+AGQ-iff --git a/x b/x\nnew mode 100755\n"),
            ),
            (
                "in a character set of escapes",
                MAIL.replace("charset=UTF-8", "charset=ISO-2022-JP")
                    .replace("Why.\n", "\u{1b}(Bdiff --git a/x b/x\nnew mode 100755\n"),
            ),
            ("in base64", MAIL.replace(": 8bit", ": base64")),
            (
                "by a folded boundary",
                MAIL.replace("charset=UTF-8", "charset=UTF-8;\n boundary=x"),
            ),
            (
                "behind the end of the header",
                before("Date:", &format!("no header\n{EVIL}")),
            ),
            (
                "under another name",
                MAIL.replace("+++ b/README", "+++ b/build.sh"),
            ),
            (
                "in another mail",
                before("Why.\n", "From x Mon Sep 17 00:00:00 2001\n"),
            ),
        ] {
            assert_ne!(patch, MAIL, "{place}");
            assert!(fault(patch.as_bytes()).is_some(), "{place}: {patch}");
        }
    }
}
