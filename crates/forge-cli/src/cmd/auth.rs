//! `forge auth`: accounts and their tokens.

use std::io::{self, Read as _};

use clap::{Arg as Flag, ArgAction, Args, Subcommand};
use dialoguer::{Password, theme::ColorfulTheme};
use forge::{
    ACCOUNT_KINDS, AccountShape, Forges, account_shape,
    auth::{AccountStatus, Accounts, parse_secret},
    config::Source,
};
use forge_core::{
    Action, Arg, Call, Error, ErrorKind, ForgeKind, Hint, Noun, Param, RepoId, RepoPath, Result,
    Warning, locator::Hosts, model::Actor, text,
};
use futures::future::join_all;

use super::git_credential::{self, GitCredentialArgs};
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    ui::{
        io_error,
        json::{Json, JsonField, Selection},
        prompt,
    },
};

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
    /// Remove a stored account
    Logout(LogoutArgs),
    /// Use another stored account
    Switch(AccountArgs),
    /// Show hosts and accounts, and check the active account with each host
    Status(AuthStatusArgs),
    /// Print the token of a host
    Token(TokenArgs),
    /// Give git the token of a host, as its credential helper
    GitCredential(GitCredentialArgs),
}

/// Returns `--help` without a short form. In `auth`, `-h` is gh's short form of `--hostname`.
fn long_help() -> Flag {
    let flag = Flag::new("help").long("help").help("Print help");
    flag.action(ArgAction::Help).display_order(999)
}

const NO_REFRESH: &str = "Accepted as in gh, without effect: forge never refreshes tokens";

/// Returns a flag of gh that has no effect, because `forge` always behaves as the flag requests.
fn ignored(name: &'static str, help: &'static str) -> Flag {
    let flag = Flag::new(name).long(name).help(help);
    flag.action(ArgAction::SetTrue)
}

/// Returns gh's `--git-protocol`. Only `https` is accepted, and has no effect.
fn git_protocol() -> Flag {
    Flag::new("git-protocol")
        .short('p')
        .long("git-protocol")
        .value_name("protocol")
        .value_parser(["https"])
        .help("Accepted as in gh, without effect: forge does not change git's configuration")
}

/// Removes a flag's short form, because gh uses that letter for another flag.
fn without_short(flag: Flag) -> Flag {
    flag.short(None)
}

/// `forge auth login`
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    arg(long_help()),
    arg(ignored(
        "insecure-storage",
        "Accepted as in gh, without effect: forge stores tokens in a file"
    )),
    arg(ignored(
        "skip-ssh-key",
        "Accepted as in gh, without effect: forge creates no SSH key"
    )),
    arg(git_protocol())
)]
pub struct LoginArgs {
    /// The host [default: the default host]
    #[arg(short = 'h', long, visible_alias = "hostname", value_name = "host")]
    pub host: Option<String>,
    /// The account: its handle on tangled; not needed on GitHub, where the token names it
    #[arg(short = 'u', long, visible_alias = "user", value_name = "name")]
    pub account: Option<String>,
    /// The forge that runs on the host, if the host is not known yet
    #[arg(long, value_name = "kind", value_parser = ACCOUNT_KINDS.to_vec())]
    pub kind: Option<String>,
    /// Read the token or the app password from standard input
    #[arg(long)]
    pub with_token: bool,
    /// Store a token for JIRA, which `pr context` asks for tickets
    #[arg(long, conflicts_with_all = ["host", "account", "kind"])]
    pub jira: bool,
    /// The URL of JIRA [default: from the configuration]
    #[arg(long, requires = "jira", value_name = "url")]
    pub base_url: Option<String>,
    /// The e-mail address of the account at JIRA Cloud
    #[arg(long, requires = "jira", value_name = "address")]
    pub email: Option<String>,
}

/// `forge auth logout`
#[derive(Args, Debug)]
pub struct LogoutArgs {
    /// The account.
    #[command(flatten)]
    pub account: AccountArgs,
    /// Remove the stored token for JIRA
    #[arg(long, conflicts_with_all = ["host", "account"])]
    pub jira: bool,
}

