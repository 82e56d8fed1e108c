//! What can be typed: clap structs and nothing else. No I/O, no environment, no defaults that
//! depend on a repository.

pub(crate) mod auth;
mod capabilities;
mod color;
mod completion;
pub(crate) mod config;
mod demo;
pub mod issue;
pub(crate) mod label;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod output;
pub mod pr;
#[cfg(feature = "tangled")]
mod tangled;

use std::{ffi::OsString, sync::OnceLock, time::Duration};

use clap::{
    ArgAction, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
};

pub use auth::AuthArgs;
pub use capabilities::CapabilitiesArgs;
pub use color::{ColorArg, ColorChoice};
pub use completion::CompletionArgs;
pub use config::ConfigArgs;
pub use demo::DemoArgs;
pub use label::LabelArgs;
#[cfg(feature = "mcp")]
pub use mcp::McpArgs;
#[cfg(feature = "tangled")]
pub use tangled::{IngestionArgs, TangledArgs, TangledCommand};

/// Pull requests on GitHub, on tangled, and inside plain git repositories.
#[derive(Debug, Parser)]
#[command(
    name = "forge",
    version,
    propagate_version = false,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// What holds for every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// What the command is about.
    #[arg(skip)]
    pub named: Named,
}

impl Cli {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// clap's, with the text for the user; `--help` and `--version` are among them.
    pub fn read<I, T>(words: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item = T>,
        T: Into<OsString> + Clone,
    {
        let mut command = lenient(Self::command());
        let mut matches = command.try_get_matches_from_mut(words)?;
        let named = Named::of(&matches);
        let cli = Self::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command))?;
        Ok(Self { named, ..cli })
    }
}

/// What a command line is about: hints name it again.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// The names of the subcommands.
    pub path: Vec<String>,
    /// The repository of `-R`.
    pub repo: Option<String>,
    /// The pull request, issue or record.
    pub target: Option<String>,
    /// The repository that the target brings along, once the hosts are known.
    pub repo_of_target: OnceLock<String>,
}

impl Named {
    fn of(matches: &ArgMatches) -> Self {
        let mut path = Vec::new();
        let mut last = matches;
        while let Some((name, below)) = last.subcommand() {
            path.push(name.to_owned());
            last = below;
        }
        let text = |id| last.try_get_one::<String>(id).ok().flatten().cloned();
        Self {
            path,
            repo: text("repo"),
            target: text("selector").or_else(|| text("uri")),
            repo_of_target: OnceLock::new(),
        }
    }
}

/// As with gh, a flag takes the next word whatever it begins with, since a description may be a
/// list (`- first`) and a search leave something out (`-label:bug`); and the last of two wins.
fn lenient(command: clap::Command) -> clap::Command {
    command
        .args_override_self(true)
        .mut_args(|arg| {
            let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
            let may_be_alone = arg.get_num_args().is_some_and(|n| n.min_values() == 0);
            if takes && !may_be_alone && !arg.is_positional() {
                arg.allow_hyphen_values(true)
            } else {
                arg
            }
        })
        .mut_subcommands(lenient)
}

/// Flags of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct GlobalArgs {
    /// When to use colour; NO_COLOR, CLICOLOR and CLICOLOR_FORCE are honoured
    #[arg(long, global = true, value_name = "when", value_parser = ColorArg::when_parser(), default_value = "auto")]
    pub color: ColorArg,
    /// Say on stderr what is asked of the forge, and how long it took
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Work with pull requests
    Pr(pr::PrArgs),
    /// Work with issues
    Issue(issue::IssueArgs),
    /// Work with the labels of a repository
    Label(LabelArgs),
    /// Work with the records of tangled
    #[cfg(feature = "tangled")]
    Tangled(TangledArgs),
    /// Show what a repository's forge can do
    Capabilities(CapabilitiesArgs),
    /// Log in to a host and out of it
    Auth(AuthArgs),
    /// Read, set and check the configuration
    Config(ConfigArgs),
    /// Serve pull requests to agents over MCP
    #[cfg(feature = "mcp")]
    Mcp(McpArgs),
    /// Print a completion script for a shell
    Completion(CompletionArgs),
    /// See a pull request live and merge, in a repository made for it
    Demo(DemoArgs),
}

impl Command {
    /// How long its writes wait for an index to show them, where the command line says so.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Pr(args) => args.command.wait()?.duration(),
            Self::Issue(args) => args.command.wait()?.duration(),
            Self::Label(args) => args.command.wait()?.duration(),
            #[cfg(feature = "tangled")]
            Self::Tangled(args) => match &args.command {
                TangledCommand::Ingestion(args) => args.wait.duration(),
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> pr::PrCommand {
        let all = ["forge", "pr"].iter().chain(words);
        match Cli::read(all).unwrap().command {
            Command::Pr(args) => args.command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definitions_are_sound() {
        lenient(Cli::command()).debug_assert();
    }

    #[test]
    fn a_value_may_begin_with_a_hyphen() {
        for text in ["- first\n- second", "--- a", "-1", "--title", "--", "-"] {
            let pr::PrCommand::Comment(args) = read(&["comment", "7", "-b", text]) else {
                panic!("{text}");
            };
            assert_eq!(args.body.body.as_deref(), Some(text));
            assert_eq!(args.selector.as_deref(), Some("7"), "{text}");
        }
        let pr::PrCommand::List(args) = read(&["list", "-l", "-x", "-S", "-label:bug", "-d"])
        else {
            panic!("another command");
        };
        assert_eq!(args.label, ["-x"]);
        assert_eq!(args.search.as_deref(), Some("-label:bug"));
        assert_eq!(args.draft, Some(true));
    }

    #[test]
    fn what_may_stand_alone_takes_no_flag() {
        let pr::PrCommand::View(args) = read(&["view", "7", "--json", "-q", "-1"]) else {
            panic!("another command");
        };
        assert_eq!(args.json.json, Some(Vec::new()));
        assert_eq!(args.json.jq.as_deref(), Some("-1"));
        assert!(Cli::read(["forge", "pr", "view", "-1"]).is_err());
        assert!(Cli::read(["forge", "pr", "comment", "7", "-b"]).is_err());
    }

    #[test]
    fn the_last_of_two_wins() {
        let pr::PrCommand::Comment(args) = read(&["comment", "-b", "x", "-e", "-e", "-b", "y"])
        else {
            panic!("another command");
        };
        assert_eq!(args.body.body.as_deref(), Some("y"));
        assert!(args.editor);
    }
}
