//! Turns patches into commits on top of a branch.

use forge_core::{Error, Precondition, Result, text};
use forge_git::{ApplyResult, Mail, RawCommit, signature};

use super::edits::CommitTarget;
use crate::{Local, ident::CommitIdentity};

/// Maximum number of files that the text of an error lists. The data of the error has all files.
const MAX_NAMED_FILES: usize = 5;

impl Local {
    /// Commits the patch on top of `onto`, and returns the last commit. If the patch is a mailbox,
    /// each mail becomes a commit by the author of the mail. A plain diff becomes one commit with
    /// the title `title`. Changes no ref.
    pub(super) async fn commit_patch(
        &self,
        onto: CommitTarget<'_>,
        patch: &[u8],
        title: &str,
        by: &CommitIdentity,
    ) -> Result<String> {
        let git = self.user_git().for_write();
        let who = signature(&by.actor, by.at);
        let mails = match git.mails(patch).await? {
            Some(mails) => mails,
            None => vec![Mail {
                author: who.clone().into_bytes(),
                message: format!("{title}\n"),
                diff: patch.to_vec(),
            }],
        };
        if mails.is_empty() {
            return Err(
                Error::invalid("patch", "the mails of the patch have no diff")
                    .with_hint("make it with `git format-patch --stdout BASE..HEAD`"),
            );
        }
        let mut tip = onto.oid.to_owned();
        for mail in &mails {
            let tree = match git.apply(&tip, &mail.diff).await? {
                ApplyResult::Tree(tree) => tree,
                ApplyResult::Conflicts(files) => {
                    return Err(does_not_apply(mail, onto.branch, files));
                }
            };
            let commit = RawCommit {
                tree: &tree,
                parents: vec![&tip],
                author: &mail.author,
                committer: who.as_bytes(),
                encoding: None,
                message: mail.message.as_bytes(),
            };
            tip = git.put_landing_commit(&commit, &by.signing).await?;
        }
        Ok(tip)
    }
}

fn does_not_apply(mail: &Mail, branch: &str, files: Vec<String>) -> Error {
    let shown: Vec<_> = files
        .iter()
        .take(MAX_NAMED_FILES)
        .map(|file| text::one_line(file).into_owned())
        .collect();
    let more = match files.len().saturating_sub(MAX_NAMED_FILES) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let branch = text::one_line(branch).into_owned();
    let subject = mail.message.lines().next().unwrap_or_default();
    let message = format!(
        "'{}' does not apply to '{branch}' in {}{more}; nothing was changed",
        text::one_line(subject),
        shown.join(", ")
    );
    Error::precondition(Precondition::Conflicts(files), message).with_hint(format!(
        "rebase the commits onto '{branch}', and make the patch again"
    ))
}
