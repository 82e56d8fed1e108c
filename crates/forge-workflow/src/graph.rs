//! Renders a workflow as a diagram.

use std::fmt::Write;

use crate::{Definition, Terminal};

/// Renders states and transitions as a Mermaid state diagram.
#[must_use]
pub fn mermaid(definition: &Definition) -> String {
    let name = |at: usize| format!("s{at}");
    let mut text = String::from("stateDiagram-v2\n");
    for (at, state) in definition.states.iter().enumerate() {
        let mut label = state.name.replace(['"', '\n'], " ");
        for (is, mark) in [
            (state.lock, "lock"),
            (state.gate, "gate"),
            (state.human, "human"),
        ] {
            if is {
                let _ = write!(label, " · {mark}");
            }
        }
        let _ = writeln!(text, "    state \"{label}\" as {}", name(at));
    }
    if !definition.states.is_empty() {
        let _ = writeln!(text, "    [*] --> {}", name(0));
    }
    for (at, state) in definition.states.iter().enumerate() {
        for next in &state.next {
            let to = definition.state(next);
            if let Some(to) = definition.states.iter().position(|s| Some(s) == to) {
                let _ = writeln!(text, "    {} --> {}", name(at), name(to));
            }
        }
        if let Some(end) = state.terminal {
            let how = match end {
                Terminal::Completed => "completed",
                Terminal::Abandoned => "abandoned",
            };
            let _ = writeln!(text, "    {} --> [*]: {how}", name(at));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagram_has_every_state_and_transition() {
        let small = mermaid(&Definition::preset("small").unwrap());
        assert_eq!(
            small,
            "stateDiagram-v2\n    state \"Todo\" as s0\n    state \"Doing · lock\" as s1\n    state \
             \"Review · gate · human\" as s2\n    state \"Done · gate\" as s3\n    state \"Dropped\" as \
             s4\n    [*] --> s0\n    s0 --> s1\n    s0 --> s3\n    s0 --> s4\n    s1 --> s2\n    s1 --> \
             s0\n    s2 --> s3\n    s2 --> s1\n    s3 --> [*]: completed\n    s4 --> [*]: abandoned\n"
        );
    }
}
