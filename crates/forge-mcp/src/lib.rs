//! The MCP server: pull requests of any forge as tools for agents.
//!
//! [`Server`] is one handler for both eras of the protocol, 2025-11-25 (a handshake, sessions) and
//! 2026-07-28 (every request on its own); [`serve_stdio`] and [`http::serve`] put it on a wire. What
//! it may do is in [`Options`]: without `write` it only reads, and the lists of [`Options::repos`]
//! say where.
//!
//! A tool is one file under `tools/`: its name, its arguments, its result and one function. The
//! server adds the rest: the schemas, forgiving arguments, the checks of what is allowed, the bound
//! on work in flight, cancellation, and errors as results.

mod budget;
pub mod clients;
pub mod content;
pub mod http;
mod output;
mod prompts;
mod resources;
pub mod safety;
mod server;
mod tools;

pub use server::{Extension, Options, Route, Server, serve_stdio};
