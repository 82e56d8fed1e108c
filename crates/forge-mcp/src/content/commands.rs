//! Hints name commands and flags of `forge`. Whoever reads them here has tools, and often no shell.

/// Commands of `forge pr`, and the tools that do the same.
const TOOLS: &[(&str, &str)] = &[
    ("checks", "pr_checks"),
    ("close", "pr_set_state state=closed"),
    ("comment", "pr_comment"),
    ("create", "pr_create"),
    ("diff", "pr_diff"),
    ("edit", "pr_edit"),
    ("list", "pr_list"),
    ("merge", "pr_merge"),
    ("ready", "pr_edit draft=false"),
    ("reopen", "pr_set_state state=open"),
    ("resubmit", "pr_resubmit"),
    ("review", "pr_review"),
    ("update-branch", "pr_update_branch"),
    ("view", "pr_view"),
];

/// Flags, and the arguments that they are; one that ends with `=` has its value behind it.
const FLAGS: &[(&str, &str)] = &[
    ("--author", "author="),
    ("--auto", "auto=true"),
    ("--base", "base="),
    ("--body", "body="),
    ("--comment", "verdict=comment"),
    ("--comments", "include=comments"),
    ("--draft", "draft=true"),
    ("--head", "head="),
    ("--json", "include="),
    ("--merge", "method=merge"),
    ("--patch", "patch="),
    ("--rebase", "method=rebase"),
    ("--squash", "method=squash"),
    ("--state", "state="),
    ("--title", "title="),
    ("-R", "repo="),
];

/// What stands around a word of a command.
const OPENS: [char; 4] = ['`', '\'', '"', '('];
const CLOSES: [char; 8] = ['`', '\'', '"', ')', ',', '.', ';', ':'];

/// A hint with the tools in the place of commands, and arguments in the place of flags. Flags of
/// git are left alone, and so are a command that no tool does and its flags.
pub(crate) fn as_tools(hint: &str) -> String {
    let of_git = hint.contains("git ");
    let words: Vec<&str> = hint.split(' ').collect();
    let (mut out, mut at) = (Vec::new(), 0);
    let (mut in_command, mut in_other) = (false, false);
    while let Some(word) = words.get(at) {
        if let Some((text, taken)) = command(words.get(at..).unwrap_or_default()) {
            (in_command, in_other) = (is_open(&text), false);
            out.push(text);
            at += taken;
            continue;
        }
        at += 1;
        let (lead, name, tail) = parts(word);
        in_other |= (name, tail) == ("forge", "");
        let flag = FLAGS.iter().find(|(flag, _)| *flag == name);
        let text = match flag.map(|(_, argument)| *argument) {
            Some(argument) if in_command && argument.ends_with('=') && tail.is_empty() => {
                let value = words.get(at).copied().unwrap_or_default();
                at += 1;
                format!("{lead}{argument}{value}")
            }
            Some(argument) if in_command => format!("{lead}{argument}{tail}"),
            // In quotes it is a name of somebody's.
            Some(argument) if !(of_git || in_other) && lead.is_empty() && name != "--json" => {
                format!("{}{tail}", argument.trim_end_matches('='))
            }
            None if in_command && is_number(name) => format!("{lead}number={name}{tail}"),
            _ => {
                in_command = false;
                (*word).to_owned()
            }
        };
        in_command &= is_open(&text);
        in_other &= is_open(&text);
        out.push(text);
    }
    out.join(" ")
}

/// The tool that a hint leads to: that of the command, without flags, which is the end of it.
pub(crate) fn last_call(hint: &str) -> Option<String> {
    let words: Vec<&str> = hint.split(' ').collect();
    let (call, _) = command(words.get(words.len().checked_sub(3)?..)?)?;
    let (_, tool, _) = parts(&call);
    (!tool.contains(' ')).then(|| tool.to_owned())
}

