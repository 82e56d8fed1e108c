//! A GitHub of our own on loopback.
pub mod schema;
