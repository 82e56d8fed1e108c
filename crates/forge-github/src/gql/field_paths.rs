//! Lists the schema fields that this crate's documents use.

use std::collections::BTreeSet;

use forge_core::model::PrFields;

use super::{
    document::{FRAGMENTS, QUERIES, compact},
    fields::{self, BaseFields, Required, Section},
    mutation,
};

/// A type, and a path of field names that starts at the type.
pub(crate) type FieldPath = (String, Vec<String>);

/// Collects every field of the queries, the fragments, the mutations, and the sections of a pull
/// request. A section is an optional part, such as the checks. Lookups by name are left out,
/// because they are generated from user input.
pub(crate) fn field_paths() -> BTreeSet<FieldPath> {
    let plain = fields::PLAIN.iter().map(|(field, _)| *field);
    let lists = Section::ALL.iter().filter_map(|section| section.field());
    let all = plain.chain(lists).fold(PrFields::NONE, |all, f| all | f);
    let sections = fields::selection(BaseFields::Core, all, Required::Number);
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
    // `open` has a type and a path for each selection set whose end has not been reached. `next`
    // has those of the selection set that the next brace opens.
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
            // Skips spreads, directives and aliases.
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
