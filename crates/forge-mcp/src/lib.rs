//! An MCP server that offers the pull requests of any forge as tools for agents.
//!
//! A forge is a service that hosts repositories and pull requests, such as GitHub.
//!
//! [`Server`] is one handler for both versions of the protocol: 2025-11-25 (a handshake, sessions)
//! and 2026-07-28 (independent requests). [`serve_stdio`] and [`http::serve`] connect the handler
//! to clients. [`ServerOptions`] limit the server: without `write` it only reads, and
//! [`ServerOptions::repos`] lists the accessible repositories.
//!
//! A tool is one file under `tools/`: a name, arguments, a result and one function. `calls` adds
//! schemas, lenient arguments, permission checks, a limit on concurrent calls, cancellation, and
//! errors as results. `server` contains the protocol handler and uses both modules.

mod budget;
mod calls;
pub mod clients;
pub mod content;
pub mod http;
mod output;
mod prompts;
mod resources;
pub mod safety;
mod server;
mod tools;

pub use calls::{Route, ServerOptions, TOOL_SETS};
pub use server::{Extension, Server, serve_stdio};

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// The modules, from the lowest layer to the highest.
    const LAYERS: &[&str] = &[
        "clients",
        "content",
        "budget",
        "safety",
        "calls",
        "output",
        "tools",
        "resources",
        "prompts",
        "server",
        "http",
    ];

    /// Returns the names that follow `crate::` in a source file, alone or in a `{…}` list.
    fn imported(source: &str) -> Vec<String> {
        let code = source
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let mut names = Vec::new();
        for rest in code.split("crate::").skip(1) {
            let is_list = rest.starts_with('{');
            let (mut depth, mut name) = (0, String::new());
            for c in rest.chars() {
                depth += i32::from(c == '{') - i32::from(c == '}');
                let is_name = c.is_ascii_alphanumeric() || c == '_';
                if is_name && depth == i32::from(is_list) {
                    name.push(c);
                } else if !name.is_empty() {
                    names.push(std::mem::take(&mut name));
                }
                if depth == 0 && !is_name {
                    break;
                }
            }
        }
        names
    }

    #[test]
    fn imported_modules_are_found() {
        let source =
            "use crate::{\n    a::{self, b},\n    c, d::E,\n};\nuse crate::f::G; crate::h()";
        assert_eq!(imported(source), ["a", "c", "d", "E", "f", "h"]);
    }

    #[test]
    fn modules_import_only_lower_layers() {
        fn visit(path: &Path, layer: usize, seen: &mut usize) {
            if path.is_dir() {
                for entry in fs::read_dir(path).unwrap() {
                    visit(&entry.unwrap().path(), layer, seen);
                }
                return;
            }
            for name in imported(&fs::read_to_string(path).unwrap()) {
                let Some(of) = LAYERS.iter().position(|known| *known == name) else {
                    continue;
                };
                assert!(of <= layer, "{} imports {name}", path.display());
                *seen += 1;
            }
        }
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut seen = 0;
        for (layer, name) in LAYERS.iter().enumerate() {
            let dir = src.join(name);
            let file = dir.with_extension("rs");
            visit(if file.exists() { &file } else { &dir }, layer, &mut seen);
        }
        assert!(seen > 40, "{seen}");
    }
}
