//! Registers a backend at run time: `cargo run -p forge --example backend`

use std::{error::Error, path::PathBuf, process::Command, sync::Arc};

use forge::{Forge, Trust, config::Env, prelude::*};
use forge_local::Local;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let root = tempfile::tempdir()?;
    let tools = root.path().join("ada/tools");
    let mut init = Command::new("git");
    init.args(["init", "--quiet"]).arg(&tools).status()?;

    let kind = ForgeKind::new("shelf").ok_or("a kind is a word")?;
    let shelf = root.path().to_owned();
    let backend = ExternalBackend::new(kind, move |id, trust| open(shelf.clone(), id, trust))
        .with_host("code.example");
    let forges = Forges::builder()
        .config(Config::without_files(Env::process()))
        .backend(backend)
        .build()?;

    let url = "https://code.example/ada/tools";
    let (repo, _) = forges.open_locator(url, forges.policy()).await?;
    let page = PageReq::first(30);
    let pulls = repo.pulls(&PullQuery::default(), page).await?;
    println!("{} open in {}", pulls.items.len(), repo.id());
    Ok(())
}

/// Opens the directory `<owner>/<name>` below `shelf` as a local repository. A real backend returns
/// its own implementation of `forge::Forge`.
async fn open(shelf: PathBuf, id: RepoId, trust: Trust) -> forge::Result<(Arc<dyn Forge>, RepoId)> {
    let Some((owner, name)) = id.owner_and_name() else {
        return Err(forge::Error::invalid("repo", format!("{id} has no owner")));
    };
    let local = Local::open(&shelf.join(owner).join(name), trust).await?;
    let canonical = local.id().clone();
    let forge: Arc<dyn Forge> = local;
    Ok((forge, canonical))
}
