//! Lists issues: the repository's own list, or a search if a filter needs one.

use std::collections::HashSet;

use forge_core::{
    Cursor, Page, PageReq, RepoId, Result, Warning, call,
    model::{Issue, IssueFields, IssueFilter, IssueQuery},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    GitHub,
    api::GqlAnswer,
    error::{GqlError, is_without_projects, no_repository},
    gql::{
        GqlDocument,
        lookups::Lookups,
        types::{self as wire, Nodes},
    },
    map, owner_and_name,
    paged::{MAX_PAGE_SIZE, missing_rows_warning},
    pulls::{
        query::{enclosed, names_state, quoted},
        view::projects_unread,
    },
    renamed::{current_name, renamed_warning},
    repo_variables,
};

use super::sections::{FIRST_COMMENTS, access, need_board, selection};

const SCHEME: &str = "github-issues";

#[derive(Deserialize)]
struct IssueListData {
    repository: Option<IssuesOf>,
    search: Option<IssueSearchData>,
    #[serde(flatten)]
    lookups: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IssuesOf {
    #[serde(default)]
    name_with_owner: Option<String>,
    #[serde(default)]
    issues: Option<Nodes<wire::Issue>>,
}

impl IssueListData {
    fn current_name(&self, repo: &RepoId) -> Option<RepoId> {
        let found = self.repository.as_ref().filter(|_| self.search.is_some())?;
        current_name(repo, found.name_with_owner.as_deref())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IssueSearchData {
    issue_count: Option<u64>,
    #[serde(flatten)]
    nodes: Nodes<wire::Issue>,
}

impl GitHub {
    pub(super) async fn list_issues(
        &self,
        repo: &RepoId,
        query: &IssueQuery,
        page: PageReq,
    ) -> Result<Page<Issue>> {
        let key = (repo.comparison_key(), query);
        let mut after = page.position(SCHEME, &key)?.map(str::to_owned);
        let searches = needs_search(query);
        let name = if searches { "IssueSearch" } else { "IssueList" };
        let mut lookups = self.board_lookup(&query.fields);
        let text_of = |fields: &IssueFields, lookups: &Lookups| {
            let mut document = GqlDocument::query(name);
            document.fragment("IssueSections", "Issue", &selection(fields, FIRST_COMMENTS));
            lookups.select_boards(&mut document);
            document.text()
        };
        let mut fields = query.fields.clone();
        let mut text = text_of(&fields, &lookups);
        let mut searched = self.renamed.searched_name(repo);
        let mut filters = if searches {
            search_variables(&searched, query)?
        } else {
            let mut own = repo_variables(repo)?;
            own.insert("states".into(), json!(states(query.state)));
            let direction = if query.oldest_first { "ASC" } else { "DESC" };
            own.insert("direction".into(), json!(direction));
            Value::Object(own)
        };
        let mut result = Page::new(Vec::new());
        if searches && searched != *repo {
            result.warnings.push(renamed_warning(repo, &searched));
        }
        let (mut seen, mut scanned) = (HashSet::new(), 0);
        let mut size = MAX_PAGE_SIZE;
        loop {
            let first = size.min(page.limit - result.items.len());
            let mut variables = filters.clone();
            if let Value::Object(map) = &mut variables {
                lookups.bind_boards(map);
                map.insert("first".into(), json!(first));
                map.insert("after".into(), json!(after));
            }
            // If an answer is too long, the page of issues is halved first. Pages of comments are
            // halved only if a single issue is read.
            let answer = match first {
                1 => {
                    let (access, mut size) = (access(&fields), MAX_PAGE_SIZE);
                    let api = &self.api;
                    api.query_in_pages(access, &text, &variables, &mut size)
                        .await
                }
                _ => self.api.query_as(access(&fields), &text, &variables).await,
            };
            let mut answer: GqlAnswer<IssueListData> = match answer {
                Err(error) if call::is_spent(&error) && !result.items.is_empty() => {
                    result.warnings.push(call::cut_list(&error));
                    break;
                }
                Err(error) if first > 1 && forge_http::is_too_long(&error) => {
                    size = first / 2;
                    continue;
                }
                answer => answer?,
            };
            let current = answer
                .data
                .as_ref()
                .and_then(|data| data.current_name(repo));
            if let Some(current) = current.filter(|_| searched == *repo) {
                self.renamed.keep(repo, &current);
                filters = search_variables(&current, query)?;
                result.warnings.push(renamed_warning(repo, &current));
                searched = current;
                continue;
            }
            let (owner, name) = owner_and_name(&searched)?;
            let here = format!("/{owner}/{name}/issues/").to_lowercase();
            let roots = answer.data.as_ref().map(|data| &data.lookups);
            self.keep_board(&fields, &lookups, roots, &mut answer.errors);
            need_board(self, &fields, &answer)?;
            let errors = answer.errors.len();
            let (nodes, total) = match self.issue_nodes(repo, answer, &mut result.warnings) {
                Err(error) if fields.projects && is_without_projects(&error) => {
                    fields.projects = false;
                    text = text_of(&fields, &lookups);
                    result.warnings.push(projects_unread(&error));
                    continue;
                }
                found => found?,
            };
            result.total = total;
            let counted = total.filter(|_| after.is_none());
            let gaps = missing_rows_warning(&self.info.host, "issue(s)", &nodes, counted, errors);
            result.warnings = map::merge_warnings(result.warnings, gaps.into_iter().collect());
            let next = nodes.next().filter(|n| Some(n) != after.as_ref());
            for mut issue in nodes.into_vec() {
                scanned += 1;
                let number = issue.number;
                let comments = issue.all_comments.take().unwrap_or_default();
                // A search index can lag, so the state is checked again below.
                let own = query.search.as_deref().unwrap_or_default();
                // On Enterprise Server before 3.18, a `repo:` in the caller's search text adds other
                // repositories. Their issues are skipped.
                let is_here = own.is_empty() || issue.url.to_lowercase().contains(&here);
                let state = names_state(own) || state_fits(query.state, &issue.state);
                let fits = number > 0 && is_here && state;
                if !fits || !seen.insert(number) {
                    continue;
                }
                match self.issue_with(repo, issue, &fields) {
                    Ok(mut issue) => {
                        if fields.comments {
                            let id = issue.id.clone();
                            let warnings = &mut issue.warnings;
                            let all = self.all_comments(&id, comments, warnings).await;
                            issue.comments = Some(all);
                        }
                        result.items.push(issue);
                    }
                    Err(e) => result.warnings.push(Warning::new(format!(
                        "issue {number} could not be read: {}",
                        e.message()
                    ))),
                }
            }
            after = next;
            if after.is_none() || result.items.len() >= page.limit {
                break;
            }
            // The first page may have cached the board, so further pages need not look it up.
            lookups = self.board_lookup(&fields);
            text = text_of(&fields, &lookups);
        }
        self.check_board(&fields, &result.items).await?;
        result.scanned = Some(scanned).filter(|n| *n > result.items.len() as u64);
        result.next = after.map(|position| Cursor::new(SCHEME, &key, &position));
        Ok(result)
    }

    fn issue_nodes(
        &self,
        repo: &RepoId,
        mut answer: GqlAnswer<IssueListData>,
        warnings: &mut Vec<Warning>,
    ) -> Result<(Nodes<wire::Issue>, Option<u64>)> {
        let found = match answer.data.take() {
            Some(IssueListData {
                search: Some(found),
                ..
            }) => (found.nodes, found.issue_count),
            Some(IssueListData {
                repository:
                    Some(IssuesOf {
                        issues: Some(nodes),
                        ..
                    }),
                ..
            }) => {
                let total = nodes.total_count;
                (nodes, total)
            }
            _ if answer.errors.is_empty() => {
                return Err(no_repository(repo));
            }
            _ => return Err(self.api.first_error(&answer)),
        };
        // A search finds nothing in a repository that does not exist.
        let is_gone = |e: &GqlError| e.names() == ["repository"];
        if answer.errors.iter().any(is_gone) {
            return Err(self.api.first_error(&answer));
        }
        warnings.extend(
            self.api
                .warnings(&answer, |_| ("a part of an issue".to_owned(), None)),
        );
        Ok(found)
    }
}

/// Returns the variables of a search in `repo`.
fn search_variables(repo: &RepoId, query: &IssueQuery) -> Result<Value> {
    let mut variables = repo_variables(repo)?;
    variables.insert("query".into(), json!(search(repo, query)?));
    Ok(Value::Object(variables))
}

fn needs_search(q: &IssueQuery) -> bool {
    q.author.is_some() || q.assignee.is_some() || !q.labels.is_empty() || q.searches()
}

/// Returns the query in GitHub's search syntax.
fn search(repo: &RepoId, q: &IssueQuery) -> Result<String> {
    let (owner, name) = owner_and_name(repo)?;
    let own = q.search.as_deref().unwrap_or_default().trim();
    let mut words = vec![enclosed(own)?];
    words.push(format!("repo:{owner}/{name}"));
    words.push("is:issue".to_owned());
    if !names_state(own) {
        words.extend(state_word(q.state).map(str::to_owned));
    }
    words.extend(qualifiers(q));
    if !own.contains("sort:") {
        let order = if q.oldest_first { "asc" } else { "desc" };
        words.push(format!("sort:created-{order}"));
    }
    words.retain(|word| !word.is_empty());
    Ok(words.join(" "))
}

/// Returns the search text for GitHub's issues page, with the words in the same order as gh.
pub(crate) fn words_for_web(q: &IssueQuery) -> String {
    let own = q.search.as_deref().unwrap_or_default().trim();
    let mut words = qualifiers(q);
    if !names_state(own) {
        words.extend(state_word(q.state).map(str::to_owned));
    }
    words.push("type:issue".to_owned());
    words.sort();
    if !own.is_empty() {
        // As in gh, the page of issues takes operators, and the page of pull requests does not.
        words.insert(0, enclosed(own).unwrap_or_else(|_| own.to_owned()));
    }
    words.join(" ")
}

fn state_word(state: IssueFilter) -> Option<&'static str> {
    match state {
        IssueFilter::Open => Some("state:open"),
        IssueFilter::Closed => Some("state:closed"),
        IssueFilter::All => None,
    }
}

/// Returns the search qualifiers for all filters except the state.
fn qualifiers(q: &IssueQuery) -> Vec<String> {
    let mut words = Vec::new();
    for (key, value) in [
        ("author", &q.author),
        ("assignee", &q.assignee),
        ("mentions", &q.mention),
        ("milestone", &q.milestone),
    ] {
        words.extend(value.as_ref().map(|v| format!("{key}:{}", quoted(v))));
    }
    words.extend(q.issue_type.as_ref().map(|t| format!("type:{}", quoted(t))));
    let app = q.app.as_ref().map(|app| quoted(&format!("app/{app}")));
    words.extend(app.map(|app| format!("author:{app}")));
    words.extend(q.labels.iter().map(|l| format!("label:{}", quoted(l))));
    words
}

fn states(state: IssueFilter) -> &'static [&'static str] {
    match state {
        IssueFilter::Open => &["OPEN"],
        IssueFilter::Closed => &["CLOSED"],
        IssueFilter::All => &["OPEN", "CLOSED"],
    }
}

fn state_fits(wanted: IssueFilter, state: &str) -> bool {
    states(wanted).contains(&state)
}
