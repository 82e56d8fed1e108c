//! Filters a list of pull requests in this program, for forges that cannot filter. A filter
//! consists of the fields of a [`PullQuery`] and of a search text. The search text has words and
//! qualifiers in GitHub's search syntax.

use crate::{
    Error, Result,
    model::{PrState, PullQuery, ReviewDecision, StateFilter},
    suggest, text,
};

/// The known qualifiers, as listed in error messages.
const QUALIFIERS: [&str; 11] = [
    "author",
    "assignee",
    "label",
    "base",
    "head",
    "is",
    "state",
    "draft",
    "review",
    "review-requested",
    "number",
];

/// The fields of a pull request that a [`Filter`] can test. The caller may leave a field empty if
/// the filter does not test it.
#[derive(Clone, Debug)]
pub struct SearchCandidate<'a> {
    /// Number, if the pull request has one.
    pub number: Option<u64>,
    /// Title.
    pub title: &'a str,
    /// Description.
    pub description: &'a str,
    /// Author's login.
    pub author: &'a str,
    /// Logins of the assignees. Needed if [`Filter::needs_assignees`].
    pub assignees: Vec<&'a str>,
    /// Names of the labels. Needed if [`Filter::needs_labels`].
    pub labels: Vec<&'a str>,
    /// Base branch.
    pub base: &'a str,
    /// Head branch.
    pub head: &'a str,
    /// State.
    pub state: PrState,
    /// True if the pull request is a draft.
    pub draft: bool,
    /// Combined decision of the reviews. This and the next two fields are needed if
    /// [`Filter::needs_reviews`].
    pub decision: Option<ReviewDecision>,
    /// True if there is at least one review.
    pub reviewed: bool,
    /// Logins of requested reviewers.
    pub pending_reviewers: Vec<&'a str>,
}

/// Selects the pull requests that a list shows.
#[derive(Clone, Debug)]
pub struct Filter {
    state: StateFilter,
    terms: Vec<SearchTerm>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SearchTerm {
    negated: bool,
    test: TermTest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TermTest {
    /// A word in the title or description, regardless of case.
    Word(String),
    Author(String),
    Assignee(String),
    /// At least one of these labels.
    Label(Vec<String>),
    Base(String),
    Head(String),
    Is(PrState),
    Draft(bool),
    Review(Decision),
    ReviewRequested(String),
    Number(u64),
    /// `is:pr`, which is always true.
    Anything,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Approved,
    ChangesRequested,
    None,
    /// A review is required and missing.
    Required,
}

impl Filter {
    /// Parses the filter of `query`.
    ///
    /// # Errors
    /// `invalid_input` for a malformed search.
    pub fn of(query: &PullQuery) -> Result<Self> {
        let mut terms = query
            .search
            .as_deref()
            .map(parse)
            .transpose()?
            .unwrap_or_default();
        // A state in the search text, such as `is:merged`, applies instead of the default state.
        let tests_state = |t: &SearchTerm| matches!(t.test, TermTest::Is(_));
        let state = match query.state {
            StateFilter::Open if terms.iter().any(tests_state) => StateFilter::All,
            state => state,
        };
        let mut add = |test| {
            terms.push(SearchTerm {
                negated: false,
                test,
            })
        };
        if let Some(login) = &query.author {
            add(TermTest::Author(login.clone()));
        }
        if let Some(login) = &query.assignee {
            add(TermTest::Assignee(login.clone()));
        }
        for label in &query.labels {
            add(TermTest::Label(vec![label.clone()]));
        }
        if let Some(base) = &query.base {
            add(TermTest::Base(base.clone()));
        }
        if let Some(head) = &query.head {
            add(TermTest::Head(head.clone()));
        }
        if let Some(draft) = query.draft {
            add(TermTest::Draft(draft));
        }
        terms.retain(|t| t.negated || t.test != TermTest::Anything);
        // For `is:open`, it is enough to list the open pull requests, which the local backend keeps
        // in an index.
        let only_open = |t: &SearchTerm| !t.negated && t.test == TermTest::Is(PrState::Open);
        let state = if state == StateFilter::All && terms.iter().any(only_open) {
            StateFilter::Open
        } else {
            state
        };
        Ok(Self { state, terms })
    }

    /// Returns the state of the pull requests to list. It covers at least all that the filter
    /// accepts.
    #[must_use]
    pub fn state(&self) -> StateFilter {
        self.state
    }

    /// Returns true if the filter drops some of the pull requests in [`Self::state()`].
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        !self.terms.is_empty() || matches!(self.state, StateFilter::Closed | StateFilter::Merged)
    }

    /// Returns true if a term tests labels.
    #[must_use]
    pub fn needs_labels(&self) -> bool {
        let asks = |t: &SearchTerm| matches!(t.test, TermTest::Label(_));
        self.terms.iter().any(asks)
    }

    /// Returns true if a term tests assignees.
    #[must_use]
    pub fn needs_assignees(&self) -> bool {
        let asks = |t: &SearchTerm| matches!(t.test, TermTest::Assignee(_));
        self.terms.iter().any(asks)
    }

    /// Returns true if a term tests reviews or review requests.
    #[must_use]
    pub fn needs_reviews(&self) -> bool {
        let asks =
            |t: &SearchTerm| matches!(t.test, TermTest::Review(_) | TermTest::ReviewRequested(_));
        self.terms.iter().any(asks)
    }

    /// Returns the logins in the filter, so that the caller can replace `@me`.
    pub fn logins_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.terms.iter_mut().filter_map(SearchTerm::login_mut)
    }

