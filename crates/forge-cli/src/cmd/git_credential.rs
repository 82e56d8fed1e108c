//! `forge auth git-credential`: a credential helper of git (gitcredentials(7)).

use std::{
    env,
    io::{self, Read as _},
};

use clap::Args;
use forge::account_shape;
use forge_core::{RepoId, Result};
use forge_git::{Git, quoted};

use crate::{ctx::Ctx, exit::Exit, ui::io_error};

/// Maximum length of a request of git.
const MAX_REQUEST_BYTES: u64 = 64 * 1024;

/// User name for a token. GitHub ignores the name.
const TOKEN_USER: &str = "x-access-token";

/// `forge auth git-credential`
#[derive(Args, Debug)]
pub struct GitCredentialArgs {
    /// The operation of git; all but `get` have no effect
    #[arg(value_name = "operation")]
    pub operation: String,
}

/// Reads git's request from standard input and prints the token of the requested host. Prints
/// nothing if forge has no token for the requested origin and account, so that git asks its next
/// helper.
///
/// # Errors
///
/// Fails if the login of the host cannot be read.
pub(super) async fn run(ctx: &Ctx, args: &GitCredentialArgs) -> Result<Exit> {
    let mut request = String::new();
    io::stdin()
        .lock()
        .take(MAX_REQUEST_BYTES)
        .read_to_string(&mut request)
        .map_err(io_error)?;
    let (Some(protocol), Some(host)) = (value(&request, "protocol"), value(&request, "host"))
    else {
        return Ok(Exit::Ok);
    };
    let forges = ctx.forges()?;
    let kind = forges.hosts().kind_of(host);
    let origin = kind.and_then(|kind| account_shape(&kind)?.git_origin(host));
    let is_own = origin.is_some_and(|origin| origin == format!("{protocol}://{host}"));
    // In git's protocol, a line ends with a line feed only. `str::lines` would also remove a
    // carriage return, so a request with a carriage return is refused.
    if args.operation != "get" || !is_own || request.contains('\r') {
        return Ok(Exit::Ok);
    }
    let (account, secret) = match forges.accounts().credential(host)? {
        Some(found) => (found.account, Some(found.secret)),
        None => (None, forges.other_login(host).await?),
    };
    let username = value(&request, "username").unwrap_or(TOKEN_USER);
    let is_other =
        account.is_some_and(|name| username != TOKEN_USER && !name.eq_ignore_ascii_case(username));
    if let Some(secret) = secret.filter(|_| !is_other) {
        ctx.ui.line(&format!("username={username}"))?;
        ctx.ui.line(&format!("password={}", secret.expose()))?;
    }
    Ok(Exit::Ok)
}

/// Returns true if git can use the stored login for the host of `repo`.
pub(super) fn is_supported(repo: &RepoId) -> bool {
    account_shape(&repo.kind).is_some_and(|shape| shape.git_origin(&repo.host).is_some())
}

/// Returns `git` with this program as its only credential helper for the host of `repo`. Returns
/// `None` if git cannot use the login for this host, or if a setting of the repository could expose
/// the token.
pub(super) fn with_login(git: &Git, repo: &RepoId) -> Option<Git> {
    let origin = account_shape(&repo.kind)?.git_origin(&repo.host)?;
    let program = env::current_exe().ok()?;
    let helper = format!("{} auth git-credential", quoted(program.to_str()?));
    git.with_credential_helper(&origin, &helper)
}

fn value<'a>(request: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = request.lines();
    lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
}
