//! Opens an issue, comments on it, and lists the open issues:
//! `cargo run -p forge --example issues -- local:.`

use std::pin::pin;

use forge::{prelude::*, text};

#[tokio::main(flavor = "current_thread")]
async fn main() -> forge::Result<()> {
    let locator = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "local:.".to_owned());
    let repo = forge::open(&locator).await?;

    let new = NewIssue::new("Greet the reader", "The page begins without a greeting.");
    let opened = repo.create_issue(&new).await?.value;
    repo.create_issue_comment(&opened.id, "The same is missing on the second page.")
        .await?;

    let fields = IssueFields::COMMENTS;
    let issue = repo.issue(&opened.id, &fields).await?;
    let comments = issue.comments.unwrap_or_default();
    println!("opened #{}, comments: {}", issue.id.key, comments.len());

    let mut issues = pin!(repo.all_issues(IssueQuery::default()));
    while let Some(issue) = issues.try_next().await? {
        println!("#{}\t{}", issue.id.key, text::one_line(&issue.title));
    }
    Ok(())
}
