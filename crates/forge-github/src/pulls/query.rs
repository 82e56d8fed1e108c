//! Translates list filters to GitHub's search syntax. A search is needed for filters that a
//! repository's list lacks.

use forge_core::{
    Error, RepoId, Result,
    model::{PullQuery, StateFilter},
};

use crate::{gql::types as wire, owner_and_name};

/// Maximum number of `AND`, `OR` and `NOT` in a search. GitHub refuses more (REST documentation,
/// "Limitations on query length").
const MAX_OPERATORS: usize = 5;

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
        let word = word.trim_start_matches(['-', '(']);
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
    // Any white space could end the value for GitHub, and an `OR` after it would reach past the
    // repository.
    let is_plain =
        |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, ':' | '"' | '(' | ')');
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the caller's search text in a form that further qualifiers limit as a whole.
///
/// On GitHub a space means AND and binds tighter than `OR`. A text with operators or parentheses is
/// therefore put in parentheses. GitHub takes `sort:` only outside of parentheses, so that
/// qualifier is moved behind them.
///
/// # Errors
/// `invalid_input` if a quote or a parenthesis has no counterpart: the text would then reach past
/// its own parentheses.
pub(crate) fn enclosed(search: &str) -> Result<String> {
    let (mut opened, mut closed, mut balanced) = (0_usize, 0_usize, true);
    let (mut quoted, mut escaped) = (false, false);
    let split = search.split(|c: char| {
        let literal = std::mem::take(&mut escaped);
        match c {
            _ if literal => {}
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            '(' if !quoted => opened += 1,
            ')' if !quoted => {
                closed += 1;
                balanced &= closed <= opened;
            }
            _ => {}
        }
        c.is_whitespace() && !quoted
    });
    let words: Vec<&str> = split.filter(|word| !word.is_empty()).collect();
    if quoted || !balanced || opened != closed {
        let (what, hint) = match quoted {
            true => (
                "quote",
                r#"add the counterpart, or write a single quote as \" within quotes: "5\" screen""#,
            ),
            false => (
                "parenthesis",
                "add the counterpart, or put text with a single parenthesis in quotes",
            ),
        };
        let message = format!("the search has a {what} without its counterpart");
        return Err(Error::invalid("search", message).with_hint(hint));
    }
    // Operators in lower case count too: GitHub does not document them, and parentheses around
    // plain words change nothing.
    if opened == 0 && !words.iter().any(|word| is_operator(word)) {
        return Ok(search.to_owned());
    }
    let (mut condition, mut order) = (Vec::new(), Vec::new());
    for word in words {
        let bare = word.trim_matches(['(', ')']);
        if bare.starts_with("sort:") {
            condition.push(word.replacen(bare, "", 1));
            order.push(bare.to_owned());
        } else {
            condition.push(word.to_owned());
        }
    }
    condition.retain(|word| !word.is_empty());
    // The spaces keep a qualifier whole on a server that knows no parentheses.
    order.insert(0, format!("( {} )", condition.join(" ")));
    Ok(order.join(" "))
}

fn is_operator(word: &str) -> bool {
    let word = word.trim_matches(['(', ')']);
    let mut operators = ["AND", "OR", "NOT"].iter();
    operators.any(|operator| word.eq_ignore_ascii_case(operator))
}

/// Returns the number of places that one search of the query may name, with an operator between each
/// two.
pub(crate) fn max_places(q: &PullQuery) -> usize {
    let own = q.search.as_deref().unwrap_or_default().split_whitespace();
    let own = own.filter(|word| is_operator(word)).count();
    (MAX_OPERATORS + 1).saturating_sub(own).max(1)
}

/// Returns the query in GitHub's search syntax.
pub(crate) fn search(repo: &RepoId, q: &PullQuery) -> Result<String> {
    let (owner, name) = owner_and_name(repo)?;
    search_in(&[format!("repo:{owner}/{name}")], q)
}

/// Returns the query in GitHub's search syntax, limited to the places in `scope`. An empty scope
/// covers all of GitHub.
pub(crate) fn search_in(scope: &[String], q: &PullQuery) -> Result<String> {
    let own = q.search.as_deref().unwrap_or_default().trim();
    let mut words: Vec<String> = vec![enclosed(own)?];
    // GitHub takes several places without OR as places that must all match.
    words.push(match scope {
        [] | [_] => scope.concat(),
        places => format!("({})", places.join(" OR ")),
    });
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
    Ok(words.join(" "))
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
    fn boolean_search_is_limited_as_a_whole() {
        let rest = "repo:o/r is:pr";
        for (words, wanted) in [
            (
                "a OR b",
                format!("( a OR b ) {rest} state:open sort:created-desc"),
            ),
            (
                "NOT a",
                format!("( NOT a ) {rest} state:open sort:created-desc"),
            ),
            (
                "-(label:x label:y)",
                format!("( -(label:x label:y) ) {rest} state:open sort:created-desc"),
            ),
            (
                "(is:closed OR is:merged)",
                format!("( (is:closed OR is:merged) ) {rest} sort:created-desc"),
            ),
            (
                "a or  sort:updated b",
                format!("( a or b ) sort:updated {rest} state:open"),
            ),
            (
                "(a OR b sort:updated-asc)",
                format!("( (a OR b ) ) sort:updated-asc {rest} state:open"),
            ),
            (
                r#""a OR (b" "c\") d""#,
                format!(r#""a OR (b" "c\") d" {rest} state:open sort:created-desc"#),
            ),
        ] {
            let mut q = PullQuery::default();
            q.search = Some(words.into());
            assert_eq!(search(&repo(), &q).unwrap(), wanted);
        }
    }

    #[test]
    fn search_with_unclosed_parenthesis_is_refused() {
        for (words, what) in [
            ("(a", "parenthesis"),
            ("a) OR (b", "parenthesis"),
            ("a) OR is:pr", "parenthesis"),
            (r#"("a)"#, "quote"),
            (r#"a "b"#, "quote"),
        ] {
            let error = enclosed(words).unwrap_err();
            assert_eq!(error.code(), "invalid_input");
            assert!(error.message().contains(what), "{words}: {error}");
        }
    }

    #[test]
    fn several_places_are_alternatives() {
        let mut q = PullQuery::default();
        q.search = Some("x".into());
        let scope = ["repo:o/r", "repo:o/s", "user:acme"].map(str::to_owned);
        assert_eq!(
            search_in(&scope, &q).unwrap(),
            "x (repo:o/r OR repo:o/s OR user:acme) is:pr state:open sort:created-desc"
        );
    }

    #[test]
    fn search_values_with_special_characters_are_quoted() {
        assert_eq!(quoted("a\"b c\\"), "\"a\\\"b c\\\\\"");
        assert_eq!(quoted(""), "\"\"");
        assert_eq!(quoted("a:b"), "\"a:b\"");
        assert_eq!(quoted("a\u{c}OR\u{a0}b"), "\"a\u{c}OR\u{a0}b\"");
    }
}