/// `forge auth logout` and `forge auth switch`
#[derive(Args, Debug)]
#[command(disable_help_flag = true, arg(long_help()))]
pub struct AccountArgs {
    /// The host [default: the default host]
    #[arg(short = 'h', long, visible_alias = "hostname", value_name = "host")]
    pub host: Option<String>,
    /// The account, if the host has several
    #[arg(short = 'u', long, visible_alias = "user", value_name = "name")]
    pub account: Option<String>,
}

/// `forge auth status`
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    arg(long_help()),
    arg(ignored("no-refresh", NO_REFRESH)),
    mut_arg("template", without_short)
)]
pub struct AuthStatusArgs {
    /// Only the active accounts
    #[arg(short, long)]
    pub active: bool,
    /// Only this host
    #[arg(short = 'h', long, visible_alias = "hostname", value_name = "host")]
    pub host: Option<String>,
    /// Flags for JSON output. JSON output sends no request to the hosts.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// `forge auth token`
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    arg(long_help()),
    arg(ignored("no-refresh", NO_REFRESH))
)]
pub struct TokenArgs {
    /// The host [default: the default host]
    #[arg(short = 'h', long, visible_alias = "hostname", value_name = "host")]
    pub host: Option<String>,
    /// A stored account instead of the active one
    #[arg(short = 'u', long, visible_alias = "user", value_name = "name")]
    pub account: Option<String>,
}

const FIELDS: &[JsonField<AccountStatus>] = &[
    JsonField {
        name: "account",
        needs: (),
        get: |s| s.account.as_deref().map_or(Json::Null, Json::text),
    },
    JsonField {
        name: "active",
        needs: (),
        get: |s| Json::Bool(s.active),
    },
    JsonField {
        name: "host",
        needs: (),
        get: |s| Json::text(&s.host),
    },
    JsonField {
        name: "kind",
        needs: (),
        get: |s| Json::text(s.kind.as_str()),
    },
    JsonField {
        name: "source",
        needs: (),
        get: |s| Json::text(s.source.to_string()),
    },
    JsonField {
        name: "token",
        needs: (),
        get: |s| Json::text(&s.token),
    },
];

/// Maximum length of a token; longer input was piped in by mistake.
const MAX_TOKEN_BYTES: u64 = 16 * 1024;

/// Runs one of the commands.
///
/// # Errors
///
/// `invalid_input`, `not_found` and `config` from [`Accounts`]; `unauthenticated` if there is no
/// token to print.
pub async fn run(ctx: &Ctx, args: &AuthArgs) -> Result<Exit> {
    let forges = ctx.forges()?;
    let accounts = forges.accounts();
    let default = forges.hosts().default_host().to_owned();
    let host = |host: &Option<String>| host.clone().unwrap_or_else(|| default.clone());
    match &args.command {
        AuthCommand::Login(args) if args.jira => login_jira(ctx, accounts, args),
        AuthCommand::Login(args) => login(ctx, forges, &host(&args.host), args).await,
        AuthCommand::Logout(args) if args.jira => {
            let base_url = accounts.logout_jira()?;
            ctx.ui.success(&format!("logged out of JIRA at {base_url}"));
            Ok(Exit::Ok)
        }
        AuthCommand::Logout(LogoutArgs { account: args, .. }) => {
            let host = host(&args.host);
            let name = accounts.logout(&host, args.account.as_deref())?;
            ctx.ui.success(&format!("logged out of {host} as {name}"));
            Ok(Exit::Ok)
        }
        AuthCommand::Switch(args) => {
            let host = host(&args.host);
            let name = accounts.switch(&host, args.account.as_deref())?;
            ctx.ui.success(&format!("switched to {name} at {host}"));
            Ok(Exit::Ok)
        }
        AuthCommand::Status(args) => status(ctx, forges, args).await,
        AuthCommand::Token(args) => token(ctx, forges, args).await,
        AuthCommand::GitCredential(args) => git_credential::run(ctx, args).await,
    }
}

