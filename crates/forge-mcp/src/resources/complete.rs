//! Values for the arguments of templates and prompts.

use forge_core::{
    AtUri, PageReq, PrId, PrKey,
    model::{IssueQuery, PrFields, PullQuery},
};
use rmcp::{
    ErrorData,
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference},
};

use crate::{budget::diff, content::Cleaner, server::Server};

/// At most so many values.
const MOST: usize = CompletionInfo::MAX_VALUES;

/// The values of one argument that begin with what was typed. An argument that has none, and a
/// repository that cannot be read, has no values: completing never fails.
pub(crate) async fn complete(
    server: &Server,
    params: CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let typed = params.argument.value.as_str();
    let cleaner = Cleaner::new();
    let others = params.context.and_then(|c| c.arguments).unwrap_or_default();
    let repo = others.get("repo").map(String::as_str);
    let mut values = match params.argument.name.as_str() {
        "repo" => repos(server).await,
        "number" => numbers(server, repo, is_of_issue(&params.r#ref))
            .await
            .unwrap_or_default(),
        "path" => match others.get("number") {
            Some(number) => paths(server, repo, number, &cleaner)
                .await
                .unwrap_or_default(),
            None => Vec::new(),
        },
        _ => Vec::new(),
    };
    values.retain(|value| value.starts_with(typed));
    let mut result = result(values)?;
    result.meta = Some(cleaner.mark());
    Ok(result)
}

/// Values as an answer: no more than the protocol allows.
pub(crate) fn result(mut values: Vec<String>) -> Result<CompleteResult, ErrorData> {
    let total = u32::try_from(values.len()).ok();
    let more = values.len() > MOST;
    values.truncate(MOST);
    let info = CompletionInfo::with_pagination(values, total, more)
        .map_err(|e| ErrorData::internal_error(e, None))?;
    Ok(CompleteResult::new(info))
}

async fn repos(server: &Server) -> Vec<String> {
    let mut repos: Vec<String> = server.options().repos.named().map(str::to_owned).collect();
    repos.extend(server.repo_id(None).await.map(|id| id.to_string()));
    repos.sort();
    repos.dedup();
    repos
}

/// Whether what is being filled in is the address of an issue. Prompts are all about pull requests.
fn is_of_issue(reference: &Reference) -> bool {
    match reference {
        Reference::Resource(resource) => resource.uri.contains("/issue/"),
        _ => false,
    }
}

/// What names the open pull requests, or the open issues: numbers, or at-uris where there are none.
async fn numbers(server: &Server, repo: Option<&str>, issues: bool) -> Option<Vec<String>> {
    let id = server.repo_id(repo).await.ok()?;
    let repo = server.open(&id, false).await.ok()?;
    let first = PageReq::first(100);
    if issues {
        let page = repo.issues(&IssueQuery::default(), first).await.ok()?;
        return Some(page.items.iter().map(|i| i.id.key.to_string()).collect());
    }
    let query = PullQuery {
        fields: PrFields::ROW,
        ..PullQuery::default()
    };
    let page = repo.list(&query, first).await.ok()?;
    Some(page.items.iter().map(|p| p.id.key.to_string()).collect())
}

async fn paths(
    server: &Server,
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
    server.vouch(&repo, &key, false).await.ok()?;
    let pr = PrId {
        repo: repo.id().clone(),
        key,
    };
    let head = repo.view(&pr, PrFields::ROW).await.ok()?.head_oid?;
    let whole = diff::read(server.diffs(), &repo, &pr, &head, None)
        .await
        .ok()?;
    Some(
        whole
            .files
            .iter()
            .map(|f| cleaner.line(&f.path).to_string())
            .collect(),
    )
}
