//! Advice for commands and flags of gh that `forge` does not have.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use forge_core::suggest;

const GH_ALONE: &str = "use gh: forge covers only pull requests, issues and labels";
const GH_ISSUE: &str = "use gh: forge issue has only the commands that `forge issue --help` lists";
const GH_ACTIONS: &str =
    "use gh for the workflows of GitHub Actions: forge workflow has the states of issues";
const LOGS: &str = "read the logs of failed checks: forge pr context --include ci_logs";
const TOKEN: &str = "log in with a token, the only login that forge supports: forge auth login";
const CLAIM: &str = "claim and pick print the id of the claim; the comments of the issue have it \
                     too: forge issue view NUMBER --json comments";
const CLOSING: &str =
    "write a line such as \"Closes #4\" into the description: forge pr edit --body TEXT";

/// Advice for a path in `pr diff` without `--` before it.
pub(crate) const DIFF_PATH: &str = "name paths after two hyphens: forge pr diff -- PATH";

const PRINT_TOKEN: &str = "print the token: forge auth token";

/// The typed command or flag, a part of clap's usage line that tells where it was typed, and the
/// advice.
type Habit = (&'static str, &'static str, &'static str);

const COMMANDS: &[Habit] = &[
    (
        "repo",
        ROOT,
        "clone with git; to name another repository, pass -R OWNER/REPO",
    ),
    (
        "clone",
        ROOT,
        "clone with git; to name another repository, pass -R OWNER/REPO",
    ),
    (
        "browse",
        ROOT,
        "open a pull request in the browser: forge pr view --web",
    ),
    (
        "search",
        ROOT,
        "search the pull requests of a repository: forge pr list --search QUERY",
    ),
    (
        "run",
        ROOT,
        "see the checks of a pull request: forge pr checks; run the failed ones again: forge pr \
         checks --rerun-failed; read their logs: forge pr context --include ci_logs",
    ),
    (
        "status",
        ROOT,
        "see what concerns you in all your repositories: forge pr status -R @mine",
    ),
    ("alias", ROOT, GH_ALONE),
    ("api", ROOT, GH_ALONE),
    ("attestation", ROOT, GH_ALONE),
    ("cache", ROOT, GH_ALONE),
    ("codespace", ROOT, GH_ALONE),
    ("copilot", ROOT, GH_ALONE),
    ("discussion", ROOT, GH_ALONE),
    ("extension", ROOT, GH_ALONE),
    ("gist", ROOT, GH_ALONE),
    ("gpg-key", ROOT, GH_ALONE),
    ("org", ROOT, GH_ALONE),
    ("project", ROOT, GH_ALONE),
    ("release", ROOT, GH_ALONE),
    ("ruleset", ROOT, GH_ALONE),
    ("secret", ROOT, GH_ALONE),
    ("ssh-key", ROOT, GH_ALONE),
    ("variable", ROOT, GH_ALONE),
    ("refresh", "forge auth ", TOKEN),
    (
        "setup-git",
        "forge auth ",
        "forge does not change git's configuration; to have git ask forge for tokens: git config \
         --global credential.https://github.com.helper '!forge auth git-credential'",
    ),
    ("log", "forge pr ", LOGS),
    ("logs", "forge pr ", LOGS),
    (
        "reply",
        "forge pr ",
        "answer in a review thread: forge pr thread reply",
    ),
    (
        "rerun",
        "forge pr ",
        "run the failed checks again: forge pr checks --rerun-failed",
    ),
    (
        "resolve",
        "forge pr ",
        "resolve a review thread: forge pr thread resolve",
    ),
    (
        "view",
        "forge pr thread ",
        "see the threads with their comments: forge pr thread list",
    ),
    ("disable", "forge workflow ", GH_ACTIONS),
    ("enable", "forge workflow ", GH_ACTIONS),
    ("list", "forge workflow ", GH_ACTIONS),
    ("run", "forge workflow ", GH_ACTIONS),
    ("view", "forge workflow ", GH_ACTIONS),
    ("develop", "forge issue ", GH_ISSUE),
    ("lock", "forge issue ", GH_ISSUE),
    ("pin", "forge issue ", GH_ISSUE),
    ("transfer", "forge issue ", GH_ISSUE),
    ("unlock", "forge issue ", GH_ISSUE),
    ("unpin", "forge issue ", GH_ISSUE),
    (
        "edit",
        "forge label ",
        "define it again: forge label create NAME --force",
    ),
    (
        "status",
        "forge issue ",
        "list the issues that are assigned to you: forge issue list --assignee @me",
    ),
];

const FLAGS: &[Habit] = &[
    ("--web", "forge auth login ", TOKEN),
    ("--scopes", "forge auth login ", TOKEN),
    ("--clipboard", "forge auth login ", TOKEN),
    ("--expiring", "forge auth login ", TOKEN),
    ("-w", "forge auth login ", TOKEN),
    ("-s", "forge auth login ", TOKEN),
    ("-c", "forge auth login ", TOKEN),
    ("--show-token", "forge auth status ", PRINT_TOKEN),
    ("-t", "forge auth status ", PRINT_TOKEN),
    ("--path", "forge pr diff ", DIFF_PATH),
    ("--log", "forge pr checks ", LOGS),
    ("--log-failed", "forge pr checks ", LOGS),
    ("--closes", "forge pr edit ", CLOSING),
    ("--add-closing", "forge pr edit ", CLOSING),
    (
        "--path",
        "forge pr list ",
        "filter by changed file: forge pr list --touches PATH",
    ),
    (
        "--review-requested",
        "forge pr list ",
        "search for it: forge pr list --search review-requested:LOGIN",
    ),
    (
        "--submit",
        "forge pr review ",
        "submit your pending review with a verdict: forge pr review --comment --with-pending",
    ),
    (
        "--state",
        "forge pr edit ",
        "close the pull request, or open it again: forge pr close, forge pr reopen",
    ),
    (
        "--line",
        "forge pr comment ",
        "comment on a line in a review: forge pr review --line PATH:LINE=TEXT",
    ),
    (
        "--draft",
        "forge pr edit ",
        "make it a draft: forge pr ready --undo",
    ),
    (
        "--label",
        "forge pr edit ",
        "name what to add: forge pr edit --add-label NAME",
    ),
];

/// The start of the usage line if no command is given.
const ROOT: &str = "forge [OPTIONS]";

/// Returns the advice for the command or flag that `e` refuses.
pub(crate) fn advice(e: &clap::Error) -> Option<&'static str> {
    let usage = e.get(ContextKind::Usage)?.to_string();
    let (habits, typed) = match e.kind() {
        ErrorKind::MissingRequiredArgument if usage.contains("forge pr thread ") => {
            return Some("see the ids of the threads: forge pr thread list NUMBER");
        }
        ErrorKind::MissingRequiredArgument
            if (e.get(ContextKind::InvalidArg))
                .is_some_and(|missing| missing.to_string().contains("--claim ")) =>
        {
            return Some(CLAIM);
        }
        ErrorKind::InvalidSubcommand => (COMMANDS, e.get(ContextKind::InvalidSubcommand)?),
        ErrorKind::UnknownArgument => (FLAGS, e.get(ContextKind::InvalidArg)?),
        _ => return None,
    };
    let ContextValue::String(typed) = typed else {
        return None;
    };
    let is_argument = e.kind() == ErrorKind::UnknownArgument && !typed.starts_with('-');
    if is_argument && usage.contains("forge pr diff ") {
        return Some(DIFF_PATH);
    }
    habits
        .iter()
        .find(|(name, place, _)| name == typed && usage.contains(place))
        .map(|(_, _, advice)| *advice)
}

