//! Parses and encodes commit objects.
//!
//! Commits are written with `git hash-object -t commit`, because this command stores exactly the
//! given author, date, encoding and message. In contrast, `git commit-tree` uses the environment
//! and the user's settings. Commits that a branch will point to may need a signature
//! ([`Git::put_landing_commit`]).
//!
//! [`Git::put_landing_commit`]: crate::Git::put_landing_commit

use forge_core::{Result, Timestamp, call::MAX_HELD, model::Actor};

use crate::Git;

/// A parsed commit object. Names and message are bytes in the encoding that the commit declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawCommit<'a> {
    /// Tree id, hex.
    pub tree: &'a str,
    /// Parent ids, hex, in order.
    pub parents: Vec<&'a str>,
    /// Author: `Name <email> seconds offset`.
    pub author: &'a [u8],
    /// Committer, in the same form as the author.
    pub committer: &'a [u8],
    /// Encoding of names and message; `None` for UTF-8.
    pub encoding: Option<&'a [u8]>,
    /// Message: subject, an empty line, and the body.
    pub message: &'a [u8],
}

impl<'a> RawCommit<'a> {
    /// Parses the content of a commit object. Returns `None` if `data` is not a commit.
    #[must_use]
    pub fn parse(data: &'a [u8]) -> Option<Self> {
        let mut commit = Self::default();
        let mut rest = data;
        loop {
            let end = rest.iter().position(|b| *b == b'\n')?;
            let (line, after) = rest.split_at_checked(end)?;
            rest = after.get(1..)?;
            if line.is_empty() {
                break;
            }
            let space = line.iter().position(|b| *b == b' ')?;
            let (key, value) = (line.get(..space)?, line.get(space + 1..)?);
            match key {
                b"tree" => commit.tree = std::str::from_utf8(value).ok()?,
                b"parent" => commit.parents.push(std::str::from_utf8(value).ok()?),
                b"author" => commit.author = value,
                b"committer" => commit.committer = value,
                b"encoding" => commit.encoding = Some(value),
                // Other headers, such as signatures. Their continuation lines start with a space.
                _ => {}
            }
        }
        commit.message = rest;
        (!commit.tree.is_empty()).then_some(commit)
    }

    /// Encodes the commit as the content of an object.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = format!("tree {}\n", self.tree).into_bytes();
        for parent in &self.parents {
            out.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        for (key, value) in [("author ", self.author), ("committer ", self.committer)] {
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(value);
            out.push(b'\n');
        }
        if let Some(encoding) = self.encoding {
            out.extend_from_slice(b"encoding ");
            out.extend_from_slice(encoding);
            out.push(b'\n');
        }
        out.push(b'\n');
        out.extend_from_slice(self.message);
        out
    }
}

/// Formats an author or committer: `Name <email> seconds +0000`. Drops characters that would break
/// the line.
#[must_use]
pub fn signature(actor: &Actor, at: Timestamp) -> String {
    let clean = |text: &str| -> String {
        let kept: String = text
            .chars()
            .filter(|c| !matches!(c, '<' | '>') && !c.is_control())
            .collect();
        kept.trim_matches(|c: char| c.is_whitespace() || ".,:;\"\\'".contains(c))
            .to_owned()
    };
    let mut name = clean(actor.name.as_deref().unwrap_or(&actor.login));
    if name.is_empty() {
        name = "unknown".to_owned();
    }
    format!(
        "{name} <{}> {} +0000",
        clean(actor.email.as_deref().unwrap_or("")),
        at.unix()
    )
}

impl Git {
    /// Returns the contents of commit objects in UTF-8, as git converts them from the encoding that
    /// each declares. A text that git cannot convert keeps its bytes. Returns nothing if the texts
    /// are too long to be held.
    ///
    /// # Errors
    /// `git` if a commit cannot be read.
    pub async fn commits_in_utf8(&self, oids: &[String]) -> Result<Vec<(String, Vec<u8>)>> {
        let mut args = vec![
            "rev-list",
            "--no-walk=unsorted",
            "--header",
            "--encoding=UTF-8",
            "--end-of-options",
        ];
        args.extend(oids.iter().map(String::as_str));
        let printed = self.run_within(args, MAX_HELD).await?;
        let printed = printed.as_deref().map_or(&[][..], Vec::as_slice);
        let records = printed.split(|byte| *byte == 0);
        Ok(records.filter_map(parse_record).collect())
    }
}

/// Parses a record of `git rev-list --header`: the id of the commit, its header, an empty line, and
/// the lines of the message with an indent of four spaces.
fn parse_record(record: &[u8]) -> Option<(String, Vec<u8>)> {
    let mut lines = record.split(|byte| *byte == b'\n');
    let oid = std::str::from_utf8(lines.next()?).ok()?.to_owned();
    let mut data = Vec::with_capacity(record.len());
    let mut in_message = false;
    for line in lines {
        if !data.is_empty() {
            data.push(b'\n');
        }
        let indented = line.strip_prefix(b"    ").filter(|_| in_message);
        data.extend_from_slice(indented.unwrap_or(line));
        in_message |= line.is_empty();
    }
    (!data.is_empty()).then_some((oid, data))
}

/// Returns a text of a commit. Bytes that are not UTF-8 are taken for Latin-1, as git takes them
/// where it has to guess (`verify_utf8` in `commit.c`, `guess_charset` in `mailinfo.c`).
#[must_use]
pub fn decode_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| char::from(*byte)));
    }
    text
}

