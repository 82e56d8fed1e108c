//! Opens a pull request and merges it, in a temporary repository: `cargo run -p forge --example
//! merge`

use std::{error::Error, path::Path, process::Command};

use forge::{config::Env, prelude::*};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    branch_with_a_change(dir.path())?;

    // The example has its own configuration and does not read the user's.
    let forges = Forges::from_parts(Config::without_files(Env::process()));
    let path = dir
        .path()
        .to_str()
        .ok_or("the temporary directory is not Unicode")?;
    let (repo, _) = forges.open_locator(path, forges.policy()).await?;

    let mut wanted = CreatePull::new("polite", "Greet the reader");
    wanted.base = Some("main".to_owned());
    wanted.description = "A greeting should say whom it greets.".to_owned();
    let opened = repo.create_pull(&wanted).await?.value;
    println!("opened #{} from {}", opened.id.key, opened.head_branch);

    let mut how = MergeReq::default();
    how.method = Some(MergeMethod::Squash);
    // The merge fails if the branch moved since the pull request was opened.
    how.expected_head = opened.head_oid.clone();
    let merge = repo.merge(&opened.id, &how).await?.value;
    println!("merged it as {}", merge.commit.unwrap_or_default());
    Ok(())
}

/// Creates a repository whose branch `polite` has a commit that `main` lacks.
fn branch_with_a_change(dir: &Path) -> Result<(), Box<dyn Error>> {
    let commit = ["commit", "--quiet", "--allow-empty", "-m"];
    git(dir, &["init", "--quiet", "--initial-branch=main"])?;
    git(dir, &["config", "user.name", "Ada Lovelace"])?;
    git(dir, &["config", "user.email", "ada@example.com"])?;
    git(dir, &[&commit[..], &["Start"]].concat())?;
    git(dir, &["switch", "--quiet", "-c", "polite"])?;
    std::fs::write(dir.join("greeting.txt"), "Hello, reader.\n")?;
    git(dir, &["add", "greeting.txt"])?;
    git(dir, &["commit", "--quiet", "-m", "Greet the reader"])?;
    git(dir, &["switch", "--quiet", "main"])
}

fn git(dir: &Path, args: &[&str]) -> Result<(), Box<dyn Error>> {
    let status = Command::new("git").arg("-C").arg(dir).args(args).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("git {args:?} failed").into())
    }
}
