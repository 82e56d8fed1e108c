//! Finds the state that a caller means: by its name, or by an intent such as `__CLOSE__`.
//!
//! An intent is a goal; the command of the caller determines which state the intent means.

use forge_core::{Action, Error, Hint, Param, Precondition, Result, suggest, text::one_line};

use crate::{Command, Definition, Intent, State};

/// Result of resolving a target state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolvedState<'d> {
    /// The state.
    pub state: &'d State,
    /// True if the caller named an intent.
    pub was_intent: bool,
    /// True if the intent is the same for every command.
    pub is_global: bool,
}

/// Resolves `state_or_intent` for `command`.
///
/// An intent that is the same for every command may lead to a state outside the command's outputs.
/// A state that the caller names has to be one of the outputs or the command's lock state. The
/// prefix of commands is optional.
///
/// # Errors
///
/// Fails with `invalid_input` (field `command` or `state`), which lists the valid values.
pub fn resolve<'d>(
    definition: &'d Definition,
    state_or_intent: &str,
    command: &str,
) -> Result<ResolvedState<'d>> {
    let said = state_or_intent.trim();
    let (name, of) = command_of(definition, command)?;
    let state = match intent_in(said) {
        Some(intent) => by_intent(definition, intent, &name, of)?,
        None => by_name(definition, said, &name, of)?,
    };
    // A checked definition always has the state. The lookup fails only while `lint` checks a
    // definition.
    let state = definition.state(state).ok_or_else(|| {
        Error::invalid("state", format!("there is no state '{}'", one_line(state))).with_hint(
            format!("name one of the states: {}", definition.state_names()),
        )
    })?;
    let intent = intent_in(said);
    let known = intent.and_then(|name| definition.intents.get(name));
    Ok(ResolvedState {
        state,
        was_intent: intent.is_some(),
        is_global: known.is_some_and(|intent| intent.state.is_some()),
    })
}

/// Returns the name of an intent: `CLOSE` for `__CLOSE__`.
fn intent_in(said: &str) -> Option<&str> {
    said.strip_prefix("__")?.strip_suffix("__")
}

/// Finds a command and its full name.
pub(crate) fn command_of<'d>(
    definition: &'d Definition,
    said: &str,
) -> Result<(String, &'d Command)> {
    let prefix = &definition.command_prefix;
    let said = said.trim();
    let bare = said.strip_prefix(prefix.as_str()).unwrap_or(said);
    if let Some(command) = definition.commands.get(bare) {
        return Ok((format!("{prefix}{bare}"), command));
    }
    let names = || definition.commands.keys().map(String::as_str);
    let known: Vec<String> = names().map(|name| format!("{prefix}{name}")).collect();
    let known = known.join(", ");
    let why = match said {
        "" => "the command is missing".to_owned(),
        said => format!("unknown command '{}'", one_line(said)),
    };
    let error = Error::invalid("command", format!("{why}: the commands are {known}"));
    let meant = suggest::near(bare, names());
    Err(match meant.first().filter(|_| !said.is_empty()) {
        Some(meant) => {
            let hint = Hint::from(format!("retry with command {prefix}{meant}"));
            let action = Action::again(&[]).with(Param::Command, format!("{prefix}{meant}"));
            error.with_hint(hint.with_action(action))
        }
        None => {
            let hint = Hint::from(format!("retry with one of: {known}"));
            error.with_hint(hint.with_action(Action::again(&[]).choose(Param::Command)))
        }
    })
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
            .map(|(name, of)| format!("__{name}__ ({})", one_line(&of.gloss)))
            .collect();
        return Err(Error::invalid(
            "state",
            format!(
                "unknown intent '__{}__': the intents are {}",
                one_line(intent),
                all.join(", ")
            ),
        )
        .with_hint(retry(definition, of, &format!("__{intent}__"))));
    };
    if let Some(state) = state_of_intent(intent, known, of) {
        return Ok(state);
    }
    if let Some(why) = of.ambiguous.get(intent) {
        let why = one_line(why);
        let message = format!("the intent __{intent}__ is ambiguous for {command}: {why}");
        return Err(Error::invalid("state", message).with_hint(retry(definition, of, "")));
    }
    let with = definition.commands.iter().filter_map(|(name, other)| {
        let to = state_of_intent(intent, known, other)?;
        Some(format!("{}{name} ({to})", definition.command_prefix))
    });
    let with: Vec<String> = with.collect();
    let with = match with.is_empty() {
        true => "no command has it".to_owned(),
        false => format!("it is for {}", with.join(", ")),
    };
    let message = format!("the intent __{intent}__ is not for {command}: {with}");
    Err(Error::invalid("state", message).with_hint(retry(definition, of, "")))
}

