//! Finds all mistakes of a definition, with their positions in the text.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use forge_core::{suggest, text::one_line};
use serde::Serialize;

use crate::{
    Blocking, ConvergenceGate, Definition,
    form::{
        DefinitionText, FormCheck, KeyPath, MAX_MISTAKES, oversized, sanitize_text, shown_name,
    },
    resolve,
    resolve::command_of,
};

/// Maximum number of known names that a message lists.
const MAX_NAMED: usize = 12;

/// A mistake of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mistake {
    /// The key, such as `command.pr.outputs`.
    pub key: String,
    /// The mistake and how to correct it.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        match self.key.is_empty() {
            true => f.write_str(&self.message),
            false => write!(f, "{}: {}", self.key, self.message),
        }
    }
}

/// Finds the mistakes in `text`, in the order of the text. Empty if the text is valid. If there are
/// more than fifty mistakes, the last entry says so.
///
/// A convergence gate that never checks a claim is reported only if there is no other mistake.
/// [`Definition::parse`] accepts such a definition.
#[must_use]
pub fn lint(text: &str) -> Vec<Mistake> {
    match read(text) {
        Ok(definition) => gate_without_effect(text, &definition).into_iter().collect(),
        Err(mistakes) => mistakes,
    }
}

/// Finds a convergence gate that `text` sets although it never checks a claim.
fn gate_without_effect(text: &str, definition: &Definition) -> Option<Mistake> {
    const KEY: &str = "convergence_gate";
    let mut commands = definition.commands.values();
    let is_idle = definition.convergence_gate != ConvergenceGate::Off
        && !commands.any(|command| definition.gate_of(command).is_some());
    let (source, value) = DefinitionText::parse(text).ok()?;
    // A gate without effect is not reported if it is the default. Only a definition that sets the
    // key relies on the gate.
    value.get(KEY).filter(|_| is_idle)?;
    let path = [KEY.to_owned()];
    let (line, column) = source.places(&[path.as_slice()]).pop()?;
    Some(Mistake {
        key: KEY.to_owned(),
        message: "the gate never checks a claim: no command takes issues from the state `at` of a \
                  phase with `blocking = \"behind\"`. Add such a phase or such an input, or set \
                  the gate to \"off\""
            .to_owned(),
        line,
        column,
    })
}

/// Parses the definition in `text`.
///
/// # Errors
///
/// Fails with the mistakes that [`lint`] finds. A convergence gate that never checks a claim is not
/// one of them. If the text is neither TOML nor JSON, the only mistake is the first syntax error.
pub(crate) fn read(text: &str) -> Result<Definition, Vec<Mistake>> {
    let (source, mut value) = DefinitionText::parse(text).map_err(|mistake| vec![mistake])?;
    let mut found = oversized(&value);
    let mut definition = None;
    if found.is_empty() {
        let mut form = FormCheck::default();
        definition = form.definition(&mut value);
        let meaning = match &definition {
            Some(definition) => DefinitionCheck::of(definition, &form),
            None => Vec::new(),
        };
        found = source.find_duplicate_keys();
        found.extend(form.mistakes);
        found.extend(meaning);
    }
    let is_cut = found.len() > MAX_MISTAKES;
    found.truncate(MAX_MISTAKES);
    let paths: Vec<&[String]> = found.iter().map(|(path, _)| path.as_slice()).collect();
    let places = source.places(&paths);
    let mut mistakes: Vec<Mistake> = found
        .iter()
        .zip(places)
        .map(|((path, message), (line, column))| Mistake {
            key: one_line(&path.join(".")).into_owned(),
            message: message.clone(),
            line,
            column,
        })
        .collect();
    mistakes.sort_by_key(|m| (m.line, m.column));
    if let Some(last) = mistakes.last().filter(|_| is_cut) {
        let more = Mistake {
            key: String::new(),
            message: "and more: correct these mistakes first".to_owned(),
            ..*last
        };
        mistakes.push(more);
    }
    match definition {
        Some(definition) if mistakes.is_empty() => Ok(definition),
        _ => Err(mistakes),
    }
}

/// Checks the meaning of a definition. A name that was removed because of a syntax mistake is not
/// reported as missing.
struct DefinitionCheck<'d> {
    definition: &'d Definition,
    form: &'d FormCheck,
    /// The names of the states in lower case.
    states: BTreeSet<String>,
    found: Vec<(KeyPath, String)>,
}