async fn login(ctx: &Ctx, forges: &Forges, host: &str, args: &LoginArgs) -> Result<Exit> {
    let accounts = forges.accounts();
    let kind = args.kind.as_deref().and_then(ForgeKind::new);
    // Refuse an unusable host before the user enters a password.
    let shape = account_shape(&accounts.kind_for_login(host, kind.as_ref())?);
    let label = |of: fn(&AccountShape) -> &'static str, other| shape.map_or(other, of);
    let asks = ctx.ui.can_prompt() && !args.with_token;
    let named = match &args.account {
        Some(account) => Some(account.clone()),
        None if shape.is_some_and(AccountShape::is_named_by_secret) => None,
        None if asks => {
            let what = label(AccountShape::account, "Account");
            let question = format!("{what} at {host}");
            Some(prompt::line(&text::one_line(&question), "")?)
        }
        None => {
            return Err(Error::invalid("account", "no account is named")
                .with_hint("pass --account with the login, or on tangled the handle"));
        }
    };
    let pin = match &named {
        Some(account) => forges.pin_login(host, kind.as_ref(), account).await?,
        None => None,
    };
    let secret = read_secret(ctx, args, label(AccountShape::secret, "Secret"))?;
    let secret = parse_secret(&secret)?;
    let owner = forges.verify_login(host, kind.as_ref(), &secret).await?;
    let account = account_of(named, owner)?;
    let login = accounts.login(host, kind.as_ref(), &account, &secret, pin.as_ref())?;
    let did = if login.replaced {
        "replaced the credential of"
    } else {
        "logged in as"
    };
    ctx.ui
        .success(&format!("{did} {} at {}", account.trim(), login.host));
    if !login.has_backend {
        ctx.ui.caution(&format!(
            "the token is stored but not verified: this build has no backend for {}",
            login.kind
        ));
    }
    if let Some(var) = login.shadowed_by {
        warn_of_shadow(ctx, var.name());
    }
    Ok(Exit::Ok)
}

/// Returns the account to store: the token's owner. Fails if the user named another account.
fn account_of(named: Option<String>, owner: Option<Actor>) -> Result<String> {
    let Some(owner) = owner else {
        return Ok(named.unwrap_or_default());
    };
    // An app's token belongs to a bot, whose login ends with `[bot]`.
    let login = owner.login.trim_end_matches("[bot]").to_owned();
    let is_other = |name: &String| {
        let name = name.trim().trim_start_matches('@');
        !name.eq_ignore_ascii_case(&login) && !name.eq_ignore_ascii_case(&owner.login)
    };
    match named.filter(is_other) {
        None => Ok(login),
        Some(name) => Err(Error::invalid(
            "account",
            format!(
                "the token is not stored: it belongs to {}, not to {}",
                text::one_line(&login),
                text::one_line(&name)
            ),
        )
        .with_hint(
            Hint::new("omit the account, or pass a token of that account")
                .with_action(Action::again(&[(Param::Account, Arg::Omit)])),
        )),
    }
}

fn login_jira(ctx: &Ctx, accounts: &Accounts, args: &LoginArgs) -> Result<Exit> {
    let asks = ctx.ui.can_prompt() && !args.with_token;
    let base_url = match (&args.base_url, accounts.jira_url()?) {
        (Some(url), _) => url.clone(),
        (None, Some(url)) => url,
        (None, None) if asks => prompt::line("Base URL", "")?,
        (None, None) => {
            return Err(Error::invalid("base_url", "no base URL of JIRA is set")
                .with_hint("pass --base-url with its address, or set jira.base_url"));
        }
    };
    let secret = read_secret(ctx, args, "API token")?;
    let email = args.email.as_deref();
    let login = accounts.login_jira(&base_url, email, &parse_secret(&secret)?)?;
    ctx.ui
        .success(&format!("stored the token for JIRA at {}", login.base_url));
    ctx.ui.note(
        "the token was not verified: the next `forge pr context` with a ticket shows whether \
         JIRA accepts it",
    );
    if let Some(name) = login.shadowed_by {
        warn_of_shadow(ctx, &name);
    }
    Ok(Exit::Ok)
}

fn warn_of_shadow(ctx: &Ctx, variable: &str) {
    ctx.ui.warning(
        &Warning::new(format!(
            "{variable} is set, and overrides the stored account"
        ))
        .with_hint(format!("unset {variable} to use the stored account")),
    );
}

