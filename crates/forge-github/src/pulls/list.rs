//! Lists pull requests: the repository's own list, or a search if a filter needs one.

use std::collections::HashSet;

use forge_core::{
    Action, Arg, Cursor, Error, ErrorKind, Hint, MAX_TOUCH_SCAN, Page, PageReq, Param, PathFilter,
    RepoId, Result, Retry, Warning, call,
    model::{PrFields, PullQuery, PullRequest},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{query, view};
use crate::{
    GitHub,
    api::{GqlAnswer, GqlCall, TokenChoice},
    error::GqlError,
    error::no_repository,
    gql::{
        GqlDocument,
        fields::{self, BaseFields, Required, Section},
        types::{self as wire, Nodes},
        with_page_size,
    },
    map,
    paged::{MAX_PAGE_SIZE, missing_rows_warning},
    renamed::{current_name, renamed_warning},
    repo_variables, weight,
};

const SCHEME: &str = "github-pulls";
/// The page size for rows that are slow to read; halved if GitHub times out.
pub(super) const HEAVY_PAGE_SIZE: usize = 25;
/// The maximum count of results in a GitHub search.
const MAX_SEARCH_RESULTS: u64 = 1000;

#[derive(Deserialize)]
struct PullListData {
    repository: Option<PullsOf>,
    search: Option<PullSearchData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullsOf {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name_with_owner: Option<String>,
    #[serde(default)]
    pull_requests: Option<Nodes<wire::Pull>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullSearchData {
    issue_count: Option<u64>,
    #[serde(flatten)]
    nodes: Nodes<wire::Pull>,
}

impl PullSearchData {
    /// Removes rows of repositories other than `repository`, and returns whether there were any.
    /// Enterprise Server before 3.18 takes several `repo:` as alternatives, so one in the caller's
    /// search text adds other repositories to the search.
    fn keep_to(&mut self, repository: &str) -> bool {
        let mut elsewhere = false;
        for row in self.nodes.nodes.iter_mut().flatten() {
            let is_other = |pull: &wire::Pull| {
                pull.number > 0
                    && pull
                        .repository
                        .as_ref()
                        .is_none_or(|of| of.id != repository)
            };
            if row.as_ref().is_some_and(is_other) {
                *row = None;
                elsewhere = true;
            }
        }
        if elsewhere {
            // The count of the search includes other repositories, so it is dropped.
            self.issue_count = None;
        }
        elsewhere
    }
}

/// Splits a cursor in two: the number of the last pull request shown, and GitHub's cursor for the
/// page that contains it.
fn position_in_chunk(position: &str) -> (Option<u64>, Option<String>) {
    let (number, after) = position.split_once('@').unwrap_or(("", position));
    let after = Some(after).filter(|after| !after.is_empty());
    (number.parse().ok(), after.map(str::to_owned))
}

/// Returns the GraphQL selection of a pull request in a list.
pub(super) fn row(fields: PrFields) -> String {
    let base = if fields.contains(PrFields::ROW) {
        BaseFields::Row
    } else {
        BaseFields::Core
    };
    fields::selection(base, fields, Required::No)
}

/// A page of GitHub's list.
struct PullChunk {
    nodes: Nodes<wire::Pull>,
    total: Option<u64>,
    warnings: Vec<Warning>,
    /// The indices of the rows whose checks GitHub could not read in full.
    unread_checks: HashSet<usize>,
    /// The current name of the repository, for a search under an old name.
    current: Option<RepoId>,
}

impl GitHub {
    pub(super) async fn list_pulls(
        &self,
        repo: &RepoId,
        query: &PullQuery,
        page: PageReq,
    ) -> Result<Page<PullRequest>> {
        let key = (repo.comparison_key(), query);
        let touches = PathFilter::of(query)?;
        let cursor = page.position(SCHEME, &key)?;
        let (mut behind, mut after) = match cursor {
            Some(position) if touches.is_some() => position_in_chunk(position),
            position => (None, position.map(str::to_owned)),
        };
        let searches = query::needs_search(query);
        let document = GqlDocument::query(if searches { "PullSearch" } else { "PullList" });
        let mut fields = query.fields;
        let shows_files = fields.contains(PrFields::FILES);
        if touches.is_some() {
            fields |= PrFields::FILES;
        }
        let text_of = |fields| {
            let mut document = document.clone();
            document.fragment("PullSections", "PullRequest", &row(fields));
            document.text()
        };
        let mut text = text_of(fields);
        let mut searched = self.renamed.searched_name(repo);
        let mut own = repo_variables(repo)?;
        if searches {
            own = search_variables(&searched, query)?;
        } else {
            own.insert("states".into(), json!(query::states(query.state)));
            own.insert("base".into(), json!(query.base));
            own.insert("head".into(), json!(query.head));
            if query.prefers_updated {
                let order = json!({ "field": "UPDATED_AT", "direction": "DESC" });
                own.insert("order".into(), order);
            }
        }
        let mut variables = Value::Object(own);
        let heavy = fields::is_heavy(fields);
        let mut size = if heavy {
            HEAVY_PAGE_SIZE
        } else {
            MAX_PAGE_SIZE
        };
        let mut section_size = MAX_PAGE_SIZE;
        let mut result = Page::new(Vec::new());
        if searches && searched != *repo {
            result.warnings.push(renamed_warning(repo, &searched));
        }
        let mut seen = HashSet::new();
        let mut scanned = 0;
        let mut counted = true;
        let mut found = Vec::new();
        'pages: loop {
            let first = match touches {
                Some(_) => size,
                None => size.min(page.limit - result.items.len()),
            };
            if let Value::Object(map) = &mut variables {
                map.insert("first".into(), json!(first));
                map.insert("after".into(), json!(after));
            }
            let chunk = match self.chunk(&searched, &text, &variables, heavy).await {
                Ok(chunk) => chunk,
                Err(error) if call::is_spent(&error) && !result.items.is_empty() => {
                    result.warnings.push(call::cut_list(&error));
                    break;
                }
                Err(error) if first > 1 && needs_smaller_pages(heavy, &error) => {
                    size = first / 2;
                    tracing::debug!(size, "the page was too much work, halving it");
                    continue;
                }
                // The texts of a single pull request are too long for one answer, so their lists
                // are read in smaller pages.
                Err(error)
                    if section_size > 1 && has_texts(fields) && forge_http::is_too_long(&error) =>
                {
                    section_size /= 2;
                    text = with_page_size(&text_of(fields), section_size);
                    continue;
                }
                Err(error) if needs_smaller_pages(heavy, &error) => {
                    return Err(error.with_hint(
                        Hint::new(
                            "ask for fewer fields, since even one pull request at a time is too much",
                        )
                        .with_action(Action::again(&[(Param::Include, Arg::Choose)])),
                    ));
                }
                Err(error) if view::is_without_projects(fields, &error) => {
                    fields = fields.without(PrFields::PROJECTS);
                    text = with_page_size(&text_of(fields), section_size);
                    result.warnings.push(view::projects_unread(&error));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(current) = chunk.current.filter(|_| searched == *repo) {
                self.renamed.keep(repo, &current);
                variables = Value::Object(search_variables(&current, query)?);
                result.warnings.push(renamed_warning(repo, &current));
                searched = current;
                continue;
            }
            counted &= chunk.total.is_some();
            result.total = chunk.total.filter(|_| counted && touches.is_none());
            result.warnings = map::merge_warnings(result.warnings, chunk.warnings);
            let next = chunk.nodes.next().filter(|n| Some(n) != after.as_ref());
            let before = result.items.len();
            let rows = chunk.nodes.nodes.unwrap_or_default();
            let is_last = |row: &Option<wire::Pull>| row.as_ref().map(|p| p.number) == behind;
            let skip = match behind {
                Some(_) => rows.iter().position(is_last).map_or(0, |at| at + 1),
                None => 0,
            };
            behind = None;
            for (i, row) in rows.into_iter().enumerate().skip(skip) {
                let Some(mut pull) = row else { continue };
                let number = pull.number;
                if touches.is_some() && result.items.len() >= page.limit {
                    // This page is full before the end of GitHub's page. The next page therefore
                    // continues after the last row shown.
                    let last = result.items.last().and_then(|p: &PullRequest| p.number);
                    let began = after.as_deref().unwrap_or_default();
                    let position = format!("{}@{began}", last.unwrap_or_default());
                    result.next = Some(Cursor::new(SCHEME, &key, &position));
                    break 'pages;
                }
                scanned += 1;
                let fits = pull.number > 0 && (!searches || query::matches_query(query, &pull));
                if !fits || !seen.insert(pull.number) {
                    continue;
                }
                let mut warnings = Vec::new();
                if let Some(touches) = &touches {
                    match self.is_touching(touches, &mut pull).await {
                        Ok(true) => {}
                        Ok(false) => continue,
                        Err(unread) => {
                            result.warnings.extend(unread);
                            continue;
                        }
                    }
                    if !shows_files {
                        pull.files = None;
                    }
                }
                warnings.extend(self.complete(&mut pull).await);
                if chunk.unread_checks.contains(&i) {
                    warnings.push(incomplete_checks_warning());
                }
                if fields.contains(PrFields::TO_CHANGE) && touches.is_none() {
                    found.push(pull.clone());
                }
                let shown = match shows_files {
                    true => fields,
                    false => fields.without(PrFields::FILES),
                };
                match self.domain(repo, pull, shown, warnings) {
                    Ok(pull) => result.items.push(pull),
                    Err(e) => result.warnings.push(unreadable_pull_warning(number, &e)),
                }
            }
            after = next;
            // If no result on this page of the search is in the repository, the next pages may have
            // none as well. The list's page therefore ends here, and its cursor continues the
            // search.
            let is_elsewhere = !counted && result.items.len() == before;
            if after.is_none() || result.items.len() >= page.limit || is_elsewhere {
                break;
            }
            if let Some(touches) = touches.as_ref().filter(|_| scanned >= MAX_TOUCH_SCAN) {
                result.warnings.push(touches.scan_ended());
                break;
            }
        }
        if searches && result.total.is_some_and(|n| n > MAX_SEARCH_RESULTS) && after.is_none() {
            result.warnings.push(
                Warning::new(format!(
                    "a search on {} finds no more than {MAX_SEARCH_RESULTS}",
                    self.info.host
                ))
                .with_hint("narrow it, or list without filters that need a search"),
            );
        }
        // Only complete rows are cached.
        if result.warnings.is_empty() && !found.is_empty() {
            self.known.keep(repo, fields, found);
        }
        result.scanned = Some(scanned).filter(|n| *n > result.items.len() as u64);
        if result.next.is_none() {
            let next = after.map(|after| match touches {
                Some(_) => format!("@{after}"),
                None => after,
            });
            result.next = next.map(|position| Cursor::new(SCHEME, &key, &position));
        }
        Ok(result)
    }

    /// Returns whether a pull request changes a wanted file. Reads the files after the first
    /// hundred only if no wanted file is among the first hundred. Fails with warnings if files
    /// cannot be read.
    async fn is_touching(
        &self,
        touches: &PathFilter,
        pull: &mut wire::Pull,
    ) -> std::result::Result<bool, Vec<Warning>> {
        let is_touched = |pull: &wire::Pull| {
            let files = pull.files.iter().filter_map(|files| files.nodes.as_ref());
            let mut files = files.flatten().flatten();
            files.any(|file| touches.matches(&file.path))
        };
        if is_touched(pull) {
            return Ok(true);
        }
        if pull.files.as_ref().and_then(Nodes::next).is_none() {
            return Ok(false);
        }
        let unread = self.complete(pull).await;
        if is_touched(pull) {
            return Ok(true);
        }
        match unread.is_empty() {
            true => Ok(false),
            false => Err(unread),
        }
    }

    async fn chunk(
        &self,
        repo: &RepoId,
        text: &str,
        variables: &Value,
        heavy: bool,
    ) -> Result<PullChunk> {
        let retries = heavy.then_some(0);
        let call = GqlCall {
            document: text,
            variables,
            write: false,
            access: TokenChoice::Account,
            retries,
        };
        let mut answer: GqlAnswer<PullListData> = self.api.graphql(call).await?;
        let is_first = variables.get("after").is_none_or(Value::is_null);
        let errors = answer.errors.len();
        let missing_rows_warning = |rows: &Nodes<wire::Pull>, total: Option<u64>| {
            let counted = total.filter(|_| is_first);
            missing_rows_warning(&self.info.host, "pull request(s)", rows, counted, errors)
        };
        let mut elsewhere = false;
        let mut current = None;
        let (nodes, total, gaps) = match answer.data.take() {
            Some(PullListData {
                search: Some(mut found),
                repository: Some(own),
            }) => {
                current = current_name(repo, own.name_with_owner.as_deref());
                let gaps = missing_rows_warning(&found.nodes, found.issue_count);
                elsewhere = found.keep_to(&own.id);
                (found.nodes, found.issue_count, gaps)
            }
            Some(PullListData {
                repository:
                    Some(PullsOf {
                        pull_requests: Some(nodes),
                        ..
                    }),
                ..
            }) => {
                let total = nodes.total_count;
                let gaps = missing_rows_warning(&nodes, total);
                (nodes, total, gaps)
            }
            _ if answer.errors.is_empty() => {
                return Err(no_repository(repo));
            }
            _ => return Err(self.api.first_error(&answer)),
        };
        let mut warnings = self.api.warnings(&answer, part_of_row);
        warnings.extend(gaps);
        if elsewhere {
            warnings.push(
                Warning::new(format!("search results outside of {repo} are left out")).with_hint(
                    Hint::new("name the other repository instead: a list covers one repository")
                        .with_action(Action::again(&[(Param::Repo, Arg::Choose)])),
                ),
            );
        }
        let unread = answer.errors.iter().filter_map(row_with_unread_checks);
        Ok(PullChunk {
            nodes,
            total,
            warnings,
            unread_checks: unread.collect(),
            current,
        })
    }
}

/// Returns the variables of a search in `repo`.
fn search_variables(repo: &RepoId, query: &PullQuery) -> Result<Map<String, Value>> {
    let mut variables = repo_variables(repo)?;
    variables.insert("query".into(), json!(query::search(repo, query)?));
    Ok(variables)
}

/// Returns the part of a row that an error concerns: its name for messages, and its field of the
/// model.
pub(super) fn part_of_row(e: &GqlError) -> (String, Option<&'static str>) {
    let names = e.names();
    let nodes = names.iter().position(|name| *name == "nodes");
    match nodes.map(|at| at + 1).filter(|at| *at < names.len()) {
        Some(depth) => {
            let what = view::title(e, depth);
            (
                format!("{what} of a pull request"),
                view::model_field(e, depth),
            )
        }
        None => ("a part of a pull request".to_owned(), None),
    }
}

/// Returns the index of the row whose checks an error concerns.
pub(super) fn row_with_unread_checks(e: &GqlError) -> Option<usize> {
    let path = e.path.as_ref()?;
    let nodes = path.iter().position(|step| step == "nodes")?;
    let (row, key) = (path.get(nodes + 1)?, path.get(nodes + 2)?);
    let row = row.as_u64()?.try_into().ok()?;
    (key == Section::Checks.key()).then_some(row)
}

/// Returns the warning for a pull request that cannot be mapped.
pub(super) fn unreadable_pull_warning(number: u64, error: &Error) -> Warning {
    let message = error.message();
    Warning::new(format!(
        "pull request {number} could not be read: {message}"
    ))
}

/// Returns the warning for a row whose checks are incomplete.
pub(super) fn incomplete_checks_warning() -> Warning {
    let field = Section::Checks.model_field();
    Warning::new("the checks could not be read in full").of_section(field)
}

/// Returns whether the rows have lists of texts, which [`with_page_size`] can shorten.
fn has_texts(fields: PrFields) -> bool {
    [
        PrFields::COMMENTS,
        PrFields::REVIEWS,
        PrFields::THREADS,
        PrFields::COMMITS,
    ]
    .iter()
    .any(|section| fields.contains(*section))
}

/// Returns whether a smaller page may succeed. `heavy` is true if the rows are large.
pub(super) fn needs_smaller_pages(heavy: bool, error: &Error) -> bool {
    forge_http::is_too_long(error) || heavy && is_too_much(error)
}

/// Returns whether GitHub failed because the page was too large.
fn is_too_much(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Upstream { status, .. } => matches!(status, 502..=504),
        ErrorKind::Internal | ErrorKind::Timeout { .. } => true,
        ErrorKind::Network => {
            error.retry() == Retry::Transient && !forge_http::is_no_connection(error)
        }
        _ => weight::is_too_many(error),
    }
}

#[cfg(test)]
mod tests {
    use forge_http::{Http, HttpSettings, RetryPolicy};

    use super::*;

    #[tokio::test]
    async fn failed_connection_is_not_an_oversized_page() {
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = gone.local_addr().unwrap();
        drop(gone);
        let http = Http::new(HttpSettings {
            retry: RetryPolicy::without_pauses(),
            ..HttpSettings::default()
        })
        .unwrap();
        let request = http::Request::get(format!("http://{address}/"));
        let sent = http.send(request.body(bytes::Bytes::new()).unwrap()).await;
        let error = sent.unwrap_err();
        assert_eq!(error.code(), "network");
        assert!(!is_too_much(&error), "{error:?}");
        let broke = Error::new(ErrorKind::Network, error.message());
        assert!(is_too_much(&broke));
    }
}
