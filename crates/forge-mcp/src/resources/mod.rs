//! Resources: content that a client can attach to a conversation by its URI.
//!
//! A URI is `forge://<repository>`, then `/branches`, `/issues`, `/pulls/open`, `/pull/<number>`,
//! `/pull/<number>/diff`, `/pull/<number>/files/<path>`, `/pull/<number>/links`, `/issue/<number>`
//! or `/issue/<number>/links`. A repository is given by its locator (`github.com/octo/tools`), a
//! local repository by `local` and its path. On forges without numbers, an at-uri replaces the
//! number.

pub(crate) mod complete;

use forge_core::{
    Action, Error, Hint, Noun, Op, Page, PageReq, PrId, PrKey, Repo, Result, Warning, call,
    locator::{Address, Part},
    model::{
        DiffReq, Issue, IssueFields, IssueId, IssueQuery, Link, PrFields, PullQuery, PullRequest,
        Subject,
    },
    text,
};
use rmcp::{
    ErrorData,
    model::{
        CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
        ResourceContents, ResourceTemplate,
    },
};
use serde_json::json;

use crate::{
    budget::{self, ResultPosition, diff_cache::DiffEnds},
    calls::{Advice, HintContext, ServerState, diff},
    content::{Cleaner, MAX_MESSAGE_CHARS, name},
    output::{PullOut, RowOut, WarningOut, issue_row, issue_text, link_lines, quoted},
};

/// How long a client may cache a list, in milliseconds.
const LIST_TTL_MS: u64 = 3_600_000;

const TEMPLATES: &[(&str, &str, &str, &str)] = &[
    (
        "forge://{+repo}",
        "repository",
        "Description, default branch, what the forge can do",
        "text/plain",
    ),
    (
        "forge://{+repo}/branches",
        "branches",
        "The branches with their tips",
        "text/plain",
    ),
    (
        "forge://{+repo}/pulls/open",
        "open-pulls",
        "The open pull requests",
        "text/plain",
    ),
    (
        "forge://{+repo}/issues",
        "issues",
        "The open issues",
        "text/plain",
    ),
    (
        "forge://{+repo}/issue/{number}",
        "issue",
        "An issue with its body",
        "text/plain",
    ),
    (
        "forge://{+repo}/pull/{number}",
        "pull",
        "A pull request with its description",
        "text/plain",
    ),
    (
        "forge://{+repo}/pull/{number}/diff",
        "diff",
        "The diff of a pull request",
        "text/x-diff",
    ),
    (
        "forge://{+repo}/pull/{number}/files/{+path}",
        "file-diff",
        "The diff of one file",
        "text/x-diff",
    ),
    (
        "forge://{+repo}/pull/{number}/links",
        "links",
        "What a pull request closes, depends on and mentions, and what mentions or needs it",
        "text/plain",
    ),
    (
        "forge://{+repo}/issue/{number}/links",
        "issue-links",
        "What closes an issue, what it mentions, and what mentions it",
        "text/plain",
    ),
];

/// Lists the server's default repository, and the repositories that its allow lists name.
pub(crate) async fn list(server: &ServerState) -> ListResourcesResult {
    let mut repos: Vec<String> = Vec::new();
    if let Ok(id) = server.repo_id(None).await {
        repos.push(Address::of_repo(&id));
    }
    for named in server.options().named() {
        if let Ok(id) = server.repo_id(Some(named)).await {
            repos.push(Address::of_repo(&id));
        }
    }
    repos.sort();
    repos.dedup();
    let resources = repos.into_iter().flat_map(|repo| {
        [
            Resource::new(repo.clone(), "repository").with_mime_type("text/plain"),
            Resource::new(format!("{repo}/pulls/open"), "open-pulls").with_mime_type("text/plain"),
            Resource::new(format!("{repo}/issues"), "issues").with_mime_type("text/plain"),
        ]
    });
    let mut list = ListResourcesResult::with_all_items(resources.collect());
    list.ttl_ms = Some(LIST_TTL_MS);
    list.cache_scope = Some(CacheScope::Private);
    list
}

pub(crate) fn templates() -> ListResourceTemplatesResult {
    let templates = TEMPLATES.iter().map(|(uri, name, what, mime)| {
        ResourceTemplate::new(*uri, *name)
            .with_description(*what)
            .with_mime_type(*mime)
    });
    let mut list = ListResourceTemplatesResult::with_all_items(templates.collect());
    list.ttl_ms = Some(LIST_TTL_MS);
    list.cache_scope = Some(CacheScope::Public);
    list
}

