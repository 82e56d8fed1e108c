//! Lists pull requests of several repositories: one document, with a search for each query.

use std::collections::{BTreeMap, HashSet};

use forge_core::{
    Error, Noun, RepoId, Result,
    model::{PrFields, PullQuery, PullScope, PullsAcross},
};
use serde_json::{Map, Value, json};

use super::{list, query, view};
use crate::{
    GitHub,
    api::{GqlAnswer, GqlCall, TokenChoice},
    gql::{
        GqlDocument, fields,
        types::{self as wire, Nodes},
    },
    map, owner_and_name,
    paged::MAX_PAGE_SIZE,
    renamed::{current_name, renamed_warning, with_current_name},
};

/// The data of the answer by alias: searches are `q0`…, repositories `r0`…, owners `o0`….
type AcrossOf = BTreeMap<String, Value>;

/// The scope of the searches: the qualifiers of the repositories and owners, and these places, whose
/// existence the same document checks.
#[derive(Default)]
struct SearchedPlaces {
    words: Vec<String>,
    /// For each place: its name for messages, its alias, and whether it is a repository.
    named: Vec<(String, String, bool)>,
    /// The repositories by alias.
    repos: BTreeMap<String, RepoId>,
    variables: Map<String, Value>,
}

/// A search, and the cursor of its next page.
struct SearchState<'a> {
    alias: String,
    /// Index of the list for the rows. A list of many places takes several searches.
    list: usize,
    /// The count of rows in the list from this search.
    kept: usize,
    query: &'a PullQuery,
    /// The query in GitHub's search syntax.
    text: String,
    after: Option<String>,
    is_open: bool,
    seen: HashSet<String>,
    /// The count of rows read so far.
    rows: u64,
}

/// Returns the document for `searches`, which also reads whether the repositories and owners in
/// `named` exist.
pub(crate) fn document<'a>(
    sections: &str,
    searches: impl Iterator<Item = &'a str>,
    named: impl Iterator<Item = (&'a str, bool)>,
) -> GqlDocument {
    let mut parts = Vec::new();
    let mut variables = vec![("first".to_owned(), "Int!")];
    for alias in searches {
        parts.push(format!(
            "{alias}: search(query: ${alias}, type: ISSUE, first: $first, after: ${alias}After) {{ \
             issueCount nodes {{ __typename ... on PullRequest {{ foundIn: repository {{ ...RepositoryNode }} }} \
             ...PullSections }} pageInfo {{ ...PageEnd }} }}"
        ));
        variables.push((alias.to_owned(), "String!"));
        variables.push((format!("{alias}After"), "String"));
    }
    for (alias, is_repo) in named {
        if is_repo {
            parts.push(format!(
                "{alias}: repository(owner: ${alias}Owner, name: ${alias}Name) {{ id nameWithOwner }}"
            ));
            variables.push((format!("{alias}Owner"), "String!"));
            variables.push((format!("{alias}Name"), "String!"));
        } else {
            parts.push(format!(
                "{alias}: repositoryOwner(login: ${alias}) {{ id }}"
            ));
            variables.push((alias.to_owned(), "String!"));
        }
    }
    let mut document = GqlDocument::generated("query PullsAcross", &parts.join(" "));
    document.fragment("PullSections", "PullRequest", sections);
    for (name, ty) in variables {
        document.variable(&name, ty);
    }
    document
}

