use forge_core::{
    Capability, Error, PrId, Repo, RepoId, Result, Support,
    model::{PrState, PullRequest, Reviewer},
    text,
};

/// Returns a repository's name: `owner/name`, or the full locator if it has no owner.
pub(crate) fn repo_name(id: &RepoId) -> String {
    match id.owner_and_name() {
        Some((owner, name)) => format!("{owner}/{name}"),
        None => id.to_string(),
    }
}

/// Returns a pull request's name: `owner/name#7`.
pub(super) fn pull_name(id: &PrId) -> String {
    format!("{}#{}", repo_name(&id.repo), id.key)
}

/// Returns a pull request's name with its title: `owner/name#7 (its title)`.
pub(super) fn pull_with_title(p: &PullRequest) -> String {
    format!("{} ({})", pull_name(&p.id), text::one_line(&p.title))
}

/// Formats the head branch: `branch`, or `owner:branch` if it is in another repository.
pub(super) fn head_label(p: &PullRequest) -> String {
    match p.fork_owner() {
        Some(owner) => format!("{owner}:{}", p.head_branch),
        None => p.head_branch.clone(),
    }
}

/// Returns the state as gh prints it: `OPEN`, `DRAFT`, `CLOSED` or `MERGED`.
pub(super) fn state_word(p: &PullRequest) -> &'static str {
    match p.state {
        PrState::Open if p.draft => "DRAFT",
        PrState::Open => "OPEN",
        PrState::Closed => "CLOSED",
        PrState::Merged => "MERGED",
    }
}

/// Returns the value of a flag. An empty value counts as absent, as in gh, because scripts pass
/// empty variables.
pub(crate) fn non_empty(value: Option<&String>) -> Option<String> {
    value.filter(|text| !text.is_empty()).cloned()
}

/// Joins the pieces of a list that clap split at every comma. As in gh, quotes keep a comma within
/// a name: `bug,"good, first"`. Drops empty names.
pub(crate) fn names(pieces: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut open: Option<String> = None;
    for piece in pieces {
        let text = match open.take() {
            Some(begun) => format!("{begun},{piece}"),
            None => piece.clone(),
        };
        match text.strip_prefix('"') {
            Some(rest) if !closes(rest) => open = Some(text),
            Some(rest) => names.push(rest.strip_suffix('"').unwrap_or(rest).replace("\"\"", "\"")),
            None => names.push(text),
        }
    }
    // A quote without a closing quote is part of the name.
    names.extend(open);
    names.retain(|name| !name.is_empty());
    names
}

/// Parses a list of people and teams.
pub(super) fn reviewers(pieces: &[String]) -> Vec<Reviewer> {
    names(pieces).iter().map(|r| Reviewer::parse(r)).collect()
}

/// Returns true if `rest`, a text after an opening quote, ends with the closing quote. A doubled
/// quote is a literal quote.
fn closes(rest: &str) -> bool {
    rest.bytes().rev().take_while(|b| *b == b'"').count() % 2 == 1
}

/// Checks that the forge has a capability, before any request or question.
pub(super) fn require(repo: &Repo, capability: Capability) -> Result<()> {
    match repo.support(capability) {
        Support::No { why, instead } => Err(Error::unsupported(capability, why, instead)),
        _ => Ok(()),
    }
}

/// Returns true if the forge has a capability, natively or through emulation.
pub(crate) fn has(repo: &Repo, capability: Capability) -> bool {
    repo.supports(capability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comma_in_quoted_name_is_kept() {
        for (typed, wanted) in [
            ("bug", &["bug"][..]),
            ("bug,help wanted", &["bug", "help wanted"]),
            ("\"good, first\"", &["good, first"]),
            ("a,\"b,c,d\",e", &["a", "b,c,d", "e"]),
            ("\"a \"\"b\"\" c\",d", &["a \"b\" c", "d"]),
            ("\"open,x", &["\"open,x"]),
            ("size\"1", &["size\"1"]),
            ("", &[]),
            ("a,,\"\"", &["a"]),
        ] {
            let pieces: Vec<String> = typed.split(',').map(str::to_owned).collect();
            assert_eq!(names(&pieces), wanted, "{typed}");
        }
    }

    #[test]
    fn empty_flag_value_counts_as_absent() {
        assert_eq!(non_empty(Some(&String::new())), None);
        assert_eq!(non_empty(Some(&" ".to_owned())).as_deref(), Some(" "));
    }
}
