//! `forge mcp`: the server for agents.

use std::{
    env,
    io::{IsTerminal as _, stdin},
    net::SocketAddr,
};

use clap::{Args, Subcommand};
use forge::{Forges, config::Var};
use forge_core::{Error, Result};
use forge_mcp::{
    Server, ServerOptions,
    clients::{CLIENTS, McpClient},
    http::{self, Bearer, HttpLimits, HttpOptions},
    safety::AllowList,
};

use crate::{ctx::Ctx, exit::Exit, signals::OwnInterrupt};

/// Arguments of `forge mcp`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
The server speaks MCP on standard input and output. Its tools only read, unless --write is given. \
`forge mcp config --client NAME` prints what a client's configuration needs."
)]
pub struct McpArgs {
    /// The subcommand; without one, the server starts.
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    /// Permissions of the server.
    #[command(flatten)]
    pub allow: AllowArgs,
    /// Serve over HTTP at this address instead of stdio, such as 127.0.0.1:8700; port 0 takes a
    /// free one
    #[arg(long, value_name = "address")]
    pub http: Option<SocketAddr>,
    /// Another host name that HTTP requests may use for this server; can be repeated
    #[arg(long, value_name = "host", requires = "http")]
    pub allow_host: Vec<String>,
}

/// Permissions of the server.
#[derive(Args, Clone, Debug)]
pub struct AllowArgs {
    /// Also offer the tools that write
    #[arg(long)]
    pub write: bool,
    /// A repository that may be used, or 'OWNER/*'; can be repeated. Without it: every repository
    /// on a forge, and on this machine the one in which the server was started
    #[arg(long, value_name = "pattern")]
    pub allow_repo: Vec<String>,
    /// A directory on this machine whose repository may also be used, or 'DIR/*'; can be repeated
    #[arg(long, value_name = "path")]
    pub allow_path: Vec<String>,
    /// A repository that may also be changed, or 'OWNER/*'; can be repeated [default, with --write:
    /// every allowed one]
    #[arg(long, value_name = "pattern", requires = "write")]
    pub allow_write: Vec<String>,
    /// Refuse to merge, or to delete or rewrite a branch, where the client cannot ask the user
    #[arg(long)]
    pub confirm_required: bool,
    /// Offer no tool that merges pull requests
    #[arg(long)]
    pub no_merge: bool,
    /// Offer another set of tools in addition to the default ones: issues, workflow; can be
    /// repeated
    #[arg(long, value_name = "name", value_delimiter = ',', value_parser = forge_mcp::TOOL_SETS.iter().map(|(name, _)| *name).collect::<Vec<_>>())]
    pub toolsets: Vec<String>,
    /// Offer only these tools and those of --toolsets; can be repeated
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// Do not offer these tools; can be repeated
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub exclude_tools: Vec<String>,
}

/// The commands below `mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Print what a client's configuration needs to start the server
    Config(McpConfigArgs),
}

/// Arguments of `forge mcp config`.
#[derive(Args, Debug)]
pub struct McpConfigArgs {
    /// The client; most others take the form of 'other'
    #[arg(long, value_name = "name", default_value = "other", hide_default_value = true, value_parser = CLIENTS.iter().map(|c| c.name).collect::<Vec<_>>())]
    pub client: String,
    /// Permissions of the server.
    #[command(flatten)]
    pub allow: AllowArgs,
}

/// Runs the MCP server, or prints the configuration for an MCP client.
///
/// # Errors
///
/// `invalid_input` for a pattern that does not name a repository; `config` for an address in use.
pub async fn run(ctx: &Ctx, args: &McpArgs) -> Result<Exit> {
    if let Some(McpCommand::Config(args)) = &args.command {
        return config(ctx, args);
    }
    let forges = ctx.forges()?;
    let options = options(ctx, &args.allow)?;
    let server = Server::new(forges.clone(), options)?;
    let Some(addr) = args.http else {
        if stdin().is_terminal() {
            ctx.ui.note(
                "Serving MCP on standard input and output. Agents start this command themselves: \
                 `forge mcp config` prints what a client's configuration needs. Ctrl-C ends it.",
            );
        }
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
        limits: HttpLimits::default(),
    };
    let listening = http::serve(server, options).await?;
    ctx.ui.line(&format!("listening on {}", listening.url()))?;
    // A generated token is valid only for this process. It is printed, because clients need it.
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
    let interrupt = OwnInterrupt::begin();
    tokio::select! {
        () = listening.run() => {}
        () = interrupt.receive() => {}
    }
    Ok(Exit::Ok)
}

fn options(ctx: &Ctx, allow: &AllowArgs) -> Result<ServerOptions> {
    let forges = ctx.forges()?;
    let mut without_tools = allow.exclude_tools.clone();
    without_tools.extend(allow.no_merge.then(|| "pr_merge".to_owned()));
    Ok(ServerOptions {
        write: allow.write,
        confirm_required: allow.confirm_required || forges.config().mcp_confirm_required(),
        tool_sets: allow.toolsets.clone(),
        tools: allow.tools.clone(),
        without_tools,
        repos: list(forges, &allow.allow_repo)?,
        paths: paths(forges, &allow.allow_path)?,
        writable: list(forges, &allow.allow_write)?,
        dir: ctx.cwd.clone(),
    })
}

fn config(ctx: &Ctx, args: &McpConfigArgs) -> Result<Exit> {
    let client = McpClient::named(&args.client)
        .ok_or_else(|| Error::invalid("client", format!("there is no client '{}'", args.client)))?;
    let program = env::current_exe().map_err(crate::ui::io_error)?;
    // Creating a server here shows whether the client will be able to start one.
    Server::new(ctx.forges()?.clone(), options(ctx, &args.allow)?)?;
    let arguments = arguments(ctx.forges()?, &args.allow)?;
    let text = client.snippet(&program.display().to_string(), &arguments);
    ctx.ui.write(text.as_bytes())?;
    if args.client == "other" {
        let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
        ctx.ui.note(&format!(
            "This is the form that most clients take. For another one, pass --client with one of: {}",
            names.join(", ")
        ));
    }
    if ctx.ui.is_tty() {
        ctx.ui.note(&format!("Add this to: {}", client.place));
    }
    Ok(Exit::Ok)
}

fn list(forges: &Forges, patterns: &[String]) -> Result<AllowList> {
    AllowList::parse(patterns, forges.hosts(), |id| forges.absolute(id))
}

fn paths(forges: &Forges, patterns: &[String]) -> Result<AllowList> {
    AllowList::of_paths(patterns, |id| forges.absolute(id))
}

/// Returns the arguments that start a server with the same options from any directory.
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
        ("--toolsets", &allow.toolsets),
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
