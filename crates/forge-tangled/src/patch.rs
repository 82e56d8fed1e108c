//! Reads and builds rounds: submitted patches, as gzipped output of `git format-patch` or plain
//! diffs.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{Read as _, Write as _},
};

use flate2::{Compression, bufread::MultiGzDecoder, write::GzEncoder};
use forge_core::{
    Error, ErrorKind, Result, Timestamp,
    diff::{self, DiffLine, HeaderKey, LineReader, MAX_PARTS, mail_commit},
    model::{Commit, FileChange, FileStatus, Signature},
    text::one_line,
};

use crate::{blocking::MayBlock, patch_form};

/// Maximum size of an unpacked round (tangled's ingester, `models/pull.go` 0e75a74b).
pub(crate) const ROUND_MAX: usize = 15 * 1024 * 1024;
/// Maximum size of a packed round. Incompressible bytes grow by about a thousandth when packed.
pub(crate) const PACKED_MAX: usize = ROUND_MAX + 1024 * 1024;

/// Returns true if a patch has more than [`MAX_PARTS`] files, hunks and mails.
pub(crate) fn has_too_many_parts(patch: &[u8]) -> bool {
    let starts: [&[u8]; 3] = [b"diff --", b"@@ -", b"From "];
    let begins = |line: &&[u8]| starts.iter().any(|start| line.starts_with(start));
    patch.split(|b| *b == b'\n').filter(begins).count() > MAX_PARTS
}

/// The part of a patch that is not in UTF-8. A knot reads and prints patches as JSON strings, which
/// cannot have such bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotText {
    /// The file whose changes are not UTF-8; `None` if a header or a message is not UTF-8.
    file: Option<String>,
}

impl NotText {
    /// Describes the problem of a patch with the name `name`, as the end of a sentence.
    pub fn why(&self, name: &str) -> String {
        let part = match &self.file {
            Some(file) => format!("what {name} changes in '{}'", one_line(file)),
            None => format!("a message or a header of {name}"),
        };
        format!("a knot accepts only patches in UTF-8, and {part} is not in UTF-8")
    }

    /// Returns a hint that says how to make a valid patch.
    pub fn hint(&self) -> String {
        match &self.file {
            Some(file) => format!(
                "mark '{}' as `-diff` in .gitattributes, so that git sends it as a binary file, \
                 and make the patch again: `git format-patch --stdout BASE..HEAD`",
                one_line(file)
            ),
            None => "make the patch again, with messages in UTF-8: `git -c \
                     i18n.logOutputEncoding=UTF-8 format-patch --stdout BASE..HEAD`"
                .to_owned(),
        }
    }
}

/// Returns a patch as text, which a knot requires.
///
/// # Errors
/// The first part that is not UTF-8.
pub(crate) fn text(raw: &[u8]) -> Result<&str, NotText> {
    std::str::from_utf8(raw).map_err(|e| {
        let before = raw.get(..e.valid_up_to()).unwrap_or_default();
        let mut file = None;
        let mut reader = LineReader::default();
        for line in before.split(|b| *b == b'\n') {
            if mail_commit(line).is_some() {
                file = None;
            } else if let DiffLine::File(names) = reader.read(line) {
                file = Some(parse_diff_path(names));
            }
        }
        NotText { file }
    })
}

/// Packs a patch for `uploadBlob`. The same patch gives the same bytes.
///
/// # Errors
/// `invalid_input` if the patch is too large or not UTF-8, because no knot could merge it
/// unchanged.
pub(crate) fn pack(patch: &[u8], _: MayBlock) -> Result<Vec<u8>> {
    if patch.len() > ROUND_MAX {
        return Err(Error::invalid(
            "head",
            format!(
                "the changes are {} bytes as a patch; tangled takes at most {ROUND_MAX}",
                patch.len()
            ),
        )
        .with_hint("split them over several pull requests"));
    }
    if has_too_many_parts(patch) {
        let message = format!("the changes have more than {MAX_PARTS} files and hunks");
        return Err(
            Error::invalid("head", message).with_hint("split them over several pull requests")
        );
    }
    text(patch)
        .map_err(|not| Error::invalid("patch", not.why("this one")).with_hint(not.hint()))?;
    let failed = |e: std::io::Error| {
        Error::new(
            ErrorKind::Internal,
            format!("a patch could not be packed: {e}"),
        )
        .with_source(e)
    };
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(patch).map_err(failed)?;
    gz.finish().map_err(failed)
}

/// Unpacks a round. A blob of the protocol of 2025 is not packed, and is returned unchanged.
pub(crate) fn unpack(blob: &[u8], _: MayBlock) -> Result<Vec<u8>> {
    let unpacked = match is_packed(blob) {
        true => expand(blob),
        false if blob.len() > ROUND_MAX => Err("is more than 15 MiB".to_owned()),
        false => Ok(blob.to_vec()),
    };
    let whole = unpacked.and_then(|patch| match has_too_many_parts(&patch) {
        true => Err(format!("has more than {MAX_PARTS} files and hunks")),
        false => Ok(patch),
    });
    whole.map_err(|why| {
        let message = format!("the patch of this round cannot be read: it {why}");
        Error::new(ErrorKind::Protocol, message)
    })
}

/// Returns why tangled's ingester refuses a blob as the patch of a round, as the end of a sentence.
pub(crate) fn fault_of_packed(blob: &[u8], _: MayBlock) -> Option<String> {
    match is_packed(blob) {
        true => expand(blob).err(),
        false => Some("is not gzip".to_owned()),
    }
}

fn is_packed(blob: &[u8]) -> bool {
    blob.starts_with(&[0x1f, 0x8b])
}

