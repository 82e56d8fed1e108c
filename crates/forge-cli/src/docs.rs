//! Generates `docs/cli.md` from the clap tree.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::cli::Cli;

/// Text that the definitions do not contain.
const NOTES: &str = r#"
## Output and exit codes

On a terminal: tables fitted to its width, colours, relative times, rendered Markdown, the pager.
On a pipe: lines with tabs between the columns, no heading, no colour, times in RFC 3339. `--json`
prints the fields that it names; `--jq` filters them and `--template` formats them.

Failures are `error: …` on stderr, with `Recovery: …` behind it where there is something to do.

Three cases where a script could repeat a write by mistake:

- A wait for a rate limit is `rate limited by HOST, waiting N s` on stderr.
- A write that failed before the forge was asked for it ends its error with `(nothing was sent)` or
  `(nothing was written)`. A write that may have happened says to look first.
- Where the result of a write cannot be printed (a full disk), the exit code is 1, and stderr says
  that the write is done, with the result. A reader that left is no failure: exit code 0, and the
  result of a write is on stderr.

| code | meaning |
|---|---|
| 0 | done; also when the reader of a pipe has left |
| 1 | failed, or used wrongly; also when what was written will have no effect (`ineffective`); `pr watch`: it happened, and not well; `doctor --live`: something differs, or does not answer |
| 2 | cancelled by the user |
| 4 | no credentials, or refused ones |
| 8 | `pr checks`: some have not finished; `pr watch`: it has not happened by the deadline; `workflow convergence`: the group is not there yet; `workflow pick`: there is none |

## Where it differs from gh

Flags, defaults, selectors, piped output and exit codes of `forge pr` are those of gh 2.103. These
are different on purpose:

- `pr diff` on a pipe streams: at a terminal escape it stops and fails, where gh prints nothing at
  all. What came before the escape has been printed.
- `owner/repo#7` and every other locator name a pull request too; `.` is the one of the current
  branch. A branch whose name looks like a locator is written `branch:owner/repo#7`.
- Of two open pull requests of a branch gh takes the newest. So does what only reads here (`view`,
  `diff`, `checks`, `checkout`, `watch`, `context`), and a warning names the other one. What changes a
  pull request refuses, and lists both: a comment or a merge on the wrong one could not be taken back.
- An empty body file is an error, and so are an empty `-R`, `--match-head-commit` and name of a pull
  request, which gh takes for none: an empty variable would lift a guard, or mean another one.
- `pr create -R` takes the current branch when it names the repository that you stand in, or a
  remote of it; another one needs `--head`. `--head owner/repo:branch` names a fork by its
  repository, and `owner:branch` finds the repository's own branches too.
- What does not exist (a label, a reviewer, a milestone, a branch) is refused before anything is
  made, with near names; gh opens the pull request first, and fails at reviewers afterwards. What the
  forge refuses all the same, as a review by the author, is a warning with the command that does the
  rest, and exit code 0, since the pull request is open; gh ends with 1.
- `--fill` leaves out the empty lines that git puts behind a commit's message. `--dry-run` prints
  `@me` as it was typed, and looks at nothing: a pull request that is open already, or a label that
  does not exist, is no error there.
- `-d` of `pr merge` and `pr close` keeps the clone's branch when it holds a commit that the pull
  request does not have; gh deletes it all the same. `pr close -d` leaves it for the base branch.
- Taking off a label that is not on it changes nothing, and is no error. An empty name in
  `--remove-assignee` takes nobody off; gh takes off everybody.
- `pr review` refuses a verdict on what is merged.
- On a terminal `pr merge` shows branches, checks and open threads, and refuses before its questions what
  the forge would refuse after them; Enter takes the method that is configured. Where the local branch
  is ahead, it says so. `pr review`, `pr comment` and `pr edit` ask as gh does, and open the editor
  without the key `e`. *No* at "Submit?" is exit code 2, as any cancelling is; gh ends with 0 or 1.
  `pr edit` takes people, projects and the milestone as text.
- `pr diff` and `--name-only` are complete past 300 files, where gh fails, and `--json commits,files`
  past 100, where gh stops silently. Names that are no ASCII stay readable, colours are git's, and
  `--exclude` keeps the line end before the file that it leaves out.
- `pr diff --stat` counts the lines of each file, and `pr diff -- PATH` shows these files, directories
  and globs alone, named from the top of the repository.
- `--json` has `reviewThreads`, the threads of `pr thread list`; gh has no such field. A review that is
  not submitted is in no list, and stops another one, as with gh.
- `pr list --search` keeps to its repository, also where the words name others (`repo:`), and says that
  something is left out; gh shows what it finds there as rows of this one.
