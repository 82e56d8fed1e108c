//! Lists pull requests of interest to the viewer: the one of the current branch, those that the
//! viewer opened, and those that the viewer is asked to review. One request reads all three.

use std::collections::HashSet;

use forge_core::{
    PageReq, RepoId, Result, Warning,
    model::{HeadRef, PrFields, PrState, PullQuery, PullRequest, PullStatus, StateFilter},
};
use serde::Deserialize;
use serde_json::json;

use super::{find::is_head, list, view};
use crate::{
    GitHub,
    api::{GqlAnswer, GqlCall, TokenChoice},
    error::no_repository,
    gql::{
        GqlDocument, fields,
        types::{self as wire, Nodes},
    },
    map, owner_and_name,
    paged::missing_rows_warning,
    renamed::{current_name, renamed_warning},
    repo_variables,
};

const AUTHOR: &str = "author";
const REVIEWER: &str = "review-requested";
/// The maximum count of results in a GitHub search.
const MAX_SEARCH_RESULTS: usize = 1000;

/// Returns two page sizes: for each list, and for the pull requests of the branch. GitHub refuses a
/// query that could return half a million nodes if every page were full. It times out after ten
/// seconds.
fn pages(fields: PrFields) -> (usize, usize) {
    if fields::is_deep(fields) {
        (10, 10)
    } else if fields::is_heavy(fields) {
        (list::HEAVY_PAGE_SIZE, 10)
    } else {
        (100, 30)
    }
}

#[derive(Deserialize)]
struct StatusOf {
    repository: Option<BranchPulls>,
    #[serde(default)]
    created: Option<Nodes<wire::Pull>>,
    #[serde(default)]
    requested: Option<Nodes<wire::Pull>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BranchPulls {
    #[serde(default)]
    name_with_owner: Option<String>,
    #[serde(default)]
    pull_requests: Option<Nodes<wire::Pull>>,
}

/// One list of pull requests while its rows are mapped.
struct StatusPart<'a> {
    repo: &'a RepoId,
    fields: PrFields,
    unread_checks: HashSet<usize>,
    warnings: &'a mut Vec<Warning>,
}

impl<'a> StatusPart<'a> {
    fn of(
        repo: &'a RepoId,
        fields: PrFields,
        unread_checks: HashSet<usize>,
        warnings: &'a mut Vec<Warning>,
    ) -> Self {
        Self {
            repo,
            fields,
            unread_checks,
            warnings,
        }
    }
}

