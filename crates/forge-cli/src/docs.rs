//! Generates `docs/reference/cli.md` from the clap definitions.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::cli::Cli;

/// Text of the page that is not generated from the definitions.
const NOTES: &str = r#"
## Output and exit codes

On a terminal: tables fitted to its width, colours, relative times, rendered Markdown, the pager.
On a pipe: lines with tabs between the columns, no heading, no colour, times in RFC 3339. `--json`
prints the fields that it names; `--jq` filters them and `--template` formats them.

Failures are `error: …` on stderr, followed by `Recovery: …` if there is something to do.

In three cases a script could repeat a write by mistake:

- A wait for a rate limit is `rate limited by HOST, waiting N s` on stderr.
- If a write fails before it is sent, its error ends with `(nothing was sent)` or
  `(nothing was written)`. If the write may have happened, the error says to check first.
- If the result of a write cannot be printed (a full disk), the exit code is 1, and stderr says
  that the write is done, with the result. A closed pipe is not a failure: the exit code is 0, and the
  result of a write is on stderr.

| code | meaning |
|---|---|
| 0 | done; also if the reader closed the pipe |
| 1 | failed, or used wrongly; also if the write will have no effect (`ineffective`); `pr watch`: what happened is a failure; `doctor --live`: something differs, or does not answer |
| 2 | cancelled by the user |
| 4 | no credentials, or refused ones |
| 8 | `pr checks`: some checks have not finished; `pr watch`: nothing happened before the timeout; `workflow convergence`: the group has not reached the state; `workflow pick`: there is no issue to pick |

## Where it differs from gh

Flags, defaults, selectors, piped output and exit codes of `forge pr` are those of gh 2.103. These
differences are intended.

### Naming pull requests and repositories

- `owner/repo#7` and every other locator name a pull request too; `.` is the one of the current
  branch. A branch whose name looks like a locator is written `branch:owner/repo#7`.
- Of two open pull requests of a branch gh takes the newest. So do commands that only read here
  (`view`, `diff`, `checks`, `checkout`, `watch`, `context`), and a warning names the other one.
  Commands that change a pull request refuse, and list both: a comment or a merge on the wrong one
  could not be undone.
- An empty `-R`, `--match-head-commit` and name of a pull request are errors, which gh treats as
  absent: an empty variable would lift a guard, or select another one. An empty body file is an
  error where it would replace a text or be a comment, and elsewhere an empty text with a caution.
- If the branch to which git pushes has no pull request, the one of the upstream branch
  (`branch.NAME.merge`) counts, as after `pr checkout --branch`. It does not if others use that
  branch: a default branch, or the base of a pull request. gh finds none. `-d` deletes such a branch.
- Flags that exclude each other are refused, also if gh lets one of them win silently: `--jq`
  with `--template`, `--name-only` with `--patch`, `--body` with `--body-file`.

### Opening

- In a clone of a fork, `pr create` on a terminal asks whether the pull request is for the fork or for
  its origin, unless `forge.repo`, a variable or `gh repo set-default` names it. gh refuses.
- `--head owner/repo:branch` names a fork by its repository, and `owner:branch` finds the repository's
  own branches too.
- A missing label, reviewer, milestone or branch is refused before anything is made, with near names;
  gh opens the pull request first, and fails at reviewers afterwards. What the forge refuses then, such
  as a review by the author, is a warning with the command that does the rest. The exit code is 0,
  since the pull request is open; gh ends with 1.
- `--fill` leaves out the empty lines that git puts after a commit's message. `--fill` with `--head`
  reads the pushed branch; gh needs a local branch of that name.
- `--dry-run` prints `@me` as it was typed, and reads nothing: a pull request that is open already, or
  a label that does not exist, is not an error there.
- `pr create` looks for the branch's newest commit on every remote; gh stops at the first remote
  without the branch. A remote branch that is ahead of the clone counts as pushed. With `--head`,
  commits that are only in the clone are a warning.
- `pr create` does not count uncommitted changes.
- `pr create --push` pushes the branch first, without a question, and sets its upstream; gh asks for
  the remote. If git's configuration names none, your own fork gets it.
- If a title and a description are given, `pr create` asks once more before it pushes, so that
  one answer alone publishes nothing.
- `pr create --auto` has the pull request merged as soon as its requirements are met, as
  `pr merge --auto` does afterwards.
- `pr create` takes a patch (`--patch`), or in a clone makes one itself from a branch that was not
  pushed. With `--depends-on` it builds on another pull request if the forge can; `pr view` names that
  pull request in a line of its own.
- `pr create --edit PATH=FILE --delete PATH` takes whole files instead of a branch, without a clone:
  the files become one commit on top of the base, on a new branch that `--head` names.
