//! `forge completion`: a shell script that completes commands, flags, numbers and branches.

use std::iter;

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use forge_core::{Error, Result};

use crate::{cli::Cli, ctx::Ctx, exit::Exit};

/// `forge completion`
#[derive(Args, Debug)]
pub struct CompletionArgs {
    /// The shell [default, if the output is not a terminal: bash]; bash, zsh and fish also complete
    /// numbers and branches
    #[arg(value_enum, value_name = "shell")]
    pub shell: Option<Shell>,
    /// The shell
    #[arg(
        short = 's',
        long = "shell",
        value_enum,
        conflicts_with = "shell",
        value_name = "shell"
    )]
    pub named_shell: Option<Shell>,
}

/// Prints the completion script of a shell.
///
/// # Errors
///
/// `invalid_input` (field `shell`) on a terminal if no shell is named; other kinds if stdout cannot
/// be written.
pub async fn run(ctx: &Ctx, args: &CompletionArgs) -> Result<Exit> {
    let shell = match args.shell.or(args.named_shell) {
        Some(shell) => shell,
        None if ctx.ui.is_tty() => {
            return Err(Error::invalid("shell", "no shell is named")
                .with_hint("name one: forge completion -s bash"));
        }
        None => Shell::Bash,
    };
    let mut definition = completed_commands();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition, "forge", &mut script);
    let script = with_candidates(shell, &String::from_utf8_lossy(&script), &definition);
    ctx.ui.write(script.as_bytes())?;
    Ok(Exit::Ok)
}

/// Returns the commands that a script completes: all except the internal `__complete`.
fn completed_commands() -> Command {
    let all = Cli::command();
    let commands = all.get_subcommands();
    let commands = commands.filter(|command| !command.get_name().starts_with("__"));
    Command::new("forge")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(all.get_arguments().cloned())
        .subcommands(commands.cloned())
}

/// Adds calls of `forge __complete` to the script. The script must not let the shell evaluate the
/// candidates, because other people wrote them.
fn with_candidates(shell: Shell, script: &str, definition: &Command) -> String {
    let pulls = with_selector(definition, "pr");
    let issues = with_selector(definition, "issue");
    match shell {
        Shell::Bash => {
            let cases = |group: &str, names: &[String]| {
                let words = names.iter().map(|name| format!("\"{group} {name}\""));
                words.collect::<Vec<_>>().join("|")
            };
            let dynamic = BASH
                .replace("PULLS", &cases("pr", &pulls))
                .replace("ISSUES", &cases("issue", &issues));
            format!("{script}\n{dynamic}")
        }
        Shell::Zsh => {
            let lines = script.lines().map(|line| match line {
                line if line.contains(":selector -- ") && line.contains("branch") => {
                    line.replace(":_default'", ":_forge_pulls'")
                }
                line if line.contains(":selector -- ") => {
                    line.replace(":_default'", ":_forge_issues'")
                }
                line => line.replace(":branch:_default'", ":branch:_forge_branches'"),
            });
            let script = lines.collect::<Vec<_>>().join("\n");
            let (before, after) = script.split_once("_forge() {").unwrap_or((&script, ""));
            format!("{before}{ZSH}\n_forge() {{{after}\n")
        }
        Shell::Fish => {
            let dynamic = FISH
                .replace("PULLS", &pulls.join(" "))
                .replace("ISSUES", &issues.join(" "));
            format!("{script}\n{dynamic}")
        }
        _ => script.to_owned(),
    }
}

/// Returns the subcommands of `group` that take a pull request or an issue, with their aliases.
fn with_selector(definition: &Command, group: &str) -> Vec<String> {
    let group = definition.find_subcommand(group);
    let commands = group.into_iter().flat_map(Command::get_subcommands);
    let taking = commands.filter(|command| {
        let mut positionals = command.get_positionals();
        positionals.any(|arg| arg.get_id() == "selector")
    });
    taking
        .flat_map(|command| iter::once(command.get_name()).chain(command.get_all_aliases()))
        .map(str::to_owned)
        .collect()
}

const BASH: &str = r#"_forge_candidates() {
    _forge "$@"
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} what= word rest
    case "$prev" in
        -B|--base|-H|--head) what=branches ;;
        *) case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
            PULLS) what=pulls ;;
            ISSUES) what=issues ;;
            "co "*) what=pulls ;;
            "pr thread") if [[ $COMP_CWORD -eq 4 ]]; then what=pulls; fi ;;
        esac ;;
    esac
    if [[ -z $what || $cur == -* ]]; then
        return 0
    fi
    if [[ $what == branches ]]; then
        COMPREPLY=()
    fi
    while IFS=$'\t' read -r word rest; do
        if [[ $word == "$cur"* ]]; then
            COMPREPLY+=("$(printf %q "$word")")
        fi
    done < <(forge __complete "$what" 2>/dev/null)
    return 0
}
complete -F _forge_candidates -o bashdefault -o default forge
"#;

const ZSH: &str = r#"_forge_candidates() {
    local -a found
    local word about
    while IFS=$'\t' read -r word about; do
        found+=("${word//:/\\:}:$about")
    done < <(forge __complete "$1" 2>/dev/null)
    _describe "$1" found
}
_forge_pulls() { _forge_candidates pulls }
_forge_issues() { _forge_candidates issues }
_forge_branches() { _forge_candidates branches }
"#;

const FISH: &str = r#"complete -c forge -n "__fish_forge_using_subcommand pr; and __fish_seen_subcommand_from PULLS" -f -a "(forge __complete pulls 2>/dev/null)"
complete -c forge -n "__fish_forge_using_subcommand issue; and __fish_seen_subcommand_from ISSUES" -f -a "(forge __complete issues 2>/dev/null)"
complete -c forge -n "__fish_forge_using_subcommand pr" -s B -l base -x -a "(forge __complete branches 2>/dev/null)"
complete -c forge -n "__fish_forge_using_subcommand pr" -s H -l head -x -a "(forge __complete branches 2>/dev/null)"
"#;
