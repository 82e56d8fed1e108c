//! Filters of a list: the fields of a query, and words and qualifiers in GitHub's search syntax.

use forge_core::{
    Error, Result,
    model::{PrState, PullQuery, ReviewDecision, StateFilter},
    text,
};

use crate::{
    pulls::in_state,
    store::{Snapshot, same_login},
};

/// The qualifiers, as a message lists them.
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

/// Which pull requests a list shows.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    state: StateFilter,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    negated: bool,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    /// In title or description; lower case.
    Word(String),
    Author(String),
    Assignee(String),
    /// Any of them.
    Label(Vec<String>),
    Base(String),
    Head(String),
    Is(PrState),
    Draft(bool),
    Review(Decision),
    ReviewRequested(String),
    Number(u64),
    /// `is:pr`: all are.
    Anything,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Approved,
    ChangesRequested,
    None,
    /// Nothing requires a review here, so none has this.
    Required,
}

impl Filter {
    /// The filter of `query`.
    ///
    /// # Errors
    /// `invalid_input` for a search that cannot be understood.
    pub fn of(query: &PullQuery) -> Result<Self> {
        let mut terms = query
            .search
            .as_deref()
            .map(parse)
            .transpose()?
            .unwrap_or_default();
        // What a search says of the state stands in the place of the default.
        let says_state = |t: &Term| matches!(t.test, Test::Is(_));
        let state = match query.state {
            StateFilter::Open if terms.iter().any(says_state) => StateFilter::All,
            state => state,
        };
        let mut add = |test| {
            terms.push(Term {
                negated: false,
                test,
            })
        };
        if let Some(login) = &query.author {
            add(Test::Author(login.clone()));
        }
        if let Some(login) = &query.assignee {
            add(Test::Assignee(login.clone()));
        }
        for label in &query.labels {
            add(Test::Label(vec![label.clone()]));
        }
        if let Some(base) = &query.base {
            add(Test::Base(base.clone()));
        }
        if let Some(head) = &query.head {
            add(Test::Head(head.clone()));
        }
        if let Some(draft) = query.draft {
            add(Test::Draft(draft));
        }
        terms.retain(|t| t.negated || t.test != Test::Anything);
        // Open ones are in the index, so a list of them need not read the others.
        let only_open = |t: &Term| !t.negated && t.test == Test::Is(PrState::Open);
        let state = if state == StateFilter::All && terms.iter().any(only_open) {
            StateFilter::Open
        } else {
            state
        };
        Ok(Self { state, terms })
    }

    /// The states that it shows at most.
    pub fn state(&self) -> StateFilter {
        self.state
    }

    /// Whether it drops some of those in its state.
    pub fn is_narrow(&self) -> bool {
        !self.terms.is_empty() || matches!(self.state, StateFilter::Closed | StateFilter::Merged)
    }

    /// Whether it says `@me`.
    pub fn needs_viewer(&self) -> bool {
        self.terms
            .iter()
            .any(|t| t.login().is_some_and(|l| l == "@me"))
    }

    /// Puts `viewer` in the place of `@me`.
    pub fn resolve(&mut self, viewer: &str) {
        for term in &mut self.terms {
            if let Some(login) = term.login_mut().filter(|l| *l == "@me") {
                viewer.clone_into(login);
            }
        }
    }

    /// Whether it shows the pull request of `snapshot`, which has `labels`.
    pub fn matches(&self, snapshot: &Snapshot, labels: &[String]) -> bool {
        in_state(snapshot.state, self.state)
            && self
                .terms
                .iter()
                .all(|t| t.test.matches(snapshot, labels) != t.negated)
    }
}

impl Term {
    fn login(&self) -> Option<&String> {
        match &self.test {
            Test::Author(l) | Test::Assignee(l) | Test::ReviewRequested(l) => Some(l),
            _ => None,
        }
    }

