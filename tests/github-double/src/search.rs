//! Implements GitHub's search: qualifiers for issues, pull requests, repositories and accounts.

use super::{
    graphql::{Ctx, Node, account_node},
    resolve::{contexts, decision, rollup_state},
    state::{Id, Issue, Pull, PullState, ReviewState, Reviewer, State},
};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// Words that the title or the body must contain, in lower case.
    pub(crate) words: Vec<String>,
    /// Qualifiers in the order of the text.
    pub(crate) terms: Vec<Term>,
}

/// A search qualifier, such as `label:"good first issue"` or `-author:octocat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) negated: bool,
    pub(crate) name: String,
    /// Alternative values: `label:a,b` has two.
    pub(crate) values: Vec<String>,
}

impl Query {
    /// Parses a search as a user types it. A token that is not a qualifier is a word.
    pub(crate) fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for token in tokens(text) {
            let (negated, rest) = match token.strip_prefix('-') {
                Some(rest) if rest.contains(':') => (true, rest),
                _ => (false, token.as_str()),
            };
            match rest.split_once(':') {
                Some((name, value)) if is_qualifier(name) && !value.is_empty() => {
                    query.terms.push(Term {
                        negated,
                        name: name.to_lowercase(),
                        values: values(value),
                    });
                }
                _ if matches!(rest, "AND" | "OR" | "NOT" | "(" | ")") => {}
                _ => query.words.push(unquote(rest).to_lowercase()),
            }
        }
        query
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &Term> {
        self.terms.iter().filter(move |term| term.name == name)
    }
}

fn is_qualifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|it| it.is_ascii_alphabetic() || it == '-')
}

/// Splits a search at white space outside quotes.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut token = String::new();
    let mut quoted = false;
    let mut escaped = false;
    for letter in text.chars() {
        if escaped {
            token.push(letter);
            escaped = false;
            continue;
        }
        match letter {
            '\\' if quoted => {
                token.push(letter);
                escaped = true;
            }
            '"' => {
                quoted = !quoted;
                token.push(letter);
            }
            it if it.is_whitespace() && !quoted => {
                if !token.is_empty() {
                    tokens.push(std::mem::take(&mut token));
                }
            }
            _ => token.push(letter),
        }
    }
    if !token.is_empty() {
        tokens.push(token);
    }
    tokens
}

fn unquote(text: &str) -> String {
    let inner = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(text);
    inner.replace("\\\"", "\"").replace("\\\\", "\\")
}

/// Splits a value at commas outside quotes.
fn values(text: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut value = String::new();
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '"' => {
                quoted = !quoted;
                value.push(letter);
            }
            ',' if !quoted => values.push(unquote(&std::mem::take(&mut value))),
            _ => value.push(letter),
        }
    }
    values.push(unquote(&value));
    values
}

/// Fields of an issue or a pull request that a search compares with its terms.
struct Candidate<'a> {
    node: Node,
    repo: Id,
    number: u64,
    id: Id,
    title: &'a str,
    body: &'a str,
    author: Id,
    state: PullState,
    labels: &'a [Id],
    assignees: &'a [Id],
    milestone: Option<Id>,
    created_at: &'a str,
    updated_at: &'a str,
    closed_at: Option<&'a str>,
    pull: Option<&'a Pull>,
}

impl<'a> Candidate<'a> {
    fn pull(pull: &'a Pull) -> Self {
        Self {
            node: Node::Pull(pull.id),
            repo: pull.repo,
            number: pull.number,
            id: pull.id,
            title: &pull.title,
            body: &pull.body,
            author: pull.author,
            state: pull.state,
            labels: &pull.labels,
            assignees: &pull.assignees,
            milestone: pull.milestone,
            created_at: &pull.created_at,
            updated_at: &pull.updated_at,
            closed_at: pull.closed_at.as_deref(),
            pull: Some(pull),
        }
    }

    fn issue(issue: &'a Issue) -> Self {
        Self {
            node: Node::Issue(issue.id),
            repo: issue.repo,
            number: issue.number,
            id: issue.id,
            title: &issue.title,
            body: &issue.body,
            author: issue.author,
            state: issue.state,
            labels: &issue.labels,
            assignees: &issue.assignees,
            milestone: issue.milestone,
            created_at: &issue.created_at,
            updated_at: &issue.updated_at,
            closed_at: issue.closed_at.as_deref(),
            pull: None,
        }
    }
}