/// The tool of a command that begins here, and how many words the command has.
fn command(words: &[&str]) -> Option<(String, usize)> {
    let [first, second, verb, ..] = words else {
        return None;
    };
    let (lead, name, tail) = parts(first);
    if (name, tail, *second) != ("forge", "", "pr") {
        return None;
    }
    let (_, name, tail) = parts(verb);
    if name == "thread" {
        let (_, list, tail) = parts(words.get(3)?);
        return (list == "list").then(|| (format!("{lead}pr_view include=threads{tail}"), 4));
    }
    let (_, tool) = TOOLS.iter().find(|(command, _)| *command == name)?;
    Some((format!("{lead}{tool}{tail}"), 3))
}

/// A word, and what stands before and behind it.
fn parts(word: &str) -> (&str, &str, &str) {
    let body = word.trim_start_matches(OPENS);
    let (lead, _) = word
        .split_at_checked(word.len() - body.len())
        .unwrap_or_default();
    let name = body.trim_end_matches(CLOSES);
    let tail = body.get(name.len()..).unwrap_or_default();
    (lead, name, tail)
}

/// Whether a command goes on behind this word of it.
fn is_open(word: &str) -> bool {
    !word.ends_with(CLOSES)
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('#').unwrap_or(word);
    word.starts_with("at://") || (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{as_tools, last_call};

    #[test]
    fn commands_are_tools_and_flags_are_arguments() {
        for (hint, said) in [
            (
                "forge pr list --state all shows those that exist",
                "pr_list state=all shows those that exist",
            ),
            (
                "forge pr view 1 --comments shows those that it has",
                "pr_view number=1 include=comments shows those that it has",
            ),
            (
                "reopen it first with 'forge pr reopen'",
                "reopen it first with 'pr_set_state state=open'",
            ),
            (
                "see 'forge pr view --json comments' or 'forge pr thread list'",
                "see 'pr_view include=comments' or 'pr_view include=threads'",
            ),
            (
                "run `forge pr merge --rebase at://did:plc:a/c/3k` again: it only writes the record",
                "run `pr_merge method=rebase number=at://did:plc:a/c/3k` again: it only writes the record",
            ),
            (
                "make it with 'forge pr comment 7 -R github.com/o/r --body …'",
                "make it with 'pr_comment number=7 repo=github.com/o/r body=…'",
            ),
            (
                "merge 7 first: forge pr merge 7, then forge pr edit 8 --base main",
                "merge 7 first: pr_merge number=7, then pr_edit number=8 base=main",
            ),
            (
                "commit on a branch of its own, and name it with --head",
                "commit on a branch of its own, and name it with head",
            ),
            (
                "choose another method: --merge, --squash or --rebase",
                "choose another method: method=merge, method=squash or method=rebase",
            ),
            (
                "look with 'forge issue list --state all', then name it with --head",
                "look with 'forge issue list --state all', then name it with head",
            ),
            (
                "see forge issue list --state all and 'forge pr list --state all'",
                "see forge issue list --state all and 'pr_list state=all'",
            ),
        ] {
            assert_eq!(as_tools(hint), said);
        }
        for same in [
            "",
            "log in with 'forge auth login --host github.com'",
            "push it first with 'git push --force-with-lease --head'",
            "the labels are '--base', 'forge pr'",
            "--admin merges despite them",
            "forge issue list --state all shows those that exist",
            "two  blanks\nand a line",
        ] {
            assert_eq!(as_tools(same), same);
        }
    }

    #[test]
    fn a_hint_leads_to_the_command_at_its_end() {
        let hint = "rebase the branch, then submit another round: `forge pr resubmit`";
        assert_eq!(last_call(hint).as_deref(), Some("pr_resubmit"));
        for none in [
            "",
            "push to branch work",
            "`forge pr ready` takes it away",
            "reopen it with 'forge pr reopen'",
            "see forge issue list",
        ] {
            assert_eq!(last_call(none), None, "{none}");
        }
    }
}
