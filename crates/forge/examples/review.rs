//! Lists the files and commits of a pull request, and reviews it:
//! `cargo run -p forge --example review -- local:. 1`

use std::pin::pin;

use forge::{prelude::*, text};

#[tokio::main(flavor = "current_thread")]
async fn main() -> forge::Result<()> {
    let mut args = std::env::args().skip(1);
    let locator = args.next().unwrap_or_else(|| "local:.".to_owned());
    let number = args.next().and_then(|n| n.parse().ok()).unwrap_or(1);

    let repo = forge::open(&locator).await?;
    let id = repo.pull_id(number);
    let pull = repo.pull(&id, PrFields::NONE).await?;
    let mut files = pin!(repo.all_files(&id));
    while let Some(file) = files.try_next().await? {
        println!("file\t{}", text::one_line(&file.path));
    }
    let commits: Vec<_> = repo.all_commits(&id).try_collect().await?;
    println!("commits\t{}", commits.len());

    // Not every forge has verdicts.
    let verdict = match repo.supports(Capability::ReviewVerdict) {
        true => Verdict::Approve,
        false => Verdict::Comment,
    };
    let mut review = NewReview::new(verdict, "Reads well.");
    // The review fails if the branch moved since the pull request was read.
    review.expected_head = pull.head_id().map(str::to_owned);
    let submitted = repo.submit_review(&id, &review).await?;
    println!(
        "{:?}\t{}",
        submitted.value.state,
        submitted.ingestion.word()
    );
    Ok(())
}
