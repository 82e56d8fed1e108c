//! The command line: the clap definition that contains all commands.

use std::ffi::OsString;

use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser};

use crate::{
    args::{CommandNames, GlobalArgs},
    cmd::RootCommand,
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
    after_help = "Topics of forge help: environment, exit-codes, formatting, reference",
    max_term_width = 100
)]
pub struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The command.
    #[command(subcommand)]
    pub command: RootCommand,
    /// Names on the command line, for hints.
    #[arg(skip)]
    pub named: CommandNames,
}

impl Cli {
    /// Parses a command line, including the program's name.
    ///
    /// # Errors
    ///
    /// Returns clap's error, which contains the text for the user. For clap, `--help` and
    /// `--version` are also errors.
    pub fn read<I, T>(words: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item = T>,
        T: Into<OsString> + Clone,
    {
        let mut command = lenient(globals_last(grouped(Self::command())));
        let mut matches = command.try_get_matches_from_mut(words)?;
        let named = CommandNames::of(&matches);
        let cli = Self::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command))?;
        let named = CommandNames {
            definition: command,
            ..named
        };
        Ok(Self { named, ..cli })
    }
}

/// The two groups of commands in a help text: the heading of the first group, the names of its
/// commands, and the heading of the second group, which gets all other commands.
type Groups = (&'static str, &'static [&'static str], &'static str);

const ROOT_GROUPS: Groups = (
    "Core commands",
    &["auth", "issue", "pr"],
    "Additional commands",
);
const TARGET_GROUPS: Groups = (
    "General commands",
    &["create", "list", "status"],
    "Targeted commands",
);

/// Groups the commands in the help texts as gh does.
fn grouped(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(|below| match below.get_name() {
        "pr" | "issue" => with_groups(below, TARGET_GROUPS),
        _ => below,
    });
    with_groups(command, ROOT_GROUPS)
}

/// Lists the commands by group in the help template, because clap supports only one heading for all
/// commands.
fn with_groups(command: clap::Command, (first, names, rest): Groups) -> clap::Command {
    let shown = || command.get_subcommands().filter(|c| !c.is_hide_set());
    let width = shown().map(|c| c.get_name().len()).max().unwrap_or(0);
    let list = |is_wanted: &dyn Fn(&str) -> bool| {
        let wanted = shown().filter(|c| is_wanted(c.get_name()));
        let lines = wanted.map(|c| {
            let about = c.get_about().map(ToString::to_string).unwrap_or_default();
            format!("  {:width$}  {about}\n", c.get_name())
        });
        lines.collect::<String>()
    };
    let is_first = |name: &str| names.contains(&name);
    let (general, others) = (list(&is_first), list(&|name: &str| !is_first(name)));
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n\
         {first}:\n{general}\n{rest}:\n{others}\nOptions:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Moves shared flags below a command's own flags in help texts, under a separate heading.
fn globals_last(command: clap::Command) -> clap::Command {
    let order = |arg: &clap::Arg| match arg.get_id().as_str() {
        "wait" | "no_wait" => Some(997_usize),
        _ => arg.is_global_set().then_some(998),
    };
    command
        .mut_args(|arg| match order(&arg) {
            Some(order) => arg.display_order(order).help_heading("Common options"),
            None => arg,
        })
        .mut_subcommands(globals_last)
}

/// Accepts two habits of gh users:
/// - A value may begin with a hyphen, as in a list (`- first`) or a search exclusion
///   (`-label:bug`).
/// - A flag may be repeated. Its last value is used.
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
            RootCommand::Pr(args) => args.command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn clap_definitions_are_valid() {
        lenient(globals_last(grouped(Cli::command()))).debug_assert();
    }

    #[test]
    fn help_groups_name_every_command_once() {
        let mut root = grouped(Cli::command());
        root.build();
        let help = |command: &mut clap::Command| command.render_long_help().to_string();
        let names = |command: &clap::Command| {
            let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
            shown.map(|c| c.get_name().to_owned()).collect::<Vec<_>>()
        };
        let (all, text) = (names(&root), help(&mut root));
        for name in all {
            assert_eq!(
                text.matches(&format!("\n  {name} ")).count(),
                1,
                "{name}\n{text}"
            );
        }
        let pr = root.find_subcommand_mut("pr").unwrap();
        let (all, text) = (names(pr), help(pr));
        for name in all {
            assert_eq!(
                text.matches(&format!("\n  {name} ")).count(),
                1,
                "{name}\n{text}"
            );
        }
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}\n{text}"));
        let order = [
            "General commands:",
            "  create ",
            "Targeted commands:",
            "  merge ",
            "Options:",
        ];
        assert!(order.map(at).is_sorted(), "{text}");
    }

    #[test]
    fn help_lists_global_flags_below_command_flags() {
        let e = Cli::read(["forge", "pr", "close", "-h"]).unwrap_err();
        let text = e.render().to_string();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}\n{text}"));
        let order = [
            "\nOptions:",
            "--delete-branch",
            "--help",
            "\nCommon options:",
            "--no-wait",
            "--color",
            "--repo",
            "--verbose",
        ];
        assert!(order.map(at).is_sorted(), "{text}");
    }

    #[test]
    fn json_flag_help_names_the_default_selection() {
        let help = |words: &str| {
            let e = Cli::read(words.split(' ')).unwrap_err();
            e.render().to_string()
        };
        for words in [
            "forge pr checks -h",
            "forge issue list -h",
            "forge label list -h",
        ] {
            let text = help(words);
            assert!(text.contains("without a value, list the fields"), "{text}");
        }
        for words in ["forge auth status --help", "forge pr context -h"] {
            let text = help(words);
            assert!(text.contains("without a value, all"), "{text}");
        }
    }

    #[test]
    fn flag_value_may_begin_with_a_hyphen() {
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
    fn next_flag_is_no_optional_value() {
        let pr::PrCommand::View(args) = read(&["view", "7", "--json", "-q", "-1"]) else {
            panic!("another command");
        };
        assert_eq!(args.json.json, Some(Vec::new()));
        assert_eq!(args.json.jq.as_deref(), Some("-1"));
        assert!(Cli::read(["forge", "pr", "view", "-1"]).is_err());
        assert!(Cli::read(["forge", "pr", "comment", "7", "-b"]).is_err());
    }

    #[test]
    fn last_of_two_equal_flags_counts() {
        let pr::PrCommand::Comment(args) = read(&["comment", "-b", "x", "-e", "-e", "-b", "y"])
        else {
            panic!("another command");
        };
        assert_eq!(args.body.body.as_deref(), Some("y"));
        assert!(args.editor);
    }
}