    fn login_mut(&mut self) -> Option<&mut String> {
        match &mut self.test {
            Test::Author(l) | Test::Assignee(l) | Test::ReviewRequested(l) => Some(l),
            _ => None,
        }
    }
}

impl Test {
    fn matches(&self, s: &Snapshot, labels: &[String]) -> bool {
        match self {
            Self::Word(word) => {
                s.title.to_lowercase().contains(word) || s.description.to_lowercase().contains(word)
            }
            Self::Author(login) => same_login(&s.author.login, login),
            Self::Assignee(login) => s.assignees.iter().any(|a| same_login(a, login)),
            Self::Label(any) => any.iter().any(|n| labels.iter().any(|l| same_login(l, n))),
            Self::Base(branch) => &s.base_branch == branch,
            Self::Head(branch) => &s.head_branch == branch,
            // As on GitHub, merged ones are closed ones too.
            Self::Is(PrState::Closed) => s.state != PrState::Open,
            Self::Is(state) => s.state == *state,
            Self::Draft(draft) => s.draft == *draft,
            Self::Review(wanted) => match wanted {
                Decision::Approved => s.decision() == Some(ReviewDecision::Approved),
                Decision::ChangesRequested => {
                    s.decision() == Some(ReviewDecision::ChangesRequested)
                }
                Decision::None => s.latest_reviews.is_empty(),
                Decision::Required => s.decision() == Some(ReviewDecision::ReviewRequired),
            },
            Self::ReviewRequested(login) => s
                .pending_reviewers
                .iter()
                .any(|r| same_login(r.handle(), login)),
            Self::Number(n) => s.number == *n,
            Self::Anything => true,
        }
    }
}

fn parse(search: &str) -> Result<Vec<Term>> {
    words(search)?.into_iter().map(term).collect()
}

/// A word of a search, and where in it the first quote was.
struct Word {
    text: String,
    quoted_from: Option<usize>,
}