impl GitHub {
    pub(super) async fn pulls_across(
        &self,
        scope: &PullScope,
        queries: &[PullQuery],
        limit: usize,
    ) -> Result<PullsAcross> {
        let mut across = PullsAcross::new(queries.len());
        let mut places = places(scope, &mut across);
        // A search without scope words would search all of GitHub, so it is not sent.
        if places.words.is_empty() && !scope.everywhere {
            return Ok(across);
        }
        let mut sections = queries.first().map_or(PrFields::ROW, |query| query.fields);
        let mut searches: Vec<SearchState<'_>> = Vec::new();
        for (list, query) in queries.iter().enumerate() {
            let scopes: Vec<&[String]> = match places.words.is_empty() {
                true => vec![&[]],
                false => places.words.chunks(query::max_places(query)).collect(),
            };
            for scope in scopes {
                searches.push(SearchState {
                    alias: format!("q{}", searches.len()),
                    list,
                    kept: 0,
                    query,
                    text: query::search_in(scope, query)?,
                    after: None,
                    is_open: true,
                    seen: HashSet::new(),
                    rows: 0,
                });
            }
        }
        let heavy = fields::is_heavy(sections);
        let mut size = if heavy {
            list::HEAVY_PAGE_SIZE
        } else {
            MAX_PAGE_SIZE
        };
        while searches.iter().any(|search| search.is_open) {
            let open = || searches.iter().filter(|search| search.is_open);
            let named = places.named.iter();
            let named = named.map(|(_, alias, is_repo)| (alias.as_str(), *is_repo));
            let aliases = open().map(|search| search.alias.as_str());
            let text = document(&list::row(sections), aliases, named).text();
            let mut variables = places.variables.clone();
            variables.insert("first".to_owned(), json!(size.min(limit.max(1))));
            for search in open() {
                variables.insert(search.alias.clone(), json!(search.text));
                variables.insert(format!("{}After", search.alias), json!(search.after));
            }
            let call = GqlCall {
                document: &text,
                variables: &Value::Object(variables),
                write: false,
                access: TokenChoice::Account,
                retries: heavy.then_some(0),
            };
            let mut answer: GqlAnswer<AcrossOf> = match self.api.graphql(call).await {
                Ok(answer) => answer,
                Err(error) if size > 1 && list::needs_smaller_pages(heavy, &error) => {
                    size /= 2;
                    continue;
                }
                Err(error) if view::is_without_projects(sections, &error) => {
                    sections = sections.without(PrFields::PROJECTS);
                    across.warnings.push(view::projects_unread(&error));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Some(mut found) = answer.data.take() else {
                return Err(self.api.first_error(&answer));
            };
            for (name, alias, _) in places.named.drain(..) {
                if found.get(&alias).is_none_or(Value::is_null) {
                    let error = answer.errors.iter().find(|e| e.root() == alias);
                    let error = error.map(|e| self.api.error(&answer, e));
                    let error = error.filter(|e| !e.is_not_found());
                    across
                        .failed
                        .push((name, error.unwrap_or_else(missing_place_error)));
                }
            }
            places.variables.clear();
            let renamed: Vec<(RepoId, RepoId)> = std::mem::take(&mut places.repos)
                .into_iter()
                .filter_map(|(alias, repo)| {
                    let name = found.get(&alias)?.get("nameWithOwner")?.as_str();
                    current_name(&repo, name).map(|current| (repo, current))
                })
                .collect();
            for (repo, current) in &renamed {
                across.warnings.push(renamed_warning(repo, current));
                for search in &mut searches {
                    search.text = with_current_name(&search.text, repo, current);
                }
            }
            if !renamed.is_empty() && !scope.everywhere {
                continue;
            }
            let of_searches = answer.errors.iter().filter(|e| e.root().starts_with('q'));
            let warnings = self
                .api
                .warnings_of(&answer, of_searches, list::part_of_row);
            across.warnings = map::merge_warnings(std::mem::take(&mut across.warnings), warnings);
            for search in &mut searches {
                if !search.is_open {
                    continue;
                }
                let nodes = found.remove(&search.alias).unwrap_or_default();
                let total = nodes.get("issueCount").and_then(Value::as_u64);
                let nodes: Option<Nodes<wire::Pull>> =
                    serde_json::from_value(nodes).map_err(|e| {
                        let what = format!("the search of {}", self.info.host);
                        self.api.error_context(false).misread(&what, &e)
                    })?;
                let Some(nodes) = nodes else {
                    return Err(self.api.first_error(&answer));
                };
                let next = nodes.next().filter(|n| Some(n) != search.after.as_ref());
                let errors = answer.errors.iter().filter(|e| e.root() == search.alias);
                let unread: HashSet<usize> =
                    errors.filter_map(list::row_with_unread_checks).collect();
                let rows = nodes.nodes.unwrap_or_default();
                search.rows += rows.len() as u64;
                // GitHub returns only the first thousand results of a search, so further results
                // may be missing.
                across.is_cut |= next.is_none() && total.is_some_and(|total| total > search.rows);
                let mut room = limit.saturating_sub(search.kept);
                for (i, row) in rows.into_iter().enumerate() {
                    let Some(mut pull) = row else { continue };
                    let fits = pull.number > 0 && query::matches_query(search.query, &pull);
                    if !fits || !search.seen.insert(pull.id.clone()) {
                        continue;
                    }
                    if room == 0 {
                        across.is_cut = true;
                        break;
                    }
                    let Some(repo) = pull.found_in.as_ref() else {
                        continue;
                    };
                    let repo = map::repo_id(&self.info.host, repo);
                    let mut warnings = self.complete(&mut pull).await;
                    warnings.extend(unread.contains(&i).then(list::incomplete_checks_warning));
                    let number = pull.number;
                    match self.domain(&repo, pull, sections, warnings) {
                        Ok(pull) => {
                            room -= 1;
                            search.kept += 1;
                            if let Some(list) = across.lists.get_mut(search.list) {
                                // A repository and its owner can be places of two searches.
                                if !list.iter().any(|other| other.id == pull.id) {
                                    list.push(pull);
                                }
                            }
                        }
                        Err(e) => across
                            .warnings
                            .push(list::unreadable_pull_warning(number, &e)),
                    }
                }
                search.is_open = next.is_some() && room > 0;
                across.is_cut |= next.is_some() && room == 0;
                search.after = next;
            }
        }
        Ok(across)
    }
}

/// Converts the scope into search words and named places. Names that cannot exist on GitHub are
/// added to the failures in `across`.
fn places(scope: &PullScope, across: &mut PullsAcross) -> SearchedPlaces {
    let mut places = SearchedPlaces::default();
    for (n, repo) in scope.repos.iter().enumerate() {
        match owner_and_name(repo) {
            Ok((owner, name)) => {
                let alias = format!("r{n}");
                places.words.push(format!("repo:{owner}/{name}"));
                let variables = &mut places.variables;
                variables.insert(format!("{alias}Owner"), json!(owner));
                variables.insert(format!("{alias}Name"), json!(name));
                places.repos.insert(alias.clone(), repo.clone());
                places.named.push((repo.to_string(), alias, true));
            }
            Err(e) => across.failed.push((repo.to_string(), e)),
        }
    }
    for (n, owner) in scope.owners.iter().enumerate() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if owner == "@me" {
            places.words.push("user:@me".to_owned());
        } else if !owner.is_empty() && owner.chars().all(is_part) {
            let alias = format!("o{n}");
            places.words.push(format!("user:{owner}"));
            places.variables.insert(alias.clone(), json!(owner));
            places.named.push((owner.clone(), alias, false));
        } else {
            let e = Error::invalid("owner", "this is not the name of an account on GitHub")
                .with_hint("name a user or an organization");
            across.failed.push((owner.clone(), e));
        }
    }
    // A search with scope words would find nothing outside the named places.
    if scope.everywhere {
        places.words.clear();
    }
    places
}

/// Returns the error for a repository or owner that does not exist or is hidden.
fn missing_place_error() -> Error {
    Error::not_found(
        Noun::Repo,
        "it does not exist, or the account may not see it",
    )
    .with_hint("check the name, and whether the account may see it")
}
