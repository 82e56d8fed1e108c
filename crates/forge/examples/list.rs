//! Lists the open pull requests of a repository: `cargo run -p forge --example list -- local:.`

use forge::{prelude::*, text};

#[tokio::main(flavor = "current_thread")]
async fn main() -> forge::Result<()> {
    let locator = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "local:.".to_owned());
    let repo = forge::open(&locator).await?;
    let page = repo
        .pulls(&PullQuery::default(), PageReq::first(30))
        .await?;
    println!("{} open in {}", page.items.len(), repo.id());
    for pull in &page.items {
        // A title is foreign text, so it is sanitised.
        println!(
            "#{}\t{}\t{}",
            pull.id.key,
            text::one_line(&pull.title),
            pull.url
        );
    }
    Ok(())
}