/// Expands gzip as Go's reader does, which tangled and its knots use: all members in sequence, and
/// an error for other bytes after the last member (`compress/gzip`, `Multistream`).
///
/// # Errors
/// Why the bytes are not a patch, as the end of a sentence.
fn expand(blob: &[u8]) -> Result<Vec<u8>, String> {
    if blob.len() > PACKED_MAX {
        return Err("is more than 16 MiB".to_owned());
    }
    let mut out = Vec::new();
    let most = u64::try_from(ROUND_MAX).unwrap_or(u64::MAX);
    MultiGzDecoder::new(blob)
        .take(most + 1)
        .read_to_end(&mut out)
        .map_err(|e| format!("is not gzip: {e}"))?;
    match out.len() > ROUND_MAX {
        true => Err("is more than 15 MiB when unpacked".to_owned()),
        false => Ok(out),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatchMail {
    /// The full hex id of the commit from which the mail was made.
    pub oid: String,
    pub author: Signature,
    pub subject: String,
    pub body: String,
    /// The unified diff of the commit.
    pub diff: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patch {
    /// The bytes as stored.
    pub raw: Vec<u8>,
    /// The mails, oldest first; empty for a plain diff.
    pub mails: Vec<PatchMail>,
    /// Facts about the two commits of a version; `None` for a patch that is stored as such.
    pub range: Option<CommitRange>,
}

/// How a server showed the changes from the base of a version to its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitRange {
    /// The last commit, which the record names.
    pub head: String,
    /// The diff of all commits together, if the server sent one.
    pub combined: Option<Vec<u8>>,
    /// Why the changes are only shown, and decide nothing. The text ends a sentence.
    pub doubt: Option<String>,
}

impl Patch {
    pub fn parse(raw: Vec<u8>) -> Self {
        let printed = as_printed(&raw);
        let mails = split_mails(&printed);
        let mails = mails.iter().filter_map(parse_mail).collect();
        let range = None;
        Self { raw, mails, range }
    }

    /// Returns the single diff of all commits, if the server of the commits sent one.
    pub fn combined_diff(&self) -> Option<Vec<u8>> {
        let combined = self.range.as_ref()?.combined.clone()?;
        Some(Self::parse(combined).diff())
    }

    /// Returns why the patch is only shown, and decides nothing.
    pub fn doubt(&self) -> Option<&str> {
        self.range.as_ref()?.doubt.as_deref()
    }

    /// Returns why git could apply other changes than forge shows. The text ends a sentence that
    /// begins with "the patch".
    pub fn fault(&self) -> Option<String> {
        if self.mails.is_empty() {
            // `git apply`, with which a knot applies a plain diff, removes no CR.
            patch_form::fault(&self.raw)
        } else {
            patch_form::fault(&as_printed(&self.raw))
        }
    }

    /// Approximate size in memory, in bytes.
    pub fn weight(&self) -> usize {
        let mails = self.mails.iter();
        let mails = mails.map(|mail| mail.subject.len() + mail.body.len() + mail.diff.len());
        let combined = self.range.as_ref().and_then(|it| it.combined.as_ref());
        self.raw.len() + mails.sum::<usize>() + combined.map_or(0, Vec::len)
    }

    /// Returns the head commit: that of a version, or else the one that the last mail names.
    pub fn head(&self) -> Option<&str> {
        match &self.range {
            Some(range) => Some(&range.head),
            None => self.mails.last().map(|m| m.oid.as_str()),
        }
    }

    /// Returns the unified diff. For several commits, their diffs follow one another, so the result
    /// differs from a single diff from base to head.
    pub fn diff(&self) -> Vec<u8> {
        if self.mails.is_empty() {
            let text = as_printed(&self.raw);
            let (diff, tail) = split_diff(&text);
            let has_text = tail.iter().any(|b| *b != b'\n');
            return if has_text {
                text.into_owned()
            } else {
                diff.to_vec()
            };
        }
        self.mails.iter().flat_map(|m| m.diff.clone()).collect()
    }

    /// Returns the commits, oldest first.
    pub fn commits(&self) -> Vec<Commit> {
        self.mails
            .iter()
            .map(|m| {
                let mut commit = Commit::new(&m.oid, &m.subject, authors(m), m.author.clone());
                commit.message_body.clone_from(&m.body);
                commit
            })
            .collect()
    }
}

/// Returns the author, and the people in the trailers of the message.
fn authors(mail: &PatchMail) -> Vec<Signature> {
    let trailers = mail.body.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case("co-authored-by").then_some(value)
    });
    let others = trailers.map(|value| {
        let (name, email) = parse_address(value.trim());
        Signature::new(name, email, mail.author.at)
    });
    std::iter::once(mail.author.clone()).chain(others).collect()
}

/// Returns a patch with the line ends that git printed. A mail program can make lines end in CR LF,
/// and `git am` removes this CR. The first line shows whether that happened, because it is never a
/// line of a file.
fn as_printed(raw: &[u8]) -> Cow<'_, [u8]> {
    let mut lines = raw.split_inclusive(|b| *b == b'\n').peekable();
    if !lines.peek().is_some_and(|first| first.ends_with(b"\r\n")) {
        return Cow::Borrowed(raw);
    }
    let mut text = Vec::with_capacity(raw.len());
    for line in lines {
        match line.strip_suffix(b"\r\n") {
            Some(line) => {
                text.extend_from_slice(line);
                text.push(b'\n');
            }
            None => text.extend_from_slice(line),
        }
    }
    Cow::Owned(text)
}

/// The parts of a mail, in their order. Together they are all of its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MailParts<'a> {
    /// `From <40 or 64 hex digits> Mon Sep 17 00:00:00 2001`.
    pub from_line: &'a [u8],
    /// The headers, and the blank line after them.
    pub header: &'a [u8],
    /// The message, and what git prints between it and the first file, such as a diffstat.
    pub message: &'a [u8],
    /// The files, from the first `diff --git` line on.
    pub diff: &'a [u8],
    /// The text after the last file, such as a signature.
    pub tail: &'a [u8],
}

/// Headers by precedence, and the message without them.
type HeadersAndMessage = (Vec<(String, String)>, String);

impl<'a> MailParts<'a> {
    fn split(raw: &'a [u8]) -> Self {
        let line_end = raw.iter().position(|b| *b == b'\n');
        let (from_line, rest) = raw.split_at(line_end.map_or(raw.len(), |at| at + 1));
        let header_end = rest.windows(2).position(|w| w == b"\n\n");
        let (header, body) = rest.split_at(header_end.map_or(rest.len(), |at| at + 2));
        let (message, diff) = body.split_at(diff_start(body));
        let (diff, tail) = split_diff(diff);
        Self {
            from_line,
            header,
            message,
            diff,
            tail,
        }
    }

