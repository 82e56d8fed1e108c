//! Finds names that a write to Tangled 1.0 needs, but that were never seen on a public page. A name
//! is learned from the repository's own tickets (pull requests and issues), or guessed. A guess is
//! reported with the result of the write.

use std::collections::BTreeMap;

use forge_core::{Error, ErrorKind, Hint, Warning, model::PrState, text::one_line};

use crate::{Dialects, records::Record, tickets};

/// A name that a write uses. Only [`Self::into_word`] returns the name, so no unusual or guessed
/// name is used without its warning.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Spelling {
    word: String,
    told: Option<Warning>,
}

impl Spelling {
    /// Creates a name that needs no warning: it is known from public pages, this repository or the
    /// configuration.
    pub fn known(word: &str) -> Self {
        Self {
            word: word.to_owned(),
            told: None,
        }
    }

    fn with(word: &str, told: Warning) -> Self {
        let mut spelling = Self::known(word);
        spelling.told = Some(told);
        spelling
    }

    /// Returns the word, and adds its warning to `warnings`.
    pub fn into_word(self, warnings: &mut Vec<Warning>) -> String {
        warnings.extend(self.told);
        self.word
    }
}

/// Finds the word with which a repository writes the state `closed` or `merged`:
/// - the configured or default word, if a ticket has it
/// - otherwise the most frequent other word that tickets have for the state
/// - otherwise the configured word, if the configuration sets one
/// - otherwise the default word, which is a guess
pub(crate) fn of_state<'a>(
    tickets: impl Iterator<Item = &'a Record>,
    state: PrState,
    names: &Dialects,
) -> Spelling {
    let usual = names.org.state(state);
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for word in tickets.filter_map(|ticket| ticket.text(&names.fields.state)) {
        if tickets::state(word, names).0 == state {
            *counts.entry(word).or_default() += 1;
        }
    }
    if counts.contains_key(usual) {
        return Spelling::known(usual);
    }
    if let Some((word, _)) = counts.into_iter().max_by_key(|(_, count)| *count) {
        let shown = one_line(word);
        let told = format!(
            "the state was written as '{shown}', because most records here have '{shown}' and none \
             has '{usual}'"
        );
        return Spelling::with(word, Warning::new(told));
    }
    if usual != Dialects::default().org.state(state) {
        return Spelling::known(usual);
    }
    let told = format!(
        "the state was written as '{usual}', which is a guess: no record here shows the value that \
         Tangled 1.0 uses"
    );
    Spelling::with(usual, guess(told, &format!("org_state_{usual}")))
}

/// Returns the name of the field for the repository in the call that submits a round. A round is
/// one version of a pull request.
pub(crate) fn of_submitted_repository(names: &Dialects) -> Spelling {
    let word = &*names.inputs.knot.submit_repo;
    if word != Dialects::default().inputs.knot.submit_repo {
        return Spelling::known(word);
    }
    let told = format!(
        "the repository of the round was written as the field '{word}', which is a guess: the name \
         of that field on Tangled 1.0 is not known"
    );
    Spelling::with(word, guess(told, "knot_field_submit_repo"))
}

/// Returns the warning that the subject of a comment on a pull request is a guess: the comment
/// names the ticket instead of a round.
pub(crate) fn guessed_subject() -> Warning {
    Warning::new(
        "the comment refers to the pull request's ticket instead of its newest round, which is a \
         guess: Tangled 1.0 may expect the round",
    )
}

fn guess(told: String, key: &str) -> Warning {
    Warning::new(told).with_hint(format!(
        "look at the result on the web; to use another word, set `dialect.{key}` in the \
         configuration of the host"
    ))
}

/// Adds the guesses of a refused write to its error. One of them may be the cause.
pub(crate) fn with_guesses(error: Error, told: &[Warning]) -> Error {
    let refused = matches!(
        error.kind(),
        ErrorKind::InvalidInput { .. } | ErrorKind::Protocol
    );
    if told.is_empty() || !refused {
        return error;
    }
    let told: Vec<&str> = told
        .iter()
        .map(|warning| warning.message.as_str())
        .collect();
    let told = format!(
        "check whether a guessed name is the cause: {}",
        told.join("; ")
    );
    let hint = match error.hint().cloned() {
        Some(hint) => hint.map_text(|text| format!("{text}; {told}")),
        None => Hint::from(told),
    };
    error.with_hint(hint)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the word for a state, and the warning about the word.
    fn word(seen: &[&str], state: PrState, names: &Dialects) -> (String, String) {
        let tickets: Vec<Record> = seen
            .iter()
            .map(|word| Record {
                uri: String::new(),
                cid: None,
                value: json!({ "state": word }),
            })
            .collect();
        let mut told = Vec::new();
        let word = of_state(tickets.iter(), state, names).into_word(&mut told);
        let told = told.pop().map(|warning| warning.message);
        (word, told.unwrap_or_default())
    }

    #[test]
    fn state_word_is_learned_before_guessed() {
        use PrState::{Closed, Merged};
        let mut names = Dialects::default();
        for (seen, state, wanted, told) in [
            (
                &["draft", "closed", "draft", "open"][..],
                Closed,
                "closed",
                "",
            ),
            (
                &["draft", "done", "done", "merged"][..],
                Closed,
                "done",
                "'done'",
            ),
            (
                &["done", "was-merged"][..],
                Merged,
                "was-merged",
                "'was-merged'",
            ),
            (
                &["open"][..],
                Closed,
                "closed",
                "'closed', which is a guess",
            ),
            (
                &["closed"][..],
                Merged,
                "merged",
                "'merged', which is a guess",
            ),
        ] {
            let (word, said) = word(seen, state, &names);
            assert_eq!(word, wanted, "{seen:?}");
            assert_eq!(said.is_empty(), told.is_empty(), "{seen:?}: {said}");
            assert!(said.contains(told), "{seen:?}: {said}");
        }
        // A configured word is not a guess.
        names.set("org_state_closed", "shut").unwrap();
        assert_eq!(
            word(&[], Closed, &names),
            ("shut".to_owned(), String::new())
        );
    }

    #[test]
    fn refused_write_names_its_guesses() {
        let mut told = Vec::new();
        let key = of_submitted_repository(&Dialects::default()).into_word(&mut told);
        assert_eq!((key.as_str(), told.len()), ("repo", 1));
        let refused = Error::invalid("input", "no").with_hint("try again");
        let hint = with_guesses(refused, &told);
        let hint = hint.hint().unwrap().text();
        assert!(hint.starts_with("try again; ") && hint.contains("'repo', which is a guess"));
        let down = Error::new(ErrorKind::Network, "down");
        assert_eq!(with_guesses(down, &told).hint(), None);
    }
}
