//! Tests the installed and published files: man pages, the MCP registry entry, the image, and the
//! skill for agents.

use std::fs;

use forge_testkit::{Scratch, example_binary, forge_binary, workspace_root};
use serde_json::Value;

fn file(path: &str) -> String {
    fs::read_to_string(workspace_root().join(path)).unwrap()
}

fn server() -> Value {
    serde_json::from_str(&file("server.json")).unwrap()
}

#[test]
fn man_pages_cover_every_command() {
    let scratch = Scratch::new();
    let dir = scratch.path("man");
    let run = scratch.run(example_binary("man")).arg(&dir);
    run.ok();
    let page = file("docs/reference/cli.md");
    let headings = page.lines().filter_map(|line| line.strip_prefix("## "));
    // The alias of `forge pr checkout` has no separate page.
    let is_command = |name: &&str| name.starts_with("forge") && *name != "forge co";
    let commands: Vec<&str> = headings.filter(is_command).collect();
    assert!(commands.len() > 40, "{commands:?}");
    for command in commands {
        let name = format!("{}.1", command.replace(' ', "-"));
        let page = fs::read_to_string(dir.join(&name));
        let page = page.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    let merge = fs::read_to_string(dir.join("forge-pr-merge.1")).unwrap();
    assert!(merge.contains("\\-\\-squash"), "{merge}");
    let of_git = fs::read_to_string(dir.join("git-forge.1")).unwrap();
    assert_eq!(of_git, ".so man1/forge.1\n");
    let why = scratch.run(example_binary("man")).output();
    assert_ne!(why.code, Some(0), "{why:?}");
}

/// Returns a text field of at most `most` characters, or an error.
fn text<'a>(of: &'a Value, name: &str, most: usize) -> Result<&'a str, String> {
    match of[name].as_str() {
        Some(text) if (1..=most).contains(&text.chars().count()) => Ok(text),
        _ => Err(format!("{name} is no text of 1 to {most} characters: {of}")),
    }
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(is_number)
}

fn check_package(package: &Value) -> Result<(), String> {
    let kind = text(package, "registryType", 20)?;
    if !["cargo", "mcpb", "npm", "nuget", "oci", "pypi"].contains(&kind) {
        return Err(format!("{kind} is no registry"));
    }
    let name = text(package, "identifier", 500)?;
    match kind {
        // The name of an image contains its version. The digest of a file is in another field.
        "oci" if name.rsplit_once(':').is_some_and(|(_, v)| is_version(v)) => {}
        "mcpb"
            if package["fileSha256"]
                .as_str()
                .is_some_and(|d| d.len() == 64) => {}
        "oci" | "mcpb" => return Err(format!("{name} names no exact version")),
        _ if is_version(text(package, "version", 255)?) => {}
        _ => return Err(format!("{name} has no exact version")),
    }
    match text(&package["transport"], "type", 20)? {
        "stdio" => Ok(()),
        "sse" | "streamable-http" => text(&package["transport"], "url", 500).map(|_| ()),
        other => Err(format!("{other} is no transport")),
    }
}

/// Checks an entry against
/// <https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json> and the
/// registry's own rules, as far as our entry needs them.
fn check_server(server: &Value) -> Result<(), String> {
    // The registry accepts a `repository` only on GitHub or GitLab:
    // <https://github.com/modelcontextprotocol/registry/blob/main/internal/validators/utils.go>
    const FIELDS: [&str; 7] = [
        "$schema",
        "name",
        "title",
        "description",
        "version",
        "websiteUrl",
        "packages",
    ];
    let fields = server.as_object().ok_or("no object")?;
    if let Some(other) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!("{other} is no field that this test knows"));
    }
    let schema = text(server, "$schema", 255)?;
    if !schema.ends_with("/schemas/2025-12-11/server.schema.json") {
        return Err(format!("{schema} is another schema"));
    }
    let name = text(server, "name", 200)?;
    let fits = |part: &str, more: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        !part.is_empty() && part.chars().all(is_allowed)
    };
    match name.split_once('/') {
        // A name consists of a reversed domain name and the name of the server.
        Some((space, own)) if fits(space, ".-") && fits(own, "._-") && space.contains('.') => {}
        _ => return Err(format!("{name} is no name")),
    }
    text(server, "description", 100)?;
    text(server, "title", 100)?;
    if !is_version(text(server, "version", 255)?) {
        return Err("the version is not exact".to_owned());
    }
    let url = text(server, "websiteUrl", 255)?;
    if !url.starts_with("https://") {
        return Err(format!("{url} is no address"));
    }
    let mut packages = server["packages"].as_array().into_iter().flatten();
    packages.try_for_each(check_package)
}

