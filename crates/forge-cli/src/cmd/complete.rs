//! `forge __complete`: prints candidates for the shell scripts of `forge completion`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use forge_core::{
    PageReq, Result,
    model::{IssueQuery, PrFields, PullQuery},
    text,
};
use tokio::time::timeout;

use crate::{ctx::Ctx, exit::Exit};

/// Timeout of the requests. It is short because the user is typing.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of candidates.
const MAX_ROWS: usize = 50;

/// `forge __complete`
#[derive(Args, Debug)]
pub struct CompleteArgs {
    /// The kind of value to complete
    #[arg(value_enum)]
    pub what: Completed,
}

/// Values that a shell can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Completed {
    /// Open pull requests
    Pulls,
    /// Open issues
    Issues,
    /// Branches of the clone
    Branches,
}

/// Prints one candidate per line, with a description after a tab.
///
/// # Errors
///
/// Fails if the repository cannot be read. The scripts then complete nothing.
pub async fn run(ctx: &Ctx, args: &CompleteArgs) -> Result<Exit> {
    let rows = match args.what {
        Completed::Pulls => timeout(ANSWER_TIMEOUT, pulls(ctx)).await,
        Completed::Issues => timeout(ANSWER_TIMEOUT, issues(ctx)).await,
        Completed::Branches => timeout(ANSWER_TIMEOUT, branches(ctx)).await,
    };
    // Leaves out candidates with whitespace, or with characters that a terminal would not display
    // as they are.
    let is_plain = |word: &str| text::one_line(word) == word && !word.contains(char::is_whitespace);
    for (word, about) in rows.unwrap_or_else(|_| Ok(Vec::new()))? {
        if is_plain(&word) {
            let line = format!("{word}\t{}", text::one_line(&about));
            ctx.ui.line(line.trim_end())?;
        }
    }
    Ok(Exit::Ok)
}

async fn pulls(ctx: &Ctx) -> Result<Vec<(String, String)>> {
    let mut query = PullQuery::default();
    query.fields = PrFields::ROW;
    let page = PageReq::first(MAX_ROWS);
    let found = ctx.repo(None).await?.pulls(&query, page).await?.items;
    let rows = found.into_iter().map(|p| (p.id.key.to_string(), p.title));
    Ok(rows.collect())
}

async fn issues(ctx: &Ctx) -> Result<Vec<(String, String)>> {
    let page = PageReq::first(MAX_ROWS);
    let repo = ctx.repo(None).await?;
    let found = repo.issues(&IssueQuery::default(), page).await?.items;
    let rows = found
        .into_iter()
        .map(|issue| (issue.id.key.to_string(), issue.title));
    Ok(rows.collect())
}

/// Returns the branches of the clone, and the remote branches as of the last fetch.
async fn branches(ctx: &Ctx) -> Result<Vec<(String, String)>> {
    let list = |args: [&'static str; 3]| ctx.git().run_ok(args);
    let own = list([
        "for-each-ref",
        "--format=%(refname:lstrip=2)",
        "refs/heads/",
    ])
    .await?;
    let theirs = list([
        "for-each-ref",
        "--format=%(refname:lstrip=3)",
        "refs/remotes/",
    ])
    .await?;
    let both = [own, theirs].concat();
    let both = String::from_utf8_lossy(&both);
    let mut names: Vec<&str> = both.lines().filter(|name| *name != "HEAD").collect();
    names.sort_unstable();
    names.dedup();
    let rows = names
        .into_iter()
        .map(|name| (name.to_owned(), String::new()));
    Ok(rows.collect())
}
