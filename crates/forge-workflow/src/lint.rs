//! All mistakes of a definition, with the place of each.

use std::{fmt, ops::Range};

use forge_core::{near, text::one_line};
use serde::Serialize;
use toml_edit::{Document, Item, Value};

use crate::{Blocking, Definition, resolve};

/// A mistake of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// The key, such as `command.pr.outputs`.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
    /// The line, from 1; `None` in JSON.
    pub line: Option<usize>,
    /// The column in characters, from 1; `None` in JSON.
    pub column: Option<usize>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "{line}:{column}: ")?;
        }
        match self.key.is_empty() {
            true => f.write_str(&self.message),
            false => write!(f, "{}: {}", self.key, self.message),
        }
    }
}

/// Every mistake of the definition in `text`, in the order of the text; none where it is right.
#[must_use]
pub fn lint(text: &str) -> Vec<Mistake> {
    read(text).err().unwrap_or_default()
}

/// The definition in `text`.
///
/// # Errors
/// Its mistakes; one alone where the text has not the form of a definition.
pub(crate) fn read(text: &str) -> Result<Definition, Vec<Mistake>> {
    let (definition, document) = match text.trim_start().starts_with('{') {
        true => (from_json(text)?, None),
        false => {
            let (definition, document) = from_toml(text)?;
            (definition, Some(document))
        }
    };
    let mut found = Mistakes {
        definition: &definition,
        found: Vec::new(),
    };
    found.look();
    let mut mistakes: Vec<Mistake> = found
        .found
        .into_iter()
        .map(|(path, message)| {
            let span = document.as_ref().and_then(|d| span_of(d, &path));
            let place = span.map(|span| place_of(text, span.start));
            Mistake {
                key: path.join("."),
                message,
                line: place.map(|(line, _)| line),
                column: place.map(|(_, column)| column),
            }
        })
        .collect();
    mistakes.sort_by_key(|m| (m.line, m.column));
    match mistakes.is_empty() {
        true => Ok(definition),
        false => Err(mistakes),
    }
}

fn from_json(text: &str) -> Result<Definition, Vec<Mistake>> {
    serde_json::from_str(text).map_err(|e| {
        vec![Mistake {
            key: String::new(),
            message: one_line(&e.to_string()).into_owned(),
            line: Some(e.line()),
            column: Some(e.column()),
        }]
    })
}

fn from_toml(text: &str) -> Result<(Definition, Document<String>), Vec<Mistake>> {
    let wrong = |message: &str, span: Option<Range<usize>>| {
        let place = span.map(|span| place_of(text, span.start));
        vec![Mistake {
            key: String::new(),
            message: one_line(message.trim()).into_owned(),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
        }]
    };
    let document: Document<String> =
        Document::parse(text.to_owned()).map_err(|e| wrong(e.message(), e.span()))?;
    let definition = toml_edit::de::from_str(text).map_err(|e| wrong(e.message(), e.span()))?;
    Ok((definition, document))
}

/// Where a key's value stands; that of the longest part of the path that is there.
fn span_of(document: &Document<String>, path: &[String]) -> Option<Range<usize>> {
    let mut item: &Item = document.as_item();
    let mut span = None;
    for step in path {
        let next = match (item, step.parse::<usize>()) {
            (Item::ArrayOfTables(tables), Ok(at)) => {
                let table = tables.get(at)?;
                span = table.span().or(span);
                // A table of an array is no item: its keys are looked up right here.
                return span_in(table, path.get(path.iter().position(|s| s == step)? + 1..)?)
                    .or(span);
            }
            (Item::Value(Value::Array(values)), Ok(at)) => {
                return values.get(at).and_then(Value::span).or(span);
            }
            _ => item.get(step.as_str()),
        };
        let Some(next) = next else { break };
        span = next.span().or(span);
        item = next;
    }
    span
}

fn span_in(table: &toml_edit::Table, path: &[String]) -> Option<Range<usize>> {
    let item = table.get(path.first()?)?;
    let at = path.get(1).and_then(|at| at.parse::<usize>().ok());
    let element = at.and_then(|at| item.as_array()?.get(at)?.span());
    element.or_else(|| item.span())
}

