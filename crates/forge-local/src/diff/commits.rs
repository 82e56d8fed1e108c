//! The commits of a pull request.

use forge_core::{
    Error, Noun, Page, PageReq, Result,
    model::{Commit, Signature},
};
use forge_git::{CatFile, RawCommit, parse_signature};

use crate::{Local, paging, store::StoredPull};

impl Local {
    pub(crate) async fn pull_commits(&self, number: u64, page: &PageReq) -> Result<Page<Commit>> {
        let mut cat = self.store.cat();
        let pull = self.store.read(&mut cat, number).await?;
        let oids = self.commit_ids(&pull).await?;
        let page = paging::slice(oids, page, &("commits", number))?;
        let mut result = Page::new(read(&mut cat, &page.items).await?);
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
        read(cat, &self.commit_ids(pull).await?).await
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
}

async fn read(cat: &mut CatFile, oids: &[String]) -> Result<Vec<Commit>> {
    let mut commits = Vec::with_capacity(oids.len());
    for chunk in oids.chunks(64) {
        for (oid, found) in chunk.iter().zip(cat.get_many(chunk).await?) {
            let commit = found.into_object()?.and_then(|o| decode(oid, &o.data));
            commits.push(commit.ok_or_else(|| {
                Error::not_found(Noun::Commit, format!("the commit {oid} cannot be read"))
                    .with_hint("run `git fsck`, which names the damaged objects")
            })?);
        }
    }
    Ok(commits)
}

fn decode(oid: &str, data: &[u8]) -> Option<Commit> {
    let raw = RawCommit::parse(data)?;
    let latin1 = raw.encoding.is_some_and(|e| {
        let name = e.to_ascii_lowercase();
        matches!(name.as_slice(), b"iso-8859-1" | b"latin1" | b"latin-1")
    });
    let text = |bytes: &[u8]| match latin1 {
        true => bytes.iter().map(|b| char::from(*b)).collect(),
        false => String::from_utf8_lossy(bytes).into_owned(),
    };
    let message = text(raw.message);
    let (headline, body) = message.split_once('\n').unwrap_or((&message, ""));
    let mut authors = vec![signed(text(raw.author).as_bytes())?];
    let by = authors.first()?.at;
    authors.extend(co_authors(body).map(|(name, email)| Signature::new(name, email, by)));
    let committer = signed(text(raw.committer).as_bytes())?;
    let mut commit = Commit::new(oid, headline, authors, committer);
    commit.message_body = body.trim().to_owned();
    Some(commit)
}

fn signed(line: &[u8]) -> Option<Signature> {
    let (name, email, at) = parse_signature(line)?;
    Some(Signature::new(name, email, at))
}

/// Returns names and addresses from the `Co-authored-by` trailers in the last paragraph.
fn co_authors(body: &str) -> impl Iterator<Item = (String, String)> {
    let trailers = body.trim_end().rsplit("\n\n").next().unwrap_or_default();
    trailers.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        let (name, email) = value.trim().strip_suffix('>')?.split_once('<')?;
        key.eq_ignore_ascii_case("co-authored-by")
            .then(|| (name.trim().to_owned(), email.trim().to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_with_co_authors_and_encoding_is_parsed() {
        let data = b"tree a\nauthor J\xfcrgen <j@x> 10 +0200\ncommitter C <c@x> 11 +0000\nencoding ISO-8859-1\n\nGr\xfcn\n\nbody\n\nCo-authored-by: Ann <ann@x>\nSigned-off-by: B <b@x>\n";
        let commit = decode("o", data).unwrap();
        assert_eq!(commit.message_headline, "Grün");
        let names: Vec<_> = commit.authors.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["Jürgen", "Ann"]);
        assert_eq!(commit.committer.at.unix(), 11);
        assert!(decode("o", b"blob").is_none());
    }
}