/// Returns the protocol error for a request that is not a tool call.
pub(crate) fn error(e: &Error, about: &HintContext) -> ErrorData {
    let cleaner = Cleaner::new();
    let message = cleaner.plain(e.message()).cut(MAX_MESSAGE_CHARS);
    let mut text = format!("{}: {message}", e.code());
    if let Some(hint) = e.hint() {
        let advice = Advice::of(hint, about, &cleaner, MAX_MESSAGE_CHARS);
        text.push_str(&format!("\nRecovery: {advice}"));
    }
    let mut data = json!({ "code": e.code() });
    if let Some(data) = data.as_object_mut() {
        data.extend(cleaner.mark().0);
    }
    let data = Some(data);
    match e.code() {
        "not_found" => ErrorData::resource_not_found(text, data),
        "invalid_input" | "permission_denied" | "unsupported" => {
            ErrorData::invalid_params(text, data)
        }
        _ => ErrorData::internal_error(text, data),
    }
}

/// Returns the hint context of a resource, from its URI.
fn about(server: &ServerState, uri: &str) -> HintContext {
    let address = Address::parse(uri);
    let pull = |part: &Part| match part {
        Part::Pull(key) | Part::Diff(key) | Part::File(key, _) | Part::PullLinks(key) => {
            Some(key.to_string())
        }
        _ => None,
    };
    HintContext {
        number: address.as_ref().and_then(|address| pull(&address.part)),
        repo: address.map(|address| address.repo),
        tools: server.tools().clone(),
        ..HintContext::default()
    }
}

pub(crate) async fn read(server: &ServerState, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let cleaner = Cleaner::new();
    let about = about(server, uri);
    let read = || {
        cleaner.reset();
        content(server, uri, &about, &cleaner)
    };
    let found = server.bounded(read).await.unwrap_or_else(Err);
    let text = found.map_err(|e| {
        let mut error = error(&e, &about);
        if let Some(data) = error.data.as_mut().and_then(|d| d.as_object_mut()) {
            let uri = Cleaner::new().plain(uri).cut(MAX_MESSAGE_CHARS);
            data.insert("uri".to_owned(), json!(uri));
        }
        error
    })?;
    let mime = match Address::parse(uri).map(|address| address.part) {
        Some(Part::Diff(_) | Part::File(..)) => "text/x-diff",
        _ => "text/plain",
    };
    let contents = ResourceContents::text(text, uri)
        .with_mime_type(mime)
        .with_meta(cleaner.mark());
    let mut result = ReadResourceResult::new(vec![contents]);
    result.ttl_ms = Some(0);
    result.cache_scope = Some(CacheScope::Private);
    Ok(result)
}

async fn content(
    server: &ServerState,
    uri: &str,
    about: &HintContext,
    cleaner: &Cleaner,
) -> Result<String> {
    let Address { repo, part, .. } = Address::parse(uri).ok_or_else(|| {
        let message = format!("there is no resource {}", text::one_line(uri));
        Error::not_found(Noun::Other, message).with_hint("resources/templates/list has the forms")
    })?;
    let id = server.repo_id(Some(&repo)).await?;
    let repo = server.open(&id, false).await?;
    if let Some(key) = part.key() {
        server.authorize_record(&repo, key, false).await?;
    }
    let pr = |key: PrKey| PrId {
        repo: repo.id().clone(),
        key,
    };
    let issue = |key: PrKey| IssueId {
        repo: repo.id().clone(),
        key,
    };
    match part {
        Part::Repo => repository(&repo, cleaner).await,
        Part::Branches => call::together(branches(&repo, about, cleaner)).await,
        Part::Open => open_pulls(&repo, about, cleaner).await,
        Part::Issues => open_issues(&repo, about, cleaner).await,
        Part::Issue(key) => {
            let issue = repo.issue(&issue(key), &IssueFields::default()).await?;
            let text = issue_text(&issue, about, cleaner);
            Ok(budget::beginning(&text, "its page, at the URL above"))
        }
        Part::Pull(key) => {
            let fields = PrFields::STATS
                | PrFields::MERGEABILITY
                | PrFields::CHECKS
                | PrFields::LINKED_ISSUES
                | PrFields::AUTO_MERGE
                | PrFields::DEPENDS_ON;
            let pull = repo.pull(&pr(key), fields).await?;
            let out = PullOut::of(&pull, cleaner);
            let body = quoted(&out.description, true, 0, cleaner);
            let warnings = warning_lines(&pull.warnings, about, cleaner);
            let top = out.text(pull.checks.as_ref());
            let text = format!("{top}{warnings}\n{body}");
            Ok(budget::beginning(&text, "pr_view format=detailed"))
        }
        Part::PullLinks(key) => links(server, &repo, Subject::Pull(pr(key)), about, cleaner).await,
        Part::IssueLinks(key) => {
            links(server, &repo, Subject::Issue(issue(key)), about, cleaner).await
        }
        Part::Diff(key) => diff_text(server, &repo, &pr(key), None, about, cleaner).await,
        Part::File(key, path) => {
            diff_text(server, &repo, &pr(key), Some(&path), about, cleaner).await
        }
    }
}

