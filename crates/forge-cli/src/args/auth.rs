use clap::{Args, Subcommand};

use super::output::JsonArgs;

/// `forge auth`
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct AuthArgs {
    /// The command.
    #[command(subcommand)]
    pub command: AuthCommand,
}

/// The commands on accounts.
#[derive(Debug, Subcommand)]
pub enum AuthCommand {
    /// Store a token or an app password for a host
    Login(LoginArgs),
    /// Take an account out of the store
    Logout(AccountArgs),
    /// Use another stored account
    Switch(AccountArgs),
    /// Show hosts, accounts, which is used, and where it comes from
    Status(AuthStatusArgs),
    /// Print the token of a host, alone
    Token(TokenArgs),
}

/// `forge auth login`
#[derive(Args, Debug)]
pub struct LoginArgs {
    /// The host; without it the default host
    #[arg(long, visible_alias = "hostname", value_name = "host")]
    pub host: Option<String>,
    /// The login, or on tangled the handle
    #[arg(short = 'u', long, visible_alias = "user", value_name = "name")]
    pub account: Option<String>,
    /// Which forge runs there, for a host that is not known yet
    #[arg(long, value_name = "kind", value_parser = ["github", "tangled"])]
    pub kind: Option<String>,
    /// Read the token or the app password from standard input
    #[arg(long)]
    pub with_token: bool,
}

/// `forge auth logout` and `forge auth switch`
#[derive(Args, Debug)]
pub struct AccountArgs {
    /// The host; without it the default host
    #[arg(long, visible_alias = "hostname", value_name = "host")]
    pub host: Option<String>,
    /// The account, where the host has several
    #[arg(short = 'u', long, visible_alias = "user", value_name = "name")]
    pub account: Option<String>,
}

/// `forge auth status`
#[derive(Args, Debug)]
pub struct AuthStatusArgs {
    /// This host alone
    #[arg(long, visible_alias = "hostname", value_name = "host")]
    pub host: Option<String>,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge auth token`
#[derive(Args, Debug)]
pub struct TokenArgs {
    /// The host; without it the default host
    #[arg(long, visible_alias = "hostname", value_name = "host")]
    pub host: Option<String>,
}
