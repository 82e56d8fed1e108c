//! The definition file of a workflow.
//!
//! - A *state* is a step of the work on an issue, such as `In Review`.
//! - A *command* is a kind of work that moves issues between states, such as `plan`.
//! - An *intent* is a goal that a caller names instead of a state, such as `__CLOSE__`.
//! - A *claim* is the right of one worker to work on an issue for a limited time.
//! - A *group* is a set of linked issues. Its *phase* is the kind of work that it needs next.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{Error, ErrorKind, Hint, Result, text::one_line};
use serde::{Deserialize, Serialize};

/// The built-in definitions, by name.
pub const PRESETS: [(&str, &str); 2] = [
    ("ralph", include_str!("../presets/ralph.toml")),
    ("small", include_str!("../presets/small.toml")),
];

/// How the work on an issue ended, for a terminal state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// The work is done.
    Completed,
    /// The work will not be done.
    Abandoned,
}

/// A state of an issue.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct State {
    /// The name, unique regardless of case.
    pub name: String,
    /// Set for a state that ends the work and closes the issue.
    pub terminal: Option<Terminal>,
    /// True if a person has to act in this state.
    #[serde(default)]
    pub human: bool,
    /// True if a worker is active in this state. Entering the state needs a claim.
    #[serde(default)]
    pub lock: bool,
    /// True for a gate: a parent may advance to this state only when all of its children have
    /// reached it.
    #[serde(default)]
    pub gate: bool,
    /// True if the state is outside the state order, such as `Human Needed`. The state order is the
    /// order of all other states in the definition.
    #[serde(default)]
    pub aside: bool,
    /// The states that may follow this one if [`Definition::strict_transitions`] is set.
    #[serde(default)]
    pub next: Vec<String>,
    /// The matching value in the built-in status field of a project board.
    pub status: Option<String>,
}

/// An intent: a goal that a caller names instead of a state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Intent {
    /// A short explanation of the intent.
    pub gloss: String,
    /// The state, if the intent means the same state for every command. A command's outputs need
    /// not contain this state.
    pub state: Option<String>,
    /// True if the intent stands for the lock state of the command: the state that an issue has
    /// while its claim holder works on it.
    #[serde(default)]
    pub lock: bool,
}

/// A command: which role moves issues, and between which states.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Command {
    /// The role that runs the command, in the plural.
    pub role: Option<String>,
    /// The states from which the command takes issues.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// The states to which the command may move issues.
    pub outputs: Vec<String>,
    /// The lock state: the state of an issue while the command works on it. The command may also
    /// move issues to the lock state, even if it is not in `outputs`.
    pub lock: Option<String>,
    /// The state to which an issue moves when its claim is released. By default, this is the state
    /// that the issue had before the claim.
    pub release: Option<String>,
    /// The estimates of issues that the command may pick. If empty, the command may pick all
    /// estimates up to [`EstimateScale::max_pick`].
    #[serde(default)]
    pub estimates: Vec<String>,
    /// The state that each intent means for this command, by the name of the intent.
    #[serde(default, rename = "intent")]
    pub intents: BTreeMap<String, String>,
    /// Intents that mean no single state for this command, each with the reason why.
    #[serde(default)]
    pub ambiguous: BTreeMap<String, String>,
}

/// The state changes that a merge causes for the issues that its pull request closes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OnMerge {
    /// The command that counts as the origin of these state changes, for example in the audit
    /// trail.
    pub command: String,
    /// The state to which a merge moves an issue, or an intent.
    pub to: String,
    /// For each current state of an issue, the state or intent that replaces [`Self::to`]. If the
    /// map is empty, `to` applies to every state. Otherwise a merge does not move an issue whose
    /// state is missing here.
    #[serde(default)]
    pub from: BTreeMap<String, String>,
    /// True to ignore merges into branches other than the default branch.
    #[serde(default)]
    pub only_default_branch: bool,
    /// True to add an issue to the board of the workflow if it is not on it. Otherwise a merge
    /// leaves such an issue as it is.
    #[serde(default)]
    pub add_to_board: bool,
}

/// A scale of estimates, from small to large.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EstimateScale {
    /// The values, smallest first.
    pub scale: Vec<String>,
    /// The largest estimate that is picked, unless a caller or [`Command::estimates`] sets another
    /// limit.
    pub max_pick: Option<String>,
    /// The estimates of issues that have to be split into sub-issues.
    #[serde(default)]
    pub oversized: Vec<String>,
}

/// A scale of priorities, most urgent first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PriorityScale {
    /// The values, most urgent first.
    pub scale: Vec<String>,
}