- `pr list` and `pr status` take several `-R`, of which gh takes the last, and `--owner`: one table of
  all of them, each row with its repository, and in JSON each item. What could not be read is named on
  stderr, and the exit code is 1.
- `pr status` says whether checks fail and whether it is approved, and counts neither.
- `pr checks` puts what failed first, then by name; STARTUP_FAILURE is a failure.
  `--watch` prints them once on a pipe, when they have finished.
- With `push.default=upstream` a branch without an upstream branch has no pull request.
- Flags that exclude each other are refused, also where gh lets one of them win silently: `--jq`
  with `--template`, `--name-only` with `--patch`, `--body` with `--body-file`.
- A refused token is exit code 4, as a missing one; `auth status` ends with 1, as gh's does.
- `forge auth` and `label` have gh's flags but for those of gh's own sign-in (`login --web`,
  `--scopes`, `--git-protocol` and the like, `refresh`, `setup-git`): a token is given to
  `auth login`. `auth token` prints a token in place of `status --show-token`, and labels are listed by
  name, without `--sort`, `--order` and `--web`.
- `auth status --json` asks no host. `-h` is help everywhere: gh's `-h` of `auth` is `--hostname`.
- `pr review` comments on lines (`--line`, `--comments-file`); `pr thread` lists, answers and
  resolves the threads, and `pr view --comments` counts the open ones, on a pipe on stderr.
  `pr view --history` shows who did what, and when.
- `pr resubmit` submits another round where pull requests hold rounds (tangled), `pr diff --round N
  [--since M]` shows one. There `pr view --comments` goes round by round, and
  `--json comments,reviews` has a `round` more.
- `pr create` takes a patch (`--patch`), or in a clone makes one itself from a branch that was not
  pushed, and builds on another pull request (`--depends-on`) where the forge can; `pr view` names
  that one in a line of its own.
- `pr create --edit PATH=FILE --delete PATH` takes whole files in place of a branch, without a clone:
  they become one commit on top of the base, on a new branch that `--head` names.
- `pr update-branch` says which files conflict, where the forge does, as an error like others.
- `pr merge` and `pr update-branch` take `--leave-checkout`. It has an effect where the branch that
  moves is checked out in a work tree of the repository itself: on the local forge.
- Commands that write take `--wait DURATION` and `--no-wait` on every forge. Where a write is shown
  at once (GitHub, a git repository) there is nothing to wait for, and they change nothing; on
  tangled the word on who shows it goes to stderr.
- `pr watch` waits until checks finish, a review arrives, the state changes or the verdict turns. It
  looks every 10 s, less often while nothing changes, and ends at `--timeout`.
- `pr list --touches PATH` lists what changes a file, a directory or a glob; it looks at the files of at
  most 300 pull requests. GitHub does not tell the old name of a file that was renamed.
- `pr lock` of a locked one is no error, and another `--reason` replaces the one before. `pr lock` and
  `unlock` take a branch too.
- `pr checkout` prints nothing on stdout; gh leaves git's own lines there.
- `pr checkout` moves no local branch that follows something else than the head; `--branch` or
  `--force` moves it.
- `forge issue` has `list`, `view`, `create`, `edit`, `close`, `reopen`, `comment` and `delete` with
  gh's flags, and `history`. Issues are opened and edited without types, templates, attached files and
  projects by title: `--estimate` and `--priority` set fields, those of the board that `workflow.board`
  names. `close` has no `--duplicate-of`, and `list --milestone` takes a title.
- `--json` of an issue has `estimate`, `priority`, `values` and `version`, and none of gh's `isPinned`,
  `issueType`, `projectItems`, `reactionGroups`, `subIssuesSummary` and
  `closedByPullRequestsReferences`.
- A comment that is given with the state that an issue has already is not made, by gh in silence; forge
  says so, and how to make it.
- `issue comment --edit ID` and `--delete ID` take any comment, gh the last one alone.
  `issue edit --expected-version` refuses what somebody has changed since.
- `--json` prints `null` for a time that is not known.
- `--jq` has no `env`, `input` and `halt`, and lacks some words that are rare, such as `JOIN`,
  `fromstream`, `@base32`, `$__loc__` and `?//`; `--template` has no `regexMatch`, and numbers are
  whole in it: `eq .number 1`, where gh wants `1.0`.
- `pr create` does not count uncommitted changes.
- `pr create --push` pushes the branch first, without a question, and has it follow the pushed one; gh
  asks where to push to. `pr create --auto` has the pull request merged as soon as its requirements are
  met, as `pr merge --auto` does afterwards.
- `pr create` asks once more before it pushes where a title and a description are given: no single
  answer publishes.