#[test]
fn server_entry_fits_the_rules_of_the_registry() {
    let server = server();
    check_server(&server).unwrap();
    // CONTRIBUTING.md shows the package entry that a release adds.
    let page = file("CONTRIBUTING.md");
    let line = page.lines().find(|line| line.contains("registryType"));
    let package = line.unwrap().replace("<version>", "0.1.0");
    let with = |package: &str| {
        let mut with = server.clone();
        with["packages"] = Value::Array(vec![serde_json::from_str(package).unwrap()]);
        check_server(&with)
    };
    assert_eq!(with(&package), Ok(()));
    for (from, to) in [
        (":0.1.0", ":latest"),
        ("oci", "oic"),
        ("stdio", "pipe"),
        ("identifier", "name"),
    ] {
        assert!(with(&package.replace(from, to)).is_err(), "{to}");
    }
    for (field, value) in [
        ("name", "forge"),
        ("version", "^0.1"),
        ("description", ""),
        ("repository", "https://tangled.org/forge/forge"),
        ("extra", "1"),
    ] {
        let mut wrong = server.clone();
        wrong[field] = Value::from(value);
        assert!(check_server(&wrong).is_err(), "{field}");
    }
}

#[test]
fn server_entry_and_image_have_the_program_version() {
    let server = server();
    let version = Scratch::new().run(forge_binary()).arg("--version").text();
    let said = server["version"].as_str().unwrap();
    assert_eq!(version.split_whitespace().nth(1), Some(said), "{version}");
    let image = file("Dockerfile");
    let label = format!(
        "LABEL io.modelcontextprotocol.server.name={}",
        server["name"]
    );
    assert!(image.contains(&label), "{label}");
    let toolchain: toml_edit::DocumentMut = file("rust-toolchain.toml").parse().unwrap();
    let rust = toolchain["toolchain"]["channel"].as_str().unwrap();
    assert!(image.contains(&format!("FROM rust:{rust}-")), "{rust}");
    let manifest: toml_edit::DocumentMut = file("Cargo.toml").parse().unwrap();
    let repository = manifest["workspace"]["package"]["repository"].as_str();
    assert_eq!(server["websiteUrl"].as_str(), repository);
}

#[test]
fn skill_page_mentions_only_existing_commands_and_tools() {
    let page = file("skills/forge/SKILL.md");
    let (front, body) = page
        .strip_prefix("---\n")
        .unwrap()
        .split_once("\n---\n")
        .unwrap();
    let field = |name: &str| {
        let line = front.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.strip_prefix(": ")).unwrap()
    };
    // A skill's name must equal the name of its directory.
    assert_eq!(field("name"), "forge");
    assert!((1..=1_024).contains(&field("description").chars().count()));
    assert!(field("compatibility").chars().count() <= 500);

    let reference = file("docs/reference/cli.md");
    let tools = file("docs/reference/mcp.md");
    let code: Vec<&str> = body.split('`').skip(1).step_by(2).collect();
    let mut found = (0, 0);
    for part in code {
        if let Some(words) = part.strip_prefix("forge ") {
            let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
            let words: Vec<&str> = words.split(' ').take_while(is_word).collect();
            let heading = format!("\n## forge {}\n", words.join(" "));
            assert!(reference.contains(&heading), "{part}");
            for flag in part.split(' ').filter(|word| word.starts_with("--")) {
                assert!(
                    reference.contains(&format!("{flag} <"))
                        || reference.contains(&format!("{flag}`")),
                    "{flag}"
                );
            }
            found.0 += 1;
        } else if part.starts_with("pr_") {
            assert!(tools.contains(&format!("| `{part}` |")), "{part}");
            found.1 += 1;
        }
    }
    assert!(found.0 >= 8 && found.1 == 5, "{found:?}");
}
