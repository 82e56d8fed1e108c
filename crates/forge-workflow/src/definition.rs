//! The file that says what a workflow is.

use std::collections::BTreeMap;

use forge_core::{Error, ErrorKind, Result, text::one_line};
use serde::{Deserialize, Serialize};

/// The definitions that come with the program, by name.
pub const PRESETS: [(&str, &str); 2] = [
    ("ralph", include_str!("../presets/ralph.toml")),
    ("small", include_str!("../presets/small.toml")),
];

/// How work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// The work is done.
    Completed,
    /// Nobody is going to do it.
    Abandoned,
}

/// A state that an issue can be in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its name, unique without regard to case.
    pub name: String,
    /// Set for a state that ends the work: its issue is closed.
    pub terminal: Option<Terminal>,
    /// Whether a person is to act.
    #[serde(default)]
    pub human: bool,
    /// Whether somebody works on an issue in it.
    #[serde(default)]
    pub lock: bool,
    /// Whether a parent waits for all of its children here.
    #[serde(default)]
    pub gate: bool,
    /// Whether it stands beside the order of work.
    #[serde(default)]
    pub aside: bool,
    /// The states that may follow, where transitions are strict.
    #[serde(default)]
    pub next: Vec<String>,
    /// Its value in the built-in field of a project board.
    pub status: Option<String>,
}

/// What a caller can want instead of naming a state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// In two words.
    pub gloss: String,
    /// The state that it means for every command, whatever the command's outputs are.
    pub state: Option<String>,
    /// Whether it means the lock of the command.
    #[serde(default)]
    pub lock: bool,
}

/// Who moves an issue, and where it may.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Who runs it, in the plural.
    pub role: Option<String>,
    /// The states that it takes issues from.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// The states that it may name.
    pub outputs: Vec<String>,
    /// The state of an issue that it works on, which it may name as well.
    pub lock: Option<String>,
    /// The state after a claim was given up; the state before the claim, where there is no such key.
    pub release: Option<String>,
    /// The estimates that are picked for it; empty: those up to [`EstimateScale::max_pick`].
    #[serde(default)]
    pub estimates: Vec<String>,
    /// What intents mean for it.
    #[serde(default, rename = "intent")]
    pub intents: BTreeMap<String, String>,
    /// Intents that mean no single state for it, and why.
    #[serde(default)]
    pub ambiguous: BTreeMap<String, String>,
}

/// What a merge does with the issues of its pull request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OnMerge {
    /// As which command.
    pub command: String,
    /// The state or intent that it asks for.
    pub to: String,
    /// The state or intent by the state of an issue; empty: `to` for every state.
    #[serde(default)]
    pub from: BTreeMap<String, String>,
    /// Whether only a merge into the default branch counts.
    #[serde(default)]
    pub only_default_branch: bool,
}

/// A scale of estimates, from small to large.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EstimateScale {
    /// The values.
    pub scale: Vec<String>,
    /// The largest that is picked unless a caller or [`Command::estimates`] says otherwise.
    pub max_pick: Option<String>,
    /// The values of an issue that is to be split.
    #[serde(default)]
    pub oversized: Vec<String>,
}

/// A scale of priorities, from urgent to not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityScale {
    /// The values.
    pub scale: Vec<String>,
}

/// The names of the fields of a project board.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FieldNames {
    /// That of the state.
    pub state: String,
    /// That of the estimate.
    pub estimate: String,
    /// That of the priority.
    pub priority: String,
    /// The built-in one.
    pub status: String,
}

/// Whether a group has to stand together before one of it is claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceGate {
    /// Nobody asks.
    Off,
    /// A claim says who is missing.
    #[default]
    Warn,
    /// A claim is refused.
    Block,
}

/// Which of the live members have to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantifier {
    /// One at least.
    Any,
    /// Each, and there is one.
    All,
    /// None.
    None,
}

/// Whom a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocking {
    /// The members that the rule matches.
    Matching,
    /// The members behind [`PhaseRule::at`], or beside the order of work.
    Behind,
}

/// A phase of a group, and when the group is in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseRule {
    /// The phase.
    pub name: String,
    /// Which of the live members have to match.
    pub when: Quantifier,
    /// The states that match; `""` is an issue without one. All, where there is no such key.
    pub states: Option<Vec<String>>,
    /// Whether only an oversized issue without sub-issues matches.
    #[serde(default)]
    pub oversized: bool,
    /// Whom the group waits for; nobody, where there is no such key.
    pub blocking: Option<Blocking>,
    /// The state that [`Blocking::Behind`] means.
    pub at: Option<String>,
    /// Why, with `{issues}` and `{states}` for the members that match.
    pub reason: String,
    /// The phases that are left.
    #[serde(default)]
    pub remaining: Vec<String>,
}

/// The app that runs a repository's own CI on GitHub.
pub(crate) fn default_bots() -> Vec<String> {
    vec!["github-actions".to_owned()]
}