- A pull request without a web page: `pr create`, `edit` and `comment` print its `file://`
  locator, which every command takes.

### Listing and viewing

- `pr list` and `issue list` refuse a `--search` with an unclosed parenthesis or quote. A state in
  parentheses, as in `(is:closed OR is:merged)`, replaces the default; gh still shows only open ones.
  Elsewhere than on GitHub, `AND` and `NOT` work, and `OR` and parentheses are refused.
- `pr list` and `pr status` take several `-R`, of which gh takes the last, and `--owner`: one table of
  all of them, each row and each JSON item with its repository. A repository that could not be read is
  named on stderr, and the exit code is 1. Other commands refuse two different `-R`.
- `pr list --touches PATH` lists pull requests that change a file, a directory or a glob; it reads the
  files of at most 300 pull requests. GitHub does not return the old name of a renamed file.
- `pr status` shows whether checks fail and whether the pull request is approved, without counts.
- `pr checks` lists failed checks first, then by name; STARTUP_FAILURE is a failure.
  On a pipe, `--watch` prints the checks once, when they have finished.
- `pr watch` waits until checks finish, a review arrives, the state changes or the verdict turns. It
  asks every 10 s, less often while nothing changes, and ends at `--timeout`.
- On a pipe `pr view` and `pr view --comments` write texts whole between lines of their own, as gh
  does: a comment can hold lines that look like another one. A script reads `--json comments`.
- `pr view --history` shows who did what, and when.

### Diffs

- `pr diff` on a pipe streams: at a terminal escape it stops and fails, where gh prints nothing at
  all. The part before the escape has been printed.
- `pr diff` and `--name-only` are complete past 300 files, where gh fails, and `--json commits,files`
  past 100, where gh stops silently. Names that are not ASCII stay readable, the colours are those
  of git, and `--exclude` keeps the line end before the omitted file.
- `pr diff --stat` counts the lines of each file, and `pr diff -- PATH` shows only these files,
  directories and globs; paths start at the repository's root.
- `pr resubmit` submits another round if pull requests hold rounds (tangled), and `pr diff --round N
  [--since M]` shows one. There `pr view --comments` goes round by round, and
  `--json comments,reviews` has the field `round` in addition.

### Reviewing, editing and merging

- `pr review` comments on lines (`--line`, `--comments-file`); `pr thread` lists, answers and
  resolves the threads, and `pr view --comments` counts the open ones, on a pipe on stderr.
- On GitHub `pr review --pending` keeps comments in your pending review, `--with-pending` submits it
  with another review, and `--discard-pending` deletes it. gh refuses every review while one is pending.
- On a terminal `pr merge` shows branches, checks and open threads, and refuses before its questions
  everything that the forge would refuse after them; Enter takes the configured method. A local branch
  with commits that were not pushed is reported.
- `pr merge` reports each issue that the pull request closes on stderr: closed, moved, or left with the
  reason. gh prints nothing about them.
- `pr review`, `pr comment`, `pr edit` and `issue comment` ask as gh does, and open the editor without
  the key `e`. *No* at "Submit?" is exit code 2, like every cancellation; gh ends with 0 or 1. `pr edit` takes
  people, projects and the milestone as text.
- Removing a label that the pull request does not have changes nothing, and is not an error. An empty
  name in `--remove-assignee` removes nobody; gh removes everybody.
- `-d` of `pr merge` and `pr close` keeps the clone's branch when it holds a commit that the pull
  request does not have; gh deletes that branch. `pr close -d` first switches to the base branch.
- `pr update-branch` names the conflicting files in its error, if the forge names them.
- `pr update-branch` asks before it changes a branch that is not the author's; on a pipe it warns.
- `pr merge` and `pr update-branch` take `--leave-checkout`. The flag has an effect only on the local
  forge, if the branch that moves is checked out in a work tree of the repository.
- `pr lock` of a locked pull request is not an error, and a new `--reason` replaces the old one. `pr lock` and
  `unlock` take a branch too.
- `pr checkout` prints nothing on stdout; gh leaves git's own lines there.
- `pr checkout` does not move a local branch whose upstream is not the head branch; `--branch` or
  `--force` does.
- `pr checkout` of a head whose name already means something else to git (`origin/main`, a tag) makes
  the branch `pull-N`; gh makes a branch that hides the other one.
- `pr create` takes the branch of the same name as head, and pushes to it, if git's configuration
  names the base, the default or a protected branch (`push.default=upstream`).
- Commands that write take `--wait DURATION` and `--no-wait` on every forge. A write on GitHub or in a
  git repository is shown at once, and the flags have no effect there; on tangled, stderr says whether
  the index shows the write.

### Issues

