//! Renders hints on the command line: a sentence, and the command to run.
//!
//! Two tables map an [`Action`] to a command: `COMMANDS` maps calls to subcommands, and `PARAMS`
//! maps parameters to clap arguments. The clap definitions provide flags, value names, and whether
//! a flag takes a value. If the subcommand cannot carry out an action, only the sentence is shown.

use clap::{ArgAction, Command};
use forge_core::{Action, Arg, Call, Hint, Op, Param, text};
use forge_git::quoted;

use crate::args::CommandNames;

/// The subcommand that carries out each call, with fixed flags.
const COMMANDS: &[(Call, &str, &str)] = &[
    (Call::Login, "auth login", ""),
    (Call::AuthStatus, "auth status", ""),
    (Call::Capabilities, "capabilities", ""),
    (Call::ConfigSet, "config set", ""),
    (Call::ConfigGet, "config get", ""),
    (Call::ConfigValidate, "config validate", ""),
    (Call::Ingestion, "tangled ingestion", ""),
    (Call::WorkflowInit, "workflow init", ""),
    (Call::Op(Op::Viewer), "auth status", ""),
    (Call::Op(Op::RepoView), "capabilities", ""),
    (Call::Op(Op::PrCreate), "pr create", ""),
    (Call::Op(Op::PrList), "pr list", ""),
    (Call::Op(Op::PrFind), "pr list", "--state all"),
    (Call::Op(Op::PrStatus), "pr status", ""),
    (Call::Op(Op::PrView), "pr view", ""),
    (Call::Op(Op::PrMergeability), "pr view", ""),
    (Call::Op(Op::PrEdit), "pr edit", ""),
    (Call::Op(Op::PrResubmit), "pr resubmit", ""),
    (Call::Op(Op::PrUpdateBranch), "pr update-branch", ""),
    (Call::Op(Op::PrClose), "pr close", ""),
    (Call::Op(Op::PrReopen), "pr reopen", ""),
    (Call::Op(Op::PrSetDraft), "pr ready", ""),
    (Call::Op(Op::PrSetLock), "pr lock", ""),
    (Call::Op(Op::PrRevert), "pr revert", ""),
    (Call::Op(Op::PrMerge), "pr merge", ""),
    (Call::Op(Op::PrCancelMerge), "pr merge", "--disable-auto"),
    (Call::Op(Op::PrDiff), "pr diff", ""),
    (Call::Op(Op::PrFiles), "pr diff", "--name-only"),
    (Call::Op(Op::PrCommits), "pr view", "--json commits"),
    (Call::Op(Op::PrHistory), "pr view", "--history"),
    (Call::Op(Op::Comment), "pr comment", ""),
    (Call::Op(Op::CommentList), "pr view", "--comments"),
    (Call::Op(Op::ReviewList), "pr view", "--comments"),
    (Call::Op(Op::ReviewSubmit), "pr review", ""),
    (Call::Op(Op::ReviewDismiss), "pr review", ""),
    (Call::Op(Op::ThreadList), "pr thread list", ""),
    (Call::Op(Op::Attach), "pr comment", ""),
    (Call::Op(Op::Checks), "pr checks", ""),
    (Call::Op(Op::CheckLog), "pr checks", ""),
    (Call::Op(Op::ChecksRerun), "pr checks", "--rerun-failed"),
    (Call::Op(Op::IssueList), "issue list", ""),
    (Call::Op(Op::IssueView), "issue view", ""),
    (Call::Op(Op::IssueCreate), "issue create", ""),
    (Call::Op(Op::IssueEdit), "issue edit", ""),
    (Call::Op(Op::IssueSetState), "issue close", ""),
    (Call::Op(Op::IssueComment), "issue comment", ""),
    (Call::Op(Op::IssueDelete), "issue delete", ""),
    (Call::Op(Op::IssueHistory), "issue history", ""),
    (Call::Op(Op::IssueCommentEdit), "issue comment", ""),
    (Call::Op(Op::IssueCommentDelete), "issue comment", ""),
    (Call::Op(Op::IssueRelated), "issue view", ""),
    (Call::Op(Op::LabelList), "label list", ""),
    (Call::Op(Op::LabelDefine), "label create", ""),
];