    /// Returns true if the filter accepts `pull`.
    #[must_use]
    pub fn matches(&self, pull: &SearchCandidate<'_>) -> bool {
        self.state.shows(pull.state) && self.terms.iter().all(|t| t.test.matches(pull) != t.negated)
    }
}

impl SearchTerm {
    fn login_mut(&mut self) -> Option<&mut String> {
        match &mut self.test {
            TermTest::Author(l) | TermTest::Assignee(l) | TermTest::ReviewRequested(l) => Some(l),
            _ => None,
        }
    }
}

/// Returns true if two logins, or two label names, are equal regardless of case.
#[must_use]
pub fn same_login(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

impl TermTest {
    fn matches(&self, pull: &SearchCandidate<'_>) -> bool {
        match self {
            Self::Word(word) => {
                pull.title.to_lowercase().contains(word)
                    || pull.description.to_lowercase().contains(word)
            }
            Self::Author(login) => same_login(pull.author, login),
            Self::Assignee(login) => pull.assignees.iter().any(|a| same_login(a, login)),
            Self::Label(any) => {
                let is_on_it = |name: &String| pull.labels.iter().any(|l| same_login(l, name));
                any.iter().any(is_on_it)
            }
            Self::Base(branch) => pull.base == branch,
            Self::Head(branch) => pull.head == branch,
            // As on GitHub, a merged pull request also counts as closed.
            Self::Is(PrState::Closed) => pull.state != PrState::Open,
            Self::Is(state) => pull.state == *state,
            Self::Draft(draft) => pull.draft == *draft,
            Self::Review(wanted) => match wanted {
                Decision::Approved => pull.decision == Some(ReviewDecision::Approved),
                Decision::ChangesRequested => {
                    pull.decision == Some(ReviewDecision::ChangesRequested)
                }
                Decision::None => !pull.reviewed,
                Decision::Required => pull.decision == Some(ReviewDecision::ReviewRequired),
            },
            Self::ReviewRequested(login) => {
                let mut requested = pull.pending_reviewers.iter();
                requested.any(|r| same_login(r, login))
            }
            Self::Number(n) => pull.number == Some(*n),
            Self::Anything => true,
        }
    }
}

fn parse(search: &str) -> Result<Vec<SearchTerm>> {
    let mut terms: Vec<SearchTerm> = Vec::new();
    let mut is_negated = false;
    for word in split_words(search)? {
        let is_plain = word.quoted_from.is_none();
        match word.text.as_str() {
            // All terms have to match anyway.
            "AND" if is_plain => {}
            "NOT" if is_plain => is_negated = !is_negated,
            "OR" if is_plain => return Err(unsupported_error("'OR'")),
            text if is_plain && text.starts_with('(') => {
                return Err(unsupported_error("parentheses"));
            }
            _ => {
                let mut next = term(word)?;
                next.negated ^= std::mem::take(&mut is_negated);
                terms.push(next);
            }
        }
    }
    if is_negated {
        return Err(
            Error::invalid("search", "no word follows 'NOT' in the search")
                .with_hint("put the word to leave out after it, or quote 'NOT' to find that word"),
        );
    }
    Ok(terms)
}

fn unsupported_error(what: &str) -> Error {
    let message = format!("the search has {what}, which lists of this forge do not support");
    Error::invalid("search", message).with_hint(
        "search for one of the alternatives at a time, or put in double quotes what is to be found \
         as it is",
    )
}

/// A word of a search, with the offset of its first quote.
struct SearchWord {
    text: String,
    quoted_from: Option<usize>,
}

/// Splits a search at spaces outside of quotes, and removes the quotes.
fn split_words(search: &str) -> Result<Vec<SearchWord>> {
    let mut all = Vec::new();
    let mut word = SearchWord {
        text: String::new(),
        quoted_from: None,
    };
    let mut quoted = false;
    let mut chars = search.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted && matches!(chars.peek(), Some('"' | '\\')) => {
                word.text.extend(chars.next());
            }
            '"' => {
                quoted = !quoted;
                word.quoted_from.get_or_insert(word.text.len());
            }
            c if c.is_whitespace() && !quoted => {
                all.push(std::mem::replace(
                    &mut word,
                    SearchWord {
                        text: String::new(),
                        quoted_from: None,
                    },
                ));
            }
            c => word.text.push(c),
        }
    }
    if quoted {
        return Err(
            Error::invalid("search", "a quote in the search is not closed")
                .with_hint("put a second \" where the quoted words end"),
        );
    }
    all.push(word);
    all.retain(|w| !w.text.is_empty());
    Ok(all)
}