- `forge issue` has `list`, `view`, `create`, `edit`, `close`, `reopen`, `comment` and `delete` with
  gh's flags, and `history`. `--estimate` and `--priority` set fields, those of the board that
  `workflow.board` names. `list --milestone` takes a title. Only GitHub has types and projects of
  issues, and a view shows them in `--json` alone.
- In a git repository `issue close --duplicate-of 7` adds the line `Duplicate of #7` to the closing
  comment.
- `issue create --template` takes title and text of a template of the work tree, also without a
  terminal, and leaves out its labels and assignees. The work tree must be a clone of the repository.
  An issue form is refused, because only the web page shows it.
  `--recover` needs no terminal either. `--project` does not go with `--web`.
- `issue create` asks for title, body and the next step, which is *Submit* or *Cancel*; gh also offers
  the browser and metadata there.
- `--json` of an issue also has `estimate`, `priority`, `values` and `version`.
- If an issue already has the state that `close` or `reopen` would set, the comment is made
  all the same, as by `pr close` and `pr reopen`; gh leaves it out without a word.
- `issue comment --edit ID` and `--delete ID` take any comment, gh only the last one.
  `issue edit --expected-version` refuses an issue that has changed since.

### Accounts

- A refused token is exit code 4, like a missing one; `auth status` ends with 1, as gh's does.
- `forge auth` and `label` have gh's flags except those of gh's own sign-in (`login --web`,
  `--scopes`, `--clipboard` and `--expiring`, `refresh`, `setup-git`), `status --show-token` and
  `label list --web`: a token is given to `auth login`, and `auth token` prints it. `login
  --insecure-storage`, `--skip-ssh-key` and `--git-protocol https`, and `--no-refresh` have no effect:
  forge keeps tokens in a file, makes no SSH keys, changes no configuration of git and refreshes no
  token. Labels are listed by name, and `--sort` takes `name` alone.
- `auth status --json` asks no host, and has fields of its own instead of `hosts`.

### JSON, templates and text

- `--json` has `reviewThreads`, the threads of `pr thread list`; gh has no such field. A review that is
  not submitted is in no list, and prevents another review without `--with-pending`, as with gh.
- `--json` prints `null` for an unknown time.
- `--jq` has no `env`, `input` and `halt`, and lacks some rare words, such as `JOIN`, `fromstream`,
  `@base32`, `$__loc__` and `?//`. `--template` has no `regexMatch`, and its numbers are integers:
  `eq .number 1`, where gh wants `1.0`.
- Stored text cannot control a terminal, on a pipe either: escapes and invisible characters are
  shown (`␛`, `<U+202E>`), and JSON has them as `\u…`. `--jq` and `--template` give a pipe the text
  as it is.
- `view` on a pipe writes a tab within a value as a space, and a space before a line `--` of a comment.
  In names of people, parentheses and commas become spaces.
"#;

/// Returns the text below a heading of the page, up to the next heading.
pub(crate) fn notes_below(heading: &str) -> &'static str {
    let (_, rest) = NOTES.split_once(heading).unwrap_or_default();
    rest.split("\n##").next().unwrap_or_default().trim()
}

/// Returns the text of `docs/reference/cli.md`.
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

/// Returns true for a flag that the page shows once, at the program itself. `label create` has a
/// flag of its own with the name `--color`.
fn is_of_every_command(arg: &Arg) -> bool {
    arg.is_global_set() && matches!(arg.get_id().as_str(), "color" | "verbose")
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
        .filter(|a| path == "forge" || !is_of_every_command(a))
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

/// Returns the definition of all commands and flags, for generating other pages.
#[must_use]
pub fn definition() -> Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `FORGE_UPDATE_DOCS` the test writes the page, as `cargo xtask docs` does.
    #[test]
    fn committed_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
        if std::env::var_os("FORGE_UPDATE_DOCS").is_some() {
            std::fs::write(path, cli_docs()).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == cli_docs(),
            "docs/reference/cli.md is stale: run `cargo xtask docs`"
        );
    }

    #[test]
    fn commands_in_from_gh_md_are_parsed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/from-gh.md");
        let page = std::fs::read_to_string(path).unwrap();
        let spans = page.split('`').skip(1).step_by(2);
        let commands: Vec<&str> = spans.filter(|span| span.starts_with("forge ")).collect();
        assert!(commands.len() > 20, "{commands:?}");
        for command in commands {
            let typed = command.split(" <").next().unwrap_or(command);
            let read = Cli::read(typed.replace('\'', "").split_whitespace());
            let refused = read.err().filter(|e| {
                // The page may name a group of commands without a subcommand, so this refusal is
                // accepted.
                e.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            });
            assert!(refused.is_none(), "{command}: {refused:?}");
        }
    }

    #[test]
    fn clap_definitions_are_valid() {
        Cli::command().debug_assert();
    }
}