    pub fn len(&self) -> usize {
        let parts = [
            self.from_line,
            self.header,
            self.message,
            self.diff,
            self.tail,
        ];
        parts.iter().map(|part| part.len()).sum()
    }

    /// Returns the headers and the message. If a header occurs several times, git takes the first
    /// one in the message, otherwise the last one of the mail.
    pub fn read_text(&self) -> HeadersAndMessage {
        let message = String::from_utf8_lossy(self.message);
        // If the commit has only a subject, the message begins with `---`, which ends it.
        let message = if message.starts_with("---\n") {
            ""
        } else {
            message.split("\n---\n").next().unwrap_or_default()
        };
        let (mut headers, message) = headers_of_message(message);
        let mail_headers = unfold(&String::from_utf8_lossy(self.header));
        headers.extend(mail_headers.into_iter().rev());
        (headers, message.to_owned())
    }
}

/// Splits a patch into its mails, oldest first. There are none in a plain diff.
pub(crate) fn split_mails(text: &[u8]) -> Vec<MailParts<'_>> {
    let mut starts = mail_starts(text);
    starts.push(text.len());
    let pairs = starts.windows(2);
    pairs
        .filter_map(|pair| match pair {
            [from, to] => text.get(*from..*to).map(MailParts::split),
            _ => None,
        })
        .collect()
}

/// Returns the offsets at which mails begin: `From <40 or 64 hex digits> Mon Sep 17 00:00:00 2001`.
fn mail_starts(raw: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in raw.split_inclusive(|b| *b == b'\n') {
        if mail_commit(line).is_some() {
            starts.push(at);
        }
        at += line.len();
    }
    starts
}

fn parse_mail(mail: &MailParts<'_>) -> Option<PatchMail> {
    let oid = mail_commit(mail.from_line)?.to_owned();
    let (headers, message) = mail.read_text();
    let values = |name: &'static str| {
        let named = headers
            .iter()
            .filter(move |(n, _)| n.eq_ignore_ascii_case(name));
        named.map(|(_, value)| decode_words(value))
    };
    let from = values("From").next().unwrap_or_default();
    let (name, email) = parse_address(&from);
    // A message can begin with prose such as `Date: wrong in May`, which is not a date.
    let at = values("Date")
        .find_map(|text| date(&text))
        .unwrap_or_else(|| Timestamp::from_unix(0));
    let subject = values("Subject").next().unwrap_or_default();
    Some(PatchMail {
        oid,
        author: Signature::new(name, email, at),
        subject: clean_subject(&subject).to_owned(),
        body: message.trim().to_owned(),
        diff: mail.diff.to_vec(),
    })
}

/// Returns the headers at the start of a message, and the rest of the message. `git am` prefers
/// these headers to those of the mail (`mailinfo.c`, `check_inbody_header`). git prints them if the
/// sender of the mail is not the author of the commit (`format.from`). Only the first `From:`,
/// `Date:` and `Subject:` are headers. A later `[PATCH]` line replaces the subject. A quoted
/// `From ` line of git is skipped.
fn headers_of_message(message: &str) -> (Vec<(String, String)>, &str) {
    const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];
    let mut headers: Vec<(String, String)> = Vec::new();
    // True if a following line that begins with a blank belongs to the last header.
    let mut is_open = false;
    let mut end = 0;
    for line in message.split_inclusive('\n') {
        let named = line.split_once(':').filter(|(name, _)| {
            let is = |other: &str| name.eq_ignore_ascii_case(other);
            ["from", "date", "subject"].into_iter().any(is)
                && !headers.iter().any(|(known, _)| is(known))
        });
        let quoted = line.strip_prefix(">From ");
        let quoted = quoted.and_then(|rest| rest.strip_suffix(" Mon Sep 17 00:00:00 2001\n"));
        let is_oid = |oid: &str| {
            let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            oid.len() == 40 && oid.bytes().all(is_hex)
        };
        let is_title = |rest: &str| rest.starts_with(BLANKS);
        if is_open && line.starts_with([' ', '\t']) {
            if let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if line.strip_prefix("[PATCH]").is_some_and(is_title) {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("subject"));
            headers.push(("Subject".to_owned(), line.trim().to_owned()));
            is_open = false;
        } else if let Some((name, value)) = named {
            headers.push((name.to_owned(), value.trim().to_owned()));
            is_open = true;
        } else if quoted.is_some_and(is_oid) {
            is_open = false;
        } else if is_open || line != "\n" {
            break;
        }
        end += line.len();
    }
    let rest = message.get(end..).unwrap_or_default();
    (headers, rest)
}

/// Splits header lines. A line that begins with a blank continues the previous one.
fn unfold(text: &str) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    headers
}

/// Decodes encoded words, as git writes them: `=?UTF-8?q?…?=` and `=?UTF-8?b?…?=` (RFC 2047).
fn decode_words(text: &str) -> String {
    decode_header(text).0
}

/// Decodes the encoded words of a header. The second value is false if a word is encoded in another
/// way than git writes, and is left as it is.
pub(crate) fn decode_header(text: &str) -> (String, bool) {
    let mut out = String::new();
    let mut rest = text;
    let mut after_word = false;
    let mut is_complete = true;
    while let Some(at) = rest.find("=?") {
        let (before, word) = rest.split_at(at);
        // Blanks between two encoded words are not part of the text.
        if !(after_word && before.trim().is_empty()) {
            out.push_str(before);
        }
        if let Some((decoded, length)) = encoded_word(word) {
            out.push_str(&decoded);
            rest = word.get(length..).unwrap_or_default();
            after_word = true;
        } else {
            out.push_str("=?");
            rest = word.get(2..).unwrap_or_default();
            (after_word, is_complete) = (false, false);
        }
    }
    out.push_str(rest);
    (out, is_complete)
}