/// Removes misleading tips from clap's error:
/// - the tip to pass an unknown flag as a value
/// - suggested names that are not a likely typo of the typed name
/// - all similar commands except the nearest
/// - all suggested names, if there is `advice`
pub(crate) fn without_odd_tips(mut e: clap::Error, advice: Option<&str>) -> clap::Error {
    if advice.is_some() {
        e.remove(ContextKind::SuggestedSubcommand);
    }
    let is_distant = match e.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(flag)) => !is_typo(e.get(ContextKind::InvalidArg), flag),
        _ => false,
    };
    if (advice.is_some() || is_distant) && e.remove(ContextKind::SuggestedArg).is_some() {
        // clap's usage line is also removed, because it contains the suggested flag.
        e.remove(ContextKind::Usage);
    }
    // clap puts the nearest name last.
    if let Some(ContextValue::Strings(mut names)) = e.remove(ContextKind::SuggestedSubcommand)
        && let Some(nearest) = names.pop()
        && is_typo(e.get(ContextKind::InvalidSubcommand), &nearest)
    {
        let nearest = ContextValue::Strings(vec![nearest]);
        e.insert(ContextKind::SuggestedSubcommand, nearest);
    }
    if let Some(ContextValue::StyledStrs(mut tips)) = e.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().starts_with("to pass"));
        if !tips.is_empty() {
            e.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    e
}

