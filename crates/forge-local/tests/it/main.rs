//! What is particular to pull requests inside a git repository: how they are stored, what happens
//! when that is damaged or half-written, and the kinds of repositories.

mod corrupt;
mod life;
mod recovery;
mod repo;
mod repositories;
mod together;