impl GitHub {
    pub(super) async fn pull_status(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus> {
        match self.status_at_once(repo, head, fields).await {
            Err(error) if view::is_without_projects(fields, &error) => {
                let rest = fields.without(PrFields::PROJECTS);
                let mut status = Box::pin(self.pull_status(repo, head, rest)).await?;
                status.warnings.push(view::projects_unread(&error));
                Ok(status)
            }
            Err(error) if list::needs_smaller_pages(fields::is_heavy(fields), &error) => {
                tracing::debug!("the status was too much work at once, asking for its parts");
                self.status_in_parts(repo, head, fields).await
            }
            status => status,
        }
    }

    async fn status_at_once(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus> {
        let searched = self.renamed.searched_name(repo);
        let (owner, name) = owner_and_name(&searched)?;
        let mut document = GqlDocument::query("PullStatus");
        document.fragment("PullSections", "PullRequest", &list::row(fields));
        let mut variables = repo_variables(repo)?;
        let (first, of_branch) = pages(fields);
        variables.insert("first".into(), json!(first));
        variables.insert("firstOfBranch".into(), json!(of_branch));
        let search =
            |of: &str| format!("repo:{owner}/{name} is:pr state:open {of}:@me sort:created-desc");
        variables.insert("head".into(), json!(head.map(|h| &h.branch)));
        variables.insert("branch".into(), json!(head.is_some()));
        variables.insert("created".into(), json!(search(AUTHOR)));
        variables.insert("requested".into(), json!(search(REVIEWER)));
        let call = GqlCall {
            document: &document.text(),
            variables: &variables.into(),
            write: false,
            access: TokenChoice::Account,
            retries: fields::is_heavy(fields).then_some(0),
        };
        let mut answer: GqlAnswer<StatusOf> = self.api.graphql(call).await?;
        let Some(StatusOf {
            repository: Some(found),
            created,
            requested,
        }) = answer.data.take()
        else {
            return Err(match answer.errors.is_empty() {
                true => no_repository(repo),
                false => self.api.first_error(&answer),
            });
        };
        let current = current_name(repo, found.name_with_owner.as_deref());
        if let Some(current) = current.filter(|_| searched == *repo) {
            self.renamed.keep(repo, &current);
            return Box::pin(self.status_at_once(repo, head, fields)).await;
        }
        let mut warnings = self.api.warnings(&answer, list::part_of_row);
        if searched != *repo {
            warnings.push(renamed_warning(repo, &searched));
        }
        for rows in [&found.pull_requests, &created, &requested]
            .into_iter()
            .flatten()
        {
            let errors = answer.errors.len();
            let gaps = missing_rows_warning(&self.info.host, "pull request(s)", rows, None, errors);
            warnings = map::merge_warnings(warnings, gaps.into_iter().collect());
        }
        let unread = |key: &str| -> HashSet<usize> {
            let errors = answer.errors.iter().filter(|e| e.root() == key);
            errors.filter_map(list::row_with_unread_checks).collect()
        };
        let [branch, mine, theirs] = ["repository", "created", "requested"].map(unread);
        let current_branch = match head {
            Some(head) => {
                let part = StatusPart::of(repo, fields, branch, &mut warnings);
                self.current(found.pull_requests, head, part).await?
            }
            None => None,
        };
        let created_by = self
            .read_all(
                created,
                AUTHOR,
                StatusPart::of(repo, fields, mine, &mut warnings),
            )
            .await?;
        let needs_review = self
            .read_all(
                requested,
                REVIEWER,
                StatusPart::of(repo, fields, theirs, &mut warnings),
            )
            .await?;
        let mut status = PullStatus::new(created_by, needs_review);
        status.current_branch = current_branch;
        status.warnings = warnings;
        Ok(status)
    }

    /// Reads the lists one by one, with smaller pages where needed.
    async fn status_in_parts(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus> {
        let mut warnings = Vec::new();
        let current_branch = match head {
            Some(head) => {
                let all = StateFilter::All;
                let (found, unread) = self.find_and_warn(repo, head, all, fields).await?;
                warnings = unread;
                found.into_iter().next()
            }
            None => None,
        };
        let created_by = self.searched(repo, AUTHOR, fields, &mut warnings).await?;
        let needs_review = self.searched(repo, REVIEWER, fields, &mut warnings).await?;
        let mut status = PullStatus::new(created_by, needs_review);
        status.current_branch = current_branch;
        status.warnings = warnings;
        Ok(status)
    }

    /// Returns the newest pull request of the branch, preferring open ones.
    async fn current(
        &self,
        nodes: Option<Nodes<wire::Pull>>,
        head: &HeadRef,
        mut part: StatusPart<'_>,
    ) -> Result<Option<PullRequest>> {
        let more = nodes.as_ref().and_then(Nodes::next).is_some();
        let (repo, fields) = (part.repo, part.fields);
        let mut own = self.rows(nodes, &mut part).await;
        own.retain(|p| is_head(repo, p, head));
        // Many forks may use the same branch name, so the search continues past the first page.
        if own.is_empty() && more {
            let all = StateFilter::All;
            let (found, unread) = self.find_and_warn(repo, head, all, fields).await?;
            own = found;
            part.warnings.extend(unread);
        }
        own.sort_by_key(|p| p.state != PrState::Open);
        Ok(own.into_iter().next())
    }

    /// Returns the open pull requests of a search, over all pages.
    async fn read_all(
        &self,
        nodes: Option<Nodes<wire::Pull>>,
        of: &str,
        mut part: StatusPart<'_>,
    ) -> Result<Vec<PullRequest>> {
        if nodes.as_ref().and_then(Nodes::next).is_some() {
            return self
                .searched(part.repo, of, part.fields, part.warnings)
                .await;
        }
        let mut rows = self.rows(nodes, &mut part).await;
        rows.retain(|p| p.state == PrState::Open);
        Ok(rows)
    }

    async fn searched(
        &self,
        repo: &RepoId,
        of: &str,
        fields: PrFields,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<PullRequest>> {
        let mut query = PullQuery::default();
        query.search = Some(format!("{of}:@me"));
        query.fields = fields;
        let page = self
            .list_pulls(repo, &query, PageReq::first(MAX_SEARCH_RESULTS))
            .await?;
        for warning in page.warnings {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        Ok(page.items)
    }

    /// Maps the pull requests of a list. A pull request that cannot be mapped becomes a warning.
    async fn rows(
        &self,
        nodes: Option<Nodes<wire::Pull>>,
        part: &mut StatusPart<'_>,
    ) -> Vec<PullRequest> {
        let mut rows = Vec::new();
        let nodes = nodes.and_then(|n| n.nodes).unwrap_or_default();
        for (i, pull) in nodes.into_iter().enumerate() {
            let Some(mut pull) = pull.filter(|p| p.number > 0) else {
                continue;
            };
            let mut warnings = self.complete(&mut pull).await;
            if part.unread_checks.contains(&i) {
                warnings.push(list::incomplete_checks_warning());
            }
            let number = pull.number;
            match self.domain(part.repo, pull, part.fields, warnings) {
                Ok(pull) => rows.push(pull),
                Err(e) => part
                    .warnings
                    .push(list::unreadable_pull_warning(number, &e)),
            }
        }
        rows
    }
}
