//! Creates the commits of each merge method.

use std::collections::HashSet;

use forge_core::{
    Error, Hint, Precondition, Result,
    mentions::is_closing_word,
    model::{Actor, Commit, MergeReq},
    text,
};
use forge_git::{CatFile, Merged, RawCommit, Rebase, Rebased, signature};

use super::{conflict, merge_by_hand};
use crate::{
    Local,
    diff::{co_author, trailer_lines},
    ident::CommitIdentity,
    store::StoredPull,
};

impl Local {
    /// Creates a merge commit with two parents.
    pub(super) async fn merge_commit(
        &self,
        pull: &StoredPull,
        req: &MergeReq,
        by: &CommitIdentity,
    ) -> Result<String> {
        let (base, head) = (pull.base()?, pull.head()?);
        let tree = self.clean(pull).await?;
        let s = &pull.snapshot;
        let subject = format!("Merge pull request #{} from {}", pull.number, s.head_branch);
        let message = message(req, subject, &s.title);
        let author = author(req, by, &by.actor);
        self.commit(&tree, &[base, head], &author, by, &message)
            .await
    }

    pub(super) async fn squash_commit(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        req: &MergeReq,
        by: &CommitIdentity,
    ) -> Result<String> {
        let tree = self.clean(pull).await?;
        // As on GitHub, the author of the pull request becomes the author of the squashed commit.
        let opener = &pull.snapshot.author;
        let known = opener.email.is_some();
        let author = author(req, by, if known { opener } else { &by.actor });
        let body = match req.body {
            Some(_) => String::new(),
            None => squash_body(&self.all_commits(cat, pull).await?, &author),
        };
        let subject = format!("{} (#{})", pull.snapshot.title, pull.number);
        let message = message(req, subject, &body);
        self.commit(&tree, &[pull.base()?], &author, by, &message)
            .await
    }

    /// Recreates each commit on top of the base, and returns the last new commit. Leaves out merge
    /// commits, and commits whose change the base already contains. If a merge commit has changes of
    /// its own, fails with the hint `otherwise`, which names another method.
    pub(super) async fn rebased(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        by: &CommitIdentity,
        otherwise: Hint,
    ) -> Result<String> {
        let who = signature(&by.actor, by.at);
        let rebase = Rebase {
            base: pull.base()?,
            head: pull.head()?,
            committer: who.as_bytes(),
            signing: &by.signing,
            refuses_evil_merges: true,
        };
        let rebased = self.user_git().for_write().rebase(cat, rebase).await;
        match rebased.map_err(|e| add_merge_by_hand(pull, e))? {
            Rebased::Onto(tip) => Ok(tip),
            Rebased::Conflicts { files, commit } => Err(conflict(pull, files, Some(&commit))),
            Rebased::EvilMerge(merge) => Err(Error::precondition(
                Precondition::Rule,
                format!(
                    "cannot rebase #{}: a rebase leaves merge commits out, and {merge} has more \
                     than two parents or differs from git's automatic merge, for example by a \
                     solved conflict; nothing was changed",
                    pull.number
                ),
            )
            .with_hint(otherwise)),
            Rebased::Nothing => Err(Error::precondition(
                Precondition::NothingToMerge,
                format!(
                    "every change of #{} is in '{}' already, so a rebase leaves no commit",
                    pull.number,
                    text::one_line(&pull.snapshot.base_branch)
                ),
            )
            .with_hint(super::close_hint(pull.number))),
        }
    }

    /// Returns the tree after a merge of head into base. Fails if there are conflicts.
    async fn clean(&self, pull: &StoredPull) -> Result<String> {
        let git = self.git().for_write();
        let merged = git.merge_trees(pull.base()?, pull.head()?, false).await;
        match merged.map_err(|e| add_merge_by_hand(pull, e))? {
            Merged::Clean(tree) => Ok(tree),
            Merged::Conflicts(files) => Err(conflict(pull, files, None)),
        }
    }

    async fn commit(
        &self,
        tree: &str,
        parents: &[&str],
        author: &Actor,
        by: &CommitIdentity,
        message: &str,
    ) -> Result<String> {
        let [author, committer] = [author, &by.actor].map(|actor| signature(actor, by.at));
        let commit = RawCommit {
            tree,
            parents: parents.to_vec(),
            author: author.as_bytes(),
            committer: committer.as_bytes(),
            encoding: None,
            message: message.as_bytes(),
        };
        self.user_git()
            .put_landing_commit(&commit, &by.signing)
            .await
    }
}