/// Parses `Name <email> seconds offset` into name, e-mail address and time. Bytes that are not UTF-8
/// are taken for Latin-1.
#[must_use]
pub fn parse_signature(line: &[u8]) -> Option<(String, String, Timestamp)> {
    let line = decode_text(line);
    let (who, when) = line.rsplit_once("> ")?;
    let (name, email) = who.rsplit_once('<')?;
    let secs = when.split(' ').next()?.parse().ok()?;
    Some((
        name.trim().to_owned(),
        email.to_owned(),
        Timestamp::from_unix(secs),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_round_trips_without_signature() {
        let data = b"tree aa\nparent bb\nparent cc\nauthor A \xff <a@b> 1 +0100\ncommitter C <c@d> 2 +0000\nencoding latin1\ngpgsig -----BEGIN\n x\n -----END\n\nsubject\n\nbody\n";
        let commit = RawCommit::parse(data).unwrap();
        assert_eq!(commit.parents, ["bb", "cc"]);
        assert_eq!(commit.message, b"subject\n\nbody\n");
        let again = commit.encode();
        assert_eq!(RawCommit::parse(&again).unwrap(), commit);
        assert!(!again.windows(6).any(|w| w == b"gpgsig"));
        assert_eq!(RawCommit::parse(b"tag x\n"), None);
        assert_eq!(RawCommit::parse(b""), None);
    }

    #[test]
    fn undeclared_bytes_are_latin1() {
        for (bytes, text) in [
            (&b"Gr\xfc\xdfe"[..], "Gr\u{fc}\u{df}e"),
            ("Grüße €".as_bytes(), "Grüße €"),
            (b"\xc3\xbc\xfc\xe2\x82", "\u{fc}\u{fc}\u{e2}\u{82}"),
            (b"", ""),
        ] {
            assert_eq!(decode_text(bytes), text);
        }
        let (name, ..) = parse_signature(b"J\xfcrgen <j@x> 1 +0000").unwrap();
        assert_eq!(name, "Jürgen");
    }

    /// Texts, and their bytes in encodings that git converts with iconv.
    const TEXTS: [(&str, &[u8], &str); 5] = [
        ("ISO-8859-1", b"Gr\xfcn", "Grün"),
        ("ISO-8859-15", b"5 \xa4", "5 €"),
        ("windows-1252", b"5 \x80", "5 €"),
        ("KOI8-R", b"\xd4\xc5\xd3\xd4", "тест"),
        ("Shift_JIS", b"\x83e\x83X\x83g", "テスト"),
    ];

    #[tokio::test]
    async fn commits_are_read_in_utf8_whatever_is_configured() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let settings = [
            ["i18n.logOutputEncoding", "ISO-8859-1"],
            ["i18n.commitEncoding", "ISO-8859-1"],
        ];
        for [key, value] in settings {
            git.run_ok(["config", key, value]).await.unwrap();
        }
        let blob = git.put("blob", b"x\n").await.unwrap();
        let entry = format!("100644 blob {blob}\tfile\n");
        let tree = git.run_ok_with_stdin(["mktree"], entry.as_bytes()).await;
        let tree = String::from_utf8(tree.unwrap()).unwrap();
        let put = async |encoding: Option<&str>, text: &[u8]| {
            let person = [text, b" <a@x> 1 +0000"].concat();
            let message = [text, b"\n\n  ", text, b"\n\nlast"].concat();
            let commit = RawCommit {
                tree: tree.trim(),
                parents: Vec::new(),
                author: &person,
                committer: &person,
                encoding: encoding.map(str::as_bytes),
                message: &message,
            };
            git.put("commit", &commit.encode()).await.unwrap()
        };
        let (mut oids, mut wanted) = (Vec::new(), Vec::new());
        for (encoding, bytes, text) in TEXTS {
            oids.push(put(Some(encoding), bytes).await);
            wanted.push(text);
        }
        oids.push(put(Some("no-such-encoding"), b"Gr\xfcn").await);
        oids.push(put(None, b"Gr\xfcn").await);
        wanted.extend(["Grün", "Grün"]);
        let read = git.commits_in_utf8(&oids).await.unwrap();
        assert_eq!(read.len(), oids.len());
        for (index, (oid, data)) in read.iter().enumerate() {
            let (commit, text) = (RawCommit::parse(data).unwrap(), wanted[index]);
            assert_eq!(oid, &oids[index]);
            let message = format!("{text}\n\n  {text}\n\nlast\n");
            assert_eq!(decode_text(commit.message), message);
            assert!(decode_text(commit.author).starts_with(text), "{text}");
        }
        // Commands that print texts of commits print UTF-8.
        for (oid, (_, _, text)) in oids.iter().zip(TEXTS) {
            let mail = git.run_ok(["format-patch", "--stdout", "--root", "-1", oid]);
            let mail = String::from_utf8(mail.await.unwrap()).unwrap();
            assert!(mail.contains(&format!("\n  {text}\n")), "{mail}");
            for command in ["log", "rev-list"] {
                let args = [command, "--no-walk", "--format=%an %s", oid];
                let printed = git.run_ok(args).await.unwrap();
                let printed = String::from_utf8(printed).unwrap();
                assert!(printed.contains(&format!("{text} {text}\n")), "{printed}");
            }
        }
    }

    #[test]
    fn signature_line_has_no_line_breaks() {
        let mut actor = Actor::new("eve");
        actor.name = Some("Eve <e@x>\nparent 0".into());
        actor.email = Some("a>b\n".into());
        let line = signature(&actor, Timestamp::from_unix(5));
        assert_eq!(line, "Eve e@xparent 0 <ab> 5 +0000");
        let (name, email, at) = parse_signature(line.as_bytes()).unwrap();
        assert_eq!(
            (name.as_str(), email.as_str(), at.unix()),
            ("Eve e@xparent 0", "ab", 5)
        );
        assert!(signature(&Actor::new("<>"), Timestamp::from_unix(5)).starts_with("unknown <>"));
    }
}
