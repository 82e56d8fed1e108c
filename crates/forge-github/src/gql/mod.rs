//! GraphQL documents, their composition, and the shape of their answers.
//!
//! Operations and fragments are `.graphql` files. Some parts depend on a request: the sections of a
//! pull request, lookups by name, and the mutations of an edit. These parts are generated as
//! further fragments and variables, so that a query reads only what its request needs. A test
//! validates all documents against the public schema.

mod document;
mod field_paths;
pub(crate) mod fields;
pub(crate) mod lookups;
pub(crate) mod mutation;
pub(crate) mod selections;
pub(crate) mod types;

pub(crate) use document::{GqlDocument, with_page_size, without_teams};
pub(crate) use field_paths::field_paths;

#[cfg(test)]
mod tests;
