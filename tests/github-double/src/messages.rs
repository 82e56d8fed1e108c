//! Default messages of GitHub's merge commits.

use std::path::Path;

use super::{
    git,
    state::{Pull, State},
};

/// Returns the first line and the rest of the message for a merge by `method`.
pub(crate) fn default(state: &State, dir: &Path, pull: &Pull, method: &str) -> (String, String) {
    match method {
        "SQUASH" => squash(dir, pull),
        "REBASE" => (String::new(), String::new()),
        _ => (
            format!(
                "Merge pull request #{} from {}/{}",
                pull.number,
                state.login(pull.head_owner),
                pull.head_branch
            ),
            pull.title.clone(),
        ),
    }
}

fn squash(dir: &Path, pull: &Pull) -> (String, String) {
    let base = git::merge_base(dir, &pull.base_oid, &pull.head_oid).unwrap_or_default();
    let commits = git::commits(dir, &format!("{base}..{}", pull.head_oid)).unwrap_or_default();
    if let [only] = commits.as_slice() {
        let (headline, body) = only.message.split_once('\n').unwrap_or((&only.message, ""));
        return (
            format!("{headline} (#{})", pull.number),
            body.trim().to_owned(),
        );
    }
    let items: Vec<String> = commits
        .iter()
        .map(|commit| format!("* {}", commit.message.trim()))
        .collect();
    (
        format!("{} (#{})", pull.title, pull.number),
        items.join("\n\n"),
    )
}