async fn repository(repo: &Repo, cleaner: &Cleaner) -> Result<String> {
    let info = repo.info().await?;
    let mut text = format!("{}\n", info.id);
    if let Some(description) = &info.description {
        text.push_str(&format!("description: {}\n", cleaner.line(description)));
    }
    if let Some(branch) = &info.default_branch {
        text.push_str(&format!(
            "default branch: {}\n",
            name(&cleaner.line(branch))
        ));
    }
    text.push_str(&format!("{}\n", name(&cleaner.line(&info.url))));
    let able = forge_core::Capability::ALL.iter().filter(|c| {
        let narrowed = info
            .overrides
            .iter()
            .find(|(o, _)| o == *c)
            .map(|(_, s)| *s);
        narrowed.unwrap_or_else(|| repo.support(**c)).is_yes()
    });
    let names: Vec<&str> = able.map(|c| c.name()).collect();
    text.push_str(&format!("can: {}\n", names.join(", ")));
    Ok(text)
}

const MAX_BRANCHES: usize = 1_000;
/// Maximum number of pages that are read of the list of branches, including empty pages.
const MAX_PAGES: usize = 50;

async fn branches(repo: &Repo, about: &HintContext, cleaner: &Cleaner) -> Result<String> {
    let (mut lines, mut warnings) = (Vec::new(), Vec::new());
    let mut page = PageReq::first(100);
    let mut pages = 0;
    let more = loop {
        pages += 1;
        let found = repo.branches(page).await?;
        lines.extend(found.items.iter().map(|b| {
            let oid = cleaner.line(b.oid.get(..12).unwrap_or(&b.oid));
            format!("{} {}\n", name(&oid), name(&cleaner.line(&b.name)))
        }));
        warnings.extend(found.warnings);
        match found.next {
            Some(next) if lines.len() < MAX_BRANCHES && pages < MAX_PAGES => {
                page = PageReq::after(next, 100);
            }
            next => break next.is_some(),
        }
    };
    let fitted = budget::fit("", &lines, ResultPosition::default(), budget::DEFAULT_CHARS);
    let rest = match more || fitted.next.is_some() {
        true => format!("The first {} shown; git has the rest.", fitted.to),
        false => format!("All {} shown.", fitted.to),
    };
    let warnings = warning_lines(&warnings, about, cleaner);
    Ok(format!("{}{warnings}{rest}", fitted.text))
}

async fn open_pulls(repo: &Repo, about: &HintContext, cleaner: &Cleaner) -> Result<String> {
    let mut query = PullQuery::default();
    query.fields = PrFields::CHECKS;
    let page = repo.pulls(&query, first_page(repo)).await?;
    let row = |p: &PullRequest| RowOut::of(p, cleaner).text();
    let told = Warning::of_rows(
        page.items
            .iter()
            .map(|p| (p.id.key.to_string(), p.warnings.as_slice())),
        &page.warnings,
    );
    Ok(rows(&page, row, &told, "pr_list", about, cleaner))
}

async fn open_issues(repo: &Repo, about: &HintContext, cleaner: &Cleaner) -> Result<String> {
    let page = repo
        .issues(&IssueQuery::default(), first_page(repo))
        .await?;
    let row = |i: &Issue| issue_row(i, cleaner);
    let told = Warning::of_rows(
        page.items
            .iter()
            .map(|i| (i.id.key.to_string(), i.warnings.as_slice())),
        &page.warnings,
    );
    Ok(rows(
        &page,
        row,
        &told,
        "`forge issue list`",
        about,
        cleaner,
    ))
}

/// Returns a request for a first page of the forge's maximum size.
fn first_page(repo: &Repo) -> PageReq {
    let limits = repo.limits();
    PageReq::first(limits.page_max.clamp(1, 100))
}