/// Returns the state that an intent means for a command.
fn state_of_intent<'d>(name: &str, intent: &'d Intent, of: &'d Command) -> Option<&'d str> {
    match (&intent.state, intent.lock) {
        (Some(everywhere), _) => Some(everywhere),
        (None, true) => of.lock.as_deref(),
        (None, false) => of.intents.get(name).map(String::as_str),
    }
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
        .with_hint(retry(definition, of, said)));
    };
    let name = state.name.to_lowercase();
    let allowed = |output: &&str| output.trim().to_lowercase() == name;
    if direct_states(of).any(|output| allowed(&output)) {
        return Ok(&state.name);
    }
    Err(Error::invalid(
        "state",
        format!(
            "{} is not a state for {command}: it has {}",
            state.name,
            direct_states(of).collect::<Vec<_>>().join(", ")
        ),
    )
    .with_hint(retry(definition, of, "")))
}

/// Returns the states that a caller may name for a command: its outputs and its lock state.
fn direct_states(of: &Command) -> impl Iterator<Item = &str> {
    let outputs = of.outputs.iter().map(String::as_str);
    let lock = of.lock.as_deref();
    outputs.chain(lock.filter(|lock| !of.outputs.iter().any(|o| o == lock)))
}

/// Resolves the target state of a release as [`resolve`] does, but refuses lock states. If the
/// definition no longer has the command, all states except lock states are allowed.
pub(crate) fn resolve_released<'d>(
    definition: &'d Definition,
    said: &str,
    command: &str,
) -> Result<ResolvedState<'d>> {
    let of = definition.command(command);
    let found = match of {
        Some(_) => resolve(definition, said, command),
        None => definition
            .state(said)
            .map(|state| ResolvedState {
                state,
                was_intent: false,
                is_global: false,
            })
            .ok_or_else(|| Error::invalid("state", format!("unknown state '{}'", one_line(said)))),
    };
    let found = found.and_then(|found| match found.state.lock {
        true => {
            let name = &found.state.name;
            let message = format!("a release to {name} would leave the issue without a holder");
            Err(Error::invalid("state", message))
        }
        false => Ok(found),
    });
    found.map_err(|e| {
        let names = released_states(definition, of);
        let hint = Hint::from(format!("retry with one of: {names}"));
        e.with_hint(hint.with_action(Action::again(&[]).choose(Param::State)))
    })
}

/// Lists the states to which a release may move an issue: the outputs of the command, or all states
/// if there is no command. Lock states are left out.
pub(crate) fn released_states(definition: &Definition, of: Option<&Command>) -> String {
    let is_output = |state: &&State| {
        of.is_none_or(|of| {
            let mut outputs = of.outputs.iter();
            outputs.any(|output| definition.state(output) == Some(*state))
        })
    };
    let states = definition.states.iter().filter(|state| !state.lock);
    let names: Vec<&str> = states.filter(is_output).map(|s| s.name.as_str()).collect();
    names.join(", ")
}

/// Checks that an issue may move from `from` under strict transitions. Moves follow
/// [`State::next`]. A global intent, which means the same state for every command, may move the
/// issue from any state that is not terminal.
///
/// # Errors
///
/// Fails with `precondition_failed`, which lists the states that are allowed next.
pub fn check_transition(
    definition: &Definition,
    from: &State,
    to: &ResolvedState<'_>,
) -> Result<()> {
    match definition.strict_transitions {
        true => check_strict_transition(definition, from, to),
        false => Ok(()),
    }
}

/// Checks a move as [`check_transition`] does, even if the transitions of the definition are not
/// strict.
pub(crate) fn check_strict_transition(
    definition: &Definition,
    from: &State,
    to: &ResolvedState<'_>,
) -> Result<()> {
    let follows = from
        .next
        .iter()
        .any(|s| definition.state(s) == Some(to.state));
    let is_free = to.is_global && from.terminal.is_none();
    if from == to.state || follows || is_free {
        return Ok(());
    }
    if from.next.is_empty() {
        let message = format!(
            "cannot move from {} to {}: no state follows {0}",
            from.name, to.state.name
        );
        let hint = match definition.strict_transitions {
            true => Hint::new("reopen the issue, and clear its state first"),
            false => {
                Hint::new("set the state without a handoff: setting it also reopens the issue")
            }
        };
        return Err(Error::precondition(Precondition::Rule, message).with_hint(hint));
    }
    let next = from.next.join(", ");
    let message = format!(
        "{} does not follow {}: the next states are {next}",
        to.state.name, from.name
    );
    let mut hint = format!("move the issue to one of: {next}");
    let global = global_intents(definition);
    if !global.is_empty() && from.terminal.is_none() {
        let verb = if global.len() == 1 {
            "bypasses"
        } else {
            "bypass"
        };
        hint.push_str(&format!("; {} {verb} the workflow", global.join(", ")));
    }
    Err(Error::precondition(Precondition::Rule, message).with_hint(hint))
}

