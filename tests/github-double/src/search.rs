//! Implements GitHub's search: qualifiers for issues, pull requests, repositories and accounts.

use super::{
    graphql::{Ctx, Fail, Node, account_node},
    resolve::{contexts, decision, rollup_state},
    state::{Id, Issue, Pull, PullState, ReviewState, Reviewer, State},
};

/// A search as a user types it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Query {
    condition: Condition,
    /// The value of `sort:`, wherever the search has it.
    sort: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Condition {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    /// A word that the title or the body must contain, in lower case.
    Word(String),
    Term(Term),
}

/// A search qualifier, such as `label:"good first issue"`.
#[derive(Debug, PartialEq, Eq)]
struct Term {
    name: String,
    /// Alternative values: `label:a,b` has two.
    values: Vec<String>,
}

impl Query {
    /// Parses a search: a space means AND and binds tighter than `OR`. A token that is not a
    /// qualifier is a word.
    ///
    /// # Errors
    /// GitHub's refusal of more than five operators.
    pub(crate) fn parse(text: &str) -> Result<Self, Fail> {
        let tokens = tokens(text);
        let operators = tokens.iter();
        let operators = operators.filter(|it| matches!(it.as_str(), "AND" | "OR" | "NOT"));
        if operators.count() > 5 {
            return Err(Fail::unprocessable(
                "More than five AND / OR / NOT operators were used.",
            ));
        }
        let mut parser = Parser {
            tokens: tokens.into_iter().peekable(),
            sort: None,
        };
        let mut all = vec![parser.any()];
        // A parenthesis that closes nothing is skipped.
        while parser.tokens.next().is_some() {
            all.push(parser.any());
        }
        Ok(Self {
            condition: group(Condition::All, all),
            sort: parser.sort,
        })
    }
}

impl Condition {
    fn holds(&self, word: &dyn Fn(&str) -> bool, term: &dyn Fn(&Term) -> bool) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(word, term)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(word, term)),
            Self::Not(part) => !part.holds(word, term),
            Self::Word(text) => word(text),
            Self::Term(it) => term(it),
        }
    }

    fn has_term(&self, name: &str) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(|part| part.has_term(name)),
            Self::Not(part) => part.has_term(name),
            Self::Word(_) => false,
            Self::Term(term) => term.name == name,
        }
    }
}

/// Joins conditions; a single one stays as it is.
fn group(join: fn(Vec<Condition>) -> Condition, mut parts: Vec<Condition>) -> Condition {
    match parts.len() {
        1 => parts.remove(0),
        _ => join(parts),
    }
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<String>>,
    sort: Option<String>,
}

impl Parser {
    /// Parses alternatives, up to a closing parenthesis.
    fn any(&mut self) -> Condition {
        let mut any = vec![self.all()];
        while self.tokens.next_if_eq("OR").is_some() {
            any.push(self.all());
        }
        group(Condition::Any, any)
    }

    fn all(&mut self) -> Condition {
        let mut all = Vec::new();
        while let Some(token) = self.tokens.next_if(|it| !matches!(it.as_str(), "OR" | ")")) {
            all.extend(self.condition(&token));
        }
        group(Condition::All, all)
    }

    /// Parses a condition that begins with `token`, or returns `None` if the token does not
    /// restrict the results.
    fn condition(&mut self, token: &str) -> Option<Condition> {
        match token {
            "AND" => None,
            "(" => {
                let inner = self.any();
                self.tokens.next();
                Some(inner)
            }
            "NOT" => {
                let next = self.tokens.next_if(|it| it != ")")?;
                Some(Condition::Not(Box::new(self.condition(&next)?)))
            }
            "-" if self.tokens.next_if_eq("(").is_some() => {
                Some(Condition::Not(Box::new(self.condition("(")?)))
            }
            _ => self.leaf(token),
        }
    }