/// Reads the secret from standard input, or asks for it on a terminal.
fn read_secret(ctx: &Ctx, args: &LoginArgs, question: &str) -> Result<String> {
    if args.with_token {
        return secret_from_stdin();
    }
    if ctx.ui.can_prompt() {
        return ask_secret(question);
    }
    Err(
        Error::invalid("token", "there is no terminal to ask for the token")
            .with_hint("pass it on standard input: `forge auth login --with-token < file`"),
    )
}

/// Asks for a secret with hidden input.
fn ask_secret(question: &str) -> Result<String> {
    prompt::ask(|| {
        Password::with_theme(&ColorfulTheme::default())
            .with_prompt(question)
            .interact()
    })
}

fn secret_from_stdin() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_TOKEN_BYTES)
        .read_to_end(&mut bytes)
        .map_err(io_error)?;
    String::from_utf8(bytes).map_err(|_| {
        // The conversion's error is dropped, because it contains the bytes of the secret.
        Error::invalid("token", "standard input is not UTF-8 text")
            .with_hint("pass the token alone on standard input")
    })
}

async fn status(ctx: &Ctx, forges: &Forges, args: &AuthStatusArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json.or_all(FIELDS.iter().map(|f| f.name)), FIELDS)?;
    let mut lines = forges.accounts().status()?;
    let host = match &args.host {
        Some(host) => {
            let host = Hosts::normalise(host)?;
            lines.retain(|line| line.host == host);
            host
        }
        None => forges.hosts().default_host().to_owned(),
    };
    lines.retain(|line| line.active || !args.active);
    if let Some(selection) = selection {
        selection.print(&ctx.ui, &selection.array(&lines))?;
        return Ok(Exit::Ok);
    }
    let of_gh = match lines.iter().any(|line| line.host == host) {
        true => None,
        false => login_of_gh(ctx, forges, &host).await,
    };
    if lines.is_empty() && of_gh.is_none() {
        let at = args.host.as_deref().unwrap_or("any host");
        return Err(
            Error::not_found(Noun::Account, format!("you are not logged in to {at}")).with_hint(
                Hint::new("log in (a local repository needs no account)")
                    .with_action(Action::new(Call::Login)),
            ),
        );
    }
    let answers = join_all(lines.iter().map(|line| ask_host(ctx, forges, line))).await;
    let palette = ctx.ui.palette();
    if let Some((kind, viewer)) = of_gh {
        ctx.ui.line(&palette.bold(&text::one_line(&host)))?;
        let rest = format!("{} ({kind}, used) from gh", viewer.login);
        let mark = palette.green("✓");
        ctx.ui
            .line(&format!("  {mark} {}", text::one_line(&rest)))?;
    }
    let mut exit = Exit::Ok;
    let mut before = "";
    for (line, answer) in lines.iter().zip(&answers) {
        if line.host != before {
            ctx.ui.line(&palette.bold(&text::one_line(&line.host)))?;
            before = &line.host;
        }
        let mark = match (answer, line.active) {
            (Some(Err(_)), _) => palette.red("X"),
            (_, true) => palette.green("✓"),
            (_, false) => "-".to_owned(),
        };
        let answered = answer.as_ref().and_then(|answer| answer.as_ref().ok());
        let account = line.account.as_deref();
        let account = account.or(answered.map(|viewer| viewer.login.as_str()));
        let account = account.unwrap_or("token");
        let used = if line.active { ", used" } else { "" };
        let rest = format!(
            "{account} ({}{used}) from {}: {}",
            line.kind, line.source, line.token
        );
        ctx.ui
            .line(&format!("  {mark} {}", text::one_line(&rest)))?;
        if let Some(Err(e)) = answer {
            ctx.ui.error(e);
            exit = Exit::Failure;
        }
    }
    Ok(exit)
}

/// Returns the account's identity at the host; `None` for an inactive account.
async fn ask_host(ctx: &Ctx, forges: &Forges, line: &AccountStatus) -> Option<Result<Actor>> {
    if !line.active {
        return None;
    }
    viewer(ctx, forges, &line.kind, &line.host, line.account.as_deref()).await
}

