//! Reduces GitHub's complete schema.

use std::collections::{BTreeMap, BTreeSet};

use apollo_compiler::{
    Name, Node,
    ast::{self, Definition, Document, FieldDefinition, InputValueDefinition},
};

/// Why GitHub's schema cannot be reduced.
#[derive(Debug, thiserror::Error)]
pub enum ReduceError {
    /// The text is not GraphQL SDL. The value is the parser's report.
    #[error("the schema cannot be parsed: {0}")]
    Syntax(String),
    /// The schema lacks the covered type with this name.
    #[error("the schema has no type {0}")]
    Missing(String),
}

/// Returns the names of the object, interface and union types that the double covers.
pub fn covered_types() -> impl Iterator<Item = &'static str> {
    include_str!("covered.txt")
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Reduces GitHub's SDL to the covered types, and removes descriptions.
///
/// A field remains if its type is covered and the types of its required arguments remain.
/// Enumerations, scalars and input objects remain if a remaining field needs them.
///
/// # Errors
///
/// Fails with [`ReduceError`] if the text is not SDL or lacks a covered type.
pub fn reduce(sdl: &str) -> Result<String, ReduceError> {
    let document = Document::parse(sdl, "github.graphql")
        .map_err(|problem| ReduceError::Syntax(problem.errors.to_string()))?;
    let mut types = BTreeMap::new();
    for definition in &document.definitions {
        if let Some(name) = type_name(definition) {
            types.insert(name.to_string(), definition.clone());
        }
    }
    let covered: BTreeSet<&str> = covered_types().collect();
    if let Some(name) = covered.iter().find(|name| !types.contains_key(**name)) {
        return Err(ReduceError::Missing((*name).to_owned()));
    }
    let mut needed = BTreeSet::new();
    let mut kept = BTreeMap::new();
    for name in &covered {
        if let Some(definition) = types.get(*name) {
            kept.insert(
                (*name).to_owned(),
                reduce_output(definition, &covered, &types, &mut needed),
            );
        }
    }
    let mut queue: Vec<String> = needed.iter().cloned().collect();
    while let Some(name) = queue.pop() {
        if kept.contains_key(&name) {
            continue;
        }
        let Some(definition) = types.get(&name) else {
            continue;
        };
        let mut inner = BTreeSet::new();
        kept.insert(name, reduce_input(definition, &mut inner));
        queue.extend(inner);
    }
    let mut reduced = Document::new();
    reduced.definitions = kept.into_values().collect();
    Ok(reduced.to_string())
}

pub(super) fn type_name(definition: &Definition) -> Option<&Name> {
    match definition {
        Definition::ObjectTypeDefinition(it) => Some(&it.name),
        Definition::InterfaceTypeDefinition(it) => Some(&it.name),
        Definition::UnionTypeDefinition(it) => Some(&it.name),
        Definition::EnumTypeDefinition(it) => Some(&it.name),
        Definition::ScalarTypeDefinition(it) => Some(&it.name),
        Definition::InputObjectTypeDefinition(it) => Some(&it.name),
        _ => None,
    }
}

fn is_output(name: &str, types: &BTreeMap<String, Definition>) -> bool {
    matches!(
        types.get(name),
        Some(
            Definition::ObjectTypeDefinition(_)
                | Definition::InterfaceTypeDefinition(_)
                | Definition::UnionTypeDefinition(_)
        )
    )
}

fn reduce_output(
    definition: &Definition,
    covered: &BTreeSet<&str>,
    types: &BTreeMap<String, Definition>,
    needed: &mut BTreeSet<String>,
) -> Definition {
    let mut definition = definition.clone();
    match &mut definition {
        Definition::ObjectTypeDefinition(it) => {
            let it = it.make_mut();
            it.description = None;
            it.directives.clear();
            it.implements_interfaces
                .retain(|name| covered.contains(name.as_str()));
            reduce_fields(&mut it.fields, covered, types, needed);
        }
        Definition::InterfaceTypeDefinition(it) => {
            let it = it.make_mut();
            it.description = None;
            it.directives.clear();
            it.implements_interfaces
                .retain(|name| covered.contains(name.as_str()));
            reduce_fields(&mut it.fields, covered, types, needed);
        }
        Definition::UnionTypeDefinition(it) => {
            let it = it.make_mut();
            it.description = None;
            it.directives.clear();
            it.members.retain(|name| covered.contains(name.as_str()));
        }
        _ => {}
    }
    definition
}

fn reduce_fields(
    fields: &mut Vec<Node<FieldDefinition>>,
    covered: &BTreeSet<&str>,
    types: &BTreeMap<String, Definition>,
    needed: &mut BTreeSet<String>,
) {
    fields.retain(|field| {
        let name = field.ty.inner_named_type().as_str();
        covered.contains(name) || !is_output(name, types)
    });
    for field in fields {
        let field = field.make_mut();
        field.description = None;
        keep_bare_deprecation(&mut field.directives);
        needed.insert(field.ty.inner_named_type().to_string());
        for argument in &mut field.arguments {
            bare_input(argument, needed);
        }
    }
}

fn reduce_input(definition: &Definition, needed: &mut BTreeSet<String>) -> Definition {
    let mut definition = definition.clone();
    match &mut definition {
        Definition::EnumTypeDefinition(it) => {
            let it = it.make_mut();
            it.description = None;
            it.directives.clear();
            for value in &mut it.values {
                let value = value.make_mut();
                value.description = None;
                keep_bare_deprecation(&mut value.directives);
            }
        }
        Definition::ScalarTypeDefinition(it) => {
            let it = it.make_mut();
            it.description = None;
            it.directives.clear();
        }
        Definition::InputObjectTypeDefinition(it) => {
            let it = it.make_mut();
            it.description = None;
            it.directives.clear();
            for field in &mut it.fields {
                bare_input(field, needed);
            }
        }
        _ => {}
    }
    definition
}

fn bare_input(value: &mut Node<InputValueDefinition>, needed: &mut BTreeSet<String>) {
    let value = value.make_mut();
    value.description = None;
    keep_bare_deprecation(&mut value.directives);
    needed.insert(value.ty.inner_named_type().to_string());
}

/// Keeps the mark of a deprecated item, but removes the reason, which is prose.
fn keep_bare_deprecation(directives: &mut ast::DirectiveList) {
    directives.retain(|directive| directive.name == "deprecated");
    for directive in directives.iter_mut() {
        directive.make_mut().arguments.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_sdl_is_refused() {
        assert!(matches!(reduce("type {"), Err(ReduceError::Syntax(_))));
    }

    #[test]
    fn schema_without_covered_type_is_refused() {
        let error = reduce("type Query { id: ID }").unwrap_err();
        assert!(matches!(error, ReduceError::Missing(_)), "{error}");
    }
}