/// Returns the matching issues and pull requests, newest first unless the search sets an order.
pub(crate) fn issues(ctx: &Ctx<'_>, query: &Query) -> Vec<Node> {
    let visible: Vec<Id> = {
        let ids: Vec<Id> = ctx.state().repos.keys().copied().collect();
        ids.into_iter().filter(|id| ctx.may_see(*id)).collect()
    };
    let checks = check_states(ctx, query);
    let state = ctx.state();
    let mut found: Vec<Candidate<'_>> = state
        .pulls
        .values()
        .map(Candidate::pull)
        .chain(state.issues.values().map(Candidate::issue))
        .filter(|candidate| visible.contains(&candidate.repo))
        .filter(|candidate| matches(&state, ctx.viewer, candidate, query, &checks))
        .collect();
    let order = query
        .all("sort")
        .last()
        .and_then(|term| term.values.first())
        .map_or("created-desc", String::as_str);
    let (field, direction) = order.rsplit_once('-').unwrap_or((order, "desc"));
    found.sort_by_key(|it| {
        let key = match field {
            "updated" => it.updated_at.to_owned(),
            "comments" => {
                let comments = state.comments.values().filter(|c| c.subject == it.id);
                format!("{:08}", comments.count())
            }
            _ => it.created_at.to_owned(),
        };
        (key, it.id)
    });
    if direction != "asc" {
        found.reverse();
    }
    found.into_iter().map(|it| it.node).collect()
}

/// Returns the combined check state of each pull request's head, if the search has `status:`.
fn check_states(ctx: &Ctx<'_>, query: &Query) -> Vec<(Id, &'static str)> {
    if query.all("status").next().is_none() {
        return Vec::new();
    }
    let heads: Vec<(Id, Id, String)> = {
        let state = ctx.state();
        let heads = state.pulls.values();
        heads
            .map(|pull| (pull.id, pull.repo, pull.head_oid.clone()))
            .collect()
    };
    heads
        .into_iter()
        .filter_map(|(id, repo, oid)| {
            let contexts = contexts(ctx, repo, &oid);
            (!contexts.is_empty()).then(|| (id, rollup_state(&contexts)))
        })
        .collect()
}