/// Returns the account of gh's login at `host`. forge uses this login if it has no stored account
/// for the host.
async fn login_of_gh(ctx: &Ctx, forges: &Forges, host: &str) -> Option<(ForgeKind, Actor)> {
    let kind = forges.hosts().kind_of(host)?;
    let answer = viewer(ctx, forges, &kind, host, None).await?;
    Some((kind, answer.ok()?))
}

async fn viewer(
    ctx: &Ctx,
    forges: &Forges,
    kind: &ForgeKind,
    host: &str,
    account: Option<&str>,
) -> Option<Result<Actor>> {
    // The repository in this id is a placeholder, because the identity does not depend on a
    // repository.
    let id = RepoId {
        kind: kind.clone(),
        host: host.to_owned(),
        path: RepoPath::Named {
            owner: account.unwrap_or("viewer").to_owned(),
            name: "viewer".to_owned(),
        },
    };
    let repo = forges.open(&id, ctx.policy().ok()?).await.ok()?;
    Some(repo.viewer().await)
}

async fn token(ctx: &Ctx, forges: &Forges, args: &TokenArgs) -> Result<Exit> {
    let accounts = forges.accounts();
    let host = args.host.as_deref();
    let host = host.unwrap_or_else(|| forges.hosts().default_host());
    if let Some(account) = &args.account {
        let credential = accounts.credential_of(host, account)?;
        ctx.ui.line(credential.secret.expose())?;
        return Ok(Exit::Ok);
    }
    let mut secret = match accounts.credential(host)? {
        Some(credential) => Some(credential.secret),
        None => forges.other_login(host).await?,
    };
    let is_chosen =
        args.host.is_some() || forges.config().get("default_host")?.source != Source::Default;
    let others = match forges.hosts().kind_of(host) {
        Some(kind) if !is_chosen && secret.is_none() => accounts.stored_hosts(&kind)?,
        _ => Vec::new(),
    };
    // As in gh: if only one host has an account, that host is used instead of the default host.
    if let [sole] = others.as_slice() {
        secret = accounts.credential(sole)?.map(|found| found.secret);
    }
    let secret = secret.ok_or_else(|| {
        let hint = match others.is_empty() {
            true => {
                Hint::new("log in").with_action(Action::new(Call::Login).with(Param::Host, host))
            }
            false => {
                let names = others.join(", ");
                Hint::from(format!("name one of the hosts with accounts ({names})"))
                    .with_action(Action::again(&[(Param::Host, Arg::Choose)]))
            }
        };
        Error::new(
            ErrorKind::Unauthenticated {
                host: host.to_owned(),
            },
            format!("there is no token for {host}"),
        )
        .with_hint(hint)
    })?;
    ctx.ui.line(secret.expose())?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;
    use crate::{cli::Cli, cmd::RootCommand};

    fn read(words: &[&str]) -> std::result::Result<AuthCommand, ErrorKind> {
        let words = ["forge", "auth"].iter().chain(words);
        match Cli::read(words).map_err(|e| e.kind())?.command {
            RootCommand::Auth(args) => Ok(args.command),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn short_h_names_the_host() {
        let Ok(AuthCommand::Token(args)) = read(&["token", "-h", "git.example"]) else {
            panic!("no host");
        };
        assert_eq!(args.host.as_deref(), Some("git.example"));
        for command in ["login", "logout", "status", "switch", "token"] {
            let e = read(&[command, "-h"]).unwrap_err();
            assert_eq!(e, ErrorKind::InvalidValue, "{command}");
            let e = read(&[command, "--help"]).unwrap_err();
            assert_eq!(e, ErrorKind::DisplayHelp, "{command}");
        }
    }

    #[test]
    fn gh_flags_without_effect_are_accepted() {
        for words in [
            &[
                "login",
                "-p",
                "https",
                "--insecure-storage",
                "--skip-ssh-key",
            ][..],
            &["status", "--no-refresh", "--template", "x"],
            &["token", "--no-refresh"],
        ] {
            assert!(read(words).is_ok(), "{words:?}");
        }
        for words in [&["login", "-p", "ssh"][..], &["status", "-t"]] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}
