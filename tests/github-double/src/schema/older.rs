//! The schema of an older GitHub Enterprise Server.

use apollo_compiler::ast::{Definition, Document};

use super::reduce::type_name;

/// Parts of the names of everything about relations between issues, without case and underscores.
const RELATIONS: [&str; 5] = [
    "blockedby",
    "blocking",
    "issuedependenc",
    "parentissue",
    "subissue",
];

/// Removes the relations between issues from the SDL. GitHub added sub-issues and dependencies in
/// 2025.
///
/// # Errors
///
/// Fails with the parser's report if the text is not SDL.
pub(super) fn without_relations(sdl: &str) -> Result<String, String> {
    let mut document =
        Document::parse(sdl, "github.graphql").map_err(|problem| problem.errors.to_string())?;
    document
        .definitions
        .retain(|it| type_name(it).is_none_or(|name| !is_relation(name.as_str())));
    for definition in &mut document.definitions {
        match definition {
            Definition::ObjectTypeDefinition(it) => {
                let is_issue = it.name.as_str() == "Issue";
                it.make_mut().fields.retain(|field| {
                    let name = field.name.as_str();
                    !is_relation(name) && (!is_issue || name != "parent")
                });
            }
            Definition::UnionTypeDefinition(it) => {
                let members = &mut it.make_mut().members;
                members.retain(|name| !is_relation(name.as_str()));
            }
            Definition::EnumTypeDefinition(it) => {
                let values = &mut it.make_mut().values;
                values.retain(|value| !is_relation(value.value.as_str()));
            }
            _ => {}
        }
    }
    Ok(document.to_string())
}

fn is_relation(name: &str) -> bool {
    let name = name.replace('_', "").to_lowercase();
    RELATIONS.iter().any(|part| name.contains(part))
}
