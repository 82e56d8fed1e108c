//! `forge mcp`: the server for agents.

use std::env;

use forge::{Forges, config::Var};
use forge_core::{Error, Result};
use forge_mcp::{
    Options, Server,
    clients::Client,
    http::{self, Bearer, HttpOptions, Limits},
    safety::AllowList,
};

use crate::ctx::Ctx;
use crate::{
    args::{
        McpArgs,
        mcp::{AllowArgs, McpCommand, McpConfigArgs},
    },
    exit::Exit,
};

/// Serves, or prints a client's configuration.
///
/// # Errors
/// `invalid_input` for a pattern that names no repository, `config` for an address that is taken.
pub async fn run(ctx: &Ctx, args: &McpArgs) -> Result<Exit> {
    if let Some(McpCommand::Config(args)) = &args.command {
        return config(ctx, args);
    }
    let forges = ctx.forges()?;
    let options = options(ctx, &args.allow)?;
    let server = Server::new(forges.clone(), options)?;
    let Some(addr) = args.http else {
        forge_mcp::serve_stdio(server).await?;
        return Ok(Exit::Ok);
    };
    let (bearer, made) = match forges.config().env().first(&[Var::ForgeMcpToken]) {
        Some((_, token)) => (Bearer::new(&token)?, false),
        None => (Bearer::random()?, true),
    };
    let shown = made.then(|| bearer.expose().to_owned());
    let options = HttpOptions {
        addr,
        bearer: Some(bearer),
        hosts: args.allow_host.clone(),
        limits: Limits::default(),
    };
    let listening = http::serve(server, options).await?;
    ctx.ui.line(&format!("listening on {}", listening.url()))?;
    // It is of this server alone, and whoever started it has to know it.
    if let Some(token) = shown {
        ctx.ui.line(&format!("Authorization: Bearer {token}"))?;
    }
    ctx.ui.flush()?;
    if !addr.ip().is_loopback() {
        ctx.ui.note(
            "Others can reach this address. Whoever has the token acts with your accounts, and \
             nothing is encrypted: put a TLS proxy in front.",
        );
    }
    tokio::select! {
        () = listening.run() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    Ok(Exit::Ok)
}

fn options(ctx: &Ctx, allow: &AllowArgs) -> Result<Options> {
    let forges = ctx.forges()?;
    let mut without_tools = allow.exclude_tools.clone();
    without_tools.extend(allow.no_merge.then(|| "pr_merge".to_owned()));
    Ok(Options {
        write: allow.write,
        confirm_required: allow.confirm_required || forges.config().mcp_confirm_required(),
        tools: allow.tools.clone(),
        without_tools,
        repos: list(forges, &allow.allow_repo)?,
        paths: paths(forges, &allow.allow_path)?,
        writable: list(forges, &allow.allow_write)?,
        dir: ctx.cwd.clone(),
    })
}

fn config(ctx: &Ctx, args: &McpConfigArgs) -> Result<Exit> {
    let client = Client::named(&args.client)
        .ok_or_else(|| Error::invalid("client", format!("there is no client '{}'", args.client)))?;
    let program = env::current_exe().map_err(crate::ui::io_error)?;
    // What the client would start must start.
    Server::new(ctx.forges()?.clone(), options(ctx, &args.allow)?)?;
    let arguments = arguments(ctx.forges()?, &args.allow)?;
    let text = client.snippet(&program.display().to_string(), &arguments);
    ctx.ui.write(text.as_bytes())?;
    if ctx.ui.is_tty() {
        ctx.ui.note(&format!("It goes to: {}", client.place));
    }
    Ok(Exit::Ok)
}

fn list(forges: &Forges, patterns: &[String]) -> Result<AllowList> {
    AllowList::parse(patterns, forges.hosts(), |id| forges.absolute(id))
}

fn paths(forges: &Forges, patterns: &[String]) -> Result<AllowList> {
    AllowList::of_paths(patterns, |id| forges.absolute(id))
}

/// What starts a server like this one. The client starts it in another directory.
fn arguments(forges: &Forges, allow: &AllowArgs) -> Result<Vec<String>> {
    let mut args = vec!["mcp".to_owned()];
    for (flag, given) in [
        ("--write", allow.write),
        ("--confirm-required", allow.confirm_required),
        ("--no-merge", allow.no_merge),
    ] {
        args.extend(given.then(|| flag.to_owned()));
    }
    for (flag, names) in [
        ("--tools", &allow.tools),
        ("--exclude-tools", &allow.exclude_tools),
    ] {
        if !names.is_empty() {
            args.extend([flag.to_owned(), names.join(",")]);
        }
    }
    for (flag, patterns) in [
        ("--allow-repo", list(forges, &allow.allow_repo)?),
        ("--allow-path", paths(forges, &allow.allow_path)?),
        ("--allow-write", list(forges, &allow.allow_write)?),
    ] {
        for pattern in patterns.patterns() {
            args.extend([flag.to_owned(), pattern.to_owned()]);
        }
    }
    Ok(args)
}
