//! `cargo xtask dist`: packs the archive with programs, man pages, completions and licences.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::cargo::{cargo, root, watched};

/// The shipped package and its programs.
const PACKAGE: &str = "forge-cli";
const PROGRAMS: &[&str] = &["forge", "git-forge"];

/// Shells, and the file in which each expects completions.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "forge.bash"),
    ("elvish", "forge.elv"),
    ("fish", "forge.fish"),
    ("powershell", "_forge.ps1"),
    ("zsh", "_forge"),
];

/// Files of the workspace to include.
const PAGES: &[&str] = &[
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "skills/forge/SKILL.md",
];

/// Prefixes of the names of licence files, in upper case.
const LICENCE_FILES: &[&str] = &[
    "COPYING",
    "COPYRIGHT",
    "LICENCE",
    "LICENSE",
    "NOTICE",
    "UNLICENSE",
];

/// Builds the programs for this target and packs them.
pub fn run() -> Result<bool> {
    let target = host()?;
    let metadata = metadata(&target)?;
    let shipped = shipped(&metadata)?;
    let build = [
        "build",
        "--locked",
        "--profile",
        "dist",
        "-p",
        PACKAGE,
        "--bins",
    ];
    if !watched(&mut cargo(&build))?.0 {
        return Ok(false);
    }

    let built = PathBuf::from(text(&metadata, "target_directory")?);
    let archives = built.join("archives");
    let own = shipped
        .iter()
        .find(|package| field(package, "name") == PACKAGE);
    let version = text(own.context("the package is not in the tree")?, "version")?;
    let name = stem(&target, version);
    let dir = archives.join(&name);
    if dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("cannot empty {}", dir.display()))?;
    }
    fs::create_dir_all(&dir)?;
    for program in PROGRAMS {
        let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
        copy(&built.join("dist").join(&file), &dir.join(file))?;
    }
    for page in PAGES {
        copy(&root().join(page), &dir.join(page))?;
    }
    fs::write(dir.join("THIRD-PARTY.txt"), licences(&shipped)?)?;
    let forge = built.join("dist").join("forge");
    for (shell, file) in COMPLETIONS {
        let out = Command::new(&forge).args(["completion", *shell]).output()?;
        ensure!(out.status.success(), "no completions for {shell}");
        write(&dir.join("completions").join(file), &out.stdout)?;
    }
    let man = dir.join("man").join("man1");
    let mut pages = cargo(&["run", "--locked", "-p", PACKAGE, "--example", "man", "--"]);
    if !watched(pages.arg(&man))?.0 {
        return Ok(false);
    }

    let archive = archives.join(format!("{name}.tgz"));
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&archive);
    let (packed, _) = watched(tar.arg("-C").arg(&archives).arg(&name))?;
    println!("{}", archive.display());
    Ok(packed)
}

/// Returns the name of the archive and of its directory, as `cargo binstall` expects it.
fn stem(target: &str, version: &str) -> String {
    format!("{PACKAGE}-{target}-v{version}")
}

/// Returns the compiler's target.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let out = Command::new(rustc).arg("-vV").output()?;
    let said = String::from_utf8_lossy(&out.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("the compiler names no host")?.to_owned())
}

fn metadata(target: &str) -> Result<Value> {
    let args = [
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        target,
    ];
    let out = cargo(&args).output()?;
    let said = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.success(), "cargo metadata failed: {said}");
    serde_json::from_slice(&out.stdout).context("cargo metadata wrote no JSON")
}

/// Returns the shipped package and its dependencies, by name and version.
fn shipped(metadata: &Value) -> Result<Vec<&Value>> {
    let packages = by_id(field(metadata, "packages"));
    let nodes = by_id(field(field(metadata, "resolve"), "nodes"));
    let own = packages
        .iter()
        .find(|(_, package)| field(package, "name") == PACKAGE);
    let (own, _) = own.with_context(|| format!("there is no package {PACKAGE}"))?;
    let (mut open, mut seen) = (vec![*own], BTreeSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let needs = nodes.get(id).map(|node| field(node, "deps"));
        let needs = needs.and_then(Value::as_array).into_iter().flatten();
        let is_normal = |need: &&Value| {
            let mut kinds = field(need, "dep_kinds").as_array().into_iter().flatten();
            kinds.any(|kind| field(kind, "kind").is_null())
        };
        open.extend(
            needs
                .filter(is_normal)
                .filter_map(|need| field(need, "pkg").as_str()),
        );
    }
    let mut found: Vec<&Value> = seen
        .iter()
        .filter_map(|id| packages.get(id))
        .copied()
        .collect();
    found.sort_by_key(|package| {
        (
            field(package, "name").to_string(),
            field(package, "version").to_string(),
        )
    });
    Ok(found)
}

