//! From what a caller says to a state: an intent (`__CLOSE__`) or the name of a state, as a command.

use forge_core::{Error, Result, text::one_line};

use crate::{
    Definition, State,
    definition::{Command, Intent},
};

/// What was meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved<'d> {
    /// The state.
    pub state: &'d State,
    /// Whether an intent was named, and not the state itself.
    pub was_intent: bool,
}

/// The state that `state_or_intent` means for `command`.
///
/// A global intent means the same for every command, and may lead to a state that is none of the
/// command's outputs; a state that is named has to be one of them. The prefix of commands may be
/// left out.
///
/// # Errors
/// `invalid_input` (field `command` or `state`) with the values that are right.
pub fn resolve<'d>(
    definition: &'d Definition,
    state_or_intent: &str,
    command: &str,
) -> Result<Resolved<'d>> {
    let said = state_or_intent.trim();
    let (name, of) = command_of(definition, command)?;
    let state = match intent_in(said) {
        Some(intent) => by_intent(definition, intent, &name, of)?,
        None => by_name(definition, said, &name, of)?,
    };
    // The definition is checked when it is read; this is for one that is being checked.
    let state = definition.state(state).ok_or_else(|| {
        Error::invalid("state", format!("there is no state '{}'", one_line(state))).with_hint(
            format!("name one of the states: {}", definition.state_names()),
        )
    })?;
    Ok(Resolved {
        state,
        was_intent: intent_in(said).is_some(),
    })
}

/// The bare name of an intent: `CLOSE` for `__CLOSE__`.
fn intent_in(said: &str) -> Option<&str> {
    said.strip_prefix("__")?.strip_suffix("__")
}

/// A command with its full name.
fn command_of<'d>(definition: &'d Definition, said: &str) -> Result<(String, &'d Command)> {
    let prefix = &definition.command_prefix;
    let said = said.trim();
    let bare = said.strip_prefix(prefix.as_str()).unwrap_or(said);
    if let Some(command) = definition.commands.get(bare) {
        return Ok((format!("{prefix}{bare}"), command));
    }
    let known = definition.commands.keys();
    let known: Vec<String> = known.map(|name| format!("{prefix}{name}")).collect();
    let known = known.join(", ");
    Err(Error::invalid(
        "command",
        format!(
            "unknown command '{}': the commands are {known}",
            one_line(said)
        ),
    )
    .with_hint(format!("retry with one of: {known}")))
}

fn by_intent<'d>(
    definition: &'d Definition,
    intent: &str,
    command: &str,
    of: &'d Command,
) -> Result<&'d str> {
    let Some(known) = definition.intents.get(intent) else {
        let all = definition.intents.iter();
        let all: Vec<String> = all
            .map(|(name, of)| format!("__{name}__ ({})", of.gloss))
            .collect();
        return Err(Error::invalid(
            "state",
            format!(
                "unknown intent '__{}__': the intents are {}",
                one_line(intent),
                all.join(", ")
            ),
        )
        .with_hint(retry(definition, of)));
    };
    let own = of.intents.get(intent).map(String::as_str);
    known.everywhere().or(own).ok_or_else(|| {
        let with = definition.commands.iter().filter_map(|(name, other)| {
            let to = other.intents.get(intent)?;
            Some(format!("{}{name} ({to})", definition.command_prefix))
        });
        let with: Vec<String> = with.collect();
        let with = match with.is_empty() {
            true => "no command has it".to_owned(),
            false => format!("it is for {}", with.join(", ")),
        };
        Error::invalid(
            "state",
            format!("the intent __{intent}__ is not for {command}: {with}"),
        )
        .with_hint(retry(definition, of))
    })
}

fn by_name<'d>(
    definition: &'d Definition,
    said: &str,
    command: &str,
    of: &'d Command,
) -> Result<&'d str> {
    let Some(state) = definition.state(said) else {
        return Err(Error::invalid(
            "state",
            format!(
                "unknown state '{}': the states are {}",
                one_line(said),
                definition.state_names()
            ),
        )
        .with_hint(retry(definition, of)));
    };
    let allowed = |output: &String| definition.state(output) == Some(state);
    if of.outputs.iter().any(allowed) {
        return Ok(&state.name);
    }
    Err(Error::invalid(
        "state",
        format!(
            "{} is no state for {command}: it has {}",
            state.name,
            of.outputs.join(", ")
        ),
    )
    .with_hint(retry(definition, of)))
}

/// What a command may be given.
fn retry(definition: &Definition, of: &Command) -> String {
    let here = |(name, intent): &(&String, &Intent)| {
        intent.everywhere().is_some() || of.intents.contains_key(*name)
    };
    let intents = definition.intents.iter().filter(here);
    let intents: Vec<String> = intents.map(|(name, _)| format!("__{name}__")).collect();
    format!(
        "retry with one of: {}, {}",
        of.outputs.join(", "),
        intents.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pull_request_may_ask_for() {
        let ralph = Definition::preset("ralph").unwrap();
        for command in ["ralph_pr", "pr"] {
            for (said, state, was_intent) in [
                ("__CLOSE__", "Done", true),
                ("__COMPLETE__", "Done", true),
                ("__ESCALATE__", "Human Needed", true),
                // Canceled is none of the command's outputs: a global intent does not ask them.
                ("__CANCEL__", "Canceled", true),
                ("Done", "Done", false),
                ("In Review", "In Review", false),
                ("human needed", "Human Needed", false),
            ] {
                let resolved = resolve(&ralph, said, command).unwrap();
                assert_eq!(resolved.state.name, state, "{said}");
                assert_eq!(resolved.was_intent, was_intent, "{said}");
            }
        }
    }

    #[test]
    fn what_is_refused_says_what_is_right() {
        let ralph = Definition::preset("ralph").unwrap();
        let instead = "retry with one of: In Review, Done, Human Needed, __CANCEL__, __CLOSE__, __COMPLETE__, __ESCALATE__";
        for (said, command, why, hint) in [
            (
                "__LOCK__",
                "pr",
                "the intent __LOCK__ is not for ralph_pr: no command has it",
                instead,
            ),
            (
                "In Progress",
                "ralph_pr",
                "In Progress is no state for ralph_pr: it has In Review, Done, Human Needed",
                instead,
            ),
            (
                "Canceled",
                "pr",
                "Canceled is no state for ralph_pr: it has In Review, Done, Human Needed",
                instead,
            ),
            (
                "__OPEN__",
                "pr",
                "unknown intent '__OPEN__': the intents are __CANCEL__ (abandon), __CLOSE__ (mark done), __COMPLETE__ (finish), __ESCALATE__ (needs human), __LOCK__ (claim)",
                instead,
            ),
            (
                "CLOSE",
                "pr",
                "unknown state 'CLOSE': the states are Backlog, Research Needed, Research in Progress, Ready for Plan, Plan in Progress, Plan in Review, In Progress, In Review, Done, Human Needed, Canceled",
                instead,
            ),
            (
                "Done",
                "push",
                "unknown command 'push': the commands are ralph_pr",
                "retry with one of: ralph_pr",
            ),
        ] {
            let e = resolve(&ralph, said, command).unwrap_err();
            assert_eq!(e.code(), "invalid_input");
            assert_eq!((e.message(), e.hint().map(|h| h.text())), (why, Some(hint)));
        }
    }
}