    fn leaf(&mut self, token: &str) -> Option<Condition> {
        let (negated, rest) = match token.strip_prefix('-') {
            Some(rest) if rest.contains(':') => (true, rest),
            _ => (false, token),
        };
        let leaf = match rest.split_once(':') {
            Some((name, value)) if is_qualifier(name) && !value.is_empty() => {
                let (name, values) = (name.to_lowercase(), values(value));
                match name.as_str() {
                    "sort" => {
                        self.sort = values.into_iter().next();
                        return None;
                    }
                    "in" | "archived" => return None,
                    _ => Condition::Term(Term { name, values }),
                }
            }
            _ => Condition::Word(unquote(rest).to_lowercase()),
        };
        Some(match negated {
            true => Condition::Not(Box::new(leaf)),
            false => leaf,
        })
    }
}

fn is_qualifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|it| it.is_ascii_alphabetic() || it == '-')
}

/// Splits a search at white space outside quotes. A parenthesis outside quotes is a token.
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
            it if !quoted && (it.is_whitespace() || matches!(it, '(' | ')')) => {
                tokens.push(std::mem::take(&mut token));
                tokens.push(it.to_string());
            }
            _ => token.push(letter),
        }
    }
    tokens.push(token);
    tokens.retain(|token| !token.trim().is_empty());
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
    let order = query.sort.as_deref().unwrap_or("created-desc");
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
    if !query.condition.has_term("status") {
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
    query.condition.holds(&|word| text.contains(word), &|term| {
        let mut values = term.values.iter();
        values.any(|value| holds_one(state, viewer, it, &term.name, value, checks))
    })
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
            query
                .condition
                .holds(&|word| text.contains(word), &|_| true)
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
            query.condition.holds(&|word| text.contains(word), &|term| {
                let mut values = term.values.iter();
                term.name != "repo" || values.any(|it| it.eq_ignore_ascii_case(&text))
            })
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

    fn word(text: &str) -> Condition {
        Condition::Word(text.to_owned())
    }

    fn term(name: &str, values: &[&str]) -> Condition {
        Condition::Term(Term {
            name: name.to_owned(),
            values: values.iter().map(|it| (*it).to_owned()).collect(),
        })
    }

    fn not(condition: Condition) -> Condition {
        Condition::Not(Box::new(condition))
    }

    fn parsed(text: &str) -> Condition {
        Query::parse(text).unwrap().condition
    }

    #[test]
    fn qualifiers_are_distinguished_from_words() {
        assert_eq!(
            parsed(r#"fix "two words" repo:o/r -label:"good, first" is:open x:"#),
            Condition::All(vec![
                word("fix"),
                word("two words"),
                term("repo", &["o/r"]),
                not(term("label", &["good, first"])),
                term("is", &["open"]),
                word("x:"),
            ])
        );
    }

    #[test]
    fn space_binds_tighter_than_or() {
        let of = Condition::All;
        let wanted = Condition::Any(vec![word("a"), of(vec![word("b"), word("c")])]);
        assert_eq!(parsed("a OR b c"), wanted);
        assert_eq!(parsed("(a OR b AND c)"), wanted);
        let either = || Condition::Any(vec![word("a"), word("b")]);
        let repo = || term("repo", &["o/r"]);
        assert_eq!(parsed("( a OR b ) repo:o/r"), of(vec![either(), repo()]));
        assert_eq!(
            parsed("repo:o/r -(a OR b)"),
            of(vec![repo(), not(either())])
        );
        assert_eq!(parsed("NOT a \"OR\""), of(vec![not(word("a")), word("or")]));
        assert_eq!(parsed("(a) OR b)"), of(vec![either(), of(vec![])]));
    }

    #[test]
    fn sort_qualifier_is_taken_anywhere() {
        let query = Query::parse("(a OR b sort:updated-asc) in:title c").unwrap();
        assert_eq!(query.sort.as_deref(), Some("updated-asc"));
        let either = Condition::Any(vec![word("a"), word("b")]);
        assert_eq!(query.condition, Condition::All(vec![either, word("c")]));
    }

    #[test]
    fn commas_outside_quotes_are_alternatives() {
        assert_eq!(
            parsed(r#"label:bug,"a b",c"#),
            term("label", &["bug", "a b", "c"])
        );
    }

    #[test]
    fn escaped_quote_stays_in_value() {
        assert_eq!(
            parsed(r#"label:"say \"hi\"""#),
            term("label", &[r#"say "hi""#])
        );
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
