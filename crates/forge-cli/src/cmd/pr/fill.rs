//! Title and description from commit messages.

use forge_core::{Error, Result};
use forge_git::{Git, decode_text};

/// Maximum size of all messages together, in bytes.
const MAX_MESSAGES: usize = 32 << 20;

/// Commits that provide title and description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FillSource {
    /// `--fill`: the subjects of all commits.
    All,
    /// `--fill-first`: the message of the first commit.
    First,
    /// `--fill-verbose`: subjects and bodies of all commits.
    Verbose,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommitMessage {
    subject: String,
    body: String,
}

/// Returns the messages of the commits in `head` but not in `base`, oldest first, without merges.
///
/// # Errors
///
/// `invalid_input` if a branch does not exist in this clone, or the messages are longer than
/// [`MAX_MESSAGES`]; `git` if git fails.
pub(super) async fn messages(git: &Git, base: &str, head: &str) -> Result<Vec<CommitMessage>> {
    // The branch is checked first, because `git log` would accept a tag with the name of a missing
    // branch.
    let Some(tip) = git.commit_id(head).await? else {
        let branch = head.trim_start_matches("refs/heads/");
        return Err(Error::invalid(
            "head",
            format!("this clone has no branch '{branch}' to fill from"),
        )
        .with_hint("name a branch that exists with --head, or pass --title and --body"));
    };
    let range = format!("{base}..{tip}");
    let args = vec![
        "log",
        "--reverse",
        "--no-merges",
        "-z",
        "--encoding=UTF-8",
        "--format=%s%n%b",
        "--end-of-options",
        range.as_str(),
    ];
    match git.run_within(args, MAX_MESSAGES).await {
        Ok(Some(output)) => Ok(parse(&decode_text(&output))),
        Ok(None) => Err(Error::invalid(
            "body",
            "the commit messages are too long for a title and body",
        )
        .with_hint("pass --title and --body, or name a closer base branch with --base")),
        Err(e) => Err(e),
    }
}

fn parse(output: &str) -> Vec<CommitMessage> {
    output
        .split('\0')
        .filter(|m| !m.is_empty())
        .map(|message| {
            let (subject, body) = message.split_once('\n').unwrap_or((message, ""));
            CommitMessage {
                subject: subject.to_owned(),
                body: body.trim_end().to_owned(),
            }
        })
        .collect()
}

/// Returns true if a ref or a commit exists.
pub(super) async fn has(git: &Git, name: &str) -> bool {
    matches!(git.commit_id(name).await, Ok(Some(_)))
}

/// Returns this clone's ref for `branch` of the base repository: a remote-tracking branch, else the
/// local branch.
pub(super) async fn known_as(git: &Git, branch: &str, remotes: &[&str]) -> Result<String> {
    let tracked = remotes.iter().map(|r| format!("refs/remotes/{r}/{branch}"));
    for name in tracked.chain([format!("refs/heads/{branch}")]) {
        if has(git, &name).await {
            return Ok(name);
        }
    }
    Err(Error::invalid(
        "base",
        format!("this clone does not have the base branch '{branch}'"),
    )
    .with_hint("fetch it, or pass --title and --body"))
}

/// Composes title and description as gh does.
///
/// # Errors
///
/// `precondition_failed` if there is no commit.
pub(super) fn fill(
    messages: &[CommitMessage],
    how: FillSource,
    branch: &str,
) -> Result<(String, String)> {
    let Some(first) = messages.first() else {
        return Err(Error::precondition(
            forge_core::Precondition::NothingToMerge,
            format!("branch '{branch}' has no commits that the base branch lacks"),
        )
        .with_hint("commit something, or name another branch with --base or --head"));
    };
    if messages.len() == 1 || how == FillSource::First {
        return Ok((first.subject.clone(), first.body.clone()));
    }
    let mut body = String::new();
    for (i, message) in messages.iter().enumerate() {
        body.push_str(&format!("- **{}**\n", message.subject));
        if how == FillSource::Verbose && !message.body.is_empty() {
            for line in message.body.lines() {
                body.push_str(format!("  {line}").trim_end());
                body.push('\n');
            }
            if i + 1 < messages.len() {
                body.push('\n');
            }
        }
    }
    Ok((humanised(branch), body))
}

/// Turns `fix-the_thing` into `fix the thing`.
pub(super) fn humanised(branch: &str) -> String {
    branch.replace(['-', '_'], " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_copies_single_commit_and_lists_several() {
        let two = parse("One\nbody 1\n\nmore\n\0Two\n\0");
        assert_eq!(
            fill(&two[..1], FillSource::All, "b").unwrap(),
            ("One".into(), "body 1\n\nmore".into())
        );
        assert_eq!(fill(&two, FillSource::First, "b").unwrap().0, "One");
        assert_eq!(
            fill(&two, FillSource::All, "fix-the_thing").unwrap(),
            ("fix the thing".into(), "- **One**\n- **Two**\n".into())
        );
        assert_eq!(
            fill(&two, FillSource::Verbose, "b").unwrap().1,
            "- **One**\n  body 1\n\n  more\n\n- **Two**\n"
        );
        assert!(fill(&[], FillSource::All, "b").is_err());
    }
}
