//! Completes arguments of resource templates and prompts.

use forge_core::{
    AtUri, Cursor, PageReq, PrId, PrKey, Repo, Result,
    model::{DiffReq, IssueFields, IssueId, IssueQuery, IssueState, PrFields, PrState, PullQuery},
};
use rmcp::{
    ErrorData,
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference},
};

use crate::{
    budget::diff_cache::DiffEnds,
    calls::{ServerState, diff},
    content::Cleaner,
};

const MAX_COMPLETIONS: usize = CompletionInfo::MAX_VALUES;

/// Maximum number of list pages that are read, because the user is waiting.
const MAX_PAGES: usize = 3;

/// Completes one argument. Never fails: without possible values or a readable repository, the
/// result is empty.
pub(crate) async fn complete(
    server: &ServerState,
    params: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let typed = params.argument.value.as_str();
    let cleaner = Cleaner::new();
    let others = params.context.and_then(|c| c.arguments).unwrap_or_default();
    let repo = others.get("repo").map(String::as_str);
    let mut more = false;
    let mut values = match params.argument.name.as_str() {
        "repo" => repos(server).await,
        "number" => {
            let found = numbers(server, repo, is_of_issue(&params.r#ref), typed).await;
            let (found, rest) = found.unwrap_or_default();
            more = rest;
            found
        }
        "path" => match others.get("number") {
            Some(number) => paths(server, repo, number, &cleaner)
                .await
                .unwrap_or_default(),
            None => Vec::new(),
        },
        _ => Vec::new(),
    };
    values.retain(|value| value.starts_with(typed));
    let mut result = result(values, more)?;
    result.meta = Some(cleaner.mark());
    Ok(result)
}

/// Converts the values to a completion result, cut to the protocol's limit. If there are `more`
/// values than those passed, the result has no total.
pub(crate) fn result(mut values: Vec<String>, more: bool) -> Result<CompleteResult, ErrorData> {
    let total = u32::try_from(values.len()).ok().filter(|_| !more);
    let more = more || values.len() > MAX_COMPLETIONS;
    values.truncate(MAX_COMPLETIONS);
    let info = CompletionInfo::with_pagination(values, total, more)
        .map_err(|e| ErrorData::internal_error(e, None))?;
    Ok(CompleteResult::new(info))
}

async fn repos(server: &ServerState) -> Vec<String> {
    let mut repos: Vec<String> = server.options().named().map(str::to_owned).collect();
    repos.extend(server.repo_id(None).await.map(|id| id.to_string()));
    repos.sort();
    repos.dedup();
    repos
}

/// Returns true if the completed argument is in the URI of an issue. Prompts take only pull
/// requests.
fn is_of_issue(reference: &Reference) -> bool {
    match reference {
        Reference::Resource(resource) => resource.uri.contains("/issue/"),
        _ => false,
    }
}

/// Returns the keys of open pull requests or issues that begin with `typed`: numbers, or at-uris on
/// forges without numbers. The flag is true if there are pages that were not read.
async fn numbers(
    server: &ServerState,
    repo: Option<&str>,
    issues: bool,
    typed: &str,
) -> Option<(Vec<String>, bool)> {
    let id = server.repo_id(repo).await.ok()?;
    let repo = server.open(&id, false).await.ok()?;
    let (mut found, mut more) = (Vec::new(), true);
    let mut page = super::first_page(&repo);
    let limit = page.limit;
    for _ in 0..MAX_PAGES {
        let Ok((keys, next)) = open_ones(&repo, issues, page).await else {
            break;
        };
        found.extend(keys.into_iter().filter(|key| key.starts_with(typed)));
        match next {
            Some(next) if found.len() < MAX_COMPLETIONS => page = PageReq::after(next, limit),
            next => {
                more = next.is_some();
                break;
            }
        }
    }
    // An exact match comes first. If it is not on the pages that were read, it is read by its
    // number.
    let whole = match found.iter().position(|key| key == typed) {
        Some(at) => Some(found.remove(at)),
        None if more => open_one(&repo, issues, typed).await,
        None => None,
    };
    found.splice(0..0, whole);
    Some((found, more))
}

/// Reads a page of keys of open pull requests or issues.
async fn open_ones(
    repo: &Repo,
    issues: bool,
    page: PageReq,
) -> Result<(Vec<String>, Option<Cursor>)> {
    if issues {
        let page = repo.issues(&IssueQuery::default(), page).await?;
        let keys = page.items.iter().map(|i| i.id.key.to_string());
        return Ok((keys.collect(), page.next));
    }
    let mut query = PullQuery::default();
    query.fields = PrFields::ROW;
    let page = repo.pulls(&query, page).await?;
    let keys = page.items.iter().map(|p| p.id.key.to_string());
    Ok((keys.collect(), page.next))
}

/// Returns the key of the pull request or issue with this number, if it is open.
async fn open_one(repo: &Repo, issues: bool, number: &str) -> Option<String> {
    let number = number.parse().ok()?;
    let own = repo.id().clone();
    let (key, is_open) = if issues {
        let id = IssueId::number(own, number);
        let issue = repo.issue(&id, &IssueFields::default()).await.ok()?;
        (issue.id.key, issue.state == IssueState::Open)
    } else {
        let id = PrId::number(own, number);
        let pull = repo.pull(&id, PrFields::ROW).await.ok()?;
        (pull.id.key, pull.state == PrState::Open)
    };
    is_open.then(|| key.to_string())
}

async fn paths(
    server: &ServerState,
    repo: Option<&str>,
    number: &str,
    cleaner: &Cleaner,
) -> Option<Vec<String>> {
    let id = server.repo_id(repo).await.ok()?;
    let repo = server.open(&id, false).await.ok()?;
    let key = match number.parse() {
        Ok(number) => PrKey::Number(number),
        Err(_) => AtUri::parse(number).ok()?.into(),
    };
    server.authorize_record(&repo, &key, false).await.ok()?;
    let pr = PrId {
        repo: repo.id().clone(),
        key,
    };
    let ends = DiffEnds::of(&repo.pull(&pr, PrFields::ROW).await.ok()?);
    let whole = diff::read(server.diffs(), &repo, &pr, ends, &DiffReq::default(), None)
        .await
        .ok()?;
    Some(
        whole
            .files
            .iter()
            .map(|f| cleaner.line(&f.path).as_data().to_owned())
            .collect(),
    )
}
