//! Compares the numbers of trials and capabilities with `counts.toml`, so that none disappears
//! unnoticed.

use forge_core::{Capabilities, Capability};
use forge_testkit::behaviour::SharedRig;
use libtest_mimic::{Failed, Trial};
use toml_edit::{DocumentMut, Table};

/// The numbers in `counts.toml`.
pub struct Promises(DocumentMut);

impl Promises {
    pub fn read() -> Self {
        let text = include_str!("counts.toml");
        Self(text.parse().unwrap_or_else(|e| panic!("counts.toml: {e}")))
    }

    /// Returns trials that compare `rig` with the committed numbers; `chosen` is the number of
    /// trials that the suite runs on it. A rig `local-<variant>` uses the numbers of `local`.
    pub fn trials(&self, rig: &SharedRig, chosen: usize) -> Vec<Trial> {
        let name = rig.name().to_owned();
        let section = name.split('-').next().unwrap_or(&name);
        let table = self.0.get(section).and_then(|item| item.as_table());
        let table = table
            .cloned()
            .unwrap_or_else(|| panic!("counts.toml lacks [{section}]"));
        let capabilities = rig.capabilities();
        let (promised, yes) = (trials_of(&table), yes_of(&table));
        vec![
            // The test compares for equality: a mere minimum would let trials disappear after
            // others were added.
            Trial::test(format!("{name}::promises::as_many_trials"), move || {
                (chosen == promised).then_some(()).ok_or_else(|| {
                    Failed::from(format!("{chosen} trials, and {promised} are promised"))
                })
            }),
            Trial::test(
                format!("{name}::promises::every_yes_is_still_a_yes"),
                move || check_capabilities(capabilities, &yes),
            ),
        ]
    }
}

fn trials_of(table: &Table) -> usize {
    let number = table.get("trials").and_then(|item| item.as_integer());
    number
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or_else(|| panic!("no number of trials"))
}

fn yes_of(table: &Table) -> Vec<String> {
    let list = table.get("yes").and_then(|item| item.as_array());
    let list = list.unwrap_or_else(|| panic!("no list of capabilities"));
    list.iter()
        .filter_map(|value| value.as_str())
        .map(str::to_owned)
        .collect()
}

fn check_capabilities(capabilities: &Capabilities, promised: &[String]) -> Result<(), Failed> {
    let known = |name: &str| Capability::ALL.iter().find(|c| c.name() == name);
    let broken: Vec<_> = promised
        .iter()
        .filter(|name| !known(name).is_some_and(|c| capabilities.has(*c)))
        .cloned()
        .collect();
    let unpromised: Vec<_> = Capability::ALL
        .iter()
        .filter(|c| capabilities.has(**c) && !promised.iter().any(|p| p == c.name()))
        .map(|c| c.name())
        .collect();
    if !broken.is_empty() {
        return Err(format!("promised, and now a no: {}", broken.join(", ")).into());
    }
    if !unpromised.is_empty() {
        return Err(format!("a yes that counts.toml lacks: {}", unpromised.join(", ")).into());
    }
    Ok(())
}