/// Maximum length of the text in an encoded word: that of a mail line (RFC 5322, section 2.1.1).
/// The limit bounds the search for an end, because a hostile header can begin a million words and
/// end none.
const MAX_WORD: usize = 998;

fn encoded_word(text: &str) -> Option<(String, usize)> {
    let mut parts = text.strip_prefix("=?")?.splitn(3, '?');
    let (charset, how, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let mut ends = rest.as_bytes().windows(2).take(MAX_WORD);
    let payload = rest.get(..ends.position(|it| it == b"?=")?)?;
    let bytes = match how {
        "q" | "Q" => decode_quoted(payload)?,
        "b" | "B" => {
            use base64::{Engine as _, engine::general_purpose::STANDARD};
            STANDARD.decode(payload).ok()?
        }
        _ => return None,
    };
    let length = 2 + charset.len() + 1 + how.len() + 1 + payload.len() + 2;
    let text = match charset.to_ascii_lowercase().as_str() {
        // git replaces bytes that are not UTF-8 in a way of its own.
        "utf-8" | "utf8" | "us-ascii" => String::from_utf8(bytes).ok()?,
        "iso-8859-1" => bytes.into_iter().map(char::from).collect(),
        // Other character sets are not decoded. In UTF-7, git could read another name than is
        // shown.
        _ => return None,
    };
    Some((text, length))
}

fn decode_quoted(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        out.push(match b {
            b'_' => b' ',
            b'=' => {
                let pair = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?
            }
            b => b,
        });
    }
    Some(out)
}

/// Maximum length of an author's name in `git am`, in bytes (`get_sane_name`).
const MAX_NAME: usize = 60;

/// Parses name and address as `git am` does (`mailinfo.c`, `handle_from`). The address is the word
/// around the first `@`. The address also serves as the name if the name is missing, is too long or
/// contains another `@`.
fn parse_address(from: &str) -> (String, String) {
    let from = &*unquote_address(from);
    let is_blank = |c: char| c.is_ascii_whitespace();
    let Some((before, _)) = from.split_once('@') else {
        let (name, email) = from.rsplit_once('<').unwrap_or((from, from));
        let name = name.trim().trim_matches('"');
        return (name.to_owned(), email.trim_end_matches('>').to_owned());
    };
    let start = before.rfind(|c| c == '<' || is_blank(c));
    let (front, rest) = from.split_at(start.map_or(0, |at| at + 1));
    let end = rest.find(|c| c == '>' || is_blank(c));
    let (email, behind) = rest.split_at(end.unwrap_or(rest.len()));
    let (front, behind) = (front.strip_suffix('<').unwrap_or(front), behind.get(1..));
    let name = format!("{} {}", front.trim(), behind.unwrap_or_default().trim());
    let name = name.trim().trim_matches('"');
    let comment = name.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let (name, email) = (comment.unwrap_or(name), email.replace('"', ""));
    if name.is_empty() || name.len() > MAX_NAME || name.contains(['@', '<', '>']) {
        (email.clone(), email)
    } else {
        (name.to_owned(), email)
    }
}

/// Removes the quotes of an address, and the backslashes inside quotes and comments
/// (`unquote_quoted_pair`).
pub(crate) fn unquote_address(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_quoted = false;
    let mut comments = 0_usize;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if is_quoted || comments > 0 => out.extend(chars.next()),
            '"' if comments == 0 => is_quoted = !is_quoted,
            _ => {
                match c {
                    '(' if !is_quoted => comments += 1,
                    ')' if !is_quoted => comments = comments.saturating_sub(1),
                    _ => {}
                }
                out.push(c);
            }
        }
    }
    out
}

/// Parses a date such as `Fri, 21 Nov 2026 10:00:00 +0100`.
fn date(text: &str) -> Option<Timestamp> {
    let at = chrono::DateTime::parse_from_rfc2822(text).ok()?;
    at.to_rfc3339().parse().ok()
}

/// Returns the subject that `git am` keeps: without `Re:` and anything in brackets at its start,
/// such as `[PATCH 1/3]` (`mailinfo.c`, `cleanup_subject`).
fn clean_subject(subject: &str) -> &str {
    let mut rest = subject;
    loop {
        let is_reply = rest.len() > 3
            && rest
                .get(..3)
                .is_some_and(|it| it.eq_ignore_ascii_case("re:"));
        let shorter = if is_reply {
            rest.get(3..)
        } else if rest.starts_with('[') {
            rest.split_once(']').map(|(_, rest)| rest)
        } else {
            rest.strip_prefix([' ', '\t', ':'])
        };
        match shorter {
            Some(shorter) => rest = shorter,
            None => return rest.trim(),
        }
    }
}

fn diff_start(body: &[u8]) -> usize {
    if body.starts_with(b"diff --git ") {
        return 0;
    }
    let found = body.windows(12).position(|w| w == b"\ndiff --git ");
    found.map_or(body.len(), |at| at + 1)
}

/// Splits the text after the last file off a diff: a signature after `-- `, and what git and b4
/// print before it, such as `base-commit: …` after a blank line or after `---`. Inside a hunk,
/// `-- ` is not a signature: it is the removal of the line `- `. Text in which a change is found is
/// part of the diff.
pub(crate) fn split_diff(text: &[u8]) -> (&[u8], &[u8]) {
    let mut reader = LineReader::default();
    let mut tail_at = None;
    let mut at = 0;
    for line in text.split_inclusive(|b| *b == b'\n') {
        let kind = reader.read(line);
        if line == b"-- \n" && matches!(kind, DiffLine::Other | DiffLine::Opaque) {
            return text.split_at(tail_at.unwrap_or(at));
        }
        if kind != DiffLine::Other {
            tail_at = None;
        } else if matches!(line, b"\n" | b"---\n") {
            tail_at = tail_at.or(Some(at));
        }
        at += line.len();
    }
    text.split_at(tail_at.unwrap_or(text.len()))
}

