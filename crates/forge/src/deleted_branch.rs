//! The command that brings a deleted branch back.

use forge_core::{DeletedBranch, RepoId, RepoPath, text};
use forge_git::{branch_problem, command_line};

/// Returns the git command that brings a branch of `repo` back. `remote` is the name of the remote
/// of `repo` in the clone, if there is one.
///
/// A name with hidden characters, or one that git refuses, is left out of the command.
#[must_use]
pub fn restore_command(repo: &RepoId, remote: Option<&str>, branch: &DeletedBranch) -> String {
    let name = pasted_name(&branch.name);
    match &repo.path {
        RepoPath::Dir(_) => restore_local_command(branch),
        _ => {
            let refs = format!("{}:refs/heads/{name}", pasted_commit(branch));
            command_line(["git", "push", remote.unwrap_or("REMOTE"), refs.as_str()])
        }
    }
}

/// Returns the git command that brings a branch of the clone back.
#[must_use]
pub fn restore_local_command(branch: &DeletedBranch) -> String {
    let name = pasted_name(&branch.name);
    command_line(["git", "branch", name, pasted_commit(branch)])
}

/// Returns the commit. A push of no commit would delete the branch, so a word stands for an unknown
/// one.
fn pasted_commit(branch: &DeletedBranch) -> &str {
    match branch.commit.as_str() {
        "" => "COMMIT",
        commit => commit,
    }
}

fn pasted_name(name: &str) -> &str {
    if branch_problem(name).is_some() || text::one_line(name) != name {
        return "BRANCH";
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ForgeKind;

    fn repo(path: RepoPath) -> RepoId {
        RepoId {
            kind: ForgeKind::TANGLED,
            host: String::new(),
            path,
        }
    }

    #[test]
    fn restore_command_names_commit_and_branch() {
        let commit = "a".repeat(40);
        let deleted = |name: &str| DeletedBranch::new(name, &commit);
        let local = repo(RepoPath::Dir("/srv/r".into()));
        let remote = repo(RepoPath::Did("did:plc:r".to_owned()));
        assert_eq!(
            restore_command(&local, None, &deleted("topic/a")),
            format!("git branch topic/a {commit}")
        );
        assert_eq!(
            restore_command(&remote, Some("up stream"), &deleted("a;b")),
            format!("git push 'up stream' '{commit}:refs/heads/a;b'")
        );
        for odd in ["", "main", "$(id)", &commit[1..]] {
            let unknown = DeletedBranch::new("topic", odd);
            let command = restore_command(&remote, None, &unknown);
            assert_eq!(
                command, "git push REMOTE COMMIT:refs/heads/topic",
                "{odd:?}"
            );
        }
        for odd in ["a\u{202e}b", "-x", "a\nb", ""] {
            assert_eq!(
                restore_command(&remote, None, &deleted(odd)),
                format!("git push REMOTE {commit}:refs/heads/BRANCH"),
                "{odd:?}"
            );
        }
    }
}