fn term(word: SearchWord) -> Result<SearchTerm> {
    let starts_quoted = word.quoted_from == Some(0);
    let (negated, text) = match word.text.strip_prefix('-') {
        Some(rest) if !starts_quoted && !rest.is_empty() => (true, rest),
        _ => (false, word.text.as_str()),
    };
    let skipped = word.text.len() - text.len();
    let colon = text
        .find(':')
        .filter(|at| word.quoted_from.is_none_or(|quote| at + skipped < quote))
        // "http://x" and "a: b" are words, not qualifiers.
        .filter(|at| !text.get(at + 1..).unwrap_or_default().starts_with("//"));
    let Some((key, value)) = colon.and_then(|at| text.split_at_checked(at)) else {
        return Ok(SearchTerm {
            negated,
            test: TermTest::Word(text.to_lowercase()),
        });
    };
    let value = value.strip_prefix(':').unwrap_or(value);
    Ok(SearchTerm {
        negated,
        test: qualifier(&key.to_lowercase(), value)?,
    })
}

fn qualifier(key: &str, value: &str) -> Result<TermTest> {
    if !QUALIFIERS.contains(&key) {
        let shown = text::one_line(key).into_owned();
        return Err(
            Error::invalid("search", format!("the search has no qualifier '{shown}:'")).with_hint(
                format!(
                    "{}; put a word with a colon in quotes",
                    suggest::hint(key, QUALIFIERS, "qualifiers")
                ),
            ),
        );
    }
    let wrong = |known: &str| {
        let shown = text::one_line(value).into_owned();
        Error::invalid("search", format!("'{key}:{shown}' is not valid"))
            .with_hint(format!("{key}: takes {known}"))
    };
    if value.is_empty() {
        return Err(wrong("a value, without space after the colon"));
    }
    let folded = value.to_lowercase();
    let owned = value.to_owned();
    Ok(match key {
        "author" => TermTest::Author(owned),
        "assignee" => TermTest::Assignee(owned),
        "label" => TermTest::Label(
            value
                .split(',')
                .filter(|l| !l.is_empty())
                .map(str::to_owned)
                .collect(),
        ),
        "base" => TermTest::Base(owned),
        "head" => TermTest::Head(owned),
        "review-requested" => TermTest::ReviewRequested(owned),
        "is" | "state" => match folded.as_str() {
            "open" => TermTest::Is(PrState::Open),
            "closed" => TermTest::Is(PrState::Closed),
            "merged" => TermTest::Is(PrState::Merged),
            "draft" if key == "is" => TermTest::Draft(true),
            "pr" if key == "is" => TermTest::Anything,
            _ if key == "is" => return Err(wrong("open, closed, merged, draft or pr")),
            _ => return Err(wrong("open, closed or merged")),
        },
        "draft" => match folded.as_str() {
            "true" => TermTest::Draft(true),
            "false" => TermTest::Draft(false),
            _ => return Err(wrong("true or false")),
        },
        "review" => TermTest::Review(match folded.as_str() {
            "approved" => Decision::Approved,
            "changes_requested" | "changes-requested" => Decision::ChangesRequested,
            "none" => Decision::None,
            "required" => Decision::Required,
            _ => return Err(wrong("approved, changes_requested, none or required")),
        }),
        _ => TermTest::Number(value.parse().map_err(|_| wrong("a number"))?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull() -> SearchCandidate<'static> {
        SearchCandidate {
            number: Some(7),
            title: "Fix the Parser",
            description: "It said \"no\": see http://x/y",
            author: "alice",
            assignees: Vec::new(),
            labels: Vec::new(),
            base: "main",
            head: "fix",
            state: PrState::Open,
            draft: false,
            decision: None,
            reviewed: false,
            pending_reviewers: Vec::new(),
        }
    }

    fn filter(search: &str) -> Filter {
        let query = PullQuery {
            search: Some(search.into()),
            ..PullQuery::default()
        };
        Filter::of(&query).unwrap()
    }

    #[test]
    fn words_and_qualifiers_are_matched() {
        let open = SearchCandidate {
            labels: vec!["Bug", "good first issue"],
            ..pull()
        };
        for yes in [
            "",
            "parser",
            "PARSER fix",
            "\"the parser\"",
            "-\"the lexer\"",
            "http://x/y",
            "author:Alice",
            "-author:bob",
            "base:main head:fix",
            "is:open is:pr",
            "draft:false",
            "number:7",
            "label:bug",
            "label:\"good first issue\"",
            "label:nope,bug",
            "review:none",
            "-is:merged",
            "\"said \\\"no\\\"\"",
            "-review:required",
        ] {
            assert!(filter(yes).matches(&open), "{yes}");
        }
        for no in [
            "lexer",
            "parser lexer",
            "-parser",
            "author:bob",
            "base:x",
            "is:draft",
            "is:merged",
            "number:8",
            "label:nope",
            "label:bug label:nope",
            "assignee:alice",
            "-label:bug",
            "review:approved",
            "review-requested:alice",
            "state:closed",
            "-is:pr",
        ] {
            assert!(!filter(no).matches(&open), "{no}");
        }
    }

    #[test]
    fn operators_of_github_work_or_are_refused() {
        for (search, matches) in [
            ("fix AND parser", true),
            ("fix AND nothing", false),
            ("NOT nothing", true),
            ("NOT parser", false),
            ("fix NOT author:alice", false),
            ("fix NOT author:bob", true),
            ("NOT -parser", true),
            ("NOT NOT parser", true),
            // Lower-case and quoted words are no operators.
            ("not", false),
            ("\"no\"", true),
            ("\"OR\"", false),
            ("\"(fix\"", false),
        ] {
            assert_eq!(filter(search).matches(&pull()), matches, "{search}");
        }
        for search in [
            "fix OR parser",
            "is:open OR is:merged",
            "(fix)",
            "fix AND (parser OR lexer)",
            "NOT",
            "fix NOT",
            "fix AND NOT",
        ] {
            let e = parse(search).unwrap_err();
            assert_eq!(e.code(), "invalid_input", "{search}");
            assert!(e.hint().is_some(), "{search}");
        }
    }

    #[test]
    fn search_state_replaces_default_state() {
        let merged = SearchCandidate {
            state: PrState::Merged,
            ..pull()
        };
        assert!(filter("is:merged").matches(&merged) && filter("is:closed").matches(&merged));
        assert!(!filter("").matches(&merged));
        assert_eq!(filter("is:open").state(), StateFilter::Open);
        let query = PullQuery {
            search: Some("is:merged".into()),
            state: StateFilter::Closed,
            ..PullQuery::default()
        };
        assert!(Filter::of(&query).unwrap().matches(&merged));
    }

    #[test]
    fn filter_reports_needed_fields() {
        let query = PullQuery {
            author: Some("@me".into()),
            ..PullQuery::default()
        };
        let mut mine = Filter::of(&query).unwrap();
        assert!(!mine.matches(&pull()));
        for login in mine.logins_mut().filter(|l| *l == "@me") {
            *login = "ALICE".to_owned();
        }
        assert!(mine.matches(&pull()));
        assert!(!mine.needs_labels() && !mine.needs_assignees() && !mine.needs_reviews());
        assert!(filter("-label:bug").needs_labels() && filter("assignee:x").needs_assignees());
        assert!(filter("review:none").needs_reviews());
        assert!(filter("review-requested:x").needs_reviews());
    }

    #[test]
    fn invalid_search_is_refused_with_suggestion() {
        let e = parse("auhtor:x").unwrap_err();
        assert!(
            e.hint()
                .is_some_and(|h| h.text().contains("did you mean 'author'")),
            "{e:?}"
        );
        for bad in [
            "is:happy",
            "draft:maybe",
            "review:ok",
            "number:x",
            "author:",
            "\"open",
            "x:y",
        ] {
            let e = parse(bad).unwrap_err();
            assert_eq!(e.code(), "invalid_input", "{bad}");
            assert!(e.hint().is_some(), "{bad}");
        }
    }
}