/// Line and column of a byte, from 1.
fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let column = before.get(start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

struct Mistakes<'d> {
    definition: &'d Definition,
    found: Vec<(Vec<String>, String)>,
}

impl Mistakes<'_> {
    fn say(&mut self, path: &[&str], message: String) {
        let path = path.iter().map(|step| (*step).to_owned());
        self.found.push((path.collect(), message));
    }

    fn look(&mut self) {
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
        if definition.state(state).is_some() {
            return;
        }
        let names = definition.states.iter().map(|s| s.name.as_str());
        self.say(path, unknown("state", state, names));
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
        for (at, state) in definition.states.iter().enumerate() {
            let place = at.to_string();
            if state.name.is_empty() || one_line(state.name.trim()) != state.name {
                let why = format!("'{}' is no name of a state", one_line(&state.name));
                self.say(&["state", &place, "name"], why);
            }
            let is_twin =
                |other: &&crate::State| other.name.to_lowercase() == state.name.to_lowercase();
            if definition.states.iter().take(at).any(|o| is_twin(&o)) {
                let why = format!("the state {} is there twice", state.name);
                self.say(&["state", &place, "name"], why);
            }
            if state.lock && state.terminal.is_some() {
                let why = "nobody works on an issue that has ended".to_owned();
                self.say(&["state", &place, "lock"], why);
            }
            self.known_states(&state.next, &["state", &place, "next"]);
        }
        if !definition.states.iter().any(|s| s.terminal.is_some()) {
            self.say(
                &["state"],
                "no state is terminal: no work ever ends".to_owned(),
            );
        }
    }

    fn scales(&mut self) {
        let definition = self.definition;
        for (table, scale) in [
            ("estimate", &definition.estimate.scale),
            ("priority", &definition.priority.scale),
        ] {
            for (at, value) in scale.iter().enumerate() {
                let is_twin = |other: &String| other.to_lowercase() == value.to_lowercase();
                if scale.iter().take(at).any(is_twin) {
                    let why = format!("the value {} is there twice", one_line(value));
                    self.say(&[table, "scale", &at.to_string()], why);
                }
            }
        }
        let estimate = &definition.estimate;
        let known = |value: &String| estimate.scale.contains(value);
        let wrong: Vec<(&str, &String)> = (estimate.max_pick.iter().map(|v| ("max_pick", v)))
            .chain(estimate.oversized.iter().map(|v| ("oversized", v)))
            .filter(|(_, value)| !known(value))
            .collect();
        for (key, value) in wrong {
            let scale = estimate.scale.iter().map(String::as_str);
            self.say(&["estimate", key], unknown("estimate", value, scale));
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
                self.say(&["field", key], "the name of the field is empty".to_owned());
            }
        }
    }

    fn intents(&mut self) {
        for (name, intent) in &self.definition.intents {
            if let Some(state) = &intent.state {
                self.known_state(state, &["intent", name, "state"]);
                if intent.lock {
                    let why = "an intent means a state or the lock, and not both".to_owned();
                    self.say(&["intent", name, "lock"], why);
                }
            }
        }
    }

    fn commands(&mut self) {
        let definition = self.definition;
        for (name, command) in &definition.commands {
            self.known_states(&command.inputs, &["command", name, "inputs"]);
            self.known_states(&command.outputs, &["command", name, "outputs"]);
            if let Some(lock) = &command.lock {
                let path = ["command", name.as_str(), "lock"];
                self.known_state(lock, &path);
                if definition.state(lock).is_some_and(|state| !state.lock) {
                    let why = format!("the state {lock} is no lock");
                    self.say(&path, why);
                }
            }
            if let Some(release) = &command.release {
                self.known_state(release, &["command", name, "release"]);
            }
            for (at, estimate) in command.estimates.iter().enumerate() {
                if !definition.estimate.scale.contains(estimate) {
                    let scale = definition.estimate.scale.iter().map(String::as_str);
                    let why = unknown("estimate", estimate, scale);
                    self.say(&["command", name, "estimates", &at.to_string()], why);
                }
            }
            for (table, intents) in [
                ("intent", &command.intents),
                ("ambiguous", &command.ambiguous),
            ] {
                for intent in intents.keys() {
                    let path = ["command", name.as_str(), table, intent.as_str()];
                    match definition.intents.get(intent) {
                        None => {
                            let names = definition.intents.keys().map(String::as_str);
                            let why = unknown("intent", intent, names);
                            self.say(&path, why);
                        }
                        Some(known) if known.lock || known.state.is_some() => {
                            let why = format!("{intent} means the same for every command");
                            self.say(&path, why);
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
            if behind && state.is_none_or(|s| !ordered(s)) {
                let why = "`behind` needs `at`, a state of the order of work".to_owned();
                self.say(&["phase", &place, "blocking"], why);
            }
        }
        let is_last = |p: &crate::PhaseRule| {
            p.when == crate::Quantifier::Any && p.states.is_none() && !p.oversized
        };
        if !definition.phases.last().is_some_and(is_last) {
            let why = "the last phase has to take whatever is left: `when = \"any\"` alone";
            self.say(&["phase"], why.to_owned());
        }
    }

    fn on_merge(&mut self) {
        let definition = self.definition;
        let merge = &definition.on_merge;
        let goals = std::iter::once((None, &merge.to));
        let goals = goals.chain(merge.from.iter().map(|(state, to)| (Some(state), to)));
        for (state, to) in goals {
            let path = match state {
                None => vec!["on_merge", "to"],
                Some(state) => vec!["on_merge", "from", state.as_str()],
            };
            if let Some(state) = state {
                self.known_state(state, &path);
            }
            if let Err(e) = resolve(definition, to, &merge.command) {
                self.say(&path, e.message().to_owned());
            }
        }
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let all: Vec<&str> = known.clone().collect();
    let meant = match near::did_you_mean(name, known) {
        Some(meant) => format!("; {meant}"),
        None => String::new(),
    };
    format!(
        "there is no {what} '{}': there are {}{meant}",
        one_line(name),
        all.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const RALPH: &str = include_str!("../presets/ralph.toml");

    #[test]
    fn every_mistake_has_its_place() {
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
                "the same for every command",
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
                "on_merge.to",
                "unknown command 'push'",
            ),
            (
                "name = \"Backlog\"",
                "name = \"done\"",
                "state.8.name",
                "the state Done is there twice",
            ),
            (
                "name = \"Backlog\"",
                "name = \" \"",
                "state.0.name",
                "is no name",
            ),
            (
                "lock = \"Research in Progress\"",
                "lock = \"Ready for Plan\"",
                "command.research.lock",
                "is no lock",
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
                "the value xs is there twice",
            ),
            (
                "scale = [\"P0\"",
                "scale = [\"P0\", \"P0\"",
                "priority.scale.1",
                "the value P0 is there twice",
            ),
            (
                "state = \"Workflow State\"",
                "state = \" \"",
                "field.state",
                "is empty",
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
        ] {
            let text = RALPH.replacen(from, to, 1);
            assert_ne!(text, RALPH, "{from}");
            let found = lint(&text);
            let mistake = found.iter().find(|m| m.key == key);
            let mistake = mistake.unwrap_or_else(|| panic!("{to}: {found:?}"));
            assert!(mistake.message.contains(why), "{to}: {mistake}");
            let line = text.lines().nth(mistake.line.unwrap() - 1).unwrap();
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
    fn json_is_a_definition_too() {
        let ralph = Definition::preset("ralph").unwrap();
        let json = serde_json::to_string(&ralph).unwrap();
        assert_eq!(Definition::parse(&json).unwrap(), ralph);
        let found = lint(&json.replace("\"Canceled\"", "\"Cancelled\"").replacen(
            "Cancelled",
            "Canceled",
            1,
        ));
        assert!(found.iter().all(|m| m.line.is_none()), "{found:?}");
        assert!(!found.is_empty());
        assert_eq!(lint("{\n  \"state\": 3\n}")[0].line, Some(2));
    }

    #[test]
    fn text_of_another_form_has_its_line() {
        let found = lint(&RALPH.replacen("human = true", "humane = true", 1));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("humane"), "{found:?}");
        let line = RALPH.lines().position(|l| l == "human = true").unwrap() + 1;
        assert_eq!(found[0].line, Some(line));
        assert!(!lint("").is_empty());
    }
}