- A pull request without a web page: `pr create`, `edit` and `comment` print its `file://`
  locator, which every command takes.
- Stored text commands no terminal, on a pipe either: escapes and invisible characters are shown
  (`␛`, `<U+202E>`), and JSON has them as `\u…`. `--jq` and `--template` give a pipe the text as it
  is.
- On a pipe `pr view` and `pr view --comments` write texts whole between lines of their own, as gh
  does: a comment can hold lines that look like another one. A script reads `--json comments`.
"#;

/// The text of `docs/cli.md`.
#[must_use]
pub fn cli_docs() -> String {
    let mut out = String::from(
        "# Command line\n\n\
         Generated from the program's own definitions by `cargo xtask docs`; a test keeps it current.\n",
    );
    let mut root = Cli::command();
    root.build();
    out.push_str(NOTES);
    section(&root, "forge", &mut out);
    out
}

fn section(command: &Command, path: &str, out: &mut String) {
    let _ = write!(out, "\n## {path}\n\n");
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        let _ = write!(out, "{about}\n\n");
    }
    let _ = write!(out, "```\n{}\n```\n", usage(command, path));
    let aliases: Vec<String> = command
        .get_all_aliases()
        .map(|a| format!("`{a}`"))
        .collect();
    if !aliases.is_empty() {
        let _ = write!(out, "\nAlso: {}.\n", aliases.join(", "));
    }
    let rows: Vec<String> = command
        .get_arguments()
        .filter(|a| !a.is_hide_set() && !matches!(a.get_id().as_str(), "help" | "version"))
        .filter(|a| path == "forge" || !matches!(a.get_id().as_str(), "color" | "verbose"))
        .map(row)
        .collect();
    if !rows.is_empty() {
        let _ = write!(out, "\n| | |\n|---|---|\n{}\n", rows.join("\n"));
    }
    let inner = |sub: &&Command| !sub.get_name().starts_with("__");
    for sub in command.get_subcommands().filter(inner) {
        section(sub, &format!("{path} {}", sub.get_name()), out);
    }
}

fn usage(command: &Command, path: &str) -> String {
    let shown = command.clone().render_usage().to_string();
    let tail = shown
        .find(['[', '<'])
        .and_then(|at| shown.get(at..))
        .unwrap_or("")
        .to_owned();
    format!("{path} {tail}").trim_end().to_owned()
}

fn row(arg: &Arg) -> String {
    let mut names = Vec::new();
    if let Some(short) = arg.get_short() {
        names.push(format!("-{short}"));
    }
    if let Some(long) = arg.get_long() {
        names.push(format!("--{long}"));
    }
    let takes_value = !matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Count);
    let value = arg
        .get_value_names()
        .filter(|_| takes_value)
        .map(|v| format!(" <{}>", v.join(" ")))
        .unwrap_or_default();
    let help = arg
        .get_long_help()
        .or_else(|| arg.get_help())
        .map(ToString::to_string);
    let help = help
        .unwrap_or_default()
        .replace('\n', " ")
        .replace('|', "\\|");
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|_| takes_value)
        .map(|v| format!("`{}`", v.get_name()))
        .collect();
    let words = if words.is_empty() {
        String::new()
    } else {
        format!(" ({})", words.join(", "))
    };
    let name = format!("{}{value}", names.join(", ")).replace('|', "\\|");
    format!("| `{}` | {help}{words} |", name.trim())
}

/// The definition of all commands and flags, for generating other pages.
#[must_use]
pub fn definition() -> Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `FORGE_UPDATE_DOCS` the test writes the page, as `cargo xtask docs` does.
    #[test]
    fn the_committed_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        if std::env::var_os("FORGE_UPDATE_DOCS").is_some() {
            std::fs::write(path, cli_docs()).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == cli_docs(),
            "docs/cli.md is stale: run `cargo xtask docs`"
        );
    }

    #[test]
    fn commands_for_users_of_gh_are_read() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/from-gh.md");
        let page = std::fs::read_to_string(path).unwrap();
        let spans = page.split('`').skip(1).step_by(2);
        let commands: Vec<&str> = spans.filter(|span| span.starts_with("forge ")).collect();
        assert!(commands.len() > 20, "{commands:?}");
        for command in commands {
            let typed = command.split(" <").next().unwrap_or(command);
            let read = Cli::read(typed.replace('\'', "").split_whitespace());
            let refused = read.err().filter(|e| {
                // A group of commands, named alone.
                e.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            });
            assert!(refused.is_none(), "{command}: {refused:?}");
        }
    }

    #[test]
    fn the_definitions_are_sound() {
        Cli::command().debug_assert();
    }
}
