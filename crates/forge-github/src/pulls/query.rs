//! Translates list filters to GitHub's search syntax. A search is needed for filters that a
//! repository's list lacks.

use forge_core::{
    RepoId, Result,
    model::{PullQuery, StateFilter},
};

use crate::{gql::types as wire, owner_and_name};

pub(crate) fn needs_search(q: &PullQuery) -> bool {
    q.author.is_some()
        || q.app.is_some()
        || q.assignee.is_some()
        || q.draft.is_some()
        || q.search.is_some()
        || !q.labels.is_empty()
}

/// Returns whether the caller's search text filters by state.
pub(crate) fn names_state(search: &str) -> bool {
    search.split_whitespace().any(|word| {
        let word = word.trim_start_matches('-');
        [
            "is:open",
            "is:closed",
            "is:merged",
            "is:unmerged",
            "state:",
            "merged:",
            "closed:",
        ]
        .iter()
        .any(|start| word.starts_with(start))
    })
}

pub(crate) fn quoted(value: &str) -> String {
    if !value.is_empty() && !value.contains([' ', ':', '"', '\t', '\r', '\n', '(', ')']) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the query in GitHub's search syntax.
pub(crate) fn search(repo: &RepoId, q: &PullQuery) -> Result<String> {
    let (owner, name) = owner_and_name(repo)?;
    Ok(search_in(&[format!("repo:{owner}/{name}")], q))
}

/// Returns the query in GitHub's search syntax, limited by the words in `scope`. An empty scope
/// covers all of GitHub.
pub(crate) fn search_in(scope: &[String], q: &PullQuery) -> String {
    let own = q.search.as_deref().unwrap_or_default().trim();
    let mut words: Vec<String> = vec![own.to_owned()];
    words.extend_from_slice(scope);
    words.push("is:pr".to_owned());
    if !names_state(own) {
        words.extend(state_word(q.state).map(str::to_owned));
    }
    words.extend(qualifiers(q));
    if !own.contains("sort:") {
        let order = if q.prefers_updated {
            "sort:updated-desc"
        } else {
            "sort:created-desc"
        };
        words.push(order.to_owned());
    }
    words.retain(|w| !w.is_empty());
    words.join(" ")
}

/// Returns the search text for GitHub's pull requests page, with the words in the same order as gh.
pub(crate) fn words_for_web(q: &PullQuery) -> String {
    let own = q.search.as_deref().unwrap_or_default().trim();
    let mut words = vec!["type:pr".to_owned()];
    if !names_state(own) {
        words.extend(state_word(q.state).map(str::to_owned));
    }
    words.extend(qualifiers(q));
    words.sort();
    if !own.is_empty() {
        words.insert(0, own.to_owned());
    }
    words.join(" ")
}

fn state_word(state: StateFilter) -> Option<&'static str> {
    match state {
        StateFilter::Open => Some("state:open"),
        StateFilter::Closed => Some("state:closed"),
        StateFilter::Merged => Some("is:merged"),
        StateFilter::All => None,
    }
}

/// Returns the search qualifiers for all filters except the state.
fn qualifiers(q: &PullQuery) -> Vec<String> {
    let mut words = Vec::new();
    for (key, value) in [
        ("author", &q.author),
        ("assignee", &q.assignee),
        ("base", &q.base),
        ("head", &q.head),
    ] {
        words.extend(value.as_ref().map(|v| format!("{key}:{}", quoted(v))));
    }
    words.extend(
        q.app
            .as_ref()
            .map(|app| format!("author:{}", quoted(&format!("app/{app}")))),
    );
    words.extend(q.labels.iter().map(|l| format!("label:{}", quoted(l))));
    words.extend(q.draft.map(|draft| format!("draft:{draft}")));
    words
}

/// Checks a result against the query again, because the search index can lag by minutes.
pub(crate) fn matches_query(q: &PullQuery, pull: &wire::Pull) -> bool {
    let state = names_state(q.search.as_deref().unwrap_or_default())
        || match q.state {
            StateFilter::Open => pull.state == "OPEN",
            StateFilter::Closed => pull.state != "OPEN",
            StateFilter::Merged => pull.state == "MERGED",
            StateFilter::All => true,
        };
    state
        && q.draft.is_none_or(|draft| draft == pull.is_draft)
        && q.base
            .as_ref()
            .is_none_or(|base| *base == pull.base_ref_name)
}

/// Returns GraphQL's states for a state filter.
pub(crate) fn states(state: StateFilter) -> &'static [&'static str] {
    match state {
        StateFilter::Open => &["OPEN"],
        StateFilter::Closed => &["CLOSED", "MERGED"],
        StateFilter::Merged => &["MERGED"],
        StateFilter::All => &["OPEN", "CLOSED", "MERGED"],
    }
}

#[cfg(test)]
mod tests {
    use forge_core::{ForgeKind, RepoPath};

    use super::*;

    fn repo() -> RepoId {
        let path = RepoPath::Named {
            owner: "o".into(),
            name: "r".into(),
        };
        RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".into(),
            path,
        }
    }

    #[test]
    fn filters_become_qualifiers() {
        let mut q = PullQuery::default();
        q.author = Some("@me".into());
        q.assignee = Some("ann".into());
        q.labels = vec!["help wanted".into(), "a,b".into()];
        q.base = Some("main".into());
        q.head = Some("feature".into());
        q.draft = Some(false);
        assert_eq!(
            search(&repo(), &q).unwrap(),
            "repo:o/r is:pr state:open author:@me assignee:ann base:main head:feature \
             label:\"help wanted\" label:a,b draft:false sort:created-desc"
        );
    }

    #[test]
    fn preferred_update_order_becomes_a_sort_qualifier() {
        let mut q = PullQuery::default();
        q.author = Some("ada".into());
        q.prefers_updated = true;
        assert_eq!(
            search(&repo(), &q).unwrap(),
            "repo:o/r is:pr state:open author:ada sort:updated-desc"
        );
    }

    #[test]
    fn state_qualifier_in_search_overrides_state_filter() {
        for (words, state, wanted) in [
            (
                "fix",
                StateFilter::Open,
                "fix repo:o/r is:pr state:open sort:created-desc",
            ),
            (
                "is:merged",
                StateFilter::Open,
                "is:merged repo:o/r is:pr sort:created-desc",
            ),
            (
                "x sort:updated-asc",
                StateFilter::All,
                "x sort:updated-asc repo:o/r is:pr",
            ),
            (
                "-is:closed",
                StateFilter::Merged,
                "-is:closed repo:o/r is:pr sort:created-desc",
            ),
        ] {
            let mut q = PullQuery::default();
            q.search = Some(words.into());
            q.state = state;
            assert_eq!(search(&repo(), &q).unwrap(), wanted);
        }
    }

    #[test]
    fn search_values_with_special_characters_are_quoted() {
        assert_eq!(quoted("a\"b c\\"), "\"a\\\"b c\\\\\"");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("a:b"), "\"a:b\"");
    }
}