/// Returns the changed files of a unified diff with git's headers, by path. If several commits
/// change a file, its line counts are added up.
pub(crate) fn files(diff: &[u8]) -> Vec<FileChange> {
    let files = diff::files(diff).into_iter().map(|file| {
        let header = &file.header;
        let count = |lines| (!header.binary).then_some(lines);
        let mut change = FileChange::new(header.path(), header.status);
        change.previous_path = header.previous_path().map(str::to_owned);
        change.additions = count(file.additions);
        change.deletions = count(file.deletions);
        change
    });
    merged(files.collect())
}

/// Returns true if two diffs have the same result. `index` lines can shorten blob ids differently.
pub(crate) fn is_same_diff(one: &[u8], other: &[u8]) -> bool {
    let delta = diff::between_results(one, other);
    delta.diff.is_empty() && delta.gone.is_empty()
}

/// Returns true if two diffs remove the same lines from the same files and add the same lines, at
/// any place and with any context. A binary file is compared by its packed content, or by the ids
/// of its contents; without both the result is false.
pub(crate) fn same_changes(one: &[u8], other: &[u8]) -> bool {
    match (changed_lines(one), changed_lines(other)) {
        (Some(one), Some(other)) => !one.is_empty() && one == other,
        _ => false,
    }
}

/// The changes of one file in a diff.
#[derive(Default)]
struct ChangedLines<'a> {
    /// Header lines that change the file even without a hunk.
    headers: Vec<&'a [u8]>,
    /// Removed and added lines. For a binary patch without `ids`, its packed content.
    lines: Vec<&'a [u8]>,
    /// The blob ids of both contents, `OLD..NEW`: complete in a binary patch, otherwise shortened.
    ids: Option<&'a [u8]>,
    is_packed: bool,
}

impl PartialEq for ChangedLines<'_> {
    fn eq(&self, other: &Self) -> bool {
        // If only one side is packed, the ids decide. This happens if one side packs a file whose
        // bytes are not UTF-8, and the other side prints its lines.
        let is_equal = match self.is_packed == other.is_packed {
            true if self.is_packed => (self.ids, &self.lines) == (other.ids, &other.lines),
            true => self.lines == other.lines,
            false => self
                .ids
                .zip(other.ids)
                .is_some_and(|(a, b)| are_same_ids(a, b)),
        };
        is_equal && self.headers == other.headers
    }
}

/// Returns true if the ids of two `index` lines agree up to the length of the shorter id.
fn are_same_ids(one: &[u8], other: &[u8]) -> bool {
    let halves = |ids: &[u8]| {
        let ids = String::from_utf8_lossy(ids).into_owned();
        ids.split_once("..")
            .map(|(old, new)| (old.to_owned(), new.to_owned()))
    };
    let agree = |a: &str, b: &str| {
        a.len().min(b.len()) >= MIN_ID_DIGITS && (a.starts_with(b) || b.starts_with(a))
    };
    let both = halves(one).zip(halves(other));
    both.is_some_and(|((old, new), (old2, new2))| agree(&old, &old2) && agree(&new, &new2))
}

/// Least number of digits of a shortened id in an `index` line; git never prints fewer by default.
const MIN_ID_DIGITS: usize = 7;

/// Returns the changes of each file; `None` if a hunk cannot be read, or if the content of a binary
/// file is missing.
fn changed_lines(diff: &[u8]) -> Option<BTreeMap<String, ChangedLines<'_>>> {
    let mut changes: BTreeMap<String, ChangedLines<'_>> = BTreeMap::new();
    let mut reader = LineReader::default();
    let mut file = String::new();
    let (mut was_changed, mut is_packed) = (false, false);
    let mut ids: Option<&[u8]> = None;
    for line in diff.split(|b| *b == b'\n') {
        let kind = reader.read(line);
        let is_changed = match kind {
            // The mark of a missing newline is a change if the line before it is one.
            DiffLine::NoNewline => was_changed,
            DiffLine::Added { .. } | DiffLine::Removed { .. } => true,
            // Packed bytes are compared only if the file has no ids, because packed bytes alone do
            // not determine the content. If there are ids, git refuses any content with another id.
            DiffLine::Opaque => is_packed && !line.is_empty() && ids.is_none(),
            DiffLine::File(names) => {
                file = parse_diff_path(names);
                (is_packed, ids) = (false, None);
                false
            }
            DiffLine::Combined(_) => {
                is_packed = false;
                false
            }
            DiffLine::Header(HeaderKey::BinaryPatch, _) => {
                is_packed = true;
                let changed = changes.entry(file.clone()).or_default();
                (changed.is_packed, changed.ids) = (true, ids);
                false
            }
            DiffLine::Header(HeaderKey::BinaryFiles, _) => return None,
            DiffLine::Header(HeaderKey::Index, value) => {
                ids = value.split(|b| *b == b' ').next();
                false
            }
            DiffLine::Header(key @ (HeaderKey::OldName | HeaderKey::NewName), name) => {
                // `git am` strips the first directory, so other prefixes name another file.
                let prefix = if key == HeaderKey::OldName {
                    "a/"
                } else {
                    "b/"
                };
                if let Some(path) = diff::unquote_path(name).strip_prefix(prefix) {
                    path.clone_into(&mut file);
                }
                false
            }
            DiffLine::Header(key, _) => {
                if changes_by_itself(key) {
                    changes.entry(file.clone()).or_default().headers.push(line);
                }
                false
            }
            DiffLine::Other if line.starts_with(b"@@ -") => return None,
            DiffLine::Hunk(_) | DiffLine::Context { .. } | DiffLine::Other => false,
        };
        if is_changed {
            let changed = changes.entry(file.clone()).or_default();
            changed.lines.push(line);
            changed.ids = changed.ids.or(ids);
        }
        was_changed = is_changed && !matches!(kind, DiffLine::Opaque);
    }
    Some(changes)
}

/// Returns true if a header line changes the file even without a hunk.
fn changes_by_itself(key: HeaderKey) -> bool {
    matches!(
        key,
        HeaderKey::OldMode
            | HeaderKey::NewMode
            | HeaderKey::NewFileMode
            | HeaderKey::DeletedFileMode
            | HeaderKey::RenameFrom
            | HeaderKey::RenameTo
            | HeaderKey::CopyFrom
            | HeaderKey::CopyTo
    )
}

