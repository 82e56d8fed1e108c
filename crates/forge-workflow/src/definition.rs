//! The file that says what a workflow is: states, intents and commands.

use std::collections::BTreeMap;

use forge_core::{Error, ErrorKind, Result, text::one_line};
use serde::Deserialize;

/// The definitions that come with the program, by name.
const PRESETS: [(&str, &str); 1] = [("ralph", include_str!("../presets/ralph.toml"))];

/// How work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// It is done.
    Completed,
    /// Nobody is going to do it.
    Abandoned,
}

/// A state that an issue can be in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its name, unique without regard to case.
    pub name: String,
    /// Set for one that ends the work: its issue is closed.
    pub terminal: Option<Terminal>,
    /// Whether it waits for a person.
    #[serde(default)]
    pub human: bool,
}

/// What a caller can want instead of naming a state.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Intent {
    /// In two words.
    pub gloss: String,
    /// Whether it means `state` for every command, whatever the command's outputs are.
    #[serde(default)]
    global: bool,
    state: Option<String>,
}

impl Intent {
    /// The state that it means for every command.
    pub fn everywhere(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

/// Who moves an issue, and where it may.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    /// The states that it may name.
    pub outputs: Vec<String>,
    /// What intents mean for it.
    #[serde(default, rename = "intent")]
    pub intents: BTreeMap<String, String>,
}

/// What a merge asks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnMerge {
    /// As which command.
    pub command: String,
    /// Which state or intent.
    pub to: String,
}

/// A workflow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// What may stand in front of the name of a command.
    pub(crate) command_prefix: String,
    /// In the order of work.
    #[serde(rename = "state")]
    states: Vec<State>,
    #[serde(rename = "intent")]
    pub(crate) intents: BTreeMap<String, Intent>,
    #[serde(rename = "command")]
    pub(crate) commands: BTreeMap<String, Command>,
    pub(crate) on_merge: OnMerge,
}

impl Definition {
    /// The definition of that name.
    ///
    /// # Errors
    /// `config` with the names that there are; never for one of those.
    pub fn preset(name: &str) -> Result<Self> {
        let Some((_, text)) = PRESETS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = PRESETS.iter().map(|(known, _)| *known).collect();
            let known = known.join(", ");
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "there is no workflow '{}': there is {known}",
                    one_line(name)
                ),
            )
            .with_hint(format!("name one of: {known}")));
        };
        Self::parse(text)
    }

    /// Reads a definition, and checks that all that it names is there.
    ///
    /// # Errors
    /// `config` for a text that is no definition, and for the first name that is wrong, with those
    /// that are right.
    pub fn parse(text: &str) -> Result<Self> {
        let definition: Self = toml_edit::de::from_str(text).map_err(|e| {
            let said = e.to_string();
            let said = one_line(said.trim());
            wrong(format!("it is not in the form of one: {said}")).with_source(e)
        })?;
        definition.check()?;
        Ok(definition)
    }

    /// The states, in the order of work.
    #[must_use]
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The state of that name, without regard to case.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<&State> {
        let name = name.trim().to_lowercase();
        self.states.iter().find(|s| s.name.to_lowercase() == name)
    }

    /// The names of all states, for an error.
    pub(crate) fn state_names(&self) -> String {
        let names: Vec<&str> = self.states.iter().map(|s| s.name.as_str()).collect();
        names.join(", ")
    }

    fn check(&self) -> Result<()> {
        for (at, state) in self.states.iter().enumerate() {
            if state.name.trim() != state.name || state.name.is_empty() {
                return Err(wrong(format!("'{}' is no name of a state", state.name)));
            }
            let before = self.states.iter().take(at);
            let mut before = before.map(|other| other.name.to_lowercase());
            if before.any(|other| other == state.name.to_lowercase()) {
                return Err(wrong(format!("the state {} is there twice", state.name)));
            }
        }
        for (name, intent) in &self.intents {
            match (&intent.state, intent.global) {
                (Some(state), true) => self.known(state, &format!("intent.{name}"))?,
                (None, false) => {}
                _ => {
                    return Err(wrong(format!(
                        "intent.{name} needs both of `global` and `state`, or none"
                    )));
                }
            }
        }
        for (name, command) in &self.commands {
            for state in &command.outputs {
                self.known(state, &format!("command.{name}"))?;
            }
            for (intent, state) in &command.intents {
                let place = format!("command.{name}.intent");
                if !self.intents.contains_key(intent) {
                    let known: Vec<&str> = self.intents.keys().map(String::as_str).collect();
                    return Err(wrong(format!(
                        "{place} names the intent '{intent}', and there are {}",
                        known.join(", ")
                    )));
                }
                self.known(state, &place)?;
            }
        }
        let merge = &self.on_merge;
        crate::resolve(self, &merge.to, &merge.command)
            .map(drop)
            .map_err(|e| wrong(format!("on_merge: {}", e.message())).with_source(e))
    }

    /// Refuses a state that there is not.
    fn known(&self, state: &str, place: &str) -> Result<()> {
        if self.state(state).is_some() {
            return Ok(());
        }
        Err(wrong(format!(
            "{place} names the state '{state}', and there are {}",
            self.state_names()
        )))
    }
}

fn wrong(why: String) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("the definition of the workflow is wrong: {why}"),
    )
    .with_hint("correct the definition")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RALPH: &str = include_str!("../presets/ralph.toml");

    #[test]
    fn every_preset_is_a_definition() {
        for (name, _) in PRESETS {
            Definition::preset(name).unwrap();
        }
        let ralph = Definition::preset("ralph").unwrap();
        let ends = ["Done", "Canceled"].map(|name| ralph.state(name).unwrap().terminal);
        assert_eq!(ends, [Some(Terminal::Completed), Some(Terminal::Abandoned)]);
        assert_eq!(ralph.state(" in review ").unwrap().name, "In Review");
        let e = Definition::preset("other").unwrap_err();
        assert!(e.message().ends_with("there is ralph"), "{e}");
    }

    #[test]
    fn what_a_definition_names_is_there() {
        for (from, to, why) in [
            (
                "state = \"Done\"",
                "state = \"Dnoe\"",
                "intent.CLOSE names the state 'Dnoe', and there are Backlog, Research Needed",
            ),
            (
                "outputs = [\"In Review\"",
                "outputs = [\"Reviewed\"",
                "command.pr names the state 'Reviewed'",
            ),
            (
                "COMPLETE = \"Done\"",
                "COMPLETE = \"Over\"",
                "command.pr.intent names the state 'Over'",
            ),
            (
                "COMPLETE = \"Done\"",
                "FINISH = \"Done\"",
                "names the intent 'FINISH', and there are CANCEL, CLOSE",
            ),
            ("to = \"__CLOSE__\"", "to = \"__LOCK__\"", "on_merge: "),
            ("command = \"pr\"", "command = \"push\"", "on_merge: "),
            (
                "global = true\nstate = \"Canceled\"",
                "state = \"Canceled\"",
                "intent.CANCEL needs both",
            ),
            (
                "name = \"Backlog\"",
                "name = \"done\"",
                "the state Done is there twice",
            ),
            ("human = true", "humane = true", "not in the form of one"),
        ] {
            let text = RALPH.replace(from, to);
            assert_ne!(text, RALPH, "{from}");
            let e = Definition::parse(&text).unwrap_err();
            assert!(e.message().contains(why), "{to}: {e}");
        }
    }
}