/// The ids of clap arguments for each parameter. The first id that the subcommand has is used.
const PARAMS: &[(Param, &[&str])] = &[
    (Param::Account, &["account"]),
    (Param::AddAssignee, &["add_assignee", "assignee"]),
    (Param::AddLabel, &["add_label", "label"]),
    (Param::AddProject, &["add_project", "project"]),
    (Param::AddReviewer, &["add_reviewer", "reviewer"]),
    (Param::Admin, &["admin"]),
    (Param::Attach, &["attach"]),
    (Param::Author, &["author"]),
    (Param::AuthorEmail, &["author_email"]),
    (Param::Auto, &["auto"]),
    (Param::Base, &["base"]),
    (Param::Body, &["body", "comment"]),
    (Param::Claim, &["claim"]),
    (Param::Command, &["command"]),
    (Param::DeleteBranch, &["delete_branch"]),
    (Param::DependsOn, &["depends_on"]),
    (Param::Draft, &["draft", "undo"]),
    (Param::Estimate, &["estimate"]),
    (Param::Force, &["force"]),
    (Param::Head, &["head"]),
    (Param::Host, &["host"]),
    (Param::Include, &["include", "json"]),
    (Param::Key, &["key"]),
    (Param::Kind, &["kind"]),
    (Param::Label, &["name"]),
    (Param::LeaveCheckout, &["leave_checkout"]),
    (Param::Limit, &["limit"]),
    (Param::MaxEstimate, &["max_estimate"]),
    (Param::Milestone, &["milestone"]),
    (Param::Patch, &["patch"]),
    (Param::Priority, &["priority"]),
    (Param::PutAgain, &["put_again"]),
    (Param::RemoveLabel, &["remove_label"]),
    (Param::Repo, &["repo"]),
    (Param::Round, &["round"]),
    (Param::Search, &["search"]),
    (Param::Since, &["since"]),
    (Param::State, &["state", "to"]),
    (Param::Subject, &["subject"]),
    (Param::TargetState, &["to"]),
    (Param::Title, &["title"]),
    (Param::Value, &["value"]),
    (Param::WaitFor, &["watch"]),
    (Param::WithToken, &["with_token"]),
];

/// Parameters of which each value has a clap argument of its own: parameter, value, argument id.
const VALUES: &[(Param, &str, &str)] = &[
    // `--json` is suggested, because `--comments` prints no ids of comments.
    (Param::Include, "comments", "json"),
    (Param::Include, "history", "history"),
    (Param::Include, "mergeable", "json"),
    (Param::Include, "reviews", "comments"),
    (Param::Method, "merge", "merge"),
    (Param::Method, "rebase", "rebase"),
    (Param::Method, "squash", "squash"),
    (Param::Verdict, "approve", "approve"),
    (Param::Verdict, "comment", "comment"),
    (Param::Verdict, "request_changes", "request_changes"),
    (Param::WaitFor, "checks", "watch"),
];

/// Returns the hint's sentence, followed by a command to copy, or by the arguments to change.
pub(super) fn advice(hint: &Hint, named: &CommandNames) -> String {
    let words = hint.action().and_then(|action| match action.call() {
        Call::Again => changes(named.built(), action, named),
        _ => command(named.built(), action, named),
    });
    match words {
        Some(words) if hint.text().ends_with('?') => format!("{} {words}", hint.text()),
        Some(words) => format!("{}: {words}", hint.text()),
        None => hint.text().to_owned(),
    }
}

/// Returns the complete command of an action.
fn command(cli: &Command, action: &Action, named: &CommandNames) -> Option<String> {
    let args = action.args();
    let has = |wanted| args.iter().find(|(param, _)| *param == wanted);
    let (_, path, fixed) = COMMANDS.iter().find(|(call, ..)| *call == action.call())?;
    let sets_state = action.call() == Call::Op(Op::IssueSetState);
    let path = match (action.call(), has(Param::State)) {
        (Call::ConfigGet, _) if has(Param::Key).is_none() => "config list",
        (_, Some((_, Arg::Set(state)))) if sets_state && state == "open" => "issue reopen",
        _ => path,
    };
    let command = subcommand(cli, path.split(' '))?;
    let mut words = vec![format!("forge {path}")];
    let target = argument(command, &["selector", "uri"]);
    if let Some(of) = target {
        match action.target().or(named.target.as_deref()) {
            Some(target) => words.push(exact(target)?),
            None if of.is_required_set() => words.push(placeholder(of)),
            None => {}
        }
    }
    // If the target is the typed selector, only a typed `-R` is repeated, because the selector may
    // contain its repository.
    let repo = match (target, action.target()) {
        (Some(_), None) if named.target.is_some() => named.repo.as_deref(),
        _ => named
            .repo_of_target
            .get()
            .or(named.repo.as_ref())
            .map(String::as_str),
    };
    // `--repo` of `config set` is a switch and has no repository as its value.
    let takes_repo = argument(command, &["repo"]).is_some_and(|a| a.get_action().takes_values());
    if let (Some(repo), None, true) = (repo, has(Param::Repo), takes_repo) {
        words.extend(["-R".to_owned(), exact(repo)?]);
    }
    words.extend((!fixed.is_empty()).then(|| (*fixed).to_owned()));
    for (param, arg) in args {
        let is_path = sets_state && *param == Param::State;
        if !is_path && *arg != Arg::Omit {
            words.extend(param_values(command, *param, arg)?);
        }
    }
    Some(words.join(" "))
}