/// Splits at space outside of quotes, which are dropped.
fn words(search: &str) -> Result<Vec<Word>> {
    let mut all = Vec::new();
    let mut word = Word {
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
                    Word {
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

fn term(word: Word) -> Result<Term> {
    let starts_quoted = word.quoted_from == Some(0);
    let (negated, text) = match word.text.strip_prefix('-') {
        Some(rest) if !starts_quoted && !rest.is_empty() => (true, rest),
        _ => (false, word.text.as_str()),
    };
    let skipped = word.text.len() - text.len();
    let colon = text
        .find(':')
        .filter(|at| word.quoted_from.is_none_or(|quote| at + skipped < quote))
        // "http://x" and "a: b" are words.
        .filter(|at| !text.get(at + 1..).unwrap_or_default().starts_with("//"));
    let Some((key, value)) = colon.and_then(|at| text.split_at_checked(at)) else {
        return Ok(Term {
            negated,
            test: Test::Word(text.to_lowercase()),
        });
    };
    let value = value.strip_prefix(':').unwrap_or(value);
    Ok(Term {
        negated,
        test: qualifier(&key.to_lowercase(), value)?,
    })
}

fn qualifier(key: &str, value: &str) -> Result<Test> {
    if !QUALIFIERS.contains(&key) {
        let shown = text::one_line(key).into_owned();
        return Err(
            Error::invalid("search", format!("the search has no qualifier '{shown}:'")).with_hint(
                format!(
                    "{}; put a word with a colon in quotes",
                    forge_core::near::hint(key, QUALIFIERS, "qualifiers")
                ),
            ),
        );
    }
    let wrong = |known: &str| {
        let shown = text::one_line(value).into_owned();
        Error::invalid("search", format!("'{key}:{shown}' says nothing"))
            .with_hint(format!("{key}: takes {known}"))
    };
    if value.is_empty() {
        return Err(wrong("a value, without space after the colon"));
    }
    let folded = value.to_lowercase();
    let owned = value.to_owned();
    Ok(match key {
        "author" => Test::Author(owned),
        "assignee" => Test::Assignee(owned),
        "label" => Test::Label(
            value
                .split(',')
                .filter(|l| !l.is_empty())
                .map(str::to_owned)
                .collect(),
        ),
        "base" => Test::Base(owned),
        "head" => Test::Head(owned),
        "review-requested" => Test::ReviewRequested(owned),
        "is" | "state" => match folded.as_str() {
            "open" => Test::Is(PrState::Open),
            "closed" => Test::Is(PrState::Closed),
            "merged" => Test::Is(PrState::Merged),
            "draft" if key == "is" => Test::Draft(true),
            "pr" if key == "is" => Test::Anything,
            _ if key == "is" => return Err(wrong("open, closed, merged, draft or pr")),
            _ => return Err(wrong("open, closed or merged")),
        },
        "draft" => match folded.as_str() {
            "true" => Test::Draft(true),
            "false" => Test::Draft(false),
            _ => return Err(wrong("true or false")),
        },
        "review" => Test::Review(match folded.as_str() {
            "approved" => Decision::Approved,
            "changes_requested" | "changes-requested" => Decision::ChangesRequested,
            "none" => Decision::None,
            "required" => Decision::Required,
            _ => return Err(wrong("approved, changes_requested, none or required")),
        }),
        _ => Test::Number(value.parse().map_err(|_| wrong("a number"))?),
    })
}

#[cfg(test)]
mod tests {
    use forge_core::{Timestamp, model::Actor};

    use super::*;

    fn pull(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
        let mut snapshot = Snapshot::new(7, Actor::new("alice"), Timestamp::from_unix(0));
        snapshot.title = "Fix the Parser".into();
        snapshot.description = "It said \"no\": see http://x/y".into();
        snapshot.base_branch = "main".into();
        snapshot.head_branch = "fix".into();
        change(&mut snapshot);
        snapshot
    }

    fn hits(search: &str, pull: &Snapshot, labels: &[&str]) -> bool {
        let query = PullQuery {
            search: Some(search.into()),
            ..PullQuery::default()
        };
        let labels: Vec<String> = labels.iter().map(|l| (*l).to_owned()).collect();
        Filter::of(&query).unwrap().matches(pull, &labels)
    }

    #[test]
    fn words_and_qualifiers() {
        let open = pull(|_| {});
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
            assert!(hits(yes, &open, &["Bug", "good first issue"]), "{yes}");
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
            assert!(!hits(no, &open, &["bug"]), "{no}");
        }
    }

    #[test]
    fn a_state_in_the_search_stands_in_the_place_of_the_default() {
        let merged = pull(|s| s.state = PrState::Merged);
        assert!(hits("is:merged", &merged, &[]) && hits("is:closed", &merged, &[]));
        assert!(!hits("", &merged, &[]));
        let query = PullQuery {
            search: Some("is:open".into()),
            ..PullQuery::default()
        };
        assert_eq!(Filter::of(&query).unwrap().state(), StateFilter::Open);
        let query = PullQuery {
            search: Some("is:merged".into()),
            state: StateFilter::Closed,
            ..PullQuery::default()
        };
        assert!(Filter::of(&query).unwrap().matches(&merged, &[]));
    }

    #[test]
    fn me_is_the_viewer() {
        let query = PullQuery {
            author: Some("@me".into()),
            ..PullQuery::default()
        };
        let mut filter = Filter::of(&query).unwrap();
        assert!(filter.needs_viewer());
        filter.resolve("ALICE");
        assert!(!filter.needs_viewer());
        assert!(filter.matches(&pull(|_| {}), &[]));
    }

    #[test]
    fn what_says_nothing_is_refused_with_what_would() {
        let e = parse("auhtor:x").unwrap_err();
        assert!(
            e.hint()
                .is_some_and(|h| h.contains("did you mean 'author'")),
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