/// Names of the fields of a project board.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FieldNames {
    /// The name of the field that holds the state.
    pub state: String,
    /// The name of the field that holds the estimate.
    pub estimate: String,
    /// The name of the field that holds the priority.
    pub priority: String,
    /// The name of the built-in status field of the board.
    pub status: String,
}

/// What happens to a claim if the group of the issue has not converged.
///
/// A group has converged once all of its members have reached the state that the claiming command
/// requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceGate {
    /// The group is not checked.
    Off,
    /// The claim is allowed. A warning lists the members that have not reached the state.
    #[default]
    Warn,
    /// The claim is refused.
    Block,
}

/// How many of the unfinished members of a group have to match a [`PhaseRule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantifier {
    /// At least one member.
    Any,
    /// Every member. There must be at least one.
    All,
    /// No member.
    None,
}

/// Members that a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocking {
    /// The members that match the rule.
    Matching,
    /// The members whose state comes before [`PhaseRule::at`] or is outside the state order.
    Behind,
}

/// A phase of a group, with its condition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PhaseRule {
    /// The name of the phase.
    pub name: String,
    /// How many of the unfinished members have to match this rule.
    pub when: Quantifier,
    /// The states that match; `""` stands for an issue without a state. If `None`, all states
    /// match.
    pub states: Option<Vec<String>>,
    /// True to match only issues that have to be split and have no sub-issues yet.
    #[serde(default)]
    pub oversized: bool,
    /// The members that the group waits for; `None` if it waits for nobody.
    pub blocking: Option<Blocking>,
    /// The state that all members have to reach, for [`Blocking::Behind`].
    pub at: Option<String>,
    /// The displayed reason why a group is in this phase. `{issues}` is replaced by the matching
    /// members, `{states}` by their states.
    pub reason: String,
    /// The phases that a group in this phase still has to go through, beginning with this one.
    #[serde(default)]
    pub remaining: Vec<String>,
}

/// Returns the default of [`Definition::bots`]: the login of GitHub Actions, the CI of a GitHub
/// repository.
pub(crate) fn default_bots() -> Vec<String> {
    vec!["github-actions".to_owned()]
}

/// The definition of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Definition {
    /// A prefix that callers may put before the name of a command, such as `ralph_`.
    #[serde(default)]
    pub command_prefix: String,
    /// What happens to a claim if the group of the issue has not converged.
    ///
    /// Only some claims are checked: one of the inputs of the claiming command has to be the
    /// [`PhaseRule::at`] of a phase with [`Blocking::Behind`].
    #[serde(default)]
    pub convergence_gate: ConvergenceGate,
    /// True if issues may move only along [`State::next`].
    #[serde(default)]
    pub strict_transitions: bool,
    /// Logins of apps whose audit entries are trusted like those of team members.
    #[serde(default = "default_bots")]
    pub bots: Vec<String>,
    /// The states, in the state order.
    #[serde(rename = "state")]
    pub states: Vec<State>,
    /// The scale of estimates.
    #[serde(default)]
    pub estimate: EstimateScale,
    /// The scale of priorities.
    #[serde(default)]
    pub priority: PriorityScale,
    /// The fields of a project board.
    pub field: FieldNames,
    /// The intents by name.
    #[serde(rename = "intent")]
    pub intents: BTreeMap<String, Intent>,
    /// The commands by name, without the prefix.
    #[serde(rename = "command")]
    pub commands: BTreeMap<String, Command>,
    /// The phases. The first one whose rule holds is the phase of the group.
    #[serde(rename = "phase")]
    pub phases: Vec<PhaseRule>,
    /// The state changes that a merge causes for the issues that its pull request closes.
    pub on_merge: OnMerge,
}

impl Definition {
    /// Loads a built-in definition by name.
    ///
    /// # Errors
    ///
    /// Fails with `config` for an unknown name; the error lists the known names.
    pub fn preset(name: &str) -> Result<Self> {
        Self::parse(Self::preset_text(name)?)
    }