fn warning_lines(warnings: &[Warning], about: &HintContext, cleaner: &Cleaner) -> String {
    let shown = WarningOut::all(warnings, about, cleaner);
    shown.iter().map(WarningOut::text).collect()
}

/// Formats the rows of a page, with the number of rows. The warnings of the page and those in
/// `told` are included. `rest` says where to find the rows that are not on the page.
fn rows<T>(
    page: &Page<T>,
    row: impl Fn(&T) -> String,
    told: &[Warning],
    rest: &str,
    about: &HintContext,
    cleaner: &Cleaner,
) -> String {
    let lines: Vec<String> = page.items.iter().map(row).collect();
    let fitted = budget::fit("", &lines, ResultPosition::default(), budget::DEFAULT_CHARS);
    let warnings =
        warning_lines(&page.warnings, about, cleaner) + &warning_lines(told, about, cleaner);
    let tail = match page.next.is_some() || fitted.next.is_some() {
        true => format!("{} shown; {rest} has the rest.", fitted.to),
        false => format!("All {} shown.", fitted.to),
    };
    format!("{}{warnings}{tail}", fitted.text)
}

/// Formats the links of `subject`. If this server may not read a linked repository, the link is
/// shown without title and state. Its locator is shown, because the text with the link contains the
/// locator anyway.
async fn links(
    server: &ServerState,
    repo: &Repo,
    subject: Subject,
    about: &HintContext,
    cleaner: &Cleaner,
) -> Result<String> {
    let links = repo.links(&subject).await?;
    let own = subject.repo().comparison_key();
    let known = |link: &Link| match &link.repo {
        Some(id) => id.comparison_key() == own || server.may_read(id),
        None => false,
    };
    let lines = link_lines(&links, known, cleaner);
    let fitted = budget::fit("", &lines, ResultPosition::default(), budget::DEFAULT_CHARS);
    let warnings = warning_lines(&links.warnings, about, cleaner);
    let tail = match (lines.len(), fitted.to) {
        (0, _) => format!("No links of {subject} were found."),
        (all, shown) if shown < all => {
            format!("{shown} of {all} shown; the texts themselves have the rest.")
        }
        (all, _) => format!("All {all} shown."),
    };
    Ok(format!("{}{warnings}{tail}", fitted.text))
}

async fn diff_text(
    server: &ServerState,
    repo: &Repo,
    pr: &PrId,
    path: Option<&str>,
    about: &HintContext,
    cleaner: &Cleaner,
) -> Result<String> {
    let pull = repo.pull(pr, PrFields::ROW | PrFields::STATS).await?;
    let ends = DiffEnds::of(&pull);
    let whole = diff::read(
        server.diffs(),
        repo,
        pr,
        ends.clone(),
        &DiffReq::default(),
        None,
    )
    .await?;
    let files: Vec<String> = whole
        .files
        .iter()
        .filter(|f| path.is_none_or(|p| p == f.path))
        .map(|f| cleaner.diff(&format!("{}{}", f.header, f.hunks.concat())))
        .collect();
    let missing = diff::missing(&pull, &whole);
    if let (Some(path), true) = (path, files.is_empty()) {
        let why = match &missing {
            None => format!("{pr} does not change {path}"),
            Some(missing) => format!("{path} is not in the diff that was read, and {missing}"),
        };
        return Err(
            Error::not_found(forge_core::Noun::Other, why).with_hint(Hint::fixed(
                "look at the changed files",
                Action::op(Op::PrFiles),
            )),
        );
    }
    // Warnings come before the first file, where programs that apply a diff skip them.
    let mut top = warning_lines(&whole.warnings, about, cleaner);
    // The forge's count of files belongs to the head and base in `ends`, but the diff may be of a
    // later head or base. Files are therefore reported as missing only if both have the same head
    // and base.
    if path.is_none()
        && whole.ends == ends
        && let Some(missing) = &missing
    {
        top.push_str(&format!("{missing}\n"));
    }
    let fitted = budget::fit(&top, &files, ResultPosition::default(), 100_000);
    let rest = match fitted.next {
        Some(at) if at.offset > 0 => format!(
            "Cut in file {} of {}; pr_diff has the rest.\n",
            fitted.to,
            files.len()
        ),
        Some(_) => format!(
            "{} of {} files shown; pr_diff has the rest.\n",
            fitted.to,
            files.len()
        ),
        None => String::new(),
    };
    Ok(format!("{}{rest}", fitted.text))
}