fn add_merge_by_hand(pull: &StoredPull, e: Error) -> Error {
    let s = &pull.snapshot;
    merge_by_hand(e, pull.number, &s.base_branch, &s.head_branch)
}

/// Returns the author of a commit: `usual` or, if the request names an e-mail address, the viewer
/// with this address.
fn author(req: &MergeReq, by: &CommitIdentity, usual: &Actor) -> Actor {
    let Some(email) = &req.author_email else {
        return usual.clone();
    };
    let mut author = by.actor.clone();
    author.email = Some(email.clone());
    author
}

/// Returns the default body of a squash: the subjects of the commits and, as on GitHub, their
/// trailers and the other authors below a line. Git's tools then still find everybody. A trailer
/// with a closing word is left out: the description decides what a merge closes.
fn squash_body(commits: &[Commit], author: &Actor) -> String {
    let subjects = commits.iter().map(|c| format!("* {}", c.message_headline));
    let mut body = subjects.collect::<Vec<_>>().join("\n");
    let mut trailers: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for line in commits.iter().flat_map(|c| trailer_lines(&c.message_body)) {
        let closes = line.split(':').next().is_some_and(is_closing_word);
        if !closes && co_author(line).is_none() && seen.insert(line.to_lowercase()) {
            trailers.push(line.to_owned());
        }
    }
    seen = author
        .email
        .iter()
        .map(|email| email.to_lowercase())
        .collect();
    for person in commits.iter().flat_map(|c| &c.authors) {
        if seen.insert(person.email.to_lowercase()) {
            let (name, email) = (text::one_line(&person.name), text::one_line(&person.email));
            trailers.push(format!("Co-authored-by: {name} <{email}>"));
        }
    }
    if !trailers.is_empty() {
        body.push_str("\n\n---------\n\n");
        body.push_str(&trailers.join("\n"));
    }
    body
}

/// Returns the commit message of the request, or the default one.
fn message(req: &MergeReq, subject: String, body: &str) -> String {
    let subject = req.subject.clone().unwrap_or(subject);
    let body = req.body.as_deref().unwrap_or(body);
    // NUL characters are removed, because git cuts a message at the first NUL.
    let message = match body.trim() {
        "" => format!("{}\n", subject.trim()),
        body => format!("{}\n\n{body}\n", subject.trim()),
    };
    message.replace('\0', "")
}

#[cfg(test)]
mod tests {
    use forge_core::{Timestamp, model::Signature};

    use super::*;

    fn commit(headline: &str, body: &str, authors: &[(&str, &str)]) -> Commit {
        let at = Timestamp::from_unix(1);
        let authors = authors
            .iter()
            .map(|(name, email)| Signature::new(*name, *email, at));
        let committer = Signature::new("C", "c@x", at);
        let mut commit = Commit::new("o", headline, authors.collect(), committer);
        commit.message_body = body.to_owned();
        commit
    }

    #[test]
    fn squash_keeps_authors_and_trailers_once() {
        let mut opener = Actor::new("ann");
        opener.email = Some("Ann@x".to_owned());
        let ann = ("Ann", "ann@x");
        let alone = [commit("One", "Why: because.\n\nMore text.", &[ann])];
        assert_eq!(squash_body(&alone, &opener), "* One");
        let signed = "Signed-off-by: Bob <b@x>\nCo-authored-by: Cy <cy@x>";
        let commits = [
            commit(
                "One",
                &format!("Text: long\nand longer.\n\n{signed}"),
                &[ann, ("Cy", "cy@x")],
            ),
            commit("Two", signed, &[("Bob", "b@x"), ("Cy", "CY@x")]),
            commit("Three", "Reviewed-by: Dee <d@x>", &[("A\nB", "e@x")]),
            // A closing word or a hidden line of a commit does not get into the message.
            commit("Four", "Fixes: #1", &[ann]),
            commit("Five", "Acked-by: x\rCloses #1", &[ann]),
        ];
        assert_eq!(
            squash_body(&commits, &opener),
            "* One\n* Two\n* Three\n* Four\n* Five\n\n---------\n\nSigned-off-by: Bob <b@x>\n\
             Reviewed-by: Dee <d@x>\nCo-authored-by: Cy <cy@x>\nCo-authored-by: Bob <b@x>\n\
             Co-authored-by: A B <e@x>"
        );
    }
}
