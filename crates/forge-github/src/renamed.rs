//! Renamed and moved repositories. GitHub follows the old name everywhere but in its search, which
//! then finds nothing.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use forge_core::{Action, Hint, Param, RepoId, RepoPath, Warning};

use crate::owner_and_name;

/// The current names of repositories, by the comparison keys of their old names.
#[derive(Debug, Default)]
pub(crate) struct RenamedRepos(Mutex<BTreeMap<String, RepoId>>);

impl RenamedRepos {
    /// Returns the name under which GitHub's search finds `repo`, as far as it is known.
    pub fn searched_name(&self, repo: &RepoId) -> RepoId {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.get(&repo.comparison_key());
        found.unwrap_or(repo).clone()
    }

    pub fn keep(&self, repo: &RepoId, current: &RepoId) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(repo.comparison_key(), current.clone());
    }
}

/// Returns the repository with the name in GitHub's answer, if `repo` has another name.
pub(crate) fn current_name(repo: &RepoId, name_with_owner: Option<&str>) -> Option<RepoId> {
    let (owner, name) = name_with_owner?.split_once('/')?;
    let path = RepoPath::Named {
        owner: owner.to_owned(),
        name: name.to_owned(),
    };
    let current = RepoId {
        path,
        ..repo.clone()
    };
    // A name that no search could take is not used.
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = |part: &str| !part.is_empty() && part.chars().all(is_word);
    let is_other = current.comparison_key() != repo.comparison_key();
    (is_other && is_name(owner) && is_name(name)).then_some(current)
}

/// Returns a search text with the new name of a repository.
pub(crate) fn with_current_name(search: &str, old: &RepoId, current: &RepoId) -> String {
    let (Ok((owner, name)), Ok((new_owner, new_name))) =
        (owner_and_name(old), owner_and_name(current))
    else {
        return search.to_owned();
    };
    let old = format!("repo:{owner}/{name}");
    let words = search.split(' ').map(|word| {
        let bare = word.trim_matches(['(', ')']);
        if bare.eq_ignore_ascii_case(&old) {
            word.replacen(bare, &format!("repo:{new_owner}/{new_name}"), 1)
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the warning that names a repository by its current name.
pub(crate) fn renamed_warning(repo: &RepoId, current: &RepoId) -> Warning {
    let (Ok((owner, name)), Ok((new_owner, new_name))) =
        (owner_and_name(repo), owner_and_name(current))
    else {
        return Warning::new(format!("{repo} has another name now"));
    };
    let new = format!("{new_owner}/{new_name}");
    let action = Action::again(&[]).with(Param::Repo, new.clone());
    Warning::new(format!("{owner}/{name} was renamed: it is {new} now"))
        .with_hint(Hint::new("use the new name").with_action(action))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(name: &str) -> RepoId {
        let (owner, name) = name.split_once('/').unwrap();
        RepoId {
            kind: forge_core::ForgeKind::GITHUB,
            host: "github.com".into(),
            path: RepoPath::Named {
                owner: owner.into(),
                name: name.into(),
            },
        }
    }

    #[test]
    fn only_another_valid_name_counts_as_renamed() {
        let old = repo("octo/tools");
        let current = |name: &str| current_name(&old, Some(name));
        assert_eq!(current("octo/instruments"), Some(repo("octo/instruments")));
        for same in [
            "octo/tools",
            "Octo/Tools",
            "octo",
            "",
            "octo/a b",
            "octo/x repo:a/b",
            "/x",
        ] {
            assert_eq!(current(same), None, "{same}");
        }
        assert_eq!(current_name(&old, None), None);
    }

    #[test]
    fn scope_of_search_gets_the_new_name() {
        let (old, new) = (repo("octo/tools"), repo("acme/instruments"));
        let text = |search| with_current_name(search, &old, &new);
        assert_eq!(
            text("x (repo:octo/tools OR repo:octo/toolset) is:pr"),
            "x (repo:acme/instruments OR repo:octo/toolset) is:pr"
        );
        assert_eq!(text("repo:Octo/Tools  y"), "repo:acme/instruments  y");
    }
}
