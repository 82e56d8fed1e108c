//! Parses and encodes commit objects.
//!
//! Commits are written with `git hash-object -t commit`, because this command stores exactly the
//! given author, date, encoding and message. In contrast, `git commit-tree` uses the environment
//! and the user's settings. Commits that a branch will point to may need a signature
//! ([`Git::put_landing_commit`]).
//!
//! [`Git::put_landing_commit`]: crate::Git::put_landing_commit

use forge_core::{Timestamp, model::Actor};

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

/// Parses `Name <email> seconds offset` into name, e-mail address and time. Invalid UTF-8 is
/// replaced.
#[must_use]
pub fn parse_signature(line: &[u8]) -> Option<(String, String, Timestamp)> {
    let line = String::from_utf8_lossy(line);
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