/// Returns true if the typed name is probably a typo of `name`. clap's own similarity measure is
/// not enough: it also suggests names with another meaning, such as `close` for `logs`.
fn is_typo(typed: Option<&ContextValue>, name: &str) -> bool {
    let Some(ContextValue::String(typed)) = typed else {
        return true;
    };
    let bare = |name: &str| name.trim_start_matches('-').to_owned();
    !suggest::near(&bare(typed), [bare(name).as_str()]).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    fn refused(words: &[&str]) -> (Option<&'static str>, String) {
        let words = ["forge"].iter().chain(words);
        let e = Cli::read(words).unwrap_err();
        let advice = advice(&e);
        (advice, without_odd_tips(e, advice).render().to_string())
    }

    #[test]
    fn gh_only_command_or_flag_gets_advice() {
        for (name, place, wanted) in COMMANDS.iter().chain(FLAGS) {
            let words = place.trim_start_matches("forge").replace("[OPTIONS]", "");
            let words: Vec<&str> = words.split_whitespace().chain([*name]).collect();
            let (advice, text) = refused(&words);
            assert_eq!(advice, Some(*wanted), "{words:?}\n{text}");
            assert!(!text.contains("tip:"), "{text}");
        }
        assert_eq!(refused(&["pr", "view", "--scopes"]).0, None);
        assert_eq!(refused(&["chekcout"]).0, None);
        assert_eq!(refused(&["pr", "diff", "1", "src/a.rs"]).0, Some(DIFF_PATH));
        let advice = refused(&["pr", "thread", "resolve", "1"]).0;
        assert!(advice.is_some_and(|text| text.contains("forge pr thread list")));
        assert_eq!(refused(&["workflow", "release", "4"]).0, Some(CLAIM));
        assert_eq!(refused(&["workflow", "release", "--claim", "x"]).0, None);
    }

    #[test]
    fn unknown_flag_is_not_offered_as_a_value() {
        let (_, text) = refused(&["pr", "view", "--statt"]);
        assert!(!text.contains("as a value"), "{text}");
        let (_, text) = refused(&["pr", "chekcout"]);
        assert!(text.contains("'checkout'"), "{text}");
    }

    #[test]
    fn distant_names_are_not_suggested() {
        for words in [
            &["pr", "resolves"][..],
            &["pr", "reruns"],
            &["pr", "clog"],
            &["pr", "list", "--paths", "src"],
            &["pr", "edit", "--status", "closed"],
        ] {
            let (_, text) = refused(words);
            assert!(!text.contains("tip:"), "{words:?}\n{text}");
            assert!(!text.contains("--author"), "{words:?}\n{text}");
        }
        let (_, text) = refused(&["pr", "list", "--auhtor", "me"]);
        assert!(text.contains("'--author'"), "{text}");
    }

    #[test]
    fn only_nearest_command_is_suggested() {
        for (typed, nearest) in [
            ("creat", "create"),
            ("chekcout", "checkout"),
            ("lsit", "list"),
        ] {
            let (_, text) = refused(&["pr", typed]);
            let tip = format!("tip: a similar subcommand exists: '{nearest}'");
            assert!(text.contains(&tip), "{text}");
        }
    }
}