fn by_id(all: &Value) -> BTreeMap<&str, &Value> {
    let all = all.as_array().into_iter().flatten();
    all.filter_map(|one| Some((field(one, "id").as_str()?, one)))
        .collect()
}

/// Returns a page with the licence of each third-party package, followed by each licence text once.
fn licences(shipped: &[&Value]) -> Result<String> {
    let (mut list, mut texts) = (String::new(), BTreeMap::<String, Vec<String>>::new());
    for package in shipped
        .iter()
        .filter(|package| field(package, "source").is_string())
    {
        let name = format!("{} {}", text(package, "name")?, text(package, "version")?);
        let licence = field(package, "license").as_str();
        let manifest = Path::new(text(package, "manifest_path")?);
        let found = licence_texts(manifest.parent().unwrap_or(manifest))?;
        ensure!(
            licence.is_some() || !found.is_empty(),
            "{name} names no licence and contains no licence text"
        );
        writeln!(list, "{name}: {}", licence.unwrap_or("see its text"))?;
        for text in found {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut texts: Vec<_> = texts
        .into_iter()
        .map(|(text, names)| (names, text))
        .collect();
    texts.sort();
    let mut page = format!("forge is built on these packages, under these licences:\n\n{list}");
    for (names, text) in texts {
        write!(
            page,
            "\n{}\n{}\n\n{}\n",
            "-".repeat(72),
            names.join(", "),
            text.trim_end()
        )?;
    }
    Ok(page)
}

fn licence_texts(dir: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_licence = LICENCE_FILES.iter().any(|start| name.starts_with(start));
        if is_licence && entry.path().is_file() {
            let text = fs::read(entry.path())?;
            found.insert(String::from_utf8_lossy(&text).replace("\r\n", "\n"));
        }
    }
    Ok(found)
}

fn field<'a>(of: &'a Value, name: &str) -> &'a Value {
    static NULL: Value = Value::Null;
    of.get(name).unwrap_or(&NULL)
}

fn text<'a>(of: &'a Value, name: &str) -> Result<&'a str> {
    let found = field(of, name).as_str();
    found.with_context(|| format!("cargo metadata has no {name}"))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

fn write(to: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(to, bytes).with_context(|| format!("cannot write {}", to.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn archive_has_name_expected_by_binstall() {
        let manifest = root().join("crates").join(PACKAGE).join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap();
        let filled = |key: &str| {
            let line = manifest.lines().find_map(|line| line.strip_prefix(key));
            let template = line.unwrap().trim_start_matches(" = ").trim_matches('"');
            template
                .replace("{ name }", PACKAGE)
                .replace("{ target }", "riscv64")
                .replace("{ version }", "1.2.3")
        };
        let name = stem("riscv64", "1.2.3");
        let url = filled("pkg-url");
        assert!(
            url.ends_with(&format!("/tags/v1.2.3/download/{name}.tgz")),
            "{url}"
        );
        assert_eq!(
            filled("bin-dir"),
            format!("{name}/{{ bin }}{{ binary-ext }}")
        );
    }

    #[test]
    fn shipped_packages_are_dependencies_of_program() {
        let package = |name: &str, source: Value| {
            json!({
                "id": name, "name": name, "version": "1.0.0", "source": source, "license": "MIT",
                "manifest_path": root().join("Cargo.toml"),
            })
        };
        let needs = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let registry = json!("registry");
        let metadata = json!({
            "packages": [
                package(PACKAGE, Value::Null), package("below", registry.clone()),
                package("tested", registry.clone()), package("aside", registry),
            ],
            "resolve": {"nodes": [
                {"id": PACKAGE, "deps": [needs("below", Value::Null), needs("tested", json!("dev"))]},
                {"id": "below", "deps": [needs(PACKAGE, Value::Null)]},
                {"id": "tested", "deps": [needs("aside", Value::Null)]},
            ]},
        });
        let found = shipped(&metadata).unwrap();
        let names: Vec<_> = found.iter().map(|package| &package["name"]).collect();
        assert_eq!(names, ["below", PACKAGE]);
        let page = licences(&found).unwrap();
        assert!(page.contains("\nbelow 1.0.0: MIT\n"), "{page}");
        assert!(!page.contains(PACKAGE), "{page}");
        // The directory has two licence texts, and the page lists the package with each.
        assert_eq!(page.matches("\nbelow 1.0.0\n").count(), 2, "{page}");
        assert!(page.contains("Permission is hereby granted"), "{page}");
    }

    #[test]
    fn pages_to_pack_exist_in_workspace() {
        for page in PAGES {
            assert!(root().join(page).is_file(), "{page}");
        }
    }
}
