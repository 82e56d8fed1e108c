//! The commits of a pull request.

use forge_core::{
    Error, Noun, Page, PageReq, Result,
    call::{Charge, MAX_HELD},
    model::{Commit, Signature},
};
use forge_git::{CatFile, ObjectLookup, RawCommit, decode_text, parse_signature};

use crate::{Local, paging, store::StoredPull};

/// Number of copies of a commit's text: its message as read, split, and printed.
const COPIES_OF_COMMIT: usize = 3;
/// Memory of a commit in addition to its text, in bytes.
const BYTES_PER_COMMIT: usize = 512;
/// Memory of an author in addition to the text, in bytes.
const BYTES_PER_AUTHOR: usize = 512;

impl Local {
    pub(crate) async fn pull_commits(&self, number: u64, page: &PageReq) -> Result<Page<Commit>> {
        let mut cat = self.store.cat();
        let pull = self.store.read(&mut cat, number).await?;
        let oids = self.commit_ids(&pull).await?;
        let page = paging::slice(oids, page, &("commits", number))?;
        let mut result = Page::new(self.read_commits(&mut cat, &page.items).await?);
        result.next = page.next;
        result.total = page.total;
        Ok(result)
    }

    /// Returns all commits of the pull request, oldest first.
    pub(crate) async fn all_commits(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
    ) -> Result<Vec<Commit>> {
        self.read_commits(cat, &self.commit_ids(pull).await?).await
    }

    /// Returns the ids of the commits in head but not in base, oldest first.
    pub(crate) async fn commit_ids(&self, pull: &StoredPull) -> Result<Vec<String>> {
        let not_base = format!("^{}", pull.base()?);
        let args = [
            "rev-list",
            "--reverse",
            "--topo-order",
            "--end-of-options",
            pull.head()?,
            &not_base,
        ];
        let listed = self.git().run(args).await?;
        if listed.status != 0 {
            return Err(Error::not_found(
                Noun::Commit,
                format!(
                    "a commit that #{} needs is gone: {}",
                    pull.number,
                    listed.error("rev-list").message()
                ),
            )
            .with_hint("fetch the commit from a repository that has it"));
        }
        Ok(String::from_utf8_lossy(&listed.stdout)
            .lines()
            .map(str::to_owned)
            .collect())
    }

    async fn read_commits(&self, cat: &mut CatFile, oids: &[String]) -> Result<Vec<Commit>> {
        let mut commits: Vec<Commit> = Vec::with_capacity(oids.len());
        let mut charge = Charge::new();
        for chunk in oids.chunks(64) {
            let mut ids = chunk.iter();
            let mut encoded: Vec<String> = Vec::new();
            let read = |found: ObjectLookup| {
                let oid = ids.next().map(String::as_str).unwrap_or_default();
                let commit = match found.into_object()? {
                    Some(object) => {
                        encoded.extend(declares_encoding(&object.data).then(|| oid.to_owned()));
                        decode(oid, &object.data, &mut charge)?
                    }
                    None => None,
                };
                commit.ok_or_else(|| {
                    Error::not_found(Noun::Commit, format!("the commit {oid} cannot be read"))
                        .with_hint("run `git fsck`, which names the damaged objects")
                })
            };
            for commit in cat.get_each(chunk, MAX_HELD, read).await? {
                commits.push(commit?);
            }
            if encoded.is_empty() {
                continue;
            }
            // Git converts the other encodings.
            for (oid, data) in self.git().commits_in_utf8(&encoded).await? {
                let converted = decode(&oid, &data, &mut charge)?;
                let place = commits.iter_mut().find(|commit| commit.oid == oid);
                if let (Some(place), Some(converted)) = (place, converted) {
                    *place = converted;
                }
            }
        }
        charge.keep();
        Ok(commits)
    }
}

/// Returns true if a commit declares another encoding than UTF-8.
fn declares_encoding(data: &[u8]) -> bool {
    RawCommit::parse(data).is_some_and(|commit| commit.encoding.is_some())
}