/// Returns the arguments to add to the failed command, and those to remove.
fn changes(cli: &Command, action: &Action, named: &CommandNames) -> Option<String> {
    let command = subcommand(cli, named.path.iter().map(String::as_str))?;
    let mut words: Vec<String> = action
        .target()
        .map(exact)
        .into_iter()
        .collect::<Option<_>>()?;
    let mut without = Vec::new();
    for (param, arg) in action.args() {
        match arg {
            Arg::Omit => without.extend(
                definition(command, *param, arg).map(|known| format!("without {}", flag(known))),
            ),
            Arg::Replace(wrong, right) => {
                let flag = corrected(command, *param, (wrong, right), named);
                words.extend(flag.into_iter().flatten());
            }
            // A positional argument is omitted, because its name adds nothing to the sentence.
            Arg::Choose
                if definition(command, *param, arg).is_some_and(clap::Arg::is_positional) => {}
            _ => words.extend(param_values(command, *param, arg)?),
        }
    }
    let with = (!words.is_empty()).then(|| words.join(" "));
    let all: Vec<String> = with.into_iter().chain(without).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Returns the flag with the corrected value. If the flag takes a list, the other values of the
/// list do not change.
fn corrected(
    command: &Command,
    param: Param,
    (wrong, right): (&str, &str),
    named: &CommandNames,
) -> Option<Vec<String>> {
    let (_, ids) = PARAMS.iter().find(|(of, _)| *of == param)?;
    let is_wrong = |part: &str| part.trim() == wrong.trim();
    let typed = named.names.iter().filter(|(id, _)| ids.contains(id));
    let has_it = |values: &Vec<String>| values.iter().any(|v| v.split(',').any(is_wrong));
    let (id, values) = typed.into_iter().find(|(_, values)| has_it(values))?;
    let known = argument(command, &[id])?;
    let value = match known.get_value_delimiter() {
        Some(_) => values.join(","),
        None => values.iter().find(|v| v.split(',').any(is_wrong))?.clone(),
    };
    let right = |part| if is_wrong(part) { right } else { part };
    let parts: Vec<&str> = value.split(',').map(right).collect();
    Some(vec![flag(known), exact(&parts.join(","))?])
}

fn subcommand<'p>(cli: &Command, mut path: impl Iterator<Item = &'p str>) -> Option<&Command> {
    path.try_fold(cli, |command, name| command.find_subcommand(name))
}

/// Returns the arguments that express a parameter; none for a switch that is off.
fn param_values(command: &Command, param: Param, arg: &Arg) -> Option<Vec<String>> {
    let Some(known) = definition(command, param, arg) else {
        // A command without a matching flag needs no argument: it shows every section, and its diff
        // contains all files.
        return matches!(param, Param::Include | Param::Path).then(Vec::new);
    };
    let is_switch = matches!(known.get_action(), ArgAction::SetTrue);
    let value = match arg {
        Arg::Set(off) if is_switch && off == "false" => return Some(Vec::new()),
        _ if is_switch => None,
        Arg::Set(value) => exact(value).or_else(|| Some(placeholder(known))),
        _ => Some(placeholder(known)),
    };
    let flag = (!known.is_positional()).then(|| flag(known));
    Some(flag.into_iter().chain(value).collect())
}

