//! Prints the capabilities of a repository: `cargo run -p forge --example capabilities -- local:.`

use forge::prelude::*;

#[tokio::main(flavor = "current_thread")]
async fn main() -> forge::Result<()> {
    let locator = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "local:.".to_owned());
    let repo = forge::open(&locator).await?;
    for (capability, support) in repo.capabilities().await? {
        match support {
            Support::Native => println!("yes  {}", capability.name()),
            Support::Emulated { how } | Support::ClientSide { how } => {
                println!("yes  {}: {how}", capability.name());
            }
            Support::No { why, instead } => {
                println!("no   {}: {why}; instead: {instead}", capability.name());
            }
        }
    }
    Ok(())
}
