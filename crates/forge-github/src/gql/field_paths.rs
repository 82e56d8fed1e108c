//! The fields that the documents of this crate ask for, as a schema names them.

use std::collections::BTreeSet;

use forge_core::model::PrFields;

use super::{
    document::{FRAGMENTS, QUERIES, compact},
    fields::{self, Base, Required, Section},
    mutation,
};

/// A type, and the names of the fields that lead from it to the last one.
pub(crate) type FieldPath = (String, Vec<String>);

/// Every field of the queries, the fragments, the sections of a pull request and the mutations.
/// Lookups by name, which are generated from what a user types, are left out.
pub(crate) fn field_paths() -> BTreeSet<FieldPath> {
    let plain = fields::PLAIN.iter().map(|(field, _)| *field);
    let lists = Section::ALL.iter().filter_map(|section| section.field());
    let all = plain.chain(lists).fold(PrFields::NONE, |all, f| all | f);
    let sections = fields::selection(Base::Core, all, Required::Number);
    let mut found = BTreeSet::new();
    add_paths(
        &format!("fragment PullSections on PullRequest {{ {sections} }}"),
        &mut found,
    );
    for mutation in mutation::ALL {
        let (name, selection) = (mutation.name, mutation.selection);
        let text = format!("fragment Mutations on Mutation {{ {name} {{ {selection} }} }}");
        add_paths(&text, &mut found);
    }
    for (_, text) in QUERIES.iter().chain(FRAGMENTS) {
        add_paths(text, &mut found);
    }
    found
}

/// Adds the fields of one operation or fragment.
fn add_paths(text: &str, found: &mut BTreeSet<FieldPath>) {
    let text = without_arguments(&compact(text));
    let mut words = text.split_whitespace();
    // The type and the path of each selection that is open, and of the one that opens next.
    let mut open: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut next = ("Query", Vec::new());
    while let Some(word) = words.next() {
        match word {
            "query" | "fragment" => {
                words.next();
            }
            "on" => next = (words.next().unwrap_or_default(), Vec::new()),
            "{" => open.push(next.clone()),
            "}" => {
                open.pop();
            }
            // A spread, an alias, a directive.
            _ if word.starts_with(['.', '@']) || word.ends_with(':') => {}
            field => {
                let Some((on, path)) = open.last() else {
                    continue;
                };
                let path = [path.as_slice(), &[field]].concat();
                if field != "__typename" {
                    let names = path.iter().map(|name| (*name).to_owned());
                    found.insert(((*on).to_owned(), names.collect()));
                }
                next = (*on, path);
            }
        }
    }
}

fn without_arguments(text: &str) -> String {
    let mut depth = 0_usize;
    let is_outside = |c: &char| {
        let was_outside = depth == 0;
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        was_outside && depth == 0
    };
    text.chars().filter(is_outside).collect()
}
