//! Arguments of `forge mcp`.

use std::net::SocketAddr;

use clap::{Args, Subcommand};

/// Arguments of `forge mcp`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
The server reads and writes on standard input and output, as clients start it. It only reads unless \
--write is given. `forge mcp config --client NAME` prints what a client's configuration needs."
)]
pub struct McpArgs {
    /// What else to do.
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    /// What the server may do.
    #[command(flatten)]
    pub allow: AllowArgs,
    /// Serve over HTTP at this address instead, such as 127.0.0.1:8700; port 0 takes a free one
    #[arg(long, value_name = "address")]
    pub http: Option<SocketAddr>,
    /// A host that requests over HTTP may name beside the address; can be repeated
    #[arg(long, value_name = "host", requires = "http")]
    pub allow_host: Vec<String>,
}

/// What a server may do.
#[derive(Args, Clone, Debug)]
pub struct AllowArgs {
    /// Offer the tools that change something as well
    #[arg(long)]
    pub write: bool,
    /// A repository that may be used, or 'OWNER/*'; can be repeated. All at forges may be, unless one
    /// is named; on this machine, the one that the server was started in
    #[arg(long, value_name = "pattern")]
    pub allow_repo: Vec<String>,
    /// A directory whose repository may be used as well, or 'DIR/*'; can be repeated
    #[arg(long, value_name = "path")]
    pub allow_path: Vec<String>,
    /// A repository among them that may be changed, or 'OWNER/*'; can be repeated
    #[arg(long, value_name = "pattern", requires = "write")]
    pub allow_write: Vec<String>,
    /// Refuse merges, deletions and rewritten branches where the client cannot ask the user
    #[arg(long)]
    pub confirm_required: bool,
    /// Offer no tool that merges pull requests
    #[arg(long)]
    pub no_merge: bool,
    /// Offer these tools alone; can be repeated
    #[arg(long, value_name = "name", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// Leave these tools out; can be repeated
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
    /// The client
    #[arg(long, value_name = "name", value_parser = forge_mcp::clients::CLIENTS.iter().map(|c| c.name).collect::<Vec<_>>())]
    pub client: String,
    /// What the server may do.
    #[command(flatten)]
    pub allow: AllowArgs,
}