/// Formats each intent that means the same state for every command, with that state:
/// `__CLOSE__ -> Done`.
fn global_intents(definition: &Definition) -> Vec<String> {
    let all = definition.intents.iter();
    let global = all.filter_map(|(name, intent)| Some((name, intent.state.as_ref()?)));
    global
        .map(|(name, state)| format!("__{name}__ -> {}", one_line(state)))
        .collect()
}

/// Returns a hint that lists the states that a command accepts, and its intents with the states that
/// they lead to. Its action repeats the call with the name that is most similar to `said`, if one
/// is similar.
fn retry(definition: &Definition, of: &Command, said: &str) -> Hint {
    let intents = definition.intents.iter();
    let intents: Vec<(String, &str)> = intents
        .filter_map(|(name, intent)| {
            let state = state_of_intent(name, intent, of)?;
            Some((format!("__{name}__"), state))
        })
        .collect();
    let names = intents.iter().map(|(name, _)| name.as_str());
    let again = Action::again(&[]);
    let again = match suggest::near(said, direct_states(of).chain(names)).first() {
        Some(meant) => again.with(Param::State, *meant),
        None => again.choose(Param::State),
    };
    let led = intents.iter();
    let led = led.map(|(name, state)| format!("{name} -> {}", one_line(state)));
    let all: Vec<String> = direct_states(of).map(str::to_owned).chain(led).collect();
    Hint::from(format!("retry with one of: {}", all.join(", "))).with_action(again)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ralph() -> Definition {
        Definition::preset("ralph").unwrap()
    }

    fn refused(said: &str, command: &str) -> (String, String) {
        let e = resolve(&ralph(), said, command).unwrap_err();
        assert_eq!(e.code(), "invalid_input");
        let hint = e.hint().unwrap().text().to_owned();
        (e.message().to_owned(), hint)
    }

    /// The expected state for each intent or state name (row) and each command (column). The table
    /// was written from the requirements, not from the preset.
    const TABLE: &str = include_str!("../tests/resolve.tsv");
    const SMALL: &str = include_str!("../tests/resolve-small.tsv");
    /// The allowed next states of each state.
    const TRANSITIONS: &str = include_str!("../tests/transitions.tsv");
    const SMALL_TRANSITIONS: &str = include_str!("../tests/transitions-small.tsv");

    /// Returns the names of the columns of a table, and its rows.
    fn rows(table: &str) -> (Vec<&str>, Vec<(&str, Vec<&str>)>) {
        let mut lines = table.lines().filter(|line| !line.starts_with('#'));
        let mut split = || {
            let mut cells = lines.next()?.split('\t');
            let first = cells.next()?;
            Some((first, cells.collect::<Vec<&str>>()))
        };
        let (_, columns) = split().unwrap();
        let rows: Vec<_> = std::iter::from_fn(split).collect();
        assert!(rows.iter().all(|(_, cells)| cells.len() == columns.len()));
        (columns, rows)
    }

    #[test]
    fn r_001_12_commands_intents_and_states_match_the_table() {
        for (preset, prefix, table) in [("ralph", "ralph_", TABLE), ("small", "", SMALL)] {
            let definition = Definition::preset(preset).unwrap();
            let (commands, rows) = rows(table);
            assert_eq!(commands.len(), definition.commands.len());
            assert_eq!(
                rows.len(),
                definition.intents.len() + definition.states.len()
            );
            for (said, cells) in rows {
                for (command, wanted) in commands.iter().zip(cells) {
                    for command in [(*command).to_owned(), format!("{prefix}{command}")] {
                        let found = resolve(&definition, said, &command);
                        assert_eq!(found.is_err(), wanted == "-", "{said} as {command}");
                        let found = found.map_or("-", |r| r.state.name.as_str());
                        assert_eq!(found, wanted, "{said} as {command}");
                    }
                }
            }
        }
    }

    #[test]
    fn strict_transitions_match_the_expected_table() {
        for (preset, table) in [("ralph", TRANSITIONS), ("small", SMALL_TRANSITIONS)] {
            let free = Definition::preset(preset).unwrap();
            let mut strict = free.clone();
            strict.strict_transitions = true;
            let (states, rows) = rows(table);
            assert_eq!(states.len(), strict.states.len());
            assert_eq!(rows.len(), strict.states.len());
            for (name, cells) in rows {
                let from = strict.state(name).unwrap();
                for (to, cell) in states.iter().zip(cells) {
                    let goal = |is_global| ResolvedState {
                        state: strict.state(to).unwrap(),
                        was_intent: is_global,
                        is_global,
                    };
                    let is_right = cell == "y" || name == *to;
                    let found = check_transition(&strict, from, &goal(false));
                    assert_eq!(found.is_ok(), is_right, "{preset}: {name} to {to}");
                    let found = check_transition(&strict, from, &goal(true));
                    let is_right = is_right || from.terminal.is_none();
                    assert_eq!(found.is_ok(), is_right, "{preset}: {name} to {to}");
                    check_transition(&free, from, &goal(false)).unwrap();
                }
            }
        }
    }

    #[test]
    fn r_000_28_pr_command_accepts_intents_and_state_names() {
        // C-000-1: Canceled is not an output of the command, but an intent reaches it.
        let ralph = ralph();
        for (said, state, was_intent) in [
            ("__CLOSE__", "Done", true),
            ("__COMPLETE__", "Done", true),
            ("__ESCALATE__", "Human Needed", true),
            ("__CANCEL__", "Canceled", true),
            ("Done", "Done", false),
            ("in review", "In Review", false),
        ] {
            let resolved = resolve(&ralph, said, "pr").unwrap();
            assert_eq!(
                (resolved.state.name.as_str(), resolved.was_intent),
                (state, was_intent)
            );
        }
        assert!(resolve(&ralph, "__LOCK__", "pr").is_err());
        assert!(resolve(&ralph, "In Progress", "pr").is_err());
    }

    #[test]
    fn r_000_27_pr_command_has_three_outputs_and_no_lock() {
        let ralph = ralph();
        let pr = ralph.command("pr").unwrap();
        assert_eq!(pr.outputs, ["In Review", "Done", "Human Needed"]);
        assert_eq!(pr.lock, None);
        assert_eq!(ralph.full_name(" pr "), "ralph_pr");
        assert_eq!(ralph.full_name("ralph_pr"), "ralph_pr");
    }

    #[test]
    fn r_001_14_refusal_is_one_line_with_a_retry() {
        let ralph = ralph();
        let mut refusals = 0;
        for command in ralph.commands.keys() {
            let full = ralph.full_name(command);
            for said in [
                "__LOCK__",
                "__COMPLETE__",
                "__NONSENSE__",
                "Done",
                "Backlog",
                "Nonsense",
            ] {
                let Err(e) = resolve(&ralph, said, command) else {
                    continue;
                };
                refusals += 1;
                let hint = e.hint().map(ToString::to_string).unwrap_or_default();
                let text = format!("{}. {hint}", e.message());
                assert!(!text.contains('\n') && text.contains(said), "{text}");
                assert!(
                    hint.contains("retry") || hint.contains("__"),
                    "{full}: {hint}"
                );
            }
        }
        assert!(refusals > 20, "{refusals}");
    }

    #[test]
    fn r_001_15_refusals_name_valid_values_and_the_retry() {
        // C-001-19: each refusal has a command, the valid values and a retry.
        for (said, command, why, retry) in [
            (
                "Done",
                "reserch",
                "the commands are ralph_hero",
                "retry with command ralph_research",
            ),
            (
                "Done",
                "zzz",
                "unknown command 'zzz'",
                "retry with one of: ralph_hero",
            ),
            (
                "Done",
                " ",
                "the command is missing: the commands are ralph_hero",
                "retry with one of: ralph_hero",
            ),
            (
                "__LOCK__",
                "triage",
                "it is for ralph_impl (In Progress), ralph_plan (Plan in Progress), ralph_plan_epic \
                 (Plan in Progress), ralph_research (Research in Progress)",
                "__CANCEL__ -> Canceled, __CLOSE__ -> Done, __ESCALATE__ -> Human Needed",
            ),
            (
                "__LOCK__",
                "review",
                "__LOCK__ is not for ralph_review",
                "__COMPLETE__ -> In Progress",
            ),
            (
                "__COMPLETE__",
                "triage",
                "__COMPLETE__ is ambiguous for ralph_triage: triage ends in one of several states",
                "retry with one of: Research Needed, Ready for Plan",
            ),
            (
                "__COMPLETE__",
                "hero",
                "is not for ralph_hero: it is for ralph_impl",
                "In Review",
            ),
            (
                "__OPEN__",
                "impl",
                "__CANCEL__ (abandon), __CLOSE__ (mark done), __COMPLETE__ (finish), __ESCALATE__ \
                 (needs human), __LOCK__ (claim)",
                "retry with one of: In Progress",
            ),
            (
                "Ready for Plan",
                "impl",
                "Ready for Plan is not a state for ralph_impl: it has In Progress, In Review, Human Needed",
                "__COMPLETE__ -> In Review, __ESCALATE__ -> Human Needed, __LOCK__ -> In Progress",
            ),
            (
                "Done",
                "research",
                "Done is not a state for ralph_research",
                "__CLOSE__ -> Done, __COMPLETE__ -> Ready for Plan",
            ),
            (
                "CLOSE",
                "pr",
                "unknown state 'CLOSE': the states are Backlog,",
                "__CLOSE__ -> Done",
            ),
        ] {
            let (message, hint) = refused(said, command);
            assert!(message.contains(why), "{said} as {command}: {message}");
            assert!(hint.starts_with("retry with"), "{hint}");
            assert!(hint.contains(retry), "{said} as {command}: {hint}");
            assert!(!message.contains('\n'));
        }
        let direct = resolve(&ralph(), "Research in Progress", "research").map(|r| r.was_intent);
        assert!(!direct.unwrap());
    }

    #[test]
    fn refusal_has_the_retry_as_an_action() {
        for (said, command, again) in [
            (
                "Done",
                "reserch",
                Action::again(&[]).with(Param::Command, "ralph_research"),
            ),
            ("Done", "zzz", Action::again(&[]).choose(Param::Command)),
            (
                "Reserch Needed",
                "triage",
                Action::again(&[]).with(Param::State, "Research Needed"),
            ),
            (
                "CLOSE",
                "pr",
                Action::again(&[]).with(Param::State, "__CLOSE__"),
            ),
            (
                "__COMPLET__",
                "impl",
                Action::again(&[]).with(Param::State, "__COMPLETE__"),
            ),
            // The state exists, so the action offers no similar name.
            ("In Review", "plan", Action::again(&[]).choose(Param::State)),
        ] {
            let e = resolve(&ralph(), said, command).unwrap_err();
            let action = e.hint().and_then(Hint::action);
            assert_eq!(action, Some(&again), "{said} as {command}");
        }
    }

    #[test]
    fn strict_transition_needs_next_state_or_global_intent() {
        let mut ralph = ralph();
        let check = |ralph: &Definition, from: &str, said: &str, command: &str| {
            let to = resolve(ralph, said, command).unwrap();
            check_transition(ralph, ralph.state(from).unwrap(), &to)
        };
        check(&ralph, "Backlog", "__COMPLETE__", "impl").unwrap();
        ralph.strict_transitions = true;
        let e = check(&ralph, "Backlog", "__COMPLETE__", "impl").unwrap_err();
        assert!(
            e.message().starts_with(
                "In Review does not follow Backlog: the next states are Research Needed"
            ),
            "{e}"
        );
        check(&ralph, "In Progress", "__COMPLETE__", "impl").unwrap();
        check(&ralph, "Backlog", "__ESCALATE__", "impl").unwrap();
        check(&ralph, "In Review", "In Review", "impl").unwrap();
        let e = check(&ralph, "Done", "__ESCALATE__", "impl").unwrap_err();
        let hint = e.hint().unwrap().text();
        assert_eq!(hint, "reopen the issue, and clear its state first");
    }

    #[test]
    fn refused_transition_names_intents_that_bypass_it() {
        let mut ralph = ralph();
        ralph.strict_transitions = true;
        let hint = |ralph: &Definition| {
            let to = resolve(ralph, "__COMPLETE__", "impl").unwrap();
            let refused = check_transition(ralph, ralph.state("Backlog").unwrap(), &to);
            refused.unwrap_err().hint().unwrap().text().to_owned()
        };
        let all = "; __CANCEL__ -> Canceled, __CLOSE__ -> Done, __ESCALATE__ -> Human Needed \
                   bypass the workflow";
        assert!(hint(&ralph).ends_with(all), "{}", hint(&ralph));
        for gone in ["CANCEL", "ESCALATE"] {
            ralph.intents.remove(gone);
        }
        let one = "; __CLOSE__ -> Done bypasses the workflow";
        assert!(hint(&ralph).ends_with(one), "{}", hint(&ralph));
        ralph.intents.remove("CLOSE");
        assert!(!hint(&ralph).contains("bypass"), "{}", hint(&ralph));
    }
}
