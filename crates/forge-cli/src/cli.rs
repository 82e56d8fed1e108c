//! The command line as a whole: what clap reads, above the commands.

use std::ffi::OsString;

use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser};

use crate::{
    args::{GlobalArgs, Named},
    cmd::Command,
};

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
        let named = Named {
            definition: command,
            ..named
        };
        Ok(Self { named, ..cli })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::pr;

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