/// Returns the argument of `command` for a parameter.
fn definition<'c>(command: &'c Command, param: Param, arg: &Arg) -> Option<&'c clap::Arg> {
    let mut switches = VALUES.iter().filter(|(of, ..)| *of == param).peekable();
    if let (Arg::Set(value), Some(_)) = (arg, switches.peek()) {
        let (.., id) = switches.find(|(_, name, _)| name == value)?;
        return argument(command, &[id]);
    }
    let (_, ids) = PARAMS.iter().find(|(of, _)| *of == param)?;
    argument(command, ids)
}

fn argument<'c>(command: &'c Command, ids: &[&str]) -> Option<&'c clap::Arg> {
    let known = |id| command.get_arguments().find(|arg| arg.get_id() == id);
    ids.iter().find_map(known)
}

/// Returns the long flag, except for `-R`, which users of gh know in its short form.
fn flag(of: &clap::Arg) -> String {
    match (of.get_short(), of.get_long()) {
        (Some('R'), _) | (_, None) => format!("-{}", of.get_short().unwrap_or_default()),
        (_, Some(long)) => format!("--{long}"),
    }
}

fn placeholder(of: &clap::Arg) -> String {
    let name = of.get_value_names().and_then(|names| names.first());
    let name = name.map_or(of.get_id().as_str(), |name| name.as_str());
    name.to_uppercase().replace(' ', "-")
}