    /// Returns the text of a built-in definition, as a template for another definition.
    ///
    /// # Errors
    ///
    /// Fails with `config` for an unknown name; the error lists the known names.
    pub fn preset_text(name: &str) -> Result<&'static str> {
        let Some((_, text)) = PRESETS.iter().find(|(known, _)| *known == name) else {
            let known = PRESETS.map(|(known, _)| known).join(", ");
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "there is no workflow '{}': the workflows are {known}",
                    one_line(name)
                ),
            )
            .with_hint(format!("name one of: {known}")));
        };
        Ok(text)
    }

    /// Parses TOML, or JSON if the text begins with `{`, and checks that all references resolve.
    ///
    /// # Errors
    ///
    /// Fails with `config`; the error lists every mistake that [`lint`](crate::lint()) finds. A
    /// convergence gate that never checks a claim is not an error here.
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

    /// Returns the states, in the state order.
    #[must_use]
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// Finds a state by name, without regard to case.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<&State> {
        let name = name.trim().to_lowercase();
        self.states.iter().find(|s| s.name.to_lowercase() == name)
    }

    /// Returns the position in the state order, from 0; `None` for a state outside the order.
    #[must_use]
    pub fn order_of(&self, state: &State) -> Option<usize> {
        let mut ordered = self.states.iter().filter(|s| !s.aside);
        ordered.position(|s| s == state)
    }

    /// Finds a command by name, with or without the prefix.
    #[must_use]
    pub fn command(&self, name: &str) -> Option<&Command> {
        self.commands.get(self.bare_name(name))
    }

    /// Finds a command by name, with or without the prefix.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` (field `command`) for an unknown name; the error lists the known
    /// names.
    pub fn command_named(&self, name: &str) -> Result<&Command> {
        crate::resolve::command_of(self, name).map(|(_, command)| command)
    }

    /// Finds a command by name. If there is none, finds all commands that have `name` as their
    /// role. Each command is returned with its name without the prefix.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::command_named`] does.
    pub(crate) fn commands_or_role(&self, name: &str) -> Result<Vec<(&str, &Command)>> {
        if let Some((name, command)) = self.commands.get_key_value(self.bare_name(name)) {
            return Ok(vec![(name.as_str(), command)]);
        }
        let wanted = name.trim().to_lowercase();
        let has_role = |command: &Command| {
            (command.role.as_ref()).is_some_and(|role| role.to_lowercase() == wanted)
        };
        let all = self
            .commands
            .iter()
            .filter(|(_, command)| has_role(command));
        let found: Vec<_> = all
            .map(|(name, command)| (name.as_str(), command))
            .collect();
        if found.is_empty() {
            self.command_named(name).map_err(|e| self.with_roles(e))?;
        }
        Ok(found)
    }

    /// Adds a list of all roles to the hint of an error about an unknown command.
    fn with_roles(&self, error: Error) -> Error {
        let roles = self.commands.values().filter_map(|c| c.role.as_deref());
        let roles: BTreeSet<&str> = roles.collect();
        let Some(hint) = error.hint().filter(|_| !roles.is_empty()).cloned() else {
            return error;
        };
        let roles = Vec::from_iter(roles).join(", ");
        let (text, action) = (hint.text(), hint.action().cloned());
        let hint = Hint::from(format!("{text}, or with one of the roles {roles}"));
        error.with_hint(hint.with_any_action(action))
    }

    /// Returns the state that a group must have reached before `command` claims one of its issues.
    ///
    /// This state is an input of the command, and also the [`PhaseRule::at`] of a phase with
    /// [`Blocking::Behind`]. [`Self::convergence_gate`] decides about the claim if the group has
    /// not reached this state.
    pub(crate) fn gate_of(&self, command: &Command) -> Option<&State> {
        let phases = self.phases.iter();
        let behind = phases.filter(|phase| phase.blocking == Some(Blocking::Behind));
        let gates: Vec<&State> = behind
            .filter_map(|phase| self.state(phase.at.as_deref()?))
            .collect();
        let mut inputs = command.inputs.iter().filter_map(|input| self.state(input));
        inputs.find(|state| gates.contains(state))
    }

    /// Returns the command name with the prefix.
    #[must_use]
    pub fn full_name(&self, command: &str) -> String {
        format!("{}{}", self.command_prefix, self.bare_name(command))
    }

    fn bare_name<'n>(&self, command: &'n str) -> &'n str {
        let said = command.trim();
        said.strip_prefix(self.command_prefix.as_str())
            .unwrap_or(said)
    }

    pub(crate) fn state_names(&self) -> String {
        let names: Vec<&str> = self.states.iter().map(|s| s.name.as_str()).collect();
        names.join(", ")
    }

    /// Returns the position of an estimate in the scale; `None` if unknown.
    pub(crate) fn estimate_rank(&self, estimate: &str) -> Option<usize> {
        rank(&self.estimate.scale, estimate)
    }

    /// Returns the position of a priority in the scale; `None` if unknown.
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
    fn every_preset_is_a_valid_definition() {
        for (name, _) in PRESETS {
            Definition::preset(name).unwrap();
        }
        let ralph = Definition::preset("ralph").unwrap();
        let ends = ["Done", "Canceled"].map(|name| ralph.state(name).unwrap().terminal);
        assert_eq!(ends, [Some(Terminal::Completed), Some(Terminal::Abandoned)]);
        assert_eq!(ralph.state(" in review ").unwrap().name, "In Review");
        let e = Definition::preset("other").unwrap_err();
        assert!(
            e.message().ends_with("the workflows are ralph, small"),
            "{e}"
        );
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