/// A workflow.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// What may stand in front of the name of a command.
    #[serde(default)]
    pub command_prefix: String,
    /// Whether a group has to stand together before one of it is claimed.
    #[serde(default)]
    pub convergence_gate: ConvergenceGate,
    /// Whether an issue moves along [`State::next`] alone.
    #[serde(default)]
    pub strict_transitions: bool,
    /// The logins of apps whose audit entries count as those of the team do.
    #[serde(default = "default_bots")]
    pub bots: Vec<String>,
    /// In the order of work.
    #[serde(rename = "state")]
    pub states: Vec<State>,
    /// Estimates.
    #[serde(default)]
    pub estimate: EstimateScale,
    /// Priorities.
    #[serde(default)]
    pub priority: PriorityScale,
    /// Fields of a project board.
    pub field: FieldNames,
    /// By name.
    #[serde(rename = "intent")]
    pub intents: BTreeMap<String, Intent>,
    /// By name, without the prefix.
    #[serde(rename = "command")]
    pub commands: BTreeMap<String, Command>,
    /// The first whose rule holds counts.
    #[serde(rename = "phase")]
    pub phases: Vec<PhaseRule>,
    /// What a merge does.
    pub on_merge: OnMerge,
}

impl Definition {
    /// The definition of that name.
    ///
    /// # Errors
    /// `config` with the names that there are; never for one of those.
    pub fn preset(name: &str) -> Result<Self> {
        Self::parse(Self::preset_text(name)?)
    }

    /// The text of the definition of that name, to start another one from.
    ///
    /// # Errors
    /// `config` with the names that there are.
    pub fn preset_text(name: &str) -> Result<&'static str> {
        let Some((_, text)) = PRESETS.iter().find(|(known, _)| *known == name) else {
            let known = PRESETS.map(|(known, _)| known).join(", ");
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "there is no workflow '{}': there is {known}",
                    one_line(name)
                ),
            )
            .with_hint(format!("name one of: {known}")));
        };
        Ok(text)
    }

    /// Reads a definition in TOML, or in JSON where it begins with `{`, and checks that all that it
    /// names is there.
    ///
    /// # Errors
    /// `config` with every mistake that [`lint`](crate::lint()) finds.
    pub fn parse(text: &str) -> Result<Self> {
        crate::lint::read(text).map_err(|mistakes| {
            let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            Error::new(
                ErrorKind::Config,
                format!(
                    "the definition of the workflow is wrong: {}",
                    all.join("; ")
                ),
            )
            .with_hint("correct the definition")
        })
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

    /// The place of a state in the order of work, from 0; `None` for one beside it.
    #[must_use]
    pub fn order_of(&self, state: &State) -> Option<usize> {
        let mut ordered = self.states.iter().filter(|s| !s.aside);
        ordered.position(|s| s == state)
    }

    /// The command of that name, with or without the prefix.
    #[must_use]
    pub fn command(&self, name: &str) -> Option<&Command> {
        self.commands.get(self.bare_name(name))
    }

    /// The command of that name, with or without the prefix.
    ///
    /// # Errors
    /// `invalid_input` (field `command`) with those that there are.
    pub fn command_named(&self, name: &str) -> Result<&Command> {
        crate::resolve::command_of(self, name).map(|(_, command)| command)
    }

    /// The command of that name, or the first whose role has that name.
    ///
    /// # Errors
    /// As [`Self::command_named`].
    pub fn command_or_role(&self, name: &str) -> Result<&Command> {
        let wanted = name.trim().to_lowercase();
        let role = |command: &&Command| {
            (command.role.as_ref()).is_some_and(|role| role.to_lowercase() == wanted)
        };
        match self.command(name) {
            Some(command) => Ok(command),
            None => match self.commands.values().find(role) {
                Some(command) => Ok(command),
                None => self.command_named(name),
            },
        }
    }

    /// The name of a command with the prefix.
    #[must_use]
    pub fn full_name(&self, command: &str) -> String {
        format!("{}{}", self.command_prefix, self.bare_name(command))
    }

    fn bare_name<'n>(&self, command: &'n str) -> &'n str {
        let said = command.trim();
        said.strip_prefix(self.command_prefix.as_str())
            .unwrap_or(said)
    }

    /// The names of all states, for an error.
    pub(crate) fn state_names(&self) -> String {
        let names: Vec<&str> = self.states.iter().map(|s| s.name.as_str()).collect();
        names.join(", ")
    }

    /// The place of an estimate in the scale; `None` for another one.
    pub(crate) fn estimate_rank(&self, estimate: &str) -> Option<usize> {
        rank(&self.estimate.scale, estimate)
    }

    /// The place of a priority in the scale; `None` for another one.
    pub(crate) fn priority_rank(&self, priority: &str) -> Option<usize> {
        rank(&self.priority.scale, priority)
    }
}

fn rank(scale: &[String], value: &str) -> Option<usize> {
    let value = value.trim().to_lowercase();
    scale.iter().position(|v| v.to_lowercase() == value)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(e.message().ends_with("there is ralph, small"), "{e}");
    }

    #[test]
    fn r_001_8_states_have_their_order() {
        let ralph = Definition::preset("ralph").unwrap();
        let order = |name: &str| ralph.order_of(ralph.state(name).unwrap());
        let ordered = [
            "Backlog",
            "Research Needed",
            "Research in Progress",
            "Ready for Plan",
            "Plan in Progress",
            "Plan in Review",
            "In Progress",
            "In Review",
            "Done",
        ];
        for (at, name) in ordered.iter().enumerate() {
            assert_eq!(order(name), Some(at), "{name}");
        }
        assert_eq!((order("Human Needed"), order("Canceled")), (None, None));
    }
}