/// Parses a commit, and adds its memory to `charge`. Returns `None` if the commit is damaged.
///
/// # Errors
/// `protocol` if the call holds too much in memory: a few bytes of a message name an author.
fn decode(oid: &str, data: &[u8], charge: &mut Charge) -> Result<Option<Commit>> {
    let what = format!("the commit {oid}");
    charge.add(&what, BYTES_PER_COMMIT + COPIES_OF_COMMIT * data.len())?;
    let Some(raw) = RawCommit::parse(data) else {
        return Ok(None);
    };
    // As in git, a message ends at a NUL byte.
    let visible = raw.message.split(|byte| *byte == 0).next();
    let message = decode_text(visible.unwrap_or_default());
    let (headline, body) = message.split_once('\n').unwrap_or((&message, ""));
    let (Some(author), Some(committer)) = (signed(raw.author), signed(raw.committer)) else {
        return Ok(None);
    };
    charge.add(&what, BYTES_PER_AUTHOR * co_authors(body).count())?;
    let at = author.at;
    let mut authors = vec![author];
    authors.extend(co_authors(body).map(|(name, email)| Signature::new(name, email, at)));
    let mut commit = Commit::new(oid, headline, authors, committer);
    commit.message_body = body.trim().to_owned();
    Ok(Some(commit))
}

fn signed(line: &[u8]) -> Option<Signature> {
    let (name, email, at) = parse_signature(line)?;
    Some(Signature::new(name, email, at))
}

/// Returns names and addresses from the `Co-authored-by` trailers in the last paragraph.
fn co_authors(body: &str) -> impl Iterator<Item = (String, String)> {
    last_paragraph(body).lines().filter_map(co_author)
}

/// Returns name and address of a `Co-authored-by` trailer.
pub(crate) fn co_author(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once(':')?;
    let (name, email) = value.trim().strip_suffix('>')?.split_once('<')?;
    key.eq_ignore_ascii_case("co-authored-by")
        .then(|| (name.trim().to_owned(), email.trim().to_owned()))
}

/// Returns the lines of the last paragraph, if all of them are trailers, such as
/// `Signed-off-by: Ann <ann@example.org>`.
pub(crate) fn trailer_lines(body: &str) -> impl Iterator<Item = &str> {
    let lines = last_paragraph(body).lines();
    let are_trailers = lines.clone().all(is_trailer);
    lines.filter(move |_| are_trailers)
}

fn is_trailer(line: &str) -> bool {
    let is_key = |key: &str| {
        let mut characters = key.chars();
        !key.is_empty() && characters.all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let has_control = line.chars().any(char::is_control);
    line.split_once(": ")
        .is_some_and(|(key, value)| is_key(key) && !value.trim().is_empty() && !has_control)
}

fn last_paragraph(body: &str) -> &str {
    body.trim_end().rsplit("\n\n").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// git stores such a message in a thousandth of its size.
    #[test]
    fn trailers_beyond_memory_limit_are_refused() {
        let commit = |trailers: usize| {
            let mut data =
                b"tree a\nauthor A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n\nx\n\n".to_vec();
            data.extend(b"co-authored-by:<>\n".repeat(trailers));
            data
        };
        let decode = |trailers| decode("o", &commit(trailers), &mut Charge::new());
        let many = decode(99).unwrap().unwrap();
        assert_eq!(many.authors.len(), 100);
        let e = decode(70_000).unwrap_err();
        assert!(forge_core::call::is_spent(&e), "{e}");
        let message = e.message();
        assert!(message.starts_with("the commit o and what else"), "{e}");
    }

    #[test]
    fn commit_with_co_authors_and_encoding_is_parsed() {
        let data = b"tree a\nauthor J\xfcrgen <j@x> 10 +0200\ncommitter C <c@x> 11 +0000\nencoding ISO-8859-1\n\nGr\xfcn\n\nbody\n\nCo-authored-by: Ann <ann@x>\nSigned-off-by: B <b@x>\n";
        let commit = decode("o", data, &mut Charge::new()).unwrap().unwrap();
        assert_eq!(commit.message_headline, "Grün");
        let names: Vec<_> = commit.authors.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["Jürgen", "Ann"]);
        assert_eq!(commit.committer.at.unix(), 11);
        assert!(decode("o", b"blob", &mut Charge::new()).unwrap().is_none());
        let hidden = b"tree a\nauthor A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n\nx\n\nSmall.\n\0\n\nFixes: #1\n";
        let commit = decode("o", hidden, &mut Charge::new()).unwrap().unwrap();
        assert_eq!(commit.message_body, "Small.");
    }
}