/// Quotes a word for the shell. Returns `None` if the word has line breaks or characters that would
/// not be displayed.
fn exact(word: &str) -> Option<String> {
    (text::one_line(word) == word).then(|| quoted(word))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    fn typed(words: &str) -> CommandNames {
        Cli::read(format!("forge {words}").split(' '))
            .unwrap()
            .named
    }

    fn shown(typed_words: &str, action: Action) -> String {
        advice(&Hint::new("do").with_action(action), &typed(typed_words))
    }

    #[test]
    fn action_becomes_command_with_quoted_values() {
        let merge = Action::op(Op::PrMerge).on(7);
        assert_eq!(shown("pr merge 8", merge), "do: forge pr merge 7");
        let edit = Action::op(Op::PrEdit).on(7).with(Param::Base, "a;b");
        let wanted = "do: forge pr edit 7 -R o/r --base 'a;b'";
        assert_eq!(shown("pr merge 8 -R o/r", edit), wanted);
        let ready = Action::op(Op::PrSetDraft).with(Param::Draft, "false");
        assert_eq!(shown("pr merge topic", ready), "do: forge pr ready topic");
        let wait = Action::op(Op::Checks).with(Param::WaitFor, "checks");
        assert_eq!(
            shown("pr merge 7 --auto", wait),
            "do: forge pr checks 7 --watch"
        );
        let draft = Action::op(Op::PrSetDraft).on(7).with(Param::Draft, "true");
        assert_eq!(shown("pr list", draft), "do: forge pr ready 7 --undo");
        let close = Action::op(Op::PrClose);
        assert_eq!(shown("pr list", close), "do: forge pr close PULL-REQUEST");
        let reopen = Action::op(Op::IssueSetState)
            .on(3)
            .with(Param::State, "open");
        assert_eq!(shown("pr merge 7", reopen), "do: forge issue reopen 3");
        let set = Action::new(Call::ConfigSet).with(Param::Key, "hosts.h.kind");
        let set = set.choose(Param::Value);
        assert_eq!(
            shown("pr list", set),
            "do: forge config set hosts.h.kind VALUE"
        );
        let set = Action::new(Call::ConfigSet).with(Param::Key, "pr.base");
        let set = set.with(Param::Value, "main");
        assert_eq!(
            shown("pr create -R o/r", set),
            "do: forge config set pr.base main"
        );
        let view = Action::op(Op::PrView).with(Param::Include, "mergeable");
        let wanted = "do: forge pr view 7 --json mergeable";
        assert_eq!(shown("pr merge 7", view), wanted);
        let keys = Action::new(Call::ConfigGet);
        assert_eq!(shown("config get x", keys), "do: forge config list");
        let review = Action::op(Op::ReviewSubmit).with(Param::Verdict, "request_changes");
        let review = review.choose(Param::Body);
        let wanted = "do: forge pr review 7 --request-changes --body TEXT";
        assert_eq!(shown("pr checks 7", review), wanted);
    }

    #[test]
    fn action_keeps_the_typed_repository() {
        let named = typed("pr merge o/r#8");
        named.repo_of_target.set("o/r".to_owned()).unwrap();
        let of = |action| advice(&Hint::new("do").with_action(action), &named);
        let below = of(Action::op(Op::PrMerge).on(7));
        assert_eq!(below, "do: forge pr merge 7 -R o/r");
        assert_eq!(of(Action::op(Op::PrView)), "do: forge pr view 'o/r#8'");
        assert_eq!(of(Action::op(Op::PrList)), "do: forge pr list -R o/r");
    }

    #[test]
    fn arguments_to_change_are_shown_as_flags() {
        let head = Action::again(&[(Param::Head, Arg::Choose)]);
        assert_eq!(shown("pr create", head), "do: --head BRANCH");
        let both = Action::again(&[(Param::Admin, Arg::Omit)]).with(Param::Method, "rebase");
        assert_eq!(shown("pr merge 7", both), "do: --rebase, without --admin");
        let body = Action::again(&[(Param::Body, Arg::Choose)]);
        assert_eq!(shown("pr comment 7", body.clone()), "do: --body TEXT");
        assert_eq!(shown("pr close 7", body.clone()), "do: --comment TEXT");
        assert_eq!(shown("pr diff 7", body), "do");
        let state = Action::again(&[]).choose(Param::State);
        assert_eq!(shown("workflow set-state 7 Foo", state.clone()), "do");
        assert_eq!(shown("workflow pick", state), "do: --state STATE");
        let repo = Action::again(&[(Param::Repo, Arg::Omit)]);
        assert_eq!(shown("config set k v --repo", repo), "do: without --repo");
        let label = Action::again(&[])
            .replace(Param::AddLabel, "bgu", "bug")
            .replace(Param::RemoveLabel, "bgu", "bug");
        for (typed, flags) in [
            ("pr create -l docs,bgu -l x", "do: --label docs,bug,x"),
            ("pr edit 7 --remove-label bgu", "do: --remove-label bug"),
            ("pr edit 7 --add-label other", "do"),
        ] {
            assert_eq!(shown(typed, label.clone()), flags);
        }
        let fields = Action::again(&[]).replace(Param::Include, "titel", "title");
        let wanted = "do: --json number,title";
        assert_eq!(shown("pr view 7 --json number,titel", fields), wanted);
        let section = Action::again(&[]).replace(Param::Include, "dif", "diff");
        let wanted = "do: --include diff,ci";
        assert_eq!(shown("pr context 7 -i dif,ci", section), wanted);
        let here = Action::again(&[]).with(Param::Repo, "local:.");
        assert_eq!(shown("pr list", here), "do: -R local:.");
    }

    #[test]
    fn value_with_hidden_characters_is_left_out() {
        for body in ["two\nlines", "a\u{202e}b", "a  b"] {
            let comment = Action::op(Op::Comment).on(7).with(Param::Body, body);
            let wanted = "do: forge pr comment 7 --body TEXT";
            assert_eq!(shown("pr comment 7", comment), wanted);
            assert_eq!(shown("pr list", Action::op(Op::PrView).on(body)), "do");
        }
    }

    #[cfg(feature = "tangled")]
    #[test]
    fn commands_and_arguments_in_action_tables_exist() {
        let mut cli = Cli::command();
        cli.build();
        for (call, path, fixed) in COMMANDS {
            let action = Action::new(*call);
            let action = match call {
                Call::ConfigGet => action.choose(Param::Key),
                Call::ConfigSet => action.choose(Param::Key).choose(Param::Value),
                Call::Op(Op::LabelDefine) => action.choose(Param::Label),
                _ => action,
            };
            let words = command(&cli, &action, &CommandNames::default()).unwrap();
            assert!(words.starts_with(&format!("forge {path}")) && words.ends_with(fixed));
            assert!(Cli::read(words.split(' ')).is_ok(), "{words}");
        }
        let mut all = vec![&cli];
        let mut ids = Vec::new();
        while let Some(command) = all.pop() {
            all.extend(command.get_subcommands());
            ids.extend(command.get_arguments().map(|arg| arg.get_id().as_str()));
        }
        for id in PARAMS.iter().flat_map(|(_, ids)| *ids) {
            assert!(ids.contains(id), "{id}");
        }
        for (.., id) in VALUES {
            assert!(ids.contains(id), "{id}");
        }
    }
}