impl<'d> DefinitionCheck<'d> {
    /// Returns the mistakes of `definition`, at most one more than [`MAX_MISTAKES`].
    fn of(definition: &'d Definition, form: &'d FormCheck) -> Vec<(KeyPath, String)> {
        let states = definition.states.iter();
        let mut checks = Self {
            definition,
            form,
            states: states.map(|state| state.name.to_lowercase()).collect(),
            found: Vec::new(),
        };
        checks.check_all();
        checks.found
    }

    fn is_full(&self) -> bool {
        self.found.len() > MAX_MISTAKES
    }

    fn report(&mut self, path: &[&str], message: String) {
        let path: KeyPath = path.iter().map(|step| (*step).to_owned()).collect();
        // Repaired values are not in the text, so mistakes in them are dropped.
        if !self.is_full() && !self.form.is_replaced(&path) {
            self.found.push((path, message));
        }
    }

    /// Reports a line break, because a text with a line break could imitate a line of the output.
    fn check_line(&mut self, text: &str, path: &[&str]) {
        let ends = [
            '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
        ];
        if text.contains(ends) {
            let why = "the text has a line break: write it as one line".to_owned();
            self.report(path, why);
        }
    }

    /// Reports an unknown name. Builds the message only if the list of mistakes is not full.
    fn report_unknown<'a>(
        &mut self,
        path: &[&str],
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) {
        if !self.is_full() {
            self.report(path, unknown(what, name, known));
        }
    }

    fn check_all(&mut self) {
        self.states();
        self.scales();
        self.fields();
        self.intents();
        self.commands();
        self.phases();
        self.on_merge();
    }

    fn known_state(&mut self, state: &str, path: &[&str]) {
        let definition = self.definition;
        let is_known = self.states.contains(&state.trim().to_lowercase());
        if is_known || self.form.lacks_names("state") {
            return;
        }
        let names = definition.states.iter().map(|s| s.name.as_str());
        self.report_unknown(path, "state", state, names);
    }

    fn known_states(&mut self, states: &[String], path: &[&str]) {
        for (at, state) in states.iter().enumerate() {
            let at = at.to_string();
            let path: Vec<&str> = path.iter().copied().chain([at.as_str()]).collect();
            self.known_state(state, &path);
        }
    }

    fn states(&mut self) {
        let definition = self.definition;
        let mut seen = BTreeSet::new();
        for (at, state) in definition.states.iter().enumerate() {
            let place = at.to_string();
            if state.name.is_empty() || one_line(state.name.trim()) != state.name {
                let why = format!("'{}' is not a name for a state", shown_name(&state.name));
                self.report(&["state", &place, "name"], why);
            }
            if !seen.insert(state.name.to_lowercase()) {
                let why = format!("the state {} is defined twice", shown_name(&state.name));
                self.report(&["state", &place, "name"], why);
            }
            if state.lock && state.terminal.is_some() {
                let why =
                    "a terminal state cannot be a lock: nobody works on an ended issue".to_owned();
                self.report(&["state", &place, "lock"], why);
            }
            self.known_states(&state.next, &["state", &place, "next"]);
        }
        let ends = definition.states.iter().any(|s| s.terminal.is_some());
        if !ends && !self.form.touches("state") {
            self.report(
                &["state"],
                "no state is terminal, so work could never end".to_owned(),
            );
        }
    }

    fn scales(&mut self) {
        let definition = self.definition;
        for (table, scale) in [
            ("estimate", &definition.estimate.scale),
            ("priority", &definition.priority.scale),
        ] {
            let mut seen = BTreeSet::new();
            for (at, value) in scale.iter().enumerate() {
                let place = at.to_string();
                let path = [table, "scale", place.as_str()];
                if one_line(value) != *value {
                    let why = format!("'{}' is not a name for a value", shown_name(value));
                    self.report(&path, why);
                }
                if !seen.insert(value.to_lowercase()) {
                    let why = format!("the value {} is listed twice", shown_name(value));
                    self.report(&path, why);
                }
            }
        }
        let estimate = &definition.estimate;
        let lacks_names = self.form.lacks_names("estimate");
        let known = |value: &String| estimate.scale.contains(value) || lacks_names;
        let scale = estimate.scale.iter().map(String::as_str);
        if let Some(value) = estimate.max_pick.as_ref().filter(|v| !known(v)) {
            self.report_unknown(&["estimate", "max_pick"], "estimate", value, scale.clone());
        }
        for (at, value) in estimate.oversized.iter().enumerate() {
            if !known(value) {
                let at = at.to_string();
                let path = ["estimate", "oversized", at.as_str()];
                self.report_unknown(&path, "estimate", value, scale.clone());
            }
        }
    }

    fn fields(&mut self) {
        let field = &self.definition.field;
        for (key, name) in [
            ("state", &field.state),
            ("estimate", &field.estimate),
            ("priority", &field.priority),
            ("status", &field.status),
        ] {
            if name.trim().is_empty() {
                self.report(&["field", key], "the name of the field is empty".to_owned());
            }
        }
        // If no state has a `status`, the built-in field is not used, so its name may equal that of
        // another field.
        let has_status = self.definition.states.iter().any(|s| s.status.is_some());
        let status = has_status.then_some(("status", &field.status));
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for (key, name) in [
            ("state", &field.state),
            ("estimate", &field.estimate),
            ("priority", &field.priority),
        ]
        .into_iter()
        .chain(status)
        {
            let wanted = name.trim().to_lowercase();
            if let Some(other) = seen.get(&wanted) {
                let name = shown_name(name);
                let why = format!(
                    "the field '{name}' is already used by field.{other}: choose another field"
                );
                self.report(&["field", key], why);
            } else if !wanted.is_empty() {
                seen.insert(wanted, key);
            }
        }
    }

    fn intents(&mut self) {
        for (name, intent) in &self.definition.intents {
            self.check_line(&intent.gloss, &["intent", name, "gloss"]);
            if let Some(state) = &intent.state {
                self.known_state(state, &["intent", name, "state"]);
                if intent.lock {
                    let why = "an intent leads to a state or to the lock, and not both".to_owned();
                    self.report(&["intent", name, "lock"], why);
                }
            }
        }
    }

    fn commands(&mut self) {
        let definition = self.definition;
        let prefix = &definition.command_prefix;
        if one_line(prefix) != *prefix {
            let why = format!("'{}' is not a valid prefix of a name", shown_name(prefix));
            self.report(&["command_prefix"], why);
        }
        for (name, command) in &definition.commands {
            if let Some(rest) = name.strip_prefix(prefix.as_str())
                && !prefix.is_empty()
            {
                // Callers may omit the prefix, so this name means the command `rest`.
                let why = format!(
                    "the name begins with the prefix {}, so it means the command '{}': leave the \
                     prefix out",
                    shown_name(prefix),
                    shown_name(rest)
                );
                self.report(&["command", name], why);
            }
            let role = command.role.as_deref().unwrap_or_default();
            self.check_line(role, &["command", name, "role"]);
            for (intent, why) in &command.ambiguous {
                self.check_line(why, &["command", name, "ambiguous", intent]);
            }
            self.known_states(&command.inputs, &["command", name, "inputs"]);
            self.known_states(&command.outputs, &["command", name, "outputs"]);
            if let Some(lock) = &command.lock {
                let path = ["command", name.as_str(), "lock"];
                self.known_state(lock, &path);
                let is_free = definition.state(lock).is_some_and(|state| !state.lock);
                if is_free && !self.form.touches("state") {
                    let why = format!("the state {} is not a lock", shown_name(lock));
                    self.report(&path, why);
                }
            }
            if let Some(release) = &command.release {
                self.known_state(release, &["command", name, "release"]);
            }
            let lacks_names = self.form.lacks_names("estimate");
            for (at, estimate) in command.estimates.iter().enumerate() {
                if !lacks_names && !definition.estimate.scale.contains(estimate) {
                    let scale = definition.estimate.scale.iter().map(String::as_str);
                    let at = at.to_string();
                    let path = ["command", name.as_str(), "estimates", at.as_str()];
                    self.report_unknown(&path, "estimate", estimate, scale);
                }
            }
            for (table, intents) in [
                ("intent", &command.intents),
                ("ambiguous", &command.ambiguous),
            ] {
                for intent in intents.keys() {
                    let path = ["command", name.as_str(), table, intent.as_str()];
                    match definition.intents.get(intent) {
                        None if self.form.lacks_names("intent") => {}
                        None => {
                            let names = definition.intents.keys().map(String::as_str);
                            self.report_unknown(&path, "intent", intent, names);
                        }
                        Some(known) if known.lock || known.state.is_some() => {
                            let why = format!("{intent} is defined for all commands, not for one");
                            self.report(&path, why);
                        }
                        Some(_) => {}
                    }
                }
            }
            for (intent, state) in &command.intents {
                self.known_state(state, &["command", name, "intent", intent]);
            }
        }
    }

    fn phases(&mut self) {
        let definition = self.definition;
        for (at, phase) in definition.phases.iter().enumerate() {
            let place = at.to_string();
            self.check_line(&phase.name, &["phase", &place, "name"]);
            self.check_line(&phase.reason, &["phase", &place, "reason"]);
            for (n, next) in phase.remaining.iter().enumerate() {
                self.check_line(next, &["phase", &place, "remaining", &n.to_string()]);
            }
            for (n, state) in phase.states.iter().flatten().enumerate() {
                if !state.is_empty() {
                    self.known_state(state, &["phase", &place, "states", &n.to_string()]);
                }
            }
            let state = phase.at.as_deref();
            if let Some(state) = state {
                self.known_state(state, &["phase", &place, "at"]);
            }
            let behind = phase.blocking == Some(Blocking::Behind);
            let ordered = |s: &str| definition.state(s).is_none_or(|s| !s.aside);
            let is_right = state.is_some_and(ordered) || self.form.touches("phase");
            if behind && !is_right {
                let why = "`behind` needs `at`, a state of the order of work".to_owned();
                self.report(&["phase", &place, "blocking"], why);
            }
        }
        let is_last = |p: &crate::PhaseRule| {
            p.when == crate::Quantifier::Any && p.states.is_none() && !p.oversized
        };
        if !definition.phases.last().is_some_and(is_last) {
            let why = "the last phase has to match every group: it needs `when = \"any\"` and no other condition";
            self.report(&["phase"], why.to_owned());
        }
    }

    fn on_merge(&mut self) {
        let definition = self.definition;
        let merge = &definition.on_merge;
        for state in merge.from.keys() {
            self.known_state(state, &["on_merge", "from", state]);
        }
        let sections = ["state", "intent", "command", "on_merge"];
        if sections.iter().any(|section| self.form.touches(section)) {
            return;
        }
        // A target can be resolved only for a known command, so an unknown command is the only
        // mistake.
        if let Err(e) = command_of(definition, &merge.command) {
            return self.report(&["on_merge", "command"], sanitize_text(e.message()));
        }
        let goals = std::iter::once((None, &merge.to));
        let goals = goals.chain(merge.from.iter().map(|(state, to)| (Some(state), to)));
        for (state, to) in goals {
            if let Err(e) = resolve(definition, to, &merge.command) {
                let path = match state {
                    None => vec!["on_merge", "to"],
                    Some(state) => vec!["on_merge", "from", state.as_str()],
                };
                self.report(&path, sanitize_text(e.message()));
            }
        }
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let mut rest = known.clone();
    let first = rest.by_ref().take(MAX_NAMED);
    let mut all: Vec<String> = first.map(|name| one_line(name).into_owned()).collect();
    let more = rest.count();
    if more > 0 {
        all.push(format!("{more} more"));
    }
    let meant = match suggest::did_you_mean(name, known) {
        Some(meant) => format!("; {meant}"),
        None => String::new(),
    };
    format!(
        "there is no {what} '{}': there are {}{meant}",
        shown_name(name),
        all.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const RALPH: &str = include_str!("../presets/ralph.toml");

    #[test]
    fn mistakes_have_line_and_column() {
        for (from, to, key, why) in [
            (
                "state = \"Done\"",
                "state = \"Dnoe\"",
                "intent.CLOSE.state",
                "did you mean 'Done'?",
            ),
            (
                "outputs = [\"In Review\", \"Done\"",
                "outputs = [\"In Review\", \"Over\"",
                "command.pr.outputs.1",
                "no state 'Over'",
            ),
            (
                "[command.pr.intent]\nCOMPLETE = \"Done\"",
                "[command.pr.intent]\nCOMPLETE = \"Over\"",
                "command.pr.intent.COMPLETE",
                "no state 'Over'",
            ),
            (
                "[command.pr.intent]\nCOMPLETE",
                "[command.pr.intent]\nFINISH",
                "command.pr.intent.FINISH",
                "no intent 'FINISH'",
            ),
            (
                "[command.pr.intent]\nCOMPLETE",
                "[command.pr.intent]\nCLOSE",
                "command.pr.intent.CLOSE",
                "is defined for all commands",
            ),
            (
                "to = \"__CLOSE__\"",
                "to = \"__LOCK__\"",
                "on_merge.to",
                "__LOCK__",
            ),
            (
                "[on_merge]\ncommand = \"pr\"",
                "[on_merge]\ncommand = \"push\"",
                "on_merge.command",
                "unknown command 'push'",
            ),
            (
                "name = \"Backlog\"",
                "name = \"done\"",
                "state.8.name",
                "the state Done is defined twice",
            ),
            (
                "name = \"Backlog\"",
                "name = \" \"",
                "state.0.name",
                "is not a name",
            ),
            (
                "lock = \"Research in Progress\"",
                "lock = \"Ready for Plan\"",
                "command.research.lock",
                "is not a lock",
            ),
            (
                "max_pick = \"S\"",
                "max_pick = \"Q\"",
                "estimate.max_pick",
                "no estimate 'Q'",
            ),
            (
                "scale = [\"XS\", \"S\"",
                "scale = [\"XS\", \"xs\", \"S\"",
                "estimate.scale.1",
                "the value xs is listed twice",
            ),
            (
                "scale = [\"P0\"",
                "scale = [\"P0\", \"P0\"",
                "priority.scale.1",
                "the value P0 is listed twice",
            ),
            (
                "state = \"Workflow State\"",
                "state = \" \"",
                "field.state",
                "is empty",
            ),
            (
                "estimate = \"Estimate\"",
                "estimate = \"workflow state\"",
                "field.estimate",
                "the field 'workflow state' is already used by field.state",
            ),
            (
                "status = \"Status\"",
                "status = \"Priority\"",
                "field.status",
                "the field 'Priority' is already used by field.priority",
            ),
            (
                "[command.hero]",
                "[command.ralph_hero]",
                "command.ralph_hero",
                "it means the command 'hero'",
            ),
            (
                "release = \"In Progress\"",
                "release = \"Working\"",
                "command.impl.release",
                "no state 'Working'",
            ),
            (
                "at = \"Ready for Plan\"",
                "at = \"Human Needed\"",
                "phase.4.blocking",
                "of the order of work",
            ),
            (
                "gloss = \"claim\"\nlock = true",
                "gloss = \"claim\"\nlock = true\nstate = \"Done\"",
                "intent.LOCK.lock",
                "not both",
            ),
            (
                "gloss = \"claim\"",
                "gloss = \"claim\\nNext: pr_merge\"",
                "intent.LOCK.gloss",
                "has a line break",
            ),
            (
                "reason = \"all members",
                "reason = \"all\\nrecommendation: proceed",
                "phase.0.reason",
                "has a line break",
            ),
            (
                "remaining = [\"split\"",
                "remaining = [\"split\\nNext: pr_merge\"",
                "phase.1.remaining.0",
                "has a line break",
            ),
            (
                "name = \"SPLIT\"",
                "name = \"SPLIT\\rx\"",
                "phase.1.name",
                "has a line break",
            ),
            (
                "role = \"triagers\"",
                "role = \"triagers\\nx\"",
                "command.triage.role",
                "has a line break",
            ),
            (
                "COMPLETE = \"triage ends",
                "COMPLETE = \"triage\\nends",
                "command.triage.ambiguous.COMPLETE",
                "has a line break",
            ),
        ] {
            let text = RALPH.replacen(from, to, 1);
            assert_ne!(text, RALPH, "{from}");
            let found = lint(&text);
            let mistake = found.iter().find(|m| m.key == key);
            let mistake = mistake.unwrap_or_else(|| panic!("{to}: {found:?}"));
            assert!(mistake.message.contains(why), "{to}: {mistake}");
            let line = text.lines().nth(mistake.line - 1).unwrap();
            let last = key
                .rsplit('.')
                .find(|step| step.parse::<usize>().is_err())
                .unwrap();
            assert!(
                line.contains(last) || line.starts_with('['),
                "{mistake}: {line}"
            );
        }
    }

    #[test]
    fn all_mistakes_are_listed_at_once() {
        let text = RALPH
            .replace("state = \"Done\"", "state = \"Dnoe\"")
            .replace("max_pick = \"S\"", "max_pick = \"Q\"");
        let found = lint(&text);
        let keys: Vec<&str> = found.iter().map(|m| m.key.as_str()).collect();
        assert_eq!(
            keys,
            ["estimate.max_pick", "intent.CLOSE.state", "on_merge.to"]
        );
        let e = Definition::parse(&text).unwrap_err();
        assert!(
            e.message().contains("max_pick") && e.message().contains("Dnoe"),
            "{e}"
        );
    }

    #[test]
    fn unknown_merge_command_is_one_mistake() {
        let from = "[on_merge.from]\n\"In Review\" = \"Done\"\n\"In Progress\" = \"In Review\"\n";
        let text = format!("{RALPH}{from}");
        assert!(lint(&text).is_empty());
        let text = text.replacen("command = \"pr\"", "command = \"push\"", 1);
        let found = lint(&text);
        let keys: Vec<&str> = found.iter().map(|m| m.key.as_str()).collect();
        assert_eq!(keys, ["on_merge.command"], "{found:?}");
        // The message lists the commands that exist.
        assert!(found[0].message.contains("ralph_pr"), "{found:?}");
    }

    #[test]
    fn field_names_may_repeat_without_status() {
        let text = RALPH.replacen("status = \"Status\"", "status = \"Workflow State\"", 1);
        assert_eq!(lint(&text)[0].key, "field.status");
        let values = ["Todo", "In Progress", "Done"].map(|v| format!("status = \"{v}\"\n"));
        let text = values.iter().fold(text, |text, v| text.replace(v, ""));
        assert!(lint(&text).is_empty());
    }

    #[test]
    fn json_definition_is_accepted() {
        let ralph = Definition::preset("ralph").unwrap();
        let json = serde_json::to_string(&ralph).unwrap();
        assert_eq!(Definition::parse(&json).unwrap(), ralph);
        assert_eq!(lint(&format!("{json}]"))[0].line, 1);
        let twice = json.replacen('{', "{\n\"command_prefix\": \"x\",", 1);
        let found = lint(&twice);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.starts_with("duplicate key"), "{found:?}");
    }

    #[test]
    fn json_duplicate_keys_are_listed_with_other_mistakes() {
        let ralph = Definition::preset("ralph").unwrap();
        let json = serde_json::to_string(&ralph).unwrap();
        let text = json
            .replacen('{', "{\n\"command_prefix\": \"x\",", 1)
            .replacen("\"command\":{", "\"command\":{\n\"hero\":{},", 1)
            .replacen("\"max_pick\":\"S\"", "\"max_pick\":\"Q\"", 1);
        let found = lint(&text);
        let mut keys: Vec<&str> = found.iter().map(|m| m.key.as_str()).collect();
        keys.sort_unstable();
        let wanted = ["command.hero", "command_prefix", "estimate.max_pick"];
        assert_eq!(keys, wanted, "{found:?}");
    }

    #[test]
    fn gate_without_effect_is_reported_and_accepted() {
        let never = RALPH.replace("blocking = \"behind\"\nat = \"Ready for Plan\"\n", "");
        for gate in ["warn", "block"] {
            let set = |text: &str| text.replace("\"warn\"", &format!("{gate:?}"));
            assert!(lint(&set(RALPH)).is_empty());
            let text = set(&never);
            let found = lint(&text);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].key, "convergence_gate");
            let why = "the gate never checks a claim: no command takes issues";
            assert!(found[0].message.starts_with(why), "{found:?}");
            let line = text.lines().nth(found[0].line - 1).unwrap();
            assert!(line.starts_with("convergence_gate"), "{line}");
            Definition::parse(&text).unwrap();
        }
        let off = never.replace("\"warn\"", "\"off\"");
        assert!(lint(&off).is_empty());
        let default = never.replace("convergence_gate = \"warn\"\n", "");
        assert!(lint(&default).is_empty());
    }

    #[test]
    fn unknown_key_reports_the_line() {
        let found = lint(&RALPH.replacen("human = true", "humane = true", 1));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("humane"), "{found:?}");
        let line = RALPH.lines().position(|l| l == "human = true").unwrap() + 1;
        assert_eq!(found[0].line, line);
        assert!(!lint("").is_empty());
    }

    #[test]
    fn syntax_and_meaning_mistakes_are_listed_together() {
        let text = RALPH
            .replacen("human = true", "humane = true", 1)
            .replacen("max_pick = \"S\"", "max_pick = \"Q\"", 1)
            .replacen("gloss = \"claim\"\nlock = true", "lock = \"yes\"", 1)
            .replacen("state = \"Done\"", "state = \"Dnoe\"", 1)
            .replacen("[on_merge]\ncommand", "[on_merge]\ncommands", 1);
        let found = lint(&text);
        let keys: Vec<&str> = found.iter().map(|m| m.key.as_str()).collect();
        let human = found[0].key.as_str();
        assert!(human.starts_with("state.") && human.ends_with(".humane"));
        // The table of an intent begins before its `lock` key.
        assert_eq!(
            &keys[1..],
            [
                "estimate.max_pick",
                "intent.LOCK.gloss",
                "intent.LOCK.lock",
                "intent.CLOSE.state",
                "on_merge.command",
                "on_merge.commands",
            ],
            "{found:?}"
        );
        for (mistake, part) in found.iter().zip([
            "humane",
            "max_pick",
            "[intent.LOCK]",
            "lock",
            "state",
            "[on_merge]",
            "commands",
        ]) {
            let line = text.lines().nth(mistake.line - 1).unwrap();
            assert!(line.contains(part), "{mistake}: {line}");
        }
    }

    #[test]
    fn json_mistakes_have_lines_and_columns() {
        let text = "{\n  \"command_prefix\": 3,\n  \"estimate\": {\"scale\": [\"S\", \"s\"]},\n  \
                    \"state\": [\n    {\"name\": \"Todo\", \"next\": [\"Dnoe\"]},\n    \
                    {\"name\": \"Done\", \"terminal\": \"ended\"}\n  ]\n}";
        let found = lint(text);
        let places: Vec<(&str, usize, usize)> = found
            .iter()
            .map(|m| (m.key.as_str(), m.line, m.column))
            .collect();
        for wanted in [
            ("command_prefix", 2, 21),
            ("estimate.scale.1", 3, 31),
            ("state.0.next.0", 5, 31),
            ("state.1.terminal", 6, 34),
            // A missing key is reported at the table that lacks it.
            ("on_merge", 1, 1),
            ("field", 1, 1),
        ] {
            assert!(places.contains(&wanted), "{wanted:?}: {found:?}");
        }
    }

    #[test]
    fn mebibyte_of_mistakes_gives_a_short_error() {
        let mut value: Value = toml_edit::de::from_str(RALPH).unwrap();
        let names = (0..200).map(|n| format!("no such state, number {n:05}\n1:1: forged"));
        let mut command = value["command"]["pr"].clone();
        command["outputs"] = Value::from(names.collect::<Vec<String>>());
        for n in 0..170 {
            value["command"][format!("more{n}").as_str()] = command.clone();
        }
        let text = value.to_string();
        assert!(text.len() > 1 << 20, "{}", text.len());
        let found = lint(&text);
        assert_eq!(found.len(), MAX_MISTAKES + 1);
        let last = found.last().unwrap();
        assert_eq!(last.message, "and more: correct these mistakes first");
        let told: String = found.iter().map(|m| format!("{m}\n")).collect();
        assert_eq!(told.lines().count(), found.len());
        assert!(told.len() < 32 * 1024, "{}", told.len());
        let e = Definition::parse(&text).unwrap_err();
        assert!(e.message().len() < 32 * 1024, "{}", e.message().len());
    }

    #[test]
    fn too_many_entries_are_one_mistake() {
        let ralph: Value = toml_edit::de::from_str(RALPH).unwrap();
        let many: Vec<String> = (0..201).map(|n| format!("name {n}")).collect();
        for (table, key) in [("estimate", "scale"), ("estimate", "oversized")] {
            let mut value = ralph.clone();
            value[table][key] = Value::from(many.clone());
            let found = lint(&value.to_string());
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].key, format!("{table}.{key}"));
            let why = "there are 201 entries, and at most 200 are allowed";
            assert_eq!(found[0].message, why);
        }
        let mut value = ralph.clone();
        for name in &many {
            value["command"][name.as_str()] = ralph["command"]["pr"].clone();
        }
        let found = lint(&value.to_string());
        assert_eq!((found.len(), found[0].key.as_str()), (1, "command"));
    }

    #[test]
    fn overlong_or_multiline_name_is_a_mistake() {
        let ralph: Value = toml_edit::de::from_str(RALPH).unwrap();
        for name in ["a\nb".to_owned(), "a".repeat(101)] {
            let shown = shown_name(&name);
            for (table, key) in [("estimate", "scale"), ("priority", "scale")] {
                let mut value = ralph.clone();
                value[table][key][0] = Value::from(name.as_str());
                let found = lint(&value.to_string());
                let mistake = found.iter().find(|m| m.key == format!("{table}.{key}.0"));
                let mistake = mistake.unwrap_or_else(|| panic!("{table}: {found:?}"));
                let start = format!("'{shown}' is not a name");
                assert!(mistake.message.starts_with(&start), "{mistake}");
            }
            let mut value = ralph.clone();
            value["intent"][name.as_str()] = ralph["intent"]["CLOSE"].clone();
            let found = lint(&value.to_string());
            assert_eq!((found.len(), found[0].key.as_str()), (1, "intent"));
            let start = format!("'{shown}' is not a name");
            assert!(found[0].message.starts_with(&start), "{found:?}");
        }
    }

    #[test]
    fn error_for_unknown_name_lists_twelve_names() {
        let names: Vec<String> = (0..40).map(|n| format!("n{n:02}\nx")).collect();
        let said = unknown("estimate", "?", names.iter().map(String::as_str));
        assert!(said.starts_with("there is no estimate '?': there are n00 x, n01 x, "));
        assert!(said.ends_with(", n11 x, 28 more"), "{said}");
    }

    /// Collects the paths of all values.
    fn paths(value: &Value, path: &[String], to: &mut Vec<KeyPath>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(map) => map
                .iter()
                .map(|(key, below)| (key.clone(), below))
                .collect(),
            Value::Array(list) => {
                let list = list.iter().enumerate();
                list.map(|(n, below)| (n.to_string(), below)).collect()
            }
            _ => Vec::new(),
        };
        for (key, value) in below {
            let path: KeyPath = path.iter().cloned().chain([key]).collect();
            to.push(path.clone());
            paths(value, &path, to);
        }
    }

    /// A value of a wrong type is reported once, and other mistakes are still reported.
    #[test]
    fn wrong_value_does_not_hide_other_mistakes() {
        let ralph: Value = toml_edit::de::from_str(RALPH).unwrap();
        let mut all = Vec::new();
        paths(&ralph, &[], &mut all);
        assert!(all.len() > 200, "{}", all.len());
        for path in all {
            // The other mistake is an unknown estimate or an empty name.
            let (other, wrong) = match path[0].as_str() {
                "estimate" => (["field", "status"], ""),
                _ => (["estimate", "max_pick"], "Q"),
            };
            let mut value = ralph.clone();
            value[other[0]][other[1]] = Value::from(wrong);
            let at = path.iter().fold(&mut value, |at, step| match at {
                Value::Array(list) => &mut list[step.parse::<usize>().unwrap()],
                other => &mut other[step.as_str()],
            });
            // No key accepts a fraction.
            *at = Value::from(2.5);
            let text = serde_json::to_string_pretty(&value).unwrap();
            let found = lint(&text);
            let mut keys: Vec<String> = found.iter().map(|m| m.key.clone()).collect();
            keys.sort();
            let mut wanted = vec![path.join("."), other.join(".")];
            wanted.sort();
            assert_eq!(keys, wanted, "{found:?}");
            let form = found.iter().find(|m| m.key == path.join(".")).unwrap();
            let line = text.lines().nth(form.line - 1).unwrap();
            assert!(line.contains("2.5"), "{form}: {line}");
            let start = line.chars().skip(form.column - 1).collect::<String>();
            assert!(start.starts_with("2.5"), "{form}: {line}");
        }
    }
}