fn matches(
    state: &State,
    viewer: Id,
    it: &Candidate<'_>,
    query: &Query,
    checks: &[(Id, &'static str)],
) -> bool {
    let text = format!("{}\n{}", it.title, it.body).to_lowercase();
    if !query.words.iter().all(|word| text.contains(word.as_str())) {
        return false;
    }
    // Qualifiers of repositories and owners are alternatives: one match is enough.
    let is_place = |term: &Term| {
        !term.negated && matches!(term.name.as_str(), "repo" | "user" | "org" | "owner")
    };
    let mut places = query.terms.iter().filter(|term| is_place(term)).peekable();
    if places.peek().is_some() && !places.any(|term| holds(state, viewer, it, term, checks)) {
        return false;
    }
    query
        .terms
        .iter()
        .filter(|term| !is_place(term))
        .all(|term| holds(state, viewer, it, term, checks) != term.negated || is_ignored(term))
}

/// Returns true if a qualifier does not restrict the results.
fn is_ignored(term: &Term) -> bool {
    matches!(term.name.as_str(), "sort" | "in" | "archived")
}

fn holds(
    state: &State,
    viewer: Id,
    it: &Candidate<'_>,
    term: &Term,
    checks: &[(Id, &'static str)],
) -> bool {
    term.values
        .iter()
        .any(|value| holds_one(state, viewer, it, &term.name, value, checks))
}

fn holds_one(
    state: &State,
    viewer: Id,
    it: &Candidate<'_>,
    name: &str,
    value: &str,
    checks: &[(Id, &'static str)],
) -> bool {
    let is_login = |id: Id| {
        if value == "@me" {
            id == viewer
        } else {
            let value = value.strip_prefix("app/").unwrap_or(value);
            state.login(id).eq_ignore_ascii_case(value)
        }
    };
    let commented = || {
        let mut comments = state.comments.values();
        comments.any(|comment| comment.subject == it.id && is_login(comment.author))
    };
    let reviewed = || {
        state.reviews.values().any(|review| {
            review.pull == it.id && review.state != ReviewState::Pending && is_login(review.author)
        })
    };
    let requested = || {
        it.pull.is_some_and(|pull| {
            pull.requested.iter().any(|reviewer| match reviewer {
                Reviewer::Account(id) => is_login(*id),
                Reviewer::Team(team) => state
                    .teams
                    .get(team)
                    .is_some_and(|team| team.members.iter().any(|id| is_login(*id))),
            })
        })
    };
    let mentions = || {
        let login = if value == "@me" {
            state.login(viewer)
        } else {
            value
        };
        it.body.contains(&format!("@{login}"))
    };
    match name {
        "repo" => state.full_name(it.repo).eq_ignore_ascii_case(value),
        "org" | "user" | "owner" => state
            .repos
            .get(&it.repo)
            .is_some_and(|repo| is_login(repo.owner)),
        "type"
            if state
                .issue_types
                .values()
                .any(|t| t.name.eq_ignore_ascii_case(value)) =>
        {
            let found = state.issues.get(&it.id).and_then(|issue| issue.issue_type);
            let found = found.and_then(|id| state.issue_types.get(&id));
            found.is_some_and(|it| it.name.eq_ignore_ascii_case(value))
        }
        "is" | "type" | "state" => is(state, it, value),
        "author" => is_login(it.author),
        "assignee" => match value {
            "*" => !it.assignees.is_empty(),
            _ => it.assignees.iter().any(|id| is_login(*id)),
        },
        "label" => it
            .labels
            .iter()
            .filter_map(|id| state.labels.get(id))
            .any(|label| label.name.eq_ignore_ascii_case(value)),
        "milestone" => it
            .milestone
            .and_then(|id| state.milestones.get(&id))
            .is_some_and(|milestone| milestone.title.eq_ignore_ascii_case(value)),
        "no" => match value {
            "label" => it.labels.is_empty(),
            "assignee" => it.assignees.is_empty(),
            "milestone" => it.milestone.is_none(),
            _ => true,
        },
        "base" => it.pull.is_some_and(|pull| pull.base_branch == value),
        "head" => it.pull.is_some_and(|pull| pull.head_branch == value),
        "draft" => it.pull.is_some_and(|pull| pull.draft == (value == "true")),
        "review-requested" | "user-review-requested" => requested(),
        "team-review-requested" => it.pull.is_some_and(|pull| {
            let slug = value.rsplit('/').next().unwrap_or(value);
            pull.requested.iter().any(|reviewer| {
                matches!(reviewer, Reviewer::Team(id)
                    if state.teams.get(id).is_some_and(|team| team.slug == slug))
            })
        }),
        "reviewed-by" => reviewed(),
        "commenter" => commented(),
        "mentions" => mentions(),
        "involves" => {
            is_login(it.author)
                || it.assignees.iter().any(|id| is_login(*id))
                || commented()
                || mentions()
        }
        "review" => it.pull.is_some_and(|pull| {
            let decision = decision(state, pull);
            match value {
                "none" => !state.reviews.values().any(|review| review.pull == it.id),
                "required" => decision == Some("REVIEW_REQUIRED"),
                "approved" => decision == Some("APPROVED"),
                "changes_requested" | "changes-requested" => decision == Some("CHANGES_REQUESTED"),
                _ => false,
            }
        }),
        "status" => {
            let found = checks
                .iter()
                .find(|(id, _)| *id == it.id)
                .map(|found| found.1);
            match value {
                "success" => found == Some("SUCCESS"),
                "pending" => found == Some("PENDING"),
                "failure" | "error" => matches!(found, Some("FAILURE" | "ERROR")),
                _ => false,
            }
        }
        "created" => in_range(it.created_at, value),
        "updated" => in_range(it.updated_at, value),
        "closed" => it.closed_at.is_some_and(|at| in_range(at, value)),
        "merged" => it
            .pull
            .and_then(|pull| pull.merge.as_ref())
            .is_some_and(|merge| in_range(&merge.at, value)),
        "number" => value.parse() == Ok(it.number),
        // An unknown qualifier matches nothing, so its negation matches everything.
        _ => false,
    }
}

fn is(state: &State, it: &Candidate<'_>, value: &str) -> bool {
    let private = || state.repos.get(&it.repo).is_some_and(|repo| repo.private);
    match value {
        "pr" | "pull-request" => it.pull.is_some(),
        "issue" => it.pull.is_none(),
        "open" => it.state == PullState::Open,
        "closed" => it.state != PullState::Open,
        "merged" => it.state == PullState::Merged,
        "unmerged" => it.pull.is_some() && it.state != PullState::Merged,
        "draft" => it.pull.is_some_and(|pull| pull.draft),
        "locked" => it.pull.is_some_and(|pull| pull.locked.is_some()),
        "public" => !private(),
        "private" => private(),
        _ => false,
    }
}

/// Returns true if a time is in a range, such as `>=2026-01-01`, `2026-01-01..2026-02-01` or a
/// single day.
fn in_range(at: &str, range: &str) -> bool {
    let cut = |bound: &str| at.get(..bound.len()).unwrap_or(at).to_owned();
    if let Some((from, to)) = range.split_once("..") {
        let above = from == "*" || cut(from).as_str() >= from;
        let below = to == "*" || cut(to).as_str() <= to;
        return above && below;
    }
    for (sign, keep) in [
        (">=", (|a: &str, b: &str| a >= b) as fn(&str, &str) -> bool),
        ("<=", |a, b| a <= b),
        (">", |a, b| a > b),
        ("<", |a, b| a < b),
    ] {
        if let Some(bound) = range.strip_prefix(sign) {
            return keep(&cut(bound), bound);
        }
    }
    cut(range) == range
}

/// Returns the accounts whose login or name contains the words.
pub(crate) fn accounts(ctx: &Ctx<'_>, query: &Query) -> Vec<Node> {
    let state = ctx.state();
    state
        .accounts
        .values()
        .filter(|account| {
            let name = account.name.as_deref().unwrap_or_default();
            let text = format!("{} {name}", account.login).to_lowercase();
            query.words.iter().all(|word| text.contains(word.as_str()))
        })
        .map(|account| account_node(&state, account.id))
        .collect()
}

/// Returns the repositories whose name contains the words.
pub(crate) fn repositories(ctx: &Ctx<'_>, query: &Query) -> Vec<Node> {
    let ids: Vec<Id> = {
        let state = ctx.state();
        let repos = state.repos.values().filter(|repo| {
            let text = state.full_name(repo.id).to_lowercase();
            query.words.iter().all(|word| text.contains(word.as_str()))
                && query
                    .all("repo")
                    .all(|term| term.values.iter().any(|it| it.eq_ignore_ascii_case(&text)))
        });
        repos.map(|repo| repo.id).collect()
    };
    ids.into_iter()
        .filter(|id| ctx.may_see(*id))
        .map(Node::Repo)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(negated: bool, name: &str, values: &[&str]) -> Term {
        Term {
            negated,
            name: name.to_owned(),
            values: values.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    #[test]
    fn qualifiers_are_distinguished_from_words() {
        let query = Query::parse(r#"fix "two words" repo:o/r -label:"good, first" is:open x:"#);
        assert_eq!(query.words, ["fix", "two words", "x:"]);
        assert_eq!(
            query.terms,
            [
                term(false, "repo", &["o/r"]),
                term(true, "label", &["good, first"]),
                term(false, "is", &["open"]),
            ]
        );
    }

    #[test]
    fn commas_outside_quotes_are_alternatives() {
        let query = Query::parse(r#"label:bug,"a b",c"#);
        assert_eq!(query.terms, [term(false, "label", &["bug", "a b", "c"])]);
    }

    #[test]
    fn escaped_quote_stays_in_value() {
        let query = Query::parse(r#"label:"say \"hi\"""#);
        assert_eq!(query.terms, [term(false, "label", &[r#"say "hi""#])]);
    }

    #[test]
    fn date_ranges_compare_at_the_written_precision() {
        let at = "2026-01-15T10:00:00Z";
        for (range, inside) in [
            ("2026-01-15", true),
            ("2026-01-14", false),
            (">=2026-01-15", true),
            (">2026-01-15", false),
            ("<2026-02-01", true),
            ("<=2026-01-14", false),
            ("2026-01-01..2026-01-31", true),
            ("*..2026-01-01", false),
            ("2026-01-15T10:00:00Z..*", true),
        ] {
            assert_eq!(in_range(at, range), inside, "{range}");
        }
    }
}