/// Returns the path of a `diff --git` line. If its two paths differ, returns both unchanged.
fn parse_diff_path(names: &[u8]) -> String {
    diff::shared_path(names).unwrap_or_else(|| String::from_utf8_lossy(names).into_owned())
}

fn merged(files: Vec<FileChange>) -> Vec<FileChange> {
    let mut out: BTreeMap<String, FileChange> = BTreeMap::new();
    for file in files {
        let Some(known) = out.get_mut(&file.path) else {
            out.insert(file.path.clone(), file);
            continue;
        };
        let add = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
        known.additions = add(known.additions, file.additions);
        known.deletions = add(known.deletions, file.deletions);
        match (known.status, file.status) {
            (FileStatus::Added, FileStatus::Modified) => {}
            (FileStatus::Renamed | FileStatus::Copied, FileStatus::Modified) => {}
            (_, status) => known.status = status,
        }
    }
    out.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(patch: &[u8]) -> Result<Vec<u8>> {
        super::pack(patch, MayBlock::IN_TEST)
    }

    fn unpack(blob: &[u8]) -> Result<Vec<u8>> {
        super::unpack(blob, MayBlock::IN_TEST)
    }

    fn fault_of_packed(blob: &[u8]) -> Option<String> {
        super::fault_of_packed(blob, MayBlock::IN_TEST)
    }

    const SERIES: &str = "\
From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001
From: =?UTF-8?q?J=C3=B6rg=20M?= <j@x.example>
Date: Fri, 20 Nov 2026 10:00:00 +0100
Subject: [PATCH 1/2] =?UTF-8?q?Add=20=C3=A4?=
 =?UTF-8?q?=20file?=

Why it is needed.
---
 a.txt | 2 ++
 1 file changed, 2 insertions(+)
 create mode 100644 a.txt

diff --git a/a.txt b/a.txt
new file mode 100644
index 0000000..1111111
--- /dev/null
+++ b/a.txt
@@ -0,0 +1,2 @@
+one
+-- 
-- 
2.47.0

From 2222222222222222222222222222222222222222 Mon Sep 17 00:00:00 2001
From: Bob <b@x.example>
Date: Fri, 20 Nov 2026 11:00:00 +0100
Subject: [PATCH 2/2] Rename it

---
 b.txt => \"c\\303\\244.txt\" | 0
 2 files changed, 1 deletion(-)

diff --git a/b.txt b/\"c\\303\\244.txt\"
similarity index 100%
rename from b.txt
rename to \"c\\303\\244.txt\"
diff --git a/x.txt b/x.txt
index 1..2 100644
--- a/x.txt
+++ b/x.txt
@@ -1,3 +1,2 @@
 From 3333333333333333333333333333333333333333 Mon Sep 17 00:00:00 2001
--- a
 c
diff --git a/p.png b/p.png
index 1..2
GIT binary patch
literal 1
-- 
2.47.0

";

    #[test]
    fn mail_series_is_parsed() {
        let patch = Patch::parse(SERIES.into());
        assert_eq!(patch.mails.len(), 2, "{patch:?}");
        let first = &patch.mails[0];
        assert_eq!(first.subject, "Add ä file");
        assert_eq!(first.body, "Why it is needed.");
        assert_eq!(first.author.name, "Jörg M");
        assert_eq!(first.author.email, "j@x.example");
        assert_eq!(first.author.at.to_string(), "2026-11-20T10:00:00+01:00");
        let diff = String::from_utf8_lossy(&first.diff);
        assert!(
            diff.starts_with("diff --git a/a.txt") && diff.ends_with("+one\n+-- \n"),
            "{diff}"
        );
        assert_eq!(patch.mails[1].subject, "Rename it");
        assert_eq!(patch.mails[1].body, "");
        assert_eq!(
            patch.head(),
            Some("2222222222222222222222222222222222222222")
        );
    }

    #[test]
    fn patch_files_have_status_and_line_counts() {
        let patch = Patch::parse(SERIES.into());
        let files = files(&patch.diff());
        let row = |f: &FileChange| (f.path.clone(), f.status, f.additions, f.deletions);
        let rows: Vec<_> = files.iter().map(row).collect();
        assert_eq!(
            rows,
            [
                ("a.txt".to_owned(), FileStatus::Added, Some(2), Some(0)),
                ("cä.txt".to_owned(), FileStatus::Renamed, Some(0), Some(0)),
                ("p.png".to_owned(), FileStatus::Modified, None, None),
                ("x.txt".to_owned(), FileStatus::Modified, Some(0), Some(1)),
            ]
        );
        assert_eq!(files[1].previous_path.as_deref(), Some("b.txt"));
    }

    #[test]
    fn plain_diff_has_no_commits() {
        let raw = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".to_vec();
        let patch = Patch::parse(raw.clone());
        assert!(patch.mails.is_empty() && patch.head().is_none());
        assert_eq!(patch.diff(), raw);
        assert_eq!(files(&raw)[0].additions, Some(1));
    }

    #[test]
    fn overlong_encoded_word_is_not_decoded() {
        let word = |length: usize| format!("=?UTF-8?q?{}?=", "=41".repeat(length / 3));
        assert_eq!(decode_words(&word(900)), "A".repeat(300));
        let long = word(1_200);
        assert_eq!(decode_words(&long), long);
        assert_eq!(decode_words("=?ISO-8859-1?q?Ren=E9?="), "Ren\u{e9}");
        let other = "=?UTF-7?q?+AFY-ictim?=";
        assert_eq!(decode_words(other), other);
        let unended = "=?a?q?x".repeat(1_000);
        assert_eq!(decode_words(&unended), unended);
    }

    /// Results of `git mailinfo` 2.47. git finds no author in the first two addresses.
    #[test]
    fn author_address_is_word_around_first_at_sign() {
        let evil = "v@x.example";
        for (from, name, email) in [
            ("", "", ""),
            ("No One", "No One", "No One"),
            ("Ada <ada>", "Ada", "ada"),
            ("\"Ada, B.\" <ada@x.example>", "Ada, B.", "ada@x.example"),
            ("Ada <ada@x.example> (c)", "Ada (c)", "ada@x.example"),
            ("ada@x.example (Ada)", "Ada", "ada@x.example"),
            (
                "\"A \\\"B\\\" (C)\" <ada@x.example>",
                "A \"B\" (C)",
                "ada@x.example",
            ),
            ("A \\ \"b\\c\" <ada@x.example>", "A \\ bc", "ada@x.example"),
            ("v@x.example Mallory <m@y.example>", evil, evil),
            ("\"v@x.example\" Mallory <m@y.example>", evil, evil),
        ] {
            assert_eq!(
                parse_address(from),
                (name.to_owned(), email.to_owned()),
                "{from}"
            );
        }
    }

    #[test]
    fn headers_in_mail_body_override_mail_headers() {
        let mail = |inner: &str| {
            let raw = format!(
                "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n\
                 From: No <no@x.example>\nFrom: Sender <s@x.example>\n\
                 Date: Fri, 20 Nov 2026 10:00:00 +0100\nSubject: [PATCH] Outer\n\n\
                 {inner}\nText.\nDate: today\n---\n\ndiff --git a/a b/a\nold mode 100644\n"
            );
            let mail = Patch::parse(raw.into_bytes()).mails.remove(0);
            assert_eq!(mail.body, "Text.\nDate: today", "{inner}");
            assert_eq!(mail.author.at.unix(), 1_795_165_200, "{inner}");
            (mail.author.email, mail.subject)
        };
        for (inner, email, subject) in [
            ("", "s@x.example", "Outer"),
            ("From: Ada\n <ada@x.example>\n", "ada@x.example", "Outer"),
            ("subject: [PATCH 1/2] Inner\n", "s@x.example", "Inner"),
            ("Date: wrong in May\n", "s@x.example", "Outer"),
            (
                "[PATCH] Inner\nFrom: Ada <ada@x.example>\n",
                "ada@x.example",
                "Inner",
            ),
            // Results of `git mailinfo` 2.47.
            (
                "[PATCH]\tOne\n[PATCH] Inner\n\nFrom: Ada <ada@x.example>\n",
                "ada@x.example",
                "Inner",
            ),
            (
                ">From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n\
                 From: Ada <ada@x.example>\n",
                "ada@x.example",
                "Outer",
            ),
        ] {
            let expected = (email.to_owned(), subject.to_owned());
            assert_eq!(mail(inner), expected, "{inner}");
        }
        let (headers, rest) = headers_of_message("From: a@x\nFrom: b@x\n\nText.");
        assert_eq!(headers, [("From".to_owned(), "a@x".to_owned())]);
        assert_eq!(rest, "From: b@x\n\nText.");
        let (headers, rest) = headers_of_message("[PATCH] A\n b\nFrom: c@x\n");
        assert_eq!(headers, [("Subject".to_owned(), "[PATCH] A".to_owned())]);
        assert_eq!(rest, " b\nFrom: c@x\n");
    }

    #[test]
    fn removed_line_of_dashes_is_not_a_signature() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-- \n+- x\n b\n";
        let (header, _) = SERIES.split_once("\n\n").unwrap();
        for signature in ["", "-- \n2.47.0\n\n", "-- \n2.47.0 (@x)\n\n"] {
            let patch = Patch::parse(format!("{header}\n\n---\n\n{diff}{signature}").into());
            let shown = patch.diff();
            assert_eq!(String::from_utf8_lossy(&shown), diff, "{signature:?}");
            let file = &files(&shown)[0];
            assert_eq!((file.additions, file.deletions), (Some(1), Some(1)));
        }
    }

    #[test]
    fn crlf_of_mail_is_not_part_of_patch() {
        // A line of a file that itself ends in CR keeps this CR.
        let series = SERIES.replace("+one\n", "+one\r\n");
        let plain = &series[series.find("diff --git").unwrap()..series.find("-- \n2.47").unwrap()];
        for text in [series.as_str(), plain] {
            let crlf = text.replace('\n', "\r\n");
            let (ours, theirs) = (Patch::parse(text.into()), Patch::parse(crlf.clone().into()));
            assert_eq!(theirs.mails, ours.mails);
            assert_eq!(theirs.diff(), ours.diff());
            assert_eq!(theirs.raw, crlf.as_bytes());
            let diff = String::from_utf8(ours.diff()).unwrap();
            assert!(diff.contains("\n+one\r\n"), "{diff}");
            assert_eq!(files(&theirs.diff())[0].path, "a.txt");
        }
    }

    #[test]
    fn change_comparison_ignores_context_lines() {
        let ours = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+--- a/y\n";
        let theirs = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n\
            @@ -4,3 +4,4 @@ fn f\n c\n-a\n+b\n+--- a/y\n d\n";
        let same = |one: &str, other: &str| same_changes(one.as_bytes(), other.as_bytes());
        assert!(same(ours, theirs) && same(ours, ours));
        for other in [
            theirs.replace("+b", "+c"),
            theirs.replace("/x", "/z"),
            theirs.replace("index", "new file mode 100755\nindex"),
            format!("{theirs}{}", theirs.replace("/x", "/z")),
            theirs.replace(" d\n", "\\ No newline at end of file\n d\n"),
            format!("{theirs}diff --git a/p b/p\nBinary files a/p and b/p differ\n"),
            String::new(),
        ] {
            assert!(!same(ours, &other), "{other}");
            assert!(!same(&other, theirs), "{other}");
        }
        assert!(!same("", ""), "nothing proves nothing");
        let packed = |text: &str| format!("{ours}diff --git a/p b/p\nGIT binary patch\n{text}\n");
        let one = packed("literal 1\nIcmZPo000310RR91\n");
        assert!(same(&one, &one) && !same(&one, &packed("literal 1\nIcmZPo000320RR92\n")));
        assert!(!same(&one, ours));
        let known = |ids: &str, text: &str| {
            packed(text).replace("GIT", &format!("index {ids} 100644\nGIT"))
        };
        let one = known("0a..0b", "literal 1\nIcmZPo000310RR91\n");
        assert!(same(
            &one,
            &known("0a..0b", "literal 1\nIcmZPo000320RR92\n")
        ));
        assert!(!same(
            &one,
            &known("0a..0c", "literal 1\nIcmZPo000310RR91\n")
        ));
        let whole = known(
            &format!("{}..{}", "0a".repeat(20), "0b".repeat(20)),
            "literal 1\n",
        );
        for (ids, is_same) in [
            ("0a0a0a0..0b0b0b0", true),
            ("0a0a0a0..0b0b0c0", false),
            ("0a..0b", false),
        ] {
            let printed = format!(
                "{ours}diff --git a/p b/p\nindex {ids} 100644\n--- a/p\n+++ b/p\n@@ -1 +1 @@\n-a\n+b\n"
            );
            assert_eq!(same(&whole, &printed), is_same, "{ids}");
            assert_eq!(same(&printed, &whole), is_same, "{ids}");
        }
    }

    #[test]
    fn non_utf8_patch_error_names_the_file() {
        let file = |raw: &[u8]| text(raw).map(str::len).map_err(|not| not.file);
        assert_eq!(file(SERIES.as_bytes()), Ok(SERIES.len()));
        let spoilt = |good: &str| {
            let at = SERIES.find(good).unwrap();
            let mut raw = SERIES.as_bytes().to_vec();
            raw[at] = 0xe9;
            raw
        };
        let named = |name: &str| Err(Some(name.to_owned()));
        assert_eq!(file(&spoilt("ne\n+-- ")), named("a.txt"));
        assert_eq!(file(&spoilt("Rename it")), Err(None));
        assert_eq!(file(&spoilt("--- a\n c")), named("x.txt"));
        // Unlike a knot, the index accepts a patch that is not UTF-8.
        let mut gz = GzEncoder::new(Vec::new(), Compression::default());
        gz.write_all(&spoilt("Rename it")).unwrap();
        assert_eq!(fault_of_packed(&gz.finish().unwrap()), None);
    }

    #[test]
    fn gzip_round_trips_and_bomb_is_refused() {
        let packed = pack(SERIES.as_bytes()).unwrap();
        assert_eq!(unpack(&packed).unwrap(), SERIES.as_bytes());
        assert_eq!(pack(SERIES.as_bytes()).unwrap(), packed);
        assert_eq!(unpack(b"plain").unwrap(), b"plain");
        assert!(unpack(&packed[..20]).is_err());
        let mut gz = GzEncoder::new(Vec::new(), Compression::best());
        let zeros = vec![0; 1 << 20];
        for _ in 0..16 {
            gz.write_all(&zeros).unwrap();
        }
        let bomb = gz.finish().unwrap();
        assert!(unpack(&bomb).unwrap_err().message().contains("15 MiB"));
        assert_eq!(
            pack(&vec![0; ROUND_MAX + 1]).unwrap_err().code(),
            "invalid_input"
        );
    }

    #[test]
    fn patch_of_too_many_parts_is_refused() {
        for part in ["diff --git a/a b/a\n", "@@ -0,0 +0,0 @@\n", "From x\n"] {
            let most = part.repeat(MAX_PARTS);
            assert_eq!(
                unpack(&pack(most.as_bytes()).unwrap()).unwrap(),
                most.as_bytes()
            );
            let more = format!("{most}{part}");
            assert_eq!(pack(more.as_bytes()).unwrap_err().code(), "invalid_input");
            let e = unpack(more.as_bytes()).unwrap_err();
            assert!(e.message().contains("65536 files and hunks"), "{e:?}");
        }
    }

    #[test]
    fn malformed_patch_does_not_panic() {
        for cut in 0..SERIES.len() {
            let bytes = &SERIES.as_bytes()[..cut];
            let patch = Patch::parse(bytes.to_vec());
            let _ = files(&patch.diff());
            let _ = files(&SERIES.as_bytes()[cut..]);
        }
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..500 {
            let mut bytes = SERIES.as_bytes().to_vec();
            for _ in 0..8 {
                let at = rng.usize(..bytes.len());
                bytes[at] = rng.u8(..);
            }
            let patch = Patch::parse(bytes);
            let _ = files(&patch.diff());
            let _ = same_changes(&patch.raw, &patch.diff());
        }
    }

    /// Results of Go's `gzip.Reader` for each case.
    #[test]
    fn gzip_with_bytes_after_last_member_is_refused() {
        let member = |text: &[u8]| pack(text).unwrap();
        let two = [member(b"one\n"), member(b""), member(b"two\n")].concat();
        assert_eq!(unpack(&two).unwrap(), b"one\ntwo\n");
        assert_eq!(fault_of_packed(&two), None);
        for behind in [
            &b"\0"[..],
            b"\0\0\0\0\0\0\0\0\0\0\0\0",
            b"x",
            b"\x1f",
            b"\x1f\x8b\x08",
        ] {
            let blob = [member(b"one\n"), behind.to_vec()].concat();
            let e = unpack(&blob).unwrap_err();
            assert!(e.message().contains("it is not gzip"), "{e:?}");
            assert!(fault_of_packed(&blob).is_some());
        }
        let mut other = member(b"one\n");
        let length = other.len();
        other[length - 8] ^= 1;
        assert!(unpack(&other).is_err(), "the checksum is another");
    }

    #[test]
    fn round_size_is_limited_packed_and_unpacked() {
        let empty = pack(b"").unwrap();
        let members = empty.repeat(PACKED_MAX / empty.len() + 1);
        let e = unpack(&members).unwrap_err();
        assert!(e.message().contains("more than 16 MiB"), "{e:?}");
        let half = pack(&vec![b'x'; ROUND_MAX]).unwrap();
        assert_eq!(unpack(&half).unwrap().len(), ROUND_MAX);
        let e = unpack(&[half, pack(b"x").unwrap()].concat()).unwrap_err();
        assert!(e.message().contains("15 MiB when unpacked"), "{e:?}");
        assert!(unpack(&vec![b'x'; ROUND_MAX + 1]).is_err());
    }
}
